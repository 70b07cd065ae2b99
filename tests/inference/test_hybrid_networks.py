"""Conditional-Gaussian networks against enumeration, arithmetic on paper and numerical integration."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._inference.gaussian.elimination import all_moments, eliminate, plan
from bayeskit._inference.gaussian.hybrid import Hybrid, HybridEvidence
from bayeskit.errors import SettingError, TooLarge, UsageError
from bayeskit.networks import LinearGaussian, Table
from hybrid_twin import enumerated, normalised, random_evidence, random_hybrid
from refusals import refuses

NAN = math.nan


def switch(name, *p):
    return Node(discrete(name, tuple(range(len(p)))), (), Table(p))


def gaussian(name, parents, intercept, coefficients, variance):
    return Node(continuous(name), parents, LinearGaussian(intercept, coefficients, variance))


def evidence(network, **seen):
    """Return evidence by node name: ints are states, floats values, arrays likelihoods."""
    found = HybridEvidence.nothing(len(network.nodes))
    for name, value in seen.items():
        v = network.dag.position[name]
        if isinstance(value, float):
            found.values[v] = value
        elif isinstance(value, int):
            found.codes[v] = value
        else:
            found = replace(found, likelihoods={**found.likelihoods, v: np.array(value)})
    return found


def moments_of(weights, means, variances):
    mean = weights @ means
    return mean, weights @ (variances + (means - mean) ** 2)


def check(network, known, tolerance=1e-10):
    """Compare every answer with enumeration."""
    found, places = enumerated(network, known)
    weights, log = normalised(found)
    engine = Hybrid(network)
    discrete_answers, mixtures, log_density = engine.posteriors(known)
    close = {"rtol": tolerance, "atol": tolerance}
    np.testing.assert_allclose(log_density, log, **close)
    np.testing.assert_allclose(engine.log_probability(known), log, **close)
    for v, p in discrete_answers.items():
        expected = np.bincount([codes[v] for codes, *_ in found], weights, minlength=len(p))
        np.testing.assert_allclose(p, expected, **close)
    x = np.linspace(-4, 4, 9)
    for i, v in enumerate(places):
        means = np.array([mean[i] for *_, mean, _ in found])
        variances = np.array([max(c[i, i], 0.0) for *_, c in found])
        mean, variance = moments_of(weights, means, variances)
        np.testing.assert_allclose([mixtures[v].mean, mixtures[v].variance], [mean, variance], **close)
        if np.isnan(known.values[v]) and variances.min() > 1e-6:
            density = norm.pdf(x[:, None], means, np.sqrt(variances)) @ weights
            np.testing.assert_allclose(mixtures[v].pdf(x), density, **close)
    return found, places, weights, engine


@pytest.mark.parametrize("seed", range(250))
def test_random_networks_agree_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    network = random_hybrid(rng, int(rng.integers(0, 4)), int(rng.integers(1, 6)))
    known = random_evidence(rng, network, share=float(rng.choice([0.0, 0.3, 0.6])))
    found, places, weights, engine = check(network, known)
    # Joint answers, targets in random order.
    chosen = rng.permutation(len(places))[:3]
    mixture, _ = engine.joint(tuple(places[i] for i in chosen), known)
    means = np.array([mean[chosen] for *_, mean, _ in found])
    covariances = np.array([c[np.ix_(chosen, chosen)] for *_, c in found])
    mean = weights @ means
    off = means - mean
    covariance = np.einsum("k,kij->ij", weights, covariances + off[:, :, None] * off[:, None])
    np.testing.assert_allclose(np.ravel(mixture.mean), mean, atol=1e-10)
    np.testing.assert_allclose(np.reshape(mixture.variance, covariance.shape), covariance, atol=1e-10)
    targets = tuple(int(v) for v in rng.permutation(engine.layout.discrete)[:2])
    if targets:
        joint, _ = engine.joint(targets, known)
        expected = np.zeros(joint.shape)
        for (codes, *_), w in zip(found, weights, strict=True):
            expected[tuple(codes[t] for t in targets)] += w
        np.testing.assert_allclose(joint, expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(60))
def test_zero_variances_agree_with_enumeration(seed):
    """Nodes without noise, none of them observed in a way that leaves the observed ones degenerate."""
    rng = np.random.default_rng(1000 + seed)
    network = random_hybrid(rng, int(rng.integers(0, 3)), int(rng.integers(2, 6)), certain=0.5)
    known = random_evidence(rng, network, share=0.3)
    noisy = np.array(
        [node.is_discrete or bool((node.distribution.variance > 0).all()) for node in network.nodes]
    )
    known.values[~noisy] = NAN
    check(network, known, 1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_the_mode_is_the_best_configuration_with_its_means(seed):
    rng = np.random.default_rng(2000 + seed)
    network = random_hybrid(rng, int(rng.integers(0, 4)), int(rng.integers(1, 5)))
    known = random_evidence(rng, network)
    found, places = enumerated(network, known)
    free = [i for i, v in enumerate(places) if np.isnan(known.values[v])]
    heights = [log - 0.5 * np.linalg.slogdet(2 * np.pi * c[np.ix_(free, free)])[1] for _, log, _, c in found]
    best = int(np.argmax(heights))
    answer = Hybrid(network).mpe(known)
    assert [int(c) for c in answer.codes[answer.codes >= 0]] == [c for c in found[best][0] if c >= 0]
    np.testing.assert_allclose(answer.values[places], found[best][2], atol=1e-9)
    np.testing.assert_allclose(answer.log_density, heights[best], atol=1e-9)


def test_the_textbook_mixture_by_integration():
    """c → x: P(c | x) = P(c) p(x | c) / ∫; then c → x → y with y seen, x integrated by quadrature."""
    network = Network(
        (
            switch("c", 0.3, 0.7),
            gaussian("x", ("c",), [0.0, 2.0], np.zeros((2, 0)), [1.0, 0.25]),
            gaussian("y", ("x",), 1.0, [2.0], 0.5),
        )
    )
    p = lambda x: 0.3 * norm.pdf(x, 0, 1) + 0.7 * norm.pdf(x, 2, 0.5)  # noqa: E731
    joint = lambda x: p(x) * norm.pdf(3.0, 1 + 2 * x, math.sqrt(0.5))  # noqa: E731
    total = quad(joint, -10, 10, epsabs=1e-13, points=[1, 2])[0]
    mean = quad(lambda x: x * joint(x), -10, 10, epsabs=1e-13, points=[1, 2])[0] / total
    known = evidence(network, y=3.0)
    answers = Hybrid(network).posteriors(known)
    assert answers.log_density == pytest.approx(math.log(total), abs=1e-11)
    assert answers.continuous[1].mean == pytest.approx(mean, abs=1e-10)
    assert answers.continuous[1].pdf(0.8) == pytest.approx(joint(0.8) / total, rel=1e-10)
    of_zero = 0.3 * norm.pdf(3, 1, math.sqrt(4.5)) / total
    np.testing.assert_allclose(answers.discrete[0], [of_zero, 1 - of_zero], atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_the_marginal_of_a_joint_is_the_single_answer(seed):
    rng = np.random.default_rng(seed)
    network = random_hybrid(rng, 2, 4)
    known = random_evidence(rng, network)
    engine = Hybrid(network)
    singles = engine.posteriors(known)
    targets = tuple(int(t) for t in rng.permutation(engine.layout.continuous)[:3])
    joint, log = engine.joint(targets, known)
    assert log == pytest.approx(singles.log_density, abs=1e-10)
    for place, t in enumerate(targets):
        one = joint.marginal(place)
        np.testing.assert_allclose(
            [one.mean, one.variance, one.cdf(0.3)],
            [singles.continuous[t].mean, singles.continuous[t].variance, singles.continuous[t].cdf(0.3)],
            atol=1e-9,
        )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_a_barren_node_and_another_order_of_nodes_change_nothing(seed):
    rng = np.random.default_rng(seed)
    network = random_hybrid(rng, 2, 3)
    known = random_evidence(rng, network)
    before = Hybrid(network).posteriors(known)
    numeric = tuple(n.name for n in network.nodes if not n.is_discrete)
    extra = gaussian("extra", numeric, 1.0, rng.normal(size=len(numeric)), 0.3)
    order = rng.permutation(len(network.nodes) + 1)
    turned = Network(tuple((*network.nodes, extra)[i] for i in order))
    place = {int(i): k for k, i in enumerate(order)}
    codes, values = np.append(known.codes, -1)[order], np.append(known.values, NAN)[order]
    soft = {place[v]: m for v, m in known.likelihoods.items()}
    after = Hybrid(turned).posteriors(HybridEvidence(codes, values, soft))
    assert after.log_density == pytest.approx(before.log_density, abs=1e-10)
    for v, p in before.discrete.items():
        np.testing.assert_allclose(after.discrete[place[v]], p, atol=1e-10)
    for v, mixture in before.continuous.items():
        same = after.continuous[place[v]]
        np.testing.assert_allclose([same.mean, same.variance], [mixture.mean, mixture.variance], atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_evidence_may_come_in_any_order(seed):
    """log p(a, b) = log p(a) + log p(b | a): the density of one value after the other, either way round."""
    rng = np.random.default_rng(seed)
    network = random_hybrid(rng, 2, 3)
    engine = Hybrid(network)
    nodes = engine.layout.continuous
    values = rng.normal(0, 2, len(nodes))
    for order in (range(len(nodes)), reversed(range(len(nodes)))):
        known = HybridEvidence.nothing(len(network.nodes))
        total = 0.0
        for i in order:
            mixture = engine.posteriors(known).continuous[nodes[i]]
            total += math.log(mixture.pdf(values[i]))
            known.values[nodes[i]] = values[i]
        assert engine.log_probability(known) == pytest.approx(total, abs=1e-9)


def test_a_stuck_sensor_is_found_out_by_its_exact_reading():
    """A value of probability one outweighs any density; where it cannot have come from there, the density counts."""
    network = Network(
        (
            switch("stuck", 0.99, 0.01),
            gaussian("a", ("stuck",), [5.0, 0.0], np.zeros((2, 0)), [1.0, 0.0]),
            gaussian("b", ("stuck",), [5.0, 0.0], np.zeros((2, 0)), [1.0, 0.0]),
        )
    )
    engine = Hybrid(network)
    seen = engine.posteriors(evidence(network, a=0.0))
    np.testing.assert_array_equal(seen.discrete[0], [0.0, 1.0])
    assert seen.log_density == pytest.approx(math.log(0.01))
    np.testing.assert_array_equal(engine.posteriors(evidence(network, a=0.1)).discrete[0], [1.0, 0.0])
    np.testing.assert_array_equal(engine.posteriors(evidence(network, a=0.0, b=3.0)).discrete[0], [1.0, 0.0])
    # The same contradiction through soft evidence, which is no table over the same node.
    both = engine.posteriors(evidence(network, a=0.0, stuck=[1.0, 0.0]))
    np.testing.assert_array_equal(both.discrete[0], [1.0, 0.0])
    assert both.log_density == pytest.approx(math.log(0.99) + norm.logpdf(0, 5, 1))
    with refuses(SettingError, "b", "certain"):
        engine.mpe(HybridEvidence.nothing(3))


def test_deterministic_nodes_observed():
    """total = x + y without noise: seen, it ties x and y; all three seen, it must add up."""
    network = Network(
        (
            gaussian("x", (), 1.0, [], 1.0),
            gaussian("y", (), 2.0, [], 3.0),
            gaussian("total", ("x", "y"), 0.0, [1.0, 1.0], 0.0),
        )
    )
    engine = Hybrid(network)
    answers = engine.posteriors(evidence(network, total=7.0))
    assert answers.log_density == pytest.approx(norm.logpdf(7, 3, 2))
    assert (answers.continuous[0].mean, answers.continuous[0].variance) == pytest.approx((2.0, 0.75))
    assert (answers.continuous[1].mean, answers.continuous[1].variance) == pytest.approx((5.0, 0.75))
    assert answers.continuous[2].variances.tolist() == [0.0]
    joint, _ = engine.joint((0, 1), evidence(network, total=7.0))
    np.testing.assert_allclose(joint.variance, [[0.75, -0.75], [-0.75, 0.75]], atol=1e-14)
    assert engine.posteriors(evidence(network, total=7.0, x=0.1)).continuous[1].mean == pytest.approx(6.9)
    added = engine.log_probability(evidence(network, x=0.1, y=0.2, total=0.30000000000000004))
    assert added == pytest.approx(norm.logpdf(0.1, 1, 1) + norm.logpdf(0.2, 2, math.sqrt(3)))
    wrong = engine.posteriors(evidence(network, x=0.1, y=0.2, total=0.4))
    assert wrong.log_density == -math.inf and not wrong.discrete and not wrong.continuous


def test_copies_of_copies_stay_certain():
    """y1 and y2 both copy x, with coefficients no float holds; their scaled difference has no variance at all."""
    network = Network(
        (
            gaussian("x", (), 0.0, [], 1.0),
            gaussian("y1", ("x",), 0.0, [0.1], 0.0),
            gaussian("y2", ("x",), 0.0, [0.7], 0.0),
            gaussian("z", ("y1", "y2"), 0.0, [0.7, -0.1], 0.0),
        )
    )
    engine = Hybrid(network)
    assert engine.posteriors(HybridEvidence.nothing(4)).continuous[3].variance < 1e-30
    assert engine.log_probability(evidence(network, z=0.0)) == 0.0
    assert engine.log_probability(evidence(network, z=1.0)) == -math.inf


def test_hundreds_of_observations_do_not_underflow():
    n = 800
    children = [gaussian(f"x{i}", ("c",), [0.0, 3.0], np.zeros((2, 0)), [1.0, 1.0]) for i in range(n)]
    network = Network((switch("c", 0.5, 0.5), *children))
    values = np.full(n + 1, 1.5)
    values[1] = 1.6
    p = Hybrid(network).posteriors(HybridEvidence(np.full(n + 1, -1), values)).discrete[0]
    # All observations but one are as likely under both: log odds of 3·1.6 − 4.5 = 0.3.
    assert math.log(p[1] / p[0]) == pytest.approx(0.3, abs=1e-9)
    values[:] = 30.0
    known = HybridEvidence(np.full(n + 1, -1), values)
    answers = Hybrid(network).posteriors(known)
    expected = math.log(0.5) + n * norm.logpdf(27.0)
    assert answers.log_density == pytest.approx(expected, rel=1e-12)


def test_weights_too_far_apart_for_plain_numbers():
    """The best state by a thousand orders of magnitude is ruled out; the other must not become impossible."""
    network = Network(
        (
            switch("c", 0.5, 0.3, 0.2),
            gaussian("x", ("c",), [0.0, 50.0, 51.0], np.zeros((3, 0)), [1.0, 1.0, 1.0]),
        )
    )
    engine = Hybrid(network)
    known = evidence(network, x=0.0, c=[0.0, 1.0, 1.0])
    answers = engine.posteriors(known)
    odds = math.log(0.3 / 0.2) + (51.0**2 - 50.0**2) / 2
    assert math.log(answers.discrete[0][1] / answers.discrete[0][2]) == pytest.approx(odds, rel=1e-12)
    assert answers.log_density == pytest.approx(math.log(0.3) + norm.logpdf(50.0), rel=1e-12)
    assert engine.log_probability(known) == answers.log_density
    assert engine.mpe(known).codes[0] == 1
    joint, log = engine.joint((0,), known)
    np.testing.assert_array_equal(joint, answers.discrete[0])
    assert log == answers.log_density


def test_contradicting_weights_over_different_nodes():
    """x says b = 0 by e^800, y says b = 1 by e^900, each through a table with another node."""
    two = np.zeros((2, 2))
    x_means, y_means = np.array([[0.0, 40.0]] * 2), np.array([[math.sqrt(1800), math.sqrt(1800)], [0.0, 0.1]])
    network = Network(
        (
            switch("a", 0.5, 0.5),
            switch("b", 0.5, 0.5),
            switch("c", 0.5, 0.5),
            gaussian("x", ("a", "b"), x_means, two[..., None][..., :0], two + 1.0),
            gaussian("y", ("b", "c"), y_means, two[..., None][..., :0], two + 1.0),
        )
    )
    known = evidence(network, x=0.0, y=0.0)
    found, _ = enumerated(network, known)
    weights, log = normalised(found)
    answers = Hybrid(network).posteriors(known)
    assert answers.log_density == pytest.approx(log, rel=1e-12)
    np.testing.assert_allclose(
        answers.discrete[2], np.bincount([c[2] for c, *_ in found], weights), rtol=1e-9
    )
    assert Hybrid(network).mpe(known).codes[1] == 1


def test_large_means_and_tiny_variances():
    """x ~ N(1e8, 1), y = x + N(0, 1e-12): y tells x to the last digit a float has."""
    network = Network(
        (
            switch("c", 0.5, 0.5),
            gaussian("x", ("c",), [1e8, -1e8], np.zeros((2, 0)), [1.0, 1.0]),
            gaussian("y", ("x",), 0.0, [1.0], 1e-12),
        )
    )
    answers = Hybrid(network).posteriors(evidence(network, y=1e8 + 0.5))
    x = answers.continuous[1]
    assert x.mean == pytest.approx(1e8 + 0.5, abs=1e-7)
    assert x.variance == pytest.approx(1e-12, rel=1e-9)
    assert answers.log_density == pytest.approx(math.log(0.5) + norm.logpdf(0.5), abs=1e-7)


def test_impossible_discrete_evidence():
    network = Network(
        (switch("c", 1.0, 0.0), gaussian("x", ("c",), [0.0, 1.0], np.zeros((2, 0)), [1.0, 1.0]))
    )
    known = evidence(network, c=1)
    assert Hybrid(network).log_probability(known) == -math.inf
    assert Hybrid(network).posteriors(known).log_density == -math.inf
    assert Hybrid(network).joint((1,), known)[1] == -math.inf


def switching_chain(n):
    """Return n binary switches and a chain x0 → x1 → …, each link with its own switch: 2^n components at the end."""
    switches = [switch(f"d{i}", 0.5, 0.5) for i in range(n)]
    chain = [gaussian("x0", ("d0",), [0.0, 1.0], np.zeros((2, 0)), [1.0, 2.0])]
    for i in range(1, n):
        chain.append(gaussian(f"x{i}", (f"d{i}", f"x{i - 1}"), [0.0, 1.0], np.ones((2, 1)), [1.0, 2.0]))
    return Network((*switches, *chain))


def test_too_many_configurations_are_refused_before_anything_is_made():
    n = 40
    network = switching_chain(n)
    engine = Hybrid(network)
    with pytest.raises(TooLarge) as caught:
        engine.posteriors(HybridEvidence.nothing(2 * n))
    assert caught.value.bytes_needed > 8 * 2**40 and "d0" in caught.value.largest
    with pytest.raises(TooLarge):
        engine.joint((2 * n - 1,), HybridEvidence.nothing(2 * n))
    with pytest.raises(TooLarge):
        engine.log_probability(evidence(network, **{f"x{n - 1}": 0.0}))


def test_what_needs_only_the_start_of_a_chain_is_answered_all_the_same():
    n, room = 12, 2**15
    network = switching_chain(n)
    engine = Hybrid(network)
    with pytest.raises(TooLarge):
        engine.joint((2 * n - 1,), HybridEvidence.nothing(2 * n), room)
    mixture, _ = engine.joint((n + 2,), HybridEvidence.nothing(2 * n), room)
    assert len(mixture.weights) == 8 and mixture.mean == pytest.approx(1.5)
    assert engine.log_probability(evidence(network, x1=0.0), room) > -math.inf


def test_the_estimate_is_near_the_peak_of_memory():
    n = 14
    engine = Hybrid(switching_chain(n))
    known = HybridEvidence.nothing(2 * n)
    known.values[-1] = 3.0
    rows = engine._rows(engine.layout.continuous, known)
    planned = plan(engine.layout, rows)
    tracemalloc.start()
    done = eliminate(rows, planned.steps)
    inward = tracemalloc.get_traced_memory()[1]
    moments = all_moments(planned.steps, done.given_later)
    outward = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(moments) == n - 1
    assert 0.8 * inward < planned.bytes_in < 1.25 * inward
    assert 0.8 * outward < planned.bytes_out < 1.2 * outward


def test_targets_of_both_kinds_are_refused_and_missing_tables_named():
    network = Network(
        (switch("c", 0.5, 0.5), gaussian("x", ("c",), [0.0, 1.0], np.zeros((2, 0)), [1.0, 1.0]))
    )
    with refuses(SettingError, "c", "x", "discrete", "continuous"):
        Hybrid(network).joint((0, 1), HybridEvidence.nothing(2))
    with refuses(UsageError, "x", "set_cpt"):
        Hybrid(Network((Node(continuous("x")),)))


def test_irrelevant_discrete_nodes_make_no_components():
    network = Network(
        (
            switch("a", 0.5, 0.5),
            switch("b", 0.2, 0.8),
            gaussian("x", ("a",), [0.0, 1.0], np.zeros((2, 0)), [1.0, 1.0]),
            gaussian("y", ("b", "x"), [0.0, 1.0], np.ones((2, 1)), [1.0, 1.0]),
        )
    )
    mixtures = Hybrid(network).posteriors(HybridEvidence.nothing(4)).continuous
    assert len(mixtures[2].weights) == 2 and len(mixtures[3].weights) == 4
