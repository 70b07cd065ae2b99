"""Which prior each variable gets, as a user may say it: a prior, a name, a number, or a mapping of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.priors.back_off import BackOff, WittenBell, backs_off
from bayeskit.priors.imaginary import (
    MAP,
    MLE,
    BDeu,
    Dirichlet,
    Laplace,
    Lidstone,
    MEstimate,
    NormalInverseGamma,
    Prior,
)
from bayeskit.schema import Name, Schema, Variable

_BY_NAME: dict[str, Any] = {
    "mle": MLE,
    "laplace": Laplace,
    "m-estimate": MEstimate,
    "bdeu": BDeu,
    "student": NormalInverseGamma,
    "back-off": BackOff,
    "witten-bell": WittenBell,
}


def as_prior(spec: Any) -> Any:
    """Turn a prior, a name or a number into a prior.

    >>> as_prior("laplace"), as_prior(0.5)
    (Lidstone(alpha=1.0), Lidstone(alpha=0.5))
    """
    if isinstance(spec, str):
        if spec not in _BY_NAME:
            raise SettingError(
                f"There is no prior named {spec!r}. Choose from {', '.join(sorted(_BY_NAME))}."
            )
        return _BY_NAME[spec]()
    if isinstance(spec, (int, float, np.integer, np.floating)) and not isinstance(spec, bool):
        return Lidstone(float(spec))
    if isinstance(spec, (NormalInverseGamma, BackOff, WittenBell, Prior)):
        return spec
    raise SettingError(
        f"{spec!r} is not a prior. Use one of bayeskit.priors, a name, or a number for Lidstone."
    )


@dataclass(frozen=True)
class Smoothing:
    """Which prior each variable gets: one for all, or by attribute name or kind."""

    default: Any
    by_name: Mapping[Name, Any]
    numeric: NormalInverseGamma | None = None

    def of(self, variable: Variable) -> Any:
        return self.by_name.get(variable.name, self.default)

    def numeric_prior(self, name: Name) -> NormalInverseGamma | None:
        """The prior of a numeric attribute, None where its family needs none."""
        prior = self.by_name.get(name, self.numeric)
        return prior if isinstance(prior, NormalInverseGamma) else None

    def check(self, schema: Schema) -> None:
        """Refuse names that are no variable, and priors of the wrong kind for theirs."""
        prior = self.default.prior if isinstance(self.default, MAP) else self.default
        names = [
            *self.by_name,
            *(prior.a if isinstance(prior, Dirichlet) and isinstance(prior.a, Mapping) else ()),
        ]
        for name in names:
            if name not in schema.position and name != schema.target.name:
                known = ", ".join(repr(v.name) for v in (*schema.attributes[:10], schema.target))
                raise SettingError(
                    f"smoothing names {name!r}, which is no attribute. There are {known}, and the kinds "
                    "'categorical' and 'numeric'."
                )
        for name, given in self.by_name.items():
            kind = schema[name].kind
            if (kind == "numeric") != isinstance(given, NormalInverseGamma):
                wanted = (
                    "NormalInverseGamma(...)"
                    if kind == "numeric"
                    else "a prior for tables, such as Lidstone(...)"
                )
                raise SettingError(f"{name!r} is {kind}, so its prior is {wanted}, not {given!r}.")


def as_smoothing(smoothing: Any, alpha: float | None, base: Any = None) -> Smoothing:
    """Read the ``smoothing`` and ``alpha`` parameters of a classifier.

    A mapping goes from attribute names or kinds ("categorical", "numeric") to priors. A numeric prior
    leaves tables alone. ``base`` is the prior of a model whose attributes have parents; without it there is
    nothing to back off to.
    """
    found = _as_smoothing(smoothing, base or Lidstone(1.0) if alpha is None else Lidstone(alpha))
    if base is None and any(backs_off(prior) for prior in (found.default, *found.by_name.values())):
        raise SettingError(
            "BackOff and WittenBell back off from an attribute's parents, and here it has none but the class. "
            "Use them with TAN, KDB, SPODE or AODE, or take MEstimate(...)."
        )
    return found


def _as_smoothing(smoothing: Any, base: Any) -> Smoothing:
    if smoothing is None:
        return Smoothing(base, {})
    if isinstance(smoothing, Mapping):
        priors = {key: as_prior(value) for key, value in smoothing.items()}
        numeric = priors.pop("numeric", None)
        default = priors.pop("categorical", base)
        if isinstance(default, NormalInverseGamma):
            raise SettingError(
                f"{default!r} is a prior of numeric attributes; tables need one such as Lidstone(...)."
            )
        if numeric is not None and not isinstance(numeric, NormalInverseGamma):
            raise SettingError(
                f"The prior of numeric attributes is NormalInverseGamma(...), not {numeric!r}."
            )
        return Smoothing(default, priors, numeric)
    prior = as_prior(smoothing)
    if isinstance(prior, NormalInverseGamma):
        return Smoothing(base, {}, prior)
    return Smoothing(prior, {})
