"""Everything that people look at, in a notebook or a terminal: well-formed, escaped, small, and saying what it should.

Names come from other people's files: none of them is a tag of HTML, and none of them steers a terminal.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import tempfile
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import bayeskit
from bayeskit import BayesianNetwork, DynamicNetwork, HiddenMarkov, MarkovNetwork
from bayeskit._data.database_url import DatabaseTable
from bayeskit._data.file_set import FileSet
from bayeskit._data.files import FileSource
from bayeskit._display_table import DisplayTable, notebook_html
from bayeskit._markup import PALETTE, framed, plain
from bayeskit._messages import Joined, Message
from bayeskit._report.charts.axis import CHART_STYLES
from bayeskit._report.comparison_report.comparison import JudgedRows, Measure, Table
from bayeskit._report.comparison_report.words_and_style import STYLE as REPORT
from bayeskit._report.mixture_report import Profile
from bayeskit._report.scene import STYLES as PICTURE_STYLES
from bayeskit._visible import visible
from bayeskit.comparison import Comparison, ModelStanding
from bayeskit.decision import bayes_risk, bayes_rule, decide
from bayeskit.errors import DataError, NotSupported, SuspectColumn
from bayeskit.explanations import PosteriorInterval, information, pairs
from bayeskit.mixtures import ClassProfiles, match_labels
from bayeskit.networks import Factor, InfluenceDiagram, Not, arc_strengths, compare_networks
from bayeskit.statistics import Schema, Variable

# The name of a column, a state and a class: a script, an order to clear the screen, one to name the window, a control
# of eight bits, and a turn of the direction of writing.
EVIL = "<script>\"&'</script>\x1b[2J\x1b]0;x\x07\x9b\u202e"
# Escapes of controls, or � where XML can hold none.
AS_SHOWN = (visible(EVIL), repr(EVIL)[1:-1], plain(EVIL))
RNG = np.random.default_rng(7)
TURNS = "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
N = 40
Y = np.array([EVIL, "b"] * (N // 2), dtype=object)
SKY = np.where(RNG.random(N) < 0.8, Y, "rain").astype(object)
WIND = np.where(RNG.random(N) < 0.7, SKY, "calm").astype(object)
CATEGORICAL = {EVIL: SKY, "wind": WIND}
MIXED = {EVIL: SKY, "height": np.where(Y == "b", 1.0, 9.0) + RNG.normal(size=N)}
NUMERIC = {EVIL: MIXED["height"], "b": RNG.normal(size=N)}
COUNTS = RNG.integers(0, 3, (N, 5))
LOSS = {EVIL: {EVIL: 0.0, "b": 7.25}, "wait": {EVIL: 1.5, "b": 0.0}}


def fitted(name: str, rows: Any, *labels: Any, **settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(bayeskit, name)(**settings).fit(rows, *labels)


@cache
def network() -> Any:
    made = BayesianNetwork({EVIL: [], "wet": [EVIL]}, states={EVIL: ["no", EVIL], "wet": ["no", "yes"]})
    made.set_cpt(EVIL, [0.75, 0.25])
    made.set_cpt("wet", [[0.875, 0.125], [0.0625, 0.9375]])
    return made


def evil_number() -> Any:
    made = BayesianNetwork({EVIL: []}, states=float)
    made.set_gaussian(EVIL, 1.0, variance=4.0)
    return made


def diagram() -> Any:
    table = [[1.0, 0.0], [-2.0, 3.0]]
    decision = EVIL[::-1]
    return InfluenceDiagram(
        network(),
        {decision: ["stay", EVIL]},
        {"joy": ([EVIL, decision], table)},
        observed={decision: ["wet"]},
    )


def changed_policy() -> Any:
    found = diagram().sensitivity((EVIL, {}, EVIL))
    return (*found.below, *found.above)[0]


def over_time() -> Any:
    before = f"{EVIL}[t-1]"
    made = BayesianNetwork({before: [], EVIL: [before], "wet": [EVIL]}, states=["no", EVIL])
    made.set_cpt(before, [0.5, 0.5])
    made.set_cpt(EVIL, [[0.75, 0.25], [0.25, 0.75]])
    made.set_cpt("wet", [[0.875, 0.125], [0.125, 0.875]])
    return DynamicNetwork(made)


def comparison() -> Comparison:
    measure = Measure(0.125, 0.01)
    standing = ModelStanding("nb", EVIL, True, *[measure] * 4, None, (0.1, 0.15), 0.5, 2048, None)
    held = JudgedRows(np.arange(1, 3), np.array([0, 1]), np.array([[0.75, 0.25], [0.5, 0.5]]))
    risk = bayes_risk(held.posterior)
    table = Table("rows.csv", 2, 0, "00")
    return Comparison(table, None, "y", (EVIL, "b"), (1, 1), (), 2, 0, (standing,), "nb", risk, "nb", held)


POSTERIOR = bayes_rule({EVIL: 0.75, "b": 0.25}, {EVIL: 0.5, "b": 0.5})
ROW = {EVIL: EVIL, "height": 8.0}


@cache
def naive() -> Any:
    return fitted("NaiveBayes", MIXED, Y)


@cache
def tree() -> Any:
    return fitted("TAN", CATEGORICAL, Y)


@cache
def mixture() -> Any:
    return fitted("GaussianMixture", NUMERIC, n_components=2, random_state=0)


@cache
def latent() -> Any:
    return fitted("LatentClass", CATEGORICAL, n_components=2, random_state=0)


Cases = dict[str, tuple[Callable[[], Any], list[str]]]

# How to make an object, and what must be read in it beside the evil name.
CASES: Cases = {
    "schema": (lambda: naive().schema_, ["height", "numeric", "categorical", "2 attributes, 2 classes"]),
    "missing cells": (
        lambda: fitted("NaiveBayes", {EVIL: [*SKY[:-7], *[None] * 7]}, Y).statistics_,
        ["(missing)34"],
    ),
    "statistics": (lambda: naive().statistics_, ["40 rows", "mean ± sd", "20"]),
    "naive Bayes": (
        lambda: naive(),
        ["NaiveBayes()", "from 2 attributes", "Lidstone(alpha=1.0)", "gaussian", "20"],
    ),
    "TAN": (lambda: tree(), ["Arcs", "→", "BackOff"]),
    "SPODE": (lambda: fitted("SPODE", CATEGORICAL, Y), ["Held super parent"]),
    "AODE": (
        lambda: fitted("AODE", CATEGORICAL, Y, smoothing=0.5),
        ["AODE(smoothing=0.5)", "Lidstone(alpha=0.5)"],
    ),
    "paths of trees": (
        lambda: fitted("CountForest", MIXED, Y, n_trees=3).paths(ROW),
        ["Tree", "mean", "posterior"],
    ),
    "KDB": (lambda: fitted("KDB", MIXED, Y), ["Held cut points", "height", "Arcs"]),
    "AutoBayes": (lambda: fitted("AutoBayes", CATEGORICAL, Y), ["Held weights", "temperature"]),
    "WeightedNB": (lambda: fitted("WeightedNB", CATEGORICAL, Y), ["Held weights", "wind"]),
    "GaussianBayes": (lambda: fitted("GaussianBayes", NUMERIC, Y), ["full covariances", "±"]),
    "MultinomialNB": (
        lambda: fitted("MultinomialNB", COUNTS, Y),
        ["from 5 columns", str(COUNTS[1::2].sum())],
    ),
    "BayesNetClassifier": (
        lambda: fitted("BayesNetClassifier", CATEGORICAL, Y, method="tan"),
        ["wind", "Arcs: y →", "Markov blanket"],
    ),
    "BayesDecision": (
        lambda: fitted("BayesDecision", MIXED, Y, estimator=bayeskit.NaiveBayes(), loss=LOSS, reject=0.5),
        ["NaiveBayes", "costs 0.5", "7.25", "if b"],
    ),
    "Discretizer": (lambda: fitted("Discretizer", NUMERIC, Y), ["intervals", "method 'mdl'"]),
    "GaussianMixture": (lambda: mixture(), ["2 Gaussian components", "±"]),
    "LatentClass": (lambda: latent(), ["2 components", "wind"]),
    "unfitted": (lambda: bayeskit.NaiveBayes(states={EVIL: ["a"]}), ["NaiveBayes(states="]),
    "unfitted mixture": (lambda: bayeskit.LatentClass(families={EVIL: "table"}), ["LatentClass(families="]),
    "table": (lambda: naive().table(EVIL), ["class", "(0)"]),
    "table with parents": (lambda: tree().table(tree().arcs_[0].child), ["P(", "(class)"]),
    "network": (lambda: network(), ["2 nodes, 1 arc", "3 free parameters", "0.9375"]),
    "Markov network": (lambda: MarkovNetwork.of(network()), ["2 variables, 2 factors", "0.9375"]),
    "factor": (lambda: network().cpt("wet"), ["wet = yes", "0.0625"]),
    "most probable": (lambda: network().mpe(), ["wet", "log probability", "−0.42"]),
    "independence": (lambda: network().why_independent(EVIL, "wet"), ["open"]),
    "findings": (lambda: network().sensitivity_to_findings("wet"), ["nats"]),
    "parameter": (lambda: network().parameter_sensitivity(("wet", "yes"), None, (EVIL, {}, EVIL)), ["0.25"]),
    "arc strengths": (lambda: arc_strengths(CATEGORICAL, 2), ["2 samples", "wind"]),
    "network explanation": (lambda: network().explain("wet", {EVIL: EVIL}), ["0.9375"]),
    "drawing": (lambda: network().plot(), ["wet"]),
    "decision": (lambda: decide(POSTERIOR, LOSS), ["1 decision", "1.125", "risk of wait"]),
    "rejected": (lambda: decide([[0.5, 0.5]], reject=0.25, actions=["a", "b", EVIL]), ["1 rejected", "0.25"]),
    "posterior": (lambda: POSTERIOR, ["P(b | x)", "0.75", "0.5"]),
    "explanation": (lambda: naive().explain(ROW), ["height"]),
    "summary": (lambda: naive().summary(), ["height"]),
    "contributions": (
        lambda: naive().contributions({k: [v] for k, v in ROW.items()}),
        ["(prior)", "log-odds"],
    ),
    "questions": (lambda: naive().ask_next({"height": 8.0}), []),
    "intervals": (
        lambda: naive().predict_interval(MIXED, n_samples=50),
        ["90% intervals of 40 rows", "20 more rows"],
    ),
    "information": (lambda: information(tree()), ["wind"]),
    "pairs": (lambda: pairs(tree()), ["wind"]),
    "class profile": (lambda: naive().class_profile(), ["height"]),
    "nomogram": (lambda: naive().nomogram(), ["height"]),
    "components": (lambda: mixture().describe(), ["weight"]),
    "matching": (lambda: match_labels(latent().predict(CATEGORICAL), Y), ["of the rows agree"]),
    "comparison": (lambda: comparison(), ["0.125 ± 0.010", "2.0 kB"]),
}
# What shows no name of a column or class.
NAMELESS: Cases = {
    "Bayes risk": (
        lambda: bayes_risk([[0.75, 0.25], [0.5, 0.5]]),
        ["0.375", "best accuracy", "0.625", "2 posteriors"],
    ),
    "network comparison": (lambda: compare_networks(network(), network()), ["SHD"]),
    "novelty": (lambda: naive().novelty(MIXED, 50), ["The strangest of 40 rows", "conflict"]),
    "reliability": (lambda: naive().reliability(MIXED, Y), []),
    "choice": (
        lambda: fitted("GaussianMixture", NUMERIC, n_components=[1, 2]).choice_,
        ["Components by BIC"],
    ),
}


# What has no page, only text.
OTHERS: Cases = {
    "equivalent graphs": (lambda: network().cpdag(), []),
    "effect": (lambda: network().effect(EVIL, "wet"), []),
    "adjustment set": (lambda: network().why_adjustment(EVIL, "wet", []), []),
    "estimand": (lambda: network().identify(EVIL, "wet"), []),
    "diagram": (lambda: diagram(), []),
    "solution": (lambda: diagram().solve(), []),
    "policy": (lambda: diagram().solve()[EVIL[::-1]], []),
    "strategy": (lambda: diagram().solve().tree(), []),
    "one decision": (lambda: diagram().decide({"wet": "yes"}), []),
    "value of observing": (lambda: diagram().value_of_information(), []),
    "flips": (lambda: diagram().sensitivities(EVIL), []),
    "flip": (lambda: diagram().sensitivity((EVIL, {}, EVIL)), []),
    "change of a policy": (lambda: changed_policy(), []),
    "network over time": (lambda: over_time(), []),
    "hidden states": (lambda: HiddenMarkov(2, random_state=0).fit([["u", EVIL, "u", EVIL, EVIL]]), []),
    "path": (lambda: network().why_independent(EVIL, "wet").paths[0], []),
    "excluded": (lambda: Not(EVIL), []),
    "numeric estimate": (lambda: evil_number().approximate(EVIL), []),
    "estimate": (
        lambda: network().approximate(EVIL, method="likelihood weighting", n_samples=50, random_state=0),
        [],
    ),
    "two variables": (lambda: network().query([EVIL, "wet"]), []),
    "Chinese": (lambda: naive().explain(ROW, lang="zh", loss=LOSS), []),
    "named network": (lambda: BayesianNetwork({EVIL: [], "b": [EVIL]}, name=EVIL), []),
    "average": (lambda: fitted("AODE", CATEGORICAL, Y).explain({EVIL: EVIL, "wind": EVIL}), []),
    "given parents": (lambda: tree().explain({EVIL: EVIL, "wind": EVIL}), []),
    "unseen": (lambda: tree().explain({EVIL: f"never{EVIL}", "wind": None}), []),
    "regression": (lambda: linear(), []),
    "latent profiles": (lambda: latent().profiles_, []),
    "error": (lambda: DataError(f"{EVIL} and\x7f"), []),
    "warning": (lambda: SuspectColumn(f"Column {EVIL} and\x7f"), []),
    "message": (lambda: Message("{name} and\x7f {names}", name=EVIL, names=Joined([EVIL])), []),
    "list of a message": (lambda: Joined([EVIL, Message(EVIL)], EVIL), []),
    "value of a message": (lambda: Message("{value} {value!r}", value=Path(EVIL)).values["value"], []),
    "source": (lambda: FileSource(evil_file()), []),
    "sources": (lambda: FileSet([evil_file(), evil_file()]), []),
    "live table": (lambda: DatabaseTable(f"sqlite:///shop.db?table={quote(EVIL)}"), []),
    "store": (lambda: bayeskit.TallyStore(evil_file().with_suffix(""), bayeskit.NaiveBayes()), []),
    "format": (lambda: FileSource(evil_file())._format, []),
}
SHOWING = (
    "__str__",
    "__repr__",
    "_repr_html_",
    "_repr_svg_",
    "_repr_mimebundle_",
    "to_html",
    "to_latex",
    "to_json",
    "svg",
)
# Their texts hold no name that anybody gave, but Unwritten, which is a tuple.
WITHOUT_NAMES = {"Dataset", "GaussianMixturePosterior", "Parquet", "LazyAttributes"}


@cache
def linear() -> Any:
    made = BayesianNetwork({EVIL: [], "b": [EVIL]}, states=float)
    made.set_gaussian(EVIL, 0.0, variance=1.0)
    made.set_gaussian("b", 1.0, {EVIL: 2.0}, variance=1.0)
    return made


@cache
def evil_file() -> Path:
    path = Path(tempfile.mkdtemp()) / "evil\x1b[2J\x07.csv"
    path.write_text(f'"a{EVIL[10:]}",b\n1,2\n', encoding="utf-8")
    return path


def controls(text: str) -> list[str]:
    """Return what would steer a terminal; a new line may stand in a text."""
    return [c for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Cs") or c in TURNS)]


def page_of(shown: Any) -> str:
    return str(shown._repr_html_() if hasattr(shown, "_repr_html_") else shown._repr_svg_())


def text_of(shown: Any) -> str:
    """Return what a reader sees; refuse what is not well-formed, is large, or could run."""
    html = page_of(shown)
    root = ElementTree.fromstring(f"<div>{html.replace('<br>', '<br/>')}</div>")
    for element in root.iter():
        assert element.tag.rpartition("}")[2] not in ("script", "iframe", "object", "link", "img")
        assert not any(name.startswith("on") for name in element.attrib)
    assert len(html.encode()) < 50_000
    return "".join(root.itertext())


@pytest.mark.parametrize("case", [*CASES, *NAMELESS])
def test_a_notebook_shows(case: str) -> None:
    made, words = (CASES | NAMELESS)[case]
    text = text_of(made())
    assert all(word in text for word in words), text
    assert case in NAMELESS or any(name in text for name in AS_SHOWN)


def texts_of(shown: Any) -> Iterator[str]:
    """Give every text that an object makes of itself."""
    yield str(shown)
    yield repr(shown)
    for name in ("_repr_html_", "_repr_svg_", "to_html", "to_latex", "to_json", "svg"):
        made = getattr(shown, name, None)
        if made is None:
            continue
        try:
            yield str(made() if callable(made) else made)
        except (NotSupported, NotFittedError) as refusal:  # a text, too
            yield str(refusal)
    yield from getattr(shown, "_repr_mimebundle_", dict)().values()


STYLES = re.compile("<style>(.*?)</style>", re.DOTALL)


@pytest.mark.parametrize("case", [*CASES, *NAMELESS, *OTHERS])
def test_a_notebook_has_the_look_of_the_report_and_keeps_it_to_itself(case: str) -> None:
    shown = (CASES | NAMELESS | OTHERS)[case][0]()
    if not hasattr(shown, "_repr_html_"):
        return
    html = shown._repr_html_()
    frame = STYLES.findall(framed())[0]
    assert html.startswith('<div class="bayeskit">') and html.count(frame) == 1 and html.endswith("</div>")
    for style in STYLES.findall(html):
        assert not re.search("@import|url\\(|@font-face|prefers-color-scheme", style)
        selectors = re.findall(r"([^{}]+)\{[^{}]*\}", style)
        assert selectors and "{" not in re.sub(r"[^{}]+\{[^{}]*\}", "", style)
        for selector in selectors:  # those in parentheses are alternatives below our class
            for each in re.sub(r"\([^()]*\)", "", selector).split(","):
                assert re.search(r"\.bayeskit(-network)?\b", each), each


def test_the_colours_of_notebooks_are_those_of_the_report() -> None:
    ours = dict(re.findall(r"--([a-z-]+):light-dark\((#\w+,#\w+)\)", framed()))
    assert ours == {name: ",".join(PALETTE[name]) for name in ours} and {"ink", "card", "line"} <= {*ours}
    for shade in (0, 1):
        assert all(f"--{name}:{pair[shade]}" in REPORT for name, pair in PALETTE.items())
    assert len(framed().encode()) < 2_200


def test_charts_stay_legible_on_a_telephone() -> None:
    """They keep their size and scroll, and no text in them is smaller than 11 pixels."""
    sizes = [style.font_size for style in {**PICTURE_STYLES, **CHART_STYLES}.values() if style.font_size]
    assert min(sizes) >= 11.0
    for style in (framed(), REPORT):
        assert re.search(r"\.figure\{[^}]*overflow-x:auto", style)
        assert re.search(r"\.figure>svg\{[^}]*max-width:none", style)
    for shown in (naive().nomogram(), naive().explain(ROW), network().plot(), diagram()):
        for drawn in re.findall("<svg[^>]*>", shown._repr_html_()):
            assert "style=" not in drawn and re.search(r' width="\d', drawn)


def test_short_cells_stay_on_one_line_on_a_telephone() -> None:
    """Before, a state and its parent's took five lines of a word each; long cells still wrap, the table scrolls."""
    cells = ("early hor", "0.25", "5.843 ± 0.8253", "蜷缩 | 脐部=凹陷", "(5+1)/(8+3) = 0.5455")
    shown = notebook_html(DisplayTable("", (), (cells,)))
    kept = re.findall(r'class="k">([^<]*)<', shown)
    assert kept == ["early hor", "5.843 ± 0.8253", "蜷缩 | 脐部=凹陷"]
    for style in (shown, REPORT):
        assert re.search(r"\.k\)?\{white-space:nowrap", style)


@pytest.mark.parametrize("case", [*CASES, *NAMELESS, *OTHERS])
def test_no_name_steers_a_terminal(case: str) -> None:
    for text in texts_of((CASES | NAMELESS | OTHERS)[case][0]()):
        assert not controls(text), text


def test_every_class_that_shows_itself_is_among_the_cases() -> None:
    met: set[type] = set()
    for made, _ in (CASES | NAMELESS | OTHERS).values():
        met.update(type(made()).__mro__)
    missed = {cls for cls in classes_that_show_themselves() if cls not in met}
    assert {cls.__name__ for cls in missed} <= WITHOUT_NAMES


def classes_that_show_themselves() -> Iterator[type]:
    """Give the classes of bayeskit that have a text of their own, not the one that dataclasses and tuples get."""
    for found in pkgutil.walk_packages(bayeskit.__path__, "bayeskit."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for cls in vars(module).values():
            if not (inspect.isclass(cls) and cls.__module__ == found.name) or issubclass(
                cls, (tuple, StrEnum)
            ):
                continue
            own = [vars(cls)[name] for name in SHOWING if name in vars(cls)]
            if any(not hasattr(function, "__wrapped__") for function in own):
                yield cls


# The largest that one can meet by chance: hundreds of columns, states, classes and rows.
STATES = tuple(f"state number {i}" for i in range(300))
WIDE = {f"column number {j}": np.array(STATES, object)[RNG.integers(0, 300, 600)] for j in range(120)}
MANY = RNG.dirichlet(np.ones(90), 500)


def large_network(n: int = 60) -> Any:
    """Nodes of eight states with two parents each, as many as are drawn."""
    parents = {f"node number {j}": [f"node number {i}" for i in range(max(0, j - 2), j)] for j in range(n)}
    made = BayesianNetwork(parents, states=[f"state {i}" for i in range(8)])
    for name, above in parents.items():
        made.set_cpt(name, RNG.dirichlet(np.ones(8), (8,) * len(above)))
    return made


LARGE: dict[str, Callable[[], Any]] = {
    "schema": lambda: Schema(
        tuple(Variable(name, "categorical", STATES) for name in WIDE), Variable("y", "categorical", STATES)
    ),
    "classifier": lambda: fitted("NaiveBayes", WIDE, np.arange(600) % 90),
    "words": lambda: fitted("MultinomialNB", RNG.integers(0, 2, (90, 5000)), np.arange(90)),
    "factor": lambda: Factor(["a", "b", "c"], [STATES[:40], STATES[:40], STATES], np.ones((40, 40, 300))),
    "network": large_network,
    "Markov network": lambda: MarkovNetwork.of(large_network(55)),
    "decisions": lambda: decide(MANY),
    "posteriors": lambda: bayes_rule(np.full(90, 1 / 90), MANY),
    "intervals": lambda: PosteriorInterval(tuple(range(90)), 0.9, MANY, MANY, MANY, MANY, 10),
    "profiles": lambda: ClassProfiles(
        np.full(90, 1 / 90),
        tuple(Profile(name, "table", STATES, np.ones((90, 300)) / 300) for name in [*WIDE][:5]),
    ),
}


@pytest.mark.parametrize("case", LARGE)
def test_a_page_stays_small_and_says_what_it_left_out(case: str) -> None:
    text = text_of(LARGE[case]())
    assert "more" in text or "Large: " in text


SHOWN = ["NaiveBayes", "TAN", "BayesNetClassifier", "Discretizer", "GaussianMixture", "LatentClass"]


@pytest.mark.parametrize("name", SHOWN)
def test_scikit_learn_decides_whether_a_page_is_shown(name: str) -> None:
    made = getattr(bayeskit, name)()
    page = page_of(made)
    assert made._repr_mimebundle_() == {"text/plain": repr(made), "text/html": page}
    with config_context(display="text"):
        assert not hasattr(made, "_repr_html_")
        assert made._repr_mimebundle_() == {"text/plain": repr(made)}


def test_a_pipeline_keeps_the_diagram_of_scikit_learn() -> None:
    pipeline = make_pipeline(bayeskit.Discretizer(), bayeskit.NaiveBayes()).fit(COUNTS.astype(float), Y)
    assert "NaiveBayes" in page_of(pipeline) and "sk-container" in page_of(pipeline)


def test_a_look_at_a_lazy_model_counts_nothing() -> None:
    model = bayeskit.NaiveBayes().lazy(MIXED, Y)
    assert "Lazy" in text_of(model) and model._lazy.passes == 0
    model.predict({name: column[:1] for name, column in MIXED.items()})
    assert model._lazy.passes > 0


def test_a_model_that_forgot_every_row_is_shown() -> None:
    model = fitted("NaiveBayes", MIXED, Y).forget(MIXED, Y)
    assert "0 rows" in text_of(model)
