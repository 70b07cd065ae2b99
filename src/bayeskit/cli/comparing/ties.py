"""Is one model better than another, or was it luck? Paired tests on the same folds, or the same rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

# A difference that chance alone makes at least this often is no difference.
LEVEL = 0.05


def corrected_t_test(differences: ArrayLike, test_share: float) -> float:
    r"""Return the p of no difference, given the differences in each fold: the corrected resampled t-test.

    .. math:: t = \bar d \Big/ \sqrt{\Big(\frac1k + \frac{n_\text{test}}{n_\text{train}}\Big) s_d^2}

    The plain test takes the folds for independent, and finds differences where there are none: they learn from
    almost the same rows.

    Parameters
    ----------
    differences : array of shape (k,)
    test_share : float
        Rows in a test part divided by rows in a training part: 1/(k − 1).

    References
    ----------
    Nadeau C., Bengio Y., Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    >>> round(corrected_t_test([0.01, 0.02, 0.03, 0.02, 0.02], 0.25), 4)
    0.0135
    """
    from scipy.stats import t as student

    d = np.asarray(differences, dtype=np.float64)
    spread = (1.0 / len(d) + test_share) * d.var(ddof=1)
    return _two_sided(float(d.mean()), float(spread), lambda t: float(student.sf(t, len(d) - 1)))


def paired_test(differences: ArrayLike) -> float:
    """Return the p of no difference, given the differences in each row of one test set: the paired z-test.

    Examples
    --------
    >>> paired_test([1.0, -1.0, 0.0, 0.0])
    1.0
    >>> paired_test([1.0])  # one row may be luck
    1.0
    """
    from scipy.stats import norm

    d = np.asarray(differences, dtype=np.float64)
    if (d == d[0]).all():
        # Rows are right or wrong, so the same difference in each of a few is no wonder: the sign test, 2·2⁻ⁿ.
        return 1.0 if d[0] == 0.0 else 2.0 ** (1 - len(d))
    return _two_sided(float(d.mean()), float(d.var(ddof=1) / len(d)), lambda z: float(norm.sf(z)))


def _two_sided(mean: float, spread: float, tail: Callable[[float], float]) -> float:
    if mean == 0.0:
        return 1.0
    # The same difference in every fold, to the last digit, is no luck.
    return min(1.0, 2.0 * tail(abs(mean) / spread**0.5)) if spread > 0.0 else 0.0
