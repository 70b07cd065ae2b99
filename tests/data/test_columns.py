"""Arrays of any dtype: their kind, their codes with labels, their numbers."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bayeskit._data.columns import LARGEST_SPAN, array_kind, factorize_array, is_missing, numbers_of_array
from bayeskit.errors import BayeskitError, ColumnError, DataTypeError
from refusals import refuses

STRINGS = getattr(np.dtypes, "StringDType", None)


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def decoded(coded):
    """The values that codes and labels stand for, None where missing."""
    codes = np.asarray(coded.codes).astype(object).tolist()
    assert all(-1 <= code < len(coded.labels) for code in codes)
    return [None if code == -1 else coded.labels[code] for code in codes]


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.array([1, 2]), "numeric"),
        (np.array([1, 2], np.uint8), "numeric"),
        (np.array([1.5, np.nan]), "numeric"),
        (np.array([1.5], np.float16), "numeric"),
        (np.array([True, False]), "categorical"),
        (np.array(["a", "1"]), "categorical"),
        (np.array([b"a"]), "categorical"),
        (objects(1, 2.5, None), "numeric"),
        (objects(np.int8(1), np.float32(2)), "numeric"),
        (objects(1, "a"), "categorical"),
        (objects("1", "2"), "categorical"),
        (objects(True, False), "categorical"),
        (objects(1, True), "categorical"),
        (objects(None, None), "numeric"),
        (objects(float("nan")), "numeric"),
        (objects((1, 2)), "categorical"),
    ],
)
def test_the_kind_of_an_array(array, kind):
    assert array_kind(array, "x") == kind


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.array([1j]), ["x", "complex"]),
        (np.array(["2020-01-01"], "datetime64[D]"), ["x", "exclude=['x']"]),
        (np.array([1], "timedelta64[s]"), ["x", "exclude=['x']"]),
        (np.zeros(2, dtype=[("a", int)]), ["x", "dtype", "a"]),
    ],
)
def test_arrays_that_are_neither(array, says):
    for read in (array_kind, factorize_array):
        with refuses(ColumnError, *says):
            read(array, "x")


@pytest.mark.parametrize(
    ("value", "missing"),
    [
        (None, True),
        (math.nan, True),
        (np.float32("nan"), True),
        (np.datetime64("NaT"), True),
        ("nan", False),
        ("", False),
        (0, False),
        (False, False),
        ((), False),
        (np.nan + 1j, True),
        (Decimal("NaN"), True),
        (date(2020, 1, 1), False),
        (np.array([1, 2]), False),
    ],
)
def test_what_is_missing(value, missing):
    assert is_missing(value) is missing


def test_pandas_own_missing_values():
    pandas = pytest.importorskip("pandas")
    assert is_missing(pandas.NA)
    assert is_missing(pandas.NaT)


@given(
    arrays(st.sampled_from([np.int8, np.uint8, np.int16, np.uint16, np.int64, np.uint64]), st.integers(1, 40))
)
def test_integers_come_back(array):
    assert decoded(factorize_array(array, "x")) == array.tolist()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(-128, 128).astype(np.int8),
        np.resize(np.array([-128, 127], np.int8), 20),
        np.resize(np.array([-32768, 32766], np.int16), 5000),
        np.resize(np.array([2**63, 2**63 + 5], np.uint64), 9),
        np.array([-(2**63), 2**63 - 1]),
        np.array([0, 2**64 - 1], np.uint64),
        np.resize(np.array([7, 7 + LARGEST_SPAN - 1]), 9000),
        np.resize(np.array([7, 7 + LARGEST_SPAN]), 9000),
        np.resize(np.array([0, 200], np.uint8), 90),
        np.array([5]),
    ],
    ids=str,
)
def test_integers_at_the_edges_come_back(array):
    coded = factorize_array(array, "x")
    assert decoded(coded) == array.tolist()
    assert all(type(label) is int for label in list(coded.labels)[:3])


@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(allow_infinity=False, width=32)))
def test_floats_come_back_and_nan_is_missing(array):
    values = decoded(factorize_array(array, "x"))
    for value, wanted in zip(values, array.tolist(), strict=True):
        assert value is None if math.isnan(wanted) else value == wanted


def test_whole_floats_are_labelled_by_whole_numbers():
    labels = factorize_array(np.array([2.0, 0.5, -0.0, np.nan, 0.0]), "x").labels
    assert labels == [0, 0.5, 2]
    assert [type(label) for label in labels] == [int, float, int]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_no_category(value):
    with refuses(ColumnError, "x", 2):
        factorize_array(np.array([1.0, np.nan, value]), "x")


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.array([True, False, True]), [True, False, True]),
        (np.array(["b", "a", "nan", ""]), ["b", "a", "nan", ""]),
        (np.array([b"b", b"a"]), [b"b", b"a"]),
        (objects("b", None, "a", math.nan, "b"), ["b", None, "a", None, "b"]),
        (objects(3, "a", (1, 2), 3.0), [3, "a", (1, 2), 3]),
        (objects(np.int64(3), np.str_("a"), np.float64(0.5)), [3, "a", 0.5]),
        (objects(np.float64("nan"), np.datetime64("NaT"), True), [None, None, True]),
        (objects(), []),
    ],
    ids=str,
)
def test_labels_come_back(array, values):
    coded = factorize_array(array, "x")
    assert decoded(coded) == values
    assert not coded.declared
    assert not any(isinstance(label, np.generic) for label in coded.labels)


@pytest.mark.skipif(STRINGS is None, reason="NumPy 1 has no variable-width strings")
def test_variable_width_strings():
    assert decoded(factorize_array(np.array(["b", "a", "b"], STRINGS()), "x")) == ["b", "a", "b"]
    gaps = np.array(["b", np.nan, "a", "b"], STRINGS(na_object=np.nan))
    assert decoded(factorize_array(gaps, "x")) == ["b", None, "a", "b"]
    nones = np.array(["b", None], STRINGS(na_object=None))
    assert decoded(factorize_array(nones, "x")) == ["b", None]


@pytest.mark.parametrize(
    ("value", "what"), [([1, 2], "list"), ({"a": 1}, "dict"), (np.array([1, 2]), "ndarray")]
)
def test_what_cannot_be_a_label_is_named_with_its_row(value, what):
    with refuses(ColumnError, "x", what, 1):
        factorize_array(objects("a", value), "x")


@pytest.mark.parametrize(
    ("array", "numbers"),
    [
        (np.array([1, 2], np.int8), [1, 2]),
        (np.array([True, False]), [1, 0]),
        (np.array([1.5, np.nan]), [1.5, np.nan]),
        (objects(1, None, 2.5, np.float32(3)), [1, np.nan, 2.5, 3]),
        (objects("1.5", "2"), [1.5, 2]),
        (np.array(["1.5", "2"]), [1.5, 2]),
        (objects(Decimal("0.5"), 2**70), [0.5, 2.0**70]),
    ],
    ids=str,
)
def test_numbers(array, numbers):
    got = numbers_of_array(array, "x")
    assert got.dtype.kind in "iufb"
    np.testing.assert_array_equal(got.astype(float), numbers)


@pytest.mark.parametrize(
    ("array", "error", "says"),
    [
        (objects(1, "a"), ColumnError, ["x", "a"]),
        (np.array(["a"]), ColumnError, ["x", "a"]),
        (objects(1, [2]), BayeskitError, ["x"]),
        (objects({}), DataTypeError, ["x", "dict"]),
    ],
)
def test_what_is_no_number(array, error, says):
    with refuses(error, *says):
        numbers_of_array(array, "x")
