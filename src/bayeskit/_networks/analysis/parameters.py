"""Sensitivity of a posterior to the parameters of tables: two passes for all nodes, two queries for one with zeros."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayeskit._graphs.dag import Dag
from bayeskit._graphs.distributions import Table, uniform
from bayeskit._graphs.network import Network, Node
from bayeskit._graphs.separation import reachable
from bayeskit._markup import framed, paragraphs
from bayeskit._networks.analysis.network_information import QueryableNetwork
from bayeskit._networks.arguments import is_number
from bayeskit._networks.evidence import Not
from bayeskit._networks.node_distributions import table_of
from bayeskit._schema import Label, Name, state_code
from bayeskit._visible import visible
from bayeskit.errors import ImpossibleEvidence, SettingError, TooLarge
from bayeskit.typing import Floats


@dataclass(frozen=True)
class ParameterSensitivity:
    r"""P(target | evidence) as a function (α x + β)/(γ x + δ) of one parameter x.

    Attributes
    ----------
    target : (node, state)
    evidence : {node: state}
    node, given, state : the parameter is P(node = state | given)
    value : float
        The current value of x.
    alpha, beta, gamma, delta : float
        Scaled so that γ x + δ is P(evidence) at x divided by the current P(evidence).
    soft : {node: likelihoods}
        Soft evidence, which counts as evidence in all of this.

    Examples
    --------
    A disease affects 1 in 100. The test detects it in 9 cases of 10, and is positive in 1 of 10 without it.
    How common must the disease be for a positive test to make it likely?

    >>> found = ParameterSensitivity(
    ...     ("ill", "yes"), {"test": "positive"}, "ill", {}, "yes", 0.01, 0.9, 0.0, 0.8, 0.1
    ... )
    >>> round(found.posterior, 4), round(found.derivative, 4), found.above(0.5)
    (0.0833, 7.716, (0.1, 1.0))
    """

    target: tuple[Name, Label]
    evidence: Mapping[Name, Any]
    node: Name
    given: Mapping[Name, Label]
    state: Label
    value: float
    alpha: float
    beta: float
    gamma: float
    delta: float
    soft: Mapping[Name, Any] = field(default_factory=dict)

    @property
    def posterior(self) -> float:
        """The current P(target | evidence)."""
        return self.at(self.value)

    @property
    def derivative(self) -> float:
        """The derivative of P(target | evidence) at the current x."""
        return self.derivative_at(self.value)

    def at(self, x: float) -> float:
        """Return P(target | evidence) for another value of the parameter."""
        evidence = self._evidence(x)
        return min(max((self.alpha * x + self.beta) / evidence, 0.0), 1.0)

    def derivative_at(self, x: float) -> float:
        """Return dP/dx at another value of the parameter."""
        return (self.alpha * self.delta - self.beta * self.gamma) / self._evidence(x) ** 2

    def above(self, threshold: float) -> tuple[float, float] | None:
        """Return the interval of x in [0, 1] in which P is at or above a threshold; None if it is empty."""
        if not is_number(threshold) or math.isnan(threshold):
            raise SettingError("threshold is {threshold!r}; give a number, such as 0.5.", threshold=threshold)
        # (α − pγ) x ≥ pδ − β. The function is monotone, so an end of [0, 1] is an end of the range.
        slope = self.alpha - threshold * self.gamma
        need = threshold * self.delta - self.beta
        if slope == 0.0:
            return (0.0, 1.0) if need <= 0.0 else None
        edge = need / slope
        if slope > 0.0:
            return (max(edge, 0.0), 1.0) if edge <= 1.0 else None
        return (0.0, min(edge, 1.0)) if edge >= 0.0 else None

    def between(self, factor: float | None = 2.0) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return (x, P) where the odds of x are divided by a factor, and where they are multiplied by it.

        The odds treat x and 1 − x alike: the two entries of a row with two states have the same range (Chan
        and Darwiche, When do numbers really matter?, JAIR 17, 2002). An entry of 0 or 1 does not move.

        Parameters
        ----------
        factor : float above 1, or None
            None lets x go from 0 to 1. Where the evidence is impossible at an end, P is the limit there.

        Examples
        --------
        >>> found = ParameterSensitivity(
        ...     ("ill", "yes"), {"test": "positive"}, "ill", {}, "yes", 0.01, 0.9, 0.0, 0.8, 0.1
        ... )
        >>> [(round(x, 4), round(p, 4)) for x, p in found.between(2)]
        [(0.005, 0.0435), (0.0198, 0.1538)]
        """
        if factor is not None and (not is_number(factor) or not 1.0 < factor <= 1e300):
            raise SettingError(
                "factor is {factor!r}; give a number above 1, such as 2, or None for all of 0 to 1.",
                factor=factor,
            )
        x = self.value
        if factor is None:
            return (0.0, self._limit(0.0)), (1.0, self._limit(1.0))
        low, high = x / (x + factor * (1.0 - x)), factor * x / (factor * x + 1.0 - x)
        return (low, self._limit(low)), (high, self._limit(high))

    def _limit(self, x: float) -> float:
        """Return P at x, or the limit where the evidence becomes impossible there: both lines are 0 at that point."""
        if self.gamma * x + self.delta > 0.0:
            return self.at(x)
        return min(max(self.alpha / self.gamma, 0.0), 1.0)

    def _evidence(self, x: float) -> float:
        if not is_number(x) or not 0.0 <= x <= 1.0:
            raise SettingError("x is {x!r}; a probability lies between 0 and 1.", x=x)
        total = self.gamma * x + self.delta
        if total <= 0.0:
            raise SettingError(
                "With {parameter} = {x} the evidence has probability zero.", parameter=self._parameter(), x=x
            )
        return total

    def _parameter(self) -> str:
        return _conditional(f"{self.node} = {self.state}", self.given)

    def _repr_html_(self) -> str:
        return framed(paragraphs(str(self).splitlines()))

    def __str__(self) -> str:
        known = {**self.evidence, **{name: f"{list(given)}" for name, given in self.soft.items()}}
        conditional = _conditional(f"{self.target[0]} = {self.target[1]}", known)
        formula = f"({self.alpha:.6g} x + {self.beta:.6g})/({self.gamma:.6g} x + {self.delta:.6g})"
        return (
            f"{conditional} = {formula} with x = {self._parameter()}\n"
            f"now x = {self.value:.6g}: {self.posterior:.6g}, changing by {self.derivative:.6g} dx"
        )


def _conditional(of: str, given: Mapping[Name, Any]) -> str:
    condition = ", ".join(f"{name} = {value}" for name, value in given.items())
    return visible(f"P({of} | {condition})" if given else f"P({of})")


Target = tuple[Name, Label]


class Parameters:
    """How P(target | evidence) depends on the tables of a network."""

    def __init__(
        self,
        queries: QueryableNetwork,
        target: Target,
        evidence: Mapping[Name, Any],
        soft: Mapping[Name, Any] | None = None,
        certain: bool = True,
    ) -> None:
        self._queries = queries
        self._target = target
        self._evidence = dict(evidence)
        self._soft = dict(soft or {})
        self._certain = certain  # whether entries of 0 and 1 are asked for
        # For the evidence alone, and with the target in it.
        self._cached: dict[bool, tuple[list[Floats] | None, float]] = {}
        self._log_evidence = queries.log_probability(self._evidence, soft=self._soft)
        if self._log_evidence == -math.inf:
            queries.query(target[0], evidence=self._evidence, soft=self._soft)  # the error names the conflict
            raise ImpossibleEvidence(self._evidence)

    def of_node(self, node: Node) -> Iterator[ParameterSensitivity]:
        """Yield the dependence on each entry of a node's table."""
        coefficients = self._coefficients(node)
        for place in np.ndindex(*coefficients[0].shape):
            if not self._certain and not 0.0 < coefficients[0][place] < 1.0:
                continue
            yield self._at(node, place, coefficients)

    def of_cell(self, node: Node, place: tuple[int, ...]) -> ParameterSensitivity:
        return self._at(node, place, self._coefficients(node))

    def relevant(self) -> list[Node]:
        """Return the nodes with a table of at least two states that can affect the result."""
        network, (target, _) = self._queries._network, self._target
        found = _relevant(network, target, self._evidence, self._soft)
        return [
            n
            for n in network.nodes
            if n.name in found and isinstance(n.distribution, Table) and n.variable.size > 1
        ]

    def _at(self, node: Node, place: tuple[int, ...], parts: tuple[Floats, ...]) -> ParameterSensitivity:
        network = self._queries._network
        given = {
            p: network[p].variable.states[code] for p, code in zip(node.parents, place[:-1], strict=True)
        }
        value, alpha, beta, gamma, delta = (float(part[place]) for part in parts)
        return ParameterSensitivity(
            self._target,
            self._evidence,
            node.name,
            given,
            node.variable.states[place[-1]],
            value,
            alpha,
            beta,
            gamma,
            delta,
            self._soft,
        )

    def _coefficients(self, node: Node) -> tuple[Floats, ...]:
        """Return the current value, α, β, γ and δ of each cell."""
        table = table_of(self._queries._network, node.name)
        shape, size = table.shape, table.shape[-1]
        rows = table.reshape(-1, size)
        target, state = self._target
        lines = []
        for more in ({target: state}, {}):
            slopes = self._slopes(node, {**self._evidence, **more}).reshape(-1, size)
            lines += [part.reshape(shape) for part in _line(rows, slopes)]
        return (table, *lines)

    def _slopes(self, node: Node, evidence: Mapping[Name, Any]) -> Floats:
        """Return ∂P(evidence)/∂θ for each cell θ of the node's table, divided by the current P(self._evidence).

        It is P(cell, evidence)/θ. The slope does not depend on the table, so where the table has zeros a uniform one
        is used instead. With it, P(cell, evidence) is the slope divided by the number of states.
        """
        network = self._queries._network
        table = table_of(network, node.name)
        if network.is_discrete and (not self._certain or table.all()):
            margins, log = self._margins(evidence)
            if margins is not None:
                joint = margins[network.dag.position[node.name]]
                # The slopes of zeros are needed only by entries of 0 and 1.
                slopes = np.divide(joint, table, out=np.zeros_like(table), where=table > 0)
                return np.asarray(slopes * math.exp(log - self._log_evidence))
        even = replace(node, distribution=uniform(network.shape_of(node.name)))
        queries = self._queries._of(network.with_node(even))
        log = queries.log_probability(evidence, soft=self._soft)
        if log == -math.inf:
            return np.zeros(network.shape_of(node.name))
        joint = queries.query([*node.parents, node.name], evidence=evidence, soft=self._soft).values
        return np.asarray(joint * (node.variable.size * math.exp(log - self._log_evidence)))

    def _margins(self, evidence: Mapping[Name, Any]) -> tuple[list[Floats] | None, float]:
        """Return P(parents, node | evidence) of all nodes and log P(evidence), computed once.

        The margins are None if the evidence is impossible, or if all nodes together are too large for a tree.
        """
        with_target = self._target[0] in evidence
        if with_target not in self._cached:
            try:
                self._cached[with_target] = self._queries._family_margins(evidence, soft=self._soft)
            except (ImpossibleEvidence, TooLarge):
                self._cached[with_target] = None, -math.inf
        return self._cached[with_target]


def _line(rows: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return a and b of P = a x + b for each cell of a table, with the rest of its row scaled proportionally."""
    size = rows.shape[1]
    others = 1.0 - np.eye(size)  # sums over the others, not differences: nothing cancels
    left, weight = rows @ others, (rows * slopes) @ others
    # If x is 1 now, the others have no proportions and share equally.
    shared = np.divide(weight, left, out=slopes @ others / (size - 1), where=left > 0)
    whole = (rows * slopes).sum(axis=1)
    before = np.concatenate([[0.0], np.cumsum(whole[:-1])])
    after = np.concatenate([np.cumsum(whole[:0:-1])[::-1], [0.0]])
    return slopes - shared, (before + after)[:, None] + shared


def read_cell(network: Network, parameter: tuple[Name, object, object]) -> tuple[Node, tuple[int, ...]]:
    """Read (node, parents' states, state) → the node and the place in its table."""
    try:
        name, given, state = parameter
    except (TypeError, ValueError):
        raise SettingError(
            "parameter is {parameter!r}; give (node, parents' states, state), such as ('wet', {{'rain': "
            "'yes'}}, 'no'), or ('rain', {{}}, 'yes') for a node without parents.",
            parameter=parameter,
        ) from None
    node = network[name]
    if not node.is_discrete:
        raise SettingError("{name!r} is continuous and has no table. Name a node with states.", name=name)
    if node.variable.size < 2:
        raise SettingError("{name!r} has one state, whose probability cannot be changed.", name=name)
    family = (*node.parents, name)
    values = (*_parent_states(node, given), state)
    return node, tuple(
        state_code(n, network[n].variable.states, value) for n, value in zip(family, values, strict=True)
    )


def _parent_states(node: Node, given: object) -> tuple[Any, ...]:
    if isinstance(given, Mapping) and set(given) == set(node.parents):
        return tuple(given[p] for p in node.parents)
    if isinstance(given, (list, tuple)) and len(given) == len(node.parents):
        return tuple(given)
    if given is None and not node.parents:
        return ()
    wanted = ", ".join(map(repr, node.parents)) or "none: give {}"
    raise SettingError(
        "The parents' states of {name!r} are given as {given!r}; its parents are {wanted}.",
        name=node.name,
        given=given,
        wanted=wanted,
    )


def _relevant(
    network: Network, target: Name, evidence: Mapping[Name, Any], soft: Mapping[Name, Any]
) -> set[Name]:
    """Return the nodes whose tables can affect the result.

    A table acts as one more parent of its node: it matters unless the graph separates it from the target.
    "Not a" and soft evidence are observed children of their nodes.
    """
    dag, n = network.dag, len(network.nodes)
    place = dag.position
    parents: dict[Name, list[int]] = {k: [*(place[p] for p in dag.parents[k]), n + k] for k in range(n)}
    hidden = [place[name] for name, value in evidence.items() if isinstance(value, Not)]
    hidden += [place[name] for name in soft if name not in evidence]
    parents |= {2 * n + k: [k] for k in hidden}
    observed = [place[name] for name in evidence if place[name] not in hidden]
    found = reachable(
        Dag.of(parents, range(3 * n)), [place[target]], [*observed, *(2 * n + k for k in hidden)]
    )
    return {dag.nodes[k] for k in range(n) if n + k in found}
