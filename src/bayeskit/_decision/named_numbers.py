"""Reads numbers that may have names, from mappings, frames, series and arrays.

Frames are recognised by their methods, so that no frame library is imported here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._messages import Joined
from bayeskit.errors import ColumnError, DataError, DataTypeError
from bayeskit.typing import Frame

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
                "{what}: its entries differ in shape ({lengths}). Give each class as many values.",
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
            "{what}: the name {twice!r} occurs more than once. Give every entry its own name.",
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
