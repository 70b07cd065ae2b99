"""Draws of model parameters from their posteriors: Dirichlet for tables, normal-inverse-gamma for normals.

Every draw has its own key (seed, table, context), so the interval of a row does not depend on the other rows of a
call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from bayeskit._conditionals.density import SMALLEST_DEVIATION
from bayeskit._data.encoded import Chunk
from bayeskit.typing import Floats

# Used instead of −∞ where a logarithm may be multiplied by 0.
NEVER = -1e300


T = TypeVar("T", Floats, tuple[Floats, Floats])

# The maximum size of the cached draws, in bytes.
MOST_KEPT = 2**28


def keyed(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of one table.

    >>> bool(keyed(0, 1).random() == keyed(0, 1).random()), bool(keyed(0, 1).random() == keyed(0, 2).random())
    (True, False)
    """
    # The length comes first, because SeedSequence treats (1,) and (1, 0) as equal.
    return np.random.default_rng((seed, len(key), *key))


class Draws:
    """Draws by key, made on first use; they are cached as far as memory allows.

    >>> draws = Draws(seed=0, n=2)
    >>> draws.get((1, 2), lambda rng: rng.random(2)) is draws.get((1, 2), lambda rng: rng.random(2))
    True
    """

    def __init__(self, seed: int, n: int) -> None:
        self.seed, self.n = seed, n
        self._kept: dict[tuple[int, ...], Any] = {}
        self._bytes = 0

    def get(self, key: tuple[int, ...], make: Callable[[np.random.Generator], T]) -> T:
        """Return the cached draw of a key, or make it with the generator of the key."""
        if key in self._kept:
            kept: T = self._kept[key]
            return kept
        made = make(keyed(self.seed, *key))
        size = sum(part.nbytes for part in made) if isinstance(made, tuple) else made.nbytes
        if self._bytes + size <= MOST_KEPT:
            self._kept[key] = made
            self._bytes += size
        return made


def log_gamma_draws(rng: np.random.Generator, shape: Floats, draws: int) -> Floats:
    """Return logarithms of gamma draws: shape (*shape.shape[:-1], draws, K).

    Shapes below 1 use log G(a) = log G(a + 1) + log(U)/a: drawn directly, a gamma with a small shape underflows to 0
    most of the time, and the ratio of two draws would be lost.

    >>> log_gamma_draws(keyed(0), np.array([[1e-4, 0.0]]), 3).shape
    (1, 3, 2)
    """
    return _log_gamma(rng, np.broadcast_to(shape[..., None, :], (*shape.shape[:-1], draws, shape.shape[-1])))


def _log_gamma(rng: np.random.Generator, shape: Floats) -> Floats:
    # Shapes are computed by exp, whose last bit depends on the machine. 1 + 2⁻⁵² would be drawn by another method than
    # 1, and all later numbers would differ between releases of NumPy. So round the shapes.
    fraction, exponent = np.frexp(shape)
    shape = np.ldexp(np.round(np.ldexp(fraction, 40)), exponent - 40)
    small = shape < 1.0
    with np.errstate(divide="ignore", over="ignore"):  # −∞ means smaller than any number
        logs: Floats = np.log(rng.standard_gamma(shape + small))
        if small.any():
            logs = np.where(small, logs - rng.standard_exponential(shape.shape) / shape, logs)
    return logs


def log_dirichlet(rng: np.random.Generator, counts: Floats, draws: int) -> Floats:
    """Return logarithms of draws from a Dirichlet in each class.

    Parameters
    ----------
    counts : array of shape (R, K)
        Real and imaginary counts together. A state without counts has probability 0. Without any counts, all states
        are equally probable.

    Returns
    -------
    array of shape (R, draws, K)

    Examples
    --------
    >>> drawn = np.exp(log_dirichlet(keyed(0), np.array([[30.0], [10.0]]), 4_000))
    >>> drawn.sum(axis=0).round(12).min().item(), drawn[0].mean().round(2).item(), drawn[0].std().round(3).item()
    (1.0, 0.75, 0.068)
    """
    counts = np.where((counts > 0).any(axis=0), counts, 1.0)
    return log_normalised(log_gamma_draws(rng, np.maximum(counts, 0.0), draws))


def log_dirichlet_about(rng: np.random.Generator, counts: Floats, weight: Floats, centre: Floats) -> Floats:
    """Return logarithms of draws from Dirichlets whose imaginary counts were drawn themselves, for back-off.

    Parameters
    ----------
    counts : array of shape (R, K)
        The real counts.
    weight : array of shape (K,)
        The number of imaginary rows. Without any rows, a draw is that of ``centre``.
    centre : array of shape (R, draws, K)
        The logarithms of the shares of the imaginary rows.

    Examples
    --------
    >>> centre = np.log(np.full((2, 4_000, 1), 0.5))
    >>> drawn = np.exp(log_dirichlet_about(keyed(0), np.array([[20.0], [0.0]]), np.array([20.0]), centre))
    >>> drawn[0].mean().round(2).item()
    0.75
    """
    logs = _log_gamma(rng, counts[:, None, :] + weight * np.exp(centre))
    empty = (counts.sum(axis=0) + weight) <= 0
    with np.errstate(invalid="ignore"):
        drawn = log_normalised(logs)
    return np.where(empty, centre, drawn)


def log_normalised(logs: Floats) -> Floats:
    """Normalise logarithms of probabilities along the first axis.

    >>> log_normalised(np.log([1.0, 3.0])).round(3)
    array([-1.386, -0.288])
    """
    best = logs.max(axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(logs - (best + np.log(np.exp(logs - best).sum(axis=0))))


def normal_draws(
    rng: np.random.Generator, deviation: Floats, freedom: Floats, rows: Floats, draws: int
) -> tuple[Floats, Floats]:
    r"""Draw the error of the mean, and the deviation: two arrays of shape (draws, K).

    .. math:: \sigma^2 = \nu s^2/\chi^2_\nu, \qquad \mu - m \sim N(0, \sigma^2/\kappa)

    Parameters
    ----------
    deviation, freedom, rows : arrays of shape (K,)
        s, ν and κ.

    Examples
    --------
    >>> away, sigma = normal_draws(keyed(0), np.ones(1), np.full(1, 100.0), np.full(1, 100.0), 4_000)
    >>> away.std().round(2).item(), sigma.mean().round(2).item()
    (0.1, 1.01)
    """
    size = (draws, len(deviation))
    # χ² is twice a gamma with half the degrees of freedom. Use logarithms, because with few degrees it may underflow.
    log_half = log_gamma_draws(rng, 0.5 * freedom, draws)
    sigma = deviation * np.exp(0.5 * (np.log(0.5 * freedom) - log_half))
    return sigma / np.sqrt(rows) * rng.standard_normal(size), sigma


@dataclass(frozen=True, eq=False)
class Normals:
    """The posterior of the normals of one attribute in K classes.

    Attributes
    ----------
    mean, mean_low, deviation : arrays of shape (K,)
    freedom, rows : arrays of shape (K,)
        ν of the variance and κ of the mean.
    least : float
        Added to every variance that is drawn.
    """

    mean: Floats
    mean_low: Floats
    deviation: Floats
    freedom: Floats
    rows: Floats
    least: float = 0.0

    def add(self, x: Floats, draws: Draws, key: tuple[int, ...], out: Floats) -> None:
        """Add the log-density of values to ``out`` of shape (n, draws, K); NaN adds nothing."""

        def make(rng: np.random.Generator) -> tuple[Floats, Floats]:
            away, sigma = normal_draws(rng, self.deviation, self.freedom, self.rows, draws.n)
            return away, np.maximum(np.sqrt(sigma * sigma + self.least), SMALLEST_DEVIATION)

        away, sigma = draws.get(key, make)
        apart = (x[:, None] - self.mean) - self.mean_low
        z = apart[:, None, :] - away
        z *= np.sqrt(0.5) / sigma
        z *= z
        z += np.log(sigma)
        gaps = np.isnan(x)
        if gaps.any():
            z[gaps] = 0.0
        out -= z


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    """The posterior of the normals of some columns."""

    of: Mapping[int, Normals]

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        for column, normals in self.of.items():
            normals.add(chunk.values[:, column], draws, (2, column), out)


# The number of cells of words to draw at a time: all draws of a large vocabulary would not fit into memory.
_WORDS_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class WordPosterior:
    """The posterior of the words of each class: their shares, or whether they occur.

    Attributes
    ----------
    shape : (V, K)
    drawn : callable
        A function from a generator and a number of draws to the terms of each word in log P(x | c), of shape
        (V, draws, K), and the constant term of every text, of shape (draws, K).
    words : callable
        A function from a block to the factors of these terms: counts of words, or zeros and ones.
    """

    shape: tuple[int, int]
    drawn: Callable[[np.random.Generator, int], tuple[Floats, Floats]]
    words: Callable[[Any], Any]

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        n, (v, k), rng = len(out), self.shape, keyed(draws.seed, 6)
        step = max(1, _WORDS_AT_ONCE // max(v * k, 1))
        words = self.words(chunk.block)
        for start in range(0, draws.n, step):
            some = min(step, draws.n - start)
            table, constant = self.drawn(rng, some)
            table = np.clip(table, NEVER, -NEVER).reshape(v, some * k)
            out[:, start : start + some] += (words @ table).reshape(n, some, k) + constant
