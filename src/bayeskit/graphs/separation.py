"""d-separation: which nodes a graph makes independent, found in time linear in its arcs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from bayeskit.graphs.dag import Dag
from bayeskit.graphs.relations import ancestors
from bayeskit.schema import Name

# A node and whether it was entered through one of its parents (from above) or of its children.
_Visit = tuple[Name, bool]


def reachable(dag: Dag, sources: Iterable[Name], given: Iterable[Name] = ()) -> set[Name]:
    """Return the nodes that an open path joins to a source, the sources among them.

    Observed nodes are none of them. All others are d-separated from the sources.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"]}, ["rain", "sprinkler", "wet"])
    >>> sorted(reachable(dag, ["rain"]))
    ['rain', 'wet']
    >>> sorted(reachable(dag, ["rain"], given=["wet"]))
    ['rain', 'sprinkler']

    References
    ----------
    D. Koller and N. Friedman, *Probabilistic Graphical Models* (2009), algorithm 3.1.
    """
    given = set(given)
    return {node for node, _ in _visits(dag, sources, given) if node not in given}


def d_separated(dag: Dag, a: Iterable[Name], b: Iterable[Name], given: Iterable[Name] = ()) -> bool:
    """Return whether every path between a node of ``a`` and one of ``b`` is blocked.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"]}, ["rain", "sprinkler", "wet"])
    >>> d_separated(dag, ["rain"], ["sprinkler"]), d_separated(dag, ["rain"], ["sprinkler"], ["wet"])
    (True, False)
    """
    return reachable(dag, a, given).isdisjoint(b)


def open_path(
    dag: Dag, a: Iterable[Name], b: Iterable[Name], given: Iterable[Name] = ()
) -> tuple[Name, ...] | None:
    """Return a shortest open path from ``a`` to ``b``, None where they are d-separated.

    The visits that lead there make a simple path. Had a node been visited twice, the part between could be left out:
    the node would still be open, because a walk that leaves it downwards and comes back from below has turned at a
    head-to-head node with an observed descendant, which is one of this node too. And the shorter walk was found first.

    Examples
    --------
    >>> dag = Dag.of({"wet": ["rain", "sprinkler"]}, ["rain", "sprinkler", "wet"])
    >>> open_path(dag, ["rain"], ["sprinkler"], ["wet"])
    ('rain', 'wet', 'sprinkler')
    """
    given, goals = set(given), set(b)
    before = _visits(dag, a, given)
    visit: _Visit | None = next((v for v in before if v[0] in goals and v[0] not in given), None)
    path: list[Name] = []
    while visit is not None:
        path.append(visit[0])
        visit = before[visit]
    return tuple(reversed(path)) or None


def _visits(dag: Dag, sources: Iterable[Name], given: set[Name]) -> dict[_Visit, _Visit | None]:
    """Walk along open paths, breadth first; return every visit with the one before it, in the order made."""
    # A head-to-head node lets through where it, or a node below it, is observed.
    opened = given.union(ancestors(dag, *given))
    found: dict[_Visit, _Visit | None] = {(node, False): None for node in sources}
    todo = deque(found)
    while todo:
        visit = todo.popleft()
        node, from_above = visit
        steps: list[_Visit] = []
        if node not in given:
            steps += [(child, True) for child in dag.children[node]]
        if (node in opened) if from_above else (node not in given):
            steps += [(parent, False) for parent in dag.parents_of(node)]
        for step in steps:
            if step not in found:
                found[step] = visit
                todo.append(step)
    return found
