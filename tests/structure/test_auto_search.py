"""The default search: better than its parts, legal under any limits, and good on samples of a known network."""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit._structure.search.equivalence as equivalences
import bayeskit._structure.search.order as automatic
from bayeskit import read_network
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._structure.search.equivalence import complete, equivalence
from bayeskit._structure.search.order import auto, legal
from bayeskit._structure.search_protocol import Arcs, Family, Score, Stop, answer_all, bits
from bayeskit.networks import shd
from search_scores import answers, as_dag, entropy_score, limits, random_parents, random_score, total

DATA = Path(os.environ.get("BAYESKIT_DATA", Path(__file__).parents[3] / "shared" / "data"))


def search(arcs, seed=0, effort=3):
    return auto(arcs, rng=np.random.default_rng(seed), effort=effort)


@contextmanager
def wide(columns=2):
    """Search as for a wide table: pairs are screened, and tabu search takes the place of orders."""
    with mock.patch.object(automatic, "WIDE", columns), mock.patch.object(equivalences, "WIDE", columns):
        yield


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 7))
def test_no_worse_than_the_search_over_classes(seed, n):
    rng = np.random.default_rng(seed)
    score = entropy_score(rng, random_parents(rng, n, 0.5), 300.0)
    first = answer_all(equivalence(Arcs.all(n)), answers(score)).parents
    found = answer_all(search(Arcs.all(n), seed), answers(score)).parents
    assert total(score, found) >= total(score, first) - 1e-6
    as_dag(found)


def test_the_true_class_is_found_when_the_rows_are_enough():
    rng = np.random.default_rng(21)
    for _ in range(60):
        truth = random_parents(rng, int(rng.integers(2, 7)), 0.5)
        score = entropy_score(rng, truth, 1e12)
        found = answer_all(search(Arcs.all(len(truth))), answers(score)).parents
        assert complete(found) == complete(truth)


@settings(deadline=None, max_examples=40)
@given(limits(), st.integers(0, 10**6))
def test_graphs_are_legal_whatever_the_limits_and_the_same_again(arcs, seed):
    answer = answers(random_score(seed))
    found = answer_all(search(arcs, seed), answer).parents
    assert arcs.permits(found)
    as_dag(found)
    assert answer_all(search(arcs, seed), answer).parents == found


@settings(deadline=None, max_examples=15)
@given(limits(most=5), st.integers(0, 10**6))
def test_stop_at_any_question_gives_a_legal_graph(arcs, seed):
    answer = answers(random_score(seed))
    for stop_at in itertools.count():
        asking = search(arcs, effort=1)
        question = next(asking)
        try:
            for _ in range(stop_at):
                question = asking.send(answer(question))
        except StopIteration:
            break
        with pytest.raises(StopIteration) as end:
            asking.throw(Stop())
        assert arcs.permits(end.value.value.parents)
        as_dag(end.value.value.parents)
    assert stop_at > 2


def test_the_true_class_of_a_wide_table_is_found_when_the_rows_are_enough():
    rng = np.random.default_rng(22)
    with wide():
        for _ in range(60):
            truth = random_parents(rng, int(rng.integers(3, 7)), 0.5)
            score = entropy_score(rng, truth, 1e12)
            found = answer_all(search(Arcs.all(len(truth))), answers(score)).parents
            assert complete(found) == complete(truth)


@settings(deadline=None, max_examples=30)
@given(limits(), st.integers(0, 10**6))
def test_a_wide_table_has_a_legal_graph_no_worse_than_its_class(arcs, seed):
    score = random_score(seed)
    with wide():
        found = answer_all(search(arcs, seed), answers(score)).parents
        free = Arcs.all(arcs.n, arcs.max_parents)
        first = answer_all(equivalence(free), answers(score)).parents
    assert arcs.permits(found)
    as_dag(found)
    assert total(score, found) >= total(score, legal(first, arcs)) - 1e-6


@settings(deadline=None, max_examples=15)
@given(limits(most=5), st.integers(0, 10**6))
def test_stop_at_any_question_of_a_wide_table_gives_a_legal_graph(arcs, seed):
    answer = answers(random_score(seed))
    with wide(1):
        for stop_at in itertools.count():
            asking = search(arcs)
            question = next(asking)
            try:
                for _ in range(stop_at):
                    question = asking.send(answer(question))
            except StopIteration:
                break
            with pytest.raises(StopIteration) as end:
                asking.throw(Stop())
            assert arcs.permits(end.value.value.parents)
            as_dag(end.value.value.parents)


def test_screening_puts_edges_first_and_leaves_none_out():
    """0 helps 1 only beside 2, so the pair is no candidate; it is found all the same."""
    worth = {(1, 0b100): 5.0, (2, 0b010): 5.0, (1, 0b101): 9.0}

    def answer(families):
        each = ((c, [p] if more is None else [p | 1 << v for v in more]) for c, p, more in families)
        return [np.array([worth.get((c, p), -float(p.bit_count())) for p in sets]) for c, sets in each]

    with wide():
        assert answer_all(equivalences.screened(3), answer) == (0, 0b100, 0b010)
        assert answer_all(equivalence(Arcs.all(3)), answer).parents == (0, 0b101, 0)


def test_candidates_are_those_that_help_alone_and_what_they_help():
    """Of five variables the first helps all others as their only parent, and none of them helps it."""
    worth = {(child, 1): 4.0 - child for child in range(1, 5)}

    def answer(families):
        return [
            np.array([worth.get((c, p if v is None else p | 1 << v), 0.0) for v in more or (None,)])
            for c, p, more in families
        ]

    assert answer_all(equivalences.screened(5), answer) == (0b01110, 1, 1, 1, 0)
    with mock.patch.object(equivalences, "MOST_CANDIDATES", 1):
        assert answer_all(equivalences.screened(5), answer) == (0b01110, 1, 1, 1, 0)


@given(limits(), st.integers(0, 10**6))
def test_a_graph_made_legal_is_legal(arcs, seed):
    parents = random_parents(np.random.default_rng(seed), arcs.n, 0.6)
    found = legal(parents, arcs)
    assert arcs.permits(found)
    as_dag(found)
    assert legal(parents, Arcs.all(arcs.n)) == parents


def test_no_variables_and_one():
    for n in (0, 1):
        assert answer_all(search(Arcs.all(n)), answers(random_score(0))).parents == (0,) * n


def sample_of(name, n, rng):
    """Return (codes by variable, sizes, parents) of a network in the data folder, its columns in random order."""
    path = next(iter(sorted((DATA / "networks" / "bif").glob(f"{name}.bif*"))), None)
    if path is None:
        pytest.skip(f"no {name} under {DATA}; set BAYESKIT_DATA")
    network = read_network(path)
    position = {name: k for k, name in enumerate(network.nodes)}
    place = rng.permutation(len(network.nodes))
    codes = np.zeros((len(place), n), np.uint8)
    truth = [0] * len(place)
    done = set()
    while len(done) < len(place):
        for k, name in enumerate(network.nodes):
            above = [position[p] for p in network.parents(name)]
            if k in done or not done.issuperset(above):
                continue
            table = np.cumsum(network.cpt(name).values, -1)[..., :-1]
            rows = table[tuple(codes[place[p]] for p in above)]
            codes[place[k]] = (rng.random(n)[:, None] > rows).sum(1)
            truth[place[k]] = bits([int(place[p]) for p in above])
            done.add(k)
    sizes = np.empty(len(place), np.int64)
    sizes[place] = [len(network.states(name)) for name in network.nodes]
    return codes, sizes, tuple(truth)


@pytest.mark.parametrize(("name", "most"), [("alarm", 6), ("child", 1), ("sachs", 1), ("asia", 2)])
def test_samples_of_known_networks(name, most):
    """On 10,000 rows the BIC is no less than the truth's, and the class is close to the true one."""
    for seed in (1, 2):
        codes, sizes, truth = sample_of(name, 10_000, np.random.default_rng(seed))
        scores = FamilyScores(codes, sizes, Score("bic"))
        found = answer_all(search(Arcs.all(len(sizes)), effort=20), scores).parents

        def worth(parents, scores=scores):
            return sum(float(one[0]) for one in scores([Family(v, p) for v, p in enumerate(parents)]))

        assert worth(found) >= worth(truth) - 1e-6
        assert shd(as_dag(found), as_dag(truth)) <= most
