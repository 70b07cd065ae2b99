"""How far a covariance is drawn towards a ball, and how it is kept from being singular."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import lapack

from bayeskit.errors import DataError, SettingError
from bayeskit.statistics.scatter import Scatter
from bayeskit.typing import Floats

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
    raise SettingError(f'shrinkage={shrinkage!r} means nothing: it is None, "ledoit-wolf" or from 0 to 1.')


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
        f"A covariance has no inverse: it holds {covariance.flat[np.abs(covariance).argmax()]:g}, in units of the "
        "pooled deviations. Divide the columns by constants, so that their squares are numbers."
    )
