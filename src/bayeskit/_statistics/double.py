"""Double-double arithmetic, and cells whose sums are stored in it.

A double-double is an unevaluated sum ``high + low`` of two doubles, with about 32 digits. Sums of squares about a pivot
need this precision: an outlier of 1e8 standard deviations fills the sixteen digits of a double, and when it is
forgotten, the sums of the other rows must still be exact.

A cell is seven numbers, one in each plane of an array of shape (7, K, d). The names of the planes are below.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayeskit._intrinsics import fma
from bayeskit._numba import kernel
from bayeskit.typing import Floats

# Places of an array, along one axis or several.
Places: TypeAlias = int | slice | list[int] | NDArray[np.intp] | NDArray[np.bool_] | None
Key: TypeAlias = Places | tuple[Places, ...]

# Sums are computed for this many numbers at a time: the temporaries of their arithmetic then stay in the cache, and
# those of thousands of columns would take gigabytes.
BLOCK = 2**15
# 2^27 + 1 cuts a double into two halves of 26 bits, whose products are exact.
_CUT = 134_217_729.0


@dataclass(frozen=True, eq=False)
class Twofold:
    """An array of unevaluated sums ``high + low``, with |low| at most half a unit in the last place.

    Examples
    --------
    >>> third = Twofold.product(np.array([1 / 3]), np.array([1.0]))
    >>> (third + Twofold.exact(np.array([1e16])) - Twofold.exact(np.array([1e16]))).high == 1 / 3
    array([ True])
    """

    high: Floats
    low: Floats

    @classmethod
    def exact(cls, values: Floats) -> Twofold:
        return cls(values, np.zeros_like(values))

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Twofold:
        """Return room for values, to be filled."""
        return cls(np.empty(shape), np.empty(shape))

    def fill(self, key: Key, values: Twofold) -> None:
        """Write values into room that :meth:`empty` made."""
        self.high[key], self.low[key] = values.high, values.low

    @classmethod
    def product(cls, a: Floats, b: Floats) -> Twofold:
        """Return a·b without error."""
        value = a * b
        a_high, b_high = _upper_half(a), _upper_half(b)
        a_low, b_low = a - a_high, b - b_high
        return cls(value, a_low * b_low - (((value - a_high * b_high) - a_low * b_high) - a_high * b_low))

    @classmethod
    def difference(cls, a: Floats, b: Floats) -> Twofold:
        """Return a − b without error."""
        return cls(*_two_sum(a, -b))

    def __add__(self, other: Twofold) -> Twofold:
        shape = self.high.shape
        if self.high.size > BLOCK and other.high.shape == shape:
            (a, b), out = (
                (Twofold(s.high.ravel(), s.low.ravel()) for s in (self, other)),
                Twofold.empty(shape),
            )
            flat = Twofold(out.high.reshape(-1), out.low.reshape(-1))
            for some in (slice(begin, begin + BLOCK) for begin in range(0, self.high.size, BLOCK)):
                flat.fill(some, a[some] + b[some])
            return out
        value, lost = _two_sum(self.high, other.high)
        return _settled(value, lost + (self.low + other.low))

    def __neg__(self) -> Twofold:
        return Twofold(-self.high, -self.low)

    def __sub__(self, other: Twofold) -> Twofold:
        return self + -other

    def __mul__(self, other: Twofold) -> Twofold:
        raw = Twofold.product(self.high, other.high)
        return _settled(raw.high, raw.low + (self.high * other.low + self.low * other.high))

    def __truediv__(self, other: Twofold) -> Twofold:
        first = self.high / other.high
        return _settled(first, (self - other * Twofold.exact(first)).high / other.high)

    def __getitem__(self, key: Key) -> Twofold:
        return Twofold(self.high[key], self.low[key])

    def replaced(self, key: Key, values: Twofold) -> Twofold:
        """Return a copy with other values at some places."""
        high, low = self.high.copy(), self.low.copy()
        high[key], low[key] = values.high, values.low
        return Twofold(high, low)

    def transposed(self) -> Twofold:
        """Swap the last two axes."""
        return Twofold(np.swapaxes(self.high, -1, -2), np.swapaxes(self.low, -1, -2))

    def scaled(self, factor: Floats) -> Twofold:
        """Multiply by plain doubles that broadcast."""
        raw = Twofold.product(self.high, np.broadcast_to(factor, self.high.shape))
        return _settled(raw.high, raw.low + self.low * factor)

    def cleared(self, where: NDArray[np.bool_]) -> Twofold:
        """Set exact zeros where the mask, which broadcasts, is true."""
        return Twofold(np.where(where, 0.0, self.high), np.where(where, 0.0, self.low))


def _upper_half(a: Floats) -> Floats:
    big = _CUT * a
    return big - (big - a)


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    value = a + b
    from_b = value - a
    return value, (a - (value - from_b)) + (b - from_b)


def _settled(value: Floats, lost: Floats) -> Twofold:
    high = value + lost
    return Twofold(high, lost - (high - value))


WEIGHT, WEIGHT_LOW, PIVOT, FIRST, FIRST_LOW, SECOND, SECOND_LOW = range(7)
PLANES = 7

FINE, TROUBLE, FAR = 0, 1, 2

# A cell moves its pivot to its mean when they are more than this many standard deviations apart.
FAR_DEVIATIONS = 10.0
# After a subtraction, a fractional weight below the first fraction of the previous weight is rounding error, see
# `part.ROUNDING`. A negative weight is always an error, so the tolerance below zero is larger.
NO_WEIGHT, BELOW_ZERO = 2.0**-48, 1e-13
# A remainder below this fraction of the previous sum of squares is rounding error, so the remaining values are equal.
# Double-double resolves 1e-32, and counting 65,536 rows loses up to four digits of that.
NO_SPREAD = 1e-26
# A mean below this fraction of the numbers it was computed from (its pivot and the values about it) is rounding error.
NO_VALUE = 1e-30
# A sum of squares below this has lost low digits to underflow.
SMALLEST_SECOND = 1e-280


@kernel
def add_exactly(a: float, b: float) -> Any:
    """Return a + b as high and low, without error."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


@kernel
def add(a: float, a_low: float, b: float, b_low: float) -> Any:
    high, low = add_exactly(a, b)
    middle, rest = add_exactly(a_low, b_low)
    high, low = add_exactly(high, low + middle)
    return add_exactly(high, low + rest)


@kernel
def multiply(a: float, a_low: float, b: float, b_low: float) -> Any:
    high = a * b
    low = fma(a, b, -high) + (a * b_low + a_low * b)
    return add_exactly(high, low)


@kernel
def divide(a: float, a_low: float, b: float, b_low: float) -> Any:
    first = a / b
    high, low = multiply(b, b_low, first, 0.0)
    high, low = add(a, a_low, -high, -low)
    second = high / b
    high_2, low_2 = multiply(b, b_low, second, 0.0)
    high, low = add(high, low, -high_2, -low_2)
    total, rest = add_exactly(first, second)
    return add_exactly(total, rest + high / b)


@kernel
def shift(
    w: float, w_low: float, f: float, f_low: float, s: float, s_low: float, by: float, by_low: float
) -> Any:
    """Move the pivot by δ: S1' = S1 − nδ and S2' = S2 − 2δS1 + nδ² = S2 − δ(S1 + S1')."""
    change, change_low = multiply(w, w_low, by, by_low)
    g, g_low = add(f, f_low, -change, -change_low)
    both, both_low = add(f, f_low, g, g_low)
    change, change_low = multiply(by, by_low, both, both_low)
    s, s_low = add(s, s_low, -change, -change_low)
    return g, g_low, s, s_low


@kernel
def centre(w: float, w_low: float, f: float, f_low: float, s: float, s_low: float) -> Any:
    """Return the second moment about the mean, S2 − S1²/n."""
    square, square_low = multiply(f, f_low, f, f_low)
    square, square_low = divide(square, square_low, w, w_low)
    return add(s, s_low, -square, -square_low)


@kernel
def settle(cells: Any, c: Any, j: Any, held: float) -> int:
    """Bring a cell into its stored form; ``held`` is the sum of squares it was computed from."""
    w, w_low, p = cells[WEIGHT, c, j], cells[WEIGHT_LOW, c, j], cells[PIVOT, c, j]
    f, f_low = cells[FIRST, c, j], cells[FIRST_LOW, c, j]
    s, s_low = cells[SECOND, c, j], cells[SECOND_LOW, c, j]
    if not (isfinite(p) and isfinite(f + f_low) and isfinite(s + s_low)):
        return TROUBLE
    status = TROUBLE if abs(s) < SMALLEST_SECOND and f != 0.0 else FINE
    # A negative weight means that more was removed than was counted. It is kept, so that it can be reported.
    if w <= 0.0:
        return status
    offset = f / w
    # If the mean is within ten deviations of the pivot, plain doubles are enough to show it: n(mean − p)² ≤ 100/101 S2.
    if FAR_DEVIATIONS**2 * s >= (FAR_DEVIATIONS**2 + 1.0) * (f * offset) and s > NO_SPREAD * 1e3 * held:
        return status
    spread, _ = centre(w, w_low, f, f_low, s, s_low)
    if not isfinite(spread):
        return TROUBLE
    constant = spread <= NO_SPREAD * held
    if constant or f * offset > FAR_DEVIATIONS**2 * spread:
        offset, offset_low = divide(f, f_low, w, w_low)
        mean, mean_low = add_exactly(p, offset)
        mean += mean_low + offset_low
        # A constant that is only the rounding error of larger numbers is zero.
        least = NO_VALUE * max(abs(p), sqrt(held / w))
        cells[PIVOT, c, j] = 0.0 if constant and abs(mean) <= least else mean
        by, by_low = add_exactly(cells[PIVOT, c, j], -p)
        f, f_low, s, s_low = shift(w, w_low, f, f_low, s, s_low, by, by_low)
        status |= FAR if by != 0.0 else FINE
    if constant:
        f = f_low = s = s_low = 0.0
    cells[FIRST, c, j], cells[FIRST_LOW, c, j] = f, f_low
    cells[SECOND, c, j], cells[SECOND_LOW, c, j] = s, s_low
    return status


def constant_value(
    mean: Floats, constant: NDArray[np.bool_], pivot: Floats, held: Floats, weight: Floats
) -> Floats:
    """Return the means of cells, and 0 for a constant that is only rounding error.

    This is what `settle` does for one cell. ``held`` are the sums of squares about ``pivot`` that the cells were
    computed from.
    """
    scale = np.sqrt(held / np.where(weight > 0.0, weight, np.inf))
    nothing = constant & (np.abs(mean) <= NO_VALUE * np.maximum(np.abs(pivot), scale))
    return np.where(nothing, 0.0, mean)


@kernel
def combine(a: Any, ca: Any, b: Any, cb: Any, sign: float, out: Any, co: Any, j: Any) -> Any:
    """Write cell ca of ``a`` plus ``sign`` times cell cb of ``b`` into cell co of ``out`` (or of a)."""
    wa, wa_low, wb, wb_low = a[WEIGHT, ca, j], a[WEIGHT_LOW, ca, j], b[WEIGHT, cb, j], b[WEIGHT_LOW, cb, j]
    if wb == 0.0:
        for plane in range(PLANES):
            out[plane, co, j] = a[plane, ca, j]
        return FINE
    if wa == 0.0:
        for plane in range(PLANES):
            out[plane, co, j] = b[plane, cb, j] * (1.0 if plane == PIVOT else sign)
        return FINE
    w, w_low = add(wa, wa_low, sign * wb, sign * wb_low)
    whole = wa_low == 0.0 and wb_low == 0.0 and wa == np.floor(wa) and wb == np.floor(wb)
    most = max(abs(wa), abs(wb))
    if w == 0.0 or (not whole and -BELOW_ZERO * most <= w <= NO_WEIGHT * most):
        for plane in range(PLANES):
            out[plane, co, j] = 0.0
        return FINE
    # Keep the pivot of the cell with more weight, so that its larger sums are not rounded.
    pa, fa, fa_low, sa, sa_low = (
        a[PIVOT, ca, j], a[FIRST, ca, j], a[FIRST_LOW, ca, j], a[SECOND, ca, j], a[SECOND_LOW, ca, j]
    )  # fmt: skip
    pb, fb, fb_low, sb, sb_low = (
        b[PIVOT, cb, j], b[FIRST, cb, j], b[FIRST_LOW, cb, j], b[SECOND, cb, j], b[SECOND_LOW, cb, j]
    )  # fmt: skip
    if abs(wb) > abs(wa):
        by, by_low = add_exactly(pb, -pa)
        fa, fa_low, sa, sa_low = shift(wa, wa_low, fa, fa_low, sa, sa_low, by, by_low)
        out[PIVOT, co, j] = pb
    else:
        by, by_low = add_exactly(pa, -pb)
        fb, fb_low, sb, sb_low = shift(wb, wb_low, fb, fb_low, sb, sb_low, by, by_low)
        out[PIVOT, co, j] = pa
    out[WEIGHT, co, j], out[WEIGHT_LOW, co, j] = w, w_low
    out[FIRST, co, j], out[FIRST_LOW, co, j] = add(fa, fa_low, sign * fb, sign * fb_low)
    out[SECOND, co, j], out[SECOND_LOW, co, j] = add(sa, sa_low, sign * sb, sign * sb_low)
    return settle(out, co, j, abs(sa) + abs(sb))


@kernel
def combine_cells(a: Any, a_exponent: Any, b: Any, b_exponent: Any, sign: float, out: Any) -> int:
    """Add (sign +1) or subtract (−1) all cells; TROUBLE means that other exponents are needed."""
    status = FINE
    for j in range(np.uintp(a.shape[2])):
        if a_exponent[j] != b_exponent[j]:
            return TROUBLE
    for c in range(np.uintp(a.shape[1])):
        for j in range(np.uintp(a.shape[2])):
            status |= combine(a, c, b, c, sign, out, c, j)
    return status & TROUBLE


def plainly_settled(cells: NDArray[np.float64]) -> bool:
    """Return whether newly counted cells are in the stored form, as far as plain doubles show."""
    w, f, s = cells[WEIGHT], cells[FIRST], cells[SECOND]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        near = FAR_DEVIATIONS**2 * s >= (FAR_DEVIATIONS**2 + 1.0) * (f * (f / w))
        fine = near & (s >= SMALLEST_SECOND) & np.isfinite(s) & np.isfinite(f)
    return bool((fine | (w == 0.0)).all())


@kernel
def settle_cells(cells: Any) -> int:
    """Settle newly counted cells; FAR means that some pivot was far from its mean."""
    status = FINE
    for c in range(np.uintp(cells.shape[1])):
        for j in range(np.uintp(cells.shape[2])):
            status |= settle(cells, c, j, abs(cells[SECOND, c, j]))
    return status


@kernel
def scale_cells(cells: Any, factors: Any, out: Any) -> None:
    """Multiply the sums of each class by its factor. A cell without weight becomes empty."""
    for c in range(np.uintp(cells.shape[1])):
        for j in range(np.uintp(cells.shape[2])):
            for high in (WEIGHT, FIRST, SECOND):
                product, rest = multiply(cells[high, c, j], cells[high + 1, c, j], factors[c], 0.0)
                out[high, c, j], out[high + 1, c, j] = product, rest
            out[PIVOT, c, j] = cells[PIVOT, c, j]
            if out[WEIGHT, c, j] == 0.0:
                for plane in range(PLANES):
                    out[plane, c, j] = 0.0


@kernel
def describe_cell(cells: Any, c: Any, j: Any) -> tuple[float, float, float]:
    """Return the mean (high and low) of a cell that has weight, and the second moment about it."""
    w, w_low = cells[WEIGHT, c, j], cells[WEIGHT_LOW, c, j]
    f, f_low = cells[FIRST, c, j], cells[FIRST_LOW, c, j]
    offset, offset_low = divide(f, f_low, w, w_low)
    mean, low = add(cells[PIVOT, c, j], 0.0, offset, offset_low)
    spread, _ = centre(w, w_low, f, f_low, cells[SECOND, c, j], cells[SECOND_LOW, c, j])
    return mean, low, max(spread, 0.0)


@kernel
def describe_cells(cells: Any, mean: Any, mean_low: Any, centred: Any) -> None:
    """Write the means (high and low) and the second moments about them, in the scale of the stored values."""
    for c in range(np.uintp(cells.shape[1])):
        for j in range(np.uintp(cells.shape[2])):
            mean[c, j] = mean_low[c, j] = centred[c, j] = 0.0
            if cells[WEIGHT, c, j] != 0.0:
                mean[c, j], mean_low[c, j], centred[c, j] = describe_cell(cells, c, j)
