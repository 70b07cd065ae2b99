"""How a file is to be read: what the user says, what is known, what reading may take, and which texts mean missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bayeskit._schema import Name
from bayeskit.errors import SettingError

if TYPE_CHECKING:
    from bayeskit._data.file_reading import FileReading

# A column of numbers holds no other texts than these, however they are capitalised. #N/A is Excel's.
IN_NUMBERS = (
    "NA", "Na", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "Null", "NULL", "None", "none", "NONE",
    "?", "-", ".", "unknown", "Unknown", "UNKNOWN",
)  # fmt: skip
# Among words the others are often states: "none" of three allergies, "unknown" of a questionnaire.
IN_WORDS = ("NA", "N/A", "nan", "null", "?")

# As users give them: for all columns, or {column: for this one}.
MarksLike: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class MissingMarks:
    """Texts that mean a missing cell; an empty cell always does.

    Attributes
    ----------
    everywhere : tuple of str, optional
        What the user named for all columns. None: the usual marks, by the kind of the column, and none in the target.
    by_column : {column: tuple of str}
        What the user named for single columns.
    target : str, optional
        The column of the class: there "unknown" may be a class.
    numbers, words : names of columns
        What is known of columns before the file is read, from a model that has learned them.

    Examples
    --------
    >>> marks = MissingMarks(target="class")
    >>> "unknown" in marks.in_numbers("age"), "unknown" in marks.in_words("job"), marks.in_words("class")
    (True, False, ())
    >>> MissingMarks(by_column={"country": ()}).in_words("country")  # NA is Namibia
    ()
    """

    everywhere: tuple[str, ...] | None = None
    by_column: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    target: str | None = None
    numbers: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, given: MarksLike | None, target: str | None = None) -> MissingMarks:
        """Read what the user said; None and nothing are the usual marks."""
        if isinstance(given, str):
            return cls((given,), target=target)
        if isinstance(given, Mapping):
            by_column = {
                name: (texts,) if isinstance(texts, str) else tuple(texts) for name, texts in given.items()
            }
            return cls(None, by_column, target)
        texts = tuple(given or ())
        if any(not isinstance(text, str) for text in texts):
            raise SettingError(
                "missing={given!r} must be texts, or a mapping from columns to texts.", given=given
            )
        return cls(texts or None, target=target)

    @property
    def table_wide(self) -> tuple[str, ...]:
        """Texts that are missing cells in every column, so that the reader need not tell columns apart."""
        return ("", *(self.everywhere or ())) if not self.by_column else ("",)

    def in_numbers(self, name: str) -> tuple[str, ...]:
        """Return the marks of a column of numbers."""
        return self._in(name, IN_NUMBERS)

    def in_words(self, name: str) -> tuple[str, ...]:
        """Return the marks of a column of words."""
        return self._in(name, IN_WORDS)

    def suspected(self, name: str) -> tuple[str, ...]:
        """Return the texts to look for in a column whose kind is not yet known."""
        return self.in_words(name) if name in self.words else self.in_numbers(name)

    def _in(self, name: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        if name in self.by_column:
            return self.by_column[name]
        if self.everywhere is not None:
            return self.everywhere
        return () if name == self.target else usual


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
            "wanted": () if self.reading is None else tuple(self.reading.kinds),
        }
