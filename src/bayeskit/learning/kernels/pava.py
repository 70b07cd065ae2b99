"""The loop of isotonic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel


@kernel
def pool_violators(share: Any, weight: Any, size: Any) -> None:
    """Replace ``share`` by the ascending sequence nearest to it in weighted squares; ``size`` is scratch.

    Adjacent runs are pooled to their mean while the later one is lower (Ayer et al. 1955).
    """
    runs = 0
    n = share.shape[0]
    for i in range(n):
        mean, mass, length = share[i], weight[i], 1
        while runs > 0 and share[runs - 1] >= mean:
            before = weight[runs - 1]
            mean = (share[runs - 1] * before + mean * mass) / (before + mass)
            mass += before
            runs -= 1
            length += size[runs]
        share[runs], weight[runs], size[runs] = mean, mass, length
        runs += 1
    # Runs stand at the front, so they are laid out from the back.
    stop = n
    for run in range(runs - 1, -1, -1):
        mean = share[run]
        for i in range(stop - size[run], stop):
            share[i] = mean
        stop -= size[run]


def isotonic(share: Any, weight: Any) -> Any:
    """Return the ascending sequence nearest to ``share``.

    >>> isotonic(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    pooled = np.array(share, dtype=np.float64)
    pool_violators(pooled, np.array(weight, dtype=np.float64), np.empty(len(pooled), dtype=np.int64))
    return pooled
