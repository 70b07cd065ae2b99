"""The rows of a table for commands, with their options; standard input is spooled.

A file of costs is such a table: its first column names the actions, the others the classes. A table whose numbers are
cut is written anew.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._cli.options import STANDARD_INPUT, Reading
from bayeskit._cli.output import RowWriter, opened_text
from bayeskit._data.file_options import MissingMarks
from bayeskit._data.file_reading import FileReading, screen_file
from bayeskit._data.file_rows import FileRows
from bayeskit._data.file_set import open_files
from bayeskit._data.source import memory_in_bytes
from bayeskit._messages import Message, did_you_mean
from bayeskit.errors import BayeskitError, ColumnError, DataError, SourceNote, UsageError

# A wider table takes minutes to read, and is probably a matrix.
MOST_COLUMNS = 4_096


@contextmanager
def opened(
    path: str, reading: Reading, target: str | None = None, like: FileReading | None = None
) -> Iterator[FileRows]:
    """Open a table; standard input, where the path is ``-``, and pipes are spooled first.

    ``like`` says how the training table of a model was read; flags take precedence.
    """
    with _spooled(path) as file:
        separator = {"tab": "\t", "\\t": "\t"}.get(reading.sep or "", reading.sep)
        marks = MissingMarks.of(reading.missing, target)
        if like is not None:
            marks = replace(like.next_marks, everywhere=marks.everywhere or like.missing)
        settings: dict[str, Any] = {
            "encoding": reading.encoding,
            "missing": marks,
            "spellings": {} if like is None else like.spellings,
            "most_columns": MOST_COLUMNS,
            "max_memory": memory_in_bytes(reading.memory, "--memory"),
            "wanted": [] if like is None else list(like.kinds),
        }
        source = open_files(file, separator=separator, **settings)
        if like is not None and separator is None and source.separator not in (None, like.separator):
            # A short table may be split in several ways; the one that finds the columns is right.
            other = open_files(file, separator=like.separator, **settings)
            source = max(source, other, key=lambda files: len({*like.kinds} & {*files.names}))
        rows = FileRows(source, str(Message(STANDARD_INPUT)) if path == "-" else repr(path), reading.limit)
        kinds = dict.fromkeys(reading.numeric or (), "float64") | dict.fromkeys(
            reading.categorical or (), "str"
        )
        rows.need(*kinds)
        yield rows.read_as(kinds=kinds) if kinds else rows


def screened(
    rows: FileRows, target: str | None, drop: Sequence[str] | None, keep: Sequence[str] | None
) -> tuple[FileRows, FileReading]:
    """Return the columns to learn from, and how they are read; what is left out is noted."""
    both = [name for name in keep or () if name in (drop or ())]
    if both:
        raise UsageError("{name!r} is given with --drop and with --keep. Leave it out of one.", name=both[0])
    if target is not None and target in (drop or ()):
        raise UsageError("{target!r} is the --target: it cannot be dropped.", target=target)
    return screen_file(rows.without(drop), target, tuple(keep or ()))


@contextmanager
def _spooled(path: str) -> Iterator[str]:
    shown = Message(STANDARD_INPUT) if path == "-" else repr(path)
    if path != "-" and (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        file = os.path.join(folder, "input.csv")
        with (
            nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as pipe,
            open(file, "wb") as copy,
        ):
            shutil.copyfileobj(pipe, copy)
        try:
            yield file
        except BayeskitError as error:  # name the original, because users do not know the copy
            error.rename(repr(file), shown)
            raise


def read_losses(path: str, classes: Sequence[Any]) -> dict[str, dict[Any, float]]:
    """Read the cost of each action when each class is the truth.

    Returns
    -------
    {action: {class: cost}}, with the classes of the model
    """
    if path != "-" and not os.path.exists(path):
        labels = ",".join(map(str, [*classes[:6], *(["…"] if len(classes) > 6 else [])]))
        raise DataError(
            "There is no file {path!r}. Write one: the line 'action,{labels}', then for each action a line with its "
            "name and what it costs where each of these is true.",
            path=path,
            labels=labels,
        )
    # The column of actions needs no name.
    with warnings.catch_warnings(action="ignore", category=SourceNote), opened(path, Reading()) as rows:
        first, *costs = rows.names
        by_text = {str(label): label for label in classes}
        absent = [text for text in by_text if text not in costs]
        strange = [name for name in costs if name not in by_text]
        if absent or strange:
            wrong = (
                Message("no column for the class {absent!r}", absent=absent[0])
                if absent
                else Message("a column {strange!r}", strange=strange[0])
            )
            hint = did_you_mean(absent[0], costs) if absent else did_you_mean(strange[0], by_text)
            raise ColumnError(
                "{shown}: there is {wrong}. {hint} Its first column names the actions.",
                shown=rows.shown,
                wrong=wrong,
                hint=hint,
            )
        table = rows.read_as(kinds={first: "str", **dict.fromkeys(costs, "float64")}).columns()
    actions = table[first].tolist()
    if len(set(actions)) < len(actions) or None in actions:
        raise DataError(
            "{shown}: the first column must name each action once. Its header may be anything.",
            shown=rows.shown,
        )
    return {a: {by_text[c]: float(table[c][i]) for c in costs} for i, a in enumerate(actions)}


CutPoints = dict[str, NDArray[np.float64]]


def cut_points(rows: FileRows, target: str | None, method: str, bins: int) -> CutPoints:
    """Return the cut points of each numeric column except the target."""
    from bayeskit import Discretizer

    kinds = rows.source.dtypes
    names = [name for name in rows.names if name != target and kinds[name] in ("int64", "float64")]
    if not names:
        raise ColumnError(
            "{shown} has no column of numbers to cut. Name one with --numeric COL.", shown=rows.shown
        )
    columns = rows.read_as([*names, *([target] if target else [])]).columns()
    y = columns.pop(target) if target else None
    found = Discretizer(method, n_bins=bins).fit(columns, y).cut_points_
    return {str(name): cuts for name, cuts in found.items()}


def write_cut(
    rows: FileRows, points: CutPoints, codes: bool, output: str | None, form: str, spreadsheet: bool
) -> int:
    """Write the table with intervals instead of numbers, and return the number of rows."""
    from bayeskit._classifiers.discretizer import intervals_of
    from bayeskit._data.reading import interval_labels

    # Dates and similar columns are passed through as text.
    texts = {
        name: "str" for name, kind in rows.source.dtypes.items() if kind not in ("int64", "float64", "bool")
    }
    labels: dict[str, list[Any]] = {
        name: [*(range(len(cuts) + 1) if codes else interval_labels(cuts)), None]
        for name, cuts in points.items()
    }
    n = 0
    with opened_text(output) as stream:
        writer = RowWriter(stream, rows.names, form, spreadsheet)
        for batch in rows.read_as(kinds=texts).batches():
            columns = []
            for name, column in batch.items():
                if name in points:
                    columns.append(
                        [labels[name][code] for code in intervals_of(column, points[name]).tolist()]
                    )
                else:
                    columns.append([None if cell != cell else cell for cell in column.tolist()])
            writer.write(list(zip(*columns, strict=True)))
            n += len(columns[0])
        writer.close()
    return n
