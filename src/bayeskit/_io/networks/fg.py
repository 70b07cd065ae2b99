"""libDAI factor graphs (``.fg``): factors given cell by cell, with the first variable fastest. Read only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import FactorGraph, discrete
from bayeskit._io.networks.assembly import Budget
from bayeskit._io.networks.raw import decode
from bayeskit._io.networks.tokens import Words
from bayeskit._messages import Message
from bayeskit._schema import first_twice


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
        scope = words.wholes(words.whole(f"the number of variables of factor {number}"), "a variable")
        shape = words.wholes(len(scope), "a number of states")
        _check_scope(words, number, scope, shape, sizes)
        # Cells that are not listed take no space in the file.
        cells = budget.take(shape, f"factor {number}", words.refusal)
        blocks.append((scope, _cells(words, number, cells)))
    words.end()
    if not sizes:
        raise words.refusal("there is no variable in it.")
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
            Message("factor {number} has the variable {twice} twice.", number=number, twice=twice)
        )
    for name, size in zip(scope, shape, strict=True):
        if size == 0 or sizes.setdefault(name, size) != size:
            raise words.refusal(
                f"factor {number} gives the variable {name} {size} states, and an earlier one {sizes[name]}."
                if size
                else f"factor {number} gives the variable {name} no states."
            )


def _cells(words: Words, number: int, size: int) -> NDArray[np.float64]:
    """Read the cells of a factor: index and value, in any order, each once."""
    count = words.whole(f"the number of cells of factor {number}")
    values = np.zeros(size)
    seen = bytearray(size)
    for _ in range(count):
        cell = words.whole(f"a cell of factor {number}")
        if cell >= size or seen[cell]:
            why = (
                Message("stands there twice")
                if cell < size
                else Message("does not exist (there are {size}, from 0)", size=size)
            )
            raise words.refusal(
                Message("the cell {cell} of factor {number} {why}.", cell=cell, number=number, why=why)
            )
        seen[cell] = 1
        value = words.numbers(1, f"the value of cell {cell}")[0]
        if not 0 <= value < math.inf:
            raise words.refusal(
                Message(
                    "the cell {cell} of factor {number} is {value}; a finite number from 0 is needed.",
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
