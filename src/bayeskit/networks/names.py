"""Names of nodes as users write them: one, or a list of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from bayeskit.errors import SettingError
from bayeskit.graphs.dag import Dag
from bayeskit.graphs.unknown_node import unknown_node
from bayeskit.schema import Name
from bayeskit.typing import NamesLike


def known_node(dag: Dag, name: Name) -> Name:
    """Return the name of a node, or refuse what names none.

    Examples
    --------
    >>> known_node(Dag.of({}, ["rain"]), "rain")
    'rain'
    """
    try:
        return dag.nodes[dag.position[name]]
    except (KeyError, TypeError):
        raise unknown_node(name, dag.nodes) from None


def known_nodes(dag: Dag, given: NamesLike, what: str) -> tuple[Name, ...]:
    """Return the nodes that are meant, each once: a name, or a list, tuple or set of names.

    ``what`` says in messages which argument it is. A tuple that is itself the name of a node is that node.

    Examples
    --------
    >>> dag = Dag.of({}, ["rain", "wet"])
    >>> known_nodes(dag, "rain", "a"), known_nodes(dag, ["wet", "rain", "wet"], "a")
    (('rain',), ('wet', 'rain'))
    """
    if isinstance(given, str) or (isinstance(given, Hashable) and _is_node(dag, given)):
        return (known_node(dag, given),)
    if isinstance(given, Mapping):
        raise SettingError(
            f"{what} is {given!r}; give names of nodes only: their states have no part in this."
        )
    if not isinstance(given, Iterable):
        return (known_node(dag, given),)
    names = dict.fromkeys(known_node(dag, name) for name in given)
    if isinstance(given, (set, frozenset)):
        return tuple(sorted(names, key=dag.position.__getitem__))
    return tuple(names)


def two_groups(dag: Dag, a: NamesLike, b: NamesLike) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
    """Return the nodes of two arguments ``a`` and ``b``, of which none is empty and which share no node."""
    groups = known_nodes(dag, a, "a"), known_nodes(dag, b, "b")
    for what, group in zip("ab", groups):
        if not group:
            raise SettingError(f"{what} names no node. Give one name, or a list of names.")
    both = next((name for name in groups[0] if name in groups[1]), None)
    if both is not None:
        raise SettingError(
            f"{both!r} is in a and in b. A node is not compared with itself: take it out of one."
        )
    return groups


def _is_node(dag: Dag, given: object) -> bool:
    try:
        return given in dag.position
    except TypeError:  # a tuple that holds a list
        return False
