"""Loops over rows whose class is hidden: how the components share each row, and the sums of what they get.

Arrays over components are flat and padded to a multiple of four, so that four sums ride in one register. Numeric
columns are of a kind each: 1 Gaussian, 2 Poisson, 0 left out of the density.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel
from bayeskit.learning.mixtures.kernels.exponential import exp

# Rows between the two halves of a step: their shares stay in the nearest cache.
TILE = 256


@kernel
def add_codes(codes: Any, start: int, stop: int, offsets: Any, table: Any, width: int, joint: Any) -> None:
    """Add log P(x_j | k) of the categorical columns of rows start … stop to ``joint``, of shape (TILE·width,)."""
    d = codes.shape[1]
    for i in range(start, stop):
        for c in range(np.uintp(0), np.uintp(width), np.uintp(4)):
            at = np.uintp((i - start) * width) + c
            s0, s1, s2, s3 = (
                joint[at],
                joint[at + np.uintp(1)],
                joint[at + np.uintp(2)],
                joint[at + np.uintp(3)],
            )
            for j in range(np.uintp(d)):
                cell = (offsets[j] + np.uintp(codes[i, j])) * np.uintp(width) + c
                s0 += table[cell]
                s1 += table[cell + np.uintp(1)]
                s2 += table[cell + np.uintp(2)]
                s3 += table[cell + np.uintp(3)]
            joint[at], joint[at + np.uintp(1)], joint[at + np.uintp(2)], joint[at + np.uintp(3)] = (
                s0,
                s1,
                s2,
                s3,
            )


@kernel
def add_values(
    values: Any, start: int, stop: int, kinds: Any, centre: Any, low: Any, scale: Any, norm: Any, absent: Any,
    width: int, joint: Any,
) -> None:  # fmt: skip
    """Add the log-densities of the numeric columns; the tables are of shape (columns, width).

    Gaussian: norm − ((x − centre − low)·scale)². Poisson: norm + x·scale, the logarithm of the rate.
    """
    for i in range(start, stop):
        at = (i - start) * width
        for j in range(values.shape[1]):
            x = values[i, j]
            if np.isnan(x):
                for c in range(width):
                    joint[at + c] += absent[j, c]
            elif kinds[j] == 1:
                for c in range(width):
                    z = ((x - centre[j, c]) - low[j, c]) * scale[j, c]
                    joint[at + c] += norm[j, c] - z * z
            else:
                for c in range(width):
                    joint[at + c] += norm[j, c]
                # Where the rate is zero so is the probability of any count above zero, but not that of zero.
                if kinds[j] == 2 and x > 0.0:
                    for c in range(width):
                        joint[at + c] += x * scale[j, c]


@kernel
def share_rows(
    joint: Any, start: int, stop: int, weights: Any, k: int, width: int, hard: bool, out: Any
) -> int:
    """Turn log P(k, x) into the weight that each component gets of each row; add the value climbed to ``out[0]``.

    That value is Σ w log Σ_k P(k, x), or with ``hard`` Σ w max_k log P(k, x), where the first of the best components
    gets the whole row. Return −1, or the first row that no component can have given.
    """
    value = 0.0
    for i in range(start, stop):
        at = (i - start) * width
        best, place = joint[at], 0
        for c in range(1, k):
            if joint[at + c] > best:
                best, place = joint[at + c], c
        if not best > -np.inf:
            return i
        value += weights[i] * best
        if hard:
            for c in range(width):
                joint[at + c] = 0.0
            joint[at + place] = weights[i]
        else:
            for c in range(width):
                joint[at + c] -= best
    if not hard:
        # One loop over all: vectors are filled, however few the components. Padding is −∞, and becomes 0.
        for place in range(np.uintp((stop - start) * width)):
            joint[place] = exp(joint[place])
        for i in range(start, stop):
            at = (i - start) * width
            total = 0.0
            for c in range(width):
                total += joint[at + c]
            scale = weights[i] / total
            for c in range(width):
                joint[at + c] *= scale
            value += weights[i] * np.log(total)
    out[0] += value
    return -1


@kernel
def gather_codes(
    codes: Any, start: int, stop: int, offsets: Any, share: Any, width: int, margin: Any, counts: Any
) -> None:
    """Add the shares of rows start … stop to n(k) and n(v, k), flat arrays."""
    d = codes.shape[1]
    for c in range(np.uintp(0), np.uintp(width), np.uintp(4)):
        for i in range(start, stop):
            at = np.uintp((i - start) * width) + c
            s0, s1, s2, s3 = (
                share[at],
                share[at + np.uintp(1)],
                share[at + np.uintp(2)],
                share[at + np.uintp(3)],
            )
            margin[c] += s0
            margin[c + np.uintp(1)] += s1
            margin[c + np.uintp(2)] += s2
            margin[c + np.uintp(3)] += s3
            for j in range(np.uintp(d)):
                cell = (offsets[j] + np.uintp(codes[i, j])) * np.uintp(width) + c
                counts[cell] += s0
                counts[cell + np.uintp(1)] += s1
                counts[cell + np.uintp(2)] += s2
                counts[cell + np.uintp(3)] += s3


@kernel
def gather_values(values: Any, start: int, stop: int, share: Any, width: int, centre: Any, sums: Any) -> None:
    """Add Σ r, Σ r(x − centre) and Σ r(x − centre)² over the cells that are present, to planes of (columns, width)."""
    for j in range(values.shape[1]):
        for i in range(start, stop):
            x = values[i, j]
            if np.isnan(x):
                continue
            at = (i - start) * width
            for c in range(width):
                r, y = share[at + c], x - centre[j, c]
                sums[0, j, c] += r
                sums[1, j, c] += r * y
                sums[2, j, c] += r * y * y


@kernel
def expect_rows(
    codes: Any, values: Any, weights: Any, start: int, stop: int, k: int, width: int, hard: bool,
    prior: Any, offsets: Any, table: Any, kinds: Any, centre: Any, low: Any, scale: Any, norm: Any, absent: Any,
    joint: Any, value: Any, margin: Any, counts: Any, sums: Any,
) -> int:  # fmt: skip
    """Take the expected sums of rows start … stop, a tile at a time; return −1, or a row that is impossible."""
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        for i in range(last - first):
            for c in range(width):
                joint[i * width + c] = prior[c]
        add_codes(codes, first, last, offsets, table, width, joint)
        add_values(values, first, last, kinds, centre, low, scale, norm, absent, width, joint)
        impossible: int = share_rows(joint, first, last, weights, k, width, hard, value)
        if impossible >= 0:
            return impossible
        gather_codes(codes, first, last, offsets, joint, width, margin, counts)
        gather_values(values, first, last, joint, width, centre, sums)
    return -1


@kernel
def gather_rows(
    codes: Any, values: Any, share: Any, start: int, stop: int, width: int, offsets: Any, centre: Any,
    margin: Any, counts: Any, sums: Any,
) -> None:  # fmt: skip
    """Take the sums of rows whose shares are given, of shape (n·width,)."""
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        part = share[first * width : last * width]
        gather_codes(codes, first, last, offsets, part, width, margin, counts)
        gather_values(values, first, last, part, width, centre, sums)
