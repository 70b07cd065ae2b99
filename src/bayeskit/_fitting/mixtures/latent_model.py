"""What latent class models work on: distinct rows with weights, and parameters with the order of the components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Component
from bayeskit._conditionals.density import family_of
from bayeskit._conditionals.posterior_draws import log_normalised
from bayeskit._counting.backend import count_rows
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._fitting.model import Model, ModelSpec, plan_for
from bayeskit._schema import Schema, Variable
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError
from bayeskit.typing import Floats

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LatentRows:
    """Distinct rows, in an order that depends only on their cells.

    So the result of EM does not depend on the order of the rows, nor on whether a row occurs twice or has twice the
    weight.

    Attributes
    ----------
    codes : array of shape (n, categorical attributes)
    values : array of shape (n, numeric attributes)
        Stored as x·2^−exponent. NaN is missing.
    weights : array of shape (n,)
        The weights, all positive.
    first : int array of shape (n,)
        The index of the first given row equal to each distinct row.
    owner : int array of shape (N,)
        The distinct row of each given row, or −1 for a row without weight.
    given : array of shape (N,)
        The weights of the given rows.
    pooled : Statistics
        The statistics of all rows, with a single component.
    constant : float
        The terms of the objective that do not depend on the parameters, such as −Σ w log x! of Poisson attributes.
    """

    schema: Schema
    codes: NDArray[Any]
    values: Floats
    weights: Floats
    first: Places
    owner: Places
    given: Floats
    pooled: Statistics
    constant: float

    @property
    def total(self) -> float:
        """The total weight of the rows."""
        return float(self.weights.sum())

    @property
    def nothing(self) -> float:
        """A weight that is far smaller than that of any row."""
        return float(1e-6 * self.weights.min())

    @property
    def exponent(self) -> NDArray[np.int64]:
        """The exponent of each numeric attribute; numbers are stored as x·2^−exponent."""
        parts = self.pooled.parts
        return self.pooled.moments.exponent if "moments" in parts else np.zeros(0, dtype=np.int64)

    @property
    def centre(self) -> Floats:
        """The mean of each numeric attribute over all rows, scaled like the stored numbers."""
        if "moments" not in self.pooled.parts:
            return np.zeros(0)
        mean = self.pooled.moments.mean()[0][0]
        return np.asarray(np.ldexp(np.where(np.isfinite(mean), mean, 0.0), -self.exponent))

    def chunk(self, start: int, stop: int) -> Chunk:
        """Return some rows as a chunk, with numbers in their original scale."""
        values = self.values[start:stop]
        if self.exponent.any():
            values = np.ldexp(values, self.exponent)
        return Chunk(stop - start, self.codes[start:stop], np.ascontiguousarray(values))

    def spread(self, share: Floats) -> Floats:
        """Return the weight of each distinct row in each component, from the shares in the given rows: (n, K)."""
        kept = self.owner >= 0
        sums = np.zeros((len(self.weights), share.shape[1]))
        np.add.at(sums, self.owner[kept], share[kept] * self.given[kept, None])
        return sums


def hidden_class(n_components: int) -> Variable:
    """Return the hidden class, whose states are the numbers of the components."""
    return Variable(
        "component", "categorical", tuple(range(n_components)), n_declared=n_components, closed=True
    )


def latent_rows(encoded: EncodedTable, spec: ModelSpec, n_jobs: int | None = None) -> LatentRows:
    """Return the distinct rows of an encoded table. States without weight are removed unless declared."""
    weights = np.ones(encoded.n_rows) if encoded.weights is None else encoded.weights
    one = encoded.schema.with_variables(encoded.schema.attributes, hidden_class(1))
    encoded = replace(encoded, schema=one, target=np.zeros(encoded.n_rows, dtype=np.uint32))
    pooled = count_rows(encoded, plan_for(one, spec), n_jobs).pruned()
    encoded = encoded.moved_to(pooled.schema)
    chunk = encoded.chunk(0, encoded.n_rows)
    kept = np.flatnonzero(weights > 0.0)
    values = chunk.values[kept]
    _check_values(values, pooled.schema, spec, kept)
    if not _any_cell(pooled):
        raise DataError("Every cell is missing, so there is nothing to learn from. Give some values.")
    keys = [*_packed(chunk.codes[kept], pooled.schema), *values.T]
    first, owner = distinct(keys, len(kept))
    n, all_owners = len(first), np.full(len(weights), -1, dtype=np.intp)
    all_owners[kept] = owner
    if "moments" in pooled.parts and pooled.moments.exponent.any():
        with np.errstate(under="ignore"):
            held = np.ldexp(values[first], -pooled.moments.exponent)
    else:
        held = values[first]
    sums: Floats = np.bincount(owner, weights=weights[kept], minlength=n).astype(np.float64)
    by_family: dict[str, list[int]] = {}
    for j, variable in enumerate(pooled.schema.numeric):
        by_family.setdefault(spec.family(variable.name), []).append(j)
    unmoved = (family_of(family).unmoved(values[first][:, columns]) for family, columns in by_family.items())
    constant = sum((float(sums @ logs) for logs in unmoved), 0.0)
    return LatentRows(
        pooled.schema, np.ascontiguousarray(chunk.codes[kept][first]), np.ascontiguousarray(held), sums,
        kept[first], all_owners, weights, pooled, constant,
    )  # fmt: skip


def distinct(keys: list[NDArray[Any]], n_rows: int) -> tuple[Places, Places]:
    """Find equal rows. Return the index of the first row of each kind, sorted by keys, and the kind of each row.

    NaN equals NaN. Keys are compared one after the other until all rows differ.

    Examples
    --------
    >>> first, kind = distinct([np.array([2, 1, 2, 2]), np.array([0.5, 0.5, 0.5, 0.0])], 4)
    >>> first.tolist(), kind.tolist()
    ([1, 3, 0], [2, 0, 2, 1])
    """
    first, kind = np.zeros(1, dtype=np.intp), np.zeros(n_rows, dtype=np.intp)
    for key in keys:
        states, place = np.unique(key, return_inverse=True)
        _, first, kind = np.unique(kind * len(states) + place, return_index=True, return_inverse=True)
        if len(first) == n_rows:
            break
    return first, kind


def _packed(codes: NDArray[Any], schema: Schema) -> Iterator[NDArray[np.uint64]]:
    """Pack the codes of each row into as few integers below 2^63 as possible. A column has up to r + 1 codes."""
    word, room = np.zeros(len(codes), dtype=np.uint64), 1
    for j, variable in enumerate(schema.categorical):
        if room * (variable.size + 1) >= 2**63:
            yield word
            word, room = np.zeros(len(codes), dtype=np.uint64), 1
        word = word * np.uint64(variable.size + 1) + codes[:, j].astype(np.uint64)
        room *= variable.size + 1
    if room > 1:
        yield word


def _any_cell(pooled: Statistics) -> bool:
    """Whether any cell is present."""
    spare = pooled.schema.offsets[1:].astype(np.intp) - 1
    states = pooled.tables.counts.sum() - pooled.tables.counts[spare].sum()
    return bool(states > 0.0 or ("moments" in pooled.parts and pooled.moments.weight.any()))


def _check_values(values: Floats, schema: Schema, spec: ModelSpec, rows: Places) -> None:
    """Raise an error for values outside the range of a column's family."""
    for j, variable in enumerate(schema.numeric):
        family_of(spec.family(variable.name)).check_values(values[:, j : j + 1], (variable.name,), rows)


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
