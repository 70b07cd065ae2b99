"""Converts values to NumPy arrays, or to data frames of an installed library."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._messages import Joined, Message
from bayeskit.errors import DataError, UsageError


def as_array(held: NDArray[Any], dtype: DTypeLike | None, copy: bool | None) -> NDArray[Any]:
    """Implement ``__array__``: convert, and copy only if requested or necessary.

    NumPy 2 passes ``copy`` and expects an error if False is impossible; NumPy 1 never passes it.

    >>> as_array(np.array([0.5]), np.float32, None).dtype
    dtype('float32')
    """
    array = np.asarray(held, dtype=dtype)
    if copy is False and array is not held:
        raise DataError(
            "an array of dtype {dtype} cannot be made without a copy. Leave out copy=False.", dtype=dtype
        )
    return array.copy() if copy and array is held else array


LIBRARIES = ("pandas", "polars", "pyarrow")


def to_native(columns: Mapping[str, NDArray[Any]], index: str | None = None) -> Any:
    """Build a data frame: pandas if it is installed, else polars, else a pyarrow table.

    Parameters
    ----------
    index : str, optional
        The column that labels the rows: the index of a pandas frame; others have no index, and drop it.

    Examples
    --------
    >>> import numpy as np
    >>> to_native({"x": np.array([1, 2])}).shape
    (2, 1)
    """
    import narwhals as nw

    for library in LIBRARIES:
        try:
            module = import_module(library)
        except ImportError:
            continue
        frame = nw.from_dict(dict(columns), backend=module)
        if index is None:
            return frame.to_native()
        return (nw.maybe_set_index(frame, index) if library == "pandas" else frame.drop(index)).to_native()
    way_out = Message("Install one (pip install pandas), or use the columns, which are NumPy arrays.")
    raise UsageError(
        "No data frame library is installed ({names} were tried). {way_out}",
        names=Joined(LIBRARIES),
        way_out=way_out,
    )
