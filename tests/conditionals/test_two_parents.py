"""Two super-parents: equal to the definition, to exact fractions, and to a count without the row."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._conditionals import contexts, two_parents
from bayeskit._conditionals.two_parents import TwoParents, estimate_two_parents
from bayeskit._counting.count_tables import count_triples
from bayeskit._statistics.triples import Triples
from bayeskit.errors import NotCounted, SettingError
from bayeskit.extending import Chunk
from bayeskit.priors import (
    MAP,
    MLE,
    BackOff,
    BDeu,
    Dirichlet,
    Laplace,
    Lidstone,
    MEstimate,
    Smoothing,
    WittenBell,
    joint_cells,
)
from bayeskit.statistics import Schema, Variable
from refusals import refuses

PRIORS = [
    Smoothing(Laplace(), {}),
    Smoothing(MEstimate(1), {}),
    Smoothing(BDeu(5), {"x1": Lidstone(0.3)}),
    Smoothing(Dirichlet({"x0": 0.2, "x2": 3.0}), {}),
    Smoothing(MAP(2), {}),
]
NO_PRIOR = Smoothing(MLE(), {})


class Prior:
    """A fallback that tells its rows by numbers of their own: what was left out, and the class."""

    adds_prior = False

    def add_log_prob(self, chunk, out):
        out += -1000.0 - np.arange(out.shape[1])

    def add_left_out(self, chunk, own, out):
        assert len(own) == chunk.n_rows == len(chunk.target)
        out += -1000.0 - np.arange(out.shape[1])


def schema_of(sizes, n_classes):
    attributes = (Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    return Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(rows, target=None, weights=None, dtype=np.uint8):
    codes = np.ascontiguousarray(rows, dtype=dtype)
    return Chunk(
        len(codes),
        codes,
        np.empty((len(codes), 0)),
        target=None if target is None else np.asarray(target, np.uint32),
        weights=None if weights is None else np.asarray(weights, float),
    )


def slow(x, rows, target, weights, schema, smoothing, parents, votes, min_count, missing, unseen, is_state):
    """log P(c, x) by the definition, from the rows; None where no pair counts.

    ``is_state`` says which attributes had a missing value in training (held when a row is left out).
    """
    variables, n_classes = schema.categorical, schema.n_classes
    sizes = [v.size for v in variables]
    state = [missing == "state" and here for here in is_state]

    def present(k, code):
        return code < sizes[k] or (code == sizes[k] and state[k])

    def weight(**fixed):
        """The weight of the rows with these codes and class."""
        return math.fsum(
            w
            for row, c, w in zip(rows, target, weights, strict=True)
            if all((c if key == "c" else row[int(key[1:])]) == code for key, code in fixed.items())
        )

    def more(cells, k):
        """How many states beyond the declared, and the imaginary count of each."""
        return np.mean(cells, axis=0) if sizes[k] else np.ones(cells.shape[1:])

    def child(k, c, i, j):
        cells = smoothing.of(variables[k]).cells(variables[k], n_classes * sizes[i] * sizes[j])
        extra = float(more(cells, k))
        known = [v for v in range(sizes[k] + 1) if present(k, v)]
        n = {v: weight(**{"c": c, f"x{i}": x[i], f"x{j}": x[j], f"x{k}": v}) for v in known}
        a = {v: cells[v] if v < sizes[k] else extra for v in known}
        if unseen == "smooth":
            n[sizes[k] + 1], a[sizes[k] + 1] = 0.0, extra
        total = math.fsum(n.values()) + math.fsum(a.values())
        if x[k] == sizes[k] + 1 and extra == 0:
            return 1.0
        if total == 0:
            return 1 / sizes[k] if x[k] < sizes[k] else 1.0
        return (n[x[k]] + a[x[k]]) / total

    def joint(c, i, j):
        cells = joint_cells(smoothing.of(variables[i]), [variables[i], variables[j]], n_classes)
        for axis, k in ((0, i), (1, j)):
            cells = np.moveaxis(cells, axis, 0)
            extra = more(cells, k)
            cells = np.concatenate([cells, [extra * state[k]], [extra * (unseen == "smooth")]])
            cells = np.moveaxis(cells, 0, axis)
        total = n_classes * cells.sum() + math.fsum(
            w for row, w in zip(rows, weights, strict=True) if present(i, row[i]) and present(j, row[j])
        )
        if total == 0:
            return 1 / max(n_classes * sizes[i] * sizes[j], 1), cells
        return (weight(**{"c": c, f"x{i}": x[i], f"x{j}": x[j]}) + cells[x[i], x[j]]) / total, cells

    summands, heard = [[] for _ in range(n_classes)], 0.0
    for (i, j), vote in zip(itertools.combinations(parents, 2), votes, strict=True):
        never = [k for k in (i, j) if x[k] > sizes[k] and unseen != "smooth"]
        if never or not all(present(k, x[k]) or x[k] > sizes[k] for k in (i, j)) or not vote:
            continue
        if max(x[i] - sizes[i], x[j] - sizes[j]) > 0 and joint(0, i, j)[1][x[i], x[j]] == 0:
            continue
        if weight(**{f"x{i}": x[i], f"x{j}": x[j]}) < min_count * (1 - 1e-9):
            continue
        heard += vote
        for c in range(n_classes):
            factors = [joint(c, i, j)[0]]
            for k in range(len(sizes)):
                counts = present(k, x[k]) or (x[k] > sizes[k] and unseen == "smooth")
                if k not in (i, j) and counts:
                    factors.append(child(k, c, i, j))
            summands[c].append(vote * math.prod(factors))
    if not heard:
        return None
    sums = [math.fsum(each) / heard for each in summands]
    return [math.log(s) if s > 0 else -math.inf for s in sums]


@st.composite
def cases(draw, least_size=1, weights=True):
    sizes = draw(st.lists(st.integers(least_size, 3), min_size=2, max_size=5))
    parents = sorted(draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1)))
    n_classes = draw(st.sampled_from([1, 2, 3, 5, 8]))  # loops take two or four classes at once
    n = draw(st.integers(1, 12))
    # Few different rows, so that contexts come again; the size itself says missing.
    kinds = [[draw(st.integers(0, r)) for r in sizes] for _ in range(draw(st.integers(1, 4)))]
    rows = [list(draw(st.sampled_from(kinds))) for _ in range(n)]
    for row in rows:
        k = draw(st.integers(0, len(sizes) - 1))
        row[k] = draw(st.integers(0, sizes[k]))
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    some = draw(st.sampled_from([None, [1.0, 2.0], [0.3, 0.7, 1 / 3, 1.4]])) if weights else None
    return {
        "sizes": sizes,
        "parents": parents,
        "n_classes": n_classes,
        "rows": rows,
        "target": target,
        "weights": [1.0] * n if some is None else [draw(st.sampled_from(some)) for _ in range(n)],
    }


@st.composite
def settings_of(draw, n_parents):
    n_pairs = n_parents * (n_parents - 1) // 2
    votes = draw(
        st.none() | st.lists(st.sampled_from([0.0, 0.2, 1.0, 3.0]), min_size=n_pairs, max_size=n_pairs)
    )
    return {
        "smoothing": draw(st.sampled_from([*PRIORS, NO_PRIOR])),
        "min_count": draw(st.sampled_from([0, 1, 1.0, 2, 0.5])),
        "missing": draw(st.sampled_from(["ignore", "state"])),
        "unseen": draw(st.sampled_from(["ignore", "smooth"])),
        "weights": votes,
    }


def case_of(**fields):
    return {"weights": [1.0] * len(fields["rows"]), **fields}


def estimate(case, how, weights=None, dtype=np.uint8):
    schema = schema_of(case["sizes"], case["n_classes"])
    names = tuple(f"x{j}" for j in case["parents"])
    weights = case["weights"] if weights is None else weights
    triples = count_triples(chunk_of(case["rows"], case["target"], weights, dtype), schema, names)
    how = dict(how)
    return estimate_two_parents(triples, schema, how.pop("smoothing"), names, fallback=Prior(), **how)


def definition(x, case, how, weights=None):
    """The slow answers for one row, the fallback's where there is none."""
    m = len(case["parents"])
    weights = case["weights"] if weights is None else weights
    is_state = [any(row[k] == r for row in case["rows"]) for k, r in enumerate(case["sizes"])]
    votes = [1.0] * (m * (m - 1) // 2) if how["weights"] is None else how["weights"]
    answer = slow(
        x,
        case["rows"],
        case["target"],
        weights,
        schema_of(case["sizes"], case["n_classes"]),
        how["smoothing"],
        case["parents"],
        votes,
        how["min_count"],
        how["missing"],
        how["unseen"],
        is_state,
    )
    return list(-1000.0 - np.arange(case["n_classes"])) if answer is None else answer


def log_prob(model, rows, n_classes, dtype=np.uint8):
    out = np.zeros((len(rows), n_classes))
    model.add_log_prob(chunk_of(rows, dtype=dtype), out)
    return out


def left_out(model, case, own, dtype=np.uint8):
    out = np.zeros((len(case["rows"]), case["n_classes"]))
    chunk = chunk_of(case["rows"], case["target"], case["weights"], dtype)
    model.add_left_out(chunk, np.asarray(own, float), out)
    return out


def close(a, b):
    assert not np.isnan(a).any() and not np.isposinf(a).any()
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@settings(max_examples=120, deadline=None)
@given(cases(), st.data(), st.sampled_from([np.uint8, np.uint32]), st.sampled_from([3, 4096]))
def test_it_equals_the_definition(case, data, dtype, tile):
    how = data.draw(settings_of(len(case["parents"])))
    unseen = how["unseen"] == "smooth"
    asked = [[data.draw(st.integers(0, r + unseen)) for r in case["sizes"]] for _ in range(4)]
    asked += case["rows"][:2]
    with mock.patch.object(two_parents, "_TILE", tile), mock.patch.object(contexts, "_CELLS", 50 * tile):
        found = log_prob(estimate(case, how, dtype=dtype), asked, case["n_classes"], dtype)
    close(found, [definition(x, case, how) for x in asked])


def test_a_child_that_is_always_missing_beside_its_parents_is_even():
    """Without a prior, nothing is known of x2 beside x0 = x1 = 0: its states are equally likely, not 0/0."""
    rows, target = [[0, 0, 2], [0, 0, 2], [1, 1, 0], [0, 1, 1], [0, 0, 2]], [0, 0, 1, 1, 1]
    case = case_of(sizes=[2, 2, 2], parents=[0, 1], n_classes=2, rows=rows, target=target)
    how = {"smoothing": NO_PRIOR, "min_count": 1, "missing": "ignore", "unseen": "ignore", "weights": None}
    asked = [[0, 0, 0], [0, 0, 1], [1, 1, 0]]
    found = log_prob(estimate(case, how), asked, 2)
    close(found, [definition(x, case, how) for x in asked])
    np.testing.assert_allclose(np.exp(found[0]), [0.4 / 2, 0.2 / 2], rtol=1e-12)


@settings(max_examples=80, deadline=None)
@given(cases(), st.data(), st.sampled_from([np.uint8, np.uint32]), st.sampled_from([3, 4096]))
def test_leaving_a_row_out_is_counting_without_it(case, data, dtype, tile):
    how = data.draw(settings_of(len(case["parents"])))
    share = data.draw(st.sampled_from([1.0, 0.5]))
    own = [share * w for w in case["weights"]]
    with mock.patch.object(two_parents, "_TILE", tile):
        found = left_out(estimate(case, how), case, own)
    for at, x in enumerate(case["rows"]):
        rest = [w - own[at] if at == other else w for other, w in enumerate(case["weights"])]
        close(found[at], definition(x, case, how, rest))


@settings(max_examples=40, deadline=None)
@given(cases(), st.data())
def test_leaving_a_row_out_equals_the_model_counted_without_it(case, data):
    """The same against this code itself, where nothing is a state that only the row had."""
    how = {**data.draw(settings_of(len(case["parents"]))), "missing": "ignore"}
    found = left_out(estimate(case, how), case, case["weights"])
    for at, x in enumerate(case["rows"]):
        rest = [0.0 if at == other else w for other, w in enumerate(case["weights"])]
        close(found[at], log_prob(estimate(case, how, rest), [x], case["n_classes"])[0])


@settings(max_examples=40, deadline=None)
@given(cases(), st.data())
def test_leaving_nothing_out_changes_nothing(case, data):
    how = data.draw(settings_of(len(case["parents"])))
    model = estimate(case, how)
    close(left_out(model, case, [0.0] * len(case["rows"])), log_prob(model, case["rows"], case["n_classes"]))


@settings(max_examples=30, deadline=None)
@given(cases(), st.sampled_from(PRIORS), st.booleans())
def test_all_that_could_be_adds_up_to_one(case, smoothing, state):
    """With every pair heard, P(c, x) is a mean of distributions over all complete x (and missing, if a state)."""
    how = {
        "smoothing": smoothing,
        "min_count": 0,
        "missing": "state" if state else "ignore",
        "unseen": "ignore",
        "weights": None,
    }
    if len(case["parents"]) < 2:
        case["parents"] = [0, 1]
    model = estimate(case, how)
    more = [state and any(row[k] == r for row in case["rows"]) for k, r in enumerate(case["sizes"])]
    every = list(itertools.product(*(range(r + e) for r, e in zip(case["sizes"], more, strict=True))))
    assert math.isclose(np.exp(log_prob(model, every, case["n_classes"])).sum(), 1.0, rel_tol=1e-12)


def test_a_page_of_arithmetic():
    """Three attributes, one pair of super-parents (a, b), Laplace; by hand.

    Rows (a b c: class): 000:0 000:0 001:0 010:1 000:1 11?:1. Asked: a = 0, b = 0, c = 0.
    P(0, a, b) = (3 + 1)/(6 + 2·2·2) = 4/14 and P(c | 0, a, b) = (2 + 1)/(3 + 2) = 3/5;
    P(1, a, b) = (1 + 1)/14 = 2/14 and P(c | 1, a, b) = (1 + 1)/(1 + 2) = 2/3.
    """
    case = case_of(
        sizes=[2, 2, 2],
        parents=[0, 1],
        n_classes=2,
        rows=[[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 2]],
        target=[0, 0, 0, 1, 1, 1],
    )
    model = estimate(case, {"smoothing": Smoothing(Laplace(), {})})
    asked = Fraction(4, 14) * Fraction(3, 5), Fraction(2, 14) * Fraction(2, 3)
    close(log_prob(model, [[0, 0, 0]], 2)[0], [math.log(p) for p in asked])
    # c is missing: its factor is left out. a = 1, b = 1 with c = 0: no row has c, so P(c | ·) = 1/2.
    close(log_prob(model, [[0, 0, 2]], 2)[0], [math.log(4 / 14), math.log(2 / 14)])
    close(log_prob(model, [[1, 1, 0]], 2)[0], [math.log(1 / 14 / 2), math.log(2 / 14 / 2)])
    # a = 1, b = 0 was never seen: the fallback answers, and for no other row.
    close(log_prob(model, [[1, 0, 0], [0, 0, 0]], 2)[0], [-1000.0, -1001.0])
    # The fifth row left out: P(1, a, b) = (0 + 1)/(5 + 8), P(c | 1, a, b) = 1/2; class 0 loses only a row of all.
    out = left_out(model, case, [1.0] * 6)
    close(out[4], [math.log(4 / 13 * 3 / 5), math.log(1 / 13 / 2)])
    # The last row left out: nobody else has a = 1, b = 1.
    close(out[5], [-1000.0, -1001.0])


def test_three_pairs_are_averaged_in_exact_fractions():
    rows = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]]
    target = [0, 1, 1, 0, 1, 0]
    case = case_of(sizes=[2, 2, 2], parents=[0, 1, 2], n_classes=2, rows=rows, target=target)
    found = np.exp(log_prob(estimate(case, {"smoothing": Smoothing(MEstimate(1), {})}), rows, 2))
    for x, answer in zip(rows, found, strict=True):
        for c in (0, 1):
            total = Fraction(0)
            for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
                seen = [
                    row for row, y in zip(rows, target, strict=True) if (row[i], row[j], y) == (x[i], x[j], c)
                ]
                both = (len(seen) + Fraction(1, 8)) / Fraction(6 + 1)
                total += both * (sum(row[k] == x[k] for row in seen) + Fraction(1, 2)) / (len(seen) + 1)
            assert math.isclose(answer[c], total / 3, rel_tol=1e-14)


def test_many_attributes_do_not_underflow():
    rows = [[0, 0, *[state] * 38] for state in (0, 0, 1, 1, 2)]
    case = case_of(sizes=[3] * 40, parents=[0, 1], n_classes=2, rows=rows, target=[0, 0, 1, 1, 0])
    how = {"smoothing": Smoothing(Lidstone(1e-30), {})}
    model = estimate(case, how)
    assert log_prob(model, rows, 2)[0, 1] == pytest.approx(math.log(2 / 5) + 38 * math.log(1e-30 / 2))
    out = left_out(model, case, case["weights"])
    assert out[4, 0] == pytest.approx(math.log(2 / 4) + 38 * math.log(1e-30 / 2))
    np.testing.assert_allclose(
        out[4], log_prob(estimate(case, how, [1.0] * 4 + [0.0]), rows[4:], 2)[0], 1e-13
    )


def test_the_threshold_counts_the_others_only():
    case = case_of(
        sizes=[2, 2], parents=[0, 1], n_classes=2, rows=[[0, 0]] * 3 + [[1, 1]], target=[0, 1, 0, 1]
    )
    case["weights"] = [0.1, 0.2, 0.7, 1.0]  # (0.1 + 0.7) + 0.2 is a little less than 1 in doubles
    how = {"smoothing": Smoothing(Laplace(), {}), "min_count": 1}
    assert (log_prob(estimate(case, how), [[0, 0], [1, 1]], 2) > -1000).all()
    assert (left_out(estimate(case, how), case, case["weights"]) <= -1000).all()
    how["min_count"] = 0.3
    assert (left_out(estimate(case, how), case, case["weights"]) > -1000).tolist() == [[True] * 2] * 3 + [
        [False] * 2
    ]


@pytest.mark.parametrize(
    ("row", "label", "own"),
    [
        ([0, 0, 1], 0, 1.0),  # known two by two, not all three
        ([1, 0, 0], 0, 1.0),
        ([0, 0, 0], 1, 1.0),  # known in the other class
        ([0, 0, 0], 0, 2.5),
        ([0, 3, 0], 0, 1.0),  # unseen
        ([0, 1, 3], 0, 1e-3),
    ],
)
def test_rows_that_were_not_counted_are_refused(row, label, own):
    rows = [[0, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 1]]
    case = case_of(sizes=[2, 2, 2], parents=[0, 1, 2], n_classes=2, rows=rows, target=[0] * 5)
    model = estimate(case, {"smoothing": PRIORS[0], "unseen": "smooth"})
    with refuses(NotCounted):
        left_out(model, {**case, "rows": [row], "target": [label], "weights": None}, [own])
    assert np.isfinite(left_out(model, case, case["weights"])).all()
    assert np.isfinite(
        left_out(model, {**case, "rows": [row], "target": [label], "weights": None}, [0.0])
    ).all()


def test_only_the_rows_without_a_pair_fall_back():
    rows = [[0, 0], [0, 2], [1, 0], [2, 2]]
    case = case_of(sizes=[2, 2], parents=[0, 1], n_classes=3, rows=rows, target=[0, 1, 2, 0])
    fell = log_prob(estimate(case, {"smoothing": PRIORS[0]}), rows, 3)[:, 0] == -1000
    assert fell.tolist() == [False, True, False, True]
    alone = {**case, "parents": [1]}  # one super-parent makes no pair
    assert (log_prob(estimate(alone, {"smoothing": PRIORS[0]}), rows, 3)[:, 0] == -1000).all()
    assert (left_out(estimate(alone, {"smoothing": PRIORS[0]}), alone, [1.0] * 4)[:, 0] == -1000).all()
    assert log_prob(estimate(case, {"smoothing": PRIORS[0]}), np.empty((0, 2)), 3).shape == (0, 3)


def test_it_adds_to_what_is_there_and_includes_the_prior():
    case = case_of(sizes=[2, 2], parents=[0, 1], n_classes=2, rows=[[0, 0], [1, 1]], target=[0, 1])
    model = estimate(case, {"smoothing": PRIORS[0]})
    asked = [[0, 0], [0, 1]]  # the second falls back
    out = np.full((2, 2), 5.0)
    model.add_log_prob(chunk_of(asked), out)
    close(out, log_prob(model, asked, 2) + 5.0)
    assert TwoParents.adds_prior is False


def test_a_subset_of_the_counted_super_parents():
    rng = np.random.default_rng(1)
    rows, target = rng.integers(0, 3, (50, 4)).tolist(), rng.integers(0, 2, 50).tolist()
    schema = schema_of([2, 2, 2, 2], 2)
    chunk = chunk_of(rows, target)
    some = ("x0", "x1", "x3")
    of_all, of_some = (
        estimate_two_parents(
            count_triples(chunk, schema, names),
            schema,
            PRIORS[0],
            some,
            fallback=Prior(),
            weights=[1.0, 2.0, 0.5],
        )
        for names in (("x0", "x1", "x2", "x3"), some)
    )
    np.testing.assert_array_equal(log_prob(of_all, rows, 2), log_prob(of_some, rows, 2))
    a, b = np.zeros((2, 50, 2))
    of_all.add_left_out(chunk, np.ones(50), a)
    of_some.add_left_out(chunk, np.ones(50), b)
    np.testing.assert_array_equal(a, b)


def test_the_look_up_table_is_within_the_memory_told():
    case = case_of(sizes=[2, 3, 4], parents=[0, 1, 2], n_classes=3, rows=[[0, 0, 0]], target=[0])
    model = estimate(case, {"smoothing": PRIORS[0], "min_count": 0})
    told = Triples.memory(schema_of([2, 3, 4], 3), ("x0", "x1", "x2"))
    assert model.log_table.nbytes + model.triples.counts.nbytes <= told
    # By default only the contexts that were seen have a row: one for each of the three pairs.
    assert len(estimate(case, {"smoothing": PRIORS[0]}).log_table) == 3


@pytest.mark.parametrize("prior", [BackOff(), BackOff(2.0), WittenBell()])
def test_what_it_cannot_smooth_with_is_refused(prior):
    case = case_of(sizes=[2, 2], parents=[0, 1], n_classes=2, rows=[[0, 0]], target=[0])
    for smoothing in (Smoothing(prior, {}), Smoothing(Laplace(), {"x1": prior})):
        with refuses(SettingError, "AnDE(n=2)", "MEstimate", "AnDE(n=1)"):
            estimate(case, {"smoothing": smoothing})


@pytest.mark.parametrize("weights", [[1.0, 1.0], [-1.0], [np.nan], 1.0])
def test_votes_that_mean_nothing_are_refused(weights):
    case = case_of(sizes=[2, 2], parents=[0, 1], n_classes=2, rows=[[0, 0]], target=[0])
    with refuses(SettingError, "weights", 1):
        estimate(case, {"smoothing": PRIORS[0], "weights": weights})


def test_some_rows_of_a_chunk():
    whole = Chunk(
        3,
        np.eye(3, dtype=np.uint8),
        np.eye(3),
        np.eye(3),
        np.arange(3, dtype=np.uint32),
        np.arange(3.0),
        7,
        0.5,
    )
    some = whole.take(np.array([2, 0]))
    for name in ("codes", "values", "block", "target", "weights"):
        np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[[2, 0]])
    assert (some.n_rows, some.block_above) == (2, 0.5)
    bare = Chunk(2, np.eye(2), np.eye(2)).take(np.array([1]))
    assert bare.block is None and bare.target is None and bare.weights is None
