"""Lazy models, which count only what a prediction needs, when it needs it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bayeskit._counting.backend import Tally, backend_of
from bayeskit._data.database_url import DatabaseTable
from bayeskit._data.encode import Policy, encode
from bayeskit._data.frames import names_files
from bayeskit._data.source import Rows, Source
from bayeskit._data.table import Table
from bayeskit._fitting.fitted_state import FittedState, without_idle_states
from bayeskit._fitting.model import Model, estimate, plan_for
from bayeskit._schema import Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

Refresh = Literal["manual", "always", "version"] | float


@dataclass(frozen=True)
class LazyCounts:
    """The counts of some attributes, taken in one pass over the source, and the model estimated from them."""

    statistics: Statistics
    model: Model

    @property
    def n_bytes(self) -> int:
        parts = self.statistics.parts.values()
        return int(sum(array.nbytes for part in parts for array in part.arrays().values()))


class LazyState:
    """Counts that are computed when needed, and cached within a memory budget.

    All counts of one prediction come from the same version of the source. If a later pass finds different class
    counts or a changed file, the cached counts are dropped, and everything that the prediction needs is counted in
    one new pass.
    """

    def __init__(self, source: Source, fitted: FittedState, refresh: Refresh, max_memory: int) -> None:
        if not (
            refresh in ("manual", "always", "version") or (isinstance(refresh, (int, float)) and refresh > 0)
        ):
            raise SettingError(
                'refresh is {refresh!r}; use "manual", "always", "version" or a number of seconds.',
                refresh=refresh,
            )
        if refresh == "version" and _version_of(source) is None:
            raise SettingError(
                'refresh="version": {kind} has no marker that shows when it changes. Use "always", or a number of '
                "seconds.",
                kind=repr(source.data)
                if isinstance(source.data, DatabaseTable)
                else type(source.data).__name__,
            )
        self.source = source
        self.fitted = fitted
        self.refresh = refresh
        self.max_memory = max_memory
        self.passes = 0
        self._lock = threading.RLock()
        self._counts: OrderedDict[frozenset[Name], LazyCounts] = OrderedDict()
        self._skeleton: Schema | None = None
        self._stamp: Any = None
        self._since = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def drop(self) -> None:
        """Drop all cached counts, and reopen the source."""
        with self._lock:
            self._counts.clear()
            self.source.reopen()
            self._skeleton = None
            self._stamp = None
            self._since = time.monotonic()

    def joint(self, table: Table) -> tuple[Floats, Model]:
        """Return log P(c, x) of each row and the model, counting only what these rows need."""
        with self._lock:
            self._drop_if_stale()
            skeleton = self.skeleton()
            table = self.fitted.matched(table, skeleton)
            counts = self._counts_for(self._needed(table))
        model = counts[0].model
        out = np.empty((table.n_rows, len(model.log_prior)))
        out[:] = model.log_prior if model.adds_prior else 0.0
        policy: Policy = self._recipe_unseen()
        # Rows without names are in the order of the attributes.
        called = dict(zip((v.name for v in skeleton.attributes), table.names, strict=False))
        for part in counts:
            schema = part.model.schema
            columns = (
                table
                if schema.block is not None
                else table.select(tuple(v.name if table.named else called[v.name] for v in schema.attributes))
            )
            if schema.attributes:
                encoded = encode(columns, schema, policy, threshold=self.fitted.threshold)
                for start, stop in encoded.bounds():
                    part.model.add_conditionals(encoded.chunk(start, stop), out[start:stop])
        return out, model

    def _needed(self, table: Table) -> frozenset[Name]:
        """Return the attributes that must be counted: in naive Bayes, those that are present in some row."""
        skeleton = self.skeleton()
        assert self.fitted.spec is not None
        spec = self.fitted.spec
        # Missing attributes need not be counted in naive Bayes only, where attributes are independent.
        whole = skeleton.block is not None or spec.missing == "state" or not spec.form.is_naive
        if whole:
            return frozenset(v.name for v in skeleton.attributes)
        return _attributes_present(table, skeleton)

    def _recipe_unseen(self) -> Policy:
        assert self.fitted.spec is not None
        return self.fitted.spec.unseen

    def skeleton(self) -> Schema:
        """Return the columns of the source and their kinds. This reads its first rows but counts nothing."""
        if self._skeleton is None:
            backend = backend_of(self.source)
            if backend is not None:
                found = backend.skeleton(self.source, self.fitted.reading, self.fitted.target)
                self.fitted.named, self.fitted.names = True, tuple(v.name for v in found.attributes)
                self._skeleton = found
            else:
                rows = next(iter(self.source), None)
                if rows is None:
                    raise DataError("The source gave no rows.")
                self.fitted.named, self.fitted.names = rows.table.named, rows.table.names
                self._skeleton = self.fitted.reading.schema_of(rows.table, self.fitted.target)
            self.fitted.spec = self.fitted.make_spec(self._skeleton)
        return self._skeleton

    def schema(self) -> Schema:
        return self.statistics().schema

    def statistics(self) -> Statistics:
        return self._full().statistics

    def full_model(self) -> Model:
        return self._full().model

    def _full(self) -> LazyCounts:
        with self._lock:
            self._drop_if_stale()
            names = frozenset(v.name for v in self.skeleton().attributes)
            if names not in self._counts:
                self._counts.clear()
                self._counts[names] = self._count(names)
            return self._counts[names]

    def _counts_for(self, needed: frozenset[Name]) -> list[LazyCounts]:
        known = frozenset().union(*self._counts) if self._counts else frozenset()
        absent = needed - known
        if absent and self._counts and _version_of(self.source) != self._stamp:
            self.drop()  # the source has changed, so the cached counts do not match new ones
            absent = needed
        if absent or not self._counts:
            part = self._count(absent)
            held = next(iter(self._counts.values()), None)
            if held is not None and not _same_rows(held.statistics, part.statistics):
                self._counts.clear()
                part = self._count(needed)
                absent = needed
            self._counts[absent] = part
            self._stamp = _version_of(self.source)
        wanted = [part for names, part in self._counts.items() if names & needed]
        wanted = wanted or [next(iter(self._counts.values()))]
        self._evict()
        return wanted

    def _count(self, names: frozenset[Name]) -> LazyCounts:
        """Count these attributes, and the class, in one pass."""
        self.passes += 1
        skeleton = self.skeleton()
        assert self.fitted.spec is not None
        backend = backend_of(self.source)
        if backend is not None:
            spec = self.fitted.spec
            # The states are read again: there may be others by now.
            counted = backend.found_and_counted(
                self.source,
                self.fitted.reading,
                self.fitted.target,
                names,
                lambda schema: plan_for(schema, spec),
            ).pruned()
            return LazyCounts(counted, estimate(counted, spec))
        schema = skeleton if skeleton.block is not None else skeleton.restricted(names)
        tally: Tally | None = None
        for rows in self.source.weighing():
            before = schema if tally is None else tally.schema
            encoded = self._encode(rows, before, skeleton)
            plan = plan_for(encoded.schema, self.fitted.spec)
            encoded = without_idle_states(encoded, before, plan, self.fitted.n_jobs)
            if tally is None:
                tally = Tally(encoded.schema, plan, self.fitted.n_jobs)
            tally.absorb(encoded)
        assert tally is not None
        return LazyCounts(tally.statistics, estimate(tally.statistics, self.fitted.spec))

    def _encode(self, rows: Rows, schema: Schema, skeleton: Schema) -> Any:
        table = self.fitted.matched(rows.table, skeleton, learning=True)
        if schema.block is None:
            table = table.select(tuple(v.name for v in schema.attributes))
        return encode(
            table,
            schema,
            "grow",
            y=rows.y,
            weights=rows.weights,
            with_target=True,
            threshold=self.fitted.threshold,
        )

    def _evict(self) -> None:
        """Drop the oldest counts while the cache is larger than ``max_memory``."""
        while len(self._counts) > 1 and sum(held.n_bytes for held in self._counts.values()) > self.max_memory:
            self._counts.popitem(last=False)

    def _drop_if_stale(self) -> None:
        stamp = _version_of(self.source)
        old = isinstance(self.refresh, (int, float)) and time.monotonic() - self._since > self.refresh
        moved = self._counts and stamp != self._stamp and self.refresh != "manual"
        if self.refresh == "always" or old or moved:
            self.drop()
        if not self._counts:
            self._stamp = stamp


def _version_of(source: Source) -> object:
    """What changes when the source does: the time and size of files, a database's own mark; None if there is none."""
    if isinstance(source.data, DatabaseTable):
        return source.data.version()
    if not names_files(source.data):
        return None
    from bayeskit._data.file_set import stamps_of

    return stamps_of(source.data)


def _attributes_present(table: Table, schema: Schema) -> frozenset[Name]:
    """Return the attributes that are present in some row of the table."""
    present = set()
    for j, variable in enumerate(schema.attributes):
        if variable.kind == "numeric":
            numbers = table.numbers(j)
            there = numbers.dtype.kind != "f" or not np.isnan(numbers).all()
        else:
            there = bool((np.asarray(table.factorize(j).codes) >= 0).any())
        if there:
            present.add(variable.name)
    return frozenset(present)


def _same_rows(a: Statistics, b: Statistics) -> bool:
    return a.schema.target == b.schema.target and np.array_equal(a.class_counts, b.class_counts)
