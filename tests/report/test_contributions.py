"""Contributions add up to the log posterior odds, in every model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    AutoBayes,
    BayesNetClassifier,
    GaussianBayes,
    LogLinearBayes,
    MultinomialNB,
    NaiveBayes,
    WeightedNB,
)
from bayeskit.datasets import load_dataset
from bayeskit.errors import SettingError, UnseenClass, UsageError
from refusals import refuses


def mixed(n: int = 45) -> tuple[dict[str, Any], Any]:
    """Three discrete and two numeric attributes of three classes, some cells missing."""
    rng = np.random.default_rng(3)
    k = np.arange(n) % 3
    letters = np.array(["x", "y", "z"], dtype=object)
    a = (k + (rng.random(n) < 0.3)) % 3
    columns: dict[str, Any] = {
        "a": letters[a],
        "weight": rng.normal(k, 1.0),
        "b": letters[(a + (rng.random(n) < 0.3)) % 3],
        "count": rng.poisson(1.0 + k).astype(float),
        "c": letters[rng.integers(0, 3, n)],
    }
    for column in columns.values():
        column[rng.random(n) < 0.15] = None if column.dtype == object else np.nan
    return columns, np.array(["甲", "乙", "丙"])[k]


MODELS = [
    NaiveBayes(),
    NaiveBayes(missing="state", unseen="smooth", families={"count": "poisson"}),
    NaiveBayes(numeric="kernel", class_prior=[0.2, 0.3, 0.5]),
    SPODE(),
    TAN(),
    TAN(numeric="gaussian", missing="state"),
    KDB(),
    AODE(),
    AODE(weights="mutual-information", numeric="gaussian"),
    AODE(min_count=1000),
    AnDE(n=2),
    WeightedNB(),
    AutoBayes(calibration=None),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m).replace("\n", ""))
def test_they_add_up_to_the_log_odds(model: Any) -> None:
    columns, y = mixed()
    model.fit(columns, y)
    rows = {name: column[:20] for name, column in columns.items()}
    found = model.contributions(rows)
    log_p = model.predict_log_proba(rows)
    others = np.array([[np.delete(row, k).max() for k in range(3)] for row in log_p])
    assert found.values.shape == (20, len(found.columns), 3)
    assert found.columns[:6] == ("(prior)", *columns)
    assert found.values.sum(axis=1) == pytest.approx(log_p - others, abs=1e-9)
    against = model.contributions(rows, against="乙")
    second = list(model.classes_).index("乙")
    assert np.asarray(against).sum(axis=1) == pytest.approx(log_p - log_p[:, [second]], abs=1e-9)
    assert not against.values[:, :, second].any()
    assert found.logs.sum(axis=1) == pytest.approx(model.predict_joint_log_proba(rows), abs=1e-9)


def test_naive_bayes_at_once_is_the_page_row_by_row() -> None:
    columns, y = mixed()
    model = NaiveBayes(missing="state", families={"count": "poisson"}).fit(columns, y)
    found = model.contributions(columns, against="甲")
    for i in (0, 7, 20):
        page = model.explain({name: column[i] for name, column in columns.items()})
        assert found.logs[i, 0] == pytest.approx([f.log for f in page.prior])
        by_name = {a.name: [f.log for f in a.factors] for a in page.attributes}
        for j, name in enumerate(columns, 1):
            assert found.logs[i, j] == pytest.approx(by_name.get(name, [0.0] * 3), abs=1e-12)


def test_the_prior_of_an_average_is_the_prior() -> None:
    columns, y = mixed()
    found = AODE().fit(columns, y).contributions({name: column[:3] for name, column in columns.items()})
    assert np.exp(found.logs[:, 0]) == pytest.approx(np.full((3, 3), 1 / 3))
    # What is left over is the entropy of the super-parents' shares: between 0 and the log of their number.
    assert found.columns[-1] == "(together)"
    assert (found.logs[:, -1] >= -1e-12).all()
    assert (found.logs[:, -1] <= np.log(5) + 1e-12).all()


def test_jointly_gaussian_attributes_follow_each_other() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.7], [0, 0, 1]])
    y = np.arange(80) % 2
    X[y == 1] += [1.0, 0.0, 2.0]
    found = GaussianBayes().fit(X, y).contributions(X[:5])
    for k in (0, 1):
        own = X[y == k]
        mean, covariance = own.mean(axis=0), np.cov(own.T, bias=True)
        for i in range(5):
            logs = [multivariate_normal(mean[:m], covariance[:m, :m]).logpdf(X[i, :m]) for m in (1, 2, 3)]
            assert found.logs[i, 1:, k] == pytest.approx(np.diff([0.0, *logs]), abs=1e-9)


def test_what_is_impossible_is_infinite_and_never_nan() -> None:
    model = NaiveBayes(smoothing=0.0).fit([["a", "x"], ["b", "x"], ["b", "y"]], [0, 1, 1])
    found = model.contributions([["a", "x"], ["a", "y"]])
    assert not np.isnan(found.values).any()
    assert found.values[0, 1].tolist() == [np.inf, -np.inf]
    assert found.values[0, 2].tolist() == pytest.approx([np.log(2), -np.log(2)])


def test_blocks_frames_and_names() -> None:
    pd = pytest.importorskip("pandas")
    words = MultinomialNB().fit([[3, 0, 1], [0, 2, 2]], ["a", "b"])
    assert words.contributions([[1, 0, 0]]).log_odds[0] == pytest.approx(
        np.array([1, -1]) * np.diff(words.predict_log_proba([[1, 0, 0]])[0])[0] * -1
    )
    model = NaiveBayes().fit(pd.DataFrame({"u": ["p", "q"], "v": [1.0, 2.0]}), ["a", "b"])
    found = model.contributions(pd.DataFrame({"v": [1.5], "u": ["p"]}))
    assert found.to_frame("a").columns.tolist() == ["(prior)", "u", "v"]
    assert found.of("a")["u"] == pytest.approx([np.log(2.0)])
    with refuses(UnseenClass, "c", "a", "b"):
        found.of("c")


def page_rows(page):
    """The cells of the lines between the prior and the totals, by name."""
    return {row[0]: row for row in page.page().rows}


EXPLAINING = [
    NaiveBayes(),
    TAN(),
    AODE(),
    KDB(),
    BayesNetClassifier(),
    AutoBayes(),
    LogLinearBayes(),
    GaussianBayes(),
    AnDE(n=2),
    NaiveBayes(calibration="temperature"),
]


@pytest.mark.parametrize("model", EXPLAINING, ids=lambda model: repr(model)[:40])
def test_the_bars_of_a_waterfall_add_up_to_the_posterior_and_fall_in_weight(model):
    data = load_dataset("iris" if isinstance(model, GaussianBayes) else "melon3")
    model.fit(data.X, data.y)
    for place in (0, 5, 11):
        page = model.explain(data.X.iloc[[place]])
        for most in (1, 12):
            chart = page.waterfall(most)
            posterior = page.calibrated or page.posterior
            a, b = page.ranking[:2]
            assert chart.log_odds == pytest.approx(np.log(posterior[a]) - np.log(posterior[b]), abs=1e-9)
            assert chart.probabilities[1] == posterior[a]
        sizes = [abs(page.odds_of(each.factors)) for each in page.by_weight]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) == len(page.attributes)


def test_attributes_that_say_nothing_are_one_line_whose_factors_still_multiply_to_the_product():
    says = {"a": list("uuvvuuvv"), "b": list("uvuvuvuv"), "same": list("kkkkkkkk"), "even": list("stststst")}
    y = ["no", "no", "yes", "yes", "no", "no", "yes", "yes"]
    model = NaiveBayes().fit(says, y)
    row = {"a": "v", "b": "v", "same": "k", "even": "t"}
    page, whole = model.explain(row), model.explain(row, all=True)
    assert list(page_rows(page)) == ["P(y)", "a", "… 3 attributes"]
    assert list(page_rows(whole))[:2] == ["P(y)", "a"] and len(page_rows(whole)) == 5
    folded = page.page().rows[-1]
    assert float(folded[2]) == pytest.approx(0.25, rel=1e-3) and folded[-1] == "0"
    (note,) = [note for note in page.page().notes if note.startswith("… 3 attributes")]
    assert all(name in note for name in ("b", "same", "even")) and "all=True" in note
    assert page.to_dict() == whole.to_dict() and "even" not in [r[0] for r in page.page().rows]
    assert "even" in whole.to_html() and "even" in whole.to_latex()
    assert [step.name for step in page.waterfall().steps] == ["P(y)", "a = v", "… 3 attributes"]
    # One class alone, and a row that is impossible in every class, have no odds.
    with refuses(UsageError, "only"):
        NaiveBayes().fit({"a": ["u"]}, ["only"]).explain({"a": "u"}).waterfall()
    with refuses(SettingError, "most", 0):
        page.waterfall(0)
    never = NaiveBayes(smoothing=0).fit({"a": ["u", "v"], "b": ["u", "v"]}, ["no", "yes"])
    with refuses(UsageError, "0"):
        never.explain({"a": "u", "b": "v"}).waterfall()
    assert "<svg" not in never.explain({"a": "u", "b": "v"})._repr_html_()
    sure = never.explain({"a": "u", "b": "u"}).waterfall()
    assert sure.log_odds == np.inf and "+∞" in sure.svg() and "nan" not in sure.svg()
