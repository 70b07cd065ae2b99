"""What a model refuses to do, it refuses whole: by name, and nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimators import CLASSES, small_labels, small_rows
from scipy import sparse
from sklearn.exceptions import NotFittedError

from bayeskit import (
    AutoBayes,
    Batches,
    BayesDecision,
    BayesNetClassifier,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    CountForest,
    LogLinearBayes,
    MultinomialNB,
    NaiveBayes,
)
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    Incompatible,
    InfiniteValue,
    NotCounted,
    OneShotSource,
    SettingError,
    UnseenClass,
    UsageError,
    WeightError,
)
from refusals import refuses

ROWS, LABELS = small_rows(), small_labels()
every = pytest.mark.parametrize("cls", CLASSES)


def refused(model: Any, verb: Callable[[], Any], error: type[Exception], *names: object) -> None:
    """The verb is refused by this error, which names these, and the model answers as before."""
    before, schema = model.predict_proba(ROWS), model.schema_
    with refuses(error, *names):
        verb()
    assert model.schema_ == schema
    np.testing.assert_array_equal(model.predict_proba(ROWS), before)


QUESTIONS = ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "log_evidence"]


@every
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_answers_before_fitting(cls: Any, question: str) -> None:
    with refuses(NotFittedError, cls):
        getattr(cls(), question)(ROWS)


@every
@pytest.mark.parametrize("verb", ["forget", "fade", "merge", "save", "classes_", "schema_", "statistics_"])
def test_nothing_to_change_before_fitting(cls: Any, verb: str, tmp_path: Any) -> None:
    arguments = {"forget": (ROWS, LABELS), "fade": (0.5,), "merge": (cls(),), "save": (tmp_path / "m",)}
    with pytest.raises(NotFittedError):
        getattr(cls(), verb)(*arguments[verb])


@every
def test_refresh_is_for_lazy_models(cls: Any) -> None:
    with refuses(UsageError, "lazy"):
        cls().fit(ROWS, LABELS).refresh()


@every
@pytest.mark.parametrize("factor", [0, 2, -1, np.nan, np.inf, "x", None, [0.5]], ids=str)
def test_fade_takes_a_factor_between_0_and_1(cls: Any, factor: Any) -> None:
    model = cls().fit(ROWS, LABELS)
    refused(model, lambda: model.fade(factor), SettingError, "fade", factor)


# Learned so that the classes are not alike: the first has nothing but zeros.
UNLIKE = np.where(LABELS[:, None] == 0, 0.0, ROWS)
NEVER_LEARNED: dict[str, tuple[Any, ...]] = {
    "rows learned once, forgotten twice": (np.vstack([UNLIKE, UNLIKE]), np.append(LABELS, LABELS)),
    "a class never seen": (UNLIKE[:1], np.array([7])),
    "more weight than was learned": (UNLIKE[:1], LABELS[:1], [1000.0]),
    "values never seen": (np.full((1, 3), 50.0), LABELS[:1], [100.0]),
}


@every
@pytest.mark.parametrize("what", list(NEVER_LEARNED))
def test_forgetting_what_was_never_learned(cls: Any, what: str) -> None:
    model = cls().fit(UNLIKE, LABELS)
    refused(model, lambda: model.forget(*NEVER_LEARNED[what]), NotCounted)


@pytest.mark.parametrize("cls", [BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB])
def test_forgetting_rows_of_another_class(cls: Any) -> None:
    model = cls().fit(UNLIKE, LABELS)
    refused(model, lambda: model.forget(UNLIKE, 1 - LABELS), NotCounted)


def test_forgetting_a_state_never_seen() -> None:
    model = NaiveBayes().fit([["a"], ["b"], ["a"]], [0, 1, 0])
    with pytest.raises(NotCounted):
        model.forget([["z"]], [0])
    assert model.schema_.attributes[0].states == ("a", "b")


@every
def test_forgetting_in_batches_is_all_or_nothing(cls: Any) -> None:
    model = cls().fit(ROWS, LABELS)
    batches = [(ROWS[:4], LABELS[:4]), (np.vstack([ROWS] * 3), np.tile(LABELS, 3))]
    refused(model, lambda: model.forget(iter(batches)), NotCounted)


@every
def test_learning_in_batches_is_all_or_nothing(cls: Any) -> None:
    model = cls().fit(ROWS, LABELS)
    batches = [(ROWS[:4], LABELS[:4]), (ROWS[:, :2], LABELS)]
    refused(model, lambda: model.partial_fit(iter(batches)), DataError, 2, 3)


@every
def test_fit_that_fails_leaves_the_model_before(cls: Any) -> None:
    model = cls().fit(ROWS, LABELS)
    refused(model, lambda: model.fit(np.where(ROWS > 1, np.inf, ROWS), LABELS), DataError)


@every
def test_first_partial_fit_that_fails_leaves_nothing(cls: Any) -> None:
    model = cls()
    with pytest.raises(DataError):
        model.partial_fit(ROWS, LABELS[:5])
    with pytest.raises(NotFittedError):
        model.predict(ROWS)
    expected = cls().fit(ROWS, LABELS).predict_proba(ROWS)
    np.testing.assert_array_equal(model.partial_fit(ROWS, LABELS).predict_proba(ROWS), expected)


@every
def test_forget_everything_then_learn_again(cls: Any) -> None:
    model = cls().fit(ROWS, LABELS).forget(ROWS, LABELS)
    with refuses(UsageError, "forgotten"):
        model.predict_proba(ROWS)
    again = model.partial_fit(ROWS, LABELS).predict_proba(ROWS)
    np.testing.assert_allclose(again, cls().fit(ROWS, LABELS).predict_proba(ROWS), rtol=0, atol=1e-12)


@every
def test_merge_with_another_class(cls: Any) -> None:
    model, other = cls().fit(ROWS, LABELS), next(c for c in CLASSES if c is not cls)().fit(ROWS, LABELS)
    refused(model, lambda: model.merge(other), Incompatible, type(other))
    refused(model, lambda: model.merge("a model"), Incompatible, cls, str)
    refused(model, lambda: model.merge(cls()), NotFittedError)


@every
def test_merge_with_other_parameters(cls: Any) -> None:
    model, other = cls().fit(ROWS, LABELS), cls(class_weight={0: 2.0}).fit(ROWS, LABELS)
    refused(model, lambda: model.merge(other), Incompatible, "class_weight")


@every
def test_merge_with_other_columns(cls: Any) -> None:
    model = cls().fit(ROWS, LABELS)
    refused(model, lambda: model.merge(cls().fit(ROWS[:, :2], LABELS)), Incompatible, "x0", "x1", "x2")
    pd = pytest.importorskip("pandas")
    named = cls().fit(pd.DataFrame(ROWS, columns=list("abc")), LABELS)
    other = cls().fit(pd.DataFrame(ROWS, columns=list("abd")), LABELS)
    refused(named, lambda: named.merge(other), Incompatible, "c", "d")


def test_merge_of_a_number_with_a_category() -> None:
    model, other = NaiveBayes().fit(ROWS, LABELS), NaiveBayes().fit(ROWS.astype(str), LABELS)
    refused(model, lambda: model.merge(other), Incompatible)


@every
def test_the_sum_leaves_both_as_they_were(cls: Any) -> None:
    # What is held is never that of other rows: both take over the splits or cut points of one model.
    taken = {}
    if cls is CountForest:
        taken = {"trees": CountForest(n_trees=9).fit(ROWS, LABELS).trees_}
    elif cls is LogLinearBayes:
        taken = {"interactions": cls().fit(ROWS, LABELS).held_["interactions"]}
    elif cls is AutoBayes:
        taken = {"choices": cls().fit(ROWS, LABELS).held_}
    a, b = cls(**taken).fit(ROWS[:6], LABELS[:6]), cls(**taken).fit(ROWS[6:], LABELS[6:])
    before = a.predict_proba(ROWS), b.predict_proba(ROWS)
    both = (a + b).predict_proba(ROWS)
    whole = cls(**taken).fit(ROWS, LABELS)
    if whole.held_.get("structure") != a.held_.get("structure"):  # more rows may speak for more arcs
        whole = cls().fit(ROWS[:6], LABELS[:6]).partial_fit(ROWS[6:], LABELS[6:])
    np.testing.assert_allclose(both, whole.predict_proba(ROWS), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(a.predict_proba(ROWS), before[0])
    np.testing.assert_array_equal(b.predict_proba(ROWS), before[1])


@every
def test_announced_classes(cls: Any) -> None:
    model = cls().partial_fit(ROWS[:4], LABELS[:4], classes=[0, 1, 5])
    assert model.classes_.tolist() == [0, 1, 5]
    refused(model, lambda: model.partial_fit(ROWS, np.full(12, 9)), UnseenClass, 9)
    refused(
        model,
        lambda: model.partial_fit(ROWS, LABELS, classes=[0, 1]),
        UnseenClass,
        "classes=[0, 1]",
        "[0, 1, 5]",
    )
    with refuses(SettingError, "classes"):
        cls().partial_fit(ROWS, LABELS, classes=[])
    with pytest.raises(UnseenClass):
        cls().partial_fit(ROWS, LABELS, classes=[0])


@every
def test_lazy_models_leave_counting_to_their_source(cls: Any) -> None:
    model = cls().lazy(ROWS, LABELS)
    for verb in (
        lambda: model.partial_fit(ROWS, LABELS),
        lambda: model.forget(ROWS, LABELS),
        lambda: model.merge(cls().fit(ROWS, LABELS)),
        lambda: model.fade(0.5),
    ):
        refused(model, verb, UsageError, "refresh")
    with refuses(OneShotSource, "list_iterator", "Batches"):
        cls().lazy(iter([(ROWS, LABELS)]), LABELS)
    with refuses(SettingError, "refresh", "sometimes"):
        cls().lazy(ROWS, LABELS, refresh="sometimes")


def test_lazy_over_a_source_without_rows() -> None:
    with refuses(DataError, "source"):
        MultinomialNB().lazy(Batches(lambda: iter(())), None).predict(ROWS)


# -- score ---------------------------------------------------------------------------------------

SCORED = NaiveBayes().fit([["u"], ["v"]], ["a", "b"])
ASKED = [["u"], ["u"], ["v"], ["v"]]


@pytest.mark.parametrize(
    "model", [SCORED, BayesDecision(SCORED, prefit=True).fit()], ids=["model", "decision"]
)
class TestScore:
    @pytest.mark.parametrize(
        "weights", [None, [1, 1, 1, 5], [1e308] * 4, [5e-324] * 4, pd.Series([1, 2, 3, 4]), 2.0]
    )
    def test_of_rows_and_weights(self, model: Any, weights: Any) -> None:
        """Weights are compared with each other, however large; a class that was never learned is a wrong answer."""
        heavy = (
            np.ones(4) if weights is None or np.ndim(weights) == 0 else np.asarray(weights) / np.max(weights)
        )
        right = np.array([True, False, True, False])
        assert model.score(ASKED, ["a", "b", "b", "c"], weights) == pytest.approx(
            np.average(right, weights=heavy)
        )

    @pytest.mark.parametrize(
        ("y", "error", "names"),
        [
            (["a", "b"], DataError, (4, 2)),
            (["a", "b", None, "a"], DataError, (2, "missing")),
            (["a", "b", np.nan, "a"], DataError, (2, "missing")),
            (None, DataError, ("None",)),
            ("y", DataTypeError, ("str",)),
            ([True, False, True, False], UnseenClass, (True, "a, b")),
            (np.arange(4).astype("datetime64[D]"), UnseenClass, ("a, b",)),
            (np.eye(4), DataError, ((4, 4),)),
            (np.ma.array([1, 2, 1, 2], mask=[1, 0, 0, 0]), DataError, (0, "missing")),
        ],
        ids=str,
    )
    def test_refuses_labels(self, model: Any, y: Any, error: type[Exception], names: tuple[Any, ...]) -> None:
        with refuses(error, *names):
            model.score(ASKED, y)

    @pytest.mark.parametrize(
        "weights",
        [
            [1, 1],
            [1, 1, 1, -1],
            [1, 1, 1, np.nan],
            [0] * 4,
            ["a"] * 4,
            np.ones((4, 1)),
            np.ones(4).astype("M8[D]"),
        ],
        ids=str,
    )
    def test_refuses_weights(self, model: Any, weights: Any) -> None:
        with pytest.raises(WeightError):
            model.score(ASKED, ["a", "b", "b", "a"], weights)


@pytest.mark.parametrize("cls", [NaiveBayes, CountForest, LogLinearBayes, BayesNetClassifier])
def test_infinity_is_not_left_out_of_what_was_learned(cls: Any) -> None:
    """Models that cut numbers into intervals would find one for it."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = cls().fit(X, np.arange(40) % 2)
    X[3, 1] = -np.inf
    with refuses(InfiniteValue, "x1", 3, "-inf"):
        model.leave_one_out(X, np.arange(40) % 2)


def test_a_masked_label_is_missing_and_a_masked_weight_too() -> None:
    """What is behind a mask is not to be learned."""
    mask = [False, True, False, False]
    with refuses(DataError, "NaN"):
        NaiveBayes().fit(ASKED, np.ma.array([1, 2, 1, 2], mask=mask))
    with refuses(WeightError, 1, "nan"):
        NaiveBayes().fit(ASKED, [1, 2, 1, 2], sample_weight=np.ma.array([1, 2, 1, 2], mask=mask))
    assert NaiveBayes().fit(ASKED, np.ma.array([1, 2, 1, 2])).classes_.tolist() == [1, 2]


def test_dates_are_no_weights() -> None:
    with pytest.raises(WeightError):
        NaiveBayes().fit(ASKED, list("abab"), sample_weight=np.arange(4).astype("timedelta64[s]"))


def test_a_whole_number_that_python_does_not_show_is_no_label() -> None:
    with refuses(ColumnError, "x0", 4_000):
        NaiveBayes(categorical_features="all").fit(np.array([[1], [10**5000]], dtype=object), ["a", "b"])
    with refuses(ColumnError, "y", 4_000):
        NaiveBayes().fit([["u"], ["v"]], [10**5000, 1])


def test_a_dictionary_of_keys_is_no_row_of_named_columns() -> None:
    with refuses(ColumnError, "sparse"):
        SCORED.explain(sparse.dok_matrix(np.ones((1, 1))))
