"""From the numbers of a file to a network: a budget of cells, tables of nodes, and the network or the error.

A few words can define a table of any size (a default row and forty parents), and do so again for the next node. So
every reader takes the cells of a table from one budget before it allocates the table.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import LinearGaussian, Softmax, Table, row_sums, summing_to_one
from bayeskit._graphs.network import Network, Node
from bayeskit._messages import Joined, Message, as_message
from bayeskit._schema import Name, Variable, first_twice
from bayeskit.errors import ModelFormatError, SettingError, SourceNote

# Any file may have this many cells (32 MiB), and a longer one this many for each of its bytes. A number takes
# at least two bytes, itself and a blank, so a file that writes out its tables is never rejected.
LEAST_CELLS = 2**22
CELLS_A_BYTE = 64
BYTES_A_CELL = 8
# The array size that every NumPy supports.
MOST_AXES = 32
_BEYOND_ANY_MEMORY = 2**50


class Budget:
    """The remaining cells of a file.

    Parameters
    ----------
    n_bytes : the size of the file
    max_memory : the limit in bytes for its tables, whatever its size

    Examples
    --------
    >>> budget = Budget(1_000, max_memory=100)
    >>> budget.take([2, 3], "wet")
    6
    >>> budget.take([2, 2, 2], "slippery")
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: the table of 'slippery' has 8 cells, and with it the tables of this file would \
have 14; 12 are allowed. Give nodes fewer parents. If you trust the file, raise the limit: \
read_network(path, max_memory=112).
    """

    def __init__(self, n_bytes: int, max_memory: float | None = None) -> None:
        self.most: float = max(LEAST_CELLS, CELLS_A_BYTE * n_bytes)
        if max_memory is not None:
            self.most = max_memory if math.isinf(max_memory) else int(max_memory // BYTES_A_CELL)
        self.taken = 0

    def take(
        self,
        sizes: Sequence[int],
        name: object,
        error: Callable[[Message], ModelFormatError] = ModelFormatError,
    ) -> int:
        """Take the cells of a table with these axes, and return their number.

        ``error`` adds the position in the file.
        """
        cells = math.prod(sizes)
        total = self.taken + cells
        if total > self.most:
            raise error(
                Message(
                    "the table of {name!r} has {cells} cells, and with it the tables of this file would have "
                    "{total}; {most} are allowed. Give nodes fewer parents.{way_out}",
                    name=name,
                    cells=many(cells),
                    total=many(total),
                    most=self.most,
                    way_out=_way_out(BYTES_A_CELL * total),
                )
            )
        if len(sizes) > MOST_AXES:
            raise error(
                Message(
                    "the table of {name!r} would be over {n} variables; at most {most_axes} are read. Give it "
                    "fewer parents.",
                    name=name,
                    n=len(sizes),
                    most_axes=MOST_AXES,
                )
            )
        self.taken = total
        return cells


def _way_out(n_bytes: int) -> Message:
    if n_bytes > _BEYOND_ANY_MEMORY:
        return Message("")
    return Message(
        " If you trust the file, raise the limit: read_network(path, max_memory={n_bytes}).", n_bytes=n_bytes
    )


def many(cells: int) -> str:
    """Return the number of cells in a short form: the product of many sizes may have hundreds of digits."""
    return str(cells) if cells < 10**9 else f"≈10^{math.log10(cells):.0f}"


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
    assert not isinstance(node.distribution, (LinearGaussian, Softmax))
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


# A noisy-MAX node with few parameters can have a table of any size; a larger one is not written out in a file.
MOST_CELLS = 2**26
# In formats without an end mark, a file cut off after a table would otherwise be read as a smaller network.
DECLARED_LATE = (
    "a {kind} is declared after a table. Put every {kind} before the first table: only then can a file that was cut "
    "short be told from a whole one."
)


def assembled(
    nodes: Iterable[Node], name: str = "", notes: Mapping[str, str] | None = None, path: object = None
) -> Network:
    """Return the network of these nodes.

    Raises
    ------
    ModelFormatError
        If there are no nodes, two have the same name, a parent is missing, or the arcs have a cycle.

    Examples
    --------
    >>> assembled([], path="empty.bif")
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: empty.bif: there is no node in it. It was cut short, or is another kind of file.
    """
    nodes = tuple(nodes)
    if not nodes:
        raise ModelFormatError(
            "there is no node in it. It was cut short, or is another kind of file.", path=path
        )
    twice = first_twice(node.name for node in nodes)
    if twice is not None:
        raise ModelFormatError(
            Message("two nodes are named {twice!r}. Rename one of them.", twice=twice), path=path
        )
    try:
        network = Network(nodes, name, dict(notes or {}))
    except SettingError as error:
        raise ModelFormatError(error.message, path=path) from error
    for child in network.softmax_nodes:
        given = network[child].distribution
        if given is not None and not isinstance(given, Softmax):
            raise ModelFormatError(
                Message(
                    "{name!r} is discrete and {numeric!r}, its parent, is continuous. Turn the arc round, or cut the "
                    "parent into intervals.",
                    name=child,
                    numeric=network.numeric_parents(network[child])[0],
                ),
                path=path,
            )
    return network


def warn_of_pyagrum(format: str, path: object = None) -> None:
    """Warn that the tables of a file were read in the order in which pyAgrum writes them."""
    warnings.warn(
        SourceNote(
            "{file} was written by pyAgrum, which lets the first variable of a table "
            "vary fastest where {format} lets the last: it was read in pyAgrum's order. If its numbers have been put "
            "right since, take the comments out of it.",
            file=Message("This file") if path is None else path,
            format=format,
        ),
        stacklevel=5,
    )


def require_writable(network: Network, format: str) -> None:
    """Raise an error for a network that is incomplete, or whose tables are too large to write out."""
    network.require_distributions()
    if not network.nodes:
        raise SettingError("The network has no node; {format} cannot hold an empty one.", format=format)
    for node in network.nodes:
        shape = tuple(network[name].variable.size or 1 for name in (*node.parents, node.name))
        cells = math.prod(shape)
        if cells > MOST_CELLS or len(shape) > MOST_AXES:
            raise SettingError(
                "The table of {name!r} has {cells} cells over {n} variables, too many for a file in {format}. "
                "Write the native format, .json, which stores the parameters that the table is computed from.",
                name=node.name,
                cells=many(cells),
                n=len(shape),
                format=format,
            )


def require_discrete(network: Network, format: str) -> None:
    """Raise an error for what a format of tables cannot represent."""
    require_writable(network, format)
    numeric = next((node for node in network.nodes if not node.is_discrete), None)
    if numeric is not None:
        raise SettingError(
            "{name!r} is continuous, and {format} has only discrete nodes. Write the native format, .json.",
            name=numeric.name,
            format=format,
        )
