"""Rows drawn from an average over super-parents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.estimation.averaged import Averaged
from bayeskit.estimation.child_gaussians import draw_children
from bayeskit.estimation.conditional import Codes
from bayeskit.estimation.one_parent import OneParent

Floats = NDArray[np.float64]


def draw_average(
    averaged: Averaged, n: int, rng: np.random.Generator, only: int | None
) -> tuple[Codes, Codes, Floats] | None:
    """Draw classes, codes and numbers; None where no value was seen often enough for a super-parent.

    First a super-parent i by its weight with P(c, x_i), then the others by P(x_j | c, x_i). Values that were seen too
    seldom to be those of a super-parent are drawn as those of other attributes only; where there are such values the
    average is no distribution that adds up to one, and this is close to it. ``only`` is the class to draw from.
    """
    cells = averaged.cells
    table, owner, state = _first_table(averaged)
    if only is not None:
        kept = np.zeros_like(table)
        kept[:, only] = table[:, only]
        table = kept
    if not table.sum() > 0.0:
        return None
    k = table.shape[1]
    flat = rng.choice(table.size, size=n, p=(table / table.sum()).ravel())
    place, classes = flat // k, (flat % k).astype(np.intp)
    parents = owner[place]
    codes = np.zeros((n, len(cells.sizes)), dtype=np.intp)
    for i in np.unique(parents).tolist():
        rows = np.flatnonzero(parents == i)
        codes[rows] = _draw_given(averaged, i, state[place[rows]], classes[rows], rng)
    if averaged.numeric is None:
        return classes, codes, np.empty((n, 0))
    values = draw_children(averaged.numeric, parents[:, None], classes, codes, rng)
    return classes, codes, values


def _first_table(averaged: Averaged) -> tuple[Floats, Codes, Codes]:
    """w_i P(c, x_i) of every state (states, K), the attribute and the code of each."""
    cells = averaged.cells
    sizes = cells.sizes.astype(np.intp)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    state = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    g = cells.offsets.astype(np.intp)[owner] + state
    counts = cells.counts[g, g]
    whole = cells.first.sum(axis=1) + averaged.joint_total
    table = (counts + averaged.joint[g, None]) / np.maximum(whole, 1e-300)[owner, None]
    seen = counts.sum(axis=1)
    least = averaged.min_count - 1e-9 * max(1.0, averaged.min_count)
    table[(seen < least) | (seen <= 0.0)] = 0.0
    return table * np.exp(averaged.log_weights[0])[owner, None], owner, state


def _draw_given(averaged: Averaged, i: int, x: Codes, classes: Codes, rng: np.random.Generator) -> Codes:
    """Draw all attributes given the class and x_i."""
    cells = averaged.cells
    parents = np.full(len(cells.sizes), i, dtype=np.int64)
    parents[i] = -1
    others = OneParent(cells, parents)
    codes = np.zeros((len(x), len(parents)), dtype=np.intp)
    codes[:, i] = x
    for j in np.flatnonzero((parents >= 0) & (cells.sizes > 0)).tolist():
        cumulative = np.cumsum(others.probabilities(j), axis=1)[x, :, classes]
        draw = rng.random(len(x)) * cumulative[:, -1]
        codes[:, j] = (draw[:, None] >= cumulative[:, :-1]).sum(axis=1)
    return codes
