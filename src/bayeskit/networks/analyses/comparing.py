"""Whether two networks say the same, whatever the order of their nodes, parents and states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.graphs.distributions import LinearGaussian, NoisyMax
from bayeskit.graphs.network import Network, Node
from bayeskit.schema import Label

Codes = NDArray[np.intp]


def same_network(one: Network, other: Network) -> bool:
    """Tell whether nodes, arcs and states are the same and every number is equal; names of networks do not count.

    Independent causes are compared with independent causes cause by cause (there the order of the child's states
    matters, for it is that of their effect: as declared or the other way round), everything else discrete by its
    table.

    Examples
    --------
    >>> from bayeskit.networks.given.building import network_of
    >>> same_network(network_of({"b": ["a"]}), network_of([("a", "b")]))
    True
    """
    if set(one.dag.nodes) != set(other.dag.nodes):
        return False
    pairs = [(node, other[node.name]) for node in one.nodes]
    for a, b in pairs:
        alike = a.is_discrete == b.is_discrete and set(a.parents) == set(b.parents)
        if not alike or set(a.variable.states) != set(b.variable.states):
            return False
    return all(_same_distribution(one, other, a, b) for a, b in pairs)


def _same_distribution(one: Network, other: Network, a: Node, b: Node) -> bool:
    if a.distribution is None or b.distribution is None:
        return a.distribution is b.distribution
    # For each axis of a's table: which axis of b's it is, and in what order its states stand there.
    chosen = [p for p in a.parents if one[p].is_discrete]
    theirs = [p for p in b.parents if other[p].is_discrete]
    axes = [theirs.index(p) for p in chosen]
    codes = [_codes(one[p], other[p]) for p in chosen]
    if isinstance(a.distribution, LinearGaussian) or isinstance(b.distribution, LinearGaussian):
        if not (isinstance(a.distribution, LinearGaussian) and isinstance(b.distribution, LinearGaussian)):
            return False
        places = [p for p in b.parents if p not in theirs]
        slopes = [places.index(p) for p in a.parents if p not in chosen]
        x, y = a.distribution, b.distribution
        turned = y.coefficients.transpose([*axes, len(axes)])
        return (
            np.array_equal(x.intercept, _turned(y.intercept, axes, codes))
            and np.array_equal(x.variance, _turned(y.variance, axes, codes))
            and np.array_equal(x.coefficients, turned[np.ix_(*codes, np.array(slopes, np.intp))])
        )
    if isinstance(a.distribution, NoisyMax) and isinstance(b.distribution, NoisyMax):
        mine, states = _from_none(a.distribution, a.variable.states)
        yours, other_states = _from_none(b.distribution, b.variable.states)
        return (
            states == other_states  # the strongest effect is another one in another order
            and np.array_equal(mine.leak, yours.leak)
            and all(np.array_equal(x, yours.causes[k][c]) for x, k, c in zip(mine.causes, axes, codes))
        )
    theirs_turned = _turned(b.distribution.table(), [*axes, len(axes)], [*codes, _codes(a, b)])
    return np.array_equal(a.distribution.table(), theirs_turned)


def _from_none(noisy: NoisyMax, states: tuple[Label, ...]) -> tuple[NoisyMax, tuple[Label, ...]]:
    """Return independent causes and the child's states in order of effect, none first."""
    return (noisy, states) if noisy.rising else (noisy.turned(), states[::-1])


def _codes(a: Node, b: Node) -> Codes:
    """Return where each state of one node stands in the other."""
    return np.array([b.variable.codes[state] for state in a.variable.states], np.intp)


def _turned(values: NDArray[np.float64], axes: list[int], codes: list[Codes]) -> NDArray[np.float64]:
    return np.asarray(values.transpose(axes)[np.ix_(*codes)]) if axes else values
