"""The parts of a graph that no arc joins, and how they stand beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
