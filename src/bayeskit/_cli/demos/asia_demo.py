"""The chest clinic demonstration: successive findings, explaining away, and the next question."""

from __future__ import annotations

from functools import partial
from typing import Any

from bayeskit._cli.demos.demo_page import DemoPage, DemoSection, posterior_part, posteriors, why
from bayeskit._messages import text_in


def make_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    from bayeskit._networks.examples import asia

    say, network = partial(text_in, lang), asia()
    xray: dict[Any, Any] = {"xray": "yes"}
    both = {**xray, "asia": "yes"}
    found = posteriors(network, ("tub", "lung", "bronc"), ({}, xray, both, {**both, "smoke": "no"}))
    apart, apart_lines = why(network, "asia", "lung", (), lang)
    joined, joined_lines = why(network, "asia", "lung", ("xray",), lang)
    findings = network.sensitivity_to_findings("lung", both)
    ranked = [{"node": str(row.node), "information": float(row.mutual_information)} for row in findings.rows]
    return DemoPage(
        "asia",
        say("The chest clinic of Lauritzen and Spiegelhalter: an abnormal X-ray, and a visit to Asia"),
        (
            posterior_part(
                say("1. As findings come in"),
                say("a patient comes in"),
                found,
                (
                    say(
                        "A visit to Asia says nothing about cancer by itself. It speaks for tuberculosis, "
                        "which explains the "
                        "X-ray: P(lung) falls from {a:.1%} to {b:.1%}."
                    ).format(a=found[1]["lung"], b=found[2]["lung"]),
                ),
            ),
            DemoSection(say("2. Why: the paths between them"), apart_lines + joined_lines),
            DemoSection(
                say("3. What to ask next about lung cancer"),
                (
                    say(
                        "In nats, with the X-ray and the visit known; 'either' is no test, it only says "
                        "that one of the two "
                        "diseases is there."
                    ),
                ),
                (say("node"), say("information")),
                tuple((str(each["node"]), f"{each['information']:.4f}") for each in ranked),
            ),
        ),
        (
            "python -c \"from bayeskit._networks.examples import asia; asia().write('asia.bif')\"",
            "bayeskit network query asia.bif lung --given xray=yes --given asia=yes",
            "bayeskit network independent asia.bif asia lung --given xray",
        ),
        {"posteriors": found, "independence": [apart, joined], "ask_next": ranked},
    )
