"""How much chains of dependent draws are worth, and whether they agree."""

from __future__ import annotations

import math

import numpy as np

from bayeskit.inference.potentials import Floats


def _halves(draws: Floats) -> Floats:
    """Cut every chain in two: a chain that wanders off disagrees with itself."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def split_r_hat(draws: Floats) -> float:
    r"""Return the split R-hat of draws (chains × draws of one number).

    .. math:: \hat R = \sqrt{\frac{(n-1)/n \cdot W + B/n}{W}}

    with W the mean variance within the half-chains of length n and B/n the variance of their means (Gelman
    and others, *Bayesian Data Analysis*). Draws that never change give 1, half-chains stuck at different
    numbers infinity.

    Examples
    --------
    >>> split_r_hat(np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]])).__round__(4)
    0.7071
    """
    parts = _halves(draws)
    if parts.shape[1] < 2:
        return math.nan
    n = parts.shape[1]
    within = float(parts.var(axis=1, ddof=1).mean())
    between = float(parts.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else math.inf
    return math.sqrt(((n - 1) / n * within + between) / within)


def effective_sample_size(draws: Floats) -> float:
    r"""Return how many independent draws have the same error of the mean as these (chains × draws).

    .. math:: N / \Big(1 + 2 \sum_t \hat\rho_t\Big)

    The autocorrelations of all half-chains are pooled with the variance between them, and summed in pairs
    while these are positive, each no larger than the one before (Geyer's initial monotone sequence; Vehtari
    and others, 2021).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> 3500 < effective_sample_size(rng.normal(size=(4, 1000))) < 4500
    True
    """
    parts = _halves(draws)
    m, n = parts.shape
    if n < 4 or np.ptp(parts) == 0:
        return float(m * n)
    covariance = _autocovariance(parts)
    within = float((covariance[:, 0] * n / (n - 1)).mean())
    pooled = within * (n - 1) / n + float(parts.mean(axis=1).var(ddof=1))
    rho = 1 - (within - covariance.mean(axis=0) * n / (n - 1)) / pooled
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    ended = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: ended[0] if len(ended) else len(pairs)])
    time = max(-1 + 2 * float(pairs.sum()), 1 / math.log10(m * n))
    return float(m * n / time)


def _autocovariance(parts: Floats) -> Floats:
    """Return the autocovariance of each row at every lag, by Fourier transform."""
    n = parts.shape[1]
    centred = parts - parts.mean(axis=1, keepdims=True)
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, length)
    return np.asarray(np.fft.irfft(spectrum * spectrum.conj(), length)[:, :n] / n)
