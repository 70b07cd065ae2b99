"""Influence diagrams: equal to enumeration, values of information, flips, evidence, and bad input."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from bayeskit import BayesianNetwork
from bayeskit.errors import (
    CyclicGraph,
    ImpossibleEvidence,
    SettingError,
    TooLarge,
    UnorderedDecisions,
    UnseenState,
    UsageError,
)
from bayeskit.networks import Factor, InfluenceDiagram, Not, medical_test, oil_wildcatter
from influence_twin import best_of_all_policies, enumerated, random_diagram, random_evidence, value_of
from refusals import refuses

CLOSE = 1e-12
SHORT, LONG = 120, 10_000


def scale_of(diagram):
    return sum(float(np.abs(u.values).max(initial=0.0)) for u in diagram.utilities) or 1.0


def some_diagram(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    zeros = 0.3 if seed % 2 else 0.0
    return rng, random_diagram(rng, n, int(rng.integers(1, min(n, 3) + 1)), int(rng.integers(1, 4)), 3, zeros)


def check_against_enumeration(seed):
    rng, diagram = some_diagram(seed)
    ours, scale = InfluenceDiagram._of(diagram), scale_of(diagram)
    solution = ours.solve()
    best, _ = enumerated(diagram)
    assert abs(solution.expected_utility - best) <= CLOSE * scale
    # The policies attain it, on the observations that matter alone.
    policies = {name: (policy.given, policy.choices) for name, policy in solution.policies.items()}
    assert abs(value_of(diagram, policies) - best) <= CLOSE * scale
    assert all(set(policy.given) <= set(ours.past(name)) for name, policy in solution.policies.items())
    evidence = random_evidence(rng, diagram)
    best, p = enumerated(diagram, evidence)
    states = {name: ours.states(name)[code] for name, code in evidence.items()}
    if p == 0:
        with pytest.raises(ImpossibleEvidence):
            ours.solve(states)
        return
    given = ours.solve(states)
    assert abs(given.expected_utility - best) <= CLOSE * scale
    assert given.probability == pytest.approx(float(p), rel=CLOSE)


PARTS = [pytest.param(1_000_000 + k, marks=pytest.mark.slow) for k in range(0, LONG, 1_000)]


@pytest.mark.parametrize("first", [0, *PARTS])
def test_any_diagram_equals_its_enumeration(first):
    for seed in range(first, first + (1_000 if first else SHORT)):
        check_against_enumeration(seed)


@pytest.mark.parametrize("first", [0, pytest.param(2_000_000, marks=pytest.mark.slow)])
def test_no_policy_is_better(first):
    tried = 0
    for seed in range(first, first + (LONG // 10 if first else SHORT // 2)):
        _, diagram = some_diagram(seed)
        best = best_of_all_policies(diagram, 2_000 if first else 200)
        if best is not None:
            tried += 1
            ours = InfluenceDiagram._of(diagram).solve().expected_utility
            assert abs(ours - best) <= CLOSE * scale_of(diagram)
    assert tried > 10


def with_row(table, place, x):
    """Return a table with another probability at a place, the rest of the row in proportion."""
    table = np.array(table, np.longdouble)
    *row, k = place
    rest = np.delete(table[tuple(row)], k)
    left = rest.sum()
    shared = rest * ((1 - x) / left) if left > 0 else np.full(len(rest), (1 - x) / len(rest))
    table[tuple(row)] = np.insert(shared, k, x)
    return table


def check_flip(seed):
    rng, diagram = some_diagram(seed)
    ours, scale = InfluenceDiagram._of(diagram), scale_of(diagram)
    wide = [name for name in ours.chances if len(ours.states(name)) > 1]
    if not wide:
        return 0
    node = diagram.network[str(rng.choice(wide))]
    table = node.distribution.table()
    place = tuple(int(rng.integers(size)) for size in table.shape)
    given = [ours.states(p)[k] for p, k in zip(node.parents, place[:-1], strict=True)]
    found = ours.sensitivity((node.name, given, node.variable.states[place[-1]]))
    low, high = found.interval
    assert low <= found.value <= high

    def gap(x):
        best, _ = enumerated(diagram, tables={node.name: with_row(table, place, np.longdouble(x))})
        return best - (found.expected_utility + (x - found.value) * found.derivative)

    for x in np.linspace(low, high, 4):
        assert abs(gap(x)) <= 1e-11 * scale
    ends = 0
    for end, room, changes in ((low, -low, found.below), (high, 1 - high, found.above)):
        assert bool(changes) == (0 < end < 1)
        if changes:
            ends += 1
            assert gap(end + 1e-3 * room) > 0
    return ends


@pytest.mark.parametrize("first", [0, pytest.param(3_000_000, marks=pytest.mark.slow)])
def test_the_policy_flips_where_another_becomes_better(first):
    assert sum(check_flip(seed) for seed in range(first, first + (1_000 if first else 60))) > 5


@pytest.mark.parametrize("seed", range(25))
def test_information_is_worth_what_enumeration_says(seed):
    _, diagram = some_diagram(seed)
    ours = InfluenceDiagram._of(diagram)
    values = ours.value_of_information()
    assert [row.value for row in values] == sorted((row.value for row in values), reverse=True)
    for row in values:
        other = diagram.observing(row.nodes, row.before)
        gain = enumerated(other)[0] - enumerated(diagram)[0]
        assert row.value >= 0 and abs(row.value - gain) <= CLOSE * scale_of(diagram)
        # Observing it is the average over what it may be, if it comes before all decisions.
        if row.before == ours.decisions[0]:
            parts = []
            for state in ours.states(row.nodes[0]):
                try:
                    given = ours.solve({row.nodes[0]: state})
                except ImpossibleEvidence:
                    continue
                parts.append(given.probability * given.expected_utility)
            assert row.expected_utility == pytest.approx(sum(parts), abs=1e-11 * scale_of(diagram))


def test_a_fixed_decision_is_no_better_than_the_best():
    diagram = oil_wildcatter()
    values = {state: diagram.solve({"test": state}).expected_utility for state in diagram.states("test")}
    assert values == pytest.approx({"none": 20, "seismic": 22.5})
    assert diagram.decide().utilities == pytest.approx(values)


def test_a_choice_is_that_of_the_policy():
    diagram = medical_test()
    policy = diagram.solve()["treat"]
    for result in ("negative", "positive"):
        seen = {"test": "yes", "result": result}
        choice = diagram.decide(seen)
        assert choice.state == policy.choice(seen)
        assert choice.expected_utility == pytest.approx(diagram.solve(seen).expected_utility)
        assert choice.losses[choice.state] == min(choice.losses.values())


def test_an_observation_with_one_outcome_need_not_be_given():
    diagram = oil_wildcatter()
    assert diagram.decide({"test": "none"}).utilities == pytest.approx({"no": 0, "yes": 20})
    policy = diagram.solve()["drill"]
    assert policy.given == ("test", "result") and policy.choice({"test": "none"}) == "yes"
    with refuses(SettingError, "drill", "result"):
        policy.choice({"test": "seismic"})


def test_observations_that_make_no_difference_are_left_out():
    network = BayesianNetwork({"weather": [], "coin": [], "report": ["weather"]}, states=["a", "b"])
    network.set_cpt("weather", [0.4, 0.6])
    network.set_cpt("coin", [0.5, 0.5])
    network.set_cpt("report", [[0.9, 0.1], [0.2, 0.8]])
    diagram = InfluenceDiagram(
        network,
        {"go": ["no", "yes"]},
        {"fun": (["weather", "go"], [[0, 10], [0, -5]]), "luck": (["coin"], [1, 2])},
        observed={"go": ["weather", "coin", "report"]},
    )
    assert diagram.past("go") == ("weather", "coin", "report")
    assert diagram.requisite("go") == ("weather",)
    assert diagram.solve()["go"].given == ("weather",)
    assert diagram.decide({"weather": "a"}).state == "yes"
    assert diagram.solve().expected_utility == pytest.approx(4 + 1.5)


def test_a_network_follows_the_policies():
    solution = oil_wildcatter().solve()
    drilled = solution.network.query("drill", evidence={"test": "seismic"})
    assert drilled["yes"] == pytest.approx(0.59)
    assert solution["drill"].to_factor()["seismic", "open", "yes"] == 1.0


def test_a_tree_adds_up():
    tree = oil_wildcatter().solve().tree()
    (root,) = tree.roots
    below = root.branches
    assert sum(branch.probability for branch in below) == pytest.approx(1)
    assert root.expected_utility == pytest.approx(
        sum(branch.probability * branch.expected_utility for branch in below)
    )
    assert [branch.states for branch in below] == [("no structure",), ("open", "closed")]
    assert str(tree).count("\n") == 4 and tree.text("zh") != str(tree)


def test_a_picture_has_every_node_and_what_to_expect():
    picture = str(oil_wildcatter().plot())
    for text in ("oil", "drill", "cost = −10", "gain = 32.5", "59.0 %"):
        assert text in picture
    seen = str(oil_wildcatter().plot({"test": "seismic", "result": "closed"}, direction="right"))
    assert "result = closed" in seen and "gain = 87.5" in seen
    assert "%" not in str(oil_wildcatter().plot(bars=False))
    with refuses(SettingError, "direction", "up"):
        oil_wildcatter().plot(direction="up")


def test_names_are_escaped():
    network = BayesianNetwork({"<b>": []}, states={"<b>": ["<i>", "\x1b[2J"]})
    network.set_cpt("<b>", [0.5, 0.5])
    diagram = InfluenceDiagram(
        network, {"d<": ["<u>", "y"]}, {"u": (["<b>", "d<"], [[1, 0], [0, 2]])}, observed={"d<": ["<b>"]}
    )
    solution = diagram.solve()
    for html in (solution._repr_html_(), diagram.sensitivities("<b>")._repr_html_()):
        assert "<i>" not in html and "<u>" not in html and "\x1b" not in html
    assert "\x1b" not in str(solution)


def test_values_are_frozen():
    solution = oil_wildcatter().solve()
    with pytest.raises(FrozenInstanceError):
        solution.expected_utility = 0.0
    for array in (solution["drill"].choices, solution["drill"].utilities, solution["test"].possible):
        assert not array.flags.writeable
    with pytest.raises(ValueError):
        oil_wildcatter().utility("gain").values[0, 0] = 1.0


def test_the_first_of_equally_good_choices_is_taken():
    network = BayesianNetwork({"x": []}, states=["a", "b", "c"])
    network.set_cpt("x", [1 / 3, 1 / 3, 1 / 3])
    table = [[0.1, 0.2, 0.3], [0.2, 0.3, 0.1], [0.3, 0.1, 0.2]]  # the same on paper, not in floating point
    diagram = InfluenceDiagram(network, {"d": ["p", "q", "r"]}, {"u": (["x", "d"], table)})
    assert diagram.decide().state == "p"


# -- large ones ---------------------------------------------------------------------------------


def test_a_chain_of_a_thousand_nodes():
    n = 1_000
    network = BayesianNetwork({k: [k - 1] if k else [] for k in range(n)}, states=[0, 1])
    network.set_cpt(0, [0.5, 0.5])
    for k in range(1, n):
        network.set_cpt(k, [[0.999, 0.001], [0.001, 0.999]])
    diagram = InfluenceDiagram(
        network, {"d": [0, 1]}, {"u": ([n - 1, "d"], [[1, 0], [0, 1]])}, observed={"d": [0, 500]}
    )
    solution = diagram.solve()
    assert solution["d"].given == (500,)
    assert solution.expected_utility == pytest.approx(0.5 + 0.5 * 0.998 ** (n - 501))


def test_a_wide_noisy_or_is_no_table():
    causes = [f"c{k}" for k in range(60)]
    network = BayesianNetwork({**{c: [] for c in causes}, "fever": causes}, states=["no", "yes"])
    for c in causes:
        network.set_cpt(c, [0.99, 0.01])
    network.set_noisy_or("fever", dict.fromkeys(causes, 0.5), leak=0.1)
    diagram = InfluenceDiagram(
        network,
        {"treat": ["no", "yes"]},
        losses={"harm": (["c0", "treat"], [[0, 1], [60, 0]])},
        observed={"treat": ["fever"]},
    )
    # P(fever | c0 = yes) = 1 − 0.9 · 0.5 · 0.995^59, and 1 − 0.9 · 0.995^60 in all.
    fever, with_c0 = 1 - 0.9 * 0.995**60, 1 - 0.9 * 0.5 * 0.995**59
    ill = 0.01 * with_c0 / fever
    choice = diagram.decide({"fever": "yes"})
    assert choice.losses == pytest.approx({"no": 60 * ill, "yes": 1 - ill})


def test_too_large_names_the_number():
    names = [f"x{k}" for k in range(40)]
    network = BayesianNetwork({**{x: [] for x in names}, "sum": names}, states=[0, 1])
    for x in names:
        network.set_cpt(x, [0.5, 0.5])
    network.set_noisy_or("sum", dict.fromkeys(names, 0.5))
    diagram = InfluenceDiagram(
        network, {"d": [0, 1]}, {"u": (["sum", "d"], [[1, 0], [0, 1]])}, observed={"d": names}
    )
    with pytest.raises(TooLarge) as caught:
        diagram.solve()
    assert caught.value.bytes_needed >= 8 * 2**41 and caught.value.max_memory == 2**30
    with pytest.raises(TooLarge):
        diagram.solve(max_memory=math.inf)
    small = oil_wildcatter()
    with pytest.raises(TooLarge):
        small.solve(max_memory=100)
    assert small.solve(max_memory=10_000).expected_utility == pytest.approx(22.5)
    # What is given needs no axis.
    assert diagram.decide(dict.fromkeys(names, 0)).state == 0


def test_many_observations_are_tables_and_no_tree():
    names = [f"x{k}" for k in range(13)]
    network = BayesianNetwork({x: [] for x in names}, states=[0, 1])
    for x in names:
        network.set_cpt(x, [0.5, 0.5])
    utilities = {f"u{x}": ([x, "d"], [[1, 0], [0, 1]]) for x in names}
    solution = InfluenceDiagram(network, {"d": [0, 1]}, utilities, observed={"d": names}).solve()
    assert not solution.has_tree and "8,132" in str(solution)
    with refuses(SettingError, "solution[decision]"):
        solution.tree()


# -- bad input ----------------------------------------------------------------------------------


def pieces(**changed):
    network = BayesianNetwork({"x": [], "y": ["x", "d"], "d": []}, states=["a", "b"])
    network.set_cpt("x", [0.5, 0.5])
    network.set_cpt("y", [[[1, 0], [0, 1]], [[0, 1], [1, 0]]])
    made = {"network": network, "decisions": ["d"], "utilities": {"u": (["y"], [0, 1])}}
    return {**made, **changed}


def spoiled(table):
    return {"u": (["y", "d"], table)}


BAD = {
    "order": ({"decisions": {"d": None, "e": ["p", "q"]}}, UnorderedDecisions, ["d", "e"]),
    "no decision": ({"decisions": []}, SettingError, ["decisions="]),
    "no utility": ({"utilities": {}}, SettingError, ["utilities=", "losses="]),
    "unknown decision": ({"decisions": ["e"]}, SettingError, ["e"]),
    "other states": ({"decisions": {"d": ["p", "q"]}}, SettingError, ["d", "p"]),
    "continuous decision": ({"decisions": {"d": None, "e": float}}, SettingError, ["e"]),
    "a word": ({"decisions": "d"}, SettingError, ["d"]),
    "utility on a chance node": ({"utilities": {"x": (["d"], [0, 1])}}, SettingError, ["x", "y"]),
    "utility on a leaf": ({"utilities": {"y": (["d"], [0, 1])}}, SettingError, ["y"]),
    "utility of a utility": (
        {"utilities": {"u": (["d"], [0, 1]), "v": (["u"], [0, 1])}},
        SettingError,
        ["u", "v"],
    ),
    "observed utility": ({"observed": {"d": ["u"]}}, SettingError, ["d", "u"]),
    "cycle": ({"observed": {"d": ["y"]}}, CyclicGraph, ["d", "y"]),
    "observed by a chance node": ({"observed": {"x": ["d"]}}, SettingError, ["x", "d"]),
    "observed nothing known": ({"observed": {"d": ["z"]}}, SettingError, ["z"]),
    "observed list": ({"observed": ["x"]}, SettingError, ["x"]),
    "unknown parent": ({"utilities": {"u": (["z"], [0, 1])}}, SettingError, ["z"]),
    "shape": ({"utilities": spoiled([[0, 1, 2], [3, 4, 5]])}, SettingError, ["u", "(2, 3)", "(2, 2)"]),
    "gap": ({"utilities": spoiled({"a": {"a": 1}})}, SettingError, ["u", "b"]),
    "state": ({"utilities": spoiled({"a": {"c": 1}})}, UnseenState, ["d", "c"]),
    "nan": ({"utilities": spoiled([[0, math.nan], [0, 0]])}, SettingError, ["u", "nan", "y", "b"]),
    "infinite": ({"utilities": spoiled([[0, 0], [0, -math.inf]])}, SettingError, ["u", "-inf"]),
    "infinite loss": ({"losses": {"v": (["d"], [0, math.inf])}}, SettingError, ["v", "inf"]),
    "no numbers": ({"utilities": spoiled([["0", "1"], ["2", "3"]])}, SettingError, ["u"]),
    "no pair": ({"utilities": {"u": [0, 1, 2]}}, SettingError, ["u"]),
    "no mapping": ({"losses": [1, 2]}, SettingError, ["losses"]),
    "same name twice": ({"losses": {"u": (["d"], [0, 1])}}, SettingError, ["u"]),
    "no network": ({"network": {"x": []}}, SettingError, ["dict"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    changed, error, values = BAD[case]
    with refuses(error, *values):
        InfluenceDiagram(**pieces(**changed))


def test_continuous_nodes_and_missing_tables_are_named():
    network = BayesianNetwork({"x": [], "h": []}, states={"x": ["a", "b"], "h": float})
    network.set_cpt("x", [0.5, 0.5])
    with refuses(SettingError, "h"):
        InfluenceDiagram(network, {"d": [0, 1]}, {"u": (["x", "d"], np.zeros((2, 2)))})
    bare = BayesianNetwork({"x": []}, states=["a", "b"])
    with refuses(UsageError, "x", "set_cpt"):
        InfluenceDiagram(bare, {"d": [0, 1]}, {"u": (["x", "d"], np.zeros((2, 2)))})


ASKED = {
    "unknown node": (lambda d: d.solve({"z": 1}), SettingError, ["z"]),
    "unknown state": (lambda d: d.solve({"oil": "gas"}), UnseenState, ["oil", "gas"]),
    "too early": (lambda d: d.solve({"result": "open"}), SettingError, ["result", "test"]),
    "impossible": (
        lambda d: d.solve({"oil": "dry", "test": "none", "result": "open"}),
        ImpossibleEvidence,
        ["test", "none", "result", "open"],
    ),
    "excluded": (lambda d: d.solve({"oil": Not("dry")}), SettingError, ["oil"]),
    "missing observation": (lambda d: d.decide({"test": "seismic"}), SettingError, ["drill", "result"]),
    "nothing to decide": (lambda d: d.decide({"test": "none", "drill": "no"}), SettingError, []),
    "decided already": (lambda d: d.decide({"test": "none"}, "test"), SettingError, ["test"]),
    "no decision": (lambda d: d.decide({}, "oil"), SettingError, ["oil", "test", "drill"]),
    "information too late": (
        lambda d: d.value_of_information("result", "test"),
        SettingError,
        ["result", "test"],
    ),
    "information on a decision": (lambda d: d.value_of_information("drill"), SettingError, ["drill"]),
    "no information": (lambda d: d.value_of_information([]), SettingError, ["nodes"]),
    "flip of a decision": (lambda d: d.sensitivity(("test", {}, "none")), SettingError, ["test"]),
    "flip of nothing": (lambda d: d.sensitivity(("oil", {}, "gas")), UnseenState, ["oil", "gas"]),
    "flip without parents": (
        lambda d: d.sensitivity(("result", {}, "open")),
        SettingError,
        ["result", "oil"],
    ),
    "memory": (lambda d: d.solve(max_memory=-1), SettingError, ["max_memory", -1]),
    "utility": (lambda d: d.utility("profit"), SettingError, ["profit", "gain"]),
    "parents": (lambda d: d.parents("profit"), SettingError, ["profit"]),
    "policy": (lambda d: d.solve()["oil"], SettingError, ["oil", "drill"]),
}


@pytest.mark.parametrize("case", ASKED)
def test_bad_questions_are_named(case):
    ask, error, values = ASKED[case]
    with refuses(error, *values):
        ask(oil_wildcatter())


def test_tables_are_read_in_any_form():
    network = BayesianNetwork({"x": []}, states=["a", "b"])
    network.set_cpt("x", [0.25, 0.75])
    wanted = Factor(["x", "d"], [["a", "b"], [0, 1]], [[1, 2], [3, 4]])
    for given in (
        (["x", "d"], [[1, 2], [3, 4]]),
        (["x", "d"], [1, 2, 3, 4]),
        (["x", "d"], {"a": {0: 1, 1: 2}, "b": [3, 4]}),
        (["x", "d"], {("a", 0): 1, ("a", 1): 2, ("b", 0): 3, ("b", 1): 4}),
        wanted,
    ):
        assert InfluenceDiagram(network, {"d": [0, 1]}, {"u": given}).utility("u") == wanted
    turned = Factor(["d", "x"], [[0, 1], ["b", "a"]], [[3, 1], [4, 2]])
    assert InfluenceDiagram(network, {"d": [0, 1]}, {"u": (["x", "d"], turned)}).utility("u") == wanted


def test_what_was_observed_is_remembered():
    """The second decision has no arc from x, which was seen before the first."""
    network = BayesianNetwork({"x": [], "y": ["first"], "first": []}, states=["a", "b"])
    network.set_cpt("x", [0.5, 0.5])
    network.set_cpt("y", [[0.7, 0.3], [0.2, 0.8]])
    diagram = InfluenceDiagram(
        network,
        {"first": None, "second": ["a", "b"]},
        {"match": (["x", "second"], [[1, 0], [0, 1]]), "cost": (["y"], [0, -1])},
        observed={"first": ["x"], "second": ["y"]},
    )
    assert diagram.decisions == ("first", "second")
    assert diagram.past("second") == ("x", "y", "first")
    assert diagram.requisite("second") == ("x",) and diagram.requisite("first") == ()
    # 1 for the match that memory makes certain, less 0.3 for y with the better first choice.
    assert diagram.solve().expected_utility == pytest.approx(0.7)
