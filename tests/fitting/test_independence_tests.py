from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bayeskit._fitting.search import family_scores as packed_rows
from bayeskit._fitting.search.independence_tests import CorrelationTests, IndependenceTests
from bayeskit._structure.search_protocol import Test as Question
from bayeskit._structure.search_protocol import bits
from bayeskit.errors import SettingError
from refusals import refuses

NAMES = ("g2", "x2", "g2-adf", "x2-adf", "mi-sh")


def slow(columns, sizes, name, a, b, z):
    """Every table cell by cell, every formula as it is printed."""
    n = columns.shape[1]
    cells = np.zeros([*(sizes[v] for v in z), sizes[a], sizes[b]])
    for i in range(n):
        cells[(*(columns[v, i] for v in z), columns[a, i], columns[b, i])] += 1
    tables = cells.reshape(-1, sizes[a], sizes[b])
    degrees = (sizes[a] - 1) * (sizes[b] - 1) * len(tables)
    if name == "mi-sh":
        p, t = tables / n, 1 / tables.size
        spread = (n - 1) * ((t - p) ** 2).sum()
        weight = min(1.0, (1 - (p**2).sum()) / spread) if spread > 1e-12 else 1.0
        tables = n * (weight * t + (1 - weight) * p)
    total = seen = 0.0
    for table in tables:
        if table.sum() == 0:
            continue
        rows, lines = table.sum(1), table.sum(0)
        seen += ((rows > 0).sum() - 1) * ((lines > 0).sum() - 1)
        for x, y in itertools.product(range(sizes[a]), range(sizes[b])):
            expected = rows[x] * lines[y] / table.sum()
            if name.startswith("x2") and expected > 0:
                total += (table[x, y] - expected) ** 2 / expected
            elif not name.startswith("x2") and table[x, y] > 0:
                total += 2 * table[x, y] * math.log(table[x, y] / expected)
    if name.endswith("adf"):
        degrees = seen
        total = 0.0 if n < 5 * cells.size else total
    return total, degrees, stats.chi2.sf(max(total, 0), degrees) if degrees else 1.0


def drawn(seed, d=5, n=40, most=4):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, d)
    shared = rng.random(n)
    columns = np.array([np.floor((0.5 * shared + 0.5 * rng.random(n)) * s) for s in sizes], np.uint8)
    return columns, sizes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("path", ["bits", "rows", "numbered", "no planes"])
def test_equal_to_counting_by_hand(name, path, monkeypatch):
    monkeypatch.setattr(packed_rows, "FEW_CELLS", 0 if path in ("rows", "numbered") else 10**6)
    monkeypatch.setattr(packed_rows, "MOST_PLANES", 2 if path == "no planes" else 1000)
    monkeypatch.setattr(packed_rows, "SMALL_TABLE", 0 if path == "numbered" else 4096)
    for seed in range(4):
        columns, sizes = drawn(seed, n=200 if seed % 2 else 40)
        tests = IndependenceTests(columns, sizes, name, min_rows=0)
        asked = [
            Question(a, b, bits(z))
            for a, b in itertools.permutations(range(5), 2)
            for k in (0, 1, 3)
            for z in itertools.combinations(set(range(5)) - {a, b}, k)
        ]
        for (a, b, some), answer in zip(asked, tests(asked), strict=True):
            z = [v for v in range(5) if some >> v & 1]
            wanted = slow(columns, sizes, name, a, b, z)
            np.testing.assert_allclose(answer, wanted, rtol=1e-9, atol=1e-9)


def test_a_page_of_arithmetic():
    # 2×2 with the counts 30, 10, 20, 40: G² = 2 Σ n log(n e⁻¹), χ² = 100 (30·40 − 10·20)² / (40·60·50·50).
    a = np.repeat([0, 0, 1, 1], [30, 10, 20, 40])
    b = np.repeat([0, 1, 0, 1], [30, 10, 20, 40])
    columns, sizes = np.array([a, b], np.uint8), np.array([2, 2])
    g2 = 2 * (30 * math.log(1.5) + 10 * math.log(0.5) + 20 * math.log(2 / 3) + 40 * math.log(4 / 3))
    [found] = IndependenceTests(columns, sizes, "mi")([Question(0, 1, 0)])
    assert found[:2] == pytest.approx((g2, 1))
    [found] = IndependenceTests(columns, sizes, "chi2")([Question(1, 0, 0)])
    assert found[:2] == pytest.approx((100 * 1000**2 / (40 * 60 * 50 * 50), 1))
    assert found[2] == pytest.approx(math.erfc(math.sqrt(found[0] / 2)))


def test_the_order_of_the_two_and_of_the_batch_does_not_matter():
    columns, sizes = drawn(3, n=150)
    asked = [Question(a, b, 0b10000) for a, b in itertools.permutations(range(4), 2)]
    together = IndependenceTests(columns, sizes, min_rows=0)
    first = together([*asked, *asked])
    assert first[: len(asked)] == first[len(asked) :]
    answers = dict(zip(asked, first[: len(asked)], strict=True))
    assert together.n_tested == 6
    for test in asked:
        assert answers[test] == answers[Question(test.b, test.a, test.given)]
        assert IndependenceTests(columns, sizes, min_rows=0)([test])[0] == pytest.approx(answers[test])
    assert together([]) == []


def test_a_test_without_enough_rows_says_nothing():
    columns = np.array([[0, 1] * 10, [0, 1] * 10, [0, 0, 1, 2] * 5], np.uint8)
    tests = IndependenceTests(columns, np.array([2, 2, 3]), min_rows=5)
    pair, with_three = tests([Question(0, 1, 0), Question(0, 1, 0b100)])
    assert pair[0] == pytest.approx(40 * math.log(2))
    assert with_three[:2] == pytest.approx((20 * math.log(2), 3))  # 20 rows ≥ 5 · 3
    tests = IndependenceTests(columns, np.array([2, 2, 3]), min_rows=7)
    statistic, degrees, p = tests([Question(0, 1, 0b100)])[0]
    assert math.isnan(statistic) and degrees == 3 and math.isnan(p)
    # One of a batch may have enough: 2 states do, 3 do not.
    two, three = IndependenceTests(columns, np.array([2, 2, 3]), min_rows=15)(
        [Question(0, 1, 0), Question(0, 2, 0)]
    )
    assert two == pair and math.isnan(three[2])


def test_very_many_configurations():
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 4, (45, 60)).astype(np.uint8)
    columns[1] = columns[0]
    tests = IndependenceTests(columns, np.full(45, 4), "g2-adf", min_rows=0)
    statistic, degrees, p = tests([Question(0, 1, bits(range(2, 45)))])[0]
    assert (statistic, degrees, p) == (0.0, 0.0, 1.0)  # every row is alone in its configuration
    [(_, degrees, p)] = IndependenceTests(columns, np.full(45, 4), min_rows=0)(
        [Question(0, 1, bits(range(2, 45)))]
    )
    assert degrees == 9 * 4.0**43 and p == 1.0


def test_nothing_to_count():
    empty = IndependenceTests(np.empty((2, 0), np.uint8), np.array([2, 2]))
    assert math.isnan(empty([Question(0, 1, 0)])[0][2])
    constant = IndependenceTests(np.zeros((2, 9), np.uint8), np.array([1, 2]))
    assert constant([Question(0, 1, 0)]) == [(0.0, 0.0, 1.0)]


def test_names():
    with refuses(SettingError, "cor", "discrete", "g2, x2"):
        IndependenceTests(np.zeros((2, 9), np.uint8), np.array([1, 2]), "cor")
    with refuses(SettingError, "g2", "cor, zf, mi-g"):
        CorrelationTests(np.eye(2), 9, "g2")


def residual(values, a, z):
    design = np.column_stack([np.ones(len(values)), values[:, z]])
    return values[:, a] - design @ np.linalg.lstsq(design, values[:, a], rcond=None)[0]


@given(st.integers(0, 10**6), st.integers(0, 3))
def test_partial_correlations_are_those_of_residuals(seed, k):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(30, 5)) @ rng.normal(size=(5, 5))
    a, b, *z = map(int, rng.permutation(5)[: 2 + k])
    rho = np.corrcoef(residual(values, a, z), residual(values, b, z))[0, 1]
    correlation = np.corrcoef(values.T)
    degrees = 28 - k
    asked = [Question(a, b, bits(z)), Question(b, a, bits(z))]
    first, again = CorrelationTests(correlation, 30, "cor")(asked)
    assert first == again
    t = rho * math.sqrt(degrees / (1 - rho**2))
    assert first == pytest.approx((rho, degrees, 2 * stats.t.sf(abs(t), degrees)), rel=1e-6, abs=1e-8)
    z_score = math.atanh(rho) * math.sqrt(degrees - 1)
    wanted = (z_score, degrees - 1, 2 * stats.norm.sf(abs(z_score)))
    assert CorrelationTests(correlation, 30, "zf")(asked)[0] == pytest.approx(wanted, rel=1e-6, abs=1e-8)
    g2 = -30 * math.log(1 - rho**2)
    wanted = (g2, 1, stats.chi2.sf(g2, 1))
    assert CorrelationTests(correlation, 30, "mi-g")(asked)[0] == pytest.approx(wanted, rel=1e-6, abs=1e-8)


def test_numeric_columns_that_say_little():
    constant = np.array([[1.0, np.nan], [np.nan, np.nan]])
    assert CorrelationTests(constant, 10)([Question(0, 1, 0)]) == [(0.0, 8.0, 1.0)]
    copies = np.ones((3, 3))
    assert CorrelationTests(copies, 10)([Question(0, 1, 0)])[0][2] == 0.0
    [(rho, _, _)] = CorrelationTests(copies, 10)([Question(0, 1, 0b100)])
    assert -1.0 <= rho <= 1.0
    assert math.isnan(CorrelationTests(np.eye(3), 3)([Question(0, 1, 0b100)])[0][2])
