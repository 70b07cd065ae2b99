"""A clique tree filled with the numbers of a network. It answers queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._inference.clique_tree import Tree
from bayeskit._inference.kernels.fill import LOWEST, observe, rescale, weigh
from bayeskit._inference.kernels.tree_layout import (
    BLOCK,
    CELLS,
    CHILD,
    EACH,
    MAP,
    PARENT,
    PARENT_CLIQUE,
    RUN,
    RUNS,
    SEPARATOR,
    WALKS,
)
from bayeskit._inference.log_tree import log_evidence, log_marginals, log_propagate, log_tables
from bayeskit._inference.potentials import Potentials
from bayeskit._numba import kernel
from bayeskit.typing import Floats, Ints

_U = np.uintp


@kernel
def collect(
    pot: Any,
    edge: Any,
    maps: Any,
    up: Any,
    offset: Any,
    table_cells: Any,
    bound: Any,
    scales: Any,
    take_max: bool,
) -> Any:
    """Send messages towards the roots; return the log of the scales.

    −inf: nothing is left. NaN: the numbers of some table differ too much, and logs must be used.


    A message is the sum (or the maximum) over the variables that only its clique has, divided by its largest
    number. It stays in the separator's table.
    """
    taken = 0.0
    for e in up:
        cells = _U(edge[e, CELLS])
        each = _U(edge[e, EACH])
        at = _U(edge[e, CHILD])
        separator = _U(edge[e, SEPARATOR])
        largest = 0.0
        least = np.inf
        for s in range(cells):
            x = 0.0
            if take_max:
                for u in range(at, at + each):
                    x = max(x, pot[u])
            else:
                for u in range(at, at + each):
                    x += pot[u]
            at += each
            pot[separator + s] = x
            largest = max(largest, x)
            if x > 0.0 and x < least:
                least = x
        if largest <= 0.0:
            return -np.inf
        p = edge[e, PARENT_CLIQUE]
        reach = np.log(least / largest)
        if bound[p] + reach < LOWEST:
            shrunk, bound[p] = rescale(pot, offset[p], table_cells[p])
            taken += shrunk
            if bound[p] + reach < LOWEST:
                return np.nan
        bound[p] += reach
        taken += np.log(largest)
        scale = 1.0 / largest
        scales[e] = scale
        for s in range(separator, separator + cells):
            pot[s] *= scale
        runs = _U(edge[e, RUNS])
        block = _U(edge[e, BLOCK])
        run = _U(edge[e, RUN])
        first = _U(edge[e, MAP])
        at = _U(edge[e, PARENT])
        if edge[e, WALKS] == 0:
            for r in range(runs):
                begin = separator + _U(maps[first + r])
                for b in range(block):
                    x = pot[begin + b]
                    for u in range(at, at + run):
                        pot[u] *= x
                    at += run
        else:
            for r in range(runs):
                begin = separator + _U(maps[first + r])
                for _ in range(block):
                    for u in range(run):
                        pot[at + u] *= pot[begin + u]
                    at += run
    return taken


@kernel
def settle(pot: Any, offset: Any, table_cells: Any, roots: Any, take_max: bool) -> Any:
    """Scale the tables of the roots to have sum (or maximum) one; return the log of the scales."""
    taken = 0.0
    for c in roots:
        total = 0.0
        for u in range(offset[c], offset[c] + table_cells[c]):
            if take_max:
                total = max(total, pot[u])
            else:
                total += pot[u]
        if total <= 0.0:
            return -np.inf
        taken += np.log(total)
        for u in range(offset[c], offset[c] + table_cells[c]):
            pot[u] /= total
    return taken


@kernel
def distribute(pot: Any, edge: Any, maps: Any, down: Any, scales: Any, work: Any, take_max: bool) -> None:
    """Send messages from the roots. Every table, including separators, becomes a marginal; 0/0 = 0."""
    for e in down:
        cells = _U(edge[e, CELLS])
        each = _U(edge[e, EACH])
        separator = _U(edge[e, SEPARATOR])
        runs = _U(edge[e, RUNS])
        block = _U(edge[e, BLOCK])
        run = _U(edge[e, RUN])
        first = _U(edge[e, MAP])
        at = _U(edge[e, PARENT])
        for s in range(cells):
            work[s] = 0.0
        if edge[e, WALKS] == 0:
            for r in range(runs):
                begin = _U(maps[first + r])
                for b in range(begin, begin + block):
                    x = work[b]
                    if take_max:
                        for u in range(at, at + run):
                            x = max(x, pot[u])
                    else:
                        for u in range(at, at + run):
                            x += pot[u]
                    work[b] = x
                    at += run
        else:
            for r in range(runs):
                begin = _U(maps[first + r])
                for _ in range(block):
                    if take_max:
                        for u in range(run):
                            work[begin + u] = max(work[begin + u], pot[at + u])
                    else:
                        for u in range(run):
                            work[begin + u] += pot[at + u]
                    at += run
        at = _U(edge[e, CHILD])
        for s in range(cells):
            z = pot[separator + s]
            # The table was not scaled together with its message: divide by the unscaled message.
            x = work[s] / z * scales[e] if z > 0.0 else 0.0
            pot[separator + s] = work[s]
            for u in range(at, at + each):
                pot[u] *= x
            at += each


@kernel
def read_marginals(pot: Any, home: Any, start: Any, take_max: bool, out: Any) -> None:
    """Write the marginal (or max-marginal) of each variable, read from its table."""
    for v in range(home.shape[0]):
        at = _U(home[v, 0])
        stride = _U(home[v, 2])
        size = home[v, 3]
        o = start[v]
        for k in range(size):
            out[o + k] = 0.0
        for _ in range(home[v, 1] // (home[v, 2] * size)):
            for k in range(size):
                x = out[o + k]
                if take_max:
                    for u in range(at, at + stride):
                        x = max(x, pot[u])
                else:
                    for u in range(at, at + stride):
                        x += pot[u]
                out[o + k] = x
                at += stride
        total = 0.0
        for k in range(size):
            total = max(total, out[o + k]) if take_max else total + out[o + k]
        for k in range(size):
            out[o + k] /= total


@kernel
def propagate(
    pot: Any,
    edge: Any,
    maps: Any,
    up: Any,
    down: Any,
    roots: Any,
    offset: Any,
    table_cells: Any,
    bound: Any,
    scales: Any,
    work: Any,
    take_max: bool,
) -> Any:
    """Turn every table into a marginal; return the log of their common total, −inf or NaN as in ``collect``."""
    taken = collect(pot, edge, maps, up, offset, table_cells, bound, scales, take_max)
    if not taken > -np.inf:
        return taken
    taken += settle(pot, offset, table_cells, roots, take_max)
    if taken > -np.inf and down.shape[0] > 0:
        distribute(pot, edge, maps, down, scales, work, take_max)
    return taken


@kernel
def answer(
    init: Any,
    init_bound: Any,
    pot: Any,
    bound: Any,
    codes: Any,
    soft: Any,
    likelihood: Any,
    soft_start: Any,
    seat: Any,
    seat_clique: Any,
    home: Any,
    start: Any,
    edge: Any,
    maps: Any,
    up: Any,
    down: Any,
    roots: Any,
    offset: Any,
    table_cells: Any,
    scales: Any,
    work: Any,
    take_max: bool,
    out: Any,
) -> Any:
    """Answer from filled tables: copy them, enter the evidence, propagate, read."""
    # Element by element: a slice that may overlap its source is first copied, which would double the memory.
    for u in range(_U(init.shape[0])):
        pot[u] = init[u]
    for c in range(_U(init_bound.shape[0])):
        bound[c] = init_bound[c]
    observe(pot, seat, codes)
    taken = weigh(pot, seat, seat_clique, bound, soft, likelihood, soft_start)
    taken += propagate(pot, edge, maps, up, down, roots, offset, table_cells, bound, scales, work, take_max)
    if taken > -np.inf and out.shape[0] > 0:
        read_marginals(pot, home, start, take_max, out)
    return taken


_NOTHING = np.empty(0, np.int64)
_NO_NUMBERS = np.empty(0)


@dataclass(frozen=True, eq=False)
class FilledTree:
    """The tables of a tree, filled for given observed states. Immutable; each query has its own buffers.

    ``seen`` are the codes for which the tables were filled: those variables are no longer in the tree.
    """

    tree: Tree
    potentials: Potentials
    seen: Ints
    tables: Floats
    bound: Floats
    taken: float

    @classmethod
    def of(cls, tree: Tree, potentials: Potentials, seen: Ints) -> FilledTree:
        return cls(tree, potentials, seen, *tree.tables(potentials, seen))

    @property
    def nbytes(self) -> int:
        """The memory of a query: these tables and its own."""
        return self.tree.shape.bytes_of_maps + self.tree.shape.bytes_used(2)

    def ask(
        self,
        codes: Ints,
        likelihoods: Mapping[int, Floats],
        *,
        take_max: bool = False,
        marginals: bool = True,
        keep: bool = True,
    ) -> tuple[float, Floats, Floats]:
        """Return the log of the total, the marginals of the tree's variables, and all tables afterwards.

        Parameters
        ----------
        codes : observed states of the tree's variables, by their numbers in the tree; empty if none is observed
        likelihoods : soft evidence, by number in the network
        marginals : whether to send messages back and read marginals
        keep : whether the tables are needed again; otherwise they are modified in place
        """
        tree, shape = self.tree, self.tree.shape
        if self.taken == -math.inf:
            return -math.inf, _NO_NUMBERS, _NO_NUMBERS
        soft, weights, starts, extra = _NOTHING, _NO_NUMBERS, _NOTHING, 0.0
        if likelihoods:
            soft, weights, starts, extra = soft_evidence(tree.shape.problem.place, self.seen, likelihoods)
            if extra == -math.inf:
                return -math.inf, _NO_NUMBERS, _NO_NUMBERS
        out = np.empty(tree.n_marginals) if marginals else _NO_NUMBERS
        pot = np.empty(shape.cells) if keep else self.tables
        log_total = (
            self.taken
            if math.isnan(self.taken)
            else answer(
                self.tables,
                self.bound,
                pot,
                np.empty(shape.n_cliques),
                codes,
                soft,
                weights,
                starts,
                tree.seat,
                tree.seat_clique,
                tree.home,
                tree.start,
                shape.edge,
                tree.maps,
                tree.up,
                tree.down if marginals else _NOTHING,
                tree.roots,
                shape.offset,
                shape.table_cells,
                np.empty(shape.n_cliques),
                np.empty(shape.widest),
                take_max,
                out,
            )
        )
        if math.isnan(log_total):
            log_total, out = answer_in_logs(
                tree,
                self.potentials,
                self.seen,
                pot,
                codes,
                likelihoods,
                take_max=take_max,
                marginals=marginals,
            )
            return log_total + extra, out, pot
        return log_total + self.taken + extra, out, pot


def answer_in_logs(
    tree: Tree,
    potentials: Potentials,
    seen: Ints,
    pot: Floats,
    codes: Ints,
    likelihoods: Mapping[int, Floats],
    *,
    take_max: bool,
    marginals: bool,
) -> tuple[float, Floats]:
    """Return the log of the total and the marginals, and leave the tables in ``pot``: slow, but for any numbers."""
    place = tree.shape.problem.place
    taken = log_tables(tree, potentials, seen, pot)
    log_evidence(tree, pot, codes, {int(place[v]): w for v, w in likelihoods.items() if place[v] >= 0})
    log_total = log_propagate(tree, pot, take_max=take_max, down=marginals) + taken
    if log_total > -math.inf:
        out = log_marginals(tree, pot, take_max=take_max) if marginals else _NO_NUMBERS
        np.exp(pot, out=pot)
        return log_total, out
    return log_total, _NO_NUMBERS


def soft_evidence(
    place: Ints, seen: Ints, likelihoods: Mapping[int, Floats]
) -> tuple[Ints, Floats, Ints, float]:
    """Split soft evidence: flat likelihoods of the free variables by number, and the log of the rest."""
    free = [(int(place[v]), weight) for v, weight in likelihoods.items() if place[v] >= 0]
    extra = 0.0
    for v, weight in likelihoods.items():
        if place[v] < 0:
            x = float(weight[seen[v]])
            extra += math.log(x) if x > 0.0 else -math.inf
        elif not weight.any():
            extra = -math.inf
    if not free:
        return _NOTHING, _NO_NUMBERS, _NOTHING, extra
    return (
        np.array([v for v, _ in free], np.int64),
        np.concatenate([weight for _, weight in free]),
        np.cumsum([0, *(len(weight) for _, weight in free)]),
        extra,
    )
