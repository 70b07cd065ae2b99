"""What NumPy asks of values that hold an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit.errors import DataError


def as_array(held: NDArray[Any], dtype: DTypeLike | None, copy: bool | None) -> NDArray[Any]:
    """What ``__array__`` has to do: convert, and copy only when asked or forced to.

    NumPy 2 passes ``copy`` and wants an error where False cannot be kept; NumPy 1 never passes it.

    >>> as_array(np.array([0.5]), np.float32, None).dtype
    dtype('float32')
    """
    array = np.asarray(held, dtype=dtype)
    if copy is False and array is not held:
        raise DataError(f"an array of dtype {dtype} cannot be made without a copy. Leave out copy=False.")
    return array.copy() if copy and array is held else array
