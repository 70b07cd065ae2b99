"""The ``random_state`` parameter: an integer, a generator or None."""

from __future__ import annotations

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.typing import Seed


def generator_of(random_state: Seed) -> np.random.Generator:
    """Return a generator: a new one for an integer or None, or the given one.

    >>> rng = np.random.default_rng(1)
    >>> generator_of(rng) is rng
    True
    """
    if isinstance(random_state, np.random.RandomState):  # NumPy 1 has no way from it to a Generator
        return np.random.Generator(random_state._bit_generator)
    if isinstance(random_state, (bool, np.bool_)):
        raise refused_random_state(random_state)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise refused_random_state(random_state) from None


def seed_of(random_state: Seed) -> int:
    """Return an integer seed: the given one, or a random one.

    >>> seed_of(7)
    7
    >>> seed_of(np.random.default_rng(1)) == seed_of(np.random.default_rng(1))
    True
    """
    rng = generator_of(random_state)
    return int(random_state) if isinstance(random_state, (int, np.integer)) else int(rng.integers(2**31))


def refused_random_state(random_state: object) -> SettingError:
    """Return the error for an invalid ``random_state``."""
    return SettingError(
        "random_state is {random_state!r}; give a whole number, 0 or more, a generator of NumPy, or None.",
        random_state=random_state,
    )
