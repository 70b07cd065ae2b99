"""Tables with one parent: every cell, every hole and every row left out, against a slow twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import pair_cells
from bayeskit._counting.backend import count
from bayeskit.errors import NotCounted
from bayeskit.priors import Lidstone, MEstimate, Smoothing, WittenBell
from bayeskit.statistics import Plan
from pair_twin import CONSTANTS, PRIORS, Rows, forests, holes_stay_states, own_weights, queries, tables
from refusals import refuses

# Those that give a share to a value never learned.
SHARED = [name for name in PRIORS if name != "mle"]


def one_parent(rows: Rows, parents) -> OneParent:
    pairs = rows.counted().parts["pairs"]
    cells = pair_cells(
        pairs, rows.schema, rows.smoothing, CONSTANTS, missing=rows.missing, unseen=rows.unseen
    )
    return OneParent(cells, np.asarray(parents, dtype=np.int64))


def scores(rows: Rows, parents, codes) -> np.ndarray:
    out = np.zeros((len(codes), rows.n_classes))
    one_parent(rows, parents).add_log_prob(rows.chunk(codes), out)
    return out


def agree(logarithms, shares) -> None:
    """Log-probabilities are those of the shares; where these are 0 they are −∞."""
    assert not np.isnan(logarithms).any()
    np.testing.assert_allclose(np.exp(logarithms), shares, rtol=1e-12, atol=1e-15)


@settings(max_examples=150)
@given(data=st.data(), rows=tables())
def test_every_row_is_the_product_summed_over_its_holes(data, rows):
    parents = data.draw(forests(len(rows.sizes)))
    asked = data.draw(queries(rows))
    expected = [[rows.network(parents, query, c) for c in range(rows.n_classes)] for query in asked]
    agree(scores(rows, parents, asked), expected)


@settings(max_examples=80)
@given(data=st.data(), rows=tables(priors=SHARED, missing=["state"], unseen=["smooth"]))
def test_a_value_never_learned_is_one_state_more(data, rows):
    """As a child it has a share, as a parent it is a context never seen. Holes are asked for below."""
    rows = replace(rows, codes=np.minimum(rows.codes, np.array(rows.sizes) - 1))
    parents = data.draw(forests(len(rows.sizes)))
    asked = [
        [x + (x == r) for x, r in zip(query, rows.sizes, strict=True)] for query in data.draw(queries(rows))
    ]
    expected = [[rows.network(parents, query, c) for c in range(rows.n_classes)] for query in asked]
    agree(scores(rows, parents, asked), expected)


@settings(max_examples=80)
@given(data=st.data(), rows=tables(priors=SHARED, unseen=["smooth"]))
def test_a_hole_may_be_what_was_never_learned(data, rows):
    """Summing over a missing parent leaves none of its probability out: else rare classes would lose by every hole."""
    parents = data.draw(forests(len(rows.sizes)))
    asked = data.draw(queries(rows))
    expected = [[rows.network(parents, query, c) for c in range(rows.n_classes)] for query in asked]
    agree(scores(rows, parents, asked), expected)


@pytest.mark.parametrize("missing", ["ignore", "state"])
def test_without_imaginary_counts_an_unseen_value_is_left_out(missing):
    """Nothing is put by for it, so the states that were seen share all there is, also where none was."""
    rows = table_of(
        [[0, 0], [0, 1], [2, 1]], [0, 0, 1], (2, 2), PRIORS["mle"], missing=missing, unseen="smooth"
    )
    asked = [[3, 1], [1, 3], [0, 1], [1, 0]]
    expected = [[rows.network([-1, 0], query, c) for c in range(2)] for query in asked]
    agree(scores(rows, [-1, 0], asked), expected)


@settings(max_examples=40)
@given(data=st.data(), rows=tables())
def test_probabilities_are_a_distribution_in_every_context(data, rows):
    parents = data.draw(forests(len(rows.sizes)))
    model = one_parent(rows, parents)
    for j, i in enumerate(parents):
        table = model.probabilities(j)
        assert table.shape == (
            1 if i < 0 else len(rows.states(i)),
            len(rows.states(j)),
            rows.n_classes,
        )
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)


@settings(max_examples=120)
@given(data=st.data(), rows=tables(at_least=1))
def test_a_row_left_out_is_a_count_without_it(data, rows):
    parents, own = data.draw(forests(len(rows.sizes))), own_weights(data.draw, rows)
    out = np.zeros((len(rows.target), rows.n_classes))
    one_parent(rows, parents).add_left_out(rows.chunk(), own, out)
    for i, row in enumerate(rows.codes):
        left = rows.without(i, own[i])
        if holes_stay_states(rows, left):
            agree(out[i], [left.network(parents, row, c) for c in range(rows.n_classes)])


@settings(max_examples=40)
@given(data=st.data(), rows=tables(at_least=1))
def test_nothing_left_out_is_the_model_itself(data, rows):
    parents = data.draw(forests(len(rows.sizes)))
    out = np.zeros((len(rows.target), rows.n_classes))
    one_parent(rows, parents).add_left_out(rows.chunk(), np.zeros(len(rows.target)), out)
    agree(out, np.exp(scores(rows, parents, rows.codes)))


def table_of(codes, target, sizes, prior=PRIORS["laplace"], weights=None, **how) -> Rows:
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights)
    return Rows(np.array(codes), np.array(target), weights, sizes, max(target) + 1, prior, **how)


@pytest.mark.parametrize("missing", ["ignore", "state"])
@pytest.mark.parametrize("prior", PRIORS)
def test_every_cell_of_a_table_with_holes(prior, missing):
    """All values of child and parent, holes among them, either way round."""
    codes = [[0, 0], [0, 1], [1, 3], [2, 1], [2, 2], [2, 3], [0, 0], [1, 1]]
    rows = table_of(codes, [0, 0, 0, 1, 1, 0, 1, 1], (2, 3), PRIORS[prior], missing=missing)
    asked = [[u, v] for u in range(3) for v in range(4)]
    for parents in ([-1, 0], [1, -1]):
        expected = [[rows.network(parents, query, c) for c in range(2)] for query in asked]
        agree(scores(rows, parents, asked), expected)


def test_what_rounding_leaves_of_a_weight_is_nothing():
    """0.1 + 0.2 − 0.3 is not 0, and yet Witten and Bell must not count that state as seen."""
    codes, weights = [[0, 0], [0, 0], [0, 1], [1, 1]], [0.1, 0.2, 0.7, 0.4]
    rows = table_of(codes, [0, 0, 0, 0], (2, 2), WittenBell(), weights=weights)
    parents, out = [-1, 0], np.zeros((1, 1))
    one_parent(rows, parents).add_left_out(rows.chunk([[0, 0]]), np.array([0.3]), out)
    left = replace(rows, weights=np.array([0.0, 0.0, 0.7, 0.4]))
    agree(out, [[left.network(parents, [0, 0], 0)]])


def test_worked():
    # Rows (x0, x1) of one class: 00, 00, 01, 11. Laplace: P(x0=0) = (3 + 1)/(4 + 2), P(x1=1 | x0=0) = (1 + 1)/(3 + 2).
    rows = table_of([[0, 0], [0, 0], [0, 1], [1, 1]], [0] * 4, (2, 2))
    agree(scores(rows, [-1, 0], [[0, 1]]), [[4 / 6 * 2 / 5]])
    # x0 missing: Σ_u P(u) P(x1=1 | u) = 4/6·2/5 + 2/6·2/3.
    agree(scores(rows, [-1, 0], [[2, 1]]), [[4 / 6 * 2 / 5 + 2 / 6 * 2 / 3]])
    # Without the third row x1 = 1 was never seen with x0 = 0: P(x0=0) = 3/5, P(1 | 0) = 1/4.
    out = np.zeros((4, 1))
    one_parent(rows, [-1, 0]).add_left_out(rows.chunk(), np.ones(4), out)
    agree(out[2], [3 / 5 * 1 / 4])
    # Back-off with c = (0.75, 2.5): p0 = (2 + 0.75/2)/(4 + 0.75), p1 = (1 + 2.5·p0)/(3 + 2.5).
    back = replace(rows, prior=PRIORS["back-off"])
    first, p0 = (3 + 0.375) / 4.75, (2 + 0.375) / 4.75
    agree(scores(back, [-1, 0], [[0, 1]]), [[first * (1 + 2.5 * p0) / 5.5]])
    # Witten–Bell: x1 has 2 states in both contexts, x0 has 2.
    bell = replace(rows, prior=PRIORS["witten-bell"])
    first, p0 = (3 + 2 / 2) / 6, (2 + 2 / 2) / 6
    agree(scores(bell, [-1, 0], [[0, 1]]), [[first * (1 + 2 * p0) / (3 + 2)]])


def test_where_nothing_was_seen_every_state_is_alike():
    rows = table_of([[0, 0]], [1], (3, 2), PRIORS["mle"])
    agree(scores(rows, [-1, 0], [[1, 1], [0, 0]]), [[1 / 6, 0.0], [1 / 6, 1.0]])


def test_priors_by_attribute():
    """One attribute may back off while another has imaginary counts."""
    rows = table_of([[0, 0], [0, 1], [1, 1]], [0, 0, 0], (2, 2))
    smoothing = Smoothing(MEstimate(1.0), {"x1": PRIORS["back-off"]})
    cells = pair_cells(
        rows.counted().parts["pairs"], rows.schema, smoothing, CONSTANTS, missing="ignore", unseen="ignore"
    )
    out = np.zeros((1, 1))
    OneParent(cells, np.array([-1, 0])).add_log_prob(rows.chunk([[0, 1]]), out)
    p0 = (2 + 0.375) / 3.75
    agree(out, [[(2 + 0.5) / 4 * (1 + 2.5 * p0) / 4.5]])


@pytest.mark.parametrize(
    ("codes", "target", "own"),
    [
        ([[0, 1]], [1], 1.0),  # the class never had x0 = 0
        ([[0, 1]], [0], 1.5),  # more weight than was counted
        ([[1, 0]], [1], 1.0),  # each value was seen, not both together
        ([[2, 0]], [1], 1.0),  # no row of the class had a hole there
    ],
)
def test_rows_never_counted_are_refused(codes, target, own):
    rows = table_of([[0, 1], [1, 1], [1, 2], [2, 0]], [0, 1, 1, 0], (2, 2))
    with refuses(NotCounted):
        one_parent(rows, [-1, 0]).add_left_out(rows.chunk(codes, target), np.full(1, own), np.zeros((1, 2)))


def test_more_states_than_fit_a_byte():
    """Codes are then of four bytes, and tables as wide."""
    n = 300
    codes = np.stack([np.arange(n), np.arange(n) % 2], axis=1)
    rows = Rows(codes, np.arange(n) % 2, np.ones(n), (n, 2), 2, Lidstone(1.0))
    chunk = replace(rows.chunk(codes % 200, rows.target), codes=codes.astype(np.uint32))
    pairs = count(chunk, rows.schema, Plan.pairs(rows.schema)).parts["pairs"]
    cells = pair_cells(pairs, rows.schema, rows.smoothing, CONSTANTS, missing="ignore", unseen="ignore")
    out = np.zeros((n, 2))
    OneParent(cells, np.array([1, -1])).add_log_prob(chunk, out)
    # n(x1) = 150 in its own class only, n(x0, x1) = 1; in the other class nothing was seen: 1/2 · 1/300.
    own = np.exp(out[np.arange(n), np.arange(n) % 2])
    np.testing.assert_allclose(own, 151 / 152 * 2 / 450, rtol=1e-12)
    np.testing.assert_allclose(np.exp(out[np.arange(n), 1 - np.arange(n) % 2]), 1 / 152 / 300, rtol=1e-12)


def test_drawn_rows_have_the_frequencies_of_the_tables():
    rng = np.random.default_rng(0)
    rows = table_of([[0, 0], [0, 1], [1, 1], [1, 1], [2, 0]], [0, 0, 0, 1, 1], (3, 2))
    model = one_parent(rows, [1, -1])
    drawn = model.sample(np.zeros(40_000, dtype=np.intp), rng)
    for u in range(2):
        here = drawn[drawn[:, 1] == u, 0]
        found = np.bincount(here, minlength=3) / len(here)
        np.testing.assert_allclose(found, model.probabilities(0)[u, :, 0], atol=0.015)
    np.testing.assert_allclose(np.bincount(drawn[:, 1]) / 40_000, model.probabilities(1)[0, :, 0], atol=0.015)
