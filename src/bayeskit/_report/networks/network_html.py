"""A network in notebooks: its size, its picture, and its tables, folded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit._display_table import DisplayTable, as_html, table_html
from bayeskit._graphs.distributions import Deterministic, LinearGaussian, NoisyMax
from bayeskit._graphs.factor import Factor, factor_html
from bayeskit._graphs.network import FactorGraph, Network, Node
from bayeskit._markup import Html, join, tag
from bayeskit._report.drawing.network_scene import network_scene, title_of
from bayeskit._report.drawing.svg import as_svg
from bayeskit._visible import shorter

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
        picture = as_svg(network_scene(network)).rstrip()
        if (room := LONGEST_PAGE - len(picture.encode())) > 0:
            lines.append(tag("div", Html(picture), attributes='style="overflow:auto"'))
        else:
            room = LONGEST_PAGE
            lines.append(tag("p", "The picture is large; plot() draws it."))
        lines += [tables_html(network, room)]
    elif network.nodes:
        lines.append(
            tag("p", f"Pictures and tables are shown up to {MOST_NODES} nodes; plot() draws any network.")
        )
    return _boxed(lines)


def _boxed(lines: Sequence[Html]) -> Html:
    return tag("div", Html("\n"), join(lines, "\n"), Html("\n"), cls="bayeskit")


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
        terms = [f"{float(d.intercept[cell]):.6g}"]
        for b, parent in zip(d.coefficients[cell].tolist(), numeric, strict=True):
            terms.append(f"{'−' if b < 0 else '+'} {abs(b):.6g} · {parent}")
        states = [network[p].variable.states[i] for p, i in zip(chosen, cell, strict=True)]
        rows.append((*map(str, states), " ".join(terms), f"{float(d.variance[cell]):.6g}"))
    header = (*map(str, chosen), "mean", "variance")
    return table_html(DisplayTable("", header, tuple(rows), names=len(chosen)))


def field_html(field: FactorGraph) -> Html:
    """Return the HTML of a Markov network for a notebook.

    Examples
    --------
    >>> from bayeskit._graphs.factor import Factor
    >>> from bayeskit._schema import Variable
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
    return _boxed(lines)
