"""The picture of a Gaussian mixture over two columns: rows coloured by component, and ellipses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayeskit._markup import plain
from bayeskit._report.charts.axis import around
from bayeskit._report.charts.chart import PlotPicture
from bayeskit._report.charts.chart_words import chart_words
from bayeskit._report.charts.plot import Axis, Key, Panel, Plot, Points, Ring, Shape, Tag

Floats = NDArray[np.float64]
# More rows would not be distinguishable.
MOST_ROWS = 2_000
MOST_LISTED, MOST_SHAPES = 12, 6
SHAPES: tuple[Shape, ...] = ("disc", "square", "triangle", "cross")
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
) -> PlotPicture:
    r"""Draw rows and components. The inner ellipse of a component contains half of it, the outer one 95 %.

    .. math:: (x - \mu)^T \Sigma^{-1} (x - \mu) = -2 \log(1 - p)

    Parameters
    ----------
    rows : array of shape (n, 2)
        Rows with a missing cell are left out. Of very many rows, only some are drawn.
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
    shape_of = np.array(["disc"] * len(rows) if labels is None else [shape[plain(label)] for label in labels])
    drawn = []
    for k in range(len(weights)):
        for one in SHAPES:
            at = rows[shown[(components[shown] == k) & (shape_of[shown] == one)]]
            if len(at):
                description = f"rows of component {k}"
                drawn.append(Points(at[:, 0], at[:, 1], k, 2.4, one, rim=False, description=description))
    said = [_component_text(k, weights[k], mean, names) for k, mean in enumerate(means)]
    rings = [
        Ring(_ellipse(mean, covariances[k], radius), k, said[k])
        for k, mean in enumerate(means)
        for radius in (HALF, MOST)
    ]
    # Draw numbers last, so that nothing covers them.
    numbers = [Tag(x, y, str(k), f"mean of component {k}") for k, (x, y) in enumerate(means.tolist())]
    inside = np.vstack([rows[shown], *(ring.points for ring in rings)])
    across, up = (Axis(str(name), *around(inside[:, j].tolist())) for j, name in enumerate(names))
    panel = Panel(replace(across, most=8), up, (*drawn, *rings, *numbers), height=320.0)
    return PlotPicture(Plot(title, tuple(notes), "; ".join(said), (panel,), _names(weights, shape, words)))


def _component_text(k: int, weight: float, mean: Floats, names: tuple[object, object]) -> str:
    x, y = (f"{plain(name)} {value:.4g}" for name, value in zip(names, mean, strict=True))
    return f"component {k}: {weight:.1%}, {x}, {y}"


def _ellipse(mean: Floats, spread: Floats, radius: float) -> Floats:
    """Return the points of four Bézier curves, 13 of them."""
    values, vectors = np.linalg.eigh(spread)
    # Rounding may leave a variance a little below zero.
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    return np.asarray(mean + radius * _CIRCLE @ root.T)


def _names(weights: Floats, shape: Mapping[str, Shape], words: Mapping[str, str]) -> tuple[Key, ...]:
    """Return the legend: components by colour, classes by shape."""
    found = [
        Key(words["mixture_component"].format(k=k, share=f"{weight:.1%}"), k)
        for k, weight in enumerate(weights[:MOST_LISTED])
    ]
    if len(weights) > MOST_LISTED:
        found.append(Key(words["mixture_more"].format(n=len(weights) - MOST_LISTED)))
    found += [Key(label, shape=kind) for label, kind in list(shape.items())[:MOST_SHAPES]]
    if len(shape) > MOST_SHAPES:
        found.append(Key(words["mixture_more"].format(n=len(shape) - MOST_SHAPES)))
    return tuple(found)
