"""A model that answers rows of JSON, and the file it comes from, which is watched for a newer one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from bayeskit._decision.choice import prepare, settle
from bayeskit._decision.loss import read_loss
from bayeskit._messages import Message, RowNumber, Term, did_you_mean
from bayeskit._schema import Name, Variable
from bayeskit._visible import plain
from bayeskit._web.json_server import Clock
from bayeskit.errors import (
    BayeskitError,
    ColumnError,
    DataTypeError,
    InfiniteValue,
    ModelFormatError,
)
from bayeskit.typing import Floats, LossLike

# Rows that are answered between two looks at the clock.
SLICE_ROWS = 1_024
# A model that answers one row in less than this many seconds is asked without changing threads.
QUICK = 0.002

Row = dict[Any, Any]
# Called between parts of the work; raises an error where the time is over.
Check = Callable[[int], None]


@dataclass(frozen=True)
class ServedModel:
    """A fitted model, which no request changes, with the columns that a row may have.

    Attributes
    ----------
    columns : mapping from the text of a column's name to its variable
        ``Variable.name`` is the name as learned.
    loss, reject
        For decisions, where a request has none of its own.
    quick : bool
        Whether one row takes so little time that it is answered at once.
    """

    model: Any
    columns: Mapping[str, Variable]
    classes: tuple[Any, ...]
    loss: LossLike
    reject: float | None
    loaded: datetime
    quick: bool = False

    @classmethod
    def of(
        cls,
        model: Any,
        loss: LossLike = None,
        reject: float | None = None,
        clock: Clock = time.perf_counter,
    ) -> ServedModel:
        """Prepare a model: tables are built and loops compiled before the first request, not by it."""
        classes = model.classes_.tolist()
        prepare(read_loss(loss, len(classes), classes), reject, None)  # refuses a loss of other classes
        served = cls(model, _columns_of(model), tuple(plain(classes)), loss, reject, datetime.now(UTC))
        times = []
        for _ in range(3):
            begun = clock()
            served.posteriors([{}], _never)
            times.append(clock() - begun)
        served.posteriors([{}, {}], _never)
        return replace(served, quick=min(times) < QUICK)

    @property
    def kind(self) -> str:
        return type(self.model).__name__

    @property
    def target(self) -> str:
        return str(self.model.schema_.target.name)

    def read_rows(self, rows: Sequence[Any]) -> list[Row]:
        """Check rows of JSON, and name their columns as the model does. A column that is not named is missing."""
        return [self._row(row, i) for i, row in enumerate(rows)]

    def _row(self, row: Any, i: int) -> Row:
        if not isinstance(row, dict):
            raise DataTypeError(
                "{place} is {kind}. A row is an object from column to value.",
                place=RowNumber(i, begins=True),
                kind=json_kind(row),
            )
        columns, found = self.columns, {}
        for key, value in row.items():
            variable = columns.get(key)
            if variable is None:
                if key == self.target:  # rows with their known class may be sent as they are
                    continue
                raise ColumnError(
                    "The model has no column {name!r} ({place}). {hint}",
                    name=key,
                    place=RowNumber(i),
                    hint=did_you_mean(key, columns),
                )
            kind = type(value)
            if kind is str or value is None or kind is bool:
                found[variable.name] = value
            elif kind is int or kind is float:
                found[variable.name] = _number(variable, value, i)
            else:
                raise DataTypeError(
                    "Column {name!r} holds {kind} in {place}. A cell is a number, a text, true, false or null.",
                    name=key,
                    kind=json_kind(value),
                    place=RowNumber(i),
                )
        return found

    def posteriors(self, rows: Sequence[Row], check: Check) -> Floats:
        """Return P(c | x) of rows: shape (n, K)."""
        if len(rows) == 1 and self.model.schema_.vocabulary is None:
            return np.array([list(self.model.predict_proba_one(rows[0]).values())])
        return np.concatenate([self.model.predict_proba(table) for table in self._tables(rows, check)])

    def predictions(self, rows: Sequence[Row], check: Check) -> list[Any]:
        """Return the most probable class of each row."""
        if len(rows) == 1 and self.model.schema_.vocabulary is None:
            return [plain(self.model.predict_one(rows[0]))]
        return [
            plain(label)
            for table in self._tables(rows, check)
            for label in self.model.predict(table).tolist()
        ]

    def explanations(
        self, rows: Sequence[Row], check: Check, lang: str, loss: LossLike, reject: float | None
    ) -> list[dict[str, Any]]:
        """Return the page of arithmetic of each row, as plain values."""
        empty, pages = self._empty(), []
        for i, row in enumerate(rows):
            check(i)
            full = {**empty, **row}
            cells = full if self._named else list(full.values())
            pages.append(self.model.explain(cells, lang=lang, loss=loss, reject=reject).to_dict())
        return pages

    def decisions(
        self,
        rows: Sequence[Row],
        check: Check,
        loss: LossLike,
        reject: float | None,
        actions: Sequence[str] | None,
    ) -> list[dict[str, Any]]:
        """Return the action of least risk for each row, its risk, and the risk of every action."""
        classes = self.model.classes_.tolist()
        table, label = prepare(read_loss(loss, len(classes), classes), reject, actions)
        found = settle(self.posteriors(rows, check), table, reject, label)
        rows_of = zip(found.actions.tolist(), found.risk.tolist(), found.risks.tolist(), strict=True)
        return [
            {"action": plain(action), "risk": risk, "risks": plain(risks)} for action, risk, risks in rows_of
        ]

    def _tables(self, rows: Sequence[Row], check: Check) -> Iterator[Any]:
        """Yield slices of the rows as tables in the order learned."""
        empty = self._empty()
        for start in range(0, len(rows), SLICE_ROWS):
            check(start)
            some = rows[start : start + SLICE_ROWS]
            columns: dict[Name, Any] = {}
            for name, absent in empty.items():
                cells = [row.get(name) for row in some]
                cells = [absent if cell is None else cell for cell in cells]
                floats = type(absent) is float and all(isinstance(cell, (int, float)) for cell in cells)
                columns[name] = np.array(cells, np.float64) if floats else cells
            if self._named:
                yield columns
            elif all(isinstance(column, np.ndarray) for column in columns.values()):
                yield np.column_stack(list(columns.values()))
            else:
                yield [list(cells) for cells in zip(*columns.values(), strict=True)]

    @property
    def _named(self) -> bool:
        return bool(self.model._reader("predict").named)

    def _empty(self) -> dict[Name, Any]:
        """A row of which nothing is known; in a block of counts every count is 0."""
        return {v.name: _absent(v) for v in self.columns.values()}


def _columns_of(model: Any) -> dict[str, Variable]:
    """Return a variable for each column that the model was learned from, by the text of its name."""
    schema, fitted = model.schema_, model._reader("predict")
    known = {v.name: v for v in schema.attributes if v.kind != "block"}
    if schema.block is None:
        names: Sequence[Name] = fitted.names if fitted.named else tuple(known)
        return {str(name): known[name] for name in names}
    names = fitted.names if fitted.named else range(schema.block.width)
    return {
        str(name): known.get(name) or Variable(name, "block", vocabulary=schema.block.vocabulary)
        for name in names
    }


def takes_numbers(variable: Variable) -> bool:
    """Whether the cells of a column are numbers: measured, cut into intervals, counts, or codes."""
    counts = variable.kind == "block" and variable.vocabulary is None
    return variable.kind == "numeric" or variable.cuts is not None or variable.dense or counts


def _absent(variable: Variable) -> Any:
    if variable.kind == "block" and variable.vocabulary is None:
        return 0.0
    return math.nan if variable.kind == "numeric" or variable.cuts is not None else None


def _number(variable: Variable, value: float, i: int) -> Any:
    """Return a number of JSON as a cell: NaN is missing, and none is infinite."""
    if type(value) is float and math.isfinite(value):
        return value
    if value != value:
        return None
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise InfiniteValue(variable.name, i, number)
    return number if takes_numbers(variable) else value


def json_kind(value: object) -> Message:
    """Return what a value of JSON is, for messages."""
    if isinstance(value, (bool, type(None))):
        return Message("true, false or null")
    if isinstance(value, (int, float)):
        return Message("a number")
    return Message({str: "a text", list: "a list", dict: "an object"}[type(value)])  # type: ignore[index]


def _never(done: int) -> None:
    """No limit of time holds while a model is prepared."""


class ModelFile:
    """The newest model of a file that could be loaded.

    Parameters
    ----------
    load : callable
        Reads the file: returns a model, and the loss of its decisions or None.
    stamp : callable
        Returns something that changes when the file does; raises an OSError if the file is gone.
    reject : float, optional
        What it costs not to decide.
    """

    def __init__(
        self,
        load: Callable[[], tuple[Any, LossLike]],
        stamp: Callable[[], object],
        reject: float | None = None,
    ) -> None:
        self._load, self._stamp, self._reject = load, stamp, reject
        # Taken before the file is read, so that a change meanwhile is found. If there is no file, reading says so.
        self._tried: object = None
        with suppress(OSError):
            self._tried = stamp()
        self.served = ServedModel.of(*load(), reject)
        self.problem: Message | None = None

    def look(self) -> bool:
        """Load the file if it has changed; what is wrong with it is kept in ``problem``, with the model of before.

        Returns
        -------
        bool
            Whether another model is served now.
        """
        try:
            stamp = self._stamp()
        except OSError as error:
            self._tried = None
            self.problem = Message("The file is gone or cannot be read: {error}.", error=error.strerror)
            return False
        if stamp == self._tried:
            return False
        try:
            served = ServedModel.of(*self._load(), self._reject)
        except (BayeskitError, OSError, ArithmeticError, MemoryError) as error:
            self._tried, self.problem = stamp, _problem_of(error)
            return False
        self._tried, self.problem, self.served = stamp, None, served
        return True

    def health(self, lang: str) -> dict[str, Any]:
        """Return what is served, and what is wrong with the newest file."""
        served = self.served
        return {
            "status": "ok" if self.problem is None else "stale",
            "model": served.kind,
            "target": served.target,
            "classes": list(served.classes),
            "columns": len(served.columns),
            "loaded": served.loaded.isoformat(timespec="seconds"),
            "problem": None if self.problem is None else self.problem.in_language(lang),
        }


def _problem_of(error: Exception) -> Message:
    if isinstance(error, BayeskitError):
        what = error.problem if isinstance(error, ModelFormatError) else error.message
    else:
        what = Term(str(error))
    return Message("The new file was not loaded: {what}", what=what)
