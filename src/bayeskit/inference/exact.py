"""Exact answers about one set of potentials: which tree answers which question."""

from __future__ import annotations

import threading
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import TooLarge
from bayeskit.inference.assignment import Assignment
from bayeskit.inference.elimination import most_probable_targets
from bayeskit.inference.evidence import Evidence
from bayeskit.inference.loaded import Loaded
from bayeskit.inference.memory import guarded_shape
from bayeskit.inference.most_probable import first_of_best, most_probable
from bayeskit.inference.plans import Plans
from bayeskit.inference.potentials import Potentials
from bayeskit.inference.problem import make_problem
from bayeskit.inference.rows import answer_patterns, answer_whole
from bayeskit.inference.tree import Tree, make_tree
from bayeskit.inference.triangulation import triangulate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_MEMORY = 2**30
# A tree with fewer cells answers everything: planning for a pattern of evidence would cost more than it saves.
SMALL_TREE = 1e5
# Below this share of the cells, slicing the evidence out pays for planning anew.
WORTH_SLICING = 0.5
# The filled tables of a larger tree are made again for each question instead of being kept beside.
LARGEST_KEPT = 2e7
_NOTHING = np.empty(0, np.int64)


class Exact:
    """Answers to any question about one set of potentials. Impossible evidence gives log_probability −inf.

    Safe to share between threads: what it keeps is immutable, what a question needs is its own.
    """

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials
        self.plans = Plans()
        self._lock = threading.RLock()
        self._loaded: dict[int, Loaded] = {}
        free = np.full(potentials.n_variables, -1, np.int64)
        self._problem = make_problem(potentials, free, None)
        self._free = free
        self._triangulation = triangulate(self._problem)
        self.is_small = self._triangulation.cells <= SMALL_TREE

    def marginals(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> tuple[Floats, float]:
        """Return P(x_v | e) of every variable, one after the other (potentials.offsets), and log P(e).

        Where log P(e) is −inf the numbers mean nothing. Observed variables are one-hot.
        """
        if self.is_small:
            log_p, found, _ = self._whole(max_memory).ask(evidence.codes, evidence.likelihoods)
            return found, log_p
        return self._all(evidence, max_memory, take_max=False)

    def joint(
        self, targets: tuple[int, ...], evidence: Evidence, max_memory: float = MAX_MEMORY
    ) -> tuple[Floats, float]:
        """Return P(targets | e) with one axis for each target in the order asked, and log P(e)."""
        if self.is_small and len(targets) == 1:
            found, log_p = self.marginals(evidence, max_memory)
            start, end = self.potentials.offsets[targets[0] : targets[0] + 2].tolist()
            return found[start:end], log_p
        p = self.potentials
        shape = [int(p.sizes[v]) for v in targets]
        free = [v for v in targets if evidence.codes[v] < 0]
        tree = self._tree_for(tuple(sorted(free)), evidence, max_memory)
        loaded = Loaded.of(tree, p, evidence.codes)
        log_p, _, pot = loaded.ask(_NOTHING, evidence.likelihoods, marginals=False, keep=False)
        out = np.zeros(shape)
        if log_p == -np.inf:
            return out, log_p
        index = tuple(slice(None) if evidence.codes[v] < 0 else evidence.codes[v] for v in targets)
        out[index] = _root_margin(tree, pot, free) if free else 1.0
        return out, log_p

    def log_probability(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> float:
        """Return log P(e); of a Markov network, log of the sum over all states that agree with e."""
        if self.is_small:
            return self._whole(max_memory).ask(evidence.codes, evidence.likelihoods, marginals=False)[0]
        return self.joint((), evidence, max_memory)[1]

    def max_marginals(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> tuple[Floats, float]:
        """Return for each state of each variable the largest joint probability with it, relative to the largest
        of all, and the log of that one."""
        if self.is_small:
            whole = self._whole(max_memory)
            log_p, found, _ = whole.ask(evidence.codes, evidence.likelihoods, take_max=True)
            return found, log_p
        return self._all(evidence, max_memory, take_max=True)

    def mpe(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> Assignment:
        """Return the most probable state of everything; ties go to the lowest states, variables in order."""
        return most_probable(self, evidence, max_memory)

    def map(self, targets: tuple[int, ...], evidence: Evidence, max_memory: float = MAX_MEMORY) -> Assignment:
        """Return the most probable states of the targets (in their order), the rest summed out."""
        try:
            joint, log_p = self.joint(targets, evidence, max_memory)
        except TooLarge:
            return most_probable_targets(self.potentials, targets, evidence, max_memory)
        return first_of_best(joint, targets, log_p)

    def batch(self, rows: Ints, target: int, max_memory: float = MAX_MEMORY) -> tuple[Floats, Floats]:
        """Return P(target | row) of each row of codes (−1: missing) and log P(row).

        The target's own column is not looked at. Rows that are impossible have log P −inf.
        """
        if self.is_small:
            return answer_whole(self, self._whole(max_memory, target), rows, target, max_memory)
        return answer_patterns(self, rows, target, max_memory)

    def _all(self, evidence: Evidence, max_memory: float, *, take_max: bool) -> tuple[Floats, float]:
        """Answer about every variable of a network whose tree is not small."""
        p, codes = self.potentials, evidence.codes
        tree = self._sliced_tree(codes, max_memory)
        if tree is None:
            log_p, found, _ = self._whole(max_memory).ask(
                codes, evidence.likelihoods, take_max=take_max, keep=self._keeps_tables
            )
            return found, log_p
        loaded = Loaded.of(tree, p, codes)
        log_p, found, _ = loaded.ask(_NOTHING, evidence.likelihoods, take_max=take_max, keep=False)
        out = np.zeros(int(p.offsets[-1]))
        if log_p > -np.inf:
            seen = np.flatnonzero(codes >= 0)
            out[p.offsets[seen] + codes[seen]] = 1.0
            free = tree.shape.problem.variables
            out[np.repeat(p.offsets[free] - tree.start[:-1], p.sizes[free]) + np.arange(len(found))] = found
        return out, log_p

    def _sliced_tree(self, codes: Ints, max_memory: float) -> Tree | None:
        """Return the tree of what is left when the observed variables are gone; None: the whole tree will do."""
        if (codes < 0).all():
            return None
        key = ("all", (codes >= 0).tobytes())
        tree = self.plans.get(key)
        if tree is None:
            problem = make_problem(self.potentials, codes, None)
            triangulation = triangulate(problem)
            if self._keeps_tables and triangulation.cells > WORTH_SLICING * self._triangulation.cells:
                return None
            tree = make_tree(guarded_shape(self.potentials, problem, triangulation, max_memory))
            self.plans.keep(key, tree)
        return tree

    def _tree_for(self, free: tuple[int, ...], evidence: Evidence, max_memory: float) -> Tree:
        """Return the tree that has the free targets in the clique on top, and nothing that does not matter."""
        codes = evidence.codes
        key: Hashable = (free, (codes >= 0).tobytes(), tuple(evidence.likelihoods))
        tree = self.plans.get(key)
        if tree is None:
            asked = codes >= 0
            asked[list(free)] = True
            asked[list(evidence.likelihoods)] = True
            problem = make_problem(self.potentials, codes, asked, free)
            triangulation = triangulate(problem)
            tree = make_tree(
                guarded_shape(
                    self.potentials,
                    problem,
                    triangulation,
                    max_memory,
                    root=triangulation.first_of([int(problem.place[v]) for v in free]),
                )
            )
            self.plans.keep(key, tree)
        return tree

    @property
    def _keeps_tables(self) -> bool:
        return self._triangulation.cells <= LARGEST_KEPT

    def _whole(self, max_memory: float, target: int = -1) -> Loaded:
        """Return the tree of the whole network, filled; the target's clique on top."""
        loaded = self._loaded.get(target)
        if loaded is None:
            with self._lock:
                shape = guarded_shape(
                    self.potentials, self._problem, self._triangulation, max_memory, root=target, rows=2
                )
                loaded = Loaded.of(make_tree(shape), self.potentials, self._free)
                if len(self._loaded) > 8:
                    self._loaded.clear()
                if self._keeps_tables:
                    self._loaded[target] = loaded
        elif loaded.nbytes > max_memory:
            # The same question under a lower limit than before.
            guarded_shape(self.potentials, self._problem, self._triangulation, max_memory, rows=2)
        return loaded


def _root_margin(tree: Tree, pot: Floats, targets: list[int]) -> Floats:
    """Return the targets' distribution, which the clique on top holds."""
    shape = tree.shape
    places = [int(shape.problem.place[v]) for v in targets]
    c = shape.owner[shape.when[places].min()]
    axes = shape.axes[shape.axis_start[c] : shape.axis_start[c] + shape.length[c]].tolist()
    table = pot[shape.offset[c] : shape.offset[c] + shape.table_cells[c]].reshape(shape.problem.sizes[axes])
    kept = [v for v in axes if v in places]
    margin = table.sum(axis=tuple(a for a, v in enumerate(axes) if v not in places))
    margin = margin.transpose([kept.index(v) for v in places])
    return np.asarray(margin / margin.sum())
