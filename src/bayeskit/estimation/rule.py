"""Priors → the rule by which the counts of families become probabilities."""

from __future__ import annotations

import math

import numpy as np

from bayeskit.estimation.back_off import choose_constants
from bayeskit.estimation.kernels.families import BACK_OFF, PLAIN, WITTEN_BELL, Rule
from bayeskit.estimation.kernels.trie import Trie
from bayeskit.priors import BackOff, Smoothing, TablePrior, WittenBell, one_more_cell
from bayeskit.schema import Schema
from bayeskit.typing import Floats


def make_rule(
    trie: Trie,
    schema: Schema,
    smoothing: Smoothing,
    *,
    margin: Floats,
    constants: Floats | None = None,
    unseen: bool = False,
) -> Rule:
    """Say how each family is smoothed; ``unseen`` tells whether a state never seen counts as one more.

    The imaginary counts of level l are those of K·r₁·…·r_l parent configurations. One more state, be it
    missing or unseen, has the mean of the imaginary counts of the others.
    """
    priors = [smoothing.of(schema.categorical[j]) for j in trie.child]
    modes = [
        BACK_OFF if isinstance(p, BackOff) else WITTEN_BELL if isinstance(p, WittenBell) else PLAIN
        for p in priors
    ]
    base = np.array([1.0 / max(n_states(trie, j) + unseen, 1) for j in trie.child])
    masses = [
        _masses(trie, f, level, prior, schema, unseen)
        for f, prior in enumerate(priors)
        for level in range(int(trie.first_parent[f + 1] - trie.first_parent[f]) + 1)
    ]
    chosen = [f for f, p in enumerate(priors) if isinstance(p, BackOff) and p.constants is None]
    if chosen and constants is None:
        constants = choose_constants(trie, base, margin, chosen)
    totals = np.array([math.fsum(m) for m in masses])
    first = trie.first_parent[:-1] + np.arange(len(priors))
    return Rule(
        mode=np.array(modes, np.int64),
        base=base,
        constants=np.concatenate(
            [np.empty(0), *(_levels_of(trie, f, p, constants) for f, p in enumerate(priors))]
        ),
        mass_start=np.cumsum([0, *map(len, masses)], dtype=np.int64)[:-1],
        mass_total=totals,
        mass=np.concatenate([np.empty(0), *masses]),
        is_open=np.array(
            [unseen and (mode != PLAIN or masses[g][-1] > 0.0) for mode, g in zip(modes, first)], np.bool_
        ),
    )


def n_states(trie: Trie, j: int) -> int:
    """Return the number of states of an attribute, with missing where it is one."""
    return int(trie.sizes[j]) + bool(trie.is_state[j])


def _masses(trie: Trie, f: int, level: int, prior: TablePrior, schema: Schema, unseen: bool) -> Floats:
    """Return the imaginary counts of the child's states, of missing and of unseen."""
    child, first = int(trie.child[f]), int(trie.first_parent[f])
    if isinstance(prior, (BackOff, WittenBell)):
        return np.zeros(int(trie.sizes[child]) + 2)
    parents = trie.parents[first : first + level]
    place = schema.categorical[child], schema.n_classes * math.prod(n_states(trie, j) for j in parents)
    cells, more = prior.cells(*place), one_more_cell(prior, *place)
    return np.asarray([*cells, more * bool(trie.is_state[child]), more * unseen])


def _levels_of(trie: Trie, f: int, prior: TablePrior, constants: Floats | None) -> Floats:
    deepest = int(trie.first_parent[f + 1] - trie.first_parent[f])
    if not isinstance(prior, BackOff):
        return np.zeros(deepest + 1)
    return BackOff(constants).levels(deepest) if prior.constants is None else prior.levels(deepest)
