"""Joint distributions by hand: wet grass, where one cause explains another away, and the three basic structures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from itertools import product

from bayeskit._messages import text_in
from bayeskit._report.textbook.printed_number import (
    Event,
    Joint,
    Line,
    bracketed,
    decimal,
    exact,
    joined,
    line,
    word,
)
from bayeskit._report.textbook.sheet import Erratum, Grid, Result, Sheet, grid

GRASS = Joint(
    {
        "R": ((), ("1/5",)),
        "S": ((), ("1/10",)),
        "J": (("R",), ("1/5", "1")),
        "B": (("R", "S"), ("0", "9/10", "1", "1")),
    }
)
WET, BOTH = {"B": 1}, {"B": 1, "J": 1}


def grass_page(lang: str) -> Sheet:
    """Return the grass_page in a language."""
    say, p = partial(text_in, lang), GRASS.p
    rain, sprinkler = say("rain"), say("sprinkler")
    wet, both = p({"S": 1}, WET), p({"S": 1}, BOTH)
    return Sheet(
        name="grass",
        lang=lang,
        title=say("Wet grass"),
        question=say(
            "It rains (R) with probability 1/5; the sprinkler was left on (S) with probability 1/10. Joe's "
            "lawn is wet "
            "(J) for certain if it rained, otherwise with probability 1/5. Ours is wet (B) for certain if "
            "it rained, "
            "with probability 9/10 if only the sprinkler was on, and never if neither. Ours is wet. Was it the "
            "sprinkler? And if Joe's is wet too?"
        ),
        given=(
            grid(("P(R=1)", "P(S=1)"), ("1/5", "1/10")),
            grid(
                ("R", "S", "P(J=1 | R)", "P(B=1 | R, S)"),
                *(
                    (r, s, GRASS.cell("J", _at(r, s)), GRASS.cell("B", _at(r, s)))
                    for r, s in product((0, 1), repeat=2)
                ),
            ),
        ),
        working=(
            ("P(R, S, J, B) = P(R) P(S) P(J | R) P(B | R, S)",),
            grid(
                ("R", "S", "P(R, S)", "P(R, S, B=1)", "P(R, S, B=1, J=1)"),
                *(_row(r, s) for r, s in product((0, 1), repeat=2)),
                (say("sum"), "", exact(1), exact(p(WET)), exact(p(BOTH))),
            ),
            (say("Each answer is the rows that agree, over all rows:"),),
            *(
                _share(say("{name}:").format(name=name), node, seen)
                for seen in (WET, BOTH)
                for name, node in ((rain, "R"), (sprinkler, "S"))
            ),
        ),
        answer=line(
            say(
                "Our wet lawn raises the sprinkler from {a} to {b}. Joe's, which our sprinkler cannot "
                "reach, lowers it "
                "to {c}: {rain} explains our lawn away."
            ),
            a=exact(p({"S": 1})),
            b=decimal(wet),
            c=decimal(both),
            rain=word(rain),
        ),
        errata=(
            Erratum(
                say("Independent, hence conditionally independent."),
                line(
                    say(
                        "It does not follow. Joe's lawn alone leaves the sprinkler where it was, P(S=1 | "
                        "J=1) = {a} = "
                        "P(S=1). Once ours is seen to be wet it matters: P(S=1 | B=1) = {b}, P(S=1 | B=1, "
                        "J=1) = {c}."
                    ),
                    a=exact(p({"S": 1}, {"J": 1})),
                    b=exact(wet),
                    c=exact(both),
                ),
            ),
        ),
        source=say(
            "D. Barber, Bayesian Reasoning and Machine Learning, Cambridge University Press 2012, chapter 3."
        ),
        results=(
            Result("P(B=1)", p(WET), "34/125"),
            Result("P(B=1, J=1)", p(BOTH), "134/625"),
            Result("P(R=1 | B=1)", p({"R": 1}, WET), "25/34"),
            Result("P(S=1 | B=1)", wet, "23/68"),
            Result("P(R=1 | B=1, J=1)", p({"R": 1}, BOTH), "125/134"),
            Result("P(S=1 | B=1, J=1)", both, "43/268"),
            Result("P(S=1 | J=1)", p({"S": 1}, {"J": 1}), "1/10"),
        ),
    )


def _at(r: int, s: int) -> dict[str, int]:
    return {"R": r, "S": s, "J": 1, "B": 1}


def _row(r: int, s: int) -> tuple[object, ...]:
    """The working of one row: two factors, then one more, then one more."""
    row = _at(r, s)
    cells = [GRASS.cell(name, row) for name in "RSBJ"]
    before, wet, both = cells[0] * cells[1], cells[0] * cells[1] * cells[2], GRASS.p(row)
    return (
        r,
        s,
        line("{a} · {b} = {c}", a=exact(cells[0]), b=exact(cells[1]), c=exact(before)),
        line("… · {a} = {b}", a=exact(cells[2]), b=exact(wet)),
        line("… · {a} = {b}", a=exact(cells[3]), b=exact(both)),
    )


def _share(name: str, node: str, seen: Event) -> Line:
    other = "S" if node == "R" else "R"
    terms = joined(" + ", (exact(GRASS.p({node: 1, other: state, **seen})) for state in (0, 1)))
    share = GRASS.p({node: 1}, seen)
    given = ", ".join(f"{key}=1" for key in seen)
    return line(
        "{name} P({node}=1 | {given}) = ({terms}) / {total} = {p} = {short}",
        name=name,
        node=node,
        given=given,
        terms=terms,
        total=bracketed(exact(GRASS.p(seen))),
        p=exact(share),
        short=decimal(share),
    )


FORK = Joint({"c": ((), ("0.4",)), "a": (("c",), ("0.2", "0.7")), "b": (("c",), ("0.1", "0.8"))})
CHAIN = Joint({"a": ((), ("0.3",)), "c": (("a",), ("0.2", "0.7")), "b": (("c",), ("0.1", "0.8"))})
COLLIDER = Joint(
    {
        "a": ((), ("0.3",)),
        "b": ((), ("0.6",)),
        "c": (("a", "b"), ("0.1", "0.5", "0.4", "0.9")),
        "d": (("c",), ("0.2", "0.7")),
    }
)
NETWORKS: Mapping[str, Joint] = {"fork": FORK, "chain": CHAIN, "collider": COLLIDER}
PRINTED = {
    "fork": ("59/250", "19/125", "14/25", "14/25"),
    "chain": ("177/1000", "207/2000", "12/25", "12/25"),
    "collider": ("9/50", "9/50", "81/224", "1395/3584"),
}
FAINT = {"d": 1}


def structures_page(lang: str) -> Sheet:
    """Return the structures_page in a language."""
    say, p = partial(text_in, lang), COLLIDER.p
    a, c, ca = CHAIN.p({"a": 1}), CHAIN.p({"c": 1}), CHAIN.p({"c": 1}, {"a": 1})
    answers = [(name, seen, both(name, seen)) for name in NETWORKS for seen in ({}, {"c": 1})]
    results = [
        Result(f"{name}: {key}", value, text)
        for name in NETWORKS
        for key, value, text in zip(
            ("P(a, b)", "P(a) P(b)", "P(a, b | c)", "P(a | c) P(b | c)"),
            (*both(name, {}), *both(name, {"c": 1})),
            PRINTED[name],
            strict=True,
        )
    ]
    return Sheet(
        name="structures",
        lang=lang,
        title=say("The three basic structures"),
        question=say(
            "Three nodes, two arcs: when are a and b independent? All nodes are 0 or 1; only the "
            "probability of 1 is "
            "given, and a, b, c in the answers mean a=1, b=1, c=1."
        ),
        given=_tables(say),
        working=(
            line(
                say("Common parent: {why}"),
                why="P(a, b | c) = P(c) P(a | c) P(b | c) / P(c) = P(a | c) P(b | c)",
            ),
            line(
                "P(a, b) = {terms} = {p}",
                terms=joined(" + ", (_product("fork", "cab", {"c": k}) for k in (0, 1))),
                p=exact(FORK.p({"a": 1, "b": 1})),
            ),
            line(
                say("Chain: {why}"),
                why="P(a) P(c | a) = P(c) P(a | c), P(a, b | c) = P(a | c) P(b | c)",
            ),
            line(
                "P(a, b) = {terms} = {p}",
                terms=joined(" + ", (_product("chain", "acb", {"c": k}) for k in (0, 1))),
                p=exact(CHAIN.p({"a": 1, "b": 1})),
            ),
            line(
                say("Common child: {why}"),
                why="P(a, b) = P(a) P(b) (P(c=0 | a, b) + P(c=1 | a, b)) = P(a) P(b)",
            ),
            line(
                "P(a, b) = {terms} = {p}",
                terms=joined(" · ", (exact(p({"a": 1})), exact(p({"b": 1})))),
                p=exact(p({"a": 1, "b": 1})),
            ),
            grid(
                ("", "c", "P(a, b | …)", "P(a | …) P(b | …)", say("independent")),
                *(
                    (
                        _shape(name),
                        say("known") if seen else say("unknown"),
                        exact(together),
                        exact(apart),
                        word(say("yes") if together == apart else say("no")),
                    )
                    for name, seen, (together, apart) in answers
                ),
            ),
            line(
                say(
                    "b explains c away: P(a | c) = {a}, P(a | c, b) = {ab}. A descendant d of c does the "
                    "same, more "
                    "faintly: P(a | d) = {d}, P(a | d, b) = {db}."
                ),
                a=exact(p({"a": 1}, {"c": 1})),
                ab=exact(p({"a": 1}, {"c": 1, "b": 1})),
                d=exact(p({"a": 1}, FAINT)),
                db=exact(p({"a": 1}, {**FAINT, "b": 1})),
            ),
        ),
        answer=line(
            say(
                "Common parent and chain: independent once c is {known}. Common child: independent while c, "
                "and every "
                "descendant of it, is {unknown}."
            ),
            known=word(say("known")),
            unknown=word(say("unknown")),
        ),
        errata=(
            Erratum(
                say("The chain with P(a, c) = P(c | a) P(c)."),
                line(
                    say(
                        "It is P(c | a) P(a) = {ca} · {a} = {right}. With P(c) = {c} in its place it would "
                        "be {wrong}."
                    ),
                    ca=exact(ca),
                    a=exact(a),
                    right=exact(CHAIN.p({"a": 1, "c": 1})),
                    c=exact(c),
                    wrong=exact(ca * c),
                ),
            ),
        ),
        source=say(
            "C. M. Bishop, Pattern Recognition and Machine Learning, Springer 2006, section 8.2; Zhou "
            "Zhihua (周志华), "
            "Machine Learning (《机器学习》), 2016, section 7.5. The numbers are ours."
        ),
        results=(
            *results,
            Result("collider: P(a | c)", p({"a": 1}, {"c": 1}), "15/32"),
            Result("collider: P(a | c, b)", p({"a": 1}, {"c": 1, "b": 1}), "27/62"),
            Result("collider: P(a | d)", p({"a": 1}, FAINT), "165/424"),
            Result("collider: P(a | d, b)", p({"a": 1}, {**FAINT, "b": 1}), "13/34"),
        ),
    )


def both(name: str, seen: Event) -> tuple[Fraction, Fraction]:
    """Return P(a, b | seen) and P(a | seen) P(b | seen).

    Examples
    --------
    >>> both("collider", {})
    (Fraction(9, 50), Fraction(9, 50))
    """
    p = NETWORKS[name].p
    return p({"a": 1, "b": 1}, seen), p({"a": 1}, seen) * p({"b": 1}, seen)


def _shape(name: str) -> str:
    return {"fork": "a ← c → b", "chain": "a → c → b", "collider": "a → c ← b"}[name]


def _product(name: str, order: str, at: Event) -> Line:
    """The factors of a row with a=1 and b=1, in the order of the arcs."""
    row = {"a": 1, "b": 1, **at}
    return joined(" · ", (decimal(NETWORKS[name].cell(node, row), "g") for node in order))


def _tables(say: Callable[[str], str]) -> tuple[Grid, ...]:
    rows = []
    for name, network in NETWORKS.items():
        for node, (parents, numbers) in network.tables.items():
            about = f"P({node} | {', '.join(parents)})" if parents else f"P({node})"
            states = {0: "", 1: "0, 1", 2: "00, 01, 10, 11"}[len(parents)]
            rows.append((_shape(name), about, states, ", ".join(numbers)))
    return (grid((say("structure"), "P", say("given"), ""), *rows),)
