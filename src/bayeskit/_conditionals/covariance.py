"""Gaussian classes with full covariance matrices: one per class (QDA) or one for all (LDA)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from bayeskit._conditionals.conditional import Codes, Conditional, DrawnRows, Workings
from bayeskit._conditionals.gaussian import infinite_value
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._statistics.scatter import Scatter
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)


def add_with_gaps(x: Floats, mean: Floats, standard: Floats, unit: Floats, out: Floats) -> None:
    """Add the log density of the values present in each row of ``x``; NaN is a gap.

    ``standard`` are the covariances, one for each class or one for all, columns measured in ``unit``.
    """
    gaps = np.isnan(x)
    # Rows with the same gaps stand together, so each sub-matrix is factorised once.
    order = np.lexsort(np.packbits(gaps, axis=1).T)
    d, groups = len(unit), len(standard)
    factor, log_norm = np.empty((groups, d, d)), np.empty(groups)
    _add(
        x,
        gaps,
        order.astype(np.uintp),
        mean,
        standard,
        unit,
        out,
        factor,
        log_norm,
        np.empty(d, np.uintp),
        np.empty(d),
    )


@kernel
def _add(
    x: Any,
    gaps: Any,
    order: Any,
    mean: Any,
    standard: Any,
    unit: Any,
    out: Any,
    factor: Any,
    log_norm: Any,
    present: Any,
    y: Any,
) -> None:
    m = 0
    for step in range(order.shape[0]):
        row = order[step]
        fresh = step == 0
        if not fresh:
            before = order[step - 1]
            for j in range(unit.shape[0]):
                fresh = fresh or gaps[row, j] != gaps[before, j]
        if fresh:
            m = 0
            for j in range(unit.shape[0]):
                if not gaps[row, j]:
                    present[m] = j
                    m += 1
            for g in range(standard.shape[0]):
                log_norm[g] = m * HALF_LOG_TAU
                for a in range(m):
                    for b in range(a + 1):
                        rest = standard[g, present[a], present[b]]
                        for t in range(b):
                            rest -= factor[g, a, t] * factor[g, b, t]
                        if a == b:
                            # Leaving columns out makes nothing more singular; this bounds rounding alone.
                            rest = math.sqrt(max(rest, 1e-12 * standard[g, present[a], present[a]]))
                            log_norm[g] += math.log(rest) + math.log(unit[present[a]])
                            factor[g, a, a] = rest
                        else:
                            factor[g, a, b] = rest / factor[g, b, b]
        if m == 0:
            continue
        for k in range(mean.shape[0]):
            g = min(k, standard.shape[0] - 1)
            q = 0.0
            for a in range(m):
                j = present[a]
                rest = (x[row, j] - mean[k, j]) / unit[j]
                for b in range(a):
                    rest -= factor[g, a, b] * y[b]
                y[a] = rest / factor[g, a, a]
                q += y[a] * y[a]
            out[row, k] -= 0.5 * q + log_norm[g]


# Values further than this many units out are taken as this far out, so that squares stay finite.
_FARTHEST = 1e100
# Rows multiplied at a time, few enough to stay in the cache.
_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class GaussianClasses(Conditional):
    r"""Several numeric attributes, jointly Gaussian in each class.

    .. math:: \log p(x \mid c) = -\tfrac12 \|L_c^{-1} (x - \mu_c)\|^2 - \sum_i \log L_{c,ii}
        - \tfrac d2 \log 2\pi, \qquad \Sigma_c = L_c L_c^T

    Attributes
    ----------
    columns : array of shape (d,)
        Where the attributes stand among the values of a chunk.
    varying : array of indices into ``columns``
        The attributes that are not constant overall; the others say nothing and are left out.
    mean : array of shape (K, d)
    unit : array of shape (v,)
        The pooled standard deviation of each varying attribute.
    standard : array of shape (K, v, v), or (1, v, v) when shared
        The covariances, measured in ``unit``.
    whitening : array of the same shape
        :math:`L^{-T}`, for rows in their own units.
    log_norm : array of the same length
    shrinkage : array of the same length
        The weight that the shrinkage target has.
    """

    columns: NDArray[np.intp]
    varying: NDArray[np.intp]
    mean: Floats
    unit: Floats
    standard: Floats
    whitening: Floats
    log_norm: Floats
    shrinkage: Floats

    @property
    def covariance(self) -> Floats:
        """The covariance of each class, zero for constant attributes: shape (K, d, d)."""
        k, d = self.mean.shape
        full = np.zeros((k, d, d))
        full[:, self.varying[:, None], self.varying] = self.standard * self.unit * self.unit[:, None]
        return full

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        """Add log p(attributes | class) to ``out`` of shape (n, K); a missing value is integrated out."""
        if not len(self.varying) or not chunk.n_rows:
            return
        x = np.take(chunk.values, self.columns[self.varying], axis=1)
        if np.isinf(x).any():
            row, place = np.argwhere(np.isinf(x))[0].tolist()
            raise infinite_value(
                chunk.values, row * chunk.values.shape[1] + int(self.columns[self.varying[place]])
            )
        mean = np.take(self.mean, self.varying, axis=1)
        middle = mean.mean(axis=0)
        np.clip(x, middle - _FARTHEST * self.unit, middle + _FARTHEST * self.unit, out=x)
        if not np.isnan(x.min()):
            self._add_complete(x, mean, out)
            return
        gaps = np.isnan(x).any(axis=1)
        for rows, add in ((~gaps, self._add_complete), (gaps, self._add_with_gaps)):
            part = np.zeros((np.count_nonzero(rows), out.shape[1]))
            add(x[rows], mean, part)
            out[rows] += part

    def _add_complete(self, x: Floats, mean: Floats, out: Floats) -> None:
        for begin in range(0, len(x), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            for k, centre in enumerate(mean):
                g = min(k, len(self.whitening) - 1)
                z = (x[part] - centre) @ self.whitening[g]
                out[part, k] -= 0.5 * np.einsum("ij,ij->i", z, z) + self.log_norm[g]

    def _add_with_gaps(self, x: Floats, mean: Floats, out: Floats) -> None:
        add_with_gaps(x, mean, self.standard, self.unit, out)

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Draw the attributes for rows of the classes given; NaN where no complete row was ever seen."""
        drawn = self.mean[classes]
        noise = rng.standard_normal((len(classes), len(self.unit)))
        for g, standard in enumerate(self.standard if len(self.unit) else ()):
            rows = np.flatnonzero(classes == g) if len(self.standard) > 1 else np.arange(len(classes))
            drawn[np.ix_(rows, self.varying)] += noise[rows] @ np.linalg.cholesky(standard).T * self.unit
        return drawn

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.values[:, self.columns] = self.sample(rows.classes, rng)

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_together(self)

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        """Show one column after the other: P(x_1 | c) P(x_2 | c, x_1) …, in the order of the columns."""
        values = np.full_like(chunk.values, np.nan)
        before = np.zeros((chunk.n_rows, out.shape[2]))
        for column in sorted(self.columns.tolist()):
            values[:, column] = chunk.values[:, column]
            now = np.zeros_like(before)
            self.add_log_prob(Chunk(chunk.n_rows, chunk.codes, values), now)
            out[:, numeric[column]] += now - before
            before = now


def estimate_covariance(
    scatter: Scatter,
    columns: Sequence[int] | NDArray[np.intp],
    *,
    shared: bool = False,
    unbiased: bool = False,
    shrinkage: Shrinkage = None,
) -> GaussianClasses:
    r"""Turn scatter into Gaussian classes that are never singular.

    Parameters
    ----------
    columns : where the attributes of the scatter stand among the values of a chunk
    shared : bool
        One covariance for all classes, about their own means (LDA), instead of one for each (QDA).
    unbiased : bool
        Divide by n − 1 (n − K when shared) instead of n; a class of one row then has the pooled covariance.
    shrinkage : None, a number from 0 to 1, or "ledoit-wolf"
        A number s gives :math:`(1 - s) S + s \frac{\operatorname{tr} S}{d} I` in the units of the columns.
        "ledoit-wolf" finds s from the data, in units of the pooled standard deviation, so that the answer
        does not hang on whether a column is in metres or miles. None shrinks in that way where there are
        no more rows than attributes + 1, and otherwise not at all.

    Notes
    -----
    A covariance that is still singular has 1e-9 of the pooled variance added to each of its variances, ten
    times more until it is not. A class without complete rows has the mean and covariance of all rows.

    Examples
    --------
    >>> square = np.array([[[4.0, 0.0], [0.0, 4.0]]] * 2)
    >>> pivot, weight = np.array([[0.0, 0.0], [9.0, 9.0]]), np.full(2, 4.0)
    >>> twos = Scatter.about(pivot, weight, np.zeros((2, 2)), square, square, square)
    >>> estimate_covariance(twos, [0, 1]).covariance[1]
    array([[1., 0.],
           [0., 1.]])
    """
    shrinkage = checked_shrinkage(shrinkage)
    pooled, within = scatter.pooled(), scatter.within()
    everyone, centre = np.diagonal(pooled.covariance()[0]), pooled.mean()[0]
    # No double tells values apart that differ by less than their last bit.
    varying = np.flatnonzero(everyone > (4 * np.finfo(np.float64).eps * centre) ** 2)
    inside = np.diagonal(within.covariance()[0])
    unit = np.sqrt(np.where(inside > 1e-24 * everyone, inside, everyone))[varying]
    mean = np.where(scatter.weight[:, None] > 0, scatter.mean(), centre)

    def fitted(one: Scatter, n_means: int) -> tuple[Floats, Floats, float]:
        rows, keep = one.weight[0] - (n_means - 1), np.ix_(varying, varying)
        covariance = one.covariance()[0][keep] / unit / unit[:, None]
        if unbiased and rows > 1:
            covariance *= one.weight[0] / (rows - 1.0)
        ball, weight = np.ones_like(unit), 0.0
        if isinstance(shrinkage, float):
            ball, weight = 1.0 / unit, shrinkage
        elif shrinkage == "ledoit-wolf" or rows <= len(varying) + 1:
            weight = ledoit_wolf(one.restricted(varying), unit)
        return *regular(shrunk(covariance, weight, ball)), weight

    if not len(varying):
        found = []
    elif shared:
        n_means = int(np.count_nonzero(scatter.weight > 0))
        found = [fitted(within, n_means) if within.weight[0] > n_means * unbiased else fitted(pooled, 1)]
    else:
        enough = scatter.weight > unbiased
        found = [fitted(scatter.of_class(c) if enough[c] else pooled, 1) for c in range(len(mean))]
    v = len(varying)
    shape = (len(found), v, v)
    standard = np.array([covariance for covariance, _, _ in found]).reshape(shape)
    inverse = [solve_triangular(factor, np.diag(1.0 / unit), lower=True).T for _, factor, _ in found]
    log_norm = [np.log(np.diagonal(f)).sum() + np.log(unit).sum() + v * HALF_LOG_TAU for _, f, _ in found]
    return GaussianClasses(
        np.asarray(columns, dtype=np.intp),
        varying,
        mean,
        unit,
        standard,
        np.array(inverse).reshape(shape),
        np.array(log_norm),
        np.array([weight for _, _, weight in found]),
    )


Shrinkage = float | Literal["ledoit-wolf"] | None

# The variance given to directions in which a class has none, in units of the pooled variance.
FLOOR = 1e-9
# A column of which less than this is left once the columns before it are known is singular: it is no
# more than what rounding leaves of an exact copy.
_SINGULAR = 1e-12
# The share of Σ‖z‖⁴ below which its excess over ‖S‖² is rounding.
_NO_EXCESS = 1e-12


def checked_shrinkage(shrinkage: Shrinkage) -> Shrinkage:
    """Return a shrinkage that means something, or say which ones do."""
    if shrinkage is None or (isinstance(shrinkage, str) and shrinkage == "ledoit-wolf"):
        return shrinkage
    if isinstance(shrinkage, (int, float, np.number)) and 0 <= shrinkage <= 1:
        return float(shrinkage)
    raise SettingError(
        'shrinkage={shrinkage!r} means nothing: it is None, "ledoit-wolf" or from 0 to 1.',
        shrinkage=shrinkage,
    )


def ledoit_wolf(scatter: Scatter, unit: Floats) -> float:
    r"""Return Ledoit and Wolf's weight of the target :math:`\mu I`, for statistics of one class.

    .. math:: \hat s = \min(\beta, \delta) / \delta, \quad
        \beta = \frac{1}{dn} \Big(\frac1n \sum_r \|z_r\|^4 - \|S\|^2\Big), \quad
        \delta = \frac1d \|S - \mu I\|^2, \quad \mu = \operatorname{tr} S / d

    where z are the rows about their mean, with column j measured in ``unit[j]``.

    References
    ----------
    O. Ledoit and M. Wolf, *A well-conditioned estimator for large-dimensional covariance matrices*,
    Journal of Multivariate Analysis 88 (2004).

    Examples
    --------
    >>> s2 = np.array([[[2.0, 0.0], [0.0, 8.0]]])  # the rows (1, 0), (−1, 0), (0, 2), (0, −2)
    >>> s4 = np.array([[[2.0, 0.0], [0.0, 32.0]]])
    >>> rows = Scatter.about(np.zeros((1, 2)), np.full(1, 4.0), np.zeros((1, 2)), s2, 0 * s2, s4)
    >>> round(ledoit_wolf(rows, np.ones(2)), 4)
    0.9444
    """
    centred = scatter.within()
    n, d = float(centred.weight[0]), len(unit)
    if n <= 0 or d < 2:
        return 0.0
    # One division at a time: the fourth power of a small unit would underflow.
    s = centred.second[0] / n / unit / unit[:, None]
    fourth = centred.fourth[0] / unit**2 / (unit**2)[:, None]
    mu = np.trace(s) / d
    total = fourth.sum() / n
    excess = total - (s**2).sum()
    # Two rows of a class lie on one line and equally far out: there nothing is left but rounding.
    beta = excess / (d * n) if excess > _NO_EXCESS * total else 0.0
    delta = ((s - mu * np.eye(d)) ** 2).sum() / d
    return float(min(beta, delta) / delta) if delta > 0 else 0.0


def shrunk(covariance: Floats, weight: float, unit: Floats) -> Floats:
    r"""Return :math:`(1 - s) S + s \mu I`, the ball being round where column j is measured in ``unit[j]``.

    Examples
    --------
    >>> shrunk(np.array([[2.0, 1.0], [1.0, 4.0]]), 0.5, np.ones(2))
    array([[2.5, 0.5],
           [0.5, 3.5]])
    """
    mu = float(np.mean(np.diagonal(covariance) / unit**2))
    return (1.0 - weight) * covariance + weight * mu * np.diag(unit**2)


def regular(covariance: Floats) -> tuple[Floats, Floats]:
    """Return a covariance in pooled units, lifted if singular, with its lower Cholesky factor.

    Examples
    --------
    >>> regular(np.array([[1.0, 1.0], [1.0, 1.0]]))[0][0, 0] - 1.0 < 2e-9
    np.True_
    """
    # Once the lift is above the sum of every row, the diagonal outweighs the rest: what is finite ends there.
    with np.errstate(over="ignore"):
        most = 100.0 * np.abs(covariance).sum(axis=1).max(initial=1.0)
    lift = 0.0
    while lift <= most < np.inf:
        lifted = covariance + lift * np.eye(len(covariance))
        factor, failed = lapack.dpotrf(lifted, lower=True, clean=True)
        if not failed and np.all(np.diagonal(factor) ** 2 > _SINGULAR * np.diagonal(lifted)):
            return lifted, factor
        lift = lift * 10.0 if lift else FLOOR
    raise DataError(
        "A covariance has no inverse: it holds {flat:g}, in units of the "
        "pooled deviations. Divide the columns by constants, so that their squares are numbers.",
        flat=covariance.flat[np.abs(covariance).argmax()],
    )
