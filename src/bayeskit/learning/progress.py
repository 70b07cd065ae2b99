"""Showing that something is under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_of(show: bool, what: str) -> Iterator[Callable[[int], None] | None]:
    """Give a function that shows how many of something there are, or None."""
    if not show:
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(), TextColumn("{task.fields[n]:,} " + what), TimeElapsedColumn(), transient=True
    ) as bar:
        task = bar.add_task("search", total=None, n=0)
        yield lambda n: bar.update(task, n=n)
