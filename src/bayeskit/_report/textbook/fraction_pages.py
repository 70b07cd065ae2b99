"""Pages of exact fractions: one word in a letter, Li Hang's fifteen rows, three coins and EM."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from bayeskit._messages import text_in
from bayeskit._report.textbook.printed_number import (
    Counts,
    Line,
    bracketed,
    counts_of,
    decimal,
    exact,
    joined,
    line,
    product_of,
    word,
)
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

PRIOR = {"spam": Fraction(7, 10), "ham": Fraction(3, 10)}
WORD = {"spam": Fraction(9, 10), "ham": Fraction(1, 100)}
NO_WORD = {label: 1 - p for label, p in WORD.items()}


def spam_page(lang: str) -> Sheet:
    """Return the spam_page in a language."""
    say = partial(text_in, lang)
    names = {"spam": say("spam"), "ham": say("ham")}
    free, none = say("word"), say("no word")
    p_word, spam_word = posterior(WORD)
    p_none, spam_none = posterior(NO_WORD)
    return Sheet(
        name="spam",
        lang=lang,
        title=say("One word in a letter"),
        question=say(
            "70% of the letters are spam. The word 免费 (free) stands in 90% of the spam and in 1% of the rest. "
            "A letter has the word. Is it spam? And one without the word?"
        ),
        given=(
            grid(("", "P(c)", f"P({free} | c)"), *((names[c], str(PRIOR[c]), str(WORD[c])) for c in PRIOR)),
        ),
        working=(
            *_steps(WORD, free, names),
            (say("Without the word it is the likelihoods that turn into their complements:"),),
            *_steps(NO_WORD, none, names),
        ),
        answer=line(
            say("With the word: {yes}, with probability {p}. Without it: {no}; spam has only {q}."),
            yes=word(names["spam"]),
            p=decimal(spam_word, ".5f"),
            no=word(names["ham"]),
            q=decimal(spam_none),
        ),
        errata=(
            Erratum(
                say("1 − P(spam | word), taken for P(spam | no word)."),
                line(
                    say(
                        "{a} is P(ham | word). The complement is taken of the likelihood, not of the posterior: "
                        "P(spam | no word) = {b}."
                    ),
                    a=exact(1 - spam_word),
                    b=exact(spam_none),
                ),
                copied=False,
            ),
        ),
        source=say(
            "Total probability and Bayes' rule: Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua "
            "University Press 2016, section 7.1."
        ),
        results=(
            Result("P(word)", p_word, "633/1000"),
            Result("P(spam | word)", spam_word, "210/211"),
            Result("P(no word)", p_none, "367/1000"),
            Result("P(spam | no word)", spam_none, "70/367"),
        ),
    )


def posterior(likelihood: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
    """Return P(x) and P(spam | x).

    Examples
    --------
    >>> posterior(WORD)
    (Fraction(633, 1000), Fraction(210, 211))
    """
    products = {c: PRIOR[c] * likelihood[c] for c in PRIOR}
    total = sum(products.values(), Fraction(0))
    return total, products["spam"] / total


def _steps(likelihood: Mapping[str, Fraction], about: str, names: Mapping[str, str]) -> list[Line]:
    total, spam = posterior(likelihood)
    products = {c: exact(PRIOR[c] * likelihood[c]) for c in PRIOR}
    steps = []
    for c, made in products.items():
        p, f = exact(PRIOR[c]), exact(likelihood[c])
        steps.append(
            line("P({c}) P({x} | {c}) = {p} · {f} = {made}", c=names[c], x=about, p=p, f=f, made=made)
        )
    terms = joined(" + ", products.values())
    steps.append(line("P({x}) = {terms} = {total}", x=about, terms=terms, total=exact(total)))
    return [
        *steps,
        line(
            "P({c} | {x}) = {over} / {under} = {p} = {short}",
            c=names["spam"],
            x=about,
            over=bracketed(products["spam"]),
            under=bracketed(exact(total)),
            p=exact(spam),
            short=decimal(spam, ".5f"),
        ),
    ]


QUERY = {"x1": 2, "x2": "S"}
CLASSES = (1, -1)
PRINTED = {0: ("1/45", "1/15", "3/4"), 1: ("5/153", "28/459", "28/43")}


def rows_page(lang: str) -> Sheet:
    """Return the rows_page in a language."""
    say, counts = partial(text_in, lang), counts_of("lihang")
    given = grid(
        ("", *map(str, range(1, 16))),
        *((name, *column) for name, column in counts.columns.items()),
        ("y", *map(_signed, counts.y)),
    )
    found = {alpha: answer(counts, alpha) for alpha in (0, 1)}
    sizes = counts.of_class("x1", 1)
    wrong, right = (
        sum((Fraction(sizes.count(v) + 1, len(sizes) + more) for v in (1, 2, 3)), Fraction(0))
        for more in (2, 3)
    )
    head = {
        0: say("Maximum likelihood (α = 0):"),
        1: say("Laplace's correction (α = 1): one more in every cell, three states each, two classes:"),
    }
    working: list[Line | Grid] = []
    for alpha, products in found.items():
        rows = []
        for c in CLASSES:
            factors = counts.factors(QUERY, c, alpha)
            rows.append((f"y = {_signed(c)}", *factors, exact(product_of(factors))))
        working += [(head[alpha],), grid(("", "P(c)", "x1 = 2", "x2 = S", say("product")), *rows)]
        total = sum(products.values(), Fraction(0))
        terms = joined(" + ", map(exact, reversed(products.values())))
        share = products[-1] / total
        working.append(
            line(
                "P(y = −1 | x) = {a} / ({terms}) = {p} = {short}",
                a=bracketed(exact(products[-1])),
                terms=terms,
                p=exact(share),
                short=decimal(share),
            )
        )
    return Sheet(
        name="lihang",
        lang=lang,
        title=say("Fifteen rows"),
        question=say(
            "Which class has x = (2, S)? First by maximum likelihood, then with Laplace's correction."
        ),
        given=(given,),
        working=tuple(working),
        answer=line(
            say("y = {y}, both times: {p} and {q}."),
            y=word("−1"),
            p=exact(_its_share(found[0])),
            q=exact(_its_share(found[1])),
        ),
        errata=(
            Erratum(
                say("Denominators 11 and 8 for α = 1."),
                line(
                    say(
                        "They are {a} and {b}: |D_c| + N_i, where N_i counts the states of the attribute. "
                        "11 = 9 + 2 "
                        "adds the number of attributes, as the multinomial model does. The check is that "
                        "shares sum "
                        "to one: over 11 those of x1 in y = 1 sum to {wrong}, over {a} to {right}."
                    ),
                    a=word(len(sizes) + 3),
                    b=word(len(counts.of_class("x1", -1)) + 3),
                    wrong=exact(wrong),
                    right=exact(right),
                ),
            ),
        ),
        source=say(
            "Li Hang (李航), Statistical Learning Methods (《统计学习方法》), Tsinghua University Press, "
            "examples 4.1 and "
            "4.2."
        ),
        results=tuple(
            Result(f"α = {alpha}: {key}", value, text)
            for alpha, products in found.items()
            for key, value, text in zip(
                ("y = 1", "y = −1", "P(y = −1 | x)"),
                (*products.values(), _its_share(products)),
                PRINTED[alpha],
                strict=True,
            )
        ),
    )


def answer(counts: Counts, alpha: int) -> dict[int, Fraction]:
    """Return P(c) P(x1 = 2 | c) P(x2 = S | c) of both classes.

    Examples
    --------
    >>> answer(counts_of("lihang"), 0)
    {1: Fraction(1, 45), -1: Fraction(1, 15)}
    """
    return {c: product_of(counts.factors(QUERY, c, alpha)) for c in CLASSES}


def _its_share(products: dict[int, Fraction]) -> Fraction:
    return products[-1] / sum(products.values(), Fraction(0))


def _signed(number: int) -> str:
    return str(number).replace("-", "−")


THROWS = (1, 1, 0, 1, 0, 0, 1, 0, 1, 1)
Coins = tuple[Fraction, Fraction, Fraction]
STARTS: dict[str, Coins] = {
    "(0.4, 0.6, 0.7)": (Fraction(2, 5), Fraction(3, 5), Fraction(7, 10)),
    "(0.5, 0.5, 0.5)": (Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)),
}
PRINTED_COINS = {
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


def coins_page(lang: str) -> Sheet:
    """Return the coins_page in a language."""
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
            for key, value, text in zip(("π", "p", "q"), end, PRINTED_COINS[name], strict=True)
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
