"""Exact search: no graph is better; the limits are kept; stopped, it answers with what it has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._structure.search.optimal import exact, memory_needed
from bayeskit._structure.search_protocol import Arcs, Family, Graph, Score, answer_all
from bayeskit.errors import TooLarge
from hill_climbing_twin import MadeUp, limits, stopped
from learning_twin import all_parents, discrete_rows, is_acyclic
from refusals import refuses


@given(arcs=limits(most=4), seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_no_graph_is_better(arcs, seed):
    """Whole-number scores, so that there are ties; within required and allowed arcs and max_parents."""
    scores = MadeUp(seed)
    found = answer_all(exact(arcs), scores).parents
    assert arcs.permits(found) and is_acyclic(found)
    assert scores.total(found) == max(scores.total(graph) for graph in all_parents(arcs.n, arcs))


@pytest.mark.parametrize("max_parents", [None, 0, 1])
def test_no_graph_of_five_is_better(max_parents):
    """Over all 29,281 graphs of five nodes."""
    arcs = Arcs.all(5, max_parents)
    everything = list(all_parents(5, arcs))
    assert len(everything) == {None: 29_281, 0: 1, 1: 1296}[max_parents]
    scores = MadeUp(7, spread=1000)
    found = answer_all(exact(arcs), scores).parents
    assert scores.total(found) == max(map(scores.total, everything))


@pytest.mark.parametrize("name", ["bic", "bdeu", "k2", "aic"])
@given(rows=discrete_rows(most_variables=4))
@settings(max_examples=8)
def test_no_graph_is_better_on_rows(name, rows):
    columns, sizes = rows
    n = len(sizes)
    scores = FamilyScores(columns, sizes, Score(name))
    arcs = Arcs.all(n)

    def total(graph):
        return sum(scores([Family(v, mine)])[0][0] for v, mine in enumerate(graph))

    found = answer_all(exact(arcs), scores).parents
    best = max(map(total, all_parents(n, arcs)))
    assert total(found) == pytest.approx(best, rel=1e-12)


def test_no_parent_is_there_for_nothing():
    """Of equal families the one from which no parent can go; the lowest stay."""

    def answer(question):
        return [np.zeros(1 if family.more is None else len(family.more)) for family in question]

    assert answer_all(exact(Arcs.all(4)), answer) == Graph((0, 0, 0, 0))

    def either(question):  # 3 is told by 0 or by 2, and likes not both
        each = [
            [family.parents] if family.more is None else [family.parents | 1 << v for v in family.more]
            for family in question
        ]
        return [
            np.array([float(f.child == 3 and some in (0b001, 0b100)) for some in sets])
            for f, sets in zip(question, each, strict=True)
        ]

    assert answer_all(exact(Arcs.all(4)), either) == Graph((0, 0, 0, 0b001))


@given(arcs=limits(least=2, most=4), seed=st.integers(0, 10**6), after=st.integers(0, 12))
@settings(max_examples=40)
def test_stopped_it_answers_with_the_best_it_has(arcs, seed, after):
    scores = MadeUp(seed)
    found = stopped(exact(arcs), scores, after)
    if found is None:
        return
    graph = found.parents
    assert arcs.permits(graph) and is_acyclic(graph)
    known = {
        (f.child, some)
        for question in scores.asked
        for f in question
        for some in ([f.parents] if f.more is None else [f.parents | 1 << v for v in f.more])
    }
    known |= {(v, arcs.required[v]) for v in range(arcs.n)}
    assert all((v, mine) in known for v, mine in enumerate(graph))
    possible = [g for g in all_parents(arcs.n, arcs) if all((v, p) in known for v, p in enumerate(g))]
    assert scores.total(graph) == max(map(scores.total, possible))


def test_memory_is_asked_for_first():
    def asked(question):
        raise AssertionError("counted before the memory was looked at")

    assert memory_needed(20) < 2**27 < memory_needed(25) < 4e9
    with refuses(TooLarge, 'method="auto"') as error:
        answer_all(exact(Arcs.all(30), names=tuple(f"c{v}" for v in range(30))), asked)
    assert error.value.bytes_needed == memory_needed(30)
    assert "'c0'" in str(error.value)
    assert answer_all(exact(Arcs.all(1)), lambda question: [np.zeros(1)]) == Graph((0,))
