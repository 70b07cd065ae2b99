"""Learns networks from rows (learn_network) and Markov blankets (learn_blanket)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bayeskit._blas import one_blas_thread
from bayeskit._counting.backend import backend_of
from bayeskit._data.file_options import FileOptions, MarksLike
from bayeskit._data.source import Source, is_in_duckdb
from bayeskit._fitting.long_runs import progress_of
from bayeskit._fitting.search.counted_columns import CountedColumns, counted_columns, given_counts
from bayeskit._fitting.search.independence_tests import IndependenceTests
from bayeskit._fitting.search.node_columns import (
    FileSettings,
    NodeColumns,
    in_pieces,
    read_nodes,
    read_source,
)
from bayeskit._fitting.search.search_network import (
    METHODS,
    SearchResult,
    SearchSettings,
    search_counts,
    search_network,
    seconds_for,
)
from bayeskit._graphs.network import Network, Node
from bayeskit._inference.exact import allowed
from bayeskit._messages import Joined, Message
from bayeskit._networks.arguments import choice, number_below, whole_number
from bayeskit._networks.bayesian_network import BayesianNetwork
from bayeskit._networks.building import GraphLike
from bayeskit._networks.fit.em_fitting import declared_hidden, learn_with_holes, with_hidden
from bayeskit._networks.fit.fitting import TablePrior, fit_settings
from bayeskit._random_state import seed_of
from bayeskit._schema import Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Plan
from bayeskit._structure.search.neighbourhoods import iamb
from bayeskit._structure.search_protocol import (
    Arcs,
    Score,
    answer_all,
    as_independence_test,
    as_score,
    members,
    read_limits,
)
from bayeskit.errors import CannotCount, NeedsRows, SettingError, SuspectResult
from bayeskit.typing import CutsLike, RowSource, Seed, TableLike, WeightsLike

# Structural EM: for rows with missing cells. It alternates between arcs and tables, with no search of its own.
STRUCTURAL = "structural-em"
STRUCTURAL_TAKES = ("criterion", "max_parents", "restarts", "start")

# The default of each setting that not all methods use.
UNSET: dict[str, Any] = {
    "criterion": "bic",
    "max_parents": None,
    "order": None,
    "significance": 0.01,
    "test": None,
    "max_given": 3,
    "restarts": 0,
    "start": None,
}


def methods_taking(setting: str) -> tuple[str, ...]:
    """Return the methods that use a setting.

    >>> methods_taking("restarts")
    ('hill-climbing', 'tabu', 'structural-em')
    """
    by_search = (name for name, method in METHODS.items() if setting in method.takes)
    return (*by_search, STRUCTURAL) if setting in STRUCTURAL_TAKES else tuple(by_search)


def read_settings(
    columns: NodeColumns | CountedColumns,
    method: str = "auto",
    criterion: str | Score = "bic",
    *,
    required: Iterable[Any] = (),
    forbidden: Iterable[Any] = (),
    tiers: Sequence[Any] | None = None,
    max_parents: int | None = None,
    order: Sequence[Name] | None = None,
    ess: float = 1.0,
    significance: float = 0.01,
    test: str | None = None,
    max_given: int | None = 3,
    restarts: int = 0,
    start: GraphLike | None = None,
    time_limit: float | None = None,
    random_state: Seed = 0,
    max_memory: float | None = None,
    read_in_pieces: bool = False,
) -> tuple[Arcs, SearchSettings]:
    """Read the limits and the settings of a search over some columns; see `learn_network`."""
    if method not in (*METHODS, STRUCTURAL):
        raise SettingError(
            "method is {method!r}; choose from {names}.", method=method, names=Joined((*METHODS, STRUCTURAL))
        )
    n_numeric = int((~columns.is_discrete).sum())
    limits = read_limits(
        columns.names,
        required=required,
        forbidden=forbidden,
        tiers=tiers,
        max_parents=max_parents,
        continuous=[v.name for v in columns.variables if v.kind == "numeric"],
    )
    settings = SearchSettings(
        method=method,
        score=as_score(criterion, ess),
        significance=number_below(significance, "significance", 1.0),
        test=None if test is None else _test(test, n_numeric, len(columns.variables)),
        max_given=None if max_given is None else whole_number(max_given, "max_given", 0),
        order=_places(order, columns),
        restarts=whole_number(restarts, "restarts", 0),
        time_limit=None if time_limit is None else number_below(time_limit, "time_limit"),
        seed=seed_of(random_state),
        max_memory=allowed(max_memory),
    )
    given = {
        "criterion": criterion,
        "max_parents": max_parents,
        "order": order,
        "significance": significance,
        "test": test,
        "max_given": max_given,
        "restarts": restarts,
        "start": start,
    }
    _refuse_what_is_not_taken(method, given)
    if ess != 1.0 and (isinstance(criterion, Score) or settings.score.name not in ("bdeu", "bds")):
        raise SettingError(
            "ess is {ess!r}, but criterion={criterion!r} does not use it. It is for bdeu and bds.",
            ess=ess,
            criterion=criterion,
        )
    if max_memory is not None and method != "exact" and not read_in_pieces:
        raise SettingError(
            'max_memory is for method="exact" and for rows read from a file or batches; here method is '
            "{method!r}, and the rows are in memory. Leave it out; set_max_memory limits the tables.",
            method=method,
        )
    return limits, settings


def _refuse_what_is_not_taken(method: str, given: dict[str, Any]) -> None:
    for name, value in given.items():
        methods, unset = methods_taking(name), UNSET[name]
        if method in methods or (type(value) is type(unset) and value == unset):
            continue
        why: str | Message = ""
        if name == "max_parents":
            why = Message(" It tests for adjacency, not for numbers of parents; max_given= bounds its tests.")
        if name == "criterion" and method == "chow-liu":
            why = Message(" Its tree is the maximum-likelihood tree.")
        listed = Joined(map(repr, methods))
        raise SettingError(
            "{name} is {value!r}, which method={method!r} does not take.{why} It is for {listed}.",
            name=name,
            value=value,
            method=method,
            why=why,
            listed=listed,
        )


def _test(name: str, n_numeric: int, n: int) -> str:
    if 0 < n_numeric < n:
        return as_independence_test(name, mixed=True).name
    return as_independence_test(name, continuous=n_numeric > 0).name


def _places(order: Sequence[Name] | None, columns: NodeColumns | CountedColumns) -> list[int] | None:
    if order is None:
        return None
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise SettingError(
            "order is {order!r}; give all columns, with parents before their children.", order=order
        )
    order = list(order)
    if sorted(map(repr, order)) != sorted(map(repr, columns.names)):
        raise SettingError("order must contain every column once.")
    return [columns.names.index(name) for name in order]


# The default limit of parents for structural EM, which enumerates all completions of the missing cells of a family.
MOST_PARENTS = 3


def learn_network(
    data: RowSource | None = None,
    method: str = "auto",
    criterion: str | Score = "bic",
    *,
    required: Iterable[Any] = (),
    forbidden: Iterable[Any] = (),
    tiers: Sequence[Any] | None = None,
    max_parents: int | None = None,
    order: Sequence[Name] | None = None,
    states: Mapping[Any, Any] | None = None,
    discretize: CutsLike = None,
    smoothing: TablePrior = "bdeu",
    ess: float = 1.0,
    significance: float = 0.01,
    test: str | None = None,
    max_given: int | None = 3,
    restarts: int = 0,
    start: GraphLike | None = None,
    time_limit: float | None = None,
    random_state: Seed = 0,
    sample_weight: WeightsLike | None = None,
    statistics: Callable[[Schema, Plan], Statistics] | None = None,
    max_memory: float | None = None,
    progress: bool = False,
    exclude: Sequence[Name] = (),
    keep: Sequence[Name] = (),
    encoding: str | None = None,
    separator: str | None = None,
    missing: MarksLike | None = None,
) -> BayesianNetwork:
    """Learn a Bayesian network from rows: first its arcs, then its tables.

    The result does not depend on the order or the names of the columns. A setting that the method cannot use
    is an error.

    Parameters
    ----------
    data : any source of rows: a table in memory, paths of files, `bayeskit.Batches`, a lazy frame, Dask, Spark, DuckDB
        Rows that are not in memory are read once, and kept in one byte per discrete cell and eight per number. Text,
        categories, booleans and integers are discrete. Floats are continuous (linear-Gaussian, without arcs
        from continuous to discrete columns). Scores use the rows without missing cells; each table uses all
        rows in which its columns are present. Only method="structural-em" uses every row for both. DuckDB
        counts a relation in place if its columns are discrete and have no missing cells.
    method : {"auto", "hill-climbing", "tabu", "ges", "order", "exact", "k2", "chow-liu", "pc", "mmhc", "structural-em"}
        "auto" searches over equivalence classes of graphs (GES), then over orders of the columns, and keeps
        the best. Over more than 100 columns it screens pairs of columns first and ends with tabu search
        instead of orders. "pc" and "mmhc" test no column that repeats another row by row; such columns are joined to
        it afterwards, with a warning. "structural-em" is for discrete columns with missing cells (Friedman). It
        alternates tabu search, over the *expected* counts of every family under the current network, with EM for the
        tables.
        ``history_`` of the network holds the penalised score, log P(observed cells) minus the penalty, after
        each graph; it increases. A node that is declared by ``states`` and has no column, or an empty one, is
        hidden and takes part. No hidden nodes are added automatically. The method finds a local optimum.
    criterion : {"bic", "aic", "loglik", "bdeu", "bds", "k2"}
    required, forbidden : (parent, child) pairs
    tiers : lists of columns, the earliest first
        There are no arcs from a later tier to an earlier one.
    max_parents : the maximum number of parents of a node; not accepted by "pc"
        No limit by default; 3 for "structural-em".
    order : columns in an order with parents first, for method="k2"
    states : {column: states}
        Declared states, in order. They count even if no row has them.
    discretize : int, or {column: int or cut points}
        Cut continuous columns into intervals. A number for all also cuts integers of more than 30 values.
    smoothing : what is added to the counts of the tables, see `BayesianNetwork.fit`
    ess : the number of imaginary rows of "bdeu" and "bds"
    significance, test, max_given : for "pc" and "mmhc"
        The level of the tests, the kind of test, and the maximum number of columns to condition on. The tests
        for discrete columns are "g2-adf" (the default; degrees of freedom from the states that occur), "g2",
        "x2", "x2-adf" or "mi-sh". For continuous columns "cor" (the default), "zf" or "mi-g". For both
        together "mi-cg".
    restarts : int
        How often "hill-climbing" and "tabu" restart from a perturbed best graph. For "structural-em", in each
        of its searches.
    start : a network, a mapping node → parents, or a list of (parent, child)
        The initial graph of "structural-em". By default, the graph learned from the rows without missing
        cells, with hidden nodes as parents of all others.
    time_limit : seconds
        After this time, or after Ctrl-C, the best graph so far is taken, with a warning. By default there is
        none, except for "auto" over more than 100 columns: 0.1 s for each column, and at least 30 s.
    random_state : for methods that use random numbers; the others ignore it
    sample_weight : one number per row, or the name of the column with the weights, which is then not a node
        A row of weight w counts as w rows in scores, tests and tables.
    statistics : function (schema, plan) → `bayeskit.Statistics`, instead of ``data``
        For rows that are counted elsewhere. It is called repeatedly, each time for everything that a step of
        the search needs. It must count the terms of the plan over all rows, by the codes of the schema, as in
        ``Statistics.from_cell_tables(schema, plan, cells)``. Counts from several places may be added.
        ``states`` must declare every column, and no cell may be missing.
    max_memory : the limit in bytes for method="exact", and for the rows kept of a file or of batches
    progress : bool
        Show the number of scored families.
    exclude : column names to leave out
    keep : column names
        Columns of a file to use that would be left out: identifiers, dates and constants. A column that
        ``states`` or ``discretize`` names is used, too. ``reading_`` of the network says how a file was read
        and what was left out.
    encoding, separator, missing : how a file is read, as in :meth:`bayeskit.NaiveBayes.fit`

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> rows = wet_grass().sample(2_000, random_state=0)
    >>> sorted(learn_network(rows).cpdag().directed)
    [('rain', 'wet'), ('sprinkler', 'wet')]
    """
    how = fit_settings(smoothing)
    file = _file_settings(exclude, keep, encoding, separator, missing)
    structural = isinstance(method, str) and method == STRUCTURAL
    given: dict[str, Any] = {
        "required": required,
        "forbidden": forbidden,
        "tiers": tiers,
        "max_parents": max_parents,
        "order": order,
        "ess": ess,
        "significance": significance,
        "test": test,
        "max_given": max_given,
        "restarts": restarts,
        "start": start,
        "time_limit": time_limit,
        "random_state": random_state,
        "max_memory": max_memory,
    }
    counted = None
    if not structural or statistics is not None or not Source(data).in_partitions:
        counted = _counted_elsewhere(data, statistics, states, discretize, sample_weight, file.exclude)
    if counted is not None:
        if structural:
            raise NeedsRows(
                f"method={STRUCTURAL!r}", data if statistics is None else statistics, 'Use "auto".'
            )
        limits, settings = read_settings(counted, method, criterion, **given)
        with one_blas_thread, progress_of(progress, _progress_unit(settings, counted)) as show:
            found = search_counts(counted, limits, settings, show)
        return _learned_network(counted, found, settings)._fit_counts(counted, how)
    states, hidden = declared_hidden(data, states) if structural else (states, ())
    pieces = in_pieces(data)
    limit = _for_reading(pieces, max_memory)
    columns, weights = read_source(data, states, discretize, sample_weight, limit, file=file)
    if structural:
        columns = with_hidden(columns, hidden)
        given["max_parents"] = MOST_PARENTS if max_parents is None else max_parents
    limits, settings = read_settings(columns, method, criterion, **given, read_in_pieces=pieces)
    if structural:
        return learn_with_holes(columns, limits, settings, start, how["prior"], weights, progress=progress)
    with one_blas_thread, progress_of(progress, _progress_unit(settings, columns)) as show:
        found = search_network(columns, limits, settings, show, weights)
    return _learned_network(columns, found, settings)._fit_columns(columns, how, weights)


def _progress_unit(settings: SearchSettings, columns: NodeColumns | CountedColumns) -> str:
    unit = "tests made" if settings.method == "pc" else "families scored"
    seconds = seconds_for(settings, len(columns.names))
    return unit if seconds is None else f"{unit}, at most {seconds:g} s"


def _counted_elsewhere(
    data: RowSource | None,
    statistics: Callable[[Schema, Plan], Statistics] | None,
    states: Mapping[Any, Any] | None,
    discretize: CutsLike,
    sample_weight: WeightsLike | None,
    exclude: Sequence[Name],
) -> CountedColumns | None:
    """Return the columns of rows that are counted in place; None if there are rows to read.

    DuckDB counts relations whose columns are discrete and have no missing cells; the rows of others are read.
    """
    if statistics is None:
        source = Source(data)
        backend = backend_of(source)
        # A search asks a cluster for counts hundreds of times: codes are read once.
        if backend is None or (source.in_partitions and not is_in_duckdb(source)):
            return None
        try:
            columns = counted_columns(backend, data, states, discretize, sample_weight, exclude)
        except (CannotCount, NeedsRows):
            if source.in_partitions:
                return None
            raise
        return columns if not source.in_partitions or columns.is_complete else None
    given = {
        "data": data,
        "discretize": discretize,
        "sample_weight": sample_weight,
        "exclude": exclude or None,
    }
    for name, value in given.items():
        if value is not None:
            raise SettingError(
                "{name} is given together with statistics=, which counts rows that are elsewhere. Leave one of "
                "the two out.",
                name=name,
            )
    return given_counts(statistics, states)


def _learned_network(
    columns: NodeColumns | CountedColumns, found: SearchResult, settings: SearchSettings
) -> BayesianNetwork:
    """Return the network that a search found, without tables."""
    if found.stopped:
        why = Message("The search was interrupted")
        if found.stopped == "time" and settings.time_limit is not None:
            why = Message("The time limit passed")
        elif found.stopped == "time":
            why = Message(
                "The default search takes {seconds:g} s for {n:,} columns, and they passed (time_limit= sets another "
                "limit)",
                seconds=found.seconds,
                n=len(columns.names),
            )
        warnings.warn(SuspectResult("{why}: this is the best network found so far.", why=why), stacklevel=3)
    names = columns.names
    arcs = [tuple(names[p] for p in parents) for parents in found.parents]
    nodes = [Node(variable, parents) for variable, parents in zip(columns.variables, arcs, strict=True)]
    return BayesianNetwork._of(Network(tuple(nodes), reading=columns.reading))


def _file_settings(
    exclude: Sequence[Name],
    keep: Sequence[Name],
    encoding: str | None,
    separator: str | None,
    missing: MarksLike | None,
) -> FileSettings:
    def names(given: Sequence[Name]) -> tuple[Name, ...]:
        return (given,) if isinstance(given, str) else tuple(given)

    return FileSettings(names(keep), names(exclude), FileOptions(encoding, separator, missing))


def read_search(
    data: RowSource,
    method: str = "auto",
    criterion: str | Score = "bic",
    *,
    states: Mapping[Any, Any] | None = None,
    discretize: CutsLike = None,
    max_memory: float | None = None,
    exclude: Sequence[Name] = (),
    keep: Sequence[Name] = (),
    encoding: str | None = None,
    separator: str | None = None,
    missing: MarksLike | None = None,
    **how: Any,
) -> tuple[NodeColumns, Arcs, SearchSettings]:
    """Read the columns, the limits and the settings of a search; see `learn_network`."""
    if isinstance(method, str) and method == STRUCTURAL:
        raise SettingError(
            "method={structural!r} learns arcs and tables together. Use it with learn_network; choose a "
            "search here.",
            structural=STRUCTURAL,
        )
    pieces = in_pieces(data)
    file = _file_settings(exclude, keep, encoding, separator, missing)
    columns, _ = read_source(data, states, discretize, None, _for_reading(pieces, max_memory), file=file)
    limits, settings = read_settings(
        columns, method, criterion, max_memory=max_memory, read_in_pieces=pieces, **how
    )
    return columns, limits, settings


def _for_reading(pieces: bool, max_memory: float | None) -> float:
    """Return the memory limit for rows; a table in memory needs no more."""
    return allowed(max_memory) if pieces else math.inf


def learn_blanket(
    data: TableLike,
    target: Name,
    *,
    method: str = "inter-iamb",
    significance: float = 0.01,
    test: str = "g2-adf",
    states: Mapping[Any, Any] | None = None,
    discretize: CutsLike = None,
) -> tuple[Name, ...]:
    """Find the Markov blanket of a column: given these columns, all others are irrelevant to it.

    No network is learned. Columns are added while they depend on the target given those found so far, and
    removed when they no longer do. The result is the set of attributes that a classifier needs.

    Parameters
    ----------
    data : any table in memory; rows with missing cells are left out
    target : a column
    method : {"inter-iamb", "iamb"}
        "inter-iamb" removes columns after each addition, so that the conditioning sets stay small.
    significance : the level of the tests
    test : {"g2-adf", "g2", "x2", "x2-adf", "mi-sh"}
    states, discretize : as in `learn_network`; continuous columns must be cut into intervals

    Examples
    --------
    >>> from bayeskit.networks import asia
    >>> learn_blanket(asia().sample(20_000, random_state=0), "smoke")
    ('lung', 'bronc')

    References
    ----------
    I. Tsamardinos, C. F. Aliferis, A. Statnikov, "Algorithms for large scale Markov blanket discovery", FLAIRS 2003.
    """
    inter = choice(method, "method", ("inter-iamb", "iamb")) == "inter-iamb"
    columns = read_nodes(data, states, discretize)
    if target not in columns.names:
        raise SettingError(
            "There is no column {target!r}. The columns are {names}.",
            target=target,
            names=Joined(map(repr, columns.names[:12])),
        )
    numeric = next((v.name for v in columns.variables if v.kind == "numeric"), None)
    if numeric is not None:
        raise SettingError(
            "{numeric!r} is continuous, and these tests need states. Pass discretize=5.", numeric=numeric
        )
    place = columns.canonical_order()
    ordered = columns.reordered(place)
    tests = IndependenceTests(
        ordered.code_matrix(), ordered.sizes, as_independence_test(test, continuous=False).name
    )
    found = answer_all(
        iamb(len(place), ordered.names.index(target), number_below(significance, "significance", 1.0), inter),
        tests,
    )
    inside = {int(place[v]) for v in members(found)}
    return tuple(name for v, name in enumerate(columns.names) if v in inside)
