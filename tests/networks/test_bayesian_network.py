"""The public class: it is built, asked, changed, copied and pickled."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit.networks import asia, melon, seven, wet_grass
from edits import after
from network_twin import random_network

MADE = [wet_grass, asia, seven, melon]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_the_examples_are_complete(make):
    network = make()
    network._network.require_distributions()
    for name in network.nodes:
        assert network.cpt(name).values.sum(axis=-1) == pytest.approx(1.0, abs=1e-15)
    assert make() == network and make() is not network


def test_wet_grass_by_hand():
    network = wet_grass()
    assert network.query("sprinkler", evidence={"wet": "yes", "joe": "yes"})["yes"] == pytest.approx(43 / 268)
    assert network.query("rain", evidence={"wet": "yes", "joe": "yes"})["yes"] == pytest.approx(125 / 134)
    assert network.query("rain", evidence={"wet": "yes"})["yes"] == pytest.approx(25 / 34)
    assert network.query("sprinkler", evidence={"wet": "yes"})["yes"] == pytest.approx(23 / 68)


def test_asia_by_netica():
    network = asia()
    assert network.query("lung")["yes"] == pytest.approx(0.055)
    assert network.query("lung", evidence={"xray": "yes"})["yes"] == pytest.approx(192500 / 393893)
    both = {"xray": "yes", "asia": "yes"}
    assert network.query("lung", evidence=both)["yes"] == pytest.approx(3080 / 8291)


def test_free_parameters_of_the_textbook():
    assert seven().n_parameters == 25
    assert melon().n_parameters == 10
    assert melon().cpt("根蒂")["低", "硬挺"] == 0.7


def test_an_answer_follows_the_change():
    network = wet_grass()
    before = network.query("rain")["yes"]
    assert after(network, "set_cpt", "rain", [0.5, 0.5]).query("rain")["yes"] == pytest.approx(0.5)
    assert before == pytest.approx(0.2)
    assert network.do({"wet": "yes"}).query("rain")["yes"] == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["self", "evidence", "class", "湿"])
def test_names_that_are_words_of_python_or_of_ours(name):
    network = BayesianNetwork({name: [], "child": [name]}, states=["no", "yes"])
    network.set_cpt(name, [0.25, 0.75])
    network.set_cpt("child", {"no": [1, 0], "yes": [0, 1]})
    assert network.query(name, evidence={"child": "yes"})["yes"] == 1.0
    assert network.query("child", evidence={name: "no"})["no"] == 1.0


def again(network):
    return pickle.loads(pickle.dumps(network))


@given(st.integers(0, 2**31))
def test_pickled_and_copied_networks_are_equal(seed):
    network = BayesianNetwork(random_network(np.random.default_rng(seed), 5))
    for made in (again(network), copy.copy(network), copy.deepcopy(network), network.copy()):
        assert made == network and made.nodes == network.nodes and type(made) is BayesianNetwork
        made.rename({"x0": "other"})
        assert "x0" in network.nodes


def test_pickling_drops_what_is_kept_and_keeps_the_rest():
    network = asia()
    network.query("lung")
    assert network._cache._values
    network.remark = "mine"
    made = again(network)
    assert made.name == "asia" and made.remark == "mine" and not made._cache._values
    assert not copy.copy(network)._cache._values
    assert made.query("lung")["yes"] == pytest.approx(0.055)
    with pytest.raises(ValueError, match="read-only"):
        made.distribution("lung").values[0, 0] = 1.0


def test_subclasses_stay_themselves():
    class Mine(BayesianNetwork):
        pass

    network = Mine({"a": []}, states=["x", "y"])
    assert type(network.copy()) is Mine and type(network.do({"a": "x"})) is Mine


def test_repr():
    assert repr(BayesianNetwork()) == "BayesianNetwork: 0 nodes, 0 arcs"
    assert repr(BayesianNetwork({"b": ["a"]}, name="n")) == "BayesianNetwork 'n': P(b | a) P(a)"
    assert repr(BayesianNetwork({k + 1: [k] for k in range(9)})) == "BayesianNetwork: 10 nodes, 9 arcs"


def test_questions_during_changes_get_an_answer_of_before_or_after():
    network = wet_grass()
    answers, failures = set(), []

    def ask():
        try:
            for _ in range(60):
                answers.add(round(network.query("joe")["yes"], 9))
        except Exception as error:
            failures.append(error)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for k in range(60):
        network.set_cpt("rain", [0.5, 0.5] if k % 2 else [0.8, 0.2])
    for asker in askers:
        asker.join()
    assert not failures
    # P(joe = yes) is 0.2 · P(rain = no) + P(rain = yes).
    assert answers <= {0.36, 0.6}
    assert network.query("joe")["yes"] == pytest.approx(0.6)
