"""sample and approximate as users call them: frames, evidence by name, mixed networks, errors."""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayeskit import BayesianNetwork
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._io.networks.bif import read_bif
from bayeskit._networks.sampling_adapter import sampling_adapter_of
from bayeskit.errors import ImpossibleEvidence, SettingError, SuspectResult, TooLarge, UnseenState, UsageError
from bayeskit.networks import Estimate, LinearGaussian, Not, NumericEstimate, Table
from network_twin import joint_table, random_network, with_evidence
from query_networks import public
from refusals import refuses, warns_of
from sampling_networks import asia, binary, chi_square, exact, ring, wet_grass, within


def gaussian(name, intercept, coefficients, variance, *parents):
    return Node(continuous(name), parents, LinearGaussian(intercept, coefficients, variance))


def mixed():
    """Two classes, a → x → y with both depending on a or b, and z apart."""
    return Network(
        (
            gaussian("y", [0.5, -0.5], [[1.0], [2.0]], [0.5, 0.25], "b", "x"),
            Node(discrete("a", ("p", "q")), (), Table(np.array([0.4, 0.6]))),
            Node(discrete("b", ("r", "s")), ("a",), Table(np.array([[0.7, 0.3], [0.2, 0.8]]))),
            gaussian("x", [1.0, -1.0], [[], []], [1.0, 2.0], "a"),
            gaussian("z", 3.0, [0.5], 0.1, "y"),
            gaussian("w", 1.0, [], 0.0),
        )
    )


def test_frames():
    frame = public(wet_grass()).sample(50, random_state=3)
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == ["R", "S", "J", "B"]
    codes = public(wet_grass()).sample(50, random_state=3, as_codes=True)
    assert codes.shape == (50, 4) and codes.dtype == np.int64
    np.testing.assert_array_equal(frame.to_numpy() == "yes", codes == 1)


def test_a_dict_where_pandas_is_not(monkeypatch):
    wanted = public(wet_grass()).sample(5)
    monkeypatch.setitem(sys.modules, "pandas", None)
    found = public(wet_grass()).sample(5)
    assert isinstance(found, dict) and list(found) == ["R", "S", "J", "B"]
    np.testing.assert_array_equal(found["J"], wanted["J"].to_numpy())


def test_kinds_of_states_and_names():
    network = Network(
        (
            Node(discrete(("t", 1), (True, False)), (), Table(np.array([0.5, 0.5]))),
            Node(discrete("self", (1, 2)), (), Table(np.array([0.5, 0.5]))),
            Node(discrete("湿", ((1, 2), None)), (), Table(np.array([1.0, 0.0]))),
            Node(discrete("one", ("only",)), (), Table(np.array([1.0]))),
        )
    )
    frame = public(network).sample(40)
    assert list(frame.columns) == [("t", 1), "self", "湿", "one"]
    assert frame[("t", 1)].dtype == bool and frame["self"].dtype == np.int64
    assert set(frame["湿"]) == {(1, 2)} and set(frame["one"]) == {"only"}


def test_prefix_and_seeds():
    drawn = public(asia())
    for told in (None, {"xray": "yes"}):
        long = drawn.sample(200, 7, told, as_codes=True)
        np.testing.assert_array_equal(
            drawn.sample(10, random_state=7, evidence=told, as_codes=True), long[:10]
        )
        assert not np.array_equal(drawn.sample(200, random_state=8, evidence=told, as_codes=True), long)
    long = public(mixed()).sample(60, evidence={"y": 1.0})
    assert public(mixed()).sample(7, evidence={"y": 1.0}).equals(long[:7])


@pytest.mark.parametrize(
    ("told", "soft"),
    [
        ({"xray": "yes"}, None),
        ({"dysp": "yes", "asia": "yes"}, {"either": [1.0, 3.0]}),
        ({"smoke": Not("no")}, None),
    ],
)
def test_conditional_frequencies(told, soft):
    network = asia()
    position = network.dag.position
    codes = {position[k]: 1 for k in told}  # in this network all of it is "yes"
    joint = with_evidence(joint_table(network), codes, {position[k]: v for k, v in (soft or {}).items()})
    rows = public(network).sample(40_000, evidence=told, soft=soft, as_codes=True)
    assert chi_square(rows, joint / joint.sum()) > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_conditional_frequencies_of_random_networks(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=6, max_states=3, zeros=0.2)
    joint = joint_table(network)
    seen = np.unravel_index(joint.argmax(), joint.shape)
    posterior = with_evidence(joint, {2: seen[2], 4: seen[4]})
    told = {network.nodes[v].name: f"s{seen[v]}" for v in (2, 4)}
    rows = public(network).sample(20_000, random_state=seed, evidence=told, as_codes=True)
    assert chi_square(rows, posterior / posterior.sum()) > 1e-3


@pytest.mark.parametrize("name", ["child", "insurance", "win95pts"])
def test_against_other_software(name):
    """Posterior marginals of gRain and pyAgrum: shares of 20,000 rows within 5 standard errors, every node."""
    network, cases = golden(name)
    drawn = public(network)
    for seed, case in enumerate([c for c in cases if c["evidence"] and c["p_evidence"] > 0][:4]):
        rows = drawn.sample(20_000, random_state=seed, evidence=case["evidence"], as_codes=True)
        for v, node in enumerate(network.nodes):
            if node.name in case["evidence"]:
                continue
            wanted = np.array(case["marginals"][node.name])
            shares = np.bincount(rows[:, v], minlength=len(wanted)) / len(rows)
            error = np.sqrt(wanted * (1 - wanted) / len(rows)) + 1e-4
            assert (np.abs(shares - wanted) < 5 * error).all(), (case["evidence"], node.name)


def golden(name):
    folder = Path(__file__).parents[1] / "golden/networks"
    answers, file = folder / f"inference/{name}.json.gz", folder / f"bif/{name}.bif.gz"
    network = read_bif(gzip.decompress(file.read_bytes()))
    return network, json.loads(gzip.decompress(answers.read_bytes()))["cases"]


def test_a_markov_network_is_drawn_exactly():
    field = ring(0.8)
    values = [f.values for f in field.factors]
    joint = np.einsum("ab,bc,cd,da,a->abcd", *values)
    drawn = public(field)
    assert chi_square(drawn.sample(30_000, as_codes=True), joint / joint.sum()) > 1e-3
    assert set(drawn.sample(20, evidence={"v2": 1})["v2"]) == {1}


def test_mixed_rows():
    frame = public(mixed()).sample(40_000, random_state=1)
    assert list(frame.columns) == ["y", "a", "b", "x", "z", "w"]
    for state, mean, variance in (("p", 1.0, 1.0), ("q", -1.0, 2.0)):
        x = frame.x[frame.a == state]
        assert stats.kstest(x, stats.norm(mean, variance**0.5).cdf).pvalue > 1e-3
    for state, a, b, v in (("r", 0.5, 1.0, 0.5), ("s", -0.5, 2.0, 0.25)):
        part = frame[frame.b == state]
        assert stats.kstest(part.y - a - b * part.x, stats.norm(0, v**0.5).cdf).pvalue > 1e-3
    assert set(frame.w) == {1.0}
    codes = public(mixed()).sample(5, as_codes=True)
    assert codes.dtype == np.float64 and codes.shape == (5, 6)


def posterior_of_mixed(y):
    """By hand: P(a, b | y) and the mean of x given a, b, y."""
    prior = np.array([0.4, 0.6])[:, None] * np.array([[0.7, 0.3], [0.2, 0.8]])
    m, v = np.array([1.0, -1.0])[:, None], np.array([1.0, 2.0])[:, None]
    c, k, s = np.array([0.5, -0.5]), np.array([1.0, 2.0]), np.array([0.5, 0.25])
    spread = k**2 * v + s
    p = prior * stats.norm.pdf(y, c + k * m, np.sqrt(spread))
    mean = m + k * v / spread * (y - c - k * m)
    return p / p.sum(), mean, v - (k * v) ** 2 / spread


def test_observed_numbers():
    p, mean, variance = posterior_of_mixed(1.2)
    frame = public(mixed()).sample(40_000, random_state=2, evidence={"y": 1.2})
    assert (frame.y == 1.2).all()
    counts = frame.groupby(["a", "b"]).size().reindex([(a, b) for a in "pq" for b in "rs"]).to_numpy()
    assert stats.chisquare(counts, 40_000 * p.ravel()).pvalue > 1e-3
    for i, a in enumerate("pq"):
        for j, b in enumerate("rs"):
            x = frame.x[(frame.a == a) & (frame.b == b)]
            wanted = stats.norm(mean[i, j], variance[i, j] ** 0.5)
            assert stats.kstest(x, wanted.cdf).pvalue > 1e-3
    # z follows from y alone.
    assert stats.kstest(frame.z, stats.norm(3.6, 0.1**0.5).cdf).pvalue > 1e-3


def test_observed_numbers_weigh():
    p, _, _ = posterior_of_mixed(1.2)
    found = public(mixed()).approximate(
        ["a", "b"], evidence={"y": 1.2}, method="likelihood weighting", n_samples=40_000
    )
    assert within(found, p) and found.standard_error.max() < 0.02
    with refuses(SettingError, "y", "continuous", "method='gibbs'"):
        public(mixed()).approximate("a", evidence={"y": 1.2}, method="gibbs")
    for method in ("gibbs", "rejection", "loopy"):
        with refuses(SettingError, "x", "continuous", f"method={method!r}"):
            public(mixed()).approximate("x", method=method)
    assert within(public(mixed()).approximate("b", method="gibbs"), [0.4, 0.6])


def test_numbers_without_freedom():
    network = Network((gaussian("x", 0.0, [], 1.0), gaussian("y", 0.0, [2.0], 0.0, "x")))
    frame = public(network).sample(100, evidence={"y": 3.0})
    np.testing.assert_allclose(frame.x, 1.5)
    both = public(network).sample(5, evidence={"x": 1.5, "y": 3.0})
    assert (both.x == 1.5).all() and (both.y == 3.0).all()
    with refuses(ImpossibleEvidence, "x", 1.0, "y", 3.0):
        public(network).sample(5, evidence={"x": 1.0, "y": 3.0})


def test_a_certain_value_outweighs_a_density():
    """x is 1 for sure where a is p, and normal about 1 where it is q: seen x = 1, only p explains it."""
    network = Network(
        (
            Node(discrete("a", ("p", "q")), (), Table(np.array([0.01, 0.99]))),
            gaussian("x", [1.0, 1.0], [[], []], [0.0, 1.0], "a"),
            gaussian("y", 0.0, [1.0], 1.0, "x"),
        )
    )
    drawn = public(network)
    assert (drawn.sample(50, evidence={"x": 1.0}).a == "p").all()
    assert (drawn.sample(50, evidence={"x": 2.0, "y": 7.0}).a == "q").all()
    # Where p is ruled out, the density of q counts after all.
    assert (drawn.sample(50, evidence={"x": 1.0, "a": "q"}).a == "q").all()
    with refuses(ImpossibleEvidence, "x", 2.0, "a", "p"):
        drawn.sample(5, evidence={"x": 2.0, "y": 7.0, "a": "p"})


@pytest.mark.parametrize("seed", range(40))
def test_conditioning_agrees_with_the_exact_engine(seed):
    """Densities are those of exact inference, and rows drawn from the middle of every normal are its means."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    nodes = []
    for k in range(n):
        parents = sorted(rng.choice(k, int(rng.integers(min(k, 3) + 1)), replace=False).tolist())
        variance = 0.0 if parents and rng.random() < 0.4 else float(rng.uniform(0.1, 2))
        nodes.append(gaussian(k, rng.normal(0, 3), rng.normal(0, 1, len(parents)), variance, *parents))
    network = BayesianNetwork._of(Network(tuple(nodes)))
    row = network.sample(1, random_state=seed).iloc[0]
    seen = {k: float(row[k]) for k in range(n) if rng.random() < 0.5}
    adapter = sampling_adapter_of(network._cache)
    found, known = adapter.read(seen, None, 2**30)
    _, parts = adapter._samplers(found, known, 2**30)
    exact_density = network.log_probability(seen)
    assert sum(float(p.log_density) for p in parts) == pytest.approx(exact_density, rel=1e-8, abs=1e-8)
    values = np.zeros((1, n))
    for k in adapter.numeric.order:
        adapter.numeric.draw(k, np.zeros((1, 0), int), np.full((1, n), 0.5), values)
    for part in parts:
        part.mend(np.zeros((1, 0), int), values)
    for part in parts:
        for k in part.nodes:
            wanted = float(network.query(k, evidence=seen).mean)
            assert values[0, k] == pytest.approx(wanted, rel=1e-7, abs=1e-7)


def test_evidence_on_every_node_of_a_mixed_network():
    seen = {"a": "p", "b": "s", "x": 0.25, "y": 1.0, "z": 3.5, "w": 1.0}
    frame = public(mixed()).sample(3, evidence=seen)
    assert all((frame[name] == value).all() for name, value in seen.items())


def test_values_far_beyond_belief_are_impossible_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with refuses(ImpossibleEvidence, "y", 1e300):
            public(mixed()).sample(2, evidence={"y": 1e300, "z": 0.0})
        with refuses(SettingError, 10, "n_samples"):
            public(mixed()).approximate(
                "a", evidence={"y": 1e300}, method="likelihood weighting", n_samples=10
            )
        with refuses(ImpossibleEvidence, "y", 1e300):
            public(mixed()).approximate("a", evidence={"y": 1e300})


@pytest.mark.parametrize("n", [10**15, 10**30])
def test_more_rows_than_there_is_memory(n):
    with refuses(SettingError, n, 4, 32 * n):
        public(wet_grass()).sample(n, as_codes=True)


@pytest.mark.parametrize(
    "wrong",
    [{"burn_in": -1}, {"n_chains": 0}, {"max_iter": 0}, {"tol": -1}, {"damping": 1}, {"n_samples": 0}],
)
@pytest.mark.parametrize("method", ["likelihood weighting", "gibbs", "rejection", "loopy"])
def test_arguments_are_checked_whatever_the_method(method, wrong):
    with refuses(SettingError, *wrong, *map(repr, wrong.values())):
        public(wet_grass()).approximate("R", method=method, **wrong)


METHODS = ["likelihood weighting", "gibbs", "rejection", "loopy"]


@pytest.mark.parametrize("method", METHODS)
def test_approximate(method):
    found = public(wet_grass()).approximate(
        "S", evidence={"B": "yes", "J": "yes"}, method=method, random_state=2
    )
    assert isinstance(found, Estimate) and found.method == method
    assert found.names == ("S",) and found.states == (("no", "yes"),)
    if method == "loopy":
        assert found["yes"] == pytest.approx(43 / 268, abs=1e-12)
        assert found.converged and found.standard_error is None and found.n_samples is None
    else:
        assert within(found, np.array([225 / 268, 43 / 268]))
        assert found["yes"] == found.values[1] == found.factor["yes"] == found.to_dict()["yes"]
        assert found.n_samples == 10_000 and 500 < found.effective_sample_size <= 10_000
        assert found.converged is None
    assert (found.r_hat is not None) == (method == "gibbs")
    assert (found.n_accepted is not None) == (method == "rejection")
    text = repr(found)
    assert text.startswith(f"Estimate of 'S' by {method}: ") and "'yes': 0.1" in text
    again = public(wet_grass()).approximate(
        "S", evidence={"B": "yes", "J": "yes"}, method=method, random_state=2
    )
    np.testing.assert_array_equal(found.values, again.values)


@pytest.mark.parametrize("method", METHODS)
def test_axes_come_in_the_order_asked(method):
    found = public(asia()).approximate(["either", "lung"], method=method)
    wanted = exact(asia(), ["either", "lung"], {})
    np.testing.assert_allclose(found.values, wanted, atol=0.03)
    assert found.names == ("either", "lung") and found["no", "yes"] == 0


@pytest.mark.parametrize("method", ["gibbs", "loopy"])
def test_impossible_evidence_is_explained(method):
    told = {"S": "no", "R": "yes", "J": "no"}
    with pytest.raises(ImpossibleEvidence) as caught:
        public(wet_grass()).approximate("B", evidence=told, method=method)
    assert caught.value.evidence == {"R": "yes", "J": "no"}


def test_impossible_evidence_of_a_sample():
    with pytest.raises(ImpossibleEvidence) as caught:
        public(wet_grass()).sample(3, evidence={"S": "no", "R": "yes"}, soft={"J": {"no": 1, "yes": 0}})
    assert set(caught.value.evidence) == {"R", "J"}


@pytest.mark.parametrize("method", ["likelihood weighting", "rejection"])
def test_no_sample_agrees(method):
    with refuses(SettingError, 100, "n_samples"):
        public(wet_grass()).approximate("B", evidence={"R": "yes", "J": "no"}, method=method, n_samples=100)


def test_markov_networks():
    joint = np.einsum("ab,bc,cd,da,a->abcd", *(f.values for f in ring(0.3).factors))
    wanted = joint.sum(axis=(1, 2, 3)) / joint.sum()
    found = public(ring(0.3)).approximate("v0", max_memory=1)  # nothing exact fits into it
    assert found.method == "gibbs" and within(found, wanted)
    found = public(ring(0.3)).approximate("v0")
    assert found.method == "exact"
    np.testing.assert_allclose(found.values, wanted, atol=1e-14)
    np.testing.assert_allclose(public(ring(0.3)).approximate("v0", method="loopy").values, wanted, atol=0.02)
    for method in ("likelihood weighting", "rejection"):
        with refuses(SettingError, 'method="gibbs"', "loopy"):
            public(ring(0.3)).approximate("v0", method=method)


def test_suspect_results():
    with warns_of(SuspectResult, 3, "damping=0.5", "max_iter"):
        found = public(ring(3.0, frustrated=True)).approximate("v0", method="loopy", max_iter=3)
    assert not found.converged
    sticky = Network((binary("x", [0.5, 0.5]), binary("y", [[1 - 1e-6, 1e-6], [1e-6, 1 - 1e-6]], "x")))
    with warns_of(SuspectResult, "n_samples", "burn_in"):
        public(sticky).approximate(["x", "y"], method="gibbs", n_samples=400, n_chains=8)
    # One row in a thousand has the rare class, and weighs a hundred million times as much as the others.
    rare = Network(
        (
            binary("c", [0.999, 0.001]),
            *(binary(f"x{k}", [[0.99, 0.01], [0.01, 0.99]], "c") for k in range(4)),
        )
    )
    with warns_of(SuspectResult, 10000, "n_samples"):
        public(rare).approximate(
            "c", evidence={f"x{k}": "yes" for k in range(4)}, method="likelihood weighting"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        public(asia()).approximate("lung", method="gibbs")


def sharpened(rng, network, sharpness):
    """Return the network with other tables: the smaller the number, the nearer to zero and one."""
    nodes = []
    for node in network.nodes:
        *cells, size = node.distribution.table().shape
        table = Table(rng.dirichlet(np.full(size, sharpness), cells))
        nodes.append(Node(node.variable, node.parents, table))
    return Network(tuple(nodes))


def off_by(method, sharpness, n_samples, seeds):
    """Return |estimate − exact| / standard error of every cell of every free node of random networks."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        network = sharpened(rng, random_network(rng, n_nodes=7, max_states=3), sharpness)
        names = network.dag.nodes
        drawn = public(network).sample(1, random_state=seed, as_codes=True)[0]
        codes = {names[k]: int(drawn[k]) for k in rng.choice(7, 2, replace=False)}
        seen = {name: network[name].variable.states[code] for name, code in codes.items()}
        for k, name in enumerate(names):
            if name not in seen and network[name].variable.size > 1:
                ours = public(network).approximate(
                    name, evidence=seen, method=method, n_samples=n_samples, random_state=[seed, k]
                )
                off = np.abs(ours.values - exact(network, [name], codes))
                found.append(off / ours.standard_error)
    return np.concatenate(found)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
@pytest.mark.parametrize(
    ("method", "sharpness", "n_samples"),
    [
        ("likelihood weighting", 1.0, 2000),
        ("likelihood weighting", 0.3, 200),
        ("likelihood weighting", 0.3, 2000),
        ("likelihood weighting", 0.1, 2000),
        ("rejection", 1.0, 2000),
        ("rejection", 0.3, 2000),
        (
            "gibbs",
            1.0,
            2000,
        ),  # tables near zero and one tie nodes together, which no error of a short chain sees
    ],
)
@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(1000, 1600), marks=pytest.mark.slow)], ids=len
)
def test_standard_errors_are_honest(method, sharpness, n_samples, seeds):
    off = off_by(method, sharpness, n_samples, seeds)
    assert len(off) > 400
    assert (off > 3).mean() <= 0.01
    assert off.max() < 6
    # And they are not wide for nothing.
    assert np.sqrt((off**2).mean()) > 0.5


def off_by_means(seeds, n_samples):
    """Return |estimate − exact| / standard error of the means of continuous nodes of random mixed networks."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        graph = {"a": [], "b": ["a"], "x": ["b"], "y": ["x", "a"], "z": ["x", "y"]}
        network = BayesianNetwork(graph, {"a": list("pq"), "b": list("rst"), **dict.fromkeys("xyz", float)})
        network.set_cpt("a", rng.dirichlet([1, 1]))
        network.set_cpt("b", rng.dirichlet([1, 1, 1], 2))
        network.set_gaussian("x", {b: (rng.normal(0, 2), rng.gamma(2)) for b in "rst"})
        network.set_gaussian("y", {a: (0, {"x": rng.normal()}, rng.gamma(2)) for a in "pq"})
        network.set_gaussian("z", 1, dict(zip("xy", rng.normal(size=2), strict=True)), rng.gamma(2))
        seen = {"z": float(network.sample(1, random_state=seed)["z"][0])} if seed % 2 else {"b": "s"}
        exact_ = network.posteriors(seen)
        for k, targets in enumerate(("x", "y", ["x", "y"])):
            ours = network.approximate(
                targets,
                evidence=seen,
                method="likelihood weighting",
                n_samples=n_samples,
                random_state=[seed, k],
            )
            wanted = np.array([exact_[name].mean for name in targets])
            found.append(np.abs(np.atleast_1d(ours.mean) - wanted) / np.atleast_1d(ours.standard_error))
    return np.concatenate(found)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(1000, 1600), marks=pytest.mark.slow)], ids=len
)
@pytest.mark.parametrize("n_samples", [300, 3000])
def test_standard_errors_of_means_are_honest(n_samples, seeds):
    off = off_by_means(seeds, n_samples)
    assert len(off) == 4 * len(seeds)
    assert (off > 3).mean() <= 0.01
    assert off.max() < 6
    assert np.sqrt((off**2).mean()) > 0.7


def test_continuous_targets():
    p, mean, variance = posterior_of_mixed(1.2)
    network, seen = public(mixed()), {"y": 1.2}
    wanted = (p * mean).sum()
    sd = ((p * (variance + mean**2)).sum() - wanted**2) ** 0.5
    found = network.approximate("x", seen, method="likelihood weighting", n_samples=40_000)
    assert isinstance(found, NumericEstimate) and found.names == ("x",) and found.n_samples == 40_000
    assert abs(found.mean - wanted) < 5 * found.standard_error and found.standard_error < 0.02
    assert found.sd == pytest.approx(sd, rel=0.03)
    exact_ = network.approximate("x", seen)
    assert exact_.method == "exact" and exact_.standard_error == 0 and exact_.n_samples is None
    assert exact_.mean == pytest.approx(wanted, abs=1e-12) and exact_.sd == pytest.approx(sd, abs=1e-12)
    cuts = [0.05, 0.5, 0.95]
    np.testing.assert_allclose(found.quantile(cuts), exact_.quantile(cuts), atol=0.1)
    assert found.interval(0.9) == pytest.approx(tuple(found.quantile([0.05, 0.95])))
    assert np.ndim(found.quantile(0.5)) == 0
    both = network.approximate(["w", "x"], seen, method="likelihood weighting", n_samples=40_000)
    whole = network.approximate(["w", "x"], seen)
    assert both.mean.shape == both.sd.shape == both.standard_error.shape == (2,)
    assert (np.abs(both.mean - whole.mean) <= 5 * both.standard_error).all()
    assert whole.quantile(cuts).shape == (2, 3) and whole.interval().shape == (2, 2)
    again = network.approximate("x", seen, method="likelihood weighting", n_samples=40_000)
    assert again.mean == found.mean
    observed = network.approximate("y", seen, method="likelihood weighting", n_samples=10)
    assert (observed.mean, observed.sd, observed.standard_error) == (1.2, 0, 0)
    assert "'x': mean" in repr(found) and "worth" in repr(found)
    with refuses(SettingError, "x", "a"):
        network.approximate(["a", "x"])
    for q in (0, 1.5, "half", np.nan):
        with refuses(SettingError, q):
            found.quantile(q)
    with refuses(SettingError, "level", 1):
        found.interval(1)


def test_one_sample_with_all_the_weight_is_not_certain():
    """Its error is the spread of the samples before the evidence is seen, not zero."""
    network = BayesianNetwork({"b": ["a"]}, states=float)
    network.set_gaussian("a", 0, variance=1)
    network.set_gaussian("b", 0, {"a": 1}, 1e-12)
    with warns_of(SuspectResult, 100, "n_samples"):
        found = network.approximate("a", {"b": 2.0}, method="likelihood weighting", n_samples=100)
    assert found.effective_sample_size < 1.01 and found.standard_error == pytest.approx(1, abs=0.3)


def rare_disease(prior=1e-6, n_signs=6):
    """A disease that no sample has, and signs that hardly anybody shows without it."""
    signs = [f"sign{i}" for i in range(n_signs)]
    network = BayesianNetwork({"disease": [], **{s: ["disease"] for s in signs}}, states=["no", "yes"])
    network.set_cpt("disease", [1 - prior, prior])
    for sign in signs:
        network.set_cpt(sign, [[0.99, 0.01], [0.05, 0.95]])
    return network, dict.fromkeys(signs, "yes")


def test_likelihood_weighting_says_what_its_samples_cannot_have_seen():
    network, seen = rare_disease()
    assert network.query("disease", evidence=seen)["yes"] > 0.999998
    with pytest.warns(SuspectResult, match="query") as told:
        found = network.approximate("disease", evidence=seen, method="likelihood weighting")
    assert found["yes"] == 0
    assert len(told) == 1 and "10000" in str(told[0].message)
    assert told[0].filename == __file__
    # Evidence that is merely improbable is met by the samples, and nothing is said of it.
    common, seen = rare_disease(prior=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = common.approximate("disease", evidence=seen, method="likelihood weighting")
        assert found["yes"] == pytest.approx(1, abs=1e-6)
        network.approximate("disease", evidence={"sign0": "no"}, method="likelihood weighting")
        network.approximate("sign0", soft={"sign1": [0.1, 0.2]}, method="likelihood weighting")
        # Without a method the answer is exact where that fits into memory.
        found = network.approximate("disease", evidence=rare_disease()[1])
    assert found.method == "exact" and found["yes"] > 0.999998
    assert found.standard_error.tolist() == [0.0, 0.0]
    assert repr(found).splitlines()[0] == "Estimate of 'disease', exact"


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda d: d.sample(-1), SettingError, ["n_samples", -1]),
        (lambda d: d.sample(2.5), SettingError, ["n_samples", 2.5]),
        (lambda d: d.sample(True), SettingError, ["n_samples", True]),
        (lambda d: d.sample(2, random_state=-1), SettingError, ["random_state", -1]),
        (lambda d: d.sample(2, random_state="a"), SettingError, ["random_state", "a"]),
        (lambda d: d.sample(2, as_codes="yes"), SettingError, ["as_codes", "yes"]),
        (lambda d: d.sample(2, evidence={"R": "maybe"}), UnseenState, ["R", "maybe"]),
        (lambda d: d.sample(2, evidence={"Q": "yes"}), SettingError, ["Q", "R", "S"]),
        (lambda d: d.sample(2, evidence={"B": "yes"}, max_memory=20), TooLarge, ["max_memory", 20]),
        (lambda d: d.approximate([]), SettingError, ["node"]),
        (lambda d: d.approximate(["R", "R"]), SettingError, ["R", "twice"]),
        (lambda d: d.approximate("Q"), SettingError, ["Q", "R", "S"]),
        (lambda d: d.approximate("R", method="exact"), SettingError, ["method", "exact"]),
        (lambda d: d.approximate("R", n_samples=0), SettingError, ["n_samples", 0]),
        (lambda d: d.approximate("R", method="gibbs", n_chains=0), SettingError, ["n_chains", 0]),
        (lambda d: d.approximate("R", method="gibbs", burn_in=-1), SettingError, ["burn_in", -1]),
        (lambda d: d.approximate("R", method="loopy", damping=1.0), SettingError, ["damping", 1.0]),
        (lambda d: d.approximate("R", method="loopy", tol=-1), SettingError, ["tol", -1]),
        (lambda d: d.approximate(["J", "S"], method="loopy"), UsageError, ["J", "S"]),
    ],
)
def test_errors(call, error, says):
    with refuses(error, *says):
        call(public(wet_grass()))


def test_a_node_without_a_table():
    network = BayesianNetwork({"a": []}, states=["x", "y"])
    with refuses(UsageError, "a", "set_cpt"):
        network.sample(1)


def test_a_change_is_seen():
    drawn = BayesianNetwork({"a": []}, states=["no", "yes"])
    drawn.set_cpt("a", [1, 0])
    assert set(drawn.sample(9)["a"]) == {"no"}
    drawn.set_cpt("a", [0, 1])
    assert set(drawn.sample(9)["a"]) == {"yes"}


def test_nothing_to_draw():
    assert BayesianNetwork().sample(3, as_codes=True).shape == (3, 0)
    assert len(public(wet_grass()).sample(0)) == 0
    assert len(public(wet_grass()).sample(0, evidence={"B": "yes"})) == 0
