"""Draw the networks of the guide, in English and Chinese. Run as `python docs/pictures/make_networks.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from bayeskit import BayesianNetwork, DynamicNetwork
from bayeskit.explanations import Picture
from bayeskit.networks import asia, melon, oil_wildcatter, seven, wet_grass

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from _networks import stacked

LANGUAGES = {"en": "", "zh": ".zh-CN"}
TITLES = {
    "wet_grass": {"en": "Wet grass: before anything is observed", "zh": "湿草地：没有观测时"},
    "wet_grass_seen": {"en": "Wet grass: both lawns are wet", "zh": "湿草地：两家草地都湿"},
    "asia": {"en": "The chest clinic: the X-ray is abnormal", "zh": "胸科诊所：X 光异常"},
    "seven": {
        "en": "Seven variables, 25 parameters instead of 127",
        "zh": "七个变量，25 个参数，而不是 127 个",
    },
    "umbrella": {"en": "The umbrella world: three days", "zh": "伞世界：三天"},
    "melon_network": {"en": "The melon network", "zh": "西瓜的贝叶斯网"},
    "kidney_stones": {
        "en": "Kidney stones: the size of the stone acts on both",
        "zh": "肾结石：结石的大小同时影响两者",
    },
    "smoking_tar": {
        "en": "Smoking acts on cancer through tar; the gene is hidden",
        "zh": "吸烟通过焦油影响肺癌；基因未观测",
    },
    "oil_wildcatter": {"en": "The oil wildcatter's best strategy", "zh": "石油勘探者的最优策略"},
}
# Graphs without tables: node → parents, by language.
GRAPHS = {
    "kidney_stones": {
        "en": {"stone": [], "treatment": ["stone"], "cured": ["stone", "treatment"]},
        "zh": {"大小": [], "疗法": ["大小"], "治愈": ["大小", "疗法"]},
    },
    "smoking_tar": {
        "en": {"gene": [], "smoking": ["gene"], "tar": ["smoking"], "cancer": ["tar", "gene"]},
        "zh": {"基因": [], "吸烟": ["基因"], "焦油": ["吸烟"], "肺癌": ["焦油", "基因"]},
    },
}
NOTES = {
    "en": "Bars are probabilities; observed nodes are marked.",
    "zh": "条形表示概率，已观测的结点有标记。",
}
DECIDED = {
    "en": "Rectangles are decisions, hexagons utilities with their expectations.",
    "zh": "方框是决策，六边形是效用及其期望。",
}
PICTURES = tuple(TITLES)


def umbrella() -> DynamicNetwork:
    """Return the umbrella world of Russell and Norvig."""
    two = BayesianNetwork(
        {"rain[t-1]": [], "rain": ["rain[t-1]"], "umbrella": ["rain"]}, states=["no", "yes"]
    )
    two.set_cpt("rain[t-1]", [0.5, 0.5])
    two.set_cpt("rain", [[0.7, 0.3], [0.3, 0.7]])
    two.set_cpt("umbrella", [[0.8, 0.2], [0.1, 0.9]])
    return DynamicNetwork(two)


def drawn(name: str, lang: str) -> Picture:
    if name in GRAPHS:
        return BayesianNetwork(GRAPHS[name][lang], states=[0, 1]).plot(bars=False)
    match name:
        case "wet_grass":
            return wet_grass().plot()
        case "wet_grass_seen":
            return wet_grass().plot({"wet": "yes", "joe": "yes"})
        case "asia":
            return asia().plot({"xray": "yes"})
        case "seven":
            return seven().plot(bars=False)
        case "melon_network":
            return melon().plot()
        case "oil_wildcatter":
            return oil_wildcatter().plot()
        case "umbrella":
            return umbrella().unroll(3).plot({"umbrella[0]": "yes", "umbrella[1]": "yes"}, direction="right")
    raise LookupError(name)


def picture(name: str, lang: str = "en") -> str:
    """Return one of the pictures as SVG, under its title."""
    notes = (
        []
        if name == "seven" or name in GRAPHS
        else [DECIDED[lang] if name == "oil_wildcatter" else NOTES[lang]]
    )
    return str(stacked(TITLES[name][lang], notes, [("", drawn(name, lang))]))


if __name__ == "__main__":
    for each in PICTURES:
        for lang, ending in LANGUAGES.items():
            Path(__file__).with_name(f"{each}{ending}.svg").write_text(picture(each, lang), encoding="utf-8")
