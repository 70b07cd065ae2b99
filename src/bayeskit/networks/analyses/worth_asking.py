"""What observing each node of a network would tell about another."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.networks.analyses.asking import read_mapping, refuse_observed
from bayeskit.networks.door import Door, Given
from bayeskit.report.information_value import Questions, ranked
from bayeskit.schema import Name


def worth_asking(
    network: Any, door: Door, target: Name, evidence: Given, candidates: Any, costs: Any, loss: Any, lang: str
) -> Questions:
    """Rank the candidates.

    One pass over the network for each state of the target gives P(x | target, e) of every node x at once.
    """
    place = door.discrete_target(target)
    known = read_mapping(evidence)
    refuse_observed(target, known)
    states = door.variables[place].states
    now = network.posteriors(evidence=evidence)
    belief = np.asarray(now[target])
    possible = np.flatnonzero(belief > 0).tolist()
    given = {k: network.posteriors(evidence={**known, target: states[k]}) for k in possible}
    tables, left_out = [], []
    for name in _candidates(door, target, known, now, candidates):
        variable = door.variables[door.reader.place(name)]
        if variable.kind != "categorical":
            left_out.append(name)
            continue
        joint = np.zeros((variable.size, len(belief)))
        for k in possible:
            joint[:, k] = belief[k] * given[k][name]
        tables.append((name, joint / joint.sum(), variable.states))
    names = [v.name for v in door.variables]
    return ranked(target, states, belief.tolist(), tables, costs, loss, left_out, lang, names)


def _candidates(
    door: Door, target: Name, known: dict[Name, Any], now: dict[Name, Any], candidates: Any
) -> list[Name]:
    """Return what may be asked for: what is not known yet."""
    settled = {
        target,
        *(name for name in known if np.ndim(now[name]) == 0 or np.count_nonzero(now[name]) == 1),
    }
    if candidates is None:
        return [v.name for v in door.variables if v.name not in settled]
    names = [candidates] if isinstance(candidates, str) or candidates in door.reader else list(candidates)
    for name in names:
        door.reader.place(name, "candidates names it")
        if name in settled:
            raise SettingError(
                f"{name!r} is known already or is the target itself. Take it out of candidates."
            )
        if door.variables[door.reader.place(name)].kind != "categorical":
            raise SettingError(
                f"{name!r} is continuous: it has no states to go through. Take it out of candidates."
            )
    return names
