"""Read Hugin NET: blocks ``net``, ``node``, ``potential``; nested lists of numbers, the child's states fastest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayeskit.errors import ModelFormatError
from bayeskit.graphs.distributions import Distribution, Table
from bayeskit.graphs.network import Network, Node, continuous, discrete
from bayeskit.io.networks.assembly import DECLARED_LATE, assembled
from bayeskit.io.networks.budget import Budget
from bayeskit.io.networks.mangling import QUOTED, unquoted
from bayeskit.io.networks.net_normal import fits, read_normals
from bayeskit.io.networks.notes import TRUE_NAME, add_note, misplaced
from bayeskit.io.networks.raw import decode
from bayeskit.io.networks.rows import checked_table
from bayeskit.io.networks.tokens import Tokens, pattern, shown
from bayeskit.schema import Variable, first_twice

_TOKEN = pattern(r"\s|%[^\n]*+", "(){};=|", comment="%")
_REFUSED = {"decision": "a decision node", "utility": "a utility node", "function": "a function node"}
_NO_DIAGRAM = "Only networks of chance nodes can be read: take it away, or replace it by a chance node."


@dataclass
class _Declared:
    """A block and its attributes: for each the range of tokens of its value. ``at``: where its name stands."""

    name: str
    at: int
    variable: Variable | None = None
    attributes: dict[str, tuple[int, int]] = field(default_factory=dict)


def read_net(
    data: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network:
    """Read a network from the text of a Hugin NET file.

    Continuous nodes with ``normal(a + b * x, v)`` are linear Gaussian. Classes (object-oriented networks),
    decisions and utilities are refused by name. Hugin allows rows that do not sum to one: pass ``normalize``.

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
        self.declared: dict[str, _Declared] = {}

    def network(self) -> Network:
        tokens = self.tokens
        if tokens.peek() == "class":
            raise tokens.error(
                "this is a class of an object-oriented network. Save it in Hugin as a flat network (.net)."
            )
        tokens.expect("net", "at the beginning of a NET file")
        header = self.attributes(_Declared("the network", tokens.at))
        potentials: dict[str, tuple[tuple[str, ...], _Declared]] = {}
        families = []
        while tokens.peek():
            if tokens.skip("potential"):
                families.append(self.family())
            else:
                self.read_node(late=bool(families))
        for child, parents, potential in families:
            if child in potentials:
                raise tokens.error(f"there is a second potential of {child!r}.", potential.at)
            potentials[child] = (parents, potential)
        for name, declared in self.declared.items():
            if name not in potentials:
                raise tokens.error(
                    f"{name!r} has no potential: the file was cut short, or one must be added.", declared.at
                )
        nodes = [self.node(name, *potentials.pop(name)) for name in self.declared]
        if potentials:
            child, (_, potential) = potentials.popitem()
            raise tokens.error(f"there is no node {child!r}.", potential.at)
        name = self.true_name(header) or ""
        return assembled(nodes, name, self.notes(header, ()), tokens.path)

    def attributes(self, declared: _Declared) -> _Declared:
        """Read ``{ key = value; … }``."""
        tokens = self.tokens
        tokens.expect("{", f"after {shown(declared.name)}")
        while not tokens.skip("}"):
            at, key = tokens.at, tokens.name("an attribute")
            tokens.expect("=", f"after {shown(key)}")
            start, end = tokens.at, tokens.find(";")
            if start == end or not {"{", "}", "="}.isdisjoint(tokens.words[start:end]):
                raise tokens.error(
                    f"the attribute {shown(key)} has no value, or no semicolon at its end.", at
                )
            if key in declared.attributes:
                raise tokens.error(f"the attribute {shown(key)} is given twice.", at)
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
            raise tokens.error(f"{tokens.name()!r} is {_REFUSED[kind]}. {_NO_DIAGRAM}", at)
        if kind != "node":
            raise tokens.error(
                f"there is {shown(kind)} where a block 'node' or 'potential' must begin.", tokens.at - 1
            )
        if late:
            raise tokens.error(DECLARED_LATE.format(kind="node"), at)
        declared = _Declared("", tokens.at)
        name = declared.name = tokens.name("the name of a node")
        if name in self.declared:
            raise tokens.error(f"there is a second node {name!r}. Rename one of them.", declared.at)
        self.attributes(declared)
        true = self.true_name(declared)
        shown_name = name if true is None else true
        declared.variable = continuous(shown_name) if numeric else discrete(shown_name, self.states(declared))
        self.declared[name] = declared

    def states(self, declared: _Declared) -> list[str]:
        tokens = self.tokens
        start, end = declared.attributes.get("states", (declared.at, declared.at))
        words = [word for word in tokens.words[start:end] if word != ","]
        if words[:1] != ["("] or words[-1:] != [")"] or not {"(", ")"}.isdisjoint(words[1:-1]):
            raise tokens.error(f'{declared.name!r} needs states, such as states = ("no" "yes").', start)
        states = [unquoted(word) for word in words[1:-1]]
        twice = first_twice(states)
        if twice is not None or not states:
            raise tokens.error(f"{declared.name!r} needs states, all of them different.", start)
        return states

    def family(self) -> tuple[str, tuple[str, ...], _Declared]:
        tokens = self.tokens
        tokens.expect("(", "after 'potential'")
        potential = _Declared("potential", tokens.at)
        child, parents = tokens.name("the name of a node"), []
        if tokens.peek() not in ("|", ")"):
            raise tokens.error(
                f"a potential must be of one node; this one is of {child!r} and {shown(tokens.peek())}."
            )
        if tokens.skip("|"):
            while tokens.peek() != ")":
                parents.append(tokens.name("the name of a node"))
                tokens.skip(",")
        tokens.expect(")", f"after the parents of {child!r}")
        twice = first_twice((child, *parents))
        if twice is not None:
            raise tokens.error(f"{twice!r} stands twice in the family of {child!r}.", potential.at)
        self.attributes(potential)
        if TRUE_NAME in potential.attributes:
            raise tokens.error(misplaced(TRUE_NAME), potential.attributes[TRUE_NAME][0])
        return child, tuple(parents), potential

    def node(self, name: str, parents: tuple[str, ...], potential: _Declared) -> Node:
        tokens, declared = self.tokens, self.declared[name]
        strange = next((parent for parent in parents if parent not in self.declared), None)
        if strange is not None:
            raise tokens.error(f"there is no node {strange!r}, which is a parent of {name!r}.", potential.at)
        if "data" not in potential.attributes:
            raise tokens.error(f"the potential of {name!r} has no data.", potential.at)
        variables = {parent: self.variable(parent) for parent in parents}
        distribution = self.distribution(name, variables, potential)
        notes = self.notes(declared, ("states",))
        for key, value in self.notes(potential, ("data",)).items():
            add_note(notes, key, value)
        return Node(self.variable(name), tuple(v.name for v in variables.values()), distribution, notes)

    def distribution(self, name: str, parents: dict[str, Variable], potential: _Declared) -> Distribution:
        tokens, variable = self.tokens, self.variable(name)
        given = [v for v in parents.values() if v.kind == "categorical"]
        start, end = potential.attributes["data"]
        sizes = [v.size for v in given]

        def too_large(what: str) -> ModelFormatError:
            return tokens.error(what, potential.at)

        if variable.kind != "categorical":
            numeric = [parent for parent, v in parents.items() if v.kind != "categorical"]
            # An intercept, a variance and a coefficient for each numeric parent, also those that a mean does not name.
            self.budget.take([*sizes, len(numeric) + 2], name, too_large)
            return read_normals(tokens, start, end, name, sizes, numeric)
        if len(given) < len(parents):
            raise tokens.error(
                f"{name!r} is discrete and has a continuous parent. Turn the arc round, or cut the parent into "
                "intervals.",
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
                f"the data of {name!r} must be {cells} numbers, nested as {' × '.join(map(str, sizes))}; there are "
                f"{len(numbers)}.",
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

    def true_name(self, declared: _Declared) -> str | None:
        start, end = declared.attributes.get(TRUE_NAME, (0, 0))
        return unquoted(" ".join(self.tokens.words[start:end])) if end else None

    def notes(self, declared: _Declared, dropped: tuple[str, ...]) -> dict[str, str]:
        """Return the attributes as texts: quotations without their marks, lists as they stand."""
        found: dict[str, str] = {}
        for key, (start, end) in declared.attributes.items():
            if key in dropped or key == TRUE_NAME:
                continue
            text = " ".join(self.tokens.words[start:end])
            plain = text.replace("( ", "(").replace(" )", ")")
            add_note(found, key, unquoted(text) if QUOTED.fullmatch(text) else plain)
        return found
