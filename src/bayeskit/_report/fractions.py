"""Numbers as text: as fractions of counts, with few digits, from logarithms, or as the intended fraction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

# A weight such as 16/3 is a fraction of small numbers. A larger denominator does not help a reader.
LARGEST_DENOMINATOR = 999


def number(x: float) -> str:
    """Write a count or weight: whole if it is whole, as a short decimal or p/q if that is exact.

    Examples
    --------
    >>> number(3.0), number(0.5), number(1 / 3), number(0.123456789)
    ('3', '0.5', '1/3', '0.123457')
    """
    x = float(x)
    if not math.isfinite(x):
        return str(x)
    if x.is_integer() and abs(x) < 1e15:
        return str(int(x))
    short = f"{x:.6g}"
    if float(short) == x:
        return short
    near = Fraction(x).limit_denominator(LARGEST_DENOMINATOR)
    if near and abs(near - Fraction(x)) <= abs(Fraction(x)) / 10**12:
        return str(near)
    return short


def fraction(count: float, imaginary: float, total: float, imaginary_total: float) -> str:
    r"""Write (n + a)/(N + A), the share of a cell. Imaginary counts of 0 are omitted.

    Examples
    --------
    >>> fraction(3, 1, 8, 2), fraction(3, 0, 8, 0), fraction(0, 0.5, 4, 1.5)
    ('(3+1)/(8+2)', '3/8', '(0+0.5)/(4+1.5)')
    """
    return f"{_sum(count, imaginary)}/{_sum(total, imaginary_total)}"


def fractions(
    counts: Sequence[float], imaginary: float, totals: Sequence[float], imaginary_total: float
) -> list[str]:
    """Write many fractions of the same imaginary counts, as ``fraction`` writes one."""
    above, below = _sums(imaginary), _sums(imaginary_total)
    return [f"{above[n]}/{below[total]}" for n, total in zip(counts, totals, strict=True)]


def back_off(count: float, constant: float, below: float | str, total: float) -> str:
    r"""Write (n + c·p)/(N + c), a share that backs off to the estimate p with one parent fewer.

    Examples
    --------
    >>> back_off(3, 4, 0.4285714, 5), back_off(0, 0.25, "1/3", 8)
    ('(3+4·0.4286)/(5+4)', '(0+0.25·1/3)/(8+0.25)')
    """
    if constant == 0.0:
        return fraction(count, 0.0, total, 0.0)
    p = below if isinstance(below, str) else short(below)
    return f"({number(count)}+{number(constant)}·{p})/({number(total)}+{number(constant)})"


class _Sums(dict[float, str]):
    """A cache of n + a as text, because a page has few distinct counts, each many times."""

    MOST = 2**14

    def __init__(self, imaginary: float) -> None:
        self.imaginary = imaginary

    def __missing__(self, real: float) -> str:
        if len(self) >= self.MOST:
            self.clear()
        text = self[real] = _sum(real, self.imaginary)
        return text


_sums = lru_cache(maxsize=64)(_Sums)


def _sum(real: float, imaginary: float) -> str:
    text = number(real) if imaginary == 0 else f"{number(real)}+{number(imaginary)}"
    return f"({text})" if "+" in text or "/" in text else text


# A double this large has no digits left for the fraction.
_WITHOUT_DIGITS = 1e12


def magnitude(log: float) -> str:
    """Write a probability or density from its logarithm, even if the number itself would underflow.

    Examples
    --------
    >>> magnitude(math.log(2 / 7)), magnitude(-2000.0), magnitude(-1e40), magnitude(-math.inf)
    ('0.2857', '2.58e-869', '10^(-4.34e+39)', '0')
    """
    if math.isinf(log):
        return "0" if log < 0.0 else "∞"
    if abs(log) > _WITHOUT_DIGITS:
        return f"10^({log / math.log(10.0):.3g})"
    if math.log(1e-4) <= log < math.log(1e6):
        return f"{math.exp(log):.4g}"
    power = math.floor(log / math.log(10.0))
    leading = f"{math.exp(log - power * math.log(10.0)):.2f}"
    if leading == "10.00":  # 9.999 rounds to the next power
        leading, power = "1.00", power + 1
    return f"{leading}e{power:+03d}"


def share(p: float, rest: float) -> str:
    """Write a probability. If 4 digits would round it to 1, write it as 1 − rest.

    Examples
    --------
    >>> share(0.25, 0.75), share(1 - 3e-9, 3e-9), share(1.0, 0.0)
    ('0.25', '1 − 3.00e-09', '1')
    """
    if 0.0 < rest < 1e-4:
        return f"1 − {magnitude(math.log(rest))}"
    return magnitude(math.log(p)) if p > 0.0 else "0"


def short(x: float, digits: int = 4) -> str:
    """Write a parameter with few digits, large ones without a power of ten while that is short.

    Examples
    --------
    >>> short(0.009219), short(190340.2), short(1.136e10)
    ('0.009219', '190340', '1.136e+10')
    """
    text = f"{x:.{digits}g}"
    return f"{x:.0f}" if "e" in text and 1.0 <= abs(x) < 1e7 else text


def centre(mean: float, spread: float) -> str:
    """Write a mean with 4 digits, or as many as distinguish it from neighbours a hundredth of the spread away.

    Examples
    --------
    >>> centre(0.5253333, 0.1), centre(100_000_003.25, 0.5)
    ('0.5253', '100000003.25')
    """
    digits = 4
    if mean and 0.0 < spread < math.inf:
        digits = min(max(4, math.ceil(math.log10(abs(mean)) - math.log10(spread)) + 2), 15)
    return short(mean, digits)


# A number with more digits was computed, not written by hand.
_MOST_DIGITS = 12


def exact(x: float) -> Fraction:
    """Return the decimal that a float was written as, or p/q of small numbers, or else the float itself.

    Examples
    --------
    >>> exact(0.1), exact(1 / 3), exact(0.1) * 3 == exact(0.3)
    (Fraction(1, 10), Fraction(1, 3), True)
    """
    text = repr(float(x))
    digits = text.partition("e")[0].replace(".", "").replace("-", "").strip("0")
    if len(digits) <= _MOST_DIGITS:
        return Fraction(text)
    near = Fraction(x).limit_denominator(LARGEST_DENOMINATOR)
    return near if near and abs(near - Fraction(x)) <= abs(near) / 2**50 else Fraction(x)


def from_log(log: float) -> Fraction:
    """Return e to a power, even if a float would be 0 or infinite."""
    if log == -math.inf:
        return Fraction(0)
    power = math.floor(log / math.log(10.0))
    return Fraction(math.exp(log - power * math.log(10.0))) * Fraction(10) ** power


def exact_text(p: Fraction) -> str:
    """Write a short decimal exactly, otherwise a fraction of small numbers, otherwise four digits.

    Examples
    --------
    >>> exact_text(Fraction(9, 50)), exact_text(Fraction(25, 34)), exact_text(Fraction(12345, 67891))
    ('0.18', '25/34', '0.1818')
    """
    short = f"{float(p):.6g}"
    if Fraction(short) == p:
        return short
    return str(p) if p.denominator <= LARGEST_DENOMINATOR else decimal_text(p)


def decimal_text(p: Fraction) -> str:
    """Write four digits, even if the number is too small for a float."""
    return magnitude(math.log(p.numerator) - math.log(p.denominator)) if p > 0 else "0"
