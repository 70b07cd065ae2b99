"""Categorical columns in the codes of the library they came from, with the tables that translate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class CodeColumn:
    """A column in its own codes.

    Attributes
    ----------
    own : integer array of shape (n,)
        −1 means missing.
    table : uint8 or uint32 array
        ``table[own]`` are the codes of the schema; its last entry is where −1 points.
    """

    own: NDArray[Any]
    table: NDArray[Any]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return the schema's codes of some rows."""
        return self.table.take(self.own[rows], mode="wrap")

    def part(self, rows: slice) -> CodeColumn:
        return CodeColumn(self.own[rows], self.table)
