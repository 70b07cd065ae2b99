"""What the files of all mixtures hold alike: parameters, how the climb went, a choice of components."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, fields
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from bayeskit.errors import ModelFormatError, UsageError
from bayeskit.io.plain_values import from_plain, to_plain
from bayeskit.io.saved import Saved
from bayeskit.io.trial import is_loss, is_number
from bayeskit.mixtures.component_choice import Candidate, ComponentChoice

M = TypeVar("M")

_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int, np.integer),
    "float": (float, np.floating),
    "bool": (bool, np.bool_),
    "str": (str,),
}
_FACTS: dict[str, Callable[[Any], bool]] = {
    "converged_": lambda value: isinstance(value, _KINDS["bool"]),
    "fell_": lambda value: isinstance(value, _KINDS["bool"]),
    "n_iter_": lambda value: type(value) is int and value >= 0,
    "lower_bound_": is_loss,
    "lower_bounds_": lambda value: type(value) is list and all(map(is_loss, value)),
    "rows_seen_": lambda value: is_number(value, 0.0) and value > 0.0,
}
_TRACKS = ("history_", "starts_")


def packed(mixture: BaseEstimator, kind: type[BaseEstimator], facts: Sequence[str]) -> dict[str, Any]:
    """Return the plain content of a mixture; a subclass is refused, since a file does not hold its code."""
    if type(mixture) is not kind:
        raise UsageError(
            f"A {type(mixture).__name__} of {type(mixture).__module__} cannot be saved, only a {kind.__name__} itself."
        )
    choice = mixture.__dict__.get("choice_")
    tried = None if choice is None else (choice.criterion, [astuple(c) for c in choice.candidates])
    return {
        "estimator": kind.__name__,
        "parameters": {key: to_plain(value, key) for key, value in mixture.get_params(deep=False).items()},
        "facts": {name: to_plain(getattr(mixture, name), name) for name in facts},
        "choice": to_plain(tried, "the choice"),
    }


def unpacked(
    saved: Saved, kind: type[M], needed: Sequence[str], arrays: Sequence[str], facts: Sequence[str]
) -> M:
    """Return a mixture with the parameters, facts and choice of a file, to be given the rest; or say what it lacks."""
    content: Any = saved.content
    missing = [name for name in needed if name not in content] + [n for n in arrays if n not in saved.arrays]
    missing += [name for name in facts if name not in content.get("facts", ())]
    if missing:
        raise ModelFormatError(f"it does not tell its {', '.join(missing)}. Save it again.")
    made: Any = kind
    unknown = [key for key in content["parameters"] if key not in made._get_param_names()]
    if unknown:
        raise ModelFormatError(
            f"it gives {kind.__name__} the parameters {unknown!r}, which this version does not have. "
            "Install a newer bayeskit."
        )
    mixture = made(**{key: from_plain(value) for key, value in content["parameters"].items()})
    mixture._checked()
    for name in facts:
        fact = from_plain(content["facts"][name])
        if not _FACTS[name](fact):
            raise ModelFormatError(f"its {name} is {fact!r}, which cannot be. Save it again.")
        setattr(mixture, name, fact)
    for name in _TRACKS:
        track = saved.arrays[name]
        if track.ndim != 1 or track.dtype != np.float64 or np.isnan(track).any():
            raise ModelFormatError(f"its array {name} holds no values of a climb. Save it again.")
    tried = from_plain(content["choice"])
    if tried is not None:
        mixture.choice_ = _choice(*tried)
    found: M = mixture
    return found


def _choice(criterion: str, candidates: Iterable[Iterable[Any]]) -> ComponentChoice:
    """Return the models that were tried; each must be told as one is, or they could not be compared."""
    found = ComponentChoice(tuple(Candidate(*each) for each in candidates), criterion)
    for one in found.candidates:
        if not all(isinstance(getattr(one, f.name), _KINDS[str(f.type)]) for f in fields(one)):
            raise ModelFormatError(f"it tells of a model that was tried as {one!r}. Save it again.")
    if criterion not in ("bic", "aic") or not found.candidates:
        raise ModelFormatError(
            f"its choice is by {criterion!r} among {len(found.candidates)}. Save it again."
        )
    return found
