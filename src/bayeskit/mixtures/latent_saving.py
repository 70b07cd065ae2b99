"""A fitted model of hidden classes ↔ one file: its parameters, its schema, its sums and its components."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.source import LEAST_WEIGHT
from bayeskit.data.table import open_table
from bayeskit.errors import ModelFormatError, UsageError
from bayeskit.io.plain_values import from_plain, to_plain
from bayeskit.io.saved import Arrays, Saved, as_path, write_saved
from bayeskit.io.saved_statistics import pack_statistics, unpack_statistics
from bayeskit.io.trial import try_answers
from bayeskit.learning.mixtures.latent_fit import LatentFit
from bayeskit.learning.mixtures.latent_model import components_of, flat, unflat
from bayeskit.learning.mixtures.latent_rows import hidden_class
from bayeskit.learning.model import Model, estimate, plan_for
from bayeskit.mixtures.latent_class import LatentClass
from bayeskit.mixtures.saved_parts import packed, unpacked
from bayeskit.statistics import Statistics
from bayeskit.typing import PathLike

Floats = NDArray[np.float64]

_FACTS = ("converged_", "n_iter_", "fell_", "lower_bound_", "lower_bounds_")
_HISTORY = ("history_", "starts_")
_FIELDS = ("parameters", "statistics", "names", "facts", "choice")
_WAY_OUT = "Save it again."


def save_latent(mixture: LatentClass, path: PathLike) -> None:
    """Write a fitted model to one file, whole or not at all."""
    place, state = as_path(path), mixture._state()
    content = packed(mixture, LatentClass, _FACTS)
    mixture._checked()
    if (mixture._recipe(), float(mixture.variance_floor)) != (state.recipe, state.floor):
        raise UsageError(
            "families, missing, alpha or variance_floor were changed after fitting, so the model on file would not be "
            "this one. Set them back, or fit again, then save."
        )
    sums, arrays = pack_statistics(state.statistics)
    content |= {"statistics": sums, "names": to_plain(state.names, "the column names")}
    moved = {name: np.ascontiguousarray(array) for name, array in _arrays_of(state.model).items()}
    history = {name: getattr(mixture, name) for name in _HISTORY}
    write_saved(Saved("model", content, {**arrays, **moved, **history}), place)


def rebuilt_mixture(saved: Saved) -> LatentClass:
    """Return the model that a file holds; a file that contradicts itself is refused."""
    content, arrays = saved.content, saved.arrays
    mixture = unpacked(saved, LatentClass, _FIELDS, _HISTORY, _FACTS)
    own = {name: a for name, a in arrays.items() if not name.startswith("model/") and name not in _HISTORY}
    statistics, recipe = unpack_statistics(content["statistics"], own), mixture._recipe()
    schema = statistics.schema
    if schema.target != hidden_class(schema.n_classes) or plan_for(schema, recipe) != statistics.plan:
        raise ModelFormatError(
            "its sums are not those of a LatentClass with its parameters. Save it again, with this version."
        )
    if not statistics.total >= LEAST_WEIGHT:
        raise ModelFormatError(f"its rows weigh {statistics.total:g} together. {_WAY_OUT}")
    plain = from_plain(content["names"])
    names = None if plain is None else tuple(plain)
    if names is not None and names != tuple(variable.name for variable in schema.attributes):
        raise ModelFormatError(f"its columns are not those of its sums. {_WAY_OUT}")
    floor = float(mixture.variance_floor)
    model = _with_arrays(estimate(statistics, recipe), arrays, floor)
    _check(model, statistics)
    mixture._fitted = LatentFit(model, statistics, recipe, names, floor)
    for name in _HISTORY:
        setattr(mixture, name, arrays[name])
    mixture.n_features_in_ = len(schema.attributes)
    if names is not None and all(isinstance(name, str) for name in names):
        mixture.feature_names_in_ = np.array(names, dtype=object)
    try_answers(lambda rows: mixture._state().joint(open_table(rows), 1), schema, model.log_prior)
    return mixture


def _arrays_of(model: Model) -> dict[str, Any]:
    found: dict[str, Any] = {"model/log_prior": model.log_prior}
    for i, component in enumerate(components_of(model)):
        for name in component.saved:
            found[f"model/{i}/{name}"] = getattr(component, name)
    return found


def _with_arrays(like: Model, arrays: Arrays, floor: float) -> Model:
    """Return the model of the sums with the components of the file; both must have the same shape."""
    wanted = {name: np.asarray(array) for name, array in _arrays_of(like).items()}
    there = {name for name in arrays if name.startswith("model/")}
    odd = sorted(there ^ wanted.keys()) or [
        name
        for name, array in wanted.items()
        if (arrays[name].shape, arrays[name].dtype) != (array.shape, array.dtype)
    ]
    if odd:
        raise ModelFormatError(f"its {odd[0]} does not go with its sums. {_WAY_OUT}")
    found = []
    for i, component in enumerate(components_of(like)):
        moved = component.moved(**{name: arrays[f"model/{i}/{name}"] for name in component.saved})
        found.append(moved.with_floor(floor))
    return Model(like.schema, np.asarray(arrays["model/log_prior"]), tuple(found))


def _check(model: Model, statistics: Statistics) -> None:
    """Refuse components that are no distributions."""
    # Only the logarithm of an exact zero is not finite.
    for name, array in _arrays_of(model).items():
        least = -np.inf if "log_" in name else np.finfo(np.float64).min
        if not ((array >= least) & (array < np.inf)).all():
            raise ModelFormatError(f"its {name} holds numbers that cannot be. {_WAY_OUT}")
    if not all(component.is_sound() for component in components_of(model)):
        raise ModelFormatError(f"a deviation or a rate in it is below zero. {_WAY_OUT}")
    pooled = statistics
    if "moments" in statistics.parts:
        pooled = replace(statistics, parts={**statistics.parts, "moments": statistics.moments.pooled()})
    # Normalised once more, probabilities that add up to one stay as they are.
    with np.errstate(all="ignore"):
        again = _arrays_of(unflat(flat(model, pooled), model, pooled))
    for name, array in _arrays_of(model).items():
        if "log_" in name and not np.allclose(np.exp(array), np.exp(again[name]), rtol=0.0, atol=1e-6):
            raise ModelFormatError(f"the probabilities of its {name} do not add up to one. {_WAY_OUT}")
