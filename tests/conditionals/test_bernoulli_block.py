"""The Bernoulli block: scikit-learn's numbers, exact zeros, absence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB

from bayeskit._conditionals.word_models import estimate_bernoulli_block
from bayeskit._statistics.totals import Totals
from bayeskit.errors import BlockValue, DataError, SettingError
from refusals import refuses
from test_multinomial import scores, texts
from test_totals import count, forms


def slow_scores(present, p):
    """Multiply the probabilities of every word's presence or absence."""
    with np.errstate(divide="ignore"):
        return np.log([[np.prod(np.where(x, q, 1 - q)) for q in p] for x in present])


@pytest.mark.parametrize("binarize", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_equals_scikit_learn(binarize, weighted, alpha):
    dense, target, weights = texts(fractional=True)
    dense *= 2
    weights = weights if weighted else None
    peer = BernoulliNB(alpha=alpha, binarize=binarize).fit(dense, target, weights)
    for form, block in forms(dense):
        totals = count(block, target, weights, binarize)
        model = estimate_bernoulli_block(totals, alpha, binarize)
        assert model.feature_log_prob == pytest.approx(peer.feature_log_prob_, rel=1e-10, abs=1e-12), form
        found = scores(model, block) + peer.class_log_prior_
        assert found == pytest.approx(peer.predict_joint_log_proba(dense), rel=1e-10), form


def test_negative_threshold_on_dense_blocks():
    rng = np.random.default_rng(2)
    dense, target = rng.normal(size=(30, 5)), np.arange(30) % 3
    peer = BernoulliNB(binarize=0.0).fit(dense + 0.5, target)
    model = estimate_bernoulli_block(count(dense, target, binarize=-0.5), binarize=-0.5)
    assert scores(model, dense) + peer.class_log_prior_ == pytest.approx(
        peer.predict_joint_log_proba(dense + 0.5), rel=1e-10
    )
    with refuses(DataError, -0.5, 0):
        scores(model, sparse.csr_array(dense))


def test_alpha_for_each_word():
    alpha = np.array([0.5, 1.0, 2.0])
    totals = Totals(np.array([[1.0, 0.0, 3.0], [2.0, 2.0, 1.0], [0.0, 0.0, 0.0]]), np.array([3.0, 2.0, 0.0]))
    p = np.array([[1.5 / 4, 1 / 5, 5 / 7], [2.5 / 3, 3 / 4, 3 / 6], [0.5, 0.5, 0.5]])
    model = estimate_bernoulli_block(totals, alpha)
    assert np.exp(model.feature_log_prob) == pytest.approx(p)
    every = np.array(list(product([0.0, 1.0], repeat=3)))
    assert scores(model, every) == pytest.approx(slow_scores(every > 0, p))
    assert np.exp(scores(model, every)).sum(axis=0) == pytest.approx(np.ones(3))


def test_without_smoothing_zero_is_exact():
    totals = Totals(np.array([[2.0, 0.0, 1.0], [0.0, 0.0, 3.0], [4.0, 4.0, 4.0]]), np.array([2.0, 3.0, 4.0]))
    p = np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    model = estimate_bernoulli_block(totals, alpha=0.0)
    every = np.array(list(product([0.0, 1.0], repeat=3)))
    expected = slow_scores(every > 0, p)
    assert np.isfinite(expected).any(axis=0).all()
    for form, block in forms(every):
        assert scores(model, block) == pytest.approx(expected), form
    assert np.exp(model.feature_log_prob) == pytest.approx(p)


def test_a_class_without_texts():
    totals = Totals(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), np.array([2.0, 0.0, 2.0]))
    block = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert np.isneginf(scores(estimate_bernoulli_block(totals, 0.0), block)[:, 1]).all()
    assert scores(estimate_bernoulli_block(totals, 1.0), block)[:, 1] == pytest.approx(2 * np.log(0.5))


@pytest.mark.parametrize("as_block", [np.array, sparse.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scoring_refuses_what_is_not_a_number(as_block, value):
    model = estimate_bernoulli_block(Totals(np.ones((3, 2)), np.ones(3)))
    with refuses(BlockValue, "'block'", 1):
        scores(model, as_block(np.array([[1.0, 0.0], [1.0, value]])))


def test_totals_must_be_of_zeros_and_ones():
    with refuses(DataError, 1, 2, "binarize=0"):
        estimate_bernoulli_block(Totals(np.array([[1.0, 1.0], [0.0, 3.0]]), np.array([1.0, 2.0])))
    rounded = Totals(np.array([[0.1 + 0.2]]), np.array([0.3]))
    assert estimate_bernoulli_block(rounded, 0.0).feature_log_prob == pytest.approx(np.zeros((1, 1)))
    with refuses(SettingError, "alpha", -1.0):
        estimate_bernoulli_block(rounded, -1.0)


def test_large_dense_blocks_are_cut_in_slices():
    rng = np.random.default_rng(1)
    dense = rng.poisson(0.5, (700, 4000)).astype(float)
    model = estimate_bernoulli_block(count(dense, np.arange(700) % 3, binarize=0.0))
    assert scores(model, dense) == pytest.approx(scores(model, sparse.csr_array(dense)), rel=1e-12)


def test_drawn_texts_follow_the_class():
    totals = Totals(np.array([[3.0, 0.0], [1.0, 4.0], [0.0, 0.0]]), np.array([4.0, 4.0, 1.0]))
    classes = np.repeat([0, 1], 4000)
    drawn = estimate_bernoulli_block(totals, alpha=0.0).sample(classes, np.random.default_rng(0))
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert drawn[:4000].mean(axis=0) == pytest.approx(np.array([0.75, 0.0]), abs=0.04)
    assert drawn[4000:].mean(axis=0) == pytest.approx(np.array([0.25, 1.0]), abs=0.04)
