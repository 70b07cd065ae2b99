"""The discrete nodes, weighted by the evidence on continuous nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from bayeskit._graphs.network import Network
from bayeskit._inference.clique_tree import require_table
from bayeskit._inference.exact import Exact
from bayeskit._inference.gaussian.mixed_layout import HybridEvidence, Layout
from bayeskit._inference.gaussian.weights import (
    LOWEST,
    LogTable,
    LogTables,
    ScaledWeight,
    Weight,
    ascending,
    merged,
    scaled,
)
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.relevant import ancestral, relevant_factors
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats


class DiscretePart:
    """The discrete nodes, numbered 0, 1, … in their order, with their tables and a cached engine."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.nodes = layout.discrete
        self.number = {node: i for i, node in enumerate(self.nodes)}
        self.potentials = Potentials.of(Network(tuple(layout.network.nodes[v] for v in self.nodes)))
        self.sizes = [layout.sizes[v] for v in self.nodes]
        self.names = tuple(layout.names[v] for v in self.nodes)

    @cached_property
    def engine(self) -> Exact:
        return self.engine_with([])

    def engine_with(self, weights: Sequence[LogTable]) -> Exact:
        return Exact(self.potentials.beside([w.scope for w in weights], [np.exp(w.log) for w in weights]))


class Configurations:
    """Queries about the discrete nodes given all evidence. Nodes are numbered as in the network.

    The exact engine answers. If a weight that it cannot represent may matter, elimination in logarithms is used.
    """

    def __init__(self, part: DiscretePart, evidence: HybridEvidence, weights: Sequence[Weight]) -> None:
        self.part = part
        self._codes = np.array([evidence.codes[v] for v in part.nodes], np.int64)
        soft = [_soft(v, int(evidence.codes[v]), m) for v, m in evidence.likelihoods.items()]
        self._weights = merged([*weights, *soft])
        self._scaled = scaled(self._weights, outweigh=True)

    def joint(self, targets: tuple[int, ...], max_memory: float) -> tuple[Floats, float]:
        """Return P(targets | evidence), axes in the given order, and the log density of the evidence."""
        if not targets:
            return np.ones(()), self.log_density(max_memory)
        numbers = tuple(self.part.number[t] for t in targets)
        if self._scaled.taken > -math.inf:
            engine, evidence = self._plain
            found, log = engine.joint(numbers, evidence, max_memory)
            if self._trusted(log):
                return found, log + self._scaled.taken
        return self._slow_joint(numbers, max_memory)

    def posterior(self, targets: tuple[int, ...], max_memory: float) -> Floats | None:
        """Return P(targets | evidence); None if the evidence is impossible.

        It also works if the log density would need too much memory, like `Exact.posterior`.
        """
        try:
            found, log = self.joint(targets, max_memory)
        except TooLarge:
            # Without the log density, it is unknown whether a dropped weight mattered.
            if self._scaled.dropped or self._scaled.outweighed or self._scaled.taken == -math.inf:
                raise
            engine, evidence = self._plain
            return engine.posterior(tuple(self.part.number[t] for t in targets), evidence, max_memory)
        return found if log > -math.inf else None

    def marginals(self, max_memory: float) -> tuple[dict[int, Floats], float]:
        """Return P(node | evidence) of every discrete node, and the log density."""
        nodes = self.part.nodes
        if not nodes or self._scaled.taken == -math.inf:
            return {}, self._scaled.taken
        engine, evidence = self._plain
        flat, log = engine.marginals(evidence, max_memory)
        if self._trusted(log):
            starts = engine.potentials.offsets
            found = {v: flat[starts[i] : starts[i + 1]] for i, v in enumerate(nodes)}
            return found, log + self._scaled.taken
        slow = [self._slow_joint((i,), max_memory) for i in range(len(nodes))]
        return {v: p for v, (p, _) in zip(nodes, slow, strict=True)}, slow[0][1]

    def log_density(self, max_memory: float) -> float:
        if not self.part.nodes or self._scaled.taken == -math.inf:
            return self._scaled.taken
        engine, evidence = self._plain
        log = engine.log_probability(evidence, max_memory)
        return log + self._scaled.taken if self._trusted(log) else self._slow_joint((), max_memory)[1]

    def best(self, max_memory: float) -> tuple[dict[int, int], float]:
        """Return the most probable state of every discrete node, and the log density there.

        If that is −∞, the evidence is impossible and the states are undefined.
        """
        nodes = self.part.nodes
        if not nodes or self._scaled.taken == -math.inf:
            return dict.fromkeys(nodes, 0), self._scaled.taken
        engine, evidence = self._plain
        found = engine.mpe(evidence, max_memory)
        if self._trusted(found.log_probability):
            codes = {v: int(code) for v, code in zip(nodes, found.codes, strict=True)}
            return codes, found.log_probability + self._scaled.taken
        for tables, taken in self._slow_tables(range(len(nodes)), max_memory):
            chosen, log = tables.best(max_memory)
            if log > -math.inf:
                numbered = {i: int(code) for i, code in enumerate(self._codes) if code >= 0} | chosen
                return {v: numbered[i] for i, v in enumerate(nodes)}, log + taken
        return dict.fromkeys(nodes, 0), -math.inf

    @cached_property
    def _plain(self) -> tuple[Exact, Evidence]:
        """The engine and its evidence. A weight on one node becomes soft evidence, so the cached engine can be used."""
        soft: dict[int, Floats] = {}
        several = []
        for table in self._scaled.tables:
            numbers = tuple(self.part.number[v] for v in table.scope)
            if len(numbers) == 1:
                soft[numbers[0]] = np.exp(table.log)
            elif numbers:
                several.append(LogTable(numbers, table.log))
        engine = self.part.engine_with(several) if several else self.part.engine
        return engine, Evidence(self._codes, soft)

    def _trusted(self, log: float) -> bool:
        """Whether no dropped cell could have mattered compared with the result."""
        if log == -math.inf:
            return not (self._scaled.dropped or self._scaled.outweighed)
        return not self._scaled.dropped or log > LOWEST + 60.0

    def _slow_tables(self, targets: Iterable[int], max_memory: float) -> Iterator[tuple[LogTables, float]]:
        """The same product in logarithms; if nothing is possible, again without the precedence of probabilities."""
        part, number, p = self.part, self.part.number, self.part.potentials
        weight_nodes = [number[v] for weight in self._weights for v in weight.scope]
        relevant = ancestral(p, [*targets, *np.flatnonzero(self._codes >= 0), *weight_nodes])
        known = []
        for f in relevant_factors(p, relevant):
            free = [v for v in p.scope_of(f) if self._codes[v] < 0]
            require_table(p, free, max_memory)
            known.append(ascending(free, p.log_slice(f, self._codes)))
        again: ScaledWeight = scaled(self._weights, outweigh=False)
        for weight_tables in (self._scaled, again):
            weights = [LogTable(tuple(number[v] for v in t.scope), t.log) for t in weight_tables.tables]
            yield LogTables([*known, *weights], part.sizes, part.names), weight_tables.taken

    def _slow_joint(self, numbers: tuple[int, ...], max_memory: float) -> tuple[Floats, float]:
        free = tuple(sorted(v for v in numbers if self._codes[v] < 0))
        ascending = sorted(numbers)
        out = np.zeros([self.part.sizes[v] for v in ascending])
        # Observed targets are one-hot.
        place = tuple(slice(None) if (c := int(self._codes[v])) < 0 else c for v in ascending)
        found = -math.inf
        for tables, taken in self._slow_tables(numbers, max_memory):
            log = tables.onto(free, max_memory)
            top = float(log.max())
            if top > -math.inf:
                p = np.exp(log - top)
                total = float(p.sum())
                out[place] = p / total
                found = top + math.log(total) + taken
                break
        return out.transpose([ascending.index(v) for v in numbers]), found


def _soft(node: int, code: int, likelihood: Floats) -> Weight:
    """Return soft evidence as a weight: a single number if the node is also observed."""
    with np.errstate(divide="ignore"):
        log = np.log(np.asarray(likelihood, np.float64))
    return Weight((node,), log, np.zeros(log.shape)) if code < 0 else Weight((), log[code], np.zeros(()))
