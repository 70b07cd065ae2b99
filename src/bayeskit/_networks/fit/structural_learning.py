"""Learns a network from rows with missing cells by structural EM."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit._data.table import open_table
from bayeskit._fitting.em import StoppingRule, run_em
from bayeskit._fitting.long_runs import progress_of
from bayeskit._fitting.networks.network_em import NetworkProblem
from bayeskit._fitting.networks.structural_em import structural_em
from bayeskit._fitting.search.node_columns import NodeColumns, in_pieces
from bayeskit._fitting.search.search_network import SearchSettings
from bayeskit._graphs.dag import Dag
from bayeskit._messages import Joined, Message
from bayeskit._networks.bayesian_network import BayesianNetwork
from bayeskit._networks.building import GraphLike, network_of, variable_of
from bayeskit._networks.fit.em_fitting import EmRecord
from bayeskit._schema import Name, Variable
from bayeskit._structure.arcs import Arcs
from bayeskit._structure.search_protocol import members
from bayeskit.errors import ColumnError, CyclicGraph, NotConverged, SettingError, SuspectResult
from bayeskit.priors import Prior
from bayeskit.typing import Floats, RowSource

# The settings of the final fit of the tables, with their prior.
TOLERANCE, MOST_STEPS = 1e-6, 200
STOPPED = {
    "time": Message("The time limit passed"),
    "interrupt": Message("Structural EM was interrupted"),
    "memory": Message("Exact answers about a better graph would take more memory than set_max_memory allows"),
}


def declared_hidden(
    data: RowSource | None, states: Mapping[Any, Any] | None
) -> tuple[Any, tuple[Variable, ...]]:
    """Separate the states of columns from those of nodes without a column in a table in memory."""
    if not isinstance(states, Mapping) or in_pieces(data):
        return states, ()
    names = set(open_table(data).names)
    hidden = tuple(variable_of(name, given) for name, given in states.items() if name not in names)
    return {name: given for name, given in states.items() if name in names}, hidden


def with_hidden(columns: NodeColumns, hidden: tuple[Variable, ...]) -> NodeColumns:
    """Add columns that are missing in every row; all of them must have states."""
    n = columns.n_rows
    variables = (*columns.variables, *hidden)
    numeric = next((v.name for v in variables if v.kind == "numeric"), None)
    for variable, numbers in zip(columns.variables, columns.numbers, strict=True):
        if numbers is not None and np.isnan(numbers).all():
            raise ColumnError(
                "Every cell of {name!r} is missing, so its states are unknown. Declare them, states={{{name!r}: "
                "[...]}}, or leave the column out.",
                name=variable.name,
            )
    if numeric is not None:
        raise ColumnError(
            '{numeric!r} is continuous, and method="structural-em" learns from columns of states. Whole numbers with '
            "gaps are read as floats: pass states={{{numeric!r}: [...]}}, or discretize=, or make it text.",
            numeric=numeric,
        )
    codes = (*columns.codes, *(np.full(n, variable.size) for variable in hidden))
    return NodeColumns(variables, codes, (None,) * len(variables), n)


def learn_with_holes(
    columns: NodeColumns,
    limits: Arcs,
    settings: SearchSettings,
    start: GraphLike | None,
    prior: Prior,
    weights: Floats | None,
    *,
    progress: bool,
) -> BayesianNetwork:
    """Return the network that structural EM finds, with tables fitted by EM with their prior."""
    if settings.score.name == "bds":
        raise SettingError(
            'criterion="bds" uses only configurations that occur, and with missing cells each has some expected '
            'weight. Use "bdeu".'
        )
    first = None if start is None else _graph(start, columns.names, limits)
    end = None if settings.time_limit is None else time.monotonic() + settings.time_limit
    with progress_of(progress, "families scored") as show:
        found = structural_em(columns, limits, settings, first, show, weights)
    if found.stopped:
        warnings.warn(
            SuspectResult("{why}: this is the best network found so far.", why=STOPPED[found.stopped]),
            stacklevel=3,
        )
    total = float(columns.n_rows if weights is None else weights.sum())
    left = None if end is None else max(end - time.monotonic(), 0.0)
    problem = NetworkProblem(found.network, columns, weights, prior, max_memory=settings.max_memory)
    steps = 1 if found.stopped else MOST_STEPS
    fit = run_em(problem, found.network, StoppingRule(TOLERANCE * total, steps, left, accelerate=True))
    if not (fit.converged or found.stopped):
        warnings.warn(
            NotConverged(
                "The arcs are found, but EM was still changing the tables after {n_iter} steps. Go on with "
                'fit(..., method="em", warm_start=True).',
                n_iter=fit.n_iter,
            ),
            stacklevel=3,
        )
    network = BayesianNetwork._of(fit.parameters)
    network._learned = EmRecord(found.history, found.converged, found.starts, total)
    return network


def _graph(start: GraphLike, names: tuple[Name, ...], limits: Arcs) -> tuple[int, ...]:
    """Read the initial graph, including the required arcs; raise an error for arcs that the limits forbid."""
    dag = network_of(start).dag
    place = {name: v for v, name in enumerate(names)}
    strange = next((name for name in dag.nodes if name not in place), None)
    if strange is not None:
        raise SettingError("start names {strange!r}, which is not a column.", strange=strange)
    found = list(limits.required)
    for node, parents in zip(dag.nodes, dag.parents, strict=True):
        child = place[node]
        for parent in parents:
            if not limits.allowed[child] >> place[parent] & 1:
                raise SettingError(
                    "start has the arc {parent!r} → {node!r}, which forbidden= or tiers= rule out.",
                    parent=parent,
                    node=node,
                )
            found[child] |= 1 << place[parent]
        if found[child].bit_count() > limits.max_parents:
            raise SettingError(
                "{node!r} has {n} parents in start, and max_parents is {max_parents}.",
                node=node,
                n=found[child].bit_count(),
                max_parents=limits.max_parents,
            )
    try:
        Dag(names, tuple(tuple(names[p] for p in members(mine)) for mine in found))
    except CyclicGraph as error:
        arcs = Joined(map(repr, error.cycle), " → ")
        raise SettingError(
            "The arcs of start and the required ones make a cycle: {arcs}.", arcs=arcs
        ) from None
    return tuple(found)
