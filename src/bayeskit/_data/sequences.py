"""Opens sequences of observations: a list of them, rows with lengths, or a frame with a column that names them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._data.columns import objects
from bayeskit._data.frames import is_frame
from bayeskit._data.table import Table, is_sparse, needs_dense, open_dense
from bayeskit._messages import Joined, RowNumber
from bayeskit._schema import Name
from bayeskit.errors import ColumnError, DataError, DataTypeError
from bayeskit.typing import Ints, TableLike

# One sequence: a column of observations, or rows; several: a list of those.
SequencesLike: TypeAlias = TableLike | Sequence[Any]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Rows of one or several sequences, one sequence after the other.

    Attributes
    ----------
    table : the observations
    fresh : uint8 array, 1 where a sequence begins
    in_list : whether they were given as a list of sequences, and answers are to be a list
    order : where each row stood, if the rows of a sequence did not stand together
    labels : the cells of a column of states, in the order of ``table``
    """

    table: Table
    fresh: NDArray[np.uint8]
    in_list: bool = False
    order: NDArray[np.intp] | None = None
    labels: NDArray[Any] | None = None

    @property
    def lengths(self) -> Ints:
        return np.diff([*np.flatnonzero(self.fresh), len(self.fresh)])

    def answers(self, found: NDArray[Any]) -> Any:
        """Return an answer for each row as the rows were given: a list of arrays, or one array in their order."""
        if self.in_list:
            return np.split(found, np.cumsum(self.lengths)[:-1])
        if self.order is not None:
            there = np.empty_like(found)
            there[self.order] = found
            return there
        return found


def open_sequences(
    X: SequencesLike,
    lengths: ArrayLike | None,
    sequence: Name | None,
    who: str,
    states: Name | None = None,
) -> Sequences:
    """Open sequences.

    Parameters
    ----------
    X : list of sequences, or rows
        A list whose items are lists, arrays or frames holds one sequence in each. Anything else is one table, or one
        column, of which ``lengths`` tells how many rows each sequence has; without it, all are one sequence.
    lengths : list of int, optional
    sequence : name of a column, optional
        Rows with the same value there are a sequence, in the order in which they stand.
    who : the estimator, for messages
    states : name of a column, optional
        It holds no observations, but the states.

    Examples
    --------
    >>> found = open_sequences([["red", "white"], ["red"]], None, None, "HiddenMarkov")
    >>> found.lengths.tolist(), found.table.raw(0).tolist()
    ([2, 1], ['red', 'white', 'red'])
    """
    if any(map(is_sparse, X if isinstance(X, (list, tuple)) else [X])):
        raise needs_dense(who)
    if not isinstance(X, (list, tuple)) and _n_steps(X) == 0:
        raise _empty(0)
    if sequence is not None:
        return _by_column(X, lengths, sequence, states, who)
    if lengths is None and _is_list_of_sequences(X):
        given: Any = X
        return _opened_list(list(given), who)
    table = open_dense(_as_rows(X), who)
    each = [table.n_rows] if lengths is None else _read_lengths(lengths, table.n_rows)
    table, labels = _without_states(table, states)
    return Sequences(table, _fresh(each), labels=labels)


def _is_list_of_sequences(X: Any) -> bool:
    if not isinstance(X, (list, tuple)):
        return False
    if not X:
        raise DataError("There are no sequences: the list is empty. Pass one at least.")
    return all(_is_sequence(item) for item in X)


def _n_steps(one: Any) -> int | None:
    """Return the number of rows; None if the object does not tell it."""
    if isinstance(one, Mapping):
        one = next(iter(one.values()), ())
    return len(one) if hasattr(one, "__len__") and getattr(one, "ndim", 1) > 0 else None


def _is_sequence(item: Any) -> bool:
    if isinstance(item, (str, bytes)):
        return False
    return isinstance(item, (list, tuple, Mapping)) or is_frame(item) or getattr(item, "ndim", 0) > 0


def _as_rows(X: Any) -> Any:
    """Return a column of observations as rows of one cell."""
    if isinstance(X, np.ndarray):
        return X[:, None] if X.ndim == 1 else X
    if isinstance(X, (list, tuple)) and not any(map(_is_sequence, X)):
        return (
            objects(X)[:, None] if any(isinstance(x, str) or x is None for x in X) else np.array(X)[:, None]
        )
    if not is_frame(X) and not isinstance(X, Mapping) and hasattr(X, "__array__") and np.ndim(X) == 1:
        return np.asarray(X)[:, None]
    return X


def _opened_list(given: list[Any], who: str) -> Sequences:
    lengths: list[int] = []
    for number, one in enumerate(given):
        n = _n_steps(one) or 0
        if n == 0:
            raise _empty(number)
        lengths.append(n)
    if all(isinstance(one, np.ndarray) and one.ndim == given[0].ndim for one in given):
        widths = {one.shape[1:] for one in given}
        if len(widths) > 1:
            raise _different_widths(sorted(int(w[0]) if w else 1 for w in widths))
        return Sequences(open_dense(_as_rows(np.concatenate(given)), who), _fresh(lengths), True)
    if all(isinstance(one, (list, tuple)) and not any(map(_is_sequence, one)) for one in given):
        return Sequences(open_dense(_as_rows([x for one in given for x in one]), who), _fresh(lengths), True)
    tables = [open_dense(_as_rows(one), who) for one in given]
    widths_of = {table.shape[1] for table in tables}
    if len(widths_of) > 1:
        raise _different_widths(sorted(widths_of))
    names = tables[0].names
    if any(table.named for table in tables):
        tables = [
            table.select(names) if set(table.names) == set(names) else _refuse(table, names)
            for table in tables
        ]
    columns = {name: np.concatenate([_cells(table, j) for table in tables]) for j, name in enumerate(names)}
    joined: Any = columns if tables[0].named else np.column_stack(list(columns.values()))
    return Sequences(open_dense(joined, who), _fresh(lengths), True)


def _cells(table: Table, j: int) -> NDArray[Any]:
    if table.frame is None:
        return table.raw(j)
    column = table.frame.get_column(table.names[j])
    return np.asarray(column.to_numpy()) if table.kind(j) == "numeric" else objects(column.to_list())


def _by_column(X: Any, lengths: ArrayLike | None, sequence: Name, states: Name | None, who: str) -> Sequences:
    if lengths is not None:
        raise DataError(
            "sequence={sequence!r} tells the sequences apart: leave lengths= out.", sequence=sequence
        )
    table = open_dense(X, who)
    j = _place(table, sequence)
    coded = table.factorize(j)
    codes = np.asarray(coded.codes, np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise DataError(
            "Column {name!r} tells sequences apart and is missing in {place}. Leave such rows out.",
            name=sequence,
            place=RowNumber(row),
        )
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    # Sequences stand in the order in which they first appear.
    order = np.argsort(first[codes], kind="stable")
    counts = np.bincount(codes)[np.argsort(first)]
    rest = tuple(name for name in table.names if name != sequence)
    if not rest:
        raise ColumnError("There is no column besides {name!r}. Pass observations, too.", name=sequence)
    table, labels = _without_states(table.select(rest).take(order), states)
    return Sequences(table, _fresh(counts.tolist()), order=order, labels=labels)


def _without_states(table: Table, states: Name | None) -> tuple[Table, NDArray[Any] | None]:
    if states is None:
        return table, None
    j = _place(table, states)
    return table.select(tuple(name for name in table.names if name != states)), _cells(table, j)


def _place(table: Table, name: Name) -> int:
    if not table.named or name not in table.names:
        raise ColumnError(
            "There is no column {column!r}. There are {known}.",
            column=name,
            known=Joined(map(repr, table.names[:12])),
        )
    return table.names.index(name)


def _read_lengths(lengths: Any, n_rows: int) -> list[int]:
    if not isinstance(lengths, (Collection, np.ndarray)) or isinstance(lengths, (str, bytes)):
        raise DataTypeError(
            "lengths is {lengths!r}; give the number of rows of each sequence.", lengths=lengths
        )
    array = np.asarray(lengths)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataTypeError(
            "lengths is {lengths!r}; give the number of rows of each sequence.", lengths=lengths
        )
    if (array < 1).any():
        raise _empty(int((array < 1).argmax()))
    if array.sum() != n_rows:
        raise DataError(
            "lengths adds up to {total}, and there are {n} rows. Each row belongs to one sequence.",
            total=int(array.sum()),
            n=n_rows,
        )
    return [int(n) for n in array]


def _fresh(lengths: Iterable[int]) -> NDArray[np.uint8]:
    each = np.asarray(list(lengths), np.int64)
    fresh = np.zeros(int(each.sum()), np.uint8)
    fresh[np.cumsum(each) - each] = 1
    return fresh


def _empty(number: int) -> DataError:
    return DataError(
        "Sequence {sequence} (the first is 0) has no steps. Leave it out: it says nothing.", sequence=number
    )


def _different_widths(widths: Sequence[int]) -> DataError:
    return DataError(
        "The sequences have different numbers of columns: {widths}. Pass the same columns in each.",
        widths=Joined(map(str, widths)),
    )


def _refuse(table: Table, names: tuple[Name, ...]) -> Table:
    raise ColumnError(
        "One sequence has the columns {names}, the first one {first}. Pass the same columns in each.",
        names=Joined(map(repr, table.names[:12])),
        first=Joined(map(repr, names[:12])),
    )
