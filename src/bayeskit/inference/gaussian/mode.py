"""Where the joint density of the continuous nodes is largest, and how large."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.inference.gaussian.plan import Step
from bayeskit.inference.gaussian.regression import Floats, Regression
from bayeskit.inference.gaussian.weights import Weight

Values = Callable[[NDArray[np.int64], Floats], Floats]


def mode(
    steps: Sequence[Step], given_later: Mapping[int, Regression], names: Sequence[object]
) -> tuple[list[Weight], Values]:
    """Return the height of each node's density at its mean, by configuration; and the means themselves.

    The second answer takes the chosen codes and the observed values, and returns all values.
    """
    peaks = []
    for node, row in given_later.items():
        certain = row.variance == 0.0
        if certain.any() and not certain.all():
            raise SettingError(
                f"{names[node]!r} is certain under some configurations of the discrete nodes and not under others, so "
                "no configuration is the most probable: a probability and a density cannot be compared. Observe it, or "
                "give it a small variance everywhere."
            )
        if not certain.any():
            peaks.append(
                Weight(row.scope, -0.5 * np.log(2.0 * np.pi * row.variance), np.zeros(row.variance.shape))
            )

    def values_at(codes: NDArray[np.int64], observed: Floats) -> Floats:
        values = np.array(observed, np.float64)
        for step in reversed(steps):
            row = given_later[step.node]
            cell = tuple(int(codes[v]) for v in row.scope)
            values[step.node] = row.intercept[cell] + row.coefficients[cell] @ values[list(row.variables)]
        return values

    return peaks, values_at
