"""Gaussian classes with full covariance matrices: one per class (QDA) or one for all (LDA)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bayeskit._blas import one_blas_thread
from bayeskit._conditionals.conditional import Codes, Conditional, DrawnRows, Workings
from bayeskit._conditionals.covariance_rule import (
    HALF_LOG_TAU,
    CovarianceRule,
    ledoit_wolf,
    log_density,
    regular,
)
from bayeskit._conditionals.gaussian import infinite_value
from bayeskit._conditionals.left_out_covariance import LeftOutClasses, removed
from bayeskit._counting.count_scatter import LARGEST
from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.scatter import Scatter
from bayeskit.typing import Floats


def add_with_gaps(
    x: Floats, mean: Floats, standard: Floats, unit: Floats, freedom: Floats, out: Floats
) -> None:
    """Add the log density of the values present in each row of ``x``. NaN is missing.

    ``standard`` are the covariances, one for each class or one for all, with columns measured in ``unit``. ``freedom``
    are the degrees of freedom of each class, infinite for a normal.
    """
    gaps = np.isnan(x)
    # Rows with the same missing cells are grouped, so each sub-matrix is factorised once.
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
        freedom,
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
    freedom: Any,
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
                            # Leaving out columns cannot make a matrix more singular. This only bounds rounding errors.
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
            if freedom[k] == math.inf:
                out[row, k] -= 0.5 * q + log_norm[g]
            else:
                half = 0.5 * freedom[k]
                norm = math.lgamma(half + 0.5 * m) - math.lgamma(half) - 0.5 * m * math.log(half)
                out[row, k] += norm - (half + 0.5 * m) * math.log1p(q / freedom[k]) - log_norm[g]


# Values are clipped at this many units from the mean, so that squares stay finite.
_FARTHEST = 1e100
# The number of rows to multiply at a time, few enough to stay in the cache.
_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class GaussianClasses(Conditional):
    r"""Several numeric attributes, jointly Gaussian in each class.

    .. math:: \log p(x \mid c) = -\tfrac12 \|L_c^{-1} (x - \mu_c)\|^2 - \sum_i \log L_{c,ii}
        - \tfrac d2 \log 2\pi, \qquad \Sigma_c = L_c L_c^T

    Attributes
    ----------
    columns : array of shape (d,)
        The positions of the attributes among the values of a chunk.
    varying : array of indices into ``columns``
        The attributes that are not constant overall; the others are left out.
    mean : array of shape (K, d)
    unit : array of shape (v,)
        The pooled standard deviation of each varying attribute.
    standard : array of shape (K, v, v), or (1, v, v) when shared
        The covariances, measured in ``unit``.
    whitening : array of the same shape
        :math:`L^{-T}`, for rows in their own units.
    log_det : array of the same length
        ½ log |Σ|.
    shrinkage : array of the same length
        The weight of the shrinkage target.
    freedom : array of shape (K,)
        The degrees of freedom of each class, infinite for a normal.
    scatter, rule : Scatter, CovarianceRule
        The sums and the rule that the classes were estimated from.
    """

    columns: NDArray[np.intp]
    varying: NDArray[np.intp]
    mean: Floats
    unit: Floats
    standard: Floats
    whitening: Floats
    log_det: Floats
    shrinkage: Floats
    freedom: Floats
    scatter: Scatter
    rule: CovarianceRule

    @property
    def covariance(self) -> Floats:
        """The covariance of each class, zero for constant attributes: shape (K, d, d)."""
        k, d = self.mean.shape
        full = np.zeros((k, d, d))
        full[:, self.varying[:, None], self.varying] = self.standard * self.unit * self.unit[:, None]
        return full

    @one_blas_thread
    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        """Add log p(attributes | class) to ``out`` of shape (n, K); a missing value is integrated out."""
        if not len(self.varying) or not chunk.n_rows:
            return
        x = self._finite(chunk)
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

    @one_blas_thread
    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        assert chunk.target is not None
        counted = (own > 0.0) & ~np.isnan(np.take(chunk.values, self.columns, axis=1)).any(axis=1)
        plain, found = np.flatnonzero(~counted), np.flatnonzero(counted)
        if len(plain):
            part = np.zeros((len(plain), out.shape[1]))
            self.add_log_prob(chunk.take(plain), part)
            out[plain] += part
        if not len(found):
            return
        self._finite(chunk)
        x = np.take(chunk.values[found], self.columns, axis=1)
        if (np.abs(x) > LARGEST).any():
            raise never_counted(-float(own[found].max()))
        target = chunk.target[found].astype(np.intp)
        part = np.zeros((len(found), out.shape[1]))
        anew = np.ones(len(found), dtype=np.bool_)
        if len(self.varying):
            part, anew = self._left_out.log_prob(x[:, self.varying], target, own[found])
        for i in np.flatnonzero(anew).tolist():
            part[i] = 0.0
            one = chunk.take(found[i : i + 1])
            self._without(x[i], int(target[i]), float(own[found[i]])).add_log_prob(one, part[i : i + 1])
        out[found] += part

    @cached_property
    def _left_out(self) -> LeftOutClasses:
        return LeftOutClasses(self.scatter, self.rule, self.varying, self.unit)

    def _without(self, x: Floats, c: int, own: float) -> GaussianClasses:
        """Estimate the classes again without a row."""
        if self.rule.shared or self.rule.own_rows(len(self.columns)):
            return _estimated(self._sums.without(x, c, own), self.columns, self.rule, self.scatter)
        left = removed(self.scatter, x, c, own)
        return estimate_covariance(left, self.columns, self.rule)

    @cached_property
    def _sums(self) -> _DividedSums:
        return _DividedSums.of(self.scatter)

    def _finite(self, chunk: Chunk) -> Floats:
        """Return the values of the varying attributes. Raise an error for infinity."""
        x = np.take(chunk.values, self.columns[self.varying], axis=1)
        if np.isinf(x).any():
            row, place = np.argwhere(np.isinf(x))[0].tolist()
            raise infinite_value(
                chunk.values, row * chunk.values.shape[1] + int(self.columns[self.varying[place]])
            )
        return x

    def _add_complete(self, x: Floats, mean: Floats, out: Floats) -> None:
        for begin in range(0, len(x), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            for k, centre in enumerate(mean):
                g = min(k, len(self.whitening) - 1)
                z = (x[part] - centre) @ self.whitening[g]
                square = np.einsum("ij,ij->i", z, z)
                out[part, k] += log_density(square, self.log_det[g], x.shape[1], self.freedom[k])

    def _add_with_gaps(self, x: Floats, mean: Floats, out: Floats) -> None:
        add_with_gaps(x, mean, self.standard, self.unit, self.freedom, out)

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Draw the attributes of rows with the given classes; NaN if no complete row was counted."""
        drawn = self.mean[classes]
        noise = rng.standard_normal((len(classes), len(self.unit)))
        if np.isfinite(self.freedom).all():
            freedom = self.freedom[classes]
            noise *= np.sqrt(freedom / rng.chisquare(freedom))[:, None]
        for g, standard in enumerate(self.standard if len(self.unit) else ()):
            rows = np.flatnonzero(classes == g) if len(self.standard) > 1 else np.arange(len(classes))
            drawn[np.ix_(rows, self.varying)] += noise[rows] @ np.linalg.cholesky(standard).T * self.unit
        return drawn

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.values[:, self.columns] = self.sample(rows.classes, rng)

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_together(self)

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        """Add the columns one by one, in their order: P(x_1 | c) P(x_2 | c, x_1) …"""
        values = np.full_like(chunk.values, np.nan)
        before = np.zeros((chunk.n_rows, out.shape[2]))
        for column in sorted(self.columns.tolist()):
            values[:, column] = chunk.values[:, column]
            now = np.zeros_like(before)
            self.add_log_prob(Chunk(chunk.n_rows, chunk.codes, values), now)
            out[:, numeric[column]] += now - before
            before = now


@one_blas_thread
def estimate_covariance(
    scatter: Scatter,
    columns: Sequence[int] | NDArray[np.intp],
    rule: CovarianceRule = CovarianceRule(),  # noqa: B008 (it is a value)
) -> GaussianClasses:
    r"""Estimate Gaussian classes from scatter. Their covariances are never singular.

    Parameters
    ----------
    columns : the positions of the attributes of the scatter among the values of a chunk
    rule : CovarianceRule

    Notes
    -----
    If a covariance is still singular, 1e-9 times the pooled variance is added to each of its variances, and ten times
    more until it is not. A class without complete rows has the mean and covariance of all rows.

    Examples
    --------
    >>> square = np.array([[[4.0, 0.0], [0.0, 4.0]]] * 2)
    >>> pivot, weight = np.array([[0.0, 0.0], [9.0, 9.0]]), np.full(2, 4.0)
    >>> twos = Scatter.about(pivot, weight, np.zeros((2, 2)), square, square, square)
    >>> estimate_covariance(twos, [0, 1]).covariance[1]
    array([[1., 0.],
           [0., 1.]])
    """
    sums = _ClassSums(scatter.weight, scatter.mean(), scatter.pooled, scatter.within, scatter.covariance)
    return _estimated(sums, columns, rule, scatter)


@dataclass(frozen=True, eq=False)
class _ClassSums:
    """What Gaussian classes are estimated from, but for shrinkage by the data of each class.

    ``weight`` and ``mean`` are those of each class. ``pooled`` and ``within`` return the scatter of all rows about one
    mean and about the means of their classes, ``covariance`` those of the classes, of shape (K, d, d): matrices of
    thousands of columns are not kept for longer than they are needed.
    """

    weight: Floats
    mean: Floats
    pooled: Callable[[], Scatter]
    within: Callable[[], Scatter]
    covariance: Callable[[], Floats]


@dataclass(frozen=True, eq=False)
class _DividedSums:
    """The same sums, ready to do without one row: only its class and the totals change, not K matrices."""

    scatter: Scatter
    mean: Floats
    pooled: Scatter
    insides: tuple[Scatter, ...]

    @classmethod
    def of(cls, scatter: Scatter) -> _DividedSums:
        insides = tuple(scatter.of_class(c).within() for c in range(len(scatter.weight)))
        return cls(scatter, scatter.mean(), scatter.pooled(), insides)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of each class."""
        return self.scatter.covariance()

    def without(self, x: Floats, c: int, own: float) -> _ClassSums:
        """Return the sums without a row of class c."""
        left = removed(self.scatter.of_class(c), x, 0, own)
        weight, mean = self.scatter.weight.copy(), self.mean.copy()
        weight[c], mean[c] = left.weight[0], left.mean()[0]
        others = (*self.insides[:c], *self.insides[c + 1 :])
        pooled = removed(self.pooled, x, 0, own)

        def covariance() -> Floats:
            found = self.covariance.copy()
            found[c] = left.covariance()[0]
            return found

        within = _added((*others, left.within()))
        return _ClassSums(weight, mean, lambda: pooled, lambda: within, covariance)


def _added(insides: Sequence[Scatter]) -> Scatter:
    """Add scatters about zero, of one class each."""
    first, *others = insides
    sums = first.sums
    for other in others:
        n, s1, s2, s3, s4 = (a + b for a, b in zip(sums, other.sums, strict=True))
        sums = n, s1, s2, s3, s4
    return Scatter(first.pivot, sums)


def _estimated(
    sums: _ClassSums, columns: Sequence[int] | NDArray[np.intp], rule: CovarianceRule, scatter: Scatter
) -> GaussianClasses:
    """Estimate Gaussian classes from their sums; ``scatter`` has those of each class."""
    pooled = sums.pooled()
    everyone, centre, total = pooled.covariance()[0].diagonal().copy(), pooled.mean()[0], pooled.weight[0]
    del pooled
    # Doubles cannot represent differences below their last bit.
    varying = np.flatnonzero(everyone > (4 * np.finfo(np.float64).eps * centre) ** 2)
    inside = sums.within().covariance()[0].diagonal().copy()
    unit = np.sqrt(np.where(inside > 1e-24 * everyone, inside, everyone))[varying]
    mean = np.where(sums.weight[:, None] > 0, sums.mean, centre)
    if rule.mean_rows:
        mean += (centre - mean) * (rule.mean_rows / (sums.weight + rule.mean_rows))[:, None]
    found = list(_matrices(scatter, sums, rule, varying, unit)) if len(varying) else []
    fitted = [(*regular(covariance), weight) for covariance, weight in found]
    v = len(varying)
    shape = (len(fitted), v, v)
    standard = np.array([covariance for covariance, _, _ in fitted]).reshape(shape)
    inverse = [solve_triangular(factor, np.diag(1.0 / unit), lower=True).T for _, factor, _ in fitted]
    log_det = [np.log(np.diagonal(f)).sum() + np.log(unit).sum() for _, f, _ in fitted]
    return GaussianClasses(
        np.asarray(columns, dtype=np.intp),
        varying,
        mean,
        unit,
        standard,
        np.array(inverse).reshape(shape),
        np.array(log_det),
        np.array([weight for _, _, weight in fitted]),
        rule.freedom(sums.weight, total),
        scatter,
        rule,
    )


def _matrices(
    scatter: Scatter, sums: _ClassSums, rule: CovarianceRule, varying: NDArray[np.intp], unit: Floats
) -> Iterator[tuple[Floats, float]]:
    """Yield the covariance of each class in ``unit``, or that of all, and the weight of its shrinkage."""
    v = len(varying)

    def plain(covariance: Floats) -> Floats:
        return np.asarray(covariance[np.ix_(varying, varying)] / unit / unit[:, None])

    def shrunken(one: Scatter, n_means: int = 1) -> tuple[Floats, float]:
        n = float(one.weight[0])
        covariance = plain(one.covariance()[0])
        if rule.unbiased and n > n_means:
            covariance *= n / (n - n_means)
        by_data = bool(rule.shrinks_by_data(n - (n_means - 1), v))
        if by_data:
            weight = ledoit_wolf(one.restricted(varying), unit)
        else:
            weight = rule.shrinkage if isinstance(rule.shrinkage, float) else 0.0
        return rule.regularised(covariance, weight, unit, by_data), weight

    own_rows = rule.own_rows(v)
    if rule.shared or own_rows:
        n_means = int(np.count_nonzero(sums.weight > 0))
        within = sums.within()
        few = within.weight[0] <= n_means * rule.unbiased
        shared, weight = shrunken(sums.pooled()) if few else shrunken(within, n_means)
    if rule.shared:
        yield shared, weight
        return
    if own_rows:
        covariance = sums.covariance()
        for n, one in zip(sums.weight, covariance, strict=True):
            own = n * plain(one) if n > 0 else 0.0
            yield (own + own_rows * shared) / (n + own_rows), weight
        return
    for c, n in enumerate(sums.weight):
        yield shrunken(scatter.of_class(c) if n > rule.unbiased else sums.pooled())
