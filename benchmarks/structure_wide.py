"""How long does learn_network take over continuous columns, and over hundreds and a thousand columns?

*Continuous*: rows of ecoli70 (46 columns) and arth150 (107) from ``networks/gaussian_json`` of ``BAYESKIT_DATA``, or of
a random linear-Gaussian network of as many columns where these are not there. Hill climbing by BIC against PyBNesian's
``GreedyHillClimbing`` on the same rows in the same run; both graphs are scored by our BIC. Our time is of the whole of
learn_network, from a pandas frame to a network with its parameters, theirs of the search.

*Wide*: random discrete networks of 400 and 1,000 columns of three states, whose columns have up to three parents among
the thirty before them, in random order. The default method and hill climbing; the memory of the default one.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import harness
from bayeskit import learn_network
from bayeskit.networks import score
from harness import Report, Run, peak_memory
from network_work import DATA
from peers import NotThere, keep
from structure_peers import peer

QUESTION = "Learning networks: how long over continuous columns, and over a thousand columns?"
PEER = "PyBNesian Gaussian hill climbing"


@dataclass(frozen=True, eq=False)
class Numbers:
    """Rows of continuous columns, as the peers' interpreter takes them: no column has states."""

    title: str
    columns: tuple[str, ...]
    codes: Any

    @property
    def sizes(self) -> tuple[int, ...]:
        return (0,) * len(self.columns)

    @cached_property
    def frame(self) -> Any:
        import pandas as pd

        return pd.DataFrame(self.codes, columns=list(self.columns))


def continuous(name: str, d: int, n: int) -> Numbers:
    """Draw n rows of a linear-Gaussian network by name, or of a random one with d columns."""
    rng = np.random.default_rng(11)
    path = DATA / "networks/gaussian_json" / f"{name}.json"
    if path.exists():
        given = json.loads(path.read_text(encoding="utf-8"))
        title, names = f"{name} {n:,} × {len(given['nodes'])}", given["nodes"]
        lines = {
            node: (
                {p: line["coefficients"][p][0] for p in line["parents"]},
                line["coefficients"]["(Intercept)"][0],
                line["variance"][0],
            )
            for node, line in given["cpds"].items()
        }
    else:
        title, names = f"random {n:,} × {d}", [f"x{j}" for j in range(d)]
        lines = {}
        for j, node in enumerate(names):
            above = rng.choice(j, min(j, int(rng.integers(0, 4))), replace=False) if j else []
            lines[node] = ({names[p]: float(rng.normal()) for p in above}, 0.0, 1.0)
    drawn: dict[str, Any] = {}
    while len(drawn) < len(names):
        for node, (slopes, intercept, variance) in lines.items():
            if node not in drawn and all(p in drawn for p in slopes):
                mean = intercept + sum(slope * drawn[p] for p, slope in slopes.items())
                drawn[node] = mean + np.sqrt(variance) * rng.normal(size=n)
    return Numbers(title, tuple(names), np.column_stack([drawn[node] for node in names]))


def time_continuous(report: Report) -> None:
    for name, d in (("ecoli70", 46), ("arth150", 107)):
        sample = continuous(name, d, max(300, int(1e4 * report.given.scale)))
        stage, mine = f"{sample.title}: hill climbing", 'bayeskit method="hill-climbing"'
        found = report.race(
            stage,
            {mine: partial(learn_network, sample.frame, "hill-climbing")},
            repeats=report.given.repeats,
        )[mine]
        ours = score(found, sample.frame, "bic")
        try:
            learned = peer(PEER, [sample], min(3, report.given.repeats))[0]
        except NotThere as reason:
            report.note(f"left out: {reason}")
            continue
        keep(report, stage, f"{PEER} ({learned.version})", learned.timing)
        ratio = learned.timing.cpu / report.cpu(stage, mine)
        report.claim(f"{stage} against PyBNesian", ratio, "×", at_least=1.0)
        theirs = score(list(learned.arcs), sample.frame, "bic")
        report.claim(f"{stage}: BIC above PyBNesian's", ours - theirs, at_least=0.0)


def time_default_of_numbers(report: Report) -> None:
    for name, d in (("ecoli70", 46), ("arth150", 107)):
        sample = continuous(name, d, max(300, int(1e4 * report.given.scale)))
        timing = harness.time_calls(partial(learn_network, sample.frame), 1)
        stage = f"{sample.title}: the default method"
        keep(report, stage, "bayeskit", timing)
        report.claim(f"{stage}, CPU", timing.cpu, " s")


def wide(n: int, d: int) -> Any:
    """Return a frame of columns of three states, each drawn given up to three of the thirty before it."""
    import pandas as pd

    rng = np.random.default_rng(5)
    codes = np.empty((n, d), np.int8)
    for j in range(d):
        k = min(j, int(rng.integers(0, 4)))
        above = rng.choice(np.arange(max(0, j - 30), j), k, replace=False) if k else []
        row = np.zeros(n, np.int64)
        for p in above:
            row = row * 3 + codes[:, p]
        cumulative = rng.dirichlet(np.full(3, 0.5), 3**k).cumsum(axis=1)
        codes[:, j] = (rng.random(n)[:, None] > cumulative[row]).sum(axis=1).clip(0, 2)
    order = rng.permutation(d)
    return pd.DataFrame({f"v{j}": pd.Categorical.from_codes(codes[:, j], ["a", "b", "c"]) for j in order})


def prepared(n: int, d: int) -> Run:
    """Make rows and warm up; the run that is returned is measured."""
    frame = wide(n, d)
    learn_network(frame.iloc[:500, :110])
    return partial(learn_network, frame)


def time_wide(report: Report) -> None:
    for rows, d, most in ((5_000, 400, None), (10_000, 1_000, 120.0)):
        n = max(300, int(rows * report.given.scale))
        frame = wide(n, d)
        stage = f"random {n:,} × {d:,}"
        scores = {}
        for method in ("hill-climbing", "auto"):
            learn_network(frame.iloc[:500, :110], method)
            kept: list[Any] = []
            timing = harness.time_calls(
                partial(_append, kept, partial(learn_network, frame, method, time_limit=1e6)), 1
            )
            keep(report, stage, f'bayeskit method="{method}"', timing)
            scores[method] = score(kept[-1], frame, "bic")
            bound = most if method == "auto" else None
            report.claim(f'{stage}: method="{method}", CPU', timing.cpu, " s", at_most=bound)
        gain = scores["auto"] - scores["hill-climbing"]
        report.claim(f"{stage}: BIC of the default above hill climbing's", gain, at_least=0.0)
    rise = peak_memory(prepared, n, d)
    report.claim(f"{stage}: the default method, memory above the data", rise, " MB", at_most=2000)


def _append(kept: list[Any], run: Run) -> None:
    kept.append(run())


PARTS = {"continuous": time_continuous, "default": time_default_of_numbers, "wide": time_wide}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows, 1 by default")
    parser.add_argument("--repeats", type=int, default=3, help="turns, of which the best counts")
    parser.add_argument("--only", nargs="*", choices=PARTS, help="which questions; kept only with --output")
    parser.add_argument(
        "--output", type=Path, help="JSON file; by default results/structure_wide.json at scale 1"
    )
    return parser.parse_args()


def main() -> None:
    given = options()
    report = Report(QUESTION, given, "pandas")
    for name in given.only or PARTS:
        PARTS[name](report)
    if given.only and given.output is None:
        print("\nNot kept: only a part was run. Pass --output to keep it.")
    else:
        report.finish()


if __name__ == "__main__":
    main()
