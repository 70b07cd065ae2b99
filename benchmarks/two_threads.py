"""How much sooner do two threads count than one, on two idle cores?

Naive Bayes of 30 numbers and AODE of 20 texts, in memory; naive Bayes of 12 mixed columns from Parquet. This is the one
benchmark of the clock on the wall, so it says nothing on a machine that does other work meanwhile: what other
processes took of the processors is measured in each turn, and turns that they disturbed do not count.

Two processors of a machine are not twice one: they may be two threads of one core, and they share the memory. So in
each turn two processes do the same work with one thread each, and one of them alone: how much sooner two are done than
one of them would be with the work of both is what the machine allows. The same of plain computing, without memory, says
which of the two limits it.
"""

from __future__ import annotations

import gc
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bayeskit import AODE, NaiveBayes
from files import mixed, texts
from harness import Report, options

QUESTION = (
    "Two threads against one, wall: 1e6 × 30 numbers and 1e7 × 20 texts in memory, 1e7 × 12 from Parquet"
)
TARGET = 1.7
# Of what two processes get, so much should be left to two threads.
LEAST_OF_MACHINE = 0.9
# The share of all processors that other work may take in a turn that counts.
MOST_ELSEWHERE = 0.05
Fit = Callable[[int], Any]


def ticks() -> float:
    """CPU seconds that all processes of the machine have taken; Linux only."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, soft, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def turn(run: Callable[[], Any], mine: Callable[[], float] = time.process_time) -> tuple[float, float]:
    """Return the seconds of a run, and the share of the processors that other processes took meanwhile."""
    gc.collect()
    others, own, wall = ticks(), mine(), time.perf_counter()
    run()
    wall, own = time.perf_counter() - wall, mine() - own
    return wall, max(0.0, ticks() - others - own) / (wall * (os.cpu_count() or 1))


class Helpers:
    """Two processes that share what this one holds, and do a piece of work whenever they are asked."""

    def __init__(self, work: Callable[[], Any]) -> None:
        context = get_context("fork")
        self.pipes = []
        for _ in range(2):
            here, there = context.Pipe()
            context.Process(target=self._answer, args=(there, work), daemon=True).start()
            self.pipes.append(here)
        self.cpu = 0.0

    @staticmethod
    def _answer(pipe: Any, work: Callable[[], Any]) -> None:
        while pipe.recv():
            before = time.process_time()
            work()
            pipe.send(time.process_time() - before)

    def work(self, n: int) -> None:
        """Let so many of them work at the same time."""
        for pipe in self.pipes[:n]:
            pipe.send(True)
        self.cpu += sum(pipe.recv() for pipe in self.pipes[:n])

    def end(self) -> None:
        for pipe in self.pipes:
            pipe.send(False)


def measure(report: Report, stage: str, fit: Fit, repeats: int) -> None:
    fit(1)  # compile and warm
    helpers = Helpers(partial(fit, 1))
    fit(2), helpers.work(2)
    runs: dict[str, Callable[[], Any]] = {
        "one thread": partial(fit, 1),
        "two threads": partial(fit, 2),
        "one process": partial(helpers.work, 1),
        "two processes": partial(helpers.work, 2),
    }
    best = by_turns(report, stage, runs, lambda: time.process_time() + helpers.cpu, repeats)
    helpers.end()
    threads = best["one thread"] / best["two threads"] if best else None
    processes = 2 * best["one process"] / best["two processes"] if best else None
    report.claim(f"{stage}: two threads against one", threads, "×", at_least=TARGET)
    report.claim(f"{stage}: what two processes get of this machine", processes, "×")
    share = threads / processes if threads is not None and processes is not None else None
    report.claim(f"{stage}: two threads ÷ two processes", share, "", at_least=LEAST_OF_MACHINE)


def by_turns(
    report: Report,
    stage: str,
    runs: dict[str, Callable[[], Any]],
    cpu: Callable[[], float],
    repeats: int,
) -> dict[str, float]:
    """Return the best seconds of each run in turns that were not disturbed; nothing if one has none."""
    quiet: dict[str, list[float]] = {name: [] for name in runs}
    disturbed = 0
    for _ in range(repeats):
        for name, run in runs.items():
            seconds, elsewhere = turn(run, cpu)
            if elsewhere <= MOST_ELSEWHERE:
                quiet[name].append(seconds)
            else:
                disturbed += 1
    if disturbed:
        report.note(f"{stage}: {disturbed} of {len(runs) * repeats} turns were disturbed by other processes.")
    return {name: min(times) for name, times in quiet.items()} if all(quiet.values()) else {}


def computing(report: Report, repeats: int) -> None:
    """What two processes get that only compute."""
    helpers = Helpers(partial(hashlib.pbkdf2_hmac, "sha256", b"", b"", 300_000))
    runs = {"one": partial(helpers.work, 1), "two": partial(helpers.work, 2)}
    best = by_turns(report, "plain computing", runs, lambda: time.process_time() + helpers.cpu, 2 * repeats)
    helpers.end()
    ratio = 2 * best["one"] / best["two"] if best else None
    report.claim("plain computing: what two processes get of this machine", ratio, "×")


def fit_rows(make: Any, X: Any, y: Any, n_jobs: int) -> Any:
    return make(n_jobs=n_jobs).fit(X, y)


def fit_file(path: Path, n_jobs: int) -> Any:
    return NaiveBayes(n_jobs=n_jobs).fit(path, target="class")


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "pyarrow")
    computing(report, given.repeats)
    rng = np.random.default_rng(0)
    n = int(1e6 * given.scale)
    y = rng.integers(0, 2, n)
    measure(
        report, "numbers in memory", partial(fit_rows, NaiveBayes, rng.normal(size=(n, 30)), y), given.repeats
    )
    rows = texts(10 * n)
    frame = rows.drop_columns("class").to_pandas()
    labels = rows.column("class").to_pandas()
    del rows
    measure(report, "texts in memory, all pairs", partial(fit_rows, AODE, frame, labels), given.repeats)
    del frame, labels
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(mixed(10 * n), path, row_group_size=122_880)
        measure(report, "Parquet", partial(fit_file, path), given.repeats)
    report.finish()


if __name__ == "__main__":
    main()
