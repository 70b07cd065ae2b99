"""Rows → triples: every attribute under every two super-parents, with the class."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.data.chunk import Chunk
from bayeskit.kernel import kernel
from bayeskit.schema import Name, Schema
from bayeskit.statistics.triples import Triples

_U = np.uintp


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
    (attributes, rows at a time) holds where a code points as a child, ``base`` where the two super-parents
    and the class do: an address is then one addition. ``starts[a, b]`` is the first context of two
    super-parents. One triple after the other over a block of rows, so that its cells stay in the nearest cache.
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
    """Copy what was counted of each triple of super-parents to its other places.

    For i < j < k, n(v_i, v_j, v_k, c) stands under the pair (i, j); it goes under (i, k) and (j, k). And
    n(v_i, v_j, c), which stands under (i, j) where the child is i, goes where the child is j.
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


# Rows counted at a time: their addresses stay in the second cache while all triples pass over them.
_BLOCK_ROWS = 4096


def count_triples(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Triples:
    """Count n(v_i, v_j, v_k, c) for every two super-parents i, j among ``attributes`` and every attribute k.

    Each triple of super-parents is counted once and copied to its other two places.

    Examples
    --------
    >>> from bayeskit.schema import Variable
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
    triples.margin[:] = np.bincount(chunk.target, chunk.weights, schema.n_classes)
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
    step = min(chunk.n_rows, _BLOCK_ROWS)
    # An address fits 32 bits: statistics.triples.LARGEST keeps the whole table below 2³² cells.
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
