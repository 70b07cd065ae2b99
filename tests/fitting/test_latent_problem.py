"""Hidden classes: the E-step by brute force and by the general counters, other software's steps, values that climb."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bayeskit._conditionals.categorical import TableConditional
from bayeskit._counting.backend import count_rows
from bayeskit._data.encode import encode
from bayeskit._data.table import open_table
from bayeskit._fitting.em import run_em
from bayeskit._fitting.mixtures import latent_problem
from bayeskit._fitting.mixtures.latent_fit import random_starts, shares_start
from bayeskit._fitting.mixtures.latent_model import (
    by_weight,
    hidden_class,
    latent_rows,
    n_parameters,
    permuted,
)
from bayeskit._fitting.mixtures.latent_problem import LatentProblem
from bayeskit._report.mixture_report import MISSING, class_profiles
from bayeskit.errors import DataError, InfiniteValue
from bayeskit.extending import Model, ModelSpec, Reading
from bayeskit.mixtures import StoppingRule
from bayeskit.priors import Lidstone, Smoothing
from outside import DATA
from refusals import refuses

FAMILIES = {"visits": "poisson"}


def spec(alpha=0.0, missing="ignore"):
    prior = Lidstone(alpha)
    return ModelSpec(
        smoothing=Smoothing(prior, {}), class_smoothing=prior, families=FAMILIES, missing=missing
    )


def problem_of(frame, k, *, weights=None, alpha=0.0, missing="ignore", hard=False, floor=1e-9, n_jobs=None):
    table = open_table(frame)
    encoded = encode(table, Reading().schema_of(table, hidden_class(1)), "grow")
    how = spec(alpha, missing)
    rows = latent_rows(replace(encoded, weights=weights), how)
    return LatentProblem(rows, how, k, hard=hard, floor=floor, n_jobs=n_jobs)


@st.composite
def frames(draw):
    """Mixed columns with holes, equal rows among them, and weights."""
    n = draw(st.integers(6, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "ripe": pd.array(rng.random(n) < 0.4, dtype="boolean"),
            "size": np.where(rng.random(n) < 0.3, 1.5, rng.normal(size=n)),
            "visits": rng.poisson(2.0, n).astype(float),
            "same": np.full(n, 0.1),
        }
    )
    if draw(st.booleans()):
        frame = frame.mask(rng.random(frame.shape) < 0.25)
    frame = pd.concat([frame, frame.iloc[:3]], ignore_index=True)
    weights = rng.integers(1, 4, len(frame)) / 2.0 if draw(st.booleans()) else None
    return frame, weights, rng


def brute(frame, weights, model):
    """log P(k, x) of each row, and the logarithm of the prior for alpha = 1, from textbook formulas alone."""
    told = class_profiles(model)
    joint = np.tile(np.log(told.weights), (len(frame), 1))
    prior = np.log(told.weights).sum()
    for profile in told.profiles:
        column = frame[profile.name]
        # Where missing is a state: of a table one more, of numbers a factor of its own.
        gone = profile.values[:, profile.rows.index(MISSING)] if MISSING in profile.rows else None
        if profile.family == "table":
            prior += np.log(profile.values).sum()
        elif gone is not None:
            prior += np.log(gone).sum() + np.log1p(-gone).sum()
        if profile.family == "poisson":
            there = column.notna()
            mean, rates = np.average(column[there], weights=weights[there]), profile.values[:, 0]
            prior += (mean * np.log(rates) - rates).sum()
        for i, value in enumerate(column):
            if pd.isna(value):
                joint[i] += 0.0 if gone is None else np.log(gone)
            elif profile.family == "table":
                joint[i] += np.log(profile.values[:, profile.rows.index(value)])
            else:
                joint[i] += 0.0 if gone is None else np.log1p(-gone)
                if profile.family == "poisson":
                    joint[i] += stats.poisson.logpmf(value, profile.values[:, 0])
                elif (profile.values[:, 1] > 0).all():
                    joint[i] += stats.norm.logpdf(value, profile.values[:, 0], profile.values[:, 1])
    return joint, prior


@settings(max_examples=30, deadline=None)
@given(frames(), st.integers(1, 5), st.sampled_from(["ignore", "state"]), st.booleans())
def test_an_e_step_is_the_textbooks_and_its_sums_are_those_of_the_counters(drawn, k, missing, hard):
    frame, weights, rng = drawn
    problem = problem_of(frame, k, weights=weights, alpha=0.5, missing=missing, hard=hard)
    model = random_starts(problem, 1, int(rng.integers(1000)))[0]()
    statistics, value = problem.expect(model)
    w = np.ones(len(frame)) if weights is None else weights
    joint, prior = brute(frame, w, model)
    evidence = joint.max(axis=1) if hard else np.logaddexp.reduce(joint, axis=1)
    share = np.eye(k)[joint.argmax(axis=1)] if hard else np.exp(joint - evidence[:, None])
    likelihood = w @ np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(problem.log_likelihood(model), likelihood, rtol=1e-10)
    np.testing.assert_allclose(value, w @ evidence + 0.5 * prior, rtol=1e-10)
    # For component k: the same rows, of class k, with the weight r_k.
    table = open_table(frame)
    encoded = encode(table, problem.schema, "ignore")
    for c in range(k):
        part = replace(encoded, target=np.full(len(frame), c, np.uint32), weights=w * share[:, c])
        counted = count_rows(part, problem.plan)
        np.testing.assert_allclose(statistics.class_counts[c], counted.class_counts[c], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            statistics.tables.counts[:, c], counted.tables.counts[:, c], rtol=1e-9, atol=1e-12
        )
        mine, its = statistics.moments, counted.moments
        np.testing.assert_allclose(mine.weight[c], its.weight[c], rtol=1e-9, atol=1e-12)
        if mine.weight[c].min() > 1e-6:
            np.testing.assert_allclose(mine.mean()[0][c], its.mean()[0][c], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(mine.variance()[c], its.variance()[c], rtol=1e-7, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    frames(),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.sampled_from(["ignore", "state"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1e-9, 0.1]),
)
def test_what_is_climbed_never_falls(drawn, k, alpha, missing, hard, accelerate, floor):
    frame, weights, rng = drawn
    problem = problem_of(frame, k, weights=weights, alpha=alpha, missing=missing, hard=hard, floor=floor)
    for start in random_starts(problem, 2, int(rng.integers(1000))):
        found = run_em(
            problem, start(), StoppingRule(tol=0.0, max_iter=25, accelerate=accelerate and not hard)
        )
        history = np.array(found.history)
        assert np.isfinite(history).all()
        assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
        assert not found.fell


def golden():
    path = DATA / "golden" / "em" / "latent_class.json.gz"
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else []


def rows_of(case):
    path = DATA / "golden" / "posteriors" / "cases.json.gz"
    told = json.loads(gzip.decompress(path.read_bytes()))[case["case"]]
    return pd.read_parquet(DATA / "tabular" / f"{case['data']}.parquet").iloc[told["rows"]][case["columns"]]


def golden_model(problem, case, numbers):
    """The parameters as another program writes them, in the layout of naive Bayes."""
    tables = next(c for c in problem.whole.conditionals if isinstance(c, TableConditional))
    table = np.zeros_like(tables.log_table)
    for j, name in enumerate(case["columns"]):
        assert [str(s) for s in problem.schema[name].states] == [str(s) for s in case["levels"][name]]
        start, stop = int(tables.offsets[j]), int(tables.offsets[j + 1]) - 2
        with np.errstate(divide="ignore"):
            table[start:stop] = np.log(np.array(numbers["pis"][name]).T)
    log_prior = np.log(numbers["weights"])
    return Model(problem.schema, log_prior, (replace(tables, log_table=table, counted=None),))


@pytest.mark.skipif(not golden(), reason="no golden numbers here: set BAYESKIT_DATA")
@pytest.mark.parametrize("place", range(4))
def test_the_steps_are_those_of_stepmix(place):
    """StepMix's state after a step, and 1, 5, 20 and 100 steps later; with missing cells in one of the sets."""
    case = golden()[place]
    problem = problem_of(rows_of(case), case["n_components"])
    start = golden_model(problem, case, case["start"])
    steps = [found["iterations"] for found in case["after"]]
    assert steps == [1, 5, 20, 100]
    for found in case["after"]:
        n = found["iterations"]
        reached = run_em(problem, start, StoppingRule(tol=0.0, max_iter=n))
        wanted = golden_model(problem, case, found)
        tolerance = 1e-12 if n == 1 else 1e-9 if n <= 20 else 1e-6
        np.testing.assert_allclose(
            np.exp(reached.parameters.log_prior), np.exp(wanted.log_prior), atol=tolerance, rtol=0
        )
        mine, its = (np.exp(m.conditionals[0].log_table) for m in (reached.parameters, wanted))
        np.testing.assert_allclose(mine, its, atol=tolerance, rtol=0)
        np.testing.assert_allclose(reached.history[-1], found["total_loglik"], rtol=max(tolerance, 1e-11))
        assert len(reached.history) == n + 1


def mixed_frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "size": rng.normal(size=n),
            "visits": rng.poisson(2.0, n).astype(float),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


@pytest.mark.parametrize("missing", ["ignore", "state"])
def test_a_vector_stands_for_its_model(missing):
    problem = problem_of(mixed_frame(), 3, alpha=0.1, missing=missing)
    model = random_starts(problem, 1, 0)[0]()
    again = problem.unflat(problem.flat(model))
    np.testing.assert_allclose(problem.expect(again)[1], problem.expect(model)[1], rtol=1e-13)
    # Any vector is a model: probabilities add up to one.
    vector = problem.flat(model) + np.random.default_rng(1).normal(size=len(problem.flat(model)))
    there = problem.unflat(np.where(problem.flat(model) == 0.0, 0.0, vector))
    assert np.exp(there.log_prior).sum() == pytest.approx(1.0)
    table = next(c for c in there.conditionals if isinstance(c, TableConditional))
    states = np.exp(table.log_table[: 4 if missing == "state" else 3]).sum(axis=0)
    np.testing.assert_allclose(states, 1.0)


def test_zeros_stay_zero_ahead():
    frame = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "w"]})
    problem = problem_of(frame, 2)
    model = shares_start(problem, np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]))
    vector = problem.flat(model)
    assert np.isneginf(vector).any()
    np.testing.assert_array_equal(np.isneginf(problem.flat(problem.unflat(vector))), np.isneginf(vector))


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(latent_problem, "_ROWS", 7)
    frame = mixed_frame(200)
    values = []
    for n_jobs in (None, 2):
        problem = problem_of(frame, 3, n_jobs=n_jobs)
        found = run_em(problem, random_starts(problem, 1, 0)[0](), StoppingRule(tol=0.0, max_iter=5))
        values.append((found.history, problem.flat(found.parameters).tobytes()))
    assert values[0] == values[1]


def test_equal_rows_are_one_and_their_order_is_their_own():
    frame = pd.DataFrame({"a": ["x", "y", "x", "x"], "n": [1.0, 2.0, 1.0, np.nan]})
    rows = problem_of(frame, 1, weights=np.array([1.0, 2.0, 0.5, 0.0])).rows
    assert sorted(rows.weights.tolist()) == [1.5, 2.0]
    assert rows.owner[0] == rows.owner[2] and rows.owner[3] == -1
    turned = problem_of(frame.iloc[::-1], 1, weights=np.array([0.0, 0.5, 2.0, 1.0])).rows
    np.testing.assert_array_equal(rows.values, turned.values)
    np.testing.assert_array_equal(rows.weights, turned.weights)


def test_numbers_beyond_the_squares_of_doubles():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(-5.0, 1.0, 40), rng.normal(5.0, 1.0, 40)])
    found = []
    for unit in (1.0, 2.0**800, 2.0**-800):
        problem = problem_of({"x": values * unit}, 2)
        reached = run_em(problem, random_starts(problem, 1, 0)[0](), StoppingRule(tol=0.0, max_iter=20))
        found.append((reached.parameters.conditionals[0].mean / unit, reached.value + 80 * np.log(unit)))
    for mean, value in found[1:]:
        np.testing.assert_allclose(mean, found[0][0], rtol=1e-9)
        np.testing.assert_allclose(value, found[0][1], rtol=1e-9)


def test_values_far_from_zero_lose_nothing():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(-5.0, 1.0, 40), rng.normal(5.0, 1.0, 40)])
    near, far = (problem_of({"x": values.round(6) + shift}, 2) for shift in (0.0, 1e8))
    share = np.random.default_rng(1).dirichlet([1, 1], 80)
    ends = [run_em(p, shares_start(p, share), StoppingRule(tol=0.0, max_iter=30)) for p in (near, far)]
    np.testing.assert_allclose(ends[0].value, ends[1].value, rtol=1e-7)


def test_an_impossible_row_is_named_and_bad_cells_refused():
    frame = pd.DataFrame({"a": ["x", "x", "y"]})
    problem = problem_of(frame, 2)
    model = shares_start(problem, np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    table = model.conditionals[0].log_table.copy()
    table[1] = -np.inf
    with refuses(DataError, 2, "smoothing"):
        problem.expect(
            Model(model.schema, model.log_prior, (replace(model.conditionals[0], log_table=table),))
        )
    with refuses(DataError, "visits", -1, 1):
        problem_of({"visits": [1.0, -1.0]}, 1)
    with pytest.raises(InfiniteValue):
        problem_of({"size": [1.0, np.inf]}, 1)
    with refuses(DataError, "missing"):
        problem_of({"size": [np.nan, np.nan], "colour": [None, None]}, 1)


def test_components_in_another_order_are_the_same_model():
    problem = problem_of(mixed_frame(), 3, missing="state")
    model = random_starts(problem, 1, 0)[0]()
    order = by_weight(model)
    turned = permuted(model, order)
    assert (np.diff(turned.log_prior) <= 0).all()
    np.testing.assert_allclose(problem.expect(turned)[1], problem.expect(model)[1], rtol=1e-14)
    # 2 weights; of each component 3 for colour (with missing), 2 for size, 1 for the rate, 2 for being present.
    assert n_parameters(model) == 2 + 3 * (3 + 2 + 1 + 2)
