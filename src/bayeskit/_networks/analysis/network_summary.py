"""The summary of a network: its nodes and arcs, the sizes of its tables, and which cells few rows support."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bayeskit._display_table import DisplayTable
from bayeskit._fitting.networks.network_counts import NetworkCounts
from bayeskit._report.summary_page import MOST_SHOWN, Summary, number, pairs_section, summary_words
from bayeskit._visible import plain, shorter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayeskit._graphs.network import Network, Node
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork

# A configuration of parents with fewer rows than this is noted; larger tables are not looked through.
FEW_ROWS, MOST_CELLS = 5.0, 10_000_000


def summary(self: BayesianNetwork, *, lang: str = "en") -> Summary:
    """Return a page about the network: nodes, arcs, sizes of tables and, after ``fit``, weakly supported cells.

    Parameters
    ----------
    lang : "en" or "zh"

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> page = wet_grass().summary()
    >>> page.title, page.to_dict()["nodes"][3]["cells"]
    ("BayesianNetwork 'wet grass': 4 nodes, 3 arcs", 8)
    """
    words, network = summary_words(lang), self._network
    counted = self._learned if isinstance(self._learned, NetworkCounts) else None
    nodes = [_node(network, node, counted) for node in network.nodes]
    missing = [node.name for node in network.nodes if node.distribution is None]
    free = None if missing else self.n_parameters
    kind = type(self).__name__ + (f" {self.name!r}" if self.name else "")
    title = words["title_network"].format(model=shorter(kind), nodes=len(nodes), arcs=len(self.arcs))
    data = pairs_section(
        words["data"],
        [
            (words["rows"], "" if counted is None else number(counted.n_rows)),
            (words["parameters_free"], "" if free is None else f"{free:,}"),
        ],
        () if counted is not None else (words["fewest_unknown"],),
    )
    warned = [
        words["unsupported"].format(name=shorter(node["name"]), n=node["few"], cells=node["configurations"])
        for node in sorted(nodes, key=lambda node: -(node["few"] or 0))[:5]
        if node["few"]
    ]
    if missing:
        warned.insert(0, words["no_table"].format(names=words["separator"].join(map(shorter, missing[:8]))))
    values = {
        "model": type(self).__name__,
        "name": self.name,
        "rows": None if counted is None else counted.n_rows,
        "parameters": free,
        "nodes": nodes,
        "arcs": [[plain(a), plain(b)] for a, b in self.arcs],
        "warnings": warned,
    }
    return Summary(title, (data, _nodes(nodes, words)), tuple(warned), values, lang)


def _node(network: Network, node: Node, counted: NetworkCounts | None) -> dict[str, Any]:
    above = [network[name].variable.size for name in node.parents if network[name].is_discrete]
    configurations = math.prod(above)
    size = node.variable.size if node.is_discrete else 1
    numeric = len(node.parents) - len(above)
    fewest = few = None
    if counted is not None and node.is_discrete and configurations * size <= MOST_CELLS:
        by_parents = counted.table(network.without_softmax(), node.name).sum(axis=-1)
        fewest, few = float(by_parents.min()), int((by_parents < FEW_ROWS).sum())
    return {
        "name": plain(node.name),
        "kind": "categorical" if node.is_discrete else "numeric",
        "states": plain(node.variable.states),
        "parents": [plain(name) for name in node.parents],
        "cells": configurations * size * (1 + numeric)
        if node.is_discrete
        else configurations * (2 + numeric),
        "configurations": configurations,
        "fewest": fewest,
        "few": few,
    }


def _nodes(nodes: list[dict[str, Any]], words: Mapping[str, str]) -> DisplayTable:
    known = any(node["fewest"] is not None for node in nodes)
    shown = sorted(nodes, key=lambda node: -node["cells"])[:MOST_SHOWN] if len(nodes) > MOST_SHOWN else nodes
    rows = tuple(
        (
            shorter(node["name"], 40),
            words[node["kind"]],
            shorter(words["separator"].join(map(str, node["parents"])) or "–", 50),
            str(len(node["states"])) if node["states"] else "–",
            f"{node['cells']:,}",
            *(["–" if node["fewest"] is None else number(node["fewest"])] if known else []),
        )
        for node in shown
    )
    keys = ("node", "kind", "parents", "states", "cells", *(("fewest",) if known else ()))
    notes = [words["fewest_note"]] if known else []
    if len(nodes) > len(shown):
        notes.append(words["more_nodes"].format(n=len(nodes) - len(shown)))
    header = tuple(words[key] for key in keys)
    return DisplayTable(words["nodes"], header, rows, (), tuple(notes), right=3)


def factor_summary(self: MarkovNetwork, *, lang: str = "en") -> Summary:
    """Return a page about the network: its variables and the sizes of its factors.

    Parameters
    ----------
    lang : "en" or "zh"

    Examples
    --------
    >>> from bayeskit import MarkovNetwork
    >>> MarkovNetwork({"a": [0, 1], "b": [0, 1]}, [(["a", "b"], [[5, 1], [1, 5]])]).summary().title
    'MarkovNetwork: 2 variables, 1 factors'
    """
    words = summary_words(lang)
    sizes = {name: len(self.states(name)) for name in self.variables}
    factors: list[dict[str, Any]] = [
        {
            "variables": [plain(name) for name in factor.names],
            "cells": math.prod(sizes[n] for n in factor.names),
        }
        for factor in self.factors
    ]
    largest = sorted(factors, key=lambda factor: -factor["cells"])[:MOST_SHOWN]
    rows = tuple(
        (shorter(words["separator"].join(map(str, factor["variables"])), 60), f"{factor['cells']:,}")
        for factor in largest
    )
    kind = type(self).__name__ + (f" {self.name!r}" if self.name else "")
    title = words["title_factors"].format(model=shorter(kind), nodes=len(sizes), factors=len(factors))
    table = DisplayTable(words["factors"], (words["factor"], words["cells"]), rows, right=1)
    variables = [{"name": plain(name), "states": plain(self.states(name))} for name in self.variables]
    values = {"model": type(self).__name__, "name": self.name, "variables": variables, "factors": factors}
    return Summary(title, (table,), (), values, lang)
