"""A smallest part of impossible evidence."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._networks.discrete_adapter import minimal_conflict
from bayeskit.errors import ImpossibleEvidence
from bayeskit.networks import Not
from network_twin import random_network
from query_networks import built, joint_with_evidence, node, public, random_evidence, wet_grass


@given(st.sets(st.frozensets(st.integers(0, 9), max_size=4), min_size=1, max_size=5))
def test_the_answer_is_impossible_and_nothing_less_is(forbidden):
    def impossible(some):
        return any(whole <= set(some) for whole in forbidden)

    if not impossible(range(10)):
        return
    found = minimal_conflict(list(range(10)), impossible)
    assert impossible(found) and found == sorted(found)
    assert not any(impossible([x for x in found if x != left]) for left in found)


def test_many_items_take_few_questions():
    asked = 0

    def impossible(some):
        nonlocal asked
        asked += 1
        return {37, 801} <= set(some)

    assert minimal_conflict(list(range(1000)), impossible) == [37, 801]
    assert asked < 30


def test_who_cannot_tell_still_gets_what_is_impossible():
    # Fewer than four items cannot be judged, and are said to be possible.
    found = minimal_conflict(list(range(8)), lambda some: len(some) >= 4 and {2, 5} <= set(some))
    assert {2, 5} <= set(found) and len(found) == 4


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_every_proper_part_of_the_evidence_named_is_possible(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=int(rng.integers(2, 7)), zeros=0.5)
    hard, soft, likelihoods = random_evidence(rng, network, share=0.9)
    asked = public(network)
    if joint_with_evidence(network, likelihoods).sum() > 0:
        asked.posteriors(hard, soft=soft)
        return
    for ask in (asked.posteriors, asked.mpe, partial(asked.query, "x0")):
        with pytest.raises(ImpossibleEvidence) as caught:
            ask(hard, soft=soft)
    items = []  # each piece of evidence counts as one; a node may be named for two
    for name, value in caught.value.evidence.items():
        if isinstance(value, tuple):
            items += [(hard, name), (soft, name)]
        else:
            items.append((soft if value is soft.get(name) else hard, name))

    def log_p(some):
        return asked.log_probability(
            {name: hard[name] for kind, name in some if kind is hard},
            soft={name: soft[name] for kind, name in some if kind is soft},
        )

    assert items and log_p(items) == -math.inf
    for left in range(len(items)):
        assert log_p(items[:left] + items[left + 1 :]) > -math.inf


def test_exactly_the_items_that_clash_are_named():
    grass = wet_grass()
    # It rained, so Joe's lawn is wet: told dry. The sprinkler has no part in it.
    with pytest.raises(ImpossibleEvidence) as caught:
        grass.posteriors({"S": "yes", "R": "yes", "J": "no"})
    assert caught.value.evidence == {"R": "yes", "J": "no"}
    assert "'R' = 'yes', 'J' = 'no'" in str(caught.value)
    with pytest.raises(ImpossibleEvidence) as caught:
        grass.mpe({"S": "yes", "J": Not("yes")}, soft={"R": [0, 0.5], "B": [0.5, 0.5]})
    assert caught.value.evidence == {"J": Not("yes"), "R": [0, 0.5]}
    with pytest.raises(ImpossibleEvidence) as caught:
        grass.map(["S"], {"B": "yes", "R": "yes"}, soft={"R": {"no": 1, "yes": 0}})
    assert caught.value.evidence == {"R": ("yes", {"no": 1, "yes": 0})}


def test_three_that_clash_only_together():
    exclusive = np.zeros((2, 2, 2))
    for a, b in itertools.product((0, 1), repeat=2):
        exclusive[a, b, a ^ b] = 1.0
    network = built(node("a", [], [0.5, 0.5]), node("b", [], [0.5, 0.5]), node("c", ["a", "b"], exclusive))
    with pytest.raises(ImpossibleEvidence) as caught:
        network.query("a", evidence={"c": "yes", "a": "yes", "b": "yes"})
    assert set(caught.value.evidence) == {"a", "b", "c"}
