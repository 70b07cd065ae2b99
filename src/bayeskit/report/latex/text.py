r"""Words as LaTeX prints them: nothing in a label is a command, and no character is lost without a trace."""

from __future__ import annotations

import unicodedata

from bayeskit.visible import visible

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "ς": "varsigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi",
    "Ψ": "Psi", "Ω": "Omega", "µ": "mu",
}  # fmt: skip
# Greek letters that look like Latin ones have no command of their own.
_TWINS = dict(zip("οΑΒΕΖΗΙΚΜΝΟΡΤΧ", "oABEZHIKMNOPTX"))
_SIGNS = {
    "·": "cdot", "×": "times", "÷": "div", "±": "pm", "∏": "prod", "∑": "sum", "∞": "infty", "√": "surd",
    "→": "to", "←": "leftarrow", "↔": "leftrightarrow", "⇒": "Rightarrow", "≈": "approx", "∝": "propto",
    "≤": "leq", "≥": "geq", "≠": "neq", "∈": "in", "∩": "cap", "∪": "cup", "⊥": "perp", "∅": "emptyset",
}  # fmt: skip

# What LaTeX would take for a command, and what its plain fonts do not have. A line that begins with [ or * would be
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
# Two of these side by side would become one sign: a dash, a quotation mark.
_LIGATURES = ("--", "''", "``", "?`", "!`", ",,")
# Signs that fonts of every LaTeX have though they are no letters.
_HAD = frozenset("¡¿§¶©®°ªº¹³¼½¾¢£¥€¤¦¨¬¯´¸“”‘’‚„†‡•‰‹›«»™")
# Chinese, Japanese and Korean characters begin here; pictures follow.
_FIRST_WIDE, _FIRST_PICTURE = 0x2E80, 0x1F000
_LAST_LATIN = 0x17F


def escaped(text: object) -> str:
    r"""Return a text as LaTeX prints it.

    A sign that no font of LaTeX has, such as an emoji, is printed as its number.

    Examples
    --------
    >>> print(escaped("50% of x_1 & [σ²]"))
    50\% of x\_1 \& {[}$\sigma$$^2$]
    >>> print(escaped("😀"))
    {\scriptsize\ttfamily U+1F600}
    """
    return "".join(escaped_signs(text))


def escaped_signs(text: object) -> list[str]:
    """Return the same, a text for each character, so that a line may be broken between them."""
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
    # Joins signs, or says how they look; what turns the direction of writing is shown.
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
