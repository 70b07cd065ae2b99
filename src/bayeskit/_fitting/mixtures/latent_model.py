"""Functions of latent class models: parameters as a vector, order of the components, log prior."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Component
from bayeskit._conditionals.posterior_draws import log_normalised
from bayeskit._fitting.model import Model
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.statistics import Statistics
from bayeskit.typing import Floats


def components_of(model: Model) -> tuple[Component, ...]:
    """Return the conditionals of a model with a hidden class, whose parameters EM estimates."""
    return cast(tuple[Component, ...], model.conditionals)


def moments_of(statistics: Statistics) -> Moments | None:
    """Return the moments of the numeric attributes, if there are any."""
    return statistics.moments if "moments" in statistics.parts else None


def permuted(model: Model, order: NDArray[np.intp]) -> Model:
    """Return the model with its components in another order."""
    return Model(model.schema, model.log_prior[order], tuple(c.permuted(order) for c in components_of(model)))


def by_weight(model: Model) -> NDArray[np.intp]:
    """Return the order of the components by descending weight. Ties are broken by the parameters, smaller first."""
    # Treat weights that differ only by rounding as equal, so that rounding does not decide the order.
    keys = [-np.exp(model.log_prior)[None, :].round(9)]
    keys += [key for key in (c.order_keys() for c in components_of(model)) if key is not None]
    return np.lexsort(np.vstack(keys)[::-1]).astype(np.intp)


def all_equal(model: Model) -> bool:
    """Whether all components are equal up to weights and rounding. This is a saddle point that EM never leaves."""
    return all(
        np.allclose(array, array[..., :1], rtol=1e-9, atol=1e-12)
        for component in components_of(model)
        for array in component.by_class()
    )


def with_floor(model: Model, floor: float, pooled: Statistics) -> Model:
    """Return the model with variances raised to at least this fraction of the attribute's variance over all rows."""
    moments = moments_of(pooled)
    return replace(model, conditionals=tuple(c.raised(floor, moments) for c in components_of(model)))


def n_parameters(model: Model) -> int:
    """Return the number of free parameters: K − 1 weights, and those of each component (r − 1 for r states)."""
    k = len(model.log_prior)
    return k - 1 + k * sum(component.n_free() for component in components_of(model))


def log_prior_density(model: Model, alpha: float, pooled: Statistics) -> float:
    r"""Return the logarithm of the prior, up to a constant: the term that smoothing adds to the log-likelihood.

    .. math:: \alpha \Big( \sum_k \log P(k) + \sum_{k,i,v} \log P(x_i = v \mid k)
        + \sum_{k,i} (\bar\lambda_i \log \lambda_{ik} - \lambda_{ik}) \Big)

    The first two sums are α imaginary rows for each cell. The last one, for count attributes, is α rows at the rate
    :math:`\bar\lambda` of all rows, which is computed from ``pooled``.
    """
    if alpha == 0.0:
        return 0.0
    moments = moments_of(pooled)
    mean = np.zeros(0) if moments is None else np.add(*moments.mean())[0]
    own = sum(component.log_prior(mean, alpha) for component in components_of(model))
    return alpha * float(model.log_prior.sum()) + own


def flat(model: Model, pooled: Statistics) -> Floats:
    """Return the parameters as one unconstrained vector: logarithms, and means in units of the overall spread."""
    moments = moments_of(pooled)
    pieces = [piece for component in components_of(model) for piece in component.flat(moments)]
    return np.concatenate([model.log_prior, *(piece.ravel() for piece in pieces)])


def unflat(vector: Floats, like: Model, pooled: Statistics) -> Model:
    """Return the model that a vector represents, with the attributes and states of the model ``like``."""
    place, moments = 0, moments_of(pooled)

    def take(shape: tuple[int, ...]) -> Floats:
        nonlocal place
        size = int(np.prod(shape))
        place += size
        return vector[place - size : place].reshape(shape)

    log_prior = log_normalised(take(like.log_prior.shape))
    return Model(like.schema, log_prior, tuple(c.unflat(take, moments) for c in components_of(like)))
