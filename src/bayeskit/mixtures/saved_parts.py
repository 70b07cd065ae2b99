"""What the files of all mixtures hold alike: parameters, how the climb went, a choice of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any, TypeVar

from bayeskit.errors import ModelFormatError, UsageError
from bayeskit.io.labels import from_plain, to_plain
from bayeskit.io.saved import Saved
from bayeskit.mixtures.component_choice import Candidate, ComponentChoice

M = TypeVar("M")


def packed(mixture: Any, kind: Any, facts: Sequence[str]) -> dict[str, Any]:
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
    saved: Saved, kind: type[M], fields: Sequence[str], arrays: Sequence[str], facts: Sequence[str]
) -> M:
    """Return a mixture with the parameters, facts and choice of a file, to be given the rest; or say what it lacks."""
    content: Any = saved.content
    missing = [name for name in fields if name not in content] + [n for n in arrays if n not in saved.arrays]
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
        setattr(mixture, name, from_plain(content["facts"][name]))
    tried = from_plain(content["choice"])
    if tried is not None:
        mixture.choice_ = ComponentChoice(tuple(Candidate(*each) for each in tried[1]), tried[0])
    found: M = mixture
    return found
