"""Wet grass: four nodes, and how one cause explains another away."""

from __future__ import annotations

from functools import partial
from itertools import product

from bayeskit._messages import text_in
from bayeskit._report.textbook.counts import Event, Joint
from bayeskit._report.textbook.printed_number import Line, bracketed, decimal, exact, joined, line, word
from bayeskit._report.textbook.sheet import Erratum, Result, Sheet, grid

GRASS = Joint(
    {
        "R": ((), ("1/5",)),
        "S": ((), ("1/10",)),
        "J": (("R",), ("1/5", "1")),
        "B": (("R", "S"), ("0", "9/10", "1", "1")),
    }
)
WET, BOTH = {"B": 1}, {"B": 1, "J": 1}


def page(lang: str) -> Sheet:
    """Return the page in a language."""
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
