"""Draws of log P(attributes | class) of rows, where the attributes have tables, with parents or without."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.encoded import Chunk
from bayeskit.errors import UsageError
from bayeskit.estimation.drawn_shares import Shares
from bayeskit.estimation.posterior_draws import Draws, log_dirichlet, log_dirichlet_about
from bayeskit.typing import Floats

Codes = NDArray[np.int64]

# As many joint states of missing parents as a prediction sums over.
MOST_COMPLETIONS = 4_096


@dataclass(frozen=True, eq=False)
class TablePosterior:
    """Dirichlet distributions of tables."""

    shares: Shares

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        add_table_draws(self.shares, chunk.codes, draws, chunk.first_row, out)


def add_table_draws(shares: Shares, codes: Codes, draws: Draws, first_row: int, out: Floats) -> None:
    """Add log P(x | c) of each row under each draw of the tables to ``out`` of shape (n, draws, K).

    A missing attribute that others of the row depend on is summed over.
    """
    if not codes.shape[1]:
        return
    codes = np.asarray(codes, dtype=np.int64)
    holes = np.zeros(codes.shape, np.bool_)
    for j in range(codes.shape[1]):
        holes[:, j] = shares.is_hole(j, codes[:, j])
    needed = _needed(shares, holes)
    whole = ~needed.any(axis=1)
    if whole.all():
        _add_whole(shares, codes, holes, draws, out)
        return
    rows = np.flatnonzero(whole)
    if len(rows):
        part = out[rows]
        _add_whole(shares, codes[rows], holes[rows], draws, part)
        out[rows] = part
    for row in np.flatnonzero(~whole):
        filled, open_holes = _completed(shares, codes[row], holes[row], needed[row], first_row + int(row))
        # A few at a time: with 4,096 completions all draws at once would not fit.
        step = max(1, 2**21 // out[row].size)
        total = np.full(out[row].shape, -np.inf)
        for start in range(0, len(filled), step):
            some = filled[start : start + step]
            logs = np.zeros((len(some), *out[row].shape))
            _add_whole(shares, some, np.repeat(open_holes[None], len(some), axis=0), draws, logs)
            total = np.logaddexp(total, np.logaddexp.reduce(logs, axis=0))
        out[row] += total


def _needed(shares: Shares, holes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which missing attributes have a descendant that is there."""
    needed = np.zeros_like(holes)
    while True:
        before = needed.sum()
        for child, parents in zip(shares.children, shares.parents):
            there = ~holes[:, child] | needed[:, child]
            for parent in parents:
                needed[:, parent] |= there & holes[:, parent]
        if needed.sum() == before:
            return needed


def _completed(
    shares: Shares, codes: Codes, holes: NDArray[np.bool_], needed: NDArray[np.bool_], row: int
) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the row with every joint state of the attributes to be summed over, and the holes that stay."""
    places = np.flatnonzero(needed)
    states = [shares.codes(int(j)) for j in places]
    n = int(np.prod([len(s) for s in states], dtype=np.float64))
    if n > MOST_COMPLETIONS:
        raise UsageError(
            f"Row {row} (from 0) lacks {len(places)} attributes that others depend on, which have {n:,} joint states; "
            f"predict_interval sums over at most {MOST_COMPLETIONS:,}. Fill some in, or use NaiveBayes, which leaves "
            "missing values out."
        )
    filled = np.repeat(codes[None], n, axis=0)
    filled[:, places] = list(product(*states))
    return filled, holes & ~needed


def _add_whole(shares: Shares, codes: Codes, holes: NDArray[np.bool_], draws: Draws, out: Floats) -> None:
    """Add rows in which every parent of an attribute that is there is there too."""
    for f, (child, parents) in enumerate(zip(shares.children, shares.parents)):
        states = np.asarray(shares.codes(child))
        place = np.full(int(max(codes[:, child].max(initial=0), states.max(initial=0))) + 1, -1)
        place[states] = np.arange(len(states))
        # A code without a share (a value never seen, where nothing is kept for such) says nothing.
        there = np.flatnonzero(~holes[:, child] & (place[codes[:, child]] >= 0))
        if not len(there):
            continue
        contexts, which = np.unique(codes[there][:, parents], axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        bounds = np.searchsorted(which.ravel()[order], np.arange(len(contexts) + 1))
        leans = shares.backs_off(f)
        p, weight = shares.of(f, contexts, states) if not leans else (np.empty(0), np.empty(0))
        for i, context in enumerate(contexts):
            rows = there[order[bounds[i] : bounds[i + 1]]]
            if leans:
                drawn = _leaning(shares, f, context, states, draws)
            else:
                counts = p[i] * weight[i] + shares.above_mode[child]
                key = (1, child, *map(int, context))
                drawn = draws.get(key, partial(log_dirichlet, counts=counts, draws=draws.n))
            out[rows] += drawn[place[codes[rows, child]]]


def _leaning(shares: Shares, f: int, context: Codes, states: Codes, draws: Draws) -> Floats:
    """Draw a table that leans on the one with a parent less, which is drawn first.

    Were the lower table taken as known, contexts with few rows would seem far surer than they are.
    """
    r, level = len(states), len(context)
    centre: Floats | None = _leaning(shares, f, context[:-1], states, draws) if level else None

    def make(rng: np.random.Generator) -> Floats:
        counts, weight = shares.counted(f, context, states)
        lower = np.full((r, draws.n, counts.shape[1]), -np.log(r)) if centre is None else centre
        return log_dirichlet_about(rng, counts, weight, lower)

    return draws.get((1, shares.children[f], *map(int, context)), make)
