"""What is known before the search: read as sets of arcs; contradictions are named."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit._structure.search_protocol import NAMES, Arcs, Score, as_score, bits, members, read_limits
from bayeskit.errors import SettingError
from refusals import refuses

ABCD = ["a", "b", "c", "d"]


def arcs_allowed(limits, names=ABCD):
    return {(names[u], names[v]) for v, mine in enumerate(limits.allowed) for u in members(mine)}


EVERY = {(x, y) for x in ABCD for y in ABCD if x != y}


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({}, set()),
        ({"forbidden": [("a", "b"), ["c", "d"]]}, {("a", "b"), ("c", "d")}),
        ({"forbidden": np.array([["a", "b"]])}, {("a", "b")}),
        ({"forbidden": None, "required": None}, set()),
        # b is in no tier, so it is free.
        ({"tiers": [["c"], ["a", "d"]]}, {("a", "c"), ("d", "c")}),
        ({"tiers": ["c", ["a", "d"]]}, {("a", "c"), ("d", "c")}),
        ({"tiers": [["d"], [], ["c"], ["b"]]}, {("c", "d"), ("b", "d"), ("b", "c")}),
        ({"continuous": ["b", "c"]}, {(x, y) for x in "bc" for y in "ad"}),
    ],
)
def test_which_arcs_may_be(settings, gone):
    assert arcs_allowed(read_limits(ABCD, **settings)) == EVERY - gone


def test_which_arcs_must_be():
    limits = read_limits(ABCD, required=[("a", "b"), ("c", "b"), ("a", "b")], max_parents=2)
    assert limits.required == (0, 0b0101, 0, 0) and limits.max_parents == 2
    assert read_limits(ABCD).max_parents == 3
    assert read_limits(ABCD, max_parents=np.int64(1)).max_parents == 1
    assert read_limits([1, (2, 3)], required=[(1, (2, 3))]).required == (0, 1)
    assert read_limits([1, 2], tiers=[1, [2]]).allowed == (0, 1)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, ["'a' → 'b'", "required", "forbidden"]),
        (
            {"required": [("a", "b")], "tiers": [["b"], ["a"]]},
            ["'a' → 'b'", "a", "tier"],
        ),
        ({"required": [("a", "b")], "continuous": ["a"]}, ["a", "b", "continuous"]),
        ({"required": [("a", "b"), ("b", "a")]}, ["cycle", "'a'", "'b'"]),
        ({"required": [("a", "b"), ("b", "c"), ("c", "a")]}, ["cycle", "'a'", "'b'", "'c'"]),
        ({"required": [("a", "c"), ("b", "c")], "max_parents": 1}, ["c", "required", 2]),
        ({"required": [("a", "b")], "max_parents": 0}, ["b", "required", 1]),
        ({"required": [("a", "e")]}, ["required", "e"]),
        ({"forbidden": [("e", "a")]}, ["forbidden", "e"]),
        ({"required": [("a", "a")]}, ["required", "a"]),
        ({"required": ["ab"]}, ["required", "ab"]),
        ({"required": ("a", "b")}, ["required", "a"]),
        ({"required": "ab"}, ["required", "ab"]),
        ({"required": {"a": "b"}}, ["required", "{'a': 'b'}"]),
        ({"forbidden": 3}, ["forbidden", 3]),
        ({"required": [{"a", "b"}]}, ["required", "(parent, child)"]),
        ({"required": [("a", "b", "c")]}, ["required", "('a', 'b', 'c')"]),
        ({"required": [(["a"], "b")]}, ["required", "['a']"]),
        ({"tiers": [["a"], ["e"]]}, ["tiers", "e"]),
        ({"tiers": ["ab"]}, ["tiers", "ab"]),
        ({"tiers": [1]}, ["tiers", 1]),
        ({"tiers": [["a"], ["b", "a"]]}, ["a", "two", "tiers"]),
        ({"max_parents": -1}, ["max_parents", -1]),
        ({"max_parents": 1.5}, ["max_parents", 1.5]),
        ({"max_parents": True}, ["max_parents", True]),
    ],
)
def test_contradictions_are_named(settings, says):
    with refuses(SettingError, *says):
        read_limits(ABCD, **settings)


def test_arcs():
    free = Arcs.all(3)
    assert free.is_free and free.n == 3 and free.max_parents == 2 and Arcs.all(3, 1).is_free
    assert not read_limits(ABCD, forbidden=[("a", "b")]).is_free
    assert not read_limits(ABCD, required=[("a", "b")]).is_free
    limits = Arcs((0b110, 0b101, 0b011), (0, 0b001, 0), 1)
    assert limits.permits((0, 0b001, 0b010))
    for wrong in ((0, 0, 0), (0, 0b101, 0), (0b001, 0b001, 0), (0, 0b001, 0b100)):
        assert not limits.permits(wrong), wrong


def test_sets_as_numbers():
    assert bits([3, 1, 3]) == 0b1010 and bits([]) == 0
    assert [*members(bits([200, 0, 64]))] == [0, 64, 200]


def test_scores_by_name():
    assert as_score("mdl") == Score("bic") and as_score("bdeu", 10) == Score("bdeu", 10.0)
    assert as_score(Score("k2")) == Score("k2")
    assert [Score(name).penalty(1) for name in NAMES] == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert Score("bic").penalty(0) == 0.0
    for wrong in ("BIC", None, ["bic"], np.array(["bic", "aic"])):
        with refuses(SettingError, "criterion", "loglik, aic, bic, bdeu, bds, k2"):
            as_score(wrong)
    for ess in (0, -1, float("nan"), float("inf"), "1", True, None):
        with refuses(SettingError, "ess", 0):
            as_score("bdeu", ess)


@pytest.mark.parametrize("some", [set(), {0}, {63}, {64}, {0, 63, 64, 65}, {5, 700}, set(range(200))])
def test_members_of_short_and_long_sets(some):
    assert members(bits([*some])) == tuple(sorted(some))
