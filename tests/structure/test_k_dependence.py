"""The structure of kDB: attributes by what they tell of the class, the k closest before each as parents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._structure.learners import k_dependence, learn
from bayeskit.statistics import class_information, conditional_mutual_information
from test_tree import counted


def found(statistics, k):
    dag = learn(k_dependence(statistics.schema, k), lambda plan: statistics)
    return dag.nodes, dag.as_mapping()


def slow(statistics, k):
    """Sahami's procedure, with informations compared to twelve digits."""
    pairs = statistics.parts["pairs"]
    names = [v.name for v in statistics.schema.categorical]
    told = np.round(class_information(pairs.tables.counts, pairs.offsets), 12)
    order = sorted(range(len(names)), key=lambda j: (-told[j], j))
    structure = {}
    for rank, j in enumerate(order):
        shared = {
            i: round(float(conditional_mutual_information(pairs.table(*sorted((i, j))))), 12)
            for i in order[:rank]
        }
        structure[names[j]] = tuple(names[i] for i in sorted(shared, key=lambda i: (-shared[i], i))[:k])
    return tuple(names[j] for j in order), structure


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 6), k=st.integers(0, 4))
def test_equal_to_the_procedure(seed, d, k):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, d).tolist()
    codes = np.stack([rng.integers(0, r + 1, 40) for r in sizes], axis=1)
    statistics = counted(codes, rng.integers(0, 3, 40), sizes, 3)
    assert found(statistics, k) == slow(statistics, k)


def test_equals_are_taken_in_column_order():
    column = np.arange(40) // 2 % 2
    statistics = counted(np.stack([column] * 4, axis=1), np.arange(40) % 2)
    nodes, structure = found(statistics, 2)
    assert nodes == ("x0", "x1", "x2", "x3")
    assert structure == {"x0": (), "x1": ("x0",), "x2": ("x0", "x1"), "x3": ("x0", "x1")}


def test_the_closest_parent_comes_first():
    """x0 tells the class, x1 a little less; x2 is a noisy copy of x1."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    flipped = rng.random((3, 600))
    x0, x1 = np.where(flipped[0] < 0.1, 1 - y, y), np.where(flipped[1] < 0.25, 1 - y, y)
    x2 = np.where(flipped[2] < 0.1, 1 - x1, x1)
    statistics = counted(np.stack([x2, x1, x0], axis=1), y)  # the columns the other way round
    nodes, structure = found(statistics, 5)
    assert nodes == ("x2", "x1", "x0")
    assert structure["x0"] == ("x1", "x2")


@pytest.mark.parametrize("k", [0, 1, 7])
def test_never_more_parents_than_k_nor_than_there_are(k):
    codes = np.random.default_rng(2).integers(0, 3, (50, 5))
    nodes, structure = found(counted(codes, np.arange(50) % 3), k)
    assert [len(structure[name]) for name in nodes] == [min(k, rank) for rank in range(5)]
    for rank, name in enumerate(nodes):
        assert set(structure[name]) <= set(nodes[:rank])
