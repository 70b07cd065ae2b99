"""Are Fayyad and Irani's cut points bound by the sort?

A million values of three overlapping classes: ours against the bare ``np.argsort`` that any such method
needs, and against scikit-learn's ``KBinsDiscretizer`` with quantiles, which does not look at the class.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.preprocessing import KBinsDiscretizer

from bayeskit._fitting.cut_points import frequency_cut_points, mdl_cut_points
from harness import Report, options

QUESTION = "Cut points of 1e6 values, 3 classes: ours against a bare sort and scikit-learn's quantiles"
SORT = "np.argsort alone"
PEER = "scikit-learn KBinsDiscretizer(quantile)"
OURS = "bayeskit mdl_cut_points"


def planted(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw values with one cut, at 0.3: two or three sweeps over the rows."""
    values = rng.random(n)
    return values, np.where(values < 0.3, rng.integers(0, 2, n), rng.integers(1, 3, n))


def overlapping(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw values of three normals: dozens of cuts, about seven sweeps."""
    codes = rng.integers(0, 3, n)
    return rng.normal(codes * 0.8, 1.0), codes


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    n = int(1e6 * given.scale)
    for stage, make in (("one planted cut", planted), ("overlapping normals", overlapping)):
        values, codes = make(n, np.random.default_rng(0))

        def quantiles(values: Any = values) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # its defaults are about to change
                # Without a subsample, as ours: all rows are looked at.
                return KBinsDiscretizer(10, strategy="quantile", encode="ordinal", subsample=None).fit(
                    values[:, None]
                )

        runs = {
            OURS: lambda v=values, c=codes: mdl_cut_points(v, c, 3),
            "bayeskit frequency_cut_points": lambda v=values: frequency_cut_points(v, 10),
            SORT: lambda v=values: np.argsort(v),
            PEER: quantiles,
        }
        answers = report.race(stage, runs)
        beyond = 1e3 * (report.cpu(stage, OURS) - report.cpu(stage, SORT))
        report.claim(f"{stage}: time beyond the sort", beyond, " ms", at_most=30 if n == 1_000_000 else None)
        report.claim(f"{stage}: ours over the sort", report.cpu(stage, OURS) / report.cpu(stage, SORT), "×")
        report.note(f"{len(answers[OURS])} cut points, the first at {answers[OURS][:1].round(3).tolist()}")
    report.finish()


if __name__ == "__main__":
    main()
