"""Messages of the library in the words of the command line: ``exclude=['id']`` is ``--drop id`` here."""

from __future__ import annotations

import re
from collections.abc import Callable


def _from_one(row: re.Match[str]) -> str:
    return str(int(row[1]) + 1) if row[1].isdigit() else row[1]


# The library tells which argument to pass; whoever types commands has flags instead, and counts rows from 1.
_FLAGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?<=[Rr]ow )(\S+) \(the first is 0\)", _from_one),
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
