"""EM for networks with continuous nodes, with missing cells and hidden nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.linear_family import LEAST_VARIANCE
from bayeskit._fitting.networks.gaussian_blocks import GaussianBlock, continuous_blocks
from bayeskit._fitting.networks.mixed_expectations import Completions, MixedRows
from bayeskit._fitting.networks.network_counts import configurations, estimated
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._graphs.distributions import Deterministic, LinearGaussian, Table
from bayeskit._graphs.network import Network, Node
from bayeskit._inference.exact import MAX_MEMORY
from bayeskit._messages import Message, RowNumber, listed
from bayeskit._schema import Name
from bayeskit._statistics.regressions import Regressions
from bayeskit.errors import DataError
from bayeskit.priors import MLE, Prior
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """Expected n(parents, child) of every discrete node, and expected moments of every continuous node."""

    tables: Mapping[Name, Floats]
    regressions: Mapping[Name, Regressions]

    def table(self, network: Network, name: Name) -> Floats:
        """Return n(parents, child) of a discrete node, the child's axis last."""
        return self.tables[name].reshape(network.shape_of(name))

    def less(self, other: ExpectedCounts) -> ExpectedCounts:
        """Subtract counts and moments that are part of these. Negative rounding errors become zero."""
        tables = {name: np.maximum(table - other.tables[name], 0.0) for name, table in self.tables.items()}
        moments = {name: sums.subtract(other.regressions[name]) for name, sums in self.regressions.items()}
        return ExpectedCounts(tables, moments)


class MixedNetworkProblem:
    r"""The EM problem of a conditional-Gaussian network; parameters are networks.

    Given the discrete nodes d, the numbers of a row are jointly normal. For every completion d of the missing discrete
    cells, with o the observed numbers,

    .. math:: P(d \mid \text{row}) \propto P(d)\, N(x_o; \mu_d, \Sigma_d), \quad
        \mathrm E[x x^\top \mid d, x_o] = \hat x \hat x^\top + \operatorname{Cov}(x \mid d, x_o)

    The objective is the log-likelihood, plus :math:`\sum a \log\theta` over the imaginary counts a of the tables.
    ``hard=True`` instead completes each row by its jointly most probable states and numbers (the numbers at their
    conditional mean, without covariance). The objective is then the log-likelihood of the completed rows. It includes
    the density of the filled-in numbers at their mode, so variances of nodes with many missing numbers are too small.

    Each variance is at least 1e-9 times the variance of its column (or times 1 if the column is constant or empty). A
    start with a variance of zero is an error. Nodes that are a function of their parents (`Deterministic`) do not
    change.

    Parameters
    ----------
    network : Network
        The graph and the states of every discrete node.
    columns : NodeColumns
        Columns with the names of the nodes, in codes of the nodes' states. A node without a column is never observed.
    weights : one number for each row, optional
    prior, imaginary, variance : as in `estimated`
    hard : bool
    n_jobs : int, optional
        The number of threads. The result does not depend on it.
    max_memory : bytes

    Examples
    --------
    Heights of two kinds of people, where the kind is hidden:

    >>> from bayeskit._graphs.network import Node, continuous, discrete
    >>> from bayeskit.mixtures import StoppingRule, run_em
    >>> from bayeskit._fitting.search.node_columns import read_nodes
    >>> kind = Node(discrete("kind", ("a", "b")), (), Table([0.5, 0.5]))
    >>> tall = Node(continuous("tall"), ("kind",), LinearGaussian([1.0, 2.0], np.zeros((2, 0)), [1.0, 1.0]))
    >>> rows = read_nodes({"tall": [1.5, 1.6, 1.7, 1.9, 2.0, 2.1]})
    >>> found = run_em(MixedNetworkProblem(Network((kind, tall)), rows), Network((kind, tall)), StoppingRule(1e-9))
    >>> found.parameters["tall"].distribution.intercept.round(3)
    array([1.6, 2. ])
    """

    def __init__(
        self,
        network: Network,
        columns: NodeColumns,
        weights: Floats | None = None,
        prior: Prior | None = None,
        imaginary: Mapping[Name, Floats] | None = None,
        variance: str = "mle",
        *,
        hard: bool = False,
        n_jobs: int | None = None,
        max_memory: float = MAX_MEMORY,
    ) -> None:
        self.network, self.hard, self.n_jobs = network, hard, n_jobs
        self._prior, self._imaginary, self._variance = prior or MLE(), dict(imaginary or {}), variance
        self._discrete = [node for node in network.nodes if node.is_discrete]
        each = np.ones(columns.n_rows) if weights is None else np.asarray(weights, np.float64)
        # A row without weight is ignored, even if it is impossible.
        kept = np.flatnonzero(each > 0.0)
        place = {name: j for j, name in enumerate(columns.names)}
        blocks = continuous_blocks(network)
        numeric = [name for block in blocks for name in block]
        values = {name: _numbers(columns, place.get(name))[kept] for name in numeric}
        self._scale = {name: _centre_and_spread(x) for name, x in values.items()}
        codes = np.column_stack(
            [np.empty((len(kept), 0), np.int64)]
            + [_codes(columns, place.get(node.name), node)[kept] for node in self._discrete]
        )
        above = {name for child in numeric for name in configurations(network, child)[0]}
        relevant = [node.name for node in self._discrete if node.name in above]
        self._completions = Completions(network, codes, relevant, max_memory)
        self._blocks = [
            GaussianBlock(network, names, relevant, self._completions.slot_codes, self._scale)
            for names in blocks
        ]
        less = [np.column_stack([values[name] - self._scale[name][0] for name in names]) for names in blocks]
        refusal = partial(_impossible, network, columns, kept)
        self._rows = MixedRows(self._completions, self._blocks, less, each[kept], max_memory, refusal)

    def expect(self, parameters: Network) -> tuple[ExpectedCounts, float]:
        """Return the expected counts and moments under a network, and the objective."""
        with np.errstate(divide="ignore"):
            logs = [np.log(_table(parameters, node.name)).reshape(-1) for node in self._discrete]
        log_slots, share = self._completions.weigh(np.concatenate([*logs, np.empty(0)]), self.hard)
        normals = [block.at(parameters) for block in self._blocks]
        value, slot_weights, sums = self._rows.expect(log_slots, normals, self.hard, self.n_jobs)
        regressions: dict[Name, Regressions] = {}
        for block, normal, mine in zip(self._blocks, normals, sums, strict=True):
            regressions |= block.regressions(normal, mine)
        counts = ExpectedCounts(self._completions.counts(share, slot_weights), regressions)
        return counts, value + self._log_prior(dict(zip(self._completions.names, logs, strict=True)))

    def maximise(self, statistics: ExpectedCounts) -> Network:
        """Return the network estimated from the counts and moments."""
        counts: Any = statistics
        found = estimated(self.network, counts, self._prior, self._imaginary, self._variance)
        nodes = []
        for node in found.nodes:
            given = node.distribution
            if isinstance(given, LinearGaussian):
                # The floor of the estimate is a fraction of a spread that includes filled-in numbers and may shrink.
                least = LEAST_VARIANCE * self._scale[node.name][1] ** 2
                spread = np.maximum(given.variance, least)
                node = replace(node, distribution=replace(given, variance=spread))
            nodes.append(self._keep_rule(node))
        return replace(found, nodes=tuple(nodes))

    def flat(self, parameters: Network) -> Floats:
        """Return log θ of the tables, intercepts and slopes in units of the columns' spread, and log-variances."""
        parts = []
        for node in parameters.nodes:
            given = node.distribution
            if isinstance(given, LinearGaussian):
                centre, scale, centres, scales = self._units(node.name)
                at_centre = given.intercept + given.coefficients @ centres - centre
                parts += [at_centre / scale, given.coefficients * (scales / scale), np.log(given.variance)]
            else:
                with np.errstate(divide="ignore"):
                    parts.append(np.log(_table(parameters, node.name)))
        return np.concatenate([np.empty(0), *(part.reshape(-1) for part in parts)])

    def unflat(self, vector: Floats) -> Network:
        """Return the network that a vector represents, with the rows of tables normalised."""
        nodes, at = [], 0

        def take(shape: tuple[int, ...]) -> Floats:
            nonlocal at
            size = int(np.prod(shape))
            at += size
            return vector[at - size : at].reshape(shape)

        for node in self.network.nodes:
            if node.is_discrete:
                log = take(self.network.shape_of(node.name))
                p = np.exp(log - log.max(axis=-1, keepdims=True))
                table = Table(p / p.sum(axis=-1, keepdims=True))
                nodes.append(self._keep_rule(replace(node, distribution=table)))
                continue
            discrete, numeric, _ = configurations(self.network, node.name)
            shape = self.network.sizes_of(discrete)
            centre, scale, centres, scales = self._units(node.name)
            at_centre, slopes, log = take(shape), take((*shape, len(numeric))), take(shape)
            slopes = slopes * (scale / scales)
            intercept = at_centre * scale + centre - slopes @ centres
            nodes.append(replace(node, distribution=LinearGaussian(intercept, slopes, np.exp(log))))
        return replace(self.network, nodes=tuple(nodes))

    def _keep_rule(self, node: Node) -> Node:
        """Return the original node if it is deterministic, otherwise the given node."""
        before = self.network[node.name]
        return before if isinstance(before.distribution, Deterministic) else node

    def _units(self, name: Name) -> tuple[float, float, Floats, Floats]:
        """Return the centre and spread of a node's column, and those of its numeric parents."""
        above = [self._scale[p] for p in configurations(self.network, name)[1]]
        centres, scales = np.array(above, np.float64).reshape(-1, 2).T
        return *self._scale[name], centres, scales

    def _log_prior(self, logs: Mapping[Name, Floats]) -> float:
        value = 0.0
        for node in self._discrete:
            if isinstance(node.distribution, Deterministic):
                continue
            shape = self.network.shape_of(node.name)
            cells = self._imaginary.get(node.name)
            if cells is None:
                cells = self._prior.cells(node.variable, int(np.prod(shape[:-1])))
            cells = np.broadcast_to(cells, shape).reshape(-1)
            some = cells > 0.0
            value += float(cells[some] @ logs[node.name][some])
        return value


def _table(network: Network, name: Name) -> Floats:
    given: Any = network[name].distribution
    return np.asarray(given.table(), np.float64)


def _numbers(columns: NodeColumns, place: int | None) -> Floats:
    found = None if place is None else columns.numbers[place]
    return np.full(columns.n_rows, np.nan) if found is None else found


def _codes(columns: NodeColumns, place: int | None, node: Node) -> NDArray[Any]:
    """Return the codes of a discrete node; all are missing if it has no column."""
    found = None if place is None else columns.codes[place]
    return np.full(columns.n_rows, node.variable.size) if found is None else found


def _centre_and_spread(x: Floats) -> tuple[float, float]:
    """Return the mean and standard deviation of the present values. Without spread, the deviation is 1."""
    seen = x[~np.isnan(x)]
    if not len(seen):
        return 0.0, 1.0
    # Subtract one of the values first, so that the spread of equal numbers is exactly zero.
    away = seen - seen[0]
    spread = float(away.std())
    return float(seen[0] + away.mean()), spread if spread > 0.0 else 1.0


def _impossible(network: Network, columns: NodeColumns, kept: NDArray[np.intp], row: int) -> DataError:
    """Return the error that names the row and its cells."""
    row = int(kept[row])
    cells = []
    for variable, codes, numbers in zip(columns.variables, columns.codes, columns.numbers, strict=True):
        if variable.name not in network.dag.position:
            continue
        if codes is not None and codes[row] < variable.size:
            cells.append(f"{variable.name!r} = {variable.states[codes[row]]!r}")
        elif numbers is not None and not np.isnan(numbers[row]):
            cells.append(f"{variable.name!r} = {numbers[row]:g}")
    shown = listed(cells, 12)
    return DataError(
        "{place} has probability zero under the network: {shown}. Leave it out, or start from tables "
        "without zeros, as any prior gives.",
        place=RowNumber(row, begins=True),
        shown=shown or Message("no cell is there"),
    )
