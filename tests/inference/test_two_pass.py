"""All marginals from messages alone: the numbers of enumeration, whatever is kept between the passes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayeskit import MarkovNetwork
from bayeskit._inference.clique_tree import make_tree, shape_tree
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.triangulation import breadth_first, make_problem, triangulate
from bayeskit._inference.two_pass import TwoPass, all_margins
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
    log_p, found = all_margins(tree, TwoPass(tree.shape, 2**30), p, evidence)
    joint = np.exp(log_joint(p, evidence))
    if joint.sum() == 0.0:
        assert log_p == -math.inf
        return
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


def test_all_nodes_of_a_grid_within_a_few_times_the_memory_of_log_z():
    network = grid(13, 13)
    expected = network.posteriors()
    with pytest.raises(TooLarge) as caught:
        network.log_partition(max_memory=1000)
    limit = 6 * caught.value.bytes_needed
    found = network.posteriors(max_memory=limit)
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
