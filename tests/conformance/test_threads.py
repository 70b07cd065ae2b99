"""Many threads, copies and the tools of scikit-learn: a model is an ordinary value."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from estimators import CLASSES, VARIANTS, name_of, small_labels, small_rows
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from bayeskit import Batches, ComplementNB, MultinomialNB, NaiveBayes

every = pytest.mark.parametrize("estimator", VARIANTS, ids=name_of)
ROWS, LABELS = small_rows(60), small_labels(60, 3)


def at_once(task: Any, n: int = 16) -> list[Any]:
    """Run a task on n threads that all begin at the same moment."""
    barrier, answers = threading.Barrier(n), [None] * n

    def run(i: int) -> None:
        barrier.wait()
        try:
            answers[i] = task()
        except BaseException as error:  # the test must see what went wrong in a thread
            answers[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@every
def test_sixteen_threads_ask_a_model_just_updated(estimator: Any) -> None:
    for update in ("fit", "partial_fit", "forget"):
        model = clone(estimator).fit(ROWS, LABELS).partial_fit(ROWS, LABELS)
        if update != "fit":
            getattr(model, update)(ROWS[:30], LABELS[:30])
        answers = at_once(lambda model=model: model.predict_proba(ROWS))
        expected = model.predict_proba(ROWS)
        for answer in answers:
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("cls", CLASSES)
def test_sixteen_threads_ask_a_lazy_model(cls: Any) -> None:
    model = cls().lazy(Batches(lambda: [(ROWS[:30], LABELS[:30]), (ROWS[30:], LABELS[30:])]), None)
    answers = at_once(lambda: model.predict_proba(ROWS))
    expected = cls().fit(ROWS, LABELS).predict_proba(ROWS)
    for answer in answers:
        np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-12)
    assert model._lazy.passes == 1


def test_models_fitted_on_many_threads_are_alike() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150_000, 2)), rng.integers(0, 2, 150_000)
    answers = at_once(lambda: NaiveBayes(n_jobs=2).fit(X, y).predict_proba(X[:50]), 6)
    expected = NaiveBayes().fit(X, y).predict_proba(X[:50])
    for answer in answers:
        np.testing.assert_array_equal(answer, expected)


@every
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))],
    ids=["deepcopy", "copy", "pickle"],
)
def test_copies_answer_alike_and_go_their_own_way(estimator: Any, copied: Any) -> None:
    model = clone(estimator).fit(ROWS, LABELS)
    expected = model.predict_proba(ROWS)
    other = copied(model)
    np.testing.assert_array_equal(other.predict_proba(ROWS), expected)
    assert other.get_params().keys() == model.get_params().keys()
    if copied is not copy.copy:  # a shallow copy shares what was learned, as everywhere in Python
        other.partial_fit(ROWS[::2], LABELS[::2])
        np.testing.assert_array_equal(model.predict_proba(ROWS), expected)


@pytest.mark.parametrize("cls", CLASSES)
def test_lazy_models_can_be_copied_and_pickled(cls: Any) -> None:
    model = cls().lazy(ROWS, LABELS)
    expected = model.predict_proba(ROWS)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(ROWS), expected)


@every
def test_clone_takes_the_parameters_and_nothing_learned(estimator: Any) -> None:
    model = clone(estimator).set_params(class_weight={0: 2.0}).fit(ROWS, LABELS)
    other = clone(model)
    assert not other.__sklearn_is_fitted__()
    assert other.class_weight == {0: 2.0}
    np.testing.assert_array_equal(other.fit(ROWS, LABELS).predict_proba(ROWS), model.predict_proba(ROWS))


@pytest.mark.parametrize("cls", CLASSES)
def test_pipeline_and_cross_validation(cls: Any) -> None:
    pipeline = make_pipeline(MaxAbsScaler(), cls()).fit(ROWS, LABELS)
    assert pipeline.predict(ROWS).shape == (60,)
    assert np.isfinite(cross_val_score(cls(), ROWS, LABELS, cv=3)).all()
    by_row = cross_val_predict(cls(), ROWS, LABELS, cv=3, method="predict_proba")
    np.testing.assert_allclose(by_row.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("cls", [MultinomialNB, ComplementNB])
def test_grid_search_also_over_class_weight(cls: Any) -> None:
    grid = {"alpha": [0.1, 1.0], "class_weight": [None, "balanced", {0: 3.0}]}
    search = GridSearchCV(cls(), grid, cv=3, error_score="raise").fit(ROWS, LABELS)
    assert len(search.cv_results_["params"]) == 6
    assert set(search.best_params_) == {"alpha", "class_weight"}
    best = cls(**search.best_params_).fit(ROWS, LABELS)
    np.testing.assert_array_equal(search.predict_proba(ROWS), best.predict_proba(ROWS))


def test_grid_search_over_a_step_of_a_pipeline() -> None:
    grid = {"multinomialnb__class_weight": [None, {0: 3.0}], "multinomialnb__alpha": [1.0]}
    search = GridSearchCV(make_pipeline(MaxAbsScaler(), MultinomialNB()), grid, cv=3, error_score="raise")
    assert len(search.fit(ROWS, LABELS).cv_results_["params"]) == 2


def test_class_weight_set_and_taken_back() -> None:
    model = MultinomialNB().set_params(class_weight="balanced")
    assert model.get_params()["class_weight"] == "balanced"
    assert clone(model).class_weight == "balanced"
    assert clone(model.set_params(class_weight=None)).class_weight is None


def _score(model: Any, X: Any) -> Any:
    return model.partial_fit(X, np.arange(len(X)) % 3).predict_proba(X)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_joblib_processes(n_jobs: int | None) -> None:
    models = [cls(n_jobs=n_jobs).fit(ROWS, LABELS) for cls in CLASSES]
    answers = Parallel(n_jobs=2)(delayed(_score)(model, ROWS) for model in models)
    for model, answer in zip(models, answers, strict=True):
        np.testing.assert_array_equal(answer, _score(model, ROWS))
