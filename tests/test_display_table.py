"""A table is laid out in one place, HTML made in one: every renderer shows all cells, and nothing in them is a tag."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import bayeskit
from bayeskit._display_table import (
    MOST_COLUMNS,
    MOST_ROWS,
    DisplayTable,
    Shade,
    as_html,
    as_rich,
    as_text,
    broken,
    display_width,
    fitted_widths,
    table_html,
    text_lines,
)
from bayeskit._markup import BREAK, Html, document, filled, join, paragraphs, tag, text
from bayeskit._report.latex_table import as_latex

SOURCE = Path(bayeskit.__file__).parent
# Where tags are written: HTML, SVG, and the formats of networks that are XML.
MAKERS = {"_markup.py", "_report/scene.py"}
NAMES = (
    "a b body br caption code desc details div g h1 h2 h3 head html i li line meta ol p path pre rect small span style "
    "summary sup svg table tbody td text th thead title tr"
)
TAG = re.compile(rf"(?<!\?P)</?({NAMES.replace(' ', '|')})(?![\w-])|</$|<!doctype")


class Reader(HTMLParser):
    """The cells of every row, as a browser reads them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.add(name)
        self.open.append(name)
        if name == "tr":
            self.rows.append([])
        elif name in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


cells = st.text(st.characters(codec="utf-8"), max_size=6)


@given(st.lists(st.tuples(cells, cells, cells), max_size=4), st.integers(0, 3), st.integers(0, 3))
def test_html_and_text_show_every_cell_and_no_tag(
    rows: list[tuple[str, str, str]], names: int, right: int
) -> None:
    table = DisplayTable("t", ("a", "b", "c"), tuple(rows), names=names, right=right)
    found = read(table_html(table))
    assert found.seen <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    # Blanks of other widths are plain ones in HTML.
    assert [[" ".join(c.split()) for c in row] for row in found.rows] == [
        [" ".join(c.split()) for c in row] for row in table.lines
    ]
    lines = text_lines(table)
    assert len(lines) == 1 + len(rows)
    for line, row in zip(lines, table.lines, strict=True):
        assert all(cell.strip() in line for cell in row)


def test_cells_may_be_shaded_in_html() -> None:
    n = MOST_ROWS + 5
    shades = tuple((Shade("hit", k / n), Shade("miss", 1 - k / n)) for k in range(n))
    table = DisplayTable("", ("", "a", "b"), (("x", "1", "<2>"),) * n, (("sum", "3", "4"),), shades=shades)
    whole, short = table_html(table), as_html(table)
    assert whole.count('class="hit"') == whole.count('class="miss"') == n
    assert short.count('class="hit"') == short.count('class="miss"') == MOST_ROWS
    assert whole.count('class="matrix"') == 1 and 'style="--share:0.00"' in whole
    assert read(whole).rows[1:] == [*([["x", "1", "<2>"]] * n), ["sum", "3", "4"]]
    plain = replace(table, shades=())
    assert text_lines(table) == text_lines(plain) and "class" not in table_html(plain)


def test_a_row_of_one_cell_runs_over_all_columns_in_each() -> None:
    table = DisplayTable("", ("", "a", "b"), (("a long heading",), ("  x", "1", "2")), (("sum", "1", "2"),))
    assert as_text(table).splitlines() == [
        *("     a  b", "a long heading", "  x  1  2", "---------", "sum  1  2"),
    ]
    assert '<td colspan="3">a long heading</td>' in as_html(table)
    stream = StringIO()
    Console(file=stream, width=60).print(as_rich(table))
    assert all(cell in stream.getvalue() for line in table.lines for cell in line)


def test_numbers_are_set_to_the_right_in_each() -> None:
    table = DisplayTable("", ("纹理", "n"), (("清晰", "5"), ("x", "1,000")), right=1)
    assert {display_width(line) for line in text_lines(table)} == {4 + 2 + 5}
    assert table_html(table, number_class="n").count('class="n"') == 3
    stream = StringIO()
    Console(file=stream, width=60).print(as_rich(table))
    assert (
        len(
            {
                display_width(line.rstrip())
                for line in stream.getvalue().splitlines()
                if "5" in line or "1" in line
            }
        )
        == 1
    )


def test_all_renderers_show_title_totals_and_notes() -> None:
    table = DisplayTable("T <1>", ("a", "b", "c"), (("x", "y", "0.5"),), (("sum", "", "0.7"),), ("a note",))
    stream = StringIO()
    Console(file=stream, width=60).print(as_rich(table))
    for shown in (as_text(table), stream.getvalue()):
        assert all(word in shown for word in ("T <1>", "0.5", "sum", "0.7", "a note"))
    html = as_html(table)
    assert "T &lt;1&gt;" in html and "<p>a note</p>" in html and "<th>0.7</th>" in html
    latex = as_latex(table)
    assert all(word in latex for word in ("0.5", "sum", "0.7"))


def test_a_notebook_counts_what_it_does_not_show() -> None:
    wide = DisplayTable("", tuple(map(str, range(40))), (tuple("x" * 40),) * 100)
    found = read(as_html(wide))
    assert len(found.rows) == 1 + MOST_ROWS and {len(row) for row in found.rows} == {MOST_COLUMNS}
    for lang in ("en", "zh"):
        assert {"40", "24"} <= set(
            re.findall(r"\d+", re.sub(r"<table.*</table>", "", as_html(wide, lang=lang)))
        )
    assert len(read(as_html(wide, whole=True)).rows) == 101


def test_pieces_are_escaped_once() -> None:
    inner = tag("b", "<x> & y")
    assert inner == "<b>&lt;x&gt; &amp; y</b>" and tag("p", inner) == f"<p>{inner}</p>"
    assert join(["<", Html("<i></i>")], BREAK) == "&lt;<br><i></i>"
    assert paragraphs(["a", inner]) == f"<p>a</p><p>{inner}</p>"
    assert filled("{a} < {b}", a=inner, b="<") == f"{inner} &lt; &lt;"
    assert text(text("<")) == "&lt;" and isinstance(tag("p"), Html)
    assert 'lang="zh-CN"' in document("<t>", "", "", "zh") and "&lt;t&gt;" in document("<t>", "", "", "en")


def strings(tree: ast.AST) -> set[str]:
    """Texts of a module that are no docstrings, pieces of f-strings among them."""
    shown = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in shown)
    return {node.value for node in found if isinstance(node.value, str)}


def test_tags_are_written_in_one_place() -> None:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        tags = [each for each in strings(ast.parse(path.read_text("utf-8"))) if TAG.search(each)]
        if tags and not where.startswith("_io/networks/"):
            found[where] = tags
    assert set(found) == MAKERS, {where: found[where] for where in set(found) - MAKERS}


NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]\d+)?")
PAGE = DisplayTable(
    "class is e with probability 0.9745",
    ("", "value", "e", "p", "log-odds"),
    (
        ("P(class)", "", "(4208+1)/(8124+2) = 0.518", "(3916+1)/(8124+2) = 0.482", "+0.0719"),
        ("stalk-surface-above-ring", "0.697125", "(0+0.25·1/3)/(8+0.25) = 0.0002371", "1.60e-06", "−5.62"),
        ("  纹理", "清晰 | 脐部=凹陷", "N(0.697; 0.574, 0.129) = 1.959", "10^(-4.34e+39)", "+∞"),
    ),
    (("product", "", "0.006301", "0.000165", "+3.64"), ("posterior", "", "0.9745", "0.02551", "")),
    ("(n+a)/(N+A): n of N rows of the class have the value.",),
)


def test_a_table_fits_a_terminal_of_any_width_and_no_number_is_broken() -> None:
    whole = sorted(NUMBER.findall("\n".join(" ".join(line) for line in (*PAGE.lines, (PAGE.title,)))))
    for width in range(40, 121):
        screen = Console(file=StringIO(), width=width)
        screen.print(as_rich(PAGE))
        for drawn in (as_text(PAGE, width), screen.file.getvalue()):  # type: ignore[attr-defined]
            assert max(map(display_width, drawn.splitlines())) <= width, (width, drawn)
            assert sorted(NUMBER.findall(drawn)) == whole, (width, drawn)
    assert as_text(PAGE, 200) == as_text(PAGE)


@given(st.text("ab1 2.=(+/纹理-", max_size=40), st.integers(12, 30))
def test_breaking_a_text_loses_nothing_but_spaces(given_text: str, width: int) -> None:
    lines = broken(given_text, width)
    assert "".join(lines).replace(" ", "") == given_text.replace(" ", "")


def test_no_word_is_broken_where_there_is_room_for_it() -> None:
    long = "(509+1)/(891+2) = 0.5711"
    table = DisplayTable(
        "", ("", "value", "no", "yes"), (("P(Survived)", "", long, long), ("Sex", "male", long, long))
    )
    assert fitted_widths(table, 51)[0] == len("P(Survived)")
    assert fitted_widths(table, 51 - 6)[0] < len("P(Survived)")
