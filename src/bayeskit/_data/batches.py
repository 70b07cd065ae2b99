"""Batches of rows that can be read several times, and how far a pass over them has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from bayeskit._data.frames import DaskFrame, SparkFrame
from bayeskit._schema import Name
from bayeskit.errors import DataTypeError

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation
    from rich.console import Console

T = TypeVar("T")
# A pass that ends within so many seconds needs no bar.
_UNSEEN = 1.0


class Batches:
    """A source of batches that can be read several times.

    Parameters
    ----------
    make : callable
        Called once for every pass. It returns an iterable of batches. A batch is (X, y), (X, y, weights), or
        rows that include the target column.
    n_rows : int, optional
        How many rows there are in all, if that is known. A progress bar then estimates the time left.

    Examples
    --------
    >>> source = Batches(lambda: iter([([[1.0]], ["a"]), ([[2.0]], ["b"])]))
    >>> sum(1 for _ in source), sum(1 for _ in source)
    (2, 2)
    """

    def __init__(self, make: Callable[[], Iterable[Any]], n_rows: int | None = None) -> None:
        if not callable(make):
            raise DataTypeError(
                "Batches needs a callable that opens the source anew, not a {kind}. Pass Batches(lambda: "
                "open_my_batches()).",
                kind=type(make).__name__,
            )
        self.make = make
        self.n_rows = n_rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.make())


class ExternalFrame(Batches):
    """A frame that a backend counts where it is, on workers or in DuckDB. Iterated, it is read here, piece by piece.

    Parameters
    ----------
    frame : DataFrame of Dask or Spark, or relation of DuckDB
    make : callable
        As for :class:`Batches`: all rows, or the sample that choices are made from.
    place : "dask", "spark" or "duckdb"
        Where the rows are.
    """

    # How many rows of how many a sample is; None if all rows are read.
    note: Mapping[str, int] | None = None

    def __init__(
        self,
        frame: DaskFrame | SparkFrame | DuckDBPyRelation,
        make: Callable[[], Iterable[Any]],
        place: str,
    ) -> None:
        super().__init__(make)
        self.frame, self.place = frame, place

    @property
    def names(self) -> tuple[Name, ...]:
        return tuple(self.frame.columns)


def is_empty(batch: Any) -> bool:
    """Whether a batch, (X, y) or (X, y, weights) has no rows."""
    parts = batch if isinstance(batch, tuple) else (batch,)
    if not parts or parts[0] is None:
        return False
    return all(part is None or _n_rows(part) == 0 for part in parts)


def _n_rows(rows: Any) -> int | None:
    """Return the number of rows of a table, or of labels; None where that is not told."""
    if isinstance(rows, Mapping):
        return len(next(iter(rows.values()), ()))
    shape = getattr(rows, "shape", None)
    if shape:
        return int(shape[0])
    return len(rows) if isinstance(rows, (list, tuple)) else None


def with_progress(
    pieces: Iterable[T],
    rows_of: Callable[[T], int],
    total: int | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
    console: Console | None = None,
) -> Iterator[T]:
    """Yield the pieces, and show on standard error how many rows they had.

    The bar appears after a second, and goes away at the end. Where the number of all rows is not known, there is no
    estimate of the time left.

    Parameters
    ----------
    pieces : iterable
    rows_of : function of a piece
        The number of its rows.
    total : int, optional
        The number of all rows, if it is known.
    clock, console : for tests
    """
    begin, rows, iterator = clock(), 0, iter(pieces)
    for piece in iterator:
        yield piece
        rows += rows_of(piece)
        if clock() - begin >= _UNSEEN:
            break
    else:
        return
    yield from _shown(iterator, rows_of, rows, total, begin, clock, console)


def _shown(
    pieces: Iterator[T],
    rows_of: Callable[[T], int],
    rows: int,
    total: int | None,
    begin: float,
    clock: Callable[[], float],
    console: Console | None,
) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    counted = "{task.completed:,} rows" if total is None else "{task.completed:,} / {task.total:,} rows"
    known = () if total is None else (BarColumn(), TimeRemainingColumn())
    screen = Console(stderr=True) if console is None else console
    columns = (SpinnerColumn(), TextColumn(counted), TextColumn("{task.fields[pace]:,}/s"), *known)
    with Progress(*columns, console=screen, transient=True) as bar:

        def pace() -> int:
            return round(rows / max(clock() - begin, 1e-9))

        task = bar.add_task("rows", total=total, completed=rows, pace=pace())
        for piece in pieces:
            yield piece
            rows += rows_of(piece)
            bar.update(task, completed=rows, pace=pace())
