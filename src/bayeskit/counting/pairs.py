"""Rows → pairs: every two categorical attributes with the class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.kernel import kernel
from bayeskit.schema import Name, Schema
from bayeskit.statistics.pairs import Pairs
from bayeskit.typing import Floats

_U = np.uintp


@kernel
def count_codes_by_pairs(
    codes: Any, target: Any, weights: Any, offsets: Any, wanted: Any, places: Any, base: Any, counts: Any
) -> None:
    """Add every row's weight to n(v_i, v_j, c), i ≤ j, of the pairs wanted: the upper half of a table of pairs.

    ``places`` of shape (attributes, rows at a time) holds where the second code of a pair points, ``base``
    where the first code and the class do: an address is then one addition. One pair after the other over a
    block of rows, so that the cells of a pair stay in the nearest cache.
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
        # Attribute by attribute: a block read along its rows stays in the cache while it is written down.
        for j in range(i + _U(1), _U(offsets.shape[0] - 1)):
            for h in range(offsets[j], offsets[j + _U(1)]):
                for g in range(offsets[i], offsets[i + _U(1)]):
                    for c in range(k):
                        flat[(h * t + g) * k + c] = flat[(g * t + h) * k + c]


# In nanoseconds: a word of two planes (0.14 measured with AVX-512, the rest is for processors without its
# popcount), the way into that loop, and a row counted directly. With 2 to 10 classes the two ways were measured
# to cost the same at about 14 states. They decide which way is taken, never what comes out.
_WORD_COST, _LOOP_COST, _ROW_COST = 0.25, 6.0, 0.7
# An attribute of more codes than this has no planes: they would push each other out of the cache.
_MOST_PLANES = 64
# Rows counted directly at a time, at least; and the words of all planes that the second cache holds.
_BLOCK_ROWS, _CACHED_WORDS = 4096, 2**17


def count_pairs(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Pairs:
    """Count n(v_i, v_j, c) for every two categorical attributes.

    Few states and no weights: 64 rows at a time, as bits. Otherwise row by row. Both are exact, and pairs
    of either kind may stand in one table.
    """
    assert chunk.target is not None
    pairs = Pairs.zero(schema, attributes)
    pairs.margin[:] = np.bincount(chunk.target, chunk.weights, schema.n_classes)
    if not schema.categorical or not chunk.n_rows:
        return pairs
    codes = chunk.codes
    if isinstance(codes, tuple):
        codes = np.column_stack([column[:] for column in codes]).astype(schema.code_dtype, copy=False)
    as_bits = _cheaper_as_bits(chunk, schema, pairs.margin)
    if as_bits.any():
        _count_bits(codes, chunk.target, schema, pairs.margin, as_bits, pairs.counts)
    if not as_bits.all():
        _count_rows(codes, chunk, schema, ~as_bits, pairs.counts)
    mirror(schema.offsets, pairs.counts)
    return pairs


def _cheaper_as_bits(chunk: Chunk, schema: Schema, margin: Floats) -> NDArray[np.bool_]:
    """Return which pairs are to be counted as bits; on the diagonal, which attributes have planes."""
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
    codes: NDArray[Any],
    target: NDArray[np.uint32],
    schema: Schema,
    margin: Floats,
    wanted: NDArray[np.bool_],
    counts: Floats,
) -> None:
    # Only here: whoever counts with weights, or few rows, need not wait for these to be compiled.
    from bayeskit.counting.kernels.bit_planes import count_planes, lay_columns, order_by_class, pack_planes

    which = np.flatnonzero(wanted.diagonal()).astype(np.uintp)
    n_rows = margin.astype(np.intp)
    starts = np.concatenate([[0], np.cumsum(n_rows)]).astype(np.uintp)
    words = np.concatenate([[0], np.cumsum((n_rows + 63) // 64)]).astype(np.uintp)
    order = np.empty(len(codes), dtype=np.uint32)
    order_by_class(target, starts[:-1].copy(), order)

    columns = np.empty((len(which), 64 * int(words[-1])), dtype=np.uint8)
    lay_columns(codes, which, order, starts, words, columns)
    widths = np.diff(schema.offsets)[which]
    first = np.concatenate([[0], np.cumsum(widths)]).astype(np.uintp)
    planes = np.empty((int(first[-1]), int(words[-1])), dtype=np.uint64)
    singles = np.zeros((len(planes), len(margin)))
    pack_planes(columns, first, words, planes, singles)

    rows = schema.offsets[which]
    diagonal = np.concatenate([np.arange(g, g + w) for g, w in zip(rows, widths)]).astype(np.intp)
    counts[diagonal, diagonal] = singles
    among = np.ascontiguousarray(wanted[np.ix_(which, which)])
    alive = np.zeros((len(which), int(widths.max()) + 1), dtype=np.uintp)
    step = np.uintp(max(64, _CACHED_WORDS // len(planes)))
    count_planes(planes, singles, first, words, rows, among, step, alive, counts)


def _count_rows(
    codes: NDArray[Any], chunk: Chunk, schema: Schema, wanted: NDArray[np.bool_], counts: Floats
) -> None:
    n, d = codes.shape
    # Where the cells of a pair are many, more rows at a time: else the table goes through the cache too often.
    step = min(n, max(_BLOCK_ROWS, 4 * counts.size // d**2))
    # An address fits 32 bits as long as the whole table is kept below 2³² cells (statistics.pairs.LARGEST).
    places, base = np.empty((d, step), dtype=np.uint32), np.empty(step, dtype=np.uint32)
    count_codes_by_pairs(codes, chunk.target, chunk.row_weights, schema.offsets, wanted, places, base, counts)
