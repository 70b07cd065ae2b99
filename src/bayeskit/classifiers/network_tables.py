"""The discrete conditionals of a model as full tables: which states, which parents, which probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.estimation.families import FamilyTries
from bayeskit.estimation.one_parent import OneParent
from bayeskit.estimation.table import TableConditional
from bayeskit.graphs.network import discrete
from bayeskit.schema import Label, Variable

Floats = NDArray[np.float64]

DISCRETE = (TableConditional, OneParent, FamilyTries)
Discrete = TableConditional | OneParent | FamilyTries

# Cells looked up at a time, so that what stands between stays small beside the table.
_BLOCK = 65_536


class Slots(NamedTuple):
    """A discrete attribute as a node, and the code that each of its states has in the model."""

    variable: Variable
    codes: tuple[int, ...]


def slots_of(conditional: Discrete, variables: Sequence[Variable]) -> dict[int, Slots]:
    """Return the states of each attribute by number, "(missing)" and "(unseen)" where they have a share.

    An attribute that has no state at all is left out: nothing can be said of it.
    """
    found = {}
    for j in members(conditional):
        codes = _codes(conditional, j)
        if codes:
            node = discrete(variables[j].name, _labels(variables[j], codes))
            # With its cut points a node of intervals can be told numbers.
            found[j] = Slots(replace(node, cuts=variables[j].cuts), codes)
    return found


def members(conditional: Discrete) -> list[int]:
    """Return the attributes that have a table, by number."""
    if isinstance(conditional, TableConditional):
        return list(range(len(conditional.offsets) - 1))
    if isinstance(conditional, OneParent):
        return list(range(len(conditional.parents)))
    return [int(j) for j in conditional.trie.child]


def parents_of(conditional: Discrete, j: int, slots: dict[int, Slots]) -> list[int]:
    """Return the parents of an attribute beside the class, in the model's order."""
    if isinstance(conditional, TableConditional):
        return []
    if isinstance(conditional, OneParent):
        return [int(i) for i in conditional.parents[j : j + 1] if i >= 0]
    f = _family(conditional, j)
    start, stop = conditional.trie.first_parent[f : f + 2]
    parents = [int(i) for i in conditional.trie.parents[start:stop]]
    # The model leaves out the parents from the first missing one on; one without states is always missing.
    absent = next((place for place, i in enumerate(parents) if i not in slots), len(parents))
    return parents[:absent]


def table_of(conditional: Discrete, j: int, parents: list[int], codes: Sequence[Sequence[int]]) -> Floats:
    """Return P(x_j | c, parents) of these codes of the parents and of the child: axes parents, child, class."""
    if isinstance(conditional, TableConditional):
        rows = int(conditional.offsets[j]) + np.array(codes[0])
        return np.asarray(np.exp(conditional.log_table[rows]))
    if isinstance(conditional, OneParent):
        width = int(conditional.cells.real[j]) + 2
        start, stop = (int(place) for place in conditional.starts[j : j + 2])
        block = conditional.table[start:stop].reshape(-1, width, conditional.table.shape[1])
        return np.exp(block[np.ix_(*codes)] if parents else block[0, list(codes[0])])
    shape = [len(some) for some in codes]
    out = np.empty((int(np.prod(shape)), conditional.n_classes))
    for start in range(0, len(out), _BLOCK):
        out[start : start + _BLOCK] = _looked_up(conditional, j, parents, codes, start, out)
    return out.reshape(*shape, -1)


def _looked_up(
    conditional: FamilyTries,
    j: int,
    parents: list[int],
    codes: Sequence[Sequence[int]],
    start: int,
    out: Floats,
) -> Floats:
    cells = np.arange(start, min(start + _BLOCK, len(out)))
    trie = conditional.trie
    # Parents that are not among those given stay missing.
    rows = np.tile(trie.sizes.astype(np.uint32), (len(cells), 1))
    places = np.unravel_index(cells, [len(some) for some in codes])
    for i, some, place in zip((*parents, j), codes, places):
        rows[:, i] = np.array(some, np.uint32)[place]
    levels = conditional.level_probabilities(
        _family(conditional, j), Chunk(len(cells), rows, np.empty((len(cells), 0)))
    )
    return np.asarray(levels[:, -1])


def _family(conditional: FamilyTries, j: int) -> int:
    return int(np.flatnonzero(conditional.trie.child == j)[0])


def _codes(conditional: Discrete, j: int) -> tuple[int, ...]:
    """Return the codes that share the probability of an attribute: its states, missing, unseen."""
    if isinstance(conditional, OneParent):
        return tuple(conditional.codes(j))
    if isinstance(conditional, TableConditional):
        start, stop = (int(place) for place in conditional.offsets[j : j + 2])
        size = stop - start - 2
        assert conditional.counted is not None
        is_state = bool(conditional.counted.spare[j])
        # What has no share is left out of the product: its logarithm is 0.
        is_open = bool((conditional.log_table[stop - 1] < 0.0).any())
    else:
        size, is_state = int(conditional.trie.sizes[j]), bool(conditional.trie.is_state[j])
        is_open = bool(conditional.rule.is_open[_family(conditional, j)])
    states = (*range(size), *[size] * is_state)
    return (*states, *[size + 1] * is_open) if states else ()


def _labels(variable: Variable, codes: tuple[int, ...]) -> list[Label]:
    """Return what the states are called; missing and unseen by names that no state has."""
    more: dict[int, Any] = {variable.size: "(missing)", variable.size + 1: "(unseen)"}
    labels = [variable.states[code] for code in codes if code < variable.size]
    for code in codes[len(labels) :]:
        label = more[code]
        while label in labels:
            label = f"({label})"
        labels.append(label)
    return labels
