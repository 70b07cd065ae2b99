"""The driver of EM on scripted problems: when it stops, what it keeps, what it passes over."""

from __future__ import annotations

import math
import os
import signal
import threading
import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from bayeskit._fitting import em
from bayeskit._fitting.em import run_em
from bayeskit.errors import DataError, SettingError
from bayeskit.mixtures import StoppingRule, run_em_from_starts
from refusals import refuses


class Scripted:
    """Parameters are whole numbers, a step adds one, and the values are written down."""

    def __init__(self, values, then=lambda: None):
        self.values, self.then, self.calls = values, then, 0

    def expect(self, parameters):
        self.calls += 1
        self.then()
        value = self.values(parameters) if callable(self.values) else self.values[parameters]
        if isinstance(value, Exception):
            raise value
        return parameters, value

    def maximise(self, statistics):
        return statistics + 1


def test_a_step_that_changes_less_than_tol_is_the_last():
    found = run_em(Scripted([-9.0, -5.0, -4.5, -4.45, -4.449]), 0, StoppingRule(tol=0.1))
    assert found.history == (-9.0, -5.0, -4.5, -4.45)
    assert (found.parameters, found.value, found.n_iter) == (3, -4.45, 3)
    assert found.converged and not found.fell and found.stopped is None


def test_a_change_of_exactly_tol_is_not_less():
    assert run_em(Scripted([-4.0, -3.5, -3.0, -2.75]), 0, StoppingRule(tol=0.5)).n_iter == 3


def test_tol_zero_makes_all_the_steps():
    problem = Scripted(lambda step: -1.0)
    found = run_em(problem, 0, StoppingRule(tol=0.0, max_iter=17))
    assert (found.n_iter, found.converged, problem.calls) == (17, False, 18)


def test_one_more_step_where_there_is_one():
    values = [-9.0, -5.0, -4.99, -4.98, -4.97]
    found = run_em(Scripted(values), 0, StoppingRule(tol=0.1, one_more=True))
    assert (found.n_iter, found.converged, found.value) == (3, True, -4.98)
    found = run_em(Scripted(values), 0, StoppingRule(tol=0.1, one_more=True, max_iter=2))
    assert (found.n_iter, found.converged) == (2, False)


class TwoNormals:
    """A mixture of two normals on a line, as plain as it can be written."""

    def __init__(self, x):
        self.x = x

    def expect(self, parameters):
        weights, means, variances = parameters
        away = self.x[:, None] - means
        log = np.log(weights) - 0.5 * (np.log(2.0 * np.pi * variances) + away**2 / variances)
        total = np.logaddexp(log[:, 0], log[:, 1])
        return np.exp(log - total[:, None]), float(total.sum())

    def maximise(self, shares):
        n = shares.sum(axis=0)
        means = self.x @ shares / n
        return n / len(self.x), means, (shares * (self.x[:, None] - means) ** 2).sum(axis=0) / n


@pytest.mark.parametrize("max_iter", [1, 2, 4, 5, 6, 200])
def test_it_stops_where_scikit_learn_does(max_iter):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0.0, 1.0, 80), rng.normal(3.0, 1.0, 40)])
    start = np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = GaussianMixture(
            2,
            covariance_type="spherical",
            tol=1e-3,
            reg_covar=0.0,
            max_iter=max_iter,
            weights_init=start[0],
            means_init=start[1][:, None],
            precisions_init=1.0 / start[2],
        ).fit(x[:, None])
    found = run_em(TwoNormals(x), start, StoppingRule(1e-3 * len(x), max_iter, one_more=True))
    # Five steps are just enough: the boundary is among the cases.
    assert (found.n_iter, found.converged) == (min(max_iter, 5), max_iter >= 5)
    assert (found.n_iter, found.converged) == (theirs.n_iter_, theirs.converged_)
    np.testing.assert_allclose(found.parameters[1], theirs.means_[:, 0], 1e-9)
    assert found.history[-2] / len(x) == pytest.approx(theirs.lower_bound_, rel=1e-12)


def test_the_best_is_kept_when_a_step_falls():
    found = run_em(Scripted([-9.0, -3.0, -4.0, -3.5, -3.4]), 0, StoppingRule(tol=0.0, max_iter=4))
    assert (found.parameters, found.value, found.fell) == (1, -3.0, True)
    assert found.history == (-9.0, -3.0, -4.0, -3.5, -3.4)


def test_rounding_is_no_fall():
    found = run_em(Scripted([-9.0, -3.0, -3.0 - 1e-10]), 0, StoppingRule(tol=0.0, max_iter=2))
    assert (found.parameters, found.fell) == (2, False)


def test_it_tells_every_step():
    told = []
    run_em(
        Scripted([-9.0, -5.0, -4.0]), 0, StoppingRule(0.0, 2), lambda step, value: told.append((step, value))
    )
    assert told == [(1, -5.0), (2, -4.0)]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_step_to_no_number_is_an_error(value):
    with refuses(DataError, 2, "EM", value):
        run_em(Scripted([-9.0, -5.0, value, -4.0]), 0, StoppingRule(0.0, 3))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_so_is_a_start_at_none(value):
    with refuses(DataError, "start", "EM", value):
        run_em(Scripted([value, -5.0]), 0, StoppingRule(0.0, 1))


def test_a_start_that_the_prior_forbids_is_left():
    found = run_em(Scripted([-math.inf, -5.0, -4.0]), 0, StoppingRule(0.0, 2))
    assert (found.parameters, found.value, found.fell) == (2, -4.0, False)


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on only when it is told to: ``clock.pass_(seconds)``."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

        def pass_(self, seconds):
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(em, "time", clock)
    return clock


def test_the_time_limit_ends_it_after_a_step(clock):
    problem = Scripted(lambda step: -1.0 / (1 + step), lambda: clock.pass_(2.0))
    found = run_em(problem, 0, StoppingRule(0.0, 10**6, time_limit=7.0))
    assert found.stopped == "time"
    assert not found.converged
    assert (problem.calls, found.n_iter) == (4, 3)
    at_once = Scripted([-3.0, -2.0, -1.0], lambda: clock.pass_(2.0))
    assert run_em(at_once, 0, StoppingRule(0.0, 2, time_limit=0.0)).n_iter == 1


def test_interrupting_it_gives_the_best_so_far():
    before = signal.getsignal(signal.SIGINT)

    def press():
        if problem.calls == 8:
            os.kill(os.getpid(), signal.SIGINT)

    # Every second value falls, so that the last is not the best.
    problem = Scripted(lambda step: float(step - 10 * (step % 2)), press)
    found = run_em(problem, 0, StoppingRule(0.0, 10**6))
    assert found.stopped == "interrupt" and problem.calls == 8
    assert found.value == max(found.history)
    assert found.parameters == int(np.argmax(found.history))
    assert signal.getsignal(signal.SIGINT) is before


def test_it_runs_in_another_thread():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(run_em(Scripted([-2.0, -1.0]), 0, StoppingRule(0.0, 1)))
    )
    thread.start()
    thread.join()
    assert found[0].value == -1.0


def starts_at(*places):
    return [lambda place=place: place for place in places]


def test_the_best_short_run_goes_on():
    # Three hills: that from 100 is ahead after two steps, though 0 was ahead at the start.
    def value(step):
        return {0: -10.0, 1: -20.0, 2: -30.0}[step // 100] + {0: 1.0, 1: 20.0, 2: 2.0}[step // 100] * (
            step % 100
        )

    problem = Scripted(value)
    found, values = run_em_from_starts(problem, starts_at(0, 100, 200), StoppingRule(0.0, 6), short=2)
    assert values == [-8.0, 20.0, -26.0]
    assert (found.parameters, found.value, found.n_iter) == (106, 100.0, 6)
    assert found.history == (-20.0, 0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
    # Three starts of two steps each, and four more steps from where the best stood.
    assert problem.calls == 3 * 3 + 5


@pytest.mark.parametrize(
    ("unsound", "ends", "calls"),
    [
        ((), 104, 3 * 3 + 3),
        # One that ends in a collapse is followed by the next best; one that has collapsed already does not go on.
        ((104,), 4, 3 * 3 + 3 + 3),
        ((102, 103, 104), 4, 3 * 3 + 3),
        ((104, 4, 202), 104, 3 * 3 + 3 + 3),
        ((102, 2, 202), 104, 3 * 3 + 3),  # where all have, the best is as good as any
    ],
)
def test_a_start_that_ends_soundly_is_preferred(unsound, ends, calls):
    # From 100 the value is the highest by far, from 200 the lowest.
    problem = Scripted(lambda step: {0: 0.0, 1: 1000.0, 2: -1000.0}[step // 100] + step % 100)
    problem.sound = lambda parameters: parameters not in unsound
    found, values = run_em_from_starts(problem, starts_at(200, 0, 100), StoppingRule(0.0, 4), short=2)
    assert found.parameters == ends and values == [-998.0, 2.0, 1002.0] and problem.calls == calls


def test_failing_starts_are_passed_over():
    values = {0: DataError("first"), 10: -3.0, 11: -2.0, 12: -1.9, 20: SettingError("second")}
    found, reached = run_em_from_starts(Scripted(values), starts_at(0, 10, 20), StoppingRule(0.5))
    assert reached == [-math.inf, -1.9, -math.inf]
    assert (found.parameters, found.converged) == (12, True)


def test_a_start_that_ends_in_no_number_is_passed_over():
    values = {0: -1.0, 1: math.nan, 10: -3.0, 11: -2.9}
    found, reached = run_em_from_starts(Scripted(values), starts_at(0, 10), StoppingRule(0.5))
    assert reached == [-math.inf, -2.9]
    assert found.value == -2.9


def test_the_first_failure_is_raised_when_all_fail():
    values = {0: DataError("first"), 10: SettingError("second")}
    with refuses(DataError, "first"):
        run_em_from_starts(Scripted(values), starts_at(0, 10))


def test_errors_that_are_no_answer_are_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        run_em_from_starts(Scripted({0: ZeroDivisionError(), 10: -1.0, 11: -1.0}), starts_at(0, 10))


def test_one_start_is_one_climb():
    found, values = run_em_from_starts(Scripted([-5.0, -4.0, -3.9]), starts_at(0), StoppingRule(0.5), short=1)
    assert (found.history, values) == ((-5.0, -4.0, -3.9), [-3.9])


def test_time_is_one_budget_for_all_starts(clock):
    problem = Scripted(lambda step: float(step), lambda: clock.pass_(2.0))
    found, values = run_em_from_starts(problem, starts_at(*range(0, 10000, 100)), StoppingRule(0.0, 5, 10.0))
    assert found.stopped == "time"
    assert len(values) < 5


def test_steps_are_one_budget_for_the_best_start():
    found, _ = run_em_from_starts(
        Scripted(lambda step: float(step)), starts_at(0, 100), StoppingRule(0.0, 3), short=10
    )
    assert (found.n_iter, found.parameters) == (3, 103)
