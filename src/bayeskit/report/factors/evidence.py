"""What each value says, for any model: the answer with it over the answer without it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.learning.model import Model
from bayeskit.report.explanation import Attribute, Factor, LeftOut
from bayeskit.report.shown import Shown

Floats = NDArray[np.float64]
Factors = tuple[Factor, ...]


def evidence_of(model: Model, row: Shown) -> tuple[Floats, dict[Any, Attribute | LeftOut], Factors]:
    r"""Leave out one value at a time.

    .. math:: \frac{P(c, x)}{P(c, x_{-j})} = P(x_j \mid c, x_{-j})

    Returns
    -------
    log P(c) as the model gives it for a row without values, the items by name, and the rest: by what the product of
    the prior and the factors falls short of P(c, x).
    """
    codes, values = row.chunk.codes, row.chunk.values
    sizes = np.array([v.size for v in row.schema.categorical], dtype=np.int64)
    d = len(sizes)
    places = [j for j in range(d) if codes[0, j] != sizes[j]]
    numeric = [m for m in range(values.shape[1]) if not np.isnan(values[0, m])]
    n = 2 + len(places) + len(numeric)
    all_codes, all_values = np.repeat(codes, n, axis=0), np.repeat(values, n, axis=0)
    all_codes[1], all_values[1] = sizes, np.nan
    for r, j in enumerate(places, 2):
        all_codes[r, j] = sizes[j]
    for r, m in enumerate(numeric, 2 + len(places)):
        all_values[r, m] = np.nan
    joint = model.joint_chunk(Chunk(n, np.ascontiguousarray(all_codes), np.ascontiguousarray(all_values)))
    items: dict[Any, Attribute | LeftOut] = {}
    for r, j in enumerate(places, 2):
        items[row.schema.categorical[j].name] = _item(
            row.schema.categorical[j].name, row.value(j), joint[0], joint[r]
        )
    for r, m in enumerate(numeric, 2 + len(places)):
        name = row.schema.numeric[m].name
        items[name] = _item(name, float(values[0, m]), joint[0], joint[r])
    for j in sorted(set(range(d)) - set(places)):
        items[row.schema.categorical[j].name] = row.left_out(j)
    for m in sorted(set(range(values.shape[1])) - set(numeric)):
        items[row.schema.numeric[m].name] = LeftOut(row.schema.numeric[m].name, None, "missing")
    said = joint[1].copy()
    for item in items.values():
        if isinstance(item, Attribute):
            said += [factor.log for factor in item.factors]
    return joint[1], items, tuple(map(Factor, _difference(joint[0], said).tolist()))


def _item(name: Any, value: Any, whole: Floats, without: Floats) -> Attribute:
    return Attribute(name, value, "evidence", tuple(map(Factor, _difference(whole, without).tolist())))


def _difference(whole: Floats, part: Floats) -> Floats:
    """Return whole − part of logarithms; where the part is impossible already, nothing is added."""
    known = part > -np.inf
    return np.where(known, whole - np.where(known, part, 0.0), 0.0)
