r"""Exact inference in a dynamic Bayesian network by its interface, in codes.

.. math:: P(x_{0:T}) = \prod_v P(x_0^v \mid \pi_0^v) \prod_{t > 0} \prod_v P(x_t^v \mid \pi_t^v)

The *interface* are the nodes with children in the next slice. Given their states, the past and the future are
independent. So a dynamic network is a chain over the joint states of its interface (`Chain`). Each different row of
observations has its own matrix, from which all other nodes of the slice are summed out, once.

References
----------
Murphy (2002), Dynamic Bayesian networks: representation, inference and learning, section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeskit._inference.chain import Chain, ExpectedTransitions, Weights
from bayeskit._inference.kernels.chain_messages import TINY
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints

# Variables of a factor, and the logarithms of its cells.
LogFactor = tuple[tuple[int, ...], Floats]


@dataclass(frozen=True, eq=False)
class TwoSlices:
    """The families of the first slice and of all later ones.

    Variable v is node v of the slice before, and n + v is node v of the slice itself.

    Attributes
    ----------
    sizes : the number of states of each of the n nodes
    first, later : the families: the parents, then the node, and its table
    names : for messages
    max_memory : bytes
    """

    sizes: tuple[int, ...]
    first: tuple[LogFactor, ...]
    later: tuple[LogFactor, ...]
    names: tuple[object, ...]
    max_memory: float

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        first: Sequence[tuple[tuple[int, ...], Floats]],
        later: Sequence[tuple[tuple[int, ...], Floats]],
        names: Sequence[object],
        max_memory: float,
    ) -> TwoSlices:
        """Return the two slices of families with tables of probabilities."""
        with np.errstate(divide="ignore"):
            logs = [tuple((scope, np.log(table)) for scope, table in part) for part in (first, later)]
        return cls(tuple(sizes), logs[0], logs[1], tuple(names), max_memory)

    @property
    def n_nodes(self) -> int:
        return len(self.sizes)

    @cached_property
    def interface(self) -> tuple[int, ...]:
        """The nodes with children in the next slice."""
        n = self.n_nodes
        return tuple(sorted({v for scope, _ in self.later for v in scope if v < n}))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of states of each node of the interface."""
        return tuple(self.sizes[v] for v in self.interface)

    @property
    def n_states(self) -> int:
        """The number of joint states of the interface."""
        return math.prod(self.shape)

    def chain(self, rows: SliceRows, *, take_max: bool = False) -> Chain:
        """Return the chain over the interface, with all other nodes summed (or maximised) out."""
        s, p = self.n_states, len(rows.patterns)
        self._require(8 * p * (2 * s * s + 2 * s), self.interface, s * s)
        first, later = np.full((p, s), -np.inf), np.full((p, s, s), -np.inf)
        for e in rows.patterns_of(rows.fresh == 1):
            first[e] = self.table(rows.patterns[e], self._here, True, take_max=take_max).reshape(s)
        for e in rows.patterns_of(rows.fresh == 0):
            found = self.table(rows.patterns[e], (*self.interface, *self._here), False, take_max=take_max)
            later[e] = found.reshape(s, s)
        shift = np.array([_finite_max(first, 1), _finite_max(later, (1, 2))])
        logs = (first - shift[0][:, None], later - shift[1][:, None, None])
        linear = tuple(np.exp(part) for part in logs)
        lost = np.array(
            [
                ((new < TINY) & np.isfinite(log)).any(axis=tuple(range(1, log.ndim)))
                for log, new in zip(logs, linear, strict=True)
            ]
        )

        def weights(begin: int, end: int, in_logs: bool) -> Weights:
            which, later_row = rows.which[begin:end], 1 - rows.fresh[begin:end].astype(np.int64)
            moved = shift[later_row, which]
            if in_logs:
                return Weights(np.repeat(moved[:, None], s, axis=1))
            return Weights(np.ones((end - begin, s)), moved, bool(lost[later_row, which].any()))

        return Chain(linear[0], linear[1], rows.fresh, weights, rows.which, logs)

    @property
    def _here(self) -> tuple[int, ...]:
        return tuple(self.n_nodes + v for v in self.interface)

    def table(
        self,
        codes: Ints,
        keep: tuple[int, ...],
        first: bool,
        *,
        take_max: bool = False,
        extra: Iterable[LogFactor] = (),
        before: Ints | None = None,
    ) -> Floats:
        """Return log Σ P(slice, observations | slice before) over some variables, all others summed out.

        Parameters
        ----------
        codes : the observed state of each node of the slice, −1 where it is free
        keep : the variables of the table; cells that contradict the observations are −inf
        first : whether it is the first slice
        extra : more factors
        before : the states of the nodes of the slice before, −1 where free
        """
        n = self.n_nodes
        known = dict(zip(range(n, 2 * n), codes.tolist(), strict=True))
        known |= {} if before is None else dict(enumerate(before.tolist()))
        known = {v: code for v, code in known.items() if code >= 0}
        factors = [_sliced(f, known) for f in (*(self.first if first else self.later), *extra)]
        free = tuple(v for v in keep if v not in known)
        found = self._contract(factors, free, take_max)
        out = np.full([self.sizes[v % n] for v in keep], -np.inf)
        out[tuple(known.get(v, slice(None)) for v in keep)] = found
        return out

    def _contract(self, factors: list[LogFactor], keep: tuple[int, ...], take_max: bool) -> Floats:
        """Multiply factors, and sum or maximise out all variables but some, the cheapest first."""
        hidden = {v for scope, _ in factors for v in scope} - set(keep)
        while hidden:
            joined = {v: _union(scope for scope, _ in factors if v in scope) for v in hidden}
            v = min(hidden, key=lambda v: (self._cells(joined[v]), v))
            together = self._product([f for f in factors if v in f[0]], joined[v])
            axis = joined[v].index(v)
            table = together.max(axis=axis) if take_max else _log_sum(together, axis)
            factors = [f for f in factors if v not in f[0]]
            factors.append((tuple(u for u in joined[v] if u != v), table))
            hidden.discard(v)
        return self._product(factors, keep)

    def _product(self, factors: list[LogFactor], scope: tuple[int, ...]) -> Floats:
        cells = self._cells(scope)
        self._require(16 * cells, scope, cells)
        out = np.zeros([self.sizes[v % self.n_nodes] for v in scope])
        for own, table in factors:
            order = sorted(range(len(own)), key=lambda i: scope.index(own[i]))
            shape = [self.sizes[v % self.n_nodes] if v in own else 1 for v in scope]
            out += table.transpose(order).reshape(shape)
        return out

    def _cells(self, scope: Iterable[int]) -> int:
        return math.prod(self.sizes[v % self.n_nodes] for v in scope)

    def _require(self, needed: int, scope: Iterable[int], cells: int) -> None:
        if needed > self.max_memory:
            names = [self.names[v % self.n_nodes] for v in scope]
            raise TooLarge(needed, self.max_memory, names, cells)

    # -- nodes ---------------------------------------------------------------------------------

    def node_margins(
        self, rows: SliceRows, begin: int, before: Floats, after: Floats, targets: Sequence[int]
    ) -> dict[int, Floats]:
        """Return P(node | observations) of some nodes in consecutive rows.

        Parameters
        ----------
        begin : the first row
        before : the forward message of the row before each, shape (rows, S)
        after : the backward message of each row, shape (rows, S); ones if the future is unknown
        """
        s, end = self.n_states, begin + len(before)
        which, fresh = rows.which[begin:end], rows.fresh[begin:end] == 1
        found = {v: np.empty((end - begin, self.sizes[v])) for v in targets}
        for first in (True, False):
            for e in np.unique(which[fresh == first]).tolist():
                at = np.flatnonzero((which == e) & (fresh == first))
                codes = rows.patterns[e]
                for v in targets:
                    if codes[v] >= 0:
                        found[v][at] = np.eye(self.sizes[v])[codes[v]]
                        continue
                    # The interface may hold the node itself: then its axis is there already.
                    here = tuple(u for u in self._here if u != self.n_nodes + v)
                    keep = (*(() if first else self.interface), *here, self.n_nodes + v)
                    self._require(16 * self._cells(keep), keep, self._cells(keep))
                    table = self.table(codes, keep, first)
                    table = np.exp(table - _finite_max(table[None], tuple(range(1, table.ndim + 1)))[0])
                    part = table.reshape(1 if first else s, *(self.sizes[u % self.n_nodes] for u in here), -1)
                    future = after[at].reshape(-1, *self.shape)
                    past = np.ones((len(at), 1)) if first else before[at]
                    found[v][at] = _weighed(past, part, future, self.interface, v)
        for table in found.values():
            table /= table.sum(axis=1, keepdims=True)
        return found

    def expected_families(
        self, rows: SliceRows, counts: ExpectedTransitions
    ) -> tuple[list[Floats], list[Floats]]:
        """Return the expected counts of the families of the first slice and of all later ones."""
        firsts = [np.zeros(table.shape) for _, table in self.first]
        laters = [np.zeros(table.shape) for _, table in self.later]
        for first, out in ((True, firsts), (False, laters)):
            for e in rows.patterns_of(rows.fresh == (1 if first else 0)):
                share = counts.starts[e] if first else counts.transitions[e]
                self._add_families(rows.patterns[e], share, first, out)
        return firsts, laters

    def _add_families(self, codes: Ints, share: Floats, first: bool, out: list[Floats]) -> None:
        """Add the counts of one pattern, from how often each pair of interface states had it."""
        axes = self._here if first else (*self.interface, *self._here)
        weight = share.reshape([self.sizes[v % self.n_nodes] for v in axes])
        extra: list[LogFactor] = []
        for k, (scope, _) in enumerate(self.first if first else self.later):
            free = tuple(v for v in scope if v < self.n_nodes or codes[v - self.n_nodes] < 0)
            place = tuple(slice(None) if v in free else int(codes[v - self.n_nodes]) for v in scope)
            if set(free) <= set(axes):
                summed = weight.sum(axis=tuple(i for i, v in enumerate(axes) if v not in free))
                left = [v for v in axes if v in free]
                out[k][place] += summed.transpose([left.index(v) for v in free])
                continue
            if not extra:
                with np.errstate(divide="ignore"):
                    table = self.table(codes, axes, first)
                    ratio = np.where(
                        weight > 0.0, np.log(weight) - np.where(np.isfinite(table), table, 0.0), -np.inf
                    )
                extra = [(axes, ratio)]
            out[k][place] += np.exp(self.table(codes, free, first, extra=extra))

    def best_slices(self, rows: SliceRows) -> tuple[Ints, float]:
        """Return the most probable states of all nodes in all rows, and the log of their probability."""
        path, value = self.chain(rows, take_max=True).best_path()
        states = (
            np.stack(np.unravel_index(path, self.shape), axis=1)
            if self.shape
            else np.zeros((len(path), 0), np.int64)
        )
        found = np.empty((len(path), self.n_nodes), np.int64)
        seen: dict[tuple[int, int, int], Ints] = {}
        for t, e in enumerate(rows.which.tolist()):
            first = bool(rows.fresh[t])
            key = (e, -1 if first else int(path[t - 1]), int(path[t]))
            if key not in seen:
                seen[key] = self._best_slice(
                    rows.patterns[e], states[t], None if first else states[t - 1], first
                )
            found[t] = seen[key]
        return found, value

    def _best_slice(self, codes: Ints, here: Ints, there: Ints | None, first: bool) -> Ints:
        """Return the best states of all nodes of a slice, given the interface: one free node after the other."""
        codes, before = codes.copy(), None
        codes[list(self.interface)] = here
        if there is not None:
            before = np.full(self.n_nodes, -1)
            before[list(self.interface)] = there
        for v in range(self.n_nodes):
            if codes[v] < 0:
                table = self.table(codes, (self.n_nodes + v,), first, take_max=True, before=before)
                codes[v] = int(table.argmax())
        return codes


@dataclass(frozen=True, eq=False)
class SliceRows:
    """Rows of observations by their different patterns.

    Attributes
    ----------
    patterns : int64 array of shape (patterns, nodes)
        The observed states, −1 where a node is free.
    which : the pattern of each row
    fresh : 1 where a sequence begins
    """

    patterns: Ints
    which: Ints
    fresh: NDArray[np.uint8]

    @classmethod
    def of(cls, codes: Ints, sizes: Sequence[int], fresh: NDArray[np.uint8]) -> SliceRows:
        """Read codes of shape (rows, nodes); the code after the last state is missing."""
        known = np.where(codes < np.asarray(sizes, np.int64), codes, -1)
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        return cls(patterns, which.reshape(-1).astype(np.int64), fresh)

    def patterns_of(self, some: NDArray[np.bool_]) -> Iterator[int]:
        yield from np.unique(self.which[some]).tolist()


def _weighed(past: Floats, table: Floats, future: Floats, interface: tuple[int, ...], v: int) -> Floats:
    """Return Σ past(i) table(i, j, x) future(j) for each row, where x may be one of j."""
    cells = table.reshape(len(table), -1, table.shape[-1])
    if v not in interface:
        rest = future.reshape(len(past), -1)
        return np.asarray(np.einsum("ti,ijx,tj->tx", past, cells, rest, optimize=True))
    moved = np.moveaxis(future, 1 + interface.index(v), -1)
    flat = np.ascontiguousarray(moved).reshape(len(past), -1, moved.shape[-1])
    return np.asarray(np.einsum("ti,ijx,tjx->tx", past, cells, flat))


def _sliced(factor: LogFactor, known: dict[int, int]) -> LogFactor:
    scope, table = factor
    place = tuple(known.get(v, slice(None)) for v in scope)
    return tuple(v for v in scope if v not in known), np.asarray(table[place])


def _union(scopes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({v for scope in scopes for v in scope}))


def _finite_max(array: Floats, axes: int | tuple[int, ...]) -> Floats:
    """Return the largest entry, 0 if there is none above −inf."""
    largest = array.max(axis=axes)
    return np.asarray(np.where(np.isfinite(largest), largest, 0.0))


def _log_sum(table: Floats, axis: int) -> Floats:
    largest = table.max(axis=axis, keepdims=True)
    safe = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(table - safe).sum(axis=axis)) + safe.squeeze(axis))
