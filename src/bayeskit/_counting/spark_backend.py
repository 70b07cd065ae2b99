"""Counts a Spark DataFrame on Spark's executors, and answers for it there."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from bayeskit._counting.partitions import Answer, Outcome, Task, merge_outcomes, run_task
from bayeskit._schema import Name
from bayeskit.errors import DataError

# Rows that are counted at a time: Spark's batches are of 10,000, and adding large tables takes longer than counting.
_ROWS = 2**17
# Tables of a partition have numbers of their own, so that no two of them draw the same random numbers.
_TABLES = 2**20
# Partitions whose outcomes are merged by one task; what these merged is merged by one more.
_GROUP = 32
_OUTCOMES = "number long, outcome binary"


def reduce_on_spark(frame: Any, columns: list[tuple[int, Name]], task: Task) -> Outcome:
    """Run a task on each partition and merge what it found in two steps; one row comes back.

    Spark names no column here: its names have rules of their own (case, dots, back quotes), so places are used.
    """
    names = [name for _, name in columns]
    numbered = frame.toDF(*(f"c{j}" for j in range(len(frame.columns)))).select(
        *(f"c{j}" for j, _ in columns)
    )

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        tables = enumerate(_in_tables(batches, names))
        found = [run_task(task, rows, number * _TABLES + k) for k, rows in tables]
        yield _as_batch(number, merge_outcomes(task, found))

    def merge(rows: Any) -> Any:
        import pyarrow

        rows = rows.sort_by("number")
        number = rows["number"][0].as_py()
        found = [pickle.loads(each.as_py()) for each in rows["outcome"]]
        return pyarrow.Table.from_batches([_as_batch(number, merge_outcomes(task, found))])

    outcomes = numbered.mapInArrow(run, _OUTCOMES)
    for group in (f"number div {_GROUP}", "number * 0"):
        outcomes = outcomes.groupBy(_expression(group)).applyInArrow(merge, _OUTCOMES)
    rows = _collected(outcomes)
    found: Outcome = pickle.loads(rows[0].outcome) if rows else Outcome(0)
    return found


def _in_tables(batches: Iterator[Any], names: list[Name]) -> Iterator[Any]:
    """Join the batches of a partition to tables of many rows, with the names of the frame."""
    import pyarrow

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _ROWS:
            yield pyarrow.Table.from_batches(held).rename_columns(names)
            held = []
    if held:
        yield pyarrow.Table.from_batches(held).rename_columns(names)


def _as_batch(number: int, outcome: Outcome) -> Any:
    import pyarrow

    cells = [
        pyarrow.array([number], pyarrow.int64()),
        pyarrow.array([pickle.dumps(outcome)], pyarrow.binary()),
    ]
    return pyarrow.record_batch(cells, ["number", "outcome"])


def _expression(text: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(text)


def _collected(outcomes: Any) -> list[Any]:
    from pyspark.errors import PySparkException

    try:
        found: list[Any] = outcomes.collect()
    except PySparkException as error:
        first = str(error).strip().splitlines()[0][:300].rstrip(".")
        raise DataError(
            "Spark could not count the DataFrame: {first}. Check that frame.count() works, and that the executors "
            "have bayeskit installed and memory enough.",
            first=first,
        ) from error
    return found


def map_on_spark(frame: Any, answer: Answer) -> Any:
    """Return the frame with the columns of answers for its rows, computed by Python on the executors."""
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructField, StructType

    kinds = {"f": DoubleType(), "i": LongType(), "u": LongType(), "b": BooleanType()}
    kind = kinds.get(answer.dtype.kind, StringType())
    names = list(frame.columns)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            if not batch.num_rows:
                continue
            found = answer.of(
                pyarrow.Table.from_batches([batch]).rename_columns(names).select(list(answer.columns))
            )
            cells = [*batch.columns, *(pyarrow.array(column) for column in found)]
            yield pyarrow.record_batch(cells, places)

    every = [*names, *answer.names]
    places = [f"c{j}" for j in range(len(every))]
    kinds_of = [*(field.dataType for field in frame.schema.fields), *(kind for _ in answer.names)]
    schema = StructType([StructField(*field) for field in zip(places, kinds_of, strict=True)])
    return frame.toDF(*places[: len(names)]).mapInArrow(run, schema).toDF(*every)


def select_on_spark(
    frame: Any, sql: Callable[[str], str], answers: list[str], wanted: tuple[str, ...]
) -> Any:
    """Return the frame with some of the columns that a SELECT adds, which Spark computes without Python.

    ``sql`` writes the SELECT from a view, of all columns of the frame and then the ``answers``.
    """
    view = f"bayeskit_{uuid.uuid4().hex}"
    statement, session = sql(view), frame.sparkSession
    frame.createOrReplaceTempView(view)
    try:
        found = session.sql(statement)
    finally:
        session.catalog.dropTempView(view)
    names = [*frame.columns, *answers]
    kept = [j for j, name in enumerate(names) if j < len(frame.columns) or name in wanted]
    by_place = found.toDF(*(f"c{j}" for j in range(len(names)))).select(*(f"c{j}" for j in kept))
    return by_place.toDF(*(names[j] for j in kept))
