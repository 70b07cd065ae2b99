"""BayesianNetwork: a graph of variables with the conditional distribution of each, and methods to edit it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from bayeskit._fitting.networks.network_counts import NetworkCounts
from bayeskit._graphs.dag import node_name, parent_names
from bayeskit._graphs.distributions import Distribution
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import Network, Node
from bayeskit._networks import approximation, network_io, sampling_adapter
from bayeskit._networks.analysis import (
    causal_effect,
    causal_sets,
    counterfactuals,
    estimands,
    measures,
    network_summary,
)
from bayeskit._networks.analysis.compare_networks import same_network
from bayeskit._networks.arguments import switch
from bayeskit._networks.building import GraphLike, network_of, state_labels, variable_of
from bayeskit._networks.discrete_adapter import DerivedCache
from bayeskit._networks.fit.em_fitting import EmRecord
from bayeskit._networks.fit.fitting import Fitting
from bayeskit._networks.network_structure import Structure
from bayeskit._networks.node_distributions import (
    deterministic,
    intervention,
    noisy_max,
    noisy_or,
    read_table,
    regression,
    table_of,
)
from bayeskit._networks.node_tables import CptLike, softmax
from bayeskit._networks.queries import Queries
from bayeskit._schema import Label, Name, Variable, first_twice, state_code
from bayeskit._visible import visible
from bayeskit.errors import SettingError, UsageError
from bayeskit.typing import NamesLike, StatesLike

if TYPE_CHECKING:
    from bayeskit._data.file_reading import FileReading

# The nodes of a larger network are counted, not listed.
MOST_SPELT_OUT = 8


class BayesianNetwork(Fitting, Structure, Queries):
    r"""A Bayesian network: a joint distribution as a product of conditional distributions given the parents.

    .. math:: P(x_1, \dots, x_d) = \prod_i P(x_i \mid \pi_i)

    Parameters
    ----------
    parents : mapping node → parents, list of (parent, child), Dag, networkx.DiGraph, or another network
        Nodes that appear only as parents are added after the others. The order of a node's parents is the
        order of the axes of its table.
    states : mapping node → list of states, or one list for all nodes
        ``float`` (or "continuous") instead of a list declares a continuous node. A node that is not named
        gets its states from ``set_cpt`` or ``fit``.
    name : the name of the network

    Notes
    -----
    Edits are made in place and return None. A failed edit changes nothing. To keep the old network, take a
    ``copy()`` first. Edits discard what was derived from the network (engines, trees, orders), which is never
    copied or pickled. A node whose parents change loses its table, which must be set again.

    Examples
    --------
    The lawn is wet this morning, and so is Joe's next door. Did it rain, or was the sprinkler left on?

    >>> network = BayesianNetwork(
    ...     {"rain": [], "sprinkler": [], "joe": ["rain"], "wet": ["rain", "sprinkler"]},
    ...     states=["no", "yes"],
    ... )
    >>> network.set_cpt("rain", {"no": 0.8, "yes": 0.2})
    >>> network.set_cpt("sprinkler", [0.9, 0.1])
    >>> network.set_cpt("joe", {"no": [0.8, 0.2], "yes": [0, 1]})
    >>> network.set_cpt("wet", [[[1, 0], [0.1, 0.9]], [[0, 1], [0, 1]]])
    >>> network
    BayesianNetwork: P(rain) P(sprinkler) P(joe | rain) P(wet | rain, sprinkler)
    >>> print(f"{network.query('sprinkler', evidence={'wet': 'yes'})['yes']:.4f}")
    0.3382
    >>> seen = {"wet": "yes", "joe": "yes"}  # Joe's lawn speaks for rain, which explains ours
    >>> print(f"{network.query('sprinkler', evidence=seen)['yes']:.4f}")
    0.1604
    """

    _network: Network
    _cache: DerivedCache

    # Functions over a network that become methods.
    sample = sampling_adapter.sample
    approximate = approximation.approximate
    entropy = measures.entropy
    mutual_information = measures.mutual_information
    sensitivity_to_findings = measures.sensitivity_to_findings
    parameter_sensitivity = measures.parameter_sensitivity
    kl = measures.kl
    adjustment_sets = causal_sets.adjustment_sets
    front_door_sets = causal_sets.front_door_sets
    instruments = causal_sets.instruments
    why_adjustment = causal_sets.why_adjustment
    identify = estimands.identify
    effect = causal_effect.effect
    counterfactual = counterfactuals.counterfactual
    summary = network_summary.summary
    plot = network_io.plot
    _repr_html_ = network_io.page
    write = network_io.write
    to_json = network_io.to_json

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
        """Replace the network; everything derived from the old one is dropped.

        Running queries continue with the network with which they started.
        """
        self._network = network
        self._cache = DerivedCache(network)
        # Counts belong to the network they were counted for.
        self._learned: NetworkCounts | EmRecord | None = None
        self._prior: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The name of the network."""
        return self._network.name

    @property
    def reading_(self) -> FileReading | None:
        """How the file was read that `learn_network` learned from, and what was left out; None if there was none."""
        return self._network.reading

    # -- distributions, in and out -------------------------------------------------------------

    def states(self, name: Name) -> tuple[Label, ...]:
        """Return the states of a node in their declared order. A continuous node has none."""
        return self._network[name].variable.states

    def is_continuous(self, name: Name) -> bool:
        """Return whether a node is continuous."""
        return not self._network[name].is_discrete

    def cpt(self, name: Name) -> Factor:
        """Return P(node | parents) as a Factor. The axes are the parents in order, then the node."""
        values = table_of(self._network, name)
        names = (*self._network[name].parents, name)
        return Factor(names, (self.states(other) for other in names), values)

    def distribution(self, name: Name) -> Distribution:
        """Return the distribution of a node: a Table, Deterministic, NoisyMax, LinearGaussian or Softmax."""
        found = self._network[name].distribution
        if found is None:
            way_out = "set_gaussian" if self.is_continuous(name) else "set_cpt"
            if name in self._network.softmax_nodes:
                way_out = "set_softmax"
            raise UsageError(
                "{name!r} has no distribution yet. Call {way_out}({name!r}, ...) or fit.",
                name=name,
                way_out=way_out,
            )
        return found

    def set_cpt(self, name: Name, table: CptLike, *, normalize: bool = False) -> None:
        """Set the conditional probability table of a node.

        Parameters
        ----------
        name : a discrete node
        table : one of
            - an array of shape (sizes of the parents in their order, own size), or the same numbers in one list;
            - nested mappings: the states of the parents from outside in, then the states of the node. A tuple
              key combines several levels, and the innermost level may be a list;
            - a Factor over the node and its parents: axes and states are matched by name;
            - a frame of pandas, Polars or PyArrow, long (a column for each parent, one for the node, one named p,
              probability or value) or wide (a column for each parent, one for each state of the node);
            - a value returned by ``distribution``.
        normalize : bool
            Divide each row by its sum. Otherwise a row whose sum differs from 1 by more than 1e-9 is an
            error, and a row within 1e-12 of 1 is kept unchanged.

        Every cell must be given. A node without states takes the states of the table, in the order in which
        they appear.

        Examples
        --------
        >>> network = BayesianNetwork({"rain": [], "wet": ["rain"]}, states=["no", "yes"])
        >>> network.set_cpt("rain", {"yes": 0.2, "no": 0.8})
        >>> network.set_cpt("wet", [[0.9, 0.1], [0, 1]])
        >>> network.cpt("wet")["yes", "no"]
        0.0
        """
        network = self._network
        self._become(network.with_node(read_table(network, name, table, switch(normalize, "normalize"))))

    def set_noisy_or(
        self, name: Name, causes: Mapping[Any, Any], leak: float = 0.0, *, present: Label | None = None
    ) -> None:
        r"""Make a node the noisy-OR of its parents.

        .. math:: P(\text{absent} \mid x) = (1 - \lambda) \prod_{i: x_i \text{ present}} (1 - p_i)

        Parameters
        ----------
        name : a node of two states: the first means absent, the second present
        causes : {parent: probability that this cause alone produces the effect}
            A parent with two states is present in its second state. {parent: {state: probability}} gives one
            number per state; one state may be omitted and has no effect.
        leak : the probability of the effect without any cause
        present : the node's state that means present, if it is the first

        Examples
        --------
        >>> network = BayesianNetwork({"fever": ["cold", "flu"]}, states=["no", "yes"])
        >>> network.set_noisy_or("fever", {"cold": 0.5, "flu": 0.75})
        >>> network.cpt("fever")["yes", "yes", "no"]
        0.125
        """
        self._set(name, noisy_or(self._network, name, causes, leak, present))

    def set_noisy_max(
        self, name: Name, causes: Mapping[Any, Any], leak: ArrayLike | Mapping[Any, float] | None = None
    ) -> None:
        """Make a node a noisy-MAX: the largest of the effects that its parents produce independently.

        Parameters
        ----------
        name : a node whose states are ordered by effect; the first means no effect
        causes : {parent: {parent's state: distribution over the node's states}}
            A distribution is a list in the order of the states, or a mapping. One state of each parent may be
            omitted and has no effect.
        leak : the distribution of the effect without any cause; None means no effect

        Examples
        --------
        >>> states = {"flu": ["no", "yes"], "fever": ["none", "mild", "high"]}
        >>> network = BayesianNetwork({"fever": ["flu"]}, states=states)
        >>> network.set_noisy_max("fever", {"flu": {"yes": [0.25, 0.5, 0.25]}})
        >>> network.cpt("fever")["no", "none"]
        1.0
        """
        self._set(name, noisy_max(self._network, name, causes, leak))

    def set_deterministic(self, name: Name, rule: Callable[..., Label] | Mapping[Any, Any]) -> None:
        """Make a node a deterministic function of its parents.

        Parameters
        ----------
        rule : a function or a mapping
            A function is called once for each configuration with the parents' states in their order, and returns
            the node's state. A mapping has the parents' states as keys, nested or in tuples.

        Examples
        --------
        >>> network = BayesianNetwork({"either": ["lung", "tub"]}, states=["no", "yes"])
        >>> network.set_deterministic("either", lambda lung, tub: max(lung, tub))
        >>> network.cpt("either")["no", "yes", "yes"]
        1.0
        """
        self._set(name, deterministic(self._network, name, rule))

    def set_gaussian(
        self,
        name: Name,
        intercept: float | Mapping[Any, Any],
        coefficients: Mapping[Any, float] | None = None,
        variance: float | None = None,
    ) -> None:
        r"""Make a continuous node a regression on its parents with Gaussian noise.

        .. math:: y \mid d, x \sim N(a_d + b_d^\top x, \; v_d)

        Parameters
        ----------
        name : a continuous node
        intercept : number, or mapping from the states of the discrete parents
            The mapping contains (intercept, coefficients, variance) for each configuration, or (mean,
            variance) if no parent is continuous. Its keys are nested or tuples, as in ``set_cpt``.
        coefficients : {continuous parent: number}
        variance : number, not negative; 0 means no noise

        Examples
        --------
        >>> network = BayesianNetwork({"b": ["a"]}, states=float)
        >>> network.set_gaussian("a", 0.0, variance=1.0)
        >>> network.set_gaussian("b", 1.0, {"a": 2.0}, 0.5)
        >>> network.distribution("b").coefficients
        array([2.])
        """
        self._set(name, regression(self._network, name, intercept, coefficients, variance))

    def set_softmax(
        self,
        name: Name,
        intercept: float | Mapping[Any, Any],
        coefficients: Mapping[Any, Any] | None = None,
    ) -> None:
        r"""Make a discrete node a softmax of its continuous parents; for two states, a logistic regression.

        .. math:: P(y = k \mid d, x) = \frac{\exp(a_{dk} + b_{dk}^\top x)}{\sum_j \exp(a_{dj} + b_{dj}^\top x)}

        Parameters
        ----------
        name : a discrete node with a continuous parent
        intercept : number, {state: number}, or mapping from the states of the discrete parents
            For two states, a number is the log odds of the second state against the first. Of {state: number}, a
            state that is left out has 0. If the node has discrete parents, the mapping contains (intercept,
            coefficients) for each configuration. Its keys are nested or tuples, as in ``set_cpt``.
        coefficients : {continuous parent: number, or {state: number}}

        Notes
        -----
        Exact queries need the continuous parents observed, where the node matters at all; otherwise they raise
        `NotSupported`. `sample`, `log_prob` of complete rows and ``approximate`` by likelihood weighting always work,
        and `fit` learns the numbers.

        Examples
        --------
        >>> network = BayesianNetwork({"buys": ["income"]}, {"buys": ["no", "yes"], "income": float})
        >>> network.set_gaussian("income", 5.0, variance=4.0)
        >>> network.set_softmax("buys", -3.0, {"income": 0.5})
        >>> print(f"{network.query('buys', evidence={'income': 10.0})['yes']:.4f}")
        0.8808
        """
        self._set(name, softmax(self._network, name, intercept, coefficients))

    def _set(self, name: Name, distribution: Distribution) -> None:
        network = self._network
        self._become(network.with_node(replace(network[name], distribution=distribution)))

    # -- the graph -----------------------------------------------------------------------------

    def add_node(self, name: Name, states: StatesLike = None, parents: NamesLike | None = ()) -> None:
        """Add a node after the others, without a table.

        Parameters
        ----------
        name : any hashable that is not a node yet
        states : list of states; ``float`` or "continuous" for a continuous node; None if not known yet
        parents : names of existing nodes
        """
        name = node_name(name)
        network = self._network
        if name in network.dag.position:
            raise SettingError("There is already a node {name!r}.", name=name)
        node = Node(variable_of(name, states), parent_names(name, parents, network.dag.position))
        self._become(replace(network, nodes=(*network.nodes, node)))

    def add_arc(self, parent: Name, child: Name) -> None:
        """Add an arc. The parent becomes the last of the child's parents, and the child loses its table.

        An arc that would create a cycle is an error, which names the cycle.
        """
        network = self._network
        node, name = network[child], network[parent].name
        if name in node.parents:
            raise SettingError(
                "There is already an arc from {parent!r} to {child!r}.", parent=parent, child=child
            )
        self._become(network.with_node(replace(node, parents=(*node.parents, name), distribution=None)))

    def remove_arc(self, parent: Name, child: Name) -> None:
        """Remove an arc. The child loses its table."""
        network = self._network
        node, name = network[child], network[parent].name
        if name not in node.parents:
            raise SettingError("There is no arc from {parent!r} to {child!r}.", parent=parent, child=child)
        self._become(network.with_node(_without(node, name)))

    def remove_node(self, name: Name) -> None:
        """Remove a node and its arcs. Its children lose their tables."""
        network = self._network
        gone = network[name].name
        others = (node for node in network.nodes if node.name != gone)
        self._become(replace(network, nodes=tuple(_without(node, gone) for node in others)))

    def rename(self, names: Mapping[Any, Name]) -> None:
        """Rename nodes, all at once: {"a": "b", "b": "a"} swaps two names."""
        network = self._network
        if not isinstance(names, Mapping):
            raise SettingError("{names!r} does not say what to rename. Give {{old: new}}.", names=names)
        new = {network[old].name: node_name(name) for old, name in names.items()}
        twice = first_twice(new.get(name, name) for name in network.dag.nodes)
        if twice is not None:
            raise SettingError("Two nodes would be named {twice!r}.", twice=twice)
        nodes = (
            replace(
                node,
                variable=replace(node.variable, name=new.get(node.name, node.name)),
                parents=tuple(new.get(parent, parent) for parent in node.parents),
            )
            for node in network.nodes
        )
        self._become(replace(network, nodes=tuple(nodes)))

    def set_states(self, name: Name, states: StatesLike | Mapping[Any, Label]) -> None:
        """Rename the states of a node by position, or declare them if they are not known yet.

        Parameters
        ----------
        states : list with one name per existing state, or mapping {old: new} for some of them
            ``float`` or "continuous" makes a node without states continuous.
        """
        node = self._network[name]
        if not node.is_discrete:
            raise SettingError("{name!r} is continuous and has no states.", name=name)
        variable = _renamed(node.variable, states) if node.variable.size else variable_of(node.name, states)
        self._become(self._network.with_node(replace(node, variable=variable)))

    def copy(self) -> Self:
        """Return an independent copy."""
        return self._of(self._network)

    def do(self, values: Mapping[Any, Any]) -> Self:
        """Return the network after an intervention that sets these nodes, regardless of their parents.

        The arcs into these nodes are removed.

        Parameters
        ----------
        values : {node: value}
            A discrete node gets a state with probability one, a continuous node a number with variance zero.
            A distribution over the states (numbers in their order that sum to one, or {state: probability})
            sets a discrete node at random: a stochastic intervention.

        Examples
        --------
        >>> network = BayesianNetwork({"wet": ["rain"]}, states=["no", "yes"])
        >>> network.do({"wet": "yes"}).cpt("wet").values
        array([0., 1.])
        >>> network.do({"wet": {"yes": 0.25, "no": 0.75}}).cpt("wet").values
        array([0.75, 0.25])
        """
        if not isinstance(values, Mapping):
            raise SettingError(
                "do({values!r}) does not say which nodes to set. Give {{node: value}}.", values=values
            )
        network = self._network
        fixed = {network[name].name: intervention(network[name], value) for name, value in values.items()}
        nodes = (
            replace(node, parents=(), distribution=fixed[node.name]) if node.name in fixed else node
            for node in network.nodes
        )
        return self._of(replace(network, nodes=tuple(nodes)))

    def __eq__(self, other: object) -> bool:
        """Return whether two networks have the same nodes, arcs, states and numbers, in any order."""
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return same_network(self._network, other._network)

    __hash__ = None  # type: ignore[assignment]

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
        return {key: value for key, value in self.__dict__.items() if key != "_cache"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Arrays from a pickle are writable; a new value makes them read-only again.
        network: Network = state["_network"]
        nodes = tuple(
            n if n.distribution is None else replace(n, distribution=replace(n.distribution))
            for n in network.nodes
        )
        self._become(replace(network, nodes=nodes))
        self._learned, self._prior = state["_learned"], state["_prior"]


def _without(node: Node, parent: Name) -> Node:
    if parent not in node.parents:
        return node
    return replace(node, parents=tuple(p for p in node.parents if p != parent), distribution=None)


def _renamed(variable: Variable, states: object) -> Variable:
    old, name = variable.states, variable.name
    if isinstance(states, Mapping):
        new = dict(enumerate(old)) | {state_code(name, old, k): label for k, label in states.items()}
        return replace(variable, states=state_labels(name, new.values()))
    labels = state_labels(name, states)
    if len(labels) != len(old):
        raise SettingError(
            "{name!r} has {n} states ({states}), and {n_labels} were given. set_states renames them one by "
            "one; for other states, remove the node and add it again.",
            name=name,
            n=len(old),
            states=variable.listing(),
            n_labels=len(labels),
        )
    if labels != old and set(labels) == set(old):
        # Probably meant as another order, which would silently change the meaning of the tables.
        raise SettingError(
            "{name!r} already has these states, in the order {states}. set_states renames them by position; "
            "to exchange their names, pass a mapping {{old: new}}.",
            name=name,
            states=variable.listing(),
        )
    return replace(variable, states=labels)
