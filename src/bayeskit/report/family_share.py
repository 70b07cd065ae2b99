"""P(x | c, u_1 … u_k) as arithmetic: counts, imaginary counts, back-off."""

from __future__ import annotations

import numpy as np

from bayeskit.estimation.families import FamilyTries
from bayeskit.estimation.kernels.families import PLAIN, WITTEN_BELL
from bayeskit.report.dependence import Floats
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
    written = [f"1/{number(1.0 / float(rule.base[f]))}"] * conditional.n_classes
    below: list[float | str] = list(written)
    for level, (n, total, states) in enumerate(found):
        for c in np.flatnonzero(total > 0.0).tolist():
            constant = float(states[c] if rule.mode[f] == WITTEN_BELL else rule.constants[first + level])
            written[c] = back_off(float(n[c]), constant, below[c], float(total[c]))
            below[c] = float(levels[level, c])
    return written


def _counted(conditional: FamilyTries, counted: Families, row: Shown, f: int, used: int) -> list[Counts]:
    """Return what was counted with none, one … of the parents."""
    trie, k = conditional.trie, conditional.n_classes
    child, first = int(trie.child[f]), int(trie.first_parent[f])
    radix, x, context, found = int(trie.sizes[child]) + 1, row.code(child), 0, list[Counts]()
    for level, (keys, counts) in enumerate(counted.levels(f, trie.is_state)[: used + 1]):
        n, total, states = np.zeros((3, k))
        here = keys // (radix * k) == context
        classes, weights = keys[here] % k, counts[here]
        np.add.at(total, classes, weights)
        np.add.at(states, classes, 1.0)
        of_x = keys[here] // k % radix == x
        n[classes[of_x]] = weights[of_x]
        found.append((n, total, states))
        if level < used:
            i = int(trie.parents[first + level])
            # A state never seen: no context has it, nor any with more parents.
            seen = context >= 0 and row.code(i) <= int(trie.sizes[i])
            context = context * (int(trie.sizes[i]) + 1) + row.code(i) if seen else -1
    return found
