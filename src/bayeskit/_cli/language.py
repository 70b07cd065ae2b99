"""The language of a command: ``--lang``, else the environment variable BAYESKIT_LANG, else English.

The option may also stand before the command: ``bayeskit --lang zh fit …``. ``BAYESKIT_LANG=zh_CN`` is Chinese, too.

Messages of the library are worded for the command line: the catalogues have entries with that context, in which
``exclude=['id']`` is ``--drop 'id'``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from bayeskit._messages import COMMAND_LINE, VARIABLE, named_language, speaking


@contextmanager
def in_requested_language(arguments: Sequence[str]) -> Iterator[None]:
    """Use the requested language until a command has ended.

    It is read before Typer parses the arguments, so that typing errors are reported in that language, too.
    """
    before = os.environ.get(VARIABLE)
    asked = requested_language(arguments, before or "")
    # A command reads the variable unless it has an option of its own, and knows only 'en' and 'zh'.
    _set_variable(asked if option_before_parsing(arguments) else before and named_language(before))
    try:
        with speaking(asked, COMMAND_LINE):
            yield
    finally:
        _set_variable(before)


def requested_language(arguments: Sequence[str], otherwise: str = "") -> str:
    """Return the language that the arguments request, the last one if there are several.

    Examples
    --------
    >>> requested_language(["fit", "--lang", "zh"]), requested_language(["fit", "--lang=zh"])
    ('zh', 'zh')
    >>> requested_language(["fit"], "zh")
    'zh'
    >>> requested_language(["fit", "--", "--lang", "zh"]), requested_language(["fit", "--lang", "en"], "zh")
    ('en', 'en')
    """
    return "zh" if named_language(option_before_parsing(arguments) or otherwise) == "zh" else "en"


def option_before_parsing(arguments: Sequence[str]) -> str:
    """Return the value of the last ``--lang``, or an empty text."""
    found = ""
    for argument, following in pairwise([*arguments, ""]):
        if argument == "--":  # what follows are names, not options
            break
        if argument == "--lang":
            found = following
        elif argument.startswith("--lang="):
            found = argument.removeprefix("--lang=")
    return found


def _set_variable(value: str | None) -> None:
    if value is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = value
