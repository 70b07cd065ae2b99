"""Draw the pictures of EM, in English and Chinese. Run as `python docs/pictures/make_em.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from bayeskit import GaussianMixture, LatentClass, NaiveBayes, datasets
from bayeskit.charts import Axis, Curve, Key, Panel, Plot, PlotPicture, Points, states_axis

LANGUAGES = {"en": "", "zh": ".zh-CN"}
Say = Callable[[str, str], str]


def picture(title: str, note: str, panels: list[Panel], names: tuple[Key, ...] = ()) -> str:
    return PlotPicture(Plot(title, (note,), f"{title}. {note}", tuple(panels), names)).svg


def keys(series: list[Curve]) -> tuple[Key, ...]:
    return tuple(Key(curve.name, curve.colour) for curve in series if curve.name)


def ellipse(mean: np.ndarray, covariance: np.ndarray, colour: int, name: str) -> Curve:
    """Two standard deviations around a mean."""
    turns = np.linspace(0.0, 2.0 * math.pi, 121)
    ring = mean + 2.0 * np.column_stack([np.cos(turns), np.sin(turns)]) @ np.linalg.cholesky(covariance).T
    return Curve(ring[:, 0], ring[:, 1], colour, name, name)


def marks(x: object, y: object, colour: int | None, shape: str = "disc", size: float = 4.0) -> Points:
    return Points(
        np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(y, float)), colour, size, shape
    )


def two_forms(say: Say) -> str:
    """P(red) of the twelve melons, by the signs they show: soft EM in fractions, hard EM in whole melons."""
    melons = {3: 4, 2: 3, 1: 3, 0: 2}

    def shares(red: float, sign: float, pale: float) -> dict[int, float]:
        return {
            s: 1 / (1 + (1 - red) / red * (pale / sign) ** s * ((1 - pale) / (1 - sign)) ** (3 - s))
            for s in melons
        }

    soft = [shares(0.5, 2 / 3, 1 / 3)]
    for _ in range(5000):
        weight = sum(n * soft[-1][s] for s, n in melons.items())
        seen = sum(n * s * soft[-1][s] for s, n in melons.items())
        pale = (sum(n * s for s, n in melons.items()) - seen) / (12 - weight) / 3
        soft.append(shares(weight / 12, seen / weight / 3, pale))
    hard = {s: float(s >= 2) for s in melons}
    lines = [
        (say("start, soft", "软 EM，初始"), soft[0]),
        (say("step 1, soft", "软 EM，第 1 步"), soft[1]),
        (say("end, soft", "软 EM，收敛后"), soft[-1]),
        (say("hard", "硬 EM"), hard),
    ]
    signs = sorted(melons)
    curves = [
        Curve(np.array(signs, float), np.array([found[s] for s in signs]), k, name, name, size=3.6)
        for k, (name, found) in enumerate(lines)
    ]
    many = [say(f"{s} ({melons[s]} melons)", f"{s}（{melons[s]} 个瓜）") for s in signs]
    across = states_axis(say("signs that a melon shows", "一个瓜所具有的特征数"), many)
    up = Axis(say("P(red)", "P(红瓤)"), 0.0, 1.0, "percent")
    title = say("Soft EM shares a melon out, hard EM decides", "软 EM 按概率分配，硬 EM 直接判定")
    note = say(
        "The probability that a melon is red inside, by the signs it shows.",
        "按特征数，瓜为红瓤的概率。",
    )
    return picture(title, note, [Panel(across, up, tuple(curves))], keys(curves))


def climbs(say: Say) -> str:
    """The log-likelihood of four melons after every step, from six starts."""
    four = [
        ["c", "d", "h", "g", "c"],
        ["c", "d", "h", "b", "b"],
        ["s", "c", "s", "g", "c"],
        ["s", "c", "s", "b", "b"],
    ]
    starts = [
        ([0.6, 0.6, 0.4, 0.4], 0), ([0.55, 0.5, 0.5, 0.45], 0), ([0.75, 0.42, 0.55, 0.3], 0),
        ([0.6, 0.4, 0.6, 0.4], 1), ([0.52, 0.48, 0.53, 0.48], 1), ([0.5] * 4, 7),
    ]  # fmt: skip
    ends = {0: "4 log 1/8 = −8.32", 1: "4 log 1/16 = −11.09", 7: "4 log 1/32 = −13.86"}
    curves = []
    for shares, colour in starts:
        model = LatentClass(2, accelerate=False, tol=1e-9).fit(four, start=[[s, 1 - s] for s in shares])
        values = [*model.history_.tolist(), *[float(model.history_[-1])] * 13][:13]
        curves.append(Curve(np.arange(13.0), np.array(values), colour, description=ends[colour]))
    x = Axis(say("step", "步"), 0.0, 12.0, "whole")
    y = Axis(say("log-likelihood", "对数似然"), -14.2, -8.0)
    title = say(
        "EM from six starts: two local maxima and a saddle", "从六个初值出发的 EM：两个局部极大与一个鞍点"
    )
    note = say("The log-likelihood of four melons after every step.", "四个瓜的对数似然，每步之后。")
    names = tuple(Key(text, k) for k, text in ends.items())
    return picture(title, note, [Panel(x, y, tuple(curves))], names)


def missing(say: Say) -> str:
    """Five points, the last without its y: ellipses of two deviations, the mean imputed and by EM."""
    rows = np.array([[0, 1], [1, 0], [2, 3], [3, 2], [4, np.nan]])
    filled = np.where(np.isnan(rows), 1.5, rows)
    found = GaussianMixture(1, reg_covar=0.0, tol=1e-12, max_iter=500).fit(rows)
    imputed = say("mean imputed: too narrow, too flat", "用均值填补：过窄、过平")
    by_em = say("EM: the cell has a mean and a variance", "EM：缺失值有均值，也有方差")
    curves = [
        ellipse(found.means_[0], found.covariances_[0], 0, by_em),
        ellipse(filled.mean(axis=0), np.cov(filled.T, bias=True), 1, imputed),
    ]
    # The missing cell: its conditional mean, and two conditional deviations either side.
    reach = 2 * math.sqrt(0.8)
    series = (
        *curves,
        Curve(np.array([4.0, 4.0]), np.array([3.0 - reach, 3.0 + reach]), 0),
        marks(4.0, 3.0, 0, "ring"),
        marks(4.0, 1.5, 1, "ring"),
        marks(rows[:4, 0], rows[:4, 1], 7),
    )
    title = say("A missing cell: the mean imputed, or EM", "缺失的单元格：用均值填补，或用 EM")
    note = say(
        "Four complete points, and one whose y is missing. Ellipses: two standard deviations.",
        "四个完整的点，和一个缺少 y 的点。椭圆为两倍标准差。",
    )
    return picture(title, note, [Panel(Axis("x", -2.0, 6.0), Axis("y", -2.0, 5.0), series)], keys(curves))


def heights(say: Say) -> str:
    """Heights and weights of 114 simulated people, split in two without looking at their sex."""
    people = datasets.load_dataset("height-weight")
    X, sex = people.X.to_numpy(), np.asarray(people.y)
    found = GaussianMixture(2, random_state=0).fit(X)
    order = np.argsort(found.means_[:, 0])
    names = say("component 0", "分量 0"), say("component 1", "分量 1")
    curves = [
        ellipse(found.means_[k], found.covariances_[k], c, name)
        for c, (k, name) in enumerate(zip(order, names, strict=True))
    ]
    series = (
        marks(*X[sex == 0].T, 7, "ring", 3.0),
        marks(*X[sex != 0].T, 7, "disc", 3.0),
        *curves,
        *(marks(*found.means_[k], c, size=5.5) for c, k in enumerate(order)),
    )
    title = say("Two components of height and weight", "身高与体重的两个分量")
    note = say(
        "Rings and discs are the two sexes, which the model never saw. Ellipses: two standard deviations.",
        "圆圈与实心点是两种性别，模型从未见过。椭圆为两倍标准差。",
    )
    x, y = (
        Axis(say("height, cm", "身高（cm）"), 145.0, 195.0),
        Axis(say("weight, kg", "体重（kg）"), 35.0, 97.0),
    )
    return picture(title, note, [Panel(x, y, series)], keys(curves))


@cache
def iris_choice() -> GaussianMixture:
    kinds = ("full", "tied", "diag", "spherical")
    found = GaussianMixture(range(1, 7), covariance_type=kinds, n_init=3, random_state=0)
    return found.fit(datasets.load_dataset("iris").X)


def components(say: Say) -> str:
    """BIC of iris over the number of components, for the four kinds of covariance."""
    return str(iris_choice().choice_.chart(lang=say("en", "zh")))


def drawn_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows for which naive Bayes is true: twelve attributes, each of which agrees with the class in 13 rows of 20."""
    rng = np.random.default_rng(seed)
    y, agrees = rng.integers(2, size=3000), rng.random((3000, 12)) < 0.65
    return np.where(agrees == (y[:, None] == 1), "yes", "no").astype(object), y.astype(object)


def mushrooms(seed: int) -> tuple[np.ndarray, np.ndarray]:
    data = datasets.load_dataset("mushroom")
    rows = np.random.default_rng(seed).permutation(len(data.y))[:3000]
    return data.X.to_numpy(dtype=object)[rows], np.asarray(data.y, dtype=object)[rows]


def labels(say: Say) -> str:
    """Errors on unlabelled rows over the number of labels, with λ = 0 and 1: means over five draws."""
    numbers = (10, 20, 50, 100, 200, 500)
    names = (
        say("labelled rows alone (λ = 0)", "只用已标记样本（λ = 0）"),
        say("all rows (λ = 1)", "全部样本（λ = 1）"),
    )
    x = Axis(
        say("labels among 3,000 rows (logarithmic)", "3,000 个样本中的标记数（对数刻度）"),
        math.log(10),
        math.log(500),
        ticks=tuple((math.log(n), str(n)) for n in numbers),
    )
    panels = []
    for title, most, drawn in (
        (say("the assumption of naive Bayes holds", "朴素贝叶斯的假设成立"), 0.4, drawn_rows),
        (say("mushrooms: it does not", "蘑菇：假设不成立"), 0.2, mushrooms),
    ):
        curves = [
            Curve(
                np.log(numbers),
                np.array([_error(drawn, n, weight) for n in numbers]),
                k,
                name,
                name,
                size=3.4,
            )
            for k, (weight, name) in enumerate(zip((0.0, 1.0), names, strict=True))
        ]
        panels.append(
            Panel(x, Axis(say("error", "错误率"), 0.0, most, "percent"), tuple(curves), title, 170.0)
        )
    title = say("Naive Bayes with and without unlabelled rows", "使用与不使用未标记样本的朴素贝叶斯")
    note = say(
        "Error on the rows without a label, mean of five draws.", "未标记样本上的错误率，五次抽样的平均。"
    )
    return picture(title, note, panels, tuple(Key(name, k) for k, name in enumerate(names)))


@cache
def _error(drawn: Callable[[int], tuple[np.ndarray, np.ndarray]], n: int, weight: float) -> float:
    wrong = []
    for seed in range(5):
        X, y = drawn(seed)
        seen = np.where(np.arange(len(y)) < n, y, None)
        model = NaiveBayes(semi_supervised=True, unlabelled_weight=weight).fit(X, seen)
        wrong.append((model.predict(X[n:]) != y[n:]).mean())
    return float(np.mean(wrong))


PICTURES: dict[str, Callable[[Say], str]] = {
    "em_two_forms": two_forms,
    "em_climbs": climbs,
    "em_missing": missing,
    "em_heights": heights,
    "em_components": components,
    "em_labels": labels,
}
SAYS: dict[str, Say] = {"en": lambda en, zh: en, "zh": lambda en, zh: zh}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        for lang, ending in LANGUAGES.items():
            Path(__file__).with_name(f"{name}{ending}.svg").write_text(draw(SAYS[lang]), encoding="utf-8")
