"""discretize: cut the numeric columns of a table into intervals."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from bayeskit._cli.completion import columns
from bayeskit._cli.options import Common, Data, Drop, Keep, MaybeOutput, Reading, Spreadsheet
from bayeskit._messages import WordList

WORDS = WordList(
    {
        "column": "column",
        "cuts": "cut points",
        "none": "none: one interval",
        "written": "{n:,} rows written to {path}.",
    }
)


class Method(StrEnum):
    """Where to cut."""

    mdl = "mdl"
    frequency = "frequency"
    width = "width"
    proportional = "proportional"


def discretize(
    data: Data,
    reading: Reading,
    common: Common,
    output: MaybeOutput = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COL",
            autocompletion=columns,
            help="The class column. mdl needs it; it is never cut.",
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option("--method", help="By class (mdl), equal frequency, equal width, or √n intervals."),
    ] = Method.mdl,
    bins: Annotated[
        int, typer.Option("--bins", help="The number of intervals for 'frequency' and 'width'.")
    ] = 5,
    codes: Annotated[bool, typer.Option("--codes", help="Write 0, 1, … instead of '(0.4, 0.6]'.")] = False,
    drop: Drop = None,
    keep: Keep = None,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Cut the numbers of a table into intervals.

    Text columns are unchanged. Identifiers, dates, constants and copies of the target are left out, with a note.

    With -o, the cut points are printed; otherwise, the table is.
    """
    from bayeskit._cli.output import form_of
    from bayeskit._cli.table_rows import cut_points, opened, screened, write_cut
    from bayeskit.errors import UsageError

    if method is Method.mdl and target is None:
        raise UsageError(
            "--method mdl cuts where the class changes. Name the class column with --target COL."
        )
    form = form_of(output, common.as_json, spreadsheet)
    with opened(data, reading, target) as rows:
        rows.need(*([target] if target else []))
        if target is not None and method is Method.mdl:
            rows.need_classes(target)
        rows, _ = screened(rows, target, drop, keep)
        points = cut_points(rows, target, method.value, bins)
        n = write_cut(rows, points, codes, output, form, spreadsheet)
    if output not in (None, "-"):
        _print_result(points, n, str(output), common)


def _print_result(points: dict[str, Any], n: int, path: str, common: Common) -> None:
    from bayeskit._cli.output import console, print_json, show, table
    from bayeskit._report.fractions import short

    if common.as_json:
        cuts = {name: cuts.tolist() for name, cuts in points.items()}
        print_json({"cut_points": cuts, "rows": n, "written": path})
        return
    none = common.say(WORDS["none"])
    lines = [(name, common.listed(map(short, cuts.tolist())) or none) for name, cuts in points.items()]
    console().print(table([common.say(WORDS["column"]), common.say(WORDS["cuts"])], lines, 2))
    show(common.say(WORDS["written"], n=n, path=path))
