"""Dynamic networks: against enumeration of the unrolled network, a book, hidden Markov models; bad input."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from bayeskit import BayesianNetwork, DynamicNetwork, HiddenMarkov
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit.errors import (
    ColumnError,
    CyclicGraph,
    DataError,
    DataTypeError,
    Incompatible,
    NotConverged,
    SettingError,
    TooLarge,
    UnseenState,
    UsageError,
)
from bayeskit.networks import Table
from network_twin import joint_table, margin, with_evidence
from refusals import refuses, warns_of

# The largest joint table that is enumerated.
MOST_CELLS = 30_000


def umbrella():
    """Russell and Norvig, Artificial Intelligence, section 14.2 (15.2 in the third edition)."""
    two = BayesianNetwork(
        {"rain[t-1]": [], "rain": ["rain[t-1]"], "umbrella": ["rain"]}, states=["no", "yes"]
    )
    two.set_cpt("rain[t-1]", [0.5, 0.5])
    two.set_cpt("rain", [[0.7, 0.3], [0.3, 0.7]])
    two.set_cpt("umbrella", [[0.8, 0.2], [0.1, 0.9]])
    return DynamicNetwork(two)


def random_table(rng, shape):
    table = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    if rng.random() < 0.3:  # zeros
        table = table * (rng.random(shape) < 0.7) + 1e-12
        table /= table.sum(axis=-1, keepdims=True)
        table[table < 1e-9] = 0.0
        table /= table.sum(axis=-1, keepdims=True)
    return table


def random_dynamic(rng):
    """Return a dynamic network of one to four nodes with arcs within a slice and from the one before."""
    n = int(rng.integers(1, 5))
    sizes = rng.integers(1, 4, n)
    names = [f"n{v}" for v in range(n)]
    variables = [[f"s{i}" for i in range(size)] for size in sizes]
    nodes, order = [], rng.permutation(n)
    before = {
        v: [int(u) for u in rng.choice(n, int(rng.integers(0, min(n, 2) + 1)), replace=False)]
        for v in range(n)
    }
    within = {int(v): [int(u) for u in order[:i] if rng.random() < 0.4] for i, v in enumerate(order)}
    needed = {u for parents in before.values() for u in parents} | {v for v in range(n) if before[v]}
    while True:  # parents of nodes of the first slice are there, too
        more = {u for v in needed for u in within[v]} - needed
        if not more:
            break
        needed |= more
    for v in order:
        if v in needed:
            parents = [u for u in within[v] if u in needed]
            shape = (*(sizes[u] for u in parents), sizes[v])
            nodes.append(
                Node(
                    discrete(f"{names[v]}[t-1]", variables[v]),
                    tuple(f"{names[u]}[t-1]" for u in parents),
                    Table(random_table(rng, shape)),
                )
            )
    for v in range(n):
        parents = [f"{names[u]}[t-1]" for u in before[v]] + [names[u] for u in within[v]]
        shape = (*(sizes[u] for u in (*before[v], *within[v])), sizes[v])
        nodes.append(Node(discrete(names[v], variables[v]), tuple(parents), Table(random_table(rng, shape))))
    return DynamicNetwork(BayesianNetwork._of(Network(tuple(nodes))))


def random_rows(rng, network, steps):
    hidden = {name for name in network.nodes if rng.random() < 0.4}
    return {
        name: [
            None if name in hidden or rng.random() < 0.3 else str(rng.choice(network.states(name)))
            for _ in range(steps)
        ]
        for name in network.nodes
    }


def evidence_of(network, flat, rows, until):
    position = flat.dag.position
    return {
        position[f"{name}[{t}]"]: network.states(name).index(cell)
        for name, column in rows.items()
        for t, cell in enumerate(column[:until])
        if cell is not None
    }


def check_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    network = random_dynamic(rng)
    cells = math.prod(len(network.states(name)) for name in network.nodes)
    steps = 1
    while steps < 5 and cells ** (steps + 2) <= MOST_CELLS:
        steps += 1
    rows = random_rows(rng, network, steps)
    flat = network.unroll(steps + 1)._network
    joint = joint_table(flat)
    np.testing.assert_allclose(joint.sum(), 1.0)
    position = flat.dag.position
    seen = with_evidence(joint, evidence_of(network, flat, rows, steps))
    total = seen.sum()
    if total == 0.0:
        assert network.log_probability(rows) == -math.inf
        for ask in (network.smooth, network.mpe, network.expected_counts):
            with refuses(DataError, 0):
                ask(rows)
        return False
    tight = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(network.log_probability(rows), math.log(total), rtol=1e-12, atol=1e-12)
    smoothed, ahead = network.smooth(rows), network.predict(rows, 1)
    live = [{name: rows[name][t] for name in rows} for t in range(steps)]
    filtered, stepped = list(network.filter(rows)), list(network.filter(iter(live)))
    for name in network.nodes:
        np.testing.assert_allclose(
            ahead[name][0], margin(seen, position[f"{name}[{steps}]"]) / total, **tight
        )
        for t in range(steps):
            place = position[f"{name}[{t}]"]
            np.testing.assert_allclose(smoothed[name][t], margin(seen, place) / total, **tight)
            past = with_evidence(joint, evidence_of(network, flat, rows, t + 1))
            np.testing.assert_allclose(filtered[t][name], margin(past, place) / past.sum(), **tight)
            np.testing.assert_allclose(stepped[t][name], filtered[t][name], **tight)
    counts = network.expected_counts(rows)
    for v, name in enumerate(network.nodes):
        for part, scopes, slices in (
            (counts.first, network._families.first, [0]),
            (counts.later, network._families.later, range(1, steps)),
        ):
            n, told = len(network.nodes), np.zeros_like(part[name])
            for t in slices:
                axes = [position[f"{network.nodes[u % n]}[{t - (u < n)}]"] for u in scopes[v]]
                told += margin(seen, *axes) / total
            np.testing.assert_allclose(part[name], told, **tight)
    # The step after the last is not asked for: sum it out, then maximise.
    last = tuple(position[f"{name}[{steps}]"] for name in network.nodes)
    ends = seen.sum(axis=last)
    best = network.mpe(rows)
    np.testing.assert_allclose(best.log_probability, math.log(ends.max()), rtol=1e-12, atol=1e-12)
    kept = [place for place in range(seen.ndim) if place not in last]
    at = [0] * len(kept)
    for name in network.nodes:
        for t in range(steps):
            at[kept.index(position[f"{name}[{t}]"])] = network.states(name).index(best[name][t])
    np.testing.assert_allclose(ends[tuple(at)], ends.max(), rtol=1e-12)
    return True


@pytest.mark.parametrize("part", range(8))
def test_random_networks_equal_enumeration(part):
    assert sum(check_against_enumeration(seed) for seed in range(10 * part, 10 * part + 10)) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_random_networks_equal_enumeration(part):
    for seed in range(1_000 + 500 * part, 1_000 + 500 * (part + 1)):
        check_against_enumeration(seed)


def test_the_umbrella_world():
    world, seen = umbrella(), {"umbrella": ["yes", "yes"]}
    steps = [step["rain"][1] for step in world.filter(seen)]
    # ⟨0.45, 0.1⟩ → 9/11; 0.7·9/11 + 0.3·2/11 = 69/110, ⟨0.9·69/110, 0.2·41/110⟩ → 621/703
    np.testing.assert_allclose(steps, [9 / 11, 621 / 703], rtol=1e-14)
    # The message back is ⟨0.69, 0.41⟩: 9·0.69 : 2·0.41
    np.testing.assert_allclose(world.smooth(seen)["rain"][:, 1], [6.21 / 7.03, 621 / 703], rtol=1e-14)
    long = world.mpe({"umbrella": ["yes", "yes", "no", "yes", "yes"]})
    assert long["rain"].tolist() == ["yes", "yes", "no", "yes", "yes"]
    assert world.interface == ("rain",)
    far = world.predict(seen, 60)["rain"]
    np.testing.assert_allclose(far[-1], [0.5, 0.5], atol=1e-12)


def test_a_hidden_markov_model_is_a_special_case():
    rng = np.random.default_rng(4)
    k, m = 3, 4
    start, move, emit = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(m), k)
    model = HiddenMarkov.of(start, move, emissionprob=emit, categories=[*"abcd"])
    two = BayesianNetwork(
        {"z[t-1]": [], "z": ["z[t-1]"], "x": ["z"]},
        states={"z[t-1]": range(k), "z": range(k), "x": [*"abcd"]},
    )
    for name, table in (("z[t-1]", start), ("z", move), ("x", emit)):
        two.set_cpt(name, table)
    network = DynamicNetwork(two)
    x = [[str(c) if rng.random() > 0.1 else None for c in rng.choice([*"abcd"], n)] for n in (300, 1, 40)]
    tables = [{"x": one} for one in x]
    assert math.isclose(network.log_probability(tables), model.score(x), rel_tol=1e-13)
    for one, other in zip(network.smooth(tables)["z"], model.predict_proba(x), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)
    # Where x is missing, the most probable explanation includes it, and a path of states does not.
    whole = [[c for c in one if c is not None] for one in x]
    for one, other in zip(network.mpe([{"x": c} for c in whole])["z"], model.predict(whole), strict=True):
        np.testing.assert_array_equal(one, other)
    counts, told = network.expected_counts(tables), model.expected_counts(x)
    np.testing.assert_allclose(counts.later["z"], told.transitions, atol=1e-10)
    np.testing.assert_allclose(counts.first["z"], told.starts, atol=1e-12)
    np.testing.assert_allclose(
        counts.first["x"] + counts.later["x"] - _missing_part(network, tables),
        told.emissions[0][:-1].T,
        atol=1e-9,
    )
    # EM makes the same steps; a missing observation changes the network's M-step by nothing.
    with warns_of(NotConverged):
        network.fit([{"x": one} for one in whole], max_iter=3, tol=1e-15)
    again = HiddenMarkov(k, categories=[*"abcd"], max_iter=3, tol=1e-15)
    with warns_of(NotConverged):
        again.fit(whole, start=model)
    fitted = network.to_network()
    np.testing.assert_allclose(fitted.cpt("z").values, again.transmat_, atol=1e-12)
    np.testing.assert_allclose(fitted.cpt("z[t-1]").values, again.startprob_, atol=1e-12)
    np.testing.assert_allclose(fitted.cpt("x").values, again.emissionprob_, atol=1e-12)
    np.testing.assert_allclose(network.history_, again.history_, rtol=1e-13)


def _missing_part(network, tables):
    """Return the expected counts of (z, x) in the steps where x is missing: P(z) · P(x | z)."""
    emit = network.to_network().cpt("x").values
    total = np.zeros_like(emit)
    for table, smoothed in zip(tables, network.smooth(tables)["z"], strict=True):
        free = [cell is None for cell in table["x"]]
        total += smoothed[free].sum(axis=0)[:, None] * emit
    return total


def test_em_never_falls_and_complete_rows_are_counted():
    world = umbrella()
    drawn = world.sample(300, random_state=1)
    start = world.to_network()
    start.set_cpt("rain", [[0.6, 0.4], [0.45, 0.55]])
    learned = DynamicNetwork(start).fit({"umbrella": drawn["umbrella"]}, smoothing=0.5, tol=1e-7)
    assert (np.diff(learned.history_) > -1e-9).all() and len(learned.history_) > 3
    learned = DynamicNetwork(start).fit(drawn)
    rain = drawn["rain"]
    stay = [np.mean(rain[1:][rain[:-1] == s] == s) for s in ("no", "yes")]
    np.testing.assert_allclose(np.diag(learned.to_network().cpt("rain").values), stay, rtol=1e-12)
    wet = [np.mean(drawn["umbrella"][rain == s] == "yes") for s in ("no", "yes")]
    np.testing.assert_allclose(learned.to_network().cpt("umbrella").values[:, 1], wet, rtol=1e-12)
    bare = BayesianNetwork(
        {"rain[t-1]": [], "rain": ["rain[t-1]"], "umbrella": ["rain"]}, states=["no", "yes"]
    )
    one, two = (DynamicNetwork(bare).fit(drawn, n_init=2, random_state=3) for _ in range(2))
    assert one.to_network() == two.to_network() and one.history_ == two.history_


def test_counts_of_parts_add_up():
    world, rng = umbrella(), np.random.default_rng(0)
    parts = [[random_rows(rng, world, n) for n in (3, 1)], [random_rows(rng, world, 5)]]
    whole = world.expected_counts([*parts[0], *parts[1]])
    merged = world.expected_counts(parts[0]).merge(world.expected_counts(parts[1]))
    for mine, its in ((whole.first, merged.first), (whole.later, merged.later)):
        for name in mine:
            np.testing.assert_allclose(mine[name], its[name], atol=1e-13)
    assert math.isclose(whole.log_probability, merged.log_probability, abs_tol=1e-12)
    with refuses(UsageError):
        world.forget(parts[0])
    two = BayesianNetwork({"x": []}, states=["a"])
    two.set_cpt("x", [1.0])
    with refuses(Incompatible):
        whole.merge(DynamicNetwork(two).expected_counts({"x": ["a"]}))


def test_files_and_unrolling(tmp_path):
    world = umbrella()
    world.to_network().write(tmp_path / "world.json")
    again = DynamicNetwork.read(tmp_path / "world.json")
    assert again.to_network() == world.to_network() and again.unroll(3) == world.unroll(3)
    assert world.unroll(2).nodes == ("rain[0]", "umbrella[0]", "rain[1]", "umbrella[1]")
    prior = BayesianNetwork({"rain": [], "umbrella": ["rain"]}, states=["no", "yes"])
    prior.set_cpt("rain", [0.9, 0.1])
    prior.set_cpt("umbrella", [[1.0, 0.0], [0.5, 0.5]])
    other = DynamicNetwork(world.to_network(), prior)
    np.testing.assert_allclose(other.predict(None, 1)["umbrella"], [[0.95, 0.05]])
    assert DynamicNetwork(other.to_network()).unroll(3) == other.unroll(3)


def test_sequences_in_a_frame():
    world = umbrella()
    frame = pd.DataFrame({"who": [*"abab"], "umbrella": ["yes", "no", "yes", None]})
    told = world.smooth([{"umbrella": ["yes", "yes"]}, {"umbrella": ["no", None]}])["rain"]
    found = world.smooth(frame, sequence="who")["rain"]
    np.testing.assert_allclose(found[[0, 2]], told[0])
    np.testing.assert_allclose(found[[1, 3]], told[1])
    np.testing.assert_allclose(
        world.smooth({"umbrella": ["yes", "yes", "no", None]}, [2, 2])["rain"][:2], told[0]
    )


def test_a_long_sequence_does_not_underflow():
    world = umbrella()
    drawn = world.sample(20_000, random_state=2)
    assert -30_000 < world.log_probability({"umbrella": drawn["umbrella"]}) < -9_000
    smoothed = world.smooth({"umbrella": drawn["umbrella"]}, targets="rain")["rain"]
    np.testing.assert_allclose(smoothed.sum(axis=1), 1.0)
    assert np.mean((smoothed[:, 1] > 0.5) == (drawn["rain"] == "yes")) > 0.8


def test_arcs_against_time_and_other_slices_are_refused():
    def two(parents, states=("no", "yes")):
        network = BayesianNetwork(parents, states=list(states))
        return DynamicNetwork(network)

    with refuses(SettingError, "x", "x[t-1]"):
        two({"x": [], "x[t-1]": ["x"]})
    with refuses(SettingError, "y[t-1]", "y"):
        two({"x": ["y[t-1]"]})
    with refuses(SettingError, "x", "x[t-1]", "prior="):
        two({"x": ["y[t-1]"], "y": []})
    with refuses(CyclicGraph, "x", "y"):
        two({"x": ["y"], "y": ["x"]})
    with refuses(SettingError, "x[t-1]"):
        DynamicNetwork(BayesianNetwork({"x": ["x[t-1]"]}, states={"x": ["a", "b"], "x[t-1]": ["b", "a"]}))
    with refuses(SettingError, "x", "HiddenMarkov"):
        DynamicNetwork(BayesianNetwork({"x": []}, states=float))
    with refuses(SettingError, "network", 3):
        DynamicNetwork(3)
    with refuses(SettingError):
        two({"x[t-1]": []})
    with refuses(UsageError, "x"):
        DynamicNetwork(BayesianNetwork({"x": ["x[t-1]"]}))
    with refuses(UsageError, "x[t-1]"):
        two({"x": ["x[t-1]"]}).log_probability({"x": ["no"]})
    for other in ("x[t-2]", "x[t+1]", "x[t]"):
        with refuses(SettingError, other):
            two({other: [], "x": [other]})
    prior = BayesianNetwork({"z": []}, states=["no", "yes"])
    with refuses(SettingError, "z", "rain"):
        DynamicNetwork(umbrella().to_network(), prior)


def test_bad_rows_are_refused():
    world = umbrella()
    with refuses(ColumnError, "rain", "umbrella"):
        world.smooth({"sky": ["blue"]})
    with refuses(UnseenState, "umbrella", "maybe", None) as caught:
        world.smooth({"umbrella": ["maybe"]})
    assert "unseen=" not in str(caught.value)  # no question here has it
    with refuses(UnseenState, "umbrella", "maybe", 1):
        list(world.filter(iter([{"umbrella": "yes"}, {"umbrella": "maybe"}])))
    with refuses(SettingError, "2,000,000,000", "smooth"):
        world.unroll(10**9)
    with refuses(DataError):
        world.smooth({"umbrella": []})
    with refuses(DataError, 2):
        world.filter([{"umbrella": ["yes"]}, {"umbrella": ["no"]}])
    with refuses(DataTypeError, 0, "yes"):
        list(world.filter(iter(["yes"])))
    with refuses(SettingError, "sky"):
        list(world.filter(iter([{"sky": "blue"}])))
    with refuses(SettingError, "sky"):
        world.smooth({"umbrella": ["yes"]}, targets=["sky"])
    with refuses(SettingError, "steps", 0):
        world.predict(None, 0)
    with refuses(SettingError, "smoothing", -1):
        world.fit({"umbrella": ["yes"]}, smoothing=-1)
    with refuses(TooLarge, "rain"):
        world.smooth({"umbrella": ["yes", "no"]}, max_memory=10)
    # Every cell missing: what the network says by itself.
    np.testing.assert_allclose(world.smooth({"umbrella": [None] * 3})["rain"], np.full((3, 2), 0.5))
    assert math.isclose(world.log_probability({"umbrella": [None]}), 0.0, abs_tol=1e-15)
    np.testing.assert_allclose(next(world.filter(iter([{}])))["rain"], [0.5, 0.5])


def test_sequences_without_steps_are_named():
    for nothing, number in (({"umbrella": []}, 0), ([{"umbrella": ["yes"]}, {"umbrella": []}], 1)):
        with refuses(DataError, number):
            umbrella().smooth(nothing)
