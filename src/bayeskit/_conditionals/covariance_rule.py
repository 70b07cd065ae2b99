"""The estimate of covariances: shrinkage, ridge, imaginary rows, and matrices that are never singular."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import gammaln

from bayeskit._statistics.scatter import Scatter
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

# One number, or one for each row.
Numbers: TypeAlias = Floats | float

HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)

Shrinkage = float | Literal["ledoit-wolf"] | None


@dataclass(frozen=True)
class CovarianceRule:
    r"""How the means and covariances of Gaussian classes are estimated from sums.

    With :math:`\bar x_c` and :math:`S_c = \sum_r (x_r - \bar x_c)(x_r - \bar x_c)^T` the mean and the scatter of the
    :math:`n_c` rows of a class, g the mean of all N rows and :math:`W = \sum_c S_c / N`,

    .. math:: \mu_c = \frac{n_c \bar x_c + \kappa g}{n_c + \kappa}, \qquad
        \Sigma_c = \frac{S_c + \nu \tilde W}{n_c + \nu}, \qquad
        \tilde W = (1 - s) W + \Big((s + r) \frac{\operatorname{tr} W}{d} + v\Big) I.

    A shared covariance is :math:`\tilde W` itself. If ν = 0, the matrix of each class replaces W.

    Attributes
    ----------
    shared : bool
        One covariance for all classes about their own means (LDA), instead of one for each class (QDA).
    unbiased : bool
        Divide by n − 1 (n − K when shared) instead of n; a class of one row then has the pooled covariance.
    shrinkage : None, a number from 0 to 1, or "ledoit-wolf"
        s, in the units of the columns. "ledoit-wolf" computes s from the data, in units of the pooled standard
        deviation, so that the result does not depend on the units of a column. None does the same if there are at most
        as many rows as attributes + 1 and there is no ridge; otherwise it does not shrink.
    ridge : two numbers
        r and v.
    mean_rows : float
        κ, the number of imaginary rows of each class at the mean of all rows.
    covariance_rows : float or "auto"
        ν, the number of imaginary rows of each class with the shared covariance. "auto" is d + 2.
    student : bool
        Whether a class is Student's t about μ with scale Σ and n_c + 2 degrees of freedom (N + 2 when shared). This is
        a normal whose covariance is uncertain.
    """

    shared: bool = False
    unbiased: bool = False
    shrinkage: Shrinkage = None
    ridge: tuple[float, float] = (0.0, 0.0)
    mean_rows: float = 0.0
    covariance_rows: float | Literal["auto"] = 0.0
    student: bool = False

    def __post_init__(self) -> None:
        s = self.shrinkage
        if s is None or (isinstance(s, str) and s == "ledoit-wolf"):
            return
        if isinstance(s, (int, float, np.number)) and 0 <= s <= 1:
            object.__setattr__(self, "shrinkage", float(s))
            return
        raise SettingError(
            'shrinkage={shrinkage!r} has no meaning; give None, "ledoit-wolf" or a number from 0 to 1.',
            shrinkage=s,
        )

    def shrinks_by_data(self, rows: Numbers, d: int) -> Any:
        """Return whether shrinkage uses Ledoit and Wolf's weight; ``rows`` may be an array."""
        automatic = self.shrinkage is None and not any(self.ridge)
        return (rows <= d + 1) if automatic else np.full(np.shape(rows), self.shrinkage == "ledoit-wolf")

    def own_rows(self, d: int) -> float:
        """Return ν in d dimensions; 0 for a shared covariance."""
        if self.shared:
            return 0.0
        return d + 2.0 if isinstance(self.covariance_rows, str) else self.covariance_rows

    def divisor(self, n: Numbers, n_means: int) -> Any:
        """Return the divisor of a scatter about ``n_means`` means."""
        return np.where(self.unbiased & (n > n_means), n - n_means, n)

    def ball(self, mean_variance: Numbers, weight: Numbers) -> Any:
        """Return the amount added to every variance, in the units of the columns, for the shrinkage weight s."""
        r, v = self.ridge
        return (weight + r) * mean_variance + v

    def regularised(
        self, covariance: Floats, weight: Numbers, unit: Floats, by_data: NDArray[np.bool_] | bool
    ) -> Floats:
        """Shrink a matrix (or one for each row), measured in ``unit``, and add the ridge.

        With Ledoit and Wolf's weight (``by_data``), the target is spherical in ``unit``. With a given weight, and for
        the ridge, it is spherical in the units of the columns.
        """
        diagonal = np.diagonal(covariance, axis1=-2, axis2=-1)
        weight, by_data = np.asarray(weight)[..., None], np.asarray(by_data)[..., None]
        here, in_columns = (np.mean(v, axis=-1, keepdims=True) for v in (diagonal, diagonal * unit**2))
        added = np.where(by_data, weight * here, 0.0)
        added = added + self.ball(in_columns, np.where(by_data, 0.0, weight)) / unit**2
        return np.asarray(
            (1.0 - weight[..., None]) * covariance + added[..., None] * np.eye(diagonal.shape[-1])
        )

    def freedom(self, class_rows: Floats, all_rows: Numbers) -> Any:
        """Return the degrees of freedom of the classes; infinite for normals."""
        rows = (np.zeros_like(class_rows) + all_rows) if self.shared else class_rows
        return rows + 2.0 if self.student else np.full(np.shape(rows), np.inf)


def log_density(square: Floats, log_det: Numbers, d: NDArray[np.intp] | int, freedom: Floats) -> Any:
    """Return the log density of a normal, or of Student's t if ``freedom`` is finite.

    ``square`` is (x − μ)ᵀ Σ⁻¹ (x − μ), ``log_det`` is ½ log |Σ| in d dimensions.

    >>> round(float(log_density(np.array(1.0), 0.0, 1, np.array(1.0))), 4)  # Cauchy's: 1 / 2π
    -1.8379
    """
    normal = -0.5 * square - log_det - d * HALF_LOG_TAU
    if np.isinf(freedom).all():
        return normal
    half = 0.5 * freedom
    norm = gammaln(half + 0.5 * d) - gammaln(half) - 0.5 * d * np.log(np.pi * freedom)
    return norm - log_det - (half + 0.5 * d) * np.log1p(square / freedom)


# The variance of directions in which a class has none, in units of the pooled variance.
FLOOR = 1e-9
# A column whose residual variance given the columns before it is below this fraction is singular: rounding leaves as
# much of an exact copy.
SINGULAR = 1e-12
# If the excess of Σ‖z‖⁴ over ‖S‖² is below this fraction, it is rounding error.
NO_EXCESS = 1e-12


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
    # Divide one step at a time, because the fourth power of a small unit would underflow.
    s = centred.second[0] / n / unit / unit[:, None]
    fourth = centred.fourth[0] / unit**2 / (unit**2)[:, None]
    off = s - np.trace(s) / d * np.eye(d)
    return float(ledoit_wolf_weight(n, (s**2).sum(), fourth.sum(), (off**2).sum(), d))


def ledoit_wolf_weight(n: Numbers, norm: Numbers, fourth: Numbers, off: Numbers, d: int) -> Any:
    """Return Ledoit and Wolf's weight from n, ‖S‖², Σ‖z‖⁴ and ‖S − μI‖², all of which may be arrays."""
    total = fourth / n
    excess = total - norm
    # With two rows in a class, the excess is zero up to rounding.
    beta = np.where(excess > NO_EXCESS * total, excess / (d * n), 0.0)
    delta = off / d
    return np.minimum(beta, delta) / np.where(delta > 0, delta, 1.0)


def regular(covariance: Floats) -> tuple[Floats, Floats]:
    """Return a covariance in pooled units, regularised if singular, and its lower Cholesky factor.

    Examples
    --------
    >>> regular(np.array([[1.0, 1.0], [1.0, 1.0]]))[0][0, 0] - 1.0 < 2e-9
    np.True_
    """
    # When the added diagonal exceeds the sum of every row, the matrix is diagonally dominant, so the loop ends.
    with np.errstate(over="ignore"):
        most = 100.0 * np.abs(covariance).sum(axis=1).max(initial=1.0)
    lift = 0.0
    while lift <= most < np.inf:
        lifted = covariance + lift * np.eye(len(covariance))
        factor, failed = lapack.dpotrf(lifted, lower=True, clean=True)
        if not failed and np.all(np.diagonal(factor) ** 2 > SINGULAR * np.diagonal(lifted)):
            return lifted, factor
        lift = lift * 10.0 if lift else FLOOR
    raise DataError(
        "A covariance matrix has no inverse: it contains {flat:g}, in units of the pooled deviations. "
        "Divide the columns by constants, so that their squares are numbers.",
        flat=covariance.flat[np.abs(covariance).argmax()],
    )
