"""The native format: JSON that holds every kind of node and label exactly. See :mod:`native_values` for the parts.

``{"format": "bayeskit network", "version": 1, "kind": "bayesian", "name": …, "nodes": [...]}``; a Markov network has
``"kind": "markov"``, variables and factors. A table is a list of rows, one for each configuration of the parents, the
last parent fastest; numbers are written so that they come back bit for bit.
"""

from __future__ import annotations

from typing import Any

from bayeskit.errors import BayeskitError, ModelFormatError, SettingError
from bayeskit.graphs.network import Field, Network, Node, continuous, discrete
from bayeskit.io.networks.budget import Budget
from bayeskit.io.networks.json_text import parse_json
from bayeskit.io.networks.native_values import (
    check_names,
    distribution_from,
    distribution_plain,
    factor_from,
    label_from,
    label_plain,
    listed,
    member,
    states_from,
    texts_from,
)
from bayeskit.schema import Name, Variable
from bayeskit.visible import json_text

FORMAT = "bayeskit network"
VERSION = 1


def native_text(network: Network | Field) -> str:
    """Return the JSON text of a network, one line for each node.

    Examples
    --------
    >>> from bayeskit.graphs.distributions import Table
    >>> rain = Node(discrete("rain", [False, True]), (), Table([0.8, 0.2]))
    >>> read_native(native_text(Network((rain,)))) == Network((rain,))
    True
    """
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    parts: dict[str, list[Any]]
    if isinstance(network, Field):
        head["kind"] = "markov"
        parts = {
            "variables": [_variable_plain(variable) for variable in network.variables],
            "factors": [
                {
                    "over": [label_plain(n, "a name") for n in factor.names],
                    "values": factor.values.ravel().tolist(),
                }
                for factor in network.factors
            ],
        }
    else:
        head["kind"] = "bayesian"
        parts = {"nodes": [_node_plain(node) for node in network.nodes]}
    head["name"] = network.name
    if network.notes:
        head["notes"] = dict(network.notes)
    lines = [f"{_json(key)}: {_json(value)}" for key, value in head.items()]
    for key, items in parts.items():
        inner = ",\n".join(_json(item) for item in items)
        lines.append(f"{_json(key)}: [\n{inner}\n]" if items else f"{_json(key)}: []")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: object) -> str:
    try:
        return json_text(value)
    except ValueError as error:
        raise SettingError(
            f"The network holds a number that is not finite ({error}). Mend the table."
        ) from None


def _variable_plain(variable: Variable) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": label_plain(variable.name, "a name")}
    if variable.kind == "categorical":
        plain["states"] = [label_plain(s, f"a state of {variable.name!r}") for s in variable.states]
    return plain


def _node_plain(node: Node) -> dict[str, Any]:
    plain = _variable_plain(node.variable)
    plain["parents"] = [label_plain(parent, "a name") for parent in node.parents]
    plain["distribution"] = distribution_plain(node)
    if node.notes:
        plain["notes"] = dict(node.notes)
    return plain


def read_native(
    text: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network | Field:
    """Return the network of a native JSON file; see :func:`native_text`."""
    budget = budget or Budget(len(text))
    root = parse_json(text, path)
    if not isinstance(root, dict) or root.get("format") != FORMAT:
        raise ModelFormatError(f'it has no "format": "{FORMAT}", so it is no network of bayeskit.', path=path)
    version = root.get("version")
    if version != VERSION or type(version) is not int:
        raise ModelFormatError(
            f"it has the version {version!r}, and this bayeskit reads {VERSION}. Install a newer one.",
            path=path,
        )
    try:
        name = member(root, "name", str, "the network")
        notes = texts_from(root.get("notes", {}), "the network")
        if root.get("kind") == "markov":
            return _field(root, name, notes, budget)
        if root.get("kind") == "bayesian":
            return _network(root, name, notes, normalize, budget)
        raise ModelFormatError(f'its "kind" is {root.get("kind")!r}; "bayesian" and "markov" are known.')
    except ModelFormatError as error:
        raise ModelFormatError(error.what, path=path) from None
    except BayeskitError as error:  # what the values themselves refuse: a cycle, a parent that is no node
        raise ModelFormatError(str(error), path=path) from None


def _network(
    root: dict[str, Any], name: str, notes: dict[str, str], normalize: bool, budget: Budget
) -> Network:
    plain = listed(root, "nodes", "the network")
    variables: dict[Name, Variable] = {}
    for item in plain:
        variable = _variable(item)
        if variable.name in variables:
            raise ModelFormatError(f"two nodes are named {variable.name!r}. Rename one of them.")
        variables[variable.name] = variable
    nodes = []
    for item, variable in zip(plain, variables.values()):
        where = f"the node {variable.name!r}"
        parents = tuple(label_from(parent, where) for parent in listed(item, "parents", where))
        check_names(parents, variables, where)
        distribution = distribution_from(
            item.get("distribution"), variable, [variables[p] for p in parents], normalize, budget
        )
        nodes.append(Node(variable, parents, distribution, texts_from(item.get("notes", {}), where)))
    return Network(tuple(nodes), name, notes)


def _variable(item: object) -> Variable:
    if not isinstance(item, dict) or "name" not in item:
        raise ModelFormatError('a variable is no object with a "name".')
    name = label_from(item["name"], "a name")
    return discrete(name, states_from(item["states"], name)) if "states" in item else continuous(name)


def _field(root: dict[str, Any], name: str, notes: dict[str, str], budget: Budget) -> Field:
    variables = [_variable(item) for item in listed(root, "variables", "the network")]
    known = {variable.name: variable for variable in variables}
    for variable in variables:
        if variable.kind != "categorical" or not variable.size:
            raise ModelFormatError(f"{variable.name!r} has no states, and a Markov network needs them.")
    factors = tuple(factor_from(item, known, budget) for item in listed(root, "factors", "the network"))
    return Field(tuple(variables), factors, name, notes)
