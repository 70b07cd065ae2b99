"""Columns of free text: which they are, their cells as texts, the vocabulary that their rows give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.class_labels import batch_weights
from bayeskit._data.columns import is_missing, objects
from bayeskit._data.source import Rows, Source, place_of
from bayeskit._data.table import Table, open_attributes, open_table
from bayeskit._messages import Joined
from bayeskit._schema import Name
from bayeskit._words import Splitting, Units, Vocabulary, document_counts, split
from bayeskit.errors import ColumnError, DataError, DataTypeError
from bayeskit.typing import RowSource

# What a list of texts is called where a column needs a name.
TEXT = "text"

# A column is free text if it has at least so many different cells, of at least so many words, and if they are at least
# this share of all cells. Categories come again and again; names and addresses are shorter.
FEWEST_TEXTS, FEWEST_WORDS, LEAST_DIFFERENT = 20, 4, 0.5
# So many cells are looked at; a word is a rough guess where writing has no spaces: two characters.
CELLS_LOOKED_AT, CHARACTERS_OF_A_WORD = 1_000, 2

# While counting, rare words are let go when there are so many times more than will be kept.
SPARE = 8


def open_texts(data: RowSource | None) -> Table:
    """Open texts: a list or a column of them is a table of one column; anything else is a table already.

    >>> open_texts(["to be", None]).names
    ('text',)
    """
    if isinstance(data, (str, bytes)):
        raise DataTypeError(
            "A single text was passed: {text!r}. Pass a list of texts, such as [text].", text=data[:60]
        )
    if not _is_flat(data):
        return open_attributes(data)
    cells: Any = data
    cells = objects(cells.to_pylist() if hasattr(cells, "to_pylist") else cells)
    if not len(cells):
        return open_table(np.empty((0, 1)))
    return Table(len(cells), (TEXT,), False, arrays=(cells,))


def _is_flat(data: Any) -> bool:
    """Whether this is one sequence of cells, and no table."""
    if isinstance(data, (list, tuple)):
        return all(
            cell is None or isinstance(cell, (str, bytes)) or np.ndim(cell) == 0 for cell in data[:100]
        )
    if hasattr(data, "ndim"):
        return bool(data.ndim == 1)
    is_column = hasattr(data, "to_pylist") or (hasattr(data, "to_list") and hasattr(data, "__len__"))
    return is_column and not hasattr(data, "columns") and not hasattr(data, "column_names")


def cells_of(table: Table, j: int) -> list[Any]:
    """Return the cells of a column."""
    if table.frame is not None:
        found: list[Any] = table.frame.get_column(table.names[j]).to_list()
        return found
    cells: list[Any] = table.raw(j).tolist()
    return cells


def is_free_text(cells: Iterable[Any]) -> bool:
    """Whether cells are free text: mostly different, and of several words.

    >>> is_free_text(f"this is the message of number {i}" for i in range(40))
    True
    >>> is_free_text(["dark red", "light green"] * 40)
    False
    """
    looked_at = [cell for cell in list(cells)[:CELLS_LOOKED_AT] if not is_missing(cell)]
    different = {cell for cell in looked_at if isinstance(cell, str)}
    if len(different) < max(FEWEST_TEXTS, LEAST_DIFFERENT * len(looked_at)):
        return False
    return median(map(_words_in, different)) >= FEWEST_WORDS


def _words_in(text: str) -> float:
    """About how many words a text has; numbers, dates and codes are none."""
    words = [word for word in text.split() if any(map(str.isalpha, word))]
    if text.isascii():
        return len(words)
    units = Splitting().units(text)
    spaceless = sum(len(unit) == 1 and not unit.isascii() for unit in units)
    return max(len(words), len(units) - spaceless + spaceless / CHARACTERS_OF_A_WORD)


def text_places(table: Table, named: Sequence[Name] | None) -> tuple[int, ...]:
    """Return which columns hold texts: those named, the only one, or those that look like free text."""
    if named is not None:
        return tuple(place_of(table.names, name, "text") for name in named)
    if table.block is None and len(table.names) == 1:
        return (0,)
    places = range(len(table.names)) if table.block is None else ()
    found = tuple(j for j in places if table.kind(j) == "categorical" and is_free_text(cells_of(table, j)))
    if not found:
        raise ColumnError(
            "None of the columns {names} looks like free text. Name the one that is: text=...",
            names=Joined(map(repr, table.names[:12])),
        )
    return found


def texts_of(table: Table, places: Sequence[int]) -> list[str]:
    """Return the text of each row, of several columns joined; a missing cell is an empty text."""
    columns = [_texts_in(table, j) for j in places]
    return columns[0] if len(columns) == 1 else list(map("\n".join, zip(*columns, strict=True)))


def _texts_in(table: Table, j: int) -> list[str]:
    cells = cells_of(table, j)
    if all(type(cell) is str for cell in cells):
        return cells
    return ["" if is_missing(cell) else _text(cell, row, table.names[j]) for row, cell in enumerate(cells)]


def _text(cell: Any, row: int, name: Name) -> str:
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, (bytes, bytearray)):
        raise DataTypeError(
            "Row {row} of {name!r} holds bytes, {cell!r}. Decode them to text first: cell.decode('utf-8').",
            row=row,
            name=name,
            cell=bytes(cell[:40]),
        )
    raise DataTypeError(
        "Row {row} of {name!r} holds {cell!r}, which is not text but {kind}. Leave the column out, or make it "
        "text with str().",
        row=row,
        name=name,
        cell=cell,
        kind=type(cell).__name__,
    )


def _units_of(table: Table, places: tuple[int, ...], splitting: Splitting) -> Units:
    """Split the texts of a table. The table keeps the result: it is needed in every pass over the rows."""
    key = (places, splitting)
    if key not in table.split_texts:
        table.split_texts[key] = split(texts_of(table, places), splitting)
    found: Units = table.split_texts[key]
    return found


def block_of_texts(table: Table, vocabulary: Vocabulary) -> Any:
    """Return the weighed words of the texts of a table, which keeps them as well."""
    known, block = table.split_texts.get("block", (None, None))
    if known is not vocabulary:
        block = vocabulary.block(_units_of(table, vocabulary.places, vocabulary.splitting))
        table.split_texts["block"] = vocabulary, block
    return block


def without_texts(table: Table, vocabulary: Vocabulary) -> Table | None:
    """Return the other columns of a table; None where there are none."""
    rest = tuple(name for j, name in enumerate(table.names) if j not in vocabulary.places)
    return table.select(rest) if rest else None


@dataclass(frozen=True)
class TextSettings:
    """The user's settings for texts.

    Attributes
    ----------
    columns : names of the columns that hold text; None: they are found
    splitting : Splitting
    weighting : as in :class:`~bayeskit._words.Vocabulary`
    min_count : how many texts must have a word
    max_features : the most words that are kept, the most frequent first
    words : those to use, if they are given
    """

    columns: tuple[Name, ...] | None
    splitting: Splitting
    weighting: str
    min_count: int
    max_features: int
    words: tuple[str, ...] | None = None


def choose_vocabulary(source: Source, settings: TextSettings) -> tuple[Vocabulary, NDArray[np.bool_]]:
    """Choose the words of the texts of a source, in one pass.

    Returned with which of them are in just as many texts as they must be.
    """
    places: tuple[int, ...] | None = None
    counts: dict[str, int] = {}
    n_texts = 0
    for rows in source.weighing():
        if places is None:
            places = text_places(rows.table, settings.columns)
        units = _with_weight(rows, _units_of(rows.table, places, settings.splitting))
        n_texts += units.n_texts
        # Only a source of one batch can let rare words go before it has seen all.
        least = settings.min_count if source.in_memory else 1
        counts = _sum(
            counts, document_counts(units, settings.splitting, least), SPARE * settings.max_features
        )
    words = _most_frequent(counts, settings) if settings.words is None else settings.words
    if not words:
        raise DataError(
            "No word is left in {n} texts: all are empty or of stop words, or none is in {least} texts. Lower "
            "min_count=, or check stop_words=, analyzer= and the texts.",
            n=n_texts,
            least=settings.min_count,
        )
    assert places is not None
    idf = None
    if settings.weighting == "tf-idf":
        shares = np.array([(1.0 + n_texts) / (1.0 + counts.get(word, 0)) for word in words])
        idf = tuple((np.log(shares) + 1.0).tolist())
    rare = np.array([counts.get(word, 0) <= settings.min_count for word in words])
    return Vocabulary(words, places, settings.splitting, settings.weighting, idf), rare


def _most_frequent(counts: dict[str, int], settings: TextSettings) -> tuple[str, ...]:
    """Return the words in the most texts, sorted; of those that are equally frequent, the ones of fewest units."""
    known = {word: count for word, count in counts.items() if count >= settings.min_count}
    most = settings.max_features
    if len(known) > most:
        least = int(np.partition(np.fromiter(known.values(), np.int64, len(known)), -most)[-most])
        chosen = [word for word, count in known.items() if count > least]
        equal = [word for word, count in known.items() if count == least]
        equal.sort(key=lambda word: (len(settings.splitting.parts(word)), word))
        return tuple(sorted(chosen + equal[: most - len(chosen)]))
    return tuple(sorted(known))


def _with_weight(rows: Rows, units: Units) -> Units:
    """Leave out rows of weight 0: they are absent, and so are their words."""
    weights = batch_weights(rows.weights, rows.table.n_rows)
    if weights is None or (weights > 0.0).all():
        return units
    there = (weights > 0.0)[units.text]
    number = np.cumsum(weights > 0.0) - 1
    n = int((weights > 0.0).sum())
    return replace(units, codes=units.codes[there], text=number[units.text[there]], n_texts=n)


def _sum(counts: dict[str, int], more: dict[str, int], most: int) -> dict[str, int]:
    """Add counts; where they are of more words than may be kept, the rarest go (Manku and Motwani 2002)."""
    if not counts:
        counts = more
    else:
        for word, count in more.items():
            counts[word] = counts.get(word, 0) + count
    least = 1
    while len(counts) > most:
        least += 1
        counts = {word: count for word, count in counts.items() if count >= least}
    return counts
