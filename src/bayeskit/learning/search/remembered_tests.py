"""Tests of independence that are made once, however often a search asks for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

from bayeskit.structure.questions import Question, Test

# The statistic, its degrees of freedom, p.
Answer = tuple[float, float, float]


class RememberedTests(ABC):
    """Answers a question from what was answered before, and makes the tests that are new."""

    def __init__(self) -> None:
        self._known: dict[Test, Answer] = {}

    @property
    def n_tested(self) -> int:
        """How many tests were made."""
        return len(self._known)

    def __call__(self, question: Question) -> list[Answer]:
        asked = [Test(min(a, b), max(a, b), z) for a, b, z in cast("Sequence[Test]", question)]
        new = [test for test in dict.fromkeys(asked) if test not in self._known]
        if new:
            self._make(new)
        return [self._known[test] for test in asked]

    @abstractmethod
    def _make(self, tests: list[Test]) -> None:
        """Make tests, a < b in each, that are not known yet, and put their answers into ``_known``."""
