"""Counterfactuals against an enumeration of all noise, in exact fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from bayeskit import BayesianNetwork
from bayeskit.errors import ImpossibleEvidence, NotSupported, SettingError, UnseenState
from refusals import refuses

HALF = Fraction(1, 2)


def by_enumeration(noise, actual, changed, seen):
    """Return P(changed(u) = 1 | seen(actual(u))), summed over the independent noises u."""
    total = hit = Fraction(0)
    for values in itertools.product((0, 1), repeat=len(noise)):
        p = Fraction(1)
        for chance, value in zip(noise.values(), values, strict=True):
            p *= chance if value else 1 - chance
        u = dict(zip(noise, values, strict=True))
        if seen(actual(u)):
            total += p
            hit += p * changed(u)
    return hit / total


def squad():
    """Return Pearl's firing squad: the court orders, a captain signals, two riflemen shoot, the prisoner dies."""
    shots = {"captain": ["court"], "a": ["captain", "nerves"], "b": ["captain"], "death": ["a", "b"]}
    network = BayesianNetwork(shots, states=[0, 1])
    network.set_cpt("court", [0.5, 0.5])
    network.set_cpt("nerves", [0.75, 0.25])
    network.set_deterministic("captain", lambda court: court)
    network.set_deterministic("a", lambda captain, nerves: max(captain, nerves))
    network.set_deterministic("b", lambda captain: captain)
    network.set_deterministic("death", lambda a, b: max(a, b))
    return network


def test_the_firing_squad():
    """Pearl, Causality (2009), section 7.1.2: would the prisoner be dead had a not shot, given that he is?"""
    noise = {"court": HALF, "nerves": Fraction(1, 4)}
    wanted = by_enumeration(
        noise, lambda u: u["court"] or u["nerves"], lambda u: u["court"], lambda death: death
    )
    assert wanted == Fraction(4, 5)
    found = squad().counterfactual("death", do={"a": 0}, evidence={"death": 1})
    assert found[1] == pytest.approx(0.8, abs=1e-15)
    # Setting is not observing, and not the effect of setting either.
    assert squad().query("death", evidence={"a": 0})[1] == 0.0
    assert squad().do({"a": 0}).query("death")[1] == pytest.approx(0.5)


def test_a_table_of_zeros_and_ones_is_a_function():
    network = squad()
    for name in ("a", "b", "captain", "death"):
        network.set_cpt(name, np.asarray(network.cpt(name)))
    assert network.counterfactual("death", do={"a": 0}, evidence={"death": 1})[1] == pytest.approx(0.8)


def fever(present=None):
    states = {"cold": [0, 1], "flu": [0, 1], "fever": [0, 1] if present is None else [1, 0]}
    network = BayesianNetwork({"season": [], "cold": ["season"], "flu": ["season"], "fever": ["cold", "flu"]},
                              {**states, "season": [0, 1]})  # fmt: skip
    network.set_cpt("season", [0.5, 0.5])
    network.set_cpt("cold", [[0.75, 0.25], [0.25, 0.75]])
    network.set_cpt("flu", [[0.875, 0.125], [0.5, 0.5]])
    network.set_noisy_or("fever", {"cold": 0.5, "flu": 0.75}, 0.125, present=present)
    return network


@pytest.mark.parametrize("present", [None, 1])
def test_noisy_or(present):
    """Roots and nodes that do not change may have any table; the mechanisms of the causes are shared."""
    network = fever(present)
    noise = {"by cold": HALF, "by flu": Fraction(3, 4), "leak": Fraction(1, 8)}
    seasons = {"season": HALF, "c0": Fraction(1, 4), "c1": Fraction(3, 4), "f0": Fraction(1, 8), "f1": HALF}

    def world(u, flu=None):
        cold = u["c1"] if u["season"] else u["c0"]
        got = (u["f1"] if u["season"] else u["f0"]) if flu is None else flu
        return cold, got, int(u["leak"] or (cold and u["by cold"]) or (got and u["by flu"]))

    for evidence, seen in [
        ({"fever": 1}, lambda w: w[2] == 1),
        ({"fever": 1, "flu": 1}, lambda w: w[2] == 1 and w[1] == 1),
        ({"fever": 1, "flu": 1, "cold": 1}, lambda w: w == (1, 1, 1)),
        ({"fever": 0, "flu": 0}, lambda w: w[1:] == (0, 0)),
        ({}, lambda w: True),
    ]:
        for flu in (0, 1):
            wanted = by_enumeration({**noise, **seasons}, world, lambda u, flu=flu: world(u, flu)[2], seen)
            found = network.counterfactual("fever", do={"flu": flu}, evidence=evidence)
            assert found[1] == pytest.approx(float(wanted), abs=1e-14)
            if not evidence:
                assert found[1] == pytest.approx(network.do({"flu": flu}).query("fever")[1], abs=1e-14)
            both = network.counterfactual(["cold", "fever"], do={"flu": flu}, evidence=evidence)
            assert both.names == ("cold", "fever")
            assert both.marginal("fever")[1] == pytest.approx(found[1], abs=1e-14)


def test_what_was_observed_comes_about_again():
    """Setting a node to the state that it had changes nothing (consistency)."""
    network = fever()
    for flu, got in itertools.product((0, 1), (0, 1)):
        found = network.counterfactual("fever", do={"flu": flu}, evidence={"flu": flu, "fever": got})
        assert found[got] == pytest.approx(1.0, abs=1e-14)


def test_noisy_max_with_one_acting_state():
    network = BayesianNetwork(
        {"dose": [], "effect": ["dose"]}, {"dose": [0, 1], "effect": ["none", "mild", "strong"]}
    )
    network.set_cpt("dose", [0.5, 0.5])
    network.set_noisy_max("effect", {"dose": {1: [0.25, 0.5, 0.25]}}, leak=[0.5, 0.5, 0])
    # Mild with the dose: by the dose (½·1) or by the leak (¼·½); without the dose it stays mild if the leak did it.
    mild = network.counterfactual("effect", do={"dose": 0}, evidence={"dose": 1, "effect": "mild"})
    assert mild["mild"] == pytest.approx((0.5 * 0.5 + 0.25 * 0.5) / (0.5 * 1 + 0.25 * 0.5), abs=1e-14)
    strong = network.counterfactual("effect", do={"dose": 1}, evidence={"dose": 0, "effect": "mild"})
    assert strong.values == pytest.approx([0, 0.75, 0.25], abs=1e-14)


def test_thirty_causes():
    names = [f"c{k}" for k in range(30)]
    network = BayesianNetwork({"y": names}, states=[0, 1])
    for name in names:
        network.set_cpt(name, [0.5, 0.5])
    network.set_noisy_or("y", dict.fromkeys(names, 0.5))
    seen = {**dict.fromkeys(names, 0), "c0": 1, "c1": 1, "y": 1}
    # Both act in one case of three, c0 alone in another: without c1, y stays in two of three.
    assert network.counterfactual("y", do={"c1": 0}, evidence=seen)[1] == pytest.approx(2 / 3, abs=1e-12)


def test_refusals():
    network = fever()
    network.set_cpt("fever", np.asarray(network.cpt("fever")))
    with refuses(NotSupported, "fever", "flu"):
        network.counterfactual("fever", do={"flu": 0}, evidence={"fever": 1})
    assert network.counterfactual("cold", do={"flu": 0}, evidence={"fever": 1}).sizes == (2,)
    several = BayesianNetwork({"y": ["x"]}, {"x": ["a", "b", "c"], "y": [0, 1]})
    several.set_cpt("x", [0.2, 0.3, 0.5])
    several.set_noisy_or("y", {"x": {"b": 0.5, "c": 0.25}})
    with refuses(NotSupported, "y", "x", "b", "c"):
        several.counterfactual("y", do={"x": "a"}, evidence={"y": 1})
    with refuses(SettingError, "do"):
        network.counterfactual("fever", do={})
    with refuses(SettingError, "snow"):
        network.counterfactual("snow", do={"flu": 0})
    with refuses(UnseenState, "flu", 7):
        fever().counterfactual("fever", do={"flu": 7})
    with refuses(SettingError):
        fever().counterfactual([], do={"flu": 0})
    with refuses(ImpossibleEvidence, "death", "court", "nerves") as caught:
        squad().counterfactual("death", do={"a": 0}, evidence={"death": 1, "court": 0, "nerves": 0})
    assert set(caught.value.evidence) == {"death", "court", "nerves"}
