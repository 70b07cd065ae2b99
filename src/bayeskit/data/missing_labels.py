"""Which rows have no class: the rows that semi-supervised learning completes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.columns import Coded, factorize_array
from bayeskit.data.frames import factorize_series
from bayeskit.data.labels import as_labels
from bayeskit.data.source import Rows, batch_weights
from bayeskit.errors import SettingError
from bayeskit.schema import Label
from bayeskit.typing import Array, LabelsLike


@dataclass(frozen=True)
class MissingLabels:
    """What stands for a missing label, beside None, NaN, NaT and NA, which always do.

    Attributes
    ----------
    value : label, optional
    minus_one : bool
        Whether −1 does.

    Examples
    --------
    >>> MissingLabels("?").rows(["a", "?", None, "b"], 4)
    array([False,  True,  True, False])
    """

    value: Any = None
    minus_one: bool = False

    @classmethod
    def found(cls, rows: Iterable[Rows], value: object = None) -> MissingLabels:
        """Look through all labels: where they are whole numbers and no value was named, −1 stands for missing.

        Labels of 1 and −1 alone could be two classes as well, and are refused.
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
        """Say of each row whether its label is missing."""
        labels = as_labels(y, n_rows)
        named = -1 if self.minus_one else self.value
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iufb":
            missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(n_rows, dtype=bool)
            return missing if not isinstance(named, (int, float, np.number)) else missing | (labels == named)
        coded = _coded(labels)
        absent = np.array([*(label == named for label in coded.labels), True], dtype=bool)
        return np.asarray(absent[np.asarray(coded.codes, dtype=np.intp)])

    def labelled(self, batch: Rows) -> Rows | None:
        """Return the rows that have a label; all of them as they are."""
        missing = self.rows(batch.y, batch.table.n_rows)
        return _part(batch, np.flatnonzero(~missing)) if missing.any() else batch

    def unlabelled(self, batch: Rows) -> Rows | None:
        """Return the rows that have none, without their labels; those without weight are absent."""
        missing = self.rows(batch.y, batch.table.n_rows)
        weights = batch_weights(batch.weights, batch.table.n_rows)
        if weights is not None:
            missing &= weights > 0.0
        part = _part(batch, np.flatnonzero(missing))
        return None if part is None else Rows(part.table, None, part.weights)


def check_missing_label(value: object) -> None:
    """Refuse what cannot be a label."""
    if isinstance(value, (list, tuple, dict, set, np.ndarray)):
        raise SettingError(f"missing_label is {value!r}; give the one value that stands for a missing label.")


def _part(batch: Rows, rows: NDArray[np.intp]) -> Rows | None:
    if not len(rows):
        return None
    labels = as_labels(batch.y, batch.table.n_rows)
    weights = batch_weights(batch.weights, batch.table.n_rows)
    return Rows(batch.table.take(rows), labels[rows], None if weights is None else weights[rows])


def _coded(labels: Array) -> Coded:
    return factorize_array(labels, "y") if isinstance(labels, np.ndarray) else factorize_series(labels, "y")


def _whole_numbers(labels: Array) -> set[Label] | None:
    """The labels that are there, where all are whole numbers; None where one is not."""
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iuO":
        return None
    if labels.dtype.kind != "O":
        coded = _coded(labels)
        return {coded.labels[i] for i in np.flatnonzero(np.bincount(coded.codes)).tolist()}
    present = set(_coded(labels).labels)
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in present)
    return present if whole else None
