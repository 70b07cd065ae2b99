"""Write BIF: one row for each configuration of the parents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.network import Network, Node
from bayeskit.io.networks.assembly import require_discrete
from bayeskit.io.networks.bif import NAMELESS
from bayeskit.io.networks.mangling import IDENTIFIER, WORD, mangled, quoted
from bayeskit.io.networks.notes import TRUE_NAME, TRUE_STATES, is_plain, written_notes
from bayeskit.schema import Label, Name

_KEYWORDS = ("network", "variable", "probability", "property", "type", "discrete", "table", "default")


def bif_text(network: Network) -> str:
    """Return a network as the text of a BIF file; numbers are written by ``repr``, so they come back as they are.

    Names and states that BIF cannot hold are replaced; the true ones stand in the properties
    ``bayeskit_name`` and ``bayeskit_states``, which :func:`read_bif` understands.

    Examples
    --------
    >>> from bayeskit.graphs.distributions import Table
    >>> from bayeskit.graphs.network import Network, Node, discrete
    >>> print(bif_text(Network((Node(discrete("湿", ["no", "yes"]), (), Table([0.8, 0.2])),))))
    network unknown {
    }
    variable u6e7f {
      type discrete [ 2 ] { no, yes };
      property bayeskit_name = "湿";
    }
    probability ( u6e7f ) {
      table 0.8, 0.2;
    }
    <BLANKLINE>
    """
    require_discrete(network, "BIF")
    names = mangled(network.dag.nodes, IDENTIFIER, _KEYWORDS)
    states = {
        node.name: mangled(node.variable.states, WORD, _KEYWORDS, f"states of {node.name!r}")
        for node in network.nodes
    }
    lines = list(_header(network))
    for node in network.nodes:
        lines += _variable(node, names[node.name], states[node.name])
    for node in network.nodes:
        lines += _probability(node, names, states)
    return "\n".join(lines) + "\n"


def _header(network: Network) -> Iterator[str]:
    name = network.name or NAMELESS
    identifier = mangled([name], IDENTIFIER, _KEYWORDS)[name]
    yield f"network {identifier} {{"
    if identifier != name:
        yield f"  property {TRUE_NAME} = {quoted(name)};"
    yield from _properties(network.notes)
    yield "}"


def _variable(node: Node, identifier: str, states: Mapping[Label, str]) -> Iterator[str]:
    yield f"variable {identifier} {{"
    yield f"  type discrete [ {len(states)} ] {{ {', '.join(states.values())} }};"
    if identifier != str(node.name):
        yield f"  property {TRUE_NAME} = {quoted(str(node.name))};"
    if any(word != str(state) for state, word in states.items()):
        yield f"  property {TRUE_STATES} = {' '.join(quoted(str(state)) for state in states)};"
    yield from _properties(node.notes)
    yield "}"


def _properties(notes: Mapping[str, str]) -> Iterator[str]:
    for key, value in written_notes(notes):
        yield f"  property {key} = {value if is_plain(value) else quoted(value)};"


def _probability(
    node: Node, names: Mapping[Name, str], states: Mapping[Name, Mapping[Label, str]]
) -> Iterator[str]:
    assert node.distribution is not None and not isinstance(node.distribution, LinearGaussian)
    values = node.distribution.table()
    given = f" | {', '.join(names[parent] for parent in node.parents)}" if node.parents else ""
    yield f"probability ( {names[node.name]}{given} ) {{"
    words = [list(states[parent].values()) for parent in node.parents]
    for cell in np.ndindex(values.shape[:-1]):
        numbers = ", ".join(map(repr, values[cell].tolist()))
        row = ", ".join(word[code] for word, code in zip(words, cell))
        yield f"  ({row}) {numbers};" if node.parents else f"  table {numbers};"
    yield "}"
