"""Entropy, mutual information and divergence of whole networks, and the network interface they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from bayeskit._graphs.network import Network, Node
from bayeskit._networks.evidence import Given, Not
from bayeskit._networks.node_distributions import table_of
from bayeskit._schema import Name
from bayeskit.errors import Incompatible, SettingError
from bayeskit.typing import Floats, NamesLike


class QueryableNetwork(Protocol):
    """A network that can be queried."""

    _network: Network

    @classmethod
    def _of(cls, network: Network) -> Any: ...

    def query(self, targets: NamesLike, evidence: Given = None) -> Any: ...

    def posteriors(self, evidence: Given = None) -> dict[Name, Any]: ...

    def log_probability(self, evidence: Given = None) -> float: ...

    def _family_margins(self, evidence: Given) -> tuple[list[Any], float]: ...


def read_mapping(evidence: Given) -> dict[Name, Any]:
    """Return the evidence as a new dict. Its states are read where it is used."""
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping):
        raise SettingError("evidence is {evidence!r}; give a mapping {{node: state}}.", evidence=evidence)
    return dict(evidence)


def refuse_observed(name: Name, evidence: Mapping[Any, Any]) -> None:
    """Raise an error for a target whose state is already known."""
    if name in evidence and not isinstance(evidence[name], Not):
        raise SettingError(
            "{name!r} is in the evidence: nothing is left to learn of it. Take it out of one.", name=name
        )


def refuse_continuous(network: Network, names: tuple[Name, ...], what: str) -> None:
    """Raise an error for nodes without states."""
    numeric = next((name for name in names if not network[name].is_discrete), None)
    if numeric is not None:
        raise SettingError(
            "{numeric!r} is continuous; {what} is computed for nodes with states only.",
            numeric=numeric,
            what=what,
        )


def entropy_of(p: Floats) -> float:
    r"""Return :math:`-\sum p \log p`, where 0 log 0 = 0.

    Examples
    --------
    >>> round(entropy_of(np.array([0.5, 0.5, 0.0])), 6)
    0.693147
    """
    some = p[p > 0]
    return max(float(-(some * np.log(some)).sum()), 0.0)


def information_of(joint: Floats) -> float:
    r"""Return :math:`\sum p(a, b) \log \frac{p(a, b)}{p(a) p(b)}` of a joint table with two axes.

    Examples
    --------
    >>> round(information_of(np.array([[0.5, 0.0], [0.0, 0.5]])), 6)
    0.693147
    """
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    some = joint > 0
    return max(float((joint[some] * np.log(joint[some] / apart[some])).sum()), 0.0)


def whole_entropy(queries: QueryableNetwork, evidence: Given) -> float:
    r"""Return the entropy of all nodes together, without their joint table.

    .. math:: H(x \mid e) = \log P(e) - \sum_v E\left[\log P(x_v \mid x_{pa(v)}) \mid e\right]
    """
    network = queries._network
    margins, entropy = queries._family_margins(evidence)
    for node, joint in zip(network.nodes, margins, strict=True):
        entropy -= _expected_log(joint, table_of(network, node.name))
    return max(entropy, 0.0)


def divergence(p: QueryableNetwork, other: Network) -> float:
    r"""Return :math:`KL(p \| q) = \sum_v E_p[\log p(x_v \mid x_{pa(v)})] - E_p[\log q(x_v \mid x_{pa'(v)})]`."""
    _require_same_variables(p._network, other)
    total = 0.0
    margins, _ = p._family_margins(None)
    for node, joint in zip(p._network.nodes, margins, strict=True):
        own, twin = table_of(p._network, node.name), other[node.name]
        mine, theirs = (*node.parents, node.name), (*twin.parents, node.name)
        table = table_of(other, node.name)[np.ix_(*(_codes_of(p._network[n], other[n]) for n in theirs))]
        if set(mine) == set(theirs):
            table = table.transpose([theirs.index(name) for name in mine])
            total += _expected_log(joint, own, table)
        else:
            total += _expected_log(joint, own) - _expected_log(p.query(list(theirs)).values, table)
    return max(total, 0.0)


def _expected_log(joint: Floats, table: Floats, divisor: Floats | None = None) -> float:
    """Return the mean of log(table), or of log(table/divisor), under the joint; ∞ if only the divisor is zero."""
    some = joint > 0
    with np.errstate(divide="ignore"):
        logs = np.log(table[some])
        if divisor is not None:
            logs = logs - np.log(divisor[some])
    return float((joint[some] * logs).sum())


def _codes_of(mine: Node, theirs: Node) -> list[int]:
    """Return the other network's code of each state, in the order of this one's."""
    return [theirs.variable.codes[state] for state in mine.variable.states]


def _require_same_variables(mine: Network, theirs: Network) -> None:
    strange: set[Name] = set(mine.dag.nodes) ^ set(theirs.dag.nodes)
    if strange:
        name = next(node for node in (*mine.dag.nodes, *theirs.dag.nodes) if node in strange)
        raise Incompatible(
            "{name!r} is a node of one network only. Compare networks over the same nodes.", name=name
        )
    for node in mine.nodes:
        other = theirs[node.name].variable
        if set(node.variable.states) != set(other.states):
            raise Incompatible(
                "{name!r} has the states {states} here and {states2} there. Rename "
                "them, so that both networks speak of the same states.",
                name=node.name,
                states=node.variable.listing(),
                states2=other.listing(),
            )
