"""Formats without names: UAI, for networks and evidence, and libDAI factor graphs (``.fg``), which are only read.

In UAI the last variable varies fastest, in libDAI the first. Variables are named 0, 1, 2, … and so are their states:
integers, not text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import FactorGraph, Network, Node, discrete
from bayeskit._io.networks.assembly import (
    MOST_AXES,
    Budget,
    assembled,
    lines_of,
    require_discrete,
    table_from,
    table_of,
    warn_of_pyagrum,
)
from bayeskit._io.networks.raw import decode, read_bytes
from bayeskit._io.networks.tokens import Words, shown
from bayeskit._messages import Message
from bayeskit._schema import Variable, first_twice
from bayeskit.errors import ModelFormatError
from bayeskit.typing import PathLike

_MOST_STATES = 2**20
_MARKOV_OF_PYAGRUM = re.compile(r"\s*MARKOV\s+\d+\s*# nbr Nodes\b")
_FASTEST_FIRST = re.compile(r"^[ \t]*+\d++[ \t]*+# \{(\d{1,15}(?:, ?\d{1,15})*)\}", re.MULTILINE)


def read_uai(
    text: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network | FactorGraph:
    """Return the network of a UAI file: a Bayesian network for ``BAYES``, factors for ``MARKOV``.

    In a ``BAYES`` file the last variable of each function is the child, and each variable is the child of one
    function. ``#`` starts a comment.

    Examples
    --------
    >>> network = read_uai("BAYES 2 2 2 2  1 0 2 0 1  2 .4 .6  4 .1 .9 .8 .2 ")
    >>> network[1].parents, network[1].distribution.table()[0]
    ((0,), array([0.1, 0.9]))
    """
    budget = budget or Budget(len(text))
    text = decode(text, path)
    words = Words(text, path)
    kind = words.take(1, "BAYES or MARKOV")[0]
    if kind not in ("BAYES", "MARKOV"):
        raise words.refusal(
            Message("a UAI file begins with BAYES or MARKOV; this one begins with {kind}.", kind=shown(kind))
        )
    sizes = words.wholes(words.whole("the number of variables"), "the number of states of each variable")
    if 0 in sizes:
        raise words.refusal(
            Message("the variable {index} has no states. Give it at least one.", index=sizes.index(0))
        )
    # A variable that no function contains could have any number of states.
    if sum(sizes) > _MOST_STATES + words.left:
        raise words.refusal(
            Message("the variables have {sizes} states in all: too many to hold.", sizes=sum(sizes))
        )
    variables = [discrete(name, range(size)) for name, size in enumerate(sizes)]
    scopes = _scopes(words, len(sizes))
    turned = _turned(words, text, kind, scopes) if "#" in text else scopes
    if turned != scopes:
        warn_of_pyagrum("UAI", path)
        scopes = turned
    if kind == "MARKOV":
        factors = tuple(_factor(words, [variables[v] for v in scope], budget) for scope in scopes)
        words.end()
        if not variables:
            raise words.refusal("it contains no variable.")
        return FactorGraph(tuple(variables), factors)
    nodes = _families(words, scopes, variables, normalize, budget)
    words.end()
    return assembled(nodes, path=path)


def _scopes(words: Words, n_variables: int) -> list[list[int]]:
    found = []
    for number in range(words.whole("the number of functions")):
        scope = words.wholes(
            words.whole(Message("the size of scope {number}", number=number)),
            Message("the variables of scope {number}", number=number),
        )
        strange = next((v for v in scope if v >= n_variables), None)
        if strange is not None:
            raise words.refusal(
                Message(
                    "scope {number} contains the variable {strange}; there are {n_variables}, counted from 0.",
                    number=number,
                    strange=strange,
                    n_variables=n_variables,
                )
            )
        twice = first_twice(scope)
        if twice is not None:
            raise words.refusal(
                Message("scope {number} contains the variable {twice} twice.", number=number, twice=twice)
            )
        if len(scope) > MOST_AXES:
            raise words.refusal(
                Message(
                    "scope {number} has {n} variables; at most {most_axes} are supported.",
                    number=number,
                    n=len(scope),
                    most_axes=MOST_AXES,
                )
            )
        found.append(scope)
    return found


def _turned(words: Words, text: str, kind: str, scopes: list[list[int]]) -> list[list[int]]:
    """Return the scopes with the fastest variable last, as in UAI; pyAgrum's files are recognised by their comments.

    In a ``BAYES`` file, pyAgrum writes the name of the child after each scope, and the first parent varies
    fastest. In a ``MARKOV`` file the scopes have no order; the comment before each table names its variables,
    the fastest first.
    """
    if kind == "BAYES":
        lines = [line for line in text.split("\n") if line.strip()]
        commented = [place for place, line in enumerate(lines) if "#" in line]
        in_order = all(scope[-1:] == [child] for child, scope in enumerate(scopes))
        if not in_order or commented != list(range(4, 4 + len(scopes))):
            return scopes
        return [[*scope[-2::-1], scope[-1]] for scope in scopes]
    if not _MARKOV_OF_PYAGRUM.match(text):
        return scopes
    by_comment = [[int(name) for name in found.split(",")][::-1] for found in _FASTEST_FIRST.findall(text)]
    if list(map(sorted, by_comment)) != list(map(sorted, scopes)):
        raise words.refusal(
            "it was written by pyAgrum, which puts the order of each table into a comment, and its comments do not "
            "name the variables of the scopes. Write it again, or remove all comments if its order is that of UAI."
        )
    return by_comment


def _values(words: Words, scope: Sequence[Variable]) -> list[float]:
    over = ", ".join(str(variable.name) for variable in scope)
    count = words.whole(Message("the number of entries of the function over {over}", over=over))
    cells = math.prod(variable.size for variable in scope)
    if count != cells:
        raise words.refusal(
            Message(
                "the function over {over} has {count} entries; its variables need {cells}.",
                over=over,
                count=count,
                cells=cells,
            )
        )
    return words.numbers(count, Message("an entry of the function over {over}", over=over))


def _factor(words: Words, scope: Sequence[Variable], budget: Budget) -> Factor:
    over = ", ".join(str(variable.name) for variable in scope)
    numbers = _values(words, scope)
    budget.take([variable.size for variable in scope], over, words.refusal)
    values = np.array(numbers)
    if not (np.isfinite(values) & (values >= 0)).all() or not values.any():
        raise words.refusal(
            Message(
                "the factor over {over} must contain finite numbers, none negative and not all of them zero.",
                over=over,
            )
        )
    return Factor([v.name for v in scope], [v.states for v in scope], values.reshape([v.size for v in scope]))


def _families(
    words: Words,
    scopes: Sequence[Sequence[int]],
    variables: Sequence[Variable],
    normalize: bool,
    budget: Budget,
) -> list[Node]:
    """Read the tables of a Bayesian network; nodes are in the order of their numbers."""
    children = [scope[-1] if scope else None for scope in scopes]
    if sorted(children, key=repr) != sorted(range(len(variables)), key=repr):
        raise words.refusal(
            "this BAYES file is not a Bayesian network: the last variable of every scope is the child, and "
            "each variable must be the child once. Is it a MARKOV file?"
        )
    found: dict[int, Node] = {}
    for scope in scopes:
        *parents, child = (variables[v] for v in scope)
        start = words.at
        values = _values(words, (*parents, child))
        try:
            table = table_from(values, child, parents, budget, normalize=normalize)
        except ModelFormatError as error:
            raise words.refusal(error.problem, start) from None
        found[scope[-1]] = Node(child, tuple(p.name for p in parents), table)
    return [found[v] for v in range(len(variables))]


def uai_text(network: Network | FactorGraph) -> str:
    """Return the UAI text of a network. The format has no names: variables and states become numbers."""
    if isinstance(network, FactorGraph):
        kind, place = "MARKOV", network.position
        sizes = [variable.size for variable in network.variables]
        scopes = [[place[name] for name in factor.names] for factor in network.factors]
        tables = [factor.values for factor in network.factors]
    else:
        require_discrete(network, "UAI")
        kind, place = "BAYES", network.dag.position
        sizes = [node.variable.size for node in network.nodes]
        scopes = [[*(place[p] for p in node.parents), place[node.name]] for node in network.nodes]
        tables = [table_of(node) for node in network.nodes]
    lines = [kind, str(len(sizes)), " ".join(map(str, sizes)), str(len(scopes))]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope in scopes]
    for table in tables:
        lines += ["", str(table.size), *lines_of(np.atleast_1d(table))]
    return "\n".join([*lines, ""])


def read_uai_evidence(path: PathLike) -> dict[int, int]:
    """Return the evidence of a UAI ``.evid`` file: variable → state, both integers.

    Both forms of the format are accepted: the number of pairs and the pairs, optionally preceded by the
    number of samples, which must be one.
    """
    words = Words(decode(read_bytes(path), path), path)
    numbers = words.wholes(max(words.left, 1), "the number of observed variables")
    if len(numbers) != 1 + 2 * numbers[0]:
        samples, *numbers = numbers
        if samples != 1 or not numbers or len(numbers) != 1 + 2 * numbers[0]:
            raise ModelFormatError(
                Message(
                    "it contains neither one set of evidence (a number k, then k pairs) nor '1' and one set; it "
                    "begins with {samples} and has {value} numbers.",
                    samples=samples,
                    value=1 + len(numbers),
                ),
                path=path,
                line=1,
                column=1,
            )
    names, states = numbers[1::2], numbers[2::2]
    twice = first_twice(names)
    if twice is not None:
        raise ModelFormatError(
            Message("the variable {twice} is observed twice. Keep one of them.", twice=twice), path=path
        )
    return dict(zip(names, states, strict=True))


def read_fg(
    text: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> FactorGraph:
    """Return the Markov network of a libDAI factor graph.

    Variables have their numbers as names and are in that order; states are 0, 1, 2, …; cells that are not
    listed are zero. There are no rows to normalise, so ``normalize`` has no effect.

    Examples
    --------
    >>> field = read_fg("1\\n\\n2\\n0 1\\n2 3\\n2\\n1 0.5\\n4 0.25\\n")
    >>> field.factors[0].values
    array([[0.  , 0.  , 0.25],
           [0.5 , 0.  , 0.  ]])
    """
    words = Words(decode(text, path), path)
    sizes: dict[int, int] = {}
    blocks: list[tuple[list[int], NDArray[np.float64]]] = []
    budget = budget or Budget(len(text))
    for number in range(words.whole("the number of factors")):
        scope = words.wholes(
            words.whole(Message("the number of variables of factor {number}", number=number)), "a variable"
        )
        shape = words.wholes(len(scope), "a number of states")
        _check_scope(words, number, scope, shape, sizes)
        # Cells that are not listed take no space in the file.
        cells = budget.take(shape, f"factor {number}", words.refusal)
        blocks.append((scope, _cells(words, number, cells)))
    words.end()
    if not sizes:
        raise words.refusal("it contains no variable.")
    variables = {name: discrete(name, range(sizes[name])) for name in sorted(sizes)}
    factors = []
    for scope, values in blocks:
        states = [variables[v].states for v in scope]
        # The first variable varies fastest, so in C order it is the last axis.
        array = values.reshape([sizes[v] for v in reversed(scope)])
        factors.append(Factor(scope, states, array.transpose()))
    return FactorGraph(tuple(variables.values()), tuple(factors))


def _check_scope(
    words: Words, number: int, scope: Sequence[int], shape: Sequence[int], sizes: dict[int, int]
) -> None:
    """Raise an error for a factor that contradicts itself or an earlier one; record its sizes."""
    twice = first_twice(scope)
    if twice is not None:
        raise words.refusal(
            Message("factor {number} contains the variable {twice} twice.", number=number, twice=twice)
        )
    for name, size in zip(scope, shape, strict=True):
        if size == 0 or sizes.setdefault(name, size) != size:
            why = (
                Message("{size} states, and an earlier one {other}", size=size, other=sizes[name])
                if size
                else Message("no states")
            )
            raise words.refusal(
                Message("factor {number} gives the variable {name} {why}.", number=number, name=name, why=why)
            )


def _cells(words: Words, number: int, size: int) -> NDArray[np.float64]:
    """Read the cells of a factor: index and value, in any order, each once."""
    count = words.whole(Message("the number of cells of factor {number}", number=number))
    values = np.zeros(size)
    seen = bytearray(size)
    for _ in range(count):
        cell = words.whole(Message("a cell of factor {number}", number=number))
        if cell >= size or seen[cell]:
            why = (
                Message("occurs twice")
                if cell < size
                else Message("does not exist (there are {size}, from 0)", size=size)
            )
            raise words.refusal(
                Message("the cell {cell} of factor {number} {why}.", cell=cell, number=number, why=why)
            )
        seen[cell] = 1
        value = words.numbers(1, Message("the value of cell {cell}", cell=cell))[0]
        if not 0 <= value < math.inf:
            raise words.refusal(
                Message(
                    "the cell {cell} of factor {number} is {value}; a finite number of at least 0 is needed.",
                    cell=cell,
                    number=number,
                    value=value,
                )
            )
        values[cell] = value
    if not values.any():
        raise words.refusal(
            Message("factor {number} is zero everywhere, so nothing is possible.", number=number)
        )
    return values
