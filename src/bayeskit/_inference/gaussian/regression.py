r"""Regressions of a continuous node per discrete configuration, and their update by elimination.

Every potential over continuous variables is a regression :math:`y = b + c^\top z + N(0, v)`. Eliminating a
variable reverses its arcs one child at a time, which is a Kalman update. There is no division by a single
variance, so v = 0 (a deterministic node) needs no special form. (Shachter and Kenley, *Gaussian influence
diagrams*, 1989; Cowell, *Local propagation in conditional Gaussian Bayesian networks*, 2005.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.typing import Floats

Scope = tuple[int, ...]

# The remainder of a coefficient after subtracting two that are equal in exact arithmetic.
ROUNDING = 16 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class Regression:
    """y = intercept + coefficients · variables + N(0, variance) in each cell of the scope.

    Attributes
    ----------
    child : the node y
    observed : whether y is known; then the intercept contains its value, and the equation reads 0 = …
    scope : the discrete nodes that the numbers depend on, ascending: one axis each
    variables : the free continuous nodes on the right-hand side; the last axis of the coefficients
    size : the largest term of the sum that gives the intercept; it determines what counts as zero there
    """

    child: int
    observed: bool
    scope: Scope
    variables: tuple[int, ...]
    intercept: Floats
    coefficients: Floats
    variance: Floats
    size: Floats


def union(a: Scope, b: Scope) -> Scope:
    return a if a == b or not b else b if not a else tuple(sorted({*a, *b}))


def spread(array: Floats, scope: Scope, wanted: Scope) -> Floats:
    """Return the array with an axis for each wanted node, of length one if it does not depend on the node."""
    if scope == wanted:
        return array
    sizes = dict(zip(scope, array.shape[: len(scope)], strict=True))
    return array.reshape([sizes.get(node, 1) for node in wanted] + list(array.shape[len(scope) :]))


def columns(coefficients: Floats, variables: Sequence[int], wanted: Sequence[int]) -> Floats:
    """Return the coefficients with a column for each wanted variable, zero if it had none."""
    if variables == wanted:
        return coefficients
    out = np.zeros((*coefficients.shape[:-1], len(wanted)))
    if wanted and variables:
        place = {variable: k for k, variable in enumerate(wanted)}
        out[..., [place[v] for v in variables]] = coefficients
    return out


def reverse_arc(pivot: Regression, row: Regression) -> tuple[Regression, Regression]:
    r"""Reverse the arc from the pivot's child x to the row's child y: (x given y and the rest, y without x).

    With :math:`y = b_y + a x + c_y^\top z + N(0, v_y)` and :math:`x = b_x + c_x^\top z + N(0, v_x)`:

    .. math::
        D = v_y + a^2 v_x, \quad k = a v_x / D, \quad
        y = (b_y + a b_x) + (c_y + a c_x)^\top z + N(0, D), \quad
        v_x' = v_x v_y / D

    and x moves by k times the residual of y. If D = 0, y contains no new information about x: k = 0.
    """
    x = pivot.child
    scope = union(pivot.scope, row.scope)
    place = row.variables.index(x)
    rest = row.variables[:place] + row.variables[place + 1 :]
    z = rest if rest == pivot.variables else tuple(sorted({*rest, *pivot.variables}))
    a = spread(row.coefficients[..., place], row.scope, scope)
    others = np.delete(row.coefficients, place, axis=-1) if rest else row.coefficients[..., :0]
    c_y = spread(columns(others, rest, z), row.scope, scope)
    c_x = spread(columns(pivot.coefficients, pivot.variables, z), pivot.scope, scope)
    b_y, v_y, s_y = (spread(m, row.scope, scope) for m in (row.intercept, row.variance, row.size))
    b_x, v_x, s_x = (spread(m, pivot.scope, scope) for m in (pivot.intercept, pivot.variance, pivot.size))

    # a² alone may overflow where a² v does not.
    total = v_y + a * (a * v_x)
    certain = not np.all(total)
    divisor = np.where(total > 0.0, total, 1.0) if certain else total
    gain = a * v_x / divisor
    # v_y / D, but one where D = 0: the pivot does not change.
    stays = np.where(total > 0.0, v_y / divisor, 1.0) if certain else v_y / divisor
    ahead = a[..., None] * c_x
    c_new = c_y + ahead
    if certain:
        # If the new equation has no noise, a coefficient that should vanish must be zero, or it would add noise.
        c_new = np.where(np.abs(c_new) <= ROUNDING * (np.abs(c_y) + np.abs(ahead)), 0.0, c_new)
    b_new = b_y + a * b_x
    s_new = np.maximum(s_y, np.abs(a) * s_x)
    c_pivot = c_x * stays[..., None] - gain[..., None] * c_y
    variables = z
    if not row.observed:
        variables = (*z, row.child)
        c_pivot = np.concatenate([c_pivot, gain[..., None]], axis=-1)
    return (
        Regression(
            x,
            False,
            scope,
            variables,
            b_x - gain * b_new,
            c_pivot,
            v_x * stays,
            np.maximum(s_x, np.abs(gain) * s_new),
        ),
        Regression(row.child, row.observed, scope, z, b_new, c_new, total, s_new),
    )
