"""Names of columns: every name that a model learns can be saved and found again, all others are refused at fit."""

from __future__ import annotations

import contextlib
import datetime as dt
import enum
import pickle
import warnings
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import bayeskit
from bayeskit import (
    TAN,
    AutoBayes,
    BayesianNetwork,
    BayesNetClassifier,
    CountForest,
    Discretizer,
    GaussianMixture,
    GaussianNB,
    LatentClass,
    LogLinearBayes,
    MultinomialNB,
    NaiveBayes,
    learn_network,
    read_network,
)
from bayeskit.errors import ColumnError, SettingError
from refusals import refuses

pd = pytest.importorskip("pandas")
tz = pytest.importorskip("dateutil.tz")

_Y = np.arange(24) % 2
_FIRST = np.arange(24) % 3
_SECOND = (_FIRST + _Y * (np.arange(24) > 5)) % 3


class _Word(enum.StrEnum):
    COLOUR = "colour"


class _Number(enum.IntEnum):
    FIVE = 5


class _Unshown:
    def __repr__(self) -> str:
        raise RuntimeError("not today")


REFUSED: dict[str, Any] = {
    "None": None,
    "NaN": float("nan"),
    "NaN of NumPy": np.float64("nan"),
    "NaN of Decimal": Decimal("NaN"),
    "signalling NaN": Decimal("sNaN"),
    "NaT": pd.NaT,
    "NA": pd.NA,
    "date that is missing": np.datetime64("NaT"),
    "level that is NaN": ("a", float("nan")),
    "level of a level": ("a", ("b", None, pd.NA)),
    "Timestamp": pd.Timestamp("2020-01-01"),
    "Period": pd.Period("2020"),
    "Interval": pd.Interval(0, 1),
    "member of an enumeration": _Number.FIVE,
    "complex": 1j,
    "...": ...,
    "what cannot be shown": _Unshown(),
    "whole number that cannot be written": 10**5000,
    "zone of another library": dt.datetime(2020, 1, 1, tzinfo=tz.tzutc()),
}
KEPT: dict[str, Any] = {
    "empty": "",
    "long": "名" * 50_000,
    "lone surrogate": "\ud800",
    "control characters": "\x1b[2J\0",
    "word of an enumeration": _Word.COLOUR,
    "text of NumPy": np.str_("q\0"),
    "True": True,
    "1": 1,
    "1.0": 1.0,
    "-0.0": -0.0,
    "infinity": float("inf"),
    "large": 10**40,
    "number of NumPy": np.int64(3),
    "fraction of NumPy": np.float64(2.5),
    "levels": ("a", 1, None),
    "bytes": b"\xff",
    "Decimal": Decimal("1.50"),
    "date": dt.date(2020, 1, 1),
    "moment": dt.datetime(2020, 1, 1, 12, tzinfo=ZoneInfo("Asia/Shanghai")),
    "duration": dt.timedelta(1),
    "set": frozenset({1, "a"}),
}

SAVED = {
    "NaiveBayes": lambda X: NaiveBayes(categorical_features="all").fit(X, _Y),
    "GaussianNB": lambda X: GaussianNB().fit(X, _Y),
    "MultinomialNB": lambda X: MultinomialNB().fit(X, _Y),
    "TAN": lambda X: TAN(categorical_features="all").fit(X, _Y),
    "AutoBayes": lambda X: AutoBayes().fit(X, _Y),
    "CountForest": lambda X: CountForest(n_trees=5).fit(X, _Y),
    "BayesNetClassifier": lambda X: BayesNetClassifier().fit(X, _Y),
    "LogLinearBayes": lambda X: LogLinearBayes(views=2).fit(X, _Y),
    "GaussianMixture": lambda X: GaussianMixture(2, random_state=0).fit(X),
    "LatentClass": lambda X: LatentClass(2, random_state=0).fit(X),
}
OTHERS = {
    "Discretizer": lambda X: Discretizer().fit(X, _Y),
    "learn_network": learn_network,
    "network.fit": lambda X: BayesianNetwork([("b", "c")]).fit({"c": _Y, **_mapped(X)}),
    "partial_fit": lambda X: NaiveBayes().partial_fit(X, _Y),
    "lazy": lambda X: NaiveBayes().lazy(X, _Y).predict(X),
}


def _mapped(X: Any) -> dict[Any, Any]:
    return X if isinstance(X, dict) else {name: X.iloc[:, j] for j, name in enumerate(X.columns)}


def frame(name: Any) -> Any:
    return pd.DataFrame(np.column_stack([_FIRST, _SECOND]), columns=pd.Index(["b", name], dtype=object))


@pytest.mark.parametrize("learn", [*SAVED, *OTHERS])
@pytest.mark.parametrize("kind", list(REFUSED))
def test_names_that_no_file_could_keep_are_refused_at_fit(kind: str, learn: str) -> None:
    name = REFUSED[kind]
    for container in ("frame", "mapping"):
        if kind == "signalling NaN" and (container == "mapping" or learn == "network.fit"):
            continue  # it is no key of any mapping
        X = frame(name) if container == "frame" else {"b": _FIRST, name: _SECOND}
        with pytest.raises(ColumnError) as refusal:
            {**SAVED, **OTHERS}[learn](X)
        if kind not in ("what cannot be shown", "whole number that cannot be written"):
            assert repr(name) in str(refusal.value)


@pytest.mark.parametrize("learn", list(SAVED))
@pytest.mark.parametrize("kind", list(KEPT))
def test_names_that_are_learned_come_back_from_a_file(kind: str, learn: str, tmp_path: Any) -> None:
    for X in (frame(KEPT[kind]), {"b": _FIRST, KEPT[kind]: _SECOND}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SAVED[learn](X)
        model.save(tmp_path / "model")
        loaded = bayeskit.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", list(KEPT))
def test_names_of_nodes_come_back_from_a_file(kind: str, tmp_path: Any) -> None:
    network = learn_network(frame(KEPT[kind]))
    network.write(tmp_path / "network.json")
    assert read_network(tmp_path / "network.json") == network


@pytest.mark.parametrize("kind", list(KEPT))
def test_names_that_a_discretizer_learns_can_be_given_out(kind: str) -> None:
    X = frame(KEPT[kind]).astype(float)
    cutter = pickle.loads(pickle.dumps(Discretizer("frequency", n_bins=2).fit(X)))
    if kind == "lone surrogate":  # pandas itself may hold such a name and cannot make it anew
        with contextlib.suppress(ColumnError):
            cutter.transform(X)
        return
    assert list(cutter.transform(X).columns) == list(X.columns)


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), (0.0, -0.0)])
def test_names_that_python_takes_for_one_are_refused(one: Any, other: Any) -> None:
    X = pd.DataFrame(np.zeros((4, 2)), columns=pd.Index([one, other], dtype=object))
    with refuses(ColumnError, other):
        NaiveBayes().fit(X, [0, 1] * 2)


def test_nodes_cannot_have_such_names_either() -> None:
    for name in (None, float("nan"), pd.Timestamp("2020-01-01")):
        with refuses(SettingError, repr(name)):
            BayesianNetwork([(name, "wet")], states={name: ["a", "b"], "wet": ["a", "b"]})
