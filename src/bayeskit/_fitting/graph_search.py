"""The search for a graph over the class and the attributes, from rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayeskit._conditionals.class_prior import class_factors
from bayeskit._data.columns import refuse_beyond
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.graph_network import state_labels
from bayeskit._fitting.graphical import as_graph, class_node
from bayeskit._fitting.leave_one_out import learned_chunks
from bayeskit._fitting.long_runs import run_search
from bayeskit._fitting.search.conditional_scores import ConditionalScores, Parents, naive_arcs, tan_arcs
from bayeskit._fitting.search.node_columns import LARGEST, NodeColumns
from bayeskit._fitting.search.search_network import METHODS as SEARCHES
from bayeskit._fitting.search.search_network import SearchSettings, search_network
from bayeskit._graphs.dag import markov_blanket
from bayeskit._graphs.network import continuous, discrete
from bayeskit._inference.exact import MAX_MEMORY
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name, Schema, Variable
from bayeskit._structure.search.hill_climbing import conditional
from bayeskit._structure.search_protocol import Arcs, Score, bits, members, read_limits
from bayeskit.errors import DataError, SettingError, SuspectResult, TooLarge
from bayeskit.priors import BDeu
from bayeskit.typing import Floats

FIXED = ("naive", "tan")
_FEWER_ROWS = "Raise it with bayeskit.networks.set_max_memory, leave columns out, or take a part of the rows."
# The settings that express prior knowledge about arcs.
LIMITS = ("required", "forbidden", "tiers", "max_parents")


@dataclass(frozen=True)
class GraphSearch:
    """The settings of a graph search.

    Attributes
    ----------
    method : one of FIXED, or of the searches of :func:`~bayeskit.learn_network`
        "naive": the class is the only parent of every attribute. "tan": the tree of TAN over the categorical
        attributes, and one over the numeric ones. The others are those of :func:`~bayeskit.learn_network`. The order
        for "k2" is the class, then the attributes in column order.
    score : Score
    markov_blanket : bool
        Keep only the Markov blanket of the class.
    conditional : bool
        Then change arcs near the class while this increases the conditional likelihood of the class. ``prior`` is the
        prior of the tables used for this.
    required, forbidden, tiers, max_parents
        As in :func:`~bayeskit.learn_network`; :func:`~bayeskit._fitting.graphical.class_node` gives the name of the
        class.
    missing : "ignore" or "state"
        With "state", every categorical attribute with missing values has the additional state "missing". Rows with
        any other missing cells are not used.
    time_limit, seed, max_memory
    """

    method: str = "auto"
    score: Score = field(default_factory=Score)
    markov_blanket: bool = True
    conditional: bool = False
    required: Iterable[Any] = ()
    forbidden: Iterable[Any] = ()
    tiers: Sequence[Any] | None = None
    max_parents: int | None = None
    prior: Any = field(default_factory=BDeu)
    missing: str = "ignore"
    time_limit: float | None = None
    seed: int = 0
    max_memory: float = MAX_MEMORY

    def check(self) -> None:
        """Raise an error for an unknown method, or one that cannot use prior knowledge of arcs."""
        if self.method not in (*FIXED, *SEARCHES):
            raise SettingError(
                "method is {method!r}; choose from {names}.",
                method=self.method,
                names=Joined(map(repr, (*FIXED, *SEARCHES))),
            )
        known = ", ".join(name for name in LIMITS if getattr(self, name) not in (None, (), []))
        if self.method in FIXED and known:
            raise SettingError(
                'method={method!r} has its own arcs and cannot keep {known}. Use "auto" or "hill-climbing".',
                method=self.method,
                known=known,
            )


def searched_graph(encoded: EncodedTable, search: GraphSearch) -> Parents:
    """Search for a graph over the class and the attributes, and return the parents of each node.

    The graph depends neither on the order nor on the names of the columns. A row of weight w counts as w rows.
    Attributes without any value are not in the graph.

    Examples
    --------
    >>> from bayeskit._data.encode import encode
    >>> from bayeskit._data.table import open_table
    >>> from bayeskit.statistics import Schema
    >>> schema = Schema((Variable("a", "categorical"),), Variable("y", "categorical"))
    >>> rows = encode(open_table({"a": ["x", "z"] * 9}), schema, "grow", y=["no", "yes"] * 9, with_target=True)
    >>> searched_graph(rows, GraphSearch("naive"))
    {'y': (), 'a': ('y',)}
    """
    search.check()
    start = time.monotonic()
    columns, weights = node_columns(encoded, search.missing)
    target = class_node(encoded.schema)
    # Column order breaks ties, so use an order that depends only on the cells.
    here = columns.reordered(columns.canonical_order(weights))
    arcs = read_limits(
        here.names,
        required=search.required,
        forbidden=search.forbidden,
        tiers=search.tiers,
        max_parents=search.max_parents,
        continuous=[v.name for v in here.variables if v.kind == "numeric"],
    )
    stopped = None
    if search.method == "naive":
        found = naive_arcs(columns, target)
    elif search.method == "tan":
        found = tan_arcs(columns, target, weights)
    else:
        found, stopped = _searched(here, weights, arcs, search, columns)
    if search.conditional and not stopped:
        found, stopped = _search_by_class(here, weights, arcs, search, here.names.index(target), found, start)
    if stopped:
        why = Message("The time limit passed") if stopped == "time" else Message("The search was interrupted")
        warnings.warn(SuspectResult("{why}: this is the best network found so far.", why=why), stacklevel=3)
    place = {name: j for j, name in enumerate(columns.names)}
    ordered = {name: tuple(sorted(found[name], key=place.__getitem__)) for name in columns.names}
    dag = as_graph(ordered, encoded.schema)
    if search.markov_blanket:
        near = {target, *markov_blanket(dag, target)}
        ordered = {name: tuple(p for p in ordered[name] if p in near) for name in dag.nodes if name in near}
    _refuse_large(ordered, columns, search.max_memory)
    return ordered


def gathered(trial: FittedState, source: Source, max_memory: float) -> EncodedTable:
    """Return all rows of a source that have weight, encoded with the schema of ``trial`` and weighted by class weights.

    Raise an error if the codes need more than ``max_memory``.
    """
    schema, spec = trial.schema, trial.spec
    assert spec is not None
    factors = class_factors(spec.class_weight, trial.statistics.class_counts, schema.target)
    found: list[Chunk] = []
    held = 0
    for chunk in learned_chunks(trial, source):
        held += chunk.codes.nbytes + chunk.values.nbytes
        if held > max_memory:
            names = tuple(schema.position)
            rows = sum(each.n_rows for each in (*found, chunk))
            raise TooLarge(held, max_memory, names, rows * len(names), _FEWER_ROWS)
        if factors is not None:
            chunk = replace(chunk, weights=chunk.row_weights * factors[chunk.target])
        found.append(chunk)
    if not found:
        raise DataError("Every row has weight 0, so there is no row to learn a network from.")
    return EncodedTable(
        schema,
        sum(chunk.n_rows for chunk in found),
        np.concatenate([chunk.codes for chunk in found]),
        np.concatenate([chunk.values for chunk in found]),
        target=np.concatenate([chunk.target for chunk in found if chunk.target is not None]),
        weights=None
        if all(chunk.weights is None for chunk in found)
        else np.concatenate([chunk.row_weights for chunk in found]),
    )


def columns_among(encoded: EncodedTable, names: Collection[Name]) -> EncodedTable:
    """Return rows with fewer attributes."""
    schema, kept = encoded.schema, set(names)
    codes = [j for j, v in enumerate(schema.categorical) if v.name in kept]
    values = [j for j, v in enumerate(schema.numeric) if v.name in kept]
    chunk = encoded.chunk(0, encoded.n_rows)
    return replace(
        encoded,
        schema=Schema(tuple(v for v in schema.attributes if v.name in kept), schema.target),
        codes=np.ascontiguousarray(chunk.codes[:, codes]),
        values=np.ascontiguousarray(chunk.values[:, values]),
    )


def node_columns(encoded: EncodedTable, missing: str = "ignore") -> tuple[NodeColumns, Floats | None]:
    """Return the class and the attributes as columns for a search, and the weights of the rows with weight."""
    schema, n = encoded.schema, encoded.n_rows
    assert encoded.target is not None
    chunk = encoded.chunk(0, n)
    variables: list[Variable] = [discrete(class_node(schema), schema.target.states)]
    codes: list[Any] = [encoded.target.astype(np.int64)]
    numbers: list[Floats | None] = [None]
    place = {v.name: j for j, v in enumerate(schema.categorical)}
    for variable in schema.attributes:
        if variable.kind == "numeric":
            column = chunk.values[:, [schema.numeric_index[variable.name]]]
            if np.isnan(column).all():
                continue
            refuse_beyond(column, [variable.name], LARGEST)
            variables.append(continuous(variable.name))
            codes.append(None)
            numbers.append(np.ascontiguousarray(column[:, 0]))
        elif variable.size:
            own = chunk.codes[:, place[variable.name]].astype(np.int64)
            holes = own >= variable.size
            states = range(variable.size + (missing == "state" and bool(holes.any())))
            variables.append(discrete(variable.name, state_labels(variable, states)))
            codes.append(np.minimum(own, len(states)))
            numbers.append(None)
    columns = NodeColumns(tuple(variables), tuple(codes), tuple(numbers), n)
    weights = encoded.weights
    if weights is None or weights.all():
        return columns, weights
    there = np.flatnonzero(weights)
    return columns.take(there), weights[there]


def _searched(
    columns: NodeColumns, weights: Floats | None, arcs: Arcs, search: GraphSearch, given: NodeColumns
) -> tuple[Parents, str | None]:
    names = columns.names
    settings = SearchSettings(
        method=search.method,
        score=search.score,
        order=[names.index(name) for name in given.names],
        time_limit=search.time_limit,
        seed=search.seed,
        max_memory=search.max_memory,
    )
    found = search_network(columns, arcs, settings, weights=weights)
    return {
        name: tuple(names[p] for p in mine) for name, mine in zip(names, found.parents, strict=True)
    }, found.stopped


def _search_by_class(
    columns: NodeColumns,
    weights: Floats | None,
    arcs: Arcs,
    search: GraphSearch,
    target: int,
    before: Parents,
    start: float,
) -> tuple[Parents, str | None]:
    """Improve a graph by hill-climbing on the conditional likelihood of the class."""
    names = columns.names
    scores: Any = ConditionalScores(columns, target, search.prior, search.score, weights)
    graph = tuple(bits([names.index(p) for p in before[name]]) for name in names)
    left = None if search.time_limit is None else search.time_limit - (time.monotonic() - start)
    steps: Any = conditional(arcs, target, graph)
    outcome = run_search(steps, scores, time_limit=left)
    after = {
        name: tuple(names[p] for p in members(mine))
        for name, mine in zip(names, outcome.graph.parents, strict=True)
    }
    return after, outcome.stopped


def _refuse_large(parents: Parents, columns: NodeColumns, max_memory: float) -> None:
    """Raise an error for tables that do not fit into memory, before they are allocated."""
    sizes = {variable.name: float(max(variable.size, 1)) for variable in columns.variables}
    cells = {
        node: float(np.prod([sizes[name] for name in (node, *above)])) for node, above in parents.items()
    }
    if 8.0 * sum(cells.values()) > max_memory:
        node = max(cells, key=cells.__getitem__)
        raise TooLarge(
            8.0 * sum(cells.values()),
            max_memory,
            (node, *parents[node]),
            cells[node],
            "Take fewer parents (max_parents=), columns of fewer states, or fewer intervals.",
        )
