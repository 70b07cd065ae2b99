"""The paths between nodes, each judged: which nodes stand on it, how, and which of them block it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal

from bayeskit.graphs.dag import Dag
from bayeskit.graphs.separation import open_path
from bayeskit.graphs.simple_paths import Effort, simple_paths
from bayeskit.schema import Name
from bayeskit.visible import visible

Kind = Literal["tail-to-tail", "head-to-tail", "head-to-head"]

# How many nodes a search for paths may look at: about a second.
_EFFORT = 1_000_000


def paths_between(
    dag: Dag, a: Iterable[Name], b: Iterable[Name], given: Iterable[Name] = (), max_paths: int = 50
) -> tuple[tuple[Path, ...], bool]:
    """Return the paths between nodes of ``a`` and of ``b``, the shortest first, and whether these are all.

    Where ``a`` and ``b`` are not d-separated an open path is always among them.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"], "sprinkler": ["rain"]}, ["rain", "sprinkler", "wet"])
    >>> paths, complete = paths_between(dag, ["rain"], ["sprinkler"])
    >>> [str(path) for path in paths], complete
    (['rain → sprinkler', 'rain → wet ← sprinkler'], True)
    """
    a, b, given = tuple(a), tuple(b), tuple(given)
    judge = Judge(dag, given)
    near = {
        node: sorted((*parents, *dag.children[node]), key=dag.position.__getitem__)
        for node, parents in zip(dag.nodes, dag.parents)
    }
    effort = Effort(max(_EFFORT, 20 * len(near)))
    every = heapq.merge(*(simple_paths(near, x, y, effort) for x in a for y in b), key=len)
    found = [judge.path(nodes) for nodes in islice(every, max_paths + 1)]
    complete = len(found) <= max_paths and not effort.is_spent
    found = found[:max_paths]
    if not complete and all(path.blocked for path in found):
        opened = open_path(dag, a, b, given)
        if opened is not None:
            found = [judge.path(opened), *found[: max_paths - 1]]
    return tuple(found), complete


@dataclass(frozen=True)
class Turn:
    """A node inside a path, and whether the path gets past it.

    Attributes
    ----------
    node : the node
    kind : "tail-to-tail" (← node →), "head-to-tail" (→ node →, ← node ←) or "head-to-head" (→ node ←)
    blocks : bool
    is_observed : bool
    observed_below : an observed descendant of a head-to-head node that is not observed itself, else None
    """

    node: Name
    kind: Kind
    blocks: bool
    is_observed: bool
    observed_below: Name | None = None

    @property
    def reason(self) -> str:
        """Why it blocks, or does not."""
        if self.kind != "head-to-head":
            return "is observed" if self.is_observed else "is not observed"
        if self.is_observed:
            return "is observed"
        if self.observed_below is not None:
            return f"is not observed, but its descendant {visible(self.observed_below)} is"
        return "is not observed, nor is any descendant of it"


@dataclass(frozen=True)
class Path:
    """Nodes one after the other, the direction of the arcs between them, and what each inner node does.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"]}, ["rain", "sprinkler", "wet"])
    >>> path = Judge(dag).path(("rain", "wet", "sprinkler"))
    >>> str(path), path.blocked, path.turns[0].reason
    ('rain → wet ← sprinkler', True, 'is not observed, nor is any descendant of it')
    """

    nodes: tuple[Name, ...]
    forward: tuple[bool, ...]
    turns: tuple[Turn, ...]

    @property
    def blocked(self) -> bool:
        """Whether one node at least blocks it."""
        return any(turn.blocks for turn in self.turns)

    def __str__(self) -> str:
        arrows = [" → " if forward else " ← " for forward in self.forward]
        after = "".join(f"{arrow}{node}" for arrow, node in zip(arrows, self.nodes[1:]))
        return visible(f"{self.nodes[0]}{after}")


class Judge:
    """Tells of any path of a graph whether it is blocked when some nodes are observed."""

    def __init__(self, dag: Dag, given: Iterable[Name] = ()) -> None:
        self._dag = dag
        self._given = frozenset(given)
        self._arcs = frozenset(dag.arcs)

    @cached_property
    def _observed_below(self) -> dict[Name, Name]:
        """An observed node at or below each node that has one, the nearest."""
        found = {node: node for node in self._dag.nodes if node in self._given}
        todo = list(found)
        for node in todo:  # grows while it is read: breadth first
            for parent in self._dag.parents_of(node):
                if parent not in found:
                    found[parent] = found[node]
                    todo.append(parent)
        return found

    def path(self, nodes: tuple[Name, ...]) -> Path:
        """Judge one path: neighbouring nodes are joined by an arc, one way or the other."""
        forward = tuple(arc in self._arcs for arc in pairwise(nodes))
        inner = zip(nodes[1:-1], forward, forward[1:])
        return Path(nodes, forward, tuple(self._turn(*parts) for parts in inner))

    def _turn(self, node: Name, enters: bool, leaves: bool) -> Turn:
        observed = node in self._given
        if enters and not leaves:
            below = self._observed_below.get(node)
            return Turn(node, "head-to-head", below is None, observed, None if observed else below)
        return Turn(node, "head-to-tail" if enters == leaves else "tail-to-tail", observed, observed)
