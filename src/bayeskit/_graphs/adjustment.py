"""Which nodes to adjust for: back-door sets, front-door sets and instruments, read from the arrows alone.

Sets are listed smallest first. Each search looks for a smallest cut of a graph, and divides what is left: without
the first node of the cut; with the first, without the second; and so on (Lawler).
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from itertools import count

from bayeskit._graphs.dag import Dag, ancestors, descendants, moral_neighbours
from bayeskit._graphs.separation import PathJudge, d_separated, open_path, reachable
from bayeskit._schema import Name

Nodes = frozenset[Name]
_Neighbours = Mapping[Name, Collection[Name]]
NOTHING: Nodes = frozenset()


def cut_arcs(dag: Dag, into: Iterable[Name] = (), out_of: Iterable[Name] = ()) -> Dag:
    """Return the graph without the arcs into some nodes, and without those out of some.

    Examples
    --------
    >>> dag = Dag.of({"b": ["a"], "c": ["b"]}, "abc")
    >>> cut_arcs(dag, into="b").arcs, cut_arcs(dag, out_of="b").arcs
    ((('b', 'c'),), (('a', 'b'),))
    """
    heads, tails = set(into), set(out_of)
    parents = (
        () if node in heads else tuple(p for p in above if p not in tails)
        for node, above in zip(dag.nodes, dag.parents, strict=True)
    )
    return Dag(dag.nodes, tuple(parents))


# -- back door ---------------------------------------------------------------------------------


def back_door_sets(
    dag: Dag, x: Iterable[Name], y: Iterable[Name], hidden: Iterable[Name] = ()
) -> Iterator[Nodes]:
    r"""Yield the minimal back-door sets for the effect of ``x`` on ``y``, smallest first.

    A back-door set has no descendant of ``x``, and blocks every path between ``x`` and ``y`` in the graph without
    the arcs out of ``x``. Then

    .. math:: P(y \mid do(x)) = \sum_z P(y \mid x, z) P(z)

    Examples
    --------
    >>> dag = Dag.of({"x": ["a"], "b": ["a"], "y": ["x", "b"]}, "abxy")
    >>> [sorted(found) for found in back_door_sets(dag, "x", "y")]
    [['a'], ['b']]

    References
    ----------
    J. Pearl, *Causality* (2009), definition 3.3.1; B. van der Zander, M. Liśkiewicz and J. Textor, "Separators and
    adjustment sets in causal graphs" (2019).
    """
    x, y = tuple(x), tuple(y)
    allowed = set(dag.nodes).difference(x, y, hidden, descendants(dag, *x))
    return separators(cut_arcs(dag, out_of=x), x, y, allowed)


def separators(
    dag: Dag, a: Collection[Name], b: Collection[Name], allowed: Collection[Name]
) -> Iterator[Nodes]:
    """Yield the minimal sets of allowed nodes that d-separate ``a`` from ``b``, smallest first.

    They contain only ancestors of ``a`` or ``b``, and are the minimal cuts of the moral graph over these.

    Examples
    --------
    >>> chain = Dag.of({"b": ["a"], "c": ["b"], "d": ["c"]}, "abcd")
    >>> [sorted(found) for found in separators(chain, "a", "d", "bc")]
    [['b'], ['c']]
    """
    near = _moral(dag, a, b)
    may_cut = frozenset(allowed).intersection(near)

    def smallest(included: Nodes, excluded: Nodes) -> Nodes | None:
        if not _each_is_needed(near, a, b, included):
            return None
        return smallest_cut(near, a, b, may_cut - included - excluded, included)

    for found in _smallest_first(smallest):
        if _each_is_needed(near, a, b, found):
            yield found


def _moral(dag: Dag, a: Collection[Name], b: Collection[Name]) -> dict[Name, tuple[Name, ...]]:
    kept = {*a, *b, *ancestors(dag, *a, *b)}
    above = {node: dag.parents_of(node) for node in dag.nodes if node in kept}
    return moral_neighbours(Dag(tuple(above), tuple(above.values())))


def _each_is_needed(near: _Neighbours, a: Collection[Name], b: Collection[Name], cut: Nodes) -> bool:
    """Return whether each node of a cut can be reached from both sides without passing another one."""
    sides = [_beyond(near, side, cut) for side in (a, b)]
    return all(not side.isdisjoint(near[node]) for node in cut for side in sides)


def _beyond(near: _Neighbours, sources: Collection[Name], closed: Set[Name]) -> set[Name]:
    """Return the sources and what can be reached from them without entering closed nodes."""
    found, todo = set(sources), list(sources)
    while todo:
        for other in near[todo.pop()]:
            if other not in found and other not in closed:
                found.add(other)
                todo.append(other)
    return found


# -- front door --------------------------------------------------------------------------------


def front_door_sets(
    dag: Dag, x: Iterable[Name], y: Iterable[Name], hidden: Iterable[Name] = ()
) -> Iterator[Nodes]:
    r"""Yield the minimal front-door sets for the effect of ``x`` on ``y``, smallest first.

    A front-door set z cuts every directed path from ``x`` to ``y``, no back-door path from ``x`` to z is open, and
    ``x`` blocks every back-door path from z to ``y``. Then

    .. math:: P(y \mid do(x)) = \sum_z P(z \mid x) \sum_{x'} P(y \mid x', z) P(x')

    Examples
    --------
    >>> dag = Dag.of({"smoking": ["u"], "tar": ["smoking"], "cancer": ["tar", "u"]}, ["u", "smoking", "tar", "cancer"])
    >>> [sorted(found) for found in front_door_sets(dag, ["smoking"], ["cancer"], hidden=["u"])]
    [['tar']]

    References
    ----------
    J. Pearl, *Causality* (2009), definition 3.3.3; H. Jeong, J. Tian and E. Bareinboim, "Finding and listing
    front-door adjustment sets" (2022).
    """
    search = _FrontDoor(dag, tuple(x), tuple(y), hidden)
    for found in _smallest_first(search.smallest, search.repairs):
        if search.is_minimal(found):
            yield found


class _FrontDoor:
    """The three conditions of a front-door set, for one cause and one outcome."""

    def __init__(
        self, dag: Dag, x: tuple[Name, ...], y: tuple[Name, ...], hidden: Iterable[Name] = ()
    ) -> None:
        self._dag, self._x, self._y = dag, x, y
        confounded = reachable(cut_arcs(dag, out_of=x), x)
        self._allowed = frozenset(dag.nodes).difference(x, y, hidden, confounded)

    def largest(self, nodes: Nodes) -> Nodes:
        """Return the largest part of some nodes whose back-door paths to y are blocked by x.

        A node with an open path stays open in any part that it belongs to, because fewer arcs are cut then.
        """
        while linked := nodes & reachable(cut_arcs(self._dag, out_of=nodes), self._y, self._x):
            nodes -= linked
        return nodes

    def cuts(self, nodes: Nodes) -> bool:
        return _beyond(self._dag.children, self._x, nodes).isdisjoint(self._y)

    def is_minimal(self, nodes: Nodes) -> bool:
        return not any(self.cuts(self.largest(nodes - {node})) for node in nodes)

    def smallest(self, included: Nodes, excluded: Nodes) -> Nodes | None:
        may_cut = self.largest(self._allowed - excluded)
        if not included <= may_cut:
            return None
        return smallest_cut(self._dag.children, self._x, self._y, may_cut - included, included)

    def repairs(self, nodes: Nodes, excluded: Nodes) -> list[Name] | None:
        """Return None for a front-door set, else nodes of which any larger one needs at least one.

        Nodes are added to cut an open path to y: one on the path, or one below a head-to-head node of it.
        """
        open_to = nodes - self.largest(nodes)
        if not open_to:
            return None
        cut = cut_arcs(self._dag, out_of=nodes)
        nodes_of = open_path(cut, open_to, self._y, self._x)
        assert nodes_of is not None
        turns = PathJudge(cut, self._x).path(nodes_of).turns
        below = descendants(cut, *(turn.node for turn in turns if turn.kind == "head-to-head"))
        free = self._allowed - excluded - nodes
        return [node for node in self._dag.nodes if node in free and (node in nodes_of or node in below)]


# -- instruments -------------------------------------------------------------------------------


def instruments(
    dag: Dag, x: Name, y: Name, hidden: Iterable[Name] = ()
) -> Iterator[tuple[Name, tuple[Name, ...]]]:
    """Yield (instrument, nodes to observe with it) for the effect of ``x`` on ``y``, those that need fewest first.

    An instrument is no descendant of ``x`` and depends on it. Without the arcs into ``x`` it is independent of
    ``y``. Both hold when the nodes to observe are observed, which are ancestors of the instrument or of ``y`` and
    no descendants of ``x``.

    Examples
    --------
    >>> dag = Dag.of({"x": ["z", "u"], "y": ["x", "u"]}, "uzxy")
    >>> list(instruments(dag, "x", "y", hidden="u"))
    [('z', ())]

    References
    ----------
    J. Pearl, *Causality* (2009), definition 7.4.1; B. van der Zander, J. Textor and M. Liśkiewicz, "Efficiently
    finding conditional instruments for causal inference" (2015).
    """
    free = set(dag.nodes).difference([x, y], hidden, descendants(dag, x))
    cut = cut_arcs(dag, into=[x])
    found = []
    for node in (node for node in dag.nodes if node in free):
        near = _moral(cut, [node], [y])
        may_cut = free.intersection(near) - {node}
        for given in (smallest_cut(near, [node], [y], may_cut), _cut_near(near, node, y, may_cut)):
            if given is not None and not d_separated(dag, [node], [x], given):
                found.append((node, tuple(sorted(given, key=dag.position.__getitem__))))
                break
    return iter(sorted(found, key=lambda each: len(each[1])))


def _cut_near(near: _Neighbours, a: Name, b: Name, may_cut: Set[Name]) -> Nodes | None:
    """Return the minimal cut that is nearest to ``b``: whatever any minimal cut leaves joined to ``a``, it does too."""
    inner = _beyond(near, [b], may_cut)
    if a in inner:
        return None
    first = {other for node in inner for other in near[node]} - inner
    outer = _beyond(near, [a], first)
    return frozenset(node for node in first if not outer.isdisjoint(near[node]))


# -- cuts --------------------------------------------------------------------------------------


def _smallest_first(
    smallest: Callable[[Nodes, Nodes], Nodes | None],
    repairs: Callable[[Nodes, Nodes], list[Name] | None] = lambda nodes, excluded: None,
) -> Iterator[Nodes]:
    """Yield sets of nodes that fulfil a condition, smallest first: all minimal ones, and some others.

    ``smallest(included, excluded)`` returns the nodes to add to the included ones, as few as possible, or None if
    no set has the first without the second. ``repairs(nodes, excluded)`` returns None if the nodes are such a set,
    else nodes of which every larger set needs one.
    """
    order = count()
    heap: list[tuple[int, int, Nodes, Nodes, Nodes | None]] = [(0, next(order), NOTHING, NOTHING, None)]
    while heap:
        bound, _, included, excluded, cut = heapq.heappop(heap)
        if cut is None:
            cut = smallest(included, excluded)
            if cut is not None:
                size = len(included) + len(cut)
                heapq.heappush(heap, (max(size, bound), next(order), included, excluded, cut))
            continue
        nodes = included | cut
        missing = repairs(nodes, excluded)
        if missing is None:
            yield nodes
        for node in sorted(cut, key=repr):
            heapq.heappush(heap, (bound, next(order), included, excluded | {node}, None))
            included |= {node}
        for node in missing or ():
            heapq.heappush(heap, (len(nodes) + 1, next(order), nodes | {node}, excluded, None))
            excluded |= {node}


def smallest_cut(
    near: _Neighbours,
    sources: Collection[Name],
    targets: Collection[Name],
    may_cut: Set[Name],
    gone: Set[Name] = NOTHING,
) -> Nodes | None:
    """Return the fewest nodes that cut every path from a source to a target, those nearest to the sources.

    Parameters
    ----------
    near : node → the nodes that a path may go on to
    may_cut : the nodes that may be part of the cut
    gone : nodes that are cut already

    Returns
    -------
    The nodes, as many as there are paths without a common node; None if no cut exists.

    Examples
    --------
    >>> arcs = {"a": "bc", "b": "d", "c": "d", "d": "e", "e": ""}
    >>> sorted(smallest_cut(arcs, "a", "e", set("bcd"))), sorted(smallest_cut(arcs, "a", "e", set("bc")))
    (['d'], ['b', 'c'])
    """
    if not _beyond(near, sources, may_cut | gone).isdisjoint(targets):
        return None
    flow = _NodeFlow(near, frozenset(sources), frozenset(targets), may_cut, gone)
    while flow.grow():
        pass
    entered = {node for node, left in flow.visits if not left}
    return frozenset(node for node in entered & may_cut if (node, True) not in flow.visits)


# A node, and whether it is left (or only entered).
_Place = tuple[Name, bool]


class _NodeFlow:
    """Paths from sources to targets of which no two share a node that may be cut (Ford and Fulkerson)."""

    def __init__(
        self,
        near: _Neighbours,
        sources: Nodes,
        targets: Nodes,
        may_cut: Set[Name],
        gone: Set[Name],
    ) -> None:
        self._near, self._sources, self._targets, self._may_cut = near, sources, targets, may_cut
        self._closed = gone | sources
        self._through: Counter[Name] = Counter()
        self._into: dict[Name, Counter[Name]] = {}
        self.visits: dict[_Place, _Place | None] = {}

    def grow(self) -> bool:
        """Add a path, rerouting others; return whether there was one. ``visits`` are the places reached."""
        self.visits = {(node, True): None for node in self._sources}
        todo = deque(self.visits)
        while todo:
            place = todo.popleft()
            for step in self._steps(*place):
                if step in self.visits:
                    continue
                self.visits[step] = place
                if step[0] in self._targets:
                    self._add(step)
                    return True
                todo.append(step)
        return False

    def _steps(self, node: Name, leaving: bool) -> Iterator[_Place]:
        if leaving:
            yield from ((other, False) for other in self._near[node] if other not in self._closed)
            if self._through[node]:
                yield node, False
        else:
            if node not in self._may_cut or not self._through[node]:
                yield node, True
            yield from ((other, True) for other, n in self._into.get(node, {}).items() if n)

    def _add(self, last: _Place) -> None:
        place, before = last, self.visits[last]
        while before is not None:
            (a, leaving), (b, _) = before, place
            if a == b:
                self._through[a] += -1 if leaving else 1
            elif leaving:
                self._into.setdefault(b, Counter())[a] += 1
            else:
                self._into[a][b] -= 1
            place, before = before, self.visits[before]
