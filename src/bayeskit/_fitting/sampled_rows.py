"""What is counted before anything is chosen: classes, states and a sample of rows.

Cut points, views and sets of attributes are chosen from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import Conditional
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.model import ModelForm, ModelSpec
from bayeskit._schema import Schema
from bayeskit._statistics.row_sample import RowSample
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan

# The numbers, and the rows at least and at most, of the sample.
_SAMPLE_CELLS, _SAMPLE_LEAST, _SAMPLE_MOST = 2**23, 2**13, 2**17


@dataclass(frozen=True)
class TablesOnly(ModelForm):
    """Counts classes and states, and nothing of numbers: how many rows there are, and which columns."""

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        return Plan((Pattern("tables", tuple(v.name for v in schema.categorical)),))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        return self

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        return ()


@dataclass(frozen=True)
class Sampling(TablesOnly):
    """Counts the same, and keeps a sample of rows: what choices are made from."""

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        n = _SAMPLE_CELLS // max(len(schema.attributes), 1)
        n = min(max(n, _SAMPLE_LEAST), _SAMPLE_MOST)
        return Plan((*super().plan(schema, spec).patterns, Pattern("row_sample", (n,))))


def sample_chunk(sample: RowSample, schema: Schema) -> Chunk:
    """Return the rows of a sample as a chunk."""
    codes = np.ascontiguousarray(sample.codes.astype(schema.code_dtype))
    values = np.ascontiguousarray(sample.values)
    return Chunk(
        len(sample.weight), codes, values, target=sample.target.astype(np.uint32), weights=sample.weight
    )
