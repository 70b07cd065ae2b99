"""Files written whole or not at all, and rows written as CSV or JSON."""

from __future__ import annotations

import contextlib
import csv
import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

from bayeskit.cli.interrupts import pass_the_last_stop
from bayeskit.errors import BayeskitError
from bayeskit.visible import json_text, visible_lines


@contextmanager
def replaced(path: str) -> Iterator[Path]:
    """Give the path of a temporary file beside a file, which it replaces once the block has ended well.

    Whatever ends the block otherwise, Ctrl-C included, leaves the file as it was. What is no file (a device, a
    pipe) is written to, not replaced.

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> with replaced(folder.name + "/a.txt") as temporary:
    ...     _ = temporary.write_text("melon")
    >>> os.listdir(folder.name)
    ['a.txt']
    >>> folder.cleanup()
    """
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    special = place.exists() and not place.is_file()
    folder = Path(tempfile.gettempdir()) if special else place.parent
    # The end of the name stays: it may say the format.
    temporary = folder / f".{secrets.token_hex(8)}-{Path(path).name[-64:]}"
    try:
        with naming(path, temporary):
            temporary.touch(exist_ok=False)  # says at once if nothing can be written there
        with naming(path, temporary):
            yield temporary
            if special:
                with open(temporary, "rb") as source, open(place, "wb") as sink:
                    shutil.copyfileobj(source, sink)
            else:
                _put(temporary, place)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _put(temporary: Path, place: Path) -> None:
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    with contextlib.suppress(OSError):  # who could read the old file can read the new one, no one else
        os.chmod(temporary, stat.S_IMODE(os.stat(place).st_mode))
    pass_the_last_stop()
    os.replace(temporary, place)


@contextmanager
def naming(path: str, temporary: Path) -> Iterator[None]:
    """Let errors name the file that was asked for, not the temporary one."""
    try:
        yield
    except BayeskitError as error:
        error.args = tuple(str(part).replace(temporary.name, Path(path).name) for part in error.args)
        raise
    except OSError as error:
        if error.filename in (None, str(temporary)) and error.errno != errno.EPIPE:
            raise OSError(error.errno, error.strerror, path) from error
        raise


@contextmanager
def opened_text(path: str | None) -> Iterator[TextIO]:
    """Open a file for text, to be replaced in the end; standard output where there is none."""
    if path is None or path == "-":
        yield cast(TextIO, _Screen(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        return
    with replaced(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
        yield stream
        stream.flush()


class _Screen:
    """Standard output where it is a terminal: cells are shown there; in a pipe or a file they stay as they are."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(visible_lines(text))


class RowWriter:
    """Rows with a header to a stream: CSV, one JSON list, or a JSON object a line.

    Examples
    --------
    >>> writer = RowWriter(sys.stdout, ["row", "y"], "jsonl")
    >>> writer.write([(1, "好")])
    {"row": 1, "y": "好"}
    """

    def __init__(self, stream: TextIO, header: Sequence[str], form: str) -> None:
        self.stream, self.header, self.form, self.began = stream, list(header), form, False
        self.csv = csv.writer(stream, lineterminator="\n")

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        if self.form == "csv":
            # The header waits for the first rows: where these cannot be had, nothing is written at all.
            self.csv.writerows(rows if self.began else [self.header, *rows])
            self.began = True
            return
        for row in rows:
            text = json_text(dict(zip(self.header, row)))
            if self.form == "jsonl":
                self.stream.write(text + "\n")
            else:
                self.stream.write((",\n " if self.began else "[") + text)
                self.began = True

    def close(self) -> None:
        """End the list."""
        if self.form == "json":
            self.stream.write("]\n" if self.began else "[]\n")
        elif self.form == "csv" and not self.began:
            self.csv.writerow(self.header)


def form_of(path: str | None, as_json: bool) -> str:
    """Tell the format by the end of a name.

    Examples
    --------
    >>> form_of("a.json", False), form_of("a.jsonl", False), form_of(None, True), form_of("a.csv", True)
    ('json', 'jsonl', 'json', 'csv')
    """
    suffix = Path(path).suffix.lower() if path not in (None, "-") else ""
    if suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    return "json" if suffix == ".json" or (not suffix and as_json and path in (None, "-")) else "csv"
