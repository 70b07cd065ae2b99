"""The state of a fitted classifier: its statistics, how it reads rows, and how it estimates the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bayeskit._conditionals.class_prior import class_factors, given_class_prior
from bayeskit._conditionals.density import Shape, hinted_families, shapes_of
from bayeskit._counting.backend import Tally, backend_of, count_rows
from bayeskit._counting.backend_protocol import Backend
from bayeskit._data.encode import Policy, check_names, encode, match_columns
from bayeskit._data.encoded import CHUNK_ROWS, EncodedTable
from bayeskit._data.reading import Reading, warn_of_identifiers, warn_of_names
from bayeskit._data.source import Rows, Source
from bayeskit._data.table import NONE_ASIDE, ColumnsAside, Table
from bayeskit._fitting.model import Model, ModelSpec, estimate, plan_for
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Plan
from bayeskit.errors import BlockValue, DataError
from bayeskit.typing import Floats


def without_idle_states(
    encoded: EncodedTable, before: Schema, plan: Plan, n_jobs: int | None
) -> EncodedTable:
    """Remove states that occur in no row. Before this, an integer column has all values of its range as states.

    For naive Bayes this is done after counting. Tables of pairs or triples would be too large with all these states.
    Where every state is known to occur, nothing is counted to find out.
    """
    plain = ("tables", "moments", "totals", "scatter", "grids", "coded_scatter")
    if all(pattern.kind in plain for pattern in plan.patterns) or not _may_have_idle_states(encoded, before):
        return encoded
    alive = count_rows(encoded, Plan(plan.patterns[:1]), n_jobs).pruned().schema
    known = before.target.size or any(v.size for v in before.categorical)
    return encoded.moved_to(before.union(alive) if known else alive)


def _may_have_idle_states(encoded: EncodedTable, before: Schema) -> bool:
    if encoded.schema is before:
        return False
    if encoded.weights is not None or encoded.target is None or isinstance(encoded.codes, np.ndarray):
        return True
    if any(column.may_be_idle for column in encoded.codes):
        return True
    # Classes that are whole numbers are all those of their range, of which a look at some rows may find every one.
    target = encoded.schema.target
    return target is not before.target and len(np.unique(encoded.target[:CHUNK_ROWS])) < target.size


# Enough rows to distinguish counts from measurements. A suggestion is not worth a pass over millions of rows.
ROWS_LOOKED_AT = 1_000


def _by_name(error: BlockValue, table: Table) -> BlockValue:
    """Return the error with the user's name of a column, which a block identifies by position only."""
    return error.with_names(table.names) if table.named else error


def _columns_of(schema: Schema, source: Source) -> tuple[Name, ...]:
    """Return the columns that attributes are read from; of a block the source knows them."""
    return tuple(v.name for v in schema.attributes) if schema.block is None else source.attribute_names


class FittedState:
    """Counts, with everything needed to turn new rows into codes and counts into predictions.

    ``spec`` is called with the schema, because families may depend on the kinds of the columns.
    """

    def __init__(
        self,
        reading: Reading,
        spec: Callable[[Schema], ModelSpec],
        *,
        who: str,
        target: Variable,
        threshold: float | None = None,
        n_jobs: int | None = None,
        wants_hints: bool = False,
        warns: bool = True,
    ) -> None:
        self.reading = reading
        self.make_spec = spec
        self.who = who
        self.target = target
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.wants_hints = wants_hints
        self.warns = warns
        self.tally: Tally | None = None
        self.spec: ModelSpec | None = None
        self.named = False
        self.names: tuple[Name, ...] = ()
        self.aside: ColumnsAside = NONE_ASIDE
        self.shapes: dict[Name, Shape] = {}
        self._hints: dict[Name, str] | None = None
        self._model: Model | None = None

    # -- counting ------------------------------------------------------------------------------

    def absorb(
        self, source: Source, kept: list[EncodedTable] | None = None, *, read_here: bool = False
    ) -> None:
        """Add all rows of a source, and append the encoded rows to ``kept``. After an error, nothing is changed.

        ``read_here`` means that the caller already knows that no backend counts the source in place.
        """
        backend = None if read_here else backend_of(source)
        if backend is not None:
            self._all_or_nothing(lambda: self._absorb_counts(backend, source))
            return
        self._all_or_nothing(lambda: self._absorb_batches(source, kept))

    def _all_or_nothing(self, learn: Callable[[], None]) -> None:
        before = (self.tally.statistics if self.tally else None), self.tally, self.spec, self.named
        try:
            learn()
        except BaseException:
            statistics, self.tally, self.spec, self.named = before
            if self.tally is not None and statistics is not None:
                self.tally.statistics = statistics
            raise
        finally:
            self._model = None

    def _absorb_batches(self, source: Source, kept: list[EncodedTable] | None) -> None:
        empty = True
        if self.tally is None:
            self.aside = source.aside
        for rows in source.weighing():
            empty = False
            try:
                encoded = self._absorb_rows(rows)
            except BlockValue as error:
                raise _by_name(error, rows.table) from None
            if kept is not None:
                kept.append(encoded)
        if empty:
            raise DataError(
                "The source gave no batch, so there is nothing to learn from: Found array with 0 sample(s)."
            )

    def _absorb_counts(self, backend: Backend, source: Source) -> None:
        """Add the counts of a source that a backend counts in place."""
        if self.tally is None:
            self.aside = source.aside
            source = replace(source, threshold=self.threshold)
            schema = backend.schema(source, self.reading, self.target)
            self.named, self.names = True, _columns_of(schema, source)
            self.spec = self.make_spec(schema)
            statistics = backend.count(source, schema, plan_for(schema, self.spec))
            self.tally = Tally(schema, statistics.plan, self.n_jobs)
            if self.warns and source.weights is None:
                warn_of_names(schema, statistics.total)
        else:
            statistics = self._counted(backend, source)
        self.tally.merge(statistics)

    def _counted(self, backend: Backend, source: Source) -> Statistics:
        """Count a source in place, with the plan of the existing statistics."""
        source = replace(source.without(self.aside), threshold=self.threshold)
        found = backend.schema(source, self.reading, self.target)
        check_names(_columns_of(found, source), self.names)
        if found.block is not None:
            source = replace(source, columns=self.names)
            return backend.count(source, found, self.statistics.plan)
        schema = Schema(tuple(found[name] for name in self.names), found.target)
        return backend.count(source, schema, self.statistics.plan)

    def check_classes(self) -> None:
        """Raise an error for a class prior or class weights that do not match the classes."""
        if self.tally is None or self.spec is None:
            return
        statistics = self.tally.statistics
        target = statistics.schema.target
        if self.spec.class_prior is not None and target.size:
            given_class_prior(self.spec.class_prior, target)
        if self.spec.class_weight is not None and target.size:
            class_factors(self.spec.class_weight, statistics.class_counts, target)

    def _absorb_rows(self, rows: Rows) -> EncodedTable:
        first = self.tally is None
        if self.tally is None:
            self.named, self.names = rows.table.named, rows.table.names
            schema = self.reading.schema_of(rows.table, self.target)
        else:
            schema = self.tally.statistics.schema
        encoded = self.encode(rows.table, schema, "grow", rows)
        if self.spec is None or self.tally is None:
            self.spec = self.make_spec(encoded.schema)
        plan = plan_for(encoded.schema, self.spec)
        encoded = without_idle_states(encoded, schema, plan, self.n_jobs)
        if self.tally is None:
            self.tally = Tally.of(encoded, plan, self.n_jobs)
        else:
            self.tally.absorb(encoded)
        if first and self.wants_hints and encoded.schema.numeric:
            looked_at = encoded.chunk(0, min(encoded.n_rows, ROWS_LOOKED_AT)).values
            self.shapes = shapes_of(encoded.schema.numeric_index, looked_at)
        if first and self.warns:
            known = self.tally.statistics.schema
            # Columns of text are read as one block, which is the last attribute.
            table = rows.table
            warn_of_identifiers(
                table if known.vocabulary is None else table.select(known.order_of(table.names)), known
            )
        return encoded

    def specify(self) -> None:
        """Make the specification again, after new choices about the estimate. The plan must not change."""
        self.spec = self.make_spec(self.schema)
        self._model = None

    def complete(self, statistics: Statistics) -> None:
        """Replace the statistics by those of the same rows plus the expected statistics of unlabelled rows."""
        assert self.tally is not None
        self.tally.statistics = statistics
        self._model = None

    def forget(self, source: Source) -> None:
        """Remove all rows of a source. After an error, nothing is changed."""
        assert self.tally is not None
        before = self.tally.statistics
        try:
            backend = backend_of(source)
            if backend is not None:
                self.tally.subtract(self._counted(backend, source))
                return
            for rows in source:
                try:
                    self.tally.forget(self.encode(rows.table, self.tally.schema, "grow", rows))
                except BlockValue as error:
                    raise _by_name(error, rows.table) from None
        except BaseException:
            self.tally.statistics = before
            raise
        finally:
            self._model = None

    def fade(self, factor: float) -> None:
        assert self.tally is not None
        self.tally.fade(factor)
        self._model = None

    def merge(self, other: FittedState) -> None:
        assert self.tally is not None and other.tally is not None
        self.tally.merge(other.tally.statistics)
        self._model = None

    def subtract(self, other: FittedState) -> None:
        assert self.tally is not None
        self.tally.subtract(other.statistics)
        self._model = None

    def widen(self, names: tuple[Name, ...], variables: tuple[Variable, ...] = ()) -> None:
        """Add columns that are missing in all rows counted so far. In a block, they are 0."""
        assert self.tally is not None
        schema = self.schema
        if schema.block is not None:
            block = replace(schema.block, width=schema.block.width + len(names))
            wide = Schema((block,), schema.target)
        else:
            wide = Schema((*schema.attributes, *variables), schema.target)
        spec = self.make_spec(wide)
        self.tally.statistics = self.statistics.widened(wide, plan_for(wide, spec), names)
        self.spec, self.names, self._model = spec, (*self.names, *names), None

    @property
    def hints(self) -> dict[Name, str]:
        """Other families that may fit the numeric columns, judging by their first rows."""
        return hinted_families(self.shapes) if self._hints is None else self._hints

    @hints.setter
    def hints(self, known: dict[Name, str]) -> None:
        self._hints = known

    # -- predictions ---------------------------------------------------------------------------

    @property
    def statistics(self) -> Statistics:
        assert self.tally is not None
        return self.tally.statistics

    @property
    def schema(self) -> Schema:
        return self.statistics.schema

    def matched(self, table: Table, schema: Schema, learning: bool = False) -> Table:
        """Return a table with the columns of the training rows, in their order."""
        return match_columns(
            table, schema, self.names if self.named else None, self.who, self.aside, learning
        )

    def encode(self, table: Table, schema: Schema, policy: Policy, rows: Rows | None = None) -> EncodedTable:
        table = self.matched(table, schema, learning=rows is not None)
        if rows is None:
            return encode(table, schema, policy, threshold=self.threshold)
        return encode(
            table, schema, policy, y=rows.y, weights=rows.weights, with_target=True, threshold=self.threshold
        )

    def model(self) -> Model:
        """Return the model, which is estimated once after every change of the counts."""
        model = self._model
        if model is None:
            assert self.spec is not None
            model = self._model = estimate(self.statistics, self.spec)
        return model

    def joint(self, table: Table) -> tuple[Floats, Model]:
        """Return log P(c, x) of each row, and the model."""
        model = self.model()
        assert self.spec is not None
        policy: Policy = self.spec.unseen
        try:
            return model.joint(self.encode(table, model.schema, policy), self.n_jobs), model
        except BlockValue as error:
            raise _by_name(error, table) from None
