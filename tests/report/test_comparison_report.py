"""The page about a comparison: it stands alone, escapes everything, and its numbers are those of the posteriors."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from bayeskit import TAN
from bayeskit._messages import COMMAND_LINE, speaking
from bayeskit._report.comparison_report import verdict
from bayeskit._report.comparison_report.class_figures import thresholds
from bayeskit._report.comparison_report.comparison import (
    Column,
    Difference,
    JudgedRows,
    Measure,
    SimplerModel,
    Table,
)
from bayeskit._report.comparison_report.comparison_page import ExplainedRow, Findings, as_page
from bayeskit._report.comparison_report.sections import ColumnProfile, Relation, confusion_html, outcomes
from bayeskit._report.comparison_report.standings import bars_figure, bars_plot
from bayeskit._report.comparison_report.verdict import ceiling_text, name_of, rule_text, simpler_text
from bayeskit._report.comparison_report.words_and_style import GLOSSARY, SCRIPT, WORDS
from bayeskit.charts import Panel, Points
from bayeskit.comparison import Comparison, ModelStanding
from bayeskit.decision import bayes_risk
from bayeskit.explanations import information
from refusals import unnamed

EVIL = "<script>alert('x')</script>&\"{0}\x07"
VOID = {"meta", "br", "rect", "path"}


def standing(key: str, error: float, tied: bool = True, p: float | None = 0.4) -> ModelStanding:
    same = Measure(error, 0.01)
    name = {"nb": "NaiveBayes()", "tan": "TAN()"}.get(key, key)
    return ModelStanding(
        key, name, key in ("nb", "tan"), same, same, same, same, None, (error,) * 5, 1.5, 20_480, p, tied
    )


def comparison(n: int = 60, lang: str = "en", **changes: Any) -> Comparison:
    rng = np.random.default_rng(0)
    truth = (np.arange(n) % 3 == 0).astype(np.intp)
    p = np.clip(0.25 + 0.5 * truth + rng.normal(0, 0.2, n), 0.02, 0.98)
    posterior = np.stack([1 - p, p], axis=1)
    found = Comparison(
        table=Table(f"{EVIL}.csv", n, 2, "ab" * 32),
        test=None,
        target=EVIL,
        classes=(f"no{EVIL}", "是"),
        class_counts=(2 * n // 3, n // 3),
        columns=(
            Column(EVIL, "table", 3, 1),
            Column("id", "", 0, 0, "identifier"),
            Column("x", "gaussian", 0, 0),
        ),
        folds=5,
        random_state=7,
        standings=(
            standing("nb", 0.1, p=None),
            standing("boosting", 0.12),
            standing("majority", 0.33, False, 0.001),
        ),
        pick="nb",
        ceiling=bayes_risk(posterior),
        ceiling_by="nb",
        held=JudgedRows(np.arange(1, n + 1), truth, posterior),
        failed=((EVIL, EVIL),),
        lang=lang,
    )
    return replace(found, **changes)


def findings(found: Comparison) -> Findings:
    columns = {EVIL: np.array(["a", "b", "<i>"] * 8, dtype=object), "x": np.arange(24.0)}
    y = np.array([found.classes[k % 2] for k in range(24)], dtype=object)
    model = TAN().fit({**columns, EVIL + "y": y}, target=EVIL + "y")
    row = {name: column[0] for name, column in columns.items()}
    shown = tuple(
        ExplainedRow(
            kind, 5, found.classes[0], found.classes[1], 0.9, 0.1, model.explain(row, lang=found.lang)
        )
        for kind in ("surest", "doubtful", "worst")
    )
    return Findings(
        found,
        information(model),
        model.structure_,
        "own",
        (),
        shown,
        f"bayeskit {EVIL}",
        {"bayeskit": "1"},
        (EVIL,),
        profiles=tuple(
            ColumnProfile(name, 3, 1, 24, (EVIL, None), np.full((2, 2), 0.5), middle, Measure(0.1, 0.02))
            for name, middle in ((EVIL, None), ("x", (0.0, 1.0, 2.0)))
        ),
        relations=(Relation(EVIL, "x", 0.5),),
    )


class Nesting(HTMLParser):
    """Check that what is opened is closed, and note what there is."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids |= {value or "" for name, value in attrs if name == "id"}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_stands_alone_and_every_name_is_escaped(lang: str) -> None:
    page = as_page(findings(comparison(lang=lang)))
    seen = Nesting()
    seen.feed(page)
    assert not seen.open and not {"img", "link", "iframe", "i"} & set(seen.tags)
    # One script, ours, which sorts tables; nothing is shown by it, and it reads nothing from elsewhere.
    assert page.count("<script>") == seen.tags.count("script") == 1 and f"<script>{SCRIPT}</script>" in page
    assert seen.links == {f"#{anchor}" for anchor in seen.ids} and len(seen.ids) == len(GLOSSARY)
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"} and "url(" not in page and "@import" not in page
    assert "\x07" not in page and page.count("&lt;script&gt;") > 10
    assert seen.tags.count("svg") == 10 and seen.tags.count("h2") == 15
    for key in (
        "by_class",
        "read",
        "compare",
        "confusion",
        "reliability",
        "attributes",
        "structure",
        "rows",
        "decisions",
    ):
        assert f"<h2>{WORDS.of(lang)[key]}</h2>" in page
    assert "prefers-color-scheme:dark" in page and "size:A4" in page and "ab" * 32 in page
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


def test_both_languages_say_the_same_things() -> None:
    assert all(GLOSSARY.of("zh")[key] != text for key, text in GLOSSARY.items())
    for key, text in WORDS.items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", WORDS.of("zh")[key])), key


def test_the_verdict_tells_ties_as_ties() -> None:
    base = {"target": "y", "classes": ("no", "yes")}
    alone = (standing("nb", 0.1, p=None), standing("tan", 0.2, False, 0.01))
    said = verdict(comparison(**base, standings=alone))
    assert said == (
        "The recommended bayeskit model is NaiveBayes(): its error for y on held-out rows is 10.0% ± 1.0% "
        "(always predicting no: 33.3%); no other model does better."
    )
    assert verdict(comparison(**base)).endswith("; not significantly different: gradient boosting.")
    ahead = (standing("boosting", 0.1, p=None), standing("nb", 0.12))
    assert verdict(comparison(**base, standings=ahead)).endswith(
        "; gradient boosting has 10.0% ± 1.0%, a difference that may be due to chance."
    )
    beaten = (standing("forest", 0.05, p=None), standing("nb", 0.12, False, 0.001))
    assert verdict(comparison(**base, standings=beaten)).endswith(
        "; random forest does better, with 5.0% ± 1.0%."
    )
    useless = (standing("nb", 0.4, p=None),)
    assert "no better than always predicting no (33.3%)" in verdict(comparison(**base, standings=useless))
    assert "与它无显著差异的有：梯度提升" in verdict(comparison(**base, lang="zh"))
    even = (standing("boosting", 0.1, p=None), standing("nb", 0.1))
    assert verdict(comparison(**base, standings=even)).endswith(
        "; not significantly different: gradient boosting."
    )


@pytest.mark.parametrize(("auc", "telling"), [(Measure(0.6, 0.1), True), (Measure(0.55, 0.1), False)])
def test_a_rare_class_may_be_known_though_no_error_is_saved(auc: Measure, telling: bool) -> None:
    """By five folds 0.6 ± 0.1 is more than two standard errors above chance, 0.55 ± 0.1 is not."""
    found = comparison(
        target="y", classes=("no", "yes"), standings=(replace(standing("nb", 0.4, p=None), auc=auc),)
    )
    said = verdict(found)
    assert ("AUC 0.60" in said and "loss=" in said) is telling
    assert ("Nothing was learned" in said) is not telling
    with speaking("en", COMMAND_LINE):
        assert ("--loss" in verdict(found)) is telling


def test_columns_unfold() -> None:
    many = tuple(Column(f"c{j}", "table", 2, 0) for j in range(33))
    page = as_page(findings(comparison(columns=many)))
    assert "<summary>All 33 columns</summary>" in page
    inside = page.partition("<summary>All 33 columns")[2].partition("</details>")[0]
    assert all(f">{c.name}<" in inside for c in many)


def kinds(found: Comparison) -> dict[str, str]:
    return {each.kind: each.text for each in found.cautions}


def test_what_is_suspect_is_warned_of() -> None:
    found = comparison(600, target="y", classes=("no", "yes"))
    assert set(kinds(found)) == {"too_doubtful"}  # whose posteriors are drawn up without regard to the truth
    leaking = replace(
        found, columns=(replace(found.columns[0], name="after", tells=0.993), *found.columns[1:])
    )
    assert not unnamed(kinds(leaking)["leak"], "after", "99.3%", "exclude")
    with speaking("en", COMMAND_LINE):
        assert "--drop 'after'" in kinds(leaking)["leak"]
    assert "after" in as_page(findings(leaking)).partition("<ul")[2].partition("</ul>")[0]
    good = (standing("nb", 0.001, p=None),)
    assert not unnamed(kinds(replace(found, standings=good))["perfect"], "0.10%")
    assert "perfect" not in kinds(replace(leaking, standings=good))
    small = comparison(60, target="y", classes=("no", "yes"))
    assert not unnamed(kinds(small)["few"], 60, "4.7%", "20.1%") and "12" in kinds(small)["folds"]
    no_gain = replace(found, lift=Difference(0.01, -0.02, 0.04))
    assert not unnamed(kinds(no_gain)["useless"], "+1.0", "−2.0", "+4.0")
    stopped = replace(found, stopped="time", unfinished=("AODE()", "forest"), sample=500)
    assert not unnamed(kinds(stopped)["time"], "AODE()", "forest") and not unnamed(
        kinds(stopped)["sample"], 500, 600
    )
    assert {"warnings", "why", "lift"} <= set(stopped.to_dict())


def test_rare_classes_are_told_of_by_themselves() -> None:
    n = 2000
    truth = (np.arange(n) % 200 == 0).astype(np.intp)
    p = np.where(truth, 0.3, 0.01)
    p[:400:200] = 0.8
    p[7] = 0.9
    held = JudgedRows(np.arange(n), truth, np.stack([1 - p, p], axis=1))
    found = comparison(n, target="y", classes=("no", "yes"), held=held, class_counts=(1990, 10))
    said = kinds(found)["rare"]
    assert not unnamed(said, "yes", 10, "0.50%", "20%", "67%")  # two of ten are found, one is a false alarm
    rare = found.by_class[1]
    assert (rare.rows, rare.said, rare.found) == (10, 3, 2)
    assert (rare.recall, rare.f1) == (0.2, pytest.approx(4 / 13)) and rare.precision == pytest.approx(2 / 3)
    assert rare.recall_interval == pytest.approx((0.0567, 0.5098), abs=1e-4)
    never = replace(held, posterior=np.stack([np.full(n, 0.99), np.full(n, 0.01)], axis=1))
    assert not unnamed(kinds(replace(found, held=never))["never"], "yes", 10, "0.50%", "loss")
    by_cost = thresholds(found, 1)
    assert [each.posterior for each in by_cost[:2]] == [0.5, pytest.approx(1 / 3)]
    five = next(each for each in by_cost if each.ratio == 5)
    assert (five.recall, five.cost) == (1.0, pytest.approx(1 / n))  # from 1/6 on all ten and one false alarm
    assert five.half == pytest.approx((8 * 5 + 1) / n) and five.fixed == pytest.approx(50 / n)


@pytest.mark.parametrize(("shift", "kind"), [(0.0, None), (0.1, "too_sure"), (-0.1, "too_doubtful")])
def test_probabilities_that_do_not_hold_are_told(shift: float, kind: str | None) -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.6, 0.9, 4000)
    truth = (rng.random(4000) >= p).astype(np.intp)
    given = p + shift
    held = JudgedRows(np.arange(4000), truth, np.stack([given, 1 - given], axis=1))
    found = kinds(comparison(4000, target="y", classes=("no", "yes"), held=held))
    assert {"too_sure", "too_doubtful", "uneven"} & set(found) == ({kind} if kind else set())


def test_the_rule_is_stated_and_what_a_simpler_model_costs() -> None:
    same = SimplerModel("nb", Difference(0.012, -0.004, 0.028), Difference(0.02, 0.0, 0.04))
    both = (standing("tan", 0.1, p=None), standing("nb", 0.112))
    found = comparison(target="y", standings=both, pick="tan", simpler=same, qualified=("tan", "nb"))
    assert not unnamed(rule_text(found), "0.05", "log-loss", 2, "TAN()", "NaiveBayes()")
    assert not unnamed(simpler_text(found), "NaiveBayes()", "+1.2", "−0.4", "+2.8", "+0.02")
    page = unescape(as_page(findings(found)))
    assert rule_text(found) in page and simpler_text(found) in page
    assert simpler_text(replace(found, simpler=None)) not in ("", simpler_text(found))


def test_a_ceiling_that_was_surpassed_is_not_one() -> None:
    found = comparison(classes=("no", "yes"))
    possible = 1 - found.ceiling.value
    good = (standing("nb", found.ceiling.value + 0.01, p=None),)
    assert f"more than {possible:.1%}" in ceiling_text(replace(found, standings=good))
    low = found.ceiling.interval[0]
    better = replace(found, standings=(standing("nb", low - 0.01, p=None),))
    assert "cannot be estimated" in ceiling_text(better)
    assert f"{1.01 - low:.1%} of the predictions were correct" in ceiling_text(better)
    assert not better.to_dict()["ceiling"]["holds"]


def test_decisions_cost_what_came_true() -> None:
    found = comparison(classes=("no", "yes"))
    p, truth = found.held.posterior[:, 1], found.held.truth
    plain, rare, reject = outcomes(found)
    assert plain.cost == pytest.approx(((p > 0.5) != truth).mean()) and plain.cost == plain.likely
    says_yes = 5 * p > 1 - p
    assert rare.cost == pytest.approx(np.where(truth == 1, 5.0 * ~says_yes, says_yes).mean())
    assert dict(rare.actions)["yes"] == pytest.approx(says_yes.mean()) and rare.fixed == pytest.approx(2 / 3)
    refused = np.minimum(p, 1 - p) > 0.2
    assert dict(reject.actions)["rejected"] == pytest.approx(refused.mean())
    assert reject.cost == pytest.approx(np.where(refused, 0.2, (p > 0.5) != truth).mean())
    given = replace(found, losses={"buy": {"no": 9.0, "yes": 0.0}, "leave": {"no": 0.0, "yes": 1.0}})
    buys = 9 * (1 - p) < p
    assert outcomes(given)[1].cost == pytest.approx(np.where(buys, 9.0 * (truth == 0), truth == 1).mean())
    assert outcomes(given)[1].likely is None


def test_many_classes_share_a_line_of_the_matrix() -> None:
    n, k = 400, 40
    truth = (np.random.default_rng(0).random(n) ** 2 * k).astype(np.intp)
    posterior = np.eye(k)[np.where(np.arange(n) % 4 == 0, (truth + 1) % k, truth)]
    found = comparison(classes=tuple(range(k)), held=JudgedRows(np.arange(n), truth, posterior))
    cells = re.findall(r"<td[^>]*>([\d,]+) ", confusion_html(found))
    assert len(cells) == 144 and sum(int(cell.replace(",", "")) for cell in cells) == n


def test_the_matrix_shows_shares_of_the_truth_and_no_hidden_sign() -> None:
    held = JudgedRows(np.arange(4), np.array([0, 0, 0, 1]), np.eye(2)[[0, 0, 1, 1]])
    html = confusion_html(comparison(classes=("a\x07", "<b>"), held=held))
    assert re.findall(r'"(hit|miss)" style="--share:([\d.]+)">(\d) (?:<small>(\d+)%)?', html) == [
        ("hit", "0.37", "2", "67"),
        ("miss", "0.18", "1", "33"),
        ("miss", "0.00", "0", ""),
        ("hit", "0.55", "1", "100"),
    ]
    assert html.count("a\\x07") == html.count("&lt;b&gt;") == 2


@pytest.mark.parametrize(
    ("attributes", "uncut", "said"),
    [
        (2, (), ["structure_none"]),
        (1, (), ["structure_single"]),
        (3, ("x",), ["structure_others", "structure_uncut_one"]),
        (2, ("x",), ["structure_uncut_one"]),
    ],
)
def test_a_graph_without_arcs_claims_only_what_was_looked_at(
    attributes: int, uncut: tuple[str, ...], said: list[str]
) -> None:
    found = comparison(columns=tuple(Column(f"c{j}", "table", 2, 0) for j in range(attributes)), target="y")
    page = as_page(replace(findings(found), structure={"x": ()}, uncut=uncut))
    values = {"target": "y", "n": len(uncut), "names": ", ".join(uncut)}
    keys = [key for key in WORDS if key.startswith("structure_")]
    assert [key for key in keys if WORDS[key].format(pick="NaiveBayes()", **values) in page] == said


def test_a_model_alone_is_better_than_nothing_that_was_tried() -> None:
    found = comparison(target="y", classes=("no", "yes"), standings=(standing("nb", 0.1, p=None),))
    assert verdict(found).endswith("; no other model was compared.")


def test_the_chart_of_the_models_is_described_not_drawn() -> None:
    """Every model has a mark on its line: filled where it cannot be told from the best, else a ring."""
    found = comparison()
    plot = bars_plot(found)
    (panel,) = plot.panels
    assert isinstance(panel, Panel)
    names = [text for _, text in panel.y.ticks]
    assert names == [name_of(standing, found.lang) for standing in found.standings]
    marks = [one for one in panel.series if isinstance(one, Points) and one.description]
    assert [float(mark.y[0]) for mark in marks] == list(range(len(names)))
    for standing, mark in zip(found.standings, marks, strict=True):
        if mark.shape != "triangle":  # off the scale
            assert float(mark.x[0]) == standing.decisive.value
            assert (mark.shape == "disc") is standing.tied
        assert (
            mark.description.startswith(name_of(standing, found.lang))
            and mark.description in plot.description
        )
    drawn = bars_figure(found)
    assert all(name in unescape(drawn) for name in names if len(name) < 12)
