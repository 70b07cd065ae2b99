"""What charts of predictions are made of: the posterior looked at, and whether it came true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit.errors import DataError, SettingError
from bayeskit.schema import Label

Floats = NDArray[np.float64]


def class_codes(
    y: ArrayLike, posterior: ArrayLike, classes: Sequence[Label] | NDArray[Any]
) -> tuple[NDArray[np.intp], Floats, list[Label]]:
    """Return the number of the class of each row, the posteriors as an array, and the classes.

    >>> class_codes(["b", "a"], [[0.5, 0.5], [1.0, 0.0]], ["a", "b"])[0]
    array([1, 0])
    """
    labels = list(classes.tolist() if isinstance(classes, np.ndarray) else classes)
    shares = np.asarray(posterior, dtype=np.float64)
    truth = np.asarray(y).tolist() if not isinstance(y, list) else y
    if shares.ndim != 2 or shares.shape != (len(truth), len(labels)) or not len(truth):
        raise DataError(
            f"posterior has shape {shares.shape}, for {len(truth)} rows and {len(labels)} classes. Give one row of "
            "posteriors for each label, one column for each class."
        )
    if not np.isfinite(shares).all() or (shares < 0).any() or (shares > 1 + 1e-9).any():
        raise DataError("posterior holds numbers that are no probabilities. Give what predict_proba answers.")
    place = {label: k for k, label in enumerate(labels)}
    strange = next((label for label in truth if label not in place), None)
    if strange is not None or None in truth:
        raise DataError(
            f"The row label {strange!r} is none of the classes ({', '.join(map(str, labels[:8]))})."
        )
    return np.array([place[label] for label in truth], dtype=np.intp), shares, labels


def outcomes(
    y: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Label] | NDArray[Any],
    label: Label | None,
    *,
    binary: bool = False,
) -> tuple[Label | None, Floats, Floats]:
    """Return the class looked at (None: the one chosen), its posterior in each row, and 1 where it came true.

    Without a label it is the second of two classes. With ``binary`` there must be one.

    >>> outcomes([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], [0, 1, 2], None)[1:]
    (array([0.5, 0.8]), array([1., 0.]))
    """
    codes, shares, labels = class_codes(y, posterior, classes)
    if label is None and len(labels) == 2:
        label = labels[1]
    if label is None:
        if binary:
            raise SettingError(
                f"There are {len(labels)} classes: say which with label=, such as {labels[0]!r}."
            )
        chosen = shares.argmax(axis=1)
        return None, shares[np.arange(len(codes)), chosen], (chosen == codes).astype(np.float64)
    if label not in labels:
        raise SettingError(
            f"label is {label!r}, which is no class. There are {', '.join(map(repr, labels[:12]))}."
        )
    k = labels.index(label)
    return label, shares[:, k], (codes == k).astype(np.float64)
