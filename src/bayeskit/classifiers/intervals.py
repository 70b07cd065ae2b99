"""Credible intervals of posteriors: what is asked for, the draws of a classifier of counts, their quantiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.data.table import Table
from bayeskit.errors import SettingError
from bayeskit.estimation.posterior_draws import Draws
from bayeskit.learning.credible import blocks_of, drawn_of
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit.classifiers.base import CountClassifier


def posterior_draws(model: CountClassifier, table: Table, draws: Draws) -> Iterator[tuple[slice, Floats]]:
    """Yield the places of some rows, and P(c | x) of each under every draw: shape (rows, draws, K)."""
    fitted = model._reader("predict_interval")
    assert fitted.recipe is not None
    drawn = drawn_of(model.statistics_, fitted.recipe, type(model).__name__)
    encoded = fitted.encode(table, drawn.schema, fitted.recipe.unseen)
    for start, stop in blocks_of(encoded, draws.n):
        logs = drawn.log_posteriors(encoded.chunk(start, stop), draws)
        n, _, k = logs.shape
        shares = np.exp(model._calibrated(logs.reshape(-1, k), drawn.schema)).reshape(n, draws.n, k)
        yield slice(start, stop), shares


def quantiles(shares: Floats, at: tuple[float, float, float]) -> Floats:
    """Return quantiles over the draws, shape (3, n, K); of two classes one is the other's mirrored."""
    if shares.shape[2] != 2:
        return np.asarray(np.quantile(shares, at, axis=1))
    first = np.quantile(np.ascontiguousarray(shares[:, :, 0]), at, axis=1)
    return np.stack([first, 1.0 - first[::-1]], axis=2)


def checked_interval(level: float, draws: int, seed: int) -> tuple[float, int, int]:
    """Return level, draws and seed as numbers, or refuse them."""
    number = isinstance(level, (int, float, np.integer, np.floating)) and not isinstance(level, bool)
    if not number or not 0.0 < float(level) < 1.0:
        raise SettingError(f"level is {level!r}; give a probability between 0 and 1, such as 0.9.")
    for name, value, least in (("draws", draws, 10), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise SettingError(f"{name} is {value!r}; give a whole number of at least {least}.")
    return float(level), int(draws), int(seed)
