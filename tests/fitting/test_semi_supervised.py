"""Rows without a class: EM against plain NumPy, laws, and what cannot be learned."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import bayeskit
from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    AutoBayes,
    Batches,
    BayesNetClassifier,
    BernoulliNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    SelectiveKDB,
    WeightedNB,
)
from bayeskit._classifiers.learn_rows import holding
from bayeskit._classifiers.semi_supervision import parted
from bayeskit._counting.backend import count
from bayeskit._counting.count_shares import count_soft
from bayeskit._data.source import Source
from bayeskit._fitting.naive import Naive
from bayeskit._fitting.semi_supervised import (
    CANDIDATES,
    SplitRows,
    complete,
    imaginary_value,
    left_out_loss,
    self_train,
)
from bayeskit.errors import (
    BlockValue,
    DataError,
    InfiniteValue,
    NotConverged,
    OneShotSource,
    SettingError,
    SuspectResult,
    UsageError,
)
from bayeskit.extending import Chunk, ModelForm
from bayeskit.mixtures import StoppingRule
from bayeskit.statistics import Pattern, Plan, Schema, Variable
from conformance.estimators import BY_LETTER
from refusals import refuses, warns_of


def rows(n=90, classes=3, labelled=0.4, seed=0, states=4, columns=4):
    """Columns of codes that tell the class, with holes, and labels of which most are −1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    noise = rng.integers(0, states, (n, columns))
    X = np.where(rng.random((n, columns)) < 0.6, y[:, None] % states, noise)
    known = rng.random(n) < labelled
    known[: 2 * classes], y[: 2 * classes] = True, np.tile(np.arange(classes), 2)
    return X, np.where(known, y, -1), y


def parted_rows(model, X, y, weights=None):
    labelled, unlabelled = parted(model, Source(X, y, weights))
    fitted, kept = model._new_fitted(Variable("y", "categorical")), []
    with holding(model, labelled):
        fitted.absorb(labelled, kept)
    found = SplitRows.of(fitted, kept, unlabelled)
    assert found is not None
    return found


def plain_em(log_likelihood, m_step, log_prior_of, y, weights, lam, steps, classes):
    """EM as it is written in books: responsibilities of all rows, those of labelled ones fixed."""
    known = y >= 0
    own = np.where(known, weights, lam * weights)
    r = np.zeros((len(y), classes))
    r[known, y[known]] = 1.0
    parameters, history = m_step(r * own[:, None]), []
    for step in range(steps + 1):
        joint = log_likelihood(parameters)
        best = joint.max(axis=1)
        evidence = best + np.log(np.exp(joint - best[:, None]).sum(axis=1))
        value = np.where(known, joint[np.arange(len(y)), np.maximum(y, 0)], evidence)
        history.append(float(own @ value) + log_prior_of(parameters))
        if step == steps:
            return parameters, history
        r[~known] = np.exp(joint - evidence[:, None])[~known]
        parameters = m_step(r * own[:, None])


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("lam", [1.0, 0.3])
def test_tables_equal_plain_numpy(steps, lam):
    X, y, _ = rows()
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    holes = np.random.default_rng(2).random(X.shape) < 0.1
    table = np.where(holes, None, X.astype(object))
    alpha, size = 0.5, X.max() + 1

    def m_step(r):
        prior = (r.sum(axis=0) + alpha) / (r.sum() + 3 * alpha)
        theta = []
        for j in range(X.shape[1]):
            n = np.array([r[(X[:, j] == v) & ~holes[:, j]].sum(axis=0) for v in range(size)])
            theta.append((n + alpha) / (n.sum(axis=0) + alpha * size))
        return prior, theta

    def joint(parameters):
        prior, theta = parameters
        terms = [np.where(holes[:, j, None], 0.0, np.log(t[X[:, j]])) for j, t in enumerate(theta)]
        return np.log(prior) + sum(terms)

    def log_prior(parameters):
        return alpha * (np.log(parameters[0]).sum() + sum(np.log(t).sum() for t in parameters[1]))

    (prior, theta), history = plain_em(joint, m_step, log_prior, y, weights, lam, steps, 3)
    model = NaiveBayes(smoothing=alpha, categorical_features="all", semi_supervised=True)
    found = complete(parted_rows(model, table, y, weights), lam, StoppingRule(0.0, steps))
    assert np.allclose(np.exp(found.parameters.model.log_prior), prior, rtol=1e-10, atol=0)
    for j, t in enumerate(theta):
        table_found = found.parameters.model.conditionals[0].probabilities(j)
        assert np.allclose(table_found, t, rtol=1e-10, atol=0)
    assert np.allclose(found.history, history, rtol=1e-11, atol=0)


@pytest.mark.parametrize("steps", [1, 5])
def test_gaussians_equal_plain_numpy(steps):
    _, y, true = rows(seed=3)
    X = np.random.default_rng(4).normal(size=(len(y), 3)) * [1.0, 2.0, 0.5] + true[:, None]

    def m_step(r):
        n = r.sum(axis=0)
        mean = (r.T @ X) / n[:, None]
        return n / n.sum(), mean, (r.T @ X**2) / n[:, None] - mean**2

    def joint(parameters):
        prior, mean, variance = parameters
        z = (X[:, None, :] - mean) ** 2 / variance
        return np.log(prior) - 0.5 * (z + np.log(2 * np.pi * variance)).sum(axis=2)

    wanted, history = plain_em(joint, m_step, lambda _: 0.0, y, np.ones(len(y)), 0.7, steps, 3)
    model = GaussianNB(var_smoothing=0.0, semi_supervised=True)
    found = complete(parted_rows(model, X, y), 0.7, StoppingRule(0.0, steps))
    gaussian = found.parameters.model.conditionals[0]
    got = np.exp(found.parameters.model.log_prior), gaussian.mean + gaussian.mean_low, gaussian.variance
    for a, b in zip(got, wanted, strict=True):
        assert np.allclose(a, b, rtol=1e-10, atol=1e-12)
    assert np.allclose(found.history, history, rtol=1e-11, atol=0)


MONOTONE = [
    lambda: NaiveBayes(semi_supervised=True, categorical_features="all"),
    lambda: NaiveBayes(semi_supervised=True, categorical_features="all", smoothing=0, missing="state"),
    lambda: NaiveBayes(
        semi_supervised=True, categorical_features="all", unseen="smooth", class_prior="uniform"
    ),
    lambda: NaiveBayes(semi_supervised=True, numeric="poisson", smoothing=2.0),
    lambda: MultinomialNB(semi_supervised=True, alpha=0.2),
    lambda: BernoulliNB(semi_supervised=True, alpha=0.3),
    lambda: GaussianBayes("shared", semi_supervised=True),
    lambda: TAN(smoothing=0, semi_supervised=True, categorical_features="all"),
    lambda: SPODE(smoothing=0, super_parent="x0", semi_supervised=True, categorical_features="all"),
]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(range(len(MONOTONE))),
    st.sampled_from([0.05, 0.5, 1.0]),
    st.booleans(),
)
def test_the_value_never_falls(seed, which, lam, holes):
    X, y, _ = rows(40, 2, 0.3, seed, columns=3)
    model = MONOTONE[which]()
    if holes and isinstance(model, NaiveBayes):
        X = np.where(np.random.default_rng(seed).random(X.shape) < 0.2, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = complete(parted_rows(model, X, y), lam, StoppingRule(0.0, 12))
    # Only the labelled rows' own model may find a row impossible.
    history = np.array(found.history[1:])
    assert np.isfinite(history).all() and not np.isnan(found.history[0])
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    # Where unlabelled rows alone miss a value, that is a state of the attribute only once they are counted.
    if not (holes and getattr(model, "missing", "") == "state"):
        assert history[0] >= found.history[0] and not found.fell


def data_for(letter):
    X, y, true = rows(60, 2, 0.5, 5, states=3)
    if letter in "Gg":
        return np.random.default_rng(6).normal(size=X.shape) + true[:, None], y
    return (X if letter in "bmck" else X.astype(str).astype(object)), y


def same_bits(a, b):
    assert a.schema_ == b.schema_
    for kind, part in a.statistics_.parts.items():
        for name, array in part.arrays().items():
            assert np.array_equal(array, b.statistics_.parts[kind].arrays()[name]), (kind, name)


@pytest.mark.parametrize("letter", BY_LETTER)
def test_weight_zero_and_no_unlabelled_rows_are_the_plain_fit(letter):
    cls, (X, y) = BY_LETTER[letter], data_for(letter)
    known = y >= 0
    plain = cls().fit(X[known], y[known])
    without = cls(semi_supervised=True, unlabelled_weight=0).fit(X, y)
    with warns_of(SuspectResult, "semi_supervised=True", "missing_label="):
        whole = cls(semi_supervised=True).fit(X[known], y[known])
    for model in (without, whole):
        same_bits(model, plain)
        assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
        held = {k: v for k, v in model.held_.items() if k != "completion"}
        assert held == plain.held_
        assert model.n_iter_ == 0 and model.converged_ and model.history_ == []


@pytest.mark.parametrize("letter", "NGgbmkSTADKL")
def test_every_distribution_takes_unlabelled_rows(letter):
    cls, (X, y) = BY_LETTER[letter], data_for(letter)
    known = y >= 0
    plain = cls().fit(X[known], y[known])
    model = cls(semi_supervised=True, unlabelled_weight=0.5).fit(X, y)
    total = known.sum() + 0.5 * (~known).sum()
    assert np.isclose(model.statistics_.total, total, rtol=1e-12)
    assert model.unlabelled_weight_ == 0.5 and model.n_iter_ >= 1
    # What rows choose, the labelled ones choose.
    assert {k: v for k, v in model.held_.items() if k != "completion"} == plain.held_
    posterior = model.predict_proba(X)
    assert np.isfinite(posterior).all() and not np.allclose(posterior, plain.predict_proba(X), atol=1e-6)
    assert max(model.history_[1:]) > model.history_[0] or model.em_fell_
    # Threads, the order of rows, and a weight of two for a row that stands twice.
    same_bits(cls(semi_supervised=True, unlabelled_weight=0.5, n_jobs=3).fit(X, y), model)
    order = np.random.default_rng(7).permutation(len(y))
    turned = cls(semi_supervised=True, unlabelled_weight=0.5).fit(X[order], y[order])
    assert np.allclose(turned.predict_proba(X), posterior, atol=1e-8)
    twice = cls(semi_supervised=True, unlabelled_weight=0.5).fit(np.vstack([X, X[-9:]]), np.append(y, y[-9:]))
    weights = np.ones(len(y))
    weights[-9:] = 2.0
    weighed = cls(semi_supervised=True, unlabelled_weight=0.5).fit(X, y, weights)
    assert np.allclose(weighed.predict_proba(X), twice.predict_proba(X), atol=1e-8)


def test_self_training_equals_plain_numpy():
    """Complement naive Bayes by its formula, taught by its own answers."""
    rng, lam, alpha = np.random.default_rng(11), 0.4, 0.5
    true = rng.integers(0, 3, 60)
    words = rng.dirichlet(np.full(12, 0.5), 3)
    X = np.array([rng.multinomial(10, words[c]) for c in true])
    y = np.where(np.arange(60) < 18, true, -1)
    y[:3] = range(3)
    known, r = y >= 0, np.zeros((60, 3))
    r[known, y[known]] = 1.0
    values, answers, moved = [], [], 1.0
    # The first step may lie below the start; the first fall after it is the end.
    while moved > 1e-4 and (len(values) < 3 or values[-1] >= values[-2]):
        counts = r.T @ X
        others = counts.sum(axis=0) - counts + alpha
        score = X @ -np.log(others / others.sum(axis=1, keepdims=True)).T
        posterior = np.exp(score - score.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        values.append(np.log(posterior[known, y[known]]).sum())
        answers.append(posterior)
        moved = abs(lam * posterior - r)[~known].sum() / (lam * (~known).sum())
        r[~known] = lam * posterior[~known]
    model = ComplementNB(alpha=alpha, semi_supervised=True, unlabelled_weight=lam).fit(X, y)
    assert len(values) >= 3 and np.allclose(model.history_, values, rtol=1e-10) and model.converged_
    assert model.em_fell_ == bool((np.diff(values) < 0).any())
    best = 1 + int(np.argmax(values[1:]))
    assert np.allclose(model.predict_proba(X), answers[best], rtol=1e-9)
    short = self_train(parted_rows(ComplementNB(alpha=alpha, semi_supervised=True), X, y), lam, most=1)
    assert not short.converged and short.history == tuple(model.history_[:2])


@pytest.mark.parametrize("cls", [ComplementNB, WeightedNB, AutoBayes])
def test_models_without_rows_are_self_trained(cls):
    X, y, _ = rows(120, 3, 0.3, 1)
    X = X if cls is ComplementNB else X.astype(str).astype(object)
    known = y >= 0
    plain = cls().fit(X[known], y[known])
    model = cls(semi_supervised=True, unlabelled_weight=0.5).fit(X, y)
    assert np.isclose(model.statistics_.total, known.sum() + 0.5 * (~known).sum(), rtol=1e-12)
    assert model.converged_ and 1 <= model.n_iter_ < 50 and np.isfinite(model.history_).all()
    # What rows choose, the labelled ones choose; calibration judges the model that came out.
    for key in plain.held_.keys() - {"calibration"}:
        assert model.held_[key] == plain.held_[key]
    # The start is the labelled rows' own model: its log P(y | x), before calibration.
    start = cls(**({"calibration": None} if cls is AutoBayes else {})).fit(X[known], y[known])
    own = start.predict_log_proba(X[known])[np.arange(known.sum()), y[known]]
    assert np.isclose(model.history_[0], own.sum(), rtol=1e-9)
    same_bits(cls(semi_supervised=True, unlabelled_weight=0.5, n_jobs=3).fit(X, y), model)
    chosen = cls(semi_supervised=True, unlabelled_weight="loo").fit(X, y)
    losses = chosen.unlabelled_losses_
    assert losses[chosen.unlabelled_weight_] == min(losses.values()) and tuple(losses) == CANDIDATES
    assert np.isfinite(list(losses.values())).all()


def test_a_network_classifier_is_naive_bayes_where_its_network_is():
    X, y, _ = rows(150, 3, 0.3, 2)
    X = X.astype(str).astype(object)
    # EM to its end, by two engines: the same optimum of the same posterior.
    network = BayesNetClassifier("naive", smoothing=1.0, semi_supervised=True, unlabelled_weight=0.5).fit(
        X, y
    )
    naive = complete(
        parted_rows(NaiveBayes(smoothing=1.0, semi_supervised=True), X, y), 0.5, StoppingRule(1e-10, 5000)
    )
    assert network.converged_ and not network.em_fell_ and network.unlabelled_weight_ == 0.5
    history = np.array(network.history_)
    assert (np.diff(history) >= -1e-9 * abs(history[1:])).all() and network.n_iter_ == len(history) - 1
    assert history[-1] == pytest.approx(naive.value, abs=2e-2) and history[-1] <= naive.value + 1e-6
    tables = naive.parameters.model.conditionals[0]
    for j in range(X.shape[1]):
        cpt = network.network_.cpt(f"x{j}")
        assert np.allclose(cpt.values.reshape(3, -1), tables.probabilities(j).T, atol=2e-2)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
@pytest.mark.parametrize("method", ["naive", "tan", "hill-climbing"])
def test_network_classifiers_learn_tables_from_all_rows(method):
    X, y, true = rows(200, 3, 0.3, 3)
    table = pd.DataFrame(X.astype(str), columns=list("pqrs"))
    table["z"] = np.random.default_rng(4).normal(size=200) + true
    known = y >= 0
    plain = BayesNetClassifier(method).fit(table[known], y[known])
    for without in (
        BayesNetClassifier(method, semi_supervised=True, unlabelled_weight=0).fit(table, y),
        BayesNetClassifier(method, semi_supervised=True).fit(table[known], y[known]),
    ):
        assert np.array_equal(without.predict_proba(table), plain.predict_proba(table))
        assert without.history_ == [] and without.n_iter_ == 0
    model = BayesNetClassifier(method, semi_supervised=True).fit(table, y)
    assert model.structure_ == plain.structure_
    assert model.classes_.tolist() == [0, 1, 2] and model.n_iter_ >= 1 and not model.em_fell_
    # By hand: the network of the labelled rows, the class as a column with holes; plain steps, as here.
    by_hand = bayeskit.BayesianNetwork(plain.structure_, states={"y": [0, 1, 2], "z": float})
    rows_by_hand = table.assign(y=np.where(known, y.astype(object), None))
    by_hand.fit(rows_by_hand, method="em", tol=1e-5, max_iter=50, accelerate=False)
    steps = min(model.n_iter_, len(by_hand.history_) - 1)
    assert steps >= 3
    assert np.allclose(model.history_[:steps], by_hand.history_[:steps], rtol=1e-10)
    table.loc[~known, "z"] = np.inf
    with refuses(InfiniteValue, "z", int(np.argmin(known))):
        BayesNetClassifier(method, semi_supervised=True).fit(table, y)
    text = np.where(known, np.array(["a", "b", "c"], dtype=object)[true], None)
    states = BayesNetClassifier(method, semi_supervised=True).fit(
        table[list("pqrs")].assign(k=text), target="k"
    )
    assert states.classes_.tolist() == ["a", "b", "c"]


def test_threads_over_many_chunks():
    X, y, _ = rows(150_000, 2, 0.1, columns=2)
    models = [
        NaiveBayes(categorical_features="all", semi_supervised=True, n_jobs=n).fit(X, y) for n in (1, 4)
    ]
    same_bits(*models)
    assert models[0].history_ == models[1].history_


@pytest.mark.parametrize("classes", [2, 3])
def test_soft_counts_are_weighted_counts_of_each_class(classes):
    rng, n = np.random.default_rng(8), 30
    schema = Schema(
        (
            *(Variable(f"a{j}", "categorical", ("u", "v", "w")) for j in range(3)),
            Variable("z", "numeric"),
            Variable("z2", "numeric"),
        ),
        Variable("y", "categorical", tuple(range(classes))),
    )
    names, numeric = ("a0", "a1", "a2"), ("z", "z2")
    plan = Plan(
        (
            *Plan.naive(schema, numeric, numeric).patterns,
            Pattern("pairs", names),
            Pattern("triples", names),
            Pattern("families", (("a0", "a1", "a2"), ("a1",))),
            Pattern("cell_moments", numeric),
            Pattern("regressions", (("z2", "a1", "z"), ("z", "a0"))),
        )
    )
    shares = rng.random((n, classes)) * (rng.random((n, classes)) < 0.7)
    values = rng.normal(size=(n, 2))
    chunk = Chunk(n, rng.integers(0, 4, (n, 3)).astype(np.uint8), values)
    soft = count_soft(chunk, shares, schema, plan)
    total = None
    for c in range(classes):
        one = Chunk(n, chunk.codes, values, target=np.full(n, c, np.uint32), weights=shares[:, c].copy())
        counted = count(one, schema, plan)
        total = counted if total is None else total.merge(counted)
    for kind, part in soft.parts.items():
        for a, b in zip(numbers(kind, part), numbers(kind, total.parts[kind]), strict=True):
            assert np.allclose(a, b, rtol=1e-12, atol=1e-14), kind


def test_soft_moments_keep_their_digits():
    rng, n, width = np.random.default_rng(3), 700, 35
    schema = Schema(
        tuple(Variable(f"z{j}", "numeric") for j in range(width)),
        Variable("y", "categorical", (0, 1, 2)),
    )
    # Classes 1e8 apart; one column 1e200 in size, one constant, one with holes; a class without a share.
    y = rng.integers(0, 2, n)
    values = rng.normal(size=(n, width)) + 1e8 * y[:, None]
    values[:, 1] *= 1e200
    values[:, 2] = 7.0
    values[rng.random(n) < 0.5, 3] = np.nan
    values[:, 4] = np.nan
    shares = np.zeros((n, 3))
    shares[np.arange(n), y] = rng.random(n)
    shares[np.arange(n), 1 - y] = np.where(rng.random(n) < 0.5, 1e-40, 0.0)
    values[5], shares[5] = np.inf, 0.0
    chunk = Chunk(n, np.empty((n, 0), np.uint8), values, first_row=1000)
    soft = count_soft(chunk, shares, schema, Plan.naive(schema, (), ())).moments
    for c in range(3):
        for j in (0, 1, 2, 3, 4, 34):
            there = (shares[:, c] > 0) & ~np.isnan(values[:, j])
            w, x = shares[there, c], values[there, j]
            assert np.isclose(soft.weight[c, j], w.sum(), rtol=1e-14)
            if not len(w):
                assert not soft.cells[:, c, j].any()
                continue
            # Fractions: no rounding at all.
            exact = [(Fraction(a), Fraction(b)) for a, b in zip(w.tolist(), x.tolist(), strict=True)]
            total = sum(a for a, _ in exact)
            mean = sum(a * b for a, b in exact) / total
            variance = sum(a * (b - mean) ** 2 for a, b in exact) / total
            high, low = soft.mean()
            assert Fraction(high[c, j]) + Fraction(low[c, j]) == pytest.approx(mean, rel=1e-24, abs=0)
            if variance < 1e300:
                assert soft.variance()[c, j] == pytest.approx(float(variance), rel=1e-12, abs=0)
            else:
                assert soft.deviation()[c, j] == pytest.approx(
                    float(variance / 10**400) ** 0.5 * 1e200, rel=1e-12
                )
    shares[5] = 1e-3
    with refuses(InfiniteValue, "z0", "inf", 1005):
        count_soft(chunk, shares, schema, Plan.naive(schema, (), ()))


def numbers(kind, part):
    """What does not depend on where a pivot was put."""
    match kind:
        case "moments":
            return [part.weight, sum(part.mean()), part.variance()]
        case "cell_moments":
            return numbers("moments", part.flat)
        case "scatter":
            return [part.weight, part.mean(), part.covariance()]
        case "regressions":
            return [
                array for keys, sums in part.cells for array in (keys, sums.n, sums.mean, sums._centred[1])
            ]
        case _:
            return [array for array in part.arrays().values() if array.dtype.kind in "iu" or array.size]


@pytest.mark.parametrize("sparse", [True, False])
def test_soft_totals_are_a_product(sparse):
    rng = np.random.default_rng(9)
    block = rng.integers(0, 3, (20, 7)).astype(float)
    schema = Schema((Variable("text", "block", width=7),), Variable("y", "categorical", (0, 1, 2)))
    shares, none = rng.random((20, 3)), np.empty((20, 0))
    for above in (None, 0.0):
        chunk = Chunk(
            20, none.astype(np.uint8), none, csr_array(block) if sparse else block, block_above=above
        )
        totals = count_soft(chunk, shares, schema, Plan.naive(schema)).parts["totals"]
        wanted = shares.T @ (block if above is None else (block > 0))
        assert np.allclose(totals.sums, wanted, rtol=1e-13) and np.allclose(totals.rows, shares.sum(axis=0))


def test_every_way_to_write_a_missing_label():
    X, y, _ = rows(40, 3)
    X = X.astype(str).astype(object)
    wanted = NaiveBayes(semi_supervised=True).fit(X, y).predict_proba(X)
    text = np.where(y < 0, None, np.array(["a", "b", "c"], dtype=object)[y])
    frame = pd.DataFrame(X, columns=list("pqrs"))
    ways = [
        (X, np.where(y < 0, np.nan, y), None),
        (X, [None if v < 0 else int(v) for v in y], None),
        (X, pd.array([pd.NA if v < 0 else int(v) for v in y], dtype="Int64"), None),
        (frame, pd.Series(text).astype("category"), None),
        (pl.from_pandas(frame), pl.Series([None if v is None else v for v in text]), None),
        (X, np.where(y < 0, pd.NaT, text), None),
        (X, np.where(y < 0, 9, y), 9),
        (X, np.where(y < 0, "?", text).astype(str), "?"),
        (X, y, -1),
        (X, np.where(y < 0, -1, y).astype(float), -1),
    ]
    for table, labels, missing in ways:
        model = NaiveBayes(semi_supervised=True, missing_label=missing).fit(table, labels)
        assert len(model.classes_) == 3
        assert np.allclose(model.predict_proba(table), wanted, atol=1e-12)
    assert NaiveBayes(semi_supervised=True).fit(*ways[1][:2]).classes_.dtype.kind == "i"
    frame["class"] = text
    assert np.allclose(
        NaiveBayes(semi_supervised=True).fit(frame, target="class").predict_proba(frame[list("pqrs")]), wanted
    )


def test_batches_and_files_equal_rows_in_memory(tmp_path):
    X, y, _ = rows(60, 2)
    frame = pd.DataFrame(X.astype(str), columns=list("pqrs")).map("s{}".format)
    frame["class"] = np.where(y < 0, None, np.where(y > 0, "yes", "no"))
    model = NaiveBayes(semi_supervised=True).fit(frame, target="class")
    pieces = [frame[:25], frame[25:26], frame[26:]]
    batches = NaiveBayes(semi_supervised=True).fit(Batches(lambda: iter(pieces)), target="class")
    frame.to_parquet(tmp_path / "rows.parquet")
    file = NaiveBayes(semi_supervised=True).fit(tmp_path / "rows.parquet", target="class")
    test = frame[list("pqrs")]
    for other in (batches, file):
        assert np.allclose(other.predict_proba(test), model.predict_proba(test), atol=1e-12)
        assert np.allclose(other.history_, model.history_, rtol=1e-12)
    with refuses(OneShotSource, "semi_supervised=True"):
        NaiveBayes(semi_supervised=True).fit(iter(pieces), target="class")


def test_unlabelled_rows_bring_states():
    X = np.array([["a"], ["b"], ["new"], ["a"]], dtype=object)
    model = NaiveBayes(semi_supervised=True).fit(X, ["no", "yes", None, None])
    assert model.schema_["x0"].states == ("a", "b", "new")
    assert np.isclose(model.statistics_.table("x0")[2].sum(), 1.0)
    # A row without weight is absent, and so is what it holds.
    without = NaiveBayes(semi_supervised=True).fit(X, ["no", "yes", None, None], [1, 1, 0, 1])
    assert without.schema_["x0"].states == ("a", "b")
    # Under maximum likelihood such a row is impossible at the start, and possible from then on.
    mle = NaiveBayes(smoothing=0, semi_supervised=True).fit(X, ["no", "yes", None, None])
    assert mle.history_[0] == -np.inf and np.isfinite(mle.history_[1:]).all()


def test_saved_and_changed_afterwards(tmp_path):
    X, y, true = rows(60, 2)
    X = X.astype(str).astype(object)
    model = TAN(semi_supervised=True, unlabelled_weight="loo", missing_label=-1).fit(X, y)
    model.save(tmp_path / "model.bayes")
    again = bayeskit.load(tmp_path / "model.bayes")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params() == model.get_params()
    assert again.history_ == model.history_ and again.unlabelled_losses_ == model.unlabelled_losses_
    before = model.statistics_.total
    model.partial_fit(X[:5], true[:5])
    assert np.isclose(model.statistics_.total, before + 5)
    model.forget(X[:5], true[:5])
    assert np.allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-9)
    assert np.isclose((model + again).statistics_.total, 2 * before)
    # Leaving labelled rows out of counts that hold expected ones too.
    assert np.isfinite(model.loo_score(X[y >= 0], y[y >= 0]))


def texts(seed, theme_is_class):
    """Texts of two themes; where the theme is not the class, two more words tell the class."""
    rng = np.random.default_rng(seed)
    y, theme = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    words = rng.dirichlet(np.full(60, 0.3), 2)
    if theme_is_class:
        return np.array([rng.multinomial(15, 0.3 * words[t] + 0.7 / 60) for t in y]), y
    X = np.array([rng.multinomial(40, 0.8 * words[t] + 0.2 / 60) for t in theme])
    marks = [rng.poisson(3.0 * (1 + 0.6 * sign)) for sign in (1 - 2 * y, 2 * y - 1)]
    return np.column_stack([X, *marks]), y


def test_unlabelled_texts_help():
    gains = []
    for seed in range(5):
        X, y = texts(seed, True)
        labels = np.where(np.arange(400) < 12, y, -1)
        plain = MultinomialNB().fit(X[:12], y[:12])
        semi = MultinomialNB(semi_supervised=True).fit(csr_array(X), labels)
        gains.append(semi.score(X[12:], y[12:]) - plain.score(X[12:], y[12:]))
    assert np.mean(gains) > 0.05


def test_the_weight_is_zero_where_unlabelled_rows_mislead():
    X, y = texts(1, False)
    labels = np.where(np.arange(400) < 60, y, -1)
    model = MultinomialNB(semi_supervised=True, unlabelled_weight="loo").fit(X, labels)
    blind = MultinomialNB(semi_supervised=True).fit(X, labels)
    plain = MultinomialNB().fit(X[:60], y[:60])
    assert blind.score(X[60:], y[60:]) < plain.score(X[60:], y[60:]) - 0.2
    assert model.unlabelled_weight_ == 0.0 and tuple(model.unlabelled_losses_) == CANDIDATES
    same_bits(model, plain)
    assert np.isclose(model.unlabelled_losses_[0.0], plain.loo_score(X[:60], y[:60]), rtol=1e-12)


def test_the_chosen_weight_has_the_least_loss_and_is_as_if_given():
    X, y, _ = rows(80, 2, 0.3)
    chosen = NaiveBayes(categorical_features="all", semi_supervised=True, unlabelled_weight="loo").fit(X, y)
    lam = chosen.unlabelled_weight_
    assert 0 < lam == min(CANDIDATES, key=chosen.unlabelled_losses_.__getitem__)
    given_ = NaiveBayes(categorical_features="all", semi_supervised=True, unlabelled_weight=lam).fit(X, y)
    same_bits(chosen, given_)
    assert chosen.history_ == given_.history_ and given_.unlabelled_losses_ == {}
    # By hand: take a row's counts away, estimate, score it.
    rest = parted_rows(NaiveBayes(categorical_features="all", semi_supervised=True), X, y)
    known = np.flatnonzero(y >= 0)
    losses = []
    for i in known:
        left = NaiveBayes(categorical_features="all", semi_supervised=True, unlabelled_weight=lam).fit(X, y)
        left.forget(X[i : i + 1], y[i : i + 1])
        losses.append(-np.log(left.predict_proba(X[i : i + 1])[0, y[i]]))
    assert np.isclose(left_out_loss(rest, chosen.statistics_), np.mean(losses), rtol=1e-9)
    assert np.isclose(chosen.unlabelled_losses_[lam], np.mean(losses), rtol=1e-9)


def test_no_convergence_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(np.arange(300) < 4, np.arange(300) % 2, -1)
    with warns_of(NotConverged, 50, "history_", "unlabelled_weight"):
        model = GaussianNB(semi_supervised=True).fit(X, y)
    assert not model.converged_ and model.n_iter_ == 50 and len(model.history_) == 51


X4 = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)
REFUSED = [
    (NaiveBayes(), [0, 1, None, 1], DataError, ["semi_supervised=True"]),
    (NaiveBayes(), [0, 1, np.nan, 1], DataError, ["semi_supervised=True"]),
    (NaiveBayes(semi_supervised=True), [-1, -1, -1, -1], DataError, ["label", "LatentClass"]),
    (NaiveBayes(semi_supervised=True), [None] * 4, DataError, ["label", "LatentClass"]),
    (NaiveBayes(semi_supervised=True), [-1, 1, -1, 1], SettingError, ["missing_label=-1"]),
    (NaiveBayes(semi_supervised=True), [-1, 1, None, 1], SettingError, ["missing_label"]),
    (NaiveBayes(semi_supervised="yes"), [0, 1, 0, 1], SettingError, ["semi_supervised", "yes"]),
    (NaiveBayes(unlabelled_weight=1.5), [0, 1, 0, 1], SettingError, ["unlabelled_weight", 1.5]),
    (NaiveBayes(unlabelled_weight=float("nan")), [0, 1, 0, 1], SettingError, ["unlabelled_weight", "nan"]),
    (TAN(unlabelled_weight="all"), [0, 1, 0, 1], SettingError, ["unlabelled_weight", "all", "loo"]),
    (NaiveBayes(missing_label=[1]), [0, 1, 0, 1], SettingError, ["missing_label", "[1]"]),
    (BayesNetClassifier("naive"), [0, 1, None, 1], DataError, ["semi_supervised=True"]),
    (BayesNetClassifier("naive", semi_supervised=True), [None] * 4, DataError, ["label", "LatentClass"]),
    (
        BayesNetClassifier("naive", unlabelled_weight=0.5),
        [0, 1, 0, 1],
        SettingError,
        ["unlabelled_weight=0.5", "semi_supervised=True"],
    ),
    (
        NaiveBayes(unlabelled_weight="loo"),
        [0, 1, 0, 1],
        SettingError,
        ["unlabelled_weight='loo'", "semi_supervised=True"],
    ),
    (
        GaussianNB(missing_label=float("nan")),
        [0, 1, 0, 1],
        SettingError,
        ["missing_label=nan", "semi_supervised=True"],
    ),
    (BayesNetClassifier("naive", unlabelled_weight=2), [0, 1, 0, 1], SettingError, ["unlabelled_weight", 2]),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_is_refused(case):
    model, y, error, says = REFUSED[case]
    with refuses(error, *says):
        model.fit(X4, y)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
def test_more_that_is_refused():
    with refuses(UsageError, 1, "partial_fit"):
        NaiveBayes(semi_supervised=True).partial_fit(X4, [0, 1, None, 1])
    with refuses(UsageError, "lazy", "fit", "semi_supervised=False"):
        NaiveBayes(semi_supervised=True).lazy(X4, [0, 1, 0, 1])
    with refuses(AttributeError, NaiveBayes, "semi_supervised=True"):
        _ = NaiveBayes().fit(X4, [0, 1, 0, 1]).history_
    with refuses(BlockValue, "block", -3.0):
        MultinomialNB(semi_supervised=True).fit([[1, 0], [0, 1], [-3, 1]], [0, 1, -1])
    for row, labels in ((2, [0, 1, -1, 0]), (3, [-1, 0, 1, -1])):
        numbers = np.array([[1.0], [2.0], [3.0], [4.0]])
        numbers[row] = np.inf
        with refuses(InfiniteValue, "x0", row):
            GaussianNB(semi_supervised=True).fit(numbers, labels)
    # A class that is given no probability makes its labelled rows impossible; the others are learned from.
    never = NaiveBayes(class_prior=[0.0, 1.0], semi_supervised=True).fit(X4, [0, 1, -1, -1])
    assert np.isfinite(never.history_).all() and never.predict(X4).tolist() == [1, 1, 1, 1]
    both = NaiveBayes(semi_supervised=True, missing_label=float("nan")).fit(X4, [-1, 1, -1, 1])
    assert both.classes_.tolist() == [-1, 1] and both.n_iter_ == 0
    # A failed fit leaves the model before it as it was.
    model = NaiveBayes(semi_supervised=True).fit(X4, [0, 1, -1, -1])
    before = model.predict_proba(X4)
    with pytest.raises(DataError):
        model.fit(X4, [None] * 4)
    assert np.array_equal(model.predict_proba(X4), before)


def test_structures_that_are_held_and_those_that_follow():
    X, y, _ = rows(120, 2, 0.3, 0, columns=5)
    X = X.astype(str).astype(object)
    known = y >= 0
    for cls in (KDB, SelectiveKDB):
        assert cls(semi_supervised=True).fit(X, y).structure_ == cls().fit(X[known], y[known]).structure_
    # The tree of TAN is that of the counts it ends with.
    model = TAN(semi_supervised=True).fit(X, y)
    tree = TAN(semi_supervised=True, structure=model.structure_).fit(X, y)
    assert model.structure_ != TAN().fit(X[known], y[known]).structure_
    assert np.isfinite(tree.history_).all()
    assert (
        AODE(semi_supervised=True).fit(X, y).converged_ and AnDE(2, semi_supervised=True).fit(X, y).converged_
    )


@pytest.mark.parametrize("numbers", [False, True])
def test_a_network_chooses_its_weight(numbers):
    """The loss under λ = 0 is that of forgetting each row, by refits; rows are judged without themselves."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 60)
    X = {f"x{j}": np.where(rng.random(60) < 0.25, 1 - y, y).astype(str) for j in range(3)}
    if numbers:
        X["z"] = rng.normal(y, 1.0)
    labels = np.where(np.arange(60) < 24, y, -1)
    model = BayesNetClassifier("naive", semi_supervised=True, unlabelled_weight="loo").fit(X, labels)
    losses = model.unlabelled_losses_
    assert model.unlabelled_weight_ == min(losses, key=losses.get) and set(losses) == {
        0,
        0.01,
        0.03,
        0.1,
        0.3,
        1,
    }
    given = BayesNetClassifier("naive", semi_supervised=True, unlabelled_weight=model.unlabelled_weight_)
    assert (model.predict_proba(X) == given.fit(X, labels).predict_proba(X)).all()
    kept, states = np.arange(24), {name: ["0", "1"] for name in X if name != "z"}
    found = []
    for i in kept:
        rest = kept[kept != i]
        alone = BayesNetClassifier("naive", states=states).fit({n: c[rest] for n, c in X.items()}, y[rest])
        found.append(-np.log(alone.predict_proba({n: c[[i]] for n, c in X.items()})[0, y[i]]))
    assert losses[0.0] == pytest.approx(np.mean(found), rel=1e-6)


def test_a_form_says_whether_its_smoothing_is_imaginary_rows():
    class Yours(ModelForm):
        def plan(self, schema, spec):
            return Naive().plan(schema, spec)

        def settled(self, statistics, spec):
            return self

        def conditionals(self, statistics, spec, prior):
            return Naive().conditionals(statistics, spec, prior)

    class OfRows(Yours):
        smooths_by_rows = True

    fitted = NaiveBayes().fit([["a"], ["b"], ["a"]], ["no", "yes", "yes"])._fitted
    model, statistics, spec = fitted.model(), fitted.statistics, fitted.spec
    value = imaginary_value(model, statistics, spec)
    assert value < 0.0
    assert imaginary_value(model, statistics, replace(spec, form=Yours())) == 0.0
    assert imaginary_value(model, statistics, replace(spec, form=OfRows())) == value
