"""Single rows of a stream: coded one by one, added to the sums in place where that can be, scored without a table."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, isfinite, nan
from operator import itemgetter
from struct import pack_into
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import RowFactor
from bayeskit._conditionals.following import log_shares
from bayeskit._counting.running_sums import RowRecords, RunningSums
from bayeskit._data.encode import Policy
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import Model, class_prior_of
from bayeskit._schema import Label, Name, Schema, Variable
from bayeskit.typing import Floats

Row = Mapping[Any, Any]
# The codes of the categorical attributes and the numbers of the others, each in the order of the schema.
Cells = tuple[Sequence[int], Sequence[float]]

# Whole numbers up to this one are doubles.
_LARGEST_WHOLE = 2**53


class RowCoder:
    """Turns mappings into codes and numbers, one row at a time.

    A cell is read here only if it is certain what a table would make of it. Any other row is None: the code that reads
    tables reads it, or says what is wrong with it.

    Parameters
    ----------
    schema : Schema
        Without texts.
    names : the columns, in the order of the schema
    policy : "grow" for rows to learn, else what to do with an unknown state
    """

    def __init__(self, schema: Schema, names: tuple[Name, ...], policy: Policy) -> None:
        self.names, self._width = names, len(names)
        self._learns = policy == "grow"
        self._is_block = schema.block is not None
        self._places = {name: place for place, name in enumerate(names)} if self._is_block else {}
        readers = [] if self._is_block else [_reader(variable, policy) for variable in schema.attributes]
        kinds = [variable.kind for variable in schema.attributes]
        pairs = list(zip(names, readers, strict=False))  # a block has no readers
        self._codes = [pair for pair, kind in zip(pairs, kinds, strict=False) if kind == "categorical"]
        self._numbers = [name for (name, _), kind in zip(pairs, kinds, strict=False) if kind == "numeric"]
        # Rows that are complete and all of numbers, as most are where speed matters, are read by one call.
        self._in_order = itemgetter(*names) if len(self._numbers) == self._width > 1 else None
        self._code_dtype = schema.code_dtype

    def cells(self, row: Row) -> Cells | None:
        """Return the codes and numbers of a row of columns."""
        if self._in_order is not None and len(row) == self._width:
            try:
                numbers = self._in_order(row)
            except KeyError:
                pass
            else:
                if [*map(type, numbers)].count(float) == self._width and isfinite(sum(numbers)):
                    return (), numbers
        codes, values = [], []
        for name, read in self._codes:
            code = read(row.get(name))
            if code is None:
                return None
            codes.append(code)
        for name in self._numbers:
            number = _number(row.get(name))
            if number is None:
                return None
            values.append(number)
        if self._learns and not row.keys() <= {*self.names}:
            return None
        return codes, values

    def chunk(self, row: Row, block_above: float | None) -> Chunk | None:
        """Return a row as a chunk to be scored."""
        if self._is_block:
            return self._block(row, block_above)
        cells = self.cells(row)
        if cells is None:
            return None
        codes, values = cells
        return Chunk(1, np.array([codes], self._code_dtype), np.array([values], np.float64))

    def _block(self, row: Row, block_above: float | None) -> Chunk | None:
        block: NDArray[np.float64] = np.zeros((1, self._width))
        for name, value in row.items():
            place = self._places.get(name)
            if place is None:
                continue
            if type(value) not in (int, float) or not 0 <= value < 1e100:
                return None
            block[0, place] = value
        return Chunk(1, np.empty((1, 0), np.uint8), np.empty((1, 0)), block=block, block_above=block_above)


def _reader(variable: Variable, policy: Policy) -> Callable[[Any], Any]:
    """Return what gives the code of a cell, or None where it is not certain."""
    if variable.kind == "numeric":
        return _number
    if variable.cuts is not None:
        return partial(_interval, variable.cuts, variable.size)
    kinds = {type(state) for state in variable.states}
    kind = kinds.pop() if len(kinds) == 1 else None
    # Where missing and unseen have one code, it does not matter which of them a strange value is.
    strange = variable.size if policy == "ignore" and kind is str and not variable.dense else None
    return partial(_state, variable.codes, kind, variable.size, strange)


def plain(value: object) -> Any:
    """Return a number or text of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _number(value: object) -> float | None:
    if type(value) is not float:
        value = plain(value)
    if type(value) is float:
        return None if value in (inf, -inf) else value
    if value is None:
        return nan
    return float(value) if type(value) is int and abs(value) <= _LARGEST_WHOLE else None


def _interval(cuts: tuple[float, ...], size: int, value: object) -> int | None:
    number = _number(value)
    if number is None:
        return None
    return bisect_left(cuts, number) if number == number else size


def _state(
    codes: Mapping[Any, int], kind: type | None, missing: int, strange: int | None, value: object
) -> int | None:
    if value is None:
        return missing
    value = plain(value)
    # 1, 1.0 and True are equal, and tables may tell them apart.
    if type(value) is not kind or kind not in (str, int, bool):
        return None
    return codes.get(value, strange)


# Rows that are added to sums in one call: more would let a question wait, fewer cost a call each.
ROWS_ADDED = 32
# Rows that wait where sums are not added to in place, and the bytes of their codes, of which wide rows would take
# more than a small model: memory stays bounded, and counting costs little for each row.
MOST_WAITING = 1_000
BYTES_WAITING = 1 << 16


def column_names(fitted: FittedState) -> tuple[Name, ...]:
    """The names of the columns; those of a block without names are their places."""
    if fitted.named:
        return tuple(fitted.names)
    block = fitted.schema.block
    return tuple(v.name for v in fitted.schema.attributes) if block is None else tuple(range(block.width))


class RowStream:
    """What is derived from a fitted state for single rows. It holds until someone else changes the counts.

    Rows that were learned here are not in the fitted state before :meth:`settle`. ``labels`` are the
    classes as answers name them.
    """

    def __init__(self, fitted: FittedState, labels: list[Any]) -> None:
        assert fitted.spec is not None
        self._fitted, self._base, self.labels = fitted, fitted.statistics, labels
        self.schema, self._spec, names = fitted.schema, fitted.spec, column_names(fitted)
        # Only tables can be read where rows hold texts, or be learned where they are one block.
        has_texts, is_block = self.schema.vocabulary is not None, self.schema.block is not None
        self._asked = None if has_texts else RowCoder(self.schema, names, self._spec.unseen)
        self._learned = None if is_block else RowCoder(self.schema, names, "grow")
        self._classes = self.schema.target.codes
        self._running: RunningModel | None = None
        self._records: RowRecords | None = None

    @property
    def learns(self) -> bool:
        """Whether rows can be learned here."""
        return self._learned is not None

    def holds_for(self, fitted: FittedState | None) -> bool:
        """Whether the counts are still those that this was derived from."""
        return fitted is self._fitted and fitted.statistics is self._base

    def learn(self, row: Row, label: Label, weight: float) -> bool:
        """Add a row; False if it is for those who read tables."""
        if self._learned is None:
            return False
        cells = self._learned.cells(row)
        if cells is None or type(weight) not in (int, float) or not 0 < weight < 1e100:
            return False
        code = self._code_of(label)
        if code is None:
            return False
        records = self._records
        if records is None:
            records = self._begin()
        records.append(weight, code, *cells)
        if records.is_full:
            self._count()
        return True

    def _code_of(self, label: Label) -> int | None:
        label = plain(label)
        if type(label) not in (str, int, bool):
            return None
        code = self._classes.get(label)
        # 1 and True are equal, and labels may tell them apart.
        return code if code is None or type(self.schema.target.states[code]) is type(label) else None

    def _begin(self) -> RowRecords:
        self._running = RunningModel.of(self._fitted)
        most = MOST_WAITING if self._running is None else ROWS_ADDED
        self._records = RowRecords(self.schema, most, BYTES_WAITING)
        return self._records

    def _count(self) -> None:
        """Count the rows that wait, in place or as a table."""
        records = self._records
        if records is None or not records.n:
            return
        if self._running is None or not self._running.add(records.array):
            self._settle_running()
            self._absorb(records)
        records.clear()

    def _absorb(self, records: RowRecords) -> None:
        fitted = self._fitted
        assert fitted.tally is not None
        fitted.tally.absorb(records.table())
        fitted.complete(fitted.statistics)
        self._base = fitted.statistics
        self._running = RunningModel.of(fitted) if self._running is not None else None

    def _settle_running(self) -> None:
        if self._running is not None and self._running.has_more:
            self._base = self._running.statistics()
            self._fitted.complete(self._base)

    def settle(self) -> None:
        """Put all rows that were learned into the fitted state."""
        self._count()
        self._settle_running()

    def joint(self, row: Row) -> tuple[Floats, Floats] | None:
        """Return log P(c, x) of a row, of shape (1, K), and log P(c); None if only a table can be read."""
        if self._asked is None:
            return None
        if self._records is not None and self._records.n:
            self._count()
        if self._running is not None and self._running.has_more:
            cells = self._asked.cells(row)
            found = None if cells is None else self._running.joint(*cells)
            if found is not None:
                return found, self._running.log_prior
        self._settle_running()
        chunk = self._asked.chunk(row, self._fitted.threshold)
        if chunk is None:
            return None
        model = self._fitted.model()
        return model.joint_chunk(chunk), model.log_prior


class RunningModel:
    """A model whose factors follow sums to which rows are added."""

    def __init__(self, sums: RunningSums, model: Model, prior: ClassPrior) -> None:
        self._sums = sums
        self._mass = None if prior.mass is None else np.array(np.broadcast_to(prior.mass, prior.counts.shape))
        self._factors: list[RowFactor] = [c.following(sums) for c in model.conditionals]
        self.log_prior = prior.log
        self._code_dtype = model.schema.code_dtype
        self._no_codes = np.empty(0, self._code_dtype)
        self._format = f"{len(model.schema.numeric)}d"
        self._is_current = self.has_more = False

    @staticmethod
    def of(fitted: FittedState) -> RunningModel | None:
        """Return the model of a fitted state; None where some part of it must be estimated as a whole."""
        statistics, spec = fitted.statistics, fitted.spec
        assert spec is not None
        # Class weights follow all counts, and where missing is a state there is one more with the first such cell.
        if not spec.form.is_naive or spec.class_weight is not None or spec.missing == "state":
            return None
        if not RunningSums.takes(statistics):
            return None
        model = fitted.model()
        if not all(conditional.supports("following") for conditional in model.conditionals):
            return None
        return RunningModel(RunningSums(statistics), model, class_prior_of(statistics, spec))

    def add(self, records: Floats) -> bool:
        """Add rows; False if they must be counted as a table."""
        if not self._sums.add(records):
            return False
        self._is_current, self.has_more = False, True
        return True

    def statistics(self) -> Any:
        """Return the sums with all rows that were added."""
        self.has_more = False
        return self._sums.statistics()

    def joint(self, codes: Sequence[int], values: Sequence[float]) -> Floats | None:
        """Return log P(c, x) of one row; None where only the estimate of the whole model can tell."""
        if not self._is_current:
            for factor in self._factors:
                if not factor.refresh():
                    return None
            if self._mass is not None:
                log_shares(self._sums.margin, self._mass, self.log_prior)
            self._is_current = True
        out = self.log_prior.copy()
        numbers: Any = np.empty(len(values))
        # Packing takes two thirds of the time of an array of a tuple.
        pack_into(self._format, numbers, 0, *values)
        cells = np.array(codes, self._code_dtype) if codes else self._no_codes, numbers
        for factor in self._factors:
            if not factor.add(*cells, out):
                return None
        return out[None]
