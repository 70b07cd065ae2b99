r"""The terms of a log-linear model: logarithms of count ratios of one, two or three attributes, given the class.

.. math:: F_i = \log p_i, \qquad G_{ij} = \log \frac{p_{ij}}{p_i\, p_j}, \qquad
          H_{ijk} = \log \frac{p_{ijk}\; p_i\, p_j\, p_k}{p_{ij}\, p_{ik}\, p_{jk}}

Each is smoothed by imaginary rows that follow the simpler model: a uniform one behind F, independence behind G, and no
more than the pairs behind H. Numeric attributes are cut in several ways (*views*); a term is the mean over its views,
each of which has a table of counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.count_interactions import Axes
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.interactions import Interactions
from bayeskit.typing import Floats

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Places = NDArray[np.int32]

# Numbers of a block of terms that is made at a time, and those that stay in the second-level cache.
_LARGEST_BLOCK, _CACHED, _COMPUTED = 2**22, 2**16, 2**13


@kernel
def take_logs(x: Any) -> None:
    """Replace numbers by their logarithms. NumPy's own may differ in the last bit, and from machine to machine."""
    for i in range(x.shape[0]):
        x[i] = log(x[i])


@kernel
def add_rows(places: Any, n: Any, out: Any) -> None:
    """Add each row of ``n`` to the row of ``out`` at its place, one after the other."""
    for i in range(n.shape[0]):
        for c in range(n.shape[1]):
            out[places[i], c] += n[i, c]


class CellPlaces(NamedTuple):
    """The cells of tables with equally many axes, and where the counts behind them lie.

    Attributes
    ----------
    tables : slice
        They lie one after the other, and so do their cells.
    table : array of shape (m,)
        Of each cell.
    is_known : mask of shape (m,)
        The cells in use.
    margins : array of shape (0, 2 or 6, m)
        Where n_i and n_j lie; of three axes n_i, n_j, n_k, n_ij, n_ik, n_jk.
    """

    tables: slice
    table: Places
    is_known: NDArray[np.bool_]
    margins: Places

    @classmethod
    def of(cls, tables: slice, layout: Interactions, used: Ints, begins: Ints) -> CellPlaces:
        """Locate all cells of some tables; ``begins`` is where the margins of each table begin."""
        shapes, known = layout.shapes[tables], np.append(used, 1)[layout.tables[tables]]
        n_axes, sizes = int((layout.tables[tables.start] >= 0).sum()), shapes.prod(axis=1)
        table = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        rest = (
            np.arange(int(sizes.sum()), dtype=np.int32) - (np.cumsum(sizes) - sizes).astype(np.int32)[table]
        )
        (wa, wb, we), (ua, ub, ue) = (some.astype(np.int32).T for some in (shapes, known))
        m = begins[tables].astype(np.int32)[table]
        if n_axes == 1:
            return cls(tables, table, rest < ua[table], np.empty((0, len(table)), np.int32))
        above, s = np.divmod(rest, we[table]) if n_axes == 3 else (rest, np.zeros_like(rest))
        v, u = np.divmod(above, wb[table])
        is_known = (v < ua[table]) & (u < ub[table]) & (s < ue[table])
        i, j = m + v, m + wa[table] + u
        if n_axes == 2:
            return cls(tables, table, is_known, np.stack([i, j]))
        ij = m + (wa + wb + we)[table] + above
        ik = m + (wa + wb + we + wa * wb)[table] + v * we[table] + s
        jk = m + (wa + wb + we + wa * wb + wa * we)[table] + u * we[table] + s
        return cls(tables, table, is_known, np.stack([i, j, m + (wa + wb)[table] + s, ij, ik, jk]))


def locate(layout: Interactions, used: Ints) -> tuple[Ints, list[CellPlaces]]:
    """Return where the margins of each table begin, and the cells of each run of tables with equally many axes."""
    a, b, e = layout.shapes.T
    n_axes = (layout.tables >= 0).sum(axis=1)
    sizes = np.select([n_axes == 1, n_axes == 2], [0, a + b], a + b + e + a * b + a * e + b * e)
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    bounds = [0, *(1 + np.flatnonzero(np.diff(n_axes))).tolist(), len(n_axes)]
    runs = (slice(*ends) for ends in pairwise(bounds) if ends[0] < ends[1])
    return begins, [CellPlaces.of(run, layout, used, begins) for run in runs]


@dataclass(frozen=True, eq=False)
class InteractionTerms:
    """The terms of a log-linear model, each the mean over some tables, as functions of a row and the class.

    Attributes
    ----------
    schema : Schema
    counts : Interactions
        Of classes whose weights are already applied.
    term_starts : array of shape (terms + 1,)
        The first table of each term: its tables lie one after the other.
    strengths : array of shape (3,)
        The imaginary rows c₁, c₂, c₃ behind singles, pairs and triples.
    used : array of shape (axes,)
        The codes of each axis that a term knows, see :func:`used_codes`.
    layout : what :func:`locate` returns
    """

    schema: Schema
    counts: Interactions
    term_starts: Ints
    strengths: Floats
    used: Ints
    layout: tuple[Ints, list[CellPlaces]]

    @classmethod
    def of_counts(
        cls, schema: Schema, counts: Interactions, term_starts: Ints, strengths: Floats, used: Ints
    ) -> InteractionTerms:
        return cls(schema, counts, term_starts, strengths, used, locate(counts, used))

    @property
    def n_terms(self) -> int:
        return len(self.term_starts) - 1

    @cached_property
    def axes(self) -> Axes:
        return Axes.of(self.counts, self.schema)

    def some(self, first: int, stop: int) -> InteractionTerms:
        """Return the terms from one on to another alone."""
        (begin, end), counts = self.term_starts[[first, stop]], self.counts
        cells = counts.counts[counts.starts[begin] : counts.starts[end]]
        fewer = replace(counts, tables=counts.tables[begin:end], counts=cells)
        starts = self.term_starts[first : stop + 1] - begin
        return InteractionTerms.of_counts(self.schema, fewer, starts, self.strengths, self.used)

    def without(self, counted: Floats) -> InteractionTerms:
        """Return the terms with some rows taken out of the counts: ``counted`` of the shape of the counts."""
        left = np.maximum(self.counts.counts - counted, 0.0)
        return replace(self, counts=replace(self.counts, counts=left))

    def left_out(self, chunk: Chunk, own: Floats, unseen: NDArray[np.bool_] | None = None) -> LeftOutTerms:
        """Return the terms of rows that were counted, each row without the weight ``own``.

        ``unseen`` (n, categorical attributes) marks states that are unknown without the row; their terms are 0.
        """
        assert chunk.target is not None
        target = chunk.target.astype(np.int64)
        usual = np.zeros(self.schema.n_classes)
        usual[target] = own
        silent = self.silent(unseen) if unseen is not None and unseen.any() else None
        return LeftOutTerms(self, chunk, target, own, LogTable.of(self), LogTable.of(self, usual), silent)

    def silent(self, unseen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which terms of rows have a state that is unseen: shape (terms, n)."""
        out = np.zeros((self.n_terms, len(unseen)), dtype=bool)
        for axis in self.counts.tables[self.term_starts[:-1]].T:
            of_state = np.flatnonzero((axis >= 0) & ~self.axes.is_number[axis])
            out[of_state] |= unseen.T[self.axes.places[axis[of_state]]]
        return out

    def of(self, chunk: Chunk) -> Floats:
        """Return every term of some rows: shape (terms, n, K)."""
        return self.of_codes(self.axes.codes(chunk, slice(0, chunk.n_rows)))

    def of_codes(self, codes: Codes) -> Floats:
        """Return every term of rows by their codes on the axes: shape (terms, n, K)."""
        out, logs = np.zeros((self.n_terms, codes.shape[1], self.schema.n_classes)), LogTable.of(self)
        for some, cells in self.cells_of(codes):
            logs.fill(cells)
            out[some] = logs.means(cells)
        return out

    def steps(self, n_rows: int) -> Iterator[slice]:
        """Cut rows into runs whose terms take little memory."""
        step = max(16, _LARGEST_BLOCK // max(self.n_terms * self.schema.n_classes, 1))
        for begin in range(0, n_rows, step):
            yield slice(begin, min(begin + step, n_rows))

    def cells_of(self, codes: Codes) -> Iterator[tuple[NDArray[np.intp], Ints]]:
        """Yield terms that have equally many tables, and the cells of rows: shape (terms, tables, n)."""
        n_tables, n = np.diff(self.term_starts), codes.shape[1]
        absent = np.vstack([codes, np.zeros((1, n), codes.dtype)])  # the axis −1 of smaller tables
        for m in np.unique(n_tables).tolist():
            alike, step = np.flatnonzero(n_tables == m), max(1, _CACHED // max(m * n, 1))
            for some in (alike[begin : begin + step] for begin in range(0, len(alike), step)):
                tables = (self.term_starts[some][:, None] + np.arange(m)).reshape(-1)
                a, b, e = self.counts.tables[tables].T
                _, wb, we = self.counts.shapes[tables].T
                cell = absent[a].astype(np.int64)
                if (b >= 0).any():
                    cell = cell * wb[:, None] + absent[b]
                if (e >= 0).any():
                    cell = cell * we[:, None] + absent[e]
                cell += self.counts.starts[tables][:, None]
                yield some, cell.reshape(len(some), m, n)

    def tables_of_logs(self, which: Ints) -> Floats:
        """Return the logarithms of all cells of some tables, one after the other: shape (cells, K); 0 if unused."""
        starts = self.counts.starts
        pieces = [np.arange(starts[t], starts[t + 1]) for t in which]
        cells = np.concatenate(pieces) if pieces else np.zeros(0, np.int64)
        out = np.empty((len(cells), self.schema.n_classes))
        for begin in range(0, len(cells), _CACHED):
            some = slice(begin, begin + _CACHED)
            out[some] = self.logs_at(cells[some])
        return out

    def logs_at(self, cells: Ints, own: Floats | float = 0.0, classes: Ints | None = None) -> Floats:
        """Return the terms of cells, with ``own`` taken out of every count that contains the cell; 0 if unused.

        Parameters
        ----------
        cells : array of shape (m,)
        own : array of shape (K,), or (m,) with ``classes``
        classes : array of shape (m,), optional
            One class for each cell. By default all: the result then has shape (m, K).
        """
        out = np.zeros(len(cells) if classes is not None else (len(cells), self.schema.n_classes))
        starts = self.counts.starts
        for places in self.layout[1]:
            first, end = starts[places.tables.start], starts[places.tables.stop]
            rows = np.flatnonzero((cells >= first) & (cells < end))
            rows = rows[places.is_known[cells[rows] - first]]
            if len(rows):
                some = cells[rows] - first
                ratio = self._ratios(places, some, *_of_rows(rows, own, classes))
                take_logs(ratio.reshape(-1))
                out[rows] = ratio
        return out

    def _ratios(self, places: CellPlaces, cells: Ints, own: Floats | float, classes: Ints | None) -> Floats:
        """Return p_i, p_ij / (p_i p_j) or p_ijk / q of cells with one, two or three axes."""
        totals, margins = self._margins
        tables = places.tables
        counts = self.counts.counts[self.counts.starts[tables.start] :]

        c1, c2, c3 = self.strengths.tolist()
        table, at = places.table[cells], places.margins[:, cells]
        n_axes = {0: 1, 2: 2}.get(len(at), 3)
        each = (c1 / np.append(self.used, 1)[self.counts.tables[tables]]).T
        if classes is None:
            # All of one shape: to spread a few numbers over an array takes NumPy longer than the arithmetic.
            each = np.repeat(each[:, :, None], totals.shape[1], axis=2)
            own = np.tile(own, (len(cells), 1)) if np.ndim(own) else own
        uniform = [np.take(axis, table, axis=0) for axis in each[:n_axes]]

        def left(n: Floats, place: NDArray[Any]) -> Floats:
            of_place = np.take(n, place, axis=0) if classes is None else n[place, classes]
            of_place -= own
            return np.maximum(of_place, 0.0, out=of_place)

        n, total = left(counts, cells), left(totals[tables], table)
        if n_axes == 1:
            return np.asarray((n + uniform[0]) / (total + c1))
        if n_axes == 2:
            of_both = (left(margins, at[0]) + uniform[0]) * (left(margins, at[1]) + uniform[1])
            base = of_both / ((total + c1) * (total + c1))
            return np.asarray((n + c2 * base) / ((total + c2) * base))
        pa, pb, pe = ((left(margins, at[j]) + uniform[j]) / (total + c1) for j in range(3))
        ab, ae, be = (left(margins, at[j]) for j in range(3, 6))
        pairs = (ab + c2 * pa * pb) * (ae + c2 * pa * pe) * (be + c2 * pb * pe)
        base = pairs / ((total + c2) * (total + c2) * (total + c2) * pa * pb * pe)
        return np.asarray((n + c3 * base) / ((total + c3) * base))

    @cached_property
    def _margins(self) -> tuple[Floats, Floats]:
        """N of each table, and n_i and n_ij, one after the other: sums over the cells in use."""
        counts, k = self.counts, self.schema.n_classes
        begins, runs = self.layout
        totals, margins = np.zeros((len(counts.tables), k)), np.zeros((int(begins[-1]), k))
        for places in runs:
            first, end = counts.starts[places.tables.start], counts.starts[places.tables.stop]
            n = counts.counts[first:end]
            if not places.is_known.all():
                n = np.where(places.is_known[:, None], n, 0.0)
            add_rows(places.table, n, totals[places.tables])
            for place in places.margins:
                add_rows(place, n, margins)
        return totals, margins


def _of_rows(
    rows: NDArray[np.intp], own: Floats | float, classes: Ints | None
) -> tuple[Floats | float, Ints | None]:
    return (own, None) if classes is None else (np.asarray(own)[rows], classes[rows])


def used_codes(counts: Interactions, missing: str) -> Ints:
    """Return how many codes of each axis are known: its states, and missing where that is one of them and was seen."""
    used = counts.widths - 1
    if missing == "state":
        for t, table in enumerate(counts.tables):
            if table[1] < 0 and counts.table(t)[-1].any():
                same = counts.columns == counts.columns[table[0]]
                used[same] = counts.widths[same]
    return np.maximum(used, 1)


class LogTable(NamedTuple):
    """The term of every cell in every class, computed where it is first needed.

    Attributes
    ----------
    values : array of shape (cells, K)
    is_done : mask of shape (cells,)
    own : array of shape (K,), or 0
        What is taken out of the counts of each class.
    """

    terms: InteractionTerms
    values: Floats
    is_done: NDArray[np.bool_]
    own: Floats | float

    @classmethod
    def of(cls, terms: InteractionTerms, own: Floats | float = 0.0) -> LogTable:
        shape = terms.counts.counts.shape
        return cls(terms, np.zeros(shape), np.zeros(shape[0], dtype=bool), own)

    def fill(self, cells: Ints) -> Ints:
        """Compute the terms of cells that lie near each other, where that is still to be done; return these cells."""
        low, high = int(cells.min(initial=len(self.values))), int(cells.max(initial=-1)) + 1
        needed = np.zeros(max(high - low, 0), dtype=bool)
        needed[cells.reshape(-1) - low] = True
        needed &= ~self.is_done[low:high]
        new = low + np.flatnonzero(needed)
        for begin in range(0, len(new), _COMPUTED):
            some = new[begin : begin + _COMPUTED]
            self.values[some] = self.terms.logs_at(some, self.own)
        self.is_done[new] = True
        return new

    def means(self, cells: Ints) -> Floats:
        """Return the terms of rows with these cells, of shape (terms, tables, n): shape (terms, n, K)."""
        out = np.zeros((cells.shape[0], cells.shape[2], self.values.shape[1]))
        of_table, share = np.empty_like(out), 1.0 / cells.shape[1]
        for t in range(cells.shape[1]):
            # Cells are in range; without "clip" NumPy would make one more copy.
            np.take(self.values, cells[:, t], axis=0, out=of_table, mode="clip")
            of_table *= share
            out += of_table
        return out


class LeftOutTerms(NamedTuple):
    """The terms of rows, each without the row itself: ``own`` is taken out of the counts of its class.

    ``gaps`` is by how much terms change if the weight that is usual for rows of the class is taken out. The terms of
    rows with another weight are computed singly. ``silent`` (terms, n) marks terms that are 0.
    """

    terms: InteractionTerms
    chunk: Chunk
    target: Ints
    own: Floats
    logs: LogTable
    gaps: LogTable
    silent: NDArray[np.bool_] | None = None

    def of(self, rows: slice) -> Floats:
        """Return every term of these rows: shape (terms, n, K)."""
        terms, target, own = self.terms, self.target[rows], self.own[rows]
        k = terms.schema.n_classes
        out = np.zeros((terms.n_terms, len(target), k))
        counted = np.flatnonzero(own > 0.0)
        odd = np.flatnonzero(own[counted] != np.asarray(self.gaps.own)[target[counted]])
        for some, cells in terms.cells_of(terms.axes.codes(self.chunk, rows)):
            self.logs.fill(cells)
            new = self.gaps.fill(cells)
            self.gaps.values[new] -= self.logs.values[new]
            of_run = self.logs.means(cells)
            mine = cells if len(counted) == len(target) else cells[:, :, counted]
            of_run[:, counted, target[counted]] = self._of_own_class(mine, target[counted], own[counted], odd)
            out[some] = of_run
        if self.silent is not None:
            out[self.silent[:, rows]] = 0.0
        return out

    def _of_own_class(self, cells: Ints, target: Ints, own: Floats, odd: NDArray[np.intp]) -> Floats:
        """Return the terms of rows in their own classes, without the rows themselves: shape (terms, n)."""
        k, share = self.terms.schema.n_classes, 1.0 / cells.shape[1]
        out = np.zeros((cells.shape[0], cells.shape[2]))
        logs, gaps = self.logs.values.reshape(-1), self.gaps.values.reshape(-1)
        for t in range(cells.shape[1]):
            places = cells[:, t] * k + target
            out += share * np.take(logs, places)
            gap = np.take(gaps, places)
            if len(odd):
                gap[:, odd] = self._singly(cells[:, t, odd], target[odd], own[odd])
            out += share * gap
        return out

    def _singly(self, cells: Ints, target: Ints, own: Floats) -> Floats:
        """Return by how much the terms of cells change in the class of each row without the row."""
        shape = cells.shape
        classes, taken = np.broadcast_to(target, shape), np.broadcast_to(own, shape)
        left = self.terms.logs_at(cells.reshape(-1), taken.reshape(-1), classes.reshape(-1)).reshape(shape)
        return np.asarray(left - self.logs.values[cells, target])
