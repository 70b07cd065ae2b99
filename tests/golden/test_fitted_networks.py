"""Fitted tables and regressions against bnlearn's bn.fit (see networks/LEARNING.md)."""

from __future__ import annotations

import math

import pytest

from bayeskit import BayesianNetwork
from bayeskit.priors import BDeu
from learning_numbers import CASES, graphs, numbers, table

PRIORS = {"mle": "mle", "bayes_iss1": BDeu(1), "bayes_iss10": BDeu(10), "mle-g": "mle", "mle-cg": "mle"}

# (numbers compared, configurations that no row has) of each case.
COMPARED = {
    ("asia", "kept"): (108, 0),
    ("learning.test", "kept"): (186, 0),
    ("clgaussian.test", "kept"): (41, 0),
    ("asia", "whole"): (108, 0),
    ("learning.test", "whole"): (186, 0),
    ("insurance", "whole"): (2782, 66),
    ("gaussian.test", "whole"): (21, 0),
    ("clgaussian.test", "whole"): (66, 0),
}


def fitted(data, where, method):
    rows = table(data, where)
    true = graphs(data, where)["true"]
    parents = {name: true[name] for name in rows.columns}
    continuous = {name: float for name in rows.columns if rows[name].dtype.kind == "f"}
    return BayesianNetwork(parents, continuous).fit(rows, smoothing=PRIORS[method], variance="unbiased")


def configuration(network, node, config):
    """Return where a configuration "A=a;B=b" of discrete parents is in the arrays of a node."""
    given = dict(pair.split("=", 1) for pair in config.split(";")) if config else {}
    return tuple(network.states(p).index(given[p]) for p in network.parents(node) if p in given)


def value_of(network, node, config, state):
    place = configuration(network, node, config)
    found = network.distribution(node)
    if hasattr(found, "table"):
        return found.table()[place][network.states(node).index(state)]
    if state == "(Intercept)":
        return found.intercept[place]
    if state == "sd":
        return math.sqrt(found.variance[place])
    numeric = [p for p in network.parents(node) if network.distribution(p).__class__ is found.__class__]
    return found.coefficients[place][numeric.index(state)]


@pytest.mark.parametrize(("data", "where"), [case for case in CASES if case in COMPARED])
def test_every_parameter(data, where):
    networks, n, unseen = {}, 0, 0
    for line in numbers("fitted_parameters", where, data):
        method, node = line["method"], line["node"]
        if method not in networks:
            networks[method] = fitted(data, where, method)
        network = networks[method]
        found = value_of(network, node, line["config"], line["state"])
        if line["value"] in ("NA", "NaN"):
            # bnlearn has no answer for a configuration that never occurs; ours is uniform.
            assert found == pytest.approx(1 / len(network.states(node)))
            unseen += 1
        elif method in ("mle-g", "mle-cg"):
            assert found == pytest.approx(float(line["value"]), rel=1e-9), line
        else:
            assert found == pytest.approx(float(line["value"]), abs=1e-13), line
        n += 1
    assert (n, unseen) == COMPARED[data, where]
