"""Influence diagrams in files: GeNIe XDSL (decision, utility, mau) and the BIFXML of pyAgrum.

In both, the last parent of a table varies fastest, as in networks. Several utilities add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayeskit._graphs.distributions import NoisyMax
from bayeskit._graphs.network import Diagram, Network, Node, Utility
from bayeskit._io.networks.assembly import Budget, assembled, lines_of, require_discrete, table_from, table_of
from bayeskit._io.networks.mangling import TRUE, TRUE_NAME, mangled, quoted, unquoted
from bayeskit._io.networks.raw import read_stored, unpacked, write_atomically
from bayeskit._io.networks.xdsl import (
    CHANCE,
    DECIDING,
    IDENTIFIER,
    Part,
    chance_node,
    extension_notes,
    node_lines,
    node_notes,
    nodes_in,
    note_lines,
    numbers_in,
    parents_first,
    parents_in,
    parts_of,
    strongest_first,
    wrapped,
    xdsl_document,
)
from bayeskit._io.networks.xml import PLAIN, Element, escaped, parse_xml
from bayeskit._io.networks.xmlbif import (
    KINDS,
    definition_lines,
    family_in,
    notes_in,
    property_lines,
    variable_in,
    variable_lines,
)
from bayeskit._io.networks.xmlbif import numbers_in as bifxml_numbers_in
from bayeskit._io.saved import as_path
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name, Variable
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.typing import Floats, PathLike

_SUFFIXES = {"xdsl": (".xdsl",), "bifxml": (".bifxml", ".xml", ".xmlbif")}
# pyAgrum repeats a variable and its states in this property, and reads them from the OUTCOMEs without it.
_FAST = "fast"


def read_diagram(
    path: PathLike, format: str | None = None, normalize: bool = False, max_memory: float | None = None
) -> Diagram:
    """Read an influence diagram; the suffix or the root of the file tells its format."""
    if format is not None:
        _known(format)
    path = as_path(path)
    stored = read_stored(path)
    data = unpacked(stored, path)
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        raise ModelFormatError(
            "this is no influence diagram: those are XML files (XDSL, BIFXML). If it is a network without decisions, "
            "read it with read_network.",
            path=path,
        )
    root = parse_xml(data, path)
    budget = Budget(min(len(data), 4 * len(stored)), max_memory)
    if format is None:
        format = {"smile": "xdsl", "BIF": "bifxml"}.get(root.tag)
    if format is None:
        root.refuse(
            Message(
                "its root is <{tag}>; influence diagrams are read from XDSL (<smile>) and BIFXML (<BIF>).",
                tag=root.tag,
            )
        )
    read = xdsl_diagram if format == "xdsl" else bifxml_diagram
    return read(root, normalize, budget)


def write_diagram(path: PathLike, diagram: Diagram, format: str | None = None) -> None:
    """Write an influence diagram, completely or not at all; compressed if the path ends in ``.gz``."""
    path = as_path(path)
    if format is None:
        name = path.name.lower().removesuffix(".gz")
        format = next((f for f, suffixes in _SUFFIXES.items() if name.endswith(suffixes)), None)
        if format is None:
            raise SettingError(
                "{name!r} does not say in which format to write an influence diagram. End it in {listing}, or pass "
                "format=.",
                name=path.name,
                listing=Joined(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes),
            )
    _known(format)
    text = xdsl_diagram_text(diagram) if format == "xdsl" else bifxml_text(diagram)
    write_atomically(path, text.encode("utf-8"))


def _known(format: object) -> None:
    if format not in _SUFFIXES:
        raise SettingError(
            "There is no format {format!r} of influence diagrams. There are {listing}.",
            format=format,
            listing=Joined(_SUFFIXES),
        )


def _checked(
    nodes: Sequence[Node], name: str, decisions: Sequence[Name], utilities: Sequence[Utility], root: Element
) -> Diagram:
    network = assembled(nodes, name, path=root.path)
    try:
        return Diagram(network, tuple(decisions), tuple(utilities))
    except SettingError as error:
        raise ModelFormatError(error.message, path=root.path) from error


def _finite(
    values: Sequence[float], name: Name, sizes: Sequence[int], budget: Budget, place: Element
) -> Floats:
    """Return the table of a utility; the last parent varies fastest."""
    cells = budget.take(sizes, name, place.error)
    if len(values) != cells:
        place.refuse(
            Message(
                "the table of {name!r} has {n} numbers; {shape} = {cells} are needed.",
                name=name,
                n=len(values),
                shape=" × ".join(map(str, sizes)) or "1",
                cells=cells,
            )
        )
    wrong = next((value for value in values if not np.isfinite(value)), None)
    if wrong is not None:
        place.refuse(
            Message("the utility {name!r} holds {value}. Utilities are finite.", name=name, value=wrong)
        )
    return np.reshape(np.array(values, np.float64), sizes)


def _no_utility(parents: Sequence[str], utilities: Mapping[str, object], child: Name, place: Element) -> None:
    above = next((id for id in parents if id in utilities), None)
    if above is not None:
        place.refuse(
            Message(
                "{parent!r}, a parent of {child!r}, is a utility, and utilities have no children. Take the arc away.",
                parent=above,
                child=child,
            )
        )


# -- XDSL --------------------------------------------------------------------------------------


def xdsl_diagram(root: Element, normalize: bool, budget: Budget) -> Diagram:
    """Return the diagram of a GeNIe XDSL file.

    Examples
    --------
    >>> root = parse_xml(
    ...     b'<smile><nodes><decision id="d"><state id="no"/><state id="yes"/></decision>'
    ...     b"<utility id='u'><parents>d</parents><utilities>0 5</utilities></utility></nodes></smile>"
    ... )
    >>> xdsl_diagram(root, False, Budget(1000)).utilities[0].values
    array([0., 5.])
    """
    elements = nodes_in(root, (*CHANCE, *DECIDING))
    labels, name = extension_notes(root)
    parts = parts_of([e for e in elements if e.tag not in ("utility", "mau")], labels)
    values = {e.attribute("id"): e for e in elements if e.tag in ("utility", "mau")}
    nodes, decisions = [], []
    for id, part in parts.items():
        _no_utility(_ids(part.element), values, id, part.element)
        if id in values:
            values[id].refuse(Message("a second node has the id {id!r}. Rename one of them.", id=id))
        parents = parents_in(part.element, parts)
        if part.element.tag == "decision":
            nodes.append(Node(part.variable, tuple(p.variable.name for p in parents), None, part.notes))
            decisions.append(part.variable.name)
        else:
            nodes.append(chance_node(part, parents, normalize, budget))
    weights = _weights(values)
    utilities = [
        _xdsl_utility(element, weights[id], parts, values, labels, budget)
        for id, element in values.items()
        if element.tag == "utility"
    ]
    return _checked(
        nodes, root.attributes.get("id", "") if name is None else name, decisions, utilities, root
    )


def _ids(element: Element) -> list[str]:
    named = element.first("parents")
    return named.text.split() if named else []


def _xdsl_utility(
    element: Element,
    weight: float,
    parts: Mapping[str, Part],
    values: Mapping[str, Element],
    labels: Mapping[str, Mapping[str, str]],
    budget: Budget,
) -> Utility:
    id = element.attribute("id")
    notes, true = node_notes(element)
    name = unquoted(true[TRUE_NAME]) if TRUE_NAME in true else id
    _no_utility(_ids(element), values, name, element)
    parents = parents_in(element, parts)
    numbers, place = numbers_in(element, "utilities", name)
    table = _finite(numbers, name, [parent.variable.size for parent in parents], budget, place)
    about = {key: text for key, text in labels.get(id, {}).items() if (key, text) != ("label", name)}
    scaled = table if weight == 1.0 else table * weight
    return Utility(name, tuple(parent.variable.name for parent in parents), scaled, {**notes, **about})


def _weights(values: Mapping[str, Element]) -> dict[str, float]:
    """Return the weight of each utility in the total: the product of weights on the way to the last sum.

    A <mau> node is a weighted sum of utilities or of other such sums. Without one, utilities simply add.
    """
    inside: dict[str, list[tuple[str, float]]] = {}
    for id, element in values.items():
        if element.tag == "mau":
            inside[id] = _summands(element, id, values)
    used = {child for summands in inside.values() for child, _ in summands}
    total = dict.fromkeys(values, 0.0)
    waiting = {id: sum(id == child for s in inside.values() for child, _ in s) for id in values}
    ready = [id for id in values if id not in used]
    for id in ready:
        total[id] = 1.0
    done = 0
    while ready:
        id = ready.pop()
        done += 1
        for child, weight in inside.get(id, ()):
            total[child] += total[id] * weight
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if done < len(values):
        stuck = next(id for id in inside if waiting[id])
        values[stuck].refuse(
            Message("the sum {id!r} contains itself. Take one of its parents away.", id=stuck)
        )
    return total


def _summands(element: Element, id: str, values: Mapping[str, Element]) -> list[tuple[str, float]]:
    if element.first("weights") is None:
        element.refuse(
            Message("the sum {id!r} has no <weights>. Only weighted sums of utilities are read.", id=id)
        )
    parents = _ids(element)
    stray = next((parent for parent in parents if parent not in values), None)
    if stray is not None:
        element.refuse(
            Message("{stray!r}, a parent of the sum {id!r}, is no utility of this file.", stray=stray, id=id)
        )
    numbers, place = numbers_in(element, "weights", id)
    if len(numbers) != len(parents) or not np.isfinite(numbers).all():
        place.refuse(
            Message("the sum {id!r} needs {n} finite weights, one for each parent.", id=id, n=len(parents))
        )
    return list(zip(parents, numbers, strict=True))


def xdsl_diagram_text(diagram: Diagram) -> str:
    """Return the XDSL text of a diagram. Several utilities get a sum, as GeNIe wants one value."""
    diagram.require_tables()
    network = strongest_first(diagram.network)
    turned = {
        node.name
        for node in diagram.network.nodes
        if isinstance(node.distribution, NoisyMax) and node.distribution.rising
    }
    order = parents_first(network)
    utilities = diagram.utilities
    several = len(utilities) > 1
    names = [*(node.name for node in order), *(utility.name for utility in utilities)]
    total = _unused("total", names) if several else None
    ids = mangled([*names, *([total] if several else [])], IDENTIFIER)
    lines = [line for node in order for line in node_lines(node, network, ids)]
    for utility in utilities:
        axes = tuple(axis for axis, parent in enumerate(utility.parents) if parent in turned)
        lines.append(f'\t\t<utility id="{ids[utility.name]}">')
        if utility.parents:
            lines.append(wrapped("parents", " ".join(ids[parent] for parent in utility.parents)))
        numbers = np.flip(utility.values, axes).ravel().tolist()
        lines.append(wrapped("utilities", " ".join(map(repr, numbers))))
        lines += [*note_lines(utility.name, ids[utility.name], utility.notes), "\t\t</utility>"]
    if several:
        lines += [
            f'\t\t<mau id="{ids[total]}">',
            wrapped("parents", " ".join(ids[utility.name] for utility in utilities)),
            wrapped("weights", " ".join(["1.0"] * len(utilities))),
            "\t\t</mau>",
        ]
    drawn = [*((node.name, node.notes) for node in order), *((u.name, u.notes) for u in utilities)]
    return xdsl_document(network.name, lines, [*drawn, *([(total, {})] if several else [])], ids)


def _unused(word: str, names: Sequence[Name]) -> str:
    while word in map(str, names):
        word += "_"
    return word


# -- BIFXML ------------------------------------------------------------------------------------


def bifxml_diagram(root: Element, normalize: bool, budget: Budget) -> Diagram:
    """Return the diagram of a BIFXML file, as pyAgrum writes it.

    Decisions have a DEFINITION without a TABLE, or none. A utility has one outcome, which means nothing.
    """
    if root.tag != "BIF":
        root.refuse(Message("its root is <{tag}>; that of XMLBIF is <BIF>.", tag=root.tag))
    root.only("NETWORK")
    element = root.one("NETWORK")
    element.only("NAME", "PROPERTY", "VARIABLE", "DEFINITION")
    variables: dict[str, Variable] = {}
    kinds: dict[str, str] = {}
    notes: dict[str, dict[str, str]] = {}
    for part in element.all("VARIABLE"):
        written = part.one("NAME").text
        if written in variables:
            part.refuse(
                Message("a second VARIABLE is named {written!r}. Rename one of them.", written=written)
            )
        notes[written], true = notes_in(part, obeyed=TRUE)
        notes[written].pop(_FAST, None)
        variables[written] = variable_in(part, written, true, KINDS)
        kinds[written] = part.attributes.get("TYPE", "nature")
    definitions = _definitions(element, variables)
    valued = {written: kind for written, kind in kinds.items() if kind == "utility"}
    nodes: list[Node] = []
    utilities: list[Utility] = []
    for written, variable in variables.items():
        found = definitions.get(written)
        parents: list[Variable] = []
        if found is not None:
            _no_utility([g.text for g in found.all("GIVEN")], valued, variable.name, found)
            parents = family_in(found, variables)[1]
        names = tuple(parent.name for parent in parents)
        if kinds[written] == "decision":
            nodes.append(Node(variable, names, None, notes[written]))
            continue
        if found is None:
            element.refuse(
                Message(
                    "{name!r} has no DEFINITION. The file may be cut, or the definition is missing.",
                    name=variable.name,
                )
            )
        values, place = bifxml_numbers_in(found, variable)
        if kinds[written] == "utility":
            table = _finite(values, variable.name, [parent.size for parent in parents], budget, place)
            utilities.append(Utility(variable.name, names, table, notes[written]))
            continue
        distribution = table_from(
            values,
            variable,
            parents,
            budget,
            normalize=normalize,
            path=place.path,
            line=place.line,
            column=place.column,
        )
        nodes.append(Node(variable, names, distribution, notes[written]))
    named = element.first("NAME")
    _, true = notes_in(element, obeyed=(TRUE_NAME,))
    name = unquoted(true[TRUE_NAME]) if TRUE_NAME in true else named.text if named else ""
    decisions = [variables[written].name for written, kind in kinds.items() if kind == "decision"]
    return _checked(nodes, name, decisions, utilities, root)


def _definitions(element: Element, variables: Mapping[str, Variable]) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for part in element.all("DEFINITION"):
        part.only("FOR", "GIVEN", "TABLE", "PROPERTY")
        written = part.one("FOR").text
        family_in(part, variables)
        if written in found:
            part.refuse(
                Message(
                    "there is a second definition of {name!r}. Keep one of them.",
                    name=variables[written].name,
                )
            )
        found[written] = part
    return found


def bifxml_text(diagram: Diagram) -> str:
    """Return the BIFXML text of a diagram, without a DTD, which pyAgrum does not read."""
    diagram.require_tables()
    require_discrete(diagram.deciding({}), "BIFXML")
    network: Network = diagram.network
    ids = mangled(diagram.dag.nodes, PLAIN)
    title = mangled([network.name], PLAIN)[network.name] if network.name else ""
    true = {} if title == network.name else {TRUE_NAME: quoted(network.name)}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>"]
    lines += [f"<NAME>{escaped(title)}</NAME>", *property_lines({}, true, "")]
    for node in network.nodes:
        kind = "decision" if node.name in diagram.decisions else "nature"
        lines += variable_lines(node, ids[node.name], kind, (_FAST,))
    for utility in diagram.utilities:
        true = {} if ids[utility.name] == str(utility.name) else {TRUE_NAME: quoted(str(utility.name))}
        notes = {key: value for key, value in utility.notes.items() if key != _FAST}
        lines += [
            '<VARIABLE TYPE="utility">',
            f"  <NAME>{escaped(ids[utility.name])}</NAME>",
            "  <OUTCOME>0</OUTCOME>",
            *property_lines(notes, true, "  "),
            "</VARIABLE>",
        ]
    for node in network.nodes:
        rows = [] if node.distribution is None else lines_of(table_of(node))
        lines += definition_lines(node.name, node.parents, rows, ids)
    for utility in diagram.utilities:
        table = utility.values if utility.values.ndim else utility.values.reshape(1)
        lines += definition_lines(utility.name, utility.parents, lines_of(table), ids)
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])
