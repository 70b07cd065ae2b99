"""The E-step of a Gaussian mixture: components in, expected sums out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from bayeskit.counting.backend import in_order
from bayeskit.errors import DataError
from bayeskit.learning.mixtures.components import Components
from bayeskit.learning.mixtures.gaussian_missing import MissingPatterns
from bayeskit.learning.mixtures.gaussian_sums import GaussianSums
from bayeskit.learning.mixtures.kernels.diagonal import diagonal_log_joint, diagonal_sums
from bayeskit.learning.mixtures.kernels.shares import BLOCK, LANES, STRETCH
from bayeskit.learning.mixtures.kernels.whole import whole_log_joint, whole_sums
from bayeskit.typing import Floats

T = TypeVar("T")
# Rows of one piece of work. Results are added piece by piece, so it must not depend on the number of threads.
_PIECE = 8192


@dataclass(frozen=True)
class _Shape:
    """How components look to the kernels: means, and one matrix each, one for all, or variances."""

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
        """Return room for one stretch of rows."""
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
    """Run a task over pieces of the rows; it is told the first row, the last and the first row's group."""
    n = patterns.X.shape[0]
    bounds = [(start, min(start + _PIECE, n)) for start in range(0, n, _PIECE)]
    groups = np.searchsorted(patterns.starts, [start for start, _ in bounds], side="right") - 1
    group_of = {start: int(group) for (start, _), group in zip(bounds, groups)}
    return in_order(lambda start, stop: task(start, stop, group_of[start]), bounds, n_jobs)


def log_joint_of(patterns: MissingPatterns, components: Components, n_jobs: int | None) -> Floats:
    """Return log (w_k N(x; μ_k, Σ_k)) over the observed cells, of shape (n, K), rows where they were."""
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
    weights : array of shape (n,), sorted as the patterns are, or (0,) where every row counts once
    components : Components
    pivot : array of shape (K, d)
    hard : bool
        Give each row to its most likely component; the value is then that of the completed rows.
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
        for total, part in zip((weight, seen, first, second, report), more):
            total += part
    if shape.whole:
        second = np.tril(second) + np.swapaxes(np.tril(second, -1), -1, -2)
    return GaussianSums(pivot, weight, seen, first, second), float(report[0])


def _check(report: Floats, patterns: MissingPatterns) -> None:
    if report[1] >= 0.0:
        raise DataError(
            f"Row {patterns.row(int(report[1]))} (the first is 0) lies so far from every component that its density is "
            "zero in doubles. Take the row away, scale its columns, or start from means nearer to it."
        )
