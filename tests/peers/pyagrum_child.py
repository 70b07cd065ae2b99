"""pyAgrum's side of ``test_pyagrum.py``, run in an interpreter that has it; it imports nothing of ours.

``python pyagrum_child.py FOLDER``: reads ``asked.json`` in the folder and writes ``answered.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyagrum as gum


def posteriors(folder, asked):
    """P(evidence) and all marginals of a network for each set of evidence; None where pyAgrum says impossible."""
    network = gum.loadBN(str(folder / asked["file"]))
    order = {
        name: [network.variable(name).index(s) for s in states] for name, states in asked["states"].items()
    }
    engine = gum.LazyPropagation(network)
    found = []
    for evidence in asked["evidence"]:
        try:
            engine.setEvidence(evidence)
            engine.makeInference()
            margins = {n: engine.posterior(n).toarray()[place].tolist() for n, place in order.items()}
            found.append({"probability": float(engine.evidenceProbability()), "posteriors": margins})
        except (gum.IncompatibleEvidence, gum.UndefinedElement):
            found.append(None)
    return found


def tables(folder, asked):
    """Each node's labels, parents and table (parents, then the node), or why the file was refused."""
    try:
        network = gum.loadBN(str(folder / asked["file"]))
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    found = {}
    for name in network.names():
        table = network.cpt(name)
        axes = list(table.names)[::-1]  # an array has the first variable last
        order = [*(a for a in axes if a != name), name]
        found[name] = {
            "labels": list(network.variable(name).labels()),
            "parents": order[:-1],
            "table": table.toarray().transpose([axes.index(a) for a in order]).tolist(),
        }
    return {"nodes": found}


def rewritten(folder, asked):
    """Load a file and write it in other formats."""
    network = gum.loadBN(str(folder / asked["file"]))
    for name in asked["written"]:
        gum.saveBN(network, str(folder / name))
    return tables(folder, asked)


def graphs(folder, asked):
    """d-separations, the essential graph, Markov blankets."""
    network = gum.BayesNet()
    for name in asked["nodes"]:
        network.add(gum.LabelizedVariable(name, name, 2))
    for parent, child in asked["arcs"]:
        network.addArc(parent, child)
    essential = gum.EssentialGraph(network)

    def named(pairs):
        return [[network.variable(a).name(), network.variable(b).name()] for a, b in pairs]

    blankets = {}
    for name in asked["nodes"]:
        blanket = gum.MarkovBlanket(network, name).nodes()
        blankets[name] = sorted({network.variable(v).name() for v in blanket} - {name})
    return {
        "independent": [bool(network.isIndependent(a, b, given)) for a, b, given in asked["questions"]],
        "directed": named(essential.arcs()),
        "undirected": named(essential.edges()),
        "blankets": blankets,
    }


def decided(folder, asked):
    """The largest expected utility of an influence diagram with perfect recall; the file is written again."""
    diagram = gum.loadID(str(folder / asked["file"]))
    gum.saveID(diagram, str(folder / asked["written"]))
    try:
        engine = gum.ShaferShenoyLIMIDInference(diagram)
        engine.addNoForgettingAssumption(asked["order"])
        engine.makeInference()
        return engine.MEU()["mean"]
    except gum.GumException:  # some diagrams it reads, but cannot solve
        return None


TASKS = {
    "posteriors": posteriors,
    "tables": tables,
    "rewritten": rewritten,
    "graphs": graphs,
    "decided": decided,
}


def main(folder):
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    answered = [TASKS[one["task"]](folder, one) for one in asked]
    (folder / "answered.json").write_text(json.dumps(answered), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
