"""Structural EM: expected counts by enumeration, the law of its climb, complete rows, holes, hidden nodes, settings."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from bayeskit import BayesianNetwork, learn_network
from bayeskit._fitting.networks import expected_families
from bayeskit._fitting.networks.expected_families import ExpectedFamilies, ExpectedScores
from bayeskit._fitting.networks.network_em import RowPatterns
from bayeskit._fitting.search.family_scores import FamilyScores
from bayeskit._inference.exact import Exact
from bayeskit._inference.potentials import Potentials
from bayeskit._structure.search_protocol import Family, Score
from bayeskit.errors import BayeskitError, ColumnError, DataError, SettingError, SuspectResult
from bayeskit.networks import arc_strengths, asia, set_max_memory
from bayeskit.networks import score as network_score
from network_twin import random_network, spare
from outside import DATA
from refusals import refuses, warns_of

SCORES = ("bic", "aic", "loglik", "bdeu", "k2")


def learned(rows, **how):
    return learn_network(rows, "structural-em", **how)


def holed(rows, share, seed=0):
    """The rows of a table, each cell missing with the same probability."""
    rng = np.random.default_rng([seed, 7])
    found = {}
    for name in rows.columns:
        found[name] = np.array(rows[name], object)
        found[name][rng.random(len(rows)) < share] = None
    return found


def score_with_holes(graph, rows, cost):
    """log P(cells that are there) at its largest less what the parameters cost: EM and a query for each row."""
    states = {name: sorted({cell for cell in column if cell is not None}) for name, column in rows.items()}
    network = BayesianNetwork({node: graph.parents(node) for node in rows}, states=states)
    network.fit(rows, method="em", smoothing="mle", tol=1e-9, max_iter=2000)
    parameters = sum(
        (len(states[node]) - 1) * math.prod(len(states[p]) for p in graph.parents(node)) for node in rows
    )
    return network.log_likelihood(rows) - cost * parameters


# Expected counts.


def random_rows(network, rng, n, missing):
    codes = BayesianNetwork._of(network).sample(n, random_state=int(rng.integers(2**31)), as_codes=True)
    codes = np.asarray(codes, np.int64)
    codes[rng.random(codes.shape) < missing] = -1
    return codes, rng.integers(1, 4, n).astype(float)


def families_of(network, codes, weights):
    whole = (codes >= 0).all(axis=1)
    sizes = network.sizes_of(network.dag.nodes)
    held = spare(codes, sizes)
    parts = [RowPatterns.of(held[k], sizes, weights[k], np.flatnonzero(k)) for k in (whole, ~whole)]
    return ExpectedFamilies(Exact(Potentials.of(network)), *parts)


def joint_of(network):
    """P of every configuration, an axis for each node, by multiplying out."""
    position = network.dag.position
    sizes = [node.variable.size for node in network.nodes]
    joint = np.ones(sizes)
    for k, node in enumerate(network.nodes):
        axes = [*(position[p] for p in node.parents), k]
        table = node.distribution.table().transpose(np.argsort(axes))
        joint = joint * table.reshape([sizes[v] if v in axes else 1 for v in range(len(sizes))])
    return joint


def counted_by_hand(joint, codes, weights):
    """Expected counts of every configuration of all nodes together."""
    total = np.zeros(joint.shape)
    for row, weight in zip(codes, weights, strict=True):
        seen = tuple(slice(None) if code < 0 else slice(code, code + 1) for code in row)
        total[seen] += weight * joint[seen] / joint[seen].sum()
    return total


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]), st.booleans())
def test_expected_counts_are_those_of_all_completions(seed, zeros, few_at_once):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=5, zeros=zeros)
    codes, weights = random_rows(network, rng, 12, 0.4)
    families = families_of(network, codes, weights)
    if few_at_once:
        families._most_rows = 3
    total = counted_by_hand(joint_of(network), codes, weights)
    for family in [*itertools.permutations(range(5), 2), *itertools.permutations(range(5), 4), (3,)]:
        beside = tuple(v for v in range(5) if v not in family)
        expected = total.sum(axis=beside).transpose(np.argsort(np.argsort(family)))
        np.testing.assert_allclose(families.table(family), expected, rtol=1e-10, atol=1e-12)


def test_what_is_kept_changes_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    network = random_network(rng, n_nodes=6)
    codes, weights = random_rows(network, rng, 60, 0.3)
    sets = [*itertools.combinations(range(6), 3)]
    kept = [families_of(network, codes, weights).table(some) for some in sets]
    monkeypatch.setattr(expected_families, "KEPT", 0)
    families = families_of(network, codes, weights)
    for some, table in zip(sets, kept, strict=True):
        np.testing.assert_allclose(families.table(some), table, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_complete_rows_are_the_scores_of_counts(name):
    rng = np.random.default_rng(5)
    network = random_network(rng, n_nodes=6)
    codes, _ = random_rows(network, rng, 200, 0.0)
    score = Score(name, 3.0)
    expected = ExpectedScores(families_of(network, codes, np.ones(200)), score, 200.0)
    counted = FamilyScores(
        codes.T.astype(np.uint8), np.array([n.variable.size for n in network.nodes]), score
    )
    question = [Family(0, 0b110, (3, 4, 5)), Family(2, 0b1011), Family(4, 0), Family(5, 0b1, (1, 2))]
    for mine, theirs in zip(expected(question), counted(question), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_likelihood_rises_as_much_as_is_expected(seed):
    """Friedman's law: log P(o | G', θ') − log P(o | G, θ) ≥ Σ n̄' log θ' − Σ n̄ log θ for any two graphs."""
    rng = np.random.default_rng(seed)
    old = random_network(rng, n_nodes=5, max_states=3)
    codes, weights = random_rows(old, rng, 40, 0.3)
    families = families_of(old, codes, weights)
    position = old.dag.position
    new, expected = np.ones(joint_of(old).shape), 0.0
    for k, node in enumerate(old.nodes):
        mine = [position[p] for p in node.parents]
        before = families.table([*mine, k])
        expected -= (before * np.log(node.distribution.table())).sum()
        # Another graph: of each family's parents, those that stand before the child.
        some = [v for v in range(k) if rng.random() < 0.5]
        n = families.table([*some, k])
        theta = n / np.maximum(n.sum(axis=-1, keepdims=True), 1e-300)
        expected += (n[n > 0] * np.log(theta[n > 0])).sum()
        new = new * theta.reshape([new.shape[v] if v in (*some, k) else 1 for v in range(5)])

    def likelihood(joint):
        cells = [joint[tuple(slice(None) if c < 0 else c for c in row)].sum() for row in codes]
        return weights @ np.log(cells)

    assert likelihood(new) - likelihood(joint_of(old)) >= expected - 1e-8


# The whole of it.


@pytest.mark.parametrize("score", ["bic", "aic", "bdeu", "k2"])
def test_complete_rows_are_climbed(score):
    """Nothing is missing, so it begins where the default search ends, and scores are those of the rows."""
    rows = asia().sample(1_500, random_state=3)
    found = learned(rows, criterion=score)
    climbed = learn_network(rows, "auto", score, max_parents=3)
    assert found.history_[0] == pytest.approx(network_score(climbed, rows, score), rel=1e-11)
    assert found.history_[-1] == pytest.approx(network_score(found, rows, score), rel=1e-11)
    best = network_score(learn_network(rows, "tabu", score, max_parents=3), rows, score)
    assert found.history_[-1] >= best - 1e-8 * abs(best)
    assert found.converged_
    tables = found.copy().fit(rows)
    for node in found.nodes:
        assert found.cpt(node).values == pytest.approx(tables.cpt(node).values, abs=1e-12)


@pytest.mark.parametrize(("share", "seed"), [(0.1, 0), (0.2, 1)])
def test_asia_with_holes(share, seed):
    rows = holed(asia().sample(2_000, random_state=seed), share, seed)
    cost = 0.5 * math.log(2_000)
    found = learned(rows)
    assert found.converged_
    # The graph of the complete rows alone, which it begins from: not worse, and the first value is that graph's own.
    of_complete = score_with_holes(learn_network(rows, max_parents=3), rows, cost)
    assert found.history_[0] == pytest.approx(of_complete, abs=0.1)
    assert found.history_[-1] == pytest.approx(score_with_holes(found, rows, cost), abs=0.1)
    assert found.history_[-1] >= of_complete - 0.1
    # Of eight true arcs, asia → tub is too weak for 2,000 rows.
    assert found.shd(asia()) <= 4
    assert {frozenset(arc) for arc in found.arcs} >= {
        frozenset(pair) for pair in [("tub", "either"), ("lung", "either"), ("either", "xray")]
    }


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SCORES), st.sampled_from([0.1, 0.4]), st.booleans())
def test_the_score_of_the_rows_rises(seed, score, share, from_nothing):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n_nodes=5, max_states=3)
    rows = holed(BayesianNetwork._of(network).sample(60, random_state=seed % 2**31), share, seed)
    states = {node.name: node.variable.states for node in network.nodes}
    found = learned(rows, criterion=score, states=states, start={} if from_nothing else None, smoothing="mle")
    assert (np.diff(found.history_) > 0).all()
    if score in ("bic", "aic", "loglik"):
        cost = {
            "bic": 0.5
            * math.log(sum(any(c is not None for c in row) for row in zip(*rows.values(), strict=True)))
        }
        each = cost.get(score, 1.0 if score == "aic" else 0.0)
        parameters = sum(
            (len(states[node]) - 1) * math.prod(len(states[p]) for p in found.parents(node))
            for node in found.nodes
        )
        # Its tables, fitted a little longer, by another way to reckon the likelihood.
        assert found.log_likelihood(rows) - each * parameters == pytest.approx(found.history_[-1], abs=5e-3)


def test_the_evidence_by_cheeseman_and_stutz():
    # Three heads, one tail, two throws not looked at; ess 2, so one imaginary throw of each.
    rows = {"coin": ["h"] * 3 + ["t"] + [None] * 2, "day": ["a"] * 6}
    theta = np.array([3 + 1, 1 + 1]) / 6
    filled = np.array([3.0, 1.0]) + 2 * theta
    evidence = (gammaln(1 + filled)).sum() + gammaln(2) - gammaln(2 + filled.sum())
    expected = evidence - 2 * theta @ np.log(theta)
    assert learned(rows, criterion="bdeu", ess=2.0).history_[-1] == pytest.approx(expected, abs=1e-5)


def test_neither_order_nor_names_of_columns_matter():
    rows = holed(asia().sample(400, random_state=5), 0.2)
    first = learned(rows)
    assert len(first.arcs) >= 4
    rng = np.random.default_rng(0)
    for _ in range(3):
        order = rng.permutation(list(rows))
        new = dict(zip(order, rng.permutation([f"c{k}" for k in range(8)]), strict=True))
        again = learned({new[name]: rows[name] for name in order})
        assert {(new[a], new[b]) for a, b in first.arcs} == {*again.arcs}
        np.testing.assert_allclose(again.history_, first.history_, rtol=1e-9)
        for name in rows:
            assert again.query(new[name]).values == pytest.approx(first.query(name).values, abs=1e-6)


def test_empty_rows_and_rows_without_weight_say_nothing():
    rows = holed(asia().sample(400, random_state=6), 0.2)
    first = learned(rows)
    more = {name: np.concatenate([column, column[:50], [None] * 30]) for name, column in rows.items()}
    weights = np.concatenate([np.ones(400), np.zeros(50), np.ones(30)])
    again = learned(more, sample_weight=weights)
    assert again.arcs == first.arcs and again.history_ == pytest.approx(first.history_, rel=1e-9)
    twice = {name: np.concatenate([column, column]) for name, column in rows.items()}
    doubled = learned(rows, sample_weight=np.full(400, 2.0))
    again = learned(twice)
    assert doubled.arcs == again.arcs and doubled.history_ == pytest.approx(again.history_, rel=1e-9)


def latent(n=1500, seed=0):
    """Rows of a naive Bayes whose class was not written down."""
    rng = np.random.default_rng(seed)
    h = rng.integers(2, size=n)
    return {f"x{k}": np.where(rng.random(n) < np.where(h, 0.85, 0.2), "yes", "no") for k in range(5)}


def test_a_hidden_node_takes_part():
    rows = latent()
    found = learned(rows, states={"h": ["a", "b"]}, random_state=1)
    joined = {frozenset(arc) for arc in found.arcs}
    assert joined == {frozenset(("h", name)) for name in rows}  # the graph the rows were drawn from
    assert found.history_[-1] > learned(rows).history_[-1] + 10 and len(found.starts_) == 10
    empty = learned(rows | {"h": [None] * 1500}, states={"h": ["a", "b"]}, random_state=1)
    assert empty == found
    # None is invented, and one that begins alone stays alone.
    alone = learned(rows, states={"h": ["a", "b"]}, start={})
    assert not any("h" in arc for arc in alone.arcs)


def test_limits_are_kept():
    rows = holed(asia().sample(600, random_state=2), 0.15)
    required, forbidden = [("asia", "xray")], [("either", "xray"), ("xray", "either")]
    found = learned(rows, required=required, forbidden=forbidden, restarts=2)
    assert ("asia", "xray") in found.arcs and not {*forbidden} & {*found.arcs}
    tiers = [["asia", "smoke"], ["tub", "lung", "bronc", "either"], ["xray", "dysp"]]
    level = {name: k for k, tier in enumerate(tiers) for name in tier}
    found = learned(rows, tiers=tiers)
    assert found.arcs and all(level[a] <= level[b] for a, b in found.arcs)
    crowded = {"dysp": ["asia", "tub", "smoke", "lung"]}
    assert max(len(learned(rows, criterion="loglik").parents(node)) for node in rows) == 3
    for start, limits, message in [
        (crowded, {}, ["dysp", "max_parents", 3]),
        (
            [("asia", "tub")],
            {"forbidden": [("asia", "tub")]},
            ["start", "'asia' → 'tub'", "forbidden=", "tiers="],
        ),
        ([("asia", "tub")], {"required": [("tub", "asia")]}, ["cycle", "'asia' → 'tub' → 'asia'"]),
        ({"asia": ["moon"]}, {}, ["start", "moon"]),
    ]:
        with refuses(SettingError, *message):
            learned(rows, start=start, **limits)


def test_time_is_up():
    rows = holed(asia().sample(800, random_state=4), 0.2)
    with warns_of(SuspectResult, "time limit"):
        found = learned(rows, time_limit=0.0)
    assert np.isfinite(found.log_likelihood(rows)) and np.isfinite(found.history_).all()
    assert not found.converged_


def test_too_little_memory_is_told():
    rows = holed(asia().sample(200, random_state=4), 0.2)
    before = set_max_memory(1000)
    try:
        with warns_of(SuspectResult, "set_max_memory"):
            found = learned(rows)
    finally:
        set_max_memory(before)
    assert not found.converged_ and len(found.nodes) == 8


@pytest.mark.parametrize(
    ("rows", "how", "error", "message"),
    [
        ({"a": ["x", None], "b": [1.5, 2.0]}, {}, ColumnError, ["b", "continuous", "states={'b': [...]}"]),
        (
            {"a": ["x", None]},
            {"states": {"h": float}},
            ColumnError,
            ["h", "continuous", "states={'h': [...]}"],
        ),
        ({"a": ["x", None]}, {"states": {"h": "ab"}}, SettingError, ["h", "ab"]),
        ({"a": [None, None]}, {"states": {"a": ["x", "y"]}}, DataError, ["missing"]),
        ({"a": ["x", "y"]}, {"criterion": "bds"}, SettingError, ['criterion="bds"', "bdeu"]),
        (
            {"a": ["x", "y"]},
            {"significance": 0.1},
            SettingError,
            ["significance", 0.1, "method='structural-em'"],
        ),
        (
            {"a": ["x", "y"]},
            {"max_memory": 10},
            SettingError,
            ["max_memory", 'method="exact"', "structural-em"],
        ),
        ({"a": ["x", "y"]}, {"start": "empty"}, SettingError, ["str", "DiGraph"]),
    ],
)
def test_what_cannot_be_done_is_said(rows, how, error, message):
    with refuses(error, *message) as raised:
        learned(rows, **how)
    assert isinstance(raised.value, BayeskitError)


def test_only_learn_network_takes_it():
    with refuses(SettingError, "start", "method='tabu'", "structural-em"):
        learn_network({"a": ["x", "y"]}, "tabu", start={})
    with refuses(SettingError, "method='structural-em'", "learn_network"):
        arc_strengths({"a": ["x", "y"]}, method="structural-em")


def test_small_tables_are_learned():
    assert learned({"a": ["x", "y", None]}).arcs == []
    assert len(learned({"a": ["x", "x", None], "b": ["u", None, "v"]}).arcs) == 0  # one state
    never_both = learned({"a": ["x", None, "y", None], "b": [None, "u", None, "v"]})
    assert never_both.arcs == [] and never_both.converged_


@pytest.mark.skipif(not DATA.exists(), reason="needs BAYESKIT_DATA")
@pytest.mark.parametrize("place", [0, 1])
def test_rows_that_other_software_was_given(place):
    """pyAgrum's largest likelihood of the true graph is where the climb from it begins."""
    import pandas as pd

    case = json.loads((DATA / "golden" / "em" / "network_missing.json").read_text(encoding="utf-8"))[place]
    rows = pd.read_parquet(DATA / "golden" / "em" / case["file"])
    states = case["levels"]
    parents = {node: [a for a, b in case["arcs"] if b == node] for node in states}
    parameters = sum((len(states[v]) - 1) * math.prod(len(states[p]) for p in parents[v]) for v in states)
    theirs = case["pyagrum"]["observed_loglik"] - 0.5 * math.log(2_000) * parameters
    from_truth = learned(rows, states=states, start=parents)
    assert from_truth.history_[0] == pytest.approx(theirs, abs=0.02)
    found = learned(rows, states=states)
    assert found.history_[-1] >= theirs - 0.02
    if case["data"] == "learning.test":
        assert found.shd(BayesianNetwork(parents)) == 0
