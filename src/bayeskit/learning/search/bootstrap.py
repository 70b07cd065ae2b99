"""How often each arc is learned again from rows drawn anew."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.search.search_network import Settings, search_network
from bayeskit.structure.arcs import Arcs
from bayeskit.structure.questions import bits, members
from bayeskit.structure.search.equivalence import Partial, complete
from bayeskit.typing import Floats


def arc_frequencies(
    columns: NodeColumns,
    arcs: Arcs,
    settings: Settings,
    n_samples: int,
    n_jobs: int = 1,
    told: Callable[[int], None] | None = None,
) -> Floats:
    """Return for each (parent, child) the share of samples in which the class of the learned graph has the arc.

    An edge without direction counts half for each. The rows of sample k are drawn by a generator of its own,
    so the answer does not depend on how many processes there are.
    """
    n = len(columns.variables)
    seeds = np.random.SeedSequence(settings.seed).spawn(n_samples)
    learned = partial(_learned, columns, arcs, settings)
    total = np.zeros((n, n))
    if n_jobs == 1:
        for k, seed in enumerate(seeds):
            total += learned(seed)
            if told is not None:
                told(k + 1)
        return total / n_samples
    # Processes, because a search is Python; new ones, because a fork of a process with threads may hang.
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        for k, found in enumerate(pool.map(learned, seeds)):
            total += found
            if told is not None:
                told(k + 1)
    return total / n_samples


def _learned(columns: NodeColumns, arcs: Arcs, settings: Settings, seed: np.random.SeedSequence) -> Floats:
    """Return the arcs of one sample: 1, or ½ each way where there is no direction."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(columns.complete)
    drawn = columns.take(np.sort(rng.choice(rows, len(rows))))
    found = search_network(drawn, arcs, replace(settings, seed=int(rng.integers(2**31))))
    parents = tuple(bits(list(mine)) for mine in found.parents)
    # With limits a graph is told from those that state the same independences.
    graph = complete(parents) if arcs.is_free else Partial(parents, (0,) * len(parents))
    out = np.zeros((arcs.n, arcs.n))
    for child in range(arcs.n):
        for parent in members(graph.parents[child]):
            out[parent, child] = 1.0
        for other in members(graph.near[child]):
            out[other, child] = 0.5
    return out
