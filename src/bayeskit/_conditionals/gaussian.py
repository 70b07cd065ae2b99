"""The Gaussian family: a normal density for each numeric attribute in each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._conditionals.conditional import (
    Codes,
    Conditional,
    DrawRule,
    LatentTables,
    Nodes,
    ParameterPosterior,
    RowFactor,
    WeightedTerms,
)
from bayeskit._conditionals.density import (
    SMALLEST_DEVIATION,
    ColumnSums,
    Density,
    FamilyWords,
    Formula,
    Parameter,
    Summary,
)
from bayeskit._conditionals.kernels.gaussian_scores import TILE, distance, find_infinite, load_tile
from bayeskit._conditionals.kernels.left_out import add_gaussian
from bayeskit._conditionals.posterior_draws import NormalPosterior, Normals
from bayeskit._conditionals.scoring import Score, Sum, constant, normal
from bayeskit._data.encoded import Chunk
from bayeskit._intrinsics import fma
from bayeskit._numba import kernel
from bayeskit._statistics import double
from bayeskit._statistics.moments import Integers, Moments
from bayeskit._statistics.part import ONE_ROW, never_counted
from bayeskit.errors import InfiniteValue
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._counting.running_sums import RunningSums


@kernel
def add_log_density(
    values: Any,
    place: Any,
    mean: Any,
    low: Any,
    inverse: Any,
    norm: Any,
    total: Any,
    tile: Any,
    sums: Any,
    out: Any,
) -> Any:
    """Add Σ_j log N(x_j; class k) to ``out`` (n, K). Return −1, or the flat index of an infinite value.

    ``inverse`` is 1/(σ√2), ``norm`` is −log(σ√(2π)), and ``total`` is its sum over the attributes. ``tile`` (m, TILE)
    and ``sums`` (K, TILE) are scratch. A row is added to ``out`` only if its sums are finite, because ``out`` already
    contains other terms. Otherwise it is scored again with checks.
    """
    n, m, classes = np.uintp(values.shape[0]), np.uintp(place.shape[0]), np.uintp(mean.shape[0])
    start = np.uintp(0)
    while start < n:
        rows = min(np.uintp(TILE), n - start)
        load_tile(values, place, start, rows, tile)
        for k in range(classes):
            for r in range(rows):
                sums[k, r] = total[k]
            for j in range(m):
                centre, rest, scale = mean[k, j], low[k, j], inverse[k, j]
                for r in range(rows):
                    z = ((tile[j, r] - centre) - rest) * scale
                    sums[k, r] = fma(-z, z, sums[k, r])
        for r in range(rows):
            finite = True
            for k in range(classes):
                finite &= isfinite(sums[k, r])
            if not finite:
                column = find_infinite(values, start + r, place)
                if column >= 0:
                    return np.int64(start + r) * np.int64(values.shape[1]) + column
                for k in range(classes):
                    sums[k, r] = 0.0
                    for j in range(m):
                        if not isnan(tile[j, r]):
                            z = distance(tile[j, r], mean[k, j], low[k, j], inverse[k, j])
                            sums[k, r] += norm[k, j] - z * z
            for k in range(classes):
                out[start + r, k] += sums[k, r]
        start += rows
    return np.int64(-1)


@dataclass(frozen=True, eq=False)
class CountedMoments:
    """The moments that densities were estimated from, for leave-one-out.

    Attributes
    ----------
    classes, pooled : Moments
        The moments of each class and of all classes together, in the same scale.
    """

    classes: Moments
    pooled: Moments

    @property
    def power(self) -> Integers:
        """The exponents; values are stored as x·2^−power."""
        return self.pooled.exponent

    @cached_property
    def cells(self) -> tuple[Floats, ...]:
        """The cells of the classes and of all rows, each with means (high, low) and centred sums."""
        return (
            *(self.classes.cells, described(self.classes.cells)),
            *(self.pooled.cells, described(self.pooled.cells)),
        )

    @cached_property
    def least(self) -> Floats:
        """The smallest allowed deviation, in the stored scale."""
        with np.errstate(under="ignore", over="ignore"):
            return np.maximum(np.ldexp(SMALLEST_DEVIATION, -self.power), SMALLEST_DEVIATION)

    def scaled_values(self, chunk: Chunk, columns: NDArray[np.intp]) -> Floats:
        """Return the values of some columns in the stored scale. Raise an error for an infinite value."""
        values = np.ascontiguousarray(chunk.values[:, columns])
        infinite = np.isinf(values)
        if infinite.any():
            i, j = (int(place) for place in np.argwhere(infinite)[0])
            raise InfiniteValue(int(columns[j]), i, float(values[i, j]))
        if not self.power.any():
            return values
        with np.errstate(under="ignore", over="ignore"):
            scaled = np.ldexp(values, -self.power)
        # A value beyond the range of this scale was never counted. Clip it to the largest double.
        return np.asarray(np.clip(scaled, -np.finfo(np.float64).max, np.finfo(np.float64).max))


def described(cells: Floats) -> Floats:
    """Return the means (high, low) and centred sums of cells: shape (3, K, d)."""
    known = np.empty((3, *cells.shape[1:]))
    double.describe_cells(cells, *known)
    return known


def normals(places: Iterable[int], norm: Floats, mean: Floats, low: Floats, scale: Floats) -> Score:
    """Return the formula of independent normal densities: arrays of shape (K, d)."""
    parts = (norm, mean, low, scale)
    return Sum(
        tuple(normal(column, *(constant(part[:, i]) for part in parts)) for i, column in enumerate(places))
    )


class CentredDensity(Density):
    """The base class of densities about a mean. Constant attributes are left out.

    A subclass has the fields ``mean`` of shape (K, d), ``used`` and ``columns`` of shape (d,).
    """

    mean: Floats
    used: NDArray[np.bool_]

    @abstractmethod
    def _add_to(
        self, values: Floats, places: NDArray[np.uintp], tile: Floats, sums: Floats, out: Floats
    ) -> int:
        """Add the log-densities of the columns at ``places``; return a row with an infinite value, or −1."""

    @cached_property
    def _places(self) -> NDArray[np.uintp]:
        return np.asarray(self.columns[self.used], dtype=np.uintp)

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        self._add(chunk.values, self._places, out)

    def log_density(self, values: ArrayLike) -> Floats:
        """Return the log-density of rows of these d attributes alone: shape (n, K)."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        out = np.zeros((len(values), len(self.mean)))
        self._add(values, np.flatnonzero(self.used).astype(np.uintp), out)
        return out

    def _add(self, values: Floats, places: NDArray[np.uintp], out: Floats) -> None:
        tile, sums = np.empty((len(places), TILE)), np.empty((len(self.mean), TILE))
        infinite = self._add_to(values, places, tile, sums, out)
        if infinite >= 0:
            raise infinite_value(values, infinite)

    def in_use(self) -> NDArray[np.bool_]:
        return self.used


@dataclass(frozen=True, eq=False)
class Gaussian(CentredDensity):
    r"""Independent normal densities of d attributes in each of K classes.

    .. math:: p(x_j \mid c) = \frac{1}{\sqrt{2\pi}\,\sigma_{cj}}
              \exp\left(-\frac{(x_j - \mu_{cj})^2}{2\sigma_{cj}^2}\right)

    Attributes
    ----------
    mean, mean_low : arrays of shape (K, d)
        The means as high + low.
    variance, deviation : arrays of shape (K, d)
        The deviation stays in range even if its square does not.
    used : bool array of shape (d,)
        False for an attribute that is left out because it is constant.
    columns : int array of shape (d,)
        The positions of the attributes in ``chunk.values``.
    counted : CountedMoments, optional
        The moments that they were estimated from. ``unbiased``, ``floor`` and ``floor_share`` are those of
        :func:`estimate_gaussian`.
    """

    mean: Floats
    mean_low: Floats
    variance: Floats
    deviation: Floats
    used: NDArray[np.bool_]
    columns: NDArray[np.intp]
    counted: CountedMoments | None = None
    unbiased: bool = False
    floor: float = 1e-9
    floor_share: float | None = None

    family: ClassVar[str] = "gaussian"
    parameters: ClassVar[tuple[str, ...]] = ("mean", "mean_low", "variance", "deviation")
    words: ClassVar[FamilyWords] = FamilyWords(
        "a normal density", "numbers (normal density)", "N(x; μ, σ²) is the normal density."
    )

    @classmethod
    def estimate(cls, sums: ColumnSums) -> Gaussian:
        return estimate_gaussian(
            sums.moments, sums.columns, unbiased=sums.unbiased, floor_share=sums.floor_share
        )

    @cached_property
    def _tables(self) -> tuple[Floats, ...]:
        """The arguments of the kernel, for the attributes that are used."""
        mean, low, deviation = (a[:, self.used] for a in (self.mean, self.mean_low, self.deviation))
        norm = -np.log(deviation) - 0.5 * np.log(2.0 * np.pi)
        inverse = np.sqrt(0.5) / deviation
        return (*map(np.ascontiguousarray, (mean, low, inverse, norm)), norm.sum(axis=1))

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        assert self.counted is not None
        values, k = self.counted.scaled_values(chunk, self.columns), len(self.mean)
        share = -1.0 if self.floor_share is None else self.floor_share
        scratch = np.empty((4, values.shape[1])), np.empty((3, k))
        negative = add_gaussian(
            values, chunk.target, own, *self.counted.cells, self.counted.power, self.counted.least,
            self.unbiased, self.floor, share, *scratch, out,
        )  # fmt: skip
        if negative < 0.0:
            raise never_counted(negative)

    def _add_to(
        self, values: Floats, places: NDArray[np.uintp], tile: Floats, sums: Floats, out: Floats
    ) -> int:
        return int(add_log_density(values, places, *self._tables, tile, sums, out))

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        spread = np.where(self.used, self.deviation, 0.0)
        noise = rng.standard_normal((len(classes), len(self.used)))
        return self.mean[classes] + spread[classes] * noise

    def formula(self, i: int, k: int) -> Formula:
        mean = Parameter("μ", float(self.mean[k, i]), float(self.deviation[k, i]))
        return Formula("N", (mean, Parameter("σ²", float(self.variance[k, i]))))

    def left_out_alone(self, x: Floats, own: Floats, target: Codes, scored: Floats) -> Floats:
        if not self.used[0]:
            return scored[np.arange(len(x)), target]
        assert self.counted is not None
        n = self.counted.classes.weight[target, 0]
        left = np.where(n - own > 1e-9, n - own, 1.0)
        # Use units of the pooled deviation, so that no square overflows.
        unit = float(self.counted.pooled.deviation()[0, 0])
        z = ((x - self.mean[target, 0]) - self.mean_low[target, 0]) / unit
        scatter = n * (self.counted.classes.deviation()[target, 0] / unit) ** 2 - own * n / left * z * z
        variance = np.maximum(scatter / left, 1e-9)
        gap = z + z * own / left
        score = -0.5 * np.log(2 * np.pi * variance) - np.log(unit) - gap * gap / (2 * variance)
        return np.asarray(score)

    def with_attribute_weights(self, discrete: Floats, numeric: Floats) -> Conditional:
        from bayeskit._conditionals.weighted import WeightedGaussian

        return WeightedGaussian(self, numeric[self.columns])

    def score(self) -> Score:
        mean, low, inverse, norm, _ = self._tables
        return normals(self._places.tolist(), norm, mean, low, inverse)

    def following(self, sums: RunningSums) -> RowFactor:
        from bayeskit._conditionals.following import FollowingNormals

        return FollowingNormals(sums, self)

    def put_terms(self, terms: WeightedTerms) -> None:
        # The term of a constant attribute stays zero.
        used, place = self.used, self.columns[self.used]
        terms.mean[place], terms.low[place] = self.mean.T[used], self.mean_low.T[used]
        terms.inverse[place] = np.sqrt(0.5) / self.deviation.T[used]
        terms.norm[place] += -np.log(self.deviation.T[used]) - 0.5 * np.log(2.0 * np.pi)

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        return NormalPosterior(
            {int(self.columns[i]): self._normals(i) for i in np.flatnonzero(self.used).tolist()}
        )

    def _normals(self, i: int) -> Normals:
        """Return the posterior of the i-th attribute.

        The family has no prior, so one imaginary row is added. It has the within-class variance and does not inform
        about the mean. So the posterior is proper even for a class of one row, and for larger classes it is almost
        that of the reference prior.
        """
        assert self.counted is not None
        classes, pooled, unit = self.counted.classes, self.counted.pooled, int(self.counted.power[i])
        n = classes.weight[:, i]
        spread = classes.scaled_variance()[:, i] * n
        overall = float(pooled.scaled_variance()[0, i])
        within = float(spread.sum() / max(n.sum(), 1e-300))
        within = within if within > 0.0 else overall
        rows = np.where(n > 0.0, n, 1.0)
        variance = np.where(n > 0.0, (spread + within) / rows, overall)
        variance = np.maximum(variance, self.floor * overall)
        least = 0.0
        if self.floor_share is not None:
            least = float(self.floor_share * pooled.variance().max(initial=0.0))
        deviation = np.ldexp(np.sqrt(variance), unit)
        return Normals(self.mean[:, i], self.mean_low[:, i], deviation, rows, rows, least)

    def add_nodes(self, nodes: Nodes) -> None:
        mean = self.mean + self.mean_low
        for i in np.flatnonzero(self.used).tolist():
            nodes.add_normal(int(self.columns[i]), mean[:, i], self.deviation[:, i])

    @property
    def saved(self) -> tuple[str, ...]:
        return (*self.parameters, "used")

    def by_class(self) -> list[Floats]:
        """Means and deviations in units of the first class's deviation."""
        mean, deviation = self.mean[:, self.used], self.deviation[:, self.used]
        with np.errstate(over="ignore"):  # an infinite difference still means that the means differ
            return [((mean - mean[:1]) / deviation[:1]).T, (deviation / deviation[:1]).T]

    def n_free(self) -> int:
        return 2 * int(self.used.sum())

    def _overall(self, pooled: Moments) -> tuple[Floats, Floats]:
        """The mean and deviation of all rows, of the attributes that are used."""
        columns = self.columns[self.used]
        return pooled.mean()[0][0, columns], np.maximum(pooled.deviation()[0, columns], SMALLEST_DEVIATION)

    def flat(self, pooled: Moments | None) -> list[Floats]:
        """Means in units of the overall spread, and logarithms of deviations."""
        assert pooled is not None
        centre, unit = self._overall(pooled)
        return [(self.mean[:, self.used] - centre) / unit, np.log(self.deviation[:, self.used])]

    def unflat(self, take: Callable[[tuple[int, ...]], Floats], pooled: Moments | None) -> Self:
        assert pooled is not None
        shape = len(self.mean), int(self.used.sum())
        centre, unit = self._overall(pooled)
        mean, deviation = self.mean.copy(), self.deviation.copy()
        mean[:, self.used] = centre + unit * take(shape)
        # The floor also applies to extrapolated parameters.
        deviation[:, self.used] = np.maximum(np.exp(take(shape)), np.sqrt(self.floor) * unit)
        return self.moved(mean=mean, mean_low=np.zeros_like(mean), variance=deviation**2, deviation=deviation)

    def raised(self, floor: float, pooled: Moments | None) -> Self:
        """Raise variances to the bound. This maximises the likelihood, which decreases above the estimate."""
        if floor <= self.floor:
            return self
        assert pooled is not None
        least = np.sqrt(floor) * pooled.deviation()[0, self.columns]
        deviation = np.maximum(self.deviation, least)
        return self.moved(deviation=deviation, variance=deviation**2, floor=floor)

    def with_floor(self, floor: float) -> Self:
        return self.moved(floor=max(self.floor, floor))

    def on_floor(self, pooled: Moments) -> list[tuple[int, int]]:
        overall = pooled.variance()[0, self.columns]
        flat = self.used & (self.variance <= 1.001 * self.floor * overall)
        return [(k, int(self.columns[j])) for k, j in np.argwhere(flat).tolist()]

    def is_sound(self) -> bool:
        return bool(((self.deviation > 0.0) & (self.variance >= 0.0)).all())

    def write_tables(self, tables: LatentTables, exponent: NDArray[np.int64]) -> bool:
        columns, k, power = self.columns, len(self.mean), exponent[self.columns]
        tables.kinds[columns[self.used]] = 1
        tables.centre[columns, :k] = np.ldexp(self.mean, -power).T
        tables.low[columns, :k] = np.ldexp(self.mean_low, -power).T
        tables.scale[columns, :k] = np.ldexp(np.sqrt(0.5) / self.deviation, power).T
        density = -np.log(self.deviation) - 0.5 * np.log(2.0 * np.pi)
        tables.norm[columns, :k] += np.where(self.used, density, 0.0).T
        return True

    def summary(self) -> Summary:
        spread = np.where(self.used, self.deviation, 0.0)
        return Summary(("mean", "sd"), np.stack([self.mean, spread], axis=-1))


def estimate_gaussian(
    moments: Moments,
    columns: NDArray[np.intp],
    *,
    unbiased: bool = False,
    floor: float = 1e-9,
    absolute_floor: float | None = None,
    floor_share: float | None = None,
) -> Gaussian:
    """Estimate normal densities from moments.

    Parameters
    ----------
    moments : Moments
    columns : int array of shape (d,)
        The positions of the attributes in ``chunk.values``.
    unbiased : bool
        Divide by n − 1 instead of n. A class of weight 1 or less then has the variance of all classes.
    floor : float
        The smallest variance, as a fraction of the attribute's variance over all classes. A constant attribute is left
        out.
    absolute_floor : float, optional
        Add this to every variance instead (scikit-learn's ``epsilon_``). An attribute is then left out only if a
        variance is still 0.
    floor_share : float, optional
        Use this fraction of the largest variance over all classes as ``absolute_floor`` (scikit-learn's
        ``var_smoothing``). In leave-one-out, the row that is left out does not contribute to it.

    A class without values of an attribute has the mean and variance of all classes.

    Examples
    --------
    >>> moments = Moments.from_sums([[2.0], [2.0]], [[0.0], [5.0]], [[2.0], [2.0]], [[4.0], [4.0]])
    >>> gaussian = estimate_gaussian(moments, np.array([0]))
    >>> gaussian.mean.ravel(), gaussian.variance.ravel()
    (array([1., 6.]), array([1., 1.]))
    """
    pooled = moments.pooled()
    if floor_share is not None:
        absolute_floor = float(floor_share * pooled.variance().max(initial=0.0))
    moments = moments.rescaled(pooled.exponent)
    absent = moments.weight <= 0.0
    (high, low), (pooled_high, pooled_low) = moments.mean(), pooled.mean()
    mean, mean_low = np.where(absent, pooled_high, high), np.where(absent, pooled_low, low)
    overall = pooled.scaled_variance()
    variance = moments.scaled_variance(unbiased)
    unknown = moments.weight <= ONE_ROW if unbiased else absent
    variance = np.where(unknown, pooled.scaled_variance(unbiased), variance)
    if absolute_floor is None:
        variance = np.maximum(variance, floor * overall)
        used = overall[0] > 0.0
    else:
        with np.errstate(over="ignore", under="ignore"):
            variance = variance + np.ldexp(absolute_floor, -2 * moments.exponent)
        used = (variance > 0.0).all(axis=0)
    deviation = np.maximum(np.ldexp(np.sqrt(variance), moments.exponent), SMALLEST_DEVIATION)
    with np.errstate(over="ignore", under="ignore"):
        variance = np.minimum(np.ldexp(variance, 2 * moments.exponent), np.finfo(np.float64).max)
    places = np.asarray(columns, dtype=np.intp)
    # A floor given as a number does not change when a row is left out.
    counted = CountedMoments(moments, pooled) if absolute_floor is None or floor_share is not None else None
    return Gaussian(
        *(mean, mean_low, variance, deviation, used, places, counted),
        unbiased=unbiased, floor=floor, floor_share=floor_share,
    )  # fmt: skip


def infinite_value(values: Floats, place: int) -> InfiniteValue:
    """Return the error for the infinite value at a flat index of ``values``."""
    row, column = divmod(place, values.shape[1])
    return InfiniteValue(column, row, float(values[row, column]))
