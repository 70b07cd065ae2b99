"""Every setting of a search against every method: it changes the answer, or it is refused by name.

At the end a search is added from outside the library, by the recipe of CONTRIBUTING.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesNetClassifier, learn_network
from bayeskit._fitting.search.search_network import METHODS, Method
from bayeskit._graphs.dag import Dag
from bayeskit._networks.fit.learning import UNSET, methods_taking
from bayeskit._structure.search_protocol import Arcs, Family, Graph, Score, Search, Stop, answer_all
from bayeskit.errors import SettingError
from bayeskit.networks import asia, score
from hill_climbing_twin import MadeUp, keeps, limits, stopped
from refusals import refuses

ROWS = asia().sample(800, random_state=2)
NAMES = list(ROWS.columns)
GIVEN = {
    "criterion": "aic",
    "max_parents": 1,
    "order": NAMES,
    "significance": 0.05,
    "test": "x2",
    "max_given": 1,
    "restarts": 2,
}


def learned(method, **settings):
    needed = {"order": NAMES} if method == "k2" else {}
    return learn_network(ROWS, method, **(needed | settings))


@pytest.mark.parametrize("method", METHODS)
def test_a_method_takes_a_setting_or_says_who_does(method):
    for name, value in GIVEN.items():
        taken = methods_taking(name)
        if method in taken:
            learned(method, **{name: value})
            continue
        with refuses(SettingError, name, f"method={method!r}", *map(repr, taken)):
            learned(method, **{name: value})
        # What stands there anyway is no wish.
        learned(method, **{name: UNSET[name]})


@pytest.mark.parametrize("method", methods_taking("max_parents"))
def test_max_parents_is_kept(method):
    network = learned(method, max_parents=1)
    assert network.arcs and max(len(network.parents(node)) for node in network.nodes) == 1


@pytest.mark.parametrize("method", methods_taking("criterion"))
def test_the_score_matters(method):
    # The tests of mmhc leave little to the score.
    how = {"max_parents": 3, "significance": 0.9, "max_given": 0} if method == "mmhc" else {"max_parents": 3}
    assert len(learned(method, criterion="bic", **how).arcs) < len(
        learned(method, criterion="loglik", **how).arcs
    )


@pytest.mark.parametrize("method", ["auto", "hill-climbing", "tabu", "order", "exact", "k2", "pc", "mmhc"])
def test_what_is_known_is_kept(method):
    network = learned(method, required=[("asia", "xray")], forbidden=[("either", "xray"), ("xray", "either")])
    assert ("asia", "xray") in network.arcs
    assert not {("either", "xray"), ("xray", "either")} & {*network.arcs}


@pytest.mark.parametrize("method", ["ges", "chow-liu"])
def test_what_is_known_is_refused(method):
    for limit in (
        {"required": [("asia", "xray")]},
        {"forbidden": [("asia", "xray")]},
        {"tiers": [["asia"], ["tub"]]},
    ):
        with refuses(SettingError, f"method={method!r}", "auto", "hill-climbing"):
            learned(method, **limit)


@pytest.mark.parametrize("method", ["pc", "mmhc"])
def test_the_settings_of_tests_matter(method):
    assert len(learned(method, significance=0.5).arcs) > len(learned(method, significance=1e-6).arcs)
    assert len(learned(method, max_given=0).arcs) > len(learned(method, max_given=3).arcs)
    assert len(learned(method, test="g2").arcs) != len(learned(method, test="mi-sh", significance=0.3).arcs)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"ess": 5.0}, ["ess", 5.0, "criterion='bic'"]),
        ({"criterion": Score("bdeu"), "ess": 5.0}, ["ess", 5.0, "criterion="]),
        ({"max_memory": 2**30}, ["max_memory", 'method="exact"', "auto"]),
        (
            {"method": "k2", "order": NAMES, "required": [(NAMES[-1], NAMES[0])]},
            ["order", "asia", "dysp"],
        ),
    ],
)
def test_settings_that_contradict_each_other(settings, says):
    with refuses(SettingError, *says):
        learn_network(ROWS, **settings)
    assert learn_network(ROWS, "exact", max_memory=2**30, max_parents=2).arcs


def star(arcs: Arcs) -> Search:
    """Find the one parent of all others that improves the score most; an arc that does not help is left out."""
    best = Graph(arcs.required)
    try:
        alone = [float(each[0]) for each in (yield [Family(v, arcs.required[v]) for v in range(arcs.n)])]
        most = 0.0
        for centre in range(arcs.n if arcs.max_parents else 0):
            if arcs.is_free:
                gains = yield [Family(v, 0, (centre,)) for v in range(arcs.n) if v != centre]
                others = [v for v in range(arcs.n) if v != centre]
                gained = {v: float(gain[0]) - alone[v] for v, gain in zip(others, gains, strict=True)}
                total = sum(gain for gain in gained.values() if gain > 0)
                if total > most + 1e-9:
                    most = total
                    best = Graph(tuple((1 << centre) * (gained.get(v, 0) > 0) for v in range(arcs.n)))
    except Stop:
        pass
    return best


@pytest.fixture
def with_star(monkeypatch):
    """The line of the recipe, undone after the test."""
    monkeypatch.setitem(METHODS, "star", Method(lambda problem: star(problem.arcs)))


@given(limits(most=5), st.integers(0, 10**6))
def test_a_search_of_ones_own_is_the_best_star_within_its_limits(arcs, seed):
    scores = MadeUp(seed)
    found = answer_all(star(arcs), scores).parents
    assert keeps(arcs, found)
    if arcs.is_free and arcs.max_parents:
        stars = [
            tuple((1 << centre) * (v in leaves) for v in range(arcs.n))
            for centre in range(arcs.n)
            for leaves in itertools.chain.from_iterable(
                itertools.combinations([v for v in range(arcs.n) if v != centre], k) for k in range(arcs.n)
            )
        ]
        assert scores.total(found) == pytest.approx(max(map(scores.total, stars)))
    for after in itertools.count():
        graph = stopped(star(arcs), scores, after)
        if graph is None:
            break
        assert keeps(arcs, graph.parents)


def star_of(centre):
    """Return the graph of the best star around a node, arc by arc."""
    alone = {name: score(Dag((name,), ((),)), ROWS[[name]]) for name in NAMES}
    pairs = {n: Dag((centre, n), ((), (centre,))) for n in NAMES if n != centre}
    helps = {n for n, pair in pairs.items() if score(pair, ROWS[[centre, n]]) > alone[centre] + alone[n]}
    return Dag(tuple(NAMES), tuple((centre,) if n in helps else () for n in NAMES))


def test_a_search_of_ones_own_is_chosen_by_its_name(with_star):
    network = learned("star")
    (centre,) = {parent for parent, _ in network.arcs}
    assert score(network, ROWS) > score(learned("star", max_parents=0), ROWS)
    assert centre == max(NAMES, key=lambda name: score(star_of(name), ROWS))
    assert {*network.arcs} == {*learn_network(ROWS[NAMES[::-1]], "star").arcs}
    assert {*learned("star", criterion="loglik").arcs} > {*network.arcs}
    with refuses(SettingError, "restarts", "method='star'", "'tabu'"):
        learned("star", restarts=1)
    with refuses(SettingError, "guess", "star"):
        learned("guess")
    labels = ROWS["either"].to_numpy()
    model = BayesNetClassifier("star").fit(ROWS.drop(columns="either"), labels)
    assert model.score(ROWS.drop(columns="either"), labels) > 0.9
