"""The wet grass demonstration: queries, explaining away, and an intervention."""

from __future__ import annotations

from functools import partial
from typing import Any

from bayeskit._cli.demos.demo_page import DemoPage, DemoSection, posterior_part, posteriors, why
from bayeskit._messages import text_in


def make_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    from bayeskit._networks.examples import wet_grass

    say, network = partial(text_in, lang), wet_grass()
    wet: dict[Any, Any] = {"wet": "yes"}
    found = posteriors(network, ("rain", "sprinkler"), ({}, wet, {**wet, "joe": "yes"}, {"joe": "yes"}))
    apart, apart_lines = why(network, "joe", "sprinkler", (), lang)
    joined, joined_lines = why(network, "joe", "sprinkler", ("wet",), lang)
    seen, done = (
        float(n.query("joe", evidence=e)["yes"]) for n, e in ((network, wet), (network.do(wet), {}))
    )
    return DemoPage(
        "grass",
        say("Wet grass: did it rain, or was the sprinkler left on?"),
        (
            posterior_part(
                say("1. What the lawns tell"),
                say("nothing is known"),
                found,
                (
                    say(
                        "Joe's lawn says nothing about our sprinkler, and yet lowers it from {a:.4f} to "
                        "{b:.4f} once ours is "
                        "seen to be wet: it speaks for rain, and rain explains our lawn away."
                    ).format(a=found[1]["sprinkler"], b=found[2]["sprinkler"]),
                ),
            ),
            DemoSection(say("2. Why: the paths between them"), apart_lines + joined_lines),
            DemoSection(
                say("3. Seeing is not doing"),
                (
                    say(
                        "P(joe = yes) is {seen:.4f} if our lawn is seen to be wet, {done:.4f} if we wet it "
                        "with a hose."
                    ).format(seen=seen, done=done),
                ),
            ),
        ),
        (
            "bayeskit textbook grass",
            "python -c \"from bayeskit._networks.examples import wet_grass; wet_grass().write('grass.bif')\"",
            "bayeskit network query grass.bif sprinkler --given wet=yes",
        ),
        {"posteriors": found, "independence": [apart, joined], "joe": {"seen": seen, "done": done}},
    )
