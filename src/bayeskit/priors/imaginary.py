"""Priors that are imaginary rows: so much is added to each cell; and that of a normal's mean and variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.schema import Variable

Floats = NDArray[np.float64]

# Imaginary rows are added up over cells, and what they add up to must be a number.
LARGEST = 1e300


@runtime_checkable
class Prior(Protocol):
    """Imaginary counts for the states of a variable."""

    def cells(self, variable: Variable, n_parents: int) -> Floats:
        """Return the imaginary count of each state in one of the ``n_parents`` configurations."""
        ...


def check_number(value: float, what: str, least: float = 0.0) -> None:
    """Refuse what is no number of at least so much, or more than can be added up."""
    # Beside a number of 4 bytes NumPy would make one of the bounds, too.
    number = value.item() if isinstance(value, np.generic) else value
    if not (isinstance(value, (int, float, np.integer, np.floating)) and least <= number <= LARGEST):
        raise SettingError(f"{what} is {value!r}; it must be a finite number from {least:g} to {LARGEST:g}.")


def one_more_cell(prior: Prior, variable: Variable, n_parents: int) -> float:
    """Return the imaginary count of missing as a state, or of a state never seen: the mean of what the others have.

    Where there is no other, it is what a single state has.

    >>> one_more_cell(Lidstone(0.5), Variable("x", "categorical"), 1)
    0.5
    """
    cells = prior.cells(variable, n_parents)
    if not len(cells):
        cells = prior.cells(Variable(variable.name, "categorical", (variable.name,)), n_parents)
    return float(cells.mean())


@dataclass(frozen=True)
class Lidstone:
    """Add ``alpha`` to every cell: the mean of the posterior under a symmetric Dirichlet.

    >>> Lidstone(0.5).cells(Variable("x", "categorical", ("a", "b")), 1)
    array([0.5, 0.5])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.alpha, "alpha")

    def cells(self, variable: Variable, n_parents: int) -> Floats:
        return np.full(variable.size, float(self.alpha))


def Laplace() -> Lidstone:
    """Add one to every cell.

    >>> Laplace()
    Lidstone(alpha=1.0)
    """
    return Lidstone(1.0)


def MLE() -> Lidstone:
    """Add nothing: relative frequencies.

    >>> MLE()
    Lidstone(alpha=0.0)
    """
    return Lidstone(0.0)


@dataclass(frozen=True)
class Dirichlet:
    """Imaginary counts a: one for all cells, one for each attribute, or one for each cell.

    Its mean is (n + a)/(N + Σa). ``MAP(Dirichlet(a))`` gives the mode.

    Parameters
    ----------
    a : number, sequence over the states, or mapping attribute → number, sequence or {state: number}
        Attributes that a mapping does not name get one a cell.

    Examples
    --------
    >>> Dirichlet({"x": {"a": 3.0}}).cells(Variable("x", "categorical", ("a", "b")), 1)
    array([3., 1.])
    """

    a: Any = 1.0

    def cells(self, variable: Variable, n_parents: int) -> Floats:
        a = self.a.get(variable.name, 1.0) if isinstance(self.a, Mapping) else self.a
        if isinstance(a, Mapping):
            strange = next((state for state in a if state not in variable.codes), None)
            if strange is not None:
                raise SettingError(
                    f"The prior of {variable.name!r} names a state {strange!r} it does not have "
                    f"(it has {variable.listing()}). Declare it with states=."
                )
            a = [a.get(state, 1.0) for state in variable.states]
        if isinstance(a, (Sequence, np.ndarray)):
            if len(a) != variable.size:
                raise SettingError(
                    f"The prior of {variable.name!r} has {len(a)} numbers for {variable.size} states "
                    f"({variable.listing()}). Give one for each, or a mapping from state to number."
                )
            for value in a:
                check_number(value, f"The prior of {variable.name!r}")
            return np.asarray(a, dtype=np.float64)
        check_number(a, f"The prior of {variable.name!r}")
        return np.full(variable.size, float(a))


@dataclass(frozen=True)
class MEstimate:
    """Spread ``m`` imaginary rows evenly over the states: a = m/r.

    >>> MEstimate(1).cells(Variable("x", "categorical", ("a", "b")), 1)
    array([0.5, 0.5])
    """

    m: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.m, "m")

    def cells(self, variable: Variable, n_parents: int) -> Floats:
        return np.full(variable.size, self.m / max(variable.size, 1))


@dataclass(frozen=True)
class BDeu:
    """Spread ``ess`` imaginary rows evenly over all cells of the table: a = ess/(q·r).

    >>> BDeu(6).cells(Variable("x", "categorical", ("a", "b")), 3)
    array([1., 1.])
    """

    ess: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.ess, "ess")

    def cells(self, variable: Variable, n_parents: int) -> Floats:
        return np.full(variable.size, self.ess / (max(variable.size, 1) * max(n_parents, 1)))


@dataclass(frozen=True)
class MAP:
    """The mode of the posterior, (n + a − 1)/(N + Σ(a − 1)); it needs every a ≥ 1.

    Laplace's rule is the mean under a = 1 and the mode under a = 2.

    >>> MAP(Dirichlet(2)).cells(Variable("x", "categorical", ("a", "b")), 1)
    array([1., 1.])
    """

    prior: Any

    def __post_init__(self) -> None:
        if isinstance(self.prior, (int, float, np.integer, np.floating, Mapping)):
            object.__setattr__(self, "prior", Dirichlet(self.prior))
        if not isinstance(self.prior, Dirichlet):
            raise SettingError(f"MAP takes a Dirichlet prior, not {self.prior!r}: MAP(Dirichlet(2)).")

    def cells(self, variable: Variable, n_parents: int) -> Floats:
        a: Floats = self.prior.cells(variable, n_parents)
        if (a < 1).any():
            raise SettingError(
                f"The prior of {variable.name!r} has a = {a.min():g} < 1, where the posterior may have no mode. "
                "Use a ≥ 1, or the mean: smoothing=Dirichlet(...)."
            )
        return a - 1.0


@dataclass(frozen=True)
class NormalInverseGamma:
    """The prior of a normal's mean and variance; its predictive is Student's t.

    ``None`` takes the attribute's own pooled figures: mean μ₀ pooled, κ₀ = 1, α₀ = 1, β₀ half the variance.

    >>> NormalInverseGamma().kappa
    1.0
    """

    mean: float | None = None
    kappa: float = 1.0
    alpha: float = 1.0
    beta: float | None = None

    def __post_init__(self) -> None:
        for name in ("kappa", "alpha", "beta"):
            value = getattr(self, name)
            if value is not None:
                check_number(value, name)
                if value == 0:
                    raise SettingError(f"{name} is {value!r}; it must be a finite number above 0.")
        if self.mean is not None and not np.isfinite(self.mean):
            raise SettingError(f"mean is {self.mean!r}; it must be a finite number.")
