"""Blocks of connected continuous nodes, jointly normal given the discrete nodes, with missing values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from bayeskit._fitting.networks.network_counts import configurations
from bayeskit._graphs.dag import topological_order
from bayeskit._graphs.distributions import LinearGaussian
from bayeskit._graphs.network import Network
from bayeskit._schema import Name
from bayeskit._statistics.double import Twofold
from bayeskit._statistics.regressions import Regressions
from bayeskit.errors import DataError, SettingError
from bayeskit.typing import Floats

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

LOG_TWO_PI = math.log(2.0 * math.pi)
# A deviation below this fraction of the numbers is rounding error.
NO_SPREAD = 1e-11


def continuous_blocks(network: Network) -> list[tuple[Name, ...]]:
    """Return the blocks of continuous nodes that are connected by arcs, each with parents first.

    >>> from bayeskit._graphs.network import Node, continuous
    >>> nodes = [Node(continuous("a"), ("c",)), Node(continuous("b")), Node(continuous("c"))]
    >>> continuous_blocks(Network(tuple(nodes)))
    [('b',), ('c', 'a')]
    """
    home: dict[Name, Name] = {}

    def find(name: Name) -> Name:
        while home[name] != name:
            name = home[name]
        return name

    order = [name for name in topological_order(network.dag) if not network[name].is_discrete]
    for name in order:
        home[name] = name
        for parent in configurations(network, name)[1]:
            home[find(parent)] = name
    blocks: dict[Name, list[Name]] = {}
    for name in order:
        blocks.setdefault(find(name), []).append(name)
    return [tuple(block) for block in blocks.values()]


@dataclass(frozen=True, eq=False)
class Normals:
    r"""A normal distribution for each configuration, given by a root U of its precision matrix.

    .. math:: \lVert U (x - \mu) \rVert^2 = (x - \mu)^\top \Sigma^{-1} (x - \mu), \quad
        U = \operatorname{diag}(v)^{-1/2} (I - B)

    B are the coefficients of the regressions and v their variances. Nothing is inverted, so the variances may differ by
    many orders of magnitude.
    """

    mean: Floats
    root: Floats
    log_root: Floats

    def completed(self, r: int, x: Floats, hidden: Flags, hard: bool) -> tuple[Floats, Floats, Floats]:
        r"""Fill in the missing numbers of rows with the same missing nodes, in configuration r.

        Split the columns of U into (H, O), missing and observed, with H = QR. The conditional mean is then
        :math:`\mu_h - R^{-1} Q^\top O (x_o - \mu_o)`, with covariance :math:`R^{-1} R^{-\top}`.

        Returns
        -------
        away : array of shape (rows, nodes)
            The completed rows minus the mean.
        log : array of shape (rows,)
            The log density of the observed numbers; if ``hard``, of the completed row.
        covariance : array of shape (hidden nodes, hidden nodes)
            The covariance of the missing numbers given the others; zero if ``hard``.
        """
        mean, root = self.mean[r], self.root[r]
        seen = ~hidden
        away = np.zeros((len(x), len(mean)))
        away[:, seen] = x[:, seen] - mean[seen]
        rest = -(away[:, seen] @ root[:, seen].T)
        log = float(self.log_root[r])
        n_dimensions = len(mean)
        covariance = np.zeros((int(hidden.sum()),) * 2)
        if hidden.any():
            # Sort large rows first and pivot the columns. Otherwise rounding in a node with a tiny variance would
            # swamp the variances of the others.
            order = np.argsort(-np.abs(root[:, hidden]).max(axis=1), kind="stable")
            q, upper, column = qr(root[order][:, hidden], mode="economic", pivoting=True, check_finite=False)
            ahead = rest[:, order] @ q
            rest = rest[:, order] - ahead @ q.T
            inverse = np.zeros_like(covariance)
            inverse[column] = _inverse(upper)
            away[:, hidden] = ahead @ inverse.T
            if not hard:
                covariance = inverse @ inverse.T
                log -= float(np.log(np.abs(np.diag(upper))).sum())
                n_dimensions = int(seen.sum())
        return away, log - 0.5 * ((rest**2).sum(axis=1) + n_dimensions * LOG_TWO_PI), covariance


def _inverse(upper: Floats) -> Floats:
    """Return the inverse of a triangular matrix. Raise an error if it is singular."""
    if not (np.abs(np.diag(upper)) > 0.0).all():
        raise DataError(
            "The slopes and variances of the continuous nodes are too far apart to fill in missing numbers. "
            "Give nodes fewer parents, or pass more rows."
        )
    found: Floats = solve_triangular(upper, np.eye(len(upper)), check_finite=False)
    return found


class GaussianBlock:
    """A block of continuous nodes, and the configurations of their discrete parents that rows may have.

    Parameters
    ----------
    network : Network
    names : the nodes, parents first
    relevant, slot_codes : discrete nodes, and the codes that each slot has for them
    scale : {node: (centre, spread)}
        The centre is subtracted from the numbers of a node, so that no digits are lost if all are large.
    """

    def __init__(
        self,
        network: Network,
        names: Sequence[Name],
        relevant: Sequence[Name],
        slot_codes: Ints,
        scale: Mapping[Name, tuple[float, float]],
    ) -> None:
        self.names = tuple(names)
        place = {name: k for k, name in enumerate(names)}
        found = [configurations(network, name) for name in names]
        self.parents = [[place[p] for p in numeric] for _, numeric, _ in found]
        self._sizes = [size for _, _, size in found]
        self.centre, self.spread = np.array([scale[name] for name in names]).T
        used = [j for j, name in enumerate(relevant) if any(name in discrete for discrete, _, _ in found)]
        if used:
            codes, of_slot = np.unique(slot_codes[:, used], axis=0, return_inverse=True)
            self.of_slot = of_slot.reshape(-1)
        else:
            codes, self.of_slot = np.zeros((1, 0), np.int64), np.zeros(len(slot_codes), np.int64)
        column = {relevant[j]: codes[:, i] for i, j in enumerate(used)}
        self.n_configurations = len(codes)
        # For each node, the cell of its own distribution in each configuration of the block.
        self._cells = []
        for discrete, _, _ in found:
            cell = np.zeros(len(codes), np.int64)
            for name in discrete:
                cell = cell * network[name].variable.size + column[name]
            self._cells.append(cell)

    def at(self, network: Network) -> Normals:
        """Return the normals of all configurations under a network, for numbers minus their centre."""
        n, d = self.n_configurations, len(self.names)
        mean, root, log_root = np.zeros((n, d)), np.zeros((n, d, d)), np.zeros(n)
        for k, (name, parents, cell) in enumerate(zip(self.names, self.parents, self._cells, strict=True)):
            given = network[name].distribution
            assert isinstance(given, LinearGaussian)
            variance = given.variance.reshape(-1)
            if not (variance > 0.0).all():
                raise SettingError(
                    "{name!r} has variance zero, and EM weights rows by densities, which do not exist then. Give it "
                    "a small variance, or leave the node out and compute it from its parents.",
                    name=name,
                )
            slopes = given.coefficients.reshape(variance.size, len(parents))[cell]
            # Subtract the centre first, so that the rest has the magnitude of the spread.
            base = given.intercept.reshape(-1)[cell] - self.centre[k] + slopes @ self.centre[parents]
            mean[:, k] = base + (slopes * mean[:, parents]).sum(axis=1)
            scale = 1.0 / np.sqrt(variance[cell])
            root[:, k, parents] = -slopes * scale[:, None]
            root[:, k, k] = scale
            log_root += np.log(scale)
        return Normals(mean, root, log_root)

    def regressions(self, normals: Normals, sums: BlockSums) -> dict[Name, Regressions]:
        """Return each node's moments in the configurations of its own discrete parents."""
        return {
            name: self._regression(k, normals.mean[:, places], sums, places)
            for k, name in enumerate(self.names)
            for places in [[*self.parents[k], k]]
        }

    def _regression(self, k: int, mean: Floats, sums: BlockSums, places: list[int]) -> Regressions:
        cell, size = self._cells[k], self._sizes[k]
        pivot = mean + sums.mean[:, places]
        n = np.bincount(cell, sums.n, size)
        divisor = np.where(n > 0.0, n, 1.0)
        # All configurations in a cell share one pivot, their common mean.
        common = np.column_stack([np.bincount(cell, sums.n * p, size) / divisor for p in pivot.T])
        first, second = np.zeros(pivot.shape), sums.scatter[:, places][:, :, places]
        parts = Regressions(pivot, *map(Twofold.exact, (sums.n, first, second))).about(common[cell])
        total_first, total_second = np.zeros(common.shape), np.zeros((*common.shape, len(places)))
        np.add.at(total_first, cell, parts.first.high)
        np.add.at(total_second, cell, parts.second.high)
        # Numbers that were filled in with the same mean differ only by rounding and determine no slope.
        alike = np.sqrt(np.diagonal(total_second, axis1=1, axis2=2) / divisor[:, None])
        alike = alike <= NO_SPREAD * (np.abs(common) + self.spread[places])
        total_first[alike] = 0.0
        total_second[alike[:, :, None] | alike[:, None, :]] = 0.0
        away = np.where((n > 0.0)[:, None], common + self.centre[places], 0.0)
        return Regressions(away, *map(Twofold.exact, (n, total_first, total_second)))


@dataclass(eq=False)
class BlockSums:
    """Weight, mean and Σzzᵀ about that mean of a block's rows, in each of its configurations.

    These means differ from those of the E-step. Sums about the latter would lose all digits if the rows are far from
    the means of the network.
    """

    n: Floats
    mean: Floats
    scatter: Floats

    @classmethod
    def zero(cls, block: GaussianBlock) -> BlockSums:
        n, d = block.n_configurations, len(block.names)
        return cls(np.zeros(n), np.zeros((n, d)), np.zeros((n, d, d)))

    def add(self, r: int, away: Floats, weights: Floats, hidden: Flags, covariance: Floats) -> None:
        """Add weighted rows. The covariance of their missing numbers is added to the scatter."""
        n = float(weights.sum())
        if n == 0.0:
            return
        mean = weights @ away / n
        left = away - mean
        scatter = left.T @ (left * weights[:, None])
        scatter[np.ix_(hidden, hidden)] += n * covariance
        self.n[r], self.mean[r], self.scatter[r] = _joined(
            (self.n[r], self.mean[r], self.scatter[r]), (n, mean, scatter)
        )

    def merge(self, other: BlockSums) -> BlockSums:
        return BlockSums(*_joined((self.n, self.mean, self.scatter), (other.n, other.mean, other.scatter)))


def _joined(one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    r"""Merge the sums of two sets of rows: :math:`S = S_1 + S_2 + \frac{n_1 n_2}{n_1 + n_2} \delta \delta^\top`."""
    (n, mean, scatter), (m, theirs, more) = one, other
    total = np.asarray(n + m)
    share = np.asarray(m / np.where(total > 0.0, total, 1.0))
    step = theirs - mean
    outer = step[..., :, None] * step[..., None, :]
    between = np.asarray(n * share)[..., None, None] * outer
    return total, mean + share[..., None] * step, scatter + more + between
