"""The content of a node's box: its name, and a bar for each state or a density curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._markup import plain
from bayeskit._report.scene import STYLES, Group, Line, Point, Rectangle, Words, shortened, text_width

PAD, NAME_LINE, STATE_LINE = 9.0, 22.0, 16.0
BAR, PERCENT, CURVE = 62.0, 53.0, 30.0
WIDEST_NAME, WIDEST_STATE = 240.0, 96.0
# A node with more states shows the most probable ones and the sum of the rest.
MOST_STATES = 8


@dataclass(frozen=True)
class Card:
    """The content of a box.

    Attributes
    ----------
    name : the node
    finding : its evidence, such as "= yes", or empty
    bars : (state, probability); the last one may stand for several states
    density : weights, means and variances of a mixture of normal distributions, for a continuous node
    """

    name: str
    finding: str = ""
    bars: tuple[tuple[str, float], ...] = ()
    density: tuple[tuple[float, float, float], ...] = ()

    @property
    def heading(self) -> str:
        size = STYLES["name"].font_size
        name = shortened(plain(self.name), WIDEST_NAME, size)
        return f"{name} {shortened(plain(self.finding), WIDEST_STATE, size)}" if self.finding else name

    @property
    def title(self) -> str:
        """The full name, with everything that is shown."""
        lines = [f"{self.name} {self.finding}".strip()]
        lines += [f"{state}: {percent(p)}" for state, p in self.bars]
        return "; ".join([*lines, *([moments_text(self.density)] if self.density else [])])

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the box."""
        width = text_width(self.heading, STYLES["name"].font_size) * 1.05  # bold letters are broader
        small = STYLES["state"].font_size
        if self.bars:
            width = max(width, self._label_width + 6 + BAR + PERCENT)
        if self.density:
            width = max(width, BAR + PERCENT, text_width(moments_text(self.density), small))
        body = STATE_LINE * len(self.bars) + ((STATE_LINE + CURVE) if self.density else 0.0)
        return max(width, 30.0) + 2 * PAD, NAME_LINE + 8 + (body + 5 if body else 0.0)

    @property
    def _labels(self) -> list[str]:
        return [shortened(plain(s), WIDEST_STATE, STYLES["state"].font_size) for s, _ in self.bars]

    @property
    def _label_width(self) -> float:
        return max((text_width(label, STYLES["state"].font_size) for label in self._labels), default=0.0)

    def draw(self, x: float, y: float) -> Group:
        """Draw the box with its left upper corner here."""
        width, height = self.size
        kind, bar = ("observed", "bar-observed") if self.finding else ("node", "bar")
        marks: list[Rectangle | Words | Line] = [
            Rectangle(x, y, width, height, kind, 6.0),
            Words(x + width / 2, y + 19.5, self.heading, "name", "middle"),
        ]
        left, right, top = x + PAD, x + width - PAD, y + NAME_LINE + 5
        begin = left + self._label_width + 6
        room = right - PERCENT - begin
        for k, (label, (_, p)) in enumerate(zip(self._labels, self.bars, strict=True)):
            row = top + k * STATE_LINE
            marks.append(Words(left, row + 11.5, label, "state"))
            marks.append(Rectangle(begin, row + 3, room, 10.0, "track", 2.0))
            if p > 0:
                marks.append(Rectangle(begin, row + 3, max(room * min(p, 1.0), 0.6), 10.0, bar, 2.0))
            marks.append(Words(right, row + 11.5, percent(p), "state", "end"))
        if self.density:
            marks.append(Words(x + width / 2, top + 11.5, moments_text(self.density), "state", "middle"))
            points = _curve(self.density, left, right, top + STATE_LINE + CURVE - 2, CURVE - 6)
            marks.append(Line((("M", points[:1]), *(("L", (p,)) for p in points[1:])), "density"))
        return Group(self.title, tuple(marks))


def card_of(name: object, states: Sequence[object], belief: Any = None, finding: str = "") -> Card:
    """Return the card of a node from its posterior.

    Parameters
    ----------
    belief : array of a probability for each state; or ``weights``, ``means`` and ``variances``; or None
    """
    if belief is None:
        return Card(str(name), finding)
    if hasattr(belief, "means"):
        parts = zip(
            *(np.ravel(getattr(belief, part)).tolist() for part in ("weights", "means", "variances")),
            strict=True,
        )
        return Card(str(name), finding, density=tuple(parts))
    p = np.asarray(belief, dtype=np.float64)
    shown = list(range(len(p)))
    if len(p) > MOST_STATES:
        shown = sorted(np.argsort(-p, kind="stable")[: MOST_STATES - 1].tolist())
    bars = [(str(states[k]), float(p[k])) for k in shown]
    if len(shown) < len(p):
        bars.append((f"… {len(p) - len(shown)} more", float(np.delete(p, shown).sum())))
    return Card(str(name), finding, tuple(bars))


def percent(p: float) -> str:
    """Return a probability in per cent. A probability that is not 0 or 1 is never written as 0 % or 100 %.

    >>> [percent(p) for p in (0.0, 0.00001, 0.25, 0.99999, 1.0)]
    ['0 %', '< 0.1 %', '25.0 %', '> 99.9 %', '100 %']
    """
    if p <= 0.0 or p >= 1.0:
        return "0 %" if p <= 0.0 else "100 %"
    if p < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if p >= 0.9995 else f"{100 * p:.1f} %"


def moments(density: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the mean and the standard deviation of a mixture.

    >>> moments([(0.5, 0.0, 1.0), (0.5, 2.0, 1.0)])
    (1.0, 1.4142135623730951)
    """
    mean = math.fsum(w * m for w, m, _ in density)
    variance = math.fsum(w * (v + (m - mean) ** 2) for w, m, v in density)
    return mean, math.sqrt(max(variance, 0.0))


def moments_text(density: Sequence[tuple[float, float, float]]) -> str:
    mean, deviation = moments(density)
    return f"{mean:.4g} ± {deviation:.3g}"


def _curve(
    density: Sequence[tuple[float, float, float]], left: float, right: float, ground: float, height: float
) -> tuple[Point, ...]:
    """Return the density as points, over the mean and three deviations to each side."""
    mean, deviation = moments(density)
    if deviation == 0.0:  # the value is known: draw a peak without width
        middle = (left + right) / 2
        return (
            (left, ground),
            (middle, ground),
            (middle, ground - height),
            (middle, ground),
            (right, ground),
        )
    at = np.linspace(mean - 3 * deviation, mean + 3 * deviation, 49)
    total = np.zeros(49)
    for w, m, v in density:
        spread = max(v, (deviation / 40) ** 2)  # a component of no width still shows
        total += w / math.sqrt(spread) * np.exp(-((at - m) ** 2) / (2 * spread))
    ys = ground - height * total / total.max()
    return tuple(zip(np.linspace(left, right, 49).tolist(), ys.tolist(), strict=True))
