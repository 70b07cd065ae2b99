"""Labels and weights at the door."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import AutoBayes, NaiveBayes, load
from bayeskit._data.class_labels import as_labels, as_weights, encode_labels
from bayeskit.errors import BayeskitError, DataError, DataTypeError, Incompatible, UnseenClass, WeightError
from bayeskit.statistics import Variable
from refusals import refuses

BARE = Variable("y", "categorical")
WORDS = ["yes", "no", "yes"]


def target(*states, declared=0, closed=False):
    return Variable("y", "categorical", states, declared, closed=closed)


def encoded(y, start=BARE, policy="grow"):
    """The labels that the codes stand for, in the target that comes back."""
    grown, codes = encode_labels(as_labels(y, len(y)), start, policy)
    assert codes.dtype == np.uint32
    assert (codes < grown.size).all()
    return grown, [grown.states[code] for code in codes.tolist()]


@pytest.mark.parametrize(
    ("y", "wanted"),
    [
        (WORDS, WORDS),
        (tuple(WORDS), WORDS),
        (np.array(WORDS), WORDS),
        (np.array(WORDS, object), WORDS),
        (pd.Series(WORDS, index=[7, 8, 9]), WORDS),
        (pd.Series(pd.Categorical(WORDS, ["yes", "no", "never"])), WORDS),
        (pl.Series(WORDS), WORDS),
        (pl.Series(WORDS, dtype=pl.Enum(["yes", "no"])), WORDS),
        (pa.array(WORDS), WORDS),
        (pa.chunked_array([WORDS]), WORDS),
        (pd.Index(WORDS), WORDS),
        ([3, 1, 3], [3, 1, 3]),
        (np.array([3.0, 1.0]), [3, 1]),
        ([True, False], [True, False]),
        (["a", 1, "a"], ["a", 1, "a"]),
        (np.array([250, 5], np.uint8), [250, 5]),
        (np.resize(np.array([-128, 127], np.int8), 30), [-128, 127] * 15),
        (pd.Series([1, 2], dtype="Int64"), [1, 2]),
        ([b"a", b"b"], [b"a", b"b"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_labels_come_back(y, wanted):
    grown, labels = encoded(y)
    assert labels == wanted
    assert set(wanted) <= set(grown.states)
    assert list(grown.states) == sorted(grown.states, key=lambda v: (isinstance(v, str), v))
    assert grown.n_declared == 0


@given(st.lists(st.integers(-5, 5), min_size=1), st.lists(st.integers(-8, 8), min_size=1))
def test_batches_of_whole_numbers(first, second):
    grown, labels = encoded(first)
    assert labels == first
    grown, labels = encoded(second, grown)
    assert labels == second
    grown, labels = encoded(first, grown, "error")
    assert labels == first


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64, np.int64])
@pytest.mark.parametrize("first", [-100, -1, 0, 1, 27])
def test_a_run_of_classes_met_by_any_width_of_integer(dtype, first):
    start = target(*range(first, first + 201))
    y = np.array([max(first, 0), min(first + 200, np.iinfo(dtype).max), 100], dtype=dtype)
    grown, labels = encoded(y, start, "error")
    assert grown is start
    assert labels == y.tolist()


def test_new_classes_enlarge_an_open_target_only():
    assert encoded(["b"], target("a", "c"))[0].states == ("a", "b", "c")
    assert encoded([5], target(0, 1))[0].states == (0, 1, 5)
    assert encoded(["b"], target("z", declared=1))[0].states == ("z", "b")
    closed = target("a", "c", declared=2, closed=True)
    assert encoded(["c", "a"], closed)[1] == ["c", "a"]
    with refuses(UnseenClass, "b", "a, c", "classes="):
        encoded(["a", "b"], closed)
    with refuses(UnseenClass, 7, 0, 1):
        encoded([1, 7], target(0, 1), "error")


@pytest.mark.parametrize(
    ("y", "n", "error", "says"),
    [
        (None, 2, DataError, ["y", "target="]),
        ([0, 1, 0], 2, DataError, [2, 3]),
        (np.ones((2, 2)), 2, DataError, ["1d", "(2, 2)"]),
        (7, 1, DataTypeError, ["1d", "int"]),
        ("ab", 2, DataTypeError, ["1d", "str"]),
        ([0.0, np.nan], 2, DataError, ["NaN", "semi_supervised=True"]),
        ([0.0, np.inf], 2, DataError, ["infinity", "semi_supervised=True"]),
        ([0.5, 1.0], 2, DataError, ["continuous"]),
        (["a", None], 2, DataError, [1, "semi_supervised=True"]),
        (np.array(["a", np.nan], object), 2, DataError, [1, "semi_supervised=True"]),
        (pd.Series([1, None], dtype="Int64"), 2, DataError, ["NaN", "semi_supervised=True"]),
        (pd.Series(pd.Categorical(["a", None])), 2, DataError, [1, "semi_supervised=True"]),
        (pl.Series(["a", None]), 2, DataError, [1, "semi_supervised=True"]),
        ([1j, 2], 2, DataTypeError, ["Complex"]),
        (np.array(["2020-01-01"], "datetime64[D]"), 1, BayeskitError, ["y", "exclude=['y']"]),
        ([[1], [2, 3]], 2, BayeskitError, ["y", "label"]),
    ],
    ids=lambda value: repr(value)[:25],
)
def test_labels_that_cannot_be_learned(y, n, error, says):
    with refuses(error, *says):
        encode_labels(as_labels(y, n), BARE, "grow")


def test_a_column_vector_is_taken_with_a_word():
    with pytest.warns(UserWarning, match="column-vector y"):
        assert as_labels(np.array([[1], [2]]), 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        (None, None),
        ([1, 0, 2.5], [1, 0, 2.5]),
        (2, [2, 2, 2]),
        (np.float32(0.5), [0.5, 0.5, 0.5]),
        (np.array([1, 2, 3], np.uint8), [1, 2, 3]),
        (np.arange(6.0)[::2], [0, 2, 4]),
        (pd.Series([1, 2, 3]), [1, 2, 3]),
        (pl.Series([1, 2, 3]), [1, 2, 3]),
        (pa.array([1, 2, 3]), [1, 2, 3]),
        ([True, False, True], [1, 0, 1]),
    ],
)
def test_weights(weights, wanted):
    got = as_weights(weights, 3)
    if wanted is None:
        assert got is None
    else:
        assert got.dtype == np.float64
        assert got.flags.c_contiguous
        assert got.tolist() == wanted


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1, 2], [2, 3, "sample_weight.shape"]),
        ([[1], [2], [3]], ["shape", "(3, 1)"]),
        ([1, -2, 3], [1, -2.0]),
        ([1, 2, np.nan], [2, "nan"]),
        ([np.inf, 2, 3], [0, "inf"]),
        ([0, 0, 0], ["weights", "zero"]),
        (0, ["weights", "zero"]),
        (-1, [0, -1.0, "negative"]),
        (["a", "b", "c"], ["weights", "numbers"]),
        ({"a": 1}, ["weights", "numbers"]),
        (["1", None, "2"], ["nan", 1]),
    ],
)
def test_weights_that_mean_nothing(weights, says):
    with refuses(WeightError, *says):
        as_weights(weights, 3)


TABLE = {"a": list("uvuvuvuv"), "b": list("xxyyxxyy")}
CLASSES = ["no", "yes", "no", "yes", "no", "no", "yes", "yes"]


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(CLASSES, name="class"),
        pd.Series(CLASSES, name="class", dtype="category"),
        pl.Series("class", CLASSES),
        pd.DataFrame({"class": CLASSES}),
    ],
    ids=["pandas", "categories", "polars", "frame"],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_the_name_of_a_series_of_labels_is_the_name_of_the_class(labels, tmp_path):
    for model in (
        NaiveBayes().fit(TABLE, labels),
        NaiveBayes().partial_fit(TABLE, labels),
        NaiveBayes().partial_fit(TABLE, labels).partial_fit(TABLE, CLASSES),
        NaiveBayes().lazy(TABLE, labels),
        NaiveBayes(calibration="temperature").fit(TABLE, labels),
        AutoBayes().fit(TABLE, labels),
    ):
        assert model.explain({"a": "u", "b": "x"}).page().title.startswith("class is no")
    model.save(tmp_path / "m.bayes")
    assert load(tmp_path / "m.bayes").explain({"a": "u", "b": "x"}).target == "class"


def test_labels_without_a_name_or_with_that_of_a_column_are_called_y():
    frame = pd.DataFrame(TABLE)
    unnamed = [CLASSES, np.array(CLASSES), pd.Series(CLASSES), pl.Series(CLASSES), pd.Series(CLASSES, name=0)]
    for y in [*unnamed, frame["a"]]:
        assert NaiveBayes().fit(frame, y).schema_.target.name == "y"
    # A name that is known on one side only does not stand in the way of adding counts; two names do.
    named, bare = NaiveBayes().fit(frame, pd.Series(CLASSES, name="class")), NaiveBayes().fit(frame, CLASSES)
    for both in (named + bare, bare + named):
        assert both.schema_.target.name == "class" and both.statistics_.total == 16
    with refuses(Incompatible, "class", "colour"):
        named + NaiveBayes().fit(frame, pd.Series(CLASSES, name="colour"))
    assert (both._subtract(bare)).schema_.target.name == "class"
