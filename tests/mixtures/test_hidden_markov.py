"""Hidden Markov models: against enumeration, a book, hmmlearn's numbers; laws of counts; bad input."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import bayeskit
from bayeskit import HiddenMarkov
from bayeskit._inference import chain as chain_module
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    Incompatible,
    InfiniteValue,
    SettingError,
    SuspectResult,
    UnseenState,
    UsageError,
)
from hidden_twin import answers, best_value, paths, value_of
from refusals import refuses, warns_of
from work import check_growth

RED = ["red", "white", "red"]


def boxes():
    """Li Hang, Statistical Learning Methods, examples 10.2 and 10.3."""
    return HiddenMarkov.of(
        [0.2, 0.4, 0.4],
        [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]],
        emissionprob=[[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]],
        categories=["red", "white"],
        states=[1, 2, 3],
    )


def random_model(rng, kind):
    k = int(rng.integers(1, 5))
    start, move = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k)
    if rng.random() < 0.4:  # zeros: some moves are impossible
        move = move * (rng.random((k, k)) < 0.6) + np.eye(k) * 1e-3
        move /= move.sum(axis=1, keepdims=True)
    if kind == "categorical":
        m = int(rng.integers(1, 5))
        table = rng.dirichlet(np.ones(m), k)
        if m > 1 and rng.random() < 0.4:
            table[0, 0] = 0.0
            table[0] /= table[0].sum()
        return HiddenMarkov.of(start, move, emissionprob=table, categories=[f"c{i}" for i in range(m)])
    d = int(rng.integers(1, 4))
    spread = 10.0 ** rng.uniform(-3, 2)
    return HiddenMarkov.of(
        start, move, means=spread * rng.normal(size=(k, d)), variances=rng.uniform(0.1, 2.0, (k, d))
    )


def random_sequence(rng, model, n):
    if model.emission == "categorical":
        x = [str(c) for c in rng.choice(model.categories_, n)]
        return [None if rng.random() < 0.2 else c for c in x]
    x = model.means_[rng.integers(0, len(model.means_), n)] + rng.normal(size=(n, model.means_.shape[1]))
    return np.where(rng.random(x.shape) < 0.2, np.nan, x)


def check_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, ["categorical", "gaussian"][seed % 2])
    x = random_sequence(rng, model, int(rng.integers(1, 6)))
    log_p, smoothed, filtered, moves, path = answers(model, x)
    one = [x] if model.emission == "categorical" else x
    found = model.score(one)
    if log_p == -math.inf:
        assert found == -math.inf
        with refuses(DataError, 0):
            model.predict_proba(one)
        return
    tight = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(found, log_p, rtol=1e-12, atol=1e-12)
    proba = model.predict_proba(one)
    np.testing.assert_allclose(proba[0] if isinstance(proba, list) else proba, smoothed, **tight)
    np.testing.assert_allclose(list(model.filter(one)), filtered, **tight)
    np.testing.assert_allclose(list(model.filter(iter(x))), filtered, **tight)
    counts = model.expected_counts(one)
    np.testing.assert_allclose(counts.transitions, moves, **tight)
    np.testing.assert_allclose(counts.starts, smoothed[0], **tight)
    best, states = model.decode(one)
    states = states[0] if isinstance(states, list) else states
    every = paths(model, x)
    # Several paths may be equal up to rounding.
    assert math.isclose(best, every[path], rel_tol=1e-12) and math.isclose(
        every[tuple(states)], best, rel_tol=1e-12
    )


@pytest.mark.parametrize("seed", range(60))
def test_random_models_equal_enumeration(seed):
    check_against_enumeration(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_random_models_equal_enumeration(part):
    for seed in range(1_000 + 200 * part, 1_000 + 200 * (part + 1)):
        check_against_enumeration(seed)


@pytest.mark.parametrize("padded", [0, 2**20])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 16, 17, 30, 257])
def test_paths_equal_viterbi_step_by_step(k, padded, monkeypatch):
    """Few states, many, more than a byte can number; matrices padded to whole vectors or not."""
    monkeypatch.setattr(chain_module, "_PADDED", padded)
    rng = np.random.default_rng(k)
    n = 40 if k > 100 else 300
    move = rng.dirichlet(np.full(k, 0.3), k) + 1e-300
    model = HiddenMarkov.of(
        rng.dirichlet(np.ones(k)),
        move / move.sum(axis=1, keepdims=True),
        emissionprob=rng.dirichlet(np.ones(3), k),
    )
    x, lengths = rng.integers(0, 3, n), [n // 3, 1, n - n // 3 - 1]
    fresh = np.zeros(n)
    fresh[np.cumsum([0, *lengths[:-1]])] = 1
    rows = np.log(model.startprob_), np.log(model.transmat_), np.log(model.emissionprob_.T[x]), fresh
    best, path = model.decode(x, lengths)
    # Several paths may be equal up to rounding.
    assert math.isclose(best, best_value(*rows), rel_tol=1e-12)
    assert math.isclose(best, value_of(path, *rows), rel_tol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 20])
def test_of_equally_good_states_the_path_takes_the_first(k):
    model = HiddenMarkov.of(np.full(k, 1 / k), np.full((k, k), 1 / k), emissionprob=np.full((k, 2), 0.5))
    assert not model.predict([0, 1] * 40).any()


@pytest.mark.parametrize("k", [2, 3, 4, 7, 20])
@pytest.mark.parametrize("step", [0, 1, 15, 16, 30])
def test_the_step_at_which_no_path_goes_on_is_named(k, step):
    model = HiddenMarkov.of(np.full(k, 1 / k), np.eye(k), emissionprob=np.tile([1.0, 0.0], (k, 1)))
    seen = np.zeros(40, int)
    seen[step] = 1
    with refuses(DataError, step, 1):
        model.predict([[0, 0, 0], seen.tolist(), [0, 0]])


@pytest.mark.parametrize("seed", range(8))
def test_blocks_and_logarithms_change_nothing(seed, monkeypatch):
    """Short blocks, forward messages computed again, and everything in logarithms give the same numbers."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, ["categorical", "gaussian"][seed % 2])
    x = random_sequence(rng, model, 200)
    x = [x[:150], x[150:]]
    whole = model.score(x)
    if whole == -math.inf:
        return
    smoothed, counts, decoded = model.predict_proba(x), model.expected_counts(x), model.decode(x)
    borders = property(lambda self: [*range(0, self.n_rows, 7), self.n_rows])
    monkeypatch.setattr(chain_module.Chain, "_borders", borders)
    monkeypatch.setattr(chain_module, "KEPT", 0)
    for forward in (chain_module.Chain._forward, in_logarithms):
        monkeypatch.setattr(chain_module.Chain, "_forward", forward)
        np.testing.assert_allclose(model.score(x), whole, rtol=1e-12)
        for one, other in zip(model.predict_proba(x), smoothed, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
        again = model.expected_counts(x)
        np.testing.assert_allclose(again.transitions, counts.transitions, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(again.starts, counts.starts, rtol=1e-10, atol=1e-12)
        assert math.isclose(model.decode(x)[0], decoded[0], rel_tol=1e-12)


def in_logarithms(chain, begin, end, carry, forward=chain_module.Chain._forward):
    """Filter a block as if probabilities were lost in it."""

    def weights(a, b, logs):
        return chain.weights(a, b, logs)._replace(lost=True)

    lost = chain_module.Chain(chain.first, chain.matrices, chain.fresh, weights, chain.which, chain._logs)
    found = forward(lost, begin, end, carry)
    assert found.is_log
    return found


def test_the_boxes_of_li_hang():
    model = boxes()
    a = [[Fraction(n, 10) for n in row] for row in ((5, 2, 3), (3, 5, 2), (2, 3, 5))]
    red, white = [Fraction(n, 10) for n in (5, 4, 7)], [Fraction(n, 10) for n in (5, 6, 3)]
    alpha = [p * b for p, b in zip((Fraction(1, 5), Fraction(2, 5), Fraction(2, 5)), red, strict=True)]
    for b in (white, red):
        alpha = [sum(alpha[j] * a[j][k] for j in range(3)) * b[k] for k in range(3)]
    assert sum(alpha) == Fraction(130218, 1000000)  # the book prints 0.13022
    assert math.isclose(math.exp(model.score(RED)), float(sum(alpha)), rel_tol=1e-14)
    value, path = model.decode(RED)
    assert path.tolist() == [3, 3, 3]
    assert math.isclose(math.exp(value), 0.0147, rel_tol=1e-12)


def test_states_that_are_lost_can_return():
    """A state behind by 1e-3000 wins when an observation forbids the other: scaling alone would lose it."""
    model = HiddenMarkov.of([0.5, 0.5], np.eye(2), emissionprob=[[0.999, 0.001, 0.0], [0.001, 0.998, 0.001]])
    x = [0] * 1_000 + [2]
    assert math.isclose(
        model.score(x), math.log(0.5) + 1_000 * math.log(0.001) + math.log(0.001), rel_tol=1e-12
    )
    np.testing.assert_allclose(model.predict_proba(x), [[0.0, 1.0]] * 1_001, atol=1e-300)
    assert model.predict(x).tolist() == [1] * 1_001
    # Evidence for one state, then as much for the other and one more.
    x = [0] * 500 + [1] * 501
    assert model.predict_proba(x)[-1, 1] > 0.99
    far = HiddenMarkov.of(
        [1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], means=[[0.0], [1e4]], variances=[[1.0], [1.0]]
    )
    assert far.predict(np.full((5, 1), 1e4)).tolist() == [0] * 5
    assert math.isclose(far.score(np.full((2, 1), 1e4)), -1e8 - math.log(2 * math.pi), rel_tol=1e-12)


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
@pytest.mark.parametrize("settings", [{}, {"smoothing": 0.5}, {"accelerate": True}])
def test_em_never_falls_and_its_counts_give_its_parameters(kind, settings):
    rng = np.random.default_rng(5)
    true = (
        HiddenMarkov.of([0.6, 0.4], [[0.9, 0.1], [0.2, 0.8]], emissionprob=[[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]])
        if kind == "categorical"
        else HiddenMarkov.of(
            [0.6, 0.4], [[0.9, 0.1], [0.2, 0.8]], means=[[0, 1], [3, -1]], variances=[[1, 1], [2, 1]]
        )
    )
    x = [true.sample(120, random_state=rng)[0] for _ in range(4)]
    if kind == "gaussian":
        x = [np.where(rng.random(one.shape) < 0.1, np.nan, one) for one in x]
    model = HiddenMarkov(2, emission=kind, n_init=3, tol=1e-12, max_iter=3000, **settings).fit(x)
    assert model.converged_ and (np.diff(model.history_) > -1e-8).all() and not model.fell_
    s = settings.get("smoothing", 0.0)
    moves = model.expected_counts(x).transitions + s
    np.testing.assert_allclose(model.transmat_, moves / moves.sum(axis=1, keepdims=True), atol=1e-5)
    assert model.counts_.occupancy[0] >= model.counts_.occupancy[1]


def test_one_state_is_a_table_and_a_normal():
    x = np.array([1.0, 2.0, 4.0, np.nan])
    model = HiddenMarkov(1, emission="gaussian").fit(x)
    np.testing.assert_allclose([model.means_[0, 0], model.variances_[0, 0]], [7 / 3, 14 / 9], rtol=1e-12)
    model = HiddenMarkov(1).fit(["a", "b", "a", None])
    np.testing.assert_allclose(model.emissionprob_, [[2 / 3, 1 / 3]], rtol=1e-12)


WORDS = st.lists(st.lists(st.sampled_from([*"abc", None]), min_size=1, max_size=6), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(WORDS, st.integers(1, 4))
def test_expected_counts_of_parts_add_up(sequences, cut):
    model = HiddenMarkov.of(
        [0.3, 0.7],
        [[0.6, 0.4], [0.1, 0.9]],
        emissionprob=[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]],
        categories=[*"abc"],
    )
    whole = model.expected_counts(sequences)
    parts = [sequences[:cut], sequences[cut:]]
    found = [model.expected_counts(part) for part in parts if part]
    merged = found[0] if len(found) == 1 else found[0].merge(found[1])
    np.testing.assert_allclose(merged.transitions, whole.transitions, atol=1e-12)
    np.testing.assert_allclose(merged.emissions[0], whole.emissions[0], atol=1e-12)
    assert math.isclose(merged.log_probability, whole.log_probability, abs_tol=1e-12)
    assert math.isclose(whole.total, sum(map(len, sequences)), rel_tol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), min_size=1), min_size=1),
    st.data(),
)
def test_known_states_are_counted_in_pieces(pairs, data):
    x, z = [[p[0] for p in one] for one in pairs], [[p[1] for p in one] for one in pairs]
    names = sorted({label for one in z for label in one})
    whole = HiddenMarkov(len(names), smoothing=0.5).fit(x, states=z)
    cut = data.draw(st.integers(1, len(x)))
    first = HiddenMarkov(len({label for one in z[:cut] for label in one}), smoothing=0.5)
    first.partial_fit(x[:cut], states=z[:cut])
    if cut < len(x):
        first.partial_fit(x[cut:], states=z[cut:])
    assert first.states_.tolist() == whole.states_.tolist() == names
    for one, other in zip(
        (first.counts_.starts, first.counts_.transitions, *first.counts_.emissions),
        (whole.counts_.starts, whole.counts_.transitions, *whole.counts_.emissions),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.transmat_, whole.transmat_)
    np.testing.assert_array_equal(first.emissionprob_, whole.emissionprob_)


def test_known_states_of_numbers_are_counted_in_pieces():
    rng = np.random.default_rng(2)
    x, z = rng.normal(1e6, 1.0, (60, 2)), rng.integers(0, 3, 60)
    x[3, 0] = np.nan
    whole = HiddenMarkov(3, emission="gaussian").fit(x, [20, 40], states=z)
    parts = HiddenMarkov(3, emission="gaussian").partial_fit(x[:20], states=z[:20])
    parts.partial_fit(x[20:], states=z[20:])
    np.testing.assert_allclose(parts.means_, whole.means_, rtol=1e-14)
    np.testing.assert_allclose(parts.variances_, whole.variances_, rtol=1e-9)
    for k in range(3):
        np.testing.assert_allclose(whole.means_[k], np.nanmean(x[z == k], axis=0), rtol=1e-14)
        np.testing.assert_allclose(whole.variances_[k], np.nanvar(x[z == k], axis=0), rtol=1e-6)


def test_the_ways_to_give_sequences_are_one():
    model = boxes()
    x = [RED, ["white"], ["red", None]]
    rows = np.array([c for one in x for c in one], dtype=object)
    frame = pd.DataFrame({"who": [*"aaabcc"], "ball": rows})
    mixed = frame.iloc[[0, 3, 1, 4, 2, 5]]
    told = np.concatenate(model.predict_proba(x))
    np.testing.assert_array_equal(model.predict_proba(rows, [3, 1, 2]), told)
    np.testing.assert_array_equal(model.predict_proba(rows[:, None], [3, 1, 2]), told)
    np.testing.assert_array_equal(model.predict_proba(frame, sequence="who"), told)
    np.testing.assert_array_equal(model.predict_proba(mixed, sequence="who"), told[[0, 3, 1, 4, 2, 5]])
    np.testing.assert_array_equal(
        np.concatenate(model.predict_proba([frame[["ball"]][:3], frame[["ball"]][3:4], frame[["ball"]][4:]])),
        told,
    )
    assert math.isclose(model.score(x), sum(model.score([one]) for one in x), rel_tol=1e-14)
    labelled = frame.assign(box=[1, 2, 1, 2, 1, 1])
    one = HiddenMarkov(2).fit(labelled, sequence="who", states="box")
    two = HiddenMarkov(2).fit(x, states=[[1, 2, 1], [2], [1, 1]])
    np.testing.assert_array_equal(one.transmat_, two.transmat_)
    three = HiddenMarkov(2).fit(labelled.iloc[[0, 3, 1, 4, 2, 5]], sequence="who", states="box")
    np.testing.assert_array_equal(one.counts_.transitions, three.counts_.transitions)


def test_missing_observations_are_summed_out():
    model = boxes()
    total = sum(math.exp(model.score([a, b, "red"])) for a in ("red", "white") for b in ("red", "white"))
    assert math.isclose(math.exp(model.score([None, None, "red"])), total, rel_tol=1e-12)
    assert model.score([None, None]) == 0.0
    np.testing.assert_allclose(model.forecast(None, 2).states[1], model.startprob_ @ model.transmat_)
    np.testing.assert_allclose(
        model.forecast(RED, 1).observations[0] @ [1, 0],
        math.exp(model.score([*RED, "red"]) - model.score(RED)),
        rtol=1e-12,
    )


def test_filtering_reads_one_observation_at_a_time():
    taken = []

    def observations():
        for x in RED:
            taken.append(x)
            yield x

    stream = boxes().filter(observations())
    assert taken == []
    next(stream)
    assert taken == ["red"]
    numbers = HiddenMarkov.of([0.5, 0.5], np.eye(2), means=[[0, 0], [4, 4]], variances=np.ones((2, 2)))
    rows = [[0.1, 0.2], [3.0, np.nan]]
    np.testing.assert_allclose(list(numbers.filter(iter(rows))), list(numbers.filter(np.array(rows))))


def test_time_is_linear():
    model = boxes()
    x, _ = model.sample(1_000, random_state=0)
    for ask in (model.predict_proba, model.predict, lambda part: list(model.filter(part))):
        check_growth(lambda n, ask=ask: lambda: ask(x[:n]), 500)


def test_saved_models_are_the_same(tmp_path):
    x, z = boxes().sample(50, random_state=1)
    numbers = np.random.default_rng(0).normal(size=(30, 2))
    for model in (
        boxes(),
        HiddenMarkov(2, n_init=2).fit(x),
        HiddenMarkov(3).fit(x, states=z),
        HiddenMarkov(2, emission="gaussian", n_init=2).fit(pd.DataFrame(numbers, columns=["a", "b"])),
    ):
        model.save(tmp_path / "model.bayes")
        rows = numbers if model.emission == "gaussian" else x
        for again in (bayeskit.load(tmp_path / "model.bayes"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
            assert again.score(rows) == model.score(rows) and again.get_params() == model.get_params()
            assert again.states_.tolist() == model.states_.tolist()
            assert (again.counts_ is None) == (model.counts_ is None)
    known = bayeskit.load(tmp_path / "model.bayes")
    assert known.n_iter_ == model.n_iter_


@pytest.mark.parametrize("pack", [lambda one: one, lambda one: [one, one]], ids=["one", "list"])
def test_sparse_sequences_are_refused(pack):
    with refuses(DataTypeError, "HiddenMarkov", "toarray()"):
        HiddenMarkov(2).fit(pack(sparse.csr_array(np.eye(3))))


def test_bad_sequences_are_refused():
    model, new = boxes(), HiddenMarkov(2)
    with refuses(DataError):
        new.fit([])
    with refuses(DataError, 1):
        new.fit([["a"], []])
    for nothing in (np.empty((0, 1)), {"x": []}, np.empty(0)):
        with refuses(DataError, 0):
            new.fit(nothing)
    with refuses(DataError, 1):
        new.fit(["a", "b"], [2, 0])
    with refuses(DataError, 5, 2):
        new.fit(["a", "b"], [5])
    with refuses(DataTypeError, "lengths", "x"):
        new.fit(["a", "b"], "x")
    with refuses(UnseenState, "blue"):
        model.predict([["red", "blue"]])
    with refuses(DataError):
        new.fit([[None, None], [None]])
    with refuses(SettingError, "n_states", 2, 1):
        new.fit([["a", None, None]])
    with refuses(ColumnError, 2, "DynamicNetwork"):
        new.fit(np.array([["a", "b"], ["c", "d"]], dtype=object))
    with refuses(ColumnError, "who", "ball"):
        model.predict(pd.DataFrame({"ball": RED}), sequence="who")
    with refuses(DataError, "who", 1):
        model.predict(pd.DataFrame({"who": [1, None, 1], "ball": RED}), sequence="who")
    numbers = HiddenMarkov(2, emission="gaussian")
    with refuses(InfiniteValue, "x0", "inf", 1):
        numbers.fit(np.array([[0.0], [np.inf], [1.0]]))
    with refuses(ColumnError, "x1"):
        numbers.fit(np.array([[0.0, np.nan], [2.0, np.nan], [1.0, np.nan]]))
    with refuses(ColumnError, "x0", "a"):
        numbers.fit([["a", "b"], ["a"]])
    with refuses(DataError, 1, 2):
        numbers.fit([np.zeros((2, 1)), np.zeros((2, 2))])
    never = HiddenMarkov.of([1.0, 0.0], np.eye(2), emissionprob=[[1.0, 0.0], [0.0, 1.0]])
    assert never.score([[0, 0], [0, 1]]) == -math.inf
    for ask in (never.predict, never.predict_proba, never.expected_counts):
        with refuses(DataError, 1):
            ask([[0, 0], [0, 1]])
    with refuses(DataError, 2):
        model.filter([RED, RED])
    assert HiddenMarkov.of(never.startprob_, never.transmat_, emissionprob=never.emissionprob_).set_params(
        unseen="ignore"
    ).predict([0, 7]).tolist() == [0, 0]


def test_a_model_cannot_forget():
    model = HiddenMarkov(2, n_init=1).fit(RED * 5)
    for ask in (
        lambda: model.forget(RED),
        lambda: model.partial_fit(RED),
        lambda: model.partial_fit(RED, states=[0, 1, 0]),
    ):
        with refuses(UsageError):
            ask()
    with refuses(Incompatible):
        model.expected_counts(RED).merge(HiddenMarkov(3, n_init=1).fit(RED * 5).counts_)


@pytest.mark.parametrize(
    ("wrong", "values"),
    [
        ({"n_states": 0}, ("n_states", 0)),
        ({"emission": "poisson"}, ("emission", "poisson", "gaussian")),
        ({"unseen": "smooth"}, ("unseen", "smooth")),
        ({"smoothing": -1}, (-1,)),
        ({"tol": "x"}, ("tol", "x")),
        ({"categories": ["a", "a"]}, ("a",)),
        ({"categories": ["a"], "emission": "gaussian"}, ("categories=",)),
    ],
)
def test_bad_settings_are_refused(wrong, values):
    with refuses(SettingError, *values):
        HiddenMarkov(**{"n_states": 2, **wrong}).fit(RED)


def test_bad_parameters_and_states_are_refused():
    with refuses(SettingError, "startprob"):
        HiddenMarkov.of([0.5, 0.4], np.eye(2), emissionprob=np.eye(2))
    with refuses(SettingError, "transmat"):
        HiddenMarkov.of([0.5, 0.5], np.eye(3), emissionprob=np.eye(2))
    with refuses(SettingError, 2, 3):
        HiddenMarkov.of([0.5, 0.5], np.eye(2), emissionprob=np.eye(2), categories=[*"abc"])
    with refuses(SettingError, "emissionprob="):
        HiddenMarkov.of([0.5, 0.5], np.eye(2))
    with refuses(SettingError, "variances"):
        HiddenMarkov.of([0.5, 0.5], np.eye(2), means=[0, 1], variances=[1, 0])
    with refuses(DataError, 2, 3):
        HiddenMarkov(2).fit(RED, states=[1, 2])
    with refuses(SettingError, "n_states", 3, 2):
        HiddenMarkov(3).fit(RED, states=[1, 2, 1])
    with refuses(DataError, 1):
        HiddenMarkov(2).fit(RED, states=[1, None, 2])
    with refuses(SettingError, 3):
        HiddenMarkov(3).fit(RED * 4, start=HiddenMarkov.of([0.5, 0.5], np.eye(2), emissionprob=np.eye(2)))


def test_a_state_that_is_never_visited_is_told():
    start = HiddenMarkov.of([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], emissionprob=[[0.5, 0.5], [0.9, 0.1]])
    with warns_of(SuspectResult, 1):
        model = HiddenMarkov(2).fit([0, 1, 0, 0], start=start)
    np.testing.assert_allclose(model.emissionprob_, [[0.75, 0.25], [0.5, 0.5]])


def test_sequences_of_one_step():
    model = HiddenMarkov(2, n_init=2).fit([["a"], ["b"], ["a"]])
    assert math.isclose(model.score([["a"]]), math.log(2 / 3), rel_tol=1e-3)
    np.testing.assert_array_equal(model.transmat_, np.full((2, 2), 0.5))


def test_what_a_model_draws_it_gives_back():
    true = boxes()
    x, z = true.sample(20_000, random_state=3)
    found = HiddenMarkov(3).fit(x, states=z)
    np.testing.assert_allclose(found.transmat_, true.transmat_, atol=0.02)
    np.testing.assert_allclose(found.emissionprob_, true.emissionprob_, atol=0.02)
    assert true.bic(x) > -2 * true.score(x) and true.aic(x) < true.bic(x)
    assert "→ 3" in true.table() and "0.7000" in true._card()


@pytest.mark.parametrize(
    ("steps", "numbers"),
    [
        ([0.5, 1.5, 0.5, np.nan, 1.25], True),
        ([-0.5, 1.0, 2.0, 3.0], True),
        (np.arange(12.0).reshape(6, 2), True),
        ([1, 2, 1, 1, 2], False),
        ([1.0, 2.0, np.nan, 1.0], False),
        ([True, False, True], False),
        (["a", "b", None, "a"], False),
    ],
    ids=["fractions", "one fraction", "columns", "integers", "integers with a hole", "truth", "words"],
)
def test_what_is_emitted_follows_from_the_steps(steps, numbers, tmp_path):
    model = HiddenMarkov(1, n_init=1).fit(steps)
    assert (model._variable is None) == numbers
    stated = HiddenMarkov(1, n_init=1, emission="gaussian" if numbers else "categorical").fit(steps)
    assert model.score(steps) == stated.score(steps)
    model.save(tmp_path / "model.bayes")
    assert bayeskit.load(tmp_path / "model.bayes").score(steps) == model.score(steps)


def test_declared_categories_may_be_numbers_with_fractions():
    model = HiddenMarkov(1, n_init=1, categories=[0.5, 1.5]).fit([0.5, 1.5, 0.5])
    assert model.emissionprob_.shape == (1, 2)
