"""The input of inference: factors over numbered variables, and evidence in codes.

Tables are stored flat. A node whose rule has few parameters but too many cells stays a rule. It is evaluated
for single configurations, for the table that remains when most of its variables are observed, or split into
small factors with hidden variables between them (`Potentials.split`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import SMALLEST, Discrete, LinearGaussian, Piece, Softmax, place_of
from bayeskit._graphs.network import FactorGraph, Network
from bayeskit._numba import kernel
from bayeskit.typing import Floats, Ints

# One GiB of numbers.
LARGEST_TABLE = 2**27
# A rule with more cells stays a rule: the tree of the complete network would be large anyway.
LARGEST_LAID_OUT = 2**16


# All rules together are laid out up to this many cells: thousands of small ones are no small table.
MOST_LAID_OUT = 2**22
# With fewer parents there is nothing to split. Two matter: an effect that is absent does not join its causes.
FEWEST_PARENTS = 2


@kernel
def find_bounds(values: Any, value_start: Any, kept: Any, least: Any, most: Any) -> None:
    """Find the smallest positive and the largest number of the kept factors; those of zeros alone are unchanged."""
    for f in range(kept.shape[0]):
        if not kept[f]:
            continue
        smallest = np.inf
        largest = 0.0
        for u in range(np.uintp(value_start[f]), np.uintp(value_start[f + 1])):
            x = values[u]
            largest = max(largest, x)
            if x > 0.0:
                smallest = min(smallest, x)
        if largest > 0.0:
            least[f] = smallest
            most[f] = largest


@runtime_checkable
class Structure(Protocol):
    """A distribution that can be split into small factors with hidden variables between them."""

    def pieces(self, codes: Sequence[int], order: Sequence[int]) -> list[Piece]: ...


@cache
def _has_structure(kind: type) -> bool:
    """Whether the distributions of a class can be split. A look at a protocol takes long: one for each class."""
    return issubclass(kind, Structure)


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

    def padded(self, n_variables: int) -> Evidence:
        """Return the same evidence about a larger set of variables; the additional ones are free."""
        free = np.full(n_variables - len(self.codes), -1, np.int64)
        return Evidence(np.concatenate([self.codes, free]), self.likelihoods)

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
    structures : the factors that can be split into small ones, by number; they are tables or rules as well
    sweep : after a split, an elimination order of the variables along the chains (0: not on a chain); else empty
    """

    sizes: Ints
    scope: Ints
    scope_start: Ints
    values: Floats
    value_start: Ints
    child: Ints
    names: tuple[object, ...]
    rules: Mapping[int, Discrete] = field(default_factory=dict)
    structures: Mapping[int, Structure] = field(default_factory=dict)
    sweep: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, network: Network | FactorGraph) -> Potentials:
        """Lay out the tables of a discrete network, or the factors of a Markov network."""
        rules: dict[int, Discrete] = {}
        structures: dict[int, Structure] = {}
        if isinstance(network, FactorGraph):
            scopes = [[network.position[n] for n in f.names] for f in network.factors]
            tables = [f.values for f in network.factors]
            variables = network.variables
            children = [-1] * len(scopes)
        else:
            position = network.dag.position
            scopes = [[*(position[p] for p in node.parents), k] for k, node in enumerate(network.nodes)]
            tables = []
            left = MOST_LAID_OUT
            sizes = [node.variable.size for node in network.nodes]
            for k, node in enumerate(network.nodes):
                assert node.distribution is not None
                assert not isinstance(node.distribution, (LinearGaussian, Softmax))
                cells = math.prod(sizes[v] for v in scopes[k])
                held = cells <= node.distribution.n_numbers  # already a list of cells
                if cells <= min(LARGEST_LAID_OUT, left) or (held and cells <= LARGEST_TABLE):
                    tables.append(node.distribution.table())
                    left -= 0 if held else cells
                else:
                    tables.append(np.empty(0))
                    rules[k] = node.distribution
                kind: type = type(node.distribution)
                if len(node.parents) >= FEWEST_PARENTS and _has_structure(kind):
                    structures[k] = cast(Structure, node.distribution)
            variables = tuple(node.variable for node in network.nodes)
            children = list(range(len(scopes)))
        made = cls.laid_out(
            [v.size for v in variables], scopes, tables, children, tuple(v.name for v in variables), rules
        )
        return replace(made, structures=structures) if structures else made

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
            np.concatenate([np.empty(0), *(table.ravel() for table in tables)]),
            starts([table.size for table in tables]),
            np.array(children, np.int64),
            names,
            dict(rules or {}),
        )

    def beside(self, scopes: Sequence[Sequence[int]], tables: Sequence[Floats]) -> Potentials:
        """Return the same potentials with more factors, which are not conditional tables."""
        return self.followed_by(
            Potentials.laid_out(self.sizes.tolist(), scopes, tables, [-1] * len(scopes), self.names)
        )

    def followed_by(self, more: Potentials) -> Potentials:
        """Return the factors of both, over the variables of the second, which begin with those of the first."""
        return replace(
            self,
            sizes=more.sizes,
            names=more.names,
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
        return self._bounds(np.ones(self.n_factors, np.bool_))

    def log_bounds_of(self, kept: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return ``log_bounds`` of the kept factors. A first query does not read tables that it does not need."""
        if "log_bounds" not in self.__dict__ and "_is_bounded" not in self.__dict__:
            self.__dict__["_is_bounded"] = True
            return self._bounds(kept)
        return self.log_bounds

    def _bounds(self, kept: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        least, most = np.ones(self.n_factors), np.zeros(self.n_factors)
        find_bounds(self.values, self.value_start, kept, least, most)
        with np.errstate(divide="ignore"):
            return np.log(least), np.log(most)

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

    def split(self, codes: Ints, factors: Collection[int], *, with_hidden: bool = True) -> Potentials:
        """Return potentials with some structured factors split, given the observed states (−1: free).

        The hidden variables come after all others, under the name of the child. Summed out, they leave the same
        product; *maximised* over, they do not: ``with_hidden=False`` leaves out every factor that needs some. A factor
        whose pieces are no smaller is unchanged, too.
        """
        found = {f: self._pieces(f, codes, np.zeros(self.n_variables, np.int64)) for f in factors}
        chains = [f for f, pieces in found.items() if any(max(p.axes) >= self.width(f) for p in pieces)]
        turn = self._turns(chains)
        for f in chains:
            found[f] = self._pieces(f, codes, turn) if with_hidden else []
        pieces = SplitFactors(self.sizes.tolist(), list(self.names))
        for f in found:
            pieces.add(self.scope_of(f), found[f], turn)
        kept = np.array([not found.get(f) for f in range(self.n_factors)], np.bool_)
        made = self._only(kept).followed_by(pieces.laid_out())
        return replace(made, sweep=pieces.sweep(turn)) if with_hidden and chains else made

    def width(self, factor: int) -> int:
        """Return how many variables a factor has."""
        return int(self.scope_start[factor + 1] - self.scope_start[factor])

    def _pieces(self, factor: int, codes: Ints, turn: Ints) -> list[Piece]:
        scope = self.scope_of(factor)
        order = np.argsort(turn[scope[:-1]], kind="stable").tolist()
        return self.structures[factor].pieces(codes[scope].tolist(), order)

    def _turns(self, factors: Collection[int]) -> Ints:
        """Return when each variable is taken up by the chains of these factors, from 1 (0: by none).

        First come those that few chains share. They touch few hidden variables, and are summed out cheaply; all
        chains agree on the order, so the tables grow by one hidden variable for each chain, not for each parent.
        """
        uses = np.zeros(self.n_variables, np.int64)
        for f in factors:
            uses[self.scope_of(f)[:-1]] += 1
        shared = np.flatnonzero(uses)
        turn = np.zeros(self.n_variables, np.int64)
        turn[shared[np.argsort(uses[shared], kind="stable")]] = np.arange(1, len(shared) + 1)
        return turn

    def _only(self, kept: NDArray[np.bool_]) -> Potentials:
        """Return the potentials with these factors only, none of them structured any more."""
        numbers = np.flatnonzero(kept)
        renumbered = {int(f): k for k, f in enumerate(numbers)}
        return replace(
            self,
            scope=self.scope[np.repeat(kept, np.diff(self.scope_start))],
            scope_start=np.concatenate([[0], np.cumsum(np.diff(self.scope_start)[kept])]),
            values=self.values[np.repeat(kept, np.diff(self.value_start))],
            value_start=np.concatenate([[0], np.cumsum(np.diff(self.value_start)[kept])]),
            child=self.child[kept],
            rules={renumbered[f]: rule for f, rule in self.rules.items() if kept[f]},
            structures={},
        )

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
        child, bounds = self.child.copy(), np.array(self.log_bounds_of(kept))
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


class SplitFactors:
    """Gathers the pieces of factors, and numbers their hidden variables after those that exist."""

    def __init__(self, sizes: list[int], names: list[object]) -> None:
        self._sizes, self._names, self._n = sizes, names, len(sizes)
        self._scopes: list[list[int]] = []
        self._tables: list[Floats] = []
        self._children: list[int] = []
        self._alone: dict[int, int] = {}  # variable → the factor of that variable alone
        self._turns: list[int] = []  # of the hidden variables

    def add(self, scope: list[int], pieces: Sequence[Piece], turn: Ints) -> None:
        """Add the pieces of a factor; each hidden variable is summed out at the turn of the parent after it."""
        size_of = {a: n for piece in pieces for a, n in zip(piece.axes, piece.values.shape, strict=True)}
        hidden = [size_of[a] for a in sorted(size_of) if a >= len(scope)]
        number = [*scope, *range(len(self._sizes), len(self._sizes) + len(hidden))]
        self._sizes += hidden
        self._names += [self._names[scope[-1]]] * len(hidden)
        self._turns += [0] * len(hidden)
        for piece in pieces:
            variables = [number[a] for a in piece.axes]
            if variables[0] >= self._n:
                self._turns[variables[0] - self._n] = int(turn[variables[1]])
            if not piece.is_conditional and len(variables) == 1:
                self._weigh(variables[0], piece.values)
            else:
                self._append(variables, piece.values, variables[-1] if piece.is_conditional else -1)

    def _weigh(self, v: int, values: Floats) -> None:
        """Multiply numbers of single variables together, thousands of negative findings into one factor."""
        if v in self._alone:
            product = self._tables[self._alone[v]] * values
            if product[product > 0.0].min(initial=1.0) > SMALLEST:
                self._tables[self._alone[v]] = product
                return
        self._alone[v] = len(self._tables)
        self._append([v], values, -1)

    def _append(self, scope: list[int], table: Floats, child: int) -> None:
        self._scopes.append(scope)
        self._tables.append(table)
        self._children.append(child)

    def laid_out(self) -> Potentials:
        return Potentials.laid_out(
            self._sizes, self._scopes, self._tables, self._children, tuple(self._names)
        )

    def sweep(self, turn: Ints) -> Ints:
        """Return the order along the chains: each hidden variable goes just before the parent whose turn it is."""
        return np.concatenate([2 * turn, np.maximum(2 * np.array(self._turns, np.int64) - 1, 0)])


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
