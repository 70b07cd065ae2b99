"""A tree of cliques laid out in memory: which tables there are, where they lie, how messages go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.kernels.fill import fill
from bayeskit.inference.kernels.layout import N_COLUMNS, find_homes, lay_out, write_maps
from bayeskit.inference.potentials import Potentials
from bayeskit.inference.problem import Problem
from bayeskit.inference.triangulation import Triangulation
from bayeskit.kernel import kernel, lowest_bit, ones


@kernel
def grow_tree(
    order: Any, cliques: Any, when: Any, owner: Any, above: Any, count: Any, head: Any, tail: Any
) -> int:
    """Group the steps of an elimination into maximal cliques; return how many there are.

    Clique c holds the variables of ``cliques[head[c]]``. Step k belongs to clique ``owner[k]``, its next
    variable to go is at step ``above[k]`` (−1: none). The separator of c towards the rest is what
    ``cliques[tail[c]]`` holds without the variable of that step.
    """
    n = order.shape[0]
    words = cliques.shape[1]
    for k in range(n):
        when[order[k]] = k
        owner[k] = -1
    for k in range(n):
        above[k] = n
        size = 0
        for w in range(words):
            bits = cliques[k, w]
            size += ones(bits)
            while bits != np.uint64(0):
                step = when[w * 64 + lowest_bit(bits)]
                bits &= bits - np.uint64(1)
                if step != k and step < above[k]:
                    above[k] = step
        if above[k] == n:
            above[k] = -1
        count[k] = size
    made = 0
    for k in range(n):
        if owner[k] >= 0:
            continue
        owner[k] = made
        head[made] = k
        last = k
        # The next clique is a part of this one: its variables join.
        while above[last] >= 0 and owner[above[last]] < 0 and count[above[last]] == count[last] - 1:
            last = above[last]
            owner[last] = made
        tail[made] = last
        made += 1
    return made


@kernel
def hang_tree(
    n_cliques: int,
    root: int,
    owner: Any,
    above: Any,
    tail: Any,
    parent: Any,
    edge_step: Any,
    sequence: Any,
    work: Any,
) -> None:
    """Give every clique its parent, with clique ``root`` (if ≥ 0) at the top of its tree; parents come first.

    ``edge_step[c]`` is the elimination step whose neighbours are the separator between c and its parent.
    """
    for c in range(n_cliques):
        step = above[tail[c]]
        parent[c] = owner[step] if step >= 0 else -1
        edge_step[c] = tail[c] if step >= 0 else -1
    below = root
    came = -1
    came_step = -1
    while below >= 0:
        onward = parent[below]
        step = edge_step[below]
        parent[below] = came
        edge_step[below] = came_step
        came = below
        came_step = step
        below = onward
    # Children by their parents: a list for each, then a walk from the roots.
    for c in range(n_cliques):
        work[c] = -1
    done = 0
    for c in range(n_cliques):
        if parent[c] < 0:
            sequence[done] = c
            done += 1
    for c in range(n_cliques):
        if parent[c] >= 0:
            work[n_cliques + c] = work[parent[c]]
            work[parent[c]] = c
    at = 0
    while at < done:
        child = work[sequence[at]]
        while child >= 0:
            sequence[done] = child
            done += 1
            child = work[n_cliques + child]
        at += 1


@kernel
def index_members(
    n_cliques: int, cliques: Any, head: Any, sizes: Any, start: Any, holders: Any, weight: Any
) -> None:
    """List for each variable the cliques that hold it, and find the cells of each clique."""
    m = sizes.shape[0]
    for v in range(m + 1):
        start[v] = 0
    for c in range(n_cliques):
        weight[c] = 1.0
        for w in range(cliques.shape[1]):
            bits = cliques[head[c], w]
            while bits != np.uint64(0):
                v = w * 64 + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                weight[c] *= sizes[v]
                start[v + 1] += 1
    for v in range(m):
        start[v + 1] += start[v]
    for c in range(n_cliques - 1, -1, -1):
        for w in range(cliques.shape[1]):
            bits = cliques[head[c], w]
            while bits != np.uint64(0):
                v = w * 64 + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                # Filled from the end; when all are there, each list begins where it should.
                start[v + 1] -= 1
                holders[start[v + 1]] = c
    total = holders.shape[0]
    for v in range(m):
        start[v] = start[v + 1]
    start[m] = total


@kernel
def hang_lightly(
    n_cliques: int,
    order: Any,
    cliques: Any,
    head: Any,
    parent: Any,
    edge_step: Any,
    sequence: Any,
    start: Any,
    holders: Any,
    weight: Any,
    rank: Any,
) -> None:
    """Hang each clique on the smallest one that holds its separator, among those that come before it.

    A message goes through the whole table of the parent, whatever the size of the separator; and any clique
    that holds the separator and is not below will do. So ``sequence`` still has parents first.
    """
    words = cliques.shape[1]
    for i in range(n_cliques):
        rank[sequence[i]] = i
    for c in range(n_cliques):
        step = edge_step[c]
        if step < 0:
            continue
        gone = order[step]
        rarest = -1
        for w in range(words):
            bits = cliques[step, w]
            while bits != np.uint64(0):
                v = w * 64 + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                if v != gone and (rarest < 0 or start[v + 1] - start[v] < start[rarest + 1] - start[rarest]):
                    rarest = v
        for i in range(start[rarest], start[rarest + 1]):
            q = holders[i]
            if rank[q] >= rank[c] or weight[q] >= weight[parent[c]]:
                continue
            holds = True
            for w in range(words):
                lacking = cliques[step, w] & ~cliques[head[q], w]
                if w == gone >> 6:
                    lacking &= ~(np.uint64(1) << np.uint64(gone & 63))
                if lacking != np.uint64(0):
                    holds = False
                    break
            if holds:
                parent[c] = q


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shape:
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
    def bytes_kept(self) -> int:
        """What the tree itself holds."""
        return 4 * self.entries

    def bytes_used(self, rows: int = 1) -> int:
        """What a question needs beside it, for so many rows at a time."""
        return 8 * (self.cells * rows + self.widest)

    @property
    def bytes_one_way(self) -> int:
        """What messages one way need beside it: the largest clique, and all separators."""
        return 8 * (int(self.table_cells.max(initial=1)) + self.between)


def shape_tree(problem: Problem, triangulation: Triangulation, root: int = -1) -> Shape:
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
    return Shape(
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

    shape: Shape
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


def make_tree(shape: Shape) -> Tree:
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
