"""The negative binomial: moments by hand, probabilities by their definition, rows left out by refits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom

from bayeskit import NaiveBayes
from bayeskit._conditionals.negative_binomial import NegativeBinomial, _log_prob
from bayeskit.errors import DataError, NotCounted
from refusals import refuses


def fitted(x, y, weights=None, **how) -> NegativeBinomial:
    columns = {"x": np.asarray(x, dtype=float)}
    model = NaiveBayes(numeric="negative-binomial", **how).fit(columns, y, weights)
    return model._model.conditionals[0]


def test_moments_by_hand():
    # Class a: 0, 2, 4, 10: mean 4, variance 14 = 4 + φ·16. Class b: 1, 1, 4: mean 2, variance 2: a Poisson.
    x, y = [0, 2, 4, 10, 1, 1, 4], list("aaaabbb")
    got = fitted(x, y, smoothing=0.0)
    np.testing.assert_allclose(got.rates.ravel(), [4.0, 2.0])
    np.testing.assert_allclose(got.dispersion.ravel(), [10 / 16, 0.0], atol=1e-15)
    unbiased = fitted(x, y, smoothing=0.0, variance="unbiased")  # 56/3 = 4 + φ·16, and 3 = 2 + φ·4
    np.testing.assert_allclose(unbiased.dispersion.ravel(), [(56 / 3 - 4) / 16, 1 / 4])
    # One imaginary row: n(s² − x̄) is 40 and 0, nx̄² is 64 and 12; a row has 40/7 and 76/7 of them.
    smoothed = fitted(x, y, smoothing=1.0)
    np.testing.assert_allclose(smoothed.rates.ravel(), [(16 + 22 / 7) / 5, (6 + 22 / 7) / 4])
    np.testing.assert_allclose(
        smoothed.dispersion.ravel(), [(40 + 40 / 7) / (64 + 76 / 7), (40 / 7) / (12 + 76 / 7)]
    )


@pytest.mark.parametrize("dispersion", [0.01, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("mean", [0.2, 3.0, 150.0])
def test_probabilities_equal_the_definition(mean, dispersion):
    x = np.arange(60.0)
    wanted = nbinom.logpmf(x, 1 / dispersion, 1 / (1 + dispersion * mean))
    np.testing.assert_allclose(
        _log_prob(x, np.array(mean), np.array(dispersion)), wanted, rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("dispersion", [0.0199, 0.02, 1e-4, 1e-8, 1e-11, 0.0])
def test_next_to_the_poisson_no_digit_is_lost(dispersion):
    mean = 3.0
    for x in (0, 1, 5, 40):
        rising = math.fsum(math.log1p(j * dispersion) for j in range(x))
        end = (x + 1 / dispersion) * math.log1p(dispersion * mean) if dispersion else mean
        wanted = rising + x * math.log(mean) - math.lgamma(x + 1) - end
        got = _log_prob(np.array(float(x)), np.array(mean), np.array(dispersion))
        assert float(got) == pytest.approx(wanted, rel=1e-12, abs=1e-12 + 1e-16 / max(dispersion, 1e-4))


def test_counts_without_excess_answer_as_a_poisson_does():
    x, y = [3.0, 4.0, 3.0, 8.0, 7.0, 8.0], list("aaabbb")
    columns = {"x": np.array(x)}
    wanted, got = (
        NaiveBayes(numeric=family).fit(columns, y).predict_proba(columns)
        for family in ("poisson", "negative-binomial")
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


COUNTS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.0, 1.0, 2.0, 7.0, 300.0, math.nan]), st.sampled_from("ab")),
    min_size=4,
    max_size=12,
)


@settings(max_examples=80)
@given(COUNTS, st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_leaving_out_equals_refitting(rows, alpha, unbiased):
    x, y = np.array([row[0] for row in rows]), [row[1] for row in rows]
    if min(y.count("a"), y.count("b")) < 2:
        return
    how = {"smoothing": alpha, "variance": "unbiased" if unbiased else "mle", "numeric": "negative-binomial"}
    with np.errstate(all="raise", under="ignore"):
        got = NaiveBayes(**how).fit({"x": x}, y).leave_one_out({"x": x}, y)
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        rest = NaiveBayes(**how).fit(
            {"x": x[kept]}, [label for label, keep in zip(y, kept, strict=True) if keep]
        )
        with np.errstate(all="ignore"):
            wanted = rest.predict_proba({"x": x[i : i + 1]})[0]
        np.testing.assert_allclose(got[i], wanted, rtol=1e-9, atol=1e-300)


def test_what_was_never_counted_is_refused():
    model = NaiveBayes(numeric="negative-binomial").fit({"x": np.array([1.0, 2.0, 5.0, 4.0])}, list("aabb"))
    with pytest.raises(NotCounted):
        model.leave_one_out({"x": np.array([50.0])}, ["a"])


@pytest.mark.parametrize("value", [-1.0, 1e17])
def test_what_is_no_count_is_refused_with_its_place(value):
    model = NaiveBayes(numeric="negative-binomial").fit({"calls": np.array([1.0, 2.0, 5.0])}, list("aab"))
    with refuses(DataError, "calls", f"{value:g}", 1):
        model.predict({"calls": np.array([2.0, value])})
    with refuses(DataError, "calls"):
        NaiveBayes(numeric="negative-binomial").fit({"calls": np.array([value] * 3)}, list("aab")).predict(
            {"calls": np.array([2.0])}
        )
