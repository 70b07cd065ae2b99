"""GeNIe XDSL: tables, noisy-MAX and deterministic nodes; the child's states come fastest.

GeNIe puts the strongest state of a noisy-MAX node first and "no effect" last: such a node is read as a
:class:`~bayeskit.graphs.distributions.NoisyMax` with ``rising=False``, its states in the order of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.graphs.distributions import Deterministic, Discrete, NoisyMax, Table
from bayeskit.graphs.network import Network, Node, discrete
from bayeskit.io.networks.assembly import assembled, warn_of_pyagrum
from bayeskit.io.networks.budget import Budget
from bayeskit.io.networks.flat_table import checked_states, table_from
from bayeskit.io.networks.mangling import unquoted
from bayeskit.io.networks.notes import TRUE_NAME, TRUE_STATES, true_states, wrong_states
from bayeskit.io.networks.numbers import decimals
from bayeskit.io.networks.rows import ROUNDED, checked_table
from bayeskit.io.networks.tokens import shown
from bayeskit.io.networks.xdsl_notes import extension_notes, node_notes
from bayeskit.io.networks.xml import Element, parse_xml
from bayeskit.schema import Variable

_KINDS = ("cpt", "noisymax", "deterministic")
_PYAGRUM = re.compile(r"\bcreated by pyAgrum\b")


@dataclass
class _Part:
    """A node as the file has it."""

    element: Element
    variable: Variable
    notes: dict[str, str]


def read_xdsl(
    data: bytes, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network:
    """Return the network of a GeNIe XDSL file.

    Examples
    --------
    >>> network = read_xdsl(
    ...     b'<smile><nodes><cpt id="rain"><state id="no"/><state id="yes"/>'
    ...     b"<probabilities>0.8 0.2</probabilities></cpt></nodes></smile>"
    ... )
    >>> network["rain"].distribution.table()
    array([0.8, 0.2])
    """
    root = parse_xml(data, path)
    # GeNIe lets the last parent vary fastest, pyAgrum the first.
    backwards = any(_PYAGRUM.search(comment) for comment in root.comments)
    network = _network_from(root, normalize, budget or Budget(len(data)), backwards)
    if backwards and any(len(node.parents) > 1 for node in network.nodes):
        warn_of_pyagrum("XDSL", path)
    return network


def _network_from(root: Element, normalize: bool, budget: Budget, backwards: bool) -> Network:
    """Return the network of the root element; ``backwards``: it names the parents of a node from the fastest on."""
    if root.tag != "smile":
        root.refuse(f"its root is <{root.tag}>; that of XDSL is <smile>.")
    dynamic = root.first("dynamic")
    if dynamic is not None:
        dynamic.refuse("this is a dynamic network. Unroll it over time in GeNIe and save that.")
    parts: dict[str, _Part] = {}
    labels, name = extension_notes(root)
    for element in _flat(root.one("nodes")):
        id = element.attribute("id")
        if id in parts:
            element.refuse(f"a second node has the id {id!r}. Rename one of them.")
        parts[id] = _part(element, id, labels)
    families = {id: _parents(part.element, parts) for id, part in parts.items()}
    if backwards:
        families = {id: parents[::-1] for id, parents in families.items()}
    nodes = [_node(part, families[id], normalize, budget) for id, part in parts.items()]
    return assembled(nodes, root.attributes.get("id", "") if name is None else name, path=root.path)


def _flat(nodes: Element) -> list[Element]:
    """Return the nodes, those of submodels among them; refuse what is no chance node."""
    found: list[Element] = []
    waiting = nodes.children[::-1]
    while waiting:
        element = waiting.pop()
        if element.tag == "submodel":
            waiting += element.children[::-1]
        elif element.tag in _KINDS:
            found.append(element)
        else:
            element.refuse(
                f"{element.attributes.get('id', '?')!r} is of the kind <{element.tag}>. Only chance nodes with tables "
                "(cpt, noisymax, deterministic) are read: take the others away, or discretize them in GeNIe."
            )
    return found


def _part(element: Element, id: str, labels: Mapping[str, Mapping[str, str]]) -> _Part:
    notes, true = node_notes(element)
    name = unquoted(true[TRUE_NAME]) if TRUE_NAME in true else id
    if not id:
        element.refuse("a node has an empty id. Give it one.")
    states = [state.attribute("id") for state in element.all("state")]
    checked_states(states, name, element.path, element.line, element.column)
    if TRUE_STATES in true:
        meant = true_states(true[TRUE_STATES], len(states))
        if meant is None:
            element.refuse(wrong_states(name, len(states)))
        states = meant
    about = dict(labels.get(id, {}))
    if about.get("label") == name:
        del about["label"]
    return _Part(element, discrete(name, states), {**notes, **about})


def _node(part: _Part, parents: Sequence[_Part], normalize: bool, budget: Budget) -> Node:
    distribution: Discrete
    if part.element.tag == "noisymax":
        distribution = _noisy_max(part, parents, normalize, budget)
    elif part.element.tag == "deterministic":
        distribution = _deterministic(part, parents, budget)
    else:
        distribution = _table(part, parents, normalize, budget)
    return Node(part.variable, tuple(parent.variable.name for parent in parents), distribution, part.notes)


def _parents(element: Element, parts: Mapping[str, _Part]) -> list[_Part]:
    named = element.first("parents")
    found = []
    for id in named.text.split() if named else ():
        if id not in parts:
            element.refuse(f"{shown(id)}, a parent of {element.attributes['id']!r}, is no node of this file.")
        found.append(parts[id])
    return found


def _numbers(element: Element, tag: str, id: str) -> tuple[list[float], Element]:
    inner = element.one(tag)
    values = decimals(inner.text.split())
    if isinstance(values, str):
        inner.refuse(f"{shown(values)}, in the {tag} of {id!r}, is no number.")
    return values, inner


def _table(part: _Part, parents: Sequence[_Part], normalize: bool, budget: Budget) -> Table:
    values, place = _numbers(part.element, "probabilities", str(part.variable.name))
    return table_from(
        values,
        part.variable,
        [parent.variable for parent in parents],
        budget,
        normalize=normalize,
        path=place.path,
        line=place.line,
        column=place.column,
    )


def _deterministic(part: _Part, parents: Sequence[_Part], budget: Budget) -> Deterministic:
    """Read the state that follows from each configuration of the parents, the last parent fastest."""
    place = part.element.one("resultingstates")
    written = [state.attributes["id"] for state in part.element.all("state")]
    codes = {state: code for code, state in enumerate(written)}
    name, sizes = part.variable.name, [parent.variable.size for parent in parents]
    words = place.text.split()
    cells = budget.take(sizes, name, place.error)
    if len(words) != cells:
        place.refuse(f"{name!r} has {len(words)} resulting states; its parents have {cells} configurations.")
    strange = next((word for word in words if word not in codes), None)
    if strange is not None:
        place.refuse(f"{shown(strange)} is no state of {name!r} (it has {', '.join(written[:12])}).")
    outcome = np.array([codes[word] for word in words], np.int64).reshape(sizes)
    return Deterministic(outcome, part.variable.size)


def _noisy_max(part: _Part, parents: Sequence[_Part], normalize: bool, budget: Budget) -> NoisyMax:
    """Read the columns of each parent's states, strongest first as ``strengths`` orders them, and the leak."""
    name = part.variable.name
    values, place = _numbers(part.element, "parameters", str(name))
    sizes = [parent.variable.size for parent in parents]
    size = part.variable.size
    if len(values) != (sum(sizes) + 1) * size:
        place.refuse(
            f"{name!r} has {len(values)} parameters; ({' + '.join(map(str, [*sizes, 1]))}) × {size} = "
            f"{(sum(sizes) + 1) * size} are needed: the states of the parents and the leak."
        )
    budget.take([sum(sizes) + 1, size], name, place.error)
    weights = checked_table(
        np.reshape(values, (-1, size)),
        name,
        path=place.path,
        line=place.line,
        column=place.column,
        normalize=normalize,
    )
    causes, start = [], 0
    for parent, order in zip(parents, _strengths(part, sizes)):
        block = weights[start : start + len(order)]
        start += len(order)
        if block[-1, -1] < 1 - ROUNDED:
            place.refuse(
                f"the weakest state of {parent.variable.name!r}, {parent.variable.states[order[-1]]!r}, must leave "
                f"{name!r} as it is: its parameters are zero but for the last, which is one."
            )
        cause = np.empty_like(block)
        cause[order] = block
        cause[order[-1]] = 0.0
        cause[order[-1], -1] = 1.0
        causes.append(cause)
    return NoisyMax(tuple(causes), weights[-1], rising=False)


def _strengths(part: _Part, sizes: Sequence[int]) -> list[list[int]]:
    """Return the states of each parent by strength, the strongest first; as declared if nothing is said."""
    given = part.element.first("strengths")
    if given is None:
        return [list(range(size)) for size in sizes]
    words = given.text.split()
    found, start = [], 0
    for size in sizes:
        order = words[start : start + size]
        start += size
        if sorted(order) != sorted(map(str, range(size))):
            break
        found.append([int(word) for word in order])
    if len(found) != len(sizes) or start != len(words):
        given.refuse(
            f"the strengths of {part.variable.name!r} must hold the numbers 0 … k − 1 of the states of each "
            "parent, in some order."
        )
    return found
