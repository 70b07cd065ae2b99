"""Rows in mappings, lists and arrays of objects, with cells of odd kinds."""

from __future__ import annotations

from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction

import numpy as np
from bad_cases import Given, case, enter, given
from estimators import small_rows

NO_NUMBER = "numeric|number"

enter("mapping_of_columns", lambda: given(OrderedDict(a=small_rows()[:, 0], b=[0, 1] * 6), n_test=12))
enter(
    "mapping_of_unequal_columns",
    lambda: given({"a": np.arange(12), "b": np.arange(11)}),
    "",
    "[11, 12]",
)
enter("mapping_of_nothing", lambda: given({}, []), "", "0&(0, 0)")
enter("mapping_of_numbers", lambda: given({"a": 1.0, "b": 2.0}, [0]), "", "a&1.0")
enter(
    "lists_of_strings_and_numbers",
    lambda: given([["x", 1.0], ["y", 2.0], ["x", None], [None, 0.5]] * 3),
    "N",
    NO_NUMBER,
)
enter("strings", lambda: given(np.resize(np.array(["x", "y", "z"]), (12, 2))), "N", NO_NUMBER)
enter(
    "bytes_in_cells",
    lambda: given(np.resize(np.array([b"x", b"y", b"z"]), (12, 2))),
    "",
    NO_NUMBER,
    either="N",
)
enter(
    "strings_that_are_numbers",
    lambda: given(np.resize(np.array(["1", "2", "0"]), (12, 2))),
    "N",
    NO_NUMBER,
    either="Ggbmck",
)
enter("objects_that_are_numbers", lambda: given(small_rows().astype(object)))


@case("NGgk", "NaN")
def objects_with_none() -> Given:
    rows = small_rows().astype(object)
    rows[3, 1] = None
    return given(rows)


@case("NGgbmck", NO_NUMBER)
def fractions_and_decimals_in_objects() -> Given:
    rows = small_rows().astype(object)
    rows[:, 1] = [Fraction(1), Decimal(2)] * 6
    return given(rows)


@case("", "x1&set")
def sets_in_cells() -> Given:
    rows = small_rows().astype(object)
    for i in range(12):
        rows[i, 1] = {i}
    return given(rows)


@case("N", NO_NUMBER)
def tuples_in_cells() -> Given:
    rows = small_rows().astype(object)
    for i in range(12):
        rows[i, 1] = (i % 2, "x")
    return given(rows)
