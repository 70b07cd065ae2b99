"""HTML elements and documents, with all text escaped, and the look that all of them share.

Generated elements are `Html`. Any other text is escaped when it is inserted, so nothing is escaped twice or forgotten.
Pictures are SVG and have their own writer (``_report/scene.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bayeskit._visible import escape, visible

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain(value: object) -> str:
    """Return a name or state as one line of valid XML text: spaces for line breaks, � for forbidden characters.

    >>> plain("a\\nb\\x00")
    'a b�'
    """
    return visible(_FORBIDDEN.sub("�", re.sub(r"\s", " ", str(value))))


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()


BREAK = Html("<br>")


def text(value: object) -> Html:
    """Escape everything that is not yet HTML.

    >>> text("<b>"), text(Html("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    return value if isinstance(value, Html) else Html(escape(plain(value)))


def join(parts: Iterable[object], between: str = "") -> Html:
    """Concatenate pieces, with HTML between them."""
    return Html(between.join(map(text, parts)))


def tag(name: str, *inside: object, cls: str = "", attributes: str = "", title: object = "") -> Html:
    """Return an element; its title, which is escaped, is shown where a pointer rests on it.

    >>> tag("p", "a < b", cls="faint")
    '<p class="faint">a &lt; b</p>'
    """
    said = (f' class="{cls}"' if cls else "") + (f" {attributes}" if attributes else "")
    said += f' title="{text(title)}"' if title else ""
    return Html(f"<{name}{said}>{join(inside)}</{name}>")


def paragraphs(lines: Iterable[object]) -> Html:
    """Return a paragraph for each line.

    >>> paragraphs(["a", "<b>"])
    '<p>a</p><p>&lt;b&gt;</p>'
    """
    return join(tag("p", line) for line in lines)


def filled(pattern: str, **values: object) -> Html:
    """Insert values, which may be HTML, into a text of ours, which is not.

    >>> filled("{n} < {m}", n=Html("<i>1</i>"), m="<2>")
    '<i>1</i> &lt; &lt;2&gt;'
    """
    return Html(escape(pattern).format(**{name: text(value) for name, value in values.items()}))


def document(title: object, body: str, style: str, lang: str, script: str = "") -> Html:
    """Return a complete, self-contained page.

    Parameters
    ----------
    title : escaped
    body, style, script : HTML, CSS and JavaScript of ours
    lang : "en" or "zh"

    Examples
    --------
    >>> document("<x>", "", "", "zh").count("&lt;x&gt;")
    1
    """
    language = {"zh": "zh-CN"}.get(lang, lang)
    head = join(
        [
            Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'),
            tag("title", title),
            tag("style", Html(style)),
        ]
    )
    run = tag("script", Html(script)) if script else ""
    page = tag("html", tag("head", head), "\n", tag("body", Html(body), run), attributes=f'lang="{language}"')
    return Html(f"<!doctype html>\n{page}\n")


_STYLE_LINK = re.compile(r'<link rel="stylesheet" href="[^"]*" />')
_SCRIPT_LINK = re.compile(r'<script src="[^"]*" defer></script>')


def inlined(page: str, style: str, script: str, data: str, policy: str) -> str:
    """Return a page of ours with its style, its script and data in it, in place of the links to them.

    Parameters
    ----------
    page : str
        It has one link to a style and one to a script.
    style, script : str
    data : str
        JSON in which no character can end a script element; the script finds it as the element ``network``.
    policy : str
        What the page may load and run; it comes before anything that it speaks of.
    """
    head, rest = _STYLE_LINK.split(page)
    between, end = _SCRIPT_LINK.split(rest)
    body, foot = end.split("</body>")
    head = head.replace(
        '<meta charset="utf-8" />',
        f'<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="{policy}" />',
    )
    return (
        f"{head}<style>{style}</style>{between}{body}"
        f'<script type="application/json" id="network">{data}</script>\n    <script>{script}</script>\n  </body>{foot}'
    )


# The look of everything: the report, pages of explanations, summaries and the textbook, and what notebooks show.
FONT = 'system-ui,"Segoe UI",Roboto,"Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif'
CODE_FONT = 'ui-monospace,Consolas,"Noto Sans Mono","Noto Sans Mono CJK SC",monospace'
# Each colour on a light and on a dark page.
PALETTE = {
    "ink": ("#26323a", "#e8ecef"),
    "faint": ("#4b5963", "#b9c3ca"),
    "page": ("#f4f5f3", "#0f1214"),
    "card": ("#fcfcfa", "#16191c"),
    "line": ("#d5dadd", "#3a434a"),
    "accent": ("#2a66ab", "#82b4ee"),
    "warn": ("#8a5a00", "#e0ab3f"),
    "warn-card": ("#fbf1da", "#2b2412"),
}


def variables(shade: int) -> str:
    """Return the palette as declarations; 0 is for light pages, 1 for dark ones.

    >>> variables(1).split(";")[0]
    '--ink:#e8ecef'
    """
    return ";".join(f"--{name}:{pair[shade]}" for name, pair in PALETTE.items())


# What tables and texts look like on every page, by selector.
_ELEMENTS = {
    "table": "border-collapse:collapse;table-layout:auto;margin:.6em 0;font-size:.9em;"
    "font-variant-numeric:tabular-nums;color:var(--ink)",
    "caption": "text-align:left;padding:.2em 0;font-weight:600;color:inherit",
    "th,td": "text-align:left;padding:.28em .9em .28em 0;vertical-align:top;border:0;font-weight:400;"
    "word-break:keep-all;line-height:inherit;background:none",
    "th": "font-weight:600",
    "thead th": "border-bottom:1px solid var(--faint);vertical-align:bottom",
    "tr": "background:none",
    "tbody tr+tr>*": "border-top:1px solid var(--line)",
    ".n": "text-align:right",
    # Numbers, and cells that are kept on one line.
    ".n,.k": "white-space:nowrap",
    "summary": "cursor:pointer;color:var(--accent);font-weight:600",
    "a": "color:var(--accent);text-decoration:none",
    ".figure": "overflow-x:auto",
    # A picture keeps its size, and so its smallest texts 11 pixels: on a phone it scrolls.
    ".figure>svg": "display:block;max-width:none",
}


def elements(scope: str = "") -> str:
    """Return the rules of tables and texts, each limited to what lies within ``scope``.

    >>> elements(".x ")[:28]
    '.x table{border-collapse:col'
    """
    return "".join(
        f"{scope}{f':is({selector})' if scope and ',' in selector else selector}{{{said}}}"
        for selector, said in _ELEMENTS.items()
    )


# Notebooks style tables, paragraphs and lists themselves. The id, which our element does not have, outweighs their
# classes.
_FRAME = ".bayeskit:not(#_)"
# The colours that it needs.
_FRAME_COLOURS = ("ink", "faint", "card", "line", "accent")
# What hosts that are dark say about it: JupyterLab and nbconvert, VS Code, Colab, Sphinx.
_DARK_HOSTS = "[data-jp-theme-light=false],.vscode-dark,[theme=dark],[data-theme=dark]"


def _frame_style() -> str:
    """Return the style of what notebooks show. No selector lacks our class, so nothing else on the page changes."""
    both = ";".join(f"--{name}:light-dark({','.join(PALETTE[name])})" for name in _FRAME_COLOURS)
    return (
        f"{_FRAME}{{{both};box-sizing:border-box;width:fit-content;max-width:100%;margin:.3em 0;padding:.6em 1em;"
        f"overflow:auto;border:1px solid var(--line);border-radius:10px;color:var(--ink);background:var(--card);"
        f"font-family:{FONT};line-height:1.5;text-align:left}}"
        f":is({_DARK_HOSTS}) .bayeskit{{color-scheme:dark}}"
        f"{elements(_FRAME + ' ')}"
        f"{_FRAME} :is(table,caption){{display:block;overflow-x:auto}}"
        f"{_FRAME} :is(p,ul,ol){{margin:.4em 0;max-width:60em;font-size:inherit;color:inherit}}"
        f"{_FRAME} :is(table~p,ol){{font-size:.9em;color:var(--faint)}}"
        f"{_FRAME} pre{{margin:0;font:.9em ui-monospace,monospace;color:inherit;white-space:pre-wrap}}"
    )


def framed(*parts: object) -> Html:
    """Return what a notebook shows: parts with the look of the report, the same under a light and a dark theme.

    Examples
    --------
    >>> shown = framed(tag("p", "a < b"))
    >>> shown[:28], shown[-22:]
    ('<div class="bayeskit"><style', '<p>a &lt; b</p>\\n</div>')
    """
    return tag(
        "div", tag("style", Html(_frame_style())), Html("\n"), join(parts, "\n"), Html("\n"), cls="bayeskit"
    )


def page_style() -> str:
    """Return the style of a page of one column."""
    return (
        f":root{{color-scheme:light dark;{variables(0)}}}@media(prefers-color-scheme:dark){{:root{{{variables(1)}}}}}"
        f"*{{box-sizing:border-box}}body{{margin:0 auto;max-width:64rem;padding:1.5rem 1rem 3rem;color:var(--ink);"
        f"background:var(--page);font:16px/1.55 {FONT}}}"
        f"@media print{{:root{{{variables(0)};--page:#fff}}body{{padding:0}}}}"
    )
