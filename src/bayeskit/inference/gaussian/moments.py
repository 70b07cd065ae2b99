"""Means and covariances after elimination: back from the last variable to the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.inference.gaussian.plan import Step, parent_steps
from bayeskit.inference.gaussian.regression import ROUNDING, Floats, Regression, Scope, columns, spread, union


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and (co)variance of one or several nodes, for each configuration of the scope."""

    scope: Scope
    mean: Floats
    variance: Floats

    def narrowed(self) -> Moments:
        """Leave out discrete nodes on which no number depends."""
        scope, mean, variance = list(self.scope), self.mean, self.variance
        for axis in range(len(scope) - 1, -1, -1):
            if _constant(mean, axis) and _constant(variance, axis):
                mean, variance = (np.asarray(m.take(0, axis)) for m in (mean, variance))
                del scope[axis]
        return Moments(tuple(scope), mean, variance)


def _constant(array: Floats, axis: int) -> bool:
    return bool((array == array.take([0], axis)).all())


def all_moments(steps: Sequence[Step], given_later: Mapping[int, Regression]) -> dict[int, Moments]:
    """Return mean and variance of every eliminated node.

    The neighbours a node had when it was eliminated are all in the clique of the first of them to go, so its
    joint moments with them follow from those of that clique.
    """
    parents = parent_steps(steps)
    inner = set(parents)
    cliques: dict[int, tuple[tuple[int, ...], Moments]] = {}
    found: dict[int, Moments] = {}
    nothing: tuple[tuple[int, ...], Moments] = ((), Moments((), np.empty(0), np.empty((0, 0))))
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        members, clique = cliques[parents[i]] if parents[i] >= 0 else nothing
        near = step.near
        if near != members:
            place = {v: k for k, v in enumerate(members)}
            chosen = np.array([place[v] for v in near], np.intp)
            clique = Moments(
                clique.scope, clique.mean[..., chosen], clique.variance[..., chosen[:, None], chosen]
            )
        scope, mean, across, variance = extended(given_later[step.node], near, clique)
        found[step.node] = Moments(scope, mean, variance)
        if i in inner:
            cliques[i] = ((*near, step.node), joined(scope, clique, mean, across, variance))
    return found


def joint_moments(nodes: Sequence[int], given_later: Mapping[int, Regression]) -> Moments:
    """Return the joint moments of the nodes that were eliminated last, in the order of their elimination."""
    members: tuple[int, ...] = ()
    joint = Moments((), np.empty(0), np.empty((0, 0)))
    for node in reversed(nodes):
        scope, mean, across, variance = extended(given_later[node], members, joint)
        joint = joined(scope, joint, mean, across, variance)
        members = (*members, node)
    order = np.array([members.index(node) for node in nodes], np.intp)
    return Moments(joint.scope, joint.mean[..., order], joint.variance[..., order[:, None], order])


def extended(
    row: Regression, members: tuple[int, ...], known: Moments
) -> tuple[Scope, Floats, Floats, Floats]:
    """Return the mean of a row's child, its covariance with the members it is regressed on, its variance."""
    scope = union(row.scope, known.scope)
    c = spread(columns(row.coefficients, row.variables, members), row.scope, scope)
    if not members:
        return row.scope, row.intercept, c, row.variance
    mean = spread(known.mean, known.scope, scope)
    covariance = spread(known.variance, known.scope, scope)
    across = (covariance @ c[..., None])[..., 0]
    added = (c * across).sum(axis=-1)
    if len(members) > 1:
        # Terms that cancel leave rounding errors behind, which are no variance.
        terms = (np.abs(c) * np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))).sum(axis=-1)
        added = np.where(added <= ROUNDING * terms * terms, 0.0, added)
    return (
        scope,
        spread(row.intercept, row.scope, scope) + (c * mean).sum(axis=-1),
        across,
        spread(row.variance, row.scope, scope) + added,
    )


def joined(scope: Scope, known: Moments, mean: Floats, across: Floats, variance: Floats) -> Moments:
    """Put one more variable, the last, into joint moments."""
    cells = mean.shape
    k = across.shape[-1]
    means, covariances = np.empty((*cells, k + 1)), np.empty((*cells, k + 1, k + 1))
    means[..., :k], means[..., k] = spread(known.mean, known.scope, scope), mean
    covariances[..., :k, :k] = spread(known.variance, known.scope, scope)
    covariances[..., :k, k] = covariances[..., k, :k] = across
    covariances[..., k, k] = variance
    return Moments(scope, means, covariances)
