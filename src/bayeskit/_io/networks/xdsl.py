"""GeNIe XDSL: tables, noisy-MAX and deterministic nodes; the child's states vary fastest.

In GeNIe, the strongest state of a noisy-MAX node comes first and "no effect" last. Such a node is read as a
:class:`~bayeskit._graphs.distributions.NoisyMax` with ``rising=False``, with its states in the order of the
file.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import Deterministic, Discrete, NoisyMax, Table
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._io.networks.assembly import (
    ROUNDED,
    Budget,
    assembled,
    checked_states,
    checked_table,
    lines_of,
    table_from,
    table_of,
    warn_of_pyagrum,
)
from bayeskit._io.networks.mangling import (
    TRUE,
    TRUE_NAME,
    TRUE_STATES,
    mangled,
    quoted,
    take_true,
    true_states,
    unquoted,
    wrong_states,
)
from bayeskit._io.networks.tokens import decimals, shown
from bayeskit._io.networks.xml import PLAIN, Element, escaped, parse_xml
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name, Variable
from bayeskit.errors import SettingError

# A node's rectangle on GeNIe's screen: left, top, right, bottom.
POSITION = "xdsl_position"


def node_notes(element: Element) -> tuple[dict[str, str], dict[str, str]]:
    """Return the user properties of a node: notes, and its true name and states as written."""
    notes: dict[str, str] = {}
    true: dict[str, str] = {}
    for part in element.all("property"):
        key = part.attributes.get("id")
        if key in TRUE:
            wrong = take_true(true, key, part.text, TRUE)
            if wrong is not None:
                part.refuse(wrong)
        elif key:
            notes[key] = unquoted(part.text)
    return notes, true


def extension_notes(root: Element) -> tuple[dict[str, dict[str, str]], str | None]:
    """Return the label and position of every node id, and the network's name if GeNIe gave one.

    Nodes inside submodels are included: a submodel is only a frame on the screen.
    """
    found: dict[str, dict[str, str]] = {}
    name = None
    waiting = list(root.all("extensions"))
    while waiting:
        element = waiting.pop()
        if element.tag == "genie":
            name = element.attributes.get("name", name)
        if element.tag == "node" and "id" in element.attributes:
            notes = found.setdefault(element.attributes["id"], {})
            for tag, key in (("name", "label"), ("position", POSITION)):
                part = next(element.all(tag), None)
                if part is not None and part.text:
                    notes[key] = part.text
        else:
            waiting += element.children[::-1]
    return found, name


CHANCE = ("cpt", "noisymax", "deterministic")
# What an influence diagram has beside them: choices, values, and weighted sums of values.
DECIDING = ("decision", "utility", "mau")
_PYAGRUM = re.compile(r"\bcreated by pyAgrum\b")


@dataclass
class Part:
    """A node with states, as in the file."""

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
    # In GeNIe the last parent varies fastest, in pyAgrum the first.
    backwards = any(_PYAGRUM.search(comment) for comment in root.comments)
    network = _network_from(root, normalize, budget or Budget(len(data)), backwards)
    if backwards and any(len(node.parents) > 1 for node in network.nodes):
        warn_of_pyagrum("XDSL", path)
    return network


def nodes_in(root: Element, kinds: Collection[str]) -> list[Element]:
    """Return the nodes of these kinds, including those of submodels; raise an error for anything else."""
    if root.tag != "smile":
        root.refuse(Message("its root is <{tag}>; that of XDSL is <smile>.", tag=root.tag))
    dynamic = root.first("dynamic")
    if dynamic is not None:
        dynamic.refuse("this is a dynamic network. Unroll it over time in GeNIe and save that.")
    return _flat(root.one("nodes"), kinds)


def parts_of(elements: Iterable[Element], labels: Mapping[str, Mapping[str, str]]) -> dict[str, Part]:
    """Return the nodes with states by their ids."""
    parts: dict[str, Part] = {}
    for element in elements:
        id = element.attribute("id")
        if id in parts:
            element.refuse(Message("a second node has the id {id!r}. Rename one of them.", id=id))
        parts[id] = part_of(element, id, labels)
    return parts


def _network_from(root: Element, normalize: bool, budget: Budget, backwards: bool) -> Network:
    """Return the network of the root element; ``backwards``: parents are listed from the fastest on."""
    elements = nodes_in(root, CHANCE)
    labels, name = extension_notes(root)
    parts = parts_of(elements, labels)
    families = {id: parents_in(part.element, parts) for id, part in parts.items()}
    if backwards:
        families = {id: parents[::-1] for id, parents in families.items()}
    nodes = [chance_node(part, families[id], normalize, budget) for id, part in parts.items()]
    return assembled(nodes, root.attributes.get("id", "") if name is None else name, path=root.path)


def _flat(nodes: Element, kinds: Collection[str]) -> list[Element]:
    found: list[Element] = []
    waiting = nodes.children[::-1]
    while waiting:
        element = waiting.pop()
        if element.tag == "submodel":
            waiting += element.children[::-1]
        elif element.tag in kinds:
            found.append(element)
        elif element.tag in DECIDING:
            element.refuse(
                Message(
                    "{id!r} is of the kind <{tag}>: this is an influence diagram. Read it with "
                    "read_influence_diagram, or take the decisions and utilities away.",
                    id=element.attributes.get("id", "?"),
                    tag=element.tag,
                )
            )
        else:
            element.refuse(
                Message(
                    "{id!r} is of the kind <{tag}>. Only chance nodes with tables (cpt, noisymax, deterministic) "
                    "can be read: remove the others, or discretize them in GeNIe.",
                    id=element.attributes.get("id", "?"),
                    tag=element.tag,
                )
            )
    return found


def part_of(element: Element, id: str, labels: Mapping[str, Mapping[str, str]]) -> Part:
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
    return Part(element, discrete(name, states), {**notes, **about})


def chance_node(part: Part, parents: Sequence[Part], normalize: bool, budget: Budget) -> Node:
    distribution: Discrete
    if part.element.tag == "noisymax":
        distribution = _noisy_max(part, parents, normalize, budget)
    elif part.element.tag == "deterministic":
        distribution = _deterministic(part, parents, budget)
    else:
        distribution = _table(part, parents, normalize, budget)
    return Node(part.variable, tuple(parent.variable.name for parent in parents), distribution, part.notes)


def parents_in(element: Element, parts: Mapping[str, Part]) -> list[Part]:
    named = element.first("parents")
    found = []
    for id in named.text.split() if named else ():
        if id not in parts:
            element.refuse(
                Message(
                    "{attribute!r} has the parent {id}, which is not a node of this file.",
                    id=shown(id),
                    attribute=element.attributes["id"],
                )
            )
        found.append(parts[id])
    return found


def numbers_in(element: Element, tag: str, id: str) -> tuple[list[float], Element]:
    inner = element.one(tag)
    values = decimals(inner.text.split())
    if isinstance(values, str):
        inner.refuse(
            Message(
                "{values}, in the {tag} of {id!r}, is not a number.", values=shown(values), tag=tag, id=id
            )
        )
    return values, inner


def _table(part: Part, parents: Sequence[Part], normalize: bool, budget: Budget) -> Table:
    values, place = numbers_in(part.element, "probabilities", str(part.variable.name))
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


def _deterministic(part: Part, parents: Sequence[Part], budget: Budget) -> Deterministic:
    """Read the state for each configuration of the parents, with the last parent fastest."""
    place = part.element.one("resultingstates")
    written = [state.attributes["id"] for state in part.element.all("state")]
    codes = {state: code for code, state in enumerate(written)}
    name, sizes = part.variable.name, [parent.variable.size for parent in parents]
    words = place.text.split()
    cells = budget.take(sizes, name, place.error)
    if len(words) != cells:
        place.refuse(
            Message(
                "{name!r} has {n} resulting states; its parents have {cells} configurations.",
                name=name,
                n=len(words),
                cells=cells,
            )
        )
    strange = next((word for word in words if word not in codes), None)
    if strange is not None:
        place.refuse(
            Message(
                "{strange} is not a state of {name!r} (it has {names}).",
                strange=shown(strange),
                name=name,
                names=Joined(written[:12]),
            )
        )
    outcome = np.array([codes[word] for word in words], np.int64).reshape(sizes)
    return Deterministic(outcome, part.variable.size)


def _noisy_max(part: Part, parents: Sequence[Part], normalize: bool, budget: Budget) -> NoisyMax:
    """Read the columns of each parent's states, strongest first as ordered by ``strengths``, and the leak."""
    name = part.variable.name
    values, place = numbers_in(part.element, "parameters", str(name))
    sizes = [parent.variable.size for parent in parents]
    size = part.variable.size
    if len(values) != (sum(sizes) + 1) * size:
        place.refuse(
            Message(
                "{name!r} has {n} parameters; ({names}) × {size} = "
                "{sizes} are needed: the states of the parents and the leak.",
                name=name,
                n=len(values),
                names=" + ".join(map(str, [*sizes, 1])),
                size=size,
                sizes=(sum(sizes) + 1) * size,
            )
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
    for parent, order in zip(parents, _strengths(part, sizes), strict=True):
        block = weights[start : start + len(order)]
        start += len(order)
        if block[-1, -1] < 1 - ROUNDED:
            place.refuse(
                Message(
                    "the weakest state of {name!r}, {state!r}, must have no effect on {name2!r}: all its parameters "
                    "must be zero except the last, which must be one.",
                    name=parent.variable.name,
                    state=parent.variable.states[order[-1]],
                    name2=name,
                )
            )
        cause = np.empty_like(block)
        cause[order] = block
        cause[order[-1]] = 0.0
        cause[order[-1], -1] = 1.0
        causes.append(cause)
    return NoisyMax(tuple(causes), weights[-1], rising=False)


def _strengths(part: Part, sizes: Sequence[int]) -> list[list[int]]:
    """Return the states of each parent by strength, the strongest first; by default, in declared order."""
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
            Message(
                "the strengths of {name!r} must be the numbers 0 … k − 1 of the states of each parent, in some "
                "order.",
                name=part.variable.name,
            )
        )
    return found


IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RECTANGLE = re.compile(r"-?\d+ -?\d+ -?\d+ -?\d+")
# GeNIe's default colours and fonts.
_LOOKS = (
    '<interior color="e5f6f7" />',
    '<outline color="000080" />',
    '<font color="000000" name="Arial" size="8" />',
)


def xdsl_text(network: Network) -> str:
    """Return the XDSL text of a discrete network, for UTF-8.

    Parents come before their children, as GeNIe requires. Names that are not identifiers are replaced, and
    stored in a property. A noisy-MAX node keeps its parameters. Its states are written strongest first, as
    GeNIe requires. So those of a rising node are reversed, also in the tables of its children.
    """
    _require(network)
    network = strongest_first(network)
    order = parents_first(network)
    ids = mangled((node.name for node in order), IDENTIFIER)
    lines = [line for node in order for line in node_lines(node, network, ids)]
    return xdsl_document(network.name, lines, [(node.name, node.notes) for node in order], ids)


def xdsl_document(
    name: str,
    lines: Sequence[str],
    drawn: Sequence[tuple[Name, Mapping[str, str]]],
    ids: Mapping[Name, str],
) -> str:
    """Return the text of a file: the lines of its nodes, then what GeNIe draws of each, with its notes."""
    title = " ".join(re.sub(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", " ", name).split())
    id = mangled([title or "network"], IDENTIFIER)[title or "network"]
    text = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<smile version="1.0" id="{id}" numsamples="10000" discsamples="10000">',
        "\t<nodes>",
        *lines,
        "\t</nodes>",
        "\t<extensions>",
        f'\t\t<genie version="1.0" app="bayeskit" name="{escaped(title)}">',
    ]
    for place, (node, notes) in enumerate(drawn):
        label = notes.get("label", str(node))
        position = notes.get(POSITION, "")
        if not _RECTANGLE.fullmatch(position):
            left, top = 20 + place % 8 * 130, 20 + place // 8 * 90
            position = f"{left} {top} {left + 90} {top + 50}"
        shown = label if PLAIN.fullmatch(label) else ids[node]
        text += [
            f'\t\t\t<node id="{ids[node]}">',
            f"\t\t\t\t<name>{escaped(shown)}</name>",
            *(f"\t\t\t\t{look}" for look in _LOOKS),
            f"\t\t\t\t<position>{position}</position>",
            "\t\t\t</node>",
        ]
    return "\n".join([*text, "\t\t</genie>", "\t</extensions>", "</smile>", ""])


def _require(network: Network) -> None:
    """Raise an error for what XDSL cannot represent; noisy-MAX nodes keep their parameters and may have any parents."""
    network.require_distributions()
    if not network.nodes:
        raise SettingError("The network has no node; XDSL cannot hold an empty one.")
    for node in network.nodes:
        if not node.is_discrete:
            raise SettingError(
                "{name!r} is continuous, and XDSL files here have only discrete nodes. Write the native format, "
                ".json.",
                name=node.name,
            )


def parents_first(network: Network) -> list[Node]:
    """Return the nodes with parents first, otherwise in their order."""
    place = network.dag.position
    missing = [len(node.parents) for node in network.nodes]
    ready = [k for k, count in enumerate(missing) if count == 0]
    found = []
    while ready:
        node = network.nodes[heapq.heappop(ready)]
        found.append(node)
        for child in network.dag.children[node.name]:
            missing[place[child]] -= 1
            if missing[place[child]] == 0:
                heapq.heappush(ready, place[child])
    return found


def strongest_first(network: Network) -> Network:
    """Return the network with the states of every rising noisy-MAX node reversed."""
    rising = {n.name for n in network.nodes if isinstance(n.distribution, NoisyMax) and n.distribution.rising}
    if not rising:
        return network
    nodes = []
    for node in network.nodes:
        variable, distribution = node.variable, node.distribution
        axes = tuple(axis for axis, parent in enumerate(node.parents) if parent in rising)
        if isinstance(distribution, NoisyMax):
            causes = [c[::-1] if k in axes else c for k, c in enumerate(distribution.causes)]
            distribution = NoisyMax(tuple(causes), distribution.leak, distribution.rising)
        elif isinstance(distribution, Deterministic):
            distribution = Deterministic(np.flip(distribution.outcome, axes), distribution.size)
        elif isinstance(distribution, Table):
            distribution = Table(np.flip(distribution.values, axes))
        if isinstance(distribution, NoisyMax) and node.name in rising:
            variable = discrete(variable.name, variable.states[::-1])
            distribution = distribution.turned()
        nodes.append(replace(node, variable=variable, distribution=distribution))
    return replace(network, nodes=tuple(nodes))


def node_lines(node: Node, network: Network, ids: Mapping[Name, str]) -> list[str]:
    """Return the lines of a chance node, or of a decision, which has no distribution."""
    distribution = node.distribution
    states = node.variable.states
    state_ids = mangled(states, IDENTIFIER, kind=f"states of {node.name!r}")
    tag = {NoisyMax: "noisymax", Deterministic: "deterministic", type(None): "decision"}.get(
        type(distribution), "cpt"
    )
    lines = [f'\t\t<{tag} id="{ids[node.name]}">']
    lines += [f'\t\t\t<state id="{state_ids[state]}" />' for state in states]
    if node.parents:
        lines.append(f"\t\t\t<parents>{' '.join(ids[parent] for parent in node.parents)}</parents>")
    if isinstance(distribution, NoisyMax):
        lines += _noisy_lines(node, distribution)
    elif isinstance(distribution, Deterministic):
        codes = distribution.outcome.ravel().tolist()
        lines.append(wrapped("resultingstates", " ".join(state_ids[states[code]] for code in codes)))
    elif distribution is not None:
        lines.append(wrapped("probabilities", " ".join(lines_of(table_of(node)))))
    renamed = states if any(state_ids[state] != str(state) for state in states) else ()
    return [*lines, *note_lines(node.name, ids[node.name], node.notes, renamed), f"\t\t</{tag}>"]


def note_lines(name: Name, id: str, notes: Mapping[str, str], renamed: Sequence[object] = ()) -> list[str]:
    """Return the properties of a node: its true name and true states, where the file has others, and its notes."""
    lines = [property_line(TRUE_NAME, quoted(str(name)))] if id != str(name) else []
    if renamed:
        lines.append(property_line(TRUE_STATES, " ".join(quoted(str(state)) for state in renamed)))
    for key, value in notes.items():
        if key not in (TRUE_NAME, TRUE_STATES, POSITION, "label") and PLAIN.fullmatch(key):
            plain = PLAIN.fullmatch(value) and not value.startswith('"')
            lines.append(property_line(key, value if plain else quoted(value)))
    return lines


def _noisy_lines(node: Node, distribution: NoisyMax) -> list[str]:
    """Return strengths and parameters: a column for each parent state, no effect last, then the leak."""
    strengths: list[int] = []
    columns: list[NDArray[np.float64]] = []
    for cause, parent in zip(distribution.causes, node.parents, strict=True):
        idle = [s for s, row in enumerate(cause) if row[-1] == 1.0 and not row[:-1].any()]
        if not idle:
            raise SettingError(
                "Every state of {parent!r} has an effect on {name!r}, and XDSL needs a state without effect. "
                "Use native JSON (a path ending in .json), or replace the noisy-MAX by its table with set_cpt.",
                parent=parent,
                name=node.name,
            )
        order = [s for s in range(len(cause)) if s != idle[-1]] + [idle[-1]]
        strengths += order
        columns += [cause[s] for s in order]
    columns.append(distribution.leak)
    numbers = " ".join(lines_of(np.array(columns)))
    lines = [wrapped("strengths", " ".join(map(str, strengths)))] if node.parents else []
    return [*lines, wrapped("parameters", numbers)]


def wrapped(tag: str, text: str) -> str:
    return f"\t\t\t<{tag}>{text}</{tag}>"


def property_line(key: str, value: str) -> str:
    return f'\t\t\t<property id="{escaped(key)}">{escaped(value)}</property>'
