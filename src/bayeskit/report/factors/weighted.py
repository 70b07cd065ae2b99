"""The explanation of a weighted product: every factor raised to the weight of its attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bayeskit.report.explanation import Explanation, Factor
from bayeskit.report.fractions import short
from bayeskit.schema import Name


def weigh(explanation: Explanation, weights: Mapping[Name, float]) -> Explanation:
    """Return the explanation with each attribute's factors raised to its weight; 0⁰ is 1.

    Examples
    --------
    >>> import math
    >>> from bayeskit.report import Attribute
    >>> odour = Attribute("odour", "foul", "table", (Factor(math.log(0.64), "64/100"),))
    >>> page = weigh(Explanation("class", ("poisonous",), (Factor(0.0),), (odour,), ()), {"odour": 0.5})
    >>> page.attributes[0].factors[0].working, round(page.attributes[0].factors[0].probability, 6)
    ('(64/100)^0.5', 0.8)
    """
    attributes = tuple(
        replace(a, factors=tuple(_raised(factor, weights[a.name]) for factor in a.factors))
        for a in explanation.attributes
    )
    return replace(explanation, attributes=attributes)


def _raised(factor: Factor, weight: float) -> Factor:
    log = factor.log * weight if weight > 0.0 else 0.0
    plain = weight == 1.0 or not factor.working
    return Factor(log, factor.working if plain else f"({factor.working})^{short(weight)}")
