"""Joint second moments, for classes with full covariance and linear-Gaussian children."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._schema import Name, Schema
from bayeskit._statistics.double import BLOCK, Twofold, constant_value
from bayeskit._statistics.part import (
    ONE_ROW,
    ROUNDING,
    CellTable,
    Embedding,
    Gone,
    Part,
    of_planes,
    put_planes,
    weight_gone,
)
from bayeskit._statistics.term import Term
from bayeskit.errors import CannotCount, Incompatible
from bayeskit.typing import Floats

# A class whose mean lies further than this many standard deviations from its pivot is recentred.
FARTHEST = 10.0
# A remainder below the first fraction of the squares may be rounding error, and below the second it is: double-double
# resolves 1e-32, and counting loses some of that.
_SUSPECT, _NO_SPREAD = 1e-12, 1e-26

Sums = tuple[Twofold, Twofold, Twofold, Twofold, Twofold]
_SUMS = ("weight", "first", "second", "third", "fourth")


@dataclass(frozen=True, eq=False)
class Scatter(Part):
    r"""Sums over the complete rows of each class, about its own pivot: :math:`z = x - pivot`.

    Attributes
    ----------
    pivot : array of shape (K, d)
    sums : five Twofold
        In order :math:`\sum w` of shape (K,), :math:`\sum w z_i` of shape (K, d), and of shape (K, d, d)
        :math:`\sum w z_i z_j`, :math:`\sum w z_i^2 z_j`, :math:`\sum w z_i^2 z_j^2`. Ledoit and Wolf's
        shrinkage is a function of the second and the fourth; the third lets the fourth change its pivot.
        They are stored for pairs so that shrinkage works in any units of the columns.

    Examples
    --------
    >>> row = np.zeros((1, 2, 2))
    >>> one = Scatter.about(np.array([[1.0, 2.0]]), np.ones(1), np.zeros((1, 2)), row, row, row)
    >>> other = Scatter.about(np.array([[3.0, 6.0]]), np.ones(1), np.zeros((1, 2)), row, row, row)
    >>> one.merge(other).covariance()[0]
    array([[1., 2.],
           [2., 4.]])
    """

    kind = "scatter"
    column_kind = "numeric"
    weight_arrays = ("weight",)
    is_squared = True
    remembered = "scaled"
    cleared_by = "scatter"

    pivot: Floats
    sums: Sums

    @classmethod
    def about(
        cls, pivot: Floats, weight: Floats, first: Floats, second: Floats, third: Floats, fourth: Floats
    ) -> Self:
        """Return the scatter from sums in plain doubles about a good pivot."""
        exact = Twofold.exact
        return cls(pivot, (exact(weight), exact(first), exact(second), exact(third), exact(fourth)))

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        yield Term((schema.target.name,), attributes, 4)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        k, d = schema.n_classes, len(attributes)
        square = np.zeros((k, d, d))
        return cls.about(np.zeros((k, d)), np.zeros(k), np.zeros((k, d)), square, square, square)

    @property
    def weight(self) -> Floats:
        """n(c): the weight of the complete rows of each class."""
        return self.sums[0].high

    @property
    def second(self) -> Floats:
        return self.sums[2].high

    @property
    def fourth(self) -> Floats:
        return self.sums[4].high

    def merge(self, other: Self) -> Self:
        if self.pivot.shape != other.pivot.shape:
            raise Incompatible(
                "Scatter of {length} attributes in {length2} classes cannot be "
                "added to that of {length3} in {length4}.",
                length=self.pivot.shape[1],
                length2=self.pivot.shape[0],
                length3=other.pivot.shape[1],
                length4=other.pivot.shape[0],
            )
        # Keep the pivot with more weight: an empty class is neutral, and a single outlier does not move the pivot.
        mine = np.abs(self.weight) >= np.abs(other.weight)
        pivot = np.where(mine[:, None], self.pivot, other.pivot)
        a, b = self.moved(pivot).sums, other.moved(pivot).sums
        n, s1, s2, s3, s4 = (x + y for x, y in zip(a, b, strict=True))
        return type(self)(pivot, (n, s1, s2, s3, s4))._settled(_squares(a) + _squares(b))

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        left, touched = self.merge(other.scale(-1.0)), other.weight != 0.0
        weight = weight_gone(gone, other.weight)
        left = left._without(touched & (left.weight <= ROUNDING * weight) & (left.weight >= -1e-9 * weight))
        if gone is None or self.kind not in gone:
            return left
        return left.without_rounding(
            gone[self.kind], np.repeat(touched[:, None], self.pivot.shape[1], axis=1)
        )

    def without_rounding(self, gone: Self, touched: NDArray[np.bool_] | None = None) -> Self:
        """Clear the spread that rounding errors of removed rows may have left, see `Moments.without_rounding`."""
        taken = np.zeros(self.pivot.shape, np.bool_) if touched is None else touched
        constant, value = self._constant_but_for(gone, taken)
        left = self._at(value, constant) if constant.any() else self
        pooled = left.pooled()
        constant, value = pooled._constant_but_for(gone.pooled(), np.asarray(taken.any(axis=0)))
        constant &= _squares(pooled.centred().sums) > 0.0
        return left._at(value, constant & (left.weight > 0)[:, None]) if constant.any() else left

    def _constant_but_for(self, gone: Self, touched: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Floats]:
        """Return which columns have no spread beyond rounding errors of removed rows, and their value."""
        centred, n = self.centred(), np.where(self.weight > 0, self.weight, np.inf)[:, None]
        mean, around = centred.pivot, _squares(gone.moved(centred.pivot).sums)
        error = ROUNDING * np.sqrt(gone.weight[:, None] * around) / n  # of the mean
        in_doubt = np.where(touched, ROUNDING * around, self.weight[:, None] * error**2)
        constant = (self.weight > 0)[:, None] & (_squares(centred.sums) <= in_doubt)
        return constant, np.where(np.abs(mean) <= error, 0.0, mean)

    def _at(self, value: Floats, where: NDArray[np.bool_]) -> Self:
        """Return the same sums, with the columns in the mask constant at these values."""
        left = self._recentred(np.asarray(where.any(axis=1)))._flattened(where)
        return type(self)(np.where(where, value, left.pivot), left.sums)

    def scale(self, factor: float | Floats) -> Self:
        by = np.broadcast_to(np.asarray(factor, dtype=np.float64), self.weight.shape)
        n, s1, s2, s3, s4 = (s.scaled(by.reshape(-1, *[1] * (s.high.ndim - 1))) for s in self.sums)
        scaled = type(self)(self.pivot, (n, s1, s2, s3, s4))
        return scaled._without(scaled.weight == 0)

    def embed(self, embedding: Embedding) -> Self:
        move = embedding.move_classes
        n, s1, s2, s3, s4 = (Twofold(move(s.high), move(s.low)) for s in self.sums)
        return type(self)(move(self.pivot), (n, s1, s2, s3, s4))

    def deficit(self) -> float:
        return float(max(0.0, -self.weight.min(initial=0.0)))

    def arrays(self) -> dict[str, Any]:
        high = {name: s.high for name, s in zip(_SUMS, self.sums, strict=True)}
        low = {f"{name}_low": s.low for name, s in zip(_SUMS, self.sums, strict=True)}
        return {"pivot": self.pivot, **high, **low}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        n, s1, s2, s3, s4 = (Twofold(arrays[name], arrays[f"{name}_low"]) for name in _SUMS)
        return cls(arrays["pivot"], (n, s1, s2, s3, s4))

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        (term,) = Scatter.terms(schema, attributes)
        yield of_planes(term, self.arrays())

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        arrays = {name: array.copy() for name, array in cls.zero(schema, attributes).arrays().items()}
        (term,) = Scatter.terms(schema, attributes)
        put_planes(tables[term], arrays)
        return cls.from_arrays(arrays)

    def moved(self, pivot: Floats) -> Self:
        """Return the same sums about other pivots, in double-double."""
        which = np.flatnonzero((pivot != self.pivot).any(axis=1))
        if not len(which):
            return self
        if len(which) == len(pivot):
            return type(self)(pivot, _shifted(self.sums, Twofold.difference(pivot, self.pivot)))
        # Only the classes whose pivots differ: a row that is left out changes those of one class.
        n, s1, s2, s3, s4 = (
            s.replaced(which, new)
            for s, new in zip(self.sums, self._some(which).moved(pivot[which]).sums, strict=True)
        )
        return type(self)(pivot, (n, s1, s2, s3, s4))

    def mean(self) -> Floats:
        """Return the mean of each class, of shape (K, d); NaN for a class without rows."""
        # Round only once, from double-doubles, so that the mean does not depend on the order of the rows.
        return (Twofold.exact(self.pivot) + self.sums[1] / self._rows(0.0)[:, None]).high

    def covariance(self, unbiased: bool = False) -> Floats:
        """Return the covariance of each class, of shape (K, d, d); NaN if there are too few rows."""
        # Round only once here, too: solving with a nearly singular matrix magnifies its last bits.
        _, first, second, *_ = self.centred().sums
        n = self._rows(float(unbiased))[:, None, None]
        divisor = n - Twofold.exact(np.full(n.high.shape, float(unbiased)))
        out = np.empty(second.high.shape)
        for c, r in _blocks(*self.pivot.shape):
            square = second[c, r] - first[c, r, None] * first[c, None, :] / n[c]
            mirrored = second[c, :, r] - first[c, :, None] * first[c, None, r] / n[c]
            out[c, r] = ((square + mirrored.transposed()).scaled(np.array(0.5)) / divisor[c]).high
        return out

    def _rows(self, least: float) -> Twofold:
        """Return n(c), or NaN if it is not above ``least``."""
        n = self.sums[0]
        return Twofold(np.where(n.high > least * ONE_ROW, n.high, np.nan), n.low)

    def centred(self) -> Self:
        """Return the sums of each class about its own mean."""
        return self._recentred(self.weight > 0)

    def of_class(self, c: int) -> Self:
        """Return the statistics of one class (K = 1)."""
        return self._some(slice(c, c + 1))

    def _some(self, classes: NDArray[np.intp] | slice) -> Self:
        n, s1, s2, s3, s4 = (s[classes] for s in self.sums)
        return type(self)(self.pivot[classes], (n, s1, s2, s3, s4))

    def restricted(self, which: NDArray[np.intp]) -> Self:
        """Return the sums of some of the attributes, over the same rows."""
        if np.array_equal(which, np.arange(self.pivot.shape[1])):
            return self
        n, s1, *squares = self.sums
        s2, s3, s4 = (s[:, which[:, None], which] for s in squares)
        return type(self)(self.pivot[:, which], (n, s1[:, which], s2, s3, s4))

    def pooled(self) -> Self:
        """Return the statistics of all rows as one class (K = 1)."""
        # Use the pivot of the class with the most weight. A constant column has the same pivot in all classes.
        pivot = self.pivot[[np.argmax(self.weight)]]
        sums, *others = (self.of_class(c).moved(pivot).sums for c in range(len(self.weight)))
        held = _squares(sums)
        for other in others:
            sums, held = _added(sums, other), held + _squares(other)
        return type(self)(pivot, sums)._settled(held)

    def within(self) -> Self:
        """Return the sums of all rows about the mean of their class, as one class about zero (K = 1)."""
        sums = self._about_own_mean(0)
        for c in range(1, len(self.weight)):
            sums = _added(sums, self._about_own_mean(c))
        return type(self)(np.zeros_like(self.pivot[:1]), sums)

    def _about_own_mean(self, c: int) -> Sums:
        centred = self.of_class(c).centred()
        # A mean of 1e8 may differ from the nearest double by 1e-8, so subtract this difference, too.
        return _shifted(centred.sums, Twofold.exact(centred._mean_of_z(centred.weight > 0)))

    def _mean_of_z(self, which: NDArray[np.bool_]) -> Floats:
        mean = np.zeros_like(self.pivot)
        np.divide(self.sums[1].high, self.weight[:, None], where=which[:, None], out=mean)
        return mean

    def _recentred(self, which: NDArray[np.bool_]) -> Self:
        """Move the pivots of these classes to the double nearest to their mean."""
        step = self._mean_of_z(which)
        if not step.any():
            return self
        n, first, *_ = self.sums
        rest = first - n[:, None] * Twofold.exact(step)
        left = type(self)(self.pivot, (n, rest, *self.sums[2:]))._mean_of_z(which)
        mean = Twofold.difference(self.pivot, -step)
        return self.moved(mean.high + (mean.low + left))

    def _settled(self, held: Floats) -> Self:
        """Clear empty classes, and recentre those far from their pivot; ``held`` are the Σz² before the operation."""
        kept = self._without(self.weight == 0)
        first, square = kept.sums[1].high, _squares(kept.sums)
        # |mean − pivot| > 10 sd, written so that nothing cancels: n·m² > 100 (Σz² − n·m²).
        ahead = first**2 * (1 + FARTHEST**2) > FARTHEST**2 * kept.weight[:, None] * square
        small = square < _SUSPECT * held
        kept = kept._recentred((ahead | small).any(axis=1) & (kept.weight > 0))
        constant = small | ahead
        if constant.any():
            constant &= _squares(kept.sums) <= _NO_SPREAD * held
        if not constant.any():
            return kept
        value = constant_value(kept.pivot, constant, self.pivot, held, self.weight[:, None])
        return type(self)(value, kept._flattened(constant).sums)

    def _flattened(self, constant: NDArray[np.bool_]) -> Self:
        """Replace rounding errors of constant columns by exact zeros."""
        either = constant[:, :, None] | constant[:, None, :]
        n, s1, *squares = self.sums
        s2, s3, s4 = (s.cleared(either) for s in squares)
        return type(self)(self.pivot, (n, s1.cleared(constant), s2, s3, s4))

    def _without(self, gone: NDArray[np.bool_]) -> Self:
        if not gone.any():
            return self
        n, s1, s2, s3, s4 = (s.cleared(gone.reshape(-1, *[1] * (s.high.ndim - 1))) for s in self.sums)
        return type(self)(np.where(gone[:, None], 0.0, self.pivot), (n, s1, s2, s3, s4))


class CodedScatter(Scatter):
    """The scatter of coded columns of attributes: standardised numbers, and states as columns of 0 and 1.

    The attributes of its pattern are (filled, columns). A column is one of

    - ("number", name, mean, deviation, most): (x − mean) / deviation, between −most and most;
    - ("state", name, state, share): 1 if the attribute has this state, otherwise 0;
    - ("missing", name): 1 if the attribute is missing, otherwise 0.

    If an attribute is missing and ``filled`` is true, its columns get their mean: 0 for numbers, ``share`` for states.
    Otherwise the row is incomplete and not counted.
    """

    kind = "coded_scatter"
    cleared_by = "coded_scatter"

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        if len(attributes) != 2 or type(attributes[0]) is not bool or type(attributes[1]) is not tuple:
            return False
        return all(_is_coded(column, schema) for column in attributes[1])

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        raise CannotCount("Columns derived from attributes can be counted from rows only.")

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Any, ...]) -> Self:
        return super().zero(schema, attributes[1])

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        raise CannotCount("The scatter of derived columns cannot be made from a table of cells.")


def _is_coded(column: object, schema: Schema) -> bool:
    """Return whether a coded column is valid: its attribute is in the schema, and its numbers are finite."""
    if type(column) is not tuple or len(column) < 2 or column[1] not in schema.position:
        return False
    kind, name, *rest = column
    if kind == "missing":
        return not rest
    if kind == "state":
        return schema[name].kind == "categorical" and len(rest) == 2 and _is_finite(rest[1])
    is_number = kind == "number" and schema[name].kind == "numeric" and len(rest) == 3
    return (
        is_number
        and all(map(_is_finite, rest[:2]))
        and rest[1] > 0.0
        and type(rest[2]) is float
        and rest[2] > 0.0
    )


def _is_finite(value: object) -> bool:
    return type(value) is float and math.isfinite(value)


def _squares(sums: Sums) -> Floats:
    """Return |Σz²| of every class and attribute."""
    return np.abs(np.diagonal(sums[2].high, axis1=1, axis2=2))


def _added(sums: Sums, others: Sums) -> Sums:
    n, s1, s2, s3, s4 = (a + b for a, b in zip(sums, others, strict=True))
    return n, s1, s2, s3, s4


def _shifted(sums: Sums, delta: Twofold) -> Sums:
    r"""Return the sums of :math:`z' = z - \delta` from those of z.

    Every line replaces one factor z by z': :math:`\sum z_i z_j` becomes :math:`\sum z_i z'_j`, then
    :math:`\sum z'_i z'_j`; and :math:`z'^2 = z^2 - \delta (z + z')`.
    """
    n, s1, s2, s3, s4 = sums
    k, d = delta.high.shape
    diagonal = np.arange(d)
    new1 = s1 - n[:, None] * delta
    of_squares = s2[:, diagonal, diagonal]
    new2, new3, new4 = (Twofold.empty((k, d, d)) for _ in range(3))
    for c, r in _blocks(k, d):
        i, j = delta[c, r, None], delta[c, None, :]
        half2 = s2[c, r] - s1[c, r, None] * j  # Σ z_i z'_j
        now2 = half2 - i * new1[c, None, :]
        half3 = s3[c, r] - of_squares[c, r, None] * j  # Σ z_i² z'_j
        new2.fill((c, r), now2)
        new3.fill((c, r), half3 - i * (half2 + now2))
        new4.fill((c, r), s4[c, r] - j * (s3[c, r] + half3))  # Σ z_i² z'_j²
    of_squares = new2[:, diagonal, diagonal]
    for c, r in _blocks(k, d):
        i, back = delta[c, r, None], new3[c, :, r].transposed()  # Σ z'_i z'_j²
        new4.fill((c, r), new4[c, r] - i * (back + back + i * of_squares[c, None, :]))
    return n, new1, new2, new3, new4


def _blocks(k: int, d: int) -> Iterator[tuple[slice, slice]]:
    """Cut k square matrices into runs of whole ones or, of large ones, of rows: (matrices, rows) of a run."""
    matrices, rows = max(1, BLOCK // max(d * d, 1)), max(1, min(d, BLOCK // max(d, 1)))
    for c in range(0, k, matrices):
        for r in range(0, d, rows):
            yield slice(c, c + matrices), slice(r, r + rows)
