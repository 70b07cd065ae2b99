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
    looks : SQL that tells whether a cell is written so; ``{0}`` is the cell
    plain : SQL that writes the cell as every program reads it
    note : what a warning says about such columns
    """

    looks: str
    plain: str
    note: Message


def _matches(pattern: str) -> str:
    # Braces are doubled for str.format, which puts the name of the column in.
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
    # One sign a column: dollars beside pounds are no numbers to be compared.
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
    """Tell how the numbers of a column are spelled, by how many of its cells look like each spelling.

    Where 1,234 may be either, the separator decides: programs write semicolons because the comma is taken.

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
    """Say which columns (name, spelling) hold numbers that were not written plainly."""
    for spelling, each in SPELLINGS.items():
        names = [repr(name) for name, spelled in columns if spelled == spelling]
        if names:
            # From here up: FileSource, and its caller, who should be named.
            warnings.warn(
                SourceNote(
                    "Numbers of {shown} are written {note} ({names}).",
                    shown=shown,
                    note=each.note,
                    names=listed(names, 8),
                ),
                stacklevel=3,
            )
