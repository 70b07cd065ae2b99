"""Sections of the report: classes, arcs between attributes, decisions under three losses, profiles of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit._display_table import DisplayTable, Shade, table_html
from bayeskit._graphs.dag import Dag
from bayeskit._markup import Html, filled, join, tag, text
from bayeskit._report.comparison_report.class_figures import class_figures, thresholds
from bayeskit._report.comparison_report.comparison import Comparison, Measure
from bayeskit._report.comparison_report.verdict import percent
from bayeskit._report.comparison_report.words_and_style import GLOSSARY, WORDS
from bayeskit._report.drawing.graph_layout import lay_out
from bayeskit._report.drawing.network_scene import MARGIN, Card, _arrow
from bayeskit._report.information_table import InformationTable
from bayeskit._report.scene import Group, Scene
from bayeskit._schema import Name
from bayeskit.typing import Floats

# The most frequent classes have their own row, the others share one.
MOST_CLASSES = 12
# The darkest shade of a cell on which its number is readable.
DARKEST = 0.55


class Footnotes:
    """The footnotes of one page.

    Examples
    --------
    >>> notes = Footnotes("en")
    >>> _, again = notes.mark("brier"), notes.mark("brier")
    >>> again
    '<sup><a href="#word-brier">1</a></sup>'
    """

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.used: list[str] = []

    def mark(self, key: str) -> Html:
        """Return the number that links to a footnote."""
        if key not in self.used:
            self.used.append(key)
        number = tag("a", self.used.index(key) + 1, attributes=f'href="#word-{key}"')
        return tag("sup", number)

    def listed(self) -> Html:
        """Return all words that were used."""
        glossary = GLOSSARY.of(self.lang)
        items = (tag("li", glossary[key], attributes=f'id="word-{key}"') for key in self.used)
        return tag("ol", *items, cls="words")


def numbers_table(headers: Sequence[object], rows: Iterable[Sequence[object]], right: int) -> Html:
    """Return a table that scrolls if it is too wide. The columns from ``right`` on contain numbers."""
    made = DisplayTable(
        "", tuple(map(text, headers)), tuple(tuple(map(text, row)) for row in rows), names=0, right=right
    )
    return tag("div", table_html(made, number_class="n"), cls="wide")


def meter(share: float, title: str) -> Html:
    """Return a bar from 0 to 1 whose number is shown on hover."""
    return tag("span", tag("span", attributes=f'style="width:{100 * share:.1f}%"'), cls="meter", title=title)


def confusion_matrix(truth: NDArray[np.intp], said: NDArray[np.intp], n: int) -> NDArray[np.int64]:
    """Count the rows by true class (down) and predicted class (across).

    >>> confusion_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    return np.bincount(truth * n + said, minlength=n * n).reshape(n, n)


def confusion_html(found: Comparison) -> Html:
    """Return the section under its heading."""
    words, held = WORDS.of(found.lang), found.held
    n = len(found.classes)
    counts = confusion_matrix(held.truth, held.posterior.argmax(axis=1), n)
    labels = [str(label) for label in found.classes]
    if n > MOST_CLASSES:
        order = np.argsort(-counts.sum(axis=1), kind="stable")[: MOST_CLASSES - 1]
        group = np.full(n, len(order))
        group[order] = np.arange(len(order))
        folded = np.zeros((len(order) + 1, len(order) + 1), dtype=np.int64)
        np.add.at(folded, (group[:, None], group[None, :]), counts)
        # Confusions among the rare classes are errors, although they are on the diagonal.
        counts, labels = folded, [*(labels[k] for k in order), words["others"]]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows, shades = [], []
    for i, label in enumerate(labels):
        rows.append((label, *map(_count_and_share, counts[i].tolist(), shares[i].tolist())))
        shades.append(tuple(Shade("hit" if i == j else "miss", DARKEST * p) for j, p in enumerate(shares[i])))
    corner = f"{words['truth']} \\ {words['said']}"
    made = DisplayTable("", (corner, *labels), tuple(rows), shades=tuple(shades))
    text = tag("p", filled(words["confusion_text"], pick=found.picked.name), cls="faint")
    return join([text, tag("div", table_html(made), cls="wide")])


def _count_and_share(count: int, share: float) -> Html:
    return join([f"{count:,} ", tag("small", f"{share:.0%}") if count else ""])


def by_class_html(found: Comparison, notes: Footnotes) -> Html:
    """Return recall, precision and F1 of each class, with their intervals."""
    words = WORDS.of(found.lang)
    rows = []
    for each in class_figures(found.classes, found.held):
        f1 = "–" if each.f1 is None else f"{each.f1:.1%}"
        recall = _with_interval(each.recall, each.recall_interval)
        precision = _with_interval(each.precision, each.precision_interval)
        rows.append((str(each.label), f"{each.rows:,}", f"{each.said:,}", recall, precision, f1))
    headers: list[object] = [words["class"], words["test_rows"], words["taken"]]
    headers += [filled(words[key], fn=notes.mark(key)) for key in ("recall", "precision", "f1")]
    about = tag("p", filled(words["by_class_text"], pick=found.picked.name), cls="faint")
    return join([about, numbers_table(headers, rows, 1)])


def _with_interval(share: float | None, interval: tuple[float, float] | None) -> Html:
    if share is None or interval is None:
        return text("–")
    return join([f"{share:.1%} ", tag("small", f"{interval[0]:.0%}–{interval[1]:.0%}", cls="below")])


def thresholds_html(found: Comparison, k: int) -> Html:
    """Return from which posterior on a class should be said, by what it costs to miss it."""
    words = WORDS.of(found.lang)
    rows = []
    for each in thresholds(found, k):
        precision = "–" if each.precision is None else f"{each.precision:.1%}"
        cells = [
            f"{each.ratio} : 1",
            f"{each.posterior:.3f}",
            f"{each.said:.1%}",
            f"{each.recall:.1%}",
            precision,
        ]
        rows.append([*cells, *(f"{cost:.3g}" for cost in (each.cost, each.half, each.fixed))])
    keys = (
        "ratio",
        "from_p",
        "taken_share",
        "found_share",
        "right_share",
        "mean_cost",
        "half_cost",
        "fixed_cost",
    )
    about = tag("p", filled(words["thresholds_text"], label=found.classes[k]), cls="faint")
    return join([about, numbers_table([words[key] for key in keys], rows, 1)])


# A larger graph cannot be read; the most informative attributes are drawn.
MOST_NODES = 30


def structure_scene(
    parents: Mapping[Name, Sequence[Name]], telling: Sequence[Name], title: str
) -> tuple[Scene, int]:
    """Draw a graph.

    Parameters
    ----------
    parents : of each attribute
    telling : attributes, the most informative first
    title : the alternative text of the picture

    Returns
    -------
    (scene, n) : the picture, and the number of attributes in it
    """
    names = list(parents)
    if len(names) > MOST_NODES:
        place = {name: k for k, name in enumerate(telling)}
        chosen = set(sorted(names, key=lambda name: place.get(name, len(place)))[:MOST_NODES])
        names = [name for name in names if name in chosen]
    inside = set(names)
    dag = Dag.of({name: [p for p in parents[name] if p in inside] for name in names}, names)
    cards = [Card(str(name)) for name in dag.nodes]
    layout = lay_out(dag, [card.size for card in cards])
    arcs = [
        Group(f"{a} → {b}", _arrow(route, "down"))
        for (a, b), route in zip(dag.arcs, layout.routes, strict=True)
    ]
    boxes = [card.draw(MARGIN + box.x, MARGIN + box.y) for card, box in zip(cards, layout.boxes, strict=True)]
    description = ", ".join(group.title for group in arcs[:60])
    size = (layout.width + 2 * MARGIN, layout.height + 2 * MARGIN)
    return Scene(*size, title, description, (*arcs, *boxes)), len(names)


# The cost of rejecting a row, and the factor for the cost of missing the rarest class.
REJECT, DEARER = 0.2, 5.0
# The maximum number of actions to list.
MOST_ACTIONS = 4


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result for one loss: the share of rows of each action, and the mean costs.

    Attributes
    ----------
    fixed : the cost of the best action that is the same for all rows
    likely : the cost of predicting the most probable class; None if the actions are not the classes
    """

    loss: str
    actions: tuple[tuple[str, float], ...]
    cost: float
    fixed: float
    likely: float | None


def outcomes(found: Comparison, loss_path: str | None = None) -> tuple[Outcome, ...]:
    """Decide every test row under each loss."""
    words, k = WORDS.of(found.lang), len(found.classes)
    labels = [str(label) for label in found.classes]
    zero_one = 1.0 - np.eye(k)
    with_reject = np.vstack([zero_one, np.full(k, REJECT)])
    if found.losses is not None:
        costs = np.array([[row[c] for c in found.classes] for row in found.losses.values()])
        actions = [str(action) for action in found.losses]
        second = (words["loss_given"].format(path=loss_path or "loss="), actions, costs)
    else:
        rare = int(np.argmin(found.class_counts))
        costs = zero_one.copy()
        costs[:, rare] *= DEARER
        second = (words["loss_rare"].format(label=labels[rare]), labels, costs)
    three = (
        (words["loss_01"], labels, zero_one),
        second,
        (words["loss_reject"], [*labels, words["reject"]], with_reject),
    )
    return tuple(_outcome(found, *each) for each in three)


def _outcome(found: Comparison, loss: str, actions: list[str], costs: Floats) -> Outcome:
    posterior, truth = found.held.posterior, found.held.truth
    taken = (posterior @ costs.T).argmin(axis=1)
    shares = np.bincount(taken, minlength=len(actions)) / len(truth)
    order = np.argsort(-shares, kind="stable")
    listed = tuple((actions[a], float(shares[a])) for a in order if shares[a] > 0)
    labels = [str(label) for label in found.classes]
    likely = None
    if actions[: len(labels)] == labels:
        likely = float(costs[posterior.argmax(axis=1), truth].mean())
    fixed = float(costs[:, truth].mean(axis=1).min())
    return Outcome(loss, listed, float(costs[taken, truth].mean()), fixed, likely)


def decisions_html(found: Comparison, risk: Html, loss_path: str | None = None) -> Html:
    """Return the section under its heading."""
    words = WORDS.of(found.lang)
    rows = []
    for each in outcomes(found, loss_path):
        shown = [f"{action} {share:.1%}" for action, share in each.actions[:MOST_ACTIONS]]
        more = ["…"] if len(each.actions) > MOST_ACTIONS else []
        likely = "–" if each.likely is None else f"{each.likely:.3g}"
        rows.append(
            (
                each.loss,
                words["separator"].join(shown + more),
                f"{each.cost:.3g}",
                likely,
                f"{each.fixed:.3g}",
            )
        )
    headers = [words[key] for key in ("loss", "done", "mean_cost", "likely_cost", "fixed_cost")]
    text = tag("p", filled(words["decisions_text"], fn=risk), cls="faint")
    return join([text, numbers_table(headers, rows, 2)])


# The classes whose distributions are drawn, the most frequent ones; pairs of columns that are listed, and how close
# they are at least.
MOST_PROFILED, MOST_RELATIONS, CLOSE = 4, 12, 0.1


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """One column.

    Attributes
    ----------
    name : str
    distinct : int
        The number of different values in the rows looked at.
    missing, rows : int
        Of the rows looked at.
    labels : tuple of str or None
        The values or intervals; None stands for all rarer values.
    shares : array of shape (classes, values)
        How often each occurs in a class.
    middle : (least, median, greatest) or None
    importance : Measure or None
        How much the log-loss of the chosen model grows if the column is shuffled; None if that was not tried.
    """

    name: str
    distinct: int
    missing: int
    rows: int
    labels: tuple[str | None, ...]
    shares: Floats
    middle: tuple[float, ...] | None
    importance: Measure | None


@dataclass(frozen=True)
class Relation:
    """What two columns tell about each other: I(X; Y) / min(H(X), H(Y)), less what chance would make it."""

    first: str
    second: str
    share: float


def importance_html(
    found: Comparison, information: InformationTable, profiles: Sequence[ColumnProfile], most: int
) -> Html:
    """Return the columns that the chosen model depends on most, beside what each tells by itself."""
    words = WORDS.of(found.lang)
    told = {str(row.name): row for row in information.rows}
    known = [each for each in profiles if each.importance is not None]
    known.sort(key=lambda each: -_value(each))
    top = max((_value(each) for each in known), default=0.0) or 1.0
    most_told = max((row.information for row in information.rows), default=0.0) or 1.0
    lines = []
    for each in known[:most]:
        row, owed = told.get(each.name), each.importance
        spread = "" if owed is None or owed.deviation is None else f" ± {owed.deviation:.4f}"
        cells: list[object] = [each.name, meter(max(_value(each), 0.0) / top, f"{_value(each):.6f}")]
        cells += [f"{_value(each):.4f}{spread}".replace("-", "−")]
        if row is not None:
            cells += [meter(row.information / most_told, f"{row.information:.6f}"), f"{row.share:.1%}"]
        lines.append(cells)
    headers = [words[key] for key in ("attribute", "importance_of", "adds", "information", "of_all")]
    return numbers_table(headers, lines, 2)


def _value(profile: ColumnProfile) -> float:
    # Rounded to what is shown, so that nothing is "-0.0000".
    return 0.0 if profile.importance is None else round(profile.importance.value, 4) + 0.0


def profiles_html(found: Comparison, profiles: Sequence[ColumnProfile]) -> Html:
    """Return a table of all columns: their distributions by class, distinct and missing values."""
    words = WORDS.of(found.lang)
    order = np.argsort(-np.array(found.class_counts), kind="stable")[:MOST_PROFILED].tolist()
    headers = [words[key] for key in ("column", "values_by_class", "distinct", "missing", "typical")]
    lines = []
    for each in profiles:
        missing = f"{each.missing:,} ({percent(each.missing / each.rows)})" if each.missing else "0"
        if each.middle is not None:
            typical = " … ".join(f"{value:.4g}" for value in each.middle)
        else:
            typical = words["separator"].join(label for label in each.labels[:3] if label is not None)
        lines.append((each.name, _bars(found, each, sorted(order)), f"{each.distinct:,}", missing, typical))
    key = [
        tag("span", tag("span", cls=f"c{i}"), str(found.classes[k]), cls="key")
        for i, k in enumerate(sorted(order))
    ]
    return join([tag("p", *key, cls="keys"), numbers_table(headers, lines, 2)])


def _bars(found: Comparison, profile: ColumnProfile, classes: Sequence[int]) -> Html:
    words, top = WORDS.of(found.lang), max(float(profile.shares[classes].max(initial=0.0)), 1e-9)
    groups = []
    for j, label in enumerate(profile.labels):
        shown = words["others_short"] if label is None else label
        said = words.pairs((found.classes[k], f"{profile.shares[k, j]:.1%}") for k in classes)
        bars = [
            tag("span", cls=f"c{i}", attributes=f'style="height:{100 * profile.shares[k, j] / top:.0f}%"')
            for i, k in enumerate(classes)
        ]
        groups.append(tag("span", *bars, title=words.join((shown, said), ": ")))
    return tag("span", *groups, cls="spark")


def relations_html(found: Comparison, relations: Sequence[Relation]) -> Html:
    """Return the pairs of columns that tell most about each other."""
    words = WORDS.of(found.lang)
    close = [each for each in relations if each.share >= CLOSE][:MOST_RELATIONS]
    if not close:
        return tag("p", words["no_relations"], cls="faint")
    lines = [
        (each.first, each.second, meter(each.share, f"{each.share:.3f}"), f"{each.share:.0%}")
        for each in close
    ]
    headers = [words["column"], words["column"], "", words["relation"]]
    return join([tag("p", words["relations_text"], cls="faint"), numbers_table(headers, lines, 3)])
