"""What the library says when something is wrong, in Chinese.

The library speaks English, and says a thing in one place: where it is found. Here are tables from those sentences to
Chinese ones, by subject; they are loaded when a command that speaks Chinese has something to tell. A message without
an entry stays as it is, whole. A test finds each entry's English in the source, so that none is left behind when a
message is written anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module

# One file a subject, each with a table MESSAGES.
SUBJECTS = ("usage", "path_messages", "table_messages", "model_messages", "network_messages", "note_messages")
# What a file of a network or a model holds; the place stands before it.
CONTENTS = ("file_messages",)

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


_BLANK = re.compile(r"\{(\w+)\}")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# What stands in a list beside names, which are quoted and stay as they are.
_IN_LISTS = {
    ", ": "、",
    " or ": " 或 ",
    "; ": "；",
    "(none)": "（无）",
    "none": "无",
    "missing: ": "缺少 ",
    "not known: ": "多出 ",
    "(identifier)": "（编号）",
    "(constant)": "（只有一个取值）",
    "(copy)": "（目标的副本）",
    "(date)": "（日期）",
    "(dropped)": "（已去掉）",
}
_LIST = re.compile(f"({_QUOTED})|" + "|".join(f"({re.escape(sign)})" for sign in _IN_LISTS))
_NAMES = {
    "standard input": "标准输入",
    "standard output": "标准输出",
    "invalid start byte": "不是合法的首字节",
    "invalid continuation byte": "不是合法的后续字节",
    "unexpected end of data": "数据中断",
    "illegal multibyte sequence": "不是合法的多字节序列",
    "incomplete multibyte sequence": "多字节序列不完整",
}

Translate = Callable[[str], str | None]


@dataclass(frozen=True)
class Template:
    """A message as the source writes it, its blanks named, and the same in Chinese.

    A blank stands for whatever the message names, and is copied. Some are more than copied: one whose name begins with
    ``list`` has Chinese signs between its items; one that begins with ``hint`` is a part that must have a template of
    its own, or be empty; one that begins with ``_`` is English grammar, and is left out.

    Examples
    --------
    >>> Template("There is no node {name}.", "没有结点 {name}。").filled("There is no node 'a'.", lambda hint: None)
    "没有结点 'a'。"
    """

    english: str
    chinese: str

    @cached_property
    def weight(self) -> int:
        """How much of the message is fixed: of two templates that fit, the heavier says more exactly what it is."""
        return sum(map(len, self.pieces))

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The text between the blanks."""
        return tuple(_BLANK.split(self.english)[::2])

    @cached_property
    def blanks(self) -> tuple[str, ...]:
        return tuple(_BLANK.findall(self.english))

    def filled(self, message: str, translate: Translate) -> str | None:
        """Return the Chinese of a message, or None where the template does not fit it."""
        if any(
            piece not in message for piece in self.pieces
        ):  # most end here, without an expression compiled
            return None
        found = re.fullmatch(self._expression(), message)
        if found is None:
            return None
        values = {name: _value(name, text, translate) for name, text in found.groupdict().items()}
        told = {name: value for name, value in values.items() if value is not None}
        return _BLANK.sub(lambda blank: told[blank[1]], self.chinese) if len(told) == len(values) else None

    def _expression(self) -> str:
        parts, seen = [re.escape(self.pieces[0])], set[str]()
        for name, piece in zip(self.blanks, self.pieces[1:]):
            # A quoted name may hold any sign itself, so it is taken whole where it can be.
            any_text = ".*?" if name.startswith(("hint", "_")) else f"{_QUOTED}|.+?"
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{any_text})")
            parts.append(re.escape(piece))
            seen.add(name)
        return "".join(parts)


def _value(name: str, text: str, translate: Translate) -> str | None:
    if name.startswith("hint"):
        return translate(text.strip()) if text.strip() else ""
    if name.startswith("list"):
        return _LIST.sub(lambda found: _IN_LISTS.get(found[0], found[0]), text)
    return _NAMES.get(text, text)


def templates(pairs: Mapping[str, str]) -> list[Template]:
    """Make templates of a table, the heaviest first."""
    return sorted((Template(*pair) for pair in pairs.items()), key=lambda each: -each.weight)
