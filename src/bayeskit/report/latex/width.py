r"""About how wide LaTeX prints a text or a formula, in points at ten points: enough to choose a layout."""

from __future__ import annotations

import re
from functools import lru_cache

from bayeskit.report.width import display_width

# Widths of Computer Modern.
_NARROW, _BROAD = (
    frozenset("ijlftI.,;:'!|()[] "),
    frozenset("mwMW@%&ABCDEGHKNOPQRUVXY#<>½¼¾√≤≥≠±×÷→←≈∞∝ΣΠΦΨΩ−"),
)
_SIGNS = {r"\cdot": 7.2, r"\times": 12.2, r"\approx": 13.4, r"\infty": 10.0, "=": 13.4, "+": 12.2, "-": 12.2}
_SMALLER = 0.72
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\s|.")


@lru_cache(maxsize=4096)
def text_width(text: str) -> float:
    """Return the width of words.

    Examples
    --------
    >>> text_width("瓜"), 20 < text_width("melon") < 30
    (10.0, True)
    """
    return sum(map(_letter, text))


@lru_cache(maxsize=4096)
def _letter(letter: str) -> float:
    if display_width(letter) == 2:
        return 10.0 if ord(letter) < 0x1F000 else 28.0  # printed as U+1F600, small
    return 3.4 if letter in _NARROW else 7.8 if letter in _BROAD else 5.3


@lru_cache(maxsize=4096)  # a page measures each of its formulas under several layouts
def math_width(formula: str) -> float:
    r"""Return the width of a formula as :func:`~bayeskit.report.latex.math.as_math` writes it.

    A fraction is as wide as the longer of its parts, in smaller type.

    Examples
    --------
    >>> math_width(r"\frac{3+1}{8+2}") < math_width("3+1") < math_width(r"\frac{3+1}{8+2} = 0.4")
    True
    """
    tokens = [token for token in _TOKEN.findall(formula) if not token.isspace()]
    return _line(tokens, 0, len(tokens))


def _line(tokens: list[str], at: int, end: int) -> float:
    found = 0.0
    while at < end:
        token = tokens[at]
        at += 1
        if token == r"\frac":
            over, at = _group(tokens, at)
            under, at = _group(tokens, at)
            found += _SMALLER * max(over, under) + 2.4
        elif token in ("^", "_"):
            script, at = _group(tokens, at)
            found += _SMALLER * script
        elif token == r"\mathrm":
            script, at = _group(tokens, at)
            found += script
        elif token in (r"\left", r"\right"):
            found += 1.0
        else:
            found += _SIGNS.get(token, 6.0 if token.startswith("\\") else _letter(token))
    return found


def _group(tokens: list[str], at: int) -> tuple[float, int]:
    """Return the width of what is in braces, or of one token, and where it ends."""
    if at == len(tokens) or tokens[at] != "{":
        return _line(tokens, at, min(at + 1, len(tokens))), at + 1
    depth, start = 0, at
    while at < len(tokens):
        depth += (tokens[at] == "{") - (tokens[at] == "}")
        at += 1
        if depth == 0:
            break
    return _line(tokens, start + 1, at - 1), at
