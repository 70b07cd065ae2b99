"""Small checks at the door of a classifier: announced classes, label types, impossible rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bayeskit.errors import SettingError, SuspectResult, UnseenClass
from bayeskit.learning.fitted import Fitted
from bayeskit.schema import Name, Variable, label_order


def warn_of_impossible(count: int) -> None:
    """Say that some rows had no possible class and got the prior."""
    if count:
        warnings.warn(
            f"{count} row{'s are' if count > 1 else ' is'} impossible under every class (a probability of zero in "
            "each); the class prior was given. Smoothing (alpha above 0) avoids this.",
            SuspectResult,
            stacklevel=3,
        )


def announced(classes: Any, name: Name) -> Variable:
    """Return the target variable of the classes announced to ``partial_fit``."""
    if classes is None:
        return Variable(name, "categorical")
    labels = np.asarray(classes) if not isinstance(classes, (list, tuple)) else classes
    plain = [c.item() if isinstance(c, np.generic) else c for c in labels]
    unique = sorted(set(plain), key=label_order)
    if not unique:
        raise SettingError("classes= is empty. List the classes, or leave it out.")
    return Variable(name, "categorical", tuple(unique), n_declared=len(unique), closed=True)


def check_announced(classes: Any, fitted: Fitted) -> None:
    if classes is None or (
        isinstance(classes, np.ndarray) and tuple(classes.tolist()) == fitted.schema.target.states
    ):
        return
    now = announced(classes, fitted.schema.target.name)
    strange = [label for label in now.states if label not in fitted.schema.target.codes]
    if strange or (fitted.schema.target.closed and now.size != fitted.schema.target.size):
        raise UnseenClass(
            f"classes={list(now.states)!r} is not the same as on last call to partial_fit, was: "
            f"{list(fitted.schema.target.states)!r}."
        )


def same(a: Any, b: Any) -> bool:
    """Compare two parameter values, arrays included."""
    if a is b:
        return True
    try:
        return (
            bool(np.array_equal(a, b))
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
            else bool(a == b)
        )
    except (TypeError, ValueError):
        return False


def plain_dtype(y: Any) -> np.dtype[Any] | None:
    """The dtype that a plain list of labels would have."""
    return np.asarray(y).dtype if isinstance(y, (list, tuple)) and y else None


def dtype_of_target(X: Any, target: Name | None) -> Any:
    """The target column as an array, for its dtype; None where the source cannot be asked."""
    if target is None or isinstance(X, str) or not hasattr(X, "__getitem__"):
        return None
    try:
        return np.asarray(X[target])
    except Exception:  # a source that cannot be asked for a column: labels keep their own type
        return None
