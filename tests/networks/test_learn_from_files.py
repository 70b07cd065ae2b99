"""Networks from files and batches: the same as from the frame in memory, whatever the batches."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import Batches, learn_network
from bayeskit._data.columns import factorize_array
from bayeskit._fitting.search.node_columns import read_nodes, read_source
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    SettingError,
    SourceNote,
    TooLarge,
    UnseenState,
)
from bayeskit.networks import arc_strengths, wet_grass
from refusals import refuses, warns_of

ROWS = wet_grass().sample(1000, random_state=3)


@pytest.fixture(autouse=True)
def no_warning():
    """A warning that no test expects is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def odd_frame(n, seed):
    """Text with gaps, states that come late, whole numbers, booleans, a category, numbers with gaps."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=n)
    numbers[rng.random(n) < 0.1] = np.nan
    text = rng.choice(["m", "z", "a"], n).astype(object)
    text[rng.random(n) < 0.2] = None
    late = np.where(np.arange(n) < n // 2, "later", rng.choice(["late", "latest"], n))
    return pd.DataFrame(
        {
            "text": text,
            "late": late,
            "whole": rng.integers(-3, 4, n),
            "true": rng.random(n) < 0.5,
            "kind": pd.Categorical(rng.choice(["q", "p"], n), ["q", "unseen", "p"]),
            "number": numbers,
        }
    )


def pieces(frame, cuts):
    bounds = [0, *sorted(cuts), len(frame)]
    return [frame.iloc[a:b] for a, b in itertools.pairwise(bounds) if a < b]


def same(found, wanted):
    assert found.variables == wanted.variables and found.n_rows == wanted.n_rows
    for mine, theirs in zip((*found.codes, *found.numbers), (*wanted.codes, *wanted.numbers), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)
    assert all(codes is None or codes.dtype == np.uint8 for codes in found.codes)
    np.testing.assert_array_equal(found.canonical_order(), wanted.canonical_order())


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 39), max_size=5), st.booleans())
def test_batches_are_read_as_the_whole(seed, cuts, shuffled):
    frame = odd_frame(40, seed)
    batches = pieces(frame, cuts)
    if shuffled:
        batches = batches[:1] + [batch[batch.columns[::-1]] for batch in batches[1:]]
    for how in ({}, {"discretize": 3}, {"discretize": {"number": [0.0]}}, {"states": {"whole": float}}):
        wanted = read_nodes(frame, **how)
        same(read_source(Batches(lambda: batches), **how)[0], wanted)
        same(read_source(iter(batches), **how)[0], wanted)


@pytest.mark.parametrize(
    ("parts", "codes", "numbers"),
    [
        ([[None, None], ["y", "x"], [None]], [2, 2, 1, 0, 2], None),
        ([[None], np.array([3, 1]), [None, 5]], [3, 1, 0, 3, 2], None),
        ([[None], [0.5], [None, 1.5]], None, [np.nan, 0.5, np.nan, 1.5]),
        ([[None], [None, None]], None, [np.nan] * 3),
    ],
    ids=["states", "whole numbers", "numbers", "nothing"],
)
def test_a_batch_without_a_cell_does_not_say_what_a_column_is(parts, codes, numbers):
    found, _ = read_source(Batches(lambda: [{"a": part} for part in parts]))
    if codes is None:
        np.testing.assert_array_equal(found.numbers[0], numbers)
    else:
        assert found.codes[0].tolist() == codes


def test_declared_states_of_batches():
    batches = Batches(lambda: [{"a": ["x", None]}, {"a": ["y", "x"]}])
    found, _ = read_source(batches, states={"a": ["y", "w", "x"]})
    assert found.variables[0].states == ("y", "w", "x") and found.codes[0].tolist() == [2, 3, 0, 2]
    with refuses(UnseenState, "a", "y"):
        read_source(batches, states={"a": ["w", "x"]})


def test_more_states_than_a_byte_holds():
    labels = np.random.default_rng(0).permutation(np.repeat([f"s{k}" for k in range(300)], 2))
    found, _ = read_source(Batches(lambda: [{"a": labels[:5]}, {"a": labels[5:]}]))
    assert found.codes[0].dtype == np.uint32
    np.testing.assert_array_equal(found.codes[0], read_nodes({"a": labels}).codes[0])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("method", ["auto", "pc", "mmhc", "chow-liu"])
def test_a_file_is_learned_as_its_frame(kind, method, tmp_path):
    path = tmp_path / f"grass.{kind}"
    if kind == "csv":
        ROWS.to_csv(path, index=False)
    else:
        ROWS.to_parquet(path, index=False)
    wanted = learn_network(ROWS, method)
    assert learn_network(path, method) == learn_network(str(path), method) == wanted
    halves = Batches(lambda: [ROWS[:333], ROWS[333:]])
    assert learn_network(halves, method) == learn_network(iter([ROWS[:1], ROWS[1:]]), method) == wanted


def test_weights_in_a_file(tmp_path):
    weights = np.random.default_rng(0).integers(1, 4, 1000)
    wanted = learn_network(ROWS, sample_weight=weights)
    path = tmp_path / "weighted.csv"
    ROWS.assign(w=weights).to_csv(path, index=False)
    assert learn_network(path, sample_weight="w") == wanted
    halves = Batches(lambda: pieces(ROWS.assign(w=weights), [400]))
    assert learn_network(halves, sample_weight="w") == wanted
    assert learn_network(Batches(lambda: pieces(ROWS, [400])), sample_weight=weights) == wanted


def test_mixed_columns_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 500)
    frame = pd.DataFrame({"a": a.astype(str), "x": a + rng.normal(size=500), "n": rng.integers(0, 3, 500)})
    frame["a"] = "s" + frame["a"]
    path = tmp_path / "mixed.csv"
    frame.to_csv(path, index=False)
    found, wanted = learn_network(path), learn_network(frame)
    assert found.arcs == wanted.arcs == [("a", "x")] and found.states("n") == (0, 1, 2)
    np.testing.assert_allclose(
        found.distribution("x").intercept, wanted.distribution("x").intercept, rtol=1e-12
    )


def test_whole_numbers_with_gaps_are_spoken_of(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b\n" + "0,x\n1,y\n,x\n0,y\n" * 20)
    with warns_of(SourceNote, "a", "states={'a': [...]}", "states={'a': float}") as said:
        network = learn_network(path)
    assert said[0].filename == __file__ and not hasattr(network.distribution("a"), "table")
    assert learn_network(path, states={"a": [0, 1]}).states("a") == (0, 1)
    learn_network(path, states={"a": float})


def test_arc_strengths_of_a_file(tmp_path):
    path = tmp_path / "grass.csv"
    ROWS[:300].to_csv(path, index=False)
    found, wanted = (arc_strengths(data, 3, method="hill-climbing") for data in (path, ROWS[:300]))
    assert (found.frequencies == wanted.frequencies).all()


def batches_of(*tables):
    return Batches(lambda: tables)


@pytest.mark.parametrize(
    ("data", "how", "error", "says"),
    [
        ("there is no such file.csv", {}, DataError, ["file.csv"]),
        (batches_of(), {}, DataError, ["batch"]),
        (batches_of({"a": ["x"]}, {"b": ["x"]}), {}, ColumnError, ["a", "b"]),
        (batches_of({"a": ["x"], "b": [1]}, {"a": ["x"]}), {}, ColumnError, ["b"]),
        (batches_of({"a": np.arange(2)}, {"a": np.array([1.5])}), {}, ColumnError, ["a", "states={'a': [...]}"]),
        (batches_of({"a": np.arange(2)}, {"a": ["x"]}), {}, ColumnError, ["a", "states={'a': [...]}"]),
        (batches_of(([[1]], ["y"])), {}, DataTypeError, ["tuple", "sample_weight="]),
        (batches_of({"a": np.arange(20)}, {"a": np.arange(10, 40)}), {}, ColumnError, ["a", 30]),
        (batches_of({"a": ["x"]}), {"discretize": {"a": 3}}, ColumnError, ["a", "intervals"]),
        (batches_of({"a": ["x"]}), {"states": {"q": ["x"]}}, ColumnError, ["states", "q"]),
        (batches_of({"a": [0.5, np.inf]}), {}, DataError, ["inf", 1]),
        (batches_of({"a": ["x"] * 600, "b": ["y"] * 600}), {"max_memory": 1000}, TooLarge, [1200, "max_memory="]),
        (batches_of({"a": ["x"]}), {"max_memory": -1}, SettingError, ["max_memory", -1]),
        (batches_of({"w": [1.0]}), {"sample_weight": "w"}, ColumnError, ["column", "weights"]),
        (batches_of({"a": ["x"]}), {"sample_weight": "w"}, ColumnError, ["sample_weight", "w"]),
        (batches_of(3), {}, DataTypeError, ["int"]),
    ],
)  # fmt: skip
def test_what_cannot_be(data, how, error, says):
    with refuses(error, *says):
        learn_network(data, **how)


def test_a_file_that_will_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "grass.csv"
    ROWS.to_csv(path, index=False)
    monkeypatch.setattr("bayeskit._data.files.FileSource.batches", lambda self: pytest.fail("it was read"))
    with refuses(TooLarge, "max_memory", 3999) as refused:
        learn_network(path, max_memory=3999)
    assert refused.value.bytes_needed == 4000


def test_text_is_coded_as_any_cells_are():
    """Text has a way of its own; one cell that is none takes the whole column the other way."""
    text = np.array(["b", None, "a", "b", "", None], object)
    codes, labels, *_ = factorize_array(text, "text")
    assert codes.tolist() == [0, -1, 1, 0, 2, -1] and labels == ["b", "a", ""]
    for other in (7, np.str_("b"), float("nan")):
        slow, found, *_ = factorize_array(np.append(text, np.array([other], object)), "text")
        assert slow[:-1].tolist() == codes.tolist() and found[:3] == labels
    with refuses(ColumnError, "text", "['b']", 1):
        factorize_array(np.array(["a", ["b"]], object), "text")


@pytest.mark.parametrize("sizes", [[400], [20, 30, 350]])
def test_a_number_of_intervals_for_all_cuts_integers_of_many_values_too(sizes):
    """As the command line does. In pieces they look like states at first."""
    rng = np.random.default_rng(3)
    many, few = np.sort(rng.integers(0, 90, 400)), rng.integers(0, 4, 400)
    ends = np.cumsum([0, *sizes])
    pieces = [{"many": many[a:b], "few": few[a:b]} for a, b in itertools.pairwise(ends.tolist())]
    learned = learn_network(Batches(lambda: pieces), "chow-liu", discretize=3)
    measured = learn_network({"many": many.astype(float), "few": few}, "chow-liu", discretize=3)
    assert learned.states("many") == measured.states("many") and len(learned.states("many")) == 3
    assert learned.states("few") == (0, 1, 2, 3)
    with refuses(ColumnError, "'many'", "more than 30"):
        learn_network(Batches(lambda: pieces), "chow-liu")
    with refuses(ColumnError, "'many'", "more than 30"):
        learn_network(Batches(lambda: pieces), "chow-liu", discretize={"few": 2})
