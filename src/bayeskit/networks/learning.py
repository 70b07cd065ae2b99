"""learn_network: rows of a table → a network, its arcs and its tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bayeskit.errors import SettingError, SuspectResult
from bayeskit.graphs.network import Network, Node
from bayeskit.learning.node_columns import NodeColumns, read_nodes
from bayeskit.learning.progress import progress_of
from bayeskit.learning.search_network import METHODS, Found, Settings, search_network
from bayeskit.networks.arguments import number_below, whole_number
from bayeskit.networks.bayesian_network import BayesianNetwork
from bayeskit.networks.fitting import fit_settings
from bayeskit.networks.memory import allowed
from bayeskit.schema import Name
from bayeskit.structure.arcs import Arcs
from bayeskit.structure.limits import read_limits
from bayeskit.structure.scores import as_score
from bayeskit.structure.tests_of_independence import as_independence_test


def learn_network(
    data: Any,
    method: str = "auto",
    score: Any = "bic",
    *,
    required: Iterable[Any] = (),
    forbidden: Iterable[Any] = (),
    tiers: Sequence[Any] | None = None,
    max_parents: int | None = None,
    order: Sequence[Name] | None = None,
    states: Mapping[Name, Any] | None = None,
    discretize: Any = None,
    prior: Any = "bdeu",
    ess: float = 1.0,
    alpha: float = 0.01,
    test: str = "g2-adf",
    max_given: int | None = 3,
    restarts: int = 0,
    time_limit: float | None = None,
    seed: int = 0,
    max_memory: float | None = None,
    progress: bool = False,
) -> BayesianNetwork:
    """Learn a Bayesian network from the rows of a table: first its arcs, then its tables.

    Shuffling or renaming the columns does not change the answer.

    Parameters
    ----------
    data : any table in memory
        Text, categories, booleans and whole numbers are discrete, floats are continuous (linear-Gaussian, arcs from
        continuous to discrete columns are left out). Scores use the rows without a missing cell, tables all rows where
        the columns they need are there.
    method : {"auto", "hill-climbing", "tabu", "ges", "order", "exact", "k2", "chow-liu", "pc", "mmhc"}
        "auto" searches over classes of equivalent graphs, then over orders of the columns, and keeps the best.
    score : {"bic", "aic", "loglik", "bdeu", "bds", "k2"}
    required, forbidden : (parent, child) pairs
    tiers : lists of columns, the earliest first
        No arc leads from a later tier to an earlier one.
    max_parents : the most parents of a node
    order : columns in an order in which parents come first, for method="k2"
    states : {column: states}
        Declared states, in order; they count even where no row has them.
    discretize : int, or {column: int or cut points}
        Cut continuous columns into intervals.
    prior : the prior of the tables, see `BayesianNetwork.fit`
    ess : the imaginary rows of "bdeu" and "bds"
    alpha, test, max_given : the level of the tests of "pc" and "mmhc", which tests, and how many columns may be given
        "g2", "x2", or "g2-adf", "x2-adf" with the degrees of freedom of the states that occur, or "mi-sh".
    restarts : how often "hill-climbing" and "tabu" begin anew from a disturbed best graph
    time_limit : seconds
        When they have passed, or at Ctrl-C, the best graph so far is taken, with a warning.
    seed : for what is drawn at random
    max_memory : bytes that method="exact" may use
    progress : bool
        Show how many families were scored.

    Examples
    --------
    >>> from bayeskit.networks.examples import wet_grass
    >>> rows = wet_grass().sample(2_000, seed=0)
    >>> sorted(learn_network(rows).cpdag().directed)
    [('rain', 'wet'), ('sprinkler', 'wet')]
    """
    how = fit_settings(prior)
    columns, limits, settings = read_search(
        data,
        method,
        score,
        required=required,
        forbidden=forbidden,
        tiers=tiers,
        max_parents=max_parents,
        order=order,
        states=states,
        discretize=discretize,
        ess=ess,
        alpha=alpha,
        test=test,
        max_given=max_given,
        restarts=restarts,
        time_limit=time_limit,
        seed=seed,
        max_memory=max_memory,
    )
    with progress_of(progress, "families scored") as told:
        found = search_network(columns, limits, settings, told)
    if found.stopped:
        why = "The time limit passed" if found.stopped == "time" else "The search was interrupted"
        warnings.warn(f"{why}: this is the best network found so far.", SuspectResult, stacklevel=2)
    network = BayesianNetwork._of(_network(columns, found))
    return network._fit_columns(columns, how, None)


def read_search(
    data: Any,
    method: str = "auto",
    score: Any = "bic",
    *,
    required: Iterable[Any] = (),
    forbidden: Iterable[Any] = (),
    tiers: Sequence[Any] | None = None,
    max_parents: int | None = None,
    order: Sequence[Name] | None = None,
    states: Mapping[Name, Any] | None = None,
    discretize: Any = None,
    ess: float = 1.0,
    alpha: float = 0.01,
    test: str = "g2-adf",
    max_given: int | None = 3,
    restarts: int = 0,
    time_limit: float | None = None,
    seed: int = 0,
    max_memory: float | None = None,
) -> tuple[NodeColumns, Arcs, Settings]:
    """Read the columns, the limits and the settings of a search; see `learn_network`."""
    if method not in METHODS:
        raise SettingError(f"method is {method!r}; there are {', '.join(METHODS)}.")
    columns = read_nodes(data, states, discretize)
    continuous = [v.name for v in columns.variables if v.kind == "numeric"]
    limits = read_limits(
        columns.names,
        required=required,
        forbidden=forbidden,
        tiers=tiers,
        max_parents=max_parents,
        continuous=continuous,
    )
    settings = Settings(
        method=method,
        score=as_score(score, ess),
        alpha=number_below(alpha, "alpha", 1.0),
        test=as_independence_test(test, continuous=False).name,
        max_given=None if max_given is None else whole_number(max_given, "max_given", 0),
        order=_places(order, columns),
        restarts=whole_number(restarts, "restarts", 0),
        time_limit=None if time_limit is None else number_below(time_limit, "time_limit"),
        seed=whole_number(seed, "seed", 0),
        max_memory=allowed(max_memory),
    )
    return columns, limits, settings


def _network(columns: NodeColumns, found: Found) -> Network:
    names = columns.names
    return Network(
        tuple(
            Node(variable, tuple(names[p] for p in parents))
            for variable, parents in zip(columns.variables, found.parents)
        )
    )


def _places(order: Sequence[Name] | None, columns: NodeColumns) -> list[int] | None:
    if order is None:
        return None
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise SettingError(f"order is {order!r}; give all columns in an order in which parents come first.")
    order = list(order)
    if sorted(map(repr, order)) != sorted(map(repr, columns.names)):
        raise SettingError("order does not name every column once.")
    return [columns.names.index(name) for name in order]
