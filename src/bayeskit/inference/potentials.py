"""A network or a Markov network as kernels read it: factors over numbered variables, laid out flat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import TooLarge
from bayeskit.graphs.distributions import LinearGaussian
from bayeskit.graphs.field import Field
from bayeskit.graphs.network import Network

# One GiB of numbers.
LARGEST_TABLE = 2**27

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Potentials:
    """Factors over the variables 0 … n−1.

    Attributes
    ----------
    sizes : the number of states of each variable
    scope, scope_start : the variables of factor f are scope[scope_start[f] : scope_start[f + 1]], slowest first
    values, value_start : its cells, in C order
    child : the variable that factor f is the conditional table of (last in its scope), −1 where it is none
    names : what the variables are called, for messages
    """

    sizes: Ints
    scope: Ints
    scope_start: Ints
    values: Floats
    value_start: Ints
    child: Ints
    names: tuple[object, ...]

    @classmethod
    def of(cls, network: Network | Field) -> Potentials:
        """Lay out the tables of a discrete network, or the factors of a Markov network."""
        if isinstance(network, Field):
            scopes = [[network.position[n] for n in f.names] for f in network.factors]
            tables = [f.values for f in network.factors]
            variables = network.variables
            children = [-1] * len(scopes)
        else:
            position = network.dag.position
            scopes = [[*(position[p] for p in node.parents), k] for k, node in enumerate(network.nodes)]
            tables = []
            for node in network.nodes:
                assert node.distribution is not None
                assert not isinstance(node.distribution, LinearGaussian)
                cells = math.prod(network.shape_of(node.name))
                if cells > LARGEST_TABLE:  # independent causes are few numbers, and may be too many cells
                    raise TooLarge(8 * cells, 8 * LARGEST_TABLE, (*node.parents, node.name), cells)
                tables.append(node.distribution.table())
            variables = tuple(node.variable for node in network.nodes)
            children = list(range(len(scopes)))
        return cls.laid_out(
            [v.size for v in variables], scopes, tables, children, tuple(v.name for v in variables)
        )

    @classmethod
    def laid_out(
        cls,
        sizes: Sequence[int],
        scopes: Sequence[Sequence[int]],
        tables: Sequence[Floats],
        children: Sequence[int],
        names: tuple[object, ...],
    ) -> Potentials:
        def starts(lengths: list[int]) -> Ints:
            return np.cumsum([0, *lengths], dtype=np.int64)

        return cls(
            np.array(sizes, np.int64),
            np.array([v for scope in scopes for v in scope], np.int64),
            starts([len(scope) for scope in scopes]),
            np.concatenate([np.empty(0), *(np.ravel(table) for table in tables)]),
            starts([table.size for table in tables]),
            np.array(children, np.int64),
            names,
        )

    @property
    def n_variables(self) -> int:
        return len(self.sizes)

    @property
    def n_factors(self) -> int:
        return len(self.child)

    @cached_property
    def offsets(self) -> Ints:
        """Where the states of each variable begin when all stand in one row."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def table_of_variable(self) -> Ints:
        """The factor that is the conditional table of each variable, −1 where there is none."""
        found = np.full(self.n_variables, -1, np.int64)
        tables = np.flatnonzero(self.child >= 0)
        found[self.child[tables]] = tables
        return found

    @cached_property
    def log_bounds(self) -> tuple[Floats, Floats]:
        """log of the least positive number and of the largest of each factor (0 and −inf where all are zero)."""
        least, most = np.zeros(self.n_factors), np.full(self.n_factors, -np.inf)
        for f in range(self.n_factors):
            values = self.values[self.value_start[f] : self.value_start[f + 1]]
            positive = values[values > 0.0]
            if len(positive):
                least[f], most[f] = np.log(positive.min()), np.log(positive.max())
        return least, most

    def scope_of(self, factor: int) -> list[int]:
        return [int(v) for v in self.scope[self.scope_start[factor] : self.scope_start[factor + 1]]]

    def table_of(self, factor: int) -> Floats:
        flat = self.values[self.value_start[factor] : self.value_start[factor + 1]]
        return flat.reshape([int(self.sizes[v]) for v in self.scope_of(factor)])
