"""The evaluation of one model in each fold: held-out posteriors, time, size, scores, and tests of differences."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._classifiers.model_files import saved_size
from bayeskit._numba import compiling
from bayeskit._schema import Name
from bayeskit.errors import SettingError
from bayeskit.typing import Floats

if TYPE_CHECKING:  # fit and the demonstration try models, and make no report
    from bayeskit._report.comparison_report.comparison import Difference, Measure

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


def _check_answer(name: str, model: object, answer: object, classes: NDArray[Any], n: int) -> None:
    """Raise an error if the output of a user's own estimator is not a posterior."""
    known = getattr(model, "classes_", None)
    if known is None or not set(np.asarray(known).tolist()) <= set(classes.tolist()):
        raise SettingError(
            "After fitting, {name} has no classes_ that match those of the target. Let its fit set "
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
        return saved_size(model)
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


Places = NDArray[np.intp]
# The significance level: a difference with a larger p-value does not count.
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class RowScores:
    """The contribution of each test row to each figure; ``cost`` is None without a loss."""

    error: Floats
    log_loss: Floats
    brier: Floats
    cost: Floats | None

    @property
    def decisive(self) -> Floats:
        """The score that ranks models: the cost if there is a loss, otherwise the error."""
        return self.error if self.cost is None else self.cost


def row_scores(posterior: Floats, truth: Places, costs: Floats | None) -> RowScores:
    """Score each row.

    Parameters
    ----------
    posterior : array of shape (n, K)
    truth : array of shape (n,)
        The indices of the true classes.
    costs : array of shape (actions, K), optional
        Each row has the cost, under its true class, of the action with the lowest risk.

    Examples
    --------
    >>> scores = row_scores(np.array([[0.7, 0.3]]), np.array([0]), np.array([[0.0, 9.0], [1.0, 0.0]]))
    >>> scores.error, scores.cost
    (array([0.]), array([1.]))
    """
    rows = np.arange(len(truth))
    hit = posterior[rows, truth]
    # Σ (P(c) − [c is the truth])² = Σ P(c)² − 2 P(truth) + 1, without a second array of that shape
    brier = (posterior**2).sum(axis=1) - 2.0 * hit + 1.0
    error = (posterior.argmax(axis=1) != truth).astype(np.float64)
    paid = None if costs is None else costs[(posterior @ costs.T).argmin(axis=1), truth]
    return RowScores(error, -np.log(np.maximum(hit, LEAST_PROBABILITY)), brier, paid)


def area_under_curve(posterior: Floats, truth: Places) -> float:
    """Return the AUC of each class against the rest, the mean over classes that have rows on both sides.

    For one class, this is the share of pairs (a row of the class, another row) in which the first has the higher
    posterior. A tie counts half. NaN if no class has rows on both sides.

    Examples
    --------
    >>> area_under_curve(np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]), np.array([0, 0, 1]))
    0.75
    """
    from scipy.stats import rankdata

    found = []
    columns = [1] if posterior.shape[1] == 2 else range(posterior.shape[1])
    for c in columns:
        inside = truth == c
        n, m = int(inside.sum()), int((~inside).sum())
        if n and m:
            ranks = rankdata(posterior[:, c])[inside].sum()
            found.append((ranks - n * (n + 1) / 2) / (n * m))
    return float(np.mean(found)) if found else float("nan")


def measures(
    scores: RowScores, posterior: Floats, truth: Places, folds: Sequence[Places]
) -> dict[str, Measure | None]:
    """Return the figures over all test rows, and their spread; None if a figure is not defined.

    Parameters
    ----------
    folds : positions of the rows of each fold among the test rows
    """
    from bayeskit._report.comparison_report.comparison import Measure

    areas = [area_under_curve(posterior[rows], truth[rows]) for rows in folds]
    known = [area for area in areas if area == area]
    found: dict[str, Measure | None] = {
        "auc": Measure(float(np.mean(known)), _deviation(known)) if known else None
    }
    for name in ("error", "log_loss", "brier", "cost"):
        values: Floats | None = getattr(scores, name)
        found[name] = None if values is None else _measure(values, folds)
    return found


def by_fold(values: Floats, folds: Sequence[Places]) -> tuple[float, ...]:
    """Return the mean in each fold."""
    return tuple(float(values[rows].mean()) for rows in folds)


def _measure(values: Floats, folds: Sequence[Places]) -> Measure:
    from bayeskit._report.comparison_report.comparison import Measure

    if len(folds) > 1:
        return Measure(float(values.mean()), _deviation(by_fold(values, folds)))
    n = len(values)
    return Measure(float(values.mean()), float(values.std(ddof=1) / n**0.5) if n > 1 else None)


def _deviation(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def difference(one: Floats, other: Floats, folds: Sequence[Places]) -> Difference:
    """Return the mean of one − other over all rows, with its 95% interval.

    With folds the interval is that of the corrected resampled t-test, with one test set that of the paired z-test.

    Examples
    --------
    >>> found = difference(np.array([1.0, 0, 1, 0] * 25), np.zeros(100), [np.arange(100)])
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.5, 0.402, 0.598)
    """
    from scipy.stats import norm
    from scipy.stats import t as student

    from bayeskit._report.comparison_report.comparison import Difference

    d = one - other
    k, n = len(folds), len(d)
    if k > 1:
        spread = (1.0 / k + 1.0 / (k - 1)) * float(np.var(by_fold(d, folds), ddof=1))
        half = float(student.ppf(0.975, k - 1)) * spread**0.5
    else:
        half = float(norm.ppf(0.975)) * float(d.std(ddof=1)) / n**0.5 if n > 1 else float("inf")
    # No difference in any row does not mean that there is none: three in n rows could have been missed (95%).
    half = half if half > 0.0 else 3.0 / n
    return Difference(float(d.mean()), float(d.mean()) - half, float(d.mean()) + half)


def corrected_t_test(differences: ArrayLike, test_share: float) -> float:
    r"""Return the p-value of the corrected resampled t-test, given the difference in each fold.

    .. math:: t = \bar d \Big/ \sqrt{\Big(\frac1k + \frac{n_\text{test}}{n_\text{train}}\Big) s_d^2}

    The plain t-test assumes that the folds are independent. Their training rows are almost the same, so it finds
    differences where there are none.

    Parameters
    ----------
    differences : array of shape (k,)
    test_share : float
        Rows in a test part divided by rows in a training part: 1/(k − 1).

    References
    ----------
    Nadeau C., Bengio Y., Inference for the generalization error, Machine Learning 52, 2003.

    Examples
    --------
    >>> round(corrected_t_test([0.01, 0.02, 0.03, 0.02, 0.02], 0.25), 4)
    0.0135
    """
    from scipy.stats import t as student

    d = np.asarray(differences, dtype=np.float64)
    spread = (1.0 / len(d) + test_share) * d.var(ddof=1)
    return _two_sided(float(d.mean()), float(spread), lambda t: float(student.sf(t, len(d) - 1)))


def paired_test(differences: ArrayLike) -> float:
    """Return the p-value of the paired z-test, given the difference in each row of one test set.

    Examples
    --------
    >>> paired_test([1.0, -1.0, 0.0, 0.0])
    1.0
    >>> paired_test([1.0])  # one row may be luck
    1.0
    """
    from scipy.stats import norm

    d = np.asarray(differences, dtype=np.float64)
    if (d == d[0]).all():
        # Errors are 0 or 1, so a few rows may all have the same difference by chance. Use the sign test, 2·2⁻ⁿ.
        return 1.0 if d[0] == 0.0 else 2.0 ** (1 - len(d))
    return _two_sided(float(d.mean()), float(d.var(ddof=1) / len(d)), lambda z: float(norm.sf(z)))


def _two_sided(mean: float, spread: float, tail: Callable[[float], float]) -> float:
    if mean == 0.0:
        return 1.0
    # Exactly the same difference in every fold is not chance.
    return min(1.0, 2.0 * tail(abs(mean) / spread**0.5)) if spread > 0.0 else 0.0
