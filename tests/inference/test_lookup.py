"""The look-up engine against the whole joint table."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._inference.lookup import Lookup, log_weights
from bayeskit._inference.potentials import Potentials
from network_twin import joint_table, random_network


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.4]))
def test_a_complete_row_is_a_slice_of_the_joint(seed, zeros):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=int(rng.integers(2, 6)), zeros=zeros)
    joint, potentials = joint_table(network), Potentials.of(network)
    rows = np.array(list(itertools.product(*map(range, joint.shape))), np.int64)
    with np.errstate(divide="ignore"):
        expected = np.log(joint[tuple(rows.T)])
    assert np.allclose(log_weights(potentials, rows), expected, rtol=1e-12, atol=1e-12)
    for target in range(joint.ndim):
        lookup = Lookup(potentials, target)
        found = lookup.posteriors(np.ascontiguousarray(rows[:, list(lookup.blanket)]))
        slices = np.moveaxis(joint, target, -1)[tuple(np.delete(rows, target, axis=1).T)]
        total = slices.sum(axis=1, keepdims=True)
        possible = total[:, 0] > 0
        assert np.allclose(
            found[possible], (slices / np.where(total > 0, total, 1))[possible], rtol=1e-12, atol=0
        )
        # What the blanket's own tables forbid is a row of zeros, never NaN; the rest sums to one.
        sums = found.sum(axis=1)
        assert np.isfinite(found).all() and (np.isclose(sums, 1) | (sums == 0)).all()


def test_the_blanket_is_parents_children_and_their_parents():
    network = random_network(np.random.default_rng(3), n_nodes=7, max_states=3)
    dag = network.dag
    for target, name in enumerate(dag.nodes):
        near = {*dag.parents_of(name), *dag.children[name]}
        near |= {p for child in dag.children[name] for p in dag.parents_of(child)}
        assert Lookup(Potentials.of(network), target).blanket == tuple(
            sorted(dag.position[n] for n in near - {name})
        )


def test_thousands_of_children_do_not_underflow():
    m = 3_000
    table = np.array([[1e-9, 1 - 1e-9], [2e-9, 1 - 2e-9]])
    tables = [np.array([0.5, 0.5]), *[table] * m]
    p = Potentials.laid_out(
        [2] * (m + 1), [[0], *([0, j] for j in range(1, m + 1))], tables, range(m + 1), tuple(range(m + 1))
    )
    rows = np.ones((1, m), np.int64)
    rows[0, :20] = 0  # twenty of them twice as likely under state 1
    odds = 2.0**20 * ((1 - 2e-9) / (1 - 1e-9)) ** (m - 20)
    found = Lookup(p, 0).posteriors(rows)
    assert np.allclose(found[0, 1] / found[0, 0], odds, rtol=1e-9)
    assert np.allclose(Lookup(p, 0).posteriors(np.zeros((1, m), np.int64)), [[0, 1]])


def test_factors_of_any_size_and_cells_of_any_smallness():
    big, small = np.array([1e300, 3e300]), np.array([1e-300, 1e-300])
    p = Potentials.laid_out([2], [[0]] * 6, [big, big, small, small, small, big], [-1] * 6, ("x",))
    found = Lookup(p, 0).posteriors(np.empty((1, 0), np.int64))
    assert np.allclose(found, [[1 / 28, 27 / 28]], rtol=1e-12)


def test_one_state_and_no_neighbours():
    p = Potentials.laid_out([1, 3], [[0], [1]], [np.ones(1), np.array([0.2, 0.3, 0.5])], [0, 1], ("a", "b"))
    assert Lookup(p, 0).posteriors(np.empty((2, 0), np.int64)).tolist() == [[1.0], [1.0]]
    assert np.allclose(Lookup(p, 1).posteriors(np.empty((1, 0), np.int64)), [[0.2, 0.3, 0.5]])
