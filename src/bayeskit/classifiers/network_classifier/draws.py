"""Draws of a network's tables from their posterior, and what the families of rows are worth under each."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.cells import NodeCells
from bayeskit.classifiers.network_classifier.joint import cell_places
from bayeskit.estimation.linear_family import LEAST_VARIANCE
from bayeskit.estimation.posterior_draws import Draws, log_dirichlet, normal_draws
from bayeskit.networks.learned.fitting import imaginary_cells
from bayeskit.priors import MAP
from bayeskit.schema import Name
from bayeskit.statistics.regressions import Regressions

Floats = NDArray[np.float64]

# Singular directions of the parents' scatter below this share of the largest say nothing of the slopes.
_NO_SPREAD = 1e-12


class NetworkDraws:
    """The tables and regressions of a fitted network, each drawn when a row first needs it.

    A row of a table is Dirichlet(n + a), a being the imaginary counts of the prior. A regression has the posterior of
    the reference prior, with one imaginary row beside the rows, which has the variance within configurations and says
    nothing of the mean: so it is proper also where there is one row.

    Parameters
    ----------
    network : BayesianNetwork that was fitted by counting
    draws : Draws
    """

    def __init__(self, network: Any, draws: Draws) -> None:
        self._network, self._draws = network._network, draws
        self._counts = network._fitted("predict_interval")
        self._prior, self._given = imaginary_cells(self._network, network._prior)
        self._known: dict[Name, Any] = {}

    def log_draws(self, cells: NodeCells, name: Name) -> Floats:
        """Return log P(node | parents) under every draw: shape (n, K, draws), or (n, 1, draws) without the class."""
        discrete = self._network[name].is_discrete
        return self._tables(cells, name) if discrete else self._densities(cells, name)

    def _of(self, name: Name, make: Callable[[Name], Any]) -> Any:
        if name not in self._known:
            self._known[name] = make(name)
        return self._known[name]

    def _cells_of(self, name: Name) -> Floats:
        """Return real and imaginary counts: a row for each configuration of the parents, a column for each state."""
        counts = self._counts.table(self._network, name)
        variable = self._network[name].variable
        added = self._given.get(name)
        if added is None:
            added = self._prior.cells(variable, math.prod(counts.shape[:-1]))
        # The mode of Dirichlet(a) is the mean of one with a row less in each cell: that row stands behind it.
        behind = 1.0 if isinstance(self._prior, MAP) else 0.0
        return np.asarray((counts + added + behind).reshape(-1, variable.size))

    def _tables(self, cells: NodeCells, name: Name) -> Floats:
        parameters = self._of(name, self._cells_of)
        node, draws = self._network[name], self._draws
        size = node.variable.size
        place = cell_places(cells, (*node.parents, name))
        found, which = np.unique(place, return_inverse=True)
        logs = np.empty((len(found), draws.n))
        key = self._network.dag.position[name]
        for i, cell in enumerate(found.tolist()):
            row, state = divmod(cell, size)
            make = partial(log_dirichlet, counts=parameters[row][:, None], draws=draws.n)
            drawn = draws.get((key, row), make)
            logs[i] = drawn[state, :, 0]
        return logs[which.reshape(place.shape)]

    def regression(self, name: Name, cell: int) -> tuple[Floats, Floats]:
        """Return draws of one regression, and the centre of its parents.

        Each draw is the mean where the parents are at their centre, the deviation, and the slopes.
        """
        normals: _Normals = self._of(name, lambda n: _Normals(self._counts.regressions[n]))
        key = (self._network.dag.position[name], cell)
        return self._draws.get(key, partial(normals.draw, cell=cell, n=self._draws.n)), normals.parents[cell]

    def _densities(self, cells: NodeCells, name: Name) -> Floats:
        node, position = self._network[name], self._network.dag.position
        place = cell_places(cells, [p for p in node.parents if self._network[p].is_discrete])
        numeric = [position[p] for p in node.parents if not self._network[p].is_discrete]
        x, y = cells.numbers[:, numeric], cells.numbers[:, position[name]]
        out = np.empty((*place.shape, self._draws.n))
        for cell in np.unique(place).tolist():
            rows, column = np.nonzero(place == cell)
            drawn, centre = self.regression(name, cell)
            mean, sigma, slopes = drawn[:, 0], drawn[:, 1], drawn[:, 2:]
            away = y[rows, None] - mean - (x[rows] - centre) @ slopes.T
            out[rows, column] = -0.5 * (away / sigma) ** 2 - np.log(sigma) - 0.5 * math.log(2.0 * math.pi)
        return out


class _Normals:
    """What is known of the regressions of one continuous node, one for each configuration of its discrete parents."""

    def __init__(self, moments: Regressions) -> None:
        self.moments = moments
        centre, self._scatter = moments._centred
        self.parents, self._child = centre[:, :-1], centre[:, -1]
        self._solved = [moments.solve(cell) for cell in range(len(moments.n))]
        mean, pooled = moments.pooled()
        self._mean, self._pooled = mean, pooled or 1.0
        within = sum(residual for _, _, residual in self._solved) / max(float(moments.n.sum()), 1e-300)
        self._within = within if within > 0.0 else self._pooled

    def draw(self, rng: np.random.Generator, cell: int, n: int) -> Floats:
        """Draw the mean at the centre of the parents, the deviation and the slopes: shape (draws, 2 + slopes)."""
        rows = float(self.moments.n[cell])
        _, slopes, residual = self._solved[cell]
        if rows <= 0.0:
            away, sigma = normal_draws(rng, np.sqrt([self._pooled]), np.ones(1), np.ones(1), n)
            return np.hstack([self._mean + away, sigma, np.zeros((n, len(slopes)))])
        freedom = max(rows - len(slopes), 1.0)
        variance = max((residual + self._within) / freedom, LEAST_VARIANCE * self._pooled)
        away, sigma = normal_draws(rng, np.sqrt([variance]), np.array([freedom]), np.array([rows]), n)
        turned = rng.standard_normal((n, len(slopes))) @ _root(self._scatter[cell][:-1, :-1])
        return np.hstack([self._child[cell] + away, sigma, slopes + sigma * turned])


def _root(scatter: Floats) -> Floats:
    """Return R with RᵀR = the inverse of a scatter, on the directions in which there is any."""
    values, vectors = np.linalg.eigh(scatter)
    there = values > _NO_SPREAD * max(values.max(initial=0.0), 0.0)
    inverse = np.where(there, 1.0 / np.sqrt(np.where(there, values, 1.0)), 0.0)
    return np.asarray(inverse[:, None] * vectors.T)
