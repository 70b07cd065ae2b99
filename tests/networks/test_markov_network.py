"""Markov networks: factors over named variables."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork, MarkovNetwork
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit.errors import ImpossibleEvidence, SettingError, TooLarge, UsageError
from bayeskit.networks import Factor, LinearGaussian, Not
from network_twin import log_total, margin, random_network, with_evidence
from query_networks import public, random_evidence, wet_grass
from refusals import refuses

YES_NO = ["no", "yes"]


def misconception():
    """Four students who study in pairs (Koller and Friedman 2009, figure 4.1)."""
    return MarkovNetwork(
        {name: [0, 1] for name in "ABCD"},
        [
            (["A", "B"], [[30, 5], [1, 10]]),
            (["B", "C"], [[100, 1], [1, 100]]),
            (["C", "D"], [[1, 100], [100, 1]]),
            (["D", "A"], [[100, 1], [1, 100]]),
        ],
        name="misconception",
    )


def random_field(rng):
    """Return a Markov network and its whole table, not normalised."""
    n = int(rng.integers(1, 6))
    sizes = rng.integers(1, 4, n)
    names = [f"v{k}" for k in range(n)]
    states = {name: [f"s{i}" for i in range(size)] for name, size in zip(names, sizes, strict=True)}
    table, factors = np.ones(sizes), []
    for _ in range(int(rng.integers(0, 7))):
        scope = rng.permutation(n)[: int(rng.integers(1, min(n, 3) + 1))]
        values = rng.random(sizes[scope]) * 10.0 ** rng.integers(-3, 4)
        values[rng.random(values.shape) < 0.2] = 0.0
        values.flat[int(rng.integers(values.size))] = 1.0
        factors.append(([names[v] for v in scope], values))
        turned = values.transpose(np.argsort(scope))
        table = table * turned.reshape([sizes[v] if v in scope else 1 for v in range(n)])
    return MarkovNetwork(states, factors), table


def check_enumeration(seed):
    """Ask a random Markov network everything. (A campaign runs it, too.)"""
    rng = np.random.default_rng(seed)
    network, table = random_field(rng)
    if table.sum() == 0:
        assert network.log_partition() == -math.inf
        with refuses(SettingError, "zero"):
            network.posteriors()
        return
    log_z = math.log(table.sum())
    assert math.isclose(network.log_partition(), log_z, rel_tol=1e-11, abs_tol=1e-11)
    value = Network(tuple(Node(v) for v in network._network.variables))
    hard, soft, likelihoods = random_evidence(rng, value)
    joint = with_evidence(table, {}, likelihoods)
    expected = log_total(joint)
    assert math.isclose(network.log_partition(hard, soft=soft), expected, rel_tol=1e-11, abs_tol=1e-11)
    assert math.isclose(
        network.log_probability(hard, soft=soft), expected - log_z, rel_tol=1e-10, abs_tol=1e-10
    )
    if expected == -math.inf:
        with pytest.raises(ImpossibleEvidence):
            network.mpe(hard, soft=soft)
        return
    for axis, (name, found) in enumerate(network.posteriors(hard, soft=soft).items()):
        assert np.allclose(found, margin(joint, axis) / joint.sum(), rtol=1e-11, atol=1e-13)
        alone = network.query(name, evidence=hard, soft=soft)
        assert np.allclose(alone.values, found, rtol=1e-11, atol=1e-13)
        top = margin(joint, axis).max()
        best = network.map(name, hard, soft=soft)
        assert math.isclose(best.log_probability, math.log(top) - log_z, rel_tol=1e-10, abs_tol=1e-10)
    best = network.mpe(hard, soft=soft)
    assert math.isclose(best.log_probability, math.log(joint.max()) - log_z, rel_tol=1e-10, abs_tol=1e-10)
    cell = tuple(network.states(name).index(best[name]) for name in network.variables)
    assert math.isclose(joint[cell], joint.max(), rel_tol=1e-11)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_every_answer_equals_enumeration(seed):
    check_enumeration(seed)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_rows_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    network, table = random_field(rng)
    if not (table > 0).all():
        return
    names = network.variables
    codes = np.array(list(itertools.product(*(range(size) for size in table.shape))), np.int64)
    assert np.allclose(network.log_prob(codes), np.log(table.ravel() / table.sum()), rtol=1e-10, atol=1e-10)
    codes[rng.random(codes.shape) < 0.3] = -1
    target = int(rng.integers(len(names)))
    found = network.predict_proba(codes, names[target])
    for row, answer in zip(codes.tolist(), found, strict=True):
        part = margin(
            with_evidence(table, {v: c for v, c in enumerate(row) if c >= 0 and v != target}), target
        )
        assert np.allclose(answer, part / part.sum(), rtol=1e-11)


def test_the_misconception_network_of_the_book():
    network = misconception()
    assert math.isclose(network.log_partition(), math.log(7_201_840), rel_tol=1e-14)
    best = network.mpe()
    assert best == {"A": 0, "B": 1, "C": 1, "D": 0}
    assert math.isclose(best.probability, 5_000_000 / 7_201_840, rel_tol=1e-12)
    # Sums of the cells of figure 4.2.
    assert math.isclose(network.query("B")[1], 5_301_510 / 7_201_840, rel_tol=1e-13)
    assert math.isclose(network.query("B", evidence={"C": 0})[1], 101_010 / 1_701_110, rel_tol=1e-13)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_a_bayesian_network_s_tables_are_factors(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=5, max_states=3, zeros=0.2)
    hard, soft, _ = random_evidence(rng, network)
    directed, undirected = public(network), MarkovNetwork.of(public(network))
    assert abs(undirected.log_partition()) < 1e-12
    log_p = directed.log_probability(hard, soft=soft)
    assert math.isclose(undirected.log_probability(hard, soft=soft), log_p, rel_tol=1e-11, abs_tol=1e-11)
    if log_p > -math.inf:
        expected = directed.posteriors(hard, soft=soft)
        for name, values in undirected.posteriors(hard, soft=soft).items():
            assert np.allclose(values, expected[name], rtol=1e-11, atol=1e-13)


def test_of_takes_networks_only():
    grass = MarkovNetwork.of(wet_grass()._network)
    assert grass.variables == ("R", "S", "J", "B") and grass.factors[3].names == ("R", "S", "B")
    assert MarkovNetwork.of(grass) == grass
    with refuses(SettingError, "dict", "BayesianNetwork"):
        MarkovNetwork.of({"a": []})
    with refuses(UsageError, "a", "set_cpt"):
        MarkovNetwork.of(Network((Node(discrete("a", YES_NO)),)))
    gaussian = Node(continuous("h"), (), LinearGaussian(0.0, np.zeros(0), 1.0))
    with refuses(SettingError, "h", "continuous"):
        MarkovNetwork.of(Network((gaussian,)))


def test_ways_of_giving_factors_agree():
    states = {"a": YES_NO, "b": ["x", "y", "z"]}
    values = np.arange(1.0, 7.0).reshape(2, 3)
    expected = MarkovNetwork(states, [(["a", "b"], values), ("a", [1, 2])])
    turned = Factor(["b", "a"], [["z", "y", "x"], ["yes", "no"]], values.T[::-1, ::-1])
    for factors in (
        [(("a", "b"), values.ravel()), (["a"], [1, 2])],
        [Factor(["a", "b"], [YES_NO, ["x", "y", "z"]], values), Factor(["a"], [YES_NO], [1, 2])],
    ):
        assert MarkovNetwork(states, factors) == expected
    again = MarkovNetwork(states, [turned, ("a", [1, 2])])
    assert again.factors[0].states == (("x", "y", "z"), ("no", "yes"))
    for name in states:
        assert np.allclose(again.query(name).values, expected.query(name).values, rtol=1e-14)


@pytest.mark.parametrize(
    ("states", "factors", "said"),
    [
        ({"a": YES_NO}, [(["a"], [1, -1])], [0, "a", -1.0, "yes"]),
        ({"a": YES_NO}, [(["a"], [1, math.nan])], ["a", "nan", "yes"]),
        ({"a": YES_NO}, [(["a"], [math.inf, 1])], ["a", "inf", "no"]),
        ({"a": YES_NO}, [(["a"], [1, 1]), (["a"], [0, 0])], [1, "a", "zero"]),
        ({"a": YES_NO}, [(["a"], [1, 1, 1])], [0, "a", "(3,)", "(2,)"]),
        ({"a": YES_NO}, [(["a", "a"], np.ones((2, 2)))], [0, "a", "twice"]),
        ({"abc": YES_NO}, [(["abd"], [1, 1])], ["abd", 0, "abc"]),
        ({"a": YES_NO}, [(["a"], "xy")], [0, "a", "xy"]),
        ({"a": YES_NO}, [(["a"], ["1", "2"])], [0, "a", "['1', '2']"]),
        ({"a": YES_NO}, [(["a"], np.ma.array([1, 2], mask=[0, 1]))], [0, "a", "masked_array"]),
        ({"a": YES_NO}, [7], [0, 7]),
        ({"a": YES_NO}, 7, ["factors", 7]),
        ({"a": YES_NO}, [Factor(["a"], [["no", "maybe"]], [1, 1])], ["a", "no", "maybe"]),
        ({"a": []}, [], ["a", "empty"]),
        ({"a": ["x", "x"]}, [], ["a", "x", "twice"]),
        (["a"], [], ["states", "['a']"]),
    ],
)
def test_strange_factors_are_refused_by_name(states, factors, said):
    with refuses(SettingError, *said):
        MarkovNetwork(states, factors)


def test_variables_without_factors_are_uniform():
    network = MarkovNetwork({"a": YES_NO, "b": ["x", "y", "z"]}, [("a", [1, 3])])
    assert np.allclose(network.query("b").values, 1 / 3) and math.isclose(
        network.log_partition(), math.log(12)
    )
    bare = MarkovNetwork({"a": YES_NO})
    assert bare.mpe() == {"a": "no"} and math.isclose(bare.mpe().probability, 0.5)


def test_impossible_evidence_is_explained():
    network = MarkovNetwork({"a": YES_NO, "b": YES_NO, "c": YES_NO}, [(["a", "b"], [[1, 0], [1, 1]])])
    assert network.log_partition({"a": "no", "b": "yes"}) == -math.inf
    with pytest.raises(ImpossibleEvidence) as caught:
        network.posteriors({"c": "no", "b": "yes", "a": Not("yes")})
    assert caught.value.evidence == {"b": "yes", "a": Not("yes")}


def test_it_is_a_value_that_travels():
    network = misconception()
    network.posteriors()
    for twin in (pickle.loads(pickle.dumps(network)), network.copy(), copy.deepcopy(network)):
        assert twin == network and twin is not network and twin.name == "misconception"
        assert np.allclose(twin.query("A").values, network.query("A").values)
    assert network != MarkovNetwork.of(wet_grass()._network)
    assert len(network) == 4 and "A" in network and "Z" not in network and [] not in network
    assert repr(network) == "<MarkovNetwork 'misconception': 4 variables, 4 factors>"
    assert network.states("A") == (0, 1)
    with refuses(SettingError, "Z", "A", "B"):
        network.states("Z")


def test_files_and_estimates_come_with_it(tmp_path):
    from bayeskit import read_network

    network = misconception()
    network.write(tmp_path / "misconception.json")
    assert read_network(tmp_path / "misconception.json") == network
    estimate = network.approximate("B", method="gibbs", n_samples=4_000, random_state=1)
    assert abs(estimate.values[1] - network.query("B")[1]) < 0.2


def test_causes_too_many_for_a_table():
    """A noisy-OR of forty causes is a few numbers, its table 16 TiB: refused before any of it is made."""
    causes = [f"p{k}" for k in range(40)]
    network = BayesianNetwork({"c": causes}, states=["no", "yes"])
    network.set_noisy_or("c", dict.fromkeys(causes, 0.1))
    for cause in causes:
        network.set_cpt(cause, [0.5, 0.5])
    for ask in (lambda: MarkovNetwork.of(network), lambda: network.kl(network), network.entropy):
        with refuses(TooLarge, 16, "TiB"):
            ask()
