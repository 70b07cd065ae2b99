"""Information between a numeric and a categorical attribute, against NumPy on the rows themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._counting.count_moments import count_cell_moments, count_moments
from bayeskit._statistics.information import gaussian_information
from bayeskit.extending import Chunk
from bayeskit.statistics import Schema, Variable

NAN = float("nan")


def information(codes, values, target, sizes, n_classes=2, weights=None):
    codes, values = np.array(codes, np.uint8), np.array(values, float)
    attributes = (
        *(Variable(f"a{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes)),
        *(Variable(f"x{j}", "numeric") for j in range(values.shape[1])),
    )
    schema = Schema(attributes, Variable("y", "categorical", tuple(range(n_classes))))
    names = tuple(v.name for v in schema.numeric)
    weights = None if weights is None else np.asarray(weights, float)
    chunk = Chunk(len(codes), codes, values, target=np.asarray(target, np.uint32), weights=weights)
    cells, moments = (f(chunk, schema, names) for f in (count_cell_moments, count_moments))
    return gaussian_information(cells, moments, schema)


def variance(x, w):
    return np.average((x - np.average(x, weights=w)) ** 2, weights=w)


def slow_information(codes, values, target, sizes, n_classes, weights):
    """The slow twin: one pair of attributes, one class and one state at a time, from the rows."""
    codes, values, target, weights = map(np.array, (codes, values, target, weights))
    out = np.zeros((len(sizes), values.shape[1]))
    for j, m in np.ndindex(out.shape):
        x, known = values[:, m], ~np.isnan(values[:, m]) & (weights > 0)
        overall = variance(x[known], weights[known]) if known.any() else 0.0
        both = known & (codes[:, j] < sizes[j])
        # Equal values have a variance of rounding.
        if not both.any() or np.ptp(x[known]) == 0:
            continue
        for c in range(n_classes):
            mine = both & (target == c)
            for v in range(sizes[j]):
                cell = mine & (codes[:, j] == v)
                if cell.any():
                    wide, narrow = (max(variance(x[r], weights[r]), 1e-9 * overall) for r in (mine, cell))
                    out[j, m] += weights[cell].sum() * 0.5 * np.log(wide / narrow)
        out[j, m] = max(out[j, m], 0.0) / weights[both].sum()
    return out


@st.composite
def cases(draw):
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    n, n_classes, width = draw(st.integers(1, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    number = st.integers(-9, 9).map(float) | st.just(NAN)
    codes = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    values = [[draw(number) for _ in range(width)] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    return codes, values, target, sizes, n_classes, [draw(st.sampled_from([1.0, 0.5, 2.0])) for _ in range(n)]


@settings(max_examples=120)
@given(cases())
def test_equals_the_slow_twin(case):
    found = information(*case)
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found, slow_information(*case), rtol=1e-9, atol=1e-9)


def test_a_page_of_arithmetic():
    # Class 0: state 0 holds 0, 2 and state 1 holds 4, 6: variance 5 against 1. Class 1: nothing to tell.
    codes, values = [[0], [0], [1], [1], [0], [1]], [[0.0], [2.0], [4.0], [6.0], [1.0], [1.0]]
    found = information(codes, values, [0, 0, 0, 0, 1, 1], (2,))
    assert found[0, 0] == pytest.approx(4 / 6 * 0.5 * math.log(5), rel=1e-13)


def test_rows_where_either_is_missing_say_nothing():
    codes, values, target = [[0], [0], [1], [1]], [[0.0], [2.0], [4.0], [6.0]], [0] * 4
    plain = information(codes, values, target, (2,), 1)
    more = information([*codes, [2], [0]], [*values, [3.0], [NAN]], [*target, 0, 0], (2,), 1)
    np.testing.assert_allclose(more, plain, rtol=1e-13)


def test_a_constant_and_an_empty_attribute_tell_nothing():
    found = information([[0], [1], [1]], [[0.1, NAN, 1.0], [0.1, NAN, 2.0], [0.1, NAN, 5.0]], [0, 0, 0], (2,))
    assert found[0, :2].tolist() == [0.0, 0.0]
    assert found[0, 2] > 0.1


def test_the_floor_bounds_what_equal_values_tell():
    # Both cells are constant: ½ log(1 / 1e-9).
    found = information([[0], [0], [1], [1]], [[1.0], [1.0], [5.0], [5.0]], [0] * 4, (2,), 1)
    assert found[0, 0] == pytest.approx(0.5 * math.log(1e9), rel=1e-12)


@pytest.mark.parametrize("move", [lambda x: x + 1e8, lambda x: x * 1e200, lambda x: x * 1e-250])
def test_neither_origin_nor_unit_matters(move):
    rng = np.random.default_rng(5)
    codes, target = rng.integers(0, 5, (500, 2)), rng.integers(0, 2, 500)
    values = np.round(rng.normal(size=(500, 2)) + codes, 6)
    plain = information(codes, values, target, (4, 5))
    np.testing.assert_allclose(information(codes, move(values), target, (4, 5)), plain, rtol=1e-6)
    assert plain[0, 0] > 10 * plain[0, 1]


def test_many_rows_give_the_information_of_the_distribution():
    # X = Z + noise with Z of ±1 in both classes: variance 2 against 1, so close to ½ log 2.
    rng = np.random.default_rng(0)
    z, y = rng.integers(0, 2, (2, 40_000))
    found = information(z[:, None], (2.0 * z - 1 + 10 * y + rng.normal(size=40_000))[:, None], y, (2,))
    assert found[0, 0] == pytest.approx(0.5 * math.log(2), rel=0.03)
