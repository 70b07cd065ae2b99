"""Explanations as LaTeX and JSON, and the risks under them."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest

from bayeskit import AODE, KDB, SPODE, TAN, NaiveBayes, WeightedNB, datasets
from bayeskit._report.latex_table import escaped
from bayeskit._report.latex_text import as_math
from bayeskit._report.page import page_of
from bayeskit.decision import decide
from bayeskit.priors import BackOff

NASTY = "50% of \\input{x} & $#_{}~^<|>[*]\nσ²"


def value_of(math_text: str) -> float:
    """Reckon what LaTeX shows: fractions, products, powers of ten."""
    text = math_text
    while r"\frac" in text:
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    text = re.sub(r" \\times 10\^\{(-?\d+)\}", r"*10.0**(\1)", text)
    text = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", text.replace(r"\left", "").replace(r"\right", ""))
    return float(eval(text.replace(r"\cdot", "*")))


def formulas(latex: str) -> list[str]:
    """Return what stands between dollars; a formula in several lines is one."""
    return re.findall(r"(?<!\\)\$(.+?)(?<!\\)\$", latex.replace(r"$\\$", " "))


def melons() -> tuple[dict[str, Any], Any, dict[str, Any]]:
    data = datasets.load_dataset("melon3")
    columns = {name: data.columns[name] for name in data.attributes}
    return columns, data.columns[data.target], {name: column[0] for name, column in columns.items()}


@pytest.mark.parametrize(
    "model", [NaiveBayes(), SPODE(), TAN(smoothing=BackOff([2, 4])), AODE(), KDB(), WeightedNB()], ids=str
)
def test_every_fraction_is_the_number_beside_it_and_is_mathematics(model: Any) -> None:
    mathtext = pytest.importorskip("matplotlib.mathtext").MathTextParser("path")
    columns, y, row = melons()
    page = model.fit(columns, y).explain(row)
    latex = page.to_latex()
    found = [f.split(" = ") for f in formulas(latex) if r"\frac" in f and " = " in f]
    assert len(found) >= 2 * len(columns) - 4
    for working, *shown in found:
        if "N(" not in working:
            assert value_of(working) == pytest.approx(value_of(shown[-1]), rel=2e-3)
    for formula in set(formulas(latex)):
        mathtext.parse(f"${formula}$")
    best = page.ranking[0]
    assert rf"\frac{{{as_math_of(page.log_joint[best])}}}" in latex


def as_math_of(log: float) -> str:
    from bayeskit._report.fractions import magnitude

    return as_math(magnitude(log)) or ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(3+1)/(8+2) = 0.4", r"\frac{3+1}{8+2} = 0.4"),
        ("(1/3+1)/(16/3+2)", r"\frac{\frac{1}{3}+1}{\frac{16}{3}+2}"),
        ("((2+1)/(2+2) · N(2; μ=-1, σ²=1e-05))^0.5", None),
        ("1 − 3.00e-09", r"1-3.00 \times 10^{-9}"),
        ("−∞", r"-\infty"),
        ("25.0%", None),
        ("__import__('os')", None),
        ("", None),
    ],
)
def test_arithmetic_is_told_from_text(text: str, expected: str | None) -> None:
    if "N(2" in text:
        expected = r"\left(\frac{2+1}{2+2} \cdot N(2; \mu=-1, \sigma^2=1 \times 10^{-5})\right)^{0.5}"
    assert (as_math(text) if text else None) == expected


def test_labels_cannot_become_commands() -> None:
    rows = [[NASTY, "a"], ["b", "a"], [NASTY, "b"], ["[x]", "b"]]
    page = NaiveBayes().fit(
        {NASTY: [r[0] for r in rows], "[u]": [r[1] for r in rows]}, [NASTY, "*", NASTY, "*"]
    )
    latex = page.explain({NASTY: NASTY, "[u]": "a"}, reject=0.1).to_latex(document=True)
    assert "\\input" not in latex
    assert latex.startswith("\\documentclass{article}\n")
    own = [line for line in latex.splitlines() if not line.startswith(r"\providecommand")]
    plain = re.sub(r"\\[&%$#_{}]", "", "\n".join(own))  # what is escaped is text
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    table = plain.split(r"\hline")[1:-1]
    lines = [line for part in table for line in part.strip().splitlines() if line]
    assert lines
    assert all(line.endswith(r"\\") and line.count("&") == 4 for line in lines)
    assert not any(line.startswith(("[", "*")) for line in lines)
    assert not set("%#~<>|").intersection(plain.replace(r"\textbackslash", ""))
    assert escaped("a\nb") == "a b"


def test_chinese_asks_for_a_class_that_prints_it() -> None:
    columns, y, row = melons()
    latex = NaiveBayes().fit(columns, y).explain(row, lang="zh").to_latex(document=True)
    assert latex.startswith("\\documentclass{ctexart}\n")
    assert "后验概率" in latex
    assert latex.rstrip().endswith(r"\end{document}")


LOSS = {"买": {"是": 0, "否": 5}, "不买": {"是": 1, "否": 0}}


@pytest.mark.parametrize("calibration", [None, "temperature", "isotonic"])
@pytest.mark.parametrize(("loss", "reject"), [(LOSS, None), (None, 0.05), (LOSS, 0.3)])
def test_risks_are_those_of_the_prediction(calibration: Any, loss: Any, reject: Any) -> None:
    columns, y, _ = melons()
    model = NaiveBayes(calibration=calibration).fit(columns, y)
    for i in (0, 5, 12):
        row = {name: column[i] for name, column in columns.items()}
        page = model.explain(row, loss=loss, reject=reject)
        posterior = model.predict_proba({name: [value] for name, value in row.items()})[0]
        expected = decide(dict(zip(page.classes, posterior, strict=True)), loss, reject)
        assert page.risks is not None
        assert page.risks.risks == pytest.approx(expected.risks, rel=1e-9)
        assert (page.risks.action, page.risks.rejected) == (expected.actions, expected.rejected)
        assert (page.calibrated is None) == (calibration is None)
        if calibration:
            assert page.calibrated == pytest.approx(posterior, rel=1e-9)
        for costs, risk in zip(page.risks.costs, page.risks.risks, strict=True):
            assert math.fsum(c * p for c, p in zip(costs, posterior, strict=True)) == pytest.approx(
                risk, rel=1e-9
            )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_shows_the_terms_of_each_risk(lang: str) -> None:
    columns, y, row = melons()
    page = NaiveBayes().fit(columns, y).explain(row, loss=LOSS, lang=lang)
    shown = page_of(page)
    buy = next(line for line in shown.totals if line[0] == "R(买 | x)")
    assert buy[1] == "0.01125"
    assert "5·0.00225 = 0.01125" in buy
    assert ("决策" if lang == "zh" else "decision", "买") in {line[:2] for line in shown.totals}
    assert "R(买 | x)" in page.to_html()
    told = json.loads(page.to_json())
    assert told["risks"]["action"] == "买"
    assert told["posterior"] == list(page.posterior)
    assert NaiveBayes().fit(columns, y).explain(row).risks is None


def test_html_of_actions_is_escaped() -> None:
    model = NaiveBayes().fit([["a"], ["b"]], ["x", "y"])
    page = model.explain(["a"], loss=[[0, 1], [1, 0], [0.2, 0.2]], actions=["go", "stay", "<b>"])
    assert "<b>" not in page.to_html()
    assert page.risks is not None
    assert np.argmin(page.risks.risks) == page.risks.actions.index(page.risks.action)
