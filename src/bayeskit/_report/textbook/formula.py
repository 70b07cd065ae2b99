r"""Finds the mathematics in a line of a page and writes it as LaTeX or MathML.

A line is written once, as one types it: ``P(a | b) = (1/4) / (1/4 + 3/4)``. Here its formulas are told from the words
around them and read into a tree, so that LaTeX has ``\frac`` and ``\mid`` and HTML has fractions, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bayeskit._markup import Html, join, tag, text
from bayeskit._report.latex_text import escaped, math_width
from bayeskit._report.textbook.printed_number import Blank, Line, PrintedNumber

_FUNCTIONS = {"P", "p", "N", "R", "I", "L", "H", "E", "n", "g", "ln", "exp", "BIC", "det", "Beta", "Dir", "C"}
_OPERATORS = {"ln", "exp", "max", "min", "arg", "det"}
_UPRIGHT = {"ln", "exp", "max", "min", "arg", "det", "BIC", "AIC", "MLE", "MAP", "Beta", "Dir"}
_GREEK = {
    "α": "alpha", "β": "beta", "δ": "delta", "θ": "theta", "λ": "lambda", "μ": "mu", "π": "pi", "σ": "sigma",
    "Σ": "sum", "Π": "prod", "∂": "partial", "∞": "infty", "Δ": "Delta",
}  # fmt: skip
_PREFIX = "ΣΠ∂√"
_RELATIONS = {
    "=": "=", "≈": r"\approx", "∝": r"\propto", "<": "<", ">": ">", "≤": r"\leq", "≥": r"\geq", "→": r"\to",
    "←": r"\leftarrow", "≠": r"\neq", ":": ":",
}  # fmt: skip
_BINARY = {"+": "+", "−": "-", "-": "-", "±": r"\pm"}
_TOKEN = re.compile(
    r"(?P<blank> +)|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![A-Za-z]{2}))|(?P<size>\|[A-Za-z](?:_\w|_\{[^}]*\})?\|)"
    r"|(?P<name>(?<!['’])[A-Za-z](?:_\{[^}]*\}|_\w|\d)?(?![^\W²³])|[αβδθλμπσ](?:_\{[^}]*\}|_\w)?|(?:ln|exp|max|min|arg|det|BIC|AIC"
    r"|Beta|Dir|(?:MLE|MAP)(?= =))(?![A-Za-z])|[∞Δ])"
    r"|(?P<sign>[-+−±·×/^()|,;=≈∝<>≤≥≠→←²³ΣΠ∂√!…]|(?<= ):(?= ))|(?P<word>\w+|.)"
)
# Words that are one letter.
_WORDS = {"a", "A", "I"}
_BEFORE_SIGN = re.compile(r" ?[=←→<>≤≥≈+−·/^|)(,]")
_AFTER_SIGN = re.compile(r"\d$|(?:[=←→<>≤≥≈+−·/^|(]|[(|][^()]*,) ?$")


@dataclass(frozen=True)
class Token:
    """A piece of a line: a number, a name, a sign, a word, or something to be found."""

    kind: str
    text: str = ""
    found: PrintedNumber | Blank | None = None


@dataclass(frozen=True)
class Node:
    """A part of a formula: its kind, its own text, the parts that it is made of."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = field(default=())


def formulas(line: Line) -> list[str | Blank | Node]:
    """Return the words of a line and, between them, its formulas.

    Examples
    --------
    >>> [part if isinstance(part, str) else latex(part) for part in formulas(("Hence P(a | b) = 1/4.",))]
    ['Hence ', 'P(a \\\\mid b) = \\\\frac{1}{4}', '.']
    """
    made: list[str | Blank | Node] = []
    for is_math, tokens in _runs(list(_tokens(line))):
        if is_math:
            made.append(_Reader(tokens).whole())
            continue
        for token in tokens:
            found = token.found if isinstance(token.found, Blank) else token.text
            if made and isinstance(made[-1], str) and isinstance(found, str):
                made[-1] += found
            else:
                made.append(found)
    return made


def _tokens(line: Line) -> Iterator[Token]:
    for piece in line:
        if isinstance(piece, str):
            yield from _split(piece)
        elif isinstance(piece, Blank):
            yield Token("found", "", piece)
        elif piece.value is None and not re.fullmatch(r"[−-]?\d[\d./]*", piece.text):
            yield Token("word", piece.text)
        else:
            yield Token("found", piece.text, piece)


def _split(piece: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(piece):
        kind = found.lastgroup or "word"
        # "a" is a word, but not next to a sign.
        alone = kind == "name" and found[0] in _WORDS
        if alone and not (
            _BEFORE_SIGN.match(piece, found.end()) or _AFTER_SIGN.search(piece[: found.start()])
        ):
            kind = "word"
        yield Token(kind, found[0])


def _runs(tokens: list[Token]) -> Iterator[tuple[bool, list[Token]]]:
    """Return the tokens in pieces that are a formula, or that are none."""
    inside = _mathematical(tokens)
    start = 0
    for at in range(1, len(tokens) + 1):
        if at < len(tokens) and inside[at] == inside[start]:
            continue
        run, is_math = tokens[start:at], inside[start]
        start = at
        if not is_math:
            yield False, run
            continue
        # Marks and blanks at the ends belong to the sentence.
        first = next((i for i, t in enumerate(run) if not _is_mark(t)), len(run))
        last = next((i for i in range(len(run), first, -1) if not _is_mark(run[i - 1])), first)
        for math, part in (
            (False, run[:first]),
            (_worth(run[first:last]), run[first:last]),
            (False, run[last:]),
        ):
            if part:
                yield math, part


def _is_mark(token: Token) -> bool:
    return token.kind == "blank" or (token.kind == "sign" and token.text in ",;:!…")


def _worth(run: list[Token]) -> bool:
    """Whether it is a formula: a capital alone is the name of something."""
    if len(run) == 1 and run[0].kind == "name" and run[0].text.isupper():
        return False
    return any(token.kind in ("found", "number", "name", "size") for token in run)


def _mathematical(tokens: list[Token]) -> list[bool]:
    """Say of each token whether it may stand in a formula: no words, except in the brackets of P(…)."""
    inside = [token.kind != "word" for token in tokens]
    opened: list[tuple[int, bool]] = []
    for at, token in enumerate(tokens):
        if token.text == "(" and token.kind == "sign":
            called = at > 0 and tokens[at - 1].kind in ("name", "word") and tokens[at - 1].text in _FUNCTIONS
            opened.append((at, called or any(call for _, call in opened)))
        elif token.text == ")" and token.kind == "sign":
            if not opened:
                inside[at] = False
                continue
            start, called = opened.pop()
            if called:
                inside[start - 1 : at + 1] = [True] * (at + 2 - start)
            elif not all(inside[start : at + 1]):
                inside[start] = inside[at] = False
    for start, _ in opened:
        inside[start] = False
    return inside


class _Reader:
    """Reads lists of equations of sums of products; a quotient divides what stands side by side before it."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = list(tokens)
        self.at = 0

    def whole(self) -> Node:
        made = self.listed()
        while self.at < len(self.tokens):  # a sign that has no place, as it stands
            made = Node("row", "", (made, Node("sign", self.tokens[self.at].text)))
            self.at += 1
            if self.at < len(self.tokens):
                made = Node("row", "", (made, self.listed()))
        return made

    def listed(self) -> Node:
        parts = [self.equation()]
        while sign := self.sign(",", ";", "|"):
            parts += [Node("mark", sign), self.equation()]
        return _row(parts)

    def equation(self) -> Node:
        parts = [] if self.ahead() in _RELATIONS else [self.sum()]
        while sign := self.sign(*_RELATIONS):
            parts += [Node("relation", sign), self.sum()]
        return _row(parts)

    def sum(self) -> Node:
        parts = [Node("minus", "-")] if self.sign("−", "-") else []
        parts.append(self.product())
        while sign := self.sign(*_BINARY):
            parts += [Node("binary", sign), self.product()]
        return _row(parts)

    def product(self) -> Node:
        parts = [self.quotient()]
        while sign := self.sign("·", "×"):
            parts += [Node("dot", sign), self.quotient()]
        return _row(parts)

    def quotient(self) -> Node:
        over = self.side_by_side()
        while self.sign("/"):
            over = Node("fraction", "", (over, self.factor()))
        if self.begins():
            return _row([over, self.quotient()])
        return over

    def side_by_side(self) -> Node:
        parts = [self.factor()] if self.begins() else []
        while self.begins():
            parts.append(self.factor())
        return _row(parts)

    def factor(self) -> Node:
        made = self.atom()
        while sign := self.sign("^", "²", "³", "!"):
            if sign == "!":
                made = _row([made, Node("sign", "!")])
            else:
                power = self.atom() if sign == "^" else Node("number", {"²": "2", "³": "3"}[sign])
                made = Node("power", "", (made, _bare(power)))
        return made

    def atom(self) -> Node:
        if not self.begins():
            return Node("row")
        token = self.tokens[self.at]
        self.at += 1
        if isinstance(token.found, Blank):
            return Node("hole", str(token.found.number))
        if token.kind == "found":
            return _Reader(
                list(_split(token.text.replace("-", "−") if token.text[:1] == "-" else token.text))
            ).whole()
        if token.text == "(" and token.kind == "sign":
            return Node("group", "", (self.closed(),))
        if token.text in _PREFIX and token.kind == "sign":
            return (
                Node("root", "", (_bare(self.factor()),)) if token.text == "√" else self.prefixed(token.text)
            )
        if token.text in _FUNCTIONS and self.ahead(0) == "(":
            self.at += 1
            return Node("call", token.text, (self.closed(),))
        if token.kind == "word":
            return Node("words", self.words(token.text))
        return Node("sign" if token.kind == "sign" else token.kind, token.text)

    def prefixed(self, sign: str) -> Node:
        return _row([Node("big", sign), self.side_by_side()])

    def words(self, first: str) -> str:
        made = first
        while self.at < len(self.tokens):
            rest = [t for t in self.tokens[self.at : self.at + 2] if t.kind != "blank"]
            if not rest or rest[0].kind != "word":
                break
            blank = self.tokens[self.at].kind == "blank"
            made += (" " if blank else "") + rest[0].text
            self.at += 2 if blank else 1
        return made

    def closed(self) -> Node:
        made = self.listed() if self.ahead() != ")" else Node("row")
        if not self.sign(")"):  # brackets are paired before they are read; what is left is a slip of the page
            while self.at < len(self.tokens) and self.tokens[self.at].text != ")":
                made = _row([made, Node("sign", self.tokens[self.at].text)])
                self.at += 1
            self.at += 1
        return made

    def ahead(self, blanks: int = 1) -> str:
        """Return the next sign, or nothing."""
        at = self.at
        while blanks and at < len(self.tokens) and self.tokens[at].kind == "blank":
            at += 1
        return self.tokens[at].text if at < len(self.tokens) and self.tokens[at].kind == "sign" else ""

    def sign(self, *signs: str) -> str:
        """Take the next sign where it is one of these."""
        found = self.ahead()
        if not found or found not in signs:
            return ""
        while self.tokens[self.at].kind == "blank":
            self.at += 1
        self.at += 1
        return found

    def begins(self) -> bool:
        """Whether a factor follows; the blanks before it are skipped."""
        at = self.at
        while at < len(self.tokens) and self.tokens[at].kind == "blank":
            at += 1
        if at == len(self.tokens):
            return False
        token = self.tokens[at]
        if token.kind == "sign" and token.text not in "(ΣΠ∂√…":
            return False
        self.at = at
        return True


def _row(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Node("row", "", tuple(parts))


def _bare(node: Node) -> Node:
    return node.parts[0] if node.kind == "group" else node


# The widest fraction that a line of LaTeX holds, in points; a wider one is written with a stroke.
_WIDEST = 300.0


def latex(node: Node) -> str:
    r"""Write a formula as LaTeX, without dollars.

    Examples
    --------
    >>> print(*map(latex, formulas(("exp(−(x − μ)²/(2σ²)) / (√(2π) σ)",))))
    \frac{\exp(-\frac{(x-\mu)^{2}}{2\sigma^{2}})}{\sqrt{2 \pi} \sigma}
    """
    return _join(_latex(node))


def _join(pieces: list[str]) -> str:
    """Set pieces side by side; a command must not run into a letter."""
    made = "".join(pieces[:1])
    for before, this in pairwise(pieces):
        made += " " + this if re.search(r"\\[A-Za-z]+$", before) and re.match(r"[A-Za-z]", this) else this
    return made


def _latex(node: Node) -> list[str]:
    parts = [_join(_latex(part)) for part in node.parts]
    match node.kind:
        case "row":
            return [
                " " + p if i and _apart(node.parts[i - 1], node.parts[i]) else p for i, p in enumerate(parts)
            ]
        case "number":
            digits, _, power = node.text.partition("e")
            return [rf"{digits} \times 10^{{{int(power)}}}" if power else digits]
        case "name":
            return [_name_latex(node.text)]
        case "size":
            return [f"|{_name_latex(node.text[1:-1])}|"]
        case "hole":
            return [blank_latex(node.text)]
        case "group":
            return [rf"\left({parts[0]}\right)" if _tall(node.parts[0]) else f"({parts[0]})"]
        case "call":
            return [f"{_name_latex(node.text)}({parts[0]})"]
        case "fraction":
            over, under = (_join(_latex(_bare(part))) for part in node.parts)
            made = rf"\frac{{{over}}}{{{under}}}"
            return [made if math_width(made) < _WIDEST else f"{parts[0]} / {parts[1]}"]
        case "power":
            return [f"{parts[0]}^{{{parts[1]}}}"]
        case "root":
            return [rf"\sqrt{{{parts[0]}}}"]
        case "words":
            return [rf"\mbox{{{escaped(node.text)}}}"]
    return [_sign_latex(node)]


def _sign_latex(node: Node) -> str:
    if node.kind == "mark":
        return r" \mid " if node.text == "|" else f"{node.text} "
    if node.kind == "relation":
        return f" {_RELATIONS[node.text]} "
    if node.kind == "dot":
        return r" \cdot " if node.text == "·" else r" \times "
    return _BINARY.get(node.text) or (rf"\{_GREEK[node.text]}" if node.text in _GREEK else escaped(node.text))


def _apart(before: Node, this: Node) -> bool:
    return all(
        part.kind in ("name", "call", "fraction", "words", "row", "root", "number", "big")
        for part in (before, this)
    )


def _tall(node: Node) -> bool:
    return node.kind == "fraction" or any(map(_tall, node.parts))


def _name_latex(name: str) -> str:
    base, _, script = name.partition("_")
    if base in _UPRIGHT:
        return rf"\mathrm{{{base}}}" if base[0].isupper() else rf"\{base}"
    if not script and len(base) == 2:
        base, script = base[0], base[1]
    made = rf"\{_GREEK[base]}" if base in _GREEK else base
    return rf"{made}_{{{script.strip('{}')}}}" if script else made


def blank_latex(number: str) -> str:
    """Write a blank, of one width for all of them."""
    return rf"\underline{{\hspace{{1.8em}}}}_{{[{number}]}}"


def line_latex(line: Line) -> str:
    r"""Write a line as LaTeX: words, and formulas between dollars.

    Examples
    --------
    >>> print(line_latex(("50% have P(yes | x) = 1/4",)))
    $50$\% have $P(\mbox{yes} \mid x) = \frac{1}{4}$
    """
    return _written(
        line, lambda node: f"${latex(node)}$", lambda hole: f"${blank_latex(str(hole.number))}$", escaped
    )


def line_html(line: Line) -> Html:
    """Write a line as HTML: words, and formulas as MathML.

    Examples
    --------
    >>> line_html(("It is 1/4.",))
    'It is <span class="kept"><math><mfrac><mn>1</mn><mn>4</mn></mfrac></math>.</span>'
    """
    made = _written(
        line,
        lambda node: tag("math", _mathml(node)),
        lambda hole: tag("span", f"[{hole.number}]", cls="blank"),
        text,
    )
    return Html(_FORMULA_AND_SIGN.sub(lambda found: tag("span", Html(found[0]), cls="kept"), made))


# A browser would begin a line with the sign that follows a formula.
_FORMULA_AND_SIGN = re.compile(
    r"<math>(?:(?!</math>).)*</math>[,.;:!?)\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f]+"
)


def _written(
    line: Line,
    of_math: Callable[[Node], str],
    of_blank: Callable[[Blank], str],
    of_words: Callable[[str], str],
) -> str:
    made = []
    for part in formulas(line):
        made.append(
            of_math(part)
            if isinstance(part, Node)
            else of_blank(part)
            if isinstance(part, Blank)
            else of_words(part)
        )
    return "".join(made)


def _mathml(node: Node) -> Html:
    parts = [_mathml(part) for part in node.parts]
    match node.kind:
        case "row":
            return parts[0] if len(parts) == 1 else tag("mrow", *_with_thin_spaces(node.parts, parts))
        case "number":
            digits, _, power = node.text.partition("e")
            ten = tag("msup", tag("mn", "10"), tag("mn", str(int(power or 0)).replace("-", "−")))
            return tag("mrow", tag("mn", digits), tag("mo", "×"), ten) if power else tag("mn", digits)
        case "name":
            return _name_mathml(node.text)
        case "size":
            return tag("mrow", tag("mo", "|"), _name_mathml(node.text[1:-1]), tag("mo", "|"))
        case "hole":
            return tag("mtext", f"[{node.text}]", cls="blank")
        case "group":
            return tag("mrow", tag("mo", "("), *parts, tag("mo", ")"))
        case "call":
            return tag("mrow", _name_mathml(node.text), tag("mo", "("), *parts, tag("mo", ")"))
        case "fraction":
            return tag("mfrac", *(_mathml(_bare(part)) for part in node.parts))
        case "power":
            return tag("msup", *parts)
        case "root":
            return tag("msqrt", *parts)
        case "words":
            return tag("mtext", node.text)
    if node.kind == "mark" and node.text == "|":
        return tag("mo", "|", attributes='lspace="0.3em" rspace="0.3em"')
    return tag("mo", {"Σ": "∑", "Π": "∏", "-": "−"}.get(node.text, node.text))


def _with_thin_spaces(nodes: Sequence[Node], parts: Sequence[Html]) -> Iterator[Html]:
    """Yield the parts of a row with the thin spaces of TeX: 8 ln θ, but ln(1 − θ) and − ln θ."""
    for i, (node, part) in enumerate(zip(nodes, parts, strict=True)):
        before = nodes[i - 1] if i else None
        if before is not None and _apart(before, node):
            named = before.kind == "name" and before.text in _OPERATORS
            if named or (node.kind in ("name", "call") and node.text in _OPERATORS):
                yield tag("mspace", attributes='width="0.17em"')
        yield part


def _name_mathml(name: str) -> Html:
    base, _, script = name.partition("_")
    if not script and len(base) == 2 and base not in _UPRIGHT:
        base, script = base[0], base[1]
    made = tag("mi", base)
    return tag("msub", made, join([tag("mi", script.strip("{}"))])) if script else made
