"""The language a command speaks: that of ``--lang``, else of the environment variable BAYESKIT_LANG, else English.

Messages of the library are put into the words of the command line, too: ``exclude=['id']`` is ``--drop id`` here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from bayeskit.messages import COMMAND_LINE, VARIABLE, speaking


def spoken(arguments: Sequence[str]) -> AbstractContextManager[None]:
    """Speak the language that was asked for, until a command has ended.

    It is looked up before Typer reads the arguments: whoever mistypes one should be told so in their language.
    """
    return speaking(asked_for(arguments, os.environ.get(VARIABLE, "")), COMMAND_LINE)


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


def _from_one(row: re.Match[str]) -> str:
    return str(int(row[1]) + 1) if row[1].isdigit() else row[1]


# The library tells which argument to pass; whoever types commands has flags instead, and counts rows from 1.
_FLAGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?<=[Rr]ow )(\S+) \(the first is 0\)", _from_one),
    (r"(?<=第 )(\S+) 行（首行为 0）", lambda row: f"{_from_one(row)} 行"),
    (r"exclude=\['([^']*)'\]", r"--drop '\1'"),
    (r"discretize=\{'([^']*)': (\d+)\}", r"--discretize '\1=\2'"),
    (r'encoding="([^"]*)"', r"--encoding \1"),
    (r"encoding=(?=')", "--encoding "),
    (r"separator=(?=['\"])", "--sep "),
    (r"encoding=", "--encoding"),
    (r"separator=", "--sep"),
    (r"semi_supervised=True", "--param semi_supervised=true"),
    (r'unseen="ignore"', "--param unseen=ignore"),
    (r"pass normalize=True to divide", "let 'bayeskit network convert --normalize' divide"),
    (r"\bquery\(('[^']*', )?\.\.\.\)", "'bayeskit network query'"),
    (r"\bn_bins is", "--bins is"),
    (r'\(numeric="gaussian"\)', "(--param numeric=gaussian)"),
    (r'target="\.\.\."', "--target"),
    (r", or pass format=\.", "."),
    (r"Pass format=, one of", "Convert it: 'bayeskit network convert --from', one of"),
    (
        r"Raise max_memory=, observe some of these, or sample: approximate\(\.\.\.\)\."
        r"|Name the candidates= that matter, or observe some of these\.",
        "Observe some of these.",
    ),
    (r"made by save\(\)", "made by 'bayeskit fit'"),
    (r"make it float \(a continuous node\), or make it text or a category", "or --numeric, or --categorical"),
    (r"columns= names|exclude= names", "You name"),
    (r"\b(drop|keep|loss|models)=(?=[ .,;:)]|$)", r"--\1"),
    (r"\bmodels=\['(\w+)'\]", r"--models \1"),
    (r"\bsay missing=(?=['\"])", "say --missing "),
    (r"\bnamed by missing=", "named by --missing"),
    (r"\bleave numeric= out", "leave --numeric out"),
    (r"\b(another|the) target=", r"\1 --target"),
)


def in_flags(message: str) -> str:
    """Put flags in the place of arguments.

    Examples
    --------
    >>> in_flags("Leave it out with exclude=['id'].")
    "Leave it out with --drop 'id'."
    >>> in_flags("Row 16 (the first is 0) is impossible.")
    'Row 17 is impossible.'
    """
    for pattern, flag in _FLAGS:
        message = re.sub(pattern, flag, message)
    return message
