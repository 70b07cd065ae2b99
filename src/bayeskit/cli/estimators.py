"""The models that ``fit`` knows by name, and how their parameters are given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bayeskit.cli.names import did_you_mean
from bayeskit.errors import SettingError

# Name → class, and what sets it apart from the class's defaults.
MODELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nb": ("NaiveBayes", {}),
    "spode": ("SPODE", {}),
    "tan": ("TAN", {}),
    "aode": ("AODE", {}),
    "a2de": ("AnDE", {"n": 2}),
    "kdb": ("KDB", {}),
    "skdb": ("SelectiveKDB", {}),
    "weighted": ("WeightedNB", {}),
    "auto": ("AutoBayes", {}),
    "net": ("BayesNetClassifier", {}),
}


def made(name: str, parameters: Mapping[str, Any]) -> Any:
    """Make a model that has learned nothing yet.

    Examples
    --------
    >>> made("kdb", {"k": 1})
    KDB(k=1)
    """
    if name not in MODELS:
        raise SettingError(f"There is no model {name!r}. {did_you_mean(name, MODELS)}")
    import bayeskit

    class_name, own = MODELS[name]
    cls = getattr(bayeskit, class_name)
    known = cls().get_params(deep=False)
    for key in parameters:
        if key not in known:
            raise SettingError(f"{class_name} has no parameter {key!r}. {did_you_mean(key, known)}")
    return cls(**{**own, **parameters})


def parameters_of(given: Sequence[str] | None, alpha: float | None) -> dict[str, Any]:
    """Read ``NAME=VALUE``: a value is JSON where it can be read so, else a word.

    Examples
    --------
    >>> parameters_of(["k=3", "numeric=gaussian"], None)
    {'k': 3, 'numeric': 'gaussian'}
    """
    found: dict[str, Any] = {} if alpha is None else {"alpha": alpha}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise SettingError(f"--param {text!r} is not NAME=VALUE, such as --param k=3.")
        if name in found:
            raise SettingError(f"The parameter {name!r} is given twice. Give it once.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
