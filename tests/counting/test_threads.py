"""Chunks on threads: the same bits for any number of them, in order, and errors that arrive."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from bayeskit._counting import backend as threads
from bayeskit._counting.backend import count_rows, in_order
from bayeskit._data import encoded as encoded_module
from bayeskit._data.encode import encode
from bayeskit._data.source import thread_count
from bayeskit._data.table import open_table
from bayeskit.errors import SettingError
from bayeskit.extending import Reading
from bayeskit.statistics import Plan, Variable
from refusals import refuses

CORES = os.cpu_count() or 1


@pytest.mark.parametrize(
    ("n_jobs", "wanted"),
    [
        (None, 1),
        (1, 1),
        (3, 3),
        (-1, CORES),
        (-2, max(1, CORES - 1)),
        (-1000, 1),
        (np.int64(2), 2),
        (np.int32(-1), CORES),
    ],
)
def test_thread_count(n_jobs, wanted):
    assert thread_count(n_jobs) == wanted


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", np.float64(2)])
def test_what_is_no_number_of_threads(n_jobs):
    with refuses(SettingError, "n_jobs", repr(n_jobs)):
        thread_count(n_jobs)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4, -1])
def test_results_come_in_order(n_jobs):
    """Also where every third task ends only after the one behind it."""
    bounds = [(i, i + 1) for i in range(23)]
    ended = [threading.Event() for _ in bounds]

    def task(start, stop):
        if start % 3 == 0 and thread_count(n_jobs) > 1:
            ended[start + 1].wait()
        ended[start].set()
        return start

    assert list(in_order(task, bounds, n_jobs)) == list(range(23))


def test_one_thread_is_the_callers_own():
    here = threading.get_ident()
    assert set(in_order(lambda a, b: threading.get_ident(), [(0, 1), (1, 2)], None)) == {here}
    assert here not in set(in_order(lambda a, b: threading.get_ident(), [(0, 1), (1, 2)], 2))
    assert set(in_order(lambda a, b: threading.get_ident(), [(0, 1)], 2)) == {here}


def test_only_a_few_tasks_wait():
    taken, done = [], []

    def bounds():
        for i in range(50):
            taken.append(i)
            yield i, i + 1

    class Bounds(list):
        def __iter__(self):
            return bounds()

    results = in_order(lambda a, b: done.append(a), Bounds([None] * 50), 2)
    next(results)
    assert len(taken) == 4
    list(results)
    assert sorted(done) == list(range(50))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_in_a_task_arrives(n_jobs):
    def task(start, stop):
        if start == 3:
            raise KeyError("the third")
        return start

    results = in_order(task, [(i, i + 1) for i in range(9)], n_jobs)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="the third"):
        next(results)


def test_a_pool_belongs_to_its_process(monkeypatch):
    mine = threads._pool(2)
    assert threads._pool(2) is mine
    monkeypatch.setattr(threads.os, "getpid", lambda: -1)
    other = threads._pool(2)
    assert other is not mine
    other.shutdown()
    del threads._pools[-1, 2]


def table_of(n):
    rng = np.random.default_rng(3)
    columns = {
        "a": rng.integers(0, 5, n),
        "b": np.where(rng.random(n) < 0.1, None, rng.choice(["p", "q"], n)),
        "u": rng.normal(size=n) * 1e3,
        "v": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(size=n)),
    }
    table = open_table(columns)
    schema = Reading(categorical=["a", "b"]).schema_of(table, Variable("y", "categorical"))
    labels, weights = rng.choice(["x", "y", "z"], n), rng.random(n)
    return encode(table, schema, "grow", y=labels, weights=weights, with_target=True)


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(encoded_module, "CHUNK_ROWS", 97)
    encoded = table_of(1000)
    assert len(encoded.bounds()) == 11
    numeric = tuple(v.name for v in encoded.schema.numeric)
    plan = Plan.naive(encoded.schema, numeric, numeric)
    one = count_rows(encoded, plan, None)
    for n_jobs in (2, 3, -1):
        other = count_rows(encoded, plan, n_jobs)
        for kind, part in one.parts.items():
            for name, array in part.arrays().items():
                np.testing.assert_array_equal(
                    other.parts[kind].arrays()[name], array, err_msg=f"{kind}.{name}"
                )


def test_chunks_together_are_the_whole(monkeypatch):
    whole = count_rows(table_of(500), Plan.naive(table_of(500).schema))
    monkeypatch.setattr(encoded_module, "CHUNK_ROWS", 61)
    pieces = count_rows(table_of(500), Plan.naive(table_of(500).schema), 2)
    np.testing.assert_allclose(pieces.tables.counts, whole.tables.counts, rtol=1e-12)
    np.testing.assert_allclose(pieces.moments.centred(), whole.moments.centred(), rtol=1e-12)


FORKED = """
import os, sys
import numpy as np
from bayeskit import GaussianNB
rng = np.random.default_rng(0)
X, y = rng.normal(size=(140_000, 3)), rng.integers(0, 2, 140_000)
here = GaussianNB(n_jobs=2).fit(X, y)
child = os.fork()
if child == 0:
    there = GaussianNB(n_jobs=2).fit(X, y)
    os._exit(0 if np.array_equal(there.theta_, here.theta_) else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_does_not_wait_for_its_parents_threads():
    # A pool inherited through a fork has no threads: a child that used it would hang until the timeout.
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], timeout=120, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
