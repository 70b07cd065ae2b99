"""Decisions worked by hand: the oil wildcatter (Raiffa 1968), a medical test, and Bayes decision theory."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from bayeskit import BayesDecision, BayesianNetwork, NaiveBayes
from bayeskit.decision import bayes_risk, conditional_risk, decide
from bayeskit.networks import InfluenceDiagram, medical_test, oil_wildcatter


def test_the_oil_wildcatter():
    """22.5, the optimum in the literature: test, and drill unless there is no structure."""
    diagram = oil_wildcatter()
    solution = diagram.solve()
    prior, gain = [F(5, 10), F(3, 10), F(2, 10)], [-70, 50, 200]
    table = {
        "no structure": [F(6, 10), F(3, 10), F(1, 10)],
        "open": [F(3, 10), F(4, 10), F(4, 10)],
        "closed": [F(1, 10), F(3, 10), F(5, 10)],
    }
    total = F(-10)
    for result, likelihood in table.items():
        drilled = sum(p * q * g for p, q, g in zip(prior, likelihood, gain, strict=True))
        total += max(drilled, F(0))
        p = sum(p * q for p, q in zip(prior, likelihood, strict=True))
        choice = diagram.decide({"test": "seismic", "result": result})
        assert choice.utilities["yes"] == pytest.approx(float(drilled / p) - 10, abs=1e-12)
        assert choice.state == ("yes" if drilled > 0 else "no")
    assert total == F(45, 2)
    assert solution.expected_utility == pytest.approx(22.5, abs=1e-12)
    assert solution["test"].choice() == "seismic"
    # Drilling blindly: −35 + 15 + 40. Knowing the oil: 15 + 40.
    assert solution["test"].utilities.tolist() == pytest.approx([20, 22.5])
    assert diagram.value_of_information("oil").value == pytest.approx(55 - 22.5)
    # The test itself: what drilling after it yields, less what drilling blindly does.
    free = diagram.solve({"test": "seismic"}).expected_utility + 10
    assert free - diagram.solve({"test": "none"}).expected_utility == pytest.approx(12.5)


def test_where_the_wildcatter_changes_his_mind():
    """Of P(dry) = x with wet and soaking as 3 : 2 the rest, policies are lines that meet at exact fractions."""
    diagram = oil_wildcatter()
    found = diagram.sensitivity(("oil", {}, "dry"))

    def line(no_structure, opened, closed):
        """Return a + b x of testing and drilling where told, in exact fractions."""
        seen = [
            (F(6, 10), F(3, 10), F(1, 10)),
            (F(3, 10), F(4, 10), F(3, 10)),
            (F(1, 10), F(4, 10), F(5, 10)),
        ]
        drill = (no_structure, opened, closed)
        share = [sum(p for p, d in zip(row, drill, strict=True) if d) for row in seen]
        rest = F(3, 5) * 50 * share[1] + F(2, 5) * 200 * share[2]
        return F(-10) + rest, -70 * share[0] - rest

    now, blind, careful = line(0, 1, 1), (F(110), F(-180)), line(0, 0, 1)
    low = (blind[0] - now[0]) / (now[1] - blind[1])
    high = (now[0] - careful[0]) / (careful[1] - now[1])
    assert found.interval == pytest.approx((float(low), float(high)), abs=1e-12)
    assert [str(change) for change in found.below] == ["test = none"]
    assert [str(change) for change in found.above] == ["drill = no | test = seismic, result = open"]
    assert found.derivative == pytest.approx(float(now[1]))


def test_the_medical_test():
    """Of P(ill) = x: no test costs 100 x, the test 4 + 35 x, treating everybody 20 + 10 x."""
    diagram = medical_test()
    solution = diagram.solve()
    assert solution.expected_loss == pytest.approx(7.5, abs=1e-12)
    assert solution["treat"].choice({"test": "yes", "result": "positive"}) == "yes"
    found = diagram.sensitivity(("ill", {}, "yes"))
    assert found.interval == pytest.approx((4 / 65, 16 / 25), abs=1e-12)
    assert {str(change) for change in found.above} >= {"test = no"}
    # If we knew: 3 for those who are ill.
    assert diagram.value_of_information("ill").value == pytest.approx(7.5 - 3)


LOSS = {
    "treat": {"healthy": 1, "ill": 0.5},
    "wait": {"healthy": 0, "ill": 6},
    "ask": {"healthy": 0.4, "ill": 1.5},
}


def test_one_decision_and_one_class_are_bayes_decision_theory():
    posterior = {"healthy": 0.8, "ill": 0.2}
    network = BayesianNetwork({"class": []}, states={"class": ["healthy", "ill"]})
    network.set_cpt("class", posterior)
    table = [[LOSS[action][name] for action in LOSS] for name in posterior]
    diagram = InfluenceDiagram(network, {"action": list(LOSS)}, losses={"loss": (["class", "action"], table)})
    ours, theirs = diagram.decide(), decide(posterior, LOSS)
    assert ours.state == theirs.actions
    assert list(ours.losses.values()) == pytest.approx(conditional_risk(posterior, LOSS).tolist())
    assert diagram.solve().expected_loss == pytest.approx(bayes_risk(joint=posterior, loss=LOSS).value)


def test_a_diagram_over_a_classifier_equals_bayes_decision():
    rng = np.random.default_rng(5)
    y = rng.choice(["healthy", "ill"], 300, p=[0.8, 0.2])
    X = np.array([[f"{c[0]}{rng.integers(3)}" if rng.random() < 0.6 else "x" for _ in range(3)] for c in y])
    model = NaiveBayes().fit(X, y)
    wrapped = BayesDecision(NaiveBayes(), loss=LOSS).fit(X, y)
    network = model.network_
    target, *attributes = [n for n in network.nodes if not network.parents(n)] + [
        n for n in network.nodes if network.parents(n)
    ]
    table = [[LOSS[action][str(name)] for action in LOSS] for name in network.states(target)]
    diagram = InfluenceDiagram(
        network,
        {"action": list(LOSS)},
        losses={"loss": ([target, "action"], table)},
        observed={"action": attributes},
    )
    rows = X[:40]
    chosen = [diagram.decide(dict(zip(attributes, row, strict=True))) for row in rows.tolist()]
    assert [choice.state for choice in chosen] == list(wrapped.predict(rows))
    risks = conditional_risk(model.predict_proba(rows), LOSS)
    ours = [list(choice.losses.values()) for choice in chosen]
    np.testing.assert_allclose(ours, risks, rtol=1e-12)
    assert len({choice.state for choice in chosen}) > 1
