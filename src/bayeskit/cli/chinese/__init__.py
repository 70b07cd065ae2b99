"""What the library says when something is wrong, in Chinese.

The library speaks English, and says a thing in one place: where it is found. Here are tables from those sentences to
Chinese ones, by subject; they are loaded when a command that speaks Chinese has something to tell. A message without
an entry stays as it is, whole. A test finds each entry's English in the source, so that none is left behind when a
message is written anew.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from bayeskit.cli.chinese.template import Template, templates

# One file a subject, each with a table MESSAGES.
SUBJECTS = ("usage", "paths", "tables", "columns", "models", "settings", "networks", "searching", "notes")
# What a file of a network or a model holds; the place stands before it.
CONTENTS = ("saved_files", "network_files")

_PLACE = re.compile(r"(?P<path>.+?)(?:, line (?P<line>\d+))?(?:, column (?P<column>\d+))?")


def in_chinese(message: str) -> str:
    """Return a message in Chinese, or as it is where it has no Chinese form.

    Examples
    --------
    >>> in_chinese("'a.csv' has no column 'colour'. Did you mean 'Color' or 'cold'?")
    "'a.csv' 没有 'colour' 这一列。是不是 'Color' 或 'cold'？"
    >>> in_chinese("net.bif, line 3, column 7: there is no variable 'x'.")
    "net.bif，第 3 行，第 7 列：没有变量 'x'。"
    >>> in_chinese("Nobody has said this before.")
    'Nobody has said this before.'
    """
    return _found(message) or _placed(message) or message


def _found(message: str) -> str | None:
    return _of(_table(SUBJECTS), message)


def _placed(message: str) -> str | None:
    """Translate what is wrong with the content of a file, after the place in it."""
    for colon in re.finditer(": ", message):  # a path may hold one, and so may the sentence
        place = _PLACE.fullmatch(message[: colon.start()])
        told = _of(_table(CONTENTS), message[colon.end() :])
        if place is not None and told is not None:
            line = "" if place["line"] is None else f"，第 {place['line']} 行"
            column = "" if place["column"] is None else f"，第 {place['column']} 列"
            return f"{place['path']}{line}{column}：{told}"
    return None


def _of(table: list[Template], message: str) -> str | None:
    def hint(text: str) -> str | None:
        told = _of(_table(("hints",)), text)
        return _found(text) if told is None else told

    found = (template.filled(message, hint) for template in table)
    return next((told for told in found if told is not None), None)


@cache
def _table(subjects: tuple[str, ...]) -> list[Template]:
    pairs: dict[str, str] = {}
    for subject in subjects:
        pairs |= import_module(f"{__name__}.{subject}").MESSAGES
    return templates(pairs)
