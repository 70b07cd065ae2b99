"""Searches the slow way: every neighbour of a graph by trying all, greedy steps by their definition; golden data."""

from __future__ import annotations

import csv
import gzip
import itertools
import math
import random
from functools import cache

import numpy as np
import pytest
from hypothesis import strategies as st

from bayeskit._structure.search_protocol import Arcs, Family, Stop, bits, members
from outside import DATA

GOLDEN = DATA / "golden" / "networks"


class MadeUp:
    """Scores of families that mean nothing: whole numbers, so that there are ties. Larger families cost more."""

    def __init__(self, seed, spread=20):
        self.seed, self.spread = seed, spread
        self.asked = []

    def score(self, child, parents):
        drawn = random.Random(f"{self.seed} {child} {parents}").randrange(self.spread)
        return float(drawn - 3 * parents.bit_count())

    def total(self, parents):
        return sum(self.score(child, some) for child, some in enumerate(parents))

    def __call__(self, question):
        self.asked.append(list(question))
        return [np.array([self.score(f.child, some) for some in sets_of(f)]) for f in question]


class Counted:
    """Scores from rows, a table for each family."""

    def __init__(self, columns, sizes, name="bic"):
        self.columns, self.sizes, self.name = columns, sizes, name
        self.score = cache(self.score)

    def score(self, child, parents):
        above = [*members(parents)]
        shape = [self.sizes[v] for v in above] + [self.sizes[child]]
        rows = [self.columns[v] for v in above] + [self.columns[child]]
        table = np.bincount(np.ravel_multi_index(rows, shape), minlength=math.prod(shape))
        table = table.reshape(-1, self.sizes[child]).astype(float)
        of_parents = table.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            fit = np.where(table > 0, table * np.log(table / of_parents), 0.0).sum()
        parameters = len(table) * (self.sizes[child] - 1)
        cost = {"bic": 0.5 * math.log(self.columns.shape[1]), "loglik": 0.0}[self.name]
        return float(fit - cost * parameters)

    def total(self, parents):
        return math.fsum(self.score(child, some) for child, some in enumerate(parents))

    def __call__(self, question):
        return [np.array([self.score(f.child, some) for some in sets_of(f)]) for f in question]


def sets_of(family: Family):
    if family.more is None:
        return [family.parents]
    return [family.parents | 1 << v for v in family.more]


@st.composite
def limits(draw, least=1, most=6):
    """Draw limits that some graph keeps: required arcs lead forwards in an order that is not told."""
    n = draw(st.integers(least, most))
    order = draw(st.permutations(range(n)))
    allowed, required = [0] * n, [0] * n
    for v, u in itertools.permutations(range(n), 2):
        kind = draw(st.sampled_from("aaaaafr"))
        if kind == "r" and order.index(u) < order.index(v):
            required[v] |= 1 << u
        if kind != "f":
            allowed[v] |= 1 << u
    least_parents = max((some.bit_count() for some in required), default=0)
    return Arcs(tuple(allowed), tuple(required), draw(st.integers(least_parents, n)))


def is_acyclic(parents):
    left, done = set(range(len(parents))), 0
    while ready := {v for v in left if parents[v] & ~done == 0}:
        left -= ready
        done |= bits([*ready])
    return not left


def keeps(arcs, parents):
    return is_acyclic(parents) and arcs.permits(tuple(parents))


def toggled(parents, parent, child):
    return tuple(some ^ (1 << parent) if v == child else some for v, some in enumerate(parents))


def neighbours(arcs, parents):
    """Yield the legal graphs one move away: arcs put in or taken out in order, then arcs turned in order."""
    pairs = [*itertools.permutations(range(len(parents)), 2)]
    turned = [
        toggled(toggled(parents, u, v), v, u)
        for u, v in pairs
        if parents[v] >> u & 1 and not parents[u] >> v & 1
    ]
    for graph in [*(toggled(parents, u, v) for u, v in pairs), *turned]:
        if keeps(arcs, graph):
            yield graph


def hill_climb(arcs, total, start, tabu=0, max_worse=0):
    """Hill climbing and tabu search by their definition; whole-number scores, so no tolerance."""
    here = best = start
    visited, worse, level = [start], 0, 0
    while True:
        choices = [g for g in neighbours(arcs, here) if g not in visited[max(0, len(visited) - tabu) :]]
        if not choices:
            return best
        there = max(choices, key=total)  # the first of equal ones
        worse += total(there) < total(here)
        level += total(there) == total(here)
        if worse > (max_worse if tabu else 0) or level > tabu:
            return best
        here = there
        visited.append(here)
        if total(here) > total(best):
            best, worse, level = here, 0, 0


def stopped(search, answer, after):
    """Run a search, and throw Stop at its question number ``after``; None where it ended before."""
    try:
        question = next(search)
        for _ in range(after):
            question = search.send(answer(question))
    except StopIteration:
        return None
    with pytest.raises(StopIteration) as end:
        search.throw(Stop())
    return end.value.value


@cache
def golden_rows(data, n):
    """Return names, sizes and codes of a golden set; sizes are those of the whole file, as for bnlearn."""
    path = DATA / "networks" / "data" / f"{data}.parquet"
    if not path.exists() or not GOLDEN.exists():
        pytest.skip("the golden data are not here")
    from pyarrow import parquet

    table = parquet.read_table(path)
    codes = [np.unique(table[name].to_numpy(), return_inverse=True) for name in table.column_names]
    return (
        tuple(table.column_names),
        np.array([len(states) for states, _ in codes]),
        np.array([code[:n] for _, code in codes], np.uint8),
    )


@cache
def golden_summary():
    with (GOLDEN / "learned_summary.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@cache
def golden_arcs(data, order, algorithm):
    with gzip.open(GOLDEN / "learned_arcs.csv.gz", "rt", encoding="utf-8") as lines:
        return frozenset(
            (row["from"], row["to"])
            for row in csv.DictReader(lines)
            if (row["data"], row["order"], row["algo"]) == (data, order, algorithm)
        )


def skeleton(arcs):
    return frozenset(map(frozenset, arcs))


def named_arcs(parents, names):
    return frozenset((names[u], names[v]) for v, some in enumerate(parents) for u in members(some))
