from __future__ import annotations

import math
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.dag import Dag
from bayeskit._structure.search.pc import orient, pc
from bayeskit._structure.search_protocol import Arcs, Stop, answer_all, bits
from bayeskit._structure.search_protocol import Test as Question
from bayeskit.networks import cpdag
from oracle import any_answers, edges_of, is_acyclic, random_dag, separations


def wanted(dag):
    found = cpdag(dag)
    return set(found.directed), set(map(frozenset, found.undirected))


@pytest.mark.parametrize("majority", [True, False])
def test_the_separations_of_a_graph_give_its_class(majority):
    rng = random.Random(1 + majority)
    for _ in range(1000):
        n = rng.randint(2, 8)
        dag = random_dag(rng, n, rng.choice([0.2, 0.4, 0.6, 0.8]))
        found = answer_all(pc(Arcs.all(n), majority=majority), separations(dag))
        assert edges_of(found) == wanted(dag), dag
        assert found.conflicts == ()


def test_a_large_graph():
    rng = random.Random(0)
    dag = random_dag(rng, 30, 0.08)
    assert edges_of(answer_all(pc(Arcs.all(30)), separations(dag))) == wanted(dag)


@given(st.integers(0, 10**6), st.integers(2, 7), st.permutations(range(7)), st.sampled_from([None, 2, 20]))
def test_the_order_of_the_variables_does_not_matter(seed, n, order, levels):
    """The answers contradict each other and agree with no graph; ties of p are common with few levels."""
    place = [v for v in order if v < n]
    alpha = 0.3
    first = answer_all(pc(Arcs.all(n), alpha), any_answers(seed, levels=levels))
    again = answer_all(pc(Arcs.all(n), alpha), any_answers(seed, place, levels=levels))
    directed, undirected = edges_of(again)
    assert edges_of(first) == (
        {(place[x], place[y]) for x, y in directed},
        {frozenset(place[v] for v in edge) for edge in undirected},
    )
    assert is_acyclic(first.parents)


def slow(n, alpha, answer):
    """Return neighbours and head-to-head nodes, pair by pair, as the rules say."""

    def parting(near, a, b, size):
        sets = {s for end in (a, b) for s in combinations(sorted(near[end] - {a, b}), size)}
        return [s for s in sets if answer([Question(a, b, bits(s))])[0][2] > alpha]

    near = [set(range(n)) - {v} for v in range(n)]
    parted = {}
    for size in range(n - 1):
        frozen = [set(some) for some in near]
        for a, b in combinations(range(n), 2):
            if b in frozen[a] and (sets := parting(frozen, a, b, size)):
                parted[a, b] = sets
                near[a].discard(b)
                near[b].discard(a)
    heads = set()
    for (a, b), sets in parted.items():
        smallest = next(filter(None, (parting(near, a, b, size) for size in range(n - 1))), sets)
        for c in near[a] & near[b]:
            if sum(c in s for s in smallest) < len(smallest) / 2:
                heads.add((a, c, b))
    return [bits(list(some)) for some in near], heads


@given(st.integers(0, 10**6), st.integers(2, 7), st.sampled_from([0.2, 0.5, 0.8]))
def test_equal_to_the_slow_way(seed, n, alpha):
    answer = any_answers(seed, share=0.15)
    found = answer_all(pc(Arcs.all(n), alpha), answer)
    assert found == orient(*slow(n, alpha, answer), Arcs.all(n))


@given(st.integers(0, 10**6), st.permutations(range(6)))
def test_the_skeleton_never_depends_on_the_order(seed, place):
    def skeleton(answer):
        directed, undirected = edges_of(answer_all(pc(Arcs.all(6), 0.3, majority=False), answer))
        return {frozenset(arc) for arc in directed} | undirected

    again = skeleton(any_answers(seed, place))
    assert skeleton(any_answers(seed)) == {frozenset(place[v] for v in edge) for edge in again}


def test_knowledge():
    chain = Dag.of({1: [0], 2: [1]}, range(3))
    free = answer_all(pc(Arcs.all(3)), separations(chain))
    assert edges_of(free) == (set(), {frozenset((0, 1)), frozenset((1, 2))})
    # 1 → 0 is forbidden, so 0 → 1, and then 1 → 2.
    arcs = Arcs((0b100, 0b101, 0b011), (0, 0, 0), 2)
    assert edges_of(answer_all(pc(arcs), separations(chain))) == ({(0, 1), (1, 2)}, set())
    # A required arc stays though the data deny it.
    arcs = Arcs((0b110, 0b101, 0b011), (0, 0, 0b001), 2)
    assert (0, 2) in edges_of(answer_all(pc(arcs), separations(chain)))[0]


@pytest.mark.parametrize("majority", [True, False])
def test_an_arc_that_is_forbidden_both_ways_is_never_tested_for_itself_but_votes(majority):
    collider = Dag.of({2: [0, 1]}, range(3))
    arcs = Arcs((0b100, 0b100, 0b011), (0, 0, 0), 2)
    found = answer_all(pc(arcs, majority=majority), separations(collider))
    assert edges_of(found) == ({(0, 2), (1, 2)}, set())


def test_the_most_variables_given():
    # 0 → 1, 2, 3 → 4 needs all three between.
    dag = Dag.of({1: [0], 2: [0], 3: [0], 4: [1, 2, 3]}, range(5))
    sizes = []

    def answer(tests):
        sizes.extend(test.given.bit_count() for test in tests)
        return separations(dag)(tests)

    found = answer_all(pc(Arcs.all(5), max_given=2), answer)
    assert max(sizes) == 2
    assert frozenset((0, 4)) in {frozenset(arc) for arc in edges_of(found)[0]} | edges_of(found)[1]
    assert edges_of(answer_all(pc(Arcs.all(5), max_given=3), answer)) == wanted(dag)


def test_tests_that_cannot_be_made_take_no_arc_away_and_end_the_search():
    sizes = []

    def answer(tests):
        sizes.extend(test.given.bit_count() for test in tests)
        return [(math.nan, 1, math.nan) if test.given else (9.0, 1, 0.0) for test in tests]

    found = answer_all(pc(Arcs.all(5)), answer)
    assert len(found.undirected) == 10
    assert set(sizes) == {0, 1}


def test_no_time():
    search = pc(Arcs.all(3))
    next(search)
    with pytest.raises(StopIteration) as end:
        search.throw(Stop())
    assert edges_of(end.value.value)[1] == {frozenset(pair) for pair in [(0, 1), (0, 2), (1, 2)]}
    # After the first size 0 and 1 are parted by nothing, so 2 is head-to-head, as far as is known.
    search = pc(Arcs.all(3))
    search.send(separations(Dag.of({2: [0, 1]}, range(3)))(next(search)))
    with pytest.raises(StopIteration) as end:
        search.throw(Stop())
    assert edges_of(end.value.value) == ({(0, 2), (1, 2)}, set())


def test_questions_come_in_batches():
    rounds = []
    dag = random_dag(random.Random(3), 20, 0.15)
    answer = separations(dag)

    def counted(tests):
        rounds.append(len(tests))
        return answer(tests)

    answer_all(pc(Arcs.all(20)), counted)
    assert rounds[0] == 190
    assert len(rounds) < 60


@pytest.mark.parametrize("n", [0, 1])
def test_few_variables(n):
    assert answer_all(pc(Arcs.all(n)), separations(Dag.of({}, range(n)))).parents == (0,) * n


def test_no_arc_at_all():
    found = answer_all(pc(Arcs.all(4)), lambda tests: [(0.0, 1, 1.0)] * len(tests))
    assert bits([]) == sum(found.parents) and not found.undirected
