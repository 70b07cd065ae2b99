"""What a network's numbers say as a whole: information (in nats), sensitivity, divergence. All exact.

Each function is a method of :class:`bayeskit.BayesianNetwork`, which takes it by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from bayeskit.errors import DataTypeError, SettingError
from bayeskit.graphs.network import Network
from bayeskit.networks.analyses.findings import Findings, findings
from bayeskit.networks.analyses.network_information import (
    Asked,
    divergence,
    entropy_of,
    information_of,
    read_mapping,
    refuse_continuous,
    refuse_observed,
    whole_entropy,
)
from bayeskit.networks.analyses.parameters import Parameters, ParameterSensitivity, read_cell
from bayeskit.networks.arguments import known_node, known_nodes, two_groups
from bayeskit.networks.evidence import Given
from bayeskit.schema import Label, Name, state_code
from bayeskit.typing import NamesLike

if TYPE_CHECKING:
    from bayeskit.networks.bayesian_network import BayesianNetwork


def entropy(self: Asked, *names: NamesLike, evidence: Given = None) -> float:
    r"""Return :math:`H = -\sum_x P(x \mid e) \log P(x \mid e)` of these nodes together.

    Parameters
    ----------
    *names : names of nodes
        None at all: the whole network, for which no joint table is made.
    evidence : {node: state}, optional

    Examples
    --------
    >>> from bayeskit.networks.examples import wet_grass
    >>> round(wet_grass().entropy("rain"), 4), round(wet_grass().entropy(), 4)
    (0.5004, 1.2518)
    """
    network = self._network
    wanted = known_nodes(network.dag, names[0] if len(names) == 1 else names, "names")
    refuse_continuous(network, wanted or network.dag.nodes, "entropy")
    network.require_distributions()
    if not names:
        return whole_entropy(self, evidence)
    return entropy_of(self.query(*wanted, evidence=evidence).values)


def mutual_information(self: Asked, a: NamesLike, b: NamesLike, evidence: Given = None) -> float:
    r"""Return :math:`I(a; b \mid e) = \sum P(a, b \mid e) \log \frac{P(a, b \mid e)}{P(a \mid e) P(b \mid e)}`.

    Parameters
    ----------
    a, b : a name, or a list of names
    evidence : {node: state}, optional

    Examples
    --------
    >>> from bayeskit.networks.examples import wet_grass
    >>> round(wet_grass().mutual_information("rain", "sprinkler", evidence={"wet": "yes"}), 4)
    0.4008
    """
    first, second = two_groups(self._network.dag, a, b)
    refuse_continuous(self._network, (*first, *second), "mutual information")
    joint = self.query(*first, *second, evidence=evidence)
    rows = 1
    for size in joint.sizes[: len(first)]:
        rows *= size
    return information_of(joint.values.reshape(rows, -1))


def sensitivity_to_findings(self: Asked, target: Name, evidence: Given = None) -> Findings:
    """Return which unobserved node tells most about the target, as a ranked table.

    Parameters
    ----------
    target : name of a discrete node
    evidence : {node: state}, optional
        What is known already.

    Examples
    --------
    >>> from bayeskit.networks.examples import wet_grass
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
    return findings(self, name, evidence)


@overload
def parameter_sensitivity(
    self: Asked, target: tuple[Name, Label], evidence: Given = None, parameter: None = None
) -> list[ParameterSensitivity]: ...


@overload
def parameter_sensitivity(
    self: Asked, target: tuple[Name, Label], evidence: Given = None, *, parameter: tuple[Any, Any, Any]
) -> ParameterSensitivity: ...


@overload
def parameter_sensitivity(
    self: Asked, target: tuple[Name, Label], evidence: Given, parameter: tuple[Any, Any, Any]
) -> ParameterSensitivity: ...


def parameter_sensitivity(
    self: Asked,
    target: tuple[Name, Label],
    evidence: Given = None,
    parameter: tuple[Any, Any, Any] | None = None,
) -> ParameterSensitivity | list[ParameterSensitivity]:
    """Return P(target | evidence) as a function of one number of a table.

    The other entries of that row keep their proportions.

    Parameters
    ----------
    target : (node, state)
    evidence : {node: state}, optional
    parameter : (node, parents' states, state), optional
        Which number: P(node = state | parents' states), these as {parent: state} or in the order of the parents.
        Left out: all numbers of tables on which the answer can depend, the most influential first.

    Examples
    --------
    How probable may rain be, so that wet grass still makes the sprinkler more likely than not?

    >>> from bayeskit.networks.examples import wet_grass
    >>> found = wet_grass().parameter_sensitivity(("sprinkler", "yes"), {"wet": "yes"}, ("rain", {}, "yes"))
    >>> low, high = found.above(0.5)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.1011)
    """
    network = self._network
    network.require_distributions()
    name, state = _read_target(network, target)
    known = read_mapping(evidence)
    if name in known:
        raise SettingError(f"{name!r} is the target and in the evidence. Take it out of one.")
    if parameter is not None:
        node, place = read_cell(network, parameter)
        return Parameters(self, (name, state), known).of_cell(node, place)
    parameters = Parameters(self, (name, state), known)
    every = [found for node in parameters.relevant() for found in parameters.of_node(node)]
    return sorted(every, key=lambda found: -abs(round(found.derivative, 12)))


def kl(self: Asked, other: BayesianNetwork) -> float:
    r"""Return the Kullback–Leibler divergence of another network from this one.

    .. math:: KL(p \| q) = \sum_x p(x) \log \frac{p(x)}{q(x)}

    It is infinite where the other gives probability zero to something that this one does not. Nodes and states
    are matched by name; their order and the arcs may differ. No joint table of all nodes is made.

    Parameters
    ----------
    other : BayesianNetwork with the same nodes and states

    Examples
    --------
    >>> from bayeskit.networks.examples import wet_grass
    >>> dry = wet_grass().set_cpt("rain", [0.9, 0.1])
    >>> round(wet_grass().kl(dry), 4), wet_grass().kl(wet_grass())
    (0.0444, 0.0)
    """
    network = getattr(other, "_network", None)
    if not isinstance(network, Network):
        raise DataTypeError(f"A {type(other).__name__} has no tables. Compare with a BayesianNetwork.")
    for one in (self._network, network):
        refuse_continuous(one, one.dag.nodes, "divergence")
        one.require_distributions()
    return divergence(self, network)


def _read_target(network: Network, target: tuple[Name, Label]) -> tuple[Name, Label]:
    try:
        given, state = target
    except (TypeError, ValueError):
        raise SettingError(f"target is {target!r}; give (node, state).") from None
    name = known_node(network.dag, given)
    refuse_continuous(network, (name,), "parameter sensitivity")
    states = network[name].variable.states
    return name, states[state_code(name, states, state)]
