"""Hidden Markov models by enumeration: every path of states, slow and obvious."""

from __future__ import annotations

import math
from itertools import product

import numpy as np


def log_emission(model, k, x):
    """Return log P(x | state k); a missing cell has no factor."""
    if model.emission == "categorical":
        if x is None:
            return 0.0
        p = model.emissionprob_[k, model.categories_.tolist().index(x)]
        return math.log(p) if p > 0 else -math.inf
    cells = np.atleast_1d(x)
    total = 0.0
    for j, cell in enumerate(cells):
        if not math.isnan(cell):
            v = model.variances_[k, j]
            total -= 0.5 * ((cell - model.means_[k, j]) ** 2 / v + math.log(2 * math.pi * v))
    return total


def paths(model, x):
    """Return {path: log P(path, x)}."""
    with np.errstate(divide="ignore"):
        start, move = np.log(model.startprob_), np.log(model.transmat_)
    b = [[log_emission(model, k, cell) for k in range(len(start))] for cell in x]
    found = {}
    for path in product(range(len(start)), repeat=len(x)):
        value = start[path[0]] + b[0][path[0]]
        for t in range(1, len(path)):
            value += move[path[t - 1], path[t]] + b[t][path[t]]
        found[path] = float(value)
    return found


def answers(model, x):
    """Return log P(x), P(z_t | x), P(z_t | x_0 … x_t), expected transitions and the best path."""
    weigh = paths(model, x)
    top = max(weigh.values())
    k, n = len(model.startprob_), len(x)
    if top == -math.inf:
        return -math.inf, None, None, None, None
    smoothed, moves = np.zeros((n, k)), np.zeros((k, k))
    for path, value in weigh.items():
        p = math.exp(value - top)
        for t, z in enumerate(path):
            smoothed[t, z] += p
            if t:
                moves[path[t - 1], z] += p
    total = smoothed[0].sum()
    filtered = np.zeros((n, k))
    for t in range(n):
        part = paths(model, x[: t + 1])
        high = max(part.values())
        for path, value in part.items():
            filtered[t, path[-1]] += math.exp(value - high)
        filtered[t] /= filtered[t].sum()
    return top + math.log(total), smoothed / total, filtered, moves / total, max(weigh, key=weigh.get)


def best_value(first, move, weight, fresh):
    """Return the log probability of the best path over rows of log weights, by Viterbi's recursion."""
    value = np.zeros(1)
    for begins, w in zip(fresh, weight, strict=True):
        value = value.max() + first + w if begins else (value[:, None] + move).max(axis=0) + w
    return float(value.max())


def value_of(path, first, move, weight, fresh):
    """Return the log probability of one path."""
    before = np.r_[0, path[:-1]]
    steps = np.where(fresh, first[path], move[before, path])
    return float((steps + weight[np.arange(len(path)), path]).sum())
