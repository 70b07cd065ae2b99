"""Two pages of causes in exact fractions: Charig and others (1986), and Pearl's smoking and tar (2009, table 3.1)."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from bayeskit import BayesianNetwork
from bayeskit.networks import adjusted_effect

# (stone, treatment): cured, not cured.
STONES = {
    ("small", "open"): (81, 6),
    ("small", "closed"): (234, 36),
    ("large", "open"): (192, 71),
    ("large", "closed"): (55, 25),
}
# (smoking, tar): people of 800, of these with cancer.
TAR = {("no", "no"): (380, 38), ("yes", "no"): (20, 18), ("no", "yes"): (20, 1), ("yes", "yes"): (380, 323)}


def columns(names, rows):
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def stones():
    rows = [
        (*cell, c)
        for cell, n in STONES.items()
        for c, k in zip(("yes", "no"), n, strict=True)
        for _ in range(k)
    ]
    return columns(("stone", "treatment", "cured"), rows)


def test_kidney_stones():
    of_size = {s: sum(sum(n) for (size, _), n in STONES.items() if size == s) for s in ("small", "large")}
    assert of_size == {"small": 357, "large": 343}
    cured = {cell: F(yes, yes + no) for cell, (yes, no) in STONES.items()}
    done = {t: sum(cured[s, t] * F(of_size[s], 700) for s in of_size) for t in ("open", "closed")}
    seen = {"open": F(273, 350), "closed": F(289, 350)}
    assert done["open"] > done["closed"] and seen["open"] < seen["closed"]  # the paradox
    assert [round(float(p), 4) for p in done.values()] == [0.8325, 0.7789]
    data = stones()
    graph = BayesianNetwork({"stone": [], "treatment": ["stone"], "cured": ["stone", "treatment"]})
    fitted = BayesianNetwork(graph).fit(data, smoothing="mle")
    for found in (
        graph.effect("treatment", "cured", data=data),
        fitted.effect("treatment", "cured"),
        fitted.effect("treatment", "cured", adjust="stone"),
        adjusted_effect(data, "treatment", "cured", "stone"),
    ):
        for treatment, p in done.items():
            assert found.probabilities[treatment, "yes"] == pytest.approx(float(p), abs=1e-14)
        contrast = found.contrast("yes")
        assert (contrast.treatment, contrast.reference) == ("open", "closed")
        assert contrast.difference == pytest.approx(float(done["open"] - done["closed"]), abs=1e-14)
        assert contrast.ratio == pytest.approx(float(done["open"] / done["closed"]), abs=1e-14)
    crude = adjusted_effect(data, "treatment", "cured")
    assert crude.probabilities["open", "yes"] == pytest.approx(float(seen["open"]), abs=1e-14)


def test_smoking_and_tar():
    rows = [(*cell, c) for cell, (n, ill) in TAR.items() for c in ["yes"] * ill + ["no"] * (n - ill)]
    data = columns(("smoking", "tar", "cancer"), rows)
    ill = {cell: F(k, n) for cell, (n, k) in TAR.items()}
    tar = {"no": F(20, 400), "yes": F(380, 400)}  # P(tar | smoking)
    half = F(1, 2)
    wanted = {
        smoking: sum(
            (tar[smoking] if t == "yes" else 1 - tar[smoking]) * sum(half * ill[s, t] for s in ("no", "yes"))
            for t in ("no", "yes")
        )
        for smoking in ("no", "yes")
    }
    assert wanted == {"no": F(199, 400), "yes": F(181, 400)}  # 0.4975 and 0.4525
    graph = BayesianNetwork({"gene": [], "smoking": ["gene"], "tar": ["smoking"], "cancer": ["tar", "gene"]})
    found = graph.effect("smoking", "cancer", data=data)
    for smoking, p in wanted.items():
        assert found.probabilities[smoking, "yes"] == pytest.approx(float(p), abs=1e-14)
    low, high = found.contrast("yes").difference_interval
    assert low < float(wanted["yes"] - wanted["no"]) < high
