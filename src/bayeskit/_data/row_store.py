"""Stores all rows of a source compactly, with one byte per categorical cell where possible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.class_labels import batch_weights
from bayeskit._data.columns import refuse_beyond
from bayeskit._data.encode import code_column, match_columns
from bayeskit._data.encoded import CodeColumn, EncodedTable, code_moves
from bayeskit._data.frames import names_files
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._data.table import Table
from bayeskit._schema import Name, Schema, Variable
from bayeskit.errors import ColumnError, DataError, TooLarge
from bayeskit.typing import Floats

_WORDS = {"states": "states", "whole": "whole numbers", "numbers": "fractions or missing cells"}


def gather(
    source: Source, reading: Reading, target: Variable, *, max_memory: float = math.inf
) -> EncodedTable:
    """Read all rows of a source in one pass.

    New states in later batches are sorted among the others when all are known, so the codes are the same as
    if all rows were read at once. A column whose kind is unknown, because all its cells so far are missing,
    gets its kind from the next batch.

    Parameters
    ----------
    source : Source
        Its columns are those of the first batch, in any order.
    reading : Reading
    target : Variable
        For the schema; labels are not read.
    max_memory : the limit in bytes for codes and numbers

    Returns
    -------
    Encoded
        Its columns of codes are in the codes of the schema.

    Examples
    --------
    >>> from bayeskit import Batches
    >>> halves = Source(Batches(lambda: [{"sky": ["red", None]}, {"sky": ["blue", "red"]}]), has_class=False)
    >>> rows = gather(halves, Reading(), Variable("y", "categorical"))
    >>> rows.schema["sky"].states, rows.codes[0][:]
    (('blue', 'red'), array([1, 2, 0, 1], dtype=uint8))
    """
    _refuse_file(source, max_memory)
    first: Schema | None = None
    columns: list[_Column] = []
    weights: list[Floats | None] = []
    sizes: list[int] = []
    for rows in source:
        table = rows.table
        if table.block is not None:
            raise ColumnError(
                "A sparse matrix is one block of counts, without separate columns. Pass a dense table."
            )
        if first is None:
            first = found = reading.schema_of(table, target)
            columns = [_Column(name, reading) for name in table.names]
        else:
            names = tuple(column.name for column in columns)
            table = match_columns(table, first, names, "the first batch")
            found = reading.schema_of(table, target)
        for j, column in enumerate(columns):
            column.add(table, j, found.attributes[j])
        sizes.append(table.n_rows)
        weights.append(batch_weights(rows.weights, table.n_rows))
        held = sum(column.n_bytes for column in columns)
        if held > max_memory:
            raise _too_large(held, max_memory, table.names, sum(sizes))
    if not sizes:
        raise DataError("The source gave no batch, so there are no rows to learn from.")
    return _joined(columns, target, weights, sizes)


def _joined(
    columns: list[_Column], target: Variable, weights: list[Floats | None], sizes: list[int]
) -> EncodedTable:
    variables, codes, values = [], list[Any](), list[Any]()
    for column in columns:
        variable, cells = column.read()
        variables.append(variable)
        (codes if isinstance(cells, CodeColumn) else values).append(cells)
    together = None
    if any(some is not None for some in weights):
        together = np.concatenate(
            [np.ones(n) if w is None else w for w, n in zip(weights, sizes, strict=True)]
        )
    return EncodedTable(Schema(tuple(variables), target), sum(sizes), codes, values, weights=together)


class _Column:
    """One column while its batches are read."""

    def __init__(self, name: Name, reading: Reading) -> None:
        self.name, self._reading = name, reading
        self._kind: str | None = None
        self._variable = Variable(name, "numeric")
        self._turned = False  # whether integers were states at first
        # Codes with their variable, numbers, or only the number of missing cells.
        self._parts: list[tuple[Variable, NDArray[Any] | int]] = []

    @property
    def n_bytes(self) -> int:
        return sum(part.nbytes for _, part in self._parts if not isinstance(part, int))

    def add(self, table: Table, j: int, wanted: Variable) -> None:
        """Read one more batch, in which the column alone would be ``wanted``."""
        kind = self._kind_in(table, j, wanted)
        if kind is None:
            self._parts.append((self._variable, table.n_rows))
            return
        if self._turned and kind == "whole":
            kind = "numbers"
        if self._kind not in (None, kind):
            raise ColumnError(
                "{name!r} contains {words} in one batch and {words2} in another. Declare states={{{name!r}: "
                "[...]}}, or states={{{name!r}: float}} for a continuous column.",
                name=self.name,
                words=_WORDS[str(self._kind)],
                words2=_WORDS[kind],
            )
        if kind == "numbers":
            self._parts.append((self._variable, np.ascontiguousarray(table.numbers(j), np.float64)))
        else:
            self._add_codes(table, j, wanted if self._kind is None else self._variable)
        self._kind = kind
        most = self._reading.whole
        if kind == "whole" and most is not None and self._variable.size > most:
            if self._reading.numbers_beyond:
                self._turn()
                return
            raise ColumnError(
                "{name!r} holds whole numbers with more than {most} values. Pass "
                "discretize={{{name!r}: 5}}, make it float (a continuous node), or make it text or a category (a "
                "state for each value).",
                name=self.name,
                most=most,
            )

    def _turn(self) -> None:
        """Make numbers of the integers that were states so far."""
        self._parts = [
            (variable, part if isinstance(part, int) else np.array([*variable.states, np.nan])[part])
            for variable, part in self._parts
        ]
        self._variable, self._kind, self._turned = Variable(self.name, "numeric"), "numbers", True

    def _kind_in(self, table: Table, j: int, wanted: Variable) -> str | None:
        if self._reading.has_settings(self.name):
            return "numbers" if wanted.kind == "numeric" else "states"
        if table.kind(j) == "categorical":
            return "states"
        numbers = table.numbers(j)
        if numbers.dtype.kind == "f" and np.isnan(numbers).all():
            return None
        return "numbers" if wanted.kind == "numeric" else "whole"

    def _add_codes(self, table: Table, j: int, before: Variable) -> None:
        variable, column = code_column(table, j, before, "grow", as_written=self._reading.as_written)
        codes = column[:]
        if not variable.closed and variable is not before:
            # Consecutive integers include every number between them; states of earlier batches stay.
            alive = np.bincount(codes, minlength=variable.size + 1)[:-1] > 0
            alive |= np.array([state in before.codes for state in variable.states], np.bool_)
            kept = variable.without_unused(alive)
            codes = codes if kept is variable else code_moves(variable, kept)[codes]
            variable = kept
        self._variable = variable
        self._parts.append((variable, codes))

    def read(self) -> tuple[Variable, CodeColumn | Floats]:
        """Return the variable with its codes or numbers; the stored pieces are released."""
        if self._kind in ("numbers", None):
            parts = [np.full(part, np.nan) if isinstance(part, int) else part for _, part in self._parts]
            numbers = parts[0] if len(parts) == 1 else np.concatenate(parts)
            self._parts = []
            refuse_beyond(numbers[:, None], [self.name], self._reading.largest)
            return self._variable, numbers
        variable = self._variable
        table = code_moves(variable, variable)
        if len(self._parts) == 1:
            return variable, CodeColumn(self._parts.pop()[1], table)  # type: ignore[arg-type]
        lengths = [part if isinstance(part, int) else len(part) for _, part in self._parts]
        codes = np.empty(sum(lengths), table.dtype)
        start = 0
        for length in lengths:
            before, part = self._parts.pop(0)
            missing = isinstance(part, int)
            codes[start : start + length] = variable.size if missing else code_moves(before, variable)[part]
            start += length
        return variable, CodeColumn(codes, table)


def _refuse_file(source: Source, max_memory: float) -> None:
    """Refuse a file whose codes and numbers would not fit, before it is read."""
    if not names_files(source.data) or max_memory == math.inf:
        return
    file = source.file
    names = tuple(name for name in file.names if name != source.weights)
    a_row = sum(8 if file.dtypes[name] == "float64" else 1 for name in names)
    if a_row * file.rows > max_memory:
        raise _too_large(a_row * file.rows, max_memory, names, file.rows)


def _too_large(n_bytes: int, max_memory: float, names: tuple[Name, ...], n_rows: int) -> TooLarge:
    return TooLarge(
        n_bytes,
        max_memory,
        names,
        n_rows * len(names),
        way_out="Raise max_memory=, leave columns out, or take a part of the rows.",
    )
