"""Melons by hand: the first of Zhou's seventeen and one zero; eight melons and a state that no row has."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

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
    "清脆: α = 1, n": (CRISP, 1, False, ("0.990619",)),
}


def first_melon_page(lang: str) -> Sheet:
    """Return the first_melon_page in a language."""
    say, counts = partial(text_in, lang), counts_of("melon3")
    joints = {
        about: {c: counts.joint(melon, c, alpha, unbiased) for c in CLASSES}
        for about, (melon, alpha, unbiased, _) in CASES.items()
    }
    shares = {about: found["是"] / sum(found.values()) for about, found in joints.items()}
    first, crisp = "α = 0, n − 1", "清脆: α = 1, n"
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
            _fractions_of_all(counts, say),
            (say("Two normal densities, their variances divided by n − 1:"),),
            *(_densities_of_all(counts, name) for name in NUMBERS),
            (say("All together, and with the other conventions:"),),
            _conventions(joints, shares, say),
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


def _fractions_of_all(counts: Counts, say: Callable[[str], str]) -> Grid:
    rows = []
    for c in CLASSES:
        factors = counts.factors(WORDS, c)
        rows.append((c, *factors, exact(product_of(factors))))
    return grid(("", "P(c)", *WORDS.values(), say("product")), *rows)


def _densities_of_all(counts: Counts, name: str) -> Grid:
    rows, x = [], NUMBERS[name]
    for c in CLASSES:
        normal = counts.normal(name, c, True)
        deviation = math.sqrt(normal.variance)
        rows.append((c, exact(normal.mean), decimal(deviation, ".5f"), decimal(normal.density(x), ".5f")))
    return grid((name, "μ", "σ", f"p({float(x):.3f})"), *rows)


def _conventions(
    joints: dict[str, dict[str, float]], shares: dict[str, float], say: Callable[[str], str]
) -> Grid:
    rows = [
        (
            about.replace(": ", say(": ")),
            decimal(found["是"], ".6f"),
            decimal(found["否"], ".4e"),
            decimal(shares[about], ".6f"),
        )
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


X = Fraction(3, 5)
CLEAR = {"色泽": "青绿", "纹理": "清晰", "密度": X}
BLURRED = {**CLEAR, "纹理": "稍糊"}
# Of the textures, 稍糊 is never seen; it counts for Laplace's correction all the same.
SIZES = {"纹理": 3}


def eight_melons_page(lang: str) -> Sheet:
    """Return the eight_melons_page in a language."""
    say, counts = partial(text_in, lang), counts_of("melon8", SIZES)
    joints = {
        about: {c: counts.joint(query, c, alpha, unbiased) for c in CLASSES}
        for about, query, alpha, unbiased in (
            ("clear, n − 1", CLEAR, 0, True),
            ("clear, n", CLEAR, 0, False),
            ("blurred, Laplace", BLURRED, 1, True),
        )
    }
    shares = {about: found["否"] / sum(found.values()) for about, found in joints.items()}
    yes, no = joints["clear, n − 1"].values()
    rows = zip(*counts.columns.values(), counts.y, strict=True)
    printed = {
        "clear, n − 1": ("0.07350", "0.35239", "0.82741"),
        "clear, n": ("0.04864", "0.36243", "0.88169"),
        "blurred, Laplace": ("0.018667", "0.089496", "0.82741"),
    }
    wrong = Fraction(1, 4) / Fraction(3, 4) * Fraction(yes)
    return Sheet(
        name="melon8",
        lang=lang,
        title=say("Eight melons"),
        question=say(
            "Eight melons by colour (色泽), texture (纹理) and density (密度). Is a melon that is 青绿 "
            "(green), 清晰 "
            "(clear) and of density 0.6 a good one (是)? And one whose texture is 稍糊 (a little blurred), "
            "which none "
            "of the eight has?"
        ),
        given=(grid((*counts.columns, "标签"), *rows),),
        working=(
            (say("A category has a fraction, a number a normal density, its variance divided by n − 1:"),),
            _fractions(counts, "清晰", 0, say),
            _densities(counts, joints["clear, n − 1"], say),
            _posterior("否", no, yes, shares["clear, n − 1"]),
            line(
                say("With the variance divided by n: {yes} for 是, {no} for 否, and P(否 | x) = {p}."),
                yes=decimal(joints["clear, n"]["是"], ".5f"),
                no=decimal(joints["clear, n"]["否"], ".5f"),
                p=decimal(shares["clear, n"], ".5f"),
            ),
            (
                say(
                    "稍糊: without smoothing both products are 0. Laplace's correction adds one to every "
                    "cell, and the "
                    "textures are three, 清晰, 稍糊 and 模糊, seen or not:"
                ),
            ),
            _fractions(counts, "稍糊", 1, say, joints["blurred, Laplace"]),
            _posterior(
                "否",
                joints["blurred, Laplace"]["否"],
                joints["blurred, Laplace"]["是"],
                shares["blurred, Laplace"],
                ".6f",
            ),
            _same(counts, say),
        ),
        answer=line(
            say("{no}, with probability {p}; the one that is 稍糊: {also}, with {q}."),
            no=word("否"),
            p=decimal(shares["clear, n − 1"], ".5f"),
            also=word("否"),
            q=decimal(shares["blurred, Laplace"], ".5f"),
        ),
        errata=(
            Erratum(
                say("P(清晰 | 是) = 1/4, and 0.0245 for 是."),
                line(
                    say(
                        "{n} of the {of} good melons are 清晰: {p}. The product is {yes} then; with 1/4 it "
                        "is {wrong}."
                    ),
                    n=word(counts.of_class("纹理", "是").count("清晰")),
                    of=word(len(counts.of_class("纹理", "是"))),
                    p=counts.share("纹理", "清晰", "是"),
                    yes=decimal(yes),
                    wrong=decimal(wrong),
                ),
            ),
            Erratum(
                say("|D| + N_i in the denominator under Laplace's correction."),
                line(
                    say(
                        "It is |D_c| + N_i, the rows of the class: {a} for 青绿 in 是, not {b}. |D| + K "
                        "belongs to the "
                        "prior."
                    ),
                    a=counts.share("色泽", "青绿", "是", 1),
                    b=word(f"{counts.of_class('色泽', '是').count('青绿') + 1}/{len(counts.y) + 2}"),
                ),
            ),
        ),
        source=say(
            "An exercise with the attributes of Zhou Zhihua (周志华), Machine Learning (《机器学习》), "
            "2016, section 7.3; "
            "where it was first set is not known to us."
        ),
        results=tuple(
            Result(f"{about}: {key}", value, text)
            for about, found in joints.items()
            for key, value, text in zip(
                ("是", "否", "P(否 | x)"), (*found.values(), shares[about]), printed[about], strict=True
            )
        ),
    )


def _fractions(
    counts: Counts,
    texture: str,
    alpha: int,
    say: Callable[[str], str],
    joints: dict[str, float] | None = None,
) -> Grid:
    """The shares of each class; with the density and the whole product where these are given."""
    rows: list[tuple[Any, ...]] = []
    for c in CLASSES:
        factors = counts.factors({"色泽": "青绿", "纹理": texture}, c, alpha)
        made = joined(" · ", factors)
        row: tuple[Any, ...] = (c, line("{factors} = {p}", factors=made, p=exact(product_of(factors))))
        if joints is not None:
            density = counts.normal("密度", c, True).density(X)
            row += (decimal(density, ".5f"), decimal(joints[c], ".6f"))
        rows.append(row)
    header = ("", f"P(c) · P(青绿 | c) · P({texture} | c)")
    return grid((*header, *(("p(0.6)", say("product")) if joints is not None else ())), *rows)


def _densities(counts: Counts, joints: dict[str, float], say: Callable[[str], str]) -> Grid:
    rows = []
    for c in CLASSES:
        normal = counts.normal("密度", c, True)
        cells = exact(normal.mean), exact(normal.variance), exact(normal.exponent(X))
        rows.append((c, *cells, decimal(normal.density(X), ".5f"), decimal(joints[c], ".5f")))
    head = ("", "μ", "σ²", "(0.6 − μ)²/(2σ²)", "p(0.6)", say("with the fractions"))
    return grid(head, *rows)


def _same(counts: Counts, say: Callable[[str], str]) -> Line:
    """Why both melons have the same posterior."""
    of = {
        (texture, c): product_of(counts.factors({"色泽": "青绿", "纹理": texture}, c, alpha))
        for texture, alpha in (("清晰", 0), ("稍糊", 1))
        for c in CLASSES
    }
    a, b, c, d = of.values()
    return line(
        say(
            "Both melons have the same posterior, and not by accident: the fractions of 是 over those of 否 are "
            "{a} / {b} = {r} for the first and {c} / {d} = {s} for the second, that is {ratio} both times, and the "
            "densities are the same."
        ),
        a=bracketed(exact(a)),
        b=bracketed(exact(b)),
        r=exact(a / b),
        c=bracketed(exact(c)),
        d=bracketed(exact(d)),
        s=exact(c / d),
        ratio=word(f"{(a / b).numerator}:{(c / d).denominator}"),
    )


def _posterior(label: str, its: float, other: float, share: float, form: str = ".5f") -> Line:
    a, b = decimal(its, form), decimal(other, form)
    return line("P({c} | x) = {a} / ({a} + {b}) = {p}", c=label, a=a, b=b, p=decimal(share, ".5f"))
