"""Three coins: EM by hand from two starts."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from bayeskit._messages import text_in
from bayeskit._report.textbook.printed_number import Line, bracketed, decimal, exact, joined, line, word
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

THROWS = (1, 1, 0, 1, 0, 0, 1, 0, 1, 1)
Coins = tuple[Fraction, Fraction, Fraction]
STARTS: dict[str, Coins] = {
    "(0.4, 0.6, 0.7)": (Fraction(2, 5), Fraction(3, 5), Fraction(7, 10)),
    "(0.5, 0.5, 0.5)": (Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)),
}
PRINTED = {
    "(0.4, 0.6, 0.7)": ("76/187", "51/95", "119/185"),
    "(0.5, 0.5, 0.5)": ("1/2", "3/5", "3/5"),
}


def shares(coins: Coins) -> tuple[Fraction, Fraction]:
    """The E-step: the share of coin B in a throw that shows heads, and in one that shows tails.

    Examples
    --------
    >>> shares(STARTS["(0.4, 0.6, 0.7)"])
    (Fraction(4, 11), Fraction(8, 17))
    """
    pi, p, q = coins
    heads, tails = pi * p, pi * (1 - p)
    return heads / (heads + (1 - pi) * q), tails / (tails + (1 - pi) * (1 - q))


def step(coins: Coins) -> Coins:
    """One step: shares, then counting with them.

    Examples
    --------
    >>> step(STARTS["(0.4, 0.6, 0.7)"])
    (Fraction(76, 187), Fraction(51, 95), Fraction(119, 185))
    """
    heads, tails = shares(coins)
    ones, n = sum(THROWS), len(THROWS)
    b = ones * heads + (n - ones) * tails
    return b / n, ones * heads / b, ones * (1 - heads) / (n - b)


def page(lang: str) -> Sheet:
    """Return the page in a language."""
    say = partial(text_in, lang)
    ends = {name: step(start) for name, start in STARTS.items()}
    working: list[Line | Grid] = [
        ("E:  μ = P(B | y) = π P(y | B) / (π P(y | B) + (1 − π) P(y | C))",),
        ("M:  π = Σ μ / n,  p = (Σ μ y) / (Σ μ),  q = (Σ (1 − μ) y) / (Σ (1 − μ))",),
    ]
    for name, start in STARTS.items():
        working.append((say("From (π, p, q) = {name}:").format(name=name),))
        working += [_expected(start, say("heads"), say("tails")), *_counted(start)]
        heads = ends[name][0] * ends[name][1] + (1 - ends[name][0]) * ends[name][2]
        working.append(
            line(
                say(
                    "Now P(y=1) = π p + (1 − π) q = {p}, the share of heads among the throws: the second "
                    "step changes "
                    "nothing."
                ),
                p=exact(heads),
            )
        )
    first, second = (joined(", ", map(decimal, end)) for end in ends.values())
    return Sheet(
        name="em",
        lang=lang,
        title=say("Three coins"),
        question=say(
            "Coin A is thrown first: heads chooses coin B, tails coin C. The chosen coin is thrown, and "
            "only this throw "
            "is noted (1 is heads). Ten times: 1, 1, 0, 1, 0, 0, 1, 0, 1, 1. How often do A, B and C show "
            "heads (π, p, "
            "q)? Do one step of EM from (0.4, 0.6, 0.7) and one from (0.5, 0.5, 0.5)."
        ),
        given=(grid(("y", *map(str, range(1, 11))), ("", *THROWS)),),
        working=tuple(working),
        answer=line(
            say(
                "({first}) from the first start, ({second}) from the second; both explain the throws equally well."
            ),
            first=first,
            second=second,
        ),
        errata=(
            Erratum(
                say("EM finds the maximum of the likelihood."),
                line(
                    say(
                        "No step lowers the likelihood, and it ends at a stationary point that depends on "
                        "the {start}, "
                        "as a rule a local maximum. Here a whole ridge, all (π, p, q) with π p + (1 − π) q "
                        "= {p}, is "
                        "equally good, so no number of restarts tells which is right."
                    ),
                    start=word(say("start")),
                    p=exact(Fraction(sum(THROWS), len(THROWS))),
                ),
            ),
        ),
        source=say(
            "Li Hang (李航), Statistical Learning Methods (《统计学习方法》), Tsinghua University Press, "
            "chapter 9."
        ),
        results=tuple(
            Result(f"{name}: {key}", value, text)
            for name, end in ends.items()
            for key, value, text in zip(("π", "p", "q"), end, PRINTED[name], strict=True)
        ),
    )


def _expected(coins: Coins, heads: str, tails: str) -> Grid:
    pi, p, q = coins
    rows = []
    for name, b, c, share in zip((heads, tails), (p, 1 - p), (q, 1 - q), shares(coins), strict=True):
        left = line("{a} · {b} = {c}", a=exact(pi), b=exact(b), c=exact(pi * b))
        right = line("{a} · {b} = {c}", a=exact(1 - pi), b=exact(c), c=exact((1 - pi) * c))
        rows.append((name, left, right, exact(share)))
    return grid(("", "π P(y | B)", "(1 − π) P(y | C)", "μ"), *rows)


def _counted(coins: Coins) -> list[Line]:
    heads, tails = shares(coins)
    ones = sum(THROWS)
    zeros = len(THROWS) - ones
    b = ones * heads + zeros * tails
    c = len(THROWS) - b
    made = step(coins)
    total = line(
        "{n} · {h} + {m} · {t} = {b}", n=word(ones), h=exact(heads), m=word(zeros), t=exact(tails), b=exact(b)
    )
    return [
        line("Σ μ = {total}", total=total),
        line(
            "π = {b} / {n} = {p} = {s}",
            b=bracketed(exact(b)),
            n=word(len(THROWS)),
            p=exact(made[0]),
            s=decimal(made[0]),
        ),
        line(
            "p = {a} / {b} = {p} = {s}",
            a=bracketed(exact(ones * heads)),
            b=bracketed(exact(b)),
            p=exact(made[1]),
            s=decimal(made[1]),
        ),
        line(
            "q = {a} / {c} = {p} = {s}",
            a=bracketed(exact(ones * (1 - heads))),
            c=bracketed(exact(c)),
            p=exact(made[2]),
            s=decimal(made[2]),
        ),
    ]
