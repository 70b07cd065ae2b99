"""Directed acyclic graphs: what is refused, and in which words."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit.errors import CyclicGraph, SettingError
from refusals import refuses, unnamed

NODES = ("a", "b", "c", "d")


def test_what_it_tells():
    dag = Dag.of({"b": ["a"], "c": ("b", "a"), "d": None}, NODES)
    assert dag.parents == ((), ("a",), ("b", "a"), ())
    assert dag.parents_of("c") == ("b", "a")  # in the order given
    assert dag.arcs == (("a", "b"), ("b", "c"), ("a", "c"))
    assert dag.as_mapping() == {"a": (), "b": ("a",), "c": ("b", "a"), "d": ()}
    assert dag.position == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert Dag.of(dag.as_mapping(), NODES) == dag
    assert hash(Dag.of(dag.as_mapping(), NODES)) == hash(dag)


@pytest.mark.parametrize(
    ("parents", "wanted"),
    [
        ("a", ("a",)),
        (["a"], ("a",)),
        ({"a"}, ("a",)),
        (None, ()),
        ((), ()),
        ([], ()),
        (frozenset("a"), ("a",)),
    ],
    ids=str,
)
def test_parents_may_be_one_name_or_some(parents, wanted):
    assert Dag.of({"b": parents}, NODES).parents_of("b") == wanted


def test_names_need_not_be_strings():
    dag = Dag.of({1: 0, (2, "x"): [1, 0]}, (0, 1, (2, "x")))
    assert dag.parents == ((), (0,), (1, 0))
    assert Dag.of({"b": 0}, (0, "b")).parents_of("b") == (0,)


def test_empty():
    assert Dag((), ()).arcs == ()
    assert Dag.of({}, NODES).parents == ((), (), (), ())


@pytest.mark.parametrize(
    ("structure", "says"),
    [
        ({"a": ["a"]}, ["cycle", "'a' → 'a'"]),
        ({"a": ["b"], "b": ["a"]}, ["cycle", "'a' → 'b' → 'a'"]),
        ({"b": ["a"], "c": ["b"], "a": ["c"]}, ["cycle", "'a' → 'b' → 'c' → 'a'"]),
        ({"d": ["c"], "b": ["d", "a"], "c": ["a", "b"]}, ["cycle", "'b' → 'c' → 'd' → 'b'"]),
        ({"z": ["a"]}, ["z", "a", "b", "c", "d"]),
        ({"a": ["z"]}, ["z", "a", "b", "c", "d"]),
        ({"a": "bc"}, ["bc", "a"]),
        ({"a": ["b", "c", "b"]}, ["a", "b", "twice"]),
        ({"a": 5}, [5, "a"]),
        (["a"], ["structure", "['a']"]),
        (None, ["structure", None]),
        ({"a": [["b"]]}, ["['b']"]),
        ({"a": {"b": 1}}, ["{'b': 1}", "a"]),
        ({"a": 1.5}, [1.5, "a"]),
    ],
    ids=str,
)
def test_what_is_refused(structure, says):
    with refuses(SettingError, *says):
        Dag.of(structure, NODES)


@pytest.mark.parametrize("parents", [np.array(["a"]), np.array(["a", "c"])], ids=str)
def test_parents_in_an_array_are_names_or_refused(parents):
    with contextlib.suppress(SettingError):
        assert Dag.of({"b": parents}, NODES).parents_of("b") == tuple(parents.tolist())


def test_a_long_listing_is_cut_short():
    names = tuple(f"n{i}" for i in range(30))
    with refuses(SettingError, "z", "n11"):
        Dag.of({"z": ["n1"]}, names)


def test_nodes_differ_and_each_has_its_parents():
    for nodes, parents in ((("a", "a"), ((), ())), (("a", "b"), ((),)), (("a",), ((), ()))):
        with pytest.raises(SettingError):
            Dag(nodes, parents)


@given(data=st.data(), d=st.integers(1, 7))
def test_a_graph_is_refused_exactly_where_it_has_a_cycle(data, d):
    arcs = data.draw(st.sets(st.tuples(st.integers(0, d - 1), st.integers(0, d - 1)), max_size=9))
    structure = {j: [i for i, k in sorted(arcs) if k == j] for j in range(d)}
    left = set(range(d))
    while free := {j for j in left if not left & set(structure[j])}:
        left -= free
    if not left:
        assert set(Dag.of(structure, range(d)).arcs) == arcs
        return
    with pytest.raises(CyclicGraph) as refusal:
        Dag.of(structure, range(d))
    named = refusal.value.cycle
    assert unnamed(str(refusal.value), " → ".join(map(str, named))) == []
    assert named[0] == named[-1]
    assert all(arc in arcs for arc in itertools.pairwise(named))


def test_a_long_chain_needs_no_recursion():
    n = 5_000
    chain = {i: [i + 1] for i in range(n - 1)}
    assert len(Dag.of(chain, range(n)).arcs) == n - 1
    with refuses(CyclicGraph, f"0 → {n - 1} → {n - 2}"):
        Dag.of({**chain, n - 1: [0]}, range(n))
