"""Names that a format cannot hold: an identifier in their place, and the true name as a quoted text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from bayeskit.errors import SettingError
from bayeskit.schema import Name

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORD = re.compile(r"[A-Za-z0-9_]+")
QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

# What ends a quoted text, a statement or a block in one of the formats, or begins a comment there.
_SPECIAL = frozenset('"\\;{}/%')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|([ntr"\\]))')


def mangled(
    names: Iterable[Name],
    allowed: re.Pattern[str] = IDENTIFIER,
    reserved: Collection[str] = (),
    kind: str = "nodes",
) -> dict[Name, str]:
    """Return an identifier for every name, no two the same; names that are identifiers stand for themselves.

    Parameters
    ----------
    names : names or states, of any type
    allowed : the pattern of an identifier; it must take letters, digits after a letter, and ``_``
    reserved : words that may not be used
    kind : what they are, for the message

    Examples
    --------
    >>> mangled(["wet", "Asy/Patch", "Asy Patch", "湿", "<5", "7"])
    {'wet': 'wet', 'Asy/Patch': 'Asy_Patch', 'Asy Patch': 'Asy_Patch_2', '湿': 'u6e7f', '<5': 'n_5', '7': 'n7'}
    """
    names = list(names)
    written: dict[str, Name] = {}
    for name in names:
        if str(name) in written:
            raise SettingError(
                f"The {kind} {written[str(name)]!r} and {name!r} are written the same way, so a file could not tell "
                "them apart. Rename one of them."
            )
        written[str(name)] = name
    kept = {text for text in written if allowed.fullmatch(text) and text not in reserved}
    used = {*kept, *reserved}
    numbers: dict[str, int] = {}
    found: dict[Name, str] = {}
    for text, name in written.items():
        identifier = text
        if text not in kept:
            stem = identifier = _stem(text, allowed)
            while identifier in used:
                numbers[stem] = numbers.get(stem, 1) + 1
                identifier = f"{stem}_{numbers[stem]}"
            used.add(identifier)
        found[name] = identifier
    return found


def _stem(text: str, allowed: re.Pattern[str]) -> str:
    """Return an identifier that reminds of a text."""
    stem = "".join(
        c if c.isascii() and (c.isalnum() or c == "_") else "_" if c.isascii() else f"u{ord(c):x}"
        for c in text
    )
    if not stem.strip("_") or not allowed.fullmatch(stem) or not text[:1].isalnum():
        stem = f"n{stem}"
    return stem


def quoted(text: str) -> str:
    """Return a text between quotation marks, on one line, with nothing in it that any format could trip over.

    >>> print(quoted('a "b"; 湿'))
    "a \\u0022b\\u0022\\u003b 湿"
    """
    return '"' + "".join(c if c.isprintable() and c not in _SPECIAL else _escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unquoted(text: str) -> str:
    """Return the text that stood between quotation marks; without them it is what it is.

    An escape that means nothing stays as it is written: file paths occur.

    >>> unquoted(quoted('a "b"\\\\n 湿')) == 'a "b"\\\\n 湿'
    True
    """
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    inner = text[1:-1]
    return _ESCAPE.sub(_meant, inner) if "\\" in inner else inner


def _meant(match: re.Match[str]) -> str:
    four, eight, short = match.groups()
    return _ESCAPES[short] if short else chr(int(four or eight, 16))
