"""Conversion of a fitted classifier into the equivalent Bayesian network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import Conditional, DiscreteConditional
from bayeskit._fitting.graph_network import normalised, state_labels
from bayeskit._fitting.model import Model
from bayeskit._graphs.distributions import LinearGaussian, Table
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._messages import Joined
from bayeskit._schema import Name, Variable
from bayeskit.errors import NotSupported, UsageError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._conditionals.cell_gaussian import ChildGaussians
    from bayeskit._fitting.graph_factors import GraphFactors
    from bayeskit._networks.bayesian_network import BayesianNetwork


# 128 MiB of numbers: a table over all configurations of many parents is far larger than the counts behind it.
MOST_CELLS = 2**24


def single_network(classifier: CountClassifier) -> BayesianNetwork:
    """Return the network of a fitted classifier; one whose model is not a single network is refused."""
    classifier._reader("explore")
    network: BayesianNetwork | None = getattr(classifier, "network_", None)
    if network is None:
        raise UsageError(
            "{kind} is not a single network. Use NaiveBayes, TAN or BayesNetClassifier.",
            kind=type(classifier).__name__,
        )
    return network


def network_of_model(model: Model, columns: Sequence[Name] = ()) -> Network:
    """Return P(c) and the conditionals of a model as nodes; ``columns`` names the columns of a block.

    Examples
    --------
    >>> from bayeskit import TAN
    >>> model = TAN().fit([["sun", "dry"], ["sun", "dry"], ["rain", "wet"]], ["go", "go", "stay"])
    >>> [(node.name, node.parents) for node in network_of_model(model._model).nodes]
    [('y', ()), ('x0', ('y',)), ('x1', ('y', 'x0'))]
    """
    made = _Nodes(model, columns)
    for conditional in model.conditionals:
        conditional.add_nodes(made)
    return made.network()


class _Slots(NamedTuple):
    """A discrete attribute as the variable of a node, and the model's code of each of its states."""

    variable: Variable
    codes: tuple[int, ...]


@dataclass
class _Nodes:
    """The nodes built so far, and the variables and codes of the discrete attributes by attribute index."""

    model: Model
    columns: Sequence[Name] = ()
    target: Variable = field(init=False)
    found: dict[Name, Node] = field(default_factory=dict)
    slots: dict[int, _Slots] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = set(self.model.schema.position)
        name = self.model.schema.target.name
        # Unnamed labels get the name "y", which may also be the name of a column.
        self.target = discrete(_free(name, taken, "class"), self.model.schema.target.states)
        prior = np.exp(self.model.log_prior)
        self.add(self.target, (), Table(normalised(prior)))

    def add(self, variable: Variable, parents: tuple[Name, ...], found: Table | LinearGaussian) -> None:
        self.found[variable.name] = Node(variable, parents, found)

    def add_tables(self, tables: DiscreteConditional) -> None:
        variables = self.model.schema.categorical
        for j in tables.members():
            codes = tables.codes_of(j)
            if codes:  # an attribute without any state has no node
                node = discrete(variables[j].name, state_labels(variables[j], codes))
                # Keep the cut points, so that a node of intervals accepts numbers as evidence.
                self.slots[j] = _Slots(replace(node, cuts=variables[j].cuts), codes)
        families = {j: self._known(tables.parents_of(j)) for j in self.slots}
        _check_size(self.target, [[self.slots[i] for i in (*parents, j)] for j, parents in families.items()])
        for j, parents in families.items():
            child = self.slots[j]
            above = [self.slots[i] for i in parents]
            table = tables.table_of(j, parents, [slots.codes for slots in (*above, child)])
            names = (self.target.name, *(slots.variable.name for slots in above))
            self.add(child.variable, names, Table(normalised(np.moveaxis(table, -1, 0))))

    def _known(self, parents: list[int]) -> list[int]:
        """Return the parents before the first one without states.

        The model ignores all parents from the first missing one on, and a parent without states is always missing.
        """
        return list(takewhile(self.slots.__contains__, parents))

    def add_normal(self, column: int, mean: Floats, deviation: Floats) -> None:
        name = self.model.schema.numeric[column].name
        self.add(continuous(name), (self.target.name,), _gaussian(name, mean, deviation))

    def add_children(self, children: ChildGaussians) -> None:
        for m, variable in enumerate(self.model.schema.numeric):
            parent = self.slots.get(int(children.parents[m]))
            found = _child_gaussian(children, m, None if parent is None else parent.codes, variable.name)
            if found is not None:
                above = () if parent is None else (parent.variable.name,)
                self.add(continuous(variable.name), (self.target.name, *above), found)

    def add_graph(self, graph: GraphFactors) -> None:
        for node in graph.network.nodes:
            if node.name != graph.target or node.parents:
                self.found[node.name] = node

    def add_missingness(self, column: int, table: Floats) -> None:
        name = self.model.schema.numeric[column].name
        free = _free(f"{name} is missing", {*self.found, *self.model.schema.position})
        self.add(discrete(free, (False, True)), (self.target.name,), Table(normalised(table)))

    def add_words(self, tables: Floats) -> None:
        known = len(self.columns) == len(tables)
        names = self.columns if known else [f"x{j}" for j in range(len(tables))]
        old = self.found.pop(self.target.name)
        self.target = discrete(_free(self.target.name, set(names), "class"), self.target.states)
        self.found[self.target.name] = Node(self.target, (), old.distribution)
        for name, table in zip(names, tables, strict=True):
            self.add(discrete(name, (0, 1)), (self.target.name,), Table(normalised(table)))

    def refusal(self, conditional: Conditional, what: str, way_out: str) -> NotSupported:
        columns = getattr(conditional, "columns", ())
        names = ", ".join(repr(self.model.schema.numeric[int(j)].name) for j in columns[:12]) or "The model"
        has = "have" if len(columns) > 1 else "has"
        return NotSupported(
            "{names} {has} {what}, and a network holds tables and Gaussians. {way_out}",
            names=names,
            has=has,
            what=what,
            way_out=way_out,
        )

    def network(self) -> Network:
        """Return the network: the class, the attributes in column order, then the "… is missing" nodes."""
        first = [self.target.name, *(n for n in self.model.schema.position if n in self.found)]
        return Network(tuple(self.found[name] for name in dict.fromkeys((*first, *self.found))))


def _free(name: Name, taken: set[Name], instead: Name | None = None) -> Name:
    """Return a name that is not taken: ``name`` or else ``instead``, with underscores appended if needed."""
    if name in taken and instead is not None:
        name = instead
    while name in taken:
        name = f"{name}_"
    return name


def _check_size(target: Variable, families: list[list[_Slots]]) -> None:
    cells = [target.size * math.prod(slots.variable.size for slots in family) for family in families]
    if sum(cells) > MOST_CELLS:
        largest = families[cells.index(max(cells))]
        *above, child = (slots.variable.name for slots in largest)
        raise UsageError(
            "The tables of the network would have {cells:,} cells, more than {most_cells:,}; the largest is "
            "that of {child!r} given {names} ({cells2:,}). Use fewer parents, or fewer states or intervals.",
            cells=sum(cells),
            most_cells=MOST_CELLS,
            child=child,
            names=Joined(map(repr, (target.name, *above))),
            cells2=max(cells),
        )


def _child_gaussian(
    conditional: ChildGaussians, m: int, codes: Sequence[int] | None, name: Name
) -> LinearGaussian | None:
    """Return the m-th Gaussian given the class and these codes of its parent, or None if it is constant."""
    cells = conditional.cell_gaussian
    if not cells.used[m]:
        return None
    rows: NDArray[np.intp] | int = -1  # the last row is the Gaussian of the class alone
    if codes is not None:
        parent = int(conditional.parents[m])
        start, limit = int(cells.offsets[parent]), int(cells.limits[parent])
        rows = np.array([start + code if code < limit else -1 for code in codes], np.intp)
    exponent = int(cells.exponent[m])
    mean = np.ldexp(cells.mean[rows, :, m], exponent) + np.ldexp(cells.mean_low[rows, :, m], exponent)
    return _gaussian(name, mean.T, np.ldexp(cells.deviation[rows, :, m], exponent).T)


def _gaussian(name: Name, mean: Floats, deviation: Floats) -> LinearGaussian:
    with np.errstate(over="ignore", under="ignore"):
        variance = deviation * deviation
    if not (np.isfinite(variance) & (variance > 0.0) & np.isfinite(mean)).all():
        raise UsageError(
            "The variance of {name!r} is beyond the range of floating-point numbers. Give its values in "
            "another unit.",
            name=name,
        )
    return LinearGaussian(mean, np.empty((*mean.shape, 0)), variance)
