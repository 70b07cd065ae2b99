"""The evaluation of one model in each fold: its held-out posteriors, its time, its size."""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit._numba import compiling
from bayeskit._schema import Name
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

Columns = dict[Name, NDArray[Any]]
Rows = NDArray[np.intp]
Folds = Sequence[tuple[Rows, Rows]]
# Probabilities are clipped at this value, as in scikit-learn's log_loss.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
# For tables with fewer cells, plain Python is faster than compiling kernels.
SMALL = 20_000


@dataclass(frozen=True)
class Contender:
    """A model of a comparison: its name, how to make it, and its origin.

    Our models get columns by name, a user's own model gets the rows as given, and a baseline gets a matrix of numbers.
    Our models get columns of free text only if they can read them. ``looked_at`` chooses the columns of a model that
    cannot look at all of them, from the rows it learns from. ``key`` is empty for a user's own model.
    """

    name: str
    make: Callable[[], Any]
    kind: Literal["ours", "own", "baseline"] = "ours"
    reads_texts: bool = False
    looked_at: Callable[[Any, NDArray[Any]], Sequence[Name]] | None = None
    key: str = ""

    def narrowed(self, learned: Any, y: NDArray[Any], *others: Any) -> tuple[Any, ...]:
        """Return tables with the columns that the model looks at, chosen by the first of them."""
        if self.looked_at is None:
            return learned, *others
        names = self.looked_at(learned, y)
        return tuple({name: table[name] for name in names} for table in (learned, *others))


@dataclass(frozen=True, eq=False)
class Trial:
    """The held-out results of a model: posteriors (n, K), CPU seconds, and the fitted model of each fold."""

    posterior: Floats
    seconds: float
    models: tuple[Any, ...]


def try_model(
    contender: Contender,
    take: Callable[[Rows], Any],
    y: NDArray[Any],
    folds: Folds,
    classes: NDArray[Any],
    *,
    target: Name | None = None,
    most_warm: int | None = None,
    after_fold: Callable[[], None] = lambda: None,
) -> Trial:
    """Fit and evaluate one model in each fold. Rows in no test part keep a posterior of 0.

    Parameters
    ----------
    take : callable
        Returns some rows in the form that the model accepts.
    folds : list of (train, test), indices of rows
    target : column name, optional
        The name of the class, for our models.
    most_warm : int, optional
        The maximum number of rows for compiling kernels. By default, all rows of the first fold. A small table needs no
        compiled kernels.
    after_fold : called after each fold
    """
    found, seconds = np.zeros((len(y), len(classes))), 0.0
    models: list[Any] = []
    ours = contender.kind == "ours"
    if ours:
        _warm_up(contender, take, y, folds[0], most_warm)
    for train, test in folds:
        learned, held_out = take(train), take(test)
        begin = time.process_time()
        learned, held_out = contender.narrowed(learned, y[train], held_out)
        with nullcontext() if ours else _one_thread():
            if ours and target is not None:
                model = contender.make().fit({**learned, target: y[train]}, target=target)
            else:
                model = contender.make().fit(learned, y[train])
            answer = model.predict_proba(held_out)
        seconds += time.process_time() - begin
        if contender.kind == "own":
            _check_answer(contender.name, model, answer, classes, len(test))
        found[np.ix_(test, np.searchsorted(classes, model.classes_))] = answer
        models = [*models, model] if ours else [model]
        after_fold()
    return Trial(found, seconds, tuple(models))


def _warm_up(
    contender: Contender,
    take: Callable[[Rows], Mapping[Name, Any]],
    y: NDArray[Any],
    fold: tuple[Rows, Rows],
    most: int | None,
) -> None:
    """Compile the kernels. This is done once per installation and is not part of the model's time."""
    train, test = fold
    if len(train) * len(take(train[:1])) > SMALL:
        train = train if most is None else train[:: max(1, len(train) // most)]
        with compiling():
            learned, others = contender.narrowed(take(train), y[train], take(test[:most]))
            contender.make().fit(learned, y[train]).predict_proba(others)


def _check_answer(name: str, model: Any, answer: Any, classes: NDArray[Any], n: int) -> None:
    """Raise an error if the output of a user's own estimator is not a posterior."""
    known = getattr(model, "classes_", None)
    if known is None or not set(np.asarray(known).tolist()) <= set(classes.tolist()):
        raise SettingError(
            "{name} has no classes_ among those of the target once it is fitted. Let its fit set "
            "self.classes_ = np.unique(y), the order of the columns of predict_proba.",
            name=name,
        )
    values = np.asarray(answer, dtype=np.float64)
    if values.shape != (n, len(known)):
        raise SettingError(
            "predict_proba of {name} returned an array of shape {shape} for {n} rows and {n_known} classes. "
            "Let it return {value}.",
            name=name,
            shape=values.shape,
            n=n,
            n_known=len(known),
            value=(n, len(known)),
        )
    if not (values >= 0.0).all() or not np.allclose(values.sum(axis=1), 1.0, atol=1e-6):
        row = int(np.argmin((values >= 0.0).all(axis=1) & np.isclose(values.sum(axis=1), 1.0, atol=1e-6)))
        raise SettingError(
            "predict_proba of {name} returned {value} for a row. Let it return probabilities that sum to 1.",
            name=name,
            value=values[row].tolist(),
        )


def _one_thread() -> AbstractContextManager[Any]:
    """Limit OpenMP to one thread: on a busy machine, waiting threads would use CPU time, which is measured."""
    from importlib import import_module

    limits: AbstractContextManager[Any] = import_module("threadpoolctl").threadpool_limits(1)
    return limits


def as_matrix(columns: Columns, numeric: set[Name]) -> Floats:
    """Return the matrix for the baselines: numbers unchanged, categories as codes, with a code for missing.

    Examples
    --------
    >>> as_matrix({"a": np.array([0.5, 1.5]), "b": np.array(["x", None], dtype=object)}, {"a"})
    array([[0.5, 1. ],
           [1.5, 0. ]])
    """
    made = []
    for name, column in columns.items():
        if name in numeric:
            made.append(column.astype(np.float64))
        else:
            labels = ["" if value is None or value != value else str(value) for value in column.tolist()]
            made.append(np.unique(labels, return_inverse=True)[1].astype(np.float64))
    return np.column_stack(made)


def folds_of(y: NDArray[Any], most: int = 5, seed: int = 0, *, keep: bool = False) -> Folds:
    """Return (train, test) of each fold: at most ``most`` folds, and at most as many as the rarest class has rows.

    With ``keep`` the requested number is used, and a rare class is absent from some folds.
    """
    import warnings

    from sklearn.model_selection import StratifiedKFold

    counts = np.unique(y, return_counts=True)[1]
    least = int(counts.max() if keep else counts.min())
    split = StratifiedKFold(max(2, min(most, least)), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        if keep:  # a caller that keeps the folds warns of rare classes itself
            warnings.simplefilter("ignore")
        return list(split.split(np.zeros(len(y)), y))


def size_of(model: Any, ours: bool) -> int | None:
    """Return the size of a model in bytes: of its file for ours, of its pickle for others, or None without a pickle.

    Examples
    --------
    >>> size_of([0] * 1000, False) > 2 * size_of([0] * 10, False)
    True
    """
    if ours and hasattr(model, "save"):
        with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
            path = os.path.join(folder, "model")
            model.save(path)
            return os.path.getsize(path)
    counter = _Counter()
    try:
        pickle.dump(model, counter)
    except (
        pickle.PicklingError,
        AttributeError,
        TypeError,
    ):  # for example, a class defined in a function
        return None
    return counter.bytes


class _Counter:
    """A file that only records its length, so that a forest need not be in memory twice."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: bytes | memoryview) -> int:
        self.bytes += memoryview(data).nbytes
        return memoryview(data).nbytes
