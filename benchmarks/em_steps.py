"""The time of a step of EM: a longer run minus a shorter one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness import Report, Timing, time_calls
from peers import keep


@dataclass(frozen=True)
class Steps:
    """A run that can make any number of steps.

    Attributes
    ----------
    run : steps → what they took, what was found
    few, many : int
        The steps of shorter and of longer turns.
    times : float
        The factor for the time, if a run has only a part of the rows.
    """

    run: Callable[[int], tuple[Timing, Any]]
    few: int
    many: int
    times: float = 1.0


def timed(learn: Callable[[int], Any], steps: int) -> tuple[Timing, Any]:
    """Time one run in this process."""
    found: list[Any] = []
    return time_calls(lambda: found.append(learn(steps)), 1), found[0]


def here(learn: Callable[[int], Any], few: int, many: int) -> Steps:
    """Return a run in this process."""
    return Steps(partial(timed, learn), few, many)


def race(report: Report, stage: str, runs: Mapping[str, Steps]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the CPU seconds of a step of each run, and the results of the longer runs. Runs take turns."""
    best: dict[tuple[str, int], Timing] = {}
    found: dict[str, Any] = {}
    for steps in runs.values():
        steps.run(steps.few)  # compiles and warms
    for _ in range(report.given.repeats):
        for name, steps in runs.items():
            for n in (steps.few, steps.many):
                taken, found[name] = steps.run(n)
                best[name, n] = taken.best(best[name, n]) if (name, n) in best else taken
    print(f"\n{stage:<48}{'CPU':>10}{'wall':>10}")
    cpu = {}
    for name, steps in runs.items():
        short, long = best[name, steps.few], best[name, steps.many]
        share = steps.times / (steps.many - steps.few)
        step = Timing((long.cpu - short.cpu) * share, (long.wall - short.wall) * share, 1, long.turns)
        keep(report, stage, name, step)
        cpu[name] = step.cpu
    return cpu, found
