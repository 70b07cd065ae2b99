"""Things by their key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def grouped(keys: Ints, n: int) -> tuple[Ints, Ints]:
    """Return the places of the keys in their order, and where each of the keys 0 … n − 1 begins among them.

    >>> grouped(np.array([1, 0, 1]), 2)
    (array([1, 0, 2]), array([0, 1, 3]))
    """
    places = np.argsort(keys, kind="stable")
    return places, np.searchsorted(keys[places], np.arange(n + 1))
