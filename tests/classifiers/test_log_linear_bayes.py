"""LogLinearBayes: its terms by the formula, leave-one-out by recounting, weights by refits, and odd tables."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bayeskit import LogLinearBayes, load
from bayeskit._conditionals.log_linear_weights import (
    MOST_BIASED,
    Leverage,
    Penalty,
    RowLosses,
    Weights,
    choose_weights,
    losses_of,
    minimise,
)
from bayeskit._fitting.log_linear import only_here
from bayeskit._fitting.model import estimate
from bayeskit.errors import Incompatible, NotCounted, NotSupported, SettingError, SuspectResult, UsageError
from refusals import refuses, warns_of

Floats = NDArray[np.float64]


def mixed(n: int = 120, seed: int = 0, missing: float = 0.1) -> tuple[Any, Any]:
    """Two numbers whose product tells the class, a word that helps, and holes."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2)).round(2)
    y = np.where(numbers[:, 0] * numbers[:, 1] + 0.3 * rng.normal(size=n) > 0, "plus", "minus")
    words = np.where(rng.random(n) < 0.7, y, rng.choice(["plus", "minus", "odd"], n)).astype(object)
    numbers[rng.random((n, 2)) < missing] = np.nan
    words[rng.random(n) < missing] = None
    return {"a": numbers[:, 0], "b": numbers[:, 1], "w": words}, y


def log_loss(posterior: Floats, model: Any, y: Any) -> float:
    return float(-np.log(posterior[np.arange(len(y)), np.searchsorted(model.classes_, y)]).mean())


# -- terms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["ignore", "state"])
def test_scores_are_the_formula(missing: str) -> None:
    """Every term of a row, from a recount in plain Python."""
    X, y = mixed(80)
    X["v"] = np.roll(X["w"], 1)
    c1, c2, c3 = 1.5, 7.0, 11.0
    model = LogLinearBayes(views=3, imaginary_rows=(c1, c2, c3), missing=missing).fit(X, y)
    form = model._fitted.spec.form
    codes = {axis: axis_codes(axis, X, model, missing) for axis in form.axes}
    row, k = 5, len(model.classes_)
    target = np.searchsorted(model.classes_, y)
    found = model._score.terms.of(chunk_of(model, X))[:, row]
    for g, names in enumerate(form.names):
        views = form.tables[form.term_starts[g] : form.term_starts[g + 1]]
        slow = np.zeros(k)
        for table in views:
            columns = [codes[form.axes[a]] for a in table]
            for c in range(k):
                slow[c] += term(columns, row, target == c, (c1, c2, c3)) / len(views)
        np.testing.assert_allclose(found[g], slow, atol=1e-12, err_msg=str(names))


def axis_codes(axis: tuple[Any, ...], X: Any, model: Any, missing: str) -> tuple[list[int | None], int]:
    """The codes of a column on one axis, None where the value is left out, and how many there are."""
    name, *cuts = axis
    column = X[name]
    if column.dtype == object:
        states = sorted({v for v in column if v is not None})
        codes: list[int | None] = [None if v is None else states.index(v) for v in column]
        size = len(states)
    else:
        codes = [None if math.isnan(v) else sum(v > cut for cut in cuts) for v in column]
        size = len(cuts) + 1
    if missing == "state" and None in codes:
        return [size if code is None else code for code in codes], size + 1
    return codes, size


def term(columns: list[Any], row: int, of_class: Any, strengths: tuple[float, ...]) -> float:
    """F, G or H of one row in one class, counted from scratch."""
    c1, c2, c3 = strengths
    cells = list(zip(*(codes for codes, _ in columns), strict=True))
    if None in cells[row]:
        return 0.0
    known = [cell for cell, inside in zip(cells, of_class, strict=True) if inside and None not in cell]
    n, here = len(known), cells[row]

    def count(axes: tuple[int, ...]) -> int:
        return sum(all(cell[a] == here[a] for a in axes) for cell in known)

    def single(a: int) -> float:
        return (count((a,)) + c1 / columns[a][1]) / (n + c1)

    def pair(a: int, b: int) -> float:
        return (count((a, b)) + c2 * single(a) * single(b)) / (n + c2)

    if len(columns) == 1:
        return math.log(single(0))
    if len(columns) == 2:
        return math.log(pair(0, 1) / (single(0) * single(1)))
    base = pair(0, 1) * pair(0, 2) * pair(1, 2) / (single(0) * single(1) * single(2))
    return math.log((count((0, 1, 2)) + c3 * base) / ((n + c3) * base))


def chunk_of(model: Any, X: Any, y: Any = None) -> Any:
    from bayeskit._data.table import open_table

    fitted = model._fitted
    chunk = fitted.encode(open_table(X), fitted.schema, "ignore").chunk(0, len(X["a"]))
    if y is None:
        return chunk
    return replace(chunk, target=np.searchsorted(model.classes_, y).astype(np.uint32))


def test_a_row_has_the_sum_of_its_terms() -> None:
    X, y = mixed()
    model = LogLinearBayes(views=4).fit(X, y)
    score = model._score
    terms = score.terms.of(chunk_of(model, X))
    slow = model._model.log_prior + score.chosen.bias + np.tensordot(score.chosen.terms, terms, 1)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), slow, atol=1e-10)


# -- leave-one-out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "whole", "fractional", "balanced"])
def test_leaving_a_row_out_is_recounting_without_it(weights: str | None) -> None:
    X, y = mixed(60)
    rng = np.random.default_rng(1)
    given = {"whole": rng.integers(1, 3, 60).astype(float), "fractional": rng.random(60) + 0.1}.get(
        str(weights)
    )
    model = LogLinearBayes(
        views=3, class_weight={"minus": 3.0, "plus": 1.0} if weights == "balanced" else None
    )
    model.fit(X, y, given)
    fitted = model._fitted
    found = model.leave_one_out(X, y, given)
    settled = replace(fitted.spec, form=replace(fitted.spec.form, weights=model._score.chosen))
    for i in range(0, 60, 7):
        some = np.array([i])
        row = {name: column[some] for name, column in X.items()}
        without = model._copy().forget(row, y[some], None if given is None else given[some])
        slow = estimate(without.statistics_, settled).joint_chunk(chunk_of(without, {**row, "a": row["a"]}))
        slow = np.exp(slow - slow.max())
        np.testing.assert_allclose(found[i], (slow / slow.sum())[0], atol=1e-10)


def test_approximate_leave_one_out_is_close_to_refits() -> None:
    """Weights refitted without each row, at the λ and the centre that were chosen."""
    rng = np.random.default_rng(3)
    n, k, g = 70, 3, 6
    target = rng.integers(0, k, n)
    terms = rng.normal(size=(g, n, k))
    terms[0, np.arange(n), target] += 1.5
    terms[1, np.arange(n), target] += 0.7
    prior, ones = np.full((n, k), -math.log(k)), np.ones(n)
    losses = RowLosses.of(terms, prior, target, ones)
    kinds = np.array([0, 0, 0, 1, 1, 1])
    chosen = choose_weights(losses, kinds, ones, (3.0,))
    guessed = losses_of(chosen.scores_left_out(losses, ones))[0]
    naive = losses_of(losses.scores(all_of(chosen)))[0]
    centre, bounded = np.zeros(g + k), np.arange(g + k) < g
    # The centre is the group's weight: find it again as choose_weights does.
    from bayeskit._conditionals.log_linear_weights import _of_kinds

    centre[:g] = _of_kinds(losses, kinds)[kinds]
    penalty = Penalty(np.where(bounded, 3.0, 0.5), centre, bounded)
    refitted = np.empty(n)
    for i in range(n):
        weights = ones.copy()
        weights[i] = 0.0
        w, _ = minimise(replace(losses, weights=weights), penalty, all_of(chosen))
        refitted[i] = losses_of(losses.scores(w))[0][i]
    assert np.abs(guessed - refitted).max() < 0.15 * np.abs(naive - refitted).max()
    assert abs(guessed.mean() - refitted.mean()) < 0.05 * abs(naive.mean() - refitted.mean())


def all_of(chosen: Weights) -> Floats:
    return np.concatenate([chosen.terms, chosen.bias])


@pytest.mark.parametrize("k", [2, 4])
def test_no_small_move_lowers_the_loss(k: int) -> None:
    rng = np.random.default_rng(k)
    n, g = 90, 8
    target, weights = rng.integers(0, k, n), rng.random(n) + 0.5
    terms = rng.normal(size=(g, n, k))
    terms[:3, np.arange(n), target] += 1.0
    terms[3, np.arange(n), target] -= 1.0  # would have a negative weight
    losses = RowLosses.of(terms, np.zeros((n, k)), target, weights)
    bounded = np.arange(g + k) < g
    penalty = Penalty(np.full(g + k, 0.5), np.where(bounded, 0.1, 0.0), bounded)
    w, _ = minimise(losses, penalty, penalty.centre)
    slope = losses.slope(losses(w)[1]) + 2.0 * penalty.strength * (w - penalty.centre)
    assert (w[:g] >= 0.0).all() and w[3] == 0.0 and slope[3] > 0.0
    assert np.abs(slope[~(bounded & (w == 0.0))]).max() < 1e-6


def test_the_two_ways_to_leave_out_agree_where_there_are_many_rows() -> None:
    X, y = mixed(1500, missing=0.0)
    model = LogLinearBayes(views=4).fit(X, y)
    one, two = model.leave_one_out(X, y), model.approximate_leave_one_out(X, y)
    # The class of a row is a little less probable when the row has no say in the weights.
    places = np.arange(len(y)), np.searchsorted(model.classes_, y)
    assert 0.0 < log_loss(two, model, y) - log_loss(one, model, y) < 0.02
    assert (two[places] <= one[places] + 1e-9).all()


def test_out_of_fold_is_what_other_folds_say() -> None:
    X, y = mixed(150)
    frame = np.column_stack([X["a"], X["b"]])
    model = LogLinearBayes(views=4)
    found = model.out_of_fold(frame, y, folds=3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert not hasattr(model, "classes_") or model._fitted is None
    assert log_loss(found, LogLinearBayes().fit(frame, y), y) > 0.1


# -- what it finds ---------------------------------------------------------------------------------


def test_it_finds_what_two_attributes_tell_together() -> None:
    X, y = mixed(1500, missing=0.0)
    fresh, truth = mixed(500, seed=9, missing=0.0)
    whole = LogLinearBayes().fit(X, y)
    singles = LogLinearBayes(max_pairs=0, max_triples=0).fit(X, y)
    assert (whole.predict(fresh) == truth).mean() > 0.85
    assert log_loss(whole.predict_proba(fresh), whole, truth) < log_loss(
        singles.predict_proba(fresh), singles, truth
    )
    assert whole.weights_[("a", "b")] > 0.0
    assert all(weight >= 0.0 for weight in whole.weights_.values())
    assert whole.penalty_ in whole.losses_ and whole.losses_[whole.penalty_] < 0.5
    assert len(whole.views_) == 16 and set(whole.views_[0]) == {"a", "b"}


def test_it_finds_what_only_three_attributes_tell() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (800, 6))
    y = bits[:, 0] ^ bits[:, 1] ^ bits[:, 2]
    words = np.where(bits == 1, "t", "f").astype(object)
    model = LogLinearBayes().fit(words[:600], y[:600])
    assert (model.predict(words[600:]) == y[600:]).mean() > 0.95
    heaviest = max((names for names in model.weights_ if len(names) == 3), key=model.weights_.__getitem__)
    assert heaviest == ("x0", "x1", "x2")


def test_among_many_columns_it_finds_two_that_tell_only_together() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1_500, 110))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    model = LogLinearBayes(views=4, max_triples=0).fit(X[:1_000], y[:1_000])
    assert (model.predict(X[1_000:]) == y[1_000:]).mean() > 0.9
    assert len(model.held_["interactions"]["attributes"]) <= 25


def test_the_same_seed_gives_the_same_bits() -> None:
    X, y = mixed(300)
    one = LogLinearBayes().fit(X, y)
    again = LogLinearBayes(n_jobs=2).fit(X, y)
    other = LogLinearBayes(random_state=1).fit(X, y)
    assert np.array_equal(one.predict_proba(X), again.predict_proba(X))
    assert one.views_ != other.views_


def test_neither_the_order_of_columns_nor_their_names_moves_the_cuts() -> None:
    X, y = mixed(200)
    one = LogLinearBayes(views=4).fit(X, y)
    renamed = LogLinearBayes(views=4).fit({"w": X["w"], "q": X["b"], "p": X["a"]}, y)
    assert [view["a"] for view in one.views_] == [view["p"] for view in renamed.views_]
    np.testing.assert_allclose(
        one.predict_proba(X), renamed.predict_proba({"w": X["w"], "q": X["b"], "p": X["a"]}), atol=1e-6
    )


def test_a_weight_of_two_is_the_row_twice() -> None:
    X, y = mixed(100)
    weights = np.random.default_rng(0).integers(1, 4, 100)
    twice = {name: np.repeat(column, weights) for name, column in X.items()}
    one = LogLinearBayes(views=4).fit(X, y, weights)
    other = LogLinearBayes(views=4).fit(twice, np.repeat(y, weights))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


# -- verbs -----------------------------------------------------------------------------------------


def part(X: Any, rows: slice) -> Any:
    return {name: column[rows] for name, column in X.items()}


def test_batches_change_counts_and_weights_and_hold_the_rest() -> None:
    X, y = mixed(400)
    first, later = slice(0, 250), slice(250, 400)
    model = LogLinearBayes(views=4).fit(part(X, first), y[first])
    before, held = model.predict_proba(X), model.held_
    model.partial_fit(part(X, later), y[later])
    grown = model.predict_proba(X)
    assert model.held_ == held
    assert np.abs(grown - before).max() > 1e-3
    model.forget(part(X, later), y[later])
    assert np.array_equal(model.predict_proba(X), before)
    with pytest.raises(NotCounted):
        model.forget({"a": [123.0], "b": [1.0], "w": ["plus"]}, ["plus"])


def test_models_that_hold_the_same_cuts_are_merged() -> None:
    X, y = mixed(400)
    start = LogLinearBayes(views=4).fit(part(X, slice(0, 200)), y[:200])
    left, right = start._copy(), start._copy()
    left.partial_fit(part(X, slice(200, 300)), y[200:300])
    right.partial_fit(part(X, slice(300, 400)), y[300:400]).forget(part(X, slice(0, 200)), y[:200])
    both = start._copy().partial_fit(part(X, slice(200, 400)), y[200:400])
    np.testing.assert_allclose((left + right).predict_proba(X), both.predict_proba(X), atol=1e-12)
    shared = {"views": 4, "interactions": start.held_["interactions"]}
    apart = [
        LogLinearBayes(**shared).fit(part(X, half), y[half]) for half in (slice(0, 200), slice(200, 400))
    ]
    np.testing.assert_allclose((apart[0] + apart[1]).predict_proba(X), both.predict_proba(X), atol=1e-12)
    with refuses(SettingError, "interactions", "other"):
        LogLinearBayes(**shared).fit({"other": X["a"]}, y)
    with pytest.raises(Incompatible):
        left + LogLinearBayes(views=4).fit(part(X, slice(5, 200)), y[5:200])


def test_it_is_saved_with_its_sample(tmp_path: Path) -> None:
    X, y = mixed(200)
    model = LogLinearBayes(views=4, calibration="temperature").fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    more, labels = mixed(50, seed=5)
    again.partial_fit(more, labels)
    model.partial_fit(more, labels)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_lazy_model_answers_the_same() -> None:
    X, y = mixed(150)
    fitted = LogLinearBayes(views=4).fit(X, y)
    lazy = LogLinearBayes(views=4).lazy({**X, "y": y}, "y")
    assert np.array_equal(lazy.predict_proba(X), fitted.predict_proba(X))


def test_a_page_adds_up_to_the_answer() -> None:
    X, y = mixed(300)
    model = LogLinearBayes(views=4).fit(X, y)
    for i in range(6):
        row = {name: column[i] for name, column in X.items()}
        page = model.explain(row)
        np.testing.assert_allclose(
            page.posterior, model.predict_proba(part(X, slice(i, i + 1)))[0], atol=1e-12
        )
        assert page.form == "log-linear"
        for lang in ("en", "zh"):
            assert "^" in str(model.explain(row, lang=lang))
    found = model.contributions(part(X, slice(0, 20)))
    posterior = np.log(model.predict_proba(part(X, slice(0, 20))))
    np.testing.assert_allclose(found.log_odds[:, 0], posterior[:, 0] - posterior[:, 1], atol=1e-9)


def test_what_needs_a_distribution_of_rows_is_refused() -> None:
    X, y = mixed(100)
    model = LogLinearBayes(views=2).fit(X, y)
    for ask, error in (
        (lambda: model.sample(2), NotSupported),
        (lambda: model.predict_interval(X), NotSupported),
        (lambda: model.log_evidence(X), UsageError),
        (lambda: model.novelty(X), UsageError),
        (lambda: model.nomogram(), UsageError),
        (lambda: model.ask_next({"a": 1.0}), UsageError),
    ):
        with pytest.raises(error):
            ask()
    assert model.class_profile()["a"] is not None
    assert model.regions("a", "b", grid=4).chosen.shape == (4, 4)


# -- odd tables ------------------------------------------------------------------------------------


def check(X: Any, y: Any, **settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogLinearBayes(**{"views": 2, **settings}).fit(X, y)
    posterior = model.predict_proba(X)
    assert np.isfinite(posterior).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    left_out = model.leave_one_out(X, y)
    assert np.isfinite(left_out).all()
    assert np.isfinite(model.approximate_leave_one_out(X, y)).all()
    return model


def test_odd_tables() -> None:
    rng = np.random.default_rng(0)
    few = rng.normal(size=(10, 3))
    check(few, np.arange(10) % 2)
    check(few, np.arange(10))  # a class for each row
    check(few, np.zeros(10))  # one class
    check(few, [0] * 9 + [1])  # a class of one row
    check(few[:2], [0, 1])
    check(np.ones((10, 3)), np.arange(10) % 2)  # nothing varies
    check(np.full((10, 2), np.nan), np.arange(10) % 2)
    check(np.column_stack([few[:, 0], np.full(10, np.nan)]), np.arange(10) % 2, missing="state")
    words = rng.choice(list("abc"), (40, 4)).astype(object)
    words[rng.random((40, 4)) < 0.3] = None
    for missing in ("ignore", "state"):
        check(words, rng.integers(0, 3, 40), missing=missing)
    check(rng.normal(size=(300, 3)), rng.integers(0, 100, 300))
    check(rng.normal(size=(60, 2)) * 1e300, rng.integers(0, 2, 60))


def test_a_wide_table_is_cut_down_with_a_word() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 320))
    y = (X[:, 310] > 0).astype(int)
    X[:, :310] += 3 * y[:, None]
    model = LogLinearBayes(views=1, max_triples=0)
    with warns_of(SuspectResult, 300, 320):
        model.fit(X, y)
    assert ("x310",) in model.weights_
    assert any("300" in note for note in model.notes_)


def test_columns_of_noise_are_left_out() -> None:
    """Of many columns of noise some seem to tell the class, and weights chosen on the same rows believed them."""
    rng = np.random.default_rng(0)
    y, fresh = rng.integers(0, 2, 300), rng.integers(0, 2, 2_000)

    def rows(target: Any, n_noise: int) -> Any:
        signal = rng.normal(size=(len(target), 5)) + target[:, None]
        return np.hstack([rng.normal(size=(len(target), n_noise)), signal])

    model = LogLinearBayes(views=4).fit(rows(y, 300), y)
    used = {name for names in model.weights_ for name in names}
    assert {f"x{j}" for j in range(300, 305)} <= used and len(used) <= 30
    assert any("of 305 attributes" in note for note in model.notes_)
    few = LogLinearBayes(views=4).fit(rows(y, 0), y)

    def loss(of: Any, n_noise: int) -> float:
        answers = of.predict_proba(rows(fresh, n_noise))
        return float(-np.log(answers[np.arange(len(fresh)), fresh]).mean())

    assert loss(model, 300) < 1.5 * loss(few, 0)  # 4 times as much, if all columns are used


def test_columns_that_tell_much_let_no_noise_pass_beside_them() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 1_000))
    X[:, :20] += 0.7 * y[:, None]
    assert len(LogLinearBayes(views=1).fit(X, y).held_["interactions"]["attributes"]) <= 35


def test_a_hundred_columns_are_never_left_out() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 100)), rng.integers(0, 2, 60)
    assert len(LogLinearBayes(views=1).fit(X, y).held_["interactions"]["attributes"]) == 100


def test_weights_come_from_a_sample_where_there_are_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from bayeskit._fitting import choose_interactions

    monkeypatch.setattr(choose_interactions, "LEAST_ROWS", 100)
    monkeypatch.setattr(choose_interactions, "MOST_ROWS", 100)
    X, y = mixed(600, missing=0.0)
    model = LogLinearBayes(views=4).fit(X, y)
    sample: Any = model.statistics_.parts["row_sample"]
    assert len(sample.weight) == 100 and not sample.is_whole
    assert model.statistics_.total == 600
    assert any("100" in note for note in model.notes_)
    assert (model.predict(X) == y).mean() > 0.8
    assert np.isfinite(model.approximate_leave_one_out(X, y)).all()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"views": 0}, ("views", 0)),
        ({"views": True}, ("views", True)),
        ({"max_pairs": -1}, ("max_pairs", -1)),
        ({"max_triples": 1.5}, ("max_triples", 1.5)),
        ({"random_state": "x"}, ("random_state", "x")),
        ({"imaginary_rows": (1, 2)}, ("imaginary_rows",)),
        ({"imaginary_rows": (1, 2, 0)}, ("imaginary_rows",)),
        ({"penalty": 0}, ("penalty", 0)),
        ({"unseen": "smooth"}, ("unseen", "smooth")),
        ({"missing": "drop"}, ("missing", "drop")),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], named: tuple[Any, ...]) -> None:
    with refuses(SettingError, *named):
        LogLinearBayes(**settings).fit([["a"], ["b"]], [0, 1])


def test_a_value_never_seen_says_nothing() -> None:
    X, y = mixed(200)
    model = LogLinearBayes(views=2).fit(X, y)
    one = {"a": [0.5], "b": [0.5]}
    assert np.array_equal(
        model.predict_proba({**one, "w": ["never"]}), model.predict_proba({**one, "w": np.array([None])})
    )


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectColumn")
@pytest.mark.parametrize("missing", ["ignore", "state"])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_column_that_names_the_rows_says_nothing_of_others(share: float, missing: str) -> None:
    """No two rows share a name. The true class is one row short, and a large weight would live on that."""
    rng = np.random.default_rng(0)
    y = (rng.random(400) < share).astype(int)
    X = {"name": [f"n{i}" for i in range(400)], "x": rng.normal(size=400) + y}
    new = {"name": ["new"] * 400, "x": X["x"]}
    plain = LogLinearBayes(views=4, missing=missing).fit({"x": X["x"]}, y)
    model = LogLinearBayes(views=4, missing=missing).fit(X, y)
    assert max(model.weights_.values()) < 3.0
    np.testing.assert_allclose(model.predict_proba(new), plain.predict_proba({"x": X["x"]}), atol=0.01)
    assert min(model.losses_.values()) == pytest.approx(min(plain.losses_.values()), abs=0.005)
    found = log_loss(model.approximate_leave_one_out(X, y), model, y)
    assert found == pytest.approx(
        log_loss(plain.approximate_leave_one_out({"x": X["x"]}, y), plain, y), abs=0.01
    )


def test_states_of_one_row_are_unseen_without_it_unless_declared() -> None:
    X = {"a": ["a", "a", "b", "c", None], "d": ["u", "v", "u", "u", "v"]}
    model = LogLinearBayes(states={"d": ["u", "v", "w"]}).fit(X, [0, 1, 0, 1, 0])
    rows = chunk_of(model, X, [0, 1, 0, 1, 0])
    found = only_here(model.statistics_, rows, rows.row_weights)
    assert found.tolist() == [[False, False], [False, False], [True, False], [True, False], [False, False]]
    twice = model.partial_fit(X, [0, 1, 0, 1, 0])
    assert not only_here(twice.statistics_, rows, rows.row_weights).any()


def test_many_classes_have_no_biases_and_rows_are_left_out_by_a_small_matrix():
    rng = np.random.default_rng(0)
    n, k = 7, MOST_BIASED + 5
    losses = RowLosses.of(
        rng.normal(size=(3, n, k)), np.log(np.full((n, k), 1 / k)), rng.integers(0, k, n), np.ones(n)
    )
    assert len(losses.features) == 3
    w, own = np.array([0.5, 0.2, 0.0]), np.full(n, 0.5)
    penalty = Penalty(np.ones(3), np.zeros(3), np.ones(3, dtype=bool))
    shares = losses(w)[1]
    leverage = Leverage.at(losses.curvature(shares), penalty, w)
    found = leverage.left_out(losses, w, own)
    H = losses.curvature(shares)[:2, :2] + 2.0 * np.eye(2)
    for i in range(n):
        X = losses.features.reshape(3, n, k - 1)[:2, i]
        A, p = X.T @ np.linalg.solve(H, X), shares[i]
        W = np.diag(p) - np.outer(p, p)
        moved = A @ np.linalg.solve(np.eye(k - 1) - 0.5 * W @ A, 0.5 * p)
        np.testing.assert_allclose(found[i], losses.scores(w)[i] + moved, rtol=1e-7, atol=1e-9)
    chosen = choose_weights(losses, np.array([0, 0, 1]), own, (1.0,))
    assert chosen.bias.shape == (k,) and not chosen.bias.any() and np.isfinite(chosen.left_out).all()
