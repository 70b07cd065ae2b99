"""bayes: Bayes' rule by hand, with fractions, and the unit square as a picture."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from bayeskit._cli.options import Common, FileUse
from bayeskit._messages import WordList

WORDS = WordList(
    {
        "class": "class",
        "prior": "prior P(c)",
        "likelihood": "likelihood P(x | c)",
        "product": "product P(c)·P(x | c)",
        "posterior": "posterior P(c | x)",
        "total": "total probability  P(x) = {sum} = {value}",
        "square": "The unit square: widths are priors, filled heights likelihoods, areas products; the "
        "posterior is a share of what is filled.",
        "scaled": "(Some likelihoods are densities above 1: heights are drawn as shares of the largest.)",
        "drawn": "Drawn to {path}.",
    }
)


def bayes(
    prior: Annotated[
        str, typer.Option("--prior", metavar="C=P,...", help="Such as spam=0.7,ham=0.3 or a=1/3,b=2/3.")
    ],
    likelihood: Annotated[
        str, typer.Option("--likelihood", metavar="C=P,...", help="P(x | c) of each class; densities too.")
    ],
    common: Common,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="Draw the unit square."), FileUse.written
    ] = None,
) -> None:
    """Bayes' rule by hand: a prior, a likelihood, a posterior.

    Total probability and products, as fractions where these are short, and the unit square that shows them.
    """
    from bayeskit._cli.bayes_rule import as_svg, as_text, by_hand, fraction_text
    from bayeskit._cli.output import console, print_json, show, table
    from bayeskit._cli.row_writing import opened_text

    rule = by_hand(prior, likelihood)
    if svg is not None:
        picture = as_svg(rule, common.lang.value)
        with opened_text(svg) as stream:
            stream.write(picture + "\n")
    if common.as_json:
        print_json(rule.to_dict())
        return
    rows = [
        (
            name,
            *map(
                fraction_text,
                (rule.prior[name], rule.likelihood[name], rule.product[name], rule.posterior[name]),
            ),
        )
        for name in rule.prior
    ]
    headers = [common.say(WORDS[key]) for key in ("class", "prior", "likelihood", "product", "posterior")]
    console().print(table(headers, rows, 1))
    terms = [f"{_plain(rule.prior[name])}·{_plain(rule.likelihood[name])}" for name in rule.prior]
    show(common.say(WORDS["total"], sum=" + ".join(terms), value=fraction_text(rule.total)))
    show("\n" + common.say(WORDS["square"]))
    show(as_text(rule))
    if rule.tallest > 1:
        show(common.say(WORDS["scaled"]))
    if svg is not None:
        show(common.say(WORDS["drawn"], path=svg))


def _plain(value: Fraction) -> str:
    """Write a number as short as it can be read: 0.7, 1/3."""
    number = float(value)
    return f"{number:g}" if Fraction(f"{number:g}") == value else str(value)
