"""The input of elimination with continuous nodes: node numbers, an order, regressions, evidence."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import LinearGaussian
from bayeskit._graphs.network import Network
from bayeskit._inference.gaussian.regression import Regression
from bayeskit.typing import Floats, Ints


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
    """

    codes: Ints
    values: NDArray[np.float64]
    likelihoods: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)

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
