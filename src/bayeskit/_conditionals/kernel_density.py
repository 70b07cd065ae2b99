"""Kernel density estimates of p(x | class) over the cells of a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Codes, DrawRule, Nodes, ParameterPosterior
from bayeskit._conditionals.density import ColumnSums, Density, FamilyWords, Formula, Parameter, Shape
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._statistics.grids import Grid, Grids
from bayeskit._statistics.part import ONE_ROW
from bayeskit.errors import NotSupported, SettingError
from bayeskit.typing import Floats

# The number of rows to process at a time, one attribute after the other, so that its table stays in the cache.
_BLOCK = 512
# Values are clipped at this many standard deviations, so that squares stay finite.
_FARTHEST = 1e150


@kernel
def spread_cells(
    centres: Any, shares: Any, deviation: Any, reach: Any, left: Any, spacing: Any, density: Any, slope: Any
) -> None:
    """Add Σ p_i N(z; z_i, s²) and its derivative in z at the knots z = left, left + spacing, …

    At equal steps, the ratio of successive values of a Gaussian changes by a constant factor, so each knot needs two
    products instead of an exponential. Cells farther than ``reach`` deviations from a knot are ignored.
    """
    n_knots = density.shape[0]
    step = spacing / deviation
    fall = math.exp(-step * step)
    height = 1.0 / (deviation * math.sqrt(2.0 * math.pi))
    for i in range(centres.shape[0]):
        middle = (centres[i] - left) / spacing
        start = max(0, math.ceil(middle - reach / step))
        stop = min(n_knots, math.floor(middle + reach / step) + 1)
        t = (start - middle) * step
        value = shares[i] * height * math.exp(-0.5 * t * t)
        ratio = math.exp(-step * (t + 0.5 * step))
        for k in range(start, stop):
            density[k] += value
            slope[k] -= value * (k - middle) * step / deviation
            value *= ratio
            ratio *= fall


@kernel
def add_log_density(
    values: Any,
    columns: Any,
    mean: Any,
    sd: Any,
    log_share: Any,
    first_segment: Any,
    lefts: Any,
    spacing: Any,
    first_knot: Any,
    knots: Any,
    out: Any,
) -> None:
    """Add the log density of every present value in each class.

    ``knots`` holds log densities and their increments over one spacing. Between two knots, the cubic with these values
    and slopes is used. Outside the segments of a class, only the broad density remains.
    """
    n, n_classes = out.shape
    one = np.uintp(1)
    for begin in range(0, n, _BLOCK):
        for j in range(columns.shape[0]):
            if sd[j] == 0.0:
                continue
            column = columns[j]
            for i in range(begin, min(begin + _BLOCK, n)):
                x = values[i, column]
                if math.isnan(x):
                    continue
                z = min(max((x - mean[j]) / sd[j], -_FARTHEST), _FARTHEST)
                broad = np.nan
                for c in range(n_classes):
                    pair = j * n_classes + c
                    low, high = first_segment[pair], first_segment[pair + 1]
                    while high - low > one:
                        middle = (low + high) >> one
                        if lefts[middle] <= z:
                            low = middle
                        else:
                            high = middle
                    t = (z - lefts[low]) / spacing[pair]
                    start = first_knot[low]
                    # Compare as floats, because t may be too large for an integer.
                    if t >= 0.0 and t < np.float64(first_knot[low + one] - start - one):
                        k = np.uintp(t)
                        u = t - np.float64(k)
                        k += start
                        y0, m0 = knots[k, 0], knots[k, 1]
                        y1, m1 = knots[k + one, 0], knots[k + one, 1]
                        rise = y1 - y0
                        bend = m0 + m1 - 2.0 * rise
                        out[i, c] += y0 + u * (m0 + u * (rise - m0 - bend + u * bend))
                    else:
                        if math.isnan(broad):
                            broad = log_share[j] - math.log1p(z * z)
                        out[i, c] += broad


# The share of the broad density in every class.
BROAD_SHARE = 1e-3
# Bounds of the bandwidth, in units of the pooled standard deviation, which limit the size of the tables. Only a few
# extreme outliers reach the upper bound.
LEAST_BANDWIDTH, LARGEST_BANDWIDTH = 1e-3, 1e3
# Beyond 9 deviations a kernel is below 3e-18 of its peak, far below the broad density.
REACH = 9.0
# With 8 knots per deviation, the error of the cubic is below 1e-3, even where kernel and broad density cross.
KNOTS_PER_DEVIATION = 8

# The maximum number of knots for one attribute and class. Only rows with tiny weights spread over 1e5 sd reach it.
MOST_KNOTS = 1 << 20


@dataclass(frozen=True)
class KernelDensity(Density):
    """Densities of numeric attributes, independent given the class.

    Attributes
    ----------
    columns : array of shape (d,)
        The positions of the attributes among the numeric ones.
    mean, sd : arrays of shape (d,)
        Over all classes; z = (x − mean)/sd. An attribute with sd 0 is left out of the density.
    offsets : array of shape (d + 1,)
        The start of the cells of each attribute.
    centres : array of shape (m,)
        z of the cells' centres.
    shares : array of shape (m, K)
        n(cell, c) / n_c.
    deviations : array of shape (d, K)
        √(h² + width²/12), in units of sd.
    spacing : array of shape (d, K)
        The distance of the knots.
    first_segment, lefts, first_knot, knots
        The tables: for each attribute and class some segments, for each its leftmost z and its knots, for
        each knot the log density and its increment over one spacing.
    counted : Grids
        The grids that they were estimated from.
    """

    columns: NDArray[np.uintp]
    mean: Floats
    sd: Floats
    offsets: NDArray[np.intp]
    centres: Floats
    shares: Floats
    deviations: Floats
    spacing: Floats
    first_segment: NDArray[np.uintp]
    lefts: Floats
    first_knot: NDArray[np.uintp]
    knots: Floats
    counted: Grids

    family: ClassVar[str] = "kernel"
    parameters: ClassVar[tuple[str, ...]] = ()
    pattern: ClassVar[Literal["moments", "grids"]] = "grids"
    # The sums of a hidden class are moments, which do not determine a kernel density.
    can_be_hidden: ClassVar[bool] = False
    words: ClassVar[FamilyWords] = FamilyWords(
        *("a kernel density", "numbers (kernel density)"),
        "kernel(x; h) is a kernel density of bandwidth h.",
        hint="its shape is far from the normal curve",
    )

    @classmethod
    def estimate(cls, sums: ColumnSums) -> KernelDensity:
        return estimate_kernel(sums.grids, sums.columns)

    @classmethod
    def hinted(cls, shape: Shape) -> bool:
        return shape.n >= 50 and (abs(shape.skew) > 2 or shape.tail > 7 or shape.tail < -1.5)

    def in_use(self) -> NDArray[np.bool_]:
        return np.asarray(self.sd > 0.0)

    def formula(self, i: int, k: int) -> Formula:
        return Formula("kernel", (Parameter("h", float(self.deviations[i, k] * self.sd[i])),))

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        raise NotSupported(
            'a kernel density is not a distribution with a few parameters (choose families={...: "gaussian"})'
        )

    def add_nodes(self, nodes: Nodes) -> None:
        way_out = 'Use numeric="gaussian", or TAN(numeric="mdl"), which cuts intervals.'
        raise nodes.refusal(self, "a kernel density", way_out)

    def left_out_alone(self, x: Floats, own: Floats, target: Codes, scored: Floats) -> Floats:
        """Remove the row's own kernel from the density, with fixed bandwidths."""
        score = scored[np.arange(len(x)), target]
        sd, grid = float(self.sd[0]), self.counted.grid(0)
        if sd == 0.0:
            return score
        n = np.maximum(grid.counts, 0.0).sum(axis=0)[target]
        left = np.where(n - own > 1e-9, n - own, 1.0)
        z = (x - self.mean[0]) / sd
        width = math.ldexp(1.0, int(grid.exponent))
        centre = ((np.floor(x / width) + 0.5) * width - self.mean[0]) / sd
        deviation = self.deviations[0, target]
        peak = np.exp(-0.5 * ((z - centre) / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation * sd)
        broad = BROAD_SHARE / (math.pi * (1.0 + z * z) * sd)
        narrow = np.maximum((np.exp(score) - broad) * n - (1.0 - BROAD_SHARE) * own * peak, 0.0) / left
        return np.asarray(np.log(narrow + broad))

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        used = np.where(self.sd > 0.0, self.sd, 1.0)
        log_share = math.log(BROAD_SHARE / math.pi) - np.log(used)
        tables = (self.first_segment, self.lefts, self.spacing.ravel(), self.first_knot, self.knots)
        add_log_density(chunk.values, self.columns, self.mean, self.sd, log_share, *tables, out)

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Draw a cell by its share, then a value from its kernel. The broad density is not sampled."""
        drawn = np.empty((len(classes), len(self.columns)))
        rows_of = [(c, np.flatnonzero(classes == c)) for c in np.unique(classes)]
        for j in range(len(self.columns)):
            cells = slice(self.offsets[j], self.offsets[j + 1])
            centres = self.centres[cells]
            for c, rows in rows_of:
                if self.sd[j] == 0.0:
                    drawn[rows, j] = self.mean[j]
                    continue
                heap = np.cumsum(self.shares[cells, c])
                at = np.searchsorted(heap, rng.random(len(rows)) * heap[-1], side="right")
                z = centres[np.minimum(at, len(centres) - 1)]
                z = z + self.deviations[j, c] * rng.standard_normal(len(rows))
                drawn[rows, j] = self.mean[j] + self.sd[j] * z
        return drawn


def estimate_kernel(
    grids: Grids, columns: NDArray[np.intp], *, bandwidth: Literal["silverman"] | float = "silverman"
) -> KernelDensity:
    r"""Estimate the density of each attribute in each class.

    .. math:: p(x \mid c) = (1 - \varepsilon) \sum_i \frac{n_{ic}}{n_c} N(x;\, m_i,\, h_c^2 + w^2/12)
              + \varepsilon\, \mathrm{Cauchy}(x;\, \bar x, s)

    over the cells i with centres m_i and width w. The term w²/12 accounts for the spread of values within a cell.
    Silverman's bandwidth is h = 0.9 min(sd, IQR/1.34) n^(−1/5), computed in each class from the cells. If the quartiles
    are equal, only the sd is used; a class with a single row uses the spread of all classes. The bandwidth is at least
    w, and between 1e-3 and 1e3 times the attribute's pooled sd. A class without values gets the density of all
    classes. An attribute without spread is left out.

    The Cauchy density about the pooled mean, with the pooled sd as its scale and the share ε = 1e-3, is the
    same in all classes: a value far from every row is finite under all of them and favours none.

    There are two approximations. Values are placed at the centres of their cells. The logarithm of the formula above is
    stored at knots an eighth of a deviation apart (or of the pooled sd, if that is smaller), with cubics between them.
    Their error is below 1e-3 (the largest found over random grids was 4e-4). Beyond 9 deviations from every row, only
    the broad density is used.

    Parameters
    ----------
    grids : Grids
    columns : sequence of int
        The positions of the grids' attributes among the numeric columns of a chunk.
    bandwidth : "silverman" or float
        A number multiplies Silverman's h: 0.5 halves it. The bounds still apply.

    References
    ----------
    Silverman (1986), Density Estimation for Statistics and Data Analysis, p. 48. John and Langley (1995),
    Estimating continuous distributions in Bayesian classifiers.

    Examples
    --------
    >>> from bayeskit._statistics.grids import Grid
    >>> grid = Grid(3, -2, np.array([4, 8, 20]), np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 3.0]]))
    >>> density = estimate_kernel(Grids.of([grid], n_classes=2), [0])
    >>> out = np.zeros((2, 2))
    >>> density.add_log_prob(Chunk(2, np.empty((2, 0), np.uint8), np.array([[1.1], [5.1]])), out)
    >>> out.argmax(axis=1)
    array([0, 1])
    """
    factor = 1.0 if bandwidth == "silverman" else bandwidth
    if not (isinstance(factor, (int, float)) and 0.0 < factor < math.inf):
        raise SettingError(
            "bandwidth={bandwidth!r} has no meaning; give 'silverman' or a positive number.",
            bandwidth=bandwidth,
        )
    d, n_classes = len(grids), grids.n_classes
    mean, sd = np.full(d, np.nan), np.zeros(d)
    deviations, spacing = np.zeros((d, n_classes)), np.ones((d, n_classes))
    centres, shares = np.zeros(len(grids.ids)), np.zeros(grids.counts.shape)
    segments: list[list[tuple[float, Floats]]] = []
    for j in range(d):
        cells = slice(int(grids.offsets[j]), int(grids.offsets[j + 1]))
        mean[j], sd[j], z, width = _standardised(grids.grid(j))
        if sd[j] == 0.0:
            segments.extend([] for _ in range(n_classes))
            continue
        centres[cells] = z
        weights = np.maximum(grids.counts[cells], 0.0)
        pooled = weights.sum(axis=1)
        for c in range(n_classes):
            n_ic = weights[:, c] if weights[:, c].any() else pooled
            h = min(max(factor * _silverman(z, n_ic, pooled), width, LEAST_BANDWIDTH), LARGEST_BANDWIDTH)
            deviations[j, c] = math.sqrt(h * h + width * width / 12.0)
            shares[cells, c] = n_ic / n_ic.sum()
            spacing[j, c], pieces = _tabulate(z, shares[cells, c], float(deviations[j, c]), math.log(sd[j]))
            segments.append(pieces)
    flat = [segment for pair in segments for segment in pair]
    return KernelDensity(
        np.asarray(columns, np.uintp),
        mean,
        sd,
        grids.offsets.astype(np.intp),
        centres,
        shares,
        deviations,
        spacing,
        _starts([len(pair) for pair in segments]),
        np.array([left for left, _ in flat]),
        _starts([len(knots) for _, knots in flat]),
        np.concatenate([np.empty((0, 2)), *(knots for _, knots in flat)]),
        grids,
    )


def _starts(lengths: list[int]) -> NDArray[np.uintp]:
    return np.cumsum([0, *lengths]).astype(np.uintp)


def _standardised(grid: Grid) -> tuple[float, float, Floats, float]:
    """Return the pooled mean and sd, and in units of sd the centres of the cells and their width."""
    n_i = np.maximum(grid.counts, 0.0).sum(axis=1)
    if not n_i.any():
        return math.nan, 0.0, np.empty(0), 0.0
    # Use units of 2^largest, so that no square can overflow.
    unit = grid.exponent - grid.largest
    u = np.ldexp(grid.ids + 0.5, unit)
    centre = float(n_i @ u / n_i.sum())
    spread = math.sqrt(n_i @ (u - centre) ** 2 / n_i.sum())
    mean, sd = math.ldexp(centre, grid.largest), math.ldexp(spread, grid.largest)
    # Below the smallest normal number a deviation has too few digits to divide by.
    if np.count_nonzero(n_i) == 1 or sd < np.finfo(np.float64).tiny:
        return mean, 0.0, np.empty(0), 0.0
    return mean, sd, (u - centre) / spread, math.ldexp(1.0, unit) / spread


def _silverman(z: Floats, n_ic: Floats, pooled: Floats) -> float:
    n = float(n_ic.sum())
    spread = _spread(z, n_ic)
    if spread == 0.0 and n <= ONE_ROW:
        spread = _spread(z, pooled)
    return float(0.9 * spread * max(n, 1.0) ** -0.2)


def _spread(z: Floats, weights: Floats) -> float:
    """Return min(sd, IQR/1.34), or sd if the quartiles are equal."""
    if np.count_nonzero(weights) == 1:
        return 0.0
    n = weights.sum()
    sd = math.sqrt(weights @ (z - weights @ z / n) ** 2 / n)
    # A quarter of the weight that ends with a cell ends there whatever the last bit of the sum is.
    lower, upper = np.searchsorted(np.cumsum(weights), np.array([0.25, 0.75]) * n * (1.0 - 1e-9))
    return min(sd, (z[upper] - z[lower]) / 1.34) if upper > lower else sd


def _tabulate(
    z: Floats, shares: Floats, deviation: float, log_sd: float
) -> tuple[float, list[tuple[float, Floats]]]:
    """Return the spacing, then the leftmost z and the knots of each run of cells without a wide gap."""
    z, shares = z[shares > 0.0], shares[shares > 0.0]
    pad = REACH * deviation
    gaps = np.diff(z)
    covered = 2.0 * pad + np.minimum(gaps, 2.0 * pad).sum()
    # Fine enough for the kernels and for the broad density, whose scale is 1.
    spacing = max(min(deviation, 1.0) / KNOTS_PER_DEVIATION, covered / MOST_KNOTS)
    ends = np.flatnonzero(gaps > 2.0 * pad) + 1
    segments = []
    for cells, p in zip(np.split(z, ends), np.split(shares, ends), strict=True):
        left = float(cells[0] - pad)
        at = left + spacing * np.arange(math.ceil((cells[-1] + pad - left) / spacing) + 2)
        density, slope = np.zeros(len(at)), np.zeros(len(at))
        spread_cells(cells, p, deviation, REACH, left, spacing, density, slope)
        broad = BROAD_SHARE / (math.pi * (1.0 + at * at))
        total = (1.0 - BROAD_SHARE) * density + broad
        slope = (1.0 - BROAD_SHARE) * slope - broad * 2.0 * at / (1.0 + at * at)
        segments.append((left, np.column_stack([np.log(total) - log_sd, slope / total * spacing])))
    return spacing, segments
