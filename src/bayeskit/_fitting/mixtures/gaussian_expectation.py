"""The E-step of a Gaussian mixture: expected sums, with rows grouped by their missing cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend import in_order
from bayeskit._fitting.mixtures.components import (
    BLOCK,
    LANES,
    STRETCH,
    Components,
    GaussianSums,
    gather,
    share,
)
from bayeskit._fitting.mixtures.whole_covariances import whole_log_joint, whole_sums
from bayeskit._intrinsics import fma
from bayeskit._messages import RowNumber
from bayeskit._numba import kernel
from bayeskit.errors import DataError
from bayeskit.typing import Floats

_LOG_2PI = math.log(2.0 * math.pi)


@kernel
def diagonal_stretch(
    x: Any, width: Any, order: Any, n_observed: Any, log_weights: Any, means: Any, variances: Any, logs: Any
) -> None:
    """Set logs to the log joint densities of a stretch of rows with the same missing cells."""
    for k in range(np.uintp(means.shape[0])):
        out = logs[k]
        constant = log_weights[k]
        for c in range(np.uintp(n_observed)):
            constant -= 0.5 * (_LOG_2PI + math.log(variances[k, np.uintp(order[c])]))
        for r in range(width):
            out[r] = constant
        for c in range(np.uintp(n_observed)):
            column = np.uintp(order[c])
            mean, scale = means[k, column], math.sqrt(0.5 / variances[k, column])
            for r in range(width):
                t = (x[c, r] - mean) * scale
                out[r] = fma(-t, t, out[r])


@kernel
def diagonal_scatter(
    x: Any,
    width: Any,
    shares: Any,
    order: Any,
    n_observed: Any,
    pivot: Any,
    sums: Any,
    first: Any,
    second: Any,
) -> Any:
    """Add Σ r z and Σ r z² of the observed cells of a stretch, and return Σ r."""
    lanes, l2, l3, l4 = np.uintp(LANES), np.uintp(2 * LANES), np.uintp(3 * LANES), np.uintp(4 * LANES)
    whole = width // l4 * l4
    zero, one, two = sums[0], sums[1], sums[2]
    for r in range(lanes):
        zero[r] = 0.0
    for c in range(np.uintp(0), width, lanes):
        for r in range(lanes):
            zero[r] += shares[c + r]
    for c in range(np.uintp(n_observed)):
        column = np.uintp(order[c])
        middle = pivot[column]
        for r in range(lanes):
            one[r] = 0.0
            two[r] = 0.0
        # Four rows of each lane at a time, so that the sums are written a quarter as often.
        for begin in range(np.uintp(0), whole, l4):
            for r in range(lanes):
                r0 = begin + r
                r1, r2, r3 = r0 + lanes, r0 + l2, r0 + l3
                z0, z1, z2, z3 = x[c, r0] - middle, x[c, r1] - middle, x[c, r2] - middle, x[c, r3] - middle
                s0, s1, s2, s3 = shares[r0] * z0, shares[r1] * z1, shares[r2] * z2, shares[r3] * z3
                one[r] += (s0 + s1) + (s2 + s3)
                two[r] = fma(s0, z0, fma(s1, z1, fma(s2, z2, fma(s3, z3, two[r]))))
        for begin in range(whole, width, lanes):
            for r in range(lanes):
                z0 = x[c, begin + r] - middle
                s0 = shares[begin + r] * z0
                one[r] += s0
                two[r] = fma(s0, z0, two[r])
        for r in range(lanes):
            first[column] += one[r]
            second[column] += two[r]
    weight = 0.0
    for r in range(lanes):
        weight += zero[r]
    return weight


@kernel
def diagonal_log_joint(
    X: Any,
    row: Any,
    stop: Any,
    group: Any,
    starts: Any,
    orders: Any,
    observed: Any,
    log_weights: Any,
    means: Any,
    variances: Any,
    scratch: Any,
    out: Any,
) -> None:
    """Set out[i, k] to the log joint density of row i and component k, over its observed cells."""
    x, logs, _top, _total, _sums = scratch
    row, stop, group = np.uintp(row), np.uintp(stop), np.uintp(group)
    while row < stop:
        while np.uintp(starts[group + np.uintp(1)]) <= row:
            group += np.uintp(1)
        n = min(np.uintp(STRETCH), min(stop, np.uintp(starts[group + np.uintp(1)])) - row)
        width = gather(X, row, n, orders[group], observed[group], x)
        diagonal_stretch(x, width, orders[group], observed[group], log_weights, means, variances, logs)
        for k in range(np.uintp(means.shape[0])):
            for r in range(n):
                out[row + r, k] = logs[k, r]
        row += n


@kernel
def diagonal_sums(
    X: Any,
    weights: Any,
    row: Any,
    stop: Any,
    group: Any,
    starts: Any,
    orders: Any,
    observed: Any,
    log_weights: Any,
    means: Any,
    variances: Any,
    pivot: Any,
    hard: Any,
    scratch: Any,
    weight: Any,
    seen: Any,
    first: Any,
    second: Any,
    report: Any,
) -> None:
    """Add the expected sums of some rows, with independent columns: a missing cell has its mean and its variance."""
    x, logs, top, total, sums = scratch
    row, stop, group = np.uintp(row), np.uintp(stop), np.uintp(group)
    while row < stop:
        while np.uintp(starts[group + np.uintp(1)]) <= row:
            group += np.uintp(1)
        order, n_observed = orders[group], observed[group]
        n = min(np.uintp(STRETCH), min(stop, np.uintp(starts[group + np.uintp(1)])) - row)
        width = gather(X, row, n, order, n_observed, x)
        diagonal_stretch(x, width, order, n_observed, log_weights, means, variances, logs)
        share(logs, n, width, weights, row, hard, top, total, report)
        for k in range(np.uintp(means.shape[0])):
            mine = diagonal_scatter(x, width, logs[k], order, n_observed, pivot[k], sums, first[k], second[k])
            weight[k] += mine
            if n_observed == 0:
                continue
            seen[k] += mine
            for c in range(np.uintp(n_observed), np.uintp(order.shape[0])):
                column = np.uintp(order[c])
                by = means[k, column] - pivot[k, column]
                first[k, column] += mine * by
                second[k, column] += mine * (variances[k, column] + by * by)
        row += n


T = TypeVar("T")
# The number of rows in one piece of work. Results are added piece by piece, so it must not depend on the number of
# threads.
_PIECE = 8192


@dataclass(frozen=True)
class _Shape:
    """Components as the kernels read them: means, and one matrix for each, one for all, or variances."""

    log_weights: Floats
    means: Floats
    spread: Floats
    whole: bool

    @classmethod
    def of(cls, components: Components) -> _Shape:
        with np.errstate(divide="ignore"):
            log_weights = np.log(components.weights)
        if components.matrices:
            spread = components.covariances.reshape(-1, *[components.means.shape[1]] * 2)
        else:
            spread = components.variances
        return cls(
            log_weights,
            np.ascontiguousarray(components.means),
            np.ascontiguousarray(spread),
            components.matrices,
        )

    def scratch(self) -> tuple[Floats, ...]:
        """Return scratch arrays for one stretch of rows."""
        k, d = self.means.shape
        padded = -(-d // 4) * 4
        x, logs = np.empty((d, STRETCH)), np.empty((k, STRETCH))
        top, total = np.empty(STRETCH), np.empty(STRETCH)
        if not self.whole:
            return x, logs, top, total, np.empty((3, LANES))
        diff, z = np.empty((padded, BLOCK)), np.empty((padded, BLOCK))
        y, rz = np.empty((2, BLOCK)), np.empty(BLOCK)
        n = self.spread.shape[0]
        lowers, halves = np.empty((n, d, d)), np.empty(n)
        inverses, gains = np.empty((n, padded, padded)), np.empty((n, padded, padded))
        sums = np.zeros((1 + d + d * (d + 1) // 2, LANES))
        return x, diff, z, y, rz, logs, top, total, lowers, inverses, gains, halves, sums


def _pieces(patterns: MissingPatterns, task: Callable[[int, int, int], T], n_jobs: int | None) -> Iterator[T]:
    """Run a task over pieces of the rows. Its arguments are the first row, the end, and the group of the first row."""
    n = patterns.X.shape[0]
    bounds = [(start, min(start + _PIECE, n)) for start in range(0, n, _PIECE)]
    groups = np.searchsorted(patterns.starts, [start for start, _ in bounds], side="right") - 1
    group_of = {start: int(group) for (start, _), group in zip(bounds, groups, strict=True)}
    return in_order(lambda start, stop: task(start, stop, group_of[start]), bounds, n_jobs)


def log_joint_of(patterns: MissingPatterns, components: Components, n_jobs: int | None) -> Floats:
    """Return log (w_k N(x; μ_k, Σ_k)) over the observed cells: shape (n, K), in the original order of the rows."""
    shape = _Shape.of(components)
    run = whole_log_joint if shape.whole else diagonal_log_joint
    out = np.empty((patterns.X.shape[0], len(shape.log_weights)))

    def task(start: int, stop: int, group: int) -> None:
        run(
            patterns.X,
            start,
            stop,
            group,
            patterns.starts,
            patterns.orders,
            patterns.observed,
            shape.log_weights,
            shape.means,
            shape.spread,
            shape.scratch(),
            out,
        )

    for _ in _pieces(patterns, task, n_jobs):
        pass
    return patterns.restored(out)


def expected_sums(
    patterns: MissingPatterns,
    weights: Floats,
    components: Components,
    pivot: Floats,
    *,
    hard: bool,
    n_jobs: int | None,
) -> tuple[GaussianSums, float]:
    """Return the expected sums about ``pivot``, and the log-likelihood.

    Parameters
    ----------
    patterns : MissingPatterns
    weights : array of shape (n,), sorted like the patterns, or of shape (0,) if all rows have weight 1
    components : Components
    pivot : array of shape (K, d)
    hard : bool
        Assign each row to its most likely component. The value is then the log-likelihood of the completed rows.
    n_jobs : int, optional
    """
    shape = _Shape.of(components)
    run: Any = whole_sums if shape.whole else diagonal_sums
    k, d = shape.means.shape

    def task(start: int, stop: int, group: int) -> tuple[Floats, ...]:
        second = np.zeros((k, d, d) if shape.whole else (k, d))
        sums = (np.zeros(k), np.zeros(k), np.zeros((k, d)), second, np.array([0.0, -1.0]))
        run(
            patterns.X,
            weights,
            start,
            stop,
            group,
            patterns.starts,
            patterns.orders,
            patterns.observed,
            shape.log_weights,
            shape.means,
            shape.spread,
            pivot,
            hard,
            shape.scratch(),
            *sums,
        )
        return sums

    pieces = _pieces(patterns, task, n_jobs)
    weight, seen, first, second, report = next(pieces)
    _check(report, patterns)
    for more in pieces:
        _check(more[-1], patterns)
        for total, part in zip((weight, seen, first, second, report), more, strict=True):
            total += part
    if shape.whole:
        second = np.tril(second) + np.swapaxes(np.tril(second, -1), -1, -2)
    return GaussianSums(pivot, weight, seen, first, second), float(report[0])


def _check(report: Floats, patterns: MissingPatterns) -> None:
    if report[1] >= 0.0:
        raise DataError(
            "{place} lies so far from every component that its density is zero in double precision. Leave "
            "the row out, scale its columns, or start from means nearer to it.",
            place=RowNumber(patterns.row(int(report[1])), begins=True),
        )


Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MissingPatterns:
    """Rows sorted by their pattern of missing cells (NaN), complete rows first.

    The factorisation of a covariance for a pattern is then computed once for all rows with that pattern.

    Attributes
    ----------
    X : array of shape (n, d)
        The sorted rows, or the given array itself if no cell is missing.
    rows : array of shape (n,) or None
        The original index of each row, or None if the order did not change.
    starts : array of shape (groups + 1,)
        The first row of each group, and n.
    orders : array of shape (groups, d)
        The indices of the observed columns, then of the missing ones.
    observed : array of shape (groups,)
        The number of observed columns.

    Examples
    --------
    >>> groups = MissingPatterns.of(np.array([[np.nan, 1.0], [2.0, 3.0], [np.nan, 4.0]]))
    >>> groups.rows.tolist(), groups.starts.tolist(), groups.orders.tolist(), groups.observed.tolist()
    ([1, 0, 2], [0, 1, 3], [[0, 1], [1, 0]], [2, 1])
    """

    X: Floats
    rows: Indices | None
    starts: Indices
    orders: Indices
    observed: Indices

    @classmethod
    def of(cls, X: Floats) -> MissingPatterns:
        n, d = X.shape
        missing = np.isnan(X)
        if not missing.any():
            alone = np.arange(d, dtype=np.intp)[None]
            return cls(X, None, np.array([0, n], dtype=np.intp), alone, np.array([d], dtype=np.intp))
        bits = np.packbits(missing, axis=1)
        # One opaque value for each row. Bytes are ordered like the bits, so complete rows come first.
        patterns, group = np.unique(bits.view(np.dtype((np.void, bits.shape[1])))[:, 0], return_inverse=True)
        rows = np.argsort(group, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(patterns)))])
        masks = missing[rows[starts[:-1]]]
        orders = np.argsort(masks, axis=1, kind="stable")
        observed = d - masks.sum(axis=1)
        return cls(
            np.ascontiguousarray(X[rows]),
            rows.astype(np.intp),
            starts.astype(np.intp),
            orders.astype(np.intp),
            observed.astype(np.intp),
        )

    def sorted(self, values: Floats) -> Floats:
        """Sort values of the original rows into the order of the groups."""
        return values if self.rows is None else np.ascontiguousarray(values[self.rows])

    def restored(self, values: Floats) -> Floats:
        """Return values of the sorted rows in the original order."""
        if self.rows is None:
            return values
        out = np.empty_like(values)
        out[self.rows] = values
        return out

    def row(self, place: int) -> int:
        """Return the original index of the row at a sorted position."""
        return place if self.rows is None else int(self.rows[place])
