"""The other conditionals of a model as distributions of nodes: Gaussians, numbers that are missing, words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import UsageError
from bayeskit.estimation.bernoulli_block import BernoulliBlock
from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.gaussian import Gaussian
from bayeskit.estimation.presence import Presence
from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.schema import Name, Schema

Floats = NDArray[np.float64]


def class_gaussian(conditional: Gaussian, schema: Schema) -> Iterator[tuple[Name, LinearGaussian]]:
    """Give the name and the Gaussian of each attribute given the class; constant attributes are left out."""
    mean = conditional.mean + conditional.mean_low
    for place, column in enumerate(conditional.columns.tolist()):
        if conditional.used[place]:
            name = schema.numeric[column].name
            yield name, _gaussian(name, mean[:, place], conditional.deviation[:, place])


def child_gaussian(
    conditional: ChildGaussians, m: int, codes: Sequence[int] | None, name: Name
) -> LinearGaussian | None:
    """Return the m-th Gaussian given the class and these codes of its parent, None where it is constant."""
    cells = conditional.cell_gaussian
    if not cells.used[m]:
        return None
    rows: NDArray[np.intp] | int = -1  # the last row is the Gaussian of the class alone
    if codes is not None:
        parent = int(conditional.parents[m])
        start, limit = int(cells.offsets[parent]), int(cells.limits[parent])
        rows = np.array([start + code if code < limit else -1 for code in codes], np.intp)
    exponent = int(cells.exponent[m])
    mean = np.ldexp(cells.mean[rows, :, m], exponent) + np.ldexp(cells.mean_low[rows, :, m], exponent)
    return _gaussian(name, mean.T, np.ldexp(cells.deviation[rows, :, m], exponent).T)


def _gaussian(name: Name, mean: Floats, deviation: Floats) -> LinearGaussian:
    with np.errstate(over="ignore", under="ignore"):
        variance = deviation * deviation
    if not (np.isfinite(variance) & (variance > 0.0) & np.isfinite(mean)).all():
        raise UsageError(
            f"The variance of {name!r} is beyond the range of floating-point numbers, in which a network holds it. "
            "Give its values in another unit."
        )
    return LinearGaussian(mean, np.empty((*mean.shape, 0)), variance)


def presence_tables(conditional: Presence, schema: Schema) -> Iterator[tuple[Name, Floats]]:
    """Give the name of each numeric attribute that may be missing, and P(present), P(missing) in each class."""
    tables = np.exp(np.stack([conditional.log_present, conditional.log_missing], axis=-1))
    for column, table in zip(conditional.columns.tolist(), tables):
        yield schema.numeric[column].name, table


def word_tables(conditional: BernoulliBlock) -> Floats:
    """Return P(absent), P(present) of each column in each class: shape (V, K, 2)."""
    with_word, alpha = conditional.totals.sums.T, conditional.alpha[:, None]
    without = np.maximum(conditional.totals.rows - with_word, 0.0)
    counts = np.stack([without + alpha, with_word + alpha], axis=-1)
    whole = counts.sum(axis=-1, keepdims=True)
    # A class without rows or prior says nothing.
    return np.where(whole > 0.0, counts / np.where(whole > 0.0, whole, 1.0), 0.5)
