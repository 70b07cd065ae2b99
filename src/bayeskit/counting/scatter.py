"""Rows → scatter: second moments together, over the rows where nothing is missing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.errors import DataError
from bayeskit.schema import Name, Schema
from bayeskit.statistics.part import Floats
from bayeskit.statistics.scatter import Scatter

# Fourth powers of larger values, summed over many rows and columns, would leave the range of doubles.
LARGEST = 1e70
# Rows centred and multiplied at a time: with a few tens of columns they stay in the cache.
_BLOCK = 2048


def count_scatter(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Scatter:
    """Sum z, zzᵀ and the third and fourth powers in each class, z measured from the mean of the class.

    Only rows in which all these attributes are present are taken. Inside a chunk the sums are plain
    doubles: about the mean of the very rows summed nothing cancels.
    """
    assert chunk.target is not None
    columns = np.array([schema.numeric_index[name] for name in attributes], dtype=np.intp)
    whole = np.array_equal(columns, np.arange(chunk.values.shape[1]))
    values = chunk.values if whole else np.take(chunk.values, columns, axis=1)
    taken = _usable(values, chunk.weights, attributes, chunk.first_row)

    k, d = schema.n_classes, len(attributes)
    pivot, weight, first = np.zeros((k, d)), np.zeros(k), np.zeros((k, d))
    second, third, fourth = np.zeros((3, k, d, d))
    for c, rows in _by_class(chunk.target, taken, k):
        x = values[rows]
        w = None if chunk.weights is None else chunk.weights[rows]
        weight[c] = len(rows) if w is None else w.sum()
        # The mean of the differences to one row is exact where a column is constant.
        away = x - x[0]
        pivot[c] = x[0] + (away.sum(axis=0) if w is None else w @ away) / weight[c]
        for begin in range(0, len(rows), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            z = x[part] - pivot[c]
            square, wz = z * z, z
            if w is None:
                first[c] += z.sum(axis=0)
            else:
                root = np.sqrt(w[part])[:, None]
                first[c] += w[part] @ z
                wz, square = root * z, root * square
            # One matrix with itself is half the work (syrk).
            second[c] += wz.T @ wz
            third[c] += square.T @ wz
            fourth[c] += square.T @ square
    return Scatter.about(pivot, weight, first, second, third, fourth)


def _by_class(
    target: NDArray[np.uint32], taken: NDArray[np.bool_] | None, n_classes: int
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield every class that has rows, with their numbers in order."""
    # Two bytes or one are sorted by radix, in time proportional to the rows.
    codes = target.astype(np.uint16) if n_classes <= 65_536 else target
    order = np.argsort(codes, kind="stable")
    if taken is not None:
        order = order[taken[order]]
    ends = np.cumsum(np.bincount(target[order], minlength=n_classes))
    for c, (begin, end) in enumerate(zip(np.concatenate([[0], ends[:-1]]), ends)):
        if end > begin:
            yield c, order[begin:end]


def _usable(
    values: Floats, weights: Floats | None, attributes: tuple[Name, ...], first_row: int
) -> NDArray[np.bool_] | None:
    """Return which rows are complete and have weight; None where all are."""
    heavy = None if weights is None or weights.min(initial=1.0) > 0 else weights > 0
    if not values.size or (values.min() >= -LARGEST and values.max() <= LARGEST):
        return heavy  # a NaN would have failed both comparisons
    taken = np.ones(len(values), dtype=np.bool_) if heavy is None else heavy
    missing = np.isnan(values)
    beyond = ~(missing | (np.abs(values) <= LARGEST)) & taken[:, None]
    if beyond.any():
        row, j = (int(at) for at in np.argwhere(beyond)[0])
        raise DataError(
            f"{attributes[j]!r} is {values[row, j]} in row {first_row + row}: squares and fourth powers of values "
            f"beyond {LARGEST:g} cannot be summed. Correct it, make it missing, or change the unit of the column."
        )
    return taken & ~missing.any(axis=1)
