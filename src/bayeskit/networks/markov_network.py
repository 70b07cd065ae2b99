"""MarkovNetwork: variables and factors over some of them; their product, normalised, is the distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bayeskit.errors import SettingError
from bayeskit.graphs.dag import unknown_node
from bayeskit.graphs.factor import Factor
from bayeskit.graphs.network import Field, Network
from bayeskit.inference.exact import allowed
from bayeskit.networks import sampling, writing
from bayeskit.networks.exact_door import Kept
from bayeskit.networks.given.factors import field_of, field_of_network
from bayeskit.networks.queries import Queries
from bayeskit.schema import Label, Name

if TYPE_CHECKING:
    from bayeskit.networks.bayesian_network import BayesianNetwork


class MarkovNetwork(Queries):
    r"""Variables with states, and factors over some of them: the undirected sibling of a Bayesian network.

    .. math:: P(x) = \frac{1}{Z} \prod_f f(x_f)

    Parameters
    ----------
    states : mapping variable → its states, in order
    factors : list of Factor or of (names, array)
        Numbers are finite and not negative, not all zero; they need not sum to anything. The axes of an array are
        the names in their order; it may also be flat, the last name fastest.
    name : what the network is called

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

    # Functions over a network, taken by name.
    sample = sampling.sample
    approximate = sampling.approximate
    write = writing.write
    to_json = writing.to_json

    def __init__(self, states: Mapping[Any, Any], factors: Iterable[Any] = (), *, name: str = "") -> None:
        self._become(field_of(states, factors, name))

    @classmethod
    def of(cls, network: BayesianNetwork | MarkovNetwork | Network | Field) -> MarkovNetwork:
        """Return the Markov network of a Bayesian network: its tables as factors, over its moral graph."""
        value = getattr(network, "_network", network)
        if isinstance(value, Network):
            return cls._of(field_of_network(value))
        if isinstance(value, Field):
            return cls._of(value)
        raise SettingError(f"A {type(network).__name__} is no network. Give a BayesianNetwork.")

    @classmethod
    def _of(cls, field: Field) -> MarkovNetwork:
        made = cls.__new__(cls)
        made._become(field)
        return made

    def _become(self, field: Field) -> None:
        self._network: Field = field
        self._kept = Kept(field)

    @property
    def name(self) -> str:
        return self._network.name

    @property
    def variables(self) -> tuple[Name, ...]:
        """The names of the variables, in order."""
        return tuple(self._network.position)

    @property
    def factors(self) -> tuple[Factor, ...]:
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
        soft: Mapping[Any, Any] | None = None,
        max_memory: float | None = None,
    ) -> float:
        """Return log Z: of the sum, over all states that agree with the evidence, of the product of the factors.

        It is −inf where the evidence is impossible. `log_probability` is its difference from that without evidence.
        """
        return self._door.log_evidence(evidence, soft, allowed(max_memory))

    def copy(self) -> MarkovNetwork:
        """Return a network that is equal and independent of this one."""
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
        from bayeskit.report.networks.field_html import field_html

        return field_html(self._network)

    def __repr__(self) -> str:
        called = f" {self.name!r}" if self.name else ""
        return f"<MarkovNetwork{called}: {len(self)} variables, {len(self.factors)} factors>"
