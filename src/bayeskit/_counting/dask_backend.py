"""Counts a Dask DataFrame on Dask's workers, and answers for it lazily."""

from __future__ import annotations

from typing import Any

from bayeskit._counting.partitions import FAN_IN, Answer, Outcome, Task, merge_outcomes, run_task
from bayeskit._schema import Name
from bayeskit.errors import DataError


def reduce_on_dask(frame: Any, columns: list[tuple[int, Name]], task: Task) -> Outcome:
    """Run a task on each partition and merge what it found, eight partitions at a time.

    This works with every scheduler of Dask. The one result is all that leaves the workers.
    """
    (outcome,) = _computed(tree(frame, columns, task))
    found: Outcome = outcome
    return found


def tree(frame: Any, columns: list[tuple[int, Name]], task: Task) -> Any:
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


def map_on_dask(frame: Any, answer: Answer) -> Any:
    """Return the lazy answers for the rows of each partition, with the index and the divisions of the frame."""
    import dask

    meta = _labelled(answer, [[] for _ in answer.names], frame._meta.index)
    shared = dask.delayed(answer, traverse=False, pure=False)
    return frame.map_partitions(_answered, shared, meta, meta=meta)


def _answered(part: Any, answer: Answer, meta: Any) -> Any:
    return _labelled(answer, answer.of(part), part.index) if len(part) else meta


def _labelled(answer: Answer, columns: list[Any], index: Any) -> Any:
    """Return answers as pandas labels rows: a Series, or a frame where each class has a column."""
    import pandas as pd

    series = [pd.Series(column, index, dtype=answer.dtype) for column in columns]
    if answer.is_one:
        return series[0].rename(answer.names[0])
    return pd.concat(series, axis=1, keys=list(answer.names))
