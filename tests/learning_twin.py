"""Scores of families the slow way, from tables and least squares; random columns to try them on."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import strategies as st
from scipy.special import gammaln

from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._structure.search_protocol import bits, members
from bayeskit.networks import cpdag
from bayeskit.statistics import Variable

SCORES = ("loglik", "aic", "bic", "bdeu", "bds", "k2")


def family_table(columns, sizes, child, parents):
    """Return n(parents, child): one line for each configuration of the parents."""
    inside = [*members(parents), child]
    shape = [int(sizes[v]) for v in inside]
    cells = np.ravel_multi_index([columns[v] for v in inside], shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(-1, int(sizes[child]))


def family_score(columns, sizes, child, parents, name, ess=1.0):
    """Return the score of a discrete family by its formula."""
    table = family_table(columns, sizes, child, parents).astype(float)
    q, r = table.shape
    above = table.sum(axis=1)
    if name in ("loglik", "aic", "bic"):
        fit = sum(n * math.log(n / m) for line, m in zip(table, above, strict=True) for n in line if n)
        n_rows = columns.shape[1]
        return fit - {"loglik": 0.0, "aic": 1.0, "bic": 0.5 * math.log(n_rows)}[name] * (r - 1) * q
    seen = int((above > 0).sum())
    a = 1.0 if name == "k2" else ess / (r * (seen if name == "bds" else q))
    inside = gammaln(a + table) - gammaln(a)
    outside = gammaln(a * r) - gammaln(a * r + above)
    return float((inside.sum(axis=1) + outside)[above > 0].sum())


def regression_score(numbers, cells, child, parents, name, n_configurations):
    """Return the score of a continuous child, by least squares in each cell; every cell has rows enough."""
    total, m = 0.0, len(parents)
    for cell in np.unique(cells):
        here = cells == cell
        y = numbers[child][here]
        x = np.column_stack([np.ones(here.sum()), *(numbers[p][here] for p in parents)])
        residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        n = len(y)
        variance = float(residual @ residual) / (n - m - 1)
        total += -0.5 * n * math.log(2 * math.pi * variance) - 0.5 * (n - m - 1)
    cost = {"loglik": 0.0, "aic": 1.0, "bic": 0.5 * math.log(len(cells))}[name]
    return total - cost * (m + 2) * n_configurations


@st.composite
def discrete_rows(draw, most_variables=5, most_states=4, most_rows=40):
    """Draw codes of shape (variables, rows), and sizes that are declared: some states may not occur."""
    n_variables = draw(st.integers(2, most_variables))
    n_rows = draw(st.integers(1, most_rows))
    sizes = np.array([draw(st.integers(1, most_states)) for _ in range(n_variables)])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    seen = [int(rng.integers(1, size + 1)) for size in sizes]
    return np.array([rng.integers(0, s, n_rows) for s in seen], np.uint8), sizes


def as_columns(codes, sizes, names=None):
    """Make NodeColumns of discrete codes."""
    names = names or [f"x{v}" for v in range(len(codes))]
    variables = tuple(
        Variable(name, "categorical", tuple(range(int(size))), n_declared=int(size), closed=True)
        for name, size in zip(names, sizes, strict=True)
    )
    codes = tuple(np.ascontiguousarray(code, np.int64) for code in codes)
    return NodeColumns(variables, codes, (None,) * len(codes), len(codes[0]))


def all_parents(n, arcs):
    """Yield every graph of n variables without a cycle that keeps the limits, as sets of parents."""
    pairs = [*itertools.combinations(range(n), 2)]
    for kinds in itertools.product(range(3), repeat=len(pairs)):
        parents = [0] * n
        for (a, b), kind in zip(pairs, kinds, strict=True):
            if kind:
                child, parent = (a, b) if kind == 1 else (b, a)
                parents[child] |= 1 << parent
        if arcs.permits(tuple(parents)) and is_acyclic(parents):
            yield tuple(parents)


def class_of(dag):
    """Return the arcs and edges of a graph's class, to compare it by."""
    found = cpdag(dag)
    return frozenset(found.directed), frozenset(map(frozenset, found.undirected))


def is_acyclic(parents):
    left, placed = set(range(len(parents))), 0
    while ready := {v for v in left if parents[v] & ~placed == 0}:
        left -= ready
        placed |= bits([*ready])
    return not left
