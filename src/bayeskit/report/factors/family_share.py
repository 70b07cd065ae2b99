"""P(x | c, u_1 … u_k) as arithmetic: counts, imaginary counts, back-off."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.estimation.family_tries import FamilyTries
from bayeskit.estimation.kernels.trie_scores import PLAIN, WITTEN_BELL
from bayeskit.report.factors.dependence import Floats
from bayeskit.report.fractions import back_off, fraction, number
from bayeskit.report.shown import Shown
from bayeskit.statistics.families import Families

# n(x, context, c), N(context, c) and how many states were seen there, each of shape (K,).
Counts = tuple[Floats, Floats, Floats]


def family_shares(
    conditional: FamilyTries, counted: Families, row: Shown, f: int, used: int, levels: Floats
) -> list[str]:
    """Write the probability of family f with its first ``used`` parents in each class.

    ``levels`` (k + 1, K) are the probabilities with none, one … of the parents.
    """
    trie, rule = conditional.trie, conditional.rule
    first, x = int(trie.first_parent[f]) + f, row.code(int(trie.child[f]))
    found = _counted(conditional, counted, row, f, used)
    n, total, _ = found[-1]
    if rule.mode[f] == PLAIN:
        g = first + used
        mass, whole = float(rule.mass[rule.mass_start[g] + x]), float(rule.mass_total[g])
        size = int(trie.sizes[trie.child[f]]) + bool(trie.is_state[trie.child[f]])
        nothing = f"1/{size}" if x < size else "1"
        return [
            fraction(a, mass, b, whole) if b + whole > 0.0 else nothing
            for a, b in zip(n.tolist(), total.tolist())
        ]
    base = f"1/{number(1.0 / float(rule.base[f]))}"
    return [_backed_off(found, c, rule, f, first, levels, base) for c in range(conditional.n_classes)]


def _backed_off(found: list[Counts], c: int, rule: Any, f: int, first: int, levels: Floats, base: str) -> str:
    """Write the last level that has rows of class c; it leans on the one before."""
    heights = [level for level, (_, total, _) in enumerate(found) if total[c] > 0.0]
    if not heights:
        return base
    level = heights[-1]
    n, total, states = (float(a[c]) for a in found[level])
    constant = states if rule.mode[f] == WITTEN_BELL else float(rule.constants[first + level])
    return back_off(n, constant, float(levels[heights[-2], c]) if len(heights) > 1 else base, total)


def _counted(conditional: FamilyTries, counted: Families, row: Shown, f: int, used: int) -> list[Counts]:
    """Return what was counted with none, one … of the parents: the cells that agree with the row so far."""
    trie, k = conditional.trie, conditional.n_classes
    child, first = int(trie.child[f]), int(trie.first_parent[f])
    radix, x = int(trie.sizes[child]) + 1, row.code(child)
    keys, counts = counted.cells(f)
    behind = math.prod(int(trie.sizes[i]) + 1 for i in trie.parents[first : int(trie.first_parent[f + 1])])
    found = list[Counts]()
    for level in range(used + 1):
        table = np.bincount(keys % (radix * k), counts, minlength=radix * k).reshape(radix, k)
        if not trie.is_state[child]:
            table[-1] = 0.0  # rows without the child
        found.append((table[x] if x < radix else np.zeros(k), table.sum(axis=0), (table > 0.0).sum(axis=0)))
        if level < used:
            # A key is the parents' codes, the first one highest, then the child's and the class.
            i = int(trie.parents[first + level])
            behind //= int(trie.sizes[i]) + 1
            same = keys // (radix * k * behind) % (int(trie.sizes[i]) + 1) == row.code(i)
            keys, counts = keys[same], counts[same]
    return found
