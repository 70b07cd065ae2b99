"""Rows in groups that miss the same cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.typing import Floats

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MissingPatterns:
    """Rows sorted by which of their cells are missing (NaN), those that miss none first.

    What has to be known of a covariance for some missing cells is then made once for all rows that miss them.

    Attributes
    ----------
    X : array of shape (n, d)
        The sorted rows; the given array itself where no cell is missing.
    rows : array of shape (n,) or None
        Where each row was; None where it still is.
    starts : array of shape (groups + 1,)
        The first row of each group, and n.
    orders : array of shape (groups, d)
        Numbers of the observed columns, then of the missing ones.
    observed : array of shape (groups,)
        How many are observed.

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
        # One opaque value a row: bytes compare as the bits do, so a row that misses nothing comes first.
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
        """Put values of rows into the order of the groups."""
        return values if self.rows is None else np.ascontiguousarray(values[self.rows])

    def restored(self, values: Floats) -> Floats:
        """Put values of sorted rows back to where the rows were."""
        if self.rows is None:
            return values
        out = np.empty_like(values)
        out[self.rows] = values
        return out

    def row(self, place: int) -> int:
        """Return which row lies at a place."""
        return place if self.rows is None else int(self.rows[place])
