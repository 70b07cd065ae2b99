"""Reads ``random_state`` parameters: an integer, a generator or None."""

from __future__ import annotations

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.typing import Seed


def generator_of(random_state: Seed) -> np.random.Generator:
    """Return the generator that is meant: a new one for a number or None, the given one to go on with.

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
    """Return a whole number to make generators from: the given one, or one that is drawn.

    >>> seed_of(7)
    7
    >>> seed_of(np.random.default_rng(1)) == seed_of(np.random.default_rng(1))
    True
    """
    rng = generator_of(random_state)
    return int(random_state) if isinstance(random_state, (int, np.integer)) else int(rng.integers(2**31))


def refused_random_state(random_state: object) -> SettingError:
    """Return the error that says what a ``random_state`` may be."""
    return SettingError(
        "random_state is {random_state!r}; give a whole number, 0 or more, a generator of NumPy, or None.",
        random_state=random_state,
    )
