"""BayesianNetwork: a graph of variables, each with its distribution given its parents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from bayeskit.graphs.network import Network
from bayeskit.learning.networks.network_counts import NetworkCounts
from bayeskit.networks import drawing, sampling, writing
from bayeskit.networks.analyses import analysis
from bayeskit.networks.editing import Editing
from bayeskit.networks.given.building import GraphLike, network_of
from bayeskit.networks.kept import Kept
from bayeskit.networks.learned.climbs import Climbed
from bayeskit.networks.learned.fitting import Fitting
from bayeskit.networks.queries import Queries
from bayeskit.networks.structure import Structure
from bayeskit.typing import StatesLike
from bayeskit.visible import visible

# A network of more nodes than this is counted, not spelt out.
MOST_SPELT_OUT = 8


class BayesianNetwork(Fitting, Structure, Editing, Queries):
    r"""A joint distribution as the product of what each variable does given its parents.

    .. math:: P(x_1, \dots, x_d) = \prod_i P(x_i \mid \pi_i)

    Parameters
    ----------
    parents : mapping node → parents, list of (parent, child), Dag, networkx.DiGraph, or another network
        Nodes named only as parents are added after the others. The order of a node's parents is the order of the
        axes of its table.
    states : mapping node → list of states, or one list for all nodes
        ``float`` (or "continuous") in the place of a list makes a continuous node. A node that is left out takes its
        states from ``set_cpt`` or ``fit``.
    name : what the network is called

    Notes
    -----
    Changes happen in place. What was derived from the network before (engines, trees, orders) is dropped with them,
    and never copied or pickled.

    Examples
    --------
    The lawn is wet this morning, and so is Joe's next door. Did it rain, or was the sprinkler left on?

    >>> network = BayesianNetwork(
    ...     {"rain": [], "sprinkler": [], "joe": ["rain"], "wet": ["rain", "sprinkler"]},
    ...     states=["no", "yes"],
    ... )
    >>> network = network.set_cpt("rain", {"no": 0.8, "yes": 0.2}).set_cpt("sprinkler", [0.9, 0.1])
    >>> network = network.set_cpt("joe", {"no": [0.8, 0.2], "yes": [0, 1]})
    >>> network = network.set_cpt("wet", [[[1, 0], [0.1, 0.9]], [[0, 1], [0, 1]]])
    >>> network
    BayesianNetwork: P(rain) P(sprinkler) P(joe | rain) P(wet | rain, sprinkler)
    >>> print(f"{network.query('sprinkler', evidence={'wet': 'yes'})['yes']:.4f}")
    0.3382
    >>> seen = {"wet": "yes", "joe": "yes"}  # Joe's lawn speaks for rain, which explains ours
    >>> print(f"{network.query('sprinkler', evidence=seen)['yes']:.4f}")
    0.1604
    """

    _network: Network
    _kept: Kept

    # Functions over a network, taken by name.
    sample = sampling.sample
    approximate = sampling.approximate
    entropy = analysis.entropy
    mutual_information = analysis.mutual_information
    sensitivity_to_findings = analysis.sensitivity_to_findings
    parameter_sensitivity = analysis.parameter_sensitivity
    kl = analysis.kl
    plot = drawing.plot
    _repr_html_ = drawing.page
    write = writing.write
    to_json = writing.to_json

    def __init__(
        self,
        parents: GraphLike | None = None,
        states: StatesLike | Mapping[Any, StatesLike] = None,
        *,
        name: str = "",
    ) -> None:
        self._become(network_of(parents, states, name))

    @classmethod
    def _of(cls, network: Network) -> Self:
        made = cls.__new__(cls)
        made._become(network)
        return made

    def _become(self, network: Network) -> None:
        """Be another network from now on; what was derived from the old one is dropped.

        Questions under way go on with the value they began with.
        """
        self._network = network
        self._kept = Kept(network)
        # Counts belong to the network they were counted for.
        self._learned: NetworkCounts | Climbed | None = None
        self._prior: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return self._network.name

    def __repr__(self) -> str:
        nodes = self._network.nodes
        called = f" {self.name!r}" if self.name else ""
        if not nodes or len(nodes) > MOST_SPELT_OUT:
            arcs = len(self._network.dag.arcs)
            return f"BayesianNetwork{called}: {len(nodes)} nodes, {arcs} arcs"
        terms = (
            f"P({' | '.join(filter(None, (str(n.name), ', '.join(map(str, n.parents)))))})" for n in nodes
        )
        return visible(f"BayesianNetwork{called}: {' '.join(terms)}")

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Arrays come back writable from a pickle; a new value closes them again.
        network: Network = state["_network"]
        nodes = tuple(
            n if n.distribution is None else replace(n, distribution=replace(n.distribution))
            for n in network.nodes
        )
        self._become(replace(network, nodes=nodes))
        self._learned, self._prior = state["_learned"], state["_prior"]
