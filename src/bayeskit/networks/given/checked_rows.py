"""Rows of probabilities: each sums to one, or is refused by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.graphs.distributions import row_sums, summing_to_one
from bayeskit.networks.given.axes import Axes

# What a user computed may miss one by so much; a file, printed with a few digits, by more.
ROUNDED = 1e-9

Floats = NDArray[np.float64]


def checked_rows(axes: Axes, values: Floats, normalize: bool | None) -> Floats:
    """Return rows that sum to one: as given where they do, divided where that is rounding or asked for.

    ``normalize`` is None where the user has no such switch to be told of.
    """
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = np.argwhere(wrong)[0]
        raise SettingError(
            f"The table of {axes.owner!r} has {values[tuple(place)]} at {axes.where(place)}. A probability is a "
            "number from 0 to 1."
        )
    sums = row_sums(values)
    off = np.abs(sums - 1.0) > ROUNDED
    refused = (sums == 0) | ~np.isfinite(sums) | (off if not normalize else False)
    if refused.any():
        place = np.argwhere(refused)[0]
        total = float(sums[tuple(place)])
        where = f" for {axes.where(place)}" if len(place) else ""
        hopeless = total == 0 or not np.isfinite(total) or normalize is not False
        way_out = "Mend the row" if hopeless else "Mend the row, or pass normalize=True"
        raise SettingError(f"The probabilities of {axes.owner!r}{where} sum to {total!r}, not 1. {way_out}.")
    # −0.0 is a zero like any other.
    return summing_to_one(values, sums) + 0.0
