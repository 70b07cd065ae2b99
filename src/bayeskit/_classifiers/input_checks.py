"""Checks of a classifier's input: labels, declared classes, kinds of rows, models to merge."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.columns import objects
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._io.trial import check_held
from bayeskit._messages import Joined, listed
from bayeskit._schema import Name, Schema, Variable, label_order
from bayeskit.errors import (
    DataError,
    DataTypeError,
    Incompatible,
    ModelFormatError,
    SettingError,
    SuspectResult,
    UnseenClass,
    UsageError,
)
from bayeskit.typing import LabelsLike

if TYPE_CHECKING:
    from sklearn.exceptions import NotFittedError

    from bayeskit._classifiers.count_classifier import CountClassifier


def warn_of_impossible(count: int, stacklevel: int = 3) -> None:
    """Warn that no class is possible for some rows, for which the prior is returned.

    ``stacklevel`` counts the calls up to the line of the user: 3 for a method that calls this function.
    """
    if count:
        warnings.warn(
            SuspectResult(
                "{count} row{_are} impossible under every class (a probability of zero in "
                "each); the class prior was given. Tables that are smoothed (smoothing or alpha above 0) avoid this.",
                count=count,
                _are="s are" if count > 1 else " is",
            ),
            stacklevel=stacklevel,
        )


def taken_over(setting: str, choices: Mapping[str, Any], schema: Schema, held: str) -> dict[str, Any]:
    """Return choices that a setting takes over from another model, if they can have been made for these columns.

    ``held`` is what the user should give: where another model has such choices.
    """
    found = dict(choices)
    try:
        check_held(found, schema)
    except ModelFormatError:
        raise SettingError(
            "{setting} is not what a model with the columns {known} holds. Give {held} of one that was fitted to them.",
            setting=setting,
            known=Joined(repr(v.name) for v in schema.attributes[:12]),
            held=held,
        ) from None
    return found


def announced(classes: LabelsLike | None, name: Name) -> Variable:
    """Return the target variable of the classes passed to ``partial_fit``."""
    if classes is None:
        return Variable(name, "categorical")
    labels = np.asarray(classes) if not isinstance(classes, (list, tuple)) else classes
    plain = [c.item() if isinstance(c, np.generic) else c for c in labels]
    unique = sorted(set(plain), key=label_order)
    if not unique:
        raise SettingError("classes= is empty. List the classes, or leave it out.")
    return Variable(name, "categorical", tuple(unique), n_declared=len(unique), closed=True)


def check_announced(classes: LabelsLike | None, fitted: FittedState) -> None:
    if classes is None or (
        isinstance(classes, np.ndarray) and tuple(classes.tolist()) == fitted.schema.target.states
    ):
        return
    now = announced(classes, fitted.schema.target.name)
    strange = [label for label in now.states if label not in fitted.schema.target.codes]
    if strange or (fitted.schema.target.closed and now.size != fitted.schema.target.size):
        raise UnseenClass(
            "classes={states!r} is not the same as on last call to partial_fit, was: {states2!r}.",
            states=list(now.states),
            states2=list(fitted.schema.target.states),
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


def plain_dtype(y: object) -> np.dtype[Any] | None:
    """The dtype that a plain list of labels would have."""
    return np.asarray(y).dtype if isinstance(y, (list, tuple)) and y else None


def dtype_of_target(X: Any, target: Name | None) -> Any:
    """The target column of a source's data as an array, for its dtype; None if these cannot provide it."""
    if target is None or isinstance(X, str) or not hasattr(X, "__getitem__"):
        return None
    try:
        return np.asarray(X[target])
    except Exception:  # a source without columns: labels keep their own type
        return None


def labels_of(schema: Schema, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    """Return the classes of a schema as an array with the dtype of the given labels."""
    states = schema.target.states
    if any(isinstance(state, tuple) for state in states):
        return objects(states)  # NumPy would treat each state as a row
    if dtype is None:
        dtype = np.asarray(list(states)).dtype
        if len({type(s) for s in states}) > 1:
            dtype = np.dtype(object)
    if dtype.kind in "US":
        dtype = None
    elif dtype.kind not in "iufb":
        return objects(states)
    return np.array(states, dtype=dtype)


def not_fitted(model: object) -> NotFittedError:
    """Return the not-fitted error, worded as in scikit-learn."""
    from sklearn.exceptions import NotFittedError

    return NotFittedError(
        f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
        "before using this estimator."
    )


def refuse_sparse(model: CountClassifier, X: object) -> None:
    """Raise an error for a sparse matrix if the classifier cannot use one."""
    if not model._accepts_sparse and hasattr(type(X), "tocsr"):
        raise DataTypeError(
            "Sparse data was passed for X, but {kind} needs dense data. Use X.toarray(), or "
            "MultinomialNB for counts of words.",
            kind=type(model).__name__,
        )


def refuse_lazy(model: CountClassifier) -> None:
    """Raise an error for rows that are added to a lazy model."""
    if model._lazy is not None:
        raise UsageError(
            "A lazy model counts its source itself. Add the rows to the source, then call refresh()."
        )


def require_y(model: object, source: Source) -> None:
    """Raise an error for in-memory rows without classes."""
    if source.in_memory and source.y is None and source.target is None:
        raise DataError(
            "{kind} requires y to be passed, but the target y is None. Pass y, or name the "
            'class column with target="...".',
            kind=type(model).__name__,
        )


def check_same_settings(mine: CountClassifier, its: CountClassifier) -> None:
    """Raise an error if two models to merge differ in their class or their parameters."""
    if type(its) is not type(mine):
        raise Incompatible(
            "A {kind} cannot be merged with a {kind2}.", kind=type(mine).__name__, kind2=type(its).__name__
        )
    a, b = mine.get_params(deep=False), its.get_params(deep=False)
    for name in a:
        # Parameters in _takes_over become held choices, which are compared elsewhere.
        if name != "n_jobs" and name not in mine._takes_over and not same(a[name], b[name]):
            raise Incompatible(
                "The two models were made with different {name}: {a!r} and {b!r}.",
                name=name,
                a=a[name],
                b=b[name],
            )


def mergeable(mine: CountClassifier, its: CountClassifier) -> tuple[FittedState, FittedState]:
    """Return what both have counted, or say why these are no sums over the same things."""
    fitted = mine._require("merge")
    check_same_settings(mine, its)
    its_fitted = its._require("merge")
    other_names = fitted.named and its_fitted.named and fitted.names != its_fitted.names
    if other_names or mine.n_features_in_ != its.n_features_in_:
        raise Incompatible(
            "The two models were learned from different columns: {mine} and {its}. Fit both to the same ones: a "
            "column that is constant in one file is left out there, unless keep= names it.",
            mine=_some(fitted.names),
            its=_some(its_fitted.names),
        )
    held, its_held = ({k: v for k, v in m.held_.items() if k not in mine._not_choices} for m in (mine, its))
    for key in {**held, **its_held}:
        if held.get(key) != its_held.get(key):
            raise Incompatible(
                "The two models hold different {key}, chosen from different rows: "
                "{mine} and {its}. Fit one, and let the other take over what it "
                "holds (cut_points=, structure=, …), or learn from the rows of both.",
                key=key.replace("_", " "),
                mine=_short(held.get(key)),
                its=_short(its_held.get(key)),
            )
    return fitted, its_fitted


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


def _some(names: tuple[Name, ...]) -> Joined:
    return listed(map(repr, names), 6)


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise an error if a setting is not one of the allowed words."""
    if value not in allowed:
        raise SettingError(
            "{name} is {value!r}; choose from {names}.",
            name=name,
            value=value,
            names=Joined(map(repr, allowed)),
        )
