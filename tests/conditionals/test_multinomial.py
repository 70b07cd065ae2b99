"""The multinomial block: scikit-learn's numbers, exact zeros, the coefficient."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB

from bayeskit._conditionals.word_models import estimate_multinomial, log_coefficient
from bayeskit._statistics.totals import Totals
from bayeskit.errors import BlockValue, ColumnError, SettingError
from refusals import refuses
from test_totals import chunk_of, count, forms


def texts(seed=0, n=60, width=40, fractional=False, n_classes=3):
    rng = np.random.default_rng(seed)
    dense = rng.poisson(0.3, (n, width)).astype(float)
    if fractional:
        dense *= rng.random((n, width))
    dense[:, 7] = 0.0  # a word nobody uses
    dense[3] = 0.0  # an empty text
    target = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    return dense, target, rng.integers(0, 3, n) + rng.random(n)


def scores(model, block, n_classes=3):
    out = np.zeros((block.shape[0], n_classes))
    model.add_log_prob(chunk_of(block), out)
    return out


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.01, "array"])
def test_equals_scikit_learn(fractional, weighted, alpha):
    dense, target, weights = texts(fractional=fractional)
    alpha = np.linspace(0.1, 2, dense.shape[1]) if alpha == "array" else alpha
    weights = weights if weighted else None
    peer = MultinomialNB(alpha=alpha).fit(dense, target, weights)
    for form, block in forms(dense):
        model = estimate_multinomial(count(block, target, weights), alpha)
        assert model.feature_log_prob == pytest.approx(peer.feature_log_prob_, rel=1e-12), form
        found = scores(model, block) + peer.class_log_prior_
        assert found == pytest.approx(peer._joint_log_likelihood(dense), rel=1e-10), form


@pytest.mark.parametrize("n_classes", [1, 2, 7, 8, 9, 17])
def test_any_number_of_classes(n_classes):
    dense, target, _ = texts(n_classes=n_classes)
    model = estimate_multinomial(count(dense, target, n_classes=n_classes))
    found = scores(model, sparse.csr_array(dense), n_classes)
    assert found == pytest.approx(dense @ model.feature_log_prob.T, rel=1e-12)


def test_scores_are_added():
    dense, target, _ = texts()
    model = estimate_multinomial(count(dense, target))
    out = np.full((len(dense), 3), 5.0)
    model.add_log_prob(chunk_of(sparse.csr_array(dense)), out)
    assert out == pytest.approx(scores(model, dense) + 5.0)


def test_without_smoothing_zero_is_exact():
    totals = Totals(np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]]), np.array([2.0, 2.0, 0.0]))
    model = estimate_multinomial(totals, alpha=0.0)
    theta = np.array([[0.75, 0.25, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 0.0]])
    assert np.exp(model.feature_log_prob) == pytest.approx(theta, rel=1e-15, abs=0.0)
    dense = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
    log = np.log
    expected = np.array(
        [
            [2 * log(0.75) + log(0.25), -np.inf, -np.inf],
            [-np.inf, -np.inf, -np.inf],
            [3 * log(0.25), 3 * log(0.5), -np.inf],
            [0.0, 0.0, 0.0],
        ]
    )
    for form, block in forms(dense):
        assert scores(model, block) == pytest.approx(expected), form


def test_smoothing_of_some_words_only():
    totals = Totals(np.array([[2.0, 0.0, 0.0]]), np.array([1.0]))
    model = estimate_multinomial(totals, alpha=np.array([0.0, 2.0, 0.0]))
    assert np.exp(model.feature_log_prob) == pytest.approx(np.array([[0.5, 0.5, 0.0]]))


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, [1.0, 1.0], [1.0, -1.0, 1.0]])
def test_alpha_that_means_nothing(alpha):
    with refuses(SettingError, "alpha"):
        estimate_multinomial(Totals(np.ones((2, 3)), np.ones(2)), alpha)


@pytest.mark.parametrize("as_block", [np.array, sparse.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scoring_refuses_what_is_not_a_number(as_block, value):
    model = estimate_multinomial(Totals(np.ones((3, 2)), np.ones(3)))
    with refuses(BlockValue, "block", 1):
        scores(model, as_block(np.array([[1.0, 0.0], [1.0, value]])))


def test_scoring_keeps_an_impossible_class_impossible():
    model = estimate_multinomial(Totals(np.ones((3, 2)), np.ones(3)))
    out = np.array([[-np.inf, 0.0, 0.0]])
    model.add_log_prob(chunk_of(np.array([[1.0, 1.0]])), out)
    assert out == pytest.approx(np.array([[-np.inf, 2 * np.log(0.5), 2 * np.log(0.5)]]))


def test_scoring_refuses_another_width():
    model = estimate_multinomial(Totals(np.ones((3, 2)), np.ones(3)))
    for as_block in (np.array, sparse.csr_array):
        with refuses(ColumnError, 5, 2):
            scores(model, as_block(np.ones((1, 5))))


def test_coefficient_is_counted_by_factorials():
    dense = np.array([[2.0, 1.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    ways = [factorial(int(x.sum())) / np.prod([factorial(int(v)) for v in x]) for x in dense]
    for form, block in forms(dense):
        assert np.exp(log_coefficient(block)) == pytest.approx(ways), form


def test_with_the_coefficient_texts_of_one_length_share_probability_one():
    totals = Totals(np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0], [1.0, 0.0, 5.0]]), np.ones(3))
    length = 4
    every = [(a, b, length - a - b) for a in range(length + 1) for b in range(length + 1 - a)]
    model = estimate_multinomial(totals, 0.5, include_coefficient=True)
    assert np.exp(scores(model, np.array(every, float))).sum(axis=0) == pytest.approx(np.ones(3))


def test_drawn_texts_follow_the_class():
    totals = Totals(
        np.array([[60.0, 20.0, 0.0], [0.0, 5.0, 5.0], [0.0, 0.0, 0.0]]), np.array([8.0, 5.0, 0.0])
    )
    classes = np.repeat([0, 1, 2], 2000)
    drawn = estimate_multinomial(totals, alpha=0.0).sample(classes, np.random.default_rng(0))
    assert drawn.shape == (6000, 3)
    # Means 10·(0.75, 0.25, 0) and 2·(0, 0.5, 0.5); 2000 Poisson draws have a standard error under 0.07.
    assert drawn[:2000].mean(axis=0) == pytest.approx(np.array([7.5, 2.5, 0.0]), abs=0.3)
    assert drawn[2000:4000].mean(axis=0) == pytest.approx(np.array([0.0, 1.0, 1.0]), abs=0.15)
    assert not drawn[4000:].any()
    assert drawn[:2000].sum(axis=1).var() == pytest.approx(10.0, abs=1.5)
