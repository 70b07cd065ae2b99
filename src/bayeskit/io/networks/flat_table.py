"""Numbers in a row, as files hold them ↔ the table of a node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import ModelFormatError
from bayeskit.graphs.distributions import LinearGaussian, Table
from bayeskit.graphs.network import Node
from bayeskit.io.networks.budget import Budget
from bayeskit.io.networks.rows import checked_table
from bayeskit.schema import Variable


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
    """Return the table of a node from its numbers: the child's states fastest, then the last parent's.

    Examples
    --------
    >>> from bayeskit.graphs.network import discrete
    >>> table_from([0.1, 0.9, 0.4, 0.6], discrete("b", "yn"), [discrete("a", "yn")], Budget(20)).values
    array([[0.1, 0.9],
           [0.4, 0.6]])
    """
    sizes = [*(parent.size for parent in parents), variable.size]

    def error(what: str) -> ModelFormatError:
        return ModelFormatError(what, path=path, line=line, column=column)

    cells = budget.take(sizes, variable.name, error)
    if len(values) != cells:
        shape = " × ".join(map(str, sizes))
        raise error(
            f"the table of {variable.name!r} has {len(values)} numbers; {shape} = {cells} are needed."
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
    """Return one line of numbers for each row, each as short as it can be and still the same number."""
    return [" ".join(map(repr, row)) for row in table.reshape(-1, table.shape[-1]).tolist()]


def checked_states(states: Sequence[str], name: object, path: object, line: int, column: int) -> None:
    """Refuse a node without states, or with one of them twice."""
    what = None
    if not states:
        what = f"{name!r} has no states. Give it at least one."
    elif len(set(states)) < len(states):
        twice = next(state for place, state in enumerate(states) if state in states[:place])
        what = f"{name!r} has the state {twice!r} twice. Rename one of them."
    if what:
        raise ModelFormatError(what, path=path, line=line, column=column)
