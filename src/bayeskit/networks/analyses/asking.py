"""What the analyses of a network need of it: its value, and answers to queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bayeskit.errors import SettingError
from bayeskit.graphs.network import Network
from bayeskit.networks.evidence import Not
from bayeskit.schema import Name
from bayeskit.typing import NamesLike

Evidence = Mapping[Any, Any] | None


class Asked(Protocol):
    """A network that can be asked."""

    _network: Network

    @classmethod
    def _of(cls, network: Network) -> Any: ...

    def query(self, *targets: NamesLike, evidence: Evidence = None) -> Any: ...

    def posteriors(self, evidence: Evidence = None) -> dict[Name, Any]: ...

    def log_probability(self, evidence: Evidence = None) -> float: ...

    def _family_margins(self, evidence: Evidence) -> tuple[list[Any], float]: ...


def read_mapping(evidence: Evidence) -> dict[Name, Any]:
    """Return the evidence as a dict of its own; its states are read where it is used."""
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping):
        raise SettingError(f"evidence is {evidence!r}; give a mapping {{node: state}}.")
    return dict(evidence)


def refuse_observed(name: Name, evidence: Mapping[Any, Any]) -> None:
    """Refuse a target whose state is known already."""
    if name in evidence and not isinstance(evidence[name], Not):
        raise SettingError(
            f"{name!r} is in the evidence: nothing is left to learn of it. Take it out of one."
        )


def refuse_continuous(network: Network, names: tuple[Name, ...], what: str) -> None:
    """Refuse nodes without states."""
    numeric = next((name for name in names if not network[name].is_discrete), None)
    if numeric is not None:
        raise SettingError(f"{numeric!r} is continuous; {what} is computed for nodes with states only.")
