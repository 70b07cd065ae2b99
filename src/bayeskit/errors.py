"""What can go wrong, by name. Every error says the thing, the value and the way out."""

from __future__ import annotations


class BayeskitError(Exception):
    """The root of every error that bayeskit raises on purpose."""


class DataError(BayeskitError, ValueError):
    """The data given cannot be used as they are."""


class DataTypeError(BayeskitError, TypeError):
    """The data given are of a kind that cannot be used here."""


class InfiniteValue(DataError):
    """A cell holds infinity where a number is needed."""

    def __init__(self, column: object, row: int, value: float) -> None:
        self.column, self.row, self.value = column, row, value
        super().__init__(
            f"Column {column!r} holds {value} in row {row} (the first is 0). "
            "Replace infinite values, or make them NaN, which means missing."
        )


class ColumnError(DataError):
    """A column is missing, doubled, superfluous or of the wrong kind."""


class UnseenState(DataError):
    """A value is not among the states of its variable."""


class UnseenClass(DataError):
    """A label is not among the classes that were announced."""


class WeightError(DataError):
    """A row weight is negative, not a number, or all of them are zero."""


class NotCounted(DataError):
    """Rows are to be taken away that were never counted."""


class Incompatible(DataError):
    """Two models or statistics do not speak of the same thing."""


class SettingError(BayeskitError, ValueError):
    """A parameter has a value that means nothing, or two parameters contradict each other."""


class UsageError(BayeskitError, RuntimeError):
    """A method was called that the present way of use does not have."""


class OneShotSource(DataTypeError):
    """A source that can be read only once was given where several passes are needed."""


class EncodingError(DataError):
    """The bytes of a text file are not in the encoding named or found."""


class ModelFormatError(BayeskitError, ValueError):
    """A file is not a saved model, is damaged, or comes from a newer version."""


class SuspectColumn(UserWarning):
    """A column was used that looks like an identifier or carries nothing."""


class SuspectResult(UserWarning):
    """An answer is usable but should be looked at."""


class SourceNote(UserWarning):
    """Something was understood about a source that its owner should know."""
