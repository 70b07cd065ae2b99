from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit._structure.search.neighbourhoods import iamb
from bayeskit._structure.search_protocol import Stop, bits, members
from oracle import any_answers, random_dag, separations


def run(search, answer):
    try:
        question = next(search)
        while True:
            question = search.send(answer(question))
    except StopIteration as end:
        return end.value


def blanket_of(dag, v):
    """Parents, children, and the other parents of these, as the definition says."""
    children = [c for c in dag.nodes if v in dag.parents_of(c)]
    return bits([*dag.parents_of(v), *children, *(p for c in children for p in dag.parents_of(c))]) & ~(
        1 << v
    )


@pytest.mark.parametrize("inter", [False, True])
def test_the_separations_of_a_graph_give_the_blanket(inter):
    rng = random.Random(inter)
    for _ in range(300):
        n = rng.randint(1, 9)
        dag = random_dag(rng, n, rng.choice([0.2, 0.5]))
        for target in range(n):
            assert run(iamb(n, target, inter=inter), separations(dag)) == blanket_of(dag, target), dag


@pytest.mark.parametrize("inter", [False, True])
@given(st.integers(0, 10**6), st.integers(2, 7))
def test_answers_that_contradict_each_other_end_too(inter, seed, n):
    answer = any_answers(seed)
    asked = 0

    def counted(tests):
        nonlocal asked
        asked += 1
        assert asked < 500
        return answer(tests)

    found = run(iamb(n, 0, 0.2, inter), counted)
    assert not found & 1 and found < 1 << n
    # What is in it depends on the target given the rest of it.
    tests = [(0, v, found & ~(1 << v)) for v in members(found)]
    assert all(p <= 0.2 for _, _, p in answer(tests))


def test_the_strongest_comes_first_even_where_p_is_zero():
    asked = []

    def answer(tests):
        asked.append(tests[0].given)
        return [(float(10 * test.b), 1, 0.0) for test in tests]

    assert run(iamb(4, 0), answer) == 0b1110
    assert asked[:3] == [0, 0b1000, 0b1100]


def test_no_time():
    search = iamb(3, 0)
    question = next(search)
    search.send(separations(Dag.of({1: [0]}, range(3)))(question))
    with pytest.raises(StopIteration) as end:
        search.throw(Stop())
    assert end.value.value == 0b010


def test_a_test_that_cannot_be_made_adds_nothing():
    assert run(iamb(3, 0), lambda tests: [(float("nan"), 1, float("nan"))] * len(tests)) == 0
