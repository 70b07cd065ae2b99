"""Messages between variables and factors, recomputed one node after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.kernel import kernel


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
    """Send what v knows to its factors and write its belief; False where nothing is left.

    Each factor is told the product of what the others say (and the evidence). It is a sum of logarithms less the
    factor's own, the zeros counted beside it: no product of thousands underflows and nothing is divided by zero.
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
    """Send what f says to each of its variables; return the largest change, −1 where nothing is left."""
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
            # What is impossible is so at once: nothing of the old message is kept.
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

    Return the largest change of a message, −1 where evidence and tables leave nothing.
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
