"""The tree of TAN: no spanning tree is heavier, ties go by column order, a penalty leaves a forest."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import TAN
from bayeskit._counting.backend import count
from bayeskit._statistics.information import pair_information
from bayeskit._structure.learners import learn, tree
from bayeskit.extending import Chunk
from bayeskit.statistics import Plan, Schema, Variable, conditional_mutual_information


def counted(codes, target, sizes=None, n_classes=None, weights=None):
    codes = np.asarray(codes)
    sizes = [int(r) for r in codes.max(axis=0) + 1] if sizes is None else sizes
    k = int(max(target)) + 1 if n_classes is None else n_classes
    attributes = tuple(Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    schema = Schema(attributes, Variable("y", "categorical", tuple(range(k))))
    chunk = Chunk(
        len(codes),
        np.ascontiguousarray(codes, np.uint8),
        np.empty((len(codes), 0)),
        target=np.asarray(target, np.uint32),
        weights=weights,
    )
    return count(chunk, schema, Plan.pairs(schema))


def found(statistics, **how):
    dag = learn(tree(statistics.schema, **how), lambda plan: statistics)
    return {
        int(child[1:]): int(parents[0][1:]) if parents else None
        for child, parents in dag.as_mapping().items()
    }


def edges(parents):
    return {frozenset(pair) for pair in parents.items() if pair[1] is not None}


def weights_of(statistics):
    pairs = statistics.parts["pairs"]
    d = len(statistics.schema.categorical)
    return {
        frozenset(pair): float(conditional_mutual_information(pairs.table(*pair)))
        for pair in itertools.combinations(range(d), 2)
    }


def is_forest(chosen, d):
    island = list(range(d))
    for i, j in map(sorted, chosen):
        if island[i] == island[j]:
            return False
        island = [island[i] if place == island[j] else place for place in island]
    return True


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 5), k=st.integers(1, 3), holes=st.booleans())
def test_no_spanning_tree_is_heavier(seed, d, k, holes):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, d).tolist()
    codes = np.stack([rng.integers(0, r + holes, 25) for r in sizes], axis=1)
    statistics = counted(codes, rng.integers(0, k, 25), sizes, k)
    weights = weights_of(statistics)
    heaviest = max(
        sum(weights[edge] for edge in chosen)
        for chosen in itertools.combinations(weights, d - 1)
        if is_forest(chosen, d)
    )
    parents = found(statistics)
    assert len(edges(parents)) == d - 1
    assert is_forest(edges(parents), d)
    assert sum(weights[edge] for edge in edges(parents)) == pytest.approx(heaviest, abs=1e-11)


def test_equal_edges_are_taken_in_column_order():
    """Five copies of one attribute: every pair is as good as any other, so all hang on the first."""
    column = np.random.default_rng(0).integers(0, 2, 40)
    statistics = counted(np.stack([column] * 5, axis=1), np.arange(40) % 2)
    assert found(statistics) == {0: None, 1: 0, 2: 0, 3: 0, 4: 0}


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1 / 3, 7.0, 1e6])
def test_ties_are_ties_whatever_the_rows_weigh(scale):
    """The same sums in other orders differ in the last digit; that must not choose the tree."""
    rng = np.random.default_rng(1)
    half = rng.integers(0, 3, (60, 2))
    codes = np.stack([half[:, 0], half[:, 1], half[:, 0], half[:, 1]], axis=1)
    y = rng.integers(0, 3, 60)
    plain = found(counted(codes, y))
    assert plain == {0: None, 1: 0, 2: 0, 3: 1}
    assert found(counted(codes, y, weights=np.full(60, scale))) == plain
    order = rng.permutation(60)
    assert found(counted(codes[order], y[order])) == plain


@pytest.mark.parametrize("seed", range(40, 56))
def test_other_codes_of_the_same_states_tie(seed):
    """Columns 2 and 3 are 0 and 1 with their states renamed: sums in other orders, which the last digit shows."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, (2, 200))
    y, first, second = rng.integers(0, 3, 200), rng.permutation(5), rng.permutation(5)
    statistics = counted(np.stack([a, b, first[a], second[b]], axis=1), y)
    assert found(statistics) == {0: None, 1: 0, 2: 0, 3: 1}


ROWS = np.array(
    [[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 0]]
)
LABELS = np.array([0, 1, 0, 1, 0, 1, 1])


@pytest.mark.parametrize("root", [None, "x0", "x1", "x2", "x3"])
def test_arcs_lead_away_from_the_root(root):
    statistics = counted(ROWS, LABELS)
    parents = found(statistics, root=root)
    assert edges(parents) == edges(found(statistics))
    assert [child for child, parent in parents.items() if parent is None] == [int((root or "x0")[1:])]


@pytest.mark.parametrize("penalty", ["aic", "bic"])
def test_a_penalty_keeps_the_arcs_that_are_worth_their_parameters(penalty):
    rng = np.random.default_rng(5)
    n = 400
    a, noise = rng.integers(0, 2, n), rng.integers(0, 3, (n, 2))
    b = np.where(rng.random(n) < 0.15, 1 - a, a)
    codes, y = np.stack([noise[:, 0], a, noise[:, 1], b], axis=1), rng.integers(0, 2, n)
    statistics = counted(codes, y)
    assert edges(found(statistics, criterion=penalty)) == {frozenset((1, 3))}
    assert found(statistics, criterion=penalty)[3] == 1  # from the first attribute of that tree
    assert found(statistics, criterion=penalty, root="x3")[1] == 3
    assert len(edges(found(statistics))) == 3


@pytest.mark.parametrize("penalty", ["aic", "bic"])
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 4))
def test_forests_are_the_heaviest_of_what_is_worth_it(penalty, seed, d):
    """N·I less K(r − 1)(r − 1) parameters of 1 or ½ log N each: the best sum over all forests."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, d).tolist()
    codes = np.stack([rng.integers(0, r + 1, 40) for r in sizes], axis=1)
    codes[:, 0] = np.minimum(codes[:, -1], sizes[0])
    statistics = counted(codes, rng.integers(0, 2, 40), sizes, 2)
    worth = {}
    for edge, information in weights_of(statistics).items():
        i, j = sorted(edge)
        rows = int(((codes[:, i] < sizes[i]) & (codes[:, j] < sizes[j])).sum())
        each = 1.0 if penalty == "aic" else 0.5 * math.log(max(rows, 1))
        worth[edge] = rows * information - each * 2 * (sizes[i] - 1) * (sizes[j] - 1)
    best = max(
        sum(worth[edge] for edge in chosen)
        for size in range(d)
        for chosen in itertools.combinations(worth, size)
        if is_forest(chosen, d)
    )
    chosen = edges(found(statistics, criterion=penalty))
    assert is_forest(chosen, d)
    assert sum(worth[edge] for edge in chosen) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("penalty", ["aic", "bic"])
def test_a_single_state_is_worth_no_arc(penalty):
    """Its arcs have no parameters to pay for, and an information that is rounding alone."""
    rng = np.random.default_rng(2)
    codes = np.stack([rng.random(900) < 0.1, *rng.integers(0, 7, (6, 900))], axis=1).astype(int)
    statistics = counted(codes, rng.integers(0, 3, 900), [1] + [7] * 6)
    assert pair_information(statistics.parts["pairs"])[0].any()  # by rounding
    assert not edges(found(statistics, criterion=penalty))


def test_a_large_table_is_ordered_by_all_of_its_digits():
    """With a million rows the worth of arcs is large; the heavier is still the first."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 2_000)
    codes = np.stack(
        [a, np.where(rng.random(2_000) < 0.1, 1 - a, a), np.where(rng.random(2_000) < 0.2, 1 - a, a)], 1
    )
    statistics = counted(codes, rng.integers(0, 2, 2_000), weights=np.full(2_000, 1e6))
    assert edges(found(statistics, criterion="bic")) == {frozenset((0, 1)), frozenset((0, 2))}


# -- what the root does to the answers -------------------------------------------------------------


def posteriors(smoothing):
    answers = []
    for root in ("a", "b", "c", "d"):
        frame = {name: ROWS[:, j].astype(str) for j, name in enumerate("abcd")}
        model = TAN(root=root, smoothing=smoothing).fit(frame, LABELS)
        answers.append(model.predict_proba(frame))
    return answers


def test_under_maximum_likelihood_the_root_does_not_matter():
    """P(x) is a product over edges of n(x_i, x_j)/(n(x_i) n(x_j)), whichever way they point."""
    first, *others = posteriors("mle")
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-12)


def test_under_smoothing_it_does():
    first, *others = posteriors("laplace")
    assert max(np.abs(other - first).max() for other in others) > 1e-3
