"""What a question for the most probable states is answered with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bayeskit.schema import Label, Name


class MostProbable(dict[Name, Label]):
    """Node → state, and how probable these states are together with the evidence.

    Attributes
    ----------
    log_probability : float
        Natural logarithm of P(states, evidence); for continuous nodes of the density.

    Examples
    --------
    >>> best = MostProbable({"rain": "no"}, -0.25)
    >>> best["rain"], best.log_probability
    ('no', -0.25)
    >>> best
    MostProbable({'rain': 'no'}, log_probability=-0.25)
    """

    __slots__ = ("log_probability",)

    def __init__(self, states: Mapping[Name, Label], log_probability: float) -> None:
        super().__init__(states)
        self.log_probability = log_probability

    @property
    def probability(self) -> float:
        """P(states, evidence): zero where it is too small for a number."""
        return math.exp(self.log_probability)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self.log_probability)

    def __repr__(self) -> str:
        return f"MostProbable({super().__repr__()}, log_probability={self.log_probability:.6g})"

    def _repr_html_(self) -> str:
        from bayeskit.report.html import as_html
        from bayeskit.report.page import Page

        rows = tuple((str(name), str(state)) for name, state in self.items())
        last = ("log probability", f"{self.log_probability:.6g}".replace("-", "−"))
        return as_html(Page("Most probable states", ("node", "state"), rows, (last,), ()))
