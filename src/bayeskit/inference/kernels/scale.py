"""A loop that keeps products within the range of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel

# exp(−690) is still a normal number. A table whose numbers lie further apart than that needs logs.
LOWEST = -690.0


@kernel
def rescale(pot: Any, start: int, cells: int) -> Any:
    """Divide a table by its largest number; return the log of it, and of the least positive one after that.

    A table of zeros is left alone: (0, 0).
    """
    largest = 0.0
    least = np.inf
    for u in range(start, start + cells):
        x = pot[u]
        largest = max(largest, x)
        if x > 0.0 and x < least:
            least = x
    if largest <= 0.0:
        return 0.0, 0.0
    for u in range(start, start + cells):
        pot[u] /= largest
    return np.log(largest), np.log(least) - np.log(largest)
