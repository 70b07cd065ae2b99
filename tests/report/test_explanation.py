"""Explanations: the factors multiply to the prediction, the fractions say the factors, the page says both."""

from __future__ import annotations

import io
import json
import math
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm, poisson, t

from bayeskit import (
    TAN,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    datasets,
)
from bayeskit._display_table import as_rich, as_text, display_width
from bayeskit._report.fractions import fraction, magnitude, number, share
from bayeskit._report.latex_text import as_math
from bayeskit._report.page import page_of
from bayeskit._report.words import WORDS
from bayeskit.errors import DataError, SettingError, SuspectResult, UnseenState
from bayeskit.explanations import Explanation, one_row
from bayeskit.priors import MAP, BDeu, Dirichlet, MEstimate
from refusals import refuses


def explained(model: Any, row: Any, lang: str = "en") -> Explanation:
    explanation: Explanation = model.explain(row, lang=lang)
    return explanation


def melons(**settings: Any) -> Any:
    data = datasets.load_dataset("melon8")
    columns = {name: data.columns[name] for name in (*data.attributes, data.target)}
    return NaiveBayes(states=dict(data.states), **settings).fit(columns, target=data.target)


def mixed(n: int = 60, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Two tables and four numeric attributes, a fifth of the cells missing; three classes."""
    rng = np.random.default_rng(seed)
    y = np.array(["甲", "乙", "丙"])[np.arange(n) % 3]
    k = np.arange(n) % 3
    columns = {
        "colour": rng.choice(np.array(["red", "green", "blue"], dtype=object), n),
        "normal": rng.normal(k, 1.0),
        "student": rng.normal(-k, 2.0),
        "shape": rng.choice(np.array(["round", "flat"], dtype=object), n),
        "kernel": rng.gamma(2.0, 1.0 + k),
        "count": rng.poisson(1.0 + k).astype(np.float64),
    }
    for name, column in columns.items():
        column[rng.random(n) < 0.2] = None if column.dtype == object else np.nan
        columns[name] = column
    return columns, y


FAMILIES = {"student": "student", "kernel": "kernel", "count": "poisson"}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"smoothing": 0.5},
    {"smoothing": 0.0},
    {"smoothing": MAP(Dirichlet(2.5))},
    {"smoothing": MEstimate(2)},
    {"smoothing": BDeu(4)},
    {"smoothing": {"colour": Dirichlet({"colour": {"red": 3.0}}), "shape": "mle"}},
    {"class_weight": "balanced"},
    {"class_weight": {"甲": 0.3, "乙": 2.0}},
    {"class_prior": [0.2, 0.5, 0.3]},
    {"missing": "state"},
    {"missing": "state", "smoothing": 0.0},
    {"missing": "state", "unseen": "smooth", "class_weight": "balanced"},
    {"unseen": "smooth"},
    {"unseen": "smooth", "smoothing": 0.0},
    {"variance": "unbiased"},
]


def check(model: Any, row: Any) -> Explanation:
    """The factors give the prediction, and every fraction its factor."""
    explanation = explained(model, row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspectResult)
        given = {name: [value] for name, value in row.items()} if isinstance(row, dict) else row
        posterior = model.predict_proba(given)[0]
        joint = model.predict_joint_log_proba(given)[0]
    assert explanation.posterior == pytest.approx(posterior, rel=1e-10, abs=1e-12)
    assert explanation.log_joint == pytest.approx(joint, rel=1e-12, abs=1e-11)
    products = [
        math.prod([f.probability, *(a.factors[k].probability for a in explanation.attributes)])
        for k, f in enumerate(explanation.prior)
    ]
    if sum(products) > 0:
        assert np.array(products) / sum(products) == pytest.approx(posterior, abs=1e-12)
    odds = explanation.attribute_log_odds
    if explanation.runner_up is not None and not explanation.impossible:
        assert explanation.prior_log_odds + sum(odds) == pytest.approx(explanation.log_odds, abs=1e-10)
    for factor in [*explanation.prior, *(f for a in explanation.attributes for f in a.factors)]:
        if re.fullmatch(r"[\d.+/()]+", factor.working):
            assert eval(factor.working) == pytest.approx(factor.probability, rel=1e-5)
    return explanation


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_factors_multiply_to_the_prediction(options: dict[str, Any]) -> None:
    columns, y = mixed()
    model = NaiveBayes(families=FAMILIES, **options).fit(columns, y)
    for i in range(0, 60, 4):
        explanation = check(model, {name: column[i] for name, column in columns.items()})
        assert {a.name for a in explanation.attributes} | {o.name for o in explanation.left_out} == set(
            columns
        )
    nothing = check(model, dict.fromkeys(columns))
    if "missing" not in options:
        assert nothing.attributes == ()
    check(model, {**{name: column[0] for name, column in columns.items()}, "colour": "mauve"})


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([None, "a", "b", "c"]), st.sampled_from([None, "x", "y"]), st.integers(0, 1)
        ),
        min_size=2,
        max_size=12,
    ),
    row=st.tuples(st.sampled_from([None, "a", "b", "new"]), st.sampled_from([None, "x"])),
    alpha=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    missing=st.sampled_from(["ignore", "state"]),
    unseen=st.sampled_from(["ignore", "smooth"]),
)
@example([(None, None, 0)] * 2, (None, None), 0.5, "state", "smooth")  # columns without a state
def test_any_small_table(rows: Any, row: Any, alpha: float, missing: str, unseen: str) -> None:
    columns = {name: np.array([r[j] for r in rows], dtype=object) for j, name in enumerate(("u", "v"))}
    model = NaiveBayes(smoothing=alpha, missing=missing, unseen=unseen, categorical_features="all")
    model.fit(columns, np.array([r[2] for r in rows]))
    check(model, {"u": row[0], "v": row[1]})


def test_the_eight_melons_by_hand() -> None:
    """The page of arithmetic: 是 has 4 of 8 melons, 1 of its 4 is 青绿, 3 are 清晰; 稍糊 counts as a state."""
    e = explained(melons(), {"色泽": "青绿", "纹理": "清晰", "密度": 0.6})
    assert (e.target, e.classes) == ("标签", ("否", "是"))
    assert [f.working for f in e.prior] == ["(4+1)/(8+2)", "(4+1)/(8+2)"]
    colour, texture, density = e.attributes
    assert [f.working for f in colour.factors] == ["(3+1)/(4+2)", "(1+1)/(4+2)"]
    assert [f.working for f in texture.factors] == ["(2+1)/(4+3)", "(3+1)/(4+3)"]
    assert density.factors[1].working == "N(0.6; μ=0.425, σ²=0.006875)"
    no = 0.5 * (4 / 6) * (3 / 7) * norm.pdf(0.6, 0.475, math.sqrt(0.016875))
    yes = 0.5 * (2 / 6) * (4 / 7) * norm.pdf(0.6, 0.425, math.sqrt(0.006875))
    assert e.joint == pytest.approx((no, yes), rel=1e-12)
    assert e.evidence == pytest.approx(no + yes, rel=1e-12)
    assert e.posterior == pytest.approx((no / (no + yes), yes / (no + yes)), rel=1e-12)
    assert (e.prediction, e.runner_up) == ("否", "是")
    assert e.attribute_log_odds[0] == pytest.approx(math.log(2.0))


@pytest.mark.parametrize(
    ("smoothing", "workings"),
    [
        ("mle", ["3/4", "1/4"]),
        (MAP(Dirichlet(3)), ["(3+2)/(4+4)", "(1+2)/(4+4)"]),
        (MEstimate(1), ["(3+0.5)/(4+1)", "(1+0.5)/(4+1)"]),
        (Dirichlet({"色泽": {"青绿": 5.0}}), ["(3+5)/(4+6)", "(1+5)/(4+6)"]),
        (BDeu(1), ["(3+0.25)/(4+0.5)", "(1+0.25)/(4+0.5)"]),
    ],
    ids=str,
)
def test_imaginary_counts_are_shown(smoothing: Any, workings: list[str]) -> None:
    e = explained(melons(smoothing={"色泽": smoothing}), {"色泽": "青绿", "纹理": None, "密度": None})
    assert [f.working for f in e.attributes[0].factors] == workings


def test_densities_are_written_as_they_are() -> None:
    columns, y = mixed()
    model = NaiveBayes(families=FAMILIES).fit(columns, y)
    row = {"colour": None, "shape": None, "normal": 0.5, "student": -1.0, "kernel": 2.0, "count": 3.0}
    by_name = {a.name: a for a in explained(model, row).attributes}
    assert [by_name[n].family for n in ("normal", "student", "kernel", "count")] == [
        "gaussian",
        "student",
        "kernel",
        "poisson",
    ]
    shown = r"=([-\d.e+]+)"
    for factor in by_name["normal"].factors:
        mean, variance = map(float, re.findall(shown, factor.working))
        assert norm.pdf(0.5, mean, math.sqrt(variance)) == pytest.approx(factor.probability, rel=1e-2)
    for factor in by_name["student"].factors:
        freedom, mean, scale = map(float, re.findall(shown, factor.working))
        assert t.pdf(-1.0, freedom, mean, scale) == pytest.approx(factor.probability, rel=1e-2)
    for factor in by_name["count"].factors:
        (rate,) = map(float, re.findall(shown, factor.working))
        assert poisson.pmf(3, rate) == pytest.approx(factor.probability, rel=1e-2)
    assert all(f.working.startswith("kernel(2; h=") for f in by_name["kernel"].factors)


def test_what_is_left_out_and_why() -> None:
    columns = {"a": ["x", "y", "x"], "same": [1.0, 1.0, 1.0], "b": ["u", "v", "v"], "c": [1.0, 2.0, 4.0]}
    model = NaiveBayes().fit(columns, [0, 1, 1])
    e = explained(model, {"a": "new", "same": 1.0, "b": None, "c": float("nan")})
    assert [(o.name, o.value, o.reason) for o in e.left_out] == [
        ("a", "new", "unseen"),
        ("same", 1.0, "constant"),
        ("b", None, "missing"),
        ("c", None, "missing"),
    ]
    text = str(e)
    assert "Left out: b, c (missing in this row)." in text
    assert "Left out: a = new (a value never learned)." in text


def test_unseen_and_missing_as_states() -> None:
    columns = {"a": np.array(["x", "y", None, "x"], dtype=object), "n": np.array([1.0, np.nan, 2.0, 4.0])}
    y = [0, 0, 1, 1]
    smooth = explained(NaiveBayes(unseen="smooth").fit(columns, y), {"a": "new", "n": None})
    assert [f.working for f in smooth.attributes[0].factors] == ["(0+1)/(2+3)", "(0+1)/(1+3)"]
    state = NaiveBayes(missing="state").fit(columns, y)
    e = explained(state, {"a": None, "n": None})
    assert [f.working for f in e.attributes[0].factors] == ["(0+1)/(2+3)", "(1+1)/(2+3)"]
    assert [f.working for f in e.attributes[1].factors] == ["(1+1)/(2+2)", "(0+1)/(2+2)"]
    assert e.attributes[0].as_missing
    present = explained(state, {"a": "new", "n": 2.0})
    assert "new (as missing)" in str(present)
    assert present.attributes[1].factors[1].working.startswith("(2+1)/(2+2) · N(2; ")
    with refuses(UnseenState, "new"):
        explained(NaiveBayes(unseen="error").fit(columns, y), {"a": "new", "n": 1.0})


def test_an_impossible_row_gives_the_prior() -> None:
    model = NaiveBayes(smoothing=0.0).fit([["a", "x"], ["b", "y"], ["b", "y"]], [0, 1, 1])
    e = explained(model, ["a", "y"])
    assert e.impossible
    assert e.posterior == pytest.approx((1 / 3, 2 / 3))
    assert e.prediction == 1
    assert WORDS.of("en")["impossible"] in str(e)
    restored = json.loads(json.dumps(e.to_dict(), allow_nan=False))
    assert restored["log_joint"] == ["-inf", "-inf"]
    assert restored["prior_source"] == "counts"


def test_products_that_underflow_are_still_told() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 400))
    y = np.arange(40) % 2
    model = NaiveBayes().fit(X, y)
    e = check(model, X[:1] + 40.0)
    assert e.evidence == 0.0
    assert e.log_evidence < -1000
    assert re.search(r"sum of products +[\d.]+e-\d{3,}", str(e))


@pytest.mark.parametrize(
    "make",
    [GaussianNB, GaussianBayes, MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB],
    ids=lambda m: m.__name__,
)
def test_other_classifiers_multiply_too(make: Any) -> None:
    X = np.random.default_rng(1).poisson(2.0, (30, 4)).astype(np.int64)
    y = np.arange(30) % 3
    model = make().fit(X, y)
    for i in range(5):
        e = explained(model, X[i : i + 1])
        assert e.posterior == pytest.approx(model.predict_proba(X[i : i + 1])[0], abs=1e-12)
        assert e.prediction == model.predict(X[i : i + 1])[0]
        assert str(e)
        json.dumps(e.to_dict(), allow_nan=False)


def test_gaussian_bayes_takes_attributes_together() -> None:
    X = np.random.default_rng(1).normal(size=(30, 3))
    e = explained(GaussianBayes().fit(X, np.arange(30) % 2), [0.5, None, 1.0])
    assert [a.name for a in e.attributes] == [("x0", "x2")]
    assert [(o.name, o.reason) for o in e.left_out] == [("x1", "missing")]
    assert "x0, x2" in str(e)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_is_aligned_also_in_chinese(lang: str) -> None:
    page = page_of(explained(melons(), {"色泽": "青绿", "纹理": "清晰", "密度": 0.6}, lang))
    lines = as_text(page).splitlines()
    assert lines[0] == page.title
    table = [line for line in lines[2:] if not line.startswith("---")]
    rows = (page.header, *page.rows, *page.totals)
    for line, cells in zip(table[: len(rows)], rows, strict=True):  # notes come after
        start = 0
        for cell, width in zip(cells, page.widths, strict=True):
            assert columns_of(line, start, width).strip() == cell
            start += width + 2
    assert ("后验概率" in lines[10]) is (lang == "zh")


def columns_of(line: str, start: int, width: int) -> str:
    """Return what stands in so many columns of the terminal."""
    at, found = 0, ""
    for character in line:
        found += character if start <= at < start + width else ""
        at += display_width(character)
    return found


def test_many_classes_are_listed_not_squeezed() -> None:
    X = np.repeat(np.eye(9), 2, axis=0) + np.random.default_rng(0).normal(0, 0.2, (18, 9))
    e = check(NaiveBayes().fit(X, np.repeat(np.arange(9), 2)), X[:1])
    text = str(e)
    assert "Other classes:" in text
    assert page_of(e).header[2:-1] == ("0", str(e.runner_up))
    few = NaiveBayes().fit([["a"], ["b"], ["c"]], ["甲", "乙", "丙"])
    assert set(page_of(explained(few, ["a"])).header[2:-1]) == {"甲", "乙", "丙"}


def test_a_lazy_model_explains_like_a_fitted_one() -> None:
    columns, y = mixed()
    row = {name: column[1] for name, column in columns.items()}
    fitted = NaiveBayes(families=FAMILIES).fit(columns, y).explain(row)
    assert NaiveBayes(families=FAMILIES).lazy(columns, y).explain(row) == fitted


def test_one_class_has_no_odds() -> None:
    e = explained(NaiveBayes().fit([["a"], ["b"]], ["only", "only"]), ["a"])
    assert e.posterior == (1.0,)
    assert (e.runner_up, e.log_odds, e.attribute_log_odds) == (None, None, (None,))
    assert "only with probability 1" in str(e)


def test_html_is_escaped_and_plain_values_are_json() -> None:
    model = NaiveBayes().fit([["<i>"], ["&"]], ["<script>", "b"])
    e = explained(model, ["<i>"])
    html = e._repr_html_()
    assert "<script>" not in html
    assert "<i>" not in html
    assert "&lt;script&gt;" in html
    restored = json.loads(json.dumps(e.to_dict(), allow_nan=False))
    assert restored["prediction"] == "<script>"
    assert restored["attributes"][0]["factors"][0] == {
        "probability": pytest.approx(2 / 3),
        "log": pytest.approx(math.log(2 / 3)),
        "working": "(1+1)/(1+2)",
    }


def test_rich_draws_the_same_cells() -> None:
    from rich.console import Console

    page = page_of(explained(melons(), {"色泽": "青绿", "纹理": "清晰", "密度": 0.6}))
    console = Console(width=140, file=io.StringIO())
    console.print(as_rich(page))
    drawn = console.file.getvalue()
    for row in (*page.rows, *page.totals):
        assert all(cell in drawn for cell in row)
    assert all(cell in as_text(page) for row in page.rows for cell in row)


def test_a_row_may_come_in_any_form() -> None:
    pd = pytest.importorskip("pandas")
    model = melons()
    frame = pd.DataFrame({"色泽": ["青绿"], "纹理": ["模糊"], "密度": [0.3]})
    pages = {
        str(explained(model, row))
        for row in (
            frame,
            frame.iloc[0],
            frame[["密度", "纹理", "色泽"]],
            {"密度": 0.3, "色泽": "青绿", "纹理": "模糊"},
            ["青绿", "模糊", 0.3],
            [["青绿", "模糊", 0.3]],
            np.array(["青绿", "模糊", 0.3], dtype=object),
        )
    }
    assert len(pages) == 1
    with refuses(DataError, 2, "X.iloc[[0]]"):
        one_row(pd.concat([frame, frame]))
    with refuses(SettingError, "lang", "fr"):
        explained(model, frame, "fr")


@given(st.floats(1e-6, 1e12))
def test_numbers_read_back(x: float) -> None:
    assert eval(number(x)) == pytest.approx(x, rel=1e-5)


@given(st.integers(0, 10**6), st.integers(1, 997))
def test_fractions_of_small_numbers_are_exact(p: int, q: int) -> None:
    assert eval(number(p / q)) == pytest.approx(p / q, rel=1e-12)
    assert eval(fraction(p, 0.5, p + q, 1.0)) == pytest.approx((p + 0.5) / (p + q + 1.0), rel=1e-12)


@given(st.floats(-700, 700))
def test_magnitudes_read_back(log: float) -> None:
    assert float(magnitude(log)) == pytest.approx(math.exp(log), rel=1e-2)


@given(st.floats(1e3, 1e308), st.booleans())
def test_the_largest_magnitudes_are_written_too(log: float, below: bool) -> None:
    text = magnitude(-log if below else log)
    power = text.partition("e")[2] if "^" not in text else text.partition("(")[2].rstrip(")")
    assert float(power) == pytest.approx((-log if below else log) / math.log(10.0), rel=1e-2, abs=1.0)
    assert as_math(text) is not None


@pytest.mark.parametrize("value", [1e20, -1e160, 1.7e308, 5e-324])
def test_rows_that_lie_far_out_are_explained(value: float) -> None:
    columns = {"a": ["x", "y"] * 10, "u": np.random.default_rng(0).normal(size=20)}
    for model in (NaiveBayes(), NaiveBayes(numeric="student"), TAN(numeric="gaussian"), GaussianNB()):
        rows = {"u": columns["u"]} if isinstance(model, GaussianNB) else columns
        model.fit(rows, ["no", "no", "yes", "yes"] * 5)
        assert "nan" not in str(model.explain({"a": "x", "u": value} if len(rows) > 1 else {"u": value}))


def test_a_share_near_one_keeps_its_rest() -> None:
    assert share(1 - 1e-9, 1e-9) == "1 − 1.00e-09"
    assert share(0.5, 0.5) == "0.5"
    assert magnitude(math.log(9.9996e-6)) == "1.00e-05"


def test_reports_import_neither_scikit_learn_nor_rich() -> None:
    code = (
        "import sys; from bayeskit.explanations import Explanation, one_row\n"
        "bad = [m for m in ('sklearn', 'rich', 'pandas', 'bayeskit._classifiers') if m in sys.modules]\n"
        "sys.exit(f'imported: {bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
