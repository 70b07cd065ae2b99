"""Scores of posteriors against the true classes, per row and over folds, and tests of differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._comparison.trials import LEAST_PROBABILITY
from bayeskit._report.comparison_report.comparison import Difference, Measure
from bayeskit.typing import Floats

Places = NDArray[np.intp]
# The significance level: a difference with a larger p-value does not count.
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class RowScores:
    """The contribution of each test row to each figure; ``cost`` is None without a loss."""

    error: Floats
    log_loss: Floats
    brier: Floats
    cost: Floats | None

    @property
    def decisive(self) -> Floats:
        """The score that ranks models: the cost if there is a loss, otherwise the error."""
        return self.error if self.cost is None else self.cost


def row_scores(posterior: Floats, truth: Places, costs: Floats | None) -> RowScores:
    """Score each row.

    Parameters
    ----------
    posterior : array of shape (n, K)
    truth : array of shape (n,)
        The indices of the true classes.
    costs : array of shape (actions, K), optional
        Each row has the cost, under its true class, of the action with the lowest risk.

    Examples
    --------
    >>> scores = row_scores(np.array([[0.7, 0.3]]), np.array([0]), np.array([[0.0, 9.0], [1.0, 0.0]]))
    >>> scores.error, scores.cost
    (array([0.]), array([1.]))
    """
    rows = np.arange(len(truth))
    hit = posterior[rows, truth]
    # Σ (P(c) − [c is the truth])² = Σ P(c)² − 2 P(truth) + 1, without a second array of that shape
    brier = (posterior**2).sum(axis=1) - 2.0 * hit + 1.0
    error = (posterior.argmax(axis=1) != truth).astype(np.float64)
    paid = None if costs is None else costs[(posterior @ costs.T).argmin(axis=1), truth]
    return RowScores(error, -np.log(np.maximum(hit, LEAST_PROBABILITY)), brier, paid)


def area_under_curve(posterior: Floats, truth: Places) -> float:
    """Return the AUC of each class against the rest, the mean over classes that have rows on both sides.

    For one class, this is the share of pairs (a row of the class, another row) in which the first has the higher
    posterior. A tie counts half. NaN if no class has rows on both sides.

    Examples
    --------
    >>> area_under_curve(np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]), np.array([0, 0, 1]))
    0.75
    """
    from scipy.stats import rankdata

    found = []
    columns = [1] if posterior.shape[1] == 2 else range(posterior.shape[1])
    for c in columns:
        inside = truth == c
        n, m = int(inside.sum()), int((~inside).sum())
        if n and m:
            ranks = rankdata(posterior[:, c])[inside].sum()
            found.append((ranks - n * (n + 1) / 2) / (n * m))
    return float(np.mean(found)) if found else float("nan")


def measures(
    scores: RowScores, posterior: Floats, truth: Places, folds: Sequence[Places]
) -> dict[str, Measure | None]:
    """Return the figures over all test rows, and their spread; None if a figure is not defined.

    Parameters
    ----------
    folds : positions of the rows of each fold among the test rows
    """
    areas = [area_under_curve(posterior[rows], truth[rows]) for rows in folds]
    known = [area for area in areas if area == area]
    found: dict[str, Measure | None] = {
        "auc": Measure(float(np.mean(known)), _deviation(known)) if known else None
    }
    for name in ("error", "log_loss", "brier", "cost"):
        values: Floats | None = getattr(scores, name)
        found[name] = None if values is None else _measure(values, folds)
    return found


def by_fold(values: Floats, folds: Sequence[Places]) -> tuple[float, ...]:
    """Return the mean in each fold."""
    return tuple(float(values[rows].mean()) for rows in folds)


def _measure(values: Floats, folds: Sequence[Places]) -> Measure:
    if len(folds) > 1:
        return Measure(float(values.mean()), _deviation(by_fold(values, folds)))
    n = len(values)
    return Measure(float(values.mean()), float(values.std(ddof=1) / n**0.5) if n > 1 else None)


def _deviation(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def difference(one: Floats, other: Floats, folds: Sequence[Places]) -> Difference:
    """Return the mean of one − other over all rows, with its 95% interval.

    With folds the interval is that of the corrected resampled t-test, with one test set that of the paired z-test.

    Examples
    --------
    >>> found = difference(np.array([1.0, 0, 1, 0] * 25), np.zeros(100), [np.arange(100)])
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.5, 0.402, 0.598)
    """
    from scipy.stats import norm
    from scipy.stats import t as student

    d = one - other
    k, n = len(folds), len(d)
    if k > 1:
        spread = (1.0 / k + 1.0 / (k - 1)) * float(np.var(by_fold(d, folds), ddof=1))
        half = float(student.ppf(0.975, k - 1)) * spread**0.5
    else:
        half = float(norm.ppf(0.975)) * float(d.std(ddof=1)) / n**0.5 if n > 1 else float("inf")
    # No difference in any row does not mean that there is none: three in n rows could have been missed (95%).
    half = half if half > 0.0 else 3.0 / n
    return Difference(float(d.mean()), float(d.mean()) - half, float(d.mean()) + half)


def corrected_t_test(differences: ArrayLike, test_share: float) -> float:
    r"""Return the p-value of the corrected resampled t-test, given the difference in each fold.

    .. math:: t = \bar d \Big/ \sqrt{\Big(\frac1k + \frac{n_\text{test}}{n_\text{train}}\Big) s_d^2}

    The plain t-test assumes that the folds are independent. Their training rows are almost the same, so it finds
    differences where there are none.

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
    """Return the p-value of the paired z-test, given the difference in each row of one test set.

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
        # Errors are 0 or 1, so a few rows may all have the same difference by chance. Use the sign test, 2·2⁻ⁿ.
        return 1.0 if d[0] == 0.0 else 2.0 ** (1 - len(d))
    return _two_sided(float(d.mean()), float(d.var(ddof=1) / len(d)), lambda z: float(norm.sf(z)))


def _two_sided(mean: float, spread: float, tail: Callable[[float], float]) -> float:
    if mean == 0.0:
        return 1.0
    # Exactly the same difference in every fold is not chance.
    return min(1.0, 2.0 * tail(abs(mean) / spread**0.5)) if spread > 0.0 else 0.0
