"""Seventeen melons: Zhou's watermelon data set 3.0, the first melon, and one zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from bayeskit._messages import text_in
from bayeskit._report.textbook.counts import Counts, counts_of, product_of
from bayeskit._report.textbook.printed_number import Line, decimal, exact, joined, line, word
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

CLASSES = ("是", "否")
WORDS = {"色泽": "青绿", "根蒂": "蜷缩", "敲声": "浊响", "纹理": "清晰", "脐部": "凹陷", "触感": "硬滑"}
NUMBERS = {"密度": Fraction("0.697"), "含糖率": Fraction("0.460")}
FIRST: dict[str, Any] = {**WORDS, **NUMBERS}
CRISP: dict[str, Any] = {**FIRST, "敲声": "清脆"}
# The melon, α, whether the variance divides by n − 1, and what is printed of P(是 | x), 是 and 否.
CASES = {
    "α = 0, n − 1": (FIRST, 0, True, ("0.998692", "0.052379", "6.8584e-05")),
    "α = 0, n": (FIRST, 0, False, ("0.999021", "0.044552", "4.3659e-05")),
    "α = 1, n − 1": (FIRST, 1, True, ("0.996996", "0.025631", "7.7224e-05")),
    "α = 1, n": (FIRST, 1, False, ("0.997750", "0.021801", "4.9158e-05")),
    "清脆, α = 1, n": (CRISP, 1, False, ("0.990619",)),
}


def page(lang: str) -> Sheet:
    """Return the page in a language."""
    say, counts = partial(text_in, lang), counts_of("melon3")
    joints = {
        about: {c: counts.joint(melon, c, alpha, unbiased) for c in CLASSES}
        for about, (melon, alpha, unbiased, _) in CASES.items()
    }
    shares = {about: found["是"] / sum(found.values()) for about, found in joints.items()}
    first, crisp = "α = 0, n − 1", "清脆, α = 1, n"
    return Sheet(
        name="melon3",
        lang=lang,
        title=say("Seventeen melons"),
        question=say(
            "Watermelon data set 3.0. Is the melon 青绿 蜷缩 浊响 清晰 凹陷 硬滑, of density 0.697 and "
            "sugar content 0.460, a "
            "good one (是)? And if it sounds 清脆 (crisp)?"
        ),
        given=(grid((*counts.columns, "好瓜"), *_rows(counts)),),
        working=(
            (say("The prior and six fractions:"),),
            _fractions(counts, say),
            (say("Two normal densities, their variances divided by n − 1:"),),
            *(_densities(counts, name) for name in NUMBERS),
            (say("All together, and with the other conventions:"),),
            _conventions(joints, shares),
            line(
                say(
                    "清脆: no good melon sounds so. P(清脆 | 是) = {zero} makes the product 0 however good "
                    "the rest looks. "
                    "Laplace's correction says {a} for 是 and {b} for 否, and P(是 | x) = {p} (n)."
                ),
                zero=counts.share("敲声", "清脆", "是"),
                a=counts.share("敲声", "清脆", "是", 1),
                b=counts.share("敲声", "清脆", "否", 1),
                p=decimal(shares[crisp], ".6f"),
            ),
        ),
        answer=line(
            say(
                "{yes}: {p} against {q}, P(是 | x) = {share}. The crisp one with Laplace's correction: {also}."
            ),
            yes=word("是"),
            p=decimal(joints[first]["是"], ".6f"),
            q=decimal(joints[first]["否"], ".4e"),
            share=decimal(shares[first], ".6f"),
            also=word("是"),
        ),
        errata=_errata(counts, joints[first], say),
        source=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section "
            "7.3 and table 4.3."
        ),
        results=tuple(
            Result(f"{about}: {key}", value, text)
            for about, found in joints.items()
            # Of the crisp melon only the first number is printed.
            for key, value, text in zip(
                ("P(是 | x)", "是", "否"), (shares[about], *found.values()), CASES[about][3], strict=False
            )
        ),
    )


def _rows(counts: Counts) -> list[tuple[Any, ...]]:
    rows = zip(*counts.columns.values(), counts.y, strict=True)
    return [tuple(f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row) for row in rows]


def _fractions(counts: Counts, say: Callable[[str], str]) -> Grid:
    rows = []
    for c in CLASSES:
        factors = counts.factors(WORDS, c)
        rows.append((c, *factors, exact(product_of(factors))))
    return grid(("", "P(c)", *WORDS.values(), say("product")), *rows)


def _densities(counts: Counts, name: str) -> Grid:
    rows, x = [], NUMBERS[name]
    for c in CLASSES:
        normal = counts.normal(name, c, True)
        deviation = math.sqrt(normal.variance)
        rows.append((c, exact(normal.mean), decimal(deviation, ".5f"), decimal(normal.density(x), ".5f")))
    return grid((name, "μ", "σ", f"p({float(x):.3f})"), *rows)


def _conventions(joints: dict[str, dict[str, float]], shares: dict[str, float]) -> Grid:
    rows = [
        (about, decimal(found["是"], ".6f"), decimal(found["否"], ".4e"), decimal(shares[about], ".6f"))
        for about, found in joints.items()
    ]
    return grid(("", "是", "否", "P(是 | x)"), *rows)


def _errata(counts: Counts, joints: dict[str, float], say: Callable[[str], str]) -> tuple[Erratum, ...]:
    dented, curled = (counts.share(name, WORDS[name], "是") for name in ("脐部", "根蒂"))
    yes = joints["是"]
    of = len(counts.of_class("脐部", "是"))
    # The product with one wrong count, and with two.
    one = yes * float(Fraction(6, of) / product_of([dented]))
    two = one * float(Fraction(3, of) / product_of([curled]))
    rounded = _three(counts, "否")
    return (
        Erratum(
            say("6.80e-05 for 否 (the book)."),
            line(
                say(
                    "It multiplies factors that were rounded to three decimals ({rounded}). Not rounded: {no}."
                ),
                rounded=rounded,
                no=decimal(joints["否"], ".2e"),
            ),
        ),
        Erratum(
            say("0.063 or 0.038 for 是 (some printings and notes)."),
            line(
                say(
                    "Of the good melons {dented} are 凹陷 and {curled} are 蜷缩: {yes}. 6/8 for 凹陷 makes "
                    "{one} of it, with "
                    "3/8 for 蜷缩 besides {two}."
                ),
                dented=dented,
                curled=curled,
                yes=decimal(yes, ".3f"),
                one=decimal(one, ".3f"),
                two=decimal(two, ".3f"),
            ),
        ),
    )


def _three(counts: Counts, label: str) -> Line:
    """The factors as the book rounds them, and their product."""
    factors = [float(product_of([factor])) for factor in counts.factors(WORDS, label)]
    factors += [counts.normal(name, label, True).density(x) for name, x in NUMBERS.items()]
    rounded = [round(factor, 3) for factor in factors]
    terms = joined(" · ", (decimal(factor, ".3f") for factor in rounded))
    return line("{terms} = {p}", terms=terms, p=decimal(math.prod(rounded), ".2e"))
