"""Support for long runs: Ctrl-C as a flag, progress display, and searches with a time limit."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from bayeskit._structure.search_protocol import Graph, Question, Search, Stop


@dataclass(frozen=True)
class Deadline:
    """Returns whether the time is over: ``end`` is when, by the monotonic clock."""

    end: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        return cls(math.inf if seconds is None else time.monotonic() + float(seconds))

    def __call__(self) -> bool:
        return self.end < math.inf and time.monotonic() > self.end


never = Deadline(math.inf)


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Turn Ctrl-C into a flag, so that it never interrupts a step. A second Ctrl-C raises KeyboardInterrupt."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def note(number: int, frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        # None means that the handler was not set by Python, so Python cannot restore it.
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


@contextmanager
def progress_of(show: bool, what: str) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that displays a count of ``what``, or None if ``show`` is false."""
    if not show:
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(), TextColumn("{task.fields[n]:,} " + what), TimeElapsedColumn(), transient=True
    ) as bar:
        task = bar.add_task("search", total=None, n=0)
        yield lambda n: bar.update(task, n=n)


@dataclass(frozen=True)
class Outcome:
    """The graph that a search returned, and why it stopped early ("time" or "interrupt"), if it did."""

    graph: Graph
    stopped: str | None = None


def run_search(
    search: Search,
    answer: Callable[[Question], list[Any]],
    *,
    time_limit: float | None = None,
    on_step: Callable[[], None] | None = None,
) -> Outcome:
    """Run a search by answering its questions with ``answer``.

    After ``time_limit`` seconds, or at Ctrl-C, the search is told to stop and returns the best graph so far.
    ``on_step`` is called after every answer, for example by a progress bar.
    """
    end = None if time_limit is None else time.monotonic() + time_limit
    stopped: str | None = None
    with interrupts() as interrupted:
        try:
            question = next(search)
            while True:
                answers = answer(question)
                if on_step is not None:
                    on_step()
                if interrupted.is_set():
                    stopped = "interrupt"
                elif end is not None and time.monotonic() > end:
                    stopped = "time"
                question = search.throw(Stop()) if stopped else search.send(answers)
        except StopIteration as done:
            return Outcome(done.value, stopped)
