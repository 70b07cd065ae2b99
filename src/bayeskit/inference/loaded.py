"""A tree with the numbers of its network: evidence in, answers out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.kernels.propagate import answer
from bayeskit.inference.log_tree import log_evidence, log_marginals, log_propagate, log_tables
from bayeskit.inference.potentials import Potentials
from bayeskit.inference.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NOTHING = np.empty(0, np.int64)
_NO_NUMBERS = np.empty(0)


@dataclass(frozen=True, eq=False)
class Loaded:
    """The tables of a tree filled at some observed states. It does not change; each question has its own buffers.

    ``seen`` are the codes the tables were filled at: those variables are no longer in the tree.
    """

    tree: Tree
    potentials: Potentials
    seen: Ints
    tables: Floats
    bound: Floats
    taken: float

    @classmethod
    def of(cls, tree: Tree, potentials: Potentials, seen: Ints) -> Loaded:
        return cls(tree, potentials, seen, *tree.tables(potentials, seen))

    @property
    def nbytes(self) -> int:
        """What a question to it holds: these tables and its own."""
        return self.tree.shape.bytes_kept + self.tree.shape.bytes_used(2)

    def ask(
        self,
        codes: Ints,
        likelihoods: Mapping[int, Floats],
        *,
        take_max: bool = False,
        marginals: bool = True,
        keep: bool = True,
    ) -> tuple[float, Floats, Floats]:
        """Return the log of the total, the marginals of the tree's variables, and all tables after it.

        Parameters
        ----------
        codes : observed states of the tree's variables, by their numbers in it; empty where none is
        likelihoods : soft evidence, by number in the network
        marginals : whether messages go down again and marginals are read
        keep : whether the tables are needed again; otherwise they are worked on in place
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
            return self._in_logs(pot, codes, likelihoods, extra, take_max, marginals)
        return log_total + self.taken + extra, out, pot

    def _in_logs(
        self,
        pot: Floats,
        codes: Ints,
        likelihoods: Mapping[int, Floats],
        extra: float,
        take_max: bool,
        marginals: bool,
    ) -> tuple[float, Floats, Floats]:
        tree, place = self.tree, self.tree.shape.problem.place
        taken = log_tables(tree, self.potentials, self.seen, pot)
        log_evidence(tree, pot, codes, {int(place[v]): w for v, w in likelihoods.items() if place[v] >= 0})
        log_total = log_propagate(tree, pot, take_max=take_max, down=marginals) + taken
        if log_total == -math.inf:
            return log_total, _NO_NUMBERS, _NO_NUMBERS
        out = log_marginals(tree, pot, take_max=take_max) if marginals else _NO_NUMBERS
        return log_total + extra, out, np.exp(pot, out=pot)


def soft_evidence(
    place: Ints, seen: Ints, likelihoods: Mapping[int, Floats]
) -> tuple[Ints, Floats, Ints, float]:
    """Split soft evidence into that on free variables, by their numbers and laid out flat, and the log of the rest."""
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
