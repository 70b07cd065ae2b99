"""Bayes' rule in exact fractions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bayeskit.errors import DataError, SettingError, did_you_mean

# Beyond this a fraction is harder to read than its decimal.
LARGEST_DENOMINATOR = 9_999
# What people leave when they round: 0.333 + 0.333 + 0.333 is not meant to be one, 0.3333333333 three times is.
TOLERANCE = Fraction(1, 10**9)

Shares = Mapping[str, Fraction]


@dataclass(frozen=True)
class Rule:
    """A prior, a likelihood, and what follows from them."""

    prior: Shares
    likelihood: Shares

    @property
    def product(self) -> Shares:
        return {name: p * self.likelihood[name] for name, p in self.prior.items()}

    @property
    def total(self) -> Fraction:
        return sum(self.product.values(), Fraction(0))

    @property
    def posterior(self) -> Shares:
        return {name: joint / self.total for name, joint in self.product.items()}

    @property
    def tallest(self) -> Fraction:
        """The largest likelihood."""
        return max(self.likelihood.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: each number, and the fraction that it is."""

        def both(value: Fraction) -> dict[str, Any]:
            return {"value": float(value), "fraction": str(value)}

        classes = [
            {"class": name}
            | {key: both(getattr(self, key)[name]) for key in ("prior", "likelihood", "product", "posterior")}
            for name in self.prior
        ]
        return {"total": both(self.total), "classes": classes}


def by_hand(prior: str, likelihood: str) -> Rule:
    """Read ``spam=0.7,ham=0.3`` twice; the classes must be the same.

    Examples
    --------
    >>> rule = by_hand("spam=0.7,ham=0.3", "spam=0.9,ham=0.01")
    >>> rule.total, rule.posterior["spam"]
    (Fraction(633, 1000), Fraction(210, 211))
    """
    p, f = _read(prior, "--prior"), _read(likelihood, "--likelihood")
    for have, want, option in ((f, p, "--likelihood"), (p, f, "--prior")):
        absent = next((name for name in want if name not in have), None)
        if absent is not None:
            raise SettingError(
                f"{option} has no {absent!r}. {did_you_mean(absent, have)} Name the same classes twice."
            )
    total = sum(p.values(), Fraction(0))
    if abs(total - 1) > TOLERANCE:
        raise DataError(
            f"--prior sums to {float(total):g}, not to 1. Correct it, or divide each number by the sum."
        )
    rule = Rule(p, {name: f[name] for name in p})
    if not rule.total:
        raise DataError("P(x) is 0: no class can produce what was observed, so there is no posterior.")
    return rule


def shown(value: Fraction) -> str:
    """Write a number as the fraction it is, where that is short, and as a decimal.

    Examples
    --------
    >>> shown(Fraction(210, 211)), shown(Fraction(1, 2)), shown(Fraction(1)), shown(Fraction(1, 10**6 + 3))
    ('210/211 = 0.9953', '1/2 = 0.5', '1', '1e-06')
    """
    number = f"{float(value):.4g}"
    if value.denominator == 1 or value.denominator > LARGEST_DENOMINATOR:
        return number
    return f"{value} = {number}"


def _read(text: str, option: str) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for part in text.split(","):
        name, sign, number = part.rpartition("=")
        name = name.strip()
        if not sign or not name:
            raise SettingError(f"{option}: {part!r} is not CLASS=NUMBER, such as spam=0.7.")
        if name in found:
            raise SettingError(f"{option} names {name!r} twice. Name each class once.")
        try:
            value = Fraction(number.strip())
        except (ValueError, ZeroDivisionError):
            raise SettingError(f"{option}: {number!r} is no number. Write 0.7 or 7/10.") from None
        if value < 0:
            raise SettingError(f"{option}: {name!r} has {number.strip()}, and no probability is negative.")
        found[name] = value
    return found
