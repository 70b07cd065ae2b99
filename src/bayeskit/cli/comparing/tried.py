"""Several models on the same folds: how often they err, how good their probabilities are, what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernel import compiling

Floats = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]
# No probability counts as less: the convention of scikit-learn's log_loss.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
# A table of fewer cells is learned in plain Python before its loops could be compiled.
SMALL = 20_000


@dataclass(frozen=True)
class Score:
    """One model's figures over all folds.

    Attributes
    ----------
    error : float
        The share of rows whose most probable class is wrong.
    log_loss : float
        −mean log P(truth | x).
    brier : float
        The mean of Σ_c (P(c | x) − [c is the truth])²: from 0 to 2.
    cpu_seconds : float
        For fitting and predicting, all folds together.
    """

    model: str
    error: float
    log_loss: float
    brier: float
    cpu_seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Contender:
    """A model by name: how to make it, and whether it takes the table as it is or a matrix of numbers."""

    name: str
    make: Callable[[], Any]
    takes_table: bool


def contenders(numeric: list[int], categorical: list[int], states: Any) -> list[Contender]:
    """List the models of the demonstration: ours on the table as it is, the yardsticks on a matrix made for them.

    Parameters
    ----------
    numeric, categorical : places of the columns in the matrix of `as_matrix`
    states : mapping
        The states that the table declares.
    """
    from bayeskit import AODE, TAN, AutoBayes, NaiveBayes
    from bayeskit.cli.comparing.yardsticks import forest, logistic, majority

    found = [Contender("NaiveBayes()", lambda: NaiveBayes(states=states), True)]
    if numeric:
        kernel = 'NaiveBayes(numeric="kernel")'
        found.append(Contender(kernel, lambda: NaiveBayes(states=states, numeric="kernel"), True))
    return [
        *found,
        Contender("TAN()", lambda: TAN(states=states), True),
        Contender("AODE()", lambda: AODE(states=states), True),
        Contender("AutoBayes()", lambda: AutoBayes(states=states), True),
        Contender("logistic regression", lambda: logistic(numeric, categorical), False),
        Contender("random forest", lambda: forest(0), False),
        Contender("majority class", majority, False),
    ]


def as_matrix(columns: Columns, numeric: set[str]) -> Floats:
    """Make the matrix that the yardsticks take: numbers as they are, categories as codes, missing one of them.

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


def folds_of(
    y: NDArray[Any], most: int = 5, seed: int = 0, *, keep: bool = False
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return (train, test) of each fold: as many as the rarest class has rows, at most five.

    With ``keep`` there are as many as are asked for, and a rare class is absent from some of them.
    """
    import warnings

    from sklearn.model_selection import StratifiedKFold

    counts = np.unique(y, return_counts=True)[1]
    least = int(counts.max() if keep else counts.min())
    split = StratifiedKFold(max(2, min(most, least)), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        if keep:  # whoever keeps the folds says in words of their own that a class is rare
            warnings.simplefilter("ignore")
        return list(split.split(np.zeros(len(y)), y))


@dataclass(frozen=True, eq=False)
class Trial:
    """What a model said of rows that it had not learned: posteriors (n, K), CPU seconds, and it itself in each fold."""

    posterior: Floats
    seconds: float
    models: tuple[Any, ...]


def tried(
    contender: Contender,
    columns: Columns,
    matrix: Floats,
    y: NDArray[Any],
    folds: Any,
    classes: NDArray[Any],
    *,
    target: str | None = None,
    most_warm: int | None = None,
    after_fold: Callable[[], None] = lambda: None,
) -> Trial:
    """Fit and ask one model in each fold; rows that are in no test part keep a posterior of 0.

    Parameters
    ----------
    folds : list of (train, test), places of rows
    target : str, optional
        What models that take the table call the class.
    most_warm : int, optional
        Loops are compiled on so many rows at most; by default on all of the first fold. A small table needs none
        compiled.
    after_fold : called after each fold
    """
    found, seconds = np.zeros((len(y), len(classes))), 0.0
    models: list[Any] = []
    # Loops are compiled once in a lifetime, which is not the model's time.
    if contender.takes_table and len(folds[0][0]) * len(columns) > SMALL:
        train, test = folds[0]
        train = train if most_warm is None else train[:: max(1, len(train) // most_warm)]
        some, others = ({n: c[rows] for n, c in columns.items()} for rows in (train, test[:most_warm]))
        with compiling():
            contender.make().fit(some, y[train]).predict_proba(others)
    for train, test in folds:
        parts: list[Any] = [{n: c[rows] for n, c in columns.items()} for rows in (train, test)]
        if not contender.takes_table:
            parts = [matrix[train], matrix[test]]
        begin = time.process_time()
        with nullcontext() if contender.takes_table else _one_thread():
            if contender.takes_table and target is not None:
                model = contender.make().fit({**parts[0], target: y[train]}, target=target)
            else:
                model = contender.make().fit(parts[0], y[train])
            answer = model.predict_proba(parts[1])
        seconds += time.process_time() - begin
        found[np.ix_(test, np.searchsorted(classes, model.classes_))] = answer
        models = [*models, model] if contender.takes_table else [model]
        after_fold()
    return Trial(found, seconds, tuple(models))


def _one_thread() -> AbstractContextManager[Any]:
    """Hold OpenMP to one thread: those that wait for work on a busy machine burn the CPU time that is measured."""
    from importlib import import_module

    limits: AbstractContextManager[Any] = import_module("threadpoolctl").threadpool_limits(1)
    return limits


def cross_validate(
    contender: Contender, columns: Columns, matrix: Floats, y: NDArray[Any], folds: Any, classes: NDArray[Any]
) -> Score:
    """Score one model on rows that it has not learned."""
    trial = tried(contender, columns, matrix, y, folds, classes)
    return Score(contender.name, *figures(trial.posterior, np.searchsorted(classes, y)), trial.seconds)


def figures(posterior: Floats, truth: NDArray[np.intp]) -> tuple[float, float, float]:
    """Return the error, the log-loss and the Brier score of posteriors (n, K) against the classes' places.

    Examples
    --------
    >>> [round(f, 4) for f in figures(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1]))]
    [0.5, 0.4904, 0.3125]
    """
    rows = np.arange(len(truth))
    log_loss = -np.log(np.maximum(posterior[rows, truth], LEAST_PROBABILITY)).mean()
    target = np.zeros_like(posterior)
    target[rows, truth] = 1.0
    brier = ((posterior - target) ** 2).sum(axis=1).mean()
    return float((posterior.argmax(axis=1) != truth).mean()), float(log_loss), float(brier)
