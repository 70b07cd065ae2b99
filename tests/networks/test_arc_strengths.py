"""How often arcs are learned again: shares, directions, processes, the averaged network."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit.errors import SettingError
from bayeskit.networks import arc_strengths, asia, wet_grass
from refusals import refuses


@pytest.fixture(scope="module")
def grass():
    return wet_grass().sample(600, random_state=3)


@pytest.fixture(scope="module")
def few():
    """So few rows that samples of them differ in what is learned."""
    return wet_grass().sample(60, random_state=3)


def test_shares_are_those_of_the_samples_learned_one_by_one(few):
    from bayeskit._fitting.search.node_columns import read_nodes
    from bayeskit._fitting.search.search_network import SearchSettings, search_network
    from bayeskit._graphs.dag import Dag
    from bayeskit._structure.search_protocol import Arcs
    from bayeskit.networks import cpdag

    found = arc_strengths(few, 6, method="hill-climbing", random_state=4)
    columns = read_nodes(few)
    names, wanted = columns.names, np.zeros((4, 4))
    for seed in np.random.SeedSequence(4).spawn(6):
        rng = np.random.default_rng(seed)
        rows = columns.take(np.sort(rng.choice(len(few), len(few))))
        learned = search_network(rows, Arcs.all(4), SearchSettings(method="hill-climbing"))
        graph = cpdag(Dag(names, tuple(tuple(names[p] for p in mine) for mine in learned.parents)))
        for a, b in graph.directed:
            wanted[names.index(a), names.index(b)] += 1 / 6
        for a, b in graph.undirected:
            wanted[names.index(a), names.index(b)] += 0.5 / 6
            wanted[names.index(b), names.index(a)] += 0.5 / 6
    assert found.frequencies == pytest.approx(wanted)


def test_processes_do_not_change_the_answer(few):
    one = arc_strengths(few, 4, method="hill-climbing", random_state=1)
    two = arc_strengths(few, 4, method="hill-climbing", random_state=1, n_jobs=2)
    assert np.array_equal(one.frequencies, two.frequencies)
    other = arc_strengths(few, 4, method="hill-climbing", random_state=2)
    assert not np.array_equal(one.frequencies, other.frequencies)


def test_limits_are_kept_and_directions_told(grass):
    found = arc_strengths(grass, 5, method="hill-climbing", tiers=[["rain", "sprinkler"], ["joe", "wet"]])
    assert {arc.parent for arc in found} <= {"rain", "sprinkler", "joe", "wet"}
    assert all(arc.direction == 1.0 for arc in found if (arc.parent, arc.child) == ("rain", "joe"))
    assert found.strength("rain", "joe") == found.strength("joe", "rain") == 1.0
    strengths = [arc.strength for arc in found]
    assert strengths == sorted(strengths, reverse=True) and all(0 < s <= 1 for s in strengths)


def test_the_averaged_network_has_the_strong_arcs_and_no_cycle():
    rows = asia().sample(3_000, random_state=0)
    found = arc_strengths(rows, 8, random_state=0)
    network = found.averaged(0.5)
    strong = {frozenset((a.parent, a.child)) for a in found if a.strength >= 0.5}
    assert {frozenset(edge) for edge in network.arcs} <= strong
    assert len(network.arcs) >= len(strong) - 1
    assert network.query(network.nodes[0]).values.sum() == pytest.approx(1.0)
    assert found.averaged(1.0).n_parameters <= network.n_parameters
    assert "→" in repr(found)
    frame = found.to_frame()
    assert list(frame.columns) == ["parent", "child", "strength", "direction"] and len(frame) == len(found)


@pytest.mark.parametrize(
    "setting", [{"n_samples": 0}, {"n_jobs": 0}, {"method": "magic"}, {"random_state": -1}], ids=str
)
def test_strange_settings_are_refused(grass, setting):
    with pytest.raises(SettingError):
        arc_strengths(grass, **{"n_samples": 2, **setting})


def test_unknown_columns_and_thresholds_are_refused(grass):
    found = arc_strengths(grass, 1, method="hill-climbing")
    with refuses(SettingError, "snow"):
        found.strength("snow", "rain")
    with refuses(SettingError, "threshold"):
        found.averaged(1.5)
