"""A chart is described once: both renderers show what the description says, and no chart draws by itself."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit._report.charts as charts
import bayeskit._report.mixture_report as mixture_report
from bayeskit import GaussianMixture, NaiveBayes
from bayeskit._markup import plain
from bayeskit._report.charts.axis import Scale, shortened
from bayeskit._report.charts.plot import START, STOP, Area, Cells, Conversion, Lane, Ring, Rulers, Tag
from bayeskit._report.charts.plot_scene import MOST_POINTS
from bayeskit._report.mixture_report import component_chart
from bayeskit._report.scene import Line, Rectangle, Words, text_width
from bayeskit.charts import Axis, Bars, Chart, Curve, Key, Panel, Plot, Points, curve_picture, states_axis
from bayeskit.datasets import load_dataset

MELON, IRIS, MUSHROOM = load_dataset("melon3"), load_dataset("iris"), load_dataset("mushroom")


def every_picture(lang):
    """Every chart there is, with states and with numbers, two classes and three."""
    melons, iris = NaiveBayes().fit(MELON.X, MELON.y), NaiveBayes().fit(IRIS.X, IRIS.y)
    mushrooms = NaiveBayes().fit(MUSHROOM.X, MUSHROOM.y)
    described = [
        melons.nomogram(row=MELON.X.iloc[[3]], lang=lang),
        iris.nomogram(lang=lang),
        mushrooms.nomogram(most=4, lang=lang),
        melons.class_profile(lang=lang),
        iris.class_profile(most=1, lang=lang),
        mushrooms.class_profile(most=2, lang=lang),
        melons.regions("密度", "色泽", rows=MELON.X, labels=MELON.y, lang=lang),
        melons.regions("触感", "色泽", lang=lang),
        iris.regions("petallength", "petalwidth", grid=9, rows=IRIS.X, labels=IRIS.y, lang=lang),
        melons.reliability(MELON.X, MELON.y, lang=lang),
        iris.reliability(IRIS.X, IRIS.y, n_bins=4, lang=lang),
        mushrooms.reject_curve(MUSHROOM.X, MUSHROOM.y, lang=lang),
        melons.cost_curve(MELON.X, MELON.y, lang=lang),
        melons.explain(MELON.X.iloc[[3]], lang=lang).waterfall(),
        iris.explain(IRIS.X.iloc[[70]], lang=lang).waterfall(most=2),
        NaiveBayes(smoothing=0)
        .fit(MUSHROOM.X, MUSHROOM.y)
        .explain(MUSHROOM.X.iloc[[0]], lang=lang)
        .waterfall(),
    ]
    yield from (chart.picture() for chart in described)
    mixture = GaussianMixture(3, random_state=0).fit(IRIS.X)
    yield mixture.plot(IRIS.X, columns=[2, 3], labels=IRIS.y, lang=lang)
    yield mixture.plot(IRIS.X, lang=lang)
    yield component_chart(
        [(kind, n, float(n * n)) for kind in ("full", "diag") for n in (1, 2, 5)], "BIC", lang=lang
    )
    yield curve_picture({"soft": enumerate([-9.0, -5.0, -4.5])}, "step", "value", "EM climbs")


@pytest.fixture
def pyplot():
    found = pytest.importorskip("matplotlib.pyplot")
    found.switch_backend("agg")
    yield found
    found.close("all")


def pairs(x, y):
    return np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])


# --- Matplotlib


def has_line(axes, x, y):
    wanted = pairs(x, y)
    return any(
        line.get_xydata().shape == wanted.shape and np.array_equal(line.get_xydata(), wanted)
        for line in axes.lines
    )


def check_series_on_axes(axes, panel):
    """Every number of the description is a number of an artist, in the units of the data."""
    texts = Counter(text.get_text() for text in axes.texts)
    offsets = [np.asarray(found.get_offsets()) for found in axes.collections]
    boxes = [patch.get_bbox().bounds for patch in axes.patches if hasattr(patch, "get_bbox")]
    for series in panel.series:
        match series:
            case Curve():
                assert has_line(axes, series.x, series.y)
                if series.lower is not None:
                    ends = np.stack([pairs(series.x, series.lower), pairs(series.x, series.upper)], axis=1)
                    found = [c.get_segments() for c in axes.collections if hasattr(c, "get_segments")]
                    assert any(np.allclose(segments, ends, atol=1e-12) for segments in found)
            case Points():
                wanted = pairs(series.x, series.y)
                assert any(at.shape == wanted.shape and np.array_equal(at, wanted) for at in offsets)
                assert not Counter(series.texts) - texts
            case Bars():
                base = np.zeros(len(series.at)) if series.base is None else series.base
                for at, begin, value, width in zip(series.at, base, series.values, series.width, strict=True):
                    box = (begin, at - width / 2, value - begin, width)
                    wanted = box if series.horizontal else (box[1], box[0], box[3], box[2])
                    assert any(np.allclose(found, wanted) for found in boxes)
                assert not Counter(filter(None, series.texts)) - texts
            case Cells():
                (image,) = axes.images
                assert image.get_array().shape == (*series.colours.shape, 3)
                assert image.get_extent() == [panel.x.low, panel.x.high, panel.y.low, panel.y.high]
                # Cells that differ in the description differ on the axes, and no others.
                key = series.colours * 5 + series.bands
                colours = np.asarray(image.get_array()).reshape(-1, 3)
                assert len(np.unique(colours, axis=0)) == len(np.unique(key))
            case Area():
                corners = sum(len(loop) + 1 for loop in series.loops)
                paths = [p.get_path().vertices for p in axes.patches if not hasattr(p, "get_bbox")]
                assert any(len(path) == corners and np.isin(series.loops[0], path).all() for path in paths)
            case Ring():
                paths = [p.get_path().vertices for p in axes.patches if not hasattr(p, "get_bbox")]
                assert any(np.array_equal(path, series.points) for path in paths)
            case Tag():
                tag = next(text for text in axes.texts if text.get_text() == series.text)
                assert tag.xy == (series.x, series.y)
    assert not Counter(plain(curve.name) for curve, _ in panel.named_ends()) - texts


def check_axis(axis, described):
    assert axis.get_label_text() == plain(described.title)
    assert tuple(axis.get_view_interval()) == pytest.approx((described.low, described.high))
    if described.ticks:
        shown = zip(axis.get_ticklocs(), (text.get_text() for text in axis.get_ticklabels()), strict=True)
        assert list(shown) == [(value, plain(text)) for value, text in described.ticks]


def check_panel_on_axes(axes, panel):
    match panel:
        case Panel():
            check_series_on_axes(axes, panel)
            check_axis(axes.xaxis, panel.x)
            check_axis(axes.yaxis, panel.y)
        case Rulers():
            for i, lane in enumerate(panel.lanes):
                assert has_line(axes, lane.x, i + 0.35 - 0.7 * lane.up)
                if lane.mark is not None:
                    assert has_line(axes, [lane.mark[0]], [i + 0.35 - 0.7 * lane.mark[1]])
            names = [text.get_text() for text in axes.get_yticklabels()]
            assert names == [plain(lane.name) for lane in panel.lanes]
            assert axes.get_xlabel() == panel.x.title
        case Conversion():
            assert axes.get_xlabel() == panel.above.title
            (below,) = axes.child_axes
            assert below.get_xlabel() == plain(panel.below.title)
            assert [text.get_text() for text in below.get_xticklabels()] == [t for _, t in panel.below.ticks]
            if panel.at is not None:
                assert has_line(axes, [panel.at, panel.at], [0.0, 1.0])
                assert panel.text in [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.filterwarnings("ignore")  # whether there is a font with Chinese characters
def test_matplotlib_shows_the_numbers_of_the_description(lang, pyplot):
    for picture in every_picture(lang):
        plot = picture.description
        found = picture.plot()
        first = found[0] if isinstance(found, list) else found
        on = first.figure.axes
        assert len(on) == len(plot.panels)
        for axes, panel in zip(on, plot.panels, strict=True):
            check_panel_on_axes(axes, panel)
        legend = first.get_legend()
        names = [] if legend is None else [text.get_text() for text in legend.get_texts()]
        assert names == [plain(key.name) for key in plot.legend]
        # Whoever moves the legend finds the same entries.
        assert set(names) <= set(first.get_legend_handles_labels()[1])
        below = first.figure.get_supxlabel().replace("\n", "").replace(" ", "")
        assert below == "".join(map(plain, plot.notes)).replace(" ", "")
        first.figure.canvas.draw()
        _, mine = pyplot.subplots()
        assert picture.plot(mine) is mine
        check_panel_on_axes(mine, plot.panels[0])
        title = plot.panels[0].title or plot.title
        assert "".join(mine.get_title().split()) == "".join(plain(title).split())
        pyplot.close("all")


def test_charts_laid_over_one_another_are_told_apart_and_stay_in_sight(pyplot):
    model = NaiveBayes().fit(MELON.X, MELON.y)
    _, axes = pyplot.subplots()
    curve_picture({"": [(0, 0.0), (1, 9.0)]}, "x", "y", "a").plot(axes)
    curve_picture({"": [(0, 3.0), (2, 5.0)]}, "x", "y", "b").plot(axes)
    assert len({line.get_color() for line in axes.lines}) == 2
    assert axes.get_xlim()[1] > 2 and axes.get_ylim()[1] > 9
    _, axes = pyplot.subplots()
    for rows in (slice(0, 9), slice(4, 17)):
        model.reliability(MELON.X[rows], MELON.y[rows]).plot(axes)
    assert len({line.get_color() for line in axes.lines if line.get_linestyle() == "-"}) == 2


# --- SVG


def counted_marks(series):
    """How many marks of which kind a series must have."""
    match series:
        case Curve():
            dots = len(series.x) if series.size else 0
            return Counter(lines=1 + (0 if series.lower is None else len(series.x)), boxes=dots)
        case Points():
            key = "boxes" if series.shape in ("disc", "square", "ring") else "lines"
            return Counter({key: len(series.x), "words": len(series.texts)})
        case Bars():
            return Counter(boxes=len(series.at), words=sum(map(bool, series.texts)))
        case Cells():
            key = series.colours * 5 + series.bands
            return Counter(boxes=int((np.diff(key, axis=1) != 0).sum()) + len(key))
        case Area() | Ring():
            return Counter(lines=1)
        case Tag():
            return Counter(boxes=1, words=1)


def kinds(marks):
    names = {Line: "lines", Rectangle: "boxes", Words: "words"}
    return Counter(names[type(mark)] for mark in marks)


def check_panel_in_scene(panel, groups):
    """Take the groups of a panel off the list: its frame, then its series."""
    frame = next(groups)
    words = [mark.text for mark in frame.marks if isinstance(mark, Words)]
    for title in filter(None, (panel.title, panel.x.title, panel.y.title)):
        assert any(word == plain(title) or plain(title).startswith(word.rstrip("…")) for word in words)
    for axis in (panel.x, panel.y):
        if axis.states and not axis.bare:
            shown = {shortened(plain(text), 40.0, 11.0)[:1] for _, text in axis.ticks}
            assert shown <= {word[:1] for word in words}
    told = []
    for series in panel.series:
        if not told or series.description != told[-1][0]:
            told.append((series.description, []))
        told[-1][1].append(series)
    for _, members in told:
        wanted = sum(map(counted_marks, members), Counter())
        ends = sum(any(curve is one for one in members) for curve, _ in panel.named_ends())
        wanted += Counter(lines=ends, words=ends)
        group = next(groups)
        assert kinds(group.marks) == wanted, group.title
        lines = [mark for mark in group.marks if isinstance(mark, Line)]
        for curve in members:
            if isinstance(curve, Curve) and not curve.dashed and 2 <= len(curve.x) <= MOST_POINTS:
                at = [step[1][0] for step in lines[0 if curve.lower is None else len(curve.x)].steps]
                check_affine(curve, np.array(at))


def check_affine(curve, at):
    """The line in pixels is the line of the data, moved and stretched: to the right, and upwards."""
    assert len(at) == len(curve.x)
    for numbers, pixels, sign in ((curve.x, at[:, 0], 1), (curve.y, at[:, 1], -1)):
        if np.ptp(numbers) > 1e-9 * np.abs(numbers).max():
            scale = np.polyfit(numbers, pixels, 1)
            assert np.sign(scale[0]) == sign
            np.testing.assert_allclose(np.polyval(scale, numbers), pixels, atol=1e-3)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_svg_shows_the_marks_of_the_description(lang):
    for picture in every_picture(lang):
        plot, scene = picture.description, picture.scene
        assert (scene.title, scene.description) == (plain(plot.title), plot.description)
        groups = iter(scene.groups)
        heading = [mark.text for mark in next(groups).marks if isinstance(mark, Words)]
        together = "".join(heading).replace(" ", "")
        for text in (plot.title, *plot.notes, *(key.name for key in plot.legend)):
            assert plain(text).replace(" ", "") in together
        for panel in plot.panels:
            if isinstance(panel, Panel):
                check_panel_in_scene(panel, groups)
            elif isinstance(panel, Rulers):
                next(groups)
                for lane in panel.lanes:
                    marks = next(groups).marks
                    assert sum(mark.style == "chart-mark" for mark in marks) == (lane.mark is not None)
                    lines = [mark for mark in marks if isinstance(mark, Line)]
                    assert len(lines) == (1 if lane.curved else 1 + len(lane.x))
            else:
                words = [mark.text for mark in next(groups).marks if isinstance(mark, Words)]
                assert {text for _, text in panel.below.ticks} | {panel.text} - {""} <= set(words)
        assert next(groups, None) is None
        ElementTree.fromstring(picture.svg)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=14, unique=True), st.integers(1, 12))
@settings(max_examples=50, deadline=None)
def test_texts_of_a_lane_never_cover_one_another_and_its_ends_are_named(places, length):
    x = np.sort(places)
    texts = tuple((i, "w" * length) for i in range(len(x)))
    found = Lane("a", x, np.full(len(x), 0.5), texts, False).placed_texts(Scale(0.0, 100.0, START, STOP))
    for row in range(4):
        mine = sorted((middle, text_width(text, 11.0) / 2) for middle, this, text in found if this == row)
        assert all(a + half <= b - other for (a, half), (b, other) in pairwise(mine))
    assert len(found) >= min(len(x), 2)


# --- The rule


DRAWING = {"scene", "picture", "svg", "save", "_repr_html_", "_on_axes"}
RENDERERS = {"axis", "plot", "plot_axes", "plot_scene", "chart"}
TOOLS = {
    "Rectangle",
    "Words",
    "Line",
    "Group",
    "Scene",
    "dot",
    "dashes",
    "frame",
    "heading",
    "legend",
    "straight",
}


def chart_modules():
    """The modules that make charts, not those that draw them."""
    yield mixture_report.__name__, Path(mixture_report.__file__)
    for file in sorted(Path(charts.__file__).parent.glob("*.py")):
        if file.stem not in RENDERERS:
            yield f"{charts.__name__}.{file.stem}".removesuffix(".__init__"), file


def test_no_chart_draws_by_itself():
    found = set()
    for name, file in chart_modules():
        module = import_module(name)
        classes = [value for value in vars(module).values() if inspect.isclass(value) and value is not Chart]
        for kind in (kind for kind in classes if issubclass(kind, Chart)):
            found.add(kind.__name__)
            assert not DRAWING & set(vars(kind)), f"{kind.__name__} draws by itself"
            assert "description" in vars(kind)
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = set(chain.from_iterable((alias.name for alias in node.names) for node in imported))
        assert not TOOLS & names, f"{name} draws with {sorted(TOOLS & names)}"
        calls = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not {"set_xlabel", "set_title", "annotate", "errorbar", "imshow", "scatter"} & calls, name
    assert found == {
        "ClassProfile",
        "CostCurve",
        "Nomogram",
        "RankingCurve",
        "Regions",
        "RejectCurve",
        "Reliability",
        "Waterfall",
    }


@dataclass(frozen=True)
class Squares(Chart):
    """A chart from outside the library: by its description alone it is SVG and on axes."""

    n: int

    def description(self):
        x = np.arange(float(self.n))
        bars = Bars(x, x, np.full(self.n, 0.5), 2, "x", texts=tuple(f"{value:g}" for value in x))
        line = Curve(x, x**2, 1, "x²", description="squares")
        names = (Key("x", 2), Key("x²", 1))
        up = Axis("$value$", 0.0, float(self.n**2))
        return Plot("Squares", ("A note.",), "told", (Panel(states_axis("n", x), up, (bars, line)),), names)


def test_a_chart_of_ones_own_is_a_description(pyplot, tmp_path):
    chart = Squares(4)
    svg = ElementTree.fromstring(chart.svg())
    texts = {node.text for node in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Squares", "A note.", "n", "$value$", "x", "x²", "3"} <= texts
    axes = chart.plot()
    check_panel_on_axes(axes, chart.description().panels[0])
    assert axes.get_ylabel() == "$value$" and not axes.yaxis.label.get_parse_math()
    assert chart.save(tmp_path / "squares.png").stat().st_size > 5000
