"""Small pieces of HTML: whatever is text is escaped here and nowhere else; footnotes; the style of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayeskit.report.comparison_report.comparison_words import GLOSSARY
from bayeskit.report.scene import plain
from bayeskit.visible import escape


class Html(str):
    """Text that is HTML already."""


def text(value: object) -> Html:
    """Escape whatever is not HTML yet.

    >>> text("<b>"), text(Html("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    return value if isinstance(value, Html) else Html(escape(plain(value)))


def join(parts: Iterable[object]) -> Html:
    """Set pieces one after the other."""
    return Html("".join(map(text, parts)))


def tag(name: str, *inside: object, cls: str = "", attributes: str = "") -> Html:
    """Make an element.

    >>> tag("p", "a < b", cls="faint")
    '<p class="faint">a &lt; b</p>'
    """
    said = (f' class="{cls}"' if cls else "") + (f" {attributes}" if attributes else "")
    return Html(f"<{name}{said}>{join(inside)}</{name}>")


def filled(pattern: str, **values: object) -> Html:
    """Fill a text of ours, which holds no HTML, with values, which may.

    >>> filled("{n} < {m}", n=Html("<i>1</i>"), m="<2>")
    '<i>1</i> &lt; &lt;2&gt;'
    """
    return Html(escape(pattern).format(**{name: text(value) for name, value in values.items()}))


def table(headers: Sequence[object], rows: Iterable[Sequence[object]], right: int, cls: str = "") -> Html:
    """Make a table that scrolls by itself where it is too wide; the columns from ``right`` on hold numbers.

    Without headers it has no head.
    """

    def line(cells: Sequence[object], name: str) -> Html:
        return tag("tr", *(tag(name, cell, cls="n" if j >= right else "") for j, cell in enumerate(cells)))

    head = tag("thead", line(headers, "th")) if headers else ""
    body = tag("tbody", *(line(row, "td") for row in rows))
    return tag("div", tag("table", head, body, cls=cls), cls="wide")


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
        """Return the number that leads to a word."""
        if key not in self.used:
            self.used.append(key)
        return Html(f'<sup><a href="#word-{key}">{self.used.index(key) + 1}</a></sup>')

    def listed(self) -> Html:
        """Return all words that were used."""
        told = GLOSSARY.of(self.lang)
        items = (tag("li", told[key], attributes=f'id="word-{key}"') for key in self.used)
        return tag("ol", *items, cls="words")


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
