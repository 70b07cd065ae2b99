"""Rejection: agrees with the exact answer, counts what it kept, says plainly when nothing was."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit._inference.potentials import Potentials
from bayeskit._inference.sampling.estimate import Cells
from bayeskit._inference.sampling.forward import Forward
from bayeskit._inference.sampling.likelihood_weighting import rejection
from bayeskit.errors import SettingError
from refusals import refuses
from sampling_networks import Near, asia, evidence, exact, wet_grass, within


def places(network, targets):
    return tuple(network.dag.position[t] for t in targets)


def estimate(network, targets, given, n=20_000, seed=0):
    potentials = Potentials.of(network)
    cells = Cells.of(potentials, places(network, targets), given)
    return rejection(Forward.of(potentials), cells, given, n, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("network", "targets", "codes", "soft"),
    [
        (wet_grass(), ["S"], {"B": 1, "J": 1}, {}),
        (wet_grass(), ["R", "J"], {"B": 1}, {"S": [1.0, 0.25]}),
        (asia(), ["lung"], {"xray": 1}, {}),
        (asia(), ["lung"], {}, {"xray": [0.1, 1.0], "dysp": [0.0, 1.0]}),
    ],
)
def test_within_five_errors(network, targets, codes, soft):
    found, accepted = estimate(network, targets, evidence(network, codes, soft))
    wanted = exact(network, targets, codes, soft)
    assert within(Near(found), wanted)
    assert found.worth == pytest.approx(accepted)
    # The error of a share, and of one sample more in the cell and one outside.
    p = found.values
    possible = Cells.of(
        Potentials.of(network), places(network, targets), evidence(network, codes, soft)
    ).possible
    expected = np.sqrt(p * (1 - p) / accepted + (p**2 + (1 - p) ** 2) / accepted**2)
    np.testing.assert_allclose(found.standard_error, np.where(possible, expected, 0.0))


def test_the_share_accepted_is_the_probability_of_the_evidence():
    # P(B = 1) = 0.2 + 0.8·0.1·0.9 = 0.272
    _, accepted = estimate(wet_grass(), ["S"], evidence(wet_grass(), {"B": 1}), 50_000)
    assert abs(accepted / 50_000 - 0.272) < 5 * np.sqrt(0.272 * 0.728 / 50_000)


def test_the_error_is_calibrated():
    wanted = exact(wet_grass(), ["S"], {"B": 1})[1]
    given = evidence(wet_grass(), {"B": 1})
    found = [estimate(wet_grass(), ["S"], given, 2000, seed)[0] for seed in range(200)]
    off = np.array([(f.values[1] - wanted) / f.standard_error[1] for f in found])
    assert 0.90 <= (np.abs(off) < 1.96).mean() <= 0.99


def test_none_accepted():
    with refuses(SettingError, 500, "n_samples", 'method="likelihood weighting"'):
        estimate(wet_grass(), ["S"], evidence(wet_grass(), {"R": 1, "J": 0}), 500)
