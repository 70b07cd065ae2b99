"""An average over super-parents, taken apart for one row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.estimation.averaged import Averaged
from bayeskit.estimation.pair_cells import IMAGINARY
from bayeskit.report.average import Average, SuperParent
from bayeskit.report.dependence import Item, cell_density
from bayeskit.report.explanation import Attribute, Factor, LeftOut
from bayeskit.report.fractions import fraction
from bayeskit.report.pair_share import share_factor
from bayeskit.report.shown import Shown


def average_of(averaged: Averaged, row: Shown) -> tuple[Average, dict[Any, Item]] | None:
    """Return what every super-parent says and which attributes are left out; None where there is no super-parent."""
    kept = _kept(averaged, row)
    found = [s for s in (_super_parent(averaged, row, i, kept) for i in kept) if s is not None]
    if not found:
        return None
    return Average(tuple(found)), _left_out(averaged, row, kept)


def _kept(averaged: Averaged, row: Shown) -> list[int]:
    """The categorical attributes that say something: present, and not following from others."""
    codes = averaged._without_general(row.chunk.codes, np.zeros(1))[0].tolist()
    return [j for j, code in enumerate(codes) if _is_present(averaged, j, code)]


def _is_present(averaged: Averaged, j: int, code: int) -> bool:
    """Whether a code is a state (missing may be one) or a value never learned."""
    return code < int(averaged.cells.sizes[j]) or code == int(averaged.cells.real[j]) + 1


def _super_parent(averaged: Averaged, row: Shown, i: int, kept: list[int]) -> SuperParent | None:
    cells, u = averaged.cells, row.code(i)
    if u >= cells.sizes[i]:
        return None
    g = int(cells.offsets[i]) + u
    n, rows = cells.counts[g, g], float(cells.first[i].sum())
    least = averaged.min_count - 1e-9 * max(1.0, averaged.min_count)
    if not (n.sum() >= least and n.sum() > 0):
        return None
    imaginary, whole = float(averaged.joint[g]), float(averaged.joint_total[i])
    first = tuple(
        Factor(_log((float(m) + imaginary) / (rows + whole)), fraction(float(m), imaginary, rows, whole))
        for m in n
    )
    attributes = [_child(averaged, row, j, i) for j in kept if j != i]
    attributes += _numeric(averaged, row, i)
    weight = float(np.exp(averaged.log_weights[0, i]))
    if not weight > 0.0:
        return None
    name, children = row.schema.categorical[i].name, tuple(a for a in attributes if a is not None)
    return SuperParent(name, row.value(i), weight, first, children)


def _child(averaged: Averaged, row: Shown, j: int, i: int) -> Attribute | None:
    cells, x, u = averaged.cells, row.code(j), row.code(i)
    if _says_nothing(averaged, row, j):
        return None
    factors = tuple(share_factor(cells, j, x, i, u, c) for c in range(cells.counts.shape[2]))
    family = "table" if cells.mode[j] == IMAGINARY else "back-off"
    name = row.schema.categorical[j].name
    return Attribute(name, row.value(j), family, factors, row.is_unknown(j), row.given([i]))


def _says_nothing(averaged: Averaged, row: Shown, j: int) -> bool:
    """Whether a value was never learned and has no probability of its own."""
    cells = averaged.cells
    return bool(row.code(j) > cells.real[j] and cells.mode[j] == IMAGINARY and cells.extra[j] == 0.0)


def _numeric(averaged: Averaged, row: Shown, i: int) -> list[Attribute]:
    gaussian, found = averaged.numeric, []
    for place, variable in enumerate(row.schema.numeric):
        x = float(row.chunk.values[0, place])
        if gaussian.used[place] and x == x:
            parent, logs, workings = cell_density(gaussian, row, place, i)
            factors = tuple(map(Factor, logs.tolist(), workings))
            found.append(Attribute(variable.name, x, "gaussian", factors, given=row.given([parent])))
    return found


def _left_out(averaged: Averaged, row: Shown, kept: list[int]) -> dict[Any, Item]:
    items: dict[Any, Item] = {}
    for j, variable in enumerate(row.schema.categorical):
        if j not in kept:
            hole = not _is_present(averaged, j, row.code(j))
            items[variable.name] = (
                row.left_out(j) if hole else LeftOut(variable.name, row.value(j), "general")
            )
        elif _says_nothing(averaged, row, j):
            items[variable.name] = row.left_out(j)
    for place, variable in enumerate(row.schema.numeric):
        x = float(row.chunk.values[0, place])
        if x != x:
            items[variable.name] = LeftOut(variable.name, None, "missing")
        elif not averaged.numeric.used[place]:
            items[variable.name] = LeftOut(variable.name, x, "constant")
    return items


def _log(p: float) -> float:
    return math.log(p) if p > 0.0 else -math.inf
