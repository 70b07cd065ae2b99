"""bayes: Bayes' rule by hand, with exact fractions, and the unit square as text and as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit._cli.options import Common, FileUse
from bayeskit._display_table import display_width, padded
from bayeskit._messages import WordList, did_you_mean, text_in
from bayeskit.errors import DataError, SettingError

if TYPE_CHECKING:
    from bayeskit._report.scene import Scene

WORDS = WordList(
    {
        "class": "class",
        "prior": "prior P(c)",
        "likelihood": "likelihood P(x | c)",
        "product": "product P(c)·P(x | c)",
        "posterior": "posterior P(c | x)",
        "total": "total probability  P(x) = {sum} = {value}",
        "square": "The unit square: widths are priors, filled heights are likelihoods, filled areas are products. "
        "The posterior is a share of the filled area.",
        "scaled": "(Some likelihoods are densities above 1, so heights are drawn relative to the largest.)",
        "drawn": "Drawn to {path}.",
    }
)


def bayes(
    prior: Annotated[
        str, typer.Option("--prior", metavar="C=P,...", help="Such as spam=0.7,ham=0.3 or a=1/3,b=2/3.")
    ],
    likelihood: Annotated[
        str, typer.Option("--likelihood", metavar="C=P,...", help="P(x | c) of each class; densities too.")
    ],
    common: Common,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="Draw the unit square."), FileUse.written
    ] = None,
) -> None:
    """Bayes' rule by hand: a prior, a likelihood, a posterior.

    The products and the total probability, as fractions if these are short, and a unit square that shows them.
    """
    from bayeskit._cli.output import console, opened_text, print_json, show, table

    rule = by_hand(prior, likelihood)
    if svg is not None:
        picture = as_svg(rule, common.lang.value)
        with opened_text(svg) as stream:
            stream.write(picture + "\n")
    if common.as_json:
        print_json(rule.to_dict())
        return
    rows = [
        (
            name,
            *map(
                fraction_text,
                (rule.prior[name], rule.likelihood[name], rule.product[name], rule.posterior[name]),
            ),
        )
        for name in rule.prior
    ]
    headers = [common.say(WORDS[key]) for key in ("class", "prior", "likelihood", "product", "posterior")]
    console().print(table(headers, rows, 1))
    terms = [f"{_plain(rule.prior[name])}·{_plain(rule.likelihood[name])}" for name in rule.prior]
    show(common.say(WORDS["total"], sum=" + ".join(terms), value=fraction_text(rule.total)))
    show("\n" + common.say(WORDS["square"]))
    show(as_text(rule))
    if rule.tallest > 1:
        show(common.say(WORDS["scaled"]))
    if svg is not None:
        show(common.say(WORDS["drawn"], path=svg))


def _plain(value: Fraction) -> str:
    """Write a number in its shortest form: 0.7, 1/3."""
    number = float(value)
    return f"{number:g}" if Fraction(f"{number:g}") == value else str(value)


# A fraction with a larger denominator is harder to read than its decimal.
LARGEST_DENOMINATOR = 9_999
# What people leave when they round: 0.333 + 0.333 + 0.333 is not meant to be one, 0.3333333333 three times is.
TOLERANCE = Fraction(1, 10**9)

Shares = Mapping[str, Fraction]


@dataclass(frozen=True)
class Rule:
    """A prior, a likelihood, and the posterior."""

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
        """Return plain values: each number, and its fraction."""

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
                "{option} has no {absent!r}. {hint} Name the same classes twice.",
                option=option,
                absent=absent,
                hint=did_you_mean(absent, have),
            )
    total = sum(p.values(), Fraction(0))
    if abs(total - 1) > TOLERANCE:
        raise DataError(
            "--prior sums to {total:g}, not to 1. Correct it, or divide each number by the sum.",
            total=float(total),
        )
    rule = Rule(p, {name: f[name] for name in p})
    if not rule.total:
        raise DataError("P(x) is 0: no class can produce what was observed, so there is no posterior.")
    return rule


def fraction_text(value: Fraction) -> str:
    """Write a number as a decimal, after the fraction if that is short.

    Examples
    --------
    >>> [fraction_text(Fraction(*pair)) for pair in ((210, 211), (1, 2), (1, 1), (1, 10**6 + 3))]
    ['210/211 = 0.9953', '1/2 = 0.5', '1', '1e-06']
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
            raise SettingError(
                "{option}: {part!r} is not CLASS=NUMBER, such as spam=0.7.", option=option, part=part
            )
        if name in found:
            raise SettingError(
                "{option} names {name!r} twice. Name each class once.", option=option, name=name
            )
        try:
            value = Fraction(number.strip())
        except (ValueError, ZeroDivisionError):
            raise SettingError(
                "{option}: {number!r} is not a number. Write 0.7 or 7/10.", option=option, number=number
            ) from None
        if value < 0:
            raise SettingError(
                "{option}: {name!r} has {number}, and no probability is negative.",
                option=option,
                name=name,
                number=number.strip(),
            )
        found[name] = value
    return found


# The size of the picture in a terminal, where a cell is about twice as high as it is wide.
COLUMNS, LINES = 60, 15
# The size of the drawing, in pixels.
SIDE, LEFT, TOP, FOOT = 420, 20, 30, 70
_COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b7791f", "#c53030")
_FILLS = "█▓▒░"


def widths_of(rule: Rule, columns: int) -> list[int]:
    """Divide a width in proportion to the priors. The largest remainders are rounded up, so the sum is exact.

    Examples
    --------
    >>> from bayeskit._cli.commands.bayes import by_hand
    >>> widths_of(by_hand("a=1/3,b=1/3,c=1/3", "a=1,b=1,c=1"), 10)
    [4, 3, 3]
    """
    total = sum(rule.prior.values())
    exact = [p / total * columns for p in rule.prior.values()]
    found = [int(width) for width in exact]
    order = sorted(range(len(exact)), key=lambda i: (found[i] - exact[i], i))
    for i in order[: columns - sum(found)]:
        found[i] += 1
    return found


def as_text(rule: Rule, columns: int = COLUMNS, lines: int = LINES) -> str:
    """Draw the square with characters.

    Examples
    --------
    >>> from bayeskit._cli.commands.bayes import by_hand
    >>> print(as_text(by_hand("a=0.5,b=0.5", "a=1,b=0.5"), 8, 2))
    ┌────────┐
    │████    │
    │████▓▓▓▓│
    └────────┘
     a   b
    """
    widths = widths_of(rule, columns)
    high = max(rule.tallest, Fraction(1))
    heights = [round(float(f / high) * lines) for f in rule.likelihood.values()]
    rows = []
    for line in range(lines, 0, -1):
        cells = (
            _filled(i, height - line, line == 1 and f > 0) * width
            for i, (width, height, f) in enumerate(
                zip(widths, heights, rule.likelihood.values(), strict=True)
            )
        )
        rows.append(f"│{''.join(cells)}│")
    labels, at = "", 0
    for name, width in zip(rule.prior, widths, strict=True):
        if width:
            name = name if display_width(name) < width else name[: max(1, width // 2 - 1)]
            labels = padded(labels, at) + name
        at += width
    edge = "─" * columns
    return "\n".join([f"┌{edge}┐", *rows, f"└{edge}┘", f" {labels}".rstrip()])


def _filled(i: int, above: int, last: bool) -> str:
    """Return one cell, filled up to a height; less than half a cell is drawn as a thin line."""
    if above >= 0:
        return _FILLS[i % len(_FILLS)]
    return "▁" if last else " "


def as_svg(rule: Rule, lang: str = "en") -> str:
    """Draw the square as SVG: a column for each class, filled up to its likelihood."""
    from bayeskit._report.scene import Style
    from bayeskit._report.scene import as_svg as write_svg

    colours = {f"class-{i}": Style(fill=(each, each)) for i, each in enumerate(_COLOURS)}
    return write_svg(square_scene(rule, lang), colours)


def square_scene(rule: Rule, lang: str = "en") -> Scene:
    """Describe the square: the columns, their frame and axes, and the posteriors in a list beside it."""
    from bayeskit._report.scene import Group, Line, Rectangle, Scene, Words, shortened

    total, high = float(sum(rule.prior.values())), float(max(rule.tallest, Fraction(1)))
    x, base, side = float(LEFT), TOP + SIDE, LEFT + SIDE + 40
    groups = []
    for i, (name, p) in enumerate(rule.prior.items()):
        width, height = SIDE * float(p) / total, SIDE * float(rule.likelihood[name]) / high
        style, y = f"class-{i % len(_COLOURS)}", TOP + 14 + 22 * i
        text = f"{name}: P(c | x) = {fraction_text(rule.posterior[name])}"
        marks: list[Rectangle | Words | Line] = [
            Rectangle(x, base - height, width, height, style),
            Line((("M", ((x, TOP),)), ("L", ((x, base),))), "arc"),
            # Posteriors are in a list, because a column may be too narrow for a word.
            Rectangle(side, y - 11, 12, 12, style),
            Words(side + 18, y, text, "state"),
        ]
        if width >= 24:
            marks.append(Words(x + width / 2, base + 18, shortened(name, width, 13), "state", "middle"))
        groups.append(Group(text, tuple(marks)))
        x += width
    corners = ((LEFT, TOP), (LEFT + SIDE, TOP), (LEFT + SIDE, base), (LEFT, base))
    frame = Line((("M", corners[:1]), *(("L", (corner,)) for corner in corners[1:]), ("Z", ())), "arc")
    across, up = text_in(lang, "prior P(c)"), text_in(lang, "likelihood P(x | c)")
    axes = (
        frame,
        Words(LEFT, TOP - 10, f"↑ {up}", "state"),
        Words(LEFT + SIDE / 2, base + 42, across, "state", "middle"),
        Words(LEFT, base + 62, f"P(x) = {fraction_text(rule.total)}", "state"),
    )
    size = LEFT + SIDE + 380, TOP + max(SIDE, 22 * len(rule.prior)) + FOOT
    title = text_in(lang, "Bayes' rule in the unit square")
    return Scene(*size, title, "", (*groups, Group(title, axes)))
