r"""Self-training: learning from unlabelled rows with a model that has posteriors but no P(x).

Without P(x), as in complement naive Bayes, weighted naive Bayes and stacks of models, unlabelled rows have no
likelihood, so this is not EM. The steps are the same: each unlabelled row is split between the classes by its
posterior, and the model is estimated from labelled counts + λ·split counts. There is no guarantee, because the model
learns from its own predictions, including the wrong ones. The objective,

.. math:: \sum_{i \in L} w_i \log P(c_i \mid x_i)

over the labelled rows, may decrease at any step. The last step before it decreases is the result, and usually this is
the first step. On 20 newsgroups and on mushrooms, further steps reduced accuracy and increased log-loss a lot. They
helped only a little, and only if attributes were drawn from the model itself.

References
----------
O. Chapelle, B. Schölkopf and A. Zien (editors), Semi-Supervised Learning, MIT Press, 2006, chapter 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from bayeskit._conditionals.class_prior import log_normalise
from bayeskit._counting.count_shares import count_soft, share_rows
from bayeskit._data.class_labels import LEAST_WEIGHT
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.calibration import spread_left_out
from bayeskit._fitting.em import ROUNDING, EmResult
from bayeskit._fitting.leave_one_out import LeaveOneOut, mean_loss
from bayeskit._fitting.long_runs import interrupts
from bayeskit._fitting.model import Model, estimate
from bayeskit._fitting.rows_again import chunks_with_weight
from bayeskit._fitting.semi_supervised import MOST_STEPS, CompletedStatistics, SplitRows, complete
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

# The weights to try. There are many unlabelled rows, so small weights differ more than large ones.
CANDIDATES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
# The number of labelled rows that evaluate each weight, if leaving out a row needs a new estimate (some milliseconds).
MOST_REFITS = 300


# The shares have converged if their mean change over the unlabelled rows is less than this.
STILL = 1e-4
# A posterior of 0 is replaced by this, so that one row does not outweigh all others.
LEAST_POSTERIOR = 1e-300


@dataclass(frozen=True)
class TaughtModel:
    """A model applied to all rows: their counts, the objective of the labelled rows, the shares of the unlabelled."""

    statistics: Statistics
    value: float
    shares: tuple[Floats, ...]

    def moved_from(self, before: TaughtModel) -> float:
        """Return the total difference of the shares, over all rows."""
        return sum(float(np.abs(a - b).sum()) for a, b in zip(self.shares, before.shares, strict=True))


def self_train(rows: SplitRows, weight: float, most: int = MOST_STEPS) -> EmResult[CompletedStatistics]:
    """Start with the model of the labelled rows, and step until the shares converge or the objective decreases.

    Parameters
    ----------
    rows : SplitRows
    weight : float
        λ, above 0.
    most : int
        The maximum number of steps.

    Returns
    -------
    EmResult
        The last step before the objective decreased. A decrease from the start to the first step does not count. The
        start is fitted only to the rows on which it is evaluated, so its value is hard to reach, and unlabelled rows
        would rarely be used.
    """
    least = STILL * weight * rows.weights[1]
    here = taught(rows, rows.start.model, weight)
    history, converged, stopped, fell = [here.value], False, None, False
    best, best_value = rows.start, -math.inf
    with interrupts() as interrupted:
        while len(history) <= most and not converged and stopped is None:
            model, before = estimate(here.statistics, rows.spec), here
            here = taught(rows, model, weight)
            rounding = ROUNDING * abs(here.value)
            fell |= here.value < history[-1] - rounding
            history.append(here.value)
            if here.value >= best_value - rounding:
                best, best_value = CompletedStatistics(before.statistics, model), here.value
                converged = here.moved_from(before) <= least
            else:
                converged = True
            stopped = "interrupt" if interrupted.is_set() else None
    return EmResult(best, tuple(history), best_value, converged, stopped, fell)


def taught(rows: SplitRows, model: Model, weight: float) -> TaughtModel:
    """Split the unlabelled rows between the classes by a model, and add their counts to those of the labelled rows."""
    plan = rows.statistics.plan

    def shared(chunk: Chunk) -> tuple[Statistics, Floats]:
        shares = model.joint_chunk(chunk)
        share_rows(shares, model.log_prior, chunk.row_weights, weight, LEAST_WEIGHT)
        return count_soft(chunk, shares, rows.schema, plan), shares

    value = sum(rows.over(rows.labelled, lambda chunk: conditional_value(chunk, model)))
    statistics, shares = rows.statistics, []
    for counted, found in rows.over(rows.unlabelled, shared):
        statistics = statistics.merge(counted)
        shares.append(found)
    return TaughtModel(statistics, value, tuple(shares))


def conditional_value(chunk: Chunk, model: Model) -> float:
    """Return Σ w log P(c | x) of labelled rows."""
    assert chunk.target is not None
    posterior = model.joint_chunk(chunk)
    log_normalise(posterior, model.log_prior)
    own = posterior[np.arange(chunk.n_rows), chunk.target.astype(np.intp)]
    return float((chunk.row_weights * np.maximum(own, math.log(LEAST_POSTERIOR))).sum())


@dataclass(frozen=True)
class WeightTrial:
    """The result of learning with one weight of unlabelled rows.

    Attributes
    ----------
    weight : float
    result : EmResult, or None if the weight is 0 and only the labelled rows are used
    losses : mapping from weight to log-loss
        The losses of all candidates, if the weight was chosen.
    """

    weight: float
    result: EmResult[CompletedStatistics] | None
    losses: dict[float, float] = field(default_factory=dict)


def check_weight(weight: object) -> None:
    """Raise an error for an invalid weight of unlabelled rows."""
    number = weight if isinstance(weight, (int, float, np.integer, np.floating)) else np.nan
    if weight != "loo" if isinstance(weight, str) else isinstance(weight, bool) or not 0.0 <= number <= 1.0:
        raise SettingError(
            'unlabelled_weight is {weight!r}; it must be a number from 0 to 1, or "loo" to choose one by '
            "leave-one-out.",
            weight=weight,
        )


def weigh(rows: SplitRows, weight: float | str) -> WeightTrial:
    """Learn with a given weight, or choose the candidate weight with the lowest log-loss.

    The loss is the leave-one-out loss of the labelled rows. While a row is left out, the expected counts of the
    unlabelled rows are kept fixed, although its label influenced them. This approximation avoids one run for each
    labelled row. In a tie, the smaller weight is taken.

    Learning is EM if the model has a P(x), otherwise self-training.
    """
    learn = complete if rows.start.model.is_distribution else self_train
    if not isinstance(weight, str):
        return WeightTrial(float(weight), learn(rows, float(weight)) if weight > 0 else None)
    losses: dict[float, float] = {}
    best: WeightTrial | None = None
    for candidate in CANDIDATES:
        result = learn(rows, candidate) if candidate > 0 else None
        statistics = rows.statistics if result is None else result.parameters.statistics
        losses[candidate] = left_out_loss(rows, statistics)
        # A difference by rounding does not count.
        if best is None or losses[candidate] < losses[best.weight] * (1.0 - 1e-12):
            best = WeightTrial(candidate, result, losses)
    assert best is not None
    return best


def left_out_loss(rows: SplitRows, statistics: Statistics) -> float:
    """Return the mean leave-one-out log-loss of the labelled rows under statistics that include them.

    If each row needs a new estimate (such as kernel densities), only ``MOST_REFITS`` evenly spaced rows are used.
    """
    chunks = (chunk for piece in rows.labelled for chunk in chunks_with_weight(piece))
    left_out = LeaveOneOut(statistics, rows.spec)
    return mean_loss(*spread_left_out(left_out, chunks, None if left_out.fast else MOST_REFITS), "log-loss")
