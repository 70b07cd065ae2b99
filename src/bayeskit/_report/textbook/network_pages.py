"""Networks by hand: the melon network, seven nodes, a few sweeps of Gibbs; and counts that come late or in batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from bayeskit._messages import text_in
from bayeskit._report.textbook.joint_pages import GRASS
from bayeskit._report.textbook.lesson import (
    Lesson,
    ManyDigits,
    joint_results,
    melons,
    posterior_sheet,
    posteriors,
    products,
    shown,
)
from bayeskit._report.textbook.printed_number import (
    Event,
    Joint,
    Line,
    bracketed,
    counted,
    decimal,
    exact,
    joined,
    line,
    word,
)
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

# The melon network of the library: 1 is 好瓜 = 是, 甜度 = 高, 敲声 = 浊响, 色泽 = 青绿, 根蒂 = 蜷缩.
MELON = Joint(
    {
        "x1": ((), ("1/2",)),
        "x2": ((), ("3/5",)),
        "x3": (("x1",), ("2/5", "3/4")),
        "x4": (("x1", "x2"), ("4/5", "3/5", "1/2", "3/10")),
        "x5": (("x2",), ("3/10", "9/10")),
    }
)
NAMES = {"x1": "好瓜 = 是", "x2": "甜度 = 高", "x3": "敲声 = 浊响", "x4": "色泽 = 青绿", "x5": "根蒂 = 蜷缩"}
# Seven nodes: the graph is Bishop's, the numbers are ours. x4 and x5 hold if at least two of their parents do.
_TWO = ("1/10", "1/5", "1/5", "7/10", "1/5", "7/10", "7/10", "9/10")
SEVEN = Joint(
    {
        "x1": ((), ("1/2",)),
        "x2": ((), ("1/4",)),
        "x3": ((), ("1/5",)),
        "x4": (("x1", "x2", "x3"), _TWO),
        "x5": (("x1", "x2", "x3"), tuple(reversed(_TWO))),
        "x6": (("x4",), ("1/10", "4/5")),
        "x7": (("x4", "x5"), ("1/20", "1/2", "2/5", "9/10")),
    }
)
ALL = {"x1": 1, "x2": 0, "x3": 1, "x4": 1, "x5": 0, "x6": 1, "x7": 1}


def melon_page(lang: str) -> Sheet:
    """Five nodes: parameters, the chain rule, an answer by summing."""
    say, p = partial(text_in, lang), MELON.p
    row = dict.fromkeys(MELON.tables, 1)
    seen: Event = {"x5": 1}
    sums = [(k, MELON.cell("x2", {"x2": k}), MELON.cell("x5", {"x2": k, "x5": 1})) for k in (1, 0)]
    return Sheet(
        name="melonnet",
        lang=lang,
        title=say("The melon network"),
        question=say(
            "Figure 7.2 of Zhou's book: x1 … x5 are 好瓜 (good), 甜度 (sweet), 敲声 (sound), 色泽 (colour), 根蒂 "
            "(root). How many parameters are there, how probable is the row in which all hold, and how "
            "probable is it that a melon with a curled root is sweet?"
        ),
        given=(_tables(MELON, NAMES),),
        working=(
            ("P(x1, x2, x3, x4, x5) = P(x1) P(x2) P(x3 | x1) P(x4 | x1, x2) P(x5 | x2)",),
            _parameters(MELON, say),
            _chain(MELON, row),
            line(
                "P(x2=1 | x5=1) = {a} / ({terms}) = {r} = {d}",
                a=bracketed(exact(sums[0][1] * sums[0][2])),
                terms=joined(" + ", (line("{a} · {b}", a=exact(a), b=exact(b)) for _, a, b in sums)),
                r=exact(p({"x2": 1}, seen)),
                d=decimal(p({"x2": 1}, seen)),
            ),
            line(
                say(
                    "x1 and x2 are independent: P(x1=1 | x2=1) = {a}. Once the colour is known they "
                    "are not: P(x1=1 | x4=1) = {b}, P(x1=1 | x4=1, x2=1) = {c}."
                ),
                a=exact(p({"x1": 1}, {"x2": 1})),
                b=exact(p({"x1": 1}, {"x4": 1})),
                c=exact(p({"x1": 1}, {"x4": 1, "x2": 1})),
            ),
        ),
        answer=line(
            say("{k} parameters instead of {m}; {p} for the row; {q} for sweet."),
            k=exact(10),
            m=exact(31),
            p=exact(p(row)),
            q=exact(p({"x2": 1}, seen)),
        ),
        errata=(
            Erratum(
                say("No arc between 好瓜 and 甜度, so they are independent whatever is known."),
                line(
                    say(
                        "They have a common child: given the colour, {b} becomes {c} once the melon is "
                        "known to be sweet."
                    ),
                    b=exact(p({"x1": 1}, {"x4": 1})),
                    c=exact(p({"x1": 1}, {"x4": 1, "x2": 1})),
                ),
                copied=False,
            ),
        ),
        source=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, figure 7.2; the "
            "tables but that of 根蒂 are ours."
        ),
        results=(
            Result("P(x1, …, x5)", p(row), str(p(row))),
            *(Result(f"P({_said(a)} | {_said(b)})", p(a, b), str(p(a, b))) for a, b in MELON_ASKED),
        ),
    )


MELON_ASKED: tuple[tuple[Event, Event], ...] = (
    ({"x2": 1}, {"x5": 1}),
    ({"x1": 1}, {"x2": 1}),
    ({"x1": 1}, {"x4": 1}),
    ({"x1": 1}, {"x4": 1, "x2": 1}),
)
SEVEN_ASKED: tuple[tuple[Event, Event], ...] = (
    ({"x6": 1}, {"x4": 1}),
    ({"x6": 1}, {"x4": 1, "x7": 1}),
    ({"x6": 1}, {"x7": 1}),
    ({"x6": 1}, {}),
    ({"x1": 1}, {"x2": 1}),
    ({"x1": 1}, {"x2": 1, "x6": 1}),
    ({"x1": 1}, {"x6": 1}),
)


def _said(event: Event) -> str:
    return ", ".join(f"{name}={state}" for name, state in event.items())


def seven_page(lang: str) -> Sheet:
    """Seven nodes: the factorisation, parameters, and two independences in numbers."""
    say, p = partial(text_in, lang), SEVEN.p
    return Sheet(
        name="seven",
        lang=lang,
        title=say("Seven nodes"),
        question=say(
            "x1, x2 and x3 have no parents and are the parents of x4 and of x5; x4 is the parent of x6, "
            "and x4 and x5 are those of x7. Write the joint distribution as a product, count the "
            "parameters, and compute the row of the first table. Are x6 and x7 independent given x4? Are "
            "x1 and x2 independent?"
        ),
        given=(grid(tuple(ALL), tuple(str(v) for v in ALL.values())), _tables(SEVEN, {})),
        working=(
            (
                "P(x1, …, x7) = P(x1) P(x2) P(x3) P(x4 | x1, x2, x3) P(x5 | x1, x2, x3) P(x6 | x4) P(x7 | x4, x5)",
            ),
            _parameters(SEVEN, say),
            _chain(SEVEN, ALL),
            line(
                say(
                    "Given x4, x7 tells nothing about x6: P(x6=1 | x4=1) = {a} = P(x6=1 | x4=1, x7=1) "
                    "= {b}. Without x4 it does: {c} becomes {d}."
                ),
                a=exact(p({"x6": 1}, {"x4": 1})),
                b=exact(p({"x6": 1}, {"x4": 1, "x7": 1})),
                c=decimal(p({"x6": 1}), ".6f"),
                d=decimal(p({"x6": 1}, {"x7": 1}), ".6f"),
            ),
            line(
                say(
                    "x1 and x2 are independent, P(x1=1 | x2=1) = {a}, but not once a descendant is "
                    "known: P(x1=1 | x6=1) = {b}, P(x1=1 | x6=1, x2=1) = {c}."
                ),
                a=exact(p({"x1": 1}, {"x2": 1})),
                b=decimal(p({"x1": 1}, {"x6": 1}), ".6f"),
                c=decimal(p({"x1": 1}, {"x2": 1, "x6": 1}), ".6f"),
            ),
        ),
        answer=line(
            say("{k} parameters instead of {m}; the row has {p}; both are independent."),
            k=exact(25),
            m=exact(127),
            p=exact(p(ALL)),
        ),
        errata=(
            Erratum(
                say("2 parameters for each of the tables."),
                line(
                    say(
                        "A node of two states has one for each configuration of its parents: {a} for x4, not {b}."
                    ),
                    a=exact(8),
                    b=exact(2),
                ),
                copied=False,
            ),
        ),
        source=say(
            "C. M. Bishop, Pattern Recognition and Machine Learning, Springer 2006, figure 8.2. The numbers are ours."
        ),
        results=(
            Result("P(x1, …, x7)", p(ALL), str(p(ALL))),
            *(Result(f"P({_said(a)} | {_said(b)})", p(a, b), str(p(a, b))) for a, b in SEVEN_ASKED),
        ),
    )


def _tables(network: Joint, names: Mapping[str, str]) -> Grid:
    rows = []
    for node, (parents, numbers) in network.tables.items():
        about = f"P({node}=1 | {', '.join(parents)})" if parents else f"P({node}=1)"
        every = ["".join(map(str, state)) for state in product((0, 1), repeat=len(parents))]
        states = f"{every[0]}, …, {every[-1]}" if len(every) > 4 else ", ".join(every) if parents else ""
        rows.append((names.get(node, ""), about, states, ", ".join(numbers)))
    return grid(("", "", "", "P"), *rows)


def _parameters(network: Joint, say: Any) -> Line:
    sizes = [2 ** len(parents) for parents, _ in network.tables.values()]
    return line(
        say("Parameters: {terms} = {k}, against 2^{n} − 1 = {m}."),
        terms=joined(" + ", map(exact, sizes)),
        k=exact(sum(sizes)),
        n=str(len(sizes)),
        m=exact(2 ** len(sizes) - 1),
    )


def _chain(network: Joint, row: Event) -> Line:
    cells = [network.cell(node, row) for node in network.tables]
    made = math.prod(cells, start=Fraction(1))
    about = ", ".join(f"{name}={state}" for name, state in row.items())
    return line(
        "P({about}) = {terms} = {p}", about=about, terms=joined(" · ", map(exact, cells)), p=exact(made)
    )


# A linear congruential generator that anyone can repeat by hand: x ← 5x + 3 (mod 16), u = (x + 1/2)/16.
SWEEPS = 4


def uniforms(n: int) -> list[Fraction]:
    """The draws of the page.

    Examples
    --------
    >>> [str(u) for u in uniforms(4)]
    ['9/32', '15/32', '13/32', '3/32']
    """
    found: list[Fraction] = []
    x = 1
    for _ in range(n):
        x = (5 * x + 3 if found else 4) % 16
        found.append(Fraction(2 * x + 1, 32))
    return found


SEEN: Event = {"x4": 1, "x5": 1}
START: Event = {"x1": 1, "x2": 1, "x3": 0}


def sweeps() -> list[tuple[int, str, Event, Fraction, Fraction, int]]:
    """Gibbs on the melon network: sweep, variable, the others, P(1 | others), the draw, the new state."""
    state = {**START, **SEEN}
    found: list[tuple[int, str, Event, Fraction, Fraction, int]] = []
    draws = iter(uniforms(3 * SWEEPS))
    for sweep in range(1, SWEEPS + 1):
        for name in START:
            others = {key: value for key, value in state.items() if key != name}
            p, u = MELON.p({name: 1}, others), next(draws)
            state = {**state, name: int(u < p)}
            found.append((sweep, name, others, p, u, state[name]))
    return found


def gibbs_page(lang: str) -> Sheet:
    """A few sweeps of Gibbs sampling, with the draws that were used."""
    say = partial(text_in, lang)
    steps = sweeps()
    sweet = sum(new for _, name, _, _, _, new in steps if name == "x2")
    truth = MELON.p({"x2": 1}, SEEN)
    rows = []
    for sweep, name, others, p, u, new in steps:
        # The states drawn before are answers as well.
        given = joined(
            ", ", (line("{x}={v}", x=x, v=word(v) if x in START else str(v)) for x, v in others.items())
        )
        rows.append(
            (
                str(sweep),
                line("P({x}=1 | {given})", x=name, given=given),
                exact(p),
                str(u),
                word(f"{name} = {new}"),
            )
        )
    return Sheet(
        name="gibbs",
        lang=lang,
        title=say("Gibbs sampling by hand"),
        question=say(
            "The melon network: x4=1 (青绿) and x5=1 (蜷缩) are seen. Draw x1, x2 and x3 in turn from "
            "their distribution given all others, four times, beginning with x1=1, x2=1, x3=0. A "
            "variable becomes 1 if the uniform draw u is smaller than its probability. How often is the "
            "melon sweet (x2=1)?"
        ),
        given=(
            _tables(MELON, NAMES),
            grid(("", *map(str, range(1, 3 * SWEEPS + 1))), ("u", *(str(u) for u in uniforms(3 * SWEEPS)))),
        ),
        working=(
            (
                say(
                    "The draws are u = (x + 1/2) / 16, where x begins with 4 and becomes 5x + 3 modulo 16, "
                    "so that anyone can repeat them."
                ),
            ),
            (say("Only the Markov blanket matters:"),),
            (
                "P(x1=1 | x2, x3, x4, x5) = P(x1=1) P(x3 | x1=1) P(x4 | x1=1, x2) / (Σ P(x1) P(x3 "
                "| x1) P(x4 | x1, x2))",
            ),
            grid((say("sweep"), "", "P", "u", say("new state")), *rows),
            line(
                say("Sweet in {n} of {m} sweeps: {p}. The exact posterior is {q} = {d}."),
                n=exact(sweet),
                m=str(SWEEPS),
                p=counted(sweet, SWEEPS),
                q=exact(truth),
                d=decimal(truth),
            ),
        ),
        answer=line(
            say("In {p} of the sweeps; the exact answer is {d}. Four sweeps are far too few."),
            p=counted(sweet, SWEEPS),
            d=decimal(truth),
        ),
        errata=(
            Erratum(
                say("Gibbs sampling reaches every state sooner or later."),
                line(
                    say(
                        "Not where zeros are in the way. In the wet grass, with S=0 and B=1, rain is "
                        "certain: P(R=1 | S=0, J=1, B=1) = {one}."
                    ),
                    one=exact(GRASS.p({"R": 1}, {"S": 0, "J": 1, "B": 1})),
                ),
                copied=False,
            ),
        ),
        source=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.5.3. "
            "The draws are ours."
        ),
        results=(
            *(Result(f"{i}: P({name}=1 | …)", p, str(p)) for i, (_, name, _, p, _, _) in enumerate(steps, 1)),
            Result(f"P(x2=1 | {_said(SEEN)})", truth, str(truth)),
        ),
    )


@ManyDigits()
def lazy_page(lang: str) -> Sheet:
    """Nothing is trained: a query asks for the counts that it needs."""
    say, lesson = partial(text_in, lang), melons()
    query = {"纹理": "清晰", "触感": "硬滑"}
    asked = Lesson(
        lesson.columns, lesson.y, lesson.target, query, None, lesson.source, classes=lesson.classes
    )
    joints = {c: asked.naive(c, 1)[1] for c in asked.classes}
    cells = [
        (f"{name} = {value}", *(exact(asked.n({name: value}, c)) for c in asked.classes))
        for name, value in query.items()
    ]
    every = 2 + 2 * sum(lesson.size(name) for name in lesson.columns)
    return posterior_sheet(
        "lazy",
        say("Lazy learning: count when asked"),
        asked,
        lang,
        joints,
        question=say(
            "No model is trained; the rows are kept. A melon is known to be 清晰 and 硬滑, nothing else. Which "
            "counts does naive Bayes need for it, and what is its class?"
        ),
        working=[
            (say("Counts are read off the rows when the question comes, and only these:"),),
            grid(
                ("", *map(shown, asked.classes)),
                *cells,
                ("|D_c|", *(exact(asked.n({}, c)) for c in asked.classes)),
            ),
            line(
                say("These are {k} counts; the whole table of the model has {n}."), k=exact(6), n=exact(every)
            ),
            products(say, ["P(c)", *query.values()], [(shown(c), *asked.naive(c, 1)) for c in asked.classes]),
        ],
        erratum=Erratum(
            say("Lazy means other answers."),
            line(
                say(
                    "A row that is added tomorrow counts tomorrow, without training again; the answer {p} is "
                    "that of the table made before."
                ),
                p=decimal(posteriors(joints)["是"], ".6f"),
            ),
            copied=False,
        ),
        section=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.3."
        ),
        results=joint_results("α = 1", joints),
    )


@ManyDigits()
def incremental_page(lang: str) -> Sheet:
    """One more row changes a few counts; the model is that of all rows."""
    say, lesson = partial(text_in, lang), melons()
    before = Lesson(
        {k: v[:-1] for k, v in lesson.columns.items()},
        lesson.y[:-1],
        lesson.target,
        lesson.query,
        None,
        lesson.source,
        classes=lesson.classes,
    )
    new, label = lesson.rows[-1], lesson.y[-1]
    first = {c: before.naive(c, 1)[1] for c in lesson.classes}
    joints = {c: lesson.naive(c, 1)[1] for c in lesson.classes}
    changed = [
        (
            f"n({shown(label)}, {value})",
            exact(before.n({name: value}, label)),
            exact(lesson.n({name: value}, label)),
        )
        for name, value in new.items()
    ]
    return posterior_sheet(
        "incremental",
        say("Incremental learning: one more row"),
        lesson,
        lang,
        joints,
        question=say(
            "Sixteen melons are counted; then the seventeenth comes. Which counts change, and what becomes "
            "of the first melon's posterior?"
        ),
        working=[
            grid(
                ("", say("before"), say("after")),
                (f"n({shown(label)})", exact(before.n({}, label)), exact(lesson.n({}, label))),
                *changed,
            ),
            (say("Before:"),),
            products(
                say,
                ["P(c)", *map(shown, lesson.query.values())],
                [(shown(c), *before.naive(c, 1)) for c in lesson.classes],
            ),
            line("P(是 | x) = {p}", p=decimal(posteriors(first)["是"], ".6f")),
            (say("After:"),),
            products(
                say,
                ["P(c)", *map(shown, lesson.query.values())],
                [(shown(c), *lesson.naive(c, 1)) for c in lesson.classes],
            ),
        ],
        erratum=Erratum(
            say("The smoothed shares are updated."),
            line(
                say(
                    "The counts are kept, and smoothed when they are used. {n} counts change by one; "
                    "forgetting the row takes it off again, exactly."
                ),
                n=exact(1 + len(new)),
            ),
            copied=False,
        ),
        section=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.3."
        ),
        results=(*joint_results("α = 1", joints), *joint_results("before", first, prior=False)),
    )
