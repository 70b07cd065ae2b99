"""Draw the pictures of EM. Run as `python docs/pictures/make_em.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayeskit import GaussianMixture, LatentClass, NaiveBayes, datasets

# Colours that can be told apart without seeing colours well.
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#777777"
STYLE = (
    "<style>text{font:13px sans-serif;text-anchor:middle}.title{font-weight:bold}.left{text-anchor:start}"
    ".right{text-anchor:end}.axis{stroke:#555;fill:none}.grid{stroke:#ddd}.line{fill:none;stroke-width:2}</style>"
)


def page(width: int, height: int, title: str, lines: Iterable[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join(
        [
            head,
            f"<title>{title}</title>",
            STYLE,
            '<rect width="100%" height="100%" fill="white"/>',
            *lines,
            "</svg>\n",
        ]
    )


def text(x: float, y: float, words: str, name: str = "", colour: str = "#222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{name}" fill="{colour}">{words}</text>'


def dot(x: float, y: float, colour: str, fill: str | None = None, radius: float = 4) -> str:
    paint = f'fill="{fill or colour}" stroke="{colour}" stroke-width="1.5"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {paint}/>'


def square(x: float, y: float, height: float, paint: str) -> str:
    return f'<rect x="{x}" y="{y:.1f}" width="26" height="{height:.1f}" rx="5" {paint}/>'


@dataclass(frozen=True)
class Panel:
    """A field of a picture, with its own units."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    along: Callable[[float], float] = float

    def at(self, x: float, y: float) -> tuple[float, float]:
        a, b = map(self.along, self.x)
        across = self.left + self.width * (self.along(x) - a) / (b - a)
        return across, self.top + self.height * (self.y[1] - y) / (self.y[1] - self.y[0])

    def axes(self, xs: Iterable[float], ys: Iterable[float], number: str = "{:g}") -> list[str]:
        bottom = self.top + self.height
        lines = []
        for y in ys:
            _, v = self.at(self.x[0], y)
            lines.append(f'<path d="M{self.left:.1f},{v:.1f}h{self.width:.1f}" class="grid"/>')
            lines.append(text(self.left - 8, v + 4, number.format(y).replace("-", "−"), "right"))
        for x in xs:
            u, _ = self.at(x, self.y[0])
            lines.append(f'<path d="M{u:.1f},{bottom:.1f}v5" class="axis"/>')
            lines.append(text(u, bottom + 19, f"{x:g}".replace("-", "−")))
        return [*lines, f'<path d="M{self.left:.1f},{bottom:.1f}h{self.width:.1f}" class="axis"/>']

    def line(self, points: Iterable[tuple[float, float]], colour: str, dashes: str = "") -> str:
        path = " ".join("{:.1f},{:.1f}".format(*self.at(*point)) for point in points)
        return f'<polyline points="{path}" class="line" stroke="{colour}" stroke-dasharray="{dashes}"/>'

    def ellipse(self, mean: np.ndarray, covariance: np.ndarray, colour: str, dashes: str = "") -> str:
        """Two standard deviations around a mean."""
        root = np.linalg.cholesky(covariance)
        turns = np.linspace(0.0, 2.0 * math.pi, 121)
        ring = mean + 2.0 * np.column_stack([np.cos(turns), np.sin(turns)]) @ root.T
        return self.line([(float(x), float(y)) for x, y in ring], colour, dashes)


def two_forms() -> str:
    """The share of red flesh in twelve melons, by the signs they show; soft in fractions, hard in whole melons."""
    melons = {3: 4, 2: 3, 1: 3, 0: 2}
    red, sign, pale = 0.5, 2 / 3, 1 / 3
    soft = [
        {
            s: 1 / (1 + (1 - red) / red * (pale / sign) ** s * ((1 - pale) / (1 - sign)) ** (3 - s))
            for s in melons
        }
    ]
    for _ in range(5000):
        shares = soft[-1]
        weight = sum(n * shares[s] for s, n in melons.items())
        seen = sum(n * s * shares[s] for s, n in melons.items())
        red, sign = weight / 12, seen / weight / 3
        pale = (sum(n * s for s, n in melons.items()) - seen) / (12 - weight) / 3
        soft.append(
            {
                s: 1 / (1 + (1 - red) / red * (pale / sign) ** s * ((1 - pale) / (1 - sign)) ** (3 - s))
                for s in melons
            }
        )
    hard = {s: float(s >= 2) for s in melons}
    columns = [("start, soft", soft[0]), ("step 1, soft", soft[1]), ("end, soft", soft[-1]), ("hard", hard)]
    lines = [text(14, 60 + 46 * i, f"{s} sign{'' if s == 1 else 's'}", "left") for i, s in enumerate(melons)]
    for c, (name, shares) in enumerate(columns):
        x = 90 + 160 * c
        lines.append(text(x + 62, 26, name, "title"))
        for i, (s, n) in enumerate(melons.items()):
            for k in range(n):
                left, top = x + 32 * k, 42 + 46 * i
                high = 26 * shares[s]
                lines.append(square(left, top, 26, 'fill="#e9f2e4"'))
                lines.append(square(left, top + 26 - high, high, f'fill="{ORANGE}"'))
                lines.append(square(left, top, 26, 'fill="none" stroke="#3a6b35" stroke-width="1.5"'))
    return page(
        720, 230, "Each melon is filled as far as it is red: soft EM shares it out, hard EM decides", lines
    )


def climbs() -> str:
    """The log-likelihood of four melons after every step, from starts that lean this way and that."""
    four = [
        ["c", "d", "h", "g", "c"],
        ["c", "d", "h", "b", "b"],
        ["s", "c", "s", "g", "c"],
        ["s", "c", "s", "b", "b"],
    ]
    starts = [
        ([0.6, 0.6, 0.4, 0.4], BLUE), ([0.55, 0.5, 0.5, 0.45], BLUE), ([0.75, 0.42, 0.55, 0.3], BLUE),
        ([0.6, 0.4, 0.6, 0.4], ORANGE), ([0.52, 0.48, 0.53, 0.48], ORANGE), ([0.5] * 4, GREY),
    ]  # fmt: skip
    panel = Panel(70, 24, 440, 240, (0, 12), (-14, -8))
    lines = panel.axes(range(0, 13, 2), range(-14, -7, 2))
    for shares, colour in starts:
        model = LatentClass(2, accelerate=False, tol=1e-9).fit(four, start=[[s, 1 - s] for s in shares])
        values = [*model.history_.tolist(), *[float(model.history_[-1])] * 13][:13]
        lines.append(panel.line(enumerate(values), colour))
    for value, words, colour in (
        (-8.3178, "4 log 1/8 = −8.32", BLUE),
        (-11.0904, "4 log 1/16 = −11.09", ORANGE),
        (-13.8629, "4 log 1/32 = −13.86", GREY),
    ):
        lines.append(text(520, panel.at(0, value)[1] + 4, words, "left", colour))
    lines.append(text(290, 302, "step"))
    return page(
        680, 316, "Log-likelihood after every step from six starts: two local optima and a saddle", lines
    )


def missing() -> str:
    """Five points, the last without its y: ellipses of two deviations, the mean filled in and by EM."""
    rows = np.array([[0, 1], [1, 0], [2, 3], [3, 2], [4, np.nan]])
    panel = Panel(50, 20, 400, 280, (-2, 6), (-2, 5))
    filled = np.where(np.isnan(rows), 1.5, rows)
    found = GaussianMixture(1, reg_covar=0.0, tol=1e-12, max_iter=500).fit(rows)
    lines = panel.axes(range(-2, 7, 2), range(-2, 6, 2))
    lines.append(panel.ellipse(filled.mean(axis=0), np.cov(filled.T, bias=True), ORANGE, "6 4"))
    lines.append(panel.ellipse(found.means_[0], found.covariances_[0], BLUE))
    # The lost cell: its conditional mean, and two conditional deviations either side.
    low, high = 3.0 - 2 * math.sqrt(0.8), 3.0 + 2 * math.sqrt(0.8)
    lines.append(panel.line([(4, low), (4, high)], BLUE))
    lines += [dot(*panel.at(4, 3.0), BLUE, "white"), dot(*panel.at(4, 1.5), ORANGE, "white")]
    lines += [dot(*panel.at(x, y), "#222") for x, y in rows[:4].tolist()]
    lines.append(text(468, 60, "EM: the hole has a mean", "left", BLUE))
    lines.append(text(468, 78, "and a variance", "left", BLUE))
    lines.append(text(468, 120, "mean in the hole:", "left", ORANGE))
    lines.append(text(468, 138, "too narrow, too flat", "left", ORANGE))
    return page(640, 330, "A missing cell filled with the mean, and by its conditional distribution", lines)


def heights() -> str:
    """Heights and weights of 114 people, split in two without looking at their sex."""
    people = datasets.load_dataset("height-weight")
    X = people.X.to_numpy()
    found = GaussianMixture(2, random_state=0).fit(X)
    order = np.argsort(found.means_[:, 0])
    panel = Panel(60, 20, 460, 300, (145, 190), (35, 95))
    lines = panel.axes(range(150, 191, 10), range(40, 91, 10))
    for (x, y), sex in zip(X.tolist(), np.asarray(people.y).tolist(), strict=True):
        lines.append(dot(*panel.at(x, y), GREY, "white" if sex == 0 else GREY, 3))
    for k, colour in zip(order, (ORANGE, BLUE), strict=True):
        lines.append(panel.ellipse(found.means_[k], found.covariances_[k], colour))
        lines.append(dot(*panel.at(*found.means_[k].tolist()), colour, radius=5))
    lines += [text(290, 358, "cm"), text(16, 170, "kg")]
    return page(
        560,
        370,
        "Two components of height and weight; hollow and filled dots are the sexes, never told",
        lines,
    )


def components() -> str:
    """BIC of iris over the number of components, for the four kinds of covariance."""
    found = GaussianMixture(
        range(1, 7), covariance_type=("full", "tied", "diag", "spherical"), n_init=3, random_state=0
    )
    return str(found.fit(datasets.load_dataset("iris").X).choice_.chart())


def drawn_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows for which naive Bayes is true: twelve attributes, each of which agrees with the class in 13 rows of 20."""
    rng = np.random.default_rng(seed)
    y, agrees = rng.integers(2, size=3000), rng.random((3000, 12)) < 0.65
    return np.where(agrees == (y[:, None] == 1), "yes", "no").astype(object), y.astype(object)


def mushrooms(seed: int) -> tuple[np.ndarray, np.ndarray]:
    data = datasets.load_dataset("mushroom")
    rows = np.random.default_rng(seed).permutation(len(data.y))[:3000]
    return data.X.to_numpy(dtype=object)[rows], np.asarray(data.y, dtype=object)[rows]


def labels() -> str:
    """Errors on unlabelled rows over the number of labels, with λ = 0 and 1: means over five draws."""
    numbers = (10, 20, 50, 100, 200, 500)
    lines: list[str] = []
    for place, (title, most, drawn) in enumerate(
        (("naive Bayes is true", 40, drawn_rows), ("mushrooms", 20, mushrooms))
    ):
        panel = Panel(60 + 330 * place, 44, 260, 220, (10, 500), (0, most), math.log)
        lines += panel.axes(numbers, range(0, most + 1, most // 4), "{:g} %")
        lines.append(text(panel.left + 130, 24, title, "title"))
        for weight, colour in ((0.0, BLUE), (1.0, ORANGE)):
            found = [100 * _error(drawn, n, weight) for n in numbers]
            lines.append(panel.line(zip(numbers, found, strict=True), colour))
            lines += [dot(*panel.at(n, error), colour) for n, error in zip(numbers, found, strict=True)]
    lines.append(text(350, 304, "labels among 3,000 rows"))
    lines.append(text(660, 90, "labelled rows alone (λ = 0)", "left", BLUE))
    lines.append(text(660, 112, "all rows (λ = 1)", "left", ORANGE))
    return page(850, 318, "Errors of naive Bayes with and without unlabelled rows", lines)


def _error(drawn: Callable[[int], tuple[np.ndarray, np.ndarray]], n: int, weight: float) -> float:
    wrong = []
    for seed in range(5):
        X, y = drawn(seed)
        seen = np.where(np.arange(len(y)) < n, y, None)
        model = NaiveBayes(semi_supervised=True, unlabelled_weight=weight).fit(X, seen)
        wrong.append((model.predict(X[n:]) != y[n:]).mean())
    return float(np.mean(wrong))


PICTURES: dict[str, Callable[[], str]] = {
    "em_two_forms": two_forms,
    "em_climbs": climbs,
    "em_missing": missing,
    "em_heights": heights,
    "em_components": components,
    "em_labels": labels,
}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        Path(__file__).with_name(f"{name}.svg").write_text(draw(), encoding="utf-8")
