"""Charts: the numbers are those of the model and of scikit-learn; the pictures are whole, safe and readable."""

from __future__ import annotations

import errno
import os
import re
import runpy
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.integrate import trapezoid
from sklearn.calibration import calibration_curve

from bayeskit import AODE, KDB, TAN, BayesNetClassifier, BernoulliNB, GaussianMixture, GaussianNB, NaiveBayes
from bayeskit._report import picture as pictures
from bayeskit._report.charts.axis import CHART_STYLES, wrapped
from bayeskit._report.mixture_report import component_chart
from bayeskit._report.scene import STYLES, Words, text_width
from bayeskit.charts import (
    cost_curve,
    curve_picture,
    lift_curve,
    precision_recall_curve,
    reject_curve,
    reliability,
    roc_curve,
)
from bayeskit.datasets import load_dataset
from bayeskit.errors import BayeskitError, ColumnError, DataError, SettingError, SuspectResult, UsageError
from refusals import refuses, warns_of

MELON, IRIS = load_dataset("melon3"), load_dataset("iris")
RNG = np.random.default_rng(0)
P = np.round(RNG.beta(0.6, 0.6, 500), 2)
Y = (RNG.random(500) < P**1.5).astype(int)
BOTH = np.column_stack([1 - P, P])


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_reliability_is_that_of_scikit_learn(strategy):
    found = reliability(Y, BOTH, [0, 1], n_bins=8, strategy=strategy)
    observed, predicted = calibration_curve(Y, P, n_bins=8, strategy=strategy)
    np.testing.assert_allclose(found.observed, observed, rtol=1e-12)
    np.testing.assert_allclose(found.predicted, predicted, rtol=1e-12)
    assert found.counts.sum() == 500
    assert ((found.lower <= observed) & (observed <= found.upper)).all()
    assert found.error == pytest.approx(np.average(np.abs(observed - predicted), weights=found.counts))


def test_reliability_of_three_classes_is_that_of_the_one_chosen():
    model = GaussianNB().fit(IRIS.X, IRIS.y)
    posterior = model.predict_proba(IRIS.X)
    found = model.reliability(IRIS.X, IRIS.y, n_bins=5)
    right = model.predict(IRIS.X) == IRIS.y
    assert found.label is None
    assert (found.observed @ found.counts) == pytest.approx(right.sum())
    assert (found.predicted @ found.counts) == pytest.approx(posterior.max(axis=1).sum())
    one = model.reliability(IRIS.X, IRIS.y, label="Iris-setosa")
    assert one.observed @ one.counts == pytest.approx(50)


def test_the_area_under_the_cost_curve_is_the_brier_score():
    curve = cost_curve(Y, BOTH, [0, 1])
    assert curve.brier == pytest.approx(np.mean((P - Y) ** 2))
    # Shares are whole hundredths and c goes in half ones: the midpoints between knots integrate a line exactly.
    inner = curve.cost[1::2].mean()
    assert inner == pytest.approx(curve.brier, abs=1e-12)
    c = 0.3
    said = c - 1e-12 <= P
    paid = 2 * np.mean(c * (said & (Y == 0)) + (1 - c) * (~said & (Y == 1)))
    assert curve.cost[60] == pytest.approx(paid)
    assert (curve.best <= curve.cost + 1e-12).all()
    assert (curve.best <= np.minimum(curve.always, curve.never) + 1e-12).all()


def test_the_reject_curve_counts_rows():
    curve = reject_curve(Y, BOTH, [0, 1])
    sure, wrong = BOTH.max(axis=1), BOTH.argmax(axis=1) != Y
    for place in (0, 7, len(curve.threshold) - 1):
        kept = sure >= curve.threshold[place]
        assert curve.rejected[place] == pytest.approx(1 - kept.mean())
        assert curve.error[place] == pytest.approx(wrong[kept].mean())
    chow = curve.at(0.2)
    kept = sure >= 0.8 - 1e-12
    assert chow.rejected == pytest.approx(1 - kept.mean())
    assert chow.risk == pytest.approx(np.mean(wrong & kept) + 0.2 * (1 - kept.mean()))
    assert curve.at(0.0).error <= curve.at(0.5).error == pytest.approx(wrong.mean())
    with refuses(SettingError, "cost", 2):
        curve.at(2)


@pytest.mark.parametrize(
    "model", [NaiveBayes(), TAN(), KDB(), AODE(numeric="gaussian")], ids=lambda m: type(m).__name__
)
def test_regions_are_the_posterior_on_the_grid(model):
    model.fit(MELON.X, MELON.y)
    given = {"触感": "硬滑", "脐部": "凹陷"}
    names = ("色泽", "纹理")
    if not isinstance(model, TAN | KDB):  # these cut 密度 into one interval of 17 rows
        names = ("密度", "纹理")
    found = model.regions(*names, given=given, grid=5)
    for i in range(len(found.y.values)):
        for j in range(len(found.x.values)):
            row = {name: [None] for name in MELON.attributes} | {key: [value] for key, value in given.items()}
            row |= {names[0]: [found.x.values[j]], names[1]: [found.y.values[i]]}
            np.testing.assert_allclose(found.posterior[i, j], model.predict_proba(row)[0], rtol=1e-12)
    assert found.chosen.shape == (3, len(found.x.values))


def test_regions_of_numbers_that_are_cut_into_intervals_and_of_an_array():
    X = IRIS.X.to_numpy()
    found = TAN().fit(X, IRIS.y).regions("x2", "x3", grid=7, rows=X, labels=IRIS.y)
    assert found.x.numeric and found.posterior.shape == (7, 7, 3) and len(found.dots) == 150
    assert set(found.chosen.ravel().tolist()) == {0, 1, 2}


def test_a_profile_holds_the_distributions_of_the_model():
    model = NaiveBayes().fit(MELON.X, MELON.y)
    found = model.class_profile()
    np.testing.assert_allclose(found["纹理"].shares, model.table("纹理").probabilities, rtol=1e-12)
    density = found["密度"]
    area = trapezoid(density.shares, np.asarray(density.values), axis=1)
    assert (np.abs(area - 1) < 0.03).all()
    best = [d.information for d in found.distributions]
    assert best == sorted(best, reverse=True) and best[0] > 0
    # The same numbers under a model with arcs, whose table of an attribute alone is smoothed as naive Bayes smooths.
    arcs = TAN(smoothing=1.0, cut_points={"密度": [0.5], "含糖率": [0.2]}).fit(MELON.X, MELON.y)
    np.testing.assert_allclose(
        arcs.class_profile()["纹理"].shares, model.table("纹理").probabilities, rtol=1e-12
    )
    assert [d.name for d in model.class_profile(["触感", "密度"]).distributions] == ["触感", "密度"]


def every_chart(lang="en"):
    model = NaiveBayes().fit(MELON.X, MELON.y)
    yield model.nomogram(row=MELON.X.iloc[[3]], lang=lang)
    yield model.class_profile(lang=lang)
    yield model.regions("密度", "色泽", given={"触感": "硬滑"}, rows=MELON.X, labels=MELON.y, lang=lang)
    yield model.reliability(MELON.X, MELON.y, lang=lang)
    yield model.reject_curve(MELON.X, MELON.y, lang=lang)
    yield model.cost_curve(MELON.X, MELON.y, lang=lang)
    yield model.explain(MELON.X.iloc[[3]], lang=lang).waterfall()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_picture_is_one_whole_svg_for_a_telephone_and_in_its_language(lang, tmp_path):
    for chart in every_chart(lang):
        svg = chart.svg()
        root = ElementTree.fromstring(svg)
        assert float(root.get("width")) <= 480 and "max-width:100%" in root.get("style")
        assert "Noto Sans CJK SC" in svg and "Microsoft YaHei" in svg
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", ""), "nothing is fetched"
        # In a notebook the same marks, in the colours of the notebook.
        assert svg.partition("</style>")[2].strip() in chart._repr_html_()
        texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
        ours = re.sub("密度|色泽|是", "", texts[0])
        assert bool(re.search("[\u4e00-\u9fff]", ours)) == (lang == "zh"), texts[0]
        assert "{" not in "".join(texts) and "nan" not in svg
        path = tmp_path / "chart.svg"
        assert chart.save(path) == path and path.read_text(encoding="utf-8") == svg
        # All that is drawn has a style, in the light and in the dark.
        used = {node.get("class") for node in root.iter() if node.get("class")} - {root.get("class"), "page"}
        light, dark = svg.split("</style>")[0].split("@media", 1)
        for name in used:
            assert f".{name}{{" in light + dark


def drawn_charts(lang):
    """Every chart but the nomogram, which has a test of its own, and what is hard to lay out."""
    yield from (chart.picture() for chart in list(every_chart(lang))[1:])
    iris = NaiveBayes().fit(IRIS.X * 1e6, IRIS.y)
    yield iris.regions(
        "petallength", "petalwidth", grid=9, rows=IRIS.X * 1e6, labels=IRIS.y, lang=lang
    ).picture()
    yield iris.reject_curve(IRIS.X * 1e6, IRIS.y, lang=lang).picture()
    names = [f"a rather long name of class {i % 9}" for i in range(150)]
    many = GaussianMixture(14, random_state=0, max_iter=2, tol=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield many.fit(IRIS.X).plot(IRIS.X * 1.0, labels=names, lang=lang)
    grid = [(kind, n, 1e6 + 10 * n) for kind in ("full", "diag", "tied", "") for n in range(1, 31)]
    yield component_chart(grid, "BIC", lang=lang)
    curves = {f"从第 {i} 个起点, a long name": enumerate([-1e5 - i, -1e4]) for i in range(12)}
    yield curve_picture(curves, "step", "log-likelihood", "EM climbs from many starts to one end " * 3)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_two_texts_overlap_and_none_leaves_the_picture(lang):
    for picture in drawn_charts(lang):
        scene, boxes = picture.scene, []
        styles = {**STYLES, **CHART_STYLES}
        # The numbers of components may cross: their means lie where they lie.
        groups = [group for group in scene.groups if not group.title.startswith("mean of")]
        for words in (m for group in groups for m in group.marks if isinstance(m, Words)):
            size = styles[words.style].font_size
            wide = text_width(words.text, size) * 0.9  # the widths are those of a broad font
            left = words.x - {"start": 0.0, "middle": wide / 2, "end": wide}[words.anchor]
            boxes.append((left, words.y - 0.7 * size, left + wide, words.y, words.text))
        for i, a in enumerate(boxes):
            assert a[0] >= 0 and a[2] <= scene.width and a[1] > 0 and a[3] < scene.height, (scene.title, a)
            for b in boxes[:i]:
                apart = a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]
                assert apart, (scene.title, a, b)


def test_what_cannot_be_written_whole_leaves_the_old_picture(tmp_path, monkeypatch):
    path = tmp_path / "chart.svg"
    chart = cost_curve(Y, BOTH, [0, 1])
    chart.save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left.*chart\.svg"):
        cost_curve(1 - Y, BOTH, [0, 1]).save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_network_has_the_charts_of_its_predictions():
    model = BayesNetClassifier("tan").fit(MELON.X, MELON.y)
    posterior = model.predict_proba(MELON.X)
    assert model.reliability(MELON.X, MELON.y).error == reliability(MELON.y, posterior, model.classes_).error
    assert model.reject_curve(MELON.X, MELON.y).at(0.2) == reject_curve(
        MELON.y, posterior, model.classes_
    ).at(0.2)
    brier = np.mean((posterior[:, 1] - (np.asarray(MELON.y) == "是")) ** 2)
    assert model.cost_curve(MELON.X, MELON.y).brier == pytest.approx(brier)


def test_the_pictures_of_the_guide_are_those_that_their_script_draws():
    folder = Path(__file__).parents[2] / "docs" / "pictures"
    if not folder.is_dir():
        pytest.skip("the documentation is not part of this copy")
    script = runpy.run_path(str(folder / "make_charts.py"))
    for name in script["PICTURES"]:
        for ending in script["LANGUAGES"].values():
            assert (folder / f"{name}{ending}.svg").is_file()
    # Those that rounding cannot change.
    for name in ("nomogram", "class_profile"):
        assert script["drawn"](name, "zh") == (folder / f"{name}.zh-CN.svg").read_text(encoding="utf-8")


def test_what_people_type_is_escaped():
    rows = {"<script>": ["a&b", "<i>"] * 4}
    model = NaiveBayes().fit(rows, ["</svg>", '"'] * 4)
    for chart in (model.nomogram(), model.class_profile(), model.reject_curve(rows, ["</svg>", '"'] * 4)):
        svg = chart.svg()
        assert "<script" not in svg and "<i>" not in svg and svg.count("</svg>") == 1
        ElementTree.fromstring(svg)


def test_matplotlib_draws_every_chart_and_chinese_without_boxes(tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.setattr(pictures, "_warned", False)
    monkeypatch.setattr(pictures, "installed", lambda: ["Noto Sans CJK SC"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspectResult)
        for chart in every_chart("zh"):
            axes = chart.plot()
            for one in axes if isinstance(axes, list) else [axes]:
                title = one.title
                assert title.get_text()
                assert "Noto Sans CJK SC" in title.get_fontfamily()
            pyplot.close("all")
    _, mine = pyplot.subplots()
    chart = next(every_chart())
    assert chart.plot(mine) is mine
    assert chart.save(tmp_path / "nomogram.png").stat().st_size > 5000
    # Without such a font: one warning, which says what helps, and no second one.
    monkeypatch.setattr(pictures, "installed", list)
    with warns_of(SuspectResult, "fonts-noto-cjk", "模糊"):
        chart.plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspectResult)
        chart.plot()
    pyplot.close("all")


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.figure", "matplotlib.font_manager"):
        monkeypatch.setitem(sys.modules, name, None)
    chart = cost_curve(Y, BOTH, [0, 1])
    with refuses(UsageError, "bayeskit[plot]"):
        chart.plot()
    with refuses(UsageError, "x.png", ".svg"):
        chart.save("x.png")
    with refuses(SettingError, "x.gif", ".svg"):
        chart.save("x.gif")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: reliability(Y, BOTH, [0, 1], n_bins=0), SettingError),
        (lambda: reliability(Y, BOTH, [0, 1], strategy="equal"), SettingError),
        (lambda: reliability(Y, BOTH, [0, 1], label=2), SettingError),
        (lambda: reliability(Y, BOTH, [0, 1], lang="de"), SettingError),
        (lambda: reliability(Y[:3], BOTH, [0, 1]), DataError),
        (lambda: reliability(Y + 5, BOTH, [0, 1]), DataError),
        (lambda: reject_curve(Y, BOTH * np.nan, [0, 1]), DataError),
        (lambda: cost_curve([0], [[0.2, 0.3, 0.5]], [0, 1, 2]), SettingError),
        (lambda: NaiveBayes().fit(MELON.X, MELON.y).regions("密度", "密度"), SettingError),
        (lambda: NaiveBayes().fit(MELON.X, MELON.y).regions("密度", "甜度"), ColumnError),
        (lambda: NaiveBayes().fit(MELON.X, MELON.y).regions("密度", "色泽", grid=1), SettingError),
        (
            lambda: NaiveBayes().fit(MELON.X, MELON.y).regions("密度", "色泽", rows=MELON.X, labels=[1]),
            DataError,
        ),
        (lambda: NaiveBayes().fit(MELON.X, MELON.y).class_profile(["甜度"]), ColumnError),
        (lambda: BernoulliNB().fit(np.eye(4), [0, 1, 0, 1]).class_profile(), UsageError),
    ],
)
def test_bad_input_is_named(call, error):
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, BayeskitError) and str(caught.value).endswith((".", ")."))


def test_lines_break_where_they_may():
    for line in wrapped("The quick brown fox jumps over the lazy dog", 90, 12.0):
        assert not line.startswith(" ") and not line.endswith(" ")
    assert all(not line.startswith("，") for line in wrapped("预测，" * 20, 60, 12.0))


def enclosed(lines):
    """The area within closed lines; a hole counts as negative."""
    turned = ((x, y, np.roll(x, -1), np.roll(y, -1)) for x, y in (line.T for line in lines))
    return sum(float((x * v - u * y).sum()) / 2 for x, y, u, v in turned)


def test_borders_of_regions_are_smooth():
    from bayeskit._report.charts.regions import loops

    side = np.linspace(-2.0, 2.0, 81)
    radius = np.hypot(*np.meshgrid(side, side))
    ring = loops(side, side, np.minimum(1.5 - radius, radius - 0.5))
    assert len(ring) == 2 and enclosed(ring) == pytest.approx(2 * np.pi, rel=1e-3)
    assert enclosed(loops(side, side, radius)) == pytest.approx(16.0)  # all of the grid
    assert not loops(side, side, -1.0 - radius)
    pair = np.arange(2.0)
    # Opposite corners are inside, and the middle decides whether they are joined.
    assert len(loops(pair, pair, np.array([[2.0, -1.0], [-1.0, 2.0]]))) == 1
    assert len(loops(pair, pair, np.array([[2.0, -3.0], [-3.0, 2.0]]))) == 2
    chart = NaiveBayes().fit(IRIS.frame, target="class").regions("petallength", "petalwidth", grid=40)
    areas = [series for series in chart.description().panels[0].series if hasattr(series, "loops")]
    shown = sum(enclosed(area.loops) for area in areas if area.band == 0)
    x, y = chart.x.axis(), chart.y.axis()
    # The classes fill the axes, but for slivers where three of them meet.
    assert shown == pytest.approx((x.high - x.low) * (y.high - y.low), rel=2e-3)


def test_the_lines_without_a_model_end_where_they_cross():
    chart = cost_curve([0, 0, 0, 1], [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.3, 0.7]], [0, 1])
    panel = chart.description().panels[0]
    dashed = [series for series in panel.series if series.dashed]
    assert len(dashed) == 2
    for series in panel.series:
        assert float(series.y.max()) <= panel.y.high


def test_ranking_curves_are_those_of_scikit_learn() -> None:
    from sklearn import metrics

    rng = np.random.default_rng(0)
    hit = rng.random(400) < 0.1
    p = np.clip(0.1 + 0.2 * hit + rng.normal(0, 0.1, 400), 0, 1).round(2)  # with ties
    given = (np.where(hit, "yes", "no"), np.stack([1 - p, p], axis=1), ["no", "yes"])
    roc, pr, lift = (curve(*given) for curve in (roc_curve, precision_recall_curve, lift_curve))
    assert roc.area == pytest.approx(metrics.roc_auc_score(hit, p))
    assert pr.area == pytest.approx(metrics.average_precision_score(hit, p)) and pr.share == hit.mean()
    false, true, _ = metrics.roc_curve(hit, p, drop_intermediate=False)
    assert roc.x == pytest.approx(false) and roc.y == pytest.approx(true)
    for curve in (roc, pr):
        assert curve.interval is not None and curve.interval[0] < curve.area < curve.interval[1]
    top = p >= lift.threshold[np.searchsorted(lift.x, 0.1)]
    assert lift.area == pytest.approx(hit[top].mean() / hit.mean())
    assert lift.y[-1] == 1.0 and "yes" in lift.svg() and roc_curve(*given, lang="zh").svg()
    # Rows that are tied before the first threshold stand in any order: the lines begin at the left.
    for curve in (pr, lift):
        drawn = curve.description().panels[0].series[-1]
        assert drawn.x[0] == 0.0 < curve.x[0] and drawn.y[0] == curve.y[0]
    one_class = (["no"] * 400, *given[1:])
    assert np.isnan(roc_curve(*one_class, label="yes").area)
