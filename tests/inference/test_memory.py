"""The memory guard: estimates against measured peaks, and refusals before anything is made."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

import bayeskit._inference.exact as exact
import bayeskit._inference.most_probable as most_probable
from bayeskit import MarkovNetwork, read_network
from bayeskit._inference.clique_tree import guarded_shape, require_table
from bayeskit._inference.exact import Exact
from bayeskit._inference.most_probable import most_probable_targets
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.triangulation import make_problem, triangulate
from bayeskit._numba import compiling
from bayeskit.errors import TooLarge
from engine_twin import every_pair, window
from network_files import NETWORKS
from refusals import refuses
from work import steps


def some(p, *places):
    codes = np.full(p.n_variables, -1)
    codes[list(places)] = 0
    return Evidence(codes)


def rows(p):
    found = np.tile(p.sizes, (40, 1))
    found[:, 1] = np.arange(40) % p.sizes[1]
    return found


QUESTIONS = {
    "all marginals": lambda engine, p, limit: engine.marginals(some(p), limit),
    "all marginals, sliced": lambda engine, p, limit: engine.marginals(some(p, 1, p.n_variables // 2), limit),
    "one target": lambda engine, p, limit: engine.joint((0,), some(p, 2), limit),
    "joint": lambda engine, p, limit: engine.joint((0, 3, p.n_variables - 1), some(p, 2), limit),
    "log probability": lambda engine, p, limit: engine.log_probability(some(p, 2), limit),
    "explanation": lambda engine, p, limit: engine.mpe(some(p, 2), limit),
    "rows": lambda engine, p, limit: engine.batch(rows(p), 0, limit),
    "most probable targets": lambda engine, p, limit: most_probable_targets(
        p, tuple(range(0, p.n_variables, 3)), some(p), limit
    ),
}
# Variables, width of the cliques, states: tables of one to two hundred MB.
SHAPES = [(40, 13, 2), (40, 15, 2), (12, 4, 20)]
LARGE = (23, 20, 2)


def peak_of(ask):
    """Return the largest memory held at once while a question is answered, beyond what was there."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        ask()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """What a compiler holds is no part of an answer, nor are the copies that a plain run begins again from."""
    p = window(8, 3)
    with compiling():
        for question in QUESTIONS.values():
            question(Exact(p), p, 2**30)
        Exact(p).batch(rows(p), 0)
        yield


# With less memory, these are answered from messages alone: they have a test of their own.
ALL_MARGINALS = ("all marginals", "all marginals, sliced")
OTHERS = [name for name in QUESTIONS if name not in (*ALL_MARGINALS, "most probable targets")]
CASES = [
    *((shape, name) for shape in SHAPES for name in OTHERS),
    *((LARGE, name) for name in ("one target", "explanation")),
    ((40, 9, 2), "most probable targets"),
    ((26, 12, 2), "most probable targets"),
]


@pytest.mark.parametrize(("shape", "name"), CASES, ids=str)
def test_the_estimate_is_the_peak(shape, name):
    """A limit a fifth above the measured peak allows the question, one a fifth below refuses it."""
    p, ask = window(*shape), QUESTIONS[name]
    engine = Exact(p)
    peak = peak_of(lambda: ask(engine, p, 2**32))
    ask(Exact(p), p, 1.2 * peak)
    with pytest.raises(TooLarge):
        ask(Exact(p), p, peak / 1.2)
    # What is kept of the first answer does not let a lower limit pass.
    with pytest.raises(TooLarge):
        ask(engine, p, peak / 1.2)


@pytest.mark.parametrize("name", ALL_MARGINALS)
@pytest.mark.parametrize("shape", [*SHAPES, LARGE], ids=str)
def test_all_marginals_keep_to_any_limit_down_to_that_of_the_messages(shape, name):
    """Within every limit the same numbers or a refusal; what is refused begins where one table hardly fits."""
    p, ask = window(*shape), QUESTIONS[name]
    peak = peak_of(lambda: ask(Exact(p), p, 2**32))
    expected, log_p = ask(Exact(p), p, 1.2 * peak)
    engine = Exact(p)
    limit, answered = peak, 0
    while True:
        limit /= 1.5
        try:
            found, log_found = ask(Exact(p), p, limit)  # first, since compiling a kernel takes memory, too
        except TooLarge as refused:
            error = refused
            break
        assert peak_of(lambda: ask(engine, p, limit)) < 1.2 * limit  # noqa: B023
        assert found == pytest.approx(expected, abs=1e-12)
        assert log_found == pytest.approx(log_p, abs=1e-9)
        answered += 1
    assert answered >= 1
    assert limit < error.bytes_needed < 1.5 * limit * 1.2
    assert limit < 6 * peak_of(lambda: Exact(p).log_probability(some(p, 2)))


@pytest.mark.parametrize("shape", [(12, 4, 3), (60, 9, 2)], ids=str)
def test_rows_that_ride_together_are_counted(shape):
    p = window(*shape)
    engine = Exact(p)
    assert engine.is_small
    engine.batch(rows(p), 0)  # keeps the tree
    fresh = Exact(p)
    peak = peak_of(lambda: fresh.batch(rows(p), 0))
    Exact(p).batch(rows(p), 0, 1.25 * peak)
    for asked in (Exact(p), engine):
        with pytest.raises(TooLarge):
            asked.batch(rows(p), 0, peak / 1.5)


def test_a_refusal_makes_nothing_and_names_the_largest_clique():
    p = window(60, 20)
    engine = Exact(p)
    for ask in QUESTIONS.values():

        def refused(ask=ask):
            with pytest.raises(TooLarge) as caught:
                ask(engine, p, 2**20)
            return caught.value

        assert peak_of(refused) < 2**20
        error = refused()
        places = sorted(error.largest)
        assert error.cells == 2 ** len(places) >= 2**18
        assert places == list(range(places[0], places[0] + len(places))) or len(places) > 20
        assert error.bytes_needed > 2**20 and error.max_memory == 2**20
        assert "approximate" in str(error) and repr(error.largest[0]) in str(error)


@pytest.fixture
def planned(monkeypatch):
    """The names of what was called to plan an answer: orders that were looked for, trees that were made."""
    calls = []
    for module in (exact, most_probable):
        for name in ("triangulate", "make_tree"):
            true = getattr(module, name)
            monkeypatch.setattr(
                module, name, lambda *given, true=true: calls.append(true.__name__) or true(*given)
            )
    return calls


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "most probable targets"])
def test_beyond_any_number_is_refused_at_once(name, planned):
    """Two thousand variables, every two of them in a factor: 2**2000 cells, which no float holds."""
    p = every_pair(2_000)
    engine = Exact(p)
    with pytest.raises(TooLarge) as caught:
        QUESTIONS[name](engine, p, 2**30)
    # That an order is given up soon is a matter of tests/inference/test_triangulation.py.
    assert planned == ["triangulate"] * len(planned) and len(planned) <= 2
    assert len(caught.value.largest) >= 1_998
    assert caught.value.bytes_needed >= 8 * caught.value.cells and caught.value.cells >= 2**1_998
    assert "1e+60" in str(caught.value) or "e+59" in str(caught.value)


def test_without_a_limit_what_cannot_be_counted_is_refused_all_the_same():
    p = every_pair(1_500)
    for limit in (math.inf, 1e300):
        with pytest.raises(TooLarge):
            Exact(p).marginals(some(p), limit)
        with pytest.raises(TooLarge):
            require_table(p, range(1_500), limit)
    assert Exact(window(8, 3)).marginals(some(window(8, 3)), math.inf)[1] < math.inf


def test_a_markov_network_of_all_pairs_is_refused_at_its_door(planned):
    n = 120
    network = MarkovNetwork(
        {i: [0, 1] for i in range(n)}, [([i, j], [[2, 1], [1, 2]]) for i in range(n) for j in range(i)]
    )
    for ask in (network.posteriors, network.mpe, network.log_partition, lambda: network.query(0)):
        planned.clear()
        with pytest.raises(TooLarge) as caught:
            ask()
        assert "make_tree" not in planned and len(planned) <= 2 and caught.value.cells == 2**n
    # With all but a few observed there is nothing to refuse.
    seen = dict.fromkeys(range(4, n), 0)
    assert network.query(0, evidence=seen)[0] == pytest.approx(1.0, abs=1e-9)


def test_ten_thousand_targets_are_refused_before_they_are_joined():
    n = 10_000
    p = window(n, 2)
    engine = Exact(p)

    def ask():
        with pytest.raises(TooLarge) as caught:
            engine.joint(tuple(range(n)), some(p))
        assert caught.value.cells == 2**n

    assert steps(ask) < 200 * n


def test_one_state_variables_do_not_make_a_clique_larger():
    """A variable of one state beside every other one: not sixty copies of the table, not one more cell each."""
    wide = window(16, 16)
    sizes = [2] * 16 + [1] * 60
    scopes = [wide.scope_of(f) for f in range(wide.n_factors)] + [
        [v, 16 + k] for k in range(60) for v in range(16)
    ]
    tables = [wide.table_of(f) for f in range(wide.n_factors)] + [np.ones((2, 1))] * 960
    p = Potentials.laid_out(sizes, scopes, tables, [-1] * len(scopes), tuple(range(76)))
    limit = 2.2 * 8 * 2**16
    found, log_p = Exact(p).marginals(some(p), limit)
    wanted, log_q = Exact(wide).marginals(some(wide), limit)
    assert found[:32] == pytest.approx(wanted, abs=1e-13) and found[32:].tolist() == [1.0] * 60
    assert log_p == pytest.approx(log_q)


def test_a_lower_limit_refuses_what_was_answered_before(monkeypatch):
    """Also where the plan of the question is kept."""
    p = window(30, 8)
    for small_tree in (1e9, 0.0):
        monkeypatch.setattr(exact, "SMALL_TREE", small_tree)
        engine = Exact(p)
        for name, ask in QUESTIONS.items():
            ask(engine, p, 2**30)
            with pytest.raises(TooLarge):
                ask(engine, p, 2**12)
            ask(engine, p, 2**30)  # and is allowed again
            assert name


def test_the_shape_is_refused_by_maps_and_separators_too():
    """The tables alone would pass; with what is between them they do not."""
    p = window(40, 12)
    problem = make_problem(p, some(p).codes, None)
    triangulation = triangulate(problem)
    shape = guarded_shape(p, problem, triangulation, math.inf)
    tables = 8 * int(shape.table_cells.sum())
    needed = shape.bytes_of_maps + shape.bytes_used()
    assert tables < needed
    with pytest.raises(TooLarge) as caught:
        guarded_shape(p, problem, triangulation, tables)
    assert caught.value.bytes_needed == needed
    assert guarded_shape(p, problem, triangulation, needed).cells == shape.cells


@pytest.mark.skipif(not NETWORKS.is_dir(), reason="the networks are not here: set BAYESKIT_DATA")
def test_munin1_is_refused_before_a_tree_is_made(planned):
    network = read_network(NETWORKS / "bif" / "munin1.bif.gz")
    with refuses(TooLarge, "max_memory="):
        network.posteriors(max_memory=2**28)
    assert "make_tree" not in planned and len(planned) <= 2
