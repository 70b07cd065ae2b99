"""Exact inference on a set of potentials: chooses a clique tree for each query and limits its memory."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.clique_tree import (
    Tree,
    guarded_shape,
    make_tree,
    require,
    require_table,
    shape_tree,
)
from bayeskit._inference.filled_tree import FilledTree
from bayeskit._inference.most_probable import Assignment, first_of_best, most_probable, most_probable_targets
from bayeskit._inference.one_way import top_margin
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.relevant import ancestral, is_directed
from bayeskit._inference.row_posteriors import (
    BatchTree,
    answer_patterns,
    answer_whole,
    completed_one_by_one,
    expected_one_by_one,
    family_margins,
    margins_one_by_one,
)
from bayeskit._inference.sampling.estimate import Cells
from bayeskit._inference.sampling.forward import Forward
from bayeskit._inference.sampling.likelihood_weighting import weighted_cells
from bayeskit._inference.triangulation import (
    BEYOND,
    Problem,
    Triangulation,
    by_min_fill,
    make_problem,
    numbered,
    triangulate,
)
from bayeskit._inference.two_pass import TwoPass, all_margins, all_margins_by_roots
from bayeskit.errors import SettingError, TooLarge
from bayeskit.typing import Floats, Ints

MAX_MEMORY = 2**30

# One name bound to one number: reading it is atomic, so threads need no lock.
_max_memory: float = MAX_MEMORY


def set_max_memory(n_bytes: float) -> float:
    """Set the default memory limit of exact inference, in bytes, and return the previous one.

    Parameters
    ----------
    n_bytes : number
        The limit for calls without ``max_memory``. Initially 2**30 (one GiB). ``math.inf`` removes the limit.

    Examples
    --------
    >>> before = set_max_memory(2**31)
    >>> get_max_memory() == set_max_memory(before) == 2**31
    True
    """
    global _max_memory
    before, _max_memory = _max_memory, _checked(n_bytes, "n_bytes")
    return before


def get_max_memory() -> float:
    """Return the default memory limit of exact inference, in bytes."""
    return _max_memory


def allowed(max_memory: float | None) -> float:
    """Return the limit of a call in bytes: its argument, or the default if that is None."""
    return _max_memory if max_memory is None else _checked(max_memory, "max_memory")


def _checked(given: float, name: str) -> float:
    number = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    if not number or math.isnan(given) or given <= 0:
        raise SettingError(
            "{name} is {given!r}; give a positive number of bytes, such as 2**30.", name=name, given=given
        )
    # A Python number, because sizes beyond 64 bits are compared with it.
    return given.item() if isinstance(given, np.generic) else given


LARGEST = 64 * 2**20


class Plans:
    """A cache of trees, bounded in bytes. Trees are immutable, so one may be in use while it is evicted."""

    def __init__(self, max_bytes: int = LARGEST) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._trees: OrderedDict[Hashable, Tree] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._trees)

    def get(self, key: Hashable) -> Tree | None:
        with self._lock:
            tree = self._trees.get(key)
            if tree is not None:
                self._trees.move_to_end(key)
            return tree

    def keep(self, key: Hashable, tree: Tree) -> None:
        """Store a tree unless it alone would take more than a quarter of the cache."""
        if 4 * tree.nbytes > self.max_bytes:
            return
        with self._lock:
            if key not in self._trees:
                self._trees[key] = tree
                self.bytes += tree.nbytes
            while self.bytes > self.max_bytes:
                _, old = self._trees.popitem(last=False)
                self.bytes -= old.nbytes


# A tree with fewer cells answers every query: planning for a pattern of evidence would cost more than it saves.
SMALL_TREE = 1e5
# If min-fill needs this many times as many cells, other orders are not tried: on known networks they save up to 47.
HOPELESS = 50.0
# If slicing out the evidence leaves less than this share of the cells, it is worth a new plan.
WORTH_SLICING = 0.5
# Above this size, filled tables are not cached but computed again for each query.
LARGEST_CACHED = 2e7
# With more hidden variables than this, a network is not split as a whole, but for each query.
MOST_HIDDEN = 4096
_NOTHING = np.empty(0, np.int64)


class Exact:
    """Exact queries on one set of potentials. Impossible evidence has log_probability −inf.

    Safe to share between threads: cached objects are immutable, and each query owns its buffers.
    """

    def __init__(self, potentials: Potentials, *, for_one_query: bool = False) -> None:
        """Prepare for any query, or, for one query, without a look at the complete network."""
        self.potentials = potentials
        self.plans = Plans()
        self._lock = threading.RLock()
        self._filled: dict[int, FilledTree] = {}
        self._asked_once: Tree | None = None
        self._free = np.full(potentials.n_variables, -1, np.int64)
        self._for_one_query = for_one_query
        # Whether one tree of the complete network answers every query.
        self.is_small = not for_one_query and self._fits_one_tree()

    def _fits_one_tree(self) -> bool:
        p = self.potentials
        if len(p.values) > SMALL_TREE or any(p.cells_given(f, self._free) > SMALL_TREE for f in p.rules):
            return False
        if by_min_fill(self._problem, HOPELESS * SMALL_TREE).cells == math.inf:
            return False
        return self._triangulation.cells <= SMALL_TREE

    @cached_property
    def _problem(self) -> Problem:
        return make_problem(self.potentials, self._free, None)

    @cached_property
    def _triangulation(self) -> Triangulation:
        return triangulate(self._problem)

    def elimination(self) -> tuple[list[int], float]:
        """Return the elimination order of all variables, and the cells of the cliques that follow from it.

        The cells are infinite if there are too many to count.
        """
        if any(self.potentials.cells_given(f, self._free) > SMALL_TREE for f in self.potentials.rules):
            return [], math.inf
        found = self._triangulation
        if found.cells > BEYOND:
            return [], math.inf
        order = self._problem.variables[found.order].tolist()
        return order, float(shape_tree(self._problem, found).table_cells.sum())

    @cached_property
    def _has_many_chains(self) -> bool:
        return sum(map(self.potentials.width, self.potentials.structures)) > MOST_HIDDEN

    @cached_property
    def _split(self) -> Exact | None:
        """The engine of the network with every structured factor split, if one small tree is enough for all of it."""
        p = self.potentials
        if self._has_many_chains:
            return None
        made = Exact(p.split(self._free, p.structures))
        return made if made.is_small else None

    def _summing(self, targets: Sequence[int] | None, evidence: Evidence) -> tuple[Exact, Evidence] | None:
        """Return an engine with the structured factors that matter to the targets (None: all) split, and its evidence.

        None if they are tables that are good enough. Its hidden variables may be summed out, never maximised over.
        """
        p, codes = self.potentials, evidence.codes
        if not p.structures or self.is_small:
            return None
        if self._split is not None:
            return self._split, evidence.padded(self._split.potentials.n_variables)
        free = range(p.n_variables) if targets is None else targets
        problem = self._problem_for(tuple(v for v in free if codes[v] < 0), evidence)
        factors = [f for f in p.structures if problem.kept[f]]
        if p.rules.keys().isdisjoint(factors) and (
            not factors or triangulate(problem).cells <= LARGEST_CACHED
        ):
            return None
        made = Exact(p.split(codes, factors), for_one_query=True)
        return made, evidence.padded(made.potentials.n_variables)

    def marginals(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> tuple[Floats, float]:
        """Return P(x_v | e) of every variable, one after the other (potentials.offsets), and log P(e).

        If log P(e) is −inf, the numbers are undefined. Observed variables are one-hot.
        """
        if self.is_small:
            log_p, found, _ = self._whole(max_memory).ask(evidence.codes, evidence.likelihoods)
            return found, log_p
        if self.potentials.structures and self._has_many_chains:
            return self._marginals_in_parts(evidence, max_memory)
        if (summing := self._summing(None, evidence)) is not None:
            engine, padded = summing
            try:
                found, log_p = engine.marginals(padded, max_memory)
                return found[: int(self.potentials.offsets[-1])], log_p
            except TooLarge:
                return self._marginals_in_parts(evidence, max_memory)
        try:
            tree, log_p, found, _ = self._propagate(evidence, max_memory, take_max=False)
        except TooLarge as error:
            if error.bytes_needed > 8.0 * BEYOND:
                raise
            tree, log_p, found = self._one_table_at_a_time(evidence, max_memory)
        if log_p == -np.inf or len(found) == self.potentials.offsets[-1]:
            return found, log_p
        return self._in_place(tree, found, evidence.codes), log_p

    def _one_table_at_a_time(self, evidence: Evidence, max_memory: float) -> tuple[Tree, float, Floats]:
        """Return a tree of the free variables, log P(e) and their marginals, in little more memory than log P(e)."""
        p, codes = self.potentials, evidence.codes
        if (codes < 0).all():
            problem, triangulation = self._problem, self._triangulation
        else:
            problem = make_problem(p, codes, None)
            triangulation = triangulate(problem)
        tree = make_tree(guarded_shape(p, problem, triangulation, max_memory, one_way=True))
        plan = TwoPass(tree.shape, max_memory)
        if plan.passes is None:
            by_roots = all_margins_by_roots(tree, triangulation, p, evidence, max_memory)
            if by_roots is not None:
                return tree, *by_roots
        require(p, plan.bytes, max_memory, tree.shape)
        log_p, found = all_margins(tree, plan, p, evidence)
        if math.isnan(log_p):  # logs need all tables
            tree = make_tree(guarded_shape(p, problem, triangulation, max_memory))
            filled = FilledTree.of(tree, p, codes)
            log_p, found, _ = filled.ask(_NOTHING, evidence.likelihoods, keep=False)
        return tree, log_p, found

    def _in_place(self, tree: Tree, found: Floats, codes: Ints) -> Floats:
        """Return the marginals of a tree in the layout of all variables, with those that are observed."""
        p = self.potentials
        out = np.zeros(int(p.offsets[-1]))
        seen = np.flatnonzero(codes >= 0)
        out[p.offsets[seen] + codes[seen]] = 1.0
        free = tree.shape.problem.variables
        out[np.repeat(p.offsets[free] - tree.start[:-1], p.sizes[free]) + np.arange(len(found))] = found
        return out

    def _marginals_in_parts(self, evidence: Evidence, max_memory: float) -> tuple[Floats, float]:
        """Return what ``marginals`` does: the ancestors of the evidence from one tree, all others one by one.

        A node without observed descendants would only widen the tree of the others.
        """
        p, codes = self.potentials, evidence.codes
        seeds = [*np.flatnonzero(codes >= 0).tolist(), *evidence.likelihoods]
        near = ancestral(p, seeds) & (codes < 0)
        out, log_p = np.zeros(int(p.offsets[-1])), 0.0
        try:
            if seeds:
                out, log_p = self._near(seeds, evidence, max_memory)
        except TooLarge:
            near[:] = False
            out[p.offsets[seeds] + np.maximum(codes[seeds], 0)] = 1.0
        for v in np.flatnonzero((codes < 0) & ~near).tolist():
            if log_p == -np.inf:
                break
            out[p.offsets[v] : p.offsets[v + 1]], log_p = self.joint((v,), evidence, max_memory)
        return out, log_p

    def _near(self, seeds: Sequence[int], evidence: Evidence, max_memory: float) -> tuple[Floats, float]:
        """Return the marginals of the ancestors of the evidence, zeros for others, and log P(e)."""
        engine, padded = self._summing((), evidence) or (self, evidence)
        p = engine.potentials
        required = np.zeros(p.n_variables, np.bool_)
        required[list(seeds)] = True
        problem = make_problem(p, padded.codes, required)
        tree = make_tree(guarded_shape(p, problem, triangulate(problem), max_memory))
        filled = FilledTree.of(tree, p, padded.codes)
        log_p, found, _ = filled.ask(_NOTHING, evidence.likelihoods, keep=False)
        if log_p == -np.inf:
            return np.zeros(int(self.potentials.offsets[-1])), log_p
        return engine._in_place(tree, found, padded.codes)[: int(self.potentials.offsets[-1])], log_p

    def joint(
        self, targets: tuple[int, ...], evidence: Evidence, max_memory: float = MAX_MEMORY
    ) -> tuple[Floats, float]:
        """Return P(targets | e), with one axis for each target in the given order, and log P(e)."""
        p = self.potentials
        if self.is_small and len(targets) == 1:
            found, log_p = self.marginals(evidence, max_memory)
            start, end = p.offsets[targets[0] : targets[0] + 2].tolist()
            return found[start:end] if log_p > -np.inf else np.zeros(end - start), log_p
        if (summing := self._summing(targets, evidence)) is not None:
            return summing[0].joint(targets, summing[1], max_memory)
        # Variables with one state are alone in their cliques.
        free = [v for v in targets if evidence.codes[v] < 0 and p.sizes[v] > 1]
        require_table(p, free, max_memory)
        tree = self._tree_for(tuple(sorted(free)), evidence, max_memory)
        return top_margin(tree, p, targets, free, evidence, max_memory)

    def posterior(
        self, targets: tuple[int, ...], evidence: Evidence, max_memory: float = MAX_MEMORY
    ) -> Floats | None:
        """Return P(targets | e) as ``joint`` does; None if e is impossible.

        It also works if log P(e) would need too much memory, as long as the part of the network that is
        connected with the targets does not.
        """
        if (summing := self._summing(targets, evidence)) is not None:
            return summing[0].posterior(targets, summing[1], max_memory)
        try:
            found, log_p = self.joint(targets, evidence, max_memory)
        except TooLarge:
            p, codes = self.potentials, evidence.codes
            free = [v for v in targets if codes[v] < 0 and p.sizes[v] > 1]
            require_table(p, free, max_memory)
            problem = connected(p, self._problem_for(tuple(free), evidence), free, evidence)
            if problem is None or not free:
                raise
            tree = self._planned(problem, free, max_memory)
            near = {v: w for v, w in evidence.likelihoods.items() if problem.place[v] >= 0}
            found, log_p = top_margin(tree, p, targets, free, Evidence(codes, near), max_memory)
        return found if log_p > -np.inf else None

    def log_probability(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> float:
        """Return log P(e); of a Markov network, log of the sum over all states that agree with e."""
        if self.is_small:
            return self._whole(max_memory).ask(evidence.codes, evidence.likelihoods, marginals=False)[0]
        if (summing := self._summing((), evidence)) is not None:
            return summing[0].log_probability(summing[1], max_memory)
        return self.joint((), evidence, max_memory)[1]

    def family_margins(
        self, evidence: Evidence, max_memory: float = MAX_MEMORY
    ) -> tuple[list[Floats], float]:
        """Return P(scope | e) of every factor, an axis for each variable of its scope, and log P(e).

        All come from one pass of messages. The list is empty if log P(e) is −inf.
        """
        for f in self.potentials.rules:
            require_table(self.potentials, self.potentials.scope_of(f), max_memory)
        tree, log_p, _, pot = self._propagate(evidence, max_memory, take_max=False)
        if log_p == -np.inf:
            return [], log_p
        return list(family_margins(tree, pot, self.potentials, evidence)), log_p

    def max_tables(
        self, evidence: Evidence, max_memory: float = MAX_MEMORY
    ) -> tuple[Tree, float, Floats, Floats]:
        """Return a tree of the free variables, the log of the largest joint probability, and max-marginals.

        The max-marginals are relative to it: of each state of each variable, and of each cell of the tree's tables.
        """
        return self._propagate(evidence, max_memory, take_max=True)

    def mpe(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> Assignment:
        """Return the most probable state of every variable; ties go to the lowest states, first variables first."""
        p, engine = self.potentials, self
        if p.structures and not self.is_small:
            # What was observed may leave factors without hidden variables, which may be maximised over.
            engine = Exact(p.split(evidence.codes, p.structures, with_hidden=False), for_one_query=True)
        return most_probable(engine, evidence, max_memory)

    def map(self, targets: tuple[int, ...], evidence: Evidence, max_memory: float = MAX_MEMORY) -> Assignment:
        """Return the most probable states of the targets, in their order, with all other variables summed out."""
        several = tuple(v for v in targets if self.potentials.sizes[v] > 1)
        try:
            joint, log_p = self.joint(several, evidence, max_memory)
        except TooLarge:
            engine, evidence = self._summing(targets, evidence) or (self, evidence)
            return most_probable_targets(engine.potentials, targets, evidence, max_memory)
        best = dict(zip(several, (found := first_of_best(joint, several, log_p)).codes, strict=True))
        return Assignment(np.array([best.get(v, 0) for v in targets], np.int64), found.log_probability)

    def batch(self, rows: Ints, target: int, max_memory: float = MAX_MEMORY) -> tuple[Floats, Floats]:
        """Return P(target | row) and log P(row) for each row of codes; the code after the last state means missing.

        The target's own column is ignored. Impossible rows have log P −inf.
        """
        if self.is_small:
            return answer_whole(self, self._whole(max_memory, target), rows, target, max_memory)
        if self.potentials.structures and self._split is not None:
            hidden = self._split.potentials.sizes[self.potentials.n_variables :]
            missing = np.broadcast_to(hidden, (len(rows), len(hidden)))
            return self._split.batch(np.hstack([rows, missing]), target, max_memory)
        return answer_patterns(self, rows, target, max_memory)

    def expected(
        self, rows: Ints, weights: Floats, max_memory: float = MAX_MEMORY, n_jobs: int | None = None
    ) -> tuple[Floats, Floats]:
        r"""Return the expected counts of every factor's cells, and log P(row) of each row: the E-step.

        .. math:: \bar n_{f, x} = \sum_i w_i \, P(x_f = x \mid \text{row}_i)

        Counts have the layout of ``potentials.values``. An impossible row has log P −inf and adds nothing.
        """
        batches = self._batches(max_memory, n_jobs)
        if batches is None:
            return expected_one_by_one(self, rows, weights, max_memory)
        return batches.expected(rows, weights)

    def margins_rows(
        self, rows: Ints, max_memory: float = MAX_MEMORY, n_jobs: int | None = None
    ) -> tuple[Floats, Floats]:
        """Return P(x_v | row) of every variable, one after the other (potentials.offsets), and log P(row), by rows.

        An impossible row has log P −inf and zeros.
        """
        batches = self._batches(max_memory, n_jobs)
        return margins_one_by_one(self, rows, max_memory) if batches is None else batches.margins(rows)

    def completed(
        self, rows: Ints, max_memory: float = MAX_MEMORY, n_jobs: int | None = None
    ) -> tuple[Ints, Floats]:
        """Return each row with missing cells filled by their most probable states, and the log of that probability.

        Ties are broken arbitrarily but reproducibly.
        """
        batches = self._batches(max_memory, n_jobs)
        return completed_one_by_one(self, rows, max_memory) if batches is None else batches.completed(rows)

    def with_values(self, values: Floats) -> Exact:
        """Return an engine with other numbers in the same tables. Trees are shared, since they depend on sizes only."""
        made = object.__new__(Exact)
        made.__dict__.update(self.__dict__, _triangulation=self._triangulation, _split=None)
        made.potentials = replace(self.potentials, values=values, structures={})
        made._lock = threading.RLock()
        with self._lock:
            trees = {target: filled.tree for target, filled in self._filled.items()}
        made._filled = {
            target: FilledTree.of(tree, made.potentials, self._free) for target, tree in trees.items()
        }
        return made

    def _batches(self, max_memory: float, n_jobs: int | None) -> BatchTree | None:
        """Return the complete tree for many rows at once; None if it is too large."""
        if not self.is_small:
            return None
        try:
            return BatchTree(self, self._whole(max_memory), max_memory, n_jobs)
        except TooLarge:
            return None

    def _propagate(
        self, evidence: Evidence, max_memory: float, *, take_max: bool
    ) -> tuple[Tree, float, Floats, Floats]:
        """Query the complete tree or, if it is worth it, a tree without the observed variables."""
        codes, weights = evidence.codes, evidence.likelihoods
        tree = None if self.is_small else self._sliced_tree(codes, max_memory)
        if tree is None:
            whole, keep = self._tables_of_all(max_memory)
            return whole.tree, *whole.ask(codes, weights, take_max=take_max, keep=keep)
        filled = FilledTree.of(tree, self.potentials, codes)
        return tree, *filled.ask(_NOTHING, weights, take_max=take_max, keep=False)

    def _sliced_tree(self, codes: Ints, max_memory: float) -> Tree | None:
        """Return a tree without the observed variables; None if the complete tree is good enough."""
        if (codes < 0).all():
            return None
        key = ("all", (codes >= 0).tobytes())
        tree = self._plan(key, max_memory)
        if tree is None:
            problem = make_problem(self.potentials, codes, None)
            triangulation = triangulate(problem)
            if self._keeps_tables and triangulation.cells > WORTH_SLICING * self._triangulation.cells:
                return None
            tree = make_tree(guarded_shape(self.potentials, problem, triangulation, max_memory))
            self.plans.keep(key, tree)
        return tree

    def _tree_for(self, free: tuple[int, ...], evidence: Evidence, max_memory: float) -> Tree:
        """Return the tree with the free targets in its root clique, without irrelevant variables."""
        key: Hashable = (free, (evidence.codes >= 0).tobytes(), tuple(evidence.likelihoods))
        tree = self._plan(key, max_memory, one_way=True)
        if tree is None:
            tree = self._planned(self._problem_for(free, evidence), free, max_memory)
            self.plans.keep(key, tree)
        return tree

    def _problem_for(self, free: tuple[int, ...], evidence: Evidence) -> Problem:
        required = evidence.codes >= 0
        required[list(free)] = True
        required[list(evidence.likelihoods)] = True
        return make_problem(self.potentials, evidence.codes, required, free)

    def _planned(self, problem: Problem, free: Sequence[int], max_memory: float) -> Tree:
        triangulation = triangulate(problem)
        root = triangulation.first_of([int(problem.place[v]) for v in free])
        return make_tree(
            guarded_shape(self.potentials, problem, triangulation, max_memory, root=root, one_way=True)
        )

    def _plan(self, key: Hashable, max_memory: float, *, one_way: bool = False) -> Tree | None:
        """Return the cached tree of a query if the current limit allows it."""
        tree = self.plans.get(key)
        if tree is not None:
            shape = tree.shape
            needed = shape.bytes_one_way if one_way else shape.bytes_of_maps + shape.bytes_used()
            require(self.potentials, needed, max_memory, tree.shape)
        return tree

    @cached_property
    def _keeps_tables(self) -> bool:
        return not self._for_one_query and self._triangulation.cells <= LARGEST_CACHED

    def _tables_of_all(self, max_memory: float) -> tuple[FilledTree, bool]:
        """Return the filled tree of the complete network, and whether its tables are needed again.

        Tables that are not small are kept from the second query on. The first one modifies them, in half the memory.
        """
        if self.is_small or -1 in self._filled:
            return self._whole(max_memory), True
        with self._lock:
            tree = self._asked_once
            if tree is None:
                tree = make_tree(
                    guarded_shape(self.potentials, self._problem, self._triangulation, max_memory)
                )
                if self._keeps_tables:
                    self._asked_once = tree
            elif tree.shape.bytes_of_maps + tree.shape.bytes_used(2) <= max_memory:
                return self._whole(max_memory), True
        require(self.potentials, tree.shape.bytes_of_maps + tree.shape.bytes_used(), max_memory, tree.shape)
        return FilledTree.of(tree, self.potentials, self._free), False

    def _whole(self, max_memory: float, target: int = -1) -> FilledTree:
        """Return the filled tree of the complete network, with the target's clique as root."""
        filled = self._filled.get(target)
        if filled is None:
            with self._lock:
                if target in self._filled:  # built while this thread waited
                    return self._whole(max_memory, target)
                rows = 2 if self._keeps_tables else 1  # tables that are not cached are modified in place
                shape = guarded_shape(
                    self.potentials, self._problem, self._triangulation, max_memory, root=target, rows=rows
                )
                tree = self._asked_once if target < 0 else None
                filled = FilledTree.of(tree or make_tree(shape), self.potentials, self._free)
                if len(self._filled) > 8:
                    self._filled.clear()
                if self._keeps_tables:
                    self._filled[target] = filled
        elif filled.nbytes > max_memory:
            # The same query with a lower limit than before.
            guarded_shape(self.potentials, self._problem, self._triangulation, max_memory, rows=2)
        return filled


ROWS_TRIED = 4096


def connected(
    potentials: Potentials, problem: Problem, targets: Sequence[int], evidence: Evidence
) -> Problem | None:
    """Return the problem without everything that is not connected with the targets; None if that changes the answer.

    What is not connected multiplies every cell of the targets by the same number, so it matters only if that
    number is zero. It is not zero if all its factors are positive, or if some complete assignment agrees with
    the evidence. For the latter, one of a few thousand sampled rows is enough.
    """
    near = _reached(problem, [int(problem.place[v]) for v in targets])
    places = potentials.scope
    held = problem.place[places] >= 0
    held[held] = near[problem.place[places[held]]]
    factor_of = np.repeat(np.arange(potentials.n_factors), np.diff(potentials.scope_start))
    kept = problem.kept & (np.bincount(factor_of, held, potentials.n_factors) > 0)
    positive = all(
        potentials.is_positive(f, evidence.codes) for f in np.flatnonzero(problem.kept & ~kept).tolist()
    )
    needed = np.zeros(potentials.n_variables, np.bool_)
    # Variables with one state are connected with nothing, but they are axes of the remaining factors.
    needed[problem.variables[near | (problem.sizes == 1)]] = True
    for v, weight in evidence.likelihoods.items():
        code = int(evidence.codes[v])
        positive = positive and (needed[v] or bool((weight if code < 0 else weight[code]).any()))
    if not positive and not _seen_possible(potentials, evidence):
        return None
    return numbered(potentials, evidence.codes, needed, kept, tuple(targets))


def _seen_possible(potentials: Potentials, evidence: Evidence) -> bool:
    """Whether some of the sampled rows of a Bayesian network agree with the evidence."""
    if not is_directed(potentials):
        return False
    rng = np.random.default_rng(0)  # fixed, so that the same query has the same answer
    nothing = Cells.of(potentials, (), evidence)
    _, log_weights = weighted_cells(Forward.of(potentials), nothing, evidence, ROWS_TRIED, rng)
    return bool(log_weights.max() > -np.inf)


def _reached(problem: Problem, places: list[int]) -> NDArray[np.bool_]:
    """Return which variables are connected with these places, including themselves."""
    near = np.zeros(len(problem.sizes), np.bool_)
    near[places] = True
    waiting = list(places)
    while waiting:
        row = problem.adjacency[waiting.pop()].astype("<u8").view(np.uint8)
        new = np.flatnonzero(np.unpackbits(row, count=len(near), bitorder="little"))
        new = new[~near[new]]
        near[new] = True
        waiting += new.tolist()
    return near
