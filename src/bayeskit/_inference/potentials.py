"""The input of inference: factors over numbered variables, and evidence in codes.

Tables are stored flat. A node whose rule has few parameters but too many cells stays a rule. It is evaluated
for single configurations, or for the table that remains when most of its variables are observed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import Discrete, LinearGaussian, place_of
from bayeskit._graphs.network import FactorGraph, Network
from bayeskit.typing import Floats, Ints

# One GiB of numbers.
LARGEST_TABLE = 2**27
# A rule with more cells stays a rule: the tree of the complete network would be large anyway.
LARGEST_LAID_OUT = 2**16


@dataclass(frozen=True, eq=False)
class Evidence:
    """Observed states, and likelihoods for soft evidence.

    Parameters
    ----------
    codes : int64 array of shape (number of variables,)
        The observed state of each variable, −1 if it is free.
    likelihoods : {variable: array of shape (its states,)}
        Soft evidence, none negative. "Not a" is 0 at a and 1 elsewhere; all zeros are impossible.
    """

    codes: NDArray[np.int64]
    likelihoods: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def nothing(cls, n_variables: int) -> Evidence:
        return cls(np.full(n_variables, -1, np.int64))

    @classmethod
    def of_row(cls, codes: NDArray[Any], sizes: NDArray[np.int64]) -> Evidence:
        """Read a row as evidence. A variable is free if its cell is missing (the code after its last state)."""
        known = np.asarray(codes, np.int64)
        return cls(np.where(known < sizes, known, -1))

    @property
    def is_empty(self) -> bool:
        return not self.likelihoods and bool((self.codes < 0).all())


class Contradiction(Exception):
    """The evidence has probability zero. The caller, who knows the names, raises ImpossibleEvidence."""


@dataclass(frozen=True, eq=False)
class Potentials:
    """Factors over the variables 0 … n−1.

    Attributes
    ----------
    sizes : the number of states of each variable
    scope, scope_start : the variables of factor f are scope[scope_start[f] : scope_start[f + 1]], in C order
    values, value_start : its cells, in C order
    child : the variable whose conditional table factor f is (last in its scope), −1 if it is none
    names : the names of the variables, for messages
    rules : the factors without cells in ``values``, by number. Code that reads ``values`` must call ``given``
    first, or leave these factors out.
    """

    sizes: Ints
    scope: Ints
    scope_start: Ints
    values: Floats
    value_start: Ints
    child: Ints
    names: tuple[object, ...]
    rules: Mapping[int, Discrete] = field(default_factory=dict)

    @classmethod
    def of(cls, network: Network | FactorGraph) -> Potentials:
        """Lay out the tables of a discrete network, or the factors of a Markov network."""
        rules: dict[int, Discrete] = {}
        if isinstance(network, FactorGraph):
            scopes = [[network.position[n] for n in f.names] for f in network.factors]
            tables = [f.values for f in network.factors]
            variables = network.variables
            children = [-1] * len(scopes)
        else:
            position = network.dag.position
            scopes = [[*(position[p] for p in node.parents), k] for k, node in enumerate(network.nodes)]
            tables = []
            for k, node in enumerate(network.nodes):
                assert node.distribution is not None
                assert not isinstance(node.distribution, LinearGaussian)
                cells = math.prod(network.shape_of(node.name))
                held = cells <= node.distribution.n_numbers  # already a list of cells
                if cells <= LARGEST_LAID_OUT or (held and cells <= LARGEST_TABLE):
                    tables.append(node.distribution.table())
                else:
                    tables.append(np.empty(0))
                    rules[k] = node.distribution
            variables = tuple(node.variable for node in network.nodes)
            children = list(range(len(scopes)))
        return cls.laid_out(
            [v.size for v in variables], scopes, tables, children, tuple(v.name for v in variables), rules
        )

    @classmethod
    def laid_out(
        cls,
        sizes: Sequence[int],
        scopes: Sequence[Sequence[int]],
        tables: Sequence[Floats],
        children: Sequence[int],
        names: tuple[object, ...],
        rules: Mapping[int, Discrete] | None = None,
    ) -> Potentials:
        """Lay out tables; those of rules are empty."""

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
            dict(rules or {}),
        )

    def beside(self, scopes: Sequence[Sequence[int]], tables: Sequence[Floats]) -> Potentials:
        """Return the same potentials with more factors, which are not conditional tables."""
        more = Potentials.laid_out(self.sizes.tolist(), scopes, tables, [-1] * len(scopes), self.names)
        return replace(
            self,
            scope=np.concatenate([self.scope, more.scope]),
            scope_start=np.concatenate([self.scope_start, self.scope_start[-1] + more.scope_start[1:]]),
            values=np.concatenate([self.values, more.values]),
            value_start=np.concatenate([self.value_start, self.value_start[-1] + more.value_start[1:]]),
            child=np.concatenate([self.child, more.child]),
        )

    @property
    def n_variables(self) -> int:
        return len(self.sizes)

    @property
    def n_factors(self) -> int:
        return len(self.child)

    @cached_property
    def offsets(self) -> Ints:
        """Where the states of each variable start when all are concatenated."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def table_of_variable(self) -> Ints:
        """The factor that is the conditional table of each variable, −1 if there is none."""
        found = np.full(self.n_variables, -1, np.int64)
        tables = np.flatnonzero(self.child >= 0)
        found[self.child[tables]] = tables
        return found

    @cached_property
    def log_bounds(self) -> tuple[Floats, Floats]:
        """The logs of the smallest positive and of the largest number of each factor (0 and −inf if all are zero)."""
        bounds = np.zeros((2, self.n_factors))
        for f in range(self.n_factors):
            bounds[:, f] = _log_bounds(self.values[self.value_start[f] : self.value_start[f + 1]])
        return bounds[0], bounds[1]

    def scope_of(self, factor: int) -> list[int]:
        return [int(v) for v in self.scope[self.scope_start[factor] : self.scope_start[factor + 1]]]

    def table_of(self, factor: int) -> Floats:
        """Return the cells of a factor that is not a rule."""
        assert factor not in self.rules
        flat = self.values[self.value_start[factor] : self.value_start[factor + 1]]
        return flat.reshape([int(self.sizes[v]) for v in self.scope_of(factor)])

    def log_slice(self, factor: int, codes: Ints) -> Floats:
        """Return the logs of a factor given these codes (−1: free), with one axis for each free variable.

        The caller has checked the memory.
        """
        at = codes[self.scope_of(factor)].tolist()
        if factor in self.rules:
            return self.rules[factor].log_at(at)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.table_of(factor)[place_of(at)]))

    def log_values(self, factor: int, codes: Ints, columns: Sequence[int]) -> Floats:
        """Return the log of a factor at each row of codes; ``columns`` are the columns of its scope, in order."""
        if factor in self.rules:
            return self.rules[factor].log_prob(codes[:, columns])
        cells = np.zeros(len(codes), np.int64)
        for v, column in zip(self.scope_of(factor), columns, strict=True):
            cells = cells * self.sizes[v] + codes[:, column]
        flat = self.values[self.value_start[factor] : self.value_start[factor + 1]]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(flat)[cells] if len(flat) < len(cells) else np.log(flat[cells]))

    def is_positive(self, factor: int, codes: Ints) -> bool:
        """Whether all cells of a factor that agree with the codes (−1: free) are positive."""
        at = codes[self.scope_of(factor)].tolist()
        if factor in self.rules:
            return self.rules[factor].is_positive(at)
        return bool((self.table_of(factor)[place_of(at)] > 0.0).all())

    def cells_given(self, factor: int, codes: Ints) -> int:
        """Return how many cells of a factor agree with the codes (−1: free)."""
        return math.prod(int(self.sizes[v]) for v in self.scope_of(factor) if codes[v] < 0)

    def given(self, codes: Ints, kept: NDArray[np.bool_]) -> tuple[Potentials, float]:
        """Return the same factors without rules, and the log of the scale of their cells.

        A rule that is kept becomes the table of its free variables (code −1), divided by its largest cell;
        any other rule becomes the number one. The caller has checked the memory.
        """
        if not self.rules:
            return self, 0.0
        codes = np.where(self.sizes == 1, 0, codes)  # arrays have a limited number of axes
        taken = 0.0
        scopes: dict[int, Ints] = {}
        tables: dict[int, Floats] = {}
        child, bounds = self.child.copy(), np.array(self.log_bounds)
        for f in self.rules:
            scopes[f], tables[f], child[f] = np.empty(0, np.int64), np.ones(()), -1
            if kept[f]:
                scope = np.array(self.scope_of(f), np.int64)
                logs = self.log_slice(f, codes)
                if (top := float(logs.max())) > -math.inf:
                    logs -= top
                    taken += top
                scopes[f], tables[f] = scope[codes[scope] < 0], np.exp(logs, out=logs)
            bounds[:, f] = _log_bounds(tables[f])
        scope, scope_start = _spliced(self.scope, self.scope_start, scopes)
        values, value_start = _spliced(self.values, self.value_start, tables)
        made = Potentials(self.sizes, scope, scope_start, values, value_start, child, self.names)
        made.__dict__["log_bounds"] = (bounds[0], bounds[1])  # most are unchanged
        return made, taken


def _log_bounds(values: Floats) -> tuple[float, float]:
    positive = values[values > 0.0]
    return (
        (float(np.log(positive.min())), float(np.log(positive.max()))) if len(positive) else (0.0, -math.inf)
    )


def _spliced(
    flat: NDArray[Any], starts: Ints, parts: Mapping[int, NDArray[Any]]
) -> tuple[NDArray[Any], Ints]:
    """Return the concatenated parts, and where each starts, when some are replaced."""
    lengths, pieces, end = np.diff(starts), [], 0
    for f in sorted(parts):
        pieces += [flat[end : starts[f]], np.ravel(parts[f])]
        lengths[f], end = parts[f].size, int(starts[f + 1])
    return np.concatenate([*pieces, flat[end:]]), np.concatenate([[0], np.cumsum(lengths)])
