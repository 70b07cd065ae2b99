"""A comparison as a self-contained HTML report, without external scripts, fonts or pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bayeskit._conditionals.density import family_of
from bayeskit._markup import Html, document, filled, join, plain, tag, text
from bayeskit._messages import run_on, text_in
from bayeskit._report.charts.decision_curves import cost_curve
from bayeskit._report.charts.ranking_curves import lift_curve, precision_recall_curve, roc_curve
from bayeskit._report.charts.reliability_chart import reliability, wilson
from bayeskit._report.comparison_report.class_figures import rarest
from bayeskit._report.comparison_report.comparison import Column, Comparison
from bayeskit._report.comparison_report.sections import (
    ColumnProfile,
    Footnotes,
    Relation,
    by_class_html,
    confusion_html,
    decisions_html,
    importance_html,
    meter,
    numbers_table,
    profiles_html,
    relations_html,
    structure_scene,
    thresholds_html,
)
from bayeskit._report.comparison_report.standings import bars_figure, standings_html
from bayeskit._report.comparison_report.verdict import (
    ceiling_text,
    figure,
    rule_text,
    signed,
    simpler_text,
    uncounted_text,
    verdict,
)
from bayeskit._report.comparison_report.words_and_style import SCRIPT, STYLE, WORDS
from bayeskit._report.explanation import Explanation
from bayeskit._report.fractions import share
from bayeskit._report.information_table import InformationTable
from bayeskit._report.page import explanation_html
from bayeskit._report.scene import as_svg
from bayeskit._schema import Label, Name

MOST_ATTRIBUTES = 10
# The number of columns to show at once if there are many.
MOST_COLUMNS = 30
# The widest drawing that half of the page shows whole, in pixels.
HALF_PAGE = 560.0


@dataclass(frozen=True, eq=False)
class ExplainedRow:
    """A row to explain ("surest", "doubtful" or "worst"), with its number, its class and its prediction.

    ``probability`` is that of the predicted class or, for the worst mistake, of the true class. ``rest`` is
    that of all other classes together, which is more precise than 1 − p if p is almost 1.
    """

    kind: str
    number: int
    truth: Label
    said: Label
    probability: float
    rest: float
    explanation: Explanation


@dataclass(frozen=True, eq=False)
class Findings:
    """The content of the report.

    Attributes
    ----------
    information : the information of the attributes about the class; None if all attributes are text
    structure : the parents of each attribute, without the class
    kind : str
        "own": the graph of the recommended model; "network": a graph that includes the class; "tree": the tree of TAN.
    uncut : names of numeric attributes that were not cut, so that no arcs to or from them were searched
    profiles, relations : of each column, and of pairs of columns
    command, versions, next_lines, loss_path : how to reproduce the report, and what to do next
    """

    comparison: Comparison
    information: InformationTable | None
    structure: Mapping[Name, Sequence[Name]]
    kind: str
    uncut: tuple[Name, ...]
    rows: tuple[ExplainedRow, ...]
    command: str
    versions: Mapping[str, str]
    next_lines: tuple[str, ...] = ()
    loss_path: str | None = None
    profiles: tuple[ColumnProfile, ...] = ()
    relations: tuple[Relation, ...] = ()
    words: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", WORDS.of(self.comparison.lang))


def as_page(findings: Findings) -> str:
    """Return the whole page: headline cards, warnings, models and classes first; columns and arithmetic below."""
    c, words = findings.comparison, findings.words
    notes = Footnotes(c.lang)
    title = words["title"].format(target=c.target)
    said = {
        "path": c.table.called(c.lang),
        "rows": f"{c.table.rows:,}",
        "used": c.attributes,
        "classes": len(c.classes),
    }
    parts = [
        tag("h1", title),
        tag("p", filled(words["subtitle"], **said), cls="faint"),
        _cards(c, words),
        tag("div", *(tag("p", each) for each in _verdict(c)), cls="verdict"),
        *([_section(words["warnings"], _warnings(c))] if c.cautions else ()),
        _section(words["compare"], _compared(findings, notes)),
        _grid(
            tag(
                "div",
                tag("section", bars_figure(c)),
                _section(words["confusion"], confusion_html(c)),
                _section(words["by_class"], by_class_html(c, notes)),
            ),
            _section(words["reliability"], _reliability(c)),
        ),
        *_of_rarest(c, words),
        *_of_columns(findings, notes),
        _section(words["read"], _read(findings, notes)),
        *([_section(words["rows"], _rows(findings))] if findings.rows else ()),
        _section(words["decisions"], decisions_html(c, notes.mark("risk"), findings.loss_path)),
        *([_section(words["next"], _next(findings))] if findings.next_lines else ()),
        _section(words["reproduce"], _reproduce(findings)),
        _section(words["glossary"], notes.listed()),
    ]
    return document(title, "\n".join(["", *parts, ""]), STYLE, c.lang, SCRIPT)


def _section(title: object, body: Html) -> Html:
    return tag("section", tag("h2", title), body)


def _grid(*sections: Html) -> Html:
    """Put sections side by side where the page is wide enough."""
    return tag("div", *sections, cls="grid")


def _card(words: Mapping[str, str], name: str, value: object, note: object = "", kind: str = "") -> Html:
    cls = "name" if kind == "name" else ""
    inside = (tag("small", words[name]), tag("b", value, cls=cls), tag("small", note))
    return tag("div", *inside, cls="card warn" if kind == "warn" else "card")


def _cards(c: Comparison, words: Mapping[str, str]) -> Html:
    """Return the figures to read first: the model, its error, what it saves, how much to doubt it."""
    pick, is_share = c.picked, c.picked.cost is None
    low, high = _error_interval(c)
    label, base = c.majority
    made = [_card(words, "card_model", pick.name, words["card_of"].format(n=len(c.standings)), "name")]
    if pick.cost is not None:
        made.append(_card(words, "card_cost", f"{pick.cost.value:.3g}", figure(pick.cost, False)))
    interval = words["interval"].format(low=f"{low:.1%}", high=f"{high:.1%}")
    made.append(_card(words, "card_error", f"{pick.error.value:.1%}", interval))
    if c.lift is not None:
        ends = (signed(each, is_share, c.lang) for each in (c.lift.low, c.lift.high))
        interval = words["interval"].format(**dict(zip(("low", "high"), ends, strict=True)))
        against = words["card_against"].format(label=label, base=f"{base:.1%}") if is_share else ""
        saved = signed(c.lift.value, is_share, c.lang)
        made.append(_card(words, "card_lift", saved, run_on([interval, against], c.lang)))
    kinds = words["separator"].join(dict.fromkeys(words[f"kind_{each.kind}"] for each in c.cautions))
    made.append(_card(words, "warnings", len(c.cautions), kinds, "warn" if c.cautions else ""))
    return tag("div", *made, cls="cards")


def _error_interval(c: Comparison) -> tuple[float, float]:
    low, high = wilson(np.array([c.picked.error.value]), np.array([len(c.held.truth)]))
    return float(low[0]), float(high[0])


def _verdict(c: Comparison) -> tuple[str, ...]:
    return verdict(c), run_on([rule_text(c), simpler_text(c)], c.lang), ceiling_text(c)


def _warnings(c: Comparison) -> Html:
    return tag("ul", *(tag("li", each.text) for each in c.cautions), cls="warnings")


def _of_rarest(c: Comparison, words: Mapping[str, str]) -> tuple[Html, ...]:
    """Return how well the rarest class is found, over all thresholds; nothing if all test rows are of one class."""
    k = rarest(c)
    if k is None:
        return ()
    truth = [c.classes[i] for i in c.held.truth.tolist()]
    given = (truth, c.held.posterior.clip(0.0, 1.0), c.classes)
    made = [
        curve(*given, label=c.classes[k], lang=c.lang).picture().figure()
        for curve in (precision_recall_curve, roc_curve, lift_curve, cost_curve)
    ]
    title = filled(words["finding"], label=c.classes[k])
    return (_section(title, join([_grid(*made), thresholds_html(c, k)])),)


def _of_columns(findings: Findings, notes: Footnotes) -> tuple[Html, ...]:
    """Return the sections about the information and the dependence of columns; none if all columns are text."""
    words, told = findings.words, findings.information
    if told is None:
        return ()
    attributes = _section(words["attributes"], _attributes(findings, told, notes))
    drawn, width = _structure(findings, told)
    structure = _section(words["structure"], drawn)
    # Half of the page is too narrow for a wide drawing.
    beside = (_grid(attributes, structure),) if width <= HALF_PAGE else (attributes, structure)
    return (
        *beside,
        *([_section(words["profiles"], _profiles(findings))] if findings.profiles else ()),
    )


def _profiles(findings: Findings) -> Html:
    c, words = findings.comparison, findings.words
    summary = tag("summary", filled(words["unfold"], n=len(findings.profiles)))
    n = max(each.rows for each in findings.profiles)
    about = tag("p", filled(words["profiles_text"], rows=f"{n:,}"), cls="faint")
    folded = tag("details", summary, about, profiles_html(c, findings.profiles))
    return join([relations_html(c, findings.relations), folded])


def _read(findings: Findings, notes: Footnotes) -> Html:
    c, words = findings.comparison, findings.words
    # Use a colon, because a class may be a number.
    each = [
        words["count"].format(label=k, n=f"{n:,}")
        for k, n in zip(c.classes, c.class_counts, strict=True)
        if n
    ]
    counts = words["separator"].join(each)
    said = [filled(words["read_text"], rows=f"{c.table.rows:,}", target=c.target, counts=counts)]
    if c.table.unlabelled:
        said.append(filled(words["unlabelled"], n=f"{c.table.unlabelled:,}"))
    if c.test is not None:
        said.append(filled(words["tested"], path=c.test.called(c.lang), rows=f"{c.test.rows:,}"))
    else:
        said.append(filled(words["folded"], k=c.folds, fn=notes.mark("folds")))
    used = [column for column in c.columns if column.left_out is None]
    left = [column for column in c.columns if column.left_out is not None]
    headers = [words[key] for key in ("column", "understood", "suggestion", "missing")]
    parts = [tag("p", Html(run_on(said, c.lang)))]
    rows = [_column(each, words, findings.comparison.lang) for each in used]
    shown = [j for j in range(4) if j < 2 or any(row[j] for row in rows)]
    cells = [[row[j] for j in shown] for row in rows]
    summary = tag("summary", filled(words["unfold"], n=len(cells)))
    columns = numbers_table([headers[j] for j in shown], cells, 3 if 2 in shown else 2)
    parts.append(tag("details", summary, columns))
    if c.table.marks:
        marks = [(name, words["separator"].join(texts)) for name, texts in c.table.marks.items()]
        parts.append(numbers_table([words["column"], words["marks"]], marks, 2))
    if left:
        reasons = [(each.name, words[str(each.left_out)].format(target=c.target)) for each in left]
        parts += [tag("h3", words["left_out"]), numbers_table([words["column"], words["why"]], reasons, 2)]
        parts.append(tag("p", words["keep"], cls="faint"))
    else:
        parts.append(tag("p", words["none_left_out"], cls="faint"))
    return join(parts)


def _column(column: Column, words: Mapping[str, str], lang: str) -> tuple[str, str, str, str]:
    states = words["states"].format(n=f"{column.states:,}") if column.states else ""
    understood = words["separator"].join(filter(None, (_family(column.family, words, lang), states)))
    suggestion = _family(column.suggestion, words, lang) if column.suggestion else ""
    return column.name, understood, suggestion, f"{column.missing:,}" if column.missing else ""


def _family(family: str, words: Mapping[str, str], lang: str) -> str:
    """Return the words of a numeric family, which defines its own."""
    return words[family] if family in words else text_in(lang, family_of(family).words.column)


def _compared(findings: Findings, notes: Footnotes) -> Html:
    c, words = findings.comparison, findings.words
    failed = [tag("p", filled(words["failed"], name=n, why=why), cls="faint") for n, why in c.failed]
    return join([standings_html(c, notes), *failed])


def _reliability(c: Comparison) -> Html:
    truth = [c.classes[k] for k in c.held.truth.tolist()]
    return reliability(truth, c.held.posterior.clip(0.0, 1.0), c.classes, lang=c.lang).picture().figure()


def _attributes(findings: Findings, information: InformationTable, notes: Footnotes) -> Html:
    c, words = findings.comparison, findings.words
    is_known = any(each.importance is not None for each in findings.profiles)
    owed = (
        filled(words["importance_text"], pick=c.picked.name, fn=notes.mark("importance")) if is_known else ""
    )
    said = {"fn": notes.mark("information"), "target": c.target, "entropy": f"{information.entropy:.3f}"}
    about = [filled(words["attributes_text"], **said)]
    if is_known:
        shown = importance_html(c, information, findings.profiles, MOST_ATTRIBUTES)
        return join([tag("p", Html(run_on([owed, *about], c.lang)), cls="faint"), shown])
    rows = information.rows[:MOST_ATTRIBUTES]
    most = max((row.information for row in rows), default=0.0) or 1.0
    lines = [
        (
            str(row.name),
            meter(row.information / most, f"{row.information:.6f}"),
            f"{row.information:.4f}",
            f"{row.share:.1%}",
        )
        for row in rows
    ]
    headers = [words["attribute"], "", words["information"], words["of_all"]]
    return join([tag("p", *about, cls="faint"), numbers_table(headers, lines, 2)])


def _structure(findings: Findings, information: InformationTable) -> tuple[Html, float]:
    """Return the text with its drawing, and the width of the drawing in pixels."""
    c, words = findings.comparison, findings.words
    said = {"pick": c.picked.name, "target": c.target}
    unseen: list[str] = []
    if c.uncounted_pairs is not None:
        if not c.looked_at:
            return tag("p", uncounted_text(c), cls="faint"), 0.0
        unseen = [text(uncounted_text(c))]
    if findings.uncut:
        more = ["…"] if len(findings.uncut) > MOST_COLUMNS else []
        names = words["separator"].join([*map(str, findings.uncut[:MOST_COLUMNS]), *more])
        many = "structure_uncut" if len(findings.uncut) > 1 else "structure_uncut_one"
        unseen += [filled(words[many], n=len(findings.uncut), names=names, **said)]
    if not any(findings.structure.values()):
        none = [filled(words[key], **said) for key in _without_arcs(findings)]
        return tag("p", Html(run_on([*none, *unseen], c.lang)), cls="faint"), 0.0
    what = filled(words[f"structure_{findings.kind}"], **said)
    telling = [row.name for row in information.rows]
    scene, n = structure_scene(findings.structure, telling, words["structure"])
    less = [filled(words["structure_less"], n=n)] if n < len(findings.structure) else []
    about = tag("p", Html(run_on([what, *less, *unseen], c.lang)), cls="faint")
    return join([about, tag("div", Html(as_svg(scene, hosted=True)), cls="wide")]), scene.width


def _without_arcs(findings: Findings) -> tuple[str, ...]:
    """Return the words for a graph without arcs: they claim nothing about attributes that were not examined."""
    n, unseen = findings.comparison.attributes, len(findings.uncut)
    if n < 2:
        return ("structure_single",)
    if findings.comparison.looked_at:
        return ("structure_some",)
    if not unseen:
        return ("structure_none",)
    return ("structure_others",) if n - unseen > 1 else ()


def _rows(findings: Findings) -> Html:
    words = findings.words
    parts = [tag("p", filled(words["rows_text"], pick=findings.comparison.picked.name), cls="faint")]
    # Hundreds of attributes scroll in their own box, so that the rest of the page stays within reach.
    tall = " tall" if findings.comparison.attributes > MOST_COLUMNS else ""
    for row in findings.rows:
        said = {
            "row": f"{row.number:,}",
            "truth": row.truth,
            "said": row.said,
            "p": share(row.probability, row.rest),
        }
        parts.append(tag("h3", filled(words[row.kind], **said)))
        parts.append(
            tag("div", Html(plain(explanation_html(row.explanation, whole=True))), cls=f"wide{tall}")
        )
    if not any(row.kind == "worst" for row in findings.rows):
        parts.append(tag("p", words["no_mistake"]))
    return join(parts)


def _next(findings: Findings) -> Html:
    return tag("pre", Html("\n".join(map(text, findings.next_lines))))


def _reproduce(findings: Findings) -> Html:
    c, words = findings.comparison, findings.words
    files = [each for each in (c.table, c.test) if each is not None and each.sha256 is not None]
    rows: list[tuple[object, object]] = [(words["seed"], str(c.random_state))]
    rows += [(words["hash"].format(path=each.path), tag("code", each.sha256)) for each in files]
    rows.append(
        (words["versions"], words["separator"].join(f"{n} {v}" for n, v in findings.versions.items()))
    )
    return join([*([tag("pre", findings.command)] if findings.command else []), numbers_table([], rows, 2)])
