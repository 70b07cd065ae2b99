"""Optimal decisions in an influence diagram: elimination over pairs of a probability and an expected utility.

The last decision is solved first, then replaced by its policy, which is one more conditional table. So each
decision is one elimination of a network, and its table is only over the observations that matter (the requisite
ones): S. Lauritzen and D. Nilsson, *Representing and solving decision problems with limited information*,
Management Science 47 (2001). With perfect recall the result is the optimum over all policies.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.dag import Dag, ancestors, descendants
from bayeskit._graphs.distributions import Table
from bayeskit._graphs.network import Diagram, Network, Utility
from bayeskit._graphs.separation import reachable
from bayeskit._inference.potentials import LARGEST_LAID_OUT, Potentials
from bayeskit._messages import Message
from bayeskit._schema import Name
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints

# Choices whose expected utilities differ by less than this share of the largest utility are equally good.
TIED = 1e-13
# Arrays have a limited number of axes; with two states each, so many are beyond any memory.
MOST_AXES = 32
_WAY_OUT = (
    "Raise max_memory=, let fewer nodes be observed before a decision, or give some of these in the evidence."
)


@dataclass(frozen=True, eq=False)
class _Factor:
    """A table over numbered variables, in ascending order."""

    scope: tuple[int, ...]
    values: Floats

    def over(self, scope: Sequence[int]) -> Floats:
        """Return the table with an axis for each of these variables, of length one where it has none."""
        own = dict(zip(self.scope, self.values.shape, strict=True))
        return self.values.reshape([own.get(v, 1) for v in scope])


def _sorted(scope: Sequence[int], values: Floats, codes: Ints) -> _Factor:
    """Return a factor without the observed variables, its axes in ascending order."""
    values = values[tuple(slice(None) if codes[v] < 0 else int(codes[v]) for v in scope)]
    free = [v for v in scope if codes[v] < 0]
    return _Factor(tuple(sorted(free)), values.transpose(np.argsort(free)) if free else values)


@dataclass(frozen=True, eq=False)
class Expectation:
    """P(kept, evidence), divided by a scale, and the expected utility given the kept variables and the evidence.

    ``probability`` and ``utility`` have one axis for each kept variable. Where the probability is zero, so is the
    utility. ``log_scale`` is the logarithm of the scale.
    """

    probability: Floats
    utility: Floats
    log_scale: float


def expectation(
    network: Network,
    utilities: Sequence[Utility],
    kept: Sequence[Name],
    evidence: Mapping[Name, int],
    max_memory: float,
) -> Expectation:
    """Sum out all other variables of a network and of the utilities over it.

    Eliminating x from the probabilities φ and a utility ψ that contain it leaves

    φ' = Σ_x φ   and   ψ' = Σ_x φ ψ / φ',

    so that every ψ is a conditional expectation, whatever the scale of φ. Utilities stay apart as long as they are
    over different variables: each is summed with the probabilities it needs.
    """
    wanted = {*kept, *evidence, *(p for utility in utilities for p in utility.parents)}
    named = wanted | {*ancestors(network.dag, *wanted)}
    # The others are barren: their tables sum to one.
    relevant = replace(network, nodes=tuple(node for node in network.nodes if node.name in named))
    place = relevant.dag.position
    codes = np.full(len(relevant.nodes), -1, np.int64)
    for name, code in evidence.items():
        codes[place[name]] = code
    # Variables of one state need no axis.
    codes[[node.variable.size == 1 for node in relevant.nodes]] = 0
    potentials = Potentials.of(relevant)
    wide = [f for f in potentials.structures if potentials.cells_given(f, codes) > LARGEST_LAID_OUT // 16]
    potentials = potentials.split(codes, wide) if wide else potentials
    codes = np.concatenate([codes, np.full(potentials.n_variables - len(codes), -1, np.int64)])
    run = _Elimination(potentials, codes, [place[name] for name in kept], min(max_memory, 8.0 * 2**MOST_AXES))
    scopes = [[place[p] for p in utility.parents] for utility in utilities]
    run.check(scopes)
    return run.result(scopes, [utility.values for utility in utilities])


class _Elimination:
    """One elimination: its order, the memory it needs, and its numbers."""

    def __init__(self, potentials: Potentials, codes: Ints, kept: Sequence[int], limit: float) -> None:
        self.potentials, self.codes, self.kept, self.limit = potentials, codes, list(kept), limit
        self.free = [v for v in self.kept if codes[v] < 0]
        self.sizes = [int(size) for size in potentials.sizes]
        self.scopes = [
            tuple(sorted(v for v in potentials.scope_of(f) if codes[v] < 0))
            for f in range(potentials.n_factors)
        ]
        self.order: list[int] = []

    def cells(self, scope: Iterable[int]) -> int:
        return math.prod(self.sizes[v] for v in scope)

    def check(self, utility_scopes: Sequence[Sequence[int]]) -> None:
        """Choose the order, and raise TooLarge if some step would need more memory than allowed."""
        utilities = [{v for v in scope if self.codes[v] < 0} for scope in utility_scopes]
        self.order = self._chosen_order([*map(set, self.scopes), *utilities])
        probabilities = [set(scope) for scope in self.scopes]
        live = sum(map(self.cells, probabilities))
        self._require(live + sum(map(self.cells, utilities)), set(self.free))
        for v in self.order:
            used = [scope for scope in probabilities if v in scope]
            joint = set().union(*used)
            met = [scope | joint for scope in utilities if v in scope]
            largest = max([joint, *met], key=self.cells)
            # What is held, the product, its product with a utility, and the two sums.
            self._require(live + sum(map(self.cells, utilities)) + 4 * self.cells(largest), largest)
            live += self.cells(joint - {v}) - sum(map(self.cells, used))
            probabilities = [*(scope for scope in probabilities if v not in scope), joint - {v}]
            utilities = _without_subsets([*(s for s in utilities if v not in s), *(s - {v} for s in met)])

    def _require(self, cells: int, largest: set[int]) -> None:
        own = self.cells(largest)
        cells = max(cells, 4 * own)
        if 8 * cells > self.limit or len(largest) > MOST_AXES:
            names = [self.potentials.names[v] for v in sorted(largest)]
            raise TooLarge(8 * cells, self.limit, list(dict.fromkeys(names)), own, Message(_WAY_OUT))

    def _chosen_order(self, scopes: Sequence[set[int]]) -> list[int]:
        """Return the variables that are not kept, each time the one whose elimination makes the smallest table."""
        near: dict[int, set[int]] = {v: set() for scope in scopes for v in scope}
        for scope in scopes:
            for v in scope:
                near[v] |= scope
        waiting = [(self.cells(near[v]), v) for v in near if v not in self.free]
        heapq.heapify(waiting)
        order: list[int] = []
        gone: set[int] = set()
        while waiting:
            size, v = heapq.heappop(waiting)
            if v in gone or size != self.cells(near[v]):
                continue  # out of date: a newer entry is waiting
            order.append(v)
            gone.add(v)
            for u in near[v] - {v}:
                near[u] = (near[u] | near[v]) - {v}
                if u not in self.free:
                    heapq.heappush(waiting, (self.cells(near[u]), u))
        return order

    def result(self, scopes: Sequence[Sequence[int]], values: Sequence[Floats]) -> Expectation:
        filled, log_scale = self.potentials.given(self.codes, np.ones(self.potentials.n_factors, bool))
        probabilities = [
            _sorted(filled.scope_of(f), filled.table_of(f), self.codes) for f in range(filled.n_factors)
        ]
        utilities = _added(
            [_sorted(scope, table, self.codes) for scope, table in zip(scopes, values, strict=True)]
        )
        for v in self.order:
            joint = _product([factor for factor in probabilities if v in factor.scope])
            axis = joint.scope.index(v)
            rest = joint.scope[:axis] + joint.scope[axis + 1 :]
            total = joint.values.sum(axis=axis)
            utilities = _added(
                [_expected(u, joint, _Factor(rest, total), v) if v in u.scope else u for u in utilities]
            )
            total, exponent = _scaled(total)
            log_scale += exponent * math.log(2.0)
            probabilities = [
                *(factor for factor in probabilities if v not in factor.scope),
                _Factor(rest, total),
            ]
        scope = tuple(sorted(self.free))
        shape = [self.sizes[v] for v in scope]
        probability = np.broadcast_to(_product(probabilities).over(scope), shape)
        utility = sum((u.over(scope) for u in utilities), np.zeros(shape))
        return Expectation(
            self._as_kept(probability), self._as_kept(np.where(probability > 0.0, utility, 0.0)), log_scale
        )

    def _as_kept(self, values: Floats) -> Floats:
        """Put the axes in the order of the kept variables; a variable of one state has an axis of length one."""
        ordered = values.transpose([sorted(self.free).index(v) for v in self.free])
        return np.array(ordered.reshape([self.sizes[v] for v in self.kept]))


def _product(factors: Sequence[_Factor]) -> _Factor:
    scope = tuple(sorted({v for factor in factors for v in factor.scope}))
    values: Floats = np.ones(())
    for factor in factors:
        values = values * factor.over(scope)
    return _Factor(scope, values.reshape(np.broadcast_shapes(values.shape, (1,) * len(scope))))


def _expected(utility: _Factor, joint: _Factor, total: _Factor, v: int) -> _Factor:
    """Return the expectation of a utility over one variable, given the others: Σ_v φψ / Σ_v φ, 0 where φ is 0."""
    scope = tuple(sorted({*utility.scope, *joint.scope}))
    weighted = (joint.over(scope) * utility.over(scope)).sum(axis=scope.index(v))
    rest = tuple(u for u in scope if u != v)
    norm = np.broadcast_to(total.over(rest), weighted.shape)
    return _Factor(rest, np.divide(weighted, norm, out=np.zeros_like(weighted), where=norm > 0.0))


def _added(utilities: Sequence[_Factor]) -> list[_Factor]:
    """Add every utility to one whose variables include its own, if there is one."""
    found: list[_Factor] = []
    for utility in sorted(utilities, key=lambda u: -len(u.scope)):
        home = next((k for k, u in enumerate(found) if set(utility.scope) <= set(u.scope)), None)
        if home is None:
            found.append(utility)
        else:
            larger = found[home]
            found[home] = _Factor(larger.scope, larger.values + utility.over(larger.scope))
    return found


def _without_subsets(scopes: Sequence[set[int]]) -> list[set[int]]:
    found: list[set[int]] = []
    for scope in sorted(scopes, key=len, reverse=True):
        if not any(scope <= larger for larger in found):
            found.append(scope)
    return found


def _scaled(values: Floats) -> tuple[Floats, int]:
    """Divide by a power of two, so that the largest number lies in [½, 1)."""
    largest = float(values.max(initial=0.0))
    exponent = math.frexp(largest)[1] if largest > 0.0 else 0
    return np.ldexp(values, -exponent), exponent


@dataclass(frozen=True, eq=False)
class PolicyTable:
    """The optimal choice of one decision for each configuration of what matters for it.

    Attributes
    ----------
    decision : its name
    given : the requisite observations, one for each axis
    choice : array of codes, with an axis for each of ``given``
    utility : array with one more axis, the states of the decision
        The expected sum of the utilities that the decision can still change.
    possible : array like ``choice``: whether the configuration has a positive probability
    """

    decision: Name
    given: tuple[Name, ...]
    choice: Ints
    utility: Floats
    possible: NDArray[np.bool_]

    def table(self) -> Table:
        """Return the policy as a conditional distribution: one for the choice, zero for all others."""
        return Table(np.eye(self.utility.shape[-1])[self.choice])


@dataclass(frozen=True, eq=False)
class PolicySolution:
    """The policies of the open decisions in their order, the network that follows them, and what it yields."""

    policies: tuple[PolicyTable, ...]
    network: Network
    utility: float
    log_probability: float


def requisite(diagram: Diagram, dag: Dag, decision: Name, known: Iterable[Name]) -> tuple[Name, ...]:
    """Return the observations that matter for a decision: those not separated from what it can change.

    ``dag`` has the policies of later decisions as arcs, and none into this or an earlier one.
    """
    known = set(known)
    goals = [u.name for u in diagram.utilities if u.name in descendants(dag, decision)]
    found = []
    for name in diagram.past(decision):
        if name in known:
            continue
        others = {*diagram.past(decision), *known, decision} - {name}
        if not goals or name not in reachable(dag, goals, others):
            continue
        found.append(name)
    return tuple(found)


def solve(diagram: Diagram, evidence: Mapping[Name, int], max_memory: float) -> PolicySolution:
    """Return the optimal policies. Decisions in the evidence are made already.

    No node of the evidence may depend on an open decision.
    """
    open_decisions = [name for name in diagram.order if name not in evidence]
    policies: dict[Name, PolicyTable] = {}
    network = diagram.deciding({})
    for decision in reversed(open_decisions):
        dag = _with_utilities(network, diagram.utilities)
        given = requisite(diagram, dag, decision, evidence)
        affected = [u for u in diagram.utilities if u.name in descendants(dag, decision)]
        found = expectation(network, affected, (*given, decision), evidence, max_memory)
        policies[decision] = _policy(decision, given, found, affected)
        network = following(network, [policies[decision]])
    ordered = tuple(policies[decision] for decision in open_decisions)
    return evaluate(diagram, ordered, network, evidence, max_memory)


def evaluate(
    diagram: Diagram,
    policies: tuple[PolicyTable, ...],
    network: Network,
    evidence: Mapping[Name, int],
    max_memory: float,
) -> PolicySolution:
    """Return the expected utility of the policies that the network follows."""
    whole = expectation(network, diagram.utilities, (), evidence, max_memory)
    # A decision that is made is no event: its even chance in the network is taken out of the probability.
    made = sum(math.log(network[name].variable.size) for name in diagram.order if name in evidence)
    p = float(whole.probability)
    log = math.log(p) + whole.log_scale + made if p > 0.0 else -math.inf
    return PolicySolution(policies, network, float(whole.utility), log)


def following(network: Network, policies: Iterable[PolicyTable]) -> Network:
    """Return the network in which these decisions are made according to their policies."""
    for policy in policies:
        node = network[policy.decision]
        network = network.with_node(replace(node, parents=policy.given, distribution=policy.table()))
    return network


def _with_utilities(network: Network, utilities: Sequence[Utility]) -> Dag:
    dag = network.dag
    return Dag(
        (*dag.nodes, *(utility.name for utility in utilities)),
        (*dag.parents, *(utility.parents for utility in utilities)),
    )


def _policy(
    decision: Name, given: tuple[Name, ...], found: Expectation, affected: Sequence[Utility]
) -> PolicyTable:
    scale = sum(float(np.abs(u.values).max(initial=0.0)) for u in affected)
    best = found.utility.max(axis=-1, keepdims=True)
    # The first of equally good choices, so that rounding does not decide.
    choice = np.argmax(found.utility >= best - TIED * scale, axis=-1)
    return PolicyTable(decision, given, choice, found.utility, found.probability[..., 0] > 0.0)
