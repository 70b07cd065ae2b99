"""EM from several starts: a few steps from each, and on from the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from bayeskit.errors import BayeskitError
from bayeskit.learning.em import Climb, Climbing, climb

P = TypeVar("P")


def climb_best(
    problem: Any,
    starts: Iterable[Callable[[], P]],
    how: Climbing = Climbing(),  # noqa: B008  (a frozen value)
    told: Callable[[int, float], None] | None = None,
    *,
    short: int = 10,
) -> tuple[Climb[P], list[float]]:
    """Make a few steps from every start, and go on from the best of them.

    A start from which the first step fails is passed over, unless all do. Where the likelihood has no bound the highest
    value says nothing: a problem may have ``sound(parameters)``, and then a start that ends soundly is preferred, the
    best of them by its short run, to any that does not.

    Returns
    -------
    climb : Climb
        With the history of its short run too.
    values : list of float
        What each start reached in its short run; −inf where it failed.
    """
    makers = list(starts)
    if len(makers) == 1:
        only = climb(problem, makers[0](), how, told)
        return only, [only.value]
    end = None if how.time_limit is None else time.monotonic() + how.time_limit
    runs: list[Climb[P]] = []
    values: list[float] = []
    failure: BayeskitError | None = None
    for make in makers:
        try:
            run = climb(problem, make(), _rest(how, end, min(short, how.max_iter)), told)
        except BayeskitError as error:
            failure = failure or error
            values.append(-math.inf)
            continue
        values.append(run.value)
        runs.append(run)
        if run.stopped:
            break
    if not runs:
        assert failure is not None
        raise failure
    sound: Callable[[P], bool] = getattr(problem, "sound", lambda parameters: True)
    runs.sort(key=lambda run: -run.value)
    ended: list[Climb[P]] = []
    # Without a sound one, the best of all is as good as any.
    for run in [run for run in runs if sound(run.parameters)] or runs[:1]:
        ended.append(_gone_on(problem, run, how, end, told))
        if ended[-1].stopped or sound(ended[-1].parameters):
            return ended[-1], values
    return max(ended, key=lambda found: found.value), values


def _rest(how: Climbing, end: float | None, max_iter: int) -> Climbing:
    """The same climbing with so many steps, and the time that is left."""
    left = None if end is None else max(end - time.monotonic(), 0.0)
    return replace(how, max_iter=max_iter, time_limit=left)


def _gone_on(
    problem: Any,
    run: Climb[P],
    how: Climbing,
    end: float | None,
    told: Callable[[int, float], None] | None,
) -> Climb[P]:
    """Go on from where a short run ended."""
    if run.converged or run.stopped or run.n_iter >= how.max_iter:
        return run
    rest = climb(problem, run.parameters, _rest(how, end, how.max_iter - run.n_iter), told)
    # The short run may have ended below its best, where the rest began.
    history, fell = run.history + rest.history[1:], run.fell or rest.fell
    return Climb(rest.parameters, history, rest.value, rest.converged, rest.stopped, fell)
