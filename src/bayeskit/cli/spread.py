"""Options in groups: a parameter whose type is a dataclass of options stands for all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

from bayeskit.cli.output import noting_warnings


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

    def command(**values: Any) -> None:
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


def _parameters_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)

    def made(field: Field[Any]) -> inspect.Parameter:
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])

    return [made(field) for field in fields(group)]
