"""The tables of a network classifier where the class of some rows is not known: EM over its network."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.columns import network_of, with_class
from bayeskit.data.missing_labels import MissingLabels
from bayeskit.data.source import Source
from bayeskit.errors import ColumnError, NotConverged
from bayeskit.graphs.dag import Dag
from bayeskit.graphs.network import Network
from bayeskit.learning.em import Climb, Climbing, climb
from bayeskit.learning.networks.network_em import NetworkProblem
from bayeskit.learning.networks.network_starts import start_network
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.unlabelled.network_weight import LeftOutRows
from bayeskit.learning.unlabelled.semi_supervised import LEAST_GAIN, MOST_STEPS
from bayeskit.learning.unlabelled.unlabelled_weight import CANDIDATES
from bayeskit.networks.bayesian_network import BayesianNetwork
from bayeskit.networks.learned.climbs import Climbed
from bayeskit.networks.learned.fitting import fit_settings
from bayeskit.networks.memory import get_max_memory
from bayeskit.schema import Name


@dataclass(frozen=True)
class Completion:
    """A network with unlabelled rows in it; None where λ = 0 was chosen, and the labelled rows alone tell."""

    network: BayesianNetwork | None
    columns: NodeColumns
    weight: float
    climb: Climb[Network] | None
    losses: dict[float, float]


def complete_network(
    source: Source, labelled: NodeColumns, dag: Dag, target: Name, settings: Any
) -> Completion:
    """Fit a graph that labelled rows have chosen to all rows.

    Parameters
    ----------
    source : Source, of all rows
    labelled : NodeColumns
        The labelled ones: kinds and cut points of columns are theirs, states are those of all.
    dag : Dag over some of the columns and the class
    target : name of the class
    settings : the classifier, or anything with its parameters as attributes
        ``unlabelled_weight="loo"``: λ is the candidate with the least log-loss on labelled rows, each left out of the
        counts, while those of the unlabelled rows are held.
    """
    rows = next(iter(source))
    missing = MissingLabels.found(source, settings.missing_label).rows(rows.y, rows.table.n_rows)
    cuts = {v.name: list(v.cuts) for v in labelled.variables if v.cuts is not None}
    numeric = [v.name for v in labelled.variables if v.kind == "numeric"]
    columns, _ = with_class(
        rows.table,
        rows.y,
        source.target,
        settings.states,
        cuts or None,
        missing=missing,
        continuous=numeric,
    )
    for before, after in zip(labelled.variables, columns.variables, strict=True):
        if before.kind != after.kind:
            raise ColumnError(
                f"{before.name!r} holds whole numbers in the labelled rows and others in the unlabelled ones. Make it "
                f"float, cut it (discretize={{{before.name!r}: 5}}), or declare its states."
            )
    prior = fit_settings(settings.prior)["prior"]
    network = network_of(dag, columns)
    chosen = settings.unlabelled_weight
    losses: dict[float, float] = {}
    if isinstance(chosen, str):
        losses = _losses(network, columns, target, missing, prior, settings.seed)
        # Of equal losses the smaller weight is taken; rounding alone does not choose.
        chosen = next(w for w in CANDIDATES if losses[w] * (1.0 - 1e-12) <= min(losses.values()))
        if chosen == 0.0:
            return Completion(None, columns, 0.0, None, losses)
    weights = np.where(missing, float(chosen), 1.0)
    climb = climb_unlabelled(network, columns, weights, prior, settings.seed)
    found = BayesianNetwork._of(climb.parameters)
    total = float(weights.sum())
    found._learned = Climbed(climb.history, climb.converged, (climb.value,), total, climb.fell)
    return Completion(found, columns, float(chosen), climb, losses)


def _losses(
    network: Network, columns: NodeColumns, target: Name, missing: NDArray[np.bool_], prior: Any, seed: int
) -> dict[float, float]:
    """Return the log-loss of labelled rows, each left out, under every weight."""
    rows = LeftOutRows(
        lambda some: _problem(network, some, None, prior), columns, target, np.flatnonzero(~missing)
    )
    found = {}
    for weight in CANDIDATES:
        weights = np.where(missing, weight, 1.0)
        with warnings.catch_warnings():
            # Only the weight that is taken has something to say.
            warnings.simplefilter("ignore", NotConverged)
            climb = climb_unlabelled(network, columns, weights, prior, seed)
        found[weight] = rows.loss(_problem(network, columns, weights, prior), climb.parameters)
    return found


def _problem(network: Network, columns: NodeColumns, weights: NDArray[np.float64] | None, prior: Any) -> Any:
    made: Any = NetworkProblem
    if not network.is_discrete:
        from bayeskit.learning.networks.network_em_mixed import MixedNetworkProblem

        made = MixedNetworkProblem
    return made(network, columns, weights, prior, max_memory=get_max_memory())


def climb_unlabelled(
    network: Network, columns: NodeColumns, weights: NDArray[np.float64], prior: Any, seed: int
) -> Climb[Network]:
    r"""Estimate the tables by EM, the class being one more missing cell.

    .. math:: \sum_{i \in L} \log P(c_i, x_i) + \lambda \sum_{u \in U} \log P(x_u) + \sum a \log \theta

    is climbed, a being the imaginary counts of the prior. Other cells that are missing are summed out too.

    Parameters
    ----------
    network : Network
        The graph, with the states of all columns.
    columns : NodeColumns
    weights : array of shape (n,)
        1 for labelled rows, λ for the others.
    prior : prior of the tables
    seed : int
        Of the tables that no row shows whole.
    """
    problem = _problem(network, columns, weights, prior)
    start = start_network(network, columns, weights, np.random.default_rng(seed), jitter=False)
    how = Climbing(LEAST_GAIN * float(weights.sum()), MOST_STEPS, accelerate=True)
    found = climb(problem, start, how)
    if not found.converged and found.stopped is None:
        warnings.warn(
            f"EM over the unlabelled rows was still moving after {found.n_iter} steps (see history_). The network is "
            "that of the best step; a smaller unlabelled_weight often settles sooner.",
            NotConverged,
            stacklevel=5,
        )
    return found
