"""pyAgrum and we answer alike: marginals, P(evidence), files both ways, independence.

    BAYESKIT_PEERS_PYTHON=PEERS/bin/python python -m pytest tests/peers/test_pyagrum.py

pyAgrum runs in the interpreter that ``BAYESKIT_PEERS_PYTHON`` names, or in this one where it can be imported.
It reads numbers of a file in single precision, hence 1e-6.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import peer_networks
from bayeskit import read_network
from bayeskit._graphs.dag import ancestors
from bayeskit.errors import ImpossibleEvidence
from bayeskit.networks import InfluenceDiagram, medical_test, oil_wildcatter, read_influence_diagram
from influence_twin import random_diagram
from peer_networks import CLOSE, check_tables, interpreter_with, some_network

CHILD = Path(__file__).with_name("pyagrum_child.py")
INTERPRETER, pytestmark = interpreter_with("pyagrum")


def ask(folder, questions):
    return peer_networks.ask(INTERPRETER, CHILD, folder, questions)


def states_of(network):
    return {name: list(network.states(name)) for name in network.nodes}


def some_evidence(rng, network, n):
    """Draw evidence from rows of the network, and now and then any states at all, which may be impossible."""
    rows = network.sample(n, random_state=int(rng.integers(2**31)), as_codes=True)
    made = []
    for row in rows:
        nodes = network.nodes
        observed = rng.choice(len(nodes), int(rng.integers(0, len(nodes))), replace=False)
        codes = row if rng.random() < 0.8 else [int(rng.integers(len(network.states(v)))) for v in nodes]
        made.append({nodes[v]: network.states(nodes[v])[codes[v]] for v in observed})
    return made


def test_marginals_and_probabilities_of_evidence_are_the_same(tmp_path):
    rng = np.random.default_rng(20)
    networks = [some_network(rng, zeros=0.3 if k % 2 else 0.0) for k in range(420)]
    questions = []
    for k, network in enumerate(networks):
        network.write(tmp_path / f"{k}.bif")
        told = some_evidence(rng, network, 5)
        one = {"task": "posteriors", "file": f"{k}.bif", "states": states_of(network), "evidence": told}
        questions.append(one)
    pairs = impossible = 0
    for network, one, found in zip(networks, questions, ask(tmp_path, questions), strict=True):
        for evidence, theirs in zip(one["evidence"], found, strict=True):
            pairs += 1
            log_p = network.log_probability(evidence)
            if log_p == -math.inf:
                impossible += 1
                assert theirs is None or theirs["probability"] == 0.0
                with pytest.raises(ImpossibleEvidence):
                    network.posteriors(evidence)
                continue
            assert theirs is not None, evidence
            assert math.exp(log_p) == pytest.approx(theirs["probability"], rel=1e-5, abs=CLOSE)
            for name, mine in network.posteriors(evidence).items():
                np.testing.assert_allclose(theirs["posteriors"][name], mine, atol=CLOSE, rtol=0)
    assert pairs >= 2000 and 0 < impossible < pairs / 4


# In XDSL and UAI files pyAgrum lets the first parent vary fastest. GeNIe and the UAI rules let the last one, and so do
# we: of what we write there it reads nodes of one parent only as they are. What it writes we know by its comments.
MOST_PARENTS = {"bif": 3, "bifxml": 3, "net": 3, "xdsl": 1, "uai": 1}


@pytest.mark.parametrize("suffix", MOST_PARENTS)
def test_pyagrum_opens_the_files_we_write(tmp_path, suffix):
    rng = np.random.default_rng(3)
    networks = [some_network(rng, 0.2 * (k % 2), max_parents=MOST_PARENTS[suffix]) for k in range(60)]
    for k, network in enumerate(networks):
        network.write(tmp_path / f"{k}.{suffix}")
    found = ask(tmp_path, [{"task": "tables", "file": f"{k}.{suffix}"} for k in range(len(networks))])
    for network, theirs in zip(networks, found, strict=True):
        check_tables(network, theirs, named=suffix != "uai")


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SourceNote")
@pytest.mark.parametrize("suffix", ["bif", "bifxml", "net", "dsl", "xdsl", "uai"])
def test_we_open_the_files_pyagrum_writes(tmp_path, suffix):
    rng = np.random.default_rng(4)
    networks, questions = [], []
    for k in range(60):
        networks.append(some_network(rng, 0.2 * (k % 2)))
        networks[-1].write(tmp_path / f"{k}.bif")
        questions.append({"task": "rewritten", "file": f"{k}.bif", "written": [f"{k}_theirs.{suffix}"]})
    for k, theirs in enumerate(ask(tmp_path, questions)):
        held = theirs if suffix != "uai" else in_numbers(theirs, networks[k].nodes)
        check_tables(read_network(tmp_path / f"{k}_theirs.{suffix}"), held)


def in_numbers(theirs, names):
    """What pyAgrum holds, with places for the names of nodes and states: a UAI file has no others."""
    places = {name: place for place, name in enumerate(names)}
    held = {
        places[name]: {
            "labels": list(range(len(node["labels"]))),
            "parents": [places[p] for p in node["parents"]],
            "table": node["table"],
        }
        for name, node in theirs["nodes"].items()
    }
    return {"nodes": held}


def compelled(network):
    """The arcs that all graphs with the same neighbours and v-structures share, by trying all directions."""

    def colliders(arcs):
        linked = {frozenset(arc) for arc in arcs}
        return {
            (frozenset((a, c)), b)
            for a, b in arcs
            for c, d in arcs
            if b == d and a != c and frozenset((a, c)) not in linked
        }

    def is_acyclic(arcs):
        left = set(network.nodes)
        while left:
            tops = left - {b for a, b in arcs if a in left}
            if not tops:
                return False
            left -= tops
        return True

    edges, shared = list(network.arcs), set(network.arcs)
    for turned in itertools.product([False, True], repeat=len(edges)):
        arcs = [(b, a) if turn else (a, b) for turn, (a, b) in zip(turned, edges, strict=True)]
        # What is turned in no member so far is all that matters.
        if not shared <= set(arcs) and colliders(arcs) == colliders(edges) and is_acyclic(arcs):
            shared &= set(arcs)
    return shared


def test_independence_equivalence_and_blankets_are_the_same(tmp_path):
    rng = np.random.default_rng(5)
    networks = [some_network(rng, largest=7 if k % 2 else 12) for k in range(600)]
    questions = []
    for network in networks:
        asked = []
        for _ in range(12):
            a, b, *given = (str(v) for v in rng.permutation(network.nodes)[: int(rng.integers(2, 7))])
            asked.append([a, b, given])
        questions.append(
            {
                "task": "graphs",
                "nodes": list(network.nodes),
                "arcs": list(network.arcs),
                "questions": asked,
            }
        )
    answers, unlike = [], []
    for network, one, theirs in zip(networks, questions, ask(tmp_path, questions), strict=True):
        mine = [network.independent(a, b, given) for a, b, given in one["questions"]]
        assert mine == theirs["independent"]
        answers += mine
        directed = {tuple(arc) for arc in theirs["directed"]}
        if set(network.cpdag().directed) == directed:
            undirected = set(map(frozenset, network.cpdag().undirected))
            assert undirected == {frozenset(edge) for edge in theirs["undirected"]}
        else:
            unlike.append((network, directed))
        for name in network.nodes:
            assert sorted(network.markov_blanket(name)) == theirs["blankets"][name]
    assert 0.1 < np.mean(answers) < 0.9
    # EssentialGraph of pyAgrum 3.3 directs some arcs that are not compelled; counting decides, where that can be done.
    assert len(unlike) < 0.05 * len(networks)
    few = [pair for pair in unlike if len(pair[0].arcs) <= 14]
    for network, directed in few:
        assert set(network.cpdag().directed) == compelled(network) != directed


def some_influence_diagram(rng):
    """A random diagram without nodes of one state, in which every decision can change a utility.

    Where a decision changes nothing, pyAgrum 3.3.1 gives less than the optimum that enumeration finds.
    """
    while True:
        diagram = random_diagram(
            rng, int(rng.integers(3, 8)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
        )
        useful = [ancestors(diagram.dag, utility.name) for utility in diagram.utilities]
        if all(node.variable.size > 1 for node in diagram.network.nodes) and all(
            any(decision in above for above in useful) for decision in diagram.decisions
        ):
            return InfluenceDiagram._of(diagram)


def test_influence_diagrams_are_worth_the_same(tmp_path):
    rng = np.random.default_rng(21)
    diagrams = [oil_wildcatter(), medical_test(), *(some_influence_diagram(rng) for _ in range(200))]
    questions = []
    for k, diagram in enumerate(diagrams):
        diagram.write(tmp_path / f"{k}.bifxml")
        questions.append(
            {
                "task": "decided",
                "file": f"{k}.bifxml",
                "written": f"{k}-again.bifxml",
                "order": list(diagram.decisions),
            }
        )
    answers = ask(tmp_path, questions)
    assert sum(answer is not None for answer in answers) > len(diagrams) / 2
    for k, (diagram, theirs) in enumerate(zip(diagrams, answers, strict=True)):
        ours = diagram.solve().expected_utility
        scale = 1 + sum(float(np.abs(diagram.utility(u).values).max()) for u in diagram.utilities)
        assert theirs is None or abs(ours - theirs) <= CLOSE * scale, k
        again = read_influence_diagram(tmp_path / f"{k}-again.bifxml")
        assert again.decisions == diagram.decisions
        assert abs(again.solve().expected_utility - ours) <= 1e-4 * scale
