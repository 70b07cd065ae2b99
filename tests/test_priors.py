"""Priors: the imaginary counts each adds, and how settings are read."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from bayeskit import MultinomialNB, priors
from bayeskit.errors import SettingError
from bayeskit.priors import (
    MAP,
    MLE,
    BackOff,
    BDeu,
    Dirichlet,
    Laplace,
    Lidstone,
    MEstimate,
    NormalInverseGamma,
    Prior,
    WittenBell,
    as_prior,
    as_smoothing,
    backs_off,
    joint_cells,
)
from bayeskit.statistics import Variable
from refusals import refuses

X = Variable("x", "categorical", ("a", "b", "c"))
EMPTY = Variable("x", "categorical")


@pytest.mark.parametrize(
    ("prior", "n_parents", "cells"),
    [
        (MLE(), 2, [0, 0, 0]),
        (Laplace(), 2, [1, 1, 1]),
        (Lidstone(0.5), 2, [0.5, 0.5, 0.5]),
        (Lidstone(np.float32(0.5)), 2, [0.5, 0.5, 0.5]),
        (MEstimate(2), 4, [Fraction(2, 3)] * 3),
        (BDeu(2), 4, [Fraction(2, 12)] * 3),
        (BDeu(2), 1, [Fraction(2, 3)] * 3),
        (Dirichlet(), 2, [1, 1, 1]),
        (Dirichlet(2), 2, [2, 2, 2]),
        (Dirichlet([1, 2, 3.5]), 2, [1, 2, 3.5]),
        (Dirichlet(np.array([1, 2, 3.5])), 2, [1, 2, 3.5]),
        (Dirichlet({"x": 4}), 2, [4, 4, 4]),
        (Dirichlet({"z": 4}), 2, [1, 1, 1]),
        (Dirichlet({"x": [1, 0, 2]}), 2, [1, 0, 2]),
        (Dirichlet({"x": {"c": 7}}), 2, [1, 1, 7]),
        (MAP(Dirichlet(2)), 2, [1, 1, 1]),
        (MAP(Dirichlet(1)), 2, [0, 0, 0]),
        (MAP(Dirichlet({"x": {"a": 2.5}})), 2, [1.5, 0, 0]),
    ],
    ids=repr,
)
def test_imaginary_counts(prior, n_parents, cells):
    assert isinstance(prior, Prior)
    got = prior.cells(X, n_parents)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, [float(cell) for cell in cells], rtol=1e-15)


@pytest.mark.parametrize(
    "prior", [Lidstone(1), MEstimate(1), BDeu(1), Dirichlet(1), Dirichlet([]), Dirichlet({})]
)
def test_no_states_have_no_imaginary_counts(prior):
    assert prior.cells(EMPTY, 0).shape == (0,)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Lidstone(-1), ["alpha", -1]),
        (lambda: Lidstone(float("nan")), ["alpha", "nan"]),
        (lambda: Lidstone(float("inf")), ["alpha", "inf"]),
        (lambda: Lidstone("1"), ["alpha", "1"]),
        (lambda: MEstimate(-0.1), ["m", -0.1]),
        (lambda: BDeu(-2), ["ess", -2]),
        (lambda: Dirichlet(-1).cells(X, 1), ["prior", "x", -1]),
        (lambda: Dirichlet([1, 2]).cells(X, 1), [2, 3, "a, b, c"]),
        (lambda: Dirichlet([1, 2, -3]).cells(X, 1), ["prior", "x", -3]),
        (
            lambda: Dirichlet({"x": {"mauve": 1}}).cells(X, 1),
            ["mauve", "a, b, c"],
        ),
        (lambda: Dirichlet("abc").cells(X, 1), ["prior", "x", "a"]),
        (lambda: MAP(Dirichlet(0.5)).cells(X, 1), ["x", 0.5, 1]),
        (lambda: NormalInverseGamma(kappa=0), ["kappa", 0]),
        (lambda: NormalInverseGamma(alpha=-1), ["alpha", -1]),
        (lambda: NormalInverseGamma(beta=float("inf")), ["beta", "inf"]),
        (lambda: NormalInverseGamma(mean=float("nan")), ["mean", "nan"]),
        (lambda: as_prior("laplas"), ["prior", "laplas"]),
        (lambda: as_prior(True), [True, "prior"]),
        (lambda: as_prior([1, 2]), ["[1, 2]", "prior", "bayeskit.priors"]),
        (lambda: as_prior(-1), ["smoothing", -1]),
        (lambda: as_smoothing({"numeric": "laplace"}), ["NormalInverseGamma", "Lidstone"]),
        (lambda: as_smoothing({"x": "nothing"}), ["prior", "nothing"]),
        (lambda: as_smoothing(-3), ["smoothing", -3]),
    ],
)
def test_what_means_nothing_is_refused(make, says):
    with refuses(SettingError, *says):
        make()


@pytest.mark.parametrize(
    ("spec", "prior"),
    [
        ("mle", Lidstone(0.0)),
        ("laplace", Lidstone(1.0)),
        ("m-estimate", MEstimate(1.0)),
        ("bdeu", BDeu(1.0)),
        ("student", NormalInverseGamma()),
        (0, Lidstone(0.0)),
        (2, Lidstone(2.0)),
        (np.float64(0.25), Lidstone(0.25)),
        (np.int64(3), Lidstone(3.0)),
        (BDeu(4), BDeu(4)),
    ],
)
def test_a_prior_by_name_number_or_itself(spec, prior):
    assert as_prior(spec) == prior


@pytest.mark.parametrize(
    ("smoothing", "of_x", "of_z", "numeric"),
    [
        (None, Lidstone(1.0), Lidstone(1.0), None),
        (0.5, Lidstone(0.5), Lidstone(0.5), None),
        ("bdeu", BDeu(1.0), BDeu(1.0), None),
        ({"x": "mle"}, Lidstone(0.0), Lidstone(1.0), None),
        ({"x": 3, "categorical": BDeu(2)}, Lidstone(3.0), BDeu(2), None),
        (NormalInverseGamma(kappa=2), Lidstone(1.0), Lidstone(1.0), NormalInverseGamma(kappa=2)),
        (
            {"numeric": "student", "z": 0, "categorical": 0.5},
            Lidstone(0.5),
            Lidstone(0.0),
            NormalInverseGamma(),
        ),
    ],
)
def test_which_prior_each_attribute_gets(smoothing, of_x, of_z, numeric):
    read = as_smoothing(smoothing)
    assert read.of(X) == of_x
    assert read.of(Variable("z", "categorical")) == of_z
    assert read.numeric == numeric


def test_the_mean_and_the_mode_of_laplace():
    """Laplace's rule is the mean under a = 1 and the mode under a = 2."""
    np.testing.assert_array_equal(MAP(Dirichlet(2)).cells(X, 1), Laplace().cells(X, 1))
    np.testing.assert_array_equal(Dirichlet(1).cells(X, 1), Laplace().cells(X, 1))


# -- backing off -----------------------------------------------------------------------------------

Z = Variable("z", "categorical", (0, 1))


@pytest.mark.parametrize(
    ("given", "deepest", "levels"),
    [
        (4, 2, [4, 4, 4]),
        ([1, 4], 0, [1]),
        ([1, 4], 3, [1, 4, 4, 4]),
        (np.array([0.5, 2.0, 8.0]), 1, [0.5, 2.0]),
        (np.float64(3), 1, [3, 3]),
    ],
    ids=str,
)
def test_constants_of_the_levels(given, deepest, levels):
    np.testing.assert_array_equal(BackOff(given).levels(deepest), levels)


def test_back_off_is_a_value():
    assert BackOff([1, 2]) == BackOff((1.0, 2.0)) == BackOff(np.array([1, 2]))
    assert hash(BackOff([1, 2])) == hash(BackOff((1.0, 2.0)))
    assert BackOff() != BackOff(1)
    assert WittenBell() == WittenBell()


@pytest.mark.parametrize(
    "given", [0, -1, [], [1, 0], [1, float("nan")], float("inf"), "x", ["a"], [None]], ids=str
)
def test_constants_that_mean_nothing(given):
    with refuses(SettingError, "BackOff"):
        BackOff(given)


@pytest.mark.parametrize(
    ("prior", "yes"),
    [
        (BackOff(), True),
        (BackOff(2), True),
        (WittenBell(), True),
        (Lidstone(1), False),
        (MEstimate(1), False),
    ],
)
def test_who_backs_off(prior, yes):
    assert backs_off(prior) is yes


@pytest.mark.parametrize(
    ("prior", "variables", "n_classes", "cells"),
    [
        (Lidstone(0.5), [X], 4, [0.5] * 3),
        (MLE(), [X], 4, [0.0] * 3),
        (MEstimate(2), [X], 4, [2 / 12] * 3),
        (BDeu(2), [X], 4, [2 / 12] * 3),
        (BackOff(), [X], 4, [1 / 12] * 3),
        (WittenBell(), [X], 2, [1 / 6] * 3),
        (Dirichlet({"x": {"c": 7}}), [X], 2, [1, 1, 7]),
        (MEstimate(2), [X, Z], 4, [[2 / 24] * 2] * 3),
        (Lidstone(2), [X, Z], 4, [[2.0] * 2] * 3),
        (Dirichlet({"x": [1, 2, 3], "z": [1, 10]}), [X, Z], 1, [[1, 10], [2, 20], [3, 30]]),
        (MEstimate(1), [EMPTY], 3, []),
    ],
    ids=repr,
)
def test_imaginary_counts_of_a_joint_table(prior, variables, n_classes, cells):
    found = joint_cells(prior, variables, n_classes)
    assert found.shape == np.shape(cells)
    np.testing.assert_allclose(found, cells, rtol=1e-15)


def test_a_joint_table_of_m_rows_holds_m_rows():
    for variables in ([X], [X, Z]):
        assert joint_cells(MEstimate(3), variables, 5).sum() * 5 == pytest.approx(3)
        assert joint_cells(BDeu(3), variables, 5).sum() * 5 == pytest.approx(3)


@pytest.mark.parametrize(
    ("smoothing", "base", "of_x"),
    [
        (None, BackOff(), BackOff()),
        (0.5, BackOff(), Lidstone(0.5)),
        (0.0, BackOff(), Lidstone(0.0)),
        ("witten-bell", Laplace(), WittenBell()),
        ("back-off", Laplace(), BackOff()),
        ({"x": "mle"}, BackOff(), Lidstone(0.0)),
        ({"z": "mle"}, BackOff(), BackOff()),
        ({"categorical": MEstimate(2)}, BackOff(), MEstimate(2)),
        (NormalInverseGamma(), BackOff(), BackOff()),
        (None, None, Lidstone(1.0)),
    ],
    ids=str,
)
def test_the_prior_of_a_model_with_parents(smoothing, base, of_x):
    assert as_smoothing(smoothing, base).of(X) == of_x


@pytest.mark.parametrize(
    "smoothing",
    ["back-off", BackOff(2), "witten-bell", {"x": "back-off"}, {"categorical": WittenBell()}],
    ids=str,
)
def test_nothing_to_back_off_to(smoothing):
    with refuses(SettingError, "BackOff", "WittenBell", "TAN"):
        as_smoothing(smoothing)


def test_every_prior_is_among_those_that_can_be_saved():
    """A dataclass of the package that is a prior and not in PRIORS could be used but not saved."""
    found = {
        value
        for value in vars(priors).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == priors.__name__
    }
    assert found - {priors.Smoothing} == set(priors.PRIORS)


@pytest.mark.parametrize("number", [1e301, 1e308, 10**400, float("inf"), float("nan"), -1.0])
def test_no_more_is_imagined_than_can_be_added_up(number):
    made = [Lidstone, MEstimate, BDeu, lambda a: Dirichlet(a).cells(X, 1)]
    made += [lambda a: NormalInverseGamma(kappa=a), lambda a: MultinomialNB(alpha=a).fit([[1], [2]], [0, 1])]
    for prior in made:
        with refuses(SettingError, 0, 1e300):
            prior(number)
