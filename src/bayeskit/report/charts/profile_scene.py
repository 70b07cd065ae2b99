"""Class profiles drawn: a panel for each attribute, bars for states and curves for numbers, coloured by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.report.charts.axis import LEFT, SMALL, WIDTH, Mark, Scale, polyline, straight, thinned
from bayeskit.report.charts.legend import heading, legend
from bayeskit.report.charts.palette import COLOURS
from bayeskit.report.charts.ticks import ticks_of
from bayeskit.report.charts.words import chart_words
from bayeskit.report.picture_text import plain, shortened
from bayeskit.report.scene import Group, Rectangle, Scene, Words

if TYPE_CHECKING:
    from bayeskit.report.charts.class_profile import ClassProfile, Distribution

LABELS, NUMBERS = 120.0, 44.0
# Bars of two classes are as tall as the number beside each.
BAR, TALL_BAR, CURVE, MOST_STATES = 7.0, 11.0, 74.0, 8


def profile_scene(chart: ClassProfile) -> Scene:
    """Draw class profiles."""
    words = chart_words(chart.lang)
    # The commonest classes have the colours there are.
    order = np.argsort(-chart.prior, kind="stable")[: len(COLOURS)]
    classes = sorted(order.tolist())
    notes = [words["profile_note"]]
    for name, hidden in (
        ("profile_more", len(chart.distributions) - chart.most),
        ("profile_classes", len(chart.classes) - len(classes)),
    ):
        if hidden > 0:
            notes.append(words[name].format(n=hidden))
    title = words["profile_title"].format(target=chart.target)
    marks, y = heading(title, notes)
    names, y = legend([(f"fill-{i}", str(chart.classes[k])) for i, k in enumerate(classes)], y)
    groups = [Group(title, (*marks, *names))]
    for found in chart.distributions[: chart.most]:
        draw = _curves if found.numeric else _bars
        group, y = draw(found, classes, y + 14, chart)
        groups.append(group)
    listed = "; ".join(f"{plain(d.name)} {d.information:.3f}" for d in chart.distributions[: chart.most])
    return Scene(WIDTH, y + 14, title, listed, tuple(groups))


def _heading(found: Distribution, y: float) -> list[Mark]:
    name = shortened(plain(found.name), WIDTH - 2 * LEFT, 12.5)
    return [Words(LEFT, y + 12, name, "chart-name")]


def _bars(found: Distribution, classes: list[int], y: float, chart: ClassProfile) -> tuple[Group, float]:
    rows = [(str(value), found.shares[:, i]) for i, value in enumerate(found.values)]
    if len(rows) > MOST_STATES:
        overall = chart.prior @ found.shares
        top = np.argsort(-overall, kind="stable")[: MOST_STATES - 1]
        rest = np.setdiff1d(np.arange(len(rows)), top)
        more = chart_words(chart.lang)["others"].format(n=len(rest))
        rows = [*(rows[i] for i in sorted(top.tolist())), (more, found.shares[:, rest].sum(axis=1))]
    marks, y = _heading(found, y), y + 20
    x = Scale(0.0, 1.0, LEFT + LABELS, WIDTH - LEFT - NUMBERS)
    said = []
    few = len(classes) <= 2
    each = TALL_BAR if few else BAR
    for text, shares in rows:
        tall = max(each * len(classes), 12.0)
        label = shortened(plain(text), LABELS - 10, SMALL)
        marks.append(Words(x.start - 8, y + tall / 2 + 4, label, "chart-small", "end"))
        for i, k in enumerate(classes):
            width = max(x(float(shares[k])) - x.start, 0.8)
            marks.append(Rectangle(x.start, y + i * each, width, each - 1, f"fill-{i}"))
            if few:
                number = f"{100 * shares[k]:.0f}%"
                marks.append(Words(x.start + width + 5, y + (i + 0.5) * each + 3.5, number, "chart-small"))
        listed = ", ".join(f"{plain(chart.classes[k])} {100 * shares[k]:.1f}%" for k in classes)
        said.append(f"{plain(text)}: {listed}")
        y += tall + 6
    return Group(f"{plain(found.name)}: {'; '.join(said)}", tuple(marks)), y


def _curves(found: Distribution, classes: list[int], y: float, chart: ClassProfile) -> tuple[Group, float]:
    numbers = np.asarray(found.values, dtype=np.float64)
    marks, top = _heading(found, y), y + 22
    x = Scale(float(numbers[0]), float(numbers[-1]), LEFT + 10, WIDTH - LEFT - 10)
    highest = float(found.shares[classes].max())
    up = Scale(0.0, highest if highest > 0 else 1.0, top + CURVE, top)
    for value, text in thinned(x, ticks_of(x.low, x.high, 6)):
        marks.append(straight(x(value), top, x(value), up.start, "chart-grid"))
        marks.append(Words(x(value), up.start + 16, text, "chart-small", "middle"))
    marks.append(straight(x.start, up.start, x.stop, up.start, "chart-axis"))
    for i, k in enumerate(classes):
        points = [(x(v), up(float(p))) for v, p in zip(numbers, found.shares[k])]
        marks.append(polyline(points, f"line-{i}"))
    means = found.shares @ numbers / np.maximum(found.shares.sum(axis=1), 1e-300)
    said = ", ".join(f"{plain(chart.classes[k])} {means[k]:.4g}" for k in classes)
    return Group(f"{plain(found.name)}: {said}", tuple(marks)), up.start + 22
