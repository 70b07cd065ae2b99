"""bayeskit.compare: the same figures as the command's, estimators of one's own in the same folds, refusals."""

from __future__ import annotations

import json
import pickle
import warnings
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
        assert in_memory["data"] == {"path": None, "rows": 90, "unlabelled": 0, "sha256": None}


def test_classes_beside_an_array_and_a_second_table() -> None:
    rows, more = frame(), frame(60, 1)
    X, y = rows[["weight", "length"]].to_numpy(), rows["class"]
    found = compare(X, y=y, models="nb", baselines=False, folds=3)
    assert found.target == "y" and [column.name for column in found.columns] == ["x0", "x1"]
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
    assert alone.pick == "mine" and "mine is the model to take" in repr(alone)
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
    refused(SettingError, "mine", "fitted already", "clone", models={"mine": fitted})
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
