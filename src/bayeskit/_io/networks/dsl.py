"""Reads DSL, the older format of GeNIe: nested ``KEY = value;`` blocks, tables with the child's states fastest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bayeskit._graphs.distributions import Table
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._io.networks.assembly import Budget, assembled, checked_table
from bayeskit._io.networks.mangling import unquoted
from bayeskit._io.networks.raw import decode
from bayeskit._io.networks.tokens import Tokens, pattern, shown
from bayeskit._messages import Message
from bayeskit._schema import Variable, first_twice

_TOKEN = pattern(r"[\s,]|//[^\n]*+|/\*.*?\*/", "{}()=;")
_KINDS = {
    "LIST": "a decision node",
    "TABLE": "a utility node",
    "MAU": "a utility node",
    "TRUTHTABLE": "a deterministic node",
    "NOISY_MAX": "a noisy-MAX node",
    "NOISY_ADDER": "a noisy-adder node",
}

_FLAT = frozenset("()")
# The relevant keys of a node; the rest are colours and costs.
_WANTED = frozenset(
    {"", "TYPE", "PARENTS", "HEADER.NAME", "DEFINITION.NAMESTATES", "DEFINITION.PROBABILITIES"}
)

Place = tuple[int, int]


@dataclass
class _Description:
    """The description of a node in the file: for each key, the range of tokens of its value."""

    name: str
    at: int
    values: dict[str, Place] = field(default_factory=dict)


def read_dsl(
    data: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network:
    """Read a network of chance nodes from the text of a GeNIe DSL file.

    The child's states vary fastest, then those of the last parent, as in GeNIe (and in pyAgrum's files).

    Examples
    --------
    >>> text = '''net grass {
    ...  node rain { TYPE = CPT; HEADER = { ID = rain; NAME = "Rain?"; }; PARENTS = ();
    ...   DEFINITION = { NAMESTATES = (no, yes); PROBABILITIES = (0.8, 0.2); }; };
    ... };'''
    >>> network = read_dsl(text)
    >>> network["rain"].distribution.table(), network["rain"].notes["label"]
    (array([0.8, 0.2]), 'Rain?')
    """
    tokens = Tokens(decode(data, path), _TOKEN, path)
    tokens.expect("net", "at the beginning of a DSL file")
    name = "" if tokens.peek() == "{" else tokens.name("the name of the network")
    tokens.expect("{", "after the name of the network")
    described: dict[str, _Description] = {}
    for block, place in _walk(tokens):
        if block[0][0] != "node" or len(block) > 3:
            continue
        key = ".".join(part[1] for part in block[1:])
        if key not in _WANTED:
            continue
        node = described.setdefault(block[0][1], _Description(block[0][1], block[0][2]))
        if node.at != block[0][2]:
            raise tokens.error(
                Message("there is a second node {name!r}. Rename one of them.", name=node.name), block[0][2]
            )
        if key in node.values:
            raise tokens.error(Message("{name!r} has {key} twice.", name=node.name, key=key), place[0])
        node.values[key] = place
    if tokens.peek():
        raise tokens.error(
            Message("there is {peek} after the end of the network.", peek=shown(tokens.peek()))
        )
    nodes = _Nodes(tokens, described, normalize, budget or Budget(len(data)))
    return assembled(
        (nodes.node(one) for one in described.values()), "" if name == "Unnamed" else name, path=path
    )


Part = tuple[str, str, int]


def _walk(tokens: Tokens) -> Iterator[tuple[list[Part], Place]]:
    """Yield every ``KEY = value;`` with its enclosing blocks, up to the end of the network's block.

    A part is ("node", its name, position) or ("", the key, position). No recursion: files may nest to any depth.
    """
    stack: list[Part] = []
    while True:
        at, word = tokens.at, tokens.take()
        if word == "}":
            tokens.expect(";", "after '}'")
            if not stack:
                return
            stack.pop()
        elif word == "node":
            stack.append(("node", tokens.name("the name of a node"), at))
            tokens.expect("{", Message("after 'node {stack}'", stack=stack[-1][1]))
            yield stack, (at, at)
        else:
            if word in "{()=;" or word[0] == '"':
                raise tokens.error(
                    Message("there is {word} where a key or '}}' must stand.", word=shown(word)), at
                )
            tokens.expect("=", Message("after {word}", word=shown(word)))
            stack.append(("", word, at))
            if tokens.skip("{"):
                continue
            start, end = tokens.at, tokens.find(";")
            if not {"{", "}", "="}.isdisjoint(tokens.words[start:end]):
                raise tokens.error(Message("{word} has no semicolon at its end.", word=shown(word)), at)
            yield stack, (start, end)
            tokens.at = end + 1
            stack.pop()


class _Nodes:
    def __init__(
        self, tokens: Tokens, described: dict[str, _Description], normalize: bool, budget: Budget
    ) -> None:
        self.tokens, self.described, self.normalize, self.budget = tokens, described, normalize, budget
        self.variables = {name: self.variable(node) for name, node in described.items()}

    def variable(self, node: _Description) -> Variable:
        kind = " ".join(self.value(node, "TYPE"))
        if kind != "CPT":
            named = _KINDS.get(kind, f"of the type {shown(kind)}")
            raise self.tokens.error(
                Message(
                    "{name!r} is {named}; from DSL only chance nodes (CPT) can be read. Open the file in GeNIe and "
                    "save it as XDSL, or remove the node.",
                    name=node.name,
                    named=named,
                ),
                node.at,
            )
        states = self.listed(node, "DEFINITION.NAMESTATES")
        twice = first_twice(states)
        if twice is not None or not states:
            raise self.tokens.error(
                Message("{name!r} needs states, all of them different.", name=node.name), node.at
            )
        return discrete(node.name, states)

    def node(self, node: _Description) -> Node:
        tokens = self.tokens
        parents = self.listed(node, "PARENTS")
        strange = next((parent for parent in parents if parent not in self.variables), None)
        if strange is not None:
            raise tokens.error(
                Message(
                    "there is no node {strange!r}, which is listed as a parent of {name!r}.",
                    strange=strange,
                    name=node.name,
                ),
                node.at,
            )
        family = [self.variables[name] for name in (*parents, node.name)]
        sizes = [variable.size for variable in family]
        cells = self.budget.take(sizes, node.name, lambda what: tokens.error(what, node.at))
        start, end = self.inside(node, "DEFINITION.PROBABILITIES")
        numbers = tokens.numbers(range(start, end))
        if len(numbers) != cells:
            raise tokens.error(
                Message(
                    "{name!r} needs {cells} numbers, and there are {n}.",
                    name=node.name,
                    cells=cells,
                    n=len(numbers),
                ),
                start,
            )
        values = checked_table(
            np.reshape(numbers, sizes),
            node.name,
            family[:-1],
            path=tokens.path,
            place=lambda row: tokens.place(start + row * sizes[-1]),
            normalize=self.normalize,
        )
        label = unquoted(" ".join(self.value(node, "HEADER.NAME"))) if "HEADER.NAME" in node.values else ""
        notes = {"label": label} if label not in ("", node.name) else {}
        return Node(family[-1], tuple(parents), Table(values), notes)

    def value(self, node: _Description, key: str) -> list[str]:
        if key not in node.values:
            raise self.tokens.error(Message("{name!r} has no {key}.", name=node.name, key=key), node.at)
        start, end = node.values[key]
        return self.tokens.words[start:end]

    def listed(self, node: _Description, key: str) -> list[str]:
        start, end = self.inside(node, key)
        return [unquoted(word) for word in self.tokens.words[start:end]]

    def inside(self, node: _Description, key: str) -> Place:
        """Return the range between the parentheses of a list."""
        words = self.value(node, key)
        start, end = node.values[key]
        if len(words) < 2 or (words[0], words[-1]) != ("(", ")") or not _FLAT.isdisjoint(words[1:-1]):
            raise self.tokens.error(
                Message("{key} of {name!r} must be a list in parentheses.", key=key, name=node.name), start
            )
        return start + 1, end - 1
