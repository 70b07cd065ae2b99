"""Naive Bayes by the definition: fractions by brute force, tables, draws, evidence, families, settings."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import chi2

from bayeskit import Discretizer, NaiveBayes
from bayeskit.errors import (
    BayeskitError,
    ColumnError,
    DataError,
    SettingError,
    SuspectColumn,
    SuspectResult,
    UnseenState,
    UsageError,
)
from bayeskit.priors import MAP, MLE, BDeu, Dirichlet, Lidstone, MEstimate, NormalInverseGamma
from reference import naive_posterior
from refusals import refuses, warns_of

# Two attributes, two classes: n(x0 | no) = a 2, b 1, c 0; n(x0 | yes) = a 0, b 1, c 1.
ROWS = [["a", "p"], ["a", "q"], ["b", "q"], ["c", "q"], ["b", "p"]]
LABELS = ["no", "no", "no", "yes", "yes"]


def fit(rows=ROWS, labels=LABELS, weights=None, **how):
    return NaiveBayes(**how).fit(rows, labels, weights)


def check_posterior(query, wanted, rows=ROWS, labels=LABELS, **how):
    """P(no | query) is this very fraction."""
    got = fit(rows, labels, **how).predict_proba([query])[0]
    wanted = Fraction(wanted)
    np.testing.assert_allclose(got, [float(wanted), float(1 - wanted)], rtol=1e-13)


# -- by the definition --------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "c", None])


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(WORDS, WORDS, st.sampled_from(["no", "perhaps", "yes"]), st.sampled_from([1, 2, 0.5])),
        min_size=1,
        max_size=10,
    ),
    st.tuples(st.sampled_from(["a", "b", "z", None]), WORDS),
    st.sampled_from([1.0, 0.5, 2.0]),
    st.sampled_from(["ignore", "state"]),
    st.sampled_from(["ignore", "smooth"]),
)
@example([(None, "a", "no", 1), (None, "a", "perhaps", 2)], ("a", "a"), 0.5, "state", "smooth")
def test_tables_equal_brute_force(table, query, alpha, missing, unseen):
    rows = [[*row[:2], "k"] for row in table]  # one column that is never missing
    labels, weights = [row[2] for row in table], [row[3] for row in table]
    model = NaiveBayes(smoothing=alpha, missing=missing, unseen=unseen, categorical_features="all").fit(
        rows, labels, weights
    )
    wanted = naive_posterior(
        rows, labels, [*query, "k"], weights=weights, prior=alpha, missing=missing, unseen=unseen
    )
    assert all(isinstance(p, Fraction) for p in wanted)
    np.testing.assert_allclose(
        model.predict_proba([[*query, "k"]])[0], [float(p) for p in wanted], rtol=1e-12
    )


def mixed(n=40, seed=0):
    rng = np.random.default_rng(seed)
    labels = [["no", "yes", "perhaps"][k] for k in rng.integers(0, 3, n)]
    rows = []
    for label in labels:
        shift = len(label)
        word = None if rng.random() < 0.1 else str(rng.choice(["p", "q", "r"]))
        number = None if rng.random() < 0.15 else float(rng.normal(shift, 0.5 + 0.2 * shift))
        rows.append([word, number, float(rng.normal())])
    return rows, labels, rng.choice([1.0, 2.0, 0.5], n).tolist()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"smoothing": 0.25},
        {"missing": "state"},
        {"variance": "unbiased"},
        {"unseen": "smooth"},
        {"class_prior": {"no": 0.5, "perhaps": 0.2, "yes": 0.3}},
    ],
    ids=str,
)
def test_mixed_rows_equal_brute_force(how, weighted):
    rows, labels, weights = mixed()
    weights = weights if weighted else None
    model = NaiveBayes(**how).fit(rows, labels, weights)
    queries = [
        ["p", 2.0, 0.1],
        ["q", None, -0.3],
        [None, 5.0, None],
        ["new", 3.0, 0.0],
        [None, None, None],
        ["r", 1.0, 1.0],
    ]
    brute = {
        "prior": how.get("smoothing", 1),
        "class_prior": how.get("class_prior"),
        "missing": how.get("missing", "ignore"),
        "unseen": how.get("unseen", "ignore"),
        "unbiased": how.get("variance") == "unbiased",
    }
    got = model.predict_proba(queries)
    for i, query in enumerate(queries):
        wanted = naive_posterior(rows, labels, query, weights=weights, **brute)
        np.testing.assert_allclose(got[i], [float(p) for p in wanted], rtol=1e-10)


@pytest.mark.parametrize("query", [["b", "p"], ["a", "p"], ["a", None], [None, None]])
def test_worked(query):
    """P(no) = 4/7; P(a|no) = 3/6, P(b|no) = 2/6, P(p|no) = 2/5; P(a|yes) = 1/5, P(b|yes) = 2/5, P(p|yes) = 2/4."""
    no = {"b": Fraction(2, 6), "a": Fraction(3, 6), "p": Fraction(2, 5), None: Fraction(1)}
    yes = {"b": Fraction(2, 5), "a": Fraction(1, 5), "p": Fraction(2, 4), None: Fraction(1)}
    joint = [Fraction(4, 7) * no[query[0]] * no[query[1]], Fraction(3, 7) * yes[query[0]] * yes[query[1]]]
    check_posterior(query, joint[0] / sum(joint))


# -- policies -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unseen", "no", "yes"),
    # The factor of the new value, beside P(no) = 4/7 and P(p|no) = 2/5, P(p|yes) = 2/4 (for smooth 2/6 and 2/5).
    [
        ("ignore", Fraction(2, 5), Fraction(2, 4)),
        ("smooth", Fraction(1, 7) * Fraction(2, 6), Fraction(1, 6) * Fraction(2, 5)),
    ],
)
def test_a_value_never_learned(unseen, no, yes):
    joint = [Fraction(4, 7) * no, Fraction(3, 7) * yes]
    check_posterior(["mauve", "p"], joint[0] / sum(joint), unseen=unseen)


def test_a_value_never_learned_can_be_refused():
    model = fit(unseen="error")
    with refuses(UnseenState, "x0", "mauve", "a, b, c"):
        model.predict([["mauve", "p"]])
    assert model.predict([[None, "p"]]).shape == (1,)


def test_missingness_as_a_state():
    """x = a, a, missing | no and missing, b | yes: P(missing|no) = 2/6, P(missing|yes) = 2/5."""
    rows = [["a"], ["a"], [None], [None], ["b"]]
    joint = [Fraction(4, 7) * Fraction(2, 6), Fraction(3, 7) * Fraction(2, 5)]
    check_posterior([None], joint[0] / sum(joint), rows, missing="state")
    seen = [Fraction(4, 7) * Fraction(3, 6), Fraction(3, 7) * Fraction(1, 5)]
    check_posterior(["a"], seen[0] / sum(seen), rows, missing="state")
    left_out = [Fraction(4, 7) * Fraction(3, 4), Fraction(3, 7) * Fraction(1, 3)]
    check_posterior(["a"], left_out[0] / sum(left_out), rows)


def test_missingness_of_a_number():
    """x = 1, 2, missing | no and missing, 4 | yes: P(missing|no) = 2/5, P(missing|yes) = 2/4."""
    rows = [[1.0, "k"], [2.0, "k"], [None, "k"], [None, "k"], [4.0, "k"]]
    joint = [Fraction(4, 7) * Fraction(2, 5), Fraction(3, 7) * Fraction(2, 4)]
    check_posterior([None, "k"], joint[0] / sum(joint), rows, missing="state")
    check_posterior([None, "k"], Fraction(4, 7), rows)


# -- tables and smoothing -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("smoothing", "no", "yes", "prior"),
    [
        (None, ["3/6", "2/6", "1/6"], ["1/5", "2/5", "2/5"], "4/7"),
        ("mle", ["2/3", "1/3", "0"], ["0", "1/2", "1/2"], "3/5"),
        (Lidstone(0.5), ["5/9", "3/9", "1/9"], ["1/7", "3/7", "3/7"], "7/12"),
        (MEstimate(6), ["4/9", "3/9", "2/9"], ["2/8", "3/8", "3/8"], "6/11"),
        (BDeu(6), ["3/6", "2/6", "1/6"], ["1/5", "2/5", "2/5"], "6/11"),
        (MAP(Dirichlet(3.0)), ["4/9", "3/9", "2/9"], ["2/8", "3/8", "3/8"], "5/9"),
        (Dirichlet({"x0": {"c": 4.0}}), ["3/9", "2/9", "4/9"], ["1/8", "2/8", "5/8"], "4/7"),
        ({"x0": MEstimate(6)}, ["4/9", "3/9", "2/9"], ["2/8", "3/8", "3/8"], "4/7"),
        ({"x0": MLE(), "y": 3}, ["2/3", "1/3", "0"], ["0", "1/2", "1/2"], "6/11"),
        ({"categorical": "mle", "x1": 1}, ["2/3", "1/3", "0"], ["0", "1/2", "1/2"], "3/5"),
        (NormalInverseGamma(), ["3/6", "2/6", "1/6"], ["1/5", "2/5", "2/5"], "4/7"),
    ],
    ids=repr,
)
def test_smoothing_by_attribute(smoothing, no, yes, prior):
    model = fit(smoothing=smoothing)
    table = model.table("x0")
    assert (table.classes, table.states) == (("no", "yes"), ("a", "b", "c"))
    wanted = [[float(Fraction(p)) for p in row] for row in (no, yes)]
    np.testing.assert_allclose(table.probabilities, wanted, rtol=1e-14, atol=1e-300)
    np.testing.assert_array_equal(table.counts, [[2, 1, 0], [0, 1, 1]])
    np.testing.assert_allclose(
        model.table("y").probabilities[:, 0], [float(Fraction(prior)), 1 - float(Fraction(prior))]
    )
    other = model.table("x1").probabilities
    if isinstance(smoothing, dict):
        np.testing.assert_allclose(other, [[2 / 5, 3 / 5], [1 / 2, 1 / 2]])


def test_a_table_by_its_labels():
    model = fit()
    table = model.table("x0")
    assert table["no", "a"] == pytest.approx(3 / 6)
    assert table["yes", "c"] == pytest.approx(2 / 5)
    frame = table.to_frame()
    assert (list(frame.index), list(frame.columns)) == (["no", "yes"], ["a", "b", "c"])
    assert frame.loc["no", "b"] == pytest.approx(2 / 6)
    assert model.table("y").counts.tolist() == [[3.0], [2.0]]
    for key in [("no", "z"), ("maybe", "a")]:
        with refuses(ColumnError, "x0", "['no', 'yes']", "['a', 'b', 'c']"):
            table[key]


def test_only_categories_have_tables():
    model = fit([[1.0, "p"], [2.0, "q"]], [0, 1])
    with refuses(ColumnError, "x0", "x1"):
        model.table("x0")
    with refuses(ColumnError, "z", "x1"):
        model.table("z")


def test_a_table_is_a_copy():
    model = fit()
    model.table("x0").counts[:] = 99.0
    model.table("x0").probabilities[:] = 99.0
    assert model.table("x0").counts.sum() == 5.0
    assert model.table("x0").probabilities.max() < 1.0


def test_declared_states_count_and_close():
    model = fit(states={"x0": ["稍糊", "c", "b", "a"]})
    table = model.table("x0")
    assert table.states == ("稍糊", "c", "b", "a")
    np.testing.assert_allclose(table.probabilities[0], [1 / 7, 1 / 7, 2 / 7, 3 / 7])
    with refuses(UnseenState, "x0", "mauve", "稍糊, c, b, a"):
        model.partial_fit([["mauve", "p"]], ["no"])
    assert model.table("x0").counts.sum() == 5.0
    numbers = fit([[1], [2], [1], [2], [1]], states={"x0": [3, 2, 1]})
    assert numbers.table("x0").states == (3, 2, 1)
    assert numbers.table("x0").counts.tolist() == [[0, 1, 2], [0, 1, 1]]
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a"], ["c", "b", "a"])})
    assert NaiveBayes().fit(frame, [0, 1]).table("x").states == ("c", "b", "a")


# -- classes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_prior", [[0.25, 0.75], {"yes": 0.75, "no": 0.25}, np.array([0.25, 0.75])])
def test_a_class_prior_that_is_given(class_prior):
    model = fit(class_prior=class_prior)
    joint = [Fraction(1, 4) * Fraction(3, 6), Fraction(3, 4) * Fraction(1, 5)]
    assert model.predict_proba([["a", None]])[0, 0] == pytest.approx(float(joint[0] / sum(joint)), rel=1e-13)
    np.testing.assert_allclose(model.predict_proba([[None, None]])[0], [0.25, 0.75])
    assert model.table("y").counts.tolist() == [[3.0], [2.0]]


@pytest.mark.parametrize(
    ("class_weight", "factor"),
    [("balanced", {"no": 5 / 6, "yes": 5 / 4}), ({"yes": 3.0}, {"no": 1.0, "yes": 3.0})],
)
def test_a_class_weight_is_the_weight_of_its_rows(class_weight, factor):
    rows = [[*row, float(i * i % 7)] for i, row in enumerate(ROWS)]
    weighted = fit(rows, class_weight=class_weight)
    same = fit(rows, weights=[factor[label] for label in LABELS])
    np.testing.assert_allclose(
        weighted.predict_joint_log_proba(rows), same.predict_joint_log_proba(rows), rtol=1e-12
    )
    assert weighted.statistics_.class_counts.tolist() == [3.0, 2.0]


def test_where_no_class_is_possible_the_prior_answers():
    model = NaiveBayes(smoothing=0).fit([["a", "p"], ["b", "q"], ["b", "q"]], [0, 1, 1])
    for ask in (model.predict_proba, lambda rows: np.exp(model.predict_log_proba(rows))):
        with warns_of(SuspectResult, 1, "alpha"):
            got = ask([["a", "q"], ["b", "q"]])
        np.testing.assert_allclose(got, [[1 / 3, 2 / 3], [0.0, 1.0]])
    with warns_of(SuspectResult, 2, "alpha"):
        assert model.predict([["a", "q"], ["b", "p"]]).tolist() == [1, 1]


# -- evidence -----------------------------------------------------------------------------------


def test_log_evidence_is_the_sum_over_classes():
    rows, labels, _ = mixed()
    model = NaiveBayes().fit(rows, labels)
    joint = model.predict_joint_log_proba(rows)
    np.testing.assert_allclose(model.log_evidence(rows), logsumexp(joint, axis=1), rtol=1e-13)
    np.testing.assert_allclose(
        joint - model.log_evidence(rows)[:, None], model.predict_log_proba(rows), rtol=1e-9, atol=1e-12
    )
    assert model.log_evidence([[None, None, None]])[0] == pytest.approx(0.0, abs=1e-12)


def test_the_evidence_of_all_rows_is_one():
    model = fit()
    every = [[a, b] for a in "abc" for b in "pq"]
    assert np.exp(model.log_evidence(every)).sum() == pytest.approx(1.0, rel=1e-13)


def test_the_evidence_of_the_impossible():
    rows = [["a", "p"], ["b", "q"]]
    model = NaiveBayes(smoothing=0).fit(rows, [0, 1])
    assert model.log_evidence([["a", "q"]])[0] == -math.inf
    assert model.log_evidence(rows).tolist() == pytest.approx([math.log(0.5)] * 2)


@pytest.mark.parametrize("calibration", [None, "temperature"])
@pytest.mark.parametrize("verb", ["predict", "predict_proba", "predict_log_proba"])
def test_a_row_that_is_impossible_is_told_at_the_line_that_asks(verb, calibration):
    model = NaiveBayes(smoothing=0, calibration=calibration).fit([["a", "p"], ["b", "q"]] * 4, [0, 1] * 4)
    with pytest.warns(SuspectResult, match="1 row") as told:
        getattr(model, verb)([["a", "q"]])
    assert [one.filename for one in told] == [__file__]


@pytest.mark.parametrize("verb", ["predict_one", "predict_proba_one"])
def test_a_row_of_a_stream_that_is_impossible_is_told_at_the_line_that_asks(verb):
    model = NaiveBayes(smoothing=0)
    for row, label in [({"u": "a", "v": "p"}, 0), ({"u": "b", "v": "q"}, 1)] * 4:
        model.learn_one(row, label)
    with pytest.warns(SuspectResult, match="1 row") as told:
        getattr(model, verb)({"u": "a", "v": "q"})
    assert [one.filename for one in told] == [__file__]


# -- draws --------------------------------------------------------------------------------------


def check_frequencies(drawn, expected):
    """A chi-square test that fails by chance once in 10,000 runs; the seed is fixed anyway."""
    observed = np.array([drawn.get(key, 0) for key in expected], float)
    wanted = np.array(list(expected.values()))
    assert observed.sum() == pytest.approx(wanted.sum())
    assert ((observed - wanted) ** 2 / wanted).sum() < chi2.ppf(0.9999, len(wanted) - 1)


def test_samples_have_the_joint_distribution_of_the_model():
    model, n = fit(), 20_000
    X, y = model.sample(n, random_state=1)
    assert X.shape == (n, 2)
    assert X.dtype == object
    drawn: dict = {}
    for (a, b), label in zip(X.tolist(), y.tolist(), strict=True):
        drawn[a, b, label] = drawn.get((a, b, label), 0) + 1
    cells = [(a, b) for a in "abc" for b in "pq"]
    joint = np.exp(model.predict_joint_log_proba([list(cell) for cell in cells]))
    check_frequencies(
        drawn,
        {(*cell, c): n * joint[i, k] for i, cell in enumerate(cells) for k, c in enumerate(["no", "yes"])},
    )


@pytest.mark.parametrize("numeric", ["gaussian", "student", "kernel", "poisson"])
def test_samples_of_numbers_have_the_moments_of_the_rows(numeric):
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    rows = rng.poisson(np.where(labels, 9.0, 3.0))[:, None].astype(float)
    model, n = NaiveBayes(numeric=numeric).fit(rows, labels), 20_000
    for label in (0, 1):
        X, y = model.sample(n, random_state=2, given_class=label)
        assert X.dtype == np.float64
        assert (y == label).all()
        own = rows[labels == label, 0]
        # Four standard errors of the mean are below 0.1; a kernel widens the spread by its bandwidth.
        assert X.mean() == pytest.approx(own.mean(), abs=0.12)
        spread = math.sqrt(own.mean()) if numeric == "poisson" else own.std()
        assert X.std() == pytest.approx(spread, rel=0.1 if numeric == "kernel" else 0.06)
        assert numeric != "poisson" or not (X % 1.0).any()


def test_samples_repeat_and_take_the_shape_of_the_rows():
    frame = pd.DataFrame({"w": ["a", "b", "a"], "n": [1.0, 2.0, 4.0]})
    model = NaiveBayes().fit(frame, ["u", "v", "u"])
    X, y = model.sample(5, random_state=3)
    assert isinstance(X, pd.DataFrame)
    assert list(X.columns) == ["w", "n"]
    again, labels = model.sample(5, random_state=np.random.default_rng(3))
    pd.testing.assert_frame_equal(X, again)
    assert y.tolist() == labels.tolist()
    assert model.predict(X).shape == (5,)
    nothing, none = model.sample(0, random_state=0)
    assert (len(nothing), len(none)) == (0, 0)
    assert set(model.sample(20, random_state=0, given_class="v")[1]) == {"v"}
    numbers = NaiveBayes().fit([[1.0, 2.0], [3.0, 5.0]], [0, 1]).sample(3, random_state=0)[0]
    assert numbers.dtype == np.float64


def test_samples_are_missing_where_missingness_is_a_state():
    rows = [[1.0], [2.0], [None], [None], [3.0], [4.0]]
    model = NaiveBayes(missing="state", smoothing=0, categorical_features=None).fit(rows, [0, 0, 0, 0, 1, 1])
    X, y = model.sample(8_000, random_state=5)
    gone = np.isnan(X[:, 0])
    assert gone[y == 0].mean() == pytest.approx(0.5, abs=0.03)
    assert not gone[y == 1].any()


def test_what_cannot_be_drawn():
    model = fit()
    with refuses(SettingError, "n_samples", -1):
        model.sample(-1)
    with refuses(UnseenState, "y", "maybe"):
        model.sample(1, given_class="maybe")


# -- families -----------------------------------------------------------------------------------


def counts(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "word": rng.choice(["p", "q"], n),
            "flag": rng.integers(0, 2, n),
            "calls": rng.poisson(3, n),
            "size": rng.normal(size=n),
            "odd": rng.exponential(size=n) ** 3,
        }
    )


def test_families_and_why():
    X = counts()
    chosen = NaiveBayes().fit(X, np.arange(60) % 2).families_
    assert {name: c.family for name, c in chosen.items()} == {
        "word": "table",
        "flag": "gaussian",
        "calls": "gaussian",
        "size": "gaussian",
        "odd": "gaussian",
    }
    assert {name: c.suggestion for name, c in chosen.items()} == {
        "word": None,
        "flag": "bernoulli",
        "calls": "poisson",
        "size": None,
        "odd": "kernel",
    }
    assert chosen["word"].why == "categorical, 2 states"
    assert chosen["size"].why == "numeric"
    assert "counts" in chosen["calls"].why


def test_families_that_are_asked_for():
    X, y = counts(), np.arange(60) % 2
    asked = {"flag": "bernoulli", "calls": "poisson", "odd": "kernel", "size": "student", "word": "table"}
    model = NaiveBayes(families=asked).fit(X, y)
    assert {name: c.family for name, c in model.families_.items()} == asked
    assert {c.why for c in model.families_.values()} == {"asked for in families="}
    assert model.schema_["flag"].states == (0, 1)
    one = NaiveBayes(families={"calls": "table"}).fit(X, y)
    assert one.table("calls").states == tuple(sorted(set(X["calls"].tolist())))
    assert NaiveBayes(numeric="poisson").fit(X[["calls"]], y).families_["calls"].suggestion is None


def test_bernoulli_is_a_table_of_two_states():
    rows = [[0], [1], [1], [1], [1]]
    model = NaiveBayes(families={"x0": "bernoulli"}).fit(rows, LABELS)
    np.testing.assert_allclose(model.table("x0").probabilities, [[2 / 5, 3 / 5], [1 / 4, 3 / 4]])
    with refuses(UnseenState, "x0", 2):
        model.partial_fit([[2]], ["no"])


def test_a_numeric_prior_makes_the_students_family():
    rows, labels = [[1.0], [2.0], [4.0], [5.0]], [0, 0, 1, 1]
    by_prior = NaiveBayes(smoothing=NormalInverseGamma(kappa=2.0)).fit(rows, labels)
    assert by_prior.families_["x0"].family == "student"
    other = NaiveBayes(numeric="student").fit(rows, labels)
    assert not np.allclose(by_prior.predict_proba(rows), other.predict_proba(rows))
    kind = NaiveBayes(smoothing={"numeric": NormalInverseGamma(kappa=2.0)}).fit(rows, labels)
    np.testing.assert_array_equal(kind.predict_proba(rows), by_prior.predict_proba(rows))


def test_families_chosen_by_leave_one_out_are_held():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = pd.DataFrame(
        {
            "bell": rng.normal(y, 1.0),
            "far": np.where(y, rng.choice([-4.0, 4.0], 400), 0.0) + rng.normal(size=400) * 0.3,
        }
    )
    model = NaiveBayes(families="auto").fit(X, y)
    assert model.held_ == {"families": {"bell": "gaussian", "far": "kernel"}}
    assert {c.why for c in model.families_.values()} == {"least leave-one-out log-loss"}
    same = NaiveBayes(families={"bell": "gaussian", "far": "kernel"}).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    model.partial_fit(X[:50], y[:50])
    same.partial_fit(X[:50], y[:50])
    assert model.held_ == {"families": {"bell": "gaussian", "far": "kernel"}}
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    first = NaiveBayes(families="auto").partial_fit(X, y)
    assert first.held_ == model.held_
    assert NaiveBayes().fit(X, y).held_ == {}
    assert NaiveBayes(families="auto").fit([["a"], ["b"]], [0, 1]).held_ == {"families": {}}


def test_auto_warns_once():
    X = pd.DataFrame({"id": np.arange(30), "x": np.random.default_rng(0).normal(size=30)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        NaiveBayes(families="auto").fit(X, np.arange(30) % 2)
    assert [w.category for w in caught] == [SuspectColumn]


def test_auto_needs_rows_that_can_be_read_again():
    batches = [([[1.0], [2.0]], [0, 1])]
    with refuses(TypeError, "NaiveBayes", 'families="auto"', "list_iterator"):
        NaiveBayes(families="auto").fit(iter(batches))
    with refuses(UsageError, 'families="auto"', "lazy"):
        NaiveBayes(families="auto").lazy([[1.0], [2.0]], [0, 1])


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = counts()[["size", "odd"]], np.arange(60) % 2
    model = NaiveBayes(families="auto").fit(X, y)
    before = model.predict_proba(X), model.held_, model.families_
    with pytest.raises(DataError):
        model.fit(X, y[:5])
    np.testing.assert_array_equal(model.predict_proba(X), before[0])
    assert (model.held_, model.families_) == before[1:]


# -- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"smoothing": -1.0}, ["smoothing", -1.0]),
        ({"variance": "both"}, ["variance", "both", "mle", "unbiased"]),
        ({"numeric": "cauchy"}, ["numeric", "cauchy"]),
        ({"missing": "drop"}, ["missing", "drop"]),
        ({"unseen": "guess"}, ["unseen", "guess"]),
        ({"families": "best"}, ["families", "best"]),
        ({"families": {"x0": "cauchy"}}, ["families['x0']", "cauchy"]),
        ({"families": {"z": "table"}}, ["z", "x0", "x1"]),
        ({"states": {"z": ["a"]}}, ["z", "x0", "x1"]),
        ({"class_prior": [0.5, 0.6]}, [1, 1.1]),
        ({"class_weight": "even"}, ["class_weight", "even"]),
        ({"categorical_features": ["z"]}, ["categorical_features", "z"]),
    ],
    ids=str,
)
def test_settings_that_mean_nothing(how, says):
    with refuses((SettingError, ColumnError), *says):
        fit(**how).predict_proba(ROWS)


# -- forgetting ---------------------------------------------------------------------------------


def test_nothing_left_is_said():
    model = fit().forget(ROWS, LABELS)
    with pytest.raises((DataError, UsageError)):
        model.predict_proba(ROWS)


def test_forgetting_is_all_or_nothing_over_batches():
    model = fit()
    before = model.predict_joint_log_proba(ROWS)
    with pytest.raises(DataError):
        model.forget(iter([([["a", "p"]], ["no"]), ([["zz", "p"]], ["yes"])]))
    np.testing.assert_array_equal(model.predict_joint_log_proba(ROWS), before)


def test_weights_of_different_sizes_leave_no_ghost():
    model = NaiveBayes(smoothing=0).fit([["a"], ["a"], ["b"]], [0, 0, 0], [1e6, 0.1, 1.0])
    model.forget([["a"]], [0], [1e6]).forget([["a"]], [0], [0.1])
    assert model.table("x0").states == ("b",)
    assert not np.isnan(model.predict_joint_log_proba([["a"], ["b"]])).any()


# -- numbers cut into intervals --------------------------------------------------------------------


def measured_rows(n: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, n)
    X = np.column_stack([y + rng.normal(0, 0.4, n), (y == 1) + rng.normal(0, 0.3, n), rng.normal(size=n)])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.array(["a", "b", "c"])[y]


def test_mdl_is_naive_bayes_of_the_intervals_that_the_discretizer_cuts() -> None:
    X, y = measured_rows()
    model = NaiveBayes(numeric="mdl").fit(X, y)
    cutter = Discretizer().fit(X, y)
    assert {n: list(c) for n, c in model.cut_points_.items()} == {
        n: c.tolist() for n, c in cutter.cut_points_.items()
    }
    assert len(model.cut_points_["x0"]) == 4 and model.cut_points_["x2"] == ()
    words = NaiveBayes(categorical_features="all").fit(cutter.transform(X), y)
    assert np.allclose(model.predict_proba(X), words.predict_proba(cutter.transform(X)), rtol=0, atol=1e-12)
    assert "5 intervals" in model.families_["x0"].why


def test_mdl_holds_its_cut_points_and_takes_given_ones() -> None:
    X, y = measured_rows()
    model = NaiveBayes(numeric="mdl", cut_points={"x1": [0.5]}).fit(X[:200], y[:200])
    held = model.cut_points_
    assert held["x1"] == (0.5,)
    model.partial_fit(X[200:], y[200:])
    assert model.cut_points_ == held
    model.forget(X[200:], y[200:])
    again = NaiveBayes(numeric="mdl", cut_points={"x1": [0.5]}).fit(X[:200], y[:200])
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


def test_mdl_learns_a_stream_like_the_rows_at_once() -> None:
    """Cut points are chosen from the rows before the first prediction, then held, as those of a first fit."""
    X, y = measured_rows(200)
    rows = [dict(zip(("x0", "x1", "x2"), row.tolist(), strict=True)) for row in X]
    stream = NaiveBayes(numeric="mdl")
    for row, label in zip(rows[:150], y[:150], strict=True):
        stream.learn_one(row, label)
    at_once = NaiveBayes(numeric="mdl").fit(X[:150], y[:150])
    assert stream.cut_points_ == at_once.cut_points_ and len(stream.cut_points_["x0"]) > 1
    for row, label in zip(rows[150:], y[150:], strict=True):
        stream.learn_one(row, label)
    at_once.partial_fit(X[150:], y[150:])
    assert stream.cut_points_ == at_once.cut_points_
    found = [list(stream.predict_proba_one(row).values()) for row in rows[:20]]
    np.testing.assert_allclose(found, at_once.predict_proba(X[:20]), rtol=0, atol=1e-12)


def test_a_named_family_is_not_cut() -> None:
    X, y = measured_rows()
    model = NaiveBayes(numeric="mdl", families={"x0": "kernel"}).fit(X, y)
    assert model.families_["x0"].family == "kernel" and model.families_["x1"].family == "table"
    assert set(model.cut_points_) == {"x1", "x2"}


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"numeric": "gaussian", "cut_points": {"x0": [1.0]}}, ["gaussian"]),
        ({"numeric": "mdl", "cut_points": [1.0]}, [[1.0]]),
        ({"numeric": "mdl", "families": "auto"}, []),
        ({"numeric": "mdl", "families": {"x0": "kernel"}, "cut_points": {"x0": [1.0]}}, ["x0"]),
        ({"numeric": "mdl", "cut_points": {"z": [1.0]}}, ["z"]),
    ],
)
def test_cut_points_that_mean_nothing_are_refused(settings: Any, names: list[Any]) -> None:
    X, y = measured_rows(30)
    with refuses(BayeskitError, *names):
        NaiveBayes(**settings).fit(X, y)
