"""A Gaussian mixture over two columns: rows in the colour of their component, an ellipse round each component."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.report.charts.axis import (
    SMALL,
    WIDTH,
    Mark,
    Scale,
    around,
    dot,
    frame,
    polyline,
    room_for,
    ticks_of,
)
from bayeskit.report.charts.chart import ChartPicture
from bayeskit.report.charts.chart_words import chart_words
from bayeskit.report.charts.legend import Sample, colour_of, heading, legend
from bayeskit.report.scene import Group, Line, Point, Rectangle, Scene, Words, plain, text_width

Floats = NDArray[np.float64]
HEIGHT = 320.0
# More rows would be one blot.
MOST_ROWS = 2_000
MOST_LISTED, MOST_SHAPES = 12, 6
SHAPES = ("disc", "square", "triangle", "cross")
# P(within r) = 1 − exp(−r²/2) in two dimensions.
HALF, MOST = math.sqrt(2 * math.log(2)), math.sqrt(2 * math.log(20))
# A quarter of a circle as one Bézier curve.
_KAPPA = 4 / 3 * (math.sqrt(2) - 1)
_CIRCLE = np.array(
    [
        [1, 0],
        *([1, _KAPPA], [_KAPPA, 1], [0, 1]),
        *([-_KAPPA, 1], [-1, _KAPPA], [-1, 0]),
        *([-1, -_KAPPA], [-_KAPPA, -1], [0, -1]),
        *([_KAPPA, -1], [1, -_KAPPA], [1, 0]),
    ]
)


def mixture_picture(
    rows: Floats,
    components: NDArray[np.int64],
    weights: Floats,
    means: Floats,
    covariances: Floats,
    names: tuple[object, object],
    labels: Sequence[object] | None = None,
    *,
    lang: str = "en",
) -> ChartPicture:
    r"""Draw rows and components; the inner ellipse of a component holds half of it, the outer one 95 %.

    .. math:: (x - \mu)^T \Sigma^{-1} (x - \mu) = -2 \log(1 - p)

    Parameters
    ----------
    rows : array of shape (n, 2)
        Rows with a missing cell are left out; of very many, some are drawn.
    components : array of shape (n,)
        The component of each row: its colour.
    weights, means, covariances : arrays of shape (K,), (K, 2), (K, 2, 2)
    names : of the two columns
    labels : sequence of n labels, optional
        Known classes: the shape of each row. Beyond the fourth class shapes repeat.
    lang : "en" or "zh"

    Examples
    --------
    >>> one = np.ones(1)
    >>> mixture_picture(np.zeros((1, 2)), np.array([0]), one, np.zeros((1, 2)), np.eye(2)[None], ("a", "b"))
    <Picture: 1 component over a and b, 440 × 491 pixels>
    """
    words = chart_words(lang)
    whole = np.flatnonzero(np.isfinite(rows).all(axis=1))
    shown = whole[:: math.ceil(len(whole) / MOST_ROWS)] if len(whole) else whole
    kinds = sorted(set(map(plain, labels))) if labels is not None else []
    shape = {kind: SHAPES[i % len(SHAPES)] for i, kind in enumerate(kinds)}
    notes = [words["mixture_note"]]
    if len(whole) < len(rows):
        notes.append(words["mixture_holes"].format(n=f"{len(rows) - len(whole):,}"))
    if len(shown) < len(whole):
        notes.append(words["mixture_thinned"].format(n=f"{len(shown):,}", whole=f"{len(whole):,}"))
    many = words["component" if len(weights) == 1 else "components"].format(n=len(weights))
    title = words["mixture_title"].format(many=many, x=plain(names[0]), y=plain(names[1]))
    marks, top = heading(title, notes)
    listed, top = legend(_samples(weights, shape, words), top)
    outer = [_ellipse(mean, spread, MOST) for mean, spread in zip(means, covariances)]
    x, y, axes = _axes(np.vstack([rows[shown], *outer]), top + 26, names)
    groups = [Group("axes", (*marks, *listed, *axes))]
    for k in range(len(weights)):
        mine = [i for i in shown.tolist() if components[i] == k]
        drawn = [
            _mark(x(rows[i, 0]), y(rows[i, 1]), shape[plain(labels[i])] if labels is not None else "disc", k)
            for i in mine
        ]
        groups.append(Group(f"rows of component {k}", tuple(drawn)))
    for k, mean in enumerate(means):
        rings = [
            _path([(x(a), y(b)) for a, b in _ellipse(mean, covariances[k], radius)], k)
            for radius in (HALF, MOST)
        ]
        groups.append(Group(_said(k, weights[k], mean, names), tuple(rings)))
    # Last, so that nothing covers a number.
    groups += [_number(x(mean[0]), y(mean[1]), k) for k, mean in enumerate(means)]
    told = "; ".join(_said(k, weights[k], mean, names) for k, mean in enumerate(means))
    return ChartPicture(Scene(WIDTH, y.start + 52, title, told, tuple(groups)))


def _axes(inside: Floats, top: float, names: tuple[object, object]) -> tuple[Scale, Scale, list[Mark]]:
    """Return the scales that hold these points, and their frame."""
    across, up = (around(inside[:, j].tolist()) for j in (0, 1))
    y_ticks = ticks_of(*up)
    x = Scale(*across, room_for(y_ticks), WIDTH - 20)
    y = Scale(*up, top + HEIGHT, top)
    return x, y, frame(x, y, ticks_of(*across, 8), y_ticks, str(names[0]), str(names[1]))


def _said(k: int, weight: float, mean: Floats, names: tuple[object, object]) -> str:
    x, y = (f"{plain(name)} {value:.4g}" for name, value in zip(names, mean))
    return f"component {k}: {weight:.1%}, {x}, {y}"


def _ellipse(mean: Floats, spread: Floats, radius: float) -> Floats:
    """Return the points of four Bézier curves, 13 of them."""
    values, vectors = np.linalg.eigh(spread)
    # Rounding may leave a variance a little below zero.
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    return np.asarray(mean + radius * _CIRCLE @ root.T)


def _path(points: list[Point], k: int) -> Line:
    steps = [("M", (points[0],)), *(("C", tuple(points[i : i + 3])) for i in (1, 4, 7, 10)), ("Z", ())]
    return Line(tuple(steps), f"line-{colour_of(k)}")


def _mark(x: float, y: float, shape: str, k: int | None) -> Mark:
    """Draw one row, or an example of its shape where it is of no component."""
    style = "chart-sample" if k is None else f"fill-{colour_of(k)}"
    match shape:
        case "disc":
            return dot(x, y, 2.4, style)
        case "square":
            return Rectangle(x - 2.3, y - 2.3, 4.6, 4.6, style)
        case "triangle":
            corners = [(x, y - 3.4), (x + 3.2, y + 2.5), (x - 3.2, y + 2.5)]
        case _:
            a, b = 0.9, 3.5
            quarter = [(a, -a), (b, -a), (b, a)]
            turns = [(1, 0), (0, 1), (-1, 0), (0, -1)]
            corners = [(x + u * c - v * s, y + u * s + v * c) for c, s in turns for u, v in quarter]
    return Line((*polyline(corners, style).steps, ("Z", ())), style)


def _number(x: float, y: float, k: int) -> Group:
    text = str(k)
    half = max(8.5, text_width(text, SMALL) / 2 + 4)
    disc = Rectangle(x - half, y - 8.5, 2 * half, 17, "node", 8.5)
    return Group(f"mean of component {k}", (disc, Words(x, y + 4, text, "chart-small", "middle")))


def _samples(weights: Floats, shape: Mapping[str, str], words: Mapping[str, str]) -> list[Sample]:
    """Return what to name: components by their colours, classes by their shapes."""
    found: list[Sample] = [
        (f"fill-{colour_of(k)}", words["mixture_component"].format(k=k, share=f"{weight:.1%}"))
        for k, weight in enumerate(weights[:MOST_LISTED])
    ]
    if len(weights) > MOST_LISTED:
        found.append((None, words["mixture_more"].format(n=len(weights) - MOST_LISTED)))
    found += [(_mark(5.5, 5.5, kind, None), label) for label, kind in list(shape.items())[:MOST_SHAPES]]
    if len(shape) > MOST_SHAPES:
        found.append((None, words["mixture_more"].format(n=len(shape) - MOST_SHAPES)))
    return found
