"""Models of hidden classes: as vectors, in another order of the components, and what a prior says of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.estimation.gaussian import SMALLEST_DEVIATION, Gaussian
from bayeskit.estimation.poisson import Poisson
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.model import Model
from bayeskit.statistics import Statistics

Floats = NDArray[np.float64]


def permuted(model: Model, order: NDArray[np.intp]) -> Model:
    """Return the model with its components in another order."""
    return Model(model.schema, model.log_prior[order], tuple(_permuted(c, order) for c in model.conditionals))


def _permuted(conditional: Any, order: NDArray[np.intp]) -> Any:
    match conditional:
        case TableConditional():
            return replace(conditional, log_table=conditional.log_table[:, order], counted=None)
        case Gaussian():
            names = ("mean", "mean_low", "variance", "deviation")
            moved = {name: getattr(conditional, name)[order] for name in names}
            return replace(conditional, **moved, counted=None)
        case Poisson():
            return replace(conditional, rates=conditional.rates[order], counted=None)
        case _:
            names = ("log_present", "log_missing", "present", "missing")
            return replace(conditional, **{name: getattr(conditional, name)[:, order] for name in names})


def by_weight(model: Model) -> NDArray[np.intp]:
    """Return the order of the components in which the heaviest is first; of equal ones, that of smaller parameters."""
    # Weights that differ by rounding alone are equal, so that rounding does not number the components.
    keys = [-np.exp(model.log_prior)[None, :].round(9)]
    for conditional in model.conditionals:
        match conditional:
            case TableConditional():
                keys.append(conditional.log_table)
            case Gaussian():
                keys.append(conditional.mean.T)
            case Poisson():
                keys.append(conditional.rates.T)
    return np.lexsort(np.vstack(keys)[::-1]).astype(np.intp)


def all_equal(model: Model) -> bool:
    """Whether all components are the same but for their weights, up to rounding: a saddle, which EM never leaves."""
    return all(
        np.allclose(array, array[..., :1], rtol=1e-9, atol=1e-12)
        for conditional in model.conditionals
        for array in _by_component(conditional)
    )


def _by_component(conditional: Any) -> tuple[Floats, ...]:
    """The parameters, components on the last axis; means and deviations in units of the first component's."""
    match conditional:
        case TableConditional():
            return (np.exp(conditional.log_table),)
        case Gaussian():
            used, deviation = conditional.used, conditional.deviation[:, conditional.used]
            mean = conditional.mean[:, used]
            return (((mean - mean[:1]) / deviation[:1]).T, (deviation / deviation[:1]).T)
        case Poisson():
            return (conditional.rates.T,)
        case _:
            return (np.exp(conditional.log_present),)


def with_floor(model: Model, floor: float, pooled: Statistics) -> Model:
    """Raise variances to this share of the attribute's own over all rows.

    A variance below the bound is best put onto it: the likelihood falls all the way from the estimate upwards.
    """
    return replace(model, conditionals=tuple(_raised(c, floor, pooled) for c in model.conditionals))


def _raised(conditional: Any, floor: float, pooled: Statistics) -> Any:
    if not isinstance(conditional, Gaussian) or floor <= conditional.floor:
        return conditional
    least = np.sqrt(floor) * pooled.moments.deviation()[0, conditional.columns]
    deviation = np.maximum(conditional.deviation, least)
    return replace(conditional, deviation=deviation, variance=deviation**2, floor=floor, counted=None)


def n_parameters(model: Model) -> int:
    """Count the free parameters: K − 1 weights, and of each component r − 1 for a table of r states, two for a
    Gaussian attribute, one for a rate, one for whether an attribute is present."""
    k = len(model.log_prior)
    each = 0
    for conditional in model.conditionals:
        match conditional:
            case TableConditional():
                each += sum(max(len(rows) - 1, 0) for rows in _tables(conditional))
            case Gaussian():
                each += 2 * int(conditional.used.sum())
            case Poisson():
                each += int(conditional.rates.any(axis=0).sum())
            case _:
                each += len(conditional.columns)
    return k - 1 + k * each


def _tables(conditional: TableConditional) -> list[range]:
    """The rows of each attribute's states, with that of missing where it is one."""
    ends = conditional.offsets.astype(np.intp).tolist()
    # The rows of missing and unseen are zero (a factor of one) unless they are states.
    return [
        range(start, stop - 1 if conditional.log_table[stop - 2].any() else stop - 2)
        for start, stop in pairwise(ends)
    ]


def log_prior_density(model: Model, alpha: float, pooled: Statistics) -> float:
    r"""Return the logarithm of the prior, up to a constant: what smoothing adds to the log-likelihood.

    .. math:: \alpha \Big( \sum_k \log P(k) + \sum_{k,i,v} \log P(x_i = v \mid k)
        + \sum_{k,i} (\bar\lambda_i \log \lambda_{ik} - \lambda_{ik}) \Big)

    The first two sums are α imaginary rows for each cell; the last, for Poisson attributes, α rows at the rate
    :math:`\bar\lambda` of all rows together. ``pooled`` are the sums that the rates are taken from.
    """
    if alpha == 0.0:
        return 0.0
    value = float(model.log_prior.sum())
    for conditional in model.conditionals:
        match conditional:
            case TableConditional():
                value += float(conditional.log_table.sum())
            case Presence():
                value += float(conditional.log_present.sum() + conditional.log_missing.sum())
            case Poisson():
                high, low = pooled.moments.mean()
                used = conditional.rates.any(axis=0)
                rates = conditional.rates[:, used]
                value += float(((high + low)[0, conditional.columns[used]] * np.log(rates) - rates).sum())
    return alpha * value


def flat(model: Model, pooled: Statistics) -> Floats:
    """Write the parameters as one vector without constraints: logarithms, and means in units of the overall spread."""
    pieces = [model.log_prior]
    for conditional in model.conditionals:
        match conditional:
            case TableConditional():
                pieces.append(conditional.log_table.ravel())
            case Gaussian():
                used = conditional.used
                centre, unit = _overall(conditional, pooled)
                pieces.append(((conditional.mean[:, used] - centre) / unit).ravel())
                pieces.append(np.log(conditional.deviation[:, used]).ravel())
            case Poisson():
                with np.errstate(divide="ignore"):
                    pieces.append(np.log(conditional.rates).ravel())
            case _:
                pieces += [conditional.log_present.ravel(), conditional.log_missing.ravel()]
    return np.concatenate(pieces)


def unflat(vector: Floats, like: Model, pooled: Statistics) -> Model:
    """Return the model that a vector stands for, with the attributes and states of another."""
    place = 0

    def take(shape: tuple[int, ...]) -> Floats:
        nonlocal place
        size = int(np.prod(shape))
        place += size
        return vector[place - size : place].reshape(shape)

    log_prior = _log_normalised(take(like.log_prior.shape))
    found: list[Any] = []
    for conditional in like.conditionals:
        match conditional:
            case TableConditional():
                table = _normalised_tables(take(conditional.log_table.shape), conditional)
                found.append(replace(conditional, log_table=table, counted=None))
            case Gaussian():
                found.append(_gaussian(conditional, take, pooled))
            case Poisson():
                found.append(replace(conditional, rates=np.exp(take(conditional.rates.shape)), counted=None))
            case _:
                shape = conditional.log_present.shape
                logs = _log_normalised(np.stack([take(shape), take(shape)]))
                found.append(replace(conditional, log_present=logs[0], log_missing=logs[1]))
    return Model(like.schema, log_prior, tuple(found))


def _overall(gaussian: Gaussian, pooled: Statistics) -> tuple[Floats, Floats]:
    """The mean and deviation of all rows, of the attributes that are used."""
    columns = gaussian.columns[gaussian.used]
    deviation = np.maximum(pooled.moments.deviation()[0, columns], SMALLEST_DEVIATION)
    return pooled.moments.mean()[0][0, columns], deviation


def _gaussian(like: Gaussian, take: Any, pooled: Statistics) -> Gaussian:
    used = like.used
    shape = (len(like.mean), int(used.sum()))
    centre, unit = _overall(like, pooled)
    mean, deviation = like.mean.copy(), like.deviation.copy()
    mean[:, used] = centre + unit * take(shape)
    # The floor of the estimates holds for points ahead too.
    deviation[:, used] = np.maximum(np.exp(take(shape)), np.sqrt(like.floor) * unit)
    return replace(
        like,
        mean=mean,
        mean_low=np.zeros_like(mean),
        variance=deviation**2,
        deviation=deviation,
        counted=None,
    )


def _normalised_tables(table: Floats, conditional: TableConditional) -> Floats:
    """Normalise each attribute's table over its states, and over missing where that is a state."""
    table = table.copy()
    for rows in _tables(conditional):
        if rows:
            table[rows.start : rows.stop] = _log_normalised(table[rows.start : rows.stop])
    return table


def _log_normalised(logs: Floats) -> Floats:
    """Normalise logarithms of probabilities along the first axis."""
    best = logs.max(axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(logs - (best + np.log(np.exp(logs - best).sum(axis=0))))
