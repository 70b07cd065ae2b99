"""Parses numbers in local spelling: 1.234,56 or 1,234.56, with signs such as % or ¥."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bayeskit._messages import Message, listed
from bayeskit.errors import SourceNote


@dataclass(frozen=True)
class Spelling:
    """A way to write numbers.

    Attributes
    ----------
    looks : SQL that tests whether a cell has this spelling; ``{0}`` is the cell
    plain : SQL that converts the cell to the plain spelling
    note : what a warning says about such columns
    """

    looks: str
    plain: str
    note: Message


def _matches(pattern: str) -> str:
    # Braces are doubled for str.format, which inserts the name of the column.
    return "regexp_full_match({0}, '" + pattern.replace("{", "{{").replace("}", "}}") + "')"


SPELLINGS: Mapping[str, Spelling] = {
    "comma": Spelling(
        _matches(r"\s*[-+]?([0-9]+(,[0-9]+)?|[0-9]{1,3}(\.[0-9]{3})+,[0-9]+)\s*"),
        "replace(replace({0}, '.', ''), ',', '.')",
        Message("with a decimal comma: 3,5 is read as 3.5"),
    ),
    "grouped": Spelling(
        _matches(r"\s*[-+]?([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]+)?\s*"),
        "replace({0}, ',', '')",
        Message("with commas between thousands: 1,234 is read as 1234"),
    ),
    "percent": Spelling(
        _matches(r"\s*[-+]?[0-9]+([.,][0-9]+)?\s*[%％]\s*"),
        r"replace(regexp_replace({0}, '[%％\s]', '', 'g'), ',', '.')",
        Message("in per cent: 3.5% is read as 3.5"),
    ),
    # One sign per column: dollars and pounds are not comparable.
    **{
        name: Spelling(
            _matches(rf"\s*[-+]?[{sign}]\s*([0-9]+|[1-9][0-9]{{0,2}}(,[0-9]{{3}})+)(\.[0-9]+)?\s*"),
            rf"regexp_replace({{0}}, '[{sign},\s]', '', 'g')",
            Message("with a sign of currency: {sign}1,234 is read as 1234", sign=sign[0]),
        )
        for name, sign in {"yuan": "¥￥", "dollar": "$", "pound": "£", "euro": "€"}.items()
    },
    "euro_after": Spelling(
        _matches(r"\s*[-+]?([0-9]+(,[0-9]+)?|[0-9]{1,3}(\.[0-9]{3})+,[0-9]+)\s*€\s*"),
        r"replace(regexp_replace({0}, '[.€\s]', '', 'g'), ',', '.')",
        Message("with a sign of currency: 3,50 € is read as 3.5"),
    ),
}


def spelling_of(filled: int, passed: Mapping[str, int], separator: str) -> str | None:
    """Return the spelling of the numbers in a column, from how many of its cells match each spelling.

    If 1,234 is ambiguous, the separator decides: programs write semicolons when the comma is a decimal comma.

    Examples
    --------
    >>> spelling_of(2, {"comma": 2, "grouped": 2}, ";"), spelling_of(2, {"comma": 2, "grouped": 2}, ",")
    ('comma', 'grouped')
    >>> spelling_of(2, {"comma": 1}, ";") is None
    True
    """
    found = [name for name in SPELLINGS if filled and passed.get(name) == filled]
    if "comma" in found and "grouped" in found:
        return "comma" if separator == ";" else "grouped"
    return found[0] if found else None


def note_spellings(columns: Sequence[tuple[str, str]], shown: str) -> None:
    """Report the columns (name, spelling) with numbers in other than plain spelling."""
    for spelling, each in SPELLINGS.items():
        names = [repr(name) for name, spelled in columns if spelled == spelling]
        if names:
            # The stack from here up: FileSource, and its caller, who should be named.
            warnings.warn(
                SourceNote(
                    "Numbers of {shown} are written {note} ({names}).",
                    shown=shown,
                    note=each.note,
                    names=listed(names, 8),
                ),
                stacklevel=3,
            )
