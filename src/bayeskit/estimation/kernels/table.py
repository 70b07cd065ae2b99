"""Loops that look log-probabilities up."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel

_U = np.uintp


@kernel
def add_pairs(codes: Any, offsets: Any, table: Any, out: Any) -> None:
    """Two classes: the sums stay in two registers. ``table`` is flat, the class innermost."""
    n, d = codes.shape
    for i in range(n):
        a = 0.0
        b = 0.0
        for j in range(d):
            place = (offsets[j] + _U(codes[i, j])) << _U(1)
            a += table[place]
            b += table[place + _U(1)]
        out[i, 0] += a
        out[i, 1] += b


@kernel
def add_fours(codes: Any, offsets: Any, table: Any, width: Any, out: Any) -> None:
    """Any number of classes, four at a time in registers; ``table`` has its classes padded to ``width``."""
    n, d = codes.shape
    n_classes = out.shape[1]
    w = _U(width)
    for i in range(n):
        for first in range(0, width, 4):
            u = _U(first)
            a = 0.0
            b = 0.0
            c = 0.0
            e = 0.0
            for j in range(d):
                place = (offsets[j] + _U(codes[i, j])) * w + u
                a += table[place]
                b += table[place + _U(1)]
                c += table[place + _U(2)]
                e += table[place + _U(3)]
            out[i, first] += a
            if first + 1 < n_classes:
                out[i, first + 1] += b
            if first + 2 < n_classes:
                out[i, first + 2] += c
            if first + 3 < n_classes:
                out[i, first + 3] += e


@kernel
def add_eights(codes: Any, offsets: Any, table: Any, out: Any) -> None:
    """Five to eight classes, padded to eight: one look-up a code for all of them."""
    n, d = codes.shape
    n_classes = out.shape[1]
    for i in range(n):
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
        for j in range(d):
            place = (offsets[j] + _U(codes[i, j])) << _U(3)
            a0 += table[place]
            a1 += table[place + _U(1)]
            a2 += table[place + _U(2)]
            a3 += table[place + _U(3)]
            a4 += table[place + _U(4)]
            a5 += table[place + _U(5)]
            a6 += table[place + _U(6)]
            a7 += table[place + _U(7)]
        out[i, 0] += a0
        out[i, 1] += a1
        out[i, 2] += a2
        out[i, 3] += a3
        out[i, 4] += a4
        if n_classes > 5:
            out[i, 5] += a5
        if n_classes > 6:
            out[i, 6] += a6
        if n_classes > 7:
            out[i, 7] += a7
