"""Gaussian mixtures below the door: E-step, M-step, missing cells, starts."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import mixture_twin as twin
from bayeskit._fitting.em import run_em
from bayeskit._fitting.mixtures.components import COVARIANCE_TYPES, Components, GaussianSums, estimate, exp
from bayeskit._fitting.mixtures.gaussian_problem import GaussianProblem, log_joint
from bayeskit._fitting.mixtures.gaussian_starts import (
    STARTS,
    draw_rows,
    from_shares,
    labels_of,
    lloyd,
    spread_out,
    squared_distances,
    start,
)
from bayeskit.errors import DataError, SettingError
from bayeskit.mixtures import StoppingRule
from outside import DATA
from refusals import refuses

GOLDEN = DATA / "golden" / "em" / "gaussian_mixture.json.gz"


def rows_of(rng, n, d, *, missing=0.0, apart=3.0):
    """Three clumps, with cells missing at random, one row all missing and one column seldom seen."""
    X = apart * rng.normal(size=(3, d))[rng.integers(3, size=n)] + rng.normal(size=(n, d)) * rng.uniform(
        0.5, 2, d
    )
    if missing:
        X[rng.random((n, d)) < missing] = np.nan
        X[n // 2] = np.nan
    return X


def components_of(rng, k, d, kind):
    """Components whose covariances are far from round."""
    square = rng.normal(size=(k, d, d))
    full = square @ np.swapaxes(square, 1, 2) + 0.5 * np.eye(d)
    covariances = {
        "full": full,
        "tied": full[0],
        "diag": rng.uniform(0.5, 3.0, (k, d)),
        "spherical": rng.uniform(0.5, 3.0, k),
    }[kind]
    weights = rng.uniform(0.2, 1.0, k)
    return Components(weights / weights.sum(), 2.0 * rng.normal(size=(k, d)), covariances, kind)


def alike(a, b, rtol=1e-9, atol=1e-12):
    for name in ("weights", "means", "covariances"):
        x, y = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol * max(1.0, np.abs(y).max()), err_msg=name)


seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(COVARIANCE_TYPES)


@settings(max_examples=30)
@given(seeds, kinds, st.integers(1, 9), st.integers(1, 4), st.booleans(), st.sampled_from([0.0, 0.3, 0.7]))
def test_a_step_equals_the_slow_twin(seed, kind, d, k, hard, missing):
    rng = np.random.default_rng(seed)
    X = rows_of(rng, int(rng.integers(k + 8, 40)), d, missing=missing)
    weights = rng.integers(0, 4, len(X)).astype(float)
    weights[:6] = 1.5
    here = components_of(rng, k, d, kind)
    problem = GaussianProblem(X, weights, covariance_type=kind, reg_covar=0.0, hard=hard)
    sums, value = problem.expect(here)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected, expected_value = twin.step(X, weights, here, hard=hard)
    assert value == pytest.approx(expected_value, rel=1e-10)
    joint = twin.log_joint(X, here)
    np.testing.assert_allclose(log_joint(X, here), joint, rtol=1e-9, atol=1e-9)
    shares, density = problem.responsibilities(here)
    expected_shares, expected_density = twin.responsibilities(X, here, hard=False)
    np.testing.assert_allclose(shares, expected_shares, atol=1e-9)
    np.testing.assert_allclose(density, expected_density, rtol=1e-9, atol=1e-9)
    new = problem.maximise(sums)
    # A component with few rows has a covariance that is all cancellation, here and in the twin.
    if not new.collapsed and sums.seen.min() > 1e-3:
        alike(new, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("n", [1, 16, 63, 64, 65, 512, 513, 8192, 8200])
def test_blocks_stretches_and_pieces_leave_no_row_out(kind, n):
    rng = np.random.default_rng(n)
    d, k = 5, 3
    X, here = rng.normal(size=(n, d)), components_of(rng, k, d, kind)
    sums, value = GaussianProblem(X, covariance_type=kind).expect(here)
    z = X[:, None, :] - here.means
    square = np.einsum("nki,kij,nkj->nk", z, np.linalg.inv(here.full_covariances), z)
    _, logdet = np.linalg.slogdet(2 * np.pi * here.full_covariances)
    joint = np.log(here.weights) - 0.5 * (square + logdet)
    density = np.logaddexp.reduce(joint, axis=1)
    r, z = np.exp(joint - density[:, None]), X[:, None, :] - sums.pivot
    np.testing.assert_allclose(sums.weight, r.sum(axis=0), rtol=1e-11)
    np.testing.assert_allclose(sums.first, np.einsum("nk,nki->ki", r, z), rtol=1e-9, atol=1e-9)
    path = "nk,nki,nkj->kij" if sums.second.ndim == 3 else "nk,nki,nki->ki"
    np.testing.assert_allclose(sums.second, np.einsum(path, r, z, z), rtol=1e-9, atol=1e-9)
    assert value == pytest.approx(density.sum(), rel=1e-12)


@settings(max_examples=50)
@given(seeds, kinds, st.integers(1, 4), st.integers(1, 4), st.booleans(), st.sampled_from([0.0, 0.4]))
def test_the_value_never_falls(seed, kind, d, k, hard, missing):
    rng = np.random.default_rng(seed)
    X = rows_of(rng, 60, d, missing=missing)
    weights = rng.integers(0, 3, len(X)) + rng.random(len(X))
    problem = GaussianProblem(X, weights, covariance_type=kind, reg_covar=0.0, hard=hard)
    here = components_of(rng, k, d, kind)
    before = -np.inf
    for _ in range(15):
        sums, value = problem.expect(here)
        assert value >= before - 1e-9 * max(1.0, abs(value))
        here, before = problem.maximise(sums), value
        if here.collapsed:
            break


def test_the_conditional_covariance_is_in_the_scatter():
    # One component with unit variances and correlation 0.6; x is 1 and y is missing in one of two rows. Then y has
    # mean 0.6 and variance 1 − 0.36 = 0.64, so that Σ y² is 0.36 + 0.64 + 0 = 1.
    here = Components(np.ones(1), np.zeros((1, 2)), np.array([[[1.0, 0.6], [0.6, 1.0]]]), "full")
    sums, _ = GaussianProblem(np.array([[1.0, np.nan], [0.0, 0.0], [np.nan, np.nan]])).expect(here)
    np.testing.assert_allclose(sums.second, [[[1.0, 0.6], [0.6, 1.0]]], atol=1e-15)
    np.testing.assert_allclose(sums.first, [[1.0, 0.6]], atol=1e-15)
    assert sums.seen.tolist() == [2.0] and sums.weight.tolist() == [3.0]


@pytest.mark.skipif(not GOLDEN.exists(), reason="needs the numbers of other software")
def test_steps_of_scikit_learn_as_stored():
    pl = pytest.importorskip("polars")
    tables = {
        "iris": pl.read_parquet(DATA / "tabular" / "iris.parquet")[:, :4],
        "synthetic2000x5": pl.read_parquet(DATA / "golden" / "em" / "synthetic2000x5.parquet"),
    }
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as stored:
        cases = json.load(stored)
    assert len(cases) == 48
    for case in cases:
        X = np.ascontiguousarray(tables[case["data"]].to_numpy().astype(float))
        kind = case["covariance_type"]
        problem = GaussianProblem(X, covariance_type=kind, reg_covar=case["reg_covar"])
        given = {name: case[name] for name in ("weights_init", "means_init", "precisions_init")}
        here = start(problem, case["n_components"], "kmeans", np.random.default_rng(0), **given)
        for _ in range(case["max_iter"]):
            sums, value = problem.expect(here)
            here = problem.maximise(sums)
        rtol = 1e-10 if case["max_iter"] < 50 else 1e-7
        golden = Components(*(np.array(case[n]) for n in ("weights", "means", "covariances")), kind)
        alike(here, golden, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(here.precisions, case["precisions"], rtol=100 * rtol, atol=100 * rtol)
        assert value / len(X) == pytest.approx(case["lower_bound"], rel=rtol)
        shares, density = problem.responsibilities(here)
        assert density.sum() == pytest.approx(case["total_loglik_after"], rel=rtol)
        np.testing.assert_allclose(shares[:20], case["responsibilities_first20"], rtol=1e-6, atol=100 * rtol)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_steps_of_scikit_learn_beside_ours(kind):
    rng = np.random.default_rng(3)
    X = rows_of(rng, 700, 4)
    here = components_of(rng, 3, 4, kind)
    peer = GaussianMixture(
        3,
        covariance_type=kind,
        tol=0.0,
        reg_covar=1e-3,
        max_iter=30,
        weights_init=here.weights,
        means_init=here.means,
        precisions_init=here.precisions,
    )
    with pytest.warns(ConvergenceWarning):
        peer.fit(X)
    problem = GaussianProblem(X, covariance_type=kind, reg_covar=1e-3)
    for _ in range(30):
        here = problem.maximise(problem.expect(here)[0])
    alike(here, Components(peer.weights_, peer.means_, peer.covariances_, kind), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(here.precisions_cholesky, peer.precisions_cholesky_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(problem.responsibilities(here)[1], peer.score_samples(X), rtol=1e-8)


@settings(max_examples=20)
@given(seeds, kinds, st.sampled_from([0.0, 0.3]))
def test_weights_are_copies_and_order_does_not_matter(seed, kind, missing):
    rng = np.random.default_rng(seed)
    X, here = rows_of(rng, 80, 3, missing=missing), components_of(rng, 2, 3, kind)
    copies = rng.integers(0, 3, 80)
    shuffled = rng.permutation(np.repeat(np.arange(80), copies))
    one, value = GaussianProblem(X, copies.astype(float), covariance_type=kind).expect(here)
    other, other_value = GaussianProblem(np.ascontiguousarray(X[shuffled]), covariance_type=kind).expect(here)
    assert value == pytest.approx(other_value, rel=1e-12)
    for name in ("weight", "seen", "first", "second"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-10, atol=1e-10, err_msg=name
        )


@settings(max_examples=20)
@given(seeds, kinds)
def test_sums_can_be_taken_in_pieces(seed, kind):
    rng = np.random.default_rng(seed)
    X, here = rows_of(rng, 60, 3, missing=0.2), components_of(rng, 2, 3, kind)
    cut = int(rng.integers(1, 59))
    whole, _ = GaussianProblem(X, covariance_type=kind).expect(here)
    parts = [
        GaussianProblem(X[a:b].copy(), covariance_type=kind).expect(here)[0] for a, b in [(0, cut), (cut, 60)]
    ]
    moved = parts[1].moved(parts[1].pivot + rng.normal(size=(2, 3)))
    merged = parts[0].merge(moved).moved(whole.pivot)
    for name in ("weight", "seen", "first", "second"):
        np.testing.assert_allclose(
            getattr(merged, name), getattr(whole, name), rtol=1e-9, atol=1e-9, err_msg=name
        )
    thrice = parts[0].merge(parts[0]).merge(parts[0])
    np.testing.assert_allclose(parts[0].scale(3.0).second, thrice.second, rtol=1e-12)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_threads_change_no_bit(kind):
    rng = np.random.default_rng(5)
    X, here = rows_of(rng, 20_000, 3, missing=0.1), components_of(rng, 2, 3, kind)
    one, value = GaussianProblem(X, covariance_type=kind).expect(here)
    two, other_value = GaussianProblem(X, covariance_type=kind, n_jobs=3).expect(here)
    assert value == other_value
    assert all((getattr(one, n) == getattr(two, n)).all() for n in ("weight", "seen", "first", "second"))
    assert (log_joint(X, here) == log_joint(X, here, n_jobs=3)).all()


@settings(max_examples=20)
@given(seeds, kinds, st.integers(1, 4), st.integers(1, 3))
def test_flat_and_back(seed, kind, d, k):
    rng = np.random.default_rng(seed)
    X = 1e3 * rows_of(rng, 30, d) + 1e6
    problem, drawn = GaussianProblem(X, covariance_type=kind), components_of(rng, k, d, kind)
    here = Components(drawn.weights, 1e3 * drawn.means + 1e6, 1e6 * drawn.covariances, kind)
    vector = problem.flat(here)
    alike(problem.unflat(vector), here, rtol=1e-8, atol=1e-8)
    # Any vector in the units of the columns stands for components: that is what extrapolation needs.
    assert np.isfinite(problem.unflat(vector + rng.normal(size=len(vector))).precisions).all()


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_acceleration_finds_the_same_in_fewer_steps(kind):
    rng = np.random.default_rng(8)
    X = rows_of(rng, 300, 2, missing=0.1, apart=1.5)
    problem = GaussianProblem(X, covariance_type=kind, reg_covar=0.0)
    first = start(problem, 2, "kmeans", rng)
    plain = run_em(problem, first, StoppingRule(tol=1e-9, max_iter=3000))
    fast = run_em(problem, first, StoppingRule(tol=1e-9, max_iter=3000, accelerate=True))
    assert plain.converged and fast.converged and not plain.fell
    assert fast.value >= plain.value - 1e-4 and fast.n_iter < plain.n_iter


def test_one_component_is_mean_and_covariance():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    problem = GaussianProblem(X, reg_covar=0.0)
    here = problem.maximise(problem.expect(components_of(rng, 1, 3, "full"))[0])
    np.testing.assert_allclose(here.means[0], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(here.covariances[0], np.cov(X.T, bias=True), rtol=1e-11)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_digits_far_from_the_origin(kind):
    # The same clusters near the origin and 1e8 standard deviations from it; cells on a grid that doubles hold there.
    rng = np.random.default_rng(4)
    X = np.round(rows_of(rng, 400, 3, missing=0.1) * 2**20) / 2**20
    far = 2.0**27
    here = components_of(rng, 3, 3, kind)
    here = Components(here.weights, np.round(here.means * 2**20) / 2**20, here.covariances, kind)
    there = Components(here.weights, here.means + far, here.covariances, kind)
    near, away = (GaussianProblem(rows, covariance_type=kind) for rows in (X, X + far))
    new, other = near.maximise(near.expect(here)[0]), away.maximise(away.expect(there)[0])
    np.testing.assert_allclose(other.covariances, new.covariances, rtol=1e-10)
    np.testing.assert_allclose(other.means - far, new.means, atol=3e-8)
    np.testing.assert_allclose(log_joint(X + far, there), log_joint(X, here), rtol=1e-12)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_tight_clusters_far_apart(kind):
    rng = np.random.default_rng(6)
    near, away = rng.normal(size=(100, 2)), 1e8 + rng.normal(size=(100, 2))
    problem = GaussianProblem(np.concatenate([near, away]), covariance_type=kind, reg_covar=0.0)
    # From means a cluster's width of 1e6 away: in one step a mean moves a million standard deviations.
    covariances = {
        "full": np.tile(1e12 * np.eye(2), (2, 1, 1)),
        "diag": np.full((2, 2), 1e12),
        "spherical": [1e12] * 2,
    }
    means = np.array([[-1e6, 1e6], [1e8 + 1e6, 1e8 - 1e6]])
    here = Components(np.full(2, 0.5), means, np.array(covariances[kind]), kind)
    here = problem.maximise(problem.expect(here)[0])
    for k, part in enumerate((near, away)):
        centred = part - part.mean(axis=0)
        exact = centred.T @ centred / 100
        found = {"full": exact, "diag": np.diag(exact), "spherical": np.diag(exact).mean()}[kind]
        np.testing.assert_allclose(here.covariances[k], found, rtol=1e-9)


def messy_tables():
    rng = np.random.default_rng(7)
    holes = rows_of(rng, 50, 3, missing=0.6)
    lonely = rows_of(rng, 30, 2)
    lonely[:, 1] = np.nan
    return {
        "holes": holes,
        "one row": np.array([[1.0, 2.0]]),
        "duplicates": np.repeat(np.array([[0.1, 3.0], [5.0, 6.0]]), 9, axis=0),
        "a constant column": np.column_stack([rng.normal(size=30), np.full(30, 0.1)]),
        "columns that determine each other": np.outer(rng.normal(size=40), [1.0, 2.0, -3.0]),
        "a column never seen": lonely,
        "nothing seen": np.full((5, 2), np.nan),
        "an outlier": np.concatenate([rng.normal(size=(40, 2)), [[1e9, -1e9]]]),
        "one column": rng.normal(size=(20, 1)),
    }


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_starts_and_steps_stay_finite(how, kind):
    for name, X in messy_tables().items():
        for k in (1, 5):
            for reg_covar in (0.0, 1e-6):
                problem = GaussianProblem(X, covariance_type=kind, reg_covar=reg_covar)
                here = start(problem, k, how, np.random.default_rng(1))
                again = start(problem, k, how, np.random.default_rng(1))
                assert (here.means == again.means).all()
                for _ in range(5):
                    sums, value = problem.expect(here)
                    assert np.isfinite(value), (name, k)
                    here = problem.maximise(sums)
                    assert here.weights.sum() == pytest.approx(1.0) and (here.weights > 0).all()
                    assert np.isfinite(here.means).all() and np.isfinite(here.precisions).all(), (name, k)


def test_components_that_collapse_are_named():
    rng = np.random.default_rng(9)
    X = np.concatenate([np.full((20, 2), 0.1), rng.normal(size=(50, 2)) + 9.0])
    for kind, reg_covar in [("full", 0.0), ("diag", 0.0), ("spherical", 0.0), ("full", 1e-6)]:
        problem = GaussianProblem(X, covariance_type=kind, reg_covar=reg_covar)
        shares = np.repeat(np.eye(2), [20, 50], axis=0)
        here = from_shares(problem, shares)
        assert here.collapsed == (0,)
        for _ in range(5):
            here = problem.maximise(problem.expect(here)[0])
        assert here.collapsed == (0,) and here.variances[0].max() < 1e-3 < here.variances[1].min()
    unseen = np.column_stack([np.ones(70), np.zeros(70)])
    assert from_shares(problem, unseen).collapsed == (1,)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_k_means(missing):
    rng = np.random.default_rng(11)
    X = rows_of(rng, 300, 3, missing=missing)
    problem = GaussianProblem(X)
    first = spread_out(problem, 4, rng)
    distances = squared_distances(problem, first)
    apart = X[:, None, :] - first
    observed = (~np.isnan(X)).sum(axis=1)[:, None]
    expected = np.nansum(apart**2, axis=2) * 3 / np.maximum(observed, 1) / problem.spread.mean()
    np.testing.assert_allclose(distances, expected, atol=1e-9)
    centres = lloyd(problem, first)
    if missing == 0.0:
        peer = KMeans(4, init=first, n_init=1, algorithm="lloyd").fit(X)
        assert (labels_of(problem, centres) == peer.labels_).mean() > 0.99
        inertia = squared_distances(problem, centres).min(axis=1).sum() * problem.spread.mean()
        assert inertia == pytest.approx(peer.inertia_, rel=1e-3)
    assert squared_distances(problem, centres).min(axis=1).sum() < distances.min(axis=1).sum()
    assert len(np.unique(draw_rows(problem, 4, rng), axis=0)) == 4


def test_start_takes_what_is_given():
    X = rows_of(np.random.default_rng(12), 90, 2)
    problem = GaussianProblem(X, covariance_type="tied")
    rng = np.random.default_rng(0)
    given = {
        "weights_init": [0.3, 0.7],
        "means_init": [[0.0, 0.0], [1.0, 1.0]],
        "precisions_init": [[2.0, 1.0], [1.0, 3.0]],
    }
    found = start(problem, 2, "kmeans", rng, **given)
    np.testing.assert_allclose(found.precisions, given["precisions_init"], rtol=1e-12)
    free = start(problem, 2, "kmeans", np.random.default_rng(0))
    part = start(problem, 2, "kmeans", np.random.default_rng(0), means_init=given["means_init"])
    assert part.means.tolist() == given["means_init"] and (part.covariances == free.covariances).all()
    bad = [
        {"weights_init": [0.3, 0.3]},
        {"weights_init": [1.5, -0.5]},
        {"means_init": [[0.0, 0.0]]},
        {"means_init": [[0.0, np.nan], [1.0, 1.0]]},
        {"means_init": "nonsense"},
        {"precisions_init": [[1.0, 2.0], [2.0, 1.0]]},
    ]
    for wrong in bad:
        with pytest.raises(SettingError):
            start(problem, 2, "kmeans", rng, **wrong)
    with refuses(SettingError, "init_params", "k-medoids"):
        start(problem, 2, "k-medoids", rng)


def test_a_row_beyond_all_doubles_is_named():
    X = np.array([[0.0], [1.0], [np.nan], [1e153]])
    here = Components(np.full(2, 0.5), np.array([[0.0], [1.0]]), np.full((2, 1), 1e-6), "diag")
    with refuses(DataError, 3, "density"):
        GaussianProblem(X, covariance_type="diag").expect(here)
    # It does no harm where it does not count.
    _, value = GaussianProblem(X, np.array([1.0, 1.0, 1.0, 0.0]), covariance_type="diag").expect(here)
    assert np.isfinite(value)
    for huge in (1e10, 1e155):
        with refuses(DataError, 0, "double"):
            GaussianProblem(np.array([[-huge], [0.0], [huge]]) * 1e153)


def test_exponential_is_that_of_the_library():
    x = np.concatenate([-np.linspace(0.0, 707.9, 5001), [-709.0, -1e300, -np.inf, np.nan]])
    found = np.array([exp(float(value)) for value in x])
    np.testing.assert_allclose(found[:5001], np.exp(x[:5001]), rtol=4e-16)
    assert found[0] == 1.0 and found[5001:].tolist() == [0.0] * 4


@pytest.mark.timeout(20)
@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_components_beyond_doubles_are_refused_and_not_widened_for_ever(covariance_type):
    far = GaussianSums(*(np.array(part) for part in _far_sums(covariance_type)))
    with refuses(DataError, "double"):
        estimate(far, covariance_type, 1e-6, np.full(2, 1e-9))


def _far_sums(covariance_type):
    """The pivot, the weight, the rows seen, the sums and the squares of one component at 1e200."""
    second = [[[1.0, 0.0], [0.0, 1.0]]] if covariance_type in ("full", "tied") else [[1.0, 1.0]]
    return [[1e200, 0.0]], [2.0], [2.0], [[0.0, 0.0]], second
