"""BIF, the Bayesian interchange format of 1995: blocks ``network``, ``variable``, ``probability``; and its dialect DSC.

The writer writes one row for each configuration of the parents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

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
    return _Reader(tokens, _BIF, normalize, budget or Budget(len(data))).network()


@dataclass(frozen=True)
class _Dialect:
    """What BIF and DSC write differently.

    ``block`` is the word that declares a variable, ``before_type``, ``before_states`` and ``after_states`` are signs
    in a type, ``numbered`` says that rows name the states of the parents by number. ``header`` reads the beginning of
    a file, ``note`` a statement of a variable other than its type, ``other`` a statement outside all blocks.
    """

    name: str
    block: str
    before_type: tuple[str, ...]
    before_states: tuple[str, ...]
    after_states: tuple[str, ...]
    numbered: bool
    header: Callable[[_Reader], None]
    note: Callable[[_Reader, Declaration], None]
    other: Callable[[_Reader, str], None]


class _Reader:
    def __init__(self, tokens: Tokens, dialect: _Dialect, normalize: bool, budget: Budget) -> None:
        self.tokens, self.dialect, self.normalize, self.budget = tokens, dialect, normalize, budget
        self.declared: dict[str, Declaration] = {}
        self.header = Declaration("", 0)

    def network(self) -> Network:
        tokens, block = self.tokens, self.dialect.block
        tables: Tables = {}
        self.dialect.header(self)
        while tokens.peek():
            word = tokens.take()
            if word == block:
                if tables:
                    raise tokens.error(Message(DECLARED_LATE, kind=block), tokens.at - 1)
                self.read_variable()
            elif word == "probability":
                read_probability(
                    tokens,
                    self.known,
                    tables,
                    self.budget,
                    normalize=self.normalize,
                    numbered=self.dialect.numbered,
                )
            else:
                self.dialect.other(self, word)
        nodes = nodes_of(tokens, self.declared, tables)
        return assembled(nodes, self.header.true_name, self.header.notes, tokens.path)

    def read_variable(self) -> None:
        tokens, block = self.tokens, self.dialect.block
        declared = Declaration("", tokens.at)
        declared.name = name = tokens.name(self.name_of_block)
        if name in self.declared:
            raise tokens.error(
                Message("there is a second {block} {name!r}. Rename one of them.", block=block, name=name),
                declared.at,
            )
        tokens.expect("{", Message("after '{block} {name}'", block=block, name=name))
        while not tokens.skip("}"):
            if tokens.skip("type"):
                self.read_type(declared)
            else:
                self.dialect.note(self, declared)
        if not declared.states:
            raise tokens.error(
                Message("the {block} {name!r} has no type and therefore no states.", block=block, name=name),
                declared.at,
            )
        if TRUE_STATES in declared.true:
            size = len(declared.states)
            declared.true_states = true_states(declared.true[TRUE_STATES], size)
            if declared.true_states is None:
                raise tokens.error(wrong_states(name, size), declared.at)
        self.declared[name] = declared

    def read_type(self, declared: Declaration) -> None:
        tokens, name = self.tokens, declared.name
        if declared.states:
            raise tokens.error(Message("{name!r} has a second type.", name=name), tokens.at - 1)
        for sign in self.dialect.before_type:
            tokens.expect(sign, "after 'type'")
        kind = tokens.take()
        if kind != "discrete":
            raise tokens.error(
                Message(
                    "{name!r} is of the type {kind}; only discrete variables can be read from {format}.",
                    name=name,
                    kind=shown(kind),
                    format=self.dialect.name,
                ),
                tokens.at - 1,
            )
        tokens.expect("[", Message("in the type of {name!r}", name=name))
        size = tokens.take()
        tokens.expect("]", Message("in the type of {name!r}", name=name))
        for sign in (*self.dialect.before_states, "{"):
            tokens.expect(sign, Message("before the states of {name!r}", name=name))
        states = []
        while not tokens.skip("}"):
            states.append(tokens.name(Message("a state of {name!r}", name=name)))
        for sign in self.dialect.after_states:
            tokens.expect(sign, Message("after the states of {name!r}", name=name))
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

    @property
    def name_of_block(self) -> Message:
        return Message("the name of a {block}", block=self.dialect.block)

    def known(self) -> Declaration:
        name = self.tokens.name(self.name_of_block)
        if name not in self.declared:
            raise self.tokens.error(
                Message("there is no {block} {name!r}.", block=self.dialect.block, name=name),
                self.tokens.at - 1,
            )
        return self.declared[name]


def _bif_header(reader: _Reader) -> None:
    tokens = reader.tokens
    tokens.expect("network", "at the beginning of a BIF file")
    name = "" if tokens.peek() == "{" else tokens.name("the name of the network")
    reader.header.name = "" if name == NAMELESS else name
    tokens.expect("{", "after the name of the network")
    while not tokens.skip("}"):
        read_property(tokens, reader.header, obeyed=(TRUE_NAME,))


def _bif_note(reader: _Reader, declared: Declaration) -> None:
    read_property(reader.tokens, declared, obeyed=TRUE)


def _bif_other(reader: _Reader, word: str) -> None:
    raise reader.tokens.error(
        Message("there is {word} where a block 'variable' or 'probability' must begin.", word=shown(word)),
        reader.tokens.at - 1,
    )


_BIF = _Dialect("BIF", "variable", (), (), (), False, _bif_header, _bif_note, _bif_other)
_KEYWORDS = ("network", "variable", "probability", "property", "type", "discrete", "table", "default")


def bif_text(network: Network) -> str:
    """Return a network as the text of a BIF file; numbers are written by ``repr``, so they are read back exactly.

    Names and states that BIF cannot represent are replaced; the true ones are in the properties
    ``bayeskit_name`` and ``bayeskit_states``, which :func:`read_bif` understands.

    Examples
    --------
    >>> from bayeskit.networks import Table
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
    return _Reader(tokens, _DSC, normalize, budget or Budget(len(data))).network()


def _dsc_header(reader: _Reader) -> None:
    tokens = reader.tokens
    tokens.expect("belief", "at the beginning of a DSC file")
    tokens.expect("network", "after 'belief'")
    if tokens.peek()[:1] == '"':
        reader.header.name = tokens.name()


def _dsc_note(reader: _Reader, declared: Declaration) -> None:
    # In DSC, a node's name is for people; other formats call it a label.
    word = reader.tokens.take()
    _dsc_attribute(reader, declared, "label" if word == "name" else word)


def _dsc_other(reader: _Reader, word: str) -> None:
    tokens = reader.tokens
    if word == "properties":
        tokens.expect("{", "after 'properties'")
        tokens.at = tokens.find("}") + 1
    else:
        _dsc_attribute(reader, reader.header, word)


def _dsc_attribute(reader: _Reader, owner: Declaration, key: str) -> None:
    """Store ``key: value;`` as a note."""
    tokens = reader.tokens
    if tokens.peek() not in (":", "="):
        raise tokens.error(
            Message("there is {key} where a block or an attribute must begin.", key=shown(key)), tokens.at - 1
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


_DSC = _Dialect("DSC", "node", (":",), ("=",), (";",), True, _dsc_header, _dsc_note, _dsc_other)
