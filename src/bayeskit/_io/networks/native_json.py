"""The native format: JSON that represents every kind of node and label exactly.

``{"format": "bayeskit network", "version": 1, "kind": "bayesian", "name": …, "nodes": [...]}``. A Markov
network has ``"kind": "markov"``, variables and factors. A table is a list of rows, one for each configuration
of the parents, with the last parent fastest. Numbers are read back bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.file_reading import FileReading
from bayeskit._graphs.distributions import (
    Deterministic,
    Distribution,
    LinearGaussian,
    NoisyMax,
    Softmax,
    Table,
)
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import FactorGraph, Network, Node, continuous, discrete
from bayeskit._io.networks.assembly import Budget, checked_table, table_from
from bayeskit._io.networks.raw import parse_json
from bayeskit._io.networks.tokens import shown
from bayeskit._io.plain_values import from_plain, to_plain
from bayeskit._messages import Joined, Message, as_message
from bayeskit._schema import Label, Name, Variable, first_twice
from bayeskit._visible import json_text
from bayeskit.errors import BayeskitError, ModelFormatError, SettingError

T = TypeVar("T")


def label_plain(label: Label, what: str | Message) -> Any:
    """Return the JSON of a name or state: text, numbers and booleans unchanged, other types with their type.

    >>> label_plain("湿", "a name"), label_plain(True, "a state"), label_plain((1, 2), "a state")
    ('湿', True, {'tuple': [1, 2]})
    """
    if label is None or label != label:
        raise SettingError(
            "{what} is {label!r}, which means missing and cannot be written. Rename it.",
            what=as_message(what),
            label=label,
        )
    return to_plain(label, str(what))


def label_from(plain: object, where: str | Message) -> Label:
    """Return the label that was passed to :func:`label_plain`."""
    label: Label = from_plain(plain)
    try:
        hash(label)
        is_missing = label is None or label != label
    except TypeError:
        raise ModelFormatError(
            Message(
                "{plain}, in {where}, cannot be a name or a state.",
                plain=shown(repr(plain)),
                where=as_message(where),
            )
        ) from None
    if is_missing:
        raise ModelFormatError(
            Message(
                "{plain!r}, in {where}, means missing and cannot be a name or a state.",
                plain=plain,
                where=as_message(where),
            )
        )
    return label


def states_from(plain: object, name: Name) -> tuple[Label, ...]:
    if not isinstance(plain, list):
        raise ModelFormatError(Message('the "states" of {name!r} are not a list.', name=name))
    states = tuple(label_from(item, Message("the states of {name!r}", name=name)) for item in plain)
    twice = first_twice(states)
    if twice is not None:
        raise ModelFormatError(
            Message("{name!r} has the state {twice!r} twice. Rename one of them.", name=name, twice=twice)
        )
    return states


def member(item: Mapping[str, Any], key: str, kind: type[T], where: str | Message) -> T:
    value = item.get(key) if isinstance(item, Mapping) else None
    if not isinstance(value, kind):
        raise ModelFormatError(
            Message(
                '{where} has no "{key}" that is a {kind}.',
                where=as_message(where),
                key=key,
                kind=kind.__name__,
            )
        )
    return value


def listed(item: Mapping[str, Any], key: str, where: str | Message) -> list[Any]:
    return member(item, key, list, where)


def texts_from(plain: object, where: str | Message) -> dict[str, str]:
    if not isinstance(plain, dict) or not all(isinstance(value, str) for value in plain.values()):
        raise ModelFormatError(
            Message('the "notes" of {where} must be a mapping from names to texts.', where=as_message(where))
        )
    return plain


def check_names(names: Sequence[Name], known: Collection[Name], where: str | Message) -> None:
    for name in names:
        if name not in known:
            raise ModelFormatError(
                Message(
                    "{name!r}, in {where}, is not a variable of this file.",
                    name=name,
                    where=as_message(where),
                )
            )


def distribution_plain(node: Node) -> dict[str, Any] | None:
    """Return a distribution as JSON; None if the node has none."""
    d = node.distribution
    if d is None:
        return None
    name, kind = next(((name, kind) for name, kind in KINDS.items() if type(d) is kind.type), (None, None))
    if name is None or kind is None:
        raise SettingError(
            "The distribution of {name!r} is a {kind}, which the native format cannot hold. Pass "
            "set_cpt({name!r}, ...) its table.",
            name=node.name,
            kind=type(d).__name__,
        )
    return {"kind": name, **kind.plain(d)}


def _rows(table: NDArray[np.float64]) -> list[list[float]]:
    rows: list[list[float]] = table.reshape(-1, table.shape[-1]).tolist()
    return rows


@dataclass(frozen=True)
class InFile:
    """The JSON of a distribution and what its reader needs; ``where`` names it in errors."""

    plain: Mapping[str, Any]
    variable: Variable
    parents: Sequence[Variable]
    normalize: bool
    where: Message
    budget: Budget


def distribution_from(
    plain: Mapping[str, Any] | None,
    variable: Variable,
    parents: Sequence[Variable],
    normalize: bool,
    budget: Budget,
) -> Distribution | None:
    """Return the distribution of a node; ``parents`` are its parents' variables."""
    where = Message("the distribution of {name!r}", name=variable.name)
    if plain is None:
        return None
    kind = member(plain, "kind", str, where)
    if (variable.kind == "categorical") == (kind == "linear-gaussian"):
        raise ModelFormatError(
            Message(
                "{where} is {kind!r}, which does not fit a {kind2} variable.",
                where=where,
                kind=kind,
                kind2=variable.kind,
            )
        )
    unknown = next((v for v in (variable, *parents) if v.kind == "categorical" and not v.size), None)
    if unknown is not None:
        raise ModelFormatError(
            Message(
                "{where} needs the states of {name!r}, which the file does not give.",
                where=where,
                name=unknown.name,
            )
        )
    numeric = next((v for v in parents if v.kind != "categorical"), None)
    if numeric is None and kind == "softmax":
        raise ModelFormatError(Message("{where} is a softmax, and no parent is continuous.", where=where))
    if numeric is not None and kind not in ("linear-gaussian", "softmax"):
        raise ModelFormatError(
            Message(
                "{name!r} is discrete and has the continuous parent {name2!r}.",
                name=variable.name,
                name2=numeric.name,
            )
        )
    if kind not in KINDS:
        raise ModelFormatError(
            Message(
                "{where} is of the kind {kind!r}, which this version does not know.", where=where, kind=kind
            )
        )
    return KINDS[kind].read(InFile(plain, variable, parents, normalize, where, budget))


def _numbers(plain: list[Any], where: Message) -> NDArray[np.float64]:
    try:
        if not all(type(value) in (int, float) for value in plain):
            raise ValueError
        values = np.array(plain, np.float64)
    except (OverflowError, ValueError):
        raise ModelFormatError(
            Message("{where} contains something that is not a number.", where=where)
        ) from None
    if not np.isfinite(values).all():
        raise ModelFormatError(Message("{where} contains a number that is not finite.", where=where))
    return values


def _matrix(rows: list[Any], width: int, where: Message) -> NDArray[np.float64]:
    if not all(isinstance(row, list) and len(row) == width for row in rows):
        raise ModelFormatError(Message("{where} must be rows of {width} numbers.", where=where, width=width))
    return _numbers([value for row in rows for value in row], where).reshape(len(rows), width)


def _table(given: InFile) -> Table:
    values = _matrix(listed(given.plain, "rows", given.where), given.variable.size, given.where)
    return table_from(
        values.ravel().tolist(), given.variable, given.parents, given.budget, normalize=given.normalize
    )


def _deterministic(given: InFile) -> Deterministic:
    plain, variable, where = listed(given.plain, "outcomes", given.where), given.variable, given.where
    sizes = [parent.size for parent in given.parents]
    given.budget.take(sizes, variable.name)
    if len(plain) != math.prod(sizes):
        raise ModelFormatError(
            Message(
                "{where} has {n} outcomes; {product} are needed.",
                where=where,
                n=len(plain),
                product=math.prod(sizes),
            )
        )
    if not all(type(code) is int and 0 <= code < variable.size for code in plain):
        raise ModelFormatError(
            Message(
                "{where} must contain indices of states, from 0 to {size}.",
                where=where,
                size=variable.size - 1,
            )
        )
    return Deterministic(np.array(plain, np.int64).reshape(sizes), variable.size)


def _noisy_max(given: InFile) -> NoisyMax:
    plain, variable, parents, where = given.plain, given.variable, given.parents, given.where
    causes = listed(plain, "causes", where)
    rising = member(plain, "rising", bool, where) if "rising" in plain else True
    if len(causes) != len(parents) or not all(isinstance(cause, list) for cause in causes):
        raise ModelFormatError(
            Message(
                "{where} must contain a list of rows for each of its {n} parents.",
                where=where,
                n=len(parents),
            )
        )
    given.budget.take([sum(parent.size for parent in parents) + 1, variable.size], variable.name)
    found = []
    for cause, parent in zip(causes, parents, strict=True):
        rows = _matrix(cause, variable.size, where)
        if len(rows) != parent.size:
            raise ModelFormatError(
                Message(
                    "{where} needs a row for each of the {size} states of {name!r}.",
                    where=where,
                    size=parent.size,
                    name=parent.name,
                )
            )
        found.append(checked_table(rows, variable.name, [parent], normalize=given.normalize))
    leak = _matrix([listed(plain, "leak", where)], variable.size, where)[0]
    return NoisyMax(tuple(found), checked_table(leak, variable.name, normalize=given.normalize), rising)


def _gaussian(given: InFile) -> LinearGaussian:
    plain, variable, parents, where = given.plain, given.variable, given.parents, given.where
    sizes = [parent.size for parent in parents if parent.kind == "categorical"]
    n_numeric = len(parents) - len(sizes)
    given.budget.take([*sizes, n_numeric + 2], variable.name)
    intercept = _numbers(listed(plain, "intercepts", where), where)
    variance = _numbers(listed(plain, "variances", where), where)
    coefficients = _matrix(listed(plain, "coefficients", where), n_numeric, where)
    count = math.prod(sizes)
    if not len(intercept) == len(variance) == len(coefficients) == count:
        raise ModelFormatError(
            Message(
                "{where} needs {count} intercepts, variances and rows of coefficients.",
                where=where,
                count=count,
            )
        )
    if (variance < 0).any():
        raise ModelFormatError(Message("{where} has a negative variance.", where=where))
    return LinearGaussian(
        intercept.reshape(sizes), coefficients.reshape(*sizes, n_numeric), variance.reshape(sizes)
    )


def _softmax(given: InFile) -> Softmax:
    plain, variable, parents, where = given.plain, given.variable, given.parents, given.where
    sizes = [parent.size for parent in parents if parent.kind == "categorical"]
    n_numeric, size = len(parents) - len(sizes), variable.size
    given.budget.take([*sizes, size, n_numeric + 1], variable.name)
    intercept = _matrix(listed(plain, "intercepts", where), size, where)
    coefficients = _matrix(listed(plain, "coefficients", where), size * n_numeric, where)
    count = math.prod(sizes)
    if not len(intercept) == len(coefficients) == count:
        raise ModelFormatError(
            Message("{where} needs {count} rows of intercepts and of coefficients.", where=where, count=count)
        )
    return Softmax(intercept.reshape(*sizes, size), coefficients.reshape(*sizes, size, n_numeric))


def _noisy_plain(d: NoisyMax) -> dict[str, Any]:
    noisy = {"causes": [_rows(cause) for cause in d.causes], "leak": d.leak.tolist()}
    return noisy if d.rising else {**noisy, "rising": False}


@dataclass(frozen=True)
class Kind:
    """A kind of distribution in the native format: its type, its JSON beside ``"kind"``, and its reader."""

    type: type[Any]
    plain: Callable[[Any], dict[str, Any]]
    read: Callable[[InFile], Distribution]


# The name of each kind in a file.
KINDS: dict[str, Kind] = {
    "table": Kind(Table, lambda d: {"rows": _rows(d.values)}, _table),
    "deterministic": Kind(Deterministic, lambda d: {"outcomes": d.outcome.ravel().tolist()}, _deterministic),
    "noisy-max": Kind(NoisyMax, _noisy_plain, _noisy_max),
    "softmax": Kind(
        Softmax,
        lambda d: {
            "intercepts": _rows(d.intercept),
            "coefficients": _rows(d.coefficients.reshape(*d.intercept.shape[:-1], -1)),
        },
        _softmax,
    ),
    "linear-gaussian": Kind(
        LinearGaussian,
        lambda d: {
            "intercepts": d.intercept.ravel().tolist(),
            "coefficients": d.coefficients.reshape(d.intercept.size, -1).tolist(),
            "variances": d.variance.ravel().tolist(),
        },
        _gaussian,
    ),
}


def factor_from(item: Mapping[str, Any], known: Mapping[Name, Variable], budget: Budget) -> Factor:
    names = [label_from(name, "a factor") for name in listed(item, "over", "a factor")]
    where = Message("the factor over {names}", names=Joined(map(repr, names[:12])))
    check_names(names, known, where)
    sizes = [known[name].size for name in names]
    values = _numbers(listed(item, "values", where), where)
    if len(values) != budget.take(sizes, where):
        raise ModelFormatError(
            Message(
                "{where} has {n} numbers; {product} are needed.",
                where=where,
                n=len(values),
                product=math.prod(sizes),
            )
        )
    if (values < 0).any() or not values.any():
        raise ModelFormatError(
            Message(
                "{where} must contain numbers that are not negative, and not all of them zero.", where=where
            )
        )
    return Factor(names, [known[name].states for name in names], values.reshape(sizes))


FORMAT = "bayeskit network"
VERSION = 1


def native_text(network: Network | FactorGraph) -> str:
    """Return the JSON text of a network, one line for each node.

    Examples
    --------
    >>> from bayeskit.networks import Table
    >>> rain = Node(discrete("rain", [False, True]), (), Table([0.8, 0.2]))
    >>> read_native(native_text(Network((rain,)))) == Network((rain,))
    True
    """
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    parts: dict[str, list[Any]]
    if isinstance(network, FactorGraph):
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
    if isinstance(network, Network) and network.reading is not None:
        head["reading"] = network.reading.plain()
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
            "The network contains a number that is not finite ({error}). Correct the table.", error=error
        ) from None


def _variable_plain(variable: Variable) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": label_plain(variable.name, "a name")}
    if variable.kind == "categorical":
        plain["states"] = [
            label_plain(s, Message("a state of {name!r}", name=variable.name)) for s in variable.states
        ]
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
) -> Network | FactorGraph:
    """Return the network of a native JSON file; see :func:`native_text`."""
    budget = budget or Budget(len(text))
    root = parse_json(text, path)
    if not isinstance(root, dict) or root.get("format") != FORMAT:
        raise ModelFormatError(
            Message(
                'it has no "format": "{format}", so it is not a bayeskit network.', format=Message(FORMAT)
            ),
            path=path,
        )
    version = root.get("version")
    if version != VERSION or type(version) is not int:
        raise ModelFormatError(
            Message(
                "it has the version {version!r}, and this bayeskit reads {version2}. Install a newer one.",
                version=version,
                version2=VERSION,
            ),
            path=path,
        )
    try:
        name = member(root, "name", str, "the network")
        notes = texts_from(root.get("notes", {}), "the network")
        if root.get("kind") == "markov":
            return _field(root, name, notes, budget)
        if root.get("kind") == "bayesian":
            return _network(root, name, notes, normalize, budget)
        raise ModelFormatError(
            Message('its "kind" is {kind!r}; only "bayesian" and "markov" are known.', kind=root.get("kind"))
        )
    except ModelFormatError as error:
        raise ModelFormatError(error.problem, path=path) from None
    except BayeskitError as error:  # errors of the values themselves: a cycle, a parent that is not a node
        raise ModelFormatError(error.message, path=path) from None


def _network(
    root: dict[str, Any], name: str, notes: dict[str, str], normalize: bool, budget: Budget
) -> Network:
    plain = listed(root, "nodes", "the network")
    variables: dict[Name, Variable] = {}
    for item in plain:
        variable = _variable(item)
        if variable.name in variables:
            raise ModelFormatError(
                Message("two nodes are named {name!r}. Rename one of them.", name=variable.name)
            )
        variables[variable.name] = variable
    nodes = []
    for item, variable in zip(plain, variables.values(), strict=True):
        where = Message("the node {name!r}", name=variable.name)
        parents = tuple(label_from(parent, where) for parent in listed(item, "parents", where))
        check_names(parents, variables, where)
        distribution = distribution_from(
            item.get("distribution"), variable, [variables[p] for p in parents], normalize, budget
        )
        nodes.append(Node(variable, parents, distribution, texts_from(item.get("notes", {}), where)))
    return Network(tuple(nodes), name, notes, FileReading.from_plain(root.get("reading")))


def _variable(item: object) -> Variable:
    if not isinstance(item, dict) or "name" not in item:
        raise ModelFormatError('a variable is not an object with a "name".')
    name = label_from(item["name"], "a name")
    return discrete(name, states_from(item["states"], name)) if "states" in item else continuous(name)


def _field(root: dict[str, Any], name: str, notes: dict[str, str], budget: Budget) -> FactorGraph:
    variables = [_variable(item) for item in listed(root, "variables", "the network")]
    known = {variable.name: variable for variable in variables}
    for variable in variables:
        if variable.kind != "categorical" or not variable.size:
            raise ModelFormatError(
                Message("{name!r} has no states, and a Markov network needs them.", name=variable.name)
            )
    factors = tuple(factor_from(item, known, budget) for item in listed(root, "factors", "the network"))
    return FactorGraph(tuple(variables), factors, name, notes)
