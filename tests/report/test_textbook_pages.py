"""The pages of the textbook and the demonstrations without a table: every number against an independent one."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from fractions import Fraction
from functools import cache
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bayeskit._cli.demos import NAMES
from bayeskit._cli.textbook_check import LIBRARY, compared
from bayeskit._display_table import display_width, table_html, text_lines
from bayeskit._report.textbook import fraction_pages as pages
from bayeskit._report.textbook.pages import OF_TABLES, PAGES
from bayeskit._report.textbook.printed_number import Line, PrintedNumber, exact, line_text
from bayeskit._report.textbook.sheet import WIDTH, Grid, Sheet, as_html, as_latex, as_text, exercise, wrapped
from cli_run import done, refused, run

LANGS = ("en", "zh")
EVERY = [(name, lang) for name in PAGES for lang in LANGS]
# What the books, and our documentation, print.
FAMOUS = {
    "spam": ["633/1000", "210/211", "0.99526", "70/367"],
    "melon8": [
        "3/4",
        "0.78403",
        "1.87941",
        "0.07350",
        "0.35239",
        "0.82741",
        "0.88169",
        "1/7",
        "0.089496",
        "0.0245",
    ],
    "melon3": [
        "4725/139264",
        "32/37179",
        "0.052379",
        "6.8584e-05",
        "0.998692",
        "1/11",
        "0.990619",
        "6.80e-05",
    ],
    "lihang": ["1/45", "1/15", "3/4", "5/153", "28/459", "28/43", "12/11"],
    "grass": ["34/125", "134/625", "25/34", "23/68", "125/134", "43/268"],
    "structures": [
        "59/250",
        "19/125",
        "177/1000",
        "207/2000",
        "15/32",
        "27/62",
        "165/424",
        "13/34",
        "49/200",
    ],
    "em": ["4/11", "8/17", "760/187", "76/187", "51/95", "119/185", "0.4064", "0.5368", "0.6432", "0.6000"],
    "nb": ["4725/139264", "32/37179", "0.975259"],
    "laplace": ["36288/15299845", "35/60192", "1/11", "0.803108"],
    "risk": ["0.774078", "1.129610", "5/6"],
    "mle": ["8/17", "459/800", "0.0146084", "−11.754073", "5.553116"],
    "spode": ["0.263806", "3024/130625", "0.990988"],
    "tan": ["0.597535", "0.280433", "21/1045", "0.985658"],
    "aode": ["0.10892366", "0.00414987", "243/10304", "0.963299"],
    "bayes-estimate": ["7/10", "8/12", "9/14", "17/30", "2/3"],
    "bernoulli": ["1296/390625", "9/2560", "0.514478"],
    "multinomial": ["9/20480", "12/142805", "0.839478"],
    "gaussian2": ["53/9", "527/86", "0.0111687", "0.611877"],
    "lda": ["104/81", "8739/2080", "0.833616", "1.611472"],
    "bic": ["−13.169796", "−13.163021", "1.046496"],
    "underflow": ["−921.727184", "−879.582978", "4.977414e-19"],
    "melonnet": ["243/4000", "9/11", "19/53", "31"],
    "seven": ["42/3125", "25", "127", "0.376947"],
    "lazy": ["252/1045", "35/418", "0.742268"],
    "incremental": ["0.958728", "0.944847", "175/180576"],
    "gibbs": ["9/32", "29/32", "27/37", "15/31", "81/107"],
}


def lines_of(sheet: Sheet) -> list[Line]:
    """Everything that is worked out: lines, cells, the answer, the errata."""
    found = [sheet.answer, *(erratum.right for erratum in sheet.errata)]
    for item in sheet.working:
        found += [cell for row in item.rows for cell in row] if isinstance(item, Grid) else [item]
    return found


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_a_page_prints_what_the_books_print(name: str, lang: str) -> None:
    text = done("textbook", name, "--lang", lang)
    assert [number for number in FAMOUS[name] if number not in text] == []
    assert max(map(display_width, text.splitlines())) <= WIDTH
    assert (re.search("[一-鿿]{3}", text.splitlines()[0]) is not None) == (lang == "zh")


_NUMBER = r"\d+(?:\.\d+)?(?:e-\d+)?"
_SUM = rf"(?:{_NUMBER}|[ ·+−/^()])+"


def value_of(expression: str) -> Fraction:
    """Reckon numbers with signs between them."""
    expression = expression.strip()
    for bracket, other, at in (("(", ")", 0), (")", "(", -1)):  # one that belongs to the sentence around it
        if expression.count(bracket) > expression.count(other) and expression[at] == bracket:
            expression = expression.strip(bracket)
    made = re.sub(
        _NUMBER,
        lambda number: f"Fraction('{number[0]}')",
        expression.replace("·", "*").replace("−", "-").replace("^", "**"),
    )
    # On these pages 3/4 is a number, and what is divided by another stands in brackets: Python's order serves.
    return Fraction(eval(made, {"Fraction": Fraction}))


def equations(line: Line) -> list[tuple[Fraction, Fraction]]:
    """The numbers on both sides of each sign of equality."""
    found = []
    for left, right in pairwise(line_text(line).split(" = ")):
        before, after = re.search(rf"(?<![=\w]){_SUM}$", left), re.match(_SUM, right)
        if before and re.search(r"(?:ln|exp|θ|λ) ?[-−(]*$", left[: before.start()]):
            continue  # a function of it
        # "… · 1/5" goes on from the cell before it: another test multiplies rows.
        if before and after and re.match(r" *\(*−?\d", before[0]) and re.search(r"\d", after[0]):
            found.append((value_of(before[0]), value_of(after[0])))
    return found


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("spam", 10),
        ("melon8", 6),
        ("melon3", 1),
        ("lihang", 4),
        ("grass", 12),
        ("structures", 4),
        ("em", 20),
        ("nb", 2),
        ("laplace", 3),
        ("risk", 6),
        ("mle", 4),
        ("spode", 2),
        ("tan", 2),
        ("aode", 2),
        ("bayes-estimate", 1),
        ("bernoulli", 2),
        ("multinomial", 2),
        ("gaussian2", 2),
        ("lda", 2),
        ("bic", 2),
        ("melonnet", 4),
        ("seven", 2),
        ("lazy", 2),
        ("incremental", 2),
        ("gibbs", 1),
    ],
)
def test_both_sides_of_every_equation_are_equal(name: str, least: int) -> None:
    found = [(line, *pair) for line in lines_of(PAGES[name]("en")) for pair in equations(line)]
    for line, left, right in found:
        assert float(left) == pytest.approx(float(right), rel=7e-4), line_text(line)
    assert len(found) >= least


@pytest.mark.parametrize("name", ["melon3", "lihang", "nb", "laplace", "spode", "tan"])
def test_every_row_of_fractions_multiplies_to_its_product(name: str) -> None:
    grids = [i for i in PAGES[name]("en").working if isinstance(i, Grid) and i.header[-1] == "product"]
    for row in [row for grid in grids for row in grid.rows]:
        *factors, product = (Fraction(line_text(cell)) for cell in row[1:])
        assert math.prod(factors) == product
    assert len(grids) == {"lihang": 2, "laplace": 2}.get(name, 1)


def found_in(sheet: Sheet) -> list[PrintedNumber]:
    """Everything that is to be found, in the order of the page."""
    lines = []
    for item in sheet.working:
        lines += [cell for row in item.rows for cell in row] if isinstance(item, Grid) else [item]
    lines += [sheet.answer, *(erratum.right for erratum in sheet.errata)]
    return [piece for line in lines for piece in line if isinstance(piece, PrintedNumber)]


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_an_exercise_has_equal_blanks_and_its_answers_fill_them(name: str, lang: str) -> None:
    sheet = PAGES[name](lang)
    found = found_in(sheet)
    shown, hidden, told = (
        done("textbook", name, "--lang", lang, *m) for m in ((), ("--hide",), ("--answers",))
    )
    assert shown.rstrip("\n") == as_text(sheet)
    start = shown.index("演算" if lang == "zh" else "Working")
    assert shown[:start] == hidden[:start]  # what is given stays
    blanks = re.findall(r"\[\d+\]_+", hidden)
    assert [blank.strip("_") for blank in blanks] == [f"[{i}]" for i in range(1, len(found) + 1)]
    assert {len(blank) for blank in blanks} == {8}
    assert [f"[{i}] {each.text}" for i, each in enumerate(found, 1) if f"[{i}] {each.text}" not in told] == []
    assert told.splitlines()[0].endswith(sheet.title) and sheet.question[:20] not in told
    # The line of a blank does not show what belongs into it.
    for line in (line for line in lines_of(sheet) if len(line) > 1):
        fixed = "".join(piece for piece in line if isinstance(piece, str))
        assert not any(isinstance(p, PrintedNumber) and "/" in p.text and p.text in fixed for p in line)
    for item, blank in zip(sheet.working, exercise(sheet).working, strict=True):
        if isinstance(item, Grid):
            assert isinstance(blank, Grid) and blank.header == item.header


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_tables_of_a_page_are_tables_for_display(name: str, lang: str) -> None:
    sheet = PAGES[name](lang)
    text = as_text(sheet)
    for grid in (each for each in (*sheet.given, *sheet.working) if isinstance(each, Grid)):
        table = grid.table(line_text)
        assert [f"    {line}" for line in text_lines(table) if f"    {line}\n" not in text] == []
        assert table_html(table).count("<tr>") == 1 + len(grid.rows)


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_html_is_one_whole_file_with_fractions(name: str, lang: str) -> None:
    for more in ((), ("--hide",), ("--answers",)):
        page = done("textbook", name, "--html", "--lang", lang, *more)
        ElementTree.fromstring(
            page.partition("\n")[2]
            .replace('<meta charset="utf-8">', "")
            .replace('<meta name="viewport" content="width=device-width,initial-scale=1">', "")
        )
        assert "http" not in page and "<script" not in page
        assert ('class="blank"' in page) == (more == ("--hide",))
    sheet = PAGES[name](lang)
    assert sheet.title in unescape(page) and as_html(sheet).count("<mfrac>") > 2


def test_html_sets_functions_and_products_as_tex_does() -> None:
    """A thin space beside ln unless a bracket is there, and every factor of a product within it."""
    text = as_html(PAGES["mle"]("en"))
    space = '<mspace width="0.17em"></mspace>'
    assert f"<mn>8</mn>{space}<mi>ln</mi>{space}<mi>θ</mi>" in text
    assert f"<mn>9</mn>{space}<mrow><mi>ln</mi><mo>(</mo>" in text
    assert "<mo>∏</mo><mrow><mo>(</mo><mfrac>" in text
    latex = as_latex(PAGES["mle"]("en")).replace(" ", "")
    assert r"\prod\left(\frac{" in latex and r"\frac{\prod" not in latex


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_sources_are_in_the_language_of_the_page(name: str, lang: str) -> None:
    source = PAGES[name](lang).source
    assert source.startswith("Machine Learning") or ("Tsinghua" in source) <= (lang == "en")
    assert "。 " not in source and ".." not in source


def test_both_languages_find_the_same() -> None:
    for make in PAGES.values():
        english, chinese = make("en"), make("zh")
        assert english.results == chinese.results
        assert len(english.errata) == len(chinese.errata) > 0
        numbers = [
            sorted(
                p.text
                for line in lines_of(s)
                for p in line
                if isinstance(p, PrintedNumber) and p.value is not None
            )
            for s in (english, chinese)
        ]
        assert numbers[0] == numbers[1]


def test_all_pages_agree_with_the_library() -> None:
    result = run("textbook", "--check")
    assert result.exit_code == 0 and "DIFFER" not in result.stdout and result.stderr == ""
    told = json.loads(done("textbook", "--check", "--json"))
    assert told["agree"] is True
    assert [page["page"] for page in told["pages"]] == list(PAGES) == list(LIBRARY)
    assert [page["numbers"] for page in told["pages"]] == [len(make("en").results) for make in PAGES.values()]
    assert sum(page["numbers"] for page in told["pages"]) > 100
    # Logarithms of probabilities that are small beside their sums lose a digit or two.
    assert all(page["largest_difference"] < 1e-12 for page in told["pages"])


def test_a_difference_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = LIBRARY["grass"]
    monkeypatch.setitem(LIBRARY, "grass", lambda: real() | {"P(B=1)": 0.272000001})  # type: ignore[arg-type]
    monkeypatch.setitem(pages.PRINTED_COINS, "(0.4, 0.6, 0.7)", ("76/187", "51/96", "119/185"))
    result = run("textbook", "--check")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["grass", "em"]
    assert "P(B=1)" in lines[0] and "51/95 by fractions, 51/96 in print" in lines[1]
    assert result.stdout.count("DIFFER") == 2
    assert run("textbook", "grass", "--check").exit_code == 1
    assert run("textbook", "spam", "--check").exit_code == 0
    sheet = PAGES["spam"]("en")
    found = LIBRARY["spam"]()
    assert compared(sheet, found | {"more": 1.0}).differing == ("more is not on the page",)
    assert len(compared(sheet, {"P(word)": float("nan")}).differing) == len(sheet.results)


@cache
def parse(formula: str) -> None:
    """Refuse what is no mathematics: matplotlib reads enough of LaTeX for fractions and powers of ten."""
    pytest.importorskip("matplotlib.mathtext").MathTextParser("path").parse(f"${formula}$")


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_latex_is_whole(name: str, lang: str, hide: bool) -> None:
    sheet = exercise(PAGES[name](lang)) if hide else PAGES[name](lang)
    latex = done("textbook", name, "--latex", "--lang", lang, *(["--hide"] if hide else []))
    assert latex == as_latex(sheet) + "\n"
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", latex):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    for kind in ("tabular", "center"):
        assert latex.count(rf"\begin{{{kind}}}") == latex.count(rf"\end{{{kind}}}") >= 1
    for columns, body in re.findall(r"\\begin\{tabular\}\{(l+)\}\n(.*?)\\end\{tabular\}", latex, re.S):
        rows = [row for row in body.splitlines() if row != r"\hline"]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns)}
        assert all(row.endswith(r" \\") for row in rows)
    formulas = re.findall(r"(?<!\\)\$(.+?)(?<!\\)\$", latex)
    outside = re.sub(r"(?<!\\)\$(.+?)(?<!\\)\$", "", re.sub("(?m)^% Needs.*", "", latex))
    assert not re.search(r"(?<!\\)[%#_^~$]|[←→·−σμπαΣ…|]", outside)
    for formula in set(formulas):
        # What matplotlib does not know, in words that it knows.
        parse(
            formula.replace(r"\underline", r"\overline")
            .replace(r"\hspace{1.8em}", "b")
            .replace(r"\mbox", r"\text")
        )
    blanks = len(found_in(PAGES[name](lang)))
    assert latex.count(r"\underline{\hspace{1.8em}}") == (blanks if hide else 0)
    working = latex[latex.index(r"\subsection") :]
    assert r"\mid" in working or "P(" not in working
    if not hide:
        assert working.count(r"\frac") > 2


@pytest.mark.parametrize("name", PAGES)
def test_json_holds_the_numbers_and_hides_them(name: str) -> None:
    told = json.loads(done("textbook", name, "--json"))
    for result in PAGES[name]("en").results:
        found = told["results"][result.name]
        assert found["value"] == float(result.exact)
        assert "fraction" not in found or Fraction(found["fraction"]) == result.exact
    hidden = json.loads(done("textbook", name, "--json", "--hide"))
    assert "results" not in hidden and '"numbers":' not in json.dumps(hidden)
    assert "____" in hidden["answer"]["text"] and hidden["given"] == told["given"]


def test_without_a_name_the_pages_are_listed() -> None:
    assert [page["page"] for page in json.loads(done("textbook", "--json"))] == list(PAGES)
    assert all(name in done("textbook", "--lang", "zh") for name in (*PAGES, "三枚硬币"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["melon9"], "'melon8'"),
        (["em", "--latex", "--json"], "Give one"),
        (["em", "--latex", "--html"], "--html"),
        (["em", "--hide", "--answers"], "--answers"),
        (["--check", "--hide"], "--hide"),
        (["--latex"], "structures"),
        (["em", "--lang", "fr"], "fr"),
    ],
)
def test_what_means_nothing_is_refused(arguments: list[str], said: str) -> None:
    assert said in refused("textbook", *arguments)


OWN = """outlook,wind,temp,play
sunny,weak,30.5,no
sunny,strong,29,no
overcast,weak,28,yes
rain,weak,21,yes
rain,,19.5,yes
rain,strong,18,no
overcast,strong,20,yes
"""
# Names that are signs of LaTeX and of HTML, Chinese, and words that look like formulas.
ODD = """P(a | b),x_1 & y,50%,类别 <b>
a = 1,{c},#1,是
b,~d,\\frac,否
a = 1,~d,#1,是
b,{c},#1,否
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "mine.csv").write_text(OWN, encoding="utf-8")
    return str(tmp_path / "mine.csv")


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("name", OF_TABLES)
def test_pages_of_ones_own_table(name: str, lang: str, own: str) -> None:
    numbers = name in ("nb", "laplace", "risk", "mle")
    how = [
        "--table",
        own,
        "--target",
        "play",
        "--row",
        "3",
        "--lang",
        lang,
        *([] if numbers else ["--drop", "temp"]),
    ]
    told = json.loads(done("textbook", name, *how, "--check", "--json"))
    assert told["agree"] is True and told["pages"][0]["numbers"] >= 4
    text = done("textbook", name, *how)
    assert "overcast" in text and ("30.5" in text) == numbers
    assert "[1]_" in done("textbook", name, *how, "--hide") and "[1] " in done(
        "textbook", name, *how, "--answers"
    )
    assert r"\frac" in done("textbook", name, *how, "--latex") and "<math>" in done(
        "textbook", name, *how, "--html"
    )


@pytest.mark.parametrize("row", range(1, 8))
@pytest.mark.parametrize("name", OF_TABLES)
def test_every_row_of_ones_own_table_agrees_with_the_library(name: str, row: int, own: str) -> None:
    how = ["--table", own, "--target", "play", "--row", str(row), "--categorical", "temp"]
    if name in ("nb", "mle", "laplace", "risk"):
        how = how[:-2]
    told = json.loads(done("textbook", name, *how, "--check", "--json"))
    assert told["agree"] is True, told


@pytest.mark.parametrize("name", OF_TABLES)
def test_odd_names_of_ones_own_table_are_only_names(name: str, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text(ODD, encoding="utf-8")
    how = ["--table", str(tmp_path / "odd.csv"), "--target", "类别 <b>", "--row", "2"]
    assert json.loads(done("textbook", name, *how, "--check", "--json"))["agree"] is True
    page = done("textbook", name, *how, "--html")
    assert "<b>" not in page
    latex = done("textbook", name, *how, "--latex")
    assert not re.search(r"(?<!\\)[#&](?! )|(?<!\\)%(?! Needs)", latex.replace(" & ", " "))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nb"], "--target"),
        (["em", "--target", "play"], "laplace"),
        (["nb", "--target", "plays"], "'play'"),
        (["nb", "--target", "play", "--row", "8"], "1 to 7"),
        (["nb", "--target", "play", "--row", "0"], "1 to 7"),
        (["tan", "--target", "play"], "temp"),
        (["nb", "--target", "play", "--drop", "outlook", "--drop", "temp", "--row", "5"], "--row"),
        (["nb", "--target", "play", "--limit", "3"], "'temp'"),
    ],
)
def test_what_no_page_can_be_made_of_is_refused(arguments: list[str], said: str, own: str) -> None:
    assert said in refused("textbook", *arguments, "--table", own)


def test_a_table_too_large_for_a_page_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large.csv").write_text("a,y\n" + "u,0\nv,1\n" * 30 + "u,1\nv,0\n", encoding="utf-8")
    assert "62" in refused("textbook", "nb", "--table", str(tmp_path / "large.csv"), "--target", "y")
    assert "--table" in refused("textbook", "nb", "--row", "3")


def test_ones_own_table_is_read_with_care(tmp_path: Path) -> None:
    rows = [
        f"C{i:03d},2024-01-{i % 28 + 1:02d},{'-' if i == 5 else 20 + i * 7 % 13},{'uv'[i % 3 > 0]},{i % 2}"
        for i in range(20)
    ]
    path = tmp_path / "class.csv"
    path.write_text("\n".join(["name,day,age,a,y", *rows]), encoding="utf-8")
    how = ["textbook", "nb", "--table", str(path), "--target", "y", "--row", "2"]
    result = run(*how)
    assert result.exit_code == 0, result.output
    assert all(text in result.stderr for text in ("'name'", "'day'", "--keep", "'-'", "'age'"))
    assert "C001" not in result.stdout
    kept = run(*how, "--keep", "name", "--drop", "day")
    assert kept.exit_code == 0 and "C001" in kept.stdout and "--keep" not in kept.stderr
    assert "--table" in refused("textbook", "nb", "--keep", "name")


def test_lines_break_where_they_may() -> None:
    text = "一二三（四五）六，seven eight (nine) 十。"
    for width in range(12, 50):
        lines = wrapped(text, "  ", width)
        assert "".join(line[2:] for line in lines).replace(" ", "") == text.replace(" ", "")
        assert all(display_width(line) <= width and line[2] not in "，。）)" for line in lines)
    assert line_text((exact(Fraction(3, 4)), " x")) == "3/4 x"


def test_neither_pages_nor_networks_nor_decisions_import_scikit_learn() -> None:
    code = (
        "import sys\nfrom bayeskit._cli.main import app\n"
        "for a in (['textbook', '--check'], ['textbook', 'melon3'], ['demo', 'grass'], ['demo', 'asia'], "
        "['demo', 'spam']):\n    app(a, standalone_mode=False)\n"
        "sys.exit('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def demos() -> dict[str, Any]:
    return {name: json.loads(done("demo", name, "--json")) for name in NAMES if name != "docstrings"}


def test_demonstrations_of_networks(demos: dict[str, Any]) -> None:
    seen = demos["grass"]["posteriors"]
    assert [each["rain"] for each in seen] == pytest.approx([1 / 5, 25 / 34, 125 / 134, 5 / 9])
    assert [each["sprinkler"] for each in seen] == pytest.approx([1 / 10, 23 / 68, 43 / 268, 1 / 10])
    assert demos["grass"]["joe"] == pytest.approx({"seen": 67 / 85, "done": 0.36})
    lung = [each["lung"] for each in demos["asia"]["posteriors"]]
    assert lung[:3] == pytest.approx([11 / 200, 192500 / 393893, 3080 / 8291])
    for name in ("grass", "asia"):
        assert [each["independent"] for each in demos[name]["independence"]] == [True, False]
    information = [each["information"] for each in demos["asia"]["ask_next"]]
    assert information == sorted(information, reverse=True)


def test_the_demonstration_of_a_decision(demos: dict[str, Any]) -> None:
    for word in demos["spam"]["words"]:
        spam, least = word["spam"], min(word["risks"].values())
        assert word["risks"] == pytest.approx({"delete": 20 * (1 - spam), "keep": spam})
        assert word["action"] == ("delete" if spam > 20 / 21 else "keep")
        assert word["action_if_one_may_ask"] == ("ask" if least > 0.5 else word["action"])
    # One of each: a probable spam that is kept is the point of the story.
    assert [w["action"] for w in demos["spam"]["words"] if w["spam"] > 0.5] == ["delete", "delete", "keep"]


def test_the_demonstrations_that_learn(demos: dict[str, Any]) -> None:
    assert {each["sex"] for each in demos["mixture"]["groups"]} == {0, 1}
    assert demos["mixture"]["agreed"] == 93


def test_the_demonstration_of_texts() -> None:
    told = json.loads(done("demo", "docstrings", "--json", "--lang", "zh"))
    errors = {each["model"]: each["error"] for each in told["models"]}
    assert errors["majority class"] == 0.75
    assert max(error for model, error in errors.items() if model.endswith("NB()")) < 0.4
    assert "dataframe" in told["telling_words"]["pandas"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "docstrings"])
def test_demonstrations_in_chinese(name: str) -> None:
    result = run("demo", name, "--lang", "zh")
    assert result.exit_code == 0, result.output
    *page, first, second, third = result.stdout.splitlines()
    assert page[-1] == "下一步：" and all(line.startswith("  ") for line in (first, second, third))
    assert max(map(display_width, page)) <= 100
    assert "1. " in result.stdout and "{" not in result.stdout
