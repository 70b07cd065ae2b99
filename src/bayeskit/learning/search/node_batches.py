"""The columns of a network read batch by batch: a byte for each cell of few states is all that stays of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.table import Table
from bayeskit.errors import ColumnError
from bayeskit.learning.search.node_columns import (
    MOST_INTEGERS,
    NodeColumns,
    cut_numbers,
    finite,
    no_numbers_to_cut,
    sealed,
    too_many_integers,
)
from bayeskit.learning.search.node_settings import cuts_by_name, is_whole, states_by_name
from bayeskit.schema import Label, Name, Variable

Codes = NDArray[Any]

_WORDS = {"states": "states", "whole": "whole numbers", "numbers": "fractions or missing cells"}


class NodeBatches:
    """Rows as a search over networks reads them, while they come in.

    States that a batch is the first to have are numbered as they come, and sorted when all have been seen, so the
    columns are those of all rows read at once. ``states`` and ``discretize`` are as in
    :func:`~bayeskit.learning.search.node_columns.read_nodes`.

    Examples
    --------
    >>> from bayeskit.data.table import open_table
    >>> rows = NodeBatches()
    >>> rows.add(open_table({"sky": ["red", None]}))
    >>> rows.add(open_table({"sky": ["blue", "red"]}))
    >>> columns = rows.columns()
    >>> columns.variables[0].states, columns.codes[0]
    (('blue', 'red'), array([ 1, -1,  0,  1], dtype=int8))
    """

    def __init__(self, states: Mapping[Name, Any] | None = None, discretize: Any = None) -> None:
        self._states, self._discretize = states, discretize
        self._columns: dict[Name, _Column] = {}
        self.n_rows = 0

    @property
    def n_bytes(self) -> int:
        """What is held so far."""
        return sum(piece.nbytes for column in self._columns.values() for piece in column.pieces)

    def add(self, table: Table) -> None:
        """Read the next rows; the columns are those of the first batch, in any order."""
        if not self._columns:
            self._begin(table)
        if set(table.names) != set(self._columns):
            strange = next(iter({*table.names} ^ {*self._columns}))
            where = "not in the first" if strange in table.names else "in the first only"
            raise ColumnError(f"The batches have different columns: {strange!r} is {where}.")
        for j, name in enumerate(table.names):
            self._columns[name].add(table, j)
        self.n_rows += table.n_rows

    def columns(self) -> NodeColumns:
        """Return all rows; what was held is given away."""
        found = [column.read() for column in self._columns.values()]
        variables, codes, numbers = zip(*found)
        return NodeColumns(variables, codes, numbers, self.n_rows)

    def whole_with_gaps(self) -> Iterator[Name]:
        """Tell which columns of fractions hold whole numbers and gaps only, a few values in all."""
        for name, column in self._columns.items():
            if column.kind == "numbers" and column.looks_like_states():
                yield name

    def _begin(self, table: Table) -> None:
        declared = states_by_name(self._states, table)
        cuts = cuts_by_name(self._discretize, table)
        # A number is for all columns of fractions, and which they are the first batch alone does not tell.
        for_all = None if isinstance(self._discretize, Mapping) else self._discretize
        for name in table.names:
            measured = name in declared and declared[name] is None
            cut = None if measured or for_all is not None else cuts.get(name)
            states = declared.get(name) if cut is None else None
            self._columns[name] = _Column(name, states, measured, cut, None if measured else for_all)


class _Column:
    """One column while it grows: codes in the order in which states were met, or numbers."""

    def __init__(
        self, name: Name, states: tuple[Label, ...] | None, measured: bool, cut: Any, cut_if_numbers: Any
    ) -> None:
        self.name, self._measured, self._cut, self._cut_if_numbers = name, measured, cut, cut_if_numbers
        self.kind: str | None = "numbers" if measured else None
        self.pieces: list[Codes] = []
        self._declared = states is not None
        self._variable = Variable(name, "categorical")
        if states is not None:
            self._variable = Variable(name, "categorical", states, n_declared=len(states), closed=True)
        self._met: dict[Label, int] = {}

    def add(self, table: Table, j: int) -> None:
        kind = self._kind(table, j)
        if kind is None:
            # Nothing is there, so nothing tells of which kind it is.
            self.pieces.append(np.full(table.n_rows, -1, np.int8))
            return
        if self.kind not in (None, kind):
            raise ColumnError(
                f"{self.name!r} holds {_WORDS[str(self.kind)]} in one batch and {_WORDS[kind]} in another. Declare "
                f"states={{{self.name!r}: [...]}}, or states={{{self.name!r}: float}} for a continuous column."
            )
        self.kind = kind
        if kind == "numbers":
            self.pieces.append(np.ascontiguousarray(table.numbers(j), np.float64))
        else:
            self.pieces.append(self._codes(table, j))
            if kind == "whole" and len(self._met) > MOST_INTEGERS:
                raise too_many_integers(self.name)

    def _kind(self, table: Table, j: int) -> str | None:
        if self._declared:
            return "states"
        if self._measured:
            return "numbers"
        if table.kind(j) == "categorical":
            if self._cut is not None:
                raise no_numbers_to_cut(self.name)
            return "states"
        if bool(np.isnan(table.numbers(j)).all()):
            return None
        if self._cut is not None:
            return "numbers"
        return "whole" if is_whole(table, j) else "numbers"

    def _codes(self, table: Table, j: int) -> Codes:
        coded = table.factorize(j)
        there = coded.codes[coded.codes >= 0]
        present = np.flatnonzero(np.bincount(there)).tolist()
        labels = [coded.labels[code] for code in present]
        declared = coded.labels if coded.declared and not self._variable.closed else ()
        self._variable = self._variable.grown(labels, declared)
        # The last entry is where −1 points.
        moved = np.full(len(coded.labels) + 1, -1, np.int64)
        for code, label in zip(present, labels):
            moved[code] = self._met.setdefault(label, len(self._met))
        codes: Codes = moved[coded.codes].astype(_narrow(len(self._met)))
        return codes

    def looks_like_states(self) -> bool:
        """Tell whether numbers that nobody spoke of are whole, few, and have gaps."""
        if self._measured or self._cut is not None or self._cut_if_numbers is not None:
            return False
        seen: set[float] = set()
        gaps = False
        for piece in self.pieces:
            there = piece[~np.isnan(piece)] if piece.dtype == np.float64 else piece[:0]
            gaps |= len(there) < len(piece)
            if (there != np.rint(there)).any():
                return False
            seen.update(np.unique(there).tolist())
            if len(seen) > MOST_INTEGERS:
                return False
        return gaps

    def read(self) -> tuple[Variable, Codes | None, Any]:
        """Return the variable with the codes of its states, or the numbers."""
        if self.kind in ("numbers", None) and not self._declared:
            pieces = [
                piece if piece.dtype == np.float64 else np.full(len(piece), np.nan) for piece in self.pieces
            ]
            numbers = np.concatenate(pieces)
            self.pieces = []
            cut = self._cut_if_numbers if self._cut is None else self._cut
            if cut is not None:
                variable, codes, _ = cut_numbers(numbers, self.name, cut)
                return variable, codes.astype(_narrow(variable.size)), None
            return Variable(self.name, "numeric"), None, finite(numbers, self.name)
        # States declared by a category stay; others are those that were met.
        variable = sealed(self._variable)
        moved = np.array(
            [*(variable.codes[label] for label in self._met), variable.size], _narrow(variable.size)
        )
        codes = np.empty(sum(map(len, self.pieces)), moved.dtype)
        start = 0
        while self.pieces:
            piece = self.pieces.pop(0)
            codes[start : start + len(piece)] = moved[piece]
            start += len(piece)
        return variable, codes, None


def _narrow(size: int) -> Any:
    """Return the smallest type that holds −1 … size: also the code after the last state, which counts as missing."""
    return np.int8 if size <= 127 else np.int16 if size <= 32_767 else np.int32
