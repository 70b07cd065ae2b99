"""Exact measures of a network: entropy and mutual information (in nats), sensitivity, divergence.

Each function is a method of :class:`bayeskit.BayesianNetwork`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from bayeskit._graphs.network import Network
from bayeskit._networks.analysis.network_information import (
    QueryableNetwork,
    divergence,
    entropy_of,
    information_of,
    read_mapping,
    refuse_continuous,
    refuse_observed,
    whole_entropy,
)
from bayeskit._networks.analysis.parameters import Parameters, ParameterSensitivity, read_cell
from bayeskit._networks.arguments import known_node, known_nodes, two_groups
from bayeskit._networks.evidence import Given
from bayeskit._schema import Label, Name, state_code
from bayeskit.errors import DataTypeError, SettingError, UsageError
from bayeskit.typing import Floats, NamesLike

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork


class NodeInformation(NamedTuple):
    """The information that observing one node gives about the target.

    Attributes
    ----------
    node : name
    mutual_information : float
        The expected reduction of the target's entropy, in nats.
    share : float
        The same as a share of the target's entropy.
    largest_change : float
        The largest change in the probability of a target state that a state of the node causes.
    state : the state of the node that causes it
    """

    node: Name
    mutual_information: float
    share: float
    largest_change: float
    state: Label


@dataclass(frozen=True, repr=False)
class NodeInformationTable(Sequence[NodeInformation]):
    """The nodes ranked by information about the target. Prints as a table, also in notebooks.

    Attributes
    ----------
    target : name
    entropy : float
        The entropy of the target given the evidence, in nats.
    rows : tuple of NodeInformation
    left_out : tuple of names
        Continuous nodes, which have no states to observe.
    """

    target: Name
    entropy: float
    rows: tuple[NodeInformation, ...]
    left_out: tuple[Name, ...] = ()

    @overload
    def __getitem__(self, place: int) -> NodeInformation: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[NodeInformation, ...]: ...

    def __getitem__(self, place: int | slice) -> NodeInformation | tuple[NodeInformation, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a list for each column."""
        return {name: [row[j] for row in self.rows] for j, name in enumerate(NodeInformation._fields)}

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each node."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UsageError("to_frame needs pandas, which is not installed: pip install pandas.") from None
        return pandas.DataFrame(self.to_dict())

    def __repr__(self) -> str:
        from bayeskit._display_table import as_text

        return as_text(self._page())

    def _repr_html_(self) -> str:
        from bayeskit._display_table import notebook_html

        return notebook_html(self._page())

    def _page(self) -> Any:
        from bayeskit._display_table import DisplayTable

        rows = tuple(
            (
                str(r.node),
                f"{r.mutual_information:.4f}",
                f"{100 * r.share:.1f}%",
                f"{r.largest_change:.4f}",
                str(r.state),
            )
            for r in self.rows
        )
        notes = ["Information in nats."]
        if self.left_out:
            notes.append(f"Continuous, so not listed: {', '.join(map(str, self.left_out))}.")
        return DisplayTable(
            f"What observing a node would tell about {self.target}",
            ("node", "information", "of entropy", "largest change", "by state"),
            rows,
            ((str(self.target), f"{self.entropy:.4f}", "", "", ""),),
            tuple(notes),
        )


def node_information(network: QueryableNetwork, target: Name, evidence: Given) -> NodeInformationTable:
    """Rank all unobserved nodes by their information about the target.

    One pass over the network for each state of the target gives P(x | target, e) of every node x at once.
    """
    known = read_mapping(evidence)
    now = network.posteriors(evidence=evidence)
    belief = np.asarray(now[target])
    states = network._network[target].variable.states
    possible = [k for k in range(len(belief)) if belief[k] > 0]
    given = [network.posteriors(evidence={**known, target: states[k]}) for k in possible]
    entropy = entropy_of(belief)
    rows, left_out = [], []
    for node in network._network.nodes:
        name = node.name
        if name == target or (name in known and np.count_nonzero(now[name]) == 1):
            continue
        if not node.is_discrete:
            left_out.append(name)
            continue
        joint = np.zeros((len(belief), node.variable.size))
        for k, posteriors in zip(possible, given, strict=True):
            joint[k] = belief[k] * posteriors[name]
        information = information_of(joint)
        change, code = _largest_change(joint, belief)
        share = min(information / entropy, 1.0) if entropy > 0 else 0.0
        rows.append(NodeInformation(name, information, share, change, node.variable.states[code]))
    rows.sort(key=lambda row: -round(row.mutual_information, 12))  # rounding errors do not change the order
    return NodeInformationTable(target, entropy, tuple(rows), tuple(left_out))


def _largest_change(joint: Floats, belief: Floats) -> tuple[float, int]:
    """Return the largest |P(t | x) − P(t)| over possible states x, and that x."""
    total = joint.sum(axis=0)
    posterior = joint / np.where(total > 0, total, 1.0)
    changes = np.where(total > 0, np.abs(posterior - belief[:, None]).max(axis=0), -1.0)
    code = int(changes.argmax())
    return float(changes[code]), code


def entropy(self: QueryableNetwork, targets: NamesLike | None = None, evidence: Given = None) -> float:
    r"""Return :math:`H = -\sum_x P(x \mid e) \log P(x \mid e)` of these nodes together.

    Parameters
    ----------
    targets : a node or a list of nodes
        None means the whole network, without building its joint table.
    evidence : {node: state}, optional

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> round(wet_grass().entropy("rain"), 4), round(wet_grass().entropy(), 4)
    (0.5004, 1.2518)
    """
    network = self._network
    wanted = () if targets is None else known_nodes(network.dag, targets, "targets")
    refuse_continuous(network, wanted or network.dag.nodes, "entropy")
    network.require_distributions()
    if targets is None:
        return whole_entropy(self, evidence)
    return entropy_of(self.query(list(wanted), evidence=evidence).values)


def mutual_information(self: QueryableNetwork, a: NamesLike, b: NamesLike, evidence: Given = None) -> float:
    r"""Return :math:`I(a; b \mid e) = \sum P(a, b \mid e) \log \frac{P(a, b \mid e)}{P(a \mid e) P(b \mid e)}`.

    Parameters
    ----------
    a, b : a name, or a list of names
    evidence : {node: state}, optional

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> round(wet_grass().mutual_information("rain", "sprinkler", evidence={"wet": "yes"}), 4)
    0.4008
    """
    first, second = two_groups(self._network.dag, a, b)
    refuse_continuous(self._network, (*first, *second), "mutual information")
    joint = self.query([*first, *second], evidence=evidence)
    rows = 1
    for size in joint.sizes[: len(first)]:
        rows *= size
    return information_of(joint.values.reshape(rows, -1))


def sensitivity_to_findings(
    self: QueryableNetwork, target: Name, evidence: Given = None
) -> NodeInformationTable:
    """Rank the unobserved nodes by their mutual information with the target.

    Parameters
    ----------
    target : name of a discrete node
    evidence : {node: state}, optional
        What is already known.

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> wet_grass().sensitivity_to_findings("rain", evidence={"wet": "yes"})
    What observing a node would tell about rain
    <BLANKLINE>
    node       information  of entropy  largest change  by state
    sprinkler  0.4008       69.4%       0.5179               yes
    joe        0.3838       66.4%       0.7353                no
    ------------------------------------------------------------
    rain       0.5779
    <BLANKLINE>
    Information in nats.
    """
    name = known_node(self._network.dag, target)
    refuse_continuous(self._network, (name,), "sensitivity to findings")
    refuse_observed(name, read_mapping(evidence))
    return node_information(self, name, evidence)


@overload
def parameter_sensitivity(
    self: QueryableNetwork,
    target: tuple[Name, Label],
    evidence: Given = None,
    parameter: None = None,
    *,
    soft: Given = None,
    certain: bool = True,
) -> list[ParameterSensitivity]: ...


@overload
def parameter_sensitivity(
    self: QueryableNetwork,
    target: tuple[Name, Label],
    evidence: Given = None,
    *,
    parameter: tuple[Any, Any, Any],
    soft: Given = None,
) -> ParameterSensitivity: ...


@overload
def parameter_sensitivity(
    self: QueryableNetwork,
    target: tuple[Name, Label],
    evidence: Given,
    parameter: tuple[Any, Any, Any],
    *,
    soft: Given = None,
) -> ParameterSensitivity: ...


def parameter_sensitivity(
    self: QueryableNetwork,
    target: tuple[Name, Label],
    evidence: Given = None,
    parameter: tuple[Any, Any, Any] | None = None,
    *,
    soft: Given = None,
    certain: bool = True,
) -> ParameterSensitivity | list[ParameterSensitivity]:
    """Return P(target | evidence) as a function of one parameter of a table.

    The other entries of the same row change proportionally.

    Parameters
    ----------
    target : (node, state)
    evidence : {node: state}, optional
    parameter : (node, parents' states, state), optional
        The parameter P(node = state | parents' states), with these as {parent: state} or in the order of the
        parents. By default, all parameters that can affect the result, the most influential first.
    soft : {node: likelihoods}, optional
        Soft evidence.
    certain : bool
        Whether to list entries of 0 and 1. Without them, two passes serve all tables; with them, a table with zeros
        needs two more.

    Examples
    --------
    How probable may rain be, so that wet grass still makes the sprinkler more likely than not?

    >>> from bayeskit.networks import wet_grass
    >>> found = wet_grass().parameter_sensitivity(("sprinkler", "yes"), {"wet": "yes"}, ("rain", {}, "yes"))
    >>> low, high = found.above(0.5)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.1011)
    """
    network = self._network
    network.require_distributions()
    name, state = _read_target(network, target)
    known, weighed = read_mapping(evidence), read_mapping(soft)
    if name in known or name in weighed:
        raise SettingError("{name!r} is the target and in the evidence. Take it out of one.", name=name)
    if parameter is not None:
        node, place = read_cell(network, parameter)
        return Parameters(self, (name, state), known, weighed).of_cell(node, place)
    parameters = Parameters(self, (name, state), known, weighed, certain)
    every = [found for node in parameters.relevant() for found in parameters.of_node(node)]
    return sorted(every, key=lambda found: -abs(round(found.derivative, 12)))


def kl(self: QueryableNetwork, other: BayesianNetwork) -> float:
    r"""Return the Kullback–Leibler divergence of another network from this one.

    .. math:: KL(p \| q) = \sum_x p(x) \log \frac{p(x)}{q(x)}

    It is infinite if the other network gives probability zero to something that is possible in this one.
    Nodes and states are matched by name; their order and the arcs may differ. No joint table of all nodes is
    built.

    Parameters
    ----------
    other : BayesianNetwork with the same nodes and states

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> dry = wet_grass()
    >>> dry.set_cpt("rain", [0.9, 0.1])
    >>> round(wet_grass().kl(dry), 4), wet_grass().kl(wet_grass())
    (0.0444, 0.0)
    """
    network = getattr(other, "_network", None)
    if not isinstance(network, Network):
        raise DataTypeError(
            "A {kind} has no tables. Compare with a BayesianNetwork.", kind=type(other).__name__
        )
    for one in (self._network, network):
        refuse_continuous(one, one.dag.nodes, "divergence")
        one.require_distributions()
    return divergence(self, network)


def _read_target(network: Network, target: tuple[Name, Label]) -> tuple[Name, Label]:
    try:
        given, state = target
    except (TypeError, ValueError):
        raise SettingError("target is {target!r}; give (node, state).", target=target) from None
    name = known_node(network.dag, given)
    refuse_continuous(network, (name,), "parameter sensitivity")
    states = network[name].variable.states
    return name, states[state_code(name, states, state)]
