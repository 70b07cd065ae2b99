"""Read DSC, the format of Microsoft's belief networks (MSBN): like BIF, rows by the numbers of states."""

from __future__ import annotations

from bayeskit.graphs.distributions import Table
from bayeskit.graphs.network import Network, Node
from bayeskit.io.networks.assembly import DECLARED_LATE, assembled
from bayeskit.io.networks.bif_rows import Declared, Rows
from bayeskit.io.networks.budget import Budget
from bayeskit.io.networks.mangling import QUOTED, add_note, unquoted
from bayeskit.io.networks.raw import decode
from bayeskit.io.networks.tokens import Tokens, pattern, shown
from bayeskit.schema import first_twice

_TOKEN = pattern(r"[\s,]|//[^\n]*+|/\*.*?\*/", "{}()[];|:=")

# For each child its parents and its table.
Tables = dict[str, tuple[tuple[str, ...], Table]]


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
        self.declared: dict[str, Declared] = {}
        self.header = Declared("", 0)

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
                self.read_probability(tables)
            elif word == "properties":
                tokens.expect("{", "after 'properties'")
                tokens.at = tokens.find("}") + 1
            else:
                self.read_attribute(self.header, word)
        for name, declared in self.declared.items():
            if name not in tables:
                raise tokens.error(
                    f"{name!r} has no block 'probability': the file was cut short, or one must be added.",
                    declared.at,
                )
        nodes = [
            Node(d.variable, tables[name][0], tables[name][1], d.notes) for name, d in self.declared.items()
        ]
        return assembled(nodes, self.header.name, self.header.notes, tokens.path)

    def read_attribute(self, owner: Declared, key: str) -> None:
        """Keep ``key: value;`` as a note."""
        tokens = self.tokens
        if tokens.peek() not in (":", "="):
            raise tokens.error(
                f"there is {shown(key)} where a block or an attribute must begin.", tokens.at - 1
            )
        start, end = tokens.at + 1, tokens.find(";")
        words = tokens.words[start:end]
        if "{" in words or "}" in words:
            raise tokens.error(f"the attribute {shown(key)} has no semicolon at its end.", tokens.at - 1)
        text = " ".join(words)
        add_note(owner.notes, unquoted(key), unquoted(text) if QUOTED.fullmatch(text) else text)
        tokens.at = end + 1

    def read_node(self) -> None:
        tokens = self.tokens
        declared = Declared("", tokens.at)
        declared.name = tokens.name("the name of a node")
        if declared.name in self.declared:
            raise tokens.error(f"there is a second node {declared.name!r}. Rename one of them.", declared.at)
        tokens.expect("{", f"after 'node {declared.name}'")
        while not tokens.skip("}"):
            word = tokens.take()
            if word == "type":
                self.read_type(declared)
            else:
                # A node's name here is what people read; others call it a label.
                self.read_attribute(declared, "label" if word == "name" else word)
        if not declared.states:
            raise tokens.error(f"the node {declared.name!r} has no type and no states.", declared.at)
        self.declared[declared.name] = declared

    def read_type(self, declared: Declared) -> None:
        tokens, name = self.tokens, declared.name
        if declared.states:
            raise tokens.error(f"{name!r} has a second type.", tokens.at - 1)
        tokens.expect(":", "after 'type'")
        kind = tokens.take()
        if kind != "discrete":
            raise tokens.error(
                f"{name!r} is of the type {shown(kind)}; only discrete nodes can be read from DSC.",
                tokens.at - 1,
            )
        tokens.expect("[", f"in the type of {name!r}")
        size = tokens.take()
        tokens.expect("]", f"in the type of {name!r}")
        tokens.expect("=", f"before the states of {name!r}")
        tokens.expect("{", f"before the states of {name!r}")
        states = []
        while not tokens.skip("}"):
            states.append(tokens.name(f"a state of {name!r}"))
        tokens.expect(";", f"after the states of {name!r}")
        if size != str(len(states)) or first_twice(states) is not None:
            raise tokens.error(
                f"{name!r} is declared with {shown(size)} states and lists {len(states)}, {len(set(states))} of them "
                "different.",
                declared.at,
            )
        declared.states = tuple(states)

    def read_probability(self, tables: Tables) -> None:
        tokens = self.tokens
        tokens.expect("(", "after 'probability'")
        at = tokens.at
        family = [self.known()]
        if tokens.skip("|"):
            while tokens.peek() != ")":
                family.append(self.known())
        child, parents = family[0].name, family[1:]
        tokens.expect(")", f"after the parents of {child!r}")
        tokens.expect("{", f"before the probabilities of {child!r}")
        twice = first_twice(declared.name for declared in family)
        if twice is not None:
            raise tokens.error(f"{twice!r} stands twice in the family of {child!r}.", at)
        if child in tables:
            raise tokens.error(f"there is a second block 'probability' for {child!r}.", at)
        values = Rows(tokens, [*parents, family[0]], at, self.budget, numbered=True).table(self.normalize)
        tables[child] = (tuple(parent.name for parent in parents), Table(values))

    def known(self) -> Declared:
        name = self.tokens.name("the name of a node")
        if name not in self.declared:
            raise self.tokens.error(f"there is no node {name!r}.", self.tokens.at - 1)
        return self.declared[name]
