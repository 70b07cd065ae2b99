"""What a fitted classifier answers about rows: posteriors, classes, P(x), and posteriors with each row left out.

The functions whose first parameter is ``self`` become methods of :class:`CountClassifier`.
Rows of a DataFrame of Dask or Spark are answered lazily, on its workers. Rows can also be sampled from the model, in
the same form as the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._classifiers.input_checks import refuse_sparse, require_y, warn_of_impossible
from bayeskit._conditionals.class_prior import choose, log_normalise, normalise
from bayeskit._conditionals.conditional import Codes, Conditional, DrawnRows
from bayeskit._counting.cluster_tasks import map_on_dask, map_on_spark, select_on_spark
from bayeskit._counting.partitions import Answer
from bayeskit._data.encode import check_names
from bayeskit._data.frames import SparkFrame, cluster_of
from bayeskit._data.source import Source, memory_in_bytes, thread_count
from bayeskit._fitting.leave_one_out import encode_learned, left_out_joint, log_posterior, mean_loss
from bayeskit._fitting.model import Model
from bayeskit._random_state import generator_of
from bayeskit._schema import Label, Name, Schema
from bayeskit.errors import DataError, NotSupported, SettingError, UsageError
from bayeskit.typing import Floats, LabelsLike, PathLike, RowSource, Seed, TableLike, WeightsLike

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._classifiers.row_sink import Written


def predict_joint_log_proba(self: CountClassifier, X: TableLike) -> Floats:
    """Return log P(c, x) of each row, without normalisation: shape (n, K)."""
    return joint_of(self, X)[0]


def predict_log_proba(self: CountClassifier, X: TableLike) -> Floats:
    """Return log P(c | x) of each row: shape (n, K)."""
    found: Floats = answer(self, X, "predict_log_proba")
    return found


def predict_proba(
    self: CountClassifier, X: Any, *, sink: PathLike | None = None, max_memory: int | str | None = None
) -> Any:
    """Return P(c | x) of each row: shape (n, K); rows are finite and sum to one. ``sink``: as in ``predict``.

    For a DataFrame of Dask or Spark the answer is lazy: columns ``p_<class>``, computed on its workers.
    """
    if sink is not None or max_memory is not None:
        return write_answers(self, X, sink, max_memory)
    return answer(self, X, "predict_proba")


def predict(
    self: CountClassifier, X: Any, *, sink: PathLike | None = None, max_memory: int | str | None = None
) -> Any:
    """Return the most probable class of each row. Ties go to the first class.

    For a DataFrame of Dask or Spark the answer is lazy: a Series of Dask with the same index and divisions, or the
    Spark DataFrame with a column ``prediction``.

    Parameters
    ----------
    X : table; with ``sink``, any source that ``fit`` takes
    sink : path, optional
        Write the answers to this file (.csv or .parquet) instead: ``prediction``, then ``p_<class>`` of each class,
        in the order of the rows. Rows are read in batches. A file that exists is replaced when all is written.
    max_memory : int or str, optional
        With ``sink``: what reading files may take, in bytes or as ``"512MB"``.

    Returns
    -------
    array of shape (n,), or with ``sink`` a value with ``rows`` and ``path``
    """
    if sink is not None or max_memory is not None:
        return write_answers(self, X, sink, max_memory)
    return answer(self, X, "predict")


def leave_one_out(
    self: CountClassifier,
    X: RowSource,
    y: LabelsLike | None = None,
    sample_weight: WeightsLike | None = None,
    *,
    target: Name | None = None,
) -> Floats:
    """Return the leave-one-out posteriors P(c | x) of training rows: shape (n, K).

    Each row is predicted by the model fitted to all other rows. The result equals n fits, each without
    one row (its whole weight), with schema, cut points, structure, back-off constants and calibration
    kept. But it takes one pass over the rows, not n fits. (Kernel densities and covariances are
    re-estimated for each row.)

    Parameters
    ----------
    X, y, sample_weight, target
        As in ``fit``: all training rows, or some of them. Rows that were not training rows are an error
        if some count would become negative.
    """
    return np.exp(left_out(self, self._source_like(X, y, sample_weight, target))[0])


def loo_score(
    self: CountClassifier,
    X: RowSource,
    y: LabelsLike | None = None,
    sample_weight: WeightsLike | None = None,
    *,
    criterion: str = "log-loss",
    target: Name | None = None,
) -> float:
    """Return the mean leave-one-out loss, weighted by the row weights. Lower is better.

    Parameters
    ----------
    X, y, sample_weight, target
        As in ``fit``.
    criterion : {"log-loss", "error", "rmse", "brier"}, default="log-loss"
        With p the posterior of the true class: the mean of −log p; the share of wrong predictions; the
        root of the mean of (1 − p)²; or the mean squared distance of all posteriors from 0 and 1.
    """
    return mean_loss(*left_out(self, self._source_like(X, y, sample_weight, target)), criterion)


def sample(
    self: CountClassifier, n_samples: int, random_state: Seed = None, given_class: Label | None = None
) -> tuple[Any, Any]:
    """Sample rows from the model: (X, y). X is a frame if the model was fitted to one.

    A numeric attribute that the model has cut into intervals is drawn as the label of its interval.
    AnDE(n=2), WeightedNB and AutoBayes define no distribution of rows and raise a UsageError.

    Parameters
    ----------
    n_samples : int
    random_state : int or numpy Generator, optional
    given_class : label, optional
        Draw all rows from this class.
    """
    model = self._model
    named = "feature_names_in_" in self.__dict__
    rows, codes = sample_rows(model, named, n_samples, generator_of(random_state), given_class)
    return rows, self._labels(model.schema)[codes]


def answer(model: CountClassifier, X: TableLike, verb: str) -> Any:
    """Answer ``predict``, ``predict_proba`` or ``predict_log_proba``: here, or where the rows of a cluster are."""
    if cluster_of(X) is not None:
        return _on_workers(model, X, verb)
    joint, made = joint_of(model, X)
    found = _ANSWERS[verb](model, joint, made.log_prior, made.schema)
    return model._labels(made.schema)[found] if verb == "predict" else found


def write_answers(
    model: CountClassifier, X: RowSource, sink: PathLike | None, max_memory: int | str | None
) -> Written:
    """Write the predictions and posteriors of all rows to a file."""
    from bayeskit._classifiers.row_sink import write_predictions

    threads = thread_count(model.n_jobs)
    return write_predictions(model, X, sink, threads=threads, max_memory=memory_in_bytes(max_memory))


def joint_of(model: CountClassifier, X: TableLike) -> tuple[Floats, Model]:
    """Return log P(c, x) of shape (n, K), and the model that gave it."""
    if model._lazy is not None:
        return model._lazy.joint(model._open(X))
    fitted, table = model._require("predict"), model._open(X)
    if table.block is not None:
        refuse_sparse(model, X)
    return fitted.joint(table)


# Each takes log P(c, x), which is overwritten. Verbs call these through one function, so a warning counts four calls
# up to the line of the user.


def posterior(model: CountClassifier, joint: Floats, log_prior: Floats, schema: Schema) -> Floats:
    """Return P(c | x): shape (n, K)."""
    if "calibration" in model._held:
        warn_of_impossible(log_normalise(joint, log_prior), stacklevel=5)
        return np.exp(model._calibrated(joint, schema))
    warn_of_impossible(normalise(joint, log_prior), stacklevel=5)
    return joint


def _log_posterior(model: CountClassifier, joint: Floats, log_prior: Floats, schema: Schema) -> Floats:
    warn_of_impossible(log_normalise(joint, log_prior), stacklevel=5)
    return model._calibrated(joint, schema)


def chosen(model: CountClassifier, joint: Floats, log_prior: Floats, schema: Schema) -> NDArray[np.intp]:
    """Return the codes of the most probable classes."""
    codes = np.empty(len(joint), dtype=np.intp)
    if "calibration" in model._held:
        warn_of_impossible(log_normalise(joint, log_prior), stacklevel=5)
        choose(model._calibrated(joint, schema), log_prior, codes)
    else:
        warn_of_impossible(choose(joint, log_prior, codes), stacklevel=5)
    return codes


_ANSWERS: dict[str, Callable[[CountClassifier, Floats, Floats, Schema], NDArray[Any]]] = {
    "predict": chosen,
    "predict_proba": posterior,
    "predict_log_proba": _log_posterior,
}


def log_evidence(self: CountClassifier, X: TableLike) -> Floats:
    """Return log P(x) = log Σ_c P(c, x) of each row: how likely the row itself is."""
    joint, made = joint_of(self, X)
    if not made.is_distribution:
        raise UsageError(
            "{kind} scores classes without a distribution of rows: it has no P(x).",
            kind=type(self).__name__,
        )
    best = np.maximum(joint.max(axis=1), -1e308)
    with np.errstate(divide="ignore"):
        evidence = best + np.log(np.exp(joint - best[:, None]).sum(axis=1))
    if any(conditional.supports("log_excess") for conditional in made.conditionals):
        fitted = self._reader("log_evidence")
        assert fitted.spec is not None
        encoded = fitted.encode(self._open(X), made.schema, fitted.spec.unseen)
        evidence -= np.concatenate([made.log_excess(chunk) for chunk in encoded.chunks()])
    return np.asarray(evidence)


def left_out(model: CountClassifier, source: Source) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Return log P(c | x), the class and the weight of rows, each left out of what was counted."""
    require_y(model, source)
    fitted = model._reader("leave_one_out")
    statistics, spec = model.statistics_, fitted.spec
    assert spec is not None
    pieces: list[tuple[Floats, NDArray[np.intp], Floats]] = []
    for rows in source:
        if rows.table.block is not None:
            refuse_sparse(model, source.data)
        encoded = encode_learned(fitted, statistics.schema, rows)
        scores = left_out_joint(statistics, spec, encoded, n_jobs=fitted.n_jobs)
        weights = np.ones(encoded.n_rows) if encoded.weights is None else encoded.weights
        assert encoded.target is not None
        shares = model._calibrated(log_posterior(*scores), statistics.schema)
        pieces.append((shares, encoded.target.astype(np.intp), weights))
    if not pieces:
        raise DataError("The source gave no batch, so there is no row to leave out.")
    parts = [np.concatenate(arrays) for arrays in zip(*pieces, strict=True)]
    return parts[0], parts[1], parts[2]


# As in SQL (to_sql): the prediction, and one column for each class.
PREDICTION = "prediction"


def _on_workers(model: CountClassifier, frame: Any, verb: str) -> Any:
    """Return the lazy answers of a verb for a DataFrame of Dask or Spark.

    The model answers as it is now, whatever it learns before the answers are computed.

    Parameters
    ----------
    model : fitted classifier
    frame : DataFrame
        Of Dask: the columns that were learned. Of Spark: also others, which stay in the result.
    verb : "predict", "predict_proba" or "predict_log_proba"

    Returns
    -------
    Series or DataFrame of Dask, with the frame's index and divisions; or the Spark frame with more columns
    """
    if model._lazy is not None:
        raise UsageError(
            "A lazy model counts at prediction time, which the workers of a {name} DataFrame cannot do. Use fit.",
            name=str(cluster_of(frame)).capitalize(),
        )
    labels = model.classes_
    kind = labels.dtype if labels.dtype.kind in "iufb" else np.dtype(object)
    is_one = verb == "predict"
    asked = _Verb(model._copy(), verb)
    answer = Answer(
        asked,
        (PREDICTION,) if is_one else tuple(f"p_{label}" for label in labels.tolist()),
        tuple(model._require(verb).names),
        kind if is_one else np.dtype(np.float64),
        is_one,
    )
    if cluster_of(frame) == "dask":
        check_names(tuple(frame.columns), answer.columns, model._require(verb).aside)
        return map_on_dask(frame, answer)
    return _on_spark(asked, answer, frame)


@dataclass(frozen=True)
class _Verb:
    """What a model answers by one of its verbs, an array for each column."""

    model: Any
    verb: str

    def __call__(self, rows: TableLike) -> list[Any]:
        found = getattr(self.model, self.verb)(rows)
        return [found] if self.verb == "predict" else list(found.T)


def _on_spark(asked: _Verb, answer: Answer, frame: SparkFrame) -> Any:
    taken = [name for name in answer.names if name in frame.columns]
    if taken:
        raise SettingError(
            "Two columns of the result would be called {name!r}. Rename that of the DataFrame.", name=taken[0]
        )
    if any(name not in frame.columns for name in answer.columns):
        check_names(tuple(frame.columns), answer.columns)
    model, key = asked.model, list(frame.columns)
    try:
        one = asked.verb != "predict_log_proba" and isinstance(model.to_sql("spark", key=key), str)
    except (
        NotSupported,
        SettingError,
        UsageError,
    ):  # by Python then: what SQL cannot say, and without sqlglot
        one = False
    if not one:  # a script would make tables in the database
        return map_on_spark(frame, answer)
    answers = [PREDICTION, *(f"p_{label}" for label in model.classes_.tolist())]
    return select_on_spark(frame, lambda view: model.to_sql("spark", view, key), answers, answer.names)


def draw_classes(model: Model, n: int, rng: np.random.Generator, given_class: Label | None) -> Codes:
    """Draw n classes from the prior, or repeat the one given."""
    if given_class is not None:
        return np.full(n, model.schema.target.code_of(given_class), dtype=np.intp)
    prior = np.exp(model.log_prior)
    return rng.choice(len(prior), size=n, p=prior / prior.sum()).astype(np.intp)


def draw_codes(
    model: Model, n: int, rng: np.random.Generator, given_class: Label | None = None
) -> tuple[Codes, Codes, Floats]:
    """Draw classes, codes and numbers: first the class, then the attributes, each after its parents."""
    conditionals = model.conditionals
    first = next((c for c in conditionals if c.supports("sample_all")), None)
    if first is not None:
        others = tuple(c for c in conditionals if c is not first)
        only = None if given_class is None else model.schema.target.code_of(given_class)
        rows = first.sample_all(n, rng, only)
        if rows is not None:
            return _draw_attributes(others, rows, rng)
        conditionals = (*first.in_its_place(), *others)
    classes = draw_classes(model, n, rng, given_class)
    codes = np.zeros((n, len(model.schema.categorical)), dtype=np.intp)
    values = np.full((n, len(model.schema.numeric)), np.nan)
    # Conditionals that draw codes come before those whose parents are codes.
    ordered = sorted(conditionals, key=lambda conditional: not conditional.has_tables)
    return _draw_attributes(ordered, DrawnRows(classes, codes, values), rng)


def _draw_attributes(
    conditionals: Sequence[Conditional], rows: DrawnRows, rng: np.random.Generator
) -> tuple[Codes, Codes, Floats]:
    """Draw all attributes of the rows. If missing is a state, draw at the end which numbers are missing."""
    for conditional in conditionals:
        conditional.sample_into(rows, rng)
    return rows.classes, rows.codes, rows.finished()


def _labelled(schema: Schema, codes: Codes, values: Floats) -> dict[Any, NDArray[Any]]:
    categorical = {v.name: j for j, v in enumerate(schema.categorical)}
    columns: dict[Any, NDArray[Any]] = {}
    for variable in schema.attributes:
        if variable.name in categorical:
            # The code after the last state means missing, and a model may draw it like a state.
            labels = np.empty(variable.size + 1, dtype=object)
            labels[:-1], labels[-1] = variable.states, None
            columns[variable.name] = labels[codes[:, categorical[variable.name]]]
        else:
            columns[variable.name] = values[:, schema.numeric_index[variable.name]]
    return columns


def sample_rows(
    model: Model, named: bool, n: int, rng: np.random.Generator, given_class: Label | None
) -> Any:
    """Return (X, class codes): a frame if the model knows column names, else an array.

    A numeric attribute that the model has cut into intervals is drawn as the label of its interval, because
    nothing is known about the distribution within the interval. The cell is None if missing is a state of an
    attribute with parents, or if the attribute is not in the model.
    """
    if n < 0:
        raise SettingError("n_samples is {n_samples!r}; give a number of at least 0.", n_samples=n)
    if model.schema.block is not None:
        classes = draw_classes(model, n, rng, given_class)
        rows = DrawnRows(classes, np.zeros((n, 0), dtype=np.intp), np.zeros((n, 0)))
        for conditional in model.conditionals:
            conditional.sample_into(rows, rng)
        return rows.block, classes
    classes, codes, values = draw_codes(model, n, rng, given_class)
    columns = _labelled(model.schema, codes, values)
    if named:
        if find_spec("pandas") is not None:
            import pandas as pd

            return pd.DataFrame(columns), classes
        return columns, classes
    numeric = not model.schema.categorical
    array = np.empty((n, len(columns)), dtype=np.float64 if numeric else object)
    for j, column in enumerate(columns.values()):
        array[:, j] = column
    return array, classes
