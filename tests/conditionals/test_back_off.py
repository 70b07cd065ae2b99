"""The constants of back-off: the loss by its definition, from families and from pairs alike."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._conditionals.back_off import (
    GRID,
    best_constant,
    choose_constants,
    choose_pair_constants,
    families_of_pairs,
    lay_tries,
    level_losses,
)
from bayeskit._conditionals.family_tries import estimate_families
from bayeskit._counting.count_families import count_families
from bayeskit._counting.count_tables import count_pairs
from bayeskit.extending import Chunk
from bayeskit.priors import BackOff, Laplace, Smoothing
from bayeskit.statistics import Schema, Variable


def schema_of(sizes, n_classes):
    attributes = (Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    return Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(codes, target, weights=None):
    codes = np.ascontiguousarray(codes, np.uint8)
    return Chunk(len(codes), codes, np.empty((len(codes), 0)), None, np.asarray(target, np.uint32), weights)


def named(families):
    return tuple(tuple(f"x{j}" for j in family) for family in families)


def slow_loss(sizes, n_classes, family, codes, target, weights, level, constants):
    """The definition of the loss of one family at one level, by dictionaries."""
    child, *parents = family
    counts = [defaultdict(float) for _ in range(level + 1)]
    for row, y, w in zip(codes, target, weights, strict=True):
        for depth in range(level + 1):
            shown = [*parents[:depth], child]
            if all(row[j] < sizes[j] for j in shown):
                counts[depth][tuple(row[j] for j in shown), y] += w
    margin = [sum(w for y, w in zip(target, weights, strict=True) if y == c) for c in range(n_classes)]

    def left(held, d):
        return held - d if held - d > 4e-15 * held else 0.0

    def of_context(depth, context, c, d):
        found = math.fsum(n for (cell, y), n in counts[depth].items() if cell[:-1] == context and y == c)
        return left(found, d) if d else found

    def p(depth, cell, c, d):
        if depth < 0:
            return 1.0 / sizes[child]
        below = p(depth - 1, (*cell[: max(depth - 1, 0)], cell[-1]), c, d)
        total = of_context(depth, cell[:-1], c, d)
        n = counts[depth].get((cell, c), 0.0)
        if total <= 0:
            return below
        return ((left(n, d) if d else n) + constants[depth] * below) / (total + constants[depth])

    loss = 0.0
    for (cell, y), n in counts[level].items():
        d = min(n, 1.0)
        scores = []
        for c in range(n_classes):
            own = d if c == y else 0.0
            prior = (margin[c] - own + 1 / n_classes) / (sum(margin) - d + 1)
            scores.append((of_context(level, cell[:-1], c, own) + prior) * p(level, cell, c, own))
        loss -= n * math.log(scores[y] / sum(scores)) if n else 0.0
    return loss


@st.composite
def cases(draw):
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    n_classes = draw(st.integers(1, 3))
    n = draw(st.integers(0, 12))
    codes = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    kind = draw(st.sampled_from([[1.0], [0.25, 1.0, 3.0]]))
    weights = [draw(st.sampled_from(kind)) for _ in range(n)]
    families = [draw(st.permutations(range(len(sizes)))) for _ in range(2)]
    return sizes, n_classes, families, codes, target, weights


def counted_of(sizes, n_classes, families, codes, target, weights=None):
    codes = np.asarray(codes, np.uint8).reshape(len(target), len(sizes))
    weights = None if weights is None else np.asarray(weights, float)
    return count_families(chunk_of(codes, target, weights), schema_of(sizes, n_classes), named(families))


def base_of(trie):
    return 1.0 / trie.sizes[trie.child]


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([(0.5, 2.0), (64.0, 0.25)]))
def test_losses_equal_the_slow_twin(case, below):
    sizes, n_classes, families, codes, target, weights = case
    counted = counted_of(*case)
    trie = lay_tries(counted, schema_of(sizes, n_classes))
    for level in range(len(sizes)):
        constants = np.array(below)[:level]
        found = level_losses(trie, base_of(trie), counted.margin, range(len(families)), level, constants)
        for c, loss in list(zip(GRID, found, strict=True))[::5]:
            slow = sum(
                slow_loss(sizes, n_classes, family, codes, target, weights, level, [*constants, c])
                for family in families
            )
            assert loss == pytest.approx(slow, rel=1e-10, abs=1e-10)


def test_a_page_of_arithmetic():
    # x = 0 twice in class 0, x = 1 once in class 1; c = 1. Taking one row of cell (0, 0) away:
    # P = (2 − 1 + 1/2)/3 = 1/2 for either class; p(0 | 0) = (1 + 1/2)/2 = 3/4, p(0 | 1) = (0 + 1/2)/2 = 1/4;
    # scores (1 + 1/2)·3/4 = 9/8 and (1 + 1/2)·1/4 = 3/8: posterior 3/4, twice.
    # Cell (1, 1): P(0) = (2 + 1/2)/3 = 5/6, P(1) = (1/2)/3 = 1/6; p(1 | 0) = (0 + 1/2)/3 = 1/6, and class 1 is
    # empty, so p(1 | 1) = 1/2; scores (2 + 5/6)/6 = 17/36 and (0 + 1/6)/2 = 1/12 = 3/36: posterior 3/20.
    counted = counted_of([2], 2, [(0,)], [[0], [0], [1]], [0, 0, 1])
    trie = lay_tries(counted, schema_of([2], 2))
    losses = level_losses(trie, base_of(trie), counted.margin, [0], 0, np.empty(0))
    assert losses[list(GRID).index(1.0)] == pytest.approx(-2 * math.log(3 / 4) - math.log(3 / 20), rel=1e-14)


def data_of(n, sizes, n_classes, seed=0, holes=0.0, strength=0.5):
    rng = np.random.default_rng(seed)
    target = rng.integers(0, n_classes, n)
    codes = np.column_stack(
        [np.where(rng.random(n) < strength, target % r, rng.integers(0, r, n)) for r in sizes]
    )
    return np.where(rng.random(codes.shape) < holes, sizes, codes), target


def test_constants_are_chosen_level_by_level():
    sizes = (4, 3, 5)
    codes, target = data_of(300, sizes, 3)
    counted = counted_of(sizes, 3, [(0,), (1, 0), (2, 1, 0)], codes, target)
    trie = lay_tries(counted, schema_of(sizes, 3))
    constants = choose_constants(trie, base_of(trie), counted.margin)
    assert len(constants) == 3
    for level in range(3):
        losses = level_losses(trie, base_of(trie), counted.margin, range(3), level, constants[:level])
        assert constants[level] == best_constant(losses, level)
        assert level == 0 or constants[level] == GRID[losses.argmin()]
    tries = estimate_families(counted, schema_of(sizes, 3), Smoothing(BackOff(), {}))
    np.testing.assert_array_equal(tries.constants, constants[[0, 0, 1, 0, 1, 2]])
    # Only the families that are asked for speak.
    losses = level_losses(trie, base_of(trie), counted.margin, [0], 0, np.empty(0))
    assert choose_constants(trie, base_of(trie), counted.margin, [0]).tolist() == [GRID[losses.argmin()]]
    plain = estimate_families(counted, schema_of(sizes, 3), Smoothing(Laplace(), {"x2": BackOff()}))
    alone = choose_constants(trie, base_of(trie), counted.margin, [2])
    np.testing.assert_array_equal(plain.constants, [0, 0, 0, *alone])


def test_noise_is_shrunk_and_signal_is_not():
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, 400)
    noise = counted_of([12], 2, [(0,)], rng.integers(0, 12, (400, 1)), target)
    signal = counted_of([12], 2, [(0,)], (6 * target + rng.integers(0, 6, 400))[:, None], target)
    schema = schema_of([12], 2)
    large, small = (
        choose_constants(lay_tries(c, schema), np.array([1 / 12]), c.margin)[0] for c in (noise, signal)
    )
    assert large == 16 and small <= 1  # the most that level 0 may have


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("missing", ["ignore", "state"])
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_pairs_and_families_agree_exactly(holes, missing, unseen):
    sizes, some = (4, 3, 5, 2), [(0, -1), (1, 0), (2, 0), (3, 2)]
    codes, target = data_of(300, sizes, 3, holes=holes)
    schema, chunk = schema_of(sizes, 3), chunk_of(codes, target, np.random.default_rng(0).random(300) + 0.5)
    names = tuple(f"x{j}" for j in range(4))
    pairs = count_pairs(chunk, schema, names)
    counted = count_families(chunk, schema, named([(x,) if u < 0 else (x, u) for x, u in some]))
    from_pairs = families_of_pairs(pairs, schema, some)
    for name, array in counted.arrays().items():
        np.testing.assert_array_equal(from_pairs.arrays()[name], array)
    tries = estimate_families(counted, schema, Smoothing(BackOff(), {}), missing=missing, unseen=unseen)
    constants = choose_pair_constants(pairs, schema, some, missing=missing, unseen=unseen)
    np.testing.assert_array_equal(tries.constants, constants[[0, 0, 1, 0, 1, 0, 1]])


def test_nothing_to_choose_from():
    counted = counted_of([2], 2, [], [[0]], [0])
    assert choose_constants(lay_tries(counted, schema_of([2], 2)), np.empty(0), counted.margin).size == 0
    # Without a row, or with one class, every constant is as good: the smallest.
    empty = counted_of([2, 2], 2, [(0, 1)], np.empty((0, 2)), [])
    one = counted_of([2, 2], 1, [(0, 1)], [[0, 1], [1, 1]], [0, 0])
    for counted, k in ((empty, 2), (one, 1)):
        trie = lay_tries(counted, schema_of([2, 2], k))
        assert choose_constants(trie, base_of(trie), counted.margin).tolist() == [0.25, 0.25]
