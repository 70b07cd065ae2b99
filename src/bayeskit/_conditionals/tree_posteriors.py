r"""Posteriors of trees: those of a node back off to the node above it, and trees are averaged.

.. math:: p_v(c) = \frac{n_v(c) + s\, p_{u}(c)}{N_v + s}, \qquad
    P(c \mid x) \propto \Bigl(\frac{1}{T} \sum_t p_{v_t(x)}(c)\Bigr)^\gamma

u is the parent of v; the parent of the root is P(c).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import Conditional, refuse_infinite
from bayeskit._counting.count_trees import binned, stops_of
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel, repeating
from bayeskit._schema import Schema
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.tree_counts import Forest, TreeCounts, Trees, trees_of
from bayeskit.typing import Floats

_U = np.uintp
# What nodes further up would add is below the last digit.
NEGLIGIBLE = 1e-18


@kernel
def sum_subtrees(parents: Any, first: Any, counts: Any) -> None:
    """Add the counts of every node to those of the node above it: ``counts`` has shape (nodes, K)."""
    for i in range(counts.shape[0] - 1):
        node = counts.shape[0] - 1 - i
        above = parents[first + node] - first
        for c in range(counts.shape[1]):
            counts[above, c] += counts[node, c]


@kernel
def add_back_off(
    stops: Any, parents: Any, totals: Any, bounds: Any, classes: Any, counts: Any, constant: Any,
    target: Any, own: Any, shares: Any, sums: Any, rests: Any,
) -> Any:  # fmt: skip
    """Add each row's posterior at its node, times its share, to ``sums``, but for P(c), whose share goes to ``rests``.

    Of row i ``own[i]`` is taken out of class ``target[i]`` at every node on the path. Return the
    least count of any cell then.

    The sum is taken from the node upwards: N grows with every step, so a few nodes suffice.
    """
    least = 0.0
    for i in range(stops.shape[0]):
        share = shares[i]
        if share == 0.0:
            continue
        taken, label = own[i], target[i]
        left, node = share, stops[i]
        while node >= 0 and left > NEGLIGIBLE * share:
            total = totals[node] - taken
            found = taken == 0.0
            if total > 1e-12 * totals[node]:
                part = left / (total + constant)
                for place in range(bounds[node], bounds[node + 1]):
                    x = counts[place]
                    if classes[place] == label:
                        x -= taken
                        found = True
                        if x < least:
                            least = x
                        if x < 0.0:
                            x = 0.0
                    sums[i, _U(classes[place])] += part * x
                left = part * constant
                if not found:
                    least = min(least, -taken)
            elif total < least:
                least = total
            node = parents[node]
        rests[i] += left
    return least


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """n(c) of all rows that passed through each node of a forest, kept only where there are any.

    Attributes
    ----------
    totals : array of shape (nodes,)
    bounds : int64 array of shape (nodes + 1,)
        Where the cells of each node begin.
    classes, counts : arrays of shape (cells,)
    """

    totals: Floats
    bounds: NDArray[np.int64]
    classes: NDArray[np.int64]
    counts: Floats

    @classmethod
    def of(cls, counted: TreeCounts, trees: Trees, first: int) -> NodeCounts:
        """Sum the rows below each node; the forest's trees are those from number ``first`` on."""
        k = len(counted.margin)
        pieces: list[tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats]] = []
        for t in range(trees.n_trees):
            nodes = trees.tree(t)
            table = np.zeros((nodes.stop - nodes.start, k))
            keys, counts = counted.tree_cells(first + t)
            table.reshape(-1)[keys] = counts
            sum_subtrees(trees.parents, nodes.start, table)
            where, label = np.nonzero(table)
            pieces.append(
                (table.sum(axis=1), np.bincount(where, minlength=len(table)), label, table[where, label])
            )
        totals, sizes, classes, cells = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        return cls(totals, np.concatenate([[0], np.cumsum(sizes)]), classes, cells)

    def node(self, v: int, k: int) -> Floats:
        """Return n(c) of one node: shape (k,)."""
        some = slice(int(self.bounds[v]), int(self.bounds[v + 1]))
        return np.bincount(self.classes[some], self.counts[some], k).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TreePosteriors(Conditional):
    """log of the mean of the trees' posteriors.

    Attributes
    ----------
    forest : Forest
    nodes : NodeCounts
    schema : Schema
        Whose codes the rows have.
    constant : float
        s: the weight of the parent node, in rows.
    prior : ClassPrior
    """

    forest: Forest
    nodes: NodeCounts
    schema: Schema
    constant: float
    prior: ClassPrior

    adds_prior = False
    is_distribution = False

    @property
    def trees(self) -> Trees:
        return trees_of(self.forest)

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        nobody = np.zeros(chunk.n_rows, np.int64)
        mean = self._log_mean(chunk, nobody, np.zeros(chunk.n_rows), None, self.prior.log)
        out += self.trees.power * mean

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        out += self.trees.power * self.log_left_out(chunk, own)

    def log_left_out(self, chunk: Chunk, own: Floats, shares: Floats | None = None) -> Floats:
        """Return the log of the mean with ``own`` of each row's weight taken out: shape (n, K).

        Parameters
        ----------
        chunk, own
            As in ``add_left_out``.
        shares : array of shape (n, trees), optional
            The weight of each tree for each row. Rows for which all weights are 0 get P(c).
        """
        assert chunk.target is not None
        log_prior = self.prior.log_left_out(chunk.target, own)
        return self._log_mean(chunk, chunk.target.astype(np.int64), own, shares, log_prior)

    def _log_mean(
        self, chunk: Chunk, target: NDArray[np.int64], own: Floats, shares: Floats | None, log_prior: Floats
    ) -> Floats:
        trees, nodes = self.trees, self.nodes
        refuse_infinite(chunk)
        rows, stops = binned(chunk, self.schema, trees), np.empty(chunk.n_rows, np.int64)
        sums, rests = np.zeros((chunk.n_rows, len(self.prior.log))), np.zeros(chunk.n_rows)
        evenly = np.full(chunk.n_rows, 1.0 / trees.n_trees)
        least = 0.0
        with repeating(trees.n_trees):
            for t in range(trees.n_trees):
                share = evenly if shares is None else np.ascontiguousarray(shares[:, t])
                stops_of(rows, trees, t, stops)
                low = add_back_off(
                    stops, trees.parents, nodes.totals, nodes.bounds, nodes.classes, nodes.counts,
                    self.constant, target, own, share, sums, rests,
                )  # fmt: skip
                least = min(least, low)
        if least < -1e-9 * max(1.0, float(own.max(initial=0.0))):
            raise never_counted(least)
        if shares is not None:
            silent = shares.sum(axis=1) == 0.0
            rests[silent] = 1.0
        with np.errstate(divide="ignore"):
            mean = np.log(sums + rests[:, None] * np.exp(log_prior))
        return mean if shares is None else mean - np.log(np.where(silent, 1.0, shares.sum(axis=1)))[:, None]


def estimate_trees(
    statistics: Statistics, forest: Forest, constant: float, prior: ClassPrior
) -> TreePosteriors:
    """Make the posteriors of a forest, one of those counted."""
    counted: Any = statistics.parts["trees"]
    (forests,) = (pattern.attributes for pattern in statistics.plan.patterns if pattern.kind == "trees")
    before: Any = forests[: forests.index(forest)]
    nodes = NodeCounts.of(counted, trees_of(forest), sum(trees_of(other).n_trees for other in before))
    return TreePosteriors(forest, nodes, statistics.schema, constant, prior)
