"""Running a search: questions answered until it ends, its time is up, or someone interrupts it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayeskit.learning.interrupts import interrupts
from bayeskit.structure.questions import Graph, Question, Search, Stop


@dataclass(frozen=True)
class Outcome:
    """What a search found, and whether it came to its end (or why not: "time" or "interrupt")."""

    graph: Graph
    stopped: str | None = None


def run_search(
    search: Search,
    answer: Callable[[Question], list[Any]],
    *,
    time_limit: float | None = None,
    told: Callable[[], None] | None = None,
) -> Outcome:
    """Answer the questions of a search.

    When the seconds of ``time_limit`` have passed, or at Ctrl-C, the search is told to stop and returns the
    best graph it has. ``told`` is called after every answer (a progress bar).
    """
    end = None if time_limit is None else time.monotonic() + time_limit
    stopped: str | None = None
    with interrupts() as interrupted:
        try:
            question = next(search)
            while True:
                answers = answer(question)
                if told is not None:
                    told()
                if interrupted.is_set():
                    stopped = "interrupt"
                elif end is not None and time.monotonic() > end:
                    stopped = "time"
                question = search.throw(Stop()) if stopped else search.send(answers)
        except StopIteration as done:
            return Outcome(done.value, stopped)
