"""What is known of the nodes of a network with continuous ones: codes, values, likelihoods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HybridEvidence:
    """Observed states and values, one place for each node; each array is read only at nodes of its kind.

    Parameters
    ----------
    codes : int64 array of shape (number of nodes,)
        The observed state of each discrete node, −1 where it is free.
    values : float64 array of shape (number of nodes,)
        The observed value of each continuous node, NaN where it is free.
    likelihoods : {discrete node: array of shape (its states,)}
        Soft evidence, none negative, not all zero.
    """

    codes: Ints
    values: NDArray[np.float64]
    likelihoods: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def of_row(cls, codes: Ints, values: NDArray[np.float64], sizes: Ints) -> HybridEvidence:
        """Read a row as evidence: a discrete node is free where its cell is missing, the code after its last state."""
        return cls(np.where(codes < sizes, codes, -1), values)

    @classmethod
    def nothing(cls, n_nodes: int) -> HybridEvidence:
        return cls(np.full(n_nodes, -1, np.int64), np.full(n_nodes, np.nan))
