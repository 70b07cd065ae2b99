"""Explanations of models whose attributes depend on each other: products with parents, sums, averages, evidence."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import re
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import AODE, KDB, SPODE, TAN, AnDE, datasets
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._display_table import as_text
from bayeskit._report.factors import combined_items as averaged_report
from bayeskit._report.factors.dependence import pair_shares
from bayeskit._report.page import page_of
from bayeskit.errors import SuspectResult
from bayeskit.explanations import Attribute, Explanation, PageFactor, explain, one_row
from bayeskit.extending import Conditional
from bayeskit.priors import BackOff, BDeu, MEstimate, WittenBell


def mixed(n: int = 40, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Four discrete attributes that depend on each other and two numeric ones, a tenth of the cells missing."""
    rng = np.random.default_rng(seed)
    k = np.arange(n) % 3
    a = (k + (rng.random(n) < 0.3)) % 3
    b = (a + (rng.random(n) < 0.3)) % 3
    letters = np.array(["x", "y", "z"], dtype=object)
    columns = {
        "a": letters[a],
        "b": letters[b],
        "weight": rng.normal(b - k, 1.0),
        "c": letters[(b * k) % 2],
        "d": letters[rng.integers(0, 3, n)],
        "size": rng.normal(0.0, 1.0 + a),
    }
    for column in columns.values():
        column[rng.random(n) < 0.1] = None if column.dtype == object else np.nan
    return columns, np.array(["甲", "乙", "丙"])[k]


SETTINGS: list[dict[str, Any]] = [
    {},
    {"numeric": "gaussian"},
    {"smoothing": 0.0},
    {"smoothing": MEstimate(2), "numeric": "gaussian", "missing": "state"},
    {"smoothing": BDeu(4), "missing": "state"},
    {"smoothing": WittenBell(), "unseen": "smooth"},
    {"smoothing": {"a": "laplace", "b": BackOff([2, 3])}, "class_weight": "balanced"},
    {"smoothing": BackOff([1, 4]), "missing": "state", "unseen": "smooth", "class_prior": [0.2, 0.5, 0.3]},
]


def evaluated(working: str) -> float | None:
    """The value of a fraction, None for what is no arithmetic."""
    plain = working.replace("·", "*")
    return float(eval(plain)) if re.fullmatch(r"[\d.+*/()]+(e-\d+)?[\d.+*/()]*", plain) else None


def check(model: Any, row: dict[str, Any]) -> Explanation:
    """The factors give the prediction, every fraction its factor, every attribute is told of."""
    explanation: Explanation = model.explain(row)
    table = {name: [value] for name, value in row.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspectResult)
        joint = model.predict_joint_log_proba(table)[0]
        posterior = model.predict_proba(table)[0]
    assert explanation.log_joint == pytest.approx(joint, rel=1e-12, abs=1e-12)
    assert explanation.posterior == pytest.approx(posterior, rel=1e-10, abs=1e-13)
    factors = [*explanation.prior, *(f for a in explanation.attributes for f in a.factors)]
    told: set[Any] = {o.name for o in explanation.left_out}
    for attribute in explanation.attributes:
        told |= set(attribute.name) if isinstance(attribute.name, tuple) else {attribute.name}
    if explanation.average is not None:
        parents = explanation.average.super_parents
        for k in np.flatnonzero(np.isfinite([f.log for f in explanation.average.factors])):
            assert sum(explanation.average.shares(int(k))) == pytest.approx(1.0)
        told |= {s.name for s in parents} | {a.name for s in parents for a in s.attributes}
        factors += [f for s in parents for f in (*s.first, *(f for a in s.attributes for f in a.factors))]
    assert told == set(row)
    for factor in factors:
        value = evaluated(factor.working)
        if value is not None:
            assert value == pytest.approx(factor.probability, rel=1e-3)
    assert str(explanation)
    json.dumps(explanation.to_dict(), allow_nan=False)
    return explanation


def rows_of(columns: dict[str, Any], step: int) -> list[dict[str, Any]]:
    """Some rows as they are, rows with one value alone, one without any, one with values never learned."""
    whole = [{name: c[i] for name, c in columns.items()} for i in range(0, len(columns["a"]), step)]
    first = {name: next(v for v in c if v is not None and v == v) for name, c in columns.items()}
    holes = [{**first, name: None} for name in columns]
    alone = [{**dict.fromkeys(columns), name: first[name]} for name in columns]
    return [*whole, first, *holes, *alone, dict.fromkeys(columns), {**first, "b": "new", "c": "new"}]


@pytest.mark.parametrize("options", SETTINGS, ids=str)
@pytest.mark.parametrize("make", [TAN, SPODE, AODE, KDB], ids=lambda m: m.__name__)
def test_factors_give_the_prediction(make: Any, options: dict[str, Any]) -> None:
    columns, y = mixed()
    model = make(**options).fit(columns, y)
    for row in rows_of(columns, 20):
        check(model, row)


CELL = st.sampled_from([None, "a", "b", "c"])


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL, CELL, st.integers(0, 1)), min_size=3, max_size=14),
    row=st.tuples(*[st.sampled_from([None, "a", "b", "new"])] * 4),
    parents=st.sampled_from([(None, "p", "q", "r"), (None, "p", "p", "q"), ("s", "s", "p", None)]),
    smoothing=st.sampled_from(["mle", "laplace", "back-off", "witten-bell"]),
    missing=st.sampled_from(["ignore", "state"]),
    unseen=st.sampled_from(["ignore", "smooth"]),
)
def test_any_forest_over_any_small_table(
    rows: Any, row: Any, parents: Any, smoothing: str, missing: str, unseen: str
) -> None:
    columns = {name: np.array([r[j] for r in rows], dtype=object) for j, name in enumerate("pqrs")}
    structure = {name: (parent,) for name, parent in zip("pqrs", parents, strict=True) if parent is not None}
    options = {"smoothing": smoothing, "missing": missing, "unseen": unseen, "categorical_features": "all"}
    y = np.array([r[4] for r in rows])
    asked = dict(zip("pqrs", row, strict=True))
    for make in (TAN, KDB):
        check(make(structure=structure, **options).fit(columns, y), asked)
    check(AODE(**options).fit(columns, y), asked)


def melons() -> tuple[dict[str, Any], Any, dict[str, Any]]:
    data = datasets.load_dataset("melon2")
    columns = {name: data.columns[name] for name in data.attributes}
    values = ("青绿", "蜷缩", "浊响", "清晰", "凹陷", "硬滑")
    return columns, data.columns[data.target], dict(zip(columns, values, strict=True))


def test_a_super_parent_by_hand() -> None:
    """Of the 7 good melons of clear texture 3 are green; of the 8 good ones 7 are clear."""
    columns, y, row = melons()
    e = check(SPODE(super_parent="纹理").fit(columns, y), row)
    good = e.classes.index("是")
    by_name = {a.name: a for a in e.attributes}
    assert by_name["纹理"].factors[good].working == "(7+1)/(8+3)"
    assert by_name["纹理"].given == ()
    assert by_name["色泽"].factors[good].working == "(3+1)/(7+3)"
    assert by_name["色泽"].given == (("纹理", "清晰"),)
    assert re.search(r"色泽 +青绿 \| 纹理=清晰 +\(3\+1\)/\(7\+3\) = 0\.4 ", str(e))


def test_back_off_by_hand() -> None:
    """P(蜷缩 | 是) leans on 1/3 with weight 2; P(蜷缩 | 是, 凹陷) leans on that with weight 4."""
    columns, y, row = melons()
    model = TAN(structure={"根蒂": "脐部"}, smoothing=BackOff([2, 4])).fit(columns, y)
    attribute = {a.name: a for a in check(model, row).attributes}["根蒂"]
    below = (5 + 2 / 3) / (8 + 2)
    assert attribute.factors[1].working == f"(5+4·{below:.4g})/(5+4)"
    assert attribute.factors[1].probability == pytest.approx((5 + 4 * below) / (5 + 4), rel=1e-12)
    assert "(n+c·p)/(N+c)" in str(model.explain(row))
    assert "少一个父属性" in str(model.explain(row, lang="zh"))


def test_the_average_by_hand() -> None:
    """The textbook's sample: 是 2301166979/21126420000, 否 626488813/150965876250."""
    columns, y, row = melons()
    e = check(AODE().fit(columns, y), row)
    good, bad = e.classes.index("是"), e.classes.index("否")
    assert e.joint[good] == pytest.approx(float(Fraction(2301166979, 21126420000)), rel=1e-12)
    assert e.joint[bad] == pytest.approx(float(Fraction(626488813, 150965876250)), rel=1e-12)
    assert e.average is not None
    texture = next(s for s in e.average.super_parents if s.name == "纹理")
    assert texture.first[good].working == "(7+1)/(17+6)"
    assert {a.name: a.factors[good].working for a in texture.attributes}["根蒂"] == "(5+1)/(7+3)"
    assert (e.form, texture.weight) == ("average", 1.0)
    shares = [math.exp(s.log_products[good]) / e.joint[good] for s in e.average.super_parents]
    assert e.average.shares(good) == pytest.approx(shares)
    text = str(e)
    best = max(e.average.super_parents, key=lambda s: s.log_products[good])
    assert re.search(rf"\n *all given {best.name} +{best.value} .*{100 * max(shares):.1f}%", text)
    assert text.index(f"all given {best.name}") == text.index("all given")


def test_a_missing_parent_is_summed_over_and_told_so() -> None:
    columns, y, row = melons()
    structure = {"纹理": "脐部", "触感": "纹理", "色泽": "纹理", "根蒂": "脐部"}
    model = TAN(structure=structure, smoothing=1.0).fit(columns, y)
    e = check(model, {**row, "纹理": None})
    group = next(a for a in e.attributes if a.name == ("色泽", "触感"))
    assert (group.value, group.summed, group.given) == (("青绿", "硬滑"), ("纹理",), (("脐部", "凹陷"),))
    parts = {s: model.explain({**row, "纹理": s}) for s in ("清晰", "稍糊", "模糊")}
    for k in range(2):
        terms = []
        for part in parts.values():
            by_name = {a.name: a.factors[k].probability for a in part.attributes}
            terms.append(by_name["纹理"] * by_name["色泽"] * by_name["触感"])
        assert group.factors[k].probability == pytest.approx(sum(terms), rel=1e-12)
    assert [(o.name, o.reason) for o in e.left_out] == [("纹理", "summed")]
    assert "青绿, 硬滑 | 脐部=凹陷 (Σ 纹理)" in str(e)
    assert "Summed over (Σ): 纹理" in str(e)
    leaf = check(model, {**row, "触感": None})
    assert [(o.name, o.reason) for o in leaf.left_out] == [("触感", "missing")]


def test_groups_around_different_holes_stay_apart() -> None:
    columns, y, row = melons()
    structure = {"色泽": "根蒂", "敲声": "根蒂", "触感": "纹理", "脐部": "纹理"}
    e = check(
        TAN(structure=structure, smoothing=1.0).fit(columns, y), {**row, "根蒂": None, "纹理": "never seen"}
    )
    assert [(a.name, a.summed) for a in e.attributes] == [
        (("色泽", "敲声"), ("根蒂",)),
        (("脐部", "触感"), ("纹理",)),
    ]
    assert [(o.name, o.value, o.reason) for o in e.left_out] == [
        ("根蒂", None, "summed"),
        ("纹理", "never seen", "summed"),
    ]
    assert "纹理 = never seen" in str(e)


def test_too_many_states_to_sum_over_back_off() -> None:
    """70 · 70 joint states are more than 4,096: the family then uses the parents before the first missing one."""
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 70, 300).astype(str).astype(object) for name in "uv"}
    columns["x"] = np.where(rng.random(300) < 0.5, "l", "r").astype(object)
    model = KDB(structure={"x": ("u", "v")}).fit(columns, rng.integers(0, 2, 300))
    e = check(model, {"u": None, "v": None, "x": "l"})
    assert [(a.name, a.given, a.summed) for a in e.attributes] == [("x", (), ())]
    some = check(model, {"u": columns["u"][0], "v": None, "x": "l"})
    assert [a.summed for a in some.attributes if a.name == "x"] == [("v",)]


def test_missing_as_a_state_of_a_parent() -> None:
    columns, y = mixed()
    model = SPODE(super_parent="a", missing="state").fit(columns, y)
    e = check(model, {"a": None, "b": "x", "c": "x", "d": None, "weight": 1.0, "size": None})
    by_name = {a.name: a for a in e.attributes}
    assert by_name["b"].given == (("a", None),)
    assert by_name["d"].as_missing
    assert re.search(r"\nb +x \| a=missing ", str(e))
    assert re.search(r"\nd +missing \| a=missing ", str(e))


def test_numeric_children_name_their_parent() -> None:
    columns, y = mixed()
    model = TAN(structure={"weight": "b"}, numeric="gaussian").fit(columns, y)
    row = {"a": "x", "b": "y", "c": "x", "d": "z", "weight": 0.5, "size": 1.0}
    by_name = {a.name: a for a in check(model, row).attributes}
    assert (by_name["weight"].given, by_name["size"].given) == ((("b", "y"),), ())
    for factor in by_name["weight"].factors:
        found = re.fullmatch(r"N\(0\.5; μ=([-\d.e]+), σ²=([-\d.e]+)\)", factor.working)
        assert found is not None
        mean, variance = map(float, found.groups())
        density = math.exp(-((0.5 - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        assert density == pytest.approx(factor.probability, rel=1e-2)
    without = {a.name: a for a in check(model, {**row, "b": None}).attributes}
    assert without["weight"].given == ()


def test_an_average_without_a_super_parent_is_naive_bayes() -> None:
    columns, y, row = melons()
    model = AODE(min_count=100).fit(columns, y)
    e = check(model, row)
    assert (e.form, e.average, e.prior_source) == ("alone", None, "counts")
    assert all(a.given == () for a in e.attributes)
    assert "naive Bayes is used" in str(e)
    assert "由朴素贝叶斯作答" in str(model.explain(row, lang="zh"))


def test_weights_and_values_that_follow_from_others() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 60)
    columns = {
        "a": np.array(["x", "y", "z"], dtype=object)[a],
        "b": np.array(["u", "u", "v"], dtype=object)[a],
        "c": np.array(["l", "r"], dtype=object)[rng.integers(0, 2, 60)],
    }
    y = (a + (rng.random(60) < 0.2)) % 2
    weighted = AODE(weights="mutual-information").fit(columns, y)
    e = check(weighted, {"a": "x", "b": "u", "c": "l"})
    assert e.average is not None
    total = sum(s.weight for s in e.average.super_parents)
    assert {s.name: s.weight / total for s in e.average.super_parents} == pytest.approx(weighted.weights_)
    assert "multiplied by its weight" in str(e)
    assert re.search(r"all given a, weight 0\.\d+", str(e))
    e = check(AODE(subsumption=5).fit(columns, y), {"a": "x", "b": "u", "c": "l"})
    assert [(o.name, o.value, o.reason) for o in e.left_out] == [("b", "u", "general")]
    assert "b = u (follows from another value of the row)" in str(e)


def test_pages_of_many_super_parents_are_short() -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (80, 15)).astype(str)
    model = AODE(categorical_features="all").fit(X, np.arange(80) % 2)
    e = model.explain(X[0].tolist())
    text = str(e)
    assert text.count("all given") == 15
    assert text.count("  P(") == 1
    assert "without their factors: 14" in text
    assert len(e.to_dict()["average"]) == 15
    assert all(len(s["attributes"]) == 14 for s in e.to_dict()["average"])


@dataclass(frozen=True)
class Strange(Conditional):
    """A conditional of a kind that reports know nothing of: every attribute twice, and a say of their number."""

    known: Any

    def add_log_prob(self, chunk: Any, out: Any) -> None:
        there = (chunk.codes < 3).sum(axis=1)
        out += np.outer(there * there, np.arange(out.shape[1]))
        self.known.add_log_prob(chunk, out)
        self.known.add_log_prob(chunk, out)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_models_of_unknown_kinds_are_explained_by_leaving_out(lang: str) -> None:
    columns, y = mixed()
    fitted = TAN(smoothing=1.0).fit({n: columns[n] for n in "abcd"}, y)
    known = fitted._model
    model = replace(known, conditionals=(Strange(known.conditionals[0]),))
    row = {"a": "x", "b": None, "c": "y", "d": "new"}
    e = explain(model, fitted.statistics_, fitted._fitted.spec, one_row(row), lang=lang)
    assert e.form == "evidence"
    encoded = fitted._fitted.encode(one_row(row), model.schema, "ignore")
    assert e.log_joint == pytest.approx(model.joint(encoded)[0], rel=1e-12)
    assert [(o.name, o.reason) for o in e.left_out] == [("b", "missing"), ("d", "unseen")]
    for attribute in e.attributes:
        without = fitted._fitted.encode(one_row({**row, attribute.name: None}), model.schema, "ignore")
        change = model.joint(encoded)[0] - model.joint(without)[0]
        assert [f.log for f in attribute.factors] == pytest.approx(change, abs=1e-12)
    assert e.rest is not None
    assert any(abs(f.log) > 0.1 for f in e.rest)
    assert ("共同作用" if lang == "zh" else "together") in as_text(page_of(e))
    assert json.loads(json.dumps(e.to_dict(), allow_nan=False))["form"] == "evidence"


def test_two_super_parents_at_a_time_are_explained_by_leaving_out() -> None:
    columns, y, row = melons()
    model = AnDE(n=2).fit(columns, y)
    e = check(model, row)
    assert e.form == "evidence"
    assert all(f.probability <= 1.0 for a in e.attributes for f in a.factors)
    impossible = AnDE(n=2, smoothing=0.0).fit(columns, y)
    for values in itertools.product(("青绿", "浅白"), ("硬挺", None), ("浊响",), ("模糊", "清晰")):
        check(impossible, {**row, **dict(zip(list(row)[:4], values, strict=True))})


def test_a_lazy_model_explains_like_a_fitted_one() -> None:
    columns, y, row = melons()
    for make in (TAN, AODE):
        assert make().lazy(columns, y).explain(row) == make().fit(columns, y).explain(row)


def test_the_python_cell_is_the_kernels_cell() -> None:
    columns, y = mixed()
    for options in SETTINGS:
        cells = TAN(**options).fit(columns, y)._model.conditionals[0].cells
        for i in range(-1, len(cells.sizes)):
            parents = np.full(len(cells.sizes), i, dtype=np.int64)
            parents[i if i >= 0 else 0] = -1
            model = OneParent(cells, parents)
            for j in np.flatnonzero(parents == i).tolist():
                expected = model.probabilities(j)
                for u, x in np.ndindex(*expected.shape[:2]):
                    found = [p for p, _ in pair_shares(cells, j, x, i, u)]
                    assert found == pytest.approx(expected[u, x], rel=1e-13)


def test_html_shows_blocks_and_escapes() -> None:
    rows = [["<i>", "&"], ["b", "&"], ["<i>", "c"], ["b", "c"]]
    html = AODE().fit(rows, ["<script>", "b", "<script>", "b"]).explain(["<i>", "&"])._repr_html_()
    assert "<script>" not in html
    assert "&lt;i&gt;" in html
    assert "<th>share</th>" in html


def test_a_factor_without_log_is_zero() -> None:
    zero = (PageFactor(-math.inf),)
    e = Explanation(
        "y", ("a",), (PageFactor(0.0),), (Attribute("x", 1, "table", zero),), (), fallback=(-0.5,)
    )
    assert e.impossible
    assert e.posterior == (1.0,)


def test_only_what_is_shown_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thirty super-parents a page shows one; the others' fractions would take most of the time."""
    written: list[int] = []

    def noted(known: Any, i: int, write: Any = averaged_report._children) -> Any:
        written.append(i)
        return write(known, i)

    monkeypatch.setattr(averaged_report, "_children", noted)
    rng = np.random.default_rng(0)
    X = {f"x{j}": rng.integers(0, 3, 60).astype(str) for j in range(30)}
    e = AODE().fit(X, np.arange(60) % 4).explain({name: column[0] for name, column in X.items()})
    assert e.posterior and not written
    assert str(e) and e.to_latex() and len(written) <= 3
    again = pickle.loads(pickle.dumps(e))
    assert again == e and isinstance(again.average.super_parents[0].attributes, tuple)
    assert len(written) == 30 and len(set(written)) == 30


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_plain_values_of_an_average_are_those_of_its_page(options: dict[str, Any]) -> None:
    """They are made without the page; a pickled explanation has every attribute written down."""
    columns, y = mixed()
    model = AODE(**options).fit(columns, y)
    for i in (0, 5, 11):
        row = {**{name: column[i] for name, column in columns.items()}, **({"d": "new"} if i == 5 else {})}
        page = model.explain(row)
        assert page.to_dict() == pickle.loads(pickle.dumps(model.explain(row))).to_dict()
        assert page.average is not None
        assert not any("written" in parent.attributes.__dict__ for parent in page.average.super_parents)
