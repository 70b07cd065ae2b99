"""Semi-supervised learning for all classifiers: which rows are unlabelled, and how they are used.

The method is EM, or self-training for models without P(x).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.class_labels import as_labels, batch_weights
from bayeskit._data.columns import CodedColumn, factorize_array
from bayeskit._data.encoded import EncodedTable
from bayeskit._data.frames import factorize_series
from bayeskit._data.source import Rows, Source
from bayeskit._fitting.em import EmResult
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.semi_supervised import SplitRows, WeightTrial, check_weight, weigh
from bayeskit._schema import Label
from bayeskit.errors import DataError, InfiniteValue, NotConverged, SettingError, SuspectResult, UsageError
from bayeskit.typing import Array, LabelsLike

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier


def check_unlabelled(model: CountClassifier) -> None:
    """Raise an error for invalid settings about unlabelled rows."""
    if not isinstance(model.semi_supervised, (bool, np.bool_)):
        raise SettingError(
            "semi_supervised is {semi_supervised!r}; it must be True or False.",
            semi_supervised=model.semi_supervised,
        )
    check_weight(model.unlabelled_weight)
    check_missing_label(model.missing_label)
    if not model.semi_supervised:
        settings = ["unlabelled_weight"] * (model.unlabelled_weight != 1.0)
        for name in settings + ["missing_label"] * (model.missing_label is not None):
            raise SettingError(
                "{name}={value!r} concerns rows without a label, which are not used. Pass semi_supervised=True "
                "too, or leave {name} out.",
                name=name,
                value=getattr(model, name),
            )


def parted(model: CountClassifier, source: Source) -> tuple[Source, Source]:
    """Split a source into its labelled and its unlabelled rows."""
    source.need_many_passes(f"{type(model).__name__}(semi_supervised=True)")
    rule = MissingLabels.detect(source, model.missing_label)
    if not source.in_memory:
        labelled, unlabelled = replace(source, keep=rule.labelled), replace(source, keep=rule.unlabelled)
        known = next(iter(labelled), None)
    else:
        batch = next(iter(source))
        known, rest = rule.labelled(batch), rule.unlabelled(batch)
        if rest is None:
            _warn_all_labelled()
        labelled, unlabelled = replace(source, keep=lambda _: known), replace(source, keep=lambda _: rest)
    if known is None:
        raise DataError(
            "No row has a label, so there are no classes to learn. Label a few rows of each class, or look for "
            "groups with LatentClass."
        )
    return labelled, unlabelled


@contextmanager
def numbering(model: CountClassifier, source: Source) -> Iterator[None]:
    """Make errors report a row's position in the source, not its position among the labelled or unlabelled rows."""
    try:
        yield
    except InfiniteValue as error:
        table = next(iter(source)).table if source.in_memory else None
        if table is None or error.column not in table.names:
            raise
        numbers = table.numbers(table.names.index(error.column))
        row = int(np.isinf(numbers).argmax())
        raise InfiniteValue(error.column, row, float(numbers[row])) from None


def complete(
    model: CountClassifier, fitted: FittedState, kept: list[EncodedTable], unlabelled: Source
) -> dict[str, Any]:
    """Add the expected counts of unlabelled rows to those of the labelled rows. Return the state to store."""
    rows = SplitRows.of(fitted, kept, unlabelled)
    if rows is None:
        if not unlabelled.in_memory:  # otherwise the error was raised when the rows were split
            _warn_all_labelled()
        found = WeightTrial(
            0.0 if isinstance(model.unlabelled_weight, str) else model.unlabelled_weight, None
        )
    else:
        found = weigh(rows, model.unlabelled_weight)
    result = found.result
    if result is not None:
        fitted.complete(result.parameters.statistics)
        if not result.converged and result.stopped is None:
            warnings.warn(
                NotConverged(
                    "The shares of the unlabelled rows were still changing after {n_iter} steps (see history_). "
                    "The model is that of the best step; a smaller unlabelled_weight often converges sooner.",
                    n_iter=result.n_iter,
                ),
                stacklevel=3,
            )
    return completion_of(found.weight, result, found.losses)


def label_source(y: LabelsLike | None) -> Any:
    """Return y if it determines the dtype of the classes, or None if it holds objects, such as missing labels."""
    found = np.asarray(y) if isinstance(y, (list, tuple)) else y
    return None if getattr(getattr(found, "dtype", None), "kind", "O") == "O" else y


def all_labelled(model: CountClassifier, source: Source) -> Source:
    """Return a source that raises an error for unlabelled rows, for methods that read the rows only once."""

    def refuse(batch: Rows) -> Rows:
        rule = MissingLabels.detect([batch], model.missing_label)
        missing = int(rule.rows(batch.y, batch.table.n_rows).sum())
        if missing:
            raise UsageError(
                "{missing} row{_have} no label. partial_fit adds labelled rows only: learning from unlabelled "
                "ones needs many passes. Pass them to fit, together with the labelled rows.",
                missing=missing,
                _have="s have" if missing > 1 else " has",
            )
        return batch

    return replace(source, keep=refuse)


def _warn_all_labelled() -> None:
    warnings.warn(
        SuspectResult(
            "semi_supervised=True, and no row (of any weight) is without a label. None and NaN are missing labels, "
            "−1 is where all labels are whole numbers; name another value with missing_label=."
        ),
        stacklevel=4,
    )


def completion_of(
    weight: float | str, result: EmResult[Any] | None, losses: dict[float, float] | None = None
) -> dict[str, Any]:
    """Return the state to store after semi-supervised learning; ``result`` is None without unlabelled rows."""
    return {
        "weight": float(weight),
        "losses": losses or {},
        "history": () if result is None else result.history,
        "converged": result is None or result.converged,
        "fell": result is not None and result.fell,
    }


@dataclass(frozen=True)
class MissingLabels:
    """The values that mean a missing label, in addition to None, NaN, NaT and NA, which always do.

    Attributes
    ----------
    value : label, optional
    minus_one : bool
        Whether −1 means a missing label.

    Examples
    --------
    >>> MissingLabels("?").rows(["a", "?", None, "b"], 4)
    array([False,  True,  True, False])
    """

    value: Any = None
    minus_one: bool = False

    @classmethod
    def detect(cls, rows: Iterable[Rows], value: object = None) -> MissingLabels:
        """Check all labels: if they are integers and no value was given, −1 means missing.

        Labels of only 1 and −1 could also be two classes, and are an error.
        """
        if value is not None:
            return cls(value)
        seen: set[Label] = set()
        for batch in rows:
            labels = as_labels(batch.y, batch.table.n_rows)
            present = _whole_numbers(labels)
            if present is None:
                return cls()
            seen |= present
        if -1 not in seen:
            return cls()
        if seen == {-1, 1}:
            raise SettingError(
                "The labels are 1 and −1: −1 may be a class or stand for a missing label. Pass missing_label=-1 if it "
                "is missing, or missing_label=float('nan') if it is a class (None and NaN are always missing)."
            )
        return cls(minus_one=True)

    def rows(self, y: LabelsLike | None, n_rows: int) -> NDArray[np.bool_]:
        """Return for each row whether its label is missing."""
        labels = as_labels(y, n_rows)
        named = -1 if self.minus_one else self.value
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iufb":
            missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(n_rows, dtype=bool)
            return missing if not isinstance(named, (int, float, np.number)) else missing | (labels == named)
        coded = _coded(labels)
        absent = np.array([*(label == named for label in coded.labels), True], dtype=bool)
        return np.asarray(absent[np.asarray(coded.codes, dtype=np.intp)])

    def labelled(self, batch: Rows) -> Rows | None:
        """Return the rows that have a label; unchanged if all have one."""
        missing = self.rows(batch.y, batch.table.n_rows)
        return _part(batch, np.flatnonzero(~missing)) if missing.any() else batch

    def unlabelled(self, batch: Rows) -> Rows | None:
        """Return the rows without a label, dropping the labels and any rows of weight 0."""
        missing = self.rows(batch.y, batch.table.n_rows)
        weights = batch_weights(batch.weights, batch.table.n_rows)
        if weights is not None:
            missing &= weights > 0.0
        part = _part(batch, np.flatnonzero(missing))
        return None if part is None else Rows(part.table, None, part.weights)


def check_missing_label(value: object) -> None:
    """Raise an error if a value cannot be a label."""
    if isinstance(value, (list, tuple, dict, set, np.ndarray)):
        raise SettingError(
            "missing_label is {value!r}; give the one value that stands for a missing label.", value=value
        )


def _part(batch: Rows, rows: NDArray[np.intp]) -> Rows | None:
    if not len(rows):
        return None
    labels = as_labels(batch.y, batch.table.n_rows)
    weights = batch_weights(batch.weights, batch.table.n_rows)
    return Rows(batch.table.take(rows), labels[rows], None if weights is None else weights[rows])


def _coded(labels: Array) -> CodedColumn:
    return factorize_array(labels, "y") if isinstance(labels, np.ndarray) else factorize_series(labels, "y")


def _whole_numbers(labels: Array) -> set[Label] | None:
    """Return the labels that occur if all are integers, otherwise None."""
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iuO":
        return None
    if labels.dtype.kind != "O":
        coded = _coded(labels)
        return {coded.labels[i] for i in np.flatnonzero(np.bincount(coded.codes)).tolist()}
    present = set(_coded(labels).labels)
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in present)
    return present if whole else None
