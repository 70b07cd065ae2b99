"""Entropy and mutual information from unsmoothed counts, in nats, also for Gaussian attributes.

Counts enter as :math:`\\sum n \\log n`, so that nothing is divided before the end and empty cells contribute
zero.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._schema import Schema
from bayeskit._statistics.cell_moments import CellMoments
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.tables import Pairs
from bayeskit.typing import Floats

# The number of cells of a table of pairs to process at a time: a few MB of temporaries.
_CELLS = 2**18


def entropy(counts: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Floats:
    r"""Return the entropy of counts over some axes, by default all; 0 if all counts are zero.

    .. math:: H = -\sum_v \frac{n_v}{N} \log \frac{n_v}{N} = \log N - \frac{1}{N} \sum_v n_v \log n_v

    Examples
    --------
    >>> float(entropy([8, 9])).__round__(3)  # good and bad melons
    0.691
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum(axis=axis)
    return _per_row(_n_log_n(total) - _n_log_n(n).sum(axis=axis), total)


def mutual_information(counts: ArrayLike) -> Floats:
    r"""Return I(X; Y) from n(x, y) on the last two axes. Leading axes are separate tables.

    .. math:: I(X; Y) = \sum_{x,y} \frac{n_{xy}}{N} \log \frac{n_{xy} N}{n_x n_y}

    Examples
    --------
    >>> float(mutual_information([[1, 0], [0, 1]])).__round__(3)
    0.693
    """
    return conditional_mutual_information(np.asarray(counts, dtype=np.float64)[..., None])


def conditional_mutual_information(counts: ArrayLike) -> Floats:
    r"""Return I(X; Y | Z) from n(x, y, z) on the last three axes. Leading axes are separate tables.

    .. math:: I(X; Y \mid Z) = \sum_{x,y,z} \frac{n_{xyz}}{N} \log \frac{n_{xyz}\, n_z}{n_{xz}\, n_{yz}}

    Examples
    --------
    >>> float(conditional_mutual_information([[[1, 1], [0, 0]], [[0, 0], [1, 1]]])).__round__(3)
    0.693
    """
    n = np.asarray(counts, dtype=np.float64)
    of_z = n.sum(axis=(-3, -2))
    whole = _n_log_n(n).sum(axis=(-3, -2, -1)) + _n_log_n(of_z).sum(axis=-1)
    parts = sum(_n_log_n(n.sum(axis=axis)).sum(axis=(-2, -1)) for axis in (-2, -3))
    return _per_row(whole - parts, of_z.sum(axis=-1))


def class_information(counts: Floats, offsets: NDArray[np.integer]) -> Floats:
    """Return I(X_i; Y) of every categorical attribute, each over the rows where it is present.

    Parameters
    ----------
    counts : array of shape (T, K)
        n(v, c), with the last row of each attribute for missing values: ``statistics.tables.counts`` or
        ``pairs.tables.counts``.
    offsets : array of shape (d + 1,)
        The start of each attribute: ``schema.offsets``.

    Examples
    --------
    >>> counts = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 0.0]])  # two states, then missing
    >>> class_information(counts, np.array([0, 3])).round(3)
    array([0.693])
    """
    begin = np.asarray(offsets[:-1], dtype=np.intp)
    n = np.array(counts)
    n[np.asarray(offsets[1:], dtype=np.intp) - 1] = 0.0
    of_class = _add_up(n, begin, axis=0)
    total = of_class.sum(axis=1)
    cells = _add_up(_n_log_n(n).sum(axis=1) - _n_log_n(n.sum(axis=1)), begin, axis=0)
    return _per_row(cells - _n_log_n(of_class).sum(axis=1) + _n_log_n(total), total)


def pair_information(pairs: Pairs) -> Floats:
    """Return I(X_i; X_j | Y) for all pairs, of shape (d, d), each over the rows where both are present.

    The matrix is symmetric; on its diagonal I(X_i; X_i | Y) is the entropy H(X_i | Y).

    Examples
    --------
    >>> one = np.diag([1.0, 1.0, 0.0])  # two binary attributes that are always equal, one class
    >>> pairs = Pairs(np.array([2.0]), np.block([[one, one], [one, one]])[:, :, None], np.array([0, 3, 6]))
    >>> pair_information(pairs).round(3)
    array([[0.693, 0.693],
           [0.693, 0.693]])
    """
    offsets = np.asarray(pairs.offsets, dtype=np.intp)
    begin, spare, d = offsets[:-1], offsets[1:] - 1, len(offsets) - 1
    whole, parts, total = np.empty((3, d, d))
    for first, last in _blocks(offsets, pairs.counts[:1].size):
        some, here = slice(offsets[first], offsets[last]), begin[first:last] - offsets[first]
        n = np.array(pairs.counts[some])
        # Set to zero instead of cutting out, so that every attribute keeps a row, even one without states.
        n[spare[first:last] - offsets[first]] = 0.0
        n[:, spare] = 0.0
        of_state = _add_up(n, here, axis=0)  # n(v_j, c) where i is present: (attributes, T, K)
        of_class = _add_up(of_state, begin, axis=1)
        cells = _add_up(_n_log_n(n), here, axis=0).sum(axis=2)  # sum over the rows first: long runs are fast
        whole[first:last] = _add_up(cells, begin, axis=1) + _n_log_n(of_class).sum(axis=2)
        parts[first:last] = _add_up(_n_log_n(of_state).sum(axis=2), begin, axis=1)
        total[first:last] = of_class.sum(axis=2)
    information = _per_row(whole - (parts + parts.T), total)
    # The two halves were summed in different orders and may differ by rounding.
    return np.maximum(information, information.T)


def _blocks(offsets: NDArray[np.intp], cells_of_row: int) -> list[tuple[int, int]]:
    """Split the attributes into runs whose rows fit into the cache."""
    d, most = len(offsets) - 1, max(1, _CELLS // max(cells_of_row, 1))
    cuts = [0]
    while cuts[-1] < d:
        within = int(np.searchsorted(offsets, offsets[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(max(within, cuts[-1] + 1), d))
    return list(pairwise(cuts))


def _add_up(values: Floats, begin: NDArray[np.intp], axis: int) -> Floats:
    """Sum the runs that begin at these positions. No run may be empty."""
    return np.asarray(np.add.reduceat(values, begin, axis=axis)) if len(begin) else values[:0]


def _n_log_n(n: Floats) -> Floats:
    """n·log n, and 0 for 0."""
    # Replace 0 by any positive number, because its logarithm is multiplied by 0.
    logarithm = np.asarray(np.maximum(n, 1e-300))
    np.log(logarithm, out=logarithm)
    logarithm *= n
    return logarithm


def _per_row(amount: Floats, total: Floats) -> Floats:
    """Divide by the number of rows; 0 without rows. Negative rounding errors become 0."""
    return np.maximum(amount, 0.0) / np.where(total > 0, total, 1.0)


# The smallest variance, as a fraction of the attribute's variance over all classes.
FLOOR = 1e-9

# The integral over a mixture has a grid in units of each component's deviation, up to this many deviations, ...
_REACH = 8.0
# ... of this many points for each of up to so many components. More components share the points of that many.
_POINTS, _COMPONENTS = 129, 16


def gaussian_information(cell_moments: CellMoments, moments: Moments, schema: Schema) -> Floats:
    r"""Return I(X_m; Z_j | Y) in nats for numeric X_m and categorical Z_j: shape (d, M).

    .. math:: I(X; Z \mid Y) = \sum_{c,z} \frac{n_{cz}}{N} \cdot
              \frac12 \log \frac{\sigma_c^2}{\sigma_{cz}^2}

    Everything, including the variance of the class, is over the rows where both are present. The variances
    divide by n and are at least 1e-9 of the attribute's variance over all classes. A constant attribute has
    no information.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> two = Variable("z", "categorical", (0, 1)), Variable("x", "numeric")
    >>> schema = Schema(two, Variable("y", "categorical", ("yes",)))
    >>> n, mean, spread = [[2.0], [2.0], [0.0]], [[1.0], [5.0], [0.0]], [[2.0], [2.0], [0.0]]
    >>> states = Moments.from_sums(n, mean, np.zeros((3, 1)), spread)
    >>> cells = CellMoments(states.cells[:, :, None], states.exponent)
    >>> gaussian_information(cells, cells.over_states(0, 2), schema).round(3)  # ½ log(5/1)
    array([[0.805]])
    """
    pooled = moments.pooled()
    overall = pooled.scaled_variance()[0]
    least = np.where(overall > 0.0, FLOOR * overall, 1.0)
    k, width = schema.n_classes, len(overall)
    information = np.zeros((len(schema.categorical), width))
    for j, (begin, end) in enumerate(pairwise(schema.offsets)):
        states = cell_moments.of_states(int(begin), int(end) - 1).rescaled(pooled.exponent)
        classes = cell_moments.over_states(int(begin), int(end) - 1).rescaled(pooled.exponent)
        n = states.weight.reshape(-1, k, width)
        within = np.log(np.maximum(states.scaled_variance(), least)).reshape(n.shape)
        of_class = np.log(np.maximum(classes.scaled_variance(), least))
        total = n.sum(axis=(0, 1))
        gain = 0.5 * (n * (of_class - within)).sum(axis=(0, 1))
        # The floor of the variances may make the sum negative.
        information[j] = np.maximum(gain, 0.0) / np.where(total > 0.0, total, 1.0)
    return np.where(overall > 0.0, information, 0.0)


def mixture_information(weight: ArrayLike, mean: ArrayLike, deviation: ArrayLike) -> float:
    r"""Return I(X; Y) in nats for X normal in each class, with the weights of the classes.

    .. math:: I(X; Y) = H(Y) - \int p(x) \, H(Y \mid x) \, dx, \quad p(x) = \sum_c P(c) \, N(x; \mu_c, \sigma_c^2)

    The integral is a sum over a grid that is fine near each mean, in units of that class's deviation. The error is
    below 1e-4. A class without weight does not count.

    Examples
    --------
    >>> round(mixture_information([1, 1], [-10.0, 10.0], [1.0, 1.0]), 4)  # log 2: x tells the class
    0.6931
    >>> round(mixture_information([1, 1], [-1.0, 1.0], [1.0, 1.0]), 4)
    0.3368
    """
    n, centre, spread = (np.asarray(a, dtype=np.float64) for a in (weight, mean, deviation))
    there = n > 0.0
    share, centre, spread = n[there] / n[there].sum(), centre[there], spread[there]
    if len(share) < 2:
        return 0.0
    points = max(_POINTS * _COMPONENTS // max(len(share), _COMPONENTS), 9)
    x = np.unique(centre[:, None] + spread[:, None] * np.linspace(-_REACH, _REACH, points))
    joint = (x[:, None] - centre) / spread
    joint = share / spread * np.exp(-0.5 * joint * joint)  # up to √(2π), which cancels
    density = joint.sum(axis=1)
    posterior = joint / np.where(density > 0.0, density, 1.0)[:, None]
    left = -(posterior * np.log(np.where(posterior > 0.0, posterior, 1.0))).sum(axis=1)
    width = np.diff(x)
    mass = (0.5 * width * (density[1:] + density[:-1])).sum()
    density *= left
    rest = (0.5 * width * (density[1:] + density[:-1])).sum()
    return max(float(-(share * np.log(share)).sum() - rest / mass), 0.0)
