"""Entropy, mutual information and divergence of networks, the value of observing a node, and what these ask of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bayeskit._graphs.network import Network, Node
from bayeskit._networks.discrete_adapter import QueryAdapter
from bayeskit._networks.evidence import Given, Not
from bayeskit._networks.node_distributions import table_of
from bayeskit._schema import Name
from bayeskit.errors import Incompatible, SettingError, TooLarge
from bayeskit.typing import Floats, NamesLike

if TYPE_CHECKING:
    from bayeskit._decision.loss import LossLike
    from bayeskit._networks.queries import Queries
    from bayeskit._report.value_of_information import Questions


class QueryableNetwork(Protocol):
    """A network that can be queried."""

    _network: Network

    @classmethod
    def _of(cls, network: Network) -> Any: ...

    def query(
        self,
        targets: NamesLike,
        evidence: Given = None,
        *,
        soft: Given = None,
        max_memory: float | None = None,
    ) -> Any: ...

    def posteriors(self, evidence: Given = None) -> dict[Name, Any]: ...

    def log_probability(self, evidence: Given = None, *, soft: Given = None) -> float: ...

    def _family_margins(self, evidence: Given, *, soft: Given = None) -> tuple[list[Any], float]: ...


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
            "{name!r} is in the evidence, so it is known already. Leave it out of one.", name=name
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
                "{name!r} has the states {states} here and {states2} there. Rename them, so that both networks "
                "have the same states.",
                name=node.name,
                states=node.variable.listing(),
                states2=other.listing(),
            )


def rank_observations(
    network: Queries,
    adapter: QueryAdapter,
    target: Name,
    evidence: Given,
    candidates: NamesLike | None,
    costs: Mapping[Any, float] | None,
    loss: LossLike,
    lang: str,
    soft: Given = None,
) -> Questions:
    """Rank the candidates by the value of observing them.

    One pass over the network for each state of the target gives P(x | target, e) of every node x at once.
    """
    from bayeskit._report.value_of_information import ranked

    place = adapter.discrete_target(target)
    known = read_mapping(evidence)
    refuse_observed(target, known)
    states = adapter.variables[place].states
    chosen = None if candidates is None else _named(adapter, candidates)
    now = _answers(network, evidence, soft, target, chosen)
    belief = np.asarray(now[target])
    possible = np.flatnonzero(belief > 0).tolist()
    # Given a state of the target, its own likelihoods say nothing more.
    others = {name: likelihoods for name, likelihoods in (soft or {}).items() if name != target}
    given = {k: _answers(network, {**known, target: states[k]}, others, target, chosen) for k in possible}
    tables, left_out = [], []
    for name in _candidates(adapter, target, known, now, chosen):
        variable = adapter.variables[adapter.reader.place(name)]
        if variable.kind != "categorical":
            left_out.append(name)
            continue
        joint = np.zeros((variable.size, len(belief)))
        for k in possible:
            joint[:, k] = belief[k] * given[k][name]
        tables.append((name, joint / joint.sum(), variable.states))
    names = [v.name for v in adapter.variables]
    return ranked(target, states, belief.tolist(), tables, costs, loss, left_out, lang, names)


def _answers(
    network: Queries, evidence: Given, soft: Given, target: Name, chosen: list[Name] | None
) -> dict[Name, Any]:
    """Return P(x | e) of every node in one pass or, if that takes too much memory, of the named nodes."""
    try:
        found: dict[Name, Any] = network.posteriors(evidence=evidence, soft=soft)
    except TooLarge as error:
        if chosen is None:
            raise TooLarge(
                error.bytes_needed,
                error.max_memory,
                error.largest,
                error.cells,
                way_out="Name the candidates= that matter, or observe some of these.",
            ) from None
        found = {name: network.query(name, evidence=evidence, soft=soft).values for name in [target, *chosen]}
    return found


def _named(adapter: QueryAdapter, candidates: Any) -> list[Name]:
    """Return the named candidates, which must have states."""
    names = [candidates] if isinstance(candidates, str) or candidates in adapter.reader else list(candidates)
    for name in names:
        if adapter.variables[adapter.reader.place(name, "candidates names it")].kind != "categorical":
            raise SettingError(
                "{name!r} is continuous: it has no states to go through. Take it out of candidates.",
                name=name,
            )
    return names


def _candidates(
    adapter: QueryAdapter,
    target: Name,
    known: dict[Name, Any],
    now: dict[Name, Any],
    chosen: list[Name] | None,
) -> list[Name]:
    """Return the nodes that may be observed next: those not known yet."""
    settled = {
        target,
        *(
            name
            for name in known
            if name in now and (np.ndim(now[name]) == 0 or np.count_nonzero(now[name]) == 1)
        ),
    }
    if chosen is None:
        return [v.name for v in adapter.variables if v.name not in settled]
    for name in chosen:
        if name in settled:
            raise SettingError(
                "{name!r} is already observed or is the target itself. Remove it from candidates.", name=name
            )
    return chosen
