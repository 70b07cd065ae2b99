"""Computes joint second moments of numeric attributes over the rows without missing values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._blas import one_blas_thread
from bayeskit._data.encoded import Chunk
from bayeskit._messages import RowNumber
from bayeskit._numba import kernel
from bayeskit._schema import Name, Schema
from bayeskit._statistics.double import Twofold, add, add_exactly, multiply
from bayeskit._statistics.regressions import sum_products
from bayeskit._statistics.scatter import CodedScatter, Scatter
from bayeskit.errors import DataError, InfiniteValue
from bayeskit.typing import Floats

# Sums of fourth powers of larger values, over many rows and columns, would overflow.
LARGEST = 1e70
# Rows centred and multiplied at a time: with a few tens of columns they stay in the cache.
_BLOCK = 2048
# Up to this many products are always summed in double-double (a few milliseconds). Beyond that, only for
# classes with nearly collinear columns: less than this share of some column's variance is left given the
# others.
_FEW_PRODUCTS, _NEARLY_SINGULAR = 2**20, 1e-6
# Products up to which third and fourth powers are summed in double-double, too: each costs four times as much.
_FEW_POWERS = 2**16


@one_blas_thread
def count_scatter(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Scatter:
    """Sum z, zzᵀ and the third and fourth powers in each class, with z centred at the class mean.

    Only rows in which all these attributes are present are used. Small chunks are summed in double-double: once
    most of their rows are forgotten, what is left may be far smaller than what was there. Many rows are summed by
    matrix products in plain doubles, about the mean of the same rows, so that nothing cancels. Squares are still
    summed in double-double if the covariance is nearly singular: solving with it would multiply their rounding by
    its condition number.
    """
    columns = np.array([schema.numeric_index[name] for name in attributes], dtype=np.intp)
    whole = np.array_equal(columns, np.arange(chunk.values.shape[1]))
    values = chunk.values if whole else np.take(chunk.values, columns, axis=1)
    taken = _usable(values, chunk.weights, attributes, chunk.first_row)
    return _sum_classes(Scatter, chunk, values, taken, schema.n_classes)


@one_blas_thread
def count_coded_scatter(chunk: Chunk, schema: Schema, attributes: tuple[Any, ...]) -> CodedScatter:
    """Sum the same of columns that are made of attributes, see :class:`CodedScatter`."""
    try:
        values = coded_values(chunk, schema, attributes)
    except InfiniteValue as error:
        name = schema.numeric[int(str(error.column))].name
        raise InfiniteValue(name, chunk.first_row + error.row, error.value) from None
    names = tuple(column[1] for column in attributes[1])
    taken = _usable(values, chunk.weights, names, chunk.first_row)
    return _sum_classes(CodedScatter, chunk, values, taken, schema.n_classes)


def coded_values(chunk: Chunk, schema: Schema, attributes: tuple[Any, ...]) -> Floats:
    """Make the columns of a pattern from the attributes of rows; NaN where a row is not complete.

    A state that has no column is taken for missing.
    """
    filled, columns = attributes
    if np.isinf(chunk.values).any():
        row, column = np.argwhere(np.isinf(chunk.values))[0].tolist()
        raise InfiniteValue(column, row, float(chunk.values[row, column]))
    out = np.zeros((chunk.n_rows, len(columns)))
    missing = {v.name: np.isnan(chunk.values[:, j]) for j, v in enumerate(schema.numeric)}
    states: dict[Name, list[tuple[int, Any]]] = {}
    for j, (kind, name, *rest) in enumerate(columns):
        if kind == "state":
            states.setdefault(name, []).append((j, rest[0]))
    for place, variable in enumerate(schema.categorical):
        # All states of an attribute together: a single row waits for every step of Python.
        of_state, codes = variable.codes, chunk.column(place)
        listed = states.get(variable.name)
        if listed is None:
            missing[variable.name] = ~np.isin(codes, list(of_state.values()))
            continue
        there = [(j, of_state[state]) for j, state in listed if state in of_state]
        held = codes[:, None] == np.array([code for _, code in there], dtype=codes.dtype)
        out[:, [j for j, _ in there]] = held
        missing[variable.name] = ~held.any(axis=1)
    gaps = {name: rows for name, rows in missing.items() if rows.any()}
    for j, (kind, name, *rest) in enumerate(columns):
        if kind == "missing":
            out[:, j] = missing[name]
            continue
        if kind == "number":
            mean, deviation, most = rest
            with np.errstate(over="ignore"):  # what lies beyond the range of doubles is clipped, too
                distance = (chunk.values[:, schema.numeric_index[name]] - mean) / deviation
            out[:, j] = np.clip(distance, -most, most)
            usual = 0.0
        else:
            usual = rest[1]
        if name in gaps:
            out[gaps[name], j] = usual if filled else np.nan
    return out


_S = TypeVar("_S", bound=Scatter)


def _sum_classes(
    kind: type[_S], chunk: Chunk, values: Floats, taken: NDArray[np.bool_] | None, n_classes: int
) -> _S:
    assert chunk.target is not None
    k, d = n_classes, values.shape[1]
    pivot, weight, first = np.zeros((k, d)), np.zeros((2, k)), np.zeros((2, k, d))
    second, third, fourth = np.zeros((3, 2, k, d, d))
    products = chunk.n_rows * d * (d + 1) / 2
    for c, rows in _by_class(chunk.target, taken, k):
        x = values[rows]
        w = None if chunk.weights is None else chunk.weights[rows]
        weight[:, c], *_ = _sums(x[:, :0], w, pivot[c, :0])
        # The mean of the differences to one row is exact for constant columns.
        away = x - x[0]
        pivot[c] = x[0] + (away.sum(axis=0) if w is None else w @ away) / weight[0, c]
        for begin in range(0, len(rows), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            z = x[part] - pivot[c]
            square, wz = z * z, z
            if w is None:
                first[0, c] += z.sum(axis=0)
            else:
                root = np.sqrt(w[part])[:, None]
                first[0, c] += w[part] @ z
                wz, square = root * z, root * square
            # A matrix times itself is half the work (syrk).
            second[0, c] += wz.T @ wz
            third[0, c] += square.T @ wz
            fourth[0, c] += square.T @ square
        if products <= _FEW_PRODUCTS or _nearly_singular(second[0, c]):
            _, first[:, c], second[:, c] = _sums(x, w, pivot[c])
        if products <= _FEW_POWERS:
            third[:, c] = fourth[:, c] = 0.0
            _sum_powers(x, np.ones(len(x)) if w is None else w, pivot[c], *third[:, c], *fourth[:, c])
    n, s1, s2, s3, s4 = (Twofold(*both) for both in (weight, first, second, third, fourth))
    return kind(pivot, (n, s1, s2, s3, s4))


def _sums(x: Floats, w: Floats | None, pivot: Floats) -> tuple[Floats, Floats, Floats]:
    """Return Σw, Σwz and Σwzzᵀ of the rows of one class, each as high and low parts."""
    d = x.shape[1]
    n, first, second = np.zeros((2, 1)), np.zeros((2, 1, d)), np.zeros((2, 1, d, d))
    each, cell = np.ones(len(x)) if w is None else w, np.zeros(len(x), np.int64)
    sum_products(np.ascontiguousarray(x), cell, each, pivot[None], *n, *first, *second)
    lower, upper = np.tril_indices(d)
    second[..., upper, lower] = second[..., lower, upper]
    return n[:, 0], first[:, 0], second[:, 0]


@kernel
def _sum_powers(
    x: Any, weights: Any, pivot: Any, third: Any, third_low: Any, fourth: Any, fourth_low: Any
) -> None:
    """Add w·z_i²·z_j and w·z_i²·z_j² of every row, z = x − pivot, to what is there."""
    for row in range(x.shape[0]):
        for i in range(x.shape[1]):
            z, z_low = add_exactly(x[row, i], -pivot[i])
            square, square_low = multiply(z, z_low, z, z_low)
            square, square_low = multiply(weights[row], 0.0, square, square_low)
            for j in range(x.shape[1]):
                z, z_low = add_exactly(x[row, j], -pivot[j])
                cube, cube_low = multiply(square, square_low, z, z_low)
                third[i, j], third_low[i, j] = add(third[i, j], third_low[i, j], cube, cube_low)
                power, power_low = multiply(cube, cube_low, z, z_low)
                fourth[i, j], fourth_low[i, j] = add(fourth[i, j], fourth_low[i, j], power, power_low)


def _nearly_singular(square: Floats) -> bool:
    """Whether some non-constant column is nearly a linear combination of the earlier ones."""
    from scipy.linalg import lapack

    spread = np.sqrt(np.diagonal(square))
    varying = np.flatnonzero(spread)
    unit = spread[varying]
    factor, failed = lapack.dpotrf(square[np.ix_(varying, varying)] / unit / unit[:, None], lower=True)
    return bool(failed or (np.diagonal(factor) ** 2 < _NEARLY_SINGULAR).any())


def _by_class(
    target: NDArray[np.uint32], taken: NDArray[np.bool_] | None, n_classes: int
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield every class that has rows, with the numbers of these rows in order."""
    # One or two bytes are sorted by radix, in linear time.
    codes = target.astype(np.uint16) if n_classes <= 65_536 else target
    order = np.argsort(codes, kind="stable")
    if taken is not None:
        order = order[taken[order]]
    ends = np.cumsum(np.bincount(target[order], minlength=n_classes))
    for c, (begin, end) in enumerate(pairwise([0, *ends])):
        if end > begin:
            yield c, order[begin:end]


def _usable(
    values: Floats, weights: Floats | None, attributes: tuple[Name, ...], first_row: int
) -> NDArray[np.bool_] | None:
    """Return which rows are complete and have weight; None if all are."""
    heavy = None if weights is None or weights.min(initial=1.0) > 0 else weights > 0
    if not values.size or (values.min() >= -LARGEST and values.max() <= LARGEST):
        return heavy  # a NaN would have failed both comparisons
    taken = np.ones(len(values), dtype=np.bool_) if heavy is None else heavy
    missing = np.isnan(values)
    beyond = ~(missing | (np.abs(values) <= LARGEST)) & taken[:, None]
    if beyond.any():
        row, j = (int(at) for at in np.argwhere(beyond)[0])
        raise DataError(
            "{attribute!r} is {value} in {place}: squares and fourth powers of values "
            "beyond {largest:g} cannot be summed. Correct it, make it missing, or change the unit of the column.",
            attribute=attributes[j],
            value=values[row, j],
            place=RowNumber(first_row + row),
            largest=LARGEST,
        )
    return taken & ~missing.any(axis=1)
