r"""What a prior adds to the value that EM climbs.

Imaginary counts a make :math:`\hat\theta = (n + a)/(N + \sum a)`, which is where
:math:`\sum_v (n_v + a_v) \log \theta_v` is largest. So EM with smoothed tables climbs the likelihood and

.. math:: \sum a \log \theta

together, not the likelihood alone.
"""

from __future__ import annotations

import numpy as np

from bayeskit.estimation.multinomial import imaginary_log
from bayeskit.estimation.poisson import total_of
from bayeskit.learning.graphical import Graphical
from bayeskit.learning.model import Model, Recipe
from bayeskit.learning.naive import Naive
from bayeskit.statistics import Statistics


def imaginary_value(model: Model, statistics: Statistics, recipe: Recipe) -> float:
    """Return Σ a log θ over the tables of naive Bayes or of a graph; 0 for any other form.

    The imaginary rows of an attribute of counts have its mean in ``statistics``, those of all rows: it is the same
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
    if not isinstance(recipe.form, (Naive, Graphical)):
        return 0.0
    value = 0.0
    if recipe.class_prior is None and model.adds_prior:
        target = model.schema.target
        value += imaginary_log(recipe.class_smoothing.cells(target, 1), model.log_prior)
    mean = np.zeros(0)
    if "moments" in statistics.parts:
        weight, total = statistics.moments.weight.sum(axis=0), total_of(statistics.moments).sum(axis=0)
        mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
    return value + sum(c.log_prior(mean, recipe.alpha) for c in model.conditionals)
