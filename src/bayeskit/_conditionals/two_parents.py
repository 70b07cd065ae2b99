r"""Averaged two-dependence estimators (A2DE): the mean over all pairs of super-parents.

.. math:: \hat P(c, x) = \operatorname*{mean}_{i<j} \hat P(c, x_i, x_j) \prod_{k \ne i, j} \hat P(x_k \mid c, x_i, x_j)

over the pairs of super-parents that are present and were seen together often enough (Webb, Boughton, Zheng, Ting and
Salem, "Learning by extrapolation from marginal to full-multivariate probability distributions", 2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.contexts import Contexts, Layout, find_contexts, look_up
from bayeskit._conditionals.scoring import Average, Score
from bayeskit._data.encoded import Chunk
from bayeskit._intrinsics import set_all
from bayeskit._numba import kernel
from bayeskit._schema import Name, Schema
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.triples import Triples
from bayeskit.errors import SettingError
from bayeskit.priors import Smoothing, backs_off
from bayeskit.typing import Floats

_U = np.uintp
# Summands below e⁻⁴⁵ times the largest are lost to rounding, regardless of the number of pairs.
_NOTHING = 45.0


@kernel
def add_two_parents(
    codes: Any,
    pairs: Any,
    cells: Any,
    row_of: Any,
    offsets: Any,
    votes_of: Any,
    table: Any,
    places: Any,
    scores: Any,
    best: Any,
    total: Any,
    votes: Any,
    out: Any,
    fallen: Any,
) -> None:
    """Add log P(c, x) of every row, and mark the rows without a qualifying pair.

    A tile of rows is processed one pair at a time, so that its part of the look-up table stays in the cache. ``row_of``
    gives the row of the table for each two codes of a pair, or −1 if they do not qualify.
    """
    n, d, step = codes.shape[0], _U(codes.shape[1]), places.shape[0]
    width = _U(table.shape[2])
    length = offsets[-1] * width
    flat, place, score = table.reshape(-1), places.reshape(-1), scores.reshape(-1)
    for begin in range(0, n, step):
        taken = min(step, n - begin)
        for r in range(taken):
            for j in range(d):
                place[_U(r) * d + j] = (offsets[j] + _U(codes[begin + r, j])) * width
        best[:] = -math.inf
        total[:] = 0.0
        set_all(votes, 0.0)
        for p in range(pairs.shape[0]):
            i, j = pairs[p, 0], pairs[p, 1]
            across = offsets[j + _U(1)] - offsets[j]
            for r in range(taken):
                first, into = _U(r) * d, _U(r) * width
                row = row_of[cells[p] + _U(codes[begin + r, i]) * across + _U(codes[begin + r, j])]
                if row < 0:
                    for u in range(width):
                        score[into + u] = -math.inf
                    continue
                votes[r] += votes_of[p]
                base = _U(row) * length
                if width == _U(2):
                    a0 = a1 = 0.0
                    for k in range(d):
                        at = base + _U(place[first + k])
                        a0 += flat[at]
                        a1 += flat[at + _U(1)]
                    score[into] = a0
                    score[into + _U(1)] = a1
                    continue
                for u in range(_U(0), width, _U(4)):
                    a0 = a1 = a2 = a3 = 0.0
                    for k in range(d):
                        at = base + u + _U(place[first + k])
                        a0 += flat[at]
                        a1 += flat[at + _U(1)]
                        a2 += flat[at + _U(2)]
                        a3 += flat[at + _U(3)]
                    score[into + u] = a0
                    score[into + u + _U(1)] = a1
                    score[into + u + _U(2)] = a2
                    score[into + u + _U(3)] = a3
            absorb(scores, taken, best, total)
        close_rows(begin, taken, best, total, votes, out, fallen)


@kernel
def absorb(scores: Any, taken: Any, best: Any, total: Any) -> None:
    """Add exp(score) to total·exp(best) of each row and class, without leaving the range of doubles."""
    score, largest, sums = scores.reshape(-1), best.reshape(-1), total.reshape(-1)
    for u in range(_U(taken) * _U(scores.shape[1])):
        if score[u] > largest[u]:
            sums[u] = sums[u] * math.exp(largest[u] - score[u]) + 1.0
            largest[u] = score[u]
        elif score[u] > largest[u] - _NOTHING:
            sums[u] += math.exp(score[u] - largest[u])


@kernel
def close_rows(begin: Any, taken: Any, best: Any, total: Any, votes: Any, out: Any, fallen: Any) -> None:
    """Add the logarithm of the mean to ``out`` (−inf for 0), and mark the rows without a vote."""
    for r in range(taken):
        fallen[begin + r] = votes[r] <= 0.0
        if votes[r] > 0.0:
            for c in range(out.shape[1]):
                logarithm = math.log(total[r, c] / votes[r]) if total[r, c] > 0.0 else -math.inf
                out[begin + r, c] += best[r, c] + logarithm


# Factors of at least this size are multiplied and one logarithm is taken of many; smaller ones one by one.
_SMALL, _TINY = 1e-30, 1e-200
# At least this fraction of a weight must be present to be removed; the rest is rounding error.
_ROUNDED = 1.0 - 1e-9


@kernel
def left(held: Any, own: Any) -> Any:
    """Return the remainder of a cell, or 0 if it is only rounding error."""
    rest = held - own
    return rest if rest > 4e-15 * held else 0.0


@kernel
def score_own_class(
    code: Any,
    i: Any,
    j: Any,
    y: Any,
    sizes: Any,
    is_state: Any,
    counts: Any,
    imaginary: Any,
    totals: Any,
    own: Any,
    short: Any,
) -> Any:
    """Return Σ_k log P(x_k | c, x_i, x_j) of the row's own class, with its weight removed from every count.

    ``counts`` and ``totals`` are those of the context. ``short[0]`` becomes the largest deficit of any cell.
    """
    product, logarithm, place = 1.0, 0.0, _U(0)
    for k in range(_U(len(sizes))):
        v = _U(code[k])
        here = place + v
        place += sizes[k] + _U(1)
        if k in (i, j) or (v == sizes[k] and not is_state[k]):
            continue
        held = counts[here, y] if v <= sizes[k] else 0.0
        short[0] = max(short[0], own * _ROUNDED - held)
        total = left(totals[k, y], own)
        if total > 0.0:
            share = (left(held, own) + imaginary[here + k]) / total
        else:
            share = 1.0 / sizes[k] if v < sizes[k] else 1.0
        if share < _SMALL:
            logarithm += math.log(share) if share > 0.0 else -math.inf
        else:
            product *= share
            if product < _TINY:
                logarithm += math.log(product)
                product = 1.0
    return logarithm + math.log(product)


@kernel
def add_left_out_two_parents(
    codes: Any,
    target: Any,
    own: Any,
    pairs: Any,
    cells: Any,
    row_of: Any,
    offsets: Any,
    votes_of: Any,
    table: Any,
    sizes: Any,
    is_state: Any,
    counts: Any,
    starts: Any,
    weight: Any,
    least: Any,
    imaginary: Any,
    totals: Any,
    joint: Any,
    joint_total: Any,
    alike: Any,
    scores: Any,
    best: Any,
    total: Any,
    votes: Any,
    short: Any,
    out: Any,
    fallen: Any,
) -> None:
    """Add the leave-one-out log P(c, x) of every row, with a given part of its weight removed.

    Only the counts of the row's own class change. The other classes are looked up, except for the total of
    P(c, x_i, x_j), which all classes share. ``short[0]`` becomes the largest deficit of any cell beyond rounding.
    """
    n, d, k = codes.shape[0], _U(codes.shape[1]), _U(out.shape[1])
    for begin in range(0, n, len(scores)):
        taken = min(len(scores), n - begin)
        best[:] = -math.inf
        total[:] = 0.0
        set_all(votes, 0.0)
        for p in range(len(pairs)):
            i, j = pairs[p, 0], pairs[p, 1]
            for r in range(taken):
                code, w, y = codes[begin + r], own[begin + r], _U(target[begin + r])
                v, u = _U(code[i]), _U(code[j])
                cell = cells[p] + v * (sizes[j] + _U(2)) + u
                known = v <= sizes[i] and u <= sizes[j]
                source = starts[p] + v * (sizes[j] + _U(1)) + u if known else _U(0)
                # The flat rows of the counts lack the cell for unseen that each attribute has in the table.
                held = counts[source, offsets[i] - i + v, y] if known else 0.0
                short[0] = max(short[0], w * _ROUNDED - held)
                scores[r] = -math.inf
                if row_of[cell] < 0 or left(weight[_U(row_of[cell])], w) < least:
                    continue
                row = _U(row_of[cell])
                votes[r] += votes_of[p]
                rest = left(joint_total[p], w)
                for c in range(k):
                    scores[r, c] = alike[p]
                    if rest > 0.0:
                        scores[r, c] = table[row, offsets[i] + v, c] + math.log(joint_total[p] / rest)
                for m in range(d):
                    if m not in (i, j):
                        for c in range(k):
                            scores[r, c] += table[row, offsets[m] + _U(code[m]), c]
                if w > 0.0 and known:
                    first = alike[p]
                    if rest > 0.0:
                        share = (left(held, w) + joint[cell]) / rest * votes_of[p]
                        first = math.log(share) if share > 0.0 else -math.inf
                    scores[r, y] = first + score_own_class(
                        *(code, i, j, y, sizes, is_state, counts[source], imaginary[p], totals[row], w, short)
                    )
            absorb(scores, taken, best, total)
        close_rows(begin, taken, best, total, votes, out, fallen)


# Rows that are scored while one pair's part of the look-up table is in the cache.
_TILE = 4096


@dataclass(frozen=True, eq=False)
class TwoParents(Conditional):
    """log P(c, x) of the categorical attributes, the prior of the class included.

    Attributes
    ----------
    contexts : Contexts
    log_table : array of shape (rows, Σ(r + 2), padded K)
        See :func:`bayeskit._conditionals.contexts.look_up`.
    offsets : int array of shape (d + 1,)
        Where each attribute begins in a row: its states, a cell for missing and one for unseen values.
    triples, totals, imaginary, is_state
        The table was computed from these, for leave-one-out: the counts, the denominators (rows of the table, d, K),
        the imaginary counts (pairs, Σ(r + 2)), and the attributes for which missing is a state.
    min_count : float
    fallback : conditional
        Scores the rows without a qualifying pair. It includes the prior.
    """

    adds_prior: ClassVar[bool] = False

    contexts: Contexts
    log_table: Floats
    offsets: NDArray[np.intp]
    triples: Triples
    totals: Floats
    imaginary: Floats
    is_state: NDArray[np.bool_]
    min_count: float
    fallback: Any

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        """Add log P(c, x) of every row to ``out`` of shape (n, K)."""
        here, fallen = self.contexts, np.empty(chunk.n_rows, dtype=np.bool_)
        tile = min(_TILE, max(chunk.n_rows, 1))
        places = np.empty((tile, len(self.offsets) - 1), dtype=np.uint32)
        scores, best, total = np.empty((3, tile, self.log_table.shape[2]))
        add_two_parents(
            *(chunk.codes, _places(here.pairs), _places(here.cells), here.row_of),
            *(_places(self.offsets), here.votes, self.log_table),
            *(places, scores, best, total, np.empty(tile), out, fallen),
        )
        rows = np.flatnonzero(fallen)
        if len(rows):
            answers = np.zeros((len(rows), out.shape[1]))
            self.fallback.add_log_prob(chunk.take(rows), answers)
            out[rows] += answers

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out log P(c, x) of every row, with the weight ``own`` removed."""
        assert chunk.target is not None
        here, fallen, short = self.contexts, np.empty(chunk.n_rows, dtype=np.bool_), np.zeros(1)
        tile, k = min(_TILE, max(chunk.n_rows, 1)), out.shape[1]
        scores, best, total = np.empty((3, tile, k))
        add_left_out_two_parents(
            *(chunk.codes, chunk.target, own, _places(here.pairs), _places(here.cells), here.row_of),
            *(_places(self.offsets), here.votes, self.log_table, _places(self.triples.sizes), self.is_state),
            *(self.triples.counts, _places(here.starts), here.weight, _least(self.min_count)),
            *(self.imaginary, self.totals, here.joint, here.joint_total, here.alike),
            *(scores, best, total, np.empty(tile), short, out, fallen),
        )
        if short[0] > 1e-12 * self.triples.margin.sum():
            raise never_counted(-short[0])
        rows = np.flatnonzero(fallen)
        if len(rows):
            answers = np.zeros((len(rows), k))
            self.fallback.add_left_out(chunk.take(rows), own[rows], answers)
            out[rows] += answers

    def score(self) -> Score:
        here, k = self.contexts, self.triples.margin.shape[0]
        found = []
        for p, (i, j) in enumerate(here.pairs.tolist()):
            across = int(self.offsets[j + 1] - self.offsets[j])
            rows = here.row_of[here.cells[p] : here.cells[p + 1]].reshape(-1, across)
            v, u = np.nonzero(rows >= 0)
            found.append(np.column_stack([rows[v, u], self.offsets[i] + v, self.offsets[j] + u]))
        contexts = np.concatenate([np.empty((0, 3), np.intp), *found])
        contexts = contexts[np.argsort(contexts[:, 0])][:, 1:]
        return Average(self.offsets, contexts, self.log_table[..., :k], None, self.fallback.score())


def estimate_two_parents(
    triples: Triples,
    schema: Schema,
    smoothing: Smoothing,
    attributes: Iterable[Name],
    *,
    fallback: Conditional,
    min_count: float = 1,
    missing: str = "ignore",
    unseen: str = "ignore",
    weights: ArrayLike | None = None,
) -> TwoParents:
    """Estimate P(c, x_i, x_j) and P(x_k | c, x_i, x_j) for each pair of super-parents.

    Parameters
    ----------
    triples : Triples
    attributes : names
        The super-parents to use, among those counted.
    fallback : conditional
        Scores the rows without a qualifying pair. Like the result, it includes the prior of the class.
    min_count : float
        A pair of states qualifies if n(x_i, x_j), over all classes, is at least this.
    weights : array of shape (pairs,), optional
        The vote of each pair of ``attributes``, pairs in schema order; pairs with weight 0 are ignored.

    Examples
    --------
    >>> from bayeskit.priors import Laplace
    >>> from bayeskit.statistics import Variable
    >>> two = tuple(Variable(name, "categorical", (0, 1)) for name in "ab")
    >>> schema = Schema(two, Variable("y", "categorical", ("no",)))
    >>> counts = np.zeros((9, 6, 1))
    >>> counts[0, [0, 3]] = 2.0  # two rows with a = 0, b = 0
    >>> triples = Triples(np.array([2.0]), counts, np.array([0, 3, 6]), np.array([0, 1]))
    >>> model = estimate_two_parents(triples, schema, Smoothing(Laplace(), {}), "ab", fallback=None)
    >>> out = np.zeros((1, 1))
    >>> model.add_log_prob(Chunk(1, np.zeros((1, 2), np.uint8), np.empty((1, 0))), out)
    >>> np.exp(out).round(3)  # (2 + 1) / (2 + 4)
    array([[0.5]])
    """
    for variable in schema.categorical:
        prior = smoothing.of(variable)
        if backs_off(prior):
            raise SettingError(
                "AnDE(n=2) does not back off, and smoothing is {prior!r} for {name!r}. Use MEstimate, Laplace, "
                "Lidstone, Dirichlet, MAP, BDeu or MLE, or AnDE(n=1), which does.",
                prior=prior,
                name=variable.name,
            )
    wanted = [j for name in set(attributes) for j, v in enumerate(schema.categorical) if v.name == name]
    which = np.flatnonzero(np.isin(triples.pairs, wanted).all(axis=1))
    votes = np.ones(len(which)) if weights is None else np.asarray(weights, dtype=np.float64)
    if votes.shape != which.shape or not (np.isfinite(votes) & (votes >= 0)).all():
        raise SettingError(
            "The weights of {n} pairs of super-parents have shape {shape}; give one finite "
            "number of at least 0 for each pair.",
            n=len(which),
            shape=votes.shape,
        )
    is_state = np.zeros(len(schema.categorical), dtype=np.bool_)
    if missing == "state" and len(which):
        is_state = triples.tables.counts[triples.offsets[1:] - 1].sum(axis=1) > 0
    layout = Layout(schema, smoothing, is_state, unseen == "smooth")
    contexts = find_contexts(triples, layout, which, votes, _least(min_count))
    imaginary = np.array([layout.imaginary(i, j) for i, j in contexts.pairs]).reshape(-1, len(layout.owner))
    log_table, totals = look_up(triples, layout, contexts, imaginary)
    return TwoParents(
        contexts, log_table, layout.offsets, triples, totals, imaginary, is_state, float(min_count), fallback
    )


def _least(min_count: float) -> float:
    # Because of rounding, fractional weights may add up to slightly less than min_count.
    return float(min_count) * (1.0 - 1e-9)


def _places(array: NDArray[np.integer]) -> NDArray[np.uintp]:
    return array.astype(np.uintp)
