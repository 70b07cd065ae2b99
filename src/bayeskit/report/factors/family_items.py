"""Attributes with any number of parents beside the class: P(x | c, u_1 … u_k), with the counts behind it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.estimation.family_tries import FamilyTries
from bayeskit.estimation.kernels.marginal import MOST_CONFIGURATIONS
from bayeskit.estimation.kernels.trie_scores import PLAIN
from bayeskit.report.explanation import Attribute, Factor, LeftOut
from bayeskit.report.factors.dependence import Floats, Item
from bayeskit.report.factors.family_share import family_shares
from bayeskit.report.shown import Shown
from bayeskit.statistics.families import Families


def family_items(conditional: FamilyTries, counted: Families, row: Shown) -> dict[Any, Item]:
    """Return a factor for each attribute whose parents are known, and one for all that were summed over together.

    Where the missing parents have too many joint states for a sum, a family uses the parents before its first missing
    one, and names only these.
    """
    trie = conditional.trie
    absent = {j for j in range(len(trie.sizes)) if row.is_unknown(j) and not trie.is_state[j]}
    families = {int(j): f for f, j in enumerate(trie.child)}
    summed = _summed(conditional, absent, families)
    items: dict[Any, Item] = {}
    for j in absent & families.keys():
        items[row.schema.categorical[j].name] = row.left_out(j, "summed" if j in summed else None)
    for j, variable in enumerate(row.schema.categorical):
        if j not in families:
            items[variable.name] = LeftOut(variable.name, row.value(j), "unused")
    apart, together = np.zeros(conditional.n_classes), list[int]()
    for j, f in families.items():
        if j in absent:
            continue
        if summed.intersection(_parents(conditional, f)):
            together.append(j)
            continue
        found = _item(conditional, counted, row, f, absent)
        if isinstance(found, Attribute):
            apart += [factor.log for factor in found.factors]
        items[row.schema.categorical[j].name] = found
    if together:
        total = np.zeros((1, conditional.n_classes))
        conditional.add_log_prob(row.chunk, total)
        logs = np.where(apart > -np.inf, total[0] - np.where(apart > -np.inf, apart, 0.0), 0.0)
        context = {i for j in (*together, *summed) for i in _parents(conditional, families[j])}
        group = _together(row, sorted(together), summed, sorted(context - summed - set(together)), logs)
        items[group.name] = group
    return items


def _parents(conditional: FamilyTries, f: int) -> list[int]:
    start, stop = conditional.trie.first_parent[f : f + 2]
    return [int(i) for i in conditional.trie.parents[start:stop]]


def _summed(conditional: FamilyTries, absent: set[int], families: dict[int, int]) -> set[int]:
    """The missing attributes with a present descendant; none where their joint states are too many."""
    needed: set[int] = set()
    grown = True
    while grown:
        children = [f for j, f in families.items() if j not in absent or j in needed]
        found = absent.intersection(i for f in children for i in _parents(conditional, f))
        grown, needed = found > needed, found
    if not needed <= families.keys():
        return set()  # the distribution of one of them is not known
    sizes = [int(conditional.trie.sizes[j]) + bool(conditional.rule.is_open[families[j]]) for j in needed]
    return needed if 0 < math.prod(sizes) <= MOST_CONFIGURATIONS else set()


def _item(conditional: FamilyTries, counted: Families, row: Shown, f: int, absent: set[int]) -> Item:
    """The factor of one family, given the parents before the first missing one."""
    j, parents = int(conditional.trie.child[f]), _parents(conditional, f)
    used = next((at for at, i in enumerate(parents) if i in absent), len(parents))
    levels = conditional.level_probabilities(f, row.chunk)[0]
    if row.code(j) > row.schema.categorical[j].size and not conditional.rule.is_open[f]:
        return row.left_out(j)  # a value never learned, about which nothing is said
    with np.errstate(divide="ignore"):
        logs = np.log(levels[used])
    workings = family_shares(conditional, counted, row, f, used, levels)
    return Attribute(
        row.schema.categorical[j].name,
        row.value(j),
        "table" if conditional.rule.mode[f] == PLAIN else "back-off",
        tuple(map(Factor, logs.tolist(), workings)),
        row.is_unknown(j),
        row.given(parents[:used]),
    )


def _together(row: Shown, places: list[int], summed: set[int], context: list[int], logs: Floats) -> Attribute:
    variables = row.schema.categorical
    names, values = tuple(variables[j].name for j in places), tuple(row.value(j) for j in places)
    alone = len(places) == 1
    return Attribute(
        names[0] if alone else names,
        values[0] if alone else values,
        "sum",
        tuple(map(Factor, logs.tolist())),
        given=row.given(context),
        summed=tuple(variables[j].name for j in sorted(summed)),
    )
