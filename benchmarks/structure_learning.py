"""Does learn_network find a better network, and faster, than the peers on the same rows in the same run?

ALARM's rows (``default_rng(11)``), their columns shuffled and renamed: hill climbing, the default method and tabu
search by BIC against PyBNesian and pyAgrum; a million rows, with the memory they take; PC-stable against pyAgrum and
pgmpy; a Chow–Liu tree of 100 columns against pgmpy and pomegranate (pyAgrum has none); exact search, where nobody
else comes to an end. Every graph is scored and compared with the true one. ``--only quality`` and its table, in
``results/structure_learning.md``, tell how good the graphs are on six networks (``structure_quality.py``).

CPU time counts, and pyAgrum runs with one thread. Our times are of the whole of learn_network, from a pandas frame to
a network with its tables. pyAgrum's include reading the frame; PyBNesian's, pgmpy's and pomegranate's the search.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import harness
from bayeskit import learn_network
from harness import Report, Run, peak_memory
from peers import NotThere, keep
from structure_peers import peer
from structure_quality import Graded, graded, measure_quality
from structure_samples import Sample, draw, has_reference

QUESTION = "Learning networks: does learn_network find a better network, and faster, than its peers?"
# pyAgrum with more threads takes more CPU time, not less.
HILL = ("PyBNesian hill climbing", "pyAgrum hill climbing")
TABU = ("pyAgrum tabu",)
PC = ("pyAgrum PC", "pgmpy PC")
TREES = ("pgmpy Chow–Liu", "pomegranate Chow–Liu")
# The BIC of the true graph on the rows of default_rng(11): who draws others does not compare.
ANCHORS = {10_000: -105_994.6, 100_000: -1_047_080.5}


def compare(
    report: Report, sample: Sample, method: str, tasks: Sequence[str], repeats: int, **settings: Any
) -> tuple[float, dict[str, float]]:
    """Time one of our methods and some peers on a sample, grade what they find; return our CPU time and theirs."""
    stage, mine = f"{sample.title}: {method}", f'bayeskit method="{method}"'
    run = partial(learn_network, sample.frame, method=method, **settings)
    found = report.race(stage, {mine: run}, repeats=repeats)[mine]
    _tell(report, graded(sample, mine, found.arcs))
    theirs: dict[str, float] = {}
    for task in tasks:
        try:
            learned = peer(task, [sample], min(repeats, 3))[0]
        except NotThere as reason:
            report.note(f"left out: {reason}")
            continue
        keep(report, stage, f"{task} ({learned.version})", learned.timing)
        theirs[task] = learned.timing.cpu
        _tell(report, graded(sample, task, learned.arcs))
    return report.cpu(stage, mine), theirs


def _tell(report: Report, found: Graded) -> None:
    report.content.setdefault("graphs", []).append(found.as_row())
    print(f"      {found}")


def against(
    report: Report, what: str, mine: float, theirs: dict[str, float], at_least: float, owner: str = ""
) -> None:
    """Claim the ratio to the best of the peers (of one owner, if one is named)."""
    some = {task: cpu for task, cpu in theirs.items() if task.startswith(owner)}
    if some:
        best = min(some, key=some.__getitem__)
        report.claim(f"{what} against {best}", some[best] / mine, "×", at_least=at_least)


def alarm(report: Report, n_rows: int) -> Sample:
    n = max(300, int(n_rows * report.given.scale))
    sample = draw("alarm", n, 11)
    if n in ANCHORS and sample.title.startswith("alarm"):
        gap = abs(sample.bic_of_truth - ANCHORS[n])
        report.claim(
            f"{sample.title}: the rows are those that others drew (BIC of the truth)", gap, at_most=0.1
        )
    return sample.shuffled(4)


def time_hill_climbing(report: Report) -> None:
    for n_rows, least in ((10_000, 1.5), (100_000, 3.0)):
        sample = alarm(report, n_rows)
        mine, theirs = compare(report, sample, "hill-climbing", HILL, report.given.repeats)
        for owner, target in (("PyBNesian", least), ("pyAgrum", least)):
            against(report, f"{sample.title}: hill climbing", mine, theirs, target, owner)


def time_default(report: Report) -> None:
    for n_rows, most in ((10_000, None), (100_000, 5.0)):
        sample = alarm(report, n_rows)
        mine, _ = compare(report, sample, "auto", (), min(3, report.given.repeats))
        report.claim(f"{sample.title}: the default method, CPU", mine, " s", at_most=most)


def time_tabu(report: Report) -> None:
    sample = alarm(report, 100_000)
    mine, theirs = compare(report, sample, "tabu", TABU, min(3, report.given.repeats))
    against(report, f"{sample.title}: tabu search", mine, theirs, 5.0)


def time_pc(report: Report) -> None:
    sample = alarm(report, 10_000)
    mine, theirs = compare(report, sample, "pc", PC, min(3, report.given.repeats))
    against(report, f"{sample.title}: PC-stable", mine, theirs, 2.0)


def tree_rows(n: int, d: int = 100, n_states: int = 4) -> Sample:
    """Draw each column from one of the five before it."""
    rng = np.random.default_rng(0)
    codes = np.empty((n, d), np.int8)
    codes[:, 0] = rng.integers(0, n_states, n)
    arcs = []
    for j in range(1, d):
        above = int(rng.integers(max(0, j - 5), j))
        cumulative = rng.dirichlet(np.ones(n_states), n_states).cumsum(axis=-1)
        drawn = (rng.random(n)[:, None] > cumulative[codes[:, above]]).sum(axis=1)
        codes[:, j] = drawn.clip(0, n_states - 1)
        arcs.append((f"x{above}", f"x{j}"))
    names = tuple(f"x{j}" for j in range(d))
    return Sample(f"a tree, {n:,} × {d}", names, (n_states,) * d, codes, tuple(arcs))


def time_tree(report: Report) -> None:
    sample = tree_rows(max(300, int(1e5 * report.given.scale))).shuffled(4)
    mine, theirs = compare(report, sample, "chow-liu", TREES, min(3, report.given.repeats))
    against(report, f"{sample.title}: Chow–Liu", mine, theirs, 2.0)


def prepared(name: str, n: int, settings: dict[str, Any]) -> Run:
    """Make rows and warm up; the run that is returned is measured."""
    frame = draw(name, n, 11).shuffled(4).frame
    learn_network(frame[:2000], **settings)
    return partial(learn_network, frame, **settings)


def time_large(report: Report) -> None:
    n = max(300, int(1e6 * report.given.scale))
    settings = {"method": "hill-climbing"}
    run = prepared("alarm", n, settings)
    timing = harness.time_calls(run, 1)
    stage = f"alarm {n:,} × 37: hill climbing"
    print(f"\n{stage}")
    keep(report, stage, 'bayeskit method="hill-climbing"', timing)
    report.claim(f"{stage}: CPU", timing.cpu, " s", at_most=10.0)
    del run
    rise = peak_memory(prepared, "alarm", n, settings)
    report.claim(f"{stage}: memory above the data", rise, " MB", at_most=1000)


def time_exact(report: Report) -> None:
    n = max(300, int(1e4 * report.given.scale))
    settings = {"method": "exact", "max_parents": 4}
    sample = draw("child", n, 11).shuffled(4)
    mine, _ = compare(report, sample, "exact", (), 1, max_parents=4)
    report.claim(f"{sample.title}: exact search, CPU", mine, " s", at_most=5.0)
    rise = peak_memory(prepared, "child", n, settings)
    report.claim(f"{sample.title}: exact search, memory above the data", rise, " MB", at_most=1000)


ROWS: dict[str, Callable[[Report], None]] = {
    "hill-climbing": time_hill_climbing,
    "default": time_default,
    "tabu": time_tabu,
    "pc": time_pc,
    "chow-liu": time_tree,
    "large": time_large,
    "exact": time_exact,
    "quality": measure_quality,
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, 1 by default")
    parser.add_argument("--repeats", type=int, default=5, help="turns, of which the best counts")
    parser.add_argument("--only", nargs="*", choices=ROWS, help="which questions; kept only with --output")
    parser.add_argument(
        "--output", type=Path, help="JSON file; by default results/structure_learning.json at scale 1"
    )
    return parser.parse_args()


def main() -> None:
    given = options()
    report = Report(QUESTION, given, "pandas")
    report.note(
        "scores and distances are checked against code that is not ours"
        if has_reference()
        else "scores and distances are our own: no BENCH_REFERENCE"
    )
    for name in given.only or ROWS:
        begin = time.perf_counter()
        ROWS[name](report)
        print(f"\n({name}: {time.perf_counter() - begin:.0f} s)")
    if given.only and given.output is None:
        print("\nNot kept: only a part was run. Pass --output to keep it.")
    else:
        report.finish()


if __name__ == "__main__":
    main()
