"""Statistics as a long table: a row for each cell that holds anything. What an engine's own aggregation gives back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import DataError
from bayeskit.schema import Schema
from bayeskit.statistics.term import Term
from bayeskit.typing import Floats

# Sums of fractional weights that were added in another order differ by less than this share.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class CellTable:
    """The cells of one term.

    Attributes
    ----------
    term : Term
    codes : int64 array of shape (m, number of cell variables)
        The class first, as in the term; missing is the code after the last state. A value of order 0 adds a column:
        the number of its cell on the dyadic grid.
    n : array of shape (m,)
        The weight of each cell. Cells without weight need not be listed; those listed twice are added (order 0 only).
    sums : mapping from name to array of shape (m, …)
        What the order asks for besides; names ending in ``_low`` are what the doubles have lost, zero where absent.

    Examples
    --------
    >>> table = CellTable(Term(("y", "a")), np.array([[0, 1], [1, 0], [0, 1]]), np.array([2.0, 1.0, 3.0]))
    >>> table.dense((2, 2))
    array([[0., 5.],
           [1., 0.]])
    """

    term: Term
    codes: NDArray[np.int64]
    n: Floats
    sums: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def of_array(cls, term: Term, counts: Floats, low: Floats | None = None) -> CellTable:
        """List the cells of an array whose axes are the variables of the term."""
        occupied = np.nonzero(counts if low is None else (counts != 0.0) | (low != 0.0))
        sums = {} if low is None else {"n_low": low[occupied]}
        return cls(term, np.stack(occupied, axis=1).astype(np.int64), counts[occupied], sums)

    def dense(self, shape: tuple[int, ...], name: str | None = None) -> Floats:
        """Return n, or a sum by name, as an array whose axes are the variables of the term."""
        values = self.n if name is None else self.sums.get(name)
        out = np.zeros(shape)
        if values is not None:
            np.add.at(out, tuple(self.codes.T), values)
        return out

    def plane(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Return a sum of each cell; zeros of a shape where it is not given."""
        found = self.sums.get(name)
        return np.zeros((len(self.n), *shape)) if found is None else np.asarray(found, np.float64)

    def checked(self, schema: Schema) -> CellTable:
        """Return the table as arrays, after checking that it fits the schema."""
        n = np.asarray(self.n, np.float64)
        codes = np.asarray(self.codes)
        gridded = len(self.term.values) if self.term.order == 0 else 0
        width = len(self.term.cells) + gridded
        if n.ndim != 1 or codes.shape != (len(n), width) or (codes.size and codes.dtype.kind not in "iu"):
            raise DataError(
                f"The cells of {shown(self.term)} have codes of shape {codes.shape} and dtype {codes.dtype} for "
                f"{len(n)} weights. Give one row of {width} whole numbers for each."
            )
        if not np.isfinite(n).all():
            raise DataError(
                f"A cell of {shown(self.term)} weighs {n[~np.isfinite(n)][0]}. Weights are finite."
            )
        for name, column, size in zip(self.term.cells, codes.T, shape_of(schema, self.term)):
            strange = column[(column < 0) | (column >= size)]
            if len(strange):
                raise DataError(
                    f"A cell of {shown(self.term)} has the code {strange[0]} of {name!r}, whose codes are 0 to "
                    f"{size - 1}. Count by the codes of the schema, missing last."
                )
        if self.term.values and len(np.unique(codes, axis=0)) < len(codes):
            raise DataError(f"A cell of {shown(self.term)} is listed twice. Add its sums up first.")
        return CellTable(self.term, codes.astype(np.int64).reshape(len(n), width), n, self.sums)


def shape_of(schema: Schema, term: Term) -> tuple[int, ...]:
    """Return how many codes each cell variable of a term has: the classes, then states and one for missing."""
    return schema.n_classes, *(schema[name].size + 1 for name in term.cells[1:])


def shown(term: Term) -> str:
    """Write a term as a formula does.

    >>> shown(Term(("y", "a")))
    'n(y, a)'
    """
    names = ", ".join(map(str, term.cells))
    return f"n({names})" if not term.values else f"Σ({', '.join(map(str, term.values))} | {names})"


def joined(tables: Iterable[CellTable], schema: Schema, terms: tuple[Term, ...]) -> dict[Term, CellTable]:
    """Return one checked table for each term; one that was not counted, or is not asked for, is refused."""
    found: dict[Term, list[CellTable]] = {term: [] for term in terms}
    for table in tables:
        if table.term not in found:
            raise DataError(f"The plan does not ask for {shown(table.term)}. Leave it out.")
        found[table.term].append(table)
    absent = [term for term, pieces in found.items() if not pieces]
    if absent:
        raise DataError(
            f"{shown(absent[0])} was not counted, and the plan asks for it. Give a table of its cells, empty where "
            "there are none."
        )
    whole = {term: _concatenated(pieces).checked(schema) for term, pieces in found.items()}
    _check_totals(whole, schema)
    return whole


def _concatenated(pieces: list[CellTable]) -> CellTable:
    if len(pieces) == 1:
        return pieces[0]
    names = dict.fromkeys(name for piece in pieces for name in piece.sums)
    some = {name: next(p.sums[name] for p in pieces if name in p.sums) for name in names}
    sums = {
        name: np.concatenate([piece.plane(name, np.shape(some[name])[1:]) for piece in pieces])
        for name in names
    }
    codes = np.concatenate([np.asarray(piece.codes) for piece in pieces])
    return CellTable(pieces[0].term, codes, np.concatenate([piece.n for piece in pieces]), sums)


def _check_totals(tables: Mapping[Term, CellTable], schema: Schema) -> None:
    """Refuse plain counts that are not all of the same rows, such as those of a table that changed meanwhile."""
    plain = [table for term, table in tables.items() if not term.values]
    totals = [np.bincount(table.codes[:, 0], table.n, schema.n_classes) for table in plain]
    for table, total in zip(plain, totals):
        if not np.allclose(total, totals[0], rtol=_ROUNDING, atol=_ROUNDING):
            c = int(np.abs(total - totals[0]).argmax())
            raise DataError(
                f"{shown(table.term)} adds up to {total[c]:g} rows of class {schema.target.states[c]!r}, and "
                f"{shown(plain[0].term)} to {totals[0][c]:g}. Count all terms over the same rows, missing cells among "
                "them."
            )


def of_planes(term: Term, planes: Mapping[str, Any]) -> CellTable:
    """List the cells of arrays that share their first axes, those of the term; ``weight`` is n."""
    weight = planes["weight"]
    filled = np.zeros(weight.shape, dtype=bool)
    for plane in planes.values():
        filled |= np.any(plane != 0.0, axis=tuple(range(weight.ndim, plane.ndim)))
    occupied = np.nonzero(filled)
    sums = {name: plane[occupied] for name, plane in planes.items() if name != "weight"}
    return CellTable(term, np.stack(occupied, axis=1).astype(np.int64), weight[occupied], sums)


def put_planes(table: CellTable, planes: Mapping[str, Any]) -> None:
    """Put the sums of each cell in its place: the inverse of :func:`of_planes`."""
    place = tuple(table.codes.T)
    for name, plane in planes.items():
        plane[place] = table.n if name == "weight" else table.plane(name, plane.shape[len(place) :])


def key_of(digits: Iterable[NDArray[np.int64]], sizes: Iterable[int]) -> NDArray[np.int64]:
    """Return the number of each cell, the last digit counting fastest."""
    key: Any = 0
    for digit, size in zip(digits, sizes):
        key = key * size + digit
    return np.asarray(key, np.int64)


def digits_of(keys: NDArray[np.int64], sizes: list[int]) -> Iterator[NDArray[np.int64]]:
    """Take numbers apart: the inverse of :func:`key_of`."""
    rest = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    for size, behind in zip(sizes, rest):
        yield keys // behind % size
