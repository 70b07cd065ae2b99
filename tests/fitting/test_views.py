"""Views: random cut points of numeric attributes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._fitting.views import ViewKind, coarse_kinds, draw_cuts, draw_views, kinds_of

VALUES = st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=60)


def drawn(values: list[float], kind: ViewKind, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    states, weight = np.unique(np.array(values) + 0.0, return_counts=True)
    return states, draw_cuts(states, weight, kind, np.random.default_rng(seed))


@given(VALUES, st.integers(2, 8), st.integers(0, 8), st.booleans(), st.integers(0, 9))
def test_cuts_ascend_lie_between_values_and_are_not_too_many(
    values: list[float], least: int, more: int, atoms: bool, seed: int
) -> None:
    states, cuts = drawn(values, ViewKind(least, least + more, atoms), seed)
    assert np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()
    places = np.searchsorted(states, cuts, side="left")
    # Each cut parts two values: some lie at or below it, others above.
    assert ((states[0] <= cuts) & (cuts < states[-1])).all()
    intervals = np.searchsorted(cuts, states, side="left")
    assert len(np.unique(intervals)) == len(cuts) + 1, "an interval is empty"
    assert len(places) <= 2 * (least + more)


def test_a_frequent_value_has_an_interval_to_itself() -> None:
    values = [0.0] * 500 + list(np.linspace(-1, 1, 500))
    states, cuts = drawn(values, ViewKind(8, 12, True))
    alone = np.searchsorted(cuts, 0.0, side="left")
    inside = states[np.searchsorted(cuts, states, side="left") == alone]
    assert inside.tolist() == [0.0]


def test_few_values_have_an_interval_each() -> None:
    _, cuts = drawn([1.0, 2.0, 2.0, 5.0], ViewKind(4, 4, True))
    assert cuts.tolist() == [1.5, 3.5]


def test_cuts_are_near_quantiles() -> None:
    rng = np.random.default_rng(1)
    states, weight = np.unique(rng.random(20_000), return_counts=True)
    places = np.mean([draw_cuts(states, weight, ViewKind(4, 4, False), rng) for _ in range(400)], axis=0)
    np.testing.assert_allclose(places, [0.25, 0.5, 0.75], atol=0.02)


@pytest.mark.parametrize("n", [10, 2_000, 100_000])
def test_views_depend_on_values_alone(n: int) -> None:
    values = np.random.default_rng(0).normal(size=200)
    values[:20] = np.nan
    weights = np.ones(200)
    one = draw_views({"a": values, "b": values**3}, weights, kinds_of(n, 4), (3,))
    order = np.random.default_rng(1).permutation(200)
    other = draw_views({"q": (values**3)[order], "a": values[order]}, weights, kinds_of(n, 4), (3,))
    assert [view["a"] for view in one.cuts] == [view["a"] for view in other.cuts]
    assert [view["b"] for view in one.cuts] == [view["q"] for view in other.cuts]
    assert len(one) == 4 and len({view["a"] for view in one.cuts}) == 4
    assert draw_views({"a": values}, weights, kinds_of(n, 4), (4,)).cuts[0] != one.cuts[0]


def test_a_weight_of_two_is_the_row_twice() -> None:
    values = np.random.default_rng(0).normal(size=50)
    weights = np.arange(50) % 3 + 1.0
    kinds = coarse_kinds(100, 3)
    twice = draw_views(
        {"a": np.repeat(values, weights.astype(int))}, np.ones(int(weights.sum())), kinds, (0,)
    )
    assert draw_views({"a": values}, weights, kinds, (0,)) == twice


def test_infinite_values_have_finite_cuts() -> None:
    states, cuts = drawn([-np.inf, 0.0, np.inf, np.inf], ViewKind(3, 3, True))
    assert np.isfinite(cuts).all()
    assert np.searchsorted(cuts, states, side="left").tolist() == [0, 1, 2]
