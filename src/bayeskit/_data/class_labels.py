"""Checks and encodes the class column and the row weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.columns import CodedColumn, factorize_array, is_missing, without_mask
from bayeskit._data.frames import factorize_series, readable
from bayeskit._messages import Joined, Message, RowNumber
from bayeskit._schema import Label, Variable
from bayeskit.errors import DataError, DataTypeError, UnseenClass, WeightError
from bayeskit.typing import LabelsLike, WeightsLike

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    Labels: TypeAlias = NDArray[Any] | CodedColumn | nw.Series[Any]

_WAY_OUT = "leave rows without one out, or let a classifier learn from them too with semi_supervised=True"


def as_labels(y: Any, n_rows: int, *, in_codes: bool = False) -> Any:
    """Return y as a one-dimensional array (or narwhals series) of n_rows labels.

    ``in_codes``: labels that are in codes already, as those of a file, stay a :class:`CodedColumn`.
    """
    if y is None:
        raise DataError("This method requires y to be passed, but the target y is None. Pass y or target=.")
    if isinstance(y, CodedColumn):
        return y if in_codes else y.decoded()
    if type(y) is not np.ndarray:
        y = _opened(y)
    if isinstance(y, np.ndarray):
        if y.ndim == 2 and y.shape[1] == 1:
            import warnings

            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Pass y.ravel().",
                _column_vector_warning(),
                stacklevel=4,
            )
            y = y.ravel()
        if y.ndim != 1:
            raise DataError("y should be a 1d array, got an array of shape {shape} instead.", shape=y.shape)
    if len(y) != n_rows:
        raise DataError(
            "Found input variables with inconsistent numbers of samples: {n_rows} rows and {n} labels.",
            n_rows=n_rows,
            n=len(y),
        )
    return y


def _opened(y: Any) -> Any:
    if isinstance(y, np.ma.MaskedArray):
        return without_mask(y)
    if hasattr(y, "__narwhals_series__") or (hasattr(y, "dtype") and hasattr(y, "name")):
        import narwhals.stable.v2 as nw

        series = nw.from_native(y, series_only=True, pass_through=True)
        if not isinstance(
            series, nw.Series
        ):  # for example an index: it has a dtype and a name, but is not a series
            return np.asarray(y)
        column = readable(series, "y")
        if series is not y and isinstance(column.dtype, (nw.Categorical, nw.Enum)):
            return column
        return np.asarray(column.to_numpy())
    if hasattr(y, "to_pylist"):  # a PyArrow array
        return _plain_array(y.to_pylist())
    if hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy())
    return _plain_array(y)


def _plain_array(y: Any) -> NDArray[Any]:
    try:
        array = np.asarray(y)
    except ValueError:
        raise DataError("y is a list of lists of different lengths. Pass one label for each row.") from None
    if array.ndim == 0:
        raise DataTypeError("y should be a 1d array, got a single {kind} instead.", kind=type(y).__name__)
    kinds = {type(v) for v in y} if array.dtype.kind in "US" else set()
    return np.asarray(y, dtype=object) if len(kinds) > 1 else array


def _column_vector_warning() -> type[Warning]:
    """scikit-learn's own category if it is loaded, since its users filter by it."""
    import sys

    exceptions = sys.modules.get("sklearn.exceptions")
    return getattr(exceptions, "DataConversionWarning", UserWarning) if exceptions else UserWarning


def factorize_labels(y: Labels) -> CodedColumn:
    """Encode the labels; missing and continuous labels are an error."""
    if isinstance(y, CodedColumn):
        coded = y
    elif not isinstance(y, np.ndarray):
        coded = factorize_series(y, "y")
        coded = CodedColumn(coded.codes, coded.labels)
    else:
        if y.dtype.kind == "c":
            raise DataTypeError("Complex data not supported: y must hold class labels.")
        if y.dtype.kind == "f":
            finite = y[np.isfinite(y)]
            if len(finite) < len(y):
                raise DataError(
                    "Input y contains NaN or infinity. Every row to be learned needs its class: {way_out}.",
                    way_out=Message(_WAY_OUT),
                )
            if (finite != np.rint(finite)).any():
                raise DataError(
                    "Unknown label type: continuous. y holds fractions; a classifier needs class labels "
                    "(bin the values first, or use a regressor)."
                )
        coded = factorize_array(y, "y")
    if not isinstance(coded.labels, range) and len(coded.codes) and int(coded.codes.min()) < 0:
        row = int((np.asarray(coded.codes) < 0).argmax())
        raise DataError(
            "Input y contains NaN: the class of {place} is missing; {way_out}.",
            place=RowNumber(row),
            way_out=Message(_WAY_OUT),
        )
    return coded


def _in_run(y: object, first: int, size: int) -> TypeGuard[NDArray[np.integer]]:
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "iu" or not len(y):
        return False
    return bool(y.min() >= first and y.max() < first + size)


def encode_labels(
    y: Labels, target: Variable, policy: Literal["grow", "error"]
) -> tuple[Variable, NDArray[np.uint32]]:
    """Return the target (extended if necessary) and the code of each label."""
    first = target.first_of_run if target.states else None
    if first is not None and _in_run(y, first, target.size):
        return target, (y.astype(np.int64) - first).astype(
            np.uint32
        )  # the common case of a stream, at memory speed
    coded = factorize_labels(y)
    codes, labels = coded.codes, coded.labels
    if policy == "grow" and not target.closed:
        if isinstance(labels, range) and not target.size:
            # The whole span for now: classes without weight are removed after counting.
            return target.grown(labels), np.asarray(codes).astype(np.uint32)
        if isinstance(labels, range):
            present = np.flatnonzero(np.bincount(codes, minlength=len(labels)))
            target = target.grown([labels[i] for i in present.tolist()])
        elif isinstance(y, CodedColumn) and not coded.complete:
            target = target.grown([labels[i] for i in np.flatnonzero(np.bincount(codes)).tolist()])
        else:
            target = target.grown(labels)
    strange = len(target.states)
    table = np.array([target.codes.get(label, strange) for label in labels], dtype=np.uint32)
    found = table.take(codes)
    if (table == strange).any() and (found == strange).any():
        label = labels[int(codes[int((found == strange).argmax())])]
        raise UnseenClass(
            "{label!r} is not one of the classes {states}. {way_out}",
            label=label,
            states=target.listing(),
            way_out=Message("Announce it in classes= at the first call, or leave classes= out.")
            if policy == "grow"
            else "",
        )
    return target, found


# -- scores --------------------------------------------------------------------------------------


def true_classes(y: LabelsLike | None, n_rows: int, classes: Sequence[Label]) -> NDArray[np.intp]:
    """Return the place of each row's class among the classes; −1 for one that was never learned.

    >>> true_classes(["b", "c"], 2, ["a", "b"]).tolist()
    [1, -1]
    """
    labels = as_labels(y, n_rows)
    given = labels.tolist() if isinstance(labels, np.ndarray) else labels.to_list()
    place = {label: k for k, label in enumerate(classes)}
    try:
        found = np.array([place.get(label, -1) for label in given], dtype=np.intp)
    except TypeError:
        raise DataTypeError(
            "y holds labels that cannot be compared, such as lists. Pass one label a row."
        ) from None
    strange = np.flatnonzero(found < 0).tolist()
    for row in strange:
        if is_missing(given[row]):
            raise DataError("The class of {place} is missing. Leave such rows out.", place=RowNumber(row))
    # A class that was never learned is a wrong answer. Numbers for names are a mistake in the call.
    if strange and len(strange) == n_rows and not {*map(_kind, given)} & {*map(_kind, classes)}:
        raise UnseenClass(
            "{label!r} is not one of the classes {states}. {way_out}",
            label=given[0],
            states=Joined(map(str, [*classes[:8], *["…"][: len(classes) > 8]])),
            way_out=Message("Pass labels of the type that was learned."),
        )
    return found


def _kind(label: Label) -> type:
    return float if isinstance(label, (bool, int, float)) else type(label)


def weighted_mean(values: NDArray[Any], weights: WeightsLike | None) -> float:
    """Return the mean of one value a row.

    >>> weighted_mean(np.array([1.0, 0.0]), [3.0, 1.0])
    0.75
    """
    checked = batch_weights(weights, len(values))
    if not len(values):
        raise DataError("There are no rows to judge. Pass one at least.")
    if checked is None:
        return float(values.mean())
    if not checked.any():
        raise WeightError("All row weights are zero, so there is no mean.")
    return float(np.average(values, weights=checked / checked.max()))


# -- row weights ---------------------------------------------------------------------------------

# Sums of weights are multiplied by squares and fourth powers of values; these limits leave room for that.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100


def as_weights(weights: WeightsLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Check the weights of all rows: finite, nonnegative, not all zero; None if all are one."""
    array = batch_weights(weights, n_rows)
    if array is not None:
        check_total(weight_of(array))
    return array


def batch_weights(weights: WeightsLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Check the weights of some rows of a source; the total is checked at the end."""
    if weights is None:
        return None
    try:
        if isinstance(weights, np.ma.MaskedArray):
            weights = without_mask(weights)
        array = np.asarray(weights.to_pylist() if hasattr(weights, "to_pylist") else weights)
        if array.dtype.kind in "cMm":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, ArithmeticError):
        raise WeightError("The row weights are not numbers.") from None
    if array.ndim == 0:
        array = np.full(n_rows, float(array))
    if array.ndim != 1:
        raise WeightError(
            "Sample weights must be 1D array or scalar, not of shape {shape}.", shape=array.shape
        )
    if len(array) != n_rows:
        raise WeightError(
            "There are {n} row weights for {n_rows} rows: sample_weight.shape == {shape}.",
            n=len(array),
            n_rows=n_rows,
            shape=array.shape,
        )
    least, largest = (array.min(), array.max()) if n_rows else (1.0, 1.0)
    if not (np.isfinite(least) and np.isfinite(largest)):
        row = int((~np.isfinite(array)).argmax())
        raise WeightError(
            "The weight of row {row} is {array}. Weights must be finite; use 0 to leave a row out.",
            row=row,
            array=array[row],
        )
    if least < 0:
        row = int((array < 0).argmax())
        raise WeightError(
            "The weight of row {row} is {array}. Weights cannot be negative; use forget to remove rows.",
            row=row,
            array=array[row],
        )
    return None if least == largest == 1.0 else np.ascontiguousarray(array)


def weight_of(weights: NDArray[np.float64]) -> float:
    """Return the total weight; infinity if it overflows."""
    with np.errstate(over="ignore"):
        return float(weights.sum())


def check_total(total: float) -> None:
    """Raise an error if the total weight is zero, or too large or too small to be squared."""
    if total == 0.0:
        raise WeightError("All row weights are zero, so there is nothing to learn from.")
    if not LEAST_WEIGHT <= total <= LARGEST_WEIGHT:
        raise WeightError(
            "The row weights add up to {total:g}, so far from 1 that their squares overflow. Multiply them "
            "all by a constant.",
            total=total,
        )
