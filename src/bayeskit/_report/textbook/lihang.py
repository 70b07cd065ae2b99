"""Fifteen rows: Li Hang's examples 4.1 and 4.2."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from bayeskit._messages import text_in
from bayeskit._report.textbook.counts import Counts, counts_of, product_of
from bayeskit._report.textbook.printed_number import Line, bracketed, decimal, exact, joined, line, word
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

QUERY = {"x1": 2, "x2": "S"}
CLASSES = (1, -1)
PRINTED = {0: ("1/45", "1/15", "3/4"), 1: ("5/153", "28/459", "28/43")}


def page(lang: str) -> Sheet:
    """Return the page in a language."""
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
            p=exact(_share(found[0])),
            q=exact(_share(found[1])),
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
                (*products.values(), _share(products)),
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


def _share(products: dict[int, Fraction]) -> Fraction:
    return products[-1] / sum(products.values(), Fraction(0))


def _signed(number: int) -> str:
    return str(number).replace("-", "−")
