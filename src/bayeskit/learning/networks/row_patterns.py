"""Rows of codes with holes in them: those without are counted once, equal ones are kept once with their weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.potentials import Potentials
from bayeskit.typing import Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowPatterns:
    """Different rows, those of one pattern of missing cells one after the other.

    Attributes
    ----------
    codes : shape (different rows, variables), the code after a variable's last state where its cell is missing
    weights : what each of them weighs
    first : the number of the first row that is equal to each
    """

    codes: Ints
    weights: Floats
    first: Ints

    @classmethod
    def of(cls, codes: Ints, sizes: Ints, weights: Floats, numbers: Ints) -> RowPatterns:
        """Join equal rows of variables of these sizes.

        >>> found = RowPatterns.of(np.array([[0, 2], [1, 1], [0, 2]]), np.array([2, 2]), np.ones(3), np.arange(3))
        >>> found.codes.tolist(), found.weights.tolist(), found.first.tolist()
        ([[0, 2], [1, 1]], [2.0, 1.0], [0, 1])
        """
        if not len(codes):
            return cls(codes, weights, numbers)
        small = codes.astype(np.int16 if codes.max(initial=0) < 2**15 else np.int32)
        bits = np.packbits(codes < sizes, axis=1)
        key = np.hstack([bits, np.ascontiguousarray(small).view(np.uint8).reshape(len(codes), -1)])
        whole = np.ascontiguousarray(key).view(np.dtype((np.void, key.shape[1]))).ravel()
        _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
        sums = np.zeros(len(first))
        np.add.at(sums, inverse.ravel(), weights)
        return cls(np.ascontiguousarray(codes[first]), sums, numbers[first])


def family_counts(p: Potentials, codes: Ints, weights: Floats) -> Floats:
    """Return n of every factor's cells over rows without a missing cell, laid out as the tables are.

    >>> p = Potentials.laid_out([2], [[0]], [np.zeros(2)], [0], ("coin",))
    >>> family_counts(p, np.array([[0], [1], [1]]), np.ones(3))
    array([1., 2.])
    """
    counts = np.empty(len(p.values))
    for f in range(p.n_factors):
        cell = np.zeros(len(codes), np.int64)
        for v in p.scope_of(f):
            cell = cell * p.sizes[v] + codes[:, v]
        start, end = int(p.value_start[f]), int(p.value_start[f + 1])
        counts[start:end] = np.bincount(cell, weights, end - start)
    return counts
