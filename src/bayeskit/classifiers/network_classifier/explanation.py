"""The answer of a network classifier for one row, taken apart: P(c | parents), and P(x | parents) of each child."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.columns import by_node
from bayeskit.data.columns import is_missing
from bayeskit.data.encode import match_columns
from bayeskit.data.table import Table
from bayeskit.errors import UsageError
from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.network import Network
from bayeskit.networks.data_rows import Rows
from bayeskit.networks.learned.fitting import imaginary_cells
from bayeskit.report.explanation import Attribute, Explanation, Factor, LeftOut, PriorSource, Reason
from bayeskit.report.factors.shares import with_workings
from bayeskit.report.fractions import centre, fraction, number, short
from bayeskit.report.information_value import Questions
from bayeskit.report.row import one_row
from bayeskit.report.words import words_of
from bayeskit.schema import Name

Floats = NDArray[np.float64]


class RowOfNetwork:
    """One row in the codes and numbers of a network whose class is not known."""

    def __init__(self, network: Any, target: Name, rows: Rows) -> None:
        self.network, self.target = network, target
        self.value: Network = network._network
        self.codes: dict[Name, int] = {}
        self.numbers: dict[Name, float] = {}
        for place, node in enumerate(self.value.nodes):
            if node.name == target:
                continue
            if node.is_discrete:
                code = int(rows.codes(place)[0])
                if code < node.variable.size:
                    self.codes[node.name] = code
            elif not math.isnan(x := float(rows.numbers(place)[0])):
                self.numbers[node.name] = x
        self.hidden = self._hidden()

    @property
    def n_classes(self) -> int:
        return self.value[self.target].variable.size

    def is_known(self, name: Name) -> bool:
        return name in self.codes or name in self.numbers

    def shown(self, name: Name) -> Any:
        """Return a value as it is shown."""
        return (
            self.numbers[name] if name in self.numbers else self.value[name].variable.states[self.codes[name]]
        )

    def _hidden(self) -> set[Name]:
        """The missing nodes from which something that is known, or the class, descends: they are summed over."""
        found: set[Name] = set()
        stack = [self.target, *self.codes, *self.numbers]
        seen = set(stack)
        while stack:
            for parent in self.value[stack.pop()].parents:
                if parent not in seen:
                    seen.add(parent)
                    found.add(parent)
                    stack.append(parent)
        return found

    def log_joint(self) -> Floats:
        """Return log P(c, known values) of each class."""
        states = self.value[self.target].variable.states
        known = {name: [self.shown(name)] * len(states) for name in (*self.codes, *self.numbers)}
        return np.asarray(self.network.log_prob({**known, self.target: list(states)}))

    def factor(self, name: Name) -> tuple[Factor, ...]:
        """Return P(name | parents) for each class; all of the family but the class is known."""
        node = self.value[name]
        if isinstance(node.distribution, LinearGaussian):
            return self._density(name, node.distribution)
        assert node.distribution is not None
        names = (*node.parents, name)
        place = tuple(slice(None) if n == self.target else self.codes[n] for n in names)
        values = np.broadcast_to(node.distribution.table()[place], (self.n_classes,))
        with np.errstate(divide="ignore"):
            logs = np.log(values)
        return with_workings(logs, self._shares(name, place))

    def _shares(self, name: Name, place: tuple[Any, ...]) -> list[str]:
        """Write the counts behind the numbers, where the network was fitted by counting."""
        try:
            counts = self.network._fitted("explain").table(self.value, name)
        except UsageError:
            return [""] * self.n_classes
        prior, by_name = imaginary_cells(self.value, self.network._prior)
        cells = by_name.get(name)
        if cells is None:
            cells = prior.cells(self.value[name].variable, math.prod(counts.shape[:-1]))
        # The rows of the table that the known parents leave: one for each class, or one for all.
        rows, added = (a[place[:-1]] for a in (counts, np.broadcast_to(cells, counts.shape)))
        real, extra, whole, extra_whole = (
            np.broadcast_to(a, (self.n_classes,)).tolist()
            for a in (rows[..., place[-1]], added[..., place[-1]], rows.sum(axis=-1), added.sum(axis=-1))
        )
        nothing = f"1/{self.value[name].variable.size}"
        return [
            fraction(n, a, total, imaginary) if total + imaginary > 0.0 else nothing
            for n, a, total, imaginary in zip(real, extra, whole, extra_whole)
        ]

    def _density(self, name: Name, d: LinearGaussian) -> tuple[Factor, ...]:
        parents = self.value[name].parents
        discrete = [p for p in parents if self.value[p].is_discrete]
        x = np.array([self.numbers[p] for p in parents if p in self.numbers])
        place = tuple(slice(None) if p == self.target else self.codes[p] for p in discrete)
        mean = np.broadcast_to((d.intercept + d.coefficients @ x)[place], (self.n_classes,))
        variance = np.broadcast_to(d.variance[place], (self.n_classes,))
        y = self.numbers[name]
        logs = -0.5 * ((y - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))
        workings = [
            f"N({number(y)}; μ={centre(float(m), math.sqrt(v))}, σ²={short(float(v))})"
            for m, v in zip(mean, variance)
        ]
        return with_workings(logs, workings)


def explained(model: Any, table: Table, lang: str) -> Explanation:
    """Explain the answer of a fitted network classifier for a table of one row."""
    words_of(lang)
    table, row = _read(model, table)
    raw = {name: _raw(table, j) for j, name in enumerate(model.schema_.position)}
    return explain_row(row, raw, tuple(model.classes_.tolist()), lang)


def asked(model: Any, row: Any, costs: Any, loss: Any, lang: str) -> Questions:
    """Rank what a network classifier may be told next; the network is asked with what the row tells."""
    if isinstance(row, Mapping):
        row = {**dict.fromkeys(model.schema_.position), **row}
    known = _read(model, one_row(row))[1]
    evidence = {name: known.shown(name) for name in (*known.codes, *known.numbers)}
    found: Questions = model.network_.ask_next(
        model.target_, evidence=evidence, costs=_in_network(model, costs), loss=loss, lang=lang
    )
    return replace(found, classes=tuple(model.classes_.tolist()))


def _read(model: Any, table: Table) -> tuple[Table, RowOfNetwork]:
    names = tuple(model.schema_.position)
    table = match_columns(table, model.schema_, names if model._named else None, type(model).__name__)
    variables = [node.variable for node in model.network_._network.nodes]
    rows = Rows(by_node(table, names), variables, model.unseen)
    return table, RowOfNetwork(model.network_, model.target_, rows)


def _in_network(model: Any, costs: Any) -> Any:
    """Leave away the costs of columns that are no node: asking for them tells nothing."""
    if not isinstance(costs, Mapping):
        return costs
    nodes = model.network_._network.dag.position
    return {name: cost for name, cost in costs.items() if name in nodes or name not in model.schema_.position}


def _raw(table: Table, j: int) -> Any:
    """Return a cell as it was given; None where it is missing."""
    value = table.raw(j)[0] if table.frame is None else table.frame.get_column(table.names[j]).to_list()[0]
    return None if is_missing(value) else value.item() if isinstance(value, np.generic) else value


def explain_row(row: RowOfNetwork, raw: dict[Name, Any], classes: tuple[Any, ...], lang: str) -> Explanation:
    """Take the answer apart.

    Families that hold a missing node which something known depends on are one factor, a sum over its states.

    Parameters
    ----------
    raw : {column: value as it was given}, all columns in their order
    """
    dag, target, hidden = row.value.dag, row.target, row.hidden
    logs: dict[Name, tuple[Factor, ...]] = {}
    left: dict[Name, LeftOut] = {}
    together: list[Name] = []
    for name, value in raw.items():
        if name not in dag.position:
            left[name] = LeftOut(name, value, "unused")
        elif not row.is_known(name):
            reason: Reason = "summed" if name in hidden else "missing" if value is None else "unseen"
            left[name] = LeftOut(name, value, reason)
        elif hidden.intersection(row.value[name].parents):
            together.append(name)
        elif target in row.value[name].parents:
            logs[name] = row.factor(name)
        else:
            left[name] = LeftOut(name, value, "same")
    fallback = tuple(float(np.log(p)) if p > 0.0 else -math.inf for p in row.network.query(target).values)
    source: PriorSource = "counts"
    if hidden.intersection(row.value[target].parents):
        prior, source = tuple(map(Factor, fallback)), "nothing known"
        prior_given: tuple[tuple[Name, Any], ...] = ()
    else:
        prior, prior_given = row.factor(target), _given(row, target)
    attributes = [
        Attribute(name, row.shown(name), _family(row, name), factors, given=_given(row, name))
        for name, factors in logs.items()
    ]
    if hidden and (together or source == "nothing known"):
        attributes.append(_sum(row, together, [prior, *logs.values()]))
    return Explanation(
        target,
        classes,
        prior,
        tuple(attributes),
        tuple(left.values()),
        source,
        lang,
        fallback=fallback,
        prior_given=prior_given,
    )


def _family(row: RowOfNetwork, name: Name) -> str:
    return "table" if row.value[name].is_discrete else "gaussian"


def _given(row: RowOfNetwork, name: Name) -> tuple[tuple[Name, Any], ...]:
    return tuple((p, row.shown(p)) for p in row.value[name].parents if p != row.target)


def _sum(row: RowOfNetwork, together: list[Name], others: list[tuple[Factor, ...]]) -> Attribute:
    """What the families around missing nodes say: all that is not said by the other factors."""
    said = np.array([[f.log for f in factors] for factors in others]).sum(axis=0)
    possible = said > -np.inf
    logs = np.where(possible, row.log_joint() - np.where(possible, said, 0.0), 0.0)
    names = tuple(together) or tuple(n for n in row.value.dag.nodes if n != row.target and row.is_known(n))
    alone = len(names) == 1
    return Attribute(
        names[0] if alone else names,
        row.shown(names[0]) if alone else tuple(map(row.shown, names)),
        "sum",
        tuple(map(Factor, logs.tolist())),
        summed=tuple(n for n in row.value.dag.nodes if n in row.hidden),
    )
