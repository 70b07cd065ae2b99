r"""Samples or weights the numeric nodes of a mixed network: after the discrete ones, or one node after the other.

Given the discrete states, the numeric ancestors of the observed nodes are jointly normal. Parts that no
numeric arc connects are independent, so each part is one factor over the discrete parents of its nodes:
:math:`N(e; \mu_d, \Sigma_d)`. Values sampled without the evidence are corrected exactly:

.. math:: x + \Sigma_{x e} \Sigma_{e e}^{-1} (e - x_e)

has the conditional distribution (Matheron's rule). Where discrete nodes have continuous parents, every node is
drawn for all rows at once, after its parents, and observed nodes weight the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.dag import topological_order
from bayeskit._graphs.distributions import LinearGaussian, log_normal
from bayeskit._graphs.network import Network, Node
from bayeskit._inference.potentials import Evidence
from bayeskit._inference.sampling.forward import draw_rows, logs_of, uniform_chunks
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Numeric:
    """The regressions of a network, in sampling order.

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
        """The regression, the discrete parents and the numeric parents of each numeric node."""
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
        for k in order:  # grows during the loop
            for child in children[k]:
                waiting[child] -= 1
                if not waiting[child]:
                    order.append(child)
        return order

    def ancestral(self, of: list[int]) -> NDArray[np.bool_]:
        """Return which numeric nodes are among these or their numeric ancestors."""
        found = np.zeros(len(self.nodes), bool)
        waiting = list(of)
        while waiting:
            k = waiting.pop()
            if not found[k]:
                found[k] = True
                waiting.extend(self.nodes[k][2])
        return found

    def moments(self, k: int, codes: Ints, values: Floats) -> tuple[Floats, Floats]:
        """Return the mean and variance of node k in each row, given the values of its parents."""
        regression, cells, numbers = self.nodes[k]
        return regression.moments(codes[:, cells], values[:, numbers])

    def draw(self, k: int, codes: Ints, uniforms: Floats, values: Floats) -> None:
        """Fill column k of values (rows × numeric nodes) from column k of uniforms; its parents are already filled."""
        from scipy.special import ndtri  # discrete networks do not need SciPy

        mean, variance = self.moments(k, codes, values)
        # The inverse normal distribution takes one uniform per value, so a short sample is the beginning of a
        # longer one. Zero would give minus infinity.
        values[:, k] = mean + np.sqrt(variance) * ndtri(np.maximum(uniforms[:, k], 2.0**-54))


def discrete_part(network: Network) -> Network:
    """Return the network of the discrete nodes; no numeric node is their ancestor."""
    if network.is_discrete:
        return network
    return Network(tuple(node for node in network.nodes if node.is_discrete), network.name)


# If less than this share of a value's variance remains after other observations, it counts as determined.
NO_FREEDOM = 1e-12


@dataclass(frozen=True, eq=False)
class Part:
    """Numeric nodes connected by arcs, some of them observed.

    Attributes
    ----------
    nodes : the numeric nodes; seen : the positions of the observed ones among them; seen_values : their values
    cells : the discrete parents of all of them; sizes : their numbers of states
    log_density : log N(e; μ_d, Σ_d), one axis for each of ``cells``
    hits : how many of the values have variance zero, with the same axes
    gain : Σ_xe Σ_ee⁻¹ of each configuration, (configurations, nodes, seen)
    """

    nodes: list[int]
    seen: list[int]
    seen_values: Floats
    cells: tuple[int, ...]
    sizes: tuple[int, ...]
    log_density: Floats
    hits: Floats
    gain: Floats

    @property
    def outweighed(self) -> Floats:
        """The log density, −∞ if other configurations make more of the values certain.

        A probability takes precedence over any density, as in exact inference.
        """
        possible = self.log_density > -np.inf
        most = np.max(self.hits, where=possible, initial=0.0)
        return np.where(possible & (self.hits < most), -np.inf, self.log_density)

    def mend(self, codes: Ints, values: Floats) -> None:
        """Turn values sampled without the evidence into values sampled given the evidence."""
        at = np.zeros(len(codes), np.int64)
        for c, size in zip(self.cells, self.sizes, strict=True):
            at = at * size + codes[:, c]
        columns = np.array(self.nodes)
        observed = columns[self.seen]
        gap = self.seen_values - values[:, observed]
        values[:, columns] += np.einsum("rns,rs->rn", self.gain[at], gap)
        values[:, observed] = self.seen_values


def parts_of(numeric: Numeric, known: Floats, sizes: list[int], max_memory: float) -> list[Part]:
    """Return the parts into which observed values (NaN: free) divide the numeric nodes."""
    seen = [int(k) for k in np.flatnonzero(~np.isnan(known))]
    inside = numeric.ancestral(seen)
    root = list(range(len(numeric.nodes)))

    def top(k: int) -> int:
        while root[k] != k:
            root[k] = root[root[k]]
            k = root[k]
        return k

    members: dict[int, list[int]] = {}
    ordered = [k for k in numeric.order if inside[k]]
    for k in ordered:
        for parent in numeric.nodes[k][2]:
            root[top(parent)] = top(k)
    for k in ordered:
        members.setdefault(top(k), []).append(k)
    return [_part(numeric, nodes, known, sizes, max_memory) for nodes in members.values()]


def _part(numeric: Numeric, nodes: list[int], known: Floats, sizes: list[int], max_memory: float) -> Part:
    cells = tuple(sorted({c for k in nodes for c in numeric.nodes[k][1]}))
    shape = tuple(sizes[c] for c in cells)
    count, m = math.prod(shape), len(nodes)
    if count * m * m * 8 * 3 > max_memory:
        names = [name for name, c in numeric.discrete_place.items() if c in cells]
        raise TooLarge(count * m * m * 8 * 3, max_memory, names, count * m * m)
    configurations = np.zeros((count, max(cells, default=-1) + 1), np.int64)
    configurations[:, list(cells)] = np.indices(shape).reshape(len(shape), count).T
    place = {k: i for i, k in enumerate(nodes)}
    # x = mean + load · (independent standard normals); size is the largest term of the sum that gives the mean.
    mean, size, load = np.zeros((count, m)), np.zeros((count, m)), np.zeros((count, m, m))
    for i, k in enumerate(nodes):
        regression, its_cells, numbers = numeric.nodes[k]
        where = tuple(configurations[:, c] for c in its_cells)
        slope = np.broadcast_to(regression.coefficients[where], (count, len(numbers)))
        above = [place[p] for p in numbers]
        intercept = regression.intercept[where]
        mean[:, i] = intercept + (slope * mean[:, above]).sum(axis=-1)
        size[:, i] = np.maximum(np.abs(intercept), np.abs(slope * size[:, above]).max(axis=-1, initial=0.0))
        load[:, i] = np.einsum("cp,cpm->cm", slope, load[:, above])
        load[:, i, i] = np.sqrt(regression.variance[where])
    seen = [i for i, k in enumerate(nodes) if not np.isnan(known[k])]
    e = known[[nodes[i] for i in seen]]
    log_density, hits, gain = _conditioned(mean, size, load, seen, e)
    return Part(nodes, seen, e, cells, shape, log_density.reshape(shape), hits.reshape(shape), gain)


def _conditioned(
    mean: Floats, size: Floats, load: Floats, seen: list[int], e: Floats
) -> tuple[Floats, Floats, Floats]:
    """Observe one value after the other; return the log density, the number of certain values, and the gain.

    The information of a value is removed from the loads (Gram–Schmidt), not from a covariance, which would
    lose half of the digits. A value with no variance left must equal its prediction; then it adds no
    information.
    """
    count, m = mean.shape
    log_density, hits, gain = np.zeros(count), np.zeros(count), np.zeros((count, m, len(seen)))
    at_first = np.linalg.norm(load[:, seen], axis=-1)
    for j, i in enumerate(seen):
        norm = np.linalg.norm(load[:, i], axis=-1)
        norm = np.where(norm > NO_FREEDOM * at_first[:, j], norm, 0.0)
        gap = e[j] - mean[:, i]
        density, certain = log_normal(gap, norm * norm, np.maximum(size[:, i], abs(e[j])))
        log_density, hits = log_density + density, hits + certain
        some = np.where(norm > 0.0, norm, 1.0)[:, None]
        direction = np.where(norm[:, None] > 0.0, load[:, i] / some, 0.0)
        along = np.einsum("cnm,cm->cn", load, direction)
        load = load - along[:, :, None] * direction[:, None, :]
        moved = along / some
        shift = moved * np.where(np.isfinite(density), gap, 0.0)[:, None]
        mean, size = mean + shift, np.maximum(size, np.abs(shift))
        gain = gain + moved[:, :, None] * (np.eye(len(seen))[j] - gain[:, i])[:, None, :]
    return log_density, hits, gain


# Log P(states | parents) of a discrete node, from the codes of all discrete and the values of all numeric nodes.
LogRows = Callable[[Ints, Floats], Floats]


@dataclass(frozen=True, eq=False)
class NodeByNode:
    """A network to be sampled. Discrete nodes are numbered among themselves, and so are numeric nodes."""

    numeric: Numeric

    @property
    def network(self) -> Network:
        return self.numeric.network

    @cached_property
    def order(self) -> list[tuple[bool, int, LogRows | None]]:
        """Parents before children: whether the node is discrete, its number, and how its states depend on parents."""
        found: list[tuple[bool, int, LogRows | None]] = []
        for name in topological_order(self.network.dag):
            node = self.network[name]
            if node.is_discrete:
                found.append((True, self.numeric.discrete_place[name], self._log_rows(node)))
            else:
                found.append((False, self.numeric.place[name], None))
        return found

    @cached_property
    def _number_places(self) -> list[int]:
        """The place of each numeric node in the order."""
        at = {k: place for place, (is_discrete, k, _) in enumerate(self.order) if not is_discrete}
        return [at[k] for k in range(len(at))]

    def _log_rows(self, node: Node) -> LogRows:
        cells = [self.numeric.discrete_place[p] for p in node.parents if p in self.numeric.discrete_place]
        numbers = [self.numeric.place[p] for p in node.parents if p in self.numeric.place]
        given = node.distribution
        assert given is not None and not isinstance(given, LinearGaussian)
        return lambda codes, values: given.log_rows(codes[:, cells], values[:, numbers])

    def needed(self, discrete: Iterable[int], numeric: Iterable[int]) -> NDArray[np.bool_]:
        """Return which places of the order are these nodes or their ancestors."""
        by_number = {(True, k): n for n, k in self.numeric.discrete_place.items()}
        by_number |= {(False, k): n for n, k in self.numeric.place.items()}
        waiting = [by_number[True, int(k)] for k in discrete] + [by_number[False, int(k)] for k in numeric]
        found = set()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self.network[name].parents)
        return np.array([by_number[kind, k] in found for kind, k, _ in self.order], bool)

    def chunks(
        self,
        n: int,
        rng: np.random.Generator,
        evidence: Evidence,
        known: Floats,
        wanted: NDArray[np.bool_],
    ) -> Iterator[tuple[slice, Ints, Floats, Floats]]:
        """Yield rows, their codes, their values, and their log weights; ``wanted`` are places of the order.

        A row takes one uniform number for each node, so a short sample is the beginning of a longer one.
        """
        width = len(self.order)
        for start, uniforms in uniform_chunks(rng, n, width):
            rows = len(uniforms)
            codes = np.zeros((rows, len(self.numeric.discrete_place)), np.int64)
            values = np.zeros((rows, len(self.numeric.place)))
            logs, of_numbers = np.zeros(rows), uniforms[:, self._number_places]
            for place, (_, k, log_rows) in enumerate(self.order):
                if not wanted[place]:
                    continue
                if log_rows is not None:
                    self._draw_state(k, log_rows, uniforms[:, place], evidence, codes, values, logs)
                elif np.isnan(known[k]):
                    self.numeric.draw(k, codes, of_numbers, values)
                else:
                    mean, variance = self.numeric.moments(k, codes, values)
                    value = float(known[k])
                    logs += log_normal(value - mean, variance, np.maximum(np.abs(mean), abs(value)))[0]
                    values[:, k] = value
            yield slice(start, start + rows), codes, values, logs

    def _draw_state(
        self,
        k: int,
        log_rows: LogRows,
        uniforms: Floats,
        evidence: Evidence,
        codes: Ints,
        values: Floats,
        logs: Floats,
    ) -> None:
        found, code = log_rows(codes, values), int(evidence.codes[k])
        if code >= 0:
            codes[:, k] = code
            logs += found[:, code]
        else:
            codes[:, k] = draw_rows(found, uniforms)
        if k in evidence.likelihoods:
            logs += logs_of(evidence.likelihoods[k])[codes[:, k]]
