"""All marginals while only one table of a clique exists at a time.

Messages go to the roots and back (Shafer and Shenoy). The table of a clique is computed when it is needed, once in
each pass, and what is kept between the passes are the messages, which are smaller than the tables. If even the
messages are too many, some are kept and the others are sent again, piece by piece (Griewank's checkpoints). If too
many of them would have to be kept at once, messages only go to the roots, to several cliques as roots in turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayeskit._inference.clique_tree import RECORDS, Tree, TreeShape, grouped, guarded_shape, make_tree
from bayeskit._inference.kernels.tree_layout import CELLS, EACH
from bayeskit._inference.one_way import OneTable, forget_strides, message_strides, send_up, top_table
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.triangulation import Problem, Triangulation, sweep_from
from bayeskit._numba import kernel
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints

_U = np.uintp


@kernel
def sum_into(
    pot: Any,
    out: Any,
    base: int,
    first_axis: int,
    n_axes: int,
    axes: Any,
    sizes: Any,
    stride_of: Any,
    digits: Any,
) -> None:
    """Add the table at 0, whose axes are given, into a smaller one at ``base``; ``stride_of`` is the smaller one's.

    The opposite of ``multiply``, with the same runs.
    """
    last = first_axis + n_axes
    run = 1
    pace = stride_of[axes[last - 1]]
    while last > first_axis and stride_of[axes[last - 1]] == pace * run:
        run *= sizes[axes[last - 1]]
        last -= 1
    outer = last - first_axis
    runs = 1
    for a in range(outer):
        digits[a] = 0
        runs *= sizes[axes[first_axis + a]]
    here = base
    at = 0
    for _ in range(runs):
        if pace == 0:
            x = 0.0
            for u in range(_U(at), _U(at + run)):
                x += pot[u]
            out[here] += x
        else:
            for u in range(run):
                out[here + u * pace] += pot[at + u]
        at += run
        a = outer - 1
        while a >= 0:
            v = axes[first_axis + a]
            digits[a] += 1
            here += stride_of[v]
            if digits[a] < sizes[v]:
                break
            here -= stride_of[v] * digits[a]
            digits[a] = 0
            a -= 1


@kernel
def read_variable(pot: Any, cells: int, stride: int, size: int, out: Any, start: int) -> None:
    """Write the marginal of one variable from the table at 0."""
    for k in range(size):
        out[start + k] = 0.0
    at = _U(0)
    for _ in range(cells // (stride * size)):
        for k in range(size):
            x = 0.0
            for u in range(at, at + _U(stride)):
                x += pot[u]
            out[start + k] += x
            at += _U(stride)
    total = 0.0
    for k in range(size):
        total += out[start + k]
    for k in range(size):
        out[start + k] /= total


@kernel
def send_down(
    order: Any,
    parent: Any,
    edge: Any,
    factors: Any,
    layout: Any,
    tree: Any,
    soft: Any,
    work: Any,
    largest: Any,
    members: Any,
    member_start: Any,
    start: Any,
    between: Any,
    sums: Any,
    pot: Any,
    out: Any,
) -> None:
    """Send messages from these cliques to their children, and write the marginals of their variables; 0/0 = 0.

    In ``order``, every clique precedes its children. The message that a clique gets takes the place of the one it
    sent: by how much the table of the clique must be multiplied.
    """
    sizes, axes, axis_start, length, _, table_cells, separated = layout
    children, child_start, begin = tree
    stride_of, digits = work[2], work[3]
    seat = soft[3]
    for i in range(order.shape[0]):
        c = order[i]
        send_up(
            order[i : i + 1],
            parent,
            edge,
            factors,
            layout,
            tree,
            soft,
            work,
            largest,
            between,
            pot,
            False,
        )
        if parent[c] >= 0:
            at = _U(0)
            each = _U(edge[c, EACH])
            for s in range(_U(begin[c]), _U(begin[c] + edge[c, CELLS])):
                x = between[s]
                for u in range(at, at + each):
                    pot[u] *= x
                at += each
        else:
            total = 0.0
            for u in range(_U(table_cells[c])):
                total += pot[u]
            for u in range(_U(table_cells[c])):
                pot[u] /= total
        for k in range(member_start[c], member_start[c + 1]):
            v = members[k]
            read_variable(pot, seat[v, 1], seat[v, 2], seat[v, 3], out, start[v])
        for k in range(child_start[c], child_start[c + 1]):
            e = children[k]
            cells = edge[e, CELLS]
            for s in range(_U(cells)):
                sums[s] = 0.0
            message_strides(e, axes, axis_start, separated, sizes, stride_of)
            sum_into(pot, sums, 0, axis_start[c], length[c], axes, sizes, stride_of, digits)
            forget_strides(e, axes, axis_start, separated, stride_of)
            first = _U(begin[e])
            for s in range(_U(cells)):
                z = between[first + s]
                # The table was not divided together with its message: divide by the message as it was.
                between[first + s] = sums[s] / z / largest[e] if z > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class Passes:
    """How the messages of a part of the tree are kept: all of them, or those of ``cuts``, and the others by parts.

    Attributes
    ----------
    cliques : the part, children first
    tops : those of them whose parents are not in it, or that are roots
    cuts : the cliques whose messages are kept; empty if all are
    parts : what lies between the cuts, from the top down
    cells : the size of all messages kept at the same time
    """

    cliques: list[int]
    tops: frozenset[int]
    cuts: list[int]
    parts: list[Passes]
    cells: int


# With this many levels of checkpoints, the messages kept are four times the fourth root of all.
MOST_LEVELS = 3


class TwoPass:
    """The plan of two passes over a tree within a number of bytes. ``bytes`` is what they take."""

    def __init__(self, shape: TreeShape, max_memory: float) -> None:
        self._parent: list[int] = shape.parent.tolist()
        self._cells: list[int] = shape.edge[:, CELLS].tolist()
        fixed = 8 * (int(shape.table_cells.max(initial=1)) + shape.widest) + RECORDS * shape.n_cliques
        order = shape.one_way.order.tolist()
        roots = frozenset(c for c in order if self._parent[c] < 0)
        found = None
        least = math.inf
        for levels in range(MOST_LEVELS + 1):
            found, least = self._passes(order, roots, (max_memory - fixed) / 8, levels)
            if found is not None:
                break
        self.passes = found
        self.bytes = fixed + 8 * (least if found is None else found.cells)

    def _passes(
        self, cliques: list[int], tops: frozenset[int], budget: float, levels: int
    ) -> tuple[Passes | None, float]:
        """Return how to keep the messages of a part within a number of cells, and the least number that was found."""
        inner = sum(self._cells[c] for c in cliques if c not in tops)
        if inner <= budget:
            return Passes(cliques, tops, [], [], inner), inner
        if levels == 0:
            return None, inner
        least = float(inner)
        size = inner / 2
        while size >= 1:
            cuts, parts = self._cut(cliques, tops, size)
            held = sum(self._cells[c] for c in cuts)
            waiting = max((b + self._cells[c] for c, b in self._stack(cliques, tops, set(cuts))), default=0)
            found = [self._passes(part, top, budget - held, levels - 1) for part, top in parts]
            needed = held + max([waiting, *(cells for _, cells in found)])
            least = min(least, needed)
            if needed <= budget:
                made = [one for one, _ in found if one is not None]
                return Passes(cliques, tops, cuts, made, int(needed)), needed
            if held > budget or len(cuts) >= len(cliques) - len(tops):
                break
            size /= 2
        return None, least

    def _cut(
        self, cliques: list[int], tops: frozenset[int], size: float
    ) -> tuple[list[int], list[tuple[list[int], frozenset[int]]]]:
        """Cut a part where the messages below reach a size; return the cuts, and the parts from the top down."""
        below = dict.fromkeys(cliques, 0)
        cuts = []
        for c in cliques:
            total = below[c] + self._cells[c]
            if c in tops:
                continue
            if total > size:
                cuts.append(c)
            else:
                below[self._parent[c]] += total
        cut = set(cuts)
        part_of: dict[int, int] = {}
        for c in reversed(cliques):
            part_of[c] = c if c in cut else -1 if c in tops else part_of[self._parent[c]]
        members: dict[int, list[int]] = {}
        for c in reversed(cliques):
            members.setdefault(part_of[c], []).append(c)
        return cuts, [(found[::-1], tops if key < 0 else frozenset([key])) for key, found in members.items()]

    def _stack(self, cliques: list[int], tops: frozenset[int], cuts: set[int]) -> Iterator[tuple[int, int]]:
        """Yield where on a stack the message of each clique that is not cut begins.

        A clique follows its descendants at once, so the messages that it absorbs are on the top of the stack.
        """
        stack: list[tuple[int, int]] = []
        for c in cliques:
            at = stack[-1][1] + self._cells[stack[-1][0]] if stack else 0
            while stack and self._parent[stack[-1][0]] == c:
                at = stack.pop()[1]
            if c not in tops and c not in cuts:
                stack.append((c, at))
                yield c, at

    def places(self, passes: Passes, at: int, begin: Ints) -> int:
        """Write where the messages of a part begin, from a place on; return where those of its parts may begin."""
        cuts = set(passes.cuts)
        after = at
        for c in passes.cuts if passes.parts else passes.cliques:
            if c not in passes.tops:
                begin[c] = after
                after += self._cells[c]
        if passes.parts:
            for c, place in self._stack(passes.cliques, passes.tops, cuts):
                begin[c] = after + place
        return after


def all_margins(tree: Tree, plan: TwoPass, p: Potentials, evidence: Evidence) -> tuple[float, Floats]:
    """Return the log of the total, and the marginals of the tree's variables; NaN if logs are needed."""
    shape = tree.shape
    one = OneTable.of(tree, p, evidence)
    out = np.empty(tree.n_marginals)
    passes = plan.passes
    if one.taken == -math.inf or passes is None:
        return one.taken, out
    way = shape.one_way
    begin = np.zeros(shape.n_cliques, np.int64)
    members, member_start = grouped(tree.seat_clique, shape.n_cliques)
    between, pot = np.empty(passes.cells), np.empty(int(shape.table_cells.max(initial=1)))
    sums = np.empty(shape.widest)
    messages = (way.children, way.child_start, begin)
    shared = (shape.parent, shape.edge, one.factors, one.layout, messages, one.soft, one.work, one.largest)
    after = plan.places(passes, 0, begin)
    log_p = one.taken + send_up(way.order, *shared, between, pot, True)
    if not log_p > -math.inf:
        return log_p, out
    waiting = [(passes, after, True)]
    while waiting:
        part, after, sent = waiting.pop()
        if not sent:
            after = plan.places(part, after, begin)
            again = [c for c in part.cliques if c not in part.tops]
            send_up(np.array(again, np.int64), *shared, between, pot, True)
        if part.parts:
            waiting += [(inner, after, False) for inner in reversed(part.parts)]
            continue
        down = np.array(part.cliques[::-1], np.int64)
        send_down(down, *shared, members, member_start, tree.start, between, sums, pot, out)
    return log_p, out


# More passes than this are not made. So many cliques are tried as roots in each of so many orders.
MOST_PASSES, MOST_TRIED, MOST_ORDERS = 128, 256, 4


class Root(NamedTuple):
    """A clique of a tree as its root: it is where ``eliminated`` is eliminated, and ``members`` are its variables."""

    triangulation: Triangulation
    eliminated: int
    members: list[int]


def roots_for_all(
    problem: Problem, triangulation: Triangulation, p: Potentials, max_memory: float
) -> tuple[list[Root], set[int]] | None:
    """Return roots that contain the variables between them, the most new ones first, and the variables left.

    None if they are too many. In the middle of a sweep over the graph, messages come from both sides, so a pass to
    there needs one message more than log P. If that does not fit, sweeps that begin with the variables left are
    tried: on a square grid, a sweep from corner to corner leaves those on the diagonal between the other two.
    """
    degree = np.unpackbits(problem.adjacency.view(np.uint8), axis=1).sum(axis=1)
    left = set(range(len(problem.sizes)))
    untried, found = set(left), list[Root]()
    refusal: TooLarge | None = None
    for _ in range(MOST_ORDERS):
        with suppress(TooLarge):
            tree = make_tree(guarded_shape(p, problem, triangulation, max_memory, one_way=True))
            cliques = {c: set(tree.axes_of(c)) for c in range(tree.shape.n_cliques)}
            for _ in range(min(MOST_TRIED, len(cliques))):
                clique = max(cliques, key=lambda c: len(cliques[c] & left))
                members = cliques.pop(clique)
                if not members & left:
                    break
                if len(found) == MOST_PASSES:
                    return None
                inside = tree.axes_of(clique)
                root = next(v for v in inside if int(tree.shape.owner[tree.shape.when[v]]) == clique)
                try:
                    guarded_shape(p, problem, triangulation, max_memory, root=root, one_way=True)
                except TooLarge as error:
                    if refusal is None or error.bytes_needed > refusal.bytes_needed:
                        refusal = error.with_traceback(None)  # its frames hold shapes
                    continue
                found.append(Root(triangulation, root, inside))
                left -= members
        if not left & untried:
            break
        start = min(left & untried, key=lambda v: (degree[v], v))
        untried.remove(start)
        triangulation = sweep_from(problem, start)
    if len(found) + int(problem.sizes[list(left)].sum()) <= MOST_PASSES:
        return found, left
    if refusal is not None:
        raise refusal
    return None


def all_margins_by_roots(
    tree: Tree, triangulation: Triangulation, p: Potentials, evidence: Evidence, max_memory: float
) -> tuple[float, Floats] | None:
    """Return the same as :func:`all_margins` from one pass to each of a few roots; None if they are too many.

    A variable without a root has a pass for each state: log P of the evidence and that state.
    """
    problem = tree.shape.problem
    log_p, out = -math.inf, np.empty(tree.n_marginals)
    plan = roots_for_all(problem, triangulation, p, max_memory)
    if plan is None:
        return None
    roots, left = plan
    for root in roots:
        # A function of its own, so that one table is gone before the next is made.
        log_p = _margins_of(root, tree, p, evidence, max_memory, out)
        if not log_p > -math.inf:
            return log_p, out
    for v in left:
        name, logs = int(problem.variables[v]), []
        for state in np.eye(int(problem.sizes[v])):
            weights = state * evidence.likelihoods.get(name, 1.0)
            soft = Evidence(evidence.codes, {**evidence.likelihoods, name: weights})
            logs.append(top_table(tree, p, [], soft, max_memory)[0] if weights.any() else -math.inf)
        margin = np.exp(np.array(logs) - max(logs))
        out[tree.start[v] : tree.start[v + 1]] = margin / margin.sum()
    return log_p, out


def _margins_of(
    root: Root, tree: Tree, p: Potentials, evidence: Evidence, max_memory: float, out: Floats
) -> float:
    """Write the marginals of the variables of a clique, and return log P."""
    problem = tree.shape.problem
    shape = guarded_shape(p, problem, root.triangulation, max_memory, root=root.eliminated, one_way=True)
    way = make_tree(shape)
    names = problem.variables[root.members].tolist()
    log_p, table = top_table(way, p, names, evidence, max_memory)
    if log_p > -math.inf:
        top = way.top_of(names)
        axes = way.axes_of(top)
        cells = table[: int(way.shape.table_cells[top])].reshape(problem.sizes[axes])
        total = float(cells.sum())
        for axis, v in enumerate(axes):
            margin = cells.sum(axis=tuple(a for a in range(len(axes)) if a != axis)) / total
            out[tree.start[v] : tree.start[v + 1]] = margin
    return log_p
