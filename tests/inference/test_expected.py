"""The E-step for many rows: equal to enumeration, to one row at a time, on any number of threads."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._inference import exact
from bayeskit._inference.exact import Exact
from bayeskit._inference.potentials import Potentials
from bayeskit.networks import Table
from network_twin import joint_table, margin, random_network, spare, with_evidence


def holed_rows(rng, network, n, missing=0.4):
    sizes = network.sizes_of(network.dag.nodes)
    codes = np.column_stack([rng.integers(0, size, n) for size in sizes]).astype(np.int64)
    return np.where(rng.random(codes.shape) < missing, -1, codes)


def enumerated(network, rows, weights):
    """The same answers from the whole joint table: counts of families, margins, logs, largest joint probabilities."""
    joint = joint_table(network)
    position = network.dag.position
    scopes = [[*(position[p] for p in node.parents), k] for k, node in enumerate(network.nodes)]
    counts = [np.zeros(network.shape_of(node.name)) for node in network.nodes]
    margins, logs, best = [], [], []
    for row, weight in zip(rows, weights, strict=True):
        left = with_evidence(joint, {v: code for v, code in enumerate(row) if code >= 0})
        total = float(left.sum())
        logs.append(math.log(total) if total > 0 else -math.inf)
        best.append(math.log(left.max()) if total > 0 else -math.inf)
        share = left / total if total > 0 else left
        margins.append(np.concatenate([margin(share, v) for v in range(joint.ndim)]))
        for cells, scope in zip(counts, scopes, strict=True):
            cells += weight * margin(share, *scope)
    return np.concatenate([c.ravel() for c in counts]), np.array(margins), np.array(logs), np.array(best)


def check(network, rows, weights, tolerance=1e-12):
    engine = Exact(Potentials.of(network))
    counts, margins, logs, best = enumerated(network, rows, weights)
    held = spare(rows, engine.potentials.sizes)
    found, log_p = engine.expected(held, weights)
    assert log_p == pytest.approx(logs, abs=1e-10)
    assert found == pytest.approx(counts, rel=1e-9, abs=tolerance)
    posteriors, again = engine.margins_rows(held)
    assert again == pytest.approx(logs, abs=1e-10)
    assert posteriors == pytest.approx(margins, rel=1e-9, abs=tolerance)
    completed, largest = engine.completed(held)
    assert largest == pytest.approx(best, abs=1e-10)
    joint = joint_table(network)
    for i in np.flatnonzero(best > -math.inf):
        assert math.log(joint[tuple(completed[i])]) == pytest.approx(best[i], abs=1e-10)
        assert (completed[i][rows[i] >= 0] == rows[i][rows[i] >= 0]).all()


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_expected_counts_margins_and_completions_equal_enumeration(seed, zeros, n_nodes):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes, zeros=zeros)
    rows = holed_rows(rng, network, 19)  # one batch of 16, and a part of one
    check(network, rows, rng.uniform(0.0, 3.0, len(rows)))


@pytest.mark.parametrize("small", [0, 10])
def test_a_tree_that_is_too_large_gives_the_same_row_by_row(monkeypatch, small):
    monkeypatch.setattr(exact, "SMALL_TREE", small)
    rng = np.random.default_rng(5)
    network = random_network(rng, 6, zeros=0.2)
    check(network, holed_rows(rng, network, 40), rng.uniform(size=40))


def apart(n_children):
    """A class one state of which makes every child's second state all but impossible."""
    root = Node(discrete("c", ("a", "b")), (), Table([0.5, 0.5]))
    table = Table([[1.0, 1e-80], [0.5, 0.5]])
    children = [Node(discrete(f"x{i}", ("n", "y")), ("c",), table) for i in range(n_children)]
    return Network((root, *children))


def test_numbers_too_far_apart_for_products_are_answered_in_logs():
    network = apart(12)
    rows = np.full((20, 13), 2)
    rows[3, 1:] = 1  # log P(x | a) = −2210 beside log P(x | b) = −8
    rows[7, 0], rows[7, 1:11] = 0, 1  # far below the least double, and possible
    engine = Exact(Potentials.of(network))
    counts, logs = engine.expected(rows, np.ones(20))
    assert logs[3] == pytest.approx(13 * math.log(0.5), abs=1e-9)
    assert logs[7] == pytest.approx(math.log(0.5) + 10 * math.log(1e-80), rel=1e-12)
    assert counts[:2] == pytest.approx([18 / 2 + 1, 18 / 2 + 1], rel=1e-12)
    assert counts[2:6].sum() == pytest.approx(20, rel=1e-12)
    posteriors, _ = engine.margins_rows(rows)
    assert posteriors[3, :2] == pytest.approx([0.0, 1.0])
    completed, largest = engine.completed(rows)
    assert completed[3, 0] == 1
    assert largest[7] == pytest.approx(logs[7] + 2 * math.log(1.0), rel=1e-12)


def test_a_row_that_is_impossible_adds_nothing():
    network = Network((Node(discrete("a", ("u", "v")), (), Table([1.0, 0.0])),))
    engine = Exact(Potentials.of(network))
    rows = np.array([[1], [0], [2]])
    counts, logs = engine.expected(rows, np.array([1.0, 2.0, 4.0]))
    assert counts.tolist() == [6.0, 0.0]
    assert logs.tolist() == [-math.inf, 0.0, 0.0]
    assert engine.margins_rows(rows)[0].tolist() == [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]


def test_threads_and_other_numbers_do_not_change_the_answer():
    rng = np.random.default_rng(2)
    network = random_network(np.random.default_rng(8), 6)
    rows, weights = holed_rows(rng, network, 2500), rng.uniform(size=2500)
    engine = Exact(Potentials.of(network))
    rows = spare(rows, engine.potentials.sizes)
    one, logs = engine.expected(rows, weights)
    two, again = engine.expected(rows, weights, n_jobs=3)
    assert np.array_equal(one, two)
    assert np.array_equal(logs, again)
    parts = [engine.expected(rows[a:b], weights[a:b])[0] for a, b in itertools.pairwise([0, 7, 1500, 2500])]
    assert sum(parts) == pytest.approx(one, rel=1e-12)
    shaken = Potentials.of(network).values * rng.uniform(0.5, 2.0, len(one))
    moved = engine.with_values(shaken)
    fresh = Exact(moved.potentials)
    assert np.array_equal(moved.expected(rows, weights)[0], fresh.expected(rows, weights)[0])
    assert np.array_equal(engine.expected(rows, weights)[0], one)  # the first engine is as it was


def test_no_rows_is_no_count():
    network = apart(2)
    engine = Exact(Potentials.of(network))
    counts, logs = engine.expected(np.empty((0, 3), np.int64), np.empty(0))
    assert not counts.any() and len(logs) == 0
    assert engine.completed(np.empty((0, 3), np.int64))[0].shape == (0, 3)
