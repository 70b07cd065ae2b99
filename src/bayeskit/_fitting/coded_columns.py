"""Gaussian classes for mixed tables: states become columns of 0 and 1, and numbers are standardised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import Codes, Conditional
from bayeskit._conditionals.covariance import GaussianClasses, estimate_covariance
from bayeskit._counting.count_scatter import coded_values
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.model import ModelForm, ModelSpec
from bayeskit._schema import Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit.typing import Floats

# (filled, columns), as in `CodedScatter`.
Coding = tuple[bool, tuple[tuple[Any, ...], ...]]


def choose_coding(statistics: Statistics, missing: str, most: float) -> Coding:
    """Choose the columns of all attributes that vary: means and deviations of numbers, and states with their shares.

    Parameters
    ----------
    statistics : Statistics
        With tables and moments.
    missing : "ignore", "mean" or "indicator"
    most : float
        The number of standard deviations from the mean at which numbers are clipped.
    """
    schema = statistics.schema
    columns = (*_numbers(statistics, missing, float(most)), *_states(statistics, missing))
    return missing != "ignore", tuple(sorted(columns, key=lambda column: schema.position[column[1]]))


def _numbers(statistics: Statistics, missing: str, most: float) -> Iterator[tuple[Any, ...]]:
    if not statistics.schema.numeric:
        return
    pooled = statistics.moments.pooled()
    mean, deviation, present = pooled.mean()[0][0], pooled.deviation()[0], pooled.weight[0]
    for j, variable in enumerate(statistics.schema.numeric):
        if present[j] > 0.0 and np.isfinite(deviation[j]) and deviation[j] > 0.0:
            yield "number", variable.name, float(mean[j]), float(deviation[j]), most
        if missing == "indicator" and 0.0 < present[j] < (1.0 - 1e-12) * statistics.total:
            yield "missing", variable.name


def _states(statistics: Statistics, missing: str) -> Iterator[tuple[Any, ...]]:
    counts = statistics.tables.counts.sum(axis=1)
    begins = statistics.schema.offsets.astype(np.intp)
    for variable, begin in zip(statistics.schema.categorical, begins[:-1], strict=True):
        of_state, holes = counts[begin : begin + variable.size], counts[begin + variable.size]
        if np.count_nonzero(of_state) > 1:
            shares = (of_state / of_state.sum()).tolist()
            for state, share in zip(variable.states, shares, strict=True):
                yield "state", variable.name, state, share
        if missing == "indicator" and holes > 0.0 and of_state.any():
            yield "missing", variable.name


@dataclass(frozen=True)
class CodedColumns(ModelForm):
    """The form in which the coded columns of all attributes are jointly Gaussian in each class."""

    coding: Coding

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        return Plan((*Plan.naive(schema).patterns, Pattern("coded_scatter", self.coding)))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        return self

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        assert spec.covariance is not None
        scatter: Any = statistics.parts["coded_scatter"]
        classes = estimate_covariance(scatter, np.arange(len(self.coding[1])), spec.covariance)
        return (CodedGaussian(statistics.schema, self.coding, classes),)


@dataclass(frozen=True, eq=False)
class CodedGaussian(Conditional):
    """Gaussian classes over the coded columns of attributes.

    They score classes but are not a distribution of rows: the 0/1 columns of a state are not Gaussian numbers, and
    clipping maps different numbers to the same one.
    """

    schema: Schema
    coding: Coding
    classes: GaussianClasses

    @property
    def is_distribution(self) -> bool:
        return False

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        self.classes.add_log_prob(self._coded(chunk), out)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        self.classes.add_left_out(self._coded(chunk), own, out)

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        """Add the attributes one by one, in column order, with all later ones integrated out."""
        whole = self._coded(chunk)
        values = np.full_like(whole.values, np.nan)
        before = np.zeros((chunk.n_rows, out.shape[2]))
        places = {
            v.name: places[j]
            for kind, places in ((self.schema.categorical, categorical), (self.schema.numeric, numeric))
            for j, v in enumerate(kind)
        }
        for name in dict.fromkeys(column[1] for column in self.coding[1]):
            mine = [j for j, column in enumerate(self.coding[1]) if column[1] == name]
            values[:, mine] = whole.values[:, mine]
            now = np.zeros_like(before)
            self.classes.add_log_prob(replace(whole, values=values), now)
            out[:, places[name]] += now - before
            before = now

    def _coded(self, chunk: Chunk) -> Chunk:
        return replace(chunk, values=coded_values(chunk, self.schema, self.coding))
