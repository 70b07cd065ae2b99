"""The scripts of ``campaigns/``: a few seeds of each that is quick, and a harness that counts, limits and keeps."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "campaigns"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "campaign")


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script without leaving its folders on the path, or itself among the modules."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(os.environ, "PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(FOLDER)):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "seeds"),
    [("networks", [0, 7, 10]), ("histories", [3]), ("mutants", [1, 2, 20]), ("hostile", [0, 11])],
)
def test_a_few_seeds(imported: Any, name: str, seeds: list[int]) -> None:
    campaign = imported(name).CAMPAIGN
    assert campaign.name == name and campaign.short <= campaign.long
    for seed in seeds:
        counts = campaign.check(seed)
        assert counts and all(n >= 0 for n in counts.values()) and set(counts) & set(campaign.promised)


def test_formats_and_ways_take_turns_until_each_has_its_share(imported: Any) -> None:
    mutants, histories = imported("mutants"), imported("histories")
    turns = Counter(mutants.format_of(seed) for seed in range(mutants.CAMPAIGN.long))
    assert {name: turns[name] * batch for name, (_, _, batch) in mutants.FORMATS.items()} == dict(
        mutants.CAMPAIGN.promised
    )
    assert {mutants.format_of(seed) for seed in range(mutants.CAMPAIGN.short)} == set(mutants.FORMATS)
    drawn = {histories.turn(seed) for seed in range(histories.CAMPAIGN.long)}
    assert len(drawn) == histories.CAMPAIGN.long >= 100_000
    assert Counter(way for way, _ in drawn) == histories.EACH
    assert set(histories.QUICK) | set(histories.SLOW) <= set(histories.WAYS)
    of = Counter(way.split("-")[0] for way, _ in drawn)
    assert all(
        of[name.removeprefix("of ")] >= n for name, n in histories.CAMPAIGN.promised.items() if "of" in name
    )


def test_every_kind_of_file_has_its_mutants(imported: Any) -> None:
    script = imported("mutants")
    assert {"model", "statistics", "bif", "csv", "costs"} <= set(script.CAMPAIGN.promised)
    readers = {
        reader for name, reader in vars(script).items() if name.startswith("read_") and callable(reader)
    }
    unused = readers - {reader for reader, _, _ in script.FORMATS.values()}
    assert {reader.__name__ for reader in unused if reader.__module__ == script.__name__} == set()


def test_each_script_has_a_session_a_line_and_a_question():
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    listed = re.search(
        r"^CAMPAIGNS = (\[.*\])$", (ROOT / "noxfile.py").read_text("utf-8"), flags=re.MULTILINE
    )
    assert listed and sorted(json.loads(listed[1])) == NAMES
    for name in NAMES:
        assert f"campaigns/{name}.py" in contributing
        assert (FOLDER / f"{name}.py").read_text("utf-8").splitlines()[0].endswith("?")


def test_results_say_what_was_run():
    for path in sorted((ROOT / "benchmarks" / "results").glob("campaign_*.json")):
        result = json.loads(path.read_text("utf-8"))
        assert path.stem == f"campaign_{result['campaign']}" and result["campaign"] in NAMES
        reached = all(result["counts"].get(key, 0) >= n for key, n in result["promised"].items())
        assert (result["form"] == "long") == reached
        assert (
            result["n_failures"] == 0
            and result["counts"]
            and result["date"]
            and result["versions"]["bayeskit"]
        )


def check_of(seed: int) -> dict[str, int]:
    if seed == 2:
        raise ValueError("the second")
    if seed == 3:
        while True:
            time.process_time()
    return {"cases": 10}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_failures_and_endless_seeds_are_counted_and_kept(imported: Any, tmp_path: Path) -> None:
    harness = imported("campaign")
    campaign = harness.Campaign("toy", "Is it?", check_of, {"cases": 40}, long=4, short=2, seconds=0.2)
    path = tmp_path / "toy.json"
    assert harness.run(campaign, ["--output", str(path)]) == 1
    result = json.loads(path.read_text("utf-8"))
    assert result["counts"] == {"cases": 20} and result["form"] == "part of the long form"
    assert [(f["seed"], f["error"].split(":")[0]) for f in result["failures"]] == [
        (2, "ValueError"),
        (3, "OverTime"),
    ]
    assert harness.run(campaign, ["--short", "--first", "4", "--output", str(path)]) == 0
    assert json.loads(path.read_text("utf-8"))["form"] == "short"
    assert harness.run(campaign, ["--first", "4", "--output", str(path)]) == 0
    assert json.loads(path.read_text("utf-8"))["form"] == "long"
    assert harness.run(campaign, ["--short", "--first", "4", "--output", str(path)]) == 0
    assert json.loads(path.read_text("utf-8"))["form"] == "long", (
        "a smaller run does not replace a larger one"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_run_goes_on_where_it_was_stopped(imported: Any, tmp_path: Path) -> None:
    harness, path = imported("campaign"), tmp_path / "toy.json"
    campaign = harness.Campaign("toy", "Is it?", check_of, {"cases": 60}, long=6, short=2, seconds=5)
    told = ["--first", "4", "--output", str(path)]
    assert harness.run(campaign, ["--short", *told]) == harness.run(campaign, ["--resume", *told]) == 0
    result = json.loads(path.read_text("utf-8"))
    assert result["seeds"] == {"first": 4, "last": 9, "checked": 6}
    assert result["counts"] == {"cases": 60} and result["form"] == "long"
    path.write_text(json.dumps({**result, "versions": {"bayeskit": "0"}}), encoding="utf-8")
    with pytest.raises(SystemExit, match="other versions"):
        harness.run(campaign, ["--resume", *told])
