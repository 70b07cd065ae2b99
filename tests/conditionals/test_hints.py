"""Suggestions: what a numeric column might be, told from some rows."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit import NaiveBayes
from bayeskit._conditionals.density import hinted_families, shapes_of
from bayeskit._fitting.fitted_state import ROWS_LOOKED_AT

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=400)
SKEWED = RNG.exponential(size=400) ** 2


def hint(column):
    return hinted_families(shapes_of(["x"], np.asarray(column, dtype=np.float64)[:, None])).get("x")


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (np.arange(20) % 2, "bernoulli"),
        (np.resize([0.0, 1.0, np.nan], 30), "bernoulli"),
        (RNG.poisson(3, 100), "poisson"),
        (RNG.poisson(3, 100).astype(float), "poisson"),
        (np.where(np.arange(60) % 5 == 0, np.nan, RNG.poisson(3, 60)), "poisson"),
        (NORMAL, None),
        (1e9 + NORMAL, None),
        (SKEWED, "kernel"),
        (-SKEWED, "kernel"),
        (SKEWED * 1e-200, None),
        (np.where(np.arange(400) % 2, -5.0, 5.0) + 0.1 * NORMAL, "kernel"),
        (RNG.standard_t(1.5, 400), "kernel"),
        (SKEWED[:49], None),
        (np.arange(9) % 2, None),
        (np.full(50, 3.0), None),
        (np.full(50, np.nan), None),
        (RNG.integers(0, 5000, 100), None),
        (RNG.poisson(3, 100) - 10.0, None),
        (RNG.integers(0, 500, 200), None),
    ],
    ids=[
        *(
            "0 and 1",
            "0, 1 and gaps",
            "counts",
            "float counts",
            "counts and gaps",
            "bell",
            "far bell",
            "skewed",
        ),
        *(
            "left-skewed",
            "tiny",
            "two heaps",
            "heavy tails",
            "too few to tell",
            "under ten",
            "constant",
            "gaps",
        ),
        *("large whole numbers", "negative whole numbers", "spread-out whole numbers"),
    ],
)
def test_hints(column, wanted):
    assert hint(column) == wanted


def hints(**columns):
    n = len(next(iter(columns.values())))
    return NaiveBayes().fit(columns, np.arange(n) % 2)._fitted.hints


def test_only_the_first_rows_are_looked_at():
    late = np.concatenate([NORMAL, NORMAL, NORMAL[: ROWS_LOOKED_AT - 800], SKEWED * 1e6])
    assert hints(x=late) == {}
    assert hints(x=late[::-1].copy()) == {"x": "kernel"}


def test_every_numeric_column_by_its_name_and_no_other():
    words = np.array(["a", "b"] * 20, object)
    assert hints(w=words, flag=np.arange(40.0) % 2, calls=RNG.poisson(3.0, 40) + 0.0) == {
        "flag": "bernoulli",
        "calls": "poisson",
    }
    assert hints(w=words) == {}
