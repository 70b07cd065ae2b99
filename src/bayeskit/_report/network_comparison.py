"""The comparison of two graphs over the same nodes, such as a learned graph and the true one, and its drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bayeskit._display_table import DisplayTable
from bayeskit._graphs.dag import Cpdag, Dag, cpdag, shd, topological_order
from bayeskit._markup import plain
from bayeskit._report.drawing.graph_layout import Layout, lay_out
from bayeskit._report.drawing.network_scene import MARGIN, Card, _arrow
from bayeskit._report.picture import Picture
from bayeskit._report.scene import STYLES, Group, Line, Point, Scene, Style, Words, text_width
from bayeskit._schema import Name
from bayeskit.errors import SettingError
from bayeskit.typing import PathLike

Arc = tuple[Name, Name]
Relations = dict[frozenset[Name], Arc | None]

_NOTE = (
    "Classes of equivalent graphs: an arc is shared where both have it, with the same direction or with none."
)


@dataclass(frozen=True)
class Agreement:
    """The numbers of learned arcs, of true arcs, and of arcs in both.

    Examples
    --------
    >>> half = Agreement(found=2, expected=4, shared=1)
    >>> half.precision, half.recall, round(half.f1, 4)
    (0.5, 0.25, 0.3333)
    """

    found: int
    expected: int
    shared: int

    @property
    def precision(self) -> float:
        """The share of the learned arcs that are correct; 1 if none was learned."""
        return self.shared / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of the true arcs that were learned; 1 if there are none."""
        return self.shared / self.expected if self.expected else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 2·shared/(found + expected); 1 if both graphs are empty."""
        both = self.found + self.expected
        return 2.0 * self.shared / both if both else 1.0


@dataclass(frozen=True)
class NetworkComparison:
    """The agreement of two graphs. Prints as a table, also in notebooks.

    Attributes
    ----------
    skeleton : Agreement on which nodes are adjacent
    arcs : Agreement on the arcs of the equivalence classes, which is all that data can identify
    dag_arcs : Agreement on the directed arcs; None if one of the two is an equivalence class
    shd : int
        The structural Hamming distance of the equivalence classes: the number of node pairs with different
        edges.
    dag_shd : int, the same for the directed graphs; None if one of the two is an equivalence class
    missing, extra, turned : pairs of nodes
        Adjacent only in the true graph, only in the learned graph, and in both but with another direction in
        the equivalence classes (or directed in one and undirected in the other).
    scores : {name: (of the learned graph, of the true one)}
        On the scale of the log-likelihood; higher is better. Empty if no rows were given.
    """

    skeleton: Agreement
    arcs: Agreement
    dag_arcs: Agreement | None
    shd: int
    dag_shd: int | None
    missing: tuple[Arc, ...]
    extra: tuple[Arc, ...]
    turned: tuple[Arc, ...]
    scores: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def score_differences(self) -> dict[str, float]:
        """The score of the learned graph minus that of the true graph; above 0 if the learned one fits
        better."""
        return {name: learned - true for name, (learned, true) in self.scores.items()}

    def __str__(self) -> str:
        from bayeskit._display_table import as_text

        return "\n\n".join(as_text(page) for page in pages_of(self))

    def _repr_html_(self) -> str:
        from bayeskit._display_table import notebook_html

        return notebook_html(*pages_of(self))


def compare_graphs(
    learned: Dag | Cpdag, truth: Dag | Cpdag, scores: Mapping[str, tuple[float, float]] | None = None
) -> NetworkComparison:
    """Compare two graphs over the same nodes.

    Examples
    --------
    >>> chain, fork = Dag.of({"b": ["a"], "c": ["b"]}, "abc"), Dag.of({"a": ["b"], "c": ["b"]}, "abc")
    >>> same = compare_graphs(chain, fork)
    >>> same.shd, same.dag_shd, same.dag_arcs.shared
    (0, 1, 1)
    """
    distance = shd(learned, truth)  # raises an error if the nodes differ
    one, other = relations(learned), relations(truth)
    dag_arcs, dag_distance = None, None
    if isinstance(learned, Dag) and isinstance(truth, Dag):
        found, true = set(learned.arcs), set(truth.arcs)
        dag_arcs = Agreement(len(found), len(true), len(found & true))
        dag_distance = shd(learned, truth, dag=True)
    both = one.keys() & other.keys()
    return NetworkComparison(
        skeleton=Agreement(len(one), len(other), len(both)),
        arcs=Agreement(len(one), len(other), sum(one[pair] == other[pair] for pair in both)),
        dag_arcs=dag_arcs,
        shd=distance,
        dag_shd=dag_distance,
        missing=tuple(arc for arc in _arcs(truth) if frozenset(arc) not in one),
        extra=tuple(arc for arc in _arcs(learned) if frozenset(arc) not in other),
        turned=tuple(
            arc for arc in _arcs(learned) if (pair := frozenset(arc)) in both and one[pair] != other[pair]
        ),
        scores=dict(scores or {}),
    )


def relations(graph: Dag | Cpdag) -> Relations:
    """Return how each pair of neighbours is related in the class of a graph: by an arc, or (None) by an edge.

    >>> list(relations(Dag.of({"b": ["a"]}, "ab")).values()), list(relations(Dag.of({"c": ["a", "b"]}, "abc")).values())
    ([None], [('a', 'c'), ('b', 'c')])
    """
    group = graph if isinstance(graph, Cpdag) else cpdag(graph)
    return {
        **{frozenset(arc): arc for arc in group.directed},
        **{frozenset(a): None for a in group.undirected},
    }


def _arcs(graph: Dag | Cpdag) -> tuple[Arc, ...]:
    return graph.arcs if isinstance(graph, Dag) else (*graph.directed, *graph.undirected)


def pages_of(comparison: NetworkComparison) -> list[DisplayTable]:
    """Return the tables to show: the arcs, then the scores if there are any."""
    lines = [("neighbours", comparison.skeleton), ("arcs of the classes", comparison.arcs)]
    if comparison.dag_arcs is not None:
        lines.append(("arcs as directed", comparison.dag_arcs))
    header = ("", "learned", "true", "shared", "precision", "recall", "F1")
    rows = tuple(
        (
            name,
            str(a.found),
            str(a.expected),
            str(a.shared),
            *(f"{x:.3f}" for x in (a.precision, a.recall, a.f1)),
        )
        for name, a in lines
    )
    blank = ("",) * 5
    totals = [("SHD of the classes", str(comparison.shd), *blank)]
    if comparison.dag_shd is not None:
        totals.append(("SHD as directed", str(comparison.dag_shd), *blank))
    kinds = [("missing", comparison.missing), ("extra", comparison.extra), ("direction", comparison.turned)]
    totals += [(f"  {kind}", str(len(arcs)), *blank) for kind, arcs in kinds]
    pages = [DisplayTable("Learned graph against the true one", header, rows, tuple(totals), (_NOTE,))]
    if comparison.scores:
        lines_of_scores = tuple(
            (name, f"{learned:,.2f}", f"{true:,.2f}", f"{learned - true:+,.2f}")
            for name, (learned, true) in comparison.scores.items()
        )
        pages.append(DisplayTable("Scores", ("", "learned", "true", "difference"), lines_of_scores, (), ()))
    return pages


GAP, HEADING, LEGEND = 48.0, 34.0, 34.0


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
                "A comparison cannot be saved as {name!r}. Save it as .svg, which browsers and drawing programs "
                "can read.",
                name=Path(path).name,
            )
        return super().save(path)
