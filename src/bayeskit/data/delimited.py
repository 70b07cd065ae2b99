"""The shape of a delimited text file: its separator, its names and its line ends."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from bayeskit.data.encodings import blocks
from bayeskit.errors import ColumnError, DataError, SourceNote

SEPARATORS = (",", "\t", ";", "|")
_HEAD = 1 << 20
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def read_header(texts: Iterable[str], separator: str | None, shown: str) -> tuple[list[str], str]:
    """Read the names in the first line of a text, and the separator where none is given.

    The separator is the one that cuts the header and the records after it into the same number of fields, and
    into the most.

    Parameters
    ----------
    texts : iterable of str
        The file as text, block by block; no more is taken than is needed.
    shown : str
        The name of the file, for messages.

    Examples
    --------
    >>> read_header(["色泽;密度\\n青绿;0,5\\n"], None, "melons.csv")
    (['色泽', '密度'], ';')
    """
    head = _head(texts)
    if head.lower().startswith("sep=") and len(head.partition("\n")[0].rstrip("\r")) == 5:
        raise DataError(
            f"The first line of {shown} is {head[:5]!r}, a word to Excel alone. Remove that line."
        )
    # The order decides a tie, as in a file of one column.
    first = "\t" if ".tsv" in shown.lower() else ","
    tries = (separator,) if separator else (first, *SEPARATORS)
    records = {each: _records(head, each, shown) for each in tries}
    if not records[tries[0]] or not records[tries[0]][0]:
        way_out = "The first line must hold the names of the columns: remove the blank lines above it."
        raise DataError(f"The first line of {shown} is blank. {way_out}")
    best = max(tries, key=lambda each: (_agree(records[each]), len(records[each][0])))
    return _names(records[best][0], shown), best


def _head(texts: Iterable[str]) -> str:
    head = ""
    for text in texts:
        head += text
        if len(head) >= _HEAD:
            # Whole lines only, so that the last record is not cut.
            return head[: head.rfind("\n") + 1] or head
    return head


def _records(head: str, separator: str, shown: str, limit: int = 64) -> list[list[str]]:
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    records: list[list[str]] = []
    try:
        records.extend(islice(reader, limit))
    except csv.Error as error:
        # A very long cell further down is no fault: what was read before it is enough to go by.
        if not records:
            way_out = "A quotation mark that is never closed is the usual reason."
            raise DataError(f"The first line of {shown} cannot be read: {error}. {way_out}") from error
    return records


def _agree(records: Iterable[list[str]]) -> bool:
    widths = {len(record) for record in records if record}
    return len(widths) == 1 and widths != {1}


def _names(header: list[str], shown: str) -> list[str]:
    names = [name.strip() for name in header]
    for place, name in enumerate(names, start=1):
        if not name:
            names[place - 1] = f"column{place}"
            note = f"Column {place} of {shown} has no name; it is called 'column{place}'."
            _note(f"{note} If it numbers the rows, pass exclude=['column{place}'].")
    refuse_twins(names, shown)
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    if len(numbers) == len(names) or any(not name.isdigit() for name in numbers):
        note = (
            f"The first line of {shown} is taken as the names of the columns, yet {numbers[0]!r} is a number."
        )
        _note(f"{note} If the file has no header, write one above its first row.")
    return names


def _note(message: str) -> None:
    # From here up: _names, read_header, Text, FileSource, and its caller, who should be named.
    warnings.warn(message, SourceNote, stacklevel=6)


def refuse_twins(names: Iterable[str], shown: str) -> None:
    """Refuse two columns of one name: nobody could say which of them is meant."""
    twins = [name for name, times in Counter(names).items() if times > 1]
    if twins:
        way_out = "Rename all but one of them in the file."
        raise ColumnError(f"{shown} has more than one column called {', '.join(map(repr, twins))}. {way_out}")


def mixed_newlines(path: Path) -> bool:
    """Whether lines end in more than one way (CR LF, LF, CR), which DuckDB's strict reader refuses."""
    kinds = set()
    for block in _overlapping(blocks(path)):
        bare = block.replace(b"\r\n", b"")
        kinds |= {end for end, text in ((b"\n", bare), (b"\r", bare[:-1]), (b"\r\n", block)) if end in text}
        if len(kinds) > 1:
            return True
    return False


def _overlapping(pieces: Iterable[bytes]) -> Iterator[bytes]:
    # A CR LF cut by the edge of two blocks is whole in the second, which begins with the CR of the first.
    kept = b""
    for piece in pieces:
        yield kept + piece
        kept = b"\r" if piece.endswith(b"\r") else b""
