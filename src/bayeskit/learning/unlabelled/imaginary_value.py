r"""What a prior adds to the value that EM climbs.

Imaginary counts a make :math:`\hat\theta = (n + a)/(N + \sum a)`, which is where
:math:`\sum_v (n_v + a_v) \log \theta_v` is largest. So EM with smoothed tables climbs the likelihood and

.. math:: \sum a \log \theta

together, not the likelihood alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.estimation.bernoulli_block import BernoulliBlock
from bayeskit.estimation.multinomial import Multinomial
from bayeskit.estimation.poisson import Poisson, total_of
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.model import Model
from bayeskit.learning.naive import Naive
from bayeskit.learning.recipe import Recipe
from bayeskit.statistics import Statistics

Floats = NDArray[np.float64]


def imaginary_value(model: Model, statistics: Statistics, recipe: Recipe) -> float:
    """Return Σ a log θ over the tables of naive Bayes; 0 for any other form.

    The imaginary rows of a Poisson attribute have its mean in ``statistics``, those of all rows: it is the same
    however unlabelled rows are shared among the classes.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> fitted = NaiveBayes().fit([["a"], ["b"]], ["no", "yes"])._fitted
    >>> # P(no) = P(yes) = 1/2 with one imaginary row each; 2/3 and 1/3 in each class, with one each
    >>> bool(np.isclose(
    ...     imaginary_value(fitted.model(), fitted.statistics, fitted.recipe), np.log((1 / 4) * (2 / 9) ** 2)
    ... ))
    True
    """
    if not isinstance(recipe.form, Naive):
        return 0.0
    value = 0.0
    if recipe.class_prior is None:
        target = model.schema.target
        value += _sum(recipe.class_smoothing.cells(target, 1), model.log_prior)
    return value + sum(_of_conditional(conditional, statistics) for conditional in model.conditionals)


def _of_conditional(conditional: Any, statistics: Statistics) -> float:
    match conditional:
        case TableConditional(counted=counted) if counted is not None:
            return _sum(_table_mass(conditional)[:, None], conditional.log_table)
        case Multinomial():
            return _sum(conditional.alpha[:, None], conditional.feature_log_prob.T)
        case BernoulliBlock():
            present = conditional.log_present
            return _sum(conditional.alpha[:, None], present + (present - conditional.table))
        case Presence():
            return conditional.alpha * float((conditional.log_present + conditional.log_missing).sum())
        case Poisson():
            moments = statistics.moments.columns(conditional.columns)
            weight, total = moments.weight.sum(axis=0), total_of(moments).sum(axis=0)
            pooled = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
            with np.errstate(divide="ignore"):
                logs = np.log(conditional.rates)
            return conditional.alpha * (_sum(pooled, logs) - float(conditional.rates.sum()))
        case _:
            return 0.0


def _table_mass(tables: TableConditional) -> Floats:
    """The imaginary count of every row of the log-table: states, then missing, then unseen."""
    counted = tables.counted
    assert counted is not None
    mass = np.zeros(len(tables.log_table))
    for j in range(len(counted.prior)):
        begin, end = int(counted.offsets[j]), int(counted.offsets[j + 1])
        into, last = int(tables.offsets[j]), int(tables.offsets[j + 1]) - 1
        mass[into:last] = counted.imaginary[begin:end]
        mass[last] = counted.prior[j] - counted.imaginary[begin:end].sum()
    return mass


def _sum(mass: Floats, logs: Floats) -> float:
    """Σ a log θ, in which 0 log 0 is 0."""
    mass = np.broadcast_to(mass, logs.shape)
    return float((mass * np.where(mass > 0.0, logs, 0.0)).sum())
