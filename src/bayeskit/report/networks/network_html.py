"""A network for a notebook: how large it is, its picture, its tables or factors folded away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayeskit.graphs.distributions import Deterministic, LinearGaussian, NoisyMax
from bayeskit.graphs.factor import Factor, factor_html
from bayeskit.graphs.network import Field, Network, Node
from bayeskit.report.drawing.network_scene import network_scene, title_of
from bayeskit.report.drawing.svg import as_svg
from bayeskit.report.page import Page
from bayeskit.report.page_html import as_html
from bayeskit.schema import shorter
from bayeskit.visible import escape, visible

# Beyond these a notebook shows how large the network is, and no more: pictures of more boxes cannot be read.
MOST_NODES = 60
# A noisy-MAX node of many parents has a table beyond all bounds.
MOST_CELLS = 100_000
# In bytes: a notebook keeps every page it has shown. The picture comes first, then the smallest tables.
LONGEST_PAGE = 48_000


def network_html(network: Network, n_parameters: int | None = None) -> str:
    """Return the page that a notebook shows for a network.

    Parameters
    ----------
    network : the network
    n_parameters : its free parameters; None where it is not known yet

    Examples
    --------
    >>> from bayeskit.graphs.network import discrete
    >>> html = network_html(Network((Node(discrete("rain", ["no", "yes"])),)), 1)
    >>> html.splitlines()[1]
    '<p><b>Bayesian network, 1 node, no arc</b>, 1 free parameter</p>'
    """
    free = (
        f", {n_parameters:,} free parameter{'' if n_parameters == 1 else 's'}"
        if n_parameters is not None
        else ""
    )
    lines = [
        '<div class="bayeskit">',
        f"<p><b>{escape(title_of(network))}</b>{free}</p>",
    ]
    if 0 < len(network.nodes) <= MOST_NODES:
        picture = as_svg(network_scene(network)).rstrip()
        if (room := LONGEST_PAGE - len(picture.encode())) > 0:
            lines.append(f'<div style="overflow:auto">{picture}</div>')
        else:
            room = LONGEST_PAGE
            lines.append("<p>The picture is large; plot() draws it.</p>")
        lines += [tables_html(network, room)]
    elif network.nodes:
        lines.append(
            f"<p>Pictures and tables are shown up to {MOST_NODES} nodes; plot() draws any network.</p>"
        )
    return "\n".join([*lines, "</div>"])


def tables_html(network: Network, room: int = LONGEST_PAGE) -> str:
    """Return the distribution of every node, each to be opened by a click."""
    return folded(
        [(_summary(node), _body(network, node)) for node in network.nodes], "cpt(node) shows it", room
    )


def folded(parts: Sequence[tuple[str, str]], way: str, room: int = LONGEST_PAGE) -> str:
    """Return summaries with what is folded away under each, as long as there is room for it.

    Parameters
    ----------
    parts : pairs of HTML
    way : how to see what has no place
    room : bytes

    Examples
    --------
    >>> folded([("P(a)", "<p>1</p>")], "cpt(node) shows it")
    '<details><summary>P(a)</summary><p>1</p></details>'
    """
    instead = f"<p>Large: {escape(way)}.</p>"
    frame = len(f"<details><summary></summary>{instead}</details>\n")
    sizes = [len(body.encode()) for _, body in parts]
    room -= sum(len(head.encode()) + frame for head, _ in parts)
    shown = set()
    for place in sorted(range(len(parts)), key=sizes.__getitem__):
        room -= sizes[place]
        if room >= 0:
            shown.add(place)
    return "\n".join(
        f"<details><summary>{head}</summary>{body if place in shown else instead}</details>"
        for place, (head, body) in enumerate(parts)
    )


def _summary(node: Node) -> str:
    given = ", ".join(map(str, node.parents))
    return escape(visible(f"P({node.name} | {given})" if given else f"P({node.name})"))


def _body(network: Network, node: Node) -> str:
    d = node.distribution
    if d is None:
        states = ", ".join(map(str, node.variable.states)) or (
            "not known yet" if node.is_discrete else "numbers"
        )
        return f"<p>No table yet. States: {escape(states)}.</p>"
    if isinstance(d, LinearGaussian):
        return _regression(network, node, d)
    names = (*node.parents, node.name)
    kind = {Deterministic: "deterministic", NoisyMax: "noisy-MAX"}.get(type(d), "")
    n_cells = float(np.prod([float(size) for size in network.shape_of(node.name)]))
    if n_cells > MOST_CELLS:
        return f"<p>{kind or 'a table'} of {n_cells:.3g} cells</p>"
    factor = Factor(names, (network[name].variable.states for name in names), d.table())
    return factor_html(factor, caption=kind)


def _regression(network: Network, node: Node, d: LinearGaussian) -> str:
    """A row for each configuration of the discrete parents: mean as a formula, and variance."""
    chosen = [p for p in node.parents if network[p].is_discrete]
    numeric = [p for p in node.parents if not network[p].is_discrete]
    head = "".join(f"<th>{escape(visible(name))}</th>" for name in (*chosen, "mean", "variance"))
    rows = []
    for cell in np.ndindex(*d.intercept.shape):
        terms = [f"{float(d.intercept[cell]):.6g}"]
        for b, parent in zip(d.coefficients[cell].tolist(), numeric, strict=True):
            terms.append(f"{'−' if b < 0 else '+'} {abs(b):.6g} · {parent}")
        states = [network[p].variable.states[i] for p, i in zip(chosen, cell, strict=True)]
        cells = "".join(f"<th>{escape(visible(s))}</th>" for s in states)
        rows.append(
            f"<tr>{cells}<td>{escape(' '.join(terms))}</td><td>{float(d.variance[cell]):.6g}</td></tr>"
        )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def field_html(field: Field) -> str:
    """Return the page that a notebook shows for a Markov network.

    Examples
    --------
    >>> from bayeskit.graphs.factor import Factor
    >>> from bayeskit.schema import Variable
    >>> pair = Factor(["a"], [["x", "y"]], [30, 5])
    >>> field_html(Field((Variable("a", "categorical", ("x", "y")),), (pair,))).splitlines()[1]
    '<p><b>Markov network, 1 variable, 1 factor</b></p>'
    """
    called = f" {field.name}" if field.name else ""
    counts = ", ".join(
        f"{n:,} {word}{'' if n == 1 else 's'}"
        for n, word in ((len(field.variables), "variable"), (len(field.factors), "factor"))
    )
    rows = tuple((shorter(v.name), shorter(str(v.listing()), 200)) for v in field.variables)
    lines = [
        '<div class="bayeskit">',
        f"<p><b>Markov network{escape(called)}, {counts}</b></p>",
        as_html(Page("", ("variable", "states"), rows, (), ())) if rows else "",
    ]
    if len(field.factors) <= MOST_NODES:
        parts = [
            (escape(", ".join(map(str, f.names)) or "constant"), factor_html(f, caption=""))
            for f in field.factors
        ]
        room = LONGEST_PAGE - sum(len(line.encode()) for line in lines)
        lines.append(folded(parts, "factors has it", room))
    else:
        lines.append(f"<p>Factors are shown up to {MOST_NODES}; factors has them all.</p>")
    return "\n".join([*filter(None, lines), "</div>"])
