"""The user's settings for reading columns: which are categorical, which states are declared."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._data.columns import is_missing
from bayeskit._data.table import Table
from bayeskit._messages import Joined, Message, users_line
from bayeskit._schema import Kind, Label, Name, Schema, Variable
from bayeskit._words import Vocabulary
from bayeskit.errors import ColumnError, SettingError, SuspectColumn

# With fewer rows, all may differ by chance.
_FEW_ROWS = 10


class Columns(Protocol):
    """What reading needs to know about any rows: the names and kinds of the columns."""

    @property
    def names(self) -> tuple[Name, ...]: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def block(self) -> Any: ...

    def kind(self, j: int) -> Kind: ...

    def is_whole(self, j: int) -> bool: ...


@dataclass(frozen=True)
class Reading:
    """The user's settings for the columns.

    Attributes
    ----------
    categorical : "from_dtype", "all", names, positions or a mask
    states : mapping from column to its declared states
    kinds : mapping from column to the kind that its family needs
    binary : names of columns
        Numeric columns to read as the two states 0 and 1.
    block : bool
        Read all columns together as one block of counts.
    cuts : mapping from column to ascending numbers, or to a number of intervals
        Numeric columns to read as intervals. If only the number of intervals is given, the column is read as
        numbers and cut when all rows are known.
    dense : sequence of int, or None
        Read the columns as codes 0, 1, 2, …, each with at least this many states.
    known : mapping from column to its known variable
    whole : int, optional
        Integer columns with at most this many values are categorical, and more values are an error. None:
        integers are read as numbers.
    numbers_beyond : bool
        With more values than ``whole`` they are numbers instead of an error.
    as_written : bool
        States are matched as written: 1, 1.0 and "1" are the same state.
    largest : float
        Larger numbers are an error when all rows are collected.
    vocabulary : Vocabulary, optional
        The words of the columns that hold text. These are read as one block, which comes last.
    """

    categorical: Any = "from_dtype"
    states: Mapping[Name, Any] = field(default_factory=dict)
    kinds: Mapping[Name, Kind] = field(default_factory=dict)
    binary: frozenset[Name] = frozenset()
    block: bool = False
    dense: Any = None
    cuts: Mapping[Name, Any] = field(default_factory=dict)
    known: Mapping[Name, Variable] = field(default_factory=dict)
    whole: int | None = None
    numbers_beyond: bool = False
    as_written: bool = False
    largest: float = np.inf
    vocabulary: Vocabulary | None = None

    def has_settings(self, name: Name) -> bool:
        """Whether the user has settings for a column, so that its cells do not determine its kind."""
        return any(name in given for given in (self.states, self.kinds, self.cuts, self.known))

    def of_later(self, names: tuple[Name, ...]) -> Reading:
        """Return the settings for columns that join later: what names or counts the others does not concern them."""
        chosen = self.categorical
        if chosen is not None and not isinstance(chosen, str):
            chosen = [name for name in chosen if isinstance(name, str) and name in names]
        mappings: dict[str, Any] = {
            field: {name: value for name, value in getattr(self, field).items() if name in names}
            for field in ("states", "kinds", "cuts", "known")
        }
        return replace(self, categorical=chosen, **mappings)

    def schema_of(self, table: Columns, target: Variable) -> Schema:
        """Return the schema of a table, before its states are collected."""
        if table.block is not None or self.block:
            return Schema((Variable("block", "block", width=table.shape[1]),), target)
        check_states(self.states)
        strange = next((n for n in (*self.states, *self.kinds, *self.cuts) if n not in table.names), None)
        if strange is not None:
            # Kinds and cuts come from several settings.
            what = f"states names {strange!r}, which" if strange in self.states else repr(strange)
            raise ColumnError(
                "{what} is not a column. The columns are {names}.",
                what=what,
                names=Joined(map(repr, table.names[:12])),
            )
        if self.dense is not None:
            wanted = np.asarray(self.dense, dtype=np.int64)
            if wanted.shape not in ((), (len(table.names),)):
                raise SettingError(
                    "min_categories has shape {shape} for {n} columns: give one number, or one for each.",
                    shape=wanted.shape,
                    n=len(table.names),
                )
            least = np.broadcast_to(wanted, len(table.names)).tolist()
            return Schema(
                tuple(
                    Variable(name, "categorical", tuple(range(r)), n_declared=r, dense=True)
                    for name, r in zip(table.names, least, strict=True)
                ),
                target,
            )
        chosen = self._chosen(table)
        texts = () if self.vocabulary is None else self.vocabulary.places
        read = [self._read(table, j, chosen) for j in range(len(table.names)) if j not in texts]
        variables = [v if isinstance(v, Variable) else Variable(*v) for v in read]
        if self.vocabulary is not None:
            name, width = table.names[texts[0]], len(self.vocabulary.words)
            variables.append(Variable(name, "block", width=width, vocabulary=self.vocabulary))
        return Schema(tuple(variables), target)

    def _read(self, table: Columns, j: int, chosen: set[int] | None) -> Variable | tuple[Name, Kind]:
        """Return the variable of a column, or only its name and kind if no more is known."""
        name = table.names[j]
        if name in self.known:
            return self.known[name]
        if name in self.states:
            return Variable(name, "categorical", *_declared(name, self.states[name]), closed=True)
        if name in self.binary and table.kind(j) == "numeric":
            return Variable(name, "categorical", (0, 1), n_declared=2, closed=True)
        kind = self.kinds.get(name)
        if kind is None:
            if chosen is None:
                kind = table.kind(j)
            else:
                kind = "categorical" if j in chosen else "numeric"
        if name in self.cuts:
            if kind != "numeric":
                raise ColumnError(
                    "{name!r} is to be cut into intervals, and does not hold numbers. Leave it out.",
                    name=name,
                )
            cuts = self.cuts[name]
            return (name, "numeric") if isinstance(cuts, int) else cut_variable(name, cuts)
        if kind == "numeric" and self.whole is not None and name not in self.kinds and table.is_whole(j):
            kind = "categorical"
        return name, kind

    def _chosen(self, table: Columns) -> set[int] | None:
        """The positions of the categorical columns; None if the dtype decides."""
        spec = self.categorical
        if isinstance(spec, str):
            if spec == "from_dtype":
                return None
            if spec == "all":
                return set(range(len(table.names)))
            spec = [spec]
        if spec is None:
            return set()
        if not hasattr(spec, "__iter__"):
            raise SettingError(
                'categorical_features is {spec!r}; use "from_dtype", "all", a list of columns or a mask.',
                spec=spec,
            )
        items = list(spec)
        if items and all(isinstance(i, (bool, np.bool_)) for i in items):
            if len(items) != len(table.names):
                raise SettingError(
                    "The mask categorical_features has {n} entries for {n_names} columns.",
                    n=len(items),
                    n_names=len(table.names),
                )
            return {j for j, yes in enumerate(items) if yes}
        chosen = set()
        for item in items:
            if item in table.names:
                chosen.add(table.names.index(item))
            elif isinstance(item, (int, np.integer)) and -len(table.names) <= item < len(table.names):
                chosen.add(int(item) % len(table.names))
            else:
                raise SettingError(
                    "categorical_features names {item!r}, which is not a column. The columns are {names}.",
                    item=item,
                    names=Joined(map(repr, table.names[:12])),
                )
        return chosen


def check_states(states: Mapping[Any, Any] | None) -> None:
    """Raise an error for what does not declare the states of columns."""
    if not isinstance(states, Mapping):
        raise SettingError(
            "states is {states!r}; give a mapping from column to list of states.", states=states
        )


def cut_variable(name: Name, cuts: ArrayLike) -> Variable:
    """Return the variable of a numeric column that is read as intervals.

    >>> cut_variable("密度", [0.38]).states
    ('(-inf, 0.38]', '(0.38, inf)')
    """
    try:
        numbers = np.atleast_1d(np.asarray(cuts, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
        raise SettingError(
            "The cut points of {name!r} are {cuts!r}; give finite numbers in ascending order.",
            name=name,
            cuts=cuts,
        )
    states = tuple(interval_labels(numbers))
    return Variable(name, "categorical", states, len(states), closed=True, cuts=tuple(numbers.tolist()))


def interval_labels(cuts: NDArray[np.float64]) -> list[str]:
    """Format the intervals of cut points, with as few digits as distinguish the cuts (at least four).

    >>> interval_labels(np.array([0.5, 1.2]))
    ['(-inf, 0.5]', '(0.5, 1.2]', '(1.2, inf)']
    """
    for digits in range(4, 18):
        written = [f"{value:.{digits}g}" for value in cuts.tolist()]
        if len(set(written)) == len(written):
            break
    ends = ["-inf", *written, "inf"]
    last = len(ends) - 2
    return [f"({a}, {b}{')' if k == last else ']'}" for k, (a, b) in enumerate(pairwise(ends))]


def _declared(name: Name, states: Any) -> tuple[tuple[Label, ...], int]:
    if isinstance(states, str) or not hasattr(states, "__iter__") or not len(list(states)):
        raise SettingError(
            "states[{name!r}] is {states!r}; give a list of its states.", name=name, states=states
        )
    labels = tuple(s.item() if isinstance(s, np.generic) else s for s in states)
    strange = next((s for s in labels if not isinstance(s, Hashable) or is_missing(s)), labels)
    if strange is not labels:
        raise SettingError(
            "states[{name!r}] lists {strange!r}, which cannot be a state.", name=name, strange=strange
        )
    if len(set(labels)) < len(labels):
        raise SettingError("states[{name!r}] lists a state twice: {labels!r}.", name=name, labels=labels)
    return labels, len(labels)


def warn_of_identifiers(table: Table, schema: Schema) -> None:
    """Warn of columns that number or name the rows: they have no information about a new row."""
    if not table.named or table.n_rows < _FEW_ROWS:
        return
    warn_of_names(schema, table.n_rows)
    for j, variable in enumerate(schema.attributes):
        if variable.kind == "numeric":
            numbers = table.numbers(j)
            if numbers.dtype.kind not in "iu" or abs(int(numbers[1]) - int(numbers[0])) != 1:
                continue
            if len(set(np.diff(numbers).tolist())) > 1:
                continue
            _warn_of_identifier(variable, Message("the row numbers"))


def warn_of_names(schema: Schema, n_rows: float) -> None:
    """Warn of categorical columns with as many states as rows."""
    for variable in schema.categorical:
        if n_rows >= _FEW_ROWS and not variable.n_declared and variable.size >= n_rows:
            _warn_of_identifier(variable, Message("a different value in every row"))


def _warn_of_identifier(variable: Variable, what: Message) -> None:
    warnings.warn(
        SuspectColumn(
            "Column {name!r} looks like an identifier: it holds {what}. "
            "Leave it out with exclude=[{name!r}].",
            name=variable.name,
            what=what,
        ),
        stacklevel=users_line(),
    )
