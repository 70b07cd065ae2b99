"""Counts rows, in memory chunk by chunk on threads, or in place by a backend, and keeps the totals."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from bayeskit._counting.backend_protocol import Backend
from bayeskit._counting.cluster_tasks import reduce_on_dask, reduce_on_spark
from bayeskit._counting.count_families import count_families, count_regressions
from bayeskit._counting.count_grids import count_grids
from bayeskit._counting.count_interactions import count_interactions, take_sample
from bayeskit._counting.count_moments import count_cell_moments, count_moments
from bayeskit._counting.count_scatter import count_coded_scatter, count_scatter
from bayeskit._counting.count_tables import count_pairs, count_tables, count_triples
from bayeskit._counting.count_totals import count_totals
from bayeskit._counting.count_trees import count_trees
from bayeskit._counting.database_backend import Database
from bayeskit._counting.duckdb_backend import DuckDB
from bayeskit._counting.partitions import Partitions
from bayeskit._data.encode import encode, match_columns
from bayeskit._data.encoded import CHUNK_ROWS, Chunk, EncodedTable
from bayeskit._data.reading import Reading
from bayeskit._data.source import Rows, Source, thread_count
from bayeskit._numba import share_arrays
from bayeskit._schema import Schema, Variable
from bayeskit._statistics.statistics import Statistics, memory_of
from bayeskit._statistics.term import Pattern, Plan
from bayeskit.errors import DataError, SettingError, UnseenState


def backend_of(source: Source) -> Backend | None:
    """Return the backend that counts a source in place; None if its rows are read and counted here."""
    return next((backend for backend in BACKENDS if backend.takes(source)), None)


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
    "trees": count_trees,
    "interactions": count_interactions,
    "row_sample": take_sample,
    "coded_scatter": count_coded_scatter,
}


def count(chunk: Chunk, schema: Schema, plan: Plan) -> Statistics:
    """Compute all sums of a plan over the rows of one chunk."""
    parts = {p.kind: COUNTERS[p.kind](chunk, schema, p.attributes) for p in plan.patterns}
    return Statistics(schema, plan, parts)


T = TypeVar("T")

# Tables up to this size are counted chunk by chunk; larger ones in proportionally longer chunks.
_FREE_BYTES = 2**25

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _pool(n_threads: int) -> ThreadPoolExecutor:
    """A pool for this process: one inherited through a fork would wait for threads that do not exist."""
    key = (os.getpid(), n_threads)
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(n_threads, thread_name_prefix="bayeskit", initializer=share_arrays)
    return _pools[key]


def in_order(task: Callable[[int, int], T], bounds: list[tuple[int, int]], n_jobs: int | None) -> Iterator[T]:
    """Run a task over row ranges and yield the results in the order of the ranges.

    At most two tasks per thread are waiting, so memory does not grow with the number of ranges.
    """
    n_threads = min(thread_count(n_jobs), len(bounds))
    if n_threads == 1:
        yield from (task(start, stop) for start, stop in bounds)
        return
    pool, waiting = _pool(n_threads), list[Future[T]]()
    for start, stop in bounds:
        waiting.append(pool.submit(task, start, stop))
        if len(waiting) >= 2 * n_threads:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def count_rows(encoded: EncodedTable, plan: Plan, n_jobs: int | None = None) -> Statistics:
    """Count a table, chunk by chunk.

    Chunk bounds do not depend on ``n_jobs``, and results are merged in chunk order. So the same data give the
    same bits with any number of threads.
    """
    # For a few rows, adding two large tables costs more than counting.
    step = CHUNK_ROWS * max(1, memory_of(plan, encoded.schema) // _FREE_BYTES)
    bounds = encoded.bounds(step)
    if len(bounds) == 1 and thread_count(n_jobs):  # also checks that n_jobs is valid
        return count(encoded.chunk(*bounds[0], by_column=True), encoded.schema, plan)
    results = in_order(
        lambda a, b: count(encoded.chunk(a, b, by_column=True), encoded.schema, plan), bounds, n_jobs
    )
    total = next(results)
    for statistics in results:
        total = total.merge(statistics)
    return total


class Threads(Backend):
    """Counts rows that are read here (tables in memory, batches, files), chunk by chunk on threads."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def takes(self, source: Source) -> bool:
        return True

    def schema(self, source: Source, reading: Reading, target: Variable) -> Schema:
        found: Schema | None = None
        for rows in source:
            start = reading.schema_of(rows.table, target) if found is None else found
            encoded = _encoded(rows, start, source.threshold)
            names = tuple(v.name for v in encoded.schema.categorical)
            counted = count_rows(encoded, Plan((Pattern("tables", names),)), self.n_jobs).pruned().schema
            found = counted if found is None else found.union(counted)
        if found is None:
            raise DataError("The source gave no batch: Found array with 0 sample(s).")
        return found

    def count(self, source: Source, schema: Schema, plan: Plan) -> Statistics:
        total = Statistics.zero(schema, plan)
        for rows in source:
            # Values without weight may pass: they are removed again.
            total = total.merge(count_rows(_encoded(rows, schema, source.threshold), plan, self.n_jobs))
        _refuse_strange(total, schema)
        return total.embed(schema)


# One line for each backend. Threads are not listed: they count the rows that no other backend takes.
BACKENDS: list[Backend] = [
    DuckDB(Threads()),
    Database(),
    Partitions("dask", reduce_on_dask, Threads()),
    Partitions("spark", reduce_on_spark, Threads()),
]


def _encoded(rows: Rows, schema: Schema, threshold: float | None) -> EncodedTable:
    table, names = rows.table, tuple(v.name for v in schema.attributes)
    if schema.block is None:
        table = table.select(names) if set(names) < set(table.names) else table
    table = match_columns(
        table, schema, names if table.named and schema.block is None else None, "The schema"
    )
    y = rows.y
    if y is None and schema.target.size == 1:
        y = np.full(table.n_rows, schema.target.states[0], dtype=object)
    return encode(table, schema, "grow", y=y, weights=rows.weights, with_target=True, threshold=threshold)


def _refuse_strange(statistics: Statistics, schema: Schema) -> None:
    """Raise an error for rows that do not fit a schema; they would be lost."""
    found = statistics.pruned().schema
    pairs = [(v, schema[v.name]) for v in found.categorical]
    for held, known in [(found.target, schema.target), *pairs]:
        strange = [state for state in held.states if state not in known.codes]
        if strange:
            raise UnseenState(
                "{name!r} has no state {strange!r} (it has {states}). Find the schema of these rows first.",
                name=held.name,
                strange=strange[0],
                states=known.listing(),
            )


class Tally:
    """Statistics with methods for incremental updates.

    Every method is atomic: the statistics are replaced only when the new ones are complete.
    """

    def __init__(self, schema: Schema, plan: Plan, n_jobs: int | None = None) -> None:
        self.statistics = Statistics.zero(schema, plan)
        self.n_jobs = n_jobs

    @classmethod
    def of(cls, encoded: EncodedTable, plan: Plan, n_jobs: int | None = None) -> Tally:
        """Start a tally from the counts of the first rows."""
        tally = cls.__new__(cls)
        tally.statistics, tally.n_jobs = count_rows(encoded, plan, n_jobs).pruned(), n_jobs
        return tally

    @property
    def schema(self) -> Schema:
        return self.statistics.schema

    def absorb(self, encoded: EncodedTable) -> None:
        """Add rows."""
        new = count_rows(encoded, self.statistics.plan, self.n_jobs)
        # Zero + a is a, without the copy (its schema was extended from this one).
        self.statistics = (self.statistics.merge(new) if self.statistics.total else new).pruned()

    def forget(self, encoded: EncodedTable) -> None:
        """Remove rows that were added before, and drop states that no row has any more."""
        self.subtract(count_rows(encoded, self.statistics.plan, self.n_jobs))

    def fade(self, factor: float) -> None:
        """Multiply every weight by a factor between 0 and 1, so that older rows count for less."""
        if not (isinstance(factor, (int, float, np.number)) and 0.0 < factor <= 1.0):
            raise SettingError("fade needs a factor above 0 and at most 1, not {factor!r}.", factor=factor)
        self.statistics = self.statistics.scale(float(factor))

    def merge(self, statistics: Statistics) -> None:
        """Add statistics counted elsewhere, by another tally or a backend. The schema grows as needed."""
        self.statistics = self.statistics.merge(statistics).pruned()

    def subtract(self, statistics: Statistics) -> None:
        """Subtract statistics that were counted elsewhere from rows that were added before."""
        self.statistics = self.statistics.subtract(statistics).pruned()
