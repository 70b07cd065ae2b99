"""d-separation, classes, v-structures and distances against bnlearn (see networks/GRAPHS.md)."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from bayeskit import read_network
from bayeskit._graphs.dag import Dag, v_structures
from bayeskit._graphs.separation import d_separated
from bayeskit.networks import cpdag, shd
from outside import DATA

HERE = Path(__file__).parent / "networks"
NETWORKS = ("alarm", "insurance", "hailfinder")

# As the Bayesian Network Repository prints them (www.bnlearn.com/bnrepository).
PARAMETERS = {"alarm": 509, "pigs": 5618, "munin1": 15622}


def rows_of(name):
    with gzip.open(HERE / f"{name}.csv.gz", "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@cache
def graphs():
    """Return the graphs by (data, name); a column without arcs in one graph is a node all the same."""
    arcs, nodes = defaultdict(list), defaultdict(set)
    for row in rows_of("dags"):
        found = arcs[row["data"], row["dag"]]
        if row["from"]:
            found.append((row["from"], row["to"]))
            nodes[row["data"]] |= {row["from"], row["to"]}
    return {key: graph_of(found, nodes[key[0]]) for key, found in arcs.items()}


def graph_of(arcs, nodes):
    parents = {node: [] for node in sorted(nodes)}
    for parent, child in arcs:
        parents[child].append(parent)
    return Dag.of(parents, parents)


@pytest.mark.parametrize("net", NETWORKS)
def test_d_separation(net):
    arcs = [(row["from"], row["to"]) for row in rows_of("dsep_dags") if row["net"] == net]
    dag = graph_of(arcs, {node for arc in arcs for node in arc})
    asked = [row for row in rows_of("dsep") if row["net"] == net]
    assert len(asked) == 300
    for row in asked:
        given = row["z"].split("|") if row["z"] else []
        assert d_separated(dag, [row["x"]], [row["y"]], given) is (row["dsep"] == "1"), row


def test_classes():
    wanted = defaultdict(lambda: (set(), set()))
    for row in rows_of("cpdag"):
        directed, undirected = wanted[row["data"], row["dag"]]
        if not row["from"]:
            continue
        if row["directed"] == "1":
            directed.add((row["from"], row["to"]))
        else:
            undirected.add(frozenset((row["from"], row["to"])))
    assert len(graphs()) == 60
    for key, dag in graphs().items():
        found = cpdag(dag)
        assert (set(found.directed), set(map(frozenset, found.undirected))) == wanted[key], key


def test_v_structures():
    wanted = defaultdict(set)
    for row in rows_of("vstructs"):
        wanted[row["data"], row["dag"]].add((frozenset((row["x"], row["y"])), row["z"]))
    assert len(wanted) == 50
    for key, dag in graphs().items():
        assert {(frozenset((x, y)), z) for x, z, y in v_structures(dag)} == wanted[key], key


def test_distances():
    wanted = rows_of("distance")
    assert len(wanted) == 5 * 77
    for row in wanted:
        a, b = (graphs()[row["data"], row[name]] for name in ("dag1", "dag2"))
        assert shd(a, b) == shd(b, a) == int(row["shd"]), row
        skeletons = [{frozenset(arc) for arc in dag.arcs} for dag in (a, b)]
        assert len(skeletons[0] ^ skeletons[1]) == int(row["hamming"]), row


@pytest.mark.parametrize("net", PARAMETERS)
def test_number_of_parameters(net):
    path = DATA / "networks" / "bif" / f"{net}.bif.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here: set BAYESKIT_DATA to the folder that holds networks/bif")
    assert read_network(path).n_parameters == PARAMETERS[net]
