"""The score of a graph over the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from bayeskit._fitting.search.family_scores import FamilyScores, MixedScores
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._graphs.dag import Dag
from bayeskit._graphs.network import Network
from bayeskit._schema import Name
from bayeskit._structure.criteria import as_score
from bayeskit._structure.search_protocol import Family, bits
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import RowSource


def score(
    network: Network | Dag,
    data: RowSource,
    criterion: str = "bic",
    states: Mapping[Name, Any] | None = None,
    *,
    ess: float = 1.0,
) -> float:
    """Return the score of a graph on the scale of the log-likelihood. Higher is better.

    Parameters
    ----------
    network : a BayesianNetwork, a Dag, a mapping node → parents, or a list of (parent, child)
        Only its graph is used. The nodes are all columns of the data.
    data : any table in memory; rows with missing cells are left out
    criterion : {"bic", "aic", "loglik", "bdeu", "bds", "k2"}
    states : {column: states}
        Declared states. They count as parameters even if no row has them. By default, the states in the data.
    ess : the number of imaginary rows of "bdeu" and "bds"

    Examples
    --------
    >>> rows = {"a": ["x", "x", "y", "y"], "b": ["x", "x", "y", "y"]}
    >>> round(score([("a", "b")], rows, "loglik"), 4), round(score([], rows, "loglik"), 4)
    (-2.7726, -5.5452)
    """
    columns = read_nodes(data, states)
    found = as_score(criterion, ess)
    place = {column: v for v, column in enumerate(columns.names)}
    parents = [0] * len(place)
    dag = _dag(network, columns.names)
    for node, mine in zip(dag.nodes, dag.parents, strict=True):
        parents[place[node]] = bits([place[p] for p in mine])
    if not columns.complete.any():
        raise DataError("Every row has a missing cell, so there is nothing to score.")
    numeric = [columns.names[v] for v in range(len(place)) if not columns.is_discrete[v]]
    for node in dag.nodes:
        strange = next((p for p in dag.parents_of(node) if p in numeric and node not in numeric), None)
        if strange is not None:
            raise SettingError(
                "{node!r} is discrete and {strange!r}, its parent, is continuous; that has no score.",
                node=node,
                strange=strange,
            )
    scores: Any = (
        MixedScores(columns, found) if numeric else FamilyScores(columns.code_matrix(), columns.sizes, found)
    )
    return float(sum(answer[0] for answer in scores([Family(v, mine) for v, mine in enumerate(parents)])))


def _dag(network: Network | Dag, columns: tuple[Name, ...]) -> Dag:
    """Return the graph over all columns. Every node must be a column."""
    value = getattr(network, "_network", network)
    if isinstance(value, Network):
        value = value.dag
    if isinstance(value, Dag):
        value = value.as_mapping()
    if not isinstance(value, Mapping):
        value = _by_child(value)
    return Dag.of(value, columns)


def _by_child(arcs: Any) -> dict[Name, list[Name]]:
    """Turn (parent, child) pairs into a mapping from child to parents."""
    found: dict[Name, list[Name]] = {}
    try:
        for pair in arcs:
            # A string of two letters, or a set of two names, is not an arc.
            if isinstance(pair, (str, Set)):
                raise TypeError
            parent, child = pair
            found.setdefault(child, []).append(parent)
    except (TypeError, ValueError):
        raise SettingError(
            "{arcs!r} is not a graph. Give a network, a mapping node → parents, or (parent, child) pairs.",
            arcs=arcs,
        ) from None
    return found
