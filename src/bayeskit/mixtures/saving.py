"""A fitted Gaussian mixture ↔ one file: its parameters, its columns and its components."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayeskit.errors import ModelFormatError, UsageError
from bayeskit.io.labels import from_plain, to_plain
from bayeskit.io.saved import Saved, as_path, write_saved
from bayeskit.learning.mixtures.components import Components
from bayeskit.mixtures.component_choice import Candidate, ComponentChoice
from bayeskit.mixtures.gaussian_mixture import GaussianMixture
from bayeskit.mixtures.numeric_rows import NumericColumns

_ARRAYS = ("weights_", "means_", "covariances_", "history_", "starts_")
_FACTS = ("converged_", "n_iter_", "fell_", "lower_bound_", "lower_bounds_", "rows_seen_")
_FIELDS = ("parameters", "covariance_type", "collapsed", "width", "names", "facts", "choice")


def save_mixture(mixture: GaussianMixture, path: Any) -> None:
    """Write a fitted mixture to one file, whole or not at all."""
    place = as_path(path)
    check_is_fitted(mixture)
    if type(mixture) is not GaussianMixture:
        raise UsageError(
            f"A {type(mixture).__name__} of {type(mixture).__module__} cannot be saved, only a GaussianMixture itself."
        )
    columns, choice = mixture._columns, mixture.__dict__.get("choice_")
    tried = None if choice is None else (choice.criterion, [astuple(c) for c in choice.candidates])
    content = {
        "estimator": "GaussianMixture",
        "parameters": {key: to_plain(value, key) for key, value in mixture.get_params(deep=False).items()},
        "covariance_type": mixture.covariance_type_,
        "collapsed": list(mixture.collapsed_),
        "width": columns.width,
        "names": to_plain(columns.names, "the column names"),
        "facts": {name: to_plain(getattr(mixture, name), name) for name in _FACTS},
        "choice": to_plain(tried, "the choice"),
    }
    write_saved(Saved("model", content, {name: getattr(mixture, name) for name in _ARRAYS}), place)


def rebuilt_mixture(saved: Saved) -> GaussianMixture:
    """Return the mixture that a file holds; a file that contradicts itself is refused."""
    content, arrays = saved.content, saved.arrays
    missing = [name for name in _FIELDS if name not in content] + [n for n in _ARRAYS if n not in arrays]
    missing += [name for name in _FACTS if name not in content.get("facts", ())]
    if missing:
        raise ModelFormatError(f"it does not tell its {', '.join(missing)}. Save the model again.")
    unknown = [key for key in content["parameters"] if key not in GaussianMixture._get_param_names()]
    if unknown:
        raise ModelFormatError(
            f"it gives GaussianMixture the parameters {unknown!r}, which this version does not have. "
            "Install a newer bayeskit."
        )
    mixture = GaussianMixture(**{key: from_plain(value) for key, value in content["parameters"].items()})
    mixture._checked()
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
    for name in _FACTS:
        setattr(mixture, name, from_plain(content["facts"][name]))
    mixture.history_, mixture.starts_ = arrays["history_"], arrays["starts_"]
    mixture._keep(found)
    mixture._keep_columns(columns)
    tried = from_plain(content["choice"])
    if tried is not None:
        mixture.choice_ = ComponentChoice(tuple(Candidate(*fields) for fields in tried[1]), tried[0])
    return mixture


def _check(found: Components, columns: NumericColumns) -> None:
    k, d = len(found.weights), columns.width
    shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    sound = (
        found.means.shape == (k, d)
        and found.covariances.shape == shapes[found.covariance_type]
        and all(part.dtype == np.float64 for part in (found.weights, found.means, found.covariances))
        and np.isfinite(found.means).all()
        and (found.weights >= 0.0).all()
        and abs(found.weights.sum() - 1.0) < 1e-6
        and (columns.names is None or len(columns.names) == d)
        and all(type(c) is int and 0 <= c < k for c in found.collapsed)
    )
    if not sound:
        raise ModelFormatError(
            "its weights, means, covariances and columns do not go together. Save it again."
        )
