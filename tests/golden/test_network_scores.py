"""Scores of graphs against bnlearn: every family, and every total (see networks/LEARNING.md)."""

from __future__ import annotations

import pytest

from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._fitting.search.regression_scores import MixedScores
from bayeskit._structure.search_protocol import Family, Score, bits
from bayeskit.networks import score
from learning_numbers import CASES, PART, graphs, numbers, table

OURS = {"loglik": "loglik", "aic": "aic", "bic": "bic", "bde": "bdeu", "bds": "bds", "k2": "k2"}
RELATIVE = 1e-11

# How many families, and how many totals, each case must have compared.
COMPARED = {
    ("asia", "kept"): (320, 40),
    ("learning.test", "kept"): (240, 40),
    ("clgaussian.test", "kept"): (84, 0),
    ("asia", "whole"): (320, 40),
    ("learning.test", "whole"): (240, 40),
    ("alarm", "whole"): (1480, 40),
    ("insurance", "whole"): (1080, 40),
    ("gaussian.test", "whole"): (105, 15),
    ("clgaussian.test", "whole"): (120, 15),
}


def asked(data, where):
    """Yield (score, imaginary rows, graph, node, value) for the scores that we have."""
    for line in numbers("scores", where, data):
        name = OURS.get(line["score"].removesuffix("-cg").removesuffix("-g"))
        if name is not None:
            ess = float(line["args"].removeprefix("iss=") or 1.0)
            yield name, ess, line["dag"], line["node"], float(line["value"])


@pytest.mark.parametrize(("data", "where"), CASES)
def test_every_family(data, where):
    columns = read_nodes(table(data, where))
    place = {name: v for v, name in enumerate(columns.names)}
    dags = graphs(data, where)
    discrete = bool(columns.is_discrete.all())
    answers, n = {}, 0
    for name, ess, dag, node, value in asked(data, where):
        if node == "TOTAL":
            continue
        if (name, ess) not in answers:
            made = Score(name, ess)
            answers[name, ess] = (
                FamilyScores(columns.code_matrix(), columns.sizes, made)
                if discrete
                else MixedScores(columns, made)
            )
        family = Family(place[node], bits([place[p] for p in dags[dag][node]]))
        assert answers[name, ess]([family])[0][0] == pytest.approx(value, rel=RELATIVE), (name, dag, node)
        n += 1
    assert n == COMPARED[data, where][0]


@pytest.mark.parametrize(("data", "where"), CASES)
def test_every_total(data, where):
    rows, n = table(data, where), 0
    dags = graphs(data, where)
    for name, ess, dag, node, value in asked(data, where):
        if node == "TOTAL":
            found = score(dict(dags[dag]), rows, name, ess=ess)
            assert found == pytest.approx(value, rel=RELATIVE), (name, dag)
            n += 1
    assert n == COMPARED[data, where][1]
    assert n or data in PART
