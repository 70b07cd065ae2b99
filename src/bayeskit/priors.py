"""Priors as imaginary counts, which are added to the observed counts before normalising.

.. math:: \\hat P(x = v \\mid c) = \\frac{n_{c,v} + a_v}{N_c + \\sum_u a_u}

Maximum likelihood adds 0 to every cell, Laplace 1, BDeu ess/(q·r). Models keep the raw counts, so a prior can
be changed after counting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayeskit._messages import Joined, Message
from bayeskit._schema import Name, Schema, Variable
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

__all__ = [
    "MAP",
    "MLE",
    "PRIORS",
    "BDeu",
    "BackOff",
    "Dirichlet",
    "Laplace",
    "Lidstone",
    "MEstimate",
    "NormalInverseGamma",
    "Prior",
    "Smoothing",
    "WittenBell",
    "as_prior",
    "as_smoothing",
    "backs_off",
    "joint_cells",
    "one_more_cell",
]


# The largest imaginary count, so that sums over cells stay finite.
LARGEST = 1e300


@runtime_checkable
class Prior(Protocol):
    """Imaginary counts for the states of a variable."""

    def cells(self, variable: Variable, n_parents: int) -> Floats:
        """Return the imaginary count of each state, for one of the ``n_parents`` parent configurations."""
        ...


def check_number(value: Any, what: str, least: float = 0.0) -> None:
    """Raise an error if a value is not a number, too small, or too large to be summed."""
    # NumPy would convert the bounds to the type of a float32 value.
    number = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (is_number and least <= number <= LARGEST):
        raise SettingError(
            "{what} is {value!r}; it must be a finite number from {least:g} to {largest:g}.",
            what=what,
            value=value,
            least=least,
            largest=LARGEST,
        )


def one_more_cell(prior: Prior, variable: Variable, n_parents: int) -> float:
    """Return the imaginary count of "missing" or of an unseen state: the mean of the other states' counts.

    If there is no other state, it is the count of a single state.

    >>> one_more_cell(Lidstone(0.5), Variable("x", "categorical"), 1)
    0.5
    """
    cells = prior.cells(variable, n_parents)
    if not len(cells):
        cells = prior.cells(Variable(variable.name, "categorical", (variable.name,)), n_parents)
    return float(cells.mean())


@dataclass(frozen=True)
class Lidstone:
    """Add ``alpha`` to every cell: the posterior mean under a symmetric Dirichlet prior.

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
    """Add nothing: maximum likelihood, that is, relative frequencies.

    >>> MLE()
    Lidstone(alpha=0.0)
    """
    return Lidstone(0.0)


@dataclass(frozen=True)
class Dirichlet:
    """A Dirichlet prior with imaginary counts a: one for all cells, one per attribute, or one per cell.

    The posterior mean is (n + a)/(N + Σa). ``MAP(Dirichlet(a))`` gives the mode.

    Parameters
    ----------
    a : number, sequence over the states, or mapping attribute → number, sequence or {state: number}
        Attributes that a mapping does not name get 1 per cell.

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
                    "The prior of {name!r} contains the state {strange!r}, which it does not have (it has "
                    "{states}). Declare it with states=.",
                    name=variable.name,
                    strange=strange,
                    states=variable.listing(),
                )
            a = [a.get(state, 1.0) for state in variable.states]
        if isinstance(a, (Sequence, np.ndarray)):
            if len(a) != variable.size:
                raise SettingError(
                    "The prior of {name!r} has {n} numbers for {size} states "
                    "({states}). Give one for each, or a mapping from state to number.",
                    name=variable.name,
                    n=len(a),
                    size=variable.size,
                    states=variable.listing(),
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
    """The posterior mode, (n + a − 1)/(N + Σ(a − 1)). Every a must be at least 1.

    Laplace's rule is the mean under a = 1 and the mode under a = 2.

    >>> MAP(Dirichlet(2)).cells(Variable("x", "categorical", ("a", "b")), 1)
    array([1., 1.])
    """

    prior: Any

    def __post_init__(self) -> None:
        if isinstance(self.prior, (int, float, np.integer, np.floating, Mapping)):
            object.__setattr__(self, "prior", Dirichlet(self.prior))
        if not isinstance(self.prior, Dirichlet):
            raise SettingError(
                "MAP needs a Dirichlet prior, not {prior!r}: MAP(Dirichlet(2)).", prior=self.prior
            )

    def cells(self, variable: Variable, n_parents: int) -> Floats:
        a: Floats = self.prior.cells(variable, n_parents)
        if (a < 1).any():
            raise SettingError(
                "The prior of {name!r} has a = {a:g} < 1, where the posterior may have no mode. "
                "Use a ≥ 1, or the mean: smoothing=Dirichlet(...).",
                name=variable.name,
                a=a.min(),
            )
        return a - 1.0


@dataclass(frozen=True)
class NormalInverseGamma:
    """The conjugate prior of a normal's mean and variance. The predictive distribution is Student's t.

    ``None`` uses the pooled values of the attribute: μ₀ is the pooled mean, κ₀ = 1, α₀ = 1, and β₀ is half
    the pooled variance.

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
                    raise SettingError(
                        "{name} is {value!r}; it must be a finite number above 0.", name=name, value=value
                    )
        if self.mean is not None and not np.isfinite(self.mean):
            raise SettingError("mean is {mean!r}; it must be a finite number.", mean=self.mean)


@dataclass(frozen=True)
class BackOff:
    r"""Back off from a rare context to the context with one parent fewer.

    .. math:: p_l = \frac{n_l + c_l\, p_{l-1}}{N_l + c_l}, \qquad p_{-1} = \frac{1}{r}

    At level l the context is the class and the first l parents. n_l is the count of the state in this context
    and N_l the count of the context. An unseen context has the estimate of the level below.

    Parameters
    ----------
    constants : number or sequence of numbers, optional
        c of each level, starting at 0. The last one also applies to all deeper levels. By default, they are
        chosen by the leave-one-out loss of the class given one family at a time, which is a function of the
        counts; that of level 0 is at most 16.

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
            raise SettingError(
                "BackOff has an empty list of constants; give one for each level, or none at all."
            )
        for value in given:
            check_number(value, "A constant of BackOff")
            if value == 0:
                raise SettingError(
                    "A constant of BackOff is 0; it must be above 0, because otherwise every unseen cell is 0."
                )
        object.__setattr__(self, "constants", tuple(float(value) for value in given))

    def levels(self, deepest: int) -> Floats:
        """Return the constants of levels 0 to ``deepest``, if they were given."""
        assert self.constants is not None
        given = self.constants
        return np.array([given[min(level, len(given) - 1)] for level in range(deepest + 1)])


@dataclass(frozen=True)
class WittenBell:
    """Back off with c equal to the number of different states in the context (Witten–Bell).

    A context with many different states gets less weight.

    >>> WittenBell()
    WittenBell()
    """


# Types of priors: for tables, for anything, as users write them (by name or number), and for all attributes.
TablePrior = Prior | BackOff | WittenBell
AnyPrior = TablePrior | NormalInverseGamma
PriorLike = AnyPrior | str | float
SmoothingLike = PriorLike | Mapping[Any, PriorLike] | None


def backs_off(prior: object) -> bool:
    """Return whether a prior backs off to the level below, so that it has no cells of its own."""
    return isinstance(prior, (BackOff, WittenBell))


# All priors by name, for saved models.
PRIORS = (Lidstone, Dirichlet, MEstimate, BDeu, MAP, NormalInverseGamma, BackOff, WittenBell)


def joint_cells(prior: TablePrior, variables: Sequence[Variable], n_classes: int) -> Floats:
    """Return the imaginary count of each cell of P(c, x_i, x_j, …), the same for every class.

    >>> joint_cells(MEstimate(1), [Variable("x", "categorical", ("a", "b"))], 5)
    array([0.1, 0.1])
    """
    shape = tuple(v.size for v in variables)
    if isinstance(prior, (MEstimate, BDeu)):
        rows = prior.m if isinstance(prior, MEstimate) else prior.ess
        return np.full(shape, rows / max(n_classes * int(np.prod(shape)), 1))
    if isinstance(prior, (BackOff, WittenBell)):
        return joint_cells(MEstimate(1.0), variables, n_classes)
    if isinstance(prior, Lidstone):
        return np.full(shape, float(prior.alpha))
    cells = np.ones(())
    for variable in variables:
        cells = np.multiply.outer(cells, prior.cells(variable, n_classes))
    return np.asarray(cells)


_BY_NAME: dict[str, Any] = {
    "mle": MLE,
    "laplace": Laplace,
    "m-estimate": MEstimate,
    "bdeu": BDeu,
    "student": NormalInverseGamma,
    "back-off": BackOff,
    "witten-bell": WittenBell,
}


def as_prior(spec: object) -> Any:
    """Convert a prior, a name or a number into a prior.

    >>> as_prior("laplace"), as_prior(0.5)
    (Lidstone(alpha=1.0), Lidstone(alpha=0.5))
    """
    if isinstance(spec, str):
        if spec not in _BY_NAME:
            raise SettingError(
                "There is no prior named {spec!r}. Choose from {names}.",
                spec=spec,
                names=Joined(sorted(_BY_NAME)),
            )
        return _BY_NAME[spec]()
    if isinstance(spec, (int, float, np.integer, np.floating)) and not isinstance(spec, bool):
        check_number(spec, "smoothing")
        return Lidstone(float(spec))
    if isinstance(spec, (NormalInverseGamma, BackOff, WittenBell, Prior)):
        return spec
    raise SettingError(
        "{spec!r} is not a prior. Use one of bayeskit.priors, a name, or a number for Lidstone.", spec=spec
    )


@dataclass(frozen=True)
class Smoothing:
    """The prior of each variable: one for all, or by attribute name or kind."""

    default: Any
    by_name: Mapping[Name, Any]
    numeric: NormalInverseGamma | None = None

    def of(self, variable: Variable) -> Any:
        return self.by_name.get(variable.name, self.default)

    def numeric_prior(self, name: Name) -> NormalInverseGamma | None:
        """The prior of a numeric attribute; None if its family needs none."""
        prior = self.by_name.get(name, self.numeric)
        return prior if isinstance(prior, NormalInverseGamma) else None

    def with_numeric_prior(self, schema: Schema) -> list[Name]:
        """The numeric attributes that have a numeric prior."""
        if not isinstance(self.numeric, NormalInverseGamma) and not self.by_name:
            return []
        return [v.name for v in schema.numeric if self.numeric_prior(v.name) is not None]

    def check(self, schema: Schema) -> None:
        """Raise an error for names that are not variables, and for priors of the wrong kind."""
        prior = self.default.prior if isinstance(self.default, MAP) else self.default
        names = [
            *self.by_name,
            *(prior.a if isinstance(prior, Dirichlet) and isinstance(prior.a, Mapping) else ()),
        ]
        for name in names:
            if name not in schema.position and name != schema.target.name:
                known = Joined(repr(v.name) for v in (*schema.attributes[:10], schema.target))
                raise SettingError(
                    "smoothing names {name!r}, which is not an attribute. There are {known}, and the kinds "
                    "'categorical' and 'numeric'.",
                    name=name,
                    known=known,
                )
        for name, given in self.by_name.items():
            kind = schema[name].kind
            if (kind == "numeric") != isinstance(given, NormalInverseGamma):
                wanted = (
                    Message("NormalInverseGamma(...)")
                    if kind == "numeric"
                    else Message("a prior for tables, such as Lidstone(...)")
                )
                raise SettingError(
                    "{name!r} is {kind}, so its prior is {wanted}, not {given!r}.",
                    name=name,
                    kind=kind,
                    wanted=wanted,
                    given=given,
                )


def as_smoothing(smoothing: SmoothingLike, base: AnyPrior | None = None) -> Smoothing:
    """Read the ``smoothing`` parameter of a classifier.

    A mapping maps attribute names or kinds ("categorical", "numeric") to priors. A numeric prior does not
    affect tables. ``base`` is the prior of a model whose attributes have parents; without it, back-off is not
    available.
    """
    found = _as_smoothing(smoothing, base or Lidstone(1.0))
    if base is None and any(backs_off(prior) for prior in (found.default, *found.by_name.values())):
        raise SettingError(
            "BackOff and WittenBell back off from an attribute's parents, and here it has none but the class. "
            "Use them with TAN, KDB, SPODE or AODE, or take MEstimate(...)."
        )
    return found


def _as_smoothing(smoothing: SmoothingLike, base: AnyPrior | None) -> Smoothing:
    if smoothing is None:
        return Smoothing(base, {})
    if isinstance(smoothing, Mapping):
        priors = {key: as_prior(value) for key, value in smoothing.items()}
        numeric = priors.pop("numeric", None)
        default = priors.pop("categorical", base)
        if isinstance(default, NormalInverseGamma):
            raise SettingError(
                "{default!r} is a prior of numeric attributes; tables need one such as Lidstone(...).",
                default=default,
            )
        if numeric is not None and not isinstance(numeric, NormalInverseGamma):
            raise SettingError(
                "The prior of numeric attributes is NormalInverseGamma(...), not {numeric!r}.",
                numeric=numeric,
            )
        return Smoothing(default, priors, numeric)
    prior = as_prior(smoothing)
    if isinstance(prior, NormalInverseGamma):
        return Smoothing(base, {}, prior)
    return Smoothing(prior, {})
