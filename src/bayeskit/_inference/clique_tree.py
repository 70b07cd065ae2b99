"""The memory layout of a clique tree: its tables, its messages, and the memory it needs.

What it takes is reckoned before anything is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.kernels.fill import fill
from bayeskit._inference.kernels.tree_layout import (
    N_COLUMNS,
    find_homes,
    grow_tree,
    hang_lightly,
    hang_tree,
    index_members,
    lay_out,
    write_maps,
)
from bayeskit._inference.potentials import Potentials
from bayeskit._inference.triangulation import BEYOND, Problem, Triangulation
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class TreeShape:
    """The cliques and the tree they form, before anything as large as their tables is made.

    ``cells`` are those of all tables, separators included; ``entries`` those of the maps; ``widest`` the cells
    of the largest separator.
    """

    problem: Problem
    n_cliques: int
    when: Ints
    owner: Ints
    parent: Ints
    sequence: Ints
    axes: Ints
    axis_start: Ints
    length: Ints
    separated: Ints
    offset: Ints
    table_cells: Ints
    edge: Ints
    cells: int
    entries: int
    widest: int

    @property
    def between(self) -> int:
        """The cells of all separators."""
        return self.cells - int(self.table_cells.sum())

    @property
    def bytes_of_maps(self) -> int:
        """What the tree itself holds."""
        return 4 * self.entries

    def bytes_used(self, rows: int = 1) -> int:
        """What a question needs beside it, for so many rows at a time."""
        return 8 * (self.cells * rows + self.widest)

    @property
    def bytes_one_way(self) -> int:
        """What messages one way need beside it: the largest clique, and all separators."""
        return 8 * (int(self.table_cells.max(initial=1)) + self.between)


def shape_tree(problem: Problem, triangulation: Triangulation, root: int = -1) -> TreeShape:
    """Make the cliques and hang them up; the clique where variable ``root`` is eliminated comes on top."""
    m = len(triangulation.order)
    order, cliques = triangulation.order, triangulation.cliques
    when, owner, above, count = (np.empty(m, np.int64) for _ in range(4))
    head, tail = np.empty(m, np.int64), np.empty(m, np.int64)
    n = grow_tree(order, cliques, when, owner, above, count, head, tail)
    parent, edge_step, sequence = (np.empty(n, np.int64) for _ in range(3))
    top = int(owner[when[root]]) if root >= 0 else -1
    hang_tree(n, top, owner, above, tail, parent, edge_step, sequence, np.empty(2 * n, np.int64))
    n_members = int(count[head[:n]].sum())
    starts, holders, weight = np.empty(m + 1, np.int64), np.empty(n_members, np.int64), np.empty(n)
    index_members(n, cliques, head, problem.sizes, starts, holders, weight)
    hang_lightly(
        n, order, cliques, head, parent, edge_step, sequence, starts, holders, weight, np.empty(n, np.int64)
    )
    axes = np.empty(n_members, np.int64)
    axis_start, offset, length, separated, table_cells = (np.empty(n, np.int64) for _ in range(5))
    edge = np.zeros((n, N_COLUMNS), np.int64)
    cells, entries, widest = lay_out(
        n,
        order,
        cliques,
        problem.sizes,
        head,
        parent,
        edge_step,
        sequence,
        axes,
        axis_start,
        offset,
        length,
        separated,
        table_cells,
        edge,
    )
    return TreeShape(
        problem,
        n,
        when,
        owner,
        parent,
        sequence,
        axes,
        axis_start,
        length,
        separated,
        offset,
        table_cells,
        edge,
        int(cells),
        int(entries),
        int(widest),
    )


@dataclass(frozen=True, eq=False)
class Tree:
    """A shape with its maps: all that a question needs beside the numbers. It does not change."""

    shape: TreeShape
    maps: NDArray[np.int32]
    up: Ints
    down: Ints
    roots: Ints
    seat: Ints
    seat_clique: Ints
    home: Ints
    start: Ints

    def tables(self, potentials: Potentials, codes: Ints) -> tuple[Floats, Floats, float]:
        """Return the filled tables, the bound of each clique, and the log of what was taken out."""
        shape, problem = self.shape, self.shape.problem
        potentials, divided = potentials.given(codes, problem.kept)
        least, most = potentials.log_bounds
        pot, bound = np.empty(shape.cells), np.empty(shape.n_cliques)
        taken = fill(
            codes,
            problem.place,
            potentials.sizes,
            potentials.scope,
            potentials.scope_start,
            potentials.values,
            potentials.value_start,
            least,
            most,
            problem.kept,
            problem.sizes,
            shape.when,
            shape.owner,
            shape.axes,
            shape.axis_start,
            shape.length,
            shape.offset,
            bound,
            np.zeros(len(problem.sizes), np.int64),
            np.empty(self.most_axes, np.int64),
            np.empty((3, potentials.n_factors), np.int64),
            np.empty(shape.n_cliques, np.int64),
            pot,
        )
        return pot, bound, float(taken) + divided

    @cached_property
    def nbytes(self) -> int:
        """What keeping the tree costs."""
        arrays = [*vars(self.shape).values(), *vars(self.shape.problem).values(), *vars(self).values()]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    @cached_property
    def most_axes(self) -> int:
        return int(self.shape.length.max(initial=1))

    @cached_property
    def children(self) -> list[list[int]]:
        """The cliques that hang on each clique."""
        found: list[list[int]] = [[] for _ in range(self.shape.n_cliques)]
        for c in self.down.tolist():
            found[int(self.shape.parent[c])].append(c)
        return found

    def axes_of(self, clique: int) -> list[int]:
        """Return the variables of a clique in the order of its axes."""
        start = int(self.shape.axis_start[clique])
        found: list[int] = self.shape.axes[start : start + int(self.shape.length[clique])].tolist()
        return found

    def top_of(self, targets: list[int]) -> int:
        """Return the clique that holds these variables of the network together, which were joined."""
        places = [int(self.shape.problem.place[v]) for v in targets]
        return int(self.shape.owner[self.shape.when[places].min()])

    def root_place(self, variable: int) -> Ints:
        """Return where a variable stands in the clique on top: (begin, cells, stride, states)."""
        shape = self.shape
        c = int(shape.owner[shape.when[variable]])
        axes = self.axes_of(c)
        sizes = shape.problem.sizes
        stride = int(np.prod(sizes[axes[axes.index(variable) + 1 :]], dtype=np.int64))
        return np.array([shape.offset[c], shape.table_cells[c], stride, sizes[variable]], np.int64)

    @property
    def n_marginals(self) -> int:
        """The states of all free variables together."""
        return int(self.start[-1])


def make_tree(shape: TreeShape) -> Tree:
    """Write the maps and find where each variable is read."""
    m, n = len(shape.problem.sizes), shape.n_cliques
    maps = np.empty(shape.entries, np.int32)
    most = int(shape.length.max(initial=1))
    write_maps(
        n,
        shape.problem.sizes,
        shape.parent,
        shape.axes,
        shape.axis_start,
        shape.separated,
        shape.edge,
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        maps,
    )
    seat, home, seat_clique = np.empty((m, 4), np.int64), np.empty((m, 4), np.int64), np.empty(m, np.int64)
    find_homes(
        n,
        shape.problem.sizes,
        shape.axes,
        shape.axis_start,
        shape.length,
        shape.separated,
        shape.offset,
        shape.table_cells,
        shape.edge,
        seat,
        seat_clique,
        home,
    )
    hung = shape.parent[shape.sequence] >= 0
    down = shape.sequence[hung]
    start = np.zeros(m + 1, np.int64)
    np.cumsum(shape.problem.sizes, out=start[1:])
    return Tree(shape, maps, down[::-1].copy(), down, shape.sequence[~hung], seat, seat_clique, home, start)


def grouped(keys: Ints, n: int) -> tuple[Ints, Ints]:
    """Return the places of the keys in their order, and where each of the keys 0 … n − 1 begins among them.

    >>> grouped(np.array([1, 0, 1]), 2)
    (array([1, 0, 2]), array([0, 1, 3]))
    """
    places = np.argsort(keys, kind="stable")
    return places, np.searchsorted(keys[places], np.arange(n + 1))


def guarded_shape(
    potentials: Potentials,
    problem: Problem,
    triangulation: Triangulation,
    max_memory: float,
    *,
    root: int = -1,
    rows: int = 1,
    one_way: bool = False,
) -> TreeShape:
    """Return the shape of a tree, or raise TooLarge where its tables and maps would pass the limit.

    ``rows`` is how many copies of all tables there will be; ``one_way``, that there is only ever one table.
    """
    max_memory = min(max_memory, 8.0 * BEYOND)
    # Far above any limit the cells may not even fit the integers of the layout.
    if triangulation.cells > BEYOND:
        raise _refusal(potentials, problem, triangulation, 8.0 * triangulation.cells * rows, max_memory)
    shape = shape_tree(problem, triangulation, root)
    needed = shape.bytes_of_maps + (shape.bytes_one_way if one_way else shape.bytes_used(rows))
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


def require(potentials: Potentials, needed: float, max_memory: float, shape: TreeShape) -> None:
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
