"""Scores of rows with missing parents: sums over their states, integrals over their numbers.

If there are few joint states, each is filled in and looked up like a complete row. This also works for leave-one-out.
If there are many, exact inference computes the sum. The posterior draws of tables and regressions are summed in the
same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import DrawRule, ParameterPosterior
from bayeskit._conditionals.linear_family import LinearFamily
from bayeskit._conditionals.posterior_draws import Draws
from bayeskit._counting.backend import count
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.graph_factors import Flags, GraphFactors
from bayeskit._inference.exact import get_max_memory
from bayeskit._inference.gaussian.mixed_layout import HybridEvidence
from bayeskit._messages import RowNumber
from bayeskit.errors import InfiniteValue, UsageError
from bayeskit.typing import Floats

Codes = NDArray[np.int64]

# The maximum number of joint states of missing nodes to fill in. Above it, inference is faster: much faster if all
# nodes are discrete, with one tree for all rows, and less so if each row needs its own elimination.
MOST_STATES, MOST_MIXED_STATES = 64, 256
# From this number of rows with missing cells on, all share one tree, if all nodes are discrete.
MANY_ROWS = 256
# The same maximum for leave-one-out, where the alternative is a new estimate for each row.
MOST_LEFT_OUT = 4_096
# The number of filled-in rows to look up at a time.
_BLOCK_ROWS = 65_536
# Added to the diagonal of a correlation matrix that is not positive definite because of rounding.
_RIDGE = 1e-10


class Holes(NamedTuple):
    """A pattern of missing values: indices and states of the categorical attributes, indices of the numeric ones."""

    discrete: list[int]
    states: list[tuple[int, ...]]
    numeric: list[int]

    @property
    def n_states(self) -> int:
        return math.prod(len(some) for some in self.states)


def by_holes(factors: GraphFactors, hidden: Flags) -> Iterator[tuple[NDArray[np.intp], Holes]]:
    """Yield the rows of each pattern of missing values, and the pattern. Rows without missing values are skipped."""
    patterns, which = np.unique(hidden, axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        if pattern.any():
            nodes = [
                factors.places[name]
                for name, missing in zip(factors.dag.nodes, pattern, strict=True)
                if missing
            ]
            discrete = [j for is_discrete, j in nodes if is_discrete]
            holes = Holes(
                discrete,
                [factors.codes_of(j) for j in discrete],
                [j for is_discrete, j in nodes if not is_discrete],
            )
            yield np.flatnonzero(which.ravel() == p), holes


def add_holed(factors: GraphFactors, chunk: Chunk, hidden: Flags, own: Floats | None, out: Floats) -> None:
    """Add the log-probabilities of the rows with hidden nodes, with ``own`` of their weight left out if given."""
    holed = np.flatnonzero(hidden.any(axis=1))
    if own is None and not factors.numbers and len(holed) >= MANY_ROWS and factors.has_small_tree:
        out[holed] += _inferred(factors, chunk.take(holed), hidden[holed])
        return
    for rows, holes in by_holes(factors, hidden):
        some = chunk.take(rows)
        if own is not None and holes.n_states > MOST_LEFT_OUT:
            out[rows] += _estimated_anew(factors, some, own[rows])
        elif own is not None or holes.n_states <= (MOST_MIXED_STATES if factors.numbers else MOST_STATES):
            out[rows] += _summed(factors, some, holes, None if own is None else own[rows])
        else:
            out[rows] += _inferred(factors, some, hidden[rows])


def _summed(factors: GraphFactors, chunk: Chunk, holes: Holes, own: Floats | None) -> Floats:
    def logs_of(filled: Chunk, there: Flags, rows: NDArray[np.intp]) -> Floats:
        out = np.zeros((filled.n_rows, factors.schema.n_classes))
        together, apart = together_and_apart(factors, holes)
        factors.add_known(filled, out, None if own is None else own[rows], there, apart)
        for some, kept in same_numbers(together, filled) if together else ():
            out[some] += integrals(factors, filled.take(some), together, kept, _estimated)[:, 0]
        return out

    return sum_over_states(chunk, holes, logs_of)


def sum_over_states(
    chunk: Chunk,
    holes: Holes,
    logs_of: Callable[[Chunk, Flags, NDArray[np.intp]], Floats],
    block_rows: int = _BLOCK_ROWS,
) -> Floats:
    """Return the log-sum-exp of ``logs_of`` over all joint states of the missing attributes.

    The arguments of ``logs_of`` are the filled-in rows, which codes are the rows' own, and the original index of each
    row.
    """
    states = np.array(list(product(*holes.states)), chunk.codes.dtype).reshape(
        holes.n_states, len(holes.discrete)
    )
    step, pieces = max(1, block_rows // max(len(states), 1)), []
    for start in range(0, chunk.n_rows, step):
        rows = np.repeat(np.arange(start, min(start + step, chunk.n_rows)), len(states))
        filled = chunk.take(rows)
        there = np.ones(filled.codes.shape, np.bool_)
        there[:, holes.discrete] = False
        filled.codes[:, holes.discrete] = np.tile(states, (len(rows) // max(len(states), 1), 1))
        logs = logs_of(filled, there, rows)
        pieces.append(np.logaddexp.reduce(logs.reshape(-1, len(states), *logs.shape[1:]), axis=1))
    return np.concatenate(pieces)


def together_and_apart(
    factors: GraphFactors, holes: Holes
) -> tuple[list[LinearFamily], list[LinearFamily] | None]:
    """Split the numeric families into those with a missing number, and the others (None: all families)."""
    if not holes.numeric:
        return [], None
    missing = set(holes.numeric)
    together = [family for family in factors.numbers if missing.intersection(family.columns)]
    return together, [family for family in factors.numbers if family not in together]


def same_numbers(
    families: Sequence[LinearFamily], chunk: Chunk
) -> Iterator[tuple[NDArray[np.intp], list[bool]]]:
    """Yield groups of rows in which the same children of these families are present, and for each child whether it is.

    Groups in which no child is present are skipped.
    """
    children = chunk.values[:, [family.child for family in families]]
    endless = np.isinf(children)
    if endless.any():
        row, at = (int(place) for place in np.argwhere(endless)[0])
        raise InfiniteValue(families[at].child, row, float(children[row, at]))
    patterns, which = np.unique(~np.isnan(children), axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        if pattern.any():
            yield np.flatnonzero(which.ravel() == p), pattern.tolist()


class Line(NamedTuple):
    """One regression under several draws: arrays of shapes (draws,), (draws, parents), (draws,) and (parents,).

    ``mean`` is the mean of the child when its numeric parents are at their ``centre``.
    """

    mean: Floats
    slopes: Floats
    variance: Floats
    centre: Floats


def integrals(
    factors: GraphFactors,
    chunk: Chunk,
    families: Sequence[LinearFamily],
    kept: list[bool],
    line_of: Callable[[LinearFamily, int], Line],
    draws: int = 1,
) -> Floats:
    """Return log p(known numbers | states), with missing numbers integrated out: shape (n, draws, K).

    ``line_of`` returns the regression of a family in the configuration with the given key.
    """
    out = np.empty((chunk.n_rows, draws, factors.schema.n_classes))
    every = [family.keys_of(chunk.codes) for family in families]
    for c in range(out.shape[2]):
        keys = np.column_stack([own[:, c if own.shape[1] > 1 else 0] for own in every])
        found, which = np.unique(keys, axis=0, return_inverse=True)
        for i, configuration in enumerate(found.tolist()):
            rows = np.flatnonzero(which.ravel() == i)
            lines = [line_of(family, key) for family, key in zip(families, configuration, strict=True)]
            out[rows, :, c] = log_integral(families, lines, kept, chunk.values[rows])
    return out


def _estimated(family: LinearFamily, key: int) -> Line:
    cell = int(family.cell_of(np.array([key]))[0])
    intercept, slopes, variance = (part[cell : cell + 1] for part in family.lines)
    return Line(intercept, slopes, variance, np.zeros(len(family.above)))


def log_integral(
    families: Sequence[LinearFamily], lines: Sequence[Line], kept: list[bool], values: Floats
) -> Floats:
    """Return the log-density of the children in ``kept``, with the others integrated out: shape (n, draws).

    Parameters
    ----------
    families : sequence of LinearFamily
        Parents before children. Numeric parents that are not a child here are known.
    lines : sequence of Line
        The regression of each family.
    values : array of shape (n, numeric attributes)
    """
    place = {family.child: i for i, family in enumerate(families)}
    n, d, m = len(values), len(lines[0].mean), len(families)
    mean, covariance = np.zeros((n, d, m)), np.zeros((d, m, m))
    for i, (family, line) in enumerate(zip(families, lines, strict=True)):
        mean[:, :, i] = line.mean
        own = line.variance.copy()
        for slope, parent, centre in zip(line.slopes.T, family.above, line.centre, strict=True):
            if parent in place:
                mean[:, :, i] += slope * (mean[:, :, place[parent]] - centre)
                covariance[:, i] += slope[:, None] * covariance[:, place[parent]]
            else:
                mean[:, :, i] += slope * (values[:, parent, None] - centre)
        for slope, parent in zip(line.slopes.T, family.above, strict=True):
            if parent in place:
                own += slope * covariance[:, i, place[parent]]
        covariance[:, :, i] = covariance[:, i]
        covariance[:, i, i] = own
    some = np.flatnonzero(kept)
    children = np.array([family.child for family in families], np.intp)[some]
    away = values[:, children][:, None, :] - mean[:, :, some]
    return _log_normal(away, covariance[:, some[:, None], some])


def _log_normal(away: Floats, covariance: Floats) -> Floats:
    """Return log N(away; 0, covariance): shape (n, draws). It is computed from correlations, for accuracy."""
    spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    correlation = covariance / (spread[:, :, None] * spread[:, None, :])
    try:
        root = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        root = np.linalg.cholesky(correlation + _RIDGE * np.eye(correlation.shape[1]))
    z = np.linalg.solve(root, (away / spread).transpose(1, 2, 0))
    scale = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) + np.log(spread).sum(axis=1)
    return np.asarray(
        -0.5 * (z * z).sum(axis=1) - (scale + 0.5 * away.shape[2] * np.log(2.0 * np.pi))[:, None]
    ).T


def _inferred(factors: GraphFactors, chunk: Chunk, hidden: Flags) -> Floats:
    """Return the log-probability of each row in each class by inference: shape (n, K).

    In the network, a class without parents has probability 1/K, which is divided out.
    """
    network, k = factors.network, factors.schema.n_classes
    shape = (chunk.n_rows * k, len(network.nodes))
    sizes = np.array([node.variable.size for node in network.nodes], np.int64)
    codes, values = np.tile(sizes, (shape[0], 1)), np.full(shape, np.nan)
    for at, node in enumerate(network.nodes):
        if node.name == factors.target:
            codes[:, at] = np.tile(np.arange(k), chunk.n_rows)
            continue
        is_discrete, j = factors.places[node.name]
        if is_discrete:
            states = _states(chunk.codes[:, j], factors.codes_of(j))
            codes[:, at] = np.repeat(np.where(hidden[:, at], sizes[at], states), k)
        else:
            values[:, at] = np.repeat(chunk.values[:, j], k)
    logs = _log_prob(factors, codes, values, sizes).reshape(chunk.n_rows, k)
    return logs + np.log(k) if factors.adds_prior else logs


def _log_prob(factors: GraphFactors, codes: Codes, values: Floats, sizes: Codes) -> Floats:
    """Return log P of each row. If all nodes are discrete, every row must have a missing one (code = its size)."""
    if not factors.network.is_discrete:
        rows = (HybridEvidence.of_row(*row, sizes) for row in zip(codes, values, strict=True))
        return np.array([factors.hybrid.log_probability(row, get_max_memory()) for row in rows])
    out, missing = np.empty(len(codes)), codes >= sizes
    left = np.ones(len(codes), np.bool_)
    while left.any():
        # Only P(evidence) of the batch is used, so any variable that is missing can be its target.
        target = int(missing[left].sum(axis=0).argmax())
        now = left & missing[:, target]
        out[now] = factors.exact.batch(codes[now], target, get_max_memory())[1]
        left &= ~now
    return out


def _states(codes: NDArray[np.generic], known: tuple[int, ...]) -> Codes:
    """Return the position of each code among the known states, or their number if it is not one of them."""
    place = np.full(int(max([*known, int(codes.max(initial=0))])) + 1, len(known), np.int64)
    place[list(known)] = np.arange(len(known))
    return np.asarray(place[codes])


def _estimated_anew(factors: GraphFactors, chunk: Chunk, own: Floats) -> Floats:
    """Estimate the tables again without each row, and score that row: exact by definition, but slow."""
    statistics = factors.statistics
    out = np.zeros((chunk.n_rows, factors.schema.n_classes))
    for i in range(chunk.n_rows):
        row = replace(chunk.take(np.array([i])), weights=own[i : i + 1].copy())
        left = statistics
        if own[i] > 0.0:
            left = statistics.subtract(count(row, statistics.schema, statistics.plan))
        factors.anew(left).add_log_prob(row, out[i : i + 1])
    return out


# The number of doubles in a block of rows under all draws.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class GraphPosterior:
    """The posterior distribution of the parameters of a graph.

    A row of a table is Dirichlet(n + a), where a are the imaginary counts of the prior. For the posterior of a
    regression see :meth:`~bayeskit._conditionals.linear_family.LinearFamily.draw_lines`.
    """

    factors: GraphFactors
    tables: ParameterPosterior
    apart: ParameterPosterior
    class_above_mode: float

    @classmethod
    def of(cls, factors: GraphFactors, rule: DrawRule) -> GraphPosterior:
        tables, apart = factors.tables.posterior(rule), factors.apart.posterior(rule)
        return cls(factors, tables, apart, rule.class_above_mode)

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        hidden = self.factors.hidden(self.factors.known(chunk))
        rows = np.flatnonzero(~hidden.any(axis=1))
        if len(rows):
            out[rows] += self._logs(chunk.take(rows), draws, self.factors.numbers)
        for rows, holes in by_holes(self.factors, hidden):
            _refuse_many(holes, chunk, rows)
            out[rows] += self._summed(chunk.take(rows), draws, holes)

    def _summed(self, chunk: Chunk, draws: Draws, holes: Holes) -> Floats:
        together, apart = together_and_apart(self.factors, holes)

        def line_of(family: LinearFamily, key: int) -> Line:
            numbers, centre = family.draw_lines(key, draws)
            return Line(numbers[:, 0], numbers[:, 2:], numbers[:, 1] ** 2, centre)

        def logs_of(filled: Chunk, there: Flags, rows: NDArray[np.intp]) -> Floats:
            logs = self._logs(filled, draws, self.factors.numbers if apart is None else apart)
            for some, kept in same_numbers(together, filled) if together else ():
                logs[some] += integrals(self.factors, filled.take(some), together, kept, line_of, draws.n)
            return logs

        k = self.factors.schema.n_classes
        return sum_over_states(chunk, holes, logs_of, max(1, _BLOCK // (draws.n * k)))

    def _logs(self, chunk: Chunk, draws: Draws, numbers: Sequence[LinearFamily]) -> Floats:
        """Return log P(x | c) of rows without missing parents under every draw: shape (n, draws, K)."""
        factors = self.factors
        out = np.zeros((chunk.n_rows, draws.n, factors.schema.n_classes))
        self.tables.add(chunk, draws, out)
        alike = np.zeros((chunk.n_rows, draws.n, 1))
        self.apart.add(chunk, draws, alike)
        out += alike
        if factors.class_family is not None:
            out += factors.class_family.log_draws(chunk.codes, draws, self.class_above_mode)
        for family in numbers:
            rows = np.flatnonzero(~np.isnan(chunk.values[:, family.child]))
            out[rows] += family.log_draws(chunk.codes[rows], chunk.values[rows], draws)
        return out


def _refuse_many(holes: Holes, chunk: Chunk, rows: NDArray[np.intp]) -> None:
    if holes.n_states > MOST_LEFT_OUT:
        raise UsageError(
            "{place} lacks {n} attributes that others depend on, with {n_states:,} joint states; "
            "predict_interval sums over at most {most_left_out:,}. Fill some in, or use NaiveBayes, which "
            "leaves missing values out.",
            place=RowNumber(chunk.first_row + int(rows[0]), begins=True),
            n=len(holes.discrete),
            n_states=holes.n_states,
            most_left_out=MOST_LEFT_OUT,
        )
