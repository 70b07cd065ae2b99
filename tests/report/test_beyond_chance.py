"""Information less chance: by the mean over all shuffles, and on a column of many values that knows nothing."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from bayeskit import NaiveBayes
from bayeskit._report.information_table import chance_information, information_beyond_chance


def told(x, y):
    """I(X; Y) by its definition."""
    table = np.array([[np.mean((x == a) & (y == b)) for b in np.unique(y)] for a in np.unique(x)])
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    return (table[table > 0] * np.log((table / apart)[table > 0])).sum()


@pytest.mark.parametrize(("x", "y"), [("aabbcc", "uuvvvv"), ("abcdef", "uuuvvw"), ("aaaaab", "uvvvvv")])
def test_chance_is_the_mean_over_all_shuffles(x, y):
    x, y = np.array(list(x)), np.array(list(y))
    mean = np.mean([told(x, y[list(order)]) for order in permutations(range(len(y)))])
    counts = np.array(
        [[np.sum((x == a) & (y == b)) for b in np.unique(y)] for a in np.unique(x)], dtype=float
    )
    assert chance_information(counts) == pytest.approx(mean, rel=1e-10)


def test_where_cells_are_full_it_is_half_a_degree_of_freedom():
    counts = np.full((4, 3), 1000.0)
    assert chance_information(counts) == pytest.approx(3 * 2 / (2 * counts.sum()), rel=1e-3)


def test_many_values_alone_tell_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    rows = {
        "zip": [f"z{i}" for i in rng.integers(0, 800, 2000)],
        "hint": np.where(rng.random(2000) < 0.7, y, 1 - y).astype(str).tolist(),
        "noise": rng.normal(size=2000),
    }
    model = NaiveBayes().fit({**rows, "y": y}, target="y")
    table = {row.name: row for row in information_beyond_chance(model).rows}
    assert next(iter(table)) == "hint"
    assert table["hint"].information == pytest.approx(
        np.log(2) + 0.7 * np.log(0.7) + 0.3 * np.log(0.3), abs=0.02
    )
    assert table["hint"].share == pytest.approx(table["hint"].information / np.log(2), rel=1e-2)
    assert table["zip"].information < 0.01 and table["noise"].information < 0.003
