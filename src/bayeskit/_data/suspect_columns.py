"""Detects columns that do not generalise: identifiers, constants, dates, copies of the target, and leaks."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.texts import is_free_text
from bayeskit._messages import Message
from bayeskit._schema import Name
from bayeskit.errors import DataError

Values = NDArray[Any]
# Why a column is left out, in the words of every command and warning.
REASONS = {
    "identifier": "names the row",
    "constant": "one value only",
    "copy": "a copy of {target}",
    "date": "dates",
    "dropped": "dropped as asked",
    "text": "free text, whose words TextBayes learns",
}
# A column leaks the class if it alone tells at least this share of what the most frequent class leaves open.
LEAK = 0.95
# Numbers are cut into at most so many intervals of equal frequency to see what they tell.
INTERVALS = 50
# So many columns are compared with each other: the work grows with the square.
MOST_PAIRED = 60
# Words of so many different values, each of them in so few rows on average, say little about a value.
MANY_WORDS, FEW_ROWS_EACH = 50, 10
# In a table of fewer rows anything may be different in every row, or equal to the target, by chance.
FEWEST = 10
# A text that differs in so large a part of the rows names the row, and is no category.
MOSTLY = 0.9
# A target with more different values, each in fewer than two rows on average, is a measurement and no class.
MOST_CLASSES = 100

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
    r"(^|[^a-z])(id|ids|uid|uuid|guid|index|idx|key|no|nr|rownum|serial)$|[a-z](Id|ID)$|[编序学工单卡账]号|证号|号码|^unnamed|^$"
)

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_MEASURED = re.compile(r"[-+]?\d+(?:[.,]\d+)?\s*([^\d\s.,;:/-]{1,6})")
# Fewer different values may be names that look like numbers, such as sizes.
MANY_NAMES = 20


def reason_text(reason: str, target: Name | None) -> Message:
    """Return in words why a column is left out.

    >>> print(reason_text("copy", "class"))
    a copy of class
    """
    return Message(REASONS[reason], target=str(target)) if reason == "copy" else Message(REASONS[reason])


@dataclass(frozen=True)
class ColumnScreening:
    """What a look at the columns of a table found.

    Attributes
    ----------
    left_out : {column: why}
        Columns that tell nothing about new rows; the words of a reason are in ``REASONS``.
    telling : {column: share}
        Columns that are used, each of which alone tells the class of this share of the rows.
    texts : the columns of free text
    crowded : {column: values}
        Columns of words that have very many different values.
    """

    left_out: Mapping[Name, str] = field(default_factory=dict)
    telling: Mapping[Name, float] = field(default_factory=dict)
    texts: tuple[Name, ...] = ()
    crowded: Mapping[Name, int] = field(default_factory=dict)


def screen_columns(
    columns: Mapping[Name, Values], target: Values | None, keep: Collection[Name] = ()
) -> ColumnScreening:
    """Look at columns before anything is learned from them.

    Parameters
    ----------
    columns : {name: array of shape (n,)}
        Numbers with NaN, or texts with None, where missing.
    target : array of shape (n,), or None
        The class; no cell of it is missing.
    keep : columns that are used, whatever they look like

    Examples
    --------
    >>> classes = np.array(["a", "b"] * 10)
    >>> found = screen_columns({"row": np.arange(20), "x": np.array([1, 2] * 9 + [2, 1])}, classes)
    >>> found.left_out
    {'row': 'identifier'}
    """
    # Numbers for the classes: what follows compares them again and again.
    target = None if target is None else _cells_of(target.astype(object))
    texts = tuple(
        name for name, cells in columns.items() if cells.dtype.kind == "O" and is_free_text(cells.tolist())
    )
    left_out: dict[Name, str] = {}
    for name, cells in columns.items():
        found = None if name in keep or name in texts else reason(str(name), cells, target)
        left_out |= {name: found} if found else {}
    used = {name: cells for name, cells in columns.items() if name not in left_out and name not in texts}
    telling = {} if target is None else {name: _told(cells, target) for name, cells in used.items()}
    return ColumnScreening(
        left_out,
        {name: share for name, share in telling.items() if share is not None},
        texts,
        {name: n for name, cells in used.items() if (n := _crowd(cells))},
    )


def _crowd(values: Values) -> int:
    """Return the number of different words where a table of them would have few rows for each; else 0."""
    if values.dtype.kind != "O":
        return 0
    cells = values.tolist()
    distinct = sum(isinstance(value, str) for value in set(cells))
    if not is_crowd(distinct, 0):
        return 0
    return distinct if is_crowd(distinct, sum(isinstance(value, str) for value in cells)) else 0


def is_crowd(words: int, cells: int) -> bool:
    """Return whether so many different words in so many cells leave few rows for each."""
    return words > MANY_WORDS and words * FEW_ROWS_EACH > cells


def are_measured(n_values: int, n: int) -> bool:
    """Return whether a target of whole numbers or words has too many different values to be classes.

    >>> are_measured(90, 100), are_measured(258, 300), are_measured(258, 3000)
    (False, True, False)
    """
    return n_values > MOST_CLASSES and n_values * 2 > n


def measured_target(target: Name, shown: str | Message, n_values: int, n: int) -> DataError:
    """Return the error for a target whose values are no classes."""
    return DataError(
        "Column {target!r} of {shown} has {n:,} different values in {n_y:,} rows: it is a measurement or an "
        "identifier, and these models predict classes. Choose another target=, or put it into classes first.",
        target=target,
        shown=shown,
        n=n_values,
        n_y=n,
    )


def told_share(values: Values, target: Values) -> float | None:
    """Return for which share of the rows a column alone tells the class; None if that is nothing to wonder about.

    Each row is told by the others of the same value, or of the same interval of numbers. So values that occur once
    tell nothing. What the most frequent class tells without the column does not count.

    Examples
    --------
    >>> classes = np.array(["a", "b"] * 50)
    >>> told_share(np.where(classes == "a", 1.5, 3.5) + np.linspace(0, 1, 100), classes)
    1.0
    >>> told_share(np.linspace(0, 1, 100), classes) is None
    True
    """
    return _told(values, _cells_of(target.astype(object)))


def _told(values: Values, classes: NDArray[np.intp]) -> float | None:
    """Return the share that a column alone tells of classes 0, 1, …"""
    present = is_present(values)
    known = classes[present]
    n, k = len(known), int(known.max(initial=0)) + 1
    if n < FEWEST or k < 2:
        return None
    cells = _cells_of(values[present])
    counts = np.bincount(cells * k + known, minlength=(int(cells.max()) + 1) * k).reshape(-1, k)
    # A row is told if its class is the most frequent of its value even without the row itself.
    second, top = np.partition(counts, (k - 2, k - 1), axis=1)[:, k - 2 :].T
    share = float(top[top - 1 > second].sum()) / n
    base = float(counts.sum(axis=0).max()) / n
    rare = n * (1.0 - base)  # so many rows are left for the column to tell
    return share if rare >= FEWEST and share - base >= LEAK * (1.0 - base) else None


def _cells_of(known: Values) -> NDArray[np.intp]:
    """Number the values of a column; numbers that are many are cut into intervals of equal frequency."""
    cells: NDArray[np.intp]
    if known.dtype.kind in "iuf":
        numbers = known.astype(np.float64)
        distinct = np.unique(numbers)
        if len(distinct) > INTERVALS:
            inner = np.linspace(0, 1, INTERVALS + 1)[1:-1]
            distinct = np.unique(np.quantile(numbers, inner))
        cells = np.searchsorted(distinct, numbers).astype(np.intp)
        return cells
    values = known.tolist()
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(places.__getitem__, values), dtype=np.intp, count=len(values))


def telling_pairs(columns: Mapping[Name, Values]) -> list[tuple[Name, Name, float]]:
    """Return (one, other, share) of columns of which one alone tells the other for nearly every row, either way round.

    This is for tables without a class, where any column may be the one of interest.
    """
    names = list(columns)[:MOST_PAIRED]
    cells = {name: _complete_cells(columns[name]) for name in names}
    found = []
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            for a, b in ((one, other), (other, one)):
                share = _told(cells[a].astype(object), cells[b])
                if share is not None:
                    found.append((a, b, share))
    return found


def _complete_cells(values: Values) -> NDArray[np.intp]:
    """Number the values of a column; missing is one of them."""
    present = is_present(values)
    cells = np.zeros(len(values), dtype=np.intp)
    cells[present] = _cells_of(values[present]) + 1
    return cells


def reason(name: str, values: Values, target: Values | None) -> str | None:
    """Return why to leave out a column: "constant", "copy", "date", "identifier"; None if it may be used.

    Parameters
    ----------
    values : array of shape (n,)
        Numbers with NaN, or texts with None, where missing.
    target : array of shape (n,), or None
        No cell of it is missing. Without it nothing is a copy.

    Examples
    --------
    >>> classes = np.array(["a", "b"] * 10)
    >>> reason("row", np.arange(20), classes), reason("y", np.array([0, 1] * 10), classes)
    ('identifier', 'copy')
    >>> reason("x", np.linspace(0, 1, 20), classes) is None
    True
    """
    present = is_present(values)
    known = values[present]
    cells = known.tolist()
    distinct = set(cells)
    if len(distinct) < 2:
        return "constant"
    if len(cells) < FEWEST:
        return None
    if target is not None and _is_copy(cells, target[present].tolist(), distinct):
        return "copy"
    if _is_date(values, distinct):
        return "date"
    return "identifier" if _is_identifier(name, known, distinct) else None


def is_settled(values: Values, target: Values) -> bool:
    """Return whether no further rows could give a reason to leave out a column that these rows do not.

    A column that varies is never constant, one that repeats a whole number does not name the rows, one that goes with
    several classes is no copy. Whether most of its words name the rows is a matter of all of them.

    Examples
    --------
    >>> classes = np.array(["a", "b"] * 10)
    >>> is_settled(np.arange(20) % 5, classes), is_settled(np.array([20240101, 20240102] * 10), classes)
    (True, False)
    """
    present = is_present(values)
    known, classes = values[present], target[present].tolist()
    cells = known.tolist()
    distinct, n_pairs = set(cells), len(set(zip(cells, classes, strict=True)))
    if len(cells) < FEWEST or len(distinct) < 2 or len(distinct) == n_pairs == len(set(classes)):
        return False
    if values.dtype.kind not in "iuf":
        return True
    return not (may_name_rows(known) or _are_dates(known.astype(np.float64)))


def may_name_rows(values: Values) -> bool:
    """Return whether all cells differ, and none is a fraction: whether they number the rows only all rows show."""
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # infinity has no fraction
            if (values % 1 > 0).any():
                return False
    return len(set(values.tolist())) == len(values)


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
        cells = values.tolist()
        if any(value is None or value != value for value in set(cells)):
            return np.array([value is not None and value == value for value in cells], dtype=bool)
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
    return _are_dates(np.array(list(distinct), dtype=np.float64))


def _are_dates(numbers: NDArray[np.float64]) -> bool:
    """Whether all numbers are dates such as 20240131."""
    if (numbers % 1 != 0).any() or numbers.min() < 19000101 or numbers.max() > 21001231:
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
    # Whole numbers that all differ may be measured, too; those that count the rows are not.
    steps = np.diff(numbers)
    span = numbers.max() - numbers.min()
    # Drawn at random from their range, so many would meet in pairs that none meeting is no accident: e^-12.
    spread_out = n * (n - 1) / 2 > 12 * (span + 1)
    ordered = bool((steps > 0).all() or (steps < 0).all())
    return named or span == n - 1 or (n >= 50 and (ordered or spread_out))
