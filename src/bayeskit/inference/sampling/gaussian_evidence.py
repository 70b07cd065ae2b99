r"""Observed numeric nodes: what they say about the discrete ones, and how drawn values are made to agree with them.

Given the discrete states, the numeric ancestors of the observed nodes are jointly normal. Their parts that no
numeric arc joins are independent, so each part is one factor over the discrete parents of its nodes:
:math:`N(e; \mu_d, \Sigma_d)`. Values drawn without the evidence are mended exactly:

.. math:: x + \Sigma_{x e} \Sigma_{e e}^{-1} (e - x_e)

has the conditional distribution (Matheron's rule).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayeskit.errors import TooLarge, UsageError
from bayeskit.inference.potentials import Floats, Ints
from bayeskit.inference.sampling.numeric import Numeric


@dataclass(frozen=True, eq=False)
class Part:
    """Numeric nodes joined by arcs, among them observed ones.

    Attributes
    ----------
    nodes : the numeric nodes; seen : the places of the observed ones among them; seen_values : their values
    cells : the discrete parents of any of them; sizes : their numbers of states
    log_density : log N(e; μ_d, Σ_d), one axis for each of ``cells``
    gain : Σ_xe Σ_ee⁻¹ of each configuration, (configurations, nodes, seen)
    """

    nodes: list[int]
    seen: list[int]
    seen_values: Floats
    cells: tuple[int, ...]
    sizes: tuple[int, ...]
    log_density: Floats
    gain: Floats

    def mend(self, codes: Ints, values: Floats) -> None:
        """Turn values drawn without the evidence into values drawn given it."""
        at = np.zeros(len(codes), np.int64)
        for c, size in zip(self.cells, self.sizes):
            at = at * size + codes[:, c]
        columns = np.array(self.nodes)
        observed = columns[self.seen]
        gap = self.seen_values - values[:, observed]
        values[:, columns] += np.einsum("rns,rs->rn", self.gain[at], gap)
        values[:, observed] = self.seen_values


def parts_of(numeric: Numeric, known: Floats, sizes: list[int], max_memory: float) -> list[Part]:
    """Return the parts that observed values (NaN: free) make of the numeric nodes."""
    seen = [int(k) for k in np.flatnonzero(~np.isnan(known))]
    inside = numeric.ancestral(seen)
    root = list(range(len(numeric.nodes)))

    def top(k: int) -> int:
        while root[k] != k:
            root[k] = root[root[k]]
            k = root[k]
        return k

    members: dict[int, list[int]] = {}
    ordered = [k for k in numeric.order if inside[k]]
    for k in ordered:
        for parent in numeric.nodes[k][2]:
            root[top(parent)] = top(k)
    for k in ordered:
        members.setdefault(top(k), []).append(k)
    return [_part(numeric, nodes, known, sizes, max_memory) for nodes in members.values()]


def _part(numeric: Numeric, nodes: list[int], known: Floats, sizes: list[int], max_memory: float) -> Part:
    cells = tuple(sorted({c for k in nodes for c in numeric.nodes[k][1]}))
    shape = tuple(sizes[c] for c in cells)
    count, m = math.prod(shape), len(nodes)
    if count * m * m * 8 * 3 > max_memory:
        names = [name for name, c in numeric.discrete_place.items() if c in cells]
        raise TooLarge(count * m * m * 8 * 3, max_memory, names, count * m * m)
    configurations = np.zeros((count, max(cells, default=-1) + 1), np.int64)
    configurations[:, list(cells)] = np.indices(shape).reshape(len(shape), count).T
    place = {k: i for i, k in enumerate(nodes)}
    mean, load = (
        np.zeros((count, m)),
        np.zeros((count, m, m)),
    )  # x = mean + load · (independent standard normals)
    for i, k in enumerate(nodes):
        regression, its_cells, numbers = numeric.nodes[k]
        where = tuple(configurations[:, c] for c in its_cells)
        slope = np.broadcast_to(regression.coefficients[where], (count, len(numbers)))
        above = [place[p] for p in numbers]
        mean[:, i] = regression.intercept[where] + (slope * mean[:, above]).sum(axis=-1)
        load[:, i] = np.einsum("cp,cpm->cm", slope, load[:, above])
        load[:, i, i] = np.sqrt(regression.variance[where])
    seen = [i for i, k in enumerate(nodes) if not np.isnan(known[k])]
    e = known[[nodes[i] for i in seen]]
    # The covariance of the observed is load loadᵀ: a triangular factor by QR keeps half the digits that a
    # Cholesky factor of the product would lose.
    with_seen = load[:, seen]
    root = np.asarray(np.linalg.qr(with_seen.transpose(0, 2, 1), mode="r")).transpose(0, 2, 1)
    diagonal = np.abs(np.diagonal(root, axis1=1, axis2=2))
    if not (diagonal > 1e-12 * np.sqrt((with_seen**2).sum(axis=-1))).all():
        names = [name for name, k in numeric.place.items() if k in {nodes[i] for i in seen}]
        raise UsageError(
            f"The observed {', '.join(map(repr, names))} leave each other no freedom (a variance of zero), so their "
            "density is infinite or zero. Leave out those that follow from the others."
        )
    scaled = np.linalg.solve(root, (e - mean[:, seen])[..., None])[..., 0]
    log_density = -0.5 * (scaled**2).sum(axis=-1) - np.log(diagonal).sum(axis=-1)
    covariance = load @ with_seen.transpose(0, 2, 1)
    half = np.linalg.solve(root, covariance.transpose(0, 2, 1))
    gain = np.linalg.solve(root.transpose(0, 2, 1), half).transpose(0, 2, 1)
    return Part(nodes, seen, e, cells, shape, log_density.reshape(shape), gain)
