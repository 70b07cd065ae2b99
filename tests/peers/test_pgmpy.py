"""pgmpy reads the files that we write, and we read what it writes.

BAYESKIT_PEERS_PYTHON=PEERS/bin/python python -m pytest tests/peers/test_pgmpy.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import peer_networks
from bayeskit import BayesianNetwork, read_network
from bayeskit.errors import ModelFormatError
from peer_networks import check_tables, interpreter_with, some_network

CHILD = Path(__file__).with_name("pgmpy_child.py")
INTERPRETER, pytestmark = interpreter_with("pgmpy")


def ask(folder, questions):
    return peer_networks.ask(INTERPRETER, CHILD, folder, questions)


@pytest.mark.parametrize("suffix", ["bif", "bifxml", "net", "xdsl"])
def test_files_go_to_pgmpy_and_come_back(tmp_path, suffix):
    rng = np.random.default_rng(11)
    networks = [some_network(rng, 0.2 * (k % 2)) for k in range(30)]
    for k, network in enumerate(networks):
        network.write(tmp_path / f"{k}.{suffix}")
    questions = [{"file": f"{k}.{suffix}", "written": [f"{k}_theirs.{suffix}"]} for k in range(len(networks))]
    for k, theirs in enumerate(ask(tmp_path, questions)):
        check_tables(networks[k], theirs)
        check_tables(read_network(tmp_path / f"{k}_theirs.{suffix}"), theirs)


def test_its_uai_files_are_refused(tmp_path):
    """pgmpy writes a table with the node's states slowest, against the rules of UAI, and no mark says so."""
    network = BayesianNetwork({"a": [], "b": ["a"]}, {"a": ["s0", "s1"], "b": ["s0", "s1", "s2"]})
    network.set_cpt("a", [0.3, 0.7])
    network.set_cpt("b", [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    network.write(tmp_path / "a.bif")
    ask(tmp_path, [{"file": "a.bif", "written": ["a.uai"]}])
    text = (tmp_path / "a.uai").read_text("utf-8")
    for end in ("", "\n"):  # it ends without a line end, as a file that was cut does
        (tmp_path / "a.uai").write_text(text + end, "utf-8")
        with pytest.raises(ModelFormatError):
            read_network(tmp_path / "a.uai")
