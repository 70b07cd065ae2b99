"""The Markov blanket of a column from rows: against the true blanket, whatever the order of the columns."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit.errors import SettingError
from bayeskit.networks import asia, learn_blanket, wet_grass
from refusals import refuses


@pytest.fixture(scope="module")
def grass():
    return wet_grass().sample(5_000, random_state=0)


@pytest.mark.parametrize("method", ["iamb", "inter-iamb"])
@pytest.mark.parametrize("target", ["rain", "sprinkler", "joe", "wet"])
def test_the_true_blanket_is_found(grass, target, method):
    assert set(learn_blanket(grass, target, method=method)) == set(wet_grass().markov_blanket(target))


def test_the_order_and_names_of_columns_do_not_matter():
    rows = asia().sample(20_000, random_state=1)
    wanted = set(learn_blanket(rows, "dysp"))
    assert wanted == {"bronc", "either"}
    order = np.random.default_rng(0).permutation(8)
    shuffled = rows.iloc[:, order].rename(columns={name: f"{k}{name}" for k, name in enumerate(rows.columns)})
    found = learn_blanket(shuffled, next(name for name in shuffled.columns if name.endswith("dysp")))
    assert {name[1:] for name in found} == wanted


@pytest.mark.parametrize(
    ("data", "target", "how", "says"),
    [
        ({"a": ["x", "y"], "b": ["x", "y"]}, "c", {}, ["c", "a", "b"]),
        ({"a": ["x", "y"], "b": [0.5, 1.5]}, "a", {}, ["b", "continuous", "discretize=5"]),
        ({"a": ["x", "y"], "b": ["x", "y"]}, "a", {"method": "magic"}, ["method", "magic"]),
        ({"a": ["x", "y"], "b": ["x", "y"]}, "a", {"significance": 2}, ["significance", 2]),
        ({"a": ["x", "y"], "b": ["x", "y"]}, "a", {"test": "t"}, ["test", "t"]),
    ],
)
def test_what_cannot_be_done_is_refused(data, target, how, says):
    with refuses(SettingError, *says):
        learn_blanket(data, target, **how)


def test_too_few_rows_find_nothing():
    assert learn_blanket({"a": ["x"], "b": ["y"]}, "a") == ()
