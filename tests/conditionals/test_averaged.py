"""The average over super-parents against a slow twin: thresholds, weights, subsumption, rows left out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._conditionals.averaged import SuperParentAverage, joint_mass
from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import pair_cells
from bayeskit.errors import NotCounted
from bayeskit.priors import Lidstone
from pair_twin import CONSTANTS, PRIORS, Rows, holes_stay_states, own_weights, queries, tables
from refusals import refuses

SHARED = [name for name in PRIORS if name != "mle"]


def averaged(rows: Rows, min_count=1.0, by_information=False, subsumption=None) -> SuperParentAverage:
    statistics = rows.counted()
    cells = pair_cells(
        statistics.parts["pairs"],
        rows.schema,
        rows.smoothing,
        CONSTANTS,
        missing=rows.missing,
        unseen=rows.unseen,
    )
    counts = statistics.class_counts
    prior = ClassPrior((counts + 1) / (counts + 1).sum(), counts, np.ones(len(counts)))
    alone = (OneParent(cells, np.full(len(rows.sizes), -1, dtype=np.int64)),)
    joint = joint_mass(cells, rows.schema, rows.smoothing)
    return SuperParentAverage(cells, joint, min_count, by_information, subsumption, alone, prior)


# -- the slow twin ---------------------------------------------------------------------------------


def information(rows: Rows, i: int) -> float:
    """I(X_i; Y) over the rows where x_i is present; what is 0 but for rounding is 0."""
    table = np.array([[rows.n({i: v}, c) for c in range(rows.n_classes)] for v in rows.states(i)])
    total = table.sum() if table.size else 0.0
    found = 0.0
    for v, c in zip(*np.nonzero(table), strict=True) if total > 0 else ():
        n = table[v, c]
        found += n / total * math.log(n * total / (table[v].sum() * table[:, c].sum()))
    return found if found > 1e-13 else 0.0


def without_general(rows: Rows, query, least):
    """Leave out what follows from another value; of two that follow from each other the first column stays."""
    query, d = list(map(int, query)), len(query)
    left = list(query)
    if least is None:
        return left
    present = [x in rows.states(j) for j, x in enumerate(query)]
    for j in range(d):
        for i in range(d):
            if i == j or not (present[i] and present[j]) or left[i] is None or left[j] is None:
                continue
            of_i, of_j = rows.n({i: query[i]}), rows.n({j: query[j]})
            both = rows.n({i: query[i], j: query[j]})
            if of_j == both and of_j >= least and not (of_i == both and i < j):
                left[i] = None
    return left


def slow(rows: Rows, query, c: int, min_count=1.0, by_information=False, subsumption=None) -> float:
    left = without_general(rows, query, subsumption)
    known = [j for j, x in enumerate(left) if x is not None and rows.is_present(j, x)]
    weights = [information(rows, i) if by_information else 1.0 for i in range(len(left))]
    if not any(weights):
        weights = [1.0] * len(left)
    total, nobody = 0.0, True
    for i in known:
        seen = rows.n({i: left[i]}) if left[i] in rows.states(i) else 0.0
        if seen < min_count or seen <= 0 or weights[i] == 0:
            continue
        nobody = False
        share = weights[i] * rows.joint_cell(i, left[i], c)
        for j in known:
            share *= rows.cell(j, left[j], c, (i, left[i])) if j != i else 1.0
        total += share
    if not nobody:
        return total
    rows_of_class, everything = rows.n({}, c), rows.n({})
    share = (rows_of_class + 1) / (everything + rows.n_classes)
    for j, x in enumerate(query):
        share *= rows.cell(j, int(x), c) if rows.is_present(j, int(x)) else 1.0
    return share


def agree(logarithms, shares) -> None:
    assert not np.isnan(logarithms).any()
    np.testing.assert_allclose(np.exp(logarithms), shares, rtol=1e-11, atol=1e-15)


def check(rows: Rows, asked, **how) -> None:
    out = np.zeros((len(asked), rows.n_classes))
    averaged(rows, **how).add_log_prob(rows.chunk(asked), out)
    agree(out, [[slow(rows, query, c, **how) for c in range(rows.n_classes)] for query in asked])


def check_left_out(rows: Rows, own, **how) -> None:
    out = np.zeros((len(rows.target), rows.n_classes))
    averaged(rows, **how).add_left_out(rows.chunk(), own, out)
    for i, row in enumerate(rows.codes):
        left = rows.without(i, own[i])
        if holes_stay_states(rows, left):
            agree(out[i], [slow(left, row, c, **how) for c in range(rows.n_classes)])


HOW = st.fixed_dictionaries(
    {
        "min_count": st.sampled_from([0.0, 1.0, 2.5]),
        "by_information": st.booleans(),
        "subsumption": st.sampled_from([None, None, 0.0, 2.0]),
    }
)


@settings(max_examples=150)
@given(data=st.data(), rows=tables(at_least=1), how=HOW)
def test_every_row_is_the_sum_over_its_super_parents(data, rows, how):
    check(rows, data.draw(queries(rows)), **how)


@settings(max_examples=60)
@given(data=st.data(), rows=tables(at_least=1, priors=SHARED, unseen=["smooth"]), how=HOW)
def test_a_value_never_learned_is_a_child_and_no_super_parent(data, rows, how):
    check(rows, data.draw(queries(rows)), **how)


@settings(max_examples=150)
@given(data=st.data(), rows=tables(at_least=1), how=HOW)
def test_a_row_left_out_is_a_count_without_it(data, rows, how):
    """Whoever falls below the threshold is no super-parent, weights are those of the other rows."""
    check_left_out(rows, own_weights(data.draw, rows), **how)


def table_of(codes, target, sizes, prior="laplace", **how) -> Rows:
    weights = how.pop("weights", np.ones(len(codes)))
    return Rows(
        np.array(codes), np.array(target), np.asarray(weights), sizes, max(target) + 1, PRIORS[prior], **how
    )


ROWS = table_of(
    [[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 1], [1, 2, 2]], [0, 0, 0, 1, 1, 1], (2, 2, 2)
)


def test_worked():
    # One class, rows (x0, x1): 00, 00, 01, 11; ask for 01.
    # i = 0: P(c, x0=0) = (3 + 1)/(4 + 2), P(x1=1 | 0) = (1 + 1)/(3 + 2).
    # i = 1: P(c, x1=1) = (2 + 1)/(4 + 2), P(x0=0 | 1) = (1 + 1)/(2 + 2).
    rows = table_of([[0, 0], [0, 0], [0, 1], [1, 1]], [0] * 4, (2, 2))
    out = np.zeros((1, 1))
    averaged(rows).add_log_prob(rows.chunk([[0, 1]]), out)
    agree(out, [[4 / 6 * 2 / 5 + 3 / 6 * 2 / 4]])
    # Seen three times only x0 = 0 is a super-parent; seen four times none is, and naive Bayes answers: 4/6 · 3/6.
    for min_count, share in ((3, 4 / 6 * 2 / 5), (4, 4 / 6 * 3 / 6)):
        out = np.zeros((1, 1))
        averaged(rows, min_count=min_count).add_log_prob(rows.chunk([[0, 1]]), out)
        agree(out, [[share]])


def test_what_is_said_is_added():
    """Other conditionals may have spoken before."""
    before = np.array([[-1.0, 2.0]])
    out = before.copy()
    averaged(ROWS).add_log_prob(ROWS.chunk([[0, 1, 0]]), out)
    alone = np.zeros((1, 2))
    averaged(ROWS).add_log_prob(ROWS.chunk([[0, 1, 0]]), alone)
    np.testing.assert_allclose(out, before + alone, rtol=1e-14)


def test_eligible_super_parents_may_find_a_class_impossible():
    """Under relative frequencies: that is an answer, not a case for naive Bayes."""
    rows = table_of([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], (2, 2), "mle")
    check(rows, [[0, 0], [0, 1]])
    out = np.zeros((1, 2))
    averaged(rows).add_log_prob(rows.chunk([[0, 1]]), out)
    assert out[0, 0] == -np.inf
    assert out[0, 1] > -np.inf


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 8, 9])
def test_any_number_of_classes(n_classes):
    """Tables are padded to 2, 4, 8, … classes."""
    rng = np.random.default_rng(n_classes)
    codes, target = rng.integers(0, 3, (30, 3)), rng.integers(0, n_classes, 30)
    target[0] = n_classes - 1
    rows = table_of(codes, target.tolist(), (2, 2, 2))
    check(rows, codes[:6])
    check_left_out(replace(rows, codes=codes[:8], target=target[:8], weights=np.ones(8)), np.ones(8))


def test_more_rows_than_one_block():
    """Rows are scored in blocks; each answer is that of the row alone."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (20_000, 3))
    model = averaged(ROWS, by_information=True)
    out, alone = np.zeros((20_000, 2)), np.zeros((1, 2))
    model.add_log_prob(ROWS.chunk(codes), out)
    for i in (0, 1, 9_999, 19_999):
        alone[:] = 0
        model.add_log_prob(ROWS.chunk(codes[i : i + 1]), alone)
        np.testing.assert_array_equal(out[i], alone[0])


def test_many_attributes_do_not_underflow():
    """Sixty factors of a millionth: the product is below the least double, its logarithm is not."""
    half, many = 60, 1e6
    codes = np.repeat([[0], [1]], 2 * half, axis=1)
    rows = Rows(codes, np.zeros(2, np.int64), np.full(2, many), (2,) * (2 * half), 1, PRIORS["laplace"])
    model, asked = averaged(rows), [[0] * half + [1] * half]
    # Every super-parent was seen a million times, with the 59 of its half and never with one of the other.
    expected = math.log((many + 1) / (2 * many + 2)) + (half - 1) * math.log((many + 1) / (many + 2))
    expected += half * math.log(1 / (many + 2)) + math.log(2 * half)
    assert expected < -800
    for add in (model.add_log_prob, lambda chunk, out: model.add_left_out(chunk, np.zeros(1), out)):
        out = np.zeros((1, 1))
        add(rows.chunk(asked), out)
        np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [1e-10, 1e-30, 1e-60, 1e-300])
def test_factors_that_are_next_to_nothing(alpha):
    """Several of them are multiplied before their logarithm is taken; that must not make 0 of them."""
    half = 12
    codes = np.repeat([[0], [1]], 2 * half, axis=1)
    rows = Rows(codes, np.zeros(2, np.int64), np.ones(2), (2,) * (2 * half), 1, Lidstone(alpha))
    model, asked = averaged(rows), [[0] * half + [1] * half]
    expected = math.log(1 / 2) + half * math.log(alpha) + math.log(2 * half)
    for add in (model.add_log_prob, lambda chunk, out: model.add_left_out(chunk, np.zeros(1), out)):
        out = np.zeros((1, 1))
        add(rows.chunk(asked), out)
        np.testing.assert_allclose(out, expected, rtol=1e-10)


# -- weights ---------------------------------------------------------------------------------------


def test_weights_are_informations():
    model = averaged(ROWS, by_information=True)
    expected = [information(ROWS, i) for i in range(3)]
    np.testing.assert_allclose(np.exp(model.log_weights[0]), expected, rtol=1e-12)
    np.testing.assert_array_equal(averaged(ROWS).log_weights, 0.0)


@pytest.mark.parametrize("times", [3, 6, 11, 13, 14, 25])
def test_rounding_weighs_nothing(times):
    """Attributes that are independent of the class all weigh the same, not by what rounding left of them."""
    codes = [[u, v] for u in range(2) for v in range(3)] * (3 * times)
    target = [c for c in range(3) for _ in range(6 * times)]
    rows = table_of(codes, target, (2, 3))
    np.testing.assert_array_equal(averaged(rows, by_information=True).log_weights, 0.0)


def test_an_attribute_that_tells_nothing_is_no_super_parent():
    """The other one is; where that is missing naive Bayes answers."""
    rows = table_of([[0, 0], [1, 0], [0, 1], [1, 1]], [0, 0, 1, 1], (2, 2))
    model = averaged(rows, by_information=True)
    assert model.log_weights[0, 0] < -30
    check(rows, [[0, 0], [1, 1], [0, 2]], by_information=True)


# -- subsumption -----------------------------------------------------------------------------------


def test_a_value_that_follows_from_another_is_left_out():
    """x0 = 1 is always x1 = 1 (female follows from pregnant): asked for both, x1 says nothing more."""
    codes = [[1, 1], [1, 1], [1, 1], [0, 1], [0, 0], [0, 0]]
    rows = table_of(codes, [0, 0, 1, 1, 0, 1], (2, 2))
    out, alone = np.zeros((1, 2)), np.zeros((1, 2))
    averaged(rows, subsumption=3.0).add_log_prob(rows.chunk([[1, 1]]), out)
    averaged(rows).add_log_prob(rows.chunk([[1, 2]]), alone)
    np.testing.assert_allclose(out, alone, rtol=1e-13)
    # Seen three times only: with the row itself left out it is seldom seen, and both are kept.
    check_left_out(rows, np.ones(6), subsumption=3.0)
    kept = np.zeros((6, 2))
    averaged(rows, subsumption=3.0).add_left_out(rows.chunk(), np.ones(6), kept)
    plain = np.zeros((6, 2))
    averaged(rows).add_left_out(rows.chunk(), np.ones(6), plain)
    np.testing.assert_allclose(kept, plain, rtol=1e-13)


def test_of_duplicates_the_first_stays():
    codes = [[0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 1]]
    rows = table_of(codes, [0, 0, 1, 1], (2, 2, 2))
    out, alone = np.zeros((1, 2)), np.zeros((1, 2))
    averaged(rows, subsumption=1.0).add_log_prob(rows.chunk([[0, 0, 0]]), out)
    averaged(rows).add_log_prob(rows.chunk([[0, 2, 2]]), alone)
    np.testing.assert_allclose(out, alone, rtol=1e-13)


# -- leaving out -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(rows=tables(at_least=1), how=HOW)
def test_nothing_left_out_is_the_model_itself(rows, how):
    model, nothing = averaged(rows, **how), np.zeros(len(rows.target))
    left, plain = np.zeros((2, len(rows.target), rows.n_classes))
    model.add_left_out(rows.chunk(), nothing, left)
    model.add_log_prob(rows.chunk(), plain)
    agree(left, np.exp(plain))


def test_a_threshold_that_the_row_itself_reaches():
    """x0 = 1 was seen twice: for its own rows once, which is less than asked for."""
    rows = table_of([[1, 0], [1, 1], [0, 0], [0, 1], [0, 1]], [0, 1, 0, 1, 0], (2, 2))
    for min_count in (1.0, 2.0, 3.0):
        check_left_out(rows, np.ones(5), min_count=min_count)
    # Thirds that add up to two but for rounding are two.
    thirds = replace(
        rows,
        codes=np.repeat(rows.codes, 3, axis=0),
        target=np.repeat(rows.target, 3),
        weights=np.tile([1 / 3, 1 / 3, 1 - 2 / 3], 5),
    )
    out, whole = np.zeros((1, 2)), np.zeros((1, 2))
    averaged(thirds, min_count=2.0).add_log_prob(rows.chunk([[1, 0]]), out)
    averaged(rows, min_count=2.0).add_log_prob(rows.chunk([[1, 0]]), whole)
    np.testing.assert_allclose(out, whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("codes", "target", "own"),
    [
        ([[0, 1]], [1], 1.0),
        ([[0, 1]], [0], 1.5),
        ([[1, 0]], [1], 1.0),  # each value was seen, not both together
        ([[0, 2]], [1], 1.0),  # one value is present, and its class never had it
        ([[2, 2]], [1], 1.0),  # no row of the class is all holes
    ],
)
def test_rows_never_counted_are_refused(codes, target, own):
    rows = table_of([[0, 1], [1, 1], [1, 2], [2, 0]], [0, 1, 1, 1], (2, 2))
    with refuses(NotCounted):
        averaged(rows).add_left_out(rows.chunk(codes, target), np.full(1, own), np.zeros((1, 2)))


def test_of_one_attribute_too():
    rows = table_of([[0], [0], [1]], [0, 0, 1], (2,))
    check(rows, [[0], [1], [2]])
    check_left_out(rows, np.ones(3))
    with refuses(NotCounted, -1):
        averaged(rows).add_left_out(rows.chunk([[0]], [1]), np.ones(1), np.zeros((1, 2)))


# -- the excess over an average --------------------------------------------------------------------


@settings(max_examples=40)
@given(data=st.data(), rows=tables(at_least=1), how=HOW)
def test_the_excess_is_the_weight_of_the_super_parents(data, rows, how):
    model, asked = averaged(rows, **how), data.draw(queries(rows))
    weights = np.exp(model.log_weights[0])
    for query, found in zip(asked, model.log_excess(rows.chunk(asked)), strict=True):
        left = without_general(rows, query, how["subsumption"])
        mine = [
            weights[i]
            for i, x in enumerate(left)
            if x in rows.states(i) and rows.n({i: x}) >= max(how["min_count"], 1e-9)
        ]
        assert found == pytest.approx(math.log(sum(mine)) if sum(mine) > 0 else 0.0, abs=1e-12)


def test_without_the_excess_rows_are_a_distribution():
    """Where every value may be a super-parent, the average over all rows and classes adds up to 1."""
    rows = table_of([[0, 1], [1, 0], [1, 2], [0, 2]], [0, 1, 1, 0], (2, 3))
    every = [[a, b] for a in range(2) for b in range(3)]
    out = np.zeros((6, 2))
    averaged(rows).add_log_prob(rows.chunk(every), out)
    excess = averaged(rows).log_excess(rows.chunk(every))
    assert np.exp(out - excess[:, None]).sum() == pytest.approx(1.0, abs=1e-12)
