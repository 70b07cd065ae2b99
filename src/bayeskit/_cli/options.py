"""The options that commands share: how to read a table, and how to print the result.

A parameter of a command whose type is a dataclass of options is replaced by all of them (`spread`).
"""

from __future__ import annotations

import inspect
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from itertools import combinations
from typing import Annotated, Any, TextIO, get_type_hints

import typer

from bayeskit._cli.completion import columns
from bayeskit._cli.error_exits import STANDARD_OUTPUT, set_debugging
from bayeskit._cli.output import noting_warnings
from bayeskit._messages import VARIABLE, Joined, Message, filled, listed, text_in, translator
from bayeskit.errors import UsageError


class FileUse(Enum):
    """Whether a command reads or writes the file of an option or argument; `spread` protects files that are read."""

    read = "read"
    written = "written"
    changed = "changed"
    """The file may also be the output, because the command changes it in place."""


class Lang(StrEnum):
    "The language of the output."

    en = "en"
    zh = "zh"


@dataclass(frozen=True)
class Reading:
    """How a table is read; every command that reads one takes all of these."""

    sep: Annotated[
        str | None,
        typer.Option("--sep", help="The separator of cells, such as ';' or tab; detected by default."),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding", help="The file encoding, such as gb18030; UTF-8, UTF-16 and GB18030 are detected."
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing", metavar="TEXT", help="Text that means missing, instead of the usual NA, ?, - …"
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            "--categorical", metavar="COL", autocompletion=columns, help="Read numbers in COL as categories."
        ),
    ] = None
    numeric: Annotated[
        list[str] | None,
        typer.Option("--numeric", metavar="COL", autocompletion=columns, help="Read COL as numbers."),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="AMOUNT", help="The memory that reading may use, such as 512MB."),
    ] = None
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Read the first LIMIT rows.")] = None


@dataclass(frozen=True)
class SampledReading(Reading):
    """How a table is read of which some rows may be enough."""

    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Use LIMIT rows drawn at random.")] = (
        None
    )


@dataclass(frozen=True)
class Common:
    """What every command takes."""

    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False
    lang: Annotated[Lang, typer.Option("--lang", envvar=VARIABLE, help="The language of the output.")] = (
        Lang.en
    )
    debug: Annotated[
        bool, typer.Option("--debug", callback=set_debugging, help="Show the traceback of an error.")
    ] = False

    def say(self, template: str, **values: object) -> str:
        """Return a text in the requested language.

        Examples
        --------
        >>> Common(lang=Lang.zh).say("Written to {path}.", path="a.csv")
        '已写入 a.csv。'
        """
        return filled(text_in(self.lang.value, template), values, translator(self.lang.value))

    def listed(self, names: Iterable[object], most: int | None = None) -> str:
        """Return names as one text, separated by commas; with ``most``, only the first ones."""
        shown = Joined(names) if most is None else listed(names, most)
        return str(shown.render(translator(self.lang.value)))


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A CSV, TSV, Parquet, Arrow, ARFF or JSON file; - reads CSV from standard input."
    ),
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
    typer.Option("-o", "--output", metavar="FILE", help="The file to write; by default standard output."),
    FileUse.written,
]
Loss = Annotated[
    str | None,
    typer.Option("--loss", metavar="FILE", help="CSV of costs: one row per action, one column per class."),
    FileUse.read,
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet", help="Put ' before text that a spreadsheet would read as a formula (= + - @)."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL", autocompletion=columns, help="Leave a column out."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep", metavar="COL", autocompletion=columns, help="Use a column that would otherwise be left out."
    ),
]
Given = Annotated[
    list[str] | None,
    typer.Option("--given", metavar="NODE=STATE", help="An observed state; NODE!=STATE rules a state out."),
]


STANDARD_INPUT = "standard input"


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """Return the command that Typer is to see: groups of options spread out, warnings turned into notes.

    Examples
    --------
    >>> from bayeskit._cli.options import Common
    >>> def greet(name: str, common: Common) -> None:
    ...     print(name, common.as_json)
    >>> list(inspect.signature(spread(greet)).parameters)
    ['name', 'as_json', 'lang', 'debug']
    """
    hints = get_type_hints(function, include_extras=True)
    given = inspect.signature(function).parameters
    groups = {name: hints[name] for name in given if is_dataclass(hints[name])}
    parameters = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in given.items()
        if name not in groups
    ]
    # In the help, a command's own options come first and those shared by all commands last.
    parameters += [parameter for group in groups.values() for parameter in _parameters_of(group)]

    files = {parameter.name: _file(parameter) for parameter in parameters}

    def command(**values: object) -> None:
        _refuse_losses({name: file for name, file in files.items() if file is not None}, values)
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        with noting_warnings():
            function(**values, **made)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return command


def _file(parameter: inspect.Parameter) -> tuple[FileUse, str] | None:
    """Return what is done with the file of a parameter, and the name of the parameter."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    use = next((each for each in metadata if isinstance(each, FileUse)), None)
    shown = next((each for each in metadata if hasattr(each, "metavar")), None)
    if use is None or shown is None:
        return None
    # Typer takes the first name of an option for its default until it reads the signature.
    names = (name for name in (shown.default, *(shown.param_decls or ())) if isinstance(name, str))
    return use, next(names, shown.metavar.strip("[]").split()[0])


def _refuse_losses(files: Mapping[str, tuple[FileUse, str]], values: Mapping[str, Any]) -> None:
    """Raise an error for an output that is also an input, under any name, and for two equal outputs."""

    def those(use: FileUse) -> list[tuple[str, str]]:
        found = [(called, values[name]) for name, (is_used, called) in files.items() if is_used is use]
        each = ((c, path) for c, value in found for path in (value if isinstance(value, list) else [value]))
        return [(called, path) for called, path in each if path is not None]

    read, written = those(FileUse.read), those(FileUse.written)
    for called, path in (*written, (STANDARD_OUTPUT, "-")):
        onto = _stat(path, sys.stdout)
        for what, source in read:
            origin = _stat(source, sys.stdin)
            if onto is not None and origin is not None and os.path.samestat(onto, origin):
                output = Message(STANDARD_OUTPUT) if path == "-" else f"{called} {path!r}"
                of = Message(STANDARD_INPUT) if source == "-" else f"{what} {source!r}"
                raise UsageError(
                    "{output} is the same file as {of}, which would be lost. Name another file.",
                    output=output,
                    of=of,
                )
    for (one, path), (other, second) in combinations(written, 2):
        if path != "-" and os.path.realpath(path) == os.path.realpath(second):
            raise UsageError(
                "{one} and {other} are the same file, {second!r}. Give each a file of its own.",
                one=one,
                other=other,
                second=second,
            )


def _stat(path: str, stream: TextIO) -> os.stat_result | None:
    """Return the identity of a file, or of the stream for ``-``; None if it has none, as a terminal."""
    try:
        found = os.fstat(stream.fileno()) if path == "-" else os.stat(path)
    except (OSError, ValueError, AttributeError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _parameters_of(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)

    def parameter_of(field: Field[Any]) -> inspect.Parameter:
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])

    return [parameter_of(field) for field in fields(group)]
