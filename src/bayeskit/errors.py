"""Errors and warnings, and the language of their messages. Each names the object, the value and a remedy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bayeskit import _messages
from bayeskit._messages import Joined, Message, RowNumber, as_message, listed
from bayeskit._visible import visible_lines


def set_language(lang: str | None) -> None:
    """Choose the language of errors and warnings, for the whole process.

    Parameters
    ----------
    lang : "en", "zh" or None
        None uses the environment variable BAYESKIT_LANG, which is the default. If it is not set, the language
        is English.

    Examples
    --------
    >>> set_language("zh")
    >>> str(CyclicGraph(["a", "b", "a"]))
    '图中有环：“a” → “b” → “a”。请去掉其中一条边。'
    >>> set_language(None)
    """
    if lang is not None and lang not in _messages.LANGUAGES:
        raise SettingError(
            "lang is {lang!r}; choose from {names}.",
            lang=lang,
            names=Joined(map(repr, _messages.LANGUAGES)),
        )
    _messages.choose(lang)


class _Shown(Exception):
    """A template and values, shown in the current language.

    Control characters in names are escaped, since messages are read in terminals.
    """

    _renamed: tuple[tuple[str, str | Message], ...] = ()

    def __init__(self, template: str | Message, /, **values: Any) -> None:
        self.message = template if isinstance(template, Message) else Message(template, **values)
        super().__init__(self.message)

    def rename(self, old: str, new: str | Message) -> None:
        """Rename something in the shown message, such as a temporary copy that the user does not know."""
        self._renamed = (*self._renamed, (old, new))

    def move_rows(self, by: int) -> None:
        """Add to the numbers of rows in the message: those read so far are part of a longer table."""
        for value in self.values.values():
            if isinstance(value, RowNumber):
                value.move(by)

    @property
    def template(self) -> str:
        """The message as the source writes it, with fields for its values."""
        return self.message.template

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of the template's fields."""
        return self.message.values

    def __str__(self) -> str:
        text = str(self.message)
        for old, new in self._renamed:
            text = text.replace(old, str(new))
        return visible_lines(text)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the finished error, not the arguments that it was made from.
        return _remade, (type(self), self.args, self.__dict__)


class BayeskitError(_Shown):
    """The base class of all errors that bayeskit raises deliberately.

    Examples
    --------
    >>> error = DataError("{file!r} has no column {name!r}.", file="a.csv", name="colour")
    >>> str(error)
    "'a.csv' has no column 'colour'."
    >>> error.template, error.values["name"]
    ('{file!r} has no column {name!r}.', 'colour')
    """


def _remade(kind: type[_Shown], arguments: tuple[Any, ...], content: dict[str, Any]) -> _Shown:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(content)
    return error


class DataError(BayeskitError, ValueError):
    """The data cannot be used as given."""


class DataTypeError(BayeskitError, TypeError):
    """The data have a type that cannot be used here."""


class InfiniteValue(DataError):
    """A cell is infinite where a finite number is needed."""

    def __init__(self, column: object, row: int, value: float) -> None:
        self.column, self.value = column, value
        super().__init__(
            "Column {column!r} holds {value} in {place}. "
            "Replace infinite values, or make them NaN, which means missing.",
            column=column,
            value=value,
            place=RowNumber(row),
        )

    @property
    def row(self) -> int:
        """The number of the row, counted from 0."""
        return _row_of(self)


class BlockValue(DataError):
    """A cell of a block is not finite, or is negative where counts are needed.

    ``column`` is the name of the column, or its position if it has no name.
    """

    def __init__(self, block: object, column: object, row: int, value: float) -> None:
        self.block, self.column, self.value = block, column, value
        super().__init__(
            "Negative values in data passed to the block {block!r}: {value} in column {column!r} of {place}. Totals "
            "are of counts or weights: shift or clip the column, or declare it numeric (a Gaussian)."
            if math.isfinite(value)
            else "The block {block!r} has {value} in column {column!r} of {place}. Fill it, drop the row, or declare "
            "the column numeric, where NaN means missing.",
            block=block,
            value="NaN" if math.isnan(value) else "inf" if math.isinf(value) else value,
            column=column,
            place=RowNumber(row),
        )

    @property
    def row(self) -> int:
        """The number of the row, counted from 0."""
        return _row_of(self)

    def with_names(self, names: Sequence[Any]) -> BlockValue:
        """Return the error with the name of the column, of which a block knows only the place."""
        known = names[self.column] if type(self.column) is int else self.column
        return BlockValue(self.block, known, self.row, self.value)


def _row_of(error: DataError) -> int:
    place: RowNumber = error.values["place"]
    return place.row


class ColumnError(DataError):
    """A column is missing, duplicated, unexpected or of the wrong kind."""


class UnseenState(DataError):
    """A value is not among the states of its variable."""


class UnseenClass(DataError):
    """A label is not one of the declared classes."""


class WeightError(DataError):
    """A row weight is negative, not a number, or all of them are zero."""


class NotCounted(DataError):
    """Rows cannot be removed because they were never counted."""


class Incompatible(DataError):
    """Two models or statistics cannot be combined because they describe different things."""


class SettingError(BayeskitError, ValueError):
    """A parameter has an invalid value, or two parameters contradict each other."""


class CyclicGraph(SettingError):
    """The arcs of a graph form a cycle."""

    def __init__(self, cycle: Sequence[object]) -> None:
        self.cycle = tuple(cycle)
        super().__init__(
            "The graph has a cycle: {arcs}. Remove one of these arcs.",
            arcs=Joined(map(repr, self.cycle), " → "),
        )


class InvalidAdjustment(SettingError):
    """A set of nodes is no adjustment set for an effect. The message names the path that stays open."""


class NotIdentifiable(BayeskitError, ValueError):
    """An effect cannot be computed from what is observed, however many rows there are.

    ``hedge`` are nodes that hidden common causes join in a chain (a c-component), ``root`` is the smaller such
    group within it, and ``hidden`` are the hidden nodes that join them.
    """

    def __init__(
        self,
        cause: Sequence[object],
        outcome: Sequence[object],
        hedge: Sequence[object],
        root: Sequence[object],
        hidden: Sequence[object],
    ) -> None:
        self.hedge, self.root, self.hidden = tuple(hedge), tuple(root), tuple(hidden)
        super().__init__(
            "The effect of {cause} on {outcome} is not identifiable. Hidden causes ({hidden}) tie {hedge} together in "
            "one c-component, so what is done to {root} cannot be told from what they do (a hedge). Observe one of "
            "the hidden nodes, or a node through which the whole effect passes.",
            cause=Joined(map(repr, cause)),
            outcome=Joined(map(repr, outcome)),
            hidden=Joined(map(repr, self.hidden)),
            hedge=Joined(map(repr, self.hedge)),
            root=Joined(map(repr, self.root)),
        )


class NoOverlap(DataError):
    """A group of rows, or of the population, never has a state of the cause: its effect there is unknown."""


class UnorderedDecisions(SettingError):
    """An influence diagram does not say which of two decisions is made first. ``decisions`` are the two."""

    def __init__(self, decisions: Sequence[object]) -> None:
        self.decisions = tuple(decisions)
        first, second = self.decisions
        super().__init__(
            "The diagram does not say whether {first!r} or {second!r} is decided first: no path of arcs leads from one "
            "to the other. Let the later one observe the earlier: observed={{{second!r}: [{first!r}]}}.",
            first=first,
            second=second,
        )


class TooLarge(BayeskitError, ValueError):
    """Exact inference would need more memory than allowed.

    ``bytes_needed`` is the estimate (an int, or a float if it is astronomically large). ``largest`` names the
    variables of the largest table.
    """

    def __init__(
        self,
        bytes_needed: float,
        max_memory: float,
        largest: Sequence[object],
        cells: float,
        way_out: str | Message = "Raise max_memory=, observe some of these, or sample: approximate(...).",
    ) -> None:
        self.bytes_needed, self.max_memory, self.largest, self.cells = (
            bytes_needed,
            max_memory,
            tuple(largest),
            cells,
        )
        super().__init__(
            "This needs about {needed}, and max_memory allows {allowed}. The largest table is over {names} ({cells} "
            "cells). {way_out}",
            needed=_in_bytes(bytes_needed),
            allowed=_in_bytes(max_memory),
            names=listed(map(repr, self.largest), 12),
            cells=_rounded(cells),
            way_out=as_message(way_out),
        )


def _in_bytes(amount: float) -> str:
    if isinstance(amount, float) and math.isinf(amount):
        return "any amount"
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20)):
        if amount >= size:
            return f"{_rounded(amount // size if amount > 1e6 * size else amount / size)} {unit}"
    return f"{amount:.0f} bytes"


def _rounded(number: float) -> str:
    """Write a number in three digits. A Python integer may exceed any float."""
    return f"{number:.3g}" if number < 1e300 else f"1e+{math.floor(math.log10(number))}"


class ImpossibleEvidence(DataError):
    """The evidence has probability zero. ``evidence`` is a minimal impossible subset of it."""

    def __init__(self, evidence: Mapping[Any, Any]) -> None:
        self.evidence = dict(evidence)
        super().__init__(
            "The network gives probability zero to {evidence}. Remove one of these, or give the tables that forbid "
            "it a small probability.",
            evidence=Joined(f"{name!r} = {value!r}" for name, value in self.evidence.items()),
        )


class UsageError(BayeskitError, RuntimeError):
    """A method is not available in the present state or mode of the object."""


class NotSupported(UsageError):
    """A conditional distribution does not support an operation. The message says which ones do."""


class OneShotSource(DataTypeError):
    """A source can be read only once, but several passes are needed."""


class NeedsRows(DataTypeError):
    """A ``setting`` needs rows to make a choice, but the source provides only counts."""

    def __init__(self, setting: str, source: object, way_out: str | Message) -> None:
        self.setting = setting
        super().__init__(
            "{setting} chooses from rows, and a {kind} is counted where it is: no rows are read. "
            "{way_out} Or pass the rows themselves, as a frame or in batches.",
            setting=setting,
            kind=type(source).__name__,
            way_out=as_message(way_out),
        )


class CannotCount(DataError):
    """A plan contains statistics that a backend cannot count."""


class EncodingError(DataError):
    """The bytes of a text file do not match the given or detected encoding."""


class ModelFormatError(BayeskitError, ValueError):
    """A file is not a saved model or network, is damaged, or is from a newer version.

    ``problem`` is the message without the position in the file.

    Examples
    --------
    >>> str(ModelFormatError("'wet' has no table", path="grass.bif", line=3, column=7))
    "grass.bif, line 3, column 7: 'wet' has no table"
    """

    def __init__(
        self, what: str | Message, *, path: object = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.problem, self.path, self.line, self.column = as_message(what), path, line, column
        where: str | Message | None = None if path is None else str(path)
        if line is not None:
            where = _within(where, "line {number}", "{where}, line {number}", line)
        if column is not None:
            where = _within(where, "column {number}", "{where}, column {number}", column)
        super().__init__(
            self.problem if where is None else Message("{where}: {what}", where=where, what=self.problem)
        )

    @property
    def what(self) -> str:
        """What is wrong, without the position."""
        return str(self.problem)


def _within(where: str | Message | None, alone: str, after: str, number: int) -> Message:
    return Message(alone, number=number) if where is None else Message(after, where=where, number=number)


class SuspectColumn(_Shown, UserWarning):
    """A column in use looks like an identifier or carries no information."""


class SuspectResult(_Shown, UserWarning):
    """A result is usable but should be checked."""


class NotConverged(SuspectResult):
    """An iteration reached its maximum number of steps, or its time limit, before it converged."""


class SourceNote(_Shown, UserWarning):
    """A note about how a source was read."""
