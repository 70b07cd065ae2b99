"""Second moments of a numeric child and its numeric parents, by discrete configuration and class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message
from bayeskit._schema import Name, Schema
from bayeskit._statistics.double import Twofold
from bayeskit._statistics.families import LARGEST_KEY, Ids, flaw_of_cells
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.part import (
    DUST,
    CellTable,
    Embedding,
    Gone,
    Part,
    are_families,
    digits_of,
    key_of,
    shape_of,
)
from bayeskit._statistics.regressions import Lost, Regressions
from bayeskit._statistics.term import Term
from bayeskit.errors import ColumnError, DataError
from bayeskit.typing import Floats

# Sums of squares of larger values could overflow.
LARGEST = 1e100
# The index that stands for the class among the members of a family.
CLASS = -1
_SUMS = ("weight", "first", "second")

# The keys of the cells of one family, ascending, and the sums of each.
Cells = tuple[Ids, Regressions]


@dataclass(frozen=True, eq=False)
class RegressionFamilies(Part):
    r"""Sums for the estimates of linear-Gaussian children. Only cells with rows are stored.

    For a family with the discrete parents u₁, …, u_k and z = (numeric parents, child), the cell (u₁, …, u_k, c) holds

    .. math:: n = \sum w, \quad \sum w z, \quad \sum w z z^\top

    about its own pivot, as double-doubles, over the rows in which all of z is present. Its key is
    :math:`((u_1 R_2 + u_2) \dots R_k + u_k)\,K + c` with R = r + 1: missing is a code like any other, as in
    :class:`~bayeskit._statistics.families.Families`.

    Attributes
    ----------
    members : int64 array
        The discrete parents of all families one after the other, as indices of the categorical attributes of the
        schema. Each family ends with −1, the class.
    bounds : int64 array of shape (F + 1,)
        The start of each family in ``members``.
    radices : int64 array
        The number of codes of each member.
    columns, column_bounds : int64 arrays
        The same for z, as indices of the numeric attributes, with the child last.
    cells : tuple of (keys, Regressions)
        One for each family. Keys ascend, and every weight is positive.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> three = Variable("a", "categorical", (0, 1)), Variable("u", "numeric"), Variable("v", "numeric")
    >>> schema = Schema(three, Variable("y", "categorical", ("no", "yes")))
    >>> zero = RegressionFamilies.zero(schema, (("v", "u", "a"),))
    >>> zero.discrete_of(0), zero.numeric_of(0)
    ((0,), (0, 1))
    """

    kind = "regressions"
    column_kind = "numeric"
    weight_arrays = ("weight",)
    free_arrays = "keys", "pivot", "weight", "weight_low", "first", "first_low", "second", "second_low"
    fixed_arrays = "members", "bounds", "radices", "columns", "column_bounds"
    is_squared = True
    cleared_by = "moments"

    members: Ids
    bounds: Ids
    radices: Ids
    columns: Ids
    column_bounds: Ids
    cells: tuple[Cells, ...]

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        return are_families(schema, attributes, "numeric", ("categorical", "numeric"))

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Any, ...]) -> Iterator[Term]:
        for child, *parents in attributes:
            numeric = tuple(name for name in parents if name in schema.numeric_index)
            discrete = (name for name in parents if name not in numeric)
            yield Term((schema.target.name, *discrete), (*numeric, child), 2)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Any, ...]) -> Self:
        position = {v.name: j for j, v in enumerate(schema.categorical)}
        discrete, numeric = [], []
        for family in attributes:
            child, *parents = _checked(family, position, schema)
            discrete.append([*(position[p] for p in parents if p in position), CLASS])
            numeric.append([schema.numeric_index[p] for p in (*parents, child) if p in schema.numeric_index])
            _check_size(schema, family, [schema.categorical[j].size for j in discrete[-1][:-1]])
        sizes = np.array([*(v.size + 1 for v in schema.categorical), schema.n_classes], np.int64)
        members = np.array([j for some in discrete for j in some], np.int64)
        return cls(
            members,
            np.cumsum([0, *map(len, discrete)], dtype=np.int64),
            sizes[members],  # −1 selects the last entry
            np.array([j for some in numeric for j in some], np.int64),
            np.cumsum([0, *map(len, numeric)], dtype=np.int64),
            tuple(_no_cells(len(some)) for some in numeric),
        )

    def __len__(self) -> int:
        return len(self.cells)

    def discrete_of(self, f: int) -> tuple[int, ...]:
        """Return the indices of the discrete parents of a family, without the class."""
        return tuple(int(j) for j in self.members[self.bounds[f] : self.bounds[f + 1] - 1])

    def numeric_of(self, f: int) -> tuple[int, ...]:
        """Return the indices of the numeric attributes of a family, with the child last."""
        return tuple(int(j) for j in self.columns[self.column_bounds[f] : self.column_bounds[f + 1]])

    def radices_of(self, f: int) -> list[int]:
        """Return the number of codes of each digit of a key: those of the discrete parents, then of the class."""
        return [int(r) for r in self.radices[self.bounds[f] : self.bounds[f + 1]]]

    def digits(self, f: int) -> Iterator[Ids]:
        """Yield the digits of a family's keys: the codes of each discrete parent, then the classes."""
        return digits_of(self.cells[f][0], self.radices_of(f))

    def merge(self, other: Self) -> Self:
        return self.with_cells(_added(a, b) for a, b in zip(self.cells, other.cells, strict=True))

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        return self.with_cells(self._left(f, other.cells[f], gone) for f in range(len(self)))

    def _left(self, f: int, taken: Cells, gone: Gone | None) -> Cells:
        if not len(taken[0]):
            return self.cells[f]
        keys, mine, theirs = _aligned(self.cells[f], taken)
        classes = keys % self.radices_of(f)[-1]
        weight = None if gone is None or "tables" not in gone else gone["tables"].margin[classes]
        left = mine.subtract(theirs, weight)
        if gone is not None and "moments" in gone:
            left = self._cleared(f, keys, left, gone["moments"], theirs.n != 0.0)
        return keys, left

    def without_rounding(self, gone: Moments) -> Self:
        """Clear the rounding errors that removed rows may have left, see `Moments.without_rounding`."""
        return self.with_cells(
            (keys, self._cleared(f, keys, sums, gone, np.zeros(len(keys), np.bool_)))
            for f, (keys, sums) in enumerate(self.cells)
        )

    def _cleared(
        self, f: int, keys: Ids, sums: Regressions, gone: Moments, touched: NDArray[np.bool_]
    ) -> Regressions:
        columns, classes = list(self.numeric_of(f)), keys % self.radices_of(f)[-1]
        lost, in_all = (_described(moments, columns) for moments in (gone, gone.pooled()))
        by_cell = lost[0][classes], lost[1][classes], lost[2][classes]
        return sums.without_rounding(by_cell, in_all, touched) if len(keys) else sums

    def scale(self, factor: float | Floats) -> Self:
        if np.ndim(factor) == 0:
            return self.with_cells((keys, sums.scale(factor)) for keys, sums in self.cells)
        by_class = np.asarray(factor, np.float64)
        return self.with_cells(
            (keys, sums.scale(by_class[keys % len(by_class)])) for keys, sums in self.cells
        )

    def embed(self, embedding: Embedding) -> Self:
        old, new = embedding.old, embedding.new
        categorical, numeric = ([v.name for v in some] for some in (old.categorical, old.numeric))
        attributes = []
        for f in range(len(self)):
            *above, child = (numeric[j] for j in self.numeric_of(f))
            attributes.append((child, *above, *(categorical[j] for j in self.discrete_of(f))))
        moved = self.zero(new, tuple(attributes))
        return moved.with_cells(self._moved(f, embedding, moved.radices_of(f)) for f in range(len(self)))

    def _moved(self, f: int, embedding: Embedding, radices: list[int]) -> Cells:
        """Convert keys of the old schema to keys of the new one."""
        *codes, classes = self.digits(f)
        places = [embedding.classes[classes]]
        for j, code in zip(self.discrete_of(f)[::-1], codes[::-1], strict=True):
            row = embedding.rows[int(embedding.old.offsets[j]) :][code]
            places.append(np.where(row < 0, -1, row - int(embedding.new.offsets[j])))
        alive = np.flatnonzero(np.all([place >= 0 for place in places], axis=0))
        keys = key_of([place[alive] for place in places[::-1]], radices)
        order = np.argsort(keys)
        return keys[order], self.cells[f][1].take(alive[order])

    def deficit(self) -> float:
        return 0.0  # subtract raises an error for negative counts

    def arrays(self) -> dict[str, Any]:
        sums = [cells for _, cells in self.cells]
        return {
            **{name: getattr(self, name) for name in self.fixed_arrays},
            "starts": np.cumsum([0, *(len(keys) for keys, _ in self.cells)], dtype=np.int64),
            "keys": _joined((keys for keys, _ in self.cells), np.int64),
            "pivot": _joined((s.pivot for s in sums), np.float64),
            **{name: _joined((getattr(s, name).high for s in sums), np.float64) for name in _SUMS},
            **{f"{name}_low": _joined((getattr(s, name).low for s in sums), np.float64) for name in _SUMS},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        starts, sizes = arrays["starts"], np.diff(arrays["column_bounds"]).tolist()
        cells, line, square = [], 0, 0
        for f, m in enumerate(sizes):
            begin, end = int(starts[f]), int(starts[f + 1])
            n = end - begin
            spans = {
                "weight": (slice(begin, end), (n,)),
                "first": (slice(line, line + n * m), (n, m)),
                "second": (slice(square, square + n * m * m), (n, m, m)),
            }
            pivot = arrays["pivot"][spans["first"][0]].reshape(n, m)
            sums = (
                Twofold(arrays[name][span].reshape(shape), arrays[f"{name}_low"][span].reshape(shape))
                for name, (span, shape) in spans.items()
            )
            cells.append((arrays["keys"][begin:end], Regressions(pivot, *sums)))
            line, square = line + n * m, square + n * m * m
        return cls(**{name: arrays[name] for name in cls.fixed_arrays}, cells=tuple(cells))

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | Message | None:
        """Check that there is a sum for each cell, and that the sums of squares are possible."""
        weight, second = arrays["weight"], arrays["second"]
        flaw = flaw_of_cells("regressions", arrays, len(weight))
        if flaw:
            return flaw
        if not (weight > 0.0).all():
            return "its array regressions/weight holds cells without weight"
        n, m = np.diff(arrays["starts"]), np.diff(arrays["column_bounds"])
        for name, size in (("pivot", n @ m), ("first", n @ m), ("second", n @ (m * m))):
            if len(arrays[name]) != size:
                return Message(
                    "its array regressions/{name} does not fit the cells of its families", name=name
                )
        if np.abs(arrays["pivot"]).max(initial=0.0) > LARGEST:
            return "its array regressions/pivot holds numbers whose squares cannot be summed"
        begin = 0
        for cells, width in zip(n.tolist(), m.tolist(), strict=True):
            square = second[begin : begin + cells * width * width].reshape(cells, width, width)
            own = np.diagonal(square, axis1=1, axis2=2)
            if own.min(initial=0.0) < 0.0:
                return "its array regressions/second holds negative squares"
            # Sums whose pivot was changed are symmetric only up to rounding.
            largest = np.sqrt(own[:, :, None] * own[:, None, :])
            if (np.abs(square - square.transpose(0, 2, 1)) > DUST * largest).any():
                return "its array regressions/second is not symmetric"
            begin += cells * width * width
        return None

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        for f, term in enumerate(RegressionFamilies.terms(schema, attributes)):
            *u, c = self.digits(f)
            sums = self.cells[f][1]
            m = sums.pivot.shape[1]
            planes = {"weight_low": sums.weight.low, "pivot": sums.pivot}
            for name in ("first", "second"):
                planes |= {name: getattr(sums, name).high, f"{name}_low": getattr(sums, name).low}
            # For a single value, these are the cells of moments: scalars, not vectors.
            alone = {name: plane.reshape(len(sums.n)) for name, plane in planes.items()} if m == 1 else planes
            yield CellTable(term, np.column_stack([c, *u]), sums.n, alone)

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        terms = RegressionFamilies.terms(schema, attributes)
        return cls.zero(schema, attributes).with_cells(_listed(tables[term], schema) for term in terms)

    def chosen_from(self, counted: Self, which: Iterable[int]) -> Self:
        """Return these families with the cells of some others, which have the same keys."""
        return self.with_cells(counted.cells[f] for f in which)

    def with_cells(self, cells: Iterable[Cells]) -> Self:
        """Return the same families with other sums, without empty cells."""
        kept = []
        for keys, sums in cells:
            there = np.flatnonzero(sums.n)
            kept.append((keys, sums) if len(there) == len(keys) else (keys[there], sums.take(there)))
        return replace(self, cells=tuple(kept))


def _checked(family: Sequence[int], position: Mapping[Name, int], schema: Schema) -> Any:
    child, *parents = family
    if child not in schema.numeric_index:
        raise ColumnError("There is no numeric attribute {child!r} for a regression.", child=child)
    strange = [name for name in parents if name not in position and name not in schema.numeric_index]
    if strange:
        raise ColumnError(
            "There is no attribute {strange!r} that could be a parent of {child!r}.",
            strange=strange[0],
            child=child,
        )
    if len(set(family)) < len(family):
        raise ColumnError(
            "The family {family!r} contains an attribute twice. Name each parent once.", family=family
        )
    return family


def _check_size(schema: Schema, family: Sequence[int], sizes: list[int]) -> None:
    cells = math.prod(size + 1 for size in sizes) * schema.n_classes
    if cells > LARGEST_KEY:
        raise DataError(
            "The discrete parents of {family!r} have {cells:.3g} configurations "
            "({names} states in {n_classes} classes); 2**63 - 1 can be "
            "numbered. Take fewer parents, or join rare states.",
            family=family[0],
            cells=cells,
            names=" × ".join(str(size) for size in sizes),
            n_classes=schema.n_classes,
        )


def _no_cells(width: int) -> Cells:
    return np.empty(0, np.int64), Regressions.at(np.empty((0, width)), np.empty(0))


def _joined(pieces: Iterable[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, kind), *(piece.ravel() for piece in pieces)])


def _aligned(a: Cells, b: Cells) -> tuple[Ids, Regressions, Regressions]:
    """Return the union of the keys, and the sums of both for these keys."""
    keys = np.union1d(a[0], b[0])
    mine, others = (sums.placed(np.searchsorted(keys, own), len(keys)) for own, sums in (a, b))
    return keys, mine, others


def _added(a: Cells, b: Cells) -> Cells:
    if not len(b[0]):
        return a
    keys, mine, others = _aligned(a, b)
    return keys, mine.merge(others)


def _described(moments: Moments, columns: list[int]) -> Lost:
    """Return weight, mean and spread of some attributes, by class."""
    return moments.weight[:, columns], moments.mean()[0][:, columns], moments.centred()[:, columns]


def _listed(table: CellTable, schema: Schema) -> Cells:
    """Return the cells of one family from a long table."""
    c, *u = table.codes.T
    n_classes, *sizes = shape_of(schema, table.term)
    keys = key_of([*u, c], [*sizes, n_classes])
    n, m = len(keys), len(table.term.values)
    # Moments of one number may be stored as x·2^−exponent.
    exponent = table.plane("exponent", ()).astype(np.int64)
    shapes: dict[str, tuple[int, ...]] = {"first": (n, m), "second": (n, m, m)}

    def plane(name: str, shape: tuple[int, ...], power: int) -> Floats:
        values = table.plane(name, shape[1:]).reshape(shape)
        return np.ldexp(values, (power * exponent).reshape(n, *[1] * (len(shape) - 1)))

    first, second = (
        Twofold(plane(name, shape, power), plane(f"{name}_low", shape, power))
        for power, (name, shape) in enumerate(shapes.items(), start=1)
    )
    weight = Twofold(table.n, table.plane("weight_low", ()))
    order = np.argsort(keys)
    return keys[order], Regressions(plane("pivot", (n, m), 1), weight, first, second).take(order)
