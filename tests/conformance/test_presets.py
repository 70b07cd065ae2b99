"""The presets give scikit-learn's numbers on one fit, and their own again after any split (as it does not)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.naive_bayes as peers
from estimators import same_labels
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import bayeskit
from refusals import refuses

CLOSE = 1e-10
SHARED = (
    "class_count_",
    "class_log_prior_",
    "feature_count_",
    "feature_log_prob_",
    "feature_all_",
    "class_prior_",
)
GAUSSIAN = ("theta_", "var_", "epsilon_")
CODED = ("n_categories_", "category_count_")

alphas = st.sampled_from([1.0, 0.5, 1e-3, 3.0])
switches = st.booleans()
priors = st.sampled_from([None, [0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])
word_alphas = alphas | st.just([0.5, 1.0, 2.0, 3.0])

SETTINGS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "MultinomialNB": st.fixed_dictionaries(
        {"alpha": word_alphas, "fit_prior": switches, "class_prior": priors}
    ),
    "ComplementNB": st.fixed_dictionaries({"alpha": word_alphas, "fit_prior": switches, "norm": switches}),
    "BernoulliNB": st.fixed_dictionaries(
        {
            "alpha": alphas,
            "fit_prior": switches,
            "class_prior": priors,
            "binarize": st.sampled_from([0.0, 1.0, 0.5]),
        }
    ),
    "CategoricalNB": st.fixed_dictionaries(
        {
            "alpha": alphas,
            "fit_prior": switches,
            "class_prior": priors,
            "min_categories": st.sampled_from([None, 3, 8, [4, 5, 6, 7]]),
        }
    ),
    "GaussianNB": st.fixed_dictionaries(
        {"priors": priors, "var_smoothing": st.sampled_from([1e-9, 1e-3, 0.1])}
    ),
}
presets = pytest.mark.parametrize("name", list(SETTINGS))


def rows_for(name: str, rng: np.random.Generator, n: int) -> Any:
    if name == "GaussianNB":
        return rng.normal(0.0, 3.0, (n, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 100.0, 0.0, -5.0]
    if name == "CategoricalNB":
        return rng.integers(0, 4, (n, 4))
    return rng.poisson(1.0, (n, 4)).astype(float)


def drawn(name: str, seed: int, weighted: bool) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    y = np.append([0, 0, 1, 1, 2, 2], rng.integers(0, 3, n - 6))
    return rows_for(name, rng, n), y, rng.random(n) + 0.1 if weighted else None


def chosen_for(name: str, data: st.DataObject, weighted: bool) -> dict[str, Any]:
    chosen = data.draw(SETTINGS[name], label="settings")
    if name == "GaussianNB" and weighted:
        # The peer takes its share of the variance of the rows as if they weighed one each; here a row of
        # weight zero is absent from it too.
        chosen["var_smoothing"] = 0.0
    return chosen


def equal_to_the_peer(ours: Any, peer: Any, X: Any) -> None:
    compared = 0
    for attribute in (*SHARED, *GAUSSIAN, *CODED):
        if not hasattr(peer, attribute):
            continue
        a, b = getattr(ours, attribute), getattr(peer, attribute)
        for mine, its in zip(a, b, strict=True) if isinstance(b, list) else [(a, b)]:
            np.testing.assert_allclose(mine, its, rtol=CLOSE, atol=CLOSE, err_msg=attribute)
        compared += 1
    assert compared >= 4
    assert ours.n_features_in_ == peer.n_features_in_
    np.testing.assert_array_equal(ours.classes_, peer.classes_)
    for question in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        mine, its = getattr(ours, question)(X), getattr(peer, question)(X)
        np.testing.assert_allclose(mine, its, rtol=CLOSE, atol=CLOSE, err_msg=question)
    same_labels(ours, peer, X)


@presets
@settings(max_examples=25)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # the peer's logarithm of a prior of 0
def test_equal_to_scikit_learn(name: str, data: st.DataObject, seed: int, weighted: bool) -> None:
    chosen = chosen_for(name, data, weighted)
    X, y, w = drawn(name, seed, weighted)
    peer = getattr(peers, name)(**chosen).fit(X, y, sample_weight=w)
    equal_to_the_peer(getattr(bayeskit, name)(**chosen).fit(X, y, sample_weight=w), peer, X)


@presets
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_any_split_is_the_peer_of_the_whole(name: str, data: st.DataObject, seed: int) -> None:
    weighted = data.draw(st.booleans(), label="weighted")
    chosen = chosen_for(name, data, weighted)
    X, y, w = drawn(name, seed, weighted)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(y) - 1), min_size=1, max_size=3), label="cuts"))
    ours = getattr(bayeskit, name)(**chosen)
    for part in np.split(np.arange(len(y)), cuts):
        ours.partial_fit(X[part], y[part], sample_weight=None if w is None else w[part])
    equal_to_the_peer(ours, getattr(peers, name)(**chosen).fit(X, y, sample_weight=w), X)


@presets
def test_sparse_rows_where_the_peer_takes_them(name: str) -> None:
    if name in ("GaussianNB", "CategoricalNB"):
        with refuses(bayeskit.errors.DataTypeError, "X.toarray", "MultinomialNB"):
            getattr(bayeskit, name)().fit(
                csr_matrix(rows_for(name, np.random.default_rng(0), 9)), np.arange(9) % 2
            )
        return
    X, y, w = drawn(name, 3, True)
    sparse = csr_matrix(X)
    ours = getattr(bayeskit, name)().fit(sparse, y, sample_weight=w)
    equal_to_the_peer(ours, getattr(peers, name)().fit(sparse, y, sample_weight=w), sparse)


@presets
def test_same_parameters_as_the_peer(name: str) -> None:
    ours, peer = getattr(bayeskit, name)().get_params(), getattr(peers, name)().get_params()
    assert {key: ours.get(key, "absent") for key in peer} == peer


def test_a_class_announced_but_never_seen() -> None:
    X, y, _ = drawn("MultinomialNB", 1, False)
    for name in ("MultinomialNB", "BernoulliNB", "ComplementNB"):
        ours = getattr(bayeskit, name)().partial_fit(X, y, classes=[0, 1, 2, 3])
        with np.errstate(divide="ignore"):
            peer = getattr(peers, name)().partial_fit(X, y, classes=[0, 1, 2, 3])
            np.testing.assert_allclose(ours.feature_log_prob_, peer.feature_log_prob_, rtol=CLOSE, atol=CLOSE)
            np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=CLOSE, atol=CLOSE)
