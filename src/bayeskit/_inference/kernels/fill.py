"""Kernels that multiply factors and evidence into clique tables, and rescale them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit._numba import kernel

# exp(−690) is still a normal number. A table with a wider range needs logs.
LOWEST = -690.0
_U = np.uintp


@kernel
def rescale(pot: Any, start: int, cells: int) -> Any:
    """Divide a table by its largest number; return its log, and the log of the smallest positive number after that.

    A table of zeros is unchanged: (0, 0).
    """
    largest = 0.0
    least = np.inf
    for u in range(_U(start), _U(start + cells)):
        x = pot[u]
        largest = max(largest, x)
        if x > 0.0 and x < least:
            least = x
    if largest <= 0.0:
        return 0.0, 0.0
    for u in range(_U(start), _U(start + cells)):
        pot[u] /= largest
    return np.log(largest), np.log(least) - np.log(largest)


@kernel
def multiply(
    pot: Any,
    start: int,
    values: Any,
    base: int,
    scale: float,
    first_axis: int,
    n_axes: int,
    axes: Any,
    sizes: Any,
    stride_of: Any,
    digits: Any,
) -> None:
    """Multiply a factor into the table at ``start``, whose axes are given; ``stride_of`` is the factor's.

    Trailing axes along which the factor is constant, or advances evenly, form one run.
    """
    last = first_axis + n_axes
    run = 1
    pace = stride_of[axes[last - 1]]
    while last > first_axis and stride_of[axes[last - 1]] == pace * run:
        run *= sizes[axes[last - 1]]
        last -= 1
    outer = last - first_axis
    runs = 1
    for a in range(outer):
        digits[a] = 0
        runs *= sizes[axes[first_axis + a]]
    here = base
    at = start
    for _ in range(runs):
        if pace == 0:
            x = values[here] * scale
            for u in range(_U(at), _U(at + run)):
                pot[u] *= x
        elif pace == 1:
            cell = _U(here)
            for u in range(_U(at), _U(at + run)):
                pot[u] *= values[cell] * scale
                cell += _U(1)
        else:
            cell = _U(here)
            for u in range(_U(at), _U(at + run)):
                pot[u] *= values[cell] * scale
                cell += _U(pace)
        at += run
        a = outer - 1
        while a >= 0:
            v = axes[first_axis + a]
            digits[a] += 1
            here += stride_of[v]
            if digits[a] < sizes[v]:
                break
            here -= stride_of[v] * digits[a]
            digits[a] = 0
            a -= 1


@kernel
def assign_factors(
    codes: Any,
    place: Any,
    all_sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    kept: Any,
    when: Any,
    owner: Any,
    axes: Any,
    axis_start: Any,
    base: Any,
    deepest: Any,
    following: Any,
    first: Any,
) -> Any:
    """Assign each factor to a clique (one list for each); find its cell at the observed states and its deepest axis.

    Returns the log of the factors without free variables; −inf if one of them is zero. A variable with one
    state is alone in its clique, and no factor depends on it.
    """
    taken = 0.0
    for c in range(first.shape[0]):
        first[c] = -1
    for f in range(kept.shape[0]):
        if not kept[f]:
            continue
        base[f] = value_start[f]
        stride = 1
        earliest = -1
        for i in range(scope_start[f + 1] - 1, scope_start[f] - 1, -1):
            v = scope[i]
            if place[v] < 0:
                base[f] += codes[v] * stride
            elif all_sizes[v] > 1 and (earliest < 0 or when[place[v]] < earliest):
                earliest = when[place[v]]
            stride *= all_sizes[v]
        if earliest < 0:
            if values[base[f]] <= 0.0:
                return -np.inf
            taken += np.log(values[base[f]])
            continue
        c = owner[earliest]
        following[f] = first[c]
        first[c] = f
        deepest[f] = 0
        for i in range(scope_start[f], scope_start[f + 1]):
            if place[scope[i]] >= 0 and all_sizes[scope[i]] > 1:
                a = 0
                while axes[axis_start[c] + a] != place[scope[i]]:
                    a += 1
                deepest[f] = max(deepest[f], a)
    return taken


@kernel
def fill_clique(
    c: int,
    start: int,
    place: Any,
    all_sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    log_least: Any,
    log_most: Any,
    sizes: Any,
    axes: Any,
    first_axis: int,
    n_axes: int,
    bound: Any,
    stride_of: Any,
    digits: Any,
    lists: Any,
    first: Any,
    pot: Any,
) -> Any:
    """Write the table of one clique at ``start``: the product of its assigned factors.

    The table grows axis by axis. A factor is multiplied in as soon as all its axes exist, while the table is
    still small. Every entry is at most one, and a positive entry is at least exp(bound of the clique).
    Returns the log of the scales; NaN if the numbers differ too much.
    """
    base, deepest, following = lists[0], lists[1], lists[2]
    taken = 0.0
    pot[start] = 1.0
    bound[c] = 0.0
    cells = 1
    growth = 1
    for a in range(n_axes):
        growth *= sizes[axes[first_axis + a]]
        due = a == n_axes - 1
        f = first[c]
        while f >= 0 and not due:
            due = deepest[f] == a
            f = following[f]
        if not due:
            continue
        # From the end, so that nothing is overwritten before it is read.
        for u in range(cells - 1, -1, -1):
            x = pot[_U(start + u)]
            for k in range(_U(start + u * growth), _U(start + (u + 1) * growth)):
                pot[k] = x
        cells *= growth
        growth = 1
        f = first[c]
        while f >= 0:
            if deepest[f] == a:
                scale = 1.0
                least = log_least[f]
                if log_most[f] > 0.0:
                    scale = np.exp(-log_most[f])
                    taken += log_most[f]
                    least -= log_most[f]
                if bound[c] + least < LOWEST:
                    largest, bound[c] = rescale(pot, start, cells)
                    taken += largest
                    if bound[c] + least < LOWEST:
                        return np.nan
                bound[c] += least
                stride = 1
                for i in range(scope_start[f + 1] - 1, scope_start[f] - 1, -1):
                    if place[scope[i]] >= 0:
                        stride_of[place[scope[i]]] = stride
                    stride *= all_sizes[scope[i]]
                multiply(
                    pot, start, values, base[f], scale, first_axis, a + 1, axes, sizes, stride_of, digits
                )
                for i in range(scope_start[f], scope_start[f + 1]):
                    if place[scope[i]] >= 0:
                        stride_of[place[scope[i]]] = 0
            f = following[f]
    return taken


@kernel
def fill(
    codes: Any,
    place: Any,
    all_sizes: Any,
    scope: Any,
    scope_start: Any,
    values: Any,
    value_start: Any,
    log_least: Any,
    log_most: Any,
    kept: Any,
    sizes: Any,
    when: Any,
    owner: Any,
    axes: Any,
    axis_start: Any,
    length: Any,
    offset: Any,
    bound: Any,
    stride_of: Any,
    digits: Any,
    lists: Any,
    first: Any,
    pot: Any,
) -> Any:
    """Write the tables of all cliques: the product of their factors at the observed states.

    Returns the log of the factored-out scale: factors without free variables, and scales. −inf if such a
    factor is zero, NaN if the numbers of a table differ too much.
    """
    taken = assign_factors(
        codes,
        place,
        all_sizes,
        scope,
        scope_start,
        values,
        value_start,
        kept,
        when,
        owner,
        axes,
        axis_start,
        lists[0],
        lists[1],
        lists[2],
        first,
    )
    if taken == -np.inf:
        return taken
    for c in range(bound.shape[0]):
        taken += fill_clique(
            c,
            offset[c],
            place,
            all_sizes,
            scope,
            scope_start,
            values,
            log_least,
            log_most,
            sizes,
            axes,
            axis_start[c],
            length[c],
            bound,
            stride_of,
            digits,
            lists,
            first,
            pot,
        )
        if np.isnan(taken):
            return taken
    return taken


@kernel
def weigh_one(
    pot: Any, at: int, cells: int, stride: int, size: int, likelihood: Any, first: int, bound: Any, c: int
) -> Any:
    """Multiply the likelihoods of one variable into the table of clique c; return the log of their scale.

    NaN if the numbers of the table may differ too much.
    """
    largest = 0.0
    least = np.inf
    for k in range(first, first + size):
        x = likelihood[k]
        largest = max(largest, x)
        if x > 0.0 and x < least:
            least = x
    bound[c] += np.log(least) - np.log(largest)
    if bound[c] < LOWEST:
        return np.nan
    for _ in range(cells // (stride * size)):
        for k in range(size):
            x = likelihood[first + k] / largest
            for u in range(at, at + stride):
                pot[u] *= x
            at += stride
    return np.log(largest)


@kernel
def weigh(pot: Any, seat: Any, clique: Any, bound: Any, variable: Any, likelihood: Any, start: Any) -> Any:
    """Multiply likelihoods of single variables into their cliques; return the log of the scales."""
    taken = 0.0
    for i in range(variable.shape[0]):
        v = variable[i]
        taken += weigh_one(
            pot, seat[v, 0], seat[v, 1], seat[v, 2], seat[v, 3], likelihood, start[i], bound, clique[v]
        )
        if np.isnan(taken):
            return taken
    return taken


@kernel
def observe(pot: Any, seat: Any, codes: Any) -> None:
    """Set to zero what contradicts the observed state of each variable."""
    for v in range(codes.shape[0]):
        if codes[v] < 0:
            continue
        at = seat[v, 0]
        stride = seat[v, 2]
        size = seat[v, 3]
        for _ in range(seat[v, 1] // (stride * size)):
            for k in range(size):
                if k != codes[v]:
                    for u in range(at, at + stride):
                        pot[u] = 0.0
                at += stride
