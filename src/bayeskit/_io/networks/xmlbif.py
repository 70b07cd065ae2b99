"""XMLBIF 0.3: variables with outcomes, definitions with tables; the child's states vary fastest.

Older files (``PROBABILITY`` and ``VALUE`` instead of ``DEFINITION`` and ``OUTCOME``) are an error: JavaBayes
and FastPGM, which both wrote them, order the numbers differently, and the file does not say which one wrote
it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._io.networks.assembly import (
    Budget,
    assembled,
    checked_states,
    lines_of,
    require_discrete,
    table_from,
    table_of,
)
from bayeskit._io.networks.mangling import (
    QUOTED,
    TRUE,
    TRUE_NAME,
    TRUE_STATES,
    add_note,
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

# The types of a VARIABLE.
KINDS = ("nature", "decision", "utility")
# Without the internal DTD of the specification: it says nothing about the network, and pyAgrum does not read past it.
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def read_xmlbif(
    data: bytes, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network:
    """Return the network of an XMLBIF file.

    Parameters
    ----------
    data : the bytes of the file; the XML header declares the encoding
    path : for messages
    normalize : divide every row by its sum, whatever it is
    budget : the number of cells its tables may have; by default, what its length allows

    Examples
    --------
    >>> network = read_xmlbif(
    ...     b"<BIF><NETWORK><VARIABLE><NAME>rain</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>"
    ...     b"<DEFINITION><FOR>rain</FOR><TABLE>0.8 0.2</TABLE></DEFINITION></NETWORK></BIF>"
    ... )
    >>> network["rain"].variable.states
    ('no', 'yes')
    """
    return _network_from(parse_xml(data, path), normalize, budget or Budget(len(data)))


def _network_from(root: Element, normalize: bool, budget: Budget) -> Network:
    """Return the network of the root element."""
    if root.tag != "BIF":
        root.refuse(Message("its root is <{tag}>; that of XMLBIF is <BIF>.", tag=root.tag))
    root.only("NETWORK")
    element = root.one("NETWORK")
    old = next(element.all("PROBABILITY"), None)
    if old is not None:
        old.refuse(
            "its tables are <PROBABILITY> blocks, of XMLBIF before 0.3, and programs disagree on the order of their "
            "numbers. Save it as XMLBIF 0.3 or BIF."
        )
    element.only("NAME", "PROPERTY", "VARIABLE", "DEFINITION")
    variables: dict[str, Variable] = {}
    notes: dict[str, dict[str, str]] = {}
    for part in element.all("VARIABLE"):
        written = part.one("NAME").text
        if written in variables:
            part.refuse(
                Message("a second VARIABLE is named {written!r}. Rename one of them.", written=written)
            )
        notes[written], true = notes_in(part, obeyed=TRUE)
        variables[written] = variable_in(part, written, true)
    families: dict[str, Node] = {}
    for part in element.all("DEFINITION"):
        written, node = _family(part, variables, normalize, budget)
        if written in families:
            part.refuse(
                Message("there is a second definition of {name!r}. Keep one of them.", name=node.name)
            )
        about = {**notes_in(part, obeyed=())[0], **notes[written]}
        families[written] = Node(node.variable, node.parents, node.distribution, about)
    for written, variable in variables.items():
        if written not in families:
            element.refuse(
                Message(
                    "{name!r} has no DEFINITION. The file may be cut, or the definition is missing.",
                    name=variable.name,
                )
            )
    named = element.first("NAME")
    about, true = notes_in(element, obeyed=(TRUE_NAME,))
    name = unquoted(true[TRUE_NAME]) if TRUE_NAME in true else named.text if named else ""
    return assembled((families[written] for written in variables), name, about, root.path)


def variable_in(
    part: Element, written: str, true: Mapping[str, str], kinds: Collection[str] = ("nature",)
) -> Variable:
    """Read a VARIABLE of these kinds; ``true`` are the properties with its true name and states, as written."""
    part.only("NAME", "OUTCOME", "PROPERTY")
    kind = part.attributes.get("TYPE", "nature")
    if kind not in kinds:
        part.refuse(
            Message(
                "{written!r} is a {kind} node: this is an influence diagram. Read it with read_influence_diagram, or "
                "take the decisions and utilities away.",
                written=written,
                kind=kind,
            )
            if kind in KINDS
            else Message(
                "{written!r} has the TYPE {kind!r}; there are {kinds}.",
                written=written,
                kind=kind,
                kinds=Joined(KINDS),
            )
        )
    name = unquoted(true[TRUE_NAME]) if TRUE_NAME in true else written
    if not written:
        part.refuse("a VARIABLE has an empty NAME. Give it one.")
    states = [outcome.text for outcome in part.all("OUTCOME")]
    if kind == "utility":
        return discrete(name, ())
    checked_states(states, name, part.path, part.line, part.column)
    if TRUE_STATES in true:
        meant = true_states(true[TRUE_STATES], len(states))
        if meant is None:
            part.refuse(wrong_states(name, len(states)))
        states = meant
    return discrete(name, states)


def _family(
    part: Element, variables: Mapping[str, Variable], normalize: bool, budget: Budget
) -> tuple[str, Node]:
    """Read a DEFINITION: the child, its parents, and the table."""
    part.only("FOR", "GIVEN", "TABLE", "PROPERTY")

    variable, parents = family_in(part, variables)
    values, table = numbers_in(part, variable)
    distribution = table_from(
        values,
        variable,
        parents,
        budget,
        normalize=normalize,
        path=table.path,
        line=table.line,
        column=table.column,
    )
    return part.one("FOR").text, Node(variable, tuple(parent.name for parent in parents), distribution)


def family_in(part: Element, variables: Mapping[str, Variable]) -> tuple[Variable, list[Variable]]:
    """Return the variable of a DEFINITION, and those it is given."""

    def known(element: Element) -> Variable:
        if element.text not in variables:
            element.refuse(Message("{text} is not a VARIABLE of this file.", text=shown(element.text)))
        return variables[element.text]

    return known(part.one("FOR")), [known(given) for given in part.all("GIVEN")]


def numbers_in(part: Element, variable: Variable) -> tuple[list[float], Element]:
    """Return the numbers of the TABLE of a DEFINITION, and where they stand."""
    table = part.one("TABLE")
    table.only()
    values = decimals(table.text.split())
    if isinstance(values, str):
        table.refuse(
            Message(
                "{values}, in the table of {name!r}, is not a number.",
                values=shown(values),
                name=variable.name,
            )
        )
    return values, table


def notes_in(part: Element, obeyed: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the PROPERTY lines of an element, ``key = value`` or a key alone: notes, and those ``obeyed`` here."""
    found: dict[str, str] = {}
    true: dict[str, str] = {}
    for element in part.all("PROPERTY"):
        text = element.text
        opening = QUOTED.match(text)
        key, _, value = (
            (opening.group(), "", text[opening.end() :].strip().removeprefix("="))
            if opening
            else text.partition("=")
        )
        key, value = unquoted(key.strip()), value.strip()
        if key in TRUE:
            wrong = take_true(true, key, value, obeyed)
            if wrong is not None:
                element.refuse(wrong)
        elif key:
            add_note(found, key, unquoted(value))
    return found, true


def xmlbif_text(network: Network) -> str:
    """Return the XMLBIF text of a discrete network, for UTF-8.

    Names that XML would change (control characters, blanks at the ends) are stored in a property.
    """
    require_discrete(network, "XMLBIF")
    ids = mangled((node.name for node in network.nodes), PLAIN)
    name = mangled([network.name], PLAIN)[network.name] if network.name else ""
    lines = ['<BIF VERSION="0.3">', "<NETWORK>", f"<NAME>{escaped(name)}</NAME>"]
    true = {} if name == network.name else {TRUE_NAME: quoted(network.name)}
    lines += property_lines(network.notes, true, "")
    for node in network.nodes:
        lines += variable_lines(node, ids[node.name])
    for node in network.nodes:
        lines += definition_lines(node.name, node.parents, lines_of(table_of(node)), ids)
    return _HEAD + "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def variable_lines(node: Node, id: str, kind: str = "nature", dropped: Collection[str] = ()) -> list[str]:
    """Return the VARIABLE of a node with states, without the notes of these names."""
    states = mangled(node.variable.states, PLAIN, kind=f"states of {node.name!r}")
    true = {}
    if id != str(node.name):
        true[TRUE_NAME] = quoted(str(node.name))
    if any(states[state] != str(state) for state in states):
        true[TRUE_STATES] = " ".join(quoted(str(state)) for state in states)
    notes = {key: value for key, value in node.notes.items() if key not in dropped}
    return [
        f'<VARIABLE TYPE="{kind}">',
        f"  <NAME>{escaped(id)}</NAME>",
        *(f"  <OUTCOME>{escaped(state)}</OUTCOME>" for state in states.values()),
        *property_lines(notes, true, "  "),
        "</VARIABLE>",
    ]


def definition_lines(
    name: Name, parents: Sequence[Name], rows: Sequence[str], ids: Mapping[Name, str]
) -> list[str]:
    """Return the DEFINITION of a node or utility; without rows there is no table."""
    return [
        "<DEFINITION>",
        f"  <FOR>{escaped(ids[name])}</FOR>",
        *(f"  <GIVEN>{escaped(ids[parent])}</GIVEN>" for parent in parents),
        *(["  <TABLE>", *rows, "  </TABLE>"] if rows else []),
        "</DEFINITION>",
    ]


def property_lines(notes: Mapping[str, str], true: Mapping[str, str], indent: str) -> list[str]:
    """Return the PROPERTY lines of notes, after those with true names."""
    lines = [f"{key} = {value}" for key, value in true.items()]
    for key, value in notes.items():
        if key in (TRUE_NAME, TRUE_STATES) or not key:
            continue
        safe = PLAIN.fullmatch(key) and "=" not in key and not key.startswith('"')
        shown = key if safe else quoted(key)
        if value:
            plain = PLAIN.fullmatch(value) and not value.startswith('"')
            shown += f" = {value if plain else quoted(value)}"
        lines.append(shown)
    return [f"{indent}<PROPERTY>{escaped(line)}</PROPERTY>" for line in lines]
