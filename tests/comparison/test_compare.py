"""bayeskit.compare: the same figures as the command's, estimators of one's own in the same folds, refusals."""

from __future__ import annotations

import json
import os
import pickle
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bayeskit
from bayeskit import TAN, NaiveBayes, compare
from bayeskit._comparison import candidates, resources
from bayeskit._comparison.comparison_run import ComparisonRun
from bayeskit._comparison.report_data import profiles
from bayeskit._numba import DeferredKernel, compile_seconds
from bayeskit.comparison import Comparison
from bayeskit.errors import (
    BayeskitError,
    ColumnError,
    DataError,
    DataTypeError,
    SettingError,
    SourceNote,
    SuspectResult,
    UsageError,
)
from cli_run import done
from odd_tables import TABLES
from refusals import unnamed


def frame(n: int = 90, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "row": np.arange(1, n + 1),
            "colour": np.array(["red", "green", "blue"])[(truth + rng.integers(0, 2, n)) % 3],
            "weight": (truth + rng.normal(0, 1.2, n)).round(3),
            "length": rng.normal(0, 1, n).round(3),
            "class": np.array(["bad", "good"])[truth],
        }
    )


class Guess(ClassifierMixin, BaseEstimator):
    """A classifier of a user's own: the share of each class among rows of the same colour."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> Guess:
        self.columns_ = list(X.columns)
        self.classes_ = np.unique(y)
        counts = pd.crosstab(X["colour"].to_numpy(), y).reindex(columns=self.classes_, fill_value=0)
        self.shares_ = (counts + self.alpha).div((counts + self.alpha).sum(axis=1), axis=0)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.shares_.reindex(X["colour"].to_numpy()).to_numpy()


def plain(found: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the clock, nor on where the rows came from."""
    models = [{k: v for k, v in model.items() if k != "cpu_seconds"} for model in found["models"]]
    gone = ("data", "verdict", "next", "written")
    return {k: v for k, v in found.items() if k not in gone} | {"models": models}


def told(found: Comparison) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(found.to_dict()))
    return made


def test_the_command_says_the_same(tmp_path: Path) -> None:
    rows, path = frame(), tmp_path / "melons.csv"
    rows.to_csv(path, index=False)
    ask = ("--models", "nb,tan", "--folds", "3", "--random-state", "2", "--json")
    said = json.loads(done("compare", path, "--target", "class", *ask))
    asked: dict[str, Any] = {"models": ["nb", "tan"], "folds": 3, "random_state": 2}
    by_path = told(compare(path, "class", **asked))
    assert plain(by_path) == plain(said) and by_path["data"] == said["data"]
    for given in (rows, pl.from_pandas(rows), {name: rows[name].tolist() for name in rows}):
        in_memory = told(compare(given, "class", **asked))
        assert plain(in_memory) == plain(said)
        assert in_memory["data"] == {"path": None, "rows": 90, "unlabelled": 0, "sha256": None, "marks": {}}


def test_classes_beside_an_array_and_a_second_table() -> None:
    rows, more = frame(), frame(60, 1)
    X, y = rows[["weight", "length"]].to_numpy(), rows["class"]
    found = compare(X, y=y, models="nb", baselines=False, folds=3)
    assert found.target == "class" and [column.name for column in found.columns] == ["x0", "x1"]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    by_hand = cross_val_predict(NaiveBayes(), X, y, cv=folds, method="predict_proba")
    assert found.held.posterior == pytest.approx(by_hand, abs=1e-12)
    tested = compare(X, y=y, test=(more[["weight", "length"]].to_numpy(), more["class"]), models="nb")
    expected = NaiveBayes().fit(X, y).predict_proba(more[["weight", "length"]].to_numpy())
    assert tested.folds == 1 and tested.held.posterior == pytest.approx(expected, abs=1e-12)
    one_by_name = compare(rows, "class", test=more, models="nb", baselines=False)
    assert one_by_name.test is not None and one_by_name.test.rows == 60


def test_columns_may_have_numbers_for_names() -> None:
    rows = frame()
    numbered = pd.DataFrame(rows[["weight", "length"]].to_numpy())
    own = make_pipeline(StandardScaler(), LogisticRegression())
    found = compare(numbered, y=rows["class"], models=["nb", own], baselines=False, folds=2)
    assert [column.name for column in found.columns] == ["0", "1"] and not found.failed
    assert len(found.standings) == 2 and found.fitted("Pipeline").n_features_in_ == 2


def test_rows_without_a_class_are_left_out_and_declared_states_count() -> None:
    rows = frame()
    rows["colour"] = rows["colour"].astype(pd.CategoricalDtype(["red", "green", "blue", "mauve"]))
    rows.loc[[3, 50], "class"] = None
    found = compare(rows, "class", models="nb", exclude="row", baselines=False, folds=3)
    assert found.table.unlabelled == 2 and {4, 51}.isdisjoint(found.held.rows.tolist())
    known = rows.dropna(subset=["class"])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    X = known[["colour", "weight", "length"]]
    by_hand = cross_val_predict(NaiveBayes(), X, known["class"], cv=folds, method="predict_proba")
    assert found.held.posterior == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("from_file", [False, True])
def test_an_estimator_of_ones_own_stands_in_the_same_folds(from_file: bool, tmp_path: Path) -> None:
    rows, path = frame(), tmp_path / "melons.csv"
    rows.to_csv(path, index=False)
    numbers = make_pipeline(StandardScaler(), LogisticRegression())
    found = compare(path if from_file else rows, "class", models=["nb", Guess(), "tan"], folds=3)
    assert {s.key for s in found.standings if s.ours} == {"nb", "Guess", "tan"}
    assert [s.key for s in found.standings if s.own] == ["Guess"]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    truth, wrong = rows["class"].to_numpy(), []
    for train, test in folds.split(rows, truth):
        said = Guess().fit(rows.iloc[train], truth[train]).predict_proba(rows.iloc[test])
        wrong += (np.array(["bad", "good"])[said.argmax(axis=1)] != truth[test]).tolist()
    assert found.of("Guess").error.value == pytest.approx(np.mean(wrong))
    assert found.fitted("Guess").columns_ == ["colour", "weight", "length"]  # a row's number is left out
    assert isinstance(found.fitted("tan"), TAN)
    alone = compare(rows, "class", models={"mine": numbers}, exclude=["colour"], baselines=False)
    assert alone.pick == "mine" and "mine" in repr(alone)
    assert "<h2>Three rows explained" not in alone.page() and "mine" in alone.page()


def test_the_result_is_a_table() -> None:
    found = compare(frame(), "class", models="nb,tan", baselines=False, folds=3)
    table = found.to_frame()
    assert list(table.index) == [s.key for s in found.standings] and table.index[0] == found.best.key
    assert table.loc["nb", "error"] == found.of("nb").error.value and "cost" not in table
    costly = compare(
        frame(),
        "class",
        models="nb",
        baselines=False,
        loss={"buy": {"good": 0, "bad": 5}, "leave": {"good": 1, "bad": 0}},
    )
    assert costly.to_frame().loc["nb", "cost"] == costly.best.decisive.value
    assert found.best.name in repr(found) and found.best.name in found._repr_html_()
    page = found.page()
    assert (
        page.startswith("<!doctype html>") and "--" not in page.partition("</style>")[2].partition("<svg")[0]
    )
    assert isinstance(found.fitted(), (NaiveBayes, TAN)) and len(found.fitted().classes_) == 2


def test_a_copy_in_another_process_is_the_values_alone() -> None:
    found = compare(frame(), "class", models="nb", baselines=False, folds=2)
    copy = pickle.loads(pickle.dumps(found))
    assert repr(copy) == repr(found) and copy.to_dict() == found.to_dict()
    for method in (copy.fitted, copy.page):
        with pytest.raises(UsageError, match="compare"):
            method()


def test_what_fails_is_told_and_the_rest_goes_on() -> None:
    class Broken(Guess):
        def fit(self, X: Any, y: Any) -> Guess:
            raise KeyError("thing")

    class Improper(Guess):
        def predict_proba(self, X: Any) -> Any:
            return 2.0 * super().predict_proba(X)

    class Narrow(Guess):
        def predict_proba(self, X: Any) -> Any:
            return super().predict_proba(X)[:, :1]

    class Nameless(Guess):
        def fit(self, X: Any, y: Any) -> Guess:
            super().fit(X, y)
            del self.classes_
            return self

    odd = [Broken(), Improper(), Narrow(), Nameless()]
    found = compare(frame(), "class", models=["nb", Guess(), *odd], baselines=False, folds=2)
    why = dict(found.failed)
    assert {s.key for s in found.standings} == {"nb", "Guess"} and set(why) == {type(o).__name__ for o in odd}
    assert not unnamed(why["Broken"], "KeyError", "thing")
    assert "sum to 1" in why["Improper"] and "(45, 1)" in why["Narrow"] and "classes_" in why["Nameless"]
    assert found.of("Guess").size is None or found.of("Guess").size > 0
    with pytest.raises(SettingError, match="sum to 1"):
        compare(frame(), "class", models=Improper(), baselines=False)


def refused(kind: type[BayeskitError], *names: object, **asked: Any) -> None:
    given = {"data": frame(), "target": "class", **asked}
    with pytest.raises(kind) as error:
        compare(given.pop("data"), given.pop("target"), **given)
    assert not (lacking := unnamed(str(error.value), *names)), (lacking, str(error.value))


def test_refusals_name_the_way_out(tmp_path: Path) -> None:
    rows = frame()
    refused(SettingError, "tam", "tan", "models", models="nb,tam")
    refused(SettingError, "models", "nb", models=[])
    refused(ColumnError, "klass", "class", target="klass")
    refused(ColumnError, "size", "the table", exclude=["size"])
    refused(SettingError, "weight", "exclude", "keep", exclude=["weight"], keep=["weight"])
    refused(SettingError, "class", "exclude", exclude="class")
    refused(DataError, "class", "bad", "one value", "target", data=rows[rows["class"] == "bad"])
    refused(DataError, "weight", "target", data=frame(400), target="weight")
    fitted = LogisticRegression().fit(rows[["weight"]], rows["class"])
    refused(SettingError, "mine", "sklearn.base.clone(mine)", models={"mine": fitted})
    refused(SettingError, "NaiveBayes", "clone", models=NaiveBayes().fit(rows[["weight"]], rows["class"]))
    refused(SettingError, "SVC", "predict_proba", "CalibratedClassifierCV", models=[SVC()])
    refused(SettingError, "StandardScaler", "predict_proba", models=[StandardScaler()])
    refused(SettingError, "Guess()", models=Guess)
    refused(SettingError, "nb", models={"nb": Guess()})
    refused(SettingError, "Guess", "models={", models=[Guess(), Guess(2.0)])
    refused(SettingError, "folds", 1, 2, folds=1)
    refused(SettingError, "random_state", "'x'", random_state="x")
    refused(SettingError, "fr", "en", lang="fr")
    refused(DataTypeError, "y=", target=rows["class"].tolist())
    refused(DataTypeError, "y=", "target=", target=None)
    refused(DataTypeError, "y=", "target=", y=rows["class"])
    refused(DataTypeError, "toarray", data=_sparse(), target=None, y=[0, 1])
    refused(DataError, "class", "str", "int", data={"x": [1.0, 2.0, 3.0], "class": ["a", 1, "a"]})
    refused(DataError, "none.csv", data=tmp_path / "none.csv")
    other = frame(40, 1)
    refused(ColumnError, "colour", test=other.drop(columns="colour"))
    refused(DataError, "weight", "words", test=other.assign(weight="heavy"))
    found = compare(rows, "class", models="nb", baselines=False, folds=2)
    with pytest.raises(SettingError, match="nb"):
        found.of("mb")


def _sparse() -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(np.eye(2))


def test_what_is_suspect_is_warned_of() -> None:
    rows = frame().assign(weight=lambda f: f["weight"].map("{} kg".format))
    rows.loc[0, "class"] = "odd"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare(rows, "class", models="nb", baselines=False, folds=3, keep=["weight"])
    by_kind = {warning.category: str(warning.message) for warning in caught}
    assert not unnamed(by_kind[SourceNote], "weight", "kg") and "odd" in by_kind[SuspectResult]


def test_columns_of_dates_are_left_out_by_their_type() -> None:
    rows = frame().assign(day=pd.date_range("2024-01-01", periods=90))
    found = compare(rows, "class", models="nb", baselines=False, folds=2)
    assert {c.name: c.left_out for c in found.columns}["day"] == "date"


def test_the_function_is_public() -> None:
    assert "compare" in bayeskit.__all__ and bayeskit.compare is bayeskit.comparison.compare


def inbox(n: int = 80) -> pd.DataFrame:
    """Messages whose words tell of the class, and a column that tells little."""
    rng = np.random.default_rng(0)
    spam = rng.random(n) < 0.4
    bait, chat = ["win", "free", "prize", "call", "now"], ["see", "you", "at", "lunch", "home"]
    words = [
        " ".join(rng.choice(bait + chat if rng.random() < 0.2 else bait if s else chat, 6)) for s in spam
    ]
    return pd.DataFrame(
        {
            "message": [f"{text} {i}" for i, text in enumerate(words)],
            "hour": np.where(spam, 3, 6) + rng.integers(0, 12, n),
            "kind": np.where(spam, "spam", "ham"),
        }
    )


def test_words_are_compared_with_the_other_columns() -> None:
    table = inbox()
    with pytest.warns(SourceNote) as told:
        found = compare(table, "kind", models="text, nb", folds=3)
    assert any(not unnamed(str(each.message), "message", "TextBayes") for each in told)
    assert found.pick == "text" and found.best.error.value < 0.15
    assert [(c.name, c.family, c.left_out) for c in found.columns] == [
        ("message", "words", None),
        ("hour", "gaussian", None),
    ]
    model = found.fitted()
    assert type(model).__name__ == "TextBayes" and model.n_features_in_ == 2
    assert found.run.fitted("nb").n_features_in_ == 1  # type: ignore[union-attr]
    for lang in ("en", "zh"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SourceNote)
            assert "message" in compare(table, "kind", models="text", folds=3, lang=lang).page()


def test_texts_alone_can_be_compared() -> None:
    table = inbox()[["message", "kind"]]
    with pytest.warns(SourceNote):
        found = compare(table, "kind", folds=3)
    assert [standing.key for standing in found.standings] == ["text", "majority"]
    assert "TextBayes" in found.page() and str(found)
    own = make_pipeline(Words(), LogisticRegression())
    with pytest.warns(SourceNote):
        both = compare(table, "kind", models={"mine": own}, baselines=False, folds=3)
    assert both.best.error.value < 0.2
    with pytest.warns(SourceNote), pytest.raises(ColumnError):
        compare(table, "kind", models="nb", baselines=False)


class Words(BaseEstimator):
    """Counts of words in a column, for an estimator of one's own."""

    def fit(self, X: Any, y: Any = None) -> Words:
        self.known_ = sorted({word for text in X["message"] for word in text.split() if word.isalpha()})
        return self

    def transform(self, X: Any) -> Any:
        return np.array([[text.split().count(word) for word in self.known_] for text in X["message"]])


def test_large_tables_are_compared_on_a_sample_and_fitted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayeskit._comparison.run.MANY_ROWS", 200)
    monkeypatch.setattr("bayeskit._comparison.run.SAMPLE", 100)
    rows = frame(400)
    rows.loc[:2, "class"] = "odd"  # a class of three rows is in the sample, too
    asked: dict[str, Any] = {"models": "nb", "baselines": False, "folds": 3}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = compare(rows, "class", **asked)
        again = compare(rows, "class", **asked)
    notes = [str(each.message) for each in caught if each.category is SourceNote]
    assert found.sample is not None and 100 <= found.sample <= 104 and len(found.held.rows) == found.sample
    assert any(not unnamed(note, found.sample, 400, "full") for note in notes)
    assert found.held.rows.max() > 200 and (found.held.rows == again.held.rows).all()
    assert sum(found.class_counts) == found.table.rows == 400 and (found.held.truth == 1).any()
    assert found.fitted().statistics_.class_counts.sum() == 400
    whole = compare(rows, "class", full=True, **asked)
    assert whole.sample is None and len(whole.held.rows) == 400
    tested = compare(rows, "class", test=frame(300, 1), **asked)
    assert len(tested.held.rows) < 110 and tested.table.rows == 400
    assert found.to_dict()["sample"] == found.sample


def test_a_limit_draws_rows_at_random(tmp_path: Path) -> None:
    rows, path = frame(300), tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    asked: dict[str, Any] = {"models": "nb", "baselines": False, "folds": 3, "most_rows": 60}
    found, of_file = compare(rows, "class", **asked), compare(path, "class", **asked)
    assert found.table.rows == 60 and found.held.rows.max() > 200
    assert (found.held.rows == of_file.held.rows).all()
    assert found.held.posterior == pytest.approx(of_file.held.posterior, abs=1e-12)
    drawn = rows.iloc[found.held.rows - 1]
    assert (np.array(found.classes)[found.held.truth] == drawn["class"]).all()
    printed = json.loads(
        done(
            "compare", path, "--target", "class", "--models", "nb", "--folds", "3", "--limit", "60", "--json"
        )
    )
    assert printed["data"]["rows"] == 60 and "--limit" not in " ".join(printed["next"])
    refused(SettingError, "most_rows", 0, most_rows=0)
    refused(SettingError, "time_limit", 0, time_limit=0)


class Pressing(Guess):
    """Ctrl-C is pressed while it learns."""

    def fit(self, X: Any, y: Any) -> Guess:
        os.kill(os.getpid(), signal.SIGINT)
        return super().fit(X, y)


class Swallowing(Guess):
    def fit(self, X: Any, y: Any) -> Guess:
        with suppress(KeyboardInterrupt):
            Pressing().fit(X, y)
        return super().fit(X, y)


@pytest.fixture
def heeding_interrupts() -> Iterator[None]:
    """Handle Ctrl-C as Python does: whatever runs the tests in the background may have switched it off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("last", [Pressing(), Swallowing()])
def test_an_interrupt_leaves_what_is_finished(last: Guess, heeding_interrupts: None) -> None:
    before = signal.getsignal(signal.SIGINT)
    found = compare(frame(), "class", models=["nb", "tan", last], folds=2)
    assert found.stopped == "interrupt" and found.pick in ("nb", "tan")
    keys = {s.key for s in found.standings}
    assert {"nb", "tan", "majority"} <= keys and not {"logistic", "forest"} & keys
    assert {"logistic", "forest", "boosting"} <= {name for name, _ in found.failed}
    assert "Ctrl-C" in found.page() and found.to_dict()["stopped"] == "interrupt"
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        compare(frame(), "class", models=[Pressing()], folds=2)


def test_a_time_limit_leaves_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    class Slow(Guess):
        def fit(self, X: Any, y: Any) -> Guess:
            nonlocal now
            now += 70.0
            return super().fit(X, y)

    found = compare(frame(), "class", models={"a": Slow(), "b": Slow(), "c": Slow()}, folds=2, time_limit=150)
    assert found.stopped == "time" and {s.key for s in found.standings} == {"a", "majority"}
    assert {"b", "c", "logistic", "forest", "boosting"} == {name for name, _ in found.failed}
    # The first of our models is finished, however long it takes.
    assert compare(frame(), "class", models={"a": Slow()}, folds=2, time_limit=1).pick == "a"


def wide_frame(n_columns: int = 215, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    cells = {f"c{j}": rng.choice(["a", "b", "c"], n) for j in range(n_columns)}
    cells["c7"] = np.array(["a", "b"])[truth ^ (rng.random(n) < 0.1)]
    return pd.DataFrame({**cells, "class": np.array(["bad", "good"])[truth]})


def test_attributes_are_screened_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayeskit._comparison.resources.free_memory", lambda: 64e6)
    found = compare(wide_frame(), "class", models=None, baselines=False, folds=2, time_limit=1e-3)
    assert found.uncounted_pairs is not None and found.looked_at == 30
    said = found.to_dict()["not_looked_at"]
    assert [(each["columns"], each["looked_at"]) for each in said] == [(215, 30)]
    page = found.page()
    assert said[0]["why"] in unescape(page) and "30" in said[0]["why"] and "215" in said[0]["why"]
    run = found.run
    assert isinstance(run, ComparisonRun)
    model = run.fitted("tan")
    assert model.n_features_in_ == 30 and "c7" in model.feature_names_in_
    assert run.contenders["tan"].looked_at is not None and "a2de" in run.contenders
    monkeypatch.undo()
    # With memory enough, all are looked at.
    assert compare(wide_frame(), "class", models="nb", baselines=False, folds=2).looked_at is None


def test_attributes_are_chosen_by_the_rows_that_are_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among 215 columns of noise some tell the class of all rows, by chance: chosen by all rows, they would help."""
    monkeypatch.setattr("bayeskit._comparison.resources.free_memory", lambda: 64e6)
    table = wide_frame().drop(columns="c7")
    found = compare(table, "class", models="nb", baselines=False, folds=5, random_state=1)
    run = found.run
    assert isinstance(run, ComparisonRun)
    trial = run.try_one(run._ours("tan", screened=True))
    wrong = (trial.posterior.argmax(axis=1) != run.judged.truth).mean()
    assert all(model.n_features_in_ == 30 for model in trial.models) and wrong > 0.4


def test_the_chosen_model_is_asked_what_it_owes_to_a_column() -> None:
    """A column that repeats another tells as much by itself, and the model owes to it what it owes to the other."""
    rows = frame(400).drop(columns=["row", "length"])
    rng = np.random.default_rng(3)
    rows["noise"] = rng.choice(["u", "v"], len(rows))
    rows["twin"] = np.where(rng.random(len(rows)) < 0.95, rows["colour"], "red")
    found = compare(rows, "class", models="nb,tan", baselines=False, folds=4)
    run = found.run
    assert isinstance(run, ComparisonRun)
    made, relations = profiles(run, "nb", ["colour", "weight", "noise", "twin"])
    owed = {each.name: each.importance for each in made}
    assert owed["colour"].value > 5 * abs(owed["noise"].value) and owed["weight"].value > 0.01
    assert owed["colour"].deviation is not None
    assert {relations[0].first, relations[0].second} == {"colour", "twin"} and relations[0].share > 0.7
    colour = next(each for each in made if each.name == "colour")
    counts = pd.crosstab(rows["class"], rows["colour"], normalize="index")
    for j, label in enumerate(colour.labels):
        assert colour.shares[:, j] == pytest.approx(counts[label].to_numpy())
    weight = next(each for each in made if each.name == "weight")
    assert weight.middle == pytest.approx(rows["weight"].quantile([0.0, 0.5, 1.0]).to_numpy())
    assert weight.distinct == rows["weight"].nunique() and weight.missing == 0


def test_holes_words_and_constants_have_a_profile() -> None:
    rows = frame(60).assign(many=[f"w{i % 12}" for i in range(60)], length=np.nan)
    rows.loc[:9, "weight"] = None
    found = compare(rows, "class", models="nb", baselines=False, folds=2, keep=["length", "row"])
    for lang in ("en", "zh"):
        page = replace(found, lang=lang).page()
        assert "many" in page and "10 (16.7%)" in page
    own = compare(rows, "class", models={"mine": Guess()}, baselines=False, folds=2)
    assert "mine" in own.page()


# -- the estimate of the time ------------------------------------------------------------------------


def _work(train=4_000, words=6, numbers=6):
    return resources.Work(train, train // 4, 5, words, numbers, 2)


def _all_of_ours():
    return [
        candidates.ours(key)
        for key in ("nb", "kernel", "tan", "aode", "a2de", "kdb", "skdb", "weighted", "auto")
    ]


def test_compiling_is_estimated_for_what_is_not_on_disk(monkeypatch):
    monkeypatch.setattr(resources, "is_cached", lambda function: False)
    cold = sum(_work().estimates(_all_of_ours()), resources.Estimate(0.0, 0.0))
    monkeypatch.setattr(resources, "is_cached", lambda function: True)
    warm = sum(_work().estimates(_all_of_ours()), resources.Estimate(0.0, 0.0))
    assert 10 < cold.compiling < 40 and warm.compiling == 0.0
    assert cold.seconds > 2 * warm.seconds


def test_a_kernel_is_compiled_once(monkeypatch):
    monkeypatch.setattr(resources, "is_cached", lambda function: False)
    tan = candidates.ours("tan")
    first, second = _work().estimates([tan, tan])
    assert first.compiling > 1.0 and second.compiling == 0.0


def test_a_small_table_compiles_little(monkeypatch):
    monkeypatch.setattr(resources, "is_cached", lambda function: False)
    ours = [each for each in _all_of_ours() if each.key != "auto"]
    assert sum(each.compiling for each in _work(300, 3, 3).estimates(ours)) == 0.0


@pytest.mark.parametrize(("words", "numbers"), [(4, 0), (0, 4), (3, 3)])
def test_the_loops_of_a_model_are_those_that_it_runs(words, numbers, monkeypatch):
    """Every kernel that costs more than a moment to compile is known beforehand."""
    ran = set()
    monkeypatch.setattr(DeferredKernel, "_step_aside", lambda self: None)

    def first(self, arguments):
        ran.add(self)
        return self.made()(*arguments)

    monkeypatch.setattr(DeferredKernel, "_first", first)
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 120)
    X = {f"n{j}": rng.normal(size=120) for j in range(numbers)}
    X |= {f"w{j}": rng.choice(["u", "v", "w"], 120) for j in range(words)}
    known = {name for each in _all_of_ours() for name in _work(100, words, numbers)._loops(each.key)}
    known = {resources._function(name) for name in known}
    for each in _all_of_ours():
        if each.key != "kernel" or numbers:
            each.make().fit(X, y).predict_proba(X)
    missed = sum(map(compile_seconds, ran - known))
    assert missed < 0.3 * sum(map(compile_seconds, known))


def test_a_saved_comparison_remembers_what_tells_the_class(tmp_path):
    data = TABLES["identifier, leak and six marks"].write(tmp_path / "t.csv")
    with pytest.warns(SourceNote):
        found = compare(data, "y", models="nb", baselines=False, folds=2)
    reading = found.fitted().reading_
    assert set(reading.telling) == {"leak"} and set(reading.left_out) == {"client id"}
