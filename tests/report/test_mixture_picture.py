"""Mixtures and curves as pictures: where marks lie, what is said, what is refused."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import GaussianMixture
from bayeskit._report.charts.axis import around, room_for, spread, ticks_of
from bayeskit._report.mixture_report import MOST_ROWS, _ellipse, mixture_picture
from bayeskit._report.scene import Line, Rectangle, text_width
from bayeskit.charts import curve_picture
from bayeskit.errors import BayeskitError, DataError, SettingError
from refusals import refuses


def clouds(n=60):
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal((0, 0, 5), 1.0, (n, 3)), rng.normal((8, 3, 5), (1, 2, 1), (n, 3))])
    return rows, np.repeat(["甲", "乙"], n)


def _shape(mark):
    if isinstance(mark, Rectangle):
        return "disc" if mark.radius else "square"
    return {4: "triangle", 13: "cross"}[len(mark.steps)]


def marks_of(picture):
    return [mark for group in picture.scene.groups for mark in group.marks]


@given(st.integers(0, 10_000), st.sampled_from([0.5, 1.1774100225154747, 2.4477468306808166]))
@settings(max_examples=30, deadline=None)
def test_every_end_of_a_curve_lies_on_the_ellipse(seed, radius):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 2)) + 0.2 * np.eye(2)
    mean, spread = rng.normal(size=2) * 10, root @ root.T + 1e-3 * np.eye(2)
    points = _ellipse(mean, spread, radius)
    # The ends of the four curves, and their middles: Bézier curves miss a circle by less than 3 parts in 10,000.
    middles = [
        points[i] / 8 + 3 * points[i + 1] / 8 + 3 * points[i + 2] / 8 + points[i + 3] / 8
        for i in (0, 3, 6, 9)
    ]
    for point, slack in [(p, 1e-9) for p in points[::3]] + [(p, 1e-3) for p in middles]:
        distance = (point - mean) @ np.linalg.solve(spread, point - mean)
        assert distance == pytest.approx(radius**2, rel=slack)


def test_the_rings_hold_half_and_nineteen_of_twenty():
    from bayeskit._report.mixture_report import HALF, MOST

    rows = np.random.default_rng(1).normal(size=(200_000, 2))
    inside = (rows**2).sum(axis=1)
    assert (inside < HALF**2).mean() == pytest.approx(0.5, abs=0.005)
    assert (inside < MOST**2).mean() == pytest.approx(0.95, abs=0.002)


def test_rows_and_rings_lie_where_they_should():
    rows, labels = clouds()
    rows[3, 0] = np.nan  # a row that has no place
    labels = [None, *labels[1:]]
    model = GaussianMixture(2, random_state=0, covariance_type="diag").fit(rows)
    picture = model.plot(rows, columns=["x1", 0], labels=labels)
    found = [g for g in picture.scene.groups if g.title.startswith("rows of component")]
    assert sum(len(g.marks) for g in found) == len(rows) - 1
    # Clouds far apart: one class and one shape in each, but for the row without a label.
    shapes = [Counter(_shape(mark) for mark in g.marks) for g in found]
    assert sorted(shapes, key=len) == [Counter({"square": 60}), Counter({"triangle": 58, "disc": 1})]
    words = [m.text for m in marks_of(picture) if hasattr(m, "text")]
    assert {"甲", "乙", "no label", "x0", "x1"} <= set(words)
    assert "Rows with missing values, left out: 1." in " ".join(words)
    root = ElementTree.fromstring(picture.svg)
    paths = [e.get("d") for e in root.iter("{http://www.w3.org/2000/svg}path") if "line-" in e.get("class")]
    assert len(paths) == 4
    # Nothing is drawn outside the picture.
    numbers_in = [tuple(map(float, pair)) for d in paths for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)", d)]
    assert all(0 < x < picture.scene.width and 0 < y < picture.scene.height for x, y in numbers_in)
    # The mean stands in the middle of its ring.
    discs = [m for m in marks_of(picture) if isinstance(m, Rectangle) and m.style == "node"]
    rings = [m for m in marks_of(picture) if isinstance(m, Line) and m.style.startswith("line-")]
    for k, disc in enumerate(discs):
        ends = np.array([at[-1] for verb, at in rings[2 * k].steps if verb == "C"])
        np.testing.assert_allclose(ends.mean(axis=0), [disc.x + disc.width / 2, disc.y + 8.5], atol=1e-6)


def test_very_many_rows_are_thinned_and_it_is_said(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(MOST_ROWS * 2 + 1, 2))
    picture = GaussianMixture(1).fit(rows).plot(rows, path=tmp_path / "mixture.svg")
    assert (tmp_path / "mixture.svg").read_text(encoding="utf-8") == picture.svg
    drawn = next(g for g in picture.scene.groups if g.title == "rows of component 0")
    assert len(drawn.marks) <= MOST_ROWS
    assert any("of 4,001." in getattr(m, "text", "") for m in marks_of(picture))


BAD = [
    ({"columns": ["x0"]}, SettingError, ["columns", "['x0']"]),
    ({"columns": "x0"}, SettingError, ["columns", "x0"]),
    ({"columns": 3}, SettingError, ["columns", 3]),
    ({"columns": [0, 0]}, SettingError, ["columns", "[0, 0]"]),
    ({"columns": [0, "height"]}, BayeskitError, ["height", "x0", "x1"]),
    ({"columns": [0, 3]}, BayeskitError, [3, "x0", "x1"]),
    ({"columns": [0, -1]}, BayeskitError, [-1, "x0", "x1"]),
    ({"columns": [0, [1]]}, BayeskitError, ["[1]", "x0", "x1"]),
    ({"labels": ["a"]}, DataError, [120, 1]),
    ({"labels": 3}, DataError, ["labels", 3]),
    ({"path": "mixture.txt"}, SettingError, ["mixture.txt", ".svg", ".png"]),
]


@pytest.mark.parametrize(("arguments", "kind", "said"), BAD)
def test_bad_arguments_are_refused(arguments, kind, said):
    rows, _ = clouds()
    with refuses(kind, *said):
        GaussianMixture(2, random_state=0).fit(rows).plot(rows, **arguments)


def test_one_column_has_no_plane():
    rows = np.arange(6.0)[:, None]
    with refuses(SettingError, "columns", "mixture"):
        GaussianMixture(1).fit(rows).plot(rows)


def test_only_holes_and_one_point_are_drawn_too():
    eye = np.eye(2)[None] * 0.0
    picture = mixture_picture(
        np.full((3, 2), np.nan), np.zeros(3, int), np.ones(1), np.full((1, 2), 1e8), eye, ("<a>", "b")
    )
    ElementTree.fromstring(picture.svg)
    assert "nan" not in picture.svg and "inf" not in picture.svg.replace("information", "")


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e9))
@settings(max_examples=50, deadline=None)
def test_numbers_on_axes_tell_themselves_apart(least, span):
    ends = around([least, least + span])
    assert (ends[0] < least and ends[1] > least + span) or span < 1e-9 * abs(least)
    inside = ticks_of(*ends)
    slack = 1e-6 * (ends[1] - ends[0])  # a number at the rim is not lost to rounding
    assert 2 <= len(inside) <= 6
    assert all(ends[0] - slack <= value <= ends[1] + slack for value, _ in inside)
    written = [text for _, text in inside]
    assert len(set(written)) == len(written)
    assert [float(text.replace("−", "-").replace(",", "")) for text in written] == pytest.approx(
        [value for value, _ in inside], rel=1e-6, abs=span * 1e-3
    )
    assert all(text_width(text, 11.0) <= room_for(inside) - 12 for text in written if len(text) < 14)


@given(st.lists(st.floats(50, 300), min_size=1, max_size=16))
@settings(max_examples=50, deadline=None)
def test_names_at_the_ends_of_curves_cover_none(places):
    found = spread(places, 300.0)
    assert max(found) <= 300.0
    assert (np.diff(np.sort(found)) >= 15.0 - 1e-9).all()
    order = np.argsort(places, kind="stable")
    assert (np.diff(np.asarray(found)[order]) > 0).all()


def test_a_history_that_begins_at_minus_infinity_is_drawn_from_its_second_step():
    picture = curve_picture({"EM": enumerate([-np.inf, -10.0, -5.0])}, "step", "value", "climb")
    line = next(m for m in marks_of(picture) if isinstance(m, Line) and m.style == "line-0")
    assert len(line.steps) == 2 and line.steps[0][1][0][1] > line.steps[1][1][0][1]  # upwards
    with refuses(SettingError, "climb"):
        curve_picture({"EM": [(0, -np.inf)]}, "step", "value", "climb")
