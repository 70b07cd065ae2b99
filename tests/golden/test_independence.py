"""Independence tests and the skeletons of PC against bnlearn (see networks/INDEPENDENCE.md)."""

from __future__ import annotations

import csv
import gzip
import json
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pytest

from bayeskit._fitting.search.independence_tests import CorrelationTests, IndependenceTests
from bayeskit._structure.search.pc import pc
from bayeskit._structure.search_protocol import Arcs, answer_all, bits, members
from bayeskit._structure.search_protocol import Test as Question
from outside import DATA

HERE = Path(__file__).parent / "networks" / "independence"
SMALL = ("asia", "learning.test")
LARGE = ("alarm", "insurance")
TABLE_TESTS = ("mi", "x2", "mi-adf", "x2-adf", "mi-sh")


def rows_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@cache
def table(data):
    """Return the names, the codes and the sizes of a discrete table."""
    if data in SMALL:
        with gzip.open(HERE / f"{data}.txt.gz", "rt", encoding="utf-8") as lines:
            names, *columns = lines.read().split("\n")[:-1]
        codes = np.array([[int(x) for x in column] for column in columns], np.uint8)
        return names.split(), codes, codes.max(axis=1).astype(np.int64) + 1
    path = DATA / "networks" / "data" / f"{data}.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not here: set BAYESKIT_DATA to the folder that holds networks/data")
    columns = duckdb.sql(f"select * from read_parquet('{path}')").fetchnumpy()
    coded = [np.unique(np.asarray(column), return_inverse=True) for column in columns.values()]
    sizes = np.array([len(states) for states, _ in coded])
    return list(columns), np.array([codes for _, codes in coded], np.uint8), sizes


def check(tests, names, rows):
    position = {name: place for place, name in enumerate(names)}
    assert len(rows) == 30
    asked = [
        Question(position[r["x"]], position[r["y"]], bits([position[z] for z in r["z"].split("|") if z]))
        for r in rows
    ]
    for row, (statistic, degrees, p) in zip(rows, tests(asked), strict=True):
        assert statistic == pytest.approx(float(row["statistic"]), rel=1e-10, abs=0), row
        assert degrees == float(row["df"]), row
        assert p == pytest.approx(float(row["p_value"]), rel=0, abs=1e-11), row


def wanted(data, n, name):
    path = HERE / "ci_tests.csv.gz" if data not in LARGE else DATA / "golden/networks/ci_tests.csv.gz"
    return [r for r in rows_of(path) if (r["data"], int(r["n"]), r["test"]) == (data, n, name)]


@pytest.mark.parametrize("name", TABLE_TESTS)
@pytest.mark.parametrize("rows", ["some", "all"])
@pytest.mark.parametrize("data", SMALL + LARGE)
def test_discrete(data, rows, name):
    names, codes, sizes = table(data)
    n = 500 if rows == "some" else codes.shape[1]
    check(IndependenceTests(codes[:, :n], sizes, name, min_rows=0), names, wanted(data, n, name))


def gaussian(n, name):
    with gzip.open(HERE / "gaussian.test.json.gz", "rt", encoding="utf-8") as lines:
        kept = json.load(lines)
    return kept["names"], CorrelationTests(np.array(kept["correlation"][str(n)]), n, name)


@pytest.mark.parametrize("name", ["cor", "zf", "mi-g"])
@pytest.mark.parametrize("n", [500, 5000])
def test_continuous(n, name):
    names, tests = gaussian(n, name)
    check(tests, names, wanted("gaussian.test", n, name))


def check_skeleton(data, n, algo, names, tests):
    alpha = 0.01 if algo.endswith("_01") else 0.05
    found = answer_all(pc(Arcs.all(len(names)), alpha), tests)
    edges = {frozenset(pair) for pair in found.undirected}
    edges |= {frozenset((p, v)) for v, parents in enumerate(found.parents) for p in members(parents)}
    rows = [
        r
        for r in rows_of(HERE / "pc_stable.csv.gz")
        if (r["data"], int(r["n"]), r["algo"]) == (data, n, algo)
    ]
    assert rows
    assert {frozenset(names[v] for v in edge) for edge in edges} == {
        frozenset((r["from"], r["to"])) for r in rows
    }


@pytest.mark.parametrize("algo", ["pc_stable", "pc_stable_01"])
@pytest.mark.parametrize("data", [*SMALL, "alarm"])
def test_skeletons_of_pc(data, algo):
    names, codes, sizes = table(data)
    n = 10_000 if data == "alarm" else 5000
    check_skeleton(data, n, algo, names, IndependenceTests(codes[:, :n], sizes, "mi", min_rows=0))


def test_continuous_skeleton_of_pc():
    check_skeleton("gaussian.test", 5000, "pc_stable", *gaussian(5000, "cor"))
