"""BIF, the Bayesian interchange format of 1995: blocks ``network``, ``variable``, ``probability``; and its dialect DSC.

The writer writes one row for each configuration of the parents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bayeskit._graphs.distributions import LinearGaussian, Softmax
from bayeskit._graphs.network import Network, Node
from bayeskit._io.networks.assembly import DECLARED_LATE, Budget, assembled, require_discrete
from bayeskit._io.networks.bif_rows import Declaration, Tables, nodes_of, read_probability, read_property
from bayeskit._io.networks.mangling import (
    IDENTIFIER,
    QUOTED,
    TRUE,
    TRUE_NAME,
    TRUE_STATES,
    WORD,
    add_note,
    is_plain,
    mangled,
    quoted,
    true_states,
    unquoted,
    written_notes,
    wrong_states,
)
from bayeskit._io.networks.raw import decode
from bayeskit._io.networks.tokens import Tokens, pattern, shown
from bayeskit._messages import Message
from bayeskit._schema import Label, Name, first_twice

# Commas count as blanks: files separate states and numbers by either. A property is one token: its content
# follows no grammar, and some lack the semicolon, so it ends with its line.
_TOKEN = pattern(
    r"[\s,]|//[^\n]*+|/\*.*?\*/",
    "{}()[];|",
    extra=r'property(?=\s)(?:[^;"}\n]++|"(?:[^"\\]++|\\.)*+"?+)*+;?|',
)
# The name that public repositories write for a network without a name.
NAMELESS = "unknown"

# For each child, its parents and its table.


def read_bif(
    data: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network:
    """Read a network from the text of a BIF file.

    Rows may be in any order. ``default`` stands for rows not given. In ``table`` the child's states vary
    slowest and the last parent's fastest.

    Parameters
    ----------
    data : text or bytes
    path : named in errors
    normalize : divide rows that do not sum to one
    budget : the number of cells its tables may have; by default, what its length allows

    Examples
    --------
    >>> text = '''network grass { }
    ... variable rain { type discrete [ 2 ] { no, yes }; }
    ... variable wet { type discrete [ 2 ] { no, yes }; }
    ... probability ( rain ) { table 0.8, 0.2; }
    ... probability ( wet | rain ) { (yes) 0.1, 0.9; default 1, 0; }'''
    >>> read_bif(text)["wet"].distribution.table()
    array([[1. , 0. ],
           [0.1, 0.9]])
    """
    tokens = Tokens(decode(data, path), _TOKEN, path)
    return _Reader(tokens, normalize, budget or Budget(len(data))).network()


class _Reader:
    def __init__(self, tokens: Tokens, normalize: bool, budget: Budget) -> None:
        self.tokens, self.normalize, self.budget = tokens, normalize, budget
        self.declared: dict[str, Declaration] = {}
        self.header = Declaration("", 0)

    def network(self) -> Network:
        tokens = self.tokens
        tables: Tables = {}
        tokens.expect("network", "at the beginning of a BIF file")
        self.read_header()
        while tokens.peek():
            word = tokens.take()
            if word == "variable":
                if tables:
                    raise tokens.error(DECLARED_LATE.format(kind="variable"), tokens.at - 1)
                self.read_variable()
            elif word == "probability":
                read_probability(tokens, self.known, tables, self.budget, normalize=self.normalize)
            else:
                raise tokens.error(
                    Message(
                        "there is {word} where a block 'variable' or 'probability' must begin.",
                        word=shown(word),
                    ),
                    tokens.at - 1,
                )
        nodes = nodes_of(tokens, self.declared, tables)
        return assembled(nodes, self.header.true_name, self.header.notes, tokens.path)

    def read_header(self) -> None:
        tokens = self.tokens
        name = "" if tokens.peek() == "{" else tokens.name("the name of the network")
        self.header.name = "" if name == NAMELESS else name
        tokens.expect("{", "after the name of the network")
        while not tokens.skip("}"):
            read_property(tokens, self.header, obeyed=(TRUE_NAME,))

    def read_variable(self) -> None:
        tokens = self.tokens
        declared = Declaration("", tokens.at)
        declared.name = tokens.name("the name of a variable")
        if declared.name in self.declared:
            raise tokens.error(
                Message("there is a second variable {name!r}. Rename one of them.", name=declared.name),
                declared.at,
            )
        tokens.expect("{", Message("after 'variable {name}'", name=declared.name))
        while not tokens.skip("}"):
            if tokens.skip("type"):
                self.read_type(declared)
            else:
                read_property(tokens, declared, obeyed=TRUE)
        if not declared.states:
            raise tokens.error(
                Message("the variable {name!r} has no type and therefore no states.", name=declared.name),
                declared.at,
            )
        if TRUE_STATES in declared.true:
            size = len(declared.states)
            declared.true_states = true_states(declared.true[TRUE_STATES], size)
            if declared.true_states is None:
                raise tokens.error(wrong_states(declared.name, size), declared.at)
        self.declared[declared.name] = declared

    def read_type(self, declared: Declaration) -> None:
        tokens, name = self.tokens, declared.name
        if declared.states:
            raise tokens.error(Message("{name!r} has a second type.", name=name), tokens.at - 1)
        kind = tokens.take()
        if kind != "discrete":
            raise tokens.error(
                Message(
                    "{name!r} is of the type {kind}; only discrete variables can be read from BIF.",
                    name=name,
                    kind=shown(kind),
                ),
                tokens.at - 1,
            )
        tokens.expect("[", Message("in the type of {name!r}", name=name))
        size = tokens.take()
        tokens.expect("]", Message("in the type of {name!r}", name=name))
        tokens.expect("{", Message("before the states of {name!r}", name=name))
        states = []
        while not tokens.skip("}"):
            states.append(tokens.name(Message("a state of {name!r}", name=name)))
        if size != str(len(states)):
            raise tokens.error(
                Message(
                    "{name!r} is declared with {size} states and lists {n}. A state with a blank or a "
                    "comma in its name needs quotation marks.",
                    name=name,
                    size=shown(size),
                    n=len(states),
                ),
                declared.at,
            )
        twice = first_twice(states)
        if twice is not None:
            raise tokens.error(
                Message("{name!r} has the state {twice!r} twice.", name=name, twice=twice), declared.at
            )
        declared.states = tuple(states)
        tokens.skip(";")

    def known(self) -> Declaration:
        name = self.tokens.name("the name of a variable")
        if name not in self.declared:
            raise self.tokens.error(Message("there is no variable {name!r}.", name=name), self.tokens.at - 1)
        return self.declared[name]


_KEYWORDS = ("network", "variable", "probability", "property", "type", "discrete", "table", "default")


def bif_text(network: Network) -> str:
    """Return a network as the text of a BIF file; numbers are written by ``repr``, so they are read back exactly.

    Names and states that BIF cannot represent are replaced; the true ones are in the properties
    ``bayeskit_name`` and ``bayeskit_states``, which :func:`read_bif` understands.

    Examples
    --------
    >>> from bayeskit._graphs.distributions import Table
    >>> from bayeskit._graphs.network import Network, Node, discrete
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
    assert node.distribution is not None and not isinstance(node.distribution, (LinearGaussian, Softmax))
    values = node.distribution.table()
    given = f" | {', '.join(names[parent] for parent in node.parents)}" if node.parents else ""
    yield f"probability ( {names[node.name]}{given} ) {{"
    words = [list(states[parent].values()) for parent in node.parents]
    for cell in np.ndindex(values.shape[:-1]):
        numbers = ", ".join(map(repr, values[cell].tolist()))
        row = ", ".join(word[code] for word, code in zip(words, cell, strict=True))
        yield f"  ({row}) {numbers};" if node.parents else f"  table {numbers};"
    yield "}"


# Reads DSC, the format of Microsoft's belief networks (MSBN): like BIF, with rows by the numbers of states.

_DSC_TOKEN = pattern(r"[\s,]|//[^\n]*+|/\*.*?\*/", "{}()[];|:=")

# For each child, its parents and its table.


def read_dsc(
    data: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network:
    """Read a network from the text of a DSC file.

    Examples
    --------
    >>> text = '''belief network "grass"
    ... node rain { type: discrete[2] = { "no", "yes" }; }
    ... node wet { type: discrete[2] = { "no", "yes" }; }
    ... probability(rain) { 0.8, 0.2; }
    ... probability(wet | rain) { (0): 1, 0; (1): 0.1, 0.9; }'''
    >>> read_dsc(text)["wet"].distribution.table()
    array([[1. , 0. ],
           [0.1, 0.9]])
    """
    tokens = Tokens(decode(data, path), _DSC_TOKEN, path)
    return _DscReader(tokens, normalize, budget or Budget(len(data))).network()


class _DscReader:
    def __init__(self, tokens: Tokens, normalize: bool, budget: Budget) -> None:
        self.tokens, self.normalize, self.budget = tokens, normalize, budget
        self.declared: dict[str, Declaration] = {}
        self.header = Declaration("", 0)

    def network(self) -> Network:
        tokens = self.tokens
        tables: Tables = {}
        tokens.expect("belief", "at the beginning of a DSC file")
        tokens.expect("network", "after 'belief'")
        if tokens.peek()[:1] == '"':
            self.header.name = tokens.name()
        while tokens.peek():
            word = tokens.take()
            if word == "node":
                if tables:
                    raise tokens.error(DECLARED_LATE.format(kind="node"), tokens.at - 1)
                self.read_node()
            elif word == "probability":
                read_probability(
                    tokens, self.known, tables, self.budget, normalize=self.normalize, numbered=True
                )
            elif word == "properties":
                tokens.expect("{", "after 'properties'")
                tokens.at = tokens.find("}") + 1
            else:
                self.read_attribute(self.header, word)
        nodes = nodes_of(tokens, self.declared, tables)
        return assembled(nodes, self.header.name, self.header.notes, tokens.path)

    def read_attribute(self, owner: Declaration, key: str) -> None:
        """Store ``key: value;`` as a note."""
        tokens = self.tokens
        if tokens.peek() not in (":", "="):
            raise tokens.error(
                Message("there is {key} where a block or an attribute must begin.", key=shown(key)),
                tokens.at - 1,
            )
        start, end = tokens.at + 1, tokens.find(";")
        words = tokens.words[start:end]
        if "{" in words or "}" in words:
            raise tokens.error(
                Message("the attribute {key} has no semicolon at its end.", key=shown(key)), tokens.at - 1
            )
        text = " ".join(words)
        add_note(owner.notes, unquoted(key), unquoted(text) if QUOTED.fullmatch(text) else text)
        tokens.at = end + 1

    def read_node(self) -> None:
        tokens = self.tokens
        declared = Declaration("", tokens.at)
        declared.name = tokens.name("the name of a node")
        if declared.name in self.declared:
            raise tokens.error(
                Message("there is a second node {name!r}. Rename one of them.", name=declared.name),
                declared.at,
            )
        tokens.expect("{", Message("after 'node {name}'", name=declared.name))
        while not tokens.skip("}"):
            word = tokens.take()
            if word == "type":
                self.read_type(declared)
            else:
                # In DSC, a node's name is for people; other formats call it a label.
                self.read_attribute(declared, "label" if word == "name" else word)
        if not declared.states:
            raise tokens.error(
                Message("the node {name!r} has no type and therefore no states.", name=declared.name),
                declared.at,
            )
        self.declared[declared.name] = declared

    def read_type(self, declared: Declaration) -> None:
        tokens, name = self.tokens, declared.name
        if declared.states:
            raise tokens.error(Message("{name!r} has a second type.", name=name), tokens.at - 1)
        tokens.expect(":", "after 'type'")
        kind = tokens.take()
        if kind != "discrete":
            raise tokens.error(
                Message(
                    "{name!r} is of the type {kind}; only discrete nodes can be read from DSC.",
                    name=name,
                    kind=shown(kind),
                ),
                tokens.at - 1,
            )
        tokens.expect("[", Message("in the type of {name!r}", name=name))
        size = tokens.take()
        tokens.expect("]", Message("in the type of {name!r}", name=name))
        tokens.expect("=", Message("before the states of {name!r}", name=name))
        tokens.expect("{", Message("before the states of {name!r}", name=name))
        states = []
        while not tokens.skip("}"):
            states.append(tokens.name(Message("a state of {name!r}", name=name)))
        tokens.expect(";", Message("after the states of {name!r}", name=name))
        if size != str(len(states)) or first_twice(states) is not None:
            raise tokens.error(
                Message(
                    "{name!r} is declared with {size} states and lists {n}, {n_set} of them different.",
                    name=name,
                    size=shown(size),
                    n=len(states),
                    n_set=len(set(states)),
                ),
                declared.at,
            )
        declared.states = tuple(states)

    def known(self) -> Declaration:
        name = self.tokens.name("the name of a node")
        if name not in self.declared:
            raise self.tokens.error(Message("there is no node {name!r}.", name=name), self.tokens.at - 1)
        return self.declared[name]
