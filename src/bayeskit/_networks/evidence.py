"""Reads evidence as users write it, and returns codes and likelihoods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.columns import is_missing
from bayeskit._graphs.dag import unknown_node
from bayeskit._inference.potentials import Evidence
from bayeskit._messages import Joined, Message
from bayeskit._networks.arguments import real_numbers
from bayeskit._schema import Label, Name, Variable, state_code
from bayeskit.errors import DataError, DataTypeError, ImpossibleEvidence, SettingError, UnseenState
from bayeskit.typing import Floats

# {node: state}, {node: Not(states)}, {node: likelihoods}: hard or soft evidence of a query.
Given: TypeAlias = Mapping[Any, Any] | None


class Not:
    """Negative evidence: the node is in none of these states.

    Parameters
    ----------
    *states : one or more excluded states

    Examples
    --------
    >>> Not("red"), Not("red", "green")
    (Not('red'), Not('red', 'green'))
    """

    __slots__ = ("states",)

    states: tuple[Label, ...]

    def __init__(self, *states: Label) -> None:
        if not states:
            raise SettingError('Not() excludes nothing. Name the excluded states: Not("red").')
        self.states = states

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Not) and self.states == other.states

    def __hash__(self) -> int:
        return hash((Not, self.states))

    def __repr__(self) -> str:
        return f"Not({', '.join(map(repr, self.states))})"


def read_likelihoods(variable: Variable, given: object) -> Floats:
    """Return the likelihood of each state, given as an array in the order of states, or as state → number.

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> read_likelihoods(discrete("rain", ["no", "yes"]), {"yes": 3, "no": 1})
    array([1., 3.])
    """
    name, size = variable.name, variable.size
    values = _by_state(variable, given) if isinstance(given, Mapping) else _by_order(name, given)
    if values.shape != (size,):
        raise SettingError(
            "The soft evidence on {name!r} has the shape {shape}; it needs {size} likelihoods, one for each "
            "of {names}{word}.",
            name=name,
            shape=values.shape,
            size=size,
            names=Joined(map(repr, variable.states[:12])),
            word=", …" if size > 12 else "",
        )
    for state, value in zip(variable.states, values.tolist(), strict=True):
        if not 0 <= value < math.inf:  # also rejects NaN
            raise SettingError(
                "The soft evidence on {name!r} gives {state!r} the likelihood {value!r}. Likelihoods are finite "
                "and not negative.",
                name=name,
                state=state,
                value=value,
            )
    if not values.any():
        raise SettingError(
            "The soft evidence on {name!r} is zero for every state, which is impossible. Leave it out, or "
            "give some state a positive likelihood.",
            name=name,
        )
    return values


def excluding(variable: Variable, negation: Not) -> Floats:
    """Return the likelihood of each state if some are excluded: 0 for those, 1 for the others.

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> excluding(discrete("light", ["red", "amber", "green"]), Not("red"))
    array([0., 1., 1.])
    """
    values = np.ones(variable.size)
    for state in negation.states:
        values[state_code(variable.name, variable.states, state)] = 0.0
    if not values.any():
        raise SettingError(
            "{negation!r} excludes every state of {name!r}, which nothing can satisfy. Leave one out.",
            negation=negation,
            name=variable.name,
        )
    return values


def scaled(values: Floats) -> tuple[Floats, float]:
    """Return the likelihoods scaled to a maximum in [½, 1], and the logarithm of the divisor.

    The divisor is a power of two, so no digit is lost. It is smaller if the smallest likelihood would
    otherwise underflow.

    >>> scaled(np.array([2.0, 6.0]))[0]
    array([0.25, 0.75])
    """
    largest = float(values.max())
    if 0.5 <= largest <= 1.0:
        return values, 0.0
    exponent = math.frexp(largest)[1]
    if exponent > 0:
        # Do not scale so far that the smallest underflows: it may be the only possible state.
        least = float(values[values > 0.0].min())
        exponent = max(min(exponent, math.frexp(least)[1] + 1021), 0)
    return np.ldexp(values, -exponent), exponent * math.log(2.0)


def _by_state(variable: Variable, given: Mapping[Any, Any]) -> Floats:
    values: dict[int, Any] = {}
    for state, value in given.items():
        code = state_code(variable.name, variable.states, state)
        if code in values:
            raise SettingError(
                "The soft evidence on {name!r} names {state!r} twice.", name=variable.name, state=state
            )
        values[code] = value
    missing = next((state for code, state in enumerate(variable.states) if code not in values), None)
    if len(values) < variable.size:
        raise SettingError(
            "The soft evidence on {name!r} does not mention {missing!r}. Give a likelihood for each state.",
            name=variable.name,
            missing=missing,
        )
    return _by_order(variable.name, [values[code] for code in range(variable.size)])


def _by_order(name: Name, given: object) -> Floats:
    values = real_numbers(given)
    if values is None:
        raise SettingError(
            "The soft evidence on {name!r} is {given!r}. Give a likelihood for each state: numbers in the order "
            "of states, or {{state: number}}.",
            name=name,
            given=given,
        )
    return values


def read_evidence(variables: Sequence[Variable], evidence: Given, soft: Given) -> Evidence:
    """Return the evidence in codes.

    Parameters
    ----------
    variables : the nodes, in order
    evidence : {node: state or Not(states)}
    soft : {node: likelihoods}, an array in the order of states or {state: number}

    Examples
    --------
    >>> from bayeskit._graphs.network import discrete
    >>> read_evidence([discrete("rain", ["no", "yes"])], {"rain": "yes"}, None).codes
    array([1])
    """
    reader = Reader(variables)
    found, log_scale = reader.read(evidence, soft)
    if log_scale == -math.inf:
        raise ImpossibleEvidence(_contradicted(reader, evidence or {}, soft or {}))
    return found


def _contradicted(reader: Reader, evidence: Mapping[Any, Any], soft: Mapping[Any, Any]) -> dict[Name, Any]:
    """Return a node whose hard evidence and soft evidence exclude each other."""
    for name in soft:
        if name in evidence and reader.read({name: evidence[name]}, {name: soft[name]})[1] == -math.inf:
            return {name: (evidence[name], soft[name])}
    return {}


class Reader:
    """Reads evidence about the variables of one network. Created once per network, since every query uses it."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.variables = tuple(variables)
        self._places = {v.name: place for place, v in enumerate(self.variables)}
        self._free = np.full(len(self.variables), -1, np.int64)

    def place(self, name: Name, where: str | Message = "") -> int:
        """Return the position of a node."""
        try:
            return self._places[name]
        except (KeyError, TypeError):
            raise unknown_node(name, self._places, where) from None

    def __contains__(self, name: object) -> bool:
        try:
            return name in self._places
        except TypeError:  # a tuple that contains a list
            return False

    def read(self, evidence: Given, soft: Given) -> tuple[Evidence, float]:
        """Return the evidence in codes, and a number to add to its log probability.

        The number is the log of the factor by which likelihoods were scaled to at most one. It is −inf if the
        evidence on a single node is contradictory ("red", but soft evidence gives red the likelihood zero).
        The codes are then meaningless.
        """
        codes = self._free.copy()
        negative: dict[int, Floats] = {}
        if evidence:
            places, variables = self._places, self.variables
            for name, value in _items(evidence, "evidence"):
                try:
                    place = places[name]
                    codes[place] = variables[place].codes[value]
                except (KeyError, TypeError):
                    place = self.place(name, "evidence names it")
                    if isinstance(value, Not):
                        negative[place] = excluding(self._discrete(place), value)
                    else:
                        codes[place] = _code(self._discrete(place), value)
        if not negative and not soft:
            return Evidence(codes), 0.0
        return self._with_likelihoods(codes, negative, soft)

    def read_mixed(self, evidence: Given, soft: Given) -> tuple[Evidence, Floats, float]:
        """Return the same for a network with continuous nodes, and the observed numbers (NaN if free)."""
        values = np.full(len(self.variables), np.nan)
        states: dict[Name, Any] = {}
        for name, value in _items(evidence, "evidence") if evidence else ():
            place = self.place(name, "evidence names it")
            if self.variables[place].kind == "categorical":
                states[name] = value
            else:
                values[place] = _number(name, value)
        found, log_scale = self.read(states, soft)
        return found, values, log_scale

    def _with_likelihoods(
        self, codes: NDArray[np.int64], likelihoods: dict[int, Floats], soft: Given
    ) -> tuple[Evidence, float]:
        log_scale = 0.0
        for name, given in _items(soft, "soft") if soft else ():
            place = self.place(name, "soft names it")
            values, log_divisor = scaled(read_likelihoods(self._discrete(place), given))
            log_scale += log_divisor
            if codes[place] >= 0:
                # For an observed node, only the likelihood of its state counts, as a factor of the
                # probability of the evidence.
                likelihood = float(values[codes[place]])
                log_scale += math.log(likelihood) if likelihood > 0 else -math.inf
            elif place not in likelihoods:
                likelihoods[place] = values
            elif (values * likelihoods[place]).any():
                likelihoods[place], log_divisor = scaled(values * likelihoods[place])
                log_scale += log_divisor
            else:
                log_scale = -math.inf
        return Evidence(codes, likelihoods), log_scale

    def _discrete(self, place: int) -> Variable:
        variable = self.variables[place]
        if variable.kind != "categorical":
            raise SettingError(
                "{name!r} is continuous: it can be observed as a number, but has no states to exclude or to "
                "weight.",
                name=variable.name,
            )
        return variable


def _items(given: Mapping[Any, Any], what: str) -> Any:
    try:
        return given.items()
    except AttributeError:
        form = "{node: state}" if what == "evidence" else "{node: likelihoods}"
        raise SettingError(
            "{what} is {given!r}; give a mapping {form}.", what=what, given=given, form=form
        ) from None


def _code(variable: Variable, value: object) -> int:
    """Return the code of a value that is not literally a state."""
    name = variable.name
    if is_missing(value):
        # str(None) could match a state named "None", but a user who passes None means a missing value.
        raise UnseenState(
            "The evidence on {name!r} is {value!r}, which means missing: leave it out. (If a state has this "
            "name, write it as text, {value2!r}.)",
            name=name,
            value=value,
            value2=str(value),
        )
    try:
        return state_code(name, variable.states, value)
    except UnseenState as error:
        if isinstance(value, (Mapping, list, tuple, np.ndarray)):
            raise UnseenState("{error} Likelihoods of its states go into soft=.", error=error) from None
        raise


def _number(name: Name, value: Any) -> float:
    if isinstance(value, Not):
        raise SettingError(
            "{name!r} is continuous: {value!r} is not a number. Observe a number.",
            name=name,
            value=value,
        )
    if is_missing(value):
        raise UnseenState(
            "The evidence on {name!r} is {value!r}, which means missing: leave it out.",
            name=name,
            value=value,
        )
    try:
        number = float(value) if not isinstance(value, (str, bytes)) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise DataTypeError(
            "{name!r} is continuous, and the evidence on it is {value!r}. Give a number.",
            name=name,
            value=value,
        )
    if math.isinf(number):
        raise DataError(
            "The evidence on {name!r} is {number}. Observe a finite number.", name=name, number=number
        )
    return number
