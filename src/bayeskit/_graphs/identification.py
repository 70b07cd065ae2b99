"""The ID algorithm: P(y | do(x)) as a formula of what is observed, or the hedge that makes this impossible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bayeskit._graphs.adjustment import cut_arcs
from bayeskit._graphs.dag import Dag, ancestors, topological_order
from bayeskit._graphs.separation import d_separated
from bayeskit._schema import Name
from bayeskit._visible import visible

Names = tuple[Name, ...]

# -- formulas ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probability:
    """P(of | given) of the observed variables."""

    of: Names
    given: Names = ()

    @property
    def free(self) -> frozenset[Name]:
        return frozenset((*self.of, *self.given))


@dataclass(frozen=True)
class Product:
    factors: tuple[Formula, ...]

    @property
    def free(self) -> frozenset[Name]:
        return frozenset().union(*(factor.free for factor in self.factors))


@dataclass(frozen=True)
class Sum:
    over: Names
    of: Formula

    @property
    def free(self) -> frozenset[Name]:
        return self.of.free.difference(self.over)


@dataclass(frozen=True)
class Ratio:
    top: Formula
    bottom: Formula

    @property
    def free(self) -> frozenset[Name]:
        return self.top.free | self.bottom.free


Formula = Probability | Product | Sum | Ratio


@dataclass(frozen=True)
class Notation:
    """How a formula is written: names, sums, fractions, and the bar of a conditional probability."""

    name: Callable[[str], str]
    sum: str
    ratio: str
    bar: str


PLAIN = Notation(str, "Σ_{names} ", "[{top}] / [{bottom}]", " | ")


def written(formula: Formula, notation: Notation = PLAIN, free: Iterable[Name] | None = None) -> str:
    """Write a formula. A variable that is summed over while another one has its name gets a prime.

    Examples
    --------
    >>> inner = Sum(("x",), Product((Probability(("y",), ("x", "z")), Probability(("x",)))))
    >>> written(Sum(("z",), Product((Probability(("z",), ("x",)), inner))))
    "Σ_z P(z | x) Σ_x' P(y | x', z) P(x')"
    """
    primes = dict.fromkeys(formula.free if free is None else free, 0)
    return _written(formula, notation, primes, False)


def _written(formula: Formula, notation: Notation, primes: dict[Name, int], inside: bool) -> str:
    """Write a formula within others; ``inside`` says whether more factors follow it."""

    def listed(names: Names) -> str:
        return ", ".join(notation.name(visible(n)) + "'" * primes.get(n, 0) for n in names)

    match formula:
        case Probability(of, given):
            return f"P({listed(of)}{notation.bar if given else ''}{listed(given)})"
        case Product(factors):
            # Sums come last, since a sum extends to everything behind it.
            ordered = sorted(factors, key=lambda factor: isinstance(factor, Sum))
            last = len(ordered) - 1
            return " ".join(_written(f, notation, primes, k < last) for k, f in enumerate(ordered))
        case Ratio(top, bottom):
            parts = {"top": top, "bottom": bottom}
            texts = {key: _written(part, notation, primes, False) for key, part in parts.items()}
            return notation.ratio.format(**texts)
        case Sum(over, of):
            primes = primes | {n: primes[n] + 1 if n in primes else 0 for n in over}
            text = notation.sum.format(names=listed(over)) + _written(of, notation, primes, False)
            return f"({text})" if inside else text


def product_of(factors: Sequence[Formula]) -> Formula:
    """Return a product; one within another is opened."""
    flat: list[Formula] = []
    for factor in factors:
        flat += factor.factors if isinstance(factor, Product) else (factor,)
    return flat[0] if len(flat) == 1 else Product(tuple(flat))


def sum_of(over: Names, of: Formula) -> Formula:
    """Return a sum; over nothing it is the summand."""
    if not over:
        return of
    if isinstance(of, Sum) and not set(over) & set(of.over):
        return Sum((*over, *of.over), of.of)
    return Sum(over, of)


def adjustment_formula(y: Names, x: Names, z: Names, given: Names = ()) -> Formula:
    r"""Return :math:`\sum_z P(y \mid x, z, w) P(z \mid w)`, where w is given.

    Examples
    --------
    >>> written(adjustment_formula(("y",), ("x",), ("z",)))
    'Σ_z P(y | x, z) P(z)'
    """
    response = Probability(y, (*x, *z, *given))
    return sum_of(z, Product((response, Probability(z, given)))) if z else response


# -- identification ----------------------------------------------------------------------------


class Hedge(Exception):
    """Why an effect is not identifiable: ``nodes`` are one c-component, and ``root`` a smaller one within it.

    ``hidden`` are the hidden nodes that join them.
    """

    def __init__(self, nodes: Names, root: Names, hidden: Names) -> None:
        super().__init__(nodes, root, hidden)
        self.nodes, self.root, self.hidden = nodes, root, hidden


def identify(dag: Dag, x: Names, y: Names, hidden: Names = (), given: Names = ()) -> Formula:
    """Return P(y | do(x), given) as a formula of the variables that are not hidden.

    Raises
    ------
    Hedge
        If no such formula exists: two networks with this graph agree on everything that is observed, and not on
        the effect.

    Examples
    --------
    >>> dag = Dag.of({"x": ["u"], "z": ["x"], "y": ["z", "u"]}, "uxzy")
    >>> written(identify(dag, ("x",), ("y",), hidden=("u",)))
    "Σ_z P(z | x) Σ_x' P(x') P(y | x', z)"

    References
    ----------
    I. Shpitser and J. Pearl, "Identification of joint interventional distributions in recursive semi-Markovian
    causal models" (2006), and "Identification of conditional interventional distributions" (2006).
    """
    # A node to condition on whose back doors are shut can as well be set (IDC).
    for node in given:
        rest = [n for n in given if n != node]
        cut = cut_arcs(dag, into=x, out_of=[node])
        if d_separated(cut, [node], y, [*x, *rest]):
            return identify(dag, (*x, node), y, hidden, tuple(rest))
    observed = ObservedGraph(dag, hidden)
    wanted = observed.ordered((*y, *given))
    found = _identify(observed, frozenset(wanted), frozenset(x), _Observed(observed, observed.nodes))
    others = observed.ordered(found.free.difference(x, wanted))
    if others:  # set, but without an effect on y: any values will do, so it is averaged over them
        found = Sum(others, product_of([Probability(others), found]))
    if not given:
        return found
    return Ratio(found, sum_of(observed.ordered(y), found))


class ObservedGraph:
    """The observed part of a graph: arcs, and groups of nodes with a hidden common cause (the latent projection).

    Examples
    --------
    >>> graph = ObservedGraph(Dag.of({"x": ["u"], "z": ["x"], "y": ["z", "u"]}, "uxzy"), ["u"])
    >>> graph.dag.arcs, [sorted(group) for group in graph.components(graph.nodes)]
    ((('x', 'z'), ('z', 'y')), [['x', 'y'], ['z']])
    """

    def __init__(self, dag: Dag, hidden: Iterable[Name]) -> None:
        unseen = dict.fromkeys(hidden)
        above: dict[Name, tuple[Name, ...]] = {}  # the nearest observed nodes above
        groups: dict[Name, set[Name]] = {node: set() for node in unseen}
        for node in topological_order(dag):
            found: dict[Name, None] = {}
            for parent in dag.parents_of(node):
                found |= dict.fromkeys(above[parent] if parent in unseen else (parent,))
            above[node] = tuple(found)
        for node in reversed(topological_order(dag)):
            if node in unseen:
                for child in dag.children[node]:
                    groups[node] |= groups[child] if child in unseen else {child}
        nodes = tuple(node for node in dag.nodes if node not in unseen)
        self.dag = Dag(nodes, tuple(above[node] for node in nodes))
        self.nodes = frozenset(nodes)
        self.order = topological_order(self.dag)
        self._groups = {node: frozenset(group) for node, group in groups.items() if len(group) > 1}

    def ordered(self, nodes: Iterable[Name]) -> Names:
        """Return nodes with parents before their children."""
        some = set(nodes)
        return tuple(node for node in self.order if node in some)

    def within(self, nodes: frozenset[Name], removed: frozenset[Name] = frozenset()) -> Dag:
        """Return the graph of some nodes, without the arcs into the removed ones."""
        parents = (
            () if node in removed else tuple(p for p in self.dag.parents_of(node) if p in nodes)
            for node in self.ordered(nodes)
        )
        return Dag(self.ordered(nodes), tuple(parents))

    def components(self, nodes: frozenset[Name]) -> list[frozenset[Name]]:
        """Return the c-components of some nodes: those that hidden common causes join, directly or in a chain."""
        left = dict.fromkeys(self.ordered(nodes))
        groups = [group & nodes for group in self._groups.values()]
        found = []
        while left:
            members = {next(iter(left))}
            while more := set().union(*(g for g in groups if not g.isdisjoint(members))) - members:
                members |= more
            found.append(frozenset(members))
            for node in members:
                del left[node]
        return found

    def joining(self, nodes: frozenset[Name]) -> Names:
        """Return the hidden nodes that join some of these."""
        return tuple(hidden for hidden, group in self._groups.items() if len(group & nodes) > 1)

    def needed(self, node: Name, before: frozenset[Name]) -> Names:
        """Return what a node depends on given the nodes before it: its c-component among them, and their parents."""
        (group,) = (g for g in self.components(before | {node}) if node in g)
        parents = {p for member in group for p in self.dag.parents_of(member)}
        return self.ordered((group | parents) & before)


class _Observed:
    """The distribution of the observed variables, or of some of them."""

    def __init__(self, graph: ObservedGraph, nodes: frozenset[Name]) -> None:
        self.graph, self.nodes = graph, nodes

    def margin(self, nodes: frozenset[Name]) -> _Observed:
        return _Observed(self.graph, nodes)

    def formula(self) -> Formula:
        return Probability(self.graph.ordered(self.nodes))

    def conditional(self, node: Name, before: Names) -> Formula:
        return Probability((node,), self.graph.needed(node, frozenset(before)))


class _Derived:
    """A distribution over some nodes: the product of conditional ones, summed over the other nodes that they have."""

    def __init__(self, graph: ObservedGraph, nodes: frozenset[Name], factors: dict[Name, Formula]) -> None:
        self.graph, self.nodes = graph, nodes
        # What no other factor depends on sums to one.
        self._factors = dict(factors)
        for node in reversed(graph.ordered(factors.keys() - nodes)):
            if not any(node in f.free for other, f in self._factors.items() if other != node):
                del self._factors[node]

    def formula(self) -> Formula:
        summed = self.graph.ordered(self._factors.keys() - self.nodes)
        return sum_of(summed, product_of(list(self._factors.values())))

    def margin(self, nodes: frozenset[Name]) -> _Derived:
        return _Derived(self.graph, nodes, self._factors)

    def conditional(self, node: Name, before: Names) -> Formula:
        if self._factors.keys() == self.nodes:
            return self._factors[node]
        upto = frozenset(before) & self.nodes
        top = self.margin(upto | {node}).formula()
        return Ratio(top, self.margin(upto).formula()) if upto else top


def _identify(
    graph: ObservedGraph, y: frozenset[Name], x: frozenset[Name], p: _Observed | _Derived
) -> Formula:
    """Return P(y | do(x)) in the graph of the nodes of p. The numbers are the lines of the published algorithm."""
    nodes = p.nodes
    if not x:  # 1
        return p.margin(y).formula()
    dag = graph.within(nodes)
    above = y.union(ancestors(dag, *y))
    if above != nodes:  # 2
        return _identify(graph, y, x & above, p.margin(above))
    cut = graph.within(nodes, removed=x)
    more = nodes - x - y.union(ancestors(cut, *y))
    if more:  # 3
        return _identify(graph, y, x | more, p)
    parts = graph.components(nodes - x)
    if len(parts) > 1:  # 4
        factors = [_identify(graph, part, nodes - part, p) for part in parts]
        return sum_of(graph.ordered(nodes - y - x), product_of(factors))
    (part,) = parts
    whole = graph.components(nodes)
    if len(whole) == 1:  # 5
        raise Hedge(graph.ordered(nodes), graph.ordered(part), graph.joining(nodes))
    order = graph.ordered(nodes)
    (around,) = (component for component in whole if part <= component)
    conditionals = {v: p.conditional(v, order[: order.index(v)]) for v in order if v in around}
    if part == around:  # 6
        return sum_of(graph.ordered(part - y), product_of(list(conditionals.values())))
    return _identify(graph, y, x & around, _Derived(graph, around, conditionals))  # 7


def probabilities_in(formula: Formula) -> Iterator[Probability]:
    """Yield the probabilities that a formula consists of."""
    match formula:
        case Probability():
            yield formula
        case Product(factors):
            for factor in factors:
                yield from probabilities_in(factor)
        case Sum(_, of):
            yield from probabilities_in(of)
        case Ratio(top, bottom):
            yield from probabilities_in(top)
            yield from probabilities_in(bottom)
