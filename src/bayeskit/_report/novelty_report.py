"""Novelty of rows: their probability compared with sampled rows, and the conflict between their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.encoded import Chunk

Floats = NDArray[np.float64]

# Rows whose logarithms differ by less are equally probable.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Novelty:
    r"""How unusual rows are under the model. Every array has one number per row.

    Attributes
    ----------
    log_evidence : log P(x) of the values that are present
    share : float in (0, 1]
        (1 + sampled rows that are at most as probable) / (1 + sampled rows), where the sampled rows have the
        same missing cells. Small values mean unusual rows. Of rows that come from the model, a tenth have a
        share of at most 0.1.
    conflict : :math:`\log \frac{\prod_i P(x_i)}{P(x)}`, or None if ``missing="state"``
        Jensen's conflict measure. Above 0, the values fit together less well than if they were independent.
    unseen : int
        The number of unseen values. They do not affect the other numbers unless ``unseen="smooth"``.
    n_samples : int
    """

    log_evidence: Floats
    share: Floats
    conflict: Floats | None
    unseen: NDArray[np.intp]
    n_samples: int

    def __len__(self) -> int:
        return len(self.share)

    def to_dict(self) -> dict[str, Any]:
        """Return a list for each array."""
        from bayeskit._visible import plain

        names = ("log_evidence", "share", "conflict", "unseen")
        arrays = {name: getattr(self, name) for name in names}
        return {name: None if a is None else plain(a.tolist()) for name, a in arrays.items()}

    def to_frame(self) -> Any:
        """Return a data frame of an installed library, with one row per row."""
        from bayeskit._data.frames import to_native

        names = ("log_evidence", "share", "conflict", "unseen")
        return to_native({n: np.asarray(getattr(self, n)) for n in names if getattr(self, n) is not None})

    def _repr_html_(self) -> str:
        from bayeskit._display_table import MOST_ROWS, DisplayTable, as_html

        order = np.argsort(self.share, kind="stable")[:MOST_ROWS].tolist()
        conflict = self.conflict if self.conflict is not None else np.full(len(self), np.nan)
        rows = tuple(
            (
                str(i + 1),
                f"{self.share[i]:.4g}",
                *(f"{v[i]:.4f}".replace("-", "−") for v in (self.log_evidence, conflict)),
                str(self.unseen[i]),
            )
            for i in order
        )
        more = len(self) - len(order)
        notes = (f"… {more:,} more rows not shown.",) if more else ()
        header = ("row", "share", "log P(x)", "conflict", "unseen")
        return as_html(DisplayTable(f"The strangest of {len(self):,} rows", header, rows, (), notes))

    def __repr__(self) -> str:
        strange = int((self.share <= 0.01).sum())
        return f"<Novelty of {len(self)} rows: {strange} stranger than 99% of {self.n_samples:,} drawn from the model>"


def shares_among(
    score: Callable[[Chunk], Floats], rows: Chunk, drawn: Chunk, missing: NDArray[np.intp] | None
) -> tuple[Floats, Floats]:
    """Return log P(x) of rows, and the share of drawn rows at most as probable.

    Parameters
    ----------
    score : chunk → log P(x)
    rows, drawn : Chunk
    missing : the code of a missing value of each categorical attribute; None if missing is a state

    Each pattern of missing cells is compared with the drawn rows that have the same cells blanked.
    """
    log_p = score(rows)
    share = np.empty(rows.n_rows)
    blank = np.zeros((rows.n_rows, rows.codes.shape[1] + rows.values.shape[1]), dtype=np.bool_)
    if missing is not None:
        blank = np.hstack([rows.codes == missing, np.isnan(rows.values)])
    patterns, which = np.unique(blank, axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        here = np.flatnonzero(which.ravel() == p)
        expected = np.sort(score(drawn if missing is None else _blanked(drawn, pattern, missing)))
        below = np.searchsorted(expected, log_p[here] + _ROUNDING, side="right")
        share[here] = (1.0 + below) / (1.0 + len(expected))
    return log_p, share


def conflicts(
    score: Callable[[Chunk], Floats], rows: Chunk, log_p: Floats, missing: NDArray[np.intp]
) -> Floats:
    """Return log Π P(x_i) / P(x) of each row; 0 if it has at most one value."""
    alone = np.zeros(rows.n_rows)
    d = rows.codes.shape[1]
    if d:
        # Score every code of every attribute once, including missing and unseen. These are far fewer than cells.
        starts = np.concatenate([[0], np.cumsum(missing + 2)])
        codes = np.tile(missing, (int(starts[-1]), 1))
        for j in range(d):
            codes[starts[j] : starts[j + 1], j] = np.arange(missing[j] + 2)
        blank = np.full((len(codes), rows.values.shape[1]), np.nan)
        table = score(Chunk(len(codes), np.ascontiguousarray(codes.astype(rows.codes.dtype)), blank))
        alone += table[rows.codes.astype(np.intp) + starts[:-1]].sum(axis=1)
    for m in range(rows.values.shape[1]):
        others = np.ones(d + rows.values.shape[1], dtype=np.bool_)
        others[d + m] = False
        alone += score(_blanked(rows, others, missing))
    with np.errstate(invalid="ignore"):
        found = alone - log_p
    # A value that is impossible by itself is no conflict.
    return np.where(np.isneginf(alone), 0.0, found)


def _blanked(chunk: Chunk, pattern: NDArray[np.bool_], missing: NDArray[np.intp]) -> Chunk:
    d = chunk.codes.shape[1]
    codes = np.where(pattern[:d], missing, chunk.codes).astype(chunk.codes.dtype)
    values = np.where(pattern[d:], np.nan, chunk.values)
    return Chunk(chunk.n_rows, np.ascontiguousarray(codes), np.ascontiguousarray(values))
