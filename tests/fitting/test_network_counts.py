"""Counts of a network's families: equal to a count by hand, in pieces and as a whole, where cells are missing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._fitting.networks.network_counts import NetworkCounts, configurations
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._graphs.network import Network, Node
from bayeskit.errors import Incompatible, NotCounted
from refusals import refuses

STATES = {"a": ["u", "v"], "b": ["p", "q", "r"], "c": ["s", "t"]}
PARENTS = {"a": (), "b": ("c", "a"), "x": ("a",), "c": ("a",), "y": ("b", "x")}


def rows(seed, n=40, missing=0.2):
    rng = np.random.default_rng(seed)
    data = {
        name: np.array([*states, None], object)[rng.choice(len(states) + 1, n, p=chances(states, missing))]
        for name, states in STATES.items()
    }
    for name in ("x", "y"):
        column = rng.normal(size=n)
        column[rng.random(n) < missing] = np.nan
        data[name] = column
    return data


def chances(states, missing):
    return [(1 - missing) / len(states)] * len(states) + [missing]


def counted(data, weights=None, parents=PARENTS):
    columns = read_nodes(data, states=STATES)  # those declared are discrete
    variables = dict(zip(columns.names, columns.variables, strict=True))
    network = Network(tuple(Node(variables[name], parents[name]) for name in parents))
    return network, NetworkCounts.of(network, columns, weights)


def part(data, rows):
    return {name: column[rows] for name, column in data.items()}


def by_hand(data, family, weights):
    """Return Σ weights of the rows where the whole family is present, by configuration."""
    found = np.zeros([len(STATES[name]) for name in family])
    for i, weight in enumerate(weights):
        labels = [data[name][i] for name in family]
        if None not in labels:
            found[tuple(STATES[name].index(label) for name, label in zip(family, labels, strict=True))] += (
                weight
            )
    return found


def same(network, one, other):
    for node in network.nodes:
        if node.is_discrete:
            assert one.table(network, node.name) == pytest.approx(other.table(network, node.name), abs=1e-9)
        else:
            mine, theirs = one.regressions[node.name], other.regressions[node.name]
            assert mine.n == pytest.approx(theirs.n, abs=1e-9)
            assert mine.pooled() == pytest.approx(theirs.pooled(), rel=1e-9, abs=1e-12)
    assert one.n_rows == pytest.approx(other.n_rows)


@given(seed=st.integers(0, 10**6), weighted=st.booleans(), missing=st.sampled_from([0.0, 0.3, 0.9]))
@settings(max_examples=25)
def test_each_family_counts_the_rows_where_it_is_there(seed, weighted, missing):
    data = rows(seed, missing=missing)
    weights = np.random.default_rng(seed).integers(0, 4, 40).astype(float) if weighted else None
    network, counts = counted(data, weights)
    each = np.ones(40) if weights is None else weights
    for name in STATES:
        family = (*PARENTS[name], name)
        assert counts.table(network, name) == pytest.approx(by_hand(data, family, each))
    assert counts.n_rows == each.sum()
    whole = ~np.isnan(data["x"]) & (data["a"] != None)  # noqa: E711
    for k, state in enumerate(STATES["a"]):
        here = whole & (data["a"] == state)
        assert counts.regressions["x"].n[k] == each[here].sum()
    whole = ~np.isnan(data["x"]) & ~np.isnan(data["y"]) & (data["b"] != None)  # noqa: E711
    assert counts.regressions["y"].n.sum() == each[whole].sum()


@given(seed=st.integers(0, 10**6), cut=st.integers(1, 39))
@settings(max_examples=25)
def test_any_split_equals_the_whole(seed, cut):
    data = rows(seed)
    network, whole = counted(data)
    _, a = counted(part(data, slice(cut)))
    _, b = counted(part(data, slice(cut, None)))
    same(network, a.merge(b), whole)
    same(network, b.merge(a), whole)
    same(network, whole.subtract(b), a)


def test_order_of_rows_is_nothing():
    data = rows(1)
    network, one = counted(data)
    _, other = counted(part(data, np.random.default_rng(0).permutation(40)))
    same(network, one, other)


def test_configurations():
    network, _ = counted(rows(0))
    assert configurations(network, "y") == (["b"], ["x"], 3)
    assert configurations(network, "x") == (["a"], [], 2)


def test_what_cannot_be():
    data = rows(0)
    _, counts = counted(data)
    for parents in (PARENTS | {"c": ()}, PARENTS | {"b": ("a", "c")}, {"a": (), "b": ("a",)}):
        _, other = counted(data, parents=parents)
        with refuses(Incompatible, "nodes"):
            counts.merge(other)
        with refuses(Incompatible, "nodes"):
            counts.subtract(other)
    _, twice = counted(data, np.full(40, 2.0))
    with pytest.raises(NotCounted):
        counts.subtract(twice)


def test_continuous_nodes_with_other_parents_are_other_nodes():
    data = rows(0)
    _, one = counted(data, parents={"a": (), "x": ("a",), "y": ("x",)})
    for other in ({"a": (), "x": ("a",), "y": ()}, {"a": (), "x": (), "y": ("x",)}):
        with pytest.raises(Incompatible):
            one.merge(counted(data, parents=other)[1])


def test_numeric_parents_are_not_exchanged_for_others_of_the_same_number():
    """y on x and y on z have moments of the same shape: they are still not the same sums."""
    data = rows(0) | {"z": np.arange(40.0)}
    for first, second in itertools.permutations(("x", "z"), 2):
        graphs = [{"x": (), "z": (), "y": (parent,)} for parent in (first, second)]
        one, other = (counted(data, parents=graph)[1] for graph in graphs)
        with pytest.raises(Incompatible):
            one.merge(other)
