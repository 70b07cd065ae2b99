"""Save a fitted classifier (parameters, schema and raw counts) to one file, and load it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._counting.backend import Tally
from bayeskit._data.source import ModelOrigin
from bayeskit._data.table import NONE_ASIDE, ColumnsAside, open_table
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import plan_for
from bayeskit._io.plain_values import from_plain, to_plain
from bayeskit._io.saved import Arrays, SavedContent, as_path, naming, read_saved, to_bytes, write_saved
from bayeskit._io.statistics import pack_statistics, unpack_statistics
from bayeskit._io.trial import check_held, try_answers
from bayeskit._messages import Joined, Message
from bayeskit._on_demand import CLASSIFIERS
from bayeskit._schema import Name, Schema
from bayeskit.errors import ModelFormatError, SettingError, UsageError
from bayeskit.typing import PathLike

# Models that are not CountClassifiers, and the functions that rebuild them. They are given by name because mixtures
# import classifiers.
_OTHERS: dict[Any, tuple[str, str]] = {
    "GaussianMixture": ("bayeskit._mixtures.mixture_files", "rebuilt_gaussian"),
    "LatentClass": ("bayeskit._mixtures.mixture_files", "rebuilt_latent"),
    "HiddenMarkov": ("bayeskit._mixtures.mixture_files", "rebuilt_hidden"),
}
_KNOWN = {*CLASSIFIERS, *_OTHERS}
_FIELDS = ("estimator", "parameters", "statistics", "named", "names", "hints", "held", "class_dtype")
# Labels of any other dtype are returned as objects.
_CLASS_DTYPES = "iufbUSO"


def save_model(estimator: CountClassifier, path: PathLike) -> None:
    """Write a fitted classifier to one file, completely or not at all.

    Parameters
    ----------
    estimator : fitted classifier
    path : str or path
        An existing file is replaced atomically.
    """
    place = as_path(path)
    content, arrays = pack_model(estimator)
    write_saved(SavedContent("model", content, arrays), place)


def saved_size(estimator: CountClassifier) -> int:
    """Return how many bytes the file of a fitted classifier has, without writing it."""
    return len(to_bytes(SavedContent("model", *pack_model(estimator))))


def pack_settings(estimator: CountClassifier) -> dict[str, Any]:
    """Return the class of a classifier, fitted or not, and its parameters, as plain values."""
    name = type(estimator).__name__
    if name in _KNOWN and (name not in CLASSIFIERS or type(estimator) is not _class_of(name)):
        raise UsageError(
            "A {name} of {module} cannot be saved, because the file would be read as a {name} of bayeskit. "
            "Give your class another name.",
            name=name,
            module=type(estimator).__module__,
        )
    if estimator._lazy is not None:
        raise UsageError("A lazy model has no counts to save. Fit it to its source, then save it.")
    estimator._check_settings()
    parameters = estimator.get_params(deep=False)
    return {"estimator": name, "parameters": {key: to_plain(value, key) for key, value in parameters.items()}}


def pack_model(estimator: CountClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the contents of the file of a fitted classifier: plain values and arrays."""
    settings = pack_settings(estimator)
    fitted = estimator._require("save")
    _refuse_changed(estimator, fitted)
    statistics, arrays = pack_statistics(fitted.statistics)
    # Columns without names are identified by position only.
    names = tuple(fitted.names) if fitted.named else _attribute_names(fitted.schema)
    content = {
        **settings,
        "statistics": statistics,
        "named": bool(fitted.named),
        "names": None if names == _attribute_names(fitted.schema) else to_plain(names, "the column names"),
        "hints": to_plain(dict(fitted.hints), "the hints"),
        "held": to_plain(estimator.held_, "what the model holds"),
        "class_dtype": plain_class_dtype(estimator.__dict__.get("_class_dtype")),
        "aside": _pack_aside(fitted.aside),
        "reading": None if estimator.reading_ is None else estimator.reading_.plain(),
    }
    return content, arrays


def load(path: PathLike, classes: Iterable[type] = ()) -> Any:
    """Load a saved classifier or mixture. Its predictions are identical bit for bit, and it can be updated.

    No code in the file is run, and no module that it names is imported. A file that is damaged, not a
    bayeskit model, or from a newer version raises a :class:`~bayeskit.errors.ModelFormatError` that says what
    to do.

    Parameters
    ----------
    path : str or path
    classes : classes of classifiers
        Your own classifier classes that the file may contain. They are matched by name.

    Examples
    --------
    >>> import os, tempfile
    >>> from bayeskit import NaiveBayes, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     NaiveBayes().fit([["青绿"], ["乌黑"]], ["坏", "好"]).save(os.path.join(folder, "西瓜.bayes"))
    ...     load(os.path.join(folder, "西瓜.bayes")).predict([["乌黑"]]).tolist()
    ['好']
    """
    place, own = as_path(path), own_classes(classes)
    # A damaged file should raise one error, without NumPy warnings before it.
    with naming(place), np.errstate(all="ignore"):
        saved = read_saved(place, "model")
        other = _OTHERS.get(saved.content.get("estimator"))
        if other:
            return getattr(import_module(other[0]), other[1])(saved)
        estimator = unpack_model(saved.content, saved.arrays, own)
        try_model(estimator)
        estimator._learned = ModelOrigin(
            place.name, datetime.fromtimestamp(place.stat().st_mtime), loaded=True
        )
        return estimator


def own_classes(classes: Iterable[type]) -> dict[Any, type[CountClassifier]]:
    """Return a mapping from the names used in files to classes. Raise an error for classes that cannot be saved."""
    found: dict[Any, type[CountClassifier]] = {}
    for one in classes if isinstance(classes, Iterable) else (classes,):
        if not (isinstance(one, type) and issubclass(one, CountClassifier)):
            raise SettingError(
                "classes contains {one!r}, which is not a classifier based on counts. Pass subclasses of "
                "NaiveBayes, TAN and similar classes.",
                one=one,
            )
        if one.__name__ in _KNOWN or one.__name__ in found:
            raise SettingError(
                "classes contains two classes named {one}, and a file only stores the name. Rename one of them.",
                one=one.__name__,
            )
        found[one.__name__] = one
    return found


def unpack_model(
    content: dict[str, Any], arrays: Arrays, own: dict[Any, type[CountClassifier]]
) -> CountClassifier:
    """Return the fitted classifier in a file. Call :func:`try_model` before passing it on."""
    missing = [field for field in _FIELDS if field not in content]
    if missing:
        raise ModelFormatError(
            Message("it does not contain its {names}. Save the model again.", names=Joined(missing))
        )
    estimator = unpack_settings(content, own)
    statistics = unpack_statistics(content["statistics"], arrays)
    schema = statistics.schema
    held = from_plain(content["held"])
    check_held(held, schema, estimator._holds)
    estimator._held = held
    fitted = estimator._new_fitted(schema.target)
    fitted.tally = Tally(schema, statistics.plan, fitted.n_jobs)
    fitted.tally.statistics = statistics
    fitted.spec = estimator._spec(schema)
    fitted.named = content["named"] is True
    names = from_plain(content["names"])
    fitted.names = _attribute_names(schema) if names is None else tuple(names)
    fitted.hints = from_plain(content["hints"])
    fitted.aside = _unpack_aside(content.get("aside"))  # models of earlier versions do not tell it
    if plan_for(schema, fitted.spec) != statistics.plan:
        raise ModelFormatError(
            Message(
                "its statistics are not those that a {content} with its parameters counts. Save the model "
                "again, with this version.",
                content=content["estimator"],
            )
        )
    estimator._fitted = fitted
    estimator._class_dtype = class_dtype(content["class_dtype"])
    if content.get("reading") is not None:  # models of earlier versions do not tell it
        from bayeskit._data.file_reading import FileReading

        estimator.reading_ = FileReading.from_plain(content["reading"])
    estimator._renew()
    if fitted.named and len(fitted.names) != estimator.n_features_in_:
        raise ModelFormatError(
            Message(
                "it names {n} columns of {n_features_in}.",
                n=len(fitted.names),
                n_features_in=estimator.n_features_in_,
            )
        )
    if len(estimator.classes_) != schema.n_classes:
        raise ModelFormatError(
            Message("its classes cannot be read as {content!r}.", content=content["class_dtype"])
        )
    return estimator


def try_model(estimator: CountClassifier) -> None:
    """Make some predictions with a loaded model, so that a damaged file fails now and not later."""
    fitted = estimator._require("load")
    if fitted.schema.n_classes:  # without classes (all rows were forgotten) there is nothing to predict
        try_answers(lambda rows: fitted.joint(open_table(rows))[0], fitted.schema, fitted.model().log_prior)


def unpack_settings(content: dict[str, Any], own: dict[Any, type[CountClassifier]]) -> CountClassifier:
    """Return the unfitted classifier with the class and the parameters given in a file."""
    name, parameters = content["estimator"], content["parameters"]
    if name not in CLASSIFIERS and name not in own:
        raise ModelFormatError(
            Message(
                "it holds a {name!r}, which this version does not know (it knows {names}). Install a newer "
                "bayeskit or, if it is a class of your own, pass that: load(path, classes=[{name}]).",
                name=name,
                names=Joined(CLASSIFIERS),
            )
        )
    cls = own[name] if name in own else _class_of(name)
    known = cls._get_param_names()
    unknown = [key for key in parameters if key not in known]
    if unknown:
        raise ModelFormatError(
            Message(
                "it gives {name} the parameters {unknown!r}, which this version does not have. "
                "Install a newer bayeskit.",
                name=name,
                unknown=unknown,
            )
        )
    estimator = cls(**{key: from_plain(value) for key, value in parameters.items()})
    estimator._check_settings()
    return estimator


def is_own(estimator: CountClassifier) -> bool:
    """Whether the class of a classifier is not part of bayeskit, so that it must be passed to ``load``."""
    return type(estimator).__name__ not in _KNOWN


def _attribute_names(schema: Schema) -> tuple[Name, ...]:
    """Return the names of the attributes. All columns of a block share one name."""
    return tuple(v.name for v in schema.attributes)


def _pack_aside(aside: ColumnsAside) -> Any:
    named = tuple(sorted(aside.names, key=repr))
    return (
        None if aside == NONE_ASIDE else to_plain((named, aside.others, aside.weights), "the columns aside")
    )


def _unpack_aside(packed: Any) -> ColumnsAside:
    if packed is None:
        return NONE_ASIDE
    try:
        named, others, weights = from_plain(packed)
        return ColumnsAside(frozenset(named), others is True, weights)
    except (TypeError, ValueError) as error:
        raise ModelFormatError(
            Message("it does not contain its {names}. Save the model again.", names="aside")
        ) from error


def _class_of(name: str) -> type[CountClassifier]:
    found: type[CountClassifier] = getattr(import_module(CLASSIFIERS[name]), name)
    return found


def class_dtype(code: object) -> np.dtype[Any] | None:
    """Return the dtype of labels from its text; the inverse of :func:`plain_class_dtype`."""
    if code is None:
        return None
    dtype = np.dtype(code) if isinstance(code, str) else None
    if dtype is None or dtype.kind not in _CLASS_DTYPES or dtype.names is not None:
        raise ModelFormatError(
            Message("its classes have the dtype {code!r}, which labels cannot have.", code=code)
        )
    return dtype


def plain_class_dtype(dtype: np.dtype[Any] | None) -> str | None:
    """Return the dtype of labels as text."""
    return None if dtype is None else dtype.str if dtype.kind in _CLASS_DTYPES else "|O"


def _refuse_changed(estimator: CountClassifier, fitted: FittedState) -> None:
    """Raise an error if parameters were set after fitting. They have no effect, and a file could not show that."""
    assert fitted.spec is not None
    before, now = asdict(fitted.spec), asdict(estimator._spec(fitted.schema))
    changed = [key for key in now if to_plain(now[key], key) != to_plain(before[key], key)]
    if changed:
        raise UsageError(
            "Parameters were changed after fitting ({names}), so the file would not describe this model. "
            "Set them back or fit again, then save.",
            names=Joined(changed),
        )
