"""EM for discrete networks with missing cells and hidden nodes.

Complete rows are counted once. Equal incomplete rows are merged and their weights added. The start of each family is
estimated from the rows in which it is complete, or random if there are none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._fitting.networks.network_counts import NetworkCounts, configurations, estimated
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._graphs.distributions import Deterministic, Distribution, LinearGaussian, Table
from bayeskit._graphs.network import Network, Node
from bayeskit._inference.exact import MAX_MEMORY, Exact
from bayeskit._inference.lookup import log_weights
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._messages import Message, RowNumber, listed
from bayeskit._schema import Name
from bayeskit.errors import DataError
from bayeskit.priors import MLE, BDeu, Prior
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# Smaller probabilities are set to zero, because they converge to zero anyway: if a row needed the cell, its probability
# would be far larger. Products of many such numbers would underflow.
LEAST = 1e-40
MOST_SHOWN = 12


@dataclass(frozen=True, eq=False)
class TableCounts:
    """Expected n(parents, child) of every node, one table after the other."""

    flat: Floats
    part: Mapping[Name, slice]

    def table(self, network: Network, name: Name) -> Floats:
        return self.flat[self.part[name]].reshape(network.shape_of(name))

    def less(self, other: TableCounts) -> TableCounts:
        """Subtract counts that are part of these. Negative rounding errors become zero."""
        return TableCounts(np.maximum(self.flat - other.flat, 0.0), self.part)


class NetworkProblem:
    r"""The EM problem of a discrete network; parameters are networks.

    With o the observed cells of a row,

    .. math:: \bar n_{\pi, v} = \sum_i w_i\, P(\pi, x = v \mid o_i), \qquad
        \ell(\theta) = \sum_i w_i \log P(o_i) + \sum a \log \theta

    where a are the imaginary counts of the prior. ``hard=True`` completes each row by its most probable states instead.
    The objective is then the log-likelihood of the completed rows, plus the same sum over a.

    Complete rows are counted once, equal rows are merged, and rows without any cell have no effect. Nodes that are a
    function of their parents (`Deterministic`) do not change.

    Parameters
    ----------
    network : Network
        The graph and the states of every node.
    columns : NodeColumns
        Columns with the names of the nodes, in codes of the nodes' states. A node without a column is never observed.
    weights : one number for each row, optional
    prior, imaginary : as in `estimated`
    hard : bool
    n_jobs : int, optional
        The number of threads. The result does not depend on it.
    max_memory : bytes

    Examples
    --------
    In each of three rounds, one of two coins is tossed twice. It is not known which coin:

    >>> from bayeskit._graphs.network import Node, discrete
    >>> from bayeskit._fitting.search.node_columns import read_nodes
    >>> throw = Table([[0.4, 0.6], [0.7, 0.3]])
    >>> coin = Node(discrete("coin", ("a", "b")), (), Table([0.5, 0.5]))
    >>> throws = [Node(discrete(name, ("heads", "tails")), ("coin",), throw) for name in ("first", "second")]
    >>> rows = {"first": ["heads", "tails", "heads"], "second": ["heads", "tails", "tails"]}
    >>> network = Network((coin, *throws))
    >>> problem = NetworkProblem(network, read_nodes(rows, {name: ["heads", "tails"] for name in rows}))
    >>> counts, value = problem.expect(network)
    >>> counts.table(network, "coin").round(4), round(value, 4)
    (array([1.5795, 1.4205]), -4.1072)
    """

    def __init__(
        self,
        network: Network,
        columns: NodeColumns,
        weights: Floats | None = None,
        prior: Prior | None = None,
        imaginary: Mapping[Name, Floats] | None = None,
        *,
        hard: bool = False,
        n_jobs: int | None = None,
        max_memory: float = MAX_MEMORY,
    ) -> None:
        self.network, self.hard = network, hard
        self._n_jobs, self._max_memory = n_jobs, max_memory
        self._prior, self._imaginary = prior or MLE(), dict(imaginary or {})
        self._engine = Exact(_laid_out(network))
        p = self._engine.potentials
        starts = p.value_start.tolist()
        self._part = {
            node.name: slice(a, b) for node, a, b in zip(network.nodes, starts[:-1], starts[1:], strict=True)
        }
        each = np.ones(columns.n_rows) if weights is None else np.asarray(weights, np.float64)
        codes = codes_of(network, columns)
        seen = (codes < p.sizes).sum(axis=1)
        whole = np.flatnonzero((each > 0.0) & (seen == len(network.nodes)))
        holed = np.flatnonzero((each > 0.0) & (seen > 0) & (seen < len(network.nodes)))
        self._whole = RowPatterns.of(codes[whole], p.sizes, each[whole], whole)
        self._holed = RowPatterns.of(codes[holed], p.sizes, each[holed], holed)
        self._counted = family_counts(p, self._whole.codes, self._whole.weights)

    @cached_property
    def _rules(self) -> dict[Name, Distribution]:
        """The deterministic nodes, which are not estimated."""
        return {
            node.name: node.distribution
            for node in self.network.nodes
            if isinstance(node.distribution, Deterministic)
        }

    @cached_property
    def _added(self) -> Floats:
        """The imaginary counts of all tables; zero for deterministic nodes."""
        found = np.zeros(len(self._counted))
        for node in self.network.nodes:
            if node.name not in self._rules:
                shape = self.network.shape_of(node.name)
                cells = self._imaginary.get(node.name)
                if cells is None:
                    cells = self._prior.cells(node.variable, math.prod(shape[:-1]))
                found[self._part[node.name]] = np.broadcast_to(cells, shape).ravel()
        return found

    def expect(self, parameters: Network) -> tuple[TableCounts, float]:
        """Return the expected counts under a network, and the objective."""
        values = _tables(parameters)
        # Trees are built once: the engine of the next step reuses those of this one.
        engine = self._engine = self._engine.with_values(values)
        rows = self._holed
        if ((self._counted > 0.0) & (values == 0.0)).any():
            raise self._impossible(self._whole, log_weights(engine.potentials, self._whole.codes))
        if self.hard:
            completed, logs = engine.completed(rows.codes, self._max_memory, self._n_jobs)
            found = family_counts(engine.potentials, completed, rows.weights)
        else:
            found, logs = engine.expected(rows.codes, rows.weights, self._max_memory, self._n_jobs)
        if (logs == -math.inf).any():
            raise self._impossible(rows, logs)
        known = self._counted + self._added
        some = known > 0.0
        with np.errstate(divide="ignore"):
            value = float(known[some] @ np.log(values[some])) + float(rows.weights @ logs)
        return TableCounts(self._counted + found, self._part), value

    def maximise(self, statistics: TableCounts) -> Network:
        """Return the network estimated from the counts."""
        counts: Any = statistics
        found = estimated(self.network, counts, self._prior, self._imaginary, "mle")
        return self._with(found, lambda values: np.where(values < LEAST, 0.0, values))

    def flat(self, parameters: Network) -> Floats:
        """Return the logarithms of all tables, −inf for zeros."""
        with np.errstate(divide="ignore"):
            return np.log(_tables(parameters))

    def unflat(self, vector: Floats) -> Network:
        """Return the network that a vector of logarithms represents. Probabilities that are not −inf stay positive."""
        if np.isnan(vector).any() or (vector == math.inf).any():
            raise ArithmeticError("The extrapolation left the range of numbers.")

        def normalised(logs: Floats) -> Floats:
            away = logs - logs.max(axis=-1, keepdims=True)
            p = np.exp(np.where(away > -math.inf, np.maximum(away, math.log(LEAST)), -math.inf))
            return np.asarray(p / p.sum(axis=-1, keepdims=True))

        counts = TableCounts(vector, self._part)
        nodes = [
            replace(node, distribution=Table(counts.table(self.network, node.name)))
            for node in self.network.nodes
        ]
        return self._with(replace(self.network, nodes=tuple(nodes)), normalised)

    def _with(self, network: Network, change: Any) -> Network:
        """Return the network with its tables changed, except for those of deterministic nodes."""
        nodes = []
        for node in network.nodes:
            given: Any = node.distribution
            kept = self._rules.get(node.name)
            nodes.append(replace(node, distribution=Table(change(given.values)) if kept is None else kept))
        return replace(network, nodes=tuple(nodes))

    def _impossible(self, rows: RowPatterns, logs: Floats) -> DataError:
        """Return the error that names an impossible row and a minimal set of its cells that is impossible."""
        impossible = np.flatnonzero(logs == -math.inf)
        i = int(impossible[rows.first[impossible].argmin()])
        left, sizes = rows.codes[i].copy(), self._engine.potentials.sizes
        for v in np.flatnonzero(left < sizes):
            fewer = left.copy()
            fewer[v] = sizes[v]
            if self._engine.log_probability(Evidence.of_row(fewer, sizes), self._max_memory) == -math.inf:
                left = fewer
        variables = [node.variable for node in self.network.nodes]
        cells = [
            f"{variables[v].name!r} = {variables[v].states[left[v]]!r}" for v in np.flatnonzero(left < sizes)
        ]
        shown = listed(cells, MOST_SHOWN)
        cannot = Message("cannot occur together") if len(cells) > 1 else Message("cannot occur")
        return DataError(
            "{place} has probability zero under the network: {shown} {cannot}. Leave "
            "the row out, or start from tables without these zeros.",
            place=RowNumber(rows.first[i], begins=True),
            shown=shown,
            cannot=cannot,
        )


def codes_of(network: Network, columns: NodeColumns) -> Ints:
    """Return the codes of the discrete nodes as a matrix. A node without a column is missing in every row."""
    place = {name: j for j, name in enumerate(columns.names)}
    sizes = np.array([node.variable.size for node in network.nodes], np.int64)
    found = np.tile(sizes, (columns.n_rows, 1))
    for k, node in enumerate(network.nodes):
        codes = columns.codes[place[node.name]] if node.name in place else None
        if codes is not None:
            found[:, k] = codes
    return found


def _laid_out(network: Network) -> Potentials:
    """Return the potentials of all families, filled with zeros; the values come with the parameters."""
    position = network.dag.position
    scopes = [[*(position[p] for p in node.parents), k] for k, node in enumerate(network.nodes)]
    tables = [np.zeros(network.shape_of(node.name)) for node in network.nodes]
    sizes = [node.variable.size for node in network.nodes]
    return Potentials.laid_out(sizes, scopes, tables, list(range(len(scopes))), network.dag.nodes)


def _tables(network: Network) -> Floats:
    tables: list[Any] = [node.distribution for node in network.nodes]
    return np.concatenate([np.empty(0), *(table.table().ravel() for table in tables)])


@dataclass(frozen=True, eq=False)
class RowPatterns:
    """Distinct rows, sorted by their pattern of missing cells.

    Attributes
    ----------
    codes : array of shape (distinct rows, variables)
        The code after the last state means missing.
    weights : the weight of each distinct row
    first : the index of the first row equal to each distinct row
    """

    codes: Ints
    weights: Floats
    first: Ints

    @classmethod
    def of(cls, codes: Ints, sizes: Ints, weights: Floats, numbers: Ints) -> RowPatterns:
        """Merge equal rows and add their weights.

        >>> found = RowPatterns.of(np.array([[0, 2], [1, 1], [0, 2]]), np.array([2, 2]), np.ones(3), np.arange(3))
        >>> found.codes.tolist(), found.weights.tolist(), found.first.tolist()
        ([[0, 2], [1, 1]], [2.0, 1.0], [0, 1])
        """
        if not len(codes):
            return cls(codes, weights, numbers)
        small = codes.astype(np.int16 if codes.max(initial=0) < 2**15 else np.int32)
        bits = np.packbits(codes < sizes, axis=1)
        key = np.hstack([bits, np.ascontiguousarray(small).view(np.uint8).reshape(len(codes), -1)])
        whole = np.ascontiguousarray(key).view(np.dtype((np.void, key.shape[1]))).ravel()
        _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
        sums = np.zeros(len(first))
        np.add.at(sums, inverse.ravel(), weights)
        return cls(np.ascontiguousarray(codes[first]), sums, numbers[first])


def family_counts(p: Potentials, codes: Ints, weights: Floats) -> Floats:
    """Count complete rows in the cells of every factor, in the layout of the tables.

    >>> p = Potentials.laid_out([2], [[0]], [np.zeros(2)], [0], ("coin",))
    >>> family_counts(p, np.array([[0], [1], [1]]), np.ones(3))
    array([1., 2.])
    """
    counts = np.empty(len(p.values))
    for f in range(p.n_factors):
        cell = np.zeros(len(codes), np.int64)
        for v in p.scope_of(f):
            cell = cell * p.sizes[v] + codes[:, v]
        start, end = int(p.value_start[f]), int(p.value_start[f + 1])
        counts[start:end] = np.bincount(cell, weights, end - start)
    return counts


# A restart multiplies each probability by a gamma variate with mean 1 and variance 1/STEADINESS.
STEADINESS = 4.0


def start_network(
    network: Network, columns: NodeColumns, weights: Floats | None, rng: np.random.Generator, *, jitter: bool
) -> Network:
    """Return the network that EM starts from. No estimated probability is zero, so no row is impossible.

    If some rows contain a whole family, it is estimated from these rows, with one imaginary row spread over its table.
    Other families, such as those of hidden nodes, are drawn at random: if all states of a hidden node had the same
    tables, they would stay equal. Nodes that are a function of their parents do not change.

    Parameters
    ----------
    columns : a column for each node; all cells of a hidden node are missing
    jitter : whether to perturb the estimates too, for restarts
    """
    counts = NetworkCounts.of(network, columns, weights)
    found = estimated(network, counts, BDeu(1.0), {}, "mle")
    numbers = dict(zip(columns.names, columns.numbers, strict=True))
    nodes = []
    for before, node in zip(network.nodes, found.nodes, strict=True):
        made: Any = node.distribution
        if isinstance(before.distribution, Deterministic):
            made = before.distribution
        elif node.is_discrete:
            if not counts.table(network, node.name).any():
                made = _random_table(made.values.shape, rng)
            elif jitter:
                made = _shaken(made.values, rng)
        elif not counts.regressions[node.name].n.any():
            made = _random_regression(network, node, numbers, rng)
        elif jitter:
            made = replace(made, intercept=_moved(made, rng))
        nodes.append(replace(node, distribution=made))
    return replace(found, nodes=tuple(nodes))


def with_tables_of(network: Network, start: Network) -> Network:
    """Return the network with the distributions of ``start``, for the nodes that have one there."""
    known: dict[Name, Distribution] = {
        node.name: node.distribution for node in start.nodes if node.distribution is not None
    }
    nodes = [replace(node, distribution=known.get(node.name, node.distribution)) for node in network.nodes]
    return replace(network, nodes=tuple(nodes))


def _random_table(shape: tuple[int, ...], rng: np.random.Generator) -> Table:
    return Table(rng.dirichlet(np.ones(shape[-1]), shape[:-1]))


def _shaken(values: Floats, rng: np.random.Generator) -> Table:
    moved = values * rng.gamma(STEADINESS, 1.0 / STEADINESS, values.shape)
    return Table(moved / moved.sum(axis=-1, keepdims=True))


def _moved(given: LinearGaussian, rng: np.random.Generator) -> Floats:
    """Return intercepts moved at random, with a standard deviation of half the residual deviation."""
    away = rng.normal(0.0, 0.5, given.intercept.shape)
    return np.asarray(given.intercept + away * np.sqrt(given.variance))


def _random_regression(
    network: Network, node: Node, numbers: dict[Name, Floats | None], rng: np.random.Generator
) -> LinearGaussian:
    """Return random regressions: intercepts are numbers of the column, or standard normal for a hidden node.

    Slopes on hidden parents are drawn, because with slopes of zero the nodes would stay independent. Other slopes are
    zero, unless the node itself is hidden.
    """
    discrete, numeric, _ = configurations(network, node.name)
    shape = network.sizes_of(discrete)
    seen = _observed(numbers[node.name])
    spread = float(seen.var()) if len(seen) else 1.0
    intercept = rng.choice(seen, shape) if len(seen) else rng.normal(size=shape)
    slopes = rng.normal(size=(*shape, len(numeric))) * np.sqrt(spread)
    if len(seen):
        slopes[..., [bool(len(_observed(numbers[name]))) for name in numeric]] = 0.0
    return LinearGaussian(intercept, slopes, np.full(shape, spread if spread > 0.0 else 1.0))


def _observed(numbers: Floats | None) -> Floats:
    return np.empty(0) if numbers is None else numbers[~np.isnan(numbers)]
