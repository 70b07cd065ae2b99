"""The cells P(x_j | c, x_i) of all classes c as arithmetic: counts, imaginary counts, back-off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.estimation.pair_cells import BACK_OFF, IMAGINARY, PairCells
from bayeskit.report.fractions import back_off, fraction, fractions, number

Floats = NDArray[np.float64]
Share = tuple[float, str]


def pair_shares(cells: PairCells, j: int, x: int, i: int, u: int) -> list[Share]:
    """Return P(x_j = x | c, x_i = u) of each class, or P(x_j = x | c) with ``i`` below 0, and how it is reckoned.

    The same steps as the kernel that fills the tables, one cell at a time.
    """
    real, start = int(cells.real[j]), int(cells.offsets[j])
    novel, here = x > real, start + min(x, real)
    nothing = np.zeros(cells.counts.shape[2])
    n0, total0 = nothing if novel else cells.counts[here, here], cells.first[j]
    n1, total1, above = nothing, nothing, -1
    if i >= 0 and u <= int(cells.real[i]):
        above = int(cells.offsets[i]) + u
        spare = 0.0 if int(cells.sizes[j]) > real else cells.counts[above, start + real]
        total1 = np.maximum(cells.counts[above, above] - spare, 0.0)
        n1 = nothing if novel else cells.counts[above, here]
    if cells.mode[j] == IMAGINARY:
        scale = float(cells.scale[i, j]) if i >= 0 else 1.0
        mass = scale * float(cells.extra[j] if novel else cells.mass[here])
        if novel and not cells.extra[j]:
            return [(1.0, "1")] * len(nothing)
        n, total = (n1, total1) if i >= 0 else (n0, total0)
        return _plain(n.tolist(), total.tolist(), mass, scale * float(cells.total_mass[j]), _even(cells, j))
    # A level that no attribute has needs no constant, and may have none.
    c0, c1 = (np.full(len(nothing), constant) for constant in [*cells.constants, 1.0, 1.0][:2])
    if cells.mode[j] != BACK_OFF:
        c0 = _distinct(cells, j, -1)
        c1 = np.where(total1 > 0.0, _distinct(cells, j, above), 0.0)
    found = [_leaning(_even(cells, j), *level) for level in zip(*(a.tolist() for a in (n0, total0, c0)))]
    if i < 0:
        return found
    levels = zip(*(a.tolist() for a in (n1, total1, c1)))
    return [
        _leaning((share[0], share[0]), *level) if level[1] + level[2] > 0.0 else share
        for share, level in zip(found, levels)
    ]


class LogShares:
    """What ``pair_shares`` tells of attributes (j, x) under any parent: the logarithms, and how they are reckoned.

    Those that were learned and have imaginary counts are looked up all at once, since there may be thousands.
    """

    def __init__(self, cells: PairCells, attributes: Sequence[tuple[int, int]]) -> None:
        self.cells, self.attributes = cells, attributes
        js, codes = np.array(attributes, dtype=np.intp).reshape(-1, 2).T
        learned = (cells.mode[js] == IMAGINARY) & (codes <= cells.real[js])
        self._js = js[learned]
        start = cells.offsets.astype(np.intp)[self._js]
        self._here = start + codes[learned]
        self._spare = start + cells.real[self._js].astype(np.intp)
        # Rows without x_j are none of those it is a share of, unless missing is a state.
        self._is_state = (cells.sizes > cells.real)[self._js, None]

    def given(self, i: int, u: int) -> Iterator[tuple[int, list[float], list[str]]]:
        """Yield (j, logarithms, workings) of every attribute but i, given x_i = u."""
        at_once = self._counted(i, u) if u <= int(self.cells.real[i]) else {}
        for j, x in self.attributes:
            if j == i:
                continue
            if j in at_once:
                logs, n, total, mass, whole = at_once[j]
                yield j, logs, fractions(n, mass, total, whole)
            else:
                found = pair_shares(self.cells, j, x, i, u)
                logs = [math.log(p) if p > 0.0 else -math.inf for p, _ in found]
                yield j, logs, [text for _, text in found]

    def _counted(self, i: int, u: int) -> dict[int, Any]:
        """Return log((n + a)/(N + A)), n and N of each class, a and A, of learned values with imaginary counts."""
        cells, js = self.cells, self._js
        above = int(cells.offsets[i]) + u
        rows = cells.counts[above]
        spare = np.where(self._is_state, 0.0, rows[self._spare])
        n, total = rows[self._here], np.maximum(rows[above] - spare, 0.0)
        scale = cells.scale[i, js]
        mass, whole = scale * cells.mass[self._here], scale * cells.total_mass[js]
        shown = (total.min(axis=1, initial=np.inf) + whole > 0.0).tolist()
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log((n + mass[:, None]) / (total + whole[:, None]))
        parts = zip(*(part.tolist() for part in (logs, n, total, mass, whole)))
        return {j: told for j, told, there in zip(js.tolist(), parts, shown) if there}


def pair_workings(cells: PairCells, j: int, x: int, i: int, u: int) -> list[str]:
    """Return how the probability of each class is written."""
    return [written for _, written in pair_shares(cells, j, x, i, u)]


def _even(cells: PairCells, j: int) -> Share:
    alike = float(cells.alike[j])
    return 1.0 / alike, f"1/{number(alike)}"


def _plain(n: list[float], total: list[float], mass: float, whole: float, even: Share) -> list[Share]:
    return [
        ((a + mass) / (b + whole), fraction(a, mass, b, whole)) if b + whole > 0.0 else even
        for a, b in zip(n, total)
    ]


def _leaning(below: tuple[float, float | str], n: float, total: float, constant: float) -> Share:
    """Lean on the estimate with a parent less, given as a number and as it is written."""
    p, written = below
    if total + constant <= 0.0:
        return p, str(written)
    return (n + constant * p) / (total + constant), back_off(n, constant, written, total)


def _distinct(cells: PairCells, j: int, above: int) -> Floats:
    """Count the states of attribute j that are seen with each class, and with a parent's state unless below 0."""
    states = np.arange(int(cells.offsets[j]), int(cells.offsets[j]) + int(cells.sizes[j]))
    seen = cells.counts[states if above < 0 else above, states]
    return np.asarray((seen > 0.0).sum(axis=0), dtype=np.float64)
