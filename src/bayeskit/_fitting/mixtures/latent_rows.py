"""Unlabelled rows prepared for many passes, with equal rows merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.density import family_of
from bayeskit._counting.backend import count_rows
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._fitting.model import ModelSpec, plan_for
from bayeskit._schema import Schema, Variable
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError
from bayeskit.typing import Floats

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LatentRows:
    """Distinct rows, in an order that only their cells decide.

    So the answer of EM depends neither on the order of the rows, nor on whether equal rows are there twice or
    have twice the weight.

    Attributes
    ----------
    codes : array of shape (n, categorical attributes)
    values : array of shape (n, numeric attributes)
        Held as x·2^−exponent, NaN where missing.
    weights : array of shape (n,)
        All above zero.
    first : int array of shape (n,)
        The number of the first row equal to each.
    owner : int array of shape (N,)
        Which distinct row each of the rows given is; −1 for a row of no weight.
    given : array of shape (N,)
        The weights of the rows given.
    pooled : Statistics
        Of all rows together, in a schema of one component.
    constant : float
        The terms of the objective that no parameter changes, such as −Σ w log x! of Poisson attributes.
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
        """The weight of all rows."""
        return float(self.weights.sum())

    @property
    def nothing(self) -> float:
        """A weight that is that of no row."""
        return float(1e-6 * self.weights.min())

    @property
    def exponent(self) -> NDArray[np.int64]:
        """Numbers are held as x·2^−exponent."""
        parts = self.pooled.parts
        return self.pooled.moments.exponent if "moments" in parts else np.zeros(0, dtype=np.int64)

    @property
    def centre(self) -> Floats:
        """The mean of each numeric attribute over all rows, as it is held."""
        if "moments" not in self.pooled.parts:
            return np.zeros(0)
        mean = self.pooled.moments.mean()[0][0]
        return np.asarray(np.ldexp(np.where(np.isfinite(mean), mean, 0.0), -self.exponent))

    def chunk(self, start: int, stop: int) -> Chunk:
        """Return rows as conditionals read them: their numbers in the units given."""
        values = self.values[start:stop]
        if self.exponent.any():
            values = np.ldexp(values, self.exponent)
        return Chunk(stop - start, self.codes[start:stop], np.ascontiguousarray(values))

    def spread(self, share: Floats) -> Floats:
        """Return what each component gets of the distinct rows, from its share in the rows given: both (…, K)."""
        kept = self.owner >= 0
        sums = np.zeros((len(self.weights), share.shape[1]))
        np.add.at(sums, self.owner[kept], share[kept] * self.given[kept, None])
        return sums


def hidden_class(n_components: int) -> Variable:
    """Return the class that was never seen: its states are the numbers of the components."""
    return Variable(
        "component", "categorical", tuple(range(n_components)), n_declared=n_components, closed=True
    )


def latent_rows(encoded: EncodedTable, spec: ModelSpec, n_jobs: int | None = None) -> LatentRows:
    """Make distinct rows of an encoded table; states without weight are removed unless declared."""
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
        raise DataError("Every cell is missing, so nothing is there to learn from. Give some values.")
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
    """Find equal rows: the place of the first of each kind, in the order of their keys, and the kind of each row.

    One key after the other, until all rows differ; NaN equals NaN.

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
    """Write codes side by side as few numbers: each is below 2^63, a column of at most r + 1 codes a factor."""
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
    """Whether any cell holds a value."""
    spare = pooled.schema.offsets[1:].astype(np.intp) - 1
    states = pooled.tables.counts.sum() - pooled.tables.counts[spare].sum()
    return bool(states > 0.0 or ("moments" in pooled.parts and pooled.moments.weight.any()))


def _check_values(values: Floats, schema: Schema, spec: ModelSpec, rows: Places) -> None:
    """Raise an error for values outside the range of a column's family."""
    for j, variable in enumerate(schema.numeric):
        family_of(spec.family(variable.name)).check_values(values[:, j : j + 1], (variable.name,), rows)
