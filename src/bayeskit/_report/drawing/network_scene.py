"""The drawing of a network: a box for each node, an arrow for each arc."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayeskit._graphs.network import Network
from bayeskit._report.drawing.graph_layout import Direction, lay_out
from bayeskit._report.drawing.node_card import card_of
from bayeskit._report.scene import Group, Line, Point, Scene
from bayeskit._schema import Name

MARGIN = 16.0
HEAD_LENGTH, HEAD_WIDTH = 9.0, 7.0


def network_scene(
    network: Network,
    beliefs: Mapping[Name, Any] | None = None,
    findings: Mapping[Name, str] | None = None,
    direction: Direction = "down",
) -> Scene:
    """Draw a network.

    Parameters
    ----------
    network : the network
    beliefs : what to draw in each box: an array of probabilities, or a mixture for a continuous node
    findings : what is known of the observed nodes, in words, such as "= yes"
    direction : the direction of the arcs, "down" or "right"

    Examples
    --------
    >>> from bayeskit._graphs.network import Node, discrete
    >>> network_scene(Network((Node(discrete("rain", ["no", "yes"])),))).title
    'Bayesian network, 1 node, no arc'
    """
    beliefs, findings = beliefs or {}, findings or {}
    cards = [
        card_of(node.name, node.variable.states, beliefs.get(node.name), findings.get(node.name, ""))
        for node in network.nodes
    ]
    layout = lay_out(network.dag, [card.size for card in cards], direction)
    arcs = [
        Group(f"{parent} → {child}", _arrow(route, layout.direction))
        for (parent, child), route in zip(network.dag.arcs, layout.routes, strict=True)
    ]
    boxes = [card.draw(MARGIN + box.x, MARGIN + box.y) for card, box in zip(cards, layout.boxes, strict=True)]
    return Scene(
        layout.width + 2 * MARGIN,
        layout.height + 2 * MARGIN,
        title_of(network),
        _description(network, findings),
        (*arcs, *boxes),
    )


def title_of(network: Network) -> str:
    """Return the name of a network and its size."""
    parts = [network.name or "Bayesian network", _count(len(network.nodes), "node")]
    return ", ".join([*parts, _count(len(network.dag.arcs), "arc")])


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number in (0, 1) else 's'}"


def _description(network: Network, findings: Mapping[Name, str]) -> str:
    """Describe the arcs in words, for screen readers."""
    arcs = [f"{parent} → {child}" for parent, child in network.dag.arcs[:40]]
    more = len(network.dag.arcs) - len(arcs)
    known = [f"{name} {finding}" for name, finding in findings.items()]
    said = [f"Arcs: {', '.join(arcs)}{f', and {more} more' if more else ''}."] if arcs else []
    return " ".join([*said, *([f"Observed: {', '.join(known)}."] if known else [])])


def _arrow(route: tuple[Point, ...], direction: str) -> tuple[Line, ...]:
    """Return the line of an arc and its head. The line ends where the head begins."""
    points = [(x + MARGIN, y + MARGIN) for x, y in route]
    if direction == "right":  # computed for "down", then turned
        points = [(y, x) for x, y in points]
    (_, before), (x, y) = points[-2], points[-1]
    points[-2:] = [(x, min(before, y - HEAD_LENGTH + 1)), (x, y - HEAD_LENGTH + 1)]
    steps: list[tuple[str, tuple[Point, ...]]] = [("M", (points[0],))]
    here = points[0]
    for there in points[1:]:
        if there == here:
            continue
        if abs(there[0] - here[0]) < 0.05:
            steps.append(("L", (there,)))
        else:
            middle = (here[1] + there[1]) / 2
            steps.append(("C", ((here[0], middle), (there[0], middle), there)))
        here = there
    side = HEAD_WIDTH / 2
    head = (
        ("M", ((x, y),)),
        ("L", ((x - side, y - HEAD_LENGTH),)),
        ("L", ((x + side, y - HEAD_LENGTH),)),
        ("Z", ()),
    )
    lines = (Line(tuple(steps), "arc"), Line(head, "head"))
    return lines if direction == "down" else tuple(map(_turned, lines))


def _turned(line: Line) -> Line:
    return Line(tuple((verb, tuple((y, x) for x, y in at)) for verb, at in line.steps), line.style)
