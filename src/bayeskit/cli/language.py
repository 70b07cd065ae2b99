"""The language a command speaks: that of ``--lang``, else of the environment variable BAYESKIT_LANG, else English."""

from __future__ import annotations

import os
from collections.abc import Sequence

VARIABLE = "BAYESKIT_LANG"


class Language:
    """The language of the command that runs now."""

    now = "en"


def speak(arguments: Sequence[str]) -> None:
    """Remember the language that was asked for.

    It is looked up before Typer reads the arguments: whoever mistypes one should be told so in their language.
    """
    Language.now = asked_for(arguments, os.environ.get(VARIABLE, ""))


def asked_for(arguments: Sequence[str], otherwise: str = "") -> str:
    """Return the language that the arguments ask for, the last one if there are several.

    Examples
    --------
    >>> asked_for(["fit", "--lang", "zh"]), asked_for(["fit", "--lang=zh"]), asked_for(["fit"], "zh")
    ('zh', 'zh', 'zh')
    >>> asked_for(["fit", "--", "--lang", "zh"]), asked_for(["fit", "--lang", "en"], "zh")
    ('en', 'en')
    """
    found = otherwise
    for argument, following in zip(arguments, [*arguments[1:], ""]):
        if argument == "--":  # what follows are names, not options
            break
        if argument == "--lang":
            found = following
        elif argument.startswith("--lang="):
            found = argument.removeprefix("--lang=")
    return "zh" if found == "zh" else "en"


def said(text: str) -> str:
    """Return a line of the library or of Typer in the language of the command, English where there is no other.

    Examples
    --------
    >>> said("There is no page 'em2'. Did you mean 'em'?")
    "There is no page 'em2'. Did you mean 'em'?"
    """
    if Language.now == "en":
        return text
    from bayeskit.cli.chinese import in_chinese

    return in_chinese(text)
