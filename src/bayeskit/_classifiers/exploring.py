"""What the explorer in the browser asks of a classifier: its network, contributions and a nomogram."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._classifiers.as_network import single_network
from bayeskit._classifiers.labelled_tables import DependentTable, table_with_parents
from bayeskit._networks.evidence import Not
from bayeskit._networks.exploring import ExploredNetwork, state_of
from bayeskit._networks.guided_stories import learned_story
from bayeskit._report.contributions import PRIOR
from bayeskit._schema import Label, Name, Variable
from bayeskit.errors import BayeskitError, SettingError

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier


# Rows of a table that a page can show.
MOST_ROWS = 100


class ExploredClassifier(ExploredNetwork):
    """The network of a classifier, with what the classifier itself says of a row.

    The findings are the row: a finding is the value of a column, and columns without one are missing. A model for
    which missing is a value of its own, or that reads all columns as one block, is explored as its network only.

    Parameters
    ----------
    model : a fitted classifier whose model is a single network
    name : str
        The name to show.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes().fit({"x": ["a", "b", "a"]}, ["yes", "no", "yes"])
    >>> explored = ExploredClassifier(model)
    >>> [round(row["value"], 4) for row in explored.contributions(1, [{"node": 1, "state": 0}])["rows"]]
    [0.4055, 0.8109]
    """

    def __init__(self, model: CountClassifier, name: str = "") -> None:
        super().__init__(single_network(model), name)
        self._model = model
        schema = model._model.schema
        spec = model._reader("explore").spec
        assert spec is not None
        self._columns = {variable.name: variable for variable in schema.attributes}
        self._labels: list[Label] = model._labels(schema).tolist()
        self._has_rows = schema.block is None and spec.missing != "state"
        # Where a column has the name of the class, the class has another.
        own = schema.target.name
        node = getattr(model, "target_", self._variables[0].name) if own in self._columns else own
        self._class = self._variables[self._places[node]]
        with suppress(BayeskitError):  # a network that is too large for it has no story
            self._story = self._story or learned_story(self.network, self._class)

    def description(self) -> dict[str, Any]:
        found = super().description()
        if self._has_rows:
            found["classifier"] = {"target": self._places[self._class.name], "nomogram": self._has_nomogram()}
        return found

    def _has_nomogram(self) -> bool:
        try:
            return any(ruler.name in self._places for ruler in self._model.nomogram().rulers)
        except BayeskitError:
            return False

    def contributions(self, state: Any, findings: Any) -> dict[str, Any]:
        """Return what each finding adds to the log-odds of a class against the most probable other one.

        ``node`` is None for the prior and for what belongs to no single finding (``together``). A contribution may be
        infinite: where a value is impossible in a class.
        """
        code, row = self._row(state, findings)
        found = self._model.contributions({name: [value] for name, value in row.items()})
        values = found.values[0, :, code]
        known = {name for name, value in row.items() if value is not None}
        rows = []
        for column, value in zip(found.columns, values.tolist(), strict=True):
            kind = "finding" if column in self._columns else "prior" if column == PRIOR else "together"
            if column in known or kind == "prior" or (kind == "together" and value != 0.0):
                node = self._places.get(column) if kind == "finding" else None
                rows.append({"kind": kind, "node": node, "value": _written(value)})
        return {
            "rival": int(found.rivals[0, code]),
            "rows": rows,
            "log_odds": _written(float(found.log_odds[0, code])),
        }

    def nomogram(self, state: Any, findings: Any) -> dict[str, Any]:
        """Return the log-odds of every value, for a class against all others, and the points of the findings."""
        code, row = self._row(state, findings)
        chart = self._model.nomogram(self._labels[code], row=row)
        rulers = []
        for ruler in chart.rulers:
            place = self._places.get(ruler.name)
            if place is None:
                continue
            states = self._variables[place].states
            values = [
                v if ruler.numeric else states.index(v) for v in ruler.values if ruler.numeric or v in states
            ]
            odds = [
                o
                for v, o in zip(ruler.values, ruler.log_odds.tolist(), strict=True)
                if ruler.numeric or v in states
            ]
            least, most = ruler.least, ruler.least + ruler.spread
            rulers.append(
                {
                    "node": place,
                    "numeric": ruler.numeric,
                    "values": values,
                    "log_odds": odds,
                    "range": [least, most],
                }
            )
        assert chart.total is not None and chart.log_odds is not None
        readings = {reading.name: reading.log_odds for reading in chart.row}
        return {
            "unit": chart.unit,
            "intercept": chart.intercept,
            "rulers": rulers,
            "row": [[self._places[name], odds] for name, odds in readings.items() if name in self._places],
            "total": chart.total,
            "probability": chart.probability(chart.total),
            "exact": len(self._labels) == 2,
        }

    def counts(self, node: Any, findings: Any) -> dict[str, Any]:
        """Return the training rows behind each cell of a node's table: how many, of how many, and the probability.

        A row of the table has the states of the class and of the other parents; ``fits`` says whether the findings
        allow them. Rows that fit come first, then those with most training rows.
        """
        variable = self._variable(node)
        evidence, _ = self.read(findings)
        target = self._model._model.schema.target.name
        is_class = variable.name == self._class.name
        table = table_with_parents(
            self._model._model, self._model.statistics_, target if is_class else variable.name
        )
        if is_class:  # one row of all classes
            axes: list[tuple[Name, tuple[Label, ...]]] = []
            counts, probabilities = table.counts.reshape(1, -1), table.probabilities.reshape(1, -1)
        else:
            axes = [(self._class.name, table.classes)]
            if isinstance(table, DependentTable):
                axes += zip(table.parents, table.parent_states, strict=True)
            width = len(table.states)
            counts, probabilities = table.counts.reshape(-1, width), table.probabilities.reshape(-1, width)
        rows = []
        for k, given in enumerate(product(*(states for _, states in axes))):
            fits = all(
                _allows(evidence.get(name), state) for (name, _), state in zip(axes, given, strict=True)
            )
            rows.append(
                {
                    "given": [
                        [self._places[name], self._code(name, state)]
                        for (name, _), state in zip(axes, given, strict=True)
                    ],
                    "counts": counts[k].tolist(),
                    "probabilities": probabilities[k].tolist(),
                    "fits": fits,
                }
            )
        rows.sort(key=lambda row: (not row["fits"], -sum(row["counts"])))
        return {
            "rows": rows[:MOST_ROWS],
            "n": len(rows),
            "total": float(self._model.statistics_.class_counts.sum()),
        }

    def _row(self, state: Any, findings: Any) -> tuple[int, dict[Name, Any]]:
        """Return the number of a class, and the findings as a row."""
        if not self._has_rows:
            raise SettingError("This model is explored as its network only: it has no row of single values.")
        label = state_of(self._class, state)
        evidence, soft = self.read(findings)
        row: dict[Name, Any] = dict.fromkeys(self._columns)
        for name, value in {**evidence, **soft}.items():
            if name == self._class.name:
                raise SettingError(
                    "{name!r} is the class and has a finding. Retract it to see what the others say.",
                    name=name,
                )
            column = self._columns.get(name)
            if column is None or name in soft or isinstance(value, Not):
                raise SettingError(
                    "A row has one value for a column, and the finding about {name!r} is no such value. Observe a "
                    "state or a number, or retract it.",
                    name=name,
                )
            row[name] = _value(column, value)
        return self._labels.index(label), row


def _allows(finding: Any, state: Label) -> bool:
    """Whether a finding about a node allows this state of it."""
    if finding is None:
        return True
    return state not in finding.states if isinstance(finding, Not) else bool(finding == state)


def _value(column: Variable, state: Any) -> Any:
    """Return a value of the column that has this state: for an interval, a number in it."""
    if column.cuts is None or state not in column.states:
        return state
    code = column.states.index(state)
    if not column.cuts:  # one interval of all numbers
        return 0.0
    # State k is (cuts[k − 1], cuts[k]].
    return column.cuts[code] if code < len(column.cuts) else math.nextafter(column.cuts[-1], math.inf)


def _written(value: float) -> Any:
    """Return a number as JSON has it; text if it is infinite, None if it is not defined."""
    if np.isnan(value):
        return None
    return value if np.isfinite(value) else ("inf" if value > 0 else "-inf")
