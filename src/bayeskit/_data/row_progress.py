"""Shows how far a pass over the rows of a source has come: rows, rows per second, and the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
# A pass that ends within so many seconds needs no bar.
_UNSEEN = 1.0


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
