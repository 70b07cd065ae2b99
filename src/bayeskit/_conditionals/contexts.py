"""The joint states of pairs of super-parents: which of them qualify, and their look-up tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit._schema import Schema
from bayeskit._statistics.triples import Triples, class_width
from bayeskit.priors import Smoothing, joint_cells
from bayeskit.typing import Floats

Ints = NDArray[np.intp]

# The number of cells of the look-up table to compute at a time: a few MB of temporaries.
_CELLS = 2**18


class Layout:
    """The cells of each attribute in a row of the look-up table: its states, missing, unseen.

    Attributes
    ----------
    sizes : int array of shape (d,)
    offsets : int array of shape (d + 1,)
        The start of each attribute.
    owner : int array of shape (Σ(r + 2),)
        The attribute of each cell.
    counted : bool array of shape (Σ(r + 2),)
        The cells that are states.
    alike : array of shape (Σ(r + 2),)
        P(x_k | ·) without rows and without a prior: 1/r.
    """

    def __init__(
        self, schema: Schema, smoothing: Smoothing, is_state: NDArray[np.bool_], unseen: bool
    ) -> None:
        self.variables, self.n_classes = schema.categorical, schema.n_classes
        self.smoothing, self.is_state, self.unseen = smoothing, is_state, unseen
        self.sizes = np.array([v.size for v in self.variables], dtype=np.intp)
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes + 2)]).astype(np.intp)
        self.owner = np.repeat(np.arange(len(self.sizes)), self.sizes + 2)
        self.counted = np.ones(int(self.offsets[-1]), dtype=np.bool_)
        self.counted[self.offsets[1:] - 2] = is_state
        self.counted[self.offsets[1:] - 1] = unseen
        self.alike = 1.0 / np.maximum(self.sizes, 1)[self.owner]
        self.alike[self.offsets[1:] - 2] = self.alike[self.offsets[1:] - 1] = 1.0
        self._known: dict[int, Floats] = {}

    def counts_of(self, k: int) -> NDArray[np.bool_]:
        """Return which codes of an attribute are states."""
        return self.counted[self.offsets[k] : self.offsets[k + 1]]

    def imaginary(self, i: int, j: int) -> Floats:
        """Return the imaginary count of every cell under two super-parents."""
        contexts = self.n_classes * int(self.sizes[i] * self.sizes[j])
        if contexts not in self._known:
            each = enumerate(self.variables)
            cells = [self._extended(self.smoothing.of(v).cells(v, contexts), k) for k, v in each]
            self._known[contexts] = np.concatenate(cells)
        return self._known[contexts]

    def joint(self, i: int, j: int) -> Floats:
        """Return the imaginary count of each pair of codes of two super-parents: shape (r_i + 2, r_j + 2)."""
        both = [self.variables[i], self.variables[j]]
        cells = joint_cells(self.smoothing.of(both[0]), both, self.n_classes)
        return self._extended(self._extended(cells, i).T, j).T

    def _extended(self, cells: Floats, k: int) -> Floats:
        """Append missing and unseen. If they are states, they have the mean of the others, otherwise zero."""
        mean = cells.mean(axis=0) if len(cells) else np.ones(cells.shape[1:])
        return np.concatenate([cells, [mean * self.is_state[k]], [mean * self.unseen]])


@dataclass(frozen=True, eq=False)
class Contexts:
    """All pairs of codes of all pairs of super-parents. Pairs that count have a row in the look-up table.

    Attributes
    ----------
    pairs : int array of shape (p, 2)
    starts : int array of shape (p,)
        The start of each pair in the triples.
    cells : int array of shape (p + 1,)
        The start of each pair's (r_i + 2)·(r_j + 2) combinations of codes in the next two arrays.
    row_of : int array of shape (combinations,)
        The row in the look-up table, or −1 if the combination does not qualify.
    joint : array of shape (combinations,)
        The imaginary count in P(c, x_i, x_j).
    joint_total : array of shape (p,)
        The denominator of P(c, x_i, x_j).
    alike : array of shape (p,)
        The logarithm of vote × P(c, x_i, x_j) without rows and without a prior.
    votes : array of shape (p,)
    pair, source, own : int arrays of shape (rows,)
        For each row of the look-up table: its pair, its position in the triples (−1: an unseen state), and the cell of
        its own state of i.
    weight : array of shape (rows,)
        n(x_i, x_j).
    log_joint : array of shape (rows, K)
        The logarithm of vote × P(c, x_i, x_j).
    """

    pairs: Ints
    starts: Ints
    cells: Ints
    row_of: Ints
    joint: Floats
    joint_total: Floats
    alike: Floats
    votes: Floats
    pair: Ints
    source: Ints
    own: Ints
    weight: Floats
    log_joint: Floats


def find_contexts(triples: Triples, layout: Layout, which: Ints, votes: Floats, least: float) -> Contexts:
    """Estimate P(c, x_i, x_j) of the pairs ``which`` for each pair of states with at least this weight."""
    pairs, k = triples.pairs[which].astype(np.intp), layout.n_classes
    shapes = layout.sizes[pairs] + 2
    cells = np.concatenate([[0], np.cumsum(shapes.prod(axis=1))]).astype(np.intp)
    row_of, joint = np.full(cells[-1], -1, dtype=np.intp), np.empty(cells[-1])
    joint_total, log_joint, weights = np.empty(len(pairs)), [np.empty((0, k))], [np.empty(0)]
    pair, source, own = ([np.empty(0, dtype=np.intp)] for _ in range(3))
    alike = 1.0 / np.maximum(k * layout.sizes[pairs].prod(axis=1), 1)
    n_rows = 0
    for q, (p, (i, j), shape) in enumerate(zip(which, pairs, shapes, strict=True)):
        imaginary = layout.joint(i, j)
        valid = np.logical_and.outer(layout.counts_of(i), layout.counts_of(j))
        n = np.zeros((*shape, k))
        n[:-1, :-1] = triples.joint(p)
        n[~valid] = 0.0
        weight, total = n.sum(axis=2), n.sum() + k * imaginary.sum()
        # Without a prior, an unseen state is impossible in every class, so it has no factor.
        valid[-1] &= imaginary[-1] > 0
        valid[:, -1] &= imaginary[:, -1] > 0
        v, u = np.nonzero(valid & (weight >= least) & (votes[q] > 0))
        here = row_of[cells[q] : cells[q + 1]].reshape(shape)
        here[v, u] = np.arange(n_rows, n_rows + len(v))
        n_rows += len(v)
        joint[cells[q] : cells[q + 1]] = imaginary.ravel()
        joint_total[q] = total
        seen = (v < shape[0] - 1) & (u < shape[1] - 1)
        pair.append(np.full(len(v), q))
        source.append(np.where(seen, triples.starts[p] + v * (shape[1] - 1) + u, -1))
        own.append(layout.offsets[i] + v)
        weights.append(weight[v, u])
        share = (n + imaginary[:, :, None])[v, u] / total if total > 0 else np.full((len(v), k), alike[q])
        log_joint.append(_log(share) + _log(votes[q]))
    return Contexts(
        pairs=pairs,
        starts=triples.starts[which].astype(np.intp),
        cells=cells,
        row_of=row_of,
        joint=joint,
        joint_total=joint_total,
        alike=_log(alike) + _log(votes),
        votes=votes,
        pair=np.concatenate(pair),
        source=np.concatenate(source),
        own=np.concatenate(own),
        weight=np.concatenate(weights),
        log_joint=np.concatenate(log_joint),
    )


def look_up(triples: Triples, layout: Layout, contexts: Contexts, imaginary: Floats) -> tuple[Floats, Floats]:
    """Return the look-up table of shape (rows, Σ(r + 2), padded K), and its denominators.

    It holds log P(x_k | c, x_i, x_j). In the cell of the context's own state of i it holds the logarithm of
    vote × P(c, x_i, x_j). The other cells of i and j are 0, so that the plain sum over all attributes is correct.
    """
    n, length, d, k = len(contexts.pair), len(layout.owner), len(layout.sizes), layout.n_classes
    table, totals = np.zeros((n, length, class_width(k))), np.empty((n, d, k))
    into = np.arange(length - d) + np.repeat(np.arange(d), layout.sizes + 1)
    unseen = np.arange(length) == layout.offsets[1:][layout.owner] - 1
    step = max(1, _CELLS // max(length * k, 1))
    for begin in range(0, n, step):
        some = slice(begin, begin + step)
        pair, source = contexts.pair[some], contexts.source[some]
        cells = np.zeros((len(pair), length, k))
        cells[:, into] = triples.counts[source]
        cells[source < 0] = 0.0
        cells[:, ~layout.counted] = 0.0
        cells += imaginary[pair][:, :, None]
        totals[some] = np.add.reduceat(cells, layout.offsets[:-1], axis=1)
        empty = totals[some] <= 0
        cells /= np.where(empty, 1.0, totals[some])[:, layout.owner]
        if empty.any():
            cells = np.where(empty[:, layout.owner], layout.alike[:, None], cells)
        # These have no factor: codes that are not states, unseen states without a prior, a super-parent given itself.
        silent = ~layout.counted | (unseen & (imaginary[pair] <= 0))
        silent |= (layout.owner == contexts.pairs[pair][:, :, None]).any(axis=1)
        cells[silent] = 1.0
        table[some, :, :k] = _log(cells)
        # Padding classes are impossible, so they do not affect the sums.
        table[np.arange(n)[some], contexts.own[some], k:] = -np.inf
        table[np.arange(n)[some], contexts.own[some], :k] = contexts.log_joint[some]
    return table, totals


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))
