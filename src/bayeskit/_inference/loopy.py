"""Loopy belief propagation on the factor graph until convergence; exact if the graph is a tree."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit._numba import kernel
from bayeskit.typing import Floats, Ints


@kernel
def from_variable(
    v: Any,
    sizes: Any,
    offsets: Any,
    allowed: Any,
    edge_start: Any,
    edges: Any,
    message_start: Any,
    to_variable: Any,
    to_factor: Any,
    logs: Any,
    zeros: Any,
    belief: Any,
) -> Any:
    """Send messages from v to its factors and write its belief; False if nothing is left.

    Each factor receives the product of the evidence and the messages of the other factors. It is computed as
    the sum of all logarithms minus the factor's own, with zeros counted separately. So a product of thousands
    does not underflow, and nothing is divided by zero.
    """
    size = sizes[v]
    for k in range(size):
        likelihood = allowed[offsets[v] + k]
        zeros[k] = 0 if likelihood > 0.0 else 1
        logs[k] = np.log(likelihood) if likelihood > 0.0 else 0.0
    for i in range(edge_start[v], edge_start[v + 1]):
        start = message_start[edges[i]]
        for k in range(size):
            if to_variable[start + k] > 0.0:
                logs[k] += np.log(to_variable[start + k])
            else:
                zeros[k] += 1
    top = -np.inf
    for k in range(size):
        if zeros[k] == 0:
            top = max(top, logs[k])
    if top == -np.inf:
        return False
    total = 0.0
    for k in range(size):
        belief[offsets[v] + k] = np.exp(logs[k] - top) if zeros[k] == 0 else 0.0
        total += belief[offsets[v] + k]
    for k in range(size):
        belief[offsets[v] + k] /= total
    for i in range(edge_start[v], edge_start[v + 1]):
        start = message_start[edges[i]]
        top = -np.inf
        for k in range(size):
            own = to_variable[start + k]
            if own > 0.0:
                to_factor[start + k] = logs[k] - np.log(own) if zeros[k] == 0 else -np.inf
            else:
                to_factor[start + k] = logs[k] if zeros[k] == 1 else -np.inf
            top = max(top, to_factor[start + k])
        total = 0.0
        for k in range(size):
            to_factor[start + k] = np.exp(to_factor[start + k] - top)
            total += to_factor[start + k]
        for k in range(size):
            to_factor[start + k] /= total
    return True


@kernel
def from_factor(
    f: Any,
    sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    message_start: Any,
    to_variable: Any,
    to_factor: Any,
    damping: Any,
    fresh: Any,
    digits: Any,
    before: Any,
) -> Any:
    """Send messages from f to each of its variables; return the largest change, −1 if nothing is left."""
    first, end = scope_start[f], scope_start[f + 1]
    width = end - first
    base = message_start[first]
    for k in range(base, message_start[end]):
        fresh[k - base] = 0.0
    for i in range(width):
        digits[i] = 0
    for cell in range(value_start[f], value_start[f + 1]):
        if values[cell] > 0.0:
            product = values[cell]
            for i in range(width):
                before[i] = product
                product *= to_factor[message_start[first + i] + digits[i]]
            after = 1.0
            for i in range(width - 1, -1, -1):
                at = message_start[first + i] + digits[i]
                fresh[at - base] += before[i] * after
                after *= to_factor[at]
        for i in range(width - 1, -1, -1):
            digits[i] += 1
            if digits[i] < sizes[scope[first + i]]:
                break
            digits[i] = 0
    largest = 0.0
    for e in range(first, end):
        total = 0.0
        for k in range(message_start[e], message_start[e + 1]):
            total += fresh[k - base]
        if not total > 0.0:
            return -1.0
        for k in range(message_start[e], message_start[e + 1]):
            new = fresh[k - base] / total
            largest = max(largest, abs(new - to_variable[k]))
            # An impossible state becomes impossible at once, without damping.
            to_variable[k] = (1.0 - damping) * new + damping * to_variable[k] if new > 0.0 else 0.0
    return largest


@kernel
def message_pass(
    order: Any,
    sizes: Any,
    offsets: Any,
    allowed: Any,
    edge_start: Any,
    edges: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    message_start: Any,
    to_variable: Any,
    to_factor: Any,
    damping: Any,
    logs: Any,
    zeros: Any,
    fresh: Any,
    digits: Any,
    before: Any,
    belief: Any,
) -> Any:
    """Let every node of the order send; variables have their number, factors the numbers after them.

    Return the largest change of a message, −1 if evidence and tables exclude everything.
    """
    n = sizes.shape[0]
    largest = 0.0
    for place in range(order.shape[0]):
        node = order[place]
        if node < n:
            if not from_variable(
                node,
                sizes,
                offsets,
                allowed,
                edge_start,
                edges,
                message_start,
                to_variable,
                to_factor,
                logs,
                zeros,
                belief,
            ):
                return -1.0
        else:
            change = from_factor(
                node - n,
                sizes,
                scope,
                scope_start,
                values,
                value_start,
                message_start,
                to_variable,
                to_factor,
                damping,
                fresh,
                digits,
                before,
            )
            if change < 0.0:
                return -1.0
            largest = max(largest, change)
    return largest


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The beliefs after the last messages.

    Attributes
    ----------
    marginals : the belief about every variable, one after the other (potentials.offsets)
    converged, n_iterations : whether no message changed by more than the tolerance, and after how many iterations
    """

    potentials: Potentials
    marginals: Floats
    to_factor: Floats
    message_start: Ints
    converged: bool
    n_iterations: int

    def of(self, v: int) -> Floats:
        offsets = self.potentials.offsets
        return self.marginals[offsets[v] : offsets[v + 1]]

    def joint(self, targets: tuple[int, ...]) -> Floats | None:
        """Return the joint belief about targets in one factor; None if no factor contains them all."""
        if len(targets) == 1:
            return self.of(targets[0])
        p = self.potentials
        for f in np.flatnonzero(_count_in_scope(p, targets) == len(targets)):
            scope = p.scope_of(int(f))
            belief = np.array(p.table_of(int(f)))
            for axis in range(len(scope)):
                e = int(p.scope_start[f]) + axis
                message = self.to_factor[self.message_start[e] : self.message_start[e + 1]]
                belief *= message.reshape([-1 if a == axis else 1 for a in range(len(scope))])
            summed = belief.sum(axis=tuple(a for a, v in enumerate(scope) if v not in targets))
            kept = [v for v in scope if v in targets]
            total = summed.sum()
            if not total > 0:
                raise Contradiction
            return np.asarray(summed.transpose([kept.index(t) for t in targets]) / total)
        return None


def loopy(
    potentials: Potentials, evidence: Evidence, max_iter: int, tol: float, damping: float = 0.0
) -> Beliefs:
    """Send messages from the leaves of a spanning tree to its root and back, until convergence.

    On a tree, one iteration is exact and the second detects convergence. On a graph with loops, the beliefs
    are approximate and may not converge; ``damping`` is the weight of the old message.
    """
    p = potentials
    constant = np.flatnonzero(np.diff(p.scope_start) == 0)  # a factor without variables sends no message
    if not p.values[p.value_start[constant]].all():
        raise Contradiction
    allowed = _allowed(p, evidence)
    message_start = np.concatenate([[0], np.cumsum(p.sizes[p.scope])]).astype(np.int64)
    edges = np.argsort(p.scope, kind="stable")
    edge_start = np.searchsorted(p.scope[edges], np.arange(p.n_variables + 1)).astype(np.int64)
    to_variable = np.repeat(1.0 / p.sizes[p.scope], p.sizes[p.scope])
    to_factor = to_variable.copy()
    widest = int(np.diff(p.scope_start).max(initial=0))
    most = int(p.sizes.max(initial=0))
    belief = np.zeros(int(p.offsets[-1]))

    def send(order: Ints) -> float:
        change = message_pass(
            order,
            p.sizes,
            p.offsets,
            allowed,
            edge_start,
            edges,
            p.scope,
            p.scope_start,
            p.values,
            p.value_start,
            message_start,
            to_variable,
            to_factor,
            damping,
            *scratch,
            belief,
        )
        if change < 0:
            raise Contradiction
        return float(change)

    scratch = (
        np.zeros(most),
        np.zeros(most, np.int64),
        np.zeros(widest * most),
        np.zeros(widest, np.int64),
        np.zeros(widest),
    )
    everyone = np.arange(p.n_variables)
    send(everyone)  # the factors must know the evidence before they send
    order = _outward(p, evidence, edges, edge_start)
    converged, iteration = False, 0
    while iteration < max_iter and not converged:
        iteration += 1
        change = max(send(order[::-1].copy()), send(order))
        converged = change <= tol
    send(everyone)  # only now do observed variables detect a contradiction
    return Beliefs(p, belief, to_factor, message_start, converged, iteration)


def _allowed(p: Potentials, evidence: Evidence) -> Floats:
    """Return the weight that the evidence gives to every state of every variable."""
    allowed = np.ones(int(p.offsets[-1]))
    for v, likelihood in evidence.likelihoods.items():
        allowed[p.offsets[v] : p.offsets[v + 1]] = likelihood
    for v in np.flatnonzero(evidence.codes >= 0).tolist():
        kept = p.offsets[v] + evidence.codes[v]
        own = allowed[kept]
        allowed[p.offsets[v] : p.offsets[v + 1]] = 0.0
        allowed[kept] = own
    return allowed


def _outward(p: Potentials, evidence: Evidence, edges: Ints, edge_start: Ints) -> Ints:
    """Return variables and factors breadth first; observed variables pass nothing on, so no path leads through them."""
    n = p.n_variables
    factor_at = np.repeat(np.arange(p.n_factors), np.diff(p.scope_start))
    seen = np.zeros(n + p.n_factors, bool)
    seen[:n] = evidence.codes >= 0
    order: list[int] = []
    for root in range(n + p.n_factors):  # factors with observed variables only come last
        if seen[root]:
            continue
        seen[root] = True
        waiting = deque([root])
        while waiting:
            node = waiting.popleft()
            order.append(node)
            if node < n:
                around = [n + int(factor_at[e]) for e in edges[edge_start[node] : edge_start[node + 1]]]
            else:
                around = p.scope_of(node - n)
            for other in around:
                if not seen[other]:
                    seen[other] = True
                    waiting.append(other)
    return np.array(order, np.int64)


def _count_in_scope(p: Potentials, targets: tuple[int, ...]) -> Ints:
    """Return how many of the targets each factor contains."""
    factor_at = np.repeat(np.arange(p.n_factors), np.diff(p.scope_start))
    held = np.isin(p.scope, targets)
    return np.bincount(factor_at[held], minlength=p.n_factors)
