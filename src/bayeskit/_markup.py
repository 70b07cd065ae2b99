"""HTML elements and documents, with all text escaped.

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
