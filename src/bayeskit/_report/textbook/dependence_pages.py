"""Semi-naive Bayes by hand: one super-parent, the tree of TAN step by step, the average of AODE."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

from bayeskit._messages import text_in
from bayeskit._report.textbook.lesson import (
    Lesson,
    ManyDigits,
    Say,
    as_decimal,
    joint_results,
    ln,
    melons,
    number,
    posterior_sheet,
    product_of,
    products,
    result,
    shown,
)
from bayeskit._report.textbook.printed_number import Line, PrintedNumber, counted, decimal, joined, line, word
from bayeskit._report.textbook.sheet import Erratum, Grid, Sheet, grid

Parents = Mapping[str, str | None]


@ManyDigits()
def spode_page(lang: str, lesson: Lesson | None = None) -> Sheet:
    """All attributes depend on one super-parent."""
    say, lesson = partial(text_in, lang), lesson or melons()
    informations = {name: class_information(lesson, name) for name in lesson.query}
    chosen = max(informations, key=lambda name: informations[name])
    parents: dict[str, str | None] = {name: None if name == chosen else chosen for name in lesson.query}
    joints, table = _network(lesson, parents, say)
    rows = [(name, decimal(value, ".6f")) for name, value in informations.items()]
    return posterior_sheet(
        "spode",
        say("One super-parent (SPODE)"),
        lesson,
        lang,
        joints,
        working=[
            (say("The super-parent is the attribute that tells most about the class:"),),
            ("I(x_i; y) = Σ (n(c, v) / N) ln((n(c, v) N) / (n(c) n(v)))",),
            grid(("", "I(x_i; y)"), *rows),
            line("P(c, x) = P(c) P({x} | c) Π P(x_j | c, {x})", x=word(shown(lesson.query[chosen]))),
            (say("With Laplace's correction:"),),
            table,
        ],
        erratum=Erratum(
            say("Every attribute given the super-parent, the super-parent too."),
            line(
                say(
                    "The super-parent itself depends on the class alone: its factor is P({x} | c) = {p}, "
                    "not P({x} | c, {x}), which is one."
                ),
                x=word(shown(lesson.query[chosen])),
                p=lesson.share(chosen, lesson.query[chosen], lesson.classes[0], 1),
            ),
            copied=False,
        ),
        results=(
            *(result(f"I({name}; y)", value) for name, value in informations.items()),
            *joint_results("α = 1", joints),
        ),
        section=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.4."
        ),
    )


@ManyDigits()
def tan_page(lang: str, lesson: Lesson | None = None) -> Sheet:
    """Mutual information in counts, the maximum spanning tree step by step, the tree directed."""
    say, lesson = partial(text_in, lang), lesson or melons()
    names = list(lesson.query)
    weights = {pair: information(lesson, *pair) for pair in combinations(names, 2)}
    # Equal weights keep the order of the columns, as the library has it.
    order = sorted(weights, key=lambda pair: -round(weights[pair], 25))
    steps, taken = spanning(names, order)
    parents = directed(names, taken)
    joints, table = _network(lesson, parents, say)
    largest = order[0] if order else None
    working: list[Line | Grid] = [
        ("I(x_i; x_j | y) = Σ (n(c, u, v) / N) ln((n(c, u, v) n(c)) / (n(c, u) n(c, v)))",)
    ]
    if largest is not None:
        working += [
            line(
                say("The largest, {i} and {j}, term by term (cells with no rows add nothing):"),
                i=word(largest[0]),
                j=word(largest[1]),
            ),
            _terms(lesson, *largest, say),
            (
                say(
                    "The maximum spanning tree: the pairs by weight; one that would close a cycle is left out."
                ),
            ),
            grid(
                ("", "", "I(x_i; x_j | y)", ""),
                *(
                    (
                        word(i),
                        word(j),
                        decimal(weights[i, j], ".6f"),
                        word(say("taken") if fits else say("closes a cycle")),
                    )
                    for (i, j), fits in steps
                ),
            ),
            line(
                say("Directed away from the first attribute: {arcs}."),
                arcs=joined(say(", "), (word(f"{p} → {x}") for x, p in parents.items() if p)),
            ),
        ]
    working += [
        (say("Each attribute given the class and its parent, with Laplace's correction:"),),
        table,
    ]
    return posterior_sheet(
        "tan",
        say("Tree-augmented naive Bayes (TAN)"),
        lesson,
        lang,
        joints,
        working=working,
        erratum=Erratum(
            say("The tree by I(x_i; x_j) instead of I(x_i; x_j | y)."),
            line(
                say(
                    "Attributes may be dependent only because of the class, which is a parent already. "
                    "Weights are given the class: {i} and {j} have {a}; without it {b}."
                ),
                i=word(largest[0] if largest else ""),
                j=word(largest[1] if largest else ""),
                a=decimal(weights[largest] if largest else Decimal(0), ".6f"),
                b=decimal(plain_information(lesson, *largest) if largest else Decimal(0), ".6f"),
            ),
            copied=False,
        ),
        results=(
            *(result(f"I({i}; {j} | y)", value) for (i, j), value in weights.items()),
            *joint_results("α = 1", joints),
        ),
        section=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.4."
        ),
    )


@ManyDigits()
def aode_page(lang: str, lesson: Lesson | None = None) -> Sheet:
    """Every attribute is the super-parent once; the products are added."""
    say, lesson = partial(text_in, lang), lesson or melons()
    rows = []
    joints: dict[Any, Fraction | Decimal] = {c: Fraction(0) for c in lesson.classes}
    parents = [name for name, value in lesson.query.items() if lesson.n({name: value})]
    for name in parents:
        value = lesson.query[name]
        for c in lesson.classes:
            others = {
                x: lesson.share(x, v, c, 1, {name: value}) for x, v in lesson.query.items() if x != name
            }
            factors = [lesson.together(name, value, c), *others.values()]
            made = product_of(factors)
            joints[c] = Fraction(joints[c]) + made
            cells: list[Any] = [shown(c), factors[0], *(others.get(x, "–") for x in lesson.query)]
            rows.append((shown(value), cells, made))
    sums = [line("Σ = {p} ({c})", p=decimal(joints[c], ".8f"), c=shown(c)) for c in lesson.classes]
    first, c = parents[0], lesson.classes[0]
    value = lesson.query[first]
    again = counted(lesson.n({first: value}, c) + 1, lesson.n({first: value}, c) + lesson.size(first))
    return posterior_sheet(
        "aode",
        say("Averaged one-dependence estimators (AODE)"),
        lesson,
        lang,
        joints,
        working=[
            ("P(c, x) ∝ Σ P(c, x_i) Π P(x_j | c, x_i)",),
            (
                "P(c, x_i) = (n(c, x_i) + 1) / (N + K N_i), P(x_j | c, x_i) = (n(c, x_i, x_j) + 1) / (n(c, x_i) + N_j)",
            ),
            (say("Each row has one super-parent, whose own factor is left out:"),),
            products(say, ["c", "P(c, x_i)", *(shown(v) for v in lesson.query.values())], rows),
            *sums,
        ],
        erratum=Erratum(
            say("The product over all j, the super-parent included."),
            line(
                say(
                    "The super-parent is given, so its own factor is one. Under Laplace's correction it "
                    "would be {p} for {x} in {c}, and would favour the class with more such rows."
                ),
                p=again,
                x=shown(value),
                c=shown(c),
            ),
        ),
        results=joint_results("α = 1", joints),
        section=say(
            "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016, section 7.4."
        ),
    )


def _network(lesson: Lesson, parents: Parents, say: Say) -> tuple[dict[Any, Fraction | Decimal], Grid]:
    """The products of a structure, and the table of its factors."""
    joints: dict[Any, Fraction | Decimal] = {}
    rows = []
    for c in lesson.classes:
        factors: list[PrintedNumber] = [lesson.prior(c, 1)]
        for name, parent in parents.items():
            given = {parent: lesson.query[parent]} if parent else {}
            factors.append(lesson.share(name, lesson.query[name], c, 1, given))
        joints[c] = product_of(factors)
        rows.append((shown(c), factors, joints[c]))
    # The parent is a part of the answer, so it does not stand in the header.
    return joints, products(say, ["P(c)", *(shown(lesson.query[name]) for name in parents)], rows)


def class_information(lesson: Lesson, name: str) -> Decimal:
    """I(x; y), over the rows that have x."""
    total = lesson.n({}, None, [name])
    made = Decimal(0)
    for c in lesson.classes:
        for v in lesson.states(name):
            n = lesson.n({name: v}, c)
            if n:
                made += as_decimal(Fraction(n, total)) * ln(
                    Fraction(n * total, lesson.n({}, c, [name]) * lesson.n({name: v}))
                )
    return made


def information(lesson: Lesson, i: str, j: str) -> Decimal:
    """I(x_i; x_j | y), over the rows that have both."""
    return sum((term for *_, term in cells_of(lesson, i, j)), Decimal(0))


def cells_of(lesson: Lesson, i: str, j: str) -> list[tuple[Any, Any, Any, int, Fraction, Decimal]]:
    """The cells that have rows: class, states, count, the fraction under the logarithm, the term."""
    both = [i, j]
    total = lesson.n({}, None, both)
    found = []
    for c in lesson.classes:
        of_class = lesson.n({}, c, both)
        for u in lesson.states(i):
            for v in lesson.states(j):
                n = lesson.n({i: u, j: v}, c)
                if n:
                    ratio = Fraction(n * of_class, lesson.n({i: u}, c, both) * lesson.n({j: v}, c, both))
                    found.append((c, u, v, n, ratio, as_decimal(Fraction(n, total)) * ln(ratio)))
    return found


def plain_information(lesson: Lesson, i: str, j: str) -> Decimal:
    """I(x_i; x_j), the class left out."""
    both = [i, j]
    total = lesson.n({}, None, both)
    made = Decimal(0)
    for u in lesson.states(i):
        for v in lesson.states(j):
            n = lesson.n({i: u, j: v})
            if n:
                ratio = Fraction(n * total, lesson.n({i: u}, None, both) * lesson.n({j: v}, None, both))
                made += as_decimal(Fraction(n, total)) * ln(ratio)
    return made


def _terms(lesson: Lesson, i: str, j: str, say: Say) -> Grid:
    total = lesson.n({}, None, [i, j])
    rows: list[tuple[Any, ...]] = [
        (
            shown(c),
            word(shown(u)),
            word(shown(v)),
            line("{a} ln {b} = {t}", a=counted(n, total), b=_logged(ratio), t=decimal(term, ".6f")),
        )
        for c, u, v, n, ratio, term in cells_of(lesson, i, j)
    ]
    whole = number(information(lesson, i, j), ".6f")
    return grid(("c", "u", "v", say("term")), *rows, (say("sum"), "", "", whole))


def _logged(ratio: Fraction) -> PrintedNumber:
    return PrintedNumber(f"({ratio})" if ratio.denominator > 1 else str(ratio), ratio)


def spanning(
    names: list[str], order: list[tuple[str, str]]
) -> tuple[list[tuple[tuple[str, str], bool]], list[tuple[str, str]]]:
    """Kruskal: the pairs in order, whether each is taken, and the tree; it ends when all are joined.

    Examples
    --------
    >>> spanning(["a", "b", "c"], [("a", "b"), ("a", "c"), ("b", "c")])[1]
    [('a', 'b'), ('a', 'c')]
    """
    group = {name: name for name in names}
    steps: list[tuple[tuple[str, str], bool]] = []
    taken: list[tuple[str, str]] = []
    for i, j in order:
        if len(taken) == len(names) - 1:
            break
        fits = group[i] != group[j]
        steps.append(((i, j), fits))
        if fits:
            taken.append((i, j))
            old, new = group[j], group[i]
            group = {name: new if g == old else g for name, g in group.items()}
    return steps, taken


def directed(names: list[str], edges: list[tuple[str, str]]) -> dict[str, str | None]:
    """The parent of each attribute, the first being the root.

    Examples
    --------
    >>> directed(["a", "b", "c"], [("b", "c"), ("a", "c")])
    {'a': None, 'b': 'c', 'c': 'a'}
    """
    parents: dict[str, str | None] = {names[0]: None}
    waiting = [names[0]]
    while waiting:
        at = waiting.pop(0)
        for i, j in edges:
            other = j if i == at else i if j == at else None
            if other is not None and other not in parents:
                parents[other] = at
                waiting.append(other)
    return {name: parents.get(name) for name in names}
