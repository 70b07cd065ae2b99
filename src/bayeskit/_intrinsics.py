"""CPU instructions for kernels, each with an equivalent in plain Python."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsInt

from bayeskit._numba import as_word, intrinsic, kernel

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value


@kernel
def set_all(array: Any, value: Any) -> None:
    """Write a value into every cell of a flat array. A slice assignment would take far longer to compile."""
    for i in range(array.shape[0]):
        array[i] = value


def _exact_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b as a rounded sum and its error (Knuth)."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


def _exact_product(a: float, b: float) -> tuple[float, float]:
    """Return a·b as a rounded product and its error (Dekker, 1971)."""
    product = a * b
    high_a, high_b = 134217729.0 * a, 134217729.0 * b  # 2^27 + 1
    high_a, high_b = high_a - (high_a - a), high_b - (high_b - b)
    low_a, low_b = a - high_a, b - high_b
    return product, low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _plain_fma(a: float, b: float, c: float) -> float:
    a, b, c = float(a), float(b), float(c)
    size = abs(a * b)
    # Outside this range, the halves of a product overflow, or its error is subnormal.
    if not (2.0**-400 < size < 2.0**400 and abs(a) < 2.0**500 and abs(b) < 2.0**500 and abs(c) < 2.0**900):
        if a == 0.0 or b == 0.0 or not (math.isfinite(a) and math.isfinite(b)):
            return a * b + c
        if not math.isfinite(c):  # the exact product is finite, even where a * b is not
            return c
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf
    product, error = _exact_product(a, b)
    total, lost = _exact_sum(product, c)
    rest, beyond = _exact_sum(lost, error)
    # Rounding twice may be wrong by one bit, unless the first rounding is to odd (Boldo and Melquiond, 2008).
    if beyond != 0.0 and not struct.pack("<d", rest)[0] & 1:
        rest = math.nextafter(rest, math.copysign(math.inf, beyond))
    return total + rest


@intrinsic(plain=_plain_fma)
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c rounded once. It gives the error of a product: fma(a, b, −a·b)."""
    from numba import types

    signature = types.float64(types.float64, types.float64, types.float64)

    def generate(context: object, builder: IRBuilder, signature: object, arguments: Sequence[Value]) -> Value:
        return builder.fma(*arguments)

    return signature, generate


@intrinsic(plain=lambda word: int(word).bit_count())
def ones(typing_context: Any, word: Any) -> Any:
    """Return the number of bits set in a word (llvm.ctpop: one instruction, and it vectorises)."""
    from numba import types

    def generate(context: object, builder: IRBuilder, signature: object, arguments: Sequence[Value]) -> Value:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic(plain=lambda word: (int(word) & -int(word)).bit_length() - 1)
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Return the position of the lowest set bit of a non-zero word."""
    from numba import types

    def generate(context: object, builder: IRBuilder, signature: object, arguments: Sequence[Value]) -> Value:
        from llvmlite import ir

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


# 2⁶⁴ over the golden ratio.
_GOLDEN = 0x9E3779B97F4A7C15


def _plain_fibonacci_hash(word: SupportsInt) -> Any:
    return as_word(int(word) * _GOLDEN)


@intrinsic(plain=_plain_fibonacci_hash)
def fibonacci_hash(typing_context: Any, word: Any) -> Any:
    """Return a word times 2⁶⁴ over the golden ratio, modulo 2⁶⁴: its upper bits spread neighbours (Knuth 6.4)."""
    from numba import types

    def generate(context: object, builder: IRBuilder, signature: object, arguments: Sequence[Value]) -> Value:
        return builder.mul(arguments[0], arguments[0].type(_GOLDEN))

    return types.uint64(types.uint64), generate
