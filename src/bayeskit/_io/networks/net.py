"""Hugin NET: blocks ``net``, ``node``, ``potential``; nested lists of numbers, with the child's states fastest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from bayeskit._graphs.distributions import Distribution, LinearGaussian, Softmax, Table
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._io.networks.assembly import DECLARED_LATE, Budget, assembled, checked_table, require_writable
from bayeskit._io.networks.mangling import (
    IDENTIFIER,
    QUOTED,
    TRUE_NAME,
    TRUE_STATES,
    add_note,
    mangled,
    misplaced,
    quoted,
    unquoted,
    written_notes,
)
from bayeskit._io.networks.normal_nodes import fits, read_normals, written_normal
from bayeskit._io.networks.raw import decode
from bayeskit._io.networks.tokens import Tokens, pattern, shown
from bayeskit._messages import Message
from bayeskit._schema import Name, Variable, first_twice
from bayeskit.errors import ModelFormatError, SettingError

_TOKEN = pattern(r"\s|%[^\n]*+", "(){};=|", comment="%")
_REFUSED = {"decision": "a decision node", "utility": "a utility node", "function": "a function node"}
_NO_DIAGRAM = "Only networks of chance nodes can be read: remove it, or replace it by a chance node."


@dataclass
class _Declaration:
    """A block and its attributes: for each, the range of tokens of its value. ``at`` is the position of its name."""

    name: str
    at: int
    variable: Variable | None = None
    attributes: dict[str, tuple[int, int]] = field(default_factory=dict)


def read_net(
    data: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network:
    """Read a network from the text of a Hugin NET file.

    Continuous nodes with ``normal(a + b * x, v)`` are linear-Gaussian. Classes (object-oriented networks),
    decisions and utilities are errors that name them. Hugin allows rows that do not sum to one: pass
    ``normalize``.

    Examples
    --------
    >>> text = '''net { }
    ... node rain { states = ("no" "yes"); }
    ... node wet { states = ("no" "yes"); label = "Wet grass"; }
    ... potential (rain) { data = (0.8 0.2); }
    ... potential (wet | rain) { data = ((1 0) (0.1 0.9)); } % rows'''
    >>> network = read_net(text)
    >>> network["wet"].distribution.table()
    array([[1. , 0. ],
           [0.1, 0.9]])
    """
    tokens = Tokens(decode(data, path), _TOKEN, path)
    return _Reader(tokens, normalize, budget or Budget(len(data))).network()


class _Reader:
    def __init__(self, tokens: Tokens, normalize: bool, budget: Budget) -> None:
        self.tokens, self.normalize, self.budget = tokens, normalize, budget
        self.declared: dict[str, _Declaration] = {}

    def network(self) -> Network:
        tokens = self.tokens
        if tokens.peek() == "class":
            raise tokens.error(
                "this is a class of an object-oriented network. Save it in Hugin as a flat network (.net)."
            )
        tokens.expect("net", "at the beginning of a NET file")
        header = self.attributes(_Declaration("the network", tokens.at))
        potentials: dict[str, tuple[tuple[str, ...], _Declaration]] = {}
        families = []
        while tokens.peek():
            if tokens.skip("potential"):
                families.append(self.family())
            else:
                self.read_node(late=bool(families))
        for child, parents, potential in families:
            if child in potentials:
                raise tokens.error(
                    Message("there is a second potential of {child!r}.", child=child), potential.at
                )
            potentials[child] = (parents, potential)
        for name, declared in self.declared.items():
            if name not in potentials:
                raise tokens.error(
                    Message(
                        "{name!r} has no potential: the file was cut short, or one must be added.", name=name
                    ),
                    declared.at,
                )
        nodes = [self.node(name, *potentials.pop(name)) for name in self.declared]
        if potentials:
            child, (_, potential) = potentials.popitem()
            raise tokens.error(Message("there is no node {child!r}.", child=child), potential.at)
        name = self.true_name(header) or ""
        return assembled(nodes, name, self.notes(header, ()), tokens.path)

    def attributes(self, declared: _Declaration) -> _Declaration:
        """Read ``{ key = value; … }``."""
        tokens = self.tokens
        tokens.expect("{", Message("after {name}", name=shown(declared.name)))
        while not tokens.skip("}"):
            at, key = tokens.at, tokens.name("an attribute")
            tokens.expect("=", Message("after {key}", key=shown(key)))
            start, end = tokens.at, tokens.find(";")
            if start == end or not {"{", "}", "="}.isdisjoint(tokens.words[start:end]):
                raise tokens.error(
                    Message("the attribute {key} has no value, or no semicolon at its end.", key=shown(key)),
                    at,
                )
            if key in declared.attributes:
                raise tokens.error(Message("the attribute {key} is given twice.", key=shown(key)), at)
            declared.attributes[key] = (start, end)
            tokens.at = end + 1
        return declared

    def read_node(self, late: bool) -> None:
        tokens = self.tokens
        at, kind = tokens.at, tokens.take()
        numeric = kind == "continuous"
        if kind in ("continuous", "discrete"):
            kind = tokens.take()
        if kind in _REFUSED:
            tokens.skip("node")
            raise tokens.error(
                Message(
                    "{name!r} is {refused}. {no_diagram}",
                    name=tokens.name(),
                    refused=_REFUSED[kind],
                    no_diagram=Message(_NO_DIAGRAM),
                ),
                at,
            )
        if kind != "node":
            raise tokens.error(
                Message("there is {kind} where a block 'node' or 'potential' must begin.", kind=shown(kind)),
                tokens.at - 1,
            )
        if late:
            raise tokens.error(Message(DECLARED_LATE, kind="node"), at)
        declared = _Declaration("", tokens.at)
        name = declared.name = tokens.name("the name of a node")
        if name in self.declared:
            raise tokens.error(
                Message("there is a second node {name!r}. Rename one of them.", name=name), declared.at
            )
        self.attributes(declared)
        true = self.true_name(declared)
        shown_name = name if true is None else true
        declared.variable = continuous(shown_name) if numeric else discrete(shown_name, self.states(declared))
        self.declared[name] = declared

    def states(self, declared: _Declaration) -> list[str]:
        tokens = self.tokens
        start, end = declared.attributes.get("states", (declared.at, declared.at))
        words = [word for word in tokens.words[start:end] if word != ","]
        if words[:1] != ["("] or words[-1:] != [")"] or not {"(", ")"}.isdisjoint(words[1:-1]):
            raise tokens.error(
                Message('{name!r} needs states, such as states = ("no" "yes").', name=declared.name), start
            )
        states = [unquoted(word) for word in words[1:-1]]
        twice = first_twice(states)
        if twice is not None or not states:
            raise tokens.error(
                Message("{name!r} needs states, all of them different.", name=declared.name), start
            )
        return states

    def family(self) -> tuple[str, tuple[str, ...], _Declaration]:
        tokens = self.tokens
        tokens.expect("(", "after 'potential'")
        potential = _Declaration("potential", tokens.at)
        child, parents = tokens.name("the name of a node"), []
        if tokens.peek() not in ("|", ")"):
            raise tokens.error(
                Message(
                    "a potential must be of one node; this one is of {child!r} and {peek}.",
                    child=child,
                    peek=shown(tokens.peek()),
                )
            )
        if tokens.skip("|"):
            while tokens.peek() != ")":
                parents.append(tokens.name("the name of a node"))
                tokens.skip(",")
        tokens.expect(")", Message("after the parents of {child!r}", child=child))
        twice = first_twice((child, *parents))
        if twice is not None:
            raise tokens.error(
                Message("{twice!r} occurs twice in the family of {child!r}.", twice=twice, child=child),
                potential.at,
            )
        self.attributes(potential)
        if TRUE_NAME in potential.attributes:
            raise tokens.error(misplaced(TRUE_NAME), potential.attributes[TRUE_NAME][0])
        return child, tuple(parents), potential

    def node(self, name: str, parents: tuple[str, ...], potential: _Declaration) -> Node:
        tokens, declared = self.tokens, self.declared[name]
        strange = next((parent for parent in parents if parent not in self.declared), None)
        if strange is not None:
            raise tokens.error(
                Message(
                    "there is no node {strange!r}, which is listed as a parent of {name!r}.",
                    strange=strange,
                    name=name,
                ),
                potential.at,
            )
        if "data" not in potential.attributes:
            raise tokens.error(Message("the potential of {name!r} has no data.", name=name), potential.at)
        variables = {parent: self.variable(parent) for parent in parents}
        distribution = self.distribution(name, variables, potential)
        notes = self.notes(declared, ("states",))
        for key, value in self.notes(potential, ("data",)).items():
            add_note(notes, key, value)
        return Node(self.variable(name), tuple(v.name for v in variables.values()), distribution, notes)

    def distribution(self, name: str, parents: dict[str, Variable], potential: _Declaration) -> Distribution:
        tokens, variable = self.tokens, self.variable(name)
        given = [v for v in parents.values() if v.kind == "categorical"]
        start, end = potential.attributes["data"]
        sizes = [v.size for v in given]

        def too_large(what: str | Message) -> ModelFormatError:
            return tokens.error(what, potential.at)

        if variable.kind != "categorical":
            numeric = [parent for parent, v in parents.items() if v.kind != "categorical"]
            # An intercept, a variance and a coefficient for each numeric parent, even if a mean does not contain it.
            self.budget.take([*sizes, len(numeric) + 2], name, too_large)
            return read_normals(tokens, start, end, name, sizes, numeric)
        if len(given) < len(parents):
            raise tokens.error(
                Message(
                    "{name!r} is discrete and has a continuous parent. Reverse the arc, or cut the parent into "
                    "intervals.",
                    name=name,
                ),
                potential.at,
            )
        sizes.append(variable.size)
        cells = self.budget.take(sizes, name, too_large)
        words = tokens.words[start:end]
        places = [start + k for k, word in enumerate(words) if word not in ("(", ")", ",")]
        numbers = tokens.numbers(places)
        if len(numbers) != cells or not fits(
            "".join(w if w in "()" else "" if w == "," else "#" for w in words), sizes
        ):
            raise tokens.error(
                Message(
                    "the data of {name!r} must be {cells} numbers, nested as {names}; there are {n}.",
                    name=name,
                    cells=cells,
                    names=" × ".join(map(str, sizes)),
                    n=len(numbers),
                ),
                start,
            )
        values = checked_table(
            np.reshape(numbers, sizes),
            variable.name,
            given,
            path=tokens.path,
            place=lambda row: tokens.place(places[row * variable.size]),
            normalize=self.normalize,
        )
        return Table(values)

    def variable(self, name: str) -> Variable:
        variable = self.declared[name].variable
        assert variable is not None
        return variable

    def true_name(self, declared: _Declaration) -> str | None:
        start, end = declared.attributes.get(TRUE_NAME, (0, 0))
        return unquoted(" ".join(self.tokens.words[start:end])) if end else None

    def notes(self, declared: _Declaration, dropped: tuple[str, ...]) -> dict[str, str]:
        """Return the attributes as texts: quoted texts without quotation marks, lists unchanged."""
        found: dict[str, str] = {}
        for key, (start, end) in declared.attributes.items():
            if key in dropped or key == TRUE_NAME:
                continue
            text = " ".join(self.tokens.words[start:end])
            plain = text.replace("( ", "(").replace(" )", ")")
            add_note(found, key, unquoted(text) if QUOTED.fullmatch(text) else plain)
        return found


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
# Attributes that Hugin writes without quotation marks, and attributes of the potential.
_BARE = frozenset({"node_size", "position", "subtype", "state_values", "experience", "fading"})
_OF_POTENTIAL = ("experience", "fading")
_BARE_VALUE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9.eE+-]+|\([0-9.eE+ ()-]*\)")
_LABEL = "label"


def net_text(network: Network) -> str:
    """Return a network as the text of a Hugin NET file; numbers are written by ``repr``.

    Names that are not identifiers are replaced; the true one is in the attribute ``bayeskit_name``, and is
    the label if there is no other.

    Examples
    --------
    >>> from bayeskit.networks import Table
    >>> from bayeskit._graphs.network import Network, Node, discrete
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
    """Whether the first parenthesis is closed by the last character and no other."""
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
    if isinstance(distribution, Softmax):
        raise SettingError(
            "{name!r} is discrete and has a continuous parent, which Hugin NET cannot represent. Write the native "
            "format, .json.",
            name=node.name,
        )
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
    """Put parentheses around the cells of each axis, with one row per line.

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
