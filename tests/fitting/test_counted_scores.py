"""Scores from statistics: equal to those of rows in memory, also when the rows come in pieces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bayeskit._counting.backend import count
from bayeskit._fitting.long_runs import run_search
from bayeskit._fitting.search.counted_columns import CountedScores
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._graphs.network import discrete
from bayeskit._structure.search.equivalence import complete
from bayeskit._structure.search.hill_climbing import hill_climbing
from bayeskit._structure.search.optimal import exact
from bayeskit._structure.search.order import auto
from bayeskit._structure.search_protocol import NAMES, Arcs, Family, Score
from bayeskit.errors import DataError
from bayeskit.extending import Chunk
from refusals import refuses


def rows_of(seed, n=300, d=5):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, d)
    columns = np.empty((d, n), np.uint8)
    for v in range(d):
        copied = columns[v - 1] % sizes[v] if v else 0
        columns[v] = np.where(rng.random(n) < 0.7, copied, rng.integers(0, sizes[v], n))
    return columns, sizes


def counted(columns, sizes, score, bounds):
    """Scores whose counts are those of pieces, added."""
    variables = [discrete(v, range(size)) for v, size in enumerate(sizes)]

    def answer(plan):
        pieces = []
        for start, stop in itertools.pairwise(bounds):
            codes = np.ascontiguousarray(columns[:, start:stop].T)
            chunk = Chunk(
                stop - start, codes, np.empty((stop - start, 0)), target=np.zeros(stop - start, np.uint32)
            )
            pieces.append(count(chunk, scores.schema, plan))
        return sum(pieces[1:], pieces[0])

    scores = CountedScores(variables, answer, score)
    return scores


@pytest.mark.parametrize("name", NAMES)
def test_counts_in_pieces_score_as_rows_in_memory(name):
    columns, sizes = rows_of(1)
    plain = FamilyScores(columns, sizes, Score(name, 3.0))
    pieces = counted(columns, sizes, Score(name, 3.0), [0, 40, 41, 200, 300])
    question = [Family(0, 0), Family(3, 0b00110), Family(2, 0b00001, (1, 3, 4)), Family(4, 0b01111)]
    for a, b in zip(plain(question), pieces(question), strict=True):
        assert a == pytest.approx(b, rel=1e-11)
    assert pieces.n_scored == 6


@pytest.mark.parametrize(
    "search",
    [hill_climbing, exact, lambda arcs: auto(arcs, rng=np.random.default_rng(0), effort=2)],
    ids=["hill climbing", "exact", "auto"],
)
def test_a_search_finds_the_same_graph_wherever_the_rows_are(search):
    columns, sizes = rows_of(2)
    here = run_search(search(Arcs.all(5)), FamilyScores(columns, sizes, Score("bic"))).graph
    there = run_search(search(Arcs.all(5)), counted(columns, sizes, Score("bic"), [0, 150, 300])).graph
    # Equivalent graphs score the same but for rounding, which may tip the scales.
    assert complete(here.parents) == complete(there.parents)
    assert any(here.parents)


def test_missing_cells_are_refused():
    columns, sizes = rows_of(3)
    columns = columns.copy()
    columns[1, 7] = sizes[1]  # the code after the last state
    with refuses(DataError, 1, "missing"):
        counted(columns, sizes, Score("bic"), [0, 300])([Family(1, 0)])
