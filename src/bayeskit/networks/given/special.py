"""Distributions that are more than a table, as users give them: independent causes, rules, regressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError, UnseenState, UsageError
from bayeskit.graphs.distributions import Deterministic, LinearGaussian, NoisyMax
from bayeskit.graphs.network import Network, Node
from bayeskit.networks.given.axes import Axes, numbers
from bayeskit.networks.given.checked_rows import checked_rows
from bayeskit.schema import Label, Name, Variable, state_code

Floats = NDArray[np.float64]


def noisy_or(network: Network, name: Name, causes: object, leak: object, present: Label | None) -> NoisyMax:
    """Read a noisy-OR: for each parent, the probability that it alone brings the child about."""
    variable = _discrete(network, name).variable
    if variable.size != 2:
        raise SettingError(
            f"A noisy-OR has two states, and {name!r} has {variable.size}. Call set_noisy_max({name!r}, ...)."
        )
    code = 1 if present is None else state_code(name, variable.states, present)
    effects = []
    for parent, given in _of_parents(network, name, causes):
        alone = np.zeros(parent.size)
        for state, chance in _of_states(name, parent, given, variable.states[code]).items():
            alone[state] = _chance(name, chance, f"{parent.name!r} = {parent.states[state]!r}")
        effects.append(np.stack([1.0 - alone, alone], axis=1))
    spilt = _chance(name, leak, "the leak")
    made = NoisyMax(tuple(effects), np.array([1.0 - spilt, spilt]))
    return made if code == 1 else made.turned()


def noisy_max(network: Network, name: Name, causes: object, leak: object) -> NoisyMax:
    """Read a noisy-MAX: for each parent and each of its states, what it alone brings about."""
    variable = _discrete(network, name).variable
    effects = []
    for parent, given in _of_parents(network, name, causes):
        effect = np.zeros((parent.size, variable.size))
        effect[:, 0] = 1.0
        for state, row in _of_states(name, parent, given, None).items():
            effect[state] = _row(name, variable, row)
        effects.append(effect)
    nothing = np.eye(variable.size)[0]
    return NoisyMax(tuple(effects), nothing if leak is None else _row(name, variable, leak))


def deterministic(network: Network, name: Name, rule: object) -> Deterministic:
    """Read a rule: a function of the parents' states in order, or a mapping from them, to the child's state."""
    node = _discrete(network, name)
    axes = Axes(name, [network[parent].variable for parent in node.parents])
    axes.check_size()
    if isinstance(rule, Mapping):
        cells = axes.cells(rule)
    elif callable(rule):
        cells = _outcomes(axes, rule)
    else:
        raise SettingError(
            f"{rule!r} is no rule for {name!r}. Give a function of its parents' states or a mapping from them."
        )
    outcome = np.full(axes.shape, -1, np.int64)
    for place, state in cells:
        where = axes.where(place)
        if len(place) < len(axes.shape) or outcome[place] >= 0:
            told = "twice" if len(place) == len(axes.shape) else "for some of the parents only"
            raise SettingError(f"The rule for {name!r} says {state!r} {told}, at {where or 'its top'}.")
        try:
            outcome[place] = state_code(name, node.variable.states, state)
        except UnseenState as error:
            raise UnseenState(f"{error} The rule gives it for {where or 'no parents'}.") from None
    axes.refuse_gaps(outcome >= 0)
    return Deterministic(outcome, node.variable.size)


def _outcomes(axes: Axes, rule: Callable[..., Any]) -> list[tuple[tuple[int, ...], Any]]:
    try:
        signature(rule).bind(*axes.names)
    except ValueError:  # a function of C that does not say what it takes
        pass
    except TypeError as error:
        raise SettingError(
            f"The rule for {axes.owner!r} does not take the states of its parents "
            f"({', '.join(map(repr, axes.names)) or 'none'}): {error}. Give it an argument for each, in this order."
        ) from None
    places = np.ndindex(*axes.shape)
    return [(place, rule(*states)) for place, states in zip(places, product(*axes.states))]


def fitting(network: Network, name: Name, given: Deterministic | NoisyMax | LinearGaussian) -> Any:
    """Return a distribution that fits its node, or say why it does not."""
    if isinstance(given, LinearGaussian):
        return _fitting_gaussian(network, name, given)
    axes = _axes(network, name)
    *sizes, own = axes.shape
    if isinstance(given, Deterministic):
        inside = given.outcome.size and given.outcome.min() >= 0 and given.outcome.max() < own
        if given.outcome.shape != tuple(sizes) or given.size != own:
            raise SettingError(
                f"The rule for {name!r} has the shape {given.outcome.shape} and {given.size} states; the network "
                f"says {tuple(sizes)} and {own}."
            )
        if not inside:
            raise SettingError(
                f"The rule for {name!r} holds the codes {given.outcome.min()} to {given.outcome.max()}; those of its "
                f"{own} states are 0 to {own - 1}."
            )
        return given
    found = [cause.shape for cause in given.causes]
    if found != [(size, own) for size in sizes] or given.leak.shape != (own,):
        raise SettingError(
            f"The causes of {name!r} have the shapes {found}; {[(size, own) for size in sizes]} and a leak of {own} "
            "numbers are needed."
        )
    parents = [network[parent].variable for parent in network[name].parents]
    child = network[name].variable
    causes = [checked_rows(Axes(name, [p, child]), c, None) for p, c in zip(parents, given.causes)]
    return NoisyMax(tuple(causes), checked_rows(Axes(name, [child]), given.leak, None), given.rising)


def _fitting_gaussian(network: Network, name: Name, given: LinearGaussian) -> LinearGaussian:
    node = network[name]
    if node.is_discrete:
        raise SettingError(
            f"{name!r} is discrete. A Gaussian needs a continuous node: states={{{name!r}: float}}."
        )
    sizes = network.sizes_of(parent for parent in node.parents if network[parent].is_discrete)
    shape = (*sizes, len(node.parents) - len(sizes))
    if given.intercept.shape != sizes or given.variance.shape != sizes or given.coefficients.shape != shape:
        raise SettingError(
            f"The regression of {name!r} has intercepts, coefficients and variances of the shapes "
            f"{given.intercept.shape}, {given.coefficients.shape}, {given.variance.shape}; {sizes}, {shape} and "
            f"{sizes} are needed."
        )
    for what in ("intercept", "coefficients", "variance"):
        part = getattr(given, what)
        wrong = ~np.isfinite(part) | ((part < 0) & (what == "variance"))
        if wrong.any():
            need = "finite and not negative" if what == "variance" else "finite"
            raise SettingError(f"The {what} of {name!r} holds {part[wrong].flat[0]}. It must be {need}.")
    return given


def _discrete(network: Network, name: Name) -> Node:
    node = network[name]
    if not node.is_discrete:
        raise SettingError(f"{name!r} is continuous. Call set_gaussian({name!r}, ...).")
    if not node.variable.size:
        raise UsageError(f"The states of {name!r} are not known yet. Call set_states({name!r}, [...]) first.")
    return node


def _axes(network: Network, name: Name) -> Axes:
    node = _discrete(network, name)
    return Axes(name, [network[other].variable for other in (*node.parents, name)])


def _of_parents(network: Network, name: Name, causes: object) -> list[tuple[Variable, Any]]:
    """Return each parent with what is said of it; all must be named, and no others."""
    axes = _axes(network, name)
    if not isinstance(causes, Mapping):
        raise SettingError(f"{causes!r} does not say what the parents of {name!r} do. Give {{parent: ...}}.")
    strange = [cause for cause in causes if cause not in axes.names[:-1]]
    absent = [parent for parent in axes.names[:-1] if parent not in causes]
    if strange or absent:
        told = f"{strange[0]!r} is no parent of it" if strange else f"its parent {absent[0]!r} is left out"
        raise SettingError(
            f"The causes of {name!r}: {told}. Its parents: {', '.join(map(repr, axes.names[:-1]))}."
        )
    return [(network[parent].variable, causes[parent]) for parent in network[name].parents]


def _of_states(name: Name, parent: Variable, given: object, present: Label | None) -> dict[int, Any]:
    """Return what is said of each state of a parent, by code; one may be left out: it brings about nothing."""
    if not isinstance(given, Mapping):
        if present is None or parent.size != 2 or parent.states[0] == present:
            raise SettingError(
                f"In which state is {parent.name!r} a cause of {name!r}? It has {parent.listing()}: give "
                f"{{{parent.name!r}: {{state: ...}}}}."
            )
        return {1: given}
    found: dict[int, Any] = {}
    for state, said in given.items():
        code = state_code(parent.name, parent.states, state)
        if code in found:
            raise SettingError(f"The causes of {name!r} name {parent.name!r} = {state!r} twice.")
        found[code] = said
    absent = [state for code, state in enumerate(parent.states) if code not in found]
    if len(absent) > 1:
        raise SettingError(
            f"The causes of {name!r} leave out {', '.join(map(repr, absent))} of {parent.name!r}. Only the one state "
            "that brings about nothing may be left out."
        )
    return found


def _chance(name: Name, given: object, where: str) -> float:
    chance = numbers(given, name, where)
    if chance.shape != () or not 0.0 <= chance <= 1.0:
        raise SettingError(f"{name!r} has {given!r} for {where}. A probability is a number from 0 to 1.")
    return float(chance)


def _row(name: Name, variable: Variable, given: object) -> Floats:
    axes = Axes(name, [variable])
    cells = axes.cells(given) if isinstance(given, Mapping) else [((), given)]
    return checked_rows(axes, axes.filled(cells), None)
