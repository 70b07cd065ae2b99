"""Hill climbing: equal to the slow one, at a summit, within its limits; against bnlearn."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._structure.search.hill_climbing import Position, as_matrix, hill_climbing
from bayeskit._structure.search_protocol import Arcs, Family, Score, answer_all, bits, members
from graph_twin import all_dags
from hill_climbing_twin import (
    Counted,
    MadeUp,
    golden_rows,
    golden_summary,
    hill_climb,
    keeps,
    limits,
    neighbours,
    stopped,
    toggled,
)

ways = st.fixed_dictionaries(
    {
        "tabu": st.sampled_from([0, 1, 4, 50]),
        "max_worse": st.integers(0, 6),
        "restarts": st.integers(0, 2),
        "perturb": st.sampled_from([None, 1, 5]),
    }
)
seeds = st.integers(0, 10**6)


@given(limits(), seeds, st.sampled_from([0, 1, 4, 50]), st.integers(0, 6))
@example(Arcs(allowed=(30, 29, 27, 23, 7), required=(8, 0, 0, 0, 1), max_parents=2), 86, 4, 2)
@settings(max_examples=100)
def test_it_goes_where_the_slow_one_goes(arcs, seed, tabu, max_worse):
    scores = MadeUp(seed)
    found = answer_all(hill_climbing(arcs, tabu=tabu, max_worse=max_worse), scores).parents
    assert found == hill_climb(arcs, scores.total, arcs.required, tabu, max_worse)


@given(limits(), seeds, ways)
@settings(max_examples=100)
def test_it_ends_at_a_summit_within_the_limits(arcs, seed, way):
    scores = MadeUp(seed)
    rng = np.random.default_rng(seed)
    found = answer_all(hill_climbing(arcs, rng=rng, **way), scores).parents
    assert keeps(arcs, found)
    best = scores.total(found)
    assert all(scores.total(graph) <= best for graph in neighbours(arcs, found))
    assert best >= scores.total(answer_all(hill_climbing(arcs), scores).parents)


@given(limits(least=2), seeds, ways)
@settings(max_examples=40)
def test_it_may_be_stopped_at_any_question(arcs, seed, way):
    scores = MadeUp(seed)
    before = scores.total(arcs.required)
    for after in itertools.count():
        rng = np.random.default_rng(seed)
        found = stopped(hill_climbing(arcs, rng=rng, **way), scores, after)
        if found is None:
            break
        assert keeps(arcs, found.parents)
        assert scores.total(found.parents) >= before  # more time is never worse
        before = scores.total(found.parents)
    assert after >= 1


@given(limits(least=2), seeds)
@settings(max_examples=40)
def test_only_candidates_are_tried_and_required_arcs_stay(arcs, seed):
    scores = MadeUp(seed)
    candidates = tuple((seed >> v) & ~(1 << v) for v in range(arcs.n))
    found = answer_all(hill_climbing(arcs, candidates=candidates), scores).parents
    assert all(some & ~(candidates[v] | arcs.required[v]) == 0 for v, some in enumerate(found))
    assert all(required & ~some == 0 for required, some in zip(arcs.required, found, strict=True))


def test_each_step_asks_for_what_it_does_not_know():
    scores = MadeUp(3)
    answer_all(hill_climbing(Arcs.all(6)), scores)
    first, second, *_ = scores.asked
    assert first[:2] == [Family(0, 0), Family(0, 0, (1, 2, 3, 4, 5))]
    assert len(first) == 12
    # An arc was put in, so one child is asked for again; the family without the new parent is known.
    (again,) = second
    (parent,) = members(again.parents)
    assert parent not in again.more
    assert all(f.parents or f.more is None for question in scores.asked[1:] for f in question)


def test_of_equal_moves_the_lowest_variables_and_turns_last():
    # Both directions of the arc between 1 and 2 are worth 4, then 0 → 1 and the turn of 1 → 2 are worth 1.
    worth = {(2, 0b010): 4.0, (1, 0b100): 4.0, (1, 0b001): 1.0, (1, 0b101): 5.0}

    def answer(question):
        return [
            np.array([worth.get((f.child, f.parents | 1 << v), 0.0) for v in f.more])
            if f.more
            else np.array([worth.get((f.child, f.parents), 0.0)])
            for f in question
        ]

    assert answer_all(hill_climbing(Arcs.all(3)), answer).parents == (0, 0b001, 0b010)
    worth[1, 0b100] = 5.0  # the other direction is better now
    assert answer_all(hill_climbing(Arcs.all(3)), answer).parents == (0, 0b100, 0)
    # From the first direction the turn and 0 → 1 gain 1 each: the arc is put in; where it is forbidden, the turn made.
    arcs = Arcs.all(3, max_parents=1)
    search = hill_climbing(arcs, start=(0, 0, 0b010))
    assert answer_all(search, answer).parents == (0, 0b001, 0b010)
    search = hill_climbing(replace(arcs, allowed=(0b110, 0b100, 0b011)), start=(0, 0, 0b010))
    assert answer_all(search, answer).parents == (0, 0b100, 0)


def test_a_start_is_climbed_from():
    scores = MadeUp(8)
    start = (0, 0b1, 0b11, 0b111)
    assert stopped(hill_climbing(Arcs.all(4), start=start), scores, 0).parents == start
    found = answer_all(hill_climbing(Arcs.all(4), start=start), scores).parents
    assert found == hill_climb(Arcs.all(4), scores.total, start)


@pytest.mark.parametrize("n", [0, 1])
def test_there_may_be_nothing_to_find(n):
    assert answer_all(hill_climbing(Arcs.all(n), tabu=3, restarts=2), MadeUp(0)).parents == (0,) * n


def test_the_same_seed_gives_the_same_graph():
    scores = MadeUp(5, spread=10**6)
    runs = [
        answer_all(
            hill_climbing(Arcs.all(7), restarts=8, perturb=4, rng=np.random.default_rng(seed)), scores
        ).parents
        for seed in (1, 1)
    ]
    assert runs[0] == runs[1]


@given(limits(least=2), seeds)
@settings(max_examples=40)
def test_paths_and_keys_are_kept_up_to_date(arcs, seed):
    position = Position(arcs, arcs.required)
    rng = np.random.default_rng(seed)
    for _ in range(8):
        position.shake(rng, 1)
        fresh = Position(arcs, position.parents)
        assert np.array_equal(position._paths, fresh._paths)
        assert position.key == fresh.key
        # Paths as powers of the matrix of arcs.
        steps = np.eye(arcs.n) + as_matrix(position.parents)
        assert np.array_equal(position._paths, np.linalg.matrix_power(steps, arcs.n) > 0)


@given(limits(least=2), seeds)
@settings(max_examples=40)
def test_legal_moves_are_those_that_lead_to_legal_graphs(arcs, seed):
    position = Position(arcs, arcs.required)
    position.shake(np.random.default_rng(seed), 4)
    here = tuple(position.parents)
    toggles = [toggled(here, u, v) for u, v in np.argwhere(position._may_toggle).tolist()]
    turns = [
        toggled(toggled(here, u, v), v, u)
        for u, v in zip(position._turn_parent.tolist(), position._turn_child.tolist(), strict=True)
    ]
    assert toggles + turns == [*neighbours(arcs, here)]


def drawn_rows(seed, n=4, rows=400):
    """Return columns of a random chain of dependences with two or three states each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n)
    columns = np.zeros((n, rows), np.uint8)
    for v in range(n):
        above = [u for u in range(v) if rng.random() < 0.6]
        code = sum((columns[u].astype(int) * 3**k for k, u in enumerate(above)), np.zeros(rows, int))
        table = rng.dirichlet(np.full(sizes[v], 0.7), 3**n)
        columns[v] = (rng.random((rows, 1)) > table[code].cumsum(axis=1)[:, :-1]).sum(axis=1)
    return columns, sizes


def test_with_restarts_it_finds_the_best_of_all_graphs():
    graphs = [tuple(bits(["abcd".index(p) for p in some]) for some in dag.parents) for dag in all_dags(4)]
    assert len(graphs) == 543
    hits = 0
    for seed in range(12):
        columns, sizes = drawn_rows(seed)
        slow = Counted(columns, sizes)
        best = max(map(slow.total, graphs))
        search = hill_climbing(Arcs.all(4), tabu=10, restarts=10, rng=np.random.default_rng(seed))
        found = slow.total(answer_all(search, FamilyScores(columns, sizes, Score("bic"))).parents)
        assert found <= best + 1e-8
        hits += found >= best - 1e-8
    assert hits >= 11


@pytest.mark.parametrize("seed", range(4))
def test_the_graph_of_rows_is_a_summit_by_fresh_scores(seed):
    columns, sizes = drawn_rows(seed, n=7, rows=1000)
    slow = Counted(columns, sizes)
    arcs = Arcs.all(7, max_parents=3)
    found = answer_all(hill_climbing(arcs), FamilyScores(columns, sizes, Score("bic"))).parents
    assert any(found)
    assert all(slow.total(graph) <= slow.total(found) + 1e-6 for graph in neighbours(arcs, found))


@pytest.mark.parametrize("algorithm", ["hc_bic", "tabu_bic", "tabu_bic_100"])
@pytest.mark.parametrize("data", ["learning.test", "asia", "alarm"])
def test_it_scores_no_worse_than_bnlearn(data, algorithm):
    """In one of the two orders of the columns at least: where it ends is luck (bnlearn: 1,246 apart on alarm)."""
    golden_rows(data, 1)
    way = {"hc_bic": {}, "tabu_bic": {"tabu": 10, "max_worse": 10}, "tabu_bic_100": {"tabu": 100}}[algorithm]
    ahead = []
    for row in golden_summary():
        if (row["data"], row["algo"]) != (data, algorithm):
            continue
        _, sizes, columns = golden_rows(data, int(row["n"]))
        if row["order"] == "reversed":
            sizes, columns = sizes[::-1], columns[::-1]
        scores = FamilyScores(np.ascontiguousarray(columns), sizes.copy(), Score("bic"))
        found = answer_all(hill_climbing(Arcs.all(len(sizes)), **way), scores).parents
        total = sum(float(scores([Family(v, some)])[0][0]) for v, some in enumerate(found))
        ahead.append(total - float(row["score_value"]))
    assert len(ahead) == 2
    assert max(ahead) >= -1e-6, ahead
