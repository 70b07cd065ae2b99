"""How a file was read, kept in the model so that the next file is read in the same way; and what a look at its columns
found: which are left out, and what should be noted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from bayeskit._data.file_options import MissingMarks
from bayeskit._data.file_rows import FileRows
from bayeskit._data.file_set import TableFiles
from bayeskit._data.files import FIRST_ROWS
from bayeskit._data.formats import Unsure
from bayeskit._data.survey import SPELLINGS
from bayeskit._data.suspect_columns import (
    FEWEST,
    REASONS,
    ColumnScreening,
    is_crowd,
    is_present,
    is_settled,
    may_name_rows,
    reason_text,
    screen_columns,
    telling_pairs,
)
from bayeskit._messages import Joined, Message, listed, users_line
from bayeskit._schema import Name
from bayeskit.errors import BayeskitError, DataError, ModelFormatError, SourceNote

# So many rows, at equal distances over the file, are looked at; what they suggest is confirmed on more of them.
ROWS_LOOKED_AT, ROWS_CONFIRMED = 20_000, 1_000_000
# Where a file can be read in parts, so many blocks of rows are looked at in their place, unless its rows are sorted: a
# class of more than the rare share is in each block, and all blocks have at most so many times the words of one.
BLOCKS_LOOKED_AT, RARE, ALIKE = 8, 0.01, 1.5
# So many columns are named in a note.
MOST_NAMED = 8
# How a column of a file can be read.
KINDS = ("int64", "float64", "bool", "str", "date", "time")


@dataclass(frozen=True)
class FileReading:
    """How a file was read.

    Attributes
    ----------
    target : str, optional
        The column of the class.
    separator : str, optional
        None for a format without one.
    missing : tuple of str, optional
        Texts that the user named as missing cells of all columns; None: the usual ones.
    missing_in : {column: texts}
        The same for single columns.
    marks : {column: texts}
        Which texts were taken as missing cells.
    kinds : {column: "int64", "float64", "bool" or "str"}
        Of the columns that are used, and of the target.
    spellings : {column: how its numbers are spelled}, such as "comma", where that is not plain
    left_out : {column: why}
        "identifier", "constant", "copy", "date" or "text".
    telling : {column: share}
        Columns that alone told the class of nearly every row.
    telling_of : {column: {column: share}}
        The same for each column of a table without a class.
    """

    target: str | None = None
    separator: str | None = None
    missing: tuple[str, ...] | None = None
    missing_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    telling: Mapping[str, float] = field(default_factory=dict)
    telling_of: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        files: TableFiles,
        target: str | None,
        screening: ColumnScreening | None = None,
        pairs: Iterable[tuple[Name, Name, float]] = (),
    ) -> FileReading:
        """Describe how files are read."""
        found = ColumnScreening() if screening is None else screening
        telling_of: dict[str, dict[str, float]] = {}
        for one, other, share in pairs:
            telling_of.setdefault(str(other), {})[str(one)] = share
        return cls(
            target,
            files.separator,
            files.marks.everywhere,
            dict(files.marks.by_column),
            {name: marks for name, marks in files.taken.items() if name not in found.left_out},
            {name: kind for name, kind in files.dtypes.items() if name not in found.left_out},
            files.spellings,
            {str(name): why for name, why in found.left_out.items()},
            {str(name): share for name, share in found.telling.items()},
            telling_of,
        )

    def about(self, target: str) -> FileReading:
        """Return it as a model sees it that predicts one of the columns of a table without a class."""
        return replace(self, telling=self.telling_of.get(target, {}))

    @property
    def next_marks(self) -> MissingMarks:
        """What means missing in the next file, whose columns are known."""
        numbers = frozenset(name for name, kind in self.kinds.items() if kind in ("int64", "float64"))
        words = frozenset(name for name, kind in self.kinds.items() if kind == "str")
        return MissingMarks(self.missing, self.missing_in, self.target, numbers - {self.target}, words)

    @property
    def next_kinds(self) -> dict[str, str]:
        """How to read the columns of the next file, which may hold nothing but digits where words were learned."""
        kinds = {"int64": "float64", "float64": "float64", "str": "str"}
        found = {name: kinds[kind] for name, kind in self.kinds.items() if kind in kinds}
        # A class that is new may be a word where the others are numbers.
        return {name: kind for name, kind in found.items() if name != self.target or kind == "str"}

    def plain(self) -> dict[str, Any]:
        """Return it as plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_plain(cls, value: object) -> FileReading | None:
        """Return what a file holds under this name; None where a model was learned from no file."""
        if value is None:
            return None
        names = {each.name for each in fields(cls)}
        # Older files do not say which columns tell which.
        if not isinstance(value, dict) or {*value, "telling_of"} != names:
            raise _unreadable()
        made = {"telling_of": {}, **value}
        if made["missing"] is not None:
            made["missing"] = _texts(made["missing"])
        for name in ("missing_in", "marks"):
            made[name] = {_text(key): _texts(texts) for key, texts in _items(made[name])}
        for name in ("kinds", "spellings", "left_out"):
            made[name] = {_text(key): _text(text) for key, text in _items(made[name])}
        _among(made["kinds"], KINDS)
        _among(made["spellings"], SPELLINGS)
        _among(made["left_out"], REASONS)
        made["telling"] = _shares(made["telling"])
        made["telling_of"] = {_text(key): _shares(by) for key, by in _items(made["telling_of"])}
        for name in ("target", "separator"):
            made[name] = None if made[name] is None else _text(made[name])
        return cls(**made)


def _unreadable() -> ModelFormatError:
    return ModelFormatError(Message("it does not say how its table was read. Save the model again."))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _unreadable()
    return value


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)):
        raise _unreadable()
    return tuple(map(_text, values))


def _items(value: object) -> Iterable[tuple[object, object]]:
    if not isinstance(value, dict):
        raise _unreadable()
    return value.items()


def _shares(value: object) -> dict[str, float]:
    return {_text(key): _share(share) for key, share in _items(value)}


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise _unreadable()
    return float(value)


def _among(texts: Mapping[str, str], known: Collection[str]) -> None:
    if not set(texts.values()) <= set(known):
        raise _unreadable()


# -- the first file ------------------------------------------------------------------------------


def screen_file(
    rows: FileRows,
    target: str | None,
    keep: Collection[str] = (),
    but: Collection[str] = (),
    with_texts: bool = True,
) -> tuple[FileRows, FileReading]:
    """Look at the columns of a file before anything is learned from them, and note what was found.

    A large text file that was opened quickly is read without a survey if its first rows show nothing to leave out, to
    note or to doubt. Every cell is still checked when it is read, and what would be left out or taken as missing is
    never missed. Only notes about shares of the rows (columns that tell the class, crowded columns) can differ from
    those of the careful way, where the evidence lies beyond the first rows.

    Parameters
    ----------
    target : the column of the class, if there is one
    keep : columns to use, whatever they look like
    but : columns that are no attributes, such as weights
    with_texts : whether columns of free text are used

    Returns
    -------
    rows : the columns that are used, and those in ``but``
    reading : how they are read
    """
    rows.need(*keep)
    if target is not None and target not in rows.names:
        return rows, FileReading.of(rows.source, target)  # who reads the labels says what is wrong
    if not rows.source.sure:
        if _is_unremarkable(rows, target, keep, but):
            return rows, FileReading.of(rows.source, target)
        rows = replace(rows, source=rows.source.surveyed())
    dated = [name for name, kind in rows.source.dtypes.items() if kind in ("date", "time")]
    if target in dated:
        raise DataError(
            "Column {target!r} of {shown} holds dates. Choose another target=.",
            target=target,
            shown=rows.shown,
        )
    left: dict[Name, str] = dict.fromkeys((name for name in dated if name not in keep), "date")
    _need_some([name for name in rows.names if name not in left and name != target], left, target)
    rows = rows.read_as(
        [name for name in rows.names if name not in left], {n: "str" for n in dated if n in keep}
    )
    found = _screened(rows, target, keep, but)
    texts = [] if with_texts else [name for name in found.texts if name not in keep]
    left_out: dict[Name, str] = {**left, **found.left_out, **dict.fromkeys(texts, "text")}
    found = replace(found, left_out=left_out)
    used = [name for name in rows.names if name not in found.left_out]
    _need_some([name for name in used if name != target and name not in but], found.left_out, target)
    rows = rows.read_as(used)
    note_file(rows, found, target)
    return rows, FileReading.of(rows.source, target, found, _noted_pairs(rows) if target is None else ())


def _is_unremarkable(rows: FileRows, target: str | None, keep: Collection[str], but: Collection[str]) -> bool:
    """Whether the first rows show nothing to leave out or to note, and others could give no reason to leave out."""
    if target is None or rows.source.seen or rows.source.mostly_numbers or rows.source.spellings:
        return False
    try:
        first = rows.source.first(FIRST_ROWS)
    except (BayeskitError, Unsure):
        return False
    if target not in first:
        return False
    columns, y = _labelled({name: cells for name, cells in first.items() if name not in but}, target)
    settled = len(y) >= FEWEST and all(is_settled(cells, y) for cells in columns.values())
    return settled and screen_columns(columns, y, keep) == ColumnScreening()


def _need_some(names: Sequence[str], left_out: Mapping[Any, str], target: str | None) -> None:
    if not names and left_out:
        raise DataError(
            "No column is left to learn from: {told}. Name the columns to use in keep=.",
            told=told_reasons(left_out, target),
        )


def told_reasons(left_out: Mapping[Any, str], target: Name) -> Joined:
    """Return columns, each with the reason why it is left out."""
    return listed(
        (
            Message("{name!r} ({kind})", name=name, kind=reason_text(why, target))
            for name, why in left_out.items()
        ),
        MOST_NAMED,
    )


def _screened(
    rows: FileRows, target: str | None, keep: Collection[str], but: Collection[str]
) -> ColumnScreening:
    rows = rows.read_as([name for name in rows.names if name not in but]) if but else rows
    blocks = _mixed_blocks(rows, target)
    sample = rows.sample(ROWS_LOOKED_AT) if blocks is None else blocks
    found, doubtful = _looked_at(sample, target, keep)
    if blocks is not None and doubtful:
        # A column may be constant in all blocks, and differ between them.
        elsewhere = _only(rows, doubtful, target).sample(ROWS_LOOKED_AT)
        again, doubtful = _looked_at(elsewhere, target, keep)
        found = _corrected(found, again)
    if not doubtful or len(next(iter(sample.values()))) == rows.n_rows:
        return found
    all_rows = _only(replace(rows, limit=min(rows.n_rows, ROWS_CONFIRMED)), doubtful, target)
    return _corrected(found, screen_columns(*_labelled(all_rows.columns(), target), keep))


def _corrected(found: ColumnScreening, seen: ColumnScreening) -> ColumnScreening:
    """Return what was found, with the reasons to leave out that more rows give, and their notes on cleared columns."""
    cleared = [name for name in found.left_out if name not in seen.left_out]

    def joined(known: Mapping[Name, Any], more: Mapping[Name, Any]) -> dict[Name, Any]:
        used = {name: value for name, value in known.items() if name not in seen.left_out}
        return used | {name: more[name] for name in cleared if name in more}

    telling, crowded = joined(found.telling, seen.telling), joined(found.crowded, seen.crowded)
    return ColumnScreening(seen.left_out, telling, found.texts, crowded)


def _only(rows: FileRows, names: Sequence[str], target: str | None) -> FileRows:
    return rows.read_as([*names, *([] if target is None else [target])])


def _looked_at(
    sample: Mapping[str, Any], target: str | None, keep: Collection[str]
) -> tuple[ColumnScreening, list[str]]:
    """Return what some rows show, and the columns of which more rows must be seen before they are left out."""
    columns, y = _labelled(sample, target)
    n = len(next(iter(columns.values()), ()))
    if n < FEWEST or (y is not None and len(set(y.tolist())) < 2):
        return ColumnScreening(), []
    found = screen_columns(columns, y, keep)
    numbered = [name for name, cells in columns.items() if name not in keep and may_name_rows(cells)]
    return found, [str(name) for name in dict.fromkeys([*found.left_out, *numbered])]


def _mixed_blocks(rows: FileRows, target: str | None) -> Mapping[str, Any] | None:
    """Return some blocks of rows if they may stand for all; None where the order of the rows matters.

    A file that is sorted, by the class or by words, has to be looked at everywhere.
    """
    blocks = rows.blocks(BLOCKS_LOOKED_AT, ROWS_LOOKED_AT)
    if not blocks or (target is not None and not _shares_words([block[target] for block in blocks], RARE)):
        return None
    for name in rows.names:
        cells = [block[name] for block in blocks]
        if name != target and cells[0].dtype.kind == "O" and not _shares_words(cells):
            return None
    return {name: np.concatenate([block[name] for block in blocks]) for name in rows.names}


def _shares_words(blocks: Sequence[Any], rare: float | None = None) -> bool:
    """Whether blocks of a column have the same words.

    With ``rare``, whether there are several words, and those of a larger share of all cells are in each block.
    Without, whether the blocks have together hardly more words than one of them. If there are so many that the column
    is crowded, that shows in the blocks anyway.
    """
    counts = [Counter(block[is_present(block)].tolist()) for block in blocks]
    every = sum(counts, Counter())
    if rare is not None:
        frequent = [word for word, n in every.items() if n >= rare * every.total()]
        return len(every) > 1 and all(word in count for count in counts for word in frequent if count)
    most = max(map(len, counts))
    return len(every) <= ALIKE * most or is_crowd(len(every), every.total())


def _labelled(columns: Mapping[str, Any], target: str | None) -> tuple[dict[Any, Any], Any]:
    """Return the attributes and the classes of the rows that have a class."""
    if target is None:
        return dict(columns), None
    known = is_present(columns[target])
    return {name: cells[known] for name, cells in columns.items() if name != target}, columns[target][known]


# -- notes ---------------------------------------------------------------------------------------


def note_file(rows: FileRows, found: ColumnScreening, target: str | None, left_out: bool = True) -> None:
    """Warn of what was found in a file; columns that are left out may be told elsewhere."""
    for note in [
        *(_left_out_notes(rows.shown, found.left_out, target) if left_out else ()),
        *mark_notes(rows),
        *_column_notes(rows.shown, found),
    ]:
        warnings.warn(note, stacklevel=users_line())


def _left_out_notes(shown: str, left_out: Mapping[Any, str], target: str | None) -> Iterable[SourceNote]:
    if left_out:
        yield SourceNote(
            "{shown}: left out: {told}. Name in keep= what should be used anyway.",
            shown=shown,
            told=told_reasons(left_out, target),
        )


def mark_notes(rows: FileRows) -> Iterable[SourceNote]:
    """Return notes of texts that mean missing, of those that may, and of words among numbers."""
    files, shown = rows.source, rows.shown
    seen = {name: marks for name, marks in files.seen.items() if name in rows.names}
    taken = {name: [m for m in marks if m in files.taken.get(name, ())] for name, marks in seen.items()}
    others = {name: [m for m in marks if m not in files.taken.get(name, ())] for name, marks in seen.items()}
    if any(taken.values()):
        yield SourceNote(
            "{shown}: taken as missing: {told}. If that is wrong, say with missing= what means missing.",
            shown=shown,
            told=_told_marks(taken),
        )
    if any(others.values()):
        yield SourceNote(
            "{shown}: read as values, though they may mean missing: {told}. If they do, name them with missing=.",
            shown=shown,
            told=_told_marks(others),
        )
    for name, (share, words) in files.mostly_numbers.items():
        if name in rows.names:
            yield SourceNote(
                "{shown}: column {name!r} is read as words because of {words}; {share:.1%} of its cells are "
                "numbers. If these mean missing, name them with missing=; if not, correct the file.",
                shown=shown,
                name=name,
                words=Joined(map(repr, words)),
                share=share,
            )


def _told_marks(marks: Mapping[str, Sequence[str]]) -> Joined:
    return listed(
        (
            Message("{texts} in {name!r}", texts=Joined(map(repr, texts)), name=name)
            for name, texts in marks.items()
            if texts
        ),
        MOST_NAMED,
    )


def _column_notes(shown: str | Message, found: ColumnScreening) -> Iterable[SourceNote]:
    for name, share in list(found.telling.items())[:MOST_NAMED]:
        yield SourceNote(
            "{shown}: column {name!r} alone predicts the class of {share:.1%} of the rows. Was it known before the "
            "outcome? If not, leave it out with exclude=[{name!r}].",
            shown=shown,
            name=name,
            share=share,
        )
    for name, n in list(found.crowded.items())[:MOST_NAMED]:
        yield SourceNote(
            "{shown}: column {name!r} has {n:,} different words, most of them in few rows, which say little about "
            "new rows. Leave it out with exclude=[{name!r}], or join the rare ones.",
            shown=shown,
            name=name,
            n=n,
        )


def note_columns(shown: str | Message, found: ColumnScreening) -> None:
    """Warn of columns that are used and should be thought about."""
    for note in _column_notes(shown, found):
        warnings.warn(note, stacklevel=users_line())


def _noted_pairs(rows: FileRows) -> list[tuple[Name, Name, float]]:
    """Return which columns tell which in a table without a class, and warn of one direction of each pair."""
    columns: dict[Name, Any] = dict(rows.sample(ROWS_LOOKED_AT // 4).items())
    found = telling_pairs(columns)
    first = {frozenset((one, other)): (one, other, share) for one, other, share in reversed(found)}
    for one, other, share in list(reversed(first.values()))[:MOST_NAMED]:
        note = SourceNote(
            "{shown}: column {one!r} alone predicts {other!r} in {share:.1%} of the rows. If it is a copy, or was "
            "not known before, leave it out with exclude=[{one!r}].",
            shown=rows.shown,
            one=one,
            other=other,
            share=share,
        )
        warnings.warn(note, stacklevel=users_line())
    return found


# -- the next file -------------------------------------------------------------------------------


def read_like(
    rows: FileRows, reading: FileReading, names: Sequence[str], kinds: Mapping[str, str]
) -> FileRows:
    """Return the columns of the next file that a model has learned, read as then; all that does not fit is one error.

    Notes tell which columns of the file are left out, as they were then, and what is taken as missing.
    """
    rows = rows.fitting(names, kinds)
    for note in [*mark_notes(rows), *_remembered(rows.shown, reading)]:
        warnings.warn(note, stacklevel=users_line())
    return rows


def _remembered(shown: str, reading: FileReading) -> Iterable[SourceNote]:
    if reading.left_out:
        yield SourceNote(
            "{shown}: not used, as in training: {told}.",
            shown=shown,
            told=told_reasons(reading.left_out, reading.target),
        )
    for name, share in list(reading.telling.items())[:MOST_NAMED]:
        yield SourceNote(
            "{shown}: column {name!r} alone predicted the class of {share:.1%} of the training rows. Was it known "
            "before the outcome?",
            shown=shown,
            name=name,
            share=share,
        )
