"""Structures as users give and read them: attribute → parents, arcs with what they carry."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.graphs.dag import Dag
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Statistics
from bayeskit.statistics.gaussian_information import gaussian_information
from bayeskit.statistics.information import conditional_mutual_information


class Edge(NamedTuple):
    """An arc between attributes, and I(x_i; x_j | y) of its ends in nats."""

    parent: Name
    child: Name
    information: float


def given_dag(structure: Any, schema: Schema, most: int | None) -> Dag:
    """Read a structure that was given: no cycles, parents that are discrete, not more of them than allowed."""
    dag = Dag.of(structure, (v.name for v in schema.attributes))
    discrete = {v.name for v in schema.categorical}
    for node, parents in zip(dag.nodes, dag.parents):
        if most is not None and len(parents) > most:
            raise SettingError(
                f"structure gives {node!r} the parents {parents!r}; at most {most} "
                f"{'is' if most == 1 else 'are'} allowed here. KDB takes more."
            )
        if node not in discrete and len(parents) > 1:
            raise SettingError(
                f"structure gives {node!r}, which is numeric, the parents {parents!r}; a Gaussian has one discrete "
                'parent beside the class. Use numeric="mdl", or leave arcs out.'
            )
        strange = next((p for p in parents if p not in discrete), None)
        if strange is not None:
            raise SettingError(
                f"structure makes {strange!r}, which is numeric, a parent of {node!r}. Only discrete attributes can be "
                'parents: use numeric="mdl", or leave that arc out.'
            )
    return dag


def check_discrete(setting: str, name: Any, schema: Schema) -> None:
    """Refuse a name that is none of the discrete attributes."""
    discrete = [v.name for v in schema.categorical]
    if isinstance(name, Hashable) and name in discrete:
        return
    known = f"There are {', '.join(map(repr, discrete[:12]))}." if discrete else "There is none."
    raise SettingError(f"{setting} is {name!r}, which is no discrete attribute. {known}")


def edges_of(structure: Mapping[Name, tuple[Name, ...]], statistics: Statistics) -> list[Edge]:
    """Return the arcs of a structure with the information of their ends."""
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
            found.append(Edge(parent, child, value))
    return found


def _pair_counts(statistics: Statistics, parent: int, child: int) -> Any:
    """Return n(x_parent, x_child, c) over the rows where both are present."""
    pairs: Any = statistics.parts.get("pairs")
    if pairs is not None:
        return pairs.table(parent, child)
    families: Any = statistics.parts["families"]
    members = [families.names_of(f) for f in range(len(families))]
    f = next(f for f, family in enumerate(members) if family[0] == child and parent in family)
    return families.pair(f, members[f].index(parent))
