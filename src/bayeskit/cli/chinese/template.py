"""A message with blanks, in English and in Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

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
