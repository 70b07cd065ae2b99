"""How much a categorical attribute tells of a numeric one, given the class, where both are Gaussian."""

from __future__ import annotations

import numpy as np

from bayeskit.schema import Schema
from bayeskit.statistics.cell_moments import CellMoments
from bayeskit.statistics.moments import Moments
from bayeskit.typing import Floats

# No variance is below this share of the attribute's variance over all classes.
FLOOR = 1e-9


def gaussian_information(cell_moments: CellMoments, moments: Moments, schema: Schema) -> Floats:
    r"""Return I(X_m; Z_j | Y) in nats for numeric X_m and categorical Z_j: shape (d, M).

    .. math:: I(X; Z \mid Y) = \sum_{c,z} \frac{n_{cz}}{N} \cdot
              \frac12 \log \frac{\sigma_c^2}{\sigma_{cz}^2}

    All of it is over the rows where both are present, the variance of the class too. The variances divide by
    n and are at least 1e-9 of the attribute's variance over all classes; an attribute that is constant tells
    nothing.

    Examples
    --------
    >>> from bayeskit.schema import Variable
    >>> two = Variable("z", "categorical", (0, 1)), Variable("x", "numeric")
    >>> schema = Schema(two, Variable("y", "categorical", ("yes",)))
    >>> n, mean, spread = [[2.0], [2.0], [0.0]], [[1.0], [5.0], [0.0]], [[2.0], [2.0], [0.0]]
    >>> states = Moments.from_sums(n, mean, np.zeros((3, 1)), spread)
    >>> cells = CellMoments(states.cells[:, :, None], states.exponent)
    >>> gaussian_information(cells, cells.over_states(0, 2), schema).round(3)  # ½ log(5/1)
    array([[0.805]])
    """
    pooled = moments.pooled()
    overall = pooled.held_variance()[0]
    least = np.where(overall > 0.0, FLOOR * overall, 1.0)
    k, width = schema.n_classes, len(overall)
    information = np.zeros((len(schema.categorical), width))
    for j, (begin, end) in enumerate(zip(schema.offsets[:-1], schema.offsets[1:])):
        states = cell_moments.of_states(int(begin), int(end) - 1).rescaled(pooled.exponent)
        classes = cell_moments.over_states(int(begin), int(end) - 1).rescaled(pooled.exponent)
        n = states.weight.reshape(-1, k, width)
        within = np.log(np.maximum(states.held_variance(), least)).reshape(n.shape)
        of_class = np.log(np.maximum(classes.held_variance(), least))
        total = n.sum(axis=(0, 1))
        gain = 0.5 * (n * (of_class - within)).sum(axis=(0, 1))
        # The floor, which lifts both variances, may take the sum below zero.
        information[j] = np.maximum(gain, 0.0) / np.where(total > 0.0, total, 1.0)
    return np.where(overall > 0.0, information, 0.0)
