"""The EM algorithm: alternate between expected statistics and estimates until convergence.

A *problem* knows the rows. It computes the expected statistics and the objective at some parameters, and it
estimates parameters from statistics. Everything else is here: the stopping rule, the best parameters,
restarts, acceleration.

References
----------
Dempster, Laird, Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from bayeskit._blas import one_blas_thread
from bayeskit._fitting.long_runs import interrupts
from bayeskit.errors import BayeskitError, DataError
from bayeskit.typing import Floats

# The factor by which the maximum step length grows while extrapolations succeed.
_GROWTH = 4.0


def extrapolate(first: Floats, second: Floats, third: Floats, longest: float) -> tuple[Floats, float]:
    r"""Extrapolate three successive EM iterates. Return the new point and the step length s.

    .. math:: \theta' = \theta_0 + 2 s\, r + s^2 v,\quad r = \theta_1 - \theta_0,\;
        v = (\theta_2 - \theta_1) - r,\; s = \lVert r \rVert / \lVert v \rVert

    Coordinates that are not finite in all three iterates (the logarithm of an exact zero) are those of the third. A
    step length of 1 gives the third iterate itself.

    Examples
    --------
    >>> import numpy as np
    >>> halving = [np.array([x]) for x in (1.0, 0.5, 0.25)]
    >>> extrapolate(*halving, longest=10.0)
    (array([0.]), 2.0)
    """
    live = np.isfinite(first) & np.isfinite(second) & np.isfinite(third)
    to = third.copy()
    r = second[live] - first[live]
    v = third[live] - second[live] - r
    norm = float(np.linalg.norm(v))
    length = float(np.linalg.norm(r)) / norm if norm > 0.0 else 1.0
    length = min(max(length, 1.0), longest)
    if length > 1.0:
        to[live] = first[live] + 2.0 * length * r + length**2 * v
    return to, length


class Accelerator:
    """Tries extrapolated points, and adapts the maximum step length to their success."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.longest = _GROWTH

    def try_from(self, first: Any, second: Any, third: Any, least: float) -> tuple[Any, Any, float] | None:
        """Return (parameters, statistics, value) of an extrapolated point, or None if its value is below ``least``."""
        flat = self.problem.flat
        to, length = extrapolate(flat(first), flat(second), flat(third), self.longest)
        if length <= 1.0:
            return None
        if length >= self.longest:
            self.longest *= _GROWTH
        try:
            with np.errstate(all="ignore"):
                parameters = self.problem.unflat(to)
                statistics, value = self.problem.expect(parameters)
        except (BayeskitError, ArithmeticError, np.linalg.LinAlgError):
            value = np.nan
        if not (np.isfinite(value) and value >= least):
            self.longest = max(self.longest / _GROWTH**2, _GROWTH)
            return None
        return parameters, statistics, float(value)


P = TypeVar("P")
S = TypeVar("S")
# Rounding alone may decrease the objective by this fraction.
ROUNDING = 1e-9


class Problem(Protocol[P, S]):
    """A problem for EM: rows with latent variables or missing cells."""

    def expect(self, parameters: P) -> tuple[S, float]:
        """Return the expected statistics and the objective (a total over rows), both at ``parameters``.

        A row that is impossible under the parameters must raise an error that names the row, never return NaN.
        """
        ...

    def maximise(self, statistics: S) -> P:
        """Return the parameters that maximise the likelihood of the completed rows."""
        ...


class AcceleratedProblem(Problem[P, S], Protocol[P, S]):
    """A problem whose parameters can also be written as one unconstrained vector."""

    def flat(self, parameters: P) -> Any:
        """Return logarithms of probabilities (−inf where zero), means, log-Cholesky factors, … as one vector."""
        ...

    def unflat(self, vector: Floats) -> P:
        """Return the parameters that a vector represents, with probabilities normalised."""
        ...


@dataclass(frozen=True)
class StoppingRule:
    """When EM stops.

    Attributes
    ----------
    tol : float
        Stop after a step that changes the objective (a total over rows) by less than this. 0: make all steps.
    max_iter : int
        The maximum number of steps. An E-step and an M-step together are one step.
    time_limit : float, optional
        Seconds.
    accelerate : bool
        Extrapolate from every two steps (SQUAREM). The problem must be `AcceleratedProblem`.
    one_more : bool
        Make one more step after convergence, as scikit-learn does. If ``max_iter`` does not allow it, EM has
        not converged.
    """

    tol: float = 1e-3
    max_iter: int = 100
    time_limit: float | None = None
    accelerate: bool = False
    one_more: bool = False


@dataclass(frozen=True)
class EmResult(Generic[P]):
    """The result of EM.

    Attributes
    ----------
    parameters
        The best parameters; the last ones, unless the objective decreased.
    history : tuple of float
        The objective at the start and after every step. The last value belongs to the last parameters tried.
    value : float
        The objective at ``parameters``.
    converged : bool
    stopped : "time", "interrupt" or None
    fell : bool
        Whether the objective ever decreased by more than rounding, for example because of a variance floor.
    """

    parameters: P
    history: tuple[float, ...]
    value: float
    converged: bool
    stopped: str | None = None
    fell: bool = False

    @property
    def n_iter(self) -> int:
        """The number of steps."""
        return len(self.history) - 1


@dataclass
class _EmRun(Generic[P, S]):
    """The state of EM between two steps."""

    problem: Any
    here: P
    statistics: S
    history: list[float]
    best: P
    best_value: float
    fell: bool = False
    before: list[tuple[P, float]] = field(default_factory=list)

    def move(self, to: P, statistics: S, value: float) -> float:
        """Move to parameters whose E-step is done, and return the gain."""
        if not math.isfinite(value):
            raise _not_finite(f"Step {len(self.history)} of EM", value)
        gain = value - self.history[-1]
        self.fell |= gain < -ROUNDING * abs(value)
        self.here, self.statistics = to, statistics
        self.history.append(value)
        # Do not prefer an earlier iterate because of rounding.
        if value >= self.best_value - ROUNDING * abs(value):
            self.best, self.best_value = to, value
        return gain


@one_blas_thread
def run_em(
    problem: Problem[P, Any],
    start: P,
    how: StoppingRule = StoppingRule(),
    on_step: Callable[[int, float], None] | None = None,
) -> EmResult[P]:
    """Run EM from one start until convergence.

    Parameters
    ----------
    problem : Problem
    start : its parameters
    how : StoppingRule
    on_step : called after every step with its number and the objective

    Examples
    --------
    In each of two rounds, one of two coins is tossed ten times. It is not known which coin. The heads: 9, then 2.

    >>> from types import SimpleNamespace
    >>> from math import log
    >>> heads = [9, 2]
    >>> def expect(p):
    ...     likelihood = [[q**h * (1 - q) ** (10 - h) / 2 for q in p] for h in heads]
    ...     shares = [[l / sum(row) for l in row] for row in likelihood]
    ...     return shares, sum(log(sum(row)) for row in likelihood)
    >>> def maximise(shares):
    ...     return [sum(s[k] * h for s, h in zip(shares, heads)) / sum(10 * s[k] for s in shares) for k in (0, 1)]
    >>> found = run_em(SimpleNamespace(expect=expect, maximise=maximise), [0.6, 0.5], StoppingRule(tol=1e-9))
    >>> [round(p, 2) for p in found.parameters], found.converged
    ([0.9, 0.2], True)
    """
    end = None if how.time_limit is None else time.monotonic() + how.time_limit
    statistics, value = problem.expect(start)
    # −inf is allowed: EM can leave a start that the prior forbids.
    if math.isnan(value) or value == math.inf:
        raise _not_finite("The start of EM", value)
    ascent: _EmRun[P, Any] = _EmRun(problem, start, statistics, [value], start, value)
    accelerator = Accelerator(problem) if how.accelerate else None
    converged, stopped = False, None
    with interrupts() as interrupted:
        while len(ascent.history) <= how.max_iter and not converged and stopped is None:
            converged = _step(ascent, how, accelerator)
            if on_step is not None:
                on_step(len(ascent.history) - 1, ascent.history[-1])
            if interrupted.is_set():
                stopped = "interrupt"
            elif end is not None and time.monotonic() > end:
                stopped = "time"
        if converged and how.one_more:
            converged = len(ascent.history) <= how.max_iter
            if converged:
                _step(ascent, how, None)
    return EmResult(ascent.best, tuple(ascent.history), ascent.best_value, converged, stopped, ascent.fell)


def _not_finite(what: str, value: float) -> DataError:
    return DataError(
        "{what} has the value {value}: some numbers are too large, or too far apart. Change the units "
        "of the columns, use another start, or use a prior.",
        what=what,
        value=value,
    )


def _step(ascent: _EmRun[P, Any], how: StoppingRule, accelerator: Accelerator | None) -> bool:
    """Make one step, plain or extrapolated, and return whether it converged."""
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


@one_blas_thread
def run_em_from_starts(
    problem: Problem[P, Any],
    starts: Iterable[Callable[[], P]],
    how: StoppingRule = StoppingRule(),
    on_step: Callable[[int, float], None] | None = None,
    *,
    short: int = 10,
) -> tuple[EmResult[P], list[float]]:
    """Run EM for a few steps from every start, and continue from the best of them.

    A start whose short run fails is skipped, unless all fail. If the likelihood is unbounded, its highest value is
    meaningless. A problem may therefore have a method ``sound(parameters)``. The starts whose short runs end with
    sound parameters are then continued, the best first, until one ends with sound parameters.

    Parameters
    ----------
    problem, how, on_step
        As in `run_em`.
    starts : functions that return initial parameters
    short : int
        The number of steps from each start.

    Returns
    -------
    result : EmResult
        Its history includes the short run.
    values : list of float
        The objective that each start reached in its short run; −inf if it failed.
    """
    makers = list(starts)
    if len(makers) == 1:
        only = run_em(problem, makers[0](), how, on_step)
        return only, [only.value]
    end = None if how.time_limit is None else time.monotonic() + how.time_limit
    runs: list[EmResult[P]] = []
    values: list[float] = []
    failure: BayeskitError | None = None
    for make in makers:
        try:
            run = run_em(problem, make(), _rest(how, end, min(short, how.max_iter)), on_step)
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
    ended: list[EmResult[P]] = []
    # If no run is sound, take the best of all.
    for run in [run for run in runs if sound(run.parameters)] or runs[:1]:
        ended.append(_gone_on(problem, run, how, end, on_step))
        if ended[-1].stopped or sound(ended[-1].parameters):
            return ended[-1], values
    return max(ended, key=lambda found: found.value), values


def _rest(how: StoppingRule, end: float | None, max_iter: int) -> StoppingRule:
    """Return the rule with another number of steps and the remaining time."""
    left = None if end is None else max(end - time.monotonic(), 0.0)
    return replace(how, max_iter=max_iter, time_limit=left)


def _gone_on(
    problem: Any,
    run: EmResult[P],
    how: StoppingRule,
    end: float | None,
    on_step: Callable[[int, float], None] | None,
) -> EmResult[P]:
    """Continue a short run."""
    if run.converged or run.stopped or run.n_iter >= how.max_iter:
        return run
    rest = run_em(problem, run.parameters, _rest(how, end, how.max_iter - run.n_iter), on_step)
    # The rest starts at the best parameters of the short run, which may not be its last.
    history, fell = run.history + rest.history[1:], run.fell or rest.fell
    return EmResult(rest.parameters, history, rest.value, rest.converged, rest.stopped, fell)
