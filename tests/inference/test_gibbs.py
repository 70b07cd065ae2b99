"""Gibbs sampling: right where the naive chain is stuck, refused where it would be, honest about its error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._inference.potentials import Contradiction, Potentials
from bayeskit._inference.sampling.estimate import Cells
from bayeskit._inference.sampling.gibbs import (
    Block,
    Sampler,
    Support,
    blocks_of,
    effective_sample_size,
    gibbs,
    shares_of_chains,
    split_r_hat,
)
from bayeskit.errors import UsageError
from bayeskit.networks import Deterministic
from network_twin import joint_table, margin, random_network, with_evidence
from refusals import refuses
from sampling_networks import Near, asia, binary, evidence, exact, wet_grass, within


def estimate(network, targets, given, n=5000, chains=4, seed=0, burn_in=500):
    potentials = Potentials.of(network)
    cells = Cells.of(potentials, tuple(network.dag.position[t] for t in targets), given)
    return gibbs(potentials, cells, given, n, chains, burn_in, np.random.default_rng(seed))


def blocks(network, given):
    potentials = Potentials.of(network)
    support = Support(potentials, range(potentials.n_factors), given)
    found = blocks_of(potentials, support, list(range(len(network.nodes))))
    names = network.dag.nodes
    return {tuple(sorted(names[v] for v in block.variables)): block for block in found}


@pytest.mark.parametrize(
    ("network", "targets", "codes", "soft"),
    [
        (wet_grass(), ["S"], {"B": 1, "J": 1}, {}),
        (wet_grass(), ["R", "S"], {"B": 1}, {}),
        (wet_grass(), ["R"], {}, {"B": [0.1, 1.0]}),
        (asia(), ["lung"], {"xray": 1}, {}),
        (asia(), ["lung", "tub"], {"dysp": 1}, {"either": [0.0, 1.0]}),
        (asia(), ["either"], {}, {}),
    ],
)
def test_within_five_errors(network, targets, codes, soft):
    found = estimate(network, targets, evidence(network, codes, soft))
    assert within(Near(found), exact(network, targets, codes, soft))
    assert found.r_hat < 1.03 and 200 < found.worth <= 20_000
    assert found.standard_error.max() < 0.05


@pytest.mark.parametrize("seed", range(25))
def test_random_networks(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=7, max_states=3, zeros=0.3)
    joint = joint_table(network)
    seen = int(rng.integers(7))
    code = int(margin(joint, seen).argmax())
    name = [n.name for n in network.nodes]
    target = name[(seen + 3) % 7]
    found = estimate(network, [target], evidence(network, {name[seen]: code}), 2000, seed=seed)
    assert within(Near(found), exact(network, [target], {name[seen]: code}), 6)


@pytest.mark.parametrize("seed", range(40))
def test_the_blocks_have_exactly_the_possible_states(seed):
    """The law behind it: what is possible is every combination of possible states of the blocks."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=6, max_states=3, zeros=0.3)
    joint = joint_table(network)
    seen = {int(v): int(rng.integers(joint.shape[v])) for v in rng.choice(6, 2, replace=False)}
    names = network.dag.nodes
    possible = with_evidence(joint, seen) > 0
    given = evidence(network, {names[v]: code for v, code in seen.items()})
    potentials = Potentials.of(network)
    if not possible.any():
        with pytest.raises(Contradiction):
            blocks_of(potentials, Support(potentials, range(6), given), list(range(6)))
        return
    support = Support(potentials, range(6), given)
    product = np.zeros(joint.shape, bool)
    made = blocks_of(potentials, support, list(range(6)))
    settled = [int(codes[0]) for codes in support.allowed]
    rows = [np.array(settled)]
    for block in made:
        rows = [_with(row, block.variables, state) for row in rows for state in block.states]
    for row in rows:
        product[tuple(row)] = True
    np.testing.assert_array_equal(product, possible)


def _with(row, variables, state):
    row = row.copy()
    row[list(variables)] = state
    return row


def test_what_is_tied():
    either = ("either", "lung", "tub")
    found = blocks(asia(), evidence(asia()))
    assert set(found) == {("asia",), either, ("smoke",), ("bronc",), ("xray",), ("dysp",)}
    assert len(found[either].states) == 4
    # Once `either` is known to be "no", both causes are settled; "yes" leaves three joint states of them.
    assert ("lung",) not in blocks(asia(), evidence(asia(), {"either": 0}))
    assert len(blocks(asia(), evidence(asia(), {"either": 1}))["lung", "tub"].states) == 3
    # B = 1 rules out no rain without the sprinkler; J = 1 rules out nothing more.
    assert set(blocks(wet_grass(), evidence(wet_grass(), {"B": 1, "J": 1}))) == {("R", "S")}
    assert set(blocks(wet_grass(), evidence(wet_grass()))) == {("B", "J", "R", "S")}


def copies(n=2, noise=0.0):
    """A fair coin and its copies: the chain of single redraws never leaves where it began."""
    table = [[1 - noise, noise], [noise, 1 - noise]]
    return Network((binary("x", [0.5, 0.5]), *(binary(f"y{k}", table, "x") for k in range(n))))


def naive(network, given, targets, seed, n=2000):
    """Redraw one variable at a time, whatever the zeros."""
    potentials = Potentials.of(network)
    support = Support(potentials, range(potentials.n_factors), given)
    singles = [Block((v,), codes[:, None]) for v, codes in enumerate(support.allowed) if len(codes) > 1]
    # Begin in a state that is possible.
    start = np.unravel_index(int(np.argmax(joint_table(network))), network.sizes_of(network.dag.nodes))
    sampler = Sampler.laid_out(
        potentials, given, range(potentials.n_factors), singles, np.array(start, np.int64)
    )
    cells = Cells.of(potentials, tuple(network.dag.position[t] for t in targets), given)
    rng = np.random.default_rng(seed)

    class Begun(type(rng)):
        def integers(self, *args):
            return 0

    rng = Begun(rng.bit_generator)
    return shares_of_chains(sampler.chain(cells, n, 100, rng)[None], cells)


def test_the_naive_chain_is_stuck_and_ours_is_not():
    network = copies()
    stuck = naive(network, evidence(network), ["x"], 0)
    assert stuck.values.max() == 1.0  # of a fair coin
    ours = estimate(network, ["x"], evidence(network))
    assert within(Near(ours), [0.5, 0.5]) and ours.standard_error.max() < 0.01


def test_the_naive_chain_on_wet_grass():
    """R = 1 is only left with J = 1, B = 1; from J = 0 R cannot rise, and from B = 0 neither can S with it."""
    network = Network(
        (
            binary("R", [0.8, 0.2]),
            binary("J", [[1, 0], [0, 1]], "R"),
            binary("B", [[0.9, 0.1], [0, 1]], "R"),
        )
    )
    stuck = naive(network, evidence(network), ["R"], 0)
    assert stuck.values[1] == 0.0  # the truth is 0.2
    assert within(Near(estimate(network, ["R"], evidence(network))), [0.8, 0.2])


def test_chains_that_disagree_say_so():
    network = copies(3, noise=1e-5)  # no zero, and yet it hardly moves
    found = estimate(network, ["x", "y0", "y1", "y2"], evidence(network), 500, chains=8, burn_in=0)
    assert found.r_hat > 1.5 and found.worth < 50


def test_too_many_tied_states_are_refused():
    # Twenty coins and their parity: 2^20 possible states.
    coins = [binary(f"c{k}", [0.5, 0.5]) for k in range(20)]
    parity = np.indices((2,) * 20).sum(axis=0) % 2
    node = Node(discrete("odd", ("no", "yes")), tuple(c.name for c in coins), Deterministic(parity, 2))
    network = Network((*coins, node))
    with refuses(UsageError, "c0", "c1", "c2", 4096):
        estimate(network, ["c0"], evidence(network, {"odd": 1}))
    # Unobserved and not asked for, the parity is no part of it.
    assert within(Near(estimate(network, ["c0"], evidence(network), 500)), [0.5, 0.5])


def test_impossible_evidence():
    for codes in ({"R": 1, "J": 0}, {"R": 0, "S": 0, "B": 1}):
        with pytest.raises(Contradiction):
            estimate(wet_grass(), ["S"], evidence(wet_grass(), codes))
    # No single table sees it: x equals y0 and y1, which are told to differ softly.
    network = copies()
    with pytest.raises(Contradiction):
        estimate(network, ["x"], evidence(network, {"y0": 0}, {"y1": [0.0, 1.0]}))


def test_calibration():
    """The error is what seeds scatter by, also where the draws depend on each other."""
    network = copies(2, noise=0.2)
    network = Network((binary("x", [0.3, 0.7]), *network.nodes[1:]))
    given = evidence(network, {"y0": 1}, {"y1": [1.0, 0.999]})
    wanted = exact(network, ["x", "y1"], {"y0": 1}, {"y1": [1.0, 0.999]})
    found = [estimate(network, ["x", "y1"], given, 500, 2, seed, burn_in=50) for seed in range(200)]
    off = np.array([(f.values - wanted) / f.standard_error for f in found])[:, 1, 1]
    assert 0.89 <= (np.abs(off) < 1.96).mean() <= 0.99
    # Redrawn one after the other the draws depend on each other: 1000 are worth less.
    assert np.median([f.worth for f in found]) < 900


def test_seeds():
    a, b, c = (estimate(asia(), ["bronc"], evidence(asia()), 200, seed=s).values for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_sample_size_of_a_known_chain(rho):
    """An autoregression of order one is worth N(1 − ρ)/(1 + ρ)."""
    found = []
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(size=(4, 20_500))
        x = lfilter([1.0], [1.0, -rho], noise, axis=1)[:, 500:]
        found.append(effective_sample_size(x))
        assert split_r_hat(x) == pytest.approx(1, abs=0.01)
    assert np.mean(found) == pytest.approx(80_000 * (1 - rho) / (1 + rho), rel=0.05)


def test_r_hat_by_hand():
    # Half-chains (0, 1), (0, 1), (2, 3), (2, 3): W = 1/2, variance of the means 4/3.
    assert split_r_hat(np.array([[0.0, 1, 0, 1], [2, 3, 2, 3]])) == pytest.approx(
        np.sqrt((0.25 + 4 / 3) / 0.5)
    )
    assert split_r_hat(np.ones((2, 10))) == 1.0
    assert split_r_hat(np.array([[0.0] * 10, [1.0] * 10])) == np.inf
    assert effective_sample_size(np.ones((2, 10))) == 20
