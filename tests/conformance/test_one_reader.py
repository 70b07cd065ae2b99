"""Rows are read in one place: the same fault is the same error, whoever was given the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bayeskit import (
    TAN,
    BayesianNetwork,
    Discretizer,
    GaussianMixture,
    LatentClass,
    NaiveBayes,
    learn_network,
)
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit.errors import ColumnError, DataError, DataTypeError, InfiniteValue, UnseenState, WeightError
from refusals import refuses

LABELS = ["u", "v", "u", "v"]


def network():
    return BayesianNetwork({"a": [], "b": []}, {"a": float, "b": float})


# Whoever takes numbers, by name; weights where it takes any.
DOORS = {
    "NaiveBayes": lambda rows, w=None: NaiveBayes().fit(rows, LABELS, w),
    "GaussianMixture": lambda rows, w=None: GaussianMixture(1).fit(rows, None, w),
    "LatentClass": lambda rows, w=None: LatentClass(1).fit(rows, None, w),
    "learn_network": lambda rows, w=None: learn_network(rows, sample_weight=w),
    "network.fit": lambda rows, w=None: network().fit(rows, sample_weight=w),
    "network.fit by EM": lambda rows, w=None: network().fit(rows, sample_weight=w, method="em"),
}


def numbers(**changed):
    rows = {"a": np.array([0.5, 1.5, 2.5, 3.5]), "b": np.array([1.5, 0.5, 3.5, 2.5])}
    return {**rows, **{name: np.array(column) for name, column in changed.items()}}


@pytest.mark.parametrize("door", DOORS)
def test_rows_of_numbers_are_taken(door):
    DOORS[door](numbers(), [1.0, 2.0, 0.0, 1.0])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", [dict, pd.DataFrame], ids=["mapping", "frame"])
def test_infinity_is_named_with_its_column_and_row(door, form):
    with pytest.raises(InfiniteValue) as caught:
        DOORS[door](form(numbers(b=[1.5, 0.5, -np.inf, 2.5])))
    assert (caught.value.column, caught.value.row, caught.value.value) == ("b", 2, -np.inf)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1.0, 2.0], [2, 4]),
        ([1.0, -2.0, 1.0, 1.0], [1, -2.0]),
        ([1.0, 1.0, np.nan, 1.0], [2, "nan"]),
        ([0.0] * 4, ["zero"]),
        (["a"] * 4, ["numbers"]),
    ],
)
def test_weights_that_mean_nothing(door, weights, says):
    with refuses(WeightError, *says):
        DOORS[door](numbers(), weights)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("rows", "error", "says"),
    [
        ({"a": [0.5, 1.5], "b": [0.5]}, DataError, ["lengths", "[1, 2]"]),
        ({"a": 3, "b": [0.5]}, DataTypeError, ["a"]),
        ({"a": [], "b": []}, DataError, [0, "sample"]),
        (pd.DataFrame([[0.5, 1.5]], columns=["a", "a"]), ColumnError, ["a"]),
        (3, DataTypeError, ["int"]),
        (numbers(b=np.array(["2020-01-01"] * 4, "M8[D]")), ColumnError, ["b", "dates"]),
    ],
    ids=["lengths", "no column", "empty", "twice", "no rows", "dates"],
)
def test_what_is_no_table(door, rows, error, says):
    with refuses(error, *says):
        DOORS[door](rows)


@pytest.mark.parametrize("make", [TAN, LatentClass, GaussianMixture, Discretizer])
def test_sparse_matrices_are_refused_alike(make):
    with refuses(DataTypeError, make.__name__):
        make().fit(sparse.csr_matrix(np.eye(4)), LABELS)


CODED = [
    {"s": ["p", None, "q"], "t": [True, False, True]},
    pd.DataFrame({"s": pd.Categorical(["p", None, "q"]), "t": [True, False, True]}),
    {"s": np.array(["p", None, "q"], object), "t": np.array([1, 0, 1])},
]


@pytest.mark.parametrize("rows", CODED, ids=["lists", "frame", "arrays"])
def test_a_missing_cell_has_the_code_after_the_last_state_everywhere(rows):
    """What classifiers count, what searches read, and what a network is asked about: the same codes."""
    from bayeskit._data.encode import encode
    from bayeskit._data.table import open_table
    from bayeskit._networks.arguments import Rows
    from bayeskit.extending import Reading
    from bayeskit.statistics import Variable

    searched = read_nodes(rows)
    assert searched.codes[0].tolist() == [0, 2, 1] and searched.codes[0].dtype == np.uint8
    table = open_table(rows)
    schema = Reading("all").schema_of(table, Variable("y", "categorical"))
    counted = encode(table, schema, "grow").chunk(0, 3).codes
    asked = Rows(rows, searched.variables, "error")
    for j in range(2):
        assert counted[:, j].tolist() == searched.codes[j].tolist() == asked.codes(j).tolist()


def test_a_value_that_is_no_state_is_told_alike():
    model = NaiveBayes(unseen="error").fit({"s": ["p", "q"]}, ["u", "v"])
    asked = BayesianNetwork({"s": []}, {"s": ["p", "q"]}).fit({"s": ["p", "q"]})
    rows, said = {"s": ["p", "r"]}, []
    for answer in (model.predict, lambda rows: asked.log_prob(rows, unseen="error")):
        with pytest.raises(UnseenState) as caught:
            answer(rows)
        said.append(str(caught.value))
    assert said[0] == said[1] and "Row 1" in said[0] and "'r'" in said[0]
