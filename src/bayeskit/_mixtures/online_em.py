r"""Online EM: one step for each batch, with no row read twice.

.. math:: S \leftarrow (1 - \gamma)\, S + \gamma\, s, \qquad \gamma = (t + 2)^{-0.6}

with S the sums of the model and s the expected sums of the batch, both per row, and t the number of earlier
batches of this weight. The expectations of early batches used outdated parameters, so their weight decays.
The likelihood may decrease from one batch to the next.

References
----------
Cappé, Moulines (2009), On-line expectation-maximization algorithm for latent data models. Liang, Klein (2009), Online
EM for unsupervised models.
"""

from __future__ import annotations

import numpy as np

from bayeskit._fitting.mixtures.components import Components
from bayeskit._fitting.mixtures.gaussian_estimates import GaussianSums

# Any exponent above 1/2 and up to 1 converges; the smaller it is, the faster early batches fade.
EXPONENT = 0.6


def step_size(seen: float, batch: float) -> float:
    """Return the step size of a batch, from the weight of the rows before it and its own weight.

    >>> round(step_size(200.0, 100.0), 4)
    0.4353
    """
    return float((seen / batch + 2.0) ** -EXPONENT)


def sums_of(components: Components, total: float, reg_covar: float) -> GaussianSums:
    """Return the sums that would give these components as estimates, for a given number of rows."""
    weight = total * components.weights
    d = components.means.shape[1]
    if components.matrices:
        spread = components.full_covariances - reg_covar * np.eye(d)
        second = weight[:, None, None] * spread
    else:
        second = weight[:, None] * (components.variances - reg_covar)
    return GaussianSums(
        components.means.copy(), weight, weight.copy(), np.zeros_like(components.means), second
    )


def mix_in(model: GaussianSums, seen: float, batch: GaussianSums, weight: float) -> GaussianSums:
    """Return the sums of a model after a batch, as those of all rows so far."""
    share, total = step_size(seen, weight), seen + weight
    return model.scale((1.0 - share) * total / seen).merge(batch.scale(share * total / weight))
