"""Is every damaged file refused, or as good as an undamaged one, within limits of time and memory?

Text formats of networks and diagrams are changed in one to three places (signs, numbers, words, lines, bytes), tables
of rows and of costs likewise. Saved models and statistics have a checksum, so one or two of their values or arrays are
changed and the checksum is made to fit. A mutant is refused with the reader's typed error, or what was read must be
valid and answer. Each seed is a batch of mutants of one format. Batches of all formats take about as long; formats take
turns, and one that has all its mutants drops out.

Files are written into one folder of the process, in memory where there is such a place, and all tables are read over
one open DuckDB: a new database for each query would be most of the time (70 ms for a table, and 19 without).
"""

from __future__ import annotations

import atexit
import contextlib
import csv
import os
import random
import shutil
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from campaign import Campaign, run, use_tests

use_tests()

import duckdb
import numpy as np
import test_forged_models as forged_models

import format_networks
import network_files
import test_diagram_files
import test_network_text_fuzz as text_fuzz
import test_network_xml_fuzz as xml_fuzz
import test_saved
from bayeskit import BayesDecision, NaiveBayes
from bayeskit._cli.table_rows import read_losses
from bayeskit._io.saved import SavedContent, to_bytes
from bayeskit.errors import BayeskitError, ModelFormatError
from bayeskit.networks import read_influence_diagram
from bayeskit.statistics import load_statistics

Rng = random.Random
TABLES = {
    "csv": b'a,b,c,y\n1,red,0.5,no\n2,blue,,yes\n3,red,1.5,no\n4,"x, y",-2e3,yes\n5,blue,7,no\n6,red,0,yes\n',
    "jsonl": b"".join(
        b'{"a": %d, "b": "%s", "c": %s, "y": "%s"}\n' % row
        for row in [(1, b"red", b"0.5", b"no"), (2, b"blue", b"null", b"yes"), (3, b"red", b"7", b"no")] * 2
    ),
    "arff": b"@relation t\n@attribute a numeric\n@attribute b {red,blue}\n@attribute y {no,yes}\n@data\n"
    b"1,red,no\n2,blue,yes\n?,red,no\n4,blue,yes\n",
}

# The first of two changes may have taken the place of the second, or have left an array of another kind there.
_NOT_THERE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)
COSTS = b"action,no,yes\nask,1,1\nmail,0,10\ncall,5,0.5\n"


@cache
def _home() -> Path:
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    home = Path(tempfile.mkdtemp(prefix="bayeskit-mutants-", dir=place))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home


def file_named(name: str) -> Path:
    """Return a path in the folder of this process; what stood there is gone."""
    folder = _home() / str(os.getpid())
    folder.mkdir(exist_ok=True)
    (folder / name).unlink(missing_ok=True)
    return folder / name


_connect = duckdb.connect


@cache
def _database(process: int, settings: tuple[tuple[str, Any], ...]) -> Any:
    return _connect(config={**dict(settings), "threads": 1})


def use_one_database(*words: Any, config: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """Stand in for ``duckdb.connect``: a further connection to a database of this process with the same settings."""
    if words or more:
        return _connect(*words, config=dict(config or {}), **more)
    return _database(os.getpid(), tuple(sorted((config or {}).items()))).cursor()


def read_text(name: str, rng: Rng) -> bool:
    read, seeds = text_fuzz.SEEDS[name]
    data = text_fuzz.mutant(rng.choice(seeds), rng)
    try:
        network = read(data, "mutant")
    except ModelFormatError as error:
        assert error.path == "mutant"
        return False
    network_files.check_valid(network)
    return True


def read_other(name: str, rng: Rng) -> bool:
    data, read = xml_fuzz.FILES[name]
    try:
        model = read(xml_fuzz.mutated(data, rng), "mutant", rng.random() < 0.2)
    except ModelFormatError:
        return False
    format_networks.check_valid(model)
    return True


def read_diagram(name: str, rng: Rng) -> bool:
    text = {"diagram bifxml": test_diagram_files.PYAGRUM, "diagram xdsl": test_diagram_files.GENIE}[name]
    path = file_named(f"mutant.{name.split()[1]}")
    path.write_bytes(xml_fuzz.mutated(text.encode(), rng))
    try:
        found = read_influence_diagram(path)
    except ModelFormatError:
        return False
    assert np.isfinite(found.solve().expected_utility)
    return True


def fit_file(name: str, data: bytes) -> int:
    """Learn from a file and predict it into another; return how many rows were written."""
    path, answers = file_named(f"mutant.{name}"), file_named("answers.csv")
    path.write_bytes(data)
    model = NaiveBayes().fit(str(path), target="y")
    model.predict(str(path), sink=str(answers))
    with answers.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    assert {row[0] for row in rows} <= set(map(str, model.classes_)), rows[:3]
    return len(rows)


def read_table(name: str, rng: Rng) -> bool:
    try:
        fit_file(name, xml_fuzz.mutated(TABLES[name], rng))
    except BayeskitError:
        return False
    return True


def read_costs(_: str, rng: Rng) -> bool:
    path = file_named("mutant.csv")
    path.write_bytes(xml_fuzz.mutated(COSTS, rng))
    try:
        losses = read_losses(str(path), ["no", "yes"])
        BayesDecision(NaiveBayes(), loss=losses).fit([["u"], ["v"]], ["no", "yes"]).predict([["u"], ["w"]])
    except BayeskitError:
        return False
    assert all(set(costs) == {"no", "yes"} for costs in losses.values())
    return True


@cache
def forgeries(kind: str) -> Any:
    return forged_models.forgeries(kind, file_named("model"))


def read_model(_: str, rng: Rng) -> bool:
    found, saved, X, y = forgeries(rng.choice(list(forged_models.MODELS)))
    changes = rng.sample(found, rng.choice((1, 2, 2)))

    def change(content: Any, arrays: Any) -> None:
        for forgery in changes:
            with contextlib.suppress(*_NOT_THERE):
                forgery.change(content, arrays)

    named = forged_models.Forgery(" and ".join(forgery.name for forgery in changes), change)
    try:
        forged_models.check(named, saved, X, y, file_named("model"))
    except Exception as error:
        raise AssertionError(f"{saved.content.get('class')}: {named.name}: {error!r}") from error
    return False


@cache
def statistics_forgeries() -> Any:
    content, arrays = test_saved.pack_statistics(test_saved._STATISTICS)
    content = test_saved.json.loads(test_saved.json.dumps(content))
    return (
        [*forged_models.forged_values(content), *forged_models.forged_arrays(dict(arrays))],
        content,
        arrays,
    )


def read_statistics(_: str, rng: Rng) -> bool:
    found, content, arrays = statistics_forgeries()
    content = test_saved.json.loads(test_saved.json.dumps(content))
    arrays = {name: array.copy() for name, array in arrays.items()}
    for forgery in rng.sample(found, rng.choice((1, 2, 2))):
        with contextlib.suppress(*_NOT_THERE):
            forgery.change(content, arrays)
    path = file_named("statistics")
    path.write_bytes(to_bytes(SavedContent("statistics", content, arrays)))
    try:
        statistics = load_statistics(path)
    except ModelFormatError:
        return False
    with contextlib.suppress(BayeskitError):
        twice = statistics.merge(statistics)
        assert np.isfinite(twice.class_counts).all()
        twice.subtract(statistics)
    return True


# Each reader with the mutants that the long form promises, and how many make a batch.
FORMATS: dict[str, tuple[Callable[[str, Rng], bool], int, int]] = {
    "model": (read_model, 1_000_000, 20),
    "statistics": (read_statistics, 1_000_000, 50),
    **{name: (read_text, 1_000_000 if name == "bif" else 200_000, 500) for name in text_fuzz.SEEDS},
    **dict.fromkeys(xml_fuzz.FILES, (read_other, 200_000, 500)),
    **dict.fromkeys(("diagram bifxml", "diagram xdsl"), (read_diagram, 200_000, 100)),
    "csv": (read_table, 200_000, 4),
    **dict.fromkeys(("jsonl", "arff"), (read_table, 200_000, 8)),
    "costs": (read_costs, 200_000, 8),
}
NAMES = list(FORMATS)
_BATCHES = {name: promised // batch for name, (_, promised, batch) in FORMATS.items()}
# In the rounds before an end the same formats take turns: ends, formats, and the seed at which each stretch ends.
_ENDS = sorted(set(_BATCHES.values()))
_IN_TURN = [[name for name in NAMES if _BATCHES[name] >= end] for end in _ENDS]
_LAST = list(
    accumulate(
        len(names) * (end - begin)
        for names, begin, end in zip(_IN_TURN, [0, *_ENDS[:-1]], _ENDS, strict=True)
    )
)


def format_of(seed: int) -> str:
    """Return whose turn it is."""
    stretch = bisect_right(_LAST, seed)
    names = _IN_TURN[min(stretch, len(_IN_TURN) - 1)]
    return names[(seed - (_LAST[stretch - 1] if stretch else 0)) % len(names)]


def check(seed: int) -> Mapping[str, int]:
    name = format_of(seed)
    read, _, batch = FORMATS[name]
    rng, loaded = Rng(seed), 0
    duckdb.connect = use_one_database
    try:
        for number in range(batch):
            try:
                loaded += read(name, rng)
            except Exception as error:
                raise AssertionError(f"{name}, mutant {number}: {type(error).__name__}: {error}") from error
    finally:
        duckdb.connect = _connect
    return {name: batch, "mutants": batch, "valid": loaded}


CAMPAIGN = Campaign(
    name="mutants",
    question=__doc__.splitlines()[0],
    check=check,
    promised={name: promised for name, (_, promised, _) in FORMATS.items()},
    long=sum(_BATCHES.values()),
    short=len(NAMES),
    seconds=120.0,
)

if __name__ == "__main__":
    assert {name: fit_file(name, data) for name, data in TABLES.items()} == {"csv": 6, "jsonl": 6, "arff": 4}
    _home()  # made before the workers, so that it is removed after them
    sys.exit(run(CAMPAIGN))
