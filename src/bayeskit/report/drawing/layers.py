"""The nodes of a graph in layers, every arc leading from one layer to the next.

An arc that spans more than one layer is led through a *bend* in each layer between, so that it has a place
of its own there and passes no box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bayeskit.report.drawing.layering import layer_of

Arc = tuple[int, int]

# Arcs that would need more bends than this, all together, are drawn without: the longest ones first. A graph
# that reaches it has more lines than an eye can follow.
MOST_BENDS = 20_000


@dataclass(frozen=True)
class Layers:
    """Vertices by layer: first the nodes, from ``n_nodes`` on the bends of long arcs.

    Attributes
    ----------
    rows : the vertices of each layer, from left to right
    above, below : for each vertex, its neighbours in the layer before and after
    routes : for each arc, the vertices it runs through, from parent to child
    """

    n_nodes: int
    rows: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    routes: list[list[int]]

    def is_bend(self, vertex: int) -> bool:
        return vertex >= self.n_nodes


def in_layers(n_nodes: int, arcs: Sequence[Arc]) -> Layers:
    """Put the nodes 0 … n−1 in layers and lead long arcs through bends.

    Examples
    --------
    >>> layers = in_layers(3, [(0, 1), (1, 2), (0, 2)])
    >>> layers.rows, layers.routes[2]
    ([[0], [1, 3], [2]], [0, 3, 2])
    """
    layer = layer_of(n_nodes, arcs)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in range(n_nodes):
        rows[layer[node]].append(node)
    spans = sorted(range(len(arcs)), key=lambda a: layer[arcs[a][1]] - layer[arcs[a][0]])
    routes: list[list[int]] = [[parent, child] for parent, child in arcs]
    n = n_nodes
    for a in spans:
        parent, child = arcs[a]
        between = range(layer[parent] + 1, layer[child])
        if n - n_nodes + len(between) > MOST_BENDS:
            break
        for place in between:
            rows[place].append(n)
            routes[a].insert(-1, n)
            n += 1
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for (parent, child), route in zip(arcs, routes):
        if len(route) - 1 == layer[child] - layer[parent]:
            for upper, lower in pairwise(route):
                below[upper].append(lower)
                above[lower].append(upper)
    return Layers(n_nodes, rows, above, below, routes)
