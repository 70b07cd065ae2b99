"""Columns × method → arcs: whatever the columns are called and wherever they stand; limits; stopping."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from bayeskit import learn_network
from bayeskit._fitting import long_runs
from bayeskit._fitting.search import search_network as searching
from bayeskit._fitting.search.node_columns import read_nodes
from bayeskit._fitting.search.search_network import METHODS, SearchSettings, search_network
from bayeskit._structure.search_protocol import Arcs, Score, bits, read_limits
from bayeskit.errors import DataError, SettingError, SuspectResult, TooLarge
from bayeskit.networks import score, wet_grass
from learning_twin import is_acyclic
from refusals import refuses, warns_of

FREE = [method for method in METHODS if method != "k2"]


def discrete_table(n=400, seed=1, width=7):
    """A chain with branches; the last two columns are the same."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, n)]
    for v in range(1, width - 1):
        parent = columns[v // 2]
        columns.append(np.where(rng.random(n) < 0.6, parent % 2 + (v % 2), rng.integers(0, 3, n)))
    columns.append(columns[-1])
    return {f"c{v}": np.array(["lo", "mid", "hi"])[column] for v, column in enumerate(columns)}


def mixed_table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = a + rng.normal(size=n)
    return {"a": a.astype(str), "x": x, "b": b.astype(str), "y": 0.8 * x - b + rng.normal(size=n)}


def found_arcs(data, method, name="bic", **limits):
    columns = read_nodes(data)
    continuous = [v.name for v in columns.variables if v.kind == "numeric"]
    arcs = read_limits(columns.names, continuous=continuous, **limits)
    found = search_network(columns, arcs, SearchSettings(method=method, score=Score(name)))
    graph = tuple(bits(mine) for mine in found.parents)
    assert is_acyclic(graph) and (arcs.permits(graph) or method == "pc")
    arcs = {(columns.names[p], columns.names[v]) for v, mine in enumerate(found.parents) for p in mine}
    return arcs, found, columns


def moved(data, seed):
    """Shuffle the columns and give them names at random; return the new table and the old name of each."""
    rng = np.random.default_rng(seed)
    old = [str(name) for name in rng.permutation([*data])]
    new = [f"{name}" for name in rng.permutation(len(old))]
    return {k: data[name] for k, name in zip(new, old, strict=True)}, dict(zip(new, old, strict=True))


def by_cells(arcs, data):
    """Name every column by its cells: equal columns are one and the same."""
    return sorted((hash(np.asarray(data[p]).tobytes()), hash(np.asarray(data[c]).tobytes())) for p, c in arcs)


@pytest.mark.parametrize("method", FREE)
def test_names_and_places_of_columns_change_nothing(method):
    data = discrete_table()
    first, found, _ = found_arcs(data, method)
    for seed in range(10):
        table, _ = moved(data, seed)
        arcs, again, _ = found_arcs(table, method)
        assert by_cells(arcs, table) == by_cells(first, data)
        assert again.score == pytest.approx(found.score, rel=1e-12)
        # Shuffled only, equal columns are told apart by their names: arc by arc the same.
        shuffled = {name: data[name] for name in np.random.default_rng(seed).permutation([*data])}
        assert found_arcs(shuffled, method)[0] == first


@pytest.mark.parametrize("method", ["auto", "hill-climbing", "tabu", "order", "exact"])
def test_names_and_places_of_mixed_columns_change_nothing(method):
    data = mixed_table()
    first, *_ = found_arcs(data, method)
    assert {("x", "y"), ("b", "y")} <= first or {("y", "x"), ("b", "y")} <= first
    assert not {(p, c) for p, c in first if p in "xy" and c in "ab"}
    for seed in range(5):
        table, old = moved(data, seed)
        arcs, *_ = found_arcs(table, method)
        assert {(old[p], old[c]) for p, c in arcs} == first


@pytest.mark.parametrize("method", ["auto", "hill-climbing", "tabu", "order", "exact"])
def test_limits_are_kept_wherever_the_columns_stand(method):
    data = discrete_table()
    limits = {
        "required": [("c5", "c0"), ("c3", "c1")],
        "forbidden": [("c0", "c1"), ("c1", "c0")],
        "max_parents": 2,
    }
    arcs, *_ = found_arcs(data, method, **limits)
    assert {("c5", "c0"), ("c3", "c1")} <= arcs and not {("c0", "c1"), ("c1", "c0")} & arcs
    backwards, *_ = found_arcs(dict(reversed(data.items())), method, **limits)
    assert backwards == arcs
    tiers = [["c6", "c5"], ["c1"], ["c0", "c2"]]
    arcs, *_ = found_arcs(data, method, tiers=tiers)
    level = {name: k for k, tier in enumerate(tiers) for name in tier}
    assert all(level[p] <= level[c] for p, c in arcs if p in level and c in level)


@pytest.mark.parametrize("method", FREE)
def test_the_score_told_is_that_of_the_graph(method):
    data = discrete_table()
    for name in ("bic", "bdeu"):
        arcs, found, _ = found_arcs(data, method, name)
        assert found.score == pytest.approx(score([*arcs], data, name), rel=1e-12)
        assert found.stopped is None and found.n_evaluated > 0
    assert len(found_arcs(data, "chow-liu")[0]) == len(data) - 1


def test_no_search_beats_the_exact_one():
    data = discrete_table(width=6)
    best = found_arcs(data, "exact")[1].score
    for method in FREE:
        assert found_arcs(data, method)[1].score <= best + 1e-9 * abs(best)
    assert found_arcs(data, "auto")[1].score == pytest.approx(best, rel=1e-12)


def test_edges_that_stay_open_are_told():
    rows = wet_grass().sample(2000, random_state=0)
    columns = read_nodes(rows)
    found = search_network(columns, Arcs.all(4), SearchSettings(method="pc"))
    edges = {frozenset(columns.names[v] for v in edge) for edge in found.undirected}
    assert edges == {frozenset(("rain", "joe"))}
    # They are directed all the same.
    arcs = {
        frozenset((columns.names[p], columns.names[v])) for v, mine in enumerate(found.parents) for p in mine
    }
    assert edges < arcs and len(arcs) == 3


def test_k2_keeps_the_order():
    data = discrete_table()
    columns = read_nodes(data)
    for order in itertools.islice(itertools.permutations(range(7)), 0, 5040, 1000):
        found = search_network(columns, Arcs.all(7), SearchSettings(method="k2", order=order))
        assert all(order.index(p) < order.index(v) for v, mine in enumerate(found.parents) for p in mine)
        assert any(found.parents)


@pytest.mark.parametrize("method", FREE)
@pytest.mark.parametrize("why", ["time", "interrupt"])
def test_stopped_it_answers_with_a_lawful_graph(method, why, monkeypatch):
    columns = read_nodes(discrete_table())
    arcs = Arcs.all(7, 2)
    limit = 0.0 if why == "time" else None
    if why == "interrupt":
        told = searching.SearchAnswers.__call__

        def interrupted(self, question):
            if not os.environ.get("TOLD"):
                monkeypatch.setenv("TOLD", "1")
                os.kill(os.getpid(), signal.SIGINT)
            return told(self, question)

        monkeypatch.setattr(searching.SearchAnswers, "__call__", interrupted)
    found = search_network(columns, arcs, SearchSettings(method=method, time_limit=limit))
    graph = tuple(bits(mine) for mine in found.parents)
    assert is_acyclic(graph)
    # A method that asks everything at once has come to its end.
    assert found.stopped in (why, None)
    if method not in ("chow-liu",):
        assert found.stopped == why
    assert arcs.permits(graph) or method in ("pc", "chow-liu")
    assert np.isfinite(found.score)


def test_interrupted_from_another_thread(monkeypatch):
    """A wide table, so that the search is still running."""
    columns = read_nodes(
        {f"c{v}": column for v, column in enumerate(np.random.default_rng(0).integers(0, 3, (60, 500)))}
    )
    told, asked = searching.SearchAnswers.__call__, []

    def interrupted(self, question):
        asked.append(question)
        if len(asked) == 3:
            thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
            thread.start()
            thread.join()
        return told(self, question)

    monkeypatch.setattr(searching.SearchAnswers, "__call__", interrupted)
    found = search_network(columns, Arcs.all(60), SearchSettings(method="auto", score=Score("aic")))
    assert len(asked) == 3 + 60  # the families of the graph that was found are scored
    assert found.stopped == "interrupt" and is_acyclic(tuple(bits(mine) for mine in found.parents))


@pytest.mark.parametrize(
    ("data", "limits", "settings", "error", "says"),
    [
        ({"a": ["x", None], "b": [None, "y"]}, {}, {}, DataError, ["missing", "a"]),
        ({"a": ["x", "y"], "b": [np.nan, np.nan]}, {}, {}, DataError, ["missing", "b"]),
        (
            discrete_table(),
            {"forbidden": [("c0", "c1")]},
            {"method": "ges"},
            SettingError,
            ["method='ges'", "auto", "hill-climbing"],
        ),
        (
            discrete_table(),
            {"tiers": [["c0"], ["c1"]]},
            {"method": "chow-liu"},
            SettingError,
            ["method='chow-liu'", "auto", "hill-climbing"],
        ),
        (discrete_table(), {"max_parents": 0}, {"method": "chow-liu"}, SettingError, ["max_parents", 0]),
        (
            mixed_table(),
            {},
            {"method": "ges"},
            SettingError,
            ["method='ges'", "discretize=", 'method="auto"'],
        ),
        (
            mixed_table(),
            {},
            {"method": "chow-liu"},
            SettingError,
            ["method='chow-liu'", "discretize=", 'method="auto"'],
        ),
        (mixed_table(), {}, {"score": Score("bdeu")}, SettingError, ["criterion='bdeu'", "discrete"]),
        (discrete_table(), {}, {"method": "k2"}, SettingError, ['method="k2"', "order="]),
        (discrete_table(), {}, {"method": "magic"}, SettingError, ["method", "magic"]),
        (discrete_table(width=30), {}, {"method": "exact", "max_memory": 2**20}, TooLarge, ["max_memory="]),
    ],
)
def test_what_cannot_be(data, limits, settings, error, says):
    columns = read_nodes(data)
    continuous = [v.name for v in columns.variables if v.kind == "numeric"]
    arcs = read_limits(columns.names, continuous=continuous, **limits)
    with refuses(error, *says):
        search_network(columns, arcs, SearchSettings(**settings))


def test_a_wide_table_has_a_time_limit_by_default(monkeypatch):
    """The clock goes on by 20 s whenever it is looked at: 101 columns have 30 s."""
    rows = np.random.default_rng(0).integers(0, 2, (101, 40))
    data = {f"c{k}": column for k, column in enumerate(rows)}
    columns, arcs = read_nodes(data), Arcs.all(101)
    clock = itertools.count(100.0, 20.0)
    monkeypatch.setattr(long_runs, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    found = search_network(columns, arcs, SearchSettings())
    assert (found.stopped, found.seconds) == ("time", 30.0)
    assert is_acyclic(tuple(bits(mine) for mine in found.parents))
    with warns_of(SuspectResult, "101 columns", "30 s", "time_limit="):
        learn_network(data)
    for settings in (SearchSettings(time_limit=1e9), SearchSettings("hill-climbing")):
        assert search_network(columns, arcs, settings).stopped is None
    fewer = read_nodes({name: data[name] for name in list(data)[:20]})
    assert search_network(fewer, Arcs.all(20), SearchSettings()).seconds is None


def test_a_wide_table_is_learned_alike_in_every_order_of_its_columns():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (400, 110))
    for k in range(1, 110):
        rows[:, k] = np.where(rng.random(400) < 0.6, rows[:, k - 1 - k % 2], rows[:, k])
    frame = {f"c{k}": rows[:, k] for k in range(110)}
    wanted = {*learn_network(frame).arcs}
    for _ in range(2):
        names = rng.permutation([*frame]).tolist()
        assert {*learn_network({name: frame[name] for name in names}).arcs} == wanted
