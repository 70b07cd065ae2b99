r"""Pages as LaTeX: tables to be pasted into a document or compiled alone, every label escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.report.latex_math import as_math
from bayeskit.report.page import Page, page_of

if TYPE_CHECKING:
    from bayeskit.report.explanation import Explanation

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi", "Ψ": "Psi",
    "Ω": "Omega",
}  # fmt: skip
_SIGNS = {
    "·": "cdot",
    "×": "times",
    "∏": "prod",
    "∑": "sum",
    "∞": "infty",
    "→": "to",
    "≈": "approx",
    "∝": "propto",
}

# What LaTeX would take for a command, and what its plain fonts do not have. A line that begins with [ or * would be
# read as an argument of the line break before it.
_ESCAPES = {
    **{letter: rf"$\{name}$" for letter, name in (*_GREEK.items(), *_SIGNS.items())},
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
    "²": "$^2$",
    "\n": " ",
    "\r": " ",
}

# Room for fractions in the lines of a table.
_STRETCH = r"\renewcommand{\arraystretch}{1.6}"

# Chinese, Japanese and Korean characters begin here.
_FIRST_WIDE = 0x2E80


def escaped(text: object) -> str:
    r"""Return a text as LaTeX prints it.

    Examples
    --------
    >>> print(escaped("50% of x_1 & [σ²]"))
    50\% of x\_1 \& {[}$\sigma$$^2$]
    """
    return "".join(_ESCAPES.get(character, character) for character in str(text))


def as_latex(page: Page, first: int = 2) -> str:
    r"""Return the table of a page; what is arithmetic in the cells becomes mathematics.

    Parameters
    ----------
    page : Page
    first : int
        The first column that may hold arithmetic; those before it are names and values.

    Examples
    --------
    >>> page = Page("y is a", ("", "value", "a"), (("x_1", "1", "(3+1)/(8+2) = 0.4"),), (), ())
    >>> print(as_latex(page))
    \begin{table}[htbp]
    \centering
    \renewcommand{\arraystretch}{1.6}
    \caption{y is a}
    \begin{tabular}{lll}
    \hline
     & value & a \\
    \hline
    x\_1 & 1 & $\frac{3+1}{8+2} = 0.4$ \\
    \hline
    \end{tabular}
    \end{table}
    """
    top = [r"\begin{table}[htbp]", r"\centering", _STRETCH, rf"\caption{{{escaped(page.title)}}}"]
    return "\n".join([*top, *_tabular(page, first), r"\end{table}"])


def in_text(page: Page, first: int = 2) -> str:
    """Return the table where it stands: a document has room for only so many that float."""
    top = [r"\begin{center}", _STRETCH, rf"{escaped(page.title)}\par"]
    return "\n".join([*top, *_tabular(page, first), r"\end{center}"])


def _tabular(page: Page, first: int) -> list[str]:
    lines = [rf"\begin{{tabular}}{{{'l' * len(page.header)}}}", r"\hline"]
    lines += [_row(page.header, len(page.header)), r"\hline"]
    lines += [*(_row(cells, first) for cells in page.rows), r"\hline"]
    if page.totals:
        lines += [*(_row(cells, first) for cells in page.totals), r"\hline"]
    return [*lines, r"\end{tabular}"]


def _row(cells: tuple[str, ...], first: int) -> str:
    indent = r"\quad " if cells[0].startswith("  ") else ""
    parts = (escaped(c.strip()) if j < first else cell_latex(c) for j, c in enumerate(cells))
    return indent + " & ".join(parts) + r" \\"


def cell_latex(text: str) -> str:
    """Return a cell as mathematics where it is arithmetic, else as text."""
    found = as_math(text) if text else None
    return escaped(text) if found is None else f"${found}$"


def notes_latex(notes: tuple[str, ...]) -> str:
    """Return the notes under a table, one paragraph each."""
    return "\n".join(rf"\par\noindent{{\small {escaped(note)}}}" for note in notes)


def document_latex(body: str) -> str:
    """Return a whole document; one with Chinese in it is of the class ctexart, for XeLaTeX or LuaLaTeX.

    Examples
    --------
    >>> document_latex("瓜").splitlines()[0], document_latex("melon").splitlines()[0]
    ('\\\\documentclass{ctexart}', '\\\\documentclass{article}')
    """
    wide = any(ord(character) >= _FIRST_WIDE for character in body)
    kind = "ctexart" if wide else "article"
    return "\n".join([rf"\documentclass{{{kind}}}", r"\begin{document}", body, r"\end{document}", ""])


def explanation_latex(explanation: Explanation, document: bool = False) -> str:
    """Return an explanation: its table, the posterior as a fraction, the notes."""
    e = explanation
    page = page_of(e)
    parts = [as_latex(page)]
    if not e.impossible and len(e.classes) > 1:
        from bayeskit.report.fractions import magnitude

        best = e.ranking[0]
        joint, evidence = as_math(magnitude(e.log_joint[best])), as_math(magnitude(e.log_evidence))
        asked = rf"P(\mbox{{{escaped(e.target)}}} = \mbox{{{escaped(e.prediction)}}} \mid x)"
        posterior = as_math(magnitude(e.log_joint[best] - e.log_evidence))
        parts.append(rf"\[ {asked} = \frac{{{joint}}}{{{evidence}}} = {posterior} \]")
    body = "\n".join([*parts, notes_latex(page.notes)])
    return document_latex(body) if document else body
