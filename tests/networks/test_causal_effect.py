"""Effects against the truncated product by enumeration; the cases that others got wrong; rows; refusals."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit._graphs.identification import Probability, Product, Sum
from bayeskit._networks.analysis.estimands import Estimand
from bayeskit.errors import (
    ColumnError,
    DataError,
    ImpossibleEvidence,
    InvalidAdjustment,
    NoOverlap,
    NotIdentifiable,
    NotSupported,
    SettingError,
    TooLarge,
)
from bayeskit.networks import adjusted_effect, asia
from network_twin import joint_table, margin, random_network, with_evidence
from refusals import refuses


def truncated(network, do, evidence, y):
    """Return P(y | do, evidence): the joint table without the factors of what is set."""
    position = network.dag.position
    joint = np.ones(network.sizes_of(network.dag.nodes))
    for k, node in enumerate(network.nodes):
        scope = [k] if node.name in do else [*(position[p] for p in node.parents), k]
        table = np.eye(joint.shape[k])[do[node.name]] if node.name in do else node.distribution.table()
        table = table.transpose(np.argsort(scope))
        joint = joint * table.reshape([joint.shape[v] if v in scope else 1 for v in range(joint.ndim)])
    found = margin(with_evidence(joint, {position[n]: c for n, c in evidence.items()}), position[y])
    return found / found.sum()


def check(network, factor, x, y, evidence=()):
    """Compare a factor over causes, evidence and outcome with the truncated product."""
    assert factor.names == (*x, *evidence, y)
    for cell in np.ndindex(*factor.sizes[:-1]):
        codes = dict(zip(factor.names[:-1], cell, strict=True))
        wanted = truncated(network, {n: codes[n] for n in x}, {n: codes[n] for n in evidence}, y)
        np.testing.assert_allclose(factor.values[cell], wanted, rtol=0, atol=1e-12)


def questions(seed, n_nodes=6, hidden_roots=False):
    """Return a random network, causes, an outcome, hidden nodes, and the others."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=n_nodes, max_parents=3, max_states=3)
    names = list(network.dag.nodes)
    some = [n for n in names if not network.dag.parents_of(n)] if hidden_roots else names
    hidden = [n for n in some if rng.random() < (0.8 if hidden_roots else 0.3)]
    seen = [n for n in names if n not in hidden]
    rng.shuffle(seen)
    n_causes = 2 if rng.random() < 0.3 and len(seen) > 3 else 1
    if len(seen) < 2:
        return questions(seed + 1_000_003, n_nodes, hidden_roots)
    return network, seen[:n_causes], seen[n_causes], hidden, seen[n_causes + 1 :]


@given(st.integers(0, 2**31))
def test_every_adjustment_set_gives_the_truncated_product(seed):
    network, x, y, hidden, _ = questions(seed)
    asked = BayesianNetwork._of(network)
    exact = asked.effect(x, y)
    check(network, exact.probabilities, x, y)
    assert exact.formula == "" and exact.adjustment is None
    for found in itertools.islice(asked.adjustment_sets(x, y, hidden=hidden), 5):
        adjusted = asked.effect(x, y, adjust=found.nodes, hidden=hidden)
        check(network, adjusted.probabilities, x, y)
        assert adjusted.adjustment == found


@given(st.integers(0, 2**31))
def test_every_front_door_set_gives_the_truncated_product(seed):
    network, x, y, hidden, _ = questions(seed)
    asked = BayesianNetwork._of(network)
    for found in itertools.islice(asked.front_door_sets(x, y, hidden=hidden), 5):
        z = found.nodes
        inner = Sum(tuple(x), Product((Probability((y,), (*x, *z)), Probability(tuple(x)))))
        formula = Sum(z, Product((Probability(z, tuple(x)), inner))) if z else inner
        check(network, Estimand(tuple(x), (y,), (), (), formula, asked).evaluate(), x, y)


@given(st.integers(0, 2**31), st.booleans())
def test_what_is_identified_gives_the_truncated_product(seed, roots):
    network, x, y, hidden, others = questions(seed, 7, hidden_roots=roots)
    asked = BayesianNetwork._of(network)
    for evidence in ([], others[:1]):
        try:
            found = asked.identify(x, y, hidden=hidden, given=evidence)
        except NotIdentifiable:
            continue
        check(network, found.evaluate(), x, y, evidence)


@given(st.integers(0, 2**31))
def test_evidence_and_nodes_held(seed):
    network, x, y, _, others = questions(seed)
    asked = BayesianNetwork._of(network)
    states = {n: network[n].variable.states for n in network.dag.nodes}
    seen, held = others[:1], others[1:2]
    evidence, do = ({n: states[n][-1] for n in some} for some in (seen, held))
    found = asked.effect(x, y, do=do, evidence=evidence)
    codes = {n: len(states[n]) - 1 for n in (*seen, *held)}
    for cell in np.ndindex(*found.probabilities.sizes[:-1]):
        wanted = truncated(
            network,
            {**dict(zip(x, cell, strict=True)), **{n: codes[n] for n in held}},
            {n: codes[n] for n in seen},
            y,
        )
        np.testing.assert_allclose(found.probabilities.values[cell], wanted, rtol=0, atol=1e-12)


def held_at_random(network, asked, x, y, held, **settings):
    """Return P(y | do(x), held set at random) and the mixture of its values for each state, in one shape."""
    size = network[held].variable.size
    share = np.random.default_rng(size).dirichlet(np.ones(size))
    share[0] = 0.0 if size > 2 else share[0]
    share /= share.sum()
    found = asked.effect(x, y, do={held: share}, **settings)
    states = network[held].variable.states
    each = [asked.effect(x, y, do={held: s}, **settings).probabilities.values for s in states]
    assert found.held == {held: dict(zip(states, share.tolist(), strict=True))}
    return found.probabilities.values, sum(p * one for p, one in zip(share, each, strict=True))


@given(st.integers(0, 2**31))
def test_a_node_held_at_random_mixes_its_states(seed):
    network, x, y, hidden, others = questions(seed)
    asked = BayesianNetwork._of(network)
    for held in others[:1]:
        mixed, wanted = held_at_random(network, asked, x, y, held)
        np.testing.assert_allclose(mixed, wanted, rtol=0, atol=1e-12)
        try:
            observed, wanted = held_at_random(network, asked, x, y, held, hidden=hidden)
        except NotIdentifiable:
            continue
        np.testing.assert_allclose(observed, wanted, rtol=0, atol=1e-12)
        np.testing.assert_allclose(observed, mixed, rtol=0, atol=1e-10)


def test_a_node_held_at_random_and_evidence():
    """Evidence below such a node tells which state it got, so the answer is no mixture by the given shares."""
    network = network_of({"h": [], "x": [], "e": ["h"], "y": ["x", "h"]}, seed=4)
    shares = {"no": 0.25, "yes": 0.75}
    found = network.effect("x", "y", do={"h": shares}, evidence={"e": "yes"})
    likely = np.array([0.25, 0.75]) * network.cpt("e").values[:, 1]
    wanted = np.tensordot(network.cpt("y").values, likely / likely.sum(), axes=(1, 0))
    np.testing.assert_allclose(found.probabilities.values, wanted, atol=1e-14)
    with refuses(NotSupported, "h", "e"):
        network.effect("x", "y", do={"h": shares}, evidence={"e": "yes"}, adjust=[])
    with refuses(NotSupported, "h", "e"):
        network.effect("x", "y", do={"h": [0.25, 0.75]}, evidence={"e": "yes"}, data=network.sample(50))
    assert "h = no (0.25), yes (0.75)" in found.text() and found.to_dict()["held"] == {"h": shares}
    rows = {name: column.tolist() for name, column in network.sample(400, random_state=1).items()}
    bare = BayesianNetwork({n: network.parents(n) for n in network.nodes})  # the states are found in the rows
    of_rows = bare.effect("x", "y", do={"h": [0.25, 0.75]}, data=rows, n_samples=0).probabilities.values
    each = [bare.effect("x", "y", do={"h": s}, data=rows, n_samples=0) for s in ("no", "yes")]
    np.testing.assert_allclose(
        of_rows, 0.25 * each[0].probabilities.values + 0.75 * each[1].probabilities.values, atol=1e-14
    )


def test_a_cause_is_compared_state_by_state():
    network = network_of({"x": [], "y": ["x"]})
    with refuses(SettingError, "x", "y"):
        network.effect("x", "y", do={"x": {"no": 0.5, "yes": 0.5}})


def network_of(parents, seed=0, even=1):
    network = BayesianNetwork(parents, states=["no", "yes"])
    rng = np.random.default_rng(seed)
    for name in network.nodes:
        network.set_cpt(name, rng.dirichlet([even, even], [2] * len(network.parents(name))))
    return network


def test_a_child_has_no_effect_on_its_parents():
    """P(A | do(C)) is P(A) where A → C ← B, though no adjustment set exists."""
    network = network_of({"a": [], "b": [], "c": ["a", "b"]})
    prior = network.query("a").values
    for found in (
        network.effect("c", "a"),
        network.effect("c", "a", hidden="b"),
        network.effect("c", "a", data=network.sample(200, random_state=1)),
    ):
        rows = found.probabilities.values
        np.testing.assert_array_equal(rows[0], rows[1])
        assert found.is_null and found.contrast("yes").difference == 0.0
    np.testing.assert_allclose(network.effect("c", "a").probabilities.values[0], prior, atol=1e-15)
    assert list(network.adjustment_sets("c", "a")) == []
    with refuses(InvalidAdjustment, "c", "a", "b"):
        network.effect("c", "a", adjust="b")


def test_evidence_outside_the_adjustment_set():
    """P(y | do(x), w) adjusts for z among those with w, not in the whole population."""
    network = network_of({"w": [], "z": ["w"], "x": ["z"], "y": ["x", "z", "w"]})
    for how in ({}, {"adjust": "z"}, {"hidden": []}):
        found = network.effect("x", "y", evidence={"w": "yes"}, **how)
        for code, state in enumerate(("no", "yes")):
            wanted = truncated(network._network, {"x": code}, {"w": 1}, "y")
            np.testing.assert_allclose(found.probabilities.values[code], wanted, atol=1e-14)
            assert found.probabilities[state, "no"] == found.probabilities.values[code][0]
    # Evidence that follows the cause: exact from tables, no business of an adjustment.
    late = network_of({"x": [], "y": ["x"], "e": ["y"]})
    found = late.effect("x", "y", evidence={"e": "yes"})
    np.testing.assert_allclose(
        found.probabilities.values[1], truncated(late._network, {"x": 1}, {"e": 1}, "y")
    )
    with refuses(InvalidAdjustment, "e", "x"):
        late.effect("x", "y", evidence={"e": "yes"}, adjust=())


def test_two_interventions_of_which_one_is_a_parent_of_the_other():
    network = network_of({"u": [], "a": ["u"], "b": ["a", "u"], "y": ["a", "b", "u"]})
    for found in (
        network.effect(["a", "b"], "y"),
        network.effect(["a", "b"], "y", adjust="u"),
        network.effect("a", "y", do={"b": "yes"}),
    ):
        for cell in np.ndindex(*found.probabilities.sizes[:-1]):
            do = {"b": 1, **dict(zip(found.cause, cell, strict=True))}
            wanted = truncated(network._network, do, {}, "y")
            np.testing.assert_allclose(found.probabilities.values[cell], wanted, atol=1e-14)
    with refuses(NotIdentifiable, "a", "b", "y", "u"):
        network.effect(["a", "b"], "y", hidden="u")


def test_contrasts():
    network = BayesianNetwork({"x": [], "y": ["x"]}, states={"x": ["a", "b", "c"], "y": ["0", "1", "2"]})
    network.set_cpt("x", [0.2, 0.3, 0.5])
    network.set_cpt("y", [[0.5, 0.25, 0.25], [0, 0.5, 0.5], [1, 0, 0]])
    found = network.effect("x", "y")
    assert found.contrast(treatment="b") == ("b", "a", None, 0.75, 2.0, None, None)
    assert found.contrast("0", "b")[3:5] == (-0.5, 0.0)
    assert found.contrast("1", "c").ratio == 0.0 and found.contrast("2", "b").difference == 0.25
    turned = network.effect("x", "y", do={"x": ["c", "b"]})
    assert turned.probabilities.states[0] == ("c", "b")
    assert turned.contrast("1").ratio == np.inf and turned.contrast().difference == 1.5
    alone = network.effect("x", "y", do={"x": "b"})
    assert alone.contrasts == () and alone.probabilities["b", "1"] == 0.5
    with refuses(SettingError, "d"):
        found.contrast("1", "d")
    assert pickle.loads(pickle.dumps(found)).probabilities == found.probabilities


def test_texts_in_both_languages():
    network = network_of({"z": [], "x": ["z"], "y": ["x", "z"]})
    found = network.effect("x", "y", adjust="z")
    for lang in ("en", "zh"):
        text = found.text(lang)
        assert "P(y | do(x))" in text and "Σ_z P(y | x, z) P(z)" in text
    assert "difference" not in found.text("zh")
    assert found.to_dict()["adjustment"] == ["z"]
    assert "<table" in found._repr_html_()
    held = network.effect("x", "y", do={"z": "no"}, evidence={})
    assert "z = no" in str(held)


def test_formulas_in_latex():
    network = network_of({"u_1": [], "x": ["u_1"], "z": ["x"], "y": ["z", "u_1"]})
    found = network.identify("x", "y", hidden="u_1")
    assert found.latex == (
        r"P(\text{y} \mid do(\text{x})) = \sum_{\text{z}} P(\text{z} \mid \text{x}) "
        r"\sum_{\text{x}'} P(\text{x}') P(\text{y} \mid \text{x}', \text{z})"
    )
    assert r"\text{u\_1}" in network.identify("x", "y", given="u_1").latex
    assert found._repr_latex_() == f"$${found.latex}$$"


# -- rows --------------------------------------------------------------------------------------


def test_rows_give_relative_frequencies():
    rng = np.random.default_rng(3)
    z, x, y = rng.integers(0, [[3], [2], [2]], (3, 500))
    wanted = [
        [sum((z == k).mean() * (y[(z == k) & (x == a)] == b).mean() for k in range(3)) for b in range(2)]
        for a in range(2)
    ]
    found = adjusted_effect({"x": x, "y": y, "z": z}, "x", "y", "z")
    np.testing.assert_allclose(found.probabilities.values, wanted, atol=1e-14)
    assert found.n_rows == 500 and found.n_samples == 2000
    low, high = found.contrast().difference_interval
    assert low < found.contrast().difference < high
    again = adjusted_effect({"x": x, "y": y, "z": z}, "x", "y", ["z"])
    assert again.contrasts == found.contrasts
    assert adjusted_effect({"x": x, "y": y, "z": z}, "x", "y", "z", random_state=1).low != found.low
    crude = adjusted_effect({"x": x, "y": y}, "x", "y", n_samples=0)
    assert crude.low is None and crude.formula == "P(y | x)"
    assert crude.probabilities[1, 1] == pytest.approx(y[x == 1].mean(), abs=1e-15)


def test_rows_and_tables_that_were_counted_from_them_agree():
    """Also with a hidden cause: the front-door formula of rows is that of tables with the same frequencies."""
    graph = {"u": [], "x": ["u"], "z": ["x"], "y": ["z", "u"]}
    rows = network_of(graph, 5, even=4).sample(3000, random_state=2).drop(columns="u")
    found = BayesianNetwork(graph).effect("x", "y", data=rows)
    assert found.adjustment is None and "Σ_x'" in found.formula
    saturated = BayesianNetwork({"x": [], "z": ["x"], "y": ["x", "z"]}).fit(rows, smoothing="mle")
    formula = network_of(graph).identify("x", "y", hidden="u").expression
    wanted = Estimand(("x",), ("y",), (), (), formula, saturated).evaluate()
    np.testing.assert_allclose(found.probabilities.values, wanted.values, atol=1e-12)
    exact = network_of(graph, 5, even=4).effect("x", "y")
    for k in range(2):
        assert found.low.values[k, 1] < exact.probabilities.values[k, 1] < found.high.values[k, 1]


def test_intervals_cover():
    """Of 100 intervals of 90 percent, about 90 contain the truth, also in small and uneven groups."""
    network = network_of({"z": [], "x": ["z"], "y": ["x", "z"]}, 11, even=4)
    truth = network.effect("x", "y").contrast("yes").difference
    covered = 0
    for seed in range(100):
        codes = network.sample(150, random_state=seed, as_codes=True)
        found = network.effect("x", "y", data=codes, level=0.9, n_samples=400, random_state=seed)
        low, high = found.contrast("yes").difference_interval
        covered += low < truth < high
    assert 81 <= covered <= 98  # within three standard deviations


def test_rows_with_missing_cells_are_left_out():
    rows = {"x": ["a", "a", "b", "b", None], "y": ["n", "y", "y", "y", "n"], "w": [None] * 5}
    network = BayesianNetwork(
        {"x": ["w"], "y": ["x"]}, states={"x": ["a", "b"], "y": ["n", "y"], "w": [0, 1]}
    )
    found = network.effect("x", "y", data=rows)
    assert (found.n_rows, found.n_left_out) == (4, 1)
    assert found.probabilities.values.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    with refuses(DataError, "w", "x", "y"):
        network.effect("x", "y", data=rows, adjust="w")


def test_groups_without_overlap_are_refused():
    rows = {"x": [0, 1, 0, 0], "z": [0, 0, 1, 1], "y": [0, 1, 1, 0]}
    with refuses(NoOverlap, "'x' = 1", "'z' = 1"):
        adjusted_effect(rows, "x", "y", "z")
    one = adjusted_effect(rows, "x", "y", "z", do={"x": 0}, n_samples=0)
    assert one.probabilities[0, 1] == 0.25
    network = BayesianNetwork({"z": [], "x": ["z"], "y": ["x", "z"]}, states=[0, 1])
    network.set_cpt("z", [0.5, 0.5])
    network.set_cpt("x", [[0.5, 0.5], [1, 0]])
    network.set_cpt("y", np.full((2, 2, 2), 0.5))
    with refuses(NoOverlap, "'x' = 1", "'z' = 1"):
        network.effect("x", "y", adjust="z")
    network.effect("x", "y")  # the tables say what no row could


def test_refusals():
    network = network_of({"u": [], "x": ["u"], "m": ["x"], "y": ["m", "u"]})
    with refuses(InvalidAdjustment, "x ← u → y", "u"):
        network.effect("x", "y", adjust=[])
    with refuses(InvalidAdjustment, "m", "x"):
        network.effect("x", "y", adjust=["u", "m"])
    with refuses(InvalidAdjustment, "u"):
        network.effect("x", "y", adjust="u", hidden="u")
    with refuses(NotIdentifiable, "x", "y", "u") as caught:
        network_of({"u": [], "x": ["u"], "y": ["x", "u"]}).effect("x", "y", hidden="u")
    assert caught.value.hedge == ("x", "y") and caught.value.root == ("y",) and caught.value.hidden == ("u",)
    for wrong, error, values in [
        ({"x": "x", "y": "x"}, SettingError, ["x"]),
        ({"x": "x", "y": "snow"}, SettingError, ["snow"]),
        ({"x": [], "y": "y"}, SettingError, ["x"]),
        ({"x": "x", "y": "y", "hidden": "x"}, SettingError, ["x"]),
        ({"x": "x", "y": "y", "do": "m"}, SettingError, ["m"]),
        ({"x": "x", "y": "y", "do": {"x": ["no", "no"]}}, SettingError, ["x"]),
        ({"x": "x", "y": "y", "do": {"y": "no"}}, SettingError, ["y"]),
        ({"x": "x", "y": "y", "do": {"m": "maybe"}}, DataError, ["m", "maybe"]),
        ({"x": "x", "y": "y", "evidence": {"x": "no"}}, SettingError, ["x"]),
        ({"x": "x", "y": "y", "data": {"x": [0]}}, ColumnError, ["y"]),
        (
            {"x": "x", "y": "y", "data": {"x": ["no"], "u": ["no"], "y": ["no"]}, "level": 95},
            SettingError,
            ["level", 95],
        ),
        ({"x": "x", "y": "y", "adjust": "u", "max_memory": 8}, TooLarge, []),
    ]:
        with refuses(error, *values):
            network.effect(**wrong)
    with refuses(ImpossibleEvidence, "either", "lung"):
        asia().effect("lung", "dysp", evidence={"either": "no"})
    numbers = BayesianNetwork({"x": [], "y": ["x"]}, states={"x": [0, 1], "y": float})
    with refuses(SettingError, "y"):
        numbers.effect("x", "y")


def test_joint_table_of_the_twin_is_the_network():
    network = random_network(np.random.default_rng(0))
    np.testing.assert_allclose(
        margin(joint_table(network), 0), BayesianNetwork._of(network).query(network.dag.nodes[0]).values
    )
