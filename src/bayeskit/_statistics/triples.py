"""n(class, x_i, x_j, x_k): the counts of every attribute with all pairs of super-parents, in one array."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._schema import Name, Schema
from bayeskit._statistics.part import CellTable, Embedding, Gone, Part, left_of, shape_of, weight_gone
from bayeskit._statistics.tables import Tables
from bayeskit._statistics.term import Term
from bayeskit.errors import DataError
from bayeskit.typing import Floats

# The maximum size in bytes of the counts of triples together with their look-up table. They grow with the third power
# of the number of attributes.
LARGEST = 2**30
# The number of cells to subtract at a time, so that temporaries need only a few MB.
_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class Triples(Part):
    r"""Counts of order 0 for every attribute together with all pairs of the super-parents S.

    The pairs (i, j) of super-parents with i < j are stored one after the other. Each has a row for each pair of states,
    including the spare cells for missing: row ``starts[p] + v * (r_j + 1) + u`` is the context x_i = v, x_j = u. With g
    the flat row of state w of attribute k, as in :class:`Tables`, ``counts[row, g, c]`` is
    :math:`n(x_i = v, x_j = u, x_k = w, c)`. If k = i and w = v, this is :math:`n(v, u, c)`.

    Attributes
    ----------
    margin : array of shape (K,)
        n(c): the weight of each class.
    counts : array of shape (P, T, K)
        P contexts, T states of all attributes, K classes.
    offsets : array of shape (d + 1,)
        The start of each attribute, as in the schema.
    parents : array of shape (m,)
        The super-parents, as ascending indices of the categorical attributes of the schema.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> three = tuple(Variable(name, "categorical", (0, 1)) for name in "abc")
    >>> schema = Schema(three, Variable("y", "categorical", ("no", "yes")))
    >>> Triples.zero(schema, ("a", "b", "c")).counts.shape  # 3 pairs of 3 × 3 contexts, 3 × 3 states
    (27, 9, 2)
    """

    kind = "triples"
    weight_arrays = "margin", "counts"
    fixed_arrays = "offsets", "parents"

    margin: Floats
    counts: Floats
    offsets: NDArray[np.int64]
    parents: NDArray[np.int64]

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        target, names = schema.target.name, [v.name for v in schema.categorical]
        yield Term((target,))
        for pair in itertools.combinations([name for name in names if name in set(attributes)], 2):
            yield Term((target, *pair))
            yield from (Term((target, *pair, name)) for name in names if name not in pair)

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        needed = cls.memory(schema, attributes)
        parents, k = _places(schema, attributes), schema.n_classes
        if needed > LARGEST:
            raise DataError(
                "Counting triples with {n} super-parents of {n_categorical} attributes ({offsets} states "
                "together, {k} classes) takes {needed:.3g} GiB, and {largest:.3g} GiB are allowed. Use fewer "
                "super-parents, merge rare states, or use AnDE(n=1), which counts pairs.",
                n=len(parents),
                n_categorical=len(schema.categorical),
                offsets=int(schema.offsets[-1]),
                k=k,
                needed=needed / 2**30,
                largest=LARGEST / 2**30,
            )
        offsets = schema.offsets.astype(np.int64)
        n_contexts = _n_contexts(schema.categorical[j].size + 1 for j in parents)
        counts = np.zeros((n_contexts, int(offsets[-1]), k))
        return cls(np.zeros(k), counts, offsets, parents)

    @classmethod
    def memory(cls, schema: Schema, attributes: tuple[Name, ...]) -> int:
        """Return the size of the counts and the look-up table in bytes, before they are allocated."""
        wanted = set(attributes)
        return _bytes(schema, _n_contexts(v.size + 1 for v in schema.categorical if v.name in wanted))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of states of each attribute, without the spare cell."""
        return np.diff(self.offsets) - 1

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The pairs of super-parents in the order of their rows: shape (number of pairs, 2)."""
        return np.array(list(itertools.combinations(self.parents, 2)), dtype=np.int64).reshape(-1, 2)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The start of the contexts of each pair, and the end of the last."""
        contexts = (self.sizes[self.pairs] + 1).prod(axis=1)
        return np.concatenate([[0], np.cumsum(contexts)]).astype(np.int64)

    @property
    def tables(self) -> Tables:
        """n(c) and n(v, c), summed over the contexts of the pair with the fewest; there must be a pair."""
        p = int(np.argmin(np.diff(self.starts)))
        return Tables(self.margin, self.counts[self.starts[p] : self.starts[p + 1]].sum(axis=0))

    def joint(self, p: int) -> Floats:
        """Return n(v, u, c) of pair p, including spare cells: shape (r_i + 1, r_j + 1, K)."""
        i, j = self.pairs[p]
        shape = self.sizes[i] + 1, self.sizes[j] + 1
        rows = np.arange(self.starts[p], self.starts[p + 1])
        own = self.offsets[i] + np.repeat(np.arange(shape[0]), shape[1])
        return np.asarray(self.counts[rows, own]).reshape(*shape, -1)

    def merge(self, other: Self) -> Self:
        return self._with(self.margin + other.margin, self.counts + other.counts)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        weight = weight_gone(gone, other.margin)
        margin, counts = left_of(self.margin, other.margin, self.margin, weight), np.empty_like(self.counts)
        step = max(1, _CELLS // max(self.counts[:1].size, 1))
        for begin in range(0, len(counts), step):
            some = slice(begin, begin + step)
            counts[some] = left_of(self.counts[some], other.counts[some], self.margin, weight)
        return self._with(margin, counts)

    def scale(self, factor: float | Floats) -> Self:
        return self._with(self.margin * factor, self.counts * factor)

    def embed(self, embedding: Embedding) -> Self:
        names = tuple(embedding.new.categorical[j].name for j in self.parents)
        moved = self.zero(embedding.new, names)
        wide = embedding.move_classes(self.counts, axis=2)
        # Below zero where a state has left: its row is −1, before its attribute's beginning.
        codes = [
            embedding.rows[a:b] - start
            for (a, b), start in zip(itertools.pairwise(self.offsets), moved.offsets[:-1], strict=True)
        ]
        contexts = np.full(len(wide), -1, dtype=np.intp)
        for (i, j), old, new in zip(self.pairs, self.starts[:-1], moved.starts[:-1], strict=True):
            here = np.where(
                np.logical_and.outer(codes[i] >= 0, codes[j] >= 0),
                new + np.add.outer(codes[i] * (moved.sizes[j] + 1), codes[j]),
                -1,
            )
            contexts[old : old + here.size] = here.ravel()
        alive, states = np.flatnonzero(contexts >= 0), np.flatnonzero(embedding.rows >= 0)
        moved.counts[np.ix_(contexts[alive], embedding.rows[states])] = wide[np.ix_(alive, states)]
        return moved._with(embedding.move_classes(self.margin), moved.counts)

    def deficit(self) -> float:
        return 0.0  # subtract raises an error for negative counts

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        margin, *_ = Triples.terms(schema, attributes)
        yield CellTable.of_array(margin, self.margin)
        for term, p, k in self._blocks(schema, attributes):
            if k is None:
                yield CellTable.of_array(term, np.moveaxis(self.joint(p), 2, 0))
            else:
                block = self._block(p, k)
                yield CellTable.of_array(term, np.moveaxis(block, 3, 0))

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        triples = cls.zero(schema, attributes)
        margin, *_ = Triples.terms(schema, attributes)
        triples.margin[:] = tables[margin].dense(shape_of(schema, margin))
        for term, p, k in triples._blocks(schema, attributes):
            counts = np.moveaxis(tables[term].dense(shape_of(schema, term)), 0, -1)
            if k is not None:
                triples._block(p, k)[:] = counts
                continue
            i, j = triples.pairs[p]
            v, u = (np.arange(size) for size in counts.shape[:2])
            # The context contains its own states: in the rows of x_i = v, attribute i has state v.
            triples._block(p, i)[v, :, v] = counts
            triples._block(p, j)[:, u, u] = counts
        return triples

    def _blocks(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[tuple[Term, int, int | None]]:
        """Yield the terms of each pair of super-parents, alone (None) and with each other attribute."""
        place = {v.name: j for j, v in enumerate(schema.categorical)}
        p = -1
        for term in Triples.terms(schema, attributes):
            if len(term.cells) == 3:
                p += 1
                yield term, p, None
            elif len(term.cells) == 4:
                yield term, p, place[term.cells[3]]

    def _block(self, p: int, k: int) -> Floats:
        """Return n(x_i, x_j, x_k, c) of pair p, including spare cells: a view."""
        i, j = self.pairs[p]
        rows = self.counts[self.starts[p] : self.starts[p + 1], self.offsets[k] : self.offsets[k + 1]]
        return rows.reshape(self.sizes[i] + 1, self.sizes[j] + 1, *rows.shape[1:])

    def _with(self, margin: Floats, counts: Floats) -> Self:
        return type(self)(margin, counts, self.offsets, self.parents)


def class_width(n_classes: int) -> int:
    """Return the number of classes in a row of the look-up table, padded to the width of registers.

    >>> class_width(2), class_width(3), class_width(9)
    (2, 4, 12)
    """
    return 2 if n_classes <= 2 else 4 * -(-n_classes // 4)


def within_budget(schema: Schema, information: ArrayLike, budget: int) -> tuple[Name, ...]:
    """Choose the super-parents: as many as fit into the budget, those with the highest I(X; Y), in schema order.

    Parameters
    ----------
    schema : Schema
    information : array of shape (d,)
        I(X; Y) of each categorical attribute (:func:`bayeskit._statistics.information.class_information`).
        In a tie, the first attribute is preferred.
    budget : int
        In bytes, see :meth:`Triples.memory`. At least two are chosen, if there are two.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> three = tuple(Variable(name, "categorical", (0, 1)) for name in "abc")
    >>> schema = Schema(three, Variable("y", "categorical", ("no", "yes")))
    >>> within_budget(schema, [0.1, 0.0, 0.3], Triples.memory(schema, ("a", "c")))
    ('a', 'c')
    """
    ranked = np.argsort(-np.asarray(information, dtype=np.float64), kind="stable")
    widths = [schema.categorical[j].size + 1 for j in ranked]
    fits = [_bytes(schema, _n_contexts(widths[:m])) <= budget for m in range(1, len(ranked) + 1)]
    chosen = sorted(ranked[: max(sum(fits), 2)])
    return tuple(schema.categorical[j].name for j in chosen)


def _places(schema: Schema, attributes: tuple[Name, ...]) -> NDArray[np.int64]:
    wanted = set(attributes)
    return np.array([j for j, v in enumerate(schema.categorical) if v.name in wanted], dtype=np.int64)


def _n_contexts(widths: Iterable[int]) -> int:
    """Return the sum of w_i·w_j over all pairs, as a Python integer."""
    cells = list(widths)
    return (sum(cells) ** 2 - sum(w * w for w in cells)) // 2


def _bytes(schema: Schema, n_contexts: int) -> int:
    # The look-up table has an additional cell for each attribute (unseen), and its classes are padded.
    states, d, k = int(schema.offsets[-1]), len(schema.categorical), schema.n_classes
    return 8 * (k + n_contexts * (states * k + (states + d) * class_width(k)))
