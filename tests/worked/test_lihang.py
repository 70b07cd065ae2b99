"""Fifteen rows: Li Hang, Statistical Learning Methods (统计学习方法), examples 4.1 (MLE) and 4.2 (Laplace)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from by_hand import class_share, share

from bayeskit import NaiveBayes, datasets

COLUMNS = {"x1": [1] * 5 + [2] * 5 + [3] * 5, "x2": list("SMMSSSMMLLLMMLL")}
LABELS = [-1, -1, 1, 1, -1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1]
QUERY = {"x1": [2], "x2": ["S"]}


def fit(alpha):
    return NaiveBayes(smoothing=alpha, categorical_features="all").fit(COLUMNS, LABELS)


def exact(label, alpha):
    factors = share(COLUMNS, LABELS, "x1", 2, label, alpha) * share(COLUMNS, LABELS, "x2", "S", label, alpha)
    return class_share(LABELS, label, alpha) * factors


def test_the_table_is_the_bundled_one():
    data = datasets.load_dataset("lihang")
    assert data.y.tolist() == LABELS
    assert {name: data.columns[name].tolist() for name in data.attributes} == COLUMNS


@pytest.mark.parametrize(
    ("alpha", "minus", "plus", "posterior"),
    [
        (0, Fraction(1, 15), Fraction(1, 45), Fraction(3, 4)),
        (1, Fraction(28, 459), Fraction(5, 153), Fraction(28, 43)),
    ],
)
def test_the_answer(alpha, minus, plus, posterior):
    assert (exact(-1, alpha), exact(1, alpha)) == (minus, plus)
    assert minus / (minus + plus) == posterior
    model = fit(alpha)
    assert model.classes_.tolist() == [-1, 1]
    found = np.exp(model.predict_joint_log_proba(QUERY))[0]
    np.testing.assert_allclose(found, [float(minus), float(plus)], rtol=1e-14)
    np.testing.assert_allclose(model.predict_proba(QUERY)[0, 0], float(posterior), rtol=1e-14)
    assert model.predict(QUERY).tolist() == [-1]


@pytest.mark.parametrize("alpha", [0, 1])
@pytest.mark.parametrize("name", ["x1", "x2"])
def test_every_cell(alpha, name):
    table = fit(alpha).table(name)
    for label in (-1, 1):
        row = {v: share(COLUMNS, LABELS, name, v, label, alpha) for v in table.states}
        assert sum(row.values()) == 1
        np.testing.assert_allclose(
            [table[label, v] for v in row], [float(p) for p in row.values()], rtol=1e-15
        )


def test_twelve_and_nine_not_eleven_and_eight():
    """N_y + α·N_i = 9 + 3 and 6 + 3. With α·n (n = 2 attributes: the multinomial formula) the three
    probabilities of x1 would sum to 12/11 and 9/8."""
    counts = fit(1).table("x1").counts
    assert counts.tolist() == [[3, 2, 1], [2, 3, 4]]
    for row, total, wrong in zip(counts, (9, 12), (Fraction(9, 8), Fraction(12, 11)), strict=True):
        np.testing.assert_allclose(fit(1).table("x1").probabilities.sum(axis=1), 1.0, rtol=1e-15)
        assert sum(Fraction(int(n) + 1, total) for n in row) == 1
        assert sum(Fraction(int(n) + 1, int(row.sum()) + 2) for n in row) == wrong


def test_x1_is_categorical_only_if_said_so():
    """Its values are numbers, so without a word it is numeric; `families_` tells."""
    assert fit(1).families_["x1"].family == "table"
    assert NaiveBayes().fit(COLUMNS, LABELS).families_["x1"].family == "gaussian"
