"""What the books say in words about smoothing and risk, as laws (Zhou 2016, secs. 7.1 and 7.3)."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import NaiveBayes
from bayeskit.decision import conditional_risk, decide
from bayeskit.errors import SettingError
from bayeskit.priors import MAP, BDeu, Dirichlet, Lidstone, MEstimate
from bayeskit.statistics import Variable
from refusals import refuses

QUICK = settings(max_examples=40, deadline=None)
rows = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("uv")), min_size=2, max_size=30)
priors = st.one_of(
    st.floats(0, 50).map(Lidstone), st.floats(0.01, 50).map(MEstimate), st.floats(0.01, 50).map(BDeu)
)


def table_of(cells, **options):
    x, y = zip(*cells, strict=True)
    return NaiveBayes(states={"x": list("abcd")}, **options).fit({"x": list(x)}, list(y)).table("x")


@QUICK
@given(rows, priors)
def test_smoothed_rows_sum_to_one(cells, prior):
    table = table_of(cells, smoothing=prior)
    np.testing.assert_allclose(table.probabilities.sum(axis=1), 1.0, rtol=1e-13)
    assert (table.probabilities >= 0).all()


@QUICK
@given(rows, st.sampled_from([0.5, 1.0, 2.0]))
def test_smoothing_pulls_towards_the_uniform_by_a_known_share(cells, alpha):
    """(n + α)/(N + αr) = w·n/N + (1 - w)/r with w = N/(N + αr): a weighted mean, never beyond either."""
    table = table_of(cells, smoothing=alpha)
    n = table.counts.sum(axis=1, keepdims=True)
    w = n / (n + alpha * 4)
    np.testing.assert_allclose(table.probabilities, w * table.counts / n + (1 - w) / 4, rtol=1e-13)


@QUICK
@given(rows)
def test_the_change_vanishes_as_the_table_grows(cells):
    """Sec. 7.3: with more rows the estimate approaches the frequency. k times the rows: at most r/(kN)."""
    plain = table_of(cells, smoothing=0).probabilities
    least = table_of(cells, smoothing=0).counts.sum(axis=1).min()
    changes = []
    for k in (1, 10, 100):
        changes.append(np.abs(table_of(cells * k, smoothing=1).probabilities - plain).max())
        assert changes[-1] <= 4 / (k * least)
    assert changes[2] <= changes[1] / 2 <= changes[0]


@QUICK
@given(rows)
def test_laplace_is_a_mean_and_a_mode(cells):
    """The mean of the posterior under a = 1, and the mode of the posterior under a = 2."""
    laplace = table_of(cells, smoothing=Lidstone(1)).probabilities
    np.testing.assert_array_equal(laplace, table_of(cells, smoothing=Dirichlet(1)).probabilities)
    np.testing.assert_array_equal(laplace, table_of(cells, smoothing=MAP(Dirichlet(2))).probabilities)
    plain = table_of(cells, smoothing=MAP(Dirichlet(1))).probabilities
    np.testing.assert_array_equal(plain, table_of(cells, smoothing=0).probabilities)


def test_the_same_prior_said_two_ways_has_the_same_cells():
    x = Variable("x", "categorical", ("a", "b", "c"))
    assert MAP(Dirichlet(2)).cells(x, 1).tolist() == Lidstone(1).cells(x, 1).tolist() == [1.0, 1.0, 1.0]
    with refuses(SettingError, "x", 0.5, "smoothing=Dirichlet"):
        MAP(Dirichlet(0.5)).cells(x, 1)


@QUICK
@given(st.lists(st.lists(st.integers(1, 1000), min_size=3, max_size=3), min_size=1, max_size=20))
def test_least_risk_under_zero_one_loss_is_the_largest_posterior(weights):
    """eqs. 7.4-7.6: R(c | x) = 1 - P(c | x), so arg min R = arg max P."""
    posterior = np.array(weights, dtype=float)
    posterior /= posterior.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(conditional_risk(posterior), 1 - posterior, atol=1e-15)
    by_table = decide(posterior, 1 - np.eye(3))
    np.testing.assert_array_equal(decide(posterior).indices, by_table.indices)
    np.testing.assert_allclose(
        np.take_along_axis(posterior, by_table.indices[:, None], 1)[:, 0], posterior.max(axis=1), atol=1e-11
    )


def test_another_loss_may_choose_a_less_probable_class():
    assert decide([0.8, 0.2]).indices == 0
    assert decide([0.8, 0.2], [[0, 10], [1, 0]]).indices == 1


@QUICK
@given(rows)
def test_predict_is_the_decision_of_least_zero_one_risk(cells):
    x, y = zip(*cells, strict=True)
    model = NaiveBayes().fit({"x": list(x)}, list(y))
    query = {"x": list("abcd")}
    chosen = decide(model.predict_proba(query)).indices
    posterior = model.predict_proba(query)
    np.testing.assert_allclose(
        posterior[np.arange(4), chosen],
        posterior[np.arange(4), np.searchsorted(model.classes_, model.predict(query))],
        atol=1e-11,
    )
