"""Draws of tables from their posteriors, and scores of rows under each draw.

The posterior of a table is a Dirichlet whose mean is the model's estimate, with n counts and a imaginary counts. Under
back-off, the imaginary rows of a table are distributed as the table with one parent fewer, so real counts and the
number of imaginary rows are stored separately. Back-off constants that were chosen from the same rows are not a prior:
used as one, they would count these rows twice (at 30 rows, 90% intervals then contain 74% of the true posteriors). One
imaginary row for each state is used instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.categorical import TableConditional
from bayeskit._conditionals.family_tries import FamilyTries
from bayeskit._conditionals.kernels.trie_scores import BACK_OFF, PLAIN, find_context
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import BACK_OFF as PAIRS_BACK_OFF
from bayeskit._conditionals.pair_cells import IMAGINARY
from bayeskit._conditionals.posterior_draws import Draws, log_dirichlet, log_dirichlet_about
from bayeskit._data.encoded import Chunk
from bayeskit._messages import RowNumber
from bayeskit._schema import LARGEST_BYTE_TABLE
from bayeskit.errors import UsageError
from bayeskit.typing import Floats

Codes = NDArray[np.int64]
# For each attribute, whether its back-off constants were chosen from rows.
Flags = NDArray[np.bool_]


class Shares(Protocol):
    """The tables of some categorical attributes.

    Attributes
    ----------
    children, parents : lists
        The attribute of each table, and those it depends on in addition to the class.
    above_mode : array over the attributes
        The number to add to every count: 1 if the estimate is the mode of the posterior, 0 if it is the mean.
    """

    children: list[int]
    parents: list[list[int]]
    above_mode: Floats

    def is_hole(self, j: int, codes: Codes) -> NDArray[np.bool_]:
        """Return which codes of attribute j mean that it is missing."""
        ...

    def codes(self, j: int) -> list[int]:
        """Return the codes whose probabilities sum to one."""
        ...

    def backs_off(self, f: int) -> bool:
        """Return whether a table backs off to the one with one parent fewer."""
        ...

    def of(self, f: int, contexts: Codes, codes: Codes) -> tuple[Floats, Floats]:
        """Return P(code | context, c), shape (m, R, K), and its rows, shape (m, K), for a table without back-off."""
        ...

    def counted(self, f: int, context: Codes, codes: Codes) -> tuple[Floats, Floats]:
        """Return n(code, context, c), shape (R, K), and the imaginary rows, shape (K,), for a table with back-off.

        The context may be of the first parents only.
        """
        ...


class PlainShares:
    """The tables of naive Bayes, with no parents other than the class."""

    def __init__(self, tables: TableConditional, above_mode: Floats) -> None:
        assert tables.counted is not None
        self.tables, self._behind, self.above_mode = tables, tables.counted, above_mode
        self.children = list(range(len(tables.offsets) - 1))
        self.parents: list[list[int]] = [[] for _ in self.children]
        self._total = self._behind.arrays[4] + self._behind.prior[:, None]

    def _size(self, j: int) -> int:
        return int(self.tables.offsets[j + 1] - self.tables.offsets[j]) - 2

    def is_hole(self, j: int, codes: Codes) -> NDArray[np.bool_]:
        return np.asarray((codes == self._size(j)) & (not self._behind.spare[j]))

    def codes(self, j: int) -> list[int]:
        size, stop = self._size(j), int(self.tables.offsets[j + 1])
        spare = [size] if self._behind.spare[j] else []
        return [*range(size), *spare, *([size + 1] if self.tables.log_table[stop - 1].any() else [])]

    def of(self, f: int, contexts: Codes, codes: Codes) -> tuple[Floats, Floats]:
        start = int(self.tables.offsets[f])
        return np.exp(self.tables.log_table[start + codes])[None], self._total[f][None]

    def backs_off(self, f: int) -> bool:
        return False

    def counted(self, f: int, context: Codes, codes: Codes) -> tuple[Floats, Floats]:
        raise AssertionError("the tables of naive Bayes have nothing to back off to")


class PairShares:
    """The tables of SPODE and TAN: at most one parent in addition to the class."""

    def __init__(self, pairs: OneParent, above_mode: Floats, by_rows: Flags) -> None:
        self.pairs, self.above_mode, self._by_rows = pairs, above_mode, by_rows
        self.children = list(range(len(pairs.parents)))
        self.parents = [[int(i)] if i >= 0 else [] for i in pairs.parents]

    def is_hole(self, j: int, codes: Codes) -> NDArray[np.bool_]:
        cells = self.pairs.cells
        return np.asarray((codes >= int(cells.sizes[j])) & (codes != int(cells.real[j]) + 1))

    def codes(self, j: int) -> list[int]:
        real, sizes = int(self.pairs.cells.real[j]), int(self.pairs.cells.sizes[j])
        is_open = sizes > 0 and self.pairs.cells.alike[j] > sizes
        return [*range(sizes), *([real + 1] if is_open else [])]

    def of(self, f: int, contexts: Codes, codes: Codes) -> tuple[Floats, Floats]:
        width, start = int(self.pairs.cells.real[f]) + 2, int(self.pairs.starts[f])
        above = contexts[:, 0] if self.parents[f] else np.zeros(len(contexts), np.int64)
        table = self.pairs.table[start + above[:, None] * width + codes[None, :]]
        return np.exp(table), np.stack([self._rows(f, int(u)) for u in above])

    def _rows(self, j: int, above: int) -> Floats:
        cells, parents = self.pairs.cells, self.parents[j]
        spread = cells.scale[parents[0], j] if parents else 1.0
        own = self._counts(j, np.array([above] * len(parents)), np.arange(int(cells.sizes[j])))
        return np.asarray(own.sum(axis=0) + spread * cells.total_mass[j])

    def backs_off(self, f: int) -> bool:
        return bool(self.pairs.cells.mode[f] != IMAGINARY)

    def counted(self, f: int, context: Codes, codes: Codes) -> tuple[Floats, Floats]:
        cells = self.pairs.cells
        counts = self._counts(f, context, codes)
        if cells.mode[f] == PAIRS_BACK_OFF:
            weight = len(codes) if self._by_rows[f] else cells.constants[len(context)]
            return counts, np.full(counts.shape[1], float(weight))
        return counts, (counts > 0).sum(axis=0).astype(np.float64)

    def _counts(self, j: int, context: Codes, codes: Codes) -> Floats:
        """Return n(code, c) in a context; 0 for unseen values."""
        cells = self.pairs.cells
        here = int(cells.offsets[j]) + np.minimum(codes, int(cells.real[j]))
        found = cells.counts[here, here]
        if len(context):
            i, above = self.parents[j][0], int(context[0])
            known = above <= int(cells.real[i])
            found = cells.counts[int(cells.offsets[i]) + above, here] if known else np.zeros_like(found)
        return np.where((codes <= int(cells.real[j]))[:, None], found, 0.0)


class TrieShares:
    """The tables of kDB, with any number of parents and sparse counts."""

    def __init__(self, tries: FamilyTries, above_mode: Floats, by_rows: Flags) -> None:
        self.tries, self.above_mode, self._by_rows = tries, above_mode, by_rows
        trie = tries.trie
        self.children = [int(j) for j in trie.child]
        bounds = pairwise(trie.first_parent)
        self.parents = [[int(j) for j in trie.parents[a:b]] for a, b in bounds]
        self._open = {child: bool(tries.rule.is_open[f]) for f, child in enumerate(self.children)}

    def is_hole(self, j: int, codes: Codes) -> NDArray[np.bool_]:
        trie = self.tries.trie
        return np.asarray((codes == int(trie.sizes[j])) & (not trie.is_state[j]))

    def codes(self, j: int) -> list[int]:
        size, state = int(self.tries.trie.sizes[j]), bool(self.tries.trie.is_state[j])
        return [*range(size + state), *([size + 1] if self._open.get(j, False) else [])]

    def of(self, f: int, contexts: Codes, codes: Codes) -> tuple[Floats, Floats]:
        m, r, d = len(contexts), len(codes), len(self.tries.trie.sizes)
        kind = np.uint8 if self.tries.trie.sizes.max(initial=0) <= LARGEST_BYTE_TABLE else np.uint32
        rows = np.zeros((m * r, d), dtype=kind)
        rows[:, self.parents[f]] = np.repeat(contexts, r, axis=0)
        rows[:, self.children[f]] = np.tile(codes, m)
        levels = self.tries.level_probabilities(f, Chunk(m * r, rows, np.empty((m * r, 0))))
        weight = np.stack([self._rows(f, context) for context in contexts])
        return levels[:, -1].reshape(m, r, -1), weight

    def _rows(self, f: int, context: Codes) -> Floats:
        """Return the number of rows of a table with all its parents, including imaginary counts."""
        trie = self.tries.trie
        last, node = int(trie.first_parent[f]) + f + len(context), self._node(f, context)
        found = np.full(self.tries.n_classes, float(self.tries.rule.mass_total[last]))
        if node >= 0:
            entries = slice(int(trie.entry_start[node]), int(trie.entry_start[node + 1]))
            found[trie.entry_class[entries]] += trie.entry_weight[entries]
        return found

    def backs_off(self, f: int) -> bool:
        return bool(self.tries.rule.mode[f] != PLAIN)

    def counted(self, f: int, context: Codes, codes: Codes) -> tuple[Floats, Floats]:
        trie, node = self.tries.trie, self._node(f, context)
        counts = np.zeros((int(codes.max(initial=0)) + 1, self.tries.n_classes))
        if node >= 0:
            for cell in range(int(trie.cell_start[node]), int(trie.cell_start[node + 1])):
                some = slice(int(trie.count_start[cell]), int(trie.count_start[cell + 1]))
                counts[trie.cell_state[cell], trie.count_class[some]] = trie.count_weight[some]
        if self.tries.rule.mode[f] == BACK_OFF:
            level = int(trie.first_parent[f]) + f + len(context)
            weight = len(codes) if self._by_rows[self.children[f]] else self.tries.rule.constants[level]
            return counts[codes], np.full(counts.shape[1], float(weight))
        return counts[codes], (counts > 0).sum(axis=0).astype(np.float64)

    def _node(self, f: int, context: Codes) -> int:
        """Return the index of a context, or −1 if it does not occur."""
        trie, key = self.tries.trie, 0
        g = int(trie.first_parent[f]) + f + len(context)
        for parent, u in zip(self.parents[f][: len(context)], context.tolist(), strict=True):
            if u > int(trie.sizes[parent]):
                return -1
            key = key * (int(trie.sizes[parent]) + 1) + u
        look_up = (trie.shift[g], trie.hash_keys, trie.key_start[g], trie.node_of, trie.node_start[g])
        return int(find_context(*look_up, np.int64(key)))


# The maximum number of joint states of missing parents to sum over, as in prediction.
MOST_COMPLETIONS = 4_096


@dataclass(frozen=True, eq=False)
class TablePosterior:
    """Dirichlet distributions of tables."""

    shares: Shares

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        add_table_draws(self.shares, chunk.codes, draws, chunk.first_row, out)


def add_table_draws(shares: Shares, codes: Codes, draws: Draws, first_row: int, out: Floats) -> None:
    """Add log P(x | c) of each row under each draw of the tables to ``out`` of shape (n, draws, K).

    A missing attribute that others of the row depend on is summed over.
    """
    if not codes.shape[1]:
        return
    codes = np.asarray(codes, dtype=np.int64)
    holes = np.zeros(codes.shape, np.bool_)
    for j in range(codes.shape[1]):
        holes[:, j] = shares.is_hole(j, codes[:, j])
    needed = _needed(shares, holes)
    whole = ~needed.any(axis=1)
    if whole.all():
        _add_whole(shares, codes, holes, draws, out)
        return
    rows = np.flatnonzero(whole)
    if len(rows):
        part = out[rows]
        _add_whole(shares, codes[rows], holes[rows], draws, part)
        out[rows] = part
    for row in np.flatnonzero(~whole):
        filled, open_holes = _completed(shares, codes[row], holes[row], needed[row], first_row + int(row))
        # Process a few completions at a time: 4,096 of them with all draws would not fit into memory.
        step = max(1, 2**21 // out[row].size)
        total = np.full(out[row].shape, -np.inf)
        for start in range(0, len(filled), step):
            some = filled[start : start + step]
            logs = np.zeros((len(some), *out[row].shape))
            _add_whole(shares, some, np.repeat(open_holes[None], len(some), axis=0), draws, logs)
            total = np.logaddexp(total, np.logaddexp.reduce(logs, axis=0))
        out[row] += total


def _needed(shares: Shares, holes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which missing attributes have a descendant that is present."""
    needed = np.zeros_like(holes)
    while True:
        before = needed.sum()
        for child, parents in zip(shares.children, shares.parents, strict=True):
            there = ~holes[:, child] | needed[:, child]
            for parent in parents:
                needed[:, parent] |= there & holes[:, parent]
        if needed.sum() == before:
            return needed


def _completed(
    shares: Shares, codes: Codes, holes: NDArray[np.bool_], needed: NDArray[np.bool_], row: int
) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the row with every joint state of the attributes to sum over, and the cells that remain missing."""
    places = np.flatnonzero(needed)
    states = [shares.codes(int(j)) for j in places]
    n = int(np.prod([len(s) for s in states], dtype=np.float64))
    if n > MOST_COMPLETIONS:
        raise UsageError(
            "{place} lacks {n} attributes that others depend on, with {n2:,} joint states; predict_interval "
            "sums over at most {most_completions:,}. Fill some in, or use NaiveBayes, which leaves missing "
            "values out.",
            place=RowNumber(row, begins=True),
            n=len(places),
            n2=n,
            most_completions=MOST_COMPLETIONS,
        )
    filled = np.repeat(codes[None], n, axis=0)
    filled[:, places] = list(product(*states))
    return filled, holes & ~needed


def _add_whole(shares: Shares, codes: Codes, holes: NDArray[np.bool_], draws: Draws, out: Floats) -> None:
    """Add rows in which all parents of every present attribute are present."""
    for f, (child, parents) in enumerate(zip(shares.children, shares.parents, strict=True)):
        states = np.asarray(shares.codes(child))
        place = np.full(int(max(codes[:, child].max(initial=0), states.max(initial=0))) + 1, -1)
        place[states] = np.arange(len(states))
        # A code without a share (an unseen value without imaginary counts) has no factor.
        there = np.flatnonzero(~holes[:, child] & (place[codes[:, child]] >= 0))
        if not len(there):
            continue
        contexts, which = np.unique(codes[there][:, parents], axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        bounds = np.searchsorted(which.ravel()[order], np.arange(len(contexts) + 1))
        leans = shares.backs_off(f)
        p, weight = shares.of(f, contexts, states) if not leans else (np.empty(0), np.empty(0))
        for i, context in enumerate(contexts):
            rows = there[order[bounds[i] : bounds[i + 1]]]
            if leans:
                drawn = _leaning(shares, f, context, states, draws)
            else:
                counts = p[i] * weight[i] + shares.above_mode[child]
                key = (1, child, *map(int, context))
                drawn = draws.get(key, partial(log_dirichlet, counts=counts, draws=draws.n))
            out[rows] += drawn[place[codes[rows, child]]]


def _leaning(shares: Shares, f: int, context: Codes, states: Codes, draws: Draws) -> Floats:
    """Draw a table that backs off to the one with one parent fewer, which is drawn first.

    If the lower table were taken as known, contexts with few rows would seem far more certain than they are.
    """
    r, level = len(states), len(context)
    centre: Floats | None = _leaning(shares, f, context[:-1], states, draws) if level else None

    def make(rng: np.random.Generator) -> Floats:
        counts, weight = shares.counted(f, context, states)
        lower = np.full((r, draws.n, counts.shape[1]), -np.log(r)) if centre is None else centre
        return log_dirichlet_about(rng, counts, weight, lower)

    return draws.get((1, shares.children[f], *map(int, context)), make)
