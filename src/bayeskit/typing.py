"""Type aliases for the public interface: rows, labels, weights, seeds and paths.

They document for readers and type checkers what is accepted. The actual type of a value is determined at run
time. Functions that check a setting take ``object``, because any value may be passed to them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._schema import Label, Name


@runtime_checkable
class Frame(Protocol):
    """A data frame (pandas, Polars, PyArrow) or a sparse matrix: rows and columns with a shape."""

    @property
    def shape(self) -> tuple[int, ...]: ...


Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.integer]
Array: TypeAlias = NDArray[np.generic]

PathLike: TypeAlias = str | os.PathLike[str]
# Rows: an array, rows of cells, rows by name, a frame, a sparse matrix; some methods also accept files or batches.
# The keys of a mapping are Any, because Mapping is invariant in its keys: a dict of strings is not a mapping of names.
TableLike: TypeAlias = (
    ArrayLike
    | Frame
    | Sequence[Sequence[object]]
    | Sequence[Mapping[Any, object]]
    | Mapping[Any, Collection[object]]
)
RowSource: TypeAlias = TableLike | PathLike | Iterable[object]
# One row: its cells in order, or by the names of columns.
RowLike: TypeAlias = ArrayLike | Frame | Sequence[object] | Mapping[Any, object]
# A label for each row; missing labels may be among them.
LabelsLike: TypeAlias = ArrayLike | Frame | Sequence[Hashable]
# A weight for each row, or the name of the column of weights.
WeightsLike: TypeAlias = ArrayLike | Frame | Name
# One column or node by its name, or several.
NamesLike: TypeAlias = Name | Iterable[Name]
# The states of a node in order; float or "continuous" for a continuous node; None if they are not known yet.
StatesLike: TypeAlias = Iterable[Label] | type[float] | Literal["continuous"] | None
# The number of intervals of numeric columns, or the cut points, for all columns or by column.
CutsLike: TypeAlias = int | Mapping[Any, int | Sequence[float]] | None
Seed: TypeAlias = int | np.integer | np.random.Generator | np.random.RandomState | None

# P(c): in the order of the classes, by class, or "uniform".
ClassPriorLike: TypeAlias = ArrayLike | Mapping[Any, float] | None
ClassWeight: TypeAlias = Literal["balanced"] | Mapping[Any, float] | None
CategoricalFeatures: TypeAlias = (
    Literal["from_dtype", "all"] | Sequence[Name] | Sequence[int] | Sequence[bool] | None
)
# The cost of each action in each class: actions × classes, or by name.
LossLike: TypeAlias = ArrayLike | Frame | Mapping[Any, Mapping[Any, float]] | None
