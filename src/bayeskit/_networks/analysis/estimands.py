"""Effects as formulas of what is observed, and their values. `identify` is a method of `BayesianNetwork`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bayeskit._graphs.dag import Dag
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.identification import (
    PLAIN,
    Formula,
    Hedge,
    Notation,
    Probability,
    Product,
    Ratio,
    Sum,
    probabilities_in,
    written,
)
from bayeskit._graphs.identification import identify as identify_formula
from bayeskit._graphs.network import Network
from bayeskit._inference.exact import allowed
from bayeskit._messages import Joined, Message
from bayeskit._networks.analysis.causal_sets import cause_and_outcome
from bayeskit._networks.analysis.network_information import QueryableNetwork
from bayeskit._networks.arguments import known_nodes
from bayeskit._schema import Name
from bayeskit._visible import visible
from bayeskit.errors import NoOverlap, NotIdentifiable, SettingError, TooLarge
from bayeskit.typing import Floats, NamesLike

Names = tuple[Name, ...]


@dataclass(frozen=True)
class Estimand:
    """An effect as a formula of what is observed. Its text is the formula.

    Attributes
    ----------
    cause, outcome, given, hidden : tuples of names
    formula : str
        Such as "Σ_z P(y | x, z) P(z)". A variable that is summed over has a prime if another one has its name.
    latex : str
        The same for LaTeX.
    """

    cause: Names
    outcome: Names
    given: Names
    hidden: Names
    expression: Formula = field(repr=False)
    network: QueryableNetwork = field(repr=False, compare=False)

    @property
    def formula(self) -> str:
        """The formula as text."""
        return written(self.expression, PLAIN, (*self.cause, *self.outcome, *self.given))

    @property
    def latex(self) -> str:
        """The formula as LaTeX."""
        from bayeskit._report.latex_text import escaped

        notation = Notation(
            lambda name: rf"\text{{{escaped(name)}}}",
            r"\sum_{{{names}}} ",
            r"\frac{{{top}}}{{{bottom}}}",
            r" \mid ",
        )
        given = "".join(f", {notation.name(visible(name))}" for name in self.given)
        sides = [
            ", ".join(notation.name(visible(name)) for name in group) for group in (self.outcome, self.cause)
        ]
        left = rf"P({sides[0]} \mid do({sides[1]}){given})"
        return f"{left} = {written(self.expression, notation, (*self.cause, *self.outcome, *self.given))}"

    def evaluate(self, *, max_memory: float | None = None) -> Factor:
        """Compute the effect from the tables of the network, using only the joint distribution of what is observed.

        Returns
        -------
        Factor with an axis for each cause, each given node and each outcome
        """
        network = self.network._network
        source = FromTables(self.network, allowed(max_memory))
        names = (*self.cause, *self.given, *self.outcome)
        values = evaluated(self.expression, source)
        refuse_undefined(network, self.expression, source, self.cause, values)
        states = (network[name].variable.states for name in names)
        return Factor(names, states, spread(values, names, network.sizes_of(names))[0])

    def __str__(self) -> str:
        cause, outcome = (", ".join(map(visible, names)) for names in (self.cause, self.outcome))
        given = "".join(f", {visible(name)}" for name in self.given)
        return f"P({outcome} | do({cause}){given}) = {self.formula}"

    def _repr_latex_(self) -> str:
        return f"$${self.latex}$$"


class LabelledNumbers(NamedTuple):
    """Numbers over some variables, with an axis of draws before theirs (of length one if there are none)."""

    names: Names
    values: Floats


class FromTables:
    """The distribution of the observed variables, from the tables of a network."""

    def __init__(self, network: QueryableNetwork, limit: float) -> None:
        self._network, self.limit = network, limit
        self._known: dict[Names, LabelledNumbers] = {}

    def margin(self, names: Names) -> LabelledNumbers:
        if names not in self._known:
            found = self._network.query(list(names), max_memory=self.limit).values
            self._known[names] = LabelledNumbers(names, found[None])
        return self._known[names]


class FromCounts:
    """The distribution of some variables, as one or many joint tables of them."""

    def __init__(self, names: Names, joint: Floats, limit: float) -> None:
        self._names, self._joint, self.limit = names, joint, limit

    def margin(self, names: Names) -> LabelledNumbers:
        kept = [name for name in self._names if name in names]
        gone = tuple(k + 1 for k, name in enumerate(self._names) if name not in names)
        values = self._joint.sum(axis=gone)
        return LabelledNumbers(names, values.transpose([0, *(kept.index(name) + 1 for name in names)]))


Source = FromTables | FromCounts


def evaluated(formula: Formula, source: Source) -> LabelledNumbers:
    """Return the numbers of a formula. Where it divides zero by zero they are NaN, unless multiplied by zero."""
    match formula:
        case Probability(of, given):
            joint = source.margin((*given, *of))
            axes = tuple(range(1 + len(given), 1 + len(given) + len(of)))
            return LabelledNumbers(
                joint.names, divided(joint.values, joint.values.sum(axis=axes, keepdims=True))
            )
        case Ratio(top, bottom):
            upper, lower = evaluated(top, source), evaluated(bottom, source)
            names = (*upper.names, *(n for n in lower.names if n not in upper.names))
            return LabelledNumbers(names, divided(_aligned(upper, names), _aligned(lower, names)))
        case Product(factors):
            return _summed([evaluated(factor, source) for factor in factors], (), source.limit)
        case Sum(over, Product(factors)):
            return _summed([evaluated(factor, source) for factor in factors], over, source.limit)
        case Sum(over, of):
            return _summed([evaluated(of, source)], over, source.limit)


def divided(top: Floats, bottom: Floats) -> Floats:
    out = np.full(np.broadcast_shapes(top.shape, bottom.shape), np.nan)
    np.divide(top, bottom, out=out, where=bottom != 0.0)
    return out


def _aligned(table: LabelledNumbers, names: Names) -> Floats:
    """Return the numbers with an axis for each name, of length one for those that the table does not have."""
    mine = [name for name in names if name in table.names]
    values = table.values.transpose([0, *(table.names.index(name) + 1 for name in mine)])
    sizes = dict(zip(mine, values.shape[1:], strict=True))
    return values.reshape([values.shape[0], *(sizes.get(name, 1) for name in names)])


def spread(table: LabelledNumbers, names: Names, sizes: Sequence[int]) -> Floats:
    """Return the numbers with an axis for each name; those that the table does not have are repeated."""
    values = _aligned(table, names)
    return np.broadcast_to(values, (values.shape[0], *sizes))


def _summed(factors: list[LabelledNumbers], over: Names, limit: float) -> LabelledNumbers:
    """Multiply factors and sum over some variables, one after the other, those with the smallest products first."""
    left = list(factors)
    todo = {name for name in over if any(name in factor.names for factor in left)}
    while todo:
        name = min(sorted(todo, key=repr), key=lambda n: _cells([f for f in left if n in f.names]))
        todo.remove(name)
        found = _multiplied([f for f in left if name in f.names], limit)
        axis = found.names.index(name) + 1
        names = tuple(n for n in found.names if n != name)
        left = [f for f in left if name not in f.names] + [
            LabelledNumbers(names, found.values.sum(axis=axis))
        ]
    return _multiplied(left, limit)


def _cells(factors: list[LabelledNumbers]) -> int:
    sizes: dict[Name, int] = {}
    for factor in factors:
        sizes |= dict(zip(factor.names, factor.values.shape[1:], strict=True))
    return math.prod(sizes.values())


def _multiplied(factors: list[LabelledNumbers], limit: float) -> LabelledNumbers:
    cells = _cells(factors) * max(len(factor.values) for factor in factors)
    names = tuple(dict.fromkeys(name for factor in factors for name in factor.names))
    if 8 * cells > limit:
        raise TooLarge(
            8 * cells, limit, names, cells, Message("Allow more memory, or adjust for fewer nodes.")
        )
    found = np.ones((1,) * (1 + len(names)))
    for factor in factors:
        other = _aligned(factor, names)
        found = np.where((found == 0.0) | (other == 0.0), 0.0, found * other)
    return LabelledNumbers(names, found)


def refuse_undefined(
    network: Network, formula: Formula, source: Source, cause: Names, values: LabelledNumbers
) -> None:
    """Raise an error if the formula divides by zero: some group never has some state of the cause."""
    if not np.isnan(values.values).any():
        return
    for term in probabilities_in(formula):
        inside = tuple(name for name in term.given if name in cause)
        beside = tuple(name for name in term.given if name not in cause)
        if not inside:
            continue
        both = source.margin((*inside, *beside)).values[0]
        group = source.margin(beside).values[0] if beside else np.ones(())
        empty = np.argwhere((both == 0.0) & (group > 0.0))
        if len(empty):
            cell = dict(zip((*inside, *beside), empty[0].tolist(), strict=True))
            told = {n: network[n].variable.states[code] for n, code in cell.items()}
            raise NoOverlap(
                "{cause} never occurs{group}, so its effect there is unknown (no overlap). Join states, adjust for "
                "fewer nodes, or compare other states.",
                cause=Joined(f"{n!r} = {told[n]!r}" for n in inside),
                group=Message(" where {names}", names=Joined(f"{n!r} = {told[n]!r}" for n in beside))
                if beside
                else "",
            )
    raise NoOverlap(
        "The formula {formula} divides by zero here: some states of {names} never occur together (no overlap).",
        formula=written(formula),
        names=Joined(map(repr, sorted(formula.free, key=repr))),
    )


def identify(
    self: QueryableNetwork, x: NamesLike, y: NamesLike, *, hidden: NamesLike = (), given: NamesLike = ()
) -> Estimand:
    """Return P(y | do(x)) as a formula of the observed nodes (the ID algorithm).

    Parameters
    ----------
    x, y : a name, or a list of names
    hidden : nodes that are not observed, such as hidden common causes
    given : nodes to condition on: P(y | do(x), given)

    Returns
    -------
    Estimand, with ``formula``, ``latex`` and ``evaluate()``

    Raises
    ------
    NotIdentifiable
        If no formula of the observed nodes gives the effect. The error names the hedge.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> network = BayesianNetwork({"smoking": ["gene"], "tar": ["smoking"], "cancer": ["tar", "gene"]})
    >>> print(network.identify("smoking", "cancer", hidden="gene"))
    P(cancer | do(smoking)) = Σ_tar P(tar | smoking) Σ_smoking' P(smoking') P(cancer | smoking', tar)
    >>> network.identify("tar", "cancer", hidden=["gene", "smoking"])
    Traceback (most recent call last):
    ...
    bayeskit.errors.NotIdentifiable: The effect of 'tar' on 'cancer' is not identifiable. ...

    References
    ----------
    I. Shpitser and J. Pearl, "Identification of joint interventional distributions in recursive semi-Markovian
    causal models" (2006).
    """
    dag = self._network.dag
    unseen = known_nodes(dag, hidden, "hidden")
    cause, outcome = cause_and_outcome(dag, x, y, unseen)
    seen = known_nodes(dag, given, "given")
    refuse_shared(seen, (*cause, *outcome, *unseen))
    expression = identified(dag, cause, outcome, unseen, seen)
    return Estimand(cause, outcome, seen, unseen, expression, self._of(self._network))


def refuse_shared(given: Names, others: Names) -> None:
    both = next((name for name in given if name in others), None)
    if both is not None:
        raise SettingError(
            "{both!r} is observed, and also a cause, an outcome or hidden. Take it out of one.", both=both
        )


def identified(dag: Dag, x: Names, y: Names, hidden: Names, given: Names) -> Formula:
    try:
        return identify_formula(dag, x, y, hidden, given)
    except Hedge as hedge:
        raise NotIdentifiable(x, y, hedge.nodes, hedge.root, hedge.hidden) from None
