"""Structural EM: learn the arcs and the tables of a network in turn from rows with missing cells.

References
----------
Friedman (1997), Learning belief networks in the presence of missing values and hidden variables.
Friedman (1998), The Bayesian structural EM algorithm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import xlogy

from bayeskit._fitting.em import StoppingRule, run_em_from_starts
from bayeskit._fitting.long_runs import Outcome, run_search
from bayeskit._fitting.networks.expected_families import ExpectedFamilies, ExpectedScores, fit_of_columns
from bayeskit._fitting.networks.network_em import (
    NetworkProblem,
    RowPatterns,
    TableCounts,
    codes_of,
    start_network,
)
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._fitting.search.search_network import SearchSettings, moved
from bayeskit._graphs.distributions import Table
from bayeskit._graphs.network import Network, Node
from bayeskit._inference.exact import Exact
from bayeskit._inference.potentials import Potentials
from bayeskit._structure.search.hill_climbing import hill_climbing, slack
from bayeskit._structure.search.order import auto, legal
from bayeskit._structure.search_protocol import Arcs, Graph, Score, members
from bayeskit.errors import DataError, TooLarge
from bayeskit.priors import MLE, BDeu, Laplace
from bayeskit.typing import Floats

Parents = tuple[int, ...]

# EM between two graphs stops after a step that gains less than this per row, and after at most this many steps.
TOLERANCE, MOST_STEPS = 1e-6, 100
# The number of random starts if there are hidden nodes. EM continues with the best.
DRAWINGS = 10


@dataclass(frozen=True)
class StructuralEmResult:
    """The result of structural EM.

    Attributes
    ----------
    network : Network
        The nodes are in column order. The tables are maximum likelihood estimates or, for Bayesian scores, maximum a
        posteriori estimates.
    history : tuple of float
        The score of the observed cells under the first graph and under every later one. It increases.
    converged : bool
        Whether it ended because no other graph was better.
    starts : tuple of float
        The objective that each random start of the first graph's tables reached.
    n_evaluated : int
        The number of families scored.
    stopped : "time", "interrupt", "memory" or None
    """

    network: Network
    history: tuple[float, ...]
    converged: bool
    starts: tuple[float, ...]
    n_evaluated: int
    stopped: str | None


@dataclass(frozen=True)
class _Fit:
    """A graph, its tables, and the score of the observed cells."""

    parents: Parents
    network: Network
    value: float
    stopped: str | None


def structural_em(
    columns: NodeColumns,
    arcs: Arcs,
    settings: SearchSettings,
    start: Parents | None = None,
    on_step: Callable[[int], None] | None = None,
    weights: Floats | None = None,
) -> StructuralEmResult:
    r"""Learn arcs and tables from rows with missing cells. The order and the names of columns do not matter.

    Two steps alternate. EM fits the tables of the graph. A tabu search then finds a graph with a better score on the
    expected counts under these tables. With o the observed cells, d(G) the number of parameters of a graph and c the
    penalty for each parameter,

    .. math:: \ell(G, \theta) = \sum_i w_i \log P(o_i \mid G, \theta) - c\, d(G)

    cannot decrease, because it increases at least as much as its expectation does. This holds for ``loglik``, ``aic``
    and ``bic``, where tables are maximum likelihood estimates. For ``bdeu`` and ``k2``, the score is an estimate of
    log P(o | G) (see `observed_score`), and tables are smoothed by the imaginary rows of the score. This score may
    decrease. A graph with a lower score is not accepted, and the search ends.

    Structural EM does not invent hidden nodes. A declared hidden node is a column that is missing in every row.

    Parameters
    ----------
    columns : NodeColumns
        Discrete columns. Rows without any cell are ignored.
    arcs : Arcs
    settings : SearchSettings
        Its score, restarts, time limit, seed and memory are used.
    start : sets of parents, optional
        The first graph, by column index. By default, that of `start_graph`.
    on_step : called with the number of families scored so far
    weights : one number for each row, optional

    Examples
    --------
    Two columns that agree in the 8 of 12 rows in which both are present:

    >>> from bayeskit._fitting.search.node_columns import read_nodes
    >>> rows = {"left": ["a", "b"] * 5 + [None] * 2, "right": [None] * 2 + ["a", "b"] * 5}
    >>> found = structural_em(read_nodes(rows), Arcs.all(2), SearchSettings())
    >>> found.network.dag.arcs, found.converged
    ((('left', 'right'),), True)
    """
    columns, weights = with_cells(columns, weights)
    place = columns.canonical_order(weights)
    back = np.argsort(place)
    first = None
    if start is not None:
        first = tuple(sum(1 << int(back[p]) for p in members(start[int(v)])) for v in place)
    turns = _Turns(columns.reordered(place), moved(arcs, place, back), settings, weights, on_step)
    found = turns.run(first)
    return replace(found, network=_in_order(found.network, columns))


class _Turns:
    """The rows and settings of structural EM, and its alternating steps."""

    def __init__(
        self,
        columns: NodeColumns,
        arcs: Arcs,
        settings: SearchSettings,
        weights: Floats | None,
        on_step: Callable[[int], None] | None,
    ) -> None:
        self.columns, self.arcs, self.score, self.weights = columns, arcs, settings.score, weights
        self.seed, self.restarts = settings.seed, settings.restarts
        self.max_memory, self.on_step = settings.max_memory, on_step
        self.end = None if settings.time_limit is None else time.monotonic() + settings.time_limit
        self.n_evaluated = 0
        self.starts: tuple[float, ...] = ()
        each = np.ones(columns.n_rows) if weights is None else weights
        self.n_rows = float(each.sum())
        codes = codes_of(self._network((0,) * arcs.n), columns)
        whole, holed = np.flatnonzero(columns.complete), np.flatnonzero(~columns.complete)
        self.whole = RowPatterns.of(codes[whole], columns.sizes, each[whole], whole)
        self.holed = RowPatterns.of(codes[holed], columns.sizes, each[holed], holed)

    def run(self, first: Parents | None) -> StructuralEmResult:
        stopped = None
        if first is None:
            begun = start_graph(self.columns, self.arcs, self.score, self.weights, self._left(), self.seed)
            first, stopped = begun.graph.parents, begun.stopped
        here = self._fit(first, hurry=stopped is not None)
        history, converged, stopped = [here.value], False, stopped or here.stopped
        while stopped is None and not converged:
            try:
                there, stopped = self._search(here)
            except TooLarge:
                # Exact inference in the next graph, or the counts of its neighbours, would not fit into memory.
                stopped = "memory"
                break
            # A gain below the tolerance of one EM step does not count.
            if there.value > here.value + TOLERANCE * self.n_rows:
                here = there
                history.append(here.value)
            else:
                converged = stopped is None
        return StructuralEmResult(
            here.network, tuple(history), converged, self.starts, self.n_evaluated, stopped
        )

    def _search(self, here: _Fit) -> tuple[_Fit, str | None]:
        """Return the graph with the best expected score and its tables, and why the search stopped early, if it did."""
        engine = Exact(Potentials.of(here.network))
        families = ExpectedFamilies(engine, self.whole, self.holed, max_memory=self.max_memory)
        scores = ExpectedScores(families, self.score, self.n_rows)
        tell = None if self.on_step is None else partial(self._report_progress, self.on_step, scores)
        graph, stopped = self._climb(here.parents, scores, tell)
        self.n_evaluated += scores.n_scored
        if graph == here.parents:
            return here, stopped
        there = self._fit(graph, families, hurry=stopped is not None)
        return there, stopped or there.stopped

    def _climb(
        self, here: Parents, scores: ExpectedScores, tell: Callable[[], None] | None
    ) -> tuple[Parents, str | None]:
        """Return the better result of two searches: one from this graph, and one from the required arcs.

        The first search alone might never drop arcs that only the first guesses of missing cells supported.
        """
        best, score, stopped = here, scores.total(here), None
        for start in dict.fromkeys((here, self.arcs.required)):
            if stopped is None:
                rng = np.random.default_rng(self.seed)
                search = hill_climbing(
                    self.arcs, start=start, tabu=100, max_worse=15, restarts=self.restarts, rng=rng
                )
                found = run_search(search, scores, time_limit=self._left(), on_step=tell)
                total, stopped = scores.total(found.graph.parents), found.stopped
                if total > score + slack(np.array([score])):
                    best, score = found.graph.parents, total
        return best, stopped

    def _fit(
        self, parents: Parents, families: ExpectedFamilies | None = None, *, hurry: bool = False
    ) -> _Fit:
        """Fit the tables of a graph by EM, starting from the expected counts in ``families`` if given."""
        network = self._network(parents)
        self._refuse_too_large(network)
        problem = NetworkProblem(
            network, self.columns, self.weights, prior_of(self.score), max_memory=self.max_memory
        )
        how = StoppingRule(TOLERANCE * self.n_rows, 1 if hurry else MOST_STEPS, self._left(), accelerate=True)
        if families is not None:
            begin = [partial(problem.maximise, _expected(network, parents, families))]
        else:
            hidden = bool((self.columns.n_missing == self.columns.n_rows).any())
            begin = [partial(self._draw_start, network, k) for k in range(DRAWINGS if hidden else 1)]
        found, values = run_em_from_starts(problem, begin, how)
        if families is None:
            self.starts = tuple(values)
        value = observed_score(self.score, self.n_rows, problem, found.parameters, found.value)
        return _Fit(parents, found.parameters, value, found.stopped)

    def _refuse_too_large(self, network: Network) -> None:
        """Raise an error if the tables do not fit into memory, before they are allocated."""
        cells = {node.name: math.prod(network.shape_of(node.name)) for node in network.nodes}
        # Counts, imaginary counts, their sum and the table itself.
        needed = 4 * 8 * sum(cells.values())
        if needed > self.max_memory:
            largest = max(cells, key=cells.__getitem__)
            family = (*network[largest].parents, largest)
            raise TooLarge(
                needed, self.max_memory, family, cells[largest], way_out="Lower max_parents=, or join states."
            )

    def _draw_start(self, network: Network, k: int) -> Network:
        rng = np.random.default_rng([self.seed, k])
        return start_network(network, self.columns, self.weights, rng, jitter=k > 0)

    def _network(self, parents: Parents) -> Network:
        names = self.columns.names
        nodes = zip(self.columns.variables, parents, strict=True)
        return Network(tuple(Node(v, tuple(names[p] for p in members(mine))) for v, mine in nodes))

    def _left(self) -> float | None:
        return None if self.end is None else max(self.end - time.monotonic(), 0.0)

    def _report_progress(self, on_step: Callable[[int], None], scores: ExpectedScores) -> None:
        on_step(self.n_evaluated + scores.n_scored)


def _expected(network: Network, parents: Parents, families: ExpectedFamilies) -> TableCounts:
    """Return the expected counts of a graph's families under the tables of another graph."""
    flat: list[Floats] = []
    part, start = {}, 0
    for v, (node, mine) in enumerate(zip(network.nodes, parents, strict=True)):
        flat.append(families.table([*members(mine), v]).ravel())
        part[node.name] = slice(start, start + len(flat[-1]))
        start += len(flat[-1])
    return TableCounts(np.concatenate(flat), part)


def _in_order(network: Network, columns: NodeColumns) -> Network:
    """Return the network with its nodes and the axes of its tables in column order."""
    place = {name: j for j, name in enumerate(columns.names)}
    nodes = []
    for name in columns.names:
        node = network[name]
        order = sorted(range(len(node.parents)), key=lambda k: place[node.parents[k]])
        table: Any = node.distribution
        values = table.values.transpose([*order, len(order)])
        nodes.append(replace(node, parents=tuple(node.parents[k] for k in order), distribution=Table(values)))
    return Network(tuple(nodes))


def prior_of(score: Score) -> Any:
    """Return the prior of the tables that matches a score; maximum likelihood for ``loglik``, ``aic`` and ``bic``.

    >>> prior_of(Score("bdeu", 10.0))
    BDeu(ess=10.0)
    """
    if score.by_likelihood:
        return MLE()
    return Laplace() if score.name == "k2" else BDeu(score.ess)


def observed_score(
    score: Score, n_rows: float, problem: NetworkProblem, network: Network, value: float
) -> float:
    r"""Return the score of a fitted network, given the observed cells.

    With o these cells, and d parameters with a penalty of c each, it is

    .. math:: \sum_i w_i \log P(o_i \mid \theta) - c\, d

    for ``loglik``, ``aic`` and ``bic``. For ``bdeu`` and ``k2`` it is Cheeseman and Stutz's estimate of the evidence,
    in which expected counts replace the counts, and the likelihood corrects for the difference:

    .. math:: \log P(\bar n \mid G) + \sum_i w_i \log P(o_i \mid \theta) - \sum \bar n \log \theta

    Without missing cells, this is the score itself.

    Parameters
    ----------
    problem : NetworkProblem
        A problem with the prior of `prior_of`.
    network, value : the result of EM, and its objective

    References
    ----------
    Cheeseman, Stutz (1996), Bayesian classification (AutoClass): theory and results.
    """
    shapes = [network.shape_of(node.name) for node in network.nodes]
    if score.by_likelihood:
        parameters = sum(float((shape[-1] - 1) * math.prod(shape[:-1])) for shape in shapes)
        return value - score.penalty(n_rows) * parameters
    prior = prior_of(score)
    counts, total = problem.expect(network)
    for node, shape in zip(network.nodes, shapes, strict=True):
        n = counts.table(network, node.name).reshape(-1, shape[-1])
        table: Any = node.distribution
        cells, above = n.reshape(-1, 1), n.sum(axis=1)[:, None]
        evidence = fit_of_columns(cells, above, score, shape[-1], np.array([float(len(n))]))
        # The objective of EM includes the imaginary rows, so subtract them together with the expected counts.
        leaves = n + prior.cells(node.variable, len(n))
        total += float(evidence[0]) - float(xlogy(leaves, table.values.reshape(n.shape)).sum())
    return total


def start_graph(
    columns: NodeColumns,
    arcs: Arcs,
    score: Score,
    weights: Floats | None,
    time_limit: float | None,
    seed: int = 0,
) -> Outcome:
    """Return the graph that the default search finds in the complete rows.

    With hidden nodes there are no complete rows, and a hidden node without arcs would stay independent and never get
    an arc. So hidden nodes start as parents of all other nodes. If there are no complete rows for another reason, the
    result has only the required arcs.

    Examples
    --------
    >>> from bayeskit._fitting.search.node_columns import read_nodes
    >>> rows = read_nodes({"h": [None, None], "x": ["a", "b"], "y": ["a", "b"]}, {"h": ["one", "two"]})
    >>> start_graph(rows, Arcs.all(3, 2), Score("bic"), None, None).graph.parents
    (0, 1, 1)
    """
    hidden = columns.n_missing == columns.n_rows
    if hidden.any():
        above = sum(1 << int(v) for v in np.flatnonzero(hidden))
        return Outcome(Graph(legal([0 if hidden[v] else above for v in range(arcs.n)], arcs)))
    if not columns.complete.any():
        return Outcome(Graph(arcs.required))
    counted = None if weights is None else weights[columns.complete]
    scores = FamilyScores(columns.code_matrix(), columns.sizes, score, counted)
    return run_search(auto(arcs, rng=np.random.default_rng(seed)), scores, time_limit=time_limit)


def with_cells(columns: NodeColumns, weights: Floats | None) -> tuple[NodeColumns, Floats | None]:
    """Drop rows without weight and rows without any cell, which have no effect."""
    idle = np.zeros(columns.n_rows, np.bool_) if weights is None else weights <= 0.0
    seen = np.zeros(columns.n_rows, np.bool_)
    for j in range(len(columns.variables)):
        seen |= columns.present(j)
    rows = np.flatnonzero(seen & ~idle)
    if not len(rows):
        raise DataError("Every cell is missing: there is nothing to learn from.")
    if len(rows) == columns.n_rows:
        return columns, weights
    return columns.take(rows), None if weights is None else weights[rows]
