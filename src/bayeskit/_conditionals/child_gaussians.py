"""Numeric attributes as the children of one categorical attribute each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.cell_gaussian import CellGaussian
from bayeskit._conditionals.conditional import (
    Codes,
    Conditional,
    DrawnRows,
    DrawRule,
    Nodes,
    ParameterPosterior,
    Workings,
)
from bayeskit._conditionals.posterior_draws import Draws, Normals
from bayeskit._conditionals.scoring import Score, Sum
from bayeskit._data.encoded import Chunk
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class ChildGaussians(Conditional):
    """log p(numeric attributes | class, parent of each): the Gaussian leaves of SPODE, TAN and kDB.

    Attributes
    ----------
    cell_gaussian : CellGaussian
    parents : int array of shape (M,)
        The categorical parent of each numeric attribute, or −1 if it depends only on the class.

    Examples
    --------
    >>> from bayeskit._conditionals.cell_gaussian import estimate_cell_gaussian
    >>> from bayeskit._schema import Schema, Variable
    >>> from bayeskit._statistics.cell_moments import CellMoments
    >>> from bayeskit._statistics.moments import Moments
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
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        for parent, columns in self._groups.items():
            self.cell_gaussian.add_given_left_out(chunk, own, parent, columns, out)

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.values = draw_children(self.cell_gaussian, self.parents, rows.classes, rows.codes, rng)

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        return _ChildPosterior(self)

    def add_nodes(self, nodes: Nodes) -> None:
        nodes.add_children(self)

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_children(self)

    def score(self) -> Score:
        cells = self.cell_gaussian
        ends = np.append(cells.offsets, len(cells.mean) - 1).astype(np.intp)
        sizes = np.diff(ends) - 1
        columns = np.flatnonzero(cells.used).tolist()
        parents = [int(self.parents[m]) for m in columns]
        return Sum(
            tuple(
                cells.score_given(parent, m, int(sizes[parent]) if parent >= 0 else 0)
                for m, parent in zip(columns, parents, strict=True)
            )
        )


@dataclass(frozen=True, eq=False)
class _ChildPosterior:
    """The posterior of the normals in each class and state of the parents."""

    children: ChildGaussians

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        for column in np.flatnonzero(self.children.cell_gaussian.used).tolist():
            self._add_column(column, chunk, draws, out)

    def _add_column(self, column: int, chunk: Chunk, draws: Draws, out: Floats) -> None:
        cells, parent = self.children.cell_gaussian, int(self.children.parents[column])
        k = cells.mean.shape[1]
        last = len(cells.mean) - 1  # the Gaussian of the class alone
        own = cells.cells.weight.reshape(last, k, -1)[:, :, column]
        classes = np.maximum(cells.classes.weight[:, column], 0.0)
        place = np.full(chunk.n_rows, last)
        if parent >= 0:
            codes = chunk.codes[:, parent].astype(np.intp)
            place = np.where(codes < int(cells.limits[parent]), int(cells.offsets[parent]) + codes, last)
        held = np.ldexp(chunk.values[:, column], -int(cells.exponent[column]))
        for t in np.unique(place).tolist():
            rows = (
                np.where((own[t] > 0) | (cells.alpha > 0), own[t] + cells.alpha, classes)
                if t < last
                else classes
            )
            rows = np.where(rows > 0, rows, 1.0)
            mean, low, deviation = (
                part[t, :, column] for part in (cells.mean, cells.mean_low, cells.deviation)
            )
            some = np.flatnonzero(place == t)
            scores = out[some]
            Normals(mean, low, deviation, rows, rows).add(held[some], draws, (5, column, t), scores)
            out[some] = scores


def draw_children(
    gaussian: CellGaussian, parents: NDArray[np.intp], classes: Codes, codes: Codes, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the M numeric attributes of n rows: shape (n, M).

    Parameters
    ----------
    gaussian : CellGaussian
    parents : int array of shape (M,) or (n, M)
        The discrete parent of each attribute, or −1 if it depends only on the class.
    classes : int array of shape (n,)
    codes : int array of shape (n, d)

    A constant attribute always has its value.
    """
    n, m = len(classes), len(gaussian.used)
    parents = np.broadcast_to(parents, (n, m))
    last = len(gaussian.mean) - 1
    if codes.shape[1]:
        code = np.take_along_axis(codes, np.maximum(parents, 0), axis=1)
        known = (parents >= 0) & (code < gaussian.limits.astype(np.intp)[parents])
        places = np.where(known, gaussian.offsets.astype(np.intp)[parents] + code, last)
    else:
        places = np.full((n, m), last)
    at = places, classes[:, None], np.arange(m)[None, :]
    spread = np.where(gaussian.used, gaussian.deviation[at], 0.0)
    held = gaussian.mean[at] + (gaussian.mean_low[at] + spread * rng.standard_normal((n, m)))
    return np.asarray(np.ldexp(held, gaussian.exponent))
