"""Where the boxes of a graph stand and how its arcs run: layered, every arc leading onward.

The method of Sugiyama, Tagawa and Toda (1981): layers, bends for long arcs, few crossings, then places.
Nothing is drawn at random: the same graph has the same layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bayeskit.graphs.dag import Dag
from bayeskit.report.mixtures.component_layout import component_layout


@dataclass(frozen=True)
class Component:
    """Nodes that arcs join, in order, and the numbers of these arcs."""

    nodes: tuple[int, ...]
    arcs: tuple[int, ...]


def components(n_nodes: int, arcs: Sequence[tuple[int, int]]) -> list[Component]:
    """Return the connected parts of a graph, by their first node.

    >>> components(3, [(2, 0)])
    [Component(nodes=(0, 2), arcs=(0,)), Component(nodes=(1,), arcs=())]
    """
    near: list[list[int]] = [[] for _ in range(n_nodes)]
    for a, b in arcs:
        near[a].append(b)
        near[b].append(a)
    part = [-1] * n_nodes
    n_parts = 0
    for start in range(n_nodes):
        if part[start] >= 0:
            continue
        part[start] = n_parts
        stack = [start]
        while stack:
            for other in near[stack.pop()]:
                if part[other] < 0:
                    part[other] = n_parts
                    stack.append(other)
        n_parts += 1
    nodes: list[list[int]] = [[] for _ in range(n_parts)]
    inside: list[list[int]] = [[] for _ in range(n_parts)]
    for node, each in enumerate(part):
        nodes[each].append(node)
    for number, (parent, _) in enumerate(arcs):
        inside[part[parent]].append(number)
    return [Component(tuple(n), tuple(a)) for n, a in zip(nodes, inside)]


def on_shelves(
    sizes: Sequence[tuple[float, float]], gap: float, shape: float = 1.6
) -> tuple[list[tuple[float, float]], float, float]:
    """Put rectangles side by side on shelves, the tallest first; return their corners, the width and the height.

    ``shape`` is the width to aim at, in heights; a rectangle that is wider has a shelf to itself.

    >>> on_shelves([(10, 10), (10, 30)], 5, shape=9)
    ([(15.0, 0.0), (0.0, 0.0)], 25.0, 30.0)
    """
    order = sorted(range(len(sizes)), key=lambda k: -sizes[k][1])
    area = sum((width + gap) * (height + gap) for width, height in sizes)
    room = max([(area * shape) ** 0.5, *(width + gap for width, _ in sizes)], default=0.0)
    corners = [(0.0, 0.0)] * len(sizes)
    x = y = shelf = widest = bottom = 0.0
    for k in order:
        width, height = sizes[k]
        if x > 0 and x + width > room:
            x, y = 0.0, y + shelf + gap
            shelf = 0.0
        corners[k] = (x, y)
        x += width + gap
        shelf = max(shelf, height)
        widest, bottom = max(widest, x - gap), max(bottom, y + height)
    return corners, float(widest), float(bottom)


Direction = Literal["down", "right"]
Point = tuple[float, float]

GAP = 28.0


@dataclass(frozen=True)
class Box:
    """A rectangle: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Boxes in the order of the nodes, routes in the order of the arcs, within 0 … width and 0 … height.

    A route is a list of points: from the first to the second straight, to the third in a bow, to the fourth
    straight, and so on; straight parts run in the direction of the layout, and boxes stand beside these only.
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: tuple[tuple[Point, ...], ...]
    direction: Direction = "down"

    def turned(self) -> Layout:
        """Exchange right and down."""
        return Layout(
            self.height,
            self.width,
            tuple(Box(b.y, b.x, b.height, b.width) for b in self.boxes),
            tuple(tuple((y, x) for x, y in route) for route in self.routes),
            "down" if self.direction == "right" else "right",
        )


def lay_out(dag: Dag, sizes: Sequence[tuple[float, float]], direction: Direction = "down") -> Layout:
    """Lay a graph out.

    Parameters
    ----------
    dag : the graph
    sizes : (width, height) of each node's box
    direction : "down" or "right", where arcs lead to

    Examples
    --------
    >>> layout = lay_out(Dag.of({"wet": ["rain"]}, ["rain", "wet"]), [(60, 20), (60, 20)])
    >>> [(box.x, box.y) for box in layout.boxes]
    [(0.0, 0.0), (0.0, 68.0)]
    """
    if direction == "right":
        return lay_out(dag, [(height, width) for width, height in sizes]).turned()
    arcs = [(dag.position[parent], dag.position[child]) for parent, child in dag.arcs]
    boxes: list[Box] = [Box(0.0, 0.0, 0.0, 0.0)] * len(dag.nodes)
    routes: list[tuple[Point, ...]] = [()] * len(arcs)
    parts = components(len(dag.nodes), arcs)
    drawn = [
        component_layout([arcs[a] for a in part.arcs], [sizes[node] for node in part.nodes], part.nodes)
        for part in parts
    ]
    corners, width, height = on_shelves([(each.width, each.height) for each in drawn], GAP)
    for part, each, (left, top) in zip(parts, drawn, corners):
        for node, (x, y) in zip(part.nodes, each.corners):
            boxes[node] = Box(left + x, top + y, *map(float, sizes[node]))
        for a, route in zip(part.arcs, each.routes):
            routes[a] = tuple((left + x, top + y) for x, y in route)
    return Layout(width, height, tuple(boxes), tuple(routes))
