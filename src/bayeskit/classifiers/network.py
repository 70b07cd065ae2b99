"""A fitted classifier as the Bayesian network that it is: the class, and every attribute under its parents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_densities import (
    child_gaussian,
    class_gaussian,
    presence_tables,
    word_tables,
)
from bayeskit.classifiers.network_tables import DISCRETE, Slots, members, parents_of, slots_of, table_of
from bayeskit.classifiers.state import State
from bayeskit.errors import UsageError
from bayeskit.estimation.bernoulli_block import BernoulliBlock
from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.gaussian import Gaussian
from bayeskit.estimation.presence import Presence
from bayeskit.graphs.distributions import LinearGaussian, Table
from bayeskit.graphs.network import Network, Node, continuous, discrete
from bayeskit.learning.model import Model
from bayeskit.schema import Name, Variable

if TYPE_CHECKING:
    from bayeskit.networks.bayesian_network import BayesianNetwork

Floats = NDArray[np.float64]

# 128 MiB of numbers: a table over all configurations of many parents is far larger than the counts behind it.
MOST_CELLS = 2**24

# What no node of a network can be, and what to do about it.
_STRANGE = {
    "Student": ("a Student density", 'Use numeric="gaussian" without a numeric prior.'),
    "KernelDensity": (
        "a kernel density",
        'Use numeric="gaussian", or TAN(numeric="mdl"), which cuts intervals.',
    ),
    "Poisson": ("a Poisson distribution", 'Use families={...: "table"}, or numeric="gaussian".'),
    "Multinomial": ("a multinomial distribution over all columns", "BernoulliNB has a node for each column."),
}


class IsNetwork(State):
    """The part of a classifier that is one graph."""

    @property
    def network_(self) -> BayesianNetwork:
        """The model as a :class:`~bayeskit.BayesianNetwork`, made anew whenever it is asked for.

        The first node is the class, a parent of all; its states are ``classes_``. Attributes follow in the order of
        the columns, the parents of each being the class and then those of the model. An attribute cut into intervals
        has these for states, a Gaussian one is continuous. With ``missing="state"`` an attribute that was ever
        missing has one more state, "(missing)", and a numeric one a node "… is missing" beside it; with
        ``unseen="smooth"`` there is a state "(unseen)". Attributes that tell nothing (constant numbers, columns
        without a value) and those that the model did not take are left out. ``calibration`` is not part of it.
        """
        from bayeskit.networks.bayesian_network import BayesianNetwork

        lazy = self._lazy_state()
        fitted = lazy.fitted if lazy is not None else self._require("network_")
        return BayesianNetwork(network_of_model(self._model, fitted.names), name=type(self).__name__)


def network_of_model(model: Model, columns: Sequence[Name] = ()) -> Network:
    """Return P(c) and the conditionals of a model as nodes; ``columns`` are the names of those in a block.

    Examples
    --------
    >>> from bayeskit import TAN
    >>> model = TAN().fit([["sun", "dry"], ["sun", "dry"], ["rain", "wet"]], ["go", "go", "stay"])
    >>> [(node.name, node.parents) for node in network_of_model(model._model).nodes]
    [('y', ()), ('x0', ('y',)), ('x1', ('y', 'x0'))]
    """
    made = _Nodes(model)
    for conditional in model.conditionals:
        if isinstance(conditional, DISCRETE):
            made.add_tables(conditional)
        elif isinstance(conditional, Gaussian):
            for name, found in class_gaussian(conditional, model.schema):
                made.add(continuous(name), (made.target.name,), found)
        elif isinstance(conditional, ChildGaussians):
            made.add_children(conditional)
        elif isinstance(conditional, Presence):
            made.add_presence(conditional)
        elif isinstance(conditional, BernoulliBlock):
            made.add_words(conditional, columns)
        else:
            raise _no_network(conditional, model)
    return made.network()


@dataclass
class _Nodes:
    """The nodes made so far, and the states of the discrete attributes among them by number."""

    model: Model
    target: Variable = field(init=False)
    found: dict[Name, Node] = field(default_factory=dict)
    slots: dict[int, Slots] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = set(self.model.schema.position)
        name = self.model.schema.target.name
        # The class of labels without a name is "y", which a column may be called too.
        self.target = discrete(_free(name, taken, "class"), self.model.schema.target.states)
        prior = np.exp(self.model.log_prior)
        self.add(self.target, (), Table(_normalised(prior)))

    def add(self, variable: Variable, parents: tuple[Name, ...], found: Table | LinearGaussian) -> None:
        self.found[variable.name] = Node(variable, parents, found)

    def add_tables(self, conditional: Any) -> None:
        variables = self.model.schema.categorical
        self.slots = slots_of(conditional, variables)
        families = {
            j: parents_of(conditional, j, self.slots) for j in members(conditional) if j in self.slots
        }
        _check_size(self.target, [[self.slots[i] for i in (*parents, j)] for j, parents in families.items()])
        for j, parents in families.items():
            child = self.slots[j]
            above = [self.slots[i] for i in parents]
            table = table_of(conditional, j, parents, [slots.codes for slots in (*above, child)])
            names = (self.target.name, *(slots.variable.name for slots in above))
            self.add(child.variable, names, Table(_normalised(np.moveaxis(table, -1, 0))))

    def add_children(self, conditional: ChildGaussians) -> None:
        for m, variable in enumerate(self.model.schema.numeric):
            parent = self.slots.get(int(conditional.parents[m]))
            found = child_gaussian(conditional, m, None if parent is None else parent.codes, variable.name)
            if found is not None:
                above = () if parent is None else (parent.variable.name,)
                self.add(continuous(variable.name), (self.target.name, *above), found)

    def add_presence(self, conditional: Presence) -> None:
        for name, table in presence_tables(conditional, self.model.schema):
            free = _free(f"{name} is missing", {*self.found, *self.model.schema.position})
            self.add(discrete(free, (False, True)), (self.target.name,), Table(_normalised(table)))

    def add_words(self, conditional: BernoulliBlock, columns: Sequence[Name]) -> None:
        tables = word_tables(conditional)
        names = columns if len(columns) == len(tables) else [f"x{j}" for j in range(len(tables))]
        old = self.found.pop(self.target.name)
        self.target = discrete(_free(self.target.name, set(names), "class"), self.target.states)
        self.found[self.target.name] = Node(self.target, (), old.distribution)
        for name, table in zip(names, tables):
            self.add(discrete(name, (0, 1)), (self.target.name,), Table(_normalised(table)))

    def network(self) -> Network:
        """Return the nodes: the class, attributes in the order of the columns, then whether numbers are missing."""
        first = [self.target.name, *(n for n in self.model.schema.position if n in self.found)]
        return Network(tuple(self.found[name] for name in dict.fromkeys((*first, *self.found))))


def _free(name: Name, taken: set[Name], instead: Name | None = None) -> Name:
    """Return a name that no other node has: this one, the one instead, or that with a line under it."""
    if name in taken and instead is not None:
        name = instead
    while name in taken:
        name = f"{name}_"
    return name


def _normalised(rows: Floats) -> Floats:
    """Return rows that sum to one: as they are but for rounding."""
    sums = rows.sum(axis=-1, keepdims=True)
    return np.where(np.abs(sums - 1.0) > 1e-12, rows / sums, rows)


def _check_size(target: Variable, families: list[list[Slots]]) -> None:
    cells = [target.size * math.prod(slots.variable.size for slots in family) for family in families]
    if sum(cells) > MOST_CELLS:
        largest = families[cells.index(max(cells))]
        *above, child = (slots.variable.name for slots in largest)
        raise UsageError(
            f"The tables of the network would have {sum(cells):,} cells, more than {MOST_CELLS:,}; the largest is that "
            f"of {child!r} given {', '.join(map(repr, (target.name, *above)))} ({max(cells):,}). Take fewer parents, "
            "or fewer states or intervals."
        )


def _no_network(conditional: Any, model: Model) -> UsageError:
    what, way_out = _STRANGE.get(
        type(conditional).__name__,
        (type(conditional).__name__, "NaiveBayes, SPODE, TAN and KDB are networks."),
    )
    columns = getattr(conditional, "columns", ())
    names = ", ".join(repr(model.schema.numeric[int(j)].name) for j in columns[:12]) or "The model"
    return UsageError(
        f"{names} {'have' if len(columns) > 1 else 'has'} {what}, and a network holds tables and Gaussians. {way_out}"
    )
