"""The options that commands share: how to read a table, how to say the answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated, Any

import typer

from bayeskit.cli.completing import columns
from bayeskit.cli.door import set_debugging
from bayeskit.cli.language import VARIABLE

Pair = tuple[str, str]
"""A text in English and in Chinese."""


class FileUse(Enum):
    """What a command does with the file that an option or argument names; `spread` guards what is read."""

    read = "read"
    written = "written"
    changed = "changed"
    """It may be written onto, since the command changes it in its place."""


class Lang(StrEnum):
    """The language of what is printed."""

    en = "en"
    zh = "zh"


@dataclass(frozen=True)
class Reading:
    """How a table is read; every command that reads one takes all of these."""

    sep: Annotated[
        str | None,
        typer.Option("--sep", help="What separates cells, such as ';' or tab; found if not given."),
    ] = None
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Such as gb18030; UTF-8, UTF-16 and GB18030 are found.")
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option("--missing", metavar="TEXT", help="A text that means missing, such as '?'."),
    ] = None
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            "--categorical", metavar="COL", autocompletion=columns, help="Read numbers in COL as names."
        ),
    ] = None
    numeric: Annotated[
        list[str] | None,
        typer.Option(
            "--numeric", metavar="COL", autocompletion=columns, help="Read COL as measured numbers."
        ),
    ] = None
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Read the first LIMIT rows.")] = None


@dataclass(frozen=True)
class Common:
    """What every command takes."""

    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False
    lang: Annotated[
        Lang, typer.Option("--lang", envvar=VARIABLE, help="The language of what is printed.")
    ] = Lang.en
    debug: Annotated[
        bool, typer.Option("--debug", callback=set_debugging, help="Show where an error arose.")
    ] = False

    def say(self, pair: Pair, **values: Any) -> str:
        """Return a text in the language asked for.

        Examples
        --------
        >>> Common(lang=Lang.zh).say(("{n} rows", "{n} 行"), n=3)
        '3 行'
        """
        return pair[self.lang is Lang.zh].format(**values)

    def listed(self, names: Any) -> str:
        """Return names in a row."""
        return ("、" if self.lang is Lang.zh else ", ").join(map(str, names))


Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file; - reads CSV from standard input."),
    FileUse.read,
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model saved by 'fit'."), FileUse.read]
NetworkFile = Annotated[
    str,
    typer.Argument(
        metavar="NET", help="A network: .bif, .xml, .net, .xdsl, .uai, .json …, or a saved model."
    ),
    FileUse.read,
]
Output = Annotated[
    str, typer.Option("-o", "--output", metavar="FILE", help="The file to write."), FileUse.written
]
MaybeOutput = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="The file to write; without it standard output."),
    FileUse.written,
]
Loss = Annotated[
    str | None,
    typer.Option("--loss", metavar="FILE", help="CSV of costs: a row an action, a column a class."),
    FileUse.read,
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet", help="Put ' before text that a spreadsheet would take for a formula (= + - @)."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL", autocompletion=columns, help="Leave a column out."),
]
Given = Annotated[
    list[str] | None,
    typer.Option("--given", metavar="NODE=STATE", help="What was observed; NODE!=STATE: what it is not."),
]
