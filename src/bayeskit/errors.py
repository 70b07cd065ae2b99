"""What can go wrong, by name. Every error says the thing, the value and the way out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bayeskit.visible import visible_lines


class _Shown(Exception):
    """A message in which nothing is hidden, whatever names stand in it: it is to be read in a terminal."""

    def __str__(self) -> str:
        return visible_lines(super().__str__())


class BayeskitError(_Shown):
    """The root of every error that bayeskit raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors made from parts travel between processes as what they became.
        return _remade, (type(self), self.args, self.__dict__)


def _remade(kind: type[BayeskitError], arguments: tuple[Any, ...], content: dict[str, Any]) -> BayeskitError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(content)
    return error


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


class BlockValue(DataError):
    """A cell of a block is not finite, or is negative where counts are needed.

    ``column`` is the place of the column, or its name where it has one.
    """

    def __init__(self, block: object, column: object, row: int, value: float) -> None:
        self.block, self.column, self.row, self.value = block, column, row, value
        where = f"in column {column!r} of row {row}"
        super().__init__(
            f"Negative values in data passed to the block {block!r}: {value} {where}. Totals are of counts or "
            "weights: shift or clip the column, or declare it numeric (a Gaussian)."
            if math.isfinite(value)
            else f"The block {block!r} has {'NaN' if math.isnan(value) else 'inf'} {where}. Fill it, drop the row, "
            "or declare the column numeric, where NaN means missing."
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


class CyclicGraph(SettingError):
    """The arcs of a graph lead back to where they began."""

    def __init__(self, cycle: Sequence[object]) -> None:
        self.cycle = tuple(cycle)
        arcs = " → ".join(map(repr, self.cycle))
        super().__init__(f"The graph has a cycle: {arcs}. Take one of these arcs away.")


class TooLarge(BayeskitError, ValueError):
    """An exact answer would need more memory than is allowed.

    ``bytes_needed`` is the estimate (an int, or a float where it is beyond counting), ``largest`` the
    variables of the largest table.
    """

    def __init__(
        self,
        bytes_needed: float,
        max_memory: float,
        largest: Sequence[object],
        cells: float,
        way_out: str = "Raise max_memory=, observe some of these, or sample: approximate(...).",
    ) -> None:
        self.bytes_needed, self.max_memory, self.largest, self.cells = (
            bytes_needed,
            max_memory,
            tuple(largest),
            cells,
        )
        shown = ", ".join(map(repr, self.largest[:12])) + (", …" if len(self.largest) > 12 else "")
        super().__init__(
            f"This needs about {_in_bytes(bytes_needed)}, and max_memory allows {_in_bytes(max_memory)}. The largest "
            f"table is over {shown} ({_rounded(cells)} cells). {way_out}"
        )


def _in_bytes(amount: float) -> str:
    if isinstance(amount, float) and math.isinf(amount):
        return "any amount"
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20)):
        if amount >= size:
            return f"{_rounded(amount // size if amount > 1e6 * size else amount / size)} {unit}"
    return f"{amount:.0f} bytes"


def _rounded(number: float) -> str:
    """Write a number in three digits; a whole number of Python may be beyond any float."""
    return f"{number:.3g}" if number < 1e300 else f"1e+{math.floor(math.log10(number))}"


class ImpossibleEvidence(DataError):
    """The evidence has probability zero; ``evidence`` is a smallest part of it that already has."""

    def __init__(self, evidence: Mapping[Any, Any]) -> None:
        self.evidence = dict(evidence)
        shown = ", ".join(f"{name!r} = {value!r}" for name, value in self.evidence.items())
        super().__init__(
            f"The network gives probability zero to {shown}. Take one of these away, or give the tables that "
            "forbid it a small probability."
        )


class UsageError(BayeskitError, RuntimeError):
    """A method was called that the present way of use does not have."""


class NotSupported(UsageError):
    """A conditional distribution has no such ability; the message says which has."""


class OneShotSource(DataTypeError):
    """A source that can be read only once was given where several passes are needed."""


class NeedsRows(DataTypeError):
    """Something is to be chosen that only rows can decide, and the source gives counts; ``setting`` asks for it."""

    def __init__(self, setting: str, source: object, way_out: str) -> None:
        self.setting = setting
        super().__init__(
            f"{setting} chooses from rows, and a {type(source).__name__} is counted where it is: no rows are read. "
            f"{way_out} Or pass the rows themselves, as a frame or in batches."
        )


class CannotCount(DataError):
    """A plan asks for sums that a backend cannot count."""


class EncodingError(DataError):
    """The bytes of a text file are not in the encoding named or found."""


class ModelFormatError(BayeskitError, ValueError):
    """A file is not a saved model or network, is damaged, or comes from a newer version.

    Examples
    --------
    >>> str(ModelFormatError("'wet' has no table", path="grass.bif", line=3, column=7))
    "grass.bif, line 3, column 7: 'wet' has no table"
    """

    def __init__(
        self, what: str, *, path: object = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.what, self.path, self.line, self.column = what, path, line, column
        place = [
            None if path is None else str(path),
            None if line is None else f"line {line}",
            None if column is None else f"column {column}",
        ]
        where = ", ".join(part for part in place if part is not None)
        super().__init__(f"{where}: {what}" if where else what)


class SuspectColumn(_Shown, UserWarning):
    """A column was used that looks like an identifier or carries nothing."""


class SuspectResult(_Shown, UserWarning):
    """An answer is usable but should be looked at."""


class NotConverged(SuspectResult):
    """An estimate was still moving when its steps, or its time, were used up."""


class SourceNote(_Shown, UserWarning):
    """Something was understood about a source that its owner should know."""
