"""A fitted network classifier ↔ one file: its parameters, its schema, its arcs, and its counts.

The tables are made from the counts again. After EM there are no counts, and the tables themselves are kept.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from bayeskit.classifiers.network_classifier.classifier import BayesNetClassifier
from bayeskit.classifiers.saving import class_dtype, plain_class_dtype
from bayeskit.errors import ModelFormatError, UsageError
from bayeskit.graphs.network import Network, Node, discrete
from bayeskit.io.labels import from_plain, to_plain
from bayeskit.io.networks.native import native_text, read_native
from bayeskit.io.saved import Arrays, Saved, as_path, write_saved
from bayeskit.io.statistics import pack_statistics, pack_variable, unpack_statistics, unpack_variable
from bayeskit.io.trial import check_held, try_answers
from bayeskit.learning.networks.network_counts import NetworkCounts, wanted
from bayeskit.networks.bayesian_network import BayesianNetwork
from bayeskit.networks.learned.climbs import Climbed
from bayeskit.schema import Name, Schema, Variable

_WAY_OUT = "Save the model again, with this version."


def save_network_classifier(model: BayesNetClassifier, path: Any) -> None:
    """Write a fitted network classifier to one file, whole or not at all."""
    place = as_path(path)
    if type(model) is not BayesNetClassifier:
        raise UsageError(
            f"A {type(model).__name__} of {type(model).__module__} cannot be saved; a BayesNetClassifier can."
        )
    schema, network = model.schema_, model.network_
    variables = (schema.target, *schema.attributes)
    learned = network._learned
    arrays: dict[str, Any] = {}
    content: dict[str, Any] = {
        "estimator": type(model).__name__,
        "parameters": {key: to_plain(value, key) for key, value in model.get_params(deep=False).items()},
        "variables": [_spelt_out(variable) for variable in variables],
        "named": bool(model._named),
        "held": to_plain(model._held, "what the model holds"),
        "class_dtype": plain_class_dtype(model.__dict__.get("_class_dtype")),
        "statistics": None,
        "climbed": None,
    }
    if isinstance(learned, NetworkCounts):
        content["statistics"], arrays = pack_statistics(learned.statistics)
        content["prior"] = to_plain(network._prior["prior"], "prior")
    elif isinstance(learned, Climbed):
        content["climbed"] = {f.name: to_plain(getattr(learned, f.name), f.name) for f in fields(learned)}
    kept = isinstance(learned, Climbed)
    content["network"] = json.loads(native_text(_numbered(network._network, variables, kept)))
    write_saved(Saved("model", content, arrays), place)


def rebuilt_network_classifier(saved: Saved) -> BayesNetClassifier:
    """Return the classifier of a file."""
    content = saved.content
    parameters = {key: from_plain(value) for key, value in content["parameters"].items()}
    unknown = [key for key in parameters if key not in BayesNetClassifier._get_param_names()]
    if unknown:
        raise ModelFormatError(
            f"it gives BayesNetClassifier the parameters {unknown!r}, which this version does not have. Install a "
            "newer bayeskit."
        )
    model = BayesNetClassifier(**parameters)
    model._check_settings()
    variables = tuple(unpack_variable(plain, 0) for plain in content["variables"])
    schema = Schema(variables[1:], variables[0])
    value = _named(read_native(json.dumps(content["network"])), variables)
    if schema.target.name not in value.dag.position:
        raise ModelFormatError(f"its network has no node for its class. {_WAY_OUT}")
    network = BayesianNetwork._of(value)
    if content["climbed"] is None:
        counts = _counts(value, content["statistics"], saved.arrays)
        prior = from_plain(content["prior"])
        network._learn(value, counts, {"prior": prior, "weight": None, "variance": "mle"})
    else:
        network._learned = Climbed(**{key: from_plain(part) for key, part in content["climbed"].items()})
        if any(node.distribution is None for node in value.nodes):
            raise ModelFormatError(f"its network lacks a table. {_WAY_OUT}")
    held = from_plain(content["held"])
    check_held(held, schema)
    dtype = class_dtype(content["class_dtype"])
    model._adopt_network(network, schema, content["named"] is True, held, None)
    model._class_dtype = dtype
    if len(model.classes_) != schema.n_classes:
        raise ModelFormatError(f"its classes cannot be read as {content['class_dtype']!r}.")
    try_answers(model.predict_joint_log_proba, schema)
    return model


def _spelt_out(variable: Variable) -> dict[str, Any]:
    """Return a variable with all its states: no array of the file tells how many there may be."""
    plain = pack_variable(variable)
    return {**plain, "states": [to_plain(state, "a state") for state in variable.states]}


def _numbered(network: Network, variables: tuple[Variable, ...], tables: bool) -> Network:
    """Return a network whose names and states are numbers, and whose tables are left away unless wanted."""
    place: dict[Name, int] = {variable.name: j for j, variable in enumerate(variables)}
    return Network(
        tuple(
            Node(
                discrete(place[node.name], range(node.variable.size))
                if node.is_discrete
                else replace(node.variable, name=place[node.name]),
                tuple(place[parent] for parent in node.parents),
                node.distribution if tables else None,
            )
            for node in network.nodes
        ),
        network.name,
    )


def _named(network: Any, variables: tuple[Variable, ...]) -> Network:
    if not isinstance(network, Network):
        raise ModelFormatError(f"what it holds is no Bayesian network. {_WAY_OUT}")
    columns: dict[Name, Variable] = dict(enumerate(variables))
    nodes = []
    for node in network.nodes:
        found = columns.get(node.name)
        if found is None or (found.kind, found.size) != (node.variable.kind, node.variable.size):
            raise ModelFormatError(
                f"its network has a node {node.name!r} that is no column of it. {_WAY_OUT}"
            )
        nodes.append(Node(found, tuple(columns[p].name for p in node.parents), node.distribution))
    return Network(tuple(nodes), network.name)


def _counts(network: Network, content: Any, arrays: Arrays) -> NetworkCounts:
    statistics = unpack_statistics(content, arrays)
    if (statistics.schema, statistics.plan) != wanted(network):
        raise ModelFormatError(f"its counts are not those of its network. {_WAY_OUT}")
    return NetworkCounts(statistics)
