"""Who stands above, below and beside a node: plain questions to a graph, answered in the order of its nodes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from bayeskit.graphs.dag import Dag
from bayeskit.schema import Name


def topological_order(dag: Dag) -> tuple[Name, ...]:
    """Return the nodes so that parents come before their children, otherwise in the order of the graph.

    Examples
    --------
    >>> topological_order(Dag.of({"wet": ["rain"]}, ["wet", "rain", "wind"]))
    ('rain', 'wet', 'wind')
    """
    waiting = {node: len(parents) for node, parents in zip(dag.nodes, dag.parents)}
    free = [place for place, parents in enumerate(dag.parents) if not parents]
    order = []
    while free:
        node = dag.nodes[heapq.heappop(free)]
        order.append(node)
        for child in dag.children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(free, dag.position[child])
    return tuple(order)


def ancestors(dag: Dag, *nodes: Name) -> tuple[Name, ...]:
    """Return all nodes from which a directed path of at least one arc leads to one of these.

    Examples
    --------
    >>> ancestors(Dag.of({"b": ["a"], "c": ["b"]}, "abc"), "c")
    ('a', 'b')
    """
    return _in_order(dag, _beyond(dag.parents_of, nodes))


def descendants(dag: Dag, *nodes: Name) -> tuple[Name, ...]:
    """Return all nodes to which a directed path of at least one arc leads from one of these.

    Examples
    --------
    >>> descendants(Dag.of({"b": ["a"], "c": ["b"]}, "abc"), "a")
    ('b', 'c')
    """
    return _in_order(dag, _beyond(dag.children.__getitem__, nodes))


def markov_blanket(dag: Dag, node: Name) -> tuple[Name, ...]:
    """Return the parents, the children and the other parents of the children.

    Given these, the node is independent of all others.

    Examples
    --------
    >>> markov_blanket(Dag.of({"c": ["a", "b"], "d": ["c"]}, "abcd"), "a")
    ('b', 'c')
    """
    children = dag.children[node]
    found = {*dag.parents_of(node), *children, *(p for child in children for p in dag.parents_of(child))}
    return _in_order(dag, found - {node})


def moral_neighbours(dag: Dag) -> dict[Name, tuple[Name, ...]]:
    """Return the neighbours of every node once parents of one child are married and directions are dropped.

    Examples
    --------
    >>> moral_neighbours(Dag.of({"c": ["a", "b"]}, "abc"))
    {'a': ('b', 'c'), 'b': ('a', 'c'), 'c': ('a', 'b')}
    """
    found: dict[Name, set[Name]] = {node: set() for node in dag.nodes}
    for node, parents in zip(dag.nodes, dag.parents):
        family = (node, *parents)
        for member in family:
            found[member].update(family)
    return {node: _in_order(dag, met - {node}) for node, met in found.items()}


def _beyond(step: Callable[[Name], Iterable[Name]], starts: Iterable[Name]) -> set[Name]:
    """Return what one step or more leads to."""
    found: set[Name] = set()
    todo = list(starts)
    while todo:
        for node in step(todo.pop()):
            if node not in found:
                found.add(node)
                todo.append(node)
    return found


def _in_order(dag: Dag, found: set[Name]) -> tuple[Name, ...]:
    return tuple(sorted(found, key=dag.position.__getitem__))
