"""textbook: exercises worked by hand, with every number recomputed; demo: demonstrations on bundled data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bayeskit._cli.completion import demos, textbook_pages
from bayeskit._cli.options import Common, Drop, FileUse, Keep, Reading
from bayeskit._messages import Joined, Term, WordList

if TYPE_CHECKING:
    from bayeskit._report.textbook.lesson import Lesson
    from bayeskit._report.textbook.sheet import Sheet


WORDS = WordList(
    {
        "page": "page",
        "title": "title",
        "numbers": "numbers checked",
        "largest": "largest difference",
        "result": "result",
        "agree": "agree",
        "differ": "DIFFER",
        "next": "bayeskit textbook {name} prints a page, with --hide one for class; --check recomputes all of them.",
        "passed": "Every number printed is that of exact fractions and that of the library.",
    }
)


def textbook(
    common: Common,
    reading: Reading,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAGE]",
            autocompletion=textbook_pages,
            help="Such as spam, nb, tan or em; without a name, all pages are listed.",
        ),
    ] = None,
    own: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="FILE",
            help="Use your own table for nb, laplace, risk, mle, spode, tan or aode.",
        ),
        FileUse.read,
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COL", help="The class column of --table.")
    ] = None,
    row: Annotated[
        int | None,
        typer.Option("--row", help="The row of --table to classify; the default is the first, 1."),
    ] = None,
    drop: Drop = None,
    keep: Keep = None,
    hide: Annotated[
        bool, typer.Option("--hide", help="Replace the numbers of the working by numbered blanks.")
    ] = False,
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Print the answer sheet for the blanks of --hide."),
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX to paste into a document.")] = False,
    html: Annotated[bool, typer.Option("--html", help="Print one HTML file, formulas in MathML.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Recompute all pages, or PAGE; exit with 1 if one differs.")
    ] = False,
) -> None:
    """Work through a textbook exercise in exact fractions.

    Each page has the question, the working, the answer, and errors that are common in other sources.
    """
    from bayeskit._messages import did_you_mean
    from bayeskit._report.textbook.pages import OF_TABLES, PAGES
    from bayeskit.errors import SettingError, UsageError

    if name is not None and name not in PAGES:
        raise SettingError(
            "There is no page {name!r}. {hint}", name=name, hint=did_you_mean(name, PAGES, len(PAGES))
        )
    if latex + html + common.as_json > 1:
        raise UsageError("--latex, --html and --json are forms of one page. Give one of them.")
    if hide and answers:
        raise UsageError("--hide prints the exercise, --answers its solutions. Give one of them.")
    if check and (hide or answers or latex or html):
        raise UsageError(
            "--check prints no page, so --hide, --answers, --latex and --html have no effect. Leave them out."
        )
    if name is None and (hide or answers or latex or html):
        raise UsageError("Which page? Name one: {names}.", names=Joined(PAGES))
    lesson = None
    if own is not None:
        if name is None or name not in OF_TABLES:
            raise UsageError(
                "--table makes one of these pages of your table: {names}. Name one.", names=Joined(OF_TABLES)
            )
        if target is None:
            raise UsageError("Which column of {file!r} is the class? Say it with --target COL.", file=own)
        lesson = own_lesson(
            own, target, 1 if row is None else row, drop, keep, reading, whole=name in ("nb", *OF_NUMBERS)
        )
    elif target is not None or row is not None or drop or keep:
        raise UsageError(
            "--target, --row, --drop and --keep are about your own table. Name it with --table FILE."
        )
    lang = common.lang.value
    if check:
        _check(
            [PAGES[each](lang) for each in ([name] if name else PAGES)]
            if lesson is None
            else [OF_TABLES[str(name)](lang, lesson)],
            common,
            lesson,
        )
    elif name is None:
        _list(common)
    else:
        sheet = PAGES[name](lang) if lesson is None else OF_TABLES[name](lang, lesson)
        _print(sheet, common, hide, answers, latex, html)


# What a class can work through in an hour, and what fits on a page.
MOST = {"rows of data": 60, "attributes": 8, "classes": 4}
# Pages of tables that have measured numbers, too.
OF_NUMBERS = ("laplace", "risk", "mle")


def own_lesson(
    path: str,
    target: str,
    row: int,
    drop: list[str] | None,
    keep: list[str] | None,
    reading: Reading,
    whole: bool,
) -> Lesson:
    """Read a small table as every command does; ``whole`` says whether measured columns may be in it."""
    from fractions import Fraction

    from bayeskit._cli.table_rows import opened, screened
    from bayeskit._report.textbook.lesson import Lesson
    from bayeskit.errors import ColumnError, DataError, SettingError

    with opened(path, reading) as rows:
        rows.need(target)
        rows.need_classes(target)
        rows, _ = screened(rows, target, drop, keep)
        columns = {
            str(name): column.tolist() for name, column in rows.read_as(list(rows.names)).columns().items()
        }
    cells = {name: [_cell(cell) for cell in column] for name, column in columns.items()}
    y = [str(c) if isinstance(c, Fraction) else c for c in cells.pop(target)]
    sizes = {"rows of data": len(y), "attributes": len(cells), "classes": len(set(y))}
    for what, most in MOST.items():
        if sizes[what] > most:
            raise DataError(
                "{file!r} has {n} {what}; a page has room for {most}. Take fewer with --limit or --drop.",
                file=path,
                n=sizes[what],
                what=Term(what),
                most=most,
            )
    if None in y:
        raise DataError(
            "Row {row} of {file!r} has no class ({target!r}). Leave it out of the file.",
            row=y.index(None) + 1,
            file=path,
            target=target,
        )
    if not 1 <= row <= len(y):
        raise SettingError("--row is {row}; {file!r} has rows 1 to {n}.", row=row, file=path, n=len(y))
    lesson = Lesson(
        cells,
        y,
        target,
        {name: column[row - 1] for name, column in cells.items() if column[row - 1] is not None},
        row,
        path,
    )
    if lesson.numeric and not whole:
        raise ColumnError(
            "This page is of categories, and these are measured numbers: {names}. Read them as names with "
            "--categorical COL, or leave them out with --drop COL.",
            names=Joined(lesson.numeric),
        )
    if not lesson.query:
        raise DataError("Row {row} of {file!r} has no values. Take another with --row.", row=row, file=path)
    for name in lesson.query:
        for c in lesson.classes:
            own = lesson.of_class(name, c)
            if not own or (name in lesson.numeric and len(set(own)) == 1):
                raise DataError(
                    "{name!r} has {n} different values in class {label!r}, too few to estimate from. Leave "
                    "it out with --drop.",
                    name=name,
                    n=len(set(own)),
                    label=c,
                )
    return lesson


def _cell(cell: object) -> object:
    from fractions import Fraction

    if cell is None or cell != cell:  # NaN, which equals nothing
        return None
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return str(cell)
    return Fraction(repr(cell))


def _print(sheet: Sheet, common: Common, hide: bool, answers: bool, latex: bool, html: bool) -> None:
    from bayeskit._cli.output import print_json, show
    from bayeskit._report.textbook import sheet as forms

    shown = forms.exercise(sheet) if hide else forms.answers(sheet) if answers else sheet
    if common.as_json:
        print_json(shown.to_dict())
    else:
        show((forms.as_latex if latex else forms.as_html if html else forms.as_text)(shown))


def _list(common: Common) -> None:
    from bayeskit._cli.output import console, print_json, show, table
    from bayeskit._report.textbook.pages import PAGES

    sheets = [make(common.lang.value) for make in PAGES.values()]
    if common.as_json:
        print_json([{"page": sheet.name, "title": sheet.title} for sheet in sheets])
        return
    headers = [common.say(WORDS[key]) for key in ("page", "title")]
    console().print(table(headers, [(sheet.name, sheet.title) for sheet in sheets], 2))
    show(common.say(WORDS["next"], name=sheets[0].name))


def _check(sheets: list[Sheet], common: Common, lesson: Lesson | None) -> None:
    from bayeskit._cli.output import console, note, print_json, show, table
    from bayeskit._cli.textbook_check import check

    checks = [check(sheet, lesson) for sheet in sheets]
    failed = [each for each in checks if each.differing]
    if common.as_json:
        print_json({"agree": not failed, "pages": [each.to_dict() for each in checks]})
    else:
        rows = [
            (
                each.page,
                common.say(WORDS["differ" if each.differing else "agree"]),
                str(each.compared),
                f"{each.largest:.1e}",
            )
            for each in checks
        ]
        headers = [common.say(WORDS[key]) for key in ("page", "result", "numbers", "largest")]
        console().print(table(headers, rows, 2))
        if not failed:
            show(common.say(WORDS["passed"]))
    for each in failed:
        for difference in each.differing:
            note(f"{each.page}: {difference}.")
    if failed:
        raise typer.Exit(1)


# demo: demonstrations on bundled data: a table from its columns to a decision, networks, a mixture, texts.


def demo(
    common: Common,
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=demos,
            help="melon, iris, docstrings, spam, grass, asia, mixture, or a bundled table.",
        ),
    ] = "adult",
) -> None:
    """Show what bayeskit does on bundled data.

    For a table: compare models, explain a row, decide under a loss. grass and asia query a network, mixture finds
    unlabelled groups, docstrings classifies texts, and spam leads from one word to a decision.
    """
    from bayeskit._cli.demos import NAMES, make_demo
    from bayeskit._cli.demos.stories import known_names, table_name
    from bayeskit._cli.output import print_json
    from bayeskit._messages import did_you_mean
    from bayeskit.errors import SettingError

    lang = common.lang.value
    if name in NAMES:
        from bayeskit._cli.demos.demo_pages import print_page

        found = make_demo(name, lang)
        print_json(found.to_dict()) if common.as_json else print_page(found, lang)
        return
    table = table_name(name)
    if table is None:
        known = list(dict.fromkeys((*NAMES, *known_names())))
        hint = did_you_mean(name, known)
        raise SettingError(
            "There is no table {name!r}. {hint} All are: {names}.", name=name, hint=hint, names=Joined(known)
        )
    from bayeskit._cli.demos.table_demo import print_demo, run

    result = run(table, lang)
    if common.as_json:
        print_json(result.to_dict())
    else:
        print_demo(result)
