"""Reads DSC, the format of Microsoft's belief networks (MSBN): like BIF, with rows by the numbers of states."""

from __future__ import annotations

from bayeskit._graphs.network import Network
from bayeskit._io.networks.assembly import DECLARED_LATE, Budget, assembled
from bayeskit._io.networks.bif_rows import Declaration, Tables, nodes_of, read_probability
from bayeskit._io.networks.mangling import QUOTED, add_note, unquoted
from bayeskit._io.networks.raw import decode
from bayeskit._io.networks.tokens import Tokens, pattern, shown
from bayeskit._messages import Message
from bayeskit._schema import first_twice

_TOKEN = pattern(r"[\s,]|//[^\n]*+|/\*.*?\*/", "{}()[];|:=")

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
                Message("the node {name!r} has no type and no states.", name=declared.name), declared.at
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
