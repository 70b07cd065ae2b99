"""Numeric attributes as the children of one categorical attribute each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.estimation.cell_gaussian import CellGaussian
from bayeskit.estimation.conditional import Floats


@dataclass(frozen=True, eq=False)
class ChildGaussians:
    """log p(numeric attributes | class, parent of each): the Gaussian leaves of SPODE, TAN and kDB.

    Attributes
    ----------
    cell_gaussian : CellGaussian
    parents : int array of shape (M,)
        The categorical attribute that each numeric one depends on, −1 for the class alone.

    Examples
    --------
    >>> from bayeskit.estimation.cell_gaussian import estimate_cell_gaussian
    >>> from bayeskit.schema import Schema, Variable
    >>> from bayeskit.statistics.cell_moments import CellMoments
    >>> from bayeskit.statistics.moments import Moments
    >>> two = Variable("z", "categorical", (0, 1)), Variable("x", "numeric")
    >>> schema = Schema(two, Variable("y", "categorical", ("yes",)))
    >>> states = Moments.from_sums([[2.0], [2.0], [0.0]], [[1.0], [5.0], [0.0]], np.zeros((3, 1)),
    ...                            [[2.0], [2.0], [0.0]])
    >>> cells = CellMoments(states.cells[:, :, None], states.exponent)
    >>> gaussian = estimate_cell_gaussian(cells, cells.over_states(0, 2), schema, alpha=0.0)
    >>> out, codes = np.zeros((2, 1)), np.array([[0], [1]], np.uint8)
    >>> ChildGaussians(gaussian, np.array([0])).add_log_prob(Chunk(2, codes, np.array([[1.0], [5.0]])), out)
    >>> out.round(3).tolist()  # both in the middle of their cells: −½ log 2π
    [[-0.919], [-0.919]]
    """

    cell_gaussian: CellGaussian
    parents: NDArray[np.intp]

    @cached_property
    def _groups(self) -> Mapping[int, NDArray[np.intp]]:
        return {int(p): np.flatnonzero(self.parents == p) for p in np.unique(self.parents)}

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        for parent, columns in self._groups.items():
            self.cell_gaussian.add_given(chunk, parent, columns, out)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add what ``add_log_prob`` would, had each row been counted with ``own`` less of its weight."""
        for parent, columns in self._groups.items():
            self.cell_gaussian.add_given_left_out(chunk, own, parent, columns, out)
