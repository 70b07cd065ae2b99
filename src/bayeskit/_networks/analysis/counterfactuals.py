"""Counterfactuals by abduction, action and prediction, in a network of two worlds that share their noise.

The function `counterfactual` is a method of :class:`bayeskit.BayesianNetwork`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit._graphs.dag import ancestors, descendants
from bayeskit._graphs.distributions import Deterministic, NoisyMax, Table
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._messages import Joined
from bayeskit._networks.analysis.network_information import QueryableNetwork, read_mapping, refuse_continuous
from bayeskit._networks.arguments import known_node, known_nodes
from bayeskit._networks.evidence import Given
from bayeskit._schema import Name
from bayeskit.errors import ImpossibleEvidence, NotSupported, SettingError
from bayeskit.typing import Floats, NamesLike


def counterfactual(
    self: QueryableNetwork,
    targets: NamesLike,
    do: Mapping[Any, Any],
    evidence: Given = None,
    *,
    max_memory: float | None = None,
) -> Factor:
    r"""Return what the targets would have been if some nodes had been set, given what was observed.

    The evidence is about the actual world. It tells about the noise that both worlds share (abduction). Then the
    nodes are set (action), and the targets follow (prediction).

    This needs to know how each node responds to its parents, which a table does not say: P(y | x) = ½ holds if a fair
    coin decides y, and also if a coin decides whether y follows x or does the opposite. So every node between the
    intervention and a target must be deterministic or a noisy-OR or noisy-MAX, where each cause acts through its own
    independent mechanism. All other nodes may have any table.

    Parameters
    ----------
    targets : a node or a list of nodes
    do : {node: state}
        Or {node: distribution over its states}, as in `BayesianNetwork.do`: a node that would have been set at random.
    evidence : {node: state}, optional
        What was observed in the actual world; it may include the targets and the nodes that are set.
    max_memory : the memory limit in bytes, by default the setting of `set_max_memory`

    Returns
    -------
    Factor with axes in the order of ``targets``

    Examples
    --------
    Would the patient have had fever without the flu?

    >>> from bayeskit import BayesianNetwork
    >>> network = BayesianNetwork({"cold": [], "flu": [], "fever": ["cold", "flu"]}, states=["no", "yes"])
    >>> network.set_cpt("cold", [0.5, 0.5])
    >>> network.set_cpt("flu", [0.9, 0.1])
    >>> network.set_noisy_or("fever", {"cold": 0.5, "flu": 0.8})
    >>> seen = {"cold": "yes", "flu": "yes", "fever": "yes"}
    >>> print(f"{network.counterfactual('fever', do={'flu': 'no'}, evidence=seen)['yes']:.4f}")
    0.5556

    References
    ----------
    J. Pearl, *Causality* (2009), section 7.1; A. Balke and J. Pearl, "Probabilistic evaluation of counterfactual
    queries" (1994).
    """
    network = self._network
    network.require_distributions()
    dag = network.dag
    wanted = known_nodes(dag, targets, "targets")
    if not wanted:
        raise SettingError("No node was asked for. Name one or more.")
    if not isinstance(do, Mapping) or not do:
        raise SettingError("do={do!r} does not say what is set. Give {{node: state}}.", do=do)
    changed = {known_node(dag, name): value for name, value in do.items()}
    refuse_continuous(network, (*wanted, *changed), "a counterfactual")
    worlds = _Worlds(network, tuple(changed), wanted)
    actual = {_actual(known_node(dag, name)): value for name, value in read_mapping(evidence).items()}
    both = self._of(worlds.joined).do({worlds.there(name): value for name, value in changed.items()})
    try:
        found = both.query([worlds.there(name) for name in wanted], evidence=actual, max_memory=max_memory)
    except ImpossibleEvidence as error:
        raise ImpossibleEvidence({name: value for (_, name), value in error.evidence.items()}) from None
    return Factor(wanted, found.states, found.values)


def _actual(name: Name) -> Name:
    return ("actual", name)


class _Worlds:
    """The actual world, and the one where some nodes are set. What does not change stands once."""

    def __init__(self, network: Network, changed: tuple[Name, ...], wanted: tuple[Name, ...]) -> None:
        dag = network.dag
        matters = {*wanted, *ancestors(dag, *wanted)}
        self._set = set(changed)
        # Nodes that may be different there, and that a target depends on.
        self._other = {n for n in descendants(dag, *changed) if n in matters} | self._set
        nodes: list[Node] = []
        for node in network.nodes:
            name = node.name
            if name not in self._other or name in self._set:
                nodes.append(_renamed(node, _actual(name), tuple(map(_actual, node.parents))))
            if name in self._set:
                # Its distribution is replaced: it is set.
                size = node.variable.size
                nodes.append(
                    replace(_renamed(node, self.there(name), ()), distribution=Table(np.full(size, 1 / size)))
                )
            elif name in self._other:
                nodes += self._twice(network, node)
        self.joined = Network(tuple(nodes))

    def there(self, name: Name) -> Name:
        """Return a node as it is in the other world."""
        return ("set", name) if name in self._other else _actual(name)

    def _twice(self, network: Network, node: Node) -> list[Node]:
        """Return a node in both worlds, and the noise that they share."""
        match node.distribution:
            case NoisyMax():
                return self._noisy_max(network, node, node.distribution)
            case Deterministic():
                pass
            case Table(values) if ((values == 0.0) | (values == 1.0)).all():
                pass
            case _:
                raise NotSupported(
                    "{name!r} has a table, and how it would have responded to {parents} is not determined by one: "
                    "different mechanisms have the same table. Make it deterministic or a noisy-OR "
                    "(set_deterministic, set_noisy_or, set_noisy_max), or ask effect(...), which needs tables only.",
                    name=node.name,
                    parents=Joined(repr(p) for p in node.parents if p in self._other),
                )
        return [
            _renamed(node, at(node.name), tuple(at(p) for p in node.parents)) for at in (_actual, self.there)
        ]

    def _noisy_max(self, network: Network, node: Node, rule: NoisyMax) -> list[Node]:
        """Return the effects of the causes as nodes, each a function of its parent and of noise of its own."""
        states = node.variable.states
        size = len(states)
        noise = [Node(discrete(("noise", node.name, "leak"), states), (), Table(rule.leak))]
        found: list[Node] = []
        worlds = {at: [noise[0].name] for at in (_actual, self.there)}
        for k, (parent, effects) in enumerate(zip(node.parents, rule.causes, strict=True)):
            outcome, by_chance = _response(effects, node.name, parent, network[parent].variable.states)
            hidden = Node(discrete(("noise", node.name, k), states), (), Table(by_chance))
            noise.append(hidden)
            same = self.there(parent) == _actual(parent)
            for at, inputs in worlds.items():
                world = "actual" if same or at is _actual else "set"
                name = ("effect", world, node.name, k)
                inputs.append(name)
                if world == "actual" and at is not _actual:
                    continue  # the parent is the same there, and so is its effect
                variable = discrete(name, states)
                found.append(Node(variable, (at(parent), hidden.name), Deterministic(outcome, size)))
        largest = NoisyMax((np.eye(size),) * len(worlds[_actual]), _no_effect(rule, size), rule.rising)
        for at, inputs in worlds.items():
            found.append(replace(_renamed(node, at(node.name), tuple(inputs)), distribution=largest))
        return [*noise, *found]


def _no_effect(rule: NoisyMax, size: int) -> Floats:
    return np.asarray(np.eye(size)[0 if rule.rising else size - 1])


def _response(
    effects: Floats, name: Name, parent: Name, states: tuple[Any, ...]
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Floats]:
    """Return the effect as a function of the parent's state and of noise, and the distribution of the noise.

    At most one state of the parent may act by chance. With two, the table does not say whether a case that shows the
    effect of one would show that of the other.
    """
    size = effects.shape[1]
    by_chance = [s for s, row in enumerate(effects) if np.count_nonzero(row) > 1]
    if len(by_chance) > 1:
        raise NotSupported(
            "{name!r} responds by chance to several states of {parent!r} ({states}), and how these responses go "
            "together is not determined by their probabilities. Let all but one of them be without chance.",
            name=name,
            parent=parent,
            states=Joined(repr(states[s]) for s in by_chance),
        )
    outcome = np.repeat(effects.argmax(axis=1)[:, None], size, axis=1).astype(np.int64)
    noise = effects[by_chance[0]] if by_chance else np.eye(size)[0]
    for s in by_chance:
        outcome[s] = np.arange(size)
    return outcome, noise


def _renamed(node: Node, name: Name, parents: tuple[Name, ...]) -> Node:
    return replace(node, variable=replace(node.variable, name=name), parents=parents)
