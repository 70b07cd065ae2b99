"""Explanations of attributes that are not simple tables: numbers, attributes with parents, attributes in a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayeskit._conditionals.cell_gaussian import ChildGaussians
from bayeskit._conditionals.covariance import GaussianClasses
from bayeskit._conditionals.density import Formula, Parameter
from bayeskit._conditionals.family_tries import FamilyTries
from bayeskit._conditionals.kernels.trie_scores import MOST_CONFIGURATIONS, PLAIN
from bayeskit._fitting.graph_factors import GraphFactors
from bayeskit._fitting.model import ModelSpec
from bayeskit._report.explanation import Attribute, OmittedAttribute, PageFactor, PriorSource
from bayeskit._report.factors.dependence import (
    Item,
    child_densities,
    family_shares,
    shares,
    with_workings,
)
from bayeskit._report.fractions import centre, fraction, number, short
from bayeskit._report.row import CodedRow
from bayeskit._schema import Name
from bayeskit._statistics.families import Families
from bayeskit._statistics.statistics import Statistics
from bayeskit.typing import Floats

Given = tuple[tuple[Name, Any], ...]


class ClassFactor(NamedTuple):
    """P(c | parents of the class), or P(c) if one of them is unknown."""

    factors: tuple[PageFactor, ...]
    source: PriorSource
    given: Given


class Density(NamedTuple):
    """The factor of a numeric attribute."""

    logs: Floats
    workings: list[str]
    given: Given


class GraphItems(NamedTuple):
    """The items of a row of a graph.

    ``numbers`` are the factors of numeric attributes by column. ``prior`` is None if the class has no parents.
    """

    items: dict[Any, Item]
    numbers: dict[int, Density]
    prior: ClassFactor | None


def graph_items(graph: GraphFactors, statistics: Statistics, row: CodedRow) -> GraphItems:
    """Return P(x | parents) of every child of the class whose parents are known.

    Families with a missing node on which a known node depends share one factor: a sum over its states.
    """
    known = dict(zip(graph.dag.nodes, graph.known(row.chunk)[0].tolist(), strict=True))
    missing = graph.hidden(np.array([[*known.values()]]))[0]
    hidden = {name for name, summed in zip(graph.dag.nodes, missing, strict=True) if summed}
    writer = _Writer(graph, statistics, row)
    items: dict[Any, Item] = {}
    numbers: dict[int, Density] = {}
    together: list[Name] = []
    for variable in row.schema.attributes:
        name = variable.name
        parents = graph.dag.parents_of(name) if name in known else ()
        if name not in known:
            items[name] = OmittedAttribute(name, row.raw(name), "unused")
        elif not known[name]:
            raw = row.raw(name)
            items[name] = OmittedAttribute(
                name, raw, "summed" if name in hidden else "missing" if raw is None else "unseen"
            )
        elif hidden.intersection(parents):
            together.append(name)
        elif graph.target not in parents:
            items[name] = OmittedAttribute(name, row.raw(name), "same")
        elif graph.places[name][0]:
            items[name] = writer.table(name)
        else:
            numbers[graph.places[name][1]] = writer.density(name)
    prior = writer.class_factor(hidden)
    if prior is not None and prior.source == "nothing known" and not together:
        # An ancestor of a missing parent of the class is informative, although its own factor is the same everywhere.
        together = [
            n for n, item in items.items() if isinstance(item, OmittedAttribute) and item.reason == "same"
        ]
    if hidden and together:
        said = [[f.log for f in item.factors] for item in items.values() if isinstance(item, Attribute)]
        said += [density.logs.tolist() for density in numbers.values()]
        said += [] if prior is None else [[f.log for f in prior.factors]]
        group = writer.sum(together, hidden, said)
        items = {name: item for name, item in items.items() if name not in together} | {group.name: group}
    return GraphItems(items, numbers, prior)


class _Writer:
    """Writes the factors of one row."""

    def __init__(self, graph: GraphFactors, statistics: Statistics, row: CodedRow) -> None:
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
            return self.row.left_out(j)  # an unseen value has no factor
        levels = tries.level_probabilities(f, self.row.chunk)[0]
        with np.errstate(divide="ignore"):
            logs = np.log(levels[-1])
        workings = family_shares(tries, self.counted, self.row, f, len(levels) - 1, levels)
        family = "table" if tries.rule.mode[f] == PLAIN else "back-off"
        factors = tuple(map(PageFactor, logs.tolist(), workings))
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
            for m, v in zip(mean, variance, strict=True)
        ]
        return Density(family.log_prob(chunk.codes, chunk.values)[0], workings, self._given(name))

    def class_factor(self, hidden: set[Name]) -> ClassFactor | None:
        family = self.graph.class_family
        if family is None:
            return None
        if hidden.intersection(self.graph.dag.parents_of(self.graph.target)):
            logs = self.graph.log_class()
            return ClassFactor(tuple(map(PageFactor, logs.tolist())), "nothing known", ())
        counts = family.counts_of(self.row.chunk.codes)[0].tolist()
        mass, total = family.mass.tolist(), float(family.mass.sum())
        workings = [
            fraction(n, a, sum(counts), total) if sum(counts) + total > 0.0 else f"1/{self.k}"
            for n, a in zip(counts, mass, strict=True)
        ]
        logs = family.log_prob(self.row.chunk.codes)[0]
        return ClassFactor(with_workings(logs, workings), "counts", self._given(self.graph.target))

    def sum(self, together: Sequence[Name], hidden: set[Name], said: list[list[float]]) -> Attribute:
        """Return the joint factor of the families around missing nodes: the product without the other factors."""
        total = np.zeros((1, self.k))
        self.graph.add_log_prob(self.row.chunk, total)
        written = np.array(said).reshape(len(said), self.k).sum(axis=0)
        possible = written > -np.inf
        logs = np.where(possible, total[0] - np.where(possible, written, 0.0), 0.0)
        names = tuple(together)
        alone = len(names) == 1
        return Attribute(
            names[0] if alone else names,
            self._shown(names[0]) if alone else tuple(map(self._shown, names)),
            "sum",
            tuple(map(PageFactor, logs.tolist())),
            summed=tuple(name for name in self.graph.dag.nodes if name in hidden),
        )


class NumericItems:
    """The factors of the numeric attributes of a row, as given by its conditionals."""

    def __init__(self, statistics: Statistics, spec: ModelSpec, row: CodedRow) -> None:
        self.statistics, self.spec, self.row = statistics, spec, row
        self.found: dict[int, list[tuple[str, Floats, list[str]]]] = {}
        self.given: dict[int, tuple[tuple[Any, Any], ...]] = {}
        self.together: dict[Any, Item] = {}

    @property
    def n_classes(self) -> int:
        return self.row.schema.n_classes

    def add_density(self, column: int, family: str, logs: Floats, formulas: Sequence[Formula]) -> None:
        x = float(self.row.chunk.values[0, column])
        self._add(column, family, logs, [density_working(formula, x) for formula in formulas])

    def add_presence(self, column: int, missing: bool, logs: Floats) -> None:
        workings = _presence_shares(self.statistics, column, missing, self.spec.alpha)
        self._add(column, "presence", logs, workings)

    def add_children(self, children: ChildGaussians) -> None:
        for column, parent, logs, workings in child_densities(children, self.row):
            self.given[column] = self.row.given([parent])
            self._add(column, "gaussian", logs, workings)

    def add_together(self, joint: GaussianClasses) -> None:
        self.together |= _together(joint, self.row)

    def _add(self, column: int, family: str, logs: Floats, workings: list[str]) -> None:
        self.found.setdefault(column, []).append((family, logs, workings))

    def items(self) -> dict[Any, Item]:
        """Return the attributes: a density each, and P(present | c) if missing is a state."""
        items, row = dict(self.together), self.row
        for place, variable in enumerate(row.schema.numeric):
            x = float(row.chunk.values[0, place])
            missing = x != x
            parts = self.found.get(place, [])
            if parts:
                logs = np.sum([part[1] for part in parts], axis=0)
                workings = [" · ".join(part[2][k] for part in parts) for k in range(self.n_classes)]
                factors = with_workings(logs, workings)
                value = None if missing else x
                given = self.given.get(place, ())
                family = parts[-1][0]
                items[variable.name] = Attribute(variable.name, value, family, factors, missing, given)
            elif missing or self.spec.covariance is None:
                items[variable.name] = OmittedAttribute(
                    variable.name, None if missing else x, "missing" if missing else "constant"
                )
        return items


def density_working(formula: Formula, x: float) -> str:
    """Write a distribution at x.

    Examples
    --------
    >>> density_working(Formula("N", (Parameter("μ", 0.525, 0.0959), Parameter("σ²", 0.0092))), 0.6)
    'N(0.6; μ=0.525, σ²=0.0092)'
    """
    said = ", ".join(f"{parameter.letter}={_parameter(parameter)}" for parameter in formula.parameters)
    return f"{formula.symbol}({number(x)}; {said})"


def _parameter(parameter: Parameter) -> str:
    if parameter.spread is None:
        return short(parameter.value)
    return centre(parameter.value, parameter.spread)


def _presence_shares(statistics: Statistics, place: int, missing: bool, alpha: float) -> list[str]:
    present, margin = statistics.moments.weight[:, place], statistics.class_counts
    real = np.maximum(margin - present, 0.0) if missing else present
    return shares(real, np.full(len(real), alpha), margin, 2.0 * alpha, 1)


def _together(conditional: GaussianClasses, row: CodedRow) -> dict[Any, Item]:
    """Explain jointly Gaussian attributes, which are one factor."""
    chunk, numeric = row.chunk, row.schema.numeric
    varying = conditional.columns[conditional.varying].tolist()
    items: dict[Any, Item] = {}
    for place in sorted(set(conditional.columns.tolist()) - set(varying)):
        x = float(chunk.values[0, place])
        name = numeric[place].name
        items[name] = OmittedAttribute(name, None if x != x else x, "missing" if x != x else "constant")
    used = [place for place in varying if not np.isnan(chunk.values[0, place])]
    if used:
        names = tuple(numeric[place].name for place in used)
        out = np.zeros((1, row.schema.n_classes))
        conditional.add_log_prob(chunk, out)
        values = tuple(float(chunk.values[0, place]) for place in used)
        workings = [
            f"N(x; μ, Σ), {len(used)}d" if np.isinf(ν) else f"t(x; ν={number(ν)}, μ, Σ), {len(used)}d"
            for ν in conditional.freedom.tolist()
        ]
        items[names] = Attribute(names, values, "covariance", with_workings(out[0], workings))
    return items


def family_items(conditional: FamilyTries, counted: Families, row: CodedRow) -> dict[Any, Item]:
    """Return a factor for each attribute whose parents are known, and one joint factor for those summed over together.

    If the missing parents have too many joint states for a sum, a family uses the parents before its first missing
    one, and names only these.
    """
    trie = conditional.trie
    absent = {j for j in range(len(trie.sizes)) if row.is_unknown(j) and not trie.is_state[j]}
    families = {int(j): f for f, j in enumerate(trie.child)}
    summed = _summed(conditional, absent, families)
    items: dict[Any, Item] = {}
    for j in absent & families.keys():
        items[row.schema.categorical[j].name] = row.left_out(j, "summed" if j in summed else None)
    for j, variable in enumerate(row.schema.categorical):
        if j not in families:
            items[variable.name] = OmittedAttribute(variable.name, row.value(j), "unused")
    apart, together = np.zeros(conditional.n_classes), list[int]()
    for j, f in families.items():
        if j in absent:
            continue
        if summed.intersection(_parents(conditional, f)):
            together.append(j)
            continue
        found = _item(conditional, counted, row, f, absent)
        if isinstance(found, Attribute):
            apart += [factor.log for factor in found.factors]
        items[row.schema.categorical[j].name] = found
    if together:
        total = np.zeros((1, conditional.n_classes))
        conditional.add_log_prob(row.chunk, total)
        logs = np.where(apart > -np.inf, total[0] - np.where(apart > -np.inf, apart, 0.0), 0.0)
        context = {i for j in (*together, *summed) for i in _parents(conditional, families[j])}
        group = _joint_item(row, sorted(together), summed, sorted(context - summed - set(together)), logs)
        items[group.name] = group
    return items


def _parents(conditional: FamilyTries, f: int) -> list[int]:
    start, stop = conditional.trie.first_parent[f : f + 2]
    return [int(i) for i in conditional.trie.parents[start:stop]]


def _summed(conditional: FamilyTries, absent: set[int], families: dict[int, int]) -> set[int]:
    """Return the missing attributes with a present descendant; none if they have too many joint states."""
    needed: set[int] = set()
    grown = True
    while grown:
        children = [f for j, f in families.items() if j not in absent or j in needed]
        found = absent.intersection(i for f in children for i in _parents(conditional, f))
        grown, needed = found > needed, found
    if not needed <= families.keys():
        return set()  # the distribution of one of them is not known
    sizes = [int(conditional.trie.sizes[j]) + bool(conditional.rule.is_open[families[j]]) for j in needed]
    return needed if 0 < math.prod(sizes) <= MOST_CONFIGURATIONS else set()


def _item(conditional: FamilyTries, counted: Families, row: CodedRow, f: int, absent: set[int]) -> Item:
    """Return the factor of one family, given the parents before the first missing one."""
    j, parents = int(conditional.trie.child[f]), _parents(conditional, f)
    used = next((at for at, i in enumerate(parents) if i in absent), len(parents))
    levels = conditional.level_probabilities(f, row.chunk)[0]
    if row.code(j) > row.schema.categorical[j].size and not conditional.rule.is_open[f]:
        return row.left_out(j)  # an unseen value has no factor
    with np.errstate(divide="ignore"):
        logs = np.log(levels[used])
    workings = family_shares(conditional, counted, row, f, used, levels)
    return Attribute(
        row.schema.categorical[j].name,
        row.value(j),
        "table" if conditional.rule.mode[f] == PLAIN else "back-off",
        tuple(map(PageFactor, logs.tolist(), workings)),
        row.is_unknown(j),
        row.given(parents[:used]),
    )


def _joint_item(
    row: CodedRow, places: list[int], summed: set[int], context: list[int], logs: Floats
) -> Attribute:
    variables = row.schema.categorical
    names, values = tuple(variables[j].name for j in places), tuple(row.value(j) for j in places)
    alone = len(places) == 1
    return Attribute(
        names[0] if alone else names,
        values[0] if alone else values,
        "sum",
        tuple(map(PageFactor, logs.tolist())),
        given=row.given(context),
        summed=tuple(variables[j].name for j in sorted(summed)),
    )
