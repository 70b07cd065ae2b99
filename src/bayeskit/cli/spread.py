"""Options in groups: a parameter whose type is a dataclass of options stands for all of them."""

from __future__ import annotations

import inspect
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from itertools import combinations
from typing import Any, get_type_hints

from bayeskit.cli.options import FileUse
from bayeskit.cli.output import noting_warnings
from bayeskit.errors import UsageError

STANDARD_INPUT, STANDARD_OUTPUT = "standard input", "standard output"


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """Return the command that Typer is to see: groups of options spread out, warnings turned into notes.

    Examples
    --------
    >>> from bayeskit.cli.options import Common
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
    # A command's own options come first in its help, those that all commands share last.
    parameters += [parameter for group in groups.values() for parameter in _parameters_of(group)]

    files = {parameter.name: _file(parameter) for parameter in parameters}

    def command(**values: Any) -> None:
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
    """Return what is done with the file that a parameter names, and what the parameter is called."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    use = next((each for each in metadata if isinstance(each, FileUse)), None)
    shown = next((each for each in metadata if hasattr(each, "metavar")), None)
    if use is None or shown is None:
        return None
    # Typer takes the first name of an option for its default until it reads the signature.
    names = (name for name in (shown.default, *(shown.param_decls or ())) if isinstance(name, str))
    return use, next(names, shown.metavar.strip("[]").split()[0])


def _refuse_losses(files: Mapping[str, tuple[FileUse, str]], values: Mapping[str, Any]) -> None:
    """Refuse to write onto a file that is read, by whatever name, and two outputs that are one file."""

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
                output = STANDARD_OUTPUT if path == "-" else f"{called} {path!r}"
                of = STANDARD_INPUT if source == "-" else f"{what} {source!r}"
                raise UsageError(
                    f"{output} is the same file as {of}, which would be lost. Name another file."
                )
    for (one, path), (other, second) in combinations(written, 2):
        if path != "-" and os.path.realpath(path) == os.path.realpath(second):
            raise UsageError(f"{one} and {other} are the same file, {second!r}. Give each a file of its own.")


def _stat(path: str, stream: Any) -> os.stat_result | None:
    """Return which file a path is, or the stream that ``-`` stands for; None where it is none, as a terminal."""
    try:
        found = os.fstat(stream.fileno()) if path == "-" else os.stat(path)
    except (OSError, ValueError, AttributeError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _parameters_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)

    def made(field: Field[Any]) -> inspect.Parameter:
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])

    return [made(field) for field in fields(group)]
