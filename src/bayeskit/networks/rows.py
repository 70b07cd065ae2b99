"""Rows of probabilities: each sums to one, or is refused by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.networks.axes import Axes

# A row this near to one is kept bit for bit; one a little farther off is divided by its sum, once.
EXACT, ROUNDED = 1e-12, 1e-9

Floats = NDArray[np.float64]


def checked_rows(axes: Axes, values: Floats, normalize: bool) -> Floats:
    """Return rows that sum to one: as given where they do, divided where that is rounding or asked for."""
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = np.argwhere(wrong)[0]
        raise SettingError(
            f"The table of {axes.owner!r} has {values[tuple(place)]} at {axes.where(place)}. A probability is a "
            "number from 0 to 1."
        )
    with np.errstate(over="ignore"):
        sums = values.sum(axis=-1)
    off = np.abs(sums - 1.0)
    refused = (sums == 0) | ~np.isfinite(sums) | (off > ROUNDED if not normalize else False)
    if refused.any():
        place = np.argwhere(refused)[0]
        total = float(sums[tuple(place)])
        where = f" for {axes.where(place)}" if len(place) else ""
        way_out = "Mend the row" if total == 0 or normalize else "Mend the row, or pass normalize=True"
        raise SettingError(f"The probabilities of {axes.owner!r}{where} sum to {total!r}, not 1. {way_out}.")
    # −0.0 is a zero like any other.
    return np.where((off > EXACT)[..., None], values / sums[..., None], values) + 0.0
