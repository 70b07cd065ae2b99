"""A slow twin for models over pairs of attributes: codes counted row by row, every cell by its definition.

Code r of an attribute of r states is a hole, r + 1 a value never learned, as in a chunk.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from hypothesis import strategies as st

from bayeskit._counting.backend import count
from bayeskit.extending import Chunk
from bayeskit.priors import BackOff, BDeu, Dirichlet, Lidstone, MEstimate, Smoothing, WittenBell
from bayeskit.statistics import Plan, Schema, Statistics, Variable

CONSTANTS = (0.75, 2.5)
PRIORS: dict[str, Any] = {
    "mle": Lidstone(0.0),
    "laplace": Lidstone(1.0),
    "half": Lidstone(0.5),
    "m-estimate": MEstimate(2.0),
    "bdeu": BDeu(3.0),
    "dirichlet": Dirichlet({"x0": 0.25, "x1": {0: 3.0}, "x2": {0: 0.0}}),
    "back-off": BackOff(CONSTANTS),
    "witten-bell": WittenBell(),
}


@dataclass(frozen=True)
class Rows:
    """Coded rows with classes and weights, and how tables are to be estimated from them."""

    codes: np.ndarray
    target: np.ndarray
    weights: np.ndarray
    sizes: tuple[int, ...]
    n_classes: int
    prior: Any
    missing: str = "ignore"
    unseen: str = "ignore"

    @cached_property
    def schema(self) -> Schema:
        attributes = tuple(
            Variable(f"x{j}", "categorical", tuple(range(r)), n_declared=r) for j, r in enumerate(self.sizes)
        )
        classes = tuple(range(self.n_classes))
        return Schema(attributes, Variable("y", "categorical", classes, n_declared=self.n_classes))

    @property
    def smoothing(self) -> Smoothing:
        return Smoothing(self.prior, {})

    def chunk(self, codes: Any = None, target: Any = None) -> Chunk:
        codes = self.codes if codes is None else codes
        array = np.ascontiguousarray(codes, dtype=np.uint8).reshape(-1, len(self.sizes))
        n = len(array)
        if target is None:
            target = self.target if codes is self.codes else np.zeros(n)
        return Chunk(n, array, np.empty((n, 0)), target=np.asarray(target, np.uint32))

    def counted(self) -> Statistics:
        chunk = replace(self.chunk(), weights=self.weights)
        return count(chunk, self.schema, Plan.pairs(self.schema))

    def without(self, i: int, own: float) -> Rows:
        """The rows with so much less weight of row i; what rounding leaves is nothing."""
        weights = self.weights.copy()
        weights[i] = weights[i] - own if weights[i] - own > 1e-14 else 0.0
        return replace(self, weights=weights)

    # -- counting ------------------------------------------------------------------------------

    def n(self, cells: dict[int, int], c: int | None = None) -> float:
        found = [
            w
            for row, y, w in zip(self.codes, self.target, self.weights, strict=True)
            if c in (None, y) and all(row[j] == v for j, v in cells.items())
        ]
        return math.fsum(found)

    def hole_is_state(self, j: int) -> bool:
        return self.missing == "state" and self.n({j: self.sizes[j]}) > 0

    def states(self, j: int) -> list[int]:
        return list(range(self.sizes[j] + self.hole_is_state(j)))

    def is_present(self, j: int, x: int) -> bool:
        return x in self.states(j) or x == self.sizes[j] + 1

    def has_novel(self, j: int) -> bool:
        """Whether a value never learned has a share: imaginary counts or a level below must give it one."""
        if self.unseen != "smooth" or isinstance(self.prior, (BackOff, WittenBell)):
            return self.unseen == "smooth"
        return self.prior.cells(self.schema.categorical[j], 1).sum() > 0

    # -- tables --------------------------------------------------------------------------------

    def imaginary(self, j: int, n_parents: int) -> dict[int, float]:
        """The imaginary count of every state; one more counts as those there are on average."""
        cells = self.prior.cells(self.schema.categorical[j], n_parents).tolist()
        mean = math.fsum(cells) / len(cells) if cells else 1.0
        found = dict(enumerate(cells))
        if self.hole_is_state(j):
            found[self.sizes[j]] = mean
        if self.unseen == "smooth":
            found[self.sizes[j] + 1] = mean
        return found

    def cell(self, j: int, x: int, c: int, parent: tuple[int, int] | None = None) -> float:
        """P(x_j = x | c), or given the state of a parent too."""
        levels = [{}] if parent is None else [{}, dict([parent])]
        alike = len(self.states(j)) + self.has_novel(j)
        if x == self.sizes[j] + 1 and not self.has_novel(j):
            return 1.0
        if isinstance(self.prior, (BackOff, WittenBell)):
            share = 1.0 / max(alike, 1)
            for level, context in enumerate(levels):
                counts = {v: self.n({j: v, **context}, c) for v in self.states(j)}
                constant = CONSTANTS[level]
                if isinstance(self.prior, WittenBell):
                    constant = float(sum(count > 0 for count in counts.values()))
                total = math.fsum(counts.values()) + constant
                share = (counts.get(x, 0.0) + constant * share) / total if total > 0 else share
            return share
        q = self.n_classes * (1 if parent is None else len(self.states(parent[0])))
        imaginary = self.imaginary(j, q)
        counts = {v: self.n({j: v, **levels[-1]}, c) for v in self.states(j)}
        total = math.fsum(counts.values()) + math.fsum(imaginary.values())
        return (counts.get(x, 0.0) + imaginary[x]) / total if total > 0 else 1.0 / max(alike, 1)

    def network(self, parents: Sequence[int], query: Sequence[int], c: int) -> float:
        """P(query | c), summed over everything that a missing value may be, also what was never learned."""
        holes = [j for j, x in enumerate(query) if not self.is_present(j, int(x))]
        novel = [[r + 1] if self.has_novel(j) else [] for j, r in enumerate(self.sizes)]
        total = 0.0
        for values in itertools.product(*([*self.states(j), *novel[j]] for j in holes)):
            full = [int(x) for x in query]
            for j, v in zip(holes, values, strict=True):
                full[j] = v
            share = 1.0
            for j, i in enumerate(parents):
                share *= self.cell(j, full[j], c, None if i < 0 else (int(i), full[i]))
            total += share
        return total

    def joint_cell(self, i: int, x: int, c: int) -> float:
        """P(c, x_i = x) as one estimate."""
        prior, k = self.prior, self.n_classes
        size = len(self.states(i)) + (self.unseen == "smooth")
        if isinstance(prior, (MEstimate, BDeu, BackOff, WittenBell)):
            rows = getattr(prior, "m", getattr(prior, "ess", 1.0))
            each = rows / (k * max(self.sizes[i], 1))
            imaginary = dict.fromkeys(range(self.sizes[i] + 2), each)
            total = each * size * k
        else:
            imaginary = self.imaginary(i, k)
            total = math.fsum(imaginary.values()) * k
        rows = math.fsum(self.n({i: v}) for v in self.states(i))
        return (self.n({i: x}, c) + imaginary[x]) / (rows + total)


@st.composite
def tables(
    draw: Any,
    at_least: int = 0,
    priors: Any = tuple(PRIORS),
    missing: Any = ("ignore", "state"),
    unseen: Any = ("ignore",),
) -> Rows:
    """Small tables with holes and weights that add up without rounding."""
    d, k = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    sizes = tuple(draw(st.integers(1, 3)) for _ in range(d))
    n = draw(st.integers(at_least, 9))
    codes = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    weights = draw(st.lists(st.sampled_from([1.0, 1.0, 0.5, 2.0, 0.25]), min_size=n, max_size=n))
    return Rows(
        np.array(codes, dtype=np.int64).reshape(n, d),
        np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), dtype=np.int64),
        np.array(weights),
        sizes,
        k,
        PRIORS[draw(st.sampled_from(list(priors)))],
        draw(st.sampled_from(missing)),
        draw(st.sampled_from(unseen)),
    )


@st.composite
def forests(draw: Any, d: int) -> np.ndarray:
    """The parent of every attribute, −1 for none; any order, no cycle."""
    order = draw(st.permutations(range(d)))
    parents = np.full(d, -1, dtype=np.int64)
    for place, j in enumerate(order):
        parents[j] = draw(st.sampled_from([-1, *order[:place]]))
    return parents


def queries(rows: Rows) -> Any:
    """Rows to be asked for: also holes and, where they may have a share, values never learned."""
    novel = 1 if rows.unseen == "smooth" else 0
    return st.lists(st.tuples(*(st.integers(0, r + novel) for r in rows.sizes)), min_size=1, max_size=4)


def own_weights(draw: Any, rows: Rows) -> np.ndarray:
    """Some of each row's weight, all of it, or nothing."""
    shares = draw(
        st.lists(st.sampled_from([1.0, 1.0, 0.5, 0.0]), min_size=len(rows.target), max_size=len(rows.target))
    )
    return rows.weights * shares


def holes_stay_states(rows: Rows, left: Rows) -> bool:
    """Whether taking a row away leaves it open which holes are states."""
    return all(rows.hole_is_state(j) == left.hole_is_state(j) for j in range(len(rows.sizes)))
