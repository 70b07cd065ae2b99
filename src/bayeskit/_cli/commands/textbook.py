"""textbook: textbook exercises worked by hand, with every number recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bayeskit._cli.completion import textbook_pages
from bayeskit._cli.options import Common
from bayeskit._messages import Joined, WordList

if TYPE_CHECKING:
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
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAGE]",
            autocompletion=textbook_pages,
            help="Such as spam, nb, tan or em; without one, all are listed.",
        ),
    ] = None,
    hide: Annotated[
        bool, typer.Option("--hide", help="Leave numbered blanks for the numbers of the working.")
    ] = False,
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Print the answer sheet: what belongs into the blanks of --hide."),
    ] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print LaTeX, to be pasted into a document.")
    ] = False,
    html: Annotated[bool, typer.Option("--html", help="Print one HTML file, formulas in MathML.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Recompute all pages, or PAGE; exit with 1 if one differs.")
    ] = False,
) -> None:
    """Work through an exercise of the textbooks, in exact fractions.

    A page has the question, the working, the answer, and what widely copied sources print instead.
    """
    from bayeskit._messages import did_you_mean
    from bayeskit._report.textbook.pages import PAGES
    from bayeskit.errors import SettingError, UsageError

    if name is not None and name not in PAGES:
        raise SettingError("There is no page {name!r}. {hint}", name=name, hint=did_you_mean(name, PAGES))
    if latex + html + common.as_json > 1:
        raise UsageError("--latex, --html and --json are forms of one page. Give one of them.")
    if hide and answers:
        raise UsageError(
            "--hide prints the exercise, --answers what belongs into its blanks. Give one of them."
        )
    if check and (hide or answers or latex or html):
        raise UsageError(
            "--check prints no page, so --hide, --answers, --latex and --html mean nothing with it. Leave them out."
        )
    if name is None and (hide or answers or latex or html):
        raise UsageError("Which page? Name one: {names}.", names=Joined(PAGES))
    if check:
        _check(list(PAGES) if name is None else [name], common)
    elif name is None:
        _list(common)
    else:
        _print(PAGES[name](common.lang.value), common, hide, answers, latex, html)


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


def _check(names: list[str], common: Common) -> None:
    from bayeskit._cli.output import console, note, print_json, show, table
    from bayeskit._cli.textbook_check import check
    from bayeskit._report.textbook.pages import PAGES

    checks = [check(PAGES[name](common.lang.value)) for name in names]
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
