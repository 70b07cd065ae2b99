"""bnlearn's scores and fitted parameters: those kept here for three tables, and all where the data directory is."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from outside import DATA

HERE = Path(__file__).parent / "golden" / "networks" / "learning"
THERE = DATA / "golden" / "networks"

KEPT = ("asia", "learning.test", "clgaussian.test")
WHOLE = ("asia", "learning.test", "alarm", "insurance", "gaussian.test", "clgaussian.test")
CASES = [*((data, "kept") for data in KEPT), *((data, "whole") for data in WHOLE)]

# Columns that are kept of a table: families beyond them are not in the files kept, and totals neither.
PART = {"clgaussian.test": ("A", "B", "C", "F", "D", "H")}
CONTINUOUS = {"clgaussian.test": ("D", "H")}


def _path(name, where):
    if where == "kept":
        return HERE / f"{name}.csv.gz"
    found = next((p for p in (THERE / f"{name}.csv.gz", THERE / f"{name}.csv") if p.exists()), None)
    if found is None:
        pytest.skip("the data directory is not here")
    return found


@cache
def _lines(name, where):
    path = _path(name, where)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def numbers(name, where, data):
    """Return the lines of one file that are about one table."""
    return [line for line in _lines(name, where) if line["data"] == data]


@cache
def table(data, where):
    if where == "kept":
        lines = _lines(data, where)
        read = {name: float if name in CONTINUOUS.get(data, ()) else str for name in lines[0]}
        return pd.DataFrame({name: [kind(line[name]) for line in lines] for name, kind in read.items()})
    path = DATA / "networks" / "data" / f"{data}.parquet"
    if not path.exists():
        pytest.skip("the data directory is not here")
    return pd.read_parquet(path)


@cache
def graphs(data, where):
    """Return {graph: {child: parents}}."""
    found = defaultdict(lambda: defaultdict(list))
    for line in numbers("dags", where, data):
        parents = found[line["dag"]]
        if line["from"]:
            parents[line["to"]].append(line["from"])
    return found
