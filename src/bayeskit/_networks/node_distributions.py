"""Reads the distribution of a node as users write it: tables, noisy-OR and noisy-MAX, rules, regressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import product
from typing import Any, cast

import numpy as np

from bayeskit._data.frames import is_frame
from bayeskit._graphs.distributions import (
    Deterministic,
    Distribution,
    LinearGaussian,
    NoisyMax,
    Softmax,
    Table,
)
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._messages import Joined, Message
from bayeskit._networks.building import Axes, node_with_states, numbers
from bayeskit._networks.node_tables import CptLike, checked_rows, fitting_softmax, table_values
from bayeskit._schema import Label, Name, Variable, state_code
from bayeskit.errors import SettingError, UnseenState, UsageError
from bayeskit.typing import Floats


def read_table(network: Network, name: Name, table: CptLike, normalize: bool | None = False) -> Node:
    """Return the node with the given table. A node without states takes the states of the table.

    Parameters
    ----------
    table : array, nested mapping, Factor, frame, or a value of bayeskit._graphs.distributions
    normalize : divide every row by its sum, even if it is far from one; None if the user has no such option

    Examples
    --------
    >>> from bayeskit._networks.building import network_of
    >>> network = network_of({"wet": ["rain"]}, states=["no", "yes"])
    >>> read_table(network, "wet", {"no": {"no": 0.9, "yes": 0.1}, "yes": [0.25, 0.75]}).distribution.table()
    array([[0.9 , 0.1 ],
           [0.25, 0.75]])
    """
    *parents, node = network.family(name)
    if not isinstance(table, Table) and callable(getattr(type(table), "log_prob", None)):
        return replace(node, distribution=fitting(network, name, cast(Distribution, table)))
    _refuse_numeric_parents(parents, node)
    if not node.is_discrete:
        raise SettingError(
            "{name!r} is continuous and has no table. Call set_gaussian({name!r}, ...).", name=name
        )
    names_states = not node.variable.size and (isinstance(table, (Mapping, Factor)) or is_frame(table))
    axes = Axes(name, [member.variable for member in (*parents, node)], open_last=names_states)
    values = checked_rows(axes, table_values(axes, table), normalize)
    variable = discrete(name, axes.states[-1]) if axes.open_last else node.variable
    return replace(node, variable=variable, distribution=Table(values))


def table_of(network: Network, name: Name) -> Floats:
    """Return a node's table, or raise an error that says why there is none."""
    *parents, node = network.family(name)
    _refuse_numeric_parents(parents, node)
    if isinstance(node.distribution, (LinearGaussian, Softmax)) or not node.is_discrete:
        raise SettingError("{name!r} is continuous and has no table. Call distribution({name!r}).", name=name)
    if node.distribution is None:
        raise UsageError("{name!r} has no table yet. Call set_cpt({name!r}, ...) or fit.", name=name)
    axes = Axes(name, [member.variable for member in (*parents, node)])
    axes.check_size(
        Message("Ask distribution({name!r}), which holds the numbers that the table is made of.", name=name)
    )
    return node.distribution.table()


def intervention(node: Node, value: object) -> Table | LinearGaussian:
    """Return the distribution of a node that is set to a value, or at random with a distribution over its states.

    Examples
    --------
    >>> rain = Node(discrete("rain", ("no", "yes")), ("season",))
    >>> intervention(rain, "yes").values, intervention(rain, [0.75, 0.25]).values
    (array([0., 1.]), array([0.75, 0.25]))
    """
    if not node.is_discrete:
        number = numbers(value, node.name)
        if number.shape != () or not np.isfinite(number):
            raise SettingError(
                "{name!r} cannot be set to {value!r}, which is not a finite number.",
                name=node.name,
                value=value,
            )
        return LinearGaussian(number, np.zeros(0), np.zeros(()))
    if not node.variable.size:
        raise UsageError("The states of {name!r} are not known yet. Call set_states first.", name=node.name)
    if not is_distribution(node.variable, value):
        code = state_code(node.name, node.variable.states, value)
        return Table(np.eye(node.variable.size)[code])
    alone = Network((Node(node.variable),))
    return Table(
        table_of(alone.with_node(read_table(alone, node.name, cast(CptLike, value), None)), node.name)
    )


def is_distribution(variable: Variable, value: object) -> bool:
    """Return whether an intervention gives probabilities of the states, and not one of the states.

    >>> variable = discrete("pair", [(0, 0), (0, 1)])
    >>> is_distribution(variable, (0, 1)), is_distribution(variable, (0.5, 0.5))
    (False, True)
    """
    if isinstance(value, tuple):
        return value not in variable.states
    several = isinstance(value, np.ndarray) and value.ndim > 0
    return several or isinstance(value, (Mapping, list, Factor, Table)) or is_frame(value)


def noisy_or(network: Network, name: Name, causes: object, leak: object, present: Label | None) -> NoisyMax:
    """Read a noisy-OR: for each parent, the probability that it alone produces the effect."""
    variable = _discrete(network, name).variable
    if variable.size != 2:
        raise SettingError(
            "A noisy-OR has two states, and {name!r} has {size}. Call set_noisy_max({name!r}, ...).",
            name=name,
            size=variable.size,
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
    """Read a noisy-MAX: for each parent and state, the distribution of its effect alone."""
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
            "{rule!r} is not a rule for {name!r}. Give a function of its parents' states or a mapping from "
            "them.",
            rule=rule,
            name=name,
        )
    outcome = np.full(axes.shape, -1, np.int64)
    for place, state in cells:
        where = axes.where(place)
        if len(place) < len(axes.shape) or outcome[place] >= 0:
            problem = (
                Message("twice") if len(place) == len(axes.shape) else Message("for some of the parents only")
            )
            raise SettingError(
                "The rule for {name!r} gives {state!r} {problem}, at {where}.",
                name=name,
                state=state,
                problem=problem,
                where=where or Message("its top"),
            )
        try:
            outcome[place] = state_code(name, node.variable.states, state)
        except UnseenState as error:
            raise UnseenState(
                "{error} The rule gives it for {where}.", error=error, where=where or Message("no parents")
            ) from None
    axes.refuse_gaps(outcome >= 0)
    return Deterministic(outcome, node.variable.size)


def _outcomes(axes: Axes, rule: Callable[..., Any]) -> list[tuple[tuple[int, ...], Any]]:
    try:
        signature(rule).bind(*axes.names)
    except ValueError:  # a C function without a signature
        pass
    except TypeError as error:
        raise SettingError(
            "The rule for {owner!r} does not accept the states of its parents ({names}): {error}. Give it "
            "an argument for each, in this order.",
            owner=axes.owner,
            names=Joined(map(repr, axes.names)) or Message("none"),
            error=error,
        ) from None
    places = np.ndindex(*axes.shape)
    return [(place, rule(*states)) for place, states in zip(places, product(*axes.states), strict=True)]


def _of_parents(network: Network, name: Name, causes: object) -> list[tuple[Variable, Any]]:
    """Return each parent with its value; all must be named, and no others."""
    axes = _axes(network, name)
    if not isinstance(causes, Mapping):
        raise SettingError(
            "{causes!r} does not say what the parents of {name!r} do. Give {{parent: ...}}.",
            causes=causes,
            name=name,
        )
    strange = [cause for cause in causes if cause not in axes.names[:-1]]
    absent = [parent for parent in axes.names[:-1] if parent not in causes]
    if strange or absent:
        problem = (
            Message("{strange!r} is not a parent of it", strange=strange[0])
            if strange
            else Message("its parent {absent!r} is missing", absent=absent[0])
        )
        raise SettingError(
            "The causes of {name!r}: {problem}. Its parents: {names}.",
            name=name,
            problem=problem,
            names=Joined(map(repr, axes.names[:-1])),
        )
    return [(network[parent].variable, causes[parent]) for parent in network[name].parents]


def _of_states(name: Name, parent: Variable, given: object, present: Label | None) -> dict[int, Any]:
    """Return the value of each state of a parent, by code; one state may be omitted and has no effect."""
    if not isinstance(given, Mapping):
        if present is None or parent.size != 2 or parent.states[0] == present:
            raise SettingError(
                "In which state is {name!r} a cause of {name2!r}? It has {states}: give "
                "{{{name!r}: {{state: ...}}}}.",
                name=parent.name,
                name2=name,
                states=parent.listing(),
            )
        return {1: given}
    found: dict[int, Any] = {}
    for state, said in given.items():
        code = state_code(parent.name, parent.states, state)
        if code in found:
            raise SettingError(
                "The causes of {name!r} contain {name2!r} = {state!r} twice.",
                name=name,
                name2=parent.name,
                state=state,
            )
        found[code] = said
    absent = [state for code, state in enumerate(parent.states) if code not in found]
    if len(absent) > 1:
        raise SettingError(
            "The causes of {name!r} leave out {names} of {name2!r}. Only the one state without effect may "
            "be left out.",
            name=name,
            names=Joined(map(repr, absent)),
            name2=parent.name,
        )
    return found


def _chance(name: Name, given: object, where: str) -> float:
    chance = numbers(given, name, where)
    if chance.shape != () or not 0.0 <= chance <= 1.0:
        raise SettingError(
            "{name!r} has {given!r} for {where}. A probability is a number from 0 to 1.",
            name=name,
            given=given,
            where=where,
        )
    return float(chance)


def _row(name: Name, variable: Variable, given: object) -> Floats:
    axes = Axes(name, [variable])
    cells = axes.cells(given) if isinstance(given, Mapping) else [((), given)]
    return checked_rows(axes, axes.filled(cells), None)


def regression(
    network: Network,
    name: Name,
    intercept: object,
    coefficients: Mapping[Any, float] | None = None,
    variance: float | None = None,
) -> LinearGaussian:
    """Read one regression, or one for each configuration of the discrete parents.

    Examples
    --------
    >>> from bayeskit._networks.building import network_of
    >>> network = network_of({"weight": ["height"]}, states=float)
    >>> regression(network, "weight", -100.0, {"height": 1.0}, 25.0).coefficients
    array([1.])
    """
    node = network[name]
    chosen = [parent for parent in node.parents if network[parent].is_discrete]
    numeric = tuple(parent for parent in node.parents if parent not in chosen)
    axes = Axes(name, [network[parent].variable for parent in chosen])
    axes.check_size()
    if isinstance(intercept, Mapping):
        if not chosen:
            raise SettingError(
                "{name!r} has no discrete parents, so it has a single regression: pass intercept, coefficients "
                "and variance directly, not a mapping.",
                name=name,
            )
        if coefficients is not None or variance is not None:
            raise SettingError(
                "A mapping for {name!r} contains (intercept, coefficients, variance) for each state of its "
                "discrete parents: leave coefficients= and variance= out.",
                name=name,
            )
        cells = axes.cells(intercept)
    else:
        if variance is None:
            raise SettingError("The variance of {name!r} is missing. Pass variance=.", name=name)
        cells = [((), (intercept, coefficients, variance))]
    intercepts, variances = np.zeros(axes.shape), np.zeros(axes.shape)
    slopes = np.zeros((*axes.shape, len(numeric)))
    seen = np.zeros(axes.shape, dtype=bool)
    for place, said in cells:
        where = axes.where(place)
        if len(place) < len(axes.shape) or np.any(seen[place]):
            given = Joined(map(repr, chosen))
            raise SettingError(
                "{name!r} has the discrete parents {given}: give a mapping from their states to (intercept, "
                "coefficients, variance), with each configuration once.",
                name=name,
                given=given,
            )
        intercepts[place], slopes[place], variances[place] = _regression(name, numeric, said, where)
        seen[place] = True
    axes.refuse_gaps(seen)
    made: LinearGaussian = fitting(network, name, LinearGaussian(intercepts, slopes, variances))
    return made


def _regression(
    name: Name, numeric: tuple[Name, ...], said: object, where: str
) -> tuple[float, list[float], float]:
    """Read (intercept, coefficients, variance), or (mean, variance) if no parent is continuous."""
    if not isinstance(said, (tuple, list)) or len(said) not in (2, 3):
        raise SettingError(
            "{name!r} has {said!r} at {where}. Give (intercept, coefficients, variance).",
            name=name,
            said=said,
            where=where or Message("its top"),
        )
    slopes = said[1] if len(said) == 3 else None
    slopes = {} if slopes is None else slopes
    if not isinstance(slopes, Mapping):
        raise SettingError(
            "The coefficients of {name!r} are {slopes!r}. Give {{parent: number}}.", name=name, slopes=slopes
        )
    strange = [parent for parent in slopes if parent not in numeric]
    absent = [parent for parent in numeric if parent not in slopes]
    if strange or absent:
        problem = (
            Message("{strange!r} is none of them", strange=strange[0])
            if strange
            else Message("{absent!r} is missing", absent=absent[0])
        )
        listing = Joined(map(repr, numeric)) or Message("none")
        raise SettingError(
            "The coefficients of {name!r} are for its continuous parents ({listing}): {problem}. 0 means no effect.",
            name=name,
            listing=listing,
            problem=problem,
        )
    return (
        _number(name, said[0], where),
        [_number(name, slopes[parent], where) for parent in numeric],
        _number(name, said[-1], where),
    )


def _number(name: Name, given: object, where: str) -> float:
    number = numbers(given, name, where)
    if number.shape != ():
        raise SettingError("{name!r} has {given!r} where one number is needed.", name=name, given=given)
    return float(number)


def fitting(network: Network, name: Name, given: Distribution) -> Any:
    """Check that a distribution fits its node, and return it."""
    if isinstance(given, Softmax):
        return fitting_softmax(network, name, given)
    if isinstance(given, LinearGaussian):
        return _fitting_gaussian(network, name, given)
    axes = _axes(network, name)
    *sizes, own = axes.shape
    if isinstance(given, Deterministic):
        inside = given.outcome.size and given.outcome.min() >= 0 and given.outcome.max() < own
        if given.outcome.shape != tuple(sizes) or given.size != own:
            raise SettingError(
                "The rule for {name!r} has the shape {shape} and {size} states; the network has {sizes} and "
                "{own}.",
                name=name,
                shape=given.outcome.shape,
                size=given.size,
                sizes=tuple(sizes),
                own=own,
            )
        if not inside:
            raise SettingError(
                "The rule for {name!r} contains the codes {outcome} to {outcome2}; those of its {own} states "
                "are 0 to {own2}.",
                name=name,
                outcome=given.outcome.min(),
                outcome2=given.outcome.max(),
                own=own,
                own2=own - 1,
            )
        return given
    if isinstance(given, NoisyMax):
        return _fitting_noisy_max(network, name, given)
    axes.check_size()
    values = given.table()
    if values.shape != axes.shape:
        raise SettingError(
            "The {kind} of {name!r} has a table of the shape {shape}; {shape2} is needed.",
            kind=type(given).__name__,
            name=name,
            shape=values.shape,
            shape2=axes.shape,
        )
    checked_rows(axes, values, None)
    return given


def _fitting_noisy_max(network: Network, name: Name, given: NoisyMax) -> NoisyMax:
    *sizes, own = _axes(network, name).shape
    found = [cause.shape for cause in given.causes]
    if found != [(size, own) for size in sizes] or given.leak.shape != (own,):
        raise SettingError(
            "The causes of {name!r} have the shapes {found}; {value} and a leak of {own} numbers are needed.",
            name=name,
            found=found,
            value=[(size, own) for size in sizes],
            own=own,
        )
    parents = [network[parent].variable for parent in network[name].parents]
    child = network[name].variable
    causes = [
        checked_rows(Axes(name, [p, child]), c, None) for p, c in zip(parents, given.causes, strict=True)
    ]
    return NoisyMax(tuple(causes), checked_rows(Axes(name, [child]), given.leak, None), given.rising)


def _fitting_gaussian(network: Network, name: Name, given: LinearGaussian) -> LinearGaussian:
    node = network[name]
    if node.is_discrete:
        raise SettingError(
            "{name!r} is discrete. A Gaussian needs a continuous node: states={{{name!r}: float}}.", name=name
        )
    sizes = network.sizes_of(parent for parent in node.parents if network[parent].is_discrete)
    shape = (*sizes, len(node.parents) - len(sizes))
    if given.intercept.shape != sizes or given.variance.shape != sizes or given.coefficients.shape != shape:
        raise SettingError(
            "The regression of {name!r} has intercepts, coefficients and variances of the shapes "
            "{shape}, {shape2}, {shape3}; {sizes}, {shape4} and "
            "{sizes} are needed.",
            name=name,
            shape=given.intercept.shape,
            shape2=given.coefficients.shape,
            shape3=given.variance.shape,
            sizes=sizes,
            shape4=shape,
        )
    for what in ("intercept", "coefficients", "variance"):
        part = getattr(given, what)
        wrong = ~np.isfinite(part) | ((part < 0) & (what == "variance"))
        if wrong.any():
            need = Message("finite and not negative") if what == "variance" else Message("finite")
            raise SettingError(
                "The {what} of {name!r} contains {flat}. It must be {need}.",
                what=what,
                name=name,
                flat=part[wrong].flat[0],
                need=need,
            )
    return given


def _discrete(network: Network, name: Name) -> Node:
    node = node_with_states(network, name)
    _refuse_numeric_parents(network.family(name)[:-1], node)
    return node


def _refuse_numeric_parents(parents: Sequence[Node], node: Node) -> None:
    numeric = [parent.name for parent in parents if not parent.is_discrete]
    if numeric and node.is_discrete:
        raise SettingError(
            "{name!r} is discrete and {numeric!r}, its parent, is continuous: it has no table. Call "
            "set_softmax({name!r}, ...).",
            name=node.name,
            numeric=numeric[0],
        )


def _axes(network: Network, name: Name) -> Axes:
    _discrete(network, name)
    return Axes(name, [member.variable for member in network.family(name)])
