"""What a notebook shows of an explanation is small however much was explained, and says what it leaves out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from bayeskit import BayesianNetwork, NaiveBayes
from bayeskit._cli.main import app
from bayeskit._display_table import MOST_ROWS

N, K = 400, 50


@pytest.fixture(scope="module")
def model() -> Any:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"a{j}": rng.choice(["low", "high"], 300) for j in range(N)}
    return NaiveBayes().fit(columns, rng.integers(0, K, 300))


ROW = {f"a{j}": "low" for j in range(N)}


def rows_of(html: str) -> list[str]:
    return re.findall(r"<tr><th>(\w+)</th><td>", html)


@pytest.mark.parametrize(
    ("lang", "left"), [("en", "… {n} more attributes"), ("zh", "另有 {n} 个影响最小的属性")]
)
def test_the_attributes_that_weigh_most_are_shown_and_the_others_counted(
    model: Any, lang: str, left: str
) -> None:
    page = model.explain(ROW, lang=lang)
    html = page._repr_html_()
    assert len(html.encode()) < 20_000
    shown = [name for name in rows_of(html) if name in ROW]
    assert 40 < len(shown) < MOST_ROWS
    assert left.format(n=len(ROW) - len(shown)) in html and "to_html()" in html
    sizes = {a.name: abs(odds) for a, odds in zip(page.attributes, page.attribute_log_odds, strict=True)}
    assert min(sizes[name] for name in shown) >= max(s for name, s in sizes.items() if name not in shown)
    assert shown == [a.name for a in page.by_weight][: len(shown)]  # the strongest first
    assert {*ROW} <= {*rows_of(page.to_html())}
    assert "to_html()" not in page.to_html()


def test_a_page_for_a_file_has_every_attribute(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "m.bayes")
    options = [text for name, value in ROW.items() for text in ("--set", f"{name}={value}")]
    done = CliRunner().invoke(app, ["explain", str(tmp_path / "m.bayes"), *options, "--format", "html"])
    assert done.exit_code == 0
    assert {*ROW} <= {*rows_of(done.stdout)}


def test_long_texts_are_cut_and_escaped() -> None:
    name, value = "<script>" * 5_000, "&" * 50_000
    page = NaiveBayes().fit({name: [value, "b"] * 3}, ["<i>", "y"] * 3).explain({name: value})
    html = page._repr_html_()
    assert len(html) < 10_000
    assert "<script>" not in html + page.to_html() and "<i>" not in html + page.to_html()
    assert page.to_html().count("&amp;") >= 50_000


def test_an_answer_of_a_long_chain_shows_some_tables_and_the_answer() -> None:
    chain = BayesianNetwork()
    chain.add_node("n0", ["a", "b"])
    chain.set_cpt("n0", [0.5, 0.5])
    for j in range(1, 40):
        chain.add_node(f"n{j}", ["a", "b"])
        chain.add_arc(f"n{j - 1}", f"n{j}")
        chain.set_cpt(f"n{j}", [[0.9, 0.1], [0.2, 0.8]])
    page = chain.explain("n39", {"n0": "a"})
    html, whole = page._repr_html_(), page.to_html()
    left = re.search(r"… (\d+) more tables", html)
    assert left is not None
    assert html.count("<table>") + int(left[1]) == whole.count("<table>")
    assert html.rpartition("<table>")[2] == whole.rpartition("<table>")[2]  # the answer
