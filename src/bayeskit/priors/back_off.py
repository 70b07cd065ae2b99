"""Priors that lean on the estimate with a parent less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.priors.imaginary import Floats, check_number


@dataclass(frozen=True)
class BackOff:
    r"""Back off from a context that is seldom seen to the one with a parent less.

    .. math:: p_l = \frac{n_l + c_l\, p_{l-1}}{N_l + c_l}, \qquad p_{-1} = \frac{1}{r}

    At level l the context is the class and the first l parents, n_l the count of the state in it and N_l
    that of the context. A context never seen has the estimate of the level below.

    Parameters
    ----------
    constants : number or sequence of numbers, optional
        c of each level from 0 on, the last one for all deeper ones too. Without it they are chosen by the
        leave-one-out loss of the class given one family at a time, which is a function of the counts.

    Examples
    --------
    >>> BackOff([1, 4]).levels(2)
    array([1., 4., 4.])
    """

    constants: Any = None

    def __post_init__(self) -> None:
        if self.constants is None:
            return
        given = self.constants
        given = tuple(given) if isinstance(given, (Sequence, np.ndarray)) else (given,)
        if not given:
            raise SettingError("BackOff was given no constants; give one for each level, or none at all.")
        for value in given:
            check_number(value, "A constant of BackOff")
            if value == 0:
                raise SettingError(
                    "A constant of BackOff is 0; it must be above 0, or every unseen cell is 0."
                )
        object.__setattr__(self, "constants", tuple(float(value) for value in given))

    def levels(self, deepest: int) -> Floats:
        """Return the constants of levels 0 to ``deepest``, where they were given."""
        assert self.constants is not None
        given = self.constants
        return np.array([given[min(level, len(given) - 1)] for level in range(deepest + 1)])


@dataclass(frozen=True)
class WittenBell:
    """Back off with as much weight as there are different states in the context: c is their number.

    A context in which much is new is trusted less.

    >>> WittenBell()
    WittenBell()
    """


def backs_off(prior: Any) -> bool:
    """Tell whether a prior needs the level below, so that it has no cells of its own."""
    return isinstance(prior, (BackOff, WittenBell))
