"""Predictions for DataFrames of Dask and Spark, computed lazily on their workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._counting.dask_backend import map_on_dask
from bayeskit._counting.partitions import Answer
from bayeskit._counting.spark_backend import map_on_spark, select_on_spark
from bayeskit._data.encode import check_names
from bayeskit._data.frames import cluster_of
from bayeskit.errors import NotSupported, SettingError, UsageError

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier

# As in SQL (to_sql): the prediction, and one column for each class.
PREDICTION = "prediction"


def cluster_answer(model: CountClassifier, frame: Any, verb: str) -> Any:
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
            "A lazy model counts when it is asked, and cannot go to the workers of a {name} DataFrame. Use fit.",
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
        check_names(tuple(frame.columns), answer.columns)
        return map_on_dask(frame, answer)
    return _on_spark(asked, answer, frame)


@dataclass(frozen=True)
class _Verb:
    """What a model answers by one of its verbs, an array for each column."""

    model: Any
    verb: str

    def __call__(self, rows: Any) -> list[Any]:
        found = getattr(self.model, self.verb)(rows)
        return [found] if self.verb == "predict" else list(found.T)


def _on_spark(asked: _Verb, answer: Answer, frame: Any) -> Any:
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
