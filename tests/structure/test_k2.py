"""K2: equal to the plain greedy one, within its limits; arc for arc equal to pyAgrum's."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._structure.search.k2 import k2
from bayeskit._structure.search_protocol import Arcs, Family, Score, answer_all
from hill_climbing_twin import GOLDEN, MadeUp, golden_rows, keeps, limits, named_arcs, stopped

seeds = st.integers(0, 10**6)


def orders(arcs):
    """Yield the orders in which required arcs lead forwards."""
    for order in itertools.permutations(range(arcs.n)):
        if all(not arcs.required[v] >> u & 1 for k, v in enumerate(order) for u in order[k:]):
            yield order


def greedy(arcs, order, scores):
    parents = list(arcs.required)
    for place, child in enumerate(order):
        while parents[child].bit_count() < arcs.max_parents:
            more = [u for u in sorted(order[:place]) if (arcs.allowed[child] & ~parents[child]) >> u & 1]
            best = max(
                (parents[child] | 1 << u for u in more), key=lambda s: scores.score(child, s), default=0
            )
            if not best or scores.score(child, best) <= scores.score(child, parents[child]):
                break
            parents[child] = best
    return tuple(parents)


@given(limits(most=5), seeds, st.integers(0, 200))
def test_it_is_the_plain_greedy_one(arcs, seed, which):
    order = next(itertools.islice(itertools.cycle(orders(arcs)), which, None))
    scores = MadeUp(seed)
    found = answer_all(k2(arcs, order), scores).parents
    assert found == greedy(arcs, order, scores)
    assert keeps(arcs, found)
    assert len(scores.asked) <= max(some.bit_count() for some in found) + 2


@given(limits(least=2, most=5), seeds)
def test_it_may_be_stopped_at_any_question(arcs, seed):
    scores = MadeUp(seed)
    order = next(orders(arcs))
    before = scores.total(arcs.required)
    for after in itertools.count():
        found = stopped(k2(arcs, order), scores, after)
        if found is None:
            break
        assert keeps(arcs, found.parents)
        assert scores.total(found.parents) >= before
        before = scores.total(found.parents)
    assert after >= 1


def test_arcs_lead_forwards_in_the_order():
    scores = MadeUp(2, spread=100)
    order = [3, 1, 0, 2, 4]
    found = answer_all(k2(Arcs.all(5), order), scores).parents
    arcs = named_arcs(found, range(5))
    assert arcs and all(order.index(u) < order.index(v) for u, v in arcs)


@pytest.mark.parametrize("score", ["K2", "BIC"])
@pytest.mark.parametrize("order_name", ["topological", "reverse_topological"])
@pytest.mark.parametrize("data", ["asia", "learning.test", "alarm"])
def test_it_finds_the_arcs_that_pyagrum_finds(data, order_name, score):
    golden_rows(data, 1)
    cases = json.loads((GOLDEN / "learned_k2.json").read_text(encoding="utf-8"))
    (case,) = (c for c in cases if (c["data"], c["order_name"], c["score"]) == (data, order_name, score))
    names, sizes, columns = golden_rows(data, case["n"])
    scores = FamilyScores(columns, sizes, Score(score.lower()))
    order = [names.index(name) for name in case["order"]]
    found = answer_all(k2(Arcs.all(len(names)), order), scores).parents
    assert named_arcs(found, names) == {(u, v) for u, v in case["arcs"]}
    total = sum(float(scores([Family(v, some)])[0][0]) for v, some in enumerate(found))
    assert total == pytest.approx(case["total_score_nats"], rel=1e-11)
