"""The numeric nodes of a mixed network: their values drawn, or weighed, after the discrete ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.network import Network
from bayeskit.inference.potentials import Floats, Ints


@dataclass(frozen=True, eq=False)
class Numeric:
    """The regressions of a network, in the order in which they can be drawn.

    Columns: discrete nodes are numbered among themselves, numeric nodes among themselves.
    """

    network: Network

    @cached_property
    def discrete_place(self) -> dict[object, int]:
        return {node.name: k for k, node in enumerate(n for n in self.network.nodes if n.is_discrete)}

    @cached_property
    def place(self) -> dict[object, int]:
        return {node.name: k for k, node in enumerate(n for n in self.network.nodes if not n.is_discrete)}

    @cached_property
    def nodes(self) -> list[tuple[LinearGaussian, list[int], list[int]]]:
        """Of each numeric node its regression, its discrete parents and its numeric parents."""
        found = []
        for node in self.network.nodes:
            if not node.is_discrete:
                assert isinstance(node.distribution, LinearGaussian)
                cells = [self.discrete_place[p] for p in node.parents if p in self.discrete_place]
                numbers = [self.place[p] for p in node.parents if p in self.place]
                found.append((node.distribution, cells, numbers))
        return found

    @cached_property
    def order(self) -> list[int]:
        """Numeric parents before their children."""
        waiting = [len(numbers) for _, _, numbers in self.nodes]
        children: list[list[int]] = [[] for _ in self.nodes]
        for k, (_, _, numbers) in enumerate(self.nodes):
            for parent in numbers:
                children[parent].append(k)
        order = [k for k, count in enumerate(waiting) if not count]
        for k in order:  # grows while it is read
            for child in children[k]:
                waiting[child] -= 1
                if not waiting[child]:
                    order.append(child)
        return order

    def ancestral(self, of: list[int]) -> NDArray[np.bool_]:
        """Tell which numeric nodes are among these or numeric ancestors of them."""
        found = np.zeros(len(self.nodes), bool)
        waiting = list(of)
        while waiting:
            k = waiting.pop()
            if not found[k]:
                found[k] = True
                waiting.extend(self.nodes[k][2])
        return found

    def moments(self, k: int, codes: Ints, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of node k in each row, given the values of its parents there."""
        regression, cells, numbers = self.nodes[k]
        place = tuple(codes[:, c] for c in cells)
        slope = regression.coefficients[place]
        mean = regression.intercept[place] + (slope * values[:, numbers]).sum(axis=-1)
        variance = regression.variance[place]
        return np.broadcast_to(mean, len(values)), np.broadcast_to(variance, len(values))

    def draw(self, k: int, codes: Ints, uniforms: Floats, values: Floats) -> None:
        """Fill column k of values (rows × numeric nodes) from column k of uniforms; its parents stand."""
        from scipy.special import ndtri  # discrete networks do without SciPy

        mean, variance = self.moments(k, codes, values)
        # The inverse of the normal distribution takes one uniform a value, so the rows of a short sample
        # begin a long one. Zero itself would be minus infinity.
        values[:, k] = mean + np.sqrt(variance) * ndtri(np.maximum(uniforms[:, k], 2.0**-54))


def discrete_part(network: Network) -> Network:
    """Return the discrete nodes alone: no numeric node is above them."""
    if network.is_discrete:
        return network
    return Network(tuple(node for node in network.nodes if node.is_discrete), network.name)
