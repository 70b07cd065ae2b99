"""Three coins: Li Hang, Statistical Learning Methods (统计学习方法), example 9.1.

Coin A (heads: π) decides which is thrown, B (heads: p) or C (heads: q); only the last throw is told. Two starts end in
two places: EM finds a local maximum, and here a whole ridge of them has the same likelihood.
"""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest

from bayeskit.mixtures import StoppingRule, run_em

THROWS = [1, 1, 0, 1, 0, 0, 1, 0, 1, 1]


def by_hand(pi, p, q):
    """One step as the book prints it: μ_j is the share of coin B in throw j."""
    shares = []
    for y in THROWS:
        b = pi * (p if y else 1 - p)
        c = (1 - pi) * (q if y else 1 - q)
        shares.append(b / (b + c))
    n, b = len(THROWS), sum(shares)
    return (
        b / n,
        sum(mu * y for mu, y in zip(shares, THROWS, strict=True)) / b,
        sum((1 - mu) * y for mu, y in zip(shares, THROWS, strict=True)) / (n - b),
    )


def expect(parameters):
    """Expected throws and heads of each coin, and the log-likelihood."""
    pi, p, q = parameters
    throws, heads, value = [0.0, 0.0], [0.0, 0.0], 0.0
    for y in THROWS:
        joint = pi * (p if y else 1 - p), (1 - pi) * (q if y else 1 - q)
        value += math.log(sum(joint))
        for k in (0, 1):
            throws[k] += joint[k] / sum(joint)
            heads[k] += y * joint[k] / sum(joint)
    return (throws, heads), value


def maximise(statistics):
    throws, heads = statistics
    return throws[0] / len(THROWS), heads[0] / throws[0], heads[1] / throws[1]


COINS = SimpleNamespace(expect=expect, maximise=maximise)


def test_equal_coins_stay_equal():
    """From (1/2, 1/2, 1/2) one step leads to (1/2, 3/5, 3/5), and there it stays: no step tells the coins apart."""
    half = Fraction(1, 2)
    once = by_hand(half, half, half)
    assert once == (half, Fraction(3, 5), Fraction(3, 5))
    assert by_hand(*once) == once
    found = run_em(COINS, (0.5, 0.5, 0.5), StoppingRule(1e-12))
    assert found.converged
    assert found.parameters == pytest.approx((0.5, 0.6, 0.6), abs=1e-15)


def test_another_start_ends_elsewhere():
    start = Fraction(4, 10), Fraction(6, 10), Fraction(7, 10)
    once = by_hand(*start)
    # μ = 4/11 where heads was thrown, 8/17 where tails was: 6·4/11 + 4·8/17 over ten throws.
    assert once == (Fraction(76, 187), Fraction(51, 95), Fraction(119, 185))
    assert [round(float(x), 4) for x in once] == [0.4064, 0.5368, 0.6432]
    found = run_em(COINS, tuple(map(float, start)), StoppingRule(1e-12))
    assert found.converged
    assert found.parameters == pytest.approx(tuple(map(float, once)), rel=1e-12)


def test_every_step_is_that_of_the_book():
    here = Fraction(46, 100), Fraction(55, 100), Fraction(67, 100)
    for steps in (1, 2):
        here = by_hand(*here)
        found = run_em(COINS, (0.46, 0.55, 0.67), StoppingRule(0.0, steps))
        assert found.parameters == pytest.approx(tuple(map(float, here)), rel=1e-12)
    # The book's third start ends at π = 0.4619, p = 0.5346, q = 0.6561.
    assert [round(float(x), 4) for x in here] == [0.4619, 0.5346, 0.6561]


def test_both_ends_explain_the_throws_equally_well():
    """All that a throw tells is P(heads) = π p + (1 − π) q, and both ends say 6/10: what differs cannot be known."""
    ends = (
        by_hand(Fraction(4, 10), Fraction(6, 10), Fraction(7, 10)),
        (Fraction(1, 2), Fraction(3, 5), Fraction(3, 5)),
    )
    for pi, p, q in ends:
        assert pi * p + (1 - pi) * q == Fraction(6, 10)
        assert expect((pi, p, q))[1] == pytest.approx(6 * math.log(0.6) + 4 * math.log(0.4), rel=1e-12)
