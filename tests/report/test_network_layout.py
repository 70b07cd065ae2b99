"""Layouts: arcs lead onward, boxes do not touch, arcs pass between boxes, and nothing is left to chance."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from bayeskit._graphs.dag import Dag
from bayeskit._report.drawing.graph_layout import components, lay_out, on_shelves
from bayeskit._report.drawing.layers import (
    MOST_BENDS,
    in_layers,
    layer_of,
    n_crossings,
    nondecreasing,
    uncrossed,
)
from work import check_growth, steps


@st.composite
def dags(draw, most=14):
    n = draw(st.integers(0, most))
    order = draw(st.permutations(range(n)))
    pairs = [(order[i], order[j]) for i in range(n) for j in range(i + 1, n)]
    kept = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * n)) if pairs else []
    parents = {k: [a for a, b in kept if b == k] for k in range(n)}
    return Dag.of(parents, range(n))


def sizes_for(dag):
    """Boxes of very different sizes, the same for the same node."""
    return [(30.0 + 37 * (k % 5), 20.0 + 31 * (k % 4)) for k in range(len(dag.nodes))]


def points_on(route, downwards):
    """Sample the route as it is drawn: straight from the even points, in a bow from the odd ones."""
    found = []
    for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(route)):
        for t in np.linspace(0, 1, 13):
            if i % 2 == 0:
                found.append((x0 + t * (x1 - x0), y0 + t * (y1 - y0)))
                continue
            a = 3 * t**2 - 2 * t**3  # the side of a Bézier curve whose handles keep the sides of its ends
            b = 1.5 * t - 1.5 * t**2 + t**3  # and its way onward, the handles half way
            across, along = (a, b) if downwards else (b, a)
            found.append((x0 + across * (x1 - x0), y0 + along * (y1 - y0)))
    return found


def check(dag, direction="down"):
    sizes = sizes_for(dag)
    layout = lay_out(dag, sizes, direction)
    assert layout == lay_out(dag, sizes, direction)
    assert [(b.width, b.height) for b in layout.boxes] == sizes
    for box in layout.boxes:
        assert box.x >= -1e-6 and box.x + box.width <= layout.width + 1e-6
        assert box.y >= -1e-6 and box.y + box.height <= layout.height + 1e-6
    for a, b in combinations(layout.boxes, 2):
        beside = a.x + a.width + 10 <= b.x or b.x + b.width + 10 <= a.x
        assert beside or a.y + a.height + 10 <= b.y or b.y + b.height + 10 <= a.y
    for (parent, child), route in zip(dag.arcs, layout.routes, strict=True):
        p, c = layout.boxes[dag.position[parent]], layout.boxes[dag.position[child]]
        (x0, y0), (x1, y1) = route[0], route[-1]
        if direction == "down":
            assert c.y >= p.y + p.height + 20
            assert y0 == pytest.approx(p.y + p.height) and p.x < x0 < p.x + p.width
            assert y1 == pytest.approx(c.y) and c.x < x1 < c.x + c.width
        else:
            assert c.x >= p.x + p.width + 20
            assert x0 == pytest.approx(p.x + p.width) and p.y < y0 < p.y + p.height
            assert x1 == pytest.approx(c.x) and c.y < y1 < c.y + c.height
        for x, y in points_on(route, direction == "down"):
            assert -1e-6 <= x <= layout.width + 1e-6 and -1e-6 <= y <= layout.height + 1e-6
            for box in layout.boxes:
                dx, dy = (
                    (-1, 0.5) if direction == "down" else (0.5, -1)
                )  # it may touch its own box, at the end
                inside = box.x + dx < x < box.x + box.width - dx and box.y + dy < y < box.y + box.height - dy
                assert not inside, (parent, child, box)
    return layout


@settings(max_examples=60, deadline=None)
@given(dags(), st.sampled_from(["down", "right"]))
def test_any_graph(dag, direction):
    check(dag, direction)


def test_nothing_one_node_and_nodes_without_arcs():
    empty = check(Dag((), ()))
    assert (empty.width, empty.height, empty.boxes, empty.routes) == (0.0, 0.0, (), ())
    assert check(Dag.of({}, ["a"])).width == 30.0
    many = check(Dag.of({}, range(40)))
    assert 0.5 < many.width / many.height < 4  # on shelves, not in one long row


def test_parts_stand_side_by_side():
    layout = lay_out(Dag.of({"b": ["a"], "d": ["c"]}, "abcd"), [(40, 20)] * 4)
    tops = [box.y for box in layout.boxes]
    assert tops[0] == tops[2] and tops[1] == tops[3]


def test_a_parent_stands_above_the_middle_of_its_children():
    layout = lay_out(Dag.of({"b": ["a"], "c": ["a"]}, "abc"), [(40, 20)] * 3)
    a, b, c = (box.x + box.width / 2 for box in layout.boxes)
    assert a == pytest.approx((b + c) / 2, abs=0.2)


def test_right_is_down_turned():
    dag = Dag.of({"b": ["a"], "c": ["a", "b"]}, "abc")
    down = lay_out(dag, [(40, 20)] * 3)
    assert lay_out(dag, [(20, 40)] * 3, "right").turned() == down


@settings(max_examples=60, deadline=None)
@given(dags(most=12))
def test_layers_are_never_longer_than_by_longest_paths(dag):
    arcs = [(dag.position[a], dag.position[b]) for a, b in dag.arcs]
    layer = layer_of(len(dag.nodes), arcs)
    assert all(layer[b] > layer[a] for a, b in arcs)
    assert sorted(set(layer)) == list(range(len(set(layer))))
    deep = [0] * len(dag.nodes)
    for _ in dag.nodes:
        for a, b in arcs:
            deep[b] = max(deep[b], deep[a] + 1)
    assert sum(layer[b] - layer[a] for a, b in arcs) <= sum(deep[b] - deep[a] for a, b in arcs)


def test_layers_are_near_the_shortest():
    """Against the linear programme that has the least sum of lengths, over 60 random graphs."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    ours = least = 0
    for _ in range(60):
        n = 12
        arcs = [(i, j) for j in range(n) for i in range(j) if rng.random() < 0.2]
        if not arcs:
            continue
        rows = np.zeros((len(arcs), n))
        for k, (a, b) in enumerate(arcs):
            rows[k, a], rows[k, b] = 1, -1
        found = linprog(-rows.sum(axis=0), A_ub=rows, b_ub=-np.ones(len(arcs)), bounds=(0, n))
        layer = layer_of(n, arcs)
        length = sum(layer[b] - layer[a] for a, b in arcs)
        assert length >= found.fun - 1e-6
        ours, least = ours + length, least + found.fun
    assert ours <= 1.03 * least


@settings(max_examples=60, deadline=None)
@given(dags())
def test_crossings_are_counted_and_never_made_more(dag):
    layers = in_layers(len(dag.nodes), [(dag.position[a], dag.position[b]) for a, b in dag.arcs])
    rows = uncrossed(layers)
    assert [sorted(row) for row in rows] == [sorted(row) for row in layers.rows]
    counts = []
    for each in (layers.rows, rows):
        place = {v: i for row in each for i, v in enumerate(row)}
        slow = 0
        for row in each[:-1]:
            arcs = [(place[u], place[v]) for u in row for v in layers.below[u]]
            slow += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(arcs, 2))
        assert n_crossings(each, layers.below) == slow
        counts.append(slow)
    assert counts[1] <= counts[0]


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_has_no_crossing(seed):
    rng = np.random.default_rng(seed)
    arcs = [(int(rng.integers(0, k)), k) for k in range(1, 60)]
    layers = in_layers(60, arcs)
    assert n_crossings(uncrossed(layers), layers.below) == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.1, 9)), min_size=1, max_size=30))
def test_places_are_least_squares(pairs):
    goals, weights = [g for g, _ in pairs], [w for _, w in pairs]
    other = IsotonicRegression().fit_transform(np.arange(len(goals)), goals, sample_weight=weights)
    np.testing.assert_allclose(nondecreasing(goals, weights), other, atol=1e-9)


def test_a_chain_of_ten_thousand():
    def laying(n):
        dag = Dag.of({k: [k - 1] for k in range(1, n)}, range(n))
        return lambda: lay_out(dag, [(60, 20)] * n)

    check_growth(laying, 250)
    layout = laying(10_000)()
    assert len({box.x for box in layout.boxes}) == 1
    assert all(b.y > a.y for a, b in pairwise(layout.boxes))


def test_a_graph_of_more_bends_than_are_drawn():
    n = 70  # all arcs: 54,740 bends
    dag = Dag.of({k: range(k) for k in range(n)}, range(n))
    layers = in_layers(n, list(dag.arcs))
    assert len(layers.above) - n <= MOST_BENDS
    layout = lay_out(dag, [(30, 20)] * n)
    assert all(layout.boxes[b].y > layout.boxes[a].y for a, b in dag.arcs)
    assert all(len(route) >= 4 for route in layout.routes)


def test_many_nodes_side_by_side_take_turns_in_several_layers():
    """One parent of 150 children was 17,000 pixels wide."""
    n = 151
    dag = Dag.of({k: [0] for k in range(1, n)}, range(n))
    for direction in ("down", "right"):
        layout = lay_out(dag, [(90, 40)] * n, direction)
        assert max(layout.width, layout.height) < 5000
        corners = [(box.x, box.y) for box in layout.boxes]
        for (x, y), (u, v) in combinations(corners, 2):
            assert abs(x - u) >= 90 or abs(y - v) >= 40
    assert lay_out(Dag.of({k: [0] for k in range(1, 15)}, range(15)), [(90, 40)] * 15).height < 250


def test_four_hundred_nodes_take_little_work():
    """As large as the network of the pigs: 441 nodes, 592 arcs."""

    def pigs(n):
        rng = np.random.default_rng(0)
        parents = {k: [int(p) for p in rng.choice(k, 2, replace=False)] for k in range(n // 3 - 2, n)}
        return Dag.of(parents, range(n))

    # 44,000 steps a node were counted.
    assert steps(lambda: lay_out(pigs(110), [(90, 60)] * 110)) < 110 * 100_000
    layout = lay_out(pigs(441), [(90, 60)] * 441)
    for row in {round(box.y): None for box in layout.boxes}:
        beside = sorted(box.x for box in layout.boxes if round(box.y) == row)
        assert all(b - a >= 90 + 20 for a, b in pairwise(beside))


def test_shelves_hold_what_is_put_on_them():
    rng = np.random.default_rng(1)
    sizes = [(float(w), float(h)) for w, h in rng.uniform(5, 90, (30, 2))]
    corners, width, height = on_shelves(sizes, 4.0)
    for ((x, y), (w, h)), ((u, v), (a, b)) in combinations(zip(corners, sizes, strict=True), 2):
        assert x + w + 4 <= u or u + a + 4 <= x or y + h + 4 <= v or v + b + 4 <= y
    assert max(x + w for (x, _), (w, _) in zip(corners, sizes, strict=True)) == pytest.approx(width)
    assert max(y + h for (_, y), (_, h) in zip(corners, sizes, strict=True)) == pytest.approx(height)


def test_components_hold_every_node_and_arc_once():
    parts = components(5, [(0, 3), (4, 1), (3, 2)])
    assert [part.nodes for part in parts] == [(0, 2, 3), (1, 4)]
    assert [part.arcs for part in parts] == [(0, 2), (1,)]
