"""Sums kept as two doubles, a value and what it lost: about 32 digits, for whole arrays at once.

Shifting a sum of squares by δ adds and takes away n·δ²; where δ is 1e8 standard deviations, one double
would keep nothing of the variance. Two keep it to sixteen digits. The steps are Knuth's two-sum and
Dekker's product (T. J. Dekker, *A floating-point technique for extending the available precision*, 1971).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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

    def __getitem__(self, key: Any) -> Twofold:
        return Twofold(self.high[key], self.low[key])

    def transposed(self) -> Twofold:
        """Swap the last two axes."""
        return Twofold(np.swapaxes(self.high, -1, -2), np.swapaxes(self.low, -1, -2))

    def scaled(self, factor: Floats) -> Twofold:
        """Multiply by plain doubles that broadcast."""
        raw = Twofold.product(self.high, np.broadcast_to(factor, self.high.shape))
        return _settled(raw.high, raw.low + self.low * factor)

    def cleared(self, where: NDArray[np.bool_]) -> Twofold:
        """Put exact zeros where the mask, which broadcasts, says so."""
        return Twofold(np.where(where, 0.0, self.high), np.where(where, 0.0, self.low))

    def total(self) -> Twofold:
        """Add up the first axis, which stays with length one."""
        kept = self[:1]
        for row in range(1, len(self.high)):
            kept = kept + self[row : row + 1]
        return kept


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
