"""MarkovNetwork: an undirected model, whose distribution is the normalised product of its factors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as shortly
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._graphs.dag import node_name, unknown_node
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import FactorGraph, Network, discrete
from bayeskit._inference.exact import allowed
from bayeskit._messages import Joined, Message
from bayeskit._networks import approximation, network_io, sampling_adapter
from bayeskit._networks.analysis import network_summary
from bayeskit._networks.arguments import real_numbers
from bayeskit._networks.building import state_labels
from bayeskit._networks.discrete_adapter import DerivedCache
from bayeskit._networks.node_distributions import table_of
from bayeskit._networks.queries import Queries
from bayeskit._schema import Label, Name, Variable, first_twice
from bayeskit.errors import SettingError
from bayeskit.typing import NamesLike

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork


class MarkovNetwork(Queries):
    r"""A Markov network: an undirected model of discrete variables, given by factors.

    .. math:: P(x) = \frac{1}{Z} \prod_f f(x_f)

    Parameters
    ----------
    states : mapping variable → its states, in order
    factors : list of Factor or of (names, array)
        The numbers must be finite, nonnegative and not all zero; they need not be normalised. The axes of an
        array are the names in their order. A flat array varies the last name fastest.
    name : the name of the network

    Examples
    --------
    >>> network = MarkovNetwork({"a": ["x", "y"], "b": ["x", "y"]}, [(["a", "b"], [[30, 5], [1, 10]])])
    >>> network.query("a", evidence={"b": "y"})
    Factor('a': {'x': 0.333333, 'y': 0.666667})
    >>> round(network.log_partition(), 4)  # log 46
    3.8286
    >>> network.mpe()
    MostProbable({'a': 'x', 'b': 'x'}, log_probability=-0.427444)
    """

    # Functions over a network that become methods.
    sample = sampling_adapter.sample
    approximate = approximation.approximate
    write = network_io.write
    to_json = network_io.to_json
    summary = network_summary.factor_summary

    def __init__(
        self,
        states: Mapping[Any, Iterable[Label]],
        factors: Iterable[Factor | tuple[NamesLike, ArrayLike]] = (),
        *,
        name: str = "",
    ) -> None:
        self._become(field_of(states, factors, name))

    @classmethod
    def of(cls, network: BayesianNetwork | MarkovNetwork | Network | FactorGraph) -> MarkovNetwork:
        """Convert a Bayesian network: its tables become factors over its moral graph."""
        value = getattr(network, "_network", network)
        if isinstance(value, Network):
            return cls._of(field_of_network(value))
        if isinstance(value, FactorGraph):
            return cls._of(value)
        raise SettingError("A {kind} is not a network. Give a BayesianNetwork.", kind=type(network).__name__)

    @classmethod
    def _of(cls, field: FactorGraph) -> MarkovNetwork:
        made = cls.__new__(cls)
        made._become(field)
        return made

    def _become(self, field: FactorGraph) -> None:
        self._network: FactorGraph = field
        self._cache = DerivedCache(field)

    @property
    def name(self) -> str:
        """The name of the network."""
        return self._network.name

    @property
    def variables(self) -> tuple[Name, ...]:
        """The names of the variables, in order."""
        return tuple(self._network.position)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors, in the order in which they were given."""
        return self._network.factors

    def states(self, name: Name) -> tuple[Label, ...]:
        """Return the states of a variable in their declared order."""
        try:
            return self._network.variables[self._network.position[name]].states
        except (KeyError, TypeError):
            raise unknown_node(name, self._network.position) from None

    def log_partition(
        self,
        evidence: Mapping[Any, Any] | None = None,
        *,
        soft: Mapping[Any, Any] | None = None,
        max_memory: float | None = None,
    ) -> float:
        """Return log Z, where Z sums the product of the factors over all states that agree with the evidence.

        It is −inf if the evidence is impossible. `log_probability` is log Z with the evidence minus log Z
        without.
        """
        return self._adapter.log_evidence(evidence, soft, allowed(max_memory))

    def copy(self) -> MarkovNetwork:
        """Return an independent copy."""
        return self._of(self._network)

    def __len__(self) -> int:
        return len(self._network.variables)

    def __contains__(self, name: object) -> bool:
        try:
            return name in self._network.position
        except TypeError:
            return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MarkovNetwork) and self._network == other._network

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {"_network": self._network}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._become(state["_network"])

    def _repr_html_(self) -> str:
        from bayeskit._report.drawing.network_scene import field_html

        return field_html(self._network)

    def __repr__(self) -> str:
        called = f" {self.name!r}" if self.name else ""
        return f"<MarkovNetwork{called}: {len(self)} variables, {len(self.factors)} factors>"


def field_of(states: object, factors: object, name: str = "") -> FactorGraph:
    """Read variables with their states, and factors over them.

    Parameters
    ----------
    states : mapping variable → its states
    factors : list of Factor or of (names, array)
        The axes of an array are the names in their order. A flat array varies the last name fastest.

    Examples
    --------
    >>> field_of({"a": [0, 1]}, [(["a"], [1, 2])]).factors
    (Factor('a': {0: 1, 1: 2}),)
    """
    if not isinstance(states, Mapping):
        raise SettingError(
            "states is {states!r}; give a mapping from variable to its list of states.", states=states
        )
    if not isinstance(factors, Iterable) or isinstance(factors, (str, bytes, Mapping, Factor)):
        raise SettingError(
            "factors is {factors!r}; give a list of Factor or of (names, array).", factors=factors
        )
    if not isinstance(name, str):
        raise SettingError("name={name!r}: the name of a network must be a string.", name=name)
    variables = {
        node_name(variable): discrete(node_name(variable), state_labels(variable, labels))
        for variable, labels in states.items()
    }
    read = tuple(_checked(_factor(given, variables, place), place) for place, given in enumerate(factors))
    return FactorGraph(tuple(variables.values()), read, name)


def field_of_network(network: Network) -> FactorGraph:
    """Return the factors of a Bayesian network: its tables, each over the parents and the child."""
    network.require_distributions()
    strange = next((node.name for node in network.nodes if not node.is_discrete), None)
    if strange is not None:
        raise SettingError(
            "{strange!r} is continuous. A Markov network has nodes with states only.", strange=strange
        )
    factors = []
    for node in network.nodes:
        scope = (*node.parents, node.name)
        factors.append(
            Factor(scope, (network[n].variable.states for n in scope), table_of(network, node.name))
        )
    return FactorGraph(tuple(node.variable for node in network.nodes), tuple(factors), network.name)


def _factor(given: Factor | Sequence[Any], variables: Mapping[Name, Variable], place: int) -> Factor:
    if isinstance(given, Factor):
        return _aligned(given, variables, place)
    try:
        names, values = given
    except (TypeError, ValueError):
        raise SettingError(
            "Factor {place} is {given!r}; give a Factor or (names, array).", place=place, given=given
        ) from None
    if isinstance(names, str) or not isinstance(names, Iterable):
        names = [names]
    names = [_known(name, variables, place) for name in names]
    twice = first_twice(names)
    if twice is not None:
        raise SettingError("Factor {place} contains {twice!r} twice.", place=place, twice=twice)
    shape = tuple(variables[name].size for name in names)
    numbers = real_numbers(values)
    if numbers is None:
        raise SettingError(
            "{called} has {values}, where numbers are needed: an array of shape {shape}.",
            called=_called(names, place),
            values=shortly(values),
            shape=shape,
        )
    if numbers.shape != shape and numbers.shape != (math.prod(shape),):
        raise SettingError(
            "The numbers of {called} have the shape {shape}; its states need {shape2}.",
            called=_called(names, place),
            shape=numbers.shape,
            shape2=shape,
        )
    return Factor(names, (variables[name].states for name in names), numbers.reshape(shape))


def _aligned(factor: Factor, variables: Mapping[Name, Variable], place: int) -> Factor:
    """Return a factor with the states of each variable in the network's order."""
    values = factor.values
    for axis, (name, states) in enumerate(zip(factor.names, factor.states, strict=True)):
        own = variables[_known(name, variables, place)].states
        if set(own) != set(states):
            raise SettingError(
                "{called} gives {name!r} the states {names}; the network has {names2}.",
                called=_called(factor.names, place),
                name=name,
                names=Joined(map(repr, states[:12])),
                names2=Joined(map(repr, own[:12])),
            )
        if own != states:
            values = np.take(values, [states.index(state) for state in own], axis=axis)
    return Factor(factor.names, (variables[name].states for name in factor.names), values)


def _known(name: Name, variables: Mapping[Name, Variable], place: int) -> Name:
    try:
        return variables[name].name
    except (KeyError, TypeError):
        raise unknown_node(name, variables, Message("factor {place} is over it", place=place)) from None


def _checked(factor: Factor, place: int) -> Factor:
    if not np.isfinite(factor.values).all() or (factor.values < 0).any():
        cell = np.argwhere(~(np.isfinite(factor.values) & (factor.values >= 0)))[0]
        states = Joined(
            (f"{n!r} = {s[i]!r}" for n, s, i in zip(factor.names, factor.states, cell, strict=True))
        )
        raise SettingError(
            "{called} has the value {value} at {states}. Factors are finite and not negative.",
            called=_called(factor.names, place),
            value=factor.values[tuple(cell)],
            states=states,
        )
    if not factor.values.any():
        raise SettingError(
            "{called} is zero everywhere, so there is no distribution.", called=_called(factor.names, place)
        )
    return factor


def _called(names: Iterable[Name], place: int) -> str:
    return f"Factor {place} (over {', '.join(map(repr, names)) or 'nothing'})"
