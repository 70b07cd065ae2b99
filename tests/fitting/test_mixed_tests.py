"""Tests of columns of both kinds: those of tables and of correlations where one kind is alone, regressions beside."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from bayeskit import learn_network
from bayeskit._fitting.search.independence_tests import CorrelationTests, IndependenceTests, MixedTests
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._structure.search_protocol import Test as Question
from bayeskit._structure.search_protocol import bits
from bayeskit.errors import SettingError
from refusals import refuses


def mixed(n=400, seed=0):
    """a, b: states; x, y, u: numbers. a → x, b → x, x → y; u has to do with nothing."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = a - 0.7 * b + rng.normal(size=n)
    y = 2.0 * x + rng.normal(size=n)
    return {"a": a.astype(str), "b": b.astype(str), "x": x, "y": y, "u": 1e6 + 1e-3 * rng.normal(size=n)}


def test_of_one_kind_they_are_the_tests_of_that_kind():
    columns = read_nodes(mixed())
    tests = MixedTests(columns)
    tables = IndependenceTests(columns.code_matrix(), columns.sizes[:2])
    assert tests([Question(0, 1, 0)])[0] == pytest.approx(tables([Question(0, 1, 0)])[0], rel=1e-9)
    numbers = CorrelationTests(np.corrcoef(columns.number_matrix()), 400, "mi-g")
    for a, b in itertools.combinations(range(3), 2):
        for given in (0, 1 << 3 - a - b):
            wanted = numbers([Question(a, b, given)])[0]
            found = tests([Question(a + 2, b + 2, given << 2)])[0]
            # The smallest of them are differences of large likelihoods.
            assert found == pytest.approx(wanted, rel=1e-7, abs=1e-7)


def residual(y, x):
    design = np.column_stack([np.ones(len(y)), *x])
    return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())


def regressed(y, x, cell):
    """The largest log-likelihood of y regressed on x in every cell."""
    total = 0.0
    for k in np.unique(cell):
        n = int((cell == k).sum())
        variance = residual(y[cell == k], [v[cell == k] for v in x]) / n
        total -= 0.5 * n * (math.log(2 * math.pi * variance) + 1)
    return total


def test_a_number_and_states_are_two_regressions():
    data = mixed()
    a, b = (np.unique(data[name], return_inverse=True)[1] for name in "ab")
    x, y = data["x"], data["y"]
    tests = MixedTests(read_nodes(data))
    [found] = tests([Question(0, 3, bits([1, 2]))])  # a and y given b and x
    wanted = 2 * (regressed(y, [x], 2 * b + a) - regressed(y, [x], b))
    assert found[:2] == pytest.approx((wanted, 3 * (2 + 1)), rel=1e-9)
    assert found[2] == pytest.approx(stats.chi2.sf(wanted, 9), rel=1e-9)
    [found] = tests([Question(3, 2, bits([0, 1]))])  # x and y given both
    wanted = 2 * (regressed(y, [x], 2 * b + a) - regressed(y, [], 2 * b + a))
    assert found[:2] == pytest.approx((wanted, 6), rel=1e-9)
    # Two discrete variables given a number: b adds a mean and a variance for each state beside a's.
    [found] = tests([Question(0, 1, bits([2]))])
    alone = -sum(n * math.log(n / 400) for n in np.bincount(a)) - sum(
        n * math.log(n / 400) for n in np.bincount(b)
    )
    joint = sum(n * math.log(n / 400) for n in np.bincount(2 * b + a))
    gaussian = [regressed(x, [], cell) for cell in (2 * b + a, a, b, 0 * a)]
    wanted = 2 * (joint + alone + gaussian[0] - gaussian[1] - gaussian[2] + gaussian[3])
    assert found[:2] == pytest.approx((wanted, 2 * 3), rel=1e-9)


def test_weights_count_as_rows():
    data = mixed(80)
    times = np.random.default_rng(1).integers(1, 4, 80)
    more = {name: np.repeat(column, times) for name, column in data.items()}
    asked = [Question(0, 2, 0b00010), Question(2, 3, 0b00001), Question(0, 1, 0b00100)]
    weighted = MixedTests(read_nodes(data), weights=times.astype(float))(asked)
    assert np.array(weighted) == pytest.approx(np.array(MixedTests(read_nodes(more))(asked)), rel=1e-8)


def test_of_independent_columns_p_is_uniform():
    found = {key: [] for key in ("a number and states", "numbers given states", "states given a number")}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = 400
        c, z = rng.integers(0, 2, n), rng.normal(size=n)
        rows = {
            "a": (rng.random(n) < 0.3 + 0.3 * c).astype(str),
            "c": c.astype(str),
            "x": z + rng.normal(size=n),
            "y": c + rng.normal(size=n),
            "z": z,
        }
        answers = MixedTests(read_nodes(rows))(
            [Question(0, 3, 0b00010), Question(2, 3, 0b10000), Question(0, 2, 0b00010)]
        )
        for key, (_, _, p) in zip(found, answers, strict=True):
            found[key].append(p)
    for key, p in found.items():
        assert stats.kstest(p, "uniform").pvalue > 1e-3, key


def test_odd_columns_have_an_answer():
    x = np.random.default_rng(0).normal(size=60)
    data = {"a": ["u", "v"] * 30, "one": ["w"] * 60, "x": x, "copy": 2 * x, "same": np.full(60, 0.1)}
    tests = MixedTests(read_nodes(data), min_rows=0)
    every = [
        Question(a, b, bits(z))
        for a, b in itertools.combinations(range(5), 2)
        for k in range(4)
        for z in itertools.combinations(set(range(5)) - {a, b}, k)
    ]
    answers = dict(zip(every, tests(every), strict=True))
    assert np.isfinite([*answers.values()]).all()
    assert answers[Question(2, 3, 0)][2] < 1e-9  # a copy
    assert answers[Question(0, 1, 0)] == (0.0, 0.0, 1.0) and answers[Question(1, 2, 0)][2] == 1.0
    assert answers[Question(2, 4, 0)][2] > 0.9  # a constant
    # Fewer rows than parameters: no test.
    assert math.isnan(MixedTests(read_nodes(data), min_rows=1000)([Question(2, 3, 0)])[0][2])
    with refuses(SettingError, "test", "g2", "mi-cg"):
        MixedTests(read_nodes(data), "g2")


@pytest.mark.parametrize("method", ["pc", "mmhc"])
def test_searches_by_tests_take_columns_of_every_kind(method):
    data = mixed(2000)
    found = {frozenset(arc) for arc in learn_network(data, method).arcs}
    assert found == {frozenset("ax"), frozenset("bx"), frozenset("xy")}
    assert {("a", "x"), ("b", "x")} <= {*learn_network(data, method).arcs}
    numbers = {name: data[name] for name in "xyu"}
    for test in ("cor", "zf", "mi-g"):
        assert len(learn_network(numbers, method, test=test).arcs) == 1
