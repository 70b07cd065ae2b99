"""A fitted Gaussian mixture ↔ one file: its parameters, its columns and its components."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayeskit.errors import ModelFormatError
from bayeskit.io.plain_values import from_plain, to_plain
from bayeskit.io.saved import Saved, as_path, write_saved
from bayeskit.io.trial import try_answers
from bayeskit.learning.mixtures.components import Components
from bayeskit.mixtures.gaussian_mixture import GaussianMixture
from bayeskit.mixtures.numeric_rows import LARGEST, NumericColumns
from bayeskit.mixtures.saved_parts import packed, unpacked
from bayeskit.typing import PathLike

_ARRAYS = ("weights_", "means_", "covariances_", "history_", "starts_")
_FACTS = ("converged_", "n_iter_", "fell_", "lower_bound_", "lower_bounds_", "rows_seen_")
_FIELDS = ("parameters", "covariance_type", "collapsed", "width", "names", "facts", "choice")


def save_mixture(mixture: GaussianMixture, path: PathLike) -> None:
    """Write a fitted mixture to one file, whole or not at all."""
    place = as_path(path)
    check_is_fitted(mixture)
    columns = mixture._columns
    content = packed(mixture, GaussianMixture, _FACTS) | {
        "covariance_type": mixture.covariance_type_,
        "collapsed": list(mixture.collapsed_),
        "width": columns.width,
        "names": to_plain(columns.names, "the column names"),
    }
    write_saved(Saved("model", content, {name: getattr(mixture, name) for name in _ARRAYS}), place)


def rebuilt_mixture(saved: Saved) -> GaussianMixture:
    """Return the mixture that a file holds; a file that contradicts itself is refused."""
    content, arrays = saved.content, saved.arrays
    mixture = unpacked(saved, GaussianMixture, _FIELDS, _ARRAYS, _FACTS)
    names = from_plain(content["names"])
    columns = NumericColumns(content["width"], None if names is None else tuple(names))
    found = Components(
        arrays["weights_"],
        arrays["means_"],
        arrays["covariances_"],
        content["covariance_type"],
        tuple(content["collapsed"]),
    )
    _check(found, columns)
    mixture.history_, mixture.starts_ = arrays["history_"], arrays["starts_"]
    mixture._keep(found)
    mixture._keep_columns(columns)
    try_answers(mixture._log_joint, columns.schema)
    return mixture


def _check(found: Components, columns: NumericColumns) -> None:
    k, d = len(found.weights), columns.width
    shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    sound = (
        found.means.shape == (k, d)
        and found.covariances.shape == shapes[found.covariance_type]
        and all(part.dtype == np.float64 for part in (found.weights, found.means, found.covariances))
        and (np.abs(found.means) < LARGEST).all()
        and np.isfinite(found.covariances).all()
        and (found.weights >= 0.0).all()
        and abs(found.weights.sum() - 1.0) < 1e-6
        and (columns.names is None or len(columns.names) == d)
        and all(type(c) is int and 0 <= c < k for c in found.collapsed)
    )
    if not sound:
        raise ModelFormatError(
            "its weights, means, covariances and columns do not go together. Save it again."
        )
