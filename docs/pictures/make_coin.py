"""Draw coin.svg: what is believed of a coin after some tosses. Run as `python docs/pictures/make_coin.py`."""

from __future__ import annotations

from math import exp, lgamma, log
from pathlib import Path

import numpy as np

from bayeskit.charts import Axis, Curve, Key, Panel, Plot, PlotPicture, Points

PRIORS = (1, 2, 10)  # a of the prior Beta(a, a)
TOSSES = ((7, 10), (0, 3))
HIGHEST = 5.0
LANGUAGES = {"en": "", "zh": ".zh-CN"}
WORDS = {
    "en": {
        "title": "A coin after ten tosses, and after three",
        "note": "Posterior density of p, the probability of heads, under the prior Beta(a, a). "
        "Disc: mode (MAP). Ring: mean.",
        "panel": "{heads} heads in {n} tosses",
        "x": "p",
        "y": "density",
    },
    "zh": {
        "title": "抛十次与抛三次之后的硬币",
        "note": "先验 Beta(a, a) 下正面概率 p 的后验密度。实心点：众数（MAP）；圆圈：均值。",
        "panel": "{n} 次中 {heads} 次正面",
        "x": "p",
        "y": "密度",
    },
}


def density(p: float, a: float, b: float) -> float:
    """Beta(a, b) at p, with the ends as limits."""
    if p in (0.0, 1.0):
        power = a if p == 0.0 else b
        return 0.0 if power > 1 else exp(lgamma(a + b) - lgamma(a) - lgamma(b))
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1) * log(p) + (b - 1) * log(1 - p))


def panel(words: dict[str, str], heads: int, n: int) -> Panel:
    series: list[Curve | Points] = []
    across = np.linspace(0.0, 1.0, 201)
    for k, a in enumerate(PRIORS):
        up, down = heads + a, n - heads + a
        heights = np.array([density(p, up, down) for p in across.tolist()])
        series.append(Curve(across, heights, k, f"a = {a}", f"a = {a}"))
        mode, mean = (up - 1) / (up + down - 2), up / (up + down)
        for p, shape in ((mode, "disc"), (mean, "ring")):
            series.append(Points(np.array([p]), np.array([density(p, up, down)]), k, 4.0, shape))
    title = words["panel"].format(heads=heads, n=n)
    return Panel(
        Axis(words["x"], 0.0, 1.0), Axis(words["y"], 0.0, HIGHEST), tuple(series), title, height=170.0
    )


def picture(lang: str = "en") -> str:
    """Return the picture as SVG."""
    words = WORDS[lang]
    names = tuple(Key(f"a = {a}", k) for k, a in enumerate(PRIORS))
    panels = tuple(panel(words, *tosses) for tosses in TOSSES)
    return PlotPicture(Plot(words["title"], (words["note"],), words["note"], panels, names)).svg


if __name__ == "__main__":
    for lang, ending in LANGUAGES.items():
        Path(__file__).with_name(f"coin{ending}.svg").write_text(picture(lang), encoding="utf-8")
