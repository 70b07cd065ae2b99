"""Forward sampling: draws each variable of a Bayesian network after its parents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import Discrete
from bayeskit._inference.potentials import Potentials
from bayeskit._inference.relevant import factor_of, topological
from bayeskit._numba import kernel
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
