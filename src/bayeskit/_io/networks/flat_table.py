"""Converts between the flat numbers of a file and the table of a node, and checks that rows sum to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import LinearGaussian, Table, row_sums, summing_to_one
from bayeskit._graphs.network import Node
from bayeskit._io.networks.budget import Budget
from bayeskit._messages import Joined, Message, as_message
from bayeskit._schema import Name, Variable
from bayeskit.errors import ModelFormatError

# A row written with a few digits is divided by its sum; a larger error is a mistake.
ROUNDED = 1e-3

Place = tuple[int | None, int | None]


def checked_table(
    values: NDArray[np.float64],
    name: Name,
    parents: Sequence[Variable] = (),
    *,
    path: object = None,
    line: int | None = None,
    column: int | None = None,
    normalize: bool = False,
    place: Callable[[int], Place] | None = None,
) -> NDArray[np.float64]:
    """Return a conditional table whose rows are distributions.

    Parameters
    ----------
    values : array of shape (states of each parent, states of the child)
    name : the child
    parents : their variables, to name the states of a row in errors
    path, line, column : the position of the table
    normalize : bool
        Divide every row by its sum, whatever it is; a row of zeros is still an error.
    place : callable, optional
        Returns the line and column of a row; rows are counted as in the array.

    Examples
    --------
    >>> checked_table([0.333, 0.333, 0.333], "wind").round(3)
    array([0.333, 0.333, 0.333])
    >>> checked_table([2, 6], "wind", normalize=True)
    array([0.25, 0.75])
    >>> checked_table([0.5, 0.6], "wind", path="golf.bif", line=3, column=1)
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: golf.bif, line 3, column 1: the probabilities of 'wind' sum to 1.1, not to 1. \
Correct them, or pass normalize=True to divide them by their sum.
    """
    table: NDArray[np.float64] = np.ascontiguousarray(values, dtype=np.float64)
    rows = table.reshape(-1, table.shape[-1])

    def refused(row: int, why: str | Message) -> ModelFormatError:
        at = place(row) if place is not None else (line, column)
        states = _states_of(row, parents)
        what = (
            Message(
                "the probabilities of {name!r} given {states} {why}",
                name=name,
                states=states,
                why=as_message(why),
            )
            if states
            else Message("the probabilities of {name!r} {why}", name=name, why=as_message(why))
        )
        return ModelFormatError(what, path=path, line=at[0], column=at[1])

    bad = ~(np.isfinite(rows) & (rows >= 0))
    if bad.any():
        row, state = (int(k) for k in np.argwhere(bad)[0])
        raise refused(
            row,
            Message(
                "hold {value!s}. A probability is a number from 0 to 1: correct the file.",
                value=rows[row, state],
            ),
        )
    sums = row_sums(rows)
    if not np.isfinite(sums).all():
        raise refused(int(np.argmax(~np.isfinite(sums))), "are too large to be summed. Correct the file.")
    if (sums == 0).any():
        raise refused(int(np.argmax(sums == 0)), "are all zero. Give at least one state a probability.")
    off = np.abs(sums - 1)
    if not normalize and (off > ROUNDED).any():
        row = int(np.argmax(off > ROUNDED))
        raise refused(
            row,
            Message(
                "sum to {sums:.6g}, not to 1. Correct them, or pass normalize=True to divide them by their sum.",
                sums=sums[row],
            ),
        )
    return summing_to_one(rows, sums).reshape(table.shape)


def _states_of(row: int, parents: Sequence[Variable]) -> Joined:
    """Return the states of the parents for a row."""
    codes = np.unravel_index(row, tuple(parent.size for parent in parents)) if parents else ()
    return Joined(f"{p.name!s} = {p.states[int(code)]!s}" for p, code in zip(parents, codes, strict=True))


def table_from(
    values: Sequence[float],
    variable: Variable,
    parents: Sequence[Variable],
    budget: Budget,
    *,
    normalize: bool = False,
    path: object = None,
    line: int | None = None,
    column: int | None = None,
) -> Table:
    """Return the table of a node from its numbers: the child's states vary fastest, then the last parent's.

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> table_from([0.1, 0.9, 0.4, 0.6], discrete("b", "yn"), [discrete("a", "yn")], Budget(20)).values
    array([[0.1, 0.9],
           [0.4, 0.6]])
    """
    sizes = [*(parent.size for parent in parents), variable.size]

    def error(what: str | Message) -> ModelFormatError:
        return ModelFormatError(what, path=path, line=line, column=column)

    cells = budget.take(sizes, variable.name, error)
    if len(values) != cells:
        shape = " × ".join(map(str, sizes))
        raise error(
            Message(
                "the table of {name!r} has {n} numbers; {shape} = {cells} are needed.",
                name=variable.name,
                n=len(values),
                shape=shape,
                cells=cells,
            )
        )
    return Table(
        checked_table(
            np.reshape(values, sizes),
            variable.name,
            parents,
            path=path,
            line=line,
            column=column,
            normalize=normalize,
        )
    )


def table_of(node: Node) -> NDArray[np.float64]:
    """Return the table of a discrete node; the child's axis is the last."""
    assert node.distribution is not None
    assert not isinstance(node.distribution, LinearGaussian)
    return node.distribution.table()


def lines_of(table: NDArray[np.float64]) -> list[str]:
    """Return one line of numbers for each row, each number as short as possible without changing it."""
    return [" ".join(map(repr, row)) for row in table.reshape(-1, table.shape[-1]).tolist()]


def checked_states(states: Sequence[str], name: object, path: object, line: int, column: int) -> None:
    """Raise an error for a node without states, or with a repeated state."""
    what = None
    if not states:
        what = Message("{name!r} has no states. Give it at least one.", name=name)
    elif len(set(states)) < len(states):
        twice = next(state for place, state in enumerate(states) if state in states[:place])
        what = Message("{name!r} has the state {twice!r} twice. Rename one of them.", name=name, twice=twice)
    if what is not None:
        raise ModelFormatError(what, path=path, line=line, column=column)
