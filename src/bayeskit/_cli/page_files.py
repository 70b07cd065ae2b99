"""Output of explanations as text, LaTeX, JSON or self-contained HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from bayeskit._visible import json_text


class Form(StrEnum):
    """The format of the page."""

    text = "text"
    html = "html"
    latex = "latex"
    json = "json"


FormOption = Annotated[Form, typer.Option("--format", help="How the page is written.")]
Ask = Annotated[
    bool, typer.Option("--ask", help="List which missing value is most worth asking for instead.")
]
Cost = Annotated[
    list[str] | None, typer.Option("--cost", metavar="COL=NUMBER", help="What asking for COL costs.")
]


def write_page(page: Any, title: str, form: Form, output: str | None) -> None:
    """Write an explanation or a list of questions. On the screen, Rich draws a page that is a table."""
    from bayeskit._cli.output import console
    from bayeskit._cli.row_writing import opened_text
    from bayeskit._display_table import as_rich

    if form is Form.text and output in (None, "-") and hasattr(page, "page"):
        console().print(as_rich(page.page()))
        return
    match form:
        case Form.text:
            text = str(page)
        case Form.html:
            whole = page.to_html() if hasattr(page, "to_html") else page._repr_html_()
            text = html_page(title, whole, page.lang)
        case Form.latex:
            text = page.to_latex()
        case Form.json:
            text = json_text(page.to_dict(), 2)
    with opened_text(output) as stream:
        stream.write(text + "\n")


def html_page(title: str, body: str, lang: str) -> str:
    """Return a self-contained page in the style of explanations and summaries."""
    from bayeskit._markup import document

    return document(title, body, _STYLE, lang)


def read_prices(given: Sequence[str] | None, names: Collection[str]) -> dict[str, float]:
    """Read ``COL=NUMBER``.

    Examples
    --------
    >>> read_prices(["纹理=0.5"], ["纹理", "色泽"])
    {'纹理': 0.5}
    """
    from bayeskit._cli.typed_values import number_of, split
    from bayeskit.errors import SettingError

    found: dict[str, float] = {}
    for text in given or ():
        name, is_so, number = split(text, names, "--cost")
        if not is_so:
            raise SettingError("--cost {text!r} is not COL=NUMBER.", text=text)
        found[name] = number_of(name, number, "--cost")
    return found


def refuse_strays(ask: bool, form: Form, cost: Sequence[str] | None, reject: float | None = None) -> None:
    """Raise an error for options without effect."""
    from bayeskit.errors import UsageError

    if cost and not ask:
        raise UsageError("--cost is the price of a question, for --ask only. Add --ask, or leave it out.")
    if ask and reject is not None:
        raise UsageError("--ask values an answer by --loss alone. Leave --reject out.")
    if ask and form is Form.latex:
        raise UsageError("--ask is written as text, html or json. Choose one of these for --format.")


_STYLE = (
    "body{font:16px/1.5 system-ui,'Noto Sans CJK SC','Microsoft YaHei','PingFang SC',sans-serif;margin:2rem auto;"
    "max-width:60rem;padding:0 1rem;color:#222;background:#fff}table{border-collapse:collapse;display:block;"
    "overflow-x:auto}caption,th,td{text-align:left;padding:.2rem .8rem .2rem 0}caption{font-weight:bold}"
    "th,td{vertical-align:top}thead th{border-bottom:1px solid #888}p{margin:.3rem 0;color:#666;font-size:.9rem}"
    "p strong{font-size:1.25rem;color:#222}div{margin:.6rem 0}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}p{color:#aaa}p strong{color:#eee}}"
)
