"""Cut points chosen from a source: the same from one batch or many, from weights or repetition, or as given."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import Batches
from bayeskit._data.source import Source
from bayeskit._fitting import choose_cuts
from bayeskit._fitting.choose_cuts import choose_cut_points
from bayeskit.classifiers import mdl_cut_points
from bayeskit.errors import ColumnError, InfiniteValue, SettingError, WeightError
from bayeskit.extending import Reading
from refusals import refuses


def rows_of(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["m", "a", "z"], n)
    frame = pd.DataFrame(
        {
            "s": rng.choice(list("pq"), n),
            "u": rng.normal(np.select([y == "m", y == "a"], [0.0, 4.0], 8.0), 1.0),
            "v": rng.normal(0.0, 1.0, n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "u"] = np.nan
    return frame, y


def batches(frame, y, cuts, w=None):
    """The same rows in several batches, opened anew each time."""
    bounds = list(zip([0, *cuts], [*cuts, len(y)], strict=True))
    parts = [(frame.iloc[a:b], y[a:b], *(() if w is None else (w[a:b],))) for a, b in bounds]
    return Source(Batches(lambda: parts))


def chosen(*source, given=None, reading=Reading()):  # noqa: B008  (a frozen value)
    opened = source[0] if isinstance(source[0], Source) else Source(*source)
    return choose_cut_points(opened, reading, given or {})


def expected(frame, y, w=None):
    classes, codes = np.unique(y, return_inverse=True)
    return {
        name: tuple(mdl_cut_points(frame[name].to_numpy(), codes, len(classes), w).tolist())
        for name in ("u", "v")
    }


def test_every_numeric_column_is_cut_where_it_tells_the_classes_apart():
    frame, y = rows_of()
    cuts = chosen(frame, y)
    assert cuts == expected(frame, y)
    assert len(cuts["u"]) == 2  # between three classes
    assert cuts["v"] == ()  # which tells nothing


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.sets(st.integers(1, 299), max_size=4), weighted=st.booleans())
def test_batches_are_the_rows_they_are_made_of(seed, cuts, weighted):
    frame, y = rows_of(seed=seed)
    w = np.random.default_rng(seed).integers(0, 4, 300).astype(float) if weighted else None
    assert chosen(batches(frame, y, sorted(cuts), w)) == chosen(frame, y, w) == expected(frame, y, w)


def test_classes_that_come_later_may_stand_between_the_old_ones():
    """The codes of the rows kept move when 'f' comes between 'a' and 'm': else classes would be mixed up."""
    frame, y = rows_of()
    order = np.argsort(np.select([y == "m", y == "z"], [0, 1], 2), kind="stable")  # m, then z, then a
    frame, y = frame.iloc[order].reset_index(drop=True), y[order]
    starts = [int(np.flatnonzero(y == label)[0]) for label in ("z", "a")]
    assert chosen(batches(frame, y, starts)) == expected(frame, y)


def test_a_batch_may_weigh_nothing_and_a_source_may_not():
    frame, y = rows_of()
    w = np.ones(300)
    w[100:180] = 0.0
    assert chosen(batches(frame, y, [100, 180], w)) == expected(frame, y, w)
    with pytest.raises(WeightError):
        chosen(batches(frame, y, [100, 180], np.zeros(300)))


def test_some_batches_may_have_weights():
    frame, y = rows_of()
    parts = [(frame[:100], y[:100]), (frame[100:], y[100:], np.full(200, 2.0))]
    found = chosen(Source(Batches(lambda: parts)))
    assert found == expected(frame, y, np.repeat([1.0, 2.0], [100, 200]))


def test_weight_is_repetition_and_weight_zero_absence():
    frame, y = rows_of(120)
    w = np.random.default_rng(1).integers(0, 4, 120)
    again = frame.loc[np.repeat(np.arange(120), w)]
    assert chosen(frame, y, w.astype(float)) == chosen(again, np.repeat(y, w))


def test_columns_of_later_batches_are_matched_by_name():
    frame, y = rows_of()
    parts = [(frame[:150], y[:150]), (frame[150:][["v", "u", "s"]], y[150:])]
    assert chosen(Source(Batches(lambda: parts))) == expected(frame, y)


NAMED = {"mapping": lambda f: {name: f[name].to_numpy() for name in f}, "frame": lambda f: f}
OTHERS = [*itertools.product(NAMED.values(), [["u"], ["u", "z"], ["u", "v", "z"]])]
OTHERS += [(np.asarray, ["u"]), (np.asarray, ["u", "v", "z"])]


@pytest.mark.parametrize(("form", "columns"), OTHERS)
def test_columns_of_later_batches_must_be_those_of_the_first(form, columns):
    frame, y = rows_of()
    frame = frame[["u", "v"]].assign(z=0.0)
    parts = [(form(frame[["u", "v"]][:150]), y[:150]), (form(frame[columns][150:]), y[150:])]
    with pytest.raises(ColumnError):
        chosen(Source(Batches(lambda: parts)))


# -- as given --------------------------------------------------------------------------------------


def test_given_cuts_are_taken_and_the_others_chosen():
    frame, y = rows_of()
    cuts = chosen(frame, y, given={"v": [-1, 1]})
    assert cuts == {"u": expected(frame, y)["u"], "v": (-1.0, 1.0)}
    assert chosen(frame, y, given={"v": 0.5})["v"] == (0.5,)
    assert chosen(frame, y, given={"u": np.array([1.5]), "v": ()}) == {"u": (1.5,), "v": ()}


def test_where_all_are_given_no_value_is_looked_at():
    frame, y = rows_of()
    frame.loc[3, "u"] = np.inf
    assert chosen(frame, y, given={"u": [1], "v": [2]}) == {"u": (1.0,), "v": (2.0,)}


@pytest.mark.parametrize("name", ["nowhere", "s"], ids=["no column", "a categorical column"])
def test_cuts_of_a_column_that_has_no_numbers_are_refused(name):
    """Else a slip of the pen would pass for a setting."""
    with refuses(SettingError, "cut_points", name):
        chosen(*rows_of(), given={name: [1.0]})


@pytest.mark.parametrize("cuts", [["x"], [[1, 2], [3, 4]], [[1, 2], [3]], [1j], {"a": 1}], ids=str)
def test_cuts_that_are_no_numbers_are_refused(cuts):
    with refuses(SettingError, "u", str(cuts)):
        chosen(*rows_of(), given={"u": cuts})


# -- sources ---------------------------------------------------------------------------------------


def test_infinite_values_are_refused_by_name():
    frame, y = rows_of()
    frame.loc[3, "u"] = -np.inf
    with refuses(InfiniteValue, "u", "-inf", 3):
        chosen(frame, y)


def test_columns_declared_categorical_are_not_cut():
    frame, y = rows_of()
    assert set(chosen(frame, y, reading=Reading(categorical=["s", "v"]))) == {"u"}
    assert chosen(frame, y, reading=Reading(categorical="all")) == {}
    assert chosen(frame[["s"]], y) == {}


def test_no_rows_no_cuts():
    assert chosen(Source(Batches(list))) == {}


@pytest.mark.parametrize("n_batches", [2, 7, 40])
def test_long_sources_are_thinned_evenly(monkeypatch, n_batches):
    """Kept are rows 0, s, 2s, … whatever the batches are."""
    monkeypatch.setattr(choose_cuts, "MOST_ROWS", 1_000)
    n = 8_000
    frame, y = rows_of(n)
    edges = np.sort(np.random.default_rng(n_batches).choice(np.arange(1, n), n_batches - 1, replace=False))
    found = chosen(batches(frame, y, edges.tolist()))
    steps = [s for s in (2, 4, 8, 16) if found == expected(frame[::s], y[::s])]
    assert steps, "not every s-th row"
    assert found != expected(frame, y)
    if n_batches == 40:
        assert steps[0] == 8


def test_rows_in_memory_are_all_looked_at(monkeypatch):
    monkeypatch.setattr(choose_cuts, "MOST_ROWS", 10)
    frame, y = rows_of()
    assert chosen(frame, y) == expected(frame, y)
