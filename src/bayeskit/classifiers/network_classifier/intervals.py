"""P(c | x) of rows under many draws of a network's tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.cells import NodeCells, hidden_of
from bayeskit.classifiers.network_classifier.drawn_density import drawn_density_logs
from bayeskit.classifiers.network_classifier.draws import NetworkDraws
from bayeskit.classifiers.network_classifier.joint import log_joint
from bayeskit.errors import UsageError
from bayeskit.estimation.posterior_draws import Draws
from bayeskit.schema import Name

Floats = NDArray[np.float64]

# Joint states of missing nodes that are gone through, as in all other models.
MOST_STATES = 4096
# Doubles of one block of rows under all draws: what a second cache holds.
_BLOCK = 2**18


def posterior_draws(
    network: Any, cells: NodeCells, draws: Draws
) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Yield rows by their places, and P(c | x) of each under every draw: shape (rows, draws, K)."""
    drawn = NetworkDraws(network, draws)
    prior = log_joint(network, cells.only(()).take(np.zeros(1, np.intp)))[0]
    step = max(1, _BLOCK // (draws.n * cells.n_classes))
    for rows, known in cells.by_holes():
        families, hidden = around_class(cells, known)
        states = _states(cells, hidden)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            logs = _summed(drawn, cells.take(some), families, hidden, states, draws.n)
            best = logs.max(axis=1, keepdims=True)
            # A row that is impossible in every class is answered with the prior, as a prediction is.
            logs = np.where(np.isneginf(best), prior[:, None], logs)
            shares = np.exp(logs - logs.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            yield some, shares.transpose(0, 2, 1)


def around_class(cells: NodeCells, known: list[Name]) -> tuple[list[Name], list[Name]]:
    """Return the families that tell classes apart, and the missing nodes that they are summed over."""
    network, target = cells.network, cells.target
    unknown = set(hidden_of(network, target, known))
    near, families, grown = {target}, list[Name](), True
    while grown:
        families = [
            name
            for name in (target, *known, *sorted(unknown, key=network.dag.position.__getitem__))
            if near.intersection((name, *network[name].parents))
        ]
        wider = {target}.union(*(unknown.intersection((f, *network[f].parents)) for f in families))
        near, grown = wider, wider != near
    return families, [name for name in network.dag.nodes if name in near and name != target]


def _states(cells: NodeCells, hidden: list[Name]) -> list[tuple[int, ...]]:
    sizes = [n for n in cells.network.sizes_of(hidden) if n]  # a number has no states
    size = math.prod(sizes)
    if size > MOST_STATES:
        raise UsageError(
            f"The missing cells of a row have {size:,} joint states, and predict_interval goes through at most "
            f"{MOST_STATES:,}. Fill some in, or leave such rows out."
        )
    return list(product(*(range(n) for n in sizes)))


def _summed(
    drawn: NetworkDraws,
    cells: NodeCells,
    families: list[Name],
    hidden: list[Name],
    states: list[tuple[int, ...]],
    n: int,
) -> Floats:
    """Return log P(c, x) under every draw, but for what is the same in all classes: shape (n, K, draws)."""
    total = np.full((len(cells), cells.n_classes, n), -np.inf)
    network = cells.network
    places = [network.dag.position[name] for name in hidden if network[name].is_discrete]
    numbers = [name for name in families if not network[name].is_discrete]
    together = numbers if any(name in hidden for name in numbers) else []
    for codes in states:
        cells.codes[:, places] = codes
        logs = drawn_density_logs(drawn, cells, together, n) if together else np.zeros_like(total)
        for name in families:
            if name not in together:
                logs += drawn.log_draws(cells, name)
        total = logs if len(states) == 1 else np.logaddexp(total, logs)
    return total
