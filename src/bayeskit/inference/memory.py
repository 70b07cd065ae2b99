"""The memory an exact answer needs, estimated before anything is made."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bayeskit.errors import TooLarge
from bayeskit.inference.potentials import Potentials
from bayeskit.inference.problem import Problem
from bayeskit.inference.tree import Shape, shape_tree
from bayeskit.inference.triangulation import BEYOND, Triangulation


def guarded_shape(
    potentials: Potentials,
    problem: Problem,
    triangulation: Triangulation,
    max_memory: float,
    *,
    root: int = -1,
    rows: int = 1,
    one_way: bool = False,
) -> Shape:
    """Return the shape of a tree, or raise TooLarge where its tables and maps would pass the limit.

    ``rows`` is how many copies of all tables there will be; ``one_way``, that there is only ever one table.
    """
    max_memory = min(max_memory, 8.0 * BEYOND)
    # Far above any limit the cells may not even fit the integers of the layout.
    if triangulation.cells > BEYOND:
        raise _refusal(potentials, problem, triangulation, 8.0 * triangulation.cells * rows, max_memory)
    shape = shape_tree(problem, triangulation, root)
    needed = shape.bytes_kept + (shape.bytes_one_way if one_way else shape.bytes_used(rows))
    needed += _bytes_of_rules(potentials, problem)
    if needed > max_memory:
        raise _refusal(potentials, problem, triangulation, needed, max_memory)
    return shape


def require_table(potentials: Potentials, variables: Sequence[int], max_memory: float) -> None:
    """Raise TooLarge where one table over some variables passes the limit."""
    cells = math.prod(int(potentials.sizes[v]) for v in variables)
    limit = min(max_memory, 8.0 * BEYOND)
    if 8 * cells > limit:
        raise TooLarge(8 * cells, limit, [potentials.names[v] for v in variables], cells)


def require(potentials: Potentials, needed: float, max_memory: float, shape: Shape) -> None:
    """Raise TooLarge where a question to a tree that is there needs more than the limit."""
    needed += _bytes_of_rules(potentials, shape.problem)
    if needed > max_memory:
        c = int(shape.table_cells.argmax())
        members = shape.axes[shape.axis_start[c] : shape.axis_start[c] + shape.length[c]]
        names = [potentials.names[int(shape.problem.variables[v])] for v in members]
        raise TooLarge(needed, max_memory, names, int(shape.table_cells[c]))


def _bytes_of_rules(potentials: Potentials, problem: Problem) -> int:
    """Return what the cells of the rules take that the tables are filled from."""
    return 8 * sum(
        math.prod(int(potentials.sizes[v]) for v in potentials.scope_of(f) if problem.place[v] >= 0)
        for f in potentials.rules
        if problem.kept[f]
    )


def _refusal(
    potentials: Potentials, problem: Problem, triangulation: Triangulation, needed: float, max_memory: float
) -> TooLarge:
    members, cells = triangulation.largest(problem.sizes)
    names = [potentials.names[int(problem.variables[v])] for v in members]
    if math.isinf(needed):
        needed = 8 * cells  # a whole number of Python, which has no largest
    return TooLarge(needed, max_memory, names, cells)
