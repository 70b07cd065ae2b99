"""Saving a fitted mixture to one file, and loading it: parameters, EM history and components.

A Gaussian mixture also stores its columns, a latent class model its schema and its sums, a hidden Markov model its
categories, the labels of its states and its counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, fields, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayeskit._data.class_labels import LEAST_WEIGHT
from bayeskit._data.table import open_table
from bayeskit._fitting.mixtures.components import Components
from bayeskit._fitting.mixtures.hidden_states import (
    SMALLEST_VARIANCE,
    CodeEmission,
    Emission,
    HiddenCounts,
    HiddenParameters,
    NormalEmission,
)
from bayeskit._fitting.mixtures.latent_fit import LatentFit
from bayeskit._fitting.mixtures.latent_model import components_of, flat, hidden_class, unflat
from bayeskit._fitting.model import Model, estimate, plan_for
from bayeskit._io.plain_values import from_plain, to_plain
from bayeskit._io.saved import Arrays, SavedContent, as_path, write_saved
from bayeskit._io.statistics import pack_statistics, unpack_statistics
from bayeskit._io.trial import is_loss, is_number, try_answers
from bayeskit._messages import Joined, Message
from bayeskit._mixtures.component_choice import Candidate, ComponentChoice
from bayeskit._mixtures.gaussian_mixture import GaussianMixture
from bayeskit._mixtures.hidden_markov import HiddenMarkov
from bayeskit._mixtures.latent_class import LatentClass
from bayeskit._mixtures.numeric_rows import LARGEST, NumericColumns
from bayeskit._schema import Variable, first_twice
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import ModelFormatError, UsageError
from bayeskit.typing import PathLike

M = TypeVar("M")

_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int, np.integer),
    "float": (float, np.floating),
    "bool": (bool, np.bool_),
    "str": (str,),
}
_FACTS: dict[str, Callable[[Any], bool]] = {
    "converged_": lambda value: isinstance(value, _KINDS["bool"]),
    "fell_": lambda value: isinstance(value, _KINDS["bool"]),
    "n_iter_": lambda value: type(value) is int and value >= 0,
    "lower_bound_": is_loss,
    "lower_bounds_": lambda value: type(value) is list and all(map(is_loss, value)),
    "rows_seen_": lambda value: is_number(value, 0.0) and value > 0.0,
}
_TRACKS = ("history_", "starts_")


def packed(mixture: BaseEstimator, kind: type[BaseEstimator], facts: Sequence[str]) -> dict[str, Any]:
    """Return the plain content of a mixture. A subclass is an error, because its code is not in the file."""
    if type(mixture) is not kind:
        raise UsageError(
            "A {kind} of {module} cannot be saved, only a {kind2} itself.",
            kind=type(mixture).__name__,
            module=type(mixture).__module__,
            kind2=kind.__name__,
        )
    choice = mixture.__dict__.get("choice_")
    tried = None if choice is None else (choice.criterion, [astuple(c) for c in choice.candidates])
    return {
        "estimator": kind.__name__,
        "parameters": {key: to_plain(value, key) for key, value in mixture.get_params(deep=False).items()},
        "facts": {name: to_plain(getattr(mixture, name), name) for name in facts},
        "choice": to_plain(tried, "the choice"),
    }


def unpacked(
    saved: SavedContent, kind: type[M], needed: Sequence[str], arrays: Sequence[str], facts: Sequence[str]
) -> M:
    """Return a mixture with the parameters, facts and choice of a file. The caller adds the rest."""
    content: Any = saved.content
    missing = [name for name in needed if name not in content] + [n for n in arrays if n not in saved.arrays]
    missing += [name for name in facts if name not in content.get("facts", ())]
    if missing:
        raise ModelFormatError(
            Message("it does not contain its {names}. Save it again.", names=Joined(missing))
        )
    made: Any = kind
    known = made._get_param_names()
    unknown = [key for key in content["parameters"] if key not in known]
    if unknown:
        raise ModelFormatError(
            Message(
                "it gives {kind} the parameters {unknown!r}, which this version does not have. "
                "Install a newer bayeskit.",
                kind=kind.__name__,
                unknown=unknown,
            )
        )
    mixture = made(**{key: from_plain(value) for key, value in content["parameters"].items()})
    mixture._checked()
    for name in facts:
        fact = from_plain(content["facts"][name])
        if not _FACTS[name](fact):
            raise ModelFormatError(
                Message("its {name} is {fact!r}, which is impossible. Save it again.", name=name, fact=fact)
            )
        setattr(mixture, name, fact)
    for name in _TRACKS:
        track = saved.arrays[name]
        if track.ndim != 1 or track.dtype != np.float64 or np.isnan(track).any():
            raise ModelFormatError(
                Message("its array {name} does not contain values of EM steps. Save it again.", name=name)
            )
    tried = from_plain(content["choice"])
    if tried is not None:
        mixture.choice_ = _choice(*tried)
    found: M = mixture
    return found


def _choice(criterion: str, candidates: Iterable[Iterable[Any]]) -> ComponentChoice:
    """Return the candidates; each must be complete, because they are compared."""
    found = ComponentChoice(tuple(Candidate(*each) for each in candidates), criterion)
    for one in found.candidates:
        if not all(isinstance(getattr(one, f.name), _KINDS[str(f.type)]) for f in fields(one)):
            raise ModelFormatError(Message("it describes a tried model as {one!r}. Save it again.", one=one))
    if criterion not in ("bic", "aic") or not found.candidates:
        raise ModelFormatError(
            Message(
                "its choice is by {criterion!r} among {n} models. Save it again.",
                criterion=criterion,
                n=len(found.candidates),
            )
        )
    return found


_GAUSSIAN_ARRAYS = ("weights_", "means_", "covariances_", "history_", "starts_")
_GAUSSIAN_FACTS = ("converged_", "n_iter_", "fell_", "lower_bound_", "lower_bounds_", "rows_seen_")
_GAUSSIAN_FIELDS = ("parameters", "covariance_type", "collapsed", "width", "names", "facts", "choice")


def save_gaussian(mixture: GaussianMixture, path: PathLike) -> None:
    """Write a fitted mixture to one file, completely or not at all."""
    place = as_path(path)
    check_is_fitted(mixture)
    columns = mixture._columns
    content = packed(mixture, GaussianMixture, _GAUSSIAN_FACTS) | {
        "covariance_type": mixture.covariance_type_,
        "collapsed": list(mixture.collapsed_),
        "width": columns.width,
        "names": to_plain(columns.names, "the column names"),
    }
    write_saved(
        SavedContent("model", content, {name: getattr(mixture, name) for name in _GAUSSIAN_ARRAYS}), place
    )


def rebuilt_gaussian(saved: SavedContent) -> GaussianMixture:
    """Return the mixture in a file. A file that contradicts itself is an error."""
    content, arrays = saved.content, saved.arrays
    mixture = unpacked(saved, GaussianMixture, _GAUSSIAN_FIELDS, _GAUSSIAN_ARRAYS, _GAUSSIAN_FACTS)
    names = from_plain(content["names"])
    columns = NumericColumns(content["width"], None if names is None else tuple(names))
    components = Components(
        arrays["weights_"],
        arrays["means_"],
        arrays["covariances_"],
        content["covariance_type"],
        tuple(content["collapsed"]),
    )
    _check_components(components, columns)
    mixture.history_, mixture.starts_ = arrays["history_"], arrays["starts_"]
    mixture._keep(components)
    mixture._keep_columns(columns)
    try_answers(mixture._log_joint, columns.schema)
    return mixture


def _check_components(components: Components, columns: NumericColumns) -> None:
    k, d = len(components.weights), columns.width
    shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    sound = (
        components.means.shape == (k, d)
        and components.covariances.shape == shapes[components.covariance_type]
        and all(
            part.dtype == np.float64
            for part in (components.weights, components.means, components.covariances)
        )
        and (np.abs(components.means) < LARGEST).all()
        and np.isfinite(components.covariances).all()
        and (components.weights >= 0.0).all()
        and abs(components.weights.sum() - 1.0) < 1e-6
        and (columns.names is None or len(columns.names) == d)
        and all(type(c) is int and 0 <= c < k for c in components.collapsed)
    )
    if not sound:
        raise ModelFormatError("its weights, means, covariances and columns are inconsistent. Save it again.")


_LATENT_FACTS = ("converged_", "n_iter_", "fell_", "lower_bound_", "lower_bounds_")
_LATENT_FIELDS = ("parameters", "statistics", "names", "facts", "choice")
_WAY_OUT = "Save it again."


def save_latent(mixture: LatentClass, path: PathLike) -> None:
    """Write a fitted model to one file, completely or not at all."""
    place, state = as_path(path), mixture._state()
    content = packed(mixture, LatentClass, _LATENT_FACTS)
    mixture._checked()
    if (mixture._spec(), float(mixture.variance_floor)) != (state.spec, state.floor):
        raise UsageError(
            "families, missing, smoothing or variance_floor were changed after fitting, so the file would "
            "not describe this model. Set them back or fit again, then save."
        )
    sums, arrays = pack_statistics(state.statistics)
    content |= {"statistics": sums, "names": to_plain(state.names, "the column names")}
    moved = {name: np.ascontiguousarray(array) for name, array in _arrays_of(state.model).items()}
    history = {name: getattr(mixture, name) for name in _TRACKS}
    write_saved(SavedContent("model", content, {**arrays, **moved, **history}), place)


def rebuilt_latent(saved: SavedContent) -> LatentClass:
    """Return the model in a file. A file that contradicts itself is an error."""
    content, arrays = saved.content, saved.arrays
    mixture = unpacked(saved, LatentClass, _LATENT_FIELDS, _TRACKS, _LATENT_FACTS)
    own = {name: a for name, a in arrays.items() if not name.startswith("model/") and name not in _TRACKS}
    statistics, spec = unpack_statistics(content["statistics"], own), mixture._spec()
    schema = statistics.schema
    if schema.target != hidden_class(schema.n_classes) or plan_for(schema, spec) != statistics.plan:
        raise ModelFormatError(
            "its sums are not those of a LatentClass with its parameters. Save it again, with this version."
        )
    if not statistics.total >= LEAST_WEIGHT:
        raise ModelFormatError(
            Message(
                "the weights of its rows add up to {total:g}. {way_out}",
                total=statistics.total,
                way_out=Message(_WAY_OUT),
            )
        )
    plain = from_plain(content["names"])
    names = None if plain is None else tuple(plain)
    if names is not None and names != tuple(variable.name for variable in schema.attributes):
        raise ModelFormatError(
            Message("its columns are not those of its sums. {way_out}", way_out=Message(_WAY_OUT))
        )
    floor = float(mixture.variance_floor)
    model = _with_arrays(estimate(statistics, spec), arrays, floor)
    _check_model(model, statistics)
    mixture._fitted = LatentFit(model, statistics, spec, names, floor)
    for name in _TRACKS:
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
        raise ModelFormatError(
            Message("its {odd} does not match its sums. {way_out}", odd=odd[0], way_out=Message(_WAY_OUT))
        )
    found = []
    for i, component in enumerate(components_of(like)):
        moved = component.moved(**{name: arrays[f"model/{i}/{name}"] for name in component.saved})
        found.append(moved.with_floor(floor))
    return Model(like.schema, np.asarray(arrays["model/log_prior"]), tuple(found))


def _check_model(model: Model, statistics: Statistics) -> None:
    """Raise an error for components that are not distributions."""
    # Only the logarithm of an exact zero may be infinite.
    for name, array in _arrays_of(model).items():
        least = -np.inf if "log_" in name else np.finfo(np.float64).min
        if not ((array >= least) & (array < np.inf)).all():
            raise ModelFormatError(
                Message(
                    "its {name} contains impossible numbers. {way_out}", name=name, way_out=Message(_WAY_OUT)
                )
            )
    if not all(component.is_sound() for component in components_of(model)):
        raise ModelFormatError(
            Message("a deviation or a rate in it is negative. {way_out}", way_out=Message(_WAY_OUT))
        )
    pooled = statistics
    if "moments" in statistics.parts:
        pooled = replace(statistics, parts={**statistics.parts, "moments": statistics.moments.pooled()})
    # Normalising again does not change probabilities that sum to one.
    with np.errstate(all="ignore"):
        again = _arrays_of(unflat(flat(model, pooled), model, pooled))
    for name, array in _arrays_of(model).items():
        if "log_" in name and not np.allclose(np.exp(array), np.exp(again[name]), rtol=0.0, atol=1e-6):
            raise ModelFormatError(
                Message(
                    "the probabilities of its {name} do not add up to one. {way_out}",
                    name=name,
                    way_out=Message(_WAY_OUT),
                )
            )


_HIDDEN_FACTS = ("converged_", "n_iter_", "fell_")
_HIDDEN_FIELDS = ("parameters", "emission", "variable", "width", "names", "states", "facts", "choice")


def save_hidden(model: HiddenMarkov, path: PathLike) -> None:
    """Write a fitted hidden Markov model to one file, completely or not at all."""
    place = as_path(path)
    check_is_fitted(model)
    variable, columns = model._variable, model._columns
    known = (
        None if variable is None else (variable.name, variable.states, variable.n_declared, variable.closed)
    )
    content = packed(model, HiddenMarkov, _HIDDEN_FACTS) | {
        "emission": model._parameters.emission.kind,
        "variable": to_plain(known, "the categories"),
        "width": 1 if columns is None else columns.width,
        "names": to_plain(None if columns is None else columns.names, "the column names"),
        "states": to_plain(model.states_, "the states"),
    }
    arrays = {name: getattr(model, name) for name in _TRACKS} | _hidden_arrays(model)
    write_saved(SavedContent("model", content, arrays), place)


def _hidden_arrays(model: HiddenMarkov) -> dict[str, Any]:
    found, emission = model._parameters, model._parameters.emission
    arrays: dict[str, Any] = {"start": found.start, "transition": found.transition}
    if isinstance(emission, CodeEmission):
        arrays["emission"] = emission.table
    else:
        arrays |= {"means": emission.means, "variances": emission.variances}
    counts = model.counts_
    if counts is not None:
        arrays |= {"counts/starts": counts.starts, "counts/transitions": counts.transitions}
        arrays |= {f"counts/emissions/{i}": part for i, part in enumerate(counts.emissions)}
        arrays["counts/log_probability"] = np.array([counts.log_probability])
        if counts.pivot is not None:
            arrays["counts/pivot"] = counts.pivot
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def rebuilt_hidden(saved: SavedContent) -> HiddenMarkov:
    """Return the hidden Markov model in a file. A file that contradicts itself is an error."""
    content, arrays = saved.content, saved.arrays
    normal = content.get("emission") == "gaussian"
    own = ("means", "variances") if normal else ("emission",)
    model = unpacked(
        saved, HiddenMarkov, _HIDDEN_FIELDS, ("start", "transition", *own, *_TRACKS), _HIDDEN_FACTS
    )
    if model.emission not in ("auto", content["emission"]):
        raise _contradiction()
    k, states = len(arrays["start"]), from_plain(content["states"])
    emission: Emission
    variable, columns = None, None
    if normal:
        names = from_plain(content["names"])
        columns = NumericColumns(content["width"], None if names is None else tuple(names))
        emission, shape = NormalEmission(arrays["means"], arrays["variances"]), (k, columns.width)
        sound = all(
            part.shape == shape and part.dtype == np.float64 and np.isfinite(part).all()
            for part in (emission.means, emission.variances)
        )
        sound = sound and bool(
            (emission.variances >= SMALLEST_VARIANCE).all() and (np.abs(emission.means) < LARGEST).all()
        )
        sound = sound and (columns.names is None or len(columns.names) == columns.width)
    else:
        name, labels, declared, closed = from_plain(content["variable"])
        variable = Variable(name, "categorical", tuple(labels), declared, closed)
        emission, shape = CodeEmission(arrays["emission"]), (k, variable.size)
        sound = _are_distributions(emission.table, shape) and first_twice(variable.states) is None
        sound = sound and type(declared) is int and 0 <= declared <= variable.size and type(closed) is bool
    sound = sound and k == model.n_states and type(states) is np.ndarray and states.shape == (k,)
    sound = sound and first_twice(states.tolist()) is None
    sound = (
        sound
        and _are_distributions(arrays["start"], (k,))
        and _are_distributions(arrays["transition"], (k, k))
    )
    if not sound:
        raise _contradiction()
    parameters = HiddenParameters(arrays["start"], arrays["transition"], emission)
    model._keep(parameters, variable, columns, states, _counts_in(arrays, parameters))
    model.history_, model.starts_ = arrays["history_"], arrays["starts_"]
    return model


def _are_distributions(array: Any, shape: tuple[int, ...]) -> bool:
    sound = array.dtype == np.float64 and array.shape == shape and array.size > 0
    return bool(sound and (array >= 0.0).all() and (np.abs(array.sum(axis=-1) - 1.0) < 1e-6).all())


def _counts_in(arrays: Arrays, parameters: HiddenParameters) -> HiddenCounts | None:
    """Return the counts in a file, if there are any; they must be sums of a model of this shape."""
    names = [name for name in arrays if name.startswith("counts/")]
    if not names:
        return None
    emission = parameters.emission
    zero = emission.zero()
    wanted = {"counts/starts": parameters.start.shape, "counts/transitions": parameters.transition.shape}
    wanted |= {f"counts/emissions/{i}": part.shape for i, part in enumerate(zero)}
    wanted["counts/log_probability"] = (1,)
    if isinstance(emission, NormalEmission):
        wanted["counts/pivot"] = emission.means.shape
    sound = sorted(names) == sorted(wanted) and all(
        arrays[name].shape == shape and arrays[name].dtype == np.float64 and np.isfinite(arrays[name]).all()
        for name, shape in wanted.items()
    )
    sums = ("counts/pivot", "counts/log_probability", "counts/emissions/1")
    if not sound or any((arrays[name] < 0.0).any() for name in names if name not in sums):
        raise _contradiction()
    return HiddenCounts(
        arrays["counts/starts"],
        arrays["counts/transitions"],
        tuple(arrays[f"counts/emissions/{i}"] for i in range(len(zero))),
        arrays.get("counts/pivot"),
        float(arrays["counts/log_probability"][0]),
    )


def _contradiction() -> ModelFormatError:
    return ModelFormatError(
        "its probabilities, categories, columns and counts do not go together. Save it again."
    )
