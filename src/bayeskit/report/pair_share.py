"""One cell P(x_j | c, x_i) as arithmetic: counts, imaginary counts, back-off."""

from __future__ import annotations

import math

from bayeskit.estimation.pair_cells import BACK_OFF, IMAGINARY, PairCells
from bayeskit.report.explanation import Factor
from bayeskit.report.fractions import back_off, fraction, number


def pair_share(cells: PairCells, j: int, x: int, i: int, u: int, c: int) -> tuple[float, str]:
    """Return P(x_j = x | c, x_i = u), or P(x_j = x | c) with ``i`` below 0, and how it is reckoned.

    The same steps as the kernel that fills the tables, one cell at a time.
    """
    real = int(cells.real[j])
    start, novel = int(cells.offsets[j]), x > real
    here = start + min(x, real)
    alike = float(cells.alike[j])
    even = 1.0 / alike, f"1/{number(alike)}"
    n0 = 0.0 if novel else float(cells.counts[here, here, c])
    total0, n1, total1, above = float(cells.first[j, c]), 0.0, 0.0, -1
    if i >= 0 and u <= int(cells.real[i]):
        above = int(cells.offsets[i]) + u
        spare = 0.0 if int(cells.sizes[j]) > real else float(cells.counts[above, start + real, c])
        total1 = max(float(cells.counts[above, above, c]) - spare, 0.0)
        n1 = 0.0 if novel else float(cells.counts[above, here, c])
    if cells.mode[j] == IMAGINARY:
        scale = float(cells.scale[i, j]) if i >= 0 else 1.0
        mass = scale * float(cells.extra[j] if novel else cells.mass[here])
        n, total = (n1, total1) if i >= 0 else (n0, total0)
        whole = scale * float(cells.total_mass[j])
        if novel and not cells.extra[j]:
            return 1.0, "1"
        if total + whole <= 0.0:
            return even
        return (n + mass) / (total + whole), fraction(n, mass, total, whole)
    # A level that no attribute has needs no constant, and may have none.
    c0, c1 = map(float, [*cells.constants, 1.0, 1.0][:2])
    if cells.mode[j] != BACK_OFF:
        c0 = _distinct(cells, j, -1, c)
        c1 = _distinct(cells, j, above, c) if total1 > 0.0 else 0.0
    p, written = even
    if total0 + c0 > 0.0:
        p, written = (n0 + c0 * p) / (total0 + c0), back_off(n0, c0, written, total0)
    if i < 0 or total1 + c1 <= 0.0:
        return p, written
    return (n1 + c1 * p) / (total1 + c1), back_off(n1, c1, p, total1)


def share_factor(cells: PairCells, j: int, x: int, i: int, u: int, c: int) -> Factor:
    """Return the factor of one cell."""
    p, written = pair_share(cells, j, x, i, u, c)
    return Factor(math.log(p) if p > 0.0 else -math.inf, written)


def _distinct(cells: PairCells, j: int, above: int, c: int) -> float:
    """Count the states of attribute j that are seen with class c, and with a parent's state unless below 0."""
    states = range(int(cells.offsets[j]), int(cells.offsets[j]) + int(cells.sizes[j]))
    return float(sum(cells.counts[g if above < 0 else above, g, c] > 0.0 for g in states))
