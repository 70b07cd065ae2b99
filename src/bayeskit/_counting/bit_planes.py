"""Kernels that count pairs of codes 64 rows at a time: one bit per row, one plane per state.

The rows are ordered by class, and every class starts with a new word. Then n(v_i, v_j, c) is the number of
common bits of two planes in the words of class c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit._intrinsics import ones
from bayeskit._numba import intrinsic, kernel

_U = np.uintp
# Rows per word.
_WORD = _U(64)
# The padding of the last word of a class: no attribute with planes has this code.
NO_CODE = np.uint8(255)


def _equal_bits(codes: Any, start: Any, code: Any) -> np.uint64:
    bits = np.packbits(codes[start : start + _WORD] == code, bitorder="little")
    return np.uint64(int.from_bytes(bits.tobytes(), "little"))


@intrinsic(plain=_equal_bits)
def equal(typing_context: Any, codes: Any, start: Any, code: Any) -> Any:
    """Return a word whose bit r is whether codes[start + r] equals this code, for 64 bytes at once.

    LLVM has vectors of any length and compiles this to what the processor has: two instructions with AVX-512,
    a few with SSE2 or NEON.
    """
    from llvmlite import ir
    from numba import types

    signature = types.uint64(codes, types.uintp, types.uint8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        sixty_four = ir.VectorType(ir.IntType(8), 64)
        at = builder.bitcast(builder.gep(array.data, [arguments[1]]), sixty_four.as_pointer())
        there = builder.load(at, align=1)
        first = builder.insert_element(
            ir.Constant(sixty_four, ir.Undefined), arguments[2], ir.Constant(ir.IntType(32), 0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        wanted = builder.shuffle_vector(first, ir.Constant(sixty_four, ir.Undefined), zeros)
        return builder.bitcast(builder.icmp_unsigned("==", there, wanted), ir.IntType(64))

    return signature, generate


@kernel
def order_by_class(target: Any, place: Any, order: Any) -> None:
    """Write the number of every row at the next place of its class; ``place`` is advanced."""
    for i in range(target.shape[0]):
        c = _U(target[i])
        order[place[c]] = i
        place[c] += _U(1)


@kernel
def lay_columns(codes: Any, which: Any, order: Any, starts: Any, words: Any, columns: Any) -> None:
    """Transpose rows of codes into one run of bytes per attribute, in the order of the classes.

    Class c has the rows order[starts[c] : starts[c + 1]] and starts at byte 64·words[c]. 64 rows are
    transposed at a time, so that they stay in the fastest cache.
    """
    width, length = _U(codes.shape[1]), _U(columns.shape[1])
    cells, flat = codes.reshape(-1), columns.reshape(-1)
    for c in range(starts.shape[0] - 1):
        n = starts[c + 1] - starts[c]
        for begin in range(_U(0), n, _WORD):
            taken = min(_WORD, n - begin)
            first = starts[c] + begin
            for j in range(_U(which.shape[0])):
                to = j * length + words[c] * _WORD + begin
                for r in range(taken):
                    flat[to + r] = cells[_U(order[first + r]) * width + which[j]]
                for r in range(taken, _WORD):
                    flat[to + r] = NO_CODE


@kernel
def lay_own_codes(
    own: Any, table: Any, first: Any, order: Any, starts: Any, words: Any, columns: Any
) -> None:
    """Do as ``lay_columns`` for columns in codes of their own, one after the other.

    The table of column j begins at table[first[j]] with the entry of −1.
    """
    n, length = _U(own.shape[1]), _U(columns.shape[1])
    cells, flat = own.reshape(-1), columns.reshape(-1)
    one = _U(1)
    for j in range(_U(own.shape[0])):
        mine, begin = j * n, first[j]
        for c in range(starts.shape[0] - 1):
            to, stop = j * length + words[c] * _WORD, j * length + words[c + 1] * _WORD
            for r in range(starts[c], starts[c + 1]):
                flat[to] = table[begin + _U(cells[mine + _U(order[r])] + 1)]
                to += one
            for place in range(to, stop):
                flat[place] = NO_CODE


@kernel
def pack_planes(columns: Any, first: Any, words: Any, planes: Any, singles: Any) -> None:
    """Build a plane for every code of every column, and count its bits in each class.

    The planes of column j are first[j], first[j] + 1, …, one for each code.
    """
    flat, length = columns.reshape(-1), _U(columns.shape[1])
    for j in range(_U(columns.shape[0])):
        for p in range(first[j], first[j + _U(1)]):
            code = np.uint8(p - first[j])
            for c in range(_U(words.shape[0] - 1)):
                total = np.uint64(0)
                for w in range(words[c], words[c + _U(1)]):
                    word = equal(flat, j * length + w * _WORD, code)
                    planes[p, w] = word
                    total += ones(word)
                singles[p, c] = total


@kernel
def count_planes(
    planes: Any,
    singles: Any,
    first: Any,
    words: Any,
    rows: Any,
    wanted: Any,
    step: Any,
    alive: Any,
    counts: Any,
) -> None:
    """Write n(v_i, v_j, c), i < j, of the wanted pairs into the upper half of a table of pairs.

    Planes without a bit in the class are skipped (the spare cell, if nothing is missing). The last plane with
    bits is computed by subtraction: every row has one code of each attribute, so the rest of n(v_i, c)
    belongs to it. ``rows`` is where the codes of each attribute start in the table; ``step`` is the number of
    words processed at a time, so that all planes stay in the second-level cache.
    """
    d = _U(first.shape[0] - 1)
    one, t, k = _U(1), _U(counts.shape[1]), _U(counts.shape[2])
    flat = counts.reshape(-1)
    for c in range(_U(words.shape[0] - 1)):
        _find_alive(singles, first, c, alive)
        for begin in range(words[c], words[c + one], step):
            end = min(begin + step, words[c + one])
            for i in range(d):
                for j in range(i + one, d):
                    if wanted[i, j]:
                        for a in range(one, alive[i, 0]):
                            mine = planes[first[i] + alive[i, a], begin:end]
                            g = (rows[i] + alive[i, a]) * t + rows[j]
                            for e in range(one, alive[j, 0]):
                                other = planes[first[j] + alive[j, e], begin:end]
                                both = np.uint64(0)
                                for w in range(mine.shape[0]):
                                    both += ones(mine[w] & other[w])
                                flat[(g + alive[j, e]) * k + c] += np.float64(both)
        for i in range(d):
            for j in range(i + one, d):
                if wanted[i, j] and alive[i, 0] > 0:  # otherwise the class has no rows
                    _deduce_last(singles, first[i], first[j], rows[i], rows[j], alive[i], alive[j], c, counts)


@kernel
def _find_alive(singles: Any, first: Any, c: Any, alive: Any) -> None:
    """List the codes with bits in class c: their number, then the codes."""
    for j in range(_U(first.shape[0] - 1)):
        found = _U(0)
        for p in range(first[j], first[j + _U(1)]):
            if singles[p, c] > 0:
                found += _U(1)
                alive[j, found] = p - first[j]
        alive[j, 0] = found


@kernel
def _deduce_last(
    singles: Any, p: Any, q: Any, g: Any, h: Any, mine: Any, others: Any, c: Any, counts: Any
) -> None:
    """Fill the row and the column of the last codes by what the others leave of the single counts."""
    one, m, n = _U(1), mine[0], others[0]
    for a in range(one, m):
        left = singles[p + mine[a], c]
        for e in range(one, n):
            left -= counts[g + mine[a], h + others[e], c]
        counts[g + mine[a], h + others[n], c] = left
    for e in range(one, n + one):
        left = singles[q + others[e], c]
        for a in range(one, m):
            left -= counts[g + mine[a], h + others[e], c]
        counts[g + mine[m], h + others[e], c] = left
