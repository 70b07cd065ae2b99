"""Runs a task on the partitions of a DataFrame of Dask or Spark, on its workers, and merges what was found there.

A frame is counted by ``reduce_on_…`` and answered by ``map_on_…``. Dask answers lazily.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from bayeskit._counting.partitions import FAN_IN, Answer, Outcome, Task, merge_outcomes, run_task
from bayeskit._data.frames import DaskFrame, SparkFrame
from bayeskit._schema import Name
from bayeskit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow


def reduce_on_dask(frame: DaskFrame, columns: list[tuple[int, Name]], task: Task) -> Outcome:
    """Run a task on each partition and merge what it found, eight partitions at a time.

    This works with every scheduler of Dask. The one result is all that leaves the workers.
    """
    (outcome,) = _computed(tree(frame, columns, task))
    found: Outcome = outcome
    return found


def tree(frame: DaskFrame, columns: list[tuple[int, Name]], task: Task) -> Any:
    """Return the delayed outcome of a task on all partitions."""
    import dask

    names = [name for _, name in columns]
    parts = (frame if names == list(frame.columns) else frame[names]).to_delayed()
    # One value in the graph, which each worker gets once.
    shared = dask.delayed(task, traverse=False, pure=False)
    run, merge = dask.delayed(run_task, pure=False), dask.delayed(merge_outcomes, pure=False)
    level = [run(shared, part, number) for number, part in enumerate(parts)]
    while len(level) > 1:
        level = [merge(shared, level[k : k + FAN_IN]) for k in range(0, len(level), FAN_IN)]
    return level[0]


def _computed(delayed: Any) -> tuple[Any, ...]:
    import dask

    try:
        found: tuple[Any, ...] = dask.compute(delayed)
    except Exception as error:
        if type(error).__name__ != "KilledWorker":  # of the package distributed, which may not be there
            raise
        raise DataError(
            "Dask gave up on a partition, because each worker that was given it died. Use smaller partitions "
            "(frame.repartition) or workers with more memory."
        ) from error
    return found


def map_on_dask(frame: DaskFrame, answer: Answer) -> Any:
    """Return the lazy answers for the rows of each partition, with the index and the divisions of the frame."""
    import dask

    meta = _labelled(answer, [[] for _ in answer.names], frame._meta.index)
    shared = dask.delayed(answer, traverse=False, pure=False)
    return frame.map_partitions(_answered, shared, meta, meta=meta)


def _answered(part: pd.DataFrame, answer: Answer, meta: pd.Series[Any] | pd.DataFrame) -> Any:
    return _labelled(answer, answer.of(part), part.index) if len(part) else meta


def _labelled(answer: Answer, columns: list[Any], index: pd.Index[Any]) -> Any:
    """Return answers as pandas labels rows: a Series, or a frame where each class has a column."""
    import pandas as pd

    series = [pd.Series(column, index, dtype=answer.dtype) for column in columns]
    if answer.is_one:
        return series[0].rename(answer.names[0])
    return pd.concat(series, axis=1, keys=list(answer.names))


# Rows that are counted at a time: Spark's batches are of 10,000, and adding large tables takes longer than counting.
_ROWS = 2**17
# Tables of a partition have numbers of their own, so that no two of them draw the same random numbers.
_TABLES = 2**20
# Partitions whose outcomes are merged by one task; what these merged is merged by one more.
_GROUP = 32
_OUTCOMES = "number long, outcome binary"


def reduce_on_spark(frame: SparkFrame, columns: list[tuple[int, Name]], task: Task) -> Outcome:
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

    def merge(rows: pyarrow.Table) -> Any:
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


def _collected(outcomes: SparkFrame) -> list[Any]:
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


def map_on_spark(frame: SparkFrame, answer: Answer) -> Any:
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
    frame: SparkFrame, sql: Callable[[str], str], answers: list[str], wanted: tuple[str, ...]
) -> Any:
    """Return the frame with some of the columns that a SELECT adds, which Spark computes without Python.

    ``sql`` writes the SELECT from a view, of all columns of the frame and then the ``answers``.
    """
    view = f"bayeskit_{uuid.uuid4().hex}"
    # The frame takes the place of the view: Spark Connect reads the statement when it runs, after a view would be gone.
    statement = (
        sql(view)
        .replace("{", "{{")
        .replace("}", "}}")
        .replace(f"`{view}`", view)
        .replace(view, f"{{{view}}}")
    )
    found = frame.sparkSession.sql(statement, **{view: frame})
    names = [*frame.columns, *answers]
    kept = [j for j, name in enumerate(names) if j < len(frame.columns) or name in wanted]
    by_place = found.toDF(*(f"c{j}" for j in range(len(names)))).select(*(f"c{j}" for j in kept))
    return by_place.toDF(*(names[j] for j in kept))
