"""A bundled table, read: columns as NumPy arrays, and its card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.datasets.registry import State


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table with its target, where it comes from and what is known of its attributes.

    Attributes
    ----------
    title, title_zh : str
        What it is, in English and in Chinese.
    columns : dict of str to array
        The attributes and the target, in the order of the file: ``int64`` or ``float64`` (NaN where missing),
        texts as objects (None where missing).
    target : str
        The name of the column to predict.
    states : dict of str to tuple
        The states that the source declares for an attribute, seen in the rows or not. For information: pass
        them on where they matter.
    index : array
        The labels of the rows, which are no attribute; 0, 1, 2, … where the table has none.
    """

    name: str
    title: str
    title_zh: str
    source: str
    licence: str
    target: str
    columns: dict[str, NDArray[Any]]
    index: NDArray[Any]
    index_name: str | None
    states: Mapping[str, tuple[State, ...]]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the columns without the target."""
        return tuple(name for name in self.columns if name != self.target)

    @cached_property
    def frame(self) -> Any:
        """All columns as a data frame: pandas if installed (with the index), else polars, else pyarrow."""
        return self._frame(tuple(self.columns))

    @cached_property
    def X(self) -> Any:
        """The attributes as a data frame."""
        return self._frame(self.attributes)

    @property
    def y(self) -> NDArray[Any]:
        """The target as an array."""
        return self.columns[self.target]

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        shape = f"{len(self):,} rows, {len(self.attributes)} attributes"
        return f"Dataset({self.name!r}: {shape} -> {self.target!r})"

    def _frame(self, names: tuple[str, ...]) -> Any:
        from bayeskit.data.native import to_native

        chosen = {name: self.columns[name] for name in names}
        if self.index_name is not None:
            chosen = {self.index_name: self.index, **chosen}
        return to_native(chosen, index=self.index_name)


def as_array(cells: list[str]) -> NDArray[Any]:
    """Make an array of written cells: whole numbers, else numbers, else texts; an empty cell is missing.

    Examples
    --------
    >>> as_array(["1", "2"]), as_array(["1", ""]), as_array(["x", ""])
    (array([1, 2]), array([ 1., nan]), array(['x', None], dtype=object))
    """
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except ValueError:
        pass
    if any(cells):
        try:
            return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
        except ValueError:
            pass
    return np.array([cell or None for cell in cells], dtype=object)
