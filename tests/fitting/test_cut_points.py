"""Cut points against an exact slow twin, a page of arithmetic, and the laws they obey."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._data.reading import interval_labels
from bayeskit._fitting import cut_points
from bayeskit._fitting.cut_points import (
    description_length,
    frequency_cut_points,
    midpoints,
    proportional_cut_points,
    width_cut_points,
)
from bayeskit.classifiers import mdl_cut_points
from bayeskit.errors import DataError, InfiniteValue, SettingError, UnseenClass, WeightError
from refusals import refuses

K = 3
rows_of = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(0, K - 1), st.integers(0, 3)), min_size=1, max_size=40
).filter(lambda rows: any(w for _, _, w in rows))


def columns(rows):
    values, codes, weights = (np.array(column) for column in zip(*rows, strict=True))
    return values.astype(float), codes, weights.astype(float)


def power(n):
    return Fraction(n) ** n if n else Fraction(1)


def entropy(counts):
    n = sum(counts)
    return -sum(c / n * math.log2(c / n) for c in counts if c)


def slow_mdl(values, codes):
    """Fayyad and Irani by exact fractions: 2^(−N·E) = Π l^l Π r^r / (L^L R^R) is compared, not its logarithm."""
    pairs = sorted(zip(values, codes, strict=True))
    found, best, where = [], None, None
    for i in range(1, len(pairs)):
        if pairs[i - 1][0] == pairs[i][0]:
            continue
        sides = [[sum(c == k for _, c in side) for k in range(K)] for side in (pairs[:i], pairs[i:])]
        score = math.prod(power(n) for side in sides for n in side) / (power(i) * power(len(pairs) - i))
        if best is None or score > best:
            best, where, parts = score, i, sides
    if where is None:
        return found
    n, whole = len(pairs), [a + b for a, b in zip(*parts, strict=True)]
    e, e1, e2 = entropy(whole), entropy(parts[0]), entropy(parts[1])
    k, k1, k2 = (sum(c > 0 for c in counts) for counts in (whole, *parts))
    gain = e - (where * e1 + (n - where) * e2) / n
    if k > 1 and gain > (math.log2(n - 1) + math.log2(3**k - 2) - (k * e - k1 * e1 - k2 * e2)) / n:
        lower, upper = pairs[:where], pairs[where:]
        middle = (lower[-1][0] + upper[0][0]) / 2
        return [*slow_mdl(*zip(*lower, strict=True)), middle, *slow_mdl(*zip(*upper, strict=True))]
    return found


@given(rows_of)
def test_mdl_is_the_slow_twin(rows):
    values, codes, _ = columns(rows)
    assert mdl_cut_points(values, codes, K).tolist() == slow_mdl(values.tolist(), codes.tolist())


@given(rows_of)
def test_weight_is_repetition(rows):
    values, codes, weights = columns(rows)
    times = weights.astype(int)
    many, many_codes = np.repeat(values, times), np.repeat(codes, times)
    for weighted, repeated in (
        (mdl_cut_points(values, codes, K, weights), mdl_cut_points(many, many_codes, K)),
        (frequency_cut_points(values, 4, weights), frequency_cut_points(many, 4)),
        (width_cut_points(values, 4, weights), width_cut_points(many, 4)),
        (proportional_cut_points(values, weights), proportional_cut_points(many)),
    ):
        assert weighted.tolist() == repeated.tolist()


@given(rows_of, st.randoms(use_true_random=False), st.sampled_from([1.0, 0.1, 1e-7, 1e9]))
def test_the_order_of_rows_and_the_names_of_classes_do_not_matter(rows, random, unit):
    values, codes, weights = columns(rows)
    weights = weights * unit + (weights > 0) * values**2 * unit / 7  # sums of these round
    order = list(range(len(rows)))
    random.shuffle(order)
    names = np.array(random.sample(range(K), K))
    before = mdl_cut_points(values, codes, K, weights)
    assert before.tolist() == mdl_cut_points(values[order], names[codes[order]], K, weights[order]).tolist()
    for method in (frequency_cut_points, width_cut_points):
        assert method(values, 3, weights).tolist() == method(values[order], 3, weights[order]).tolist()


@given(rows_of, st.integers(-900, 900), st.integers(-40, 40))
def test_cuts_move_with_the_values(rows, exponent, shift):
    values, codes, weights = columns(rows)
    scale = 2.0**exponent
    for find in (
        lambda x: mdl_cut_points(x, codes, K, weights),
        lambda x: frequency_cut_points(x, 4, weights),
        lambda x: proportional_cut_points(x, weights),
        lambda x: width_cut_points(x, 4, weights),
    ):
        assert find((values + shift) * scale).tolist() == ((find(values) + shift) * scale).tolist()


@given(rows_of, st.integers(1, 9))
def test_frequency_cuts_come_nearest_to_even(rows, n_bins):
    values, _, weights = columns(rows)
    distinct = np.unique(values[weights > 0])
    below = [0.0, *(weights[values <= v].sum() for v in distinct)]
    expected = set()
    for k in range(1, n_bins):
        gaps = [abs(Fraction(b) - Fraction(k * below[-1]) / n_bins) for b in below]
        expected.add(gaps.index(min(gaps)))
    cuts = frequency_cut_points(values, n_bins, weights)
    wanted = [(distinct[i - 1] + distinct[i]) / 2 for i in sorted(expected) if 0 < i < len(distinct)]
    assert cuts.tolist() == wanted


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30), st.integers(1, 8))
def test_cuts_of_any_floats_are_sound(values, n_bins):
    array = np.array(values)
    codes = np.arange(len(array)) % 2
    for cuts in (
        mdl_cut_points(array, codes, 2),
        frequency_cut_points(array, n_bins),
        width_cut_points(array, n_bins),
        proportional_cut_points(array),
    ):
        assert np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()
        assert all(array.min() <= c < array.max() for c in cuts)


def test_a_page_of_arithmetic():
    # a a a b | b b b …: N = 6, Ent = 1. Cut after 3: E = 0; the gain is 1, and
    # (log2 5 + log2 7 − 2)/6 = (2.3219 + 2.8074 − 2)/6 = 0.5216 is less.
    assert mdl_cut_points([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1], 2).tolist() == [3.5]
    # a b b b, N = 4: Ent = 0.8113; cut after 1: E = 0. (log2 3 + log2 7 − 1.6226)/4 = 0.6924: taken.
    assert mdl_cut_points([1, 2, 3, 4], [0, 1, 1, 1], 2).tolist() == [1.5]
    # a b a b: the best cut leaves E = 3/4·0.9183 = 0.6887, a gain of 0.3113; the price is
    # (log2 3 + log2 7 − (2 − 2·0.9183))/4 = 1.0573: not taken.
    assert mdl_cut_points([1, 2, 3, 4], [0, 1, 0, 1], 2).tolist() == []


def test_of_equal_cuts_the_lowest():
    # Row 6 stands in both classes: 5.5 and 6.5 are equally good, and after the one the other no longer pays.
    values, codes = np.array([*range(1, 12), 6]), np.array([0] * 6 + [1] * 6)
    assert mdl_cut_points(values, codes, 2).tolist() == [5.5]
    assert mdl_cut_points(-values, codes, 2).tolist() == [-6.5]


@pytest.mark.parametrize(
    "points", [((1, 12), (4, 3), (9, 0)), ((0, 16), (5, 14), (7, 2)), ((0, 8), (2, 4), (14, 4))]
)
def test_cuts_that_are_equal_by_other_counts(points):
    """Both cuts have the same entropy, by other terms: sums of logarithms alone round to the second."""
    first, middle, last = (np.array(point) for point in points)
    scores = [
        math.prod(power(int(n)) for n in (*below, *above)) / power(int(sum(below))) / power(int(sum(above)))
        for below, above in ((first, middle + last), (first + middle, last))
    ]
    assert scores[0] == scores[1]
    times = np.concatenate(points)
    values, codes = np.repeat([0, 0, 1, 1, 2, 2], times), np.repeat([0, 1] * 3, times)
    assert mdl_cut_points(values, codes, 2)[0] == 0.5


@pytest.mark.parametrize(
    ("values", "codes", "weights"),
    [
        ([], [], None),
        ([3.0], [1], None),
        ([5.0] * 9, [0, 1, 2] * 3, None),
        (range(9), [2] * 9, None),
        ([np.nan] * 4, [0, 1, 0, 1], None),
        ([1.0, np.nan, np.nan], [0, 1, 1], None),
        (range(6), [0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]),
    ],
)
def test_nothing_to_cut(values, codes, weights):
    values, codes = np.array(values, dtype=float), np.array(codes, dtype=int)
    found = mdl_cut_points(values, codes, K, weights)
    assert found.dtype == np.float64 and found.shape == (0,)


def test_missing_values_are_left_out():
    values, codes = np.array([1, np.nan, 2, 3, np.nan, 4, 5, 6]), np.array([0, 1, 0, 0, 0, 1, 1, 1])
    assert mdl_cut_points(values, codes, 2).tolist() == [3.5]
    assert frequency_cut_points(values, 2).tolist() == width_cut_points(values, 2).tolist() == [3.5]
    assert proportional_cut_points(values).tolist() == [3.5]


def test_a_table_too_short_changes_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, K, 4000)
    values = rng.normal(codes, 1.0).round(2)
    whole = mdl_cut_points(values, codes, K)
    assert len(whole) > 3
    assert whole.tolist() == mdl_cut_points(values, codes, K, np.full(4000, 1.0)).tolist()
    monkeypatch.setattr(cut_points, "LARGEST_TABLE", 50)
    assert whole.tolist() == mdl_cut_points(values, codes, K).tolist()
    # Halves of rows that stand twice: the same counts in other units.
    twice = mdl_cut_points(np.repeat(values, 2), np.repeat(codes, 2), K, np.full(8000, 0.5))
    assert whole.tolist() == twice.tolist()


def cuts_of_distinct(n):
    """How n rows of n classes are cut: in the middle, as long as that pays. Ent = log2 n, and E is of the halves."""
    if n < 2:
        return []
    first = n // 2
    bits, bits1, bits2 = (m * math.log2(m) for m in (n, first, n - first))  # k·Ent is n·Ent here
    spread = bits - bits1 - bits2
    if spread <= math.log2(n - 1) + n * math.log2(3) + math.log2(1 - 2 * 3.0**-n) - spread:
        return []
    return [*cuts_of_distinct(first), first - 0.5, *(first + c for c in cuts_of_distinct(n - first))]


@pytest.mark.parametrize("n", [2, 3, 4, 31, 100_000])
def test_as_many_classes_as_rows(n):
    cuts = mdl_cut_points(np.arange(n), np.random.default_rng(0).permutation(n), n)
    assert cuts.tolist() == cuts_of_distinct(n)
    assert len(cuts) > n / 3 or n == 3


def test_the_bits_for_many_classes_join_smoothly():
    exact = [math.log2(3**k - 2) for k in range(1, 600)]
    assert np.allclose([description_length(k) for k in range(1, 600)], exact, rtol=1e-14, atol=1e-14)
    assert description_length(100_000) == pytest.approx(100_000 * math.log2(3))


@pytest.mark.parametrize("weight", [1e-100, 1e-3, 1.0, 1e90])
def test_weights_of_any_size(weight):
    """Beneath two rows in all nothing pays; beyond, more weight cuts no less."""
    codes = np.repeat([0, 1], 20)
    cuts = mdl_cut_points(np.arange(40.0), codes, 2, np.full(40, weight))
    assert cuts.tolist() == ([19.5] if weight >= 1.0 else [])


def test_huge_and_tiny_values():
    codes = [0, 0, 0, 1, 1, 1]
    assert mdl_cut_points([1e300, 2e300, 3e300, 5e300, 6e300, 7e300], codes, 2).tolist() == [4e300]
    assert mdl_cut_points([1.1e308, 1.2e308, 1.3e308, 1.5e308, 1.6e308, 1.7e308], codes, 2) == pytest.approx(
        1.4e308
    )
    assert mdl_cut_points([-1.7e308, -1e308, -9e307, 1e308, 1.5e308, 1.7e308], codes, 2) == pytest.approx(
        5e306
    )
    assert width_cut_points([-1.7e308, 1.7e308], 2).tolist() == [0.0]
    assert width_cut_points([-1.6e308, 1.6e308], 4) == pytest.approx(np.array([-8e307, 0, 8e307]))
    tiny = 5e-324
    assert midpoints(np.array([-tiny, 0.0, tiny]), np.array([0, 1])).tolist() == [-tiny, 0.0]


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_midpoint_parts_its_neighbours(a, b):
    a, b = min(a, b), max(a, b)
    for upper in (b, math.nextafter(a, math.inf)):
        if a < upper < np.inf:
            assert a <= midpoints(np.array([a, upper]), np.array([0]))[0] < upper


def test_labels_tell_the_intervals_apart():
    assert interval_labels(np.array([])) == ["(-inf, inf)"]
    close = np.array([1.00001, 1.00002, 1.000021])
    labels = interval_labels(close)
    assert labels[1] == "(1.00001, 1.00002]" and len(set(labels)) == 4
    neighbours = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert len(set(interval_labels(neighbours))) == 3


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda: mdl_cut_points([1, np.nan, np.inf], [0, 1, 1], 2, name="age"),
            InfiniteValue,
            ["age", 2],
        ),
        (lambda: width_cut_points([1, -np.inf], 2), InfiniteValue, ["values", "-inf", 1]),
        (lambda: mdl_cut_points([1, 2], [0, 2], 2), UnseenClass, ["codes", 2]),
        (lambda: mdl_cut_points([1, 2], [0, -1], 2), UnseenClass, ["codes", -1]),
        (lambda: mdl_cut_points([1, 2], [0], 2), DataError, [2, "(1,)"]),
        (lambda: mdl_cut_points([1, 2], [0.0, 1.0], 2), DataError, ["codes", "float64", "(2,)"]),
        (lambda: mdl_cut_points(["a", "b"], [0, 1], 2), DataError, ["values", "<U1", "(2,)"]),
        (lambda: mdl_cut_points([1, 2], [0, 1], 2, [1, -1]), WeightError, [1, -1.0]),
        (lambda: frequency_cut_points([1, 2], 0), SettingError, ["n_bins", 0]),
        (lambda: width_cut_points([1, 2], True), SettingError, ["n_bins", True]),
    ],
)
def test_what_is_refused(call, error, said):
    with refuses(error, *said):
        call()


def test_an_infinity_without_weight_is_absent():
    assert width_cut_points([0, 2, np.inf], 2, [1, 1, 0]).tolist() == [1.0]
