"""Forward sampling: draws each variable of a Bayesian network after its parents."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import Discrete
from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit._inference.relevant import ancestral, factor_of, is_directed, relevant_factors, topological
from bayeskit._numba import kernel
from bayeskit.errors import TooLarge
from bayeskit.typing import Floats, Ints


@kernel
def draw(values: Any, start: Any, size: Any, uniform: Any) -> Any:
    """Return the state into whose share of the total the uniform number falls; never a state of weight zero."""
    total = 0.0
    for k in range(size):
        total += values[start + k]
    left = uniform * total
    chosen = 0
    for k in range(size):
        weight = values[start + k]
        if weight > 0.0:
            chosen = k
            if left < weight:
                break
            left -= weight
    return chosen


@kernel
def forward_rows(
    order: Any,
    factor_of: Any,
    sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    uniforms: Any,
    codes: Any,
) -> None:
    """Fill codes (rows × variables); uniforms are rows × order. Rows of a table need not sum to one."""
    for row in range(codes.shape[0]):
        for place in range(order.shape[0]):
            v = order[place]
            f = factor_of[v]
            at = np.int64(0)
            for e in range(scope_start[f], scope_start[f + 1] - 1):
                u = scope[e]
                at = at * sizes[u] + codes[row, u]
            codes[row, v] = draw(values, value_start[f] + at * sizes[v], sizes[v], uniforms[row, place])


# Uniform numbers held at a time. The result does not depend on it, since rows are drawn one after the other.
_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Forward:
    """A Bayesian network, prepared for sampling.

    Examples
    --------
    >>> coin = Potentials.laid_out([2, 2], [[0], [0, 1]], [np.array([0.0, 1.0]), np.eye(2)], [0, 1], ("a", "b"))
    >>> Forward.of(coin).codes(2, np.random.default_rng(0))
    array([[1, 1],
           [1, 1]])
    """

    potentials: Potentials
    order: Ints
    factor_of: Ints

    @classmethod
    def of(cls, potentials: Potentials) -> Forward:
        return cls(potentials, topological(potentials), factor_of(potentials))

    def stretches(self) -> Iterator[tuple[slice, Discrete | None]]:
        """Split the order at the rules: yield slices without a rule, for a kernel, and the slice of each rule."""
        rules, start = self.potentials.rules, 0
        for place, v in enumerate(self.order.tolist() if rules else ()):
            rule = rules.get(int(self.factor_of[v]))
            if rule is not None:
                yield slice(start, place), None
                yield slice(place, place + 1), rule
                start = place + 1
        yield slice(start, len(self.order)), None

    def log_rows(self, rule: Discrete, place: int, codes: Ints) -> Floats:
        """Return log P(states | parents) of the rule at this place of the order, for each row of codes."""
        *parents, _ = self.potentials.scope_of(int(self.factor_of[self.order[place]]))
        return rule.log_rows(codes[:, parents])

    def only(self, wanted: NDArray[np.bool_]) -> Forward:
        """Return a sampler of these variables only; their ancestors must be among them."""
        return replace(self, order=self.order[wanted[self.order]])

    def fill(self, uniforms: Floats, codes: Ints) -> None:
        """Draw codes (rows × variables) from uniforms (rows × order)."""
        p = self.potentials
        for places, rule in self.stretches():
            if rule is not None:
                drawn = draw_rows(self.log_rows(rule, places.start, codes), uniforms[:, places.start])
                codes[:, self.order[places.start]] = drawn
                continue
            forward_rows(
                self.order[places],
                self.factor_of,
                p.sizes,
                p.scope,
                p.scope_start,
                p.values,
                p.value_start,
                np.ascontiguousarray(uniforms[:, places]),
                codes,
            )

    def codes(self, n: int, rng: np.random.Generator) -> Ints:
        """Return n rows of codes. The first rows do not depend on n."""
        codes = np.zeros((n, self.potentials.n_variables), np.int64)
        for start, uniforms in uniform_chunks(rng, n, len(self.order)):
            self.fill(uniforms, codes[start : start + len(uniforms)])
        return codes


def draw_rows(log_weights: Floats, uniforms: Floats) -> Ints:
    """Return, for each row, the state into whose share the uniform number falls, like the kernel does row by row.

    >>> draw_rows(np.log([[0.5, 0.25, 0.25]] * 3), np.array([0.2, 0.6, 0.9]))
    array([0, 1, 2])
    """
    weights = np.exp(log_weights)
    ends = np.cumsum(weights, axis=1)
    chosen = (uniforms[:, None] * ends[:, -1:] >= ends).sum(axis=1)
    # A product that rounds up to the total belongs to the last state with a positive share.
    last = weights.shape[1] - 1 - (weights[:, ::-1] > 0.0).argmax(axis=1)
    return np.asarray(np.minimum(chosen, last))


def uniform_chunks(rng: np.random.Generator, n: int, width: int) -> Iterator[tuple[int, Floats]]:
    """Yield (first row, uniform numbers of shape (rows, width)) until there are n rows."""
    step = max(1, _AT_ONCE // max(1, width))
    for start in range(0, n, step):
        yield start, rng.random((min(step, n - start), width))


# Converts a network and evidence into a posterior network, for exact samples.
#
# Variables that the evidence can affect are eliminated one by one. When v is eliminated, the product of its
# factors is proportional to P(v | remaining neighbours, e), for each state of these neighbours. That is its new
# table, with the neighbours as parents. Sampled in reverse order, the variables have the posterior
# distribution.

# Variables, and the logs of a factor with an axis for each: a product of thousands does not underflow.
Piece = tuple[tuple[int, ...], Floats]

# A factor with more free cells is split, if it can be, and its hidden variables are drawn with the others.
LARGEST_JOINED = 2**16


def posterior_network(
    potentials: Potentials, evidence: Evidence, max_memory: float, beside: Sequence[Piece] = ()
) -> Potentials:
    """Return the potentials of a Bayesian network over the same variables whose distribution is P(· | evidence).

    ``beside`` are additional log factors over these variables. The cost is that of one exact query. All
    tables are held together, and refused above ``max_memory`` bytes. If a wide rule matters, hidden variables are
    drawn, too: they come after all others.
    """
    codes = np.where(potentials.sizes == 1, 0, evidence.codes)  # one state: nothing to sample
    seeds = [*np.flatnonzero(evidence.codes >= 0), *evidence.likelihoods, *(v for s, _ in beside for v in s)]
    network, relevant = potentials, ancestral(potentials, seeds)
    wide = [
        f
        for f in relevant_factors(potentials, relevant)
        if f in potentials.structures and potentials.cells_given(f, codes) > LARGEST_JOINED
    ]
    if wide:
        potentials = potentials.split(codes, wide)
        codes = evidence.padded(potentials.n_variables).codes
        codes = np.where(potentials.sizes == 1, 0, codes)
        relevant = np.append(relevant, np.ones(len(codes) - len(relevant), np.bool_))
    factors = relevant_factors(potentials, relevant)
    held = {f: tuple(v for v in potentials.scope_of(f) if codes[v] < 0) for f in factors}
    wide = [f for f in factors if f in potentials.rules and held[f]]
    pieces = [(held[f], potentials.log_slice(f, codes)) for f in factors if f not in wide]
    pieces += [_sliced((v,), logs_of(likelihood), codes) for v, likelihood in evidence.likelihoods.items()]
    pieces += [_sliced(scope, logs, codes) for scope, logs in beside]
    if any(not scope and logs == -np.inf for scope, logs in pieces):
        raise Contradiction
    pieces = [piece for piece in pieces if piece[0]]
    free = [int(v) for v in np.flatnonzero(relevant & (codes < 0))]
    scopes_held = [*(scope for scope, _ in pieces), *(held[f] for f in wide)]
    order = _elimination_order(free, scopes_held, potentials, max_memory)
    pieces += [(held[f], potentials.log_slice(f, codes)) for f in wide]  # only now is it known that they fit
    tables = {int(v): _certain(int(potentials.sizes[v]), int(codes[v])) for v in np.flatnonzero(codes >= 0)}
    scopes: dict[int, tuple[int, ...]] = {v: (v,) for v in tables}
    rules: dict[int, Discrete] = {}
    for v, scope, table in _eliminated(order, pieces, potentials):
        scopes[v], tables[v] = scope, table
    if is_directed(network):
        for f, v in enumerate(network.child):
            if relevant[v] or int(v) in tables:
                continue
            scopes[int(v)] = tuple(network.scope_of(f))
            if f in network.rules:
                rules[int(v)], tables[int(v)] = network.rules[f], np.empty(0)
            else:
                tables[int(v)] = network.table_of(f)
    everyone = range(potentials.n_variables)
    return Potentials.laid_out(
        [int(s) for s in potentials.sizes],
        [scopes[v] for v in everyone],
        [tables[v] for v in everyone],
        list(everyone),
        potentials.names,
        rules,
    )


def _certain(size: int, code: int) -> Floats:
    one = np.zeros(size)
    one[code] = 1.0
    return one


def _sliced(scope: tuple[int, ...], logs: Floats, codes: Ints) -> Piece:
    """Return the factor at the observed states."""
    place = tuple(slice(None) if codes[v] < 0 else int(codes[v]) for v in scope)
    return tuple(v for v in scope if codes[v] < 0), np.asarray(logs[place])


def _elimination_order(
    free: list[int], scopes: list[tuple[int, ...]], potentials: Potentials, max_memory: float
) -> list[int]:
    """Return the greedy order, in which the next table is always the smallest; check the memory before building it."""
    neighbours: dict[int, set[int]] = {v: set() for v in free}
    for scope in scopes:
        for v in scope:
            neighbours[v].update(scope)
    size = [int(s) for s in potentials.sizes]
    cells = {v: math.prod(size[u] for u in neighbours[v] | {v}) for v in free}
    heap = [(cells[v], v) for v in free]
    heapq.heapify(heap)
    order: list[int] = []
    needed = 0
    while heap:
        weight, v = heapq.heappop(heap)
        if v not in neighbours or weight != cells[v]:
            continue  # outdated: the variable is eliminated or in the queue with another weight
        order.append(v)
        around = neighbours.pop(v) - {v}
        needed += 8 * weight
        # The product and, temporarily, one copy are held in addition to the results.
        if needed + 16 * weight > max_memory:
            names = [potentials.names[u] for u in sorted(around | {v})]
            raise TooLarge(needed + 16 * weight, max_memory, names, weight)
        for u in around:
            neighbours[u] |= around
            neighbours[u].discard(v)
            cells[u] = math.prod(size[w] for w in neighbours[u] | {u})
            heapq.heappush(heap, (cells[u], u))
    return order


def _eliminated(
    order: list[int], pieces: list[Piece], potentials: Potentials
) -> list[tuple[int, tuple[int, ...], Floats]]:
    """Return (v, its new parents and v, its table) for each variable."""
    place = {v: k for k, v in enumerate(order)}
    buckets: list[list[Piece]] = [[] for _ in order]
    for scope, logs in pieces:
        buckets[min(place[v] for v in scope)].append((scope, logs))
    found = []
    for v, bucket in zip(order, buckets, strict=True):
        others = sorted({u for scope, _ in bucket for u in scope} - {v})
        scope = (*others, v)
        product = np.zeros([int(potentials.sizes[u]) for u in scope])
        for its_scope, logs in bucket:
            product += _spread(its_scope, logs, scope)
        largest = product.max(axis=-1, keepdims=True)
        if not largest.max() > -np.inf:
            raise Contradiction
        # A row of zeros stays zero: rows that would look it up have probability zero.
        product -= np.where(largest > -np.inf, largest, 0.0)
        np.exp(product, out=product)
        if others:
            message = (logs_of(product.sum(axis=-1, keepdims=True)) + largest)[..., 0]
            buckets[min(place[u] for u in others)].append((tuple(others), message))
        found.append((v, scope, product))
    return found


def logs_of(values: Floats) -> Floats:
    """Return the logarithms, with −inf for zero and no warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def _spread(scope: tuple[int, ...], logs: Floats, onto: tuple[int, ...]) -> Floats:
    """Return the factor with an axis for each variable of ``onto``."""
    mine = [v for v in onto if v in scope]
    turned = logs.transpose([scope.index(v) for v in mine])
    shape = iter(turned.shape)
    return np.asarray(turned.reshape([next(shape) if v in scope else 1 for v in onto]))
