"""Factors as frames, as arrays and as HTML."""

from __future__ import annotations

import importlib
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from bayeskit._data import frames as native
from bayeskit._graphs.factor import MOST_ROWS, factor_frame, factor_html
from bayeskit.errors import UsageError
from bayeskit.networks import Estimate, Factor, Table, wet_grass
from refusals import refuses


def asymmetric():
    values = np.arange(24.0).reshape(2, 3, 4)
    return Factor(["a", "b", "c"], [["n", "y"], [1, 2, 3], ["p", "q", "r", "s"]], values)


def test_a_row_for_each_cell():
    factor = asymmetric()
    frame = factor_frame(factor)
    assert list(frame.columns) == ["a", "b", "c", "probability"]
    assert len(frame) == 24
    for row in frame.itertuples(index=False):
        assert row.probability == factor[row.a, row.b, row.c]
    assert frame["b"].dtype.kind == "i"


def test_names_and_states_of_any_kind():
    factor = Factor(["probability", ("x", 1)], [[True, False], ["a", 2]], [[1, 2], [3, 4]])
    frame = factor_frame(factor)
    assert list(frame.columns) == ["probability", ("x", 1), "probability_"]
    assert frame["probability_"].tolist() == [1, 2, 3, 4]
    assert frame[("x", 1)].tolist() == ["a", 2, "a", 2]
    assert factor_frame(Factor([], [], 0.5))["probability"].tolist() == [0.5]


def test_other_libraries_and_none(monkeypatch):
    monkeypatch.setattr(native, "LIBRARIES", ("polars",))
    frame = factor_frame(Factor(["rain"], [["no", "yes"]], [0.75, 0.25]))
    assert frame.columns == ["rain", "probability"] and frame["probability"].to_list() == [0.75, 0.25]
    monkeypatch.setattr(native, "import_module", _absent)
    with refuses(UsageError, "polars", "pip install"):
        factor_frame(asymmetric())


def _absent(name):
    if name in ("pandas", "polars", "pyarrow"):
        raise ImportError(name)
    return importlib.import_module(name)


def cells(html):
    table = ET.fromstring(html)
    head = ["".join(c.itertext()) for c in table.find("thead/tr")]
    return head, [["".join(c.itertext()) for c in row] for row in table.findall("tbody/tr")]


def test_html_of_one_variable_and_of_three():
    head, rows = cells(factor_html(Factor(["rain"], [["no", "yes"]], [0.75, 0.25])))
    assert (head, rows) == (["rain", "no", "yes"], [["", "0.75", "0.25"]])
    head, rows = cells(factor_html(asymmetric()))
    assert head == ["a", "b", "c = p", "c = q", "c = r", "c = s"]
    assert rows[1] == ["n", "2", "4", "5", "6", "7"] and len(rows) == 6
    assert "0.5" in factor_html(Factor([], [], 0.5))


def test_html_is_escaped_and_cut():
    html = factor_html(Factor(["<b>", "x"], [["<script>", '"'], ["&", "z"]], np.ones((2, 2))))
    assert "<script>" not in html and "<b>" not in html
    assert cells(html)[1][0][0] == "<script>"
    long = Factor(["a", "b"], [range(100), ["n", "y"]], np.full((100, 2), 0.5))
    rows = cells(factor_html(long))[1]
    assert len(rows) == MOST_ROWS + 1 and rows[-1] == [f"… {100 - MOST_ROWS} more rows"]
    exact = Factor(["a", "b"], [range(MOST_ROWS), ["n", "y"]], np.full((MOST_ROWS, 2), 0.5))
    assert len(cells(factor_html(exact))[1]) == MOST_ROWS


def rain(values=(0.75, 0.25)):
    return Factor(["rain"], [["no", "yes"]], values)


def estimated(values=(0.75, 0.25)):
    return Estimate(rain(values), "rejection", np.array([0.1, 0.1]), 100.0, n_samples=400, n_accepted=100)


@pytest.mark.parametrize("made", [rain, estimated, lambda: Table([0.75, 0.25])])
def test_numpy_sees_the_numbers(made):
    held = made()
    array = np.asarray(held)
    assert array.dtype == np.float64 and array.tolist() == [0.75, 0.25]
    # Nothing is copied, and nobody can write through it; a copy is one's own.
    assert array is held.values and not array.flags.writeable
    own = np.array(held)
    own[0] = 0.0
    assert held.values[0] == 0.75
    short = np.asarray(held, dtype=np.float32)
    assert short.dtype == np.float32 and short.tolist() == [0.75, 0.25]
    assert np.allclose(held, [0.75, 0.25]) and np.sum(held) == 1.0
    assert held.__array__(copy=False) is held.values
    assert held.__array__(copy=True) is not held.values
    with refuses(ValueError, "float32", "copy=False"):
        held.__array__(np.float32, copy=False)


def test_numpy_sees_all_axes_and_none():
    assert np.asarray(asymmetric()).shape == (2, 3, 4)
    assert np.asarray(Factor((), (), 2.5)).shape == () and float(np.asarray(Factor((), (), 2.5))) == 2.5


def test_answers_of_networks_are_arrays_to_numpy():
    network = wet_grass()
    found = network.query("rain", evidence={"wet": "yes"})
    assert np.asarray(found).tolist() == found.values.tolist()
    assert np.asarray(network.cpt("wet")).shape == (2, 2, 2)
    assert np.asarray(
        network.approximate(["rain", "joe"], method="likelihood weighting", n_samples=10)
    ).shape == (2, 2)
    assert np.asarray(network.distribution("rain")).tolist() == [0.8, 0.2]
