"""The drawing of a network: a card for each node, an arrow for each arc; and the page that notebooks show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bayeskit._display_table import DisplayTable, as_html, table_html
from bayeskit._graphs.dag import Dag
from bayeskit._graphs.distributions import Deterministic, LinearGaussian, NoisyMax, Softmax
from bayeskit._graphs.factor import Factor, factor_html
from bayeskit._graphs.network import Diagram, FactorGraph, Network, Node
from bayeskit._markup import Html, framed, join, plain, tag
from bayeskit._report.drawing.graph_layout import Direction, lay_out
from bayeskit._report.scene import (
    STYLES,
    Group,
    Line,
    Point,
    Rectangle,
    Scene,
    Words,
    as_svg,
    shortened,
    text_width,
)
from bayeskit._schema import Name
from bayeskit._visible import shorter

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
    return _scene(network.dag, cards, direction, title_of(network), findings)


def diagram_scene(
    diagram: Diagram,
    beliefs: Mapping[Name, Any] | None = None,
    findings: Mapping[Name, str] | None = None,
    direction: Direction = "down",
) -> Scene:
    """Draw an influence diagram: decisions are rectangles, utilities hexagons, the rest as in a network.

    ``findings`` may also say what a utility is expected to be.
    """
    beliefs, findings = beliefs or {}, findings or {}
    cards = []
    for node in diagram.network.nodes:
        card = card_of(node.name, node.variable.states, beliefs.get(node.name), findings.get(node.name, ""))
        cards.append(replace(card, shape="decision") if node.name in diagram.decisions else card)
    cards += [Card(str(u.name), findings.get(u.name, ""), shape="utility") for u in diagram.utilities]
    title = _title(diagram.network.name or "Influence diagram", diagram.dag)
    return _scene(diagram.dag, cards, direction, title, findings)


def _scene(
    dag: Dag, cards: Sequence[Card], direction: Direction, title: str, findings: Mapping[Name, str]
) -> Scene:
    layout = lay_out(dag, [card.size for card in cards], direction)
    arcs = [
        Group(f"{parent} → {child}", _arrow(route, layout.direction))
        for (parent, child), route in zip(dag.arcs, layout.routes, strict=True)
    ]
    boxes = [card.draw(MARGIN + box.x, MARGIN + box.y) for card, box in zip(cards, layout.boxes, strict=True)]
    return Scene(
        layout.width + 2 * MARGIN,
        layout.height + 2 * MARGIN,
        title,
        _description(dag, findings),
        (*arcs, *boxes),
    )


def title_of(network: Network) -> str:
    """Return the name of a network and its size."""
    return _title(network.name or "Bayesian network", network.dag)


def _title(name: str, dag: Dag) -> str:
    return ", ".join([name, _count(len(dag.nodes), "node"), _count(len(dag.arcs), "arc")])


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number in (0, 1) else 's'}"


def _description(dag: Dag, findings: Mapping[Name, str]) -> str:
    """Describe the arcs in words, for screen readers."""
    arcs = [f"{parent} → {child}" for parent, child in dag.arcs[:40]]
    more = len(dag.arcs) - len(arcs)
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


PAD, NAME_LINE, STATE_LINE = 9.0, 22.0, 16.0
BAR, PERCENT, CURVE = 62.0, 53.0, 30.0
TIP = 12.0
WIDEST_NAME, WIDEST_STATE = 240.0, 96.0
# A node with more states shows the most probable ones and the sum of the rest.
MOST_STATES = 8


@dataclass(frozen=True)
class Card:
    """The content of a box.

    Attributes
    ----------
    name : the node
    finding : its evidence, such as "= yes", or empty
    bars : (state, probability); the last one may stand for several states
    density : weights, means and variances of a mixture of normal distributions, for a continuous node
    shape : "chance" (round corners), "decision" (a rectangle) or "utility" (a hexagon)
    """

    name: str
    finding: str = ""
    bars: tuple[tuple[str, float], ...] = ()
    density: tuple[tuple[float, float, float], ...] = ()
    shape: Literal["chance", "decision", "utility"] = "chance"

    @property
    def heading(self) -> str:
        size = STYLES["name"].font_size
        name = shortened(plain(self.name), WIDEST_NAME, size)
        return f"{name} {shortened(plain(self.finding), WIDEST_STATE, size)}" if self.finding else name

    @property
    def title(self) -> str:
        """The full name, with everything that is shown."""
        lines = [f"{self.name} {self.finding}".strip()]
        lines += [f"{state}: {percent(p)}" for state, p in self.bars]
        return "; ".join([*lines, *([moments_text(self.density)] if self.density else [])])

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the box."""
        width = text_width(self.heading, STYLES["name"].font_size) * 1.05  # bold letters are broader
        small = STYLES["state"].font_size
        if self.bars:
            width = max(width, self._label_width + 6 + BAR + PERCENT)
        if self.density:
            width = max(width, BAR + PERCENT, text_width(moments_text(self.density), small))
        body = STATE_LINE * len(self.bars) + ((STATE_LINE + CURVE) if self.density else 0.0)
        ends = TIP if self.shape == "utility" else 0.0
        return max(width, 30.0) + 2 * (PAD + ends), NAME_LINE + 8 + (body + 5 if body else 0.0)

    @property
    def _labels(self) -> list[str]:
        return [shortened(plain(s), WIDEST_STATE, STYLES["state"].font_size) for s, _ in self.bars]

    @property
    def _label_width(self) -> float:
        return max((text_width(label, STYLES["state"].font_size) for label in self._labels), default=0.0)

    def draw(self, x: float, y: float) -> Group:
        """Draw the box with its left upper corner here."""
        width, height = self.size
        kind, bar = ("observed", "bar-observed") if self.finding else ("node", "bar")
        marks: list[Rectangle | Words | Line] = [
            _hexagon(x, y, width, height)
            if self.shape == "utility"
            else Rectangle(x, y, width, height, kind, 0.0 if self.shape == "decision" else 6.0),
            Words(x + width / 2, y + 19.5, self.heading, "name", "middle"),
        ]
        left, right, top = x + PAD, x + width - PAD, y + NAME_LINE + 5
        begin = left + self._label_width + 6
        room = right - PERCENT - begin
        for k, (label, (_, p)) in enumerate(zip(self._labels, self.bars, strict=True)):
            row = top + k * STATE_LINE
            marks.append(Words(left, row + 11.5, label, "state"))
            marks.append(Rectangle(begin, row + 3, room, 10.0, "track", 2.0))
            if p > 0:
                marks.append(Rectangle(begin, row + 3, max(room * min(p, 1.0), 0.6), 10.0, bar, 2.0))
            marks.append(Words(right, row + 11.5, percent(p), "state", "end"))
        if self.density:
            marks.append(Words(x + width / 2, top + 11.5, moments_text(self.density), "state", "middle"))
            points = _curve(self.density, left, right, top + STATE_LINE + CURVE - 2, CURVE - 6)
            marks.append(Line((("M", points[:1]), *(("L", (p,)) for p in points[1:])), "density"))
        return Group(self.title, tuple(marks))


def _hexagon(x: float, y: float, width: float, height: float) -> Line:
    right, middle = x + width, y + height / 2
    corners = [
        (x + TIP, y),
        (right - TIP, y),
        (right, middle),
        (right - TIP, y + height),
        (x + TIP, y + height),
    ]
    steps = (("M", ((x, middle),)), *(("L", (corner,)) for corner in corners), ("Z", ()))
    return Line(steps, "node")


def card_of(name: object, states: Sequence[object], belief: Any = None, finding: str = "") -> Card:
    """Return the card of a node from its posterior.

    Parameters
    ----------
    belief : array of a probability for each state; or ``weights``, ``means`` and ``variances``; or None
    """
    if belief is None:
        return Card(str(name), finding)
    if hasattr(belief, "means"):
        parts = zip(
            *(np.ravel(getattr(belief, part)).tolist() for part in ("weights", "means", "variances")),
            strict=True,
        )
        return Card(str(name), finding, density=tuple(parts))
    p = np.asarray(belief, dtype=np.float64)
    shown = list(range(len(p)))
    if len(p) > MOST_STATES:
        shown = sorted(np.argsort(-p, kind="stable")[: MOST_STATES - 1].tolist())
    bars = [(str(states[k]), float(p[k])) for k in shown]
    if len(shown) < len(p):
        bars.append((f"… {len(p) - len(shown)} more", float(np.delete(p, shown).sum())))
    return Card(str(name), finding, tuple(bars))


def percent(p: float) -> str:
    """Return a probability in per cent. A probability that is not 0 or 1 is never written as 0 % or 100 %.

    >>> [percent(p) for p in (0.0, 0.00001, 0.25, 0.99999, 1.0)]
    ['0 %', '< 0.1 %', '25.0 %', '> 99.9 %', '100 %']
    """
    if p <= 0.0 or p >= 1.0:
        return "0 %" if p <= 0.0 else "100 %"
    if p < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if p >= 0.9995 else f"{100 * p:.1f} %"


def moments(density: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the mean and the standard deviation of a mixture.

    >>> moments([(0.5, 0.0, 1.0), (0.5, 2.0, 1.0)])
    (1.0, 1.4142135623730951)
    """
    mean = math.fsum(w * m for w, m, _ in density)
    variance = math.fsum(w * (v + (m - mean) ** 2) for w, m, v in density)
    return mean, math.sqrt(max(variance, 0.0))


def moments_text(density: Sequence[tuple[float, float, float]]) -> str:
    mean, deviation = moments(density)
    return f"{mean:.4g} ± {deviation:.3g}"


def _curve(
    density: Sequence[tuple[float, float, float]], left: float, right: float, ground: float, height: float
) -> tuple[Point, ...]:
    """Return the density as points, over the mean and three deviations to each side."""
    mean, deviation = moments(density)
    if deviation == 0.0:  # the value is known: draw a peak without width
        middle = (left + right) / 2
        return (
            (left, ground),
            (middle, ground),
            (middle, ground - height),
            (middle, ground),
            (right, ground),
        )
    at = np.linspace(mean - 3 * deviation, mean + 3 * deviation, 49)
    total = np.zeros(49)
    for w, m, v in density:
        spread = max(v, (deviation / 40) ** 2)  # a component of no width still shows
        total += w / math.sqrt(spread) * np.exp(-((at - m) ** 2) / (2 * spread))
    ys = ground - height * total / total.max()
    return tuple(zip(np.linspace(left, right, 49).tolist(), ys.tolist(), strict=True))


# For larger networks, a notebook shows only the size, because the picture would be unreadable.
MOST_NODES = 60
# The full table of a noisy-MAX node with many parents may be huge.
MOST_CELLS = 100_000
# The maximum size in bytes, because a notebook stores every page. The picture comes first, then the smallest tables.
LONGEST_PAGE = 48_000


def network_html(network: Network, n_parameters: int | None = None) -> Html:
    """Return the HTML of a network for a notebook.

    Parameters
    ----------
    network : the network
    n_parameters : the number of free parameters, or None if it is not known yet

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> html = network_html(Network((Node(discrete("rain", ["no", "yes"])),)), 1)
    >>> html.splitlines()[1]
    '<p><b>Bayesian network, 1 node, no arc</b>, 1 free parameter</p>'
    """
    free = (
        f", {n_parameters:,} free parameter{'' if n_parameters == 1 else 's'}"
        if n_parameters is not None
        else ""
    )
    lines = [tag("p", tag("b", title_of(network)), free)]
    if 0 < len(network.nodes) <= MOST_NODES:
        picture = as_svg(network_scene(network), hosted=True).rstrip()
        if (room := LONGEST_PAGE - len(picture.encode())) > 0:
            lines.append(tag("div", Html(picture), cls="figure"))
        else:
            room = LONGEST_PAGE
            lines.append(tag("p", "The picture is large; plot() draws it."))
        lines += [tables_html(network, room)]
    elif network.nodes:
        lines.append(
            tag(
                "p",
                f"Pictures and tables are shown up to {MOST_NODES} nodes; plot(around=…) draws a part.",
            )
        )
    return framed(*lines)


def tables_html(network: Network, room: int = LONGEST_PAGE) -> Html:
    """Return the distribution of every node, each folded."""
    return folded(
        [(_summary(node), _body(network, node)) for node in network.nodes], "cpt(node) shows it", room
    )


def folded(parts: Sequence[tuple[str, Html]], way: str, room: int = LONGEST_PAGE) -> Html:
    """Return summaries with folded content, as long as there is room for it.

    Parameters
    ----------
    parts : pairs of a summary and HTML
    way : how to see the content for which there is no room
    room : bytes

    Examples
    --------
    >>> folded([("P(a)", tag("p", 1))], "cpt(node) shows it")
    '<details><summary>P(a)</summary><p>1</p></details>'
    """
    instead = tag("p", f"Large: {way}.")
    whole = [tag("details", tag("summary", head), body) for head, body in parts]
    small = [tag("details", tag("summary", head), instead) for head, _ in parts]
    sizes = [len(body.encode()) for _, body in parts]
    room -= sum(len(each.encode()) + 1 for each in small)
    shown = set()
    for place in sorted(range(len(parts)), key=sizes.__getitem__):
        room -= sizes[place]
        if room >= 0:
            shown.add(place)
    return join((whole[i] if i in shown else small[i] for i in range(len(parts))), "\n")


def _summary(node: Node) -> str:
    given = ", ".join(map(str, node.parents))
    return f"P({node.name} | {given})" if given else f"P({node.name})"


def _body(network: Network, node: Node) -> Html:
    d = node.distribution
    if d is None:
        states = ", ".join(map(str, node.variable.states)) or (
            "not known yet" if node.is_discrete else "numbers"
        )
        return tag("p", f"No table yet. States: {states}.")
    if isinstance(d, LinearGaussian):
        return _regression(network, node, d)
    if isinstance(d, Softmax):
        return _softmax(network, node, d)
    names = (*node.parents, node.name)
    kind = {Deterministic: "deterministic", NoisyMax: "noisy-MAX"}.get(type(d), "")
    n_cells = float(np.prod([float(size) for size in network.shape_of(node.name)]))
    if n_cells > MOST_CELLS:
        return tag("p", f"{kind or 'a table'} of {n_cells:.3g} cells")
    factor = Factor(names, (network[name].variable.states for name in names), d.table())
    return factor_html(factor, caption=kind)


def _regression(network: Network, node: Node, d: LinearGaussian) -> Html:
    """Return a row for each configuration of the discrete parents: the mean as a formula, and the variance."""
    chosen = [p for p in node.parents if network[p].is_discrete]
    numeric = [p for p in node.parents if not network[p].is_discrete]
    rows = []
    for cell in np.ndindex(*d.intercept.shape):
        formula = _linear(float(d.intercept[cell]), d.coefficients[cell].tolist(), numeric)
        states = [network[p].variable.states[i] for p, i in zip(chosen, cell, strict=True)]
        rows.append((*map(str, states), formula, f"{float(d.variance[cell]):.6g}"))
    header = (*map(str, chosen), "mean", "variance")
    return table_html(DisplayTable("", header, tuple(rows), names=len(chosen)))


def _softmax(network: Network, node: Node, d: Softmax) -> Html:
    """Return a row for each configuration of the discrete parents and each state: its log odds against the first."""
    chosen = [p for p in node.parents if network[p].is_discrete]
    numeric = network.numeric_parents(node)
    rows = []
    for cell in np.ndindex(*d.intercept.shape):
        states = [network[p].variable.states[i] for p, i in zip(chosen, cell[:-1], strict=True)]
        formula = _linear(float(d.intercept[cell]), d.coefficients[cell].tolist(), numeric)
        rows.append((*map(str, states), str(node.variable.states[cell[-1]]), formula))
    header = (*map(str, chosen), str(node.name), "log odds")
    return table_html(DisplayTable("", header, tuple(rows), names=len(chosen) + 1))


def _linear(intercept: float, slopes: Sequence[float], parents: Sequence[Name]) -> str:
    terms = [f"{intercept:.6g}"]
    for b, parent in zip(slopes, parents, strict=True):
        terms.append(f"{'−' if b < 0 else '+'} {abs(b):.6g} · {parent}")
    return " ".join(terms)


def field_html(field: FactorGraph) -> Html:
    """Return the HTML of a Markov network for a notebook.

    Examples
    --------
    >>> from bayeskit.networks import Factor
    >>> from bayeskit.statistics import Variable
    >>> pair = Factor(["a"], [["x", "y"]], [30, 5])
    >>> field_html(FactorGraph((Variable("a", "categorical", ("x", "y")),), (pair,))).splitlines()[1]
    '<p><b>Markov network, 1 variable, 1 factor</b></p>'
    """
    called = f" {field.name}" if field.name else ""
    counts = ", ".join(
        f"{n:,} {word}{'' if n == 1 else 's'}"
        for n, word in ((len(field.variables), "variable"), (len(field.factors), "factor"))
    )
    rows = tuple((shorter(v.name), shorter(str(v.listing()), 200)) for v in field.variables)
    lines = [tag("p", tag("b", f"Markov network{called}, {counts}"))]
    lines += [as_html(DisplayTable("", ("variable", "states"), rows))] if rows else []
    if len(field.factors) <= MOST_NODES:
        parts = [
            (", ".join(map(str, f.names)) or "constant", factor_html(f, caption="")) for f in field.factors
        ]
        room = LONGEST_PAGE - sum(len(line.encode()) for line in lines)
        lines.append(folded(parts, "factors has it", room))
    else:
        lines.append(tag("p", f"Factors are shown up to {MOST_NODES}; factors has them all."))
    return framed(*lines)
