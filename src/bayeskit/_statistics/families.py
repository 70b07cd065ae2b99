"""n(class, child, parents): the sparse counts of families of any number of parents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import Message
from bayeskit._schema import Name, Schema
from bayeskit._statistics.part import (
    CellTable,
    Embedding,
    Gone,
    Part,
    are_families,
    digits_of,
    key_of,
    left_of,
    shape_of,
    weight_gone,
)
from bayeskit._statistics.term import Term
from bayeskit.errors import ColumnError, DataError
from bayeskit.typing import Floats

Ids = NDArray[np.int64]
Cells = tuple[Ids, Floats]

# A key is a signed 64-bit number.
LARGEST_KEY = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Families(Part):
    r"""Counts of order 0 for families (child, parent 1, …, parent k). Only cells with weight are stored.

    The cell (u₁, …, u_k, x, c) of a family has the key

    .. math:: ((\dots(u_1 R_2 + u_2)\dots R_k + u_k)\,R_x + x)\,K + c, \qquad R = r + 1

    in which missing is a code like any other (the last). So every available-case count can be derived, and
    the counts of the first l parents are those of all k summed over the others: see :meth:`levels`.

    Attributes
    ----------
    margin : array of shape (K,)
        n(c): the weight of each class.
    members : int64 array
        The attributes of all families one after the other, child first, as indices of the categorical attributes of
        the schema.
    bounds : int64 array of shape (F + 1,)
        The start of each family in ``members``.
    radices : int64 array
        The number of codes R of each member.
    starts : int64 array of shape (F + 1,)
        The start of the cells of each family.
    keys, counts : arrays of shape (m,)
        The keys ascend within each family. Every count is positive.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> two = Variable("a", "categorical", (0, 1)), Variable("b", "categorical", (0, 1, 2))
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> Families.zero(schema, (("a",), ("b", "a"))).names_of(1)
    (1, 0)
    """

    kind = "families"
    weight_arrays = "margin", "counts"
    free_arrays = "keys", "counts"
    fixed_arrays = "members", "bounds", "radices"

    margin: Floats
    members: Ids
    bounds: Ids
    radices: Ids
    starts: Ids
    keys: Ids
    counts: Floats

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        return are_families(schema, attributes, "categorical", ("categorical",))

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Any, ...]) -> Iterator[Term]:
        target = schema.target.name
        yield Term((target,))
        yield from (Term((target, *family)) for family in attributes)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Any, ...]) -> Self:
        position = {v.name: j for j, v in enumerate(schema.categorical)}
        members: list[int] = []
        for family in attributes:
            strange = [name for name in family if name not in position]
            if strange:
                raise ColumnError(
                    "There is no categorical attribute {strange!r} for a family.", strange=strange[0]
                )
            if len(set(family)) < len(family):
                raise ColumnError(
                    "The family {family!r} contains an attribute twice. Name each parent once.", family=family
                )
            members += [position[name] for name in family]
            _check_size(schema, family)
        sizes = np.array([v.size + 1 for v in schema.categorical], np.int64)
        inside = np.array(members, np.int64)
        return cls(
            np.zeros(schema.n_classes),
            inside,
            np.cumsum([0, *map(len, attributes)], dtype=np.int64),
            sizes[inside],
            np.zeros(len(attributes) + 1, np.int64),
            np.empty(0, np.int64),
            np.empty(0),
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def names_of(self, f: int) -> tuple[int, ...]:
        """Return the indices of the attributes of a family: the child, then its parents."""
        return tuple(int(j) for j in self.members[self.bounds[f] : self.bounds[f + 1]])

    def cells(self, f: int) -> Cells:
        """Return the keys and counts of one family."""
        some = slice(int(self.starts[f]), int(self.starts[f + 1]))
        return self.keys[some], self.counts[some]

    def pair(self, f: int, place: int) -> Floats:
        """Return n(x_p, x, c) of a family's child x and its parent at ``place``, where 1 is the first parent."""
        k = len(self.margin)
        radices = [int(r) for r in self.radices[self.bounds[f] : self.bounds[f + 1]]]
        keys, counts = self.cells(f)
        behind = int(np.prod(radices[place + 1 :], dtype=np.int64)) * radices[0] * k
        table = np.zeros((radices[place], radices[0], k))
        np.add.at(table, (keys // behind % radices[place], keys // k % radices[0], keys % k), counts)
        return table[:-1, :-1]

    def levels(self, f: int, is_state: NDArray[np.bool_] | None = None, lowest: int = 0) -> list[Cells]:
        """Return the counts with the first l parents, l = 0, …, k, over rows in which these and the child are present.

        Parameters
        ----------
        f : int
        is_state : bool array over the categorical attributes, optional
            Whether missing is a state.
        lowest : int
            The first l to return.

        Returns
        -------
        list of (keys, counts)
            The keys of level l are as above with k = l.
        """
        names, k = self.names_of(f), len(self.margin)
        radices = [int(r) for r in self.radices[self.bounds[f] : self.bounds[f + 1]]]
        spare = [
            -1 if is_state is not None and is_state[j] else r - 1 for j, r in zip(names, radices, strict=True)
        ]
        keys, counts = self.cells(f)
        low = radices[0] * k  # of the child and the class
        found: list[Cells] = []
        for level in range(len(names) - 1, lowest - 1, -1):
            here = keys // k % radices[0] != spare[0]
            rest = keys // max(low, 1)
            for radix, missing in zip(radices[level:0:-1], spare[level:0:-1], strict=True):
                if missing >= 0:
                    here &= rest % radix != missing
                rest = rest // radix
            found.append((keys, counts) if here.all() else (keys[here], counts[here]))
            if level > lowest:
                keys, counts = summed_cells(keys // (low * radices[level]) * low + keys % low, counts)
        return found[::-1]

    def merge(self, other: Self) -> Self:
        pairs = (united_cells(self.cells(f), other.cells(f)) for f in range(len(self)))
        return self._of(((keys, a + b) for keys, a, b in pairs), self.margin + other.margin)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        weight, k = weight_gone(gone, other.margin), len(self.margin)
        margin = left_of(self.margin, other.margin, self.margin, weight)
        pairs = (united_cells(self.cells(f), other.cells(f)) for f in range(len(self)))
        left = ((keys, left_of(a, b, self.margin[keys % k], weight[keys % k])) for keys, a, b in pairs)
        return self._of(left, margin)

    def scale(self, factor: float | Floats) -> Self:
        by_class = np.broadcast_to(np.asarray(factor, np.float64), self.margin.shape)
        k = len(self.margin)
        cells = (self.cells(f) for f in range(len(self)))
        return self._of(((keys, counts * by_class[keys % k]) for keys, counts in cells), self.margin * factor)

    def embed(self, embedding: Embedding) -> Self:
        names = [v.name for v in embedding.old.categorical]
        attributes = tuple(tuple(names[j] for j in self.names_of(f)) for f in range(len(self)))
        moved = self.zero(embedding.new, attributes)
        return moved._of(
            (_moved(*self.cells(f), self.names_of(f), embedding) for f in range(len(self))),
            embedding.move_classes(self.margin),
        )

    def deficit(self) -> float:
        return 0.0  # subtract raises an error for negative counts

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | Message | None:
        if arrays["counts"].min(initial=0.0) < 0.0:
            return "its array families/counts holds negative counts"
        return flaw_of_cells("families", arrays, len(arrays["counts"]), schema.n_classes)

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        margin, *terms = Families.terms(schema, attributes)
        yield CellTable.of_array(margin, self.margin)
        for f, term in enumerate(terms):
            keys, counts = self.cells(f)
            # The digits of a key are (parents, child, class), the variables of a term (class, child, parents).
            n_classes, child, *parents = shape_of(schema, term)
            *u, x, c = digits_of(keys, [*parents, child, n_classes])
            yield CellTable(term, np.column_stack([c, x, *u]), counts)

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        margin, *terms = Families.terms(schema, attributes)
        cells = []
        for term in terms:
            n_classes, child, *parents = shape_of(schema, term)
            c, x, *u = tables[term].codes.T
            cells.append(summed_cells(key_of([*u, x, c], [*parents, child, n_classes]), tables[term].n))
        return cls.zero(schema, attributes).with_cells(cells, tables[margin].dense((schema.n_classes,)))

    def chosen(self, which: Iterable[int]) -> Self:
        """Return some of the families, in the order given."""
        which = list(which)
        spans = [slice(int(self.bounds[f]), int(self.bounds[f + 1])) for f in which]
        empty = np.empty(0, np.int64)
        alone = replace(
            self,
            members=np.concatenate([empty, *(self.members[span] for span in spans)]),
            bounds=np.cumsum([0, *(span.stop - span.start for span in spans)], dtype=np.int64),
            radices=np.concatenate([empty, *(self.radices[span] for span in spans)]),
        )
        return alone._of((self.cells(f) for f in which), self.margin)

    def chosen_from(self, counted: Self, which: Iterable[int]) -> Self:
        """Return these families with the cells of some others, which have the same keys."""
        return self._of((counted.cells(f) for f in which), counted.margin)

    def without_class(self) -> Self:
        """Return the counts over all classes, as those of a single class: n(child, parents)."""
        k = max(len(self.margin), 1)
        cells = (self.cells(f) for f in range(len(self)))
        return self._of(
            (summed_cells(keys // k, counts) for keys, counts in cells), self.margin.sum(keepdims=True)
        )

    def with_cells(self, cells: Iterable[Cells], margin: Floats) -> Self:
        """Return the same families with other counts, without empty cells."""
        return self._of(cells, margin)

    def _of(self, cells: Iterable[Cells], margin: Floats) -> Self:
        kept = [
            (keys, counts) if counts.all() else (keys[counts != 0.0], counts[counts != 0.0])
            for keys, counts in cells
        ]
        return replace(
            self,
            margin=margin,
            starts=np.cumsum([0, *(len(keys) for keys, _ in kept)], dtype=np.int64),
            keys=np.concatenate([np.empty(0, np.int64), *(keys for keys, _ in kept)]),
            counts=np.concatenate([np.empty(0), *(counts for _, counts in kept)]),
        )


def _check_size(schema: Schema, family: tuple[Name, ...]) -> None:
    sizes = [schema[name].size for name in family]
    cells = math.prod(size + 1 for size in sizes) * schema.n_classes
    if cells > LARGEST_KEY:
        raise DataError(
            "The family of {family!r} with the parents {family2!r} has {cells:.3g} cells ({names} states in "
            "{n_classes} classes); at most 2**63 - 1 can be numbered. Use fewer parents (k), or merge rare "
            "states.",
            family=family[0],
            family2=list(family[1:]),
            cells=cells,
            names=" × ".join(str(size) for size in sizes),
            n_classes=schema.n_classes,
        )


def summed_cells(keys: Ids, counts: Floats) -> Cells:
    """Sort cells and add those of the same key."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    # reduceat has no meaning for an empty array.
    return keys[first], np.add.reduceat(counts[order], first) if len(first) else counts


def united_cells(a: Cells, b: Cells) -> tuple[Ids, Floats, Floats]:
    """Return the union of the keys, and the counts of both for these keys."""
    if not len(b[0]):
        return a[0], a[1], np.zeros(len(a[0]))
    both = np.concatenate([a[0], b[0]])
    order = np.argsort(both, kind="stable")  # both runs are sorted, so the stable sort only merges them
    ordered = both[order]
    new = np.diff(ordered, prepend=-1) != 0
    place = np.empty(len(both), np.intp)
    place[order] = np.cumsum(new) - 1
    keys = ordered[new]
    mine, others = np.zeros(len(keys)), np.zeros(len(keys))
    mine[place[: len(a[0])]] = a[1]
    others[place[len(a[0]) :]] = b[1]
    return keys, mine, others


def _moved(keys: Ids, counts: Floats, names: tuple[int, ...], embedding: Embedding) -> Cells:
    """Convert keys of the old schema to keys of the new one."""
    old, new = embedding.old, embedding.new
    codes = [embedding.classes[keys % old.n_classes]]
    radices = [new.n_classes]
    rest = keys // max(old.n_classes, 1)
    alive = codes[0] >= 0
    for j in (names[0], *names[:0:-1]):
        begin, end = int(old.offsets[j]), int(old.offsets[j + 1])
        place = embedding.rows[begin:end][rest % (end - begin)]
        alive &= place >= 0
        codes.append(place - int(new.offsets[j]))
        radices.append(new.categorical[j].size + 1)
        rest = rest // (end - begin)
    moved = np.zeros(len(keys), np.int64)
    for code, radix in zip(codes[::-1], radices[::-1], strict=True):
        moved = moved * radix + code
    return summed_cells(moved[alive], counts[alive])


def flaw_of_cells(
    kind: str, arrays: Mapping[str, NDArray[Any]], n_cells: int, times: int = 1
) -> str | Message | None:
    """Check the keys of sparse cells; the largest allowed key is ``times`` the product of the radices."""
    starts, keys, bounds = (arrays[name] for name in ("starts", "keys", "bounds"))
    if starts[0] != 0 or starts[-1] != len(keys) or len(keys) != n_cells or (np.diff(starts) < 0).any():
        return Message("its array {kind}/starts does not fit the cells of its families", kind=kind)
    for f, (begin, end) in enumerate(pairwise(starts)):
        own = keys[begin:end]
        n_keys = math.prod(int(r) for r in arrays["radices"][bounds[f] : bounds[f + 1]]) * times
        if (np.diff(own) <= 0).any():
            return Message("its array {kind}/keys is not in ascending order", kind=kind)
        if len(own) and not (own[0] >= 0 and int(own[-1]) < n_keys):
            return Message("its array {kind}/keys contains cells that its schema does not have", kind=kind)
    return None
