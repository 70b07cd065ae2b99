"""What is remembered of a fit by EM, and how it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from bayeskit.learning.networks.network_counts import NetworkCounts


@dataclass(frozen=True)
class Climbed:
    """What is remembered of a fit by EM; there are no counts of single rows in it to add to or take from."""

    history: tuple[float, ...]
    converged: bool
    starts: tuple[float, ...]
    n_rows: float
    fell: bool = False


class Climbs:
    """The part of a network that tells how EM went."""

    _learned: NetworkCounts | Climbed | None

    @property
    def history_(self) -> tuple[float, ...]:
        """What EM climbed, at its start and after every step: the log-likelihood of all rows, with the prior's term.

        Where it fell (``fell_``) the tables kept are those of its largest value, not of the last. Of structural EM: the
        score of all rows with its first graph and with every further one.
        """
        return self._climbed("history_").history

    @property
    def fell_(self) -> bool:
        """Whether ``history_`` ever fell by more than rounding.

        It cannot while every estimate is the one of largest likelihood or posterior; ``variance="unbiased"`` is not,
        nor is a variance of a continuous node that stands on its floor, as in a cell of one row.
        """
        return self._climbed("fell_").fell

    @property
    def converged_(self) -> bool:
        """Whether EM ended because nothing changed any more."""
        return self._climbed("converged_").converged

    @property
    def n_iter_(self) -> int:
        """How many steps EM made; of structural EM, how many graphs came after the first."""
        return len(self._climbed("n_iter_").history) - 1

    @property
    def starts_(self) -> tuple[float, ...]:
        """The value that each start of EM reached in its short run (−inf where it failed)."""
        return self._climbed("starts_").starts

    def _climbed(self, name: str) -> Climbed:
        if not isinstance(self._learned, Climbed):
            raise AttributeError(
                f'{name} is there after fit(..., method="em"), until the network is changed.'
            )
        return self._learned
