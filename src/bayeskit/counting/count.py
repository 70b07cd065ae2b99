"""Data × plan → statistics, for one chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayeskit.counting.cell_moments import count_cell_moments
from bayeskit.counting.families import count_families
from bayeskit.counting.grids import count_grids
from bayeskit.counting.moments import count_moments
from bayeskit.counting.pairs import count_pairs
from bayeskit.counting.regression_families import count_regressions
from bayeskit.counting.scatter import count_scatter
from bayeskit.counting.tables import count_tables
from bayeskit.counting.totals import count_totals
from bayeskit.counting.triples import count_triples
from bayeskit.data.chunk import Chunk
from bayeskit.schema import Schema
from bayeskit.statistics import Plan, Statistics

COUNTERS: dict[str, Callable[..., Any]] = {
    "tables": count_tables,
    "moments": count_moments,
    "totals": count_totals,
    "scatter": count_scatter,
    "grids": count_grids,
    "pairs": count_pairs,
    "triples": count_triples,
    "families": count_families,
    "cell_moments": count_cell_moments,
    "regressions": count_regressions,
}


def count(chunk: Chunk, schema: Schema, plan: Plan) -> Statistics:
    """Take all the sums of a plan over the rows of one chunk."""
    parts = {p.kind: COUNTERS[p.kind](chunk, schema, p.attributes) for p in plan.patterns}
    return Statistics(schema, plan, parts)
