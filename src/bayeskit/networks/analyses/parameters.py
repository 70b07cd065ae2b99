"""The numbers of tables that a posterior depends on, and how: all of one node from two questions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import ImpossibleEvidence, SettingError
from bayeskit.graphs.dag import Dag
from bayeskit.graphs.distributions import Table, uniform
from bayeskit.graphs.network import Network, Node
from bayeskit.graphs.separation import reachable
from bayeskit.networks.analyses.asking import Asked
from bayeskit.networks.analyses.parameter import ParameterSensitivity
from bayeskit.networks.evidence import Not
from bayeskit.networks.given.node_distributions import table_of
from bayeskit.schema import Label, Name, state_code

Floats = NDArray[np.float64]
Target = tuple[Name, Label]


class Parameters:
    """How P(target | evidence) depends on the tables of a network."""

    def __init__(self, asked: Asked, target: Target, evidence: Mapping[Name, Any]) -> None:
        self._asked = asked
        self._target = target
        self._evidence = dict(evidence)
        self._log_evidence = asked.log_probability(self._evidence)
        if self._log_evidence == -math.inf:
            asked.query(target[0], evidence=self._evidence)  # names what is in conflict
            raise ImpossibleEvidence(self._evidence)

    def of_node(self, node: Node) -> Iterator[ParameterSensitivity]:
        """Yield the dependence on each entry of a node's table."""
        coefficients = self._coefficients(node)
        for place in np.ndindex(*coefficients[0].shape):
            yield self._at(node, place, coefficients)

    def of_cell(self, node: Node, place: tuple[int, ...]) -> ParameterSensitivity:
        return self._at(node, place, self._coefficients(node))

    def relevant(self) -> list[Node]:
        """Return the nodes with a table of two states or more on which the answer can depend at all."""
        network, (target, _) = self._asked._network, self._target
        found = _relevant(network, target, self._evidence)
        return [
            n
            for n in network.nodes
            if n.name in found and isinstance(n.distribution, Table) and n.variable.size > 1
        ]

    def _at(self, node: Node, place: tuple[int, ...], parts: tuple[Floats, ...]) -> ParameterSensitivity:
        network = self._asked._network
        given = {p: network[p].variable.states[code] for p, code in zip(node.parents, place)}
        value, *numbers = (float(part[place]) for part in parts)
        return ParameterSensitivity(
            self._target, self._evidence, node.name, given, node.variable.states[place[-1]], value, *numbers
        )

    def _coefficients(self, node: Node) -> tuple[Floats, ...]:
        """Return the present value, α, β, γ and δ of each cell."""
        table = table_of(self._asked._network, node.name)
        shape, size = table.shape, table.shape[-1]
        rows = table.reshape(-1, size)
        target, state = self._target
        lines = []
        for more in ({target: state}, {}):
            slopes = self._slopes(node, {**self._evidence, **more}).reshape(-1, size)
            lines += [part.reshape(shape) for part in _line(rows, slopes)]
        return (table, *lines)

    def _slopes(self, node: Node, evidence: Mapping[Name, Any]) -> Floats:
        """Return ∂P(evidence)/∂θ for each cell θ of the node's table, over what P(self._evidence) is now.

        The slope does not depend on the table, so a uniform one serves, under which no cell is zero: there
        P(cell, evidence) is the slope divided by the number of states.
        """
        network = self._asked._network
        even = replace(node, distribution=uniform(network.shape_of(node.name)))
        asked = self._asked._of(network.with_node(even))
        log = asked.log_probability(evidence)
        if log == -math.inf:
            return np.zeros(network.shape_of(node.name))
        joint = asked.query(*node.parents, node.name, evidence=evidence).values
        return np.asarray(joint * (node.variable.size * math.exp(log - self._log_evidence)))


def _line(rows: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return a and b of P = a x + b for each cell of a table, the other entries of its row scaled with it."""
    size = rows.shape[1]
    others = 1.0 - np.eye(size)  # sums over the others, not differences: nothing cancels
    left, weight = rows @ others, (rows * slopes) @ others
    # Where x is 1 now, the others have no proportions: they share equally.
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
            f"parameter is {parameter!r}; give (node, parents' states, state), such as "
            "('wet', {'rain': 'yes'}, 'no'), or ('rain', {}, 'yes') where there are no parents."
        ) from None
    node = network[name]
    if not node.is_discrete:
        raise SettingError(f"{name!r} is continuous and has no table. Name a node with states.")
    if node.variable.size < 2:
        raise SettingError(f"{name!r} has one state, whose probability cannot be changed.")
    family = (*node.parents, name)
    values = (*_parent_states(node, given), state)
    return node, tuple(state_code(n, network[n].variable.states, value) for n, value in zip(family, values))


def _parent_states(node: Node, given: object) -> tuple[Any, ...]:
    if isinstance(given, Mapping) and set(given) == set(node.parents):
        return tuple(given[p] for p in node.parents)
    if isinstance(given, (list, tuple)) and len(given) == len(node.parents):
        return tuple(given)
    if given is None and not node.parents:
        return ()
    wanted = ", ".join(map(repr, node.parents)) or "none: give {}"
    raise SettingError(
        f"The parents' states of {node.name!r} are given as {given!r}; its parents are {wanted}."
    )


def _relevant(network: Network, target: Name, evidence: Mapping[Name, Any]) -> set[Name]:
    """Return the nodes whose tables the answer can depend on.

    A table is one more parent of its node: it matters where the graph does not separate it from the target. "Not a"
    is an observed child of its node.
    """
    dag, n = network.dag, len(network.nodes)
    place = dag.position
    parents: dict[Name, list[int]] = {k: [*(place[p] for p in dag.parents[k]), n + k] for k in range(n)}
    hidden = [place[name] for name, value in evidence.items() if isinstance(value, Not)]
    parents |= {2 * n + k: [k] for k in hidden}
    observed = [place[name] for name in evidence if place[name] not in hidden]
    found = reachable(
        Dag.of(parents, range(3 * n)), [place[target]], [*observed, *(2 * n + k for k in hidden)]
    )
    return {dag.nodes[k] for k in range(n) if n + k in found}
