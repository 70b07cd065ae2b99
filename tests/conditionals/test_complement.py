"""The complement block: scikit-learn's numbers, and the limit of no smoothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import ComplementNB

from bayeskit._conditionals.complement import estimate_complement
from bayeskit._statistics.totals import Totals
from bayeskit.errors import BlockValue, SettingError, UsageError
from refusals import refuses
from test_multinomial import scores, texts
from test_totals import count, forms


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.01, "array"])
def test_equals_scikit_learn(norm, fractional, weighted, alpha):
    dense, target, weights = texts(fractional=fractional)
    alpha = np.linspace(0.1, 2, dense.shape[1]) if alpha == "array" else alpha
    weights = weights if weighted else None
    peer = ComplementNB(alpha=alpha, norm=norm).fit(dense, target, weights)
    for form, block in forms(dense):
        model = estimate_complement(count(block, target, weights), alpha, norm)
        assert model.feature_log_prob == pytest.approx(peer.feature_log_prob_, rel=1e-10), form
        assert scores(model, block) == pytest.approx(peer._joint_log_likelihood(dense), rel=1e-10), form
        assert not model.adds_prior


@pytest.mark.parametrize("norm", [False, True])
def test_a_single_class_adds_its_prior(norm):
    dense, _, _ = texts()
    target = np.zeros(len(dense), int)
    peer = ComplementNB(norm=norm).fit(dense, target)
    model = estimate_complement(count(dense, target, n_classes=1), norm=norm)
    assert model.adds_prior
    found = scores(model, dense, 1) + peer.class_log_prior_
    assert found == pytest.approx(peer._joint_log_likelihood(dense), rel=1e-10)


TOTALS = Totals(np.array([[4.0, 2.0, 0.0, 0.0], [0.0, 2.0, 3.0, 0.0], [0.0, 2.0, 3.0, 0.0]]), np.ones(3))


def test_without_smoothing_a_word_of_one_class_is_certain():
    model = estimate_complement(TOTALS, alpha=0.0)
    dense = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    log = np.log
    expected = np.array(
        [
            # The complement of class 0 has 4 and 6 of words 1 and 2; those of 1 and 2 have 4, 4 and 3 of 11.
            [-log(4 / 10), -np.inf, -np.inf],
            [-log(4 / 10) - log(6 / 10), -log(4 / 11) - log(3 / 11), -log(4 / 11) - log(3 / 11)],
            [-log(4 / 10), -log(4 / 11), -log(4 / 11)],
            [0.0, 0.0, 0.0],
        ]
    )
    for form, block in forms(dense):
        assert scores(model, block) == pytest.approx(expected), form
    assert np.isposinf(model.feature_log_prob).tolist() == [
        [True, False, False, True],
        *[[False] * 3 + [True]] * 2,
    ]


@pytest.mark.parametrize("norm", [False, True])
def test_without_smoothing_is_the_limit_of_little(norm):
    rng = np.random.default_rng(5)
    dense = rng.poisson(0.15, (30, 20)).astype(float)
    target = np.arange(30) % 3
    totals = count(dense, target)
    exact = scores(estimate_complement(totals, 0.0, norm), dense)
    near = scores(estimate_complement(totals, 1e-300, norm), dense)
    assert not np.isnan(exact).any()
    ahead = near.max(axis=1, keepdims=True) - near
    if norm:
        # There the limit is neared as 1 / log(1 / alpha): twice the logarithm, half the distance.
        far = scores(estimate_complement(totals, 1e-150, norm), dense)
        assert abs(exact - near).max() < 0.1
        assert abs(exact - near).max() == pytest.approx(abs(exact - far).max() / 2, rel=0.1)
    else:
        assert np.array_equal(np.isneginf(exact), ahead > 100)
        assert np.isneginf(exact).any()


def test_fractional_totals_of_one_class_leave_no_complement():
    sums = np.array([[0.1, 0.3], [0.2, 0.7], [0.0, 0.1]])
    sums = np.column_stack([sums, [0.1 + 0.2 + 0.3, 0.0, 0.0]])
    model = estimate_complement(Totals(sums, np.ones(3)), alpha=0.0)
    assert np.isposinf(model.feature_log_prob).tolist() == [[False, False, True], *[[False] * 3] * 2]


@pytest.mark.parametrize("norm", [False, True])
def test_degenerate_totals_give_finite_scores(norm):
    for alpha in (0.0, 1.0):
        for totals in (
            Totals(np.array([[3.0]]), np.ones(1)),
            Totals(np.zeros((2, 3)), np.zeros(2)),
            Totals(np.array([[1.0], [2.0]]), np.ones(2)),
        ):
            n_classes, width = totals.sums.shape
            found = scores(estimate_complement(totals, alpha, norm), np.ones((1, width)), n_classes)
            assert not np.isnan(found).any()
            assert np.isfinite(found).any()


def test_refusals():
    model = estimate_complement(TOTALS)
    with refuses(UsageError, "multinomial"):
        model.sample(np.array([0]), np.random.default_rng(0))
    with refuses(BlockValue, "NaN", 1):
        scores(model, sparse.csr_array(np.array([[0.0, np.nan, 0.0, 1.0]])))
    with refuses(SettingError, "alpha", -1.0):
        estimate_complement(TOTALS, -1.0)
