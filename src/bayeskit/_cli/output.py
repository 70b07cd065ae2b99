"""What commands write: results, notes, files replaced whole, rows as CSV or JSON, and explanations."""

from __future__ import annotations

import csv
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer

from bayeskit._cli.start import pass_the_last_stop
from bayeskit._display_table import terminal_width
from bayeskit._messages import Message
from bayeskit._visible import json_text, visible_lines
from bayeskit.errors import BayeskitError, UsageError

# Wide enough for a page of fractions, and the same in a pipe and a file. A terminal has its own width, up to the most.
WIDTH, WIDEST = 100, 120


def note(text: str | Message) -> None:
    """Print a note that is no result, on standard error."""
    typer.echo(visible_lines(text), err=True)


def console() -> Any:
    """Return a Rich console on standard output; characters it cannot encode are replaced, texts have nothing hidden."""
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: object, **how: Any) -> None:
            super().print(*(visible_lines(o) if isinstance(o, str) else o for o in objects), **how)

    _replace_unencodable()
    width = terminal_width()
    return Screen(
        width=WIDTH if width is None else min(width, WIDEST), highlight=False, markup=False, emoji=False
    )


def print_json(value: object) -> None:
    """Print a value as JSON, with Chinese characters if the output can encode them."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    typer.echo(json_text(value, 2, ascii_only=not utf8))


@contextmanager
def noting_compilation(text: str) -> Iterator[None]:
    """Print a note once if kernels are being compiled; with a warm cache there is none."""
    from bayeskit._numba import telling_of_compiling

    unsaid = [text]

    def tell() -> None:
        if unsaid:
            note(unsaid.pop())

    with telling_of_compiling(tell):
        yield


@contextmanager
def noting_warnings() -> Iterator[None]:
    """Turn the warnings raised inside into notes, each printed once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        note(text)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: int) -> Any:
    """Make a table for a Rich console; the columns from ``right`` on hold numbers."""
    from bayeskit._display_table import DisplayTable, as_rich

    return as_rich(DisplayTable("", tuple(headers), tuple(map(tuple, rows)), right=right))


def show(text: str) -> None:
    """Print a line of the result; characters that standard output cannot encode are replaced."""
    _replace_unencodable()
    typer.echo(visible_lines(text))


def _replace_unencodable() -> None:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


@contextmanager
def replaced(path: str) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces a file if the block ends without an error or Ctrl-C."""
    from bayeskit._io.replacing import replacing

    with replacing(path, pass_the_last_stop) as temporary:
        try:
            yield temporary
        except BayeskitError as error:  # it names the requested file
            error.rename(temporary.name, Path(path).name)
            raise


@contextmanager
def opened_text(path: str | None) -> Iterator[TextIO]:
    """Open a text file that is replaced at the end, or standard output without a path."""
    if path is None or path == "-":
        yield cast(TextIO, _Screen(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        return
    with replaced(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
        yield stream
        stream.flush()


class _Screen:
    """Standard output if it is a terminal, where control characters are made visible. Pipes and files get raw cells."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(visible_lines(text))


class RowWriter:
    """Rows with a header to a stream: CSV, one JSON list, or a JSON object a line.

    Examples
    --------
    >>> writer = RowWriter(sys.stdout, ["row", "y"], "jsonl")
    >>> writer.write([(1, "好")])
    {"row": 1, "y": "好"}
    """

    def __init__(self, stream: TextIO, header: Sequence[str], form: str, spreadsheet: bool = False) -> None:
        self.stream, self.header, self.form, self.began = stream, list(header), form, False
        self.spreadsheet = spreadsheet
        self.csv = csv.writer(stream, lineterminator="\n")
        self.quoted = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        if self.form == "csv":
            # Write the header with the first rows: if they cannot be computed, nothing is written.
            self._write_csv(rows if self.began else [self.header, *rows])
            self.began = True
            return
        for row in rows:
            text = json_text(dict(zip(self.header, row, strict=True)))
            if self.form == "jsonl":
                self.stream.write(text + "\n")
            else:
                self.stream.write((",\n " if self.began else "[") + text)
                self.began = True

    def _write_csv(self, rows: Iterable[Sequence[Any]]) -> None:
        lines = [list(map(_guarded, row)) for row in rows] if self.spreadsheet else list(rows)
        if not any("\r" in cell for line in lines for cell in line if type(cell) is str):
            self.csv.writerows(lines)
            return
        for (
            line
        ) in lines:  # Python does not quote a carriage return before 3.13, and readers take it for a new row
            returns = any("\r" in cell for cell in line if type(cell) is str)
            (self.quoted if returns else self.csv).writerow(line)

    def close(self) -> None:
        """End the list."""
        if self.form == "json":
            self.stream.write("]\n" if self.began else "[]\n")
        elif self.form == "csv" and not self.began:
            self._write_csv([self.header])


# Characters that begin a formula in a spreadsheet, including full-width ones, which some people type.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def _guarded(cell: object) -> Any:
    """Put an apostrophe before a text that a spreadsheet would compute as a formula."""
    is_formula = isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def form_of(path: str | None, as_json: bool, spreadsheet: bool = False) -> str:
    """Return the format by the suffix of a name; for a spreadsheet it must be CSV.

    Examples
    --------
    >>> form_of("a.json", False), form_of("a.jsonl", False), form_of(None, True), form_of("a.csv", True)
    ('json', 'jsonl', 'json', 'csv')
    """
    suffix = Path(path).suffix.lower() if path not in (None, "-") else ""
    form = "csv"
    if suffix in (".jsonl", ".ndjson"):
        form = "jsonl"
    elif suffix == ".json" or (not suffix and as_json and path in (None, "-")):
        form = "json"
    if spreadsheet and form != "csv":
        raise UsageError("--spreadsheet guards the cells of CSV, and this is JSON. Leave it out.")
    return form


class Form(StrEnum):
    """The format of the page."""

    text = "text"
    html = "html"
    latex = "latex"
    json = "json"


FormOption = Annotated[Form, typer.Option("--format", help="The output format.")]
Ask = Annotated[bool, typer.Option("--ask", help="Rank the missing values worth observing instead.")]
Cost = Annotated[
    list[str] | None, typer.Option("--cost", metavar="COL=NUMBER", help="The cost of observing COL.")
]


def write_page(page: Any, title: str, form: Form, output: str | None) -> None:
    """Write an explanation or a list of questions. On the screen, Rich draws a page that is a table."""
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
    from bayeskit._markup import document, page_style

    return document(title, body, page_style(), lang)


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
