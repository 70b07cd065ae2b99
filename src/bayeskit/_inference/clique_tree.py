"""The memory layout of a clique tree: its tables, its messages, and the memory it needs.

The required memory is computed before anything is allocated.
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
    CELLS,
    N_COLUMNS,
    find_homes,
    grow_tree,
    hang_lightly,
    hang_tree,
    index_members,
    lay_out,
    stack_messages,
    write_maps,
)
from bayeskit._inference.potentials import Potentials
from bayeskit._inference.triangulation import BEYOND, Problem, Triangulation
from bayeskit._messages import Message
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints

# The bytes of a plan itself, for each clique: negligible, except where few messages wait at the same time.
RECORDS = 2**11


@dataclass(frozen=True, eq=False)
class TreeShape:
    """The cliques and the tree they form, before the tables are allocated.

    ``cells`` is the size of all tables, including separators; ``entries`` is the length of the maps;
    ``widest`` is the size of the largest separator, ``top`` the root that was asked for (−1: none). ``is_one_way``:
    messages go to the roots only, and need no maps.
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
    top: int
    is_one_way: bool = False

    @property
    def between(self) -> int:
        """The cells of all separators."""
        return self.cells - int(self.table_cells.sum())

    @property
    def bytes_of_maps(self) -> int:
        """The memory of the maps."""
        return 4 * self.entries

    def bytes_used(self, rows: int = 1) -> int:
        """The additional memory of a query for this number of rows at a time."""
        return 8 * (self.cells * rows + self.widest)

    @property
    def bytes_one_way(self) -> int:
        """The memory of one-way messages: the largest clique, and the messages that wait at the same time."""
        return 8 * (int(self.table_cells.max(initial=1)) + self.one_way.cells) + RECORDS * self.n_cliques

    @cached_property
    def one_way(self) -> OneWay:
        """The order of the cliques for one-way messages, and where each message is stored."""
        n = self.n_cliques
        children, child_start = grouped(self.parent, n)
        order, begin, peak = (np.empty(n, np.int64) for _ in range(3))
        cells = stack_messages(
            self.parent,
            self.sequence,
            self.edge[:, CELLS].copy(),
            children,
            child_start,
            peak,
            order,
            begin,
            self.top,
        )
        return OneWay(order, children, child_start, begin, int(cells))


@dataclass(frozen=True, eq=False)
class OneWay:
    """How messages are sent towards the roots so that few of them wait at the same time.

    Every clique follows its descendants at once, as on a stack: its message takes the place of those it absorbed.

    Attributes
    ----------
    order : the cliques; the root ``top`` comes last
    children, child_start : the children of each clique, in the order in which they are visited
    begin : where the message of each clique starts
    cells : the cells of all messages that wait, at most
    """

    order: Ints
    children: Ints
    child_start: Ints
    begin: Ints
    cells: int


def shape_tree(
    problem: Problem, triangulation: Triangulation, root: int = -1, *, one_way: bool = False
) -> TreeShape:
    """Build the cliques and connect them; the clique in which variable ``root`` is eliminated becomes the root."""
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
        top,
        one_way,
    )


@dataclass(frozen=True, eq=False)
class Tree:
    """A shape with its maps: everything a query needs except the numbers. Immutable."""

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
        """Return the filled tables, the bound of each clique, and the logarithm of the factored-out scale."""
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
        """The memory of the stored tree."""
        arrays = [*vars(self.shape).values(), *vars(self.shape.problem).values(), *vars(self).values()]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    @cached_property
    def most_axes(self) -> int:
        return int(self.shape.length.max(initial=1))

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each clique."""
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
        """Return the clique that contains all these network variables, which were joined."""
        places = [int(self.shape.problem.place[v]) for v in targets]
        return int(self.shape.owner[self.shape.when[places].min()])

    def root_place(self, variable: int) -> Ints:
        """Return the position of a variable in the root clique: (start, cells, stride, states)."""
        shape = self.shape
        c = int(shape.owner[shape.when[variable]])
        axes = self.axes_of(c)
        sizes = shape.problem.sizes
        stride = int(np.prod(sizes[axes[axes.index(variable) + 1 :]], dtype=np.int64))
        return np.array([shape.offset[c], shape.table_cells[c], stride, sizes[variable]], np.int64)

    @property
    def n_marginals(self) -> int:
        """The total number of states of all free variables."""
        return int(self.start[-1])


def make_tree(shape: TreeShape) -> Tree:
    """Fill the maps, unless messages go one way, and find the table from which each variable is read."""
    m, n = len(shape.problem.sizes), shape.n_cliques
    maps = np.empty(0 if shape.is_one_way else shape.entries, np.int32)
    most = int(shape.length.max(initial=1))
    if not shape.is_one_way:
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
    """Return the positions of the keys in sorted order, and where each key 0 … n − 1 starts among them.

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
    """Return the shape of a tree; raise TooLarge if its tables and maps would exceed the limit.

    ``rows`` is the number of copies of all tables; with ``one_way``, only one table exists at a time.
    """
    max_memory = min(max_memory, 8.0 * BEYOND)
    # Far above any limit, the number of cells may overflow the integers of the layout.
    if triangulation.cells > BEYOND:
        raise _refusal(potentials, problem, triangulation, 8.0 * triangulation.cells * rows, max_memory)
    shape = shape_tree(problem, triangulation, root, one_way=one_way)
    needed = shape.bytes_one_way if one_way else shape.bytes_of_maps + shape.bytes_used(rows)
    needed += _bytes_of_rules(potentials, problem)
    if needed > max_memory:
        raise _refusal(potentials, problem, triangulation, needed, max_memory)
    return shape


def require_table(potentials: Potentials, variables: Sequence[int], max_memory: float) -> None:
    """Raise TooLarge if a table over these variables exceeds the limit."""
    cells = math.prod(int(potentials.sizes[v]) for v in variables)
    limit = min(max_memory, 8.0 * BEYOND)
    if 8 * cells > limit:
        raise TooLarge(8 * cells, limit, [potentials.names[v] for v in variables], cells)


def require(potentials: Potentials, needed: float, max_memory: float, shape: TreeShape) -> None:
    """Raise TooLarge if a query on an existing tree needs more than the limit."""
    needed += _bytes_of_rules(potentials, shape.problem)
    if needed > max_memory:
        c = int(shape.table_cells.argmax())
        members = shape.axes[shape.axis_start[c] : shape.axis_start[c] + shape.length[c]]
        names = _names(potentials, shape.problem, members.tolist())
        raise TooLarge(needed, max_memory, names, int(shape.table_cells[c]))


def _names(potentials: Potentials, problem: Problem, members: Sequence[int]) -> list[object]:
    """Return the names of the variables of a table; hidden ones have the name of the node they belong to, once."""
    return list(dict.fromkeys(potentials.names[int(problem.variables[v])] for v in members))


def _bytes_of_rules(potentials: Potentials, problem: Problem) -> int:
    """Return the memory of the cells that rules contribute when the tables are filled."""
    return 8 * sum(
        math.prod(int(potentials.sizes[v]) for v in potentials.scope_of(f) if problem.place[v] >= 0)
        for f in potentials.rules
        if problem.kept[f]
    )


def _refusal(
    potentials: Potentials, problem: Problem, triangulation: Triangulation, needed: float, max_memory: float
) -> TooLarge:
    members, cells = triangulation.largest(problem.sizes)
    names = _names(potentials, problem, members)
    if math.isinf(needed):
        needed = 8 * cells  # a Python integer, which cannot overflow
    on_chains = np.flatnonzero(problem.sweep % 2 == 1)
    effects = {potentials.names[int(v)] for v in problem.variables[on_chains]}
    if not effects:
        return TooLarge(needed, max_memory, names, cells)
    way_out = Message(
        "It is so large because {n} effects with common causes are present or not known. Give fewer of them at a "
        "time, raise max_memory=, or sample: approximate(...).",
        n=len(effects),
    )
    return TooLarge(needed, max_memory, names, cells, way_out)
