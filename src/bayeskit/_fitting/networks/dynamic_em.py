"""EM for dynamic Bayesian networks: the expected counts of all families, and the tables from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit._fitting.mixtures.hidden_states import impossible_row
from bayeskit._inference.chain import ExpectedTransitions, Impossible
from bayeskit._inference.two_slices import SliceRows, TwoSlices
from bayeskit._schema import Name
from bayeskit.errors import Incompatible
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class DynamicCounts:
    """Expected counts of a dynamic network: sums over the steps of sequences.

    ``merge`` adds the counts of other sequences. Both must have been counted under the same tables: within one E-step,
    or from complete rows. Nothing can be subtracted, because a step is split differently after every step of EM.

    Attributes
    ----------
    first, later : dict of node → array
        How often each combination of states of the parents and the node occurs, in the first slice and in later ones.
        The axes are those of the tables.
    log_probability : float
        log P(observations) of the sequences.
    """

    first: dict[Name, Floats]
    later: dict[Name, Floats]
    log_probability: float = 0.0

    def merge(self, other: DynamicCounts) -> DynamicCounts:
        """Return the counts of the sequences of both."""
        parts = []
        for mine, its in ((self.first, other.first), (self.later, other.later)):
            if {k: v.shape for k, v in mine.items()} != {k: v.shape for k, v in its.items()}:
                raise Incompatible(
                    "These counts are of different networks: their nodes, parents or states differ. Count both with "
                    "the same network."
                )
            parts.append({name: mine[name] + its[name] for name in mine})
        return DynamicCounts(parts[0], parts[1], self.log_probability + other.log_probability)


Tables = tuple[tuple[Floats, ...], tuple[Floats, ...]]


@dataclass(frozen=True, eq=False)
class DynamicProblem:
    """The problem of EM for a dynamic network.

    Attributes
    ----------
    scopes : the families of the first slice and of later ones, in the numbering of `TwoSlices`
    tied : whether a node has the same table in all slices
    smoothing : the imaginary count of each cell of every table
    """

    rows: SliceRows
    sizes: tuple[int, ...]
    scopes: tuple[Sequence[tuple[int, ...]], Sequence[tuple[int, ...]]]
    tied: tuple[bool, ...]
    names: tuple[Name, ...]
    max_memory: float
    smoothing: float = 0.0

    def slices(self, tables: Tables) -> TwoSlices:
        """Return the network with these tables."""
        first, later = (list(zip(s, t, strict=True)) for s, t in zip(self.scopes, tables, strict=True))
        return TwoSlices.of(self.sizes, first, later, self.names, self.max_memory)

    def expect(self, tables: Tables) -> tuple[DynamicCounts, float]:
        found = self.counts(tables)
        value = found.log_probability
        if self.smoothing:
            own = [t for t, tied in zip(tables[0], self.tied, strict=True) if not tied]
            with np.errstate(divide="ignore"):
                value += self.smoothing * sum(float(np.log(table).sum()) for table in (*own, *tables[1]))
        return found, value

    def counts(self, tables: Tables) -> DynamicCounts:
        """Return the expected counts under some tables. An impossible row raises an error that names it."""
        slices = self.slices(tables)
        chain = slices.chain(self.rows)
        moved = ExpectedTransitions.zero(chain)
        try:
            for _ in chain.backward(moved):
                pass
        except Impossible as impossible:
            raise impossible_row(impossible.row, self.rows.fresh) from None
        first, later = slices.expected_families(self.rows, moved)
        return DynamicCounts(
            dict(zip(self.names, first, strict=True)),
            dict(zip(self.names, later, strict=True)),
            moved.log_probability,
        )

    def maximise(self, statistics: DynamicCounts) -> Tables:
        first, later = [], []
        for name, tied in zip(self.names, self.tied, strict=True):
            own, after = statistics.first[name], statistics.later[name]
            both = own + after if tied else after
            later.append(_shares(both, self.smoothing))
            first.append(later[-1] if tied else _shares(own, self.smoothing))
        return tuple(first), tuple(later)

    def random_tables(self, rng: np.random.Generator) -> Tables:
        """Return tables to begin EM with."""
        shapes = [
            [[self.sizes[v % len(self.sizes)] for v in scope] for scope in part] for part in self.scopes
        ]
        later = tuple(rng.dirichlet(np.ones(s[-1]), s[:-1]) for s in shapes[1])
        drawn = (rng.dirichlet(np.ones(s[-1]), s[:-1]) for s in shapes[0])
        first = tuple(
            own if not tied else same for own, same, tied in zip(drawn, later, self.tied, strict=True)
        )
        return first, later


def _shares(counts: Floats, smoothing: float) -> Floats:
    """Normalise counts over the last axis; a row without counts becomes uniform."""
    given = counts + smoothing
    total = given.sum(axis=-1, keepdims=True)
    return np.where(total > 0.0, given / np.where(total > 0.0, total, 1.0), 1.0 / counts.shape[-1])
