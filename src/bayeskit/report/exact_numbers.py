"""Numbers of tables as the fractions they were meant to be, and fractions as they are written."""

from __future__ import annotations

import math
from fractions import Fraction

from bayeskit.report.fractions import LARGEST_DENOMINATOR, magnitude

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
    """Return e to a power, also where a float would be 0 or infinite."""
    if log == -math.inf:
        return Fraction(0)
    power = math.floor(log / math.log(10.0))
    return Fraction(math.exp(log - power * math.log(10.0))) * Fraction(10) ** power


def exact_text(p: Fraction) -> str:
    """Write a short decimal as it is, else a fraction of small numbers, else four digits.

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
    """Write four digits, also of what is too small for a float."""
    return magnitude(math.log(p.numerator) - math.log(p.denominator)) if p > 0 else "0"
