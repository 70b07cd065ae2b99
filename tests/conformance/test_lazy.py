"""Lazy use: counts are taken when a question needs them, only those it needs, from one state of the source."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from estimators import CLASSES, same_labels, small_labels, small_rows

from bayeskit import Batches, CategoricalNB, MultinomialNB, NaiveBayes
from bayeskit._fitting import lazy_state as lazy_module

X = [["青绿", 0.7, 3], ["乌黑", 0.8, None], ["青绿", 0.2, 1], ["浅白", 0.3, 2], ["乌黑", 0.6, 3]]
Y = ["好", "好", "坏", "坏", "好"]


class Counted:
    """A source that tells how often it was opened."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches, self.opened = batches, 0

    def __call__(self) -> Any:
        self.opened += 1
        return list(self.batches)


def lazy(batches: list[Any] | None = None, **more: Any) -> tuple[Any, Counted]:
    source = Counted([(X[:3], Y[:3]), (X[3:], Y[3:])] if batches is None else batches)
    return NaiveBayes(categorical_features=[0]).lazy(Batches(source), None, **more), source


def test_nothing_is_read_until_a_question_comes() -> None:
    model, source = lazy()
    assert source.opened == 0
    assert model._lazy.passes == 0
    model.predict(X)
    assert model._lazy.passes == 1


def test_a_second_question_is_answered_from_memory() -> None:
    model, source = lazy()
    model.predict(X)
    opened = source.opened
    model.predict_proba(X[:2])
    assert (model._lazy.passes, source.opened) == (1, opened)


def test_only_the_attributes_that_a_row_has_are_counted() -> None:
    model, _ = lazy()
    model.predict([["青绿", None, None]])
    (look,) = model._lazy._counts.values()
    assert [v.name for v in look.statistics.schema.attributes] == ["x0"]
    model.predict([["青绿", 0.5, None]])
    assert model._lazy.passes == 2
    assert {v.name for held in model._lazy._counts.values() for v in held.statistics.schema.attributes} == {
        "x0",
        "x1",
    }


def test_a_row_without_any_value_needs_only_the_classes() -> None:
    model, _ = lazy()
    np.testing.assert_allclose(model.predict_proba([[None, None, None]]), [[3 / 7, 4 / 7]])
    (look,) = model._lazy._counts.values()
    assert look.statistics.schema.attributes == ()
    assert model.classes_.tolist() == ["坏", "好"]


def test_answers_asked_attribute_by_attribute_are_those_of_a_fit() -> None:
    model, _ = lazy()
    fresh = NaiveBayes(categorical_features=[0]).fit(X, Y)
    for question in ([[None, 0.5, None]], [["乌黑", None, None]], [[None, None, 2]], X):
        np.testing.assert_allclose(
            model.predict_proba(question), fresh.predict_proba(question), rtol=0, atol=1e-12
        )


def test_a_small_memory_forgets_and_counts_again() -> None:
    model, _ = lazy(max_memory=1)
    fresh = NaiveBayes(categorical_features=[0]).fit(X, Y)
    for question in ([["乌黑", None, None]], [[None, 0.5, None]], [["乌黑", 0.5, None]], X):
        np.testing.assert_allclose(
            model.predict_proba(question), fresh.predict_proba(question), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("cls", CLASSES)
def test_equal_to_a_fit_for_every_estimator(cls: Any) -> None:
    rows, labels = small_rows(), small_labels()
    fresh = cls().fit(rows, labels)
    model = cls().lazy(rows, labels)
    np.testing.assert_allclose(model.predict_proba(rows), fresh.predict_proba(rows), rtol=0, atol=1e-12)
    joint = model.predict_joint_log_proba(rows)
    np.testing.assert_allclose(joint, fresh.predict_joint_log_proba(rows), rtol=0, atol=1e-9)
    same_labels(model, fresh, rows)
    assert model.classes_.dtype == fresh.classes_.dtype
    assert model.schema_ == fresh.schema_


def test_codes_in_batches_are_read_as_codes_in_memory() -> None:
    rows, labels = small_rows() + 0.7, small_labels()
    fresh = CategoricalNB().fit(rows, labels)
    for model in (
        CategoricalNB().fit(iter([(rows[:5], labels[:5]), (rows[5:], labels[5:])])),
        CategoricalNB().lazy(Batches(lambda: [(rows, labels)]), None),
    ):
        np.testing.assert_allclose(model.predict_proba(rows), fresh.predict_proba(rows), rtol=0, atol=1e-12)


def test_manual_refresh_sees_a_changed_source_only_when_told() -> None:
    batches = [(X[:3], Y[:3])]
    model, source = lazy(batches)
    before = model.predict_proba(X)
    source.batches.append((X[3:], Y[3:]))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.refresh() is model
    expected = NaiveBayes(categorical_features=[0]).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-12)


def test_always_counts_before_every_question() -> None:
    batches = [(X[:3], Y[:3])]
    model, source = lazy(batches, refresh="always")
    model.predict(X)
    source.batches.append((X[3:], Y[3:]))
    expected = NaiveBayes(categorical_features=[0]).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-12)
    assert model._lazy.passes == 2


def test_seconds_count_again_when_they_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(lazy_module, "time", clock)
    model, _ = lazy(refresh=0.2)
    model.predict(X)
    model.predict(X)
    assert model._lazy.passes == 1
    clock.now += 0.25
    model.predict(X)
    assert model._lazy.passes == 2


def test_a_source_that_grew_between_two_questions_is_counted_anew_as_a_whole() -> None:
    batches = [(X[:3], Y[:3])]
    model, source = lazy(batches)
    model.predict([["青绿", None, None]])
    source.batches.append((X[3:], Y[3:]))
    # The second attribute was not counted yet: its counts come from the larger source, so all must.
    expected = NaiveBayes(categorical_features=[0]).fit(X, Y).predict_proba([["青绿", 0.5, None]])
    np.testing.assert_allclose(model.predict_proba([["青绿", 0.5, None]]), expected, rtol=0, atol=1e-12)


def test_new_classes_and_states_appear_after_refresh() -> None:
    batches: list[Any] = [(X[:3], Y[:3])]
    model, source = lazy(batches, refresh="always")
    assert model.classes_.tolist() == ["坏", "好"]
    source.batches.append(([["彩色", 0.1, 1]], ["新"]))
    assert set(model.classes_.tolist()) == {"坏", "好", "新"}
    assert "彩色" in model.schema_["x0"].states


def test_a_file_changed_on_disk(tmp_path: Any) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n1.0,u,p\n2.0,v,q\n3.0,u,p\n", encoding="utf-8")
    model = NaiveBayes().lazy(path, "y", refresh=3600)
    rows = {"a": [1.5, 2.5], "b": ["u", "w"]}
    model.predict(rows)
    path.write_text("a,b,y\n1.0,u,p\n2.0,w,q\n9.0,w,r\n4.0,u,p\n", encoding="utf-8")
    fresh = NaiveBayes().fit(path, target="y")
    np.testing.assert_allclose(model.predict_proba(rows), fresh.predict_proba(rows), rtol=0, atol=1e-12)


def test_fit_after_lazy_is_an_ordinary_model() -> None:
    model = MultinomialNB().lazy(small_rows(), small_labels())
    model.predict(small_rows())
    model.fit(small_rows(), small_labels()).partial_fit(small_rows(), small_labels())
    assert model.statistics_.total == 24
    model.lazy(small_rows(), small_labels())
    assert model.statistics_.total == 12
