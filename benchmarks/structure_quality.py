"""How good are the networks that are found: six networks, three samples each, and ten orders of the columns?

A graph is evaluated by its BIC minus that of the true graph (above zero, the data support it more than the truth) and
by the structural Hamming distance of the equivalence classes of both. The targets are those for ALARM: the BIC of the
true graph, and a distance of at most 6 at 10,000 rows and 3 at 100,000.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

import harness
from bayeskit import learn_network
from harness import Report
from peers import NotThere
from structure_peers import peer
from structure_samples import Sample, draw, is_there, real

NETWORKS = ("asia", "sachs", "child", "insurance", "alarm", "hailfinder")
REAL = ("asia", "learning.test", "insurance", "alarm")
OURS = {"bayeskit default": "auto", "bayeskit hill climbing": "hill-climbing"}
PEERS = ("pyAgrum hill climbing", "PyBNesian hill climbing")
FARTHEST = {10_000: 6, 100_000: 3}


@dataclass(frozen=True)
class Graded:
    """One learned graph on one sample."""

    sample: str
    learner: str
    gain: float
    distance: int
    arcs: int
    cpu: float | None = None

    def __str__(self) -> str:
        return f"{self.learner}: {self.arcs} arcs, BIC {self.gain:+.1f} to the truth's, SHD {self.distance}"

    def as_row(self) -> dict[str, Any]:
        return {
            "sample": self.sample,
            "learner": self.learner,
            "bic_to_truth": round(self.gain, 3),
            "shd": self.distance,
            "arcs": self.arcs,
            "cpu": self.cpu,
        }


def graded(sample: Sample, learner: str, arcs: Iterable[Any], cpu: float | None = None) -> Graded:
    """Score a graph and compute its distance from the true one."""
    found = [(a, b) for a, b in arcs]
    gain = sample.bic(found) - sample.bic_of_truth
    return Graded(sample.title, learner, gain, sample.distance(found), len(found), cpu)


def ours(sample: Sample, learner: str) -> Graded:
    begin = time.process_time()
    found = learn_network(sample.frame, method=OURS[learner])
    return graded(sample, learner, found.arcs, time.process_time() - begin)


def learned(report: Report, samples: list[Sample], learners: Iterable[str] = (*OURS, *PEERS)) -> list[Graded]:
    """Learn from every sample with every learner. Peers that are not installed are left out."""
    rows = []
    for learner in learners:
        if learner in OURS:
            rows += [ours(sample, learner) for sample in samples]
            continue
        try:
            answers = peer(learner, samples, 1, timeout=580.0)
        except NotThere as reason:
            report.note(f"left out: {reason}")
            continue
        rows += [
            graded(sample, learner, found.arcs, found.timing.cpu)
            for sample, found in zip(samples, answers, strict=True)
        ]
    report.content.setdefault("graphs", []).extend(row.as_row() for row in rows)
    return rows


def tabled(rows: list[Graded], samples: list[Sample]) -> list[str]:
    """Return a table with a line for each sample and a column for each learner: BIC to the truth's / SHD / CPU."""
    learners = list(dict.fromkeys(row.learner for row in rows))
    cells = {(row.sample, row.learner): row for row in rows}
    lines = [f"| sample | {' | '.join(learners)} |", "|---" + "|--:" * len(learners) + "|"]
    for sample in samples:
        shown = []
        for learner in learners:
            row = cells.get((sample.title, learner))
            cost = "" if row is None or row.cpu is None else f" / {harness.seconds(row.cpu)}"
            shown.append("–" if row is None else f"{row.gain:+,.1f} / {row.distance}{cost}")
        lines.append(f"| {sample.title} | {' | '.join(shown)} |")
    return lines


def measure_quality(report: Report) -> None:
    """Evaluate every learner on every sample, and print tables. A full run also writes them."""
    scale = report.given.scale
    page = [
        "# How good are the networks that are learned?",
        "",
        f"Written by `benchmarks/structure_learning.py`, {report.content['date']}. In each cell: BIC less that of the "
        "true graph / structural Hamming distance between the classes of both graphs / CPU time. Columns are shuffled "
        "and renamed; the rows are the same for everybody. pyAgrum and PyBNesian climb by BIC, as "
        "our hill climbing does.",
    ]

    def part(title: str, samples: list[Sample], learners: Iterable[str] = (*OURS, *PEERS)) -> list[Graded]:
        rows = learned(report, samples, learners)
        page.extend(["", f"## {title}", "", *tabled(rows, samples)])
        print("\n".join(page[-len(samples) - 3 :]))
        return [row for row in rows if row.learner == "bayeskit default"]

    def one_answer(title: str, sample: Sample) -> list[Graded]:
        """Check that ten orders of the columns give the same graph."""
        rows = part(title, [sample.shuffled(k) for k in range(10)], ("bayeskit default",))
        spread = max(row.gain for row in rows) - min(row.gain for row in rows)
        report.claim(f"{title}: largest less smallest BIC", spread, at_most=1e-6)
        if sample.has_copies:
            report.note(f"{title}: columns that are equal cell by cell may change places")
        else:
            report.claim(f"{title}: different distances", len({row.distance for row in rows}), at_most=1)
        return rows

    def size(n: int) -> int:
        return max(300, int(n * scale))

    for name in NETWORKS:
        if not is_there(name):
            report.note(f"left out: there is no {name}")
            continue
        found = part(name, [draw(name, size(10_000), seed).shuffled(seed) for seed in (1, 2, 3)])
        report.claim(f"{name}: samples of 3 with the truth's BIC or more", _good(found), at_least=3)
        if name != "alarm":
            one_answer(f"{name}, ten orders of the columns", draw(name, size(10_000), 1))
    for name in REAL:
        sample = real(name)
        if sample is None:
            report.note(f"left out: there are no rows of {name}")
        else:
            rows = one_answer(f"{sample.title}, ten orders of the columns", sample)
            report.claim(f"{sample.title}: BIC to the published graph's", rows[0].gain, at_least=-1e-6)
    for n, most in FARTHEST.items():
        drawn = draw("alarm", size(n), 11)
        learners = (*OURS, *PEERS) if n == 10_000 else ("bayeskit default",)
        rows = part(
            f"alarm, {n:,} rows, ten orders of the columns",
            [drawn.shuffled(k) for k in range(10)],
            learners,
        )
        report.claim(f"alarm {n:,}, ten orders: with the truth's BIC or more", _good(rows), at_least=10)
        report.claim(f"alarm {n:,}, ten orders: largest SHD", max(row.distance for row in rows), at_most=most)
        spread = max(row.gain for row in rows) - min(row.gain for row in rows)
        report.claim(f"alarm {n:,}, ten orders: largest less smallest BIC", spread, at_most=1e-6)
        rows = part(
            f"alarm, {n:,} rows, five samples",
            [draw("alarm", size(n), seed).shuffled(seed) for seed in range(1, 6)],
            ("bayeskit default",),
        )
        report.claim(f"alarm {n:,}, five samples: with the truth's BIC or more", _good(rows), at_least=4)
        report.claim(
            f"alarm {n:,}, five samples: median SHD", median(row.distance for row in rows), at_most=most
        )
    if scale == 1.0:
        path = harness.RESULTS / "structure_learning.md"
        path.write_text("\n".join(page) + "\n", encoding="utf-8")
        print(f"\nTables kept in {path}.")


def _good(rows: list[Graded]) -> int:
    # A graph that is equivalent to the true one has the same score up to rounding.
    return sum(row.gain >= -1e-6 for row in rows)
