"""Bad input to every command: one line, exit code 2, no traceback, no file left behind."""

from __future__ import annotations

import importlib
import os
import pkgutil
import string
from pathlib import Path
from typing import Any

import pytest

import bayeskit.cli.commands
from bayeskit import NaiveBayes
from bayeskit.cli import rows
from bayeskit.cli.door import one_line
from bayeskit.networks.examples import wet_grass
from cli_run import done, refused, run, write_table

# What each command is called with: {data} a table, {model} a saved one, {net} a network, {out} a file to write.
READERS = {
    "fit": "fit {data} --target 好瓜 -o {out}.bayes",
    "predict": "predict {model} {data}",
    "explain": "explain {model} {data} --row 1",
    "update": "update {model} {data}",
    "forget": "forget {model} {data}",
    "discretize": "discretize {data} --target 好瓜",
    "learn": "network learn {data} -o {out}.bif",
}
OPENERS = {
    "predict": "predict {model} {data}",
    "explain": "explain {model} --set 色泽=青绿",
    "update": "update {model} {data}",
    "forget": "forget {model} {data}",
    "merge": "merge {model} {model} -o {out}.bayes",
    "inspect": "inspect {model}",
    "query": "network query {model}",
    "independent": "network independent {model} a b",
    "mpe": "network mpe {model}",
    "page": "network explain {model} a",
    "show": "network show {model}",
    "sample": "network sample {model}",
    "convert": "network convert {model} {out}.bif",
}
WRITERS = {
    "fit": "fit {data} --target 好瓜 -o {out}",
    "predict": "predict {model} {data} -o {out}",
    "explain": "explain {model} {data} --row 1 --format latex -o {out}",
    "update": "update {model} {data} -o {out}",
    "forget": "forget {model} {data} -o {out}",
    "merge": "merge {model} {model} -o {out}",
    "discretize": "discretize {data} --target 好瓜 -o {out}",
    "convert": "network convert {net} {out} --to bif",
    "learn": "network learn {data} -o {out}",
    "sample": "network sample {net} -o {out}",
    "show": "network show {net} --svg {out}",
    "bayes": "bayes --prior a=1 --likelihood a=1 --svg {out}",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refusals")
    melon = write_table(folder / "melon.csv", "melon3")
    done("fit", melon, "--target", "好瓜", "-o", folder / "m.bayes")
    wet_grass().write(folder / "grass.bif")
    return folder


def call(line: str, place: Path, **values: Any) -> list[str]:
    known = {
        "data": place / "melon.csv",
        "model": place / "m.bayes",
        "net": place / "grass.bif",
        "out": place / "out",
    }
    return [part.format(**{**known, **values}) for part in line.split()]


def bad_table(kind: str, folder: Path) -> Path:
    path = folder / f"{kind}.csv"
    match kind:
        case "empty":
            path.write_bytes(b"")
        case "header":
            path.write_text("色泽,好瓜\n", "utf-8")
        case "rubbish":
            path.write_bytes(bytes(range(256)) * 8)
        case "strange":
            path.write_text("色彩,好瓜\n青绿,是\n", "utf-8")
        case "wide":
            path.write_text(
                ",".join(f"c{i}" for i in range(5000)) + "\n" + ",".join("1" * 5000) + "\n", "utf-8"
            )
        case "directory":
            path.mkdir()
    return path


@pytest.mark.parametrize("kind", ["absent", "empty", "header", "rubbish", "wide", "directory"])
def test_tables_that_cannot_be_read(kind: str, place: Path, tmp_path: Path) -> None:
    table = bad_table(kind, tmp_path)
    before = (place / "m.bayes").read_bytes()
    for line in READERS.values():
        assert table.name in refused(*call(line, place, data=table, out=tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ([] if kind == "absent" else [table.name])
    assert (place / "m.bayes").read_bytes() == before


def test_names_that_are_no_columns_bring_the_nearest(place: Path, tmp_path: Path) -> None:
    melon = place / "melon.csv"
    assert "Did you mean '好瓜'?" in refused("fit", melon, "--target", "好", "-o", tmp_path / "m")
    assert "Did you mean '好瓜'?" in refused("discretize", melon, "--target", "好")
    table = bad_table("strange", tmp_path)
    for name in ("predict", "explain", "update", "forget"):
        assert "'色彩'" in refused(*call(READERS[name], place, data=table))
    assert "standard input" in refused("predict", place / "m.bayes", "-", stdin=table.read_bytes())
    assert "standard input" in refused("predict", place / "m.bayes", "-", stdin=b"")


@pytest.mark.parametrize("command", ["fit {data} --target y -o {out}", "discretize {data} --target y"])
@pytest.mark.parametrize(("cells", "said"), [("ccc", "only one value, 'c'"), (("", "", ""), "no value")])
def test_a_target_with_one_value(command: str, cells: Any, said: str, place: Path, tmp_path: Path) -> None:
    table = tmp_path / "one.csv"
    table.write_text("a,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)), "utf-8")
    assert said in refused(*call(command, place, data=table, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["absent", "empty", "rubbish", "cut", "table", "directory"])
def test_models_that_cannot_be_read(kind: str, place: Path, tmp_path: Path) -> None:
    model = place / "melon.csv" if kind == "table" else tmp_path / "broken.bayes"
    if kind == "cut":
        model.write_bytes((place / "m.bayes").read_bytes()[:900])
    elif kind in ("empty", "rubbish"):
        model.write_bytes(bytes(range(256)) * 8 * (kind == "rubbish"))
    elif kind == "directory":
        model.mkdir()
    for line in OPENERS.values():
        assert model.name in refused(*call(line, place, model=model, out=tmp_path / "out"))


@pytest.mark.parametrize(
    ("output", "said", "commands"),
    [
        ("/dev/full", "No space left", tuple(set(WRITERS) - {"learn"})),  # a name without a format
        ("/sys/nothing.bif", "ermi", tuple(WRITERS)),  # denied or not permitted, even to root
        ("{place}/folder.bif", "Is a directory", ("fit", "predict", "learn")),
        ("{place}/none/x.bif", "No such file", ("fit", "predict", "learn")),
        ("{place}/melon.csv/x.bif", "Not a directory", ("fit", "predict", "learn")),
    ],
)
def test_outputs_that_cannot_be_written(
    output: str, said: str, commands: tuple[str, ...], place: Path
) -> None:
    if output.startswith(("/dev", "/sys")) and not os.path.exists(os.path.dirname(output)):
        pytest.skip(f"this system has no {output}")
    (place / "folder.bif").mkdir(exist_ok=True)
    names = sorted(path.name for path in place.iterdir())
    for name in commands:
        assert said in refused(*call(WRITERS[name], place, out=output.format(place=place)))
    assert sorted(path.name for path in place.iterdir()) == names


def test_an_interrupt_leaves_the_old_file(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    output = tmp_path / "out.csv"
    output.write_text("old", "utf-8")
    monkeypatch.setattr(NaiveBayes, "predict_proba", interrupted)
    result = run("predict", place / "m.bayes", place / "melon.csv", "-o", output)
    assert result.exit_code == 130 and "Interrupted" in result.stderr
    assert output.read_text("utf-8") == "old" and [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_debug_shows_where_and_a_fault_of_ours_is_told_apart(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Traceback" in run("inspect", place / "none", "--debug").stderr
    assert "Traceback" not in run("inspect", place / "none").stderr  # the flag does not outlive its command

    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("inside")

    monkeypatch.setattr(rows.Rows, "batches", broken)
    result = run("predict", place / "m.bayes", place / "melon.csv")
    assert result.exit_code == 3 and "--debug" in result.stderr and result.stderr.count("\n") == 1
    assert "memory" in one_line(MemoryError())


def test_usage_errors_are_one_line() -> None:
    assert "'bayeskit fit --help'" in refused("fit", "x.csv", "-o", "m")
    assert "'predict'" in refused("predcit")
    assert "--lang" in refused("doctor", "--lang", "fr")


def test_warmup_runs_everything_and_doctor_is_content() -> None:
    import json

    told = json.loads(done("warmup", "--json"))
    assert {"nb", "auto", "net", "network"} <= set(told["steps"])
    found = json.loads(done("doctor", "--json"))
    assert found["amiss"] == [] and found["needed"]["numpy"] and found["cache"]["files"] > 0


def test_both_languages_say_the_same_things() -> None:
    found = 0
    for module in pkgutil.walk_packages(bayeskit.cli.commands.__path__, "bayeskit.cli.commands."):
        words = getattr(importlib.import_module(module.name), "WORDS", {})
        for key, (en, zh) in words.items():
            fields = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (en, zh)]
            assert fields[0] == fields[1], (module.name, key)
            assert en != zh
            found += 1
    assert found > 30
