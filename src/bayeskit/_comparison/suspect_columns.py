"""Detection of columns that do not generalise: identifiers, constants, dates, and copies of the target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
# With fewer rows, a column may differ in every row, or equal the target, by chance.
FEWEST = 10
# A text column in which more than this share of the values is distinct is an identifier, not a category.
MOSTLY = 0.9

_CLOCK = r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
_DATE = re.compile(
    rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{_CLOCK}"
    rf"|\d{{1,2}}([-/.])\d{{1,2}}\6\d{{2,4}}{_CLOCK}"
    r"|\d{4}年\d{1,2}月(\d{1,2}日)?"
    r"|\d{1,2}[- ]?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[- ,]*\d{2,4}"
    r"|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2},? \d{4}",
    re.IGNORECASE,
)
_NAMED_ID = re.compile(
    r"(^|[^a-z])(id|ids|uid|uuid|guid|index|idx|key|no|nr|rownum|serial)$|[a-z](Id|ID)$|编号|序号|^unnamed|^$"
)

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_MEASURED = re.compile(r"[-+]?\d+(?:[.,]\d+)?\s*([^\d\s.,;:/-]{1,6})")
# Fewer distinct values may be categories that look like numbers, such as sizes.
MANY_NAMES = 20


def reason(name: str, values: Values, target: Values) -> str | None:
    """Return why to leave out a column: "constant", "copy", "date", "identifier"; None if it may be used.

    Parameters
    ----------
    values : array of shape (n,)
        Numbers, with NaN for missing, or texts, with None for missing.
    target : array of shape (n,)
        The classes, without missing cells.

    Examples
    --------
    >>> classes = np.array(["a", "b"] * 10)
    >>> reason("row", np.arange(20), classes), reason("y", np.array([0, 1] * 10), classes)
    ('identifier', 'copy')
    >>> reason("x", np.linspace(0, 1, 20), classes) is None
    True
    """
    present = is_present(values)
    known, classes = values[present], target[present]
    cells = known.tolist()
    distinct = set(cells)
    if len(distinct) < 2:
        return "constant"
    if len(cells) < FEWEST:
        return None
    if _is_copy(cells, classes.tolist(), distinct):
        return "copy"
    if _is_date(values, distinct):
        return "date"
    return "identifier" if _is_identifier(name, known, distinct) else None


def hint(values: Values) -> tuple[str, str] | None:
    """Return why a column that looks numeric is not: ("unit", a cell) or ("word", the cell).

    Examples
    --------
    >>> hint(np.array([f"{i} kg" for i in range(40)], dtype=object))
    ('unit', '0 kg')
    >>> hint(np.array([*map(str, range(40)), "NA"], dtype=object))
    ('word', 'NA')
    >>> hint(np.array(["1 kg", "2 kg"], dtype=object)) is None  # two sizes may be names
    True
    """
    cells = [] if values.dtype.kind != "O" else [v.strip() for v in values.tolist() if isinstance(v, str)]
    distinct = list(dict.fromkeys(cells))
    if len(distinct) <= MANY_NAMES:
        return None
    words = [cell for cell in distinct if not _NUMBER.fullmatch(cell)]
    if len(words) == 1:
        return "word", words[0]
    found = [_MEASURED.fullmatch(cell) for cell in distinct]
    same = all(found) and len({match[1] for match in found if match}) == 1
    return ("unit", distinct[0]) if same else None


def is_present(values: Values) -> NDArray[np.bool_]:
    """Return which cells are not missing."""
    if values.dtype.kind == "f":
        return ~np.isnan(values)
    if values.dtype.kind == "O":
        return np.array([value is not None and value == value for value in values.tolist()], dtype=bool)
    return np.ones(len(values), dtype=bool)


def _is_copy(cells: Sequence[Any], classes: Sequence[Any], distinct: set[Any]) -> bool:
    """Whether each value occurs with one class and each class with one value."""
    labels = set(classes)
    if len(labels) < 2 or len(labels) != len(distinct) or len(distinct) * 2 > len(cells):
        return False
    return len(set(zip(cells, classes, strict=True))) == len(distinct)


def _is_date(values: Values, distinct: set[Any]) -> bool:
    if values.dtype.kind == "O":
        texts = [v for v in list(distinct)[:500] if isinstance(v, str)]
        return bool(texts) and all(_DATE.fullmatch(text.strip()) for text in texts)
    if values.dtype.kind not in "if" or len(distinct) < 3:
        return False
    numbers = np.array(sorted(distinct), dtype=np.float64)
    if (numbers % 1 != 0).any() or numbers[0] < 19000101 or numbers[-1] > 21001231:
        return False
    month, day = numbers // 100 % 100, numbers % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _is_identifier(name: str, known: Values, distinct: set[Any]) -> bool:
    n, named = len(known), bool(_NAMED_ID.search(name) or _NAMED_ID.search(name.lower()))
    if known.dtype.kind == "O":
        whole = len(distinct) == n
        return whole or (n >= 50 and len(distinct) >= MOSTLY * n) or (named and len(distinct) * 2 >= n)
    if known.dtype.kind not in "iuf" or len(distinct) < n:
        return False
    numbers = known.astype(np.float64)
    if (numbers % 1 != 0).any():
        return False
    # Distinct integers may be measurements, but consecutive ones number the rows.
    steps = np.diff(numbers)
    counts_rows = numbers.max() - numbers.min() == n - 1
    return named or counts_rows or (n >= 50 and bool((steps > 0).all() or (steps < 0).all()))
