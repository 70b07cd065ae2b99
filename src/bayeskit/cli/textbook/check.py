"""The pages of the textbook recomputed: printed numbers, exact fractions and the library, each against the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayeskit.cli.textbook.library import LIBRARY
from bayeskit.report.textbook.sheet import Sheet

# What double precision may lose in a few products and one exponential.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Check:
    """What was compared on one page."""

    page: str
    compared: int
    largest: float
    differing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        told = {"page": self.page, "numbers": self.compared, "largest_difference": self.largest}
        return told | {"differing": list(self.differing)}


def check(sheet: Sheet) -> Check:
    """Compare a page with what the library computes.

    Examples
    --------
    >>> from bayeskit.report.textbook.spam import page
    >>> check(page("en")).compared, check(page("en")).differing
    (4, ())
    """
    return compared(sheet, LIBRARY[sheet.name]())


def compared(sheet: Sheet, found: Mapping[str, float]) -> Check:
    """Compare a page with other numbers of the same names; one that has no partner differs."""
    differing, largest = [], 0.0
    for result in sheet.results:
        if result.as_printed != result.printed:
            differing.append(f"{result.name} is {result.as_printed} by fractions, {result.printed} in print")
        if result.name not in found:
            differing.append(f"{result.name} is not computed by the library")
            continue
        exact, by_library = float(result.exact), found[result.name]
        difference = abs(by_library - exact) / abs(exact)
        largest = max(largest, difference)
        if not difference <= TOLERANCE:  # NaN differs, too
            differing.append(f"{result.name} is {exact!r} by fractions, {by_library!r} by the library")
    names = {result.name for result in sheet.results}
    differing += [f"{name} is not on the page" for name in found if name not in names]
    return Check(sheet.name, len(sheet.results), largest, tuple(differing))
