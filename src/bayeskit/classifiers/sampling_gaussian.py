"""Numbers drawn from Gaussians that depend on the class and the state of a discrete attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.estimation.cell_gaussian import CellGaussian

Codes = NDArray[np.intp]


def draw_children(
    gaussian: CellGaussian, parents: NDArray[np.intp], classes: Codes, codes: Codes, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the M numeric attributes of n rows: shape (n, M).

    Parameters
    ----------
    gaussian : CellGaussian
    parents : int array of shape (M,) or (n, M)
        The discrete attribute that each depends on, −1 for the class alone.
    classes : int array of shape (n,)
    codes : int array of shape (n, d)

    An attribute that is constant has its one value.
    """
    n, m = len(classes), len(gaussian.used)
    parents = np.broadcast_to(parents, (n, m))
    last = len(gaussian.mean) - 1
    if codes.shape[1]:
        code = np.take_along_axis(codes, np.maximum(parents, 0), axis=1)
        known = (parents >= 0) & (code < gaussian.limits.astype(np.intp)[parents])
        places = np.where(known, gaussian.offsets.astype(np.intp)[parents] + code, last)
    else:
        places = np.full((n, m), last)
    at = places, classes[:, None], np.arange(m)[None, :]
    spread = np.where(gaussian.used, gaussian.deviation[at], 0.0)
    held = gaussian.mean[at] + (gaussian.mean_low[at] + spread * rng.standard_normal((n, m)))
    return np.asarray(np.ldexp(held, gaussian.exponent))
