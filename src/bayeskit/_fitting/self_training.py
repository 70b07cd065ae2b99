r"""Self-training: learns from unlabelled rows with a model that has only posteriors.

Complement naive Bayes, weighted naive Bayes and stacks of models have no P(x), so there is no likelihood of unlabelled
rows, and this is no EM. The steps are the same: each unlabelled row is shared among the classes by its posterior, and
the model is estimated from labelled counts + λ·shared counts. Nothing is guaranteed: the model is taught by its own
answers, mistakes among them. What is watched,

.. math:: \sum_{i \in L} w_i \log P(c_i \mid x_i)

over the labelled rows, may fall at any step, and the first step after which it falls is the last. That is mostly the
first of all: on 20 newsgroups and on mushrooms further steps cost accuracy and much log-loss; they gained, and little,
where attributes were drawn as the model has them.

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
from bayeskit._data.encoded import Chunk
from bayeskit._data.source import LEAST_WEIGHT
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

# The weights that are tried. Unlabelled rows are many, so small weights differ more than large ones.
CANDIDATES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
# If leaving a row out needs a new estimate, milliseconds each, this many labelled rows evaluate each weight.
MOST_REFITS = 300


# Shares are still when they change by less than this in the mean over unlabelled rows, of which each shares out 1.
STILL = 1e-4
# A posterior of 0 counts as this: one row must not outweigh all others.
LEAST_POSTERIOR = 1e-300


@dataclass(frozen=True)
class TaughtModel:
    """A model applied to all rows: their counts, the value of the labelled ones, the shares of the others."""

    statistics: Statistics
    value: float
    shares: tuple[Floats, ...]

    def moved_from(self, before: TaughtModel) -> float:
        """By how much the shares differ, over all rows together."""
        return sum(float(np.abs(a - b).sum()) for a, b in zip(self.shares, before.shares, strict=True))


def self_train(rows: SplitRows, weight: float, most: int = MOST_STEPS) -> EmResult[CompletedStatistics]:
    """Begin with the model of the labelled rows alone, and step until the shares are still or the value falls.

    Parameters
    ----------
    rows : Parted
    weight : float
        λ above 0.
    most : int
        The most steps.

    Returns
    -------
    EmResult
        With the last step before the value fell. A fall from the start to the first step is none: the value of the
        start, of rows that it learned from and nothing else, is hard to reach, and the unlabelled ones would seldom
        take part.
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
    """Share the unlabelled rows among the classes by a model, and count them with the labelled ones."""
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
    """Σ w log P(c | x) of rows whose class is known."""
    assert chunk.target is not None
    posterior = model.joint_chunk(chunk)
    log_normalise(posterior, model.log_prior)
    own = posterior[np.arange(chunk.n_rows), chunk.target.astype(np.intp)]
    return float((chunk.row_weights * np.maximum(own, math.log(LEAST_POSTERIOR))).sum())


@dataclass(frozen=True)
class WeightTrial:
    """What was learned under one weight.

    Attributes
    ----------
    weight : float
    result : EmResult, or None where the weight is 0 and the labelled rows alone tell
    losses : mapping from weight to log-loss
        Of all candidates, where the weight was chosen.
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
    """Learn under a weight, or under each of the candidates, of which the one with the least log-loss is taken.

    The loss is that of the labelled rows, each left out of the counts. The expected counts of the unlabelled rows are
    held while a row is left out, although its label had a part in them: an approximation, which spares as many runs
    as there are labelled rows. Of equal losses the smaller weight is taken.

    Learning is EM where the model has a P(x), else self-training.
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
        # Rounding alone does not choose.
        if best is None or losses[candidate] < losses[best.weight] * (1.0 - 1e-12):
            best = WeightTrial(candidate, result, losses)
    assert best is not None
    return best


def left_out_loss(rows: SplitRows, statistics: Statistics) -> float:
    """Return the mean log-loss of the labelled rows under statistics that hold them, each left out.

    If each needs a new estimate (covariances, kernel densities), 300 of them, spread evenly.
    """
    chunks = (chunk for piece in rows.labelled for chunk in chunks_with_weight(piece))
    left_out = LeaveOneOut(statistics, rows.spec)
    return mean_loss(*spread_left_out(left_out, chunks, None if left_out.fast else MOST_REFITS), "log-loss")
