"""A network as the plain values that the explorer edits, and back: nothing invalid becomes a network."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._graphs.network import FactorGraph
from bayeskit._io.networks.registry import FORMATS
from bayeskit._messages import Joined
from bayeskit._visible import visible
from bayeskit.errors import DataError, DataTypeError, SettingError

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork

# What a page can show and a person can edit.
MOST_NODES = 2_000
MOST_STATES = 1_000
MOST_TABLE = 2**18
MOST_CELLS = 2**20
LONGEST_NAME = 200
WRITTEN = tuple(name for name, kind in FORMATS.items() if kind.write is not None)
# A numeric column with more values than this is cut into so many intervals.
MOST_VALUES = 10
N_INTERVALS = 4
# Seconds of a search; the worker in which it runs has more.
SEARCH = 15.0


def editable(network: Any) -> bool:
    """Whether a network can be edited: its arcs have directions, and every node a table that is small enough."""
    return not isinstance(network._network, FactorGraph) and _obstacle(network) is None


def _obstacle(network: Any) -> Any:
    cells = 0
    for node in network._network.nodes:
        if node.variable.kind != "categorical" or node.distribution is None:
            return node.variable.name
        sizes = [len(network.states(parent)) for parent in (*node.parents, node.variable.name)]
        size = int(np.prod(sizes, dtype=float))
        cells += size
        if size > MOST_TABLE or cells > MOST_CELLS or len(sizes) > 32:
            return node.variable.name
    return None


def document_of(network: BayesianNetwork) -> dict[str, Any]:
    """Return a network as a document. Names and states become text, and every distribution a table.

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> document_of(wet_grass())["nodes"][2]
    {'name': 'joe', 'states': ['no', 'yes'], 'parents': [0], 'table': [[0.8, 0.2], [0.0, 1.0]]}
    """
    if (name := _obstacle(network)) is not None:
        raise SettingError(
            "The explorer edits networks whose nodes have states and tables of at most {most:,} numbers. {name!r} "
            "has not.",
            most=MOST_TABLE,
            name=name,
        )
    places = {name: k for k, name in enumerate(network.nodes)}
    nodes = []
    for name in network.nodes:
        states = network.states(name)
        table = network.cpt(name).values.reshape(-1, len(states))
        nodes.append(
            {
                "name": visible(name),
                "states": [visible(state) for state in states],
                "parents": [places[parent] for parent in network.parents(name)],
                "table": table.tolist(),
            }
        )
    return {"name": visible(network.name), "nodes": nodes}


def edited_network(document: Any) -> BayesianNetwork:
    """Return the network of a document, or the error that says what is wrong in it.

    Examples
    --------
    >>> rain = {"name": "rain", "states": ["no", "yes"], "parents": [], "table": [[0.8, 0.2]]}
    >>> edited_network({"name": "", "nodes": [rain]}).query("rain")["yes"]
    0.2
    """
    from bayeskit._networks.bayesian_network import BayesianNetwork

    match document:
        case {"name": str(title), "nodes": [*nodes]} if len(document) == 2 and len(title) <= LONGEST_NAME:
            pass
        case _:
            raise DataTypeError("A network is an object with a name and a list of nodes, and nothing else.")
    if len(nodes) > MOST_NODES:
        raise DataError(
            "The network has {n:,} nodes; the explorer edits at most {most:,}.", n=len(nodes), most=MOST_NODES
        )
    names, states = _names(nodes)
    total = 0
    parents: dict[str, list[str]] = {}
    for name, node in zip(names, nodes, strict=True):
        above = node["parents"]
        if not isinstance(above, list) or not all(type(k) is int and 0 <= k < len(nodes) for k in above):
            raise DataError("The parents of {name!r} are no numbers of nodes.", name=name)
        parents[name] = [names[k] for k in above]
        cells = float(len(states[name]))
        for parent in parents[name]:
            cells *= len(states[parent])
        total += int(min(cells, MOST_CELLS + 1))
        if cells > MOST_TABLE or total > MOST_CELLS or len(above) > 31:
            raise DataError(
                "The table of {name!r} would have {cells:,.0f} numbers; the explorer edits tables of at most {most:,}, "
                "and {total:,} in all. Remove a parent or a state.",
                name=name,
                cells=cells,
                most=MOST_TABLE,
                total=MOST_CELLS,
            )
    network = BayesianNetwork(parents, states, name=title)
    for name, node in zip(names, nodes, strict=True):
        sizes = [len(states[parent]) for parent in parents[name]]
        network.set_cpt(name, _table(name, node["table"], sizes, len(states[name])))
    return network


def _names(nodes: list[Any]) -> tuple[list[str], dict[str, list[str]]]:
    states: dict[str, list[str]] = {}
    for node in nodes:
        if not isinstance(node, dict) or set(node) != {"name", "states", "parents", "table"}:
            raise DataTypeError("A node is an object with name, states, parents and table, and nothing else.")
        name, own = node["name"], node["states"]
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise DataError(
                "{name!r} is no name. Send a text of 1 to {most} signs.", name=name, most=LONGEST_NAME
            )
        if name in states:
            raise DataError("Two nodes are called {name!r}. Rename one.", name=name)
        if (
            not isinstance(own, list)
            or not 0 < len(own) <= MOST_STATES
            or not all(isinstance(state, str) and 0 < len(state) <= LONGEST_NAME for state in own)
            or len(set(own)) < len(own)
        ):
            raise DataError(
                "The states of {name!r} are a list of 1 to {most:,} different texts.",
                name=name,
                most=MOST_STATES,
            )
        states[name] = own
    return list(states), states


def _table(name: str, rows: Any, sizes: list[int], width: int) -> Any:
    n = int(np.prod(sizes, dtype=np.int64)) if sizes else 1
    if (
        not isinstance(rows, list)
        or len(rows) != n
        or not all(isinstance(row, list) and len(row) == width for row in rows)
        or not all(type(p) in (int, float) for row in rows for p in row)
    ):
        raise DataError(
            "The table of {name!r} has {n:,} rows of {width} numbers: one row for each configuration of the parents.",
            name=name,
            n=n,
            width=width,
        )
    try:
        return np.array(rows, dtype=np.float64).reshape(*sizes, width)
    except OverflowError:
        raise DataError("The table of {name!r} has a number that is too large.", name=name) from None


def written(document: Any, format: Any) -> dict[str, str]:
    """Return the text of a file, and a name for it."""
    if format not in WRITTEN:
        raise SettingError(
            "{format!r} is no format that can be written. There are {names}.",
            format=format,
            names=Joined(WRITTEN),
        )
    network = edited_network(document)
    kind = FORMATS[format]
    assert kind.write is not None
    return {"name": f"network{kind.suffixes[0]}", "text": kind.write(network._network)}


def columns_of(text: Any) -> dict[str, Any]:
    """Return the names of the columns of a table."""
    return {"names": list(_columns(text))}


def learned(text: Any, required: Any, forbidden: Any) -> dict[str, Any]:
    """Learn a network from the text of a CSV file, with arcs that must or must not be there, as a document."""
    from bayeskit._networks.fit.learning import learn_network

    table = _columns(text)
    names = list(table)
    limits = {"required": required, "forbidden": forbidden}
    arcs: dict[str, Any] = {}
    for kind, pairs in limits.items():
        if not isinstance(pairs, list) or not all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(type(k) is int and 0 <= k < len(names) for k in pair)
            for pair in pairs
        ):
            raise DataTypeError("{kind} arcs are a list such as [[0, 1]]: two numbers of columns.", kind=kind)
        arcs[kind] = [(names[a], names[b]) for a, b in pairs]
    rows: dict[str, Any] = {}
    cuts: dict[str, int] = {}
    for name, values in table.items():
        numbers = _numbers(values)
        if numbers is None:
            rows[name] = [value or None for value in values]
        else:
            rows[name] = numbers
            cuts[name] = N_INTERVALS
    network = learn_network(rows, discretize=cuts or None, time_limit=SEARCH, **arcs)
    return document_of(network)


def _columns(text: Any) -> dict[str, list[str]]:
    if not isinstance(text, str):
        raise DataTypeError("The table is not a text.")
    try:
        dialect = csv.Sniffer().sniff(text[:4096], delimiters=",;\t") if text.strip() else csv.excel
    except csv.Error:
        dialect = csv.excel
    try:
        lines = [line for line in csv.reader(io.StringIO(text.lstrip("\ufeff")), dialect) if line]
    except csv.Error as error:
        raise DataError("The table is not CSV: {reason}.", reason=str(error)) from None
    if len(lines) < 2:
        raise DataError("The table has no rows below its line of names. Choose a CSV file with both.")
    names, *rows = lines
    if len(set(names)) < len(names) or not all(0 < len(name) <= LONGEST_NAME for name in names):
        raise DataError("The first line of the table has empty, long or equal names. Name every column once.")
    for n, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise DataError(
                "Line {n} of the table has {k} cells; its first line has {wanted}.",
                n=n,
                k=len(row),
                wanted=len(names),
            )
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def _numbers(values: list[str]) -> list[float | None] | None:
    """Return the numbers of a column that has many of them; None if its values are states."""
    if len(set(values)) <= MOST_VALUES:
        return None
    try:
        found = [float(value) if value else None for value in values]
    except ValueError:
        return None
    return found if all(x is None or np.isfinite(x) for x in found) else None
