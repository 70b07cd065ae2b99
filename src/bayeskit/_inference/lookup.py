"""Fast answers for complete rows: a target with its whole Markov blanket observed, and log P(row)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.network import Network, Node
from bayeskit._inference.potentials import Potentials
from bayeskit._messages import RowNumber
from bayeskit._numba import kernel
from bayeskit.errors import DataError
from bayeskit.typing import Floats, Ints

# Products outside [SMALL, 1 / SMALL] are rescaled. So a target with thousands of children does not underflow,
# nor one whose next table contains 1e-300.
SMALL = 1e-8
TINY, HUGE = 1e-290, 1e290


@kernel
def _add_logs(
    codes: Any,
    i: int,
    strides: Any,
    column: Any,
    part: Any,
    values: Any,
    start: Any,
    step: Any,
    out: Any,
) -> None:
    """Write the product of one row relative to its largest entry, computed in logs."""
    n_states = out.shape[1]
    for k in range(n_states):
        out[i, k] = 0.0
    for f in range(len(start)):
        cell = start[f]
        for j in range(part[f], part[f + 1]):
            cell += codes[i, column[j]] * strides[j]
        for k in range(n_states):
            x = values[cell + k * step[f]]
            out[i, k] += np.log(x) if x > 0.0 else -np.inf
    largest = -np.inf
    for k in range(n_states):
        largest = max(largest, out[i, k])
    for k in range(n_states):
        out[i, k] = np.exp(out[i, k] - largest) if largest > -np.inf else 0.0


@kernel
def multiply_rows(
    codes: Any, strides: Any, column: Any, part: Any, values: Any, start: Any, step: Any, out: Any
) -> None:
    """Write P(target | row) of each row of codes; zeros if no state of the target is possible.

    Factor f starts at values[start[f]], with stride step[f] for the target. Its other variables are the
    columns column[part[f] : part[f + 1]] of the codes, with strides strides[...].
    """
    n_states = out.shape[1]
    for i in range(len(codes)):
        lost = False
        for k in range(n_states):
            out[i, k] = 1.0
        for f in range(len(start)):
            cell = start[f]
            for j in range(part[f], part[f + 1]):
                cell += codes[i, column[j]] * strides[j]
            largest = 0.0
            for k in range(n_states):
                x = values[cell + k * step[f]]
                y = out[i, k] * x
                # A state far behind may still win if many children point in different directions.
                lost |= (y < TINY and x > 0.0 and out[i, k] > 0.0) or y > HUGE
                out[i, k] = y
                largest = max(largest, y)
            if lost or largest == 0.0:
                break
            if largest < SMALL or largest > 1.0 / SMALL:
                for k in range(n_states):
                    lost |= out[i, k] > 0.0 and out[i, k] / largest < TINY
                    out[i, k] /= largest
                if lost:
                    break
        if lost:
            _add_logs(codes, i, strides, column, part, values, start, step, out)
        total = 0.0
        for k in range(n_states):
            total += out[i, k]
        if total > 0.0:
            for k in range(n_states):
                out[i, k] /= total


class Lookup:
    r"""P(target | everything else), from the factors that contain the target.

    .. math:: P(t \mid x) \propto \prod_{f \ni t} f(t, x_f)

    In a Bayesian network these are the tables of the target and of its children; their variables form its
    Markov blanket.

    Parameters
    ----------
    potentials : the factors
    target : a variable

    Attributes
    ----------
    blanket : the other variables of those factors, in order

    Examples
    --------
    >>> rain, wet = np.array([0.8, 0.2]), np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> p = Potentials.laid_out([2, 2], [[0], [0, 1]], [rain, wet], [0, 1], ("rain", "wet"))
    >>> Lookup(p, 0).posteriors(np.array([[1]])).round(3)
    array([[0.333, 0.667]])
    """

    def __init__(self, potentials: Potentials, target: int) -> None:
        owners = np.repeat(np.arange(potentials.n_factors), np.diff(potentials.scope_start))
        self._factors = np.unique(owners[potentials.scope == target])
        scopes = [potentials.scope_of(int(f)) for f in self._factors]
        self.blanket = tuple(sorted({v for scope in scopes for v in scope} - {target}))
        columns = {v: column for column, v in enumerate(self.blanket)}
        self._potentials, self._columns = potentials, columns
        self._n_states = int(potentials.sizes[target])
        self._values = potentials.values
        self._start = potentials.value_start[self._factors]
        self._has_rule = not potentials.rules.keys().isdisjoint(self._factors.tolist())
        strides: list[int] = []
        column: list[int] = []
        part, step = [0], []
        for scope in () if self._has_rule else scopes:
            stride = 1
            for v in reversed(scope):
                if v == target:
                    step.append(stride)
                else:
                    strides.append(stride)
                    column.append(columns[v])
                stride *= int(potentials.sizes[v])
            part.append(len(column))
        self._strides, self._column = np.array(strides, np.int64), np.array(column, np.int64)
        self._part, self._step = np.array(part, np.int64), np.array(step, np.int64)

    def posteriors(self, codes: Ints) -> Floats:
        """Return P(target | row) for each row of codes of the blanket, none missing: shape (n, states).

        A row of zeros means that no state of the target has positive probability.
        """
        if self._has_rule:
            return self._in_logs(codes)
        out = np.empty((len(codes), self._n_states))
        multiply_rows(
            codes, self._strides, self._column, self._part, self._values, self._start, self._step, out
        )
        return out

    def _in_logs(self, codes: Ints) -> Floats:
        """Return the same if a factor is a rule, which has no cells to look up."""
        logs = np.zeros((len(codes), self._n_states))
        rows = np.column_stack([codes, np.zeros(len(codes), np.int64)])
        for state in range(self._n_states):
            rows[:, -1] = state
            for f in self._factors.tolist():
                columns = [self._columns.get(v, len(self.blanket)) for v in self._potentials.scope_of(f)]
                logs[:, state] += self._potentials.log_values(f, rows, columns)
        largest = logs.max(axis=1, keepdims=True)
        out: Floats = np.exp(logs - np.where(largest > -np.inf, largest, 0.0))
        total = out.sum(axis=1, keepdims=True)
        return np.asarray(out / np.where(total > 0.0, total, 1.0))


def log_weights(potentials: Potentials, codes: Ints) -> Floats:
    """Return log of the product of all factors at each complete row of codes; −inf where a factor is zero.

    For a Bayesian network it is log P(row).

    >>> p = Potentials.laid_out([2], [[0]], [np.array([0.5, 0.0])], [0], ("coin",))
    >>> log_weights(p, np.array([[0], [1]])).round(3)
    array([-0.693,   -inf])
    """
    total = np.zeros(len(codes))
    for f in range(potentials.n_factors):
        total += potentials.log_values(f, codes, potentials.scope_of(f))
    return total


def log_prob(network: Network, codes: Ints, values: Floats | None = None) -> Floats:
    r"""Return :math:`\log p(x) = \sum_i \log p(x_i \mid \mathrm{pa}_i)` of each row.

    A node with variance zero adds log 1 = 0 at its point and −∞ elsewhere.

    Parameters
    ----------
    network : Network with all its distributions
    codes : int array of shape (n, number of nodes)
        States of the discrete nodes; other columns are not read.
    values : array of shape (n, number of nodes)
        Values of the continuous nodes; other columns are not read. Not needed where there are none.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from bayeskit.networks import Table
    >>> from bayeskit._graphs.network import discrete
    >>> rain = Node(discrete("rain", ("no", "yes")), (), Table([0.8, 0.2]))
    >>> wet = Node(discrete("wet", ("no", "yes")), ("rain",), Table([[0.9, 0.1], [0.2, 0.8]]))
    >>> np.exp(log_prob(Network((rain, wet)), np.array([[0, 0], [1, 1]]))).round(3)
    array([0.72, 0.16])
    """
    network.require_distributions()
    for k, node in enumerate(network.nodes):
        _check(node, k, codes, values)
    numbers = np.empty(codes.shape) if values is None else values
    total = np.zeros(len(codes))
    for node in network.nodes:
        assert node.distribution is not None
        members = [(network.dag.position[member.name], member) for member in network.family(node.name)]
        discrete = [k for k, member in members if member.is_discrete]
        numeric = [k for k, member in members if not member.is_discrete]
        total += node.distribution.log_prob(codes[:, discrete], numbers[:, numeric])
    return total


def _check(node: Node, k: int, codes: Ints, values: Floats | None) -> None:
    column: NDArray[Any]
    if node.is_discrete:
        column = codes[:, k]
        wrong = (column < 0) | (column >= node.variable.size)
    elif values is None:
        raise DataError("{name!r} is continuous: the probability of a row needs its values.", name=node.name)
    else:
        column = values[:, k]
        wrong = ~np.isfinite(column)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            "{name!r} is {column} in {place}, which is missing or not one of its values. Give complete "
            "rows, or compute the probability of the known cells as evidence.",
            name=node.name,
            column=column[row],
            place=RowNumber(row),
        )
