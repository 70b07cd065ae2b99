"""EM: expected statistics in, estimates out, until still.

A *problem* knows the rows. It takes expected statistics under some parameters, and tells the value of what is climbed
at those parameters; and it estimates parameters from statistics. Everything else is here, once: when to stop, what is
kept, restarts, acceleration.

References
----------
Dempster, Laird, Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from bayeskit.errors import DataError
from bayeskit.learning.acceleration import Accelerator
from bayeskit.learning.interrupts import interrupts

P = TypeVar("P")
S = TypeVar("S")
# Rounding alone may let the value fall by this share of it.
ROUNDING = 1e-9


class Problem(Protocol[P, S]):
    """What EM climbs: rows with something hidden in them."""

    def expect(self, parameters: P) -> tuple[S, float]:
        """Return the expected statistics and the value of what is climbed (a total over rows), both at ``parameters``.

        A row that is impossible under the parameters is an error that names it, never NaN.
        """
        ...

    def maximise(self, statistics: S) -> P:
        """Return the parameters under which the completed rows are most probable."""
        ...


class Accelerated(Problem[P, S], Protocol[P, S]):
    """A problem whose parameters can also be written as one vector without constraints."""

    def flat(self, parameters: P) -> Any:
        """Return logarithms of probabilities (−inf where zero), means, log-Cholesky factors, … as one vector."""
        ...

    def unflat(self, vector: Any) -> P:
        """Return the parameters that a vector stands for; probabilities are normalised."""
        ...


@dataclass(frozen=True)
class Climbing:
    """When to stop.

    Attributes
    ----------
    tol : float
        A step that changes the value by less, over all rows together, is the last one; 0 makes all the steps.
    max_iter : int
        The most steps, E and M together one step.
    time_limit : float, optional
        Seconds.
    accelerate : bool
        Extrapolate from every two steps (SQUAREM). The problem must be `Accelerated`.
    one_more : bool
        Make another step after the one that changed next to nothing, as scikit-learn does; where ``max_iter`` leaves
        none, it has not converged.
    """

    tol: float = 1e-3
    max_iter: int = 100
    time_limit: float | None = None
    accelerate: bool = False
    one_more: bool = False


@dataclass(frozen=True)
class Climb(Generic[P]):
    """Where EM ended.

    Attributes
    ----------
    parameters
        The best found; the last, unless the value fell.
    history : tuple of float
        The value at the start and after every step. The last is that of the last parameters tried.
    value : float
        That of ``parameters``.
    converged : bool
    stopped : "time", "interrupt" or None
    fell : bool
        Whether the value ever fell by more than rounding: a floor under the variances can do that.
    """

    parameters: P
    history: tuple[float, ...]
    value: float
    converged: bool
    stopped: str | None = None
    fell: bool = False

    @property
    def n_iter(self) -> int:
        """How many steps were made."""
        return len(self.history) - 1


@dataclass
class _Ascent(Generic[P, S]):
    """A climb under way: where it is, what it has seen."""

    problem: Any
    here: P
    statistics: S
    history: list[float]
    best: P
    best_value: float
    fell: bool = False
    before: list[tuple[P, float]] = field(default_factory=list)

    def move(self, to: P, statistics: S, value: float) -> float:
        """Go to parameters whose E-step is done; return the gain."""
        if not math.isfinite(value):
            raise _not_finite(f"Step {len(self.history)} of EM", value)
        gain = value - self.history[-1]
        self.fell |= gain < -ROUNDING * abs(value)
        self.here, self.statistics = to, statistics
        self.history.append(value)
        # Rounding is no reason to prefer an earlier iterate.
        if value >= self.best_value - ROUNDING * abs(value):
            self.best, self.best_value = to, value
        return gain


def climb(
    problem: Any,
    start: P,
    how: Climbing = Climbing(),  # noqa: B008  (a frozen value)
    told: Callable[[int, float], None] | None = None,
) -> Climb[P]:
    """Make EM steps from a start until they change nothing.

    Parameters
    ----------
    problem : Problem
    start : its parameters
    how : Climbing
    told : called after every step with its number and the value

    Examples
    --------
    Two coins, one of them thrown ten times in each of two rounds, which one is not known: 9 heads, then 2.

    >>> from types import SimpleNamespace
    >>> from math import log
    >>> heads = [9, 2]
    >>> def expect(p):
    ...     likelihood = [[q**h * (1 - q) ** (10 - h) / 2 for q in p] for h in heads]
    ...     shares = [[l / sum(row) for l in row] for row in likelihood]
    ...     return shares, sum(log(sum(row)) for row in likelihood)
    >>> def maximise(shares):
    ...     return [sum(s[k] * h for s, h in zip(shares, heads)) / sum(10 * s[k] for s in shares) for k in (0, 1)]
    >>> found = climb(SimpleNamespace(expect=expect, maximise=maximise), [0.6, 0.5], Climbing(tol=1e-9))
    >>> [round(p, 2) for p in found.parameters], found.converged
    ([0.9, 0.2], True)
    """
    end = None if how.time_limit is None else time.monotonic() + how.time_limit
    statistics, value = problem.expect(start)
    # A start that the prior forbids is no place to stay, but one to leave.
    if math.isnan(value) or value == math.inf:
        raise _not_finite("The start of EM", value)
    ascent: _Ascent[P, Any] = _Ascent(problem, start, statistics, [value], start, value)
    accelerator = Accelerator(problem) if how.accelerate else None
    converged, stopped = False, None
    with interrupts() as interrupted:
        while len(ascent.history) <= how.max_iter and not converged and stopped is None:
            converged = _step(ascent, how, accelerator)
            if told is not None:
                told(len(ascent.history) - 1, ascent.history[-1])
            if interrupted.is_set():
                stopped = "interrupt"
            elif end is not None and time.monotonic() > end:
                stopped = "time"
        if converged and how.one_more:
            converged = len(ascent.history) <= how.max_iter
            if converged:
                _step(ascent, how, None)
    return Climb(ascent.best, tuple(ascent.history), ascent.best_value, converged, stopped, ascent.fell)


def _not_finite(what: str, value: float) -> DataError:
    return DataError(
        f"{what} has the value {value}: some numbers are too large, or lie too far apart. Change the units of the "
        "columns, begin elsewhere, or use a prior."
    )


def _step(ascent: _Ascent[P, Any], how: Climbing, accelerator: Accelerator | None) -> bool:
    """Make one step, plain or extrapolated; return whether it changed next to nothing."""
    if accelerator is not None and len(ascent.before) == 2:
        (first, _), (second, value) = ascent.before
        third = ascent.problem.maximise(ascent.statistics)
        ascent.before = []
        trial = accelerator.try_from(first, second, third, value)
        if trial is not None:
            ascent.move(*trial)
            ascent.before = [(ascent.here, ascent.history[-1])]
            return False
        gain = ascent.move(third, *ascent.problem.expect(third))
        ascent.before = [(ascent.here, ascent.history[-1])]
        return abs(gain) < how.tol
    if accelerator is not None and not ascent.before:
        ascent.before = [(ascent.here, ascent.history[-1])]
    to = ascent.problem.maximise(ascent.statistics)
    gain = ascent.move(to, *ascent.problem.expect(to))
    if accelerator is not None:
        ascent.before.append((ascent.here, ascent.history[-1]))
    return abs(gain) < how.tol
