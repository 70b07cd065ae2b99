"""Bad input to every command: one line, exit code 2, no traceback, no file left behind."""

from __future__ import annotations

import csv
import errno
import importlib
import importlib.metadata
import inspect
import io
import json
import os
import pkgutil
import shutil
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bayeskit._cli.commands
from bayeskit import NaiveBayes
from bayeskit._cli.error_exits import one_line
from bayeskit._cli.main import COMMANDS, NETWORK_COMMANDS
from bayeskit._cli.options import FileUse, spread
from bayeskit._cli.output import RowWriter
from bayeskit._data.file_rows import FileRows
from bayeskit._messages import COMMAND_LINE, speaking, text_in
from bayeskit.errors import DataError
from bayeskit.networks import wet_grass
from cli_run import done, refused, run, write_table
from refusals import refuses

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
    "export": "export {model} --to json",
    "query": "network query {model}",
    "independent": "network independent {model} a b",
    "effect": "network effect {model} --cause a --outcome b",
    "mpe": "network mpe {model}",
    "decide": "network decide {model}",
    "page": "network explain {model} a",
    "show": "network show {model}",
    "sample": "network sample {model}",
    "convert": "network convert {model} {out}.bif",
    "filter": "network filter {model} {data}",
}
WRITERS = {
    "fit": "fit {data} --target 好瓜 -o {out}",
    "predict": "predict {model} {data} -o {out}",
    "explain": "explain {model} {data} --row 1 --format latex -o {out}",
    "update": "update {model} {data} -o {out}",
    "forget": "forget {model} {data} -o {out}",
    "merge": "merge {model} {model} -o {out}",
    "export": "export {model} --to json -o {out}",
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
    refused("fit", melon, "--target", "好", "-o", tmp_path / "m", names=["melon.csv", "好", "好瓜"])
    refused("discretize", melon, "--target", "好", names=["melon.csv", "好", "好瓜"])
    table = bad_table("strange", tmp_path)
    for name in ("predict", "explain", "update", "forget"):
        assert "'色彩'" in refused(*call(READERS[name], place, data=table))
    assert "standard input" in refused("predict", place / "m.bayes", "-", stdin=table.read_bytes())
    assert "standard input" in refused("predict", place / "m.bayes", "-", stdin=b"")


MEASURED = ["fit {data} --target y -o {out}", "discretize {data} --target y", "compare {data} --target y"]


@pytest.mark.parametrize("command", [*MEASURED, "textbook nb --table {data} --target y"])
@pytest.mark.parametrize("step", [0.25, 1])
def test_a_target_that_is_measured(command: str, step: float, place: Path, tmp_path: Path) -> None:
    table = tmp_path / "measured.csv"
    table.write_text("a,y\n" + "".join(f"{'uvw'[i % 3]},{i * step}\n" for i in range(300)), "utf-8")
    line = call(command, place, data=table, out=tmp_path / "out")
    refused(*line, names=["y", "measured.csv", "300", "--target"])
    assert not (tmp_path / "out").exists()
    if step < 1:
        with refuses(DataError, "y", "measured.csv", 300):
            NaiveBayes().fit(table, target="y")


def test_no_model_but_a_table(place: Path) -> None:
    refused("predict", place / "melon.csv", place / "melon.csv", names=["melon.csv"])


def test_all_names_are_listed(place: Path, tmp_path: Path) -> None:
    fit = ("fit", place / "melon.csv", "--target", "好瓜", "-o", tmp_path / "m")
    refused(*fit, "--model", "zzz", names=["nb", "auto", "text", "net"])
    refused(*fit, "--param", "zzz=1", names=["smoothing", "variance"])
    refused("textbook", "zzz", names=["spam", "underflow"])


@pytest.mark.parametrize("command", ["fit {data} --target y -o {out}", "discretize {data} --target y"])
@pytest.mark.parametrize(("cells", "value"), [("ccc", ["c"]), (("", "", ""), [])])
def test_a_target_with_one_value(
    command: str, cells: Any, value: list[str], place: Path, tmp_path: Path
) -> None:
    table = tmp_path / "one.csv"
    table.write_text("a,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)), "utf-8")
    line = call(command, place, data=table, out=tmp_path / "out")
    refused(*line, names=["y", "one.csv", "--target", *value])
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
        ("/dev/full", os.strerror(errno.ENOSPC), tuple(set(WRITERS) - {"learn"})),  # a name without a format
        ("/sys/nothing.bif", "ermi", tuple(WRITERS)),  # denied or not permitted, even to root
        ("{place}/folder.bif", os.strerror(errno.EISDIR), ("fit", "predict", "learn")),
        ("{place}/none/x.bif", os.strerror(errno.ENOENT), ("fit", "predict", "learn")),
        ("{place}/melon.csv/x.bif", os.strerror(errno.ENOTDIR), ("fit", "predict", "learn")),
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

    monkeypatch.setattr(FileRows, "batches", broken)
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
    for module in pkgutil.walk_packages(bayeskit._cli.commands.__path__, "bayeskit._cli.commands."):
        words = getattr(importlib.import_module(module.name), "WORDS", {})
        for key, en in words.items():
            with speaking("zh", COMMAND_LINE):
                zh = text_in("zh", en)
            fields = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (en, zh)]
            assert fields[0] == fields[1], (module.name, key)
            assert en != zh
            found += 1
    assert found > 30


# Each line writes {out}; what it reads is {data}, {model}, {net}, {loss} or {test}.
ONTO = {
    "data": [
        "fit {data} --target 好瓜 -o {out}",
        "compare {data} --target 好瓜 --report {out}",
        "compare {data} --target 好瓜 --save {out}",
        "predict {model} {data} -o {out}",
        "explain {model} {data} --row 1 -o {out}",
        "update {model} {data} -o {out}",
        "forget {model} {data} -o {out}",
        "discretize {data} --target 好瓜 -o {out}",
        "network learn {data} -o {out}",
    ],
    "test": ["compare {data} --target 好瓜 --test {test} --report {out}"],
    "loss": [
        "compare {data} --target 好瓜 --loss {loss} --report {out}",
        "predict {model} {data} --loss {loss} -o {out}",
        "explain {model} {data} --row 1 --loss {loss} -o {out}",
        "network explain {net} rain --ask --loss {loss} -o {out}",
    ],
    "model": [
        "predict {model} {data} -o {out}",
        "explain {model} {data} --row 1 -o {out}",
        "merge {model} {model} -o {out}",
        "network convert {model} {out} --to bif",
        "network show {model} --svg {out}",
    ],
    "net": [
        "predict {net} {data} --target rain -o {out}",
        "network explain {net} rain -o {out}",
        "network show {net} --svg {out}",
        "network sample {net} -o {out}",
        "network convert {net} {out}",
    ],
}


@pytest.mark.parametrize("spelling", ["same", "relative", "link", "hard link", "dots"])
@pytest.mark.parametrize(("read", "line"), [(read, line) for read, lines in ONTO.items() for line in lines])
def test_nothing_is_written_onto_what_is_read(
    read: str, line: str, spelling: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    suffixes = {"data": ".csv", "test": ".csv", "loss": ".csv", "model": ".bayes", "net": ".bif"}
    files = {name: tmp_path / f"{name}{end}" for name, end in suffixes.items()}
    for name, source in (
        ("data", "melon.csv"),
        ("test", "melon.csv"),
        ("model", "m.bayes"),
        ("net", "grass.bif"),
    ):
        shutil.copy(place / source, files[name])
    files["loss"].write_text("action,是,否\n买,0,5\n不买,1,0\n", "utf-8")
    victim = files[read]
    # A network is not written under the name of a table, nor is it asked for by one.
    out = tmp_path / f"other{victim.suffix}"
    match spelling:
        case "same":
            out = victim
        case "relative":
            out = Path(victim.name)
        case "link":
            out.symlink_to(victim)
        case "hard link":
            os.link(victim, out)
        case "dots":
            (tmp_path / "sub").mkdir()
            out = tmp_path / "sub" / ".." / victim.name
    before = {path.name: path.read_bytes() for path in files.values()}
    message = refused(*call(line, place, out=out, **files))
    assert repr(str(out)) in message and repr(str(victim)) in message
    assert {path.name: path.read_bytes() for path in files.values()} == before
    assert {path.name for path in tmp_path.iterdir()} <= {*before, out.name, "sub"}


def test_a_model_may_be_changed_in_its_place(place: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.bayes"
    shutil.copy(place / "m.bayes", model)
    done("update", model, place / "melon.csv", "-o", model)
    done("forget", model, place / "melon.csv")
    assert json.loads(done("inspect", model, "--json"))["rows"] == 17


def test_two_outputs_are_two_files(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "both"
    (tmp_path / "link").symlink_to(out)
    ask = ("compare", place / "melon.csv", "--target", "好瓜", "--models", "nb", "--report", out, "--save")
    for other in (out, tmp_path / "link"):
        message = refused(*ask, other)
        assert "--report" in message and "--save" in message and repr(str(other)) in message
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_standard_input_and_output_are_files_too(place: Path, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    shutil.copy(place / "melon.csv", table)
    before = table.read_bytes()
    bayeskit_command = [sys.executable, "-m", "bayeskit"]
    with open(table, "rb") as stdin:
        ask = [*bayeskit_command, "fit", "-", "--target", "好瓜", "-o", str(table)]
        found = subprocess.run(ask, stdin=stdin, capture_output=True, text=True, timeout=120)
    assert found.returncode == 2 and repr(str(table)) in found.stderr and "standard input" in found.stderr
    with open(table, "ab") as stdout:
        ask = [*bayeskit_command, "predict", str(place / "m.bayes"), str(table)]
        said = subprocess.run(ask, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120)
    assert said.returncode == 2 and repr(str(table)) in said.stderr and "standard output" in said.stderr
    assert table.read_bytes() == before


def test_every_file_of_every_command_is_known_as_read_or_written() -> None:
    """A new option that takes a file says what is done with it: else nothing would guard it."""
    for function in (*COMMANDS, *NETWORK_COMMANDS):
        for parameter in inspect.signature(spread(function)).parameters.values():
            metadata = getattr(parameter.annotation, "__metadata__", ())
            shown = {getattr(each, "metavar", None) or "" for each in metadata}
            takes_file = any(
                {"FILE", "DATA", "MODEL", "NET"} & set(name.strip("[]").split()) for name in shown
            )
            assert takes_file is any(isinstance(each, FileUse) for each in metadata), (function, parameter)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-1+2", "'-1+2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("＝1+1", "'＝1+1"),
        ("-inf", "'-inf"),
        ("-1.5e-3", "-1.5e-3"),
        ("+7", "+7"),
        (-2.5, "-2.5"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_a_spreadsheet_gets_no_formula(cell: Any, shown: str) -> None:
    stream = io.StringIO(newline="")
    writer = RowWriter(stream, ["=A1", "b"], "csv", spreadsheet=True)
    writer.write([(cell, 1)])
    header, row = csv.reader(io.StringIO(stream.getvalue(), newline=""))
    assert header == ["'=A1", "b"] and row == [shown, "1"]
    plain = io.StringIO(newline="")
    RowWriter(plain, ["=A1", "b"], "csv").write([(cell, 1)])
    header, row = csv.reader(io.StringIO(plain.getvalue(), newline=""))
    assert header == ["=A1", "b"] and row == [str(cell), "1"]


def test_commands_that_write_tables_guard_them(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,=y\n" + "1.5,=A1\n2.5,+b\n3.5,=A1\n0.5,+b\n" * 3, "utf-8")
    done("fit", table, "--target", "=y", "-o", tmp_path / "m.bayes")
    learned = ("network", "learn", table, "--drop", "x", "-o", tmp_path / "net.json")
    done(*learned)
    for ask in (
        ("predict", tmp_path / "m.bayes", table),
        ("discretize", table, "--target", "=y"),
        ("network", "sample", tmp_path / "net.json", "-n", 5),
    ):
        safe, raw = done(*ask, "--spreadsheet"), done(*ask)
        assert "'=y" in safe.splitlines()[0] and ("'=A1" in safe or "'+b" in safe)
        assert "'" not in raw
        assert safe.replace("'", "") == raw
        assert "--spreadsheet" in refused(*ask, "--spreadsheet", "--json")
        assert "--spreadsheet" in refused(*ask, "--spreadsheet", "-o", tmp_path / "out.jsonl")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_doctor_takes_a_cache_that_is_not_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba makes it, also where it is told a folder in a folder, from wherever it is."""
    monkeypatch.chdir(tmp_path)
    for told in (".cache/kernels", str(tmp_path / "other")):
        monkeypatch.setenv("NUMBA_CACHE_DIR", told)
        result = run("doctor", "--json")
        assert result.exit_code == 0 and json.loads(result.stdout)["cache"]["writable"]
        assert not Path(told).exists()
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "file")
    assert run("doctor", "--json").exit_code == 1


def test_doctor_warns_of_a_cache_that_others_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    (cache / "inner").mkdir(parents=True)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))

    def examine() -> tuple[int, dict[str, Any]]:
        result = run("doctor", "--json")
        return result.exit_code, json.loads(result.stdout)

    assert examine()[0] == 0 and examine()[1]["cache"]["open_to_others"] is None
    for place, mode in ((cache, 0o777), (cache, 0o1777), (cache / "inner", 0o757)):
        before = place.stat().st_mode
        place.chmod(mode)
        code, found = examine()
        assert code == 1 and found["cache"]["open_to_others"] == str(place) and found["amiss"]
        for lang in ("en", "zh"):
            printed = "".join(run("doctor", "--lang", lang).stdout.split())
            assert "NUMBA_CACHE_DIR" in printed and "".join(str(place).split()) in printed
        place.chmod(before)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert examine()[1]["cache"]["open_to_others"] == (None if own == 0 else str(cache))
    if own == 0:
        os.chown(cache / "inner", 12345, -1)
        assert examine()[1]["cache"]["open_to_others"] == str(cache / "inner")


def test_doctor_compares_releases_with_those_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.3.1" if name == "rich" else real(name))
    result = run("doctor", "--json")
    assert result.exit_code == 1
    assert [text for text in json.loads(result.stdout)["amiss"] if text.startswith("rich 0.3.1 < ")]


# A cell that cannot be used, in a table of a word, a number and the class; the command that meets it.
BAD_CELLS = {
    "an infinite number": ("a,inf,y", "fit {data} --target y -o {out}.bayes"),
    "an infinite number, cut": ("a,inf,y", "fit {data} --target y --model kdb -o {out}.bayes"),
    "no class": ("a,1.5,", "fit {data} --target y -o {out}.bayes"),
    "an unseen state": ("z,1.5,y", "predict {model} {data} -o {out}.csv"),
    "an infinite number, predicted": ("a,inf,y", "predict {model} {data} -o {out}.csv"),
    "an infinite number, added": ("a,inf,y", "update {model} {data}"),
    "an infinite number, learned": ("a,inf,y", "network learn {data} -o {out}.bif"),
    "an infinite number, discretized": ("a,inf,y", "discretize {data} --target y"),
}


@pytest.mark.parametrize("number", [7, 150_007])
@pytest.mark.parametrize("case", BAD_CELLS)
def test_rows_have_the_number_that_they_have_in_the_file(case: str, number: int, tmp_path: Path) -> None:
    cell, command = BAD_CELLS[case]
    good = [f"{'ab'[i // 3 % 2]},{i % 5}.5,{'yn'[i % 2]}" for i in range(40)]
    table = tmp_path / "good.csv"
    table.write_text("\n".join(["s,x,y", *good]), "utf-8")
    done("fit", table, "--target", "y", "--param", "unseen=error", "-o", tmp_path / "model.bayes")
    lines = good * (number // len(good) + 1)
    lines[number - 1] = cell
    bad = tmp_path / "bad.csv"
    bad.write_text("\n".join(["s,x,y", *lines]), "utf-8")
    names = {"data": bad, "model": tmp_path / "model.bayes", "out": tmp_path / "out"}
    said = run(*(part.format_map(names) for part in command.split()))
    assert said.exit_code == 2 and "first is 0" not in said.stderr
    assert f"row {number}" in said.stderr.lower().replace(",", "")
    said = run(*(part.format_map(names) for part in command.split()), "--lang", "zh")
    assert f"第 {number} 行" in said.stderr.replace(",", "")
