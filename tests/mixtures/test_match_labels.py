"""Components lined up with classes: the best one-to-one assignment, by brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit.errors import DataError
from bayeskit.mixtures import match_labels
from refusals import refuses


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd")), min_size=1, max_size=30))
def test_no_assignment_of_one_to_one_agrees_in_more_rows(rows):
    components, labels = zip(*rows, strict=True)
    found = match_labels(components, labels)
    table = found.table
    assert table.sum() == len(rows)
    wide = np.zeros((4, 4), dtype=int)
    wide[: table.shape[0], : table.shape[1]] = table
    best = max(sum(wide[i, p[i]] for i in range(4)) for p in permutations(range(4)))
    right = sum(found[c] == label for c, label in rows)
    assert found.accuracy == pytest.approx(right / len(rows))
    assert right >= best
    if len(set(found.values())) == len(found):
        assert right == best
    assert found.translate(components).tolist() == [found[c] for c in components]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=20), st.randoms())
def test_rows_in_any_order_give_the_same(rows, random):
    first = match_labels(*zip(*rows, strict=True))
    random.shuffle(rows)
    again = match_labels(*zip(*rows, strict=True))
    assert dict(first) == dict(again) and first.accuracy == again.accuracy


def test_components_beyond_the_classes_go_with_the_majority():
    # 2 has three rows of b and one of a; 0 and 1 hold the one-to-one places, with more rows.
    components = [0] * 5 + [1] * 6 + [2] * 4
    labels = ["a"] * 5 + ["b"] * 6 + ["b", "b", "b", "a"]
    found = match_labels(components, labels)
    assert dict(found) == {0: "a", 1: "b", 2: "b"}
    assert found.accuracy == pytest.approx(14 / 15)


def test_one_to_one_may_agree_less_than_majorities_and_is_kept():
    found = match_labels([0] * 10 + [1] * 10, ["a"] * 18 + ["b"] * 2)
    assert dict(found) == {0: "a", 1: "b"}
    assert found.accuracy == pytest.approx(12 / 20)


@pytest.mark.parametrize(
    "make",
    [
        list,
        pd.Series,
        pl.Series,
        lambda v: pa.chunked_array([v]),
        pd.Categorical,
        lambda v: np.array(v, dtype=object),
    ],
)
def test_missing_labels_are_left_out_in_every_library(make):
    found = match_labels(np.array([0, 0, 1, 1, 2]), make(["x", "x", "y", None, None]))
    assert dict(found) == {0: "x", 1: "y", 2: None}
    assert found.accuracy == 1.0


@pytest.mark.parametrize(
    ("components", "labels", "says"),
    [
        ([0, 1], ["a"], [2, 1]),
        ([0], [None], ["label"]),
        ([], [], ["label"]),
        ([0, None], ["a", "b"], [1, None]),
        ([[0], [1]], ["a", "b"], ["components", 2]),
        (3, ["a"], ["components", 3]),
        ([0], "a", ["labels", "a"]),
        ([0], [{"a"}], ["set"]),
    ],
)
def test_what_cannot_be_matched_is_refused(components, labels, says):
    with refuses(DataError, *says):
        match_labels(components, labels)


def test_a_component_never_matched_is_named():
    with refuses(DataError, 1, 7, "0, 1"):
        match_labels([0, 1], ["a", "b"]).translate([0, 7])
