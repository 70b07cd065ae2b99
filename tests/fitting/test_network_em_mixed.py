"""EM with continuous nodes: expectations by enumeration, mixtures by scikit-learn, a chain by direct maximisation."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from bayeskit import BayesianNetwork
from bayeskit._fitting.em import run_em
from bayeskit._fitting.networks import mixed_expectations
from bayeskit._fitting.networks.network_counts import NetworkCounts, configurations, estimated
from bayeskit._fitting.networks.network_em_mixed import MixedNetworkProblem
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._inference.gaussian.hybrid import HybridEvidence
from bayeskit.errors import DataError, SettingError, TooLarge
from bayeskit.mixtures import StoppingRule
from bayeskit.networks import Deterministic, LinearGaussian, Table
from bayeskit.priors import MLE, BDeu
from hybrid_twin import enumerated, normalised, random_hybrid
from network_twin import spare
from refusals import refuses

seeds = st.integers(0, 10**6)


def columns_of(network, codes, values):
    """Columns from arrays of shape (rows, nodes), −1 and NaN where a cell is missing."""
    variables = tuple(node.variable for node in network.nodes)
    found = [
        (spare(codes[:, v], node.variable.size), None) if node.is_discrete else (None, values[:, v])
        for v, node in enumerate(network.nodes)
    ]
    return NodeColumns(variables, tuple(c for c, _ in found), tuple(x for _, x in found), len(codes))


def random_rows(rng, network, n=6, missing=0.4):
    codes, values = np.full((n, len(network.nodes)), -1), np.full((n, len(network.nodes)), np.nan)
    for v, node in enumerate(network.nodes):
        seen = rng.random(n) >= missing
        if node.is_discrete:
            codes[:, v] = np.where(seen, rng.integers(0, node.variable.size, n), -1)
        else:
            values[:, v] = np.where(seen, rng.normal(0, 2, n), np.nan)
    return codes, values


def by_enumeration(network, codes, values, weights):
    """Return expected tables, n, E[z] and E[zzᵀ] of the continuous families, and the log-likelihood."""
    position = network.dag.position
    tables = {node.name: np.zeros(network.shape_of(node.name)) for node in network.nodes if node.is_discrete}
    moments = {}
    for node in network.nodes:
        if not node.is_discrete:
            _, numeric, size = configurations(network, node.name)
            m = len(numeric) + 1
            moments[node.name] = [np.zeros(size), np.zeros((size, m)), np.zeros((size, m, m))]
    value = 0.0
    for row in range(len(codes)):
        found, places = enumerated(network, HybridEvidence(codes[row], values[row]))
        shares, log = normalised(found)
        value += weights[row] * log
        for share, (filled, _, mean, covariance) in zip(shares, found, strict=True):
            w = weights[row] * share
            for name, cells in tables.items():
                cells[tuple(filled[position[p]] for p in (*network[name].parents, name))] += w
            for name, (n, first, second) in moments.items():
                states, numeric, _ = configurations(network, name)
                cell = 0
                for p in states:
                    cell = cell * network[p].variable.size + filled[position[p]]
                some = [places.index(position[p]) for p in (*numeric, name)]
                n[cell] += w
                first[cell] += w * mean[some]
                second[cell] += w * (np.outer(mean[some], mean[some]) + covariance[np.ix_(some, some)])
    return tables, moments, value


def about_zero(sums):
    """Σz and Σzzᵀ of regressions, their pivots put back."""
    n, p, s = sums.n[:, None], sums.pivot, sums.first.high
    outer = s[:, :, None] * p[:, None, :]
    second = sums.second.high + outer + np.swapaxes(outer, 1, 2) + n[:, None] * p[:, :, None] * p[:, None, :]
    return s + n * p, second


def same_network(mine, theirs, rel=1e-8):
    for a, b in zip(mine.nodes, theirs.nodes, strict=True):
        if a.is_discrete:
            np.testing.assert_allclose(a.distribution.table(), b.distribution.table(), rel, rel)
        else:
            for part in ("intercept", "coefficients", "variance"):
                one, other = getattr(a.distribution, part), getattr(b.distribution, part)
                np.testing.assert_allclose(one, other, rel, rel * (1.0 + np.abs(other).max(initial=0.0)))


def collapsed(network):
    """Whether a variance may stand on the floor under it, which can make the value fall."""
    return any((n.distribution.variance < 1e-6).any() for n in network.nodes if not n.is_discrete)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_expected_sums_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    network = random_hybrid(rng, int(rng.integers(0, 4)), int(rng.integers(1, 5)))
    codes, values = random_rows(rng, network)
    hidden = int(rng.integers(len(network.nodes)))
    codes[:, hidden], values[:, hidden] = -1, np.nan
    weights = rng.uniform(0.5, 2.0, len(codes))
    columns = columns_of(network, codes, values)
    if len(network.nodes) > 1:
        # A node that has no column is one that no row tells of.
        columns = columns.reordered(np.delete(np.arange(len(network.nodes)), hidden))
    counts, value = MixedNetworkProblem(network, columns, weights).expect(network)
    tables, moments, log = by_enumeration(network, codes, values, weights)
    assert value == pytest.approx(log, rel=1e-10)
    for name, cells in tables.items():
        np.testing.assert_allclose(counts.table(network, name), cells, 1e-9, 1e-10)
    for name, (n, first, second) in moments.items():
        found = about_zero(counts.regressions[name])
        np.testing.assert_allclose(counts.regressions[name].n, n, 1e-9, 1e-10)
        np.testing.assert_allclose(found[0], first, 1e-8, 1e-8)
        np.testing.assert_allclose(found[1], second, 1e-8, 1e-8)


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_hard_fills_the_joint_mode(seed):
    rng = np.random.default_rng(seed)
    network = random_hybrid(rng, 2, 3)
    codes, values = random_rows(rng, network, 12)
    counts, value = (
        problem := MixedNetworkProblem(network, columns_of(network, codes, values), hard=True)
    ).expect(network)
    filled_codes, filled_values, total = codes.copy(), values.copy(), 0.0
    for row in range(len(codes)):
        found, places = enumerated(network, HybridEvidence(codes[row], values[row]))
        peaks = []
        for _, log, _, covariance in found:
            gone = [i for i, v in enumerate(places) if np.isnan(values[row, v])]
            _, log_det = np.linalg.slogdet(2.0 * np.pi * covariance[np.ix_(gone, gone)])
            peaks.append(log - 0.5 * log_det)
        best = int(np.argmax(peaks))
        total += peaks[best]
        for v, node in enumerate(network.nodes):
            if node.is_discrete:
                filled_codes[row, v] = found[best][0][v]
            else:
                filled_values[row, v] = found[best][2][places.index(v)]
    assert value == pytest.approx(total, rel=1e-9)
    complete = NetworkCounts.of(network, columns_of(network, filled_codes, filled_values))
    for node in network.nodes:
        if node.is_discrete:
            assert np.array_equal(counts.table(network, node.name), complete.table(network, node.name))
        else:
            mine, theirs = (about_zero(c.regressions[node.name]) for c in (counts, complete))
            np.testing.assert_allclose(mine[1], theirs[1], 1e-8, 1e-8)
    end = run_em(problem, network, StoppingRule(tol=0.0, max_iter=5))
    assert not end.fell or collapsed(end.parameters)


@settings(max_examples=15, deadline=None)
@given(seeds, st.booleans(), st.booleans())
def test_the_value_never_falls(seed, accelerate, smoothed):
    rng = np.random.default_rng(seed)
    network = random_hybrid(rng, 2, 3, max_parents=2)
    columns = columns_of(network, *random_rows(rng, network, 60, 0.3))
    problem = MixedNetworkProblem(network, columns, prior=BDeu(5.0) if smoothed else MLE())
    found = run_em(problem, network, StoppingRule(tol=0.0, max_iter=12, accelerate=accelerate))
    assume(not collapsed(found.parameters))
    assert not found.fell
    assert found.n_iter == 12
    assert (np.diff(found.history) >= -1e-9 * np.abs(found.history[1:])).all()
    assert found.history[-1] > found.history[0]


def test_the_prior_is_part_of_the_value():
    rng = np.random.default_rng(5)
    network = random_hybrid(rng, 3, 2)
    columns = columns_of(network, *random_rows(rng, network, 20))
    plain = MixedNetworkProblem(network, columns).expect(network)[1]
    value = MixedNetworkProblem(network, columns, prior=BDeu(4.0)).expect(network)[1]
    wanted = sum(
        4.0 / node.distribution.table().size * np.log(node.distribution.table()).sum()
        for node in network.nodes
        if node.is_discrete
    )
    assert value - plain == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("away", [0.0, 1e8])
def test_complete_rows_are_counted_whatever_the_start(away):
    rng = np.random.default_rng(3)
    n = 400
    rows = {"a": rng.integers(0, 2, n).astype(str), "b": rng.integers(0, 3, n).astype(str)}
    rows["x"] = rng.normal(size=n) + away + (rows["a"] == "1")
    rows["y"] = 0.5 * (rows["x"] - away) + rng.normal(size=n) + (rows["b"] == "2")
    parents = {"a": [], "b": ["a"], "x": ["a"], "y": ["x", "b", "a"]}
    kinds = {"a": ["0", "1"], "b": ["0", "1", "2"], "x": float, "y": float}
    fitted = BayesianNetwork(parents, kinds).fit(rows, smoothing="mle")._network
    codes, values = np.full((n, 4), -1), np.full((n, 4), np.nan)
    for v, name in enumerate("abxy"):
        if name in "ab":
            codes[:, v] = rows[name].astype(int)
        else:
            values[:, v] = rows[name]
    start = _reset(fitted)
    found = MixedNetworkProblem(fitted, columns_of(fitted, codes, values))
    once = found.maximise(found.expect(start)[0])
    same_network(once, fitted, 1e-9 if not away else 1e-7)


def _reset(network):
    """The same graph, knowing nothing: uniform tables, slopes of zero."""
    nodes = []
    for node in network.nodes:
        old = node.distribution
        if node.is_discrete:
            new = Table(np.full(old.values.shape, 1.0 / node.variable.size))
        else:
            new = LinearGaussian(old.intercept, 0.0 * old.coefficients, 9.0 + 0.0 * old.variance)
        nodes.append(replace(node, distribution=new))
    return Network(tuple(nodes))


def mixture_network(weights, means, full):
    k, d = means.shape
    nodes = [Node(discrete("z", tuple(range(k))), (), Table(weights))]
    for j in range(d):
        above = tuple(f"x{i}" for i in range(j)) if full else ()
        given = LinearGaussian(means[:, j], np.zeros((k, len(above))), np.ones(k))
        nodes.append(Node(continuous(f"x{j}"), ("z", *above), given))
    return Network(tuple(nodes))


@pytest.mark.parametrize("kind", ["full", "diag"])
@pytest.mark.parametrize("steps", [1, 5, 30])
def test_a_gaussian_mixture_is_a_network(kind, steps):
    rng = np.random.default_rng(0)
    k, d, n = 3, 3, 300
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2.0 * rng.integers(0, k, n)[:, None]
    weights, means = np.array([0.3, 0.3, 0.4]), x[:k]
    network = mixture_network(weights, means, kind == "full")
    codes = np.full((n, d + 1), -1)
    values = np.column_stack([np.full(n, np.nan), x])
    found = run_em(
        MixedNetworkProblem(network, columns_of(network, codes, values)),
        network,
        StoppingRule(tol=0.0, max_iter=steps),
    )
    precisions = np.array([np.eye(d)] * k) if kind == "full" else np.ones((k, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = GaussianMixture(
            k,
            covariance_type=kind,
            tol=0.0,
            reg_covar=0.0,
            max_iter=steps,
            weights_init=weights,
            means_init=means,
            precisions_init=precisions,
        ).fit(x)
    assert found.history[-2] / n == pytest.approx(theirs.lower_bound_, rel=1e-10)
    assert found.value / n == pytest.approx(theirs.score(x), rel=1e-10)
    np.testing.assert_allclose(found.parameters["z"].distribution.values, theirs.weights_, 1e-8)
    np.testing.assert_allclose(found.parameters["x0"].distribution.intercept, theirs.means_[:, 0], 1e-7)
    spread = theirs.covariances_[:, 0, 0] if kind == "full" else theirs.covariances_[:, 0]
    np.testing.assert_allclose(found.parameters["x0"].distribution.variance, spread, 1e-7)


def test_a_chain_with_holes_ends_where_direct_maximisation_does():
    rng = np.random.default_rng(1)
    n = 150
    x = rng.normal(1.0, 1.5, n)
    y = 2.0 - 0.7 * x + rng.normal(0.0, 0.8, n)
    w = 0.3 + 0.9 * y + rng.normal(0.0, 0.5, n)
    values = np.column_stack([x, y, w])
    values[rng.random(values.shape) < 0.3] = np.nan
    above = [(), ("x",), ("y",)]
    network = Network(
        tuple(
            Node(continuous(name), p, LinearGaussian(np.zeros(()), np.zeros(len(p)), np.ones(())))
            for name, p in zip("xyw", above, strict=True)
        )
    )
    problem = MixedNetworkProblem(network, columns_of(network, np.full((n, 3), -1), values))
    found = run_em(problem, network, StoppingRule(tol=1e-10, max_iter=3000, accelerate=True))
    assert found.converged and not found.fell

    def below(t):
        a, b, v = t[:3], t[3:5], np.exp(t[5:])
        inverse = np.linalg.inv(np.eye(3) - np.diag(b, -1))
        mean, covariance = inverse @ a, inverse @ np.diag(v) @ inverse.T
        log = 0.0
        for pattern in np.unique(np.isnan(values), axis=0):
            seen = ~pattern
            if seen.any():
                rows = values[(np.isnan(values) == pattern).all(axis=1)][:, seen]
                log += multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).logpdf(rows).sum()
        return -log

    direct = minimize(below, np.zeros(8), method="BFGS", options={"gtol": 1e-6})
    assert found.value == pytest.approx(-direct.fun, rel=1e-9)
    a, b, v = direct.x[:3], direct.x[3:5], np.exp(direct.x[5:])
    for k, name in enumerate("xyw"):
        mine = found.parameters[name].distribution
        assert mine.intercept == pytest.approx(a[k], abs=1e-4)
        assert mine.variance == pytest.approx(v[k], rel=1e-4)
        if k:
            assert mine.coefficients == pytest.approx(b[k - 1], abs=1e-4)


def test_threads_parts_and_weights_change_nothing(monkeypatch):
    rng = np.random.default_rng(9)
    network = random_hybrid(rng, 3, 4)
    codes, values = random_rows(rng, network, 200)
    whole, value = MixedNetworkProblem(network, columns_of(network, codes, values)).expect(network)
    monkeypatch.setattr(mixed_expectations, "ROWS_AT_ONCE", 16)
    parts = [
        MixedNetworkProblem(network, columns_of(network, codes, values), n_jobs=n_jobs).expect(network)
        for n_jobs in (None, 2)
    ]
    assert parts[0][1] == parts[1][1] == pytest.approx(value, rel=1e-12)
    for name in whole.tables:
        assert np.array_equal(parts[0][0].tables[name], parts[1][0].tables[name])
        np.testing.assert_allclose(parts[0][0].tables[name], whole.tables[name], 1e-9, 1e-10)
    for name in whole.regressions:
        one, other = (part[0].regressions[name].second.high for part in parts)
        assert np.array_equal(one, other)
    twice = [np.concatenate([array, array[:50]]) for array in (codes, values)]
    repeated = MixedNetworkProblem(network, columns_of(network, *twice)).expect(network)[1]
    weights = np.where(np.arange(200) < 50, 2.0, 1.0)
    weighted = MixedNetworkProblem(network, columns_of(network, codes, values), weights).expect(network)[1]
    assert weighted == pytest.approx(repeated, rel=1e-12)


def test_coordinates_lead_back_and_zeros_stay():
    rng = np.random.default_rng(1)
    network = random_hybrid(rng, 3, 3, max_states=3)
    nodes = list(network.nodes)
    v = next(v for v, node in enumerate(nodes) if node.is_discrete and node.variable.size == 3)
    table = np.array(nodes[v].distribution.table())
    table[..., 0] = 0.0
    nodes[v] = replace(nodes[v], distribution=Table(table / table.sum(axis=-1, keepdims=True)))
    network = Network(tuple(nodes))
    codes, values = random_rows(rng, network, 30)
    problem = MixedNetworkProblem(network, columns_of(network, codes, values + 1e6))
    again = problem.unflat(problem.flat(network))
    same_network(again, network, 1e-9)
    assert (again.nodes[v].distribution.values[..., 0] == 0.0).all()


def two_states(table=(0.5, 0.5), variance=(1.0, 1.0)):
    z = Node(discrete("z", ("a", "b")), (), Table(table))
    x = Node(continuous("x"), ("z",), LinearGaussian([0.0, 1.0], np.zeros((2, 0)), variance))
    return Network((z, x))


def test_an_impossible_row_is_named():
    network = two_states((0.0, 1.0))
    columns = columns_of(network, np.array([[1, 1], [0, 1]]), np.array([[0.0, 1.0], [0.0, 2.5]]))
    with refuses(DataError, 1, "z", "a", "x", 2.5):
        MixedNetworkProblem(network, columns).expect(network)
    # Without weight it says nothing.
    assert np.isfinite(MixedNetworkProblem(network, columns, np.array([1.0, 0.0])).expect(network)[1])


def test_a_variance_of_zero_is_refused():
    network = two_states(variance=(0.0, 1.0))
    columns = columns_of(network, np.array([[1, 1]]), np.array([[0.0, 1.0]]))
    with refuses(SettingError, "x", "variance", "zero"):
        MixedNetworkProblem(network, columns).expect(network)


def test_too_many_ways_to_fill_a_row_are_refused():
    nodes = [Node(discrete(f"z{j}", (0, 1)), (), Table([0.5, 0.5])) for j in range(17)]
    network = Network(tuple(nodes))
    codes = np.zeros((3, 17), int)
    codes[2] = -1
    with refuses(TooLarge, "max_memory", 2):
        MixedNetworkProblem(network, columns_of(network, codes, np.full(codes.shape, np.nan)))
    codes[2, 0] = 0
    columns = columns_of(network, codes, np.full(codes.shape, np.nan))
    assert MixedNetworkProblem(network, columns).expect(network)[1] == pytest.approx(-35 * np.log(2.0))
    with pytest.raises(TooLarge):
        MixedNetworkProblem(network, columns, max_memory=1e6)


@pytest.mark.parametrize("hard", [False, True])
def test_collapse_ends_on_a_floor(hard):
    """A constant column with holes, and a state that one row has to itself: densities would grow without end."""
    network = two_states()
    cases = [([3.0, 3.0, np.nan, 3.0], 1.0), ([0.0, 0.1, 0.2, 0.15, 50.0], 398.0), ([np.nan] * 3, 1.0)]
    for column, least in cases:
        values = np.column_stack([np.full(len(column), np.nan), column])
        columns = columns_of(network, np.full(values.shape, -1), values)
        problem = MixedNetworkProblem(network, columns, hard=hard)
        found = run_em(problem, network, StoppingRule(tol=0.0, max_iter=200))
        spread = found.parameters["x"].distribution.variance
        assert np.isfinite(found.history).all()
        assert (spread >= 0.99e-9 * least).all()


def test_estimates_are_those_of_counting():
    """The M-step is the one path: the same sums give the same network."""
    rng = np.random.default_rng(4)
    network = random_hybrid(rng, 2, 2)
    codes, values = random_rows(rng, network, 80, 0.0)
    columns = columns_of(network, codes, values)
    problem = MixedNetworkProblem(network, columns, prior=BDeu(3.0), variance="unbiased")
    counted = estimated(network, NetworkCounts.of(network, columns), BDeu(3.0), {}, "unbiased")
    same_network(problem.maximise(problem.expect(network)[0]), counted, 1e-9)


@pytest.mark.parametrize("accelerate", [False, True])
def test_a_rule_stays_a_rule(accelerate):
    """Also where a prior would put something into its zeros, which are no part of the value either."""
    z, x = two_states().nodes
    rule = Node(discrete("not z", ("a", "b")), ("z",), Deterministic([1, 0], 2))
    network = Network((z, x, rule))
    codes = np.array([[-1, -1, 0], [1, -1, -1], [-1, -1, -1], [-1, -1, 1]])
    values = np.array([[0.0, x, 0.0] for x in (1.0, 2.0, -1.0, np.nan)])
    problem = MixedNetworkProblem(network, columns_of(network, codes, values), prior=BDeu(2.0))
    found = run_em(problem, network, StoppingRule(0.0, 6, accelerate=accelerate))
    assert found.parameters["not z"].distribution == rule.distribution
    assert np.isfinite(found.history).all() and not found.fell


def test_a_parent_never_seen_is_not_left_at_the_saddle_of_no_slopes():
    """With three indicators a factor model is saturated: its best likelihood is that of the normal distribution."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=400)
    rows = {f"x{i}": weight * factor + rng.normal(size=400) for i, weight in enumerate((2.0, 1.0, -1.0))}
    network = BayesianNetwork(
        {"factor": [], **{name: ["factor"] for name in rows}}, states=dict.fromkeys(["factor", *rows], float)
    )
    network.fit(rows, method="em", smoothing="mle", max_iter=1000, tol=1e-9)
    covariance = np.cov(list(rows.values()), bias=True)
    saturated = -200 * (3 * math.log(2 * math.pi) + np.linalg.slogdet(covariance)[1] + 3)
    assert network.history_[-1] == pytest.approx(saturated, abs=1e-3)
