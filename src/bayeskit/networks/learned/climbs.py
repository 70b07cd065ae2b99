"""What is remembered of a fit by EM."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Climbed:
    """What is remembered of a fit by EM; there are no counts of single rows in it to add to or take from."""

    history: tuple[float, ...]
    converged: bool
    starts: tuple[float, ...]
    n_rows: float
    fell: bool = False
