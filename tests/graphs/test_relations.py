"""Who stands above, below and beside a node."""

from __future__ import annotations

from hypothesis import given

from bayeskit._graphs.dag import (
    Dag,
    ancestors,
    descendants,
    markov_blanket,
    moral_neighbours,
    topological_order,
)
from bayeskit._graphs.separation import d_separated
from graph_twin import below, dags

SEVEN = Dag.of(
    {"x4": ["x1", "x2", "x3"], "x5": ["x1", "x2", "x3"], "x6": ["x4"], "x7": ["x4", "x5"]},
    [f"x{k}" for k in range(1, 8)],
)


def test_seven_nodes():
    assert topological_order(SEVEN) == SEVEN.nodes
    assert ancestors(SEVEN, "x6") == ("x1", "x2", "x3", "x4")
    assert ancestors(SEVEN, "x1") == ()
    assert descendants(SEVEN, "x5") == ("x7",)
    assert descendants(SEVEN, "x1") == ("x4", "x5", "x6", "x7")
    assert descendants(SEVEN, "x4", "x5") == ("x6", "x7")
    assert markov_blanket(SEVEN, "x4") == ("x1", "x2", "x3", "x5", "x6", "x7")
    assert markov_blanket(SEVEN, "x6") == ("x4",)
    assert moral_neighbours(SEVEN)["x1"] == ("x2", "x3", "x4", "x5")
    assert moral_neighbours(SEVEN)["x7"] == ("x4", "x5")


@given(dags(most=8))
def test_an_order_has_parents_first_and_keeps_what_it_can(dag):
    order = topological_order(dag)
    place = {node: k for k, node in enumerate(order)}
    assert sorted(order) == sorted(dag.nodes)
    assert all(place[p] < place[c] for p, c in dag.arcs)
    turned = Dag.of(dag.as_mapping(), order)
    assert topological_order(turned) == order


@given(dags(most=8))
def test_above_and_below(dag):
    for node in dag.nodes:
        found = descendants(dag, node)
        assert set(found) == below(dag, node) - {node}
        assert list(found) == sorted(found, key=dag.nodes.index)
        assert all(node in ancestors(dag, other) for other in found)
        assert set(ancestors(dag, node)) == {n for n in dag.nodes if node in below(dag, n) - {n}}


@given(dags(most=7))
def test_the_blanket_is_the_moral_neighbourhood_and_the_least_that_separates(dag):
    moral = moral_neighbours(dag)
    for node in dag.nodes:
        blanket = markov_blanket(dag, node)
        assert moral[node] == blanket
        rest = set(dag.nodes) - {node, *blanket}
        assert d_separated(dag, [node], rest, blanket)
        for needed in blanket:
            assert not d_separated(dag, [node], [needed], set(blanket) - {needed})


def test_a_long_chain():
    n = 10_000
    chain = Dag.of({k: [k + 1] for k in range(n - 1)}, range(n))
    assert topological_order(chain) == tuple(reversed(range(n)))
    assert len(ancestors(chain, 0)) == len(descendants(chain, n - 1)) == n - 1
    assert moral_neighbours(chain)[5] == (4, 6)
