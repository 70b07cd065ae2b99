"""The statistics of a network's families, what is estimated from them, a graph's score; softmax nodes, from rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit._blas import one_blas_thread
from bayeskit._conditionals.linear_family import estimate_lines
from bayeskit._counting.backend import count
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._fitting.search.node_columns import EVERYTHING, NodeColumns, read_nodes
from bayeskit._fitting.search.regression_scores import MixedScores
from bayeskit._graphs.dag import Dag
from bayeskit._graphs.distributions import Distribution, LinearGaussian, Softmax, Table
from bayeskit._graphs.network import Network, Node
from bayeskit._schema import Name, Schema
from bayeskit._statistics.part import key_of
from bayeskit._statistics.regression_families import RegressionFamilies
from bayeskit._statistics.regressions import Regressions
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit._structure.search_protocol import Family, as_score, bits
from bayeskit.errors import DataError, Incompatible, SettingError, TooLarge
from bayeskit.priors import Prior
from bayeskit.typing import Floats, Ints, RowSource


@dataclass(frozen=True, eq=False)
class NetworkCounts:
    """n(child, parents) of every discrete node and the moments of every continuous one, as statistics with one class.

    Each node counts the rows in which it and all its parents are present.
    """

    statistics: Statistics

    @classmethod
    def of(cls, network: Network, columns: NodeColumns, weights: Floats | None = None) -> NetworkCounts:
        """Count rows. The columns must have the names and states of the nodes."""
        schema, plan = schema_and_plan(network)
        place = {name: j for j, name in enumerate(columns.names)}
        codes = np.empty((columns.n_rows, len(schema.categorical)), schema.code_dtype)
        for j, variable in enumerate(schema.categorical):
            found = columns.codes[place[variable.name]]
            assert found is not None
            codes[:, j] = found
        values = np.empty((columns.n_rows, len(schema.numeric)))
        for j, variable in enumerate(schema.numeric):
            values[:, j] = columns.numbers[place[variable.name]]
        target = np.zeros(columns.n_rows, np.uint32)
        return cls(count(Chunk(columns.n_rows, codes, values, target=target, weights=weights), schema, plan))

    @classmethod
    def counted(cls, network: Network, count: Callable[[Plan], Statistics]) -> NetworkCounts:
        """Return the counts of a discrete network, taken by the function ``count``, for example in a database."""
        return cls(count(schema_and_plan(network)[1]))

    @property
    def n_rows(self) -> float:
        """The total weight of the rows."""
        return self.statistics.total

    def table(self, network: Network, name: Name) -> Floats:
        """Return n(parents, child) of a discrete node, the child's axis last."""
        families: Any = self.statistics.parts["families"]
        shape = network.shape_of(name)
        f = [v.name for v in self.statistics.schema.categorical].index(name)
        (keys, counts), *_ = families.levels(f, lowest=len(shape) - 1)
        cells = np.zeros(shape)
        # Keys have an additional code for missing cells of each variable, which does not occur here.
        wide = [size + 1 for size in shape]
        place = np.unravel_index(keys, wide)
        cells[place] = counts
        return cells

    @cached_property
    def regressions(self) -> dict[Name, Regressions]:
        """The moments of every continuous node, one cell for each configuration of its discrete parents."""
        part: Any = self.statistics.parts.get("regressions")
        names = [v.name for v in self.statistics.schema.numeric]
        return {} if part is None else {name: _dense(part, f) for f, name in enumerate(names)}

    def merge(self, other: NetworkCounts) -> NetworkCounts:
        self._check(other)
        return NetworkCounts(self.statistics.merge(other.statistics))

    def subtract(self, other: NetworkCounts) -> NetworkCounts:
        self._check(other)
        return NetworkCounts(self.statistics.subtract(other.statistics))

    def _check(self, other: NetworkCounts) -> None:
        mine, theirs = self.statistics, other.statistics
        if mine.plan != theirs.plan or mine.schema != theirs.schema:
            raise Incompatible("The two networks have different nodes, states or arcs, and cannot be added.")


def schema_and_plan(network: Network) -> tuple[Schema, Plan]:
    """Return the schema of the nodes, with a single class, and the plan of what to count."""
    discrete = [node for node in network.nodes if node.is_discrete]
    continuous = [node for node in network.nodes if not node.is_discrete]
    families, regressions = (
        tuple((node.name, *node.parents) for node in some) for some in (discrete, continuous)
    )
    patterns = [Pattern("tables", tuple(node.name for node in discrete)), Pattern("families", families)]
    if regressions:
        patterns.append(Pattern("regressions", regressions))
    return Schema(tuple(node.variable for node in network.nodes), EVERYTHING), Plan(tuple(patterns))


def _dense(part: RegressionFamilies, f: int) -> Regressions:
    """Return all cells of a family, including empty ones, without the rows in which a discrete parent is missing."""
    *codes, _ = part.digits(f)
    keys, sums = part.cells[f]
    sizes = [radix - 1 for radix in part.radices_of(f)[:-1]]
    there = np.ones(len(keys), np.bool_)
    for code, size in zip(codes, sizes, strict=True):
        there &= code < size
    some = np.flatnonzero(there)
    places = key_of([code[some] for code in codes], sizes) if codes else np.zeros(len(some), np.int64)
    return sums.take(some).placed(places, math.prod(sizes))


def configurations(network: Network, name: Name) -> tuple[list[Name], list[Name], int]:
    """Return the discrete parents of a node, its numeric parents, and the number of discrete configurations."""
    parents = network[name].parents
    discrete = [p for p in parents if network[p].is_discrete]
    numeric = [p for p in parents if not network[p].is_discrete]
    return discrete, numeric, math.prod(network.sizes_of(discrete))


@one_blas_thread
def estimated(
    network: Network, counts: NetworkCounts, prior: Prior, imaginary: Mapping[Name, Floats], variance: str
) -> Network:
    """Return the network with all distributions estimated from counts.

    Parameters
    ----------
    prior : the imaginary counts of the tables of discrete nodes
    imaginary : {node: array in the shape of its table}
        Imaginary counts of single nodes, instead of those of the prior.
    variance : "mle" (RSS/n) or "unbiased" (RSS/(n − parameters)), of continuous nodes
    """
    nodes = []
    for node in network.nodes:
        found: Distribution
        if node.is_discrete:
            cells = counts.table(network, node.name)
            found = Table(_table(cells, network, node.name, prior, imaginary.get(node.name)))
        else:
            found = _regression(network, counts, node.name, variance)
        nodes.append(replace(node, distribution=found))
    return replace(network, nodes=tuple(nodes))


def _table(cells: Floats, network: Network, name: Name, prior: Prior, imaginary: Floats | None) -> Floats:
    variable = network[name].variable
    if imaginary is None:
        imaginary = prior.cells(variable, math.prod(cells.shape[:-1]))
    smoothed = cells + imaginary
    totals = smoothed.sum(axis=-1, keepdims=True)
    # A configuration without rows and without imaginary counts is uniform.
    return np.asarray(
        np.where(totals > 0.0, smoothed / np.where(totals > 0.0, totals, 1.0), 1.0 / variable.size)
    )


def _regression(network: Network, counts: NetworkCounts, name: Name, variance: str) -> LinearGaussian:
    discrete, numeric, _ = configurations(network, name)
    sums = counts.regressions[name]
    intercept, slopes, spread = estimate_lines(sums, sums.columns([-1]).whole(), variance == "unbiased")
    shape = network.sizes_of(discrete)
    return LinearGaussian(
        intercept.reshape(shape), slopes.reshape((*shape, len(numeric))), spread.reshape(shape)
    )


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
        raise DataError("Every row has a missing cell, so there is no row to score.")
    numeric = [columns.names[v] for v in range(len(place)) if not columns.is_discrete[v]]
    for node in dag.nodes:
        strange = next((p for p in dag.parents_of(node) if p in numeric and node not in numeric), None)
        if strange is not None:
            raise SettingError(
                "{node!r} is discrete and has the continuous parent {strange!r}; this has no score.",
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


def _by_child(arcs: Iterable[Any]) -> dict[Name, list[Name]]:
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


# Estimates the weights of a softmax node from rows: penalised maximum likelihood by Newton's method.

# The standard deviation of the normal prior of every weight, per standard deviation of the parent. Weak: 1,000 rows
# of a curve move by less than a hundredth of their standard error. But where a number separates the states, the
# likelihood has no maximum, and this makes one.
PRIOR_SD = 10.0
# Newton's method converges quadratically; this many steps are never needed.
MOST_STEPS = 200
# The step has converged if it would improve the objective by less than this, relative to its size.
SETTLED = 1e-12
LARGEST_HESSIAN = 2**28


@one_blas_thread
def estimate_softmax(network: Network, node: Node, columns: NodeColumns, weights: Floats | None) -> Softmax:
    r"""Return the softmax that maximises the penalised likelihood, for each configuration of the discrete parents.

    .. math:: \sum_i w_i \log P(y_i \mid d_i, x_i) - \frac{1}{2 \cdot 10^2} \sum_k (\alpha_k^2 + \lVert\beta_k\rVert^2)

    where :math:`\alpha, \beta` are the weights of standardised parents. It is strictly concave, so there is one
    maximum. Rows in which the node or a parent is missing are left out.
    """
    place = {name: j for j, name in enumerate(columns.names)}
    chosen = [p for p in node.parents if network[p].is_discrete]
    numeric = [p for p in node.parents if not network[p].is_discrete]
    present = np.ones(columns.n_rows, bool)
    for name in (*node.parents, node.name):
        present &= columns.present(place[name])
    if weights is not None:
        present &= weights > 0.0
    rows = np.flatnonzero(present)
    w = np.ones(len(rows)) if weights is None else weights[rows]
    sizes = network.sizes_of(chosen)
    size, m = node.variable.size, len(numeric)
    if 8 * (size * (m + 1)) ** 2 > LARGEST_HESSIAN:
        raise TooLarge(
            8 * (size * (m + 1)) ** 2, LARGEST_HESSIAN, (*numeric, node.name), (size * (m + 1)) ** 2
        )
    y = _codes(columns, place[node.name])[rows]
    x = np.column_stack([_numbers(columns, place[p])[rows] for p in numeric])
    total = max(float(w.sum()), math.ulp(0.0))
    center = w @ x / total
    scale = np.sqrt(w @ ((x - center) ** 2) / total)
    scale = np.where(scale > 0.0, scale, 1.0)
    z = np.column_stack([np.ones(len(rows)), (x - center) / scale])
    cell = np.zeros(len(rows), np.int64)
    for parent, radix in zip(chosen, sizes, strict=True):
        cell = cell * radix + _codes(columns, place[parent])[rows]
    found = np.zeros((math.prod(sizes), size, m + 1))
    for c in range(len(found)):
        here = cell == c
        if here.any():
            found[c] = newton(z[here], y[here], w[here], size)
    slopes = found[:, :, 1:] / scale
    intercept = found[:, :, 0] - slopes @ center
    return Softmax(intercept.reshape(*sizes, size), slopes.reshape(*sizes, size, m))


def _codes(columns: NodeColumns, j: int) -> Ints:
    codes = columns.codes[j]
    assert codes is not None
    return codes.astype(np.int64)


def _numbers(columns: NodeColumns, j: int) -> Floats:
    numbers = columns.numbers[j]
    assert numbers is not None
    return numbers


def newton(z: Floats, y: Ints, w: Floats, size: int, prior_sd: float = PRIOR_SD) -> Floats:
    """Return the weights (states × columns of z) that maximise the penalised log-likelihood.

    Steps that would not improve the objective are halved. The result is the same for any order of the states.

    Examples
    --------
    >>> z = np.column_stack([np.ones(4), [-1.5, -0.5, 0.5, 1.5]])
    >>> found = newton(z, np.array([0, 0, 1, 1]), np.ones(4), 2)  # the states are separated, yet it ends
    >>> bool(found[1, 1] > found[0, 1]), bool(np.isfinite(found).all())
    (True, True)
    """
    n, m = z.shape
    ridge = 1.0 / prior_sd**2
    theta = np.zeros((size, m))
    hits = np.zeros((n, size))
    hits[np.arange(n), y] = 1.0

    def objective(at: Floats) -> tuple[float, Floats]:
        score = z @ at.T
        top = score.max(axis=1, keepdims=True)
        logs = score - top - np.log(np.exp(score - top).sum(axis=1, keepdims=True))
        return float(w @ logs[np.arange(n), y] - 0.5 * ridge * (at * at).sum()), np.exp(logs)

    value, p = objective(theta)
    for _ in range(MOST_STEPS):
        gradient = ((hits - p) * w[:, None]).T @ z - ridge * theta
        hessian = np.zeros((size, m, size, m))
        for k in range(size):
            for j in range(size):
                share = w * p[:, k] * ((k == j) - p[:, j])
                hessian[k, :, j, :] = (z * share[:, None]).T @ z
        full = hessian.reshape(size * m, size * m)
        full[np.diag_indices(size * m)] += ridge
        step = np.linalg.solve(full, gradient.ravel()).reshape(size, m)
        gain = float((step * gradient).sum())
        if gain <= SETTLED * (1.0 + abs(value)):
            return theta + step
        length = 1.0
        while length > 1e-12:
            after, p_after = objective(theta + length * step)
            if after >= value + 1e-4 * length * gain:
                break
            length *= 0.5
        else:
            return theta  # rounding allows no further step
        theta, value, p = theta + length * step, after, p_after
    return theta
