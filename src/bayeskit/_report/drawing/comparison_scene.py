"""The drawing of two graphs over the same nodes side by side, with differing arcs in other colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from bayeskit._graphs.cpdag import shd
from bayeskit._graphs.dag import Dag, topological_order
from bayeskit._markup import plain
from bayeskit._report.drawing.graph_layout import Layout, lay_out
from bayeskit._report.drawing.network_scene import MARGIN, _arrow
from bayeskit._report.drawing.node_card import Card
from bayeskit._report.networks.network_comparison import relations
from bayeskit._report.picture import Picture
from bayeskit._report.scene import STYLES, Group, Line, Point, Scene, Style, Words, text_width
from bayeskit._schema import Name
from bayeskit.errors import SettingError
from bayeskit.typing import PathLike

GAP, HEADING, LEGEND = 48.0, 34.0, 34.0

Arc = tuple[Name, Name]

# The kind of an arc in the other graph, and its text in the legend.
_KINDS = {
    "same": ("arc", "head", "in both"),
    "extra": ("arc-extra", "head-extra", "extra: only in the first"),
    "missing": ("arc-missing", "head-missing", "missing: only in the second"),
    "turned": ("arc-turned", "head-turned", "direction differs"),
}


def comparison_scene(
    first: Dag, second: Dag, titles: tuple[str, str] = ("learned", "true"), as_directed: bool = False
) -> Scene:
    """Draw two graphs.

    Parameters
    ----------
    first, second : graphs over the same nodes
    titles : the heading of each
    as_directed : bool
        Compare the directions of the arcs. Otherwise equivalence classes are compared, in which a reversible
        arc has no direction.

    Examples
    --------
    >>> comparison_scene(Dag.of({"b": ["a"]}, "ab"), Dag.of({}, "ab")).title
    'learned and true: 0 arcs in both, 1 extra, 0 missing, 0 directions differ'
    """
    shd(first, second)  # raises an error if the nodes differ
    both = _union(first, second)
    cards = [Card(str(node)) for node in both.nodes]
    layout = lay_out(both, [card.size for card in cards])
    kinds = _kinds(first, second, as_directed)
    left = max(layout.width, *(text_width(title, STYLES["name"].font_size) for title in titles))
    groups: list[Group] = []
    for graph, title, shift in zip((first, second), titles, (0.0, left + GAP), strict=True):
        heading = Words(shift + MARGIN + left / 2, MARGIN + 16.0, plain(title), "name", "middle")
        inside = [
            *(_arc_group(arc, layout, both, kinds[graph is second][arc]) for arc in graph.arcs),
            *(
                card.draw(MARGIN + box.x, MARGIN + box.y)
                for card, box in zip(cards, layout.boxes, strict=True)
            ),
        ]
        groups += [Group(title, (heading,)), *(_moved(group, shift, HEADING) for group in inside)]
    height = layout.height + 2 * MARGIN + HEADING
    width = max(2 * left + GAP, _legend_width()) + 2 * MARGIN
    counts = _counts(kinds)
    title = f"{titles[0]} and {titles[1]}: " + ", ".join(counts)
    return Scene(width, height + LEGEND, title, _description(kinds), (*groups, *_legend(height)))


def _union(first: Dag, second: Dag) -> Dag:
    """Return a graph with an arc for each pair of neighbours in either graph, directed along an order of the second."""
    place = {node: k for k, node in enumerate(topological_order(second))}
    found: dict[Name, list[Name]] = {node: [] for node in second.nodes}
    for pair in dict.fromkeys(frozenset(arc) for arc in (*second.arcs, *first.arcs)):
        parent, child = sorted(pair, key=place.__getitem__)
        found[child].append(parent)
    return Dag.of(found, second.nodes)


def _kinds(first: Dag, second: Dag, as_directed: bool) -> tuple[dict[Arc, str], dict[Arc, str]]:
    """Return the kind of each arc of the two graphs, relative to the other graph."""
    if as_directed:
        one, other = ({frozenset(arc): arc for arc in graph.arcs} for graph in (first, second))
    else:
        one, other = relations(first), relations(second)  # type: ignore[assignment]

    def kind(arc: Arc, alone: str) -> str:
        pair = frozenset(arc)
        if pair not in one or pair not in other:
            return alone
        return "same" if one[pair] == other[pair] else "turned"

    return {arc: kind(arc, "extra") for arc in first.arcs}, {arc: kind(arc, "missing") for arc in second.arcs}


def _arc_group(arc: Arc, layout: Layout, both: Dag, kind: str) -> Group:
    line, head, words = _KINDS[kind]
    forward = arc in both.arcs
    route = layout.routes[both.arcs.index(arc if forward else (arc[1], arc[0]))]
    if forward:
        marks = _arrow(route, "down")
    else:  # the places were computed for the opposite direction: drawn mirrored
        bottom = layout.height
        marks = tuple(
            _mirrored(mark, bottom + 2 * MARGIN)
            for mark in _arrow(tuple((x, bottom - y) for x, y in reversed(route)), "down")
        )
    styled = tuple(replace(mark, style=head if mark.style == "head" else line) for mark in marks)
    return Group(f"{arc[0]} → {arc[1]} ({words})", styled)


def _mirrored(line: Line, height: float) -> Line:
    return _each_point(line, lambda point: (point[0], height - point[1]))


def _each_point(line: Line, move: Callable[[Point], Point]) -> Line:
    return replace(line, steps=tuple((verb, tuple(map(move, points))) for verb, points in line.steps))


def _moved(group: Group, dx: float, dy: float) -> Group:
    def there(point: Point) -> Point:
        return point[0] + dx, point[1] + dy

    marks = tuple(
        _each_point(mark, there) if isinstance(mark, Line) else replace(mark, x=mark.x + dx, y=mark.y + dy)
        for mark in group.marks
    )
    return Group(group.title, marks)


def _legend(top: float) -> list[Group]:
    x, y, groups = MARGIN, top + 12.0, []
    for line, _, words in _KINDS.values():
        stroke = Line((("M", ((x, y),)), ("L", ((x + 22.0, y),))), line)
        groups.append(Group(words, (stroke, Words(x + 28.0, y + 4.0, words, "state"))))
        x += 28.0 + text_width(words, STYLES["state"].font_size) + 18.0
    return groups


def _legend_width() -> float:
    size = STYLES["state"].font_size
    return sum(46.0 + text_width(words, size) for _, _, words in _KINDS.values())


def _counts(kinds: tuple[dict[Arc, str], dict[Arc, str]]) -> list[str]:
    mine, theirs = (list(each.values()) for each in kinds)
    return [
        f"{mine.count('same')} arcs in both",
        f"{mine.count('extra')} extra",
        f"{theirs.count('missing')} missing",
        f"{mine.count('turned')} directions differ",
    ]


def _description(kinds: tuple[dict[Arc, str], dict[Arc, str]]) -> str:
    """Describe in words which arcs differ, for screen readers."""
    said = []
    for name, each in (("extra", kinds[0]), ("missing", kinds[1]), ("turned", kinds[0])):
        arcs = [f"{parent} → {child}" for (parent, child), kind in each.items() if kind == name]
        more = f", and {len(arcs) - 40} more" if len(arcs) > 40 else ""
        said += [f"{name.capitalize()}: {', '.join(arcs[:40])}{more}."] if arcs else []
    return " ".join(said)


_RED, _BLUE, _AMBER = ("#b4412b", "#ef8c78"), ("#2a66ab", "#82b4ee"), ("#a06a00", "#e0ab3f")

# Styles in addition to those of every picture of a network.
DIFFERENCES = {
    "arc-extra": Style(stroke=_RED, width=2.0),
    "head-extra": Style(fill=_RED),
    "arc-missing": Style(stroke=_BLUE, width=2.0),
    "head-missing": Style(fill=_BLUE),
    "arc-turned": Style(stroke=_AMBER, width=2.0),
    "head-turned": Style(fill=_AMBER),
}


class ComparisonPicture(Picture):
    """A drawing of two networks; ``str(picture)`` is the SVG, a notebook shows it, ``save`` writes it as .svg."""

    def _styles(self) -> Mapping[str, Style]:
        return DIFFERENCES

    def save(self, path: PathLike) -> Path:
        """Write the picture to an .svg file and return its path."""
        if isinstance(path, (str, Path)) and Path(path).suffix.lower() != ".svg":
            raise SettingError(
                "A comparison cannot be saved as {name!r}. Save it as .svg, which browsers and drawing "
                "programs read.",
                name=Path(path).name,
            )
        return super().save(path)
