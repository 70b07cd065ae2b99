"""Adjustment sets, front-door sets and instruments of a network: their reasons, in both languages; refusals."""

from __future__ import annotations

import pickle

import pytest

from bayeskit import BayesianNetwork
from bayeskit.errors import SettingError
from refusals import refuses

SMOKING = BayesianNetwork({"gene": [], "smoking": ["gene"], "tar": ["smoking"], "cancer": ["tar", "gene"]})
SCHOOL = BayesianNetwork(
    {"lottery": ["town"], "school": ["lottery", "home"], "wage": ["school", "home", "town"], "town": [], "home": []}
)  # fmt: skip
M = BayesianNetwork({"a": [], "b": [], "z": ["a", "b"], "x": ["a"], "y": ["b", "x"]})


def test_a_set_is_its_nodes():
    (found,) = SMOKING.adjustment_sets("smoking", "cancer")
    assert found.nodes == ("gene",) and list(found) == ["gene"] and "gene" in found and len(found) == 1
    assert found.valid and found.open_path is None
    assert (found.cause, found.outcome, found.criterion) == (("smoking",), ("cancer",), "back-door")
    assert pickle.loads(pickle.dumps(found)) == found
    assert "gene is tail-to-tail and is observed: it blocks." in found.reason
    assert "<p" in found._repr_html_()


def test_every_listed_set_is_valid():
    for network, x, y in ((SMOKING, "smoking", "cancer"), (SCHOOL, "school", "wage"), (M, "x", "y")):
        for list_sets in (network.adjustment_sets, network.front_door_sets, network.instruments):
            for found in list_sets(x, y):
                assert found.valid, found
                for lang in ("en", "zh"):
                    assert found.text(lang).count("\n") >= 1


def test_most_and_hidden():
    chain = BayesianNetwork({"x": ["a"], "b": ["a"], "c": ["b"], "y": ["c", "x"]})
    assert len(list(chain.adjustment_sets("x", "y"))) == 3
    assert len(list(chain.adjustment_sets("x", "y", most=2))) == 2
    assert [f.nodes for f in chain.adjustment_sets("x", "y", hidden=["a", "c"])] == [("b",)]
    assert list(chain.adjustment_sets("x", "y", hidden=["a", "b", "c"])) == []


def test_a_collider_needs_no_adjustment_and_must_not_be_adjusted_for_alone():
    assert [found.nodes for found in M.adjustment_sets("x", "y")] == [()]
    wrong = M.why_adjustment("x", "y", "z")
    assert not wrong.valid and str(wrong.open_path) == "x ← a → z ← b → y"
    assert "z is head-to-head and is observed" in wrong.reason
    assert M.why_adjustment("x", "y", ["z", "a"]).valid


def test_descendants_are_refused_with_their_reason():
    wrong = SMOKING.why_adjustment("smoking", "cancer", ["gene", "tar"])
    assert not wrong.valid and wrong.open_path is None
    assert "tar" in str(wrong.objection()) and "smoking" in str(wrong.objection())
    hidden = SMOKING.why_adjustment("smoking", "cancer", "gene", hidden="gene")
    assert not hidden.valid and "gene" in str(hidden.objection())
    assert not SMOKING.why_adjustment("smoking", "cancer", "smoking").valid


def test_front_door_reasons():
    (found,) = SMOKING.front_door_sets("smoking", "cancer", hidden="gene")
    assert found.nodes == ("tar",) and found.valid
    assert "smoking is head-to-tail and is observed: it blocks." in found.reason
    past = SMOKING.why_adjustment("smoking", "cancer", "gene", criterion="front-door")
    assert not past.valid and str(past.open_path) == "smoking → tar → cancer"
    also = BayesianNetwork({"x": ["u"], "m": ["x", "u"], "y": ["m"]}, states=[0, 1])
    confounded = also.why_adjustment("x", "y", "m", criterion="front-door")
    assert not confounded.valid and str(confounded.open_path) == "x ← u → m"
    assert SMOKING.why_adjustment("cancer", "gene", criterion="front-door").valid  # no effect to carry


def test_instruments_and_what_to_observe_with_them():
    found = {each.nodes: each.given for each in SCHOOL.instruments("school", "wage", hidden="home")}
    assert found == {("lottery",): ("town",)}
    (only,) = SCHOOL.instruments("school", "wage", hidden="home")
    assert only.valid and "town" in only.title
    assert list(SCHOOL.instruments("school", "wage", hidden=["home", "town"])) == []
    assert list(SMOKING.instruments("smoking", "cancer", hidden="gene")) == []


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda: SMOKING.adjustment_sets("smoking", "smoking"), ["smoking"]),
        (lambda: SMOKING.adjustment_sets("smokin", "cancer"), ["smokin", "smoking"]),
        (lambda: SMOKING.adjustment_sets([], "cancer"), ["x"]),
        (lambda: SMOKING.adjustment_sets("smoking", "cancer", hidden="smoking"), ["smoking"]),
        (lambda: SMOKING.adjustment_sets("smoking", "cancer", most=0), ["most", 0]),
        (lambda: SMOKING.front_door_sets("smoking", "cancer", hidden="soot"), ["soot"]),
        (lambda: SMOKING.instruments(["smoking", "tar"], "cancer"), ["x", 2]),
        (
            lambda: SMOKING.why_adjustment("smoking", "cancer", "gene", criterion="side"),
            ["criterion", "side"],
        ),
    ],
)
def test_refusals(call, values):
    with refuses(SettingError, *values):
        call()
