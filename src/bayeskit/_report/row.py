"""A single row in any form as a table of one row, with its values for display."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._data.columns import is_missing
from bayeskit._data.encoded import Chunk
from bayeskit._data.table import Table, is_sparse, open_table
from bayeskit._report.explanation import OmittedAttribute, Reason
from bayeskit._schema import Name, Schema
from bayeskit.errors import DataError
from bayeskit.typing import RowLike


def one_row(row: RowLike) -> Table:
    """Convert one row (a mapping, a pandas Series, a list or a table of one row) to a table.

    Examples
    --------
    >>> one_row({"色泽": "青绿", "密度": 0.6}).names
    ('色泽', '密度')
    >>> one_row(["青绿", 0.6]).n_rows
    1
    """
    if hasattr(row, "to_dict") and hasattr(row, "index") and not hasattr(row, "columns"):
        row = row.to_dict()  # a row taken from a pandas frame
    if isinstance(row, Mapping) and not is_sparse(row):  # a dictionary of keys is both
        row = {name: value if _is_column(value) else [value] for name, value in row.items()}
    elif isinstance(row, np.ndarray) and row.ndim == 1:
        row = row[None, :]
    elif isinstance(row, (list, tuple)) and not any(map(_is_column, row)):
        cells = np.empty((1, len(row)), dtype=object)
        cells[0, :] = row
        row = cells
    table = open_table(row)
    if table.n_rows != 1:
        raise DataError(
            "One row is explained at a time, not {n_rows}. Pass one, such as X.iloc[[0]] or X[:1].",
            n_rows=table.n_rows,
        )
    return table


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


@dataclass(frozen=True)
class CodedRow:
    """A row with its codes.

    Examples
    --------
    >>> from bayeskit.explanations import one_row
    >>> from bayeskit.statistics import Variable
    >>> colour = Variable("colour", "categorical", ("green", "red"))
    >>> row = CodedRow(Schema((colour,), Variable("y", "categorical", (0, 1))), one_row({"colour": "mauve"}),
    ...             Chunk(1, np.array([[2]], np.uint8), np.empty((1, 0))))
    >>> row.value(0), row.is_unknown(0), row.left_out(0).reason
    ('mauve', True, 'unseen')
    """

    schema: Schema
    table: Table
    chunk: Chunk

    def code(self, j: int) -> int:
        """Return the code of the j-th categorical attribute."""
        return int(self.chunk.codes[0, j])

    def raw(self, name: Name) -> Any:
        """Return the value as given; None if it is missing."""
        j, table = self.schema.position[name], self.table
        value = (
            table.raw(j)[0] if table.frame is None else table.frame.get_column(table.names[j]).to_list()[0]
        )
        return None if is_missing(value) else value.item() if isinstance(value, np.generic) else value

    def value(self, j: int) -> Any:
        """Return the label of the j-th categorical attribute, or its raw value if it has no label."""
        variable, code = self.schema.categorical[j], self.code(j)
        return variable.states[code] if code < variable.size else self.raw(variable.name)

    def is_unknown(self, j: int) -> bool:
        """Whether the code is that of a missing value, or of an unseen one that is treated as missing."""
        return self.code(j) == self.schema.categorical[j].size

    def given(self, parents: Iterable[int]) -> tuple[tuple[Name, Any], ...]:
        """Return the names and values of parents, given by index. Negative indices are ignored."""
        return tuple((self.schema.categorical[i].name, self.value(i)) for i in parents if i >= 0)

    def left_out(self, j: int, reason: Reason | None = None) -> OmittedAttribute:
        """Return the entry that explains why the j-th categorical attribute has no factor."""
        name = self.schema.categorical[j].name
        raw = self.raw(name)
        return OmittedAttribute(name, raw, reason or ("missing" if raw is None else "unseen"))
