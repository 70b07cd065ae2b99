"""Views: random sets of cut points of numeric attributes, over which a model of counts is averaged.

A single set of cut points is a compromise: few intervals blur the classes, many intervals have few rows each. Averaging
log-posteriors over several sets avoids this. The cut points do not depend on the classes, so leaving a row out of the
counts leaves it out of the model, except for the positions of the cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._schema import Name
from bayeskit.typing import Floats

# With fewer rows than FEW_ROWS there are few intervals; from MANY_ROWS on there are many.
FEW_ROWS, MANY_ROWS = 1_000, 8_000
# The minimum number of rows per interval besides those of frequent values.
_LEAST_ROWS = 5


class ViewKind(NamedTuple):
    """How to draw a view: the range of the number of intervals, and whether frequent values get their own interval."""

    least: int
    most: int
    atoms: bool


@dataclass(frozen=True)
class Views:
    """Cut points of numeric attributes, one set for each view.

    Attributes
    ----------
    cuts : tuple of mappings from attribute to ascending cut points
        State v of an attribute is the interval (cut v − 1, cut v].
    """

    cuts: tuple[dict[Name, tuple[float, ...]], ...]

    def __len__(self) -> int:
        return len(self.cuts)


def kinds_of(n_rows: float, n_views: int) -> list[ViewKind]:
    """Return how to draw each view, alternating between few and many intervals.

    >>> [tuple(kind) for kind in kinds_of(500, 2)], tuple(kinds_of(5_000, 2)[1])
    ([(2, 6, False), (3, 12, False)], (8, 25, True))
    """
    if n_rows < FEW_ROWS:
        coarse, fine = ViewKind(2, 6, False), ViewKind(3, 12, False)
    elif n_rows < MANY_ROWS:
        coarse, fine = ViewKind(3, 8, False), ViewKind(8, 25, True)
    else:
        coarse, fine = ViewKind(4, 12, False), ViewKind(12, 40, True)
    return [fine if v % 2 else coarse for v in range(n_views)]


def coarse_kinds(n_rows: float, n_views: int) -> list[ViewKind]:
    """Return how to draw views for tables over more attributes, which need fewer intervals."""
    return [ViewKind(2, 5, False) if n_rows < FEW_ROWS else ViewKind(3, 8, False)] * n_views


def draw_views(
    columns: dict[Name, Floats], weights: Floats, kinds: list[ViewKind], seed: tuple[int, ...]
) -> Views:
    """Draw the cut points of every view.

    The values of a column seed its draws, so these do not depend on its name, its position or the order of the rows.

    Parameters
    ----------
    columns : mapping from attribute to array of shape (n,)
        NaN is missing.
    weights : array of shape (n,)
    """
    cuts: tuple[dict[Name, tuple[float, ...]], ...] = tuple({} for _ in kinds)
    for name, values in columns.items():
        present = ~np.isnan(values)
        states, place = np.unique(values[present], return_inverse=True)
        weight = np.bincount(place, weights[present], len(states))
        rng = np.random.default_rng([*seed, crc32(np.ascontiguousarray(states).tobytes())])
        for view, kind in zip(cuts, kinds, strict=True):
            view[name] = tuple(draw_cuts(states, weight, kind, rng).tolist())
    return Views(cuts)


def draw_cuts(states: ArrayLike, weight: ArrayLike, kind: ViewKind, rng: np.random.Generator) -> Floats:
    r"""Return cut points at quantiles :math:`(i + u_i)/m`, with m intervals and u between −½ and ½ drawn at random.

    With ``atoms``, a value with more than 1/m of the rows gets its own interval, and the other values share the rest.
    If there are at most m values, each gets its own.

    Parameters
    ----------
    states : array of shape (v,), ascending
    weight : array of shape (v,)
        The weight of the rows with each value.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draw_cuts([0.0, 1.0, 2.0], [97.0, 1.0, 2.0], ViewKind(3, 3, True), rng).tolist()
    [0.5, 1.5]
    """
    x, n = np.asarray(states, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    m = int(rng.integers(kind.least, kind.most + 1))
    if len(x) < 2:
        return np.empty(0)
    if not kind.atoms:
        return _between(x, np.unique(_quantiles(n, m, rng)))
    if len(x) <= m:
        return _between(x, np.arange(1, len(x)))
    frequent = np.flatnonzero(n > n.sum() / m)
    if not len(frequent):
        return _between(x, np.unique(_quantiles(n, m, rng)))
    beside = np.concatenate([frequent, frequent + 1])
    rest = np.flatnonzero(n <= n.sum() / m)
    left = int(min(max(m - len(frequent), 1), n[rest].sum() // _LEAST_ROWS))
    if left >= 2:
        beside = np.concatenate([beside, rest[_quantiles(n[rest], left, rng)]])
    return _between(x, np.unique(beside[(beside > 0) & (beside < len(x))]))


def _quantiles(weight: Floats, m: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the indices of the values before which to cut, never the first."""
    shares = (np.arange(1, m) + rng.uniform(-0.5, 0.5, m - 1)) / m
    upto = np.cumsum(weight)
    places = np.searchsorted(upto, np.sort(shares) * upto[-1], side="right")
    return np.asarray(places[(places > 0) & (places < len(weight))])


def _between(x: Floats, places: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    """Return the midpoint of each of these values and the one before it, finite and below the value."""
    below, above = np.maximum(x[places - 1], -np.finfo(float).max), np.minimum(x[places], np.finfo(float).max)
    middle = 0.5 * below + 0.5 * above
    return np.unique(np.where(middle < x[places], middle, below))
