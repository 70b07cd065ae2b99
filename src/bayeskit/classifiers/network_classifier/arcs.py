"""The arcs of a network classifier: those of its method, then perhaps those that tell the class best."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from bayeskit.errors import SuspectResult, TooLarge
from bayeskit.graphs.dag import Dag
from bayeskit.learning.search.class_arcs import naive_arcs, tan_arcs
from bayeskit.learning.search.conditional_scores import ConditionalScores
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.search.run_search import run_search
from bayeskit.learning.search.search_network import METHODS as SEARCHES
from bayeskit.learning.search.search_network import Settings, search_network
from bayeskit.networks.learned.fitting import fit_settings
from bayeskit.networks.memory import allowed
from bayeskit.schema import Name
from bayeskit.structure.arcs import Arcs
from bayeskit.structure.limits import read_limits
from bayeskit.structure.questions import bits, members
from bayeskit.structure.scores import as_score
from bayeskit.structure.search.conditional import conditional

METHODS = ("naive", "tan", *SEARCHES)

# What is known before a search, by the name of the setting.
_KNOWN = ("required", "forbidden", "tiers", "max_parents")


def known_before(settings: Any) -> str:
    """Name the settings that limit the arcs, if any do."""
    given = [name for name in _KNOWN if getattr(settings, name) not in (None, (), [])]
    return ", ".join(given)


def learn_arcs(columns: NodeColumns, target: Name, settings: Any) -> Dag:
    """Learn a graph over columns; ``settings`` has the parameters of the classifier as attributes."""
    start = time.monotonic()
    # Ties are broken by the order of the columns: this one is a function of their cells alone.
    here = columns.reordered(columns.canonical_order())
    arcs = read_limits(
        here.names,
        **{name: getattr(settings, name) for name in _KNOWN},
        continuous=[v.name for v in here.variables if v.kind == "numeric"],
    )
    stopped = None
    if settings.method in ("naive", "tan"):
        found = (naive_arcs if settings.method == "naive" else tan_arcs)(columns, target)
    else:
        found, stopped = _searched(here, arcs, settings, columns.names)
    if settings.conditional and not stopped:
        found, stopped = _told_best(here, arcs, settings, target, found, start)
    if stopped:
        why = "The time limit passed" if stopped == "time" else "The search was interrupted"
        warnings.warn(f"{why}: this is the best network found so far.", SuspectResult, stacklevel=3)
    place = {name: j for j, name in enumerate(columns.names)}
    dag = Dag(
        columns.names, tuple(tuple(sorted(found[name], key=place.__getitem__)) for name in columns.names)
    )
    _refuse_large(dag, columns)
    return dag


def _searched(
    columns: NodeColumns, arcs: Arcs, settings: Any, order: tuple[Name, ...]
) -> tuple[dict[Name, tuple[Name, ...]], str | None]:
    names = columns.names
    found = search_network(
        columns,
        arcs,
        Settings(
            method=settings.method,
            score=as_score(settings.criterion),
            order=[names.index(name) for name in order],
            time_limit=settings.time_limit,
            seed=settings.seed,
            max_memory=allowed(None),
        ),
    )
    return {name: tuple(names[p] for p in mine) for name, mine in zip(names, found.parents)}, found.stopped


def _told_best(
    columns: NodeColumns,
    arcs: Arcs,
    settings: Any,
    target: Name,
    before: dict[Name, tuple[Name, ...]],
    start: float,
) -> tuple[dict[Name, tuple[Name, ...]], str | None]:
    """Climb by the likelihood of the class given the rest, from the graph that was found."""
    names = columns.names
    at = names.index(target)
    prior = fit_settings(settings.prior)["prior"]
    scores: Any = ConditionalScores(columns, at, prior, as_score(settings.criterion))
    graph = tuple(bits([names.index(p) for p in before[name]]) for name in names)
    left = None if settings.time_limit is None else settings.time_limit - (time.monotonic() - start)
    search: Any = conditional(arcs, at, graph)
    outcome = run_search(search, scores, time_limit=left)
    after = {name: tuple(names[p] for p in members(mine)) for name, mine in zip(names, outcome.graph.parents)}
    return after, outcome.stopped


def _refuse_large(dag: Dag, columns: NodeColumns) -> None:
    """Refuse tables that memory cannot hold before they are made."""
    sizes = {variable.name: float(max(variable.size, 1)) for variable in columns.variables}
    cells = [float(np.prod([sizes[name] for name in (node, *dag.parents_of(node))])) for node in dag.nodes]
    limit = allowed(None)
    if 8.0 * sum(cells) > limit:
        node = dag.nodes[int(np.argmax(cells))]
        raise TooLarge(
            8.0 * sum(cells),
            limit,
            (node, *dag.parents_of(node)),
            max(cells),
            "Take fewer parents (max_parents=), columns of fewer states, or fewer intervals (discretize=).",
        )
