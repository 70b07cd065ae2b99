"""Text and arithmetic for LaTeX: escaped, and (3+1)/(8+2) as a fraction.

A character that LaTeX cannot print has a visible replacement. Widths of texts and formulas are in points at a font size
of ten points, accurate enough to choose a layout.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from bayeskit._display_table import display_width
from bayeskit._visible import visible

# Widths of Computer Modern.
_NARROW, _BROAD = (
    frozenset("ijlftI.,;:'!|()[] "),
    frozenset("mwMW@%&ABCDEGHKNOPQRUVXY#<>½¼¾√≤≥≠±×÷→←≈∞∝ΣΠΦΨΩ−"),
)
_SIGN_WIDTHS = {
    r"\cdot": 7.2,
    r"\times": 12.2,
    r"\approx": 13.4,
    r"\infty": 10.0,
    "=": 13.4,
    "+": 12.2,
    "-": 12.2,
}
_SMALLER = 0.72
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\s|.")


@lru_cache(maxsize=4096)
def text_width(text: str) -> float:
    """Return the width of a text.

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
    r"""Return the width of a formula as :func:`~bayeskit._report.latex_text.as_math` writes it.

    A fraction is as wide as the longer of its parts, in a smaller font.

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
            found += _SIGN_WIDTHS.get(token, 6.0 if token.startswith("\\") else _letter(token))
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


_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "ς": "varsigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi",
    "Ψ": "Psi", "Ω": "Omega", "µ": "mu",
}  # fmt: skip
# Greek letters that look like Latin ones have no command of their own.
_TWINS = dict(zip("οΑΒΕΖΗΙΚΜΝΟΡΤΧ", "oABEZHIKMNOPTX", strict=True))
_SIGNS = {
    "·": "cdot", "×": "times", "÷": "div", "±": "pm", "∏": "prod", "∑": "sum", "∞": "infty", "√": "surd",
    "→": "to", "←": "leftarrow", "↔": "leftrightarrow", "⇒": "Rightarrow", "≈": "approx", "∝": "propto",
    "≤": "leq", "≥": "geq", "≠": "neq", "∈": "in", "∩": "cap", "∪": "cup", "⊥": "perp", "∅": "emptyset",
}  # fmt: skip

# Characters that LaTeX would read as commands, or that its plain fonts lack. At the start of a line, [ or * would be
# read as an argument of the line break before it.
_ESCAPES = {
    **{letter: rf"$\{name}$" for letter, name in (*_GREEK.items(), *_SIGNS.items())},
    **_TWINS,
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "*": "{*}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "²": "$^2$",
    "\n": " ",
    "\r": " ",
    "\t": " ",
}
_ACCENTS = {"\u0301": "'", "\u0308": '"', "\u0300": "`", "\u0303": "~"}
# LaTeX would turn these pairs into one character: a dash, a quotation mark.
_LIGATURES = ("--", "''", "``", "?`", "!`", ",,")
# Characters other than letters that the fonts of every LaTeX have.
_HAD = frozenset("¡¿§¶©®°ªº¹³¼½¾¢£¥€¤¦¨¬¯´¸“”‘’‚„†‡•‰‹›«»™")
# Chinese, Japanese and Korean characters begin here; pictures follow.
_FIRST_WIDE, _FIRST_PICTURE = 0x2E80, 0x1F000
_LAST_LATIN = 0x17F


def escaped(text: object) -> str:
    r"""Return a text as LaTeX prints it.

    A character that LaTeX's fonts lack, such as an emoji, is printed as its code point.

    Examples
    --------
    >>> print(escaped("50% of x_1 & [σ²]"))
    50\% of x\_1 \& {[}$\sigma$$^2$]
    >>> print(escaped("😀"))
    {\scriptsize\ttfamily U+1F600}
    """
    return "".join(escaped_signs(text))


def escaped_signs(text: object) -> list[str]:
    """Return the same as one text for each character, so that a line may be broken between them."""
    found: list[str] = []
    before = ""
    for character in unicodedata.normalize("NFC", str(text)):
        made = _ESCAPES.get(character)
        if made is None:
            made = _unlisted(character)
        found.append("{}" + made if before + character in _LIGATURES else made)
        before = character
    return found


def is_wide(text: str) -> bool:
    """Whether there is Chinese, Japanese or Korean in a text."""
    return any(_FIRST_WIDE <= ord(c) < _FIRST_PICTURE or ord(c) >= 0x20000 for c in text if _is_letter(c))


def is_foreign(text: str) -> bool:
    """Whether there are letters of other scripts, such as Cyrillic, which LaTeX's own fonts do not have."""
    return any(_LAST_LATIN < ord(c) < _FIRST_WIDE and _is_letter(c) for c in text)


def is_accented(text: str) -> bool:
    """Whether there is more than ASCII among the Latin letters and signs."""
    return any(0x7F < ord(c) <= _LAST_LATIN or c in _HAD for c in text)


def _unlisted(character: str) -> str:
    code = ord(character)
    if 0x20 <= code < 0x7F or 0xA0 < code <= _LAST_LATIN or character in _HAD:
        return character
    base, *marks = list(unicodedata.normalize("NFD", character))
    if marks and base in _ESCAPES and marks[0] in _ACCENTS:
        return rf"\{_ACCENTS[marks[0]]}{{{_ESCAPES[base]}}}"
    kind = unicodedata.category(character)
    if kind == "Zs":
        return " "
    # Characters that join others or select a variant are ignored. Those that change the direction of text are shown.
    if (kind == "Cf" and visible(character) == character) or 0xFE00 <= code <= 0xFE0F:
        return ""
    if _is_letter(character):
        return character
    return rf"{{\scriptsize\ttfamily U+{code:04X}}}"


def _is_letter(character: str) -> bool:
    """Whether it belongs to a script: full-width signs of Chinese do, emoji and other pictures do not."""
    code = ord(character)
    if 0x3000 <= code <= 0x303F or 0xFF00 <= code <= 0xFFEF:
        return True
    return unicodedata.category(character)[0] in "LMN"


_ARITHMETIC = re.compile(
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
            found = _ARITHMETIC.match(text, at)
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
