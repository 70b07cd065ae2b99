"""An engine from outside the library, by the recipe of CONTRIBUTING: a function over potentials, and one line.

It goes through all joint states of the nodes, so it is exact; it is asked for like the approximate ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork, MarkovNetwork
from bayeskit._inference.potentials import Contradiction
from bayeskit.errors import ImpossibleEvidence, SettingError
from bayeskit.extending import METHODS, Engine, Question
from bayeskit.networks import Estimate, asia, wet_grass
from network_twin import random_network
from refusals import refuses


def enumerated(asked: Question) -> Estimate:
    """Answer by adding up P of every joint state."""
    potentials, evidence = asked.potentials, asked.evidence
    values = np.zeros([int(potentials.sizes[v]) for v in asked.targets])
    for state in itertools.product(*(range(int(size)) for size in potentials.sizes)):
        codes = np.array(state)
        if ((evidence.codes >= 0) & (evidence.codes != codes)).any():
            continue
        p = 1.0
        for v, likelihood in evidence.likelihoods.items():
            p *= likelihood[state[v]]
        for f in range(potentials.n_factors):
            scope = potentials.scope[potentials.scope_start[f] : potentials.scope_start[f + 1]]
            cells = potentials.values[potentials.value_start[f] : potentials.value_start[f + 1]]
            p *= cells[np.ravel_multi_index(tuple(codes[scope]), tuple(potentials.sizes[scope]))]
        values[tuple(codes[list(asked.targets)])] += p
    if not values.sum():
        raise Contradiction
    return Estimate(asked.factor(values / values.sum()), "enumeration")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The line of the recipe, undone after each test."""
    METHODS["enumeration"] = Engine(enumerated)
    yield
    del METHODS["enumeration"]


def test_an_engine_of_ones_own_answers() -> None:
    network = wet_grass()
    for evidence in ({}, {"wet": "yes"}, {"sprinkler": "no"}):
        nodes = [name for name in network.nodes if name not in evidence]
        for node in nodes:
            found = network.approximate(node, evidence=evidence, method="enumeration")
            exact = network.query(node, evidence=evidence)
            np.testing.assert_allclose(found.values, exact.values, rtol=0, atol=1e-12)
    assert found.method == "enumeration"


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_it_equals_the_exact_one_on_random_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = BayesianNetwork(random_network(rng, 5))
    first, second, *_ = network.nodes
    states = network.states(second)
    soft = {second: dict(zip(states, rng.random(len(states)) + 0.1, strict=True))}
    found = network.approximate(first, soft=soft, method="enumeration")
    np.testing.assert_allclose(found.values, network.query(first, soft=soft).values, rtol=0, atol=1e-12)


def test_several_targets_make_a_joint() -> None:
    network = asia()
    found = network.approximate(["lung", "bronc"], evidence={"dysp": "yes"}, method="enumeration")
    exact = network.query(["lung", "bronc"], evidence={"dysp": "yes"})
    np.testing.assert_allclose(found.values, exact.values, rtol=0, atol=1e-12)


def test_a_markov_network_is_answered_too() -> None:
    field = MarkovNetwork(
        {"a": ["no", "yes"], "b": [0, 1, 2]}, [(["a", "b"], [[3.0, 1.0, 0.0], [1.0, 1.0, 2.0]])]
    )
    found = field.approximate("a", evidence={"b": 1}, method="enumeration")
    exact = field.query("a", evidence={"b": 1})
    np.testing.assert_allclose(found.values, exact.values, rtol=0, atol=1e-12)


def test_impossible_evidence_is_told_as_for_any_other() -> None:
    with pytest.raises(ImpossibleEvidence):
        asia().approximate("xray", evidence={"either": "no", "lung": "yes"}, method="enumeration")


def test_it_is_listed_where_a_method_is_not_known() -> None:
    with refuses(SettingError, "enumeration"):
        wet_grass().approximate("rain", method="guessing")
