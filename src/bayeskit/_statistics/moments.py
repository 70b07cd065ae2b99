"""Moments of numeric attributes in each class: n, Σx and Σx² about a pivot, in double-double."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._schema import Name, Schema
from bayeskit._statistics import double
from bayeskit._statistics.double import Twofold
from bayeskit._statistics.part import (
    ROUNDING,
    CellTable,
    Embedding,
    Gone,
    Part,
    of_planes,
    put_planes,
    term_text,
)
from bayeskit._statistics.term import Term
from bayeskit.errors import DataError, Incompatible
from bayeskit.typing import Floats

# Squares of values up to this power of two (or its inverse) keep all digits of a double-double.
LARGEST_POWER = 400

_PLANE_NAMES = ("weight", "weight_low", "pivot", "first", "first_low", "second", "second_low")
_LARGEST = np.finfo(np.float64).max
_SMALLEST = np.nextafter(0.0, 1.0)

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Moments(Part):
    r"""The weight, sum and sum of squares of d attributes in each of K classes.

    .. math:: n = \sum w, \quad S_1 = \sum w (x - p), \quad S_2 = \sum w (x - p)^2

    Each class and attribute has its own pivot p, because a common origin would lose all digits if the classes are far
    apart. All three sums are double-doubles: the plain name is the high part, and ``_low`` the low part. A cell
    without weight is all zeros.

    Parameters
    ----------
    cells : array of shape (7, K, d)
        The planes weight, weight_low, pivot, first, first_low, second, second_low.
    exponent : int array of shape (d,)
        Values are stored as x·2^−exponent. It is 0 unless their squares would overflow or underflow.

    Examples
    --------
    >>> moments = Moments.from_sums(weight=[[4.0]], pivot=[[1.0]], first=[[4.0]], second=[[12.0]])
    >>> moments.mean()[0].item(), moments.variance().item()
    (2.0, 2.0)
    """

    kind = "moments"
    column_kind = "numeric"
    weight_arrays = ("weight",)
    exponent_arrays = ("exponent",)
    remembered = "scaled"
    cleared_by = "moments"

    cells: Floats
    exponent: Integers
    weight: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Σw over the values that are present, shape (K, d).
        object.__setattr__(self, "weight", self.cells[double.WEIGHT])

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        yield from (Term((schema.target.name,), (name,), 2) for name in attributes)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        width = len(attributes)
        return cls(np.zeros((double.PLANES, schema.n_classes, width)), np.zeros(width, np.int64))

    @classmethod
    def from_sums(cls, weight: object, pivot: object, first: object, second: object) -> Self:
        """Return moments from sums about a pivot that were computed elsewhere, each of shape (K, d)."""
        planes = [np.asarray(plane, dtype=np.float64) for plane in (weight, pivot, first, second)]
        cells = np.zeros((double.PLANES, *planes[0].shape))
        for place, plane in zip(
            (double.WEIGHT, double.PIVOT, double.FIRST, double.SECOND), planes, strict=True
        ):
            cells[place] = np.where(planes[0] == 0.0, 0.0, plane)
        double.settle_cells(cells)
        return cls(cells, np.zeros(cells.shape[2], np.int64))

    @property
    def pivot(self) -> Floats:
        pivot: Floats = self.cells[double.PIVOT]
        return pivot

    @property
    def first(self) -> tuple[Floats, Floats]:
        """Σw(x − pivot), high and low, each of shape (K, d)."""
        return self.cells[double.FIRST], self.cells[double.FIRST_LOW]

    @property
    def second(self) -> tuple[Floats, Floats]:
        """Σw(x − pivot)², high and low, each of shape (K, d)."""
        return self.cells[double.SECOND], self.cells[double.SECOND_LOW]

    def merge(self, other: Self) -> Self:
        return self._combined(other, 1.0)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        left = self._combined(other, -1.0)
        if gone is None or "moments" not in gone:
            return left  # sums are double-doubles, and rounding errors were already cleared cell by cell
        return left.without_rounding(gone["moments"], other.weight != 0.0)

    def without_rounding(self, gone: Moments, touched: NDArray[np.bool_] | None = None) -> Self:
        """Clear the rounding errors that removed rows may have left.

        An error in their weights has the effect of keeping some of them, up to ROUNDING of their weight. In a cell from
        which rows were removed now (``touched``), this may be all the weight or all the spread that is left. In any
        other cell it has shifted the mean, and values that differ by less than that are equal.
        """
        taken = np.zeros(self.weight.shape, np.bool_) if touched is None else touched
        left = self.within_cells(gone, taken)
        # An attribute that is constant up to rounding has the same value in all classes.
        pooled = left.pooled().rescaled(left.exponent)
        constant, value = pooled._constant_but_for(gone.pooled(), np.asarray(taken.any(axis=0)))
        constant &= pooled._described()[2] > 0.0
        return left._at(value, constant & (left.weight != 0.0)) if constant.any() else left

    def within_cells(self, gone: Moments, touched: NDArray[np.bool_]) -> Self:
        """Clear these rounding errors in each cell separately."""
        empty = touched & (self.weight <= ROUNDING * gone.weight)
        empty &= self.weight >= -double.BELOW_ZERO * gone.weight  # lower weights were never counted
        constant, value = self._constant_but_for(gone, touched)
        left = self._at(value, constant)
        left.cells[:, empty] = 0.0
        return left

    def _constant_but_for(
        self, gone: Moments, touched: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], Floats]:
        """Return which cells have no spread beyond rounding errors of removed rows, and their value.

        The value is the mean, or zero if the mean may be rounding error, too.
        """
        gone, weight = gone.rescaled(self.exponent), np.where(self.weight > 0.0, self.weight, np.inf)
        (mean, _, spread), (centre, _, around) = self._described(), gone._described()
        with np.errstate(over="ignore"):
            around = around + gone.weight * (centre - mean) ** 2  # Σw(x − mean)² of the rows that are gone
            error = ROUNDING * np.sqrt(gone.weight * around) / weight  # of the mean
            in_doubt = np.where(touched, ROUNDING * around, self.weight * error**2)
        return (self.weight > 0.0) & (spread <= in_doubt), np.where(np.abs(mean) <= error, 0.0, mean)

    def _at(self, value: Floats, where: NDArray[np.bool_]) -> Self:
        """Return the same weights. Cells in the mask become constant with these values."""
        cells = self.cells.copy()
        cells[double.PIVOT] = np.where(where, value, cells[double.PIVOT])
        cells[double.FIRST :, where] = 0.0
        return type(self)(cells, self.exponent)

    def _combined(self, other: Self, sign: float) -> Self:
        a, b = self.cells, other.cells
        if a.shape != b.shape:
            raise Incompatible(
                "Moments of {length} classes and {length2} attributes cannot be combined with those of "
                "{length3} and {length4}. Embed both in one schema first.",
                length=a.shape[1],
                length2=a.shape[2],
                length3=b.shape[1],
                length4=b.shape[2],
            )
        cells, exponent = np.empty_like(a), self.exponent
        if double.combine_cells(a, exponent, b, other.exponent, sign, cells):
            exponent = _common_exponent(self, other)
            a, b = self.rescaled(exponent).cells, other.rescaled(exponent).cells
            double.combine_cells(a, exponent, b, exponent, sign, cells)
        return type(self)(cells, exponent)

    def scale(self, factor: float | Floats) -> Self:
        factors = np.empty(self.cells.shape[1])
        factors[:] = factor
        cells = np.empty_like(self.cells)
        double.scale_cells(self.cells, factors, cells)
        return type(self)(cells, self.exponent)

    def embed(self, embedding: Embedding) -> Self:
        return type(self)(embedding.move_classes(self.cells, axis=1), self.exponent)

    def widened(self, old: Schema, new: Schema, names: tuple[Name, ...]) -> Self:
        width = len(new.numeric) - self.cells.shape[2]
        cells = np.zeros((double.PLANES, new.n_classes, width))
        exponent = np.concatenate([self.exponent, np.zeros(width, np.int64)])
        return type(self)(np.concatenate([self.cells, cells], axis=2), exponent)

    def deficit(self) -> float:
        return max(0.0, -float(self.weight.min(initial=0.0)))

    def pooled(self) -> Self:
        """Return the moments of all classes together: one row."""
        held, cells = self, _pooled_cells(self.cells)
        if not np.isfinite(cells).all():
            held = self.rescaled(_common_exponent(self))
            cells = _pooled_cells(held.cells)
        return type(self)(cells, held.exponent)

    def columns(self, places: NDArray[np.intp]) -> Self:
        """Return the moments of some of the attributes."""
        return type(self)(np.ascontiguousarray(self.cells[:, :, places]), self.exponent[places])

    def rescaled(self, exponent: Integers) -> Self:
        """Return the same moments of x·2^−exponent, exact unless numbers leave the range of a double."""
        if np.array_equal(exponent, self.exponent):
            return self
        cells, power = self.cells.copy(), self.exponent - exponent
        with np.errstate(over="ignore", under="ignore"):
            for plane in (double.PIVOT, double.FIRST, double.FIRST_LOW):
                cells[plane] = np.ldexp(cells[plane], power)
            for plane in (double.SECOND, double.SECOND_LOW):
                cells[plane] = np.ldexp(cells[plane], 2 * power)
        return type(self)(cells, exponent)

    def mean(self) -> tuple[Floats, Floats]:
        """Return the means as high + low, so that x − high is exact near the mean; 0 for cells without weight."""
        high, low = self.scaled_mean()
        return np.ldexp(high, self.exponent), np.ldexp(low, self.exponent)

    def scaled_mean(self) -> tuple[Floats, Floats]:
        """Return the means of x·2^−exponent as high + low, which are always in range."""
        high, low, _ = self._described()
        return high, low

    def centred(self) -> Floats:
        """Return the second moments about the means, Σw(x − mean)²."""
        return _in_range(self._described()[2], 2 * self.exponent)

    def variance(self, unbiased: bool = False) -> Floats:
        """Return Σw(x − mean)²/n, or divided by n − 1; 0 if the divisor is not positive.

        A variance beyond the range of a double becomes the largest (or the smallest positive) double.
        """
        return _in_range(self.scaled_variance(unbiased), 2 * self.exponent)

    def deviation(self, unbiased: bool = False) -> Floats:
        """Return the standard deviations, which stay in range even if the variances do not."""
        return _in_range(np.sqrt(self.scaled_variance(unbiased)), self.exponent)

    def scaled_variance(self, unbiased: bool = False) -> Floats:
        """Return the variances of x·2^−exponent, which are always in range."""
        divisor = self.weight - 1.0 if unbiased else self.weight
        above = divisor > 0.0
        return np.where(above, self._described()[2] / np.where(above, divisor, 1.0), 0.0)

    def _described(self) -> tuple[Floats, Floats, Floats]:
        mean, low, centred = np.empty((3, *self.weight.shape))
        double.describe_cells(self.cells, mean, low, centred)
        return mean, low, centred

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        planes: dict[str, NDArray[np.generic]] = dict(zip(_PLANE_NAMES, self.cells, strict=True))
        return {**planes, "exponent": self.exponent}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        cells = np.stack([np.asarray(arrays[name], dtype=np.float64) for name in _PLANE_NAMES])
        return cls(cells, np.asarray(arrays["exponent"], dtype=np.int64))

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        for j, term in enumerate(Moments.terms(schema, attributes)):
            yield moment_cells(term, self.cells[:, :, j], int(self.exponent[j]))

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        moments = cls.zero(schema, attributes)
        for j, term in enumerate(Moments.terms(schema, attributes)):
            moments.exponent[j] = put_moments(tables[term], moments.cells[:, :, j])
        return moments


def moment_cells(term: Term, planes: Floats, exponent: int) -> CellTable:
    """List the cells of one attribute: n, pivot, first and second, and the binary exponent of their scale."""
    table = of_planes(term, dict(zip(_PLANE_NAMES, planes, strict=True)))
    return replace(table, sums={**table.sums, "exponent": np.full(len(table.n), float(exponent))})


def put_moments(table: CellTable, planes: Floats) -> int:
    """Write the cells of one attribute into ``planes``, and return the exponent of their scale."""
    put_planes(table, dict(zip(_PLANE_NAMES, planes, strict=True)))
    exponents = np.unique(table.plane("exponent", ()))
    if len(exponents) > 1:
        raise DataError(
            "The cells of {term} have the scales 2^{exponents}. The sums of one attribute need one scale.",
            term=term_text(table.term),
            exponents=exponents.astype(int).tolist(),
        )
    return int(exponents[0]) if len(exponents) else 0


def _pooled_cells(cells: Floats) -> Floats:
    """Add the cells of all classes about the pivot of the class with the most weight, in double-double.

    This uses NumPy because it is called once per estimate, and compiling a kernel would double the time of a first fit.
    """
    weight, weight_low, pivot, first, first_low, second, second_low = cells
    pooled = np.zeros((double.PLANES, 1, cells.shape[2]))
    if not cells.shape[1] or not cells.shape[2]:
        return pooled
    heaviest = np.abs(weight).argmax(axis=0)
    origin = np.take_along_axis(pivot, heaviest[None, :], axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        by = Twofold.difference(np.broadcast_to(origin, pivot.shape), pivot)
        n, before = Twofold(weight, weight_low), Twofold(first, first_low)
        after = before - n * by
        moved = Twofold(second, second_low) - by * (before + after)
        sums = Twofold(np.stack([n.high, after.high, moved.high]), np.stack([n.low, after.low, moved.low]))
        total = sums[:, 0]
        for c in range(1, cells.shape[1]):
            total = total + sums[:, c]
        n, first_sum, second_sum = total[0], total[1], total[2]
        spread = n * second_sum - first_sum * first_sum
        # If only rounding errors are left, the attribute is constant, and its variance must be exactly 0.
        constant = spread.high <= double.NO_SPREAD * n.high * np.abs(moved.high).sum(axis=0)
    pooled[[double.WEIGHT, double.FIRST, double.SECOND], 0] = total.high
    pooled[[double.WEIGHT_LOW, double.FIRST_LOW, double.SECOND_LOW], 0] = total.low
    pooled[double.PIVOT, 0] = origin
    flat = constant & (n.high > 0.0)
    if flat.any():
        pooled[double.PIVOT, 0, flat] += first_sum.high[flat] / n.high[flat]
        pooled[3:, 0, flat] = 0.0
    return pooled


def exponent_for(power: Floats) -> Integers:
    """Return the exponents for storing columns whose largest magnitudes are 2^power (−inf: all zero)."""
    beyond = np.isfinite(power) & (np.abs(power) > LARGEST_POWER)
    return np.where(beyond, np.ceil(np.where(beyond, power, 0.0)), 0.0).astype(np.int64)


def _common_exponent(*parts: Moments) -> Integers:
    powers = []
    for part in parts:
        weight = np.where(part.weight == 0.0, 1.0, np.abs(part.weight))
        spread = np.sqrt(np.abs(part.second[0]) / weight)
        largest = np.maximum(np.abs(part.pivot), spread).max(axis=0, initial=0.0)
        with np.errstate(divide="ignore"):
            powers.append(np.log2(largest) + part.exponent)
    return exponent_for(np.max(powers, axis=0))


def _in_range(held: Floats, power: Integers) -> Floats:
    """Return held·2^power, kept finite, and positive if ``held`` is positive."""
    with np.errstate(over="ignore", under="ignore"):
        value: Floats = np.minimum(np.ldexp(held, power), _LARGEST)
    return np.where((held > 0.0) & (value == 0.0), _SMALLEST, value)
