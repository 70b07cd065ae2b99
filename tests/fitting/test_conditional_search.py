"""The search for the class alone: its moves, and its score against the network fitted and asked."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit._fitting.search.conditional_scores import ConditionalScores
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._graphs.dag import Dag
from bayeskit._structure.search.hill_climbing import conditional, deciding
from bayeskit._structure.search_protocol import Arcs, Score, Stop, answer_all, bits, members
from bayeskit.priors import BDeu


def mixed(n: int = 120, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    a = np.where(rng.random(n) < 0.5, y, rng.integers(0, 3, n))
    b = np.where(rng.random(n) < 0.5, a, rng.integers(0, 3, n)) % 2
    z = rng.normal(y + b, 1.0)
    return {
        "y": [f"c{k}" for k in y],
        "a": [f"a{k}" for k in a],
        "b": [f"b{k}" for k in b],
        "z": z,
        "w": rng.normal(z),
    }


GRAPHS: list[dict[str, list[str]]] = [
    {},
    {"a": ["y"], "b": ["y"], "z": ["y"], "w": ["y"]},
    {"y": ["a"], "b": ["y", "a"], "z": ["y", "b"]},
    {"y": ["b", "a"], "w": ["y", "z"], "z": ["b"]},
    {"a": ["b", "y"], "w": ["z", "a", "y"]},
]


def asked(rows: dict[str, Any], graph: dict[str, list[str]], names: tuple[str, ...], penalty: float) -> float:
    """The score by a network that is fitted and asked, and parameters counted by hand."""
    network = BayesianNetwork({name: graph.get(name, []) for name in names}, states={"z": float, "w": float})
    posterior = network.fit(rows, smoothing="bdeu").predict_proba(rows, "y")
    truth = [network.states("y").index(label) for label in rows["y"]]
    sizes = {"y": 3, "a": 3, "b": 2}
    parameters = 0
    for name in names:
        parents = graph.get(name, [])
        if name != "y" and "y" not in parents:
            continue
        each = sizes[name] - 1 if name in sizes else 2 + sum(p not in sizes for p in parents)
        parameters += each * math.prod(sizes.get(p, 1) for p in parents)
    return float(np.log(posterior[np.arange(len(truth)), truth]).sum()) - penalty * parameters


@pytest.mark.parametrize("name", ["bic", "aic", "loglik"])
def test_the_score_is_that_of_the_network_fitted_and_asked(name: str) -> None:
    rows = mixed()
    columns = read_nodes(rows)
    score = Score(name)
    scores = ConditionalScores(columns, 0, BDeu(1.0), score)
    place = {column: v for v, column in enumerate(columns.names)}
    sets = [tuple(bits([place[p] for p in graph.get(c, [])]) for c in columns.names) for graph in GRAPHS]
    penalty = score.penalty(columns.n_rows)
    expected = [asked(rows, graph, columns.names, penalty) for graph in GRAPHS]
    alone = [scores([deciding(parents, 0)])[0] for parents in sets]
    np.testing.assert_allclose(alone, expected, rtol=1e-9)
    # Asked beside one another, a graph that cannot be better than the first may get an upper bound instead.
    for first in range(len(sets)):
        together = scores([deciding(parents, 0) for parents in (sets[first], *sets)])
        for found, true in zip(together[1:], expected, strict=True):
            assert found == pytest.approx(true, rel=1e-9) or true <= found <= together[0]


def test_few_matrices_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    import bayeskit._fitting.search.conditional_scores as module

    rows = mixed()
    columns = read_nodes(rows)
    arcs = Arcs(tuple(0b00111 & ~(1 << v) if v < 3 else 0b11111 & ~(1 << v) for v in range(5)), (0,) * 5, 4)
    expected = answer_all(conditional(arcs, 0), ConditionalScores(columns, 0, BDeu(1.0), Score("aic")))
    monkeypatch.setattr(module, "MOST_KEPT", 1)
    few = ConditionalScores(columns, 0, BDeu(1.0), Score("aic"))
    assert answer_all(conditional(arcs, 0), few) == expected
    assert len(few._known) <= 16


def by_hand(families: tuple[tuple[int, int], ...], seed: int) -> float:
    """A score without meaning that is the same for the same families."""
    return float(np.random.default_rng([seed, *(n for family in families for n in family)]).random())


@st.composite
def limits(draw: Any, n: int) -> Arcs:
    allowed = tuple(draw(st.integers(0, (1 << n) - 1)) & ~(1 << v) for v in range(n))
    required = tuple(allowed[v] & draw(st.integers(0, (1 << v) - 1)) for v in range(n))
    most = max([draw(st.integers(1, n)), *(r.bit_count() for r in required)])
    return Arcs(allowed, required, most)


@settings(max_examples=60)
@given(st.integers(2, 5).flatmap(limits), st.integers(0, 10**6))
def test_the_limits_are_kept_and_the_answer_is_a_summit(arcs: Arcs, seed: int) -> None:
    seen: list[list[tuple[tuple[int, int], ...]]] = []

    def answer(question: Any) -> list[float]:
        seen.append([q.families for q in question])
        return [by_hand(q.families, seed) for q in question]

    found = answer_all(conditional(arcs, 0), answer).parents
    assert arcs.permits(found)
    Dag(tuple(range(arcs.n)), tuple(tuple(members(mine)) for mine in found))  # raises where there is a cycle
    here = deciding(found, 0).families
    assert seen[-1][0] == here
    assert by_hand(here, seed) == max(by_hand(other, seed) for other in seen[-1])
    # Every graph that differs in one arc near the class was asked about.
    for p, v in itertools.permutations(range(arcs.n), 2):
        changed = (*found[:v], found[v] ^ (1 << p), *found[v + 1 :])
        if 0 not in (p, v) and not found[v] & 1:
            continue
        try:
            Dag(tuple(range(arcs.n)), tuple(tuple(members(mine)) for mine in changed))
        except ValueError:
            continue
        if arcs.permits(changed):
            assert deciding(changed, 0).families in seen[-1]


def test_an_arc_at_the_class_is_turned_round() -> None:
    """Taking it out or keeping it is worth nothing; only the other direction is."""

    def answer(question: Any) -> list[float]:
        return [float(q.families == ((0, 0b10),)) for q in question]

    assert answer_all(conditional(Arcs.all(2), 0, (0, 0b01)), answer).parents == (0b10, 0)


def test_a_search_that_is_stopped_returns_the_best_so_far() -> None:
    search = conditional(Arcs.all(3), 0)
    question = next(search)
    search.send([float(len(q.families)) for q in question])
    with pytest.raises(StopIteration) as end:
        search.throw(Stop())
    assert end.value.value.parents == (0, 1, 0)
