"""P(attributes | class) once estimated: what every family answers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk

Floats = NDArray[np.float64]


class Conditional(Protocol):
    """The distribution of some attributes given the class, ready for look-up.

    Conditionals are immutable and safe to use from many threads at once; a mixed model is a sum of them.
    """

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        """Add log P(these attributes | class) of every row to ``out`` of shape (n, K), C order.

        A missing value adds nothing. No NaN is ever added; −inf says "impossible".
        """
        ...

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Draw the attributes for rows of the classes given: shape (n, number of attributes)."""
        ...
