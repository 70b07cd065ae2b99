"""The survey of a text file: one pass over all cells, which counts what decides the kinds of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayeskit._data.formats import LOOKS, Field
from bayeskit._data.spelling import SPELLINGS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# A column of at least so many cells, of which so large a share are numbers, is said to hold words beside them.
# Where less than the last share of the first cells are numbers, no cell is tested for that any more.
FEWEST_CELLS, MOSTLY_NUMBERS, PARTLY_NUMBERS = 10, 0.9, 0.5
NUMBER_TESTS = ("float64", *SPELLINGS)
# The time to plan a query in DuckDB grows with the square of its size.
_COLUMNS_AT_ONCE = 128


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
    """Return the number of the first rows, and what is counted in each column of them; all have the same tests."""
    rows = 0
    counts: list[CellCounts] = []
    for first in range(0, len(fields), _COLUMNS_AT_ONCE):
        some = fields[first : first + _COLUMNS_AT_ONCE]
        # A table of cells without marks: a query with all tests of all marks would take minutes to plan.
        cells = ", ".join(f"{field.cell} AS f{i}" for i, field in enumerate(some))
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE first_rows AS SELECT {cells} FROM {table} LIMIT 2048"
        )
        [(rows,)] = connection.execute("SELECT count(*) FROM first_rows").fetchall()
        # All cells below each other: each test is planned once, not once for each column.
        passed = "".join(f", count(CASE WHEN {LOOKS[kind].format('cell')} THEN 1 END)" for kind in tests)
        found = connection.execute(
            f"SELECT f, count(*){passed} FROM (UNPIVOT first_rows ON COLUMNS(*) INTO NAME f VALUE cell) GROUP BY f"
        ).fetchall()
        of = {name: numbers for name, *numbers in found}  # a column without a cell is not there
        for i in range(len(some)):
            filled, *numbers = of.get(f"f{i}", [0] * (1 + len(tests)))
            counts.append(CellCounts(filled, filled, dict(zip(tests, numbers, strict=True))))
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
