"""How the nodes of a network get their distributions, and how these are read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from bayeskit.errors import UsageError
from bayeskit.graphs.distributions import Distribution
from bayeskit.graphs.factor import Factor
from bayeskit.graphs.network import Network
from bayeskit.networks.arguments import switch
from bayeskit.networks.given.regression import regression
from bayeskit.networks.given.special import deterministic, noisy_max, noisy_or
from bayeskit.networks.given.tables import read_table, table_of
from bayeskit.schema import Label, Name


class Setting:
    """Tables in and out. Every ``set_`` method changes the network in place and returns it; one that fails
    changes nothing."""

    _network: Network
    _become: Callable[[Network], None]

    def states(self, name: Name) -> tuple[Label, ...]:
        """Return the states of a node in their declared order; a continuous node has none."""
        return self._network[name].variable.states

    def is_continuous(self, name: Name) -> bool:
        """Tell whether a node holds numbers instead of states."""
        return not self._network[name].is_discrete

    def cpt(self, name: Name) -> Factor:
        """Return P(node | parents) as a Factor: the parents' axes in their order, then the node's own."""
        values = table_of(self._network, name)
        names = (*self._network[name].parents, name)
        return Factor(names, (self.states(other) for other in names), values)

    def distribution(self, name: Name) -> Distribution:
        """Return how a node depends on its parents: a Table, Deterministic, NoisyMax or LinearGaussian."""
        found = self._network[name].distribution
        if found is None:
            way_out = "set_gaussian" if self.is_continuous(name) else "set_cpt"
            raise UsageError(f"{name!r} has no distribution yet. Call {way_out}({name!r}, ...) or fit.")
        return found

    def set_cpt(self, name: Name, table: Any, *, normalize: bool = False) -> Self:
        """Give a node its conditional probabilities.

        Parameters
        ----------
        name : a discrete node
        table : one of
            - an array of shape (sizes of the parents in their order, own size), or the same numbers in one list;
            - nested mappings: the states of the parents from outside in, then the node's own. A tuple key stands
              for several levels, and a list may stand for the innermost;
            - a Factor over the node and its parents: axes and states are matched by name;
            - a frame of pandas, Polars or PyArrow, long (a column for each parent, one for the node, one named p,
              probability or value) or wide (a column for each parent, one for each state of the node);
            - a value that ``distribution`` gave.
        normalize : bool
            Divide each row by its sum. Otherwise a row that is off by more than 1e-9 is refused; one within 1e-12
            of 1 is kept as it is.

        Every cell must be given. A node without states takes those that the table names, in the order met.

        Examples
        --------
        >>> from bayeskit.networks.bayesian_network import BayesianNetwork
        >>> network = BayesianNetwork({"rain": [], "wet": ["rain"]}, states=["no", "yes"])
        >>> network = network.set_cpt("rain", {"yes": 0.2, "no": 0.8}).set_cpt("wet", [[0.9, 0.1], [0, 1]])
        >>> network.cpt("wet")["yes", "no"]
        0.0
        """
        network = self._network
        self._become(network.with_node(read_table(network, name, table, switch(normalize, "normalize"))))
        return self

    def set_noisy_or(
        self, name: Name, causes: Mapping[Name, Any], leak: float = 0.0, *, present: Label | None = None
    ) -> Self:
        r"""Make a node the noisy-OR of its parents.

        .. math:: P(\text{absent} \mid x) = (1 - \lambda) \prod_{i: x_i \text{ present}} (1 - p_i)

        Parameters
        ----------
        name : a node of two states: the first means absent, the second present
        causes : {parent: probability that this cause alone brings the node about}
            A parent of two states is present in its second. {parent: {state: probability}} says it for each state;
            one of them may be left out and brings about nothing.
        leak : the probability that the node comes about without a cause
        present : the node's state that means present, where it is the first

        Examples
        --------
        >>> from bayeskit.networks.bayesian_network import BayesianNetwork
        >>> network = BayesianNetwork({"fever": ["cold", "flu"]}, states=["no", "yes"])
        >>> network = network.set_noisy_or("fever", {"cold": 0.5, "flu": 0.75})
        >>> network.cpt("fever")["yes", "yes", "no"]
        0.125
        """
        return self._set(name, noisy_or(self._network, name, causes, leak, present))

    def set_noisy_max(self, name: Name, causes: Mapping[Name, Any], leak: Any = None) -> Self:
        """Make a node the largest of what each of its parents alone would bring about.

        Parameters
        ----------
        name : a node whose states stand in order of effect, the first meaning none
        causes : {parent: {parent's state: distribution over the node's states}}
            A distribution is a list in their order, or a mapping. One state of each parent may be left out: it brings
            about nothing.
        leak : the distribution of what comes about without a cause; None: nothing

        Examples
        --------
        >>> from bayeskit.networks.bayesian_network import BayesianNetwork
        >>> states = {"flu": ["no", "yes"], "fever": ["none", "mild", "high"]}
        >>> network = BayesianNetwork({"fever": ["flu"]}, states=states)
        >>> network.set_noisy_max("fever", {"flu": {"yes": [0.25, 0.5, 0.25]}}).cpt("fever")["no", "none"]
        1.0
        """
        return self._set(name, noisy_max(self._network, name, causes, leak))

    def set_deterministic(self, name: Name, rule: Callable[..., Label] | Mapping[Any, Any]) -> Self:
        """Make a node a function of its parents.

        Parameters
        ----------
        rule : a function or a mapping
            A function is called once for each configuration with the parents' states in their order, and returns
            the node's state. A mapping has the parents' states as keys, nested or in tuples.

        Examples
        --------
        >>> from bayeskit.networks.bayesian_network import BayesianNetwork
        >>> network = BayesianNetwork({"either": ["lung", "tub"]}, states=["no", "yes"])
        >>> network.set_deterministic("either", lambda lung, tub: max(lung, tub)).cpt("either")["no", "yes", "yes"]
        1.0
        """
        return self._set(name, deterministic(self._network, name, rule))

    def set_gaussian(
        self,
        name: Name,
        intercept: Any,
        coefficients: Mapping[Name, float] | None = None,
        variance: float | None = None,
    ) -> Self:
        r"""Make a continuous node a regression on its parents with Gaussian noise.

        .. math:: y \mid d, x \sim N(a_d + b_d^\top x, \; v_d)

        Parameters
        ----------
        name : a continuous node
        intercept : number, or mapping from the states of the discrete parents
            The mapping holds (intercept, coefficients, variance) for each configuration, or (mean, variance) where
            no parent is continuous; its keys are nested or tuples, as in ``set_cpt``.
        coefficients : {continuous parent: number}
        variance : number, not negative; 0 means that there is no noise

        Examples
        --------
        >>> from bayeskit.networks.bayesian_network import BayesianNetwork
        >>> network = BayesianNetwork({"b": ["a"]}, states=float).set_gaussian("a", 0.0, variance=1.0)
        >>> network.set_gaussian("b", 1.0, {"a": 2.0}, 0.5).distribution("b").coefficients
        array([2.])
        """
        return self._set(name, regression(self._network, name, intercept, coefficients, variance))

    def _set(self, name: Name, distribution: Distribution) -> Self:
        network = self._network
        self._become(network.with_node(replace(network[name], distribution=distribution)))
        return self
