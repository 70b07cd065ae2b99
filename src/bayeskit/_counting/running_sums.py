"""Sums of single rows, added to in place: the tables and moments of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from struct import pack_into
from typing import Any

import numpy as np

from bayeskit._data.encoded import EncodedTable
from bayeskit._intrinsics import fma
from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.double import (
    FINE,
    FIRST,
    PIVOT,
    SECOND,
    TROUBLE,
    WEIGHT,
    add,
    add_exactly,
    settle,
)
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.part import Part
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.tables import Tables
from bayeskit.typing import Floats

# The weight and the class of a record; its codes and numbers follow.
HEAD = 2
# So many rows may wait however wide they are: counting fewer at a time costs a call for each.
FEWEST = 32


class RowRecords:
    """Coded rows that wait, each as doubles: weight, class, codes, numbers.

    At most ``most`` wait, fewer where they would take more than ``most_bytes``.
    """

    def __init__(self, schema: Schema, most: int, most_bytes: int) -> None:
        self.schema = schema
        self._width = HEAD + len(schema.categorical) + len(schema.numeric)
        self.most = most = min(most, max(FEWEST, most_bytes // (8 * self._width)))
        self._format = f"{self._width}d"
        self._rows: Any = np.zeros((most, self._width))
        self.n = 0

    @property
    def is_full(self) -> bool:
        return self.n == self.most

    def append(self, weight: float, label: int, codes: Sequence[int], numbers: Sequence[float]) -> None:
        # Packing takes half the time of an assignment to a row of an array.
        pack_into(self._format, self._rows, 8 * self._width * self.n, weight, label, *codes, *numbers)
        self.n += 1

    def clear(self) -> None:
        self.n = 0

    @property
    def array(self) -> Floats:
        """The records, of shape (n, width): a view."""
        rows: Floats = self._rows[: self.n]
        return rows

    def table(self) -> EncodedTable:
        """Return the rows as a table."""
        rows, first = self.array, HEAD + len(self.schema.categorical)
        weights = rows[:, 0].copy()
        return EncodedTable(
            self.schema,
            self.n,
            rows[:, HEAD:first].astype(self.schema.code_dtype),
            rows[:, first:].copy(),
            target=rows[:, 1].astype(np.uint32),
            weights=None if (weights == 1.0).all() else weights,
        )


class RunningSums:
    """The sums of a plan of tables and moments, as arrays that rows are added to.

    Attributes
    ----------
    margin, counts : arrays of shape (2, K) and (2, T, K)
        As in :class:`~bayeskit._statistics.tables.Tables`, high and low.
    cells : array of shape (7, K, d)
        As in :class:`~bayeskit._statistics.moments.Moments`.
    """

    def __init__(self, statistics: Statistics) -> None:
        self._start = statistics
        tables, schema = statistics.tables, statistics.schema
        arrays = tables.arrays()
        self.margin = np.stack([arrays["margin"], arrays["margin_low"]])
        self.counts = np.stack([arrays["counts"], arrays["counts_low"]])
        self._is_whole = tables.counts_low is None
        moments: Any = statistics.parts.get("moments", Moments.zero(schema, ()))
        self.cells = moments.cells.copy()
        self._spare = np.empty_like(self.cells)
        self.offsets = schema.offsets

    @staticmethod
    def takes(statistics: Statistics) -> bool:
        """Return whether all sums of some statistics can be added to in place."""
        parts = statistics.parts
        moments: Any = parts.get("moments")
        gone: Any = statistics.gone.get("moments")
        return (
            "tables" in parts
            and parts.keys() <= {"tables", "moments"}
            and statistics.schema.n_classes > 0
            and (moments is None or not moments.exponent.any())
            # What rounding may have left of removed rows is looked for by those who add statistics.
            and (gone is None or not gone.weight.any())
        )

    def add(self, records: Floats) -> bool:
        """Add rows, all of them or, if their squares leave the range of a double, none."""
        status = add_records(records, self.offsets, self.cells, self._spare, self.counts, self.margin)
        if status & TROUBLE:
            return False
        self.cells, self._spare = self._spare, self.cells
        self._is_whole = self._is_whole and not status
        return True

    def statistics(self) -> Statistics:
        """Return the sums as they are now."""
        (margin, low), (counts, counts_low) = self.margin.copy(), self.counts.copy()
        tables = Tables(margin, counts) if self._is_whole else Tables(margin, counts, low, counts_low)
        parts: dict[str, Part] = {"tables": tables}
        if "moments" in self._start.parts:
            parts["moments"] = Moments(self.cells.copy(), np.zeros(self.cells.shape[2], np.int64))
        return replace(self._start, parts=parts)


# Beside the states of a cell: some weight was not a whole number.
FRACTION = 4


@kernel
def add_records(rows: Any, offsets: Any, cells: Any, new: Any, counts: Any, margin: Any) -> int:
    """Write ``cells`` with some records into ``new``, and add these to the counts; TROUBLE: nothing was added."""
    n, d = np.uintp(rows.shape[0]), np.uintp(offsets.shape[0] - 1)
    classes, width = np.uintp(cells.shape[1]), np.uintp(cells.shape[2])
    first = np.uintp(HEAD) + d
    for plane in range(np.uintp(cells.shape[0])):
        for c in range(classes):
            for j in range(width):
                new[plane, c, j] = cells[plane, c, j]
    for i in range(n):
        w, own = rows[i, 0], np.uintp(rows[i, 1])
        for j in range(width):
            x = rows[i, first + j]
            if x == x:
                add_value(new, own, j, w, x)
    status = FINE
    for c in range(classes):
        for j in range(width):
            for high in (WEIGHT, FIRST, SECOND):
                new[high, c, j], new[high + 1, c, j] = add_exactly(new[high, c, j], new[high + 1, c, j])
            status |= settle(new, c, j, abs(new[SECOND, c, j]))
    if status & TROUBLE:
        return TROUBLE
    status = FINE
    for i in range(n):
        w, own = rows[i, 0], np.uintp(rows[i, 1])
        if w != np.floor(w):
            status = FRACTION
        margin[0, own], margin[1, own] = add(margin[0, own], margin[1, own], w, 0.0)
        for j in range(d):
            place = offsets[j] + np.uintp(rows[i, np.uintp(HEAD) + j])
            n_high, n_low = counts[0, place, own], counts[1, place, own]
            counts[0, place, own], counts[1, place, own] = add(n_high, n_low, w, 0.0)
    return status


@kernel
def add_value(cells: Any, c: Any, j: Any, w: float, x: float) -> None:
    """Add a value to a cell about its pivot; the low parts are plain sums until the cell is settled."""
    if cells[WEIGHT, c, j] == 0.0:
        cells[PIVOT, c, j] = x
    t, e = add_exactly(x, -cells[PIVOT, c, j])
    cells[WEIGHT, c, j], rest = add_exactly(cells[WEIGHT, c, j], w)
    cells[WEIGHT + 1, c, j] += rest
    product = w * t
    lost = fma(w, e, fma(w, t, -product))
    cells[FIRST, c, j], rest = add_exactly(cells[FIRST, c, j], product)
    cells[FIRST + 1, c, j] += rest + lost
    square = t * t
    lost = fma(2.0 * t, e, fma(t, t, -square))
    product = w * square
    lost = fma(w, lost, fma(w, square, -product))
    cells[SECOND, c, j], rest = add_exactly(cells[SECOND, c, j], product)
    cells[SECOND + 1, c, j] += rest + lost
