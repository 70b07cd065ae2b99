"""Structures as users pass and read them: attribute → parents, and arcs with their mutual information."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayeskit._conditionals.linear_family import LinearFamily
from bayeskit._graphs.dag import Dag
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name, Schema
from bayeskit._statistics.information import conditional_mutual_information, gaussian_information
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import SettingError
from bayeskit.typing import Floats


class ArcInformation(NamedTuple):
    """An arc between two attributes, with I(x_i; x_j | y) in nats."""

    parent: Name
    child: Name
    information: float


def given_dag(structure: Mapping[Any, Any], schema: Schema, most: int | None) -> Dag:
    """Read a given structure. It must be acyclic, with discrete parents and not too many of them."""
    dag = Dag.of(structure, (v.name for v in schema.attributes))
    discrete = {v.name for v in schema.categorical}
    for node, parents in zip(dag.nodes, dag.parents, strict=True):
        if most is not None and len(parents) > most:
            raise SettingError(
                "structure gives {node!r} the parents {parents!r}; at most {most} "
                "{_is} allowed here. KDB takes more.",
                node=node,
                parents=parents,
                most=most,
                _is="is" if most == 1 else "are",
            )
        if node not in discrete and len(parents) > 1:
            raise SettingError(
                "structure gives {node!r}, which is numeric, the parents {parents!r}; a Gaussian has one discrete "
                'parent beside the class. Use numeric="mdl", or leave arcs out.',
                node=node,
                parents=parents,
            )
        strange = next((p for p in parents if p not in discrete), None)
        if strange is not None:
            raise SettingError(
                "structure makes {strange!r}, which is numeric, a parent of {node!r}. Only discrete attributes can be "
                'parents: use numeric="mdl", or leave that arc out.',
                strange=strange,
                node=node,
            )
    return dag


def check_discrete(setting: str, name: object, schema: Schema) -> None:
    """Raise an error if a name is not a discrete attribute."""
    discrete = [v.name for v in schema.categorical]
    if isinstance(name, Hashable) and name in discrete:
        return
    known = (
        Message("There are {names}.", names=Joined(map(repr, discrete[:12])))
        if discrete
        else Message("There is none.")
    )
    raise SettingError(
        "{setting} is {name!r}, which is not a discrete attribute. {known}",
        setting=setting,
        name=name,
        known=known,
    )


def attribute_arcs(
    structure: Mapping[Name, tuple[Name, ...]], statistics: Statistics
) -> list[ArcInformation]:
    """Return the arcs of a structure with the mutual information of their ends."""
    schema = statistics.schema
    number = {v.name: j for j, v in enumerate(schema.categorical)}
    shared: Any = None
    found = []
    for child, parents in structure.items():
        for parent in parents:
            if child in number:
                counts = _pair_counts(statistics, number[parent], number[child])
                value = float(conditional_mutual_information(counts))
            else:
                if shared is None:
                    cells: Any = statistics.parts["cell_moments"]
                    shared = gaussian_information(cells, statistics.moments, schema)
                value = float(np.asarray(shared)[number[parent], schema.numeric_index[child]])
            found.append(ArcInformation(parent, child, value))
    return found


def network_arcs(
    dag: Dag, target: Name, statistics: Statistics, numbers: Sequence[LinearFamily]
) -> list[ArcInformation]:
    """Return all arcs of a graph over the class and the attributes: each with I(parent; child | other parents).

    Parameters
    ----------
    dag : Dag
    target : name of the class in it
    statistics : Statistics
        They must contain the families of the graph, or all pairs if every attribute has at most one parent
        besides the class.
    numbers : the numeric attributes given their parents
    """
    lines = {statistics.schema.numeric[family.child].name: family for family in numbers}
    number = {target: -1, **{v.name: j for j, v in enumerate(statistics.schema.categorical)}}
    found = []
    for child, parents in zip(dag.nodes, dag.parents, strict=True):
        axes = () if child in lines else tuple(number[name] for name in (*parents, child))
        counts = _family_counts(statistics, axes) if axes[:-1] else None
        for place, parent in enumerate(parents):
            if counts is None:
                j = number.get(parent, statistics.schema.numeric_index.get(parent, -1))
                value = lines[child].information(j, discrete=parent in number)
            else:
                table = np.moveaxis(counts, (place, len(parents)), (0, 1))
                value = float(conditional_mutual_information(table.reshape(*table.shape[:2], -1)))
            found.append(ArcInformation(parent, child, value))
    return found


def _family_counts(statistics: Statistics, axes: Sequence[int]) -> Floats:
    """Return the count of each configuration of some attributes and the class (−1), without missing values."""
    categorical = statistics.schema.categorical
    attributes = [j for j in axes if j >= 0]
    if len(attributes) == 1:
        order, counts = attributes, statistics.table(categorical[attributes[0]].name)
    elif "pairs" in statistics.parts:
        order, counts = attributes, _pair_counts(statistics, *attributes)
    else:
        families: Any = statistics.parts["families"]
        members = [families.names_of(f) for f in range(len(families))]
        f = next(f for f, family in enumerate(members) if set(family) == set(attributes))
        order = [*members[f][1:], members[f][0]]
        dense = np.zeros(math.prod(categorical[j].size + 1 for j in order) * statistics.schema.n_classes)
        keys, weights = families.cells(f)
        dense[keys] = weights
        whole = dense.reshape(*(categorical[j].size + 1 for j in order), -1)
        counts = whole[tuple(slice(0, -1) for _ in order)]
    if -1 not in axes:
        counts = counts.sum(axis=-1)
    return np.asarray(counts).transpose([counts.ndim - 1 if j < 0 else order.index(j) for j in axes])


def _pair_counts(statistics: Statistics, parent: int, child: int) -> Any:
    """Return n(x_parent, x_child, c) over the rows where both are present."""
    pairs: Any = statistics.parts.get("pairs")
    if pairs is not None:
        return pairs.table(parent, child)
    families: Any = statistics.parts["families"]
    members = [families.names_of(f) for f in range(len(families))]
    f = next(f for f, family in enumerate(members) if family[0] == child and parent in family)
    return families.pair(f, members[f].index(parent))
