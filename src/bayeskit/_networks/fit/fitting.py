"""How the tables of a network are learned from rows: at once, batch by batch, by forgetting, by adding networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from bayeskit._data.source import as_weights
from bayeskit._data.table import open_table
from bayeskit._fitting.networks.network_counts import NetworkCounts, configurations, estimated
from bayeskit._fitting.search.counted_columns import CountedColumns
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._graphs.network import Network, discrete
from bayeskit._inference.exact import get_max_memory
from bayeskit._networks.arguments import choice
from bayeskit._networks.data_rows import columns_of
from bayeskit._networks.fit.em_fitting import EmRecord, EmSettings, climb_network, read_hidden, read_known
from bayeskit._schema import Name
from bayeskit.errors import ColumnError, DataError, Incompatible, SettingError, TooLarge, UsageError
from bayeskit.priors import Laplace, Prior, as_prior, backs_off
from bayeskit.typing import Floats, Seed, TableLike, WeightsLike

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork

# What is added to the counts of tables: a prior, by name or by a number, or a network as imaginary rows.
TablePrior: TypeAlias = "str | float | Prior | BayesianNetwork"


class Fitting:
    """The part of a network that learns its distributions; its graph stays as it is."""

    _network: Network
    _learned: NetworkCounts | EmRecord | None
    _prior: dict[str, Any]
    _become: Callable[[Network], None]

    def fit(
        self,
        data: TableLike,
        *,
        method: str = "counts",
        smoothing: TablePrior = "bdeu",
        ess: float | None = None,
        variance: str = "mle",
        sample_weight: WeightsLike | None = None,
        n_init: int = 1,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Seed = 0,
        hard: bool = False,
        accelerate: bool = True,
        time_limit: float | None = None,
        warm_start: bool = False,
        start: BayesianNetwork | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Self:
        r"""Estimate every table and regression from rows; in place.

        .. math:: \hat P(x = v \mid \pi) = \frac{n_{\pi, v} + a_v}{n_\pi + \sum_u a_u}

        Parameters
        ----------
        data : table with a column for each node
            Columns that are no node are not looked at.
        method : "counts" or "em"
            What becomes of missing cells. "counts": a node counts the rows where it and its parents are present.
            "em": every row counts with what its cells tell of the missing ones, again and again until nothing
            changes; a node that is never observed needs no column, only its states declared. EM finds a *local*
            optimum of the likelihood (of the posterior, where the prior adds something). It sets ``history_``,
            ``converged_``, ``n_iter_``, ``fell_`` and ``starts_``; nodes given by set_deterministic stay as they are.
        smoothing : "mle", "laplace", "bdeu", a number, a prior of `bayeskit.priors`, or a network
            What is added to the counts: nothing, one a cell, ess/(q·r) a cell (ess 1 by name; BDeu(10) for
            another), so much a cell. A network over the same nodes is imaginary data: ``ess`` rows drawn from it.
        ess : the imaginary rows that a prior network is worth
        variance : "mle" (RSS/n) or "unbiased" (RSS/(n − parameters))
            Of continuous nodes.
        sample_weight : one number a row
        n_init : starts; a few steps are made from each, and the best goes on. From here on: of "em" alone
        tol : stop when a step changes the value by less than this a row; 0 makes all steps
        max_iter, time_limit : the most steps, the most seconds
        random_state : of starts: tables of families that no row shows whole are drawn, and restarts shake the others
        hard : complete each row by its most probable states instead of weighing all of them
        accelerate : extrapolate from every two steps (SQUAREM)
        warm_start : begin from this network's tables where it has them
        start : a network of the same graph and states to begin from
        n_jobs : threads; the result does not depend on it
        progress : show the steps

        A configuration of parents that neither rows nor prior speak of gets a uniform row.

        Examples
        --------
        >>> from bayeskit import BayesianNetwork
        >>> network = BayesianNetwork({"rain": [], "wet": ["rain"]})
        >>> rows = {"rain": ["no", "no", "yes", "yes"], "wet": ["no", "no", "yes", "no"]}
        >>> network.fit(rows, smoothing="mle").cpt("wet")["yes", "no"]
        0.5

        The ground was not looked at in the last row, but the shoes are wet:

        >>> network = BayesianNetwork({"ground": [], "shoes": ["ground"]})
        >>> rows = {"ground": ["dry", "dry", "wet", None], "shoes": ["dry", "dry", "wet", "wet"]}
        >>> network.fit(rows, smoothing="mle").cpt("ground")["wet"] * 3  # one of three
        1.0
        >>> round(network.fit(rows, smoothing="mle", method="em").cpt("ground")["wet"], 3)
        0.5
        """
        choice(method, "method", ("counts", "em"))
        settings = fit_settings(smoothing, ess, variance)
        em = EmSettings(
            n_init,
            tol,
            max_iter,
            random_state,
            hard,
            accelerate,
            time_limit,
            warm_start,
            start,
            n_jobs,
            progress,
        )
        if method == "em":
            return self._climb(data, settings, sample_weight, em)
        em.refuse()
        return self._fit_columns(_columns_of(self._network, data), settings, sample_weight)

    def _fit_columns(
        self, columns: NodeColumns, settings: dict[str, Any], sample_weight: WeightsLike | None
    ) -> Self:
        network = _with_states(self._network, columns)
        self._learn(network, _counted(network, columns, sample_weight), settings)
        return self

    def _fit_counts(self, columns: CountedColumns, settings: dict[str, Any]) -> Self:
        _refuse_too_large(self._network)
        self._learn(self._network, NetworkCounts.counted(self._network, columns.count), settings)
        return self

    def _climb(
        self, data: TableLike, settings: dict[str, Any], sample_weight: WeightsLike | None, em: EmSettings
    ) -> Self:
        em.check()
        if not self._network.nodes:
            raise DataError("The network has no nodes to fit.")
        columns = read_hidden(self._network, data)
        network = _with_states(self._network, columns)
        _refuse_too_large(network)
        prior, imaginary = imaginary_cells(network, settings)
        found, climbed = climb_network(
            network, columns, sample_weight, prior, imaginary, settings["variance"], em
        )
        self._become(found)
        self._learned = climbed
        return self

    def partial_fit(self, data: TableLike, *, sample_weight: WeightsLike | None = None) -> Self:
        """Add rows to those the network was fitted on; the prior is that of `fit` ("bdeu" where it was not called)."""
        if self._learned is None:
            return self.fit(data, sample_weight=sample_weight)
        before = self._fitted("partial_fit")
        counts = _counted(self._network, _columns_of(self._network, data), sample_weight)
        self._learn(self._network, before.merge(counts), self._prior)
        return self

    def forget(self, data: TableLike, *, sample_weight: WeightsLike | None = None) -> Self:
        """Take rows away that the network was fitted on: what is left equals a fit on the others."""
        before = self._fitted("forget")
        counts = _counted(self._network, _columns_of(self._network, data), sample_weight)
        self._learn(self._network, before.subtract(counts), self._prior)
        return self

    def merge(self, other: BayesianNetwork) -> Self:
        """Add the rows that another network of the same graph was fitted on."""
        theirs = getattr(other, "_learned", None)
        if theirs is None:
            raise UsageError(
                "The other network holds no counts: only networks that were fitted can be added."
            )
        if isinstance(theirs, EmRecord):
            raise _of_em("merge")
        if not isinstance(theirs, NetworkCounts):
            raise Incompatible("A {kind} is no Bayesian network.", kind=type(other).__name__)
        self._learn(self._network, self._fitted("merge").merge(theirs), self._prior)
        return self

    @property
    def n_rows_(self) -> float:
        """The weight of the rows that the network was fitted on."""
        learned = self._learned
        return learned.n_rows if isinstance(learned, EmRecord) else self._fitted("n_rows_").n_rows

    @property
    def history_(self) -> tuple[float, ...]:
        """What EM climbed, at its start and after every step: the log-likelihood of all rows, with the prior's term.

        Where it fell (``fell_``) the tables kept are those of its largest value, not of the last. Of structural EM: the
        score of all rows with its first graph and with every further one.
        """
        return self._climbed("history_").history

    @property
    def fell_(self) -> bool:
        """Whether ``history_`` ever fell by more than rounding.

        It cannot while every estimate is the one of largest likelihood or posterior; ``variance="unbiased"`` is not,
        nor is a variance of a continuous node that stands on its floor, as in a cell of one row.
        """
        return self._climbed("fell_").fell

    @property
    def converged_(self) -> bool:
        """Whether EM ended because nothing changed any more."""
        return self._climbed("converged_").converged

    @property
    def n_iter_(self) -> int:
        """How many steps EM made; of structural EM, how many graphs came after the first."""
        return len(self._climbed("n_iter_").history) - 1

    @property
    def starts_(self) -> tuple[float, ...]:
        """The value that each start of EM reached in its short run (−inf where it failed)."""
        return self._climbed("starts_").starts

    def _climbed(self, name: str) -> EmRecord:
        if not isinstance(self._learned, EmRecord):
            raise AttributeError(
                f'{name} is there after fit(..., method="em"), until the network is changed.'
            )
        return self._learned

    def _fitted(self, verb: str) -> NetworkCounts:
        if self._learned is None:
            raise UsageError(
                "{verb} needs the counts of a fit, and this network's tables were not fitted. Call fit.",
                verb=verb,
            )
        if isinstance(self._learned, EmRecord):
            raise _of_em(verb)
        return self._learned

    def _learn(self, network: Network, counts: NetworkCounts, settings: dict[str, Any]) -> None:
        prior, imaginary = imaginary_cells(network, settings)
        found = estimated(network, counts, prior, imaginary, settings["variance"])
        self._become(found)
        self._learned, self._prior = counts, settings


def _of_em(verb: str) -> UsageError:
    return UsageError(
        "{verb} needs counts, and after EM there are none: what a row was expected to hold depends on all the others. "
        'Fit the rows together, fit(..., method="em", warm_start=True).',
        verb=verb,
    )


def imaginary_cells(network: Network, settings: dict[str, Any]) -> tuple[Any, dict[Name, Any]]:
    """Return what is added to each cell, and for which nodes a prior network says it instead."""
    prior = settings["prior"]
    if hasattr(prior, "_network"):
        return Laplace(), imaginary_rows(prior, network, settings["ess"])
    return prior, {}


def fit_settings(smoothing: TablePrior, ess: float | None = None, variance: str = "mle") -> dict[str, Any]:
    """Read how tables are to be estimated."""
    if variance not in ("mle", "unbiased"):
        raise SettingError('variance is {variance!r}; it is "mle" or "unbiased".', variance=variance)
    return {"prior": _as_prior(smoothing, ess), "ess": ess, "variance": variance}


def _as_prior(prior: Any, ess: float | None) -> Any:
    if hasattr(prior, "_network"):
        if isinstance(ess, bool) or not isinstance(ess, (int, float)) or not ess > 0:
            raise SettingError(
                "A prior network needs ess=, the rows it is worth (above 0), not {ess!r}.",
                ess=ess,
            )
        # As it is now: it may be this very network, or be changed before the next batch.
        return type(prior)._of(prior._network)
    if ess is not None:
        raise SettingError("ess is how many rows a prior network is worth; this prior has its own.")
    found = as_prior(prior)
    if not hasattr(found, "cells") or backs_off(found):
        raise SettingError(
            "{prior!r} is a prior of classifiers. Use MLE, Laplace, Lidstone, Dirichlet, MEstimate, MAP, BDeu or a "
            "network.",
            prior=prior,
        )
    return found


def _columns_of(network: Network, data: TableLike) -> NodeColumns:
    """Read the columns of the nodes; every node must have one."""
    nodes = network.dag.nodes
    return read_known(
        network, data, {**dict(zip(nodes, nodes, strict=True)), **columns_of(nodes, open_table(data).names)}
    )


def _with_states(network: Network, columns: NodeColumns) -> Network:
    """Give nodes that have none the states of their columns."""
    variables = dict(zip(columns.names, columns.variables, strict=True))
    nodes, found_some = [], False
    for node in network.nodes:
        found = variables[node.name]
        if node.is_discrete and not node.variable.size:
            if found.kind != "categorical":
                raise ColumnError(
                    "{name!r} holds floats, as whole numbers with gaps do. Declare it: "
                    "states={{{name!r}: [0, 1]}}, say, if these are states, states={{{name!r}: float}} if "
                    "it is continuous; or cut it into intervals.",
                    name=node.name,
                )
            node, found_some = replace(node, variable=discrete(node.name, found.states)), True
        nodes.append(node)
    return replace(network, nodes=tuple(nodes)) if found_some else network


def _counted(network: Network, columns: NodeColumns, sample_weight: WeightsLike | None) -> NetworkCounts:
    if not network.nodes:
        raise DataError("The network has no nodes to fit.")
    weights = None if sample_weight is None else as_weights(sample_weight, columns.n_rows)
    _refuse_too_large(network)
    return NetworkCounts.of(network, columns, weights)


def _refuse_too_large(network: Network) -> None:
    """Refuse tables that would not fit, before they are laid out."""
    cells = {node.name: _cells(network, node.name) for node in network.nodes}
    # Counts, imaginary counts, their sum and the table itself.
    needed = 4 * 8 * sum(cells.values())
    if needed > get_max_memory():
        largest = max(cells, key=cells.__getitem__)
        raise TooLarge(
            needed,
            get_max_memory(),
            (*network[largest].parents, largest),
            cells[largest],
            way_out="Give nodes fewer parents (max_parents= where they are learned), or see set_max_memory.",
        )


def _cells(network: Network, name: Name) -> int:
    if network[name].is_discrete:
        return math.prod(network.shape_of(name))
    _, numeric, size = configurations(network, name)
    # Sums of products, each as two doubles.
    return size * 2 * (len(numeric) + 2) ** 2


def imaginary_rows(prior: BayesianNetwork, network: Network, ess: float) -> dict[Name, Floats]:
    r"""Return for each discrete node the counts that ``ess`` rows of a prior network are expected to give.

    .. math:: a_{\pi, v} = w \, P_0(\pi, x = v)

    The prior network may have other arcs; its nodes and states must be the same.
    """
    theirs: Network = prior._network
    found = {}
    for node in network.nodes:
        if not node.is_discrete:
            continue
        family = (*node.parents, node.name)
        for name in family:
            if name not in theirs.dag.position or set(theirs[name].variable.states) != set(
                network[name].variable.states
            ):
                raise Incompatible("The prior network has no node {name!r} with the same states.", name=name)
        joint = prior.query(list(family))
        order = [
            [theirs[name].variable.codes[state] for state in network[name].variable.states] for name in family
        ]
        found[node.name] = ess * joint.values[np.ix_(*order)]
    return found
