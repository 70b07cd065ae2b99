"""Estimates the tables of a network from rows: fit, partial_fit, forget and merge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from bayeskit._data.class_labels import as_weights
from bayeskit._data.table import open_table
from bayeskit._fitting.networks.network_counts import (
    NetworkCounts,
    configurations,
    estimate_softmax,
    estimated,
)
from bayeskit._fitting.search.counted_columns import CountedColumns
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._graphs.network import Network, discrete
from bayeskit._inference.exact import get_max_memory
from bayeskit._networks.arguments import choice, columns_of
from bayeskit._networks.fit.em_fitting import EmRecord, EmSettings, fit_by_em, read_hidden, read_known
from bayeskit._schema import Name
from bayeskit.errors import (
    ColumnError,
    DataError,
    Incompatible,
    NotSupported,
    SettingError,
    TooLarge,
    UsageError,
)
from bayeskit.priors import Laplace, Prior, as_prior, backs_off
from bayeskit.typing import Floats, Seed, TableLike, WeightsLike

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork

# Smoothing of the tables: a prior, by name or number, or a network as imaginary rows.
TablePrior: TypeAlias = "str | float | Prior | BayesianNetwork"


class Fitting:
    """The methods of a network that estimate its distributions. The graph does not change."""

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
        r"""Estimate every table and regression from rows, in place.

        .. math:: \hat P(x = v \mid \pi) = \frac{n_{\pi, v} + a_v}{n_\pi + \sum_u a_u}

        Parameters
        ----------
        data : table with a column for each node
            Columns that are not nodes are ignored.
        method : "counts" or "em"
            How to treat missing cells. "counts": each node uses the rows in which it and its parents are
            present. "em": every row is used, with the expected counts of its missing cells, and the tables
            are re-estimated until convergence. A node that is never observed needs no column, only declared
            states. EM finds a *local* optimum of the likelihood (of the posterior, if the prior adds
            something). It sets ``history_``, ``converged_``, ``n_iter_``, ``fell_`` and ``starts_``. Nodes
            given by set_deterministic do not change.
        smoothing : "mle", "laplace", "bdeu", a number, a prior of `bayeskit.priors`, or a network
            What is added to each cell of the counts: 0 ("mle"), 1 ("laplace"), ess/(q·r) ("bdeu", with ess 1;
            BDeu(10) for another), or the given number. A network over the same nodes acts as imaginary data:
            ``ess`` rows distributed as in that network.
        ess : the number of imaginary rows of a prior network
        variance : "mle" (RSS/n) or "unbiased" (RSS/(n − parameters))
            For continuous nodes. A discrete node with continuous parents is a softmax, fitted by penalised maximum
            likelihood: every weight has a normal prior with standard deviation 10 per standard deviation of the
            parent, which matters only where a number separates the states.
        sample_weight : one number per row
        n_init : the number of starts
            A few steps are made from each, and the best continues. This and all parameters below are for "em"
            only.
        tol : stop when a step changes the objective by less than this per row; 0 makes all steps
        max_iter, time_limit : the maximum number of steps, and of seconds
        random_state : int, numpy Generator or None
            For the starts, which draw the tables of families that no row observes completely, and for
            restarts, which perturb the others.
        hard : complete each row by its most probable states instead of weighting all completions
        accelerate : extrapolate from every two steps (SQUAREM)
        warm_start : start from the existing tables of this network
        start : a network with the same graph and states to start from
        n_jobs : the number of threads; the result does not depend on it
        progress : show the steps

        A parent configuration with neither rows nor prior counts gets a uniform distribution.

        Examples
        --------
        >>> from bayeskit import BayesianNetwork
        >>> network = BayesianNetwork({"rain": [], "wet": ["rain"]})
        >>> rows = {"rain": ["no", "no", "yes", "yes"], "wet": ["no", "no", "yes", "no"]}
        >>> network.fit(rows, smoothing="mle").cpt("wet")["yes", "no"]
        0.5

        The ground was not observed in the last row, but the shoes are wet:

        >>> network = BayesianNetwork({"ground": [], "shoes": ["ground"]})
        >>> rows = {"ground": ["dry", "dry", "wet", None], "shoes": ["dry", "dry", "wet", "wet"]}
        >>> network.fit(rows, smoothing="mle").cpt("ground")["wet"] * 3  # one of three
        1.0
        >>> round(network.fit(rows, smoothing="mle", method="em").cpt("ground")["wet"], 3)
        0.5
        """
        choice(method, "method", ("counts", "em"))
        if not self._network.nodes:
            raise UsageError("The network has no nodes, so there is nothing to learn. Add nodes first.")
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
            return self._fit_by_em(data, settings, sample_weight, em)
        em.refuse()
        return self._fit_columns(_columns_of(self._network, data), settings, sample_weight)

    def _fit_columns(
        self, columns: NodeColumns, settings: dict[str, Any], sample_weight: WeightsLike | None
    ) -> Self:
        network = _with_states(self._network, columns)
        bare = network.without_softmax()
        self._learn(bare, _counted(bare, columns, sample_weight), settings)
        if network.softmax_nodes:
            weights = None if sample_weight is None else as_weights(sample_weight, columns.n_rows)
            self._add_softmax(network, columns, weights)
        return self

    def _add_softmax(self, network: Network, columns: NodeColumns, weights: Floats | None) -> None:
        """Estimate the softmax nodes, which are no function of sums over rows; the others have been estimated."""
        counts, settings = self._learned, self._prior
        nodes = (
            replace(node, distribution=estimate_softmax(network, node, columns, weights))
            if node.name in network.softmax_nodes
            else self._network[node.name]
            for node in network.nodes
        )
        self._become(replace(network, nodes=tuple(nodes)))
        self._learned, self._prior = counts, settings

    def _fit_counts(self, columns: CountedColumns, settings: dict[str, Any]) -> Self:
        _refuse_too_large(self._network)
        self._learn(self._network, NetworkCounts.counted(self._network, columns.count), settings)
        return self

    def _fit_by_em(
        self, data: TableLike, settings: dict[str, Any], sample_weight: WeightsLike | None, em: EmSettings
    ) -> Self:
        em.check()
        self._refuse_batches("EM")
        if not self._network.nodes:
            raise DataError("The network has no nodes to fit.")
        columns = read_hidden(self._network, data)
        network = _with_states(self._network, columns)
        _refuse_too_large(network)
        prior, imaginary = imaginary_cells(network, settings)
        found, record = fit_by_em(network, columns, sample_weight, prior, imaginary, settings["variance"], em)
        self._become(found)
        self._learned = record
        return self

    def partial_fit(self, data: TableLike, *, sample_weight: WeightsLike | None = None) -> Self:
        """Update the network with more rows. The prior is that of `fit` ("bdeu" if `fit` was not called)."""
        self._refuse_batches("partial_fit")
        if self._learned is None:
            return self.fit(data, sample_weight=sample_weight)
        before = self._fitted("partial_fit")
        counts = _counted(self._network, _columns_of(self._network, data), sample_weight)
        self._learn(self._network, before.merge(counts), self._prior)
        return self

    def forget(self, data: TableLike, *, sample_weight: WeightsLike | None = None) -> Self:
        """Remove training rows. The result equals a fit to the remaining rows."""
        self._refuse_batches("forget")
        before = self._fitted("forget")
        counts = _counted(self._network, _columns_of(self._network, data), sample_weight)
        self._learn(self._network, before.subtract(counts), self._prior)
        return self

    def merge(self, other: BayesianNetwork) -> Self:
        """Add the training rows of another network with the same graph."""
        self._refuse_batches("merge")
        theirs = getattr(other, "_learned", None)
        if theirs is None:
            raise UsageError("The other network has no counts: only fitted networks can be added.")
        if isinstance(theirs, EmRecord):
            raise _of_em("merge")
        if not isinstance(theirs, NetworkCounts):
            raise Incompatible("A {kind} is not a Bayesian network.", kind=type(other).__name__)
        self._learn(self._network, self._fitted("merge").merge(theirs), self._prior)
        return self

    def _refuse_batches(self, verb: str) -> None:
        """Raise an error for what needs sums over rows, if some node is not estimated from any."""
        for name in self._network.softmax_nodes[:1]:
            raise NotSupported(
                "{verb} needs sums over rows, and the softmax of {name!r} is not estimated from any. Call fit with all "
                "rows together.",
                verb=verb,
                name=name,
            )

    @property
    def n_rows_(self) -> float:
        """The total weight of the training rows."""
        learned = self._learned
        return learned.n_rows if isinstance(learned, EmRecord) else self._fitted("n_rows_").n_rows

    @property
    def history_(self) -> tuple[float, ...]:
        """The objective of EM at the start and after every step: log-likelihood of all rows plus log prior.

        If it decreased (``fell_``), the tables of the largest value are kept, not the last. For structural
        EM: the score of all rows after the first graph and after each further graph.
        """
        return self._em_record("history_").history

    @property
    def fell_(self) -> bool:
        """Whether ``history_`` ever decreased by more than rounding.

        It cannot decrease if every estimate is maximum likelihood or maximum a posteriori. Two estimates are
        not: ``variance="unbiased"``, and a variance that is at its floor, as in a cell of one row.
        """
        return self._em_record("fell_").fell

    @property
    def converged_(self) -> bool:
        """Whether EM converged."""
        return self._em_record("converged_").converged

    @property
    def n_iter_(self) -> int:
        """The number of EM steps; for structural EM, the number of graphs after the first."""
        return len(self._em_record("n_iter_").history) - 1

    @property
    def starts_(self) -> tuple[float, ...]:
        """The objective that each start of EM reached in its short run (−inf if it failed)."""
        return self._em_record("starts_").starts

    def _em_record(self, name: str) -> EmRecord:
        if not isinstance(self._learned, EmRecord):
            raise AttributeError(
                f'{name} is there after fit(..., method="em"), until the network is changed.'
            )
        return self._learned

    def _fitted(self, verb: str) -> NetworkCounts:
        if self._learned is None:
            raise UsageError(
                "{verb} needs the counts of a fit, and the tables of this network were not fitted. Call fit.",
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
        "{verb} needs counts, and there are none after EM: the expected values of a row depend on all "
        'other rows. Fit all rows together: fit(..., method="em", warm_start=True).',
        verb=verb,
    )


def imaginary_cells(network: Network, settings: dict[str, Any]) -> tuple[Any, dict[Name, Any]]:
    """Return the imaginary counts of each cell, and the nodes that take them from a prior network."""
    prior = settings["prior"]
    if hasattr(prior, "_network"):
        return Laplace(), imaginary_rows(prior, network, settings["ess"])
    return prior, {}


def fit_settings(smoothing: TablePrior, ess: float | None = None, variance: str = "mle") -> dict[str, Any]:
    """Read the settings for estimating tables."""
    if variance not in ("mle", "unbiased"):
        raise SettingError('variance is {variance!r}; choose "mle" or "unbiased".', variance=variance)
    return {"prior": _as_prior(smoothing, ess), "ess": ess, "variance": variance}


def _as_prior(prior: Any, ess: float | None) -> Any:
    if hasattr(prior, "_network"):
        if isinstance(ess, bool) or not isinstance(ess, (int, float)) or not ess > 0:
            raise SettingError(
                "A prior network needs ess=, the number of rows it is worth (above 0), not {ess!r}.",
                ess=ess,
            )
        # A copy: it may be this very network, or change before the next batch.
        return type(prior)._of(prior._network)
    if ess is not None:
        raise SettingError("ess is the number of rows that a prior network is worth; this prior has its own.")
    found = as_prior(prior)
    if not hasattr(found, "cells") or backs_off(found):
        raise SettingError(
            "{prior!r} is a prior for classifiers. Use MLE, Laplace, Lidstone, Dirichlet, MEstimate, MAP, "
            "BDeu or a network.",
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
    """Set the states of nodes without states from their columns."""
    variables = dict(zip(columns.names, columns.variables, strict=True))
    nodes, found_some = [], False
    for node in network.nodes:
        found = variables[node.name]
        if node.is_discrete and not node.variable.size:
            if found.kind != "categorical":
                raise ColumnError(
                    "{name!r} contains floats, as integers with missing values do. Declare it: states={{{name!r}: "
                    "[0, 1]}} if these are states, states={{{name!r}: float}} if it is continuous; or cut it into "
                    "intervals.",
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
    """Raise an error for tables that are too large, before they are allocated."""
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
    r"""Return for each discrete node the expected counts of ``ess`` rows of a prior network.

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
