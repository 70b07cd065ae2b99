"""Counts a frame in partitions on the workers of a cluster: the kernels go to the partitions, and sums come back.

A task is run on each partition, and its outcomes are merged in the order of the partitions, a few at a time, until one
is left. Tasks are pure, so a partition of a lost worker is simply counted again. What an engine such as Dask or Spark
does is to run a task on its frame and to merge the outcomes on its workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from bayeskit._counting.backend_protocol import Backend
from bayeskit._data.batches import Batches, ExternalFrame
from bayeskit._data.class_labels import batch_weights, check_total
from bayeskit._data.frames import join_rows, take_rows
from bayeskit._data.reading import Reading
from bayeskit._data.source import Rows, Source, is_on, place_of
from bayeskit._messages import Message
from bayeskit._schema import Name, Schema, Variable, first_twice
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Plan
from bayeskit.errors import BayeskitError, BlockValue, ColumnError, DataError, UnseenClass, WeightError
from bayeskit.typing import Array, Floats

# Rows that choices are made from. What arrives here of a source does not grow with it.
MOST_CHOSEN_FROM = 2**17
_SEED = 0
# Outcomes that are merged at a time.
FAN_IN = 8


class Kernels(Protocol):
    """Counts the rows of one partition, which are in memory there (``Threads`` of ``_counting/backend.py``)."""

    def schema(self, source: Source, reading: Reading, target: Variable) -> Schema: ...

    def count(self, source: Source, schema: Schema, plan: Plan) -> Statistics: ...


class PartitionRows(Protocol):
    """The rows of one partition, as its workers have them: a frame of pandas or a table of PyArrow."""

    def __len__(self) -> int: ...


class Task(Protocol):
    """What is found in a partition with rows, and how two such findings become one; None where there is nothing."""

    def __call__(self, frame: PartitionRows, number: int) -> Any: ...

    def merge(self, a: Any, b: Any) -> Any: ...


@dataclass(frozen=True)
class Answer:
    """Answers for rows, computed where the rows are.

    Attributes
    ----------
    of : callable
        From the rows of a partition to an array for each name.
    names : of the columns of the answer
    columns : that it is computed from
    dtype : of each array
    is_one : bool
        Whether the answer is a single column, and not a table with one.
    """

    of: Callable[[Any], list[Any]]
    names: tuple[str, ...]
    columns: tuple[Name, ...]
    dtype: np.dtype[Any]
    is_one: bool


@dataclass(frozen=True)
class Outcome:
    """What a task found in some partitions, or the error of the first one that has any.

    Errors are values, since an engine would wrap them, or pass on nothing but their text.
    """

    n_rows: int
    value: Any = None
    error: BayeskitError | None = None


def run_task(task: Task, frame: PartitionRows, number: int) -> Outcome:
    """Run a task on one partition."""
    n_rows = len(frame)
    if n_rows == 0:
        return Outcome(0)
    try:
        return Outcome(n_rows, task(frame, number))
    except BayeskitError as error:
        return Outcome(n_rows, error=error)


def merge_outcomes(task: Task, outcomes: Sequence[Outcome]) -> Outcome:
    """Merge what was found in consecutive groups of partitions. Rows in an error are numbered from the first group."""
    n_rows, value = 0, None
    for outcome in outcomes:
        if outcome.error is not None:
            # The outcome itself must not change: this may be done again where a worker was lost.
            error = deepcopy(outcome.error)
            error.move_rows(n_rows)
            return Outcome(n_rows, error=error)
        n_rows += outcome.n_rows
        if value is None or outcome.value is None:
            value = outcome.value if value is None else value
            continue
        try:
            value = task.merge(value, outcome.value)
        except BayeskitError as error:
            return Outcome(n_rows, error=error)
    return Outcome(n_rows, value)


def _part_of(source: Source, frame: PartitionRows) -> Source:
    return replace(source, data=Batches(lambda: [frame]))


@dataclass(frozen=True)
class FoundSchema:
    """The schema of some partitions, the columns of which they had no value, and their weight."""

    schema: Schema
    empty: frozenset[Name]
    weight: float


@dataclass(frozen=True)
class FindSchema:
    """Finds attributes, states and classes."""

    kernels: Kernels
    source: Source
    reading: Reading
    target: Variable
    cluster: str

    def __call__(self, frame: PartitionRows, number: int) -> FoundSchema | None:
        rows = self.source.from_batch(frame)
        if rows.weight == 0.0:
            return None
        found = self.kernels.schema(_part_of(self.source, frame), self.reading, self.target)
        return FoundSchema(found, self._empty(rows, found), rows.weight)

    def _empty(self, rows: Rows, found: Schema) -> frozenset[Name]:
        """The columns whose kind these rows cannot tell: a library may read missing cells alone as anything."""
        if found.block is not None:
            return frozenset()
        names = {name: j for j, name in enumerate(rows.table.names)}
        free = [v for v in found.attributes if not self.reading.has_settings(v.name)]
        return frozenset(
            v.name
            for v in free
            if (v.size == 0 if v.kind == "categorical" else _all_missing(rows.table.numbers(names[v.name])))
        )

    def merge(self, a: FoundSchema, b: FoundSchema) -> FoundSchema:
        pairs = zip(a.schema.attributes, b.schema.attributes, strict=True)
        attributes = [_united(v, w, v.name in a.empty, w.name in b.empty, self.cluster) for v, w in pairs]
        schema = Schema(tuple(attributes), a.schema.target.union(b.schema.target))
        return FoundSchema(schema, a.empty & b.empty, a.weight + b.weight)


def _all_missing(numbers: Array) -> bool:
    return numbers.dtype.kind == "f" and bool(np.isnan(numbers).all())


def _united(a: Variable, b: Variable, a_empty: bool, b_empty: bool, cluster: str) -> Variable:
    """Return the variable with the states of two partitions, of which the one without any value has no say."""
    if a.kind == b.kind:
        return a.union(b)
    if a_empty and b_empty:
        return a if a.kind == "categorical" else b
    if a_empty or b_empty:
        return b if a_empty else a
    words = {"numeric": Message("numbers"), "categorical": Message("categories")}
    raise ColumnError(
        "Column {name!r} holds {words} in one partition of the {cluster} DataFrame and {words2} in another. Cast it "
        "to one type, or leave it out with exclude=[{name!r}].",
        name=a.name,
        words=words[a.kind],
        words2=words[b.kind],
        cluster=cluster.capitalize(),
    )


@dataclass(frozen=True)
class CountRows:
    """Counts a plan by the codes of a schema."""

    kernels: Kernels
    source: Source
    schema: Schema
    plan: Plan

    def __call__(self, frame: PartitionRows, number: int) -> Statistics | None:
        rows = self.source.from_batch(frame)
        if rows.weight == 0.0:
            return None
        try:
            return self.kernels.count(_part_of(self.source, frame), self.schema, self.plan)
        except BlockValue as error:
            raise error.with_names(rows.table.names) from None

    def merge(self, a: Statistics, b: Statistics) -> Statistics:
        return a.merge(b)


@dataclass(frozen=True)
class SomeRows:
    """Rows of some partitions, each with its random number, and how many with weight there are."""

    n_rows: int
    pieces: tuple[tuple[Floats, Any], ...]


@dataclass(frozen=True)
class SampleRows:
    """Draws a reservoir: of all rows with weight, those with the smallest random numbers, in their order.

    The numbers depend on the seed, the partition's place and the row's place in it alone, so that a second run draws
    the same rows. While there are no more rows than wanted, the sample is all of them.
    """

    source: Source
    most: int
    seed: int

    def __call__(self, frame: PartitionRows, number: int) -> SomeRows | None:
        rows = self.source.from_batch(frame)
        n = rows.table.n_rows
        weights = batch_weights(rows.weights, n)
        order = np.random.default_rng((self.seed, number)).random(n)
        places = np.arange(n) if weights is None else np.flatnonzero(weights > 0.0)
        n = len(places)
        if n > self.most:
            places = np.sort(places[np.argsort(order[places], kind="stable")[: self.most]])
        if not n:
            return None
        piece = frame if len(places) == len(frame) else take_rows(frame, places)
        return SomeRows(n, ((order[places], piece),))

    def merge(self, a: SomeRows, b: SomeRows) -> SomeRows:
        pieces, n = (*a.pieces, *b.pieces), a.n_rows + b.n_rows
        if sum(len(order) for order, _ in pieces) <= self.most:
            return SomeRows(n, pieces)
        every = np.concatenate([order for order, _ in pieces])
        limit = np.partition(every, self.most - 1)[self.most - 1]
        kept = [(order, piece, np.flatnonzero(order <= limit)) for order, piece in pieces]
        return SomeRows(n, tuple((order[k], take_rows(piece, k)) for order, piece, k in kept if len(k)))


class SampledFrame(ExternalFrame):
    """A frame on workers or in DuckDB, counted there as a whole. Iterated, it is a sample, drawn once when needed."""

    def __init__(self, whole: ExternalFrame, draw: Callable[[], SomeRows]) -> None:
        super().__init__(whole.frame, self._rows, whole.place)
        self._draw = draw
        self._frame: Any = None

    def _rows(self) -> list[Any]:
        if self._frame is None:
            drawn = self._draw()
            self._frame = join_rows([piece for _, piece in drawn.pieces])
            n = sum(len(order) for order, _ in drawn.pieces)
            # Choices from all rows are no choices from a sample.
            self.note = None if n == drawn.n_rows else {"rows": n, "of": drawn.n_rows, "seed": _SEED}
        return [self._frame]


@dataclass(frozen=True)
class Partitions(Backend):
    """Counts a frame in partitions, by the kernels on the workers of one engine.

    Parameters
    ----------
    cluster : "dask" or "spark"
    reduce : callable
        Runs a task on each partition of some columns of a frame, given as (position, name), and merges the outcomes on
        the workers.
    kernels : Kernels
    """

    cluster: str
    reduce: Callable[[Any, list[tuple[int, Name]], Task], Outcome]
    kernels: Kernels = field(repr=False)
    takes: Callable[[Source], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "takes", partial(is_on, self.cluster))

    def schema(self, source: Source, reading: Reading, target: Variable) -> Schema:
        part, names = self._shipped(source, target)
        found = self._found(source, names, FindSchema(self.kernels, part, reading, target, self.cluster))
        check_total(found.weight)
        schema: Schema = found.schema
        strange = (
            [label for label in schema.target.states if label not in target.codes] if target.closed else []
        )
        if strange:
            raise UnseenClass(
                "{strange!r} is not one of the classes {states}.", strange=strange[0], states=target.listing()
            )
        return schema

    def count(self, source: Source, schema: Schema, plan: Plan) -> Statistics:
        Statistics.zero(schema, plan)  # raises an error for too large tables, before anything is counted
        part, names = self._shipped(source, schema.target)
        if schema.block is None:
            taken = {v.name for v in schema.attributes} | {source.target, source.weights}
            names = [name for name in names if name in taken]
            part = replace(part, columns=[v.name for v in schema.attributes])
        statistics: Statistics = self._found(source, names, CountRows(self.kernels, part, schema, plan))
        return statistics

    def sample(self, source: Source) -> Source:
        """Return the source with a sample of its rows to iterate over; it is counted as before."""
        part, names = self._shipped(source, Variable("y", "categorical", (0,)))

        def draw() -> SomeRows:
            drawn: SomeRows = self._found(source, names, SampleRows(part, MOST_CHOSEN_FROM, _SEED))
            return drawn

        return replace(part, data=SampledFrame(source.data, draw), has_class=source.has_class)

    def _shipped(self, source: Source, target: Variable) -> tuple[Source, list[Name]]:
        """Return a source without its rows, which goes to the workers, and the columns that they need."""
        if source.target is None and target.size != 1:
            raise DataError(
                "This method requires y to be passed. The class of a {cluster} DataFrame is one of its columns: name "
                "it with target=.",
                cluster=self.cluster.capitalize(),
            )
        names = source.data.names
        twice = first_twice(names)
        if twice is not None:
            raise ColumnError("Two columns are named {name!r}. Rename one of them.", name=twice)
        taken = []
        for name, role in ((source.target, "target"), (source.weights, "sample_weight")):
            if name is not None and (role == "target" or isinstance(name, str)):
                taken.append(names[place_of(names, name, role)])
        attributes = source.attributes_of(names, taken)
        has_class = source.target is not None
        part = replace(source, data=Batches(list), columns=attributes, exclude=None, has_class=has_class)
        return part, [*attributes, *taken]

    def _found(self, source: Source, names: Sequence[Name], task: Task) -> Any:
        """Run a task on all partitions and return what it found, or raise its error."""
        data = source.data
        outcome = self.reduce(data.frame, [(data.names.index(name), name) for name in names], task)
        if outcome.error is not None:
            raise outcome.error
        if outcome.n_rows == 0:
            raise DataError(
                "Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.",
                shape=(0, len(names)),
            )
        if outcome.value is None:
            raise WeightError("All row weights are zero, so there is nothing to learn from.")
        return outcome.value
