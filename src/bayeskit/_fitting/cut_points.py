"""Discretization of a numeric attribute by class (MDL), by frequency or by width.

Cut points ascend. Interval k is (cut[k − 1], cut[k]]. A cut between two neighbouring values a < b lies in [a, b).

The method by class (Fayyad and Irani) represents weights as integer multiples of a unit, and x·log₂x as integer
multiples of 1/scale. Sums of both are exact, so the cuts depend neither on the order of the rows nor on the names of
the classes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._data.class_labels import as_weights
from bayeskit._numba import kernel
from bayeskit._schema import Name
from bayeskit.errors import DataError, InfiniteValue, SettingError, UnseenClass
from bayeskit.typing import Floats

# The kind of gap after a sorted row.
CLOSED, OPEN, CUT = 0, 1, 2

# Up to this k, 3^k is an exact float. Beyond it, the 2 in log₂(3^k − 2) is below the rounding error.
_LARGEST_POWER = 30
_LOG2_3 = math.log2(3.0)


@kernel
def information(units: Any, unit: Any, scale: Any, table: Any) -> Any:
    """Return x·log₂x of a weight as an integer multiple of 1/scale, from the table if it is long enough."""
    if units < table.shape[0]:
        return table[np.uintp(units)]
    if units == 0:
        return np.int64(0)
    x = units * unit
    return np.int64(np.rint(x * math.log2(x) * scale))


@kernel
def fill_information(unit: Any, scale: Any, empty: Any, table: Any) -> None:
    """Tabulate x·log₂x of the smallest weights; ``empty`` is a table of length 0."""
    for units in range(table.shape[0]):
        table[units] = information(units, unit, scale, empty)


@kernel
def description_length(k: Any) -> Any:
    """Return log₂(3^k − 2): the bits that encode which classes are on which side."""
    return math.log2(3.0**k - 2.0) if k <= _LARGEST_POWER else k * _LOG2_3


@kernel
def best_cut(
    low: Any,
    high: Any,
    codes: Any,
    units: Any,
    unit: Any,
    scale: Any,
    slack: Any,
    table: Any,
    gaps: Any,
    cells: Any,
    present: Any,
) -> Any:
    """Return the row after which to cut the rows low … high − 1, or −1 if no cut is worthwhile.

    The best cut has the lowest entropy. Cuts that differ by less than ``slack``, the rounding error, are equal, and
    the first of them is taken. A cut is worthwhile if its gain exceeds the cost of Fayyad and Irani.

    ``cells`` is scratch of three numbers for each class, all zero before and after. ``present`` has room for every
    class.
    """
    whole, left, pairs = cells[0], cells[1], cells[2]
    n_present = np.uintp(0)
    total = np.int64(0)
    for i in range(np.uintp(low), np.uintp(high)):
        c = codes[i]
        w = units[i] if units.shape[0] else np.int64(1)
        if whole[c] == 0:
            present[n_present] = c
            n_present += np.uintp(1)
        whole[c] += w
        total += w
    where = np.int64(-1)
    if n_present > 1:
        # Σ f(n_c) of both sides, with f(x) = x·log₂x. −N·E is this minus f of the two sizes.
        bits = np.int64(0)
        for j in range(n_present):
            c = present[j]
            pairs[c] = information(whole[c], unit, scale, table)
            bits += pairs[c]
        whole_information = (information(total, unit, scale, table) - bits) / scale
        best, passed = np.int64(0), np.int64(0)
        for i in range(np.uintp(low), np.uintp(high - 1)):
            c = codes[i]
            w = units[i] if units.shape[0] else np.int64(1)
            here = left[c] + w
            left[c] = here
            pair = information(here, unit, scale, table) + information(whole[c] - here, unit, scale, table)
            bits += pair - pairs[c]
            pairs[c] = pair
            passed += w
            if gaps[i] == OPEN:
                score = (
                    bits
                    - information(passed, unit, scale, table)
                    - information(total - passed, unit, scale, table)
                )
                if where < 0 or score > best + slack:
                    best, where = score, np.int64(i)
        if where >= 0 and not pays(
            low, where, codes, units, unit, scale, table, cells, present[:n_present], total, whole_information
        ):
            where = np.int64(-1)
    for j in range(n_present):
        c = present[j]
        whole[c] = left[c] = pairs[c] = 0
    return where


@kernel
def pays(
    low: Any,
    where: Any,
    codes: Any,
    units: Any,
    unit: Any,
    scale: Any,
    table: Any,
    cells: Any,
    present: Any,
    total: Any,
    whole_information: Any,
) -> Any:
    """Return whether the gain of a cut exceeds its cost; ``whole_information`` is N·Ent(S)."""
    whole, left = cells[0], cells[1]
    for j in range(present.shape[0]):
        left[present[j]] = 0
    passed = np.int64(0)
    for i in range(np.uintp(low), np.uintp(where + 1)):
        w = units[i] if units.shape[0] else np.int64(1)
        left[codes[i]] += w
        passed += w
    k1, k2 = 0, 0
    bits1, bits2 = np.int64(0), np.int64(0)
    for j in range(present.shape[0]):
        c = present[j]
        k1 += left[c] > 0
        k2 += left[c] < whole[c]
        bits1 += information(left[c], unit, scale, table)
        bits2 += information(whole[c] - left[c], unit, scale, table)
    first = (information(passed, unit, scale, table) - bits1) / scale
    second = (information(total - passed, unit, scale, table) - bits2) / scale
    k, n = present.shape[0], total * unit
    spread = (
        k * whole_information / n - k1 * first / (passed * unit) - k2 * second / ((total - passed) * unit)
    )
    # If the total weight is below 2, log₂(N − 1) would be negative or −inf.
    price = math.log2(max(n - 1.0, 1.0)) + description_length(k) - spread
    return whole_information - first - second > price


@kernel
def cut(
    codes: Any,
    units: Any,
    unit: Any,
    scale: Any,
    slack: Any,
    table: Any,
    gaps: Any,
    cells: Any,
    present: Any,
    stack: Any,
) -> None:
    """Cut sorted rows recursively: every gap where a cut is worthwhile becomes ``CUT``.

    The smaller part is always processed first, so the depth of the stack is at most log₂ of the number of rows.
    """
    stack[0, 0], stack[0, 1] = 0, codes.shape[0]
    depth = 1
    while depth:
        depth -= 1
        low, high = stack[depth, 0], stack[depth, 1]
        where = best_cut(low, high, codes, units, unit, scale, slack, table, gaps, cells, present)
        if where < 0:
            continue
        gaps[where] = CUT
        middle = where + 1
        if middle - low > high - middle:
            stack[depth, 0], stack[depth, 1] = low, middle
            stack[depth + 1, 0], stack[depth + 1, 1] = middle, high
        else:
            stack[depth, 0], stack[depth, 1] = middle, high
            stack[depth + 1, 0], stack[depth + 1, 1] = low, middle
        depth += 2


# The maximum number of entries in the table of x·log₂x (16 MB). For larger counts the logarithm is computed.
LARGEST_TABLE = 2**21

# Bits for sums of x·log₂x, below the 63 of an int64 because differences of such sums are added.
_BITS = 60
_NO_UNITS = np.empty(0, np.int64)


class Values(NamedTuple):
    """The rows with a value and a weight. ``units[i] * unit`` is the weight of row i; empty ``units`` mean weight 1."""

    values: Floats
    kept: NDArray[np.intp] | None
    units: NDArray[np.int64]
    unit: float

    @property
    def total(self) -> int:
        return int(self.units.sum()) if len(self.units) else len(self.values)


def mdl_cut_points(
    values: ArrayLike,
    codes: ArrayLike,
    n_classes: int,
    weights: ArrayLike | None = None,
    *,
    name: Name = "values",
) -> Floats:
    r"""Cut where the gain in information about the class exceeds the cost of the cut (Fayyad and Irani).

    An interval S of N rows is cut in two where the class entropy E of the parts is lowest, if

    .. math::
        Ent(S) - E > \frac{\log_2(N - 1) + \log_2(3^k - 2) - [k\,Ent(S) - k_1 Ent(S_1) - k_2 Ent(S_2)]}{N}

    where k, k₁ and k₂ are the numbers of classes present in S and its parts. Each part is then cut in the same way.

    Parameters
    ----------
    values : array of shape (n,)
        Numbers. NaN is missing and ignored. Infinity is an error.
    codes : array of shape (n,)
        The class of each row: 0, 1, …, n_classes − 1.
    n_classes : int
    weights : array of shape (n,), optional
        A row of weight 2 counts as two rows, one of weight 0 as none.
    name : hashable
        The name of the column, for errors.

    Returns
    -------
    array of float64
        Midpoints of neighbouring values, ascending. Empty if no cut is worthwhile. Of equally good cuts the
        lowest is taken, regardless of the order of the rows.

    References
    ----------
    U. Fayyad and K. Irani, "Multi-interval discretization of continuous-valued attributes for
    classification learning", IJCAI 1993.

    Examples
    --------
    >>> mdl_cut_points([1, 2, 3, 4, 11, 12, 13, 14], [0, 0, 0, 0, 1, 1, 1, 1], 2)
    array([7.5])
    """
    rows = usable(values, weights, name)
    target = _as_codes(codes, n_classes, len(np.asarray(values)))
    if rows.kept is not None:
        target = target[rows.kept]
    n = len(rows.values)
    if n < 2:
        return np.empty(0)
    order = np.argsort(rows.values)
    ordered = rows.values[order]
    gaps = np.zeros(n, np.uint8)  # OPEN is 1, the value of True
    np.not_equal(ordered[1:], ordered[:-1], out=gaps[:-1].view(np.bool_))
    units = rows.units[order] if len(rows.units) else rows.units
    scale, table = _information(rows)
    # Each x·log₂x has an error of one or two ulps. Their sum is at most f(N), below 2^60.
    slack = np.int64(2 ** (_BITS - 50) + 2 * n_classes)
    cells, present = np.zeros((3, n_classes), np.int64), np.empty(n_classes, target.dtype)
    stack = np.zeros((2 + n.bit_length(), 2), np.int64)
    cut(target[order], units, rows.unit, scale, slack, table, gaps, cells, present, stack)
    return midpoints(ordered, np.flatnonzero(gaps == CUT))


def frequency_cut_points(
    values: ArrayLike, n_bins: int, weights: ArrayLike | None = None, *, name: Name = "values"
) -> Floats:
    """Cut into intervals with about equal numbers of rows.

    The k-th cut lies between the two neighbouring values where the weight below is closest to k/n_bins of the total.
    Equal cuts are merged, so there may be fewer intervals than requested.

    Examples
    --------
    >>> frequency_cut_points([1, 2, 3, 4, 5, 100], 3)
    array([2.5, 4.5])
    """
    check_bins(n_bins)
    return _even_cuts(usable(values, weights, name), n_bins)


def proportional_cut_points(
    values: ArrayLike, weights: ArrayLike | None = None, *, name: Name = "values"
) -> Floats:
    """Cut N rows into about √N intervals of about √N rows (Yang and Webb, ECML 2001).

    Examples
    --------
    >>> proportional_cut_points([1, 2, 3, 4, 5, 6, 7, 8, 9])
    array([3.5, 6.5])
    """
    rows = usable(values, weights, name)
    return _even_cuts(rows, min(math.isqrt(max(int(rows.total * rows.unit), 1)), max(len(rows.values), 1)))


def width_cut_points(
    values: ArrayLike, n_bins: int, weights: ArrayLike | None = None, *, name: Name = "values"
) -> Floats:
    """Cut the range of the values into intervals of equal width. Some may contain no rows.

    Rows of weight 0 do not widen the range. Otherwise weights have no effect.

    Examples
    --------
    >>> width_cut_points([0.0, 1.0, 8.0], 4)
    array([2., 4., 6.])
    """
    check_bins(n_bins)
    found = usable(values, weights, name).values
    if not len(found):
        return np.empty(0)
    low, high = float(found.min()), float(found.max())
    shares = np.arange(1, n_bins) / n_bins
    # Work in quarters if the range itself exceeds the largest float.
    part = 1.0 if math.isfinite(high - low) else 0.25
    cuts = (low * part + (high * part - low * part) * shares) / part
    return np.unique(cuts[(cuts >= low) & (cuts < high)])


def midpoints(ordered: Floats, places: NDArray[np.intp]) -> Floats:
    """Return the midpoint of each of these values and the next one: (a + b)/2, but never b itself.

    >>> midpoints(np.array([1.0, 2.0, 1.7e308, 1.75e308]), np.array([0, 2]))
    array([1.500e+000, 1.725e+308])
    """
    a, b = ordered[places], ordered[places + 1]
    with np.errstate(over="ignore"):
        middle = (a + b) / 2
    beyond = np.isinf(middle)
    middle[beyond] = a[beyond] / 2 + b[beyond] / 2
    # The mean of two adjacent floats may round up to b, and then b would fall into the lower interval.
    return np.where(middle < b, middle, a)


def usable(values: ArrayLike, weights: ArrayLike | None, name: Name) -> Values:
    """Drop rows without a value or weight, raise an error for infinity, and convert weights to integer units."""
    numbers = np.asarray(values)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iufb":
        raise DataError(
            "{name!r} is an array of {dtype} of shape {shape}. Cut points need one column of numbers.",
            name=name,
            dtype=numbers.dtype,
            shape=numbers.shape,
        )
    numbers = np.ascontiguousarray(numbers, dtype=np.float64)
    row_weights = as_weights(weights, len(numbers))
    keep = ~np.isnan(numbers)
    if row_weights is not None:
        keep &= row_weights > 0
    kept = None
    if not keep.all():
        kept = np.flatnonzero(keep)
        numbers = numbers[kept]
        row_weights = None if row_weights is None else row_weights[kept]
    if not np.isfinite(numbers).all():
        place = int((~np.isfinite(numbers)).argmax())
        raise InfiniteValue(name, place if kept is None else int(kept[place]), float(numbers[place]))
    units, unit = (_NO_UNITS, 1.0) if row_weights is None else _as_units(row_weights)
    return Values(numbers, kept, units, unit)


def _as_units(weights: Floats) -> tuple[NDArray[np.int64], float]:
    """Return weights as integer multiples of a power of two, so that their sums do not depend on the order."""
    if not len(weights):
        return _NO_UNITS, 1.0
    largest = float(weights.max())
    if len(weights) * largest < 2**53 and (weights == np.rint(weights)).all():
        return weights.astype(np.int64), 1.0
    # The largest weight is below 2^e, so that the sum of all units is below 2^61.
    shift = 61 - len(weights).bit_length() - math.frexp(largest)[1]
    units = np.rint(np.ldexp(weights, shift)).astype(np.int64)
    return np.maximum(units, 1), math.ldexp(1.0, -shift)


def _information(rows: Values) -> tuple[float, NDArray[np.int64]]:
    """Return the scale at which sums of x·log₂x fit into an integer, and the table of its first values."""
    total = rows.total * rows.unit
    bound = total * (max(abs(math.log2(rows.unit)), abs(math.log2(total))) + 1)
    scale = math.ldexp(1.0, _BITS - math.frexp(bound)[1])
    reach = min(rows.total, len(rows.values), LARGEST_TABLE) + 1 if rows.unit == 1.0 else 0
    table = np.empty(reach, np.int64)
    fill_information(rows.unit, scale, _NO_UNITS, table)
    return scale, table


def _even_cuts(rows: Values, n_bins: int) -> Floats:
    if len(rows.values) < 2 or n_bins < 2:
        return np.empty(0)
    if len(rows.units):
        order = np.argsort(rows.values)
        ordered, upto = rows.values[order], np.cumsum(rows.units[order])
    else:
        ordered, upto = np.sort(rows.values), np.arange(1, len(rows.values) + 1)
    places = np.flatnonzero(ordered[1:] != ordered[:-1])
    below = upto[places]
    # Add 0 and the total at the ends: a target that is closer to one of these gets no cut.
    below = np.concatenate([[0], below, [rows.total]]).astype(np.float64)
    targets = np.arange(1, n_bins) * (rows.total / n_bins)
    above = np.searchsorted(below, targets)
    nearest = np.where(below[above] - targets < targets - below[above - 1], above, above - 1)
    chosen = np.unique(nearest)
    return midpoints(ordered, places[chosen[(chosen > 0) & (chosen < len(below) - 1)] - 1])


def _as_codes(codes: ArrayLike, n_classes: int, n_rows: int) -> NDArray[Any]:
    array = np.asarray(codes)
    if array.shape != (n_rows,) or array.dtype.kind not in "iu":
        raise DataError(
            "There are {n_rows} values, and codes of {dtype} with shape {shape}. Pass one integer for each "
            "row.",
            n_rows=n_rows,
            dtype=array.dtype,
            shape=array.shape,
        )
    if n_rows and not (int(array.min()) >= 0 and int(array.max()) < n_classes):
        wrong = int(array.min()) if int(array.min()) < 0 else int(array.max())
        raise UnseenClass(
            "codes contains {wrong}, but the {n_classes} classes are numbered from 0.",
            wrong=wrong,
            n_classes=n_classes,
        )
    return array.astype(np.uint8 if n_classes <= 256 else np.uint32)


def check_bins(n_bins: object) -> None:
    """Raise an error for an invalid number of intervals."""
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise SettingError(
            "n_bins is {n_bins!r}; a whole number of intervals, at least 1, is needed.", n_bins=n_bins
        )
