"""The help of a command in the user's language, from the same catalogue as all messages.

Typer lays the English help out. In other languages it is laid out here: Typer breaks lines at spaces, which Chinese
does not have, and counts a wide character as one column. A text of the help is looked up paragraph by paragraph.
"""

from __future__ import annotations

import inspect
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from bayeskit._display_table import display_width, padded
from bayeskit._messages import text_in

# Categories of Unicode: a line does not begin with these, and does not end with those.
_CLOSING, _OPENING = frozenset(("Pe", "Pf", "Po")), frozenset(("Ps", "Pi"))
WIDEST_NAME = 30


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text or docstring, each on one line.

    Examples
    --------
    >>> paragraphs("One,\\n    two.\\n\\n    Three.")
    ['One, two.', 'Three.']
    """
    return [" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n") if part.strip()]


def help_in(lang: str, command: Any, ctx: Any) -> str:
    """Return the help of a command or group of commands."""
    width = ctx.make_formatter().width

    def say(text: str | None) -> list[str]:
        return [text_in(lang, part) for part in paragraphs(text)]

    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    lines = [text_in(lang, "Usage: {command}").format(command=usage)]
    for part in say(command.help):
        lines += ["", *wrapped(part, width, 2)]
    records: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Commands": []}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None:
            kind = "Options" if param.param_type_name == "option" else "Arguments"
            records[kind].append((record[0], _described(lang, record[1], getattr(param, "help", None))))
    for name, each in getattr(command, "commands", {}).items():
        records["Commands"].append((name, (say(each.help) or [""])[0]))
    for title, found in records.items():
        if found:
            lines += ["", text_in(lang, title) + text_in(lang, ":"), *_definitions(found, width)]
    for part in say(command.epilog):
        lines += ["", *wrapped(part, width, 2)]
    return "\n".join(lines)


def _described(lang: str, record: str, text: str | None) -> str:
    """Return the translated text of an option, and what Typer adds to it in brackets: whether it is required …"""
    told = "".join(text_in(lang, part) for part in paragraphs(text))
    added = record.removeprefix(text or "").strip()
    if not (added.startswith("[") and added.endswith("]")):
        return told
    facts = []
    for fact in added[1:-1].split("; "):
        name, colon, value = fact.partition(": ")
        facts.append(text_in(lang, name) + (text_in(lang, ": ") + value if colon else ""))
    return f"{told}  [{text_in(lang, '; ').join(facts)}]"


def _definitions(records: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Lay out names and texts in two columns."""
    column = min(max(display_width(name) for name, _ in records), WIDEST_NAME) + 4
    for name, text in records:
        first, *rest = wrapped(text, width, column) or [""]
        if display_width(name) > column - 4:
            yield f"  {name}"
            rest = [first, *rest]
        else:
            yield padded(f"  {name}", column) + first.lstrip()
        yield from rest


def wrapped(text: str, width: int, indent: int) -> list[str]:
    """Break a text into lines: at spaces, and next to wide characters, but not before closing punctuation.

    Examples
    --------
    >>> wrapped("读取 CSV 文件，并保存模型。", 15, 2)
    ['  读取 CSV 文', '  件，并保存模', '  型。']
    """
    lines, line = [], ""
    for piece in _pieces(text):
        if line.strip() and display_width(line + piece.rstrip()) > width - indent:
            lines.append(" " * indent + line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, " " * indent + line.rstrip()] if line.strip() else lines


def _pieces(text: str) -> Iterator[str]:
    """Yield the parts between which a line may be broken."""
    piece = ""
    for character in text:
        wide = unicodedata.east_asian_width(character) in "WF"
        breaks = wide or (piece and (piece[-1] == " " or unicodedata.east_asian_width(piece[-1]) in "WF"))
        joined = character == " " or unicodedata.category(character) in _CLOSING
        if piece and breaks and not joined and unicodedata.category(piece[-1]) not in _OPENING:
            yield piece
            piece = ""
        piece += character
    yield piece
