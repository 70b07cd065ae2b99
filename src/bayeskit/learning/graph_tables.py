"""The categorical families of a graph as dense tables of logarithms: what most rows are looked up in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.estimation.families import FamilyTries
from bayeskit.estimation.kernels.families import PLAIN
from bayeskit.typing import Codes, Floats

if TYPE_CHECKING:
    from bayeskit.learning.graph_factors import GraphFactors


# A family of more cells is left to its sparse counts.
MOST_CELLS = 2**16


@dataclass(frozen=True, eq=False)
class LogTables:
    """log P(x | parents) of the states of categorical attributes.

    A family is a table where imaginary counts are added to the real ones, and its cells are not many. All others, and
    rows with a missing or unseen value, walk through the counts.

    Attributes
    ----------
    tables, apart : FamilyTries
        The children of the class, and all other attributes (of one class).
    cells : mapping from attribute to array
        Axes parents, child, class.
    """

    tables: FamilyTries
    apart: FamilyTries
    cells: Mapping[int, Floats]

    @classmethod
    def of(cls, graph: GraphFactors) -> LogTables:
        found = {}
        for tries in (graph.tables, graph.apart):
            for f, j in enumerate(tries.members()):
                sizes = [int(tries.trie.sizes[i]) for i in (*tries.parents_of(j), j)]
                small = math.prod(sizes) * graph.schema.n_classes <= MOST_CELLS
                if small and tries.rule.mode[f] == PLAIN and not graph.is_state[j]:
                    counts = graph.counts_of(graph.statistics, j)[..., : tries.n_classes]
                    found[j] = _logs(tries, f, counts)
        return cls(graph.tables, graph.apart, found)

    def add(self, codes: Codes, out: Floats, alike: Floats) -> None:
        """Add the children of the class to ``out`` (n, K), and what is the same in all classes to ``alike`` (n, 1)."""
        members = np.array([*self.tables.members(), *self.apart.members()], np.intp)
        seen = (codes[:, members] < self.tables.trie.sizes[members]).all(axis=1)
        rows, others = np.flatnonzero(seen), np.flatnonzero(~seen)
        known = codes if not len(others) else codes[rows]
        for tries, to in ((self.tables, out), (self.apart, alike)):
            to[rows] += self._looked_up(tries, known)
            if len(others):
                logs = np.zeros((len(others), to.shape[1]))
                tries.add_known(codes[others], logs)
                to[others] += logs

    def _looked_up(self, tries: FamilyTries, codes: Codes) -> Floats:
        """Return the log-probability of rows whose values are all states: shape (n, K or 1)."""
        logs, rest = np.zeros((len(codes), tries.n_classes)), []
        for f, j in enumerate(tries.members()):
            table = self.cells.get(j)
            if table is None:
                rest.append(f)
                continue
            place = np.zeros(len(codes), np.intp)
            for i, size in zip((*tries.parents_of(j), j), table.shape):
                place = place * size + codes[:, i]
            logs += table.reshape(-1, tries.n_classes)[place]
        if rest:
            tries.add_known(codes, logs, families=rest)
        return logs


def _logs(tries: FamilyTries, f: int, counts: Floats) -> Floats:
    last = int(tries.trie.first_parent[f + 1]) + f
    start, size = int(tries.rule.mass_start[last]), counts.shape[-2]
    mass, total = tries.rule.mass[start : start + size], counts.sum(axis=-2, keepdims=True)
    whole = total + tries.rule.mass_total[last]
    there = whole > 0.0
    with np.errstate(divide="ignore"):
        # Neither rows nor a prior: every state alike.
        share = np.where(there, (counts + mass[:, None]) / np.where(there, whole, 1.0), 1.0 / size)
        return np.asarray(np.log(share))
