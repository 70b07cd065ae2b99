"""One row at a time: rows as mappings, which wait until the next question and are then counted together.

``river_classifier`` is a classifier as River has them. River is an extra, imported when the class is first asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from functools import cache, lru_cache, partial
from itertools import chain
from math import inf, isfinite, isinf
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from bayeskit._classifiers.answer_rows import chosen, posterior
from bayeskit._data.table import open_table
from bayeskit._fitting.row_stream import MOST_WAITING, Row, RowStream, column_names, plain
from bayeskit._schema import Label, Name
from bayeskit.errors import ColumnError, DataTypeError, SettingError, UsageError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._data.reading import Reading
    from bayeskit._fitting.fitted_state import FittedState

# A row, its class, its weight.
Example = tuple[Row, Any, Any]
Classifier = TypeVar("Classifier", bound="CountClassifier")


class WaitingRows:
    """Rows that were learned and are not counted yet.

    Only rows that are certain to be countable may wait. All others are counted at once, so that what is wrong with a
    row is said when the row is learned, and by the code that says it for tables.
    """

    def __init__(self, reading: Reading, fitted: FittedState | None) -> None:
        self.examples: list[Example] = []
        self._sure: dict[Any, Callable[[Any], bool]] = {}
        self._sure_label: Callable[[Any], bool] | None = None
        self._all_numeric = False
        self._reading = reading if fitted is None else None  # by which rows may still bring columns
        if fitted is not None:
            schema = fitted.schema
            self._sure_label = partial(_is_among, schema.target.codes)
            if schema.block is not None:
                self._sure = dict.fromkeys(column_names(fitted), _is_count)
            else:
                for variable in schema.attributes:
                    of_numbers = variable.kind == "numeric" or variable.cuts is not None
                    self._sure[variable.name] = (
                        _is_number if of_numbers else partial(_is_among, variable.codes)
                    )
                self._all_numeric = all(check is _is_number for check in self._sure.values())

    def take(self, row: Row, label: Label, weight: float) -> bool:
        """Let a row wait; False if it must be counted at once."""
        label, weight = plain(label), plain(weight)
        if type(weight) not in (int, float) or not 0 < weight < 1e100:
            return False
        if self._all_numeric and row.keys() == self._sure.keys():
            values = row.values()
            sure = {*map(type, values)} == _FLOATS and isfinite(sum(values))
        else:
            sure = False
        if not sure:
            row = {name: plain(value) for name, value in row.items()}
            if not all(self._is_sure(name, value) for name, value in row.items()):
                return False
        sure_label = self._sure_label or partial(_has_type, type(label))
        if label is None or not sure_label(label):
            return False
        self._sure_label = sure_label
        self.examples.append((dict(row), label, weight))
        return True

    def _is_sure(self, name: Name, value: object) -> bool:
        check = self._sure.get(name)
        if check is None:
            if self._reading is None or type(name) is not str:
                return False
            if value is None:
                return True  # its first value will say what the column holds
            check = _first_check(self._reading, name, value)
            if check(value):
                self._sure[name] = check
        return check(value)


_FLOATS = {float}


def _first_check(reading: Reading, name: str, value: object) -> Callable[[Any], bool]:
    """Return what is asked of the cells of a column that is first met now."""
    if reading.block or reading.dense is not None:
        return _is_count
    if name in reading.states:
        return partial(_is_among, dict.fromkeys(reading.states[name], 0))
    # JSON has 1 and 2.5 in one column.
    return _is_float_or_int if type(value) in (float, int) else partial(_has_type, type(value))


def _is_float_or_int(value: Any) -> bool:
    return _is_number(value) or (type(value) is int and abs(value) <= 2**53)


def _is_number(value: object) -> bool:
    return value is None or (type(value) is float and not isinf(value))


def _is_count(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e100


def _is_among(codes: Mapping[Any, int], value: object) -> bool:
    return value is None or (type(value) in (str, int, bool) and value in codes)


def _has_type(kind: type, value: object) -> bool:
    return type(value) is kind and kind in (str, int, bool)


def learn_one(model: CountClassifier, row: Row, label: Label, weight: float) -> None:
    """Add one row: now, or before the next question."""
    check_row(row)
    coded = _coded(model)
    if coded is not None:
        if coded.learn(row, label, weight):
            return
    else:
        waiting = model._waiting
        if waiting is None:
            waiting = model._waiting = WaitingRows(model._reading(), model._fitted)
        if waiting.take(row, label, weight):
            if len(waiting.examples) >= MOST_WAITING:
                count_waiting(model)
            return
    count_waiting(model)
    count(model, [(row, label, weight)])


def _coded(model: CountClassifier) -> RowStream | None:
    """Return the stream of coded rows; None where rows are learned as tables."""
    fitted = model._fitted
    if fitted is None:
        return None
    stream = model._stream
    if stream is None or not stream.holds_for(fitted):
        count_waiting(model)  # in a block, or what was learned before someone changed the counts
        stream = model._stream = _new_stream(model, fitted)
    return stream if stream.learns else None


def count_waiting(model: CountClassifier) -> None:
    """Count the rows that wait; if they cannot be counted yet, they wait on."""
    waiting, model._waiting = model._waiting, None
    if waiting is not None and waiting.examples:
        try:
            count(model, waiting.examples)
        except BaseException:
            model._waiting = waiting
            raise
    stream = model._stream
    if stream is not None:
        stream.settle()


def count(model: CountClassifier, examples: list[Example]) -> None:
    """Add rows now. New keys become attributes."""
    fitted = model._fitted
    if fitted is None:
        rows = [row for row, _, _ in examples]
        names = _with_values(rows) or tuple(dict.fromkeys(chain.from_iterable(rows)))
        empty = 0.0 if model._reading().block else None
        table = _by_columns(names, rows, dict.fromkeys(names, empty))
    else:
        known = set(column_names(fitted))
        strange = [row for row, _, _ in examples if not row.keys() <= known]
        found = {name: value for row in reversed(strange) for name, value in row.items() if value is not None}
        new = {name: found[name] for name in _with_values(strange) if name not in known}
        before, held = (copy(fitted), copy(fitted.tally)), model._held
        try:
            if new:
                _add_columns(model, fitted, new)
            _partial_fit(model, _table(fitted, [row for row, _, _ in examples]), examples)
        except BaseException:
            if new:  # a row that cannot be learned leaves no column behind
                model._fitted, before[0].tally = before
                model._held = held
                model._renew()
            raise
        return
    _partial_fit(model, table, examples)


def _with_values(rows: list[Row]) -> tuple[Name, ...]:
    """Return the columns that are known in some row: one that is null in all has no kind yet."""
    return tuple(dict.fromkeys(name for row in rows for name, value in row.items() if value is not None))


def _partial_fit(model: CountClassifier, table: Any, examples: list[Example]) -> None:
    labels, weights = _labels_and_weights(examples)
    model.partial_fit(table, labels, sample_weight=weights)


def take_away(model: CountClassifier, examples: list[Example]) -> None:
    """Remove rows that were added."""
    fitted = model._require("forget")
    labels, weights = _labels_and_weights(examples)
    model.forget(_table(fitted, [row for row, _, _ in examples]), labels, weights)


def predict_one(model: CountClassifier, row: Row) -> Any:
    """Return the most probable class of one row."""
    found = _joint_of(model, row)
    if found is None:
        return model.predict(_one_row_table(model, row)).tolist()[0]
    stream, joint, log_prior = found
    if "calibration" not in model._held:
        scores = joint[0].tolist()
        best = max(scores)
        if best > -inf:  # of one row: a kernel takes longer to begin
            return stream.labels[scores.index(best)]
    return stream.labels[chosen(model, joint, log_prior, stream.schema)[0]]


def predict_proba_one(model: CountClassifier, row: Row) -> dict[Any, float]:
    """Return the posterior of each class of one row."""
    found = _joint_of(model, row)
    if found is None:
        shares = model.predict_proba(_one_row_table(model, row))[0]
        return dict(zip(model.classes_.tolist(), shares.tolist(), strict=True))
    stream, joint, log_prior = found
    shares = posterior(model, joint, log_prior, stream.schema)[0]
    return dict(zip(stream.labels, shares.tolist(), strict=True))


def _joint_of(model: CountClassifier, row: Row) -> tuple[RowStream, Floats, Floats] | None:
    """Return log P(c, x) of shape (1, K), log P(c) and who gave them; None where the row is read as a table."""
    check_row(row)
    if model._lazy is not None:
        return None
    if model._waiting is not None:
        count_waiting(model)
    fitted, stream = model._fitted, model._stream
    if fitted is None:
        return None
    if stream is None or not stream.holds_for(fitted):
        stream = model._stream = _new_stream(model, fitted)
    found = stream.joint(row)
    return None if found is None else (stream, *found)


def _new_stream(model: CountClassifier, fitted: FittedState) -> RowStream:
    return RowStream(fitted, model._labels(fitted.schema).tolist())


def _one_row_table(model: CountClassifier, row: Row) -> Any:
    """Return a table of one row; keys that the model does not know say nothing."""
    return _table(model._reader("predict_one"), [row])


def check_row(row: object) -> None:
    if type(row) is not dict and not isinstance(row, Mapping):
        raise DataTypeError(
            "A row of a stream is a mapping from column to value, not {kind}. For rows of a table use partial_fit "
            "and predict.",
            kind=type(row).__name__,
        )


def _labels_and_weights(examples: list[Example]) -> tuple[list[Any], list[Any] | None]:
    weights = [weight for _, _, weight in examples]
    return [label for _, label, _ in examples], None if {*weights} == {1} else weights


@lru_cache(maxsize=64)
def _cells_in_order(names: tuple[Name, ...]) -> Callable[[Row], tuple[Any, ...]]:
    return itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)


def _table(fitted: FittedState, rows: list[Row]) -> Any:
    names, schema = column_names(fitted), fitted.schema
    if not schema.categorical and schema.block is None:
        # Complete rows of numbers need no names: they are in the order learned.
        with suppress(KeyError):
            array = np.array(list(map(_cells_in_order(names), rows)))
            if array.dtype.kind in "if" and array.ndim == 2:
                return array
    if schema.block is not None and schema.vocabulary is None:  # counts; a text is missing if it is absent
        empty: dict[Name, Any] = dict.fromkeys(names, 0.0)
    else:
        numeric = {v.name for v in schema.attributes if v.kind == "numeric" or v.cuts is not None}
        empty = {name: np.nan if name in numeric else None for name in names}
    columns = _by_columns(names, rows, empty)
    if fitted.named:
        return columns
    if all(isinstance(column, np.ndarray) for column in columns.values()):
        return np.column_stack(list(columns.values()))
    return [list(cells) for cells in zip(*columns.values(), strict=True)]


def _by_columns(names: tuple[Name, ...], rows: list[Row], empty: Mapping[Name, Any]) -> dict[Name, Any]:
    """Return the cells by column; one that a row does not name is empty: missing, or 0 in a block."""
    columns: dict[Name, Any] = {}
    for name in names:
        absent = empty[name]
        cells = [row.get(name, absent) for row in rows]
        if {*map(type, cells)} == _FLOATS:
            columns[name] = np.array(cells)
            continue
        if type(absent) is float:
            cells = [absent if cell is None else cell for cell in cells]
            if all(isinstance(cell, (int, float)) for cell in cells):
                with suppress(OverflowError):  # who reads the table says what is wrong with so long a number
                    columns[name] = np.array(cells, dtype=np.float64)
                    continue
        elif float in map(type, cells):  # numbers with gaps
            columns[name] = [np.nan if cell is None else cell for cell in cells]
            continue
        columns[name] = cells
    return columns


def _add_columns(model: CountClassifier, fitted: FittedState, new: Mapping[Any, Any]) -> None:
    if not fitted.named:
        raise ColumnError(
            "{name!r} is not a column: the model was trained on columns without names, and none can be added. The "
            "columns are {names}.",
            name=next(iter(new)),
            names=list(column_names(fitted))[:12],
        )
    if fitted.schema.block is not None:
        fitted.widen(tuple(new))
    else:
        cells = {name: [np.nan if value is None else value] for name, value in new.items()}
        found = fitted.reading.of_later(tuple(new)).schema_of(open_table(cells), fitted.schema.target)
        model._held = model._held_with(tuple(new))
        fitted.widen(tuple(new), found.attributes)
    model._renew()


class SlidingWindow(Generic[Classifier]):
    """A model of the last rows of a stream: older ones are removed exactly, by subtraction.

    Parameters
    ----------
    model : classifier
        Unfitted, or fitted to rows that stay.
    n_rows : int
        The size of the window. Its rows are kept in memory, so that they can be subtracted later.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> window = SlidingWindow(NaiveBayes(), 2)
    >>> for colour, y in [("a", 0), ("a", 0), ("b", 1), ("b", 1)]:
    ...     window.learn_one({"colour": colour}, y)
    >>> window.predict_one({"colour": "b"}), window.model.statistics_.total
    (1, 2.0)
    """

    def __init__(self, model: Classifier, n_rows: int) -> None:
        if isinstance(n_rows, bool) or not isinstance(n_rows, (int, np.integer)) or n_rows < 1:
            raise SettingError("n_rows is {n_rows!r}; give a whole number of at least 1.", n_rows=n_rows)
        self._model = model
        self.n_rows = int(n_rows)
        self._rows: deque[Example] = deque()
        self._leaving: list[Example] = []

    def learn_one(self, row: Row, y: Label, sample_weight: float = 1) -> None:
        """Add a row; the oldest one leaves if there are too many."""
        self._model.learn_one(row, y, sample_weight)
        self._rows.append((dict(row), y, sample_weight))
        if len(self._rows) > self.n_rows:
            self._leaving.append(self._rows.popleft())
            if len(self._leaving) >= MOST_WAITING:
                self._settle()

    @property
    def model(self) -> Classifier:
        """The model of the rows in the window."""
        self._settle()
        return self._model

    def predict_one(self, row: Row) -> Any:
        """Return the most probable class of a row."""
        return self.model.predict_one(row)

    def predict_proba_one(self, row: Row) -> dict[Any, float]:
        """Return the posterior of each class of a row."""
        return self.model.predict_proba_one(row)

    def __len__(self) -> int:
        return len(self._rows)

    def _settle(self) -> None:
        if self._leaving:
            take_away(self._model, self._leaving)
            self._leaving = []


def __getattr__(name: str) -> Any:
    # Pickles look the class up here, by its name.
    if name == "RiverClassifier":
        return river_classifier()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def river_classifier() -> Any:
    """Return the class whose instances are classifiers of River."""
    try:
        from river import base
    except ImportError as error:
        raise UsageError(
            "River is not installed ({error}). Install it: pip install bayeskit[river].", error=error
        ) from error
    from sklearn.base import clone as unfitted

    class RiverClassifier(base.Classifier):
        """A classifier of bayeskit in pipelines and evaluations of River.

        Before the first row ``predict_one`` returns None and ``predict_proba_one`` an empty dictionary.

        Parameters
        ----------
        model
            The classifier. It is copied, with all that it has learned; a clone has learned nothing.
        """

        def __init__(self, model: CountClassifier) -> None:
            self.model = model
            fitted = model.__sklearn_is_fitted__()
            self._learner: CountClassifier = model._copy() if fitted else unfitted(model)

        @classmethod
        def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
            from bayeskit._classifiers.naive_bayes import NaiveBayes

            yield {"model": NaiveBayes()}

        @property
        def _multiclass(self) -> bool:
            return True

        def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
            """Return a classifier with the same parameters that has learned nothing."""
            if include_attributes:
                return super().clone(new_params, include_attributes=True)
            return type(self)(unfitted((new_params or {}).get("model", self.model)))

        def learn_one(self, x: dict[Any, Any], y: Label, sample_weight: float = 1) -> None:
            self._learner.learn_one(x, y, sample_weight)

        def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
            return self._learner.predict_proba_one(x) if self._learner.__sklearn_is_fitted__() else {}

        def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
            return self._learner.predict_one(x) if self._learner.__sklearn_is_fitted__() else None

    RiverClassifier.__qualname__ = RiverClassifier.__name__
    return RiverClassifier
