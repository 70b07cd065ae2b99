"""The models that the accuracy benchmark compares: the input of each, and how it predicts.

Our models get the frame as it is. scikit-learn's trees get raw columns, with their own treatment of missing values:
categories are one-hot columns for the forest, and native categories for boosting. Models that count categories
(CategoricalNB, and scikit-bayes, which accepts no missing values) get the cut points of Fayyad and Irani from the
training rows, categories as codes whose states are those of the whole set, and missing as an additional state.
GaussianNB runs if every attribute is numeric and no cell is missing. LightGBM, CatBoost and interpret's EBM are
included if they are installed, with native categories. All models have their defaults, except for seeds and threads.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

import bayeskit

SEED = 20240601


class NotFit(Exception):
    """The model cannot be used on this set, because of its columns or its missing values."""


@dataclass(frozen=True)
class Split:
    """Training rows and test rows; classes are codes."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    X_test: pd.DataFrame
    peers_python: Path | None = None


@dataclass(frozen=True)
class Answer:
    """Posteriors of the classes that were learned, and the CPU seconds they took."""

    classes: NDArray[np.int64]
    proba: NDArray[np.float64]
    fit_cpu: float
    predict_cpu: float


Model = Callable[[Split], Answer]


def estimator(make: Callable[[pd.DataFrame], Any]) -> Model:
    """Return a model from a function that makes an estimator for a frame."""

    def run(split: Split) -> Answer:
        model = make(split.X)
        start = time.process_time()
        model.fit(split.X, split.y)
        middle = time.process_time()
        proba = model.predict_proba(split.X_test)
        return Answer(model.classes_, proba, middle - start, time.process_time() - middle)

    return run


def ours(name: str, **settings: Any) -> Model:
    return estimator(lambda X: getattr(bayeskit, name)(**settings))


def naive_bayes_on_bins(X: pd.DataFrame) -> Any:
    return make_pipeline(bayeskit.Discretizer(), bayeskit.NaiveBayes(categorical_features="all"))


def categories(X: pd.DataFrame) -> list[str]:
    return [name for name in X if not is_numeric_dtype(X[name])]


def forest(X: pd.DataFrame) -> Any:
    # Dense, because the forest accepts missing values in numeric columns, but not in a sparse matrix.
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((one_hot, categories(X)), remainder="passthrough")
    return make_pipeline(columns, RandomForestClassifier(random_state=SEED))


def boosting(X: pd.DataFrame) -> Any:
    names = categories(X)
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    columns = make_column_transformer((ordinal, names), remainder="passthrough")
    native = list(range(len(names)))  # the transformer puts them first
    return make_pipeline(
        columns, HistGradientBoostingClassifier(categorical_features=native, random_state=SEED)
    )


def native_categories(X: pd.DataFrame) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a function that converts columns to the categories of the training rows; new ones become missing."""
    dtypes = {name: pd.CategoricalDtype(sorted(X[name].dropna().unique(), key=str)) for name in categories(X)}
    # LightGBM does not accept names with brackets or commas.
    return lambda frame: frame.astype(dtypes).set_axis([f"c{j}" for j in range(frame.shape[1])], axis=1)


def light_gbm(X: pd.DataFrame) -> Any:
    from lightgbm import LGBMClassifier

    columns = FunctionTransformer(native_categories(X))
    return make_pipeline(columns, LGBMClassifier(n_jobs=1, random_state=SEED, verbose=-1))


def words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with categories as text, and missing as an additional category."""
    names = categories(frame)
    text = frame[names].astype(object).where(frame[names].notna(), "(missing)").astype(str)
    return pd.concat([text, frame.drop(columns=names)], axis=1)


def cat_boost(X: pd.DataFrame) -> Any:
    from catboost import CatBoostClassifier

    native = tuple(range(len(categories(X))))
    trees = CatBoostClassifier(
        cat_features=native, thread_count=1, random_seed=SEED, verbose=False, allow_writing_files=False
    )
    return make_pipeline(FunctionTransformer(words), trees)


def explainable_boosting(X: pd.DataFrame) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=SEED)


def gaussian(X: pd.DataFrame) -> Any:
    if categories(X) or X.isna().to_numpy().any():
        raise NotFit("GaussianNB takes numbers without holes")
    return GaussianNB()


def codes(split: Split) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
    """Cut numbers at cut points from the training rows, and encode the rest. Return both tables and the state counts.

    >>> X = pd.DataFrame({"a": [1.0, 2.0, 3.0, None], "b": ["u", None, "v", "u"]})
    >>> train, test, sizes = codes(Split(X, np.array([0, 0, 1, 1]), X[:1]))
    >>> train.tolist(), test.tolist(), sizes
    ([[0, 0], [0, 2], [1, 1], [2, 0]], [[0, 0]], [3, 3])
    """
    cutter = bayeskit.Discretizer().fit(split.X, split.y)
    tables = [cutter.transform(X) for X in (split.X, split.X_test)]
    both = pd.concat(tables, ignore_index=True)
    columns, sizes = [], []
    for name in both:
        found, states = pd.factorize(both[name], sort=True)  # −1 where missing
        if name in cutter.cut_points_:
            size = len(cutter.cut_points_[name]) + 1
            found = np.where(found < 0, -1, both[name].fillna(-1)).astype(np.int64)
        else:
            size = len(states)
        columns.append(np.where(found < 0, size, found))
        sizes.append(size + int((found < 0).any()))
    coded = np.column_stack(columns).astype(np.int64)
    return coded[: len(split.X)], coded[len(split.X) :], sizes


def categorical(split: Split) -> Answer:
    start = time.process_time()
    train, test, sizes = codes(split)
    model = CategoricalNB(min_categories=sizes).fit(train, split.y)
    middle = time.process_time()
    proba = model.predict_proba(test)
    return Answer(model.classes_, proba, middle - start, time.process_time() - middle)


def scikit_bayes(n: int) -> Model:
    def run(split: Split) -> Answer:
        from peers import answer

        if split.peers_python is None:
            raise NotFit("scikit-bayes runs in an interpreter of its own: pass --peers-python")
        start = time.process_time()
        train, test, _ = codes(split)
        coding = time.process_time() - start
        found = answer(f"scikit-bayes AnDE({n})", train, split.y, test, split.peers_python)
        return Answer(found["classes"], found["proba"], coding + float(found["fit"][0]), found["predict"][0])

    return run


PRIOR = "ClassPrior"
PEERS: dict[str, Model] = {
    PRIOR: estimator(lambda X: DummyClassifier(strategy="prior")),
    "sklearn-GaussianNB": estimator(gaussian),
    "sklearn-CategoricalNB": categorical,
    "skbayes-A1DE": scikit_bayes(1),
    "skbayes-A2DE": scikit_bayes(2),
    "RandomForest": estimator(forest),
    "HistGradientBoosting": estimator(boosting),
}
# Other packages, included if they are installed: the model, the module, the distribution with a version.
YARDSTICKS: dict[str, tuple[Model, str, str]] = {
    "LightGBM": (estimator(light_gbm), "lightgbm", "lightgbm"),
    "CatBoost": (estimator(cat_boost), "catboost", "catboost"),
    "EBM": (estimator(explainable_boosting), "interpret.glassbox", "interpret-core"),
}
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "NaiveBayes": ("NaiveBayes", {}),
    "SPODE": ("SPODE", {}),
    "TAN": ("TAN", {}),
    "AODE": ("AODE", {}),
    "A2DE": ("AnDE", {"n": 2}),
    "KDB": ("KDB", {"k": 2}),
    "SelectiveKDB": ("SelectiveKDB", {}),
    "WeightedNB": ("WeightedNB", {}),
    "AutoBayes": ("AutoBayes", {}),
    "CountForest": ("CountForest", {}),
    "LogLinearBayes": ("LogLinearBayes", {}),
}


def models() -> dict[str, Model]:
    """All models whose class this version of bayeskit has, ours first."""
    found: dict[str, Model] = {}
    for name, (kind, settings) in OURS.items():
        try:
            getattr(bayeskit, kind)(**settings)
        except (AttributeError, ImportError, TypeError):  # not written yet, or without that setting
            continue
        found[name] = ours(kind, **settings)
    found["NaiveBayes-MDL"] = estimator(naive_bayes_on_bins)
    return found | PEERS | {name: YARDSTICKS[name][0] for name in installed()}


def installed() -> list[str]:
    """The yardsticks whose modules can be imported."""
    found = []
    for name, (_, module, _) in YARDSTICKS.items():
        try:
            importlib.import_module(module)
        except ImportError:
            continue
        found.append(name)
    return found
