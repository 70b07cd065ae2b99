"""``NODE=STATE`` and ``COL=VALUE`` arguments as evidence or a row, and network files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bayeskit._cli.completion import is_example
from bayeskit._cli.output import note
from bayeskit._cli.saved_models import as_learned, existing, is_classifier, variables_of
from bayeskit._data.file_rows import FileRows, kinds_of, learned_columns
from bayeskit._messages import Message, did_you_mean
from bayeskit._schema import Variable
from bayeskit.errors import SettingError, UsageError

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork


def open_network(path: str, format: str | None = None, normalize: bool = False) -> Any:
    """Read a network, convert a saved classifier into one, or return a bundled one by its name."""
    if is_example(path):
        from bayeskit._networks import examples

        return getattr(examples, path)()
    existing(path)
    if format is None and is_classifier(path):
        from bayeskit import load

        model = load(path)
        if not hasattr(model, "network_"):
            raise SettingError(
                "{path!r} holds a {kind}, which is not a single network. Use TAN or NB.",
                path=path,
                kind=type(model).__name__,
            )
        return model.network_
    from bayeskit import read_network

    return read_network(path, format, normalize)


def named(network: BayesianNetwork | MarkovNetwork, name: str) -> Any:
    """Return the name of a node in the network. In some files, nodes have integer names: 0, 1, 2."""
    variables = variables_of(network)
    if name not in variables:
        raise SettingError("There is no node {name!r}. {hint}", name=name, hint=did_you_mean(name, variables))
    return variables[name].name


def split(text: str, known: Iterable[object], option: str) -> tuple[str, bool, str]:
    """Split ``NODE=STATE`` or ``NODE!=STATE`` into the node, whether it equals the state, and the state.

    Names may hold the sign themselves, so the longest known name before one is taken.

    Examples
    --------
    >>> split("wet=yes", ["wet"], "--given"), split("a=b=c", ["a=b"], "--given"), split("wet!=no", ["wet"], "")
    (('wet', True, 'yes'), ('a=b', True, 'c'), ('wet', False, 'no'))
    """
    names = sorted(map(str, known), key=len, reverse=True)
    for name in names:
        for sign in ("!=", "="):
            if text.startswith(name + sign):
                return name, sign == "=", text[len(name + sign) :]
    name, sign, _ = text.partition("=")
    if not sign:
        raise SettingError("{option} {text!r} is not NAME=VALUE.", option=option, text=text)
    raise SettingError(
        "{option}: there is no {name!r}. {hint}",
        option=option,
        name=name.removesuffix("!"),
        hint=did_you_mean(name, names),
    )


def read_given(network: BayesianNetwork | MarkovNetwork, given: Sequence[str] | None) -> dict[Any, Any]:
    """Read evidence: states by their names, numbers for continuous nodes."""
    from bayeskit._networks.evidence import Not

    variables = variables_of(network)
    found: dict[Any, Any] = {}
    excluded: dict[Any, list[str]] = {}
    for text in given or ():
        name, is_so, state = split(text, variables, "--given")
        variable = variables[name]
        if variable.kind == "numeric":
            if not is_so:
                raise SettingError(
                    "--given {text!r}: {name!r} is numeric, and a number cannot be excluded. Use =.",
                    text=text,
                    name=name,
                )
            found[variable.name] = number_of(name, state, "--given")
        elif is_so and variable.name in found:
            raise SettingError("--given names {name!r} twice. Give it once.", name=name)
        elif is_so:
            found[variable.name] = state
        else:
            excluded.setdefault(variable.name, []).append(state)
    return {**{name: Not(*states) for name, states in excluded.items()}, **found}


def read_do(network: BayesianNetwork | MarkovNetwork, given: Sequence[str] | None) -> dict[Any, Any]:
    """Read interventions: ``NODE=STATE``, ``NODE=NUMBER`` or a distribution, ``NODE=STATE:0.3,STATE:0.7``."""
    variables = variables_of(network)
    found: dict[Any, Any] = {}
    for text in given or ():
        name, is_so, state = split(text, variables, "--do")
        variable = variables[name]
        if not is_so:
            raise SettingError("--do {text!r}: a node is set to a state. Use =.", text=text)
        if variable.name in found:
            raise SettingError("--do names {name!r} twice. Give it once.", name=name)
        if variable.kind == "numeric":
            found[variable.name] = number_of(name, state, "--do")
        else:
            found[variable.name] = state_or_shares(variable, text, state)
    return found


def state_or_shares(variable: Variable, text: str, state: str) -> Any:
    """Read what a discrete node is set to: a state, or a distribution over its states."""
    if ":" not in state or state in map(str, variable.states):
        return state
    return dict(_share(text, part) for part in state.split(","))


def _share(text: str, part: str) -> tuple[str, float]:
    """Read a state and its probability."""
    state, _, number = part.rpartition(":")
    try:
        return state, float(number)
    except ValueError:
        raise SettingError(
            "--do {text!r}: {part!r} is not STATE:PROBABILITY. Give one for each state, such as yes:0.3,no:0.7.",
            text=text,
            part=part,
        ) from None


def number_of(name: str, text: str, option: str) -> float:
    """Read a number; raise an error for anything else."""
    try:
        return float(text)
    except ValueError:
        raise SettingError(
            "{option}: {name!r} is numeric, and {text!r} is not a number.",
            option=option,
            name=name,
            text=text,
        ) from None


def row_of(estimator: CountClassifier, rows: FileRows, number: int) -> Any:
    """Return one row of a table, with the columns of the model."""
    if not hasattr(estimator, "feature_names_in_"):
        target = str(estimator.schema_.target.name)
        return list(rows.without([target] if target in rows.names else None).row(number).values())
    names = [str(name) for name in estimator.feature_names_in_]
    kinds = kinds_of(learned_columns(estimator))
    return as_learned(rows, estimator.reading_, names, kinds).row(number)


def row_by_hand(estimator: CountClassifier, given: Sequence[str]) -> dict[str, Any]:
    """Read ``COL=VALUE`` arguments as a row. Columns that are not given are missing."""
    if not hasattr(estimator, "feature_names_in_"):
        raise UsageError("This model was learned from columns without names, so none can be set by name.")
    variables = {str(v.name): v for v in learned_columns(estimator)}
    row: dict[str, Any] = {name: math.nan if _is_number(v) else None for name, v in variables.items()}
    for text in given:
        name, is_so, value = split(text, variables, "--set")
        if not is_so:
            raise UsageError("--set {text!r}: a row has values. Use {name}=VALUE.", text=text, name=name)
        row[name] = _value(variables[name], value)
    return row


def _is_number(variable: Variable) -> bool:
    return variable.kind == "numeric" or variable.cuts is not None


def _value(variable: Variable, text: str) -> Any:
    if _is_number(variable):
        return number_of(str(variable.name), text, "--set")
    if variable.vocabulary is not None:
        return text
    by_text = {str(state): state for state in variable.states}
    if text not in by_text:
        note(
            Message(
                "{text!r} is not among the values of {name!r} in the training rows. {hint}",
                name=str(variable.name),
                text=text,
                hint=did_you_mean(text, by_text),
            )
        )
    return by_text.get(text, text)
