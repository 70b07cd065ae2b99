"""Every setting of a search against every method: it changes the answer, or it is refused by name."""

from __future__ import annotations

import pytest

from bayeskit import learn_network
from bayeskit._fitting.search.search_network import METHODS
from bayeskit._networks.fit.learning import TAKEN_BY
from bayeskit._structure.search_protocol import Score
from bayeskit.errors import SettingError
from bayeskit.networks import asia
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
        taken, _ = TAKEN_BY[name]
        if method in taken:
            learned(method, **{name: value})
            continue
        with refuses(SettingError, name, f"method={method!r}", *map(repr, taken)):
            learned(method, **{name: value})
        # What stands there anyway is no wish.
        learned(method, **{name: TAKEN_BY[name][1]})


@pytest.mark.parametrize("method", TAKEN_BY["max_parents"][0])
def test_max_parents_is_kept(method):
    network = learned(method, max_parents=1)
    assert network.arcs and max(len(network.parents(node)) for node in network.nodes) == 1


@pytest.mark.parametrize("method", TAKEN_BY["criterion"][0])
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
