"""Estimates the weights of a softmax node from rows: penalised maximum likelihood by Newton's method."""

from __future__ import annotations

import math

import numpy as np

from bayeskit._blas import one_blas_thread
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._graphs.distributions import Softmax
from bayeskit._graphs.network import Network, Node
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints

# The standard deviation of the normal prior of every weight, per standard deviation of the parent. Weak: 1,000 rows
# of a curve move by less than a hundredth of their standard error. But where a number separates the states, the
# likelihood has no maximum, and this makes one.
PRIOR_SD = 10.0
# Newton's method converges quadratically; this many steps are never needed.
MOST_STEPS = 200
# The step has converged if it would improve the objective by less than this, relative to its size.
SETTLED = 1e-12
LARGEST_HESSIAN = 2**28


@one_blas_thread
def estimate_softmax(network: Network, node: Node, columns: NodeColumns, weights: Floats | None) -> Softmax:
    r"""Return the softmax that maximises the penalised likelihood, for each configuration of the discrete parents.

    .. math:: \sum_i w_i \log P(y_i \mid d_i, x_i) - \frac{1}{2 \cdot 10^2} \sum_k (\alpha_k^2 + \lVert\beta_k\rVert^2)

    where :math:`\alpha, \beta` are the weights of standardised parents. It is strictly concave, so there is one
    maximum. Rows in which the node or a parent is missing are left out.
    """
    place = {name: j for j, name in enumerate(columns.names)}
    chosen = [p for p in node.parents if network[p].is_discrete]
    numeric = [p for p in node.parents if not network[p].is_discrete]
    present = np.ones(columns.n_rows, bool)
    for name in (*node.parents, node.name):
        present &= columns.present(place[name])
    if weights is not None:
        present &= weights > 0.0
    rows = np.flatnonzero(present)
    w = np.ones(len(rows)) if weights is None else weights[rows]
    sizes = network.sizes_of(chosen)
    size, m = node.variable.size, len(numeric)
    if 8 * (size * (m + 1)) ** 2 > LARGEST_HESSIAN:
        raise TooLarge(
            8 * (size * (m + 1)) ** 2, LARGEST_HESSIAN, (*numeric, node.name), (size * (m + 1)) ** 2
        )
    y = _codes(columns, place[node.name])[rows]
    x = np.column_stack([_numbers(columns, place[p])[rows] for p in numeric])
    total = max(float(w.sum()), math.ulp(0.0))
    center = w @ x / total
    scale = np.sqrt(w @ ((x - center) ** 2) / total)
    scale = np.where(scale > 0.0, scale, 1.0)
    z = np.column_stack([np.ones(len(rows)), (x - center) / scale])
    cell = np.zeros(len(rows), np.int64)
    for parent, radix in zip(chosen, sizes, strict=True):
        cell = cell * radix + _codes(columns, place[parent])[rows]
    found = np.zeros((math.prod(sizes), size, m + 1))
    for c in range(len(found)):
        here = cell == c
        if here.any():
            found[c] = newton(z[here], y[here], w[here], size)
    slopes = found[:, :, 1:] / scale
    intercept = found[:, :, 0] - slopes @ center
    return Softmax(intercept.reshape(*sizes, size), slopes.reshape(*sizes, size, m))


def _codes(columns: NodeColumns, j: int) -> Ints:
    codes = columns.codes[j]
    assert codes is not None
    return codes.astype(np.int64)


def _numbers(columns: NodeColumns, j: int) -> Floats:
    numbers = columns.numbers[j]
    assert numbers is not None
    return numbers


def newton(z: Floats, y: Ints, w: Floats, size: int, prior_sd: float = PRIOR_SD) -> Floats:
    """Return the weights (states × columns of z) that maximise the penalised log-likelihood.

    Steps that would not improve the objective are halved. The result is the same for any order of the states.

    Examples
    --------
    >>> z = np.column_stack([np.ones(4), [-1.5, -0.5, 0.5, 1.5]])
    >>> found = newton(z, np.array([0, 0, 1, 1]), np.ones(4), 2)  # the states are separated, yet it ends
    >>> bool(found[1, 1] > found[0, 1]), bool(np.isfinite(found).all())
    (True, True)
    """
    n, m = z.shape
    ridge = 1.0 / prior_sd**2
    theta = np.zeros((size, m))
    hits = np.zeros((n, size))
    hits[np.arange(n), y] = 1.0

    def objective(at: Floats) -> tuple[float, Floats]:
        score = z @ at.T
        top = score.max(axis=1, keepdims=True)
        logs = score - top - np.log(np.exp(score - top).sum(axis=1, keepdims=True))
        return float(w @ logs[np.arange(n), y] - 0.5 * ridge * (at * at).sum()), np.exp(logs)

    value, p = objective(theta)
    for _ in range(MOST_STEPS):
        gradient = ((hits - p) * w[:, None]).T @ z - ridge * theta
        hessian = np.zeros((size, m, size, m))
        for k in range(size):
            for j in range(size):
                share = w * p[:, k] * ((k == j) - p[:, j])
                hessian[k, :, j, :] = (z * share[:, None]).T @ z
        full = hessian.reshape(size * m, size * m)
        full[np.diag_indices(size * m)] += ridge
        step = np.linalg.solve(full, gradient.ravel()).reshape(size, m)
        gain = float((step * gradient).sum())
        if gain <= SETTLED * (1.0 + abs(value)):
            return theta + step
        length = 1.0
        while length > 1e-12:
            after, p_after = objective(theta + length * step)
            if after >= value + 1e-4 * length * gain:
                break
            length *= 0.5
        else:
            return theta  # rounding allows no further step
        theta, value, p = theta + length * step, after, p_after
    return theta
