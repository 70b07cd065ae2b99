"""The Bayes risk: the risk of the best possible decisions."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from bayeskit._decision.loss import LossLike, LossTable, read_loss
from bayeskit._decision.named_numbers import NumbersLike, read_named
from bayeskit._decision.posterior import check_probabilities, read_posterior
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._decision.loss import LossLike


@dataclass(frozen=True)
class BayesRisk:
    """The Bayes risk: the lowest risk that any classifier can have.

    Attributes
    ----------
    value : float
    interval : (float, float)
        A confidence interval for the risk in the population of the rows; (value, value) if exact.
    ceiling : float or None
        The best possible accuracy, 1 − value. Only for the 0/1 loss; None for any other loss.
    level : float
        The confidence of the interval.
    n_rows : int or None
        The number of averaged posteriors; None if the joint distribution was given.
    """

    value: float
    interval: tuple[float, float]
    ceiling: float | None
    level: float
    n_rows: int | None

    def __float__(self) -> float:
        return self.value

    def _repr_html_(self) -> str:
        from bayeskit._decision.decision_html import risk_html

        return risk_html(self)


def bayes_risk(
    posterior: NumbersLike | None = None,
    loss: LossLike = None,
    level: float = 0.95,
    *,
    joint: NumbersLike | None = None,
) -> BayesRisk:
    r"""Estimate the Bayes risk from posteriors, or compute it from a joint distribution.

    .. math:: R^* = E_x\bigl[\min_i R(i \mid x)\bigr] = \sum_x \min_i \sum_j \lambda_{ij} P(x, c_j)

    Parameters
    ----------
    posterior : as in `conditional_risk`
        Posteriors of randomly drawn rows. The estimate is only as good as the posteriors.
    loss : as in `conditional_risk`
    level : float
        The confidence level of the interval: the normal interval for the mean over the rows, clipped to the
        range of the loss. For a single row the spread is unknown, so the interval is the whole range.
    joint : array of shape (..., K), mapping or frame
        P(x, c) over all x, instead of `posterior`. It must sum to one within 1e-9. The risk is then exact.

    References
    ----------
    Zhou Z.-H., Machine Learning, Tsinghua University Press 2016, eqs. 7.2-7.5.

    Examples
    --------
    >>> bayes_risk(joint=[[0.4, 0.1], [0.2, 0.3]]).ceiling
    0.7
    """
    if (posterior is None) == (joint is None):
        raise SettingError(
            "bayes_risk: give either posteriors or a joint distribution (joint=), one of the two."
        )
    if not 0 < level < 1:
        raise SettingError(
            "level: {level!r} is no confidence. Give a number between 0 and 1, such as 0.95.", level=level
        )
    if joint is not None:
        cells, names = read_named(joint, "joint")
        if cells.ndim < 1 or not cells.size:
            raise DataError(
                "joint: has shape {shape}. Give P(x, c) as (..., K), classes on the last axis.",
                shape=cells.shape,
            )
        check_probabilities(cells.reshape(1, -1).astype(np.float64), "joint", 1e-9, rows=False)
        rows = cells.reshape(-1, cells.shape[-1]).astype(np.float64)
        table = read_loss(loss, rows.shape[1], names)
        value = float(table.risks(rows).min(axis=1).sum())
        return BayesRisk(value, (value, value), _ceiling(table, value), level, None)
    rows, names, _ = read_posterior(posterior)
    if not len(rows):
        raise DataError("posterior: has no rows, so there is nothing to average. Give at least one.")
    table = read_loss(loss, rows.shape[1], names)
    least = table.risks(rows).min(axis=1)
    value = float(least.mean())
    return BayesRisk(value, _interval(least, level, table), _ceiling(table, value), level, len(rows))


def _interval(least: Floats, level: float, table: LossTable) -> tuple[float, float]:
    # The best action costs at least the smallest entry of the table and at most the minimax cost; under the
    # 0/1 loss, the uniform posterior is the worst.
    floor, roof = float(table.values.min()), float(table.values.max(axis=1).min())
    if table.is_zero_one:
        roof = 1.0 - 1.0 / table.values.shape[1]
    value, n = float(least.mean()), len(least)
    if n == 1:
        return min(floor, value), max(roof, value)
    half = NormalDist().inv_cdf(0.5 + level / 2) * float(least.std(ddof=1)) / n**0.5
    # Rows sum to one only within a tolerance, so the value itself may lie slightly outside.
    return min(value, max(floor, value - half)), max(value, min(roof, value + half))


def _ceiling(table: LossTable, value: float) -> float | None:
    return 1.0 - value if table.is_zero_one else None
