"""Counts of pairs and cut points in a file: what goes in comes out, and what was forged is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayeskit._counting.backend import count_rows
from bayeskit._data.encode import encode
from bayeskit._data.table import open_table
from bayeskit._io.saved import SavedContent, write_saved
from bayeskit._io.statistics import pack_statistics
from bayeskit.errors import ModelFormatError
from bayeskit.extending import Reading
from bayeskit.statistics import Plan, Variable, load_statistics, save_statistics
from refusals import refuses

ROWS = {"s": ["p", "q", None, "p"], "f": [0.5, 1.5, 2.5, np.nan]}


def counted() -> Any:
    table = open_table(ROWS)
    schema = Reading(cuts={"f": [1.0, 2.0]}).schema_of(table, Variable("y", "categorical"))
    encoded = encode(table, schema, "grow", y=["a", "b", "a", "b"], with_target=True)
    return count_rows(encoded, Plan.pairs(encoded.schema))


def test_pairs_and_cuts_come_back(tmp_path):
    statistics = counted()
    save_statistics(statistics, tmp_path / "counts")
    again = load_statistics(tmp_path / "counts")
    assert again.schema == statistics.schema
    assert again.schema["f"].cuts == (1.0, 2.0)
    assert again.schema["s"].cuts is None
    assert again.plan == statistics.plan
    for name, array in statistics.parts["pairs"].arrays().items():
        np.testing.assert_array_equal(again.parts["pairs"].arrays()[name], array)
    assert (again + statistics).class_counts.tolist() == [4.0, 4.0]


def test_no_cut_is_a_cut_variable_too(tmp_path):
    schema = Reading(cuts={"f": []}).schema_of(open_table(ROWS), Variable("y", "categorical", ("a",)))
    encoded = encode(open_table(ROWS), schema, "grow", y=["a"] * 4, with_target=True)
    save_statistics(count_rows(encoded, Plan.pairs(encoded.schema)), tmp_path / "counts")
    assert load_statistics(tmp_path / "counts").schema["f"].cuts == ()


def cut_at(cuts: Any) -> Any:
    def edit(content: Any, arrays: Any) -> None:
        content["attributes"][1]["cuts"] = cuts

    return edit


def cell(name: str, place: Any, value: float) -> Any:
    def edit(content: Any, arrays: Any) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return edit


def without(name: str) -> Any:
    return lambda content, arrays: arrays.pop(name)


def shorter(content: Any, arrays: Any) -> None:
    arrays["pairs/counts"] = np.ascontiguousarray(arrays["pairs/counts"][:-1])


def pairs_of_strangers(content: Any, arrays: Any) -> None:
    content["plan"] = [[kind, ["nowhere", "f"]] for kind, _ in content["plan"]]


def pairs_of_some(content: Any, arrays: Any) -> None:
    content["plan"] = [[kind, names[:1] if kind == "pairs" else names] for kind, names in content["plan"]]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (cut_at([2.0, 1.0]), ["f", "[2.0, 1.0]"]),
        (cut_at([1.0, 1.0]), ["f", "[1.0, 1.0]"]),
        (cut_at([1, 2]), ["f", "[1, 2]"]),
        (cut_at("12"), ["f", "12"]),
        (cut_at([1.0, "x"]), ["f", "[1.0, 'x']"]),
        (cut_at([True, False]), ["f", "[True, False]"]),
        (cut_at([1.0]), ["f", 1, 3]),
        (cut_at([1.0, 2.0, 3.0]), ["f", 3]),
        (cell("pairs/counts", (0, 0, 0), -1.0), ["pairs/counts", "negative"]),
        (cell("pairs/counts", (0, 0, 0), np.nan), ["pairs/counts", "NaN"]),
        (cell("pairs/margin", 0, -1.0), ["pairs/margin", "negative"]),
        (cell("pairs/offsets", 1, 1), ["pairs/offsets"]),
        (without("pairs/counts"), ["pairs/counts"]),
        (shorter, ["pairs/counts", "shape"]),
        (pairs_of_strangers, ["tables", "nowhere"]),
    ],
)
def test_forged_files_are_refused(tmp_path, edit, says):
    content, arrays = pack_statistics(counted())
    edit(content, arrays)
    write_saved(SavedContent("statistics", content, arrays), tmp_path / "counts")
    with refuses(ModelFormatError, *says):
        load_statistics(tmp_path / "counts")


def test_a_table_that_is_not_symmetric_or_not_its_own_margin_is_refused(tmp_path):
    """n(x_i, x_j) stands in two cells; were they to differ, answers would depend on which is read."""
    for place in [(0, 4, 0), (1, 1, 0)]:
        content, arrays = pack_statistics(counted())
        cell("pairs/counts", place, 7.0)(content, arrays)
        write_saved(SavedContent("statistics", content, arrays), tmp_path / "counts")
        with pytest.raises(ModelFormatError):
            load_statistics(tmp_path / "counts")


def test_pairs_are_of_all_categorical_columns(tmp_path):
    content, arrays = pack_statistics(counted())
    pairs_of_some(content, arrays)
    write_saved(SavedContent("statistics", content, arrays), tmp_path / "counts")
    with refuses(ModelFormatError, "pairs", "['s']", "['s', 'f']"):
        load_statistics(tmp_path / "counts")
