"""What is known of the variables, in codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Evidence:
    """Observed states, and likelihoods where a state is only made more or less likely.

    Parameters
    ----------
    codes : int64 array of shape (number of variables,)
        The observed state of each variable, −1 where it is free.
    likelihoods : {variable: array of shape (its states,)}
        Soft evidence, none negative. "Not a" is 0 at a and 1 elsewhere; what is zero everywhere is impossible.
    """

    codes: NDArray[np.int64]
    likelihoods: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def nothing(cls, n_variables: int) -> Evidence:
        return cls(np.full(n_variables, -1, np.int64))

    @classmethod
    def of_row(cls, codes: NDArray[Any], sizes: NDArray[np.int64]) -> Evidence:
        """Read a row as evidence: a variable is free where its cell is missing, the code after its last state."""
        known = np.asarray(codes, np.int64)
        return cls(np.where(known < sizes, known, -1))

    @property
    def is_empty(self) -> bool:
        return not self.likelihoods and bool((self.codes < 0).all())
