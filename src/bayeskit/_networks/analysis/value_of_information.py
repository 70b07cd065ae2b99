"""Ranks the nodes of a network by the value of observing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._networks.analysis.network_information import read_mapping, refuse_observed
from bayeskit._networks.discrete_adapter import QueryAdapter
from bayeskit._networks.evidence import Given
from bayeskit._report.value_of_information import Questions, ranked
from bayeskit._schema import Name
from bayeskit.errors import SettingError, TooLarge
from bayeskit.typing import NamesLike

if TYPE_CHECKING:
    from bayeskit._decision.loss import LossLike
    from bayeskit._networks.queries import Queries


def rank_observations(
    network: Queries,
    adapter: QueryAdapter,
    target: Name,
    evidence: Given,
    candidates: NamesLike | None,
    costs: Mapping[Any, float] | None,
    loss: LossLike,
    lang: str,
) -> Questions:
    """Rank the candidates by the value of observing them.

    One pass over the network for each state of the target gives P(x | target, e) of every node x at once.
    """
    place = adapter.discrete_target(target)
    known = read_mapping(evidence)
    refuse_observed(target, known)
    states = adapter.variables[place].states
    chosen = None if candidates is None else _named(adapter, candidates)
    now = _answers(network, evidence, target, chosen)
    belief = np.asarray(now[target])
    possible = np.flatnonzero(belief > 0).tolist()
    given = {k: _answers(network, {**known, target: states[k]}, target, chosen) for k in possible}
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


def _answers(network: Queries, evidence: Given, target: Name, chosen: list[Name] | None) -> dict[Name, Any]:
    """Return P(x | e) of every node in one pass or, if that takes too much memory, of the named nodes."""
    try:
        found: dict[Name, Any] = network.posteriors(evidence=evidence)
    except TooLarge as error:
        if chosen is None:
            raise TooLarge(
                error.bytes_needed,
                error.max_memory,
                error.largest,
                error.cells,
                way_out="Name the candidates= that matter, or observe some of these.",
            ) from None
        found = {name: network.query(name, evidence=evidence).values for name in [target, *chosen]}
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
                "{name!r} is known already or is the target itself. Take it out of candidates.", name=name
            )
    return chosen
