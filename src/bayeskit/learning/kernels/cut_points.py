"""Loops that find the cuts of Fayyad and Irani.

Weights are whole numbers of a unit, and x·log₂x is a whole number of 1/scale: sums of both are exact, so
that the answer depends neither on the order of rows nor on the names of classes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.kernel import kernel

# What a sorted row says of the gap after it.
CLOSED, OPEN, CUT = 0, 1, 2

# 3^k fits a float without loss up to here; beyond, the 2 of log₂(3^k − 2) is below the last digit.
_LARGEST_POWER = 30
_LOG2_3 = math.log2(3.0)


@kernel
def information(units: Any, unit: Any, scale: Any, table: Any) -> Any:
    """Return x·log₂x of a weight, in whole numbers of 1/scale; from the table where it reaches so far."""
    if units < table.shape[0]:
        return table[np.uintp(units)]
    if units == 0:
        return np.int64(0)
    x = units * unit
    return np.int64(np.rint(x * math.log2(x) * scale))


@kernel
def fill_information(unit: Any, scale: Any, empty: Any, table: Any) -> None:
    """Tabulate x·log₂x of the first weights; ``empty`` is a table that reaches nowhere."""
    for units in range(table.shape[0]):
        table[units] = information(units, unit, scale, empty)


@kernel
def description_length(k: Any) -> Any:
    """Return log₂(3^k − 2): the bits that say which classes go to which side."""
    return math.log2(3.0**k - 2.0) if k <= _LARGEST_POWER else k * _LOG2_3


@kernel
def best_cut(
    low: Any,
    high: Any,
    codes: Any,
    units: Any,
    unit: Any,
    scale: Any,
    slack: Any,
    table: Any,
    gaps: Any,
    cells: Any,
    present: Any,
) -> Any:
    """Return the row after which the rows low … high − 1 are best cut, or −1 where no cut pays.

    The best cut has the least entropy, and is the first of those; two that differ by less than ``slack``
    (what rounding can do) are equal. It is taken where the gain exceeds the price of Fayyad and Irani.
    ``cells`` is scratch, three numbers a class, and all zero before and after; ``present`` has room for
    every class.
    """
    whole, left, pairs = cells[0], cells[1], cells[2]
    n_present = np.uintp(0)
    total = np.int64(0)
    for i in range(np.uintp(low), np.uintp(high)):
        c = codes[i]
        w = units[i] if units.shape[0] else np.int64(1)
        if whole[c] == 0:
            present[n_present] = c
            n_present += np.uintp(1)
        whole[c] += w
        total += w
    where = np.int64(-1)
    if n_present > 1:
        # Σ f(n_c) of both sides; −N·E is this less f of the two sizes.
        bits = np.int64(0)
        for j in range(n_present):
            c = present[j]
            pairs[c] = information(whole[c], unit, scale, table)
            bits += pairs[c]
        whole_information = (information(total, unit, scale, table) - bits) / scale
        best, passed = np.int64(0), np.int64(0)
        for i in range(np.uintp(low), np.uintp(high - 1)):
            c = codes[i]
            w = units[i] if units.shape[0] else np.int64(1)
            here = left[c] + w
            left[c] = here
            pair = information(here, unit, scale, table) + information(whole[c] - here, unit, scale, table)
            bits += pair - pairs[c]
            pairs[c] = pair
            passed += w
            if gaps[i] == OPEN:
                score = (
                    bits
                    - information(passed, unit, scale, table)
                    - information(total - passed, unit, scale, table)
                )
                if where < 0 or score > best + slack:
                    best, where = score, np.int64(i)
        if where >= 0 and not pays(
            low, where, codes, units, unit, scale, table, cells, present[:n_present], total, whole_information
        ):
            where = np.int64(-1)
    for j in range(n_present):
        c = present[j]
        whole[c] = left[c] = pairs[c] = 0
    return where


@kernel
def pays(
    low: Any,
    where: Any,
    codes: Any,
    units: Any,
    unit: Any,
    scale: Any,
    table: Any,
    cells: Any,
    present: Any,
    total: Any,
    whole_information: Any,
) -> Any:
    """Tell whether the gain of a cut exceeds its price; ``whole_information`` is N·Ent(S)."""
    whole, left = cells[0], cells[1]
    for j in range(present.shape[0]):
        left[present[j]] = 0
    passed = np.int64(0)
    for i in range(np.uintp(low), np.uintp(where + 1)):
        w = units[i] if units.shape[0] else np.int64(1)
        left[codes[i]] += w
        passed += w
    k1, k2 = 0, 0
    bits1, bits2 = np.int64(0), np.int64(0)
    for j in range(present.shape[0]):
        c = present[j]
        k1 += left[c] > 0
        k2 += left[c] < whole[c]
        bits1 += information(left[c], unit, scale, table)
        bits2 += information(whole[c] - left[c], unit, scale, table)
    first = (information(passed, unit, scale, table) - bits1) / scale
    second = (information(total - passed, unit, scale, table) - bits2) / scale
    k, n = present.shape[0], total * unit
    spread = (
        k * whole_information / n - k1 * first / (passed * unit) - k2 * second / ((total - passed) * unit)
    )
    # Weights of less than two rows in all would make log₂(N − 1) negative without end.
    price = math.log2(max(n - 1.0, 1.0)) + description_length(k) - spread
    return whole_information - first - second > price


@kernel
def cut(
    codes: Any,
    units: Any,
    unit: Any,
    scale: Any,
    slack: Any,
    table: Any,
    gaps: Any,
    cells: Any,
    present: Any,
    stack: Any,
) -> None:
    """Cut sorted rows again and again: every gap where a cut pays becomes ``CUT``.

    The smaller part waits no longer than the larger: the stack is as deep as log₂ of the rows.
    """
    stack[0, 0], stack[0, 1] = 0, codes.shape[0]
    depth = 1
    while depth:
        depth -= 1
        low, high = stack[depth, 0], stack[depth, 1]
        where = best_cut(low, high, codes, units, unit, scale, slack, table, gaps, cells, present)
        if where < 0:
            continue
        gaps[where] = CUT
        middle = where + 1
        if middle - low > high - middle:
            stack[depth, 0], stack[depth, 1] = low, middle
            stack[depth + 1, 0], stack[depth + 1, 1] = middle, high
        else:
            stack[depth, 0], stack[depth, 1] = middle, high
            stack[depth + 1, 0], stack[depth + 1, 1] = low, middle
        depth += 2
