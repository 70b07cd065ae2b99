"""Questions to networks: against enumeration, the textbook's fractions, and every wrong way of asking."""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit.errors import ImpossibleEvidence, SettingError, TooLarge, UsageError
from bayeskit.networks import MostProbable, Not, get_max_memory, set_max_memory
from network_twin import log_total, margin, random_network
from query_networks import asia, built, joint_with_evidence, node, public, random_evidence, wet_grass
from refusals import refuses


def check_enumeration(seed, zeros):
    """Ask a random network everything; return whether its evidence was impossible. (A campaign runs it, too.)"""
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=int(rng.integers(1, 7)), max_states=3, zeros=zeros)
    hard, soft, likelihoods = random_evidence(rng, network)
    asked, joint = public(network), joint_with_evidence(network, likelihoods)
    names = network.dag.nodes
    expected = log_total(joint)
    assert math.isclose(asked.log_probability(hard, soft=soft), expected, rel_tol=1e-12, abs_tol=1e-12)
    if expected == -math.inf:
        with pytest.raises(ImpossibleEvidence):
            asked.posteriors(hard, soft=soft)
        return True
    posterior = joint / joint.sum()
    found = asked.posteriors(hard, soft=soft)
    assert list(found) == list(names)
    for axis, name in enumerate(names):
        assert np.allclose(found[name], margin(posterior, axis), rtol=1e-12, atol=1e-13)
    axes = rng.permutation(len(names))[: int(rng.integers(1, 4))].tolist()
    factor = asked.query([*(names[a] for a in axes)], evidence=hard, soft=soft)
    assert factor.names == tuple(names[a] for a in axes)
    assert factor.states == tuple(network[n].variable.states for n in factor.names)
    assert np.allclose(factor.values, margin(posterior, *axes), rtol=1e-12, atol=1e-13)
    assert math.isclose(factor.values.sum(), 1.0, rel_tol=1e-12)
    check_most_probable(asked.mpe(hard, soft=soft), network, joint, range(len(names)))
    check_most_probable(asked.map([names[a] for a in axes], hard, soft=soft), network, joint, axes)
    return False


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
def test_every_answer_equals_enumeration(seed, zeros):
    check_enumeration(seed, zeros)


def check_most_probable(best, network, joint, axes):
    """The states reach the largest number of the margin, and the log is its logarithm."""
    order = sorted(axes)
    table = margin(joint, *order)
    place = tuple(network.nodes[a].variable.states.index(best[network.nodes[a].name]) for a in order)
    assert math.isclose(table[place], table.max(), rel_tol=1e-12)
    assert math.isclose(best.log_probability, math.log(table.max()), rel_tol=1e-11, abs_tol=1e-11)


def test_the_textbook_s_wet_grass():
    grass = wet_grass()
    for target, seen, expected in [
        ("S", {"B": "yes", "J": "yes"}, Fraction(43, 268)),
        ("R", {"B": "yes", "J": "yes"}, Fraction(125, 134)),
        ("R", {"B": "yes"}, Fraction(25, 34)),
        ("S", {"B": "yes"}, Fraction(23, 68)),
        ("S", {}, Fraction(1, 10)),
    ]:
        assert abs(grass.query(target, evidence=seen)["yes"] - float(expected)) <= 1e-15
        assert abs(grass.posteriors(seen)[target][1] - float(expected)) <= 1e-15
    assert math.isclose(math.exp(grass.log_probability({"B": "yes", "J": "yes"})), 0.2144, rel_tol=1e-14)
    best = grass.mpe({"B": "yes", "J": "yes"})
    assert best == {"R": "yes", "S": "no", "J": "yes", "B": "yes"}
    assert math.isclose(best.probability, 0.2 * 0.9, rel_tol=1e-14)


def test_the_chest_clinic():
    clinic = asia()
    assert abs(clinic.query("lung")["yes"] - 0.055) <= 1e-15
    assert abs(clinic.query("lung", evidence={"xray": "yes"})["yes"] - 192500 / 393893) <= 1e-14
    seen = {"xray": "yes", "asia": "yes"}
    assert abs(clinic.query("lung", evidence=seen)["yes"] - 3080 / 8291) <= 1e-14


def test_observed_targets_are_one_hot():
    grass = wet_grass()
    factor = grass.query(["B", "R", "J"], evidence={"J": "yes", "B": "yes"})
    assert factor.values[0].tolist() == [[0, 0], [0, 0]] and factor.values[1, :, 0].tolist() == [0, 0]
    assert abs(factor["yes", "yes", "yes"] - 125 / 134) < 1e-15
    assert grass.query("J", evidence={"J": "yes"}).values.tolist() == [0, 1]
    assert np.allclose(grass.posteriors({"J": "yes"})["J"], [0, 1], rtol=1e-15, atol=0)
    best = grass.map(["J"], {"J": "yes"})
    assert best == {"J": "yes"} and math.isclose(best.log_probability, math.log(0.36), rel_tol=1e-14)
    best = grass.map(["S", "J"], {"J": "yes", "R": "no"})
    assert list(best.items()) == [("S", "no"), ("J", "yes"), ("R", "no")]


def test_negative_evidence_is_the_sum_of_what_is_left():
    grass = wet_grass()
    assert np.allclose(
        grass.query("R", evidence={"B": Not("no")}).values,
        grass.query("R", evidence={"B": "yes"}).values,
        atol=1e-15,
    )


def test_soft_evidence_counts_as_given():
    grass = wet_grass()
    assert math.isclose(grass.log_probability(soft={"R": [2, 6]}), math.log(0.8 * 2 + 0.2 * 6), rel_tol=1e-14)
    assert np.allclose(grass.query("R", soft={"R": [2, 6]}).values, [4 / 7, 3 / 7], atol=1e-15)
    assert math.isclose(
        grass.log_probability({"R": "yes"}, soft={"R": [2, 6e-9]}), math.log(0.2 * 6e-9), rel_tol=1e-14
    )
    assert math.isclose(grass.mpe(soft={"R": [0, 6]}).probability, 6 * 0.2 * 0.9, rel_tol=1e-14)
    assert math.isclose(grass.map("R", soft={"R": [2, 6]}).probability, 1.6, rel_tol=1e-14)


def test_ties_go_to_the_lowest_states():
    half = np.full((2, 2), 0.5)
    coins = built(node("a", ["b"], half), node("b", [], [0.5, 0.5]), node("c", ["a"], half))
    assert coins.mpe() == {"a": "no", "b": "no", "c": "no"}
    assert coins.map(["c", "a"]) == {"a": "no", "c": "no"}


def test_ways_of_naming_targets():
    grass = wet_grass()
    expected = grass.query(["S", "R"])
    assert grass.query(["S", "R"]) == expected == grass.query(("S", "R"))
    assert grass.map("R") == grass.map(["R"])
    tupled = built(node(("a", 1), [], [0.5, 0.5]), node("self", [], [0.1, 0.9]))
    assert tupled.query(("a", 1)).names == (("a", 1),)
    assert tupled.map(("a", 1)) == {("a", 1): "no"}
    odd = ["self", "evidence", "class", "湿"]
    named = built(*(node(name, [], [0.25, 0.75]) for name in odd))
    assert list(named.posteriors({"evidence": "no"})) == odd
    assert named.query(["湿", "class"], evidence={"self": "no"})["yes", "no"] == 0.1875


@pytest.mark.parametrize("ask", ["query", "map"])
def test_wrong_targets_are_refused(ask):
    grass = wet_grass()
    call = (lambda *t: grass.query([*t])) if ask == "query" else (lambda *t: grass.map(list(t)))
    for targets, said in [
        ((), ["node"]),
        (([],), ["node"] if ask == "query" else ["[]", "R", "S", "J"]),
        (("R", "R"), ["R", "twice"]),
        (("Q",), ["Q", "R", "S"]),
        (({"R": 1},), ["{'R': 1}", "R", "S", "J"]),
    ]:
        with refuses(SettingError, *said):
            call(*targets)


def test_names_written_nearly_right():
    with refuses(SettingError, "smoek", "smoke"):
        asia().query("smoek")
    with refuses(SettingError, "bronk", "bronc"):
        asia().posteriors({"bronk": "yes"})


def test_impossible_evidence_has_no_probability_and_raises_elsewhere():
    grass = wet_grass()
    clash = {"R": "yes", "J": "no"}
    assert grass.log_probability(clash) == -math.inf
    for ask in (
        grass.posteriors,
        grass.mpe,
        lambda e: grass.map("S", e),
        lambda e: grass.map("R", e),
        lambda e: grass.query("S", evidence=e),
    ):
        with pytest.raises(ImpossibleEvidence) as caught:
            ask(clash)
        assert caught.value.evidence == clash


def test_a_network_without_tables_says_which():
    bare = built(node("a", [], [0.5, 0.5]), node("b", ["a"], None, ["x", "y"]))
    for ask in (bare.posteriors, bare.mpe, lambda: bare.query("a"), bare.log_probability):
        with refuses(UsageError, "b", "set_cpt"):
            ask()


def test_answers_are_the_caller_s_own():
    grass = wet_grass()
    before = {name: values.copy() for name, values in grass.posteriors().items()}
    for values in grass.posteriors().values():
        values[:] = 7.0
    after = grass.posteriors()
    assert all((after[name] == before[name]).all() for name in before)
    with pytest.raises(ValueError, match="read-only"):
        grass.query("R").values[0] = 1.0


def test_a_change_is_seen_by_the_next_question():
    grass = wet_grass()
    grass.posteriors()
    grass.set_cpt("R", [0.5, 0.5])
    assert abs(grass.query("R")["yes"] - 0.5) < 1e-15 and abs(grass.posteriors()["J"][1] - 0.6) < 1e-15


def test_sixteen_threads_ask_one_network():
    clinic = asia()
    sets = [
        {"xray": x, "dysp": d, "smoke": s}
        for x in ("no", "yes")
        for d in ("no", "yes")
        for s in ("no", "yes")
    ]
    expected = [asia().posteriors(seen) for seen in sets]

    def ask(k):
        seen = sets[k % 8]
        return (
            k % 8,
            clinic.posteriors(seen),
            clinic.query(["lung", "bronc"], evidence=seen),
            clinic.mpe(seen),
        )

    with ThreadPoolExecutor(16) as pool:
        for k, found, factor, best in pool.map(ask, range(400)):
            assert all(np.allclose(found[n], expected[k][n], atol=1e-14) for n in found)
            assert np.allclose(factor.marginal("lung").values, expected[k]["lung"], atol=1e-14)
            assert best["xray"] == sets[k]["xray"]


def test_the_memory_allowed_reaches_the_engine():
    seen = []

    class Engine:
        def marginals(self, evidence, limit):
            seen.append(limit)
            raise TooLarge(10**12, limit, ["a"], 1e11)

    grass = wet_grass()
    grass._adapter.exact = Engine()
    before = set_max_memory(2**20)
    try:
        with pytest.raises(TooLarge):
            grass.posteriors()
        with pytest.raises(TooLarge):
            grass.posteriors(max_memory=5e9)
        assert seen == [2**20, 5e9] and get_max_memory() == 2**20
    finally:
        assert set_max_memory(before) == 2**20
    for wrong in (0, -1, math.nan, "1GB", True, None):
        with refuses(SettingError, "n_bytes", repr(wrong)):
            set_max_memory(wrong)
        if wrong is not None:
            with refuses(SettingError, "max_memory", repr(wrong)):
                grass.posteriors(max_memory=wrong)
    assert get_max_memory() == before


def test_most_probable_is_a_dict_that_travels():
    best = wet_grass().mpe({"B": "yes"})
    for twin in (pickle.loads(pickle.dumps(best)), copy.copy(best), copy.deepcopy(best)):
        assert isinstance(twin, MostProbable) and twin == best
        assert twin.log_probability == best.log_probability
    assert "log_probability=-1.7" in repr(best)


def test_the_empty_network():
    empty = BayesianNetwork()
    assert empty.posteriors() == {} and empty.log_probability() == 0.0 and empty.mpe() == {}


def test_a_chain_of_ten_thousand():
    noisy, copied = [[0.9, 0.1], [0.1, 0.9]], [[1, 0], [0, 1]]
    links = (node(k, [k - 1], copied if k > 9_990 else noisy) for k in range(1, 10_000))
    chain = built(node(0, [], [0.5, 0.5]), *links)
    seen = {0: "no", 3: "yes", 9_999: "no"}
    found = chain.posteriors(seen)
    # P(x1 | x0 = 0, x3 = 1): one step there, two steps back, out of three.
    there, back = np.array([0.9, 0.1]), np.array([2 * 0.9 * 0.1, 0.81 + 0.01])
    assert np.allclose(found[1], there * back / (there @ back), rtol=1e-12)
    assert np.allclose(found[9_991], [1, 0])
    assert np.allclose(chain.predict_proba({0: ["no"], 3: ["yes"]}, 1), [found[1]], rtol=1e-12)
    with pytest.raises(ImpossibleEvidence) as caught:
        chain.query(1, evidence={**dict.fromkeys(range(200), "no"), 9_992: "yes", 9_998: "no"})
    assert caught.value.evidence == {9_992: "yes", 9_998: "no"}
