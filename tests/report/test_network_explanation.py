"""Answers of networks by hand: equal to query, in fractions, only with what is needed."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bayeskit import BayesianNetwork, BayesNetClassifier, MarkovNetwork, datasets
from bayeskit._report.fractions import exact, exact_text, from_log
from bayeskit._report.latex_text import escaped
from bayeskit._report.network_explanation import pages_of
from bayeskit.errors import ImpossibleEvidence, SettingError
from bayeskit.explanations import NetworkExplanation
from bayeskit.networks import Not, wet_grass
from edits import after
from refusals import refuses


def random_network(seed: int, n: int = 8) -> Any:
    """Nodes of two or three states with up to three parents; tables of one decimal or of any numbers."""
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(n)]
    parents = {
        name: [names[j] for j in rng.permutation(i)[: rng.integers(0, 4)]] for i, name in enumerate(names)
    }
    sizes = {name: int(rng.integers(2, 4)) for name in names}
    network = BayesianNetwork(parents, {name: [f"s{k}" for k in range(sizes[name])] for name in names})
    for name in names:
        shape = [sizes[p] for p in parents[name]]
        if seed % 2:
            table = rng.dirichlet(np.ones(sizes[name]), shape)
        else:
            table = rng.multinomial(10, np.ones(sizes[name]) / sizes[name], shape) / 10
        network.set_cpt(name, table)
    return network


def check(network: Any, target: str, page: NetworkExplanation, **known: Any) -> None:
    """The answer is that of query; every step is the sum of the product of its factors; renderings hold."""
    assert page.posterior == pytest.approx(network.query(target, **known).values, rel=1e-12, abs=1e-15)
    assert sum(page.exact_posterior) == 1
    if page.is_evidence:
        z = page.normaliser
        log_z = math.log(z.numerator) - math.log(z.denominator)
        assert log_z == pytest.approx(network.log_probability(**known), abs=1e-10)
    for step in page.steps:
        assert step.variable not in step.result.names
        for cell in np.ndindex(*step.product.values.shape):
            place = dict(zip(step.product.names, cell, strict=True))
            numbers = [p.values[tuple(place[n] for n in p.names)] for p in step.used]
            assert step.product.values[cell] == math.prod(numbers, start=Fraction(1))
        for cell in np.ndindex(*step.result.values.shape):
            assert step.result.values[cell] == sum(step.product.values[cell])
    assert len(set(page.order)) == len(page.order)
    told = json.loads(page.to_json())
    assert told["posterior"] == list(page.posterior)
    assert [s["variable"] for s in told["steps"]] == list(page.order)
    text = str(page)
    assert all(f"{k}. " in text for k in range(1, len(page.steps) + 1))
    assert page.to_html().count("<table>") == len(page.factors) + len(page.steps) + 1
    latex = page.to_latex(document=True)
    tables = latex.count(r"\begin{tabular}") + latex.count(r"\begin{longtable}")
    titles = [escaped(table.title) for table, _ in pages_of(page)[1]]
    assert len(titles) == len(page.factors) + len(page.steps) + 1 <= tables  # a wide one is divided
    assert all(
        latex.count(f"{title}\\par") + latex.count(f"{title}\n\\end{{center}}") >= 1 for title in titles
    )


@pytest.mark.parametrize("seed", range(12))
def test_any_network_and_evidence(seed: int) -> None:
    network, rng = random_network(seed), np.random.default_rng(seed)
    names = list(network._network.dag.nodes)
    row = network.sample(1, random_state=seed)
    for k in (0, 2, 4, 7):
        target, *seen = rng.permutation(names)[: k + 1].tolist()
        evidence: dict[str, Any] = {name: row[name][0] for name in seen}
        check(network, target, network.explain(target, evidence), evidence=evidence)
        if k == 2:
            likelihood = rng.random(len(network.states(seen[0]))).tolist()
            known = {"evidence": {seen[1]: Not(_other(network, row, seen[1]))}, "soft": {seen[0]: likelihood}}
            check(network, target, network.explain(target, **known), **known)
    field = MarkovNetwork.of(network)
    evidence = {names[1]: row[names[1]][0]}
    page = field.explain(names[0], evidence)
    check(field, names[0], page, evidence=evidence)
    assert not page.is_evidence


def _other(network: Any, row: Any, name: str) -> str:
    return next(state for state in network.states(name) if state != row[name][0])


def test_the_wet_lawn_by_hand() -> None:
    """0.8 · 0.1 · 0.9 = 0.072 without rain, 0.2 with it: 25/34."""
    page = wet_grass().explain("rain", evidence={"wet": "yes"})
    check(wet_grass(), "rain", page, evidence={"wet": "yes"})
    assert page.exact_posterior == (Fraction(9, 34), Fraction(25, 34))
    assert (page.normaliser, page.order, page.barren) == (Fraction(34, 125), ("sprinkler",), ("joe",))
    text = str(page)
    assert "no    0.9·0 = 0       0.1·0.9 = 0.09   0.09" in text
    assert "yes   0.2·1 = 0.2       0.2/0.272 = 25/34 ≈ 0.7353" in text
    assert "divided by P(wet = yes) = 0.272" in text
    assert r"$\frac{0.2}{0.272} = \frac{25}{34} \approx 0.7353$" in page.to_latex()
    chinese = wet_grass().explain("rain", evidence={"wet": "yes"}, lang="zh")
    assert "依次求和消去：sprinkler。" in str(chinese)
    assert chinese.to_latex(document=True).startswith(r"\documentclass{ctexart}")


def test_only_what_is_needed_takes_part() -> None:
    """A chain of 300: with a neighbour known, all behind it is the same for every state."""
    n = 300
    chain = BayesianNetwork({i: [i - 1] if i else [] for i in range(n)}, ["a", "b"])
    chain.set_cpt(0, [0.3, 0.7])
    for i in range(1, n):
        chain.set_cpt(i, [[0.9, 0.1], [0.2, 0.8]])
    page = chain.explain(150, {148: "a", 151: "b"})
    assert [p.title for p in page.factors] == ["P(149 | 148 = a)", "P(150 | 149)", "P(151 = b | 150)"]
    assert (page.order, page.is_evidence) == ((149,), False)
    assert (len(page.cancelled), len(page.barren)) == (149, 148)
    assert page.posterior == pytest.approx(chain.query(150, evidence={148: "a", 151: "b"}).values, rel=1e-12)
    assert "137 more" in str(page)
    with refuses(SettingError, 299, 1198, "max_cells="):
        chain.explain(299, max_cells=1000)
    assert len(chain.explain(299).steps) == 299


def test_large_tables_are_refused_before_they_are_written_out() -> None:
    names = [f"c{i}" for i in range(14)]
    wide = BayesianNetwork({**{name: [] for name in names}, "e": names}, ["no", "yes"])
    for name in names:
        wide.set_cpt(name, [0.5, 0.5])
    rng = np.random.default_rng(0)
    wide.set_cpt("e", rng.dirichlet([1, 1], [2] * 14))
    with refuses(SettingError, "max_cells=2,000", 13):
        wide.explain("c0", {"e": "yes"})
    seen = {**dict.fromkeys(names[2:], "yes"), "e": "no"}
    check(wide, "c0", wide.explain("c0", seen), evidence=seen)


def test_bad_questions_are_refused_by_name() -> None:
    grass = wet_grass()
    with refuses(ImpossibleEvidence, "wet"):
        grass.explain("joe", {"rain": "no", "sprinkler": "no", "wet": "yes"})
    with refuses(SettingError, "rain", "evidence"):
        grass.explain("rain", {"rain": "yes"})
    with refuses(SettingError, "lang", "fr"):
        grass.explain("rain", lang="fr")
    with refuses(SettingError, "max_cells", 0):
        grass.explain("rain", max_cells=0)
    with refuses(SettingError, "snow"):
        grass.explain("snow")


def test_observed_numbers_are_densities() -> None:
    network = BayesianNetwork(
        {"kind": [], "x": ["kind"], "y": ["kind", "x"]}, {"kind": ["a", "b"], "x": float, "y": float}
    )
    network.set_cpt("kind", [0.4, 0.6])
    network.set_gaussian("x", {"a": (0.0, 1.0), "b": (1.0, 2.0)})
    network.set_gaussian("y", {"a": (1.0, {"x": 0.5}, 1.0), "b": (0.0, {"x": 2.0}, 0.5)})
    for seen in ({"x": 0.7}, {"x": 0.7, "y": -1.0}, {"x": 300.0, "y": 5.0}):
        page = network.explain("kind", seen)
        assert page.posterior == pytest.approx(network.query("kind", evidence=seen).values, rel=1e-9)
    assert "density of x = 300" in str(page)
    assert network.explain("kind").posterior == (0.4, 0.6)
    with refuses(SettingError, "x", "continuous", "query"):
        network.explain("kind", {"y": 1.0})
    with refuses(SettingError, "x", "continuous", "query"):
        network.explain("x")


def test_numbers_are_what_they_were_written_as() -> None:
    assert [exact(x) for x in (0.1, 1 / 3, 2 / 7, 1e-9)] == [
        Fraction(1, 10),
        Fraction(1, 3),
        Fraction(2, 7),
        Fraction(1, 10**9),
    ]
    assert exact(math.pi / 10) == Fraction(math.pi / 10)
    assert exact_text(Fraction(1, 10) ** 400) == "1.00e-400"
    assert float(from_log(-3.0)) == pytest.approx(math.exp(-3.0))
    assert exact_text(from_log(-3000.0)) == "1.31e-1303"


def test_names_are_escaped() -> None:
    network = BayesianNetwork({"<i>": [], "x_1": ["<i>"]}, ["a & b", "c"])
    network.set_cpt("<i>", [0.5, 0.5])
    page = after(network, "set_cpt", "x_1", [[0.5, 0.5], [0.1, 0.9]]).explain("<i>", {"x_1": "a & b"})
    assert "<i>" not in page.to_html()
    latex = page.to_latex()
    assert r"\textless{}i\textgreater{}" in latex
    assert r"x\_1 = a \& b" in latex


@pytest.mark.parametrize(
    "options",
    [
        {"method": "naive"},
        {"method": "tan", "smoothing": "laplace"},
        {"method": "hill-climbing", "markov_blanket": False, "numeric": 3, "criterion": "aic"},
        {"method": "tan", "numeric": 2, "smoothing": "mle"},
    ],
    ids=str,
)
def test_a_network_classifier_explains_its_answer(options: dict[str, Any]) -> None:
    data, rng = datasets.load_dataset("melon3"), np.random.default_rng(0)
    columns = {name: data.columns[name] for name in data.attributes}
    model = BayesNetClassifier(**options).fit(columns, data.columns[data.target])
    for i in range(0, 17, 3):
        for k in (0, 1, 3, 8):
            holes = set(rng.permutation(list(columns))[:k].tolist())
            row = {name: None if name in holes else column[i] for name, column in columns.items()}
            page = model.explain(row)
            table = {name: [value] for name, value in row.items()}
            assert page.posterior == pytest.approx(model.predict_proba(table)[0], rel=1e-9, abs=1e-13)
            names = [n for a in page.attributes for n in (a.name if isinstance(a.name, tuple) else (a.name,))]
            assert {*names, *(o.name for o in page.left_out)} == set(columns)
            for factor in [*page.prior, *(f for a in page.attributes for f in a.factors)]:
                if factor.working and "N(" not in factor.working:
                    assert eval(factor.working) == pytest.approx(factor.probability, rel=1e-4)
            assert page.to_latex()
            assert json.loads(page.to_json())["posterior"] == list(page.posterior)
