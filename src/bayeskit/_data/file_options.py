"""How a file is to be read: what the user says, what is known, and what reading may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayeskit._data.missing_marks import MarksLike, MissingMarks
from bayeskit._schema import Name

if TYPE_CHECKING:
    from bayeskit._data.file_reading import FileReading


@dataclass(frozen=True)
class FileOptions:
    """How to read files.

    Attributes
    ----------
    encoding, separator : str, optional
        Of text files; detected by default.
    missing : texts, or {column: texts}, optional
        What means a missing cell.
    threads, max_memory : int, optional
        What reading may take.
    quick : bool
        Whether a large text file may be read on the promise of its first rows; see
        :class:`~bayeskit._data.files.FileSource`.
    progress : bool
        Whether to show how far each pass over the rows has come.
    reading : FileReading, optional
        How another file was read, which this one is read like; its ``left_out`` are no attributes.
    """

    encoding: str | None = None
    separator: str | None = None
    missing: MarksLike | None = None
    threads: int | None = None
    max_memory: int | None = None
    quick: bool = False
    progress: bool = False
    reading: FileReading | None = None

    def settings(self, target: Name | None) -> dict[str, Any]:
        """Return the arguments of :func:`~bayeskit._data.file_set.open_files`, for a file with this class column."""
        marks = MissingMarks.of(self.missing, None if target is None else str(target))
        return {
            "encoding": self.encoding,
            "separator": self.separator,
            "missing": marks if self.reading is None else self.reading.next_marks,
            "spellings": None if self.reading is None else self.reading.spellings,
            "quick": self.quick,
            "threads": self.threads,
            "max_memory": self.max_memory,
        }
