"""A directed acyclic graph as a value: nodes in order, and the parents of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bayeskit.errors import CyclicGraph, SettingError
from bayeskit.graphs.node_names import parent_names
from bayeskit.schema import Name, first_twice


@dataclass(frozen=True)
class Dag:
    """Nodes and their parents; there is no cycle.

    Parameters
    ----------
    nodes : tuple of names
    parents : tuple of tuples of names, one for each node
        The order of parents is kept: models that back off leave the last one out first.

    Examples
    --------
    >>> Dag.of({"wet": ["rain"]}, ["rain", "wet"]).parents_of("wet")
    ('rain',)
    >>> Dag.of({"a": ["b"], "b": ["a"]}, ["a", "b"])
    Traceback (most recent call last):
    ...
    bayeskit.errors.CyclicGraph: The graph has a cycle: 'a' → 'b' → 'a'. Take one of these arcs away.
    """

    nodes: tuple[Name, ...]
    parents: tuple[tuple[Name, ...], ...]

    def __post_init__(self) -> None:
        known = set(self.nodes)
        if len(self.parents) != len(self.nodes) or len(known) != len(self.nodes):
            raise SettingError(
                f"A graph of the nodes {_listing(self.nodes)} has {len(self.parents)} lists of parents: it needs one "
                "for each node, and no node twice."
            )
        for node, parents in zip(self.nodes, self.parents):
            for parent in parents:
                if parent not in known:
                    raise SettingError(
                        f"{parent!r}, a parent of {node!r}, is no node. There are {_listing(self.nodes)}."
                    )
            if len(set(parents)) < len(parents):
                raise SettingError(f"{node!r} has the parent {first_twice(parents)!r} twice.")
        cycle = self._cycle()
        if cycle:
            raise CyclicGraph(cycle)

    @classmethod
    def of(cls, parents: Mapping[Name, Any], nodes: Iterable[Name]) -> Dag:
        """Read a mapping from node to its parents; a node not named has none."""
        nodes = tuple(nodes)
        known = set(nodes)
        if not isinstance(parents, Mapping):
            raise SettingError(f"structure is {parents!r}; give a mapping from attribute to its parents.")
        for node in parents:
            if node not in known:
                raise SettingError(
                    f"structure names {node!r}, which is no node. There are {_listing(nodes)}."
                )
        return cls(nodes, tuple(parent_names(node, parents.get(node, ()), known) for node in nodes))

    def parents_of(self, node: Name) -> tuple[Name, ...]:
        return self.parents[self.position[node]]

    @cached_property
    def position(self) -> dict[Name, int]:
        return {node: place for place, node in enumerate(self.nodes)}

    @cached_property
    def arcs(self) -> tuple[tuple[Name, Name], ...]:
        """(parent, child) of every arc."""
        return tuple((p, node) for node, parents in zip(self.nodes, self.parents) for p in parents)

    def as_mapping(self) -> dict[Name, tuple[Name, ...]]:
        return dict(zip(self.nodes, self.parents))

    @cached_property
    def children(self) -> dict[Name, tuple[Name, ...]]:
        """The children of every node, in the order of the nodes."""
        found: dict[Name, list[Name]] = {node: [] for node in self.nodes}
        for parent, child in self.arcs:
            found[parent].append(child)
        return {node: tuple(children) for node, children in found.items()}

    def _cycle(self) -> list[Name]:
        """Return the nodes of some cycle in the direction of its arcs, the first again at the end; or nothing."""
        state = dict.fromkeys(self.nodes, 0)  # 0 not seen, 1 on the path, 2 done
        for start in self.nodes:
            path = [start] if state[start] == 0 else []
            tried = [0]
            state[start] = 1 if path else state[start]
            while path:
                parents = self.parents_of(path[-1])
                if tried[-1] == len(parents):
                    state[path.pop()] = 2
                    tried.pop()
                    continue
                parent = parents[tried[-1]]
                tried[-1] += 1
                if state[parent] == 1:
                    found = path[path.index(parent) :]
                    return [found[0], *reversed(found)]
                if state[parent] == 0:
                    state[parent] = 1
                    path.append(parent)
                    tried.append(0)
        return []


def _listing(nodes: tuple[Name, ...]) -> str:
    return ", ".join(map(repr, nodes[:12])) + (", …" if len(nodes) > 12 else "")
