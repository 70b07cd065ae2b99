"""Rows one at a time: the same model as rows in a table."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimators import BLOCK, BY_LETTER, CLASSES, small_labels, small_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    BayesNetClassifier,
    CategoricalNB,
    CountForest,
    GaussianNB,
    LogLinearBayes,
    MultinomialNB,
    NaiveBayes,
    SelectiveKDB,
    TallyStore,
    TextBayes,
    WeightedNB,
    load,
)
from bayeskit._classifiers import streams
from bayeskit._classifiers.drift import Adwin
from bayeskit._fitting import row_stream
from bayeskit._fitting.row_stream import RowStream, column_names
from bayeskit.classifiers import DriftMonitor, SlidingWindow
from bayeskit.errors import (
    BlockValue,
    ColumnError,
    DataError,
    DataTypeError,
    InfiniteValue,
    NotCounted,
    SettingError,
    UnseenState,
    UsageError,
    WeightError,
)
from refusals import refuses

MELON = {"colour": "green", "weight": 1.2}
OTHER = {"colour": "yellow", "weight": 0.8}


def rows_of(X: Any) -> list[dict[str, Any]]:
    return [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]


def columns_of(X: Any) -> dict[str, Any]:
    return {f"x{j}": X[:, j] for j in range(X.shape[1])}


def same(model: Any, other: Any, X: Any) -> None:
    assert model.schema_ == other.schema_
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_classifier(cls):
    """Rows learned one by one are rows of one batch; posteriors of one row are those of a table."""
    X, y = small_rows(40), small_labels(40)
    model, table = cls(), cls().partial_fit(columns_of(X[:30]), y[:30])
    for row, label in zip(rows_of(X[:30]), y.tolist(), strict=False):  # y is longer
        model.learn_one(row, label)
    same(model, table, columns_of(X))
    for row, label in zip(rows_of(X[30:]), y[30:].tolist(), strict=True):
        model.learn_one(row, label)
    table.partial_fit(columns_of(X[30:]), y[30:])
    same(model, table, columns_of(X))
    wanted = table.predict_proba(columns_of(X[:3]))
    for row, shares in zip(rows_of(X[:3]), wanted, strict=True):
        np.testing.assert_allclose(list(model.predict_proba_one(row).values()), shares, rtol=1e-9, atol=1e-12)
        assert model.predict_one(row) in model.classes_.tolist()
    model.forget_one(rows_of(X[:1])[0], int(y[0]))
    assert model.statistics_.total == 39
    same(model, table.forget(columns_of(X[:1]), y[:1]), columns_of(X))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_model_of_columns_without_names(cls):
    X, y = small_rows(30), small_labels(30)
    model, table = cls().fit(X[:20], y[:20]), cls().fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    blocks = cls in [BY_LETTER[letter] for letter in BLOCK]
    for row, label in zip(X[20:].tolist(), y[20:].tolist(), strict=True):
        named = {j if blocks else f"x{j}": value for j, value in enumerate(row)}
        model.learn_one(named, label)
    same(model, table, X)
    with refuses(ColumnError, "new"):
        model.learn_one({"new": 1.0}, 0)
    same(model, table, X)


READERS = {
    "statistics_": lambda model, path: model.statistics_.total,
    "copy": lambda model, path: (
        (model + NaiveBayes().fit(columns_of(small_rows()), small_labels())).statistics_.total - 12
    ),
    "save": lambda model, path: (model.save(path / "m"), load(path / "m").statistics_.total)[1],
    "pickle": lambda model, path: pickle.loads(pickle.dumps(model)).statistics_.total,
    "merge": lambda model, path: (
        NaiveBayes().fit(columns_of(small_rows()), small_labels()).merge(model).statistics_.total - 12
    ),
    "store": lambda model, path: TallyStore(path / "store", model).statistics().total,
    "explain": lambda model, path: model.explain(rows_of(small_rows())[0]) and 12,
    "classes_": lambda model, path: 6 * len(model.classes_),
    "partial_fit": lambda model, path: (
        model.partial_fit(columns_of(small_rows()), small_labels()).statistics_.total - 12
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_whoever_asks_sees_the_rows_that_wait(reader, tmp_path):
    model = NaiveBayes()
    for row, label in zip(rows_of(small_rows()), small_labels().tolist(), strict=True):
        model.learn_one(row, label)
    if reader != "classes_" or len(set(small_labels().tolist())) == 2:
        assert READERS[reader](model, tmp_path) == 12


def test_fit_discards_rows_that_wait():
    model = NaiveBayes()
    model.learn_one(MELON, "a")
    assert model.fit([["x"], ["y"]], [0, 1]).statistics_.total == 2
    model.learn_one({"x0": "x"}, 1)
    lazy = model.lazy({"a": ["x", "y"], "c": [0, 1]}, "c")
    assert lazy.statistics_.total == 2
    with pytest.raises(UsageError):
        lazy.learn_one({"a": "x"}, 0)


def test_no_more_rows_wait_than_a_thousand(monkeypatch):
    monkeypatch.setattr(streams, "MOST_WAITING", 10)
    model = GaussianNB()
    for n in range(9):
        model.learn_one({"a": float(n)}, n % 2)
    assert model._waiting is not None and len(model._waiting.examples) == 9 and model._fitted is None
    for n in range(9, 25):
        model.learn_one({"a": float(n)}, n % 2)
    assert model._waiting is None and model._fitted is not None
    assert model.statistics_.total == 25


@pytest.mark.parametrize("cls", [NaiveBayes, TAN], ids=lambda cls: cls.__name__)
def test_coded_rows_wait_in_a_bounded_room(monkeypatch, cls):
    """Added to the sums in place, or, where that cannot be, as a table once enough are there."""
    monkeypatch.setattr(row_stream, "MOST_WAITING", 8)
    monkeypatch.setattr(row_stream, "ROWS_ADDED", 4)
    model = cls().fit({"a": [*"xyxy"]}, [0, 1, 0, 1])
    for n in range(21):
        model.learn_one({"a": "xy"[n % 3 == 0]}, n % 2)
        assert model._stream._records.n < 8
    assert model.statistics_.total == 25


# -- one row is a table of one row ----------------------------------------------------------------


def one_by_one(model: Any, rows: list[dict[Any, Any]], rtol: float = 1e-11) -> None:
    """Compare answers of single rows with those of tables; the former first, from the sums as they stand."""
    found = [model.predict_proba_one(row) for row in rows]
    chosen = [model.predict_one(row) for row in rows]
    table = {name: [row.get(name) for row in rows] for name in column_names(model._fitted)}
    numeric = {v.name for v in model._fitted.schema.attributes if v.kind == "numeric" or v.cuts is not None}
    columns = {n: [np.nan if n in numeric and x is None else x for x in cells] for n, cells in table.items()}
    wanted = model.predict_proba(columns)
    assert all(list(one) == model.classes_.tolist() for one in found)
    np.testing.assert_allclose([[*one.values()] for one in found], wanted, rtol=rtol, atol=1e-300)
    for one, shares, label in zip(found, wanted, chosen, strict=True):
        assert one[label] == max(one.values()) or shares.max() - one[label] < 1e-9
    # With nothing learned since, it is the same to the bit.
    assert [[*model.predict_proba_one(row).values()] for row in rows] == wanted.tolist()


SETTINGS: dict[str, Any] = {
    "plain": NaiveBayes(),
    "unsmoothed": NaiveBayes(smoothing=0),
    "unbiased": NaiveBayes(variance="unbiased"),
    "missing is a state": NaiveBayes(missing="state"),
    "unseen is smoothed": NaiveBayes(unseen="smooth"),
    "class prior": NaiveBayes(class_prior="uniform"),
    "class weights": NaiveBayes(class_weight="balanced"),
    "poisson": NaiveBayes(families={"u": "poisson"}),
    "kernel": NaiveBayes(families={"u": "kernel"}),
    "calibrated": NaiveBayes(calibration="temperature"),
    "one by one": BY_LETTER["A"](),
    "a tree of intervals": TAN(),
}


def some_rows(n: int, seed: int = 3) -> tuple[list[dict[str, Any]], list[str]]:
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for _ in range(n):
        c = int(rng.integers(0, 3))
        row = {
            "a": "xyz"[(c + int(rng.integers(0, 2))) % 3],
            "b": int(rng.integers(0, 4)),
            "u": float(rng.poisson(2 + c)),
            "v": float(rng.normal(c)),
        }
        rows.append({k: x for k, x in row.items() if rng.random() > 0.1})
        labels.append("pqr"[c])
    return rows, labels


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_one_row_is_a_table_of_one_row(name):
    rows, labels = some_rows(120)
    model = clone(SETTINGS[name]).partial_fit(_columns(rows[:40]), labels[:40])
    asked = [*rows[:8], {}, {"a": "x"}, {"v": 0.3}, {"a": "new", "v": 100.0}, {"v": np.float64(0.5), "u": 2}]
    for start in range(40, 120, 20):
        for row, label in zip(rows[start : start + 20], labels[start : start + 20], strict=True):
            model.learn_one(row, label)
        one_by_one(model, asked)
    assert model.statistics_.total == 120
    table = clone(SETTINGS[name]).partial_fit(_columns(rows[:40]), labels[:40])
    table.partial_fit(_columns(rows[40:]), labels[40:])
    same(model, table, _columns(rows))


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        name: [row.get(name, np.nan if name in "uv" else None) for row in rows]
        for name in ("a", "b", "u", "v")
    }


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_history_of_rows_is_that_of_tables(data):
    """Rows of any weight learned one by one between other verbs; numbers of any size, constant, absent."""
    number = st.one_of(
        st.none(),
        st.sampled_from([0.0, 1.0, 1e8, 1e8 + 1, 1e200, -1e200, 1e-200, 5e-324]),
        st.floats(-3, 3, width=32),
    )
    row = st.fixed_dictionaries({}, optional={"u": number, "v": number, "a": st.sampled_from("xyz")})
    weight = st.sampled_from([1, 1, 1, 2, 0.25, 0.3])
    rows = [({"u": 1.0, "v": 2.0, "a": "x"}, 0, 1), ({"u": 2.0, "v": 2.0, "a": "y"}, 1, 1)]
    model = GaussianNB() if data.draw(st.booleans()) else NaiveBayes()
    if isinstance(model, GaussianNB):
        row = st.fixed_dictionaries({}, optional={"u": number, "v": number})
        rows = [({"u": 1.0, "v": 2.0}, 0, 1), ({"u": 2.0, "v": 2.0}, 1, 1)]
    table = type(model)()

    def batch(examples: list[Any]) -> tuple[Any, ...]:
        names = [n for n in ("u", "v", "a") if n in rows[0][0]]
        columns = {n: [r.get(n, None) for r, _, _ in examples] for n in names}
        columns = {
            n: [np.nan if x is None and n != "a" else x for x in cells] for n, cells in columns.items()
        }
        return columns, [c for _, c, _ in examples], [w for _, _, w in examples]

    def learn(examples: list[Any]) -> None:
        for r, c, w in examples:
            model.learn_one(r, c, w)
        columns, labels, weights = batch(examples)
        table.partial_fit(columns, labels, sample_weight=weights)

    learn(rows)
    for _ in range(data.draw(st.integers(1, 4))):
        new = data.draw(st.lists(st.tuples(row, st.integers(0, 2), weight), min_size=1, max_size=6))
        learn(new)
        rows += new
        asked = data.draw(row)
        one = batch([(asked, 0, 1)])[0]
        wanted = table.predict_proba(one)[0]
        np.testing.assert_allclose([*model.predict_proba_one(asked).values()], wanted, rtol=1e-8, atol=1e-9)
        verb = data.draw(st.sampled_from(["none", "fade", "forget", "read", "pickle"]))
        if verb == "fade":
            model.fade(0.5), table.fade(0.5)
            rows = [(r, c, w * 0.5) for r, c, w in rows]
        elif verb == "forget" and len(rows) > 4:
            r, c, w = rows.pop()
            model.forget_one(r, c, w)
            columns, labels, weights = batch([(r, c, w)])
            table.forget(columns, labels, weights)
        elif verb == "read":
            assert model.statistics_.total == pytest.approx(table.statistics_.total)
        elif verb == "pickle":
            model = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(model.statistics_.class_counts, table.statistics_.class_counts, rtol=1e-12)


def test_copies_of_a_stream_are_apart():
    rows, labels = some_rows(60)
    model = NaiveBayes()
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label)
    model.predict_one(rows[0])
    model.learn_one(rows[0], labels[0])
    other = model + NaiveBayes().fit(_columns(rows), labels)
    model.learn_one(rows[1], labels[1])
    other.learn_one(rows[2], labels[2])
    assert model.statistics_.total == 62 and other.statistics_.total == 122
    other.predict_proba_one(rows[0])
    again = pickle.loads(pickle.dumps(model))
    again.learn_one(rows[3], labels[3])
    assert again.statistics_.total == 63 and model.statistics_.total == 62


def test_numbers_and_labels_of_numpy_are_those_of_python():
    model, plain = NaiveBayes(), NaiveBayes()
    for n in range(40):
        model.learn_one({"u": np.float64(n % 7), "b": np.int64(n % 3)}, np.int64(n % 2))
        plain.learn_one({"u": float(n % 7), "b": n % 3}, n % 2)
        if n > 20:
            asked = model.predict_proba_one({"u": np.float32(2), "b": 1})
            assert asked == plain.predict_proba_one({"u": 2.0, "b": 1})
            assert all(type(label) is int for label in asked)
    assert model._stream is not None


def test_an_infinite_number_is_refused_in_a_question():
    model = GaussianNB().fit({"u": [1.0, 2.0, 3.0]}, [0, 1, 1])
    with refuses(InfiniteValue, "u"):
        model.predict_one({"u": np.inf})
    model.learn_one({"u": 2.0}, 0)
    with refuses(InfiniteValue, "u"):
        model.predict_proba_one({"u": -np.inf})


# -- absent and new keys --------------------------------------------------------------------------


def test_absent_keys_are_missing():
    model = NaiveBayes()
    table: dict[str, list[Any]] = {"colour": [], "weight": []}
    examples = [(MELON, "a"), ({"colour": "yellow"}, "b"), ({"weight": 2.0}, "a"), (OTHER, "b")]
    for row, label in examples:
        model.learn_one(row, label)
        table["colour"].append(row.get("colour"))
        table["weight"].append(row.get("weight", np.nan))
    fitted = NaiveBayes().fit(table, [label for _, label in examples])
    same(model, fitted, table)
    model.learn_one({"colour": None, "weight": None}, "a")
    assert model.statistics_.total == 5
    prior = model.predict_proba_one({"unknown": 7})
    np.testing.assert_allclose(list(prior.values()), np.exp(model._model.log_prior))
    assert model.predict_proba_one({}) == prior


@pytest.mark.parametrize("letter", BLOCK)
def test_in_a_block_absent_is_0_and_new_words_are_columns(letter):
    cls = BY_LETTER[letter]
    model = cls()
    texts = [({"a": 1, "b": 2}, 0), ({"b": 1}, 1), ({"c": 3}, 1), ({"a": 2, "d": 1}, 0)]
    for row, label in texts:
        model.learn_one(row, label)
        model.predict_one({"a": 1})  # counts what waits, so that the next words are new
    columns = {w: [float(row.get(w, 0)) for row, _ in texts] for w in "abcd"}
    same(model, cls().fit(columns, [label for _, label in texts]), columns)
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("cls", [NaiveBayes, GaussianNB], ids=lambda cls: cls.__name__)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_new_key_adds_an_attribute(cls, data):
    """Whenever it comes, the model is that of the table in which it was missing before."""
    numbers = st.one_of(st.none(), st.integers(-3, 3).map(float))
    words = numbers if cls is GaussianNB else st.one_of(st.none(), st.sampled_from("uvw"))
    kinds = {"a": numbers, "b": words, "c": numbers, "d": words}
    n = data.draw(st.integers(4, 12))
    first = {name: data.draw(st.integers(0, n - 1)) for name in kinds} | {"a": 0}
    rows, labels = [], []
    for i in range(n):
        row = {name: data.draw(kinds[name]) for name in kinds if i >= first[name]}
        if i == 0:
            row["a"] = 1.0
        rows.append({name: value for name, value in row.items() if value is not None})
        labels.append(i % 2)
    model = cls()
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label)
        model.predict_proba_one({"a": 0.0})
    names = list(dict.fromkeys(name for row in rows for name in row))
    assert [v.name for v in model.schema_.attributes] == names
    empty = {name: np.nan if cls is GaussianNB or name in "ac" else None for name in names}
    table = {name: [row.get(name, empty[name]) for row in rows] for name in names}
    same(model, cls().fit(table, labels), table)


NUMBERS = {"numeric": "gaussian"}
# A model that meets "d" (words) and "e" (numbers) late, and one whose rows before lacked them, what it holds alike.
LATE: dict[str, tuple[Any, Any]] = {
    "SPODE": (SPODE(super_parent="a", **NUMBERS), SPODE(super_parent="a", **NUMBERS)),
    "TAN": (TAN(**NUMBERS), TAN(**NUMBERS)),
    "a given tree": (TAN(structure={"b": ["a"]}, **NUMBERS), TAN(structure={"b": ["a"]}, **NUMBERS)),
    "AODE": (AODE(**NUMBERS), AODE(**NUMBERS)),
    "AnDE": (AnDE(n=1, **NUMBERS), AnDE(n=1, **NUMBERS)),
    "KDB": (KDB(**NUMBERS), None),
    "WeightedNB": (WeightedNB(weights={"a": 0.5}, **NUMBERS), WeightedNB(weights={"a": 0.5}, **NUMBERS)),
    "kernel": (NaiveBayes(families={"f": "kernel"}), NaiveBayes(families={"f": "kernel"})),
}


def late_rows() -> tuple[list[dict[str, Any]], list[int]]:
    rng = np.random.default_rng(8)
    rows: list[dict[str, Any]] = []
    for n in range(120):
        c = n % 2
        row = {"a": "xyz"[(c + int(rng.integers(0, 2))) % 3], "b": "uv"[int(rng.integers(0, 2))]}
        row |= {"f": float(rng.normal(c))}
        if n >= 60:
            row |= {"d": "pqr"[(c + int(rng.integers(0, 2))) % 3], "e": float(rng.normal(-c))}
        rows.append({name: x for name, x in row.items() if n < 4 or rng.random() > 0.05})
    return rows, [n % 2 for n in range(120)]


def late_columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: [row.get(name, np.nan if name in "ef" else None) for row in rows] for name in "abfde"}


@pytest.mark.parametrize("name", LATE)
def test_a_new_key_joins_models_of_dependent_attributes(name):
    """The model is that of rows in which the new attributes were missing before."""
    rows, labels = late_rows()
    model = clone(LATE[name][0])
    for n, (row, label) in enumerate(zip(rows, labels, strict=True)):
        model.learn_one(row, label)
        if n in (59, 75):
            model.predict_one(row)
    twin = LATE[name][1]
    if twin is None:  # parents are held: late attributes have the class alone
        assert model.structure_["d"] == model.structure_["e"] == ()
        twin = KDB(structure=model.structure_, **NUMBERS)
    twin = clone(twin).set_params(states={"d": [*"pqr"]})
    twin.partial_fit(late_columns(rows[:60]), labels[:60])
    twin.partial_fit(late_columns(rows[60:]), labels[60:])
    assert [v.name for v in model.schema_.attributes] == [v.name for v in twin.schema_.attributes]
    wanted = twin.predict_proba(late_columns(rows))
    np.testing.assert_allclose(model.predict_proba(late_columns(rows)), wanted, rtol=1e-9, atol=1e-12)
    # It is a whole model: it can forget what it learned, and be saved.
    late = {n: cells[60:] for n, cells in late_columns(rows).items()}
    model.forget(late, labels[60:])
    twin.forget(late, labels[60:])
    np.testing.assert_allclose(
        model.predict_proba(late_columns(rows)), twin.predict_proba(late_columns(rows)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    "cls", [TAN, KDB, SelectiveKDB, AODE, AnDE, WeightedNB, BayesNetClassifier, CountForest]
)
def test_a_new_key_beside_numbers_that_were_cut(cls, tmp_path):
    """Cut points are held, and a number that comes later has none: it is a normal density."""
    rows, labels = late_rows()
    model = cls()
    for n, (row, label) in enumerate(zip(rows, labels, strict=True)):
        model.learn_one(row, label)
        if n == 59:
            model.predict_one(row)
    assert model.schema_["e"].kind == "numeric" and model.schema_["d"].states == ("p", "q", "r")
    one_by_one(model, rows[100:])
    model.save(tmp_path / "late")
    again = load(tmp_path / "late")
    np.testing.assert_array_equal(
        again.predict_proba(late_columns(rows)), model.predict_proba(late_columns(rows))
    )


@pytest.mark.parametrize("model", [LogLinearBayes(), AODE(views=2)], ids=["rows are kept", "views"])
def test_a_new_key_where_none_can_be_added(model):
    rows, labels = late_rows()
    model = clone(model)
    for row, label in zip(rows[:60], labels, strict=False):
        model.learn_one(row, label)
    before = model.predict_proba_one(rows[0])
    with refuses(ColumnError, "d"):
        model.learn_one({**rows[0], "d": "p"}, 0)
    assert model.statistics_.total == 60 and model.predict_proba_one(rows[0]) == before


# -- what is refused, is refused at once ----------------------------------------------------------


@pytest.mark.parametrize("asked", [False, True], ids=["before the first question", "after it"])
@pytest.mark.parametrize(
    ("row", "label", "weight", "error"),
    [
        ({"colour": "green", "weight": np.inf}, "a", 1, InfiniteValue),
        ({"colour": "green", "weight": "heavy"}, "a", 1, DataError),
        (MELON, None, 1, DataError),
        (MELON, np.nan, 1, DataError),
        (MELON, "a", -1, WeightError),
        (MELON, "a", np.nan, WeightError),
        ([1, 2], "a", 1, DataTypeError),
        ("green", "a", 1, DataTypeError),
    ],
)
def test_a_bad_row_is_refused_when_it_is_learned(asked, row, label, weight, error):
    model = NaiveBayes()
    model.learn_one(MELON, "a")
    model.learn_one(OTHER, "b")
    if asked:
        model.predict_one(MELON)
    with pytest.raises(error):
        model.learn_one(row, label, weight)
    assert model.statistics_.total == 2 and len(model.schema_.attributes) == 2
    with pytest.raises(error):
        model.learn_one({**row, "new": 1.0} if isinstance(row, dict) else row, label, weight)
    assert model.statistics_.total == 2 and len(model.schema_.attributes) == 2
    model.learn_one(OTHER, "c", 0.5)
    assert model.statistics_.total == 2.5


def test_other_refusals():
    with pytest.raises(NotFittedError):
        NaiveBayes().predict_one(MELON)
    with pytest.raises(NotFittedError):
        NaiveBayes().forget_one(MELON, "a")
    model = NaiveBayes()
    model.learn_one(MELON, "a")
    with pytest.raises(NotCounted):
        model.forget_one(OTHER, "a")
    with pytest.raises(DataTypeError):
        model.predict_one([1, 2])
    words = MultinomialNB()
    words.learn_one({"a": 1}, 0)
    with refuses(BlockValue, "a", -1.0):
        words.learn_one({"a": -1}, 0)
    assert words.statistics_.total == 1
    codes = CategoricalNB()
    codes.learn_one({"a": 1}, 0)
    with refuses(DataError, "a", -1):
        codes.learn_one({"a": -1}, 0)
    declared = NaiveBayes(states={"colour": ["green", "yellow"]})
    declared.learn_one(MELON, "a")
    with refuses(UnseenState, "colour", "mauve"):
        declared.learn_one({**MELON, "colour": "mauve"}, "a")
    assert declared.statistics_.total == codes.statistics_.total == 1


# -- windows and drift ----------------------------------------------------------------------------


def test_a_window_is_a_fit_of_its_rows():
    rng = np.random.default_rng(5)
    X, y = np.round(rng.normal(size=(60, 2)), 3), rng.integers(0, 2, 60)
    window = SlidingWindow(GaussianNB(), 20)
    for n, (row, label) in enumerate(zip(rows_of(X), y.tolist(), strict=True)):
        window.learn_one(row, label)
        if n > 20 and n % 7 == 0:
            part = slice(n - 19, n + 1)
            same(window.model, GaussianNB().fit(columns_of(X[part]), y[part]), columns_of(X))
    assert len(window) == 20 and window.model.statistics_.total == 20
    assert window.predict_one(row) == max(window.predict_proba_one(row).items(), key=lambda pair: pair[1])[0]
    for size in (0, -1, 1.5, True, None):
        with refuses(SettingError, "n_rows", size):
            SlidingWindow(GaussianNB(), size)


def test_the_window_of_a_drift_monitor():
    rng = np.random.default_rng(0)
    monitor = DriftMonitor()
    calm = [monitor.update({0: p, 1: 1 - p}, 0) for p in rng.uniform(0.5, 1.0, 3000)]
    assert calm == [None] * 3000
    found = [monitor.update({0: p, 1: 1 - p}, 1) for p in rng.uniform(0.5, 1.0, 200)]
    (first, *_) = [drift for drift in found if drift is not None]
    assert 3000 < first.row < 3100 and first.after > first.before
    assert first.n_dropped + first.n_kept == first.row
    assert DriftMonitor().update({}, "never seen") is None
    for name, value in [("delta", 0), ("delta", 1), ("largest_loss", -1), ("delta", "x")]:
        with refuses(SettingError, name, value):
            DriftMonitor(**{name: value})


def test_the_sums_of_a_window_are_those_of_its_numbers():
    rng = np.random.default_rng(1)
    window, held = Adwin(0.01), []
    for value in [*rng.uniform(0, 0.4, 700), *rng.uniform(0.5, 1, 300)]:
        held.append(value)
        dropped = window.add(value)
        if dropped is not None:
            gone, held = held[: dropped[0]], held[dropped[0] :]
            assert dropped[1] == pytest.approx(np.mean(gone))
        assert window.size == len(held) and window.mean == pytest.approx(np.mean(held))
        assert len(window._buckets) < 6 * 11


def test_river_is_asked_for(monkeypatch):
    """Without River the way out is named; with it, its own checks pass."""
    try:
        import river.checks
    except ImportError:
        with refuses(UsageError, "bayeskit[river]"):
            NaiveBayes().to_river()
        return
    for model in NaiveBayes(), GaussianNB(), WeightedNB():
        river.checks.check_estimator(model.to_river())


def test_rows_that_wait_take_bounded_memory(monkeypatch):
    """Sums that are not added to in place are counted together; wide rows sooner than narrow ones."""
    counted = []
    absorb = RowStream._absorb
    monkeypatch.setattr(
        RowStream, "_absorb", lambda self, records: (counted.append(records.n), absorb(self, records))
    )
    for width, each in (3, 300), (254, 32):
        model, counted[:] = WeightedNB(weights={}), []
        rows = [{f"a{j}": f"v{(i + j) % 3}" for j in range(width)} for i in range(300)]
        model.partial_fit(pd.DataFrame(rows[:10]), [0, 1] * 5)
        for i, row in enumerate(rows):
            model.learn_one(row, i % 2)
        assert model.statistics_.total == 310
        assert max(counted) == each and sum(counted) == 300


def test_an_absent_text_or_number_is_missing_beside_texts() -> None:
    texts = ["free money now for all", "hello my old friend", "win free money now", "see you soon friend"] * 3
    table = pd.DataFrame({"text": texts, "n": [1.0, 2.0, 1.5, 2.5] * 3})
    model = TextBayes(text="text").fit(table, ["spam", "ham"] * 6)
    rows = [{"text": "money", "n": 1.0}, {"text": "money"}, {"n": 1.0}, {"text": None, "n": 1.0}, {}]
    for row in rows:
        cells = {"text": [row.get("text")], "n": [row.get("n", np.nan)]}
        expected = model.predict_proba(pd.DataFrame(cells, dtype=object).astype({"n": float}))[0]
        found = model.predict_proba_one(row)
        assert [found[label] for label in model.classes_] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("make", [TAN, partial(NaiveBayes, numeric="mdl")], ids=["TAN", "mdl"])
@pytest.mark.parametrize("kind", ["of Python", "of NumPy", "null first", "whole among fractions"])
def test_rows_before_the_first_prediction_choose_together(make: Any, kind: str) -> None:
    """A first row that is counted alone would fix one interval, and make a column of nulls numeric, for ever."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 150)
    x = np.round(4 * y + rng.normal(0, 1.5, 150), 1)
    rows: list[dict[str, Any]] = [{"x": v, "word": "ab"[k % 2]} for k, v in enumerate(x.tolist())]
    labels: list[Any] = y.tolist()
    if kind == "of NumPy":
        rows = [{"x": v, "word": np.str_(row["word"])} for v, row in zip(x, rows, strict=True)]
        labels = list(y)
    elif kind == "null first":
        rows[0] = {"x": None, "word": None}
    elif kind == "whole among fractions":
        rows = [{**row, "x": int(row["x"]) if row["x"].is_integer() else row["x"]} for row in rows]
        rows[0]["x"] = 1
    stream = make()
    for row, label in zip(rows, labels, strict=True):
        stream.learn_one(row, label)
    at_once = make().fit(rows, y)
    assert stream.cut_points_ == at_once.cut_points_ and stream.cut_points_["x"]
    found = stream.predict_proba_one({"x": 1.5, "word": "a"})
    wanted = at_once.predict_proba([{"x": 1.5, "word": "a"}])[0]
    np.testing.assert_allclose(list(found.values()), wanted, rtol=0, atol=1e-12)


def test_a_key_that_was_only_null_gets_its_kind_from_its_first_value() -> None:
    model = NaiveBayes()
    model.learn_one({"x": 1.0, "word": None}, "a")
    assert model.predict_one({"x": 1.0}) == "a"
    model.learn_one({"x": 2.0, "word": None}, "b")
    model.learn_one({"x": 2.0, "word": "new"}, "b")
    assert model.schema_["word"].states == ("new",)
    never = NaiveBayes().fit([{"x": 1.0}, {"x": 2.0}, {"x": 2.0}], ["a", "b", "b"])
    assert model.predict_proba_one({"x": 1.5}) == pytest.approx(never.predict_proba_one({"x": 1.5}))


def test_a_number_too_large_in_a_stream_is_refused_by_name() -> None:
    model = NaiveBayes()
    model.learn_one({"x": 1.0}, "a")
    with refuses(ColumnError, "x"):
        model.learn_one({"x": 10**400}, "a")
