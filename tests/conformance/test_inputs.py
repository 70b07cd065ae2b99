"""The same rows are the same model, whatever they come in; and new rows are matched to the old ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from estimators import BY_LETTER, CLASSES, DENSE, bytes_held, small_labels, small_rows
from sklearn.exceptions import DataConversionWarning

from bayeskit import AutoBayes, CountForest, LogLinearBayes, NaiveBayes
from bayeskit.errors import ColumnError, SuspectColumn, UnseenState
from refusals import refuses, warns_of
from work import check_growth

ROWS, LABELS = small_rows(), small_labels()
every = pytest.mark.parametrize("cls", CLASSES)
pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


def frames(rows: Any = ROWS) -> dict[str, Any]:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = {name: rows[:, j] for j, name in enumerate("abc")}
    return {
        "pandas": pd.DataFrame(columns, index=range(7, 7 + len(rows))),
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "mapping": columns,
    }


@every
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "mapping"])
def test_frames_of_any_library_are_the_same_model(cls: Any, library: str) -> None:
    frame = frames()[library]
    model = cls().fit(frame, LABELS)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict_proba(frame), cls().fit(ROWS, LABELS).predict_proba(ROWS))
    for other in frames().values():
        np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame))


LAYOUTS = {
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "big endian": lambda X: X.astype(">f8"),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "int8": lambda X: X.astype(np.int8),
    "uint64": lambda X: X.astype(np.uint64),
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "matrix": np.matrix,
}


@every
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_arrays_of_any_layout_are_the_same_model(cls: Any, layout: str) -> None:
    X = LAYOUTS[layout](ROWS)
    expected = cls().fit(ROWS, LABELS).predict_proba(ROWS)
    model = cls().fit(X, LABELS)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    np.testing.assert_array_equal(model.predict_proba(ROWS), expected)


@pytest.mark.parametrize("cls", [BY_LETTER[letter] for letter in DENSE])
def test_masked_cells_are_missing(cls: Any) -> None:
    masked = np.ma.masked_equal(ROWS, 2.0)
    with_holes = np.where(ROWS == 2.0, np.nan, ROWS)
    expected = cls().fit(with_holes, LABELS).predict_proba(with_holes)
    np.testing.assert_array_equal(cls().fit(masked, LABELS).predict_proba(masked), expected)


@every
def test_rows_are_not_written_to(cls: Any) -> None:
    X, y, w = ROWS.copy(), LABELS.copy(), np.ones(12)
    cls().fit(X, y, w).partial_fit(X, y, sample_weight=w).forget(X, y, w).predict_proba(X)
    np.testing.assert_array_equal(X, ROWS)
    np.testing.assert_array_equal(y, LABELS)
    np.testing.assert_array_equal(w, 1.0)


@every
def test_columns_are_matched_by_name(cls: Any) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS, columns=list("abc"))
    model = cls().fit(frame, LABELS)
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(frame[["c", "a", "b"]]), expected)
    with refuses(ColumnError, "missing", "b"):
        model.predict(frame[["a", "c"]])
    with refuses(ColumnError, "q"):
        model.predict(frame.assign(q=1.0))
    with refuses(ColumnError, "missing", "b", "q"):
        model.predict(frame.rename(columns={"b": "q"}))
    model.partial_fit(frame[["b", "c", "a"]], LABELS)
    if cls in (CountForest, AutoBayes):  # of rows that are there twice other trees are grown
        held = {"trees": model.trees_} if cls is CountForest else {"choices": model.held_}
        twice = cls(**held).fit(pd.concat([frame, frame]), np.append(LABELS, LABELS))
        np.testing.assert_allclose(model.predict_proba(frame), twice.predict_proba(frame), rtol=0, atol=1e-12)
        return
    twice = cls().fit(np.vstack([ROWS, ROWS]), np.append(LABELS, LABELS))
    np.testing.assert_allclose(model.predict_proba(frame), twice.predict_proba(ROWS), rtol=0, atol=1e-12)


@every
def test_the_target_may_be_a_column(cls: Any) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS, columns=list("abc")).assign(y=LABELS, w=2.0, id="x")
    # The order of the rows that choose weights hangs on the names of the columns: equal but for rounding.
    exact = 1e-12 if cls in (LogLinearBayes, AutoBayes) else 0.0
    expected = cls().fit(ROWS, LABELS, np.full(12, 2.0)).predict_proba(ROWS)
    model = cls().fit(frame, target="y", sample_weight="w", exclude=["id"])
    np.testing.assert_allclose(model.predict_proba(frame[list("abc")]), expected, rtol=0, atol=exact)
    model = cls().fit(frame.drop(columns="w"), target="y", columns=["a", "b", "c"], sample_weight=2.0)
    np.testing.assert_allclose(model.predict_proba(frame[list("abc")]), expected, rtol=0, atol=exact)
    assert model.classes_.dtype == LABELS.dtype
    for argument in (
        {"target": "nowhere"},
        {"target": "y", "exclude": ["nowhere"]},
        {"target": "y", "columns": ["nowhere"]},
    ):
        with refuses(ColumnError, "nowhere"):
            cls().fit(frame, **argument)


@every
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64", "bool", "U3", "S3", "O"])
def test_labels_keep_their_dtype(cls: Any, dtype: str) -> None:
    y = LABELS.astype(dtype)
    model = cls().fit(ROWS, y)
    assert model.predict(ROWS).dtype.kind == y.dtype.kind
    assert model.classes_.tolist() == np.unique(y).tolist()
    assert set(model.predict(ROWS).tolist()) <= set(y.tolist())


@every
def test_labels_in_a_column_are_taken_with_a_warning(cls: Any) -> None:
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = cls().fit(ROWS, LABELS[:, None])
    np.testing.assert_array_equal(model.predict_proba(ROWS), cls().fit(ROWS, LABELS).predict_proba(ROWS))


STATES = [["red", 1.0], ["green", 2.0], ["red", 3.0], ["blue", 1.0]]


def test_unseen_states_are_left_out_counted_or_refused() -> None:
    y = [0, 1, 0, 1]
    left_out = NaiveBayes().fit(STATES, y)
    np.testing.assert_array_equal(
        left_out.predict_proba([["mauve", 1.0]]), left_out.predict_proba([[None, 1.0]])
    )
    smooth = NaiveBayes(unseen="smooth", numeric="gaussian").fit([[s] for s, _ in STATES], [0, 1, 0, 0])
    # α/(n_c + α(N+1)): 1/(3+4) and 1/(1+4), times the class 4/6 and 2/6.
    expected = np.array([4 / 6 / 7, 2 / 6 / 5])
    np.testing.assert_allclose(smooth.predict_proba([["mauve"]])[0], expected / expected.sum(), rtol=1e-12)
    strict = NaiveBayes(unseen="error").fit(STATES, y)
    with refuses(UnseenState, "x0", "mauve", "blue, green, red"):
        strict.predict([["red", 1.0], ["mauve", 1.0]])
    assert strict.predict([["red", 1.0], [None, None]]).shape == (2,)


@pytest.mark.parametrize("unseen", ["ignore", "smooth", "error"])
@pytest.mark.parametrize("dtype", [int, float, np.int8, np.uint64, object])
def test_whole_numbers_are_one_state_in_any_dtype(unseen: str, dtype: Any) -> None:
    model = NaiveBayes(categorical_features="all", unseen=unseen).fit(ROWS.astype(np.int64), LABELS)
    np.testing.assert_array_equal(
        model.predict_proba(ROWS.astype(dtype)), model.predict_proba(ROWS.astype(np.int64))
    )


def test_a_number_where_labels_were_learned_and_the_other_way_round() -> None:
    labelled, numeric = NaiveBayes().fit(STATES, [0, 1, 0, 1]), NaiveBayes().fit(ROWS, LABELS)
    np.testing.assert_array_equal(labelled.predict_proba([[5, 1.0]]), labelled.predict_proba([[None, 1.0]]))
    with refuses(ColumnError, "x0"):
        numeric.predict([["red", 1.0, 2.0]])


def test_declared_states_keep_their_order_and_stay() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    order, values = ["z", "never", "a"], ["a", "z", "a", "z"]
    for frame in (
        pd.DataFrame({"s": pd.Categorical(values, categories=order)}),
        pl.DataFrame({"s": pl.Series(values, dtype=pl.Enum(order))}),
    ):
        model = NaiveBayes().fit(frame, [0, 1, 0, 1])
        assert model.schema_["s"].states == tuple(order)
        assert model.table("s")[0, "never"] == pytest.approx(1 / 5)


def test_categories_far_apart_in_a_small_dtype() -> None:
    for dtype in (np.int8, np.int16):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        column = np.array([low, high, low, 0] * 50, dtype=dtype)
        model = NaiveBayes(categorical_features="all").fit({"s": column}, np.arange(200) % 2)
        assert model.schema_["s"].states == (low, 0, high)


def test_a_million_states_are_a_table_of_a_million_not_of_the_largest_code() -> None:
    def answering(n: int) -> Callable[[], tuple[Any, Any]]:
        column = np.random.default_rng(0).permutation(n)[:, None] * 4_000_000_007

        def answer() -> tuple[Any, Any]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SuspectColumn)
                model = NaiveBayes(categorical_features="all").fit(column, np.arange(n) % 2)
                return model, model.predict_proba(column[:10])

        return answer

    check_growth(answering, 1_000)
    model, posterior = answering(1_000_000)()
    assert np.isfinite(posterior).all()
    assert bytes_held(model) < 100_000_000


def test_a_column_that_names_the_rows_is_pointed_out() -> None:
    rows = {"id": [f"row {i}" for i in range(40)], "x": np.tile([1.0, 2.0], 20)}
    with warns_of(SuspectColumn, "id", "exclude=['id']"):
        NaiveBayes().fit(rows, np.arange(40) % 2)
