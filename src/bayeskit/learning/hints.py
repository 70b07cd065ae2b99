"""What else a numeric column might be: a look at some rows, for suggestions only."""

from __future__ import annotations

import numpy as np

from bayeskit.data.encoded import Encoded
from bayeskit.estimation.density import Shape, families, family_of
from bayeskit.schema import Name

# Enough rows to tell a count from a measurement; a suggestion is not worth a pass over millions.
ROWS_LOOKED_AT = 1_000


def hints_of(encoded: Encoded) -> dict[Name, str]:
    """Return, for numeric columns that look like something else, the family that would suit them.

    A column of zeros and ones suggests "bernoulli"; what suggests a family of numbers the family says (``hinted``):
    small whole numbers without negatives "poisson", a shape far from the normal curve "kernel". Nothing is ever
    switched because of it.
    """
    names = [v.name for v in encoded.schema.numeric]
    if not names:
        return {}
    values = encoded.chunk(0, min(encoded.n_rows, ROWS_LOOKED_AT)).values
    present = np.isfinite(values)
    n = present.sum(axis=0)
    x = np.where(present, values, 0.0)
    whole = (x == np.rint(x)).all(axis=0) & (x >= 0).all(axis=0)
    top = x.max(axis=0, initial=0.0)
    hints: dict[Name, str] = {}
    with np.errstate(all="ignore"):
        mean = x.sum(axis=0) / n
        deviation = np.where(present, values - mean, 0.0)
        square = deviation * deviation
        second = square.sum(axis=0) / n
        skew = (square * deviation).sum(axis=0) / n / second**1.5
        tail = (square * square).sum(axis=0) / n / second**2 - 3.0
    for j, name in enumerate(names):
        if n[j] < 10 or not second[j] > 0:
            continue
        if whole[j] and top[j] <= 1:
            hints[name] = "bernoulli"
            continue
        numbers = (top[j], mean[j], second[j], skew[j], tail[j])
        shape = Shape(int(n[j]), bool(whole[j]), *map(float, numbers))
        # What is a count is told by its values; of any other family only its shape speaks.
        found = sorted((f for f in families() if f.hinted(shape)), key=lambda f: not f.of_counts)
        if found:
            hints[name] = found[0].family
    return hints


def why_hinted(family: str) -> str:
    """Say why a family is suggested.

    >>> why_hinted("bernoulli")
    'it holds only 0 and 1'
    """
    return "it holds only 0 and 1" if family == "bernoulli" else family_of(family).words["en"].hint
