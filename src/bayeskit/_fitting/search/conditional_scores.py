"""Conditional scores of a network: the likelihood of the class given the rest, minus a penalty.

Also the arcs of naive Bayes and of TAN between columns, from which such a search starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend import count
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.networks.network_counts import NetworkCounts, estimated
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._fitting.search.regression_scores import MixedScores
from bayeskit._graphs.distributions import LinearGaussian
from bayeskit._graphs.network import Network, Node
from bayeskit._schema import Name, Schema
from bayeskit._structure.learners import learn, tree
from bayeskit._structure.search.hill_climbing import ClassFamilies
from bayeskit._structure.search.optimal import chow_liu
from bayeskit._structure.search_protocol import Family, Question, Score, answer_all, members
from bayeskit.errors import DataError, SettingError
from bayeskit.priors import Prior
from bayeskit.typing import Floats

Ints = NDArray[np.int64]

# The factors of each family for each row and class are cached up to this many bytes.
MOST_KEPT = 2**28


class ConditionalScores:
    r"""Conditional scores for a search, over the complete rows of some columns.

    .. math:: \sum_{\text{rows}} \log P(c \mid x) - \lambda \, k, \qquad
        P(c \mid x) \propto P(c \mid \mathrm{pa}_c) \prod_{j \in \mathrm{ch}_c} p(x_j \mid \mathrm{pa}_j),

    where the distributions are estimated like those of the network, k is the number of parameters of the families in
    question, and λ is the penalty for each (½ log n for BIC). The sum does not decompose over families, so every
    question contains all of them.

    Parameters
    ----------
    columns : NodeColumns, of which the complete rows are used
    target : the index of the class, a discrete column
    prior : the imaginary counts of the tables
    score : Score "bic", "aic" or "loglik"
    weights : array of shape (rows,), optional
    """

    def __init__(
        self,
        columns: NodeColumns,
        target: int,
        prior: Prior,
        score: Score,
        weights: Floats | None = None,
    ) -> None:
        if not score.by_likelihood:
            raise SettingError(
                "criterion={name!r} scores how likely all columns are together. The class given the other "
                'columns is scored by "bic", "aic" or "loglik".',
                name=score.name,
            )
        whole = columns.complete
        self._columns = NodeColumns(
            columns.variables,
            tuple(None if codes is None else codes[whole] for codes in columns.codes),
            tuple(None if numbers is None else numbers[whole] for numbers in columns.numbers),
            int(whole.sum()),
        )
        self._target, self._prior = target, prior
        self._weights = np.ones(self._columns.n_rows) if weights is None else weights[whole]
        self._penalty = score.penalty(float(self._weights.sum()))
        truth = self._columns.codes[target]
        assert truth is not None
        self._truth = truth[:, None]
        self._n_classes = int(columns.sizes[target])
        size = 8 * self._columns.n_rows * self._n_classes
        self._room = max(16, MOST_KEPT // max(size, 1))
        self._known: dict[tuple[int, int], Floats] = {}

    def __call__(self, question: Sequence[ClassFamilies]) -> list[float]:
        """Return the score of each candidate. The first is the current graph, and the others are one move away."""
        first = question[0].families
        base = self._sum(first)
        best = self._likelihood(base) - self._cost(first)
        scores = [best]
        for candidate in question[1:]:
            bound = -self._cost(candidate.families)
            if bound <= best:  # even certain predictions could not make this candidate the best
                scores.append(bound)
                continue
            new = [f for f in candidate.families if f not in first]
            old = [f for f in first if f not in candidate.families]
            scores.append(self._likelihood(base + self._sum(new) - self._sum(old)) + bound)
        return scores

    def _likelihood(self, logs: Floats) -> float:
        """Return Σ log P(c | x) of the true classes, from log joint probabilities of shape (rows, classes)."""
        largest = logs.max(axis=1, keepdims=True)
        total = np.log(np.exp(logs - largest).sum(axis=1))
        each = np.take_along_axis(logs - largest, self._truth, axis=1)[:, 0] - total
        return float((self._weights * each).sum())

    def _sum(self, families: Sequence[tuple[int, int]]) -> Floats:
        total = np.zeros((self._columns.n_rows, self._n_classes))
        for family in families:
            total += self._log_by_class(*family)
        return total

    def _cost(self, families: Sequence[tuple[int, int]]) -> float:
        return self._penalty * sum(self._parameters(child, parents) for child, parents in families)

    def _parameters(self, child: int, parents: int) -> int:
        sizes = [int(self._columns.sizes[v]) for v in members(parents)]
        each = int(self._columns.sizes[child]) - 1
        if not self._columns.is_discrete[child]:
            each = 2 + sizes.count(0)
        return each * math.prod(size for size in sizes if size)

    def _log_by_class(self, child: int, parents: int) -> Floats:
        """Return log p(child | parents) of each row with its class replaced by each class: shape (rows, classes)."""
        known = self._known.get((child, parents))
        if known is None:
            if len(self._known) >= self._room:
                self._known.pop(next(iter(self._known)))
            known = self._known[child, parents] = self._estimate(child, [*members(parents)])
        return known

    def _estimate(self, child: int, parents: list[int]) -> Floats:
        columns = self._columns
        names = columns.names
        family = Network(
            (
                *(Node(columns.variables[p]) for p in parents),
                Node(columns.variables[child], tuple(names[p] for p in parents)),
            )
        )
        here = columns.reordered(np.array([*parents, child], np.int64))
        found = estimated(family, NetworkCounts.of(family, here, self._weights), self._prior, {}, "mle")
        distribution: Any = found[names[child]].distribution
        cell = np.zeros((columns.n_rows, 1), np.int64)
        for p in parents:
            codes = columns.codes[p]
            if codes is not None:
                each = np.arange(self._n_classes)[None, :] if p == self._target else codes[:, None]
                cell = cell * int(columns.sizes[p]) + each
        if isinstance(distribution, LinearGaussian):
            return _normal(distribution, cell, [columns.numbers[p] for p in parents], columns.numbers[child])
        size = int(columns.sizes[child])
        with np.errstate(divide="ignore"):
            logs = np.log(distribution.table()).reshape(-1, size)
        # Without a prior, a class may be impossible. A finite number keeps differences of sums finite.
        logs = np.maximum(logs, -1e6)
        states = columns.codes[child]
        assert states is not None
        return np.asarray(logs[cell[:, 0]] if child == self._target else logs[cell, states[:, None]])


def _normal(found: LinearGaussian, cell: Ints, parents: Sequence[Floats | None], x: Floats | None) -> Floats:
    assert x is not None
    numeric = [z for z in parents if z is not None]
    slopes = found.coefficients.reshape(found.variance.size, len(numeric))
    residual = x[:, None] - found.intercept.ravel()[cell]
    for k, z in enumerate(numeric):
        residual = residual - slopes[cell, k] * z[:, None]
    variance = found.variance.ravel()[cell]
    return np.asarray(-0.5 * (np.log(2.0 * np.pi * variance) + residual * residual / variance))


Parents = dict[Name, tuple[Name, ...]]


def naive_arcs(columns: NodeColumns, target: Name) -> Parents:
    """Return the parents of each column: the class, and nothing else.

    Examples
    --------
    >>> from bayeskit._fitting.search.node_columns import read_nodes
    >>> naive_arcs(read_nodes({"y": ["a", "b"], "wind": ["no", "yes"]}), "y")
    {'y': (), 'wind': ('y',)}
    """
    return {name: () if name == target else (target,) for name in columns.names}


def tan_arcs(columns: NodeColumns, target: Name, weights: NDArray[np.float64] | None = None) -> Parents:
    """Return the parents of each column in tree-augmented naive Bayes.

    The discrete columns form the tree of :class:`~bayeskit.TAN`, whose root is the first of them. The continuous
    columns form a separate tree, the one with the largest likelihood given the class. ``weights`` are the row weights.
    """
    found = naive_arcs(columns, target)
    trees = {**_discrete_tree(columns, target, weights), **_continuous_tree(columns, target, weights)}
    for name, above in trees.items():
        found[name] = (target, *above)
    return found


def _discrete_tree(columns: NodeColumns, target: Name, weights: NDArray[np.float64] | None) -> Parents:
    places = [v for v, name in enumerate(columns.names) if columns.is_discrete[v] and name != target]
    if not places:
        return {}
    at = columns.names.index(target)
    schema = Schema(tuple(columns.variables[v] for v in places), columns.variables[at])
    codes = np.empty((columns.n_rows, len(places)), schema.code_dtype)
    for j, v in enumerate(places):
        found = columns.codes[v]
        assert found is not None
        codes[:, j] = found
    classes = columns.codes[at]
    assert classes is not None
    none = np.empty((columns.n_rows, 0))
    chunk = Chunk(columns.n_rows, codes, none, target=classes.astype(np.uint32), weights=weights)
    return learn(tree(schema), lambda plan: count(chunk, schema, plan)).as_mapping()


def _continuous_tree(columns: NodeColumns, target: Name, weights: NDArray[np.float64] | None) -> Parents:
    places = np.flatnonzero(~columns.is_discrete).tolist()
    if not places:
        return {}
    at = len(places)
    here = columns.reordered(np.array([*places, columns.names.index(target)], np.int64))
    if not here.complete.any():
        raise DataError(
            "Every row has a missing number, so there is no row to learn a tree from. Leave out the columns that are "
            'missing most, or use method="naive".'
        )
    scores = MixedScores(here, Score("loglik"), None if weights is None else weights[here.complete])

    def answer(question: Question) -> list[np.ndarray]:
        # Chow and Liu's algorithm needs only pairs. Adding the class as a parent makes them pairs given the class.
        return scores([Family(f.child, f.parents | 1 << at, f.more) for f in question])  # type: ignore[union-attr]

    graph = answer_all(chow_liu(at), answer)
    return {here.names[v]: tuple(here.names[p] for p in members(graph.parents[v])) for v in range(at)}
