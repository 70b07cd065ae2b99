"""Gaussian classes with full covariance: one for each class (QDA) or one for all (LDA)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bayeskit.data.encoded import Chunk
from bayeskit.estimation.conditional import Codes, Conditional, DrawnRows, Workings
from bayeskit.estimation.gaussian import infinite_value
from bayeskit.estimation.shrinkage import Shrinkage, checked_shrinkage, ledoit_wolf, regular, shrunk
from bayeskit.kernel import kernel
from bayeskit.statistics.scatter import Scatter
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
