r"""Semi-supervised learning, from labelled and unlabelled rows: by EM, or by self-training.

.. math:: \sum_{i \in L} \log P(c_i, x_i) + \lambda \sum_{u \in U} \log P(x_u)

is maximised by EM. The E-step splits each unlabelled row between the classes by its posterior. The M-step estimates
the model from labelled counts + λ·expected counts, as from any other counts.

Without P(x), as in complement naive Bayes, weighted naive Bayes and stacks of models, unlabelled rows have no
likelihood, so self-training is not EM. The steps are the same: each unlabelled row is split between the classes by its
posterior, and the model is estimated from labelled counts + λ·split counts. There is no guarantee, because the model
learns from its own predictions, including the wrong ones. The objective,

.. math:: \sum_{i \in L} w_i \log P(c_i \mid x_i)

over the labelled rows, may decrease at any step. The last step before it decreases is the result, and usually this is
the first step. On 20 newsgroups and on mushrooms, further steps reduced accuracy and increased log-loss a lot. They
helped only a little, and only if attributes were drawn from the model itself.

References
----------
K. Nigam, A. McCallum, S. Thrun and T. Mitchell, "Text classification from labeled and unlabeled documents using EM",
Machine Learning 39, 2000. O. Chapelle, B. Schölkopf and A. Zien (editors), Semi-Supervised Learning, MIT Press, 2006,
chapter 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from bayeskit._conditionals.class_prior import log_normalise
from bayeskit._conditionals.poisson import total_of
from bayeskit._conditionals.word_models import imaginary_log
from bayeskit._counting.backend import count_rows, in_order
from bayeskit._counting.count_shares import count_soft, share_rows
from bayeskit._counting.count_totals import refuse_unusable
from bayeskit._data.class_labels import LEAST_WEIGHT, batch_weights
from bayeskit._data.encoded import CHUNK_ROWS, Chunk, EncodedTable
from bayeskit._data.source import Rows
from bayeskit._fitting.calibration import spread_left_out
from bayeskit._fitting.em import ROUNDING, EmResult, StoppingRule, run_em
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.leave_one_out import LeaveOneOut, chunks_with_weight, mean_loss
from bayeskit._fitting.long_runs import interrupts
from bayeskit._fitting.model import Model, ModelSpec, estimate
from bayeskit._schema import Schema
from bayeskit._statistics.statistics import Statistics, memory_of
from bayeskit._statistics.term import Plan
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

T = TypeVar("T")

# EM stops after a step that gains less than this per row, and after at most this many steps.
LEAST_GAIN, MOST_STEPS = 1e-5, 50
# Statistics up to this size are counted in chunks of the usual length, larger ones in proportionally longer chunks.
_FREE_BYTES = 2**25


@dataclass(frozen=True)
class CompletedStatistics:
    """The statistics of labelled rows plus the expected statistics of unlabelled rows, and the model of both."""

    statistics: Statistics
    model: Model


@dataclass(frozen=True)
class SplitRows:
    """Labelled and unlabelled rows, encoded with one schema, and the statistics of the labelled rows.

    Attributes
    ----------
    schema : Schema
        The schema, with the states of both.
    statistics : Statistics
        The statistics of the labelled rows, in that schema.
    spec : ModelSpec
    labelled, unlabelled : tuples of EncodedTable
    n_jobs : int, optional
    """

    schema: Schema
    statistics: Statistics
    spec: ModelSpec
    labelled: tuple[EncodedTable, ...]
    unlabelled: tuple[EncodedTable, ...]
    n_jobs: int | None = None

    @classmethod
    def of(
        cls, fitted: FittedState, labelled: Iterable[EncodedTable], unlabelled: Iterable[Rows]
    ) -> SplitRows | None:
        """Encode the unlabelled rows once for all steps. Return None if there are none.

        Parameters
        ----------
        fitted : FittedState
            The state after counting the labelled rows.
        labelled : the labelled rows, encoded
        unlabelled : the unlabelled rows
        """
        assert fitted.spec is not None
        schema, pieces = fitted.schema, list[EncodedTable]()
        for rows in unlabelled:
            encoded = fitted.encode(rows.table, schema, "grow")
            weights = batch_weights(rows.weights, encoded.n_rows)
            pieces.append(replace(encoded, weights=weights))
            schema = encoded.schema
            if schema.block is not None:
                refuse_unusable(encoded.block, schema.block.name, signed=encoded.block_above is not None)
        if not pieces:
            return None
        schema = fitted.schema.union(_with_weight(pieces, fitted.n_jobs))
        return cls(
            schema,
            fitted.statistics.embed(schema),
            fitted.spec,
            tuple(piece.moved_to(schema) for piece in labelled),
            tuple(piece.moved_to(schema) for piece in pieces),
            fitted.n_jobs,
        )

    @cached_property
    def start(self) -> CompletedStatistics:
        """The statistics and the model of the labelled rows alone."""
        return CompletedStatistics(self.statistics, estimate(self.statistics, self.spec))

    @property
    def weights(self) -> tuple[float, float]:
        """The total weights of the labelled and of the unlabelled rows."""
        unlabelled = sum(p.n_rows if p.weights is None else float(p.weights.sum()) for p in self.unlabelled)
        return self.statistics.total, unlabelled

    def over(self, pieces: Iterable[EncodedTable], task: Callable[[Chunk], T]) -> Iterator[T]:
        """Run a task over all chunks of some rows, and yield the results in order."""
        step = CHUNK_ROWS * max(1, memory_of(self.statistics.plan, self.schema) // _FREE_BYTES)
        for piece in pieces:

            def of_range(start: int, stop: int, piece: EncodedTable = piece) -> T:
                return task(piece.chunk(start, stop))

            yield from in_order(of_range, piece.bounds(step), self.n_jobs)


@dataclass(frozen=True)
class SemiSupervised:
    """The EM problem of semi-supervised learning.

    Attributes
    ----------
    rows : SplitRows
    weight : float
        λ: the weight of an unlabelled row relative to a labelled one.
    """

    rows: SplitRows
    weight: float

    def expect(self, completed: CompletedStatistics) -> tuple[Statistics, float]:
        """Split the unlabelled rows between the classes. Return the counts of all rows, and the objective."""
        rows, model = self.rows, completed.model
        value = sum(rows.over(rows.labelled, lambda chunk: _labelled_value(chunk, model)))
        statistics = rows.statistics
        for counted, gained in rows.over(rows.unlabelled, lambda chunk: self._shared(chunk, model)):
            statistics = statistics.merge(counted)
            value += gained
        return statistics, value + imaginary_value(model, statistics, rows.spec)

    def maximise(self, statistics: Statistics) -> CompletedStatistics:
        """Estimate the model, as from any other counts."""
        return CompletedStatistics(statistics, estimate(statistics, self.rows.spec))

    def _shared(self, chunk: Chunk, model: Model) -> tuple[Statistics, float]:
        shares = model.joint_chunk(chunk)
        value = share_rows(shares, model.log_prior, chunk.row_weights, self.weight, LEAST_WEIGHT)
        return count_soft(chunk, shares, self.rows.schema, self.rows.statistics.plan), float(value)


def complete(
    rows: SplitRows, weight: float, how: StoppingRule | None = None
) -> EmResult[CompletedStatistics]:
    """Run EM from the model of the labelled rows.

    The start itself does not compete for the best step. If smoothing depends on the counts (back-off), the likelihood
    may decrease when more rows are counted, and the unlabelled rows would then never be used.

    Parameters
    ----------
    rows : SplitRows
    weight : float
        λ, above 0.
    how : StoppingRule, optional
        By default, stop after a step that gains less than 1e-5 per row, or after 50 steps.
    """
    labelled, unlabelled = rows.weights
    if how is None:
        how = StoppingRule(LEAST_GAIN * (labelled + weight * unlabelled), MOST_STEPS)
    problem = SemiSupervised(rows, weight)
    statistics, value = problem.expect(rows.start)
    found = run_em(problem, problem.maximise(statistics), replace(how, max_iter=how.max_iter - 1))
    fell = found.fell or found.history[0] < value - ROUNDING * abs(value)
    return replace(found, history=(value, *found.history), fell=fell)


def _labelled_value(chunk: Chunk, model: Model) -> float:
    """Return Σ w log P(c, x) of labelled rows.

    Such a row can be impossible only if its class has a given prior probability of 0, which EM cannot change.
    """
    assert chunk.target is not None
    own = model.joint_chunk(chunk)[np.arange(chunk.n_rows), chunk.target.astype(np.intp)]
    usable = (chunk.row_weights > 0.0) & (own > -np.inf)
    return float((chunk.row_weights[usable] * own[usable]).sum())


def _with_weight(pieces: list[EncodedTable], n_jobs: int | None) -> Schema:
    """Return the schema of the states that occur. Until now, an integer column may have all values of its range."""
    total: Statistics | None = None
    for piece in pieces:
        classes = replace(piece, target=np.zeros(piece.n_rows, dtype=np.uint32))
        counted = count_rows(classes, Plan(Plan.naive(piece.schema).patterns[:1]), n_jobs)
        total = counted if total is None else total.merge(counted)
    assert total is not None
    return total.pruned().schema


def imaginary_value(model: Model, statistics: Statistics, spec: ModelSpec) -> float:
    r"""Return Σ a log θ over the tables of a model: the term that a prior adds to the objective of EM.

    With imaginary counts a, the estimate :math:`\hat\theta = (n + a)/(N + \sum a)` maximises
    :math:`\sum_v (n_v + a_v) \log \theta_v`. So EM with smoothed tables maximises the log-likelihood plus
    :math:`\sum a \log \theta`. The term is 0 if the form smooths in another way.

    The imaginary rows of a count attribute have its mean over all rows in ``statistics``. This mean does not depend on
    how unlabelled rows are split between the classes.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> fitted = NaiveBayes().fit([["a"], ["b"]], ["no", "yes"])._fitted
    >>> # P(no) = P(yes) = 1/2 with one imaginary row each; 2/3 and 1/3 in each class, with one each
    >>> bool(np.isclose(
    ...     imaginary_value(fitted.model(), fitted.statistics, fitted.spec), np.log((1 / 4) * (2 / 9) ** 2)
    ... ))
    True
    """
    if not spec.form.smooths_by_rows:
        return 0.0
    value = 0.0
    if spec.class_prior is None and model.adds_prior:
        target = model.schema.target
        value += imaginary_log(spec.class_smoothing.cells(target, 1), model.log_prior)
    mean = np.zeros(0)
    if "moments" in statistics.parts:
        weight, total = statistics.moments.weight.sum(axis=0), total_of(statistics.moments).sum(axis=0)
        mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
    return value + sum(c.log_prior(mean, spec.alpha) for c in model.conditionals)


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
