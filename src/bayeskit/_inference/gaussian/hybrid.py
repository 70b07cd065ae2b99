"""Exact inference in Gaussian and conditional Gaussian networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.network import Network
from bayeskit._inference.clique_tree import require_table
from bayeskit._inference.exact import MAX_MEMORY, Exact
from bayeskit._inference.gaussian.elimination import (
    LOWEST,
    LogTable,
    LogTables,
    Moments,
    ScaledWeight,
    Step,
    Weight,
    all_moments,
    ascending,
    eliminate,
    joint_moments,
    merged,
    plan,
    scaled,
)
from bayeskit._inference.gaussian.mixed_layout import HybridEvidence, Layout, Regression, Scope
from bayeskit._inference.mixture_posterior import GaussianMixturePosterior
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.relevant import ancestral, relevant_factors
from bayeskit._messages import Joined, Message
from bayeskit.errors import SettingError, TooLarge
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
        tables = [_free(scope, log, evidence.codes) for scope, log in evidence.tables]
        self._weights = merged([*weights, *soft, *tables])
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


def _free(scope: Scope, log: Floats, codes: NDArray[np.int64]) -> Weight:
    """Return a table of probabilities as a weight over those of its nodes that are not observed."""
    place = tuple(slice(None) if codes[v] < 0 else int(codes[v]) for v in scope)
    rest = ascending(tuple(v for v in scope if codes[v] < 0), np.asarray(log[place]))
    return Weight(rest.scope, rest.log, np.zeros(rest.log.shape))


Values = Callable[[NDArray[np.int64], Floats], Floats]


def mode(
    steps: Sequence[Step], given_later: Mapping[int, Regression], names: Sequence[object]
) -> tuple[list[Weight], Values]:
    """Return the density of each node at its mean, by configuration, and a function that returns the means.

    The function takes the chosen codes and the observed values, and returns all values.
    """
    peaks = []
    for node, row in given_later.items():
        certain = row.variance == 0.0
        if certain.any() and not certain.all():
            raise SettingError(
                "{name!r} is certain under some configurations of the discrete nodes but not under others, and "
                "a probability cannot be compared with a density. So no configuration is the most probable. "
                "Observe it, or give it a small variance everywhere.",
                name=names[node],
            )
        if not certain.any():
            peaks.append(
                Weight(row.scope, -0.5 * np.log(2.0 * np.pi * row.variance), np.zeros(row.variance.shape))
            )

    def values_at(codes: NDArray[np.int64], observed: Floats) -> Floats:
        values = np.array(observed, np.float64)
        for step in reversed(steps):
            row = given_later[step.node]
            cell = tuple(int(codes[v]) for v in row.scope)
            values[step.node] = row.intercept[cell] + row.coefficients[cell] @ values[list(row.variables)]
        return values

    return peaks, values_at


__all__ = ["Hybrid", "HybridAssignment", "HybridEvidence", "HybridPosteriors"]


class HybridPosteriors(NamedTuple):
    """Results by node number. If ``log_density`` is −∞, the evidence is impossible and both are empty."""

    discrete: dict[int, Floats]
    continuous: dict[int, GaussianMixturePosterior]
    log_density: float


@dataclass(frozen=True)
class HybridAssignment:
    """A state or a value for each node (−1 and NaN at nodes of the other kind), and its log density."""

    codes: NDArray[np.int64]
    values: Floats
    log_density: float


class Hybrid:
    """Exact queries by strong elimination: first the continuous variables, then the discrete ones.

    For each configuration of the discrete nodes, the continuous nodes are jointly normal. Equations are
    stored as regressions, so variances may be zero. The posterior of a continuous node is a mixture with one
    component for each configuration that its mean or variance depends on.

    If a node with variance zero allows the observed value, the observation counts with probability one, not
    with a density; if it does not, the evidence is impossible. If a value has a probability under some
    configurations and only a density under others, the others are excluded.

    Parameters
    ----------
    network : Network with all its distributions

    Examples
    --------
    >>> from bayeskit.networks import LinearGaussian, Table
    >>> from bayeskit._graphs.network import Node, continuous, discrete
    >>> sex = Node(discrete("sex", ("f", "m")), (), Table([0.5, 0.5]))
    >>> height = Node(continuous("height"), ("sex",), LinearGaussian([165.0, 178.0], np.zeros((2, 0)), [36.0, 49.0]))
    >>> answers = Hybrid(Network((sex, height))).posteriors(HybridEvidence.nothing(2))
    >>> answers.continuous[1]
    GaussianMixturePosterior(mean 171.5, sd 9.206: 0.5 × N(165, 6²) + 0.5 × N(178, 7²))
    >>> seen = HybridEvidence(np.array([-1, -1]), np.array([np.nan, 180.0]))
    >>> Hybrid(Network((sex, height))).posteriors(seen).discrete[0].round(3)
    array([0.051, 0.949])
    """

    def __init__(self, network: Network) -> None:
        network.require_distributions()
        self.layout = Layout(network)
        self._part = DiscretePart(self.layout)
        self.has_rules = bool(self._part.potentials.rules)

    def posteriors(self, evidence: HybridEvidence, max_memory: float = MAX_MEMORY) -> HybridPosteriors:
        """Return the posterior of every node: probabilities, or a mixture of normals."""
        layout = self.layout
        rows = self._rows(layout.continuous, evidence)
        planned = plan(layout, rows)
        planned.allow(layout, max_memory, moments=True)
        done = eliminate(rows, planned.steps)
        configurations = Configurations(self._part, evidence, done.weights)
        discrete, log = configurations.marginals(max_memory)
        if log == -math.inf:
            return HybridPosteriors({}, {}, log)
        moments = all_moments(planned.steps, done.given_later)
        weights: dict[Scope, Floats] = {}
        continuous = {}
        for k in layout.continuous:
            if k not in moments:
                continuous[k] = GaussianMixturePosterior.at(float(evidence.values[k]))
                continue
            narrow = moments[k].narrowed()
            if narrow.scope not in weights:
                weights[narrow.scope] = configurations.joint(narrow.scope, max_memory)[0]
            continuous[k] = _mixture(narrow, weights[narrow.scope])
        return HybridPosteriors(discrete, continuous, log)

    def joint(
        self, targets: tuple[int, ...], evidence: HybridEvidence, max_memory: float = MAX_MEMORY
    ) -> tuple[Floats | GaussianMixturePosterior, float]:
        """Return the joint posterior of the targets, and the log density of the evidence.

        For discrete targets it is an array with axes in the given order. For continuous targets it is a
        mixture, over numbers for one target and over vectors in the given order for several. Targets of both
        kinds are refused. If the log density is −∞, the evidence is impossible and the first result is
        undefined.
        """
        layout = self.layout
        kinds = {layout.is_discrete[t] for t in targets}
        if len(kinds) != 1:
            listed = Joined(repr(layout.names[t]) for t in targets)
            raise SettingError(
                "The targets {listed} must be all discrete or all continuous. Ask for the continuous ones "
                "once for each state of the discrete ones, with those states as evidence.",
                listed=listed or Message("(none)"),
            )
        free = () if kinds == {True} else tuple(t for t in targets if np.isnan(evidence.values[t]))
        rows = self._rows(layout.needed(free, evidence), evidence)
        planned = plan(layout, rows, last=free)
        planned.allow(layout, max_memory, moments=False)
        ends = planned.steps[len(planned.steps) - len(free) :]
        self._allow_joint(ends, len(targets), max_memory)
        done = eliminate(rows, planned.steps)
        configurations = Configurations(self._part, evidence, done.weights)
        if kinds == {True}:
            return configurations.joint(targets, max_memory)
        moments = joint_moments([step.node for step in ends], done.given_later)
        narrow = _in_order(moments, [step.node for step in ends], targets, evidence.values).narrowed()
        weights, log = configurations.joint(narrow.scope, max_memory)
        if log == -math.inf:
            return np.empty(0), log
        return _mixture(narrow, weights), log

    def posterior(
        self, targets: tuple[int, ...], evidence: HybridEvidence, max_memory: float = MAX_MEMORY
    ) -> Floats | None:
        """Return the joint posterior of discrete targets as ``joint`` does; None if the evidence is impossible.

        It also works if the log density would need too much memory, as long as the discrete nodes connected
        with the targets do not.
        """
        return self._configurations(evidence, max_memory).posterior(targets, max_memory)

    def log_probability(self, evidence: HybridEvidence, max_memory: float = MAX_MEMORY) -> float:
        """Return the log of the probability of the observed states times the density of the observed values."""
        return self._configurations(evidence, max_memory).log_density(max_memory)

    def mpe(self, evidence: HybridEvidence, max_memory: float = MAX_MEMORY) -> HybridAssignment:
        """Return the states and values where the joint density is largest.

        Refused if a free node has variance zero under some configurations but not under others, because a
        probability and a density cannot be compared.
        """
        layout = self.layout
        rows = self._rows(layout.continuous, evidence)
        planned = plan(layout, rows)
        planned.allow(layout, max_memory, moments=False)
        done = eliminate(rows, planned.steps)
        peaks, values_at = mode(planned.steps, done.given_later, layout.names)
        best, log = Configurations(self._part, evidence, [*done.weights, *peaks]).best(max_memory)
        codes = np.full(len(layout.names), -1, np.int64)
        for v, code in best.items():
            codes[v] = code
        return HybridAssignment(codes, values_at(codes, evidence.values), log)

    def _rows(self, nodes: Sequence[int], evidence: HybridEvidence) -> dict[int, Regression]:
        return {k: self.layout.given(k, evidence) for k in nodes}

    def _configurations(self, evidence: HybridEvidence, max_memory: float) -> Configurations:
        rows = self._rows(self.layout.needed((), evidence), evidence)
        planned = plan(self.layout, rows)
        planned.allow(self.layout, max_memory, moments=False)
        weights: list[Weight] = eliminate(rows, planned.steps).weights
        return Configurations(self._part, evidence, weights)

    def _allow_joint(self, ends: Sequence[Step], width: int, max_memory: float) -> None:
        scope = sorted({v for step in ends for v in step.scope})
        cells = math.prod(self.layout.sizes[v] for v in scope)
        needed = 8 * 3 * cells * (width + 1) * width
        if needed > max_memory:
            nodes = [*scope, *(step.node for step in ends)]
            raise TooLarge(needed, max_memory, [self.layout.names[k] for k in nodes], cells * width**2)


def _in_order(moments: Moments, nodes: Sequence[int], targets: Sequence[int], values: Floats) -> Moments:
    """Return joint moments in the order of the targets; observed targets have their value and variance zero."""
    cells = moments.mean.shape[:-1]
    d = len(targets)
    mean, variance = np.zeros((*cells, d)), np.zeros((*cells, d, d))
    mean[...] = values[list(targets)]
    place = {node: k for k, node in enumerate(nodes)}
    inside = np.array([i for i, t in enumerate(targets) if t in place], np.intp)
    found = np.array([place[t] for t in targets if t in place], np.intp)
    mean[..., inside] = moments.mean[..., found]
    variance[..., inside[:, None], inside] = moments.variance[..., found[:, None], found]
    if d == 1:
        return Moments(moments.scope, mean[..., 0], variance[..., 0, 0])
    return Moments(moments.scope, mean, variance)


def _mixture(moments: Moments, weights: Floats) -> GaussianMixturePosterior:
    flat = weights.ravel()
    n = len(moments.scope)
    means = moments.mean.reshape((flat.size, *moments.mean.shape[n:]))
    variances = moments.variance.reshape((flat.size, *moments.variance.shape[n:]))
    some = flat > 0.0
    return GaussianMixturePosterior(flat[some], means[some], variances[some])
