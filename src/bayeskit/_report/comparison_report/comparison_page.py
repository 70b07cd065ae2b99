"""A comparison as a self-contained HTML report, without external scripts, fonts or pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bayeskit._conditionals.density import family_of
from bayeskit._markup import Html, document, filled, join, plain, tag, text
from bayeskit._messages import run_on, text_in
from bayeskit._report.charts.reliability_chart import reliability
from bayeskit._report.comparison_report.comparison import Column, Comparison
from bayeskit._report.comparison_report.comparison_words import WORDS
from bayeskit._report.comparison_report.sections import (
    Footnotes,
    confusion_html,
    decisions_html,
    numbers_table,
    structure_svg,
)
from bayeskit._report.comparison_report.standings import bars_svg, standings_html
from bayeskit._report.comparison_report.verdict import ceiling_text, uncounted_text, verdict
from bayeskit._report.explanation import Explanation
from bayeskit._report.fractions import share
from bayeskit._report.information_table import InformationTable
from bayeskit._schema import Label, Name

MOST_ATTRIBUTES = 10
# The number of columns to show at once if there are many.
MOST_COLUMNS = 30


@dataclass(frozen=True, eq=False)
class RowShown:
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
    command, versions, next_lines, loss_path : how to reproduce the report, and what to do next
    """

    comparison: Comparison
    information: InformationTable | None
    structure: Mapping[Name, Sequence[Name]]
    kind: str
    uncut: tuple[Name, ...]
    rows: tuple[RowShown, ...]
    command: str
    versions: Mapping[str, str]
    next_lines: tuple[str, ...] = ()
    loss_path: str | None = None
    words: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", WORDS.of(self.comparison.lang))


def as_page(findings: Findings) -> str:
    """Return the whole page."""
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
        tag("p", verdict(c), cls="verdict"),
        tag("p", ceiling_text(c)),
        *_section(words["read"], _read(findings, notes)),
        *_section(words["compare"], _compared(findings, notes)),
        *_section(words["confusion"], confusion_html(c)),
        *_section(words["reliability"], _reliability(c)),
        *_of_columns(findings, notes),
        *(_section(words["rows"], _rows(findings)) if findings.rows else ()),
        *_section(words["decisions"], decisions_html(c, notes.mark("risk"), findings.loss_path)),
        *(_section(words["next"], _next(findings)) if findings.next_lines else ()),
        *_section(words["reproduce"], _reproduce(findings)),
        *_section(words["glossary"], notes.listed()),
    ]
    return document(title, "\n".join(["", *parts, ""]), STYLE, c.lang)


def _of_columns(findings: Findings, notes: Footnotes) -> tuple[Html, ...]:
    """Return the sections about the information and the dependence of columns; none if all columns are text."""
    words, told = findings.words, findings.information
    if told is None:
        return ()
    return (
        *_section(words["attributes"], _attributes(findings, told, notes)),
        *_section(words["structure"], _structure(findings, told)),
    )


def _section(title: str, body: Html) -> tuple[Html, Html]:
    return tag("h2", title), body


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
    parts.append(_folded([headers[j] for j in shown], cells, 3 if 2 in shown else 2, words))
    if left:
        reasons = [(each.name, words[str(each.left_out)].format(target=c.target)) for each in left]
        parts += [tag("h3", words["left_out"]), _folded([words["column"], words["why"]], reasons, 2, words)]
        parts.append(tag("p", words["keep"], cls="faint"))
    else:
        parts.append(tag("p", words["none_left_out"], cls="faint"))
    return join(parts)


def _folded(
    headers: Sequence[str], rows: Sequence[Sequence[object]], right: int, words: Mapping[str, str]
) -> Html:
    """Return a table of columns. If there are many, the rest is folded."""
    if len(rows) <= MOST_COLUMNS:
        return numbers_table(headers, rows, right)
    more = tag("summary", filled(words["more_columns"], n=len(rows) - MOST_COLUMNS))
    rest = tag("details", more, numbers_table(headers, rows[MOST_COLUMNS:], right))
    return join([numbers_table(headers, rows[:MOST_COLUMNS], right), rest])


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
    return join([Html(bars_svg(c)), standings_html(c, notes), *failed])


def _reliability(c: Comparison) -> Html:
    truth = [c.classes[k] for k in c.held.truth.tolist()]
    return Html(reliability(truth, c.held.posterior.clip(0.0, 1.0), c.classes, lang=c.lang).svg())


def _attributes(findings: Findings, information: InformationTable, notes: Footnotes) -> Html:
    c, words = findings.comparison, findings.words
    said = {"fn": notes.mark("information"), "target": c.target, "entropy": f"{information.entropy:.3f}"}
    rows = information.rows[:MOST_ATTRIBUTES]
    most = max((row.information for row in rows), default=0.0) or 1.0
    lines = []
    for row in rows:
        width = Html(f'style="width:{100 * row.information / most:.1f}%"')
        meter = tag("span", tag("span", attributes=width), cls="meter")
        lines.append((str(row.name), meter, f"{row.information:.4f}", f"{row.share:.1%}"))
    headers = [words["attribute"], "", words["information"], words["of_all"]]
    text_ = tag("p", filled(words["attributes_text"], **said), cls="faint")
    return join([text_, numbers_table(headers, lines, 2)])


def _structure(findings: Findings, information: InformationTable) -> Html:
    c, words = findings.comparison, findings.words
    said = {"pick": c.picked.name, "target": c.target}
    if c.uncounted_pairs is not None:
        return tag("p", uncounted_text(c), cls="faint")
    unseen = []
    if findings.uncut:
        more = ["…"] if len(findings.uncut) > MOST_COLUMNS else []
        names = words["separator"].join([*map(str, findings.uncut[:MOST_COLUMNS]), *more])
        unseen = [filled(words["structure_uncut"], n=len(findings.uncut), names=names, **said)]
    if not any(findings.structure.values()):
        none = [filled(words[key], **said) for key in _without_arcs(findings)]
        return tag("p", Html(run_on([*none, *unseen], c.lang)), cls="faint")
    text = filled(words[f"structure_{findings.kind}"], **said)
    telling = [row.name for row in information.rows]
    svg, n = structure_svg(findings.structure, telling, words["structure"])
    less = [filled(words["structure_less"], n=n)] if n < len(findings.structure) else []
    return join(
        [
            tag("p", Html(run_on([text, *less, *unseen], c.lang)), cls="faint"),
            tag("div", Html(svg), cls="wide"),
        ]
    )


def _without_arcs(findings: Findings) -> tuple[str, ...]:
    """Return the words for a graph without arcs: they claim nothing about attributes that were not examined."""
    n, unseen = findings.comparison.attributes, len(findings.uncut)
    if n < 2:
        return ("structure_single",)
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
        parts.append(tag("div", Html(plain(row.explanation.to_html())), cls=f"wide{tall}"))
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


_LIGHT = (
    "--ink:#26323a;--faint:#4b5963;--page:#fcfcfa;--card:#fff;--line:#d5dadd;--accent:#2a66ab;"
    "--hit:42,102,171;--miss:194,87,26"
)
_DARK = (
    "--ink:#e8ecef;--faint:#b9c3ca;--page:#16191c;--card:#1d2226;--line:#3a434a;--accent:#82b4ee;"
    "--hit:130,180,238;--miss:240,160,106"
)
STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:66rem;padding:1.5rem 1rem 4rem;color:var(--ink);background:var(--page);
font:16px/1.55 system-ui,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif;
overflow-wrap:anywhere}}
h1{{font-size:1.7rem;line-height:1.25;margin:.5rem 0 .2rem}}
h2{{font-size:1.2rem;margin:2.4rem 0 .5rem;padding-top:.9rem;border-top:1px solid var(--line)}}
h3{{font-size:1rem;margin:1.4rem 0 .3rem}}
p{{margin:.4rem 0;max-width:48rem}}
.faint,caption,small{{color:var(--faint)}}
.verdict{{font-size:1.15rem;padding:.9rem 1.1rem;margin:1rem 0;background:var(--card);border:1px solid var(--line);
border-left:4px solid var(--accent);border-radius:6px;max-width:none}}
.wide{{overflow-x:auto;margin:.6rem 0}}.tall{{max-height:36rem;border:1px solid var(--line)}}
.wide p{{color:var(--faint);font-size:.88rem}}
table{{border-collapse:collapse;font-size:.92rem}}
caption{{text-align:left;padding:.2rem 0;font-weight:600}}
th,td{{text-align:left;padding:.28rem .9rem .28rem 0;vertical-align:top;overflow-wrap:normal}}
th{{font-weight:600}}thead th{{border-bottom:1px solid var(--faint)}}tbody tr+tr>*{{border-top:1px solid var(--line)}}
.n{{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}}
.name{{white-space:nowrap}}
.wide th,.wide td{{word-break:keep-all}}
.wide th:first-child,.wide td:first-child{{min-width:4.5em}}.wide td:nth-child(2){{min-width:6.5em}}
.matrix th,.matrix td{{padding:.4rem .7rem;border:1px solid var(--line);text-align:right}}
.hit{{background:rgba(var(--hit),var(--share))}}.miss{{background:rgba(var(--miss),var(--share))}}
.meter{{display:block;width:11rem;max-width:36vw;height:.75rem;background:var(--line);border-radius:3px;
margin-top:.35rem}}
.meter>span{{display:block;height:100%;background:var(--accent);border-radius:3px}}
code,pre{{font:.88rem/1.5 ui-monospace,Consolas,"Noto Sans Mono","Noto Sans Mono CJK SC",monospace}}
td code{{overflow-wrap:anywhere}}
summary{{cursor:pointer;color:var(--accent)}}
pre{{margin:.4rem 0;padding:.7rem .9rem;overflow-x:auto;white-space:pre-wrap;background:var(--card);
border:1px solid var(--line);border-radius:6px}}
svg{{max-width:100%;height:auto}}.wide svg{{max-width:none}}
sup{{line-height:0}}sup a,a{{color:var(--accent);text-decoration:none}}
ol.words{{padding-left:1.4rem;font-size:.92rem;max-width:48rem}}
@page{{size:A4;margin:15mm}}
@media print{{:root{{--page:#fff}}body{{padding:0;font-size:10pt;max-width:none;
-webkit-print-color-adjust:exact;print-color-adjust:exact}}
.wide,pre{{overflow:visible;max-height:none}}
.wide svg{{max-width:100%}}table{{font-size:8pt}}th,td{{padding-right:.5rem}}
h2,h3,.faint,caption,thead{{break-after:avoid}}tr,svg,.verdict{{break-inside:avoid}}.name,.n{{white-space:normal}}}}
"""
