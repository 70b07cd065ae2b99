"""Scores of families by name: what a structure is worth, given counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bayeskit.errors import SettingError

NAMES = ("loglik", "aic", "bic", "bdeu", "bds", "k2")


@dataclass(frozen=True)
class Score:
    r"""A decomposable score on the scale of the log-likelihood; larger is better.

    ``loglik`` Σ n log(n/n_parents); ``aic`` less one for each parameter; ``bic`` (MDL) less ½ log n for each;
    ``bdeu`` the evidence under Dirichlet rows with ess/(q·r) a cell; ``bds`` the same with the configurations
    that occur in the place of q; ``k2`` one a cell. Parameters are (r − 1)·∏ r_parents over *declared* states.

    Examples
    --------
    >>> Score("bic").penalty(100)
    2.302585092994046
    """

    name: str = "bic"
    ess: float = 1.0

    def penalty(self, n_rows: float) -> float:
        """Return what one parameter costs."""
        if self.name == "aic":
            return 1.0
        return 0.5 * math.log(max(n_rows, 1.0)) if self.name == "bic" else 0.0

    @property
    def by_likelihood(self) -> bool:
        return self.name in ("loglik", "aic", "bic")

    @property
    def weight(self) -> float:
        """The imaginary rows of a family; −1: one in every cell."""
        return -1.0 if self.name == "k2" else self.ess


def as_score(score: object, ess: float = 1.0) -> Score:
    """Read a score given by name; "mdl" is another word for "bic"."""
    if isinstance(score, Score):
        return score
    name = "bic" if isinstance(score, str) and score == "mdl" else score
    if not isinstance(name, str) or name not in NAMES:
        raise SettingError(f"score is {score!r}; there are {', '.join(NAMES)}.")
    if isinstance(ess, bool) or not isinstance(ess, (int, float)) or not 0.0 < ess < math.inf:
        raise SettingError(f"ess is {ess!r}; give a number of imaginary rows above 0.")
    return Score(name, float(ess))
