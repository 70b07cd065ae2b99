"""P(c): estimated, given, and reweighted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._conditionals.class_prior import class_factors, estimate_class_prior, given_class_prior
from bayeskit.errors import SettingError
from bayeskit.priors import MAP, MLE, BDeu, Dirichlet, Laplace, Lidstone, MEstimate
from bayeskit.statistics import Variable
from refusals import refuses

Y = Variable("y", "categorical", ("no", "perhaps", "yes"))
COUNTS = np.array([5.0, 0.0, 3.0])


@pytest.mark.parametrize(
    ("prior", "wanted"),
    [
        (MLE(), ["5/8", "0", "3/8"]),
        (Laplace(), ["6/11", "1/11", "4/11"]),
        (Lidstone(0.5), ["11/19", "1/19", "7/19"]),
        (MEstimate(3), ["6/11", "1/11", "4/11"]),
        (BDeu(3), ["6/11", "1/11", "4/11"]),
        (Dirichlet({"y": {"perhaps": 2}}), ["6/12", "2/12", "4/12"]),
        (MAP(Dirichlet(2)), ["6/11", "1/11", "4/11"]),
    ],
    ids=repr,
)
def test_estimates_are_exact_fractions(prior, wanted):
    got = estimate_class_prior(COUNTS, prior.cells(Y, 1))
    np.testing.assert_allclose(got, [float(Fraction(p)) for p in wanted], rtol=1e-15)


def test_no_row_and_no_prior_is_every_class_alike():
    np.testing.assert_allclose(estimate_class_prior(np.zeros(3), MLE().cells(Y, 1)), 1 / 3)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8), st.sampled_from([0.0, 0.5, 1.0]))
def test_it_sums_to_one(counts, alpha):
    target = Variable("y", "categorical", tuple(range(len(counts))))
    prior = estimate_class_prior(np.array(counts), Lidstone(alpha).cells(target, 1))
    assert (prior >= 0).all()
    assert prior.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    "given",
    [[0.2, 0.3, 0.5], (0.2, 0.3, 0.5), np.array([0.2, 0.3, 0.5]), {"yes": 0.5, "no": 0.2, "perhaps": 0.3}],
)
def test_a_prior_that_is_given(given):
    assert given_class_prior(given, Y).tolist() == [0.2, 0.3, 0.5]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([0.5, 0.5], [2, 3, "no, perhaps, yes"]),
        ([0.2, 0.3, 0.4], [1, 0.9]),
        ([1.2, -0.2, 0.0], ["[1.2, -0.2, 0.0]"]),
        ([np.nan, 0.5, 0.5], ["[nan, 0.5, 0.5]"]),
        ([np.inf, 0.5, 0.5], ["[inf, 0.5, 0.5]"]),
        ({"yes": 1.0}, ["class_prior", "['yes']"]),
        ({"yes": 0.5, "no": 0.2, "perhaps": 0.3, "mauve": 0.0}, ["mauve"]),
    ],
)
def test_priors_that_mean_nothing(given, says):
    with refuses(SettingError, *says):
        given_class_prior(given, Y)


def test_priors_that_are_no_numbers():
    for numbers in (["a", "b", "c"], 7, [[0.2], [0.3], [0.5]]):
        with pytest.raises(SettingError):
            given_class_prior(numbers, Y)


@pytest.mark.parametrize(
    ("class_weight", "wanted"),
    [
        (None, None),
        ("balanced", [8 / 10, 1.0, 8 / 6]),
        ({"yes": 2.0}, [1.0, 1.0, 2.0]),
        ({"yes": 0, "no": 3, "perhaps": 1}, [3.0, 1.0, 0.0]),
    ],
)
def test_the_factor_of_each_class(class_weight, wanted):
    factors = class_factors(class_weight, COUNTS, Y)
    if wanted is None:
        assert factors is None
    else:
        np.testing.assert_allclose(factors, wanted)


def test_balanced_classes_weigh_the_same_and_the_total_stays():
    weights = class_factors("balanced", COUNTS, Y) * COUNTS
    np.testing.assert_allclose(weights, [4.0, 0.0, 4.0])


@pytest.mark.parametrize(
    ("class_weight", "says"),
    [
        ("even", ["class_weight", "even"]),
        ([1, 2, 3], ["class_weight", "[1, 2, 3]"]),
        ({"mauve": 1.0}, ["mauve", "no, perhaps, yes"]),
        ({"yes": -1.0}, ["{'yes': -1.0}"]),
        ({"yes": np.nan}, ["{'yes': nan}"]),
        ({"yes": 0, "no": 0, "perhaps": 0}, ["{'yes': 0, 'no': 0, 'perhaps': 0}"]),
    ],
)
def test_class_weights_that_mean_nothing(class_weight, says):
    with refuses(SettingError, *says):
        class_factors(class_weight, COUNTS, Y)
