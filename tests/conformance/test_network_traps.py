"""Traps, through the doors that users come in by: odd shapes, odd names, odd evidence, edits, threads, long chains."""

from __future__ import annotations

import copy
import math
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayeskit import BayesianNetwork, MarkovNetwork, read_network
from bayeskit.errors import (
    BayeskitError,
    DataError,
    ImpossibleEvidence,
    SettingError,
    SuspectResult,
    TooLarge,
    UnseenState,
)
from bayeskit.networks import Not
from network_twin import long_chain
from refusals import refuses, warns_of
from work import check_growth

NAMES = [
    "self",
    "evidence",
    "class",
    "None",
    "nan",
    "",
    " ",
    "湿",
    "a b",
    0,
    1.5,
    ("a", 1),
    True,
    frozenset("x"),
]
LONG = 10_000


def wet_grass(rain="rain", sprinkler="sprinkler", joe="joe", wet="wet"):
    network = BayesianNetwork(
        {rain: [], sprinkler: [], joe: [rain], wet: [rain, sprinkler]}, states=["no", "yes"]
    )
    network.set_cpt(rain, [0.8, 0.2])
    network.set_cpt(sprinkler, [0.9, 0.1])
    network.set_cpt(joe, [[0.8, 0.2], [0, 1]])
    network.set_cpt(wet, [[[1, 0], [0.1, 0.9]], [[0, 1], [0, 1]]])
    return network


def ask_everything(network, target, evidence):
    """Ask each verb once; return what can be compared."""
    states = list(network.states(target))
    return [
        network.query(target, evidence=evidence).values,
        network.posteriors(evidence)[target],
        network.log_probability(evidence),
        network.predict_proba({name: [value] for name, value in evidence.items()}, target)[0],
        states.index(network.map(target, evidence)[target]),
        states.index(network.mpe(evidence)[target]),
    ]


def same(a, b):
    return all(np.allclose(x, y, rtol=1e-12, atol=1e-13) for x, y in zip(a, b, strict=True))


# Shapes


def test_parts_that_nothing_connects_are_independent():
    """Two lawns, an isolated coin and a node of one state: each part answers as it does alone."""
    both = BayesianNetwork(
        {
            **{n: [] for n in ("r", "s", "R", "S", "coin", "sure")},
            "j": ["r"],
            "w": ["r", "s"],
            "J": ["R"],
            "W": ["R", "S"],
        },
        states={**{n: ["no", "yes"] for n in "rsjwRSJW"}, "coin": ["h", "t"], "sure": ["only"]},
    )
    for rain, sprinkler, joe, wet in ("rsjw", "RSJW"):
        both.set_cpt(rain, [0.8, 0.2])
        both.set_cpt(sprinkler, [0.9, 0.1])
        both.set_cpt(joe, [[0.8, 0.2], [0, 1]])
        both.set_cpt(wet, [[[1, 0], [0.1, 0.9]], [[0, 1], [0, 1]]])
    both.set_cpt("coin", [0.25, 0.75])
    both.set_cpt("sure", [1.0])
    alone = wet_grass()
    seen = {"w": "yes", "j": "yes", "W": "no"}
    found = both.posteriors(seen)
    assert np.allclose(found["s"], alone.posteriors({"wet": "yes", "joe": "yes"})["sprinkler"], atol=1e-13)
    assert np.allclose(found["R"], alone.posteriors({"wet": "no"})["rain"], atol=1e-13)
    assert found["coin"] == pytest.approx([0.25, 0.75]) and found["sure"] == pytest.approx([1.0])
    assert both.log_probability(seen) == pytest.approx(
        alone.log_probability({"wet": "yes", "joe": "yes"}) + alone.log_probability({"wet": "no"})
    )
    assert both.independent("r", "R") and both.independent("coin", ["r", "W"], ["w"])
    joint = both.query(["r", "sure", "R", "coin"], evidence=seen)
    assert np.allclose(joint.values, np.einsum("a,b,c,d->abcd", found["r"], [1.0], found["R"], found["coin"]))
    best = both.mpe(seen)
    assert best["coin"] == "t" and best["sure"] == "only" and best["r"] == "yes" and best["R"] == "no"


def test_a_network_of_nothing():
    for network in (BayesianNetwork(), MarkovNetwork({})):
        assert network.posteriors() == {} and dict(network.mpe()) == {}
        assert network.log_probability() == 0.0
        with pytest.raises(SettingError):
            network.query([])
        with pytest.raises(BayeskitError):
            network.query("a")
    assert list(BayesianNetwork().topological_order()) == []
    assert pickle.loads(pickle.dumps(BayesianNetwork())) == BayesianNetwork()


def test_one_node():
    network = BayesianNetwork({"a": []}, states=["x", "y", "z"])
    network.set_cpt("a", [0.2, 0.5, 0.3])
    assert network.query("a", evidence={"a": "z"}).values.tolist() == [0, 0, 1]
    assert network.log_probability({"a": Not("x")}) == pytest.approx(math.log(0.8))
    assert network.mpe({"a": Not("y")}) == {"a": "z"}
    assert network.predict_proba({"a": ["x", "y"]}, "a") == pytest.approx(np.array([[0.2, 0.5, 0.3]] * 2))


def test_eighty_nodes_of_one_state_beside_two_others():
    """More axes than an array can have, in one clique by its factors."""
    sure = [f"s{i}" for i in range(80)]
    pairs = [([a, b], np.ones((1, 1))) for i, a in enumerate(sure) for b in sure[:i]]
    joined = [([a, x], [[1.0, 2.0]]) for a in sure[:3] for x in "xy"]
    network = MarkovNetwork({**{n: [0] for n in sure}, "x": [0, 1], "y": [0, 1]}, pairs + joined)
    assert network.query("x").values == pytest.approx([1 / 9, 8 / 9])
    assert network.query(["y", "s0", "x"]).values == pytest.approx(
        np.outer([1, 8], [1, 8]).reshape(2, 1, 2) / 81
    )
    assert network.log_partition() == pytest.approx(math.log(81))
    assert network.mpe() == {**dict.fromkeys(sure, 0), "x": 1, "y": 1}
    assert network.map([*sure, "y"]) == {**dict.fromkeys(sure, 0), "y": 1}
    assert network.log_probability({"s0": 0, "x": 0}) == pytest.approx(math.log(1 / 9))


def test_sixty_parents_are_refused_in_words():
    network = BayesianNetwork({"c": [f"p{i}" for i in range(60)]}, states=[0, 1])
    with pytest.raises(BayeskitError):
        network.set_cpt("c", [0.5, 0.5])
    with pytest.raises(BayeskitError):
        network.query("c")


def test_more_targets_than_a_table_has_axes():
    network = BayesianNetwork({f"x{i}": [] for i in range(70)}, states=["only"])
    for name in network.nodes:
        network.set_cpt(name, [1.0])
    with refuses(SettingError, 70):
        network.query([*network.nodes])
    assert network.map(list(network.nodes)) == dict.fromkeys(network.nodes, "only")


# Names


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_any_name_will_do(name):
    network, plain = wet_grass(joe=name), wet_grass()
    assert same(
        ask_everything(network, "sprinkler", {name: "yes", "wet": "yes"}),
        ask_everything(plain, "sprinkler", {"joe": "yes", "wet": "yes"}),
    )
    assert same(ask_everything(network, name, {"wet": "yes"}), ask_everything(plain, "joe", {"wet": "yes"}))
    assert network.independent(name, "sprinkler") and not network.independent(name, "sprinkler", ["wet"])
    assert list(network.posteriors())[2] == name
    assert network.query(name, soft={name: [0, 1]})["yes"] == 1.0
    assert pickle.loads(pickle.dumps(network)) == network


@pytest.mark.parametrize("name", [n for n in NAMES if isinstance(n, str)], ids=repr)
@pytest.mark.parametrize("suffix", ["bif", "xml", "net", "xdsl", "json"])
def test_names_survive_files(name, suffix, tmp_path):
    network = wet_grass(joe=name)
    network.write(tmp_path / f"n.{suffix}")
    again = read_network(tmp_path / f"n.{suffix}")
    assert again.nodes == network.nodes
    assert same(ask_everything(again, name, {"wet": "yes"}), ask_everything(network, name, {"wet": "yes"}))


def test_states_that_read_like_missing_values():
    """Only null, NaN and None are missing; "None", "nan" and "NA" are words."""
    states = ["None", "nan", "NA", ""]
    network = BayesianNetwork({"a": [], "b": ["a"]}, states={"a": states, "b": ["n", "y"]})
    network.set_cpt("a", [0.1, 0.2, 0.3, 0.4])
    network.set_cpt("b", [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    for code, state in enumerate(states):
        assert network.query("b", evidence={"a": state})["y"] == pytest.approx((code + 1) / 10)
    frame = {"a": np.array([*states, None], dtype=object)}
    assert network.predict_proba(frame, "b")[:, 1] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.3])
    for missing in (None, math.nan, np.nan, pd.NA, pd.NaT):
        with refuses(UnseenState, "a", "missing"):
            network.query("b", evidence={"a": missing})


# Evidence


@pytest.mark.parametrize(
    "value", [1, 1.0, "1", np.int8(1), np.float32(1), np.str_("1"), np.uint64(1), True], ids=repr
)
def test_a_state_is_what_it_equals_or_is_written_as(value):
    network = BayesianNetwork({"a": [], "b": ["a"]}, states=["0", "1"])
    network.set_cpt("a", [0.5, 0.5])
    network.set_cpt("b", [[0.9, 0.1], [0.2, 0.8]])
    if value is True:
        with pytest.raises(UnseenState):
            network.query("b", evidence={"a": value})
    else:
        assert network.query("b", evidence={"a": value})["1"] == pytest.approx(0.8)
    numbers = BayesianNetwork({"a": []}, states=[0, 1])
    numbers.set_cpt("a", [0.25, 0.75])
    assert math.exp(numbers.log_probability({"a": value})) == pytest.approx(0.75)


def test_two_ways_of_writing_two_states_are_two_states():
    network = BayesianNetwork({"a": [], "b": ["a"]}, states={"a": [1, "1"], "b": ["n", "y"]})
    network.set_cpt("a", [0.5, 0.5])
    network.set_cpt("b", [[0.9, 0.1], [0.2, 0.8]])
    assert network.query("b", evidence={"a": 1})["y"] == pytest.approx(0.1)
    assert network.query("b", evidence={"a": "1"})["y"] == pytest.approx(0.8)
    assert network.query("b", evidence={"a": np.int64(1)})["y"] == pytest.approx(0.1)


def test_evidence_on_every_node():
    network = wet_grass()
    seen = {"rain": "no", "sprinkler": "yes", "joe": "no", "wet": "yes"}
    assert network.log_probability(seen) == pytest.approx(math.log(0.8 * 0.1 * 0.8 * 0.9))
    assert {k: v.tolist() for k, v in network.posteriors(seen).items()} == {
        "rain": [1, 0],
        "sprinkler": [0, 1],
        "joe": [1, 0],
        "wet": [0, 1],
    }
    assert network.mpe(seen) == seen and network.map(["wet"], seen)["wet"] == "yes"
    assert network.query(["wet", "rain"], evidence=seen).values.tolist() == [[0, 0], [1, 0]]
    assert network.log_prob({k: [v] for k, v in seen.items()}) == pytest.approx(
        [network.log_probability(seen)]
    )
    sampled = network.sample(3, random_state=0, evidence=seen)
    assert [list(sampled[name]) for name in seen] == [[value] * 3 for value in seen.values()]


def test_deterministic_tables_all_the_way():
    """x and its negation along a chain: everything is known once one is."""
    n = 60
    network = BayesianNetwork({i: [i - 1] if i else [] for i in range(n)}, states=[False, True])
    network.set_cpt(0, [0.5, 0.5])
    for i in range(1, n):
        network.set_cpt(i, [[0, 1], [1, 0]])
    assert network.mpe({n - 1: True}) == {i: i % 2 == (n - 1) % 2 for i in range(n)}
    assert network.query([0, n - 1]).values == pytest.approx(np.array([[0, 0.5], [0.5, 0]]))
    with pytest.raises(ImpossibleEvidence) as refused:
        network.posteriors({0: True, 30: False, n - 1: True, 7: False})
    assert len(refused.value.evidence) == 2


IMPOSSIBLE = {"rain": "no", "sprinkler": "no", "wet": "yes"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda n: n.posteriors(IMPOSSIBLE),
        lambda n: n.query("joe", evidence=IMPOSSIBLE),
        lambda n: n.query("wet", evidence=IMPOSSIBLE),
        lambda n: n.query(["joe", "rain"], evidence=IMPOSSIBLE),
        lambda n: n.mpe(IMPOSSIBLE),
        lambda n: n.map("joe", IMPOSSIBLE),
        lambda n: n.map(["wet", "rain"], IMPOSSIBLE),
        lambda n: n.sample(5, evidence=IMPOSSIBLE),
        lambda n: n.posteriors({"rain": "no", "wet": "yes"}, soft={"sprinkler": [1, 0]}),
        lambda n: n.posteriors({"rain": "no", "wet": "yes", "sprinkler": Not("yes")}),
    ],
)
def test_impossible_evidence_in_every_verb(ask):
    with pytest.raises(ImpossibleEvidence) as refused:
        ask(wet_grass())
    assert set(refused.value.evidence) == {"rain", "sprinkler", "wet"}


def test_impossible_evidence_where_no_answer_is_needed():
    network = wet_grass()
    assert network.log_probability(IMPOSSIBLE) == -math.inf
    rows = network.log_prob({name: [state, None] for name, state in IMPOSSIBLE.items()})
    assert rows[0] == -math.inf and rows[1] == pytest.approx(0.0, abs=1e-15)
    # Joe's dry lawn says that it did not rain. Alone the row is looked up; with a gap in another row a tree is asked.
    for other in ("yes", None):
        frame = {"joe": ["no", "no"], "sprinkler": ["no", other], "wet": ["yes", "yes"]}
        with warns_of(SuspectResult, 1, 2, 0, 'impossible="error"'):
            found = network.predict_proba(frame, "rain")
        assert found[0] == pytest.approx([0.8, 0.2]) and found[1] == pytest.approx([1.0, 0.0])
        with refuses(DataError, 0, 'impossible="prior"'):
            network.predict_proba(frame, "rain", impossible="error")


def test_an_impossible_row_among_numbers_that_only_logs_hold():
    network = BayesianNetwork({"c": [], "x": ["c"], "y": ["c"]}, states=[0, 1])
    network.set_cpt("c", [0.5, 0.5])
    network.set_cpt("x", [[1, 1e-310], [1, 1e-310]])
    network.set_cpt("y", [[1, 0], [1, 0]])
    with pytest.warns(SuspectResult):
        found = network.predict_proba({"y": [1, 0]}, "c")
    assert found == pytest.approx(np.full((2, 2), 0.5))
    assert network.log_prob({"y": [1, 0], "x": [None, 1]}) == pytest.approx([-math.inf, math.log(1e-310)])


def test_soft_evidence_of_every_kind():
    network = wet_grass()
    joint = network.query(["rain", "wet"]).values
    for likelihoods in (
        [1, 3],
        np.array([1, 3]),
        {"yes": 3, "no": 1},
        (1e300, 3e300),
        [1e-300, 3e-300],
        [1 / 3, 1],
    ):
        found = network.query("rain", soft={"wet": likelihoods}).values
        wanted = joint @ np.array([1, 3])
        assert found == pytest.approx(wanted / wanted.sum(), abs=1e-12)
    told = network.log_probability(
        soft={"wet": [1e300, 3e300], "rain": [1e300, 1e300], "joe": [1e-300, 1e-300]}
    )
    assert told == pytest.approx(math.log((joint @ [1, 3]).sum()) + 300 * math.log(10))
    # A likelihood of one state alone is an observation, and "not" is one of the others.
    assert np.allclose(
        network.posteriors(soft={"wet": [0, 7]})["rain"], network.posteriors({"wet": "yes"})["rain"]
    )
    assert np.allclose(
        network.posteriors({"wet": Not("no")})["rain"], network.posteriors({"wet": "yes"})["rain"]
    )
    # On an observed node it scales the probability of the evidence and nothing else.
    assert network.log_probability({"wet": "yes"}, soft={"wet": [5, 0.25]}) == pytest.approx(
        network.log_probability({"wet": "yes"}) + math.log(0.25)
    )


@pytest.mark.parametrize("low", [1e-300, 5e-324])
def test_likelihoods_as_far_apart_as_numbers_can_be(low):
    network = wet_grass()
    many = {name: [low, 1e300] for name in network.nodes}
    found = network.posteriors(soft=many)
    assert all(p == pytest.approx([0, 1], abs=1e-12) for p in found.values())
    turned = {name: [1e300, low] for name in network.nodes}
    assert network.mpe(soft=turned) == dict.fromkeys(network.nodes, "no")
    assert network.log_probability(soft=turned) == pytest.approx(
        math.log(0.8 * 0.9 * 0.8) + 4 * math.log(1e300)
    )


def test_look_up_for_and_against():
    """800 observations for a class and 800 against it: in between the odds are 1e-2300, at the end they are even."""
    ratios = [(0.5, 2.0**-10)] * 800 + [(2.0**-10, 0.5)] * 800
    network = BayesianNetwork({"class": [], **{i: ["class"] for i in range(1600)}}, states=[0, 1])
    network.set_cpt("class", [0.25, 0.75])
    for i, (a, b) in enumerate(ratios):
        network.set_cpt(i, [[1 - a, a], [1 - b, b]])
    rows = {i: [1, 1] for i in range(1600)}
    assert network.predict_proba(rows, "class") == pytest.approx(np.array([[0.25, 0.75]] * 2), abs=1e-9)
    rows[0] = [
        None,
        1,
    ]  # one by the tree, one looked up: without its 0.5 against 2**-10 the class is less likely
    odds = 0.25 / 0.75 * 2.0**-10 / 0.5
    wanted = np.array([[odds / (1 + odds), 1 / (1 + odds)], [0.25, 0.75]])
    assert network.predict_proba(rows, "class") == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    "bad", [math.nan, None, np.nan, "perhaps", 2, [0, 1], {"yes": 1}, object()], ids=lambda v: repr(v)[:14]
)
def test_what_is_no_state_is_refused_as_evidence(bad):
    with pytest.raises(BayeskitError):
        wet_grass().query("rain", evidence={"wet": bad})


# Tables of rows


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "mapping": dict,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_with_nothing_to_say(make):
    network = wet_grass()
    prior = network.posteriors()["sprinkler"]
    extra = make({"elsewhere": [1, 2, 3]})
    assert network.predict_proba(extra, "sprinkler") == pytest.approx(np.array([prior] * 3))
    assert network.log_prob(extra) == pytest.approx([0, 0, 0])
    missing = make({"wet": [None, None], "joe": [None, None]})
    assert network.predict_proba(missing, "sprinkler") == pytest.approx(np.array([prior] * 2))
    floats = make({"wet": [math.nan, math.nan]})
    assert network.predict_proba(floats, "sprinkler") == pytest.approx(np.array([prior] * 2))
    assert network.log_prob(floats) == pytest.approx([0, 0])


@pytest.mark.parametrize(
    "empty",
    [
        pd.DataFrame({"wet": []}),
        pl.DataFrame({"wet": []}),
        pd.DataFrame({"elsewhere": []}),
        np.empty((0, 4), np.int64),
    ],
    ids=["pandas", "polars", "only extra", "codes"],
)
def test_tables_without_rows_are_refused_as_everywhere(empty):
    network = wet_grass()
    for ask in (network.log_prob, lambda rows: network.predict_proba(rows, "sprinkler")):
        with refuses(DataError, 0, "sample"):
            ask(empty)


def test_the_target_s_own_column_is_not_looked_at():
    network = wet_grass()
    rows = {"wet": ["yes", "yes", "no"], "joe": ["yes", None, "no"]}
    wanted = network.predict_proba(rows, "sprinkler")
    for column in (["yes", "no", None], ["what", 3, ()], [math.nan] * 3):
        assert np.array_equal(network.predict_proba({**rows, "sprinkler": column}, "sprinkler"), wanted)


# Changes


def test_query_then_set_cpt_then_query():
    network = wet_grass()
    before = ask_everything(network, "sprinkler", {"wet": "yes"})
    network.set_cpt("rain", [0.5, 0.5])
    after = ask_everything(network, "sprinkler", {"wet": "yes"})
    fresh = wet_grass()
    fresh.set_cpt("rain", [0.5, 0.5])
    assert not same(before, after) and same(after, ask_everything(fresh, "sprinkler", {"wet": "yes"}))
    network.set_cpt("rain", [0.8, 0.2])
    assert same(before, ask_everything(network, "sprinkler", {"wet": "yes"}))


def test_a_copy_goes_its_own_way():
    network = wet_grass()
    network.posteriors()
    for twin in (
        network.copy(),
        copy.copy(network),
        copy.deepcopy(network),
        pickle.loads(pickle.dumps(network)),
    ):
        assert twin == network
        twin.set_cpt("rain", [0.5, 0.5])
        assert twin != network
        assert network.query("rain")["yes"] == pytest.approx(0.2)
        assert twin.query("rain")["yes"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "make", [wet_grass, lambda: MarkovNetwork.of(wet_grass())], ids=["directed", "undirected"]
)
def test_what_was_derived_is_not_pickled(make):
    network = make()
    network.posteriors()
    before = pickle.dumps(network)
    assert b"inference" not in before and b"Kept" not in before
    for name in ("rain", "wet"):
        network.posteriors({name: "yes"})
        network.query(["rain", "joe", "sprinkler"], evidence={"wet": "yes"})
        network.mpe({name: "yes"})
        network.predict_proba({"wet": ["yes", None]}, "rain")
    assert len(pickle.dumps(network)) == len(before)
    assert pickle.loads(pickle.dumps(network)).query("rain")["yes"] == pytest.approx(0.2)


def in_threads(n, work):
    failed = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:  # a thread's error would go unseen
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


def test_sixteen_threads_ask_everything_of_one_network():
    evidence = [{"wet": "yes"}, {"joe": "no"}, {"wet": "no", "rain": "no"}, {}]
    wanted = [ask_everything(wet_grass(), "sprinkler", seen) for seen in evidence[:3]]
    network = wet_grass()

    def work(k):
        for i in range(12):
            seen = (i + k) % 3
            assert same(ask_everything(network, "sprinkler", evidence[seen]), wanted[seen])

    in_threads(16, work)


def test_edits_while_others_ask():
    """An answer is that of some network there was: never a mixture, never an error."""
    network = wet_grass()
    shares = [k / 16 for k in range(1, 16)]
    possible = []
    for share in shares:
        other = wet_grass()
        other.set_cpt("rain", [1 - share, share])
        possible.append(other.query("rain", evidence={"wet": "yes"})["yes"])
    network.set_cpt("rain", [1 - shares[0], shares[0]])
    done = threading.Event()

    def work(k):
        if k == 0:
            for _ in range(20):
                for share in shares:
                    network.set_cpt("rain", [1 - share, share])
            done.set()
        while not done.is_set():
            found = [
                network.query("rain", evidence={"wet": "yes"})["yes"],
                network.posteriors({"wet": "yes"})["rain"][1],
                network.predict_proba({"wet": ["yes"]}, "rain")[0, 1],
            ]
            assert all(min(abs(x - y) for y in possible) < 1e-12 for x in found)

    in_threads(6, work)


# Length


@pytest.fixture(scope="module")
def chain():
    """x_0 → x_1 → …, each as the one before with probability 0.9: P(x_k = x_0) = (1 + 0.8^k) / 2."""
    return BayesianNetwork(long_chain(LONG))


def test_questions_to_a_long_chain(chain):
    last = LONG - 1
    found = chain.posteriors({0: 1})
    assert found[3][1] == pytest.approx((1 + 0.8**3) / 2) and found[last] == pytest.approx([0.5, 0.5])
    assert chain.query([2, last], evidence={0: 1}).values == pytest.approx(np.outer([0.18, 0.82], [0.5, 0.5]))
    assert chain.log_probability({0: 0, 2: 1, last: 0}) == pytest.approx(math.log(0.5 * 0.18 * 0.5))
    best = math.log(0.5) + last * math.log(0.9)
    for answer in (chain.mpe({5_000: 1}), chain.map(list(range(LONG)), {5_000: 1})):
        assert set(answer.values()) == {1} and answer.log_probability == pytest.approx(best)
    ends = chain.map([last, 0])
    assert dict(ends) == {last: 0, 0: 0} and ends.log_probability == pytest.approx(math.log(0.25))
    some = chain.map(list(range(0, LONG, 2)))
    assert set(some.values()) == {0}
    assert some.log_probability == pytest.approx(math.log(0.5) + (LONG // 2 - 1) * math.log(0.82))
    rows = chain.predict_proba({0: [0, 1], last: [1, None]}, 2)
    assert rows == pytest.approx(np.array([[0.82, 0.18], [0.18, 0.82]]))
    assert chain.log_prob({0: [0, 1]}) == pytest.approx([math.log(0.5)] * 2)


def test_the_graph_of_a_long_chain(chain, tmp_path):
    last = LONG - 1
    assert list(chain.topological_order()) == list(range(LONG))
    assert chain.independent(0, last, [4_000]) and not chain.independent(0, last)
    assert "4000" in str(chain.why_independent(0, last, [4_000]))
    assert len(chain.ancestors(last)) == last
    sampled = chain.sample(4, random_state=1, as_codes=True)
    assert np.shape(sampled) == (4, LONG)
    chain.write(tmp_path / "chain.bif")
    again = read_network(tmp_path / "chain.bif")
    assert [str(name) for name in again.nodes] == [str(i) for i in range(LONG)]
    assert len(again.arcs) == LONG - 1
    assert pickle.loads(pickle.dumps(chain)) == chain
    assert chain.copy() == chain
    assert len(repr(chain)) < 200
    with refuses(SettingError, 10_000, "around=1"):  # a million pixels high: nobody can look at it
        chain.plot()
    assert "5 nodes" in chain.plot(around=5_000, radius=2).scene.title


QUESTIONS = {
    "posteriors": lambda chain, n: chain.posteriors({0: 1}),
    "joint": lambda chain, n: chain.query([2, n - 1], evidence={0: 1}),
    "log_probability": lambda chain, n: chain.log_probability({0: 0, 2: 1, n - 1: 0}),
    "mpe": lambda chain, n: chain.mpe({n // 2: 1}),
    "map of some": lambda chain, n: chain.map([n - 1, 0]),
    "predict_proba": lambda chain, n: chain.predict_proba({0: [0, 1], n - 1: [1, None]}, 2),
    "log_prob": lambda chain, n: chain.log_prob({0: [0, 1]}),
    "topological_order": lambda chain, n: chain.topological_order(),
    "why_independent": lambda chain, n: chain.why_independent(0, n - 1, [n // 2]),
    "ancestors": lambda chain, n: chain.ancestors(n - 1),
    "sample": lambda chain, n: chain.sample(4, random_state=1, as_codes=True),
    "pickle": lambda chain, n: pickle.loads(pickle.dumps(chain)),
    "equal": lambda chain, n: chain.copy() == chain,
    "repr": lambda chain, n: repr(chain),
    "plot": lambda chain, n: chain.plot(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_work_for_a_chain_is_linear(question):
    def asking(n):
        network = BayesianNetwork(long_chain(n))
        return lambda: QUESTIONS[question](network, n)

    # Sets of nodes are bits in words: a little of the work is squared.
    check_growth(asking, 50, most=3.0)


def test_a_long_chain_of_factors():
    n = 2_000
    network = MarkovNetwork(
        {i: ["a", "b"] for i in range(n)}, [([i, i + 1], [[9, 1], [1, 9]]) for i in range(n - 1)]
    )
    assert network.log_partition() == pytest.approx(math.log(2) + (n - 1) * math.log(10))
    assert network.query([0, 1]).values == pytest.approx(np.array([[0.45, 0.05], [0.05, 0.45]]))
    assert set(network.mpe({7: "b"}).values()) == {"b"}


# Size


def test_targets_apart_from_what_is_too_large():
    """A small network beside one that no memory holds: the small one's answers do not need the other's."""
    n = 45
    wide = {f"w{i}": ["a", "b"] for i in range(n)}
    pairs = [([f"w{i}", f"w{j}"], [[2, 1], [1, 2]]) for i in range(n) for j in range(i)]
    network = MarkovNetwork({**wide, "x": [0, 1], "y": [0, 1]}, [*pairs, (["x", "y"], [[3, 1], [1, 3]])])
    with pytest.raises(TooLarge):
        network.posteriors()
    with pytest.raises(TooLarge):
        network.log_partition()
    assert network.query("x", evidence={"y": 1}).values == pytest.approx([0.25, 0.75])
    assert network.query(["x", "y"], soft={"w0": [1, 5]}).values == pytest.approx(
        np.array([[3, 1], [1, 3]]) / 8
    )


def test_no_limit_at_all_does_not_run_into_the_wall():
    n = 70
    pairs = [([i, j], np.ones((2, 2))) for i in range(n) for j in range(i)]
    network = MarkovNetwork({i: [0, 1] for i in range(n)}, pairs)
    with refuses(TooLarge, "approximate"):
        network.posteriors(max_memory=math.inf)


def test_warnings_are_none_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask_everything(wet_grass(), "sprinkler", {"wet": "yes"})
