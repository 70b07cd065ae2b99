"""How much sooner do two threads count than one, on two idle cores?

Naive Bayes of 30 numbers and AODE of 20 texts, in memory; naive Bayes of 12 mixed columns from Parquet. This is the one
benchmark of the clock on the wall, so it says nothing on a machine that does other work meanwhile: what other
processes took of the processors is measured in each turn, and turns that they disturbed do not count.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
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
# The share of all processors that other work may take in a turn that counts.
MOST_ELSEWHERE = 0.05
Fit = Callable[[int], Any]


def ticks() -> float:
    """CPU seconds that all processes of the machine have taken; Linux only."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, soft, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def turn(fit: Fit, n_jobs: int) -> tuple[float, float]:
    """Return the seconds of a fit, and the share of the processors that other processes took meanwhile."""
    gc.collect()
    others, mine, wall = ticks(), time.process_time(), time.perf_counter()
    fit(n_jobs)
    wall, mine = time.perf_counter() - wall, time.process_time() - mine
    return wall, max(0.0, ticks() - others - mine) / (wall * (os.cpu_count() or 1))


def measure(report: Report, stage: str, fit: Fit, repeats: int) -> None:
    fit(1), fit(2)  # compile and warm
    quiet: dict[int, list[float]] = {1: [], 2: []}
    disturbed = 0
    for _ in range(repeats):
        for n_jobs, times in quiet.items():
            seconds, elsewhere = turn(fit, n_jobs)
            if elsewhere <= MOST_ELSEWHERE:
                times.append(seconds)
            else:
                disturbed += 1
    if disturbed:
        report.note(f"{stage}: {disturbed} of {2 * repeats} turns were disturbed by other processes.")
    ratio = min(quiet[1]) / min(quiet[2]) if quiet[1] and quiet[2] else None
    report.claim(f"{stage}: two threads against one", ratio, "×", at_least=TARGET)


def fit_rows(make: Any, X: Any, y: Any, n_jobs: int) -> Any:
    return make(n_jobs=n_jobs).fit(X, y)


def fit_file(path: Path, n_jobs: int) -> Any:
    return NaiveBayes(n_jobs=n_jobs).fit(path, target="class")


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "pyarrow")
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
