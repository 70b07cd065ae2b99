"""Entropy and mutual information from counts, against scikit-learn, SciPy, brute force and the textbook."""

from __future__ import annotations

import itertools
import math
import warnings
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import stats
from scipy.integrate import quad
from sklearn.metrics import mutual_info_score

from bayeskit._counting.count_tables import count_pairs
from bayeskit._data.encode import encode
from bayeskit._data.table import open_table
from bayeskit._statistics import information
from bayeskit._statistics.information import mixture_information
from bayeskit.datasets import load_dataset
from bayeskit.extending import Chunk
from bayeskit.statistics import (
    Schema,
    Variable,
    class_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    pair_information,
)

tables = npst.arrays(
    np.float64,
    npst.array_shapes(min_dims=3, max_dims=3, max_side=4),
    elements=st.sampled_from([0, 0, 1, 2, 7.5]),
)


def brute(n):
    """I(X; Y | Z) by its definition, one cell at a time."""
    total = n.sum()
    return math.fsum(
        n[x, y, z] / total * math.log(n[x, y, z] * n[:, :, z].sum() / (n[x, :, z].sum() * n[:, y, z].sum()))
        for x, y, z in itertools.product(*map(range, n.shape))
        if n[x, y, z] > 0
    )


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@settings(max_examples=100, deadline=None)
@given(tables)
def test_measures_equal_their_definitions(n):
    assert conditional_mutual_information(n) == pytest.approx(brute(n), abs=1e-13)
    flat = n.sum(axis=2)
    assert mutual_information(flat) == pytest.approx(brute(flat[:, :, None]), abs=1e-13)
    wanted = stats.entropy(n.ravel()) if n.any() else 0.0
    assert entropy(n) == pytest.approx(wanted, abs=1e-13)
    for axis in (0, 1, 2, (0, 2)):
        shares = np.moveaxis(n, axis, tuple(range(np.size(axis)))).reshape(-1, *entropy(n, axis=axis).shape)
        sums = shares.sum(axis=0)
        got = entropy(n, axis=axis)
        assert (got[sums == 0] == 0).all()
        np.testing.assert_allclose(got[sums > 0], stats.entropy(shares[:, sums > 0], axis=0), atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_the_chain_rule_and_many_tables_at_once(n):
    # I(X; Y | Z) = H(X, Z) + H(Y, Z) − H(X, Y, Z) − H(Z), and it is symmetric in X and Y.
    got = conditional_mutual_information(n)
    rule = entropy(n.sum(axis=1)) + entropy(n.sum(axis=0)) - entropy(n) - entropy(n.sum(axis=(0, 1)))
    assert got == pytest.approx(rule, abs=1e-13)
    assert got == pytest.approx(conditional_mutual_information(n.swapaxes(0, 1)), abs=1e-13)
    assert got >= 0.0
    both = conditional_mutual_information(np.stack([n, 3 * n]))
    np.testing.assert_allclose(both, [got, got], atol=1e-13)


def test_mutual_information_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 300), rng.integers(0, 3, 300)
    n = np.zeros((5, 3))
    np.add.at(n, (x, y), 1)
    assert mutual_information(n) == pytest.approx(mutual_info_score(x, y), rel=1e-10)
    independent = np.outer([1.0, 2.0, 3.0], [5.0, 7.0])
    assert mutual_information(independent) == pytest.approx(0.0, abs=1e-14)


def pairs_of(codes, target, sizes, n_classes):
    attributes = (Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    schema = Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))
    codes = np.ascontiguousarray(codes, dtype=np.uint8)
    chunk = Chunk(len(codes), codes, np.empty((len(codes), 0)), target=np.asarray(target, np.uint32))
    return count_pairs(chunk, schema, ())


@pytest.mark.parametrize("cells", [1, 2**18])
@pytest.mark.parametrize("missing", [False, True])
def test_all_pairs_at_once_are_the_pairs_one_by_one(missing, cells):
    rng = np.random.default_rng(1)
    sizes, n, k = (2, 4, 0, 3, 1, 5), 400, 3
    target = rng.integers(0, k, n)
    codes = np.column_stack(
        [np.minimum(rng.integers(0, r + 1, n), r - (not missing) * (r > 0)) for r in sizes]
    )
    codes[:, 3] = (codes[:, 1] + target) % 3  # something to find
    pairs = pairs_of(codes, target, sizes, k)
    with mock.patch.object(information, "_CELLS", cells):
        got = pair_information(pairs)
    np.testing.assert_array_equal(got, got.T)
    for i, j in itertools.combinations(range(len(sizes)), 2):
        both = (codes[:, i] < sizes[i]) & (codes[:, j] < sizes[j])
        # I(X; Y | Z) is the mean over the classes of I(X; Y) in each, by the rows where both are present.
        wanted = sum(
            mine.mean() * mutual_info_score(codes[both][mine, i], codes[both][mine, j])
            for c in range(k)
            for mine in [target[both] == c]
            if mine.any()
        )
        assert got[i, j] == pytest.approx(wanted, abs=1e-12)
        assert got[i, j] == pytest.approx(conditional_mutual_information(pairs.table(i, j)), abs=1e-12)
    singles = class_information(pairs.tables.counts, pairs.offsets)
    for i, size in enumerate(sizes):
        there = codes[:, i] < size
        wanted = mutual_info_score(codes[there, i], target[there]) if there.any() else 0.0
        assert singles[i] == pytest.approx(wanted, abs=1e-12)
        by_class = [(there & (target == c)) for c in range(k)]
        rest = sum(
            m.sum() / max(there.sum(), 1) * stats.entropy(np.bincount(codes[m, i]))
            for m in by_class
            if m.any()
        )
        assert got[i, i] == pytest.approx(rest, abs=1e-12)


def test_nothing_counted_is_no_information():
    pairs = pairs_of(np.empty((0, 2)), [], (2, 3), 2)
    assert not pair_information(pairs).any()
    assert not class_information(pairs.tables.counts, pairs.offsets).any()
    assert entropy([0, 0]) == 0.0
    assert pair_information(pairs_of(np.empty((2, 0)), [0, 1], (), 2)).shape == (0, 0)
    assert class_information(np.empty((0, 2)), np.array([0])).shape == (0,)


# Zhou, Machine Learning (2016), table 4.1; the six largest I(x_i; x_j | y) behind the tree of TAN.
MELON = {
    ("根蒂", "脐部"): 0.597535,
    ("纹理", "脐部"): 0.381968,
    ("根蒂", "敲声"): 0.352894,
    ("纹理", "触感"): 0.320409,
    ("根蒂", "纹理"): 0.300421,
    ("色泽", "纹理"): 0.280433,
}
# The same book, section 4.2.1: the gain of the attributes of that table, in bits, from entropies to 3 places.
GAIN = {"色泽": 0.109, "根蒂": 0.143, "敲声": 0.141, "纹理": 0.381, "脐部": 0.289, "触感": 0.006}


def test_the_watermelons():
    melon = load_dataset("melon2")
    schema = Schema(
        tuple(Variable(name, "categorical") for name in melon.attributes), Variable("y", "categorical")
    )
    columns = {name: melon.columns[name] for name in melon.attributes}
    encoded = encode(open_table(columns), schema, "grow", y=melon.y, weights=None, with_target=True)
    pairs = count_pairs(encoded.chunk(0, len(melon)), encoded.schema, melon.attributes)
    got, place = pair_information(pairs), {name: j for j, name in enumerate(melon.attributes)}
    for (first, second), wanted in MELON.items():
        assert got[place[first], place[second]] == pytest.approx(wanted, abs=5e-7)
    upper = np.sort(got[np.triu_indices(len(got), 1)])[::-1]
    np.testing.assert_allclose(upper[: len(MELON)], sorted(MELON.values(), reverse=True), atol=5e-7)
    gain = class_information(pairs.tables.counts, pairs.offsets) / math.log(2)
    for name, wanted in GAIN.items():
        assert gain[place[name]] == pytest.approx(wanted, abs=1e-3)


def integrated_information(weight, mean, deviation):
    """I(X; Y) = H(Y) − ∫ p(x) H(Y | x) dx by adaptive quadrature between the places where it bends."""
    share, mean, deviation = np.array(weight, float) / sum(weight), np.array(mean), np.array(deviation)

    def left(x):
        joint = share / deviation * np.exp(-0.5 * ((x - mean) / deviation) ** 2) / math.sqrt(2 * math.pi)
        posterior = joint[joint > 0] / max(joint.sum(), 1e-300)
        return -joint.sum() * float((posterior * np.log(posterior)).sum())

    bends = sorted({float(b) for k in (-12, -6, -2, 0, 2, 6, 12) for b in mean + k * deviation})
    rest = math.fsum(quad(left, a, b, limit=200)[0] for a, b in pairwise(bends))
    return -float((share * np.log(share)).sum()) - rest


@given(
    st.lists(
        st.tuples(st.integers(1, 99), st.floats(-20, 20), st.floats(-3, 0.5).map(lambda e: 10.0**e)),
        min_size=2,
        max_size=5,
    )
)
@settings(max_examples=25, deadline=None)
def test_information_of_normal_classes_is_the_integral(components):
    weight, mean, deviation = zip(*components, strict=True)
    found = mixture_information(weight, mean, deviation)
    assert found == pytest.approx(integrated_information(weight, mean, deviation), abs=5e-4)
    # An empty class changes nothing; a unit changes nothing.
    more = mixture_information((*weight, 0), (*mean, 3.0), (*deviation, 1.0))
    moved = mixture_information(weight, np.multiply(mean, 1e6) - 7.0, np.multiply(deviation, 1e6))
    assert more == found and moved == pytest.approx(found, abs=1e-6)


def test_one_class_or_none_has_no_information():
    assert mixture_information([5, 0], [1.0, 2.0], [1.0, 1.0]) == 0.0
    assert mixture_information([4, 6], [1.0, 1.0], [2.0, 2.0]) == pytest.approx(0.0, abs=1e-12)
