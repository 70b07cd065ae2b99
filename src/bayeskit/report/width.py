"""How many columns of a terminal a text takes: Chinese characters take two."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def display_width(text: str) -> int:
    """Return the width of a text; accents that combine take none.

    Examples
    --------
    >>> display_width("纹理 a"), display_width("é")
    (6, 1)
    """
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cc", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int, right: bool = False) -> str:
    """Fill a text with blanks up to a width.

    Examples
    --------
    >>> padded("纹理", 6) + "|", padded("1", 3, right=True)
    ('纹理  |', '  1')
    """
    blanks = " " * max(0, width - display_width(text))
    return blanks + text if right else text + blanks


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Put cells under each other, two blanks between columns.

    Examples
    --------
    >>> aligned([("纹理", "1"), ("a", "2")])
    ['纹理  1', 'a     2']
    """
    widths = [max(display_width(row[j]) for row in rows) for j in range(len(rows[0]))]
    return ["  ".join(padded(cell, width) for cell, width in zip(row, widths)).rstrip() for row in rows]
