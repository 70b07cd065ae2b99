"""Fits a network by EM, and learns one by structural EM: settings, rows, the run and its history."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._data.class_labels import as_weights
from bayeskit._data.source import thread_count
from bayeskit._data.table import open_table
from bayeskit._fitting.em import EmResult, StoppingRule, run_em, run_em_from_starts
from bayeskit._fitting.long_runs import progress_of
from bayeskit._fitting.networks.network_em import NetworkProblem, start_network, with_tables_of
from bayeskit._fitting.search.node_columns import NodeColumns, in_pieces, read_nodes
from bayeskit._fitting.search.search_network import SearchSettings
from bayeskit._graphs.dag import Dag
from bayeskit._graphs.distributions import LinearGaussian
from bayeskit._graphs.network import Network
from bayeskit._inference.exact import get_max_memory
from bayeskit._messages import Joined, Message
from bayeskit._networks.arguments import columns_of, number_below, switch, whole_number
from bayeskit._networks.building import GraphLike, network_of, variable_of
from bayeskit._random_state import seed_of
from bayeskit._schema import Name, Variable
from bayeskit._structure.search_protocol import Arcs, members
from bayeskit.errors import ColumnError, CyclicGraph, Incompatible, NotConverged, SettingError, SuspectResult
from bayeskit.priors import Prior
from bayeskit.typing import Floats, RowSource, Seed, TableLike, WeightsLike

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork


@dataclass(frozen=True)
class EmRecord:
    """The record of a fit by EM. It has no counts, so rows cannot be added or removed."""

    history: tuple[float, ...]
    converged: bool
    starts: tuple[float, ...]
    n_rows: float
    fell: bool = False


@dataclass(frozen=True)
class EmSettings:
    """The arguments of ``fit`` that belong to EM alone."""

    n_init: int = 1
    tol: float = 1e-8
    max_iter: int = 1000
    random_state: Seed = 0
    hard: bool = False
    accelerate: bool = True
    time_limit: float | None = None
    warm_start: bool = False
    start: BayesianNetwork | None = None
    n_jobs: int | None = None
    progress: bool = False

    def refuse(self) -> None:
        """Raise an error for settings that counting ignores."""
        for setting in fields(self):
            value = getattr(self, setting.name)
            if value is not setting.default and value != setting.default:
                raise SettingError(
                    '{name}={value!r} is a setting of EM. Pass method="em", or leave it out: counting does not need '
                    "it.",
                    name=setting.name,
                    value=value,
                )

    def check(self) -> None:
        """Raise an error for invalid settings."""
        whole_number(self.n_init, "n_init", 1)
        whole_number(self.max_iter, "max_iter", 1)
        number_below(self.tol, "tol")
        for name in ("hard", "accelerate", "warm_start", "progress"):
            switch(getattr(self, name), name)
        if self.time_limit is not None:
            number_below(self.time_limit, "time_limit")
        thread_count(self.n_jobs)
        if self.start is not None and not isinstance(getattr(self.start, "_network", None), Network):
            raise SettingError(
                "start is {start!r}; give a network with the tables from which EM starts.", start=self.start
            )
        if self.start is not None and self.warm_start:
            raise SettingError(
                "warm_start begins from the tables of this network, and start from those of another. Give one "
                "of them."
            )


def read_hidden(network: Network, data: TableLike) -> NodeColumns:
    """Read the columns of the nodes. A node without a column is hidden and must have declared states."""
    present = columns_of(network.dag.nodes, open_table(data).names)
    if not present:
        raise ColumnError(
            "No column is named after a node. The nodes are {names}.",
            names=Joined(map(repr, network.dag.nodes[:12])),
        )
    absent = [node for node in network.nodes if node.name not in present]
    for node in absent:
        if node.is_discrete and not node.variable.size:
            raise _undeclared(node.name, f"There is no column {node.name!r}")
    columns = read_known(network, data, present)
    for variable, numbers in zip(columns.variables, columns.numbers, strict=True):
        if numbers is not None and network[variable.name].is_discrete and np.isnan(numbers).all():
            raise _undeclared(variable.name, f"The column {variable.name!r} is empty")
    n = columns.n_rows
    return NodeColumns(
        (*columns.variables, *(node.variable for node in absent)),
        (*columns.codes, *(np.full(n, node.variable.size) if node.is_discrete else None for node in absent)),
        (*columns.numbers, *(None if node.is_discrete else np.full(n, np.nan) for node in absent)),
        n,
    )


def read_known(network: Network, data: TableLike, place: Mapping[Name, Name]) -> NodeColumns:
    """Read the columns of some nodes; discrete nodes without states get the states of their columns.

    ``place`` gives the column of each node.
    """
    nodes = [network[name] for name in place]
    known = {
        place[node.name]: replace(node.variable, name=place[node.name])
        for node in nodes
        if node.variable.size or not node.is_discrete
    }
    columns = read_nodes(data, only=[*place.values()], known=known)
    variables = (
        replace(variable, name=name) for variable, name in zip(columns.variables, place, strict=True)
    )
    return replace(columns, variables=tuple(variables))


def _undeclared(name: Name, what: str) -> ColumnError:
    return ColumnError(
        "{what}, and its states are not known. A node that is never observed needs them declared: "
        "BayesianNetwork(..., states={{{name!r}: [...]}}).",
        what=what,
        name=name,
    )


def fit_by_em(
    network: Network,
    columns: NodeColumns,
    sample_weight: WeightsLike | None,
    prior: Prior,
    imaginary: dict[Name, Floats],
    variance: str,
    em: EmSettings,
) -> tuple[Network, EmRecord]:
    """Return the network that EM finds, and its record. The given network has states, but may have no tables."""
    weights = as_weights(sample_weight, columns.n_rows)
    total = float(columns.n_rows if weights is None else weights.sum())
    problem = _problem(network, columns, weights, prior, imaginary, variance, em)
    first = None if em.start is None else _same_graph(network, em.start._network)
    first = network if em.warm_start else first
    seed = seed_of(em.random_state)
    starts = [partial(_start, network, columns, weights, seed, k, first) for k in range(em.n_init)]
    how = StoppingRule(
        em.tol * total,
        em.max_iter,
        em.time_limit,
        # Hard EM jumps between completions, so there is nothing to extrapolate.
        accelerate=em.accelerate and not em.hard,
    )
    with progress_of(em.progress, "steps") as show:
        on_step = None if show is None else lambda step, value: show(step)
        result, values = run_em_from_starts(problem, starts, how, on_step)
    _warn_not_converged(result, how, total)
    _warn_of_saddles(result.parameters, columns)
    notes = EmRecord(result.history, result.converged, tuple(values), total, result.fell)
    told = {"name": network.name, "notes": network.notes, "reading": network.reading}
    return replace(result.parameters, **told), notes


def _problem(
    network: Network,
    columns: NodeColumns,
    weights: Floats | None,
    prior: Prior,
    imaginary: dict[Name, Floats],
    variance: str,
    em: EmSettings,
) -> Any:
    settings: dict[str, Any] = {"hard": em.hard, "n_jobs": em.n_jobs, "max_memory": get_max_memory()}
    if network.is_discrete:
        return NetworkProblem(network, columns, weights, prior, imaginary, **settings)
    from bayeskit._fitting.networks.network_em_mixed import MixedNetworkProblem

    return MixedNetworkProblem(network, columns, weights, prior, imaginary, variance, **settings)


def _start(
    network: Network,
    columns: NodeColumns,
    weights: Floats | None,
    seed: int,
    k: int,
    first: Network | None,
) -> Network:
    rng = np.random.default_rng([seed, k])
    made = start_network(network, columns, weights, rng, jitter=k > 0)
    return with_tables_of(made, first) if first is not None and k == 0 else made


def _same_graph(network: Network, start: Network) -> Network:
    """Raise an error for a start with other nodes, parents or states."""
    for node in network.nodes:
        other = start[node.name] if node.name in start.dag.position else None
        if other is None or other.parents != node.parents or other.variable.states != node.variable.states:
            raise Incompatible(
                "start has no node {name!r} with the same parents and states, in the same order.",
                name=node.name,
            )
    return start


def _warn_not_converged(result: EmResult[Any], how: StoppingRule, total: float) -> None:
    """Warn if EM stopped before convergence."""
    if result.converged or (how.tol == 0.0 and result.stopped is None):
        return  # with a tolerance of 0, all steps were requested and made
    gain = result.history[-1] - result.history[-2] if result.n_iter else math.nan
    ended = {
        None: f"after max_iter={how.max_iter} steps",
        "time": "when its time was up",
        "interrupt": "when told to",
    }
    warnings.warn(
        NotConverged(
            "EM ended {ended} before it converged: the last of {n_iter} steps changed the value by "
            "{gain:.3g} per row (tol={tol:.3g}). The best network found is kept; raise max_iter or tol, or "
            "continue with warm_start=True. history_ contains the value after every step.",
            ended=ended[result.stopped],
            n_iter=result.n_iter,
            gain=gain / total,
            tol=how.tol / total,
        ),
        stacklevel=5,
    )


def _warn_of_saddles(network: Network, columns: NodeColumns) -> None:
    """Warn of unobserved nodes on which no child depends: EM never leaves such tables."""
    for j, name in enumerate(columns.names):
        if columns.codes[j] is None or columns.present(j).any() or network[name].variable.size < 2:
            continue
        children = [node.name for node in network.nodes if name in node.parents]
        if children and all(_ignores(network, child, name) for child in children):
            warnings.warn(
                SuspectResult(
                    "{name!r} was never observed, and none of its children depends on it: EM never leaves tables "
                    "that are the same in all its states. Use another start (without start, other random_state, "
                    "n_init), or leave the node out.",
                    name=name,
                ),
                stacklevel=5,
            )


def _ignores(network: Network, child: Name, parent: Name) -> bool:
    """Whether a node's distribution is the same, up to rounding, in all states of a discrete parent."""
    given: Any = network[child].distribution
    axis = [p for p in network[child].parents if network[p].is_discrete].index(parent)
    arrays: list[Floats]
    if isinstance(given, LinearGaussian):
        arrays, scale = [given.intercept, given.coefficients, given.variance], float(given.variance.max())
    else:
        arrays, scale = [given.table()], 1.0
    return all(np.allclose(array, array.take([0], axis), rtol=1e-9, atol=1e-12 * scale) for array in arrays)


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
    return NodeColumns(variables, codes, (None,) * len(variables), n, columns.reading)


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
    # The searches are loaded for this only, and networks import this module.
    from bayeskit._fitting.networks.structural_em import structural_em
    from bayeskit._networks.bayesian_network import BayesianNetwork

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
    network = BayesianNetwork._of(replace(fit.parameters, reading=columns.reading))
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
                    "start has the arc {parent!r} → {node!r}, which forbidden= or tiers= exclude.",
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
