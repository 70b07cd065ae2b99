r"""Gaussians of numeric attributes given the class and the state of one categorical parent: cells, and the children.

A cell of n rows with mean m and centred sum S is shrunk by α imaginary rows that have the mean
:math:`m_c` and the variance :math:`\sigma_c^2` of the class:

.. math:: m' = \frac{n m + \alpha m_c}{n + \alpha}, \qquad
          \sigma'^2 = \frac{S + \frac{n \alpha}{n + \alpha} (m - m_c)^2 + \alpha \sigma_c^2}{n + \alpha}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._conditionals.conditional import (
    Codes,
    Conditional,
    DrawnRows,
    DrawRule,
    Nodes,
    ParameterPosterior,
    Workings,
)
from bayeskit._conditionals.density import SMALLEST_DEVIATION
from bayeskit._conditionals.gaussian import estimate_gaussian, infinite_value
from bayeskit._conditionals.kernels.gaussian_scores import (
    FLOOR,
    NEVER_COUNTED,
    add_scores,
    add_scores_left_out,
)
from bayeskit._conditionals.posterior_draws import Draws, Normals
from bayeskit._conditionals.scoring import LookUp, Score, Sum, normal
from bayeskit._data.encoded import Chunk
from bayeskit._schema import Schema
from bayeskit._statistics.cell_moments import CellMoments
from bayeskit._statistics.moments import Integers, Moments
from bayeskit._statistics.part import never_counted
from bayeskit.errors import SettingError
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class CellGaussian:
    """Normal densities of M attributes in each state of each categorical attribute and each class.

    Values are scaled to x·2^−exponent, so that no variance leaves the range of a double. The last row of the tables is
    the Gaussian of the class alone, for rows in which the parent is missing.

    Attributes
    ----------
    mean, mean_low, variance : arrays of shape (T + 1, K, M)
        The means as high + low, and the variances before the floor is applied.
    deviation : array of shape (T + 1, K, M)
    used : bool array of shape (M,)
        False for a constant attribute, which is left out.
    exponent : int array of shape (M,)
    offsets, limits : uintp arrays of shape (d,)
        The start of each categorical attribute, and the first code that means missing.
    alpha : float
        The number of imaginary rows of a cell.
    unbiased : bool
        Whether the variance of a class divides by n − 1.
    cells, classes, pooled : Moments of T·K, K and one classes
        The counted moments, for leave-one-out.
    """

    mean: Floats
    mean_low: Floats
    variance: Floats
    deviation: Floats
    used: NDArray[np.bool_]
    exponent: Integers
    offsets: NDArray[np.uintp]
    limits: NDArray[np.uintp]
    alpha: float
    unbiased: bool
    cells: Moments
    classes: Moments
    pooled: Moments

    def add_given(self, chunk: Chunk, parent: int, columns: ArrayLike, out: Floats) -> None:
        """Add Σ_m log N(x_m | c, x_parent) over the numeric attributes at ``columns`` to ``out`` (n, K).

        With parent −1, or if the parent is missing or unseen, the Gaussian is that of the class.
        """
        self._add(chunk, np.array([parent]), columns, out[:, None, :])

    def scores(self, chunk: Chunk, out: Floats) -> None:
        """Add Σ_m log N(x_m | c, x_i) to ``out`` of shape (n, d, K), for every categorical attribute i."""
        self._add(chunk, np.arange(len(self.offsets)), np.arange(len(self.used)), out)

    def score_given(self, parent: int, column: int, size: int) -> Score:
        """Return the formula of a numeric attribute given a categorical one with ``size`` states (−1: no parent)."""
        columns, places = () if parent < 0 else (parent,), np.array(-1)
        if parent >= 0:
            codes = np.arange(size + 2)
            known = codes < int(self.limits[parent])
            places = np.where(known, int(self.offsets[parent]) + codes, len(self.mean) - 1)
        return normal(column, *(LookUp(columns, part[places, :, column]) for part in self.in_units))

    @cached_property
    def in_units(self) -> tuple[Floats, ...]:
        """Return norm, mean, low and scale in the units of the values: arrays of shape (T + 1, K, M)."""
        mean, low, inverse, norm = self._tables
        return (
            norm,
            np.ldexp(mean, self.exponent),
            np.ldexp(low, self.exponent),
            np.ldexp(inverse, -self.exponent),
        )

    def add_given_left_out(
        self, chunk: Chunk, own: Floats, parent: int, columns: ArrayLike, out: Floats
    ) -> None:
        """Add the leave-one-out values of :meth:`add_given`, with the weight ``own`` of each row removed.

        If the statistics were scaled (by class weights), ``own`` (n,) must be scaled in the same way.
        """
        self._add_left_out(chunk, own, np.array([parent]), columns, out[:, None, :])

    def scores_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of :meth:`scores`, with the weight ``own`` of each row removed."""
        self._add_left_out(chunk, own, np.arange(len(self.offsets)), np.arange(len(self.used)), out)

    def _add(self, chunk: Chunk, parents: NDArray[np.int64], columns: ArrayLike, out: Floats) -> None:
        rows = (self._scaled_values(chunk), chunk.codes, self.offsets, self.limits, parents)
        self._refuse(chunk, add_scores(*rows, self._places(columns), *self._tables, out))

    def _add_left_out(
        self, chunk: Chunk, own: Floats, parents: NDArray[np.int64], columns: ArrayLike, out: Floats
    ) -> None:
        places, k = self._places(columns), self.mean.shape[1]
        own = np.ascontiguousarray(own, dtype=np.float64)
        rows = (
            self._scaled_values(chunk),
            chunk.codes,
            chunk.target,
            own,
            self.offsets,
            self.limits,
            parents,
            places,
        )
        scratch = (
            np.empty((len(places), 3, k)),
            np.empty((len(places), k), np.bool_),
            np.empty((2, len(places))),
        )
        negative = np.zeros(1)
        status = add_scores_left_out(
            *rows, *self._tables, *self._counted, _least(self.exponent), self._unit, self.alpha, self.unbiased,
            *scratch, negative, out,
        )  # fmt: skip
        if status == NEVER_COUNTED:
            raise never_counted(negative[0])
        self._refuse(chunk, status)

    def _places(self, columns: ArrayLike) -> NDArray[np.uintp]:
        wanted = np.asarray(columns, dtype=np.intp)
        return wanted[self.used[wanted]].astype(np.uintp)

    def _scaled_values(self, chunk: Chunk) -> Floats:
        if not self.exponent.any():
            return chunk.values
        with np.errstate(under="ignore", over="ignore"):
            # Clip scaled values to the range of doubles, so that only values that were infinite before are infinite.
            held = np.ldexp(chunk.values, -self.exponent)
            edge = np.copysign(np.finfo(np.float64).max, held)
        return np.where(np.isinf(held) & np.isfinite(chunk.values), edge, held)

    @staticmethod
    def _refuse(chunk: Chunk, place: int) -> None:
        if place >= 0:
            raise infinite_value(chunk.values, place)

    @cached_property
    def _unit(self) -> Floats:
        """The constant that turns −log σ − z² into a log-density in the units of the values."""
        return np.asarray(-0.5 * np.log(2.0 * np.pi) - self.exponent * np.log(2.0))

    @cached_property
    def _tables(self) -> tuple[Floats, ...]:
        norm = self._unit - np.log(self.deviation)
        return self.mean, self.mean_low, np.sqrt(0.5) / self.deviation, norm

    @cached_property
    def _counted(self) -> tuple[Floats, ...]:
        """The moments of cells, of classes and of all rows, each with means, centred sums and variances."""
        of_cells = np.stack([*_described(self.cells), self.variance[:-1].reshape(self.cells.weight.shape)])
        of_classes, of_pooled = (np.stack(_described(part)) for part in (self.classes, self.pooled))
        return self.cells.cells, of_cells, self.classes.cells, of_classes, self.pooled.cells, of_pooled


def estimate_cell_gaussian(
    cell_moments: CellMoments,
    moments: Moments,
    schema: Schema,
    *,
    alpha: float = 1.0,
    unbiased: bool = False,
    missing: str = "ignore",
) -> CellGaussian:
    """Estimate normal densities from the moments of cells and classes.

    Parameters
    ----------
    cell_moments, moments : CellMoments, Moments
        Moments of the same rows, for all numeric attributes of the schema.
    alpha : float
        The number of imaginary rows of a cell, with the mean and variance of its class. With 0, a cell with rows is
        not smoothed. A cell without rows always has the Gaussian of the class.
    unbiased : bool
        Divide by n − 1 in the variance of a class (that of a cell is the mean of real and imaginary rows).
    missing : "ignore" or "state"
        Whether a missing parent is an additional state.

    Every variance is at least 1e-9 times the attribute's variance over all classes. A constant attribute is left out.
    A class without values has the mean and variance of all classes.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> two = Variable("z", "categorical", (0, 1)), Variable("x", "numeric")
    >>> schema = Schema(two, Variable("y", "categorical", ("yes",)))
    >>> states = Moments.from_sums([[2.0], [2.0], [0.0]], [[1.0], [5.0], [0.0]], np.zeros((3, 1)),
    ...                            [[2.0], [2.0], [0.0]])
    >>> cells = CellMoments(states.cells[:, :, None], states.exponent)
    >>> gaussian = estimate_cell_gaussian(cells, cells.over_states(0, 2), schema, alpha=2.0)
    >>> (gaussian.mean + gaussian.mean_low)[:, 0, 0], gaussian.variance[:, 0, 0]
    (array([2., 4., 3., 3.]), array([4., 4., 5., 5.]))
    """
    if not (np.isfinite(alpha) and alpha >= 0.0):
        raise SettingError("alpha is {alpha!r}; it must be a finite number of at least 0.", alpha=alpha)
    exponent = moments.pooled().exponent
    classes, cells = _in_units(moments, exponent), _in_units(cell_moments.flat, exponent)
    of_class = estimate_gaussian(classes, np.arange(len(exponent)), unbiased=unbiased, floor=FLOOR)
    pooled = classes.pooled()

    shape = cell_moments.weight.shape
    n = cells.weight.reshape(shape)
    high, low, spread = (part.reshape(shape) for part in _described(cells))
    empty = n <= 0.0
    total = np.where(empty, 1.0, n + alpha)
    share = alpha / total
    away = (of_class.mean - high) + (of_class.mean_low - low)
    variance = (spread / total + (n / total) * share * away * away) + share * of_class.variance
    mean, mean_low, variance = (
        np.concatenate([np.where(empty, of_the_class, of_cell), of_the_class[None]])
        for of_the_class, of_cell in (
            (of_class.mean, high),
            (of_class.mean_low, low + share * away),
            (of_class.variance, variance),
        )
    )
    sizes = np.diff(schema.offsets)
    fields: dict[str, Any] = {
        "mean": mean,
        "mean_low": mean_low,
        "variance": variance,
        "deviation": np.maximum(
            np.sqrt(np.maximum(variance, FLOOR * pooled.scaled_variance())), _least(exponent)
        ),
        "used": of_class.used,
        "exponent": exponent,
        "offsets": schema.offsets[:-1],
        "limits": sizes if missing == "state" else sizes - np.uintp(1),
    }
    return CellGaussian(
        **fields, alpha=float(alpha), unbiased=unbiased, cells=cells, classes=classes, pooled=pooled
    )


def _in_units(moments: Moments, exponent: Integers) -> Moments:
    """Return the moments of x·2^−exponent."""
    return Moments(moments.rescaled(exponent).cells, np.zeros_like(exponent))


def _least(exponent: Integers) -> Floats:
    """Return the smallest allowed deviation of x·2^−exponent."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.maximum(np.ldexp(SMALLEST_DEVIATION, -exponent), SMALLEST_DEVIATION))


def _described(moments: Moments) -> tuple[Floats, Floats, Floats]:
    high, low = moments.mean()
    return high, low, moments.centred()


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
    >>> from bayeskit.statistics import Schema, Variable
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
