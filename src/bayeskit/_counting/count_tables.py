"""Counts categorical attributes with the class: single attributes, pairs and triples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.encoded import Chunk
from bayeskit._numba import kernel
from bayeskit._schema import Name, Schema
from bayeskit._statistics.tables import Pairs, Tables
from bayeskit._statistics.triples import Triples
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def count_codes(codes: Any, target: Any, offsets: Any, n_classes: Any, margin: Any, flat: Any) -> None:
    """Add one for every row to n(c) and to n(v, c) of each of its codes.

    Row by row: consecutive increments then never hit the same cell, so this runs at the speed of the store
    port (2 G increments per second).
    """
    n, d = codes.shape
    k = _U(n_classes)
    for i in range(n):
        c = _U(target[i])
        margin[c] += 1.0
        for j in range(d):
            flat[(offsets[j] + _U(codes[i, j])) * k + c] += 1.0


@kernel
def count_column(own: Any, table: Any, target: Any, n_classes: Any, step: Any, flat: Any) -> None:
    """Add one for every row to n(v, c) of one column in its own codes; −1 means the end of the table.

    This avoids copying the columns into one matrix, which costs more than the counting. ``flat`` may have
    four copies of the table, ``step`` apart, which the rows use in turn, so that an increment seldom waits
    for the previous one. The caller adds the copies. A step of 0 means one copy.
    """
    k = _U(n_classes)
    size = _U(step)
    n = own.shape[0]
    whole = n - n % 4
    for i in range(0, whole, 4):
        u = _U(i)
        flat[_U(table[own[u]]) * k + _U(target[u])] += 1.0
        flat[size + _U(table[own[u + _U(1)]]) * k + _U(target[u + _U(1)])] += 1.0
        flat[size + size + _U(table[own[u + _U(2)]]) * k + _U(target[u + _U(2)])] += 1.0
        flat[size + size + size + _U(table[own[u + _U(3)]]) * k + _U(target[u + _U(3)])] += 1.0
    for i in range(whole, n):
        flat[_U(table[own[i]]) * k + _U(target[i])] += 1.0


@kernel
def count_classes(target: Any, margin: Any) -> None:
    """Add one for every row to n(c)."""
    for i in range(target.shape[0]):
        margin[_U(target[i])] += 1.0


@kernel
def add_weight(high: Any, low: Any, place: Any, weight: Any) -> None:
    """Add a weight to a cell, with the rounding error in the low part."""
    a = high[place]
    s = a + weight
    b = s - a
    high[place] = s
    low[place] += (a - (s - b)) + (weight - b)


@kernel
def count_weighted(
    codes: Any, target: Any, weights: Any, offsets: Any, n_classes: Any, flat: Any, flat_low: Any
) -> None:
    """Add every row's weight to n(v, c) of each of its codes."""
    n, d = codes.shape
    k = _U(n_classes)
    for i in range(n):
        c = _U(target[i])
        for j in range(d):
            add_weight(flat, flat_low, (offsets[j] + _U(codes[i, j])) * k + c, weights[i])


@kernel
def count_classes_weighted(target: Any, weights: Any, margin: Any, margin_low: Any) -> None:
    """Add every row's weight to n(c)."""
    for i in range(target.shape[0]):
        add_weight(margin, margin_low, _U(target[i]), weights[i])


def class_weights(target: Any, weights: Any, n_classes: int) -> Floats:
    """Return n(c). Without weights other threads run meanwhile, as they cannot during NumPy's bincount."""
    if weights is not None:
        return np.asarray(np.bincount(target, weights, n_classes), dtype=np.float64)
    margin: Floats = np.zeros(n_classes)
    count_classes(target, margin)
    return margin


# Up to this many cells, four copies of a table stay in the cache.
LARGEST_COPIED = 4_096


def count_tables(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Tables:
    """Count n(c) and n(v, c) for every categorical attribute."""
    assert chunk.target is not None
    if chunk.weights is not None:
        return _count_weighted(chunk, schema, attributes)
    k = schema.n_classes
    margin, counts = np.zeros(k), np.zeros((int(schema.offsets[-1]), k))
    if isinstance(chunk.codes, tuple):
        count_classes(chunk.target, margin)
        for column, start, stop in zip(chunk.codes, schema.offsets[:-1], schema.offsets[1:], strict=True):
            part = counts[int(start) : int(stop)]
            if part.size > LARGEST_COPIED:
                count_column(column.own, column.table, chunk.target, k, 0, part.reshape(-1))
                continue
            copies = np.zeros((4, *part.shape))
            count_column(column.own, column.table, chunk.target, k, part.size, copies.reshape(-1))
            copies.sum(axis=0, out=part)
    elif attributes:
        count_codes(chunk.codes, chunk.target, schema.offsets, k, margin, counts.reshape(-1))
    else:
        count_classes(chunk.target, margin)
    return Tables(margin, counts)


def _count_weighted(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Tables:
    k = schema.n_classes
    margin, margin_low = np.zeros(k), np.zeros(k)
    count_classes_weighted(chunk.target, chunk.weights, margin, margin_low)
    shape = (int(schema.offsets[-1]), k)
    counts, counts_low = np.zeros(shape), np.zeros(shape)
    if attributes:
        codes = chunk.codes
        if isinstance(codes, tuple):
            codes = np.column_stack([column[:] for column in codes]).astype(schema.code_dtype, copy=False)
        flat, low = counts.reshape(-1), counts_low.reshape(-1)
        count_weighted(codes, chunk.target, chunk.weights, schema.offsets, k, flat, low)
    return Tables(margin, counts, margin_low, counts_low)


@kernel
def count_codes_by_pairs(
    codes: Any, target: Any, weights: Any, offsets: Any, wanted: Any, places: Any, base: Any, counts: Any
) -> None:
    """Add every row's weight to n(v_i, v_j, c), i ≤ j, of the wanted pairs: the upper half of a table of pairs.

    ``places`` of shape (attributes, rows at a time) contains the offset of the second code of a pair,
    ``base`` that of the first code and the class: an address is then one addition. One pair after the other
    over a block of rows, so that the cells of a pair stay in the fastest cache.
    """
    d, t, k = _U(codes.shape[1]), _U(counts.shape[1]), _U(counts.shape[2])
    n, step = _U(codes.shape[0]), _U(places.shape[1])
    cells, place, flat = codes.reshape(-1), places.reshape(-1), counts.reshape(-1)
    for begin in range(_U(0), n, step):
        taken = min(step, n - begin)
        for j in range(d):
            for r in range(taken):
                place[j * step + r] = (offsets[j] + _U(cells[(begin + r) * d + j])) * k
        for i in range(d):
            for r in range(taken):
                base[r] = _U(place[i * step + r]) * t + _U(target[begin + r])
            for j in range(i, d):
                if wanted[i, j]:
                    second = j * step
                    for r in range(taken):
                        flat[_U(base[r]) + _U(place[second + r])] += weights[begin + r]


@kernel
def mirror(offsets: Any, counts: Any) -> None:
    """Copy the upper half of a table of pairs, n(v_i, v_j, c) with i < j, to the lower one."""
    t, k = _U(counts.shape[1]), _U(counts.shape[2])
    flat = counts.reshape(-1)
    for i in range(_U(offsets.shape[0] - 1)):
        # Attribute by attribute: a block that is read by rows stays in the cache while it is written by columns.
        for j in range(i + _U(1), _U(offsets.shape[0] - 1)):
            for h in range(offsets[j], offsets[j + _U(1)]):
                for g in range(offsets[i], offsets[i + _U(1)]):
                    for c in range(k):
                        flat[(h * t + g) * k + c] = flat[(g * t + h) * k + c]


# In nanoseconds: a word of two planes (0.14 measured with AVX-512; the rest is for processors without its
# popcount), the overhead of that loop, and a row counted directly. With 2 to 10 classes, both ways were
# measured to cost the same at about 14 states. These numbers choose the way, and do not affect the result.
_WORD_COST, _LOOP_COST, _ROW_COST = 0.25, 6.0, 0.7
# An attribute with more codes has no planes: they would evict each other from the cache.
_MOST_PLANES = 64
# The minimum number of rows counted directly at a time; and the words of all planes that fit the second-level cache.
_BLOCK_ROWS, _CACHED_WORDS = 4096, 2**17


def count_pairs(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Pairs:
    """Count n(v_i, v_j, c) for every two categorical attributes.

    With few states and no weights, 64 rows at a time as bits; otherwise row by row. Both are exact, and one
    table may contain pairs of both kinds.
    """
    assert chunk.target is not None
    pairs = Pairs.zero(schema, attributes)
    pairs.margin[:] = class_weights(chunk.target, chunk.weights, schema.n_classes)
    if not schema.categorical or not chunk.n_rows:
        return pairs
    codes = chunk.codes
    as_bits = _cheaper_as_bits(chunk, schema, pairs.margin)
    if isinstance(codes, tuple) and not as_bits.all():
        codes = np.column_stack([column[:] for column in codes]).astype(schema.code_dtype, copy=False)
    if as_bits.any():
        _count_bits(codes, chunk.target, schema, pairs.margin, as_bits, pairs.counts)
    if not as_bits.all():
        _count_rows(codes, chunk, schema, ~as_bits, pairs.counts)
    mirror(schema.offsets, pairs.counts)
    return pairs


def _cheaper_as_bits(chunk: Chunk, schema: Schema, margin: Floats) -> NDArray[np.bool_]:
    """Return which pairs to count as bits; on the diagonal, which attributes have planes."""
    sizes = np.array([max(v.size, 1) for v in schema.categorical])
    if chunk.weights is not None:
        return np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
    n_words = chunk.n_rows / 64 + np.count_nonzero(margin)
    of_pass = n_words * _WORD_COST + np.count_nonzero(margin) * _LOOP_COST
    small = sizes < _MOST_PLANES
    as_bits = (np.outer(sizes, sizes) * of_pass < chunk.n_rows * _ROW_COST) & np.outer(small, small)
    np.fill_diagonal(as_bits, False)
    np.fill_diagonal(as_bits, as_bits.any(axis=1))
    return np.asarray(as_bits)


def _count_bits(
    codes: Any,
    target: NDArray[np.uint32],
    schema: Schema,
    margin: Floats,
    wanted: NDArray[np.bool_],
    counts: Floats,
) -> None:
    # Imported here: counting with weights, or few rows, need not wait for these kernels to compile.
    from bayeskit._counting.bit_planes import (
        count_planes,
        lay_columns,
        lay_own_codes,
        order_by_class,
        pack_planes,
    )

    which = np.flatnonzero(wanted.diagonal()).astype(np.uintp)
    n_rows = margin.astype(np.intp)
    starts = np.concatenate([[0], np.cumsum(n_rows)]).astype(np.uintp)
    words = np.concatenate([[0], np.cumsum((n_rows + 63) // 64)]).astype(np.uintp)
    order = np.empty(len(target), dtype=np.uint32)
    order_by_class(target, starts[:-1].copy(), order)

    columns = np.empty((len(which), 64 * int(words[-1])), dtype=np.uint8)
    if isinstance(codes, tuple):
        # Without a matrix, which would be written by rows to be read by columns; and in one call, since other threads
        # wait for whatever is done between calls of loops.
        chosen = [codes[place] for place in which.tolist()]
        narrow = len({column.own.dtype for column in chosen}) == 1
        own = np.stack([column.own if narrow else column.own.astype(np.int64) for column in chosen])
        tables = [part for column in chosen for part in (column.table[-1:], column.table)]
        begin = np.cumsum([0, *(1 + len(column.table) for column in chosen[:-1])]).astype(np.uintp)
        lay_own_codes(own, np.concatenate(tables), begin, order, starts, words, columns)
    else:
        lay_columns(codes, which, order, starts, words, columns)
    widths = np.diff(schema.offsets)[which]
    first = np.concatenate([[0], np.cumsum(widths)]).astype(np.uintp)
    planes = np.empty((int(first[-1]), int(words[-1])), dtype=np.uint64)
    singles = np.zeros((len(planes), len(margin)))
    pack_planes(columns, first, words, planes, singles)

    rows = schema.offsets[which]
    diagonal = np.concatenate([np.arange(g, g + w) for g, w in zip(rows, widths, strict=True)]).astype(
        np.intp
    )
    counts[diagonal, diagonal] = singles
    among = np.ascontiguousarray(wanted[np.ix_(which, which)])
    alive = np.zeros((len(which), int(widths.max()) + 1), dtype=np.uintp)
    step = np.uintp(max(64, _CACHED_WORDS // len(planes)))
    count_planes(planes, singles, first, words, rows, among, step, alive, counts)


def _count_rows(
    codes: NDArray[Any], chunk: Chunk, schema: Schema, wanted: NDArray[np.bool_], counts: Floats
) -> None:
    n, d = codes.shape
    # If a pair has many cells, take more rows at a time: otherwise the table passes through the cache too often.
    step = min(n, max(_BLOCK_ROWS, 4 * counts.size // d**2))
    # An address fits 32 bits, since the table has fewer than 2³² cells (statistics.pairs.LARGEST).
    places, base = np.empty((d, step), dtype=np.uint32), np.empty(step, dtype=np.uint32)
    count_codes_by_pairs(codes, chunk.target, chunk.row_weights, schema.offsets, wanted, places, base, counts)


@kernel
def count_codes_by_triples(
    codes: Any,
    target: Any,
    weights: Any,
    offsets: Any,
    parents: Any,
    is_parent: Any,
    starts: Any,
    places: Any,
    base: Any,
    counts: Any,
) -> None:
    """Add every row's weight to n(v_i, v_j, v_k, c) for super-parents i < j and k = i, k > j or k no super-parent.

    The other cells are the same numbers in another order (:func:`mirror_triples`). ``places`` of shape
    (attributes, rows at a time) contains the offset of a code as a child, ``base`` that of the two
    super-parents and the class: an address is then one addition. ``starts[a, b]`` is the first context of two
    super-parents. One triple after the other over a block of rows, so that its cells stay in the fastest
    cache.
    """
    n, d, step = _U(codes.shape[0]), _U(codes.shape[1]), _U(places.shape[1])
    t, k, m = _U(counts.shape[1]), _U(counts.shape[2]), _U(parents.shape[0])
    cells, place, flat = codes.reshape(-1), places.reshape(-1), counts.reshape(-1)
    for begin in range(_U(0), n, step):
        taken = min(step, n - begin)
        for child in range(d):
            for r in range(taken):
                place[child * step + r] = (offsets[child] + _U(cells[(begin + r) * d + child])) * k
        for a in range(m):
            i = _U(parents[a])
            for b in range(a + _U(1), m):
                j = _U(parents[b])
                width = offsets[j + _U(1)] - offsets[j]
                for r in range(taken):
                    row = (begin + r) * d
                    context = starts[a, b] + _U(cells[row + i]) * width + _U(cells[row + j])
                    base[r] = context * t * k + _U(target[begin + r])
                for child in range(d):
                    if child == i or child > j or not is_parent[child]:
                        third = child * step
                        for r in range(taken):
                            flat[_U(base[r]) + _U(place[third + r])] += weights[begin + r]


@kernel
def mirror_triples(offsets: Any, parents: Any, starts: Any, counts: Any) -> None:
    """Copy the counts of each triple of super-parents to its other positions.

    For i < j < k, n(v_i, v_j, v_k, c) is stored under the pair (i, j) and copied to (i, k) and (j, k). And
    n(v_i, v_j, c), which is stored under (i, j) with child i, is copied to child j.
    """
    t, k, m = _U(counts.shape[1]), _U(counts.shape[2]), _U(parents.shape[0])
    flat = counts.reshape(-1)
    for a in range(m):
        first = offsets[parents[a]]
        n_first = offsets[parents[a] + _U(1)] - first
        for b in range(a + _U(1), m):
            second = offsets[parents[b]]
            n_second = offsets[parents[b] + _U(1)] - second
            for v in range(n_first):
                for u in range(n_second):
                    row = (starts[a, b] + v * n_second + u) * t
                    for y in range(k):
                        flat[(row + second + u) * k + y] = flat[(row + first + v) * k + y]
            for e in range(b + _U(1), m):
                third = offsets[parents[e]]
                n_third = offsets[parents[e] + _U(1)] - third
                for v in range(n_first):
                    for u in range(n_second):
                        row = (starts[a, b] + v * n_second + u) * t
                        for w in range(n_third):
                            source = (row + third + w) * k
                            one = ((starts[a, e] + v * n_third + w) * t + second + u) * k
                            two = ((starts[b, e] + u * n_third + w) * t + first + v) * k
                            for y in range(k):
                                flat[one + y] = flat[source + y]
                                flat[two + y] = flat[source + y]


# Rows counted at a time: their addresses stay in the second-level cache for all triples.
_TRIPLE_ROWS = 4096


def count_triples(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Triples:
    """Count n(v_i, v_j, v_k, c) for every two super-parents i, j among ``attributes`` and every attribute k.

    Each triple of super-parents is counted once and copied to its other two positions.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> two = tuple(Variable(name, "categorical", (0, 1)) for name in "ab")
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> codes, target = np.array([[0, 1], [0, 1], [1, 2]], np.uint8), np.array([1, 1, 0], np.uint32)
    >>> counted = count_triples(Chunk(3, codes, np.empty((3, 0)), target=target), schema, ("a", "b"))
    >>> counted.joint(0)[:, :, 1]  # two rows with a = 0, b = 1; the last of each is for missing values
    array([[0., 2., 0.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    assert chunk.target is not None
    triples = Triples.zero(schema, attributes)
    triples.margin[:] = class_weights(chunk.target, chunk.weights, schema.n_classes)
    m = len(triples.parents)
    if m < 2 or not chunk.n_rows:
        return triples
    codes = chunk.codes
    if isinstance(codes, tuple):
        codes = np.column_stack([column[:] for column in codes]).astype(schema.code_dtype, copy=False)
    parents, is_parent = triples.parents.astype(np.uintp), np.zeros(codes.shape[1], dtype=np.bool_)
    is_parent[triples.parents] = True
    starts = np.zeros((m, m), dtype=np.uintp)
    starts[np.triu_indices(m, 1)] = triples.starts[:-1]
    step = min(chunk.n_rows, _TRIPLE_ROWS)
    # An address fits 32 bits, since the table has fewer than 2³² cells (statistics.triples.LARGEST).
    places, base = np.empty((codes.shape[1], step), dtype=np.uint32), np.empty(step, dtype=np.uint32)
    count_codes_by_triples(
        codes,
        chunk.target,
        chunk.row_weights,
        schema.offsets,
        parents,
        is_parent,
        starts,
        places,
        base,
        triples.counts,
    )
    mirror_triples(schema.offsets, parents, starts, triples.counts)
    return triples
