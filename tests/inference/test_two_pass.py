"""All marginals from messages alone: the numbers of enumeration, whatever is kept between the passes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayeskit import MarkovNetwork
from bayeskit._inference.clique_tree import make_tree, shape_tree
from bayeskit._inference.exact import Exact
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.triangulation import breadth_first, make_problem, triangulate
from bayeskit._inference.two_pass import TwoPass, all_margins, all_margins_by_roots
from bayeskit.errors import TooLarge
from engine_twin import log_joint, random_field, window


def planned(p, evidence):
    problem = make_problem(p, evidence.codes, None)
    return make_tree(shape_tree(problem, triangulate(problem), one_way=True))


def grid(width, height, seed=0):
    """Return a field of 0 and 1 on a grid."""
    rng = np.random.default_rng(seed)
    places = [(i, j) for i in range(height) for j in range(width)]
    pairs = [(a, b) for a in places for b in ((a[0] + 1, a[1]), (a[0], a[1] + 1)) if b in set(places)]
    factors = [(pair, rng.uniform(0.2, 1.0, (2, 2))) for pair in pairs]
    return MarkovNetwork({place: [0, 1] for place in places}, factors)


@pytest.mark.parametrize("seed", range(60))
def test_two_passes_equal_enumeration(seed):
    """Zeros, soft and hard evidence, one-state variables, parts that are not connected, impossible evidence."""
    rng = np.random.default_rng(seed)
    p = random_field(rng, n=7, n_factors=8, zeros=0.25 * (seed % 2))
    codes = np.full(p.n_variables, -1)
    codes[rng.random(p.n_variables) < 0.2] = 0
    soft = {v: rng.random(int(p.sizes[v])) for v in range(p.n_variables) if rng.random() < 0.2}
    evidence = Evidence(codes, soft)
    tree = planned(p, evidence)
    joint = np.exp(log_joint(p, evidence))
    triangulation = triangulate(tree.shape.problem)
    for log_p, found in (
        all_margins(tree, TwoPass(tree.shape, 2**30), p, evidence),
        all_margins_by_roots(tree, triangulation, p, evidence, 2**30),
    ):
        if joint.sum() == 0.0:
            assert log_p == -math.inf
            continue
        assert log_p == pytest.approx(math.log(joint.sum()), abs=1e-11)
        for place, v in enumerate(tree.shape.problem.variables.tolist()):
            margin = joint.sum(axis=tuple(u for u in range(joint.ndim) if u != v)) / joint.sum()
            assert found[tree.start[place] : tree.start[place + 1]] == pytest.approx(margin, abs=1e-12)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_messages_that_are_sent_again_give_the_same_bits(levels):
    p = window(120, 5)
    evidence = Evidence.nothing(p.n_variables)
    tree = planned(p, evidence)
    whole = TwoPass(tree.shape, 2**30)
    log_p, expected = all_margins(tree, whole, p, evidence)
    fixed, cells = whole.bytes - 8 * whole.passes.cells, whole.passes.cells
    # The root of the number of messages, of the order of the levels, and some more.
    plan = TwoPass(tree.shape, fixed + 8 * cells * 1.2 * (levels + 1) * 115 ** (-levels / (levels + 1)))
    depth, part = 0, plan.passes
    while part.parts:
        depth, part = depth + 1, max(part.parts, key=lambda one: len(one.parts))
    assert depth <= levels and plan.passes.cells < cells / 3
    log_again, found = all_margins(tree, plan, p, evidence)
    assert log_again == log_p
    np.testing.assert_array_equal(found, expected)


def test_no_plan_within_too_little_memory():
    tree = planned(window(40, 8), Evidence.nothing(40))
    plan = TwoPass(tree.shape, 1000)
    assert plan.passes is None and plan.bytes > 1000


@pytest.mark.parametrize(("width", "times"), [(13, 1.0), (13, 1.25), (13, 6), (15, 1.0)])
def test_all_nodes_of_a_grid_within_the_memory_of_log_z(width, times):
    """A sweep from corner to corner; 15 x 15: one node is in the middle of all sweeps."""
    network = grid(width, width)
    expected = network.posteriors()
    with pytest.raises(TooLarge) as caught:
        network.log_partition(max_memory=1000)
    limit = times * caught.value.bytes_needed
    found = network.posteriors(max_memory=limit)
    for name in network.variables:
        assert found[name] == pytest.approx(expected[name], abs=1e-12)


def test_the_refusal_of_all_nodes_tells_the_memory_that_is_enough():
    """A long grid: messages come from both sides of its middle, whatever the sweep."""
    network = grid(9, 24)
    with pytest.raises(TooLarge) as caught:
        network.log_partition(max_memory=1000)
    with pytest.raises(TooLarge) as again:
        network.posteriors(max_memory=caught.value.bytes_needed)
    found = network.posteriors(max_memory=again.value.bytes_needed)
    expected = network.posteriors()
    for name in network.variables:
        assert found[name] == pytest.approx(expected[name], abs=1e-12)


def test_a_sweep_over_a_wide_grid_is_as_narrow_as_the_grid():
    """By min-fill, the largest clique of this grid has 2**27 cells, and its log Z was refused."""
    p = Potentials.laid_out(
        [2] * 400,
        [
            (i, i + step)
            for i in range(400)
            for step in (1, 20)
            if i + step < 400 and (step > 1 or i % 20 < 19)
        ],
        [np.ones((2, 2))] * 760,
        [-1] * 760,
        tuple(range(400)),
    )
    problem = make_problem(p, np.full(400, -1), None)
    assert sorted(breadth_first(problem.adjacency)) == list(range(400))
    assert triangulate(problem).cells < 400 * 2**21


def test_two_thousand_nodes_with_tiny_evidence():
    """Every node is weighed with numbers near 1e-250: their product, 1e-500000, is far below any float."""
    rng = np.random.default_rng(1)
    n = 2000
    first, steps = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), (n - 1, 2))
    scopes = [[0], *([v - 1, v] for v in range(1, n))]
    p = Potentials.laid_out([2] * n, scopes, [first, *steps], list(range(n)), tuple(range(n)))
    soft = {v: rng.uniform(1e-251, 1e-250, 2) for v in range(n)}
    evidence = Evidence(np.full(n, -1), soft)
    tree = planned(p, evidence)
    log_p, found = all_margins(tree, TwoPass(tree.shape, 2**30), p, evidence)
    ahead, behind, expected = [first * soft[0] / 1e-250], [np.ones(2)], n * math.log(1e-250)
    for v in range(n):
        if v:
            ahead.append(ahead[-1] @ steps[v - 1] * soft[v] / 1e-250)
            behind.append(steps[n - 1 - v] @ (behind[-1] * soft[n - v] / 1e-250))
            behind[-1] /= behind[-1].sum()
        expected += math.log(ahead[-1].sum())
        ahead[-1] /= ahead[-1].sum()
    margins = np.array(ahead) * np.array(behind[::-1])
    margins /= margins.sum(axis=1, keepdims=True)
    assert log_p == pytest.approx(expected, rel=1e-12)
    assert found.reshape(n, 2)[tree.shape.problem.place] == pytest.approx(margins, abs=1e-11)


def test_tables_that_need_logs_are_answered_by_logs():
    """Numbers of one table lie 1e400 apart: two passes cannot hold them, and give way to all tables in logs."""
    rng = np.random.default_rng(2)
    scopes = [[v, v + 1] for v in range(9)]
    tables = [10.0 ** rng.uniform(-200, 0, (3, 3)) for _ in scopes] + [10.0 ** rng.uniform(-200, 0, (3, 3))]
    p = Potentials.laid_out([3] * 10, [*scopes, [0, 1]], tables, [-1] * 10, tuple(range(10)))
    evidence = Evidence(np.array([-1] * 9 + [1]))
    tree = planned(p, evidence)
    assert math.isnan(all_margins(tree, TwoPass(tree.shape, 2**30), p, evidence)[0])
    answered, log_p, found = Exact(p)._one_table_at_a_time(evidence, 2**30)
    logs = log_joint(p, evidence)
    top = logs.max()
    joint = np.exp(logs - top)
    assert log_p == pytest.approx(math.log(joint.sum()) + top, rel=1e-12)
    for place, v in enumerate(answered.shape.problem.variables.tolist()):
        margin = joint.sum(axis=tuple(u for u in range(joint.ndim) if u != v)) / joint.sum()
        assert found[answered.start[place] : answered.start[place + 1]] == pytest.approx(margin, abs=1e-12)
