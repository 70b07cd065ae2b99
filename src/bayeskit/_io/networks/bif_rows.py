"""What BIF and DSC share: declarations, properties, and blocks of probabilities with their rows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import Table
from bayeskit._graphs.network import Node, discrete
from bayeskit._io.networks.assembly import Budget, checked_table
from bayeskit._io.networks.mangling import QUOTED, TRUE, TRUE_NAME, add_note, take_true, unquoted
from bayeskit._io.networks.tokens import Tokens, is_number, shown
from bayeskit._messages import Joined, Message
from bayeskit._schema import Variable, first_twice

_KEY = re.compile(r"([A-Za-z_][\w.-]*+)\s*+=?")
_PROPERTY = re.compile(r"property\s")
_FUNCTION = re.compile(r"property\s+function\b")


@dataclass
class Declaration:
    """A variable as declared by its block.

    ``at`` is the token of its name; ``true`` are the properties for true names, as written; ``true_states``
    are the states they give.
    """

    name: str
    at: int
    states: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    true: dict[str, str] = field(default_factory=dict)
    true_states: list[str] | None = None

    @property
    def true_name(self) -> str:
        return unquoted(self.true[TRUE_NAME]) if TRUE_NAME in self.true else self.name

    @property
    def variable(self) -> Variable:
        return discrete(self.true_name, self.states if self.true_states is None else self.true_states)


def read_property(tokens: Tokens, owner: Declaration, obeyed: Collection[str]) -> None:
    """Store a property as a note or, if it is ``obeyed`` in this block, apart from the notes."""
    word = tokens.take()
    if not _PROPERTY.match(word):
        raise tokens.error(
            Message("there is {word} where a property or '}}' must stand.", word=shown(word)), tokens.at - 1
        )
    if not tokens.peek():
        raise tokens.cut_short()
    text = word.removeprefix("property").removesuffix(";").strip()
    match = _KEY.match(text)
    key, value = (match[1], text[match.end() :].strip()) if match else ("property", text)
    if key in TRUE:
        wrong = take_true(owner.true, key, value, obeyed)
        if wrong is not None:
            raise tokens.error(wrong, tokens.at - 1)
    else:
        add_note(owner.notes, key, unquoted(value) if QUOTED.fullmatch(value) else value)


class Rows:
    """The statements of one ``probability`` block; every cell is given once.

    ``numbered``: as in DSC, rows give the states of the parents by number, followed by a colon.
    """

    def __init__(
        self, tokens: Tokens, family: list[Declaration], at: int, budget: Budget, numbered: bool = False
    ) -> None:
        self.tokens, self.at, self.numbered = tokens, at, numbered
        *self.parents, self.child = family
        self.sizes = [len(declared.states) for declared in family]
        budget.take(self.sizes, self.child.name, lambda what: tokens.error(what, at))
        self.codes = [
            {str(k) if numbered else state: k for k, state in enumerate(p.states)} for p in self.parents
        ]
        self.rows: dict[int, int] = {}  # number of the row → its first token
        self.numbers: list[float] = []
        self.default: list[float] | None = None
        self.whole: list[float] | None = None

    def table(self, normalize: bool) -> NDArray[np.float64]:
        tokens = self.tokens
        while not tokens.skip("}"):
            word = tokens.peek()
            if word == "(":
                self.read_row()
            elif word == "default" or (word == "table" and not self.numbered):
                self.read_whole(word)
            elif self.numbered and is_number(word) and not self.parents and not self.rows:
                self.rows[0] = tokens.at
                self.numbers = self.statement(self.sizes[-1])
            elif _FUNCTION.match(word):
                raise tokens.error(
                    Message(
                        "{name!r} has 'property function': its rows are parameters of independent causes, which BIF "
                        "does not define. Write the whole table.",
                        name=self.child.name,
                    )
                )
            else:
                read_property(tokens, self.child, obeyed=())
        values = self.filled()
        parents = [parent.variable for parent in self.parents]
        return checked_table(
            values,
            self.child.variable.name,
            parents,
            path=tokens.path,
            place=lambda row: tokens.place(self.rows.get(row, self.at)),
            normalize=normalize,
        )

    def read_row(self) -> None:
        tokens, first = self.tokens, self.tokens.at
        close = first + 1 + len(self.parents)
        words = tokens.words
        if words[close : close + 1] != [")"] or ")" in words[first:close]:
            raise tokens.error(
                Message(
                    "a row of {name!r} must name one state of each of its {n} parents.",
                    name=self.child.name,
                    n=len(self.parents),
                ),
                first,
            )
        number = 0
        for k, codes in enumerate(self.codes):
            word = words[first + 1 + k]
            code = codes.get(unquoted(word) if word[0] == '"' else word)
            if code is None:
                parent = self.parents[k]
                raise tokens.error(
                    Message(
                        "{name!r} has no state {word} (it has {names}).",
                        name=parent.name,
                        word=shown(word),
                        names=Joined(list(codes)[:12]),
                    ),
                    first + 1 + k,
                )
            number = number * len(codes) + code
        if number in self.rows:
            raise tokens.error(Message("this row of {name!r} occurs twice.", name=self.child.name), first)
        tokens.at = close + 1
        if self.numbered:
            tokens.expect(":", "after the states of the parents")
        self.numbers += self.statement(self.sizes[-1])
        self.rows[number] = first

    def read_whole(self, word: str) -> None:
        tokens = self.tokens
        tokens.at += 1
        if (self.whole if word == "table" else self.default) is not None:
            raise tokens.error(
                Message("{name!r} has a second {word!r}.", name=self.child.name, word=word), tokens.at - 1
            )
        if self.numbered:
            tokens.expect(":", "after 'default'")
        if word == "table":
            self.whole = self.statement(math.prod(self.sizes))
        else:
            self.default = self.statement(self.sizes[-1])

    def statement(self, count: int) -> list[float]:
        """Read numbers up to the semicolon."""
        tokens, start = self.tokens, self.tokens.at
        end = tokens.find(";")
        # First the numbers, then their count: a statement without a semicolon runs into the next one.
        numbers = tokens.numbers(range(start, end))
        if len(numbers) != count:
            raise tokens.error(
                Message(
                    "{name!r} needs {count} numbers here, and there are {n}.",
                    name=self.child.name,
                    count=count,
                    n=len(numbers),
                ),
                start,
            )
        tokens.at = end + 1
        return numbers

    def filled(self) -> NDArray[np.float64]:
        tokens, name = self.tokens, self.child.name
        if self.whole is not None:
            if self.rows or self.default is not None:
                raise tokens.error(
                    Message("{name!r} is given by a table and by rows. Keep one of them.", name=name), self.at
                )
            # The child's axis comes first in the file.
            cells = np.array(self.whole).reshape((self.sizes[-1], *self.sizes[:-1]))
            return np.moveaxis(cells, 0, -1)
        n_rows = math.prod(self.sizes[:-1])
        values = np.empty((n_rows, self.sizes[-1]))
        if len(self.rows) < n_rows:
            if self.default is None:
                missing = next(row for row in range(n_rows) if row not in self.rows)
                codes = np.unravel_index(missing, self.sizes[:-1]) if self.parents else ()
                states = Joined((p.states[int(code)] for p, code in zip(self.parents, codes, strict=True)))
                raise tokens.error(
                    Message(
                        "{name!r} has no probabilities for ({states}). Give that row, or a 'default'.",
                        name=name,
                        states=states,
                    ),
                    self.at,
                )
            values[:] = self.default
        if self.rows:
            values[list(self.rows)] = np.array(self.numbers).reshape(-1, self.sizes[-1])
        return values.reshape(self.sizes)


Tables = dict[str, tuple[tuple[str, ...], Table]]


def read_probability(
    tokens: Tokens,
    known: Callable[[], Declaration],
    tables: Tables,
    budget: Budget,
    *,
    normalize: bool,
    numbered: bool = False,
) -> None:
    """Read a block of probabilities into ``tables``; ``known`` reads the name of a variable that was declared."""
    tokens.expect("(", "after 'probability'")
    at = tokens.at
    family = [known()]
    if tokens.skip("|"):
        while tokens.peek() != ")":
            family.append(known())
    child, parents = family[0].name, family[1:]
    tokens.expect(")", Message("after the parents of {child!r}", child=child))
    tokens.expect("{", Message("before the probabilities of {child!r}", child=child))
    if child in tables:
        raise tokens.error(Message("there is a second block 'probability' for {child!r}.", child=child), at)
    twice = first_twice(declared.name for declared in family)
    if twice is not None:
        raise tokens.error(
            Message("{twice!r} occurs twice in the family of {child!r}.", twice=twice, child=child), at
        )
    values = Rows(tokens, [*parents, family[0]], at, budget, numbered=numbered).table(normalize)
    tables[child] = (tuple(parent.name for parent in parents), Table(values))


def nodes_of(tokens: Tokens, declared: Mapping[str, Declaration], tables: Tables) -> list[Node]:
    """Return the nodes that were declared, with their tables."""
    nodes = []
    for name, one in declared.items():
        if name not in tables:
            raise tokens.error(
                Message(
                    "{name!r} has no block 'probability': the file was cut short, or one must be added.",
                    name=name,
                ),
                one.at,
            )
        parents, table = tables[name]
        variables = tuple(declared[parent].variable.name for parent in parents)
        nodes.append(Node(one.variable, variables, table, one.notes))
    return nodes
