"""How covariances are estimated: shrinkage, ridges, imaginary rows; matrices that are never singular."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import lapack
from scipy.special import gammaln

from bayeskit._statistics.scatter import Scatter
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

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

    A shared covariance is :math:`\tilde W` itself. Without ν, each class has its own matrix in the place of W.

    Attributes
    ----------
    shared : bool
        One covariance for all classes, about their own means (LDA), instead of one for each (QDA).
    unbiased : bool
        Divide by n − 1 (n − K when shared) instead of n; a class of one row then has the pooled covariance.
    shrinkage : None, a number from 0 to 1, or "ledoit-wolf"
        s, in the units of the columns. "ledoit-wolf" finds s from the data, in units of the pooled standard deviation,
        so that the answer does not hang on whether a column is in metres or miles. None shrinks in that way where there
        are no more rows than attributes + 1 and no ridge, and otherwise not at all.
    ridge : two numbers
        r and v.
    mean_rows : float
        κ, imaginary rows of each class at the mean of all rows.
    covariance_rows : float or "auto"
        ν, imaginary rows of each class that spread as the rows of all classes do about their means; "auto" is d + 2.
    student : bool
        A class is Student's t with n_c + 2 degrees of freedom about μ with the scale Σ (N + 2 when shared): the normal
        with a covariance that is not known for certain.
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
            'shrinkage={shrinkage!r} means nothing: it is None, "ledoit-wolf" or from 0 to 1.', shrinkage=s
        )

    def shrinks_by_data(self, rows: Any, d: int) -> Any:
        """Whether Ledoit and Wolf's weight is asked for; ``rows`` may be an array."""
        automatic = self.shrinkage is None and not any(self.ridge)
        return (rows <= d + 1) if automatic else np.full(np.shape(rows), self.shrinkage == "ledoit-wolf")

    def own_rows(self, d: int) -> float:
        """ν in d dimensions; a covariance that is shared has none."""
        if self.shared:
            return 0.0
        return d + 2.0 if isinstance(self.covariance_rows, str) else self.covariance_rows

    def divisor(self, n: Any, n_means: int) -> Any:
        """By what a scatter about so many means is divided."""
        return np.where(self.unbiased & (n > n_means), n - n_means, n)

    def ball(self, mean_variance: Any, weight: Any) -> Any:
        """What is added to the variances of every column, in its own units, at the weight s of shrinkage."""
        r, v = self.ridge
        return (weight + r) * mean_variance + v

    def regularised(self, covariance: Floats, weight: Any, unit: Floats, by_data: Any) -> Floats:
        """Shrink a matrix, or one of each row, in ``unit``, and add the ridge.

        Ledoit and Wolf's target (``by_data``) is round in these units, a number's and the ridge in the columns' own.
        """
        diagonal = np.diagonal(covariance, axis1=-2, axis2=-1)
        weight, by_data = np.asarray(weight)[..., None], np.asarray(by_data)[..., None]
        here, in_columns = (np.mean(v, axis=-1, keepdims=True) for v in (diagonal, diagonal * unit**2))
        added = np.where(by_data, weight * here, 0.0)
        added = added + self.ball(in_columns, np.where(by_data, 0.0, weight)) / unit**2
        return np.asarray(
            (1.0 - weight[..., None]) * covariance + added[..., None] * np.eye(diagonal.shape[-1])
        )

    def freedom(self, class_rows: Any, all_rows: Any) -> Any:
        """The degrees of freedom of the classes; infinite for normal ones."""
        rows = (np.zeros_like(class_rows) + all_rows) if self.shared else class_rows
        return rows + 2.0 if self.student else np.full(np.shape(rows), np.inf)


def log_density(square: Any, log_det: Any, d: Any, freedom: Any) -> Any:
    """Return the log density of a normal, or of Student's t where ``freedom`` is finite.

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


# The variance given to directions in which a class has none, in units of the pooled variance.
FLOOR = 1e-9
# A column of which less than this is left once the columns before it are known is singular: it is no
# more than what rounding leaves of an exact copy.
SINGULAR = 1e-12
# The share of Σ‖z‖⁴ below which its excess over ‖S‖² is rounding.
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
    # One division at a time: the fourth power of a small unit would underflow.
    s = centred.second[0] / n / unit / unit[:, None]
    fourth = centred.fourth[0] / unit**2 / (unit**2)[:, None]
    off = s - np.trace(s) / d * np.eye(d)
    return float(ledoit_wolf_weight(n, (s**2).sum(), fourth.sum(), (off**2).sum(), d))


def ledoit_wolf_weight(n: Any, norm: Any, fourth: Any, off: Any, d: int) -> Any:
    """Return Ledoit and Wolf's weight from n, ‖S‖², Σ‖z‖⁴ and ‖S − μI‖², all of which may be arrays."""
    total = fourth / n
    excess = total - norm
    # Two rows of a class lie on one line and equally far out: there nothing is left but rounding.
    beta = np.where(excess > NO_EXCESS * total, excess / (d * n), 0.0)
    delta = off / d
    return np.minimum(beta, delta) / np.where(delta > 0, delta, 1.0)


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
        if not failed and np.all(np.diagonal(factor) ** 2 > SINGULAR * np.diagonal(lifted)):
            return lifted, factor
        lift = lift * 10.0 if lift else FLOOR
    raise DataError(
        "A covariance has no inverse: it holds {flat:g}, in units of the "
        "pooled deviations. Divide the columns by constants, so that their squares are numbers.",
        flat=covariance.flat[np.abs(covariance).argmax()],
    )
