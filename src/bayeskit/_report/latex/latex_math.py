r"""Arithmetic as LaTeX: (3+1)/(8+2) becomes \frac{3+1}{8+2}."""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?P<density>[A-Za-z]+\([^();]*;[^()]*\)(?:, \d+d)?)"
    r"|(?P<sign>[-+−·/^()∞=≈]))"
)
_LETTERS = {
    "α": r"\alpha",
    "β": r"\beta",
    "γ": r"\gamma",
    "δ": r"\delta",
    "θ": r"\theta",
    "κ": r"\kappa",
    "λ": r"\lambda",
    "μ": r"\mu",
    "ν": r"\nu",
    "π": r"\pi",
    "σ²": r"\sigma^2",
    "σ": r"\sigma",
    "τ": r"\tau",
    "φ": r"\varphi",
    "Σ": r"\Sigma",
}


class _NoArithmetic(Exception):
    """The text is not arithmetic."""


@lru_cache(maxsize=4096)  # a page has few different formulas, each many times
def as_math(text: str) -> str | None:
    r"""Return the mathematics of a cell, without dollar signs, or None if it is not arithmetic.

    Examples
    --------
    >>> print(as_math("(0+0.25·1/3)/(8+0.25) = 1.01e-02"))
    \frac{0+0.25 \cdot \frac{1}{3}}{8+0.25} = 1.01 \times 10^{-2}
    >>> print(as_math("3/4 · N(0.6; μ=0.425, σ²=0.0069)"))
    \frac{3}{4} \cdot N(0.6; \mu=0.425, \sigma^2=0.0069)
    >>> as_math("1/4 of them") is None
    True
    """
    try:
        return _Reader(text).sides()
    except _NoArithmetic:
        return None


class _Reader:
    """Reads sums of products of quotients of powers, the quotient binding closer than the product."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        end = len(text.rstrip())
        at = 0
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise _NoArithmetic
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self.at = 0

    def sides(self) -> str:
        found = self.sum()
        while self.next_is("=", "≈"):
            sign = "=" if self.take() == "=" else r"\approx"
            found = f"{found} {sign} {self.sum()}"
        if self.at < len(self.tokens):
            raise _NoArithmetic
        return found

    def sum(self) -> str:
        found = self.take().replace("−", "-") if self.next_is("+", "-", "−") else ""
        found += self.product()
        while self.next_is("+", "-", "−"):
            found += self.take().replace("−", "-") + self.product()
        return found

    def product(self) -> str:
        found = self.quotient()
        while self.next_is("·"):
            self.take()
            found += rf" \cdot {self.quotient()}"
        return found

    def quotient(self) -> str:
        over, bare = self.power()
        if not self.next_is("/"):
            return over
        self.take()
        _, under = self.power()
        return rf"\frac{{{bare}}}{{{under}}}"

    def power(self) -> tuple[str, str]:
        """Return the text, and the same without brackets around all of it."""
        found, bare = self.atom()
        if self.next_is("^"):
            self.take()
            found = bare = f"{found}^{{{self.atom()[1]}}}"
        return found, bare

    def atom(self) -> tuple[str, str]:
        if self.next_is("("):
            self.take()
            inner = self.sum()
            if not self.next_is(")"):
                raise _NoArithmetic
            self.take()
            return rf"\left({inner}\right)", inner
        if self.at == len(self.tokens):
            raise _NoArithmetic
        kind, text = self.tokens[self.at]
        if kind == "sign" and text != "∞":
            raise _NoArithmetic
        self.at += 1
        found = _number(text) if kind == "number" else _density(text) if kind == "density" else r"\infty"
        return found, found

    def next_is(self, *signs: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] in [("sign", sign) for sign in signs]

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]


def _number(text: str) -> str:
    digits, _, power = text.partition("e")
    return rf"{digits} \times 10^{{{int(power)}}}" if power else digits


def _density(text: str) -> str:
    """Write N(0.6; μ=0.425, σ²=0.0069), with its letters and powers of ten."""
    name, _, rest = text.partition("(")
    inside, _, after = rest.partition(")")
    for letter, command in _LETTERS.items():
        inside = inside.replace(letter, command)
    inside = re.sub(r"\d[\d.]*e[+-]?\d+", lambda found: _number(found[0]), inside)
    width = re.fullmatch(r", (\d+)d", after)
    name = name if len(name) == 1 else rf"\mathrm{{{name}}}"
    return f"{name}({inside})" + (rf"_{{{width[1]}}}" if width else "")
