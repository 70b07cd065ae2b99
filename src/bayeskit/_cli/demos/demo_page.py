"""The content of a demonstration as a value, its printing, and the queries shared by both networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork


@dataclass(frozen=True)
class DemoSection:
    """A heading, a table under it, and lines under that."""

    heading: str
    lines: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    right: int = 1
    """The first column that contains numbers."""


@dataclass(frozen=True)
class DemoPage:
    """A demonstration: its parts for people, its numbers for programs, and lines to continue with."""

    name: str
    title: str
    parts: tuple[DemoSection, ...]
    next_lines: tuple[str, ...]
    data: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"demo": self.name, "title": self.title, **self.data, "next": list(self.next_lines)}


def print_page(page: DemoPage, lang: str) -> None:
    """Print all parts."""
    from bayeskit._cli.demos.stories import WORDS
    from bayeskit._cli.output import console, table

    screen = console()
    screen.print(page.title, style="bold")
    for part in page.parts:
        screen.print(f"\n{part.heading}", style="bold cyan")
        if part.rows:
            screen.print(table(part.header, part.rows, part.right))
        for line in part.lines:
            screen.print(line)
    screen.print(f"\n{WORDS.of(lang)['next']}", style="bold")
    for line in page.next_lines:
        screen.print(f"  {line}", soft_wrap=True)  # never broken, so that it can be copied


Seen = Mapping[Any, Any]


def posteriors(network: BayesianNetwork, nodes: Sequence[str], steps: Sequence[Seen]) -> list[dict[str, Any]]:
    """Return P(node = yes | seen) of each node, for each set of findings.

    Examples
    --------
    >>> from bayeskit._networks.examples import wet_grass
    >>> found = posteriors(wet_grass(), ["rain"], [{}, {"wet": "yes"}])
    >>> [round(each["rain"], 4) for each in found]
    [0.2, 0.7353]
    """
    return [
        {"given": dict(seen)}
        | {node: float(network.query(node, evidence=dict(seen))["yes"]) for node in nodes}
        for seen in steps
    ]


def posterior_part(
    heading: str, nothing: str, found: Sequence[Mapping[str, Any]], lines: tuple[str, ...]
) -> DemoSection:
    """Draw the posteriors as a table."""
    nodes = [key for key in found[0] if key != "given"]
    rows = []
    for each in found:
        seen = ", ".join(f"{node} = {state}" for node, state in each["given"].items())
        rows.append((seen or nothing, *(f"{each[node]:.4f}" for node in nodes)))
    return DemoSection(heading, lines, ("", *(f"P({node} = yes)" for node in nodes)), tuple(rows))


def why(
    network: BayesianNetwork, a: str, b: str, given: Sequence[str], lang: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return whether two nodes are independent and by which paths, as values and as lines."""
    found = network.why_independent(a, b, list(given))
    plain = [{"path": str(path), "blocked": path.blocked} for path in found.paths]
    data = {"a": a, "b": b, "given": list(given), "independent": found.independent, "paths": plain}
    return data, tuple(found.outline(lang))
