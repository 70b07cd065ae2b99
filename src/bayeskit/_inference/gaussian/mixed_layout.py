r"""The input of elimination with continuous nodes: regressions, node numbers, an order, evidence.

Every potential over continuous variables is a regression :math:`y = b + c^\top z + N(0, v)`. Eliminating a
variable reverses its arcs one child at a time, which is a Kalman update. There is no division by a single
variance, so v = 0 (a deterministic node) needs no special form. (Shachter and Kenley, *Gaussian influence
diagrams*, 1989; Cowell, *Local propagation in conditional Gaussian Bayesian networks*, 2005.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import LinearGaussian
from bayeskit._graphs.network import Network
from bayeskit.typing import Floats, Ints

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


@dataclass(frozen=True, eq=False)
class HybridEvidence:
    """Observed states and values, one entry for each node; each array is used only for nodes of its kind.

    Parameters
    ----------
    codes : int64 array of shape (number of nodes,)
        The observed state of each discrete node, −1 if it is free.
    values : float64 array of shape (number of nodes,)
        The observed value of each continuous node, NaN if it is free.
    likelihoods : {discrete node: array of shape (its states,)}
        Soft evidence, none negative, not all zero.
    tables : pairs of discrete nodes and logarithms of probabilities over their states
        Further factors, such as those of nodes that depend on observed numbers.
    """

    codes: Ints
    values: NDArray[np.float64]
    likelihoods: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)
    tables: Sequence[tuple[Scope, Floats]] = ()

    @classmethod
    def of_row(cls, codes: Ints, values: NDArray[np.float64], sizes: Ints) -> HybridEvidence:
        """Read a row as evidence. A discrete node is free if its cell is missing (the code after its last state)."""
        return cls(np.where(codes < sizes, codes, -1), values)

    @classmethod
    def nothing(cls, n_nodes: int) -> HybridEvidence:
        return cls(np.full(n_nodes, -1, np.int64), np.full(n_nodes, np.nan))


class Layout:
    """The nodes by number.

    Attributes
    ----------
    parents : the parents of each node
    rank : the position of each node in a topological order
    sizes : the number of states of each node; one for continuous ones
    continuous, discrete : the nodes of each kind, ascending
    """

    def __init__(self, network: Network) -> None:
        position = network.dag.position
        self.network = network
        self.names = network.dag.nodes
        self.parents = [tuple(position[p] for p in node.parents) for node in network.nodes]
        self.rank = _ranks(self.parents)
        self.sizes = [node.variable.size if node.is_discrete else 1 for node in network.nodes]
        self.is_discrete = [node.is_discrete for node in network.nodes]
        self.discrete = [k for k, node in enumerate(network.nodes) if node.is_discrete]
        self.continuous = [k for k, node in enumerate(network.nodes) if not node.is_discrete]
        self._whole = {k: self._regression(k) for k in self.continuous}

    def _regression(self, k: int) -> Regression:
        """Read a node's distribution, with the axes of its discrete parents in ascending order."""
        given = self.network.nodes[k].distribution
        assert isinstance(given, LinearGaussian)
        discrete = [p for p in self.parents[k] if self.is_discrete[p]]
        order = [int(axis) for axis in np.argsort(discrete)]
        intercept = given.intercept.transpose(order)
        return Regression(
            k,
            False,
            tuple(sorted(discrete)),
            tuple(p for p in self.parents[k] if not self.is_discrete[p]),
            intercept,
            given.coefficients.transpose([*order, len(order)]),
            given.variance.transpose(order),
            np.abs(intercept),
        )

    def given(self, k: int, evidence: HybridEvidence) -> Regression:
        """Return a node's regression given the evidence; nodes with one state are dropped from the scope."""
        whole = self._whole[k]
        place: tuple[int | slice, ...] = ()
        scope: tuple[int, ...] = ()
        for node in whole.scope:
            code = 0 if self.sizes[node] == 1 else int(evidence.codes[node])
            place = (*place, code if code >= 0 else slice(None))
            scope = scope if code >= 0 else (*scope, node)
        intercept, coefficients = whole.intercept[place], whole.coefficients[place]
        variance, size, variables = whole.variance[place], whole.size[place], whole.variables
        known = [not np.isnan(evidence.values[v]) for v in variables]
        if any(known):
            mask = np.array(known)
            terms = coefficients[..., mask] * evidence.values[np.array(variables)[mask]]
            intercept = intercept + terms.sum(axis=-1)
            size = np.maximum(size, np.abs(terms).max(axis=-1))
            coefficients = coefficients[..., ~mask]
            variables = tuple(v for v, is_known in zip(variables, known, strict=True) if not is_known)
        value = float(evidence.values[k])
        observed = not np.isnan(value)
        if observed:
            intercept = intercept - value
            size = np.maximum(size, abs(value))
        return Regression(
            k, observed, scope, variables, *map(_array, (intercept, coefficients, variance, size))
        )

    def ancestors(self, nodes: set[int]) -> set[int]:
        """Return these nodes and all their ancestors."""
        found, ahead = set(nodes), list(nodes)
        while ahead:
            for parent in self.parents[ahead.pop()]:
                if parent not in found:
                    found.add(parent)
                    ahead.append(parent)
        return found

    def needed(self, targets: tuple[int, ...], evidence: HybridEvidence) -> list[int]:
        """Return the continuous nodes that affect the targets or the probability of the evidence."""
        seen = {k for k in self.continuous if not np.isnan(evidence.values[k])}
        found = self.ancestors({*targets, *seen})
        return [k for k in self.continuous if k in found]


def _array(number: object) -> Floats:
    return np.asarray(number, dtype=np.float64)


def _ranks(parents: list[tuple[int, ...]]) -> list[int]:
    children: list[list[int]] = [[] for _ in parents]
    for child, above in enumerate(parents):
        for parent in above:
            children[parent].append(child)
    waiting = [len(above) for above in parents]
    ready = deque(k for k, n in enumerate(waiting) if n == 0)
    rank = [0] * len(parents)
    place = 0
    while ready:
        node = ready.popleft()
        rank[node] = place
        place += 1
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return rank
