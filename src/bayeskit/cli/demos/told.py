"""What a demonstration tells, as a value, and printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Part:
    """A heading, a table under it, and lines under that."""

    heading: str
    lines: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    right: int = 1
    """The columns from this one on hold numbers."""


@dataclass(frozen=True)
class Told:
    """A demonstration: its parts for people, its numbers for programs, and lines to go on with."""

    name: str
    title: str
    parts: tuple[Part, ...]
    next_lines: tuple[str, ...]
    data: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"demo": self.name, "title": self.title, **self.data, "next": list(self.next_lines)}


def print_told(told: Told, lang: str) -> None:
    """Print all parts."""
    from bayeskit.cli.output import console, table
    from bayeskit.cli.words import words_of

    screen = console()
    screen.print(told.title, style="bold")
    for part in told.parts:
        screen.print(f"\n{part.heading}", style="bold cyan")
        if part.rows:
            screen.print(table(part.header, part.rows, part.right))
        for line in part.lines:
            screen.print(line)
    screen.print(f"\n{words_of(lang)['next']}", style="bold")
    for line in told.next_lines:
        screen.print(f"  {line}", soft_wrap=True)  # never broken, so that it can be copied
