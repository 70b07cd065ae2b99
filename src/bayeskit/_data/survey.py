"""What cells of a text file look like: kinds, spellings of numbers such as 1.234,56; the survey that counts them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._messages import Message, listed
from bayeskit.errors import SourceNote

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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


# What a cell of each kind looks like. DuckDB's own detection is not used: it turns a column of t and f into
# booleans and inf into dates, and over a whole file it is slower. A cast accepts '1_000' as a number; here it
# is a name.
LOOKS = {
    "int64": r"regexp_full_match({0}, '\s*[-+]?[0-9]+\s*') AND TRY_CAST({0} AS BIGINT) IS NOT NULL",
    "float64": "TRY_CAST({0} AS DOUBLE) IS NOT NULL AND NOT contains({0}, '_')",
    "bool": "lower({0}) IN ('true', 'false')",
    "date": r"regexp_full_match({0}, '(\d{{4}}[-/]\d\d?[-/]\d\d?|\d\d?[-/]\d\d?[-/]\d{{4}})([ T]\d.*)?')",
    "time": r"regexp_full_match({0}, '\d\d?:\d\d(:\d\d(\.\d+)?)?')",
    **{name: spelling.looks for name, spelling in SPELLINGS.items()},
}

# A column of at least so many cells, of which so large a share are numbers, is said to hold words beside them.
# Where less than the last share of the first cells are numbers, no cell is tested for that any more.
FEWEST_CELLS, MOSTLY_NUMBERS, PARTLY_NUMBERS = 10, 0.9, 0.5
NUMBER_TESTS = ("float64", *SPELLINGS)
# The time to plan a query in DuckDB grows with the square of its size.
_COLUMNS_AT_ONCE = 128
# So many first rows tell which tests are worth to be made on all rows; of so many columns they are held in memory.
FIRST_SURVEYED, _COLUMNS_HELD = 2048, 1024


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class Field:
    """A column: its name, how SQL calls it, its kind, whether cells are missing, the expression that reads it as that
    kind, how its numbers are spelled where that is not plain, whether all its cells are missing, the texts that mean
    missing, how often marks of missing cells were seen in it, where its kind is only expected from the first rows, the
    texts that must not occur because they might mean missing, and the cell of all rows where a folder says it."""

    name: str
    column: str
    kind: str = "str"
    nulls: bool = True
    expression: str = ""
    spelling: str = ""
    empty: bool = False
    marks: tuple[str, ...] = ()
    seen: tuple[tuple[str, int], ...] = ()
    refused: frozenset[str] | None = None
    everywhere: tuple[str | None] | None = None

    @property
    def cell(self) -> str:
        """The column as SQL, NULL where its text means missing."""
        if not self.marks:
            return self.column
        # One constant, not a comparison with each text: queries over hundreds of columns are planned sooner.
        pattern = quoted(r"\s*(" + "|".join(map(re.escape, self.marks)) + r")\s*")
        return f"CASE WHEN regexp_full_match({self.column}, {pattern}) THEN NULL ELSE {self.column} END"

    def with_marks(self, among: Sequence[str]) -> Field:
        """Return the column with those of the seen marks that mean missing in it."""
        return replace(self, marks=tuple(mark for mark, _ in self.seen if mark in among))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the column, the same in every batch."""
        if self.kind == "bool" and not self.nulls:
            return np.dtype(np.bool_)
        return np.dtype(self.kind if self.kind in ("int64", "float64") else object)


@dataclass(frozen=True)
class CellCounts:
    """Of a column: how many cells are not empty, how many of these are no mark of a missing cell, and how many of the
    latter pass each test."""

    written: int
    filled: int
    passed: dict[str, int]

    @property
    def numbers(self) -> tuple[float, str]:
        """The largest share of cells that one way to write numbers explains, and this way."""
        ways = [
            (n / self.filled, way) for way, n in self.passed.items() if way in NUMBER_TESTS and self.filled
        ]
        return max(ways, default=(0.0, ""))

    @property
    def partly_numbers(self) -> bool:
        """Whether so many cells are numbers that all cells are tested for that."""
        return self.numbers[0] >= PARTLY_NUMBERS


def tests_left(count: CellCounts) -> list[str]:
    """Return the tests that all first cells pass, and those of numbers that most of them do."""
    return [
        kind
        for kind, n in count.passed.items()
        if n == count.filled or (kind in NUMBER_TESTS and n >= PARTLY_NUMBERS * count.filled)
    ]


def count_cells(
    connection: DuckDBPyConnection, table: str, fields: list[Field], tests: list[list[str]]
) -> tuple[int, list[CellCounts]]:
    """Return the number of rows, and what is counted in each column."""
    rows, counts = 0, []
    for first in range(0, len(fields), _COLUMNS_AT_ONCE):
        some, kept = fields[first : first + _COLUMNS_AT_ONCE], tests[first : first + _COLUMNS_AT_ONCE]
        counted = ["count(*)"]
        for field, kinds in zip(some, kept, strict=True):
            counted += [f"count({field.column})", f"count({field.cell})"]
            # Not FILTER: each such aggregate holds a buffer for all columns (500 of them took 5 GB).
            counted += [f"count(CASE WHEN {LOOKS[kind].format(field.cell)} THEN 1 END)" for kind in kinds]
        [(rows, *answers)] = connection.execute(f"SELECT {', '.join(counted)} FROM {table}").fetchall()
        answer = iter(answers)
        counts += [CellCounts(next(answer), next(answer), {k: next(answer) for k in kinds}) for kinds in kept]
    return rows, counts


def count_first(
    connection: DuckDBPyConnection, table: str, fields: list[Field], tests: Sequence[str]
) -> tuple[int, list[CellCounts]]:
    """Return the number of the first rows, and what is counted in each column of them; all have the same tests.

    If they are fewer than `FIRST_SURVEYED`, they are all rows.
    """
    rows = 0
    counts: list[CellCounts] = []
    for first in range(0, len(fields), _COLUMNS_HELD):
        held = fields[first : first + _COLUMNS_HELD]
        # Read once: to plan a query of a text file takes as long as it has columns, however few of them are asked for.
        columns = ", ".join(dict.fromkeys(field.column for field in held if field.everywhere is None)) or "1"
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE first_rows AS SELECT {columns} FROM {table} LIMIT {FIRST_SURVEYED}"
        )
        for start in range(0, len(held), _COLUMNS_AT_ONCE):
            some = held[start : start + _COLUMNS_AT_ONCE]
            written = ", ".join(f"count({field.column})" for field in some)
            [(rows, *each)] = connection.execute(f"SELECT count(*), {written} FROM first_rows").fetchall()
            # A table of cells without marks: a query with all tests of all marks would take minutes to plan.
            cells = ", ".join(f"{field.cell} AS f{i}" for i, field in enumerate(some))
            connection.execute(f"CREATE OR REPLACE TEMP TABLE first_cells AS SELECT {cells} FROM first_rows")
            # All cells below each other: each test is planned once, not once for each column.
            passed = "".join(f", count(CASE WHEN {LOOKS[kind].format('cell')} THEN 1 END)" for kind in tests)
            found = connection.execute(
                f"SELECT f, count(*){passed} FROM (UNPIVOT first_cells ON COLUMNS(*) INTO NAME f VALUE cell) GROUP BY f"
            ).fetchall()
            of = {name: numbers for name, *numbers in found}  # a column without a cell is not there
            for i, n in enumerate(each):
                filled, *numbers = of.get(f"f{i}", [0] * (1 + len(tests)))
                counts.append(CellCounts(n, filled, dict(zip(tests, numbers, strict=True))))
    return rows, counts


def seen_marks(
    connection: DuckDBPyConnection, table: str, fields: list[Field], counts: list[CellCounts]
) -> dict[str, tuple[tuple[str, int], ...]]:
    """Count the marks of missing cells in the columns that have some."""
    having = [f for f, count in zip(fields, counts, strict=True) if count.filled < count.written]
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for first in range(0, len(having), _COLUMNS_AT_ONCE):
        some = having[first : first + _COLUMNS_AT_ONCE]
        each = ", ".join(
            f"histogram(CASE WHEN {field.cell} IS NULL THEN trim({field.column}) END)" for field in some
        )
        [answers] = connection.execute(f"SELECT {each} FROM {table}").fetchall()
        for field, answer in zip(some, answers, strict=True):
            found[field.name] = tuple(sorted(answer.items(), key=lambda pair: (-pair[1], pair[0])))
    return found


def words_among_numbers(
    connection: DuckDBPyConnection, table: str, fields: list[Field], counts: list[CellCounts]
) -> dict[str, tuple[float, tuple[str, ...]]]:
    """Find the words in columns that hold almost only numbers: the share of these, and some of the words."""
    found: dict[str, tuple[float, tuple[str, ...]]] = {}
    for field, count in zip(fields, counts, strict=True):
        share, looks = count.numbers
        if field.kind == "str" and count.filled >= FEWEST_CELLS and share >= MOSTLY_NUMBERS:
            cell = field.cell
            query = (
                f"SELECT DISTINCT trim({cell}) FROM {table} WHERE NOT ({LOOKS[looks].format(cell)}) LIMIT 4"
            )
            words = sorted(word for (word,) in connection.execute(query).fetchall() if word is not None)
            if words:
                found[field.name] = share, tuple(words)
    return found
