"""The arcs between attributes as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bayeskit.graphs.dag import Dag
from bayeskit.report.drawing.layout import lay_out
from bayeskit.report.drawing.node_card import Card
from bayeskit.report.drawing.scene import MARGIN, _arrow
from bayeskit.report.drawing.svg import as_svg
from bayeskit.report.scene import Group, Scene
from bayeskit.schema import Name

# A larger graph cannot be read; the most telling attributes are drawn.
MOST_NODES = 30


def structure_svg(
    parents: Mapping[Name, Sequence[Name]], telling: Sequence[Name], title: str
) -> tuple[str, int]:
    """Draw a graph.

    Parameters
    ----------
    parents : of each attribute
    telling : attributes, the most telling first
    title : what the picture is called where it cannot be seen

    Returns
    -------
    (svg, n) : the picture, and how many attributes are on it
    """
    names = list(parents)
    if len(names) > MOST_NODES:
        place = {name: k for k, name in enumerate(telling)}
        chosen = set(sorted(names, key=lambda name: place.get(name, len(place)))[:MOST_NODES])
        names = [name for name in names if name in chosen]
    inside = set(names)
    dag = Dag.of({name: [p for p in parents[name] if p in inside] for name in names}, names)
    cards = [Card(str(name)) for name in dag.nodes]
    layout = lay_out(dag, [card.size for card in cards])
    arcs = [Group(f"{a} → {b}", _arrow(route, "down")) for (a, b), route in zip(dag.arcs, layout.routes)]
    boxes = [card.drawn(MARGIN + box.x, MARGIN + box.y) for card, box in zip(cards, layout.boxes)]
    told = ", ".join(group.title for group in arcs[:60])
    size = (layout.width + 2 * MARGIN, layout.height + 2 * MARGIN)
    return as_svg(Scene(*size, title, told, (*arcs, *boxes))), len(names)
