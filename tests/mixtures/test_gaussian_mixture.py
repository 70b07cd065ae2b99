"""The public Gaussian mixture: scikit-learn's numbers, and what it has beyond scikit-learn."""

from __future__ import annotations

import gzip
import inspect
import json
import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.mixture import GaussianMixture as Peer
from sklearn.utils.estimator_checks import check_estimator

from bayeskit import GaussianMixture, load
from bayeskit._io.saved import SavedContent, read_saved, write_saved
from bayeskit.errors import (
    BayeskitError,
    ColumnError,
    DataError,
    DataTypeError,
    InfiniteValue,
    ModelFormatError,
    NotConverged,
    SettingError,
    SuspectResult,
    UsageError,
    WeightError,
)
from outside import DATA
from refusals import refuses, unnamed, warns_of

TYPES = ("full", "tied", "diag", "spherical")
IRIS = load_iris().data


def given_start(kind, k=3, rows=(139, 93, 102), data=IRIS):
    """A start in the shapes that scikit-learn takes."""
    precision = 1.0 / data.var(axis=0)
    precisions = {
        "full": np.tile(np.diag(precision), (k, 1, 1)),
        "tied": np.diag(precision),
        "diag": np.tile(precision, (k, 1)),
        "spherical": np.full(k, precision.mean()),
    }[kind]
    weights = np.arange(1.0, k + 1)
    return {
        "weights_init": weights / weights.sum(),
        "means_init": data[list(rows)],
        "precisions_init": precisions,
    }


def quiet(function, *arguments, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **more)


def with_holes(data, share=0.2, seed=0):
    holed = data.copy()
    holed[np.random.default_rng(seed).random(data.shape) < share] = np.nan
    return holed


# -- scikit-learn's own checks and numbers ---------------------------------------------------------


def test_scikit_learn_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "on_fail" not in inspect.signature(check_estimator).parameters:
            check_estimator(GaussianMixture())
            return
        results = check_estimator(GaussianMixture(), on_fail=None)
    assert not {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "skipped")}
    assert sum(r["status"] == "passed" for r in results) > 35


def test_the_constructor_has_all_that_scikit_learn_has():
    theirs, ours = (inspect.signature(cls).parameters for cls in (Peer, GaussianMixture))
    assert list(theirs) == list(ours)[: len(theirs)]
    for name, parameter in theirs.items():
        assert (ours[name].default, ours[name].kind) == (parameter.default, parameter.kind)
    made = quiet(GaussianMixture(2, random_state=0).fit, IRIS)
    fitted = {name for name in vars(quiet(Peer(2, random_state=0).fit, IRIS)) if name.endswith("_")}
    assert fitted <= set(vars(made))


def same_numbers(ours, theirs, rtol=1e-8):
    assert ours.n_iter_ == theirs.n_iter_ and ours.converged_ == theirs.converged_
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "lower_bound_"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=rtol, atol=1e-9, err_msg=name
        )
    if hasattr(theirs, "lower_bounds_"):  # scikit-learn 1.7 and later keep them
        np.testing.assert_allclose(ours.lower_bounds_, theirs.lower_bounds_, rtol=rtol)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("how", [{"tol": 1e-3}, {"tol": 1e-6, "max_iter": 7}, {"tol": 0.0, "max_iter": 20}])
def test_every_step_and_the_stop_are_scikit_learns(kind, how):
    start = given_start(kind)
    ours = quiet(GaussianMixture(3, covariance_type=kind, **how, **start).fit, IRIS)
    theirs = quiet(Peer(3, covariance_type=kind, **how, **start).fit, IRIS)
    same_numbers(ours, theirs)
    for verb in ("predict", "predict_proba", "score_samples", "score", "bic", "aic"):
        np.testing.assert_allclose(
            getattr(ours, verb)(IRIS), getattr(theirs, verb)(IRIS), rtol=1e-7, atol=1e-9
        )
    assert ours.history_[:-1] / len(IRIS) == pytest.approx(ours.lower_bounds_)
    assert ours.history_[-1] == pytest.approx(ours.score(IRIS) * len(IRIS))


@pytest.mark.parametrize("kind", TYPES)
def test_samples_are_scikit_learns(kind):
    start = given_start(kind)
    ours = quiet(GaussianMixture(3, covariance_type=kind, random_state=5, **start).fit, IRIS)
    theirs = quiet(Peer(3, covariance_type=kind, random_state=5, **start).fit, IRIS)
    (rows, components), (expected, labels) = ours.sample(40), theirs.sample(40)
    np.testing.assert_allclose(rows, expected, rtol=1e-6, atol=1e-8)
    assert components.tolist() == labels.tolist()


@pytest.mark.parametrize("part", ["weights_init", "means_init"])
def test_a_part_of_a_start_replaces_what_was_found(part):
    only = {part: given_start("full")[part]}
    made = quiet(GaussianMixture(3, max_iter=0, random_state=0, **only).fit, IRIS)
    np.testing.assert_array_equal(getattr(made, part.replace("init", "")), only[part])
    other = "means_" if part == "weights_init" else "weights_"
    found = quiet(GaussianMixture(3, max_iter=0, random_state=0).fit, IRIS)
    np.testing.assert_array_equal(getattr(made, other), getattr(found, other))
    assert made.n_iter_ == 0 and len(made.history_) == 1


def golden():
    path = DATA / "golden" / "em" / "gaussian_mixture.json.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt") as file:
        return json.load(file)


@pytest.mark.skipif(not golden(), reason="the numbers of other software are not here")
def test_numbers_kept_from_scikit_learn():
    rows = {
        "iris": pl.read_parquet(DATA / "tabular" / "iris.parquet")[:, :4],
        "synthetic2000x5": pl.read_parquet(DATA / "golden" / "em" / "synthetic2000x5.parquet"),
    }
    for case in golden():
        made = GaussianMixture(
            case["n_components"],
            covariance_type=case["covariance_type"],
            tol=0.0,
            reg_covar=case["reg_covar"],
            max_iter=case["max_iter"],
            **{name: case[name] for name in ("weights_init", "means_init", "precisions_init")},
        )
        data = rows[case["data"]]
        quiet(made.fit, data)
        rtol = 1e-6 if case["max_iter"] == 50 else 1e-9
        for name in ("weights", "means", "covariances", "precisions", "lower_bound"):
            np.testing.assert_allclose(getattr(made, name + "_"), case[name], rtol=rtol, atol=rtol * 1e-2)
        assert made.history_[-1] == pytest.approx(case["total_loglik_after"], rel=1e-8)
        assert made.score(data) == pytest.approx(case["mean_loglik_after"], rel=1e-8)
        assert made.bic(data) == pytest.approx(case["bic"], rel=1e-8)
        assert made.aic(data) == pytest.approx(case["aic"], rel=1e-8)
        shares = made.predict_proba(data[:20])
        np.testing.assert_allclose(shares, case["responsibilities_first20"], rtol=1e-5, atol=1e-9)


# -- missing cells, weights, steps -----------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
def test_missing_cells_are_summed_out(kind):
    holed = np.vstack([with_holes(IRIS[:25], 0.4), np.full(4, np.nan)])
    made = quiet(GaussianMixture(3, covariance_type=kind, **given_start(kind)).fit, IRIS)
    full = made._components().full_covariances
    for row, density, shares in zip(holed, made.score_samples(holed), made.predict_proba(holed), strict=True):
        there = ~np.isnan(row)
        joint = made.weights_ * [
            multivariate_normal(m[there], c[np.ix_(there, there)]).pdf(row[there]) if there.any() else 1.0
            for m, c in zip(made.means_, full, strict=True)
        ]
        assert density == pytest.approx(np.log(joint.sum()), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(shares, joint / joint.sum(), rtol=1e-7, atol=1e-12)


def test_rows_without_any_cell_move_nothing_that_is_still():
    holed = with_holes(IRIS, 0.2)
    holed = holed[~np.isnan(holed).all(axis=1)]
    still = quiet(GaussianMixture(3, tol=1e-13, max_iter=5000, reg_covar=0, **given_start("full")).fit, holed)
    assert still.converged_
    start = {name + "_init": getattr(still, name + "_") for name in ("weights", "means", "precisions")}
    more = np.vstack([holed, np.full((30, 4), np.nan)])
    moved = quiet(GaussianMixture(3, tol=0, max_iter=3, reg_covar=0, **start).fit, more)
    np.testing.assert_allclose(moved.weights_, still.weights_, atol=1e-5)
    np.testing.assert_allclose(moved.means_, still.means_, atol=1e-5)
    # Their probability is 1, whatever the components are.
    np.testing.assert_allclose(moved.history_[0], still.history_[-1], rtol=1e-10)


@settings(max_examples=20)
@given(
    st.integers(0, 10**6),
    st.sampled_from(TYPES),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
)
def test_the_value_cannot_fall(seed, kind, k, share, hard):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 3)) + 2.5 * rng.integers(0, 3, size=(60, 1))
    rows = with_holes(rows, share, seed)
    made = GaussianMixture(
        k, covariance_type=kind, reg_covar=0.0, tol=0.0, max_iter=12, hard=hard, random_state=seed % 1000
    )
    quiet(made.fit, rows)
    history = made.history_
    if not made.collapsed_:  # what is put under a component without spread may let it fall
        assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all() and not made.fell_
    assert np.isfinite(history).all() and len(history) == made.n_iter_ + 1
    assert made.weights_.sum() == pytest.approx(1.0)
    if not hard:
        assert history[-1] == pytest.approx(made.score_samples(rows).sum(), rel=1e-8)


@pytest.mark.parametrize("kind", TYPES)
def test_weights_are_repetitions_and_threads_change_nothing(kind):
    rng = np.random.default_rng(1)
    holed, times = with_holes(IRIS), rng.integers(0, 4, len(IRIS))
    make = partial(GaussianMixture, 3, covariance_type=kind, tol=0, max_iter=10, **given_start(kind))
    weighted = quiet(make().fit, holed, sample_weight=times)
    repeated = quiet(make().fit, np.repeat(holed, times, axis=0))
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(weighted.history_, repeated.history_, rtol=1e-10)
    rows = np.repeat(holed, times, axis=0)
    assert weighted.bic(holed, times) == pytest.approx(repeated.bic(rows), rel=1e-9)
    assert weighted.score(holed, sample_weight=times) == pytest.approx(repeated.score(rows), rel=1e-9)
    threaded = quiet(make(n_jobs=3).fit, holed, sample_weight=times)
    assert (threaded.covariances_ == weighted.covariances_).all()
    assert (threaded.history_ == weighted.history_).all()


def test_hard_steps_by_hand():
    # Rows 0, 1 | 8, 9 from starts at 0 and 9: each goes to its own, so w = ½, means 0.5 and 8.5, variances ¼.
    start = {"weights_init": [0.5, 0.5], "means_init": [[0.0], [9.0]], "precisions_init": [[1.0], [1.0]]}
    made = GaussianMixture(2, covariance_type="diag", hard=True, reg_covar=0.0, **start)
    made.fit([[0.0], [1.0], [8.0], [9.0]])
    np.testing.assert_allclose(made.means_, [[0.5], [8.5]])
    np.testing.assert_allclose(made.covariances_, [[0.25], [0.25]])
    # Σ log(½ N(x; μ, ¼)) = 4 (log ½ − ½ log(2π/4) − ½)
    assert made.history_[-1] == pytest.approx(4 * (np.log(0.5) - 0.5 * np.log(np.pi / 2) - 0.5))
    assert made.converged_


def test_acceleration_ends_as_high_in_fewer_steps():
    rng = np.random.default_rng(3)
    rows = np.vstack([rng.normal(0, 1, (300, 2)), rng.normal(1.5, 1, (300, 2))])
    start = {
        "weights_init": [0.5, 0.5],
        "means_init": rows[:2],
        "precisions_init": np.tile(np.eye(2), (2, 1, 1)),
    }
    plain, fast = (
        quiet(GaussianMixture(2, tol=1e-9, max_iter=3000, accelerate=a, reg_covar=0, **start).fit, rows)
        for a in (False, True)
    )
    assert plain.converged_ and fast.converged_
    assert fast.n_iter_ < plain.n_iter_ / 2
    assert fast.history_[-1] >= plain.history_[-1] - 1e-5
    assert (np.diff(fast.history_) >= -1e-9 * np.abs(fast.history_[1:])).all()


def test_restarts_find_the_better_of_two_optima():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(c, 0.3, (40, 1)) for c in (0.0, 4.0, 20.0)])
    poor = {"means_init": [[0.0], [19.8], [20.2]], "weights_init": [2 / 3, 1 / 6, 1 / 6]}
    one = quiet(
        GaussianMixture(
            3, covariance_type="tied", precisions_init=[[1.0]], tol=1e-8, max_iter=500, **poor
        ).fit,
        rows,
    )
    many = GaussianMixture(
        3,
        covariance_type="tied",
        init_params="random_from_data",
        n_init=12,
        tol=1e-8,
        max_iter=500,
        random_state=0,
    )
    quiet(many.fit, rows)
    assert one.converged_ and many.converged_ and len(many.starts_) == 12
    assert many.history_[-1] > one.history_[-1] + 50
    assert many.history_[-1] >= many.starts_.max() - 1e-9
    assert sorted(many.means_.ravel().round().tolist()) == [0.0, 4.0, 20.0]


@pytest.mark.parametrize("start", ["kmeans", "k-means++", "random", "random_from_data"])
def test_random_states_repeat_with_and_without_holes(start):
    for rows in (IRIS, with_holes(IRIS)):
        a, b = (quiet(GaussianMixture(3, init_params=start, random_state=4).fit, rows) for _ in range(2))
        assert (a.means_ == b.means_).all() and np.isfinite(a.history_).all()
        c = quiet(GaussianMixture(3, init_params=start, random_state=np.random.RandomState(4)).fit, rows)
        assert (a.means_ == c.means_).all()
    assert quiet(GaussianMixture(3, init_params=start, n_init=3).fit, IRIS).score(IRIS) > -3.5


def test_a_warm_start_goes_on():
    make = partial(GaussianMixture, 3, tol=0.0, **given_start("full"))
    whole = quiet(make(max_iter=6).fit, IRIS)
    steps = make(max_iter=3, warm_start=True)
    quiet(steps.fit, IRIS)
    quiet(steps.fit, IRIS)
    np.testing.assert_allclose(steps.means_, whole.means_, rtol=1e-10)
    with refuses(SettingError, "warm_start=True", 3, 4):
        steps.fit(IRIS[:, :2])


# -- online ----------------------------------------------------------------------------------------


def two_clouds(n, seed):
    rng = np.random.default_rng(seed)
    which = rng.random(n) < 0.3
    return np.where(which[:, None], rng.normal((4.0, 0.0), 1.0, (n, 2)), rng.normal((0.0, 3.0), 1.5, (n, 2)))


@pytest.mark.parametrize("kind", TYPES)
def test_batches_lead_to_where_all_rows_lead(kind):
    rows = two_clouds(8000, 7)
    whole = quiet(GaussianMixture(2, covariance_type=kind, random_state=0, tol=1e-6, max_iter=500).fit, rows)
    online = GaussianMixture(2, covariance_type=kind, random_state=0)
    for batch in np.array_split(rows, 80):
        quiet(online.partial_fit, batch)
    assert online.rows_seen_ == 8000
    assert online.score(rows) == pytest.approx(whole.score(rows), abs=0.01)
    order, its = np.argsort(whole.means_[:, 0]), np.argsort(online.means_[:, 0])
    np.testing.assert_allclose(online.means_[its], whole.means_[order], atol=0.25)


def test_a_step_of_a_batch_is_the_mixed_sums():
    rows, batch = two_clouds(400, 1), two_clouds(100, 2)
    made = GaussianMixture(2, random_state=0, reg_covar=1e-3).fit(rows)
    shares = made.predict_proba(batch)
    w, m, c = made.weights_.copy(), made.means_.copy(), made.covariances_ - 1e-3 * np.eye(2)
    made.partial_fit(batch)
    gamma = (400 / 100 + 2) ** -0.6
    n = (1 - gamma) * w + gamma * shares.mean(axis=0)
    first = (1 - gamma) * w[:, None] * m + gamma * shares.T @ batch / 100
    means = first / n[:, None]
    second = (1 - gamma) * w[:, None, None] * (c + np.einsum("ki,kj->kij", m, m))
    second += gamma * np.einsum("nk,ni,nj->kij", shares, batch, batch) / 100
    covariances = second / n[:, None, None] - np.einsum("ki,kj->kij", means, means) + 1e-3 * np.eye(2)
    np.testing.assert_allclose(made.weights_, n, rtol=1e-10)
    np.testing.assert_allclose(made.means_, means, rtol=1e-9)
    np.testing.assert_allclose(made.covariances_, covariances, rtol=1e-8)


def test_batches_that_cannot_start_and_rows_that_cannot_be_forgotten():
    made = GaussianMixture(3)
    with refuses(DataError, "n_samples", "n_components", 3, 2):
        made.partial_fit(IRIS[:2])
    quiet(made.partial_fit, IRIS[:100])
    quiet(made.partial_fit, IRIS[100:101])
    with refuses(ColumnError, 2, "GaussianMixture", 4):
        made.partial_fit(IRIS[:, :2])
    with refuses(UsageError, "mixture", "forget"):
        made.forget(IRIS[:1])


# -- doors -----------------------------------------------------------------------------------------


def test_frames_keep_names_and_may_change_the_order_of_columns():
    names = ["长", "宽", "c", "d"]
    rows = with_holes(IRIS)
    plain = quiet(GaussianMixture(3, **given_start("full")).fit, rows)
    for frame in (pd.DataFrame(rows, columns=names), pl.DataFrame(rows, schema=names)):
        made = quiet(GaussianMixture(3, **given_start("full")).fit, frame)
        assert made.feature_names_in_.tolist() == names and made.n_features_in_ == 4
        assert (made.means_ == plain.means_).all()
        assert (made.predict(frame[names[::-1]]) == plain.predict(rows)).all()
        with refuses(ColumnError, "missing", "d"):
            made.predict(frame[names[:3]])
    table = made.describe()
    assert "长" in str(table) and "±" in str(table)
    assert list(table.frame().columns)[:4] == ["component", "weight", "mean of 长", "sd of 长"]


def test_what_a_notebook_shows_is_escaped():
    frame = pd.DataFrame(IRIS, columns=["<script>", "b", "c", "d"])
    made = GaussianMixture(2, random_state=0)
    assert made._repr_html_().partition("</style>\n")[2].startswith("<pre>GaussianMixture(")
    shown = quiet(made.fit, frame)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown and len(shown) < 3000
    assert made._repr_mimebundle_()["text/html"] == shown


def test_clones_and_pickles():
    made = quiet(GaussianMixture(3, **given_start("diag"), covariance_type="diag").fit, IRIS)
    again = pickle.loads(pickle.dumps(made))
    assert (again.predict_proba(IRIS) == made.predict_proba(IRIS)).all()
    with pytest.raises(NotFittedError):
        clone(made).predict(IRIS)


def test_not_converged_says_so_with_the_way_out():
    made = GaussianMixture(3, max_iter=2, **given_start("full"))
    with warns_of(NotConverged, 2, "max_iter", "history_") as told:
        made.fit(IRIS)
    assert all(issubclass(w.category, ConvergenceWarning) for w in told)
    assert told[0].filename == __file__
    with warns_of(ConvergenceWarning, "time_limit", 0.0):
        GaussianMixture(3, time_limit=0, **given_start("full")).fit(IRIS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianMixture(3, max_iter=0, **given_start("full")).fit(IRIS)


def test_progress_is_told(capsys):
    quiet(GaussianMixture(2, verbose=2, verbose_interval=1, n_init=2, random_state=0).fit, IRIS)
    said = capsys.readouterr().out
    assert "Initialization 0" in said and "Initialization 1" in said and "Initialization converged." in said
    assert "  Iteration 1" in said and "ll change" in said


# -- bad input -------------------------------------------------------------------------------------

ROWS = IRIS[:30]
BAD_ROWS = [
    (ROWS[:2], DataError, ["n_samples", "n_components", 3, 2]),
    (ROWS[:1], DataError, [1, "(1, 4)", 2, "GaussianMixture"]),
    (ROWS[:0], DataError, [0, "(0, 4)", 1]),
    (np.column_stack([ROWS, np.full(30, np.nan)]), ColumnError, ["x4"]),
    (np.full((9, 2), np.nan), ColumnError, ["x0"]),
    (np.where(ROWS[3, 1] == ROWS, np.inf, ROWS), InfiniteValue, ["x1", "inf", 3]),
    (np.where(np.arange(120).reshape(30, 4) == 6, 1e200, ROWS), DataError, ["x2", 1e200, 1]),
    (ROWS.astype(complex), ColumnError, ["Complex"]),
    (ROWS[:, 0], DataError, ["2D", "1D"]),
    (ROWS[None], DataError, [3, 2]),
    (ROWS[0, 0], BayeskitError, ["0D"]),
    (csr_array(ROWS), DataTypeError, ["GaussianMixture", "X.toarray"]),
    (
        pd.DataFrame({"a": [1.0, 2, 3], "b": ["x", "y", "z"]}),
        ColumnError,
        ["b", "x", 0, "LatentClass"],
    ),
    (np.array([["1", "2"], ["3", "4"], ["5", "6"]]), ColumnError, ["x0", "1", 0]),
    (pd.DataFrame({"a": pd.date_range("2020", periods=4)}), ColumnError, ["a", "exclude=['a']"]),
    ("rows.csv", DataTypeError, ["str"]),
]


@pytest.mark.parametrize(("rows", "kind", "says"), BAD_ROWS, ids=[str(case[2]) for case in BAD_ROWS])
def test_rows_that_cannot_be_used(rows, kind, says):
    with refuses(kind, *says):
        GaussianMixture(3).fit(rows)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        (-np.ones(30), [0, -1.0, "negative"]),
        (np.zeros(30), ["weights", "zero"]),
        (np.ones(29), [29, "weights", 30]),
        (np.full(30, np.nan), [0, "nan"]),
        (["a"] * 30, ["weights", "numbers"]),
    ],
)
def test_weights_that_cannot_be_used(weights, says):
    with refuses(WeightError, *says):
        GaussianMixture(3).fit(ROWS, sample_weight=weights)


def test_rows_of_no_weight_are_not_there():
    with refuses(DataError, "n_samples", 2):
        GaussianMixture(3).fit(ROWS, sample_weight=[1.0, 1.0] + [0.0] * 28)


BAD_SETTINGS = [
    ({"n_components": 0}, ["n_components", 0]),
    ({"n_components": 2.0}, ["n_components", 2.0]),
    ({"n_components": "many"}, ["n_components", "many", "bic", "aic"]),
    ({"n_components": []}, ["n_components", "empty"]),
    ({"n_components": [1, 0]}, ["n_components", 0]),
    ({"n_components": True}, ["n_components", True]),
    ({"covariance_type": "round"}, ["covariance_type", "round"]),
    ({"covariance_type": []}, ["covariance_type", "[]"]),
    ({"covariance_type": ["full", 3]}, ["covariance_type", 3]),
    ({"tol": -1.0}, ["tol", -1.0]),
    ({"tol": np.nan}, ["tol", "nan"]),
    ({"reg_covar": -1e-6}, ["reg_covar", -1e-06]),
    ({"max_iter": 1.5}, ["max_iter", 1.5]),
    ({"n_init": 0}, ["n_init", 0]),
    ({"init_params": "guess"}, ["init_params", "guess"]),
    ({"random_state": "x"}, ["random_state", "x"]),
    ({"warm_start": 1}, ["warm_start", 1]),
    ({"verbose": "loud"}, ["verbose", "loud"]),
    ({"verbose_interval": 0}, ["verbose_interval", 0]),
    ({"hard": None}, ["hard", None]),
    ({"accelerate": "yes"}, ["accelerate", "yes"]),
    ({"time_limit": -1}, ["time_limit", -1]),
    ({"n_jobs": 0}, ["n_jobs", 0]),
    ({"progress": 2}, ["progress", 2]),
    ({"means_init": ROWS[:2]}, ["means_init", "(2, 4)", "(3, 4)"]),
    ({"means_init": np.full((3, 4), np.nan)}, ["means_init", "NaN"]),
    ({"means_init": "x"}, ["means_init", "(3, 4)"]),
    ({"weights_init": [0.5, 0.5, 0.5]}, ["weights_init", 1.5]),
    ({"weights_init": [1.5, -0.5, 0.0]}, ["weights_init", 1]),
    ({"precisions_init": -np.tile(np.eye(4), (3, 1, 1))}, ["precisions_init", "reg_covar"]),
    ({"precisions_init": np.triu(np.ones((3, 4, 4)))}, ["precisions_init", "reg_covar"]),
    ({"precisions_init": np.zeros((3, 4)), "covariance_type": "diag"}, ["precisions_init", 0, "reg_covar"]),
    ({"precisions_init": np.ones((3, 4))}, ["precisions_init", "shape", "(3, 4)"]),
    (
        {"n_components": "bic", "means_init": ROWS[:3]},
        ["means_init", "n_components='bic'"],
    ),
    ({"n_components": range(1, 3), "warm_start": True}, ["warm_start", "n_components=range(1, 3)"]),
]


@pytest.mark.parametrize(("setting", "says"), BAD_SETTINGS, ids=[str(case[1]) for case in BAD_SETTINGS])
def test_settings_that_mean_nothing(setting, says):
    with refuses(SettingError, *says):
        GaussianMixture(**{"n_components": 3, **setting}).fit(ROWS)


COLLAPSING = [
    np.repeat(ROWS[:2], 20, axis=0),  # two rows, twenty times each
    np.ones((20, 3)),
    np.column_stack([ROWS, np.ones(30)]),  # a constant column
    np.column_stack([ROWS, ROWS[:, :1]]),  # a copy of a column
    np.vstack([ROWS, ROWS + 1e6]),  # far apart
    np.vstack([ROWS, np.full((1, 4), 1e9)]),
    ROWS[:3],  # as many components as rows
    np.vstack([with_holes(ROWS, 0.5), np.full((3, 4), np.nan)]),
    ROWS * 1e-200,
    ROWS * 1e100,
]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6])
@pytest.mark.parametrize("case", range(len(COLLAPSING)))
def test_components_that_collapse_are_finite_and_reported(case, reg_covar, kind):
    rows = COLLAPSING[case]
    made = GaussianMixture(3, covariance_type=kind, reg_covar=reg_covar, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made.fit(rows)
        probabilities = made.predict_proba(rows)
    for name in ("weights_", "means_", "covariances_", "history_", "precisions_cholesky_"):
        assert np.isfinite(getattr(made, name)).all(), name
    assert np.isfinite(made.score_samples(rows)).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert {w.category.__module__.split(".")[0] for w in told} <= {"bayeskit"}
    assert bool(made.collapsed_) == any("collapsed" in str(w.message) for w in told)
    if case in (0, 1, 2) and kind != "spherical":
        assert made.collapsed_
        assert any(issubclass(w.category, SuspectResult) for w in told)
    if case == 2 and kind != "spherical":
        assert any(not unnamed(str(w.message), "x4") for w in told)


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
def test_a_file_gives_the_same_mixture_back(kind, tmp_path):
    frame = pd.DataFrame(with_holes(IRIS), columns=["长", "b", "c", "d"])
    made = quiet(GaussianMixture([2, 3], covariance_type=[kind], random_state=0).fit, frame)
    quiet(made.partial_fit, frame[:50])
    made.save(tmp_path / "iris.bayes")
    again = load(tmp_path / "iris.bayes")
    assert type(again) is GaussianMixture and again.get_params() == made.get_params()
    left, right = ({k: v for k, v in vars(m).items() if k.endswith("_")} for m in (made, again))
    assert set(left) == set(right)
    for name, value in left.items():
        np.testing.assert_array_equal(value, right[name], err_msg=name)
    assert str(again.choice_) == str(made.choice_)
    assert (again.predict_proba(frame) == made.predict_proba(frame)).all()
    quiet(made.partial_fit, frame[50:]), quiet(again.partial_fit, frame[50:])
    assert (again.covariances_ == made.covariances_).all()


def test_a_file_that_contradicts_itself_is_refused(tmp_path):
    made = quiet(GaussianMixture(3, covariance_type="diag", **given_start("diag")).fit, IRIS)
    path = tmp_path / "iris.bayes"
    made.save(path)
    saved = read_saved(path, "model")

    def changed(arrays=(), content=()):
        file = SavedContent("model", {**saved.content, **dict(content)}, {**saved.arrays, **dict(arrays)})
        write_saved(file, path)
        with refuses(ModelFormatError, "iris.bayes"):
            load(path)

    changed({"weights_": np.array([0.5, 0.5, 0.5])})
    changed({"means_": saved.arrays["means_"][:, :3].copy()})
    changed({"covariances_": -saved.arrays["covariances_"]})
    changed({"covariances_": saved.arrays["covariances_"] * np.nan})
    changed({}, {"covariance_type": "full"})
    changed({}, {"covariance_type": "__import__"})
    changed({}, {"width": "4"})
    changed({}, {"collapsed": [7]})
    changed({}, {"facts": {}})
    changed({}, {"parameters": {"strange": 1}})
    changed({}, {"choice": 3})
    with pytest.raises(NotFittedError):
        GaussianMixture().save(path)
