"""Samples networks in which discrete nodes may have continuous parents, one node after the other.

Elsewhere all discrete nodes are drawn first, by a kernel. Here they depend on numbers, so every node is drawn for all
rows at once, after its parents. Observed nodes weight the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.dag import topological_order
from bayeskit._graphs.distributions import LinearGaussian, log_normal
from bayeskit._graphs.network import Network, Node
from bayeskit._inference.potentials import Evidence
from bayeskit._inference.sampling.forward import draw_rows, uniform_chunks
from bayeskit._inference.sampling.numeric_nodes import Numeric
from bayeskit._inference.sampling.posterior_network import logs_of
from bayeskit.typing import Floats, Ints

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
