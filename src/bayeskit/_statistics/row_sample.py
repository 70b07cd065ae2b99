"""A sample of rows that can be merged and subtracted like sums.

Every row has a number that depends only on its values (:func:`row_numbers`). The sample keeps the rows with the
smallest numbers. Equal rows of the same class are stored once, with their weights added. A row that is among the
smallest of all rows is also among the smallest of every part, so its weight is complete, and any split of the rows
gives the same sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics.part import ROUNDING_OF_ONE, CellTable, Embedding, Gone, Part, never_counted
from bayeskit._statistics.term import Term
from bayeskit.errors import CannotCount
from bayeskit.typing import Codes, Floats

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]

_LARGEST = 2**63 - 1


@dataclass(frozen=True, eq=False)
class RowSample(Part):
    """Distinct rows whose numbers are at most ``limit``, each with the total weight of its copies.

    The attributes of its pattern are one integer: the maximum number of rows. After ``subtract`` there may be room, but
    dropped rows do not come back. The sample is then smaller, and still unbiased.

    Attributes
    ----------
    numbers : int64 array of shape (m,), ascending
        Rows with equal values and different classes have the same number, and are sorted by class.
    codes : int64 array of shape (m, categorical attributes)
    bits : int64 array of shape (m, numeric attributes)
        The bits of the doubles, so that NaN equals itself and infinity is kept.
    target : int64 array of shape (m,)
    weight : array of shape (m,)
    unit : array of shape (K,)
        The weight of one row of each class: 1, or the class weight.
    limit : int64 array of shape (1,)
    capacity : int64 array of shape (1,)
    """

    kind = "row_sample"
    weight_arrays = "weight", "unit"
    free_arrays = "numbers", "codes", "bits", "target", "weight"
    fixed_arrays = ("capacity",)

    numbers: Numbers
    codes: NDArray[np.int64]
    bits: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: Floats
    unit: Floats
    limit: Numbers
    capacity: NDArray[np.int64]

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        return len(attributes) == 1 and type(attributes[0]) is int and attributes[0] > 0

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        raise CannotCount("A sample of rows can be taken from rows only.")

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Any, ...]) -> Self:
        return cls(
            numbers=np.zeros(0, dtype=np.int64),
            codes=np.zeros((0, len(schema.categorical)), dtype=np.int64),
            bits=np.zeros((0, len(schema.numeric)), dtype=np.int64),
            target=np.zeros(0, dtype=np.int64),
            weight=np.zeros(0),
            unit=np.ones(schema.n_classes),
            limit=np.array([_LARGEST], dtype=np.int64),
            capacity=np.array([attributes[0]], dtype=np.int64),
        )

    @property
    def values(self) -> Floats:
        """The numbers of the rows: shape (m, numeric attributes)."""
        return self.bits.view(np.float64)

    @property
    def own(self) -> Floats:
        """The weight to leave out of the counts for one copy of each row: shape (m,)."""
        return np.minimum(self.weight, self.unit[self.target])

    @property
    def is_whole(self) -> bool:
        """Whether no row was dropped: the sample contains all rows."""
        return bool(self.limit[0] == _LARGEST)

    def holds(self, schema: Schema, codes: Codes, values: Floats) -> NDArray[np.bool_]:
        """Return which of the counted rows are in the sample."""
        numbers = row_numbers(schema, np.asarray(codes, dtype=np.int64), _bits_of(values))
        return np.asarray(numbers <= self.limit[0])

    def merge(self, other: Self) -> Self:
        both = self._joined(other)
        order = np.lexsort((both.target, both.numbers))
        numbers, target = both.numbers[order], both.target[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (numbers[1:] != numbers[:-1]) | (target[1:] != target[:-1])
        place, n = np.cumsum(first) - 1, int(first.sum())
        weight = np.asarray(np.bincount(place, both.weight[order], n), dtype=np.float64)
        return replace(both._take(order[first]), weight=weight)._within()

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        limit = min(self.limit[0], other.limit[0])
        some, taken = self._up_to(limit), other._up_to(limit)
        place, is_known = some._places_of(taken)
        if not is_known.all():
            raise never_counted(-float(taken.weight[~is_known].max()))
        left, rounding = some.weight.copy(), np.zeros(len(some.weight))
        left[place] -= taken.weight
        if (left < -1e-9 * some.weight).any():
            raise never_counted(float(left.min()))
        rounding[place] = ROUNDING_OF_ONE * np.maximum(some.weight[place], taken.weight)
        return replace(some, weight=left)._take(np.flatnonzero(left > rounding))

    def _places_of(self, other: Self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the positions of another sample's rows in this one, and which of them are present."""
        both = self._joined(other)
        order = np.lexsort((np.arange(len(both.numbers)), both.target, both.numbers))
        numbers, target, mine = both.numbers[order], both.target[order], order < len(self.numbers)
        # In this order, each row of the other sample comes directly after its equal in this one, if there is one.
        is_known = np.zeros(len(order), dtype=bool)
        is_known[1:] = (numbers[1:] == numbers[:-1]) & (target[1:] == target[:-1])
        before = np.cumsum(mine) - 1
        place, known = np.empty(len(other.numbers), dtype=np.intp), np.empty(len(other.numbers), dtype=bool)
        theirs = order[~mine] - len(self.numbers)
        place[theirs], known[theirs] = before[~mine], is_known[~mine]
        return place, known

    def scale(self, factor: float | Floats) -> Self:
        if np.ndim(factor):  # class weights: the weight of one row of the class
            by_class = np.asarray(factor, dtype=np.float64)
            scaled = replace(self, weight=self.weight * by_class[self.target], unit=self.unit * by_class)
        else:
            scaled = replace(self, weight=self.weight * factor)
        return scaled._take(np.flatnonzero(scaled.weight > 0.0))

    def embed(self, embedding: Embedding) -> Self:
        codes = self.codes.copy()
        for j, (before, after) in enumerate(
            zip(embedding.old.categorical, embedding.new.categorical, strict=True)
        ):
            if before is not after:
                moves = [*(after.codes.get(s, after.size) for s in before.states), after.size]
                codes[:, j] = np.array(moves)[self.codes[:, j]]
        unit = np.ones(embedding.new.n_classes)
        alive = embedding.classes >= 0
        unit[embedding.classes[alive]] = self.unit[alive]
        target = embedding.classes[self.target].astype(np.int64)
        moved = replace(self, codes=codes, target=target, unit=unit)
        return moved._take(np.lexsort((moved.target, moved.numbers)))

    def deficit(self) -> float:
        return 0.0  # subtract raises an error for negative counts

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | Message | None:
        numbers, codes, target = arrays["numbers"], arrays["codes"], arrays["target"]
        if len({len(arrays[name]) for name in cls.free_arrays}) > 1:
            return "its array row_sample/numbers is not as long as the others"
        again = (numbers[1:] == numbers[:-1]) & (target[1:] <= target[:-1])
        outside = (numbers < 0) | (numbers > arrays["limit"][0])
        if (numbers[1:] < numbers[:-1]).any() or again.any() or outside.any():
            return "its array row_sample/numbers does not ascend"
        sizes = np.array([v.size for v in schema.categorical], dtype=np.int64)
        if (codes < 0).any() or (codes > sizes).any():
            return "its array row_sample/codes holds what is no state"
        if (target < 0).any() or (target >= schema.n_classes).any():
            return "its array row_sample/target holds what is no class"
        if (arrays["weight"] <= 0.0).any() or (arrays["unit"] <= 0.0).any():
            return "its array row_sample/weight holds a row without weight"
        return None

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        raise CannotCount("A sample of rows cannot be made from a table of cells.")

    def _joined(self, other: Self) -> Self:
        limit = min(self.limit, other.limit, key=lambda one: one[0])
        arrays = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in self.free_arrays
        }
        return replace(self, **arrays, limit=limit)

    def _up_to(self, limit: np.int64) -> Self:
        n = int(np.searchsorted(self.numbers, limit, side="right"))
        return replace(self._take(slice(0, n)), limit=np.array([limit], dtype=np.int64))

    def _within(self) -> Self:
        """Drop rows beyond the limit, and lower the limit if there are more rows than the capacity."""
        capacity = int(self.capacity[0])
        kept = self._up_to(self.limit[0])
        if len(kept.numbers) <= capacity:
            return kept
        # Rows with the same number are kept or dropped together.
        return kept._up_to(kept.numbers[capacity] - 1)

    def _take(self, rows: slice | NDArray[np.intp]) -> Self:
        return replace(self, **{name: getattr(self, name)[rows] for name in self.free_arrays})


def sample_of(
    schema: Schema, capacity: int, codes: Codes, values: Floats, target: NDArray[Any], weights: Floats
) -> RowSample:
    """Return the sample of rows with codes (n, d), values (n, m), classes (n,) and weights (n,)."""
    rows = np.flatnonzero(weights > 0.0)
    codes = np.asarray(codes, dtype=np.int64)[rows].reshape(len(rows), len(schema.categorical))
    bits, target, weights = _bits_of(values[rows]), target[rows].astype(np.int64), weights[rows]
    empty = RowSample.zero(schema, (capacity,))
    taken = replace(
        empty,
        numbers=row_numbers(schema, codes, bits),
        codes=codes,
        bits=bits,
        target=target,
        weight=weights,
    )
    return empty.merge(taken)


def _bits_of(values: Floats) -> NDArray[np.int64]:
    """Return the bits of doubles. Equal numbers have equal bits."""
    values = np.ascontiguousarray(values + 0.0)  # −0.0 is 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.int64)


def row_numbers(schema: Schema, codes: NDArray[np.int64], bits: NDArray[np.int64]) -> Numbers:
    """Return a pseudo-random number for each row, equal for rows with equal labels and numbers.

    It does not depend on the order of the columns or on the class.
    """
    found = np.zeros(len(codes), dtype=np.uint64)
    for j, variable in enumerate(schema.categorical):
        words = mixed_words(_label_words(variable) ^ np.uint64(_word(repr(variable.name))))
        found += words[codes[:, j]]
    for j, variable in enumerate(schema.numeric):
        found += mixed_words(mixed_words(bits[:, j].view(np.uint64)) ^ np.uint64(_word(repr(variable.name))))
    return (mixed_words(found) >> np.uint64(1)).astype(np.int64)


def content_numbers(schema: Schema, codes: Codes, values: Floats) -> Numbers:
    """Return a pseudo-random number for each row of a table that depends only on the cells.

    It does not depend on the names or the order of the columns, or on the order of the rows: the contents of a column
    replace its name.
    """
    found = np.zeros(len(codes), dtype=np.uint64)
    columns = [_label_words(v)[codes[:, j]] for j, v in enumerate(schema.categorical)]
    for words in (*columns, *_bits_of(values).view(np.uint64).T):
        mixed = mixed_words(words)
        found += mixed_words(mixed ^ mixed_words(mixed.sum(dtype=np.uint64, keepdims=True)))
    return (mixed_words(found) >> np.uint64(1)).astype(np.int64)


def mixed_words(words: Words) -> Words:
    """Mix the bits of words (the finaliser of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _label_words(variable: Variable) -> Words:
    """Return a word for each state and one for missing, computed from labels because codes may change."""
    return np.array([*map(_label_word, variable.states), 0], dtype=np.uint64)


def _label_word(label: object) -> int:
    # Equal numbers (1, 1.0, True) are one state and have the same hash. The hash of a text differs between processes.
    return _word(repr(hash(label)) if isinstance(label, Real) else repr(label))


def _word(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
