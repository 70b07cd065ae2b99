"""Plain arguments: what is taken, and how the rest is refused."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from bayeskit import BayesianNetwork
from bayeskit._networks.arguments import choice, number_below, real_numbers, switch, whole_number
from bayeskit.errors import SettingError
from refusals import refuses


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_whole_numbers(value):
    found = whole_number(value, "n", 3)
    assert found == 3 and type(found) is int


@pytest.mark.parametrize("value", [2, -1, 3.0, True, np.bool_(True), "3", None, math.nan, [3]])
def test_no_whole_number(value):
    with refuses(SettingError, "n", 3):
        whole_number(value, "n", 3)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.5), np.int64(0)])
def test_numbers_below(value):
    assert number_below(value, "damping", 1.0) == value


@pytest.mark.parametrize("value", [1, -0.1, math.nan, math.inf, "0.5", True, None, [0.5]])
def test_no_number_below(value):
    with refuses(SettingError, "damping", 1, 0):
        number_below(value, "damping", 1.0)


@pytest.mark.parametrize("value", ["no", 0, 1, None, [], math.nan])
def test_switches(value):
    assert switch(np.True_, "bars") is True and switch(False, "bars") is False
    with refuses(SettingError, "bars", True, False):
        switch(value, "bars")


@pytest.mark.parametrize("value", ["up", ["down"], None, 1, np.array(["down", "right"])])
def test_choices(value):
    assert choice("down", "direction", ("down", "right")) == "down"
    with refuses(SettingError, "direction", "down", "right"):
        choice(value, "direction", ("down", "right"))


@pytest.mark.parametrize(
    "value", [[1, 2], np.array([1, 2], np.uint8), np.array([True, 2], object), [Decimal(1), 2]]
)
def test_real_numbers(value):
    np.testing.assert_array_equal(real_numbers(value), [1.0, 2.0])


@pytest.mark.parametrize(
    "value", [["1"], b"1", [1j], [[1], [1, 2]], {1}, (x for x in [1]), np.array(["2020"], "M8[Y]"), [10**400]]
)
def test_no_real_numbers(value):
    assert real_numbers(value) is None
    assert real_numbers(np.ma.array([1.0, 2.0], mask=[True, False])) is None


def test_numbers_of_numpy_are_numbers_everywhere():
    network = BayesianNetwork({"b": ["a"]}, states=["x", "y"])
    network.set_cpt("a", [0.5, 0.5])
    network.set_cpt("b", [1, 0, 0, 1])
    for limit in (np.int64(2**30), np.float32(2**30)):
        assert network.query("a", max_memory=limit)["x"] == 0.5
    assert len(network.why_independent("a", "b", max_paths=np.int64(1)).paths) == 1
