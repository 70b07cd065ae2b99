r"""The conditional of a graph over the class and the attributes: the product of all families.

.. math:: P(c, x) = P(c \mid \mathrm{pa}_c) \prod_j P(x_j \mid \mathrm{pa}_j)

If a row has the parents of all its values, its factors are looked up, as in kDB. If a parent is missing,
:mod:`bayeskit._fitting.graph_sums` sums over its states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.class_prior import ClassFamily
from bayeskit._conditionals.conditional import (
    Codes,
    DiscreteConditional,
    DrawnRows,
    DrawRule,
    Nodes,
    ParameterPosterior,
    Workings,
)
from bayeskit._conditionals.family_tries import FamilyTries
from bayeskit._conditionals.kernels.trie_scores import PLAIN
from bayeskit._conditionals.linear_family import LinearFamily
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.graph_network import LogTables, class_table, network_of_graph
from bayeskit._graphs.dag import Dag, ancestors, topological_order
from bayeskit._graphs.network import Network
from bayeskit._inference.exact import get_max_memory
from bayeskit._schema import LARGEST_BYTE_TABLE, Name, Schema
from bayeskit._statistics.families import Families
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._inference.exact import Exact
    from bayeskit._inference.gaussian.hybrid import Hybrid

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GraphFactors(DiscreteConditional):
    """log P(x | c) of the attributes of a graph, or log P(c, x) if the class has parents.

    Attributes
    ----------
    schema : Schema
    dag : Dag
        The graph over the class and the attributes that have states or numbers.
    target : name of the class in the graph
    tables : FamilyTries
        The categorical children of the class.
    apart : FamilyTries of one class
        All other categorical attributes: their factors are the same in every class.
    class_family : ClassFamily, or None if the class has no parents
    numbers : tuple of LinearFamily
        The numeric attributes, parents before children.
    statistics, anew : the statistics it was estimated from, and a function that estimates it from other statistics
    """

    schema: Schema
    dag: Dag
    target: Name
    tables: FamilyTries
    apart: FamilyTries
    class_family: ClassFamily | None
    numbers: tuple[LinearFamily, ...]
    statistics: Statistics
    anew: Callable[[Statistics], GraphFactors]

    def __getstate__(self) -> dict[str, Any]:
        # Derived values are not pickled but computed again: engines contain locks, which cannot be pickled.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def adds_prior(self) -> bool:  # type: ignore[override]
        return self.class_family is None

    @property
    def is_separate(self) -> bool:  # type: ignore[override]
        """Whether all attributes are independent given the class."""
        above = self.dag.parents_of(self.target)
        others = (name for name in self.dag.nodes if name != self.target)
        return len(above) <= 1 and all(set(self.dag.parents_of(name)) <= {self.target} for name in others)

    @property
    def is_state(self) -> Flags:
        """For each categorical attribute, whether missing is a state."""
        return np.asarray(self.tables.trie.is_state)

    # -- missing cells ---------------------------------------------------------------------------------

    @cached_property
    def places(self) -> dict[Name, tuple[bool, int]]:
        """For each attribute of the graph, whether it is categorical, and its index among those of its kind."""
        number = {v.name: (True, j) for j, v in enumerate(self.schema.categorical)}
        number |= {v.name: (False, j) for j, v in enumerate(self.schema.numeric)}
        return {name: number[name] for name in self.dag.nodes if name != self.target}

    def known(self, chunk: Chunk) -> Flags:
        """Return which nodes are present in each row: shape (n, nodes), in graph order. The class is always known."""
        found, sizes = np.ones((chunk.n_rows, len(self.dag.nodes)), np.bool_), self.tables.trie.sizes
        for at, name in enumerate(self.dag.nodes):
            if name == self.target:
                continue
            is_discrete, j = self.places[name]
            if not is_discrete:
                found[:, at] = ~np.isnan(chunk.values[:, j])
            elif not self.is_state[j]:
                found[:, at] = chunk.codes[:, j] != sizes[j]
        return found

    def hidden(self, known: Flags) -> Flags:
        """Return which nodes are missing and have a known descendant (the class is known): shape (n, nodes)."""
        found, position = np.zeros_like(known), self.dag.position
        for name in topological_order(self.dag)[::-1]:
            at = position[name]
            matters = known[:, at] | found[:, at]
            for parent in self.dag.parents_of(name):
                found[:, position[parent]] |= matters & ~known[:, position[parent]]
        return found

    # -- log-probabilities -----------------------------------------------------------------------------

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        self._add(chunk, None, out)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        self._add(chunk, np.asarray(own, np.float64), out)

    def _add(self, chunk: Chunk, own: Floats | None, out: Floats, summed: Flags | None = None) -> None:
        """Add the log-probabilities of rows; ``summed`` marks nodes to sum over even if the row has a value."""
        known = self.known(chunk)
        if summed is not None:
            known &= ~summed
        hidden = self.hidden(known)
        if summed is not None:
            # Otherwise a missing cell would be looked up as the state "missing" instead of being summed over.
            hidden |= summed & self._states_of_missing
        holed = hidden.any(axis=1)
        if not holed.any():
            self.add_known(chunk, out, own)
            return
        from bayeskit._fitting.graph_sums import add_holed

        rows = np.flatnonzero(~holed)
        if len(rows):
            logs = np.zeros((len(rows), out.shape[1]))
            self.add_known(chunk.take(rows), logs, None if own is None else own[rows])
            out[rows] += logs
        add_holed(self, chunk, hidden, own, out)

    @cached_property
    def _states_of_missing(self) -> Flags:
        """For each node, in graph order, whether missing is a state."""
        places = [self.places.get(name, (False, 0)) for name in self.dag.nodes]
        return np.array([is_discrete and bool(self.is_state[j]) for is_discrete, j in places], np.bool_)

    def add_known(
        self,
        chunk: Chunk,
        out: Floats,
        own: Floats | None = None,
        there: Flags | None = None,
        numbers: Sequence[LinearFamily] | None = None,
    ) -> None:
        """Add the log-probabilities of rows in which all parents of every present node are present.

        Parameters
        ----------
        own : array of shape (n,), optional
            How much of each row's weight to leave out.
        there : bool array of shape (n, categorical attributes), optional
            Whether a code is the row's own, not a state that was filled in.
        numbers : sequence of LinearFamily, optional
            The numeric families to add. By default, all.
        """
        codes, target = chunk.codes, chunk.target
        alike = np.zeros((chunk.n_rows, 1))
        if own is None:
            self.log_tables.add(codes, out, alike)
        else:
            self.tables.add_known(codes, out, target, own, there)
            self.apart.add_known(codes, alike, None, own, there)
        out += alike
        if self.class_family is not None:
            out += self._of_class(self.class_family, chunk, own, there)
        for family in self.numbers if numbers is None else numbers:
            rows = np.flatnonzero(~np.isnan(chunk.values[:, family.child]))
            weight = None if own is None else _counted(own, there, family.discrete)[rows]
            out[rows] += self._of_number(family, codes[rows], chunk.values[rows], target, rows, weight)

    @cached_property
    def log_tables(self) -> LogTables:
        """Dense tables of the categorical attributes with small families, for fast look-up."""
        return LogTables.of(self)

    def _of_class(self, family: ClassFamily, chunk: Chunk, own: Floats | None, there: Flags | None) -> Floats:
        if own is None:
            return family.log_prob(chunk.codes)
        return family.log_left_out(chunk.codes, chunk.target, _counted(own, there, family.parents))

    def _of_number(
        self,
        family: LinearFamily,
        codes: Codes,
        values: Floats,
        target: NDArray[np.uint32] | None,
        rows: Codes,
        own: Floats | None,
    ) -> Floats:
        if own is None:
            return family.log_prob(codes, values)
        assert target is not None
        return family.log_left_out(codes, values, target[rows], own)

    # -- the graph as a network ------------------------------------------------------------------------

    @cached_property
    def network(self) -> Network:
        """The graph and its tables as a network. A class without parents is uniform, because P(c) is not part of it."""
        return network_of_graph(self)

    @cached_property
    def exact(self) -> Exact:
        """The inference engine for rows with many missing cells, if all nodes are discrete."""
        from bayeskit._inference.exact import Exact
        from bayeskit._inference.potentials import Potentials

        return Exact(Potentials.of(self.network))

    @cached_property
    def has_small_tree(self) -> bool:
        """Whether one small clique tree serves rows with any missing cells; only if all nodes are discrete."""
        try:
            return self.exact.is_small
        except TooLarge:
            return False

    @cached_property
    def hybrid(self) -> Hybrid:
        """The inference engine for rows with many missing cells, if some node is continuous."""
        from bayeskit._inference.gaussian.hybrid import Hybrid

        return Hybrid(self.network)

    # -- drawing ---------------------------------------------------------------------------------------

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.codes = self.sample(rows.classes, rng)
        self._draw_numbers(rows, rng)

    def sample(self, classes: Codes, rng: np.random.Generator) -> Codes:
        codes = self._no_codes(len(classes))
        for name in topological_order(self.dag):
            if name != self.target and self.places[name][0]:
                self._draw_code(name, codes, classes, rng)
        return codes.astype(np.intp)

    def sample_all(self, n: int, rng: np.random.Generator, given: int | None) -> DrawnRows | None:
        if self.class_family is None:
            return None
        codes, classes = self._no_codes(n), np.zeros(n, np.intp)
        if given is not None:
            codes, classes = self._drawn_given(n, given, rng), np.full(n, given, np.intp)
        for name in topological_order(self.dag) if given is None else ():
            if name == self.target:
                share = np.cumsum(np.exp(self.class_family.log_prob(codes)), axis=1)
                classes = (rng.random(n)[:, None] * share[:, -1:] >= share[:, :-1]).sum(axis=1)
            elif self.places[name][0]:
                self._draw_code(name, codes, classes, rng)
        values = np.full((n, len(self.schema.numeric)), np.nan)
        rows = DrawnRows(classes, codes.astype(np.intp), values)
        self._draw_numbers(rows, rng)
        return rows

    def _no_codes(self, n: int) -> NDArray[Any]:
        """Return codes in which all cells are missing. Attributes outside the graph remain missing."""
        sizes = self.tables.trie.sizes
        kind = np.uint8 if sizes.max(initial=0) <= LARGEST_BYTE_TABLE else np.uint32
        return np.tile(sizes.astype(kind), (n, 1))

    def _draw_code(
        self, name: Name, codes: NDArray[Any], classes: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        j = self.places[name][1]
        in_class = self.target in self.dag.parents_of(name)
        self._tries(j).draw_child(j, codes, classes if in_class else np.zeros_like(classes), rng)

    def _draw_numbers(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        for family in self.numbers:
            family.sample_into(rows, rng)

    def _drawn_given(self, n: int, given: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the discrete attributes given one class, from the posterior network, because the class has ancestors."""
        from bayeskit._inference.potentials import Evidence, Potentials
        from bayeskit._inference.sampling.forward import Forward, posterior_network

        nodes = tuple(node for node in self.network.nodes if node.is_discrete)
        seen = np.array([given if node.name == self.target else -1 for node in nodes], np.int64)
        posterior = posterior_network(
            Potentials.of(Network(nodes)), Evidence(seen), max_memory=get_max_memory()
        )
        drawn, codes = Forward.of(posterior).codes(n, rng), self._no_codes(n)
        for at, node in enumerate(nodes):
            if node.name != self.target:
                j = self.places[node.name][1]
                codes[:, j] = np.array(self.codes_of(j))[drawn[:, at]]
        return codes

    # -- the tables of categorical attributes ----------------------------------------------------------

    def _tries(self, j: int) -> FamilyTries:
        return self.tables if j in self.of_tables else self.apart

    @cached_property
    def of_tables(self) -> set[int]:
        """The indices of the categorical children of the class."""
        return set(self.tables.members())

    def members(self) -> list[int]:
        return sorted([*self.tables.members(), *self.apart.members()])

    def parents_of(self, j: int) -> list[int]:
        return self._tries(j).parents_of(j)

    def codes_of(self, j: int) -> tuple[int, ...]:
        return self._tries(j).codes_of(j)

    def table_of(self, j: int, parents: Sequence[int], codes: Sequence[Sequence[int]]) -> Floats:
        table = self._tries(j).table_of(j, parents, codes)
        return np.broadcast_to(table, (*table.shape[:-1], self.schema.n_classes))

    def counts_of(self, statistics: Statistics, j: int) -> Floats:
        families: Any = statistics.parts["families"]
        radices = [self.schema.categorical[i].size + 1 for i in (*self.parents_of(j), j)]
        dense = np.zeros(math.prod(radices) * self.schema.n_classes)
        keys, weights = families.cells(self.family_of(families, j))
        dense[keys] = weights
        inside = tuple(slice(0, radix - 1) for radix in radices)
        counts = np.asarray(dense.reshape(*radices, -1)[inside])
        if j in self.of_tables:
            return counts
        return np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)

    def family_of(self, families: Families, j: int) -> int:
        """Return the index of an attribute's family among the counted families."""
        family, sizes = (j, *self.parents_of(j)), self.tables.trie.sizes
        # Parents without states were counted but are not in the graph.
        members = (tuple(i for i in families.names_of(f) if sizes[i]) for f in range(len(families)))
        return next(f for f, names in enumerate(members) if names == family)

    # -- posteriors, networks, explanations --------------------------------------------------------------

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        from bayeskit._fitting.graph_sums import GraphPosterior

        return GraphPosterior.of(self, rule)

    def add_nodes(self, nodes: Nodes) -> None:
        nodes.add_graph(self)

    def explain(self, chunk: Chunk, page: Workings) -> None:
        page.add_graph(self)

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        """Add the attributes one by one, parents first.

        The contribution of an ancestor of the class, or of a child of a missing node, is the change that it makes to
        log P(c, x) of the attributes before it.
        """
        position, above = self.dag.position, set(ancestors(self.dag, self.target))
        known = self.known(chunk)
        shown = np.zeros_like(known)
        joint = np.zeros((chunk.n_rows, out.shape[2]))
        if self.class_family is not None:
            joint += self.log_class()
            out[:, 0] += joint
        for name in topological_order(self.dag):
            if name == self.target:
                continue
            is_discrete, j = self.places[name]
            parents = [position[p] for p in self.dag.parents_of(name)]
            rows = np.flatnonzero(known[:, position[name]])
            shown[rows, position[name]] = True
            whole = known[rows][:, parents].all(axis=1) & (name not in above)
            step, some = np.zeros((len(rows), out.shape[2])), chunk.take(rows)
            step[whole] = self._family_logs(name, some.take(np.flatnonzero(whole)))
            rest = np.flatnonzero(~whole)
            if len(rest):
                now, before = self._given_only(some.take(rest), shown[rows[rest]]), joint[rows[rest]]
                # A class that was impossible before is not made impossible by this value.
                possible = before > -np.inf
                step[rest] = np.where(possible, now - np.where(possible, before, 0.0), 0.0)
            joint[rows] += step
            out[rows, (categorical if is_discrete else numeric)[j]] += step

    def log_class(self) -> Floats:
        """Return log P(c) of a class with parents, without evidence: shape (K,)."""
        sizes = self.tables.trie.sizes[None].astype(self.schema.code_dtype)
        nothing = Chunk(1, sizes, np.full((1, len(self.schema.numeric)), np.nan))
        return np.asarray(self._given_only(nothing, np.zeros((1, len(self.dag.nodes)), np.bool_))[0])

    def _given_only(self, chunk: Chunk, shown: Flags) -> Floats:
        """Return log P(x | c) of the ``shown`` cells of each row, or log P(c, x) if the class has parents."""
        codes, values, summed = chunk.codes.copy(), chunk.values.copy(), ~shown
        for name, (is_discrete, j) in self.places.items():
            rows = summed[:, self.dag.position[name]]
            if is_discrete:
                codes[rows, j] = self.tables.trie.sizes[j]
            else:
                values[rows, j] = np.nan
        summed[:, self.dag.position[self.target]] = False
        out = np.zeros((chunk.n_rows, self.schema.n_classes))
        self._add(replace(chunk, codes=codes, values=values), None, out, summed)
        return out

    def _family_logs(self, name: Name, chunk: Chunk) -> Floats:
        """Return log P(x | parents) of one attribute in rows with its whole family: shape (n, K) or (n, 1)."""
        is_discrete, j = self.places[name]
        if not is_discrete:
            family = next(family for family in self.numbers if family.child == j)
            return family.log_prob(chunk.codes, chunk.values)
        tries = self._tries(j)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(tries.level_probabilities(tries.members().index(j), chunk)[:, -1]))

    def log_prior(self, mean: Floats, alpha: float) -> float:
        total = 0.0
        for tries in (self.tables, self.apart):
            for f, j in enumerate(tries.members()):
                if tries.rule.mode[f] != PLAIN:
                    continue  # back-off has no imaginary rows
                parents, codes = tries.parents_of(j), tries.codes_of(j)
                table = tries.table_of(j, parents, [*(self.codes_of(i) for i in parents), codes])
                last = int(tries.trie.first_parent[f + 1]) + f
                mass = tries.rule.mass[int(tries.rule.mass_start[last]) + np.array(codes, np.int64)]
                there = np.broadcast_to((mass > 0.0)[:, None], table.shape)
                logs = np.log(np.where(there, table, 1.0))
                total += float((mass[:, None] * logs).sum())
        if self.class_family is not None:
            table = class_table(self, self.dag.parents_of(self.target))
            mass = self.class_family.mass
            total += float((mass * np.log(np.where(mass > 0.0, table, 1.0))).sum())
        return total


def _counted(own: Floats, there: Flags | None, discrete: Sequence[int]) -> Floats:
    """Return how much of each row a family has counted: 0 if one of its discrete parents was filled in."""
    if there is None or not discrete:
        return own
    return np.where(there[:, list(discrete)].all(axis=1), own, 0.0)
