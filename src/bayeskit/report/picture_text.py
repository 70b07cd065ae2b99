"""Texts in a picture: about how wide they are, cut to fit, and safe inside XML."""

from __future__ import annotations

import re
import unicodedata

from bayeskit.visible import escape, visible

# Widths in parts of the font size, those of a broad font (DejaVu Sans): a text is never wider than we think.
_NARROW = frozenset("iljI|.,:;'!()[]{}/\\ `ftr-")
_BROAD = frozenset("mwMW@%&—…")
# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text_width(text: str, size: float) -> float:
    """Return about how wide a text of this font size is.

    >>> text_width("il", 10) < text_width("MW", 10) < text_width("湿地", 10.5)
    True
    """
    return size * sum(map(_width, text))


def _width(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cc", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.03
    if character in _NARROW:
        return 0.41
    if character in _BROAD:
        return 1.0
    return 0.72 if character.isupper() else 0.64


def shortened(text: str, width: float, size: float) -> str:
    """Cut a text to a width, an ellipsis in the place of what is left out.

    >>> shortened("a_very_long_name_of_a_node", 90, 10)
    'a_very_long_n…'
    """
    if text_width(text, size) <= width:
        return text
    room, kept = width - text_width("…", size), 0
    for character in text:
        room -= _width(character) * size
        if room < 0:
            break
        kept += 1
    return text[:kept].rstrip() + "…"


def plain(value: object) -> str:
    """Return a name or state as one line that XML can hold: blanks for line breaks, � for what it cannot.

    >>> plain("a\\nb\\x00")
    'a b�'
    """
    return visible(_FORBIDDEN.sub("�", re.sub(r"\s", " ", str(value))))


def xml(text: str) -> str:
    """Escape a text for XML; quotes too, so that it may stand in an attribute.

    >>> xml('<script>"')
    '&lt;script&gt;&quot;'
    """
    return escape(plain(text))
