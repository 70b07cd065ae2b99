"""Classes of graphs as sets of bits, the steps between them, and the greedy search over them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._structure.search.equivalence import (
    Classes,
    PartialGraph,
    can_insert,
    cliques,
    complete,
    delete,
    deletions,
    equivalence,
    extension,
    insert,
    insertions,
    topological,
)
from bayeskit._structure.search_protocol import Arcs, Stop, answer_all, members
from bayeskit.errors import SettingError
from graph_twin import all_dags, dags, meek
from refusals import refuses
from search_scores import answers, as_dag, entropy_score, parents_of, random_parents, random_score, total


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_graph_has_the_class_that_meeks_rules_give(n):
    for dag in all_dags(n):
        directed, undirected = meek(dag)
        found = complete(parents_of(dag))
        names = dag.nodes
        assert {(names[p], names[v]) for v in range(n) for p in members(found.parents[v])} == directed
        assert {
            frozenset((names[u], names[v])) for v in range(n) for u in members(found.near[v])
        } == undirected


@given(dags(most=7))
def test_a_class_has_a_graph_and_the_graph_has_that_class(dag):
    found = complete(parents_of(dag))
    back = extension(found)
    assert complete(back) == found
    order = topological(back)
    assert sorted(order) == list(range(len(back)))
    assert all(order.index(p) < order.index(v) for v in range(len(back)) for p in members(back[v]))


def test_a_square_without_a_chord_has_no_graph():
    assert extension(PartialGraph((0,) * 4, (0b1010, 0b0101, 0b1010, 0b0101))) is None


@given(dags(most=6), st.integers(0, 63))
def test_cliques_are_all_and_each_once(dag, among):
    partial = complete(parents_of(dag))
    among &= (1 << len(dag.nodes)) - 1

    def is_clique(some: int) -> bool:
        return all(some & ~(partial.joined[v] | 1 << v) == 0 for v in members(some))

    slow = [some for some in range(among + 1) if some & ~among == 0 and is_clique(some)]
    assert sorted(cliques(partial, among)) == slow


@settings(deadline=None, max_examples=60)
@given(dags(least=2, most=5), st.integers(0, 1000))
def test_steps_keep_a_class_and_gain_what_they_say(dag, seed):
    """Each valid step has a graph whose class it is, with one edge more or less, and the score it promised."""
    score = entropy_score(np.random.default_rng(seed), parents_of(dag), 1e3)
    partial = complete(parents_of(dag))
    before = total(score, parents_of(dag))
    for steps, apply, difference in ((insertions, insert, 1), (deletions, delete, -1)):
        for y in range(len(dag.nodes)):
            questions, read = steps(partial, y, 9, (1 << len(dag.nodes)) - 1)
            for change in read(answers(score)(questions)):
                if difference == 1 and not can_insert(partial, change):
                    continue
                parents = extension(apply(partial, change))
                assert parents is not None
                after = complete(parents)
                assert extension(after) is not None and complete(extension(after)) == after
                assert (
                    sum(map(int.bit_count, parents)) == sum(map(int.bit_count, parents_of(dag))) + difference
                )
                assert total(score, parents) - before == pytest.approx(-change.loss, abs=1e-6)
                assert change.loss < 0


@pytest.mark.parametrize("sign", [1, -1])
def test_steps_from_a_class_are_all_that_one_arc_more_or_less_gives(sign):
    """By hand over all graphs of four nodes: every class to which an arc added to, or taken from, a graph leads."""
    every = [parents_of(dag) for dag in all_dags(4)]
    legal, classes = set(every), {}
    for parents in every:
        classes.setdefault(complete(parents), []).append(parents)
    score = answers(lambda c, p: sign * float(p.bit_count()))
    steps, apply = (insertions, insert) if sign == 1 else (deletions, delete)
    for partial, graphs in classes.items():
        by_hand = set()
        for parents, (x, y) in itertools.product(graphs, itertools.permutations(range(4), 2)):
            if (partial.joined[x] >> y & 1) if sign == 1 else not parents[y] >> x & 1:
                continue
            other = tuple(mine ^ (1 << x) * (v == y) for v, mine in enumerate(parents))
            if other in legal:
                by_hand.add(complete(other))
        found = set()
        for y in range(4):
            questions, read = steps(partial, y, 9, 0b1111)
            for change in read(score(questions)):
                if sign == -1 or can_insert(partial, change):
                    found.add(complete(extension(apply(partial, change))))
        assert found == by_hand


def test_the_true_class_is_found_when_the_rows_are_enough():
    rng = np.random.default_rng(5)
    missed = []
    for case in range(240):
        truth = random_parents(rng, int(rng.integers(2, 8)), rng.uniform(0.2, 0.6))
        score = entropy_score(rng, truth, 1e12)
        found = answer_all(equivalence(Arcs.all(len(truth))), answers(score)).parents
        if complete(found) != complete(truth):
            missed.append((case, total(score, found) - total(score, truth)))
    assert not missed


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(0, 3))
def test_the_score_never_falls_and_limits_are_kept(seed, n, most):
    """Whatever the distribution, every graph on the way is legal and better than the one before."""
    rng = np.random.default_rng(seed)
    score = entropy_score(rng, random_parents(rng, n, 0.5), 1e3)
    arcs = Arcs.all(n, most)
    classes = Classes(arcs, (0,) * n)
    search = classes.search()
    question, last = next(search), total(score, classes.parents)
    while question is not None:
        try:
            question = search.send(answers(score)(question))
        except StopIteration:
            question = None
        now = total(score, classes.parents)
        assert now >= last - 1e-6
        assert arcs.permits(classes.parents)
        as_dag(classes.parents)
        last = now


def test_stop_at_any_question_gives_a_legal_graph():
    rng = np.random.default_rng(3)
    answer = answers(entropy_score(rng, random_parents(rng, 6, 0.5), 1e4))
    arcs = Arcs.all(6, 3)
    for stop_at in itertools.count():
        search = equivalence(arcs)
        question = next(search)
        try:
            for _ in range(stop_at):
                question = search.send(answer(question))
        except StopIteration:
            break
        with pytest.raises(StopIteration) as end:
            search.throw(Stop())
        assert arcs.permits(end.value.value.parents)
        as_dag(end.value.value.parents)
    assert stop_at > 5


def test_a_score_of_no_kind_still_gives_a_graph():
    for seed in range(30):
        found = answer_all(equivalence(Arcs.all(5)), answers(random_score(seed))).parents
        as_dag(found)


def test_limits_on_arcs_are_refused_by_name():
    with refuses(SettingError, "required", "forbidden", 'method="auto"'):
        answer_all(equivalence(Arcs((0b10, 0), (0, 0), 1)), answers(random_score(0)))


def test_no_variables_and_one():
    assert answer_all(equivalence(Arcs.all(0)), answers(random_score(0))).parents == ()
    assert answer_all(equivalence(Arcs.all(1)), answers(random_score(0))).parents == (0,)
