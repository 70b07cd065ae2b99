"""The ID algorithm: formulas of known graphs, graphs whose effects are known not to be identifiable, and a theorem."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit._graphs.identification import Hedge, ObservedGraph, identify, written
from graph_twin import below, dags


def graph(arcs, bows=""):
    """Read "xz zy" as x → z → y, and bows "xy" as a hidden common cause of x and y."""
    nodes = dict.fromkeys("".join(arcs.split()))
    parents = {node: [] for node in nodes}
    hidden = []
    for parent, child in arcs.split():
        parents[child].append(parent)
    for bow in bows.split():
        hidden.append(f"u_{bow}")
        for child in bow:
            parents[child].append(hidden[-1])
    return Dag.of(parents, [*nodes, *hidden]), tuple(hidden)


@pytest.mark.parametrize(
    ("arcs", "bows", "formula"),
    [
        ("xy", "", "P(y | x)"),
        ("zx zy xy", "", "Σ_z P(z) P(y | z, x)"),
        ("xz zy", "xy", "Σ_z P(z | x) Σ_x' P(x') P(y | x', z)"),  # the front door
        ("xz zy wx wy", "xy", "Σ_w, z P(w) P(z | x) Σ_x' P(x' | w) P(y | w, x', z)"),
        # The napkin: no adjustment set and no front door, yet identifiable.
        (
            "wz zx xy",
            "wx wy",
            "Σ_z P(z) [Σ_w P(w) P(x | w, z) P(y | w, z, x)] / [Σ_w P(w) P(x | w, z)]",
        ),
        ("yx zx", "", "P(y)"),
    ],
)
def test_formulas(arcs, bows, formula):
    dag, hidden = graph(arcs, bows)
    assert written(identify(dag, ("x",), ("y",), hidden), free="xy") == formula


@pytest.mark.parametrize(
    ("arcs", "bows", "hedge", "root"),
    [
        ("xy", "xy", "xy", "y"),  # the bow
        ("zx xy", "xy", "xy", "y"),  # an instrument does not identify
        ("xz zy", "xz", "xz", "z"),
        ("xz zy", "xy zy", "xzy", "zy"),
        ("xy zy", "xz zy", "xzy", "zy"),
    ],
)
def test_hedges(arcs, bows, hedge, root):
    dag, hidden = graph(arcs, bows)
    with pytest.raises(Hedge) as caught:
        identify(dag, ("x",), ("y",), hidden)
    assert set(caught.value.nodes) == set(hedge) and set(caught.value.root) == set(root)


@given(dags(least=3, most=7), st.data())
@settings(deadline=None, max_examples=200)
def test_the_effect_on_everything_else(dag, data):
    """Tian and Pearl (2002): identifiable if and only if no chain of hidden causes leads from x to a child of it."""
    nodes = data.draw(st.permutations(dag.nodes))
    hidden = tuple(n for n in nodes[1:] if data.draw(st.booleans()))
    x, others = nodes[0], tuple(n for n in nodes[1:] if n not in hidden)
    if not others:
        return
    seen = {n: reached_unseen(dag, n, hidden) for n in dag.nodes}
    children = seen[x]
    groups = [seen[u] for u in hidden]
    linked = {x}
    while more := {n for g in groups if g & linked for n in g} - linked:
        linked |= more
    if linked.isdisjoint(children):
        identify(dag, (x,), others, hidden)
        return
    with pytest.raises(Hedge) as caught:
        identify(dag, (x,), others, hidden)
    assert x in caught.value.nodes and set(caught.value.root) < set(caught.value.nodes)


def reached_unseen(dag, node, hidden):
    """Return the observed nodes below a node that directed paths over hidden ones reach."""
    found = set()
    for child in dag.children[node]:
        found |= reached_unseen(dag, child, hidden) if child in hidden else {child}
    return found


@given(dags(least=2, most=6), st.data())
def test_nothing_hidden_is_always_identifiable(dag, data):
    x, y, *_ = data.draw(st.permutations(dag.nodes))
    formula = identify(dag, (x,), (y,))
    assert y in formula.free and formula.free <= {x, y}
    if y not in below(dag, x):
        assert written(formula) == f"P({y})"


def test_hidden_chains_are_projected():
    dag = Dag.of({"b": ["a"], "c": ["b"], "d": ["b"], "e": ["c", "d"]}, "abcde")
    graph_ = ObservedGraph(dag, "b")
    assert graph_.dag.arcs == (("a", "c"), ("a", "d"), ("c", "e"), ("d", "e"))
    assert sorted(map(sorted, graph_.components(graph_.nodes))) == [["a"], ["c", "d"], ["e"]]
