"""The table of information: equal to sums over rows, sorted, and readable in two languages."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import AODE, TAN, MultinomialNB, NaiveBayes, datasets, explanations
from bayeskit._statistics.information import mixture_information
from bayeskit.errors import DataTypeError, SettingError, UsageError
from bayeskit.explanations import information, pairs
from bayeskit.statistics import mutual_information
from refusals import refuses

# Zhou, Machine Learning (2016), section 4.2.1: the gain of each attribute of table 4.1, in bits, to 3 places.
GAIN = {"色泽": 0.109, "根蒂": 0.143, "敲声": 0.141, "纹理": 0.381, "脐部": 0.289, "触感": 0.006}


def slow_entropy(labels: Any) -> float:
    n = Counter(labels)
    total = sum(n.values())
    return -math.fsum(v / total * math.log(v / total) for v in n.values()) if total else 0.0


def by_name(table: Any) -> dict[Any, Any]:
    return {row.name: row for row in table.rows}


def test_the_watermelons():
    melon = datasets.load_dataset("melon2")
    table = information(NaiveBayes().fit(melon.X, melon.y))
    assert [row.name for row in table.rows] == sorted(GAIN, key=lambda name: -GAIN[name])
    for row in table.rows:
        assert row.information / math.log(2) == pytest.approx(GAIN[row.name], abs=2e-3)
    assert table.entropy == pytest.approx(slow_entropy(melon.y), rel=1e-12)
    assert (table.target, table.n_classes) == ("y", 2)


@settings(max_examples=40)
@given(st.data())
def test_the_rows_are_sums_over_rows(data):
    """Each attribute over the rows where it is present, with its own H(Y)."""
    n = data.draw(st.integers(2, 15))
    column = st.lists(st.sampled_from(["u", "v", "w", None]), min_size=n, max_size=n)
    X = np.array([data.draw(column), data.draw(column)], dtype=object).T
    y = data.draw(st.lists(st.sampled_from(["no", "yes"]), min_size=n, max_size=n))
    table = by_name(information(NaiveBayes(categorical_features="all").fit(X, y)))
    for j, row in enumerate((table["x0"], table["x1"])):
        there = [(v, c) for v, c in zip(X[:, j], y, strict=True) if v is not None]
        values, classes = [v for v, _ in there], [c for _, c in there]
        told = slow_entropy(values) + slow_entropy(classes) - slow_entropy(there)
        assert row.states == len(set(values))
        assert row.entropy == pytest.approx(slow_entropy(values), abs=1e-12)
        assert row.information == pytest.approx(told, abs=1e-12)
        most = slow_entropy(classes)
        assert row.share == pytest.approx(told / most if most else 0.0, abs=1e-9)


def test_a_number_is_normal_in_each_class():
    x = np.array([1.0, 9.0, 10.0, 14.0, 6.0, 10.0, np.nan])
    y = [0, 0, 1, 1, 1, 1, 0]
    (row,) = information(NaiveBayes().fit(x[:, None], y)).rows
    there = x[:-1]
    parts = [there[:2], there[2:]]
    gain = mixture_information(
        [len(part) for part in parts], [part.mean() for part in parts], [part.std() for part in parts]
    )
    assert row.states is None
    assert row.information == pytest.approx(gain, rel=1e-9)
    assert row.entropy == pytest.approx(0.5 * math.log(2 * math.pi * math.e * there.var()), rel=1e-12)
    assert row.share == pytest.approx(gain / slow_entropy(y[:-1]), rel=1e-9)


def test_skewed_numbers_do_not_seem_to_tell_the_class():
    """Two overlapping classes of unequal spread: a Gaussian over both would tell 97% of the class."""
    rng = np.random.default_rng(0)
    y = np.arange(2_000) % 2
    x = np.where(y == 1, rng.normal(20.0, 9.0, 2_000), rng.normal(72.0, 300.0, 2_000))
    (row,) = information(NaiveBayes().fit(x[:, None], y)).rows
    cells = np.histogram2d(x, y, bins=[np.linspace(-1000, 1000, 200), 2])[0]
    assert row.information == pytest.approx(float(mutual_information(cells)), abs=0.05)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_no_attribute_tells_more_than_there_is_to_know(scale):
    """Far apart and narrow, a Gaussian would say more than H(Y); a constant says nothing. Units do not matter."""
    X = np.column_stack([np.array([0.0, 1e-9, 1.0, 1.0 + 1e-9]) * scale, np.full(4, 7.0)])
    apart, constant = information(NaiveBayes().fit(X, [0, 0, 1, 1])).rows
    assert apart.information == pytest.approx(math.log(2)) and apart.share == 1.0
    assert apart.entropy == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 0.25) + math.log(scale))
    assert constant.information == constant.share == 0.0 and constant.entropy == -math.inf


def test_one_class_has_nothing_to_tell():
    table = information(NaiveBayes().fit([["a", 1.0], ["b", 2.0]], ["yes", "yes"]))
    assert table.entropy == 0.0
    assert all(row.information == row.share == 0.0 for row in table.rows)


@pytest.mark.parametrize("model", [TAN(), AODE(), TAN(numeric="gaussian")])
def test_pairs_are_sums_over_rows(model):
    melon = datasets.load_dataset("melon3")
    found = pairs(model.fit(melon.X, melon.y), most=None).rows
    names = [v.name for v in model.schema_.categorical]
    assert len(found) == len(names) * (len(names) - 1) // 2
    assert [row.information for row in found] == sorted((row.information for row in found), reverse=True)
    for row in found:
        if {row.first, row.second} <= set(GAIN):
            a, b, y = (list(melon.columns[name]) for name in (row.first, row.second, "好瓜"))
            slow = (
                slow_entropy(zip(a, y, strict=True))
                + slow_entropy(zip(b, y, strict=True))
                - slow_entropy(zip(a, b, y, strict=True))
                - slow_entropy(y)
            )
            assert row.information == pytest.approx(slow, abs=1e-12)
            assert names.index(row.first) < names.index(row.second)
    assert pairs(model, most=2).rows == found[:2]


def test_statistics_do_as_well_as_a_model_and_lazy_ones_too():
    melon = datasets.load_dataset("melon2")
    model = TAN().fit(melon.X, melon.y)
    assert information(model.statistics_) == information(model)
    assert pairs(model.statistics_) == pairs(model)
    lazy = NaiveBayes().lazy(melon.X, melon.y)
    assert information(lazy).rows == information(NaiveBayes().fit(melon.X, melon.y)).rows


def test_the_page():
    X, y = [["<a>", 1.0], ["<b>", 4.0], ["<b>", 5.0], ["<a>", 2.0]], ["no", "yes", "yes", "no"]
    model = NaiveBayes().fit(X, y)
    text = str(information(model))
    lines = text.splitlines()
    assert lines[0] == "Information about y in the attributes"
    assert lines[2].split() == ["attribute", "states", "H(X)", "I(X;Y)", "of", "H(Y)"]
    assert lines[3].split() == ["x0", "2", "0.6931", "0.6931", "100.0%"]
    assert lines[4].split()[:2] == ["x1", "number"]
    assert lines[6].split() == ["y", "2", "0.6931"]
    chinese = str(information(model, lang="zh"))
    assert "属性" in chinese and "attribute" not in chinese and "数值" in chinese
    assert information(model)._repr_html_().partition("</style>\n")[2].startswith("<table>")
    tree = TAN().fit({"<i>": ["a", "b"], "j": ["c", "d"]}, ["no", "yes"])
    assert "&lt;i&gt;" in pairs(tree)._repr_html_() and "<i>" in str(pairs(tree))
    assert str(pairs(TAN().fit([["a"], ["b"]], ["no", "yes"])))  # one attribute, no pair


def test_what_cannot_be_told_is_refused():
    model = NaiveBayes().fit([["a"], ["b"]], ["no", "yes"])
    with refuses(UsageError, "pairs", "TAN"):
        pairs(model)
    with refuses(DataTypeError, list):
        information([1, 2])
    with refuses(SettingError, "lang", "fr"):
        information(model, lang="fr")
    for top in (0, -1, 2.5, True):
        with refuses(SettingError, "most", top):
            pairs(TAN().fit([["a", "b"]], ["no"]), most=top)
    words = MultinomialNB().fit(np.array([[1.0, 0.0], [0.0, 1.0]]), [0, 1])
    assert information(words).rows == ()  # the columns of a block are not listed


def test_the_name_is_that_of_the_function_whatever_was_imported():
    importlib.import_module("bayeskit._report.information_table")
    assert callable(explanations.information) and "information" in dir(explanations)
