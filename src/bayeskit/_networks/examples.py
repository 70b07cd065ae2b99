"""Networks and influence diagrams from textbooks."""

from __future__ import annotations

from bayeskit._networks.bayesian_network import BayesianNetwork
from bayeskit._networks.influence_diagram import InfluenceDiagram


def wet_grass() -> BayesianNetwork:
    """Return the wet lawn: rain or the sprinkler, and the lawn of Joe next door.

    Examples
    --------
    >>> wet_grass().cpt("wet")["no", "yes", "yes"]
    0.9
    """
    network = BayesianNetwork(
        {"rain": [], "sprinkler": [], "joe": ["rain"], "wet": ["rain", "sprinkler"]},
        states=["no", "yes"],
        name="wet grass",
    )
    network.set_cpt("rain", {"no": 0.8, "yes": 0.2})
    network.set_cpt("sprinkler", {"no": 0.9, "yes": 0.1})
    network.set_cpt("joe", {"no": {"no": 0.8, "yes": 0.2}, "yes": {"no": 0, "yes": 1}})
    network.set_cpt(
        "wet",
        {
            ("no", "no"): {"no": 1, "yes": 0},
            ("no", "yes"): {"no": 0.1, "yes": 0.9},
            ("yes", "no"): {"no": 0, "yes": 1},
            ("yes", "yes"): {"no": 0, "yes": 1},
        },
    )
    return network


def asia() -> BayesianNetwork:
    """Return the chest clinic of Lauritzen and Spiegelhalter (1988): eight nodes, of which ``either`` is a rule.

    Examples
    --------
    >>> asia().cpt("lung")["yes", "yes"]
    0.1
    """
    parents = {
        "asia": [],
        "tub": ["asia"],
        "smoke": [],
        "lung": ["smoke"],
        "bronc": ["smoke"],
        "either": ["lung", "tub"],
        "xray": ["either"],
        "dysp": ["bronc", "either"],
    }
    network = BayesianNetwork(parents, states=["yes", "no"], name="asia")
    network.set_cpt("asia", [0.01, 0.99])
    network.set_cpt("tub", {"yes": [0.05, 0.95], "no": [0.01, 0.99]})
    network.set_cpt("smoke", [0.5, 0.5])
    network.set_cpt("lung", {"yes": [0.1, 0.9], "no": [0.01, 0.99]})
    network.set_cpt("bronc", {"yes": [0.6, 0.4], "no": [0.3, 0.7]})
    network.set_deterministic("either", lambda lung, tub: "yes" if "yes" in (lung, tub) else "no")
    network.set_cpt("xray", {"yes": [0.98, 0.02], "no": [0.05, 0.95]})
    network.set_cpt("dysp", [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]])
    return network


def seven() -> BayesianNetwork:
    """Return P(x1) P(x2) P(x3) P(x4|x1,x2,x3) P(x5|x1,x2,x3) P(x6|x4) P(x7|x4,x5), binary (Bishop, figure 8.2).

    The book gives the graph only; the tables are ours. x4 is probable if at least two of its parents are 1, and x5 if
    at most one is.

    Examples
    --------
    >>> seven().cpt("x6")[0, 1]
    0.1
    """
    first = ["x1", "x2", "x3"]
    most = [0.1, 0.2, 0.2, 0.7, 0.2, 0.7, 0.7, 0.9]
    tables = {
        "x1": ([], [0.5]),
        "x2": ([], [0.25]),
        "x3": ([], [0.2]),
        "x4": (first, most),
        "x5": (first, most[::-1]),
        "x6": (["x4"], [0.1, 0.8]),
        "x7": (["x4", "x5"], [0.05, 0.5, 0.4, 0.9]),
    }
    parents = {name: above for name, (above, _) in tables.items()}
    network = BayesianNetwork(parents, states=[0, 1], name="seven")
    for name, (_, ones) in tables.items():
        network.set_cpt(name, [p for one in ones for p in (1 - one, one)])
    return network


def melon() -> BayesianNetwork:
    """Return the melon network: P(x1) P(x2) P(x3|x1) P(x4|x1,x2) P(x5|x2) (周志华《机器学习》图 7.2).

    x1 … x5 are 好瓜, 甜度, 敲声, 色泽, 根蒂. The book gives the graph and the table of 根蒂 given 甜度. The four other
    tables, and the two states of 敲声 and of 色泽, are ours.

    Examples
    --------
    >>> melon().cpt("根蒂")["高", "蜷缩"]
    0.9
    """
    states = {
        "好瓜": ["是", "否"],
        "甜度": ["高", "低"],
        "敲声": ["浊响", "沉闷"],
        "色泽": ["青绿", "乌黑"],
        "根蒂": ["硬挺", "蜷缩"],
    }
    parents = {"好瓜": [], "甜度": [], "敲声": ["好瓜"], "色泽": ["好瓜", "甜度"], "根蒂": ["甜度"]}
    network = BayesianNetwork(parents, states=states, name="melon")
    network.set_cpt("好瓜", {"是": 0.5, "否": 0.5})
    network.set_cpt("甜度", {"高": 0.6, "低": 0.4})
    network.set_cpt("敲声", {"是": {"浊响": 0.75, "沉闷": 0.25}, "否": {"浊响": 0.4, "沉闷": 0.6}})
    network.set_cpt(
        "色泽",
        {
            ("是", "高"): {"青绿": 0.3, "乌黑": 0.7},
            ("是", "低"): {"青绿": 0.5, "乌黑": 0.5},
            ("否", "高"): {"青绿": 0.6, "乌黑": 0.4},
            ("否", "低"): {"青绿": 0.8, "乌黑": 0.2},
        },
    )
    network.set_cpt("根蒂", {"高": {"硬挺": 0.1, "蜷缩": 0.9}, "低": {"硬挺": 0.7, "蜷缩": 0.3}})
    return network


def oil_wildcatter() -> InfluenceDiagram:
    """Return the oil wildcatter: make a seismic test, then drill or not (Raiffa 1968).

    The numbers are those in common use since Shenoy (1992), in thousands of dollars.

    Examples
    --------
    >>> oil_wildcatter().solve().expected_utility
    22.5

    References
    ----------
    H. Raiffa, *Decision Analysis* (1968). P. P. Shenoy, *Valuation-based systems for Bayesian decision analysis*,
    Operations Research 40 (1992).
    """
    states = {
        "oil": ["dry", "wet", "soaking"],
        "test": ["none", "seismic"],
        "result": ["none", "no structure", "open", "closed"],
    }
    network = BayesianNetwork(
        {"oil": [], "test": [], "result": ["test", "oil"]}, states=states, name="oil wildcatter"
    )
    network.set_cpt("oil", [0.5, 0.3, 0.2])
    nothing = [1, 0, 0, 0]
    network.set_cpt(
        "result",
        {
            "none": {"dry": nothing, "wet": nothing, "soaking": nothing},
            "seismic": {"dry": [0, 0.6, 0.3, 0.1], "wet": [0, 0.3, 0.4, 0.3], "soaking": [0, 0.1, 0.4, 0.5]},
        },
    )
    return InfluenceDiagram(
        network,
        decisions={"test": None, "drill": ["no", "yes"]},
        observed={"drill": ["test", "result"]},
        utilities={
            "cost": (["test"], {"none": 0, "seismic": -10}),
            "gain": (["oil", "drill"], {"dry": [0, -70], "wet": [0, 50], "soaking": [0, 200]}),
        },
    )


def medical_test() -> InfluenceDiagram:
    """Return a patient who may be ill: make a test or not, then treat or not. The numbers are losses.

    One patient in ten is ill. The test finds nine of ten, and is positive for one healthy patient in ten. A patient
    who is ill and not treated costs 100; treating costs 20, and an ill patient who is treated still costs 10 more.
    The test costs 2.

    Examples
    --------
    >>> round(medical_test().solve().expected_loss, 4)
    7.5
    """
    states = {"ill": ["no", "yes"], "test": ["no", "yes"], "result": ["none", "negative", "positive"]}
    network = BayesianNetwork(
        {"ill": [], "test": [], "result": ["test", "ill"]}, states=states, name="medical test"
    )
    network.set_cpt("ill", [0.9, 0.1])
    network.set_cpt("result", [[[1.0, 0, 0], [1.0, 0, 0]], [[0.0, 0.9, 0.1], [0.0, 0.1, 0.9]]])
    return InfluenceDiagram(
        network,
        decisions={"test": None, "treat": ["no", "yes"]},
        observed={"treat": ["test", "result"]},
        losses={
            "price": (["test"], {"no": 0, "yes": 2}),
            "harm": (["ill", "treat"], {"no": {"no": 0, "yes": 20}, "yes": {"no": 100, "yes": 30}}),
        },
    )
