"""Losses: the cost of each action under each true class, read as users write it, with names or without."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._messages import Joined
from bayeskit.errors import ColumnError, DataError, DataTypeError, SettingError
from bayeskit.typing import Floats, Frame

Names: TypeAlias = tuple[Hashable, ...]
# Numbers as users write them, classes on the last axis; a mapping, a frame or a Series names the classes.
NumbersLike: TypeAlias = ArrayLike | Frame | Mapping[Any, ArrayLike]


def read_named(thing: object, what: str) -> tuple[NDArray[Any], Names | None]:
    """Read floats whose last axis may be named.

    A mapping or a frame names its columns, a pandas Series its entries; anything else is an array
    without names. Floats shorter than float64 keep their type, so that the caller knows their precision.

    >>> read_named({"spam": [0.9, 0.1], "ham": [0.01, 0.99]}, "likelihood")[0].shape
    (2, 2)
    """
    columns = columns_of(thing, what)
    if columns is not None:
        names = None if is_default(getattr(thing, "columns", None)) else tuple(columns)
        lengths = {np.shape(column) for column in columns.values()}
        if len(lengths) > 1:
            raise DataError(
                "{what}: its entries differ in shape ({lengths}). Give the same number of values for each class.",
                what=what,
                lengths=lengths,
            )
        numbers = [as_numbers(column, f"{what}[{name!r}]") for name, column in columns.items()]
        return (np.stack(numbers, axis=-1) if numbers else np.empty(0)), names
    index = getattr(thing, "index", None)
    # Lists and tuples also have `index`, but there it is a method.
    if index is None or callable(index) or is_default(index):
        return as_numbers(thing, what), None
    return as_numbers(thing, what), distinct(index, what)


def columns_of(thing: Any, what: str) -> dict[Hashable, Any] | None:
    """Split a mapping or a frame (pandas, Polars, narwhals, Arrow) into columns; None if it is neither."""
    if isinstance(thing, Mapping):
        return dict(thing)
    names = getattr(thing, "column_names", None)
    # On the class: accessing the attribute of a lazy frame would start its query.
    if names is None and hasattr(type(thing), "columns"):
        if not hasattr(thing, "to_numpy"):
            raise DataTypeError(
                "{what}: {kind} has columns but no values yet. Collect it first.",
                what=what,
                kind=type(thing).__name__,
            )
        names = thing.columns
    if names is None:
        return None
    return {name: np.asarray(thing[name]) for name in distinct(names, what)}


def is_default(index: Any) -> bool:
    """Whether an index is the default 0, 1, 2, … of pandas."""
    return type(index).__name__ == "RangeIndex" and list(index) == list(range(len(index)))


def distinct(names: Iterable[Hashable], what: str) -> Names:
    """Raise an error for a name that occurs twice.

    >>> distinct(["spam", "ham"], "prior")
    ('spam', 'ham')
    """
    found = tuple(names)
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ColumnError(
            "{what}: the name {twice!r} occurs more than once. Give every entry a different name.",
            what=what,
            twice=twice,
        )
    return found


def as_numbers(values: object, what: str) -> NDArray[Any]:
    """Convert values to floats, or raise an error."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as reason:  # 10**400 is no float
        raise DataTypeError(
            "{what}: cannot be read as an array of numbers ({reason}). "
            "Give an array, a frame or a mapping of numbers.",
            what=what,
            reason=reason,
        ) from None


def match(have: Sequence[Hashable], want: Sequence[Hashable], what: str) -> NDArray[np.intp]:
    """Return the position of each wanted name; both must contain the same names.

    If the names differ in type only, their texts are compared: a file or a Polars frame can name a class "1"
    but not 1.

    >>> match(["ham", "spam"], ["spam", "ham"], "loss")
    array([1, 0])
    """
    if set(have) != set(want):
        as_text = [str(name) for name in have], [str(name) for name in want]
        if len(set(as_text[0])) == len(have) and sorted(as_text[0]) == sorted(as_text[1]):
            have, want = as_text
        else:
            missing = [name for name in want if name not in set(have)]
            extra = [name for name in have if name not in set(want)]
            raise ColumnError(
                "{what}: missing {missing}, unknown {extra}. Name exactly {names}, in any order.",
                what=what,
                missing=missing,
                extra=extra,
                names=Joined(map(repr, want)),
            )
    place = {name: i for i, name in enumerate(have)}
    return np.array([place[name] for name in want], dtype=np.intp)


def label_array(names: Sequence[Hashable] | NDArray[Any]) -> NDArray[Any]:
    """Put names into an array that keeps their type: text, numbers or, for a mixture, objects.

    >>> label_array([0, 1, "reject"]).tolist()
    [0, 1, 'reject']
    """
    if isinstance(names, np.ndarray):
        return names
    kinds = {type(name) for name in names}
    # NumPy would turn [0, "reject"] into text, and a list of tuples into a matrix.
    if len(kinds) == 1 and issubclass(next(iter(kinds)), str | int | float | np.generic):
        return np.array(list(names))
    return np.fromiter(names, dtype=object)


# A loss as users write it: costs by action and class; None is the 0/1 loss.
LossLike: TypeAlias = ArrayLike | Frame | Mapping[Any, Mapping[Any, float]] | None


@dataclass(frozen=True, eq=False)
class LossTable:
    """A loss whose columns are in the order of the posterior's classes.

    `own_names` means that the loss named its actions. `plain` means that it is the 0/1 loss in class order,
    whose risks need no matrix product.
    """

    values: Floats
    labels: NDArray[Any]
    own_names: bool = False
    plain: bool = False

    def risks(self, posterior: Floats) -> Floats:
        """R(i | x) for each row x and action i."""
        return _others(posterior) if self.plain else posterior @ self.values.T

    def regrets(self, posterior: Floats) -> Floats:
        """R(i | x) minus the expected cost of the best action for each class.

        The order of the actions is the same, but a large common cost cannot hide the differences.
        """
        return _others(posterior) if self.plain else posterior @ (self.values - self.values.min(axis=0)).T

    @property
    def spread(self) -> float:
        """The largest difference that the choice of the action can make."""
        return float(np.ptp(self.values, axis=0).max())

    @property
    def is_zero_one(self) -> bool:
        """Whether each class has exactly one action with cost 0 and all others cost 1."""
        zero = self.values == 0
        return bool(
            self.values.shape[0] == self.values.shape[1]
            and np.all(zero | (self.values == 1))
            and np.all(zero.sum(axis=0) == 1)
            and np.all(zero.sum(axis=1) == 1)
        )


def read_loss(loss: LossLike, width: int, classes: Sequence[Hashable] | NDArray[Any] | None) -> LossTable:
    """Read a loss for a posterior of `width` classes, matching the classes by name if both have names.

    In a square loss without action names, action i means to predict class i.

    >>> read_loss({"keep": {"ham": 0, "spam": 1}}, 2, ["spam", "ham"]).values
    array([[1., 0.]])
    """
    labels = label_array(range(width) if classes is None else classes)
    if loss is None:
        return LossTable(1.0 - np.eye(width), labels, plain=True)
    values, actions, columns = _parse(loss)
    if values.ndim != 2 or values.shape[1] != width or not values.shape[0]:
        raise DataError(
            "loss: has shape {shape}, the posterior {width} classes. Give (actions, {width}): loss[i, j] is "
            "the cost of action i if the true class is j.",
            shape=values.shape,
            width=width,
        )
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise DataError(
            "loss[{i}, {j}]: is {value}. Give finite costs; a large one forbids as well.",
            i=i,
            j=j,
            value=values[i, j],
        )
    own_names = actions is not None
    square = values.shape[0] == width
    if columns is not None and classes is not None:
        order = match(columns, labels.tolist(), "loss, classes")
        values = values[:, order]
        if square and not own_names:  # the rows were in the order of the columns, so they move together
            values = values[order]
    elif columns is not None:
        labels = label_array(columns)
    if actions is not None:
        labels = label_array(actions)
    elif not square:
        labels = np.arange(values.shape[0])
    return LossTable(values, labels, own_names)


def rename(table: LossTable, actions: Iterable[Hashable]) -> LossTable:
    """Name the actions, or reorder them if they already have these names (the order breaks ties).

    >>> rename(read_loss(None, 2, None), ["stay", "go"]).labels.tolist()
    ['stay', 'go']
    """
    names, known = distinct(actions, "actions"), table.labels.tolist()
    if set(names) == set(known):
        order = match(known, names, "actions")
        same = bool(np.all(order == np.arange(len(order))))
        return table if same else LossTable(table.values[order], table.labels[order], table.own_names)
    if table.own_names or len(names) != len(known):
        raise SettingError(
            "actions: {names} does not fit the loss, whose {n} actions are {known}. "
            "Give those names in the order you prefer, or a loss without names and one name for each row.",
            names=list(names),
            n=len(known),
            known=known,
        )
    return LossTable(table.values, label_array(names), True, table.plain)


def _parse(loss: LossLike) -> tuple[Floats, Names | None, Names | None]:
    """Split a loss into values (actions, classes), names of the actions, and names of the classes."""
    if isinstance(loss, Mapping):
        return _parse_mapping(loss)
    columns = columns_of(loss, "loss")
    if columns is None:
        return as_numbers(loss, "loss").astype(np.float64), None, None
    actions: Names | None = None
    index = getattr(loss, "index", None)
    if index is not None and not is_default(index):
        actions = distinct(index, "loss, actions")
    elif columns and all(isinstance(value, str) for value in next(iter(columns.values()))):
        # A frame without an index (Polars, or one read from a file) has the names in its first column.
        actions = distinct(columns.pop(next(iter(columns))), "loss, actions")
    if not columns:
        raise ColumnError("loss: the frame has no column of costs. Give one for each class.")
    values = np.stack([as_numbers(column, f"loss[{name!r}]") for name, column in columns.items()], axis=-1)
    classes = None if is_default(getattr(loss, "columns", None)) else tuple(columns)
    return values.astype(np.float64), actions, classes


def _parse_mapping(loss: Mapping[Hashable, Any]) -> tuple[Floats, Names, Names]:
    if not loss or not all(isinstance(costs, Mapping) for costs in loss.values()):
        raise DataTypeError(
            'loss: a mapping needs a mapping for each action, such as {"keep": {"spam": 1, "ham": 0}, ...}.'
        )
    classes = tuple(next(iter(loss.values())))
    rows = []
    for action, costs in loss.items():
        order = match(list(costs), classes, f"loss[{action!r}]")
        rows.append(as_numbers(list(costs.values()), f"loss[{action!r}]")[order])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(classes)), tuple(loss), classes


def _others(posterior: Floats) -> Floats:
    """Σ_{j≠i} P(j | x), as sums from both ends: 1 − P would lose the digits of a small risk."""
    before, after = np.zeros_like(posterior), np.zeros_like(posterior)
    np.cumsum(posterior[:, :-1], axis=1, out=before[:, 1:])
    np.cumsum(posterior[:, :0:-1], axis=1, out=after[:, -2::-1])
    return before + after
