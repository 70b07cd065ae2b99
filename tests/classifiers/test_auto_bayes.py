"""AutoBayes: the stack is that of its members, and nothing is lost on the way through files and batches."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import AutoBayes, CountForest, LogLinearBayes, SelectiveKDB, load
from bayeskit._classifiers.auto_bayes import EFFORTS
from bayeskit._data.columns import factorize_array
from bayeskit._data.frames import factorize_series
from bayeskit._statistics.tree_counts import trees_of
from bayeskit.datasets import load_dataset as table
from bayeskit.errors import Incompatible, NotSupported, SettingError, SuspectResult, UsageError
from refusals import refuses, warns_of


@pytest.fixture(scope="module")
def melons() -> Any:
    data = table("melon3")
    return data.X, data.y


def mixed(n: int = 150, seed: int = 0, k: int = 2) -> tuple[Any, Any]:
    """Two numbers whose product tells the class, a word that helps, and holes."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2)).round(2)
    score = numbers[:, 0] * numbers[:, 1] + 0.3 * rng.normal(size=n)
    y = np.array(list("abcdefgh"))[np.digitize(score, np.quantile(score, np.arange(1, k) / k))]
    words = np.where(rng.random(n) < 0.6, y, rng.choice(list("abc"), n)).astype(object)
    words[rng.random(n) < 0.1] = None
    numbers[rng.random((n, 2)) < 0.1] = np.nan
    return {"a": numbers[:, 0], "b": numbers[:, 1], "w": words}, y


def product(model: Any, shares: dict[str, Any], total: float) -> Any:
    """The formula: a floor, a temperature and a weight for each member, then a little of every class."""
    logs = 0.0
    for name, share in shares.items():
        with np.errstate(divide="ignore"):
            log = np.maximum(np.log(share), -20.0) / model.held_["temperatures"][name]
        logs = logs + model.weights_[name] * (log - np.log(np.exp(log).sum(axis=1, keepdims=True)))
    shares_ = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares_ /= shares_.sum(axis=1, keepdims=True)
    e = 1.0 / (total + 2.0)
    return (1.0 - e) * shares_ + e / shares_.shape[1]


# -- the formula -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_it_is_the_weighted_product_of_its_members(weighted: bool, k: int) -> None:
    X, y = mixed(k=k)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    model = AutoBayes().fit(X, y, sample_weight=weight)
    total = float(len(y)) if weight is None else weight.sum()
    own = np.ones(len(y)) if weight is None else weight
    alone = model.members_
    shares = {name: member.predict_proba(X) for name, member in alone.items()}
    np.testing.assert_allclose(model.predict_proba(X), product(model, shares, total), atol=1e-12)
    shares = {name: member.leave_one_out(X, y, weight) for name, member in alone.items()}
    expected = product(model, shares, (total - own)[:, None])
    np.testing.assert_allclose(model.leave_one_out(X, y, weight), expected, atol=1e-12)


def test_members_are_the_classifiers_that_they_are() -> None:
    X, y = mixed()
    model = AutoBayes().fit(X, y)
    trees = CountForest(trees=model.held_["members"]["trees"]["trees"]).fit(X, y)
    linear = LogLinearBayes(
        interactions=model.held_["members"]["loglinear"]["interactions"], missing="state"
    ).fit(X, y)
    np.testing.assert_allclose(model.members_["trees"].predict_proba(X), trees.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(
        model.members_["loglinear"].predict_proba(X), linear.predict_proba(X), atol=1e-12
    )


def test_the_answers_behind_the_weights_are_not_those_of_memory() -> None:
    """Labels of pure chance: whoever saw a row would know its class, and nobody does."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 8)), rng.integers(0, 2, 120)
    model = AutoBayes().fit(X, y)
    assert model.loo_score_ > 0.66
    assert all(standing.log_loss > 0.66 for standing in model.leaderboard_)


@pytest.mark.parametrize("k", [2, 6])
def test_the_score_of_few_rows_is_that_of_fresh_ones(k: int) -> None:
    """Eight tables of 40 to 60 rows, with classes of a few rows each: the mean of their scores is not hopeful."""
    scores, fresh = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.concatenate(
            [np.arange(k), rng.choice(k, 2_000, p=0.6 ** np.arange(k) / sum(0.6 ** np.arange(k)))]
        )
        X = rng.normal(size=(len(y), 4)) + y[:, None] * [0.9, 0.4, 0.0, 0.0]
        n = 40 if k == 2 else 60
        model = AutoBayes("fast").fit(X[:n], y[:n])
        scores.append(model.loo_score_)
        fresh.append(-np.log(model.predict_proba(X[n:])[np.arange(len(y) - n), y[n:]]).mean())
    gap = np.array(scores) - fresh
    assert abs(gap.mean()) < 2.5 * gap.std() / np.sqrt(8) + 0.01


def test_the_leaderboard_tells_what_each_member_does() -> None:
    X, y = mixed()
    model = AutoBayes().fit(X, y)
    assert [s.log_loss for s in model.leaderboard_] == sorted(s.log_loss for s in model.leaderboard_)
    assert {s.name: s.weight for s in model.leaderboard_} == model.weights_
    trees = next(s for s in model.leaderboard_ if s.name == "trees")
    share = model.members_["trees"].out_of_bag(X, y) ** (1.0 / model.held_["temperatures"]["trees"])
    share /= share.sum(axis=1, keepdims=True)
    true = share[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert trees.log_loss == pytest.approx(-np.log(true).mean(), rel=1e-6)
    assert trees.error == pytest.approx((model.classes_[share.argmax(axis=1)] != y).mean())
    assert trees.rmse == pytest.approx(np.sqrt(((1.0 - true) ** 2).mean()), rel=1e-6)
    assert model.loo_score_ < min(s.log_loss for s in model.leaderboard_) + 0.05


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 1_000))
def test_a_weight_of_two_is_the_row_twice(seed: int) -> None:
    X, y = mixed(60, seed)
    often = np.random.default_rng(seed).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), often)
    weighted = AutoBayes("fast").fit(X, y, sample_weight=often)
    repeated = AutoBayes("fast").fit({name: column[rows] for name, column in X.items()}, y[rows])
    assert weighted.weights_ == pytest.approx(repeated.weights_, abs=2e-6)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


def test_a_class_prior_moves_the_posterior_as_bayes_has_it() -> None:
    X, y = mixed()
    plain, given_ = AutoBayes().fit(X, y), AutoBayes(class_prior=[0.9, 0.1]).fit(X, y)
    counts = np.array([(y == c).sum() for c in plain.classes_]) + 1.0
    moved = plain.predict_proba(X) * np.array([0.9, 0.1]) / (counts / counts.sum())
    moved /= moved.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(given_.predict_proba(X), moved, atol=1e-12)


# -- settings --------------------------------------------------------------------------------------


def test_members_suit_the_columns() -> None:
    X, y = mixed()
    numbers = {name: X[name] for name in "ab"}
    words = {"w": X["w"]}
    assert list(AutoBayes("fast").fit(X, y).weights_) == ["loglinear", "trees", "lda"]
    assert list(AutoBayes("fast").fit(words, y).weights_) == ["loglinear", "trees", "lda"]
    both = AutoBayes("fast").fit(numbers, y)
    assert list(both.weights_) == ["loglinear", "trees", "lda", "qda"]
    # One set of sums serves both.
    assert both.held_["members"]["lda"] == both.held_["members"]["qda"]
    # Numbers that are declared to be states are states for all members.
    codes = {**numbers, "c": np.round(np.nan_to_num(X["a"]))}
    declared = AutoBayes("fast", states={"c": np.unique(codes["c"]).tolist()}).fit(codes, y)
    assert list(declared.weights_) == ["loglinear", "trees", "lda"]
    assert np.isfinite(declared.predict_proba(codes)).all()


def test_members_may_be_chosen() -> None:
    X, y = mixed()
    only = AutoBayes(members=["trees"]).fit(X, y)
    assert list(only.weights_) == ["trees"] and list(only.members_) == ["trees"]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("members", bad) for bad in ((), "trees", ["trees", "trees"], ["aode"], [None])),
        *(("effort", bad) for bad in ("slow", 1, None)),
        *(("time_limit", bad) for bad in (0, -1.0, "1", float("nan"), True)),
        *(("choices", bad) for bad in ("held", 3)),
        ("missing", "drop"),
        ("unseen", "smooth"),
        ("random_state", "1"),
    ],
)
def test_settings_that_mean_nothing(name: str, bad: Any, melons: Any) -> None:
    with refuses(SettingError, name):
        AutoBayes(**{name: bad}).fit(*melons)


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_more_effort_is_more_work(effort: str) -> None:
    X, y = mixed(80)
    model, balanced = AutoBayes(effort).fit(X, y), AutoBayes().fit(X, y)
    more = [len(m.members_["loglinear"].views_) for m in (model, balanced)]
    assert more[0] < more[1] if effort == "fast" else more[0] > more[1]
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_time_limit_leaves_members_out_and_says_so(monkeypatch: Any) -> None:
    X, y = mixed(60)
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with warns_of(SuspectResult, "time_limit", "trees"):
        model = AutoBayes(time_limit=1.0).fit(X, y)
    assert model.stopped_early_ == ("trees", "lda") and list(model.weights_) == ["loglinear"]
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert AutoBayes(time_limit=1e6).fit(X, y).stopped_early_ == ()


class Clock:
    """Passes one second with every look at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_a_time_limit_ends_the_growing_of_trees_and_says_so(monkeypatch: Any) -> None:
    X, y = mixed(60)
    monkeypatch.setattr(time, "monotonic", Clock())
    with warns_of(SuspectResult, "12", "100"):
        model = AutoBayes(members=["trees"], time_limit=2.5).fit(X, y)
    assert model.members_["trees"].trees_ == model.held_["members"]["trees"]["trees"]
    whole = AutoBayes(members=["trees"]).fit(X, y)
    n_trees = [trees_of(m.members_["trees"].trees_).n_trees for m in (model, whole)]
    assert n_trees == [12, 100]
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_time_limit_ends_the_judging_by_folds_and_says_so(monkeypatch: Any) -> None:
    X, y = mixed(60)
    monkeypatch.setattr(time, "monotonic", Clock())
    with warns_of(SuspectResult, "60", "leave-one-out"):
        cut = AutoBayes(members=["loglinear"], time_limit=2.5).fit(X, y)
    whole = AutoBayes(members=["loglinear"]).fit(X, y)
    assert cut.held_["members"] == whole.held_["members"] and cut.loo_score_ != whole.loo_score_
    assert np.isfinite(cut.predict_log_proba(X)).all()


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads() -> None:
    X, y = mixed()
    one, two = (AutoBayes(random_state=3, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.held_ == two.held_
    assert AutoBayes(random_state=4).fit(X, y).held_ != one.held_


# -- batches, files, merging -----------------------------------------------------------------------


def test_batches_change_counts_and_keep_choices(tmp_path: Any) -> None:
    X, y = mixed()
    some = {name: column[:9] for name, column in X.items()}
    model = AutoBayes().fit(X, y)
    before, held = model.predict_proba(X), model.held_
    model.partial_fit(some, y[:9])
    assert model.held_ == held
    assert np.abs(model.predict_proba(X) - before).max() > 1e-6
    model.forget(some, y[:9])
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-9)
    model.save(tmp_path / "stack.bayes")
    again = load(tmp_path / "stack.bayes")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.leaderboard_ == model.leaderboard_ and again.loo_score_ == model.loo_score_
    for name, member in model.members_.items():
        member.save(tmp_path / name)
        np.testing.assert_array_equal(load(tmp_path / name).predict_proba(X), member.predict_proba(X))


def test_models_learned_apart_are_merged_if_they_hold_the_same() -> None:
    X, y = mixed()
    first, second = ({name: c[part] for name, c in X.items()} for part in (slice(0, 90), slice(90, None)))
    model = AutoBayes().fit(X, y)
    with refuses(Incompatible, "members"):
        AutoBayes().fit(first, y[:90]).merge(AutoBayes().fit(second, y[90:]))
    apart = [
        AutoBayes(choices=model.held_).fit(rows, labels)
        for rows, labels in ((first, y[:90]), (second, y[90:]))
    ]
    np.testing.assert_allclose((apart[0] + apart[1]).predict_proba(X), model.predict_proba(X), atol=1e-12)
    with refuses(SettingError, "choices", "other"):
        AutoBayes(choices=model.held_).fit({"other": X["a"]}, y)


def test_a_lazy_stack_answers_as_a_fitted_one() -> None:
    X, y = mixed()
    lazy = AutoBayes().lazy({**X, "y": y}, "y")
    np.testing.assert_allclose(lazy.predict_proba(X), AutoBayes().fit(X, y).predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("framed", [False, True])
def test_text_is_coded_once_however_often_a_fit_goes_over_it(framed: bool, monkeypatch: Any) -> None:
    code, coded = (factorize_series if framed else factorize_array), []

    def factorize(column: Any, name: Any) -> Any:
        coded.append(name)
        return code(column, name)

    monkeypatch.setattr(f"bayeskit._data.table.{code.__name__}", factorize)
    data = table("melon3")
    words = {name: column for name, column in data.columns.items() if column.dtype.kind == "O"}
    rows = {**words, "good": data.y}
    AutoBayes().fit(pytest.importorskip("pandas").DataFrame(rows) if framed else rows, target="good")
    assert sorted(coded) == sorted(words)


# -- reasons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_a_page_has_a_factor_for_each_member_and_adds_up(k: int) -> None:
    X, y = mixed(k=k)
    model = AutoBayes().fit(X, y)
    row = {name: column[3] for name, column in X.items()}
    page = model.explain(row)
    one = {name: column[3:4] for name, column in X.items()}
    np.testing.assert_allclose(page.posterior, model.predict_proba(one)[0], atol=1e-12)
    assert page.form == "stack" and {a.name for a in page.attributes} == set(model.weights_)
    said = [max(f.log for f in a.factors) - min(f.log for f in a.factors) for a in page.attributes]
    assert said == sorted(said, reverse=True)
    for attribute in page.attributes:
        t, w = model.held_["temperatures"][attribute.name], model.weights_[attribute.name]
        log = np.maximum(model.members_[attribute.name].predict_log_proba(one)[0], -20.0) / t
        expected = w * (log - np.log(np.exp(log).sum()))
        np.testing.assert_allclose([f.log for f in attribute.factors], expected, atol=1e-12)
    assert "members_" in str(page) and str(model.explain(row, lang="zh")) != str(page)
    assert page.to_dict()["form"] == "stack" and page.to_html() and page.to_latex()


def test_contributions_are_those_of_values_even_if_a_column_is_named_as_a_member() -> None:
    X, y = mixed()
    X = {"trees": X["a"], "loglinear": X["b"], "qda": X["w"]}
    model = AutoBayes().fit(X, y)
    some = {name: column[:4] for name, column in X.items()}
    found = model.contributions(some)
    assert set(X) < set(found.columns)
    log = model.predict_log_proba(some)
    np.testing.assert_allclose(found.log_odds[:, 1], log[:, 1] - log[:, 0], atol=1e-9)
    page = model.explain({name: column[0] for name, column in X.items()})
    assert [a.family for a in page.attributes] == ["stack"] * len(model.weights_)


def test_there_are_no_intervals() -> None:
    X, y = mixed()
    with refuses(NotSupported, "AutoBayes"):
        AutoBayes("fast").fit(X, y).predict_interval(X)


# -- odd tables ------------------------------------------------------------------------------------


def odd_tables() -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    ten = rng.normal(size=(10, 3))
    many = rng.integers(0, 100, 300)
    return {
        "ten rows": (ten, np.arange(10) % 2),
        "a class of one row": (ten, np.array([0] * 9 + [1])),
        "classes below five rows": (
            rng.normal(size=(40, 2)),
            np.array([0] * 30 + [1] * 4 + [2] * 3 + [3] * 3),
        ),
        "a row for each class": (rng.normal(size=(30, 3)), np.arange(30)),
        "a hundred classes": (rng.normal(size=(300, 3)) + many[:, None], many),
        "a column without values": (np.column_stack([ten, np.full(10, np.nan)]), np.arange(10) % 2),
        "columns without values": (np.full((10, 2), np.nan), np.arange(10) % 2),
        "constant columns": (np.ones((10, 3)), np.arange(10) % 2),
        "one value for each class": (np.repeat([[0.0], [1.0]], 5, axis=0), np.repeat([0, 1], 5)),
        "one value for each of three": (np.arange(150)[:, None] % 3.0, np.arange(150) % 3),
        "one class": (ten, np.zeros(10, dtype=int)),
        "one row": (ten[:1], np.zeros(1, dtype=int)),
    }


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectColumn")
@pytest.mark.parametrize("name", list(odd_tables()))
def test_odd_tables_are_learned(name: str) -> None:
    X, y = odd_tables()[name]
    model = AutoBayes().fit(X, y)
    assert model.classes_.tolist() == np.unique(y).tolist()
    for rows in (X, np.full_like(X, np.nan), X + 1e6):
        posterior = model.predict_proba(rows)
        assert np.isfinite(posterior).all() and (posterior > 0.0).all()
        np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    assert np.isfinite(model.loo_score_)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
def test_five_hundred_columns_are_selected_from() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 500)), np.arange(80) % 2
    X[:, 7] += 3 * y
    model = AutoBayes("fast").fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.members_["loglinear"].notes_
    assert list(model.weights_) == ["loglinear", "trees"]
    said = " ".join(model.notes_)
    assert "20 of 500 attributes" in said and "lda, qda" in said and "500 columns" in said


def test_no_distribution_of_rows(melons: Any) -> None:
    X, y = melons
    model = AutoBayes().fit(X, y)
    for ask in (lambda: model.log_evidence(X), lambda: model.sample(3)):
        with pytest.raises(UsageError):
            ask()


def test_selective_kdb_tells_its_choice(melons):
    X, y = melons
    model = SelectiveKDB(max_k=2).fit(X, y)
    losses = model.losses_
    assert losses.shape == (3, len(X.columns) + 1)
    assert model.loo_score_ == losses.min() == losses[model.k_, len(model.attributes_)]
    assert set(model.structure_) == set(model.attributes_)
    assert all(len(parents) <= model.k_ for parents in model.structure_.values())
    assert {(e.parent, e.child) for e in model.arcs_} == {
        (p, child) for child, parents in model.structure_.items() for p in parents
    }


def test_selective_kdb_may_choose_nothing():
    X = [["a"], ["b"]] * 50
    y = ["no", "no", "yes", "yes"] * 25
    model = SelectiveKDB().fit(X, y)
    assert model.attributes_ == ()
    np.testing.assert_allclose(model.predict_proba([["a"], ["z"]]), 0.5, atol=1e-12)


@pytest.mark.parametrize("n", [2_500, pytest.param(200_000, marks=pytest.mark.slow)])
def test_of_many_rows_a_sample_chooses_and_all_are_counted(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if n < 100_000:  # the same with limits as small as the table
        monkeypatch.setattr("bayeskit._classifiers.auto_bayes.MOST_ROWS", 700)
        monkeypatch.setattr("bayeskit._classifiers.count_forest.MOST_ROWS", 700)
        monkeypatch.setattr("bayeskit._classifiers.auto_bayes._MOST_JUDGED", 300)
        monkeypatch.setattr("bayeskit._fitting.choose_interactions.LEAST_ROWS", 400)
        monkeypatch.setattr("bayeskit._fitting.choose_interactions.MOST_ROWS", 400)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    X = {"word": np.array([*"abcd"])[(y + rng.integers(0, 3, n)) % 4], "number": rng.normal(y, 1.0, n)}
    model = AutoBayes("fast").fit(X, y)
    most = (700, 400, 300) if n < 100_000 else (2**17, 30_000, 2**14)
    grown, chosen, weighed = model.notes_
    assert str(most[0]) in grown and str(most[1]) in chosen and str(most[2]) in weighed
    parts: Any = model.statistics_.parts
    assert model.statistics_.total == n
    assert parts["interactions"].margin.tolist() == np.bincount(y).tolist()
    assert parts["interactions"].table(0).sum() == n
    n_trees = trees_of(model.held_["members"]["trees"]["trees"]).n_trees
    assert parts["trees"].counts.sum() == n * n_trees
    assert len(parts["row_sample"].weight) <= most[1]


def test_rows_too_many_for_matrices_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = mixed(60)
    fast = EFFORTS["fast"]._replace(products=100.0)
    monkeypatch.setitem(EFFORTS, "fast", fast)
    model = AutoBayes("fast").fit(X, y)
    assert list(model.weights_) == ["loglinear", "trees"]
    assert [note for note in model.notes_ if "lda" in note and "60 rows" in note]
    assert not [note for note in AutoBayes("fast", members=["trees"]).fit(X, y).notes_ if "lda" in note]


def test_a_small_table_needs_no_notes() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    assert AutoBayes("fast").fit({"number": rng.normal(y, 1.0)}, y).notes_ == []
