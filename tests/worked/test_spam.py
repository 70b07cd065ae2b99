"""One word in a letter: Bayes' rule by total probability (Zhou 2016, sec. 7.1, eqs. 7.7-7.8).

P(spam) = 0.7, P(ham) = 0.3; the word 免费 ("free") stands in 90 % of the spam and in 1 % of the rest.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bayeskit.decision import bayes_rule, decide

PRIOR = {"spam": Fraction(7, 10), "ham": Fraction(3, 10)}
FREE = {"spam": Fraction(9, 10), "ham": Fraction(1, 100)}
PLAIN = {label: float(p) for label, p in PRIOR.items()}


def exact(likelihood):
    products = {label: PRIOR[label] * likelihood[label] for label in PRIOR}
    return sum(products.values()), products["spam"] / sum(products.values())


def check(likelihood, evidence, spam):
    assert exact(likelihood) == (evidence, spam)
    found = bayes_rule(PLAIN, {label: float(p) for label, p in likelihood.items()})
    assert found.evidence == pytest.approx(float(evidence), abs=1e-15)
    assert found["spam"] == pytest.approx(float(spam), abs=1e-15)
    assert found["ham"] == pytest.approx(float(1 - spam), abs=1e-15)


def test_with_the_word():
    check(FREE, Fraction(633, 1000), Fraction(210, 211))
    assert round(210 / 211, 5) == 0.99526


def test_without_the_word():
    """The complement of the likelihood, not of the posterior: 0.07/0.367, not 1 - 0.995."""
    check({label: 1 - p for label, p in FREE.items()}, Fraction(367, 1000), Fraction(70, 367))
    assert round(70 / 367, 4) == 0.1907


def test_the_two_answers_average_to_the_prior():
    """Total probability: P(free)·P(spam | free) + P(no)·P(spam | no) = P(spam)."""
    likelihood = np.array([[0.9, 0.01], [0.1, 0.99]])
    both = bayes_rule([0.7, 0.3], likelihood)
    np.testing.assert_allclose(both.evidence @ np.asarray(both), [0.7, 0.3], rtol=1e-15)
    assert both.evidence.sum() == pytest.approx(1.0, abs=1e-15)


def test_the_answer_is_not_the_action():
    """With the 20-fold cost of a lost letter the bound is 20/21: 210/211 is above it, 0.94 is not."""
    loss = {"delete": {"spam": 0, "ham": 20}, "keep": {"spam": 1, "ham": 0}}
    assert decide(bayes_rule(PLAIN, {"spam": 0.9, "ham": 0.01}), loss).actions == "delete"
    assert decide({"spam": 0.94, "ham": 0.06}, loss).actions == "keep"
