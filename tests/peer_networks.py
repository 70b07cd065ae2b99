"""Networks and files that other programs are asked about, in an interpreter that has these programs.

``BAYESKIT_PEERS_PYTHON`` names the interpreter; without it, this one is used where it can import the program.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from bayeskit import BayesianNetwork
from network_twin import random_network

CLOSE = 1e-6


def interpreter_with(package):
    """Return the interpreter to ask, and the marks of tests that need it."""
    named = os.environ.get("BAYESKIT_PEERS_PYTHON")
    found = named or (sys.executable if importlib.util.find_spec(package) else None)
    missing = pytest.mark.skipif(found is None, reason=f"no {package}: set BAYESKIT_PEERS_PYTHON")
    return found, [pytest.mark.peers, missing]


def ask(interpreter, child, folder, questions):
    """Return the answers of a script in another interpreter, which reads and writes files in this folder."""
    (folder / "asked.json").write_text(json.dumps(questions), encoding="utf-8")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [interpreter, str(child), str(folder)], capture_output=True, text=True, env=env, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((folder / "answered.json").read_text(encoding="utf-8"))


def some_network(rng, zeros=0.0, largest=10, max_parents=3):
    """A random graph with random tables; readers of other programs take no node of one state, so there is none."""
    graph = random_network(rng, int(rng.integers(2, largest + 1)), max_parents).dag.as_mapping()
    states = {name: [f"s{i}" for i in range(int(rng.integers(2, 5)))] for name in graph}
    network = BayesianNetwork(graph, states)
    for name, above in graph.items():
        table = rng.dirichlet(np.ones(len(states[name])), [len(states[p]) for p in above])
        table[rng.random(table.shape) < zeros] = 0.0
        table[..., 0] += table.sum(axis=-1) == 0
        network.set_cpt(name, table, normalize=True)
    return network


def check_tables(network, theirs, *, named=True):
    """Compare what another program holds with a network of ours, node by node; UAI files have places for names."""
    assert "refused" not in theirs, theirs
    assert len(theirs["nodes"]) == len(network.nodes)
    places = {str(v): str(k) for k, v in enumerate(network.nodes)}
    for name in network.nodes:
        held = theirs["nodes"][name if named else places[name]]
        cpt = network.cpt(name)
        above = list(network.parents(name)) if named else [places[p] for p in network.parents(name)]
        assert sorted(held["parents"]) == sorted(above)
        table = np.transpose(held["table"], [*(held["parents"].index(p) for p in above), len(above)])
        if named:
            assert sorted(held["labels"]) == sorted(network.states(name))
            for axis, member in enumerate([*above, name]):
                labels = theirs["nodes"][member]["labels"]
                table = table.take([labels.index(s) for s in network.states(member)], axis=axis)
        np.testing.assert_allclose(table, cpt.values, atol=CLOSE, rtol=0)
