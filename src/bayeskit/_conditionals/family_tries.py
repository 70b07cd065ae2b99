r"""Families with any number of parents: log-probabilities from sparse counts and a prior.

.. math:: \hat P(x \mid u_1, \dots, u_k, c) = \frac{n_k + a_x}{N_k + \sum_v a_v}

or, with :class:`~bayeskit.priors.BackOff`, the same shrunk towards the estimates with fewer parents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.back_off import Trie, choose_constants, lay_tries
from bayeskit._conditionals.conditional import (
    DiscreteConditional,
    DrawRule,
    ParameterPosterior,
    Workings,
    no_formula,
)
from bayeskit._conditionals.kernels.trie_scores import (
    BACK_OFF,
    MOST_CONFIGURATIONS,
    PLAIN,
    WITTEN_BELL,
    Order,
    Rule,
    Scratch,
    add_sums,
    family,
    find_holes,
)
from bayeskit._conditionals.scoring import Family, Marginal, Score
from bayeskit._data.encoded import Chunk
from bayeskit._messages import Message
from bayeskit._schema import LARGEST_BYTE_TABLE, Schema
from bayeskit._statistics.families import Families
from bayeskit._statistics.part import never_counted
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError
from bayeskit.priors import BackOff, Smoothing, TablePrior, WittenBell, one_more_cell
from bayeskit.typing import Codes, Floats

# The number of rows to score at a time, so that their products stay in the L2 cache.
_BLOCK_ROWS = 4096
# The number of cells of a table to look up at a time, so that intermediate arrays stay small.
_BLOCK_CELLS = 65_536
# The maximum number of cells of one table in SQL, ONNX and JSON, over all joint states of the parents.
MOST_WRITTEN = 2**22


@dataclass(frozen=True, eq=False)
class FamilyTries(DiscreteConditional):
    """log P(x | parents, c) of some attributes, each with its own parents.

    A missing child is left out. If parents are missing, the product of all families, including their own, is summed
    over the joint states of the missing attributes that have a present descendant, if there are at most 4,096 joint
    states. Otherwise each family uses the parents before its first missing one. (With ``unseen="smooth"``, unseen is
    an additional state in the sum.)

    Attributes
    ----------
    trie : Trie
        The counts.
    rule : Rule
        The rule that turns counts into probabilities.
    n_classes : int
    """

    trie: Trie
    rule: Rule
    n_classes: int

    @property
    def constants(self) -> Floats:
        """The constants of each level of each family, one family after the other; used only by back-off."""
        return np.asarray(self.rule.constants)

    def n_parents(self, f: int) -> int:
        return int(self.trie.first_parent[f + 1] - self.trie.first_parent[f])

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        self._add(chunk.codes, np.zeros(chunk.n_rows, np.uint32), np.zeros(chunk.n_rows), out)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed.

        The states and the back-off constants are kept fixed.
        """
        assert chunk.target is not None
        least = self._add(chunk.codes, chunk.target, np.asarray(own, np.float64), out)
        if least < 0.0:
            raise never_counted(least)

    def _add(self, codes: Codes, target: Codes, own: Floats, out: Floats) -> float:
        """Add complete rows one block at a time, then the others one by one."""
        holes = np.empty(len(codes), np.bool_)
        n_holes = find_holes(self.trie, codes, holes)
        if not n_holes:
            return self._add_whole(codes, target, own, out)
        least, rows = 0.0, np.flatnonzero(~holes)
        if len(rows):
            whole = np.zeros((len(rows), self.n_classes))
            least = self._add_whole(codes[rows], target[rows], own[rows], whole)
            out[rows] += whole
        scratch = self._scratch(MOST_CONFIGURATIONS, codes.dtype)
        arguments = (np.flatnonzero(holes), codes, target, own, scratch, out)
        return min(least, float(add_sums(self.trie, self.rule, self._order, *arguments)))

    def add_known(
        self,
        codes: Codes,
        out: Floats,
        target: Codes | None = None,
        own: Floats | None = None,
        there: NDArray[np.bool_] | None = None,
        families: Sequence[int] | None = None,
    ) -> None:
        """Add rows in which all parents of every present child are present.

        Parameters
        ----------
        target, own : arrays of shape (n,), optional
            The class and the weight to leave out.
        there : bool array of shape (n, d), optional
            Whether a code is the row's own. Only then is the row part of the counts.
        families : sequence of int, optional
            The families to add. By default, all.
        """
        n = len(codes)
        classes = np.zeros(n, np.uint32) if target is None else target
        weight = np.zeros(n) if own is None else own
        least = self._add_whole(codes, classes, weight, out, there, families)
        if least < 0.0:
            raise never_counted(least)

    def _add_whole(
        self,
        codes: Codes,
        target: Codes,
        own: Floats,
        out: Floats,
        there: NDArray[np.bool_] | None = None,
        families: Sequence[int] | None = None,
    ) -> float:
        """Add complete rows, one family at a time, so that its counts stay in the cache."""
        s, least = self._scratch(min(_BLOCK_ROWS, len(codes)), codes.dtype), 0.0
        for start in range(0, len(codes), _BLOCK_ROWS):
            some = slice(start, start + _BLOCK_ROWS)
            logs, product = out[some], s.product[: len(out[some])]
            product[:] = 1.0
            # One mark for all rows, or one for each row.
            marks = s.there if there is None else there[some]
            rows = (len(logs), codes[some], marks, target[some], own[some], s.p, product, logs)
            for f in range(len(self.trie.child)) if families is None else families:
                least = min(least, float(family(self.trie, self.rule, f, *rows, False, s.unused)))
            with np.errstate(divide="ignore"):
                logs += np.log(product)
        return least

    def level_probabilities(self, f: int, chunk: Chunk, own: Floats | None = None) -> Floats:
        """Return P(child | first l parents, c) for l = 0, …, k, with the weight ``own`` of each row left out.

        Parents from the first missing one on are ignored.

        Returns
        -------
        array of shape (n, k + 1, K)
        """
        n, k = chunk.n_rows, self.n_classes
        out = np.empty((n, self.n_parents(f) + 1, k))
        target = np.zeros(n, np.uint32) if own is None else chunk.target
        weight = np.zeros(n) if own is None else np.asarray(own, np.float64)
        s = self._scratch(1, chunk.codes.dtype)
        rows = (n, chunk.codes, s.there, target, weight)
        least = family(self.trie, self.rule, f, *rows, s.p, s.product, s.logs, True, out)
        if least < 0.0:
            raise never_counted(least)
        return out

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw codes of shape (n, d), parents before children; an attribute without a family stays missing."""
        n, trie = len(classes), self.trie
        kind = np.uint8 if trie.sizes.max(initial=0) <= LARGEST_BYTE_TABLE else np.uint32
        codes = np.tile(trie.sizes.astype(kind), (n, 1))
        for f in self._order.backwards[::-1]:
            self.draw_child(int(trie.child[f]), codes, classes, rng)
        return codes.astype(np.intp)

    def draw_child(
        self, j: int, codes: NDArray[Any], classes: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        """Draw one attribute into codes in which its parents are drawn."""
        n, f = len(codes), self._place(j)
        cumulative = np.empty((n, int(self.trie.sizes[j])))
        for x in range(cumulative.shape[1]):
            codes[:, j] = x
            p = self.level_probabilities(f, Chunk(n, codes, np.empty((n, 0))))
            cumulative[:, x] = p[np.arange(n), -1, classes]
        np.cumsum(cumulative, axis=1, out=cumulative)
        draw = rng.random(n) * cumulative[:, -1]
        codes[:, j] = (draw[:, None] >= cumulative[:, :-1]).sum(axis=1)

    def members(self) -> list[int]:
        return [int(j) for j in self.trie.child]

    def _place(self, j: int) -> int:
        return int(np.flatnonzero(self.trie.child == j)[0])

    def parents_of(self, j: int) -> list[int]:
        f = self._place(j)
        start, stop = self.trie.first_parent[f : f + 2]
        return [int(i) for i in self.trie.parents[start:stop]]

    def codes_of(self, j: int) -> tuple[int, ...]:
        size = int(self.trie.sizes[j])
        states = (*range(size), *[size] * bool(self.trie.is_state[j]))
        return (*states, *[size + 1] * bool(self.rule.is_open[self._place(j)])) if states else ()

    def table_of(self, j: int, parents: Sequence[int], codes: Sequence[Sequence[int]]) -> Floats:
        shape = [len(some) for some in codes]
        out = np.empty((math.prod(shape), self.n_classes))
        for start in range(0, len(out), _BLOCK_CELLS):
            cells = np.arange(start, min(start + _BLOCK_CELLS, len(out)))
            # Parents that are not given stay missing.
            rows = np.tile(self.trie.sizes.astype(np.uint32), (len(cells), 1))
            for i, some, place in zip((*parents, j), codes, np.unravel_index(cells, shape), strict=True):
                rows[:, i] = np.array(some, np.uint32)[place]
            chunk = Chunk(len(cells), rows, np.empty((len(cells), 0)))
            out[cells] = self.level_probabilities(self._place(j), chunk)[:, -1]
        return out.reshape(*shape, -1)

    def counts_of(self, statistics: Statistics, j: int) -> Floats:
        counted: Any = statistics.parts["families"]
        radices = [int(self.trie.sizes[i]) + 1 for i in (*self.parents_of(j), j)]
        keys, weights = counted.cells(self._place(j))
        dense = np.zeros(math.prod(radices) * self.n_classes)
        dense[keys] = weights
        inside = tuple(slice(0, radix - 1) for radix in radices)
        return np.asarray(dense.reshape(*radices, -1)[inside])

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        from bayeskit._conditionals.drawn_tables import TablePosterior, TrieShares

        return TablePosterior(TrieShares(self, rule.above_mode, rule.by_rows))

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_families(self)

    def score(self) -> Score:
        sizes = {j: int(size) for j, size in enumerate(self.trie.sizes)}
        families = tuple(self._family(int(self.trie.child[f]), sizes) for f in self._order.backwards)
        members = set(self.members())
        values = {j: self.codes_of(j) if j in members else () for j in sizes if not self.trie.is_state[j]}
        return Marginal(families, sizes, values, MOST_CONFIGURATIONS)

    def _family(self, j: int, sizes: dict[int, int]) -> Family:
        above = self.parents_of(j)
        codes = [range(sizes[i] + 2) for i in (*above, j)]
        cells = math.prod(map(len, codes)) * self.n_classes
        if cells > MOST_WRITTEN:
            raise no_formula(Message("A table of {cells} numbers", cells=cells))
        with np.errstate(divide="ignore"):
            return Family(tuple(above), j, np.log(self.table_of(j, above, codes)))

    @cached_property
    def _order(self) -> Order:
        trie = self.trie
        family_of = np.full(len(trie.sizes), -1, np.int64)
        family_of[trie.child] = np.arange(len(trie.child))
        graph = TopologicalSorter[int]()
        for f in range(len(trie.child)):
            parents = trie.parents[trie.first_parent[f] : trie.first_parent[f + 1]]
            graph.add(f, *(int(family_of[j]) for j in parents if family_of[j] >= 0))
        try:
            forwards = list(graph.static_order())
        except CycleError as error:
            circle = [int(trie.child[f]) for f in error.args[1]]
            raise DataError(
                "Attributes {circle} (by number) are each other's parents in a cycle. Leave out one of the "
                "parents.",
                circle=circle,
            ) from None
        return Order(np.array(forwards[::-1], np.int64), family_of)

    def _scratch(self, n_rows: int, dtype: np.dtype[Any] | type[np.generic]) -> Scratch:
        d, n_families, k = len(self.trie.sizes), len(self.trie.child), self.n_classes
        of_attributes, of_families = np.empty((3, d + 3), np.int64), np.empty((2, n_families), np.int64)
        return Scratch(
            there=np.ones((1, d), np.bool_),
            needed=np.empty(d, np.bool_),
            rank=np.empty(d, np.int64),
            chosen=of_attributes[0],
            n_values=of_attributes[1],
            stage=of_families[0],
            stage_start=of_attributes[2],
            by_stage=of_families[1],
            codes=np.empty((n_rows, d), dtype),
            target=np.empty(n_rows, np.uint32),
            own=np.empty(n_rows),
            product=np.empty((n_rows, k)),
            logs=np.empty((n_rows, k)),
            p=np.empty(k),
            unused=np.empty((1, 1, k)),
        )


def estimate_families(
    families: Families,
    schema: Schema,
    smoothing: Smoothing,
    *,
    constants: Floats | None = None,
    missing: str = "ignore",
    unseen: str = "ignore",
    is_state: NDArray[np.bool_] | None = None,
) -> FamilyTries:
    """Estimate conditional probabilities from the counts of families.

    Parameters
    ----------
    families : Families
        No attribute may be the child of two of them.
    schema : Schema
    smoothing : Smoothing
        The prior of each child. Under an ordinary prior only the counts with all parents are used.
    constants : array over the levels, optional
        The back-off constants, if the prior has none. By default, they are chosen by
        :func:`~bayeskit._conditionals.back_off.choose_constants`.
    missing : "ignore" or "state"
    unseen : "ignore" or "smooth"
    is_state : bool array over the categorical attributes, optional
        Whether missing is a state, if this depends on other families, too.

    Examples
    --------
    >>> from bayeskit.priors import Laplace
    >>> from bayeskit.statistics import Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> zero = Families.zero(schema, (("a",),))
    >>> counted = zero.with_cells([(np.array([0, 1, 3]), np.array([2.0, 1.0, 2.0]))], np.array([2.0, 3.0]))
    >>> tries, out = estimate_families(counted, schema, Smoothing(Laplace(), {})), np.zeros((1, 2))
    >>> tries.add_log_prob(Chunk(1, np.array([[0]], np.uint8), np.empty((1, 0))), out)
    >>> np.exp(out)
    array([[0.75, 0.4 ]])
    """
    trie = lay_tries(families, schema, missing, is_state)
    doubled = np.flatnonzero(np.bincount(trie.child, minlength=len(trie.sizes)) > 1)
    if len(doubled):
        name = schema.categorical[int(doubled[0])].name
        raise DataError(
            "{name!r} is the child of two families. Give it one family with the parents of both.", name=name
        )
    rule = make_rule(
        trie, schema, smoothing, margin=families.margin, constants=constants, unseen=unseen == "smooth"
    )
    return FamilyTries(trie, rule, schema.n_classes)


def make_rule(
    trie: Trie,
    schema: Schema,
    smoothing: Smoothing,
    *,
    margin: Floats,
    constants: Floats | None = None,
    unseen: bool = False,
) -> Rule:
    """Return how each family is smoothed; ``unseen``: whether unseen is an additional state.

    The imaginary counts of level l are those for K·r₁·…·r_l parent configurations. The additional states missing and
    unseen have the mean of the imaginary counts of the others.
    """
    priors = [smoothing.of(schema.categorical[j]) for j in trie.child]
    modes = [
        BACK_OFF if isinstance(p, BackOff) else WITTEN_BELL if isinstance(p, WittenBell) else PLAIN
        for p in priors
    ]
    base = np.array([1.0 / max(n_states(trie, j) + unseen, 1) for j in trie.child])
    masses = [
        _masses(trie, f, level, prior, schema, unseen)
        for f, prior in enumerate(priors)
        for level in range(int(trie.first_parent[f + 1] - trie.first_parent[f]) + 1)
    ]
    chosen = [f for f, p in enumerate(priors) if isinstance(p, BackOff) and p.constants is None]
    if chosen and constants is None:
        constants = choose_constants(trie, base, margin, chosen)
    totals = np.array([math.fsum(m) for m in masses])
    first = trie.first_parent[:-1] + np.arange(len(priors))
    return Rule(
        mode=np.array(modes, np.int64),
        base=base,
        constants=np.concatenate(
            [np.empty(0), *(_levels_of(trie, f, p, constants) for f, p in enumerate(priors))]
        ),
        mass_start=np.cumsum([0, *map(len, masses)], dtype=np.int64)[:-1],
        mass_total=totals,
        mass=np.concatenate([np.empty(0), *masses]),
        is_open=np.array(
            [unseen and (mode != PLAIN or masses[g][-1] > 0.0) for mode, g in zip(modes, first, strict=True)],
            np.bool_,
        ),
    )


def n_states(trie: Trie, j: int) -> int:
    """Return the number of states of an attribute, including missing if it is a state."""
    return int(trie.sizes[j]) + bool(trie.is_state[j])


def _masses(trie: Trie, f: int, level: int, prior: TablePrior, schema: Schema, unseen: bool) -> Floats:
    """Return the imaginary counts of the child's states, of missing and of unseen."""
    child, first = int(trie.child[f]), int(trie.first_parent[f])
    if isinstance(prior, (BackOff, WittenBell)):
        return np.zeros(int(trie.sizes[child]) + 2)
    parents = trie.parents[first : first + level]
    place = schema.categorical[child], schema.n_classes * math.prod(n_states(trie, j) for j in parents)
    cells, more = prior.cells(*place), one_more_cell(prior, *place)
    return np.asarray([*cells, more * bool(trie.is_state[child]), more * unseen])


def _levels_of(trie: Trie, f: int, prior: TablePrior, constants: Floats | None) -> Floats:
    deepest = int(trie.first_parent[f + 1] - trie.first_parent[f])
    if not isinstance(prior, BackOff):
        return np.zeros(deepest + 1)
    return BackOff(constants).levels(deepest) if prior.constants is None else prior.levels(deepest)
