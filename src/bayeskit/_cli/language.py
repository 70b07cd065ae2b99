"""The language of a command: ``--lang``, else the environment variable BAYESKIT_LANG, else English.

Messages of the library are told as the command line words them: entries of the catalogues with that context, in which
``exclude=['id']`` is ``--drop 'id'``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import pairwise

from bayeskit._messages import COMMAND_LINE, VARIABLE, speaking


def in_requested_language(arguments: Sequence[str]) -> AbstractContextManager[None]:
    """Use the requested language until a command has ended.

    It is read before Typer parses the arguments, so that typing errors are reported in that language, too.
    """
    return speaking(requested_language(arguments, os.environ.get(VARIABLE, "")), COMMAND_LINE)


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
    found = otherwise
    for argument, following in pairwise([*arguments, ""]):
        if argument == "--":  # what follows are names, not options
            break
        if argument == "--lang":
            found = following
        elif argument.startswith("--lang="):
            found = argument.removeprefix("--lang=")
    return "zh" if found == "zh" else "en"
