"""Checks of the textbook pages: printed numbers, exact fractions and the library against each other.

The library computes them without scikit-learn.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from bayeskit._report.textbook.lesson import Lesson, bundled, melons, shown
from bayeskit._report.textbook.sheet import Sheet
from bayeskit.errors import SuspectResult

if TYPE_CHECKING:
    from bayeskit._fitting.fitted_state import FittedState
    from bayeskit._fitting.model import ModelForm, ModelSpec
    from bayeskit._schema import Schema
    from bayeskit.priors import SmoothingLike

# The rounding error of a few products and one exponential in double precision.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Check:
    """The result of comparing one page."""

    page: str
    compared: int
    largest: float
    differing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        content = {"page": self.page, "numbers": self.compared, "largest_difference": self.largest}
        return content | {"differing": list(self.differing)}


def check(sheet: Sheet, lesson: Lesson | None = None) -> Check:
    """Compare a page with what the library computes, where it is of another table than its own, on that.

    Examples
    --------
    >>> from bayeskit._report.textbook.fraction_pages import spam_page
    >>> check(spam_page("en")).compared, check(spam_page("en")).differing
    (4, ())
    """
    return compared(sheet, LIBRARY[sheet.name](*([lesson] if lesson is not None else [])))


def compared(sheet: Sheet, found: Mapping[str, float]) -> Check:
    """Compare a page with other numbers of the same names. A number without a counterpart is a difference."""
    differing, largest = [], 0.0
    for result in sheet.results:
        if result.as_printed != result.printed:
            differing.append(f"{result.name} is {result.as_printed} by fractions, {result.printed} in print")
        if result.name not in found:
            differing.append(f"{result.name} is not computed by the library")
            continue
        exact, by_library = float(result.exact), found[result.name]
        # What is 0 is compared as it is.
        difference = abs(by_library - exact) / (abs(exact) if abs(exact) > 1e-35 else 1.0)
        largest = max(largest, difference)
        if not difference <= TOLERANCE:  # NaN differs, too
            differing.append(f"{result.name} is {exact!r} by fractions, {by_library!r} by the library")
    names = {result.name for result in sheet.results}
    differing += [f"{name} is not on the page" for name in found if name not in names]
    return Check(sheet.name, len(sheet.results), largest, tuple(differing))


Numbers = dict[str, float]


def spam() -> Numbers:
    """Bayes' rule."""
    from bayeskit._decision.posterior import bayes_rule

    prior = {"spam": 0.7, "ham": 0.3}
    found: Numbers = {}
    for about, spam, ham in (("word", 0.9, 0.01), ("no word", 0.1, 0.99)):
        answer = bayes_rule(prior, {"spam": spam, "ham": ham})
        found |= {f"P({about})": float(answer.evidence), f"P(spam | {about})": float(answer["spam"])}
    return found


def melon8() -> Numbers:
    """Naive Bayes on eight melons."""
    clear = {"色泽": "青绿", "纹理": "清晰", "密度": 0.6}
    states: dict[Any, Any] = {"纹理": ["清晰", "稍糊", "模糊"]}
    found: Numbers = {}
    for about, row, alpha, unbiased in (
        ("clear, n − 1", clear, 0, True),
        ("clear, n", clear, 0, False),
        ("blurred, Laplace", {**clear, "纹理": "稍糊"}, 1, True),
    ):
        joint = naive_bayes("melon8", row, alpha, unbiased, states=states)
        share = joint["否"] / sum(joint.values())
        found |= {f"{about}: {c}": joint[c] for c in ("是", "否")} | {f"{about}: P(否 | x)": share}
    return found


def melon3() -> Numbers:
    """Naive Bayes on seventeen melons."""
    names = ("色泽", "根蒂", "敲声", "纹理", "脐部", "触感", "密度", "含糖率")
    row = dict(zip(names, ("青绿", "蜷缩", "浊响", "清晰", "凹陷", "硬滑", 0.697, 0.46), strict=True))
    found: Numbers = {}
    for alpha in (0, 1):
        for divisor, unbiased in (("n − 1", True), ("n", False)):
            joint, about = naive_bayes("melon3", row, alpha, unbiased), f"α = {alpha}, {divisor}"
            found |= {f"{about}: {c}": joint[c] for c in ("是", "否")}
            found[f"{about}: P(是 | x)"] = joint["是"] / sum(joint.values())
    crisp = naive_bayes("melon3", {**row, "敲声": "清脆"}, 1, False)
    return found | {"清脆: α = 1, n: P(是 | x)": crisp["是"] / sum(crisp.values())}


def lihang() -> Numbers:
    """Naive Bayes on fifteen rows, whose numbers are names."""
    found: Numbers = {}
    for alpha in (0, 1):
        joint = naive_bayes("lihang", {"x1": 2, "x2": "S"}, alpha, False, categorical="all")
        found |= {f"α = {alpha}: y = 1": joint[1], f"α = {alpha}: y = −1": joint[-1]}
        found[f"α = {alpha}: P(y = −1 | x)"] = joint[-1] / sum(joint.values())
    return found


def grass() -> Numbers:
    """Queries to the network of the wet lawn."""
    from bayeskit._networks.examples import wet_grass

    network = wet_grass()
    wet: dict[Any, Any] = {"wet": "yes"}
    both: dict[Any, Any] = {**wet, "joe": "yes"}
    found = {f"P({about})": math.exp(network.log_probability(seen)) for about, seen in _evidence(wet, both)}
    for about, seen in _evidence(wet, both):
        for letter, node in (("R", "rain"), ("S", "sprinkler")):
            found[f"P({letter}=1 | {about})"] = network.query(node, evidence=seen)["yes"]
    return found | {"P(S=1 | J=1)": network.query("sprinkler", evidence={"joe": "yes"})["yes"]}


def structures() -> Numbers:
    """Queries to three networks of three nodes, and one of four."""
    found: Numbers = {}
    for name, network in _basic().items():
        for about, given, seen in (("", "", {}), (" | c", " | c", {"c": 1})):
            a, b = (network.query(node, evidence=seen)[1] for node in "ab")
            found[f"{name}: P(a, b{about})"] = network.query(["a", "b"], evidence=seen)[1, 1]
            found[f"{name}: P(a{given}) P(b{given})"] = a * b
    for about, seen in (
        ("c", {"c": 1}),
        ("c, b", {"c": 1, "b": 1}),
        ("d", {"d": 1}),
        ("d, b", {"d": 1, "b": 1}),
    ):
        found[f"collider: P(a | {about})"] = _basic()["collider"].query("a", evidence=seen)[1]
    return found


def em() -> Numbers:
    """EM of a network of two nodes until nothing changes, from two starts."""
    from bayeskit._networks.bayesian_network import BayesianNetwork

    throws = {"throw": [1, 1, 0, 1, 0, 0, 1, 0, 1, 1]}
    found: Numbers = {}
    for start in ((0.4, 0.6, 0.7), (0.5, 0.5, 0.5)):
        pi, p, q = start
        coins = BayesianNetwork({"coin": [], "throw": ["coin"]}, states={"coin": ["B", "C"], "throw": [0, 1]})
        coins.set_cpt("coin", [pi, 1 - pi])
        coins.set_cpt("throw", [[1 - p, p], [1 - q, q]])
        with warnings.catch_warnings():
            # The page shows that the second start never separates the coins.
            warnings.simplefilter("ignore", SuspectResult)
            made = coins.fit(throws, method="em", smoothing="mle", start=coins.copy())
        cells = made.cpt("coin")["B"], made.cpt("throw")["B", 1], made.cpt("throw")["C", 1]
        found |= {f"{start}: {letter}": float(cell) for letter, cell in zip("πpq", cells, strict=True)}
    return found


def nb(lesson: Lesson | None = None) -> Numbers:
    """Naive Bayes on any table."""
    lesson = lesson or melons()
    return _joints("α = 0", joint_of(lesson, 0))


def laplace(lesson: Lesson | None = None) -> Numbers:
    """The same with Laplace's correction."""
    lesson = lesson or melons(敲声="清脆")
    before = {f"α = 0: {c}": p for c, p in joint_of(lesson, 0).items()}
    return before | _joints("α = 1", joint_of(lesson, 1))


def risk(lesson: Lesson | None = None) -> Numbers:
    """Conditional risks of a posterior."""
    from bayeskit._decision.choice import conditional_risk
    from bayeskit._report.textbook.table_pages import DEAR, DOUBTFUL, losses_of

    lesson = lesson or bundled("melon2", DOUBTFUL)
    joint = joint_of(lesson, 1)
    posterior = {c: p / sum(joint.values()) for c, p in joint.items()}
    found = {f"α = 1: P({c} | x)": p for c, p in posterior.items()}
    classes = tuple(posterior)
    for name, dear in (("0/1", None), (str(DEAR), max(posterior, key=lambda c: posterior[c]))):
        loss = {
            a: {c: float(cost) for c, cost in costs.items()} for a, costs in losses_of(classes, dear).items()
        }
        risks = conditional_risk(posterior, loss)
        found |= {f"{name}: R({c} | x)": float(r) for c, r in zip(classes, risks, strict=True)}
    return found


def mle(lesson: Lesson | None = None) -> Numbers:
    """Tables and moments without smoothing, and the log-likelihood that they give the rows."""
    lesson = lesson or bundled("melon3", {"色泽": "青绿", "密度": 0.697}, 1)
    c = shown(lesson.y[lesson.row - 1] if lesson.row is not None else lesson.classes[0])
    categorical = [name for name in lesson.columns if name not in lesson.numeric]
    one = {name: lesson.columns[name] for name in (*categorical[:1], *lesson.numeric[:1])}
    y = [shown(label) for label in lesson.y]
    state = _fitted(one, y, lesson, _spec(0))
    model = state.model()
    prior = dict(zip(model.schema.target.states, map(math.exp, model.log_prior), strict=True))
    other = 1.0 - prior[c]
    rows = y.count(c) * math.log(prior[c]) + (len(y) - y.count(c)) * (math.log(other) if other else 0.0)
    found: Numbers = {"θ": prior[c], "Bernoulli: ln L": rows}
    for name in categorical[:1]:
        states = lesson.states(name)
        shares = {v: _given(state, one, {name: v}, c) for v in states}
        found |= {f"{name} = {shown(v)}": math.exp(log) for v, log in shares.items()}
        found["categories: ln L"] = math.fsum(
            shares[v] for v in lesson.of_class(name, lesson_label(lesson, c))
        )
    for name in lesson.numeric[:1]:
        moments: Any = state.statistics.parts["moments"]
        k = model.schema.target.states.index(c)
        high, low = moments.mean()
        found["μ"], found["σ²"] = float((high + low)[k, 0]), float(moments.variance()[k, 0])
        cells = lesson.of_class(name, lesson_label(lesson, c))
        found["normal: ln L"] = math.fsum(_given(state, one, {name: x}, c) for x in cells)
    return found


def lesson_label(lesson: Lesson, label: str) -> Any:
    """Return the class of a lesson by its text."""
    return next(c for c in lesson.classes if shown(c) == label)


def _given(state: FittedState, columns: Mapping[str, Any], cells: Mapping[str, Any], label: str) -> float:
    """log P(cells | class), the other columns missing."""
    from bayeskit._data.table import open_table

    row = {name: _array([cells.get(name)], column) for name, column in columns.items()}
    log, model = state.joint(open_table(row))
    k = model.schema.target.states.index(label)
    return float(log[0, k] - model.log_prior[k])


def spode(lesson: Lesson | None = None) -> Numbers:
    """One super-parent: mutual information of counts, and a star."""
    from bayeskit._fitting.averaging import star
    from bayeskit._fitting.with_parents import OneDependence

    lesson = lesson or melons()
    told = {name: _information([lesson.columns[name], lesson.y]) for name in lesson.query}
    parent = max(told, key=lambda name: told[name])
    joint = joint_of(lesson, 1, lambda schema: OneDependence(star(schema, parent)))
    return {f"I({name}; y)": value for name, value in told.items()} | _joints("α = 1", joint)


def tan(lesson: Lesson | None = None) -> Numbers:
    """The library's tree, and mutual information of counts."""
    from bayeskit._fitting.with_parents import Tree

    lesson = lesson or melons()
    pairs = combinations(lesson.query, 2)
    found = {
        f"I({i}; {j} | y)": _information([lesson.columns[i], lesson.columns[j], lesson.y]) for i, j in pairs
    }
    return found | _joints("α = 1", joint_of(lesson, 1, lambda schema: Tree()))


def aode(lesson: Lesson | None = None) -> Numbers:
    """The library's average."""
    from bayeskit._fitting.averaging import Averaging

    return _joints("α = 1", joint_of(lesson or melons(), 1, lambda schema: Averaging()))


def _information(columns: list[Any]) -> float:
    """I of the first two, given the third where there is one, over the rows that have all."""
    import numpy as np

    from bayeskit._statistics.information import conditional_mutual_information, mutual_information

    rows = [cells for cells in zip(*columns, strict=True) if None not in cells]
    states = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
    counts = np.zeros([len(s) for s in states])
    for cells in rows:
        counts[tuple(s.index(cell) for s, cell in zip(states, cells, strict=True))] += 1
    return float(mutual_information(counts) if len(columns) == 2 else conditional_mutual_information(counts))


def _joints(about: str, joint: Mapping[str, float]) -> Numbers:
    total = sum(joint.values())
    shares = {c: p / total if total else 1.0 / len(joint) for c, p in joint.items()}
    return {f"{about}: {c}": p for c, p in joint.items()} | {
        f"{about}: P({c} | x)": p for c, p in shares.items()
    }


def joint_of(lesson: Lesson, alpha: int, form: Callable[[Any], Any] | None = None) -> dict[str, float]:
    """Return P(c, x) of the row of a lesson, by the path that every classifier takes.

    Examples
    --------
    >>> {label: round(p, 6) for label, p in joint_of(melons(), 0).items()}
    {'是': 0.033928, '否': 0.000861}
    """
    from bayeskit._data.table import open_table

    columns = {name: lesson.columns[name] for name in lesson.query}
    state = _fitted(columns, [shown(c) for c in lesson.y], lesson, _spec(alpha), form)
    row = {name: _array([lesson.query[name]], column) for name, column in columns.items()}
    log, model = state.joint(open_table(row))
    found = dict(zip(model.schema.target.states, map(math.exp, log[0].tolist()), strict=True))
    return {shown(c): found[shown(c)] for c in lesson.classes}


def _spec(alpha: SmoothingLike) -> ModelSpec:
    from bayeskit._fitting.model import ModelSpec
    from bayeskit.priors import as_smoothing

    smoothing = as_smoothing(alpha)
    return ModelSpec(smoothing=smoothing, class_smoothing=smoothing.default)


def _fitted(
    columns: Mapping[str, Any],
    y: list[str],
    lesson: Lesson,
    spec: ModelSpec,
    form: Callable[[Schema], ModelForm] | None = None,
) -> FittedState:
    import numpy as np

    from bayeskit._data.source import Source

    state = _state(lesson, spec, form)
    state.absorb(
        Source({name: _array(column, column) for name, column in columns.items()}, np.array(y, object))
    )
    return state


def _state(lesson: Lesson, spec: ModelSpec, form: Callable[[Schema], ModelForm] | None = None) -> FittedState:
    from dataclasses import replace

    from bayeskit._data.reading import Reading
    from bayeskit._fitting.fitted_state import FittedState
    from bayeskit._schema import Variable

    def specified(schema: Schema) -> ModelSpec:
        return replace(spec, form=form(schema)) if form else spec

    target = Variable(lesson.target, "categorical")
    return FittedState(Reading("from_dtype", {}), specified, who=lesson.target, target=target, warns=False)


def _array(cells: Sequence[Any], column: Sequence[Any]) -> Any:
    """Cells as the library reads them: measured numbers, or names."""
    import numpy as np

    if any(isinstance(cell, Fraction) for cell in column):
        return np.array([math.nan if cell is None else float(cell) for cell in cells])
    return np.array([None if cell is None else shown(cell) for cell in cells], object)


def bayes_estimate() -> Numbers:
    """Tables under Dirichlet priors: their means, and their modes."""
    from bayeskit.priors import MAP, MLE, Dirichlet

    found = {"MLE": _heads(MLE())}
    for a in (1, 2, 10):
        found |= {f"a = {a}: MAP": _heads(MAP(Dirichlet(a))), f"a = {a}: mean": _heads(Dirichlet(a))}
    return found


def _heads(prior: SmoothingLike) -> float:
    from bayeskit._report.textbook.estimate_pages import HEADS, TOSSES

    tosses = {"side": ["heads"] * HEADS + ["tails"] * (TOSSES - HEADS)}
    lesson = Lesson(tosses, ["coin"] * TOSSES, "coin", {"side": "heads"}, None, "")
    state = _fitted(tosses, ["coin"] * TOSSES, lesson, _spec(prior))
    return math.exp(_given(state, tosses, {"side": "heads"}, "coin"))


def multinomial() -> Numbers:
    """Counts of words."""
    return _joints("x", _words("multinomial"))


def bernoulli() -> Numbers:
    """Words that occur, and words that do not."""
    return _joints("x", _words("bernoulli"))


def _words(family: str, **settings: Any) -> dict[str, float]:
    from bayeskit._report.textbook.estimate_pages import ASKED, TEXTS, vocabulary

    most = 1 if family == "bernoulli" else math.inf  # whether, or how often
    rows = [
        [min(text.split().count(w), most) for w in vocabulary()]
        for text in (*(text for _, text in TEXTS), ASKED)
    ]
    log = _block(rows[:-1], [c for c, _ in TEXTS], rows[-1], block_family=family, **settings)
    return {c: math.exp(log[c]) for c in ("spam", "ham")}


def _block(
    rows: Sequence[Sequence[float]], y: list[str], row: Sequence[float], block: bool = True, **settings: Any
) -> dict[str, float]:
    """Return log P(c, x) of a row of numbers; the class is not smoothed."""
    import numpy as np

    from bayeskit._data.reading import Reading
    from bayeskit._data.source import Source
    from bayeskit._data.table import open_table
    from bayeskit._fitting.fitted_state import FittedState
    from bayeskit._fitting.model import ModelSpec
    from bayeskit._schema import Variable
    from bayeskit.priors import Lidstone

    spec = ModelSpec(class_smoothing=Lidstone(0.0), **settings)
    reading = Reading(block=True) if block else Reading()
    state = FittedState(
        reading, lambda schema: spec, who="y", target=Variable("y", "categorical"), warns=False
    )
    state.absorb(Source(np.array(rows, float), np.array(y, object)))
    log, model = state.joint(open_table(np.array([row], float)))
    return dict(zip(map(str, model.schema.target.states), log[0].tolist(), strict=True))


def gaussian2() -> Numbers:
    """A covariance for each class."""
    return _joints("x", {c: math.exp(log) for c, log in _covariance(False).items()})


def lda() -> Numbers:
    """One covariance for both classes."""
    log = _covariance(True)
    return {"ln odds": log["A"] - log["B"]} | _joints("x", {c: math.exp(value) for c, value in log.items()})


def _covariance(shared: bool) -> dict[str, float]:
    from bayeskit._conditionals.covariance_rule import CovarianceRule
    from bayeskit._report.textbook.estimate_pages import NEW, POINTS

    rule = CovarianceRule(
        shared=shared,
        unbiased=False,
        shrinkage=0.0,
        ridge=(0.0, 0.0),
        mean_rows=0.0,
        covariance_rows=0.0,
        student=False,
    )
    rows = [point for points in POINTS.values() for point in points]
    y = [c for c, points in POINTS.items() for _ in points]
    return _block(rows, y, [float(x) for x in NEW], block=False, covariance=rule)


def bic() -> Numbers:
    """Networks fitted by maximum likelihood, their log-likelihood, and the penalty of a parameter."""
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._report.textbook.estimate_pages import PAIRS
    from bayeskit._structure.search_protocol import Score

    data = {"a": [a for a, _ in PAIRS], "b": [b for _, b in PAIRS]}
    found: Numbers = {}
    for name, parents in (("a, b", []), ("a → b", ["a"])):
        network = BayesianNetwork({"a": [], "b": parents}, states=[0, 1]).fit(data, smoothing="mle")
        penalty = Score("bic").penalty(len(PAIRS)) * network.n_parameters
        found[name] = network.log_likelihood(data) - penalty
    return found


def underflow() -> Numbers:
    """Four hundred copies of one word."""
    from bayeskit._report.textbook.estimate_pages import FACTORS

    log = _block([[4, 36], [4, 32]], ["A", "B"], [FACTORS, 0], block_alpha=0.0)
    found = {f"ln P({c}, x)": log[c] for c in ("A", "B")}
    odds = math.exp(log["A"] - log["B"])
    return found | {"P(A | x)": odds / (1.0 + odds)}


def melonnet() -> Numbers:
    """Queries to the melon network of the library."""
    from bayeskit._report.textbook.network_pages import MELON_ASKED

    found = {
        "P(x1, …, x5)": math.exp(
            _melon().log_probability(_named(dict.fromkeys(("x1", "x2", "x3", "x4", "x5"), 1)))
        )
    }
    return found | {_asked(a, b): _melon_query(a, b) for a, b in MELON_ASKED}


def gibbs() -> Numbers:
    """Each draw's distribution given all others, by exact inference."""
    from bayeskit._report.textbook.network_pages import SEEN, sweeps

    found = {
        f"{i}: P({name}=1 | …)": _melon_query({name: 1}, others)
        for i, (_, name, others, *_) in enumerate(sweeps(), 1)
    }
    return found | {_asked({"x2": 1}, SEEN): _melon_query({"x2": 1}, SEEN)}


def _asked(event: Mapping[str, int], seen: Mapping[str, int]) -> str:
    about = (", ".join(f"{name}={state}" for name, state in each.items()) for each in (event, seen))
    return f"P({' | '.join(about)})"


def _melon() -> Any:
    from bayeskit._networks.examples import melon

    return melon()


def _named(event: Mapping[str, int]) -> dict[Any, Any]:
    """A row of 0 and 1 in the words of the network."""
    words = {
        "x1": ("好瓜", "否", "是"),
        "x2": ("甜度", "低", "高"),
        "x3": ("敲声", "沉闷", "浊响"),
        "x4": ("色泽", "乌黑", "青绿"),
        "x5": ("根蒂", "硬挺", "蜷缩"),
    }
    return {words[name][0]: words[name][1 + state] for name, state in event.items()}


def _melon_query(event: Mapping[str, int], seen: Mapping[str, int]) -> float:
    ((node, state),) = _named(event).items()
    return float(_melon().query(node, evidence=_named(seen))[state])


def seven() -> Numbers:
    """Queries to seven nodes."""
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._report.textbook.network_pages import ALL, SEVEN, SEVEN_ASKED

    network = BayesianNetwork(
        {node: list(parents) for node, (parents, _) in SEVEN.tables.items()}, states=[0, 1]
    )
    for node, (_, numbers) in SEVEN.tables.items():
        network.set_cpt(
            node, [p for number in numbers for p in (1.0 - float(Fraction(number)), float(Fraction(number)))]
        )
    found = {"P(x1, …, x7)": math.exp(network.log_probability(dict(ALL)))}
    for event, seen in SEVEN_ASKED:
        ((node, state),) = event.items()
        found[_asked(event, seen)] = float(network.query(node, evidence=dict(seen))[state])
    return found


def lazy() -> Numbers:
    """Only the columns that are asked for are counted."""
    import numpy as np

    from bayeskit._data.source import Source
    from bayeskit._data.table import open_table
    from bayeskit._fitting.lazy_state import LazyState

    lesson = melons()
    columns = {name: _array(column, ()) for name, column in lesson.columns.items()}
    source = Source(columns, np.array([shown(c) for c in lesson.y], object))
    state = LazyState(source, _state(lesson, _spec(1)), "manual", 1 << 20)
    asked = {"纹理": "清晰", "触感": "硬滑"}
    row = {name: _array([asked.get(name)], ()) for name in columns}
    log, model = state.joint(open_table(row))
    found = dict(zip(model.schema.target.states, map(math.exp, log[0].tolist()), strict=True))
    return _joints("α = 1", {shown(c): found[shown(c)] for c in lesson.classes})


def incremental() -> Numbers:
    """Sixteen rows, then one more added to the same counts."""
    import numpy as np

    from bayeskit._data.source import Source
    from bayeskit._data.table import open_table

    lesson = melons()
    y = [shown(c) for c in lesson.y]
    state = _fitted({name: column[:-1] for name, column in lesson.columns.items()}, y[:-1], lesson, _spec(1))

    def joint() -> dict[str, float]:
        log, model = state.joint(
            open_table({name: _array([value], ()) for name, value in lesson.query.items()})
        )
        found = dict(zip(model.schema.target.states, map(math.exp, log[0].tolist()), strict=True))
        return {shown(c): found[shown(c)] for c in lesson.classes}

    before = {f"before: P({c} | x)": p for c, p in _shares(joint()).items()}
    last = {name: _array(column[-1:], ()) for name, column in lesson.columns.items()}
    state.absorb(Source(last, np.array(y[-1:], object)))
    return _joints("α = 1", joint()) | before


def _shares(joint: Mapping[str, float]) -> dict[str, float]:
    return {c: p / sum(joint.values()) for c, p in joint.items()}


LIBRARY: Mapping[str, Callable[..., Numbers]] = {
    page.__name__.replace("_", "-"): page
    for page in (
        *(spam, melon8, melon3, lihang, grass, structures, em, nb, laplace, risk, mle, spode, tan, aode),
        *(bayes_estimate, bernoulli, multinomial, gaussian2, lda, bic, underflow),
        *(melonnet, seven, lazy, incremental, gibbs),
    )
}


def naive_bayes(
    table: str,
    row: Mapping[str, Any],
    alpha: float,
    unbiased: bool,
    categorical: str = "from_dtype",
    states: Mapping[Any, Any] | None = None,
) -> dict[Any, float]:
    """Return P(c, x) of one row, by the path that every classifier takes.

    Examples
    --------
    >>> found = naive_bayes("lihang", {"x1": 2, "x2": "S"}, 0, False, categorical="all")
    >>> {label: round(p, 6) for label, p in found.items()}
    {-1: 0.066667, 1: 0.022222}
    """
    from bayeskit import datasets
    from bayeskit._data.reading import Reading
    from bayeskit._data.source import Source
    from bayeskit._data.table import open_table
    from bayeskit._fitting.fitted_state import FittedState
    from bayeskit._fitting.model import ModelSpec
    from bayeskit._schema import Variable
    from bayeskit.priors import as_smoothing

    data, smoothing = datasets.load_dataset(table), as_smoothing(alpha)
    spec = ModelSpec(smoothing=smoothing, class_smoothing=smoothing.default, unbiased=unbiased)
    target = Variable(data.target, "categorical")
    fitted = FittedState(
        Reading(categorical, states or {}), lambda schema: spec, who=table, target=target, warns=False
    )
    fitted.absorb(Source({name: data.columns[name] for name in data.attributes}, data.y))
    log, model = fitted.joint(open_table({name: [value] for name, value in row.items()}))
    return {c: math.exp(value) for c, value in zip(model.schema.target.states, log[0].tolist(), strict=True)}


def _evidence(wet: dict[Any, Any], both: dict[Any, Any]) -> tuple[tuple[str, dict[Any, Any]], ...]:
    return ("B=1", wet), ("B=1, J=1", both)


def _basic() -> dict[str, Any]:
    from bayeskit._networks.bayesian_network import BayesianNetwork

    likely, sure = [[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]
    fork = BayesianNetwork({"c": [], "a": ["c"], "b": ["c"]}, states=[0, 1])
    chain = BayesianNetwork({"a": [], "c": ["a"], "b": ["c"]}, states=[0, 1])
    collider = BayesianNetwork({"a": [], "b": [], "c": ["a", "b"], "d": ["c"]}, states=[0, 1])
    child = [[[0.9, 0.1], [0.5, 0.5]], [[0.6, 0.4], [0.1, 0.9]]]
    fork.set_cpt("c", [0.6, 0.4])
    fork.set_cpt("a", likely)
    fork.set_cpt("b", sure)
    chain.set_cpt("a", [0.7, 0.3])
    chain.set_cpt("c", likely)
    chain.set_cpt("b", sure)
    collider.set_cpt("a", [0.7, 0.3])
    collider.set_cpt("b", [0.4, 0.6])
    collider.set_cpt("c", child)
    collider.set_cpt("d", likely)
    return {
        "fork": fork,
        "chain": chain,
        "collider": collider,
    }
