"""Trees as count tables: posteriors by hand, exact verbs, honest scores, and rows of every kind."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit
from bayeskit import Batches, CountForest
from bayeskit._classifiers import count_forest
from bayeskit._counting.backend import count
from bayeskit._data.source import Source
from bayeskit._fitting.forest import out_of_bag_shares, sample_of
from bayeskit._fitting.grow_trees import bin_cuts, poisson_draws
from bayeskit._fitting.leave_one_out import encode_learned
from bayeskit._fitting.model import estimate
from bayeskit._statistics.tree_counts import trees_of
from bayeskit.errors import (
    ColumnError,
    DataError,
    Incompatible,
    NotCounted,
    SettingError,
    UnseenState,
    UsageError,
)
from bayeskit.statistics import Pattern, Plan
from reference import exact, slow_tree, slow_tree_posterior, slow_way
from refusals import refuses


def rows(n: int = 120, seed: int = 0, holes: float = 0.1) -> tuple[dict[str, Any], Any]:
    """Two numbers and two words; the class is a conjunction of a threshold and a word, with some noise."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=n).round(2), rng.integers(0, 5, n).astype(float)
    s, t = np.array([*"abc"], object)[rng.integers(0, 3, n)], np.array([*"pq"], object)[rng.integers(0, 2, n)]
    y = np.where((u > 0.3) & (s != "b"), "yes", np.where(v > 2, "no", "maybe"))
    y = np.where(rng.random(n) < 0.1, "no", y)
    u[rng.random(n) < holes], s[rng.random(n) < holes] = np.nan, None
    return {"u": u, "v": v, "s": s, "t": t}, y


def part(X: dict[str, Any], some: Any) -> dict[str, Any]:
    return {name: column[some] for name, column in X.items()}


X, Y = rows()
N = len(Y)


def forest(**settings: Any) -> CountForest:
    return CountForest(**{"n_trees": 12, **settings})


FITTED = forest().fit(X, Y)
POSTERIOR = FITTED.predict_proba(X)


def codes_of(model: CountForest, t: int, row: dict[str, Any]) -> list[int]:
    """The codes of a row in one tree, by hand."""
    trees = trees_of(model.trees_)
    found = []
    for name, cuts in zip(trees.numeric, trees.cuts, strict=True):
        value = row[name]
        found.append(255 if math.isnan(value) else sum(value > cut for cut in cuts))
    ranks, start = trees.ranks[t], 0
    for name, states in zip(trees.categorical, trees.states, strict=True):
        known = {state: int(ranks[start + i]) for i, state in enumerate(states)}
        found.append(255 if row[name] is None else known.get(row[name], 254))
        start += len(states)
    return found


def ways_of(model: CountForest, X: dict[str, Any]) -> list[list[str]]:
    """The way of each row through each tree, by hand."""
    trees = trees_of(model.trees_)
    every = [part(X, i) for i in range(len(X["u"]))]
    found = []
    for t in range(trees.n_trees):
        some = trees.tree(t)
        nodes = zip(
            trees.features[some].tolist(), trees.bounds[some].tolist(), trees.ways[some].tolist(), strict=True
        )
        tree = slow_tree(list(nodes))
        found.append([slow_way(tree, codes_of(model, t, row)) for row in every])
    return found


def by_hand(model: CountForest, i: int, left_out: bool, shares: Any = None) -> Any:
    """The posterior of row i, a fraction at a time."""
    labels = np.searchsorted(model.classes_, Y).tolist()
    weights = [0 if left_out and j == i else 1 for j in range(N)]
    counts = np.bincount(labels, weights, 3)
    prior = [(exact(n) + 1) / (exact(counts.sum()) + 3) for n in counts]
    ways = ways_of(model, X)
    shares = [1] * len(ways) if shares is None else shares
    mean = np.zeros(3)
    for ways_t, share in zip(ways, shares, strict=True):
        if share:
            p = slow_tree_posterior(ways_t, labels, weights, ways_t[i], prior, model.smoothing)
            mean += np.array([float(q) for q in p])
    power = mean ** trees_of(model.trees_).power
    return power / power.sum()


@pytest.mark.parametrize("settings", [{}, {"missing": "ignore", "smoothing": 2.0, "max_depth": 3}])
def test_posteriors_are_those_of_the_slow_twin(settings: Any) -> None:
    model = forest(**settings).fit(X, Y)
    answers, left = model.predict_proba(X), model.leave_one_out(X, Y)
    for i in range(0, N, 17):
        np.testing.assert_allclose(answers[i], by_hand(model, i, False), rtol=0, atol=1e-12)
        np.testing.assert_allclose(left[i], by_hand(model, i, True), rtol=0, atol=1e-12)


def test_out_of_bag_asks_the_trees_that_had_not_seen_the_row() -> None:
    answers = FITTED.out_of_bag(X, Y)
    fitted = FITTED._reader("out_of_bag")
    (read,) = Source(X, Y)
    chunk = encode_learned(fitted, FITTED.schema_, read).chunk(0, N)
    shares = out_of_bag_shares(chunk, FITTED.schema_, FITTED.trees_)
    sample = sample_of(chunk, FITTED.schema_, FITTED.trees_)
    assert len(sample.cell_rows) == N  # no two rows are alike, so each is in a bag or is not
    assert set(np.unique(shares)) == {0.0, 1.0} and 0.2 < shares.mean() < 0.55
    for i in range(0, N, 17):
        np.testing.assert_allclose(answers[i], by_hand(FITTED, i, True, shares[i]), rtol=0, atol=1e-12)


def test_out_of_bag_is_honest_where_leave_one_out_is_not() -> None:
    """On noise the splits have learned the rows by heart: only trees that had not seen a row tell the truth."""
    noise = np.random.default_rng(1).permutation(Y)
    model = forest(n_trees=60).fit(X, noise)
    truth = np.searchsorted(model.classes_, noise)
    right = (model.out_of_bag(X, noise).argmax(axis=1) == truth).mean()
    assert right < 0.5 < (model.leave_one_out(X, noise).argmax(axis=1) == truth).mean()


def test_class_weights_are_row_weights_out_of_the_bag_too() -> None:
    weights = {"yes": 3.0, "no": 0.5, "maybe": 1.0}
    by_row = np.array([weights[label] for label in Y])
    weighted, rows_weighted = forest(class_weight=weights).fit(X, Y), forest().fit(X, Y, by_row)
    assert weighted.trees_ == rows_weighted.trees_
    np.testing.assert_allclose(
        weighted.out_of_bag(X, Y), rows_weighted.out_of_bag(X, Y, by_row), rtol=0, atol=1e-12
    )


def test_later_rows_do_not_change_who_was_in_the_bag(monkeypatch: Any) -> None:
    """Balanced class weights are others by then, and trees were grown with the former."""
    asked = []
    known = count_forest.log_out_of_bag
    monkeypatch.setattr(count_forest, "log_out_of_bag", lambda *a: (asked.append(a[3]), known(*a))[1])
    model = forest(class_weight="balanced").fit(X, Y)
    model.out_of_bag(X, Y)
    yes = Y == "yes"
    model.partial_fit(part(X, yes), Y[yes]).out_of_bag(X, Y)
    np.testing.assert_array_equal(asked[0], asked[1])


def test_equal_rows_are_out_of_the_bag_by_shares() -> None:
    """Ten equal rows of two classes: no one can say which were drawn, and none of them is without an answer."""
    X, y = np.zeros((20, 1)), ["a", "b"] * 10
    answers = forest().fit(X, y).out_of_bag(X, y)
    np.testing.assert_allclose(answers[0::2], np.tile(answers[0], (10, 1)), rtol=1e-12)
    assert answers[0, 0] < 0.5 < answers[1, 0]  # each class lacks the row itself


# -- verbs, exact given the splits -----------------------------------------------------------------


def given_splits(**settings: Any) -> CountForest:
    return forest(trees=FITTED.trees_, **settings)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, N), min_size=1, max_size=3))
def test_any_split_of_the_rows_is_the_whole(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), N]
    model = given_splits()
    for start, stop in pairwise(edges):
        if stop > start:
            model.partial_fit(part(X, slice(start, stop)), Y[start:stop])
    np.testing.assert_allclose(model.predict_proba(X), POSTERIOR, rtol=0, atol=1e-12)


def test_the_first_batch_grows_the_trees() -> None:
    model = forest().partial_fit(part(X, slice(0, 60)), Y[:60])
    splits = model.trees_
    model.partial_fit(part(X, slice(60, N)), Y[60:])
    assert model.trees_ == splits != FITTED.trees_
    fresh = forest(trees=splits).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=1e-12)


def test_forget_fade_and_merge() -> None:
    rest = slice(40, N)
    model = forest().fit(X, Y).forget(part(X, slice(0, 40)), Y[:40])
    fresh = given_splits().fit(part(X, rest), Y[rest])
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=1e-12)
    both = fresh + given_splits().fit(part(X, slice(0, 40)), Y[:40])
    np.testing.assert_allclose(both.predict_proba(X), POSTERIOR, rtol=0, atol=1e-12)
    faded = forest().fit(X, Y).fade(0.5)
    halved = given_splits().fit(X, Y, np.full(N, 0.5))
    np.testing.assert_allclose(faded.predict_proba(X), halved.predict_proba(X), rtol=0, atol=1e-12)
    with pytest.raises(NotCounted):
        fresh.forget(X, Y)
    with refuses(Incompatible, "trees"):
        forest().fit(X, Y).merge(forest().fit(part(X, rest), Y[rest]))


def test_trees_of_other_columns_are_refused() -> None:
    with refuses(ColumnError, "u", "numeric"):
        given_splits().fit({"s": X["s"], "t": X["t"]}, Y)
    with refuses(ColumnError, "v", "numeric"):
        given_splits().fit({**X, "v": X["v"].astype(str)}, Y)


def test_more_columns_than_trees_can_number_are_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr("bayeskit._fitting.forest.MOST_COLUMNS", 3)
    with refuses(DataError, 3, 4):
        forest().fit(X, Y)


def test_a_forest_is_estimated_beside_another() -> None:
    other = forest(random_state=1).fit(X, Y)
    (tables, moments, mine), its = FITTED.statistics_.plan.patterns, other.statistics_.plan.patterns[2]
    both = Pattern("trees", (*its.attributes, *mine.attributes))
    fitted = FITTED._reader("predict")
    (read,) = Source(X, Y)
    chunk = encode_learned(fitted, FITTED.schema_, read).chunk(0, N)
    counted = count(chunk, FITTED.schema_, Plan((tables, moments, both)))
    answers = estimate(counted, fitted.spec).joint_chunk(chunk)
    np.testing.assert_array_equal(answers, FITTED.predict_joint_log_proba(X))


def test_leaving_a_row_out_is_a_fit_without_it() -> None:
    left = FITTED.leave_one_out(X, Y)
    for i in range(0, N, 29):
        others = np.arange(N) != i
        alone = given_splits().fit(part(X, others), Y[others]).predict_proba(part(X, [i]))
        np.testing.assert_allclose(left[i], alone[0], rtol=0, atol=1e-12)
    with pytest.raises(NotCounted):
        given_splits().fit(part(X, slice(0, 60)), Y[:60]).leave_one_out(X, Y)


def test_lazy_batches_and_files_give_the_same(tmp_path: Any) -> None:
    np.testing.assert_array_equal(forest().lazy(X, Y).predict_proba(X), POSTERIOR)
    pieces = [(part(X, slice(i, i + 30)), Y[i : i + 30]) for i in range(0, N, 30)]
    batched = forest().fit(Batches(lambda: iter(pieces)))
    np.testing.assert_allclose(batched.predict_proba(X), POSTERIOR, rtol=0, atol=1e-12)
    FITTED.save(tmp_path / "forest")
    again = bayeskit.load(tmp_path / "forest")
    assert again.trees_ == FITTED.trees_
    np.testing.assert_array_equal(again.predict_proba(X), POSTERIOR)
    np.testing.assert_array_equal(again.out_of_bag(X, Y), FITTED.out_of_bag(X, Y))


# -- what chance hangs on --------------------------------------------------------------------------


def test_neither_order_nor_threads_nor_weights_of_two_change_the_trees() -> None:
    order = np.random.default_rng(3).permutation(N)
    assert forest().fit(part(X, order), Y[order]).trees_ == FITTED.trees_
    threads = forest(n_jobs=3).fit(X, Y)
    assert threads.trees_ == FITTED.trees_
    np.testing.assert_array_equal(threads.predict_proba(X), POSTERIOR)
    np.testing.assert_array_equal(threads.out_of_bag(X, Y), FITTED.out_of_bag(X, Y))
    twice = forest().fit({k: np.concatenate([v, v]) for k, v in X.items()}, np.concatenate([Y, Y]))
    assert forest().fit(X, Y, np.full(N, 2.0)).trees_ == twice.trees_
    assert forest(random_state=1).fit(X, Y).trees_ != FITTED.trees_


def test_draws_are_poisson() -> None:
    words = np.random.default_rng(0).integers(0, 2**63, 200_000).astype(np.uint64)
    for mean in (0.5, 1.0, 3.0):
        draws = poisson_draws(words, np.full(len(words), mean), 5, 0)
        share = np.bincount(draws, minlength=6)[:6] / len(words)
        wanted = [math.exp(-mean) * mean**k / math.factorial(k) for k in range(6)]
        np.testing.assert_allclose(share, wanted, atol=0.005)
    assert poisson_draws(words[:3], np.array([0.0, 1e6, 600.4]), 5, 0).tolist() == [0, 1_000_000, 600]
    # Two trees of one seed have nothing to do with each other.
    pair = [poisson_draws(words, np.ones(len(words)), 5, t) for t in (0, 1)]
    assert abs(np.corrcoef(pair)[0, 1]) < 0.01


def test_cuts_keep_few_values_apart_and_do_not_waste_any_on_a_heavy_one() -> None:
    assert bin_cuts(np.array([3.0, 1.0, np.nan, 2.0, 2.0]), np.ones(5)) == (1.5, 2.5)
    assert bin_cuts(np.full(3, np.nan), np.ones(3)) == () == bin_cuts(np.ones(3), np.ones(3))
    heavy = np.concatenate([np.zeros(9_000), np.arange(1.0, 1_001.0)])
    assert 200 < len(bin_cuts(heavy, np.ones(len(heavy)))) < 254


# -- growing ---------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_stump_is_the_best_of_all_splits(seed: int, holes: bool) -> None:
    """One column, one test: by brute force over every bound and both sides for rows without a value."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 6, 30).astype(float), rng.integers(0, 3, 30)
    x[rng.random(30) < 0.2 * holes] = np.nan
    model = CountForest(n_trees=1, max_depth=1).fit(x[:, None], y)
    trees = trees_of(model.trees_)
    (read,) = Source(x[:, None], y)
    chunk = encode_learned(model._reader("predict"), model.schema_, read).chunk(0, 30)
    sample = sample_of(chunk, model.schema_, model.trees_)
    cells, draws = sample.cell_rows, sample.draws(trees.seed, 0)

    def entropy(mask: Any) -> float:
        n = np.bincount(sample.target[cells][mask], draws[mask], 3)
        return -float(sum(k * math.log(k / n.sum()) for k in n if k))

    codes, drawn = sample.numbers[cells, 0], draws > 0
    whole, gains = entropy(drawn), {}
    for bound in range(6):
        for way in (2, 3) if (codes[drawn] == 255).any() else (1,):
            left = drawn & np.where(codes == 255, way == 2, codes <= bound)
            if left.any() and (drawn & ~left).any():
                gains[bound, way] = whole - entropy(left) - entropy(drawn & ~left)
    if len(trees.ways) == 1:
        assert max(gains.values(), default=0.0) < 1e-6
    else:
        found = gains[int(trees.bounds[0]), int(trees.ways[0])]
        assert found > max(gains.values()) - 1e-9


def test_limits_of_growth_are_kept() -> None:
    shallow, small = forest(max_depth=2).fit(X, Y), forest(min_rows=10).fit(X, Y)
    assert max(len(way) for ways in ways_of(shallow, X) for way in ways) == 2
    assert len(trees_of(small.trees_).ways) < len(trees_of(FITTED.trees_).ways) / 2
    assert len(trees_of(forest(max_depth=0).fit(X, Y).trees_).ways) == 12


def test_a_conjunction_is_found() -> None:
    big, labels = rows(1_500, 2, 0.0)
    model = forest(n_trees=40).fit(part(big, slice(0, 1_000)), labels[:1_000])
    assert model.score(part(big, slice(1_000, None)), labels[1_000:]) > 0.85


# -- missing, unseen, odd tables -------------------------------------------------------------------


def test_nothing_known_is_the_class_prior_with_ignore() -> None:
    model = forest(missing="ignore").fit(*rows(holes=0.0))
    empty = {"u": [np.nan], "v": [np.nan], "s": [None], "t": [None]}
    share = np.bincount(np.searchsorted(model.classes_, rows(holes=0.0)[1])) / N
    power = trees_of(model.trees_).power
    prior = (share * N + model.smoothing * (share * N + 1) / (N + 3)) / (N + model.smoothing)
    wanted = prior**power / (prior**power).sum()
    np.testing.assert_allclose(model.predict_proba(empty)[0], wanted, rtol=0, atol=1e-12)


def test_an_unseen_state_is_ignored_or_refused_and_a_later_one_is_counted() -> None:
    row = {"u": [0.5], "v": [1.0], "s": ["strange"], "t": ["p"]}
    assert np.isfinite(FITTED.predict_proba(row)).all()
    with refuses(UnseenState, "s", "strange"):
        forest(unseen="error").fit(X, Y).predict(row)
    model = given_splits().fit(X, Y).partial_fit(row, ["new"])
    assert model.classes_.tolist() == ["maybe", "new", "no", "yes"]
    assert model.predict_proba(row)[0, 1] > FITTED.predict_proba(row).min() / 100
    np.testing.assert_allclose(model.forget(row, ["new"]).predict_proba(X), POSTERIOR, rtol=0, atol=1e-12)


def odd_tables() -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    many = np.arange(400) % 100
    names = np.array([f"s{i}" for i in range(1_000)], object)
    return {
        "ten rows": (rng.normal(size=(10, 3)), np.arange(10) % 2),
        "a class of one row": (rng.normal(size=(30, 2)), np.r_[np.zeros(29), 1]),
        "one class": (rng.normal(size=(8, 2)), np.zeros(8)),
        "500 attributes": (rng.normal(size=(40, 500)), np.arange(40) % 2),
        "100 classes": (many[:, None] + rng.normal(size=(400, 2)), many),
        "nothing in a column": (np.column_stack([np.full(20, np.nan), rng.normal(size=20)]), np.arange(20) % 2),
        "constant columns": (np.ones((20, 3)), np.arange(20) % 2),
        "1,000 states": ({"x": names[np.arange(3_000) * 7 % 1_000]}, np.arange(3_000) % 2),
    }  # fmt: skip


@pytest.mark.parametrize("kind", list(odd_tables()))
def test_odd_tables_have_answers(kind: str) -> None:
    X, y = odd_tables()[kind]
    model = forest(n_trees=5).fit(X, y)
    for answers in (model.predict_proba(X), model.leave_one_out(X, y), model.out_of_bag(X, y)):
        assert np.isfinite(answers).all() and (answers > 0.0).all()
        np.testing.assert_allclose(answers.sum(axis=1), 1.0, rtol=0, atol=1e-9)


def test_weights_of_shares_grow_trees_too() -> None:
    model = forest().fit(X, Y, np.full(N, 1.0 / N))
    assert len(trees_of(model.trees_).ways) > 12
    assert forest().fit(X, Y, np.full(N, 1e6)).score(X, Y) > 0.8


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_trees", 0), ("n_trees", 2.5), ("n_trees", True), ("max_depth", -1), ("min_rows", 0), ("smoothing", 0),
        ("smoothing", -1.0), ("smoothing", "laplace"), ("missing", "drop"), ("unseen", "smooth"), ("trees", (1, 2)),
        ("random_state", "seed"),
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused_by_name(name: str, value: Any) -> None:
    with refuses(SettingError, name):
        forest(**{name: value}).fit(X, Y)


def test_what_needs_a_distribution_of_rows_is_refused() -> None:
    for question in (lambda: FITTED.sample(3), lambda: FITTED.log_evidence(X), lambda: FITTED.novelty(X)):
        with pytest.raises(UsageError):
            question()


def test_reasons_add_up() -> None:
    some = part(X, slice(0, 3))
    found = FITTED.contributions(some, against="no")
    logs = FITTED.predict_log_proba(some)
    total = sum(found.of("yes")[name] for name in found.columns)
    np.testing.assert_allclose(total, logs[:, 2] - logs[:, 1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_paths_tell_the_tests_the_counts_and_add_up_to_the_mean(lang: str) -> None:
    for i in range(0, N, 23):
        row = part(X, [i])
        found = FITTED.paths(row, most=4, lang=lang)
        np.testing.assert_allclose(found.posterior, POSTERIOR[i], rtol=0, atol=1e-12)
        shown = np.sum([path.posterior for path in found.paths], axis=0)
        np.testing.assert_allclose(shown + 8 * np.array(found.others), 12 * np.array(found.mean), atol=1e-12)
        for path in found.paths:
            assert path.steps[0].counts == tuple(np.bincount(np.searchsorted(FITTED.classes_, Y)).tolist())
            for above, below in pairwise(path.steps):
                assert all(n <= m for n, m in zip(below.counts, above.counts, strict=True))
                total = sum(below.counts) + FITTED.smoothing
                wanted = (np.array(below.counts) + FITTED.smoothing * np.array(above.posterior)) / total
                np.testing.assert_allclose(below.posterior, wanted, atol=1e-12)
        assert f"{found.posterior[0]:.4f}" in str(found)
    with refuses(SettingError, "most"):
        FITTED.paths(part(X, [0]), most=0)


def test_the_words_of_a_path() -> None:
    rng = np.random.default_rng(0)
    s = np.array(["a", "b", None], object)[rng.integers(0, 3, 200)]
    model = CountForest(n_trees=1).fit({"s": s}, ["yes" if v == "a" else "no" for v in s])
    tests = {v: model.paths({"s": v}).paths[0].steps[1].test for v in ("a", "b", None)}
    assert {tests["a"], tests["b"]} <= {"s in {a}", "s not in {a}", "s in {b}", "s not in {b}"}
    assert tests[None] == "s is missing"
