"""Likelihood weighting: near the exact answer, honest about how near, never NaN."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit._graphs.network import Network
from bayeskit._inference.potentials import Potentials
from bayeskit._inference.sampling.estimate import Cells
from bayeskit._inference.sampling.forward import Forward
from bayeskit._inference.sampling.likelihood_weighting import (
    likelihood_weighting,
    weighted_cells,
    weighted_shares,
)
from bayeskit.errors import SettingError
from network_twin import joint_table, margin, random_network
from refusals import refuses
from sampling_networks import Near, asia, binary, evidence, exact, wet_grass, within


def estimate(network, targets, given, n=10_000, seed=0):
    potentials = Potentials.of(network)
    places = tuple(network.dag.position[t] for t in targets)
    cells = Cells.of(potentials, places, given)
    return likelihood_weighting(Forward.of(potentials), cells, given, n, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("network", "targets", "codes", "soft"),
    [
        (wet_grass(), ["S"], {"B": 1, "J": 1}, {}),
        (wet_grass(), ["R"], {"B": 1, "J": 1}, {}),
        (wet_grass(), ["R", "S"], {"B": 1}, {"J": [0.2, 1.0]}),
        (asia(), ["lung"], {"xray": 1}, {}),
        (asia(), ["lung"], {"xray": 1, "asia": 1}, {}),
        (asia(), ["dysp", "bronc"], {"smoke": 0}, {"either": [0.0, 1.0]}),
        (asia(), ["smoke"], {}, {}),
        (asia(), ["smoke", "xray"], {"xray": 1}, {}),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_within_five_errors(network, targets, codes, soft, seed):
    found = estimate(network, targets, evidence(network, codes, soft), 20_000, seed)
    assert within(Near(found), exact(network, targets, codes, soft))
    assert found.values.sum() == pytest.approx(1)
    assert 0 < found.worth <= 20_000 * (1 + 1e-12)
    # The error says something: no cell may be off by a tenth and called good.
    assert found.standard_error.max() < 0.1


@pytest.mark.parametrize("seed", range(10))
def test_random_networks(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=7, zeros=0.2)
    joint = joint_table(network)
    seen = int(rng.integers(7))
    code = int(margin(joint, seen).argmax())
    target = (seen + 1) % 7
    name = [n.name for n in network.nodes]
    found = estimate(network, [name[target]], evidence(network, {name[seen]: code}), 5000, seed)
    assert within(Near(found), exact(network, [name[target]], {name[seen]: code}))


def test_the_weights_are_the_probabilities_of_the_evidence():
    network = wet_grass()
    given = evidence(network, {"J": 1}, {"S": [0.5, 1.0]})
    potentials = Potentials.of(network)
    cells = Cells.of(potentials, (0, 1), given)
    at, logs = weighted_cells(Forward.of(potentials), cells, given, 1000, np.random.default_rng(0))
    rain, sprinkler = at // 2, at % 2
    np.testing.assert_allclose(np.exp(logs), np.where(rain, 1.0, 0.2) * np.where(sprinkler, 1.0, 0.5))


def test_error_and_worth_by_hand():
    cells = Cells.of(Potentials.of(wet_grass()), (0,), evidence(wet_grass()))
    found = weighted_shares(np.array([0, 0, 1]), np.array([1.0, 2.0, 1.0]), cells)
    np.testing.assert_allclose(found.values, [3 / 4, 1 / 4])
    # Σ w²([x = 0] − 3/4)² = (1 + 4)/16 + 9/16 = 14/16, and of two imaginary samples of weight 2, one in the cell and
    # one outside, 4/16 + 36/16; the root of the sum over Σ w = 4
    np.testing.assert_allclose(found.standard_error, [np.sqrt(54) / 16] * 2)
    assert found.worth == pytest.approx(16 / 6)


@pytest.mark.parametrize(
    ("network", "target", "codes"), [(asia(), "lung", {"xray": 1}), (wet_grass(), "S", {"B": 1})]
)
def test_the_error_is_calibrated(network, target, codes):
    wanted = exact(network, [target], codes)[1]
    given = evidence(network, codes)
    found = [estimate(network, [target], given, 2000, seed) for seed in range(200)]
    off = np.array([(f.values[1] - wanted) / f.standard_error[1] for f in found])
    inside = (np.abs(off) < 1.96).mean()
    assert 0.90 <= inside <= 0.99  # 95 % expected; 200 seeds: sd 1.5 %
    assert 0.85 < off.std() < 1.15


def test_no_sample_agrees():
    network = wet_grass()
    given = evidence(network, {"R": 1, "J": 0})
    with refuses(SettingError, 1000, "n_samples", "log_probability"):
        estimate(network, ["S"], given, 1000)


def test_tiny_weights():
    # 400 findings of probability 1e-3 each: the weights are 1e-1200.
    nodes = [binary("c", [0.4, 0.6])]
    nodes += [binary(f"x{k}", [[0.999, 0.001], [0.999, 0.001]], "c") for k in range(400)]
    network = Network(tuple(nodes))
    found = estimate(network, ["c"], evidence(network, {f"x{k}": 1 for k in range(400)}), 2000)
    assert within(Near(found), [0.4, 0.6]) and found.worth == pytest.approx(2000)


def test_cells_nobody_fell_in_are_not_certain():
    network = Network((binary("a", [1 - 1e-6, 1e-6]),))
    found = estimate(network, ["a"], evidence(network), 100)
    np.testing.assert_array_equal(found.values, [1, 0])
    assert 0.005 < found.standard_error[1] < 0.02
    seen = estimate(network, ["a"], evidence(network, {"a": 0}), 100)
    np.testing.assert_array_equal(seen.standard_error, [0, 0])


@pytest.mark.parametrize("n", [50, 1000, 10_000])
def test_all_weight_in_one_cell_up_to_rounding(n):
    """Sums in another order differ in the last digit: 1 − 3e-16 is not a probability that is known to 1e-17."""
    cells = Cells.of(Potentials.of(wet_grass()), (0,), evidence(wet_grass()))
    for seed in range(20):
        weights = np.random.default_rng(seed).gamma(0.5, size=n)
        found = weighted_shares(np.zeros(n, np.int64), weights, cells)
        np.testing.assert_array_equal(found.values, [1, 0])
        # One more sample as heavy as the heaviest of these might fall into the other cell.
        np.testing.assert_allclose(found.standard_error, weights.max() / weights.sum())
        assert found.standard_error[0] >= 1 / n


@pytest.mark.parametrize("light", [1e-300, 1e-16, 1e-9])
def test_nearly_all_weight_in_one_cell(light):
    """A sample that weighs next to nothing says no more of its cell than no sample at all."""
    cells = Cells.of(Potentials.of(wet_grass()), (0,), evidence(wet_grass()))
    at, weights = np.zeros(1000, np.int64), np.ones(1000)
    at[:7], weights[:7] = 1, light
    found = weighted_shares(at, weights, cells)
    assert found.values[1] < 1e-10
    np.testing.assert_allclose(found.standard_error, 1 / 993, rtol=1e-6)


def test_the_same_again():
    network, given = asia(), evidence(asia(), {"xray": 1})
    a, b, c = (estimate(network, ["lung"], given, 500, seed).values for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
