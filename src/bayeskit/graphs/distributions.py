"""How a node depends on its parents: a table, a rule, independent causes, a regression. Values in codes.

Every axis order is *parents, then the child*. Discrete kinds know how to become a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def frozen(values: Any, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a copy that nobody can write to, in C order."""
    array = np.array(values, dtype=dtype, order="C")
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Table:
    """P(child | parents) cell by cell: one axis for each parent, the child's last."""

    values: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values))

    def table(self) -> Floats:
        return self.values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Deterministic:
    """The child is a function of its parents: the code of its state for each configuration of theirs."""

    outcome: NDArray[np.int64]
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome", frozen(self.outcome, np.int64))

    def table(self) -> Floats:
        values = np.zeros((*self.outcome.shape, self.size))
        np.put_along_axis(values, self.outcome[..., None], 1.0, axis=-1)
        return values

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Deterministic)
            and self.size == other.size
            and np.array_equal(self.outcome, other.outcome)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class NoisyMax:
    r"""Independent causes: the child is the *strongest* of what each parent alone would bring about, and a leak.

    .. math:: P(y \le k \mid x_1, \dots, x_m) = L(k) \prod_i F_i(k \mid x_i)

    Parameters
    ----------
    causes : one array of shape (states of the parent, states of the child) for each parent
        Row s: the distribution of what parent state s brings about, over the child's states as declared.
    leak : array of shape (states of the child,)
        What comes about with no cause at all; all mass on the state that means none is no leak.
    rising : bool
        The child's states stand in order of effect: the first means none and the last is the strongest. False: the
        first is the strongest and the last means none, and the formula holds of the states counted from the end.

    Noisy-OR is the case of two states.

    Examples
    --------
    >>> NoisyMax(([[1.0, 0.0], [0.25, 0.75]],), [0.5, 0.5]).table().tolist()
    [[0.5, 0.5], [0.125, 0.875]]
    >>> NoisyMax(([[0.0, 1.0], [0.75, 0.25]],), [0.5, 0.5], rising=False).table().tolist()
    [[0.5, 0.5], [0.875, 0.125]]
    """

    causes: tuple[Floats, ...]
    leak: Floats
    rising: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "causes", tuple(frozen(cause) for cause in self.causes))
        object.__setattr__(self, "leak", frozen(self.leak))

    def turned(self) -> NoisyMax:
        """Return the same causes for a child whose states are declared in the opposite order."""
        return NoisyMax(tuple(cause[:, ::-1] for cause in self.causes), self.leak[::-1], not self.rising)

    def table(self) -> Floats:
        if not self.rising:
            return self.turned().table()[..., ::-1]
        below = np.cumsum(self.leak)
        for cause in self.causes:
            # The axis of this parent comes before the child's, after those of the parents before it.
            below = below[..., None, :] * np.cumsum(cause, axis=1)
        values = np.diff(below, axis=-1, prepend=0.0)
        values = np.maximum(values, 0.0)  # differences of equal products may round below nothing
        return np.asarray(values / values.sum(axis=-1, keepdims=True))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NoisyMax)
            and self.rising == other.rising
            and len(self.causes) == len(other.causes)
            and np.array_equal(self.leak, other.leak)
            and all(np.array_equal(a, b) for a, b in zip(self.causes, other.causes))
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class LinearGaussian:
    r"""A numeric child: for each configuration d of its discrete parents, a regression on its numeric ones.

    .. math:: y \mid d, x \sim N(a_d + b_d^\top x, \; v_d)

    Parameters
    ----------
    intercept, variance : arrays with one axis for each *discrete* parent (none: arrays without axes)
    coefficients : array with those axes and one more, over the *numeric* parents in their order
    """

    intercept: Floats
    coefficients: Floats
    variance: Floats

    def __post_init__(self) -> None:
        for name in ("intercept", "coefficients", "variance"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearGaussian) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("intercept", "coefficients", "variance")
        )

    __hash__ = None  # type: ignore[assignment]


Discrete = Table | Deterministic | NoisyMax
Distribution = Table | Deterministic | NoisyMax | LinearGaussian


def uniform(sizes: Sequence[int]) -> Table:
    """Return the table that knows nothing; the child's size comes last."""
    return Table(np.full(tuple(sizes), 1.0 / sizes[-1]))
