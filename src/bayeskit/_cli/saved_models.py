"""Saved models for commands: a classifier, or a network used to predict one of its nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.file_reading import FileReading, read_like
from bayeskit._data.file_rows import FileRows, kinds_of, learned_columns
from bayeskit._messages import Joined, Message, did_you_mean
from bayeskit._schema import Variable
from bayeskit.errors import DataError, SettingError, UsageError

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork


@dataclass(frozen=True)
class SavedPredictor:
    """A saved model as commands use it to predict.

    Attributes
    ----------
    target : the name of the class column
    classes : in the order of the columns of ``predict_proba``
    variables : of the attributes; empty where the model was learned from columns without names
    optional : bool
        Whether columns may be absent: a network sums them out.
    reading : how the training table was read, if it was a file
    estimator : the classifier, or None for a network
    """

    target: str
    classes: tuple[Any, ...]
    variables: tuple[Variable, ...]
    predict_proba: Callable[[Mapping[str, NDArray[Any]]], NDArray[np.float64]]
    optional: bool = False
    reading: FileReading | None = None
    estimator: Any = None

    def columns_of(self, rows: FileRows) -> FileRows:
        """Return the columns of a table that the model uses, each read as in training."""
        if not self.variables:
            return rows.without([self.target]) if self.target in rows.names else rows
        kinds = kinds_of(self.variables)
        names = [str(v.name) for v in self.variables]
        if self.optional:
            names = [name for name in names if name in rows.names]
            if not names:
                raise DataError(
                    "{shown} has no column that is a node of the network. Check the names.", shown=rows.shown
                )
        kinds = {name: kind for name, kind in kinds.items() if name in names}
        return as_learned(rows, self.reading, names, kinds)


def as_learned(
    rows: FileRows, reading: FileReading | None, names: Sequence[str], kinds: Mapping[str, str]
) -> FileRows:
    """Return columns of a table, read as in training. One error names everything that does not fit."""
    return rows.fitting(names, kinds) if reading is None else read_like(rows, reading, names, kinds)


def rows_as_learned(estimator: CountClassifier, rows: FileRows) -> FileRows:
    """Return the columns of the model and its target, each read as in training."""
    schema = estimator.schema_
    target = str(schema.target.name)
    rows.need(target)
    if not hasattr(estimator, "feature_names_in_"):
        return rows
    names = [str(name) for name in estimator.feature_names_in_]
    kinds = kinds_of((*learned_columns(estimator), schema.target))
    # A new class may be a word even if the others are numbers, so only text is enforced.
    kinds = {k: v for k, v in kinds.items() if k != target or v == "str"}
    return as_learned(rows, estimator.reading_, [*names, target], kinds)


def existing(path: str) -> Path:
    """Raise an error for a missing file, with the nearest name in its folder."""
    place = Path(path)
    if place.is_dir():
        raise DataError("{path!r} is a directory. Name a file in it.", path=path)
    if not place.exists():
        folder = place.absolute().parent
        near = get_close_matches(place.name, os.listdir(folder)) if folder.is_dir() else []
        meant = (
            Message(" Did you mean {names}?", names=Joined(map(repr, near), " or "))
            if near
            else Message(" Check the path.")
        )
        raise DataError("There is no file {path!r}.{meant}", path=path, meant=meant)
    if not place.is_file():  # the file is read more than once, which is impossible for a pipe
        raise DataError(
            "{path!r} is a pipe or a device. Save what it holds to a file, and name that.", path=path
        )
    return place


def is_classifier(path: str) -> bool:
    """Whether a file looks like a saved classifier: a length of eight bytes, then JSON."""
    with open(existing(path), "rb") as file:
        head = file.read(9)
    return head[8:] == b"{" and b"\0\0" in head[:8]


def open_classifier(path: str) -> Any:
    """Load a saved classifier, or that of a store.

    A network is refused, since it holds no counts, and so is a model that predicts no class.
    """
    from bayeskit import load

    if Path(path).is_dir():
        from bayeskit._classifiers.tally_store import TallyStore, is_store

        if is_store(path):
            return TallyStore[Any](path).model()
    if not is_classifier(path) and is_network(path):
        raise UsageError(
            "{path!r} is a network, not a model saved by 'bayeskit fit'. Ask it with 'bayeskit network query'.",
            path=path,
        )
    model = load(path)
    name = type(model).__name__
    if not hasattr(model, "explain"):
        raise UsageError(
            "{path!r} holds a {name}, which predicts no class. Use it from Python.", path=path, name=name
        )
    return model


def open_model(path: str, target: str | None = None) -> SavedPredictor:
    """Open a saved classifier, or a network and the node to predict."""
    if Path(path).is_dir() or is_classifier(path) or not is_network(path):
        model = open_classifier(path)
        if target is not None and target != str(model.schema_.target.name):
            raise SettingError(
                "{path!r} predicts {name!r}. Leave --target out.", path=path, name=model.schema_.target.name
            )
        return SavedPredictor(
            str(model.schema_.target.name),
            tuple(model.classes_.tolist()),
            learned_columns(model),
            model.predict_proba,
            reading=model.reading_,
            estimator=model,
        )
    return _network_model(path, target)


def variables_of(network: BayesianNetwork | MarkovNetwork) -> dict[str, Variable]:
    """Return the variables of a network by the text of their names."""
    value = network._network
    found = [node.variable for node in value.nodes] if hasattr(value, "nodes") else value.variables
    return {str(variable.name): variable for variable in found}


def _network_model(path: str, target: str | None) -> SavedPredictor:
    from bayeskit import read_network

    network = read_network(path)
    by_name = variables_of(network)
    if target is None:
        raise SettingError("{path!r} is a network: say which node to predict with --target NODE.", path=path)
    if target not in by_name:
        raise SettingError(
            "{path!r} has no node {target!r}. {hint}",
            path=path,
            target=target,
            hint=did_you_mean(target, by_name),
        )
    node, reading = by_name[target], getattr(network, "reading_", None)
    return SavedPredictor(
        target,
        node.states,
        tuple(variable for variable in by_name.values() if variable is not node),
        lambda batch: network.predict_proba(batch, node.name),
        optional=True,
        reading=None if reading is None else reading.about(target),
    )


def need_network_suffix(path: str) -> None:
    """Raise an error for a file name without a known format, before any work is done."""
    from bayeskit._io.networks.registry import FORMATS

    known = [end for form in FORMATS.values() if form.write is not None for end in form.suffixes]
    if _suffix(path) not in known:
        raise SettingError(
            "{path!r} must name a network file: end it in one of {names}.",
            path=path,
            names=Joined(known),
        )


def refuse_network_suffix(path: str) -> None:
    """Raise an error for a model with the suffix of a network file, which readers of networks would misread."""
    if has_network_suffix(path):
        model = f"{path.removesuffix(Path(path).suffix)}.bayes"
        raise SettingError(
            "{path!r} is the name of a network's file, and this is a model. Write it to {model!r}; then 'bayeskit "
            "network convert {model} {path}' writes its network.",
            path=path,
            model=model,
        )


def is_network(path: str) -> bool:
    """Whether a file looks like a network, by its suffix or its beginning."""
    from bayeskit._io.networks.raw import read_bytes
    from bayeskit._io.networks.registry import sniffed

    return has_network_suffix(path) or sniffed(read_bytes(path)) is not None


def has_network_suffix(path: str) -> bool:
    """Whether a file is named as a network's."""
    from bayeskit._io.networks.registry import FORMATS

    return any(_suffix(path) in form.suffixes for form in FORMATS.values())


def _suffix(path: str) -> str:
    return Path(path.lower().removesuffix(".gz")).suffix
