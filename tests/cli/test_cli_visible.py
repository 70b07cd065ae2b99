"""Every command, fed names that would steer a terminal: they are shown, never sent."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayeskit import BayesianNetwork
from bayeskit._cli.main import COMMANDS, NETWORK_COMMANDS
from bayeskit._cli.output import RowWriter, opened_text
from bayeskit.networks import InfluenceDiagram
from cli_run import run

# Clear the screen, name the window, a control of eight bits, delete, and turn the direction of writing.
STEER = "\x1b[2J\x1b]0;x\x07\x9b\x7f\u202e\u2066"
SKY, WIND, HEIGHT, TARGET = (f"{name}{STEER}" for name in ("sky", "wind", "height", "y"))
YES, NO, SUN, RAIN = (f"{name}{STEER}" for name in ("yes", "no", "sun", "rain"))


def sends(text: str) -> list[str]:
    turns = "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return [c for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Cs") or c in turns)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a hostile name, and in it a table, costs, a model and a network."""
    place = tmp_path_factory.mktemp("steer") / f"f{STEER[:9]}"
    place.mkdir()
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    rows = [
        ((SUN, RAIN)[a], ("calm", f"storm{STEER}")[b], f"{h:.3f}", (NO, YES)[k])
        for a, b, h, k in zip(
            (y + rng.integers(0, 2, 60)) % 2, rng.integers(0, 2, 60), y + rng.normal(0, 1, 60), y, strict=True
        )
    ]
    with open(place / "t.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([(SKY, WIND, HEIGHT, TARGET), *rows])
    with open(place / "loss.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("action", NO, YES), (f"go{STEER}", 1, 0), ("stay", 0, 2)])
    assert run("fit", place / "t.csv", "--target", TARGET, "-o", place / "m.bayes").exit_code == 0
    net = ("network", "learn", place / "t.csv", "--drop", HEIGHT, "-o", place / "net.json")
    assert run(*net, "--required", f"{WIND},{SKY}").exit_code == 0
    sky = BayesianNetwork({SKY: []}, states={SKY: [SUN, RAIN]})
    sky.set_cpt(SKY, [0.7, 0.3])
    worth = {f"worth{STEER}": ([SKY, WIND], [[1, 0], [0, 2]])}
    diagram = InfluenceDiagram(sky, {WIND: [NO, YES]}, worth, observed={WIND: [SKY]})
    diagram.write(place / "sky.xdsl")
    return place


def calls() -> Iterator[tuple[str, ...]]:
    """Give commands; @ stands before a file in the folder."""
    yield "demo", "melon"
    yield "demo", f"no{STEER}"
    yield "compare", "@t.csv", "--target", TARGET, "--models", "nb,tan", "--folds", "2", "--loss", "@loss.csv"
    yield (
        "compare",
        "@t.csv",
        "--target",
        TARGET,
        "--models",
        "nb",
        "--no-baselines",
        "--report",
        "@page.html",
    )
    yield "compare", "@t.csv", "--target", f"never{STEER}"
    yield "fit", "@t.csv", "--target", TARGET, "-o", "@other.bayes", "--model", "tan"
    yield "fit", "@t.csv", "--target", TARGET, "-o", "@other.bayes", "--drop", f"never{STEER}"
    yield "predict", "@m.bayes", "@t.csv", "--json", "--proba"
    yield "predict", "@m.bayes", "@t.csv", "--loss", "@loss.csv", "-o", "@out.csv"
    yield "predict", "@m.bayes", "@never.csv"
    yield "explain", "@m.bayes", "@t.csv", "--row", "1", "--loss", "@loss.csv"
    for form in ("text", "html", "latex", "json"):
        yield "explain", "@m.bayes", "@t.csv", "--row", "1", "--format", form, "-o", f"@page.{form}"
        yield "network", "explain", "@net.json", SKY, "--given", f"{WIND}=calm", "--format", form
    yield "explain", "@m.bayes", "--set", f"{SKY}=never{STEER}"
    yield "explain", "@m.bayes", "--ask", "--loss", "@loss.csv"
    yield "update", "@m.bayes", "@t.csv", "-o", "@more.bayes"
    yield "forget", "@m.bayes", "@t.csv", "-o", "@less.bayes"
    yield "merge", "@m.bayes", "@m.bayes", "-o", "@twice.bayes"
    yield "inspect", "@m.bayes"
    yield "inspect", "@t.csv"
    yield "export", "@m.bayes", "--to", "json", "-o", "@m.json"
    yield "export", "@m.bayes", "--to", "sql", "--key", f"p_{YES}"
    yield "discretize", "@t.csv", "--target", TARGET, "-o", "@cut.csv"
    yield "bayes", "--prior", f"a{STEER}=0.5,b=0.5", "--likelihood", f"a{STEER}=0.5,b=0.25", "--svg", "@a.svg"
    yield "textbook", "melon3"
    yield "warmup", "--help"
    yield ("doctor",)
    yield "network", "learn", "@t.csv", "--drop", HEIGHT, "-o", "@again.json"
    yield "network", "query", "@net.json", SKY, WIND, "--given", f"{TARGET}={YES}"
    yield "network", "query", "@net.json", SKY, "--given", f"{WIND}=never{STEER}"
    yield "network", "independent", "@net.json", WIND, SKY, "--given", TARGET
    yield "network", "effect", "@net.json", "--cause", WIND, "--outcome", TARGET
    yield "network", "effect", "@net.json", "--cause", WIND, "--outcome", TARGET, "--sets"
    yield "network", "mpe", "@net.json", "--given", f"{WIND}=calm"
    yield "network", "decide", "@sky.xdsl", "--ask", "--flip", SKY
    yield "network", "decide", "@sky.xdsl", "--given", f"{SKY}={SUN}"
    yield "network", "decide", "@sky.xdsl", "--given", f"{SKY}=never{STEER}"
    yield "network", "filter", "@net.json", "@t.csv"
    yield "network", "show", "@net.json", "--svg", "@net.svg"
    yield "network", "sample", "@net.json", "-n", "5", "--json"
    yield "network", "convert", "@net.json", "@net.xdsl"
    yield "serve", "@m.bayes", "--host", f"h{STEER}"
    yield "explore", f"no{STEER}"
    yield f"no{STEER}", "@t.csv"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "call", [*calls()], ids=lambda call: " ".join(call)[:30].encode("ascii", "replace").decode()
)
def test_no_command_sends_what_steers(call: tuple[str, ...], lang: str, folder: Path) -> None:
    words = [str(folder / word[1:]) if word.startswith("@") else word for word in call]
    for more in ((), ("--debug",), ("--json",)):
        if "--help" in words and more:
            continue
        result = run(*words, "--lang", lang, *more) if "--help" not in words else run(*words)
        assert result.exit_code in (0, 1, 2), result.output
        assert not sends(result.stdout) and not sends(result.stderr), result.output
        for path in folder.iterdir():
            if path.suffix in (".html", ".svg", ".latex", ".text", ".json"):
                assert not sends(path.read_text(encoding="utf-8")), path.name


def test_every_command_is_among_the_calls() -> None:
    made = {" ".join(call[:2]) if call[0] == "network" else call[0] for call in calls()}
    expected = {each.__name__ for each in COMMANDS} | {
        f"network {each.__name__}" for each in NETWORK_COMMANDS
    }
    assert expected <= made


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_rows_are_shown_on_a_terminal_and_kept_in_a_pipe(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["a\nb", f"x{STEER}\t"]]
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        with opened_text(None) as out:
            writer = RowWriter(out, [SKY, "b"], form)
            writer.write(rows)
            writer.close()
        text = stream.getvalue()
        if stream.isatty() or form != "csv":
            assert not sends(text) and "[2J" in text
        if form == "csv" and not stream.isatty():
            assert list(csv.reader(io.StringIO(text)))[1:] == rows
        elif form != "csv":
            found: Any = json.loads(text)
            assert (found if form == "jsonl" else found[0]) == dict(zip([SKY, "b"], rows[0], strict=True))
