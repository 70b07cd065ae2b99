"""Write Hugin NET."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.network import Network, Node
from bayeskit.io.networks.assembly import require_writable
from bayeskit.io.networks.mangling import IDENTIFIER, mangled, quoted
from bayeskit.io.networks.net_normal import written_normal
from bayeskit.io.networks.notes import TRUE_NAME, TRUE_STATES, written_notes
from bayeskit.schema import Name

_KEYWORDS = (
    "net",
    "class",
    "node",
    "discrete",
    "continuous",
    "decision",
    "utility",
    "function",
    "potential",
    "normal",
)
# Attributes that Hugin writes without quotation marks, and those that belong to the potential.
_BARE = frozenset({"node_size", "position", "subtype", "state_values", "experience", "fading"})
_OF_POTENTIAL = ("experience", "fading")
_BARE_VALUE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9.eE+-]+|\([0-9.eE+ ()-]*\)")
_LABEL = "label"


def net_text(network: Network) -> str:
    """Return a network as the text of a Hugin NET file; numbers are written by ``repr``.

    Names that are no identifiers are replaced; the true one stands in the attribute ``bayeskit_name``, and is
    the label where there is no other.

    Examples
    --------
    >>> from bayeskit.graphs.distributions import Table
    >>> from bayeskit.graphs.network import Network, Node, discrete
    >>> print(net_text(Network((Node(discrete("wet", ["no", "yes"]), (), Table([0.8, 0.2])),))))
    net
    {
    }
    <BLANKLINE>
    node wet
    {
        states = ("no" "yes");
    }
    <BLANKLINE>
    potential (wet)
    {
        data = (0.8 0.2);
    }
    <BLANKLINE>
    """
    require_writable(network, "NET")
    names = mangled(network.dag.nodes, IDENTIFIER, _KEYWORDS)
    lines = ["net", "{"]
    if network.name:
        lines.append(f"    {TRUE_NAME} = {quoted(network.name)};")
    lines += [*_attributes(network.notes), "}"]
    for node in network.nodes:
        lines += _node(node, names[node.name])
    for node in network.nodes:
        lines += _potential(network, node, names)
    return "\n".join(lines) + "\n"


def _attributes(notes: Mapping[str, str]) -> Iterator[str]:
    for key, value in written_notes(notes, ("states", "data"), (TRUE_NAME, TRUE_STATES, *_OF_POTENTIAL)):
        yield f"    {key} = {_value(key, value)};"


def _value(key: str, value: str) -> str:
    return value if key in _BARE and _BARE_VALUE.fullmatch(value) and _balanced(value) else quoted(value)


def _balanced(text: str) -> bool:
    """Say whether the first parenthesis is closed by the last character and no other."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth < 0 or (depth == 0 and text[0] == "(" and place < len(text) - 1):
            return False
    return depth == 0


def _node(node: Node, identifier: str) -> Iterator[str]:
    yield ""
    yield f"{'node' if node.is_discrete else 'continuous node'} {identifier}"
    yield "{"
    if node.is_discrete:
        states = mangled(node.variable.states, re.compile(".*", re.DOTALL), (), f"states of {node.name!r}")
        yield f"    states = ({' '.join(map(quoted, states.values()))});"
    notes = dict(node.notes)
    if identifier != str(node.name):
        yield f"    {TRUE_NAME} = {quoted(str(node.name))};"
        notes.setdefault(_LABEL, str(node.name))
    yield from _attributes(notes)
    yield "}"


def _potential(network: Network, node: Node, names: Mapping[Name, str]) -> Iterator[str]:
    given = f" | {' '.join(names[parent] for parent in node.parents)}" if node.parents else ""
    yield ""
    yield f"potential ({names[node.name]}{given})"
    yield "{"
    yield f"    data = {_data(network, node, names)};"
    for key in _OF_POTENTIAL:
        if key in node.notes:
            yield f"    {key} = {_value(key, str(node.notes[key]))};"
    yield "}"


def _data(network: Network, node: Node, names: Mapping[Name, str]) -> str:
    distribution = node.distribution
    assert distribution is not None
    if not isinstance(distribution, LinearGaussian):
        values = distribution.table()
        return _nested(list(map(repr, values.ravel().tolist())), values.shape)
    numeric = [names[parent] for parent in node.parents if not network[parent].is_discrete]
    shape = distribution.intercept.shape
    cells = [
        written_normal(
            float(distribution.intercept[cell]),
            distribution.coefficients[cell].tolist(),
            float(distribution.variance[cell]),
            numeric,
        )
        for cell in np.ndindex(shape)
    ]
    return _nested(cells, shape)


def _nested(cells: list[str], shape: tuple[int, ...]) -> str:
    """Put parentheses around the cells of each axis, one row a line.

    >>> _nested(list("abcd"), (2, 2))
    '((a b)\\n     (c d))'
    """
    if not shape:
        return cells[0]
    size = shape[-1]
    cells = [f"({' '.join(cells[k : k + size])})" for k in range(0, len(cells), size)]
    for size in reversed(shape[:-1]):
        cells = ["(" + "\n     ".join(cells[k : k + size]) + ")" for k in range(0, len(cells), size)]
    return cells[0]
