"""Points of a nomogram: they add up to the log-odds of the model, and the picture shows them where they are."""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest

from bayeskit import AODE, TAN, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes, WeightedNB
from bayeskit._report.charts.axis import SMALL
from bayeskit._report.scene import Words, text_width
from bayeskit.datasets import load_dataset
from bayeskit.errors import SettingError, UsageError
from refusals import refuses

MELON, IRIS = load_dataset("melon3"), load_dataset("iris")


def log_odds(model, row, a, b):
    logs = model.predict_log_proba(row)[0]
    place = list(model.classes_)
    return logs[place.index(a)] - logs[place.index(b)]


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(),
        NaiveBayes(numeric="student", smoothing="m-estimate"),
        NaiveBayes(missing="state", unseen="smooth"),
        NaiveBayes(numeric="kernel"),
        WeightedNB(numeric="gaussian"),
    ],
    ids=["plain", "student", "missing-state", "kernel", "weighted"],
)
def test_points_add_up_to_the_log_odds_of_every_row(model):
    model.fit(MELON.X, MELON.y)
    for i in (0, 5, 12):
        row = MELON.X.iloc[[i]]
        chart = model.nomogram("是", row=row)
        truth = log_odds(model, row, "是", "否")
        assert chart.against == "否"
        assert chart.log_odds == pytest.approx(truth, abs=1e-11)
        assert chart.intercept + chart.unit * chart.total == pytest.approx(truth, abs=1e-10)
        assert chart.probability(chart.total) == pytest.approx(1 / (1 + math.exp(-truth)), abs=1e-12)


def test_a_missing_value_and_one_never_seen_add_nothing():
    model = NaiveBayes().fit(MELON.X, MELON.y)
    row = dict.fromkeys(MELON.attributes)
    empty = model.nomogram(row=row)
    assert empty.log_odds == pytest.approx(log_odds(model, [list(row.values())], "是", "否"), abs=1e-12)
    assert [reading.log_odds for reading in empty.row] == [0.0] * 8
    odd = model.nomogram(row={**row, "色泽": "紫", "密度": 0.6})
    assert {r.name: r.log_odds != 0 for r in odd.row if r.value is not None} == {"色泽": False, "密度": True}


def test_three_classes_two_by_two_exactly_and_one_against_the_rest_for_one_value():
    model = GaussianNB().fit(IRIS.X, IRIS.y)
    a, b = "Iris-virginica", "Iris-versicolor"
    row = IRIS.X.iloc[[70]]
    pair = model.nomogram(a, against=b, row=row)
    assert pair.log_odds == pytest.approx(log_odds(model, row, a, b), abs=1e-9)
    # What one value says by itself against all others is the posterior of that value alone.
    nb = NaiveBayes().fit(IRIS.X, IRIS.y)
    alone = {**dict.fromkeys(IRIS.attributes), "petalwidth": 1.7}
    p = nb.predict_proba([list(alone.values())])[0, 2]
    rest = nb.nomogram(a, row=alone)
    assert rest.against is None
    assert rest.log_odds == pytest.approx(math.log(p / (1 - p)), abs=1e-12)


def test_points_begin_at_nought_and_the_widest_attribute_ends_at_a_hundred():
    model = CategoricalNB().fit([[0, 1], [1, 1], [1, 0], [2, 0]] * 3, ["no", "yes", "yes", "no"] * 3)
    chart = model.nomogram("yes")
    spreads = [ruler.spread for ruler in chart.rulers]
    assert spreads == sorted(spreads, reverse=True)
    first = chart.points(chart.rulers[0].name)
    assert first.min() == 0.0 and first.max() == pytest.approx(100.0)
    told = json.loads(json.dumps(chart.to_dict()))
    assert told["attributes"][0]["points"] == pytest.approx(first.tolist())


def words_of(chart, style="chart-small"):
    return [m for g in chart.scene().groups for m in g.marks if isinstance(m, Words) and m.style == style]


@pytest.mark.parametrize(("name", "label"), [("mushroom", "p"), ("melon3", "是"), ("iris", "Iris-virginica")])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_two_texts_of_the_picture_overlap_and_none_leaves_it(name, label, lang):
    data = load_dataset(name)
    chart = NaiveBayes().fit(data.X, data.y).nomogram(label, row=data.X.iloc[[0]], lang=lang)
    scene, boxes = chart.scene(), []
    for words in words_of(chart):
        wide = text_width(words.text, SMALL) * 0.9  # the widths are those of a broad font
        left = words.x - {"start": 0.0, "middle": wide / 2, "end": wide}[words.anchor]
        boxes.append((left, words.y - 8, left + wide, words.y, words.text))
    for i, a in enumerate(boxes):
        assert a[0] >= 0 and a[2] <= scene.width and a[1] > 0 and a[3] < scene.height, a
        for b in boxes[:i]:
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], (a, b)
    ElementTree.fromstring(chart.svg())


def test_a_density_far_out_does_not_crush_the_other_rulers():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    gain = np.where((y == 1) & (rng.random(400) < 0.2), 40_000.0, rng.normal(size=400))
    word = np.where(rng.random(400) < 0.2, "ab"[0], np.where(y == 1, "a", "b"))
    X = {"gain": gain, "word": word.astype(object)}
    chart = NaiveBayes().fit(X, y).nomogram(1, row={"gain": 40_000.0, "word": "a"})
    assert chart["gain"].spread <= 16.0
    assert chart["word"].spread > 0.1 * chart["gain"].spread
    truth = log_odds(NaiveBayes().fit(X, y), {"gain": [40_000.0], "word": ["a"]}, 1, 0)
    if math.isfinite(truth):
        assert chart.log_odds == pytest.approx(truth, rel=1e-9)


def test_refusals():
    X, y = MELON.X, MELON.y
    for model in (TAN(), AODE()):
        with refuses(UsageError, type(model), "NaiveBayes", "explain"):
            model.fit(X, y).nomogram()
    with refuses(UsageError, "MultinomialNB", "explain"):
        MultinomialNB().fit(np.eye(4), [0, 1, 0, 1]).nomogram()
    with refuses(UsageError, "x0", "a", "smoothing"):
        NaiveBayes(smoothing=0).fit([["a"], ["b"]], [0, 1]).nomogram()
    model = NaiveBayes().fit(X, y)
    for wrong in ({"label": "也许"}, {"label": "是", "against": "是"}, {"most": 0}, {"lang": "fr"}):
        with pytest.raises(SettingError):
            model.nomogram(**wrong)
    with refuses(UsageError, "nomogram", "class"):
        NaiveBayes().fit([["a"], ["b"]], [1, 1]).nomogram()
