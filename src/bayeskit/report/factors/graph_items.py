"""Attributes with any parents, and the class with its own: factors that tell classes apart, sums around holes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayeskit.estimation.kernels.trie_scores import PLAIN
from bayeskit.learning.graph_factors import GraphFactors
from bayeskit.report.explanation import Attribute, Factor, LeftOut, PriorSource
from bayeskit.report.factors.dependence import Floats, Item
from bayeskit.report.factors.family_share import family_shares
from bayeskit.report.factors.shares import with_workings
from bayeskit.report.fractions import centre, fraction, number, short
from bayeskit.report.shown import Shown
from bayeskit.schema import Name
from bayeskit.statistics import Statistics

Given = tuple[tuple[Name, Any], ...]


class ClassFactor(NamedTuple):
    """P(c | parents of the class), or P(c) where one of them is not known."""

    factors: tuple[Factor, ...]
    source: PriorSource
    given: Given


class Density(NamedTuple):
    """The factor of a numeric attribute."""

    logs: Floats
    workings: list[str]
    given: Given


class GraphItems(NamedTuple):
    """A row of a graph, taken apart.

    ``numbers`` are the factors of numeric attributes by their column; ``prior`` is None where the class has no parents.
    """

    items: dict[Any, Item]
    numbers: dict[int, Density]
    prior: ClassFactor | None


def graph_items(graph: GraphFactors, statistics: Statistics, row: Shown) -> GraphItems:
    """Return P(x | parents) of every child of the class whose parents are known.

    Families that hold a missing node which something known depends on are one factor, a sum over its states.
    """
    known = dict(zip(graph.dag.nodes, graph.known(row.chunk)[0].tolist()))
    missing = graph.hidden(np.array([[*known.values()]]))[0]
    hidden = {name for name, summed in zip(graph.dag.nodes, missing) if summed}
    writer = _Writer(graph, statistics, row)
    items: dict[Any, Item] = {}
    numbers: dict[int, Density] = {}
    together: list[Name] = []
    for variable in row.schema.attributes:
        name = variable.name
        parents = graph.dag.parents_of(name) if name in known else ()
        if name not in known:
            items[name] = LeftOut(name, row.raw(name), "unused")
        elif not known[name]:
            raw = row.raw(name)
            items[name] = LeftOut(
                name, raw, "summed" if name in hidden else "missing" if raw is None else "unseen"
            )
        elif hidden.intersection(parents):
            together.append(name)
        elif graph.target not in parents:
            items[name] = LeftOut(name, row.raw(name), "same")
        elif graph.places[name][0]:
            items[name] = writer.table(name)
        else:
            numbers[graph.places[name][1]] = writer.density(name)
    prior = writer.class_factor(hidden)
    if prior is not None and prior.source == "nothing known" and not together:
        # What stands above a missing parent of the class tells of it, though its own factor is the same everywhere.
        together = [n for n, item in items.items() if isinstance(item, LeftOut) and item.reason == "same"]
    if hidden and together:
        said = [[f.log for f in item.factors] for item in items.values() if isinstance(item, Attribute)]
        said += [density.logs.tolist() for density in numbers.values()]
        said += [] if prior is None else [[f.log for f in prior.factors]]
        group = writer.sum(together, hidden, said)
        items = {name: item for name, item in items.items() if name not in together} | {group.name: group}
    return GraphItems(items, numbers, prior)


class _Writer:
    """Writes the factors of one row."""

    def __init__(self, graph: GraphFactors, statistics: Statistics, row: Shown) -> None:
        self.graph, self.row, self.k = graph, row, row.schema.n_classes
        families: Any = statistics.parts.get("families")
        tables = graph.tables.members()
        self.counted = families and families.chosen([graph.family_of(families, j) for j in tables])

    def _shown(self, name: Name) -> Any:
        is_discrete, j = self.graph.places[name]
        return self.row.value(j) if is_discrete else float(self.row.chunk.values[0, j])

    def _given(self, name: Name) -> Given:
        parents = self.graph.dag.parents_of(name)
        return tuple((p, self._shown(p)) for p in parents if p != self.graph.target)

    def table(self, name: Name) -> Item:
        """Return P(x | parents) of a categorical child of the class."""
        tries, j = self.graph.tables, self.graph.places[name][1]
        f = tries.members().index(j)
        if self.row.code(j) > self.row.schema.categorical[j].size and not tries.rule.is_open[f]:
            return self.row.left_out(j)  # a value never learned, about which nothing is said
        levels = tries.level_probabilities(f, self.row.chunk)[0]
        with np.errstate(divide="ignore"):
            logs = np.log(levels[-1])
        workings = family_shares(tries, self.counted, self.row, f, len(levels) - 1, levels)
        family = "table" if tries.rule.mode[f] == PLAIN else "back-off"
        factors = tuple(map(Factor, logs.tolist(), workings))
        return Attribute(name, self.row.value(j), family, factors, self.row.is_unknown(j), self._given(name))

    def density(self, name: Name) -> Density:
        """Return p(x | parents) of a numeric child of the class."""
        column, chunk = self.graph.places[name][1], self.row.chunk
        family = next(family for family in self.graph.numbers if family.child == column)
        cells = family.cells_of(chunk.codes)[0]
        intercept, slopes, variance = (part[cells] for part in family.lines)
        mean = intercept + slopes @ chunk.values[0, list(family.above)]
        x = float(chunk.values[0, column])
        workings = [
            f"N({number(x)}; μ={centre(float(m), math.sqrt(v))}, σ²={short(float(v))})"
            for m, v in zip(mean, variance)
        ]
        return Density(family.log_prob(chunk.codes, chunk.values)[0], workings, self._given(name))

    def class_factor(self, hidden: set[Name]) -> ClassFactor | None:
        family = self.graph.class_family
        if family is None:
            return None
        if hidden.intersection(self.graph.dag.parents_of(self.graph.target)):
            logs = self.graph.log_class()
            return ClassFactor(tuple(map(Factor, logs.tolist())), "nothing known", ())
        counts = family.counts_of(self.row.chunk.codes)[0].tolist()
        mass, total = family.mass.tolist(), float(family.mass.sum())
        workings = [
            fraction(n, a, sum(counts), total) if sum(counts) + total > 0.0 else f"1/{self.k}"
            for n, a in zip(counts, mass)
        ]
        logs = family.log_prob(self.row.chunk.codes)[0]
        return ClassFactor(with_workings(logs, workings), "counts", self._given(self.graph.target))

    def sum(self, together: Sequence[Name], hidden: set[Name], said: list[list[float]]) -> Attribute:
        """What the families around missing nodes say: all that is not said by the other factors."""
        total = np.zeros((1, self.k))
        self.graph.add_log_prob(self.row.chunk, total)
        told = np.array(said).reshape(len(said), self.k).sum(axis=0)
        possible = told > -np.inf
        logs = np.where(possible, total[0] - np.where(possible, told, 0.0), 0.0)
        names = tuple(together)
        alone = len(names) == 1
        return Attribute(
            names[0] if alone else names,
            self._shown(names[0]) if alone else tuple(map(self._shown, names)),
            "sum",
            tuple(map(Factor, logs.tolist())),
            summed=tuple(name for name in self.graph.dag.nodes if name in hidden),
        )
