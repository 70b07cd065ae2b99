r"""How a posterior depends on one number of a table.

Let x be one entry of one row of a table, the row's other entries sharing what is left in their present proportions.
Then P(t, e) and P(e) are linear in x, and so

.. math:: P(t \mid e)(x) = \frac{\alpha x + \beta}{\gamma x + \delta}.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayeskit.errors import SettingError
from bayeskit.networks.arguments import is_number
from bayeskit.schema import Label, Name
from bayeskit.visible import escape, visible


@dataclass(frozen=True)
class ParameterSensitivity:
    r"""P(target | evidence) as a function (α x + β)/(γ x + δ) of one parameter x.

    Attributes
    ----------
    target : (node, state)
    evidence : {node: state}
    node, given, state : the parameter is P(node = state | given)
    value : float
        What x is now.
    alpha, beta, gamma, delta : float
        Scaled so that γ x + δ is P(evidence)(x) over what P(evidence) is now.

    Examples
    --------
    A disease in 1 of 100, and a test that finds it in 9 cases of 10, and in 1 of 10 where it is not there: how much
    more common must the disease be for a positive test to mean it?

    >>> found = ParameterSensitivity(
    ...     ("ill", "yes"), {"test": "positive"}, "ill", {}, "yes", 0.01, 0.9, 0.0, 0.8, 0.1
    ... )
    >>> round(found.posterior, 4), round(found.derivative, 4), found.above(0.5)
    (0.0833, 7.716, (0.1, 1.0))
    """

    target: tuple[Name, Label]
    evidence: Mapping[Name, Any]
    node: Name
    given: Mapping[Name, Label]
    state: Label
    value: float
    alpha: float
    beta: float
    gamma: float
    delta: float

    @property
    def posterior(self) -> float:
        """P(target | evidence) as it is now."""
        return self.at(self.value)

    @property
    def derivative(self) -> float:
        """By how much P(target | evidence) changes with x, now."""
        return self.derivative_at(self.value)

    def at(self, x: float) -> float:
        """Return P(target | evidence) for another value of the parameter."""
        evidence = self._evidence(x)
        return min(max((self.alpha * x + self.beta) / evidence, 0.0), 1.0)

    def derivative_at(self, x: float) -> float:
        """Return dP/dx at another value of the parameter."""
        return (self.alpha * self.delta - self.beta * self.gamma) / self._evidence(x) ** 2

    def above(self, threshold: float) -> tuple[float, float] | None:
        """Return the least and the largest x in [0, 1] between which P stays at or above a threshold; None: nowhere."""
        if not is_number(threshold) or math.isnan(threshold):
            raise SettingError(f"threshold is {threshold!r}; give a number, such as 0.5.")
        # (α − pγ) x ≥ pδ − β. The function is monotone, so an end of [0, 1] is an end of the range.
        slope = self.alpha - threshold * self.gamma
        need = threshold * self.delta - self.beta
        if slope == 0.0:
            return (0.0, 1.0) if need <= 0.0 else None
        edge = need / slope
        if slope > 0.0:
            return (max(edge, 0.0), 1.0) if edge <= 1.0 else None
        return (0.0, min(edge, 1.0)) if edge >= 0.0 else None

    def _evidence(self, x: float) -> float:
        if not is_number(x) or not 0.0 <= x <= 1.0:
            raise SettingError(f"x is {x!r}; a probability lies between 0 and 1.")
        total = self.gamma * x + self.delta
        if total <= 0.0:
            raise SettingError(f"With {self._parameter()} = {x} the evidence has probability zero.")
        return total

    def _parameter(self) -> str:
        return _conditional(f"{self.node} = {self.state}", self.given)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).splitlines())

    def __str__(self) -> str:
        asked = _conditional(f"{self.target[0]} = {self.target[1]}", self.evidence)
        formula = f"({self.alpha:.6g} x + {self.beta:.6g})/({self.gamma:.6g} x + {self.delta:.6g})"
        return (
            f"{asked} = {formula} with x = {self._parameter()}\n"
            f"now x = {self.value:.6g}: {self.posterior:.6g}, changing by {self.derivative:.6g} dx"
        )


def _conditional(of: str, given: Mapping[Name, Any]) -> str:
    condition = ", ".join(f"{name} = {value}" for name, value in given.items())
    return visible(f"P({of} | {condition})" if given else f"P({of})")
