"""SQUAREM: exact where EM converges linearly along a line, never below plain EM's last value, zeros stay zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._fitting.em import Accelerator, extrapolate, run_em
from bayeskit.errors import DataError
from bayeskit.mixtures import StoppingRule


class Linear:
    """A hill −‖θ − top‖² that a step climbs by a constant share of the way."""

    def __init__(self, top, left):
        self.top, self.left, self.calls = np.asarray(top, float), left, 0

    def expect(self, parameters):
        self.calls += 1
        return parameters, -float(((parameters - self.top) ** 2).sum())

    def maximise(self, statistics):
        return self.top + self.left * (statistics - self.top)

    def flat(self, parameters):
        return parameters

    def unflat(self, vector):
        return vector


@settings(max_examples=50, deadline=None)
@given(st.floats(0.1, 0.99), st.lists(st.floats(-5, 5), min_size=1, max_size=4))
def test_exact_on_linear_convergence(left, top):
    """θ_k − top shrinks by one factor: s = 1/(1 − left) and (1 − s(1 − left))² = 0."""
    problem = Linear(top, left)
    first = problem.top + 1.0
    second = problem.maximise(first)
    to, length = extrapolate(first, second, problem.maximise(second), longest=1e9)
    assert length == pytest.approx(1.0 / (1.0 - left), rel=1e-6)
    np.testing.assert_allclose(to, problem.top, atol=1e-6)


def test_a_length_of_one_is_the_third_point():
    points = [np.array([x]) for x in (0.0, 1.0, 2.5)]
    # Steps that grow: s = 1/0.5 = 2; capped at one, nothing is extrapolated.
    to, length = extrapolate(*points, longest=1.0)
    assert (to[0], length) == (2.5, 1.0)


def test_points_that_do_not_move_stay():
    point = np.array([1.0, -2.0])
    to, length = extrapolate(point, point, point, longest=4.0)
    assert np.array_equal(to, point) and length == 1.0


def test_zeros_stay_zero_and_do_not_count():
    lower = -math.inf
    first, second, third = (np.array([lower, x, y]) for x, y in ((1.0, 0.0), (0.5, lower), (0.25, lower)))
    to, length = extrapolate(first, second, third, longest=10.0)
    assert (to[0], to[2], length) == (lower, lower, 2.0)
    assert to[1] == pytest.approx(0.0, abs=1e-15)


def test_the_longest_step_grows_with_success_and_shrinks_with_failure():
    problem = Linear([0.0], 0.99)
    accelerator = Accelerator(problem)
    points = [np.array([0.99**k]) for k in range(3)]
    assert accelerator.longest == 4.0
    _, _, value = accelerator.try_from(*points, -math.inf)
    assert accelerator.longest == 16.0
    # (1 − 4·0.01)² of the way is left.
    assert value == pytest.approx(-(0.96**4), rel=1e-9)
    assert accelerator.try_from(*points, 1.0) is None
    assert accelerator.longest == 4.0


@pytest.mark.parametrize("trouble", ["nan", "error", "singular"])
def test_a_point_ahead_that_fails_is_a_plain_step(trouble):
    class Troubled(Linear):
        def unflat(self, vector):
            if trouble == "error":
                raise DataError("no such place")
            if trouble == "singular":
                raise np.linalg.LinAlgError("singular")
            return vector * math.nan

    plain = run_em(Linear([0.0], 0.9), np.ones(1), StoppingRule(0.0, 12))
    found = run_em(Troubled([0.0], 0.9), np.ones(1), StoppingRule(0.0, 12, accelerate=True))
    assert found.history == plain.history


class OneNormal:
    """The share of N(2, 1) in a mixture with N(0, 1): one probability, and the slower the closer the two are."""

    def __init__(self, apart=1.0, n=200):
        rng = np.random.default_rng(0)
        x = rng.normal(size=n) + apart * (rng.random(n) < 0.1)
        self.logs = np.stack([-0.5 * x**2, -0.5 * (x - apart) ** 2], axis=1)
        self.calls = 0

    def expect(self, parameters):
        self.calls += 1
        with np.errstate(divide="ignore"):
            log = self.logs + np.log(parameters)
        total = np.logaddexp(log[:, 0], log[:, 1])
        return np.exp(log - total[:, None]).mean(axis=0), float(total.sum())

    def maximise(self, statistics):
        return statistics

    def flat(self, parameters):
        with np.errstate(divide="ignore"):
            return np.log(parameters)

    def unflat(self, vector):
        p = np.exp(vector - vector.max())
        return p / p.sum()


@pytest.mark.parametrize("apart", [0.5, 1.0])
@pytest.mark.parametrize("budget", [12, 30, 60])
def test_no_lower_than_plain_steps_for_the_same_work(apart, budget):
    start = np.array([0.5, 0.5])
    found = run_em(problem := OneNormal(apart), start, StoppingRule(0.0, budget, accelerate=True))
    plain = run_em(OneNormal(apart), start, StoppingRule(0.0, problem.calls - 1))
    assert found.value > plain.value
    assert (np.diff(found.history) >= -1e-12 * np.abs(found.history[1:])).all()
    assert not found.fell


def test_it_converges_in_a_fraction_of_the_steps_to_the_same_place():
    start = np.array([0.5, 0.5])
    found = run_em(problem := OneNormal(0.5), start, StoppingRule(1e-9, 10**5, accelerate=True))
    plain = run_em(OneNormal(0.5), start, StoppingRule(1e-12, 10**5))
    assert found.converged and plain.converged
    assert problem.calls < plain.n_iter / 5
    np.testing.assert_allclose(found.parameters, plain.parameters, atol=1e-4)


def test_an_exact_zero_survives_a_climb():
    found = run_em(OneNormal(), np.array([1.0, 0.0]), StoppingRule(0.0, 9, accelerate=True))
    assert found.parameters.tolist() == [1.0, 0.0]
