"""The rows of a table as commands read them: flags applied, standard input spooled."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from bayeskit.cli.options import STANDARD_INPUT, Reading
from bayeskit.data.file_rows import FileRows
from bayeskit.data.files import FileSource
from bayeskit.errors import BayeskitError

# A wider table takes minutes to look at; it is rather a matrix than a table.
MOST_COLUMNS = 4_096


@contextmanager
def opened(path: str, reading: Reading) -> Iterator[FileRows]:
    """Open a table; standard input, where the path is ``-``, and pipes are spooled first."""
    with _spooled(path) as file:
        separator = {"tab": "\t", "\\t": "\t"}.get(reading.sep or "", reading.sep)
        source = FileSource(
            file,
            encoding=reading.encoding,
            separator=separator,
            missing=("", *(reading.missing or ())),
            most_columns=MOST_COLUMNS,
        )
        rows = FileRows(source, STANDARD_INPUT if path == "-" else repr(path), reading.limit)
        kinds = dict.fromkeys(reading.numeric or (), "float64") | dict.fromkeys(
            reading.categorical or (), "str"
        )
        rows.need(*kinds)
        yield rows.read_as(kinds=kinds) if kinds else rows


@contextmanager
def _spooled(path: str) -> Iterator[str]:
    shown = STANDARD_INPUT if path == "-" else repr(path)
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
        except BayeskitError as error:  # nobody has heard of the copy
            error.args = tuple(str(part).replace(repr(file), shown) for part in error.args)
            raise
