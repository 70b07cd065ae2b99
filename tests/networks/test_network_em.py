"""EM for networks: steps by hand, numbers of pyAgrum, values that never fall, hidden nodes, rows that cannot be."""

from __future__ import annotations

import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork
from bayeskit._inference import exact
from bayeskit.errors import ColumnError, DataError, Incompatible, NotConverged, SettingError, UsageError
from network_twin import random_network
from outside import DATA
from refusals import refuses, warns_of

GOLDEN = DATA / "golden" / "em"


def hidden_coin(head=(0.2, 0.9), bias=0.4):
    """H → X, with H never observed."""
    network = BayesianNetwork({"h": [], "x": ["h"]}, states={"h": ["a", "b"], "x": ["no", "yes"]})
    network.set_cpt("h", [1 - bias, bias])
    network.set_cpt("x", [[1 - p, p] for p in head])
    return network


def tables(network):
    return np.concatenate([network.distribution(node).table().ravel() for node in network.nodes])


def holed(network, rng, n, missing=0.3):
    """Rows of a network's own, in labels, with holes."""
    codes = BayesianNetwork._of(network).sample(n, random_state=int(rng.integers(2**31)), as_codes=True)
    data = {}
    for k, node in enumerate(network.nodes):
        column = np.array([*node.variable.states, None], object)[codes[:, k]]
        column[rng.random(n) < missing] = None
        data[node.name] = column
    return data


def bare(network):
    """The graph and its states, without tables."""
    return BayesianNetwork(
        {node.name: node.parents for node in network.nodes},
        states={node.name: node.variable.states for node in network.nodes},
    )


def test_one_step_with_a_hidden_cause_is_the_page_of_arithmetic():
    # P(b | yes) = 0.36/(0.36 + 0.12) = 3/4 and P(b | no) = 0.04/(0.04 + 0.48) = 1/13; three yes, one no.
    found = hidden_coin()
    value = 3 * math.log(0.48) + math.log(0.52)
    found.fit(
        {"x": ["yes"] * 3 + ["no"]},
        method="em",
        smoothing="mle",
        warm_start=True,
        max_iter=1,
        tol=0,
        accelerate=False,
    )
    b = 3 * 0.75 + 1 / 13
    assert found.cpt("h")["b"] == pytest.approx(b / 4, rel=1e-14)
    assert found.cpt("x")["b", "yes"] == pytest.approx(2.25 / b, rel=1e-14)
    assert found.cpt("x")["a", "yes"] == pytest.approx(0.75 / (4 - b), rel=1e-14)
    assert found.history_[0] == pytest.approx(value, rel=1e-14)
    assert found.n_iter_ == 1 and not found.converged_


def test_hard_and_smoothed_steps_by_hand():
    data = {"x": ["yes"] * 3 + ["no"]}
    found = hidden_coin().fit(data, method="em", smoothing=1.0, warm_start=True, max_iter=1, tol=0, hard=True)
    # Completed: (b, yes) three times, (a, no) once; one more in each cell.
    assert found.cpt("h")["b"] == pytest.approx(4 / 6)
    assert found.cpt("x")["b", "yes"] == pytest.approx(4 / 5)
    assert found.cpt("x")["a", "yes"] == pytest.approx(1 / 3)
    completed = 3 * math.log(0.36) + math.log(0.48)
    added = math.log(0.6 * 0.4) + math.log(0.8 * 0.2 * 0.1 * 0.9)
    assert found.history_[0] == pytest.approx(completed + added, rel=1e-14)
    soft = hidden_coin().fit(data, method="em", smoothing=1.0, warm_start=True, max_iter=1, tol=0)
    assert soft.history_[0] == pytest.approx(3 * math.log(0.48) + math.log(0.52) + added, rel=1e-14)


@pytest.mark.skipif(not GOLDEN.exists(), reason="BAYESKIT_DATA is not set")
@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("place", [0, 1])
def test_tables_and_likelihood_of_pyagrum(place, accelerate):
    import pandas as pd

    case = json.loads((GOLDEN / "network_missing.json").read_text())[place]
    rows = pd.read_parquet(GOLDEN / case["file"])
    parents = {node: [a for a, b in case["arcs"] if b == node] for node in case["levels"]}
    found = BayesianNetwork(parents, states=case["levels"])
    found.fit(rows, method="em", smoothing="mle", tol=1e-13, max_iter=500, accelerate=accelerate)
    assert found.converged_
    assert found.log_likelihood(rows) == pytest.approx(case["pyagrum"]["observed_loglik"], abs=1e-8)
    assert found.history_[-1] == pytest.approx(found.log_likelihood(rows), abs=1e-8)
    for node, cpt in case["pyagrum"]["cpts"].items():
        axes = [*found.parents(node), node]
        theirs = np.array(cpt["values"]).transpose([cpt["axes"].index(a) for a in axes])
        assert found.distribution(node).table() == pytest.approx(theirs, abs=1e-5)


@given(
    st.integers(0, 10**6),
    st.sampled_from(["mle", "bdeu", 0.5]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=30, deadline=None)
def test_the_value_never_falls_and_is_that_of_the_network(seed, prior, hard, accelerate, zeros):
    rng = np.random.default_rng(seed)
    true = random_network(rng, 5, max_parents=2, max_states=3, zeros=zeros)
    data = holed(true, rng, 40)
    if seed % 3 == 0:
        del data["x0"]
    if all(cell is None for column in data.values() for cell in column):
        return
    found = bare(true)
    found.fit(
        data,
        method="em",
        smoothing=prior,
        hard=hard,
        accelerate=accelerate,
        max_iter=15,
        tol=0,
        random_state=seed,
        n_init=2,
    )
    steps = np.diff(found.history_)
    # The sum of 40 logarithms of numbers near 1 is right to 1e-14, be it as near to 0 as that.
    assert (steps >= -1e-9 * np.abs(found.history_[1:]) - 1e-13).all()
    if prior == "mle" and not hard:
        assert found.log_likelihood(data) == pytest.approx(max(found.history_), rel=1e-9)
    for node in found.nodes:
        assert found.distribution(node).table().sum(axis=-1) == pytest.approx(1.0)


@pytest.mark.parametrize("hard", [True, False])
def test_without_missing_cells_em_is_counting(hard):
    rng = np.random.default_rng(4)
    true = random_network(rng, 6)
    data = holed(true, rng, 200, missing=0.0)
    weights = rng.uniform(size=200)
    before = BayesianNetwork._of(random_network(np.random.default_rng(4), 6))
    for settings_of in ({"smoothing": "mle"}, {"smoothing": "laplace"}, {"smoothing": before, "ess": 10}):
        counted = bare(true).fit(data, sample_weight=weights, **settings_of)
        climbed = bare(true).fit(data, sample_weight=weights, method="em", hard=hard, **settings_of)
        assert tables(climbed) == pytest.approx(tables(counted), rel=1e-12)
        assert climbed.converged_ and climbed.n_iter_ == 2
        assert climbed.n_rows_ == pytest.approx(weights.sum())


def test_weights_are_repeated_rows_and_empty_rows_say_nothing():
    rng = np.random.default_rng(1)
    true = random_network(rng, 5, max_states=3)
    data = holed(true, rng, 60)
    times = rng.integers(0, 4, 60)
    repeated = {name: np.append(column.repeat(times), [None, None]) for name, column in data.items()}
    how = {"method": "em", "max_iter": 8, "tol": 0}
    one = bare(true).fit(data, sample_weight=times, **how)
    two = bare(true).fit(repeated, **how)
    assert tables(two) == pytest.approx(tables(one), rel=1e-9)
    assert two.history_ == pytest.approx(one.history_, rel=1e-12)


def latent(rng, n=300):
    """Three children of a class that nobody sees, two states each."""
    h = rng.random(n) < 0.4
    return {
        f"x{i}": np.where(rng.random(n) < np.where(h, 0.9, 0.2), "yes", "no").astype(object) for i in range(3)
    }


def hidden_class():
    parents = {"h": [], **{f"x{i}": ["h"] for i in range(3)}}
    return BayesianNetwork(parents, states={"h": ["a", "b"], **{f"x{i}": ["no", "yes"] for i in range(3)}})


def test_a_hidden_class_leaves_the_saddle_of_the_uniform_start():
    data = latent(np.random.default_rng(1))
    uniform = hidden_class()
    uniform.set_cpt("h", [0.5, 0.5])
    for i in range(3):
        uniform.set_cpt(f"x{i}", [[0.5, 0.5], [0.5, 0.5]])
    stuck = hidden_class().fit(data, method="em", smoothing="mle", start=uniform)
    found = hidden_class().fit(
        {**data, "h": [None] * 300}, method="em", smoothing="mle", tol=1e-9, max_iter=1000
    )
    assert stuck.converged_
    assert found.log_likelihood(data) > stuck.log_likelihood(data) + 50
    # Seven free numbers for eight cells: where none of them ends at 0 or 1, the model says what the rows say.
    _, n = np.unique(np.column_stack(list(data.values())).astype(str), axis=0, return_counts=True)
    assert found.log_likelihood(data) == pytest.approx(float(n @ np.log(n / 300)), abs=1e-4)
    again = hidden_class().fit(data, method="em", smoothing="mle", tol=1e-9, max_iter=1000)
    assert np.array_equal(tables(again), tables(found))  # no column, and an empty one, are the same
    other = hidden_class().fit(data, method="em", smoothing="mle", random_state=5, n_init=4)
    assert len(other.starts_) == 4 and len(set(other.starts_)) == 4


def test_threads_and_trees_of_any_size_give_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    true = random_network(rng, 8, max_states=4)
    data = holed(true, rng, 4000)
    how = {"method": "em", "max_iter": 3, "tol": 0}
    one = bare(true).fit(data, **how)
    assert np.array_equal(tables(bare(true).fit(data, n_jobs=3, **how)), tables(one))
    few = {name: column[:60] for name, column in data.items()}
    whole = bare(true).fit(few, **how)
    monkeypatch.setattr(exact, "SMALL_TREE", 0)  # pattern by pattern
    assert tables(bare(true).fit(few, **how)) == pytest.approx(tables(whole), rel=1e-9)


def alarm_bell():
    network = BayesianNetwork({"fire": [], "heat": [], "bell": ["fire", "heat"]}, states=["no", "yes"])
    network.set_deterministic("bell", lambda fire, heat: "yes" if "yes" in (fire, heat) else "no")
    return network


def test_a_rule_stays_a_rule_and_a_row_against_it_is_named():
    data = {
        "fire": ["no", "no", None, "yes"],
        "heat": ["no", None, None, "no"],
        "bell": ["no", "yes", "yes", None],
    }
    found = alarm_bell().fit(data, method="em")
    assert np.array_equal(found.distribution("bell").table(), alarm_bell().distribution("bell").table())
    assert found.log_likelihood({"fire": ["no"], "heat": ["no"], "bell": ["yes"]}) == -math.inf
    data["fire"][3], data["bell"][3] = "yes", "no"
    with refuses(DataError, 3, "fire", "yes", "bell", "no"):
        alarm_bell().fit(data, method="em", n_init=2)
    data["heat"][3] = None
    with refuses(DataError, 3, "fire", "yes", "bell", "no"):
        alarm_bell().fit(data, method="em", hard=True)


def test_cells_on_their_way_to_zero_do_not_slow_the_tree():
    # A chain of copies: every wrong cell of five tables falls towards zero at every step.
    rng = np.random.default_rng(2)
    a = np.where(rng.random(200) < 0.5, "u", "v").astype(object)
    data = {f"x{i}": a.copy() for i in range(6)}
    for column in data.values():
        column[rng.random(200) < 0.3] = None
    network = BayesianNetwork({"x0": [], **{f"x{i}": [f"x{i - 1}"] for i in range(1, 6)}})
    network.fit(data, method="em", smoothing="mle", max_iter=300, tol=0)
    off = tables(network)[2:].reshape(5, 2, 2)[:, [0, 1], [1, 0]]
    assert (off == 0.0).all()


def test_log_likelihood_is_a_sum_over_rows():
    network = hidden_coin()
    rows = {"h": ["a", None, None], "x": ["yes", "yes", None]}
    assert network.log_likelihood(rows) == pytest.approx(math.log(0.6 * 0.2) + math.log(0.48), rel=1e-14)
    assert network.log_likelihood(rows, [2, 0, 1]) == pytest.approx(2 * math.log(0.12), rel=1e-14)
    never = hidden_coin(head=(0.0, 1.0))
    assert never.log_likelihood(rows) == -math.inf
    assert never.log_likelihood(rows, [0, 1, 1]) == pytest.approx(math.log(0.4))


def test_continuous_nodes_take_part():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 60), rng.normal(5, 1, 40)])
    x[::9] = np.nan
    network = BayesianNetwork({"h": [], "x": ["h"]}, states={"h": ["a", "b"], "x": float})
    network.fit({"x": x}, method="em", smoothing="mle", n_init=3)
    assert (np.diff(network.history_) >= -1e-9 * abs(network.history_[-1])).all()
    assert sorted(network.distribution("x").intercept) == pytest.approx([0, 5], abs=0.5)
    assert network.log_likelihood({"x": x}) == pytest.approx(max(network.history_), rel=1e-9)


def test_what_em_leaves_behind():
    data = latent(np.random.default_rng(1), 50)
    network = hidden_class()
    assert not hasattr(network, "history_")
    with warns_of(NotConverged, "max_iter=2", "warm_start=True") as told:
        network.fit(data, method="em", smoothing="mle", max_iter=2)
    assert told[0].filename == __file__
    with warns_of(NotConverged, "tol=0", "warm_start=True"):
        hidden_class().fit(data, method="em", smoothing="mle", time_limit=0.0, tol=0)
    assert not network.converged_ and network.n_iter_ == 2 and network.n_rows_ == 50
    assert pickle.loads(pickle.dumps(network)).history_ == network.history_
    first = network.history_[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network.fit(data, method="em", smoothing="mle", warm_start=True, max_iter=1000)
        assert network.history_[0] == pytest.approx(first, rel=1e-12)
    for verb in (network.partial_fit, network.forget):
        with refuses(UsageError, "EM", "fit", 'method="em"'):
            verb(data)
    whole = {**data, "h": ["a", "b"] * 25}
    with refuses(UsageError, "merge", "EM", "fit"):
        network.merge(hidden_class().fit(whole))
    with refuses(UsageError, "merge", "EM", "fit"):
        hidden_class().fit(whole).merge(network)
    network.fit(whole)  # counting again
    assert not hasattr(network, "history_")
    network.partial_fit(whole)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"method": "gibbs"}, SettingError, ["method", "gibbs", "em"]),
        ({"n_init": 3}, SettingError, ["n_init=3", "EM", 'method="em"']),
        ({"hard": True}, SettingError, ["hard=True", "EM"]),
        ({"method": "em", "n_init": 0}, SettingError, ["n_init", 0]),
        ({"method": "em", "tol": -1}, SettingError, ["tol", -1]),
        ({"method": "em", "max_iter": 0}, SettingError, ["max_iter", 0]),
        ({"method": "em", "random_state": "x"}, SettingError, ["random_state", "x"]),
        ({"method": "em", "hard": "no"}, SettingError, ["hard", "no"]),
        ({"method": "em", "n_jobs": 0}, SettingError, ["n_jobs", 0]),
        ({"method": "em", "start": 3}, SettingError, ["start", 3]),
        ({"method": "em", "start": hidden_coin(), "warm_start": True}, SettingError, ["warm_start", "start"]),
        ({"method": "em", "start": hidden_coin()}, Incompatible, ["start", "x0"]),
        ({"method": "em", "data": {"other": ["a"]}}, ColumnError, ["h", "x0", "x1"]),
        ({"method": "em", "data": {"x0": []}}, DataError, [0, "(0, 1)", 1]),
    ],
)
def test_settings_that_mean_nothing(arguments, error, says):
    data = arguments.get("data", {f"x{i}": ["no", "yes"] for i in range(3)})
    with refuses(error, *says):
        hidden_class().fit(data, **{name: value for name, value in arguments.items() if name != "data"})


def test_a_hidden_node_needs_its_states():
    network = BayesianNetwork({"h": [], "x": ["h"]})
    with refuses(ColumnError, "h", "states={'h': [...]}"):
        network.fit({"x": ["a", "b"]}, method="em")
    with refuses(ColumnError, "h", "states={'h': [...]}"):
        network.fit({"x": ["a", "b"], "h": [None, None]}, method="em")
