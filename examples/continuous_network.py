"""Continuous nodes in a network: a heated house, and what one reading implies for the others."""

import numpy as np

from _networks import Names, stacked
from _story import Story, aligned
from bayeskit import BayesianNetwork

say = Story("continuous_network")
chinese = {"heating": "暖气", "outside": "室外", "inside": "室内", "bill": "费用"}
names = Names(say, chinese, {"off": "关", "on": "开"})

# 1. A house is described by a regression for each state of the heating: intercept, coefficients, variance.
house = BayesianNetwork(
    {"heating": [], "outside": [], "inside": ["heating", "outside"], "bill": ["heating", "outside"]},
    states={"heating": ["off", "on"], "outside": float, "inside": float, "bill": float},
)
house.set_cpt("heating", {"off": 0.4, "on": 0.6})
house.set_gaussian("outside", 8.0, variance=36.0)
house.set_gaussian("inside", {"off": (10, {"outside": 0.6}, 1), "on": (19, {"outside": 0.1}, 1)})
house.set_gaussian("bill", {"off": (1, {"outside": 0}, 0.25), "on": (9, {"outside": -0.3}, 0.25)})
say(
    "1. A house. Outside it is 8 ± 6 °C. With the heating off the rooms follow the weather; with it on they are"
    "\n   near 20 °C whatever the weather, and the colder it is, the higher the day's bill.",
    "1. 一座房子。室外 8 ± 6 °C。暖气关着，室温随天气走；暖气开着，不论天气如何都在 20 °C 上下，"
    "\n   而且天越冷，当天的费用越高。",
)

# 2. Readings come in. Inference over numbers and states together is exact.
cool = {"inside": 17.5}
steps = [{}, {"inside": 20.0}, {"inside": 20.0, "bill": 6.0}, cool, cool | {"bill": 8.0}]
table = [("", say.text("P(heating = on)", "P(暖气 = 开)"), names("outside"), names("inside"))]
for seen in steps:
    found = house.posteriors(seen)
    numbers = [f"{found[name].mean:.2f} ± {found[name].sd:.2f}" for name in ("outside", "inside")]
    table.append(
        (names.seen(seen) or say.text("nothing is known", "先验"), f"{found['heating'][1]:.4f}", *numbers)
    )
say("\n2. What the readings imply\n", "\n2. 由读数推断\n")
print("\n".join(f"  {line}" for line in aligned(table)))
say(
    "\n17.5 °C inside is possible on a cold day with heating or on a mild day without. The bill shows which, and with"
    "\nit how cold it is outside, although nobody measured that.",
    "\n室内 17.5 °C，可能是冷天开着暖气，也可能是暖天没开。由费用可以判断是哪一种，也可以推断室外有多冷，"
    "\n尽管没有人测量过室外温度。",
)

# 3. The posterior of a number is a mixture of normal distributions, with quantiles.
before = house.query("inside")
low, high = before.interval(0.9)
parts = " + ".join(
    f"{w:.1f} × N({m:.1f}, {v:.2f})"
    for w, m, v in zip(before.weights, before.means.ravel(), before.variances.ravel(), strict=True)
)
say(
    f"\n3. Inside, without evidence: {parts}."
    f"\n   With probability 0.9 between {low:.1f} and {high:.1f} °C, and below 12 °C with probability"
    f" {before.cdf(12.0):.4f}.",
    f"\n3. 没有观测时的室温：{parts}。"
    f"\n   以 0.9 的概率在 {low:.1f} 与 {high:.1f} °C 之间，低于 12 °C 的概率为 {before.cdf(12.0):.4f}。",
)
drawn = house.sample(20_000, random_state=1, as_codes=True)[:, house.nodes.index("inside")]
assert np.isclose(drawn.mean(), before.mean, atol=0.2)
say(
    f"   20,000 days drawn: mean {drawn.mean():.2f}, exactly {before.mean:.2f}; sd {drawn.std():.2f}, exactly"
    f" {before.sd:.2f}.",
    f"   抽样 20,000 天：均值 {drawn.mean():.2f}，精确值 {before.mean:.2f}；标准差 {drawn.std():.2f}，精确值"
    f" {before.sd:.2f}。",
)

say.end(
    stacked(
        say.text("A heated house", "一座供暖的房子"),
        [
            say.text(
                "Curves are densities: mean ± deviation. Temperatures in °C, the day's bill.",
                "曲线为概率密度，数字为均值 ± 标准差。温度单位为 °C，费用按天计。",
            )
        ],
        [
            (say.text("Nothing is known", "先验"), names.drawn(house)),
            (say.text("Inside it is 17.5 °C", "室内 17.5 °C"), names.drawn(house, cool)),
            (say.text("… and the bill is 8", "再得知费用为 8"), names.drawn(house, steps[-1])),
        ],
    )
)
