"""Explanations of attributes with one parent besides the class, and the arithmetic of their cells.

P(x_j | c, x_i) and P(x | c, u_1 … u_k) are written with counts, imaginary counts and back-off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayeskit._conditionals.cell_gaussian import ChildGaussians
from bayeskit._conditionals.family_tries import FamilyTries
from bayeskit._conditionals.kernels.trie_scores import PLAIN, WITTEN_BELL
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import BACK_OFF, IMAGINARY, PairCells
from bayeskit._report.explanation import Attribute, OmittedAttribute, PageFactor
from bayeskit._report.fractions import back_off, centre, fraction, fractions, number, short
from bayeskit._report.row import CodedRow
from bayeskit._statistics.families import Families
from bayeskit.typing import Floats


def shares(real: Floats, imaginary: Floats, total: Floats, prior_total: float, states: int) -> list[str]:
    """Write each (n + a)/(N + A). Without rows and without a prior, all states are equally probable.

    Examples
    --------
    >>> shares(np.array([3.0]), np.array([1.0]), np.array([8.0]), 2.0, 2)
    ['(3+1)/(8+2)']
    """
    return [
        fraction(n, a, whole, prior_total) if whole + prior_total > 0 else fraction(1.0, 0.0, states, 0.0)
        for n, a, whole in zip(real.tolist(), imaginary.tolist(), total.tolist(), strict=True)
    ]


def with_workings(logs: Floats, workings: list[str]) -> tuple[PageFactor, ...]:
    """Return a factor for each class."""
    return tuple(PageFactor(float(log), working) for log, working in zip(logs, workings, strict=True))


Share = tuple[float, str]


def pair_shares(cells: PairCells, j: int, x: int, i: int, u: int) -> list[Share]:
    """Return P(x_j = x | c, x_i = u) of each class, or P(x_j = x | c) with ``i`` below 0, and its working.

    The same steps as the kernel that fills the tables, one cell at a time.
    """
    real, start = int(cells.real[j]), int(cells.offsets[j])
    novel, here = x > real, start + min(x, real)
    nothing = np.zeros(cells.counts.shape[2])
    n0, total0 = nothing if novel else cells.counts[here, here], cells.first[j]
    n1, total1, above = nothing, nothing, -1
    if i >= 0 and u <= int(cells.real[i]):
        above = int(cells.offsets[i]) + u
        spare = 0.0 if int(cells.sizes[j]) > real else cells.counts[above, start + real]
        total1 = np.maximum(cells.counts[above, above] - spare, 0.0)
        n1 = nothing if novel else cells.counts[above, here]
    if cells.mode[j] == IMAGINARY:
        scale = float(cells.scale[i, j]) if i >= 0 else 1.0
        mass = scale * float(cells.extra[j] if novel else cells.mass[here])
        if novel and not cells.extra[j]:
            return [(1.0, "1")] * len(nothing)
        n, total = (n1, total1) if i >= 0 else (n0, total0)
        return _plain(n.tolist(), total.tolist(), mass, scale * float(cells.total_mass[j]), _even(cells, j))
    # A level that no attribute uses may have no constant.
    c0, c1 = (np.full(len(nothing), constant) for constant in [*cells.constants, 1.0, 1.0][:2])
    if cells.mode[j] != BACK_OFF:
        c0 = _distinct(cells, j, -1)
        c1 = np.where(total1 > 0.0, _distinct(cells, j, above), 0.0)
    found = [
        _leaning(_even(cells, j), *level)
        for level in zip(*(a.tolist() for a in (n0, total0, c0)), strict=True)
    ]
    if i < 0:
        return found
    levels = zip(*(a.tolist() for a in (n1, total1, c1)), strict=True)
    return [
        _leaning((share[0], share[0]), *level) if level[1] + level[2] > 0.0 else share
        for share, level in zip(found, levels, strict=True)
    ]


class LogShares:
    """The results of ``pair_shares`` for attributes (j, x) under any parent: logarithms and workings.

    Known values with imaginary counts are looked up all at once, because there may be thousands.
    """

    def __init__(self, cells: PairCells, attributes: Sequence[tuple[int, int]]) -> None:
        self.cells, self.attributes = cells, attributes
        js, codes = np.array(attributes, dtype=np.intp).reshape(-1, 2).T
        learned = (cells.mode[js] == IMAGINARY) & (codes <= cells.real[js])
        self._js = js[learned]
        start = cells.offsets.astype(np.intp)[self._js]
        self._here = start + codes[learned]
        self._spare = start + cells.real[self._js].astype(np.intp)
        # Rows without x_j are not part of the total, unless missing is a state.
        self._is_state = (cells.sizes > cells.real)[self._js, None]

    def given(self, i: int, u: int) -> Iterator[tuple[int, list[float], list[str]]]:
        """Yield (j, logarithms, workings) of every attribute but i, given x_i = u."""
        at_once = self._counted(i, u) if u <= int(self.cells.real[i]) else {}
        for j, x in self.attributes:
            if j == i:
                continue
            if j in at_once:
                logs, n, total, mass, whole = at_once[j]
                yield j, logs, fractions(n, mass, total, whole)
            else:
                found = pair_shares(self.cells, j, x, i, u)
                logs = [math.log(p) if p > 0.0 else -math.inf for p, _ in found]
                yield j, logs, [text for _, text in found]

    def _counted(self, i: int, u: int) -> dict[int, Any]:
        """Return log((n + a)/(N + A)), n and N of each class, a and A, of learned values with imaginary counts."""
        cells, js = self.cells, self._js
        above = int(cells.offsets[i]) + u
        rows = cells.counts[above]
        spare = np.where(self._is_state, 0.0, rows[self._spare])
        n, total = rows[self._here], np.maximum(rows[above] - spare, 0.0)
        scale = cells.scale[i, js]
        mass, whole = scale * cells.mass[self._here], scale * cells.total_mass[js]
        shown = (total.min(axis=1, initial=np.inf) + whole > 0.0).tolist()
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log((n + mass[:, None]) / (total + whole[:, None]))
        parts = zip(*(part.tolist() for part in (logs, n, total, mass, whole)), strict=True)
        return {j: numbers for j, numbers, there in zip(js.tolist(), parts, shown, strict=True) if there}


def pair_workings(cells: PairCells, j: int, x: int, i: int, u: int) -> list[str]:
    """Return the arithmetic of the probability of each class, as text."""
    return [written for _, written in pair_shares(cells, j, x, i, u)]


def _even(cells: PairCells, j: int) -> Share:
    alike = float(cells.alike[j])
    return 1.0 / alike, f"1/{number(alike)}"


def _plain(n: list[float], total: list[float], mass: float, whole: float, even: Share) -> list[Share]:
    return [
        ((a + mass) / (b + whole), fraction(a, mass, b, whole)) if b + whole > 0.0 else even
        for a, b in zip(n, total, strict=True)
    ]


def _leaning(below: tuple[float, float | str], n: float, total: float, constant: float) -> Share:
    """Back off to the estimate with one parent fewer, given as a number and as text."""
    p, written = below
    if total + constant <= 0.0:
        return p, str(written)
    return (n + constant * p) / (total + constant), back_off(n, constant, written, total)


def _distinct(cells: PairCells, j: int, above: int) -> Floats:
    """Count the states of attribute j that are seen with each class, and with a parent's state unless below 0."""
    states = np.arange(int(cells.offsets[j]), int(cells.offsets[j]) + int(cells.sizes[j]))
    seen = cells.counts[states if above < 0 else above, states]
    return np.asarray((seen > 0.0).sum(axis=0), dtype=np.float64)


# n(x, context, c), N(context, c) and the number of states that occur there, each of shape (K,).
Counts = tuple[Floats, Floats, Floats]


def family_shares(
    conditional: FamilyTries, counted: Families, row: CodedRow, f: int, used: int, levels: Floats
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
            for a, b in zip(n.tolist(), total.tolist(), strict=True)
        ]
    base = f"1/{number(1.0 / float(rule.base[f]))}"
    return [_backed_off(found, c, rule, f, first, levels, base) for c in range(conditional.n_classes)]


def _backed_off(found: list[Counts], c: int, rule: Any, f: int, first: int, levels: Floats, base: str) -> str:
    """Write the last level with rows of class c, which backs off to the level before."""
    heights = [level for level, (_, total, _) in enumerate(found) if total[c] > 0.0]
    if not heights:
        return base
    level = heights[-1]
    n, total, states = (float(a[c]) for a in found[level])
    constant = states if rule.mode[f] == WITTEN_BELL else float(rule.constants[first + level])
    return back_off(n, constant, float(levels[heights[-2], c]) if len(heights) > 1 else base, total)


def _counted(conditional: FamilyTries, counted: Families, row: CodedRow, f: int, used: int) -> list[Counts]:
    """Return the counts with 0, 1, … of the parents, in the cells that agree with the row."""
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


Item = Attribute | OmittedAttribute


def dependent_items(conditional: OneParent, row: CodedRow) -> dict[Any, Item]:
    """Return a factor for each attribute whose parent is known, and one for each group around unknown ones.

    A missing attribute is summed over, so its children share one factor: a sum over its states.
    """
    parents = conditional.parents.tolist()
    absent = {j for j in range(len(parents)) if _is_hole(conditional, row, j)}
    items: dict[Any, Item] = {}
    for j in range(len(parents)):
        name = row.schema.categorical[j].name
        top = j in absent and parents[j] not in absent
        if j not in absent and parents[j] not in absent:
            logs = _block(conditional, j)[_height(row, parents[j]), row.code(j)]
            if row.code(j) > row.schema.categorical[j].size and not logs.any():
                items[name] = row.left_out(j)  # an unseen value has no factor
            else:
                items[name] = _single(conditional, row, j, logs)
        elif top:
            items |= _group(conditional, row, j, absent)
    explained = {
        part for name in items for part in (name if isinstance(name, tuple) else (name,))
    } | items.keys()
    for j, variable in enumerate(row.schema.categorical):
        if variable.name not in explained:  # its parent never had a value
            items[variable.name] = OmittedAttribute(variable.name, row.value(j), "unused")
    return items


def _is_hole(conditional: OneParent, row: CodedRow, j: int) -> bool:
    return row.is_unknown(j) and int(conditional.cells.sizes[j]) == row.code(j)


def _height(row: CodedRow, parent: int) -> int:
    return row.code(parent) if parent >= 0 else 0


def _block(conditional: OneParent, j: int) -> Floats:
    """log P(x_j | c, x_parent): shape (codes of the parent or 1, codes of the child, K)."""
    start, stop = int(conditional.starts[j]), int(conditional.starts[j + 1])
    width = int(conditional.cells.real[j]) + 2
    return conditional.table[start:stop].reshape(-1, width, conditional.table.shape[1])


def _single(conditional: OneParent, row: CodedRow, j: int, logs: Floats) -> Attribute:
    parent, cells = int(conditional.parents[j]), conditional.cells
    above = _height(row, parent)
    workings = pair_workings(cells, j, row.code(j), parent, above)
    family = "table" if cells.mode[j] == IMAGINARY else "back-off"
    factors = tuple(map(PageFactor, logs.tolist(), workings))
    name = row.schema.categorical[j].name
    return Attribute(name, row.value(j), family, factors, row.is_unknown(j), row.given([parent]))


def _group(conditional: OneParent, row: CodedRow, top: int, absent: set[int]) -> dict[Any, Item]:
    """Return the joint factor of all attributes below a missing one, and the attributes that were summed over."""
    variables, parents = row.schema.categorical, conditional.parents.tolist()
    nodes = _under(top, parents, {j for j in absent if conditional.cells.sizes[j]})
    heard: dict[int, Floats] = {}  # log of the messages from the children of a missing x_j to its codes
    logs: Floats | None = None
    for j in reversed(nodes):
        block = _block(conditional, j)
        if j not in absent:
            logs = block[:, row.code(j)]
        elif j in heard:
            logs = _log_sum(block, heard[j], conditional.codes(j))
        else:
            logs = None  # no present attribute depends on it, so its states sum to 1
            continue
        heard[parents[j]] = heard.get(parents[j], 0.0) + logs
    summed = sorted(j for j in nodes if j in absent and j in heard)
    items: dict[Any, Item] = {
        variables[j].name: row.left_out(j, "summed" if j in summed else None) for j in nodes if j in absent
    }
    if logs is not None:
        present = sorted(j for j in nodes if j not in absent)
        names, values = tuple(variables[j].name for j in present), tuple(row.value(j) for j in present)
        alone = len(present) == 1
        name = names[0] if alone else names
        items[name] = Attribute(
            name,
            values[0] if alone else values,
            "sum",
            tuple(map(PageFactor, logs[_height(row, parents[top])].tolist())),
            given=row.given([parents[top]]),
            summed=tuple(variables[j].name for j in summed),
        )
    return items


def _under(top: int, parents: list[int], inner: set[int]) -> list[int]:
    """Return an attribute and its descendants as far as they are inner ones, parents first."""
    children: dict[int, list[int]] = {}
    for j, parent in enumerate(parents):
        children.setdefault(parent, []).append(j)
    found = [top]
    for j in found:
        found += children.get(j, []) if j in inner else []
    return found


def _log_sum(block: Floats, heard: Floats, codes: list[int]) -> Floats:
    """Sum over the codes that a child may have: log Σ_v P(v | c, parent) · exp(heard of v)."""
    terms = block[:, codes] + heard[None, codes]
    best = np.maximum(terms.max(axis=1), -1e308)
    with np.errstate(divide="ignore"):
        found = best + np.log(np.exp(terms - best[:, None]).sum(axis=1))
    # If the message is 0 for every state, the sum over all codes, including unseen, is 1.
    return np.where(heard[codes].any(axis=0), found, 0.0)


def child_densities(conditional: ChildGaussians, row: CodedRow) -> list[tuple[int, int, Floats, list[str]]]:
    """Return (index, parent or −1, logs, workings) of every numeric attribute that is a factor."""
    gaussian, values = conditional.cell_gaussian, row.chunk.values
    found = []
    for place, parent in enumerate(conditional.parents.tolist()):
        if gaussian.used[place] and not np.isnan(values[0, place]):
            found.append((place, *cell_density(gaussian, row, place, parent)))
    return found


def cell_density(gaussian: Any, row: CodedRow, place: int, parent: int) -> tuple[int, Floats, list[str]]:
    """Return the parent that is used (−1: only the class), the logs, and the text of each density."""
    out = np.zeros((1, gaussian.mean.shape[1]))
    gaussian.add_given(row.chunk, parent, [place], out)
    known = parent >= 0 and row.code(parent) < int(gaussian.limits[parent])
    g = int(gaussian.offsets[parent]) + row.code(parent) if known else len(gaussian.mean) - 1
    unit = int(gaussian.exponent[place])
    x = float(row.chunk.values[0, place])
    workings = []
    for c in range(out.shape[1]):
        mean = float(np.ldexp(gaussian.mean[g, c, place] + gaussian.mean_low[g, c, place], unit))
        deviation = float(np.ldexp(gaussian.deviation[g, c, place], unit))
        # Plain floats: a square beyond the range is infinite without a warning.
        workings.append(f"N({number(x)}; μ={centre(mean, deviation)}, σ²={short(deviation * deviation)})")
    return (parent if known else -1), out[0], workings
