"""Kills writers of a store at random moments, and checks after each that no count was lost or doubled.

Usage: store_killer.py DIRECTORY KILLS [SEED]
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from typing import Any

import numpy as np

from bayeskit import NaiveBayes, TallyStore

ROWS = 5
FORGOTTEN = 7  # every so many batches one is removed again
COMPACTED = 5


def batch(n: int) -> tuple[Any, Any]:
    """Batch n, whose first row has a state of its own: half a batch, or two, would be seen."""
    rng = np.random.default_rng(n)
    X = np.array([[f"batch {n % 50}", "w"], *([f"s{k}", "v"] for k in rng.integers(0, 3, ROWS - 1))])
    return X, rng.integers(0, 2, ROWS)


def changes(n: int) -> list[tuple[str, Any, Any]]:
    """The changes of round n: a batch and, now and then, the removal of one."""
    found = [("append", n, batch(n))]
    if n % FORGOTTEN == FORGOTTEN - 1:
        found.append(("forget", f"without {n}", batch(n)))
    return found


def write(store: TallyStore[Any], done: int, pipe: int) -> None:
    """Make changes for ever, and tell of each that was acknowledged."""
    n = done
    while True:
        for verb, batch_id, rows in changes(n):
            getattr(store, verb)(batch_id, *rows)
        os.write(pipe, b".")
        if n % COMPACTED == 0:
            store.compact()
        n += 1


def check(path: str, done: int) -> int:
    """Check a store in which so many rounds were acknowledged, and return how many are complete."""
    store: TallyStore[Any] = TallyStore(path)
    wanted: list[Any] = []
    n, ids = 0, list(store.batch_ids)
    while len(wanted) < len(ids):
        wanted += [batch_id for _, batch_id, _ in changes(n)]
        n += 1
    assert ids == wanted[: len(ids)], (ids[-5:], wanted[-5:])
    rounds = n - (len(wanted) > len(ids))
    assert done <= rounds <= done + 1, (done, rounds)
    if not ids:
        return 0
    there = [n for n in ids if isinstance(n, int) and f"without {n}" not in ids]
    rows = [batch(n) for n in there]
    fitted = NaiveBayes().fit(np.concatenate([X for X, _ in rows]), np.concatenate([y for _, y in rows]))
    model = store.model()
    assert model.schema_ == fitted.schema_
    np.testing.assert_array_equal(model.statistics_.tables.counts, fitted.statistics_.tables.counts)
    np.testing.assert_array_equal(model.statistics_.class_counts, fitted.statistics_.class_counts)
    return rounds


def main(path: str, kills: int, seed: int = 18) -> None:
    chance = random.Random(seed)
    TallyStore(path, NaiveBayes()).close()
    with TallyStore(path + ".warm", NaiveBayes()) as warm:  # everything is imported and compiled once
        for verb, batch_id, rows in changes(FORGOTTEN - 1):
            getattr(warm, verb)(batch_id, *rows)
        warm.compact()
    done = 0
    for _ in range(kills):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            write(TallyStore(path), done, writing)
        os.close(writing)
        with open(reading, "rb", buffering=0) as told:
            # After some rounds, so that there is progress on any machine; then at any moment of the next one.
            acknowledged = len(told.read(1)) if chance.random() < 0.6 else 0
            time.sleep(chance.expovariate(1 / 0.015))
            os.kill(child, signal.SIGKILL)
            assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "the writer ended by itself"
            acknowledged += len(told.readall())
        done = check(path, done + acknowledged)
    assert done > kills // 2
    with TallyStore(path) as store:
        for verb, batch_id, rows in changes(done):
            assert getattr(store, verb)(batch_id, *rows) in (True, False)
    check(path, done + 1)
    print(f"{kills} kills, {done} rounds")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
