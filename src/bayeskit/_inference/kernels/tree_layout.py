"""Kernels that connect cliques into a tree and lay it out in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit._intrinsics import lowest_bit, ones
from bayeskit._numba import kernel

# Columns of an edge record. CHILD: start of the child's table; CELLS: cells of the separator; EACH: the
# child's cells for each of them. PARENT: start of the parent's table. It is cut into RUNS pieces of BLOCK ·
# RUN cells, with one map entry each. If WALKS is set, the separator advances along a run and starts again
# with each run of a piece; otherwise it is constant along a run and advances from run to run. Then MAP: start
# of the map; SEPARATOR: start of the separator's table; PARENT_CLIQUE: the parent.
CHILD, CELLS, EACH, PARENT, RUNS, BLOCK, RUN, WALKS, MAP, SEPARATOR, PARENT_CLIQUE = range(11)
N_COLUMNS = 11


@kernel
def grow_tree(
    order: Any, cliques: Any, when: Any, owner: Any, above: Any, count: Any, head: Any, tail: Any
) -> int:
    """Group the steps of an elimination into maximal cliques; return their number.

    Clique c has the variables of ``cliques[head[c]]``. Step k belongs to clique ``owner[k]``, and its next
    variable is eliminated at step ``above[k]`` (−1: none). The separator between c and the rest is
    ``cliques[tail[c]]`` without the variable of that step.
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
        # The next clique is a subset of this one: its variables join.
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
    """Find the parent of every clique, with clique ``root`` (if ≥ 0) as the root of its tree; parents come first.

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
    # Children by parent: a list for each, then a traversal from the roots.
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
    """List the cliques of each variable, and compute the number of cells of each clique."""
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
                # Filled from the end; afterwards, each list starts where it should.
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
    """Attach each clique to the smallest earlier clique that contains its separator.

    A message passes over the whole table of the parent, whatever the size of the separator. Any clique that
    contains the separator and is not a descendant can be the parent, so ``sequence`` still has parents first.
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


@kernel
def lay_out(
    n_cliques: int,
    order: Any,
    cliques: Any,
    sizes: Any,
    head: Any,
    parent: Any,
    edge_step: Any,
    sequence: Any,
    axes: Any,
    axis_start: Any,
    offset: Any,
    length: Any,
    separated: Any,
    table_cells: Any,
    edge: Any,
) -> Any:
    """Order the axes of every clique: first its separator, in the order of its parent; then the rest.

    So the child's side of a message consists of runs of one length, and the parent's side has the longest
    possible runs. Returns the cells of all tables, including separators, the length of all maps, and the
    cells of the largest separator.
    """
    one = np.uint64(1)
    at = 0
    cells = 0
    for i in range(n_cliques):
        c = sequence[i]
        axis_start[c] = at
        step = edge_step[c]
        separator_cells = 1
        if step >= 0:
            p = parent[c]
            gone = order[step]
            for a in range(axis_start[p], axis_start[p] + length[p]):
                v = axes[a]
                if v != gone and (cliques[step, v >> 6] >> np.uint64(v & 63)) & one:
                    axes[at] = v
                    separator_cells *= sizes[v]
                    at += 1
        own = axis_start[c]
        first_rest = at
        separated[c] = at - own
        table = separator_cells
        for w in range(cliques.shape[1]):
            bits = cliques[head[c], w]
            while bits != np.uint64(0):
                v = w * 64 + lowest_bit(bits)
                bits &= bits - one
                inside = False
                for a in range(own, first_rest):
                    if axes[a] == v:
                        inside = True
                if not inside:
                    axes[at] = v
                    table *= sizes[v]
                    at += 1
        length[c] = at - own
        offset[c] = cells
        table_cells[c] = table
        edge[c, CHILD] = cells
        edge[c, CELLS] = separator_cells if step >= 0 else 0
        edge[c, EACH] = table // separator_cells
        cells += table
    entries = 0
    largest = 1
    for i in range(n_cliques):
        c = sequence[i]
        if parent[c] < 0:
            continue
        p = parent[c]
        step = edge_step[c]
        gone = order[step]
        start = axis_start[p]
        q = start + length[p]
        v = axes[q - 1]
        walks = v != gone and (cliques[step, v >> 6] >> np.uint64(v & 63)) & one == one
        run = 1
        block = 1
        in_block = False
        while q > start:
            v = axes[q - 1]
            inside = v != gone and (cliques[step, v >> 6] >> np.uint64(v & 63)) & one == one
            if inside != (walks != in_block):
                if in_block:
                    break
                in_block = True
            if in_block:
                block *= sizes[v]
            else:
                run *= sizes[v]
            q -= 1
        runs = 1
        for a in range(start, q):
            runs *= sizes[axes[a]]
        edge[c, PARENT] = offset[p]
        edge[c, RUNS] = runs
        edge[c, BLOCK] = block
        edge[c, RUN] = run
        edge[c, WALKS] = 1 if walks else 0
        edge[c, MAP] = entries
        edge[c, SEPARATOR] = cells
        edge[c, PARENT_CLIQUE] = p
        cells += edge[c, CELLS]
        entries += runs
        largest = max(largest, edge[c, CELLS])
    return cells, entries, largest


@kernel
def write_maps(
    n_cliques: int,
    sizes: Any,
    parent: Any,
    axes: Any,
    axis_start: Any,
    separated: Any,
    edge: Any,
    digits: Any,
    strides: Any,
    maps: Any,
) -> None:
    """Write the separator cell at which each piece of the parent starts."""
    for c in range(n_cliques):
        p = parent[c]
        if p < 0:
            continue
        start = axis_start[p]
        outer = 0
        cells = 1
        while cells < edge[c, RUNS]:
            cells *= sizes[axes[start + outer]]
            outer += 1
        for a in range(outer):
            v = axes[start + a]
            stride = 0
            step = 1
            for s in range(axis_start[c] + separated[c] - 1, axis_start[c] - 1, -1):
                if axes[s] == v:
                    stride = step
                step *= sizes[axes[s]]
            strides[a] = stride
            digits[a] = 0
        here = 0
        base = edge[c, MAP]
        for r in range(edge[c, RUNS]):
            maps[base + r] = here
            a = outer - 1
            while a >= 0:
                digits[a] += 1
                here += strides[a]
                if digits[a] < sizes[axes[start + a]]:
                    break
                here -= strides[a] * digits[a]
                digits[a] = 0
                a -= 1


@kernel
def find_homes(
    n_cliques: int,
    sizes: Any,
    axes: Any,
    axis_start: Any,
    length: Any,
    separated: Any,
    offset: Any,
    table_cells: Any,
    edge: Any,
    seat: Any,
    seat_clique: Any,
    home: Any,
) -> None:
    """Find the smallest clique of each variable, and the smallest table, including separators.

    A record is (start of the table, its cells, the variable's stride, its states).
    """
    for v in range(seat.shape[0]):
        seat[v, 1] = 0
        home[v, 1] = 0
    for c in range(n_cliques):
        stride = 1
        for a in range(axis_start[c] + length[c] - 1, axis_start[c] - 1, -1):
            v = axes[a]
            if seat[v, 1] == 0 or table_cells[c] < seat[v, 1]:
                seat[v, 0] = offset[c]
                seat[v, 1] = table_cells[c]
                seat[v, 2] = stride
                seat[v, 3] = sizes[v]
                seat_clique[v] = c
            stride *= sizes[v]
    for v in range(seat.shape[0]):
        for k in range(4):
            home[v, k] = seat[v, k]
    for c in range(n_cliques):
        stride = 1
        for a in range(axis_start[c] + separated[c] - 1, axis_start[c] - 1, -1):
            v = axes[a]
            if edge[c, CELLS] < home[v, 1]:
                home[v, 0] = edge[c, SEPARATOR]
                home[v, 1] = edge[c, CELLS]
                home[v, 2] = stride
                home[v, 3] = sizes[v]
            stride *= sizes[v]


@kernel
def stack_messages(
    parent: Any,
    sequence: Any,
    cells: Any,
    children: Any,
    child_start: Any,
    peak: Any,
    order: Any,
    begin: Any,
    top: int,
) -> int:
    """Order the cliques so that few messages wait at the same time; return the cells of those that do.

    The child whose subtree takes most beyond its own message is visited first (Sethi and Ullman's rule for
    registers), so ``children`` are sorted. ``sequence`` has parents first; ``order`` gets children first, with
    the root ``top`` (−1: any) last, and ``begin`` the place of each message on the stack.
    """
    n = parent.shape[0]
    for i in range(n - 1, -1, -1):
        c = sequence[i]
        first, end = child_start[c], child_start[c + 1]
        for k in range(first + 1, end):
            moved = children[k]
            beyond = peak[moved] - cells[moved]
            j = k
            while j > first and peak[children[j - 1]] - cells[children[j - 1]] < beyond:
                children[j] = children[j - 1]
                j -= 1
            children[j] = moved
        waiting = 0
        most = cells[c]
        for k in range(first, end):
            most = max(most, waiting + peak[children[k]])
            waiting += cells[children[k]]
        peak[c] = most
    # How many cliques a subtree has, kept in ``begin`` until the places are known.
    for c in range(n):
        begin[c] = 1
    for i in range(n - 1, -1, -1):
        if parent[sequence[i]] >= 0:
            begin[parent[sequence[i]]] += begin[sequence[i]]
    largest = 0
    place = n if top < 0 else n - begin[top]  # where the subtree of the next root ends
    for i in range(n):
        c = sequence[i]
        if parent[c] < 0:
            largest = max(largest, peak[c])
            peak[c] = n if c == top else place  # where the subtree of a clique ends, from here on
            order[peak[c] - 1] = c
            place -= 0 if c == top else begin[c]
        at = peak[c] - begin[c]
        for k in range(child_start[c], child_start[c + 1]):
            at += begin[children[k]]
            peak[children[k]] = at
            order[at - 1] = children[k]
    for i in range(n):
        c = sequence[i]
        if parent[c] < 0:
            begin[c] = 0
        at = begin[c]
        for k in range(child_start[c], child_start[c + 1]):
            begin[children[k]] = at
            at += cells[children[k]]
    return largest
