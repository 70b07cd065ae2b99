"""How much what was observed speaks for each configuration of some discrete nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.inference.gaussian.log_tables import LogTable
from bayeskit.inference.gaussian.regression import Floats, Scope, spread

# exp(−700) is still an exact number; a cell further below the largest of its table would not be one.
LOWEST = -700.0


@dataclass(frozen=True, eq=False)
class Weight:
    """The log density of an observation for each configuration of the scope.

    ``hits`` counts the values that could not have been others (variance zero): there the number is the log of
    a probability, not of a density, and outweighs any density.
    """

    scope: Scope
    log: Floats
    hits: Floats


@dataclass(frozen=True, eq=False)
class Scaled:
    """Weights with a largest cell of one each (log 0), and what was taken out of them.

    ``dropped``: some cell is too small to be told from zero. ``outweighed``: a density gave way to a probability.
    """

    tables: list[LogTable]
    taken: float
    dropped: bool
    outweighed: bool


def merged(weights: Sequence[Weight]) -> list[Weight]:
    """Add each weight to one over all of its nodes, where there is one: fewer tables, and none at odds with another
    over the same nodes."""
    homes: dict[Scope, Weight] = {}
    for weight in sorted(weights, key=lambda w: -len(w.scope)):
        nodes = set(weight.scope)
        home = weight.scope
        if home not in homes:
            home = next((s for s in homes if nodes.issubset(s)), weight.scope)
        if home in homes:
            known = homes[home]
            log, hits = (spread(a, weight.scope, home) for a in (weight.log, weight.hits))
            weight = Weight(home, known.log + log, known.hits + hits)
        homes[home] = weight
    return list(homes.values())


def scaled(weights: Sequence[Weight], outweigh: bool) -> Scaled:
    """Divide each weight by its largest cell; with ``outweigh``, probabilities first strike out mere densities."""
    tables, taken, dropped, outweighed = [], 0.0, False, False
    for weight in weights:
        log = weight.log
        if outweigh:
            possible = log > -np.inf
            most = np.max(weight.hits, where=possible, initial=0.0)
            less = possible & (weight.hits < most)
            outweighed = outweighed or bool(less.any())
            log = np.where(less, -np.inf, log)
        top = float(log.max())
        taken += top
        if top > -math.inf:
            log = log - top
            dropped = dropped or bool(((log < LOWEST) & (log > -np.inf)).any())
        tables.append(LogTable(weight.scope, log))
    return Scaled(tables, taken, dropped, outweighed)
