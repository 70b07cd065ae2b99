"""Small pieces of HTML; whatever is text is escaped here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayeskit.report.picture_text import plain
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
