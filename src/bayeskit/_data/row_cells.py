"""One row as a mapping: its codes and numbers by a schema, without a table."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, isfinite, nan
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.encode import Policy
from bayeskit._data.encoded import Chunk
from bayeskit._schema import Name, Schema, Variable

Row = Mapping[Any, Any]
# The codes of the categorical attributes and the numbers of the others, each in the order of the schema.
Cells = tuple[Sequence[int], Sequence[float]]

# Whole numbers up to this one are doubles.
_LARGEST_WHOLE = 2**53


class RowCoder:
    """Turns mappings into codes and numbers, one row at a time.

    A cell is read here only if it is certain what a table would make of it. Any other row is None: the code that reads
    tables reads it, or says what is wrong with it.

    Parameters
    ----------
    schema : Schema
        Without texts.
    names : the columns, in the order of the schema
    policy : "grow" for rows to learn, else what to do with an unknown state
    """

    def __init__(self, schema: Schema, names: tuple[Name, ...], policy: Policy) -> None:
        self.names, self._width = names, len(names)
        self._learns = policy == "grow"
        self._is_block = schema.block is not None
        self._places = {name: place for place, name in enumerate(names)} if self._is_block else {}
        readers = [] if self._is_block else [_reader(variable, policy) for variable in schema.attributes]
        kinds = [variable.kind for variable in schema.attributes]
        pairs = list(zip(names, readers, strict=False))  # a block has no readers
        self._codes = [pair for pair, kind in zip(pairs, kinds, strict=False) if kind == "categorical"]
        self._numbers = [name for (name, _), kind in zip(pairs, kinds, strict=False) if kind == "numeric"]
        # Rows that are complete and all of numbers, as most are where speed matters, are read by one call.
        self._in_order = itemgetter(*names) if len(self._numbers) == self._width > 1 else None
        self._code_dtype = schema.code_dtype

    def cells(self, row: Row) -> Cells | None:
        """Return the codes and numbers of a row of columns."""
        if self._in_order is not None and len(row) == self._width:
            try:
                numbers = self._in_order(row)
            except KeyError:
                pass
            else:
                if [*map(type, numbers)].count(float) == self._width and isfinite(sum(numbers)):
                    return (), numbers
        codes, values = [], []
        for name, read in self._codes:
            code = read(row.get(name))
            if code is None:
                return None
            codes.append(code)
        for name in self._numbers:
            number = _number(row.get(name))
            if number is None:
                return None
            values.append(number)
        if self._learns and not row.keys() <= {*self.names}:
            return None
        return codes, values

    def chunk(self, row: Row, block_above: float | None) -> Chunk | None:
        """Return a row as a chunk to be scored."""
        if self._is_block:
            return self._block(row, block_above)
        cells = self.cells(row)
        if cells is None:
            return None
        codes, values = cells
        return Chunk(1, np.array([codes], self._code_dtype), np.array([values], np.float64))

    def _block(self, row: Row, block_above: float | None) -> Chunk | None:
        block: NDArray[np.float64] = np.zeros((1, self._width))
        for name, value in row.items():
            place = self._places.get(name)
            if place is None:
                continue
            if type(value) not in (int, float) or not 0 <= value < 1e100:
                return None
            block[0, place] = value
        return Chunk(1, np.empty((1, 0), np.uint8), np.empty((1, 0)), block=block, block_above=block_above)


def _reader(variable: Variable, policy: Policy) -> Callable[[Any], Any]:
    """Return what gives the code of a cell, or None where it is not certain."""
    if variable.kind == "numeric":
        return _number
    if variable.cuts is not None:
        return partial(_interval, variable.cuts, variable.size)
    kinds = {type(state) for state in variable.states}
    kind = kinds.pop() if len(kinds) == 1 else None
    # Where missing and unseen have one code, it does not matter which of them a strange value is.
    strange = variable.size if policy == "ignore" and kind is str and not variable.dense else None
    return partial(_state, variable.codes, kind, variable.size, strange)


def plain(value: object) -> Any:
    """Return a number or text of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _number(value: object) -> float | None:
    if type(value) is not float:
        value = plain(value)
    if type(value) is float:
        return None if value in (inf, -inf) else value
    if value is None:
        return nan
    return float(value) if type(value) is int and abs(value) <= _LARGEST_WHOLE else None


def _interval(cuts: tuple[float, ...], size: int, value: object) -> int | None:
    number = _number(value)
    if number is None:
        return None
    return bisect_left(cuts, number) if number == number else size


def _state(
    codes: Mapping[Any, int], kind: type | None, missing: int, strange: int | None, value: object
) -> int | None:
    if value is None:
        return missing
    value = plain(value)
    # 1, 1.0 and True are equal, and tables may tell them apart.
    if type(value) is not kind or kind not in (str, int, bool):
        return None
    return codes.get(value, strange)
