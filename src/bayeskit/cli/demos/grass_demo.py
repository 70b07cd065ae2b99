"""Wet grass: questions to a network, explaining away, and what a hose would have done."""

from __future__ import annotations

from typing import Any

from bayeskit.cli.demos.told import Part, Told, posterior_part, posteriors, why
from bayeskit.report.textbook.found import chooser


def tell(lang: str) -> Told:
    """Return the demonstration in a language."""
    from bayeskit.networks.examples import wet_grass

    say, network = chooser(lang), wet_grass()
    wet: dict[Any, Any] = {"wet": "yes"}
    found = posteriors(network, ("rain", "sprinkler"), ({}, wet, {**wet, "joe": "yes"}, {"joe": "yes"}))
    apart, apart_lines = why(network, "joe", "sprinkler", (), lang)
    joined, joined_lines = why(network, "joe", "sprinkler", ("wet",), lang)
    seen, done = (
        float(n.query("joe", evidence=e)["yes"]) for n, e in ((network, wet), (network.do(wet), {}))
    )
    return Told(
        "grass",
        say(
            "Wet grass: did it rain, or was the sprinkler left on?",
            "湿草地：是下过雨，还是洒水器忘了关？",
        ),
        (
            posterior_part(
                say("1. What the lawns tell", "1. 草地说明了什么"),
                say("nothing is known", "一无所知"),
                found,
                (
                    say(
                        "Joe's lawn says nothing about our sprinkler, and yet lowers it from {a:.4f} to "
                        "{b:.4f} once ours is "
                        "seen to be wet: it speaks for rain, and rain explains our lawn away.",
                        "Joe 的草地本与我家的洒水器无关；但看到自家草地湿之后，它却使洒水器的概率从 {a:.4f} "
                        "降到 {b:.4f}："
                        "它说明下过雨，而下雨已足以解释自家的草地。这就是解释消除。",
                    ).format(a=found[1]["sprinkler"], b=found[2]["sprinkler"]),
                ),
            ),
            Part(
                say("2. Why: the paths between them", "2. 原因：两者之间的路径"), apart_lines + joined_lines
            ),
            Part(
                say("3. Seeing is not doing", "3. 看到不等于做到"),
                (
                    say(
                        "P(joe = yes) is {seen:.4f} if our lawn is seen to be wet, {done:.4f} if we wet it "
                        "with a hose.",
                        "看到自家草地湿，P(joe = yes) 为 {seen:.4f}；若是自己拿水管浇湿的，则为 {done:.4f}。",
                    ).format(seen=seen, done=done),
                ),
            ),
        ),
        (
            "bayeskit textbook grass",
            "python -c \"from bayeskit.networks.examples import wet_grass; wet_grass().write('grass.bif')\"",
            "bayeskit network query grass.bif sprinkler --given wet=yes",
        ),
        {"posteriors": found, "independence": [apart, joined], "joe": {"seen": seen, "done": done}},
    )
