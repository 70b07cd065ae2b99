"""An average over super-parents, taken apart for one row."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from bayeskit.estimation.averaged import Averaged
from bayeskit.estimation.pair_cells import IMAGINARY
from bayeskit.report.average import Average, Said, SuperParent, Unwritten
from bayeskit.report.dependence import Floats, Item, cell_density
from bayeskit.report.explanation import Attribute, Factor, LeftOut
from bayeskit.report.fractions import fraction
from bayeskit.report.pair_share import pair_shares
from bayeskit.report.shown import Shown


def average_of(averaged: Averaged, row: Shown) -> tuple[Average, dict[Any, Item]] | None:
    """Return what every super-parent says and which attributes are left out; None where there is no super-parent."""
    kept = _kept(averaged, row)
    scores = averaged.scores(row.chunk)[0]
    found = [s for s in (_super_parent(averaged, row, i, kept, scores[i]) for i in kept) if s is not None]
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


def _super_parent(
    averaged: Averaged, row: Shown, i: int, kept: list[int], scores: Floats
) -> SuperParent | None:
    """Write down what one attribute says; ``scores`` are the logarithms of its products, NaN where it is no parent."""
    weight = float(np.exp(averaged.log_weights[0, i]))
    if np.isnan(scores).all() or not weight > 0.0:
        return None
    cells = averaged.cells
    g = int(cells.offsets[i]) + row.code(i)
    rows, imaginary = float(cells.first[i].sum()), float(averaged.joint[g])
    whole = float(averaged.joint_total[i])
    first = tuple(
        Factor(_log((n + imaginary) / (rows + whole)), fraction(n, imaginary, rows, whole))
        for n in cells.counts[g, g].tolist()
    )
    known = (averaged, row, i, kept)
    children = Unwritten(partial(_children, *known), partial(_said, *known))
    name = row.schema.categorical[i].name
    return SuperParent(name, row.value(i), weight, first, children, tuple(scores.tolist()))


def _said(averaged: Averaged, row: Shown, i: int, kept: list[int]) -> Said:
    """What all others say, given attribute i, with nothing written down."""
    logs = averaged.log_given(averaged._without_general(row.chunk.codes, np.zeros(1))[0], i).tolist()
    names = [v.name for v in row.schema.categorical]
    found: Said = [(names[j], logs[j]) for j in kept if j != i and not _says_nothing(averaged, row, j)]
    for place in _measured(averaged, row):
        out = np.zeros((1, averaged.cells.counts.shape[2]))
        averaged.numeric.add_given(row.chunk, i, [place], out)
        found.append((row.schema.numeric[place].name, out[0].tolist()))
    return found


def _children(averaged: Averaged, row: Shown, i: int, kept: list[int]) -> tuple[Attribute, ...]:
    """Write down what all others say, given attribute i."""
    cells, u, above, found = averaged.cells, row.code(i), row.given([i]), list[Attribute]()
    for j in kept:
        if j == i or _says_nothing(averaged, row, j):
            continue
        factors = tuple(Factor(_log(p), written) for p, written in pair_shares(cells, j, row.code(j), i, u))
        family = "table" if cells.mode[j] == IMAGINARY else "back-off"
        name = row.schema.categorical[j].name
        found.append(Attribute(name, row.value(j), family, factors, row.is_unknown(j), above))
    return (*found, *_numeric(averaged, row, i))


def _says_nothing(averaged: Averaged, row: Shown, j: int) -> bool:
    """Whether a value was never learned and has no probability of its own."""
    cells = averaged.cells
    return bool(row.code(j) > cells.real[j] and cells.mode[j] == IMAGINARY and cells.extra[j] == 0.0)


def _measured(averaged: Averaged, row: Shown) -> list[int]:
    """The numeric attributes that say something."""
    used = averaged.numeric.used if row.schema.numeric else ()
    return [m for m, is_used in enumerate(used) if is_used and not np.isnan(row.chunk.values[0, m])]


def _numeric(averaged: Averaged, row: Shown, i: int) -> list[Attribute]:
    found = []
    for place in _measured(averaged, row):
        parent, logs, workings = cell_density(averaged.numeric, row, place, i)
        factors = tuple(map(Factor, logs.tolist(), workings))
        name, x = row.schema.numeric[place].name, float(row.chunk.values[0, place])
        found.append(Attribute(name, x, "gaussian", factors, given=row.given([parent])))
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
