"""Missingness of numbers as a state: exact fractions, the look-up, the draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bayeskit._conditionals.presence import estimate_presence
from bayeskit.extending import Chunk

MARGIN = np.array([4.0, 6.0])
# Σw of the values present: never missing, missing in one class, missing in both, never there.
PRESENT = np.array([[4.0, 1.0, 2.0, 0.0], [6.0, 6.0, 5.0, 0.0]])


def fractions(rows):
    return np.array([[float(Fraction(p)) for p in row] for row in rows])


@pytest.mark.parametrize(
    ("alpha", "there"),
    [
        (1.0, [["2/6", "7/8"], ["3/6", "6/8"], ["1/6", "1/8"]]),
        (0.5, [["3/10", "13/14"], ["5/10", "11/14"], ["1/10", "1/14"]]),
        (0.0, [["1/4", "1"], ["2/4", "5/6"], ["0", "0"]]),
    ],
)
def test_estimates_are_exact_fractions(alpha, there):
    presence = estimate_presence(PRESENT, MARGIN, alpha)
    assert presence.columns.tolist() == [1, 2, 3]
    np.testing.assert_allclose(np.exp(presence.log_present), fractions(there), rtol=1e-15)
    np.testing.assert_allclose(np.exp(presence.log_missing), 1 - fractions(there), rtol=1e-14, atol=1e-16)


def test_where_nothing_was_ever_missing_there_is_no_factor():
    assert estimate_presence(PRESENT[:, :1], MARGIN, 1.0) is None
    rounded = PRESENT[:, :1] * (1 - 1e-15)
    assert estimate_presence(rounded, MARGIN, 1.0) is None


def test_a_class_without_rows_says_nothing_or_the_prior():
    presence = estimate_presence(np.array([[0.0], [1.0]]), np.array([0.0, 2.0]), 1.0)
    np.testing.assert_allclose(np.exp(presence.log_present), [[0.5, 0.5]])
    assert not np.isnan(
        estimate_presence(np.array([[0.0], [1.0]]), np.array([0.0, 2.0]), 0.0).log_present
    ).any()


def test_look_up_equals_the_slow_twin():
    presence = estimate_presence(PRESENT, MARGIN, 1.0)
    rng = np.random.default_rng(0)
    values = np.where(rng.random((50, 4)) < 0.5, np.nan, 1.0)
    out = rng.normal(size=(50, 2))
    wanted = out.copy()
    for i in range(50):
        for c in range(2):
            for place, j in enumerate(presence.columns):
                table = presence.log_missing if np.isnan(values[i, j]) else presence.log_present
                wanted[i, c] += table[place, c]
    presence.add_log_prob(Chunk(50, np.empty((50, 0), np.uint8), values), out)
    np.testing.assert_allclose(out, wanted, rtol=1e-13)


def test_draws_are_missing_as_often_as_the_rows_were():
    presence = estimate_presence(PRESENT, MARGIN, 0.0)
    classes = np.repeat([0, 1], 10_000)
    drawn = presence.sample(classes, np.random.default_rng(4))
    assert set(np.unique(drawn[~np.isnan(drawn)])) == {1.0}
    for c in (0, 1):
        there = (~np.isnan(drawn[classes == c])).mean(axis=0)
        # Four standard errors of a share over 10,000 draws are below 0.02.
        np.testing.assert_allclose(there, np.exp(presence.log_present[:, c]), atol=0.02)
