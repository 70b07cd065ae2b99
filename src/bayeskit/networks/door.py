"""Where questions come in: names checked, evidence read, impossible evidence explained."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from bayeskit.errors import BayeskitError, ImpossibleEvidence, SettingError, TooLarge
from bayeskit.networks.evidence import Reader
from bayeskit.schema import Label, Name, Variable, first_twice


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

    def __init__(self, states: Mapping[Any, Label], log_probability: float) -> None:
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


T = TypeVar("T")


def minimal_conflict(items: Sequence[T], impossible: Callable[[list[T]], bool]) -> list[T]:
    """Return items that are impossible together while any fewer of them are possible.

    Parameters
    ----------
    items : impossible together
    impossible : tells whether some of the items are; whoever contains impossible items is impossible too.
        Where it cannot tell it may say False: the answer is then still impossible, perhaps not minimal.

    The shortest impossible prefix ends in an item that every conflict within the prefix needs. It is found by
    bisection, moved to the front, and the search goes on in what stands before it: about c·log₂(n) questions
    for a conflict of c items out of n, where leaving out one item at a time would ask n.

    Examples
    --------
    >>> minimal_conflict([3, 1, 4, 1, 5, 9], lambda some: 4 in some and 9 in some)
    [4, 9]
    """
    needed: list[int] = []
    rest = list(range(len(items)))
    while rest and not impossible([items[i] for i in needed]):
        low, high = 0, len(rest)  # needed + rest[:high] is impossible, needed + rest[:low] is not
        while high - low > 1:
            middle = (low + high) // 2
            if impossible([items[i] for i in (*needed, *rest[:middle])]):
                high = middle
            else:
                low = middle
        needed.append(rest[high - 1])
        rest = rest[: high - 1]
    return [items[i] for i in sorted(needed)]


Given = Mapping[Any, Any] | None

# To find a smallest part of impossible evidence so many questions are asked; then what is left of it is named whole.
MOST_QUESTIONS = 1000
# Where a node is a rule with too many cells for a table, each of these questions may use so many bytes: the less of
# its causes a part observes, the more cells it takes to see that the part is possible.
LIMIT_BESIDE_RULES = 2**20


class Door(ABC):
    """One network at one moment, ready to be asked: what changes the network makes another door."""

    has_rules: bool = False

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.variables = tuple(variables)
        self.reader = Reader(self.variables)

    @abstractmethod
    def log_evidence(self, evidence: Given, soft: Given, limit: float) -> float:
        """Return the logarithm of the evidence's probability, not normalised; −inf where it is impossible."""

    def targets(self, names: tuple[Any, ...]) -> tuple[int, ...]:
        """Return the places of the nodes asked for: at least one, none twice; one list of them is taken apart."""
        if len(names) == 1 and (
            isinstance(names[0], list) or (isinstance(names[0], tuple) and names[0] not in self.reader)
        ):
            names = tuple(names[0])
        if not names:
            raise SettingError("No node was asked for. Name one or more.")
        places = tuple(self.reader.place(name) for name in names)
        if len(set(places)) < len(places):
            raise SettingError(f"{first_twice(names)!r} was asked for twice. Name each node once.")
        return places

    def discrete_target(self, name: Name) -> int:
        """Return the place of the one node whose states are to be predicted."""
        place = self.reader.place(name, "it is the target")
        if self.variables[place].kind != "categorical":
            raise SettingError(
                f"{name!r} is continuous and has no states to predict. Ask posteriors for its distribution."
            )
        return place

    def impossible(self, evidence: Given, soft: Given, limit: float) -> BayeskitError:
        """Return the error to raise: it names a smallest part of the evidence that is impossible."""
        limit = min(limit, LIMIT_BESIDE_RULES) if self.has_rules else limit
        items = [(False, name) for name in evidence or ()] + [(True, name) for name in soft or ()]

        def part(some: list[tuple[bool, Name]]) -> tuple[dict[Name, Any], dict[Name, Any]]:
            hard = {name: (evidence or {})[name] for is_soft, name in some if not is_soft}
            return hard, {name: (soft or {})[name] for is_soft, name in some if is_soft}

        asked = itertools.count(1)

        def is_impossible(some: list[tuple[bool, Name]]) -> bool:
            if next(asked) > MOST_QUESTIONS:
                return False
            try:
                return self.log_evidence(*part(some), limit) == -math.inf
            except TooLarge:  # less evidence can mean larger tables
                return False

        hard, weighed = part(minimal_conflict(items, is_impossible))
        if not hard and not weighed:
            return SettingError(
                "The factors multiply to zero in every cell, so there is no distribution. Give some cell that no "
                "factor forbids."
            )
        both = {name: (hard[name], likelihoods) for name, likelihoods in weighed.items() if name in hard}
        return ImpossibleEvidence({**hard, **weighed, **both})
