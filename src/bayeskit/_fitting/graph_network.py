"""The estimated families of a graph as network nodes, and as dense tables for fast look-up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.family_tries import FamilyTries
from bayeskit._conditionals.kernels.trie_scores import PLAIN
from bayeskit._graphs.distributions import LinearGaussian, Table
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._schema import Label, Name, Variable
from bayeskit.errors import TooLarge
from bayeskit.typing import Codes, Floats

if TYPE_CHECKING:
    from bayeskit._fitting.graph_factors import GraphFactors


def network_of_graph(graph: GraphFactors) -> Network:
    """Return the network of a graph. If its tables do not fit into memory, raise an error before allocating them.

    A class without parents is uniform, because the graph does not contain P(c).
    """
    _refuse_large(graph)
    nodes = []
    for name, parents in zip(graph.dag.nodes, graph.dag.parents, strict=True):
        if name == graph.target:
            variable = discrete(name, graph.schema.target.states)
            nodes.append(Node(variable, parents, Table(class_table(graph, parents))))
        elif graph.places[name][0]:
            nodes.append(Node(_variable(graph, name), parents, Table(_table(graph, name, parents))))
        else:
            nodes.append(Node(continuous(name), parents, _lines(graph, name, parents)))
    return Network(tuple(nodes))


def _variable(graph: GraphFactors, name: Name) -> Variable:
    j = graph.places[name][1]
    variable = graph.schema.categorical[j]
    # Keep the cut points, so that a node of intervals accepts numbers as evidence.
    return replace(discrete(name, state_labels(variable, graph.codes_of(j))), cuts=variable.cuts)


def _refuse_large(graph: GraphFactors) -> None:
    from bayeskit._inference.exact import get_max_memory

    discrete_places = {name: j for name, (is_discrete, j) in graph.places.items() if is_discrete}
    sizes = {name: float(len(graph.codes_of(j))) for name, j in discrete_places.items()}
    sizes[graph.target] = float(graph.schema.n_classes)
    cells = {
        node: math.prod(sizes.get(name, 1.0) for name in (node, *parents))
        for node, parents in zip(graph.dag.nodes, graph.dag.parents, strict=True)
    }
    if 8.0 * sum(cells.values()) > get_max_memory():
        largest = max(cells, key=cells.__getitem__)
        raise TooLarge(
            8.0 * sum(cells.values()),
            get_max_memory(),
            (largest, *graph.dag.parents_of(largest)),
            cells[largest],
            "Take fewer parents (max_parents=), columns of fewer states, or fewer intervals.",
        )


def _table(graph: GraphFactors, name: Name, parents: tuple[Name, ...]) -> Floats:
    j = graph.places[name][1]
    # The model orders the parents by back-off, which may differ from the order in the graph.
    mine = graph.parents_of(j)
    names = [graph.schema.categorical[i].name for i in mine]
    table = graph.table_of(j, mine, [graph.codes_of(i) for i in (*mine, j)])
    order = [names.index(p) if p != graph.target else table.ndim - 1 for p in parents]
    if graph.target not in parents:
        table = table[..., 0]
    return normalised(table.transpose([*order, len(names)]))


def class_table(graph: GraphFactors, parents: tuple[Name, ...]) -> Floats:
    """Return P(c | parents): one axis for each parent, then the class."""
    k = graph.schema.n_classes
    if graph.class_family is None:
        return np.full(k, 1.0 / k)
    rows, shape = _configurations(graph, parents)
    return normalised(np.exp(graph.class_family.log_prob(rows)).reshape(*shape, k))


def _configurations(graph: GraphFactors, names: Sequence[Name]) -> tuple[NDArray[np.int64], list[int]]:
    """Return a row of codes for every configuration of some attributes, and the numbers of their states."""
    places = [graph.places[name][1] for name in names]
    shape = [len(graph.codes_of(j)) for j in places]
    rows = np.zeros((math.prod(shape), len(graph.schema.categorical)), np.int64)
    behind = len(rows)
    for j, size in zip(places, shape, strict=True):
        behind //= size
        rows[:, j] = np.resize(np.repeat(graph.codes_of(j), behind), len(rows))
    return rows, shape


def _lines(graph: GraphFactors, name: Name, parents: tuple[Name, ...]) -> LinearGaussian:
    family = next(family for family in graph.numbers if family.child == graph.places[name][1])
    # The axes are the discrete parents of the node in its order, including the class.
    names = [p for p in parents if p == graph.target or graph.places[p][0]]
    rows, shape = _configurations(graph, [p for p in names if p != graph.target])
    cell = family.cells_of(rows).reshape(*shape, family.n_classes)
    if graph.target in names:
        wide = np.broadcast_to(cell, (*shape, graph.schema.n_classes))
        cell = np.moveaxis(wide, -1, names.index(graph.target))
    else:
        cell = cell[..., 0]
    order = [family.above.index(graph.places[p][1]) for p in parents if p not in names]
    intercept, slopes, variance = (part[cell] for part in family.lines)
    return LinearGaussian(intercept, slopes[..., order], variance)


def normalised(rows: Floats) -> Floats:
    """Return rows that sum to one. Rows that already do, up to rounding, are unchanged."""
    sums = rows.sum(axis=-1, keepdims=True)
    return np.where(np.abs(sums - 1.0) > 1e-12, rows / sums, rows)


def state_labels(variable: Variable, codes: Sequence[int]) -> list[Label]:
    """Return the labels of a node's states. Those of missing and unseen differ from all other labels.

    >>> state_labels(Variable("sky", "categorical", ("sun", "rain")), (0, 1, 2))
    ['sun', 'rain', '(missing)']
    """
    more: dict[int, Any] = {variable.size: "(missing)", variable.size + 1: "(unseen)"}
    labels = [variable.states[code] for code in codes if code < variable.size]
    for code in codes[len(labels) :]:
        label = more[code]
        while label in labels:
            label = f"({label})"
        labels.append(label)
    return labels


# Families with more cells have no dense table; their sparse counts are used instead.
MOST_CELLS = 2**16


@dataclass(frozen=True, eq=False)
class LogTables:
    """log P(x | parents) of the states of categorical attributes.

    A family has a dense table if it has few cells, its prior is imaginary counts, and missing is not a state. All
    other families, and rows with a missing or unseen value, use the tries.

    Attributes
    ----------
    tables, apart : FamilyTries
        The children of the class, and all other attributes (with a single class).
    cells : mapping from attribute index to array
        The axes are the parents, the child, the class.
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
        """Add the children of the class to ``out`` (n, K), and all other attributes to ``alike`` (n, 1)."""
        members = np.array([*self.tables.members(), *self.apart.members()], np.intp)
        seen = (codes[:, members] < self.tables.trie.sizes[members]).all(axis=1)
        rows, others = np.flatnonzero(seen), np.flatnonzero(~seen)
        known = codes if not len(others) else codes[rows]
        for tries, to in ((self.tables, out), (self.apart, alike)):
            to[rows] += self._log_prob_of_states(tries, known)
            if len(others):
                logs = np.zeros((len(others), to.shape[1]))
                tries.add_known(codes[others], logs)
                to[others] += logs

    def _log_prob_of_states(self, tries: FamilyTries, codes: Codes) -> Floats:
        """Return the log-probability of rows whose values are all states: shape (n, K or 1)."""
        logs, rest = np.zeros((len(codes), tries.n_classes)), []
        for f, j in enumerate(tries.members()):
            table = self.cells.get(j)
            if table is None:
                rest.append(f)
                continue
            place = np.zeros(len(codes), np.intp)
            for i, size in zip((*tries.parents_of(j), j), table.shape[:-1], strict=True):
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
        # Without rows and without a prior, all states are equally probable.
        share = np.where(there, (counts + mass[:, None]) / np.where(there, whole, 1.0), 1.0 / size)
        return np.asarray(np.log(share))
