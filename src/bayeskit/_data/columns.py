"""Reads one column of any library: its kind, its codes with their labels, or its numbers.

Dictionary encoding is done by the library that owns the column, which is the fastest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message, RowNumber
from bayeskit._schema import Kind, Label, Name
from bayeskit.errors import ColumnError, DataError, DataTypeError, InfiniteValue

# Integers are encoded by subtraction if their span is small; otherwise they are sorted.
LARGEST_SPAN = 65_536
# Of a whole number that is a label: 4,000 digits. Python converts no more than 4,300 to text.
MOST_BITS = 13_288


class CodedColumn(NamedTuple):
    """A column in codes: ``labels[codes[i]]`` is the value of row i, −1 means missing.

    ``declared`` means that the labels are a declaration (the categories of a dtype) and stay even if unseen;
    ``complete`` means that every label occurs in some row (or is declared).
    """

    codes: NDArray[Any]
    labels: Sequence[Label]
    declared: bool = False
    complete: bool = True

    def decoded(self) -> NDArray[Any]:
        """Return the cells themselves; None is missing.

        >>> CodedColumn(np.array([1, -1]), ["a", "b"]).decoded()
        array(['b', None], dtype=object)
        """
        cells: NDArray[Any] = objects((*self.labels, None))[self.codes]
        return cells

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.decoded(), dtype=dtype)

    def part(self, rows: slice) -> CodedColumn:
        """Return some rows; labels that none of them has may stay."""
        return self._replace(codes=self.codes[rows], complete=False)


def joined_columns(columns: Sequence[CodedColumn]) -> CodedColumn:
    """Put coded columns one below the other.

    >>> joined_columns([CodedColumn(np.array([0, -1]), ["a"]), CodedColumn(np.array([0, 1]), ["b", "a"])])[:2]
    (array([ 0, -1,  1,  0]), ['a', 'b'])
    """
    if len(columns) == 1:
        return columns[0]
    if all(column.labels == columns[0].labels for column in columns):
        return columns[0]._replace(
            codes=np.concatenate([column.codes for column in columns]),
            complete=all(column.complete for column in columns),
        )
    index: dict[Label, int] = {}
    codes = []
    for column in columns:
        table = [index.setdefault(label, len(index)) for label in column.labels]
        codes.append(np.array([*table, -1])[column.codes])
    return CodedColumn(np.concatenate(codes), list(index), complete=all(c.complete for c in columns))


def array_kind(array: NDArray[Any], name: Name) -> Kind:
    """Return the kind of a one-dimensional array by its dtype; of objects by their values."""
    match array.dtype.kind:
        case "i" | "u" | "f":
            return "numeric"
        case "b" | "U" | "S" | "T":
            return "categorical"
        case "O":
            return "numeric" if _all_numbers(array) else "categorical"
        case "c":
            raise ColumnError(
                "Complex data not supported: column {name!r} is complex. Pass real and imaginary parts.",
                name=name,
            )
        case "M" | "m":
            raise ColumnError(date_message(name))
        case _:
            raise ColumnError(
                "Column {name!r} has dtype {dtype}, which is neither number nor category.",
                name=name,
                dtype=array.dtype,
            )


def date_message(name: Name) -> Message:
    return Message(
        "Column {name!r} holds dates or times. Leave it out with exclude=[{name!r}], "
        "or pass what matters of it (month, weekday, days since) as a column of its own.",
        name=name,
    )


def _all_numbers(array: NDArray[Any]) -> bool:
    numbers = (int, float, np.integer, np.floating, Decimal)
    for value in array:
        if is_missing(value):
            continue
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers):
            return False
    return True  # also if all are missing: a later category is then an error, and not misread


def is_missing(value: object) -> bool:
    """None, NaN (even signalling), NaT and pandas' NA are missing; a string never is."""
    if value is None:
        return True
    if isinstance(value, str):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return type(value).__name__ == "NAType"
    except ArithmeticError:  # a signalling NaN
        return True


def factorize_array(array: NDArray[Any], name: Name) -> CodedColumn:
    """Encode a NumPy array of any dtype."""
    match array.dtype.kind:
        case "b":
            return CodedColumn(array.astype(np.int8), (False, True), complete=False)
        case "i" | "u":
            return _factorize_integers(array)
        case "f":
            return _factorize_floats(array, name)
        case "T":
            return _factorize_objects(array.astype(object), name)
        case "U" | "S":
            labels, codes = np.unique(array, return_inverse=True)
            return CodedColumn(codes, labels.tolist())
        case "O":
            return _factorize_objects(array, name)
        case _:
            array_kind(array, name)
            raise ColumnError(
                "Column {name!r} of dtype {dtype} cannot be categorical.", name=name, dtype=array.dtype
            )


def _factorize_integers(array: NDArray[Any]) -> CodedColumn:
    low, high = int(array.min()), int(array.max())
    if high - low < LARGEST_SPAN and high - low <= 64 + 16 * len(array):
        return CodedColumn(_from_zero(array, low), range(low, high + 1), complete=False)
    labels, codes = np.unique(array, return_inverse=True)
    return CodedColumn(codes, labels.tolist())


def _from_zero(array: NDArray[Any], low: int) -> NDArray[Any]:
    if array.dtype == np.uint64:  # NumPy before 2 cannot count codes of this type
        return (array - np.uint64(low)).astype(np.int64)
    # In a wide type: 255 does not fit the int8 of −128 and 127.
    return array if low == 0 else array.astype(np.int64) - low


def _factorize_floats(array: NDArray[Any], name: Name) -> CodedColumn:
    missing = np.isnan(array)
    if np.isinf(array).any():
        row = int(np.isinf(array).argmax())
        raise ColumnError(
            "Column {name!r} holds infinity in {place}. Replace it or make it missing (NaN).",
            name=name,
            place=RowNumber(row),
        )
    labels, inverse = np.unique(array[~missing], return_inverse=True)
    codes = np.full(len(array), -1, dtype=np.intp)
    codes[~missing] = inverse
    return CodedColumn(codes, [int(v) if v.is_integer() else v for v in labels.tolist()])


def _factorize_objects(array: NDArray[Any], name: Name) -> CodedColumn:
    text = _factorize_text(array)
    if text is not None:
        return text
    index: dict[Label, int] = {}
    codes = np.empty(len(array), dtype=np.intp)
    for i, value in enumerate(array.tolist()):
        if is_missing(value):
            codes[i] = -1
            continue
        if isinstance(value, np.generic):
            value = value.item()
        try:
            codes[i] = index.setdefault(value, len(index))
        except TypeError:
            raise ColumnError(
                "Column {name!r} contains {value!r} (a {kind}) in {place}, which cannot be a category.",
                name=name,
                value=value,
                kind=type(value).__name__,
                place=RowNumber(i),
            ) from None
    for value, code in index.items():
        if type(value) is int and value.bit_length() > MOST_BITS:
            raise ColumnError(
                "Column {name!r} holds a whole number of more than 4,000 digits in {place}, which Python does not "
                "show. Leave it out, or shorten it.",
                name=name,
                place=RowNumber(int((codes == code).argmax())),
            )
    return CodedColumn(codes, list(index))


def _factorize_text(array: NDArray[Any]) -> CodedColumn | None:
    """Encode cells that are text or None, ten times as fast as mixed cells; None if there are others."""
    cells = array.tolist()
    try:
        distinct = dict.fromkeys(cells)
    except TypeError:  # some cell is not hashable
        return None
    if any(type(label) is not str and label is not None for label in distinct):
        return None
    missing = None in distinct
    distinct.pop(None, None)
    labels: list[Label] = [*distinct]
    index: dict[Label, int] = {label: code for code, label in enumerate(labels)}
    if missing:
        index[None] = -1
    return CodedColumn(np.fromiter(map(index.__getitem__, cells), np.intp, len(cells)), labels)


def without_labels(coded: CodedColumn, missing: Collection[str]) -> CodedColumn:
    """Encode some labels, and None, as missing.

    >>> without_labels(CodedColumn(np.array([0, 1, 2]), ["", "a", None]), [""])[:2]
    (array([-1,  0, -1]), ['a'])
    """
    kept = [label for label in coded.labels if label is not None and label not in missing]
    if len(kept) == len(coded.labels):
        return coded
    index = {label: code for code, label in enumerate(kept)}
    table = np.array([*(index.get(label, -1) for label in coded.labels), -1])
    return coded._replace(codes=table[coded.codes], labels=kept)


def narrow(coded: CodedColumn) -> CodedColumn:
    """Store codes in as few bytes as possible.

    >>> narrow(CodedColumn(np.array([0, 1, -1]), ["a", "b"])).codes.dtype
    dtype('int8')
    """
    narrowest = np.min_scalar_type(-max(len(coded.labels), 1))
    return coded._replace(codes=coded.codes.astype(narrowest))


def factorize_codes(numbers: NDArray[Any], name: Name) -> CodedColumn:
    """Encode a column of codes 0, 1, 2, …: fractions are truncated, as in scikit-learn; NaN is missing."""
    if numbers.dtype.kind == "f":
        numbers = np.trunc(numbers)
    return factorize_array(numbers, name)


def without_missing_labels(coded: CodedColumn, name: Name) -> CodedColumn:
    """Encode labels that mean missing (a dictionary may list null) as missing; infinity is an error."""
    absent = np.zeros(len(coded.labels) + 1, dtype=bool)
    for code, label in enumerate(coded.labels):
        if isinstance(label, str):
            continue
        absent[code] = is_missing(label)
        if isinstance(label, float) and label in (np.inf, -np.inf):
            row = int((np.asarray(coded.codes) == code).argmax())
            raise ColumnError(
                "Column {name!r} holds infinity in {place}. Replace it or make it missing (NaN).",
                name=name,
                place=RowNumber(row),
            )
    if not absent.any():
        return coded
    moved = np.cumsum(~absent) - 1
    moved[absent] = -1
    moved[-1] = -1  # the entry of −1 itself
    labels = [label for code, label in enumerate(coded.labels) if not absent[code]]
    return CodedColumn(moved[np.asarray(coded.codes, dtype=np.intp)], labels, coded.declared, coded.complete)


def objects(cells: Iterable[Any]) -> NDArray[Any]:
    """Return cells of any kind as an array with one entry each, even if they are lists or arrays."""
    return np.fromiter(cells, dtype=object)


def without_mask(array: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return an array whose masked cells are missing: NaN among numbers, None among others.

    >>> without_mask(np.ma.array(["a", "b"], mask=[True, False]))
    array([None, 'b'], dtype=object)
    """
    data, mask = np.asarray(array.data), np.ma.getmaskarray(array)
    if not mask.any():
        return data
    cells = data.astype(np.float64 if data.dtype.kind in "iuf" else object)
    cells[mask] = np.nan if cells.dtype.kind == "f" else None
    return cells


def native_order(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in native byte order; kernels are compiled for no other, and would misread it."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _fits_a_float(value: SupportsFloat) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def numbers_of_array(array: NDArray[Any], name: Name) -> NDArray[Any]:
    """Return an array of numbers; objects become float64 with NaN for missing."""
    if array.dtype.kind in "iufb":
        return array
    if array.dtype.kind in "Mm":
        raise ColumnError(date_message(name))
    try:
        if array.dtype.kind == "O":
            array = objects(np.nan if is_missing(v) else v for v in array.tolist())
        return array.astype(np.float64)
    except OverflowError:
        row = next(i for i, value in enumerate(array.tolist()) if not _fits_a_float(value))
        raise ColumnError(
            "Column {name!r} holds a number in {place} that is too large for a float. Replace it or make it "
            "missing (NaN).",
            name=name,
            place=RowNumber(row),
        ) from None
    except TypeError as error:
        raise DataTypeError(
            "Column {name!r} contains something that is not a number: {error}.", name=name, error=error
        ) from None
    except ValueError as error:
        said = str(error).rstrip(".")
        raise ColumnError(
            "Column {name!r} should be numeric, but {said}. Leave it out, or use a model that accepts "
            "categories: NaiveBayes or LatentClass without a numeric family for it, a discrete node in a "
            "network.",
            name=name,
            said=said,
        ) from None


def refuse_beyond(values: NDArray[np.float64], names: Sequence[Name], largest: float) -> None:
    """Raise an error for infinity, and for numbers too large to be squared and summed; NaN is missing.

    >>> refuse_beyond(np.array([[1.0, np.nan]]), ["a", "b"], 1e100)
    """
    # fmax ignores NaN.
    if np.fmax.reduce(np.abs(values), axis=None, initial=0.0) < largest:
        return
    row, j = np.argwhere(np.abs(values) >= largest)[0].tolist()
    value = float(values[row, j])
    if np.isinf(value):
        raise InfiniteValue(names[j], row, value)
    raise DataError(
        "Column {name!r} holds {value:g} in {place}: squares of numbers beyond {largest:g} "
        "cannot be summed. Correct it, make it missing, or divide the column by a constant.",
        name=names[j],
        value=value,
        place=RowNumber(row),
        largest=largest,
    )
