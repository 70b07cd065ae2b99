"""Eight melons: two categories and a density, and a state that no row has."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from bayeskit._messages import text_in
from bayeskit._report.textbook.counts import Counts, counts_of, product_of
from bayeskit._report.textbook.printed_number import Line, bracketed, decimal, exact, joined, line, word
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

CLASSES = ("是", "否")
X = Fraction(3, 5)
CLEAR = {"色泽": "青绿", "纹理": "清晰", "密度": X}
BLURRED = {**CLEAR, "纹理": "稍糊"}
# Of the textures, 稍糊 is never seen; it counts for Laplace's correction all the same.
SIZES = {"纹理": 3}


def page(lang: str) -> Sheet:
    """Return the page in a language."""
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
