"""The values of one row as they are shown: states by their labels, others as they were given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.data.columns import is_missing
from bayeskit.data.encoded import Chunk
from bayeskit.data.table import Table
from bayeskit.report.explanation import LeftOut, Reason
from bayeskit.schema import Name, Schema


@dataclass(frozen=True)
class Shown:
    """A row with its codes.

    Examples
    --------
    >>> from bayeskit.report.row import one_row
    >>> from bayeskit.schema import Variable
    >>> colour = Variable("colour", "categorical", ("green", "red"))
    >>> row = Shown(Schema((colour,), Variable("y", "categorical", (0, 1))), one_row({"colour": "mauve"}),
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
        """Return the value as it was given; None where it is missing."""
        j, table = self.schema.position[name], self.table
        value = (
            table.raw(j)[0] if table.frame is None else table.frame.get_column(table.names[j]).to_list()[0]
        )
        return None if is_missing(value) else value.item() if isinstance(value, np.generic) else value

    def value(self, j: int) -> Any:
        """Return the label of the j-th categorical attribute, or what stands there instead of one."""
        variable, code = self.schema.categorical[j], self.code(j)
        return variable.states[code] if code < variable.size else self.raw(variable.name)

    def is_unknown(self, j: int) -> bool:
        """Whether the code is that of a missing value (or of an unseen one that is treated so)."""
        return self.code(j) == self.schema.categorical[j].size

    def given(self, parents: Any) -> tuple[tuple[Name, Any], ...]:
        """Return the names and values of parents by their numbers; negative ones are none."""
        return tuple((self.schema.categorical[i].name, self.value(i)) for i in parents if i >= 0)

    def left_out(self, j: int, reason: Reason | None = None) -> LeftOut:
        """Say that the j-th categorical attribute is no factor."""
        name = self.schema.categorical[j].name
        raw = self.raw(name)
        return LeftOut(name, raw, reason or ("missing" if raw is None else "unseen"))
